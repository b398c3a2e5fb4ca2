"""Datasets of several others, side by side or one after the other."""

from collections.abc import Sequence

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
    stack,
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
        # of each input: columns, or an error, that were taken while another had none for them
        self._left: list[Element | Exception | None] = [None] * len(inputs)

    def next(self) -> Element | None:
        if self._ended:
            return None
        made: list[Element | Exception] = []
        for number in range(len(self._inputs)):  # all move on, also where one of them fails
            found: Element | Exception | None
            try:
                found = self._one(number)
            except UnwantedError:
                self._put_back(made)
                raise
            except Exception as error:
                found = error
            if found is None:
                self._ended = True
                return None
            made.append(found)
        values: list[Array] = []
        for element in made:
            if isinstance(element, Exception):
                raise element
            values += element
        return tuple(values)

    def _put_back(self, made: list[Element | Exception]) -> None:
        """Has the first inputs give again what they gave last."""
        for number, element in enumerate(made):
            left = self._left[number]
            if isinstance(element, Exception) or isinstance(left, Exception):
                self._left[number] = element  # an error comes with nothing behind it
            else:
                found = stack([element], self._of.inputs[number].types)
                self._left[number] = found if left is None else joined([found, left])

    def _one(self, number: int) -> Element | None:
        """The next element of an input."""
        left = self._left[number]
        if left is None:
            return self._inputs[number].next()
        if isinstance(left, Exception):
            self._left[number] = None
            raise left
        self._drop(number, left, 1)
        return row(left, 0)

    def _drop(self, number: int, left: Element, count: int) -> None:
        rest = tuple(column[count:] for column in left)
        self._left[number] = rest if rows_of(rest) else None

    def columns(self, count: int) -> Element | None:
        if self._ended:
            return None
        parts: list[Element] = []
        for number, each in enumerate(self._inputs):
            left = self._left[number]
            if left is None:
                try:
                    left = each.columns(count)
                except UnwantedError:
                    raise
                except Exception as error:
                    left = error
                self._left[number] = left
            if left is None:
                self._ended = True
                return None
            if isinstance(left, Exception):
                return self.next()  # which raises it: all move on by one element
            parts.append(left)
        fewest = min(count, *map(rows_of, parts)) if parts else 0
        for number, part in enumerate(parts):
            self._drop(number, part, fewest)
        return tuple(column[:fewest] for part in parts for column in part)

    def save(self) -> State:
        left = [list(each) if isinstance(each, tuple) else each for each in self._left]
        return {**super().save(), "ended": self._ended, "left": left}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._ended = restoring.flag(state["ended"], "ZipDataset")
        left = restoring.several(state["left"], "ZipDataset", len(self._inputs))
        self._left = [
            each
            if each is None or isinstance(each, Exception)
            else restoring.columns(each, of, "ZipDataset")
            for each, of in zip(left, self._of.inputs, strict=True)
        ]


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
