"""The functions of `native/special.cc`: special functions of arrays of float32 and float64.

A shared library of its own, loaded at first use: it has neither Python nor XLA in it, and leaves
Python's lock while it works. Kernels that need it are registered with
`available=LIBRARY.is_in_use`, so that others serve where it is not. Thread-safe: nothing is kept
between calls.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core.native_library import HostLibrary, address, processors

LIBRARY = HostLibrary(
    "special",
    what="native special functions",
    without="igamma, betainc and Bessel functions take up to ten times as long",
    version=2,
    functions={"run": "nnnnppp", "lstm": "p" * 10, "lstm_back": "p" * 16},
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
ALONE = 8192  # results up to which the library uses one thread
Array = Any  # numpy.ndarray


def function(name: str) -> Callable[..., Array]:
    """The function of an operation, of arrays of one floating dtype that broadcast.

    Numbers of 16 bits are computed in float32.
    """
    number = FUNCTIONS.index(name)

    def call(*arrays: Array) -> Array:
        first = arrays[0]
        if first.dtype.itemsize == 2:
            return call(*[a.astype(np.float32) for a in arrays]).astype(first.dtype)
        shape = first.shape
        for other in arrays[1:]:
            if other.shape != shape:
                shape = np.broadcast_shapes(shape, other.shape)
        result = np.empty(shape, first.dtype)
        if result.size:
            _run(number, arrays, result)
        return result

    return call


def _run(number: int, arrays: Sequence[Array], result: Array) -> None:
    kept = [a if a.size == 1 else _whole(a, result.shape) for a in arrays]
    inputs, steps = _ADDRESSES[len(kept)], _STEPS[len(kept)]
    run = LIBRARY.function("run")
    assert run is not None, (
        "kernels of this library are registered with available=LIBRARY.is_in_use"
    )
    unknown = run(
        number, result.dtype.itemsize == 8, processors() if result.size > ALONE else 1, result.size,
        inputs(*map(address, kept)), steps(*[a.size > 1 for a in kept]), result,
    )  # fmt: skip
    assert unknown < 0, f"the library has no function {unknown}"


# The types of what the library's function gets for so many arguments.
_ADDRESSES = {count: ctypes.c_void_p * count for count in (1, 2, 3)}
_STEPS = {count: ctypes.c_int64 * count for count in (1, 2, 3)}


def _whole(array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape == shape and array.flags.c_contiguous:
        return array
    return np.ascontiguousarray(np.broadcast_to(array, shape))
