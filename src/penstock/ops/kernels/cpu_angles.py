"""Sines, arcs and inverse roots in compiled code on CPU.

XLA computes most of these an element at a time there: a million sines take it 8 ms of processor
time, the sums below 1.2. All but arc tangents and roots run in double precision, so results are the
exact ones, rounded. Angles that are too far from 0 for the sums, where there is one, are left to
XLA; so are small arrays, for which a loop of their own is not worth it. Inverse roots are those of
inverses, which become vectors.

Arc tangents are ours for every size and dtype: XLA's vectors of them are wrong where it uses the
full width of AVX-512's registers (jaxlib 0.10.2), as element-wise regions do (`core.compiling`).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.kernels import compiled_kernel
from penstock.core.lazy import jnp, lax

Array = Any  # a JAX tracer
Function = Callable[..., Array]
REAL = ["half", "bfloat16", "float", "double"]
LEAST_ELEMENTS = 1 << 14
FAR = 1e5  # angles up to which the remainder below is exact
SHORT = {"T": ["half", "bfloat16", "float"]}
# Half of pi in parts of which multiples up to 2^20 are exact.
HALF_PI = tuple(
    map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2e037073p-69"))
)
SINE = [(-1) ** k / math.factorial(2 * k + 1) for k in range(1, 6)]  # of the squared angle
COSINE = [(-1) ** k / math.factorial(2 * k) for k in range(1, 7)]


ARC_STEP = math.pi / 16  # arcs are those of the nearest multiple, and a rest
ARC = [(-1) ** k / (2 * k + 1) for k in range(1, 11)]  # of the rest's squared tangent
ARC_TERMS = {4: 5, 8: 10}  # that count, by bytes of the result


def _is_large(attrs: dict[str, Any], *arrays: Array) -> bool:
    """Whether there are enough elements."""
    return bool(max(math.prod(a.shape) for a in arrays) >= LEAST_ELEMENTS)


def _register(name: str) -> Callable[[Function], Function]:
    return compiled_kernel(name, device="CPU", types=SHORT, when=_is_large)


def _sum(z: Array, factors: list[float]) -> Array:
    """A polynomial in z, times z."""
    total = jnp.full_like(z, factors[-1])
    for factor in factors[-2::-1]:
        total = total * z + factor
    return total * z


def _quarters(x: Array) -> tuple[Array, Array, Array]:
    """How many quarters of a turn are in the angle, and sine and cosine of the rest."""
    wide = x.astype(np.float64)
    count = jnp.round(wide * (2 / math.pi))
    rest = wide
    for part in HALF_PI:
        rest = rest - count * part
    square = rest * rest
    return count.astype(np.int32), rest + rest * _sum(square, SINE), 1 + _sum(square, COSINE)


def _wave(x: Array, ahead: int) -> Array:
    """The sine of the angle and so many quarters of a turn."""
    count, sine, cosine = _quarters(x)
    quarter = count + ahead
    found = jnp.where(quarter & 1 == 1, cosine, sine)
    return jnp.where(quarter & 2 == 2, -found, found).astype(np.float32)


def _slope(x: Array) -> Array:
    """The tangent."""
    count, sine, cosine = _quarters(x)
    return jnp.where(count & 1 == 1, -cosine / sine, sine / cosine).astype(np.float32)


def _arc(x: Array, size: int) -> Array:
    """The angle whose tangent is x; `size` is that of the dtype that it will be rounded to."""
    high = jnp.abs(x)
    is_steep = high > 1
    t = jnp.where(is_steep, 1 / high, high)
    near, tangent = jnp.zeros_like(t), jnp.zeros_like(t)
    for k in range(1, 5):
        is_next = t > math.tan((k - 0.5) * ARC_STEP)
        near = jnp.where(is_next, k * ARC_STEP, near)
        tangent = jnp.where(is_next, math.tan(k * ARC_STEP), tangent)
    rest = (t - tangent) / (1 + t * tangent)
    angle = near + (rest + rest * _sum(rest * rest, ARC[: ARC_TERMS[size]]))
    return jnp.copysign(jnp.where(is_steep, math.pi / 2 - angle, angle), x)


def _unless_far(x: Array, near: Function, general: Function) -> Array:
    """`near(x)`, or `general(x)` where an angle is far from 0 or none; in float32."""
    x = jnp.asarray(x).astype(np.float32)
    return lax.cond((jnp.abs(x) <= FAR).all(), near, general, x)


@_register("Sin")
def sin(x: Array) -> Array:
    """Sines, rounded from double precision."""
    return _unless_far(x, lambda a: jnp.where(a == 0, a, _wave(a, 0)), jnp.sin)


@_register("Cos")
def cos(x: Array) -> Array:
    """Cosines, rounded from double precision."""
    return _unless_far(x, lambda a: _wave(a, 1), jnp.cos)


@_register("Tan")
def tan(x: Array) -> Array:
    """Tangents, rounded from double precision."""
    return _unless_far(x, lambda a: jnp.where(a == 0, a, _slope(a)), jnp.tan)


@_register("Asin")
def asin(x: Array) -> Array:
    """Arc sines, rounded from double precision."""
    wide = jnp.asarray(x).astype(np.float64)
    return _arc(wide / jnp.sqrt((1 - wide) * (1 + wide)), 4).astype(np.float32)


@_register("Acos")
def acos(x: Array) -> Array:
    """Arc cosines, rounded from double precision."""
    wide = jnp.asarray(x).astype(np.float64)
    return (2 * _arc(jnp.sqrt((1 - wide) / (1 + wide)), 4)).astype(np.float32)


@compiled_kernel("Atan", device="CPU", types={"T": REAL})
def atan(x: Array) -> Array:
    """Arc tangents in the precision of x, at least float32."""
    x = jnp.asarray(x)
    size = max(x.dtype.itemsize, 4)
    return _arc(x.astype(f"f{size}"), size)


@_register("Atan2")
def atan2(y: Array, x: Array) -> Array:
    """Angles of points, rounded from double precision."""
    high, wide = jnp.abs(y).astype(np.float64), jnp.abs(x).astype(np.float64)
    ratio = jnp.where((high == wide) & ~jnp.isnan(high), jnp.sign(high), high / wide)
    angle = _arc(ratio, 4)
    angle = jnp.where(jnp.signbit(x), math.pi - angle, angle)
    return jnp.copysign(angle.astype(np.float32), jnp.asarray(y).astype(np.float32))


@_register("Rsqrt")
def rsqrt(x: Array) -> Array:
    """Inverse square roots; inverses of extreme numbers would be infinite or 0: they are scaled."""
    x = jnp.asarray(x).astype(np.float32)
    size = jnp.abs(x)
    is_small, is_great = size < np.float32(2**-64), size > np.float32(2**64)
    root = jnp.sqrt(1 / (x * _chosen(is_small, 2.0**64, is_great, 2.0**-64)))
    root *= _chosen(is_small, 2.0**32, is_great, 2.0**-32)
    root = jnp.where(x == 0, 1 / x, root)  # the inverse of -0 has none
    return jnp.where(x < 0, np.float32(math.nan), root)  # the inverse of -inf has a root


def _chosen(is_one: Array, one: float, is_two: Array, two: float) -> Array:
    """One factor, the other, or 1: float32."""
    return jnp.where(is_one, np.float32(one), jnp.where(is_two, np.float32(two), np.float32(1)))
