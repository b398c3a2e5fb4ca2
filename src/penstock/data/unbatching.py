"""Datasets of the rows of elements: unbatch, and pieces for replicas."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.data import restoring
from penstock.data.operations import NAMED, TYPES, dataset_kernel, dataset_op, held
from penstock.data.run import Run
from penstock.data.stages import (
    UNKNOWN,
    Array,
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
    row,
    rows_of,
)
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class Unbatch(Description):
    """The rows of elements."""

    kind = "UnbatchDataset"
    __slots__ = ()

    def cardinality(self) -> int:
        """The elements by their rows, where a shape says how many those are."""
        found = self.inputs[0].cardinality()
        if found < 0:
            return found
        sizes = [s[0] for s in self.inputs[0].shapes if s]
        known = [n for n in sizes if n is not None]
        return found * known[0] if known else UNKNOWN

    def start(self, run: Run) -> Stage:
        """A state before the first row."""
        return _UnbatchStage(self.inputs[0].start(run), self)


class _UnbatchStage(UnaryStage):
    """Takes elements apart: it holds one, and knows which row is next."""

    def __init__(self, input: Stage, description: Unbatch) -> None:
        super().__init__(input)
        self._of = description
        self._held: Element | None = None
        self._at = 0

    def next(self) -> Element | None:
        while self._held is None or self._at >= rows_of(self._held):
            self._held, self._at = None, 0
            found = self.input.next()
            if found is None:
                return None
            check_rows(found)
            self._held = found
        self._at += 1
        return row(self._held, self._at - 1)

    def save(self) -> State:
        kept = None if self._held is None else list(self._held)
        return {**super().save(), "held": kept, "at": self._at}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._held = restoring.stack_or_none(state["held"], self._of.inputs[0], "UnbatchDataset")
        most = 0 if self._held is None else rows_of(self._held)
        self._at = restoring.whole(state["at"], "UnbatchDataset", 0, most)


def check_rows(element: Element) -> None:
    """Refuses an element whose components have other numbers of rows, or none.

    Raises:
      InvalidArgumentError: they have.
    """
    shapes = [np.shape(part) for part in element]
    if () in shapes:
        raise errors.InvalidArgumentError(
            None,
            None,
            "Input element must have a non-scalar value in each component, got a scalar in"
            f" component {shapes.index(())}. Leave it out of what is unbatched.",
        )
    if len({shape[0] for shape in shapes}) > 1:
        raise errors.InvalidArgumentError(
            None,
            None,
            "Input element must have the same batch size in each component, got shapes"
            f" {', '.join(map(d.text, shapes))}.",
        )


UNBATCH = dataset_op(
    f"UnbatchDataset(input_dataset: variant; {NAMED}) -> handle: variant",
    "The rows of the elements of a dataset.",
)
UNBATCH_V0 = dataset_op(
    f"ExperimentalUnbatchDataset(input_dataset: variant; {TYPES}) -> handle: variant",
    "The rows of the elements of a dataset.",
)


@dataset_kernel(UNBATCH)
@dataset_kernel(UNBATCH_V0)
def _unbatch(
    input_dataset: Array, *, output_types: Sequence[DType], output_shapes: Sequence[Dims]
) -> Description:
    return Unbatch((held(input_dataset),), output_types, output_shapes)


# ---- pieces for replicas


class ReplicaBatches(Description):
    """Each element's rows in a number of pieces, of which the last have fewer where need be."""

    kind = "RebatchDataset"
    __slots__ = ("count",)

    def __init__(
        self, input: Description, count: int, types: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        super().__init__((input,), types, shapes)
        self.count = count

    def start(self, run: Run) -> Stage:
        """A state before the first piece."""
        return _ReplicaStage(self.inputs[0].start(run), self)


class _ReplicaStage(UnaryStage):
    def __init__(self, input: Stage, description: ReplicaBatches) -> None:
        super().__init__(input)
        self._of = description
        self._count = description.count
        self._held: Element | None = None
        self._piece = 0

    def next(self) -> Element | None:
        if self._held is None:
            found = self.input.next()
            if found is None:
                return None
            check_rows(found)
            self._held, self._piece = found, 0
        held, piece = self._held, self._piece
        size = -(-rows_of(held) // self._count)
        start, stop = piece * size, (piece + 1) * size
        self._piece = piece + 1
        if self._piece == self._count:
            self._held = None
        return tuple(part[start:stop] for part in held)

    def save(self) -> State:
        kept = None if self._held is None else list(self._held)
        return {**super().save(), "held": kept, "piece": self._piece}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._held = restoring.stack_or_none(state["held"], self._of.inputs[0], "RebatchDataset")
        self._piece = restoring.whole(state["piece"], "RebatchDataset", 0, self._count)


_REPLICAS = (
    f"(input_dataset: variant, num_replicas: int64; {TYPES}, use_fallback: bool = True) -> handle:"
    " variant"
)
REPLICAS = dataset_op(f"RebatchDataset{_REPLICAS}", "Each element's rows in several pieces.")
REPLICAS_V0 = dataset_op(
    f"ExperimentalRebatchDataset{_REPLICAS}", "Each element's rows in several pieces."
)


@dataset_kernel(REPLICAS)
@dataset_kernel(REPLICAS_V0)
def _replicas(
    input_dataset: Array, num_replicas: Array, *, output_types: Any, output_shapes: Any
) -> Description:
    count = int(num_replicas)
    if count <= 0:
        raise errors.InvalidArgumentError(
            None, None, f"num_replicas must be greater than zero, got {count}."
        )
    return ReplicaBatches(held(input_dataset), count, output_types, output_shapes)
