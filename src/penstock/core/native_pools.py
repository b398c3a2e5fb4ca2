"""Pooling by sliding windows in one native pass, with functions of `native/images.cc`.

Each function returns None where the library is not in use or has no code for the dtypes; see
`native_images`, whose library it is. Thread-safe: what is kept says how windows lie, by shapes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.native_images import KINDS, LIBRARY, is_done, threads_for

Array = Any  # numpy.ndarray
LARGEST, LARGEST_BACK, OF_LARGEST, PLACES, MEANS, MEANS_BACK = range(6)
TYPES = ("float", "double", "int32", "int64", "uint8", "int16", "int8", "uint16")
_AXES = 5  # that windows slide over, the batch first


def sizes_of(
    shape: Sequence[int],
    counts: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    before: Sequence[int],
    with_batch: bool = True,
) -> Array:
    """How windows lie, as the functions below take it: int64 numbers.

    Args:
      shape: of the array, four or five sizes with the batch first; so are all that follow.
      counts: how many windows there are.
      window: places in one.
      strides: the steps from window to window.
      before: padding before the array.
      with_batch: whether indices count through all images, else through each.
    """
    batch = max(shape[0], 1)
    total = int(np.prod(shape, dtype=np.int64))
    alone = (window[-1], strides[-1], before[-1], counts[-1]) == (1, 1, 0, shape[-1])
    depth = shape[-1] if alone else 1
    axes = []
    for entries, rest in ((shape, 1), (counts, 1), (window, 1), (strides, 1), (before, 0)):
        inner = list(entries[1:-1] if alone else entries[1:])
        axes += [entries[0], *[rest] * (_AXES - 1 - len(inner)), *inner]
    return np.array([*axes, depth, total if with_batch else total // batch], np.int64)


def slide(
    work: int,
    x: Array,
    y: Array | None,
    grads: Array | None,
    sizes: Array,
    result: Array,
) -> Array | None:
    """`result` with what one of LARGEST .. MEANS_BACK gives; zeros before, for those BACK.

    Args:
      work: what is done.
      x: what windows slide over; for MEANS_BACK the gradients of the means instead.
      y: the largest element of each window, but for LARGEST and means.
      grads: of the dtype of `x`: for LARGEST_BACK those of `y`, for OF_LARGEST those of `x`.
      sizes: of `sizes_of`.
      result: dense, of the dtype of `x`; for PLACES int64.
    """
    call, kind = LIBRARY.function("slide"), KINDS.get(x.dtype)
    if call is None or kind is None:
        return None
    x = np.ascontiguousarray(x)
    y = None if y is None else np.ascontiguousarray(y)
    grads = None if grads is None else np.ascontiguousarray(grads)
    given = x, y, grads, sizes, threads_for(result.size), result
    return result if is_done(call(work, kind, *given)) else None


def to_places(grads: Array, places: Array, shape: Sequence[int], by_image: bool) -> Array | None:
    """Gradients added to the elements of an array of this shape that indices name.

    Args:
      grads: real numbers, the batch first.
      places: int64, of the shape of `grads`; those outside are left out.
      shape: of the result, with the same batch.
      by_image: whether indices count through one image.
    """
    call, kind = LIBRARY.function("to_places"), KINDS.get(grads.dtype)
    if call is None or kind is None:
        return None
    grads, places = np.ascontiguousarray(grads), np.ascontiguousarray(places)
    result, images = np.zeros(shape, grads.dtype), max(shape[0], 1)
    step = result.size // images if by_image else 0
    given = images, grads.size // images, step, result.size, result
    return result if is_done(call(kind, grads, places, *given)) else None
