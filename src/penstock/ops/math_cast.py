"""Changes of dtype: `cast`, `saturate_cast`, `bitcast`, and the parts of complex numbers."""

import warnings
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.composite import IndexedSlices
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jnp, lax
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext, broadcast, same
from penstock.core.tensor import EagerTensor, Tensor
from penstock.ops.composing import composed
from penstock.ops.factories import operand
from penstock.ops.math_arithmetic import reduce_to
from penstock.ops.math_compare import clip_by_value
from penstock.ops.math_elementwise import ABS
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType, as_dtype

Array = Any  # numpy.ndarray or a JAX tracer
COMPLEX_IN = "T: {complex64, complex128} = complex64, Tout: {float, double} = float"

CAST = define_op(
    "Cast(x: SrcT; SrcT: type, DstT: type, Truncate: bool = False) -> y: DstT",
    shape=same,
    doc="Converts values to another dtype; floats go to integers by dropping the fraction.",
)


_NO_NUMBERS = (dt.string, dt.resource, dt.variant)


def _refuse_strings(source: Array, wanted: DType) -> None:
    if source.dtype == object or wanted in _NO_NUMBERS:
        name = "string" if source.dtype == object else dt.from_numpy(source.dtype).name
        raise errors.UnimplementedError(
            None,
            None,
            f"Cast {name} to {wanted.name} is not supported. Use tf.strings.to_number or "
            "tf.strings.as_string.",
        )


@host_kernel(CAST)
def _cast_host(x: Array, *, DstT: DType, Truncate: bool) -> Array:
    _refuse_strings(x, DstT)
    wanted = DstT.numpy_dtype
    if x.dtype.kind == "c" and not DstT.is_complex:
        x = x.real
    if Truncate and x.dtype == np.float32 and DstT is dt.bfloat16:
        return (x.view(np.uint32) >> 16).astype(np.uint16).view(wanted)
    if x.dtype.kind in "fV" and DstT.is_integer and wanted.itemsize < 4:
        return x.astype(np.int64).astype(wanted)
    return x.astype(wanted)


@compiled_kernel(CAST)
def _cast_compiled(xp: Any, x: Array, *, DstT: DType, Truncate: bool) -> Array:
    wanted = DstT.numpy_dtype
    if x.dtype.kind == "c" and not DstT.is_complex:
        x = x.real
    if Truncate and x.dtype == np.float32 and DstT is dt.bfloat16:
        bits = lax.bitcast_convert_type(x, np.uint32) >> 16
        return lax.bitcast_convert_type(bits.astype(np.uint16), wanted)
    if x.dtype.kind in "fV" and DstT.is_integer and wanted.itemsize < 4:
        return x.astype(np.int64).astype(wanted)
    if x.dtype.kind == "b" and (DstT.is_floating or DstT.is_complex):
        # XLA takes a converted bool times NaN, or divided by 0, for 0 where the bool is false.
        return jnp.where(x, np.ones((), wanted), np.zeros((), wanted))
    return x.astype(wanted)


@CAST.gradient
def _cast_gradient(op: Any, grad: Any) -> Any:
    source, target = op.inputs[0].dtype.base_dtype, op.outputs[0].dtype.base_dtype
    usable = all(t.is_floating or t.is_complex for t in (source, target))
    if not usable:
        return None
    if isinstance(grad, IndexedSlices):  # rows of a table stay rows
        values = execute(CAST, (grad.values,), {"DstT": source})
        return IndexedSlices(values, grad.indices, grad.dense_shape)
    return execute(CAST, (grad,), {"DstT": source})


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """Converts a tensor to another dtype.

    Args:
      x: tensor, SparseTensor or IndexedSlices of numbers or bools.
      dtype: the dtype wanted.
      name: the name of the operation in a graph.

    Returns:
      The same kind of value, of dtype `dtype`; `x` itself when it has it already.

    Raises:
      UnimplementedError: from or to string.
    """
    wanted = as_dtype(dtype).base_dtype
    if x.__class__ is EagerTensor and x._dtype is wanted:
        return x
    if hasattr(x, "values") and hasattr(x, "indices"):
        parts = {"indices": x.indices, "values": cast(x.values, wanted, name)}
        return type(x)(**parts, dense_shape=x.dense_shape)
    x = operand(x)
    if x.dtype.is_complex and wanted.is_floating:
        warnings.warn(
            f"casting {x.dtype.name} to {wanted.name} discards the imaginary part; use "
            "tf.math.real to say so",
            stacklevel=2,
        )
    if x.dtype.base_dtype is wanted:
        return convert_to_tensor(x)
    return execute(CAST, (x,), {"DstT": wanted}, name)


@composed("saturate_cast")
def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Any:
    """Converts to another dtype; what does not fit becomes the nearest value that does.

    Args:
      value: tensor of numbers.
      dtype: the dtype wanted, of numbers.
      name: the name of the operation in a graph.

    Returns:
      Tensor of dtype `dtype` and the same shape.

    Raises:
      TypeError: one of the dtypes is bool, or of no numbers.
    """
    value = convert_to_tensor(value)
    wanted = as_dtype(dtype).base_dtype
    source = value.dtype.base_dtype
    if source.is_bool or wanted.is_bool:
        raise TypeError(
            "Cannot find minimum value of bool: saturate_cast takes and gives numbers, got "
            f"{source.name} and {wanted.name}. Use tf.cast."
        )
    if source.is_complex:
        if wanted.is_complex:
            return _saturated_parts(value, wanted, name)
        value = real(value)
        source = value.dtype.base_dtype
    low, high = _common_range(source, wanted)
    if low is not None or high is not None:
        value = clip_by_value(
            value, source.min if low is None else low, source.max if high is None else high
        )
    return cast(value, wanted, name)


def _saturated_parts(value: Tensor, wanted: DType, name: str | None) -> Any:
    """A complex number whose real and imaginary parts are clipped where they may not fit."""
    if wanted.size < value.dtype.size:
        part = wanted.real_dtype
        parts = saturate_cast(real(value), part), saturate_cast(imag(value), part)
        return execute("Complex", parts, {"Tout": wanted}, name)
    return execute(CAST, (value,), {"DstT": wanted}, name)


def _common_range(source: DType, wanted: DType) -> tuple[Any, Any]:
    """Bounds of `wanted` as values of `source`; None where all of `source` fits."""
    wanted = wanted.real_dtype
    always = source.is_floating  # infinities become the last number, whatever fits
    least = _number(wanted.min), _number(source.min)
    most = _number(wanted.max), _number(source.max)
    low = max(least) if always or least[1] < least[0] else None
    high = min(most) if always or most[1] > most[0] else None
    return _inner(low, source, wanted), _inner(high, source, wanted)


def _inner(bound: Any, source: DType, wanted: DType) -> Any:
    """The bound as a value of `source`, the next one inside where that rounds out of `wanted`."""
    if bound is None:
        return None
    numpy_type = source.numpy_dtype.type
    found = numpy_type(_holdable(bound, source))
    inside = _number(wanted.min) <= float(found) <= _number(wanted.max)
    if source.is_floating and not inside:
        found = np.nextafter(found, numpy_type(0), dtype=source.numpy_dtype)
    return found


def _holdable(bound: Any, source: DType) -> Any:
    """What a NumPy type takes: bfloat16 and its kin take no integers beyond int64."""
    return float(bound) if source.is_floating else bound


def _number(bound: Any) -> Any:
    """A bound as a Python number, which compares with others exactly."""
    return bound.item() if isinstance(bound, np.generic) else bound


# bits as another dtype


def _bitcast_shape(c: ShapeContext) -> Dims:
    dims = c.shape(0)
    if dims is None:
        return None
    before, after = c.attr("T").size, c.attr("type").size
    if before == after:
        return dims
    if before > after:
        return (*dims, before // after)
    if not dims or (dims[-1] is not None and dims[-1] != after // before):
        c.fail(
            f"a last axis of {after // before}",
            f"shape {d.text(dims)}: Cannot bitcast from {c.attr('T').name} to "
            f"{c.attr('type').name}",
        )
    return dims[:-1]


BITCAST = define_op(
    "Bitcast(input: T; T: numbertype, type: numbertype) -> output: type",
    shape=_bitcast_shape,
    doc="Reads the same bits as another dtype, splitting or joining elements along a last axis.",
).without_gradient("the bits of a number are no numbers")


@host_kernel(BITCAST, limit=1 << 62)  # a view
def _bitcast_host(x: Array, *, T: DType, type: DType) -> Array:
    x = x if x.flags.c_contiguous else np.ascontiguousarray(x)
    before, after = x.dtype.itemsize, type.numpy_dtype.itemsize
    if before > after:
        return x.reshape(*x.shape, 1).view(type.numpy_dtype)
    if before < after:
        return x.view(type.numpy_dtype).reshape(x.shape[:-1])
    return x.reshape(-1).view(type.numpy_dtype).reshape(x.shape)


@compiled_kernel(BITCAST)
def _bitcast_compiled(x: Array, *, T: DType, type: DType) -> Array:
    return lax.bitcast_convert_type(x, type.numpy_dtype)


def bitcast(input: Any, type: Any, name: str | None = None) -> Any:
    """Reads the same bits as another dtype.

    Args:
      input: tensor of numbers.
      type: the dtype to read them as.
      name: the name of the operation in a graph.

    Returns:
      Tensor of dtype `type`; a smaller dtype adds a last axis, a larger one takes it away.

    Raises:
      InvalidArgumentError, ValueError: the last axis does not make up one element of `type`.
    """
    return execute(BITCAST, (input,), {"type": type}, name)


# complex numbers

COMPLEX = define_op(
    "Complex(real: T, imag: T; T: {float, double} = float, Tout: {complex64, complex128} = "
    "complex64) -> out: Tout",
    shape=broadcast,
    doc="Makes complex numbers of real and imaginary parts.",
)


@kernel(COMPLEX)
def _complex(xp: Any, real: Array, imag: Array) -> Array:
    if xp is np:  # part by part: infinity times 1j has a real part that is no number
        shape = np.broadcast_shapes(real.shape, imag.shape)
        result = np.empty(shape, np.complex64 if imag.dtype == np.float32 else np.complex128)
        result.real, result.imag = real, imag
        return result
    return lax.complex(
        *(xp.broadcast_to(p, np.broadcast_shapes(real.shape, imag.shape)) for p in (real, imag))
    )


@COMPLEX.gradient
def _complex_gradient(op: Any, grad: Any) -> list[Any]:
    return [reduce_to(op, real(grad), 0), reduce_to(op, imag(grad), 1)]


REAL = define_op(
    f"Real(input: T; {COMPLEX_IN}) -> output: Tout", shape=same, doc="Returns the real parts."
)
IMAG = define_op(
    f"Imag(input: T; {COMPLEX_IN}) -> output: Tout", shape=same, doc="Returns the imaginary parts."
)
ANGLE = define_op(
    f"Angle(input: T; {COMPLEX_IN}) -> output: Tout",
    shape=same,
    doc="Returns the angles of complex numbers, in radians.",
)


def _magnitude_shape(c: ShapeContext) -> Dims:
    given, wanted = c.attr("T"), c.attr("Tout")
    if given.real_dtype is not wanted:
        c.fail(f"Tout={given.real_dtype.name} for {given.name}", wanted.name, "Cast the result.")
    return c.shape(0)


COMPLEX_ABS = define_op(
    f"ComplexAbs(x: T; {COMPLEX_IN}) -> y: Tout",
    shape=_magnitude_shape,
    doc="Returns the absolute values of complex numbers.",
)
CONJ = define_op(
    "Conj(input: T; T: {complex64, complex128, variant} = complex64) -> output: T",
    shape=same,
    doc="Returns the complex conjugates.",
)


@kernel(REAL)
def _real(xp: Any, x: Array) -> Array:
    return xp.real(x)


@kernel(IMAG)
def _imag(xp: Any, x: Array) -> Array:
    return xp.imag(x)


@kernel(ANGLE)
def _angle(xp: Any, x: Array) -> Array:
    return xp.angle(x)


@kernel(COMPLEX_ABS)
def _complex_abs(xp: Any, x: Array) -> Array:
    return xp.abs(x)


@kernel(CONJ, types={"T": ["complex64", "complex128"]})
def _conj(xp: Any, x: Array) -> Array:
    return xp.conj(x)


@REAL.gradient
def _real_gradient(op: Any, grad: Any) -> Any:
    return complex(grad, _zero(grad))


@IMAG.gradient
def _imag_gradient(op: Any, grad: Any) -> Any:
    return complex(_zero(grad), grad)


def _zero(tensor: Any) -> Any:
    return convert_to_tensor(0, tensor.dtype)


def _over_abs(x: Any) -> Any:
    """`x / abs(x)`, and 0 where x is 0."""
    size = complex(execute(COMPLEX_ABS, (x,), {"Tout": x.dtype.real_dtype}), _real_zero(x))
    return execute("DivNoNan", (x, size))


def _real_zero(x: Any) -> Any:
    return convert_to_tensor(0, x.dtype.real_dtype)


@COMPLEX_ABS.gradient
def _complex_abs_gradient(op: Any, grad: Any) -> Any:
    return execute("Mul", (complex(grad, _zero(grad)), _over_abs(op.inputs[0])))


@ANGLE.gradient
def _angle_gradient(op: Any, grad: Any) -> Any:
    x = op.inputs[0]
    direction = execute("Reciprocal", (conj(x),))  # x / abs(x)**2
    return execute("Mul", (complex(_zero(grad), grad), direction))


@CONJ.gradient
def _conj_gradient(op: Any, grad: Any) -> Any:
    return conj(grad)


def complex(real: Any, imag: Any, name: str | None = None) -> Any:
    """Makes complex numbers of real and imaginary parts.

    Args:
      real: tensor float32 or float64.
      imag: tensor of the same dtype, of a shape that broadcasts.
      name: the name of the operation in a graph.

    Returns:
      Tensor complex64 or complex128 of the broadcast shape.

    Raises:
      TypeError: the dtypes differ or are others.
    """
    real, imag = convert_to_tensor(real), convert_to_tensor(imag)
    kinds = (real.dtype.base_dtype, imag.dtype.base_dtype)
    if kinds == (dt.float32, dt.float32):
        wanted = dt.complex64
    elif kinds == (dt.float64, dt.float64):
        wanted = dt.complex128
    else:
        raise TypeError(
            f"The `real` and `imag` components have incorrect types: {kinds[0].name} "
            f"{kinds[1].name}. They must be consistent, and one of float32, float64. Use tf.cast."
        )
    return execute(COMPLEX, (real, imag), {"Tout": wanted}, name)


def real(input: Any, name: str | None = None) -> Any:
    """Returns the real part.

    Args:
      input: tensor of numbers, any shape.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the real dtype; `input` itself when it is real already.

    Raises:
      TypeError: `input` is not of numbers.
    """
    input = convert_to_tensor(input)
    if input.dtype.is_complex:
        return execute(REAL, (input,), {"Tout": input.dtype.real_dtype}, name)
    if not input.dtype.is_quantized:
        _require_numbers(input)
    return input


def imag(input: Any, name: str | None = None) -> Any:
    """Returns the imaginary part.

    Args:
      input: tensor of numbers, any shape.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the real dtype; zeros when `input` is real.
    """
    input = convert_to_tensor(input)
    if input.dtype.is_complex:
        return execute(IMAG, (input,), {"Tout": input.dtype.real_dtype}, name)
    return execute("ZerosLike", (input,))


def angle(input: Any, name: str | None = None) -> Any:
    """Returns the angle in the complex plane: 0 or pi for real numbers.

    Args:
      input: tensor of floating or complex numbers, any shape.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the real dtype, in radians.
    """
    input = convert_to_tensor(input)
    if input.dtype.is_complex:
        return execute(ANGLE, (input,), {"Tout": input.dtype.real_dtype}, name)
    if input.dtype is dt.string:
        _require_numbers(input)
    zeros = execute("ZerosLike", (input,))
    half_turn = execute(
        "Mul", (execute("OnesLike", (input,)), convert_to_tensor(np.pi, input.dtype))
    )
    return execute("SelectV2", (execute("Less", (input, zeros)), half_turn, zeros))


def conj(x: Any, name: str | None = None) -> Any:
    """Returns the complex conjugate.

    Args:
      x: tensor of numbers, any shape.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape; `x` itself when it is real.

    Raises:
      TypeError: `x` is not of numbers.
    """
    x = convert_to_tensor(x)
    if x.dtype.is_complex or x.dtype is dt.variant:
        return execute(CONJ, (x,), None, name)
    _require_numbers(x)
    return x


def _require_numbers(x: Any) -> None:
    if not (x.dtype.is_floating or x.dtype.is_integer):
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}.")


def abs(x: Any, name: str | None = None) -> Any:
    """Returns the absolute value.

    Args:
      x: tensor of signed, floating or complex numbers, any shape.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same shape and dtype; of the real dtype when `x` is complex.
    """
    x = convert_to_tensor(x)
    if x.dtype.is_complex:
        return execute(COMPLEX_ABS, (x,), {"Tout": x.dtype.real_dtype}, name or "Abs")
    return execute(ABS, (x,), None, name)


# casts by name, of compat.v1


def _define_to(name: str, op_name: str, wanted: DType) -> Any:
    def to(x: Any, name: str = op_name) -> Any:
        return cast(x, wanted, name)

    to.__name__ = to.__qualname__ = name
    to.__doc__ = (
        f"Converts a tensor to {wanted.name}.\n\nArgs:\n  x: tensor of numbers or bools.\n"
        f"  name: the name of the operation in a graph.\n\nReturns:\n  Tensor {wanted.name}.\n"
    )
    return to


to_float = _define_to("to_float", "ToFloat", dt.float32)
to_double = _define_to("to_double", "ToDouble", dt.float64)
to_int32 = _define_to("to_int32", "ToInt32", dt.int32)
to_int64 = _define_to("to_int64", "ToInt64", dt.int64)
to_bfloat16 = _define_to("to_bfloat16", "ToBFloat16", dt.bfloat16)
to_complex64 = _define_to("to_complex64", "ToComplex64", dt.complex64)
to_complex128 = _define_to("to_complex128", "ToComplex128", dt.complex128)
