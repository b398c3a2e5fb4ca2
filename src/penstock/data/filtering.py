"""Datasets of the elements for which a function is true: filter."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.kernels import host_kernel
from penstock.data.blocks import BlockStage
from penstock.data.operations import HOST, NAMED, Mapped, dataset_op, held
from penstock.data.run import Bound, Run
from penstock.data.stages import (
    UNKNOWN,
    Array,
    Description,
    Element,
    Stage,
    UnaryStage,
    rows_of,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class Filter(Description):
    """The elements for which a function is true."""

    kind = "FilterDataset"
    __slots__ = ("predicate",)

    def __init__(
        self, input: Description, predicate: Mapped, types: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        super().__init__((input,), types, shapes)
        self.predicate = predicate

    def cardinality(self) -> int:
        """Known for none alone."""
        return 0 if self.inputs[0].cardinality() == 0 else UNKNOWN

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return self.over(self.inputs[0].start(run), run)

    def over(self, inner: Stage, run: Run) -> Stage:
        """A state that chooses among what another gives."""
        predicate = self.predicate.bind(run)
        if inner.stacked and self.of_rows is not None:
            return _FilterRowsStage(inner, predicate, self.of_rows.bind(run), self)
        return _FilterStage(inner, predicate)

    @property
    def of_rows(self) -> Mapped | None:
        """The function for many elements at once, where there is one."""
        return self.predicate.of_rows(len(self.types))


class _FilterStage(UnaryStage):
    def __init__(self, input: Stage, predicate: Bound) -> None:
        super().__init__(input)
        self._predicate = predicate

    def next(self) -> Element | None:
        while (found := self.input.next()) is not None:
            if bool(self._predicate(found)[0]):
                return found
            self._predicate.check_wanted()
        return None


class _FilterRowsStage(BlockStage):
    """Chooses among many elements at once."""

    def __init__(
        self, input: Stage, predicate: Bound, of_rows: Bound, description: Description
    ) -> None:
        super().__init__(input, description)
        self._predicate = predicate
        self._of_rows = of_rows

    def of_block(self, found: Element) -> Element:
        chosen = np.asarray(self._of_rows(found)[0])
        if chosen.shape != (rows_of(found),):
            raise ValueError("no boolean for each element")
        return found if chosen.all() else tuple(column[chosen] for column in found)

    def of_one(self, found: Element) -> Element | None:
        return found if bool(self._predicate(found)[0]) else None

    def check_wanted(self) -> None:
        self._predicate.check_wanted()


FILTER = dataset_op(
    "FilterDataset(input_dataset: variant, other_arguments: [Targuments]; predicate: func,"
    f" Targuments: list(type) >= 0, {NAMED}) -> handle: variant",
    "The elements of a dataset for which a function is true.",
)


@host_kernel(FILTER, limit=HOST)
def _filter(
    input_dataset: Array, other_arguments: list[Array], *, predicate: Any, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    function = Mapped(predicate, other_arguments)
    return Filter(held(input_dataset), function, output_types, output_shapes)
