"""Gamma, Poisson and binomial numbers, by rejection.

Each output has counters of its own, so that it does not depend on how often others are rejected.
All outputs are drawn at once, in rounds of those that are not decided yet. Sources: Marsaglia and
Tsang (2000) for gamma, Hoermann (1993) for Poisson and binomial numbers of large means, Knuth's and
Devroye's inversions for small ones.
"""

import math
from typing import Any

import numpy as np

from penstock.core import native_random
from penstock.ops import random_philox as philox
from penstock.ops.random_philox import Stream
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType

Array = Any
RESERVED = 256  # counters set apart for each output
_RESERVED_SMALL = 42  # for a binomial number of a small mean, as TensorFlow's numbers tell
_SMALL = 10  # means below which binomial and Poisson numbers are found by inversion
_OF_BLOCKS = {"uniform": philox.units_of, "normal": philox.normals_of}

_log_gamma = np.frompyfunc(lambda x: math.lgamma(x) if x > 0 else math.inf, 1, 1)


class _Draws:
    """Numbers for many outputs, each from its own counters, two from each block, the last first."""

    def __init__(self, stream: Stream, index: Array, reserved: int = RESERVED) -> None:
        self._stream = stream
        self._first = index.astype(np.uint64) * np.uint64(reserved)
        count = len(index)
        self._taken = np.zeros(count, np.uint64)
        self._left = {kind: np.zeros(count, np.int64) for kind in ("uniform", "normal")}
        self._held = {kind: np.zeros((2, count)) for kind in ("uniform", "normal")}

    def take(self, kind: str, who: Array) -> Array:
        """The next number of each of the outputs `who`."""
        left, held = self._left[kind], self._held[kind]
        empty = who[left[who] == 0]
        if len(empty):
            where = self._first[empty] + self._taken[empty]
            found = philox.blocks(np, self._stream, where)
            held[:, empty] = _OF_BLOCKS[kind](np, found, dt.float64)
            self._taken[empty] += np.uint64(1)
            left[empty] = 2
        left[who] -= 1
        return held[left[who], who]


def gamma_on(stream: Stream, index: Array, alpha: Array) -> Array:
    """Gamma numbers of scale 1.

    Args:
      stream: where words come from.
      index: the place of each output among all, uint64[n].
      alpha: shapes, float64[n].

    Returns:
      float64[n].
    """
    found = native_random.gamma(stream, index, alpha)
    if found is not None:
        return found
    draws = _Draws(stream, index)
    result = np.full(len(alpha), np.nan)
    everyone = np.arange(len(alpha))
    plain = everyone[alpha == 1]
    result[plain] = -np.log1p(-draws.take("uniform", plain))
    small = alpha < 1
    d = alpha + np.where(small, 2.0 / 3, -1.0 / 3)
    c = 1.0 / 3 / np.sqrt(d)
    who = everyone[(alpha != 1) & (alpha > 0) & np.isfinite(alpha)]
    while len(who):
        x = draws.take("normal", who)
        v = 1 + c[who] * x
        tried = who[v > 0]
        x, v = x[v > 0], v[v > 0] ** 3
        u = draws.take("uniform", tried)
        taken = (u < 1 - 0.0331 * (x * x) * (x * x)) | (
            np.log(u) < 0.5 * x * x + d[tried] * (1 - v + np.log(v))
        )
        done = tried[taken]
        result[done] = d[done] * v[taken]
        boosted = done[small[done]]
        result[boosted] *= draws.take("uniform", boosted) ** (1 / alpha[boosted])
        who = np.setdiff1d(who, done, assume_unique=True)
    return result


def poisson_on(stream: Stream, index: Array, rate: Array, most: float) -> Array:
    """Poisson numbers; NaN where the rate is negative or not finite.

    Args:
      stream: where words come from.
      index: the place of each output among all, uint64[n].
      rate: means, float64[n].
      most: the largest number of the dtype.

    Returns:
      float64[n], whole numbers.
    """
    found = native_random.poisson(stream, index, rate, float(most))
    if found is not None:
        return found
    draws = _Draws(stream, index)
    result = np.full(len(rate), np.nan)
    everyone = np.arange(len(rate))
    usable = np.isfinite(rate) & (rate >= 0)
    _small_poisson(draws, everyone[usable & (rate < _SMALL)], rate, result)
    _large_poisson(draws, everyone[usable & (rate >= _SMALL)], rate, result, most)
    return result


def _small_poisson(draws: _Draws, who: Array, rate: Array, result: Array) -> None:
    """Multiplies uniform numbers until the product falls below exp(-rate)."""
    limit = np.exp(-rate)
    product = np.ones(len(rate))
    result[who] = 0
    while len(who):
        product[who] *= draws.take("uniform", who)
        who = who[product[who] > limit[who]]
        result[who] += 1


def _large_poisson(draws: _Draws, who: Array, rate: Array, result: Array, most: float) -> None:
    """Transformed rejection with squeeze."""
    with np.errstate(all="ignore"):
        log_rate = np.log(rate)
        b = 0.931 + 2.53 * np.sqrt(rate)
        a = -0.059 + 0.02483 * b
        inverse = 1.1239 + 1.1328 / (b - 3.4)
    while len(who):
        u = draws.take("uniform", who) - 0.5
        v = draws.take("uniform", who)
        shifted = 0.5 - np.abs(u)
        k = np.floor((2 * a[who] / shifted + b[who]) * u + rate[who] + 0.43)
        fits = k <= most
        quick = fits & (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (b[who] - 2))
        possible = fits & ~quick & (k >= 0) & ~((shifted < 0.013) & (v > shifted))
        s = np.log(v * inverse[who] / (a[who] / (shifted * shifted) + b[who]))
        factorial = _log_gamma(np.maximum(k, 0) + 1).astype(np.float64)
        taken = quick | (possible & (s <= -rate[who] + k * log_rate[who] - factorial))
        result[who[taken]] = k[taken]
        who = who[~taken]


def binomial_on(
    stream: Stream, shape: tuple[int, ...], counts: Array, probs: Array, dtype: DType
) -> Array:
    """Binomial numbers; `shape` ends with the broadcast shape of counts and probabilities."""
    inner = np.broadcast_shapes(counts.shape, probs.shape)
    n = np.broadcast_to(counts, inner).astype(np.float64).reshape(-1)
    p = np.broadcast_to(probs, inner).astype(np.float64).reshape(-1)
    size = len(n)
    total = math.prod(shape)
    samples = total // size if size else 0
    # Outputs of one pair of count and probability follow each other in the stream.
    order = np.arange(total, dtype=np.uint64).reshape(size, samples)
    found = _binomial(stream, order.reshape(-1), np.repeat(n, samples), np.repeat(p, samples))
    result = found.reshape(size, samples).T.reshape(shape)
    return result.astype(dtype.numpy_dtype)


def _binomial(stream: Stream, index: Array, n: Array, p: Array) -> Array:
    found = native_random.binomial(stream, index, n, p)
    if found is not None:
        return found
    result = np.full(len(n), np.nan)
    everyone = np.arange(len(n))
    flipped = p > 0.5
    q = np.where(flipped, 1 - p, p)
    usable = (n >= 0) & np.isfinite(n) & (q >= 0) & (p <= 1)
    large = usable & (n * q >= _SMALL)
    few = _Draws(stream, index, _RESERVED_SMALL)
    _small_binomial(few, everyone[usable & ~large], n, q, result)
    _large_binomial(_Draws(stream, index), everyone[large], n, q, result)
    return np.where(flipped, n - result, result)


def _small_binomial(draws: _Draws, who: Array, n: Array, p: Array, result: Array) -> None:
    """Adds up geometric numbers until the trials are used."""
    used = np.zeros(len(n))
    result[who] = 0
    with np.errstate(all="ignore"):
        slope = np.log1p(-p)
        while len(who):
            used[who] += np.ceil(np.log(draws.take("uniform", who)) / slope[who])
            who = who[used[who] <= n[who]]
            result[who] += 1


def _stirling(k: Array) -> Array:
    """What Stirling's formula lacks of the logarithm of k!."""
    table = np.array(
        [
            0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
            0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
            0.00925546218271273, 0.00833056343336287,
        ]
    )  # fmt: skip
    following = k + 1
    square = following * following
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / following
    return np.where(k <= 9, table[np.clip(k, 0, 9).astype(np.int64)], series)


def _large_binomial(draws: _Draws, who: Array, n: Array, p: Array, result: Array) -> None:
    """Transformed rejection with squeeze."""
    with np.errstate(all="ignore"):
        deviation = np.sqrt(n * p * (1 - p))
        b = 1.15 + 2.53 * deviation
        a = -0.0873 + 0.0248 * b + 0.01 * p
        c = n * p + 0.5
        near = 0.92 - 4.2 / b
        odds = p / (1 - p)
        alpha = (2.83 + 5.1 / b) * deviation
        m = np.floor((n + 1) * p)
    while len(who):
        u = draws.take("uniform", who) - 0.5
        v = draws.take("uniform", who)
        shifted = 0.5 - np.abs(u)
        k = np.floor((2 * a[who] / shifted + b[who]) * u + c[who])
        quick = (shifted >= 0.07) & (v <= near[who])
        possible = ~quick & (k >= 0) & (k <= n[who])
        safe = np.clip(k, 0, n[who])
        v = np.log(v * alpha[who] / (a[who] / (shifted * shifted) + b[who]))
        N, M, r = n[who], m[who], odds[who]
        bound = (
            (M + 0.5) * np.log((M + 1) / (r * (N - M + 1)))
            + (N + 1) * np.log((N - M + 1) / (N - safe + 1))
            + (safe + 0.5) * np.log(r * (N - safe + 1) / (safe + 1))
            + _stirling(M)
            + _stirling(N - M)
            - _stirling(safe)
            - _stirling(N - safe)
        )
        taken = quick | (possible & (v <= bound))
        result[who[taken]] = k[taken]
        who = who[~taken]
