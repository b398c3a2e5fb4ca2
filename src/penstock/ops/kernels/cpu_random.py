"""Random numbers of `native/random.cc` in compiled code on CPU, with the numbers of single calls.

Truncated normal numbers alone: XLA draws all of them again until the last one fits.
"""

import math
from typing import Any

import numpy as np

from penstock.core import native
from penstock.core.lazy import jax, jnp
from penstock.ops.random_philox import TRUNCATED_BLOCKS, Stream
from penstock.types import dtypes
from penstock.types.dtypes import DType

Array = Any  # a JAX tracer
LEAST_NUMBERS = 1 << 12


def serves(attrs: dict[str, Any], *inputs: Array) -> bool:
    """Whether there are enough numbers for a call; the first input is their shape."""
    return native.available() and bool(np.prod(inputs[0], dtype=np.float64) >= LEAST_NUMBERS)


def truncated_normal(stream: Stream, shape: tuple[int, ...], dtype: DType) -> Array:
    """Normal numbers less than 2 away from 0, as `random_philox.truncated_normal`."""
    width = 2 if dtype is dtypes.float64 else 4
    count = math.prod(shape)
    real = np.dtype(np.float64 if dtype is dtypes.float64 else np.float32)
    words = jnp.stack([jnp.asarray(part, np.uint64) for part in stream])
    result = jax.ShapeDtypeStruct((-(-count // width), width), real)
    reserved = np.int64(width * TRUNCATED_BLOCKS)
    rows = native.call("truncated", result, words, reserved=reserved)
    return rows.reshape(-1)[:count].reshape(shape).astype(dtype.numpy_dtype)
