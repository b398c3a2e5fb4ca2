"""How ragged tensors are made: the class methods `RaggedTensor.from_...`."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from penstock.core.composite import CompositeTensor
from penstock.core.context import in_home
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.ops import debug_asserts as asserts
from penstock.ops.composing import scope
from penstock.ops.ragged_partition import RowPartition
from penstock.ops.ragged_parts import row_count
from penstock.types.dtypes import DType
from penstock.types.ragged_value import RaggedTensorValue

KEY = object()  # what the constructor wants to see


class RaggedFactories(CompositeTensor):
    """The class methods that make a ragged tensor of values and a row partition."""

    __slots__ = ()

    @classmethod
    def _from_row_partition(cls, values: Any, row_partition: Any, validate: bool = True) -> Self:
        if not isinstance(row_partition, RowPartition):
            raise TypeError(
                "Argument `row_partition` must be a RowPartition. Received "
                f"{type(row_partition).__name__}."
            )
        values, row_partition = cls._converted(values, row_partition)
        rows: Any = values.nrows() if isinstance(values, RaggedFactories) else None  # type: ignore[attr-defined]
        if not isinstance(values, RaggedFactories):
            cls._check_values(values)
        if validate:
            if rows is None:
                rows = row_count(values, row_partition.dtype)
            message = (
                "Arguments to _from_row_partition do not form a valid RaggedTensor: the last row "
                "split must be the number of values"
            )
            check = asserts.assert_equal_v1(row_partition.nvals(), rows, message=message)
            row_partition = row_partition._after([check])
        return cls(values, row_partition, internal=KEY)  # type: ignore[call-arg]

    @staticmethod
    def _check_values(values: Any) -> None:
        dims = values.dims
        if dims is not None and len(dims) < 1:
            row_count(values, values.dtype)  # an error of the operation

    @classmethod
    def _converted(cls, values: Any, partition: RowPartition) -> tuple[Any, RowPartition]:
        """Values as a tensor or ragged tensor, whose splits have the dtype of the partition's."""
        if isinstance(values, RaggedFactories):
            own = values._row_partition.dtype  # type: ignore[attr-defined]
            if own is not partition.dtype:
                raise ValueError(
                    "Argument `row_partition` of RaggedTensor must have same dtype as Argument "
                    f"`values`. ({partition.dtype!r} vs. {own!r}). Use with_row_splits_dtype()."
                )
            return values, partition
        return as_values(cls, values, partition.dtype), partition

    @classmethod
    @in_home
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Self:
        """A ragged tensor from the row number of each value.

        Args:
          values: a tensor or ragged tensor, [nvals, ...].
          value_rowids: int32 or int64[nvals], not decreasing.
          nrows: the number of rows; one more than the last row number when None.
          name: a scope in a graph.
          validate: whether to check the arguments.

        Returns:
          A RaggedTensor.

        Raises:
          ValueError, InvalidArgumentError: the row numbers do not fit.

        Example:
          >>> tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2])
          <tf.RaggedTensor [[1, 2], [], [3]]>
        """
        _check_bool(validate)
        with scope(name, "RaggedFromValueRowIds"):
            partition = RowPartition.from_value_rowids(
                value_rowids, nrows, validate, dtype_hint=splits_hint(values)
            )
            values, partition = cls._converted(values, partition)
            ids = partition.value_rowids()
            values.shape[:1].assert_is_compatible_with(ids.shape[:1])
            return cls._from_row_partition(values, partition, validate)

    @classmethod
    @in_home
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """A ragged tensor from the positions between rows.

        Args:
          values: a tensor or ragged tensor, [nvals, ...].
          row_splits: int32 or int64[nrows + 1], from 0 to nvals, not decreasing.
          name: a scope in a graph.
          validate: whether to check the splits.

        Returns:
          A RaggedTensor; row i is `values[row_splits[i]:row_splits[i + 1]]`.

        Raises:
          ValueError, InvalidArgumentError: the splits do not fit.

        Example:
          >>> tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 2, 3])
          <tf.RaggedTensor [[1, 2], [], [3]]>
        """
        _check_bool(validate)
        with scope(name, "RaggedFromRowSplits"):
            partition = RowPartition.from_row_splits(
                row_splits, validate, dtype_hint=splits_hint(values)
            )
            return cls._from_row_partition(values, partition, validate)

    @classmethod
    @in_home
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """A ragged tensor from the length of each row.

        Args:
          values: a tensor or ragged tensor, [nvals, ...].
          row_lengths: int32 or int64[nrows], with the sum nvals.
          name: a scope in a graph.
          validate: whether to check the lengths.

        Returns:
          A RaggedTensor.

        Raises:
          ValueError, InvalidArgumentError: the lengths do not fit.

        Example:
          >>> tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 0, 1])
          <tf.RaggedTensor [[1, 2], [], [3]]>
        """
        _check_bool(validate)
        with scope(name, "RaggedFromRowLengths"):
            partition = RowPartition.from_row_lengths(
                row_lengths, validate, dtype_hint=splits_hint(values)
            )
            return cls._from_row_partition(values, partition, validate)

    @classmethod
    @in_home
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """A ragged tensor from the position at which each row starts.

        Args:
          values: a tensor or ragged tensor, [nvals, ...].
          row_starts: int32 or int64[nrows], from 0, not decreasing.
          name: a scope in a graph.
          validate: whether to check the starts.

        Returns:
          A RaggedTensor.

        Raises:
          ValueError, InvalidArgumentError: the starts do not fit.
        """
        _check_bool(validate)
        with scope(name, "RaggedFromRowStarts"):
            if not isinstance(values, RaggedFactories):
                values = as_values(cls, values, None)
            count = (
                values.nrows()  # type: ignore[attr-defined]
                if isinstance(values, RaggedFactories)
                else row_count(values, _kind_of(row_starts))
            )
            partition = RowPartition.from_row_starts(
                row_starts, count, validate, dtype_hint=splits_hint(values)
            )
            return cls._from_row_partition(values, partition, validate)

    @classmethod
    @in_home
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """A ragged tensor from the position at which each row ends.

        Args:
          values: a tensor or ragged tensor, [nvals, ...].
          row_limits: int32 or int64[nrows], not decreasing, the last one nvals.
          name: a scope in a graph.
          validate: whether to check the limits.

        Returns:
          A RaggedTensor.

        Raises:
          ValueError, InvalidArgumentError: the limits do not fit.
        """
        _check_bool(validate)
        with scope(name, "RaggedFromRowLimits"):
            partition = RowPartition.from_row_limits(
                row_limits, validate, dtype_hint=splits_hint(values)
            )
            return cls._from_row_partition(values, partition, validate)

    @classmethod
    @in_home
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        validate: bool = True,
        name: str | None = None,
    ) -> Self:
        """A ragged tensor with rows of one length.

        Args:
          values: a tensor or ragged tensor, [nvals, ...].
          uniform_row_length: the length, an integer scalar.
          nrows: the number of rows; needed when the length is 0.
          validate: whether to check that the numbers agree.
          name: a scope in a graph.

        Returns:
          A RaggedTensor.

        Raises:
          ValueError, InvalidArgumentError: the numbers do not agree.

        Example:
          >>> tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2).shape
          TensorShape([2, 2])
        """
        _check_bool(validate)
        with scope(name, "RaggedFromUniformRowLength"):
            if not isinstance(values, RaggedFactories):
                values = as_values(cls, values, None)
            hint = splits_hint(values)
            kind = hint or _kind_of(uniform_row_length, nrows)
            count = (
                values.nrows()  # type: ignore[attr-defined]
                if isinstance(values, RaggedFactories)
                else row_count(values, kind)
            )
            partition = RowPartition.from_uniform_row_length(
                uniform_row_length, count, nrows, validate, dtype=kind
            )
            return cls._from_row_partition(values, partition, validate)

    # ---- several ragged dimensions at once

    @classmethod
    @in_home
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Sequence[Any],
        nested_nrows: Sequence[Any] | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """A ragged tensor from the row numbers of each ragged dimension.

        Args:
          flat_values: a tensor, the innermost values.
          nested_value_rowids: row numbers, from the outermost dimension.
          nested_nrows: numbers of rows, or None.
          name: a scope in a graph.
          validate: whether to check the arguments.

        Returns:
          A RaggedTensor; the values themselves when the list is empty.
        """
        _check_bool(validate)
        _check_list(nested_value_rowids, "nested_value_rowids")
        if nested_nrows is None:
            nested_nrows = [None] * len(nested_value_rowids)
        _check_list(nested_nrows, "nested_nrows")
        if len(nested_nrows) != len(nested_value_rowids):
            raise ValueError(
                "Argument `nested_nrows` must have the same length as argument "
                f"`nested_value_rowids`. len(nested_nrows) = {len(nested_nrows)} vs. "
                f"len(nested_values_rowids) = {len(nested_value_rowids)}."
            )
        with scope(name, "RaggedFromNestedValueRowIds"):
            result = flat_values
            pairs = list(zip(nested_value_rowids, nested_nrows, strict=True))
            for ids, rows in reversed(pairs):
                result = cls.from_value_rowids(result, ids, rows, validate=validate)
            return result

    @classmethod
    @in_home
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """A ragged tensor from the row splits of each ragged dimension.

        Args:
          flat_values: a tensor, the innermost values.
          nested_row_splits: row splits, from the outermost dimension.
          name: a scope in a graph.
          validate: whether to check the splits.

        Returns:
          A RaggedTensor; the values themselves when the list is empty.
        """
        _check_bool(validate)
        _check_list(nested_row_splits, "nested_row_splits")
        with scope(name, "RaggedFromNestedRowSplits"):
            result = flat_values
            for splits in reversed(nested_row_splits):
                result = cls.from_row_splits(result, splits, validate=validate)
            return result

    @classmethod
    @in_home
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """A ragged tensor from the row lengths of each ragged dimension.

        Args:
          flat_values: a tensor, the innermost values.
          nested_row_lengths: row lengths, from the outermost dimension.
          name: a scope in a graph.
          validate: whether to check the lengths.

        Returns:
          A RaggedTensor; the values themselves when the list is empty.
        """
        _check_bool(validate)
        _check_list(nested_row_lengths, "nested_row_lengths")
        with scope(name, "RaggedFromNestedRowlengths"):
            result = flat_values
            for lengths in reversed(nested_row_lengths):
                result = cls.from_row_lengths(result, lengths, validate=validate)
            return result

    @classmethod
    def _from_nested_row_partitions(
        cls,
        flat_values: Any,
        nested_row_partitions: Sequence[RowPartition],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        with scope(name, "RaggedFromNestedRowPartitions"):
            result = flat_values
            for partition in reversed(nested_row_partitions):
                result = cls._from_row_partition(result, partition, validate)
            return result


def as_values(cls: Any, values: Any, splits: DType | None) -> Any:
    """`values` as a tensor, or as a ragged tensor when it is a RaggedTensorValue."""
    if isinstance(values, CompositeTensor) and not values._is_one_tensor:
        raise TypeError(
            f"Expected values to be a Tensor or a RaggedTensor, got {type(values).__name__}."
        )
    if isinstance(values, RaggedTensorValue):
        kind = np.int64 if splits is None else splits.numpy_dtype
        nested = [s.astype(kind) for s in values.nested_row_splits]
        return cls.from_nested_row_splits(values.flat_values, nested, validate=False)
    return convert_to_tensor(values, name="values")


def splits_hint(values: Any) -> DType | None:
    """The dtype of the splits of ragged values, None for other values."""
    if isinstance(values, RaggedFactories):
        return values._row_partition.dtype  # type: ignore[attr-defined,no-any-return]
    if isinstance(values, RaggedTensorValue):
        return nest_dtype(values.row_splits)
    return None


def nest_dtype(array: Any) -> DType:
    """The DType of an array."""
    return convert_to_tensor(array[:0]).dtype  # type: ignore[no-any-return]


def _kind_of(*values: Any) -> DType:
    from_tensors = [v.dtype for v in values if isinstance(v, Tensor)]
    return from_tensors[0] if from_tensors else convert_to_tensor(np.int64(0)).dtype


def _check_bool(validate: Any) -> None:
    if not isinstance(validate, bool):
        raise TypeError(
            "Argument `validate` must have type bool. Received "
            f"{type(validate).__name__}: {validate!r}."
        )


def _check_list(value: Any, name: str) -> None:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"Argument `{name}` must be a list of Tensors. Received {value}.")
