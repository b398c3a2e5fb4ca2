"""Older and fused operations that imported graphs hold, made of the descriptions of others."""

from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext, scalar
from penstock.data.base import cardinality_of
from penstock.data.mapping import Map
from penstock.data.operations import (
    HOST,
    TYPES,
    WHY,
    Mapped,
    dataset_op,
    held,
    number,
)
from penstock.data.stages import INFINITE, UNKNOWN, Array, Description
from penstock.data.whole import started
from penstock.types.dims import Dims

# ---- map

_CAPTURES = "input_dataset: variant, other_arguments: [Targuments]"
MAP_V0 = dataset_op(
    f"ExperimentalMapDataset({_CAPTURES}; f: func, Targuments: list(type) >= 0, {TYPES},"
    " use_inter_op_parallelism: bool = True, preserve_cardinality: bool = False, force_synchronous:"
    " bool = False) -> handle: variant",
    "What a function makes of each element of a dataset.",
)


@host_kernel(MAP_V0, limit=HOST)
def _map_v0(
    input_dataset: Array, other_arguments: list[Array], *, f: Any, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    function = Mapped(f, other_arguments)
    return Map(held(input_dataset), function, 0, True, output_types, output_shapes)


# ---- numbers

OLD_CARDINALITY = define_op(
    "ExperimentalDatasetCardinality(input_dataset: variant) -> cardinality: int64",
    shape=scalar,
    fallible=True,
    doc="How many elements a dataset has; -1 for infinitely many, -2 where it is not known.",
).not_differentiable("the result is an integer")


@host_kernel(OLD_CARDINALITY, limit=HOST)
def _cardinality(input_dataset: Array) -> Array:
    return cardinality_of(input_dataset)


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
    with started(description, ctx) as (stage, _):
        stage.skip(wanted)
        found = stage.next()
    if found is None:
        raise errors.OutOfRangeError(
            None, None, f"Index out of range [0, {count}):{wanted}; the dataset had fewer elements."
        )
    return list(found)
