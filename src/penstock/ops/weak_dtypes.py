"""Promotion in the dtype conversion modes "safe" and "all": which dtype two values share.

A kind is a dtype and whether it is weak. Python's integers, floats and complex numbers are weak
int32, float32 and complex128; bools, arrays, tensors and variables are not weak. "all" joins any
two kinds; "safe" refuses where the result is neither's dtype, or where a value that is not weak
could lose digits. `kind_of` and `join` are the rules; `convert` carries them out.
"""

from functools import cache, reduce
from typing import Any, NamedTuple

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.core.weak_tensor import WEAK_DTYPES, WeakTensor
from penstock.ops.math_cast import cast
from penstock.types import dtypes
from penstock.types.dtypes import DType, as_dtype


class Kind(NamedTuple):
    """A dtype, and whether it gives way."""

    dtype: DType
    weak: bool

    def __str__(self) -> str:
        return f"{'weak ' if self.weak else ''}{self.dtype.name}"


STRONG_DTYPES = frozenset(
    as_dtype(name)
    for name in (
        "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 bfloat16 float16 float32 float64"
        " complex64 complex128"
    ).split()
)
_PYTHON = {
    bool: Kind(dtypes.bool_, False),
    int: Kind(dtypes.int32, True),
    float: Kind(dtypes.float32, True),
    complex: Kind(dtypes.complex128, True),
}
NOTHING = Kind(dtypes.float32, True)  # an empty list
_DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53, "complex64": 24}


class _Mode:
    """Whether joining refuses what mode "safe" does; set by `numpy_behavior`."""

    safe = False


def set_safe(on: bool) -> None:
    """Says whether mode "safe" is on."""
    _Mode.safe = on


# ---- kinds of values


def kind_of(value: Any) -> Kind | None:
    """The kind of a value, or of what a list holds; None where these rules say nothing.

    Raises:
      OverflowError: a Python integer does not fit int32.
      TypeError: mode "safe" does not join the elements of a list.
    """
    if isinstance(value, WeakTensor):
        return Kind(value.dtype, True)
    if isinstance(value, (list, tuple, range)):
        return common_kind(*value)
    if isinstance(value, (Tensor, np.ndarray, np.generic)) or hasattr(value, "handle"):
        return _strong(value.dtype)
    if isinstance(value, (type, np.dtype, DType)):
        return _PYTHON[value] if isinstance(value, type) and value in _PYTHON else _strong(value)
    return _python_kind(value)


def common_kind(*values: Any) -> Kind | None:
    """The kind that the values share; None where these rules say nothing about one of them.

    Raises:
      OverflowError: a Python integer does not fit int32.
      TypeError: mode "safe" does not join them.
    """
    kinds = [kind for kind in map(kind_of, values) if kind is not None]
    if len(kinds) < len(values):
        return None
    return reduce(join, kinds) if kinds else NOTHING


def _strong(dtype: Any) -> Kind | None:
    try:
        found = as_dtype(dtype).base_dtype
    except TypeError:
        return None
    return Kind(found, False) if found in STRONG_DTYPES else None


def _python_kind(value: Any) -> Kind | None:
    kind = next((k for python, k in _PYTHON.items() if isinstance(value, python)), None)
    if kind is not None and kind.dtype is dtypes.int32 and not -(2**31) <= value < 2**31:
        raise OverflowError(
            f"Python int {value} too large to convert to np.int32: expected a value in"
            f" [{-(2**31)}, {2**31 - 1}], which weak integers have. Use np.int64({value}), or pass"
            " a dtype to tf.cast."
        )
    return kind


# ---- joining


def join(a: Kind, b: Kind) -> Kind:
    """The kind that values of two kinds share.

    Raises:
      TypeError: mode "safe" does not allow it.
    """
    found = _joined(a, b)
    if _Mode.safe and not (_keeps(a, b, found) and _keeps(b, a, found)):
        raise TypeError(
            f'In dtype conversion mode "safe" implicit promotion of {a} and {b} is not allowed:'
            f" expected dtypes of which one holds all values of the other; {found} would come out."
            ' Cast one with tf.cast, or use dtype_conversion_mode="all".'
        )
    return found


@cache
def _joined(a: Kind, b: Kind) -> Kind:
    if a == b or b.dtype is dtypes.bool_:
        return a
    if a.dtype is dtypes.bool_:
        return b
    if a.weak and b.weak:
        return max(a, b, key=lambda kind: WEAK_DTYPES.index(kind.dtype))
    if a.weak or b.weak:
        return _gives_way(*((a, b) if a.weak else (b, a)))
    return _both_strong(a.dtype, b.dtype)


def _gives_way(weak: Kind, strong: Kind) -> Kind:
    """A weak kind beside one that is not: only what the strong one cannot hold changes it."""
    if _rank(weak.dtype) <= _rank(strong.dtype):
        return strong
    if strong.dtype.is_integer:
        return Kind(dtypes.complex128 if weak.dtype.is_complex else dtypes.float64, True)
    return Kind(_complex_of(strong.dtype), False)


def _both_strong(a: DType, b: DType) -> Kind:
    low, high = sorted((a, b), key=lambda d: (_rank(d), d.size))
    if _rank(low) < _rank(high):
        found = high if low.is_integer else max(high, _complex_of(low), key=lambda d: d.size)
        return Kind(found, False)
    if low.is_integer:
        found = as_dtype(np.promote_types(a.as_numpy_dtype, b.as_numpy_dtype))
        return Kind(found, found.is_floating)  # no integer holds uint64 and negative numbers
    return Kind(dtypes.float32 if low.size == high.size else high, False)


def _rank(dtype: DType) -> int:
    return 2 if dtype.is_complex else int(dtype.is_floating)


def _complex_of(dtype: DType) -> DType:
    return dtypes.complex128 if dtype is dtypes.float64 else dtypes.complex64


def _keeps(mine: Kind, other: Kind, found: Kind) -> bool:
    """Whether mode "safe" lets values of `mine`, joined with `other`, become `found`."""
    if found.dtype not in (mine.dtype, other.dtype):
        return False
    if mine.weak or not mine.dtype.is_integer or found.dtype.is_integer:
        return True
    digits = 8 * mine.dtype.size - (0 if mine.dtype.is_unsigned else 1)
    return bool(digits <= _DIGITS.get(found.dtype.name, 53))


# ---- carrying out


def convert(value: Any, dtype: DType) -> Any:
    """A value as a tensor of `dtype`; integers of Python wrap around as in a cast."""
    if is_plain(value):
        return convert_to_tensor(host_array(value, dtype))
    if isinstance(value, (bool, str, bytes, list, tuple, range)):
        return convert_to_tensor(value, dtype)
    tensor = convert_to_tensor(value)
    return tensor if tensor.dtype is dtype else cast(tensor, dtype)


def host_array(value: Any, dtype: DType) -> np.ndarray[Any, Any]:
    """Numbers, or lists of them, as an array; integers wrap around."""
    array = np.asarray(value)
    with np.errstate(over="ignore"):  # too large for the dtype is infinite in it
        return array.astype(dtype.as_numpy_dtype)


def is_plain(value: Any) -> bool:
    """Whether a value is a number of Python's other than a bool, or a list of numbers."""
    if isinstance(value, (list, tuple, range)):
        return all(isinstance(v, (bool, np.bool_)) or is_plain(v) for v in value)
    return isinstance(value, (int, float, complex, np.number)) and not isinstance(value, bool)
