"""Comparisons, logic, bits, choices between two tensors, and clipping to a range.

`equal` and `not_equal` take every dtype, strings included. SelectV2, which `where` runs,
broadcasts; Select, of compat.v1, does not, but lets a vector choose rows.
"""

from itertools import zip_longest
from typing import Any, NoReturn

import numpy as np

from penstock.core.choosing import clipped, where
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.lazy import jnp, lax
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext, not_broadcast, refuse_broadcast
from penstock.core.tensor import Tensor
from penstock.ops.composing import composed
from penstock.ops.factories import (
    as_dtype_of,
    binary,
    binary_function,
    unary,
    unary_function,
)
from penstock.ops.math_arithmetic import FLOATS, maximum, minimum, sum_like
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer
INTEGERS = "int8, int16, int32, int64, uint8, uint16, uint32, uint64"
BOOL_RESULT = "a bool has no gradient"
INTEGER_RESULT = "an integer has no gradient"

# order


def _define_order(name: str, ufunc: Any, compiled: str, doc: str) -> OpDef:
    signature = f"{name}(x: T, y: T; T: realnumbertype) -> z: bool"
    return binary(name, "", ufunc, compiled, doc, signature).not_differentiable(BOOL_RESULT)


LESS = _define_order("Less", np.less, "less", "Tells where x < y.")
less = binary_function(LESS, "less", LESS.doc, dt.bool_)
LESS_EQUAL = _define_order("LessEqual", np.less_equal, "less_equal", "Tells where x <= y.")
less_equal = binary_function(LESS_EQUAL, "less_equal", LESS_EQUAL.doc, dt.bool_)
GREATER = _define_order("Greater", np.greater, "greater", "Tells where x > y.")
greater = binary_function(GREATER, "greater", GREATER.doc, dt.bool_)
GREATER_EQUAL = _define_order(
    "GreaterEqual", np.greater_equal, "greater_equal", "Tells where x >= y."
)
greater_equal = binary_function(GREATER_EQUAL, "greater_equal", GREATER_EQUAL.doc, dt.bool_)


# equality


def _equality_shape(c: ShapeContext) -> Dims:
    x, y = c.shapes
    if not c.attr("incompatible_shape_error"):
        return _shape_or_scalar(x, y)
    try:
        return d.broadcast(x, y)
    except ValueError:
        refuse_broadcast(c, x, y)


def _shape_or_scalar(x: Dims, y: Dims) -> Dims:
    """The result's shape where shapes that do not fit give a scalar."""
    if x is None or y is None:
        return None
    made: list[int | None] = []
    for one, other in zip_longest(reversed(x), reversed(y), fillvalue=1):
        made.append(other if one == 1 else one)
    for one, other in reversed(list(zip(reversed(x), reversed(y), strict=False))):
        if 1 in (one, other) or one == other:
            continue
        return None if None in (one, other) else ()  # the first that may differ, or does
    return tuple(reversed(made))


def _define_equality(name: str, ufunc: Any, compiled: str, doc: str) -> OpDef:
    attrs = "T: type, incompatible_shape_error: bool = True"
    op = define_op(f"{name}(x: T, y: T; {attrs}) -> z: bool", shape=_equality_shape, doc=doc)

    def compare(xp: Any, x: Array, y: Array) -> Array:
        try:
            if x.shape != y.shape:
                np.broadcast_shapes(x.shape, y.shape)
        except ValueError:  # the shape rule let it pass: incompatible_shape_error is off
            return xp.asarray(name == "NotEqual")
        result = ufunc(x, y) if xp is np else getattr(jnp, compiled)(x, y)
        return result.astype(bool) if result.dtype == object else result

    kernel(op)(compare)
    return op.not_differentiable(BOOL_RESULT)


EQUAL = _define_equality("Equal", np.equal, "equal", "Tells where x == y.")
NOT_EQUAL = _define_equality("NotEqual", np.not_equal, "not_equal", "Tells where x != y.")
equal = binary_function(EQUAL, "equal", EQUAL.doc, dt.bool_, ufunc=np.equal)
not_equal = binary_function(NOT_EQUAL, "not_equal", NOT_EQUAL.doc, dt.bool_, ufunc=np.not_equal)


def _same_shapes(c: ShapeContext) -> Dims:
    try:
        return d.merge(*c.shapes)
    except ValueError:
        c.fail(
            "x and y of the same shape",
            f"x shape: {d.text(c.shape(0))}. y shape: {d.text(c.shape(1))}",
        )


APPROXIMATE_EQUAL = define_op(
    "ApproximateEqual(x: T, y: T; T: numbertype, tolerance: float = 1e-05) -> z: bool",
    shape=_same_shapes,
    doc="Tells where abs(x - y) < tolerance.",
).not_differentiable(BOOL_RESULT)


@kernel(APPROXIMATE_EQUAL)
def _approximate_equal(xp: Any, x: Array, y: Array, *, tolerance: float) -> Array:
    difference = xp.maximum(x, y) - xp.minimum(x, y) if x.dtype.kind == "u" else x - y
    return xp.abs(difference) < tolerance


def approximate_equal(x: Any, y: Any, tolerance: float = 1e-05, name: str | None = None) -> Any:
    """Tells where two tensors differ by less than a tolerance.

    Args:
      x: tensor of numbers.
      y: tensor of the same dtype and shape.
      tolerance: the largest difference that counts as equal, itself excluded.
      name: the name of the operation in a graph.

    Returns:
      Tensor bool of the same shape.
    """
    return execute(APPROXIMATE_EQUAL, (x, y), {"tolerance": tolerance}, name)


# logic


def _define_logic(name: str, ufunc: Any, compiled: str, doc: str) -> OpDef:
    signature = f"{name}(x: bool, y: bool) -> z: bool"
    return binary(name, "", ufunc, compiled, doc, signature).not_differentiable(BOOL_RESULT)


LOGICAL_AND = _define_logic("LogicalAnd", np.logical_and, "logical_and", "Tells where x and y.")
LOGICAL_OR = _define_logic("LogicalOr", np.logical_or, "logical_or", "Tells where x or y.")
LOGICAL_NOT = unary(
    "LogicalNot",
    "",
    np.logical_not,
    "logical_not",
    "Tells where x is false.",
    "LogicalNot(x: bool) -> y: bool",
).not_differentiable(BOOL_RESULT)
logical_not = unary_function(LOGICAL_NOT, "logical_not", LOGICAL_NOT.doc)


def _truths(x: Any, y: Any) -> tuple[Any, Any]:
    """Both operands; eagerly numbers and arrays are looked at first, as in TensorFlow."""
    if state.graph is not None:
        return x, y
    left, right = (
        convert_to_tensor(v, dt.bool_) if v is None or isinstance(v, _PLAIN) else v for v in (x, y)
    )
    return left, right


_PLAIN = (int, float, np.ndarray)


def logical_and(x: Any, y: Any, name: str | None = None) -> Any:
    """Tells where both x and y hold.

    Args:
      x: tensor bool.
      y: tensor bool of a shape that broadcasts.
      name: the name of the operation in a graph.

    Returns:
      Tensor bool of the broadcast shape.
    """
    return execute(LOGICAL_AND, _truths(x, y), None, name)


def logical_or(x: Any, y: Any, name: str | None = None) -> Any:
    """Tells where x or y holds.

    Args:
      x: tensor bool.
      y: tensor bool of a shape that broadcasts.
      name: the name of the operation in a graph.

    Returns:
      Tensor bool of the broadcast shape.
    """
    return execute(LOGICAL_OR, _truths(x, y), None, name)


def logical_xor(x: Any, y: Any, name: str | None = "LogicalXor") -> Any:
    """Tells where exactly one of x and y holds.

    Args:
      x: tensor bool.
      y: tensor bool of a shape that broadcasts.
      name: the name of the operation in a graph.

    Returns:
      Tensor bool of the broadcast shape.
    """
    return logical_and(logical_or(x, y), logical_not(logical_and(x, y)), name)


# bits


def _define_bits(name: str, host: Any, compiled: Any, doc: str) -> OpDef:
    return binary(name, INTEGERS, host, compiled, doc).not_differentiable(INTEGER_RESULT)


BITWISE_AND = _define_bits(
    "BitwiseAnd", np.bitwise_and, "bitwise_and", "Returns the bits that are set in both x and y."
)
bitwise_and = binary_function(BITWISE_AND, "bitwise_and", BITWISE_AND.doc)
BITWISE_OR = _define_bits(
    "BitwiseOr", np.bitwise_or, "bitwise_or", "Returns the bits that are set in x or y."
)
bitwise_or = binary_function(BITWISE_OR, "bitwise_or", BITWISE_OR.doc)
BITWISE_XOR = _define_bits(
    "BitwiseXor", np.bitwise_xor, "bitwise_xor", "Returns the bits set in exactly one of x and y."
)
bitwise_xor = binary_function(BITWISE_XOR, "bitwise_xor", BITWISE_XOR.doc)
INVERT = unary(
    "Invert", INTEGERS, np.invert, "invert", "Returns x with every bit flipped."
).not_differentiable(INTEGER_RESULT)
invert = unary_function(INVERT, "invert", INVERT.doc)
LEFT_SHIFT = _define_bits(
    "LeftShift", None, None, "Shifts the bits of x left by y, which is clipped to [0, bits - 1]."
)
RIGHT_SHIFT = _define_bits(
    "RightShift", None, None, "Shifts the bits of x right by y, which is clipped to [0, bits - 1]."
)
left_shift = binary_function(LEFT_SHIFT, "left_shift", LEFT_SHIFT.doc)
right_shift = binary_function(RIGHT_SHIFT, "right_shift", RIGHT_SHIFT.doc)


def _distance(xp: Any, x: Array, y: Array) -> Array:
    return xp.clip(y, 0, x.dtype.itemsize * 8 - 1).astype(x.dtype)


@kernel(LEFT_SHIFT)
def _left_shift(xp: Any, x: Array, y: Array) -> Array:
    return xp.left_shift(x, _distance(xp, x, y))


@kernel(RIGHT_SHIFT)
def _right_shift(xp: Any, x: Array, y: Array) -> Array:
    return xp.right_shift(x, _distance(xp, x, y))


POPULATION_COUNT = define_op(
    f"PopulationCount(x: T; T: {{{INTEGERS}}}) -> y: uint8",
    shape=lambda c: c.shape(0),
    doc="Counts the bits that are set.",
).not_differentiable(INTEGER_RESULT)


@kernel(POPULATION_COUNT)
def _population_count(xp: Any, x: Array) -> Array:
    bits = x.view(f"u{x.dtype.itemsize}")
    return np.bitwise_count(bits) if xp is np else lax.population_count(bits)


# tests of floating values

IS_NAN = unary(
    "IsNan", "", np.isnan, "isnan", "Tells where x is NaN.",
    f"IsNan(x: T; T: {{{FLOATS}}}) -> y: bool",
).not_differentiable(BOOL_RESULT)  # fmt: skip
IS_INF = unary(
    "IsInf", "", np.isinf, "isinf", "Tells where x is infinite.",
    f"IsInf(x: T; T: {{{FLOATS}}}) -> y: bool",
).not_differentiable(BOOL_RESULT)  # fmt: skip
IS_FINITE = unary(
    "IsFinite", "", np.isfinite, "isfinite", "Tells where x is neither infinite nor NaN.",
    f"IsFinite(x: T; T: {{{FLOATS}}}) -> y: bool",
).not_differentiable(BOOL_RESULT)  # fmt: skip
is_nan = unary_function(IS_NAN, "is_nan", IS_NAN.doc)
is_inf = unary_function(IS_INF, "is_inf", IS_INF.doc)
is_finite = unary_function(IS_FINITE, "is_finite", IS_FINITE.doc)

# choices


def _select_shape(c: ShapeContext) -> Dims:
    condition, t, e = c.shapes
    dims = c.merge(t, e)
    if condition is None or dims is None or len(condition) == 0:
        return dims
    if len(condition) == 1 and len(dims) != 1:
        if not dims or not d.compatible(condition, dims[:1]):
            c.fail(
                "a condition vector as long as the first axis",
                f"Number of batches of 'then' must match size of 'cond': {d.text(dims)} and "
                f"{d.text(condition)}",
            )
        return dims
    return c.merge(condition, dims)


SELECT = define_op(
    "Select(condition: bool, t: T, e: T; T: type) -> output: T",
    shape=_select_shape,
    doc="Takes elements (or rows, where the condition is a vector) of `t` or else of `e`.",
)


@kernel(SELECT)
def _select(xp: Any, condition: Array, t: Array, e: Array) -> Array:
    if condition.ndim == 1 and t.ndim > 1:
        condition = condition.reshape((-1,) + (1,) * (t.ndim - 1))
    return where(xp, condition, t, e)


def _select_v2_shape(c: ShapeContext) -> Dims:
    try:
        return d.broadcast(c.shape(0), d.broadcast(c.shape(1), c.shape(2)))
    except ValueError:
        _refuse_select(c)


def _refuse_select(c: ShapeContext) -> NoReturn:
    condition, t, e = (d.bracketed(s) for s in c.shapes)
    try:
        d.broadcast(c.shape(1), c.shape(2))
        first, second = c.shape(0), d.broadcast(c.shape(1), c.shape(2))
    except ValueError:
        first, second = c.shape(1), c.shape(2)
    known = c.says(
        f"condition {condition}, then {t}, and else {e} must be broadcastable",
        not_broadcast(first, second),
    )
    listed = " vs. ".join(d.text(s) for s in c.shapes)
    c.fail("condition, t and e that broadcast together", f"incompatible shapes {listed}: {known}")


SELECT_V2 = define_op(
    "SelectV2(condition: bool, t: T, e: T; T: type) -> output: T",
    shape=_select_v2_shape,
    doc="Takes elements of `t` where the condition holds, else of `e`; all three broadcast.",
)


@kernel(SELECT_V2)
def _select_v2(xp: Any, condition: Array, t: Array, e: Array) -> Array:
    return where(xp, condition, t, e)


@SELECT.gradient
def _select_gradient(op: Any, grad: Any) -> list[Any]:
    condition = op.inputs[0]
    zeros = execute("ZerosLike", (grad,))
    return [
        None,
        execute(SELECT, (condition, grad, zeros)),
        execute(SELECT, (condition, zeros, grad)),
    ]


@SELECT_V2.gradient
def _select_v2_gradient(op: Any, grad: Any) -> list[Any]:
    condition, t, e = op.inputs
    zero = convert_to_tensor(0, grad.dtype)
    output = op.outputs[0]
    return [
        None,
        sum_like(execute(SELECT_V2, (condition, grad, zero)), t, output),
        sum_like(execute(SELECT_V2, (condition, zero, grad)), e, output),
    ]


# clipping


def _clip_shape(c: ShapeContext) -> Dims:
    dims = c.shape(0)
    for bound in c.shapes[1:]:
        if bound is not None and len(bound) and not d.compatible(dims, bound):
            c.fail(
                "clip_value_min and clip_value_max of the same shape as input, or a scalar",
                f"input shape {d.text(dims)} and bound shape {d.text(bound)}",
            )
    return dims


CLIP_BY_VALUE = define_op(
    "ClipByValue(t: T, clip_value_min: T, clip_value_max: T; T: numbertype) -> output: T",
    shape=_clip_shape,
    doc="Replaces values outside of a range by its nearest end.",
)


@kernel(CLIP_BY_VALUE)
def _clip_by_value(xp: Any, t: Array, low: Array, high: Array) -> Array:
    return clipped(xp, t, low, high)


@CLIP_BY_VALUE.gradient
def _clip_gradient(op: Any, grad: Any) -> list[Any]:
    t, low, high = op.inputs
    zero = convert_to_tensor(0, grad.dtype)
    below, above = less(t, low), greater(t, high)
    inside = logical_not(logical_or(below, above))
    return [
        execute(SELECT_V2, (inside, grad, zero)),
        sum_like(execute(SELECT_V2, (below, grad, zero)), low, t),
        sum_like(execute(SELECT_V2, (above, grad, zero)), high, t),
    ]


@composed("clip_by_value")
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Clips values to a range.

    Args:
      t: tensor or IndexedSlices of real numbers.
      clip_value_min: the least value: a scalar, or a tensor that broadcasts to the shape of `t`.
      clip_value_max: the greatest value, likewise.
      name: the name of the operation in a graph.

    Returns:
      The same kind of value as `t`, of the same dtype and shape.

    Raises:
      ValueError: a bound would widen the shape of `t`.
    """
    if hasattr(t, "values") and hasattr(t, "indices"):
        values = clip_by_value(t.values, clip_value_min, clip_value_max, name)
        return type(t)(values, t.indices, t.dense_shape)
    t = convert_to_tensor(t)
    low, high = (
        b if isinstance(b, Tensor) else as_dtype_of(t, b) for b in (clip_value_min, clip_value_max)
    )
    result = minimum(t, high)
    t.shape.assert_is_compatible_with(result.shape)
    result = maximum(result, low, name)
    t.shape.assert_is_compatible_with(result.shape)
    return result
