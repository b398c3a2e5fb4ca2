"""Records: byte strings one after the other in a file, each with checksums.

A record is its length (uint64, little-endian), the masked CRC-32C of these eight bytes, the data,
and the masked CRC-32C of the data. Event files and TFRecord files are made of them. The mask keeps
a checksum from being a plausible checksum of data that holds checksums.

Entry points: `frame` for writing; `RecordReader` for reading, which takes a file in blocks, and
`read_records`, which gives its records one by one. Compression belongs to the files that they read.
"""

import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

import google_crc32c

from penstock import errors
from penstock.core import native_records

_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
HEADER_BYTES = _LENGTH.size + _CHECKSUM.size
FOOTER_BYTES = _CHECKSUM.size
_MASK_DELTA = 0xA282EAD8
_BLOCK_BYTES = 1 << 18  # what is read at a time, where no record asks for more
ALL, MORE, LENGTH, DATA = range(4)  # why `scan` ends
Spans = tuple[list[int], list[int], tuple[int, int, int, int]]


def masked_crc(data: Any) -> int:
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


def scan(data: bytes, at: int) -> Spans:
    """The whole records at a place of some bytes, as far as their checksums are right.

    Args:
      data: bytes of a file.
      at: where a record begins.

    Returns:
      Where the contents of records begin; where they end; and why there are no more: ALL (as many
      as are given at once), MORE (the next one ends behind the bytes), LENGTH or DATA (a wrong
      checksum), with the place of the next record, then how many bytes it needs at least, or the
      checksum stored and the one found.
    """
    starts: list[int] = []
    ends: list[int] = []
    while len(starts) < native_records.MOST:
        left = len(data) - at
        if left < HEADER_BYTES:
            return starts, ends, (MORE, at, HEADER_BYTES, 0)
        length = data[at : at + _LENGTH.size]
        wanted, found = _CHECKSUM.unpack_from(data, at + _LENGTH.size)[0], masked_crc(length)
        if wanted != found:
            return starts, ends, (LENGTH, at, wanted, found)
        size = _LENGTH.unpack(length)[0]
        start, whole = at + HEADER_BYTES, HEADER_BYTES + size + FOOTER_BYTES
        if whole > left:
            return starts, ends, (MORE, at, whole, 0)
        wanted, found = (
            _CHECKSUM.unpack_from(data, start + size)[0],
            masked_crc(data[start : start + size]),
        )
        if wanted != found:
            return starts, ends, (DATA, at, wanted, found)
        starts.append(start)
        ends.append(start + size)
        at += whole
    return starts, ends, (ALL, at, 0, 0)


class RecordReader:
    """The records of an open binary file, from where it stands. Not thread-safe.

    A claimed length is believed only as far as the file has bytes.

    Args:
      file: anything with `read`.
      name: what errors call it.
      offset: where in the file it stands.
    """

    def __init__(self, file: Any, name: str, offset: int = 0) -> None:
        self._file = file
        self._name = name
        self._base = offset  # of the block in the file
        self._block = b""
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._next = 0  # number of the next record in these
        self._stop = (MORE, 0, HEADER_BYTES, 0)

    @property
    def offset(self) -> int:
        """Where in the file the next record begins."""
        if self._next < len(self._starts):
            return self._base + self._starts[self._next] - HEADER_BYTES
        return self._base + self._stop[1]

    def next(self) -> bytes | None:
        """The next record; None behind the last.

        Raises:
          DataLossError: a checksum is wrong, or the file ends inside the record.
        """
        number = self._next
        if number == len(self._starts):
            if not self._advance():
                return None
            number = 0
        self._next = number + 1
        return self._block[self._starts[number] : self._ends[number]]

    def take(self, count: int) -> list[bytes]:
        """At least one and up to `count` of the next records, as many as suit; none at the end.

        Raises:
          DataLossError: as for `next`, of the next record.
        """
        found: list[bytes] = []
        while len(found) < count:
            first = self._next
            if first == len(self._starts):
                if not self._has_more(found):
                    break
                first = 0
            last = self._next = min(first + count - len(found), len(self._starts))
            block = self._block
            places = zip(self._starts[first:last], self._ends[first:last], strict=True)
            found += [block[start:end] for start, end in places]
        return found

    def _has_more(self, found: list[bytes]) -> bool:
        """Whether there are more records; an error of the next one waits where some were found."""
        try:
            return self._advance()
        except errors.OpError:
            if found:
                return False
            raise

    def _advance(self) -> bool:
        """Finds more records; False at the end of the file."""
        while True:
            status, place, needed, _ = self._stop
            if status in (LENGTH, DATA):
                raise self._corrupted()
            if status == MORE and not self._fill(place, needed):
                if self._block:
                    raise _truncated(self._name, self.offset)
                return False
            if status == ALL:
                self._move(place)
            spans = native_records.scan(self._block, 0) or scan(self._block, 0)
            self._starts, self._ends, self._stop = spans
            self._next = 0
            if self._starts:
                return True

    def _move(self, place: int) -> None:
        """Forgets the bytes of the block before a place."""
        self._base += place
        self._block = self._block[place:]
        self._starts, self._ends, self._next = [], [], 0
        self._stop = (MORE, 0, HEADER_BYTES, 0)

    def _fill(self, place: int, needed: int) -> bool:
        """Has a record whole in the block, as far as the file goes; whether it is."""
        self._move(place)
        pieces, have = [self._block], len(self._block)
        try:
            while have < needed:
                piece = self._file.read(max(_BLOCK_BYTES, min(needed, 2 * have) - have))
                if not piece:
                    break
                pieces.append(piece)
                have += len(piece)
        finally:  # what was read before an error is not read again
            self._block = b"".join(pieces)
        return have >= needed

    def _corrupted(self) -> errors.OpError:
        _, place, wanted, found = self._stop
        return errors.DataLossError(
            None,
            None,
            f"corrupted record at {self._base + place} of {self._name}: expected checksum"
            f" {wanted:#010x}, got {found:#010x}. Write the file anew, or read only the records"
            " before it.",
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
    reader = RecordReader(file, where, file.tell() if file.seekable() else 0)
    while (record := reader.next()) is not None:
        yield record


def _truncated(where: str, offset: int) -> errors.OpError:
    return errors.DataLossError(
        None,
        None,
        f"truncated record at {offset} of {where}: expected a whole record, got the end of the "
        "file. Its writer may still be running, or was stopped in the middle.",
    )
