"""Datasets of what is in memory: a range of numbers, a tensor, the rows of tensors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.data import restoring
from penstock.data.operations import NAMED, dataset_kernel, dataset_op, number
from penstock.data.run import Run
from penstock.data.stages import Array, Description, Element, SourceStage, Stage, State, row
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class CountedStage(SourceStage):
    """A stage that knows how many elements there are and gives those at any positions."""

    stacked = True

    def __init__(self, count: int, run: Run) -> None:
        super().__init__(run)
        self._count = count
        self._at = 0

    def rows(self, start: int, stop: int) -> Element:
        """The elements from one position to before another, as columns."""
        raise NotImplementedError(type(self).__name__)

    def next(self) -> Element | None:
        """The element at the next position."""
        self.check_wanted()
        at = self._at
        if at >= self._count:
            return None
        self._at = at + 1
        return row(self.rows(at, at + 1), 0)

    def columns(self, count: int) -> Element | None:
        """The elements at the next positions."""
        self.check_wanted()
        at = self._at
        stop = self._at = min(at + count, self._count)
        return self.rows(at, stop) if stop > at else None

    def skip(self, count: int) -> int:
        """Moves on."""
        before = self._at
        self._at = min(before + count, self._count)
        return self._at - before

    def save(self) -> State:
        """The position."""
        return self._at

    def restore(self, state: State) -> None:
        """Goes to a position."""
        self._at = restoring.whole(state, "The position of an iterator", 0, self._count)


# ---- numbers

RANGE = dataset_op(
    f"RangeDataset(start: int64, stop: int64, step: int64; {NAMED}, replicate_on_split: bool ="
    " False) -> handle: variant",
    "The numbers from `start` to before `stop`, `step` apart.",
    stateful=True,
)


class Range(Description):
    """Numbers."""

    kind = "RangeDataset"
    __slots__ = ("numbers",)

    def __init__(self, numbers: range, types: Sequence[DType], shapes: Sequence[Dims]) -> None:
        super().__init__((), types, shapes)
        self.numbers = numbers

    def cardinality(self) -> int:
        """How many numbers there are; a number that fits."""
        return min(_count(self.numbers), np.iinfo(np.int64).max)

    def start(self, run: Run) -> Stage:
        """A state before the first number."""
        return _RangeStage(self.numbers, self.types[0].numpy_dtype, run)


def _count(numbers: range) -> int:
    """The length of a range, also where it is too long for `len`."""
    return max(0, -((numbers.start - numbers.stop) // numbers.step))


class _RangeStage(CountedStage):
    def __init__(self, numbers: range, dtype: Any, run: Run) -> None:
        super().__init__(_count(numbers), run)
        self._numbers = numbers
        self._dtype = dtype

    def next(self) -> Element | None:
        self.check_wanted()
        at = self._at
        if at >= self._count:
            return None
        self._at = at + 1
        return (np.array(self._numbers[at], np.int64).astype(self._dtype),)  # wraps, as in rows

    def rows(self, start: int, stop: int) -> Element:
        part = self._numbers[start:stop]
        return (np.arange(part.start, part.stop, part.step, dtype=np.int64).astype(self._dtype),)


@dataset_kernel(RANGE)
def _range(
    start: Array, stop: Array, step: Array, *, output_types: Any, output_shapes: Any
) -> Description:
    by = number(step)
    if not (output_types[0].is_integer or output_types[0].is_floating):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"RangeDataset: expected a dtype of integers or of floating-point numbers, got"
            f" {output_types[0].name}. Change the elements with map.",
        )
    if by == 0:
        raise errors.InvalidArgumentError(
            None, None, "RangeDataset: step must be a non-zero integer, got 0."
        )
    return Range(range(number(start), number(stop), by), output_types, output_shapes)


# ---- tensors


class Rows(Description):
    """The rows of arrays."""

    kind = "TensorSliceDataset"
    __slots__ = ("arrays", "count")

    def __init__(
        self, arrays: Sequence[Array], types: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        super().__init__((), types, shapes)
        self.arrays = tuple(arrays)
        self.count = len(self.arrays[0])

    def cardinality(self) -> int:
        """The number of rows."""
        return self.count

    def start(self, run: Run) -> Stage:
        """A state before the first row."""
        return _RowsStage(self, run)


class _RowsStage(CountedStage):
    def __init__(self, description: Rows, run: Run) -> None:
        super().__init__(description.count, run)
        self._arrays = description.arrays

    def rows(self, start: int, stop: int) -> Element:
        return tuple(a[start:stop] for a in self._arrays)


TENSOR = dataset_op(
    "TensorDataset(components: [Toutput_types]; Toutput_types: list(type) >= 1, output_shapes:"
    " list(shape) >= 1, metadata: string = '') -> handle: variant",
    "One element.",
    stateful=True,
)
TENSOR_SLICE = dataset_op(
    "TensorSliceDataset(components: [Toutput_types]; Toutput_types: list(type) >= 1, output_shapes:"
    " list(shape) >= 1, is_files: bool = False, metadata: string = '', replicate_on_split: bool ="
    " False) -> handle: variant",
    "The rows of tensors.",
    stateful=True,
)


@dataset_kernel(TENSOR)
def _tensor(components: list[Array], *, Toutput_types: Any, output_shapes: Any) -> Description:
    # An array with one row more: the row is the element, variants and strings included.
    rows = []
    for value, dtype in zip(components, Toutput_types, strict=True):
        made = np.empty((1, *np.shape(value)), dtype.numpy_dtype)
        made[0] = value[()] if isinstance(value, np.ndarray) and value.shape == () else value
        rows.append(made)
    return Rows(rows, Toutput_types, output_shapes)


@dataset_kernel(TENSOR_SLICE)
def _tensor_slice(
    components: list[Array], *, Toutput_types: Any, output_shapes: Any
) -> Description:
    arrays = [np.asarray(c) for c in components]
    sizes = [a.shape[:1] for a in arrays]
    if () in sizes or len(set(sizes)) > 1:
        raise errors.InvalidArgumentError(
            None,
            None,
            "TensorSliceDataset: expected components with as many rows as each other, got shapes"
            f" {[a.shape for a in arrays]}.",
        )
    return Rows(arrays, Toutput_types, output_shapes)
