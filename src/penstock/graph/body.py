"""`CallBody`: what the function attribute of a call refers to.

A body is a view of a FuncGraph: its inputs, chosen outputs, and the operations that must run for
their effects. The forward pass that keeps intermediate values for the reverse is another view of
the same graph.
"""

from collections.abc import Sequence
from typing import Any

from penstock.core.tensor import SymbolicTensor
from penstock.graph.func_graph import FuncGraph
from penstock.graph.operation import Operation


class CallBody:
    """A function as an attribute value: compared by identity."""

    __slots__ = (
        "__weakref__",
        "backward",
        "control_outputs",
        "graph",
        "inputs",
        "name",
        "outputs",
        "plan",
    )

    def __init__(
        self, name: str, graph: FuncGraph, outputs: Sequence[SymbolicTensor] | None = None
    ) -> None:
        self.name = name
        self.graph = graph
        self.inputs = tuple(graph.inputs)
        self.outputs = tuple(graph.outputs if outputs is None else outputs)
        self.control_outputs: tuple[Operation, ...] = tuple(graph.control_outputs)
        self.backward: dict[
            Any, Any
        ] = {}  # which outputs have gradients -> the reverse, see autodiff.calls
        self.plan: Any = None  # the runtime's plan for eager calls

    @property
    def output_dtypes(self) -> tuple[Any, ...]:
        """The dtypes of the outputs."""
        return tuple(t.dtype for t in self.outputs)

    @property
    def stateful(self) -> bool:
        """Whether a call has effects, or results that differ between calls."""
        return any(
            op.op_def.stateful for op in self.graph.get_operations() if op.type != "Placeholder"
        )

    def __repr__(self) -> str:
        return f"<CallBody {self.name}: {len(self.inputs)} inputs, {len(self.outputs)} outputs>"
