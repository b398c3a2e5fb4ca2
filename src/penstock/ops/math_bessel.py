"""Bessel functions of the first and second kind, modified ones of the second, Dawson, Fresnel.

Each function is a sum of Chebyshev polynomials (`math_special_tables`) times what is singular or
oscillates. One formula serves the host and compiled kernels; it is computed in float64 for every
dtype. Arguments up to 8 use the power series' side, with the zeros of J as factors; larger ones
Hankel's form sqrt(2 / (pi x)) (P cos - Q sin), whose phase is found without rounding it.

Source: NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov: 10.8, 10.17 (J, Y),
10.31, 10.40 (K), 7.2, 7.5 (Dawson's and Fresnel's integrals).
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.kernels import register_kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef
from penstock.ops import math_special_tables as tables
from penstock.ops.factories import unary, unary_function
from penstock.ops.math_arithmetic import FLOATS, add_v2, multiply, negative, subtract
from penstock.ops.math_division import real_div
from penstock.ops.math_elementwise import cos, reciprocal, sin, square
from penstock.ops.math_special import HOST_LIMIT, on_native_host, over

Array = Any  # numpy.ndarray or a JAX tracer
Formula = Callable[[Any, Array], Array]  # (numpy or jax.numpy, float64) -> float64


def chebyshev(c: Sequence[float], u: Array) -> Array:
    """The sum over k of c[k] T_k(2u - 1), by Clenshaw's recurrence."""
    twice = 4 * u - 2
    after, current = 0.0 * u, 0.0 * u
    for number in reversed(c[1:]):
        after, current = current, twice * current - after + number
    return 0.5 * twice * current - after + c[0]


def _apart(x: Array, order: int) -> Array:
    """(x^2 - z1^2) (x^2 - z2^2) for the first zeros of J; exact to the last bits beside a zero.

    With z = high + low: z^2 = high^2 + 2 high low. XLA would make (x - high) - low one difference.
    """
    first, second = ((x - h) * (x + h) - 2 * h * low for h, low in tables.ZEROS[order])
    return first * second


def _waves(xp: Any, x: Array, order: int) -> tuple[Array, Array]:
    """The cosine and sine of x - (2 order + 1) pi / 4, from those of x."""
    c, s = xp.cos(x), xp.sin(x)
    half = math.sqrt(0.5)
    plus, minus = half * (c + s), half * (s - c)
    return (plus, minus) if order == 0 else (minus, -plus)


_HANKEL = ((tables.P0, tables.Q0), (tables.P1, tables.Q1))
_J = (tables.J0, tables.J1)
_Y = (tables.Y0, tables.Y1)
_I = (tables.I0, tables.I1)
_K = (tables.K0, tables.K1)
_K_TAIL = (tables.K0_TAIL, tables.K1_TAIL)


def _far(xp: Any, x: Array, order: int, second: bool) -> Array:
    """J or Y at x > 8: sqrt(2 / (pi x)) times (P cos - Q sin) or (P sin + Q cos)."""
    u = (8 / x) ** 2
    p, q = chebyshev(_HANKEL[order][0], u), chebyshev(_HANKEL[order][1], u) * (8 / x)
    c, s = _waves(xp, x, order)
    return xp.sqrt(2 / math.pi / x) * (p * s + q * c if second else p * c - q * s)


def _near_j(x: Array, order: int) -> Array:
    value = _apart(x, order) * chebyshev(_J[order], x * x / 64)
    return value * x if order else value


def _j(xp: Any, x: Array, order: int) -> Array:
    size = xp.abs(x)
    near = _near_j(xp.minimum(size, 8.0), order)
    result = xp.where(size <= 8, near, _far(xp, xp.maximum(size, 8.0), order, second=False))
    result = xp.where(xp.isnan(x), x, result)
    return xp.copysign(1.0, x) * result if order else result


def _y(xp: Any, x: Array, order: int) -> Array:
    small = xp.clip(x, 1e-310, 8.0)
    value = chebyshev(_Y[order], small * small / 64)
    singular = xp.log(small) * _near_j(small, order)
    if order:
        value, singular = value * small, singular - 1 / small
    near = value + (2 / math.pi) * singular
    result = xp.where(x <= 8, near, _far(xp, xp.maximum(x, 8.0), order, second=True))
    return xp.where(xp.isnan(x), x, xp.where(x <= 0, -math.inf, result))


def _k(xp: Any, x: Array, order: int, scaled: bool) -> Array:
    """K, or exp(x) K."""
    small, large = xp.clip(x, 1e-310, 2.0), xp.maximum(x, 2.0)
    square_of = small * small / 4
    value, i = chebyshev(_K[order], square_of), chebyshev(_I[order], square_of)
    log = xp.log(small)
    near = value / small + log * i * small if order else value - log * i
    far = chebyshev(_K_TAIL[order], 2 / large) / xp.sqrt(large)
    if scaled:
        near = near * xp.exp(small)
    else:
        far = far * xp.exp(-large)
    result = xp.where(x <= 2, near, far)
    return xp.where(xp.isnan(x), x, xp.where(x <= 0, math.inf, result))


def _dawson(xp: Any, x: Array) -> Array:
    small, large = xp.clip(x, -5.0, 5.0), xp.maximum(xp.abs(x), 5.0)
    near = small * chebyshev(tables.DAWSON, small * small / 25)
    far = chebyshev(tables.DAWSON_TAIL, (5 / large) ** 2) * (0.5 / large)
    result = xp.where(xp.abs(x) <= 5, near, xp.copysign(far, x))
    return xp.where(xp.isnan(x), x, result)


_SPLIT = 2.0**27 + 1  # halves of 26 bits, whose products are exact; T. J. Dekker, 1971
_FRESNEL_END = 1.6


def _quarter_turns(xp: Any, x: Array) -> Array:
    """x^2 modulo 4, of the exact square: pi / 2 times it is the angle of Fresnel's integrals."""
    x = xp.minimum(x, 1e15)  # the integrals are 1/2 beyond
    high = x * _SPLIT
    high = high - (high - x)
    low = x - high
    product = x * x
    rest = ((high * high - product) + 2 * high * low) + low * low
    return xp.fmod(product, 4.0) + rest


def _fresnel(xp: Any, x: Array, sine: bool) -> Array:
    size = xp.abs(x)
    small, large = xp.minimum(size, _FRESNEL_END), xp.maximum(size, _FRESNEL_END)
    u = (small / _FRESNEL_END) ** 4
    if sine:
        near = small**3 * chebyshev(tables.FRESNEL_S, u)
    else:
        near = small * chebyshev(tables.FRESNEL_C, u)
    u = (_FRESNEL_END / large) ** 4
    f = chebyshev(tables.FRESNEL_F, u) / (math.pi * large)
    g = chebyshev(tables.FRESNEL_G, u) / (math.pi * large) / (math.pi * large) / large
    angle = math.pi / 2 * _quarter_turns(xp, large)
    c, s = xp.cos(angle), xp.sin(angle)
    far = 0.5 - f * c - g * s if sine else 0.5 + f * s - g * c
    result = xp.copysign(xp.where(size <= _FRESNEL_END, near, far), x)
    return xp.where(xp.isnan(x), x, result)


def _define(name: str, formula: Formula, doc: str) -> OpDef:
    """An operation whose kernels compute `formula` in float64."""

    def run(xp: Any, x: Array) -> Array:
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            return formula(xp, x.astype(np.float64)).astype(x.dtype)

    op = unary(name, FLOATS, None, lambda x: run(jnp, x), doc)
    register_kernel(op, functools.partial(run, np), kind="host", limit=HOST_LIMIT)
    return on_native_host(op)


def _bessel(name: str, formula: Callable[..., Array], text: str, *args: Any) -> OpDef:
    return _define(name, lambda xp, x: formula(xp, x, *args), f"Returns {text}.")


_FIRST = "the Bessel function of the first kind of order"
_SECOND = "the Bessel function of the second kind of order"
_MODIFIED = "the modified Bessel function of the second kind of order"
BESSEL_J0 = _bessel("BesselJ0", _j, f"{_FIRST} 0", 0)
BESSEL_J1 = _bessel("BesselJ1", _j, f"{_FIRST} 1", 1)
BESSEL_Y0 = _bessel("BesselY0", _y, f"{_SECOND} 0", 0)
BESSEL_Y1 = _bessel("BesselY1", _y, f"{_SECOND} 1", 1)
BESSEL_K0 = _bessel("BesselK0", _k, f"{_MODIFIED} 0", 0, False)
BESSEL_K1 = _bessel("BesselK1", _k, f"{_MODIFIED} 1", 1, False)
BESSEL_K0E = _bessel("BesselK0e", _k, "exp(x) * bessel_k0(x)", 0, True)
BESSEL_K1E = _bessel("BesselK1e", _k, "exp(x) * bessel_k1(x)", 1, True)
DAWSN = _bessel("Dawsn", _dawson, "Dawson's integral exp(-x**2) * integral of exp(t**2) to x")
FRESNEL_COS = _bessel("FresnelCos", _fresnel, "Fresnel's integral of cos(pi t**2 / 2) to x", False)
FRESNEL_SIN = _bessel("FresnelSin", _fresnel, "Fresnel's integral of sin(pi t**2 / 2) to x", True)

bessel_j0 = unary_function(BESSEL_J0, "bessel_j0", BESSEL_J0.doc)
bessel_j1 = unary_function(BESSEL_J1, "bessel_j1", BESSEL_J1.doc)
bessel_y0 = unary_function(BESSEL_Y0, "bessel_y0", BESSEL_Y0.doc)
bessel_y1 = unary_function(BESSEL_Y1, "bessel_y1", BESSEL_Y1.doc)
bessel_k0 = unary_function(BESSEL_K0, "bessel_k0", BESSEL_K0.doc)
bessel_k1 = unary_function(BESSEL_K1, "bessel_k1", BESSEL_K1.doc)
bessel_k0e = unary_function(BESSEL_K0E, "bessel_k0e", BESSEL_K0E.doc)
bessel_k1e = unary_function(BESSEL_K1E, "bessel_k1e", BESSEL_K1E.doc)
dawsn = unary_function(DAWSN, "dawsn", DAWSN.doc)
fresnel_cos = unary_function(FRESNEL_COS, "fresnel_cos", FRESNEL_COS.doc)
fresnel_sin = unary_function(FRESNEL_SIN, "fresnel_sin", FRESNEL_SIN.doc)


# derivatives: DLMF 10.6, 10.29 and 7.10


@BESSEL_J0.gradient
def _j0_gradient(op: Any, grad: Any) -> Any:
    return multiply(grad, negative(bessel_j1(op.inputs[0])))


@BESSEL_J1.gradient
def _j1_gradient(op: Any, grad: Any) -> Any:
    x, y = op.inputs[0], op.outputs[0]
    return multiply(grad, subtract(bessel_j0(x), over(y, x, 0.5)))


@BESSEL_Y0.gradient
def _y0_gradient(op: Any, grad: Any) -> Any:
    return multiply(grad, negative(bessel_y1(op.inputs[0])))


@BESSEL_Y1.gradient
def _y1_gradient(op: Any, grad: Any) -> Any:
    x, y = op.inputs[0], op.outputs[0]
    return multiply(grad, subtract(bessel_y0(x), real_div(y, x)))


@BESSEL_K0.gradient
def _k0_gradient(op: Any, grad: Any) -> Any:
    return multiply(grad, negative(bessel_k1(op.inputs[0])))


@BESSEL_K1.gradient
def _k1_gradient(op: Any, grad: Any) -> Any:
    x, y = op.inputs[0], op.outputs[0]
    return multiply(grad, negative(add_v2(bessel_k0(x), real_div(y, x))))


@BESSEL_K0E.gradient
def _k0e_gradient(op: Any, grad: Any) -> Any:
    return multiply(grad, subtract(op.outputs[0], bessel_k1e(op.inputs[0])))


@BESSEL_K1E.gradient
def _k1e_gradient(op: Any, grad: Any) -> Any:
    x, y = op.inputs[0], op.outputs[0]
    slope = subtract(multiply(y, subtract(1.0, reciprocal(x))), bessel_k0e(x))
    return multiply(grad, slope)


@DAWSN.gradient
def _dawsn_gradient(op: Any, grad: Any) -> Any:
    x, y = op.inputs[0], op.outputs[0]
    one, two = convert_to_tensor(1, x.dtype), convert_to_tensor(2, x.dtype)
    return multiply(grad, subtract(one, multiply(two, multiply(x, y))))


def _angle(x: Any) -> Any:
    return multiply(convert_to_tensor(math.pi / 2, x.dtype), square(x))


@FRESNEL_COS.gradient
def _fresnel_cos_gradient(op: Any, grad: Any) -> Any:
    return multiply(grad, cos(_angle(op.inputs[0])))


@FRESNEL_SIN.gradient
def _fresnel_sin_gradient(op: Any, grad: Any) -> Any:
    return multiply(grad, sin(_angle(op.inputs[0])))
