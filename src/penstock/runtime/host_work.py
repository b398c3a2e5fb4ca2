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
CALL_NODES = 24  # small nodes on the host in the time of a compiled call between host kernels
PRODUCTS = 16  # multiplications of a matrix product in the time of a unit
MATMULS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
MULTIPLIES = frozenset((*MATMULS, "Einsum"))
LONGEST = 1 << 31  # work of one run whose loops and conditionals are not compiled


class Budget:
    """The work that a run may still do before what its loops hold is compiled.

    Used by one thread.

    Attributes:
      left: the work.
      free_nodes: as many nodes of a body cost no more than the call of its executable would, and
        are not counted.
    """

    __slots__ = ("free_nodes", "left")

    def __init__(self, free_nodes: int = 0) -> None:
        self.left = LONGEST
        self.free_nodes = free_nodes

    @property
    def spent(self) -> int:
        """The work that was done."""
        return LONGEST - self.left

    def spend(self, kind: str, arguments: Sequence[Any], results: Sequence[Any]) -> None:
        """Notes the work of a node of type `kind`."""
        self.left -= work_of(kind, arguments, results)


def work_of(kind: str, arguments: Sequence[Any], results: Sequence[Any]) -> int:
    """The work of a node of type `kind`."""
    given = made = 0
    for value in arguments:
        given += value.size if value.__class__ is np.ndarray else getattr(value, "size", 0)
    for value in results:
        made += value.size if value.__class__ is np.ndarray else getattr(value, "size", 0)
    work = OVERHEAD + (given if given > made else made)
    if kind in MULTIPLIES and len(arguments) >= 2:
        # [m, k] x [k, n] -> [m, n]: the root of the sizes' product is m k n
        sizes = [getattr(v, "size", 1) for v in (*arguments[:2], results[0])]
        work += math.isqrt(math.prod(map(int, sizes))) // PRODUCTS
    return work


__all__ = [
    "CALL_NODES",
    "COMPILATION",
    "EACH_NODE",
    "MATMULS",
    "MULTIPLIES",
    "OVERHEAD",
    "PRODUCTS",
    "XLA_LOOPS",
    "Budget",
    "work_of",
]
