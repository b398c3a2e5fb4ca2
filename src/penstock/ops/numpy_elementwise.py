"""Element-wise functions of `tf.experimental.numpy`.

Each row of the tables below is a function: NumPy's name, the operation it stands for, whether
integers become floats first. Arguments are promoted by `numpy_dtypes`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.ops import math_arithmetic as arithmetic
from penstock.ops import math_cast, math_compare, math_division, math_norms
from penstock.ops import math_elementwise as elementwise
from penstock.ops.array_fill import ones_like, zeros_like
from penstock.ops.array_select import where
from penstock.ops.loops import while_loop
from penstock.ops.math_cast import cast
from penstock.ops.math_reduce import reduce_any
from penstock.ops.numpy_dtypes import Value, as_tensor, promoted, promoted_as_arrays, to_inexact
from penstock.types import dtypes

Function = Callable[..., Any]


def _document(function: Function, name: str, doc: str, names: tuple[str, ...], dtype: str) -> None:
    function.__name__ = function.__qualname__ = name
    args = "\n".join(f"  {n}: a tensor, array, number or list." for n in names)
    function.__doc__ = f"{doc}\n\nArgs:\n{args}\n\nReturns:\n  {dtype}\n"


def _unary(name: str, run: Function, doc: str, floats: bool = False) -> Function:
    def function(x: Value) -> Any:
        tensor = as_tensor(x)
        return run(to_inexact(tensor) if floats else tensor)

    kind = "A tensor of the same dtype; float64 for integers." if floats else "A tensor."
    _document(function, name, doc, ("x",), kind)
    return function


def _binary(name: str, run: Function, doc: str, floats: bool = False) -> Function:
    def function(x1: Value, x2: Value) -> Any:
        tensors = promoted_as_arrays(x1, x2)
        return run(*(map(to_inexact, tensors) if floats else tensors))

    _document(function, name, doc, ("x1", "x2"), "A tensor of the broadcast shape.")
    return function


# ---- one argument


def _real_is_finite(test: Function, join: Function) -> Function:
    """A test of floats for complex numbers too: of their parts, joined."""

    def function(x: Any) -> Any:
        if x.dtype.is_complex:
            return join(test(math_cast.real(x)), test(math_cast.imag(x)))
        return test(x)

    return function


def _absolute(x: Any) -> Any:
    unsigned = x.dtype.is_bool or x.dtype.is_unsigned
    return x if unsigned else math_cast.abs(x)


def _cube_root(x: Any) -> Any:
    third = arithmetic.pow(math_cast.abs(x), as_tensor(1 / 3, x.dtype))
    return arithmetic.multiply(elementwise.sign(x), third)


def _toward_zero(x: Any) -> Any:
    return where(math_compare.less(x, 0), elementwise.ceil(x), elementwise.floor(x))


def _sinc(x: Any) -> Any:
    y = arithmetic.multiply(x, as_tensor(math.pi, x.dtype))
    at_zero = math_compare.equal(y, zeros_like(y))
    safe = where(at_zero, ones_like(y), y)
    return where(at_zero, ones_like(y), math_division.divide(elementwise.sin(safe), safe))


def _times(number: float) -> Function:
    return lambda x: arithmetic.multiply(x, as_tensor(number, x.dtype))


def _log_of(base: float) -> Function:
    return lambda x: math_division.divide(elementwise.log(x), as_tensor(math.log(base), x.dtype))


def _signbit(x: Any) -> Any:
    if x.dtype.is_bool or x.dtype.is_unsigned:
        return zeros_like(x, dtypes.bool_)
    negative_zero = math_compare.equal(x, zeros_like(x))
    if not x.dtype.is_floating:
        return math_compare.less(x, zeros_like(x))
    below = math_compare.less(elementwise.reciprocal(x), zeros_like(x))
    return where(negative_zero, below, math_compare.less(x, zeros_like(x)))


def _infinite(sign: float) -> Function:
    return lambda x: math_compare.equal(x, as_tensor(sign * math.inf, x.dtype))


def _is_real(x: Any) -> Any:
    if not x.dtype.is_complex:
        return ones_like(x, dtypes.bool_)
    part = math_cast.imag(x)
    return math_compare.equal(part, zeros_like(part))


def _bits_not(x: Any) -> Any:
    return math_compare.logical_not(x) if x.dtype.is_bool else math_compare.invert(x)


def as_bool(x: Any) -> Any:
    """Whether each element differs from zero."""
    return x if x.dtype.is_bool else math_compare.not_equal(x, zeros_like(x))


def _not(x: Any) -> Any:
    return math_compare.logical_not(as_bool(x))


def _imaginary(x: Any) -> Any:
    return math_cast.imag(x) if x.dtype.is_complex else zeros_like(x)


def _real(x: Any) -> Any:
    return math_cast.real(x) if x.dtype.is_complex else x


def _conjugate(x: Any) -> Any:
    return math_cast.conj(x) if x.dtype.is_complex else x


_is_finite = _real_is_finite(math_compare.is_finite, math_compare.logical_and)
_is_inf = _real_is_finite(math_compare.is_inf, math_compare.logical_or)
_is_nan = _real_is_finite(math_compare.is_nan, math_compare.logical_or)

abs = _unary("abs", _absolute, "Absolute values.")
absolute = _unary("absolute", _absolute, "Absolute values.")
fabs = _unary("fabs", _absolute, "Absolute values.")
arccos = _unary("arccos", elementwise.acos, "Arc cosine.", True)
arccosh = _unary("arccosh", elementwise.acosh, "Inverse hyperbolic cosine.", True)
arcsin = _unary("arcsin", elementwise.asin, "Arc sine.", True)
arcsinh = _unary("arcsinh", elementwise.asinh, "Inverse hyperbolic sine.", True)
arctan = _unary("arctan", elementwise.atan, "Arc tangent.", True)
arctanh = _unary("arctanh", elementwise.atanh, "Inverse hyperbolic tangent.", True)
bitwise_not = _unary("bitwise_not", _bits_not, "Each bit turned.")
cbrt = _unary("cbrt", _cube_root, "Cube root.", True)
ceil = _unary("ceil", elementwise.ceil, "The smallest integer not below, as a float.", True)
conj = _unary("conj", _conjugate, "Complex conjugate.")
conjugate = _unary("conjugate", _conjugate, "Complex conjugate.")
cos = _unary("cos", elementwise.cos, "Cosine.", True)
cosh = _unary("cosh", elementwise.cosh, "Hyperbolic cosine.", True)
deg2rad = _unary("deg2rad", _times(math.pi / 180), "Degrees as radians.", True)
exp = _unary("exp", elementwise.exp, "e to the power of x.", True)
exp2 = _unary("exp2", lambda x: arithmetic.pow(as_tensor(2, x.dtype), x), "2 ** x.", True)
expm1 = _unary("expm1", elementwise.expm1, "exp(x) - 1, exact near 0.", True)
fix = _unary("fix", _toward_zero, "Rounded toward zero.", True)
floor = _unary("floor", elementwise.floor, "The largest integer not above, as a float.", True)
isfinite = _unary("isfinite", _is_finite, "Whether neither infinite nor NaN.", True)
isinf = _unary("isinf", _is_inf, "Whether infinite.", True)
isnan = _unary("isnan", _is_nan, "Whether NaN.", True)
isneginf = _unary("isneginf", _infinite(-1), "Whether minus infinity.", True)
isposinf = _unary("isposinf", _infinite(1), "Whether plus infinity.", True)
isreal = _unary("isreal", _is_real, "Whether the imaginary part is 0.")
iscomplex = _unary("iscomplex", lambda x: _not(_is_real(x)), "Whether it has an imaginary part.")
log = _unary("log", elementwise.log, "Natural logarithm.", True)
log10 = _unary("log10", _log_of(10), "Logarithm of base 10.", True)
log1p = _unary("log1p", elementwise.log1p, "log(1 + x), exact near 0.", True)
log2 = _unary("log2", _log_of(2), "Logarithm of base 2.", True)
logical_not = _unary("logical_not", _not, "Whether zero.")
negative = _unary("negative", arithmetic.negative, "-x.")
positive = _unary("positive", lambda x: x, "x itself.")
rad2deg = _unary("rad2deg", _times(180 / math.pi), "Radians as degrees.", True)
reciprocal = _unary("reciprocal", elementwise.reciprocal, "1 / x.")
signbit = _unary("signbit", _signbit, "Whether the sign bit is set.")
sin = _unary("sin", elementwise.sin, "Sine.", True)
sinc = _unary("sinc", _sinc, "sin(pi x) / (pi x), 1 at 0.", True)
sinh = _unary("sinh", elementwise.sinh, "Hyperbolic sine.", True)
sqrt = _unary("sqrt", elementwise.sqrt, "Square root.", True)
square = _unary("square", elementwise.square, "x * x.")
tan = _unary("tan", elementwise.tan, "Tangent.", True)
tanh = _unary("tanh", elementwise.tanh, "Hyperbolic tangent.", True)


def real(val: Value) -> Any:
    """The real part.

    Args:
      val: a tensor, array, number or list.

    Returns:
      A real tensor of the same shape.
    """
    return _real(as_tensor(val))


def imag(val: Value) -> Any:
    """The imaginary part, 0 for real numbers.

    Args:
      val: a tensor, array, number or list.

    Returns:
      A real tensor of the same shape.
    """
    return _imaginary(as_tensor(val))


def angle(z: Value, deg: bool = False) -> Any:
    """The angle of complex numbers in the plane.

    Args:
      z: a tensor, array, number or list.
      deg: in degrees.

    Returns:
      A real tensor of the same shape.
    """
    found = math_cast.angle(to_inexact(as_tensor(z)))
    return rad2deg(found) if deg else found


def sign(x: Value, out: Any = None, where: Any = None, **kwargs: Any) -> Any:
    """-1, 0 or 1.

    Args:
      x: a tensor, array, number or list.
      out: not supported.
      where: not supported.
      **kwargs: not supported.

    Returns:
      A tensor of the same dtype.

    Raises:
      ValueError: one of the arguments that tensors have no use for is given.
    """
    if out is not None or where is not None or kwargs:
        raise ValueError(
            f"sign: expected only x, got out={out}, where={where} and {sorted(kwargs)}. Tensors are"
            " not written to; use tf.where on the result."
        )
    tensor = as_tensor(x)
    if tensor.dtype.is_unsigned:
        return cast(as_bool(tensor), tensor.dtype)
    return elementwise.sign(tensor)


def around(a: Value, decimals: int = 0) -> Any:
    """Rounded to `decimals` digits, halves to even.

    Args:
      a: a tensor, array, number or list.
      decimals: digits after the point; negative ones count before it.

    Returns:
      A tensor of the same dtype.

    Example:
      >>> around([1.26, 2.5], 1).numpy().tolist()
      [1.3, 2.5]
    """
    tensor = as_tensor(a)
    x = to_inexact(tensor)
    scale = as_tensor(10.0**decimals, x.dtype)
    scaled = elementwise.rint(arithmetic.multiply(x, scale)) if decimals else elementwise.rint(x)
    rounded = math_division.divide(scaled, scale) if decimals else scaled
    return cast(rounded, tensor.dtype)


def round(a: Value, decimals: int = 0) -> Any:
    """The same as `around`.

    Args:
      a: a tensor, array, number or list.
      decimals: digits after the point.

    Returns:
      A tensor of the same dtype.
    """
    return around(a, decimals)


# ---- two arguments


def _logic(name: str, run: Function, doc: str) -> Function:
    def function(x1: Value, x2: Value) -> Any:
        return run(as_bool(as_tensor(x1)), as_bool(as_tensor(x2)))

    _document(function, name, doc, ("x1", "x2"), "A bool tensor of the broadcast shape.")
    return function


def _on_bools(bools: Function, others: Function) -> Function:
    return lambda x, y: bools(x, y) if x.dtype.is_bool else others(x, y)


def _as_int8(run: Function) -> Function:
    def function(x: Any, y: Any) -> Any:
        if x.dtype.is_bool:
            x, y = cast(x, dtypes.int8), cast(y, dtypes.int8)
        return run(x, y)

    return function


def _power(x: Any, y: Any) -> Any:
    """X ** y; unsigned integers, for which there is no kernel, go through int64, bit for bit."""
    if not x.dtype.is_unsigned:
        return arithmetic.pow(x, y)
    return cast(arithmetic.pow(cast(x, dtypes.int64), cast(y, dtypes.int64)), x.dtype)


def _true_divide(x: Any, y: Any) -> Any:
    if x.dtype.is_bool:
        x, y = to_inexact(x), to_inexact(y)
    return math_division.truediv(x, y)


def _log_sum(x: Any, y: Any) -> Any:
    larger = arithmetic.maximum(x, y)
    gap = arithmetic.subtract(x, y)
    nan_gap = math_compare.is_nan(gap)  # of two equal infinities, or of a NaN
    tail = elementwise.log1p(elementwise.exp(arithmetic.negative(math_cast.abs(gap))))
    return where(nan_gap, arithmetic.add(x, y), arithmetic.add(larger, tail))


def _log_sum2(x: Any, y: Any) -> Any:
    ln2 = as_tensor(math.log(2), x.dtype)
    return math_division.divide(
        _log_sum(arithmetic.multiply(x, ln2), arithmetic.multiply(y, ln2)), ln2
    )


def _hypotenuse(x: Any, y: Any) -> Any:
    squares = arithmetic.add(elementwise.square(x), elementwise.square(y))
    return elementwise.sqrt(squares)


def _step(x: Any, y: Any) -> Any:
    zero = zeros_like(x)
    step = where(math_compare.greater(x, zero), ones_like(x), zero)
    values = where(math_compare.equal(x, zero), y, step)
    return where(math_compare.is_nan(x), x, values)


def _integers(x: Any, y: Any, name: str) -> None:
    if not x.dtype.is_integer:
        raise ValueError(
            f"{name}: expected integers, got {x.dtype.name} after promotion of both arguments."
            " Cast them first."
        )


def _greatest_divisor(x: Any, y: Any) -> Any:
    _integers(x, y, "gcd")
    x, y = _absolute(x), _absolute(y)
    x, y = arithmetic.add(x, zeros_like(y)), arithmetic.add(y, zeros_like(x))

    def going(_: Any, b: Any) -> Any:
        return reduce_any(as_bool(b))

    def step(a: Any, b: Any) -> Any:
        divisor = where(as_bool(b), b, ones_like(b))
        rest = where(as_bool(b), math_division.floormod(a, divisor), zeros_like(b))
        return where(as_bool(b), b, a), rest

    return while_loop(going, step, (x, y))[0]


def _least_multiple(x: Any, y: Any) -> Any:
    _integers(x, y, "lcm")
    divisor = _greatest_divisor(x, y)
    safe = where(as_bool(divisor), divisor, ones_like(divisor))
    return arithmetic.multiply(math_division.floordiv(_absolute(x), safe), _absolute(y))


add = _binary("add", _on_bools(math_compare.logical_or, arithmetic.add), "x1 + x2.")
arctan2 = _binary("arctan2", math_norms.atan2, "The angle of the point (x2, x1).", True)
bitwise_and = _binary(
    "bitwise_and", _on_bools(math_compare.logical_and, math_compare.bitwise_and), "Bits in both."
)
bitwise_or = _binary(
    "bitwise_or", _on_bools(math_compare.logical_or, math_compare.bitwise_or), "Bits in either."
)
bitwise_xor = _binary(
    "bitwise_xor", _on_bools(math_compare.logical_xor, math_compare.bitwise_xor), "Bits in one."
)
divide = _binary("divide", _true_divide, "x1 / x2, in floats.")
true_divide = _binary("true_divide", _true_divide, "x1 / x2, in floats.")
equal = _binary("equal", math_compare.equal, "x1 == x2.")
float_power = _binary("float_power", _as_int8(arithmetic.pow), "x1 ** x2.", True)
floor_divide = _binary("floor_divide", _as_int8(math_division.floordiv), "x1 // x2.")
gcd = _binary("gcd", _greatest_divisor, "The greatest common divisor of integers.")
greater = _binary("greater", _as_int8(math_compare.greater), "x1 > x2.")
greater_equal = _binary("greater_equal", _as_int8(math_compare.greater_equal), "x1 >= x2.")
heaviside = _binary("heaviside", _step, "0 below 0, x2 at 0, 1 above 0.", True)
hypot = _binary("hypot", _hypotenuse, "sqrt(x1 ** 2 + x2 ** 2).", True)
lcm = _binary("lcm", _least_multiple, "The least common multiple of integers.")
less = _binary("less", _as_int8(math_compare.less), "x1 < x2.")
less_equal = _binary("less_equal", _as_int8(math_compare.less_equal), "x1 <= x2.")
logaddexp = _binary("logaddexp", _log_sum, "log(exp(x1) + exp(x2)).", True)
logaddexp2 = _binary("logaddexp2", _log_sum2, "log2(2 ** x1 + 2 ** x2).", True)
logical_and = _logic("logical_and", math_compare.logical_and, "Whether both are nonzero.")
logical_or = _logic("logical_or", math_compare.logical_or, "Whether one is nonzero.")
logical_xor = _logic("logical_xor", math_compare.logical_xor, "Whether just one is.")
maximum = _binary(
    "maximum", _on_bools(math_compare.logical_or, arithmetic.maximum), "The larger of both."
)
minimum = _binary(
    "minimum", _on_bools(math_compare.logical_and, arithmetic.minimum), "The smaller of both."
)
mod = _binary("mod", _as_int8(math_division.floormod), "x1 - x1 // x2 * x2.")
multiply = _binary("multiply", _on_bools(math_compare.logical_and, arithmetic.multiply), "x1 * x2.")
nextafter = _binary("nextafter", math_norms.nextafter, "The float after x1, toward x2.", True)
not_equal = _binary("not_equal", math_compare.not_equal, "x1 != x2.")
power = _binary("power", _as_int8(_power), "x1 ** x2.")
remainder = _binary("remainder", _as_int8(math_division.floormod), "The same as `mod`.")
subtract = _binary("subtract", arithmetic.subtract, "x1 - x2.")


def divmod(x1: Value, x2: Value) -> tuple[Any, Any]:
    """The pair of `floor_divide` and `mod`.

    Args:
      x1: a tensor, array, number or list.
      x2: another.

    Returns:
      Two tensors.
    """
    return floor_divide(x1, x2), mod(x1, x2)


def isclose(
    a: Value, b: Value, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    """Whether `abs(a - b) <= atol + rtol * abs(b)`; equal infinities are close.

    Args:
      a: a tensor, array, number or list.
      b: another.
      rtol: relative tolerance.
      atol: absolute tolerance.
      equal_nan: whether two NaNs are close.

    Returns:
      A bool tensor of the broadcast shape.
    """
    x, y = promoted(a, b)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        if x.dtype.is_bool:
            return math_compare.equal(x, y)
        x, y = to_inexact(x), to_inexact(y)
    size = math_cast.abs(y)
    bound = arithmetic.add(
        as_tensor(atol, size.dtype), arithmetic.multiply(as_tensor(rtol, size.dtype), size)
    )
    near = math_compare.less_equal(math_cast.abs(arithmetic.subtract(x, y)), bound)
    near = math_compare.logical_and(near, _is_finite(y))
    near = math_compare.logical_or(near, math_compare.equal(x, y))
    if not equal_nan:
        return near
    return math_compare.logical_or(near, math_compare.logical_and(_is_nan(x), _is_nan(y)))


def clip(a: Value, a_min: Value, a_max: Value) -> Any:
    """The elements, moved into `[a_min, a_max]`.

    Args:
      a: a tensor, array, number or list.
      a_min: the least value, or None.
      a_max: the largest value, or None.

    Returns:
      A tensor of the common dtype and the broadcast shape.

    Raises:
      ValueError: both bounds are None.
    """
    if a_min is None and a_max is None:
        raise ValueError("clip: expected a_min or a_max, got None for both. Give one of them.")
    values = [v for v in (a, a_min, a_max) if v is not None]
    tensors = promoted(*values)
    found = tensors[0]
    if a_min is not None:
        found = arithmetic.maximum(found, tensors[1])
    if a_max is not None:
        found = arithmetic.minimum(found, tensors[-1])
    return found


def iscomplexobj(x: Value) -> bool:
    """Whether the dtype is complex.

    Args:
      x: a tensor, array, number or list.

    Returns:
      A bool.
    """
    return bool(as_tensor(x).dtype.is_complex)


def isrealobj(x: Value) -> bool:
    """Whether the dtype is not complex.

    Args:
      x: a tensor, array, number or list.

    Returns:
      A bool.
    """
    return not iscomplexobj(x)


def isscalar(num: Any) -> bool:
    """Whether a value has no axes.

    Args:
      num: any value.

    Returns:
      A bool.
    """
    if hasattr(num, "ndim") and hasattr(num, "dtype"):
        return bool(num.ndim == 0)
    return bool(np.isscalar(num))
