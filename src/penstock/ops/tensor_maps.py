"""Maps of tensors in variants: the TensorMap operations. Each change makes a new map."""

from typing import Any

import numpy as np

from penstock.core import shapes
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.ops.string_arrays import HOST, invalid
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
Key = tuple[str, tuple[int, ...], Any]
NO_GRADIENT = "TensorFlow registers no gradient for maps either; use tensor lists"


class TensorMap:
    """Tensors by key tensors. Immutable; thread-safe."""

    __slots__ = ("entries",)

    def __init__(self, entries: dict[Key, tuple[Array, Array]]) -> None:
        self.entries = entries

    def __repr__(self) -> str:
        return "<TensorMap>"


def _key(array: Array) -> Key:
    """What tells keys apart: dtype, shape and content."""
    content = tuple(array.reshape(-1).tolist()) if array.dtype == object else array.tobytes()
    return array.dtype.str, array.shape, content


def _map_of(handle: Any) -> TensorMap:
    held = handle.item() if isinstance(handle, np.ndarray) else handle
    if not isinstance(held, TensorMap):
        raise invalid(f"expected a map that EmptyTensorMap made, got {held!r}.")
    return held


def _entry(handle: Any, key: Array, dtype: DType, what: str) -> tuple[Array, Array]:
    found = _map_of(handle).entries.get(_key(key))
    if found is None:
        raise invalid(f'Trying to {what}. Could not find key "{key}". Insert it first.')
    if found[1].dtype != dtype.numpy_dtype:
        raise invalid(f"Type mismatch: actual {found[1].dtype} vs. expect {dtype.name}.")
    return found


EMPTY = define_op(
    "EmptyTensorMap() -> handle: variant", shape=shapes.scalar, doc="A map without entries."
).without_gradient(NO_GRADIENT)
SIZE = define_op(
    "TensorMapSize(input_handle: variant) -> size: int32",
    shape=shapes.scalar,
    doc="The number of entries.",
).without_gradient(NO_GRADIENT)
INSERT = define_op(
    "TensorMapInsert(input_handle: variant, key: key_dtype, value: value_dtype; key_dtype: type, "
    "value_dtype: type) -> output_handle: variant",
    shape=shapes.scalar,
    doc="The map with a value for a key, new or in place of another.",
).without_gradient(NO_GRADIENT)
LOOKUP = define_op(
    "TensorMapLookup(input_handle: variant, key: key_dtype; key_dtype: type, value_dtype: type) -> "
    "value: value_dtype",
    shape=shapes.unknown,
    doc="The value of a key.",
).without_gradient(NO_GRADIENT)
ERASE = define_op(
    "TensorMapErase(input_handle: variant, key: key_dtype; key_dtype: type, value_dtype: type) -> "
    "output_handle: variant",
    shape=shapes.scalar,
    doc="The map without a key.",
).without_gradient(NO_GRADIENT)
HAS_KEY = define_op(
    "TensorMapHasKey(input_handle: variant, key: key_dtype; key_dtype: type) -> has_key: bool",
    shape=shapes.scalar,
    doc="Whether the map has a key.",
).without_gradient(NO_GRADIENT)
STACK_KEYS = define_op(
    "TensorMapStackKeys(input_handle: variant; key_dtype: type) -> keys: key_dtype",
    shape=shapes.unknown,
    doc="All keys as rows of one tensor, in the order in which they were inserted.",
).without_gradient(NO_GRADIENT)


@host_kernel(EMPTY, limit=HOST)
def _empty() -> Any:
    return TensorMap({})


@host_kernel(SIZE, limit=HOST)
def _size(input_handle: Any) -> Array:
    return np.array(len(_map_of(input_handle).entries), np.int32)


@host_kernel(INSERT, limit=HOST)
def _insert(input_handle: Any, key: Array, value: Array) -> Any:
    return TensorMap({**_map_of(input_handle).entries, _key(key): (key, value)})


@host_kernel(LOOKUP, limit=HOST)
def _lookup(input_handle: Any, key: Array, *, value_dtype: DType) -> Array:
    return _entry(input_handle, key, value_dtype, "lookup non-existent key")[1]


@host_kernel(ERASE, limit=HOST)
def _erase(input_handle: Any, key: Array, *, value_dtype: DType) -> Any:
    _entry(input_handle, key, value_dtype, "erase non-existent item")
    entries = dict(_map_of(input_handle).entries)
    del entries[_key(key)]
    return TensorMap(entries)


@host_kernel(HAS_KEY, limit=HOST)
def _has_key(input_handle: Any, key: Array) -> Array:
    return np.array(_key(key) in _map_of(input_handle).entries)


@host_kernel(STACK_KEYS, limit=HOST)
def _stack_keys(input_handle: Any, *, key_dtype: DType) -> Array:
    keys = [key for key, _ in _map_of(input_handle).entries.values()]
    if not keys:
        raise invalid("TensorMapStackKeys cannot be called on empty map. Insert a key first.")
    if any(key.dtype != key_dtype.numpy_dtype for key in keys):
        raise invalid(f"Key does not match requested dtype: expected {key_dtype.name}, got "
                      f"{sorted({str(key.dtype) for key in keys})}.")  # fmt: skip
    if len({key.shape for key in keys}) > 1:
        raise invalid("Keys must all have the same shape, got "
                      f"{sorted({key.shape for key in keys})}.")  # fmt: skip
    return np.stack(keys)
