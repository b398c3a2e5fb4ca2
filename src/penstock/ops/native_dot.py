"""Calls of the native products of bfloat16 and bytes (`native/dot.h`), inside compiled code."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core import autotune, native
from penstock.core.lazy import jax, jnp

Array = Any  # a JAX tracer
LEAST_WORK = 1 << 18  # multiplications; below, a call costs more than it saves
LEAST_SIDE = 16  # columns of the right side, and numbers in a sum
LEAST_ROWS = {2: 8, 1: 64}  # of the left side, by bytes of a number; XLA's own kernel of bytes is
# faster for fewer rows, as the right side is laid out anew for each call, and for batches
UNSURE_ROWS = {2: 32, 1: 256}  # below, it depends on the processor which is faster
MOST_MEASURED = 1 << 27  # bytes of both sides: to measure larger ones costs memory and seconds


def worth_a_dot(left: Sequence[int], right: Sequence[int], size: int) -> bool:
    """Whether there are instructions for it, and [..., m, k] times [..., k, n] is worth a call.

    Args:
      left: the shape of the left side.
      right: the shape of the right side.
      size: bytes of a number, 1 or 2.
    """
    if not native.dot_available():
        return False
    (m, k), n = left[-2:], right[-1]
    if size == 1 and math.prod(right[:-2]) != 1:
        return False
    batch = math.prod(np.broadcast_shapes(tuple(left[:-2]), tuple(right[:-2])))
    work = batch * m * n * k
    return bool(min(n, k) >= LEAST_SIDE and m >= LEAST_ROWS[size] and work >= LEAST_WORK)


def dot_wins(left: Sequence[int], right: Sequence[int], dtype: Any) -> bool:
    """Whether the native product serves: by the rule, or measured where neither is sure to win.

    Args:
      left: the shape of the left side, [..., m, k].
      right: the shape of the right side, [..., k, n].
      dtype: of both, bfloat16 or int8.
    """
    size = np.dtype(dtype).itemsize
    usual = worth_a_dot(left, right, size)
    if not native.dot_available() or not _unsure(left, right, size):
        return usual
    shapes = [tuple(left), tuple(right)]
    sizes = [" x ".join(map(str, shape)) for shape in shapes]
    what = f"product of {np.dtype(dtype).name}, {sizes[0]} with {sizes[1]}"
    result = np.int32 if size == 1 else dtype
    candidates = {
        "native": lambda: _prepared(lambda a, b: dot_product(a, b, False, result), shapes, dtype),
        "XLA": lambda: _prepared(
            lambda a, b: jnp.matmul(a, b, preferred_element_type=result), shapes, dtype
        ),
    }
    return autotune.chosen(what, candidates, "native" if usual else "XLA") == "native"


def _unsure(left: Sequence[int], right: Sequence[int], size: int) -> bool:
    """Whether measurements went either way: few rows, narrow sides, batches of bytes."""
    if (math.prod(left) + math.prod(right)) * size > MOST_MEASURED:
        return False
    (m, k), n = left[-2:], right[-1]
    work = math.prod(np.broadcast_shapes(tuple(left[:-2]), tuple(right[:-2]))) * m * n * k
    if min(m, n, k) < 2 or work < LEAST_WORK:
        return False
    batched = size == 1 and math.prod(right[:-2]) != 1
    return batched or m < UNSURE_ROWS[size] or min(n, k) < 2 * LEAST_SIDE


def _prepared(function: Any, shapes: list[tuple[int, ...]], dtype: Any) -> Any:
    """A call of a function of two arrays of ones, compiled, that waits for its result."""
    arrays = [jnp.ones(shape, dtype) for shape in shapes]
    compiled = jax.jit(function).lower(*arrays).compile()
    return lambda: compiled(*arrays).block_until_ready()


def dot_product(a: Array, b: Array, adj_b: bool, dtype: Any) -> Array:
    """The product of bfloat16 with bfloat16, or of int8 or uint8 with int8.

    Args:
      a: [..., m, k].
      b: [..., k, n], or [..., n, k] with `adj_b`; leading axes broadcast.
      adj_b: whether b is transposed.
      dtype: of the result, [..., m, n]: bfloat16 or int32.
    """
    n = b.shape[-2] if adj_b else b.shape[-1]
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    rank = len(lead) + 2  # of both, so that a mapped axis is the first of both
    a, b = (x.reshape((1,) * (rank - x.ndim) + x.shape) for x in (a, b))
    result = jax.ShapeDtypeStruct((*lead, a.shape[-2], n), dtype)
    return native.call("dot_product", result, a, b, mapped="expand_dims", adj_b=np.bool_(adj_b))


def dot_conv(x: Array, w: Array, shape: tuple[int, ...], window: Array, dtype: Any) -> Array:
    """The convolution of images [n, y, x, in] with [h, w, in, out], of the dtypes of `dot_product`.

    Args:
      x: images.
      w: a filter.
      shape: of the result.
      window: strides, dilations and the pads before, int64, along each axis.
      dtype: of the result.
    """
    return native.call("dot_conv", jax.ShapeDtypeStruct(shape, dtype), x, w, window=window)
