"""Values to tensors, and questions about values: the public forms of `penstock.core.convert`."""

from typing import Any

import numpy as np

from penstock.core.composite import CompositeTensor, IndexedSlices, SparseTensor, is_sparse
from penstock.core.convert import convert_to_tensor as to_tensor
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import EagerTensor, Tensor, TensorBase, host_array
from penstock.graph.static_values import constant_value, shape_value
from penstock.ops.array_basics import placeholder, placeholder_with_default
from penstock.types.dtypes import int64
from penstock.types.tensor_shape import TensorShape


def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Any:
    """Converts Python, NumPy and other values to a Tensor.

    Args:
      value: a Tensor, Variable, NumPy array, Python number, string or nested sequence, or anything
        with a registered converter.
      dtype: the dtype it must have; inferred when None.
      dtype_hint: the dtype to try first when `dtype` is None.
      name: the name of the operation made in a graph.

    Returns:
      A Tensor; `value` itself when it is one already.

    Raises:
      TypeError: no conversion to `dtype` exists.
      ValueError: a Tensor of another dtype, or a malformed value.

    Example:
      >>> convert_to_tensor([1, 2]).dtype
      tf.int32
    """
    return to_tensor(value, dtype, dtype_hint, name)


def convert_to_tensor_v1(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Any:
    """Converts values to a Tensor; `preferred_dtype` is the old name of `dtype_hint`.

    See `tf.convert_to_tensor`.
    """
    return to_tensor(value, dtype, preferred_dtype if dtype_hint is None else dtype_hint, name)


def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: Any = None, name: str | None = None
) -> Any:
    """A Tensor, or `value` itself when it is an IndexedSlices.

    Raises:
      ValueError: it is an IndexedSlices of another dtype.
    """
    if not isinstance(value, IndexedSlices):
        return to_tensor(value, dtype, name=name)
    return _of_dtype(value, dtype)


def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: Any = None, name: str | None = None
) -> Any:
    """A Tensor, or a SparseTensor when `value` is sparse.

    Raises:
      RuntimeError: it is sparse and of another dtype.
    """
    if not is_sparse(value):
        return to_tensor(value, dtype, name=name)
    sparse = value if isinstance(value, SparseTensor) else SparseTensor.from_value(value)
    if dtype is not None and not sparse.dtype.is_compatible_with(dtype):
        raise RuntimeError(
            f"Sparse dtype mismatch: Requested: {dtype}, Actual: {sparse.dtype.name}"
        )
    return sparse


def _of_dtype(value: Any, dtype: Any) -> Any:
    if dtype is not None and not value.dtype.is_compatible_with(dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtype} for a value of dtype {value.dtype.name}: "
            f"{value!r}. Cast its values."
        )
    return value


def is_tensor(x: Any) -> bool:
    """Whether a value is a tensor, a variable, or a sparse or ragged tensor or indexed slices.

    Other values made of tensors are not: extension types, tensor arrays, linear operators.

    Example:
      >>> is_tensor([1]), is_tensor(convert_to_tensor([1]))
      (False, True)
    """
    if isinstance(x, CompositeTensor):
        return x._counts_as_tensor
    if isinstance(x, TensorBase) or getattr(x, "is_tensor_like", False):
        return True
    return (hasattr(x, "handle") and hasattr(x, "read_value")) or (
        hasattr(x, "_type_spec") and hasattr(x, "dtype")
    )


def is_symbolic_tensor(tensor: Any) -> bool:
    """Whether a value, or a component of it, stands for an output of a graph's operation."""
    if isinstance(tensor, (SparseTensor, IndexedSlices)):
        parts = [tensor.indices, tensor.values]
        return any(isinstance(p, SymbolicTensor) for p in parts)
    if isinstance(tensor, Tensor):
        return isinstance(tensor, SymbolicTensor)
    if hasattr(tensor, "handle"):
        return isinstance(tensor.handle, SymbolicTensor)
    return False


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor that is known without running a graph, else None.

    Args:
      tensor: a tensor; what is none is given back as it is.
      partial: whether a stack of scalars some of which are unknown gives an array of objects, with
        None for these.

    Returns:
      A NumPy array; of an eager scalar what `numpy` gives. None where nothing is known: of
      variables, and of values that are made of tensors.

    Example:
      >>> get_static_value(convert_to_tensor([1, 2]))
      array([1, 2], dtype=int32)
    """
    if isinstance(tensor, EagerTensor):
        return tensor.numpy()
    if not isinstance(tensor, Tensor):
        return None if is_tensor(tensor) else tensor
    value = constant_value(tensor)
    if value is None and partial and tensor.op.type == "Pack" and tensor.op.attrs["axis"] == 0:  # type: ignore[attr-defined]
        parts = [get_static_value(t) for t in tensor.op.inputs]  # type: ignore[attr-defined]
        if all(p is None for p in parts):
            return None
        return np.array([p if p is None else p[()] for p in parts], object)
    return value


def constant_value_as_shape(tensor: Any) -> TensorShape:
    """What is known of an integer vector, read as a shape."""
    if isinstance(tensor, EagerTensor):
        return TensorShape([None if n < 0 else int(n) for n in host_array(tensor)])
    return TensorShape.from_dims(shape_value(tensor))


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A SparseTensor whose value is fed when the graph runs.

    Args:
      dtype: the dtype of the values.
      shape: the dense shape; None when any may be fed, with None or -1 for sizes that may vary.
      name: the prefix of the names in a graph.

    Returns:
      A SparseTensor of placeholders; its dense shape need not be fed when `shape` is given.

    Raises:
      RuntimeError: operations run eagerly.
    """
    names = [None if name is None else f"{name}/{part}" for part in ("values", "indices", "shape")]
    dims = None if shape is None else _sizes(shape)
    rank = None if dims is None else len(dims)
    if dims is None:  # what has no name is numbered in TensorFlow's order
        dense_shape = placeholder(int64, [rank], names[2])
    values = placeholder(dtype, [None], names[0])
    indices = placeholder(int64, [None, rank], names[1])
    if dims is None:
        return SparseTensor(indices, values, dense_shape)
    sizes = np.array([-1 if n is None else n for n in dims], np.int64)
    result = SparseTensor(indices, values, placeholder_with_default(sizes, [rank], names[2]))
    result.set_shape(dims)
    return result


def _sizes(shape: Any) -> list[int | None]:
    if isinstance(shape, Tensor):
        return (
            list(shape_value(shape) or ())
            if isinstance(shape, SymbolicTensor)
            else constant_value_as_shape(shape).as_list()
        )
    return [
        None if n is None or int(n) < 0 else int(n)
        for n in (shape.as_list() if isinstance(shape, TensorShape) else shape)
    ]
