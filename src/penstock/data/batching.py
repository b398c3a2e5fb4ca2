"""Datasets of stacks of elements: batch."""

from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.data import restoring
from penstock.data.operations import HOST, NAMED, dataset_op, held, number
from penstock.data.run import Run
from penstock.data.stages import (
    Array,
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
    columns_up_to,
    rows_of,
    stack,
    up_to,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class Batch(Description):
    """Stacks of elements.

    Args:
      input: the elements.
      size: how many make a stack.
      drop_remainder: whether a last stack of fewer is left out.
      types: the dtypes.
      shapes: those of the stacks.
    """

    kind = "BatchDataset"
    __slots__ = ("drop_remainder", "size")

    def __init__(
        self,
        input: Description,
        size: int,
        drop_remainder: bool,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.size = size
        self.drop_remainder = drop_remainder

    def cardinality(self) -> int:
        """Those of the input by the size."""
        found = self.inputs[0].cardinality()
        if found < 0:
            return found
        return found // self.size if self.drop_remainder else -(-found // self.size)

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return self.over(self.inputs[0].start(run))

    def over(self, inner: Stage) -> Stage:
        """A state that stacks what another gives."""
        return _BatchStage(inner, self)


class _BatchStage(UnaryStage):
    def __init__(self, input: Stage, description: Batch) -> None:
        super().__init__(input)
        self._size = description.size
        self._drops = description.drop_remainder
        self._types = description.types
        self._ended = False

    def next(self) -> Element | None:
        if self._ended:
            return None
        if self.input.stacked:
            made = columns_up_to(self.input, self._size)
        else:
            found = up_to(self.input, self._size)
            made = stack(found, self._types) if found else None
        if made is None or rows_of(made) < self._size:
            self._ended = True
            if made is None or self._drops:
                return None
        return made

    def save(self) -> State:
        return {**super().save(), "ended": self._ended}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._ended = restoring.flag(state["ended"], "BatchDataset")


BATCH = dataset_op(
    "BatchDatasetV2(input_dataset: variant, batch_size: int64, drop_remainder: bool; parallel_copy:"
    f" bool = False, {NAMED}) -> handle: variant",
    "Stacks of the elements of a dataset.",
)


def batch_size(value: Any) -> int:
    """The size of a stack.

    Raises:
      InvalidArgumentError: it is below 1.
    """
    size = number(value)
    if size <= 0:
        raise errors.InvalidArgumentError(
            None, None, f"Batch size must be greater than zero, got {size}. Give a larger one."
        )
    return size


@host_kernel(BATCH, limit=HOST)
def _batch(
    input_dataset: Array, batch_size: Array, drop_remainder: Array, *, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    size, drops = _size(batch_size), bool(drop_remainder)
    return Batch(held(input_dataset), size, drops, output_types, output_shapes)


_size = batch_size
