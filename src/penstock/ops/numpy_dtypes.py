"""Dtypes of `tf.experimental.numpy`: which dtype values have and which two of them share.

NumPy's own rules decide: a Python number gives way to an array, and a list counts as the numbers in
it, so that `[1, 2] + int8` is int8. Python floats alone are float64, or float32 once
`prefer_float32` is set. In the dtype conversion modes with weak tensors the rules of `weak_dtypes`
decide instead (`set_kinds`), and integers and floats are int32 and float32; element-wise functions
of two arguments stay with NumPy's, as TensorFlow's do. `as_tensor` and `promoted` are what the
other modules of the family start from.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.core.weak_tensor import WeakTensor
from penstock.ops.array_join import stack
from penstock.ops.math_cast import cast
from penstock.types import dtypes
from penstock.types.dtypes import DType, as_dtype

ndarray = Tensor
bool_ = np.bool_
complex64, complex128, complex_ = np.complex64, np.complex128, np.complex128
float16, float32, float64, float_ = np.float16, np.float32, np.float64, np.float64
int8, int16, int32, int64, int_ = np.int8, np.int16, np.int32, np.int64, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
object_, string_, unicode_, inexact = np.object_, np.bytes_, np.str_, np.inexact
iinfo = np.iinfo
e, inf, pi, newaxis, nan = float(np.e), float("inf"), float(np.pi), None, float("nan")

Value = Any  # any: a tensor, array, Python number, or nested list of these


class _Preference:
    """How dtypes are inferred; set by `experimental_enable_numpy_behavior`."""

    float32 = False
    kinds: Callable[..., Any] | None = None  # the common kind of values, with weak tensors


def prefer_float32(on: bool) -> None:
    """Says whether Python floats count as float32 arrays."""
    _Preference.float32 = on


def set_kinds(common_kind: Callable[..., Any] | None) -> None:
    """Installs `weak_dtypes.common_kind` in the modes with weak tensors; None takes it away."""
    _Preference.kinds = staticmethod(common_kind) if common_kind is not None else None


def default_int() -> DType:
    """The dtype of Python integers: int64, or int32 beside weak tensors."""
    return dtypes.int64 if _Preference.kinds is None else dtypes.int32


def default_float() -> DType:
    """The dtype of what functions of floats make of integers: float64, or float32."""
    return dtypes.float64 if _Preference.kinds is None else dtypes.float32


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """A dtype as NumPy's, whether it is a DType, a Python type, a class or a name."""
    found: np.dtype[Any]
    try:
        found = np.dtype(dtype.as_numpy_dtype if isinstance(dtype, DType) else dtype)
    except TypeError:
        found = np.dtype(as_dtype(dtype).as_numpy_dtype)
    return found


def tensor_dtype(dtype: Any) -> DType:
    """A dtype as DType; Python's `int` and `float` are those of `default_int`, `default_float`."""
    if dtype is int or dtype is float:
        return default_int() if dtype is int else default_float()
    return dtype if isinstance(dtype, DType) else as_dtype(numpy_dtype(dtype).type)


def _leaves(value: Value) -> Iterator[Any]:
    """What NumPy's promotion looks at: dtypes of arrays, one number of each Python type."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif _Preference.float32 and isinstance(value, (float, complex)):  # np.float64 is a float too
        yield np.dtype(np.float32 if isinstance(value, float) else np.complex64)
    elif isinstance(value, DType):
        yield numpy_dtype(value)
    elif isinstance(value, np.ndarray) or (not isinstance(value, type) and _has_dtype(value)):
        yield numpy_dtype(value.dtype)
    elif isinstance(value, (bool, int, float, complex)):
        yield type(value)(1)
    elif isinstance(value, (type, np.dtype)):
        yield numpy_dtype(value)
    else:
        yield np.asarray(value).dtype


def _has_dtype(value: Value) -> bool:
    return not isinstance(value, np.dtype) and hasattr(value, "dtype")


def _common(values: Any) -> np.dtype[Any]:
    if _Preference.kinds is not None:
        kind = _Preference.kinds(*values)
        if kind is not None:
            return numpy_dtype(kind.dtype)
    return _common_of_arrays(values)


def _common_of_arrays(values: Any) -> np.dtype[Any]:
    """NumPy's rules in every mode."""
    found = list(dict.fromkeys((type(v), v) for v in _leaves(values)))
    if not found:
        return np.dtype(np.float64)
    return np.result_type(*(v for _, v in found))


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that the arguments share by NumPy's rules.

    Args:
      *arrays_and_dtypes: tensors, arrays, Python numbers, lists of these, and dtypes; None is
        `float`.

    Returns:
      A DType; float64 when there is no argument.

    Raises:
      TypeError: they share none, as bfloat16 and int64.

    Example:
      >>> result_type([1, 2], np.int8(3)).name
      'int8'
    """
    names = [
        numpy_dtype(v) if isinstance(v, str) else float if v is None else v
        for v in arrays_and_dtypes
    ]
    return as_dtype(_common(names).type)


def promote_types(type1: Any, type2: Any) -> np.dtype[Any]:
    """The dtype that two dtypes share, as NumPy's dtype.

    Args:
      type1: a dtype.
      type2: another.

    Returns:
      A dtype of NumPy.
    """
    return np.promote_types(numpy_dtype(type1), numpy_dtype(type2))


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype is of a kind, such as `np.integer`.

    Args:
      arg1: a dtype.
      arg2: a dtype or a class of NumPy's.

    Returns:
      A bool.
    """
    left = numpy_dtype(arg1) if isinstance(arg1, DType) else arg1
    return np.issubdtype(left, numpy_dtype(arg2) if isinstance(arg2, DType) else arg2)


def finfo(dtype: Any) -> Any:
    """The limits of a float dtype, as `np.finfo`.

    Args:
      dtype: a float or complex dtype.

    Returns:
      A record with `eps`, `max`, `min`, `tiny`, ...

    Raises:
      ValueError: it is no float dtype.
    """
    return np.finfo(numpy_dtype(dtype))


def as_tensor(value: Value, dtype: Any = None) -> Any:
    """A value as a tensor with NumPy's dtype for Python numbers.

    Raises:
      ValueError: a list whose rows differ in length.
    """
    wanted = None if dtype is None else tensor_dtype(dtype)
    if isinstance(value, (Tensor, WeakTensor)) or hasattr(value, "handle"):
        tensor = convert_to_tensor(value)
        return tensor if wanted is None or tensor.dtype is wanted else cast(tensor, wanted)
    if isinstance(value, (list, tuple)) and _has_tensor(value):
        wanted = wanted or result_type(*value)
        return stack([as_tensor(v, wanted) for v in value])
    if wanted is None and not hasattr(value, "dtype") and not isinstance(value, (str, bytes)):
        wanted = as_dtype(_common((value,)).type)
    return _from_host(value, wanted)


def _from_host(value: Value, wanted: DType | None) -> Any:
    if wanted is None or wanted is dtypes.string or hasattr(value, "__jax_array__"):
        return convert_to_tensor(value, wanted)
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        return convert_to_tensor(value, wanted)
    return convert_to_tensor(array.astype(wanted.as_numpy_dtype, copy=False))


def _has_tensor(value: Value) -> bool:
    return any(
        _has_tensor(v)
        if isinstance(v, (list, tuple))
        else isinstance(v, (Tensor, WeakTensor)) or hasattr(v, "handle")
        for v in value
    )


def promoted(*values: Value) -> list[Any]:
    """The values as tensors of their common dtype."""
    dtype = result_type(*values)
    return [as_tensor(v, dtype) for v in values]


def promoted_as_arrays(*values: Value) -> list[Any]:
    """The values as tensors of the dtype that NumPy's rules give them, in every mode.

    Lists beside weak tensors are the exception, as in TensorFlow: they are weak.
    """
    has_list = any(isinstance(v, (list, tuple)) for v in values)
    dtype = as_dtype((_common if has_list else _common_of_arrays)(values).type)
    return [as_tensor(v, dtype) for v in values]


def to_inexact(tensor: Any) -> Any:
    """The tensor itself when it is float or complex; else one of `default_float`."""
    if tensor.dtype.is_floating or tensor.dtype.is_complex:
        return tensor
    return cast(tensor, default_float())


def rank_of(tensor: Tensor, function: str) -> int:
    """The rank, which must be known.

    Raises:
      ValueError: it is not.
    """
    dims = tensor.dims
    if dims is None:
        raise ValueError(
            f"{function}: expected a tensor of known rank, got one of unknown shape. Give it a rank"
            " with tf.ensure_shape."
        )
    return len(dims)


def positive_axis(axis: Any, rank: int, function: str) -> int:
    """An axis counted from the front.

    Raises:
      InvalidArgumentError, ValueError: there is no such axis.
    """
    number = int(axis)
    if not -rank <= number < rank:
        text = (
            f"{function}: expected an axis in [{-rank}, {rank}), got axis {number} of a tensor of"
            f" rank {rank}. Count from 0, or from -1 at the end."
        )
        if state.graph is None:
            raise errors.InvalidArgumentError(None, None, text)
        raise ValueError(text)
    return number + rank if number < 0 else number
