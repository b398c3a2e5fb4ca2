"""Older and fused operations that imported graphs hold, made of the descriptions of others."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext, scalar
from penstock.data.batching import Batch, batch_size
from penstock.data.mapping import AUTOTUNE, DETERMINISTIC, Filter, Map
from penstock.data.operations import (
    HOST,
    NAMED,
    TYPES,
    WHY,
    Mapped,
    dataset_kernel,
    dataset_op,
    held,
    number,
    text_of,
)
from penstock.data.options_dataset import options_of
from penstock.data.run import Run
from penstock.data.stages import (
    INFINITE,
    UNKNOWN,
    Array,
    Description,
    Element,
    Stage,
    UnaryStage,
)
from penstock.types.dims import Dims

# ---- map_and_batch

_MAP_INPUTS = (
    "input_dataset: variant, other_arguments: [Targuments], batch_size: int64, num_parallel_calls:"
    " int64, drop_remainder: bool; f: func, Targuments: list(type) >= 0"
)
_FUSED = "Stacks of what a function makes of the elements of a dataset."
MAP_AND_BATCH = dataset_op(
    f"MapAndBatchDataset({_MAP_INPUTS}, {TYPES}, preserve_cardinality: bool = False, metadata:"
    " string = '') -> handle: variant",
    _FUSED,
)
MAP_AND_BATCH_V0 = dataset_op(
    f"ExperimentalMapAndBatchDataset({_MAP_INPUTS}, {TYPES}, preserve_cardinality: bool = False) ->"
    " handle: variant",
    _FUSED,
)


class MapAndBatch(Batch):
    """Stacks of what a function makes of elements."""

    kind = "MapAndBatchDataset"
    __slots__ = ()


@host_kernel(MAP_AND_BATCH, limit=HOST)
@host_kernel(MAP_AND_BATCH_V0, limit=HOST)
def _map_and_batch(
    input_dataset: Array, other_arguments: list[Array], batch_size: Array,
    num_parallel_calls: Array, drop_remainder: Array, *, f: Any, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    size = _size(batch_size)
    calls = _calls(num_parallel_calls)
    inner: list[Dims] = [None if dims is None else dims[1:] for dims in output_shapes]
    mapped = Map(
        held(input_dataset), Mapped(f, other_arguments), calls, None, output_types, inner
    )  # fmt: skip
    return MapAndBatch(mapped, size, bool(drop_remainder), output_types, output_shapes)


_size = batch_size


def _calls(value: Array) -> int:
    calls = number(value)
    if calls <= 0 and calls != AUTOTUNE:
        raise errors.InvalidArgumentError(
            None, None, f"num_parallel_calls must be greater than zero, got {calls}."
        )
    return calls


# ---- batch

BATCH_V1 = dataset_op(
    f"BatchDataset(input_dataset: variant, batch_size: int64; {NAMED}) -> handle: variant",
    "Stacks of the elements of a dataset.",
)
PARALLEL_BATCH = dataset_op(
    "ParallelBatchDataset(input_dataset: variant, batch_size: int64, num_parallel_calls: int64,"
    f" drop_remainder: bool; parallel_copy: bool = False, {TYPES}, deterministic: string ="
    " 'default', metadata: string = '') -> handle: variant",
    "Stacks of the elements of a dataset.",
)


@dataset_kernel(BATCH_V1)
def _batch_v1(
    input_dataset: Array, batch_size: Array, *, output_types: Any, output_shapes: Any
) -> Description:
    return Batch(held(input_dataset), _size(batch_size), False, output_types, output_shapes)


@dataset_kernel(PARALLEL_BATCH)
def _parallel_batch(
    input_dataset: Array, batch_size: Array, num_parallel_calls: Array, drop_remainder: Array, *,
    output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    _calls(num_parallel_calls)
    size, drops = _size(batch_size), bool(drop_remainder)
    return Batch(held(input_dataset), size, drops, output_types, output_shapes)


# ---- map and filter

_CAPTURES = "input_dataset: variant, other_arguments: [Targuments]"
PARALLEL_MAP_V1 = dataset_op(
    f"ParallelMapDataset({_CAPTURES}, num_parallel_calls: int32; f: func, Targuments: list(type) >="
    f" 0, {TYPES}, use_inter_op_parallelism: bool = True, sloppy: bool = False,"
    " preserve_cardinality: bool = False, metadata: string = '') -> handle: variant",
    "What a function makes of each element of a dataset, several at a time.",
)
MAP_V0 = dataset_op(
    f"ExperimentalMapDataset({_CAPTURES}; f: func, Targuments: list(type) >= 0, {TYPES},"
    " use_inter_op_parallelism: bool = True, preserve_cardinality: bool = False, force_synchronous:"
    " bool = False) -> handle: variant",
    "What a function makes of each element of a dataset.",
)
PARALLEL_FILTER = dataset_op(
    f"ParallelFilterDataset({_CAPTURES}, num_parallel_calls: int64; predicate: func, deterministic:"
    f" string = 'default', Targuments: list(type) >= 0, {NAMED}) -> handle: variant",
    "The elements of a dataset for which a function is true.",
)
FILTER_BY_LAST = dataset_op(
    f"FilterByLastComponentDataset(input_dataset: variant; {TYPES}) -> output: variant",
    "The elements of a dataset whose last component is true, without it.",
)


@host_kernel(PARALLEL_MAP_V1, limit=HOST)
def _parallel_map_v1(
    input_dataset: Array, other_arguments: list[Array], num_parallel_calls: Array, *, f: Any,
    output_types: Any, output_shapes: Any, sloppy: bool,
) -> Description:  # fmt: skip
    calls, function = _calls(num_parallel_calls), Mapped(f, other_arguments)
    ordered = False if sloppy else None
    return Map(held(input_dataset), function, calls, ordered, output_types, output_shapes)


@host_kernel(MAP_V0, limit=HOST)
def _map_v0(
    input_dataset: Array, other_arguments: list[Array], *, f: Any, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    function = Mapped(f, other_arguments)
    return Map(held(input_dataset), function, 0, True, output_types, output_shapes)


@host_kernel(PARALLEL_FILTER, limit=HOST)
def _parallel_filter(
    input_dataset: Array, other_arguments: list[Array], num_parallel_calls: Array, *,
    predicate: Any, deterministic: Any, output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    _calls(num_parallel_calls)
    if text_of(deterministic) not in DETERMINISTIC:
        raise errors.InvalidArgumentError(
            None, None, f"deterministic: expected one of {list(DETERMINISTIC)}."
        )
    function = Mapped(predicate, other_arguments)
    return Filter(held(input_dataset), function, output_types, output_shapes)


# ---- numbers

OLD_CARDINALITY = define_op(
    "ExperimentalDatasetCardinality(input_dataset: variant) -> cardinality: int64",
    shape=scalar,
    fallible=True,
    doc="How many elements a dataset has; -1 for infinitely many, -2 where it is not known.",
).not_differentiable("the result is an integer")


@host_kernel(OLD_CARDINALITY, limit=HOST)
def _cardinality(input_dataset: Array) -> Array:
    return np.asarray(held(input_dataset).cardinality(), np.int64)


# ---- an element by its number


def _given(c: ShapeContext) -> list[Dims]:
    return list(c.attr("output_shapes"))


AT = define_op(
    f"GetElementAtIndex(dataset: variant, index: int64; {TYPES}) -> components: [output_types]",
    shape=_given,
    fallible=True,
    doc="The element of a dataset with a number.",
).not_differentiable(WHY)


@host_kernel(AT, limit=HOST, blocks=True)
def _at(
    ctx: KernelContext, dataset: Array, index: Array, *, output_types: Any, output_shapes: Any
) -> Sequence[Array]:
    description, wanted = held(dataset), number(index)
    count = description.cardinality()
    if count == INFINITE:
        raise errors.FailedPreconditionError(
            None,
            None,
            f"Dataset of type {description.kind} has infinite cardinality, which does not support"
            " random access. Take some of it first.",
        )
    if count == UNKNOWN:
        raise errors.UnimplementedError(
            None,
            None,
            f"Random access is not implemented for dataset {description.kind}: it is not known how"
            " many elements there are. Iterate over it.",
        )
    if not 0 <= wanted < count:
        raise errors.OutOfRangeError(None, None, f"Index out of range [0, {count}):{wanted}")
    run = Run(ctx.resources, "CPU", options_of(description))
    stage = description.start(run)
    try:
        stage.skip(wanted)
        found = stage.next()
    finally:
        run.close()
        stage.close()
    if found is None:
        raise errors.OutOfRangeError(
            None, None, f"Index out of range [0, {count}):{wanted}; the dataset had fewer elements."
        )
    return list(found)


# ---- filter by the last component


class FilterByLast(Description):
    """The elements whose last component is true, without it."""

    kind = "FilterByLastComponentDataset"
    __slots__ = ()

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _FilterByLastStage(self.inputs[0].start(run))


class _FilterByLastStage(UnaryStage):
    def next(self) -> Element | None:
        while (found := self.input.next()) is not None:
            if bool(found[-1]):
                return found[:-1]
        return None


@dataset_kernel(FILTER_BY_LAST)
def _filter_by_last(input_dataset: Array, *, output_types: Any, output_shapes: Any) -> Description:
    return FilterByLast((held(input_dataset),), output_types, output_shapes)
