"""TFRecord files: written, read, compressed or not.

`TFRecordWriter` writes records one by one, `read_file` gives those of a file. What a record is,
`penstock.core.records` says. A writer's options are those of zlib, whose defaults they have.
"""

import contextlib
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, ClassVar

from penstock import errors
from penstock.core import files
from penstock.core.byte_files import open_bytes
from penstock.core.records import RecordReader, frame

_GZIP = 16  # added to the window's bits, it asks zlib for gzip's format


class TFRecordCompressionType:
    """How the records of a file are compressed."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """How a file of records is compressed.

    Args:
      compression_type: "GZIP", "ZLIB", "" or None; or a TFRecordCompressionType.
      flush_mode: zlib's mode of `flush`; Z_NO_FLUSH when None: it may keep bytes.
      input_buffer_size: accepted for compatibility.
      output_buffer_size: accepted for compatibility.
      window_bits: 9 to 15; 15 when None.
      compression_level: 0 to 9; -1 leaves it to zlib.
      compression_method: zlib's only one, 8.
      mem_level: 1 to 9.
      compression_strategy: zlib's.

    Raises:
      ValueError: there is no such compression.
    """

    compression_type_map: ClassVar[dict[int, str]] = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """The name of a compression: "GZIP", "ZLIB" or "".

        Args:
          options: TFRecordOptions, a name, a TFRecordCompressionType, or None.

        Raises:
          ValueError: there is no such compression.
        """
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if not options:
            return ""
        if options in cls.compression_type_map.values():
            return str(options)
        raise ValueError(
            f'Not a valid compression_type: "{options}". Expected one of "GZIP", "ZLIB" and "".'
        )


class TFRecordWriter:
    """Writes records to a file. Not thread-safe.

    Args:
      path: the file, which is made anew.
      options: TFRecordOptions, or the name of a compression.

    Raises:
      OpError: a subclass: the file cannot be made.
      ValueError: there is no such compression.

    Example:
      >>> import tempfile, os
      >>> path = os.path.join(tempfile.mkdtemp(), "some.tfrecord")
      >>> with TFRecordWriter(path, "GZIP") as writer:
      ...     writer.write(b"one")
      >>> list(read_file(path, "GZIP"))
      [b'one']
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        kind = TFRecordOptions.get_compression_type_string(options)
        self._path = files.local_path(path)
        self._pack: Any = None
        self._flush_mode = zlib.Z_NO_FLUSH
        if kind:
            given = options if isinstance(options, TFRecordOptions) else TFRecordOptions(kind)
            self._pack = _packer(kind, given)
            self._flush_mode = _or(given.flush_mode, zlib.Z_NO_FLUSH)
        self._file: BinaryIO | None
        try:
            self._file = open(self._path, "wb")  # noqa: SIM115 - closed by `close`
        except OSError as problem:
            raise files.translated(problem, self._path) from problem

    def write(self, record: bytes | str) -> None:
        """Writes a record.

        Args:
          record: its bytes, or text, which is encoded as UTF-8.

        Raises:
          TypeError: it is not bytes.
          FailedPreconditionError: the writer is closed.
          OpError: a subclass: the file cannot be written.
        """
        if isinstance(record, str):
            record = record.encode()
        if not isinstance(record, bytes | bytearray | memoryview):
            raise TypeError(
                f"TFRecordWriter.write: expected bytes or text, got {type(record).__name__}. "
                "Serialize it."
            )
        data = frame(bytes(record))
        file = self._open_file("write")
        with files.translating(self._path):
            file.write(data if self._pack is None else self._pack.compress(data))

    def flush(self) -> None:
        """Hands what was written to the system, as far as the compression's flush mode lets it."""
        file = self._open_file("flush")
        with files.translating(self._path):
            if self._pack is not None and self._flush_mode != zlib.Z_NO_FLUSH:
                file.write(self._pack.flush(self._flush_mode))
            file.flush()

    def close(self) -> None:
        """Writes what is left and closes the file; a second call does nothing."""
        file, self._file = self._file, None
        if file is not None:
            with files.translating(self._path), file:
                if self._pack is not None:
                    file.write(self._pack.flush())

    def _open_file(self, what: str) -> BinaryIO:
        if self._file is None:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"TFRecordWriter.{what}: expected an open writer, got one of {self._path} that "
                "was closed. Make a new one.",
            )
        return self._file

    def __enter__(self) -> "TFRecordWriter":
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _packer(kind: str, options: TFRecordOptions) -> Any:
    bits = _or(options.window_bits, zlib.MAX_WBITS)
    return zlib.compressobj(
        _or(options.compression_level, zlib.Z_DEFAULT_COMPRESSION),
        _or(options.compression_method, zlib.DEFLATED),
        bits + _GZIP if kind == "GZIP" else bits,
        _or(options.mem_level, zlib.DEF_MEM_LEVEL),
        _or(options.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
    )


def read_file(path: Any, compression: str = "") -> Iterator[bytes]:
    """The records of a file.

    Args:
      path: the file.
      compression: "GZIP", "ZLIB" or "".

    Raises:
      OpError: a subclass: the file cannot be read.
      DataLossError: it is not made of records.
    """
    with contextlib.closing(open_bytes(path, compression)) as file:
        reader = RecordReader(file, files.local_path(path))
        while (record := reader.next()) is not None:
            yield record


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """The records of a TFRecord file.

    Args:
      path: the file.
      options: TFRecordOptions, or the name of a compression.

    Returns:
      An iterator of bytes.

    Raises:
      OpError: a subclass: the file cannot be read.
      DataLossError: it is not made of records.
    """
    return read_file(path, TFRecordOptions.get_compression_type_string(options))
