"""Sorted tables of keys and values in one file, as LevelDB writes them.

The file is data blocks, an empty block, an index block and a footer of 48 bytes. A block is
entries (length shared with the key before, length of the rest, length of the value, the rest, the
value), the offsets at which a key is written whole, and their count; after it come a byte for the
compression and a masked CRC-32C. The index block's values say where data blocks are.

`TableBuilder` writes, `Table` reads. Blocks are not compressed when they are written; those that
Snappy compressed are read.
"""

import bisect
import functools
import struct
from collections.abc import Callable, Iterator

import google_crc32c

from penstock import errors
from penstock.core.bundle import snappy
from penstock.core.bundle.coding import data_loss, read_varint, varint
from penstock.core.records import masked_crc

MAGIC = 0xDB4775248B80FB57
FOOTER_BYTES = 48
TRAILER_BYTES = 5
BLOCK_BYTES = 256 << 10
RESTART_INTERVAL = 16
_PLAIN, _SNAPPY = 0, 1  # compressions
_FIXED = struct.Struct("<I")
_MAGIC = struct.Struct("<Q")


class _Block:
    def __init__(self, restart_interval: int) -> None:
        self.interval = restart_interval
        self.restarts, self.data = [0], bytearray()
        self.count, self.last = 0, b""

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self.count < self.interval:
            shared = _shared(self.last, key)
        else:
            self.restarts.append(len(self.data))
            self.count = 0
        self.data += varint(shared) + varint(len(key) - shared) + varint(len(value))
        self.data += key[shared:]
        self.data += value
        self.last = key
        self.count += 1

    def finish(self) -> bytes:
        ends = b"".join(map(_FIXED.pack, [*self.restarts, len(self.restarts)]))
        return bytes(self.data) + ends

    @property
    def size(self) -> int:
        return len(self.data) + 4 * len(self.restarts) + 4


class TableBuilder:
    """Writes a table.

    Args:
      write: takes the file's bytes, piece by piece.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write, self._offset = write, 0
        self._block, self._index = _Block(RESTART_INTERVAL), _Block(1)
        self._pending: bytes | None = None  # the handle of a block whose index key is not chosen
        self._last = b""

    def add(self, key: bytes, value: bytes) -> None:
        """Appends an entry; keys come in order.

        Raises:
          InvalidArgumentError: the key is not above the one before.
        """
        started = self._pending is not None or self._block.data
        if started and key <= self._last:
            raise errors.InvalidArgumentError(
                None, None, f"expected a key above {self._last!r}, got {key!r}. Sort the keys."
            )
        if self._pending is not None:
            self._index.add(_separator(self._last, key), self._pending)
            self._pending = None
        self._block.add(key, value)
        self._last = key
        if self._block.size >= BLOCK_BYTES:
            self._flush()

    def finish(self) -> None:
        """Writes what is left, the index and the footer."""
        if self._block.data:
            self._flush()
        empty = self._put(_Block(RESTART_INTERVAL).finish())
        if self._pending is not None:
            self._index.add(_successor(self._last), self._pending)
        handles = empty + self._put(self._index.finish())
        padding = bytes(FOOTER_BYTES - _MAGIC.size - len(handles))
        self._write(handles + padding + _MAGIC.pack(MAGIC))

    def _flush(self) -> None:
        self._pending = self._put(self._block.finish())
        self._block = _Block(RESTART_INTERVAL)

    def _put(self, block: bytes) -> bytes:
        handle = varint(self._offset) + varint(len(block))
        stored = block + b"\x00"
        self._write(stored + _FIXED.pack(masked_crc(stored)))
        self._offset += len(stored) + 4
        return handle


def _shared(a: bytes, b: bytes) -> int:
    """The number of bytes that both begin with."""
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return min(len(a), len(b))


def _separator(before: bytes, after: bytes) -> bytes:
    """A short key from `before` up to, not including, `after`."""
    shared = _shared(before, after)
    if shared < len(before) and before[shared] < 0xFF and before[shared] + 1 < after[shared]:
        return before[:shared] + bytes([before[shared] + 1])
    return before


def _successor(key: bytes) -> bytes:
    """A short key that is not below `key`."""
    for i, byte in enumerate(key):
        if byte != 0xFF:
            return key[:i] + bytes([byte + 1])
    return key


class Table:
    """A table's entries. Immutable and thread-safe.

    Args:
      data: the file's bytes.
      where: what errors call the file.

    Raises:
      DataLossError: this is no table, or it is damaged.
    """

    def __init__(self, data: bytes, where: str) -> None:
        self._data, self._where = data, where
        footer = data[-FOOTER_BYTES:]
        if len(footer) < FOOTER_BYTES or _MAGIC.unpack(footer[-_MAGIC.size :])[0] != MAGIC:
            raise data_loss(
                where, "a table that ends with its magic number", f"{len(data)} bytes without it"
            )
        empty, at = self._handle(footer, 0)
        self._entries(*empty)
        self._index: list[tuple[bytes, tuple[int, int]]] = []
        for key, handle in self._entries(*self._handle(footer, at)[0]):
            self._index.append((key, self._handle(handle, 0)[0]))

    def _handle(self, data: bytes, at: int) -> tuple[tuple[int, int], int]:
        offset, at = read_varint(data, at, self._where)
        size, at = read_varint(data, at, self._where)
        if offset + size + TRAILER_BYTES > len(self._data) - FOOTER_BYTES:
            raise data_loss(
                self._where,
                f"blocks inside of {len(self._data)} bytes",
                f"one of {size} bytes at {offset}",
            )
        return (offset, size), at

    def _entries(self, offset: int, size: int) -> list[tuple[bytes, bytes]]:
        end = offset + size
        stored = self._data[offset : end + 1]
        wanted = _FIXED.unpack(self._data[end + 1 : end + TRAILER_BYTES])[0]
        found = masked_crc(stored)
        if wanted != found:
            raise data_loss(
                f"{self._where}, block at {offset}", f"checksum {wanted:#010x}", f"{found:#010x}"
            )
        where, block, kind = f"{self._where}, block at {offset}", stored[:-1], stored[-1]
        if kind == _SNAPPY:
            block = snappy.unpack(block, where)
        elif kind != _PLAIN:
            raise errors.UnimplementedError(
                None,
                None,
                f"{where}: expected a plain block or one of Snappy, got compression {kind}. Write "
                "the checkpoint anew without compression.",
            )
        return _parse_block(block, where)

    @functools.cached_property
    def _keys(self) -> list[bytes]:
        return [key for key, _ in self._index]

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """All entries, in order.

        Raises:
          DataLossError: a block is damaged.
        """
        last = None
        for _, handle in self._index:
            for key, value in self._entries(*handle):
                if last is not None and key <= last:
                    raise data_loss(self._where, f"a key above {last!r}", f"{key!r}")
                last = key
                yield key, value

    def get(self, key: bytes) -> bytes | None:
        """The value under `key`, or None.

        Raises:
          DataLossError: the block that holds it is damaged.
        """
        at = bisect.bisect_left(self._keys, key)
        if at == len(self._index):
            return None
        return dict(self._entries(*self._index[at][1])).get(key)


def _parse_block(block: bytes, where: str) -> list[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise data_loss(where, "at least four bytes", f"{len(block)}")
    count = _FIXED.unpack(block[-4:])[0]
    end = len(block) - 4 * (count + 1)
    if end < 0:
        raise data_loss(where, f"{count} offsets of keys", f"{len(block)} bytes")
    entries: list[tuple[bytes, bytes]] = []
    at, key = 0, b""
    while at < end:
        shared, at = read_varint(block, at, where)
        rest, at = read_varint(block, at, where)
        size, at = read_varint(block, at, where)
        if shared > len(key) or at + rest + size > end:
            raise data_loss(where, f"an entry that ends by byte {end}", "one that does not")
        key = key[:shared] + block[at : at + rest]
        at += rest
        entries.append((key, block[at : at + size]))
        at += size
    return entries


def checksum(data: bytes, before: int = 0) -> int:
    """The CRC-32C of `data` after bytes whose checksum is `before`; not masked."""
    value: int = google_crc32c.extend(before, data)
    return value
