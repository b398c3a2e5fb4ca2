"""Datasets of several others, side by side or one after the other."""

import contextlib
from collections.abc import Sequence

import numpy as np

from penstock.data import restoring
from penstock.data.operations import NAMED, dataset_kernel, dataset_op, held
from penstock.data.run import Run, UnwantedError
from penstock.data.stages import (
    INFINITE,
    UNKNOWN,
    Array,
    Description,
    Element,
    Stage,
    State,
    joined,
    row,
    rows_of,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class Zip(Description):
    """Elements side by side, as long as all have one."""

    kind = "ZipDataset"
    __slots__ = ()

    def cardinality(self) -> int:
        """The shortest one's."""
        found = [i.cardinality() for i in self.inputs]
        finite = [n for n in found if n >= 0]
        if UNKNOWN in found:
            return 0 if 0 in finite else UNKNOWN
        return min(finite) if finite else INFINITE

    def start(self, run: Run) -> Stage:
        """States of all."""
        return _ZipStage([i.start(run) for i in self.inputs], self)


class _ManyStage(Stage):
    """A stage that takes its elements from several others."""

    def __init__(self, inputs: Sequence[Stage]) -> None:
        self._inputs = list(inputs)

    def save(self) -> State:
        return {"inputs": [i.save() for i in self._inputs]}

    def restore(self, state: State) -> None:
        inputs = restoring.several(state["inputs"], "A dataset of several", len(self._inputs))
        for each, saved in zip(self._inputs, inputs, strict=True):
            each.restore(saved)

    def parts(self) -> Sequence[Stage]:
        return self._inputs


class _ZipStage(_ManyStage):
    def __init__(self, inputs: Sequence[Stage], description: Zip) -> None:
        super().__init__(inputs)
        self._of = description
        self.stacked = all(i.stacked for i in inputs)
        self._ended = False
        # of each input: columns that were taken while another had none for them
        self._left: list[Element | None] = [None] * len(inputs)

    def next(self) -> Element | None:
        if self._ended:
            return None
        made: list[Element] = []
        failed: Exception | None = None
        for number in range(len(self._inputs)):  # all move on, also where one of them fails
            try:
                found = self._one(number)
            except UnwantedError:
                self._put_back(made)
                raise
            except Exception as error:
                failed, found = failed or error, ()
            if found is None:
                self._ended = True
                return None
            made.append(found)
        if failed is not None:
            raise failed
        return tuple(value for element in made for value in element)

    def _put_back(self, made: list[Element]) -> None:
        """Has the first inputs give again what they gave last."""
        for number, element in enumerate(made):
            left, found = self._left[number], tuple(map(_column, element))
            if found:
                self._left[number] = found if left is None else joined([found, left])

    def _one(self, number: int) -> Element | None:
        """The next element of an input."""
        left = self._left[number]
        if left is None:
            return self._inputs[number].next()
        self._drop(number, 1)
        return row(left, 0)

    def _drop(self, number: int, count: int) -> None:
        left = self._left[number]
        if left is not None:
            rest = tuple(column[count:] for column in left)
            self._left[number] = rest if rows_of(rest) else None

    def columns(self, count: int) -> Element | None:
        if self._ended:
            return None
        for number, each in enumerate(self._inputs):
            if self._left[number] is not None:
                continue
            try:
                self._left[number] = each.columns(count)
            except UnwantedError:
                raise
            except Exception:
                self._pass_over(number)
                raise
            if self._left[number] is None:
                self._ended = True
                return None
        parts = [left for left in self._left if left is not None]
        fewest = min(count, *map(rows_of, parts)) if parts else 0
        for number in range(len(parts)):
            self._drop(number, fewest)
        return tuple(column[:fewest] for part in parts for column in part)

    def _pass_over(self, failed: int) -> None:
        """Passes over one element of every input but that which has failed."""
        for number in range(len(self._inputs)):
            if number != failed:
                with contextlib.suppress(Exception):
                    self._ended = self._one(number) is None or self._ended

    def save(self) -> State:
        left = [None if each is None else list(each) for each in self._left]
        return {**super().save(), "ended": self._ended, "left": left}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._ended = restoring.flag(state["ended"], "ZipDataset")
        left = restoring.several(state["left"], "ZipDataset", len(self._inputs))
        self._left = [
            None if each is None else restoring.columns(each, of, "ZipDataset")
            for each, of in zip(left, self._of.inputs, strict=True)
        ]


def _column(value: Array) -> Array:
    if isinstance(value, np.ndarray):
        return value[None]
    column = np.empty(1, object)
    column[0] = value
    return column


ZIP = dataset_op(
    "ZipDataset(input_datasets: N * variant; output_types: list(type) >= 1, output_shapes:"
    " list(shape) >= 1, N: int >= 1, metadata: string = '') -> handle: variant",
    "The elements of several datasets side by side.",
)


@dataset_kernel(ZIP)
def _zip(
    input_datasets: list[Array], *, output_types: Sequence[DType], output_shapes: Sequence[Dims]
) -> Description:
    return Zip([held(each) for each in input_datasets], output_types, output_shapes)


class Concatenate(Description):
    """The elements of one dataset, then those of another."""

    kind = "ConcatenateDataset"
    __slots__ = ()

    def cardinality(self) -> int:
        """The sum."""
        found = [i.cardinality() for i in self.inputs]
        if INFINITE in found:
            return INFINITE
        return UNKNOWN if UNKNOWN in found else sum(found)

    def start(self, run: Run) -> Stage:
        """A state before the first element of the first."""
        return _ConcatenateStage([i.start(run) for i in self.inputs])


class _ConcatenateStage(_ManyStage):
    def __init__(self, inputs: Sequence[Stage]) -> None:
        super().__init__(inputs)
        self.stacked = all(i.stacked for i in inputs)
        self._at = 0

    def next(self) -> Element | None:
        while self._at < len(self._inputs):
            found = self._inputs[self._at].next()
            if found is not None:
                return found
            self._at += 1
        return None

    def columns(self, count: int) -> Element | None:
        while self._at < len(self._inputs):
            found = self._inputs[self._at].columns(count)
            if found is not None:
                return found
            self._at += 1
        return None

    def save(self) -> State:
        return {**super().save(), "at": self._at}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._at = restoring.whole(state["at"], "ConcatenateDataset", 0, len(self._inputs))


CONCATENATE = dataset_op(
    f"ConcatenateDataset(input_dataset: variant, another_dataset: variant; {NAMED}) -> handle:"
    " variant",
    "The elements of two datasets, one after the other.",
)


@dataset_kernel(CONCATENATE)
def _concatenate(
    input_dataset: Array, another_dataset: Array, *, output_types: Sequence[DType],
    output_shapes: Sequence[Dims],
) -> Description:  # fmt: skip
    both = [held(input_dataset), held(another_dataset)]
    return Concatenate(both, output_types, output_shapes)
