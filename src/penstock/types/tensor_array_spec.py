"""The spec of a TensorArray."""

from __future__ import annotations

from typing import Any

from penstock.types.dtypes import DType, as_dtype, float32, variant
from penstock.types.tensor_shape import ShapeLike, TensorShape, as_shape
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import HookedTypeSpec, register


@register("tf.TensorArraySpec")
class TensorArraySpec(HookedTypeSpec):
    """Describes a TensorArray.

    Args:
      element_shape: the shape of the elements, as far as it is known.
      dtype: the type of the elements.
      dynamic_size: whether the array grows past its first size.
      infer_shape: whether all elements have one shape.

    Example:
      >>> TensorArraySpec([2], "int32")
      TensorArraySpec(TensorShape([2]), tf.int32, False, True)
    """

    __slots__ = ("_dtype", "_dynamic_size", "_element_shape", "_infer_shape")

    def __init__(
        self,
        element_shape: ShapeLike = None,
        dtype: Any = float32,
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ) -> None:
        self._element_shape = as_shape(element_shape)
        self._dtype = as_dtype(dtype)
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = bool(infer_shape)

    @property
    def element_shape(self) -> TensorShape:
        """The shape of the elements, as far as it is known."""
        return self._element_shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether the array grows past its first size."""
        return self._dynamic_size

    @property
    def infer_shape(self) -> bool:
        """Whether all elements have one shape."""
        return self._infer_shape

    @staticmethod
    def from_value(value: Any) -> TensorArraySpec:
        """The spec of a TensorArray.

        Raises:
          TypeError: `value` is no TensorArray.
        """
        spec = getattr(value, "_type_spec", None)
        if not isinstance(spec, TensorArraySpec):
            raise TypeError(
                f"Expected value to be a TensorArray, but got: {type(value)}. Pass a TensorArray."
            )
        return spec

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a value, or the values of a spec, may be of this type."""
        other = spec_or_value
        if not isinstance(other, TensorArraySpec):
            other = getattr(spec_or_value, "_type_spec", None)
        return (
            isinstance(other, TensorArraySpec)
            and self._dtype.is_compatible_with(other._dtype)
            and self._element_shape.is_compatible_with(other._element_shape)
            and self._dynamic_size == other._dynamic_size
        )

    def most_specific_compatible_type(self, other: Any) -> TensorArraySpec:
        """The most specific spec that describes the values of both.

        Raises:
          ValueError: the types or the sizes' kinds differ.
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}.")
        shape: TensorShape = self._element_shape.most_specific_compatible_shape(
            other._element_shape
        )
        return TensorArraySpec(
            shape, self._dtype, self._dynamic_size, self._infer_shape and other._infer_shape
        )

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_shape, self._dtype, self._dynamic_size, self._infer_shape)

    @property
    def _component_specs(self) -> list[TensorSpec]:
        return [TensorSpec([], variant)]
