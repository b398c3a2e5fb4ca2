"""Every operation that TensorFlow registers, as plain data (see ``tools/tf_facts.py``).

``ops[name]`` holds ``inputs`` and ``outputs`` (lists of arguments), ``attrs`` (a list, in the
registered order) and the flags that are set. An argument has ``name`` and one of ``type`` (a fixed
dtype), ``type_attr`` (with or without ``number_attr``) or ``type_list_attr``; ``is_ref`` when true.
An attribute has ``name``, ``type`` and, where given, ``default``, ``minimum`` and ``allowed``.

Values of attributes: dtypes are lower-case names as in the enum without ``DT_``; a shape is a list
with -1 for an unknown dimension, or null for unknown rank; bytes are text when they are UTF-8, else
``{"hex": ...}``; a float is a number or its ``repr`` (``"inf"``); a function is its name; a tensor
is its serialised form in hex. An absent key means "not given".
"""

from __future__ import annotations

import math
from typing import Any

_FLAGS = (
    "is_commutative",
    "is_aggregate",
    "is_stateful",
    "allows_uninitialized_input",
    "is_distributed_communication",
)


def record() -> dict[str, Any]:
    """Return ``{"version": ..., "ops": {name: definition}}`` for the installed TensorFlow."""
    import tensorflow as tf
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    op_list = op_def_pb2.OpList()
    op_list.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    ops = {op.name: _definition(op) for op in op_list.op}
    return {"version": tf.__version__, "ops": ops}


def _definition(op: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "inputs": [_argument(arg) for arg in op.input_arg],
        "attrs": [_attribute(attr) for attr in op.attr],
        "outputs": [_argument(arg) for arg in op.output_arg],
    }
    if op.control_output:
        found["control_outputs"] = list(op.control_output)
    if op.HasField("deprecation"):
        found["deprecated_since"] = op.deprecation.version
    found.update({flag: True for flag in _FLAGS if getattr(op, flag)})
    return found


def _argument(arg: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"name": arg.name}
    if arg.type:
        found["type"] = _dtype(arg.type)
    for key in ("type_attr", "number_attr", "type_list_attr"):
        if getattr(arg, key):
            found[key] = getattr(arg, key)
    if arg.is_ref:
        found["is_ref"] = True
    return found


def _attribute(attr: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"name": attr.name, "type": attr.type}
    if attr.HasField("default_value"):
        found["default"] = _value(attr.default_value)
    if attr.has_minimum:
        found["minimum"] = attr.minimum
    if attr.HasField("allowed_values"):
        found["allowed"] = _value(attr.allowed_values)
    return found


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind != "list":
        return _ONE[kind](getattr(value, kind))
    for field, items in value.list.ListFields():
        return [_ONE[field.name](item) for item in items]
    return []


def _dtype(number: int) -> str:
    from tensorflow.core.framework import types_pb2

    return types_pb2.DataType.Name(number).removeprefix("DT_").lower()


def _text(data: bytes) -> Any:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"hex": data.hex()}


def _float(number: float) -> Any:
    # the field is a 32-bit float: the shortest text that gives the same 32 bits
    import numpy as np

    return float(str(np.float32(number))) if math.isfinite(number) else repr(number)


def _shape(shape: Any) -> list[int] | None:
    return None if shape.unknown_rank else [dim.size for dim in shape.dim]


# field of AttrValue -> how it is written
_ONE = {
    "s": _text,
    "i": int,
    "f": _float,
    "b": bool,
    "type": _dtype,
    "shape": _shape,
    "tensor": lambda tensor: tensor.SerializeToString(deterministic=True).hex(),
    "func": lambda func: func.name,
}
