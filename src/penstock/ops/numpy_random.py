"""`tf.experimental.numpy.random`: NumPy's older functions on TensorFlow's random streams."""

from typing import Any

import numpy as np

from penstock.ops import random_families, random_ops, random_state
from penstock.ops.array_shape import broadcast_static_shape
from penstock.ops.math_arithmetic import add, multiply, subtract
from penstock.ops.math_cast import cast
from penstock.ops.numpy_dtypes import Value, as_tensor, default_float, tensor_dtype
from penstock.types import dtypes


def seed(s: int) -> None:
    """Starts the streams anew from a seed.

    Args:
      s: the seed.
    """
    random_state.set_seed(int(s))


def _shape(size: Any) -> Any:
    if size is None:
        return []
    return [int(size)] if isinstance(size, (int, np.integer)) else size


def random(size: Any = None) -> Any:
    """Numbers from [0, 1).

    Args:
      size: an integer or integers.

    Returns:
      A float64 tensor; float32 in the modes with weak tensors.
    """
    return random_ops.random_uniform(_shape(size), dtype=default_float())


def rand(*size: int) -> Any:
    """Numbers from [0, 1).

    Args:
      *size: the shape.

    Returns:
      A float64 tensor; float32 in the modes with weak tensors.
    """
    return random(size)


def randn(*args: int) -> Any:
    """Numbers of the standard normal distribution.

    Args:
      *args: the shape.

    Returns:
      A float64 tensor; float32 in the modes with weak tensors.
    """
    return standard_normal(args)


def standard_normal(size: Any = None) -> Any:
    """Numbers of the standard normal distribution.

    Args:
      size: an integer or integers.

    Returns:
      A float64 tensor; float32 in the modes with weak tensors.
    """
    return random_ops.random_normal(_shape(size), dtype=default_float())


def uniform(low: Value = 0.0, high: Value = 1.0, size: Any = None) -> Any:
    """Numbers from [low, high).

    Args:
      low: the lower bounds.
      high: the upper bounds.
      size: the shape; that of the bounds by default.

    Returns:
      A float64 tensor; float32 in the modes with weak tensors.
    """
    first, last = as_tensor(low, default_float()), as_tensor(high, default_float())
    shape = broadcast_static_shape(first.shape, last.shape) if size is None else _shape(size)
    drawn = random_ops.random_uniform(shape, dtype=default_float())
    return add(multiply(drawn, subtract(last, first)), first)


def poisson(lam: Value = 1.0, size: Any = None) -> Any:
    """Numbers of Poisson distributions.

    Args:
      lam: the expected values.
      size: the shape of what each of `lam` gives; one number by default.

    Returns:
      An int64 tensor.
    """
    rates = as_tensor(lam, default_float())
    drawn = random_families.random_poisson(_shape(size), rates, dtype=default_float())
    return cast(drawn, dtypes.int64)


def randint(low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> Any:
    """Integers from [low, high).

    Args:
      low: the least; the bound, when there is no `high`.
      high: the bound, which is left out.
      size: the shape.
      dtype: of the result.

    Returns:
      An integer tensor.

    Raises:
      ValueError: it is no integer dtype.
    """
    wanted = tensor_dtype(dtype)
    if not wanted.is_integer:
        raise ValueError(
            f"randint: expected an integer dtype, got {wanted.name}. Use uniform for floats."
        )
    first, last = (0, low) if high is None else (low, high)
    work = wanted if wanted in (dtypes.int32, dtypes.int64) else dtypes.int64
    return cast(random_ops.random_uniform(_shape(size), first, last, dtype=work), wanted)
