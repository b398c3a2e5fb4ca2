"""The public functions of `tf.random` for stateful operations.

Each call draws its seeds with `get_seed`; what the operation then reads follows from
`random_state`. Functions with bounds or moments scale what the operation draws.
"""

from typing import Any

import numpy as np

from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.behavior import control_dependencies
from penstock.graph.static_values import constant_value, shape_value
from penstock.ops.composing import scope, tensor
from penstock.ops.debug_asserts import to_wait_for
from penstock.ops.math_arithmetic import add_v2, multiply, subtract
from penstock.ops.random_state import get_seed, seed_attrs, set_seed
from penstock.ops.random_stateful import (
    MULTINOMIAL,
    RANDOM_SHUFFLE,
    RANDOM_STANDARD_NORMAL,
    RANDOM_UNIFORM,
    RANDOM_UNIFORM_INT,
    TRUNCATED_NORMAL,
)
from penstock.types import dtypes
from penstock.types.dtypes import DType, as_dtype
from penstock.types.tensor_shape import TensorShape

FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
INTEGERS = (dtypes.int32, dtypes.int64)


def shape_tensor(shape: Any) -> Any:
    """A shape argument as an integer vector."""
    if hasattr(shape, "dtype"):
        return tensor(shape, name="shape")
    sizes = shape.as_list() if hasattr(shape, "as_list") else shape
    if isinstance(sizes, (list, tuple)) and not sizes:
        return tensor([], dtypes.int32, "shape")
    return tensor(sizes, name="shape")


def is_number(value: Any, wanted: float) -> bool:
    """Whether `value` is this Python number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == wanted


def scaled(drawn: Any, spread: Any, offset: Any, name: str | None, plain: bool, sizes: Any) -> Any:
    """`drawn * spread + offset`; `drawn` itself when that changes nothing and no graph shows it.

    In a graph the result has the static shape of `sizes`, whatever is known of the others.
    """
    if plain and state.graph is None:
        return drawn
    return of_shape(add_v2(multiply(drawn, spread, name="mul"), offset, name=name), sizes)


def of_shape(result: Any, sizes: Any) -> Any:
    """`result`, whose static shape in a graph is that of `sizes` where its own is not known."""
    if sizes is None or not isinstance(result, SymbolicTensor):
        return result
    if not result.shape.is_fully_defined():
        result.set_shape(TensorShape.from_dims(shape_value(sizes)))
    return result


def check_uniform_dtype(dtype: DType, maxval: Any, allowed: tuple[DType, ...]) -> None:
    """Refuses a dtype that is not allowed, and integers without an upper bound."""
    if dtype not in allowed:
        listed = ", ".join(f"tf.{t.name}" for t in allowed)
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype!r}. Accepted dtypes are ({listed})."
        )
    if maxval is None and dtype.is_integer:
        raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Numbers evenly distributed over [minval, maxval).

    Args:
      shape: int32 or int64 vector.
      minval: the lower bound, of `dtype`; broadcasts for floating dtypes.
      maxval: the upper bound, not reached; 1 for floating dtypes when None, needed for integers.
      dtype: float16, bfloat16, float32, float64, int32 or int64.
      seed: an integer, combined with the global seed; see `set_seed`.
      name: the name in a graph.

    Returns:
      A tensor of `dtype` and `shape`.

    Raises:
      ValueError: `dtype` is not allowed, or it is an integer one and `maxval` is None.
      InvalidArgumentError: an integer range is empty, or a dimension is negative.
    """
    dtype = as_dtype(dtype)
    check_uniform_dtype(dtype, maxval, (*FLOATS, *INTEGERS))
    with scope(name, "random_uniform") as full:
        dims = shape_tensor(shape)
        if dtype.is_integer:
            bounds = tensor(minval, dtype, "min"), tensor(maxval, dtype, "max")
            return execute(
                RANDOM_UNIFORM_INT, (dims, *bounds), {**seed_attrs(seed), "Tout": dtype}, full
            )
        plain = is_number(minval, 0) and (maxval is None or is_number(maxval, 1))
        drawn = execute(RANDOM_UNIFORM, (dims,), {**seed_attrs(seed), "dtype": dtype})
        if plain:
            return drawn
        low, high = (
            tensor(minval, dtype, "min"),
            tensor(1 if maxval is None else maxval, dtype, "max"),
        )
        return scaled(drawn, subtract(high, low, name="sub"), low, full, plain, dims)


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Normal numbers.

    Args:
      shape: int32 or int64 vector.
      mean, stddev: of `dtype`; broadcast.
      dtype: float16, bfloat16, float32 or float64.
      seed: an integer, combined with the global seed.
      name: the name in a graph.

    Returns:
      A tensor of `dtype` and `shape`.
    """
    return _normal(RANDOM_STANDARD_NORMAL, "random_normal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Normal numbers, drawn again while two standard deviations or more from the mean.

    Args:
      shape: int32 or int64 vector.
      mean, stddev: of `dtype`; broadcast.
      dtype: float16, bfloat16, float32 or float64.
      seed: an integer, combined with the global seed.
      name: the name in a graph.

    Returns:
      A tensor of `dtype` and `shape`.
    """
    return _normal(TRUNCATED_NORMAL, "truncated_normal", shape, mean, stddev, dtype, seed, name)


def _normal(
    op: Any,
    default: str,
    shape: Any,
    mean: Any,
    stddev: Any,
    dtype: Any,
    seed: int | None,
    name: str | None,
) -> Any:
    dtype = as_dtype(dtype)
    with scope(name, default) as full:
        sizes = shape_tensor(shape)
        plain = is_number(mean, 0) and is_number(stddev, 1) and dtype.is_floating
        if not (plain and state.graph is None):
            mean, stddev = tensor(mean, dtype, "mean"), tensor(stddev, dtype, "stddev")
        drawn = execute(op, (sizes,), {**seed_attrs(seed), "dtype": dtype})
        known = sizes if isinstance(shape, SymbolicTensor) else None  # as TensorFlow has it
        return scaled(drawn, stddev, mean, full, plain, known)


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Any:
    """The rows of a tensor in random order.

    Args:
      value: any dtype, rank at least 1.
      seed: an integer, combined with the global seed.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.
    """
    return execute(RANDOM_SHUFFLE, (value,), seed_attrs(seed), name)


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Class numbers drawn from unnormalised log probabilities.

    Args:
      logits: float[B, C].
      num_samples: int32 scalar: draws for each row.
      dtype: int32 or int64 (the default).
      seed: an integer, combined with the global seed.
      name: the name in a graph.

    Returns:
      dtype[B, num_samples], each in [0, C).
    """
    with scope(name, "categorical"):
        return _categorical(logits, num_samples, dtype, seed)


def multinomial(
    logits: Any,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = None,
) -> Any:
    """Class numbers from unnormalised log probabilities: `categorical` as compat.v1 has it.

    Args:
      logits: float[B, C].
      num_samples: int32 scalar: draws for each row.
      seed: an integer, combined with the global seed.
      name: the name in a graph.
      output_dtype: int32 or int64 (the default).

    Returns:
      output_dtype[B, num_samples], each in [0, C).
    """
    with scope(name, "multinomial"):
        return _categorical(logits, num_samples, output_dtype, seed)


def _categorical(logits: Any, num_samples: Any, dtype: Any, seed: int | None) -> Any:
    attrs = {**seed_attrs(seed), "output_dtype": dtypes.int64 if dtype is None else as_dtype(dtype)}
    return execute(MULTINOMIAL, (tensor(logits, name="logits"), num_samples), attrs)


def crop_places(value: Any, size: Any) -> Any:
    """How many places a part of a shape has along each axis; checked to be one at least."""
    shape = execute("Shape", (value,), {"out_type": size.dtype})
    fits = execute("All", (execute("GreaterEqual", (shape, size)), np.array([0], np.int32)))
    if state.graph is None or not constant_value(fits):
        shown = ["Need value.shape >= size, got ", shape, size]
        with control_dependencies(to_wait_for(fits, shown, summarize=1000)):
            shape = execute("Identity", (shape,))
    return add_v2(subtract(shape, size), 1)


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Any:
    """A part of a tensor at a random place.

    Args:
      value: any dtype and rank R.
      size: int vector[R]: the shape of the part.
      seed: an integer, combined with the global seed.
      name: the name in a graph.

    Returns:
      A tensor of shape `size`.

    Raises:
      InvalidArgumentError: `size` is larger than the shape of `value`.
    """
    with scope(name, "random_crop") as full:
        value, size = tensor(value, name="value"), tensor(size, dtypes.int32, "size")
        limit = crop_places(value, size)
        drawn = random_uniform(
            execute("Shape", (limit,)), dtype=size.dtype, maxval=size.dtype.max, seed=seed
        )
        return execute("Slice", (value, execute("FloorMod", (drawn, limit)), size), None, full)


__all__ = [
    "categorical",
    "get_seed",
    "multinomial",
    "random_crop",
    "random_normal",
    "random_shuffle",
    "random_uniform",
    "set_seed",
    "truncated_normal",
]
