"""The older format: one sorted table that holds the tensors themselves, or several such files.

The empty key holds a SavedTensorSlices with the names, shapes, dtypes and slices of all tensors;
the key of each slice one with its values as a TensorProto. `write_single_file` writes,
`SingleFileReader` reads what a pattern finds. New programs write bundles.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.core import files
from penstock.core.bundle import paths, slices
from penstock.core.bundle.coding import data_loss
from penstock.core.bundle.reader import BundleReader, Contents, TensorInfo
from penstock.core.bundle.slices import Slice
from penstock.core.bundle.table import Table, TableBuilder
from penstock.core.bundle.tensor_bytes import Array, storable, stored_dtype
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType

PRODUCER = 1
Part = tuple[str, tuple[int, ...], Slice | None, Array, DType]  # name, whole shape, slice, value

# Which field of a TensorProto holds a dtype's values, and how an array becomes that field.
_FIELDS = {
    dt.float32: "float_val",
    dt.float64: "double_val",
    dt.int32: "int_val",
    dt.uint8: "int_val",
    dt.int16: "int_val",
    dt.int8: "int_val",
    dt.uint16: "int_val",
    dt.qint8: "int_val",
    dt.quint8: "int_val",
    dt.qint32: "int_val",
    dt.qint16: "int_val",
    dt.quint16: "int_val",
    dt.string: "string_val",
    dt.complex64: "scomplex_val",
    dt.complex128: "dcomplex_val",
    dt.int64: "int64_val",
    dt.bool_: "bool_val",
    dt.float16: "half_val",
    dt.bfloat16: "half_val",
    dt.uint32: "uint32_val",
    dt.uint64: "uint64_val",
}
_COMPLEX = {dt.complex64: np.float32, dt.complex128: np.float64}


def _field(dtype: DType, name: str) -> str:
    field = _FIELDS.get(storable(dtype, name))
    if field is None:
        raise errors.UnimplementedError(
            None,
            None,
            f"tensor '{name}': expected a dtype of the first checkpoint format, got {dtype.name}. "
            "Write version 2.",
        )
    return field


def _values(array: Array, dtype: DType) -> list[Any]:
    flat = np.ascontiguousarray(array).reshape(-1)
    if dtype in _COMPLEX:
        flat = flat.view(_COMPLEX[dtype])
    elif dtype in (dt.float16, dt.bfloat16):
        flat = flat.view(np.uint16)
    return flat.tolist()


def _array(message: Any, shape: tuple[int, ...], dtype: DType, where: str) -> Array:
    field = _FIELDS.get(dtype)
    if field is None:
        raise data_loss(where, "a dtype of the first checkpoint format", dtype.name)
    values, count = getattr(message, field), math.prod(shape)
    if dtype in _COMPLEX:
        flat = np.array(values, _COMPLEX[dtype])
        flat = flat[: len(flat) // 2 * 2].view(dtype.numpy_dtype)
    elif dtype in (dt.float16, dt.bfloat16):
        flat = np.array(values, np.int64).astype(np.uint16).view(dtype.numpy_dtype)
    elif dtype is dt.string:
        flat = np.empty(len(values), object)
        flat[:] = list(values)
    else:
        flat = np.array(values, np.float64 if not values else None).astype(dtype.numpy_dtype)
    if len(flat) != count:
        raise data_loss(where, f"{count} elements for shape {list(shape)}", f"{len(flat)}")
    return flat.reshape(shape)


def write_single_file(path: Any, parts: Sequence[Part]) -> None:
    """Writes tensors and slices of tensors into one file, atomically.

    Args:
      path: the file.
      parts: for each, its name, the shape of the whole, the slice (None for the whole), its value
        and its dtype.

    Raises:
      InvalidArgumentError: two have the same name and slice, or slices contradict each other.
      NotFoundError: there is no folder for the file.
    """
    meta = proto.saved_tensor_slice_pb2.SavedTensorSlices()
    meta.meta.versions.producer = PRODUCER
    known: dict[str, Any] = {}
    found: dict[bytes, bytes] = {}
    for name, shape, slice_, array, dtype in parts:
        full = slice_ or ((0, slices.WHOLE),) * len(shape)
        full = slices.normalized(shape, full)
        key = slices.slice_key(name.encode(), full)
        if key in found:
            raise errors.InvalidArgumentError(
                None, None, f"Adding duplicate key: {name}. Give each tensor its own name."
            )
        if name not in known:
            known[name] = meta.meta.tensor.add(name=name, type=dtype.as_datatype_enum)
            known[name].shape.SetInParent()
            for size in shape:
                known[name].shape.dim.add(size=size)
        elif [d.size for d in known[name].shape.dim] != list(shape):
            raise errors.InvalidArgumentError(
                None, None, f"slices of tensor '{name}': expected shape "
                f"{[d.size for d in known[name].shape.dim]} as before, got {list(shape)}. "
                "Save slices of one tensor under a name.",
            )  # fmt: skip
        slices.to_proto(full, known[name].slice.add())
        data = proto.saved_tensor_slice_pb2.SavedTensorSlices()
        data.data.name = name
        data.data.slice.SetInParent()
        slices.to_proto(full, data.data.slice)
        data.data.data.SetInParent()
        getattr(data.data.data, _field(dtype, name)).extend(_values(array, dtype))
        found[key] = data.SerializeToString(deterministic=True)
    tensors = sorted(meta.meta.tensor, key=lambda each: each.name)
    del meta.meta.tensor[:]
    meta.meta.tensor.extend(tensors)
    content = bytearray()
    table = TableBuilder(content.extend)
    table.add(b"", meta.SerializeToString(deterministic=True))
    for key in sorted(found):
        table.add(key, found[key])
    table.finish()
    local = files.local_path(path)
    try:
        paths.write_atomically(local, bytes(content))
    except OSError as problem:
        raise files.translated(problem, path) from problem


class SingleFileReader(Contents):
    """Reads the tensors in the files that a pattern finds. Thread-safe.

    Raises:
      NotFoundError: it finds no file.
      DataLossError: a file is damaged.
    """

    def __init__(self, pattern: Any) -> None:
        self.path = files.local_path(pattern)
        self._tables: dict[tuple[str, Slice], Table] = {}
        self._infos: dict[str, TensorInfo] = {}
        found = [path for path in files.glob(self.path) if not files.isdir(path)]
        if not found:
            raise no_checkpoint(self.path)
        for path in found:
            with open(path, "rb") as file:
                self._add(Table(file.read(), path), path)

    def _add(self, table: Table, path: str) -> None:
        raw = table.get(b"")
        if raw is None:
            raise data_loss(path, "a header under the empty key", "none")
        for each in _parse(raw, f"{path}, header").meta.tensor:
            where = f"{path}, tensor '{each.name}'"
            shape = tuple(dim.size for dim in each.shape.dim)
            if each.shape.unknown_rank or any(n < 0 for n in shape):
                raise data_loss(where, "a shape", f"{list(shape)}")
            parts = tuple(slices.from_proto(message) for message in each.slice)
            if any(len(part) != len(shape) for part in parts):
                raise data_loss(where, f"slices of shape {list(shape)}", f"{parts}")
            for part in parts:
                self._tables[each.name, part] = table
            before = self._infos.get(each.name)
            info = TensorInfo(stored_dtype(each.type, where), shape, parts)
            if before is not None:
                if (before.dtype, before.shape) != (info.dtype, shape):
                    raise data_loss(where, f"shape {list(before.shape)} in all", f"{list(shape)}")
                info = TensorInfo(info.dtype, shape, before.slices + parts)
            self._infos[each.name] = info

    def names(self) -> list[str]:
        """The names of all tensors, in order."""
        return sorted(self._infos)

    def has(self, name: str) -> bool:
        """Whether there is a tensor of that name."""
        return name in self._infos

    def info(self, name: str) -> TensorInfo:
        """Dtype, shape and slices of a tensor."""
        if name not in self._infos:
            raise self.missing(name)
        return self._infos[name]

    def missing(self, name: str) -> errors.OpError:
        """The error for a tensor that is not there."""
        return errors.NotFoundError(
            None,
            None,
            f'Tensor name "{name}" not found in checkpoint files {self.path}: expected one of '
            f"{len(self._infos)} tensors. tf.train.list_variables shows them.",
        )

    def _load(self, name: str, info: TensorInfo, slice_: Slice | None) -> Array:
        slice_ = slice_ if slice_ is not None else ((0, slices.WHOLE),) * len(info.shape)
        where = f"{self.path}, tensor '{name}'"
        raw = self._tables[name, slice_].get(slices.slice_key(name.encode(), slice_))
        if raw is None:
            raise data_loss(where, f"its slice {slices.slice_text(slice_)}", "no such entry")
        message = _parse(raw, where).data.data
        return _array(message, slices.slice_shape(info.shape, slice_), info.dtype, where)


def _parse(raw: bytes, where: str) -> Any:
    message = proto.saved_tensor_slice_pb2.SavedTensorSlices()
    try:
        message.ParseFromString(raw)
    except proto.message.DecodeError as problem:
        raise data_loss(where, "a SavedTensorSlices", f"other bytes ({problem})") from None
    return message


def no_checkpoint(path: str) -> errors.OpError:
    """The error for a checkpoint that is not there."""
    return errors.NotFoundError(
        None,
        None,
        "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
        f"{path}. Expected the prefix of a checkpoint, as save() returned it; "
        "tf.train.latest_checkpoint(folder) finds the last one.",
    )


def open_checkpoint(path: Any) -> Contents:
    """A reader of the bundle under a prefix, or else of files of the older format.

    Raises:
      NotFoundError: there is neither.
      DataLossError: it is damaged.
    """
    local = files.local_path(path)
    if files.exists(paths.index_path(local)):
        return BundleReader(local)
    return SingleFileReader(local)
