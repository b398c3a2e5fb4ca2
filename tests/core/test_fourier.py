"""Transforms along one axis beside NumPy's own, which is asked where its ufuncs are not known."""

import numpy as np
import pytest

from penstock.core import fourier

RNG = np.random.default_rng(3)
TOLERANCE = {"complex64": 1e-5, "complex128": 1e-12, "float32": 1e-5, "float64": 1e-12}


@pytest.fixture(params=["ufuncs", "public"])
def way(request, monkeypatch):
    if request.param == "public":
        monkeypatch.setattr(fourier, "_known", lambda name: None)


def complex_numbers(shape, dtype):
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(("axis", "length"), [(-1, None), (-2, None), (-3, 9), (-1, 4), (-2, 1)])
@pytest.mark.parametrize("name", ["fft", "ifft"])
def test_complex_transforms(way, name, axis, length, dtype):
    x = complex_numbers((3, 7, 6), dtype)
    for given in (x, x[:, ::2, ::-1]):
        found = getattr(fourier, name)(given, axis, length)
        wanted = getattr(np.fft, name)(given.astype(np.complex128), length, axis)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, wanted, 0, 10 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [1, 2, 5, 8, 12])
def test_real_transforms(way, length, dtype):
    x = RNG.standard_normal((2, 3, 8)).astype(dtype)
    found = fourier.rfft(x, length)
    np.testing.assert_allclose(found, np.fft.rfft(x, length), 0, 10 * TOLERANCE[dtype])
    assert found.dtype == np.result_type(dtype, np.complex64)
    back = fourier.irfft(found, length)
    np.testing.assert_allclose(back, np.fft.irfft(found, length), 0, 10 * TOLERANCE[dtype])
    assert back.dtype == dtype


def test_other_ufuncs_are_not_taken(monkeypatch):
    class Others:
        fft = np.add  # of two inputs, but no transform
        ifft = np.sqrt
        irfft = len

    monkeypatch.setattr(fourier, "_ufuncs", Others)
    for name in ("fft", "ifft", "irfft", "rfft_n_odd"):
        assert fourier._known.__wrapped__(name) is None
    monkeypatch.undo()
    for name in ("fft", "ifft", "irfft", "rfft_n_even", "rfft_n_odd"):
        assert isinstance(fourier._known.__wrapped__(name), np.ufunc)
