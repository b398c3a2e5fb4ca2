"""Calls of operations that tests make, as golden cases: a plugin of pytest.

    python -m pytest -q -p tools.golden.harvest --harvest=FILE tests/ops

writes up to `PER_OPERATION` different small calls of each operation that ran eagerly, a line of
JSON each: the seeds that `python -m tools.golden.propose` varies. Calls that hold what cannot be
written down (functions, queues, tables) are left out; `programs_*.py` has cases of those.
"""

from __future__ import annotations

import json
import tempfile
from typing import Any

import numpy as np
from tools.golden import codec

PER_OPERATION = 5
LARGEST_INPUT = 128  # elements
LONGEST_TEXT = 4000  # bytes, files of images among them


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--harvest", required=True, help="the file that calls are written to")


def pytest_configure(config: Any) -> None:
    """Listens to every operation that runs eagerly from here on."""
    from penstock.core import execute  # pytest's plugins are loaded before its path is set

    collected = config.harvested = {}
    run = execute.run_eager

    def listening(op: Any, flat: Any, counts: Any, attrs: Any) -> Any:
        arguments = None
        if op.name[0] != "_" and not op.name.startswith(("Penstock", "Toy")):
            try:
                arguments = _arguments(op, flat, counts, attrs)
            except _NotWritten:
                arguments = None
        result = run(op, flat, counts, attrs)
        if arguments is not None:
            _keep(collected.setdefault(op.name, {}), arguments)
        return result

    execute.run_eager = listening


def pytest_unconfigure(config: Any) -> None:
    with open(config.getoption("--harvest"), "w", encoding="utf-8") as file:
        for op, calls in sorted(config.harvested.items()):
            for arguments in calls.values():
                print(json.dumps({"op": op, "steps": [[op, arguments]]}), file=file)


class _NotWritten(Exception):
    """The call holds something that has no JSON form."""


def _keep(calls: dict[Any, Any], arguments: dict[str, Any]) -> None:
    key = json.dumps(arguments, sort_keys=True, default=str)
    form = json.dumps(_form(arguments), sort_keys=True)
    if form not in calls and len(calls) < PER_OPERATION and len(key) < 4 * LONGEST_TEXT:
        calls[form] = arguments


def _form(value: Any) -> Any:
    """Dtypes, ranks and attributes without the tensors' values: calls of one form count once."""
    if isinstance(value, dict):
        return {k: _form(v) for k, v in value.items()}
    if isinstance(value, list) and len(value) == 3 and isinstance(value[1], list):
        return _form_of_tensor(value)
    return [_form(v) for v in value] if isinstance(value, list) else value


def _form_of_tensor(tensor: Any) -> Any:
    return [tensor[0], len(tensor[1]), 0 in tensor[1]]


def _arguments(op: Any, flat: Any, counts: Any, attrs: Any) -> dict[str, Any]:
    from penstock.ops.raw import _parameter

    inferred = {n for a in op.inputs for n in (a.type_attr, a.number_attr, a.type_list_attr) if n}
    rest = list(flat)
    arguments: dict[str, Any] = {}
    for i, arg in enumerate(op.inputs):
        taken = [_input(rest.pop(0)) for _ in range(counts[i] if counts else 1)]
        arguments[_parameter(op, arg.name)] = {"l": taken} if arg.is_list else taken[0]
    for name, value in attrs.items():
        if value is not None and name not in inferred and name in op.attrs:
            arguments[_parameter(op, name)] = _attribute(op.attrs[name], value)
    return arguments


def _input(tensor: Any) -> dict[str, Any]:
    dtype, array = tensor.dtype.name, tensor._array
    if dtype == "resource":
        cell = getattr(array, "resource", None)
        if not hasattr(cell, "donatable") or cell.value is None:
            raise _NotWritten
        return {"var": _tensor(cell.dtype.name, cell.value)}
    if dtype == "variant":
        if type(array).__name__ != "TensorList" or array.dims is None:
            raise _NotWritten
        items = [None if i is None else _tensor(array.dtype.name, i) for i in array.items]
        dims = [-1 if d is None else d for d in array.dims]
        return {"list": {"dtype": array.dtype.name, "shape": dims, "items": items}}
    return {"t": _tensor(dtype, array)}


def _tensor(dtype: str, array: Any) -> Any:
    array = np.asarray(array)
    if array.size > LARGEST_INPUT or dtype not in codec.DTYPES:
        raise _NotWritten
    if array.dtype.kind == "O":
        text = b"".join(array.reshape(-1))
        if len(text) > LONGEST_TEXT or tempfile.gettempdir().encode() in text:
            raise _NotWritten
    return codec.encode(dtype, array)


def _attribute(attr: Any, value: Any) -> dict[str, Any]:
    if attr.kind == "func" or attr.kind == "tensor":
        raise _NotWritten
    if attr.is_list:
        return {"l": [_scalar(attr.kind, item) for item in value]}
    return _scalar(attr.kind, value)


def _scalar(kind: str, value: Any) -> dict[str, Any]:
    if "type" in kind:
        from penstock.types.dtypes import as_dtype

        return {"d": as_dtype(value).name}
    if "shape" in kind:
        if hasattr(value, "as_list"):
            value = None if value.rank is None else value.as_list()
        return {"s": None if value is None else list(value)}
    if isinstance(value, bytes):
        return {"b": value.decode("latin-1")}
    if not isinstance(value, (bool, int, float, str)):
        raise _NotWritten
    return {"a": value}
