"""Shapes of structured tensors: what the outer dimensions of their fields have in common.

Such a shape has a row partition for each dimension but the first, uniform ones too.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.core.composite import CompositeTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops.debug_asserts import assert_equal
from penstock.ops.ragged_elementwise import ragged_or_tensor
from penstock.ops.ragged_partition import RowPartition
from penstock.ops.ragged_rows import is_ragged
from penstock.ops.ragged_shape import DynamicRaggedShape
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType
from penstock.types.tensor_shape import TensorShape

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*\Z")
NROWS = "Must specify `nrows`, a fully specified `shape`, or have `fields` if `rank=1`"
PARTITIONS = "Must specify row_partitions, a fully specified shape, or have fields if rank > 1"


def checked_fields(fields: Any) -> dict[str, Any]:
    """Fields by name, as tensors, ragged tensors or structured tensors.

    Raises:
      TypeError: they are no mapping, a name is no text, or a value is no tensor.
      ValueError: a name is no identifier.
    """
    if not isinstance(fields, Mapping):
        raise TypeError(f"fields must be a dictionary, got {type(fields).__name__}")
    found = {}
    for name, value in fields.items():
        if not isinstance(name, str):
            raise TypeError(f"Unexpected type for key in `fields`: {name}. Expected str.")
        if not _NAME.match(name):
            raise ValueError(
                f"Field name {name!r} is not currently allowed. Expected letters, digits and "
                "underscores, a letter first."
            )
        found[name] = _field(value)
    return found


def _field(value: Any) -> Any:
    if hasattr(value, "_ragged_shape"):
        return value
    if isinstance(value, CompositeTensor) and not is_ragged(value):
        raise TypeError(
            f"Unexpected type for value in `fields`: {value!r}. Expected a Tensor, RaggedTensor or "
            "StructuredTensor."
        )
    return ragged_or_tensor(value)


def outer_shape(value: Any, rank: int, dtype: DType = dt.int64) -> DynamicRaggedShape:
    """The outer `rank` dimensions of a field.

    Raises:
      ValueError: it has fewer.
    """
    whole = getattr(value, "_ragged_shape", None)
    whole = DynamicRaggedShape.from_tensor(value) if whole is None else whole
    if whole.rank is None or whole.rank < rank:
        raise ValueError(
            f"expected a field of rank at least {rank}, got one of shape {value.shape}. Give a "
            "smaller rank."
        )
    return partitioned(whole.with_dtype(dtype), rank)


def partitioned(shape: DynamicRaggedShape, rank: int) -> DynamicRaggedShape:
    """The outer `rank` dimensions of a shape, with a partition for each but the first."""
    if rank < 2:
        return shape._axes(slice(rank))
    partitions = list(shape.row_partitions[: rank - 1])
    for axis in range(len(partitions) + 1, rank):
        inner = axis - len(shape.row_partitions)
        rows = partitions[-1].nvals() if partitions else shape.inner_shape[0]
        partitions.append(_uniform(shape.inner_shape[inner], rows))
    return DynamicRaggedShape.from_row_partitions(partitions)


def _uniform(length: Any, rows: Any) -> RowPartition:
    return RowPartition.from_uniform_row_length(
        length, nvals=length * rows, nrows=rows, validate=False
    )


def common_shape(
    shape: TensorShape,
    fields: Mapping[str, Any],
    nrows: Any = None,
    row_partitions: Sequence[RowPartition] | None = None,
    validate: bool = False,
    dtype: DType = dt.int64,
) -> DynamicRaggedShape:
    """The shape that is given, and that all fields agree on.

    Args:
      shape: what is known of it; its rank is.
      fields: the values.
      nrows: the first dimension, when it is known.
      row_partitions: the others, when they are known.
      validate: whether what cannot be compared now is compared when it runs.
      dtype: int32 or int64.

    Raises:
      ValueError: they do not agree, or nothing says what the shape is.
    """
    rank = shape.rank
    if rank is None:
        raise ValueError("StructuredTensor's shape must have known rank.")
    found: list[tuple[str, DynamicRaggedShape]] = []
    given = _given_shape(rank, nrows, row_partitions, dtype)
    if given is not None:
        found.append(("row_partitions", given))
    found += [(name, outer_shape(value, rank, dtype)) for name, value in fields.items()]
    if not found:
        if not shape.is_fully_defined():
            raise ValueError(NROWS if rank == 1 else PARTITIONS)
        whole = DynamicRaggedShape((), np.array(shape.as_list(), dtype.numpy_dtype), dtype)
        return partitioned(whole, rank)
    best = min(found, key=lambda each: str(each[1].static_lengths()).count("None"))[1]
    for name, each in found:
        _check_same(name, each, best, shape, validate)
    return best


def _given_shape(
    rank: int, nrows: Any, row_partitions: Sequence[RowPartition] | None, dtype: DType
) -> DynamicRaggedShape | None:
    if rank == 0 and nrows is not None:
        raise ValueError("nrows must be None if shape.rank==0")
    if row_partitions is not None and len(row_partitions) != max(rank - 1, 0):
        raise ValueError(
            f"len(row_partitions) must be shape.rank-1, got {len(row_partitions)} for rank {rank}"
        )
    if row_partitions:
        return DynamicRaggedShape.from_row_partitions(tuple(row_partitions)).with_dtype(dtype)
    if rank != 1 or nrows is None:
        return None
    return DynamicRaggedShape((), execute("Reshape", (convert_to_tensor(nrows), [1])), dtype)


def _check_same(
    name: str,
    each: DynamicRaggedShape,
    best: DynamicRaggedShape,
    shape: TensorShape,
    validate: bool,
) -> None:
    lengths = zip(each.static_lengths(), best.static_lengths(), strict=True)
    fits = each._to_tensor_shape().is_compatible_with(shape)
    if not fits or any(_differ(a, b) for a, b in lengths):
        raise ValueError(
            f"Error in shape of {name}: expected {best.static_lengths() if fits else shape}, got "
            f"{each.static_lengths()}. All fields of a StructuredTensor have its outer dimensions."
        )
    if validate and each is not best:
        checks = zip(each.row_partitions, best.row_partitions, strict=True)
        for mine, other in checks:
            assert_equal(mine.row_splits(), other.row_splits(), f"Error in shape of {name}")
        if not each.row_partitions:
            assert_equal(each.inner_shape, best.inner_shape, f"Error in shape of {name}")


def _differ(a: Any, b: Any) -> bool:
    """Whether two lengths of one axis, numbers or one for each row, cannot be the same."""
    if a is None or b is None:
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) != len(b) or any(map(_differ, a, b))
    rows, one = (a, b) if isinstance(a, tuple) else (b, a)
    return any(_differ(n, one) for n in rows) if isinstance(rows, tuple) else a != b


__all__ = ["checked_fields", "common_shape", "outer_shape", "partitioned"]
