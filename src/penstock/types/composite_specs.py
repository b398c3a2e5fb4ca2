"""Specs of values that are made of several tensors: pure descriptions of their components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.types.dtypes import DType, as_dtype, float32, int64, resource
from penstock.types.tensor_shape import ShapeLike, TensorShape, as_shape
from penstock.types.tensor_spec import DenseSpec, TensorSpec
from penstock.types.type_spec import (
    BatchableTypeSpec,
    HookedTypeSpec,
    TypeSpec,
    ValueHooks,
    attach_values,
    register,
    register_type_spec_from_value_converter,
    type_spec_from_value,
)


@register("tf.SparseTensorSpec")
class SparseTensorSpec(HookedTypeSpec, BatchableTypeSpec):
    """Describes a sparse tensor.

    Args:
      shape: the dense shape, with None for dimensions that may vary.
      dtype: the type of the elements.

    Example:
      >>> SparseTensorSpec([None, 3], "int32")
      SparseTensorSpec(TensorShape([None, 3]), tf.int32)
    """

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: ShapeLike = None, dtype: Any = float32) -> None:
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)

    @staticmethod
    def from_value(value: Any) -> SparseTensorSpec:
        """The spec of a SparseTensor or SparseTensorValue.

        Raises:
          TypeError: `value` is neither.
        """
        try:
            found = type_spec_from_value(value)
        except TypeError:
            found = None
        if not isinstance(found, SparseTensorSpec):
            raise TypeError(
                f"Expected SparseTensor or SparseTensorValue. Received: {value} of type"
                f" {type(value).__name__}. Make one with tf.sparse.from_dense."
            )
        return found

    @property
    def shape(self) -> TensorShape:
        """The dense shape."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype

    @property
    def _component_specs(self) -> list[TensorSpec]:
        rank = self._shape.rank
        return [
            TensorSpec([None, rank], int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], int64),
        ]

    def _batch(self, batch_size: int | None) -> SparseTensorSpec:
        return SparseTensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self) -> SparseTensorSpec:
        if self._shape.rank == 0:
            raise ValueError(f"Unbatching is only supported for rank >= 1, got {self} of rank 0")
        return SparseTensorSpec(self._shape[1:], self._dtype)

    def _to_legacy_output_types(self) -> DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return self._shape

    def _to_legacy_output_classes(self) -> type:
        return self.value_type


@register("tf.IndexedSlicesSpec")
class IndexedSlicesSpec(HookedTypeSpec):
    """Describes some rows of a tensor with their indices: the gradient of a gather.

    Args:
      shape: the dense shape, with None for dimensions that may vary.
      dtype: the type of the elements.
      indices_dtype: the type of the indices.
      dense_shape_dtype: the type of the dense shape, or None when values carry none.
      indices_shape: the shape of the indices, a vector; None for a vector of any length.

    Example:
      >>> IndexedSlicesSpec([10, 4])
      IndexedSlicesSpec(TensorShape([10, 4]), tf.float32, tf.int64, None, TensorShape([None]))
    """

    __slots__ = (
        "_dense_shape_dtype",
        "_indices_dtype",
        "_indices_shape",
        "_shape",
        "_values_dtype",
    )

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: Any = float32,
        indices_dtype: Any = int64,
        dense_shape_dtype: Any = None,
        indices_shape: ShapeLike = None,
    ) -> None:
        self._shape = as_shape(shape)
        self._values_dtype = as_dtype(dtype)
        self._indices_dtype = as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        self._indices_shape = as_shape(indices_shape).with_rank(1)

    @property
    def shape(self) -> TensorShape:
        """The dense shape."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._values_dtype

    def _serialize(self) -> tuple[Any, ...]:
        return (
            self._shape,
            self._values_dtype,
            self._indices_dtype,
            self._dense_shape_dtype,
            self._indices_shape,
        )

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        values_shape = self._indices_shape.concatenate(self._shape[1:])
        specs = (
            TensorSpec(values_shape, self._values_dtype),
            TensorSpec(self._indices_shape, self._indices_dtype),
        )
        if self._dense_shape_dtype is None:
            return specs
        return (*specs, TensorSpec([self._shape.rank], self._dense_shape_dtype))


@register("tf.VariableSpec")
class VariableSpec(DenseSpec):
    """Describes a variable.

    Args:
      shape: the shape.
      dtype: the type of the elements.
      trainable: whether the variable is trainable, or None when that does not matter.
      alias_id: a number that variables share when they are the same one; None outside of tracing.
    """

    __slots__ = ("alias_id", "trainable")
    __nest_leaf__ = True

    def __init__(
        self,
        shape: ShapeLike,
        dtype: Any = float32,
        trainable: bool | None = True,
        alias_id: int | None = None,
    ) -> None:
        super().__init__(shape, dtype)
        self.trainable = trainable
        self.alias_id = alias_id

    @classmethod
    def from_value(cls, value: Any) -> VariableSpec:
        """The spec of a variable."""
        return cls(value.shape, value.dtype.base_dtype, value.trainable)

    def __repr__(self) -> str:
        return (
            f"VariableSpec(shape={self._shape}, dtype={self._dtype!r}, "
            f"trainable={self.trainable!r}, alias_id={self.alias_id!r})"
        )

    def __hash__(self) -> int:
        return hash((self._shape, self._dtype, self.trainable, self.alias_id))

    def __eq__(self, other: object) -> bool:
        return (
            super().__eq__(other)
            and self.trainable == other.trainable  # type: ignore[attr-defined]
            and self.alias_id == other.alias_id  # type: ignore[attr-defined]
        )

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True when a variable of this spec could be `spec_or_value`, a spec or a variable."""
        other = spec_or_value
        if not isinstance(other, VariableSpec):
            hooks = type(self)._value_hooks
            if hooks is None or not isinstance(other, hooks.value_type):
                return False
            other = VariableSpec.from_value(other)
        return (
            self._dtype.is_compatible_with(other.dtype)
            and self._shape.is_compatible_with(other.shape)
            and self.trainable == other.trainable
            and self.alias_id == other.alias_id
        )

    def is_subtype_of(self, other: Any) -> bool:
        """True when every variable of this spec fits `other`.

        Raises:
          NotImplementedError: one of the two has an `alias_id` and the other has none.
        """
        if type(self) is not type(other):
            return False
        self._check_alias("is_subtype_of", other)
        return self._like(other) and self._shape.is_subtype_of(other.shape)

    def _check_alias(self, method: str, other: VariableSpec) -> None:
        if (self.alias_id is None) != (other.alias_id is None):
            raise NotImplementedError(
                f"VariableSpec.{method}: expected an alias_id on both sides or on none, got {self} "
                f"and {other}."
            )

    def _like(self, other: VariableSpec) -> bool:
        return (
            self._dtype is other._dtype
            and self.trainable == other.trainable
            and self.alias_id == other.alias_id
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> Any:
        """The narrowest VariableSpec that covers this one and `others`, or None.

        Raises:
          NotImplementedError: one of them has an `alias_id` and this one has none, or the reverse.
        """
        for other in others:
            if type(other) is type(self):
                self._check_alias("most_specific_common_supertype", other)
        if not all(type(o) is type(self) and self._like(o) for o in others):
            return None
        shape = self._shape.most_specific_common_supertype([o.shape for o in others])
        return VariableSpec(shape, self._dtype, self.trainable, self.alias_id)

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self.trainable, self.alias_id

    @property
    def _component_specs(self) -> list[TensorSpec]:
        return [TensorSpec([], resource)]


@register("tf.NoneTensorSpec")
class NoneTensorSpec(HookedTypeSpec, BatchableTypeSpec):
    """Describes None where a structure of tensors has it: a value without tensors."""

    __slots__ = ()

    @staticmethod
    def from_value(value: Any) -> NoneTensorSpec:
        """The spec of None."""
        del value
        return NoneTensorSpec()

    def _serialize(self) -> tuple[Any, ...]:
        return ()

    @property
    def _component_specs(self) -> list[Any]:
        return []

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True for None and for a NoneTensorSpec."""
        return spec_or_value is None or isinstance(spec_or_value, NoneTensorSpec)

    def _batch(self, batch_size: int | None) -> NoneTensorSpec:
        del batch_size
        return NoneTensorSpec()

    def _unbatch(self) -> NoneTensorSpec:
        return NoneTensorSpec()

    def _to_legacy_output_types(self) -> TypeSpec:
        return self

    def _to_legacy_output_shapes(self) -> TypeSpec:
        return self

    def _to_legacy_output_classes(self) -> TypeSpec:
        return self


attach_values(
    NoneTensorSpec,
    ValueHooks(type(None), lambda spec, value: [], lambda spec, components: None),
)
register_type_spec_from_value_converter(type(None), NoneTensorSpec.from_value)
