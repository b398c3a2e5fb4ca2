"""The bytes of tensors: numbers as they lie in memory, strings as lengths, checksum, contents."""

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.bundle.coding import data_loss, read_varint, varint
from penstock.core.bundle.table import checksum
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType, as_dtype

Array = np.ndarray[Any, Any]
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_MASK_DELTA = 0xA282EAD8
NO_BYTES = (dt.resource, dt.variant)


def masked(crc: int) -> int:
    """A CRC-32C as files hold it."""
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def storable(dtype: DType, name: str) -> DType:
    """`dtype`, which files can hold.

    Raises:
      UnimplementedError: they cannot.
    """
    if dtype.base_dtype in NO_BYTES:
        raise errors.UnimplementedError(
            None,
            None,
            f"tensor '{name}': expected numbers or strings, got {dtype.name}. Save what the "
            "object holds instead; its class defines that in _serialize_to_tensors.",
        )
    return dtype.base_dtype


def stored_dtype(number: int, where: str) -> DType:
    """The dtype of a number in a message.

    Raises:
      DataLossError: no dtype has it.
      UnimplementedError: files of ours do not hold it.
    """
    try:
        return storable(as_dtype(number), where)
    except TypeError:
        raise data_loss(where, "the number of a dtype", str(number)) from None


def raw_bytes(array: Array) -> Array:
    """The elements' bytes in order: uint8[N], not to be written to, a view where it can be."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    flat.flags.writeable = False
    return flat


def encode_strings(array: Array) -> tuple[bytes, int]:
    """A string tensor's bytes, and their checksum (which counts lengths by 4 or 8 bytes each)."""
    values = [_as_bytes(item) for item in array.reshape(-1)]
    fixed = b"".join(_length(len(value)) for value in values)
    sums = _U32.pack(masked(checksum(fixed)))
    contents = b"".join(values)
    crc = checksum(contents, checksum(sums, checksum(fixed)))
    return b"".join([varint(len(v)) for v in values]) + sums + contents, masked(crc)


def _as_bytes(item: Any) -> bytes:
    return item.encode() if isinstance(item, str) else bytes(item)


def _length(size: int) -> bytes:
    return _U32.pack(size) if size < 1 << 32 else _U64.pack(size)


def decode_strings(data: bytes, shape: Sequence[int], crc: int, where: str) -> Array:
    """The string tensor that `encode_strings` wrote.

    Args:
      data: its bytes.
      shape: its shape; it has no more elements than there are bytes, or is refused.
      crc: its checksum, masked.
      where: what errors call it.

    Raises:
      DataLossError: the bytes are not what was written.
    """
    count = math.prod(shape)
    if count > len(data):
        raise data_loss(where, f"lengths of {count} strings", f"{len(data)} bytes")
    lengths, at = [], 0
    for _ in range(count):
        length, at = read_varint(data, at, where)
        lengths.append(length)
    sums, begin = data[at : at + 4], at + 4
    fixed = b"".join(map(_length, lengths))
    expect_checksum(_U32.unpack(sums)[0] if len(sums) == 4 else None, checksum(fixed), where)
    if begin + sum(lengths) != len(data):
        raise data_loss(where, f"{sum(lengths)} bytes of strings", f"{len(data) - begin}")
    expect_checksum(crc, checksum(data[begin:], checksum(sums, checksum(fixed))), where)
    result = np.empty(count, object)
    for i, length in enumerate(lengths):
        result[i] = data[begin : begin + length]
        begin += length
    return result.reshape(tuple(shape))


def expect_checksum(wanted: int | None, crc: int, where: str) -> None:
    """Refuses bytes with a checksum (not masked) that differs from the stored one (masked).

    Raises:
      DataLossError: it does.
    """
    if wanted != masked(crc):
        text = "a checksum" if wanted is None else f"checksum {wanted:#010x}"
        raise data_loss(where, text, f"bytes with {masked(crc):#010x}")


def empty_array(shape: Sequence[int], dtype: DType, where: str) -> Array:
    """A new array, whose elements are to be filled in.

    Raises:
      DataLossError: no array has such a shape.
    """
    try:
        return np.empty(tuple(shape), dtype.numpy_dtype)
    except (ValueError, MemoryError):
        raise data_loss(where, "the shape of a tensor", f"{list(shape)}") from None
