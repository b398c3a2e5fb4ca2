"""Golden cases of public functions: lines of Python, as users write them.

A case is ``{"text": line}`` with the outcome of `calls`: tensors, arrays, numbers and shapes of the
result, or the class of the error and of that of building the line in a graph. The files of
``lines/`` hold a line for many: each ``<<a || b>>`` stands for all its alternatives. What the names
in a line stand for is in `_VALUES`; `throw` raises its argument.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tools.error_cases import CASES
from tools.golden.codec import Case
from tools.golden.public_calls import CALLS

FAMILY = "tf."  # what the key of a family of lines begins with; operations have no dot
_CHOICE = re.compile(r"<<(.*?)>>")
_NAMES = re.compile(r"[a-z]\w*")


def cases() -> dict[str, list[Case]]:
    """Family of public functions -> its cases, in the order of the lines."""
    found: dict[str, dict[str, Case]] = {}
    for family, line in _lines():
        found.setdefault(family, {}).setdefault(line, {"text": line})
    return {family: list(lines.values()) for family, lines in found.items()}


def _lines() -> Iterator[tuple[str, str]]:
    for line in [*CASES.splitlines(), *CALLS.splitlines()]:
        if line.strip():
            yield _family(line), line
    for file in sorted((Path(__file__).parent / "lines").glob("*.txt")):
        for line in file.read_text(encoding="utf-8").splitlines():
            for one in expanded(line):
                yield f"{FAMILY}{file.stem}", one


def expanded(line: str) -> Iterator[str]:
    """A line with each choice among alternatives made in every way."""
    pieces = _CHOICE.split(line)
    choices = [piece.split(" || ") if i % 2 else [piece] for i, piece in enumerate(pieces)]
    return map("".join, itertools.product(*choices))


def _family(line: str) -> str:
    """`tf.math` for a line that begins with `tf.math.add(`, `tf.` for what has no module."""
    name = line.partition("(")[0]
    known = ("math", "linalg", "nn", "image", "strings", "sparse", "ragged", "random", "compat.v1")
    return next((f"tf.{m}" for m in known if name.startswith(f"tf.{m}.")), FAMILY)


def evaluate(tf: Any, line: str) -> Any:
    """The result of a line."""
    used = set(_NAMES.findall(line))
    return eval(line, arguments(tf, used))  # our own lines


def arguments(tf: Any, used: set[str] | None = None) -> dict[str, Any]:
    """What the names in a line stand for; only those of `used` if it is given."""
    made = {name: make(tf) for name, make in _VALUES.items() if used is None or name in used}
    return {"tf": tf, "np": np, "c": tf.constant, "if_": _if, "throw": _throw} | made


def _if(value: Any) -> int:
    return 1 if value else 2


def _throw(problem: Exception) -> None:
    raise problem


def _sparse(positions: Any, values: Any, shape: Any) -> Callable[[Any], Any]:
    return lambda tf: tf.sparse.SparseTensor(positions, values, shape)


def _ragged(rows: Any) -> Callable[[Any], Any]:
    return lambda tf: tf.ragged.constant(rows)


def _pixels(*shape: int) -> Any:
    return (np.arange(np.prod(shape)) * 37 % 256).reshape(shape)


_SIGNAL = (np.arange(32) * 7 % 11 - 5).reshape(2, 16).astype(np.float32)
_BOXES = [[0.0, 0.0, 0.6, 0.7], [0.1, 0.1, 0.6, 0.8], [0.5, 0.4, 1.0, 1.0]]
_VALUES: dict[str, Callable[[Any], Any]] = {
    "f": lambda tf: tf.constant([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
    "i": lambda tf: tf.constant([[0, 1, 2], [3, 4, 5]]),
    "v": lambda tf: tf.constant([0.0, 1.0, 2.0]),
    "k": lambda tf: tf.constant([0, 1, 2]),
    "s": lambda tf: tf.constant(["a", "b"]),
    "b": lambda tf: tf.constant([[True, False, True], [False, False, True]]),
    "x": lambda tf: tf.constant([1 + 2j, 3 - 1j], tf.complex64),
    "img": lambda tf: tf.zeros([1, 4, 4, 3]),
    "ker": lambda tf: tf.zeros([2, 2, 3, 5]),
    "kr": lambda tf: tf.constant((_pixels(2, 2, 3, 5) - 128) / 64, tf.float32),
    "pic": lambda tf: tf.constant(_pixels(1, 4, 4, 3) / 256, tf.float32),
    "pix": lambda tf: _pixels(4, 5, 3).astype(np.uint8),
    "gray": lambda tf: tf.constant(_pixels(4, 5, 1) / 256, tf.float32),
    "bx": lambda tf: tf.constant(_BOXES),
    "sig": lambda tf: tf.constant(_SIGNAL),
    "cx": lambda tf: tf.constant(_SIGNAL[:, :8] + 1j * _SIGNAL[:, 8:], tf.complex64),
    "sp": _sparse([[0, 0], [1, 2]], [1.0, 2.0], [2, 3]),
    "si": _sparse([[0, 0], [1, 1]], [1, 3], [2, 3]),
    "sq": _sparse([[0, 1], [1, 0], [2, 2]], [1.0, -2.0, 3.0], [3, 3]),
    "st": _sparse([[0, 0], [0, 1], [1, 0]], ["a", "b", "a"], [2, 2]),
    "s3": _sparse([[0, 0, 1], [0, 1, 0], [1, 1, 1]], [1.0, 2.0, -3.0], [2, 2, 2]),
    "rt": _ragged([[1, 2], [3]]),
    "rf": _ragged([[1.5, 2.0], [], [-3.0]]),
    "rs": _ragged([["a", "bb"], [], ["c"]]),
    "r3": _ragged([[[1, 2], []], [[3], [4, 5]]]),
}
