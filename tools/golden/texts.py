"""Golden cases of public functions: lines of Python, as users write them.

A case is ``{"text": line}`` with the outcome of `calls`: tensors of the result, or the class of the
error and of that of building the line in a graph. Names in a line: `tf`, `np`, `c` is tf.constant;
`f` a float32[2, 3]; `i` an int32[2, 3]; `v` a float32[3]; `k` an int32[3]; `s` a string[2]; `b` a
bool[2, 3]; `x` a complex64[2]; `img` a float32[1, 4, 4, 3]; `ker` a float32[2, 2, 3, 5]; `sp` a
sparse float32[2, 3] and `rt` a ragged int32[2, None]; `throw` raises its argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tools.error_cases import CASES
from tools.golden.codec import Case
from tools.golden.public_calls import CALLS

FAMILY = "tf."  # what the key of a family of lines begins with; operations have no dot


def cases() -> dict[str, list[Case]]:
    """Family of public functions -> its cases, in the order of the lines."""
    found: dict[str, list[Case]] = {}
    for line in dict.fromkeys([*CASES.splitlines(), *CALLS.splitlines()]):
        if line.strip():
            found.setdefault(_family(line), []).append({"text": line})
    return found


def _family(line: str) -> str:
    """`tf.math` for a line that begins with `tf.math.add(`, `tf.` for what has no module."""
    name = line.partition("(")[0]
    known = ("math", "linalg", "nn", "image", "strings", "sparse", "ragged", "random", "compat.v1")
    return next((f"tf.{m}" for m in known if name.startswith(f"tf.{m}.")), FAMILY)


def evaluate(tf: Any, line: str) -> Any:
    """The result of a line."""
    return eval(line, arguments(tf))  # our own lines


def arguments(tf: Any) -> dict[str, Any]:
    """What the names in a line stand for."""
    return {
        "tf": tf,
        "np": np,
        "c": tf.constant,
        "f": tf.constant([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
        "i": tf.constant([[0, 1, 2], [3, 4, 5]]),
        "v": tf.constant([0.0, 1.0, 2.0]),
        "k": tf.constant([0, 1, 2]),
        "s": tf.constant(["a", "b"]),
        "b": tf.constant([[True, False, True], [False, False, True]]),
        "x": tf.constant([1 + 2j, 3 - 1j], tf.complex64),
        "img": tf.zeros([1, 4, 4, 3]),
        "ker": tf.zeros([2, 2, 3, 5]),
        "sp": tf.sparse.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3]),
        "rt": tf.ragged.constant([[1, 2], [3]]),
        "if_": lambda value: 1 if value else 2,
        "throw": _throw,
    }


def _throw(problem: Exception) -> None:
    raise problem
