"""Datasets in random order: shuffle, and shuffle_and_repeat.

The order is TensorFlow's for the same seeds. A buffer holds elements in the order of the input; the
one at a random place goes out, the first one takes its place, and the next of the input comes in at
the end.
"""

import sys
from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.data import restoring
from penstock.data.counting import Repeat
from penstock.data.operations import NAMED, dataset_kernel, dataset_op, held, number
from penstock.data.random_numbers import SeedGenerator, chosen, generator_of
from penstock.data.run import Run
from penstock.data.seeds import Stream
from penstock.data.stages import (
    INFINITE,
    UNKNOWN,
    Array,
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
    rows_from,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_WORTH = 16  # missing elements from which a block of them is taken
_BLOCK = 4096


class Shuffle(Description):
    """Elements in random order.

    Args:
      input: the elements.
      size: how many the buffer holds; UNKNOWN for all.
      seeds: gives each iterator its seeds.
      types: the dtypes.
      shapes: the shapes.
    """

    kind = "ShuffleDataset"
    __slots__ = ("seeds", "size")

    def __init__(
        self,
        input: Description,
        size: int,
        seeds: SeedGenerator,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.size = size
        self.seeds = seeds

    def cardinality(self) -> int:
        """That of the input."""
        return self.inputs[0].cardinality()

    def start(self, run: Run) -> Stage:
        """A state with an empty buffer."""
        return _ShuffleStage(self.inputs[0].start(run), self, run)


class _ShuffleStage(UnaryStage):
    def __init__(self, input: Stage, description: Shuffle, run: Run) -> None:
        super().__init__(input)
        self._of = description
        self._size = sys.maxsize if description.size == UNKNOWN else description.size
        self._random = Stream(description.seeds, run)
        self._kept: list[Any] = []  # elements; before `_start` they are gone
        self._start = 0
        self._ended = False

    def next(self) -> Element | None:
        if not self._ended:
            self._fill()
        kept, start = self._kept, self._start
        left = len(kept) - start
        if not left:
            return None
        at = start + self._random.next() % left
        found: Element = kept[at]
        kept[at] = kept[start]
        kept[start] = None
        self._start = start + 1
        if start > left:  # most of the list is gone
            del kept[: start + 1]
            self._start = 0
        return found

    def _fill(self) -> None:
        """Takes elements of the input until the buffer is full."""
        while (missing := self._size - len(self._kept) + self._start) > 0:
            if missing < _WORTH or not self.input.stacked:
                element = self.input.next()
                if element is None:
                    self._ended = True
                    return
                self._kept.append(element)
                continue
            columns = self.input.columns(min(missing, _BLOCK))
            if columns is None:
                self._ended = True
                return
            self._kept += rows_from(columns)

    def save(self) -> State:
        kept = [list(element) for element in self._kept[self._start :]]
        return {
            **super().save(), "kept": kept, "ended": self._ended, "random": self._random.save(),
        }  # fmt: skip

    def restore(self, state: State) -> None:
        super().restore(state)
        self._kept, self._start = restoring.elements(state["kept"], self._of, "ShuffleDataset"), 0
        self._ended = restoring.flag(state["ended"], "ShuffleDataset")
        self._random.restore(state["random"])


class ShuffleAndRepeat(Repeat):
    """Rounds of elements in random order, each in another one."""

    kind = "ShuffleAndRepeatDataset"
    __slots__ = ()

    def cardinality(self) -> int:
        """The count times those of the input."""
        return INFINITE if self.count < 0 else super().cardinality()


_INPUTS = "input_dataset: variant, buffer_size: int64"
_RESHUFFLES = f"reshuffle_each_iteration: bool = True, {NAMED}"
_DOC = "The elements of a dataset in random order."
SHUFFLE_V1 = dataset_op(
    f"ShuffleDataset({_INPUTS}, seed: int64, seed2: int64; {_RESHUFFLES}) -> handle: variant", _DOC
)
SHUFFLE_V2 = dataset_op(
    f"ShuffleDatasetV2({_INPUTS}, seed_generator: resource; {NAMED}) -> handle: variant",
    _DOC,
    stateful=True,
)
SHUFFLE = dataset_op(
    f"ShuffleDatasetV3({_INPUTS}, seed: int64, seed2: int64, seed_generator: resource;"
    f" {_RESHUFFLES}) -> handle: variant",
    _DOC,
    stateful=True,
)
_LATER = (
    "output_types: list(type) >= 1, output_shapes: list(shape) >= 1, reshuffle_each_iteration:"
    " bool = True, metadata: string = ''"
)
SHUFFLE_AND_REPEAT_V1 = dataset_op(
    f"ShuffleAndRepeatDataset({_INPUTS}, seed: int64, seed2: int64, count: int64; {_LATER}) ->"
    " handle: variant",
    "The elements of a dataset several times, each time in random order.",
)
SHUFFLE_AND_REPEAT = dataset_op(
    f"ShuffleAndRepeatDatasetV2({_INPUTS}, seed: int64, seed2: int64, count: int64, seed_generator:"
    f" resource; {_RESHUFFLES}) -> handle: variant",
    "The elements of a dataset several times, each time in random order.",
    stateful=True,
)


def _size(value: Array) -> int:
    size = number(value)
    if size <= 0 and size != UNKNOWN:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"buffer_size must be greater than zero or UNKNOWN_CARDINALITY ({UNKNOWN}), got"
            f" {size}. Give the number of elements to choose from.",
        )
    return size


def _generator(handle: Any, seed: Array, seed2: Array, fresh: bool) -> SeedGenerator:
    found = None if handle is None else generator_of(handle)
    return SeedGenerator(chosen(seed, seed2), fresh) if found is None else found


@dataset_kernel(SHUFFLE_V1)
def _shuffle_v1(
    input_dataset: Array, buffer_size: Array, seed: Array, seed2: Array, *,
    reshuffle_each_iteration: bool, output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    seeds = SeedGenerator(chosen(seed, seed2), reshuffle_each_iteration)
    size = _size(buffer_size)
    return Shuffle(held(input_dataset), size, seeds, output_types, output_shapes)


@dataset_kernel(SHUFFLE_V2)
def _shuffle_v2(
    input_dataset: Array, buffer_size: Array, seed_generator: Any, *, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    seeds = generator_of(seed_generator)
    if seeds is None:
        raise errors.InvalidArgumentError(
            None,
            None,
            "ShuffleDatasetV2: expected the handle of a seed generator, got a dummy. Make one with"
            " AnonymousSeedGenerator.",
        )
    size = _size(buffer_size)
    return Shuffle(held(input_dataset), size, seeds, output_types, output_shapes)


@dataset_kernel(SHUFFLE)
def _shuffle(
    input_dataset: Array, buffer_size: Array, seed: Array, seed2: Array, seed_generator: Any, *,
    reshuffle_each_iteration: bool, output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    seeds = _generator(seed_generator, seed, seed2, reshuffle_each_iteration)
    size = _size(buffer_size)
    return Shuffle(held(input_dataset), size, seeds, output_types, output_shapes)


@dataset_kernel(SHUFFLE_AND_REPEAT_V1)
@dataset_kernel(SHUFFLE_AND_REPEAT)
def _shuffle_and_repeat(
    input_dataset: Array, buffer_size: Array, seed: Array, seed2: Array, count: Array,
    seed_generator: Any = None, *, reshuffle_each_iteration: bool, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    size, rounds = _size(buffer_size), number(count)
    if rounds <= 0 and rounds != INFINITE:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"count must be greater than zero or equal to -1, got {rounds}. Leave it out to repeat"
            " for ever.",
        )
    seeds = _generator(seed_generator, seed, seed2, reshuffle_each_iteration)
    shuffled = Shuffle(held(input_dataset), size, seeds, output_types, output_shapes)
    return ShuffleAndRepeat(shuffled, rounds, output_types, output_shapes)
