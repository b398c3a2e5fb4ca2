"""Discrete Fourier transforms over any axes: fftnd, rfftnd and their inverses."""

from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.graph.standard_forms import standard_form
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.composing import scope
from penstock.ops.math_arithmetic import multiply
from penstock.ops.math_cast import cast
from penstock.ops.math_reduce import reduce_prod
from penstock.ops.signal_fft import (
    COMPLEX_OF,
    REAL_OF,
    REAL_TYPES,
    complex_input,
    half_length,
    inverse_real_gradient,
    known_lengths,
    plain_numbers,
    real_gradient,
    real_input,
    resized,
)
from penstock.ops.signal_fft_forms import resized_to
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray, jax.Array or a tracer


def _axes(c: ShapeContext) -> list[int] | None:
    dims, axes = c.shape(0), c.constant(2)
    if dims is None or axes is None:
        return None
    found = []
    for axis in axes:
        if not -len(dims) <= axis < len(dims):
            c.fail(
                f"axes in [{-len(dims)}, {len(dims)})",
                f"{[int(a) for a in axes]}",
                "Name dimensions of the input.",
            )
        found.append(int(axis) % len(dims))
    if len(set(found)) < len(found):
        c.fail("axes that differ", f"{found}", "Name each dimension once.")
    return found


def _nd_shape(kind: str) -> Any:
    def rule(c: ShapeContext) -> Dims:
        dims, axes = c.shape(0), _axes(c)
        if dims is None:
            return None
        if axes is None:
            return (None,) * len(dims)
        lengths = known_lengths(c, len(axes))
        assert lengths is not None
        found = list(dims)
        for axis, length in zip(axes, lengths, strict=True):
            found[axis] = length
        if axes and kind == "real":
            found[axes[-1]] = half_length(lengths[-1])
        return tuple(found)

    return rule


def _define_nd(name: str, kind: str, text: str, doc: str) -> OpDef:
    op = define_op(
        f"{name}{text}",
        shape=_nd_shape(kind),
        host_inputs=("fft_length", "axes"),
        doc=doc,
    )

    def transform(xp: Any, x: Array, fft_length: Array, axes: Array, result: DType) -> Array:
        lengths, places = plain_numbers(fft_length, axes)
        if 0 in lengths or 0 in x.shape:
            return xp.zeros(_nd_dims(x.shape, lengths, places, kind), result.numpy_dtype)
        found = getattr(xp.fft, f"{name[:-2].lower()}n")(x, s=lengths, axes=places)
        return found.astype(result.numpy_dtype)

    if kind == "inverse":

        @kernel(op)
        def run_to_real(
            xp: Any, x: Array, fft_length: Array, axes: Array, *, Treal: DType
        ) -> Array:
            return transform(xp, x, fft_length, axes, Treal)

    else:

        @kernel(op)
        def run_to_complex(
            xp: Any, x: Array, fft_length: Array, axes: Array, *, Tcomplex: DType
        ) -> Array:
            return transform(xp, x, fft_length, axes, Tcomplex)

    return op


def _nd_dims(
    dims: tuple[int, ...], lengths: tuple[int, ...], axes: tuple[int, ...], kind: str
) -> tuple[int, ...]:
    found = list(dims)
    for axis, length in zip(axes, lengths, strict=True):
        found[axis] = length
    if axes and kind == "real":
        found[axes[-1]] = half_length(lengths[-1]) or 0
    return tuple(found)


_COMPLEX_TEXT = (
    "(input: Tcomplex, fft_length: int32, axes: int32; Tcomplex: {complex64, complex128} = "
    "complex64) -> output: Tcomplex"
)
FFTND = _define_nd(
    "FFTND", "complex", _COMPLEX_TEXT, "The discrete Fourier transform over any axes."
)
IFFTND = _define_nd(
    "IFFTND", "complex", _COMPLEX_TEXT, "The inverse discrete Fourier transform over any axes."
)
RFFTND = _define_nd(
    "RFFTND",
    "real",
    f"(input: Treal, fft_length: int32, axes: int32; {REAL_TYPES}) -> output: Tcomplex",
    "Half of the discrete Fourier transform of real signals over any axes.",
)
IRFFTND = _define_nd(
    "IRFFTND",
    "inverse",
    f"(input: Tcomplex, fft_length: int32, axes: int32; {REAL_TYPES}) -> output: Treal",
    "Real signals from half of their Fourier transform over any axes.",
)


# Only old files have it; gradients are cut and filled up by `resized_to`.
RESIZE = define_op(
    "PenstockResizeAxes(input: T, shape: int32; T: {complex64, complex128, float, double}) -> "
    "output: T",
    shape=lambda c: c.shape_value(1),
    host_inputs=("shape",),
    doc="The input cut, or filled up with zeros, to a shape.",
)


@kernel(RESIZE)
def _resize(xp: Any, x: Array, shape: Array) -> Array:
    return resized(xp, x, tuple(int(n) for n in shape))


@RESIZE.gradient
def _resize_gradient(op: Any, grad: Any) -> list[Any]:
    return [resized_to(grad, shape_of(op.inputs[0])), None]


standard_form(RESIZE, in_place=True)(resized_to)


def _complex_nd_gradient(op: Any, grad: Any, inverse: bool) -> list[Any]:
    x, lengths, axes = op.inputs
    size = cast(reduce_prod(cast(lengths, dt.float64)), dt.float64)
    back = execute(FFTND if inverse else IFFTND, (grad, lengths, axes))
    scaled = multiply(back, cast(1.0 / size if inverse else size, grad.dtype))
    return [resized_to(scaled, shape_of(x)), None, None]


@FFTND.gradient
def _fftnd_gradient(op: Any, grad: Any) -> list[Any]:
    return _complex_nd_gradient(op, grad, inverse=False)


@IFFTND.gradient
def _ifftnd_gradient(op: Any, grad: Any) -> list[Any]:
    return _complex_nd_gradient(op, grad, inverse=True)


@RFFTND.gradient
def _rfftnd_gradient(op: Any, grad: Any) -> list[Any]:
    x, lengths, axes = op.inputs
    return [real_gradient(grad, x, lengths, axes), None, None]


@IRFFTND.gradient
def _irfftnd_gradient(op: Any, grad: Any) -> list[Any]:
    x, lengths, axes = op.inputs
    return [inverse_real_gradient(grad, x, lengths, axes), None, None]


_ND_DOC = """{doc}

Args:
  input_tensor: {dtypes}.
  fft_length: the number of samples along each of `axes`; signals are cut or filled up with zeros.
  axes: the axes to transform; the last ones, or all, by default.
  norm: "backward" divides the inverse by the number of samples, "forward" the other one, "ortho"
    both by its root. "backward" by default.
  name: the name of the operation in a graph.

Returns:
  Tensor of {result}.

Raises:
  ValueError, InvalidArgumentError: axes repeat or are out of range, or there is no such norm.
"""


def _nd_function(op: OpDef, name: str, kind: str) -> Any:
    inverse = name.startswith("i")

    def transform(
        input_tensor: Any,
        fft_length: Any = None,
        axes: Any = None,
        norm: str | None = None,
        name: str | None = None,
    ) -> Any:
        if norm not in (None, "backward", "ortho", "forward"):
            raise ValueError(
                f"Invalid `norm`: expected None, 'backward', 'ortho' or 'forward', got {norm!r}."
            )
        with scope(name, op.name.lower()):
            x = real_input(input_tensor) if kind == "real" else complex_input(input_tensor)
            places = _known_axes(x, fft_length, axes)
            lengths = (
                _nd_lengths(x, places, kind == "inverse") if fft_length is None else fft_length
            )
            lengths = convert_to_tensor(lengths, dt.int32)
            attrs = {"Treal": REAL_OF[x.dtype]} if kind == "inverse" else None
            if kind == "real":
                attrs = {"Tcomplex": COMPLEX_OF[x.dtype]}
            found = execute(op, (x, lengths, np.array(places, np.int32)), attrs)
            return _normed(found, lengths, norm, inverse)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = _ND_DOC.format(
        doc=op.doc,
        dtypes="float32 or float64" if kind == "real" else "complex64 or complex128",
        result="float32 or float64" if kind == "inverse" else "complex64 or complex128",
    )
    return transform


def _known_axes(x: Any, lengths: Any, axes: Any) -> list[int]:
    if x.dims is None and (axes is None or any(int(a) < 0 for a in axes)):
        raise ValueError(
            "A transform over the last axes needs an input of known rank. Set it with"
            " tf.ensure_shape, or name the axes from the front."
        )
    if x.dims is None and lengths is None:
        raise ValueError(
            "A transform of an input of unknown rank needs fft_length. Pass it, or set the rank"
            " with tf.ensure_shape."
        )
    if x.dims is None:
        return [int(a) for a in axes]
    rank = len(x.dims)
    if axes is not None and lengths is None and not all(-rank <= int(a) < rank for a in axes):
        raise ValueError(
            f"A transform of a tensor of rank {rank} expected axes from {-rank} to {rank - 1}, got"
            f" {list(axes)}. Count them from 0."
        )
    if axes is None:
        count = rank if lengths is None else len(lengths)
        return list(range(rank - count, rank))
    return [int(a) % rank if -rank <= int(a) < rank else int(a) for a in axes]


def _nd_lengths(x: Any, axes: list[int], inverse: bool) -> Any:
    if not axes:
        return np.zeros(0, np.int32)
    sizes = shape_of(x)
    chosen = [x.dims[a] if x.dims[a] is not None else sizes[a] for a in axes]
    if inverse:
        chosen[-1] = execute("Mul", (np.int32(2), execute("Sub", (chosen[-1], np.int32(1)))))
    return chosen


def _normed(found: Any, lengths: Any, norm: str | None, inverse: bool) -> Any:
    if norm in (None, "backward"):
        return found
    count = reduce_prod(cast(lengths, dt.float64))
    power = {"ortho": 0.5, "forward": 1.0}[norm]
    factor = execute("Pow", (count, convert_to_tensor(power if inverse else -power, dt.float64)))
    return multiply(found, cast(factor, found.dtype))


fftnd = _nd_function(FFTND, "fftnd", "complex")
ifftnd = _nd_function(IFFTND, "ifftnd", "complex")
rfftnd = _nd_function(RFFTND, "rfftnd", "real")
irfftnd = _nd_function(IRFFTND, "irfftnd", "inverse")
