"""Random numbers of `native/random.cc` in compiled code on CPU, with the numbers of single calls.

Truncated normal numbers, all of which XLA draws again until the last one fits, and random orders,
whose exchanges are a loop with a round of its own for each row in XLA.
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
    result = jax.ShapeDtypeStruct((-(-count // width), width), real)
    reserved = np.int64(width * TRUNCATED_BLOCKS)
    rows = native.call("truncated", result, _words(stream), reserved=reserved)
    return rows.reshape(-1)[:count].reshape(shape).astype(dtype.numpy_dtype)


def orders(attrs: dict[str, Any], *inputs: Array) -> bool:
    """Whether there are rows to bring into a random order; the first input has them."""
    return native.available() and inputs[0].ndim > 0 and inputs[0].shape[0] >> 32 == 0


def order(stream: Stream, count: int) -> Array:
    """The numbers 0 to count - 1, as `random_stateful.permutation` orders them: int64[count]."""
    return native.call("order", jax.ShapeDtypeStruct((count,), np.int64), _words(stream))


def _words(stream: Stream) -> Array:
    return jnp.stack([jnp.asarray(part, np.uint64) for part in stream])
