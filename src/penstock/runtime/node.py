"""`Node`: an operation of a program, with the nodes that it takes values from or waits for."""

from collections.abc import Sequence
from typing import Any

from penstock.core.op_def import OpDef
from penstock.graph.operation import Operation
from penstock.types.dims import Dims, text
from penstock.types.dtypes import DType

FEED = "_Feed"


class Node:
    """An operation of a program."""

    __slots__ = (
        "attrs",
        "control",
        "counts",
        "device",
        "dtypes",
        "id",
        "inputs",
        "location",
        "name",
        "op",
        "origin",
        "shapes",
        "type",
    )

    def __init__(
        self,
        type: str,
        op: OpDef | None,
        name: str,
        attrs: dict[str, Any],
        inputs: "list[Ref]",
        control: "list[Node]",
        dtypes: Sequence[DType],
        shapes: Sequence[Dims],
        counts: Sequence[int] | None = None,
        device: str = "",
        location: str = "",
        origin: Operation | None = None,
    ) -> None:
        self.id = -1
        self.type = type
        self.op = op
        self.name = name
        self.attrs = attrs
        self.inputs = inputs
        self.control = control
        self.dtypes = dtypes
        self.shapes = shapes
        self.counts = counts
        self.device = device
        self.location = location
        self.origin = origin  # the operation it was made from, for errors

    def copy(self, inputs: "list[Ref]", control: "list[Node]") -> "Node":
        """The same node on other inputs."""
        return Node(
            self.type,
            self.op,
            self.name,
            self.attrs,
            inputs,
            control,
            self.dtypes,
            self.shapes,
            self.counts,
            self.device,
            self.location,
            self.origin,
        )

    @property
    def stateful(self) -> bool:
        """Whether simplification must leave the node alone."""
        return self.op is None or self.op.stateful

    @property
    def refused(self) -> str:
        """What is wrong with inputs that a step will refuse; empty when nothing is known."""
        return "" if self.origin is None else self.origin.refused

    def where(self) -> str:
        """Name and user line, for errors."""
        return f"{{{{node {self.name}}}}}" + (
            f" defined at {self.location}" if self.location else ""
        )

    def __repr__(self) -> str:
        inputs = ", ".join(f"{n.name}:{i}" for n, i in self.inputs)
        control = "".join(f", ^{n.name}" for n in self.control)
        outputs = ", ".join(
            f"{t.name}{text(s)}" for t, s in zip(self.dtypes, self.shapes, strict=True)
        )
        return f"{self.name} = {self.type}({inputs}{control}) -> {outputs}"


Ref = tuple[Node, int]
