"""Tensors in safetensors files: `penstock.train.experimental.save_safetensors` and its reverse.

The format is a header and the tensors' bytes; other frameworks read and write it. It has no
checksums, no strings and no complex numbers. The extra `models` brings the package.
"""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.checkpoint import object_graph
from penstock.core import files
from penstock.core.bundle.coding import data_loss
from penstock.core.bundle.paths import write_atomically
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import EagerTensor, host_array, wrap
from penstock.core.trackable import Trackable
from penstock.types.dtypes import as_dtype
from penstock.util.extras import require

# Names of dtypes in the files, by ours.
_NAMES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}
_DTYPES = {stored: name for name, stored in _NAMES.items()}


def _named(tensors: Any) -> dict[str, Any]:
    """Tensors by name; the variables below an object by their paths, with dots."""
    if isinstance(tensors, Trackable) and not isinstance(tensors, Mapping):
        graph = object_graph.walk(tensors)
        return {
            path.replace("/", "."): node
            for path, node in zip(graph.paths, graph.nodes, strict=True)
            if object_graph.is_variable(node)
        }
    if not isinstance(tensors, Mapping):
        raise TypeError(
            "tensors: expected a dictionary of tensors by name, or a module with variables, got "
            f"{type(tensors).__name__}."
        )
    return dict(tensors)


def save_safetensors(tensors: Any, filename: Any, metadata: Mapping[str, str] | None = None) -> str:
    """Writes tensors into a safetensors file, atomically.

    Args:
      tensors: tensors, variables or arrays by name; or a module, whose variables are named by the
        attributes that lead to them ("layers.0.w"). Any shapes; numbers or booleans.
      filename: the file; its folder exists.
      metadata: text by name, kept in the file's header.

    Returns:
      The path.

    Raises:
      ModuleNotFoundError: the package safetensors is not installed.
      TypeError: a tensor is of a dtype that the format does not have.
      NotFoundError, ResourceExhaustedError: the file cannot be written.
    """
    package = require("safetensors.numpy", "tf.train.experimental.save_safetensors")
    found = {}
    for name, value in _named(tensors).items():
        tensor = value if isinstance(value, EagerTensor) else convert_to_tensor(value)
        if tensor.dtype.name not in _NAMES:
            raise TypeError(
                f"tensor '{name}': expected one of {sorted(_NAMES)}, got {tensor.dtype.name}. "
                "Save it in a tf.train.Checkpoint."
            )
        found[name] = np.ascontiguousarray(host_array(tensor)).reshape(tuple(tensor.shape))
    path = files.local_path(filename)
    data = package.save(found, None if metadata is None else dict(metadata))
    try:
        write_atomically(path, data)
    except OSError as problem:
        raise files.translated(problem, path) from problem
    return os.fsdecode(filename)


def load_safetensors(filename: Any, into: Any = None) -> dict[str, Any]:
    """Reads the tensors of a safetensors file.

    Args:
      filename: the file.
      into: variables by name, or a module, that are assigned to; every one must be in the file.

    Returns:
      Tensors by name, in the file's order.

    Raises:
      ModuleNotFoundError: the package safetensors is not installed.
      NotFoundError: there is no such file.
      DataLossError: it is damaged, or no safetensors file.
      KeyError: the file does not have a variable of `into`.
      ValueError, InvalidArgumentError: a variable has another shape or dtype.
    """
    package = require("safetensors", "tf.train.experimental.load_safetensors")
    path = files.local_path(filename)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as problem:
        raise files.translated(problem, path) from problem
    try:
        stored = package.deserialize(data)
    except package.SafetensorError as problem:
        raise data_loss(path, "a safetensors file", f"other bytes ({problem})") from None
    found = {name: _tensor(path, name, each) for name, each in stored}
    if into is not None:
        _assign(path, found, _named(into))
    return found


def _tensor(path: str, name: str, stored: Any) -> Any:
    kind = _DTYPES.get(stored["dtype"])
    if kind is None:
        raise TypeError(
            f"{path}, tensor '{name}': expected one of {sorted(_DTYPES)}, got {stored['dtype']}."
        )
    dtype = as_dtype(kind)
    flat = np.frombuffer(bytearray(stored["data"]), dtype.numpy_dtype)
    return wrap(flat.reshape(stored["shape"]), dtype)


def _assign(path: str, found: dict[str, Any], variables: dict[str, Any]) -> None:
    for name in variables:
        if name not in found:
            raise KeyError(
                f"{path}: expected a tensor '{name}', got {sorted(found)}. Leave the variable out "
                "of `into`, or rename it."
            )
    for name, variable in variables.items():
        variable._restore_from_tensors({"VARIABLE_VALUE": found[name]})
