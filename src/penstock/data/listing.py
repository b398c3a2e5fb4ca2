"""Datasets of the names of files, and of elements in a list."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import files
from penstock.data import restoring
from penstock.data.file_stage import check_vector
from penstock.data.operations import NAMED, dataset_kernel, dataset_op, texts_of
from penstock.data.run import Run
from penstock.data.sources import CountedStage
from penstock.data.stages import Array, Description, Element, Stage, State
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class Matching(Description):
    """The names of files that match patterns, those of one pattern after those of the other."""

    kind = "MatchingFilesDataset"
    __slots__ = ("patterns",)

    def __init__(self, patterns: Sequence[bytes]) -> None:
        super().__init__((), (dt.string,), ((),))
        self.patterns = tuple(patterns)

    def start(self, run: Run) -> Stage:
        """A state before the first name."""
        return _MatchingStage(self.patterns)


class _MatchingStage(Stage):
    def __init__(self, patterns: Sequence[bytes]) -> None:
        self._patterns = patterns
        self._number = 0  # of the pattern that is looked for next
        self._names: list[bytes] = []  # those of the last one that are left
        self._found = False  # whether there was one

    def next(self) -> Element | None:
        while not self._names and self._number < len(self._patterns):
            self._number += 1
            found = files.glob(self._patterns[self._number - 1])
            self._names = [os.fsencode(name) for name in found]
        if self._names:
            self._found = True
            return (np.array(self._names.pop(0), object),)
        if not self._found:
            self._found = True  # said once
            raise errors.NotFoundError(
                None,
                None,
                "MatchingFilesDataset: Don't find any matched files: expected files like"
                f" {[p.decode(errors='replace') for p in self._patterns]}, got none.",
            )
        return None

    def save(self) -> State:
        return {"number": self._number, "names": list(self._names), "found": self._found}

    def restore(self, state: State) -> None:
        what = "MatchingFilesDataset"
        self._number = restoring.whole(state["number"], what, 0, len(self._patterns))
        names = restoring.several(state["names"], what)
        self._names = [restoring.arrays([n], [dt.string], what)[0][()] for n in names]
        self._found = restoring.flag(state["found"], what)


MATCHING = dataset_op(
    "MatchingFilesDataset(patterns: string) -> handle: variant",
    "The names of files that match patterns.",
    stateful=True,
)
OLD_MATCHING = dataset_op(
    "ExperimentalMatchingFilesDataset(patterns: string) -> handle: variant",
    "The names of files that match patterns.",
    stateful=True,
)


@dataset_kernel(MATCHING)
@dataset_kernel(OLD_MATCHING)
def _matching(patterns: Array) -> Description:
    check_vector("MatchingFilesDataset", "patterns", patterns)
    return Matching(texts_of(patterns))


# ---- lists


class Listed(Description):
    """Elements whose shapes may differ.

    Args:
      elements: each with its components.
      types: of the components.
      shapes: of the components.
    """

    kind = "ListDataset"
    __slots__ = ("elements",)

    def __init__(
        self, elements: Sequence[Element], types: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        super().__init__((), types, shapes)
        self.elements = tuple(elements)

    def cardinality(self) -> int:
        """The number of elements."""
        return len(self.elements)

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _ListStage(self.elements, run)


class _ListStage(CountedStage):
    stacked = False  # elements may have several shapes

    def __init__(self, elements: Sequence[Element], run: Run) -> None:
        super().__init__(len(elements), run)
        self._elements = elements

    def next(self) -> Element | None:
        self.check_wanted()
        at = self._at
        if at >= self._count:
            return None
        self._at = at + 1
        return self._elements[at]


LIST = dataset_op(
    f"ListDataset(tensors: [Tinput_types]; Tinput_types: list(type) >= 1, {NAMED}) -> handle:"
    " variant",
    "Elements that are given one by one.",
    stateful=True,
)


@dataset_kernel(LIST)
def _list(tensors: list[Array], *, output_types: Any, output_shapes: Any) -> Description:
    size = len(output_types)
    if len(tensors) % size:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"ListDataset: expected {size} tensors for each element, got {len(tensors)}, which is"
            " no multiple.",
        )
    elements = [tuple(tensors[i : i + size]) for i in range(0, len(tensors), size)]
    return Listed(elements, output_types, output_shapes)
