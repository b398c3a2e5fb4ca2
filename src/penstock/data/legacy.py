"""Elements told as types, shapes and classes: `output_types` and the like of the old API."""

from collections.abc import Mapping
from typing import Any

from penstock.core.composite import SparseTensor
from penstock.core.tensor import Tensor
from penstock.data.structure import map_leaves
from penstock.types.composite_specs import SparseTensorSpec
from penstock.types.dtypes import as_dtype
from penstock.types.tensor_shape import TensorShape, as_shape
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import TypeSpec
from penstock.util import nest

# Any: structures of dtypes, shapes and classes.


def spec_of_legacy(types: Any, shapes: Any = None, classes: Any = None) -> Any:
    """The structure of TypeSpecs that types, shapes and classes tell.

    Args:
      types: a structure of dtypes.
      shapes: the same of shapes; None leaves them open.
      classes: the same of classes; None for tensors.

    Raises:
      TypeError, ValueError: the structures differ, or there is no such dtype, shape or class.
    """
    flat = nest.flatten(types)
    given = [None] * len(flat) if shapes is None else _like(types, shapes)
    kinds = [Tensor] * len(flat) if classes is None else _like(types, classes)
    parts = zip(flat, given, kinds, strict=True)
    return nest.pack_sequence_as(types, [_leaf(*part) for part in parts])


def _like(types: Any, given: Any) -> list[Any]:
    """The parts of a structure beside those of `types`: shapes may be lists or tuples."""
    if not nest.is_nested(types):
        return [given]
    keys = sorted(types) if isinstance(types, Mapping) else range(len(types))
    if not nest.is_nested(given) or len(given) != len(types):
        raise TypeError(f"expected a structure like {types!r}, got {given!r}.")
    return [part for key in keys for part in _like(types[key], given[key])]


def _leaf(dtype: Any, shape: Any, kind: Any) -> Any:
    for found in (dtype, shape, kind):
        if isinstance(found, TypeSpec):
            return found
    if kind is SparseTensor:
        return SparseTensorSpec(shape, as_dtype(dtype))
    if isinstance(kind, type) and issubclass(Tensor, kind):
        return TensorSpec(TensorShape(None) if shape is None else as_shape(shape), as_dtype(dtype))
    raise TypeError(
        f"Could not build a structure for output class {kind}: expected tf.Tensor,"
        " tf.sparse.SparseTensor or a TypeSpec. Give the spec itself."
    )


def legacy_types(spec: Any) -> Any:
    """The structure of the dtypes of elements."""
    return map_leaves(lambda leaf: _part(leaf, "_to_legacy_output_types"), spec)


def legacy_shapes(spec: Any) -> Any:
    """The structure of the shapes of elements."""
    return map_leaves(lambda leaf: _part(leaf, "_to_legacy_output_shapes"), spec)


def legacy_classes(spec: Any) -> Any:
    """The structure of the classes of elements."""
    return map_leaves(_kind, spec)


def _kind(leaf: Any) -> Any:
    return Tensor if isinstance(leaf, TensorSpec) else _part(leaf, "_to_legacy_output_classes")


def _part(leaf: Any, name: str) -> Any:
    if isinstance(leaf, TensorSpec):
        return leaf.dtype if name.endswith("types") else leaf.shape
    try:
        return getattr(leaf, name)()
    except NotImplementedError:
        return leaf


def get_legacy_output_types(dataset_or_iterator: Any) -> Any:
    """The structure of the dtypes of a dataset's or an iterator's elements.

    Args:
      dataset_or_iterator: a dataset or an iterator.

    Example:
      >>> import penstock as tf
      >>> tf.compat.v1.data.get_output_types(tf.data.Dataset.range(3))
      tf.int64
    """
    return legacy_types(dataset_or_iterator.element_spec)


def get_legacy_output_shapes(dataset_or_iterator: Any) -> Any:
    """The structure of the shapes of a dataset's or an iterator's elements.

    Args:
      dataset_or_iterator: a dataset or an iterator.
    """
    return legacy_shapes(dataset_or_iterator.element_spec)


def get_legacy_output_classes(dataset_or_iterator: Any) -> Any:
    """The structure of the classes of a dataset's or an iterator's elements.

    Args:
      dataset_or_iterator: a dataset or an iterator.
    """
    return legacy_classes(dataset_or_iterator.element_spec)
