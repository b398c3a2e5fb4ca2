"""Small convolutions in one native pass on one thread, with a function of `native/images.cc`.

`convolve` returns None where the library is not in use or has no code for the dtype; see
`native_images`, whose library it is. Thread-safe: nothing is kept between calls.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.native_images import KINDS, LIBRARY, is_done

Array = Any  # numpy.ndarray
FORWARD, TO_INPUT, TO_FILTER = range(3)
_AXES = 3  # that windows slide over
_WIDENED = "eE"  # characters of float16 and bfloat16, which are computed in float32
_KINDS = 3  # the library has code for the first ones


def sizes_of(
    image: Sequence[int],
    filters: Sequence[int],
    counts: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    before: Sequence[int],
) -> Array:
    """How windows lie, as `convolve` takes it: int64 numbers.

    Args:
      image: the shape of the image, [batch, up to three sizes, depth], no size 0.
      filters: that of the filter, [as many sizes, depth / groups, outputs], no size 0.
      counts: how many windows there are along each axis, 1 or more.
      strides: the steps from window to window.
      rates: the steps within a window.
      before: zeros before the image.
    """
    axes = []
    spatial = image[1:-1], counts, filters[:-2], strides, rates, before
    for entries, rest in zip(spatial, (1, 1, 1, 1, 1, 0), strict=True):
        axes += [*[rest] * (_AXES - len(entries)), *entries]
    groups = image[-1] // filters[-2]
    return np.array([image[0], groups, image[-1], filters[-1], *axes], np.int64)


def convolve(work: int, x: Array, y: Array, sizes: Array, shape: Sequence[int]) -> Array | None:
    """A convolution, or what flows back through it: an array of this shape and the dtype of `x`.

    Args:
      work: FORWARD of an image and a filter; TO_INPUT of a filter and the output's gradient;
        TO_FILTER of an image and that gradient.
      x: the first, with channels last.
      y: the second, of the same dtype.
      sizes: of `sizes_of`.
      shape: of the result, which it fits.
    """
    call, dtype = LIBRARY.function("convolve"), x.dtype
    if dtype.char in _WIDENED:
        x, y = x.astype(np.float32), y.astype(np.float32)
    kind = KINDS.get(x.dtype, _KINDS)
    if call is None or kind >= _KINDS:
        return None
    result = np.empty(shape, x.dtype)
    given = np.ascontiguousarray(x), np.ascontiguousarray(y), sizes, result
    if not is_done(call(work, kind, *given)):
        return None
    return result.astype(dtype) if dtype.char in _WIDENED else result
