"""TensorSpec: the dtype, shape and name of a tensor, and the same with bounds of its values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from penstock.types import dims as _dims
from penstock.types.dtypes import DType, as_dtype, float32, from_numpy
from penstock.types.tensor_shape import ShapeLike, TensorShape
from penstock.types.type_spec import (
    BatchableTypeSpec,
    HookedTypeSpec,
    register,
    register_type_spec_from_value_converter,
)


class DenseSpec(HookedTypeSpec):
    """The part that specs of dense values share: shape, dtype and name.

    Args:
      shape: anything that a TensorShape can be made from.
      dtype: anything that `as_dtype` takes.
      name: a name for the value, or None.
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: ShapeLike, dtype: Any = float32, name: str | None = None) -> None:
        self._shape = shape if type(shape) is TensorShape else TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name

    @property
    def shape(self) -> TensorShape:
        """The shape of the values, which may be known in part only."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name of the value, or None."""
        return self._name

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(shape={self._shape}, dtype={self._dtype!r}, "
            f"name={self._name!r})"
        )

    def __hash__(self) -> int:
        return hash((self._shape.dims_tuple, self._dtype.index))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(other) is type(self)
            and self._shape.dims_tuple == other._shape.dims_tuple
            and self._dtype is other._dtype
            and self._name == other._name
        )

    def _to_legacy_output_types(self) -> DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return self._shape

    def _to_legacy_output_classes(self) -> type:
        return self.value_type


@register("tf.TensorSpec")
class TensorSpec(DenseSpec, BatchableTypeSpec):
    """Describes a tensor: what a function accepts, what a dataset yields.

    Args:
      shape: the shape, with None for dimensions that may vary; None for any rank.
      dtype: the type of the elements.
      name: a name for the tensor, or None.

    Example:
      >>> TensorSpec([None, 3], "float32", name="x")
      TensorSpec(shape=(None, 3), dtype=tf.float32, name='x')
    """

    __slots__ = ()
    __nest_leaf__ = True  # a tensor is one leaf of a structure
    _message_field: ClassVar = "tensor_spec_value"

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """A TensorSpec with the shape and dtype of another spec.

        Args:
          spec: a TensorSpec or another spec with `shape`, `dtype` and `name`.
          name: the name of the new spec; the one of `spec` when None.
        """
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """A TensorSpec with the shape and dtype of a tensor.

        Args:
          tensor: a tensor; the name of a symbolic one is its operation's.
          name: the name of the new spec, instead of the tensor's.

        Raises:
          ValueError: `tensor` is no tensor.
        """
        is_one = isinstance(tensor, cls._hooks().value_type)
        if not (is_one or getattr(tensor, "_is_one_tensor", False)):
            raise ValueError(f"`tensor` should be a tf.Tensor, but got type {type(tensor)}.")
        operation = getattr(tensor, "op", None)
        return TensorSpec(tensor.shape, tensor.dtype, name or getattr(operation, "name", None))

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """True when a tensor of this spec could be `spec_or_tensor`, a TensorSpec or a tensor."""
        other: Any = spec_or_tensor
        if not isinstance(other, TensorSpec):
            hooks = type(self)._value_hooks
            if hooks is None or not isinstance(other, hooks.value_type):
                return False
        return self._dtype.is_compatible_with(other.dtype) and _dims.compatible(
            self._shape.dims_tuple, other.shape.dims_tuple
        )

    def is_subtype_of(self, other: Any) -> bool:
        """True when every tensor of this spec fits `other`; a spec without a name fits any name."""
        if not isinstance(other, TensorSpec):
            return False
        return (
            (not self._name or self._name == other._name)
            and self._dtype is other._dtype
            and _dims.is_subtype(self._shape.dims_tuple, other._shape.dims_tuple)
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> Any:
        """The narrowest TensorSpec that covers this one and `others`; None when dtypes differ."""
        dims = self._shape.dims_tuple
        for other in others:
            if (
                type(other) is not type(self)
                or other._dtype is not self._dtype
                or other._name != self._name
            ):
                return None
            dims = _dims.union(dims, other._shape.dims_tuple)
        return self._with_shape(TensorShape.from_dims(dims))

    def _with_shape(self, shape: TensorShape) -> Self:
        return type(self)(shape, self._dtype, self._name)

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    @property
    def _component_specs(self) -> TensorSpec:
        return self

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return [self]

    def _to_tensor_list(self, value: Any) -> list[Any]:
        return [self._to_components(value)]

    def _from_compatible_tensor_list(self, tensor_list: Sequence[Any]) -> Any:
        return self._from_components(tensor_list[0])

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """The next tensor of the iterator."""
        return self._from_components(next(tensors))

    def _without_tensor_names(self) -> TensorSpec:
        return self if self._name is None else TensorSpec(self._shape, self._dtype)

    def _batch(self, batch_size: int | None) -> TensorSpec:
        return TensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self) -> TensorSpec:
        if self._shape.rank == 0:
            raise ValueError(
                f"Unbatching a tensor is only supported for rank >= 1, got {self} of rank 0"
            )
        return TensorSpec(self._shape[1:], self._dtype)


class BoundedTensorSpec(TensorSpec):
    """A TensorSpec with the smallest and largest value that elements may have.

    Args:
      shape: the shape, with None for dimensions that may vary.
      dtype: the type of the elements.
      minimum: the smallest value, both ends included; a number or an array that broadcasts with
        `shape`.
      maximum: the largest value, likewise.
      name: a name for the tensor, or None.

    Raises:
      ValueError: a bound is None, or does not broadcast with `shape`.
    """

    __slots__ = ("_maximum", "_minimum")
    _message_field: ClassVar = "bounded_tensor_spec_value"

    def __init__(
        self, shape: ShapeLike, dtype: Any, minimum: Any, maximum: Any, name: str | None = None
    ) -> None:
        super().__init__(shape, dtype, name)
        self._minimum = self._bound("minimum", minimum)
        self._maximum = self._bound("maximum", maximum)

    def _bound(self, which: str, value: Any) -> np.ndarray[Any, Any]:
        if value is None:
            raise ValueError(
                f"`{which}` can not be None: expected a number or an array of shape {self._shape}."
            )
        bound = np.array(value, dtype=self._dtype.as_numpy_dtype)
        try:
            _dims.broadcast(bound.shape, self._shape.dims_tuple)
        except ValueError:
            raise ValueError(
                f"`{which}` {value} is not compatible with shape {self._shape}: expected a shape "
                f"that broadcasts with it, got {bound.shape}."
            ) from None
        bound.setflags(write=False)
        return bound

    @classmethod
    def from_spec(cls, spec: Any) -> BoundedTensorSpec:  # type: ignore[override]
        """A BoundedTensorSpec like `spec`; without bounds, they are those of the dtype.

        Args:
          spec: a TensorSpec, perhaps with bounds.
        """
        dtype = as_dtype(spec.dtype)
        minimum = getattr(spec, "minimum", None)
        maximum = getattr(spec, "maximum", None)
        return cls(
            spec.shape,
            dtype,
            dtype.min if minimum is None else minimum,
            dtype.max if maximum is None else maximum,
            spec.name,
        )

    @property
    def minimum(self) -> np.ndarray[Any, Any]:
        """The smallest value, an array that cannot be written to."""
        return self._minimum

    @property
    def maximum(self) -> np.ndarray[Any, Any]:
        """The largest value, an array that cannot be written to."""
        return self._maximum

    def __repr__(self) -> str:
        return (
            f"BoundedTensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r}, "
            f"minimum={self._minimum!r}, maximum={self._maximum!r})"
        )

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return (
            super().__eq__(other) and self._key() == other._key()  # type: ignore[attr-defined]
        )

    def _same_bounds(self, other: Any) -> bool:
        return type(other) is BoundedTensorSpec and all(
            np.array_equal(a, b)
            for a, b in ((self._minimum, other._minimum), (self._maximum, other._maximum))
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> Any:
        """The narrowest spec that covers this one and `others`; None when bounds differ."""
        if not all(self._same_bounds(other) for other in others):
            return None
        return super().most_specific_common_supertype(others)

    def _with_shape(self, shape: TensorShape) -> BoundedTensorSpec:
        return BoundedTensorSpec(shape, self._dtype, self._minimum, self._maximum, self._name)

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._minimum, self._maximum, self._name

    def _without_tensor_names(self) -> BoundedTensorSpec:
        return BoundedTensorSpec(self._shape, self._dtype, self._minimum, self._maximum)


def _spec_of_array(value: Any) -> TensorSpec:
    return TensorSpec(TensorShape.from_dims(value.shape), from_numpy(value.dtype))


register_type_spec_from_value_converter(np.ndarray, _spec_of_array, allow_subclass=True)
register_type_spec_from_value_converter(np.generic, _spec_of_array, allow_subclass=True)
