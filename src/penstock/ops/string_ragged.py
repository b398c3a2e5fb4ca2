"""What `strings.join` and `strings.reduce_join` do with ragged strings."""

import functools
from typing import Any

from penstock.core import dispatch
from penstock.ops.array_basics import reshape
from penstock.ops.array_gather import gather
from penstock.ops.array_shape import expand_dims, size
from penstock.ops.math_range import range as range_of
from penstock.ops.math_reduce import reduce_max
from penstock.ops.ragged_class import RaggedTensor
from penstock.ops.ragged_elementwise import binary
from penstock.ops.string_basics import join as join_tensors
from penstock.ops.string_joining import reduce_join as reduce_tensors
from penstock.ops.string_joining import unsorted_segment_join


@dispatch.handler("string_basics.join", RaggedTensor)
def join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """`tf.strings.join` where an input is ragged: they broadcast, as element-wise functions do."""

    def two(x: Any, y: Any) -> Any:
        return binary(lambda a, b: join_tensors([a, b], separator, name), x, y)

    return functools.reduce(two, inputs)


@dispatch.handler("string_joining.reduce_join", RaggedTensor)
def reduce_join(
    inputs: RaggedTensor,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """`tf.strings.reduce_join` of ragged strings: along all axes, or one.

    Raises:
      NotImplementedError: several axes, or one outside of the innermost ragged one.
    """
    rank = inputs.shape.rank
    if axis is None and (rank is not None or not keepdims):
        joined = reduce_tensors(inputs.flat_values, None, False, separator, name)
        return reshape(joined, [1] * rank) if rank is not None and keepdims else joined
    if not isinstance(axis, int) or rank is None:
        raise _not_one_axis(axis)
    place = axis + rank if axis < 0 else axis
    if place > 1:
        inner = reduce_join if isinstance(inputs.values, RaggedTensor) else reduce_tensors
        return inputs.with_values(inner(inputs.values, place - 1, keepdims, separator, name))
    if place < 0 or isinstance(inputs.values, RaggedTensor):
        raise _not_one_axis(axis)
    rows = inputs.value_rowids()
    if place == 1:
        joined = unsorted_segment_join(inputs.values, rows, inputs.nrows(), separator, name)
    else:
        columns = range_of(size(rows, rows.dtype)) - gather(inputs.row_starts(), rows)
        widest = reduce_max(inputs.row_lengths())
        joined = unsorted_segment_join(inputs.values, columns, widest, separator, name)
    return expand_dims(joined, place) if keepdims else joined


def _not_one_axis(axis: Any) -> NotImplementedError:
    return NotImplementedError(
        f"reduce_join of a ragged tensor: expected one axis, with no ragged one inside of it, got"
        f" {axis!r}. Join the inner axis first, or use to_tensor()."
    )
