"""`numpy.where` at one speed for any mask: NumPy's guesses at each element which way it goes.

It takes 0.3 ns an element where the mask is regular and up to 5 ns where it is not, as is that of
an activation's gradient.
"""

from typing import Any

import numpy as np

Array = Any  # numpy.ndarray, jax.Array or a tracer

_FEW = 4096  # elements below which NumPy's one call takes less than several
_BITS: dict[int, Any] = {4: np.int32, 8: np.int64}  # integers of as many bytes


def where(xp: Any, mask: Array, x: Array, y: Array) -> Array:
    """`xp.where(mask, x, y)`.

    Args:
      xp: numpy or jax.numpy.
      mask: bools.
      x: what is taken where the mask holds.
      y: what is taken elsewhere, of the same dtype; all three broadcast.
    """
    if xp is not np or mask.size < _FEW or x.dtype != y.dtype or x.dtype.kind not in "fiu":
        return xp.where(mask, x, y)
    bits = _BITS.get(x.dtype.itemsize)
    if bits is not None and x.shape == mask.shape and (y.shape == mask.shape or y.ndim == 0):
        return _by_bits(mask, x, y, bits)
    if bits is not None and y.shape == mask.shape and x.ndim == 0:
        return _by_bits(~mask, y, x, bits)
    return np.where(mask, x, y)


def _by_bits(mask: Array, x: Array, y: Array, bits: Any) -> Array:
    taken = np.ascontiguousarray(mask).astype(bits)
    np.negative(taken, out=taken)  # all bits where the mask holds, none elsewhere
    kind, x = x.dtype, np.ascontiguousarray(x).view(bits)
    if y.ndim == 0:
        other = y.view(bits)
        if not other:
            taken &= x
            return taken.view(kind)
    else:
        other = np.ascontiguousarray(y).view(bits)
    differing = x ^ other
    differing &= taken
    differing ^= other
    return differing.view(kind)


__all__ = ["where"]
