"""Special functions: error functions, gamma functions, zeta, Bessel functions.

Compiled kernels are those of `jax.scipy.special`. Host kernels are those of `native/special.cc`;
where that is not in use, they use the C library through `math` where it has the function (some
60 ns an element), else a series in NumPy; where neither is short, the operation runs compiled.
"""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from penstock.core import kernels, native_special
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import register_kernel
from penstock.core.lazy import jnp, lax
from penstock.core.lazy_module import LazyModule
from penstock.core.op_def import OpDef, define_op
from penstock.ops.composing import composed
from penstock.ops.factories import binary, binary_function, unary, unary_function
from penstock.ops.math_arithmetic import (
    FLOATS,
    add_v2,
    multiply,
    negative,
    reduce_to,
    subtract,
    sum_like,
)  # fmt: skip
from penstock.ops.math_division import real_div
from penstock.ops.math_elementwise import exp, log, log1p, sign, square

Array = Any  # numpy.ndarray or a JAX tracer
WIDE = "float, double"
special: Any = LazyModule("jax.scipy.special")
HOST_LIMIT = 1024  # elements: element by element through the C library costs 60 ns each
ANY_SIZE = 1 << 62


def _of(name: str) -> Callable[..., Array]:
    """`jax.scipy.special.<name>`, computed in float32 for the 16-bit dtypes."""

    def call(*arrays: Array) -> Array:
        small = arrays[0].dtype.itemsize == 2
        wide = [a.astype(np.float32) if small else a for a in arrays]
        return getattr(special, name)(*wide).astype(arrays[0].dtype)

    return call


def _each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of one number as a host kernel."""

    def call(x: Array) -> Array:
        numbers = map(function, x.reshape(-1).tolist())
        return np.fromiter(numbers, np.float64, x.size).reshape(x.shape).astype(x.dtype)

    return call


def _in_double(function: Callable[..., Array]) -> Callable[..., Array]:
    """A host kernel that computes in float64."""

    def call(*arrays: Array) -> Array:
        result = function(*(a.astype(np.float64) for a in arrays))
        return np.asarray(result).astype(arrays[0].dtype)

    return call


def on_native_host(op: OpDef, limit: int = ANY_SIZE) -> OpDef:
    """Gives an operation the host kernel of the native library, for up to `limit` elements.

    XLA's code wins for large arrays where it is a short polynomial of single precision.
    """
    function = native_special.function(op.name)
    available = native_special.LIBRARY.is_in_use
    register_kernel(op, function, kind="host", device="CPU", limit=limit, available=available)
    return op


def _define(name: str, host: Any, compiled: Any, doc: str, types: str = FLOATS) -> OpDef:
    op = unary(name, types, None, compiled, doc)
    if host is not None:
        register_kernel(op, host, kind="host", limit=HOST_LIMIT)
    limit = kernels.HOST_LIMIT if name in _SHORT_IN_XLA else ANY_SIZE
    return on_native_host(op, limit)


_SHORT_IN_XLA = {"Erf", "Erfc", "Erfinv", "Ndtri", "Lgamma"} | {
    f"BesselI{order}" for order in ("0", "1", "0e", "1e")
}


def _times(x: Any, number: float) -> Any:
    return multiply(x, convert_to_tensor(number, x.dtype))


# error functions

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)

ERF = _define("Erf", _each(math.erf), _of("erf"), "Returns the error function of x.")
ERFC = _define("Erfc", _each(math.erfc), _of("erfc"), "Returns 1 - erf(x), exact for large x.")
erf = unary_function(ERF, "erf", ERF.doc)
erfc = unary_function(ERFC, "erfc", ERFC.doc)


@ERF.gradient
def _erf_gradient(op: Any, grad: Any) -> Any:
    return _times(multiply(grad, exp(negative(square(op.inputs[0])))), _TWO_OVER_ROOT_PI)


@ERFC.gradient
def _erfc_gradient(op: Any, grad: Any) -> Any:
    return _times(multiply(grad, exp(negative(square(op.inputs[0])))), -_TWO_OVER_ROOT_PI)


_quantile = NormalDist().inv_cdf


def _ndtri_one(p: float) -> float:
    if p <= 0 or p >= 1:
        return -math.inf if p == 0 else math.inf if p == 1 else math.nan
    return _quantile(p)


def _erfinv_one(x: float) -> float:
    """A quantile of the normal distribution, made exact by two of Newton's steps."""
    size = abs(x)
    if not size < 1:
        return math.copysign(math.inf, x) if size == 1 else math.nan
    guess = _quantile((1 + size) / 2) / math.sqrt(2) if size > 1e-3 else size / _TWO_OVER_ROOT_PI
    for _ in range(2):
        beyond = (1 - size) - math.erfc(guess) if size > 0.5 else math.erf(guess) - size
        guess -= beyond / (_TWO_OVER_ROOT_PI * math.exp(-guess * guess))
    return math.copysign(guess, x)


ERFINV = _define(
    "Erfinv", _each(_erfinv_one), _of("erfinv"), "Returns the number whose error function is x."
)
NDTRI = _define(
    "Ndtri", _each(_ndtri_one), _of("ndtri"), "Returns the quantile of the normal distribution."
)
erfinv = unary_function(ERFINV, "erfinv", ERFINV.doc)
ndtri = unary_function(NDTRI, "ndtri", NDTRI.doc)


@ERFINV.gradient
def _erfinv_gradient(op: Any, grad: Any) -> Any:
    return _times(multiply(grad, exp(square(op.outputs[0]))), 1 / _TWO_OVER_ROOT_PI)


@NDTRI.gradient
def _ndtri_gradient(op: Any, grad: Any) -> Any:
    growth = exp(_times(square(op.outputs[0]), 0.5))
    return _times(multiply(grad, growth), math.sqrt(2 * math.pi))


def erfcinv(x: Any, name: str | None = None) -> Any:
    """Returns the number whose complementary error function is x.

    Args:
      x: tensor of a floating dtype, values in (0, 2).
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape.
    """
    x = convert_to_tensor(x)
    return _times(execute(NDTRI, (_times(x, 0.5),), None, name), -math.sqrt(0.5))


# gamma functions


def _lgamma_one(x: float) -> float:
    if x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


LGAMMA = _define(
    "Lgamma",
    _each(_lgamma_one),
    _of("gammaln"),
    "Returns the logarithm of the absolute value of the gamma function.",
)
lgamma = unary_function(LGAMMA, "lgamma", LGAMMA.doc)


@LGAMMA.gradient
def _lgamma_gradient(op: Any, grad: Any) -> Any:
    return multiply(grad, digamma(op.inputs[0]))


def _digamma_host(x: Array) -> Array:
    """Reflection for negative x, recurrence up to 10, then the asymptotic series."""
    pole = (x <= 0) & (x == np.floor(x))
    mirrored = x < 0
    z = np.where(mirrored, 1 - x, x)
    result = np.zeros_like(z)
    for _ in range(10):
        low = z < 10
        result = np.where(low, result - 1 / z, result)
        z = np.where(low, z + 1, z)
    square = 1 / (z * z)
    terms = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
    tail = np.zeros_like(z)
    for term in reversed(terms):
        tail = (tail + term) * square
    result += np.log(z) - 0.5 / z - tail
    result = np.where(mirrored, result - np.pi / np.tan(np.pi * (x - np.floor(x))), result)
    return np.where(pole, np.nan, result)


DIGAMMA = _define(
    "Digamma",
    _in_double(_digamma_host),
    _of("digamma"),
    "Returns the derivative of the logarithm of the gamma function.",
)
digamma = unary_function(DIGAMMA, "digamma", DIGAMMA.doc)


@DIGAMMA.gradient
def _digamma_gradient(op: Any, grad: Any) -> Any:
    x = op.inputs[0]
    return multiply(grad, execute("Polygamma", (convert_to_tensor(1, x.dtype), x)))


# zeta and polygamma: Euler and Maclaurin's sum

_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
    -174611 / 330,
)  # fmt: skip


def _zeta_host(x: Array, q: Array) -> Array:
    x, q = np.broadcast_arrays(x, q)
    first, total = q, np.zeros(x.shape)
    while (low := q <= 0).any() and q.min() > -1000:  # whole powers of negative numbers
        total = np.where(low, total + np.where(low, q, 1) ** -x, total)
        q = np.where(low, q + 1, q)
    for k in range(10):
        total = total + (q + k) ** -x
    edge = q + 10
    total = total + edge ** (1 - x) / (x - 1) + 0.5 * edge**-x
    factor, power = x.copy(), edge ** (-x - 1)
    for i, number in enumerate(_BERNOULLI):
        order = 2 * i + 2
        total = total + number / math.factorial(order) * factor * power
        factor = factor * (x + order - 1) * (x + order)
        power = power / (edge * edge)
    total = np.where(x == 1, np.inf, total)
    defined = (first > 0) | ((x == np.floor(x)) & (first > -1000))
    pole = (first <= 0) & (first == np.floor(first))
    at_pole = np.where((x % 2 == 0) | (x == np.inf), np.inf, np.nan)  # one sign on both sides
    total = np.where(pole, at_pole, np.where(defined, total, np.nan))
    return np.where(x < 1, np.nan, total)


def _polygamma_host(n: Array, x: Array) -> Array:
    n, x = np.broadcast_arrays(n, x)
    factorial = _each(lambda v: math.exp(math.lgamma(v + 1)) if v >= 0 else math.nan)(n)
    higher = np.where(n % 2 == 0, -1.0, 1.0) * np.round(factorial) * _zeta_host(n + 1, x)
    whole = np.where(n == np.floor(n), higher, np.nan)
    return np.where(n == 0, _digamma_host(x), whole)


def _polygamma_compiled(n: Array, x: Array) -> Array:
    one = np.asarray(1, x.dtype)
    sign = jnp.where(n % 2 == 0, -one, one)
    higher = sign * jnp.exp(special.gammaln(n + 1)) * special.zeta(n + 1, x)
    whole = jnp.where(n == jnp.floor(n), higher, np.asarray(np.nan, x.dtype))
    return jnp.where(n == 0, special.digamma(x), whole)


def _define_pair(name: str, names: str, host: Any, compiled: Any, doc: str, types: str) -> OpDef:
    a, b = names.split()
    signature = f"{name}({a}: T, {b}: T; T: {{{types}}}) -> z: T"
    op = binary(name, "", None, compiled, doc, signature)
    if host is not None:
        register_kernel(op, host, kind="host", limit=HOST_LIMIT)
    return on_native_host(op)


ZETA = _define_pair(
    "Zeta",
    "x q",
    _in_double(_zeta_host),
    _of("zeta"),
    "Returns the Hurwitz zeta function, the sum of (q + k)**-x over k from 0.",
    WIDE,
)
zeta = binary_function(ZETA, "zeta", ZETA.doc, arguments=("x", "q"))


@ZETA.gradient
def _zeta_gradient(op: Any, grad: Any) -> list[Any]:
    x, q = op.inputs
    slope = multiply(negative(x), zeta(add_v2(x, convert_to_tensor(1, x.dtype)), q))
    return [None, reduce_to(op, multiply(grad, slope), 1)]


POLYGAMMA = _define_pair(
    "Polygamma",
    "a x",
    _in_double(_polygamma_host),
    _polygamma_compiled,
    "Returns the derivative of order a of digamma.",
    WIDE,
)
polygamma = binary_function(POLYGAMMA, "polygamma", POLYGAMMA.doc, arguments=("a", "x"))


@POLYGAMMA.gradient
def _polygamma_gradient(op: Any, grad: Any) -> list[Any]:
    a, x = op.inputs
    slope = polygamma(add_v2(a, convert_to_tensor(1, a.dtype)), x)
    return [None, reduce_to(op, multiply(grad, slope), 1)]


# incomplete gamma and beta functions


# By a dtype's size: XLA's series take as many steps as its root, and lose digits at each.
_LARGE_ORDER = {4: 1e4, 8: 1e5}
_SERIES = [2 * (-1) ** k / k for k in range(3, 15)]


def _gamma_of_large_order(a: Array, x: Array, lower: bool) -> Array:
    """The incomplete gamma functions by two terms of their uniform expansion (DLMF 8.12.3)."""
    off = (x - a) / a
    near = jnp.where(jnp.abs(off) < 0.2, off, 0)  # further off they are 0 and 1
    slope = jnp.polyval(jnp.asarray(_SERIES[::-1], x.dtype), near)
    root = jnp.sqrt(1 + near * slope)
    t = near * root * jnp.sqrt(a / 2)
    rest = slope / ((1 + root) * root) * jnp.exp(-t * t) / (math.sqrt(2 * math.pi) * jnp.sqrt(a))
    value = special.erfc(-t) / 2 - rest if lower else special.erfc(t) / 2 + rest
    beyond = jnp.where((off > 0) == lower, 1, 0).astype(x.dtype)
    return jnp.where(jnp.abs(off) < 0.2, value, beyond)


def _incomplete_gamma(name: str, low: float, of_zero: float | None) -> Callable[..., Array]:
    """The function `name` with TensorFlow's values at the edges, where limits depend on the way.

    Args:
      name: "gammainc" or "gammaincc".
      low: its value for x far below a, which is that of a = inf and any finite x.
      of_zero: its value at x = 0, whatever a is; None leaves it to the other rules.
    """
    function = _of(name)

    def anywhere(a: Array, x: Array) -> Array:
        large = (a > _LARGE_ORDER[max(a.dtype.itemsize, 4)]) & (a < np.inf) & (x > 0)
        one = np.asarray(1, x.dtype)
        kind = np.float32 if a.dtype.itemsize == 2 else a.dtype
        far = _gamma_of_large_order(a.astype(kind), x.astype(kind), name == "gammainc")
        far = far.astype(x.dtype)
        return jnp.where(large, far, function(*(jnp.where(large, one, v) for v in (a, x))))

    def call(a: Array, x: Array) -> Array:
        below = (a == np.inf) & (x >= 0) & (x < np.inf)
        value = jnp.where(below, np.asarray(low, x.dtype), anywhere(a, x))
        value = jnp.where(a > 0, value, np.asarray(np.nan, x.dtype))
        return value if of_zero is None else jnp.where(x == 0, np.asarray(of_zero, x.dtype), value)

    return call


IGAMMA = _define_pair(
    "Igamma", "a x", None, _incomplete_gamma("gammainc", 0.0, of_zero=0.0),
    "Returns the lower regularized incomplete gamma function.", FLOATS,
)  # fmt: skip
IGAMMAC = _define_pair(
    "Igammac", "a x", None, _incomplete_gamma("gammaincc", 1.0, of_zero=None),
    "Returns the upper regularized incomplete gamma function.", FLOATS,
)  # fmt: skip
igamma = binary_function(IGAMMA, "igamma", IGAMMA.doc, arguments=("a", "x"))
igammac = binary_function(IGAMMAC, "igammac", IGAMMAC.doc, arguments=("a", "x"))


def _igamma_grad_a(a: Array, x: Array) -> Array:
    shape = np.broadcast_shapes(a.shape, x.shape)
    jnp_broadcast = lax.broadcast_in_dim
    wide = [jnp_broadcast(v, shape, _trailing(v.ndim, len(shape))) for v in (a, x)]
    return lax.igamma_grad_a(*wide)


def _trailing(count: int, rank: int) -> tuple[int, ...]:
    return tuple(range(rank - count, rank))


IGAMMA_GRAD_A = _define_pair(
    "IgammaGradA", "a x", None, _igamma_grad_a, "Returns the derivative of igamma by a.", WIDE
).without_gradient("TensorFlow has no second derivative of igamma by its order either")


def _igamma_slope(a: Any, x: Any) -> Any:
    """The density x**(a - 1) * exp(-x) / gamma(a)."""
    one = convert_to_tensor(1, a.dtype)
    return exp(subtract(subtract(multiply(subtract(a, one), log(x)), x), lgamma(a)))


@IGAMMA.gradient
def _igamma_gradient(op: Any, grad: Any) -> list[Any]:
    a, x = op.inputs
    by_a = execute(IGAMMA_GRAD_A, (a, x))
    return [
        reduce_to(op, multiply(grad, by_a), 0),
        reduce_to(op, multiply(grad, _igamma_slope(a, x)), 1),
    ]


@IGAMMAC.gradient
def _igammac_gradient(op: Any, grad: Any) -> list[Any]:
    return [negative(g) for g in _igamma_gradient(op, grad)]


def _betainc_shape(c: Any) -> Any:
    from_inputs = [s for s in c.shapes if s is None or len(s)]
    result: Any = ()
    for dims in from_inputs:
        result = dims if result == () else c.merge(result, dims)
    return result


BETAINC = define_op(
    f"Betainc(a: T, b: T, x: T; T: {{{WIDE}}}) -> z: T",
    shape=_betainc_shape,
    doc="Returns the regularized incomplete beta integral.",
)
register_kernel(BETAINC, _of("betainc"), kind="compiled")
on_native_host(BETAINC)


def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Any:
    """Returns the regularized incomplete beta integral.

    Args:
      a: tensor float32 or float64, positive; a scalar or of the shape of the others.
      b: tensor of the same dtype, positive; likewise.
      x: tensor of the same dtype, in [0, 1]; likewise.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype.
    """
    return execute(BETAINC, (a, b, x), None, name)


@BETAINC.gradient
def _betainc_gradient(op: Any, grad: Any) -> list[Any]:
    """By x only, as in TensorFlow: derivatives by a and b have no closed form."""
    a, b, x = op.inputs
    one = convert_to_tensor(1, x.dtype)
    beta = subtract(add_v2(lgamma(a), lgamma(b)), lgamma(add_v2(a, b)))
    logs = add_v2(
        multiply(subtract(b, one), log1p(negative(x))), multiply(subtract(a, one), log(x))
    )
    return [None, None, sum_like(multiply(grad, exp(subtract(logs, beta))), x, op.outputs[0])]


@composed("lbeta", result="sub")
def lbeta(x: Any, name: str | None = None) -> Any:
    """Returns the logarithm of the absolute value of the beta function along the last axis.

    Args:
      x: tensor of a floating dtype, of rank at least 1.
      name: the name of the operation in a graph.

    Returns:
      Tensor without the last axis; -inf where that axis is empty.
    """
    x = convert_to_tensor(x)
    last = np.array([-1], np.int32)
    logs = execute("Sum", (lgamma(x), last))
    return execute("Sub", (logs, lgamma(execute("Sum", (x, last)))), None, name)


# Bessel functions of order 0 and 1, modified


def _define_bessel(name: str, function: str, doc: str) -> OpDef:
    return _define(name, None, _of(function), doc)


BESSEL_I0 = _define_bessel("BesselI0", "i0", "Returns the modified Bessel function of order 0.")
BESSEL_I1 = _define_bessel("BesselI1", "i1", "Returns the modified Bessel function of order 1.")
BESSEL_I0E = _define_bessel("BesselI0e", "i0e", "Returns exp(-abs(x)) * bessel_i0(x).")
BESSEL_I1E = _define_bessel("BesselI1e", "i1e", "Returns exp(-abs(x)) * bessel_i1(x).")
bessel_i0 = unary_function(BESSEL_I0, "bessel_i0", BESSEL_I0.doc)
bessel_i1 = unary_function(BESSEL_I1, "bessel_i1", BESSEL_I1.doc)
bessel_i0e = unary_function(BESSEL_I0E, "bessel_i0e", BESSEL_I0E.doc)
bessel_i1e = unary_function(BESSEL_I1E, "bessel_i1e", BESSEL_I1E.doc)


def over(y: Any, x: Any, at_zero: float) -> Any:
    """`y / x`, with a limit where x is 0."""
    zero = execute("Equal", (x, execute("ZerosLike", (x,))))
    one = execute("OnesLike", (x,))
    quotient = real_div(y, execute("SelectV2", (zero, one, x)))
    return execute("SelectV2", (zero, _times(one, at_zero), quotient))


@BESSEL_I0.gradient
def _bessel_i0_gradient(op: Any, grad: Any) -> Any:
    return multiply(grad, bessel_i1(op.inputs[0]))


@BESSEL_I1.gradient
def _bessel_i1_gradient(op: Any, grad: Any) -> Any:
    x, y = op.inputs[0], op.outputs[0]
    return multiply(grad, subtract(bessel_i0(x), over(y, x, 0.5)))


@BESSEL_I0E.gradient
def _bessel_i0e_gradient(op: Any, grad: Any) -> Any:
    x, y = op.inputs[0], op.outputs[0]
    return multiply(grad, subtract(bessel_i1e(x), multiply(sign(x), y)))


@BESSEL_I1E.gradient
def _bessel_i1e_gradient(op: Any, grad: Any) -> Any:
    x, y = op.inputs[0], op.outputs[0]
    rest = subtract(subtract(bessel_i0e(x), over(y, x, 0.5)), multiply(sign(x), y))
    return multiply(grad, rest)


# integrals

SPENCE = _define("Spence", None, _of("spence"), "Returns the dilogarithm of 1 - x.")
EXPINT = _define("Expint", None, _of("expi"), "Returns the exponential integral of x.")
spence = unary_function(SPENCE, "spence", SPENCE.doc)
expint = unary_function(EXPINT, "expint", EXPINT.doc)


@SPENCE.gradient
def _spence_gradient(op: Any, grad: Any) -> Any:
    x = op.inputs[0]
    one = convert_to_tensor(1, x.dtype)
    away = subtract(one, x)
    return multiply(grad, over(log(x), away, -1.0))


@EXPINT.gradient
def _expint_gradient(op: Any, grad: Any) -> Any:
    x = op.inputs[0]
    return multiply(grad, real_div(exp(x), x))
