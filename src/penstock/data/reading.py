"""Datasets of the records, lines and pieces of files: the operations, and a reader for each."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.config import logging
from penstock.core import files
from penstock.core.byte_files import COMPRESSIONS, open_bytes
from penstock.core.records import RecordReader
from penstock.data.file_stage import (
    Files,
    Reader,
    check_least,
    check_scalar,
    check_vector,
    shown,
)
from penstock.data.operations import dataset_kernel, dataset_op, number, text_of, texts_of
from penstock.data.stages import Array, Description

_BLOCK = 1 << 18  # bytes that are read at a time, where the user gives no number
_LARGEST = 1 << 26  # of these, whatever number is given


def compression_of(op: str, value: Any) -> str:
    """The name of a compression.

    Raises:
      InvalidArgumentError: there is no such one.
    """
    check_scalar(op, "compression_type", value)
    found = text_of(value)
    if found not in COMPRESSIONS:
        raise errors.InvalidArgumentError(
            None,
            None,
            f'{op}: Unsupported compression_type. Expected "", "ZLIB" or "GZIP", got "{found}".',
        )
    return found


# ---- records

TFRECORD = dataset_op(
    "TFRecordDataset(filenames: string, compression_type: string, buffer_size: int64; metadata:"
    " string = '') -> handle: variant",
    "The records of files.",
    stateful=True,
)
TFRECORD_V2 = dataset_op(
    "TFRecordDatasetV2(filenames: string, compression_type: string, buffer_size: int64,"
    " byte_offsets: int64; metadata: string = '') -> handle: variant",
    "The records of files, of each from a given offset on.",
    stateful=True,
)


class _Records(RecordReader):
    """The records of an open file."""

    def __init__(self, path: bytes, compression: str, offset: int) -> None:
        self._opened = open_bytes(path, compression, offset)
        super().__init__(self._opened, shown(path), offset)

    def close(self) -> None:
        """Closes the file."""
        self._opened.close()


def _record_files(op: str, filenames: Array, compression_type: Array, offsets: Any) -> Description:
    check_vector(op, "filenames", filenames)
    check_scalar(op, "compression_type", compression_type)
    compression = text_of(compression_type)
    if compression not in COMPRESSIONS:  # as TensorFlow has it, and programs that say "NONE"
        logging.log_first_n(
            logging.WARN, f'{op}: there is no compression "{compression}": reading without.', 1
        )
        compression = ""
    paths = texts_of(filenames)
    if len(offsets) not in (0, len(paths)):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{op}: expected an offset for each file, got {len(offsets)} `byte_offsets` for"
            f" {len(paths)} files.",
        )
    for offset in offsets:
        check_least(op, "byte_offsets", offset, 0)
    return Files(op, paths, lambda path, offset: _Records(path, compression, offset), offsets)


@dataset_kernel(TFRECORD)
def _tf_record(filenames: Array, compression_type: Array, buffer_size: Array) -> Description:
    return _record_files("TFRecordDataset", filenames, compression_type, ())


@dataset_kernel(TFRECORD_V2)
def _tf_record_v2(
    filenames: Array, compression_type: Array, buffer_size: Array, byte_offsets: Array
) -> Description:
    offsets = [int(n) for n in np.reshape(byte_offsets, -1)]
    return _record_files("TFRecordDatasetV2", filenames, compression_type, offsets)


# ---- lines

TEXT_LINE = dataset_op(
    "TextLineDataset(filenames: string, compression_type: string, buffer_size: int64; metadata:"
    " string = '') -> handle: variant",
    "The lines of text files, without the characters that end them.",
    stateful=True,
)


class Lines:
    """The lines of an open file, without line feeds and carriage returns. Not thread-safe.

    Args:
      path: the file.
      compression: see `open_bytes`.
      offset: where the first line begins.
      block: bytes that are read at a time.
    """

    def __init__(self, path: bytes, compression: str, offset: int, block: int = _BLOCK) -> None:
        self._file = open_bytes(path, compression, offset)
        self._block = block
        self.offset = offset
        self._lines: list[bytes] = []  # whole ones, in turn
        self._next = 0
        self._rest = b""  # the beginning of the line behind them
        self._ended = False

    def take(self, count: int) -> list[bytes]:
        """At least one and up to `count` lines; none at the end."""
        found: list[bytes] = []
        while len(found) < count:
            if self._next == len(self._lines) and (found or not self._advance()):
                break
            last = self._next + count - len(found)
            taken = self._lines[self._next : last]
            self._next += len(taken)
            self.offset += sum(map(len, taken)) + len(taken)
            found += [line.replace(b"\r", b"") for line in taken]
        return found

    def _advance(self) -> bool:
        """Reads more lines; False at the end of the file."""
        if self._ended:
            return False
        pieces = [self._rest]
        try:
            while piece := self._file.read(self._block):
                pieces.append(piece)
                if b"\n" in piece:
                    break
        except BaseException:  # what was read before it is not read again
            self._rest = b"".join(pieces)
            raise
        self._ended = not piece
        self._lines = b"".join(pieces).split(b"\n")
        self._rest = self._lines.pop()
        self._next = 0
        if self._ended and self._rest.strip(b"\r"):
            self._lines.append(self._rest)
        return bool(self._lines)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def block_size(op: str, value: Array) -> int:
    """How many bytes are read at a time.

    Raises:
      InvalidArgumentError: the number is negative.
    """
    check_scalar(op, "buffer_size", value)
    size = number(value)
    check_least(op, "buffer_size", size, 0)
    return min(size, _LARGEST) or _BLOCK


@dataset_kernel(TEXT_LINE)
def _text_line(filenames: Array, compression_type: Array, buffer_size: Array) -> Description:
    op = "TextLineDataset"
    check_vector(op, "filenames", filenames)
    compression = compression_of(op, compression_type)
    block = block_size(op, buffer_size)

    def open_file(path: bytes, offset: int) -> Reader:
        return Lines(path, compression, offset, block)

    return Files(op, texts_of(filenames), open_file)


# ---- pieces of one length

_FIXED = "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64"
FIXED_LENGTH = dataset_op(
    f"FixedLengthRecordDataset({_FIXED}, buffer_size: int64; metadata: string = '') -> handle:"
    " variant",
    "The records of files, which all have the same number of bytes.",
    stateful=True,
)
FIXED_LENGTH_V2 = dataset_op(
    f"FixedLengthRecordDatasetV2({_FIXED}, buffer_size: int64, compression_type: string; metadata:"
    " string = '') -> handle: variant",
    "The records of files, which all have the same number of bytes, compressed or not.",
    stateful=True,
)


class _Layout:
    """Of which parts a file is made."""

    __slots__ = ("block", "compression", "footer", "header", "record")

    def __init__(self, header: int, record: int, footer: int, compression: str, block: int) -> None:
        self.header, self.record, self.footer = header, record, footer
        self.compression, self.block = compression, block


class _Pieces:
    """The records of one length of an open file. Not thread-safe."""

    def __init__(self, path: bytes, offset: int, layout: _Layout) -> None:
        self._path, self._layout = path, layout
        if not layout.compression:
            self._check(files.stat(shown(path)).length)
        self.offset = max(offset, layout.header)
        self._file = open_bytes(path, layout.compression, self.offset)
        self._bytes = b""
        self._at = 0  # of the next record in these

    def _check(self, size: int) -> None:
        layout = self._layout
        body = size - layout.header - layout.footer
        if body < 0 or body % layout.record:
            # TensorFlow's classes: a compressed file is found out only when it has been read.
            kind = errors.DataLossError if layout.compression else errors.InvalidArgumentError
            raise kind(
                None,
                None,
                f"Excluding the header ({layout.header} bytes) and footer ({layout.footer} bytes),"
                f' input file "{shown(self._path)}" has body length {body} bytes, which is not an'
                f" exact multiple of the record length ({layout.record} bytes).",
            )

    def take(self, count: int) -> list[bytes]:
        """At least one and up to `count` records; none at the end."""
        size, footer = self._layout.record, self._layout.footer
        have = self._fill(footer + size)
        whole = max(0, min(count, (have - footer) // size))
        if not whole and have != footer:
            self._check(self.offset + have)
        first, self._at = self._at, self._at + whole * size
        self.offset += whole * size
        return [self._bytes[i : i + size] for i in range(first, self._at, size)]

    def _fill(self, needed: int) -> int:
        """Reads until there are so many bytes, as far as the file goes; how many there are."""
        have = len(self._bytes) - self._at
        if have >= needed:
            return have
        pieces, self._at = [self._bytes[self._at :]], 0
        try:
            while have < needed:
                piece = self._file.read(max(self._layout.block, min(needed, 2 * have) - have))
                if not piece:
                    break
                pieces.append(piece)
                have += len(piece)
        finally:  # what was read before an error is not read again
            self._bytes = b"".join(pieces)
        return have

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def _fixed(
    op: str, filenames: Array, header: Array, record: Array, footer: Array, buffer: Array,
    compression: str,
) -> Description:  # fmt: skip
    check_vector(op, "filenames", filenames)
    sizes = []
    given = (("header_bytes", header, 0), ("record_bytes", record, 1), ("footer_bytes", footer, 0))
    for name, value, least in given:
        check_scalar(op, name, value)
        check_least(op, name, number(value), least)
        sizes.append(number(value))
    layout = _Layout(sizes[0], sizes[1], sizes[2], compression, block_size(op, buffer))
    return Files(op, texts_of(filenames), lambda path, offset: _Pieces(path, offset, layout))


@dataset_kernel(FIXED_LENGTH)
def _fixed_length(
    filenames: Array, header_bytes: Array, record_bytes: Array, footer_bytes: Array,
    buffer_size: Array,
) -> Description:  # fmt: skip
    op = "FixedLengthRecordDataset"
    return _fixed(op, filenames, header_bytes, record_bytes, footer_bytes, buffer_size, "")


@dataset_kernel(FIXED_LENGTH_V2)
def _fixed_length_v2(
    filenames: Array, header_bytes: Array, record_bytes: Array, footer_bytes: Array,
    buffer_size: Array, compression_type: Array,
) -> Description:  # fmt: skip
    op = "FixedLengthRecordDatasetV2"
    found = compression_of(op, compression_type)
    return _fixed(op, filenames, header_bytes, record_bytes, footer_bytes, buffer_size, found)
