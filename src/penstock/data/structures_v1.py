"""`tf.compat.v1.data.experimental`: the old names of specs."""

from typing import Any

from penstock.types import dtypes as dt
from penstock.types.composite_specs import SparseTensorSpec
from penstock.types.ragged_spec import RaggedTensorSpec
from penstock.types.tensor_array_spec import TensorArraySpec
from penstock.types.tensor_spec import TensorSpec

# Any: dtypes and shapes are whatever converts to them.


def tensor_structure(dtype: Any, shape: Any) -> TensorSpec:
    """A TensorSpec, by its old name.

    Args:
      dtype: its dtype.
      shape: its shape.

    Example:
      >>> import penstock as tf
      >>> tf.compat.v1.data.experimental.TensorStructure(tf.int32, [2])
      TensorSpec(shape=(2,), dtype=tf.int32, name=None)
    """
    return TensorSpec(shape, dtype)


def sparse_tensor_structure(dtype: Any, shape: Any) -> SparseTensorSpec:
    """A SparseTensorSpec, by its old name.

    Args:
      dtype: its dtype.
      shape: its shape.
    """
    return SparseTensorSpec(shape, dtype)


def ragged_tensor_structure(dtype: Any, shape: Any, ragged_rank: int) -> RaggedTensorSpec:
    """A RaggedTensorSpec, by its old name.

    Args:
      dtype: its dtype.
      shape: its shape.
      ragged_rank: how many dimensions are ragged.
    """
    return RaggedTensorSpec(shape, dtype, ragged_rank)


def tensor_array_structure(
    dtype: Any, element_shape: Any, dynamic_size: bool, infer_shape: bool
) -> TensorArraySpec:
    """A TensorArraySpec, by its old name.

    Args:
      dtype: of its elements.
      element_shape: of its elements.
      dynamic_size: whether it grows.
      infer_shape: whether all elements have one shape.
    """
    return TensorArraySpec(element_shape, dt.as_dtype(dtype), dynamic_size, infer_shape)
