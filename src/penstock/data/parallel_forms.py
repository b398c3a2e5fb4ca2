"""Datasets that work on several elements or stacks at once, and older forms of map and batch.

What they give is what `map`, `filter` and `batch` give; graphs that other programs wrote hold them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.kernels import host_kernel
from penstock.data import restoring
from penstock.data.batching import Batch, batch_size
from penstock.data.calls import ParallelStage
from penstock.data.filtering import Filter
from penstock.data.mapping import AUTOTUNE, DETERMINISTIC, Map, calls_of
from penstock.data.operations import HOST, NAMED, TYPES, Mapped, dataset_op, held, text_of
from penstock.data.run import Run
from penstock.data.stages import (
    UNKNOWN,
    Array,
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
    stack,
    up_to,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


def resolved(count: int, run: Run) -> int:
    """How many calls run at once, where AUTOTUNE leaves it to us."""
    return count if count != AUTOTUNE else run.options.parallel or run.pool.size


# ---- stacks


class ParallelBatch(Batch):
    """Stacks of elements, several of which are made at once.

    Args:
      input: the elements.
      size: how many make a stack.
      drop_remainder: whether a last stack of fewer is left out.
      types: the dtypes.
      shapes: those of the stacks.
      parallel: how many are made at once; AUTOTUNE leaves it to us.
      deterministic: whether they come in order; None leaves it to the options.
    """

    kind = "ParallelBatchDataset"
    __slots__ = ("deterministic", "parallel")

    def __init__(
        self, input: Description, size: int, drop_remainder: bool, types: Sequence[DType],
        shapes: Sequence[Dims], parallel: int, deterministic: bool | None,
    ) -> None:  # fmt: skip
        super().__init__(input, size, drop_remainder, types, shapes)
        self.parallel = parallel
        self.deterministic = deterministic

    def start(self, run: Run) -> Stage:
        """A state before the first stack."""
        inner = self.inputs[0].start(run)
        count = resolved(self.parallel, run)
        if inner.stacked or count == 1:
            return self.over(inner)
        ordered = run.options.deterministic if self.deterministic is None else self.deterministic
        groups = _GroupStage(inner, self.size, self.drop_remainder)
        types = self.types
        call = lambda group: stack(group, types)  # noqa: E731 - handed on, and to nobody else
        return ParallelStage(groups, call, run, count, ordered, True, of=self)


class _GroupStage(UnaryStage):
    """Gives as many elements as make a stack, one after the other."""

    def __init__(self, input: Stage, size: int, drops: bool) -> None:
        super().__init__(input)
        self._size = size
        self._drops = drops
        self._ended = False

    def next(self) -> Element | None:
        if self._ended:
            return None
        found = up_to(self.input, self._size)
        if len(found) < self._size:
            self._ended = True
            if not found or self._drops:
                return None
        return tuple(found)

    def save(self) -> State:
        return {**super().save(), "ended": self._ended}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._ended = restoring.flag(state["ended"], "ParallelBatchDataset")


OLD_BATCH = dataset_op(
    f"BatchDataset(input_dataset: variant, batch_size: int64; {NAMED}) -> handle: variant",
    "Stacks of the elements of a dataset; the last one may have fewer.",
)
PARALLEL_BATCH = dataset_op(
    "ParallelBatchDataset(input_dataset: variant, batch_size: int64, num_parallel_calls: int64,"
    f" drop_remainder: bool; parallel_copy: bool = False, {TYPES}, deterministic: string ="
    " 'default', metadata: string = '') -> handle: variant",
    "Stacks of the elements of a dataset, several of which are made at once.",
)


@host_kernel(OLD_BATCH, limit=HOST)
def _old_batch(
    input_dataset: Array, batch_size: Array, *, output_types: Any, output_shapes: Any
) -> Description:
    return Batch(held(input_dataset), _size(batch_size), False, output_types, output_shapes)


@host_kernel(PARALLEL_BATCH, limit=HOST)
def _parallel_batch(
    input_dataset: Array, batch_size: Array, num_parallel_calls: Array, drop_remainder: Array, *,
    output_types: Any, output_shapes: Any, deterministic: Any,
) -> Description:  # fmt: skip
    size, calls = _size(batch_size), calls_of(num_parallel_calls)
    ordered = DETERMINISTIC[text_of(deterministic)]
    return ParallelBatch(
        held(input_dataset), size, bool(drop_remainder), output_types, output_shapes, calls, ordered
    )


_size = batch_size

# ---- map


_FUNCTION = "f: func, Targuments: list(type) >= 0"
OLD_PARALLEL_MAP = dataset_op(
    "ParallelMapDataset(input_dataset: variant, other_arguments: [Targuments], num_parallel_calls:"
    f" int32; {_FUNCTION}, {TYPES}, use_inter_op_parallelism: bool = True, sloppy: bool = False,"
    " preserve_cardinality: bool = False, metadata: string = '') -> handle: variant",
    "What a function makes of each element of a dataset, several at a time.",
)
_MAP_AND_BATCH = (
    "(input_dataset: variant, other_arguments: [Targuments], batch_size: int64,"
    f" num_parallel_calls: int64, drop_remainder: bool; {_FUNCTION}, {TYPES}, preserve_cardinality:"
    " bool = False"
)
_MAP_AND_BATCH_DOC = "Stacks of what a function makes of each element of a dataset."
MAP_AND_BATCH = dataset_op(
    f"MapAndBatchDataset{_MAP_AND_BATCH}, metadata: string = '') -> handle: variant",
    _MAP_AND_BATCH_DOC,
)
OLD_MAP_AND_BATCH = dataset_op(
    f"ExperimentalMapAndBatchDataset{_MAP_AND_BATCH}) -> handle: variant", _MAP_AND_BATCH_DOC
)


class MapAndBatch(Batch):
    """Stacks of what a function makes of elements."""

    kind = "MapAndBatchDataset"
    __slots__ = ()


@host_kernel(OLD_PARALLEL_MAP, limit=HOST)
def _old_parallel_map(
    input_dataset: Array, other_arguments: list[Array], num_parallel_calls: Array, *, f: Any,
    output_types: Any, output_shapes: Any, sloppy: bool,
) -> Description:  # fmt: skip
    function, calls = Mapped(f, other_arguments), calls_of(num_parallel_calls)
    ordered = False if sloppy else None
    return Map(held(input_dataset), function, calls, ordered, output_types, output_shapes)


@host_kernel(MAP_AND_BATCH, limit=HOST)
@host_kernel(OLD_MAP_AND_BATCH, limit=HOST)
def _map_and_batch(
    input_dataset: Array, other_arguments: list[Array], batch_size: Array,
    num_parallel_calls: Array, drop_remainder: Array, *, f: Any, output_types: Any,
    output_shapes: Sequence[Dims],
) -> Description:  # fmt: skip
    function, calls = Mapped(f, other_arguments), calls_of(num_parallel_calls)
    inner = [None if dims is None else dims[1:] for dims in output_shapes]
    mapped = Map(held(input_dataset), function, calls, None, output_types, inner)
    return MapAndBatch(mapped, _size(batch_size), bool(drop_remainder), output_types, output_shapes)


# ---- filter


class ParallelFilter(Filter):
    """The elements for which a function is true, which is asked about several at once."""

    kind = "ParallelFilterDataset"
    __slots__ = ("deterministic", "parallel")

    def __init__(
        self, input: Description, predicate: Mapped, types: Sequence[DType], shapes: Sequence[Dims],
        parallel: int, deterministic: bool | None,
    ) -> None:  # fmt: skip
        super().__init__(input, predicate, types, shapes)
        self.parallel = parallel
        self.deterministic = deterministic

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        inner, count = self.inputs[0].start(run), resolved(self.parallel, run)
        if count == 1 or (inner.stacked and self.of_rows is not None):
            return self.over(inner, run)
        predicate = self.predicate.bind(run)

        def marked(element: Element) -> Element:
            return (*element, np.asarray(predicate(element)[0], np.bool_))

        ordered = run.options.deterministic if self.deterministic is None else self.deterministic
        pure = not self.predicate.body.stateful
        return _MarkedStage(ParallelStage(inner, marked, run, count, ordered, pure))


class ByLastComponent(Description):
    """The elements whose last component is true, without it."""

    kind = "FilterByLastComponentDataset"
    __slots__ = ()

    def cardinality(self) -> int:
        """Known for none alone."""
        return 0 if self.inputs[0].cardinality() == 0 else UNKNOWN

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _MarkedStage(self.inputs[0].start(run))


class _MarkedStage(UnaryStage):
    """Gives the elements whose last component is true, without it."""

    def next(self) -> Element | None:
        while (found := self.input.next()) is not None:
            if bool(found[-1]):
                return found[:-1]
        return None


PARALLEL_FILTER = dataset_op(
    "ParallelFilterDataset(input_dataset: variant, other_arguments: [Targuments],"
    " num_parallel_calls: int64; predicate: func, deterministic: string = 'default', Targuments:"
    f" list(type) >= 0, {NAMED}) -> handle: variant",
    "The elements of a dataset for which a function is true, several at a time.",
)
BY_LAST_COMPONENT = dataset_op(
    f"FilterByLastComponentDataset(input_dataset: variant; {TYPES}) -> output: variant",
    "The elements of a dataset whose last component is true, without it.",
)


@host_kernel(PARALLEL_FILTER, limit=HOST)
def _parallel_filter(
    input_dataset: Array, other_arguments: list[Array], num_parallel_calls: Array, *,
    predicate: Any, deterministic: Any, output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    function, calls = Mapped(predicate, other_arguments), calls_of(num_parallel_calls)
    ordered = DETERMINISTIC[text_of(deterministic)]
    return ParallelFilter(
        held(input_dataset), function, output_types, output_shapes, calls, ordered
    )


@host_kernel(BY_LAST_COMPONENT, limit=HOST)
def _by_last_component(
    input_dataset: Array, *, output_types: Any, output_shapes: Any
) -> Description:
    return ByLastComponent((held(input_dataset),), output_types, output_shapes)
