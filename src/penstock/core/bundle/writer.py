"""`BundleWriter`: writes a bundle, whole or not at all.

Tensors are collected by `add` and `add_slice`, and written by `finish`: data first, to a name that
no index of the folder refers to, then the index, each under a temporary name, synced, renamed, and
the folder synced. So whenever the program or the machine stops, the index that is there, old or
new, belongs to data that are there. A bundle that takes the place of one with the same prefix goes
through a data file of another shard number, and gets its plain name once the new index is in place.

Until `finish` returns, the arrays must not change. Not thread-safe.
"""

import concurrent.futures
import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock import errors, proto
from penstock.core import files
from penstock.core.bundle import paths, slices
from penstock.core.bundle.publish import publish
from penstock.core.bundle.table import TableBuilder, checksum
from penstock.core.bundle.tensor_bytes import (
    Array,
    encode_strings,
    masked,
    raw_bytes,
    storable,
)
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType, from_numpy

PRODUCER = 1
CHUNK_BYTES = 1 << 20  # what is checksummed and then written while it is in the cache
EARLY_BYTES = 32 << 20
THREADS = max(1, min(4, os.cpu_count() or 1))


@dataclass(slots=True)
class _Piece:
    """A run of bytes in the data file, with what the index says of it."""

    key: bytes
    entry: Any  # BundleEntryProto
    data: Array | bytes
    crc: int | None = None  # masked


class BundleWriter:
    """Writes tensors under a prefix.

    Args:
      prefix: the path that the names of all files begin with; its last folder is made.

    Example:
      >>> import numpy as np, tempfile
      >>> from penstock.core.bundle.reader import BundleReader
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     writer = BundleWriter(f"{folder}/a")
      ...     writer.add("x", np.array([1.0, 2.0]))
      ...     writer.finish()
      ...     with BundleReader(f"{folder}/a") as reader:
      ...         reader.read("x").tolist()
      [1.0, 2.0]
    """

    def __init__(self, prefix: Any) -> None:
        self._prefix = files.local_path(prefix)
        self._pieces: list[_Piece] = []
        self._wholes: dict[bytes, Any] = {}  # entries of tensors that are saved in slices
        self._keys: set[bytes] = set()
        self._size = 0

    def add(self, name: str | bytes, array: Array, dtype: DType | None = None) -> None:
        """Adds a tensor.

        Args:
          name: its name, not empty.
          array: its value, any shape; strings as objects.
          dtype: its dtype; that of the array when None.

        Raises:
          InvalidArgumentError: there is a tensor of that name.
          UnimplementedError: files do not hold tensors of this dtype.
        """
        key = _as_key(name)
        self._claim(key)
        self._append(key, array, dtype or from_numpy(array.dtype), _text(key))

    def add_slice(
        self,
        name: str | bytes,
        shape: Sequence[int],
        slice_: slices.Slice,
        array: Array,
        dtype: DType | None = None,
    ) -> None:
        """Adds a part of a tensor; one that is the whole is added as such, as readers expect it.

        Args:
          name: the name of the whole.
          shape: the shape of the whole.
          slice_: where the part lies.
          array: the part.
          dtype: its dtype; that of the array when None.

        Raises:
          InvalidArgumentError: the part was added before, or the parts contradict each other.
        """
        key, slice_ = _as_key(name), slices.normalized(shape, slice_)
        if all(length == slices.WHOLE for _, length in slice_):
            self.add(name, array, dtype)
            return
        dtype = storable(dtype or from_numpy(array.dtype), _text(key))
        whole: Any = self._wholes.get(key)  # enum fields take plain numbers
        if whole is None:
            self._claim(key)
            whole = proto.tensor_bundle_pb2.BundleEntryProto()
            whole.dtype = dtype.as_datatype_enum
            _set_shape(whole, shape)
            self._wholes[key] = whole
        if whole.dtype != dtype.as_datatype_enum or _shape(whole) != tuple(shape):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"slices of tensor '{_text(key)}': expected dtype {whole.dtype} and shape "
                f"{_shape(whole)} as before, got {dtype.as_datatype_enum} and {tuple(shape)}. "
                "Save slices of one tensor under a name.",
            )
        slice_key = slices.slice_key(key, slice_)
        self._claim(slice_key, f"{_text(key)} {slices.slice_text(slice_)}")
        slices.to_proto(slice_, whole.slices.add())
        self._append(slice_key, array, dtype, _text(key))

    def _claim(self, key: bytes, text: str | None = None) -> None:
        if not key:
            raise errors.InvalidArgumentError(
                None, None, "expected the name of a tensor, got ''. Name every tensor."
            )
        if key in self._keys:
            raise errors.InvalidArgumentError(
                None, None, f"Adding duplicate key: {text or _text(key)}. Give each its own name."
            )
        self._keys.add(key)

    def _append(self, key: bytes, array: Array, dtype: DType, name: str) -> None:
        dtype = storable(dtype, name)
        entry: Any = proto.tensor_bundle_pb2.BundleEntryProto(offset=self._size)
        entry.dtype = dtype.as_datatype_enum
        _set_shape(entry, array.shape)
        if dtype is dt.string:
            data, crc = encode_strings(array)
            piece = _Piece(key, entry, data, crc)
        else:
            piece = _Piece(key, entry, raw_bytes(array.astype(dtype.numpy_dtype, copy=False)))
        entry.size = len(piece.data)
        self._size += len(piece.data)
        self._pieces.append(piece)

    def finish(self) -> None:
        """Writes everything.

        Raises:
          NotFoundError, PermissionDeniedError, ResourceExhaustedError: the files cannot be written;
            a bundle that was there is unharmed.
        """
        try:
            folder = os.path.dirname(self._prefix)
            if folder and not os.path.isdir(folder):
                with contextlib.suppress(FileExistsError):  # another shard's writer made it
                    os.mkdir(folder)
            partial = self._write_data()
            try:
                publish(self._prefix, [partial], self._write_index)
            finally:
                if os.path.exists(partial):
                    os.remove(partial)
        except OSError as problem:
            path = os.path.dirname(self._prefix) if problem.errno == 2 else self._prefix
            raise files.translated(problem, path) from problem
        self._pieces.clear()

    def _write_data(self) -> str:
        partial = paths.temporary(paths.data_path(self._prefix, 0, 1))
        file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with _synced_early(file, self._size):
                write_pieces(file, self._pieces)
            os.fsync(file)
        except BaseException:
            os.remove(partial)
            raise
        finally:
            os.close(file)
        return partial

    def _write_index(self, shard: int, shards: int) -> None:
        for piece in self._pieces:
            piece.entry.shard_id = shard
        entries = {piece.key: piece.entry for piece in self._pieces} | self._wholes
        write_index(self._prefix, shards, entries)


def write_index(prefix: str, shards: int, entries: dict[bytes, Any]) -> None:
    """Writes the index of a bundle, atomically.

    Args:
      prefix: the bundle's prefix.
      shards: the number of its data files.
      entries: BundleEntryProto messages by key.
    """
    header = proto.tensor_bundle_pb2.BundleHeaderProto(num_shards=shards)
    header.version.producer = PRODUCER
    found = bytearray()
    table = TableBuilder(found.extend)
    table.add(b"", header.SerializeToString(deterministic=True))
    for key in sorted(entries):
        table.add(key, entries[key].SerializeToString(deterministic=True))
    table.finish()
    paths.write_atomically(paths.index_path(prefix), bytes(found))


def write_pieces(file: int, pieces: list[_Piece]) -> None:
    """Writes the pieces to their places in an open file, and puts their checksums in."""
    small: list[_Piece] = []
    large: list[_Piece] = []
    for piece in pieces:
        if isinstance(piece.data, bytes) and piece.crc is not None:
            piece.entry.crc32c = piece.crc
        (small if len(piece.data) < CHUNK_BYTES else large).append(piece)
    for piece in small:
        _write_piece(file, piece)
    if len(large) < 2 or THREADS < 2:
        for piece in large:
            _write_piece(file, piece)
        return
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda piece: _write_piece(file, piece), large))


@contextlib.contextmanager
def _synced_early(file: int, size: int) -> Iterator[None]:
    """Brings a large file to the disk while it is being written, so that little is left then."""
    if size < EARLY_BYTES:
        yield
        return
    done = threading.Event()

    def sync() -> None:
        while not done.wait(0.005):
            os.fdatasync(file)

    thread = threading.Thread(target=sync, name="penstock-checkpoint-sync")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _write_piece(file: int, piece: _Piece) -> None:
    offset, crc, data = piece.entry.offset, 0, piece.data
    for begin in range(0, len(data), CHUNK_BYTES):
        chunk = data[begin : begin + CHUNK_BYTES]
        if piece.crc is None:
            crc = checksum(chunk, crc)  # type: ignore[arg-type]  # any read-only buffer
        _write_all(file, chunk, offset + begin)
    if piece.crc is None:
        piece.entry.crc32c = masked(crc)


def _write_all(file: int, data: Any, offset: int) -> None:
    done = os.pwrite(file, data, offset)
    while done < len(data):
        done += os.pwrite(file, data[done:], offset + done)


def _as_key(name: str | bytes) -> bytes:
    return name.encode("utf-8", "surrogateescape") if isinstance(name, str) else bytes(name)


def _text(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")


def _set_shape(entry: Any, shape: Sequence[int]) -> None:
    entry.shape.SetInParent()
    for size in shape:
        entry.shape.dim.add(size=int(size))


def _shape(entry: Any) -> tuple[int, ...]:
    return tuple(dim.size for dim in entry.shape.dim)
