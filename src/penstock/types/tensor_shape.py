"""TensorShape and Dimension: the public face of `Dims`.

A `TensorShape` is immutable and hashable and holds ``dims_tuple`` (see `penstock.types.dims`). With
TensorFlow 2 behaviour, the default, its elements are ``int`` or ``None``; after
``disable_v2_tensorshape`` they are `Dimension` objects. `TensorShape.from_dims` makes one from
valid ``Dims`` without looking at them. Conversion to protocol buffers lives with the graph format.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, overload

from penstock import proto
from penstock.types import dims as _dims
from penstock.types.dimension import Dimension, dimension_value
from penstock.types.dims import Dim, Dims

if TYPE_CHECKING:
    from penstock.proto.tensor_shape_pb2 import TensorShapeProto

# What as_shape accepts; tensors and arrays of integers too, hence Any inside.
ShapeLike: TypeAlias = "TensorShape | Sequence[Any] | int | Dimension | Any | None"


class _Behavior:
    """Whether elements of a TensorShape are ints (True) or Dimensions (False)."""

    v2 = True


def enable_v2_tensorshape() -> None:
    """Makes the elements of a TensorShape `int` or `None`, the default."""
    _Behavior.v2 = True


def disable_v2_tensorshape() -> None:
    """Makes the elements of a TensorShape `Dimension` objects, as in TensorFlow 1."""
    _Behavior.v2 = False


def _to_dim(value: Any) -> Dim:
    if type(value) is int or value is None:
        size = value
    else:
        size = Dimension(value).value
    if size is not None and size < 0:
        raise ValueError(
            f"Dimension {size} must be >= 0. Use None for a dimension of unknown size."
        )
    return size


def _to_dims(value: Any) -> Dims:
    if value is None:
        return None
    if isinstance(value, TensorShape):
        return value.dims_tuple
    if isinstance(value, tuple | list):
        return tuple([_to_dim(d) for d in value])
    if isinstance(value, str):
        raise TypeError(
            f"Failed to convert {value!r} to a shape: expected one dimension such as 10 or an "
            "iterable of dimensions such as [1, 10, None], got a string."
        )
    if isinstance(value, Dimension):
        return (value.value,)
    if hasattr(value, "unknown_rank") and hasattr(value, "dim"):
        return _proto_dims(value)
    try:
        items = iter(value)
    except TypeError:
        return (_to_dim(value),)
    return tuple([_to_dim(d) for d in items])


def _proto_dims(value: Any) -> Dims:
    """Reads a TensorShapeProto by its fields, so that protobuf need not be imported."""
    if value.unknown_rank:
        return None
    return tuple(None if d.size == -1 else _to_dim(d.size) for d in value.dim)


class TensorShape:
    """The shape of a tensor, which may be known in part only.

    Args:
      dims: None for a shape of unknown rank; an iterable of dimensions, each an int or None; one
        int for a shape of rank 1; a TensorShape, a `Dimension` or a TensorShapeProto.

    Raises:
      TypeError: a dimension is no integer.
      ValueError: a dimension is negative.

    Example:
      >>> TensorShape([2, None])
      TensorShape([2, None])
      >>> TensorShape([2, None]).is_compatible_with([2, 3])
      True
    """

    __slots__ = ("__weakref__", "dims_tuple")

    dims_tuple: Dims

    def __init__(self, dims: ShapeLike) -> None:
        self.dims_tuple = _to_dims(dims)

    @classmethod
    def from_dims(cls, dims: Dims) -> TensorShape:
        """Makes a shape from dimensions that are known to be valid, without looking at them."""
        self = object.__new__(cls)
        self.dims_tuple = dims
        return self

    def __repr__(self) -> str:
        if self.dims_tuple is None:
            return "TensorShape(None)"
        if _Behavior.v2:
            return f"TensorShape({list(self.dims_tuple)})"
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        text = _dims.text(self.dims_tuple)
        return text if _Behavior.v2 else text.replace("None", "?")

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None when it is unknown."""
        return None if self.dims_tuple is None else len(self.dims_tuple)

    @property
    def ndims(self) -> int | None:
        """The same as `rank`."""
        return None if self.dims_tuple is None else len(self.dims_tuple)

    @property
    def dims(self) -> list[Dimension] | None:
        """The dimensions as a list of `Dimension`, or None when the rank is unknown."""
        if self.dims_tuple is None:
            return None
        return [Dimension(d) for d in self.dims_tuple]

    def __len__(self) -> int:
        if self.dims_tuple is None:
            raise ValueError(
                "Cannot take the length of shape with unknown rank. Look at `.rank` first."
            )
        return len(self.dims_tuple)

    def __bool__(self) -> bool:
        return self.dims_tuple is not None

    __nonzero__ = __bool__

    def __iter__(self) -> Iterator[Any]:
        if self.dims_tuple is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self.dims_tuple if _Behavior.v2 else self.dims or ())

    @overload
    def __getitem__(self, key: SupportsIndex) -> Any: ...

    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...

    def __getitem__(self, key: Any) -> Any:
        known = self.dims_tuple
        if known is None:
            return self._unknown_item(key)
        if isinstance(key, slice):
            return TensorShape.from_dims(known[key])
        return known[key] if _Behavior.v2 else Dimension(known[key])

    def _unknown_item(self, key: Any) -> Any:
        if not isinstance(key, slice):
            operator.index(key)
            return None if _Behavior.v2 else Dimension(None)
        start = 0 if key.start is None else key.start
        stop = key.stop
        if key.step is not None:
            raise ValueError("Steps are not yet handled for a shape of unknown rank.")
        if stop is None or stop < 0 or start < 0:
            return TensorShape(None)
        return TensorShape.from_dims((None,) * max(0, stop - start))

    def num_elements(self) -> int | None:
        """The number of elements, or None when a dimension or the rank is unknown."""
        return _dims.num_elements(self.dims_tuple)

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """Combines what two shapes of one tensor say.

        Raises:
          ValueError: the shapes contradict each other.
        """
        return TensorShape.from_dims(_dims.merge(self.dims_tuple, _to_dims(other)))

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """The dimensions of this shape, then those of `other`."""
        return TensorShape.from_dims(_dims.concat(self.dims_tuple, _to_dims(other)))

    def __add__(self, other: ShapeLike) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __concat__(self, other: ShapeLike) -> TensorShape:
        return self.concatenate(other)

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raises ValueError unless the ranks may be the same."""
        other = as_shape(other)
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            raise ValueError(
                f"Shapes {self} and {other} must have the same rank, got {self.rank} and "
                f"{other.rank}"
            )

    def assert_has_rank(self, rank: int) -> None:
        """Raises ValueError unless the rank may be `rank`."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}, got rank {self.rank}")

    def with_rank(self, rank: int) -> TensorShape:
        """This shape with the given rank.

        Raises:
          ValueError: this shape has another rank.
        """
        self.assert_has_rank(rank)
        return unknown_shape(rank) if self.dims_tuple is None else self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape, when its rank may be `rank` or more; raises ValueError otherwise."""
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}, got {self.rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape, when its rank may be `rank` or less; raises ValueError otherwise."""
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}, got {self.rank}")
        return self

    def is_subtype_of(self, other: Any) -> bool:
        """True when every tensor of this shape has shape `other` too."""
        if not isinstance(other, TensorShape):
            return False
        return _dims.is_subtype(self.dims_tuple, other.dims_tuple)

    def most_specific_common_supertype(self, others: Sequence[Any]) -> TensorShape | None:
        """The narrowest shape of which all are subtypes; None when one of them is no shape."""
        out = self.dims_tuple
        for other in others:
            if not isinstance(other, TensorShape):
                return None
            out = _dims.union(out, other.dims_tuple)
        return TensorShape.from_dims(out)

    def most_specific_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """The narrowest shape that is compatible with both."""
        return TensorShape.from_dims(_dims.union(self.dims_tuple, _to_dims(other)))

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """True when one tensor could have both shapes."""
        return _dims.compatible(self.dims_tuple, _to_dims(other))

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raises ValueError unless one tensor could have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def is_fully_defined(self) -> bool:
        """True when the rank and every dimension are known."""
        return _dims.is_full(self.dims_tuple)

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError unless every dimension is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def as_list(self) -> list[Dim]:
        """The dimensions as a list of int or None.

        Raises:
          ValueError: the rank is unknown.
        """
        if self.dims_tuple is None:
            raise ValueError(
                "as_list() is not defined on an unknown TensorShape. Test `.rank is None` first."
            )
        return list(self.dims_tuple)

    def as_proto(self) -> TensorShapeProto:
        """The shape as a message; -1 stands for an unknown size."""
        message = proto.tensor_shape_pb2.TensorShapeProto()
        if self.dims_tuple is None:
            message.unknown_rank = True
            return message
        for size in self.dims_tuple:
            message.dim.add(size=-1 if size is None else size)
        return message

    def experimental_as_proto(self) -> TensorShapeProto:
        """The shape as a message, as `as_proto`."""
        return self.as_proto()

    @classmethod
    def experimental_type_proto(cls) -> type[TensorShapeProto]:
        """The class of the messages that stand for shapes."""
        return proto.tensor_shape_pb2.TensorShapeProto

    @classmethod
    def experimental_from_proto(cls, message: TensorShapeProto) -> TensorShape:
        """The shape that a message says."""
        return cls(message)

    # The trace type protocol: a shape is a type of its own with no tensors inside.

    def placeholder_value(self, placeholder_context: Any) -> TensorShape:
        """The value that stands for this shape while a function is traced: the shape itself."""
        del placeholder_context
        return self

    def from_tensors(self, tensors: Iterator[Any]) -> TensorShape:
        """Rebuilds the value from no tensors."""
        del tensors
        return self

    def to_tensors(self, value: Any) -> list[Any]:
        """The tensors inside a value of this type: none."""
        del value
        return []

    def flatten(self) -> list[Any]:
        """The types of the tensors inside: none."""
        return []

    def cast(self, value: Any, cast_context: Any) -> TensorShape:
        """Returns `value` when it is this shape; raises TypeError otherwise."""
        del cast_context
        if isinstance(value, TensorShape) and value == self:
            return value
        raise TypeError(f"Cannot cast {value!r} to type {self!r}: expected an equal shape")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TensorShape):
            return self.dims_tuple == other.dims_tuple
        try:
            return self.dims_tuple == _to_dims(other)
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.dims_tuple)

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (None if self.dims_tuple is None else list(self.dims_tuple),)


def as_shape(shape: ShapeLike) -> TensorShape:
    """Returns `shape` as a TensorShape, itself when it is one."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(rank: int | None = None) -> TensorShape:
    """A shape with unknown dimensions, and an unknown rank unless `rank` is given."""
    return TensorShape.from_dims(None if rank is None else (None,) * rank)


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """The dimension at `index` as a `Dimension`, whatever the behaviour of TensorShape.

    Args:
      shape: a TensorShape; with an unknown rank the dimension is unknown.
      index: from -rank to rank - 1.

    Raises:
      IndexError: the index is outside the rank.
    """
    if not isinstance(shape, TensorShape):
        raise TypeError(f"dimension_at_index: expected a TensorShape, got {shape!r}")
    if shape.dims_tuple is None:
        return Dimension(None)
    return Dimension(shape.dims_tuple[index])


__all__ = [
    "Dimension",
    "ShapeLike",
    "TensorShape",
    "as_shape",
    "dimension_at_index",
    "dimension_value",
    "disable_v2_tensorshape",
    "enable_v2_tensorshape",
    "unknown_shape",
]
