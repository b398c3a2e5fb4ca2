"""Files read from their beginning to their end, compressed or not, as data sets do.

`open_bytes` opens one. Offsets are those of the bytes that are read: of a compressed file, of what
is in it. A compressed file may be made of several, one behind the other; no more of it is
decompressed at a time than is asked for.
"""

import io
import zlib
from typing import Any, BinaryIO

from penstock import errors
from penstock.core import files, snappy

COMPRESSIONS = ("", "ZLIB", "GZIP")
_PIECE = 1 << 18  # bytes that are read, and passed over, at a time
_BITS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS + 16}


def open_bytes(path: Any, compression: str = "", offset: int = 0) -> Any:
    """Opens a file to be read.

    Args:
      path: the file.
      compression: "GZIP", "ZLIB", "SNAPPY" or "".
      offset: where to begin.

    Returns:
      An object with `read(size)`, which gives no bytes at the end alone, and `close()`.

    Raises:
      OpError: a subclass: the file cannot be read.
    """
    local = files.local_path(path)
    with files.translating(local):
        file = open(local, "rb", buffering=0)  # noqa: SIM115 - the caller closes it
    try:
        with files.translating(local):
            return _at(file, local, compression, offset)
    except BaseException:
        file.close()
        raise


def open_text(path: Any, compression: str, encoding: str) -> io.TextIOWrapper:
    """Opens a file to be read as text, with the ends of lines as they are.

    Args:
      path: the file.
      compression: "GZIP", "ZLIB", "SNAPPY" or "".
      encoding: of the text.

    Raises:
      OpError: a subclass: the file cannot be read; also while it is.
    """
    raw = io.BufferedReader(_Raw(open_bytes(path, compression)), _PIECE)
    return io.TextIOWrapper(raw, encoding=encoding, newline="")


class _Raw(io.RawIOBase):
    """What `open_bytes` gives, for the classes of `io`. Not thread-safe."""

    def __init__(self, file: Any) -> None:
        super().__init__()
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._file.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        self._file.close()
        super().close()


def _at(file: Any, local: str, compression: str, offset: int) -> Any:
    """What reads an open file from an offset on."""
    plain = _Plain(file, local)
    if not compression:
        file.seek(offset)
        return plain
    made = (
        snappy.Unpacking(plain, local)
        if compression == "SNAPPY"
        else Inflating(plain, local, _BITS[compression])
    )
    while offset > 0 and (passed := made.read(min(offset, _PIECE))):
        offset -= len(passed)
    return made


class _Plain:
    """A file whose failures are ours. Not thread-safe."""

    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, name

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; none at the end alone."""
        try:
            return self._file.read(size)  # type: ignore[no-any-return]
        except OSError as problem:
            raise files.translated(problem, self._name) from problem

    def close(self) -> None:
        """Closes it."""
        self._file.close()


class Inflating:
    """A file that is decompressed while it is read. Not thread-safe.

    Args:
      file: what holds the compressed bytes.
      name: what errors call it.
      bits: zlib's, for the format.
    """

    def __init__(self, file: BinaryIO | _Plain, name: str, bits: int) -> None:
        self._file, self._name, self._bits = file, name, bits
        self._inflate: Any = None
        self._packed = b""

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; none at the end alone.

        Raises:
          DataLossError: the bytes are not compressed so, or end too early.
        """
        while size > 0:
            piece, self._packed = self._packed or self._file.read(_PIECE), b""
            if not piece and (self._inflate is None or self._inflate.eof):
                break
            if self._inflate is None or self._inflate.eof:
                self._inflate = zlib.decompressobj(self._bits)
            try:
                found = self._inflate.decompress(piece, size)
            except zlib.error as problem:
                self._packed = piece  # whoever asks again has the same answer
                raise self._lost(f"bytes that are not ({problem})") from None
            self._packed = self._inflate.unconsumed_tail or self._inflate.unused_data
            if found:
                return found  # type: ignore[no-any-return]
            if not piece and not self._inflate.eof:
                raise self._lost("the end of the file inside of them")
        return b""

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _lost(self, got: str) -> errors.OpError:
        return errors.DataLossError(
            None, None, f"{self._name}: expected compressed bytes, got {got}. Write it anew."
        )
