"""Optimizers' rules run by `native/rules.h`, which is part of the library of `native_arrays`.

A rule is a `Program`, written by penstock/ops/optimizer_programs.py. Thread-safe.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core.native_arrays import LIBRARY, checked, floating_kind

CODES = (  # as native/rules.h numbers them
    "ADD SUBTRACT MULTIPLY DIVIDE NEGATIVE SQUARE_ROOT ABSOLUTE SIGN MAXIMUM GREATER SELECT"
).split()
MOST_SLOTS, MOST_VALUES = 4, 96
Array = Any  # numpy.ndarray


@dataclass(frozen=True, slots=True)
class Program:
    """A rule as the library reads it.

    Attributes:
      code: int32, the sizes and steps.
      constants: numbers that follow those that are given.
      steps: how many there are.
    """

    code: Array
    constants: tuple[float, ...]
    steps: int


def updated(
    program: Program,
    old: Sequence[Array],
    grad: Array,
    numbers: Sequence[Array],
    indices: Array | None = None,
) -> list[Array] | None:
    """New values of a variable and its slots; None where the library cannot make them.

    Args:
      program: the rule.
      old: the values [N, ...], of one shape.
      grad: the gradient of that shape, or a row [...] for each index.
      numbers: scalars that the rule is given.
      indices: int32 or int64[M], in [0, N): rows that are updated one after the other; all when
        None.
    """
    dtype = grad.dtype
    kind, call = floating_kind(dtype), LIBRARY.function("rule")
    if call is None or kind is None:
        return None
    for array in old:
        if array.dtype is not dtype and array.dtype != dtype:
            return None
    new = [array.copy() for array in old]  # in C's order
    given = [v.item() if v.dtype.kind == "f" else v.astype(dtype).item() for v in numbers]
    values = np.array([*given, *program.constants], dtype)
    rows = 1 if indices is None else len(indices)
    width = grad.size // rows if rows else 0
    grad = grad if grad.flags.c_contiguous else np.ascontiguousarray(grad)
    wide = indices is not None and indices.dtype.itemsize == 8
    if indices is not None and not indices.flags.c_contiguous:
        indices = np.ascontiguousarray(indices)
    slots = (*new, *[None] * (MOST_SLOTS - len(new)))
    return (
        new
        if checked(call(kind, program.code, *slots, grad, values, indices, wide, rows, width)) < 0
        else None
    )
