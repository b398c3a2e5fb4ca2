"""The public functions of `tf.random` whose numbers follow from a seed that the caller passes.

They also derive seeds from seeds: `split` and `fold_in`.
"""

import enum
from typing import Any

from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.static_values import constant_value
from penstock.ops import random_stateless as ops
from penstock.ops.composing import cast, scope, tensor
from penstock.ops.math_arithmetic import subtract
from penstock.ops.random_ops import FLOATS, is_number, scaled, shape_tensor
from penstock.types import dtypes
from penstock.types.dtypes import DType, as_dtype

INTEGERS = (dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64)


class Algorithm(enum.Enum):
    """Algorithms that turn a key and a counter into numbers. Only Philox is there."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


_NAMES = {
    "philox": Algorithm.PHILOX,
    "threefry": Algorithm.THREEFRY,
    "auto_select": Algorithm.AUTO_SELECT,
}


def algorithm_of(alg: Any) -> Algorithm:
    """The algorithm that a name, a number or an Algorithm stands for.

    Raises:
      ValueError, TypeError: there is no such one.
    """
    if isinstance(alg, str):
        found = _NAMES.get(alg.lower())
        if found is None:
            raise ValueError(
                f"Argument `alg` got unsupported value {alg}. Supported values are philox for the "
                "Philox algorithm, threefry "
                "for the ThreeFry algorithm, and auto_select for auto-selection."
            )
        return found
    if isinstance(alg, Algorithm):
        return alg
    number = _number(alg)
    if number in (1, 2, 3):
        return Algorithm(number)
    if number is not None:
        raise ValueError(
            f"Argument `alg` got unsupported value {number}. Supported values are 1 for the Philox"
            " algorithm, 2 for the ThreeFry algorithm, and 3 for auto-selection."
        )
    raise TypeError(
        f"Argument `alg` expects a string, an Algorithm or 1, 2, 3, got {alg!r} of type "
        f"{type(alg).__name__}."
    )


def _number(alg: Any) -> int | None:
    """The number of an algorithm: itself, or the one that a scalar tensor holds."""
    if not isinstance(alg, Tensor):
        return alg if isinstance(alg, int) else None
    if alg.dims != () or not alg.dtype.is_integer:
        return None
    found = constant_value(alg)
    return int(alg) if found is None else int(found)  # type: ignore[call-overload]


def key_counter_alg(seed: Any, alg: Any) -> tuple[Any, Any, int]:
    """Key, counter and algorithm number of a seed; `alg=None` leaves the choice.

    The operations refuse ThreeFry, which has no kernel.
    """
    threefry = alg is not None and algorithm_of(alg) is Algorithm.THREEFRY
    key, counter = execute(ops.GET_KEY_COUNTER, (seed,))
    return key, counter, Algorithm.THREEFRY.value if threefry else ops.PHILOX


def stateless_random_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Any:
    """Numbers evenly distributed over [minval, maxval), the same ones for the same seed.

    Args:
      shape: int32 or int64 vector.
      seed: int32 or int64 [2].
      minval: the lower bound; None, with `maxval` None too, asks for integers over the whole range
        of the dtype.
      maxval: the upper bound, not reached; 1 for floating dtypes when None.
      dtype: float16, bfloat16, float32, float64, int32, int64, uint32 or uint64.
      name: the name in a graph.
      alg: "philox" or "auto_select".

    Returns:
      A tensor of `dtype` and `shape`.

    Raises:
      ValueError: `dtype` is not allowed, or bounds and dtype do not go together.
    """
    dtype = as_dtype(dtype)
    _check_bounds(dtype, minval, maxval)
    with scope(name, "stateless_random_uniform") as full:
        dims = shape_tensor(shape)
        if dtype.is_integer and minval is None:
            key, counter, algorithm = key_counter_alg(seed, alg)
            return execute(ops.FULL_INT_V2, (dims, key, counter, algorithm), {"dtype": dtype}, full)
        low, high = (
            tensor(minval, dtype, "min"),
            tensor(1 if maxval is None else maxval, dtype, "max"),
        )
        key, counter, algorithm = key_counter_alg(seed, alg)
        if dtype.is_integer:
            return execute(
                ops.UNIFORM_INT_V2, (dims, key, counter, algorithm, low, high), None, full
            )
        drawn = execute(ops.UNIFORM_V2, (dims, key, counter, algorithm), {"dtype": dtype})
        plain = is_number(minval, 0) and (maxval is None or is_number(maxval, 1))
        if plain and state.graph is None:
            return drawn
        return scaled(drawn, subtract(high, low), low, full, plain, dims)


def _check_bounds(dtype: DType, minval: Any, maxval: Any) -> None:
    if dtype not in (*FLOATS, *INTEGERS):
        listed = ", ".join(f"tf.{t.name}" for t in (*FLOATS, *INTEGERS))
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype!r}. Accepted dtypes are ({listed})."
        )
    if not dtype.is_integer:
        return
    if (minval is None) != (maxval is None):
        raise ValueError(
            f"For integer `dtype` argument {dtype!r}, argument `minval` and `maxval` must be both "
            "None or not None. "
            f"Got `minval`={minval} and `maxval`={maxval}."
        )
    if minval is not None and dtype in (dtypes.uint32, dtypes.uint64):
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype!r} when argument `minval` is not None. "
            "Please don't use unsigned "
            "integers in this case."
        )


def stateless_random_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Any:
    """Normal numbers, the same ones for the same seed.

    Args:
      shape: int32 or int64 vector.
      seed: int32 or int64 [2].
      mean, stddev: of `dtype`; broadcast.
      dtype: float16, bfloat16, float32 or float64.
      name: the name in a graph.
      alg: "philox" or "auto_select".

    Returns:
      A tensor of `dtype` and `shape`.
    """
    return _normal(
        ops.NORMAL_V2, "stateless_random_normal", shape, seed, (mean, stddev), dtype, name, alg
    )


def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Any:
    """Normal numbers less than two standard deviations from the mean, given a seed.

    Args:
      shape: int32 or int64 vector.
      seed: int32 or int64 [2].
      mean, stddev: of `dtype`; broadcast.
      dtype: float16, bfloat16, float32 or float64.
      name: the name in a graph.
      alg: "philox" or "auto_select".

    Returns:
      A tensor of `dtype` and `shape`.
    """
    return _normal(
        ops.TRUNCATED_V2,
        "stateless_truncated_normal",
        shape,
        seed,
        (mean, stddev),
        dtype,
        name,
        alg,
    )


def _normal(
    op: Any,
    default: str,
    shape: Any,
    seed: Any,
    moments: Any,
    dtype: Any,
    name: str | None,
    alg: Any,
) -> Any:
    dtype = dtypes.float32 if dtype is None else as_dtype(dtype)
    mean, stddev = moments
    with scope(name, default) as full:
        dims = shape_tensor(shape)
        plain = is_number(mean, 0) and is_number(stddev, 1)
        if not (plain and state.graph is None and dtype in FLOATS):  # the dtype's error is theirs
            mean, stddev = tensor(mean, dtype, "mean"), tensor(stddev, dtype, "stddev")
        key, counter, algorithm = key_counter_alg(seed, alg)
        drawn = execute(op, (dims, key, counter, algorithm), {"dtype": dtype})
        return scaled(drawn, stddev, mean, full, plain, dims)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = dtypes.int64, name: str | None = None
) -> Any:
    """Class numbers drawn from unnormalised log probabilities, the same ones for the same seed.

    Args:
      logits: float[B, C].
      num_samples: int32 scalar: draws for each row.
      seed: int32 or int64 [2].
      dtype: int32 or int64.
      name: the name in a graph.

    Returns:
      dtype[B, num_samples], each in [0, C).
    """
    with scope(name, "stateless_categorical"):
        return _categorical(logits, num_samples, seed, dtype)


def stateless_multinomial(
    logits: Any,
    num_samples: Any,
    seed: Any,
    output_dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Any:
    """`stateless_categorical` under its name in compat.v1.

    Args:
      logits: float[B, C].
      num_samples: int32 scalar: draws for each row.
      seed: int32 or int64 [2].
      output_dtype: int32 or int64.
      name: the name in a graph.

    Returns:
      output_dtype[B, num_samples], each in [0, C).
    """
    with scope(name, "stateless_multinomial"):
        return _categorical(logits, num_samples, seed, output_dtype)


def _categorical(logits: Any, num_samples: Any, seed: Any, dtype: Any) -> Any:
    return execute(
        ops.MULTINOMIAL,
        (tensor(logits, name="logits"), num_samples, seed),
        {"output_dtype": dtype},
    )


def stateless_shuffle(
    value: Any, seed: Any, alg: Any = "auto_select", name: str | None = None
) -> Any:
    """The rows of a tensor in an order that the seed decides.

    Args:
      value: any dtype, rank at least 1.
      seed: int32 or int64 [2].
      alg: "philox" or "auto_select".
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.
    """
    with scope(name, "stateless_shuffle"):
        key, counter, algorithm = key_counter_alg(seed, alg)
        return execute(ops.SHUFFLE, (value, key, counter, algorithm))


def split(seed: Any, num: Any = 2, alg: Any = "auto_select") -> Any:
    """Several seeds from one.

    Args:
      seed: int32 or int64 [2].
      num: how many.
      alg: "philox" or "auto_select".

    Returns:
      [num, 2] seeds, of the dtype of `seed`.
    """
    seed = tensor(seed)
    dims = (
        tensor([num, 2], dtypes.int32)
        if isinstance(num, int)
        else execute("Pack", ([tensor(num), tensor(2)],))
    )
    return stateless_random_uniform(dims, seed, None, None, seed.dtype, alg=alg)


def fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Any:
    """A new seed from a seed and a number.

    Args:
      seed: int32 or int64 [2].
      data: an integer scalar.
      alg: "philox" or "auto_select".

    Returns:
      A seed [2], of the dtype of `data` as a tensor of `seed`'s dtype.
    """
    data = tensor(data)
    drawn = stateless_random_uniform([1], seed, None, None, data.dtype, alg=alg)
    return execute(
        "Pack", ([execute("Reshape", (drawn, tensor([], dtypes.int32))), cast(data, drawn.dtype)],)
    )


__all__ = [
    "Algorithm",
    "fold_in",
    "split",
    "stateless_categorical",
    "stateless_multinomial",
    "stateless_random_normal",
    "stateless_random_uniform",
    "stateless_shuffle",
    "stateless_truncated_normal",
]
