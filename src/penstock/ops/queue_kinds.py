"""Kinds of queues: which element comes next, and how many become a batch.

`FifoQueue` keeps what is put together together, so that taking it again copies nothing.
`RowQueue` keeps element by element; `PaddingFifoQueue`, `ShuffleQueue` and `PriorityQueue` are made
of it. All of their methods run under the queue's lock, see `queue_state`.
"""

import heapq
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import determinism
from penstock.ops import random_philox as philox
from penstock.ops.queue_state import Array, QueueState, Row
from penstock.ops.random_state import seeds_from_outside
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Segment = tuple[Row, int, int]  # elements start to stop of batches, one for each component


class FifoQueue(QueueState):
    """First in, first out. Batches stay together."""

    kind = "FIFOQueue"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._segments: deque[Segment] = deque()
        self._length = 0

    @property
    def length(self) -> int:
        """The number of elements."""
        return self._length

    def push(self, batches: Row, start: int, stop: int) -> None:
        """Adds elements start to stop."""
        self._segments.append((batches, start, stop))
        self._length += stop - start

    def pop(self, count: int) -> list[Any]:
        """Removes the next elements."""
        taken = []
        self._length -= count
        while count:
            batches, start, stop = self._segments.popleft()
            if stop - start > count:
                self._segments.appendleft((batches, start + count, stop))
                stop = start + count
            taken.append((batches, start, stop))
            count -= stop - start
        return taken

    def put_back(self, taken: list[Any]) -> None:
        """Adds what `pop` gave, as the next elements."""
        self._segments.extendleft(reversed(taken))
        self._length += sum(stop - start for _, start, stop in taken)

    def discard(self) -> None:
        """Removes all elements."""
        self._segments.clear()
        self._length = 0

    def element(self, taken: list[Any]) -> list[Array]:
        """The components of one element."""
        batches, start, _ = taken[0]
        return [b[start, ...] for b in batches]

    def batch(self, taken: list[Any]) -> list[Array]:
        """The components of all elements: what was put together is not copied."""
        if len(taken) == 1:
            batches, start, stop = taken[0]
            return [b[start:stop] for b in batches]
        return [
            np.concatenate([batches[i][start:stop] for batches, start, stop in taken])
            for i in range(len(self.dtypes))
        ]

    def rows(self) -> list[Row]:
        """The elements, the next one first."""
        return [
            tuple([b[i, ...] for b in batches])
            for batches, start, stop in self._segments
            for i in range(start, stop)
        ]


class RowQueue(QueueState):
    """A queue that keeps elements one by one: first in, first out."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._rows: Any = deque()

    @property
    def length(self) -> int:
        """The number of elements."""
        return len(self._rows)

    def push(self, batches: Row, start: int, stop: int) -> None:
        """Adds elements start to stop, each in arrays of its own."""
        single = stop - start == len(batches[0])
        for i in range(start, stop):
            row = tuple([b[i, ...] if single else b[i, ...].copy() for b in batches])
            self.add(row)

    def add(self, row: Row) -> None:
        """Adds one element."""
        self._rows.append(row)

    def pop(self, count: int) -> list[Any]:
        """Removes the next elements."""
        return [self._rows.popleft() for _ in range(count)]

    def put_back(self, taken: list[Any]) -> None:
        """Adds what `pop` gave, as the next elements."""
        self._rows.extendleft(reversed(taken))

    def discard(self) -> None:
        """Removes all elements."""
        self._rows.clear()

    def element(self, taken: list[Any]) -> list[Array]:
        """The components of one element."""
        return list(taken[0])

    def batch(self, taken: list[Any]) -> list[Array]:
        """The components of all elements, each in one array."""
        return [np.stack(column) for column in zip(*taken, strict=True)]

    def rows(self) -> list[Row]:
        """The elements, the next one first."""
        return list(self._rows)


class PaddingFifoQueue(RowQueue):
    """First in, first out; elements of a batch are padded where the shape is open."""

    kind = "PaddingFIFOQueue"

    def check_batches(self) -> None:
        """Elements of open dimensions can become batches: they are padded."""

    def batch(self, taken: list[Any]) -> list[Array]:
        """The components of all elements, padded with zeros or empty strings."""
        return [_padded(column) for column in zip(*taken, strict=True)]


def _padded(values: Sequence[Array]) -> Array:
    shapes = {value.shape for value in values}
    if len(shapes) == 1:
        return np.stack(values)
    largest = tuple(max(sizes) for sizes in zip(*shapes, strict=True))
    filling: Any = b"" if values[0].dtype == object else 0
    result: Any = np.full((len(values), *largest), filling, values[0].dtype)
    for i, value in enumerate(values):
        result[(i, *(slice(n) for n in value.shape))] = value
    return result


class ShuffleQueue(RowQueue):
    """Takes elements in random order; while it is open `minimum` stay behind."""

    kind = "RandomShuffleQueue"

    def __init__(
        self,
        name: str,
        dtypes: Sequence[DType],
        shapes: Sequence[Dims],
        capacity: int,
        minimum: int,
        seeds: tuple[int, int],
    ) -> None:
        super().__init__(name, dtypes, shapes, capacity)
        self.minimum = minimum
        self._rows = []
        if not any(seeds):
            if determinism.required():
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"RandomShuffleQueue '{name}': expected seeds while determinism is enabled, got"
                    " seed 0 and seed2 0. Give one of them.",
                )
            seeds = seeds_from_outside(62)
        self.random = (*seeds, 0)  # seeds, and how many numbers were drawn
        self._drawn: list[int] = []

    def available(self) -> int:
        """How many elements may be taken now."""
        return len(self._rows) if self.closed else max(len(self._rows) - self.minimum, 0)

    def _draw(self) -> int:
        seed, seed2, used = self.random
        if not self._drawn:
            with np.errstate(over="ignore"):  # the arithmetic of random numbers wraps around
                start = philox.skip(np, philox.stream_of_seeds(seed, seed2), np.uint64(used // 4))
                self._drawn = philox.words(np, start, 64).tolist()[used % 4 :][::-1]
        self.random = (seed, seed2, used + 1)
        return self._drawn.pop()

    def draw_from(self, seed: int, seed2: int, used: int) -> None:
        """Goes on from a point of a random sequence: that of a checkpoint."""
        with self.lock:
            self.random, self._drawn = (seed, seed2, used), []

    def pop(self, count: int) -> list[Any]:
        """Removes elements at random; the last one comes to the place of each."""
        taken, rows = [], self._rows
        for _ in range(count):
            position = self._draw() % len(rows)
            last = rows.pop()
            if position < len(rows):
                rows[position], last = last, rows[position]
            taken.append(last)
        return taken

    def put_back(self, taken: list[Any]) -> None:
        """Adds what `pop` gave."""
        self._rows.extend(taken)


class PriorityQueue(RowQueue):
    """The element with the smallest number in component 0 first; equals in their order."""

    kind = "PriorityQueue"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._rows = []  # a heap of (priority, serial number, element)
        self._serial = 0

    def check_batches(self) -> None:
        """The priority is a scalar; the others must be known."""
        if self.shapes:
            super().check_batches()

    def add(self, row: Row) -> None:
        """Adds one element."""
        heapq.heappush(self._rows, (int(row[0]), self._serial, row))
        self._serial += 1

    def pop(self, count: int) -> list[Any]:
        """Removes the elements of smallest priority."""
        return [heapq.heappop(self._rows) for _ in range(count)]

    def put_back(self, taken: list[Any]) -> None:
        """Adds what `pop` gave."""
        for item in taken:
            heapq.heappush(self._rows, item)

    def element(self, taken: list[Any]) -> list[Array]:
        """The components of one element."""
        return list(taken[0][2])

    def batch(self, taken: list[Any]) -> list[Array]:
        """The components of all elements, each in one array."""
        return super().batch([row for _, _, row in taken])

    def rows(self) -> list[Row]:
        """The elements, the next one first."""
        return [row for _, _, row in sorted(self._rows, key=lambda item: item[:2])]
