"""NumPy's Fourier transforms along one axis without what surrounds them.

`numpy.fft` makes three to five microseconds of preparations for each axis, and computes forward
transforms of single precision in double, at four to five times the cost of the precision that it
gives back. Its generalised ufuncs, which are no public names, have loops for both. They are taken
where a look at them shows that they are there and do what `numpy.fft` does; else that is asked.
Thread-safe.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any  # numpy.ndarray
_ufuncs: Any = getattr(np.fft, "_pocketfft_umath", None)  # None with another NumPy
_HALVES = ("rfft_n_even", "rfft_n_odd")
_REAL: dict[str, Any] = {"F": np.float32, "D": np.float64, "f": np.float32, "d": np.float64}
_COMPLEX = {"f": np.complex64, "d": np.complex128}
_ONE = {code: real(1) for code, real in _REAL.items()}


def fft(x: Array, axis: int = -1, length: int | None = None) -> Array:
    """The transform of complex64 or complex128 along an axis, cut or padded to a length."""
    return _complex("fft", np.fft.fft, x, axis, length)


def ifft(x: Array, axis: int = -1, length: int | None = None) -> Array:
    """The inverse transform, likewise."""
    return _complex("ifft", np.fft.ifft, x, axis, length)


def rfft(x: Array, length: int) -> Array:
    """Half of the transform of float32 or float64 along the last axis."""
    function = _known(_HALVES[length % 2])
    if function is None or x.dtype.char not in _COMPLEX:
        return np.fft.rfft(x, length)
    made = np.empty((*x.shape[:-1], length // 2 + 1), _COMPLEX[x.dtype.char])
    return function(x, _ONE[x.dtype.char], out=made)


def irfft(x: Array, length: int) -> Array:
    """Real numbers of half of their transform, complex64 or complex128, along the last axis."""
    function = _known("irfft")
    if function is None or x.dtype.char not in _REAL:
        return np.fft.irfft(x, length)
    real = _REAL[x.dtype.char]
    return function(x, real(1) / real(length), out=np.empty((*x.shape[:-1], length), real))


def _complex(
    name: str, public: Callable[..., Array], x: Array, axis: int, length: int | None
) -> Array:
    function, code = _known(name), x.dtype.char
    if function is None or code not in "FD":
        return public(x, length, axis)
    count = x.shape[axis] if length is None else length
    by = _ONE[code] if name == "fft" else _REAL[code](1) / _REAL[code](count)
    if count == x.shape[axis]:
        made = np.empty_like(x)
    else:
        shape = list(x.shape)
        shape[axis] = count
        made = np.empty(shape, x.dtype)
    if axis == -1:
        return function(x, by, out=made)
    return function(x, by, axes=[(axis,), (), (axis,)], out=made)


@functools.cache
def _known(name: str) -> Any:
    """NumPy's ufunc of this name, or None where it is not there or gives other numbers."""
    function: Any = getattr(_ufuncs, name, None)
    if not isinstance(function, np.ufunc) or function.nin != 2:
        return None
    length = 5 if name == "rfft_n_odd" else 6
    plain: Any = {"fft": np.fft.fft, "ifft": np.fft.ifft, "irfft": np.fft.irfft}.get(
        name, np.fft.rfft
    )
    code = np.float64 if name in _HALVES else np.complex128
    count = length // 2 + 1 if name in _HALVES else length
    made = np.empty((2, count), np.float64 if name == "irfft" else np.complex128)
    x = np.cos(np.arange(14)).reshape(2, 7)[:, :length].astype(code)
    by = 1.0 if name in ("fft", *_HALVES) else 1 / length
    try:
        found = function(x, by, axes=[(-1,), (), (-1,)], out=made)
    except (TypeError, ValueError):
        return None
    return function if np.allclose(found, plain(x, length), 1e-12, 1e-12) else None


__all__ = ["fft", "ifft", "irfft", "rfft"]
