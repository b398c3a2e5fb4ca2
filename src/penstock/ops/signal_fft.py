"""Discrete Fourier transforms over the innermost one, two or three dimensions.

Transforms of real signals keep the half of the spectrum that the other half mirrors. Gradients of
these count each mirrored frequency twice. Sums are not scaled; the inverse divides by their length.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core import fourier
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.graph.standard_forms import standard_form
from penstock.ops import signal_fft_forms
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.composing import scope
from penstock.ops.factories import is_variable
from penstock.ops.math_arithmetic import multiply
from penstock.ops.math_cast import cast
from penstock.ops.math_reduce import reduce_prod
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray, jax.Array or a tracer
_WORDS = {1: "innermost dimension", 2: "two innermost dimensions", 3: "three innermost dimensions"}


def _inner(count: int) -> tuple[int, ...]:
    return tuple(range(-count, 0))


def _check_rank(c: ShapeContext, count: int) -> Dims:
    dims = c.shape(0)
    if dims is not None and len(dims) < count:
        known = c.says("", f": Shape must be at least rank {count} but is rank {len(dims)}")
        c.fail(
            f"an input of rank at least {count}",
            f"shape {d.text(dims)}{known}",
            "Input must have rank of at least that; add dimensions with tf.reshape.",
        )
    return dims


def _other_count(c: ShapeContext, given: Dims, count: int | None) -> str:
    """What a `fft_length` of a wrong shape is known by."""
    if given is None or len(given) != 1:
        return f"Shape must be rank 1 but is rank {len(given or ())}"
    return c.says(
        f"fft_length must have shape [{count}]", f"Dimension must be {count} but is {given[0]}"
    )


def known_lengths(c: ShapeContext, count: int | None) -> list[int | None] | None:
    """The `fft_length` input as far as it is known; None when not even its size is."""
    given = c.shape(1)
    wrong = given is not None and (
        len(given) != 1 or (count is not None and given[0] not in (None, count))
    )
    if wrong:
        c.fail(
            f"fft_length as a vector of {count if count is not None else 'one number an axis'}",
            f"shape {d.text(given)}: {_other_count(c, given, count)}",
            "Give a length for each transformed dimension.",
        )
    known = c.constant(1)
    if known is None:
        return None if count is None else [None] * count
    for i, length in enumerate(known):
        if length < 0:
            c.fail(
                "fft_length >= 0",
                f"{[int(n) for n in known]}: fft_length[{i}] must >= 0, but got: {int(length)}",
                "Lengths count samples.",
            )
    return [int(n) for n in known]


# ---- complex transforms


def _define_complex(name: str, count: int, inverse: bool) -> OpDef:
    words = "The inverse" if inverse else "The"
    op = define_op(
        f"{name}(input: Tcomplex; Tcomplex: {{complex64, complex128}} = complex64) -> output: "
        "Tcomplex",
        shape=lambda c: _check_rank(c, count),
        doc=f"{words} discrete Fourier transform over the {_WORDS[count]}.",
    )

    @kernel(op)
    def run(xp: Any, x: Array) -> Array:
        if 0 in x.shape:
            return xp.zeros(x.shape, x.dtype)
        if xp is np:
            along = fourier.ifft if inverse else fourier.fft
            for axis in range(-1, -count - 1, -1):
                x = along(x, axis)
            return x
        transform = xp.fft.ifftn if inverse else xp.fft.fftn
        return transform(x, axes=_inner(count))

    @op.gradient
    def gradient(op: Any, grad: Any) -> Any:
        other = execute(name[1:] if inverse else f"I{name}", (grad,))
        size = _count_of(op.inputs[0], count)
        factor = cast(1.0 / size if inverse else size, grad.dtype)
        return multiply(other, factor)

    return op


def _count_of(x: Any, count: int) -> Any:
    """The number of samples that a transform over the innermost dimensions sums, float64."""
    if x.dims is not None and None not in x.dims[-count:]:
        return convert_to_tensor(float(np.prod(x.dims[-count:])), dt.float64)
    return cast(reduce_prod(shape_of(x)[-count:]), dt.float64)


FFT = _define_complex("FFT", 1, inverse=False)
IFFT = _define_complex("IFFT", 1, inverse=True)
FFT2D = _define_complex("FFT2D", 2, inverse=False)
IFFT2D = _define_complex("IFFT2D", 2, inverse=True)
FFT3D = _define_complex("FFT3D", 3, inverse=False)
IFFT3D = _define_complex("IFFT3D", 3, inverse=True)


# ---- transforms of real signals

REAL_TYPES = "Treal: {float, double} = float, Tcomplex: {complex64, complex128} = complex64"


def half_length(length: int | None) -> int | None:
    """How many frequencies are kept of a real signal of this length; None where it is unknown."""
    return None if length is None else length // 2 + 1 if length > 0 else 0


def _real_output(dims: Dims, lengths: Sequence[int | None], inverse: bool) -> Dims:
    if dims is None:
        return None
    last = lengths[-1] if inverse else half_length(lengths[-1])
    return (*dims[: len(dims) - len(lengths)], *lengths[:-1], last)


def _one_precision(c: ShapeContext) -> None:
    real, transformed = c.attr("Treal"), c.attr("Tcomplex")
    if transformed.real_dtype is not real:
        c.fail(
            "Treal and Tcomplex of one precision",
            f"{real.name} and {transformed.name}",
            "Cast the signal.",
        )


def _define_real(name: str, count: int) -> OpDef:
    def shape(c: ShapeContext) -> Dims:
        dims = _check_rank(c, count)
        lengths = known_lengths(c, count)
        assert lengths is not None
        _one_precision(c)
        return _real_output(dims, lengths, inverse=False)

    op = define_op(
        f"{name}(input: Treal, fft_length: int32; {REAL_TYPES}) -> output: Tcomplex",
        shape=shape,
        host_inputs=("fft_length",),
        doc=f"Half of the discrete Fourier transform of real signals over the {_WORDS[count]}.",
    )

    @kernel(op)
    def run(xp: Any, x: Array, fft_length: Array, *, Tcomplex: DType) -> Array:
        lengths = tuple(int(n) for n in fft_length)
        if 0 in lengths or 0 in x.shape:
            empty = _real_output(x.shape, lengths, inverse=False)
            return xp.zeros(empty, Tcomplex.numpy_dtype)
        if xp is np:
            found = fourier.rfft(x, lengths[-1])
            for axis in range(-2, -count - 1, -1):
                found = fourier.fft(found, axis, lengths[axis])
        else:
            found = xp.fft.rfftn(x, s=lengths, axes=_inner(count))
        return found.astype(Tcomplex.numpy_dtype)

    @op.gradient
    def gradient(op: Any, grad: Any) -> list[Any]:
        x, lengths = op.inputs
        return [real_gradient(grad, x, lengths, _inner(count)), None]

    return op


def _define_inverse_real(name: str, count: int) -> OpDef:
    def shape(c: ShapeContext) -> Dims:
        dims = _check_rank(c, count)
        lengths = known_lengths(c, count)
        assert lengths is not None
        _one_precision(c)
        return _real_output(dims, lengths, inverse=True)

    op = define_op(
        f"{name}(input: Tcomplex, fft_length: int32; {REAL_TYPES}) -> output: Treal",
        shape=shape,
        host_inputs=("fft_length",),
        doc=f"Real signals from half of their Fourier transform over the {_WORDS[count]}.",
    )

    @kernel(op)
    def run(xp: Any, x: Array, fft_length: Array, *, Treal: DType) -> Array:
        lengths = tuple(int(n) for n in fft_length)
        if 0 in lengths or 0 in x.shape:
            return xp.zeros(_real_output(x.shape, lengths, inverse=True), Treal.numpy_dtype)
        if xp is np:
            for axis in range(-count, -1):
                x = fourier.ifft(x, axis, lengths[axis])
            found = fourier.irfft(x, lengths[-1])
        else:
            found = xp.fft.irfftn(x, s=lengths, axes=_inner(count))
        return found.astype(Treal.numpy_dtype)

    @op.gradient
    def gradient(op: Any, grad: Any) -> list[Any]:
        x, lengths = op.inputs
        return [inverse_real_gradient(grad, x, lengths, _inner(count)), None]

    return op


RFFT = _define_real("RFFT", 1)
RFFT2D = _define_real("RFFT2D", 2)
RFFT3D = _define_real("RFFT3D", 3)
IRFFT = _define_inverse_real("IRFFT", 1)
IRFFT2D = _define_inverse_real("IRFFT2D", 2)
IRFFT3D = _define_inverse_real("IRFFT3D", 3)


for _op in (RFFT, RFFT2D, RFFT3D, IRFFT, IRFFT2D, IRFFT3D):
    _attach = standard_form(_op, when=signal_fft_forms.may_be_short)
    _attach(signal_fft_forms.transform_filled_up(_op.name))


# ---- gradients of the real ones: operations of ours, whose own gradients are the transforms

REAL_GRADIENT = define_op(
    "PenstockRealTransformGrad(grad: Tcomplex, input_shape: int32, fft_length: int32, axes: int32; "
    f"{REAL_TYPES}) -> output: Treal",
    shape=lambda c: c.shape_value(1),
    host_inputs=("input_shape", "fft_length", "axes"),
    doc="What flows back through the transform of real signals: the sum of the frequencies' waves.",
)


@kernel(REAL_GRADIENT)
def _run_real_gradient(
    xp: Any, grad: Array, input_shape: Array, fft_length: Array, axes: Array, *, Treal: DType
) -> Array:
    dims = tuple(int(n) for n in input_shape)
    if 0 in grad.shape or 0 in dims:
        return xp.zeros(dims, Treal.numpy_dtype)
    lengths, places = plain_numbers(fft_length, axes)
    widths = [(0, 0)] * grad.ndim
    widths[places[-1]] = (0, lengths[-1] - grad.shape[places[-1]])
    # The waves of the frequencies that are there, summed: an inverse transform without its scale.
    waves = xp.fft.ifftn(xp.pad(grad, widths), axes=places) * float(np.prod(lengths))
    return resized(xp, waves.real, dims).astype(Treal.numpy_dtype)


standard_form(REAL_GRADIENT)(signal_fft_forms.real_gradient)


@REAL_GRADIENT.gradient
def _real_gradient_gradient(op: Any, grad: Any) -> list[Any]:
    _, _, lengths, axes = op.inputs
    attrs = {"Tcomplex": op.inputs[0].dtype}
    return [signal_fft_forms.transform("RFFT", grad, lengths, axes, attrs), None, None, None]


def plain_numbers(lengths: Array, axes: Array) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Both vectors as tuples of Python integers."""
    return tuple(int(n) for n in lengths), tuple(int(a) for a in axes)


def resized(xp: Any, x: Array, dims: Sequence[int]) -> Array:
    """`x` cut, or filled up with zeros, to a shape."""
    x = x[tuple(slice(0, n) for n in dims)]
    missing = [(0, n - m) for n, m in zip(dims, x.shape, strict=True)]
    return xp.pad(x, missing) if any(after for _, after in missing) else x


def real_gradient(grad: Any, x: Any, lengths: Any, axes: Any) -> Any:
    """The gradient of a transform of real signals with respect to the signals `x`."""
    attrs = {"Treal": x.dtype}
    return execute(REAL_GRADIENT, (grad, shape_of(x), lengths, axes), attrs)


INVERSE_GRADIENT = define_op(
    "PenstockInverseRealTransformGrad(grad: Treal, input_shape: int32, fft_length: int32, "
    f"axes: int32; {REAL_TYPES}) -> output: Tcomplex",
    shape=lambda c: c.shape_value(1),
    host_inputs=("input_shape", "fft_length", "axes"),
    doc="What flows back through the transform to real signals: mirrored frequencies count twice.",
)


@kernel(INVERSE_GRADIENT)
def _run_inverse_gradient(
    xp: Any, grad: Array, input_shape: Array, fft_length: Array, axes: Array, *, Tcomplex: DType
) -> Array:
    dims = tuple(int(n) for n in input_shape)
    if 0 in grad.shape or 0 in dims:
        return xp.zeros(dims, Tcomplex.numpy_dtype)
    lengths, places = plain_numbers(fft_length, axes)
    spectrum = xp.fft.rfftn(grad, s=lengths, axes=places) / float(np.prod(lengths))
    kept = spectrum.shape[places[-1]]
    twice = np.full(kept, 2.0)
    twice[0] = 1.0
    if lengths[-1] % 2 == 0:
        twice[-1] = 1.0
    along = [1] * grad.ndim
    along[places[-1]] = kept
    spectrum = (spectrum * twice.reshape(along)).astype(Tcomplex.numpy_dtype)
    return resized(xp, spectrum, dims)


standard_form(INVERSE_GRADIENT)(signal_fft_forms.inverse_real_gradient)


@INVERSE_GRADIENT.gradient
def _inverse_gradient_gradient(op: Any, grad: Any) -> list[Any]:
    _, _, lengths, axes = op.inputs
    attrs = {"Treal": op.inputs[0].dtype}
    return [signal_fft_forms.transform("IRFFT", grad, lengths, axes, attrs), None, None, None]


def inverse_real_gradient(grad: Any, x: Any, lengths: Any, axes: Any) -> Any:
    """The gradient of a transform back to real signals with respect to the spectrum `x`."""
    attrs = {"Tcomplex": x.dtype}
    return execute(INVERSE_GRADIENT, (grad, shape_of(x), lengths, axes), attrs)


# ---- public functions


def _complex_function(op: OpDef, name: str, inverse: bool, count: int) -> Any:
    def transform(input: Any, name: str | None = None) -> Any:
        if not isinstance(input, Tensor) and not is_variable(input):
            input = convert_to_tensor(input)  # complex128 if it holds Python's complex numbers
            if input.dtype.is_floating or input.dtype.is_integer:
                input = cast(input, dt.complex64)
        return execute(op, (input,), None, name)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = (
        f"{op.doc}\n\n"
        "Args:\n"
        f"  input: complex64 or complex128, of rank {count} or more.\n"
        "  name: the name of the operation in a graph.\n\n"
        "Returns:\n"
        "  Tensor of the same dtype and shape"
        f"{', divided by the number of samples' if inverse else ''}.\n\n"
        "Raises:\n  ValueError, InvalidArgumentError: the rank is too small.\n"
    )
    return transform


fft = _complex_function(FFT, "fft", False, 1)
ifft = _complex_function(IFFT, "ifft", True, 1)
fft2d = _complex_function(FFT2D, "fft2d", False, 2)
ifft2d = _complex_function(IFFT2D, "ifft2d", True, 2)
fft3d = _complex_function(FFT3D, "fft3d", False, 3)
ifft3d = _complex_function(IFFT3D, "ifft3d", True, 3)

_REAL_DOC = """{doc}

Args:
  input_tensor: {dtypes}, of rank {count} or more.
  fft_length: the number of samples in each transformed dimension, int32[{count}]; signals are cut
    or filled up with zeros. {default}
  name: the name of the operation in a graph.

Returns:
  Tensor of {result}.

Raises:
  ValueError, InvalidArgumentError: the rank is too small, or the length no vector of {count}.
"""


def _real_function(op: OpDef, name: str, count: int, inverse: bool) -> Any:
    def transform(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Any:
        with scope(name, op.name.lower()) as full:
            x = complex_input(input_tensor) if inverse else real_input(input_tensor)
            x.shape.with_rank_at_least(count)
            lengths = _default_lengths(x, count, inverse) if fft_length is None else fft_length
            lengths = convert_to_tensor(lengths, dt.int32)
            attrs = {"Treal": REAL_OF[x.dtype]} if inverse else {"Tcomplex": COMPLEX_OF[x.dtype]}
            return execute(op, (x, lengths), attrs, full)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = _REAL_DOC.format(
        doc=op.doc,
        count=count,
        dtypes="complex64 or complex128" if inverse else "float32 or float64",
        default="By default as many as the input stands for; twice its size less 2 along the last."
        if inverse
        else "By default the input's size.",
        result="float32 or float64 with `fft_length` samples"
        if inverse
        else "complex64 or complex128 with `fft_length / 2 + 1` frequencies in the last dimension",
    )
    return transform


COMPLEX_OF = {dt.float32: dt.complex64, dt.float64: dt.complex128}
REAL_OF = {v: k for k, v in COMPLEX_OF.items()}


def real_input(value: Any) -> Any:
    """`value` as a tensor of float32 or float64."""
    x = convert_to_tensor(value, dtype_hint=dt.float32)
    if x.dtype not in COMPLEX_OF:
        if isinstance(value, Tensor):
            raise ValueError(
                f"A transform of real signals expected float32 or float64, got {x.dtype.name}."
                " Cast it with tf.cast."
            )
        x = cast(x, dt.float32)
    return x


def complex_input(value: Any) -> Any:
    """`value` as a tensor of complex64 or complex128."""
    x = convert_to_tensor(value, dtype_hint=dt.complex64)
    if x.dtype in REAL_OF:
        return x
    if isinstance(value, Tensor):
        raise ValueError(
            f"A transform back to real signals expected complex64 or complex128, got {x.dtype.name}"
            ". Cast it with tf.cast."
        )
    return cast(x, dt.complex64)


def _default_lengths(x: Any, count: int, inverse: bool) -> Any:
    sizes = shape_of(x)[-count:]
    if not inverse:
        return sizes
    if x.dims is not None and None not in x.dims[-count:]:
        known = [int(n) for n in x.dims[-count:]]
        return [*known[:-1], max(0, 2 * (known[-1] - 1))]
    doubled = np.array([1] * (count - 1) + [2], np.int32)
    less = np.array([0] * (count - 1) + [2], np.int32)
    return execute("Maximum", (execute("Sub", (multiply(sizes, doubled), less)), np.int32(0)))


rfft = _real_function(RFFT, "rfft", 1, inverse=False)
rfft2d = _real_function(RFFT2D, "rfft2d", 2, inverse=False)
rfft3d = _real_function(RFFT3D, "rfft3d", 3, inverse=False)
irfft = _real_function(IRFFT, "irfft", 1, inverse=True)
irfft2d = _real_function(IRFFT2D, "irfft2d", 2, inverse=True)
irfft3d = _real_function(IRFFT3D, "irfft3d", 3, inverse=True)
