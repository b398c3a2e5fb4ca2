"""Datasets of stacks in other forms: stacks of other sizes, and sparse ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.data import restoring
from penstock.data.batching import batch_size as size_of
from penstock.data.operations import HOST, TYPES, dataset_op, held
from penstock.data.run import Run
from penstock.data.stages import (
    Array,
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
    rows_of,
    up_to,
)
from penstock.ops.sparse_messages import HeldTensor
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

# ---- other sizes


class Rebatch(Description):
    """The rows of stacks, in stacks of other sizes.

    Args:
      input: the stacks.
      sizes: of the new ones, over and over.
      drop_remainder: whether a last one that is not full is left out.
      types: the dtypes.
      shapes: those of the new stacks.
    """

    kind = "RebatchDatasetV2"
    __slots__ = ("drop_remainder", "sizes")

    def __init__(
        self,
        input: Description,
        sizes: Sequence[int],
        drop_remainder: bool,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.sizes = tuple(sizes)
        self.drop_remainder = drop_remainder

    def start(self, run: Run) -> Stage:
        """A state before the first row."""
        return _RebatchStage(self.inputs[0].start(run), self)


class _RebatchStage(UnaryStage):
    def __init__(self, input: Stage, description: Rebatch) -> None:
        super().__init__(input)
        self._of = description
        self._sizes = description.sizes
        self._drops = description.drop_remainder
        self._number = 0  # of the next stack
        self._rest: Element | None = None  # rows that were taken and not given

    def next(self) -> Element | None:
        wanted = self._sizes[self._number % len(self._sizes)]
        parts: list[Element] = []
        missing = wanted
        while missing:
            rows = self._rest
            self._rest = None
            if rows is None:
                rows = self.input.next()
                if rows is None:
                    break
            taken = min(missing, rows_of(rows))
            if taken < rows_of(rows):
                self._rest = tuple(column[taken:] for column in rows)
            if taken:
                parts.append(tuple(column[:taken] for column in rows))
            missing -= taken
        self._number += 1
        if not parts or (missing and self._drops):
            return None
        if len(parts) == 1:
            return parts[0]
        return tuple(_joined(columns, i) for i, columns in enumerate(zip(*parts, strict=True)))

    def save(self) -> State:
        rest = None if self._rest is None else list(self._rest)
        return {**super().save(), "number": self._number, "rest": rest}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._number = restoring.whole(state["number"], "RebatchDatasetV2")
        self._rest = restoring.rest_or_none(state["rest"], self._of.inputs[0], "RebatchDatasetV2")


def _joined(columns: Sequence[Array], number: int) -> Array:
    rows = {column.shape[1:] for column in columns}
    if len(rows) > 1:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Cannot rebatch: expected rows of one shape in component {number}, got"
            f" {sorted(rows)}. Use padded_batch.",
        )
    return np.concatenate(columns)


REBATCH = dataset_op(
    f"RebatchDatasetV2(input_dataset: variant, batch_sizes: int64, drop_remainder: bool; {TYPES})"
    " -> handle: variant",
    "The rows of stacks, in stacks of other sizes.",
)


@host_kernel(REBATCH, limit=HOST)
def _rebatch(
    input_dataset: Array, batch_sizes: Array, drop_remainder: Array, *, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    sizes = [size_of(size) for size in np.asarray(batch_sizes).reshape(-1)]
    if not sizes:
        raise errors.InvalidArgumentError(
            None, None, "rebatch: expected at least one batch size, got none."
        )
    drops = bool(drop_remainder)
    return Rebatch(held(input_dataset), sizes, drops, output_types, output_shapes)


# ---- sparse stacks


class SparseBatch(Description):
    """Stacks of dense elements of different sizes, as sparse tensors.

    Args:
      input: elements of one component.
      size: how many make a stack.
      row_shape: the shape that an element fits in; None for sizes that follow from the elements.
      types: variant, for the sparse tensor.
      shapes: of these.
    """

    kind = "DenseToSparseBatchDataset"
    __slots__ = ("row_shape", "size")

    def __init__(
        self,
        input: Description,
        size: int,
        row_shape: tuple[int | None, ...],
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.size = size
        self.row_shape = row_shape

    def cardinality(self) -> int:
        """Those of the input by the size."""
        found = self.inputs[0].cardinality()
        return found if found < 0 else -(-found // self.size)

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _SparseStage(self.inputs[0].start(run), self)


class _SparseStage(UnaryStage):
    def __init__(self, input: Stage, description: SparseBatch) -> None:
        super().__init__(input)
        self._size = description.size
        self._row = description.row_shape
        self._dtype = description.inputs[0].types[0]

    def next(self) -> Element | None:
        found = [np.asarray(e[0]) for e in up_to(self.input, self._size)]
        if not found:
            return None
        for value in found:
            self._check(value)
        sizes = [
            max(v.shape[axis] for v in found) if size is None else size
            for axis, size in enumerate(self._row)
        ]
        indices = [
            np.column_stack([np.full(v.size, i), *(p.reshape(-1) for p in np.indices(v.shape))])
            for i, v in enumerate(found)
        ]
        parts = (
            (np.concatenate(indices).astype(np.int64), dt.int64),
            (np.concatenate([v.reshape(-1) for v in found]), self._dtype),
            (np.array([len(found), *sizes], np.int64), dt.int64),
        )
        made = np.empty(3, object)
        for i, (array, dtype) in enumerate(parts):
            made[i] = HeldTensor(array, dtype)
        return (made,)

    def _check(self, value: Array) -> None:
        if value.ndim != len(self._row):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Input element had shape ({list(value.shape)}) that is incompatible with the row"
                f" shape ({list(self._row)}). Give a row_shape of {value.ndim} dimensions.",
            )
        if any(r is not None and n > r for n, r in zip(value.shape, self._row, strict=True)):
            raise errors.DataLossError(
                None,
                None,
                f"Input element had shape ({list(value.shape)}) that is larger than the row shape"
                f" ({list(self._row)}). Give a larger row_shape, or None for any size.",
            )


def _define_sparse(name: str) -> Any:
    op = dataset_op(
        f"{name}(input_dataset: variant, batch_size: int64, row_shape: int64; {TYPES}) -> handle:"
        " variant",
        "Stacks of dense elements as sparse tensors.",
    )

    @host_kernel(op, limit=HOST)
    def _sparse_batch(
        input_dataset: Array, batch_size: Array, row_shape: Array, *, output_types: Any,
        output_shapes: Any,
    ) -> Description:  # fmt: skip
        row = tuple(None if n < 0 else int(n) for n in np.asarray(row_shape).reshape(-1))
        size = size_of(batch_size)
        return SparseBatch(held(input_dataset), size, row, output_types, output_shapes)

    return op


SPARSE_BATCH = _define_sparse("DenseToSparseBatchDataset")
_define_sparse("ExperimentalDenseToSparseBatchDataset")
