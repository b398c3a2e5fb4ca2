"""Golden cases as JSON: tensors, attributes, and the data set's file.

A case is a dictionary: what is run, and what came of it or why nothing did::

    {"steps": [[operation, {argument: value}], ...], "mode": "eager" | "session"}
    {"out": [tensor, ...], "grad": [tensor | None, ...] | class}
    {"err": class, "build": class | None}

A tensor is ``[dtype, shape, payload]``: base64 of the little-endian bytes for floating and complex
elements, whose every bit counts, and a plain list for the others (strings as Latin-1). Values of
arguments carry their kind: ``{"t": tensor}``, ``{"l": [value, ...]}`` for a list of values,
``{"var": tensor}`` and ``{"ref": tensor}`` for a variable of that value, ``{"list": ...}`` for a
tensor list, ``{"from": [step, output]}`` for what an earlier step gave, ``{"d": name}`` for a
dtype, ``{"s": dims}`` for a shape, ``{"b": text}`` for bytes and ``{"a": value}`` for any other
attribute or Python value.

The file begins with a line that says which TensorFlow it is from and what its `raw_ops` has; then
comes one line of JSON for each operation, in order of their names. It is compressed without a time
stamp: the same cases give the same bytes. Nothing here imports a library of tensors, so both
sides of the comparison use it.
"""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

DATA = Path(__file__).resolve().parents[2] / "tests" / "data" / "golden.jsonl.gz"

# Types whose elements NumPy does not know by this name; quantised ones are kept as their integers.
_STORAGE: dict[str, Any] = {
    "bfloat16": ml_dtypes.bfloat16,
    "string": object,
    "qint8": np.int8,
    "quint8": np.uint8,
    "qint16": np.int16,
    "quint16": np.uint16,
    "qint32": np.int32,
}
DTYPES = (
    *("float32", "float64", "float16", "bfloat16", "complex64", "complex128", "bool", "string"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("qint8", "quint8", "qint16", "quint16", "qint32"),
)
PLAIN = "plain"  # in the place of a dtype: the payload is the text of a Python value
QUANTIZED = frozenset(name for name in _STORAGE if name.startswith("q"))

Json = Any  # what the json module reads and writes
Case = dict[str, Any]
Array = np.ndarray[Any, Any]


def storage(dtype: str) -> np.dtype[Any]:
    """The NumPy type of the elements of a dtype."""
    return np.dtype(_STORAGE.get(dtype, dtype))


def encode(dtype: str, array: Any) -> Json:
    """A tensor as JSON."""
    array = np.asarray(array, storage(dtype))
    flat = array.reshape(-1)
    if array.dtype.kind == "O":
        payload: Any = [_text(item) for item in flat]
    elif array.dtype.kind in "fcV":
        payload = base64.b64encode(np.ascontiguousarray(flat).tobytes()).decode()
    else:
        payload = [int(item) for item in flat]
    return [dtype, list(array.shape), payload]


def _text(item: bytes | str) -> str:
    return item if isinstance(item, str) else item.decode("latin-1")


def decode(tensor: Json) -> Array:
    """The array of a tensor written by `encode`."""
    dtype, shape, payload = tensor
    kind = storage(dtype)
    if kind.kind == "O":
        array = np.empty(len(payload), object)
        array[:] = [text.encode("latin-1") for text in payload]
    elif isinstance(payload, str):
        array = np.frombuffer(base64.b64decode(payload), kind)
    else:
        array = np.array(payload, kind)
    return array.reshape(shape)


def same(a: Any, b: Any) -> bool:
    """Whether two encoded results are equal, all NaNs being one."""
    if isinstance(a, list) and isinstance(b, list) and _is_tensor(a) and _is_tensor(b):
        if a[:2] != b[:2]:
            return False
        if a[2] == b[2]:
            return True
        if a[0] == PLAIN:
            return False
        left, right = decode(a), decode(b)
        if left.dtype.kind not in "fcV":
            return False
        wide = np.complex128 if left.dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            return np.array_equal(left.astype(wide), right.astype(wide), equal_nan=True)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return bool(a == b)


def _is_tensor(value: list[Any]) -> bool:
    return len(value) == 3 and isinstance(value[0], str) and isinstance(value[1], list)


def read(path: Path = DATA) -> dict[str, list[Case]]:
    """Operation -> its cases."""
    return {line["op"]: line["cases"] for line in _lines(path)[1:]}


def source(path: Path = DATA) -> dict[str, Any]:
    """Where the data are from: "version" of TensorFlow, and "raw_ops", the names it has there."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return dict(json.loads(file.readline()))


def _lines(path: Path) -> list[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write(cases: dict[str, list[Case]], origin: dict[str, Any], path: Path = DATA) -> None:
    """Writes the data set: the same cases, the same bytes."""
    lines = [origin, *({"op": op, "cases": cases[op]} for op in sorted(cases))]
    text = "".join(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
