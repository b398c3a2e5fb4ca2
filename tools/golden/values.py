"""Short names to write arguments of golden cases with."""

from __future__ import annotations

from typing import Any

import numpy as np
from tools.golden import codec
from tools.golden.codec import Case

Value = dict[str, Any]
NAN, INF = float("nan"), float("inf")


def t(values: Any, dtype: str = "float32", shape: tuple[int, ...] | None = None) -> Value:
    """A tensor."""
    array = np.array(values, codec.storage(dtype))
    return {"t": codec.encode(dtype, array if shape is None else array.reshape(shape))}


def ints(*values: Any) -> Value:
    """An int32 vector."""
    return t(values, "int32")


def texts(*values: bytes) -> Value:
    """A string vector."""
    return t(list(values), "string")


def var(values: Any, dtype: str = "float32") -> Value:
    """The handle of a variable."""
    return {"var": t(values, dtype)["t"]}


def ref(values: Any, dtype: str = "float32") -> Value:
    """A reference to a variable, in a session."""
    return {"ref": t(values, dtype)["t"]}


def a(value: Any) -> Value:
    """An attribute, or a Python value as an input."""
    return {"a": value}


def d(name: str) -> Value:
    """A dtype."""
    return {"d": name}


def s(*dims: int | None) -> Value:
    """A shape."""
    return {"s": list(dims)}


def several(*values: Value) -> Value:
    """A list of values."""
    return {"l": list(values)}


def of(step: int, output: int = 0) -> Value:
    """What an earlier step gave."""
    return {"from": [step, output]}


def eager(*steps: tuple[str, dict[str, Value]]) -> Case:
    """A program that runs call by call."""
    return {"steps": [list(step) for step in steps]}


def session(*steps: tuple[str, dict[str, Value]]) -> Case:
    """A program that is built in a graph, each step after the one before, and run by a session."""
    return {"steps": [list(step) for step in steps], "mode": "session"}
