"""Files and folders of a test, with the methods that Abseil's test cases give to theirs."""

import contextlib
import enum
import os
import tempfile
from typing import BinaryIO, TextIO, cast


class TempFileCleanup(enum.Enum):
    """When the files of a test are removed: always, where it passed, or never."""

    ALWAYS = "always"
    SUCCESS = "success"
    OFF = "never"


class _TempPath(os.PathLike[str]):
    def __init__(self, path: str) -> None:
        self._path = path

    @property
    def full_path(self) -> str:
        """The absolute path."""
        return self._path

    def __fspath__(self) -> str:
        return self._path


class TempFile(_TempPath):
    """A file of a test; usable wherever a path is."""

    def open_text(
        self, mode: str = "rt", encoding: str = "utf8", errors: str = "strict"
    ) -> contextlib.AbstractContextManager[TextIO]:
        """The file opened for text, for a `with` statement.

        Raises:
          ValueError: the mode is one of bytes.
        """
        if "b" in mode:
            raise ValueError(
                f"open_text: expected a mode of text, got {mode!r}. Use open_bytes for bytes."
            )
        return cast(TextIO, open(self._path, mode, encoding=encoding, errors=errors))

    def open_bytes(self, mode: str = "rb") -> contextlib.AbstractContextManager[BinaryIO]:
        """The file opened for bytes, for a `with` statement.

        Raises:
          ValueError: the mode is one of text.
        """
        if "b" not in mode:
            raise ValueError(
                f"open_bytes: expected a mode of bytes, got {mode!r}. Use open_text for text."
            )
        return cast(BinaryIO, open(self._path, mode))

    def read_text(self, encoding: str = "utf8", errors: str = "strict") -> str:
        """What the file holds, as text."""
        with self.open_text(encoding=encoding, errors=errors) as file:
            return file.read()

    def read_bytes(self) -> bytes:
        """What the file holds."""
        with self.open_bytes() as file:
            return file.read()

    def write_text(
        self, text: str, mode: str = "w", encoding: str = "utf8", errors: str = "strict"
    ) -> None:
        """Writes text; what was there goes, unless the mode appends."""
        with self.open_text(mode, encoding, errors) as file:
            file.write(text)

    def write_bytes(self, data: bytes, mode: str = "wb") -> None:
        """Writes bytes; what was there goes, unless the mode appends."""
        with self.open_bytes(mode) as file:
            file.write(data)


class TempDir(_TempPath):
    """A folder of a test; usable wherever a path is."""

    def create_file(
        self,
        file_path: str | None = None,
        content: str | bytes | None = None,
        mode: str = "w",
        encoding: str = "utf8",
        errors: str = "strict",
    ) -> TempFile:
        """A file in this folder.

        Args:
          file_path: its path from here, with folders that need not exist; a new name by default.
          content: text or bytes to write; without any, the file is empty.
          mode: of `open`; bytes are written as such whatever it says.
          encoding: of text.
          errors: what is done with characters that the encoding lacks.
        """
        if file_path is None:
            handle, path = tempfile.mkstemp(dir=self._path)
            os.close(handle)
        else:
            path = os.path.join(self._path, file_path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
        file = TempFile(path)
        if isinstance(content, bytes):
            file.write_bytes(content, mode if "b" in mode else f"{mode}b")
        elif content is not None:
            file.write_text(content, mode, encoding, errors)
        else:
            file.write_bytes(b"")
        return file

    def mkdir(self, dir_path: str | None = None) -> "TempDir":
        """A folder in this folder: at a path from here, which may exist, or of a new name."""
        if dir_path is None:
            return TempDir(tempfile.mkdtemp(dir=self._path))
        path = os.path.join(self._path, dir_path)
        os.makedirs(path, exist_ok=True)
        return TempDir(path)
