"""`numpy.where` at one speed for any mask: NumPy's guesses at each element which way it goes.

It takes 0.3 ns an element where the mask is regular and up to 5 ns where it is not, as is that of
an activation's gradient. Which of 0.0 and -0.0 bounds give is open, as it is in TensorFlow, but in
`clipped`.
"""

from typing import Any

import numpy as np

from penstock.core.native_passes import chosen

Array = Any  # numpy.ndarray, jax.Array or a tracer

_FEW = 4096  # elements below which NumPy's one call takes less than several
_BITS: dict[int, Any] = {4: np.int32, 8: np.int64}  # integers of as many bytes

_CLIPPED = "fd"  # dtypes whose clipping is a pass of vectors


def where(xp: Any, mask: Array, x: Array, y: Array) -> Array:
    """`xp.where(mask, x, y)`.

    Args:
      xp: numpy or jax.numpy.
      mask: bools.
      x: what is taken where the mask holds.
      y: what is taken elsewhere, of the same dtype; all three broadcast.
    """
    if xp is not np or max(x.size, y.size) < _FEW or x.dtype != y.dtype:
        return xp.where(mask, x, y)
    found = chosen(mask, x, y)
    if found is not None:
        return found
    bits = _BITS.get(x.dtype.itemsize) if x.dtype.kind in "fiu" else None
    if bits is not None:
        shape = np.broadcast_shapes(mask.shape, x.shape, y.shape)
        if x.shape == shape:
            return _by_bits(mask, x, y, bits)
        if y.shape == shape:
            return _by_bits(~mask, y, x, bits)
    return np.where(mask, x, y)


def maximum(x: Array, y: Array) -> Array:
    """`numpy.maximum`, which is no pass of vectors where one side is a scalar."""
    array, bound = (x, y) if y.ndim == 0 else (y, x)
    if _is_bound(array, bound):
        found = array.clip(bound, np.inf)
        return found if bound else found + bound  # 0.0 for -0.0
    return np.maximum(x, y)


def minimum(x: Array, y: Array) -> Array:
    """`numpy.minimum`, likewise."""
    array, bound = (x, y) if y.ndim == 0 else (y, x)
    return array.clip(-np.inf, bound) if _is_bound(array, bound) else np.minimum(x, y)


def _is_bound(x: Array, y: Array) -> bool:
    return bool(y.ndim == 0 and x.size >= _FEW and x.dtype == y.dtype and x.dtype.char in _CLIPPED)


def between(xp: Any, x: Array, low: Array, high: Array) -> Array:
    """`xp.maximum(xp.minimum(x, high), low)`, which NumPy has in one pass for scalars in order."""
    if xp is np and x.dtype.char in _CLIPPED and low.ndim == high.ndim == 0 and low <= high:
        return x.clip(low, high)
    return xp.maximum(xp.minimum(x, high), low)


def clipped(xp: Any, x: Array, low: Array, high: Array) -> Array:
    """What is above `high` becomes `high`, then what is below `low` becomes `low`; all else stays.

    So a bound that is NaN bounds nothing, NaN stays, and a zero keeps its sign.
    """
    if x.dtype.kind == "c":
        return between(xp, x, low, high)
    if xp is np and x.dtype.char in _CLIPPED and low.ndim == high.ndim == 0 and low < high:
        result = x.clip(low, high)
        if not (low and high) and x.dtype.kind == "f":
            result = np.asarray(result)
            np.copyto(result, x, where=x == 0)
        return result
    x = where(xp, x > high, high, x)
    return where(xp, x < low, low, x)


def _by_bits(mask: Array, x: Array, y: Array, bits: Any) -> Array:
    """Of bits that differ those of `x` where the mask holds; `x` has the shape of the result."""
    taken = np.ascontiguousarray(mask).astype(bits).reshape(mask.shape)
    np.negative(taken, out=taken)  # all bits where the mask holds, none elsewhere
    kind, x = x.dtype, np.ascontiguousarray(x).view(bits)
    other = (np.ascontiguousarray(y) if y.ndim else y).view(bits)
    if y.ndim == 0 and not other:
        return (x & taken).view(kind)
    differing = x ^ other
    differing &= taken
    differing ^= other
    return differing.view(kind)


__all__ = ["between", "clipped", "maximum", "minimum", "where"]
