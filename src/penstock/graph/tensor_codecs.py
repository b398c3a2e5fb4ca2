"""How the elements of each dtype stand in a TensorProto.

`codec_of(dtype)` gives the typed field and the two conversions. Arrays here are one-dimensional and
have the dtype's storage type (`DType.numpy_dtype`); what a field gives has been read from anywhere,
so a decoder takes any number that the field can hold and wraps it into the dtype, as C++ casts do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from penstock.types.dtypes import DType

Array: TypeAlias = np.ndarray[Any, Any]
Decoder: TypeAlias = Callable[[Any, np.dtype[Any]], Array]


class Codec(NamedTuple):
    """The typed field of a dtype, and how elements get in and out of it."""

    field: str
    encode: Callable[[Array], Any]  # what the field is extended with; bytes for a field of bytes
    decode: Decoder
    raw: bool  # whether several elements are written as raw bytes instead
    width: int = 1  # entries of the field for one element


def _numbers(array: Array) -> Any:
    return array.tolist()


def _small_numbers(array: Array) -> Any:  # of ml_dtypes, which have no Python numbers of their own
    return array.astype(np.int8).tolist()


def _bits(array: Array) -> Any:
    return array.view(np.uint16).tolist()


def _parts(array: Array) -> Any:
    return array.view(array.real.dtype).tolist()


def _bytes(array: Array) -> bytes:
    return array.tobytes()


def _from(wide: Any) -> Decoder:
    """A decoder of a field whose numbers are of type `wide`."""

    def decode(values: Any, storage: np.dtype[Any]) -> Array:
        numbers = np.fromiter(values, wide, count=len(values))
        return numbers.astype(storage, copy=False)

    return decode


def _from_small(values: Any, storage: np.dtype[Any]) -> Array:
    numbers = np.fromiter(values, np.int32, count=len(values))
    return narrow(numbers.astype(np.uint8).view(storage))


def _from_bits(values: Any, storage: np.dtype[Any]) -> Array:
    return np.fromiter(values, np.int32, count=len(values)).astype(np.uint16).view(storage)


def _from_parts(values: Any, storage: np.dtype[Any]) -> Array:
    part = np.float32 if storage.itemsize == 8 else np.float64
    return np.fromiter(values, part, count=len(values)).view(storage)


def _from_bytes(values: Any, storage: np.dtype[Any]) -> Array:
    return np.frombuffer(values, np.uint8).view(storage)


def _from_strings(values: Any, storage: np.dtype[Any]) -> Array:
    found = np.empty(len(values), storage)
    found[:] = list(values)
    return found


def narrow(array: Array) -> Array:
    """The array with the unused bits of its sub-byte elements as NumPy wants them."""
    bits = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4_e2m1fn": 4}.get(array.dtype.name)
    if bits is None:
        return array
    low = array.view(np.uint8) & np.uint8(2**bits - 1)
    if array.dtype.name.startswith("int"):
        sign = np.uint8(1 << (bits - 1))
        low = (low ^ sign) - sign
    return low.view(array.dtype)


_INT = Codec("int_val", _numbers, _from(np.int32), raw=True)
_INT_IN_FIELD = _INT._replace(raw=False)
_SMALL = Codec("int_val", _small_numbers, _from_small, raw=False)
_HALF = Codec("half_val", _bits, _from_bits, raw=True)
_FLOAT8 = Codec("float8_val", _bytes, _from_bytes, raw=True)

_CODECS: dict[str, Codec] = {
    "float32": Codec("float_val", _numbers, _from(np.float32), raw=True),
    "float64": Codec("double_val", _numbers, _from(np.float64), raw=True),
    "int64": Codec("int64_val", _numbers, _from(np.int64), raw=True),
    "uint32": Codec("uint32_val", _numbers, _from(np.uint32), raw=True),
    "uint64": Codec("uint64_val", _numbers, _from(np.uint64), raw=True),
    "bool": Codec("bool_val", _numbers, _from(np.bool_), raw=False),
    "string": Codec("string_val", _numbers, _from_strings, raw=False),
    "complex64": Codec("scomplex_val", _parts, _from_parts, raw=False, width=2),
    "complex128": Codec("dcomplex_val", _parts, _from_parts, raw=False, width=2),
    "float16": _HALF,
    "bfloat16": _HALF,
    "uint16": _INT_IN_FIELD,
    **dict.fromkeys(("int32", "int16", "int8", "uint8"), _INT),
    **dict.fromkeys(("qint8", "quint8", "qint16", "quint16", "qint32"), _INT),
    **dict.fromkeys(("int4", "uint4", "int2", "uint2"), _SMALL),
    **dict.fromkeys(
        (
            "float8_e5m2",
            "float8_e4m3fn",
            "float8_e4m3fnuz",
            "float8_e4m3b11fnuz",
            "float8_e5m2fnuz",
        ),
        _FLOAT8,
    ),
    "float4_e2m1fn": _FLOAT8._replace(decode=lambda v, storage: narrow(_from_bytes(v, storage))),
}


def codec_of(dtype: DType) -> Codec:
    """The codec of a dtype.

    Raises:
      TypeError: its elements are handles or variants, which no array holds, or references.
    """
    codec = _CODECS.get(dtype.name)
    if codec is None:
        raise TypeError(
            f"TensorProto: Element type not supported: {dtype.name}. Expected one whose elements "
            "are numbers, truth values or strings."
        )
    return codec
