"""Distributions over classes, and the random numbers they are drawn by.

Numbers are TensorFlow's for the same stream: each is made of the stream's next words.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from penstock.core import native_draws, native_places, native_random
from penstock.ops.random_philox import Stream, skip, words

Array = Any  # numpy.ndarray
READ_FIRST, READ_AT_ONCE = 8, 256  # blocks
WORD = 1 << 32
MANTISSA = 1 << 52
LARGEST_POWER = 1 << 61  # classes up to which all powers are below 2^63
BLOCK = 32  # classes whose weights are added up


class Words:
    """Random numbers from the words of a stream, one after the other."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._words = self._read(stream)

    @staticmethod
    def _read(stream: Stream) -> Iterator[int]:
        count = READ_FIRST
        while True:
            with np.errstate(over="ignore"):
                found = words(np, stream, 4 * count).tolist()
                stream = skip(np, stream, count)
            yield from found
            count = min(2 * count, READ_AT_ONCE)

    def double(self) -> float:
        """Evenly in [0, 1), of 52 bits."""
        high = next(self._words) % (1 << 20)
        return (high * WORD + next(self._words)) / MANTISSA

    def single(self) -> float:
        """Evenly in [0, 1), of 23 bits."""
        return (next(self._words) % (1 << 23)) / (1 << 23)

    def below(self, limit: int, wide: bool = False) -> int:
        """A whole number in [0, limit), from one word, or two when `wide`."""
        size = WORD * WORD if wide else WORD
        usable = _usable(limit, size)
        while True:
            value = next(self._words)
            if wide:
                value += next(self._words) * WORD
            if value < usable:
                return value % limit


def doubles(stream: Stream, count: int) -> Array:
    """Numbers evenly in [0, 1), of 52 bits: float64[count]."""
    found = native_random.units(stream, count, True)
    if found is None:
        pairs = words(np, stream, 2 * count).astype(np.float64).reshape(count, 2)
        found = (pairs[:, 0] % (1 << 20) * WORD + pairs[:, 1]) / MANTISSA
    return found


def singles(stream: Stream, count: int, after: int = 0) -> Array:
    """Numbers evenly in [0, 1), of 23 bits, behind some words of a stream: float32[count]."""
    found = native_random.units(stream, after + count, False)
    if found is None:
        drawn = words(np, stream, after + count) if after + count else np.empty(0, np.uint32)
        found = (drawn % (1 << 23) / (1 << 23)).astype(np.float32)
    return found[after:]


def _usable(limit: int, size: int) -> int:
    """Below it are random numbers of [0, size) that are fair modulo `limit`."""
    return size - 1 - (size - 1) % limit if limit & (limit - 1) else size


class Distribution:
    """A distribution over the classes [0, size)."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.lock: AbstractContextManager[Any] = nullcontext()  # held while it is asked

    def draw(self, source: Words) -> int:
        """One class."""
        raise NotImplementedError

    def draw_many(self, source: Words, count: int) -> Any:
        """Classes from the start of the source: a sequence of int."""
        return [self.draw(source) for _ in range(count)]

    def probabilities(self, classes: Array) -> Array:
        """The probability of each class: float64, a scalar where all have the same."""
        raise NotImplementedError


class Uniform(Distribution):
    """All classes are as likely."""

    def draw(self, source: Words) -> int:
        """One class."""
        return source.below(self.size, wide=True)

    def draw_many(self, source: Words, count: int) -> Any:
        """Classes, at once unless one must be drawn again."""
        found = native_random.below(source.stream, self.size, count, True)
        if found is not None:
            return found
        pairs = words(np, source.stream, 2 * count).astype(np.uint64).reshape(count, 2)
        values = pairs[:, 0] | pairs[:, 1] << np.uint64(32)
        if values.max() >= WORD * WORD - self.size:
            return super().draw_many(source, count)
        return values % np.uint64(self.size)

    def probabilities(self, classes: Array) -> Array:
        """The probability of each class, which is the same."""
        return np.float64(1 / self.size)


class LogUniform(Distribution):
    """Class c has probability log((c + 2) / (c + 1)) / log(size + 1)."""

    def draw(self, source: Words) -> int:
        """One class."""
        return (int(math.exp(source.double() * math.log1p(self.size))) - 1) % self.size

    def draw_many(self, source: Words, count: int) -> Any:
        """Classes, at once but for the exponentials, whose last digits decide."""
        drawn, scale = doubles(source.stream, count), math.log1p(self.size)
        if self.size <= LARGEST_POWER:
            found = native_draws.by_powers(drawn, scale, self.size)
            if found is not None:
                return found
        powers = map(math.exp, (drawn * scale).tolist())
        return (np.array([int(p) for p in powers], np.int64) - 1) % self.size

    def probabilities(self, classes: Array) -> Array:
        """The probability of each class."""
        given = classes.astype(np.float64)
        above = given + 2
        given += 1
        above /= given
        np.log(above, out=above)
        above /= math.log1p(self.size)
        return above


class Learned(Distribution):
    """As likely as the classes were among the true ones so far, plus one.

    Sums of blocks of classes find a class without the sums of all before it.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.lock = threading.Lock()  # guards: weights, blocks, total, of drawing too
        self.weights = np.zeros((-(-size // BLOCK), BLOCK), np.int64)
        self.weights.reshape(-1)[:size] = 1
        self.blocks = self.weights.sum(1)
        self.total = size

    def draw(self, source: Words) -> int:
        """One class."""
        return int(self._classes(np.array([source.below(self.total)]))[0])

    def draw_many(self, source: Words, count: int) -> Any:
        """Classes, at once; words that are not fair are left out."""
        found = native_random.below(source.stream, self.total, count, False)
        if found is not None:
            return self._classes(found)
        usable, more = _usable(self.total, WORD), 0
        while True:
            values = words(np, source.stream, count + more).astype(np.int64)
            fair = values[values < usable][:count]
            if len(fair) == count:
                return self._classes(fair % self.total)
            more = 2 * more + 8

    def _classes(self, values: Array) -> Array:
        """The class in whose part of [0, total) each value lies."""
        found = native_draws.weighted(self.weights, self.blocks, values)
        if found is not None:
            return found
        ends = np.cumsum(self.blocks)
        block = np.searchsorted(ends, values, "right")
        rest = values - (ends - self.blocks)[block]
        within = (np.cumsum(self.weights[block], axis=1) <= rest[:, None]).sum(1)
        return block * BLOCK + within

    def probabilities(self, classes: Array) -> Array:
        """The probability of each class."""
        return self.weights.reshape(-1).take(classes) / self.total

    def learn(self, classes: Array) -> None:
        """Counts true classes."""
        flat = classes.reshape(-1)
        native_places.add_often(flat, self.weights.reshape(-1))
        native_places.add_often(flat // BLOCK, self.blocks)
        self.total += len(flat)


class Fixed(Distribution):
    """By given weights: drawn by the alias method."""

    def __init__(self, weights: Array) -> None:
        super().__init__(len(weights))
        self.weights = np.asarray(weights, np.float32)
        self.total = np.cumsum(self.weights)[-1]  # one after the other, in float32
        self.keep, self.alias = self._tables()

    def _tables(self) -> tuple[Array, Array]:
        """For each place the share that stays with it, and the class that gets the rest.

        The products are of float32, the rest of float64: where a share comes to 1 but for
        rounding, that decides.
        """
        products = (self.weights * np.float32(self.size)).astype(np.float64)
        keep = (products / np.cumsum(self.weights, dtype=np.float64)[-1]).tolist()
        alias = list(range(self.size))
        low = [i for i, p in enumerate(keep) if p < 1]
        high = [i for i, p in enumerate(keep) if p >= 1]
        while low and high:
            small, large = low.pop(), high.pop()
            alias[small] = large
            keep[large] -= 1 - keep[small]
            (low if keep[large] < 1 else high).append(large)
        for rest in low + high:
            keep[rest] = 1.0
        return np.array(keep, np.float32), np.array(alias, np.int64)

    def draw(self, source: Words) -> int:
        """One class."""
        share = source.single()
        place = source.below(self.size)
        return place if share < self.keep[place] else int(self.alias[place])

    def draw_many(self, source: Words, count: int) -> Any:
        """Classes, at once unless one must be drawn again."""
        pairs = words(np, source.stream, 2 * count).astype(np.int64).reshape(count, 2)
        if pairs[:, 1].max(initial=0) >= _usable(self.size, WORD):
            return super().draw_many(source, count)
        shares, places = pairs[:, 0] % (1 << 23) / (1 << 23), pairs[:, 1] % self.size
        return np.where(shares < self.keep[places], places, self.alias[places])

    def probabilities(self, classes: Array) -> Array:
        """The probability of each class."""
        return self.weights[classes] / self.total
