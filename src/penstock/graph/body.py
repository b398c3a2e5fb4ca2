"""`CallBody`: what the function attribute of a call refers to.

A body is a view of a FuncGraph: its inputs, chosen outputs, and the operations that must run for
their effects. The forward pass that keeps intermediate values for the reverse is another view of
the same graph.
"""

from collections.abc import Sequence
from typing import Any

from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.func_graph import GLOBAL_EFFECT, FuncGraph, bodies_of, effects_of, handle_of
from penstock.graph.operation import Operation
from penstock.types import dtypes as dt

IMPLEMENTS = "api_implements"  # what a function does, in one of several ways
PREFERRED_DEVICE = "api_preferred_device"  # the device type that its way is for


class CallBody:
    """A function as an attribute value: compared by identity."""

    __slots__ = (
        "__weakref__",
        "_effects",
        "_types",
        "attributes",
        "backward",
        "compiles",
        "control_outputs",
        "draws",
        "graph",
        "inputs",
        "must_compile",
        "name",
        "named",
        "outputs",
        "plan",
        "plans",
        "shared",
        "traced",
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
        self.attributes: dict[str, Any] = {}  # of `experimental_attributes`
        self.must_compile = False  # it runs as one compiled region, or not at all
        self.named = False  # an imported operation has it
        self.shared = False  # others have it too: what adds to a body adds to one of its own
        self.draws: bool | None = None  # the runtime's note: whether it draws random numbers
        self.plan: Any = None  # the runtime's plan for eager calls
        self.plans: dict[str, Any] = {}  # those of iterators, by the type of the device
        self.traced: Any = None  # the runtime's nodes, for use inside compiled regions
        # A device, whether constant texts may be in it, and whether it may be compiled there.
        self.compiles: tuple[str, bool, bool] | None = None
        self._effects: tuple[dict[int, str], bool] | None = None
        self._types: frozenset[str] | None = None

    @property
    def types(self) -> frozenset[str]:
        """The types of its operations, and of those in the bodies that they call."""
        if self._types is None:
            operations = self.graph.get_operations()
            inside = [body.types for op in operations for body in bodies_of(op.attrs)]
            self._types = frozenset().union((op.type for op in operations), *inside)
        return self._types

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

    @property
    def effects(self) -> dict[int, str]:
        """For each input that is a resource in use: whether a call may read or write it."""
        return self._collect_effects()[0]

    @property
    def orders_all(self) -> bool:
        """Whether a call has an effect on no resource in particular: it prints, say."""
        return self._collect_effects()[1]

    def _collect_effects(self) -> tuple[dict[int, str], bool]:
        if self._effects is None:
            positions = {id(t): i for i, t in enumerate(self.inputs)}
            found: dict[int, str] = {}
            everywhere = False
            for op in self.graph.get_operations():
                if not op.op_def.stateful:
                    continue
                everywhere = everywhere or any(k == GLOBAL_EFFECT for k, _ in effects_of(op) or ())
                counts = op.input_counts or (1,) * len(op.op_def.inputs)
                known = op.op_def.effects_at(counts, op.attrs)
                for i, tensor in enumerate(map(handle_of, op.inputs)):
                    if id(tensor) in positions and tensor.dtype is dt.resource:
                        at = positions[id(tensor)]
                        found[at] = found.get(at, "?") + known.get(i, "rw")
            merged = {
                i: "?" + "".join(c for c in "rw" if c in effect) for i, effect in found.items()
            }
            self._effects = merged, everywhere
        return self._effects

    def __repr__(self) -> str:
        return f"<CallBody {self.name}: {len(self.inputs)} inputs, {len(self.outputs)} outputs>"
