"""Assignment to a slice of a variable."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.graph.static_values import slice_index
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray, jax.Array or a tracer
MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _slice_shape(c: ShapeContext) -> list[Dims]:
    bounds = [c.constant(i) for i in (1, 2, 3)]
    held = c.variable_shape(0)
    known = [b for b in bounds if b is not None]
    if held is None or None in held or c.shape(4) is None or len(known) < len(bounds):
        return []
    begin, end, strides = known
    index = slice_index(begin, end, strides, *[c.attr(m) for m in MASKS])
    problem = _slice_problem(tuple(n for n in held if n is not None), index, c.shape(4))
    if problem is not None:
        raise ValueError(f"{c.op_name}: {problem}")
    return []


def _slice_problem(held: tuple[int, ...], index: tuple[Any, ...], value: Dims) -> str | None:
    """Why a value of shape `value` cannot go to `index` of a variable of shape `held`."""
    try:
        wanted = np.broadcast_to(np.empty(()), held)[index].shape
    except IndexError as problem:
        return f"slice index out of bounds: {problem} for a variable of shape {d.text(held)}"
    trimmed = d.without_leading_ones(value, len(wanted))
    try:
        fits = d.broadcast(wanted, trimmed) == wanted or not d.is_full(value)
    except ValueError:
        fits = False
    if fits:
        return None
    return (
        f"Cannot broadcast input shape {d.text(value)} into final shape {d.text(wanted)}. "
        "Slice or reshape the value."
    )


STRIDED_SLICE_ASSIGN = define_op(
    "ResourceStridedSliceAssign(ref: resource, begin: Index, end: Index, strides: Index, value: T; "
    "T: type, Index: {int32, int64}, "
    "begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, "
    "shrink_axis_mask: int = 0) -> ",
    shape=_slice_shape,
    stateful=True,
    effects={"ref": "rw"},
    host_inputs=("begin", "end", "strides"),
    doc="Assigns to a slice of a variable; the value is broadcast to the slice's shape.",
).not_differentiable("it has no outputs")


@kernel(STRIDED_SLICE_ASSIGN)
def _strided_slice_assign(
    xp: Any,
    ref: Any,
    begin: Array,
    end: Array,
    strides: Array,
    value: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> None:
    old = ref.read()
    if (strides == 0).any():
        raise errors.InvalidArgumentError(
            None, None, f"strides[{int(np.argmin(strides != 0))}] must be non-zero"
        )
    index = slice_index(
        begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    )
    problem = _slice_problem(old.shape, index, value.shape)
    if problem is not None:
        raise errors.InvalidArgumentError(None, None, problem)
    rank = np.broadcast_to(np.empty(()), old.shape)[index].ndim
    value = value.reshape(d.without_leading_ones(value.shape, rank))
    if xp is np:
        new = np.array(old)
        new[index] = value if value.ndim else value[()]  # an array would be one object of strings
        ref.write(new)
    else:
        ref.write(old.at[index].set(value))
