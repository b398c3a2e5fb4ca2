"""The functions of `native/special.cc`: special functions of arrays of float32 and float64.

A shared library of its own, loaded at first use: it has neither Python nor XLA in it, and leaves
Python's lock while it works. Kernels that need it are registered with `available=is_in_use`, so
that others serve where it is not. Thread-safe: nothing is kept between calls.
"""

import ctypes
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.native_library import HostLibrary

LIBRARY = HostLibrary(
    "special",
    what="native special functions",
    without="igamma, betainc and Bessel functions take up to ten times as long",
    version=1,
    functions=("run",),
)
# The operations; a function's number is its place, the same as in `native/special.cc`.
FUNCTIONS = (
    *("BesselJ0", "BesselJ1", "BesselY0", "BesselY1"),
    *("BesselI0", "BesselI1", "BesselI0e", "BesselI1e"),
    *("BesselK0", "BesselK1", "BesselK0e", "BesselK1e"),
    *("Dawsn", "FresnelCos", "FresnelSin", "Expint", "Spence", "Erfinv", "Ndtri"),
    *("Digamma", "Lgamma", "Erf", "Erfc", "Zeta", "Polygamma"),
    *("Igamma", "Igammac", "IgammaGradA", "RandomGammaGrad", "Betainc"),
)
Array = Any  # numpy.ndarray


def is_in_use() -> bool:
    """Whether the library is there and switched on."""
    return LIBRARY.library() is not None


def _threads() -> int:
    """How many threads may work: one for each processor that the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def function(name: str) -> Callable[..., Array]:
    """The function of an operation, of arrays of one floating dtype that broadcast.

    Numbers of 16 bits are computed in float32.
    """
    number = ctypes.c_int64(FUNCTIONS.index(name))

    def call(*arrays: Array) -> Array:
        dtype = arrays[0].dtype
        wide = [np.asarray(a, np.float32 if dtype.itemsize == 2 else dtype) for a in arrays]
        shape = wide[0].shape if len(wide) == 1 else np.broadcast_shapes(*[a.shape for a in wide])
        result = np.empty(shape, wide[0].dtype)
        if result.size:
            _run(number, wide, result)
        return result if result.dtype == dtype else result.astype(dtype)

    return call


def _run(number: ctypes.c_int64, arrays: list[Array], result: Array) -> None:
    kept = [a if a.size == 1 else _whole(a, result.shape) for a in arrays]
    count = len(kept)
    inputs = (ctypes.c_void_p * count)(*[a.__array_interface__["data"][0] for a in kept])
    steps = (ctypes.c_int64 * count)(*[int(a.size > 1) for a in kept])
    library = LIBRARY.state().library
    assert library is not None, "kernels of this library are registered with available=is_in_use"
    unknown = library.penstock_special_run(
        number, ctypes.c_int64(result.dtype == np.float64), ctypes.c_int64(_threads()),
        ctypes.c_int64(result.size), inputs, steps,
        ctypes.c_void_p(result.__array_interface__["data"][0]),
    )  # fmt: skip
    assert unknown < 0, f"the library has no function {unknown}"


def _whole(array: Array, shape: tuple[int, ...]) -> Array:
    return np.ascontiguousarray(array if array.shape == shape else np.broadcast_to(array, shape))
