"""Datasets that give elements as they are, or some of them: operations of imported graphs."""

import time
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.op_def import OpDef
from penstock.data import restoring
from penstock.data.operations import TYPES, dataset_kernel, dataset_op, held, number
from penstock.data.random_numbers import chosen
from penstock.data.run import Run
from penstock.data.seeds import Words
from penstock.data.stages import Array, Description, Element, Stage, State, UnaryStage

_MANTISSA = (1 << 23) - 1


class Passing(Description):
    """The elements of the input."""

    __slots__ = ()

    def cardinality(self) -> int:
        """That of the input."""
        return self.inputs[0].cardinality()

    def start(self, run: Run) -> Stage:
        """The state of the input."""
        return self.inputs[0].start(run)


def _both(text: str, doc: str, *, stateful: bool = False) -> tuple[OpDef, OpDef]:
    """An operation under its name and under its first one."""
    return (
        dataset_op(text, doc, stateful=stateful),
        dataset_op(f"Experimental{text}", doc, stateful=stateful),
    )


_INPUT = "input_dataset: variant"
_END = f"{TYPES}) -> handle: variant"

# ---- what nothing is done for

STATS = _both(
    f"SetStatsAggregatorDataset({_INPUT}, stats_aggregator: resource, tag: string, counter_prefix:"
    f" string; {_END}",
    "The elements as they are; nothing is recorded.",
    stateful=True,
)
THREAD_POOL = _both(
    f"ThreadPoolDataset({_INPUT}, thread_pool: resource; {_END}",
    "The elements as they are, made by the shared threads.",
    stateful=True,
)


class _Same(Passing):
    __slots__ = ("kind",)

    def __init__(self, kind: str, input: Description, types: Any, shapes: Any) -> None:
        super().__init__((input,), types, shapes)
        self.kind = kind  # type: ignore[misc]


@dataset_kernel(STATS[0])
@dataset_kernel(STATS[1])
def _stats(
    input_dataset: Array, stats_aggregator: Any, tag: Array, counter_prefix: Array, *,
    output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    del stats_aggregator, tag, counter_prefix
    return _Same("SetStatsAggregatorDataset", held(input_dataset), output_types, output_shapes)


@dataset_kernel(THREAD_POOL[0])
@dataset_kernel(THREAD_POOL[1])
def _thread_pool(
    input_dataset: Array, thread_pool: Any, *, output_types: Any, output_shapes: Any
) -> Description:
    del thread_pool
    return _Same("ThreadPoolDataset", held(input_dataset), output_types, output_shapes)


def _not_negative(name: str, value: Array) -> int:
    found = number(value)
    if found < 0:
        raise errors.InvalidArgumentError(None, None, f"`{name}` must be >= 0, got {found}.")
    return found


# ---- sleeping

SLEEP = _both(
    f"SleepDataset({_INPUT}, sleep_microseconds: int64; {_END}",
    "The elements, each after some time.",
)


class Sleep(Passing):
    """Elements that take their time."""

    kind = "SleepDataset"
    __slots__ = ("seconds",)

    def __init__(self, input: Description, seconds: float, types: Any, shapes: Any) -> None:
        super().__init__((input,), types, shapes)
        self.seconds = seconds

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _SleepStage(self.inputs[0].start(run), self.seconds, run)


class _SleepStage(UnaryStage):
    def __init__(self, input: Stage, seconds: float, run: Run) -> None:
        super().__init__(input)
        self._seconds = seconds
        self._run = run

    def next(self) -> Element | None:
        end = time.monotonic() + self._seconds
        while (left := end - time.monotonic()) > 0:
            if self._run.closed.wait(left):
                self._run.check_open()
        return self.input.next()


@dataset_kernel(SLEEP[0])
@dataset_kernel(SLEEP[1])
def _sleep(
    input_dataset: Array, sleep_microseconds: Array, *, output_types: Any, output_shapes: Any
) -> Description:
    seconds = _not_negative("sleep_microseconds", sleep_microseconds) * 1e-6
    return Sleep(held(input_dataset), seconds, output_types, output_shapes)


# ---- sampling

SAMPLING = dataset_op(
    f"SamplingDataset({_INPUT}, rate: float, seed: int64, seed2: int64; {_END}",
    "Some of the elements, at random.",
)


class Sampling(Description):
    """Elements that are drawn, each by itself, with a probability.

    Args:
      input: the elements.
      rate: the probability.
      seeds: of the numbers.
      types: the dtypes.
      shapes: the shapes.
    """

    kind = "SamplingDataset"
    __slots__ = ("rate", "seeds")

    def __init__(
        self, input: Description, rate: float, seeds: tuple[int, int], types: Any, shapes: Any
    ) -> None:
        super().__init__((input,), types, shapes)
        self.rate = rate
        self.seeds = seeds

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _SamplingStage(self.inputs[0].start(run), self.rate, Words(*self.seeds))


class _SamplingStage(UnaryStage):
    def __init__(self, input: Stage, rate: float, words: Words) -> None:
        super().__init__(input)
        self._rate = rate
        self._words = words

    def next(self) -> Element | None:
        while (found := self.input.next()) is not None:
            if (self._words.next() & _MANTISSA) / (_MANTISSA + 1) < self._rate:
                return found
        return None

    def save(self) -> State:
        words = [*self._words.seeds, self._words.position]
        return {**super().save(), "words": words}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._words = Words(*restoring.words(state["words"], "SamplingDataset"))


@dataset_kernel(SAMPLING)
def _sampling(
    input_dataset: Array, rate: Array, seed: Array, seed2: Array, *, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    share = float(np.asarray(rate))
    seeds = chosen(seed, seed2)
    return Sampling(held(input_dataset), share, seeds, output_types, output_shapes)


# ---- one of several that are alike

CHOOSE_FASTEST = _both(
    "ChooseFastestDataset(input_datasets: N * variant; N: int >= 2, num_experiments: int,"
    f" {TYPES}) -> handle: variant",
    "The elements of the first of several datasets that give the same.",
)


@dataset_kernel(CHOOSE_FASTEST[0])
@dataset_kernel(CHOOSE_FASTEST[1])
def _choose_fastest(
    input_datasets: list[Array], *, output_types: Any, output_shapes: Any
) -> Description:
    found = [held(each) for each in input_datasets]
    counts = [each.cardinality() for each in found]
    for place, count in enumerate(counts):
        if count != counts[0]:
            raise errors.InvalidArgumentError(
                None,
                None,
                "All inputs to ChooseFastestDataset must have compatible cardinalities. Input"
                f" {place} has cardinality: {count}, while all prior inputs have cardinality:"
                f" {counts[0]}.",
            )
    return _Same("ChooseFastestDataset", found[0], output_types, output_shapes)
