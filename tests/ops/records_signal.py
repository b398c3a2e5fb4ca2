"""Records of Fourier transforms: NumPy's answers, lengths cut and filled up, gradients."""

import numpy as np
from tests.ops.harness import COMPLEX, FLOATS, Failure, Record, case, normal

from penstock import errors
from penstock.core.execute import execute
from penstock.ops import signal_fft as f
from penstock.ops import signal_fft_axes
from penstock.types import dtypes as dt

INVALID = errors.InvalidArgumentError
NEAR = {"complex64": 1e-5, "float32": 1e-5}
SHAPES = {
    1: [(2, 4), (5,), (1,), (0, 3), (2, 0)],
    2: [(3, 4), (2, 1, 3), (0, 3, 2)],
    3: [(2, 3, 4)],
}
LENGTHS = {1: [(4,), (3,), (6,), (1,)], 2: [(3, 4), (2, 5), (4, 2)], 3: [(2, 3, 4), (3, 2, 5)]}


def complex_record(name, count, function, reference):
    axes = tuple(range(-count, 0))
    cases = [case(normal(*s)) for s in SHAPES[count]]

    def expected(x):
        return np.zeros(x.shape, x.dtype) if x.size == 0 else reference(x, axes=axes)

    return Record(
        name,
        cases,
        expected,
        function,
        COMPLEX,
        NEAR,
        differentiable=(0,),
        grad_dtype="complex128",
        errors=[Failure((normal(*([2] * (count - 1))),), "rank", eager=INVALID)],
    )


def real_record(name, count, function):
    axes = tuple(range(-count, 0))
    cases = [case(normal(*s), list(n)) for s in SHAPES[count] if 0 not in s for n in LENGTHS[count]]
    return Record(
        name,
        cases,
        lambda x, lengths: np.fft.rfftn(x, lengths, axes),
        function,
        ("float32",),
        NEAR,
        differentiable=(0,),
        result_dtype="complex64",
        order=2,
    )


def inverse_real_record(name, count, function):
    axes = tuple(range(-count, 0))
    cases = [case(normal(*s), list(n)) for s in SHAPES[count] if 0 not in s for n in LENGTHS[count]]
    return Record(
        name,
        cases,
        lambda x, lengths: np.fft.irfftn(x, lengths, axes),
        function,
        ("complex64",),
        NEAR,
        differentiable=(0,),
        grad_dtype="complex128",
        result_dtype="float32",
        order=1,
    )


def nd_record(name, kind, function):
    text = {"FFTND": "fftn", "IFFTND": "ifftn", "RFFTND": "rfftn", "IRFFTND": "irfftn"}[name]
    sample = normal(2, 3, 4)
    cases = [
        case(sample, [2, 3, 4], [0, 1, 2]),
        case(sample, [3, 5], [2, 0]),
        case(sample, [2], [1]),
    ]
    from_real = kind == "real"
    return Record(
        name,
        cases,
        lambda x, lengths, axes: getattr(np.fft, text)(x, lengths, axes),
        function,
        FLOATS[:1] if from_real else COMPLEX[:1],
        NEAR,
        differentiable=(0,),
        grad_dtype="float64" if from_real else "complex128",
        order=2 if from_real else 1,
        result_dtype={"real": "complex64", "inverse": "float32"}.get(kind),
        errors=[
            Failure((sample, [2], [3]), "axes in", eager=INVALID),
            Failure((sample, [2, 2], [1, 1]), "axes that differ", eager=INVALID),
            Failure((sample, [-1], [1]), "fft_length >= 0", eager=INVALID),
        ],
    )


def resized(x, shape):
    found = np.zeros(shape, x.dtype)
    kept = tuple(slice(0, min(a, b)) for a, b in zip(x.shape, shape, strict=True))
    found[kept] = x[kept]
    return found


def real_gradient(grad, dims, lengths, axes):
    """By the definition: each sample's part in each frequency."""
    (length,), (axis,) = lengths, axes
    waves = np.exp(2j * np.pi * np.outer(np.arange(length), np.arange(grad.shape[axis])) / length)
    return resized(np.real(grad @ waves.T), dims)


def inverse_gradient(grad, dims, lengths, axes):
    (length,), (axis,) = lengths, axes
    spectrum = np.fft.rfft(grad, axis=axis) / length
    factor = np.full(spectrum.shape[axis], 2.0)
    factor[0] = 1
    if length % 2 == 0:
        factor[-1] = 1
    return resized(spectrum * factor, dims)


RECORDS = [
    complex_record("FFT", 1, f.fft, np.fft.fftn),
    complex_record("IFFT", 1, f.ifft, np.fft.ifftn),
    complex_record("FFT2D", 2, f.fft2d, np.fft.fftn),
    complex_record("IFFT2D", 2, f.ifft2d, np.fft.ifftn),
    complex_record("FFT3D", 3, f.fft3d, np.fft.fftn),
    complex_record("IFFT3D", 3, f.ifft3d, np.fft.ifftn),
    real_record("RFFT", 1, f.rfft),
    real_record("RFFT2D", 2, f.rfft2d),
    real_record("RFFT3D", 3, f.rfft3d),
    inverse_real_record("IRFFT", 1, f.irfft),
    inverse_real_record("IRFFT2D", 2, f.irfft2d),
    inverse_real_record("IRFFT3D", 3, f.irfft3d),
    nd_record("FFTND", "complex", signal_fft_axes.fftnd),
    nd_record("IFFTND", "complex", signal_fft_axes.ifftnd),
    nd_record("RFFTND", "real", signal_fft_axes.rfftnd),
    nd_record("IRFFTND", "inverse", signal_fft_axes.irfftnd),
    Record(
        "PenstockRealTransformGrad",
        [case(normal(2, n // 2 + 1), [2, size], [n], [1]) for n, size in ((4, 4), (5, 3), (6, 8))],
        real_gradient,
        lambda g, dims, lengths, axes: execute(
            f.REAL_GRADIENT,
            (g, dims, lengths, axes),
            {"Treal": dt.float64 if g.dtype == dt.complex128 else dt.float32},
        ),
        ("complex64",),
        NEAR,
        differentiable=(0,),
        grad_dtype="complex128",
        result_dtype="float32",
        order=1,
    ),
    Record(
        "PenstockInverseRealTransformGrad",
        [case(normal(2, n), [2, size], [n], [1]) for n, size in ((4, 3), (5, 3), (6, 6))],
        inverse_gradient,
        lambda g, dims, lengths, axes: execute(
            f.INVERSE_GRADIENT,
            (g, dims, lengths, axes),
            {"Tcomplex": dt.complex128 if g.dtype == dt.float64 else dt.complex64},
        ),
        ("float32",),
        NEAR,
        differentiable=(0,),
        result_dtype="complex64",
    ),
    Record(
        "PenstockResizeAxes",
        [case(normal(2, 3), [3, 2]), case(normal(2, 3), [2, 3]), case(normal(0, 3), [1, 1])],
        resized,
        lambda x, dims: execute(signal_fft_axes.RESIZE, (x, dims)),
        (*FLOATS, *COMPLEX),
        differentiable=(0,),
    ),
]
