"""What rules for operations on rows work with: values, the graph that they add to, the table.

A `Value` is a tensor of the graph of rows: either it has a row for each element, or it is shared by
all of them. All rows of a value have one shape, so that sizes of rows are shared.

A rule takes the `RowGraph`, an operation of the body and the values of its inputs, one of which has
rows, and gives those of its outputs. It raises `NoRule` where it does not hold. What it gives is
equal, bit for bit, to what the operation gives for one element after the other.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.core.arrays import HashableArray
from penstock.core.op_def import lookup
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.func_graph import FuncGraph
from penstock.graph.operation import Operation
from penstock.graph.static_values import constant_value
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class NoRule(Exception):
    """An operation that has no rule, or one that does not hold for its inputs."""


class Value(NamedTuple):
    """A tensor, and whether it has a row for each element."""

    tensor: SymbolicTensor
    rows: bool

    @property
    def dims(self) -> Dims:
        """The dimensions of one element's value; None where the rank is unknown."""
        found = self.tensor.dims
        return found[1:] if self.rows and found is not None else found

    @property
    def rank(self) -> int:
        """The rank of one element's value.

        Raises:
          NoRule: it is not known.
        """
        if self.dims is None:
            raise NoRule
        return len(self.dims)

    def constant(self) -> Any:
        """The array of a value that is the same for all, and known.

        Raises:
          NoRule: it is not.
        """
        found = None if self.rows else constant_value(self.tensor)
        if found is None:
            raise NoRule
        return found


Rule = Callable[["RowGraph", Operation, Sequence[Value]], list[Value]]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorator: the rule of operations."""

    def register(function: Rule) -> Rule:
        for name in names:
            assert name not in RULES, name
            RULES[name] = function
        return function

    return register


class RowGraph:
    """The graph of a body for rows, as far as it is made.

    Args:
      graph: what operations are added to; it is the current graph meanwhile.
    """

    def __init__(self, graph: FuncGraph) -> None:
        self.graph = graph
        self._counts: dict[DType, SymbolicTensor] = {}

    def add(
        self, kind: str, inputs: Sequence[SymbolicTensor], attrs: dict[str, Any] | None = None,
        counts: Sequence[int] | None = None,
    ) -> list[SymbolicTensor]:  # fmt: skip
        """The outputs of a new operation."""
        op = self.graph.add_operation(lookup(kind), inputs, counts, dict(attrs or {}))
        return list(op.outputs)

    def again(self, op: Operation, values: Sequence[Value], **attrs: Any) -> list[Value]:
        """The operation itself, of tensors with rows: its outputs have rows as well.

        Args:
          op: the operation.
          values: its inputs.
          **attrs: attributes that are others.
        """
        kept = {k: v for k, v in op.attrs.items() if k in op.op_def.attrs}
        made = self.graph.add_operation(
            op.op_def, [v.tensor for v in values], op.input_counts, {**kept, **attrs}
        )
        rows = any(v.rows for v in values)
        return [Value(t, rows) for t in made.outputs]

    def constant(self, value: Any, dtype: DType) -> SymbolicTensor:
        """A constant."""
        array = np.asarray(value, dtype.numpy_dtype)
        return self.add("Const", (), {"value": HashableArray(array, dtype), "dtype": dtype})[0]

    def count(self, dtype: DType = dt.int32) -> SymbolicTensor:
        """How many rows there are, as a vector of one number."""
        if dtype not in self._counts:
            sizes = self.add("Shape", (self.graph.inputs[0],), {"out_type": dtype})[0]
            bounds = [self.constant([n], dtype) for n in (0, 1, 1)]
            self._counts[dtype] = self.add("StridedSlice", (sizes, *bounds))[0]
        return self._counts[dtype]

    def before(self, first: SymbolicTensor, rest: SymbolicTensor) -> SymbolicTensor:
        """Two tensors joined along their first axis."""
        axis = self.constant(0, dt.int32)
        return self.add("ConcatV2", (first, rest, axis), {}, (2, 1))[0]

    def sizes(self, value: Value, dtype: DType = dt.int32) -> SymbolicTensor:
        """The shape of one element's value as a vector."""
        if value.dims is not None and None not in value.dims:
            return self.constant(value.dims, dtype)
        found = self.add("Shape", (value.tensor,), {"out_type": dtype})[0]
        if not value.rows:
            return found
        bounds = [self.constant([n], dtype) for n in (1, 0, 1)]
        return self.add("StridedSlice", (found, *bounds), {"end_mask": 1})[0]

    def spread(self, value: Value) -> Value:
        """The value with a row for each element."""
        if value.rows:
            return value
        if value.tensor.dtype in (dt.variant, dt.resource):
            raise NoRule
        dims = self.before(self.count(), self.sizes(value))
        return Value(self.add("BroadcastTo", (value.tensor, dims))[0], True)

    def widened(self, value: Value, rank: int) -> Value:
        """A value with rows, whose elements have axes of size 1 in front, up to a rank."""
        tensor = value.tensor
        for _ in range(rank - value.rank):
            tensor = self.add("ExpandDims", (tensor, self.constant(1, dt.int32)))[0]
        return Value(tensor, True)

    def aligned(self, values: Sequence[Value]) -> list[Value]:
        """Values that broadcast with rows as those of one element do."""
        with_rows = [v for v in values if v.rows]
        if len(with_rows) == len(values) and len({id(v.tensor) for v in values}) == 1:
            return list(values)
        if len(with_rows) == 1 and all(v.rows or v.dims == () for v in values):
            return list(values)  # numbers broadcast with whatever there is
        rank = max(v.rank for v in values)
        return [self.widened(v, rank) if v.rows else v for v in values]


def shifted(axis: int) -> int:
    """The axis of rows that is an axis of one element."""
    return int(axis) + 1 if axis >= 0 else int(axis)


def shifted_axes(axes: Any) -> Any:
    """Axes of rows that are axes of one element, of the same dtype."""
    found = np.asarray(axes)
    return np.where(found >= 0, found + 1, found).astype(found.dtype)
