"""Records: byte strings one after the other in a file, each with checksums.

A record is its length (uint64, little-endian), the masked CRC-32C of these eight bytes, the data,
and the masked CRC-32C of the data. Event files and TFRecord files are made of them. The mask keeps
a checksum from being a plausible checksum of data that holds checksums.

Entry points: `frame` for writing, `read_records` for reading. Compression and reading in parallel
belong to the readers of data sets.
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO

import google_crc32c

from penstock import errors

_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
HEADER_BYTES = _LENGTH.size + _CHECKSUM.size
FOOTER_BYTES = _CHECKSUM.size
_MASK_DELTA = 0xA282EAD8
_READ_BYTES = 1 << 20  # a claimed length is believed only as far as the file has bytes


def masked_crc(data: bytes) -> int:
    """The CRC-32C of `data`, rotated and shifted as records hold it.

    Example:
      >>> hex(masked_crc(b"penstock"))
      '0x793d5367'
    """
    crc: int = google_crc32c.value(data)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def frame(data: bytes) -> bytes:
    """`data` as a record."""
    length = _LENGTH.pack(len(data))
    return b"".join(
        (length, _CHECKSUM.pack(masked_crc(length)), data, _CHECKSUM.pack(masked_crc(data)))
    )


def read_records(file: BinaryIO, name: str = "") -> Iterator[bytes]:
    """The records of an open binary file, from where it stands.

    Args:
      file: a file open for reading.
      name: what errors call it.

    Raises:
      DataLossError: a checksum is wrong, or the file ends inside a record. The records before it
        were given.
    """
    where = name or getattr(file, "name", "the file")
    offset = file.tell() if file.seekable() else 0
    while header := file.read(HEADER_BYTES):
        if len(header) < HEADER_BYTES:
            raise _truncated(where, offset)
        length, stored = header[: _LENGTH.size], header[_LENGTH.size :]
        _check(length, stored, where, offset)
        size = _LENGTH.unpack(length)[0]
        data = _read(file, size)
        footer = file.read(FOOTER_BYTES)
        if len(data) < size or len(footer) < FOOTER_BYTES:
            raise _truncated(where, offset)
        _check(data, footer, where, offset)
        yield data
        offset += HEADER_BYTES + size + FOOTER_BYTES


def _read(file: BinaryIO, size: int) -> bytes:
    """Up to `size` bytes, in pieces: a length that was never written allocates nothing."""
    if size <= _READ_BYTES:
        return file.read(size)
    pieces, missing = [], size
    while missing and (piece := file.read(min(missing, _READ_BYTES))):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def _check(data: bytes, stored: bytes, where: str, offset: int) -> None:
    wanted, found = _CHECKSUM.unpack(stored)[0], masked_crc(data)
    if found != wanted:
        raise errors.DataLossError(
            None,
            None,
            f"corrupted record at {offset} of {where}: expected checksum {wanted:#010x}, got "
            f"{found:#010x}. Write the file anew, or read only the records before it.",
        )


def _truncated(where: str, offset: int) -> errors.OpError:
    return errors.DataLossError(
        None,
        None,
        f"truncated record at {offset} of {where}: expected a whole record, got the end of the "
        "file. Its writer may still be running, or was stopped in the middle.",
    )
