"""Random numbers of stages: words of a stream one by one, and seeds that users gave.

A dataset that shuffles owns a `SeedGenerator`: two words of its stream are the seeds of the next
iterator, or its own seeds are those of every iterator. So the order of an epoch follows from the
seeds and from how many iterators there were before it.
"""

from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.data import restoring
from penstock.data.random_numbers import SeedGenerator, draw
from penstock.data.run import Run
from penstock.data.stages import State
from penstock.graph.static_values import constant_value
from penstock.ops.random_state import LARGEST_SEED, get_seed
from penstock.types import dtypes as dt

_FIRST, _MOST = 64, 8192  # words that are made at once, at first and after a while


class Words:
    """The 32-bit words of a stream, one after the other.

    Args:
      seed: the key of the stream.
      seed2: the upper half of its counter.
      position: how many words were taken before.
    """

    __slots__ = ("_at", "_base", "_room", "_words", "seeds")

    def __init__(self, seed: int, seed2: int, position: int = 0) -> None:
        self.seeds = seed, seed2
        self._base = position
        self._at = 0
        self._room = _FIRST
        self._words: list[int] = []

    @property
    def position(self) -> int:
        """How many words were taken."""
        return self._base + self._at

    def next(self) -> int:
        """The next word."""
        at = self._at
        if at == len(self._words):
            self._base, at = self._base + at, 0
            self._words = draw(self.seeds, self._base, self._room).tolist()
            self._room = min(self._room * 4, _MOST)
        self._at = at + 1
        return self._words[at]


class Stream:
    """The words of one iterator, with the generator that gave its seeds: to be saved together."""

    __slots__ = ("_generator", "_run", "next", "words")

    def __init__(self, generator: SeedGenerator, run: Run) -> None:
        self._generator = generator
        self._run = run
        self.words = Words(*generator.next())
        self.next = self.words.next

    def save(self) -> State:
        """Where both are."""
        words = [*self.words.seeds, self.words.position]
        return {"words": words, "generator": self._generator.save()}

    def restore(self, state: State) -> None:
        """Puts both there."""
        self.words = Words(*restoring.words(state["words"], "ShuffleDataset"))
        self.next = self.words.next
        generator = state["generator"]
        restoring.words(generator, "ShuffleDataset")
        self._run.when_restored(lambda: self._generator.restore(generator))


def seeds_of(seed: Any) -> tuple[Tensor, Tensor]:
    """The seeds of an operation of datasets, int64[] each, from the user's seed and the global one.

    Raises:
      TypeError, ValueError: the seed is no integer, or a tensor of another dtype than int64.
    """
    if isinstance(seed, Tensor):
        seed = convert_to_tensor(seed, dt.int64)
        known = constant_value(seed)
        if known is None:
            return _symbolic(seed)
        seed = int(known)
    if seed is not None and not hasattr(seed, "__index__"):
        raise TypeError(f"seed: expected an integer, got {seed!r} of type {type(seed).__name__}.")
    first, second = get_seed(None if seed is None else int(seed))
    return convert_to_tensor(first or 0, dt.int64), convert_to_tensor(second or 0, dt.int64)


def _symbolic(seed: Tensor) -> tuple[Tensor, Tensor]:
    first = get_seed(1)[0] or 0
    second = execute("FloorMod", (seed, convert_to_tensor(LARGEST_SEED, dt.int64)))
    if first == 0:
        zero = execute("Equal", (second, convert_to_tensor(0, dt.int64)))
        second = execute("SelectV2", (zero, convert_to_tensor(LARGEST_SEED, dt.int64), second))
    return convert_to_tensor(first, dt.int64), second
