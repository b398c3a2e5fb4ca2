"""Arithmetic on pairs of tensors: sums, products, extremes, powers.

The public functions take tensors of one dtype, or one tensor and a Python or NumPy value that
takes its dtype; there is no promotion between dtypes. `reduce_to` is what gradients of
broadcasting operations end with: it sums a gradient over the axes along which an input was
repeated.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import choosing, shapes
from penstock.core.composite import IndexedSlices
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel, kernel, register_kernel
from penstock.core.native_passes import one_pass
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.ops.factories import (
    LIKE_UFUNCS,
    binary,
    binary_function,
    convert_binary,
    convert_second,
    graph_name_scope,
    number_of,
    unary,
    unary_function,
)
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import as_dtype
from penstock.types.tensor_shape import TensorShape

Array = Any  # numpy.ndarray or a JAX tracer

NUMBERS = (
    "bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, "
    "complex64, complex128"
)
FLOATS = "bfloat16, half, float, double"
FLOATS_AND_COMPLEX = "bfloat16, half, float, double, complex64, complex128"
COMPLEX_TYPES = {"T": ["complex64", "complex128"]}
INTEGER_TYPES = {"T": ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]}


def conjugate(x: Any) -> Any:
    """The complex conjugate; real tensors as they are."""
    return execute("Conj", (x,)) if x.dtype.is_complex else x


def reduce_to(op: Any, grad: Any, index: int) -> Any:
    """`grad` of the output, summed to the shape of input `index`."""
    return sum_like(grad, op.inputs[index], op.inputs[1 - index])


def sum_like(grad: Any, x: Any, other: Any) -> Any:
    """`grad`, of the shape that `x` and `other` broadcast to, summed to the shape of `x`."""
    if x is other or (x.dims == other.dims and x.dims is not None and None not in x.dims):
        return grad
    axes = _repeated_axes(x.dims, other.dims)
    if axes is None:
        shape = execute("Shape", (x,))
        axes = execute("BroadcastGradientArgs", (shape, execute("Shape", (other,))))[0]
        return execute("Reshape", (execute("Sum", (grad, axes)), shape))
    if not axes:
        return grad
    added = max(len(other.dims) - len(x.dims), 0)
    if len(axes) == added:
        return execute("Sum", (grad, np.array(axes, np.int32)))
    if not added:
        return execute("Sum", (grad, np.array(axes, np.int32)), {"keep_dims": True})
    summed = execute("Sum", (grad, np.array(axes, np.int32)))
    known = None not in x.dims
    shape = np.array(x.dims, np.int32) if known else execute("Shape", (x,))
    return execute("Reshape", (summed, shape))


def _repeated_axes(x: Any, other: Any) -> list[int] | None:
    """The axes of the result that are to be summed, if static shapes tell; else None."""
    if x is None or other is None:
        return None
    added = max(len(other) - len(x), 0)
    axes = list(range(added))
    for i, size in enumerate(x):
        j = i + len(other) - len(x)
        beside = other[j] if j >= 0 else 1
        if size == 1 and beside != 1:
            axes.append(i + added)
        elif size is None and beside != 1:
            return None
    return axes


# sums and products


def _add_strings(x: Array, y: Array) -> Array:
    return np.add(x, y, dtype=object)


ADD_V2 = binary("AddV2", NUMBERS, np.add, "add", "Adds two tensors element by element.")
add_v2 = binary_function(ADD_V2, "add_v2", ADD_V2.doc)

ADD = binary(
    "Add",
    "bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, "
    "string",
    np.add,
    "add",
    "Adds two tensors of numbers, or joins two tensors of strings, element by element.",
)
host_kernel(ADD, types={"T": ["string"]})(_add_strings)


def _add(x: Any, y: Any, name: str | None) -> Any:
    with graph_name_scope(name or "Add") as scope:
        if not isinstance(x, Tensor):
            hint = y.dtype.base_dtype if isinstance(y, Tensor) else None
            x = convert_to_tensor(x, dtype_hint=hint, name="x")
        if not isinstance(y, Tensor):
            hint = x.dtype.base_dtype
            y = convert_to_tensor(number_of(y, hint), dtype_hint=hint, name="y")
        return execute(ADD if x.dtype is dt.string else ADD_V2, (x, y), None, scope)


add = binary_function(
    ADD_V2,
    "add",
    "Adds two tensors, or joins two tensors of strings, element by element.",
    slow=_add,
)


@ADD.gradient
@ADD_V2.gradient
def _add_gradient(op: Any, grad: Any) -> list[Any]:
    return [reduce_to(op, grad, 0), reduce_to(op, grad, 1)]


SUB = binary("Sub", NUMBERS, np.subtract, "subtract", "Returns x - y element by element.")
subtract = binary_function(SUB, "subtract", SUB.doc)


@SUB.gradient
def _sub_gradient(op: Any, grad: Any) -> list[Any]:
    return [reduce_to(op, grad, 0), reduce_to(op, negative(grad), 1)]


MUL = binary("Mul", NUMBERS, np.multiply, "multiply", "Returns x * y element by element.")
multiply = binary_function(MUL, "multiply", MUL.doc)


@MUL.gradient
def _mul_gradient(op: Any, grad: Any) -> list[Any]:
    x, y = op.inputs
    return [
        reduce_to(op, multiply(grad, conjugate(y)), 0),
        reduce_to(op, multiply(grad, conjugate(x)), 1),
    ]


MUL_NO_NAN = binary(
    "MulNoNan", FLOATS_AND_COMPLEX, None, None, "Returns x * y, and 0 where y is 0 whatever x is."
)


@kernel(MUL_NO_NAN)
def _mul_no_nan(xp: Any, x: Array, y: Array) -> Array:
    found = one_pass("product_or_zero", x, y)
    return xp.where(y == 0, xp.zeros_like(x), x * y) if found is None else found


multiply_no_nan = binary_function(
    MUL_NO_NAN,
    "multiply_no_nan",
    MUL_NO_NAN.doc,
    slow=lambda x, y, name: convert_binary(
        MUL_NO_NAN, x, y, name or "multiply_no_nan", convert_second
    ),
)


@MUL_NO_NAN.gradient
def _mul_no_nan_gradient(op: Any, grad: Any) -> list[Any]:
    x, y = op.inputs
    return [
        reduce_to(op, multiply_no_nan(grad, conjugate(y)), 0),
        reduce_to(op, multiply_no_nan(conjugate(x), grad), 1),
    ]


SQUARED_DIFFERENCE = binary(
    "SquaredDifference",
    "bfloat16, half, float, double, int32, int64, complex64, complex128",
    None,
    None,
    "Returns conj(x - y) * (x - y) element by element.",
)


@kernel(SQUARED_DIFFERENCE)
def _squared_difference(xp: Any, x: Array, y: Array) -> Array:
    found = one_pass("squared_difference", x, y)
    if found is not None:
        return found
    difference = x - y
    return xp.conj(difference) * difference


squared_difference = binary_function(
    SQUARED_DIFFERENCE, "squared_difference", SQUARED_DIFFERENCE.doc
)


@SQUARED_DIFFERENCE.gradient
def _squared_difference_gradient(op: Any, grad: Any) -> list[Any]:
    x, y = op.inputs
    twice = multiply(multiply(grad, 2), subtract(x, y))
    return [reduce_to(op, twice, 0), reduce_to(op, negative(twice), 1)]


NEG = unary(
    "Neg",
    "bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128",
    np.negative,
    "negative",
    "Returns -x element by element.",
)
negative = unary_function(NEG, "negative", NEG.doc)


@NEG.gradient
def _neg_gradient(op: Any, grad: Any) -> Any:
    if isinstance(grad, IndexedSlices):  # rows of a table stay rows
        return IndexedSlices(negative(grad.values), grad.indices, grad.dense_shape)
    return negative(grad)


# maxima and minima

MAXIMUM = binary(
    "Maximum",
    "",
    choosing.maximum,
    "maximum",
    "Returns the larger of x and y element by element; NaN where either is NaN.",
    "Maximum(x: T, y: T; T: realnumbertype) -> z: T",
)
maximum = binary_function(MAXIMUM, "maximum", MAXIMUM.doc)

MINIMUM = binary(
    "Minimum",
    "",
    choosing.minimum,
    "minimum",
    "Returns the smaller of x and y element by element; NaN where either is NaN.",
    "Minimum(x: T, y: T; T: realnumbertype) -> z: T",
)
minimum = binary_function(MINIMUM, "minimum", MINIMUM.doc)


def _choice_gradient(op: Any, grad: Any, comparison: str) -> list[Any]:
    x, y = op.inputs
    first = execute(comparison, (x, y))
    zero = execute("ZerosLike", (grad,))
    return [
        reduce_to(op, execute("SelectV2", (first, grad, zero)), 0),
        reduce_to(op, execute("SelectV2", (first, zero, grad)), 1),
    ]


@MAXIMUM.gradient
def _maximum_gradient(op: Any, grad: Any) -> list[Any]:
    return _choice_gradient(op, grad, "GreaterEqual")


@MINIMUM.gradient
def _minimum_gradient(op: Any, grad: Any) -> list[Any]:
    return _choice_gradient(op, grad, "LessEqual")


# powers

POW = binary(
    "Pow",
    "bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128",
    np.power,
    "power",
    "Returns x to the power of y element by element.",
    fallible=True,
)


def _check_exponent(ctx: Any, xp: Any, y: Array) -> None:
    ctx.check(
        xp.all(y >= 0),
        errors.InvalidArgumentError,
        lambda least: (
            f"Integers to negative integer powers are not allowed: got exponent {least}. "
            "Cast the base to a floating dtype."
        ),
        y.min() if y.size else 0,
    )


@kernel(POW, types={"T": ["int8", "int16", "int32", "int64"]})
def _pow_integers(ctx: Any, xp: Any, x: Array, y: Array) -> Array:
    _check_exponent(ctx, xp, y)
    return xp.power(x, xp.maximum(y, 0))


def _pow_real(x: Array, y: Array) -> Array:
    """NumPy takes the square root for one exponent of 0.5: NaN of -inf, and -0 of -0."""
    result = np.power(x, y)
    if y.size == 1 and y.item() == 0.5:
        return np.where(x == -np.inf, -x, result + 0)
    return result


@kernel(POW, types=COMPLEX_TYPES)
def _pow_complex(xp: Any, x: Array, y: Array) -> Array:
    """0 to what has a positive real part is 0, and to what has a negative one infinite.

    Infinity to what has a negative one is 0.
    """
    result = xp.power(x, y)
    infinite = xp.isinf(x)
    if xp is np and x.all() and not infinite.any():
        return result
    result = xp.where(infinite & (y.real < 0) & xp.isfinite(y), 0, result)
    low, high = xp.where(y.real < 0, complex(np.inf, np.nan), result), y.real > 0
    return xp.where(x == 0, xp.where(high, 0, low), result).astype(result.dtype)


LIKE_UFUNCS.update({_pow_real, choosing.maximum, choosing.minimum})
register_kernel(POW, _pow_real, kind="host", types={"T": ["float", "double"]})
pow = binary_function(POW, "pow", POW.doc)  # the public name


@POW.gradient
def _pow_gradient(op: Any, grad: Any) -> list[Any]:
    x, y = op.inputs
    z = conjugate(op.outputs[0])
    cx, cy = conjugate(x), conjugate(y)
    one = convert_to_tensor(1, cy.dtype)
    by_x = multiply(grad, multiply(cy, pow(cx, subtract(cy, one))))
    zeros = execute("ZerosLike", (cx,))
    if x.dtype.is_complex:
        usable = execute("NotEqual", (cx, zeros))
    else:
        usable = execute("Greater", (cx, zeros))
    safe = execute("SelectV2", (usable, cx, execute("OnesLike", (cx,))))
    logarithm = execute("SelectV2", (usable, execute("Log", (safe,)), zeros))
    return [reduce_to(op, by_x, 0), reduce_to(op, multiply(grad, multiply(z, logarithm)), 1)]


# sums of many tensors

ADD_N_TYPES = (
    "float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, "
    "qint16, quint16, uint16, complex128, half, uint32, uint64, variant"
)


def _add_n_shape(c: ShapeContext) -> Dims:
    for i in range(1, len(c) if c.running else 0):
        if c.shape(i) != c.shape(0):
            c.refuse(
                "Inputs to operation AddN of type AddN must have the same size and shape. Input 0:"
                f" {d.bracketed(c.shape(0))} != input {i}: {d.bracketed(c.shape(i))}"
            )
    return shapes.merged(c)


ADD_N = define_op(
    f"AddN(inputs: N*T; N: int >= 1, T: {{{ADD_N_TYPES}}}) -> sum: T",
    shape=_add_n_shape,
    doc="Adds tensors of one dtype and shape.",
)


@kernel(ADD_N)
def _add_n(xp: Any, inputs: list[Array]) -> Array:
    if xp is np and len(inputs) > 2 and inputs[0].ndim:  # no array between for each further input
        total = np.add(inputs[0], inputs[1])
        for array in inputs[2:]:
            np.add(total, array, out=total)
        return total
    total = inputs[0]
    for array in inputs[1:]:
        total = xp.add(total, array)
    return total


@ADD_N.gradient
def _add_n_gradient(op: Any, grad: Any) -> list[Any]:
    return [grad] * len(op.inputs)


ACCUMULATE_N = define_op(
    "AccumulateNV2(inputs: N*T; N: int >= 1, T: numbertype, shape: shape) -> sum: T",
    shape=lambda c: c.merge(shapes.merged(c), c.attr("shape")),
    doc="Adds tensors of one dtype and shape as they become available.",
)
kernel(ACCUMULATE_N)(_add_n)
ACCUMULATE_N.gradient(_add_n_gradient)


def _tensor_list(inputs: Any, problem: str) -> list[Any]:
    if isinstance(inputs, (Tensor, np.ndarray)):
        inputs = list(execute("Unpack", (inputs,), {"num": inputs.shape[0], "axis": 0}))
    if not (listed := list(inputs)):
        raise ValueError(f"{problem} Got {inputs!r}. Pass a non-empty list.")
    first = next((t for t in listed if isinstance(t, Tensor)), None)
    hint = None if first is None else first.dtype
    try:
        return [convert_to_tensor(t, dtype_hint=hint) for t in listed]
    except TypeError as reason:
        raise ValueError(f"{problem} {reason}") from reason


def _check_slices(inputs: Any, problem: str) -> None:
    """Refuses, in a graph, one of several rows of a tensor whose shape nobody knows."""
    if state.graph is None or not isinstance(inputs, (list, tuple)) or len(inputs) < 2:
        return
    for each in inputs:
        if isinstance(each, IndexedSlices) and each.dense_shape is None:
            raise TypeError(f"{problem} Got {each!r}. Make it with dense_shape=...")


def add_n(inputs: Any, name: str | None = None) -> Any:
    """Adds all tensors of a list element by element.

    Args:
      inputs: list of tensors or IndexedSlices of one dtype and shape.
      name: the name of the operation in a graph.

    Returns:
      A tensor of that dtype and shape.

    Raises:
      TypeError: `inputs` is no list, or has slices without a dense shape in a graph.
      ValueError: `inputs` is empty.
      InvalidArgumentError, ValueError: shapes differ.
    """
    problem = (
        "Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype "
        "and shape."
    )
    _check_slices(inputs, problem)
    tensors = _tensor_list(inputs, problem)
    if len(tensors) == 1:
        return execute("Identity", (tensors[0],), None, name) if name else tensors[0]
    return execute(ADD_N, (tensors,), None, name)


def accumulate_n(
    inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Any:
    """Adds all tensors of a list element by element; `add_n` with a declared shape and dtype.

    Args:
      inputs: list of tensors of one dtype and shape.
      shape: the shape they have; found out when None.
      tensor_dtype: the dtype they have; checked when not None.
      name: the name of the operation in a graph.

    Returns:
      A tensor of that dtype and shape.

    Raises:
      ValueError: `inputs` is empty, or shapes differ.
      TypeError: the dtype is not `tensor_dtype`.
    """
    problem = "inputs must be a list of at least one Tensor with the same dtype and shape."
    if not isinstance(inputs, (list, tuple)):
        raise ValueError(f"{problem} Got {type(inputs).__name__}. Put the tensors into a list.")
    tensors = _tensor_list(inputs, problem)
    if any(t.dtype is not tensors[0].dtype for t in tensors):
        raise ValueError(f"{problem} Got dtypes {[t.dtype.name for t in tensors]}.")
    if tensor_dtype is not None and as_dtype(tensor_dtype) is not tensors[0].dtype:
        raise TypeError(
            f"The `tensor_dtype` argument is {as_dtype(tensor_dtype)!r}, but `input` is of type "
            f"{tensors[0].dtype!r}. These must be equal. Try casting the input to the desired type."
        )
    known = TensorShape(shape)
    for tensor in tensors:
        known = known.merge_with(tensor.shape)
    if len(tensors) == 1:
        return tensors[0]
    return execute(ACCUMULATE_N, (tensors,), {"shape": known}, name or "AddN")


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """Multiplies a tensor by a scalar.

    Args:
      scalar: a number or tensor of rank 0.
      x: tensor or IndexedSlices of numbers.
      name: the name of the operation in a graph.

    Returns:
      The same kind of value as `x`.

    Raises:
      ValueError: `scalar` is no scalar.
    """
    if hasattr(x, "values") and hasattr(x, "indices"):
        scaled = scalar_mul(scalar, x.values, name)
        return type(x)(scaled, x.indices, x.dense_shape)
    x = convert_to_tensor(x)
    scalar = convert_to_tensor(scalar, dtype=x.dtype.base_dtype)
    if scalar.dims is not None and len(scalar.dims):
        raise ValueError(
            f"The input scalar must be a 0-D value. Received shape {scalar.shape}. "
            "Use tf.multiply to multiply tensors."
        )
    return multiply(scalar, x, name)
