"""The index of a StridedSlice.

A StridedSlice has one entry of `begin`, `end`, `strides` for each item of the index; five bit masks
say which items are open at the front or the end, an ellipsis, a new axis, or a single position that
removes its axis. `dense_index` turns them into a NumPy index of exactly one slice or position for
each axis, which is what shape rules and kernels share.
"""

from typing import Any

from penstock.core.shapes import ShapeContext
from penstock.types import dims as d
from penstock.types.dims import Dims

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def mask_attrs(op: Any) -> dict[str, Any]:
    """The five masks of an operation."""
    return {m: op.get_attr(m) for m in MASKS}


def dense_index(rank: int, begin: Any, end: Any, strides: Any, masks: tuple[int, ...]) -> list[Any]:
    """One NumPy index item for each axis and new axis: a slice, an integer or None.

    Bounds may be None where unknown.

    Args:
      rank: the rank of the tensor that is sliced.
      begin: a list of integers.
      end: a list of integers.
      strides: a list of integers, none of them 0.
      masks: in the order of `MASKS`.

    Raises:
      ValueError: the index has more items than the tensor axes, or two ellipses.
    """
    begin_mask, end_mask, ellipsis, new, shrink = masks
    if ellipsis & (ellipsis - 1):
        raise ValueError(
            "StridedSlice: Multiple ellipses in slice spec not allowed: expected at most one."
        )
    taken = [i for i in range(len(begin)) if not new >> i & 1 and not ellipsis >> i & 1]
    if len(taken) > rank:
        raise ValueError(
            f"StridedSlice: expected at most {rank} indices for a tensor of rank {rank}, got "
            f"{len(taken)}: Index out of range using input dim {rank}; input has only {rank} dims."
        )
    items: list[Any] = []
    for i, (b, e, s) in enumerate(zip(begin, end, strides, strict=True)):
        if ellipsis >> i & 1:
            items.extend([slice(None)] * (rank - len(taken)))
        elif new >> i & 1:
            items.append(None)
        elif shrink >> i & 1:
            items.append(b)
        else:
            items.append(
                slice(None if begin_mask >> i & 1 else b, None if end_mask >> i & 1 else e, s)
            )
    if not ellipsis:
        items.extend([slice(None)] * (rank - len(taken)))
    return items


def index_shape(c: ShapeContext, dims: Dims, first: int) -> Dims:
    """The shape that an index at inputs first, first + 1, first + 2 takes out of `dims`."""
    begin, end, strides = (c.constant(first + i) for i in range(3))
    lengths = {n for i in range(3) if (n := (c.rank(first + i, 1) or (None,))[0]) is not None}
    if len(lengths) > 1:
        shapes = [c.shape(first + i) for i in range(3)]
        if not c.running:
            c.merge(c.merge(shapes[0], shapes[1]), shapes[2])
        c.refuse(
            "Expected begin, end, and strides to be 1D equal size tensors, but got shapes"
            " {}, {}, and {} instead".format(*(d.bracketed(s) for s in shapes))
        )
    if dims is None or not lengths:
        return None
    count = lengths.pop()
    if strides is not None and (strides == 0).any():
        place = int((strides == 0).argmax())
        c.fail("strides other than 0", f"{strides.tolist()}: strides[{place}] must be non-zero")
    lists = [[UNKNOWN] * count if v is None else v.tolist() for v in (begin, end, strides)]
    index = dense_index(len(dims), lists[0], lists[1], lists[2], tuple(c.attr(m) for m in MASKS))
    result: list[int | None] = []
    axis = 0
    for item in index:
        if item is None:
            result.append(1)
            continue
        n = dims[axis]
        if isinstance(item, slice):
            result.append(_length(item, n))
        elif item is not UNKNOWN and n is not None and not -n <= item < n:
            c.fail(
                f"an index in [{-n}, {n}) for axis {axis} of shape {d.text(dims)}",
                f"slice index {item} of dimension {axis} out of bounds",
            )
        axis += 1
    return (*result, *dims[axis:])


class _Unknown:
    """A bound that is known only when the graph runs."""


UNKNOWN: Any = _Unknown()


def _length(item: slice, n: int | None) -> int | None:
    bounds = (item.start, item.stop, item.step)
    if item == slice(None, None, 1) or item == slice(None):
        return n
    if any(b is UNKNOWN for b in bounds):
        return None
    start, stop, step = bounds
    if n is not None:
        return len(range(*item.indices(n)))
    if (
        step > 0
        and start is not None
        and stop is not None
        and (start < 0) == (stop < 0)
        and stop <= start
    ):
        return 0
    return None
