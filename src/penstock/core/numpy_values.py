"""Arrays of NumPy as those of a dtype of tensors.

`from_numpy` takes any array: numbers as they are, text and Python objects as strings, and what a
dtype is asked for as NumPy itself converts it. It knows nothing of lists and Python's numbers;
core/arrays.py does.
"""

import warnings
from typing import Any

import numpy as np

from penstock.core.context import state
from penstock.types import dtypes
from penstock.types.dtypes import DType, as_dtype


def refusal() -> type[Exception]:
    """The class for values that cannot be tensors: another one in a graph, as in TensorFlow."""
    return ValueError if state.graph is None else TypeError


def from_numpy(
    array: np.ndarray[Any, Any], dtype: DType | None
) -> tuple[np.ndarray[Any, Any], DType]:
    """The array and dtype of the tensor that an array of NumPy becomes; maybe `array` itself.

    Args:
      array: an array of any dtype and shape.
      dtype: the dtype asked for, which NumPy casts to; that of the array when None.

    Raises:
      ValueError: (TypeError in a graph) no dtype of tensors holds the elements.
      TypeError, ValueError: NumPy cannot cast the elements to `dtype`.
    """
    if dtype is dtypes.string or (dtype is None and array.dtype.kind in "SUOT"):
        return _texts(array), dtypes.string
    if array.dtype.names is not None and len(array.dtype.names) == 1:
        found = as_dtype(array.dtype)
        array = array[array.dtype.names[0]]
        return (array, found) if dtype in (None, found) else (_cast(array, dtype), dtype)
    if dtype is not None and (array.dtype.kind in "SUOTmM" or array.dtype == np.longdouble):
        return _cast(array, dtype), dtype
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    found = _numpy_dtype(array)
    return (array, found) if dtype in (None, found) else (_cast(array, dtype), dtype)


def _cast(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """What NumPy makes of the elements in this dtype; text and objects are parsed by it, too."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # the caller asked for the dtype
            return array.astype(dtype.numpy_dtype)
    except (TypeError, ValueError, OverflowError) as problem:
        error = TypeError if isinstance(problem, TypeError) else ValueError
        raise error(
            f"Can't convert a NumPy array of {array.dtype} to a Tensor of dtype {dtype.name}: "
            f"expected elements that NumPy can cast, got {problem}. Use tf.strings.to_number for "
            "text."
        ) from None


def _numpy_dtype(array: np.ndarray[Any, Any]) -> DType:
    try:
        return dtypes.from_numpy(array.dtype)
    except (TypeError, KeyError):
        raise refusal()(
            f"Failed to convert a NumPy array to a Tensor (Unsupported numpy dtype {array.dtype}). "
            "Pass dtype= to have NumPy cast it."
        ) from None


def _texts(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Text and bytes as the objects that string tensors hold."""
    result = np.empty(array.shape, object)
    flat = result.reshape(-1)
    for i, item in enumerate(array.reshape(-1)):
        if not isinstance(item, (str, bytes)):
            raise refusal()(
                f"Failed to convert a NumPy array to a Tensor (Unsupported object type "
                f"{type(item).__name__}): "
                "expected str or bytes. Pass the dtype of the numbers, or an array of them."
            )
        flat[i] = item.encode() if isinstance(item, str) else bytes(item)
    return result.reshape(array.shape)
