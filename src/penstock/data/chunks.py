"""The files of a saved dataset: chunks of elements, and what is known of them together.

    folder/dataset_spec.pb               the structure of the elements
    folder/snapshot.metadata             the run that wrote them, their dtypes and their number
    folder/RUN/00000000.shard/00000000.snapshot

A chunk is a file of records, compressed or not, with one TensorProto for each component of each
element. The layout and the messages are TensorFlow's, which reads what is written here.
"""

import contextlib
import math
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.core import files, snappy
from penstock.core.bundle.coding import varint
from penstock.core.byte_files import open_bytes
from penstock.core.record_files import TFRecordWriter
from penstock.core.records import RecordReader, frame
from penstock.data.stages import Array, Element
from penstock.graph.shape_proto import dims_to_proto
from penstock.graph.tensor_proto import array_to_proto, proto_to_array
from penstock.ops.ragged_variants import RaggedVariant
from penstock.ops.sparse_messages import HeldTensor, lengths_of, strings_in
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType, as_dtype

METADATA = "snapshot.metadata"
SPEC = "dataset_spec.pb"
COMPRESSIONS = ("", "GZIP", "ZLIB", "SNAPPY")
_VERSION = 2
_MOST = 2**63 - 1  # elements
_RAGGED, _TENSOR = "RaggedTensorVariant", "tensorflow::Tensor"


def compression_of(op: str, found: str) -> str:
    """The name of a compression.

    Raises:
      InvalidArgumentError: there is no such one.
    """
    chosen = "SNAPPY" if found == "AUTO" else "" if found == "NONE" else found
    if chosen not in COMPRESSIONS:
        raise errors.InvalidArgumentError(
            None,
            None,
            f'{op}: expected a compression "", "GZIP", "ZLIB" or "SNAPPY", got "{found}".',
        )
    return chosen


# ---- elements as messages


def component_to_bytes(value: Array, dtype: DType) -> bytes:
    """A component as a TensorProto."""
    if dtype == dt.variant:
        return bytes(_variants(np.asarray(value, object)).SerializeToString(deterministic=True))
    array = np.asarray(value)
    message = proto.tensor_pb2.TensorProto(dtype=_number(dtype))
    message.tensor_shape.CopyFrom(dims_to_proto(array.shape))
    if dtype == dt.string:
        texts = array.reshape(-1).tolist()
        message.tensor_content = lengths_of(texts) + b"".join(texts)
    else:
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        message.tensor_content = np.ascontiguousarray(little).tobytes()
    return message.SerializeToString(deterministic=True)


def _number(dtype: DType) -> Any:
    return dtype.as_datatype_enum


def _variants(array: Array) -> Any:
    held = [_variant(each).SerializeToString(deterministic=True) for each in array.reshape(-1)]
    content = lengths_of(held) + b"".join(held)
    message = proto.tensor_pb2.TensorProto(dtype=_number(dt.variant), tensor_content=content)
    message.tensor_shape.CopyFrom(dims_to_proto(array.shape))
    return message


def _variant(value: Any) -> Any:
    message = proto.tensor_pb2.VariantTensorDataProto()
    if isinstance(value, HeldTensor):
        message.type_name = _TENSOR
        parts = [value.array]
    elif isinstance(value, RaggedVariant):
        message.type_name = _RAGGED
        parts = [*value.splits, value.values]
    else:
        raise errors.UnimplementedError(
            None, None, f"A saved dataset holds tensors, ragged and sparse ones, got {value!r}."
        )
    for part in parts:
        kind = dt.string if part.dtype == object else dt.from_numpy(part.dtype)
        message.tensors.append(array_to_proto(part, kind))
    return message


def component_from_bytes(data: bytes, dtype: DType, number: int, where: str) -> Array:
    """A component from a TensorProto.

    Raises:
      DataLossError: it is none.
      InvalidArgumentError: it has another dtype.
    """
    try:
        message = proto.tensor_pb2.TensorProto.FromString(data)
        kind = as_dtype(message.dtype)
        if kind == dtype:
            return _array(message, kind, len(data))
    except (ValueError, TypeError, proto.message.DecodeError, errors.OpError) as problem:
        raise errors.DataLossError(
            None, None, f"{where}: expected tensors, got bytes that are none ({problem})."
        ) from None
    raise errors.InvalidArgumentError(
        None,
        None,
        f"Data type mismatch at component {number}: expected {dtype.name} but got {kind.name} in"
        f" {where}.",
    )


def _array(message: Any, kind: DType, most: int) -> Array:
    sizes = tuple(dim.size for dim in message.tensor_shape.dim)
    if kind in (dt.string, dt.variant) and message.tensor_content:
        count = math.prod(sizes)
        if min(sizes, default=0) < 0 or count > most:
            raise ValueError(f"shape {list(sizes)} does not fit its content")
        texts = strings_in(message.tensor_content, count)
        made = np.empty(count, object)
        for i, text in enumerate(texts):
            made[i] = text if kind == dt.string else _held(text)
        return made.reshape(sizes)
    return proto_to_array(message, max_fill_bytes=most)[0]


def _held(data: bytes) -> Any:
    message = proto.tensor_pb2.VariantTensorDataProto.FromString(data)
    parts = [proto_to_array(each, max_fill_bytes=len(data))[0] for each in message.tensors]
    if message.type_name == _RAGGED and parts:
        return RaggedVariant(parts[:-1], parts[-1])
    if message.type_name == _TENSOR and len(parts) == 1:
        return HeldTensor(parts[0], as_dtype(message.tensors[0].dtype))
    raise ValueError(f"a variant of {message.type_name!r}, which is not known")


# ---- chunks


class ChunkWriter:
    """Writes elements to a chunk. Not thread-safe.

    Args:
      path: the file.
      compression: one of COMPRESSIONS.
      types: of the components.
    """

    def __init__(self, path: str, compression: str, types: Sequence[DType]) -> None:
        self._path = path
        self._types = tuple(types)
        self._packed: Any = None
        if compression == "SNAPPY":
            with files.translating(path):
                self._packed = open(path, "wb")  # noqa: SIM115 - closed by `close`
        else:
            self._plain = TFRecordWriter(path, compression)

    def write(self, element: Element) -> None:
        """Writes an element."""
        records = [component_to_bytes(v, t) for v, t in zip(element, self._types, strict=True)]
        if self._packed is not None:
            with files.translating(self._path):
                self._packed.write(snappy.pack(b"".join(map(frame, records))))
            return
        for record in records:
            self._plain.write(record)

    def close(self) -> None:
        """Writes what is left."""
        with files.translating(self._path):
            (self._plain if self._packed is None else self._packed).close()


class ChunkReader:
    """Reads the elements of a chunk. Not thread-safe."""

    def __init__(self, path: str, compression: str, types: Sequence[DType], offset: int) -> None:
        self._path = path
        self._types = tuple(types)
        self._file = open_bytes(path, compression, offset)
        self._records = RecordReader(self._file, path, offset)

    @property
    def offset(self) -> int:
        """Where the next element begins."""
        return self._records.offset

    def next(self) -> Element | None:
        """The next element; None behind the last."""
        found: list[Array] = []
        for number, dtype in enumerate(self._types):
            record = self._records.next()
            if record is None:
                if not found:
                    return None
                raise errors.DataLossError(
                    None,
                    None,
                    f"{self._path}: expected {len(self._types)} components of each element, got"
                    f" {number} of the last.",
                )
            found.append(component_from_bytes(record, dtype, number, self._path))
        return tuple(found)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


# ---- what is known of them together


@dataclass(frozen=True, slots=True)
class Metadata:
    """What is known of saved elements.

    Attributes:
      run: the name of the folder that they are in.
      created: microseconds since 1970.
      types: the numbers of the components' dtypes.
      count: how many elements there are.
      finalized: whether all are written.
    """

    run: str
    created: int
    types: tuple[int, ...]
    count: int = 0
    finalized: bool = False


_FIELDS = {2: "run", 3: "created", 4: "version", 5: "types", 6: "count", 1000: "finalized"}


def write_metadata(folder: str, metadata: Metadata) -> None:
    """Writes the file that makes the chunks of a run those of the folder."""
    text = metadata.run.encode()
    types = b"".join(map(varint, metadata.types))
    data = b"".join(
        (
            b"\x12" + varint(len(text)) + text,
            b"\x18" + varint(metadata.created),
            b"\x20" + varint(_VERSION),
            b"\x2a" + varint(len(types)) + types,
            b"\x30" + varint(metadata.count) if metadata.count else b"",
            b"\xc0\x3e\x01" if metadata.finalized else b"",
        )
    )
    replace_file(os.path.join(folder, METADATA), data)


def replace_file(path: str, data: bytes) -> None:
    """Writes a file that is there whole or not at all.

    Raises:
      OpError: a subclass: it cannot be written.
    """
    new = f"{path}.{secrets.token_hex(8)}.new"  # its own, though threads write at once
    try:
        with open(new, "wb") as file:
            file.write(data)
        os.replace(new, path)
    except OSError as problem:
        with contextlib.suppress(OSError):
            os.remove(new)
        raise files.translated(problem, path) from problem


def read_metadata(folder: str) -> Metadata | None:
    """What is known of the elements in a folder; None where nothing is.

    Raises:
      OpError: a subclass: the file cannot be read.
      DataLossError: it is damaged.
    """
    path = os.path.join(folder, METADATA)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise files.translated(problem, path) from problem
    try:
        return _parsed(data)
    except (IndexError, ValueError, KeyError) as problem:
        raise errors.DataLossError(
            None,
            None,
            f"{path}: expected the metadata of a saved dataset, got something else ({problem!r}).",
        ) from None


def _parsed(data: bytes) -> Metadata:
    found: dict[str, Any] = {"run": b"", "created": 0, "types": b"", "count": 0, "finalized": 0}
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        value: Any
        value, at = _read_varint(data, at)
        if tag & 7 == 2:
            if at + value > len(data):
                raise ValueError("cut off")
            value, at = data[at : at + value], at + value
        elif tag & 7:
            raise ValueError(f"a field of kind {tag & 7}")
        name = _FIELDS.get(tag >> 3, "other")
        if name != "other" and type(value) is not type(found.get(name, 0)):
            raise ValueError(f"a {name} of kind {tag & 7}")
        found[name] = value
    numbers, at = [], 0
    while at < len(found["types"]):
        number, at = _read_varint(found["types"], at)
        numbers.append(number)
    if found["count"] > _MOST:
        raise ValueError(f"{found['count']} elements")
    run = found["run"].decode()
    if os.path.basename(run) != run or run in ("", ".", ".."):
        raise ValueError(f"a run called {run!r}")
    return Metadata(run, found["created"], tuple(numbers), found["count"], bool(found["finalized"]))


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
        if shift > 63:
            raise ValueError("a number that does not end")


def shards_of(folder: str, run: str) -> list[str]:
    """The folders of the shards of a run, in order."""
    place = os.path.join(folder, run)
    names = _names(place) if os.path.isdir(place) else []
    return [os.path.join(place, name) for name in names if name.endswith(".shard")]


def chunks_of(shard: str) -> list[str]:
    """The chunks of a shard, in order."""
    return [os.path.join(shard, name) for name in _names(shard) if name.endswith(".snapshot")]


def _names(folder: str) -> list[str]:
    with files.translating(folder):
        return sorted(os.listdir(folder))
