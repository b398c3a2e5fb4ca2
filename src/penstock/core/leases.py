"""Leases: who shares a variable's array, so that no update gives the array's buffer away.

Whatever shares the array (a tensor that was read, a step that computes with it, a save under way)
holds the variable's current `Lease`; the variable itself refers to it weakly. A `Snapshot` is what
readers of many variables leave to the next reader: a hundred arrays that did not change are found
again by one look, instead of one lock, one read and one lease each.
"""

import weakref
from typing import Any


class Lease:
    """Held by everything that shares a variable's current array.

    Attributes:
      snapshots: weak references to those that hold the lease for the next reader alone.
    """

    __slots__ = ("__weakref__", "snapshots")

    def __init__(self) -> None:
        self.snapshots: set[weakref.ref[Snapshot]] = set()

    def recall(self) -> None:
        """Empties the snapshots: an array that the lease is on changes. Thread-safe."""
        while self.snapshots:
            try:
                snapshot = self.snapshots.pop()()
            except KeyError:  # another thread, which changes another of the arrays, was faster
                return
            if snapshot is not None:
                snapshot.held = None


class Snapshot:
    """The current arrays of some variables, and leases on them, kept between readers.

    Attributes:
      held: (arrays, leases), or None once one of the arrays changed. One load of the attribute
        gives both or nothing: who has the arrays has the leases too, and a writer that emptied the
        snapshot before it looked at the lease sees every reader.
    """

    __slots__ = ("__weakref__", "held")

    def __init__(self) -> None:
        self.held: tuple[list[Any], list[Lease]] | None = None

    def keep(self, arrays: list[Any], leases: list[Lease]) -> tuple[list[Any], list[Lease]]:
        """Keeps them until one of the arrays changes; the locks of the variables are held."""
        held = self.held = arrays, leases
        reference = weakref.ref(self)
        for lease in leases:
            lease.snapshots.add(reference)
        return held
