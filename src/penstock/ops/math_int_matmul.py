"""Exact products of 8-bit integers, summed into 32 bits.

Compiled, the native products of bytes serve where the processor has instructions for them.
Elsewhere both sides are signed bytes, for which XLA has a kernel many times faster than for any
other integers (0.3 ms against 12.7 ms for 512 x 512 x 512 on two cores); an unsigned side is
shifted by 128, and the sums corrected.
"""

from typing import Any

import numpy as np

from penstock.ops.native_dot import dot_product, dot_wins

Array = Any  # numpy.ndarray, jax.Array or a tracer
_SHIFT = 128
_ALONE = 1 << 18  # multiplications up to which OpenBLAS works on one thread


def int_matmul(xp: Any, a: Array, b: Array) -> Array:
    """The product of matrices of 8-bit integers, as int32.

    Args:
      xp: the array namespace.
      a: int8 or uint8 [..., n, k].
      b: int8 or uint8 [..., k, m].

    Returns:
      int32[..., n, m]; beyond 32 bits sums wrap around.
    """
    if xp is np:  # BLAS has no integers; 53 bits hold every sum of fewer than 2**36 products
        return product_of_whole(a.astype(np.float64), b.astype(np.float64))
    second, by_b = signed(xp, b)
    if dot_wins(a.shape, b.shape, np.int8):
        first, by_a = a, 0
        total = dot_product(a, second, False, np.int32)
    else:
        first, by_a = signed(xp, a)
        total = xp.matmul(first, second, preferred_element_type=np.int32)
    if by_a:
        total = total + by_a * xp.sum(b, axis=-2, keepdims=True, dtype=np.int32)
    if by_b:
        total = total + by_b * xp.sum(first, axis=-1, keepdims=True, dtype=np.int32)
    return total


def product_of_whole(a: Array, b: Array) -> Array:
    """The product of matrices of floats whose sums are whole and exact, as int32; they wrap around.

    Matrices are taken in blocks of rows for which OpenBLAS begins no threads: beside other work
    they wait for each other, 9 ms for 26 us of work.
    """
    inner, columns = b.shape[-2:]
    if a.ndim == b.ndim == 2 and a.size * columns > _ALONE:
        rows = max(2, _ALONE // (inner * columns))
        result = np.concatenate([a[i : i + rows] @ b for i in range(0, len(a), rows)])
    else:
        result = np.matmul(a, b)
    if result.dtype == np.float32:  # exact sums lie below 2**24
        return result.astype(np.int32)
    return result.astype(np.int64).astype(np.int32)


def signed(xp: Any, x: Array) -> tuple[Array, int]:
    """Bytes as int8, and what each of them lacks: 0 or 128."""
    if x.dtype == np.int8:
        return x, 0
    return (x.astype(np.int16) - _SHIFT).astype(np.int8), _SHIFT
