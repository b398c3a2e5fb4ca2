"""Snappy's format, as files of records are compressed with it: blocks, each with its length.

What is written is in the format and not smaller than it was: a block is one literal. What others
wrote is read whole. A block's claimed size is believed up to LARGEST bytes alone.
"""

import struct
from typing import Any

from penstock import errors
from penstock.core.bundle.coding import varint

LARGEST = 1 << 28  # bytes of a block
_BLOCK = 1 << 18  # bytes of a block that is written
_LENGTH = struct.Struct(">I")


def pack(data: bytes) -> bytes:
    """Bytes as blocks, each behind its length."""
    blocks = []
    for at in range(0, len(data), _BLOCK):
        piece = data[at : at + _BLOCK]
        block = varint(len(piece)) + b"\xf8" + (len(piece) - 1).to_bytes(3, "little") + piece
        blocks.append(_LENGTH.pack(len(block)) + block)
    return b"".join(blocks)


class Unpacking:
    """A file of blocks that is decompressed while it is read. Not thread-safe.

    Args:
      file: what holds the blocks.
      name: what errors call it.
    """

    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, name
        self._ready = b""
        self._at = 0  # of what was not read of it

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; none at the end alone.

        Raises:
          DataLossError: the bytes are no such blocks.
        """
        while self._at == len(self._ready):
            head = self._exactly(_LENGTH.size)
            if not head:
                return b""
            length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else LARGEST + 1
            if length > LARGEST:
                raise self._lost("the length of a block that cannot be")
            block = self._exactly(length)
            if len(block) < length:
                raise self._lost("the end of the file inside of a block")
            try:
                self._ready, self._at = unpacked(block), 0
            except (IndexError, ValueError) as problem:
                raise self._lost(f"a block that is none ({problem})") from None
        first, self._at = self._at, min(self._at + size, len(self._ready))
        return self._ready[first : self._at]

    def _exactly(self, size: int) -> bytes:
        pieces, missing = [], size
        while missing and (piece := self._file.read(min(missing, 1 << 20))):
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _lost(self, got: str) -> errors.OpError:
        return errors.DataLossError(
            None, None, f"{self._name}: expected blocks of Snappy's, got {got}. Write it anew."
        )


def unpacked(block: bytes) -> bytes:
    """What is in a block.

    Raises:
      IndexError, ValueError: it is none.
    """
    size, at = _read_varint(block)
    if size > LARGEST:
        raise ValueError(f"it claims {size} bytes")
    made = bytearray()
    while at < len(block):
        tag = block[at]
        at += 1
        if tag & 3 == 0:
            length, at = _literal(block, at, tag >> 2)
            if at + length > len(block):
                raise ValueError("a literal is cut off")
            made += block[at : at + length]
            at += length
        else:
            length, offset, at = _copy(block, at, tag)
            _repeat(made, length, offset)
        if len(made) > size:
            raise ValueError("it has more bytes than it says")
    if len(made) != size:
        raise ValueError(f"it has {len(made)} bytes and says {size}")
    return bytes(made)


def _read_varint(block: bytes) -> tuple[int, int]:
    number = shift = at = 0
    while True:
        byte = block[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
        if shift > 35:
            raise ValueError("its length does not end")


def _literal(block: bytes, at: int, short: int) -> tuple[int, int]:
    if short < 60:
        return short + 1, at
    wide = short - 59
    return int.from_bytes(block[at : at + wide], "little") + 1, at + wide


def _copy(block: bytes, at: int, tag: int) -> tuple[int, int, int]:
    if tag & 3 == 1:
        return (tag >> 2 & 7) + 4, tag >> 5 << 8 | block[at], at + 1
    wide = 2 if tag & 3 == 2 else 4
    return (tag >> 2) + 1, int.from_bytes(block[at : at + wide], "little"), at + wide


def _repeat(made: bytearray, length: int, offset: int) -> None:
    if not 0 < offset <= len(made):
        raise ValueError(f"it copies from {offset} bytes before, of {len(made)}")
    start = len(made) - offset
    if length <= offset:
        made += made[start : start + length]
        return
    pattern = bytes(made[start:])
    made += (pattern * (length // offset + 1))[:length]
