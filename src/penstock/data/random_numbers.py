"""Datasets of random numbers, and generators of seeds that outlive an iterator.

The numbers are the words of a stream of blocks, as those of the stateful random operations. Where
each iteration is to have others, its seeds are the next two words of the stream of the dataset's.
"""

import secrets
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.resources import ResourceHandle
from penstock.data import restoring
from penstock.data.operations import HOST, NAMED, TYPES, dataset_kernel, dataset_op, number
from penstock.data.run import Run
from penstock.data.sources import CountedStage
from penstock.data.stages import INFINITE, Array, Description, Element, Stage, State
from penstock.ops.random_philox import skip, stream_of_seeds, words
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Seeds = tuple[int, int]
_CHUNK = 256  # words that are drawn at a time
_ENDLESS = 1 << 62
_WHY = "a generator of seeds has no gradient"


def draw(seeds: Seeds, start: int, count: int) -> Any:
    """Words of the stream of two seeds: uint32[count], from the one with number `start`."""
    block, first = divmod(start, 4)
    stream = skip(np, stream_of_seeds(*seeds), np.uint64(block))
    return words(np, stream, first + count)[first:]


def chosen(seed: Any, seed2: Any) -> Seeds:
    """Two seeds; random ones where both are 0."""
    found = number(seed), number(seed2)
    return found if found != (0, 0) else (secrets.randbits(63), secrets.randbits(63))


class SeedGenerator:
    """Gives seeds, others each time where they are not to be the same. Thread-safe.

    Args:
      seeds: those that it begins with.
      again: whether each pair differs from the last.
    """

    def __init__(self, seeds: Seeds, again: bool) -> None:
        self.seeds = seeds
        self.again = again
        self._lock = threading.Lock()  # guards: _drawn
        self._drawn = 0

    def next(self) -> Seeds:
        """The seeds of one iteration."""
        if not self.again:
            return self.seeds
        with self._lock:
            first, second = draw(self.seeds, self._drawn, 2).tolist()
            self._drawn += 2
        return first, second

    def save(self) -> State:
        """Its seeds, and how many words it gave."""
        with self._lock:
            return [*self.seeds, self._drawn]

    def restore(self, state: State) -> None:
        """Goes on from there."""
        first, second, drawn = restoring.words(state, "A generator of seeds")
        with self._lock:
            self.seeds, self._drawn = (first, second), drawn


def generator_of(handle: Any) -> SeedGenerator | None:
    """The generator that a handle refers to; None for the dummy, which refers to none.

    Raises:
      InvalidArgumentError: it refers to something else.
    """
    found = getattr(handle, "resource", None)
    if found is not None and not isinstance(found, SeedGenerator):
        raise errors.InvalidArgumentError(
            None, None, f"expected the handle of a seed generator, got {handle!r}."
        )
    return found


ANONYMOUS_GENERATOR = define_op(
    "AnonymousSeedGenerator(seed: int64, seed2: int64, reshuffle: bool) -> handle: resource,"
    " deleter: variant",
    shape=lambda c: [(), ()],
    stateful=True,
    doc="A generator of seeds for datasets.",
).not_differentiable(_WHY)
DUMMY_GENERATOR = define_op(
    "DummySeedGenerator() -> handle: resource",
    shape=shapes.scalar,
    stateful=True,
    doc="A handle that refers to no generator of seeds: the dataset has its own.",
).not_differentiable(_WHY)
RANDOM_GENERATOR = define_op(
    "AnonymousRandomSeedGenerator(seed: int64, seed2: int64) -> handle: resource, deleter: variant",
    shape=lambda c: [(), ()],
    stateful=True,
    doc="A generator that gives other seeds each time.",
).not_differentiable(_WHY)
DELETE_RANDOM_GENERATOR = define_op(
    "DeleteRandomSeedGenerator(handle: resource, deleter: variant) -> ()",
    shape=shapes.no_output,
    stateful=True,
    doc="Says that a generator is not needed; it goes with its last handle.",
).not_differentiable(_WHY)
DELETE_GENERATOR = define_op(
    "DeleteSeedGenerator(handle: resource, deleter: variant) -> ()",
    shape=shapes.no_output,
    stateful=True,
    doc="Says that a generator is not needed; it goes with its last handle.",
).not_differentiable(_WHY)


@host_kernel(ANONYMOUS_GENERATOR, limit=HOST)
def _anonymous_generator(seed: Array, seed2: Array, reshuffle: Array) -> tuple[Any, Any]:
    made = SeedGenerator(chosen(seed, seed2), bool(reshuffle))
    return ResourceHandle("", "AnonymousSeedGenerator", made), made


@host_kernel(DUMMY_GENERATOR, limit=HOST)
def _dummy_generator() -> ResourceHandle:
    return ResourceHandle("", "DummySeedGenerator", None)


@host_kernel(RANDOM_GENERATOR, limit=HOST)
def _random_generator(seed: Array, seed2: Array) -> tuple[Any, Any]:
    made = SeedGenerator(chosen(seed, seed2), True)
    return ResourceHandle("", "AnonymousRandomSeedGenerator", made), made


@host_kernel(DELETE_GENERATOR, limit=HOST)
@host_kernel(DELETE_RANDOM_GENERATOR, limit=HOST)
def _delete_generator(handle: Any, deleter: Any) -> None:
    pass


# ---- numbers


class Random(Description):
    """Random numbers without an end.

    Args:
      kind: the operation's name.
      generator: of the seeds of each iteration.
      types: of the one component.
      shapes: of the one component.
    """

    __slots__ = ("generator", "kind")

    def __init__(
        self, kind: str, generator: SeedGenerator, types: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        super().__init__((), types, shapes)
        self.kind = kind  # type: ignore[misc]
        self.generator = generator

    def cardinality(self) -> int:
        """Endless."""
        return INFINITE

    def start(self, run: Run) -> Stage:
        """A state before the first number."""
        return _RandomStage(self.generator.next(), run)


class _RandomStage(CountedStage):
    def __init__(self, seeds: Seeds, run: Run) -> None:
        super().__init__(_ENDLESS, run)
        self._seeds = seeds
        self._chunk: Any = np.zeros(0, np.int64)
        self._first = 0  # number of the chunk's first word

    def rows(self, start: int, stop: int) -> Element:
        if start < self._first or stop > self._first + len(self._chunk):
            count = max(_CHUNK, stop - start)
            self._chunk, self._first = draw(self._seeds, start, count).astype(np.int64), start
        return (self._chunk[start - self._first : stop - self._first],)

    def save(self) -> State:
        return {"at": super().save(), "seeds": list(self._seeds)}

    def restore(self, state: State) -> None:
        super().restore(state["at"])
        self._seeds = restoring.seeds(state["seeds"], "RandomDataset")
        self._chunk, self._first = self._chunk[:0], 0


RANDOM = dataset_op(
    f"RandomDataset(seed: int64, seed2: int64; {NAMED}) -> handle: variant",
    "Random numbers of 32 bits without an end.",
    stateful=True,
)
OLD_RANDOM = dataset_op(
    f"ExperimentalRandomDataset(seed: int64, seed2: int64; {TYPES}) -> handle: variant",
    "Random numbers of 32 bits without an end.",
    stateful=True,
)
RANDOM_V2 = dataset_op(
    "RandomDatasetV2(seed: int64, seed2: int64, seed_generator: resource;"
    " rerandomize_each_iteration: bool = False,"
    f" {NAMED}) -> handle: variant",
    "Random numbers of 32 bits without an end, others for each iteration where that is asked for.",
    stateful=True,
)


@dataset_kernel(RANDOM)
@dataset_kernel(OLD_RANDOM)
def _random(seed: Array, seed2: Array, *, output_types: Any, output_shapes: Any) -> Description:
    generator = SeedGenerator(chosen(seed, seed2), False)
    return Random("RandomDataset", generator, output_types, output_shapes)


@dataset_kernel(RANDOM_V2)
def _random_v2(
    seed: Array, seed2: Array, seed_generator: Any, *, rerandomize_each_iteration: bool,
    output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    found = generator_of(seed_generator)
    if found is None:
        found = SeedGenerator(chosen(seed, seed2), bool(rerandomize_each_iteration))
    return Random("RandomDatasetV2", found, output_types, output_shapes)
