"""Datasets of stacks of elements that are padded to one shape: padded_batch."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.data import restoring
from penstock.data.batching import Batch, batch_size
from penstock.data.operations import HOST, dataset_op, held
from penstock.data.run import Run
from penstock.data.stages import Array, Description, Element, Stage, State, UnaryStage, up_to
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class PaddedBatch(Batch):
    """Stacks of padded elements.

    Args:
      input: the elements.
      size: how many make a stack.
      drop_remainder: whether a last stack of fewer is left out.
      padded: the shapes that components are padded to; -1 for the largest of the stack.
      fillers: what they are padded with.
      types: the dtypes.
      shapes: those of the stacks.
    """

    kind = "PaddedBatchDataset"
    __slots__ = ("fillers", "padded")

    def __init__(
        self,
        input: Description,
        size: int,
        drop_remainder: bool,
        padded: Sequence[tuple[int, ...]],
        fillers: Sequence[Array],
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__(input, size, drop_remainder, types, shapes)
        self.padded = tuple(padded)
        self.fillers = tuple(fillers)

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _PaddedStage(self.inputs[0].start(run), self)


class _PaddedStage(UnaryStage):
    def __init__(self, input: Stage, description: PaddedBatch) -> None:
        super().__init__(input)
        self._description = description
        self._ended = False

    def next(self) -> Element | None:
        if self._ended:
            return None
        of = self._description
        found = up_to(self.input, of.size)
        if len(found) < of.size:
            self._ended = True
            if not found or of.drop_remainder:
                return None
        return tuple(
            _padded([e[i] for e in found], of.padded[i], of.fillers[i], of.types[i], i)
            for i in range(len(of.types))
        )

    def save(self) -> State:
        return {**super().save(), "ended": self._ended}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._ended = restoring.flag(state["ended"], "PaddedBatchDataset")


def _padded(
    values: Sequence[Array], padded: tuple[int, ...], filler: Array, dtype: DType, number: int
) -> Array:
    shapes = [np.shape(v) for v in values]
    for shape in shapes:
        if len(shape) != len(padded):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"All elements in a batch must have the same rank as the padded shape for component"
                f" {number}: expected rank {len(padded)} but got element with rank {len(shape)}.",
            )
        if any(p >= 0 and n > p for n, p in zip(shape, padded, strict=True)):
            raise errors.DataLossError(
                None,
                None,
                f"Attempted to pad to a smaller size than the input element: component {number} is"
                f" padded to {d.text(padded)}, got an element of shape {d.text(shape)}. Give a"
                " larger padded shape, or None for the largest of each batch.",
            )
    dims = [max(n) if p < 0 else p for p, *n in zip(padded, *shapes, strict=True)]
    made: Array = np.empty((len(values), *dims), dtype.numpy_dtype)
    made[...] = filler[()] if isinstance(filler, np.ndarray) else filler
    for i, value in enumerate(values):
        place = (i, *(slice(n) for n in shapes[i]))
        made[place] = value[()] if isinstance(value, np.ndarray) and not shapes[i] else value
    return made


_ATTRS = (
    "Toutput_types: list(type) >= 1, output_shapes: list(shape) >= 1, N: int >= 1, metadata:"
    " string = ''"
)
_INPUTS = (
    "input_dataset: variant, batch_size: int64, padded_shapes: N * int64, padding_values:"
    " [Toutput_types]"
)
PADDED_BATCH_V1 = dataset_op(
    f"PaddedBatchDataset({_INPUTS}; {_ATTRS}) -> handle: variant", "Stacks of padded elements."
)
PADDED_BATCH = dataset_op(
    f"PaddedBatchDatasetV2({_INPUTS}, drop_remainder: bool; parallel_copy: bool = False, {_ATTRS})"
    " -> handle: variant",
    "Stacks of padded elements.",
)


@host_kernel(PADDED_BATCH_V1, limit=HOST)
@host_kernel(PADDED_BATCH, limit=HOST)
def _padded_batch(
    input_dataset: Array, batch_size: Array, padded_shapes: list[Array],
    padding_values: list[Array], drop_remainder: Any = False, *, Toutput_types: Sequence[DType],
    output_shapes: Sequence[Dims],
) -> Description:  # fmt: skip
    padded = []
    for shape in padded_shapes:
        if np.ndim(shape) != 1 or any(int(n) < -1 for n in shape):
            raise errors.InvalidArgumentError(
                None, None, f"All padded shapes must be vectors of sizes or -1, got {shape!r}."
            )
        padded.append(tuple(int(n) for n in shape))
    for value in padding_values:
        if np.ndim(value) != 0:
            raise errors.InvalidArgumentError(
                None, None, f"All padding values must be scalars, got shape {np.shape(value)}."
            )
    return PaddedBatch(
        held(input_dataset), _size(batch_size), bool(drop_remainder), padded, padding_values,
        Toutput_types, output_shapes,
    )  # fmt: skip


_size = batch_size
