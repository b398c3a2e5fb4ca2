"""`GFile`: an open file, as `tf.io.gfile` has it.

Nothing is opened before the first read or write. Reading and writing have a position each, so what
was written can be read from the start. Sizes and positions count bytes, in text files too.
"""

import os
from types import TracebackType
from typing import IO, Any

from penstock import errors
from penstock.core.files import local_path, translated

# mode -> how it is opened for reading and for writing
MODES = {
    "r": ("rb", None),
    "w": (None, "wb"),
    "a": (None, "ab"),
    "r+": ("rb", "r+b"),
    "w+": ("rb", "wb"),
    "a+": ("rb", "ab"),
}


class GFile:
    """A file to read or write.

    Text is UTF-8. Unlike TensorFlow, mode "r+" keeps what the file holds and writes over its start.
    Not thread-safe.

    Args:
      name: the path, with or without `file://` in front.
      mode: "r", "w", "a", "r+", "w+" or "a+", with "b" for bytes instead of text.

    Raises:
      InvalidArgumentError: another mode.
      NotFoundError: by the first read or write: there is no such file, or no folder for it.
      PermissionDeniedError: when the mode does not allow to read or to write.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name, self._mode = name, mode
        self._reading: IO[bytes] | None = None
        self._writing: IO[bytes] | None = None
        self._binary = "b" in mode
        plain = mode.replace("b", "")
        if plain not in MODES or mode.count("b") > 1:
            raise errors.InvalidArgumentError(
                None,
                None,
                "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+': got "
                f"{mode!r} for '{os.fsdecode(name)}'. Add 'b' to one of these for bytes.",
            )
        self._read_mode, self._write_mode = MODES[plain]

    @property
    def name(self) -> Any:
        """The path, as it was given."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode, as it was given."""
        return self._mode

    def _open(self, mode: str) -> IO[bytes]:
        try:
            return open(local_path(self._name), mode)
        except OSError as problem:
            raise translated(problem, self._name) from problem

    def _reader(self) -> IO[bytes]:
        if self._read_mode is None:
            raise self._refused("reading", "'r', 'r+', 'w+' or 'a+'")
        if self._writing is not None:
            self._writing.flush()
        if self._reading is None:
            self._reading = self._open(self._read_mode)
        return self._reading

    def _writer(self) -> IO[bytes]:
        if self._write_mode is None:
            raise self._refused("writing", "'w', 'a', 'r+', 'w+' or 'a+'")
        if self._writing is None:
            self._writing = self._open(self._write_mode)
        return self._writing

    def _refused(self, purpose: str, modes: str) -> errors.OpError:
        return errors.PermissionDeniedError(
            None,
            None,
            f"File isn't open for {purpose}: expected mode {modes}, got {self._mode!r} for "
            f"'{os.fsdecode(self._name)}'.",
        )

    def _value(self, data: bytes) -> Any:
        return data if self._binary else data.decode("utf-8", "strict")

    def read(self, n: int = -1) -> Any:
        """Returns the next `n` bytes, or all that is left, as text unless the mode is binary."""
        return self._value(self._read_by("read", n))

    def readline(self) -> Any:
        """Returns the next line with its end; empty at the end of the file."""
        return self._value(self._read_by("readline"))

    def readlines(self) -> list[Any]:
        """Returns the lines that are left."""
        return list(self)

    def _read_by(self, method: str, *arguments: Any) -> bytes:
        reader = self._reader()
        try:
            found: bytes = getattr(reader, method)(*arguments)
        except OSError as problem:
            raise translated(problem, self._name) from problem
        return found

    def write(self, file_content: Any) -> None:
        """Writes text (as UTF-8) or bytes, whatever the mode.

        Raises:
          TypeError: `file_content` is neither.
        """
        if not isinstance(file_content, (str, bytes, bytearray)):
            raise TypeError(
                f"GFile.write: expected text or bytes, got {file_content!r}. Write str(value)."
            )
        data = file_content.encode() if isinstance(file_content, str) else bytes(file_content)
        try:
            self._writer().write(data)
        except OSError as problem:
            raise translated(problem, self._name) from problem

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Moves the position of reading.

        Args:
          offset: bytes.
          whence: 0 counts from the start, 1 from the position, 2 from the end.
          position: the older name of `offset`, from the start.

        Raises:
          InvalidArgumentError: `whence` is none of these, or the new position is before the start.
          OutOfRangeError: the new position is behind the end.
          TypeError: no offset is given.
        """
        offset = position if offset is None else offset
        if offset is None:
            raise TypeError("seek(): offset argument required")
        reader = self._reader()
        size = self.size()
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(
                None, None, f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            )
        target = offset + (0, reader.tell(), size)[whence]
        if target < 0:
            raise errors.InvalidArgumentError(
                None, None, f"Seeking to a negative position: {target}"
            )
        if target > size:
            raise errors.OutOfRangeError(
                None,
                None,
                f"reached end of file: expected a position in [0, {size}], got {target} in "
                f"'{os.fsdecode(self._name)}'",
            )
        reader.seek(target)

    def tell(self) -> int:
        """Returns the position of reading, or of writing when the file is not for reading."""
        return (self._writer() if self._read_mode is None else self._reader()).tell()

    def seekable(self) -> bool:
        """Returns True."""
        return True

    def size(self) -> int:
        """Returns the size of the file in bytes."""
        if self._writing is not None:
            self._writing.flush()
        try:
            return os.path.getsize(local_path(self._name))
        except OSError as problem:
            raise translated(problem, self._name) from problem

    def flush(self) -> None:
        """Hands what was written to the operating system."""
        if self._writing is not None:
            self._writing.flush()

    def close(self) -> None:
        """Closes the file; a later read or write opens it again. Idempotent."""
        reading, self._reading = self._reading, None
        writing, self._writing = self._writing, None
        try:
            if writing is not None:
                writing.close()
        except OSError as problem:
            raise translated(problem, self._name) from problem
        finally:
            if reading is not None:
                reading.close()

    def __del__(self) -> None:
        self.close()  # `GFile(path).read()` is common

    def __enter__(self) -> "GFile":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> "GFile":
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def next(self) -> Any:
        """Returns the next line.

        Raises:
          StopIteration: at the end of the file.
        """
        return self.__next__()


class FastGFile(GFile):
    """`GFile` under its older name."""
