"""Drawing many numbers on the host.

Small draws are NumPy's; larger ones run as one executable per distribution, dtype and power of two,
so a new size does not mean a new compilation.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import native_random
from penstock.core.compiling import compile_function
from penstock.core.lazy import jnp, wide_types
from penstock.core.memory import refuse_beyond_memory
from penstock.ops import random_philox as philox
from penstock.ops.random_philox import Stream
from penstock.types.dtypes import DType
from penstock.util.frames import at_user_line

Array = Any
COMPILED_FROM = 1 << 16  # numbers from which an executable beats NumPy

SAMPLERS: dict[str, Callable[..., Array]] = {
    "uniform": philox.uniform,
    "normal": philox.normal,
    "truncated_normal": philox.truncated_normal,
    "full_integers": philox.full_integers,
    "integers": lambda xp, stream, shape, dtype, low, high: philox.integers(
        xp, stream, shape, low, high, dtype
    ),
}


def draw(kind: str, stream: Stream, shape: tuple[int, ...], dtype: DType, *bounds: Array) -> Array:
    """An array of `shape` from the stream; `bounds` for integers: low and high."""
    count = math.prod(shape)
    native = native_random.LIBRARY.is_in_use()
    if native and (count < COMPILED_FROM or kind == "truncated_normal"):
        return SAMPLERS[kind](np, stream, shape, dtype, *bounds)
    if count < COMPILED_FROM:
        with np.errstate(all="ignore"):  # sums of whole numbers that wrap around
            return SAMPLERS[kind](np, stream, shape, dtype, *bounds)
    refuse_beyond_memory(
        count * dtype.size, lambda: f"random {kind} of shape {list(shape)}{at_user_line()}"
    )
    values = np.array([stream.key, stream.low, stream.high], np.uint64)
    with wide_types():
        drawn = _executable(kind, 1 << (count - 1).bit_length(), dtype)(values, *bounds)
    return np.asarray(drawn)[:count].reshape(shape)


@functools.lru_cache(maxsize=256)
def _executable(kind: str, count: int, dtype: DType) -> Callable[..., Array]:
    def run(values: Array, *bounds: Array) -> Array:
        return SAMPLERS[kind](
            jnp, Stream(values[0], values[1], values[2]), (count,), dtype, *bounds
        )

    return compile_function(run, elementwise=True)
