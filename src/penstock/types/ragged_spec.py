"""Specs of ragged values: `RaggedTensorSpec`, and `RowPartitionSpec` of one ragged dimension."""

from __future__ import annotations

from typing import Any

from penstock.types.dtypes import DType, as_dtype, float32, int64, variant
from penstock.types.tensor_shape import ShapeLike, TensorShape, as_shape
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import (
    BatchableTypeSpec,
    HookedTypeSpec,
    TypeSpec,
    register,
    type_spec_or_none,
)
from penstock.util import nest

# Any: values and components are of classes of higher layers.


@register("tf.RaggedTensorSpec")
class RaggedTensorSpec(HookedTypeSpec, BatchableTypeSpec):
    """Describes a ragged tensor.

    Args:
      shape: the shape, with None for ragged dimensions and those that may vary.
      dtype: the type of the elements.
      ragged_rank: the number of dimensions that have row splits; the rank minus one when None.
      row_splits_dtype: int32 or int64.
      flat_values_spec: the spec of the flat values, when these are no plain tensors.

    Raises:
      ValueError: `ragged_rank` is not given and does not follow, or is not less than the rank.

    Example:
      >>> RaggedTensorSpec([3, None], "int32")
      RaggedTensorSpec(TensorShape([3, None]), tf.int32, 1, tf.int64)
    """

    __slots__ = ("_dtype", "_flat_values_spec", "_ragged_rank", "_row_splits_dtype", "_shape")

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: Any = float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = int64,
        flat_values_spec: Any = None,
    ) -> None:
        self._shape = as_shape(shape)
        self._row_splits_dtype = as_dtype(row_splits_dtype)
        self._flat_values_spec = flat_values_spec
        if flat_values_spec is None:
            self._dtype: Any = None if dtype is None else as_dtype(dtype)
        else:
            if dtype is float32 or dtype is None:
                dtype = flat_values_spec.dtype
            if dtype != flat_values_spec.dtype:
                raise ValueError(
                    "RaggedTensorSpec: dtype must be the same as flat_values_spec.dtype, got "
                    f"{dtype} and {flat_values_spec.dtype}. Leave dtype out."
                )
            self._dtype = dtype
        self._ragged_rank = self._checked_rank(ragged_rank)

    def _checked_rank(self, ragged_rank: int | None) -> int:
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError(
                    "Must specify ragged_rank or a shape with a known rank: RaggedTensorSpec got "
                    "neither."
                )
            return rank - 1
        if not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
        if rank is not None and ragged_rank >= rank:
            raise ValueError(
                f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({rank}). Give a "
                "shape with more dimensions."
            )
        return ragged_rank

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> TensorShape:
        """The shape; None where a dimension is ragged or may vary."""
        return self._shape

    @property
    def ragged_rank(self) -> int:
        """The number of dimensions that have row splits."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> DType:
        """The type of the row splits."""
        return self._row_splits_dtype

    @property
    def flat_values_spec(self) -> Any:
        """The spec of the flat values, or None for plain tensors."""
        return self._flat_values_spec

    @property
    def value_type(self) -> type:
        """RaggedTensor, or Tensor when the ragged rank is 0."""
        return self._hooks().value_type if self._ragged_rank > 0 else TensorSpec([]).value_type

    @classmethod
    def from_value(cls, value: Any) -> RaggedTensorSpec:
        """The spec of a ragged tensor or a RaggedTensorValue."""
        if hasattr(value, "_type_spec"):
            spec: RaggedTensorSpec = value._type_spec
            return spec
        return cls(
            value.shape, as_dtype(value.dtype), value.ragged_rank, as_dtype(value.row_splits.dtype)
        )

    def _serialize(self) -> tuple[Any, ...]:
        parts = (self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype)
        return parts if self._flat_values_spec is None else (*parts, self._flat_values_spec)

    @property
    def _component_specs(self) -> list[Any]:
        if self._ragged_rank <= 0:
            return [self._flat_values_spec or TensorSpec(self._shape, self._dtype)]
        flat = self._flat_values_spec
        if flat is None:
            inner = self._shape[self._ragged_rank + 1 :]
            flat = TensorSpec(TensorShape([None]).concatenate(inner), self._dtype)
        rows = None if self._shape.rank is None else self._shape[0]
        first = TensorSpec([None if rows is None else rows + 1], self._row_splits_dtype)
        rest = [TensorSpec([None], self._row_splits_dtype) for _ in range(self._ragged_rank - 1)]
        return [flat, first, *rest]

    # A dataset keeps a ragged tensor as one variant, so that rows of any length stack.

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return [TensorSpec(None, variant)]

    def _to_tensor_list(self, value: Any) -> list[Any]:
        if self._shape.rank is not None and self._shape.rank == self._ragged_rank == 0:
            raise ValueError(f"{self}: a ragged tensor of rank 0 cannot be a variant.")
        return [self._hooks().value_type._encoded(value, batched=False)]

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        if self._ragged_rank < 0:
            raise ValueError(f"{self}: a batch needs ragged_rank >= 0.")
        return [self._hooks().value_type._encoded(value, batched=True)]

    def _from_compatible_tensor_list(self, tensor_list: Any) -> Any:
        return self._hooks().value_type._decoded(tensor_list[0], self)

    # A function's argument is taken apart into its component tensors.

    def flatten(self) -> list[Any]:
        """The specs of the flat values and of the row splits, from the outermost."""
        return nest.flatten(self._component_specs, expand_composites=True)

    def to_tensors(self, value: Any) -> list[Any]:
        """The flat values and the row splits of a ragged tensor."""
        return nest.flatten(self._to_components(value), expand_composites=True)

    def from_tensors(self, tensors: Any) -> Any:
        """A ragged tensor from an iterator of what `to_tensors` gives."""
        specs = self._component_specs
        parts = [next(tensors) for _ in nest.flatten(specs, expand_composites=True)]
        return self._from_components(nest.pack_sequence_as(specs, parts, expand_composites=True))

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True when a value could have both types, or the value could have this one."""
        if self._ragged_rank == 0:
            plain = self._flat_values_spec or TensorSpec(self._shape, self._dtype)
            other = spec_or_value
            if not isinstance(other, TypeSpec):
                other = type_spec_or_none(other)
            if other is not None and not isinstance(other, RaggedTensorSpec):
                return bool(plain.is_compatible_with(other))
        return super().is_compatible_with(spec_or_value)

    def _batch(self, batch_size: int | None) -> RaggedTensorSpec:
        return RaggedTensorSpec(
            TensorShape([batch_size]).concatenate(self._shape),
            self._dtype,
            self._ragged_rank + 1,
            self._row_splits_dtype,
        )

    def _unbatch(self) -> RaggedTensorSpec:
        # A dense dimension of a ragged batch stays one of a row: its rank may drop below 0.
        return RaggedTensorSpec(
            self._shape[1:], self._dtype, self._ragged_rank - 1, self._row_splits_dtype
        )

    def _to_legacy_output_types(self) -> DType:
        return self.dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return self._shape

    def _to_legacy_output_classes(self) -> RaggedTensorSpec:
        return self


@register("tf.RowPartitionSpec")
class RowPartitionSpec(HookedTypeSpec):
    """Describes a RowPartition.

    Args:
      nrows: the number of rows, or None.
      nvals: the number of values, or None.
      uniform_row_length: the length of each row, or None.
      dtype: int32 or int64.

    Raises:
      ValueError: the numbers do not agree.
    """

    __slots__ = ("_dtype", "_nrows", "_nvals", "_uniform_row_length")

    def __init__(
        self,
        nrows: Any = None,
        nvals: Any = None,
        uniform_row_length: Any = None,
        dtype: Any = int64,
    ) -> None:
        rows = TensorShape([nrows])
        values = TensorShape([nvals])
        length = TensorShape([uniform_row_length])
        dtype = as_dtype(dtype)
        if dtype.name not in ("int32", "int64"):
            raise ValueError(f"RowPartitionSpec: dtype must be tf.int32 or tf.int64, got {dtype}.")
        self._dtype: DType = dtype
        if length[0] is not None and rows[0] is not None:
            values = values.merge_with([rows[0] * length[0]])
        elif length[0] and values[0] is not None:
            if values[0] % length[0]:
                raise ValueError(
                    f"RowPartitionSpec: nvals={values[0]} is no multiple of "
                    f"uniform_row_length={length[0]}."
                )
            rows = rows.merge_with([values[0] // length[0]])
        elif rows[0] and values[0] == 0:
            length = length.merge_with([0])
        self._nrows, self._nvals, self._uniform_row_length = rows, values, length

    @property
    def nrows(self) -> int | None:
        """The number of rows."""
        return self._nrows[0]  # type: ignore[no-any-return]

    @property
    def nvals(self) -> int | None:
        """The number of values."""
        return self._nvals[0]  # type: ignore[no-any-return]

    @property
    def uniform_row_length(self) -> int | None:
        """The length of each row."""
        return self._uniform_row_length[0]  # type: ignore[no-any-return]

    @property
    def dtype(self) -> DType:
        """The type of the row splits."""
        return self._dtype

    @classmethod
    def _deserialize(cls, serialization: tuple[Any, ...]) -> RowPartitionSpec:
        rows, values, length, dtype = serialization
        return cls(rows[0], values[0], length[0], dtype)

    def _serialize(self) -> tuple[Any, ...]:
        return self._nrows, self._nvals, self._uniform_row_length, self._dtype

    @property
    def _component_specs(self) -> TensorSpec:
        return TensorSpec([None if self.nrows is None else self.nrows + 1], self._dtype)

    @classmethod
    def from_value(cls, value: Any) -> RowPartitionSpec:
        """The spec of a RowPartition."""
        return value._type_spec  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return (
            f"RowPartitionSpec(nrows={self.nrows}, nvals={self.nvals}, "
            f"uniform_row_length={self.uniform_row_length}, dtype={self._dtype!r})"
        )
