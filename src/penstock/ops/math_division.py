"""Quotients and remainders, with each of their rounding rules.

`truediv` of integers works in float32 or float64, as Python's `/`; `floordiv` and `floormod` round
towards minus infinity, as Python's `//` and `%`; `truncatediv` and `truncatemod` round towards
zero. Integer division by zero is an error, on the host and in compiled regions.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import kernel, register_kernel
from penstock.core.lazy import lax
from penstock.core.native_passes import one_pass
from penstock.core.op_def import OpDef
from penstock.core.tensor import Tensor
from penstock.ops.composing import composed, scope
from penstock.ops.factories import (
    as_dtype_of,
    binary,
    binary_function,
    convert_binary,
    convert_second,
    is_variable,
    jnp_function,
    pair_or_own,
)
from penstock.ops.math_arithmetic import (
    COMPLEX_TYPES,
    FLOATS_AND_COMPLEX,
    INTEGER_TYPES,
    NUMBERS,
    conjugate,
    multiply,
    negative,
    reduce_to,
)  # fmt: skip
from penstock.types import dtypes as dt

Array = Any  # numpy.ndarray or a JAX tracer
FLOAT_TYPES = {"T": ["bfloat16", "half", "float32", "float64"]}


def _safe_divisor(ctx: Any, xp: Any, x: Array, y: Array) -> Array:
    """The divisor, checked to hold no zero, and with 1 in place of zeros where a region runs on."""
    if x.size == 0:
        return xp.ones_like(y)  # nothing is divided, by whatever zeros
    if xp is np and y.all():
        return y
    zero = y == 0
    ctx.check(
        xp.logical_not(xp.any(zero)),
        errors.InvalidArgumentError,
        lambda: (
            "Integer division by zero: expected a divisor without zeros. Use "
            "tf.math.divide_no_nan, or cast to a floating dtype."
        ),
    )
    return xp.where(zero, xp.ones_like(y), y)


def _truncated(xp: Any, x: Array, y: Array) -> Array:
    if xp is not np:
        return lax.div(*_equal_shapes(xp, x, y))
    quotient = np.floor_divide(x, y)
    return quotient + ((quotient < 0) & (quotient * y != x)).astype(quotient.dtype)


def _equal_shapes(xp: Any, x: Array, y: Array) -> tuple[Array, Array]:
    shape = xp.broadcast_shapes(x.shape, y.shape)
    return xp.broadcast_to(x, shape), xp.broadcast_to(y, shape)


# quotients

REAL_DIV = binary("RealDiv", NUMBERS, None, None, "Returns x / y element by element.")


def _register_true_divide(op: OpDef) -> None:
    for types in (FLOAT_TYPES, COMPLEX_TYPES):
        register_kernel(op, np.true_divide, kind="host", types=types)
        register_kernel(op, jnp_function("true_divide"), kind="compiled", types=types)


_register_true_divide(REAL_DIV)
real_div = binary_function(REAL_DIV, "real_div", REAL_DIV.doc)

DIV = binary(
    "Div",
    NUMBERS,
    None,
    None,
    "Returns x / y element by element; integers are rounded towards zero.",
    fallible=True,
)
_register_true_divide(DIV)


@REAL_DIV.gradient
@DIV.gradient
def _real_div_gradient(op: Any, grad: Any) -> list[Any]:
    x, y = (conjugate(t) for t in op.inputs)
    by_y = multiply(grad, real_div(real_div(negative(x), y), y))
    return [reduce_to(op, real_div(grad, y), 0), reduce_to(op, by_y, 1)]


DIV_NO_NAN = binary(
    "DivNoNan", FLOATS_AND_COMPLEX, None, None, "Returns x / y, and 0 where y is 0."
)


def _quotients(function: str, x: Array, y: Array) -> Array | None:
    """`one_pass` of operands of any shapes: to spread one is a pass, to do without is five."""
    if x.__class__ is np.ndarray and y.__class__ is np.ndarray and x.shape != y.shape:
        if x.dtype.char not in "fd":
            return None
        x, y = (np.ascontiguousarray(a) for a in np.broadcast_arrays(x, y))
    return one_pass(function, x, y)


@kernel(DIV_NO_NAN)
def _div_no_nan(xp: Any, x: Array, y: Array) -> Array:
    found = _quotients("quotient_or_zero", x, y)
    if found is not None:
        return found
    zero = y == 0
    quotient = xp.true_divide(x, xp.where(zero, xp.ones_like(y), y))
    return xp.where(zero, xp.zeros_like(quotient), quotient)


div_no_nan = binary_function(DIV_NO_NAN, "div_no_nan", DIV_NO_NAN.doc)


@DIV_NO_NAN.gradient
def _div_no_nan_gradient(op: Any, grad: Any) -> list[Any]:
    x, y = (conjugate(t) for t in op.inputs)
    by_y = multiply(grad, div_no_nan(div_no_nan(negative(x), y), y))
    return [reduce_to(op, div_no_nan(grad, y), 0), reduce_to(op, by_y, 1)]


TRUNCATE_DIV = binary(
    "TruncateDiv",
    NUMBERS,
    None,
    None,
    "Returns x / y rounded towards zero, element by element.",
    fallible=True,
)


@kernel(TRUNCATE_DIV, types=INTEGER_TYPES)
@kernel(DIV, types=INTEGER_TYPES)
def _truncate_div_integers(ctx: Any, xp: Any, x: Array, y: Array) -> Array:
    return _truncated(xp, x, _safe_divisor(ctx, xp, x, y))


@kernel(TRUNCATE_DIV, types=FLOAT_TYPES)
def _truncate_div_floats(xp: Any, x: Array, y: Array) -> Array:
    return xp.trunc(xp.true_divide(x, y))


truncatediv = binary_function(TRUNCATE_DIV, "truncatediv", TRUNCATE_DIV.doc)

FLOOR_DIV = binary(
    "FloorDiv",
    NUMBERS,
    None,
    None,
    "Returns x / y rounded towards minus infinity, element by element.",
    fallible=True,
)


@kernel(FLOOR_DIV, types=INTEGER_TYPES)
def _floor_div_integers(ctx: Any, xp: Any, x: Array, y: Array) -> Array:
    return xp.floor_divide(x, _safe_divisor(ctx, xp, x, y))


@kernel(FLOOR_DIV, types=FLOAT_TYPES)
def _floor_div_floats(xp: Any, x: Array, y: Array) -> Array:
    return xp.floor(xp.true_divide(x, y))


floor_div = binary_function(FLOOR_DIV, "floor_div", FLOOR_DIV.doc)
floordiv = binary_function(
    FLOOR_DIV,
    "floordiv",
    FLOOR_DIV.doc,
    slow=lambda x, y, name: convert_binary(FLOOR_DIV, x, y, name or "floordiv"),
)


@TRUNCATE_DIV.gradient
@FLOOR_DIV.gradient
def _no_gradient(op: Any, grad: Any) -> list[Any]:
    return [None, None]


# remainders

FLOOR_MOD = binary(
    "FloorMod",
    "",
    None,
    None,
    "Returns the remainder of division rounded towards minus infinity; it has the sign of y.",
    "FloorMod(x: T, y: T; T: realnumbertype) -> z: T",
    fallible=True,
)


@kernel(FLOOR_MOD, types=INTEGER_TYPES)
def _floor_mod_integers(ctx: Any, xp: Any, x: Array, y: Array) -> Array:
    return xp.mod(x, _safe_divisor(ctx, xp, x, y))


@kernel(FLOOR_MOD, types=FLOAT_TYPES)
def _floor_mod_floats(xp: Any, x: Array, y: Array) -> Array:
    return xp.mod(x, y)


floormod = binary_function(FLOOR_MOD, "floormod", FLOOR_MOD.doc)
mod = binary_function(FLOOR_MOD, "mod", FLOOR_MOD.doc)


@FLOOR_MOD.gradient
def _floor_mod_gradient(op: Any, grad: Any) -> list[Any]:
    whole = floor_div(*op.inputs)
    return [reduce_to(op, grad, 0), reduce_to(op, negative(multiply(grad, whole)), 1)]


TRUNCATE_MOD = binary(
    "TruncateMod",
    "int32, int64, bfloat16, half, float, double",
    None,
    None,
    "Returns the remainder of division rounded towards zero; it has the sign of x.",
    fallible=True,
)
MOD = binary(
    "Mod",
    "",
    None,
    None,
    "Returns the remainder of division rounded towards zero; it has the sign of x.",
    "Mod(x: T, y: T; T: {int32, int64, half, half, bfloat16, float, double}) -> z: T",
    fallible=True,
)


@kernel(TRUNCATE_MOD, types=INTEGER_TYPES)
@kernel(MOD, types=INTEGER_TYPES)
def _truncate_mod_integers(ctx: Any, xp: Any, x: Array, y: Array) -> Array:
    return xp.fmod(x, _safe_divisor(ctx, xp, x, y))


@kernel(TRUNCATE_MOD, types=FLOAT_TYPES)
@kernel(MOD, types=FLOAT_TYPES)
def _truncate_mod_floats(xp: Any, x: Array, y: Array) -> Array:
    return xp.fmod(x, y)


truncatemod = binary_function(TRUNCATE_MOD, "truncatemod", TRUNCATE_MOD.doc)


@TRUNCATE_MOD.gradient
@MOD.gradient
def _truncate_mod_gradient(op: Any, grad: Any) -> list[Any]:
    whole = truncatediv(*op.inputs)
    return [reduce_to(op, grad, 0), reduce_to(op, negative(multiply(grad, whole)), 1)]


# products with logarithms that are zero where x is


def _define_xlog(name: str, doc: str) -> OpDef:
    types = "half, bfloat16, float, double, complex64, complex128"
    return binary(name, types, None, None, doc)


def _where_nonzero(xp: Any, x: Array, function: Any, y: Array) -> Array:
    zero = x == 0
    value = function(xp.where(zero, xp.ones_like(y), y))
    return xp.where(zero, xp.zeros_like(value), value)


XLOGY = _define_xlog("Xlogy", "Returns x * log(y), and 0 where x is 0.")
XLOG1PY = _define_xlog("Xlog1py", "Returns x * log(1 + y), and 0 where x is 0.")
XDIVY = _define_xlog("Xdivy", "Returns x / y, and 0 where x is 0.")


@kernel(XLOGY)
def _xlogy(xp: Any, x: Array, y: Array) -> Array:
    return x * _where_nonzero(xp, x, xp.log, y)


@kernel(XLOG1PY)
def _xlog1py(xp: Any, x: Array, y: Array) -> Array:
    return x * _where_nonzero(xp, x, xp.log1p, y)


@kernel(XDIVY)
def _xdivy(xp: Any, x: Array, y: Array) -> Array:
    found = _quotients("quotient_of_nonzero", x, y)
    if found is not None:
        return found
    return _where_nonzero(xp, x, lambda divisor: xp.true_divide(x, divisor), y)


xlogy = binary_function(XLOGY, "xlogy", XLOGY.doc)
xlog1py = binary_function(XLOG1PY, "xlog1py", XLOG1PY.doc)
xdivy = binary_function(XDIVY, "xdivy", XDIVY.doc)


def _nonzero(x: Any) -> Any:
    zeros = execute("ZerosLike", (x,))
    return execute("Cast", (execute("NotEqual", (x, zeros)),), {"DstT": x.dtype})


@XLOGY.gradient
def _xlogy_gradient(op: Any, grad: Any) -> list[Any]:
    x, y = (conjugate(t) for t in op.inputs)
    by_x = multiply(grad, xlogy(_nonzero(x), y))
    return [reduce_to(op, by_x, 0), reduce_to(op, multiply(grad, xdivy(x, y)), 1)]


@XLOG1PY.gradient
def _xlog1py_gradient(op: Any, grad: Any) -> list[Any]:
    x, y = (conjugate(t) for t in op.inputs)
    by_y = xdivy(x, execute("AddV2", (y, convert_to_tensor(1, y.dtype))))
    by_x = multiply(grad, xlog1py(_nonzero(x), y))
    return [reduce_to(op, by_x, 0), reduce_to(op, multiply(grad, by_y), 1)]


@XDIVY.gradient
def _xdivy_gradient(op: Any, grad: Any) -> list[Any]:
    x, y = (conjugate(t) for t in op.inputs)
    by_x = multiply(grad, xdivy(_nonzero(x), y))
    by_y = multiply(grad, xdivy(negative(x), multiply(y, y)))
    return [reduce_to(op, by_x, 0), reduce_to(op, by_y, 1)]


# public quotients that choose an operation by dtype

_TRUEDIV = {
    dt.uint8: dt.float32, dt.int8: dt.float32, dt.uint16: dt.float32, dt.int16: dt.float32,
    dt.uint32: dt.float64, dt.int32: dt.float64, dt.uint64: dt.float64, dt.int64: dt.float64,
    dt.bfloat16: None, dt.float16: None, dt.float32: None, dt.float64: None, dt.complex64: None,
    dt.complex128: None,
}  # fmt: skip


def _true_divide(x: Any, y: Any, name: str | None) -> Any:
    x, y = pair_or_own(x, y)
    if x.dtype.base_dtype is not y.dtype.base_dtype:
        raise TypeError(
            f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}. "
            "Use tf.cast on one of them."
        )
    try:
        wide = _TRUEDIV[x.dtype.base_dtype]
    except KeyError:
        allowed = ", ".join(t.name for t in _TRUEDIV)
        raise TypeError(
            f"Invalid dtype {x.dtype!r} in __truediv__. Expected one of {allowed}. Use tf.cast."
        ) from None
    with scope(name, "truediv") as full:
        if wide is not None:
            x, y = (execute("Cast", (t,), {"DstT": wide}) for t in (x, y))
        return execute(REAL_DIV, (x, y), None, full)


truediv = binary_function(
    REAL_DIV,
    "truediv",
    "Divides as Python's `/`: integers give float32 (8 and 16 bits) or float64.",
    slow=_true_divide,
)


def _divide(x: Any, y: Any, name: str | None) -> Any:
    if not (isinstance(x, Tensor) or isinstance(y, Tensor) or is_variable(y)):
        x = convert_to_tensor(x)
    return x / y if name is None else _true_divide(x, y, name)


divide = binary_function(
    REAL_DIV, "divide", "Divides as Python's `/` does for these operands.", slow=_divide
)


def _divide_v1(x: Any, y: Any, name: str | None) -> Any:
    x, y = convert_second(x, y)
    if x.dtype.is_floating or x.dtype.is_complex:
        return execute(REAL_DIV, (x, y), None, name or "div")
    return execute(FLOOR_DIV, (x, y), None, name or "div")


div = binary_function(
    REAL_DIV,
    "div",
    "Divides floats exactly and integers rounded towards minus infinity, as Python 2's `/`.",
    slow=_divide_v1,
)


def _divide_no_nan(x: Any, y: Any, name: str | None) -> Any:
    if not isinstance(x, Tensor) and isinstance(y, Tensor):
        x = as_dtype_of(y, x)
    x = convert_to_tensor(x)
    y = y if isinstance(y, Tensor) else as_dtype_of(x, y)
    if x.dtype.base_dtype is not y.dtype.base_dtype:
        raise TypeError(
            f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}. Use tf.cast."
        )
    if x.dtype.base_dtype not in _TRUEDIV:
        raise TypeError(f"Invalid dtype {x.dtype!r} in tf.math.divide_no_nan. Use tf.cast.")
    wide = _TRUEDIV[x.dtype.base_dtype]
    with scope(name, "div_no_nan") as full:
        if wide is not None:
            x, y = (execute("Cast", (t,), {"DstT": wide}) for t in (x, y))
        return execute(DIV_NO_NAN, (x, y), None, full)


divide_no_nan = binary_function(
    DIV_NO_NAN, "divide_no_nan", "Returns x / y, and 0 where y is 0.", slow=_divide_no_nan
)


@composed("reciprocal_no_nan")
def reciprocal_no_nan(x: Any, name: str | None = None) -> Any:
    """Returns 1 / x, and 0 where x is 0.

    Args:
      x: tensor of a floating or complex dtype, any shape.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      InvalidArgumentError, TypeError: `x` is of another dtype (TypeError in a graph).
    """
    x = convert_to_tensor(x)
    return execute(DIV_NO_NAN, (convert_to_tensor(1, x.dtype), x), None, name)
