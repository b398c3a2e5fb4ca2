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


def serves(old: Sequence[Array], grad: Array) -> bool:
    """Whether the library has code for a variable and its slots, of one dtype with the gradient."""
    dtype = grad.dtype
    if floating_kind(dtype) is None or LIBRARY.function("rule") is None:
        return False
    return all(array.dtype is dtype or array.dtype == dtype for array in old)


def update(
    program: Program,
    arrays: Sequence[Array],
    grad: Array,
    numbers: Sequence[Array],
    indices: Array | None = None,
) -> None:
    """Writes the new values of a variable and its slots over the old ones.

    Args:
      program: the rule.
      arrays: [N, ...], of one shape, in C's order; `serves` allows them.
      grad: the gradient of that shape, or a row [...] for each index.
      numbers: scalars that the rule is given.
      indices: int32 or int64[M], in [0, N): rows that are updated one after the other; all when
        None.
    """
    dtype, call = grad.dtype, LIBRARY.function("rule")
    assert call is not None
    given = [v.item() if v.dtype.kind == "f" else v.astype(dtype).item() for v in numbers]
    values = np.array([*given, *program.constants], dtype)
    rows = 1 if indices is None else len(indices)
    width = grad.size // rows if rows else 0
    grad = grad if grad.flags.c_contiguous else np.ascontiguousarray(grad)
    wide = indices is not None and indices.dtype.itemsize == 8
    if indices is not None and not indices.flags.c_contiguous:
        indices = np.ascontiguousarray(indices)
    slots = (*arrays, *[None] * (MOST_SLOTS - len(arrays)))
    kind = floating_kind(dtype)
    checked(call(kind, program.code, *slots, grad, values, indices, wide, rows, width))
