"""Python and NumPy values as arrays.

`to_array` decides dtype and shape as TensorFlow does: Python integers are int32 (int64 when they do
not fit), floats float32, text and bytes string.
"""

import collections
import math
import sys
from typing import Any

import numpy as np

from penstock.core.context import state
from penstock.core.numpy_values import from_numpy, refusal
from penstock.core.tensor import EagerTensor, Tensor, host_array
from penstock.types import dtypes
from penstock.types.dtypes import DType
from penstock.types.tensor_shape import Dimension, TensorShape
from penstock.util.kinds import one_kind

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


class HashableArray:
    """A NumPy array as an attribute value: equal and hashed by dtype, shape and bytes.

    It is never written to. A view that repeats one element differs from an array with copies of it.
    """

    __slots__ = ("_hash", "array", "dtype")

    def __init__(self, array: np.ndarray[Any, Any], dtype: DType) -> None:
        self.array = array
        self.dtype = dtype
        self._hash: int | None = None

    @property
    def repeats(self) -> bool:
        """Whether the array is a view that repeats one element, and so takes no memory."""
        return self.array.size > 1 and not any(self.array.strides)

    def _content(self) -> Any:
        array = self.array.reshape(-1)[:1] if self.repeats else self.array
        content = tuple(array.reshape(-1)) if array.dtype == object else array.tobytes()
        return self.dtype, self.array.shape, self.repeats, content

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self._content())
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HashableArray):
            return NotImplemented
        if self is other:
            return True
        if self.dtype is not other.dtype or self.array.shape != other.array.shape:
            return False
        return bool(self._content() == other._content())

    def __repr__(self) -> str:
        return f"HashableArray({self.array!r})"


def to_array(value: Any, dtype: DType | None = None) -> tuple[np.ndarray[Any, Any], DType]:
    """The NumPy array (maybe `value` itself) and dtype that TensorFlow gives a value.

    Raises:
      ValueError, TypeError: the value has no tensor form, is ragged, or does not fit `dtype`.
    """
    if isinstance(value, np.ndarray):
        return from_numpy(value, dtype)
    if isinstance(value, np.generic):
        return from_numpy(np.asarray(value), dtype)
    if isinstance(value, (bool, int, float, complex, str, bytes)):
        return _from_scalar(value, dtype)
    if isinstance(value, (TensorShape, tuple, list, range)):
        return _from_sequence(value, dtype)
    if isinstance(value, (bytearray, memoryview, collections.deque)):
        return _from_sequence(list(value), dtype)
    if isinstance(value, EagerTensor):
        return from_numpy(host_array(value), dtype)
    if isinstance(value, Dimension):
        return _from_scalar(_known_dimension(value), dtype or dtypes.int32)
    if hasattr(value, "__array__"):
        return from_numpy(np.asarray(value), dtype)
    if hasattr(value, "__array_interface__"):
        return from_numpy(np.asarray(value), dtype)
    raise _unsupported(value, ValueError if value is None else refusal())


def is_held(array: np.ndarray[Any, Any], value: Any) -> bool:
    """Whether somebody else may write to the memory of what `to_array` made of a value.

    An object may give an array that it keeps; what it gives is never taken for new.
    """
    if isinstance(value, np.ndarray):
        return array is value or array.base is not None
    if isinstance(value, (np.generic, EagerTensor)):
        return array.base is not None
    return hasattr(value, "__array__") or hasattr(value, "__array_interface__")


def _unsupported(value: Any, error: type[Exception]) -> Exception:
    if value is None and error is ValueError and state.graph is not None:
        return ValueError(
            "None values not supported. Expected something to make a tensor of. Give a number, or"
            " leave it out."
        )
    return error(
        f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a"
        " Tensor."
    )


def _known_dimension(value: Dimension) -> int:
    if value.value is None:
        raise ValueError("Cannot convert an unknown Dimension to a Tensor: ?")
    return int(value.value)


def _from_scalar(value: Any, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    kind = _kind(value)
    if kind is int and dtype in _NO_INTEGERS and state.graph is None:
        _python_dtype(value)  # its size is looked at before its type
    if dtype is None:
        dtype = _python_dtype(value)
    elif not _accepts(dtype, kind):
        raise _mismatch(value, dtype)
    if dtype is dtypes.string:
        return _string_array(value), dtype
    # In a graph NumPy says that a number is too large for floats: an OverflowError.
    looked_at = state.graph is None or dtype.is_integer or dtype.is_quantized
    if kind is int and looked_at and not _fits(value, dtype):
        raise _overflow(value, dtype)
    with np.errstate(over="ignore"):  # a float too large for the dtype asked for is infinite in it
        return np.asarray(value, dtype.numpy_dtype), dtype


_LARGEST = int(sys.float_info.max)
_NO_INTEGERS = (dtypes.bool_, dtypes.string, dtypes.bfloat16)
_KINDS = (bool, int, float, complex, str, bytes)  # in this order: a bool is an int


_KIND_LETTERS = {"b": bool, "i": int, "u": int, "f": float, "c": complex, "U": str, "S": bytes}


def _kind(value: Any) -> type:
    """The Python type of a scalar; an enum or other subclass counts as what it derives from."""
    return next(kind for kind in _KINDS if isinstance(value, kind))


def _fits(value: int, dtype: DType) -> bool:
    low, high = _integer_range(dtype)
    return low <= value <= high


def _integer_range(dtype: DType) -> tuple[int, int]:
    """The least and the largest Python integer that tensors of a dtype are made of.

    Those beyond a narrow float's numbers become infinite in it.
    """
    if dtype is dtypes.complex64:
        return dtypes.int64.min, dtypes.int64.max
    if not (dtype.is_integer or dtype.is_quantized):
        return -_LARGEST, _LARGEST
    if not dtype.is_quantized:
        return dtype.min, dtype.max
    storage = np.iinfo(np.dtype(dtype.name[1:]))
    return int(storage.min), int(storage.max)


def _overflow(value: Any, dtype: DType) -> Exception:
    low, high = _integer_range(dtype)
    if high == _LARGEST:
        return ValueError(
            f"Can't convert a Python integer of {value.bit_length()} bits to a Tensor of dtype "
            f"{dtype.name}: expected at most {sys.float_info.max_exp}. Divide it first."
        )
    return ValueError(
        f"Can't convert Python integer {value} to a Tensor of dtype {dtype.name}: expected a "
        f"value in [{low}, {high}]. Pass a wider dtype, or an array of NumPy to keep the low bits."
    )


def _python_dtype(value: Any) -> DType:
    if isinstance(value, bool):
        return dtypes.bool_
    if isinstance(value, int):
        if INT32_MIN <= value <= INT32_MAX:
            return dtypes.int32
        if -(2**63) <= value < 2**63:
            return dtypes.int64
        if state.graph is not None and 0 <= value < 2**64:
            return dtypes.uint64
        raise refusal()(
            f"Can't convert Python integer {value} to a Tensor: expected a value that fits int64. "
            "Pass dtype=tf.uint64 or tf.float32 (with tf.cast for other dtypes)."
        )
    if isinstance(value, float):
        _check_float32(value)
        return dtypes.float32
    if isinstance(value, complex):
        return dtypes.complex128
    return dtypes.string


_FLOAT32_MAX = float(np.finfo(np.float32).max)


def _check_float32(*values: float) -> None:
    """Refuses what only float64 holds: it would be infinite in a dtype that nobody asked for."""
    for value in values:
        if abs(value) > _FLOAT32_MAX and math.isfinite(value):
            raise ValueError(
                f"Can't convert Python float {value!r} to a Tensor: it does not fit float32, the "
                f"dtype of "
                "Python floats. Pass dtype=tf.float64."
            )


_OF_BOOL = ("bool", "float16", "float32", "float64", "int32", "int64", "uint64", "complex128")


def _accepts(dtype: DType, kind: type) -> bool:
    if kind is bool and state.graph is None:
        return dtype.name in _OF_BOOL
    if kind is bool:  # TensorFlow's graphs take a bool for any number
        return dtype.is_bool or dtype.is_integer or dtype.is_floating or dtype.is_complex
    if kind is int:
        return dtype.is_integer or dtype.is_floating or dtype.is_complex or dtype.is_quantized
    if kind is float:
        return dtype.is_floating or dtype.is_complex
    if kind is complex:
        return dtype.is_complex
    return dtype is dtypes.string


def _mismatch(value: Any, dtype: DType) -> Exception:
    return TypeError(
        f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name}"
        if state.graph is None
        else f"Expected {dtype.name}, but got {value!r} of type '{type(value).__name__}'."
    )


def _string_array(value: Any) -> np.ndarray[Any, Any]:
    result = np.empty((), object)
    result[()] = value.encode() if isinstance(value, str) else value
    return result


def _shape_sequence(value: TensorShape) -> list[int | None]:
    if not value.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
    return value.as_list()


def _from_sequence(value: Any, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    if isinstance(value, TensorShape):
        value = _shape_sequence(value)
        dtype = dtype or (dtypes.int64 if any(n > INT32_MAX for n in value) else dtypes.int32)
    fast = from_plain_numbers(value, dtype)
    if fast is not None:
        return fast
    leaves: list[Any] = []
    dims, given = _measure(value, leaves), dtype is not None
    if dtype is None:
        dtype = _graph_dtype(leaves) if state.graph is not None else None
        dtype = dtype or _common_dtype(leaves)
    elif len({isinstance(leaf, (str, bytes)) for leaf in leaves}) > 1:
        raise refusal()(
            f"Can't convert Python sequence with mixed types to Tensor: text and other values in "
            f"{value!r}."
        )
    if not leaves:
        return np.empty(dims, dtype.numpy_dtype), dtype
    try:
        if given and not dtype.is_bool:
            _refuse_numpy_bools(leaves, dtype)
        return _filled(leaves, dtype).reshape(dims), dtype
    except TypeError:
        if state.graph is None:
            _common_dtype(leaves)  # mixed types are a ValueError whatever dtype is asked for
        raise


def _refuse_numpy_bools(leaves: list[Any], dtype: DType) -> None:
    """Python's True counts as 1 where a dtype is given; NumPy's does not."""
    for leaf in leaves:
        if isinstance(leaf, np.bool_):
            raise _mismatch(leaf, dtype)


def _filled(leaves: list[Any], dtype: DType) -> np.ndarray[Any, Any]:
    """The elements of a list one after another."""
    bool_is_number = state.graph is not None or not isinstance(leaves[0], (bool, np.bool_))
    parts = [_leaf(leaf, dtype, bool_is_number).reshape(-1) for leaf in leaves]
    return np.concatenate(parts, dtype=dtype.numpy_dtype)


def from_plain_numbers(
    value: Any, dtype: DType | None
) -> tuple[np.ndarray[Any, Any], DType] | None:
    """Lists of Python ints or floats (nested or not), the common case, through one NumPy call."""
    if len(value) == 0:
        return None
    first = value[0]
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    kind = type(first)
    if kind is float and (dtype is None or dtype.is_floating):
        wanted = dtype or dtypes.float32
    elif kind is int and (dtype is None or dtype is dtypes.int32 or dtype is dtypes.int64):
        wanted = dtype or dtypes.int32
    else:
        return None
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError, NotImplementedError):
        return None
    if array.dtype == np.float64 and kind is float and _all_of(value, float):
        if dtype is None and array.size:
            _check_float32(float(array.max()), float(array.min()))
        with np.errstate(over="ignore"):  # as a number alone
            return array.astype(wanted.numpy_dtype), wanted
    if array.dtype == np.int64 and kind is int and _all_of(value, int):
        if array.min() < wanted.min or array.max() > wanted.max:
            if dtype is not None:
                raise _overflow(
                    int(array.max() if array.max() > wanted.max else array.min()), dtype
                )
            return array, dtypes.int64
        return array.astype(wanted.numpy_dtype), wanted
    return None


def _all_of(value: Any, kind: type) -> bool:
    if not isinstance(value, (list, tuple, range)):
        return type(value) is kind
    if isinstance(value, range):
        return kind is int
    found = one_kind(value)
    if found is None or found in (list, tuple):
        return all(
            type(v) is kind or (v.__class__ in (list, tuple) and _all_of(v, kind)) for v in value
        )
    return found is kind


def _measure(value: Any, leaves: list[Any]) -> tuple[int, ...]:
    """Collects the leaves of a nested sequence, arrays whole, and returns its shape."""
    if isinstance(value, (np.ndarray, Tensor)):
        leaves.append(value)
        return tuple(value.shape)
    if not isinstance(value, (list, tuple, range)):
        leaves.append(value)
        return ()
    dims: tuple[int, ...] | None = None
    for item in value:
        found = _measure(item, leaves)
        if dims is None:
            dims = found
        elif dims != found:
            raise ValueError(
                "Can't convert non-rectangular Python sequence to Tensor: expected items of shape"
                f" {dims}, got one of shape {found}."
            )
    return (len(value), *(dims or ()))


def _graph_dtype(leaves: list[Any]) -> DType | None:
    """The dtype of a nested list of numbers in a graph; None for what else is in a list.

    There it is that of NumPy's array of them, save that float64 becomes float32, and int64 int32
    when all values fit.
    """
    kinds = {_numpy_kind(leaf) for leaf in leaves}
    if not kinds or None in kinds:
        return None
    try:
        found = np.result_type(*kinds)
    except TypeError as problem:
        raise refusal()(
            f"Can't convert Python sequence with mixed types to Tensor: {problem}. Convert the"
            " elements to one type first."
        ) from None
    if found == np.float64:
        return dtypes.float32
    if found == np.int64 and all(INT32_MIN <= leaf <= INT32_MAX for leaf in leaves):
        return dtypes.int32
    return dtypes.from_numpy(found)


def _numpy_kind(leaf: Any) -> np.dtype[Any] | None:
    """NumPy's dtype of a number, None for anything else."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.dtype if leaf.ndim == 0 and leaf.dtype.kind in "biufcV" else None
    if isinstance(leaf, (bool, float, complex)):
        return np.dtype(_kind(leaf))
    if isinstance(leaf, int) and -(2**63) <= leaf < 2**64:
        return np.dtype(np.int64 if leaf < 2**63 else np.uint64)
    return None


def _common_dtype(leaves: list[Any]) -> DType:
    """The dtype of a nested list: its first element's, made wider by what follows.

    Integers of Python and NumPy are int32 here, or int64 when a value needs it; they give way to
    float32 when a float follows, and Python's True counts as 1 among numbers. The first of several
    float dtypes wins; complex numbers of NumPy count as Python's.

    Raises:
      ValueError: text with numbers, complex after real numbers, or a number after True.
    """
    found: DType | None = None
    for leaf in leaves:
        if found is not None and found.is_floating and type(leaf) is int and state.graph is None:
            continue  # of any size; a graph takes it for an object
        this = _leaf_dtype(leaf)
        found = this if found is None else _wider(found, this, leaf)
    return found or dtypes.float32


def _leaf_dtype(leaf: Any) -> DType:
    if isinstance(leaf, Tensor):
        return leaf.dtype
    if leaf is None:
        raise _unsupported(leaf, refusal())
    if isinstance(leaf, (np.ndarray, np.generic)):
        found = to_array(leaf)[1]
        if not found.is_integer:
            return dtypes.complex128 if found.is_complex else found
        values = np.asarray(leaf)
        extremes = (int(values.min()), int(values.max())) if values.size else (0,)
        return max((_python_dtype(v) for v in extremes), key=lambda d: int(d.size))
    if isinstance(leaf, (bool, int, float, complex, str, bytes)):
        return _python_dtype(leaf)
    return to_array(leaf)[1]


def _wider(a: DType, b: DType, leaf: Any) -> DType:
    """The dtype of a list of `a` that a leaf of dtype `b` is added to."""
    if a is b or (isinstance(leaf, bool) and a is not dtypes.string):
        return a
    if a.is_integer:
        if b.is_integer:
            return a if a.size >= b.size else b
        if b.is_floating:
            return b if b is dtypes.bfloat16 else dtypes.float32
    elif a.is_floating:
        if b.is_integer or (b.is_floating and dtypes.bfloat16 not in (a, b)):
            return a
    elif a.is_complex and (b.is_integer or b.is_floating or b.is_complex):
        return a
    raise refusal()(
        f"Can't convert Python sequence with mixed types to Tensor: {a.name}, then {b.name} (at "
        f"{leaf!r}). "
        "Convert the elements to one type first."
    )


def _leaf(leaf: Any, dtype: DType, bool_is_number: bool) -> np.ndarray[Any, Any]:
    """An element of a list as an array; NumPy's scalars convert here as Python's do."""
    if isinstance(leaf, (bool, np.bool_)):
        if bool_is_number and not dtype.is_bool and dtype is not dtypes.string:
            leaf = int(leaf)
        else:
            leaf = bool(leaf)
    elif leaf is None:
        raise _unsupported(leaf, refusal())
    elif isinstance(leaf, (np.ndarray, np.generic)):
        kind = _KIND_LETTERS.get(np.asarray(leaf).dtype.kind)
        if kind is not None and not _accepts(dtype, kind):
            raise _mismatch(leaf, dtype)
    return to_array(leaf, dtype)[0]
