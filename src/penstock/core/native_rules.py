"""Optimizers' rules run by `native/rules.h`, which is part of the library of `native_arrays`.

A rule is a `Program`, written by penstock/ops/optimizer_programs.py. Thread-safe.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core.native_arrays import LIBRARY, checked, floating_kind
from penstock.core.native_library import processors

CODES = (  # as native/rules.h numbers them
    "ADD SUBTRACT MULTIPLY DIVIDE NEGATIVE SQUARE_ROOT ABSOLUTE SIGN MAXIMUM GREATER SELECT"
).split()
MOST_SLOTS, MOST_VALUES = 4, 96
_NO_SLOTS = (None,) * MOST_SLOTS
_ALONE = 1 << 14  # elements up to which one thread works
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


def kind_served(dtype: np.dtype[Any]) -> int | None:
    """The library's number of a dtype; None where it has no code for it, or is not in use."""
    kind = floating_kind(dtype)
    return None if kind is None or LIBRARY.function("rule") is None else kind


def values_of(program: Program, numbers: Sequence[Array], dtype: Any) -> Array:
    """The numbers that a program works with: scalars that the rule is given, and its own."""
    given = [v.item() if v.dtype.kind == "f" else v.astype(dtype).item() for v in numbers]
    return np.array([*given, *program.constants], dtype)


def update(
    program: Program,
    kind: int,
    arrays: Sequence[Array],
    grad: Array,
    values: Array,
    indices: Array | None = None,
    threads: int | None = None,
) -> bool:
    """Writes the new values of a variable and its slots over the old ones.

    Args:
      program: the rule.
      kind: of `kind_served`, for the dtype of arrays, gradient and values.
      arrays: [N, ...], of one shape, in C's order.
      grad: the gradient of that shape, or a row [...] for each index.
      values: of `values_of`.
      indices: int32 or int64[M]: rows that are updated one after the other; all when None.
      threads: how many may work; for much work one for each processor when None.

    Returns:
      Whether it did; not so where an index is outside of [0, N). Then nothing was written.
    """
    call, width = LIBRARY.function("rule"), grad.size
    if call is None:  # switched off since `kind_served` was asked
        return False
    if threads is None:
        threads = processors() if width > _ALONE else 1
    if not grad.flags.c_contiguous:
        grad = np.ascontiguousarray(grad)
    slots = (*arrays, *_NO_SLOTS[len(arrays) :])
    if indices is None:
        given: tuple[Any, ...] = (None, False, 1, 1, width, threads)
    else:
        if not indices.flags.c_contiguous:
            indices = np.ascontiguousarray(indices)
        rows = len(indices)
        wide, width = indices.dtype.itemsize == 8, width // rows if rows else 0
        given = (indices, wide, len(arrays[0]), rows, width, threads)
    return checked(call(kind, program.code, *slots, grad, values, *given)) < 0
