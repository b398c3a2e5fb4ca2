"""Datasets that choose among others for each element, and that count on a number of elements."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.data import restoring
from penstock.data.operations import HOST, TYPES, dataset_op, held, number
from penstock.data.run import Run
from penstock.data.stages import (
    INFINITE,
    UNKNOWN,
    Array,
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class DirectedInterleave(Description):
    """Elements of the datasets that the numbers of another name.

    Args:
      selector: the numbers.
      inputs: the datasets that are chosen from.
      stops: whether it ends where the chosen one has no more.
      types: of the elements.
      shapes: of these.
    """

    kind = "DirectedInterleaveDataset"
    __slots__ = ("stops",)

    def __init__(
        self,
        selector: Description,
        inputs: Sequence[Description],
        stops: bool,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((selector, *inputs), types, shapes)
        self.stops = stops

    def cardinality(self) -> int:
        """Infinite where one that is chosen from is."""
        found = [each.cardinality() for each in self.inputs[1:]]
        return INFINITE if INFINITE in found else UNKNOWN

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        selector, *others = [each.start(run) for each in self.inputs]
        return _DirectedStage(selector, others, self.stops)


class _DirectedStage(UnaryStage):
    """The input gives the numbers."""

    def __init__(self, selector: Stage, others: Sequence[Stage], stops: bool) -> None:
        super().__init__(selector)
        self._others = list(others)
        self._left = [True] * len(others)
        self._stops = stops

    def next(self) -> Element | None:
        while any(self._left):
            chosen = self.input.next()
            if chosen is None:
                return None
            at = int(np.asarray(chosen[0]))
            if not 0 <= at < len(self._others):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Selector index out of range: {at} >= {len(self._others)}. Expected the number"
                    " of one of the datasets.",
                )
            found = self._others[at].next() if self._left[at] else None
            if found is not None:
                return found
            self._left[at] = False
            if self._stops:
                self._left = [False] * len(self._left)
        return None

    def save(self) -> State:
        return {
            **super().save(),
            "others": [each.save() for each in self._others],
            "left": list(self._left),
        }

    def restore(self, state: State) -> None:
        super().restore(state)
        what, count = "DirectedInterleaveDataset", len(self._others)
        others = restoring.several(state["others"], what, count)
        for each, saved in zip(self._others, others, strict=True):
            each.restore(saved)
        left = restoring.several(state["left"], what, count)
        self._left = [restoring.flag(each, what) for each in left]

    def parts(self) -> Sequence[Stage]:
        return (self.input, *self._others)


DIRECTED_INTERLEAVE = dataset_op(
    "DirectedInterleaveDataset(selector_input_dataset: variant, data_input_datasets: N * variant;"
    f" {TYPES}, N: int >= 1, stop_on_empty_dataset: bool = False) -> handle: variant",
    "Elements of datasets, chosen by the numbers that another dataset gives.",
)
_OLD_DIRECTED_INTERLEAVE = dataset_op(
    "ExperimentalDirectedInterleaveDataset(selector_input_dataset: variant, data_input_datasets: N"
    f" * variant; {TYPES}, N: int >= 1) -> handle: variant",
    "Elements of datasets, chosen by the numbers that another dataset gives.",
)


@host_kernel(DIRECTED_INTERLEAVE, limit=HOST)
def _directed_interleave(
    selector_input_dataset: Array, data_input_datasets: list[Array], *, output_types: Any,
    output_shapes: Any, stop_on_empty_dataset: bool,
) -> Description:  # fmt: skip
    return DirectedInterleave(
        held(selector_input_dataset), [held(d) for d in data_input_datasets],
        stop_on_empty_dataset, output_types, output_shapes,
    )  # fmt: skip


@host_kernel(_OLD_DIRECTED_INTERLEAVE, limit=HOST)
def _old_directed_interleave(
    selector_input_dataset: Array, data_input_datasets: list[Array], *, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    return DirectedInterleave(
        held(selector_input_dataset), [held(d) for d in data_input_datasets], False, output_types,
        output_shapes,
    )  # fmt: skip


# ---- a number of elements that is said


class AssertCardinality(Description):
    """A dataset whose number of elements is said; what says wrong fails.

    Args:
      input: the elements.
      count: how many there are.
    """

    kind = "AssertCardinalityDataset"
    __slots__ = ("count",)

    def __init__(
        self, input: Description, count: int, types: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        super().__init__((input,), types, shapes)
        self.count = count

    def cardinality(self) -> int:
        """What was said."""
        return self.count

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _AssertStage(self.inputs[0].start(run), self.count)


class _AssertStage(UnaryStage):
    def __init__(self, input: Stage, count: int) -> None:
        super().__init__(input)
        self._count = count
        self._given = 0

    def next(self) -> Element | None:
        found = self.input.next()
        if found is not None:
            self._given += 1
            if self._count != UNKNOWN and 0 <= self._count < self._given:
                raise self._wrong(f"at least {self._given}")
        elif self._count != UNKNOWN and self._count != self._given:
            raise self._wrong(f"only {self._given}")
        return found

    def _wrong(self, contained: str) -> errors.OpError:
        expected = "an infinite number of" if self._count == INFINITE else str(self._count)
        return errors.FailedPreconditionError(
            None,
            None,
            f"Input dataset was expected to contain {expected} elements but contained"
            f" {contained} elements. Say how many there are in assert_cardinality.",
        )

    def save(self) -> State:
        return {**super().save(), "given": self._given}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._given = restoring.whole(state["given"], "AssertCardinalityDataset")


ASSERT_CARDINALITY = dataset_op(
    f"AssertCardinalityDataset(input_dataset: variant, cardinality: int64; {TYPES}) -> handle:"
    " variant",
    "The elements of a dataset, of which there must be as many as said.",
)


@host_kernel(ASSERT_CARDINALITY, limit=HOST)
def _assert_cardinality(
    input_dataset: Array, cardinality: Array, *, output_types: Any, output_shapes: Any
) -> Description:
    count = number(cardinality)
    return AssertCardinality(held(input_dataset), count, output_types, output_shapes)
