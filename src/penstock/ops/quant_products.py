"""What the fused quantised operations do after an exact product of 8-bit integers.

`Tail` says what follows: bias, summand, zero from below, and one of three ends. The sums stay as
32-bit integers with a range of their own, become 8-bit integers of a range that is given
("frozen"), or become floats.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core.lazy import lax
from penstock.ops.math_int_matmul import int_matmul, product_of_whole
from penstock.ops.quant_host import window_view
from penstock.ops.quant_levels import FLOAT, Array, limits, product_range, to_integers
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType


def less_zero_points(
    xp: Any, sums: Array, parts: tuple[Array, Array], zeros: tuple[Array, Array], depth: int
) -> Array:
    """Products of numbers less their zero points, from the products of the bare integers.

    Args:
      xp: the array namespace.
      sums: int32[..., n, m], the products of the integers.
      parts: the sums over k of each side: int32[..., n, 1] and int32[..., 1, m].
      zeros: the zero points of the sides, int32, in shapes that broadcast with `sums`.
      depth: k.

    Returns:
      int32[..., n, m].
    """
    (by_row, by_column), (first, second) = parts, zeros
    return sums - second * by_row - first * by_column + np.int32(depth) * first * second


def product_less_zeros(xp: Any, a: Array, b: Array, zeros: tuple[Array, Array]) -> Array:
    """The product of matrices of bytes less their zero points, as int32; sums wrap around.

    Args:
      xp: the array namespace.
      a: int8 or uint8 [..., n, k].
      b: int8 or uint8 [..., k, m].
      zeros: the zero points, int32: of `a` [] or [n, 1], of `b` [] or [m].
    """
    depth = a.shape[-1]
    exact = exact_floats(zeros, depth) if xp is np else None
    if exact is not None:
        return product_of_whole(*less_zeros((a, b), zeros, exact))
    parts = (
        xp.sum(a, axis=-1, keepdims=True, dtype=np.int32),
        xp.sum(b, axis=-2, keepdims=True, dtype=np.int32),
    )
    return less_zero_points(xp, int_matmul(xp, a, b), parts, zeros, depth)


def exact_floats(zeros: Sequence[Array], depth: int) -> Any:
    """The floats that hold all sums of `depth` products of bytes less zero points, or None."""
    first, second = [
        int(np.abs(zero, dtype=np.int64).max(initial=0)) if zero.ndim else abs(int(zero))
        for zero in zeros
    ]
    most = depth * (first + 255) * (second + 255)
    return np.float32 if most < 1 << 24 else np.float64 if most < 1 << 53 else None


def less_zeros(sides: Sequence[Array], zeros: Sequence[Array], floats: Any) -> list[Array]:
    """Arrays of bytes less their zero points, as floats that hold them."""
    wide = [x.astype(floats) for x in sides]
    for x, zero in zip(wide, zeros, strict=True):
        x -= zero.astype(floats)  # apart from the conversion this takes half the time
    return wide


def window_rows(
    xp: Any, x: Array, sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Array:
    """What a window sees at each of its places, laid out for a product with a filter.

    Compiled, both the tensor and the rows are settled before they are used: fused into what
    follows, XLA computes each element of the rows by itself (36 ms instead of 7.6 for a convolution
    of 8 x 56 x 56 x 64 with 3 x 3 x 64 x 64 on two cores).

    Args:
      xp: the array namespace.
      x: [B, spatial..., C], padded already.
      sizes, strides, dilations: of the window, one for each spatial axis.

    Returns:
      [B, places..., taps * C], the taps in row-major order.
    """
    spans = [(n - 1) * k + 1 for n, k in zip(sizes, dilations, strict=True)]
    shape = zip(x.shape[1:-1], spans, strides, strict=True)
    out = [max((n - span) // stride + 1, 0) for n, span, stride in shape]
    if xp is np:
        places, whole = (len(x), *out, 1), (1, *sizes, x.shape[-1])
        x = x if x.flags.c_contiguous else np.ascontiguousarray(x)
        view = window_view(x, places, whole, (1, *strides, 1), (1, *dilations, 1))
        return view.reshape(*places[:-1], math.prod(whole))
    x = lax.optimization_barrier(x)
    taps = []
    for place in itertools.product(*map(range, sizes)):
        starts = [p * k for p, k in zip(place, dilations, strict=True)]
        cut = zip(starts, out, strides, strict=True)
        seen = tuple(slice(a, max(a + (n - 1) * s + 1, a), s) for a, n, s in cut)
        taps.append(x[(slice(None), *seen)])
    return lax.optimization_barrier(xp.concatenate(taps, axis=-1))


def largest(xp: Any, low: Array, high: Array) -> Array:
    """The larger of the ends' sizes."""
    return xp.maximum(xp.abs(low), xp.abs(high))


def weight_level(xp: Any, low: Array, high: Array) -> Array:
    """The distance of neighbouring weights, which are scaled alone: the larger end over 127."""
    return largest(xp, low, high) / FLOAT(limits(dt.qint8)[1])


@dataclass(frozen=True, slots=True)
class Tail:
    """What a fused operation does with its 32-bit sums; arrays or None where there is none.

    Attributes:
      relu: whether negative numbers become zero.
      bias: float32[channels] in numbers, or int32[channels] in the sums' own steps.
      bias_scale: how many steps one is, for a bias of floats.
      summand: what is added to every sum, in steps, float32.
    """

    relu: bool = False
    bias: Array | None = None
    bias_scale: Array | None = None
    summand: Array | None = None


def finished(xp: Any, sums: Array, tail: Tail) -> Array:
    """The sums with bias, summand and zero from below, still in their own steps: float64[...]."""
    total = sums.astype(np.float64)
    if tail.bias is not None:
        if tail.bias.dtype == np.int32:
            total = total + tail.bias.astype(np.float64)
        else:
            total = total + (tail.bias * tail.bias_scale).astype(np.float64)
    if tail.summand is not None:
        total = total + tail.summand.astype(np.float64)
    return xp.maximum(total, 0.0) if tail.relu else total


def as_sums(
    xp: Any, total: Array, step: Array, out: DType = dt.qint32
) -> tuple[Array, Array, Array]:
    """The first end: 32-bit integers and the range that they stand for.

    Args:
      xp: the array namespace.
      total: float64[...], in steps.
      step: what a step is in numbers: float32[] or one for each channel.
      out: the dtype of the integers.

    Returns:
      The integers, and the ends of their range.
    """
    return to_integers(xp, xp.rint(total), out), *product_range(step, out)


def as_bytes(
    xp: Any, total: Array, step: Array, frozen: tuple[Array, Array], out: DType
) -> tuple[Array, Array, Array]:
    """The second end: 8-bit integers of a range that is given; 0 stands for 0.0.

    Args:
      xp: the array namespace.
      total: float64[...], in steps.
      step: what a step is in numbers: float32[] or one for each channel.
      frozen: the ends of the range.
      out: quint8 or qint8.

    Returns:
      The integers, and the range as it was given.
    """
    low, high = frozen
    scale = step * FLOAT(limits(out)[1]) / largest(xp, low, high)
    return to_integers(xp, xp.rint(total * scale), out), low, high
