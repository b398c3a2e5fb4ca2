"""The variables of a region while it runs: their cells, what is read of them and put back.

A `Binding` is what follows from the handles that a region was given, and is kept as long as they
stay the same. Readers take leases and share one look at all variables; a region that writes holds
the locks from taking the arrays until `put_back` has given the cells the new ones.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.leases import Snapshot
from penstock.core.locks import Locks, holding
from penstock.core.resources import lease_all, owned_copy, variables_of
from penstock.core.traced import NotStatic


class Binding:
    """The cells of a region's variables for certain handles. Immutable.

    Attributes:
      cells: in the order of the region's variables.
      written, kept: those that may be written, and the others.
      locks: in the one order in which locks are taken.
      loose: cells whose shape is part of the executable's key.
      snapshot: what those who only read leave to each other.
    """

    __slots__ = ("cells", "handles", "kept", "locks", "loose", "snapshot", "written")

    def __init__(self, handles: Sequence[Any], writes: Sequence[bool]) -> None:
        self.handles = handles
        self.cells = variables_of(handles)
        if len({id(c) for c in self.cells}) != len(self.cells) and any(writes):
            raise NotStatic(None, "two resource inputs are the same variable")
        self.written = [c for c, w in zip(self.cells, writes, strict=True) if w]
        self.kept = [c for c, w in zip(self.cells, writes, strict=True) if not w]
        self.locks = Locks(self.cells)
        self.loose = [c for c in self.cells if c.dims is None or None in c.dims]
        self.snapshot = Snapshot()


def leased(bound: Binding) -> tuple[list[Any], list[Any]]:
    """The variables' arrays, and leases on them; kept in the binding's snapshot."""
    cells = bound.cells
    return holding(  # type: ignore[no-any-return]
        bound.locks, lambda: bound.snapshot.keep(on_device(cells), lease_all(cells))
    )


def on_device(cells: Sequence[Any]) -> list[Any]:
    """The variables' arrays; their locks are held.

    One that still has the host's array gets one on the device, to be brought there only once.
    """
    values = [c.value for c in cells]
    if np.ndarray in map(type, values):
        for i, value in enumerate(values):
            if value.__class__ is np.ndarray:
                values[i] = owned_copy(value)
                cells[i].write(values[i], fresh=True)
    return values


def put_back(cells: Sequence[Any], values: Sequence[Any]) -> None:
    """Gives variables their new arrays; their locks are held. Stopped half-way, it is repeated."""
    for cell, value in zip(cells, values, strict=True):
        cell.value = value  # as `VariableCell.write` with fresh=True
        cell._lease = None
        cell._owned = cell.free = value is not None
