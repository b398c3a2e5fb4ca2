"""Datasets whose elements a function makes: map."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.data.blocks import BlockStage
from penstock.data.calls import ParallelStage
from penstock.data.operations import HOST, Mapped, attr_text, dataset_op, held, number
from penstock.data.run import Bound, Run
from penstock.data.stages import (
    Array,
    Description,
    Element,
    Stage,
    UnaryStage,
    rows_of,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

AUTOTUNE = -1


class Map(Description):
    """What a function makes of each element.

    Args:
      input: the elements.
      function: the function.
      parallel: how many calls may run at once: 0 or 1 for one, AUTOTUNE leaves it to us.
      deterministic: whether results come in the order of the elements; None leaves it to options.
      types: of the results.
      shapes: of the results.
    """

    kind = "MapDataset"
    __slots__ = ("deterministic", "function", "parallel")

    def __init__(
        self,
        input: Description,
        function: Mapped,
        parallel: int,
        deterministic: bool | None,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.function = function
        self.parallel = parallel
        self.deterministic = deterministic

    def cardinality(self) -> int:
        """That of the elements."""
        return self.inputs[0].cardinality()

    @property
    def of_rows(self) -> Mapped | None:
        """The function for many elements at once, where there is one."""
        return self.function.of_rows(len(self.inputs[0].types))

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        inner, function = self.inputs[0].start(run), self.function.bind(run)
        if inner.stacked and self.of_rows is not None:
            return _RowsStage(inner, function, self.of_rows.bind(run), self)
        count = self.parallel
        if count == AUTOTUNE:
            count = run.options.parallel or run.pool.size
        if count > 1:
            ordered = (
                run.options.deterministic if self.deterministic is None else (self.deterministic)
            )
            pure = not self.function.body.stateful
            return ParallelStage(inner, function, run, count, ordered, pure, of=self)
        return _MapStage(inner, function)


class _MapStage(UnaryStage):
    """Calls the function for one element after the other."""

    def __init__(self, input: Stage, function: Bound) -> None:
        super().__init__(input)
        self._function = function

    def next(self) -> Element | None:
        found = self.input.next()
        return None if found is None else tuple(self._function(found))


class _RowsStage(BlockStage):
    """Calls a function of rows for many elements at once."""

    def __init__(
        self, input: Stage, function: Bound, of_rows: Bound, description: Description
    ) -> None:
        super().__init__(input, description)
        self._function = function
        self._of_rows = of_rows

    def of_block(self, found: Element) -> Element:
        made = tuple(map(np.asarray, self._of_rows(found)))
        count = rows_of(found)
        if any(len(column) != count for column in made):
            raise ValueError("no row for each element")
        return made

    def of_one(self, found: Element) -> Element | None:
        return tuple(self._function(found))


_ARGUMENTS = "other_arguments: [Targuments]"
MAP = dataset_op(
    f"MapDataset(input_dataset: variant, {_ARGUMENTS}; f: func, Targuments: list(type) >= 0,"
    " output_types: list(type) >= 1, output_shapes: list(shape) >= 1, use_inter_op_parallelism:"
    " bool = True, preserve_cardinality: bool = False, force_synchronous: bool = False, metadata:"
    " string = '') -> handle: variant",
    "What a function makes of each element of a dataset.",
)
PARALLEL_MAP = dataset_op(
    f"ParallelMapDatasetV2(input_dataset: variant, {_ARGUMENTS}, num_parallel_calls: int64; f:"
    " func, Targuments: list(type) >= 0, output_types: list(type) >= 1, output_shapes: list(shape)"
    " >= 1, use_inter_op_parallelism: bool = True, deterministic: string = 'default',"
    " preserve_cardinality: bool = False, use_unbounded_threadpool: bool = False, metadata: string"
    " = '') -> handle: variant",
    "What a function makes of each element of a dataset, several at a time.",
)


@host_kernel(MAP, limit=HOST)
def _map(
    input_dataset: Array, other_arguments: list[Array], *, f: Any, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    function = Mapped(f, other_arguments)
    return Map(held(input_dataset), function, 0, True, output_types, output_shapes)


DETERMINISTIC = {"default": None, "true": True, "false": False}


def calls_of(value: Any) -> int:
    """How many calls run at once.

    Raises:
      InvalidArgumentError: it is below 1, and not AUTOTUNE.
    """
    count = number(value)
    if count < 1 and count != AUTOTUNE:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"num_parallel_calls must be greater than zero, got {count}. Give a larger one, or"
            " tf.data.AUTOTUNE.",
        )
    return count


@host_kernel(PARALLEL_MAP, limit=HOST)
def _parallel_map(
    input_dataset: Array, other_arguments: list[Array], num_parallel_calls: Array, *, f: Any,
    output_types: Any, output_shapes: Any, deterministic: str,
) -> Description:  # fmt: skip
    function = Mapped(f, other_arguments)
    ordered = DETERMINISTIC[attr_text(deterministic)]
    count = calls_of(num_parallel_calls)
    return Map(held(input_dataset), function, count, ordered, output_types, output_shapes)
