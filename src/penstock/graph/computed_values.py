"""Values that shape rules ask for while a graph is built, computed where no rule tells them.

`static_values` has the values that a few operations make of constants, which programs may ask for
too. A shape that `tf.reduce_max(lengths)` or `tf.sort(sizes)` decides follows from constants just
as well: here the host kernels of the operations in between run, on few elements, for shape rules
alone. What is stateful, can be fed, belongs to control flow or moves no plain arrays is left alone.
A value that was found stays with its graph until operations of the graph are changed: where one
size is the sum of all before it, no question goes back to the first.
"""

import math
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.host_runs import run_host
from penstock.core.prepared import prepare
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.graph.static_values import MAX_ELEMENTS, MAX_RANK, constant_value, shape_value
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = np.ndarray[Any, Any]
MAX_OPERATIONS = 64  # that are looked at for one question
_NOT_PLAIN = frozenset((dt.resource, dt.variant))
# Whose values `constant_value` has if anything tells them: they follow from shapes.
_DECIDED = frozenset(("Const", "Shape", "ShapeN", "Size", "Rank", "OnesLike", "ZerosLike"))
# Whose values hang on what else runs, or on what is fed.
_LEFT_ALONE = (
    frozenset(
        f"{ref}{kind}"
        for kind in ("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond")
        for ref in ("", "Ref")
    )
    | _DECIDED
    | {"Placeholder", "PlaceholderWithDefault", "FakeParam"}
)


def known_value(tensor: Tensor) -> Array | None:
    """The value of a tensor that follows from constants and static shapes, else None."""
    found = constant_value(tensor)
    if found is not None or not isinstance(tensor, SymbolicTensor) or tensor.op.type in _DECIDED:
        return found
    return _Question(tensor.graph).value(tensor)


def known_shape(tensor: Tensor) -> Dims:
    """What is known of a tensor read as a shape, as `shape_value` gives it."""
    found = shape_value(tensor)
    if not isinstance(tensor, SymbolicTensor) or tensor.op.type in _DECIDED:
        return found
    if found is not None and None not in found:
        return found
    value = _Question(tensor.graph).value(tensor)
    if value is None or value.size > MAX_RANK:
        return found
    return tuple(None if v < 0 else int(v) for v in value.reshape(-1))


class _Kept:
    """The values that were found in a graph. Thread-safe: each entry is set in one step.

    Attributes:
      edits: of the graph when they were found.
      values: by id of the operation and number of the output; the operation keeps its id.
    """

    __slots__ = ("edits", "values")

    def __init__(self, edits: int) -> None:
        self.edits = edits
        self.values: dict[tuple[int, int], tuple[Any, Array]] = {}


def _kept(graph: Any) -> _Kept:
    found: _Kept | None = graph.notes.get("computed values")
    if found is None or found.edits != graph.edits:
        found = graph.notes["computed values"] = _Kept(graph.edits)
    return found


class _Question:
    """One question: what it has looked at so far, and at how many operations it may still look."""

    def __init__(self, graph: Any) -> None:
        self._kept = _kept(graph).values
        self._unknown: set[tuple[int, int]] = set()
        self._left = MAX_OPERATIONS

    def value(self, tensor: SymbolicTensor) -> Array | None:
        """The value of a tensor of which `constant_value` says nothing."""
        key = (id(tensor.op), tensor.value_index)
        kept = self._kept.get(key)
        if kept is not None:
            return kept[1]
        self._left -= 1
        if self._left < 0 or key in self._unknown:
            return None
        found = self._computed(tensor)
        if found is None:
            self._unknown.add(key)
        else:
            self._kept[key] = (tensor.op, found)
        return found

    def _computed(self, tensor: SymbolicTensor) -> Array | None:
        op = tensor.op
        if not _can_be_computed(op):
            return None
        arguments = []
        for given in op.inputs:
            value = constant_value(given)
            if value is None:
                value = self.value(given)
            if value is None or value.size > MAX_ELEMENTS:
                return None
            arguments.append(value)
        return _run(op, arguments, tensor.value_index)


def _can_be_computed(op: Any) -> bool:
    kind = op.op_def
    if kind.stateful or kind.calls or kind.name in _LEFT_ALONE or not op.inputs:
        return False
    if any(t.dtype in _NOT_PLAIN or t.dtype.is_ref for t in (*op.inputs, *op.outputs)):
        return False
    return all(_is_small(t.dims) for t in (*op.inputs, *op.outputs))


def _is_small(dims: Dims) -> bool:
    if dims is None or None in dims:
        return False
    return math.prod(n for n in dims if n is not None) <= MAX_ELEMENTS


def _run(op: Any, arguments: list[Array], index: int) -> Array | None:
    attrs = {name: value for name, value in op.attrs.items() if name[0] != "_"}
    try:
        prepared = prepare(op.op_def, op.inputs, op.input_counts, attrs, "CPU")
        kernel = prepared.host_kernel
        if kernel is None or kernel.reentrant or kernel.singly:
            return None
        value = np.asarray(run_host(prepared, arguments)[index]).view()
    except (TypeError, ValueError, errors.OpError):
        return None  # it fails when it runs, with its own message
    value.flags.writeable = False  # it is kept, and many ask for it
    return value
