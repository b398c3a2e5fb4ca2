"""The structure of a dataset's elements: what a user sees, and the flat components that flow.

An element is a nest of tuples, named tuples and dictionaries whose leaves are tensors or composite
tensors; a list is a leaf, and becomes a tensor. `Structure` knows the specs of the leaves and takes
elements apart into flat components, tensors of one dtype and shape each, and puts them together
again. A ragged tensor is one variant, a sparse tensor three, so that elements of any size stack.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.core.composite import CompositeTensor, SparseTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.types import dtypes as dt
from penstock.types.composite_specs import SparseTensorSpec, VariableSpec
from penstock.types.composite_values import SparseTensorValue
from penstock.types.dims import Dims
from penstock.types.dtypes import DType
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import (
    BatchableTypeSpec,
    TypeSpec,
    type_spec_from_value,
    type_spec_or_none,
)
from penstock.util import nest
from penstock.util.nest_kinds import sorted_keys

# Any: elements and their leaves are of whatever class the user has.


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """`value` with `function` of each leaf: what is no tuple, dictionary or class of fields."""
    if isinstance(value, tuple):
        parts = [map_leaves(function, v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, Mapping):
        made = {k: map_leaves(function, value[k]) for k in sorted_keys(value)}
        return _like_mapping(value, {k: made[k] for k in value})
    fields = getattr(type(value), "__attrs_attrs__", None)
    if fields is not None:
        return type(value)(*(map_leaves(function, getattr(value, f.name)) for f in fields))
    return function(value)


def _like_mapping(value: Mapping[Any, Any], made: dict[Any, Any]) -> Any:
    kind: Any = type(value)
    if kind is dict:
        return made
    if hasattr(value, "default_factory"):
        return kind(value.default_factory, made)
    try:
        return kind(made)
    except TypeError:
        return made


def normalized(element: Any, spec: Any = None) -> Any:
    """An element with a tensor or composite tensor at each leaf.

    Args:
      element: what a user gave.
      spec: its structure of TypeSpecs, where it is known: leaves are converted to their dtypes.

    Raises:
      TypeError, ValueError: a leaf is no tensor and converts to none.
    """
    if spec is None:
        return map_leaves(_as_leaf, element)
    wanted = iter(nest.flatten(spec))
    return map_leaves(lambda leaf: _as_leaf(leaf, next(wanted, None)), element)


def _as_leaf(value: Any, spec: Any = None) -> Any:
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if value is None or isinstance(value, (Tensor, CompositeTensor, TypeSpec)):
        return value
    if not isinstance(value, (np.ndarray, list)):
        known = type_spec_or_none(value)
        if known is not None and not isinstance(known, (TensorSpec, VariableSpec)):
            return value
    dtype: Any = spec.dtype if isinstance(spec, TensorSpec) else None
    if dtype is None and isinstance(value, list):
        dtype = _of_arrays(value)
    return convert_to_tensor(value, dtype)


def _of_arrays(value: Any) -> np.dtype[Any] | None:
    """The type of arrays in nested lists of nothing else; None where they have none in common.

    Elements of datasets keep it, as in TensorFlow. `convert_to_tensor` makes int32 of such lists.
    """
    if isinstance(value, np.ndarray):
        return value.dtype if value.dtype.kind in "biufc" else None
    if not isinstance(value, (list, tuple)) or not value:
        return None
    first = _of_arrays(value[0])
    return first if first is not None and all(_of_arrays(v) == first for v in value[1:]) else None


class Structure:
    """The structure of elements.

    Args:
      spec: a structure of TypeSpecs.

    Attributes:
      spec: the same.
      flat: the specs of the components.
      types: their dtypes.
      shapes: their static shapes.
    """

    __slots__ = ("_counts", "_is_flat", "_plain", "flat", "leaves", "shapes", "spec", "types")

    def __init__(self, spec: Any) -> None:
        self.spec = spec
        self.leaves: list[Any] = nest.flatten(spec)
        parts = [component_specs(leaf) for leaf in self.leaves]
        self._counts = [len(p) for p in parts]
        self.flat: list[TensorSpec] = [s for p in parts for s in p]
        self.types: tuple[DType, ...] = tuple(s.dtype for s in self.flat)
        self.shapes: tuple[Dims, ...] = tuple(s.shape.dims_tuple for s in self.flat)
        self._plain = all(isinstance(leaf, TensorSpec) for leaf in self.leaves)
        self._is_flat = spec.__class__ is tuple and all(isinstance(s, TensorSpec) for s in spec)

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of an operation that gives such elements."""
        return {"output_types": self.types, "output_shapes": self.shapes}

    def flatten(self, element: Any) -> list[Tensor]:
        """The components of an element whose leaves are tensors or composite tensors.

        Raises:
          TypeError, ValueError: the element has another structure.
        """
        values = nest.flatten(element)
        if len(values) != len(self.leaves):
            raise ValueError(
                f"expected an element of {len(self.leaves)} parts like {self.spec}, got"
                f" {len(values)}: {element!r}."
            )
        if self._plain and not any(isinstance(v, CompositeTensor) for v in values):
            return values
        return [
            part
            for spec, value in zip(self.leaves, values, strict=True)
            for part in to_components(spec, value)
        ]

    def pack(self, components: Sequence[Tensor]) -> Any:
        """The element with these components."""
        spec = self.spec
        if self._plain:
            if spec.__class__ is TensorSpec:
                return components[0]
            if self._is_flat:
                return tuple(components)
            return nest.pack_sequence_as(spec, list(components))
        values, at = [], 0
        for leaf, count in zip(self.leaves, self._counts, strict=True):
            values.append(from_components(leaf, components[at : at + count]))
            at += count
        return nest.pack_sequence_as(spec, values)


def component_specs(spec: Any) -> list[TensorSpec]:
    """The specs of the components of a leaf."""
    if isinstance(spec, SparseTensorSpec):
        return [TensorSpec(None, dt.variant)]
    return list(spec._flat_tensor_specs)


def to_components(spec: Any, value: Any) -> list[Tensor]:
    """The components of a leaf's value."""
    if isinstance(spec, SparseTensorSpec):
        parts = (value.indices, value.values, value.dense_shape)
        return [execute("SerializeSparse", parts, {"out_type": dt.variant})]
    return list(spec._to_tensor_list(value))


def to_batched_components(spec: Any, value: Any) -> list[Tensor]:
    """The components of a leaf's value with rows that can be told apart."""
    if isinstance(spec, SparseTensorSpec):
        parts = (value.indices, value.values, value.dense_shape)
        return [execute("SerializeManySparse", parts, {"out_type": dt.variant})]
    if isinstance(spec, BatchableTypeSpec):
        return list(spec._to_batched_tensor_list(value))
    return list(spec._to_tensor_list(value))


def from_components(spec: Any, parts: Sequence[Tensor]) -> Any:
    """A leaf's value from its components."""
    if isinstance(spec, SparseTensorSpec):
        indices, values, shape = execute("DeserializeSparse", (parts[0],), {"dtype": spec.dtype})
        rank = spec.shape.rank
        if rank is not None and hasattr(indices, "set_shape"):
            indices.set_shape([None, rank])
            shape.set_shape([rank])
        made = SparseTensor(indices, values, shape)
        if rank is not None and not hasattr(shape, "numpy"):
            made.set_shape(spec.shape)
        return made
    return spec._from_compatible_tensor_list(list(parts))


def spec_of(element: Any) -> Any:
    """The structure of TypeSpecs of a normalized element."""
    return map_leaves(type_spec_from_value, element)


def batched(spec: Any, size: int | None) -> Any:
    """The structure of a batch of elements.

    Raises:
      TypeError: a leaf cannot be stacked.
    """

    def stack(leaf: Any) -> Any:
        if not isinstance(leaf, BatchableTypeSpec):
            raise TypeError(
                f"batch: expected elements that can be stacked, got {leaf!r} of type"
                f" {type(leaf).__name__}, which cannot. Take it out with map."
            )
        return leaf._batch(size)

    return map_leaves(stack, spec)


def unbatched(spec: Any) -> Any:
    """The structure of the rows of elements.

    Raises:
      ValueError: a leaf is a scalar.
    """

    def cut(leaf: Any) -> Any:
        if not isinstance(leaf, BatchableTypeSpec):
            raise TypeError(f"unbatch: expected elements with rows, got {leaf!r}.")
        return leaf._unbatch()

    return map_leaves(cut, spec)


def most_general(specs: Sequence[Any], what: str) -> Any:
    """The structure that elements of all these structures have.

    Raises:
      TypeError: there is none.
    """
    first, rest = specs[0], specs[1:]
    flats = [nest.flatten(s) for s in specs]
    if any(len(f) != len(flats[0]) for f in flats):
        raise TypeError(f"{what}: incompatible dataset elements: {first} and {list(rest)}.")
    common = []
    for leaves in zip(*flats, strict=True):
        found = leaves[0].most_specific_common_supertype(leaves[1:])
        if found is None:
            raise TypeError(
                f"{what}: incompatible dataset elements: expected the same classes and dtypes, got"
                f" {', '.join(map(repr, leaves))}."
            )
        common.append(found)
    return nest.pack_sequence_as(first, common)
