"""Normal numbers between bounds, by rejection: TensorFlow's, on one thread.

Numbers are drawn row after row from one stream; a row has parameters of its own. Proposals come
from the blocks of the stream in order, and those that are taken are the row's numbers in order. A
row starts at the block after the last one that the row before has looked at. Where the bounds lie
says what is proposed (Robert, "Simulation of truncated normal variables", 1995): normal numbers,
numbers evenly between the bounds, or exponential ones above the lower bound.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_random
from penstock.ops import random_philox as philox
from penstock.ops.random_philox import Stream
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType

Array = Any
NEAR = 1.3  # deviations: bounds further out than this on one side leave enough normal numbers
MOST_REFUSED = 1000  # groups in turn of which nothing was taken
_CHUNK = 4096  # proposals looked at together, at most

# How numbers of a row are proposed: of blocks' words [groups, blocks, 4] the proposals and whether
# each is taken [groups, m]; and how many blocks make a group.
_Proposals = tuple[int, Callable[[Array], tuple[Array, Array]]]


def between_on(stream: Stream, parameters: Array, samples: int, dtype: DType) -> Array:
    """Normal numbers between bounds.

    Args:
      stream: where words come from.
      parameters: float64[rows, 4]: mean, deviation, lower and upper bound of each row, numbers of
        `dtype`.
      samples: how many numbers a row has.
      dtype: in whose precision numbers are drawn: float16, bfloat16, float32 or float64.

    Returns:
      [rows, samples] of `dtype`.

    Raises:
      InvalidArgumentError: a deviation is not positive, bounds are not in order, or both infinite.
      InternalError: so many proposals in turn were refused that no number may fit.
    """
    _check(parameters)
    try:
        return _drawn(stream, parameters, samples, dtype)
    except native_random.NoneFitsError as problem:
        mean, deviation, least, most = parameters[problem.args[0]].tolist()
        raise errors.InternalError(
            None,
            None,
            "TruncatedNormal rejection sampler failed to accept a sample: expected bounds between"
            f" which {dtype.name} has numbers, got mean {mean}, deviation {deviation} and bounds"
            f" {least} and {most}. Bring the bounds nearer to the mean, or take a wider dtype.",
        ) from None


def _drawn(stream: Stream, parameters: Array, samples: int, dtype: DType) -> Array:
    if dtype in (dt.float32, dt.float64):
        found = native_random.between(stream, parameters, samples, dtype.numpy_dtype)
        if found is not None:
            return found
    result = np.empty((len(parameters), samples), dtype.numpy_dtype)
    place = 0
    with np.errstate(all="ignore"):
        for i, given in enumerate(parameters.astype(dtype.numpy_dtype)):
            used = _draw_row(stream, place, given, result[i], dtype)
            if used is None:
                raise native_random.NoneFitsError(i)
            place += used
    return result


def _check(parameters: Array) -> None:
    _, deviation, least, most = parameters.T
    usable = (deviation > 0) & (least < most) & ~(np.isinf(least) & np.isinf(most))
    if not usable.all():
        found = parameters[~usable][0].tolist()
        raise errors.InvalidArgumentError(
            None,
            None,
            "Invalid parameters: expected a deviation above 0 and minval below maxval, one of them"
            f" finite, got a deviation of {found[1]} and bounds {found[2]} and {found[3]}. Swap the"
            " bounds; for numbers without bounds use tf.random.stateless_normal.",
        )


def _draw_row(stream: Stream, place: int, given: Array, row: Array, dtype: DType) -> int | None:
    """Fills a row from the block at `place` on.

    Returns:
      The number of blocks that this looked at; None where it refused too many in turn.
    """
    mean, deviation, least, most = given
    low, high = (least - mean) / deviation, (most - mean) / deviation
    if high < 0 or np.isneginf(low):  # the mirror image, on the side of large numbers
        low, high, deviation = -high, -low, -deviation
    blocks, propose = _proposals(low, high, dtype)
    filled = used = refused = 0
    while filled < len(row):
        groups = max(1, min(_CHUNK, len(row) - filled))
        where = np.arange(place + used, place + used + groups * blocks, dtype=np.uint64)
        words = np.stack(philox.blocks(np, stream, where), -1).reshape(groups, blocks, 4)
        numbers, taken = propose(words)
        order = np.flatnonzero(taken)[: len(row) - filled]
        row[filled : filled + len(order)] = numbers.reshape(-1)[order] * deviation + mean
        filled += len(order)
        refused = 0 if len(order) else refused + groups
        if refused > MOST_REFUSED:
            return None
        last = order[-1] // numbers.shape[1] + 1 if filled == len(row) else groups
        used += int(last) * blocks
    return used


def _proposals(low: Array, high: Array, dtype: DType) -> _Proposals:
    """What is proposed between two bounds; their mirror image was taken where that is better."""
    if (low < -NEAR and high >= 0) or (high > NEAR and low <= 0):
        return 1, lambda words: _normal(words, low, high, dtype)
    if low < 0 or high - low < _widest(float(low)):
        return 2, lambda words: _even(words, low, high, dtype)
    return 1, lambda words: _exponential(words, low, high, dtype)


def _widest(low: float) -> float:
    """The distance of the bounds from which on exponential proposals are taken more often."""
    root = math.sqrt(low * low + 4)
    return 2 * math.exp(0.5 + low * (low - root) / 4) / (low + root)


def _normal(words: Array, low: Array, high: Array, dtype: DType) -> tuple[Array, Array]:
    numbers = _stacked(philox.normals_of(np, words[:, 0].T, dtype), dtype)
    return numbers, (low <= numbers) & (numbers <= high)


def _even(words: Array, low: Array, high: Array, dtype: DType) -> tuple[Array, Array]:
    """One block has the proposals, the next says which are taken."""
    kind = dtype.numpy_dtype.type
    chances = _stacked(philox.units_of(np, words[:, 1].T, dtype), dtype)
    numbers = _stacked(philox.units_of(np, words[:, 0].T, dtype), dtype) * (high - low) + low
    nearest = low * low if low > 0 else kind(0)
    return numbers, chances <= np.exp((nearest - numbers * numbers) / kind(2))


def _exponential(words: Array, low: Array, high: Array, dtype: DType) -> tuple[Array, Array]:
    """Neighbours are a proposal and what says whether it is taken."""
    kind = dtype.numpy_dtype.type
    rate = (low + np.sqrt(low * low + kind(4))) / kind(2)
    units = _stacked(philox.units_of(np, words[:, 0].T, dtype), dtype)
    numbers = -np.log(units[:, ::2]) / rate + low
    away = numbers - rate
    return numbers, (units[:, 1::2] <= np.exp(-away * away / kind(2))) & (numbers < high)


def _stacked(columns: list[Array], dtype: DType) -> Array:
    return np.stack(columns, -1).astype(dtype.numpy_dtype, copy=False)
