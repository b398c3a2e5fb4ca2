"""What work on the host costs beside a compilation, by sizes alone and not by a clock.

A unit is an element of a sum, of which the host adds about one in a nanosecond. So a program gives
the same in every process: what decides whether something is compiled follows from its values.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

COMPILATION = 1 << 28  # work that costs clearly less than any compilation ...
EACH_NODE = 1 << 20  # ... and what each node more that is compiled adds to it
XLA_LOOPS = 3  # about what XLA takes for loops, by what any compilation takes
OVERHEAD = 1 << 13  # of a node on the host
PRODUCTS = 16  # multiplications of a matrix product in the time of a unit
MATMULS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
_MULTIPLIES = frozenset((*MATMULS, "Einsum"))
LONGEST = 1 << 31  # work of one run whose loops and conditionals are not compiled


class Budget:
    """The work that a run may still do before what its loops hold is compiled.

    Used by one thread.
    """

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = LONGEST

    @property
    def spent(self) -> int:
        """The work that was done."""
        return LONGEST - self.left

    def spend(self, kind: str, arguments: Sequence[Any], results: Sequence[Any]) -> None:
        """Notes the work of a node of type `kind`."""
        given = made = 0
        for value in arguments:
            given += value.size if value.__class__ is np.ndarray else getattr(value, "size", 0)
        for value in results:
            made += value.size if value.__class__ is np.ndarray else getattr(value, "size", 0)
        self.left -= OVERHEAD + (given if given > made else made)
        if kind in _MULTIPLIES and len(arguments) >= 2:
            # [m, k] x [k, n] -> [m, n]: the root of the sizes' product is m k n
            sizes = [getattr(v, "size", 1) for v in (*arguments[:2], results[0])]
            self.left -= math.isqrt(math.prod(map(int, sizes))) // PRODUCTS


__all__ = ["COMPILATION", "EACH_NODE", "MATMULS", "OVERHEAD", "PRODUCTS", "XLA_LOOPS", "Budget"]
