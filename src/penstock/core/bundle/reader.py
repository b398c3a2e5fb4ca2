"""`BundleReader`: reads a bundle, and names the tensor and the file of whatever is damaged.

The index is read and checked whole when the reader is made; tensors are read when they are asked
for, straight into the array that is returned. Nothing is allocated for a length that the data file
does not have. `Contents` is what readers of both formats have in common.
"""

import concurrent.futures
import dataclasses
import math
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from penstock import errors, proto
from penstock.core import files
from penstock.core.bundle import paths, slices
from penstock.core.bundle.coding import data_loss
from penstock.core.bundle.slices import Slice
from penstock.core.bundle.table import Table, checksum
from penstock.core.bundle.tensor_bytes import (
    Array,
    decode_strings,
    empty_array,
    expect_checksum,
    raw_bytes,
    stored_dtype,
)
from penstock.core.bundle.writer import CHUNK_BYTES, PRODUCER, THREADS
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType


@dataclasses.dataclass(frozen=True, slots=True)
class TensorInfo:
    """What a file says of a tensor: dtype, shape, and its slices where it was saved in parts."""

    dtype: DType
    shape: tuple[int, ...]
    slices: tuple[Slice, ...] = ()


class Contents:
    """Tensors by name, in files. Subclasses say what there is and load it."""

    path: str  # what errors call it

    def names(self) -> list[str]:
        """The names of all tensors, in order."""
        raise NotImplementedError

    def info(self, name: str) -> TensorInfo:
        """Dtype, shape and slices of a tensor.

        Raises:
          NotFoundError: there is none of that name.
        """
        raise NotImplementedError

    def has(self, name: str) -> bool:
        """Whether there is a tensor of that name."""
        raise NotImplementedError

    def _load(self, name: str, info: TensorInfo, slice_: Slice | None) -> Array:
        raise NotImplementedError

    def close(self) -> None:
        """Closes the files; may be called again."""

    def __enter__(self) -> "Any":  # any: the subclass
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def missing(self, name: str) -> errors.OpError:
        """The error for a tensor that is not there."""
        return errors.NotFoundError(
            None,
            None,
            f"Key {name} not found in checkpoint {self.path}: expected one of its "
            f"{len(self.names())} tensors. tf.train.list_variables shows them.",
        )

    def read(self, name: str) -> Array:
        """A tensor, put together where it was saved in slices.

        Raises:
          NotFoundError: there is none of that name.
          DataLossError: it is damaged.
          InvalidArgumentError: slices are missing.
        """
        info = self.info(name)
        if not info.slices:
            return self._load(name, info, None)
        return self._assemble(name, info, ((0, slices.WHOLE),) * len(info.shape))

    def read_slice(self, name: str, shape: Sequence[int], slice_: Slice) -> Array:
        """A part of a tensor.

        Args:
          name: the name of the whole.
          shape: the shape that the caller takes the whole to have.
          slice_: the part.

        Raises:
          InvalidArgumentError: the whole has another shape, or slices are missing.
          NotFoundError, DataLossError: as for `read`.
        """
        info = self.info(name)
        if tuple(shape) != info.shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"tensor_name = {name}; shape in shape_and_slice spec {_list(shape)} does not "
                f"match the shape stored in checkpoint: {_list(info.shape)}. Restore it with the "
                "shape that it was saved with.",
            )
        if info.slices:
            return self._assemble(name, info, slices.normalized(shape, slice_))
        whole = self._load(name, info, None)
        if all(length == slices.WHOLE for _, length in slice_):
            return whole
        part = (
            slice(None) if length == slices.WHOLE else slice(start, start + length)
            for start, length in slice_
        )
        return whole[tuple(part)].copy()

    def _assemble(self, name: str, info: TensorInfo, wanted: Slice) -> Array:
        if wanted in info.slices:
            return self._load(name, info, wanted)
        shape = slices.slice_shape(info.shape, wanted)
        meets = [(s, slices.overlap(info.shape, wanted, s)) for s in info.slices]
        if sum(meet[2] for _, meet in meets if meet is not None) < math.prod(shape):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Does not have sufficient slices for partitioned tensor {name} to restore in "
                f"slice_spec: {slices.slice_text(wanted)}. Expected slices that cover it, got "
                f"{', '.join(map(slices.slice_text, info.slices))} in {self.path}. Save every "
                "part.",
            )
        parts = [
            (meet, self._load(name, info, s)) for s, meet in meets if meet is not None and meet[2]
        ]
        result = empty_array(shape, info.dtype, f"{self.path}, tensor '{name}'")
        for (into, out_of, _), part in parts:
            result[into] = part[out_of]
        return result


def _list(shape: Sequence[int]) -> str:
    return "[" + ",".join(map(str, shape)) + "]"


class BundleReader(Contents):
    """Reads the bundle under a prefix. Thread-safe.

    Args:
      prefix: the path that the names of all its files begin with.

    Raises:
      NotFoundError: there is no index file.
      DataLossError: the index is damaged.
    """

    def __init__(self, prefix: Any) -> None:
        self.path = files.local_path(prefix)
        self._index = paths.index_path(self.path)
        try:
            with open(self._index, "rb") as file:
                table = Table(file.read(), self._index)
        except OSError as problem:
            raise files.translated(problem, self._index) from problem
        self._entries = dict(table.items())
        self._shards = self._read_header()
        self._lock = threading.Lock()  # guards: _files
        self._files: dict[int, tuple[int, int]] = {}  # shard -> descriptor, size

    def _read_header(self) -> int:
        raw = self._entries.pop(b"", None)
        if raw is None:
            raise data_loss(self._index, "a header under the empty key", "none")
        header = _parse(proto.tensor_bundle_pb2.BundleHeaderProto(), raw, f"{self._index}, header")
        if header.num_shards < 1:
            raise data_loss(self._index, "at least one data file", str(header.num_shards))
        if header.version.min_consumer > PRODUCER:
            raise errors.UnimplementedError(
                None,
                None,
                f"{self._index}: expected a bundle that version {PRODUCER} can read, got one for "
                f"version {header.version.min_consumer} and above. Use a newer release.",
            )
        self._swapped = (header.endianness == 0) != (sys.byteorder == "little")
        return int(header.num_shards)

    @property
    def shards(self) -> int:
        """The number of data files."""
        return self._shards

    def entries(self) -> dict[bytes, Any]:
        """All BundleEntryProto messages by key, those of slices too."""
        return {key: self._entry(key) for key in self._entries}

    def _entry(self, key: bytes) -> Any:
        message = proto.tensor_bundle_pb2.BundleEntryProto()
        return _parse(message, self._entries[key], f"{self._index}, key {_text(key)!r}")

    def names(self) -> list[str]:
        """The names of all tensors, in order."""
        return [_text(key) for key in self._entries if not key.startswith(b"\x00")]

    def has(self, name: str) -> bool:
        """Whether there is a tensor of that name."""
        return _key(name) in self._entries

    def info(self, name: str) -> TensorInfo:
        """Dtype, shape and slices of a tensor."""
        if not self.has(name):
            raise self.missing(name)
        return self._info(self._entry(_key(name)), name)

    def _info(self, entry: Any, name: str) -> TensorInfo:
        where = f"{self._index}, tensor '{name}'"
        shape = tuple(dim.size for dim in entry.shape.dim)
        if any(n < 0 for n in shape) or entry.shape.unknown_rank:
            raise data_loss(where, "a shape", f"{list(shape)}")
        found = tuple(slices.from_proto(message) for message in entry.slices)
        for each in found:
            if len(each) != len(shape) or any(
                start < 0 or (length != slices.WHOLE and not 0 <= length <= n - start)
                for n, (start, length) in zip(shape, each, strict=True)
            ):
                raise data_loss(where, f"slices of shape {list(shape)}", f"{each}")
        return TensorInfo(stored_dtype(entry.dtype, where), shape, found)

    def read_all(self, names: Iterable[str]) -> list[Array]:
        """Several tensors, on several threads where they are large; otherwise as `read`."""
        names = list(names)
        return self.read_parts(names, [None] * len(names))

    def read_parts(
        self, names: Sequence[str], parts: Sequence[tuple[tuple[int, ...], Slice] | None]
    ) -> list[Array]:
        """Several tensors or parts of tensors; as `read` for None, else as `read_slice`."""
        large = [math.prod(self.info(n).shape) >= CHUNK_BYTES // 4 for n in names]
        if sum(large) < 2 or THREADS < 2:
            return [self._read_part(*each) for each in zip(names, parts, strict=True)]
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(self._read_part, names, parts))

    def _read_part(self, name: str, part: tuple[tuple[int, ...], Slice] | None) -> Array:
        return self.read(name) if part is None else self.read_slice(name, *part)

    def _load(self, name: str, info: TensorInfo, slice_: Slice | None) -> Array:
        key, shape = _key(name), info.shape
        if slice_ is not None:
            key = slices.slice_key(_key(name), slice_)
            if key not in self._entries:  # written as what it is for this shape
                key = slices.slice_key(_key(name), slices.normalized(shape, slice_))
            shape = slices.slice_shape(shape, slice_)
            if key not in self._entries:
                where = f"{self._index}, tensor '{name}'"
                raise data_loss(where, f"its slice {slices.slice_text(slice_)}", "no such entry")
        entry = self._entry(key)
        file, size, path = self._open(entry.shard_id, name)
        where = f"{path}, tensor '{name}'"
        stored = self._info(entry, name)
        if (stored.dtype, stored.shape) != (info.dtype, shape):
            raise data_loss(
                where, f"{info.dtype.name}{list(shape)}", f"{stored.dtype.name}{list(stored.shape)}"
            )
        if entry.offset < 0 or entry.size < 0 or entry.offset + entry.size > size:
            end = entry.offset + entry.size
            raise data_loss(where, f"a file of at least {end} bytes", f"{size} bytes")
        if info.dtype is dt.string:
            data = bytearray(entry.size)
            _read_into(file, memoryview(data), entry.offset, where)
            return decode_strings(bytes(data), shape, entry.crc32c, where)
        return self._read_numbers(file, entry, info.dtype, shape, where)

    def _read_numbers(
        self, file: int, entry: Any, dtype: DType, shape: tuple[int, ...], where: str
    ) -> Array:
        needed = math.prod(shape) * dtype.numpy_dtype.itemsize
        if needed != entry.size:
            raise data_loss(where, f"{needed} bytes for shape {list(shape)}", f"{entry.size}")
        array = empty_array(shape, dtype, where)
        target = memoryview(array.reshape(-1).view("u1"))  # type: ignore[arg-type]
        seen, crc = raw_bytes(array), 0
        for begin in range(0, needed, CHUNK_BYTES):
            end = min(begin + CHUNK_BYTES, needed)
            _read_into(file, target[begin:end], entry.offset + begin, where)
            crc = checksum(seen[begin:end], crc)  # type: ignore[arg-type]  # a read-only buffer
        expect_checksum(entry.crc32c, crc, where)
        return array.byteswap() if self._swapped else array

    def _open(self, shard: int, name: str) -> tuple[int, int, str]:
        path = paths.data_path(self.path, shard, self._shards)
        if not 0 <= shard < self._shards:
            raise data_loss(
                f"{self._index}, tensor '{name}'", f"a data file below {self._shards}", str(shard)
            )
        with self._lock:
            found = self._files.get(shard)
            if found is None:
                try:
                    file = os.open(path, os.O_RDONLY)
                except FileNotFoundError:
                    raise errors.NotFoundError(
                        None,
                        None,
                        f"{path}; No such file or directory: expected the data file that "
                        f"{self._index} refers to for tensor '{name}'. Copy it beside the index.",
                    ) from None
                except OSError as problem:
                    raise files.translated(problem, path) from problem
                found = self._files[shard] = file, os.fstat(file).st_size
        return (*found, path)

    def close(self) -> None:
        """Closes the files; may be called again."""
        with self._lock:
            found, self._files = self._files, {}
        for file, _ in found.values():
            os.close(file)

    def __del__(self) -> None:
        if hasattr(self, "_lock"):
            self.close()


def _read_into(file: int, target: memoryview, offset: int, where: str) -> None:
    done = 0
    while done < len(target):
        count = os.preadv(file, [target[done:]], offset + done)
        if not count:
            raise data_loss(where, f"{len(target)} bytes at {offset}", f"{done}, then the end")
        done += count


def _parse(message: Any, raw: bytes, where: str) -> Any:
    try:
        message.ParseFromString(raw)
    except proto.message.DecodeError as problem:
        raise data_loss(where, f"a {message.DESCRIPTOR.name}", f"other bytes ({problem})") from None
    return message


def _key(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _text(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")
