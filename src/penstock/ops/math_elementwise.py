"""Functions of one tensor, element by element: roots, exponentials, trigonometry, rounding.

Most are one line of `unary` each: name, dtypes, NumPy ufunc, jax.numpy function, and a gradient
below it. The operations named `...Grad` compute the gradient from the function's output and are
differentiable in turn.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.lazy import jnp, lax
from penstock.core.native_passes import one_pass
from penstock.core.op_def import OpDef
from penstock.core.shapes import ShapeContext
from penstock.ops.factories import SLOW_IN_XLA, define_elementwise, unary, unary_function
from penstock.ops.math_arithmetic import (
    COMPLEX_TYPES,
    FLOATS,
    FLOATS_AND_COMPLEX,
    add_v2,
    conjugate,
    multiply,
    negative,
    subtract,
)  # fmt: skip
from penstock.ops.math_division import real_div
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer
SIGNED_NUMBERS = "bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128"
INEXACT_TYPES = {
    "T": ["bfloat16", "half", "float32", "float64", "complex64", "complex128"],
}


def _plus(x: Any, number: float) -> Any:
    return add_v2(x, convert_to_tensor(number, x.dtype))


def _times(x: Any, number: float) -> Any:
    return multiply(x, convert_to_tensor(number, x.dtype))


def _from(number: float, x: Any) -> Any:
    return subtract(convert_to_tensor(number, x.dtype), x)


def _slope(op: OpDef, rule: Callable[[Any], Any]) -> None:
    """Registers the gradient `grad * rule(conj(x))`."""
    op.gradient(lambda node, grad: multiply(grad, rule(conjugate(node.inputs[0]))))


def _slope_of_output(op: OpDef, rule: Callable[[Any], Any]) -> None:
    """Registers the gradient `grad * rule(conj(output))`."""
    op.gradient(lambda node, grad: multiply(grad, rule(conjugate(node.outputs[0]))))


def _grad_op(op: OpDef, grad_op: str) -> None:
    """Registers the gradient `grad_op(conj(output), grad)`."""
    op.gradient(lambda node, grad: execute(grad_op, (conjugate(node.outputs[0]), grad)))


def _no_slope(op: OpDef) -> None:
    """Registers the gradient of a function that is constant almost everywhere."""
    op.gradient(lambda node, grad: None)


# exponentials and logarithms

EXP = unary("Exp", FLOATS_AND_COMPLEX, np.exp, "exp", "Returns e to the power of x.")
exp = unary_function(EXP, "exp", EXP.doc)
_slope_of_output(EXP, lambda y: y)

EXPM1 = unary(
    "Expm1", FLOATS_AND_COMPLEX, np.expm1, "expm1", "Returns exp(x) - 1, exact for small x."
)
expm1 = unary_function(EXPM1, "expm1", EXPM1.doc)
_slope(EXPM1, exp)

LOG = unary("Log", FLOATS_AND_COMPLEX, np.log, "log", "Returns the natural logarithm of x.")
log = unary_function(LOG, "log", LOG.doc)


@LOG.gradient
def _log_gradient(op: Any, grad: Any) -> Any:
    return multiply(grad, reciprocal(conjugate(op.inputs[0])))


LOG1P = unary(
    "Log1p", FLOATS_AND_COMPLEX, np.log1p, "log1p", "Returns log(1 + x), exact for small x."
)
log1p = unary_function(LOG1P, "log1p", LOG1P.doc)


@LOG1P.gradient
def _log1p_gradient(op: Any, grad: Any) -> Any:
    return multiply(grad, reciprocal(_plus(conjugate(op.inputs[0]), 1)))


# powers and roots

SQUARE = unary(
    "Square",
    "bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
    "complex64, complex128",
    np.square,
    "square",
    "Returns x * x.",
)
square = unary_function(SQUARE, "square", SQUARE.doc)
_slope(SQUARE, lambda x: _times(x, 2))

SQRT = unary("Sqrt", FLOATS_AND_COMPLEX, np.sqrt, "sqrt", "Returns the square root of x.")
sqrt = unary_function(SQRT, "sqrt", SQRT.doc)
_grad_op(SQRT, "SqrtGrad")

RSQRT = unary("Rsqrt", FLOATS_AND_COMPLEX, None, None, "Returns 1 / sqrt(x).")


@kernel(RSQRT)
@kernel(RSQRT, limit=SLOW_IN_XLA, types={"T": ["float", "double"]})
def _rsqrt(xp: Any, x: Array) -> Array:
    if xp is not np:
        return lax.rsqrt(x)
    found = one_pass("inverse_root", x)
    return np.reciprocal(np.sqrt(x)) if found is None else found


@kernel(RSQRT, types=COMPLEX_TYPES)
def _rsqrt_complex(xp: Any, x: Array) -> Array:
    root = lax.rsqrt(x) if xp is not np else np.reciprocal(np.sqrt(x))
    root = xp.where(x == 0, complex(np.inf, np.nan), root)  # infinite, in no direction
    return xp.where(xp.isinf(x), 0, root).astype(x.dtype)


rsqrt = unary_function(RSQRT, "rsqrt", RSQRT.doc)
_grad_op(RSQRT, "RsqrtGrad")

RECIPROCAL = unary("Reciprocal", SIGNED_NUMBERS, None, None, "Returns 1 / x.")
INV = unary("Inv", SIGNED_NUMBERS, None, None, "Returns 1 / x.")


@kernel(RECIPROCAL, types=INEXACT_TYPES)
@kernel(INV, types=INEXACT_TYPES)
def _reciprocal(xp: Any, x: Array) -> Array:
    return xp.reciprocal(x)


reciprocal = unary_function(RECIPROCAL, "reciprocal", RECIPROCAL.doc)
_grad_op(RECIPROCAL, "ReciprocalGrad")
_grad_op(INV, "InvGrad")

# the logistic function and hyperbolic tangent

SIGMOID = unary("Sigmoid", FLOATS_AND_COMPLEX, None, None, "Returns 1 / (1 + exp(-x)).")


@kernel(SIGMOID)
def _sigmoid(xp: Any, x: Array) -> Array:
    if xp is not np:
        return lax.logistic(x)
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    return (1 / (1 + np.exp(-wide))).astype(x.dtype)


@kernel(SIGMOID, types=COMPLEX_TYPES)
def _sigmoid_complex(xp: Any, x: Array) -> Array:
    """By the exponential that does not overflow, which is 0 at an infinite real part."""
    low = x.real < 0
    small = xp.exp(xp.where(low, x, -x))
    small = xp.where(xp.isinf(x.real), 0, small)
    return (xp.where(low, small, 1) / (1 + small)).astype(x.dtype)


sigmoid = unary_function(SIGMOID, "sigmoid", SIGMOID.doc)
_grad_op(SIGMOID, "SigmoidGrad")

TANH = unary("Tanh", FLOATS_AND_COMPLEX, np.tanh, "tanh", "Returns the hyperbolic tangent of x.")
tanh = unary_function(TANH, "tanh", TANH.doc)
_grad_op(TANH, "TanhGrad")


# gradients in terms of the output


def _shape_of_y(c: ShapeContext) -> Dims:
    y, dy = c.shape(0), c.shape(1)
    if y is None or dy is None or None in y or None in dy:
        return y
    if math.prod(n or 0 for n in y) != math.prod(n or 0 for n in dy):
        c.fail("as many elements in dy as in y", f"y of shape {d.text(y)}, dy of {d.text(dy)}")
    return y


def _define_grad_op(
    name: str,
    function: Callable[[Array, Array], Array],
    native: str,
    doc: str,
    bounded: bool = True,
) -> OpDef:
    """Defines a gradient. One that is not `bounded` is 0 for a `dy` of 0, as in TensorFlow.

    `native` is what `native_passes` calls it.

    What was not chosen, as the root of a negative number by `where`, has no part in the gradient.
    """
    signature = f"{name}(y: T, dy: T; T: {{{FLOATS_AND_COMPLEX}}}) -> z: T"

    def matched(xp: Any, y: Array, dy: Array) -> Array:
        dy = dy if y.shape == dy.shape else dy.reshape(y.shape)
        value = function(y, dy)
        return value if bounded else xp.where(dy == 0, xp.zeros_like(value), value)

    def host(y: Array, dy: Array) -> Array:
        found = one_pass(native, y, dy)
        return matched(np, y, dy) if found is None else found

    def compiled(y: Array, dy: Array) -> Array:
        return matched(jnp, y, dy)

    return define_elementwise(signature, host, compiled, doc, _shape_of_y)


SIGMOID_GRAD = _define_grad_op(
    "SigmoidGrad",
    lambda y, dy: dy * y * (1 - y),
    "sigmoid_grad",
    "Returns dy * y * (1 - y), for y = sigmoid(x).",
)
TANH_GRAD = _define_grad_op(
    "TanhGrad",
    lambda y, dy: dy * (1 - y * y),
    "tanh_grad",
    "Returns dy * (1 - y * y), for y = tanh(x).",
)
SQRT_GRAD = _define_grad_op(
    "SqrtGrad",
    lambda y, dy: dy * 0.5 / y,
    "root_grad",
    "Returns dy / (2 * y), for y = sqrt(x); 0 where dy is.",
    bounded=False,
)
RSQRT_GRAD = _define_grad_op(
    "RsqrtGrad",
    lambda y, dy: dy * -0.5 * (y * y * y),
    "inverse_root_grad",
    "Returns -dy * y**3 / 2, for y = rsqrt(x); 0 where dy is.",
    bounded=False,
)
RECIPROCAL_GRAD = _define_grad_op(
    "ReciprocalGrad",
    lambda y, dy: -dy * (y * y),
    "inverse_grad",
    "Returns -dy * y * y, for y = 1 / x; 0 where dy is.",
    bounded=False,
)
INV_GRAD = _define_grad_op(
    "InvGrad",
    lambda y, dy: -dy * (y * y),
    "inverse_grad",
    "Returns -dy * y * y, for y = 1 / x; 0 where dy is.",
    bounded=False,
)


def _second_order(op: OpDef, by_y: Callable[[Any, Any, Any], Any]) -> None:
    """Registers the gradient of `f(y, dy)` linear in `dy`: `by_y(grad, y, dy)` and `f(y, grad)`."""

    def gradient(node: Any, grad: Any) -> list[Any]:
        y, dy = (conjugate(t) for t in node.inputs)
        return [by_y(grad, y, dy), execute(op, (y, grad))]

    op.gradient(gradient)


_second_order(SIGMOID_GRAD, lambda g, y, dy: multiply(multiply(g, dy), _from(1, _times(y, 2))))
_second_order(TANH_GRAD, lambda g, y, dy: _times(multiply(multiply(g, dy), y), -2))
_second_order(SQRT_GRAD, lambda g, y, dy: _times(real_div(multiply(g, dy), multiply(y, y)), -0.5))
_second_order(RSQRT_GRAD, lambda g, y, dy: _times(multiply(multiply(g, dy), multiply(y, y)), -1.5))
_second_order(RECIPROCAL_GRAD, lambda g, y, dy: _times(multiply(multiply(g, dy), y), -2))
_second_order(INV_GRAD, lambda g, y, dy: _times(multiply(multiply(g, dy), y), -2))

# trigonometry

SIN = unary(
    "Sin",
    FLOATS_AND_COMPLEX,
    np.sin,
    "sin",
    "Returns the sine of x, in radians.",
    limit=SLOW_IN_XLA,
)
sin = unary_function(SIN, "sin", SIN.doc)
COS = unary(
    "Cos",
    FLOATS_AND_COMPLEX,
    np.cos,
    "cos",
    "Returns the cosine of x, in radians.",
    limit=SLOW_IN_XLA,
)
cos = unary_function(COS, "cos", COS.doc)
_slope(SIN, cos)
_slope(COS, lambda x: negative(sin(x)))

TAN = unary(
    "Tan",
    FLOATS_AND_COMPLEX,
    np.tan,
    "tan",
    "Returns the tangent of x, in radians.",
    limit=SLOW_IN_XLA,
)
tan = unary_function(TAN, "tan", TAN.doc)
_slope_of_output(TAN, lambda y: _plus(square(y), 1))

ASIN = unary(
    "Asin",
    FLOATS_AND_COMPLEX,
    np.arcsin,
    "arcsin",
    "Returns the angle whose sine is x.",
    limit=SLOW_IN_XLA,
)
asin = unary_function(ASIN, "asin", ASIN.doc)
_slope(ASIN, lambda x: rsqrt(_from(1, square(x))))

ACOS = unary(
    "Acos",
    FLOATS_AND_COMPLEX,
    np.arccos,
    "arccos",
    "Returns the angle whose cosine is x.",
    limit=SLOW_IN_XLA,
)
acos = unary_function(ACOS, "acos", ACOS.doc)
_slope(ACOS, lambda x: negative(rsqrt(_from(1, square(x)))))

ATAN = unary(
    "Atan", FLOATS_AND_COMPLEX, np.arctan, "arctan", "Returns the angle whose tangent is x."
)
atan = unary_function(ATAN, "atan", ATAN.doc)
_slope(ATAN, lambda x: reciprocal(_plus(square(x), 1)))

SINH = unary(
    "Sinh",
    FLOATS_AND_COMPLEX,
    np.sinh,
    "sinh",
    "Returns the hyperbolic sine of x.",
    limit=SLOW_IN_XLA,
)
sinh = unary_function(SINH, "sinh", SINH.doc)
COSH = unary(
    "Cosh",
    FLOATS_AND_COMPLEX,
    np.cosh,
    "cosh",
    "Returns the hyperbolic cosine of x.",
    limit=SLOW_IN_XLA,
)
cosh = unary_function(COSH, "cosh", COSH.doc)
_slope(SINH, cosh)
_slope(COSH, sinh)

ASINH = unary(
    "Asinh",
    FLOATS_AND_COMPLEX,
    np.arcsinh,
    "arcsinh",
    "Returns the inverse hyperbolic sine of x.",
    limit=SLOW_IN_XLA,
)
asinh = unary_function(ASINH, "asinh", ASINH.doc)
_slope(ASINH, lambda x: rsqrt(_plus(square(x), 1)))

ACOSH = unary(
    "Acosh",
    FLOATS_AND_COMPLEX,
    np.arccosh,
    "arccosh",
    "Returns the inverse hyperbolic cosine of x.",
    limit=SLOW_IN_XLA,
)
acosh = unary_function(ACOSH, "acosh", ACOSH.doc)
_slope_of_output(ACOSH, lambda y: reciprocal(sinh(y)))

ATANH = unary(
    "Atanh",
    FLOATS_AND_COMPLEX,
    np.arctanh,
    "arctanh",
    "Returns the inverse hyperbolic tangent of x.",
    limit=SLOW_IN_XLA,
)
atanh = unary_function(ATANH, "atanh", ATANH.doc)
_slope(ATANH, lambda x: reciprocal(_from(1, square(x))))

# rounding and signs

CEIL = unary("Ceil", FLOATS, np.ceil, "ceil", "Returns the smallest whole number not below x.")
ceil = unary_function(CEIL, "ceil", CEIL.doc)
_no_slope(CEIL)

FLOOR = unary("Floor", FLOATS, np.floor, "floor", "Returns the largest whole number not above x.")
floor = unary_function(FLOOR, "floor", FLOOR.doc)
_no_slope(FLOOR)

RINT = unary("Rint", FLOATS, np.rint, "rint", "Returns the nearest whole number; halves to even.")
rint = unary_function(RINT, "rint", RINT.doc)
_no_slope(RINT)

ROUND = unary(
    "Round", SIGNED_NUMBERS, None, None, "Returns the nearest whole number; halves to even."
)


@kernel(ROUND)
def _round(xp: Any, x: Array) -> Array:
    return x if x.dtype.kind in "iu" else xp.rint(x)


_no_slope(ROUND)


def round(x: Any, name: str | None = None) -> Any:
    """Returns the nearest whole number; halves go to the even neighbour.

    Args:
      x: tensor of numbers, any shape.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape; `x` itself when it is of integers.
    """
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else execute(ROUND, (x,), None, name)


def _sign_on_host(x: Array) -> Array:
    found = one_pass("sign", x)
    return np.sign(x) if found is None else found


SIGN = unary(
    "Sign",
    SIGNED_NUMBERS,
    _sign_on_host,
    "sign",
    "Returns -1, 0 or 1 as x is negative, zero or positive; x / abs(x) for complex x.",
)
sign = unary_function(SIGN, "sign", SIGN.doc)


@SIGN.gradient
def _sign_gradient(node: Any, grad: Any) -> Any:
    """Zero; of x / abs(x) the part of the gradient across x, divided by abs(x)."""
    x, y = node.inputs[0], node.outputs[0]
    if not x.dtype.is_complex:
        return execute("ZerosLike", (x,))
    attrs = {"Tout": x.dtype.real_dtype}
    along = execute("Real", (execute("Mul", (execute("Conj", (y,)), grad)),), attrs)
    across = execute("Sub", (grad, execute("Mul", (y, _complex(along, x)))))
    return execute("DivNoNan", (across, _complex(execute("ComplexAbs", (x,), attrs), x)))


def _complex(real: Any, like: Any) -> Any:
    return execute("Cast", (real,), {"DstT": like.dtype.base_dtype})


ABS = unary(
    "Abs",
    "bfloat16, half, float, double, int8, int16, int32, int64",
    np.abs,
    "abs",
    "Returns the absolute value of x.",
)
_slope(ABS, sign)
