"""What the values of tensors are when they are compared."""

from typing import Any

from penstock.core.composite import IndexedSlices, SparseTensor
from penstock.core.tensor import Tensor
from penstock.types.composite_values import IndexedSlicesValue, SparseTensorValue
from penstock.types.ragged_value import RaggedTensorValue


def host_value(item: Any) -> Any:
    """The NumPy value of a tensor, a variable or a composite tensor; other items themselves."""
    if isinstance(item, SparseTensor):
        return SparseTensorValue(
            *(host_value(t) for t in (item.indices, item.values, item.dense_shape))
        )
    if isinstance(item, IndexedSlices):
        return IndexedSlicesValue(
            *(host_value(t) for t in (item.values, item.indices, item.dense_shape))
        )
    if hasattr(item, "nested_row_splits") and not isinstance(item, RaggedTensorValue):
        return RaggedTensorValue(host_value(item.values), host_value(item.row_splits))
    if isinstance(item, Tensor) or hasattr(item, "numpy"):
        return item.numpy()
    return item
