"""What was read ahead of a consumer: elements, blocks of them as columns, and errors, in order.

Its size in bytes is known, so that what reads ahead can be kept within a budget.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.data import restoring
from penstock.data.stages import Description, Element, State, rows_from, rows_of

BUDGET = 1 << 28  # bytes that a stage reads ahead, where it has one element already


class _Entry:
    """An element, a block of elements as columns, or an error."""

    __slots__ = ("at", "columns", "count", "error", "rows", "size", "value")

    def __init__(self, value: Element | None, error: Exception | None, stacked: bool) -> None:
        self.error = error
        self.columns = value if stacked and error is None else None
        self.value = value if self.columns is None else None
        self.count = rows_of(self.columns) if self.columns is not None else 1
        self.rows: list[Element] | None = None
        self.at = 0
        self.size = sum(map(size_of, value or ()))


class ReadAhead:
    """A queue of elements. Not thread-safe.

    Args:
      saved: what `save` gave.
      of: the dataset whose elements those are.
    """

    def __init__(self, saved: Sequence[State] = (), of: Description | None = None) -> None:
        self._entries: deque[_Entry] = deque()
        self._count = 0
        self.size = 0  # in bytes
        for each in saved:
            self._push_saved(each, of)

    def _push_saved(self, saved: State, of: Description | None) -> None:
        if "error" in saved:
            self.push(None, restoring.error(saved["error"], "What was read ahead"), False)
            return
        stacked = "columns" in saved
        value = tuple(saved["columns"] if stacked else saved["value"])
        if of is not None:
            check = restoring.columns if stacked else restoring.element
            value = check(list(value), of, "What was read ahead")
        self.push(value, None, stacked)

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return bool(self._entries)

    def fits(self, times: int) -> bool:
        """Whether `times` as many bytes as there are fit into the budget."""
        return self.size * times <= BUDGET

    def push(self, value: Element | None, error: Exception | None, stacked: bool) -> None:
        """Adds what was made last."""
        entry = _Entry(value, error, stacked)
        self._entries.append(entry)
        self._count += entry.count
        self.size += entry.size

    def _drop(self) -> None:
        self.size -= self._entries.popleft().size

    def pop(self) -> Element | None:
        """Takes the first element; None where there is none. Raises the error that is first."""
        if not self._entries:
            return None
        entry = self._entries[0]
        self._count -= 1
        if entry.columns is None:
            self._drop()
            if entry.error is not None:
                raise entry.error
            return entry.value
        if entry.rows is None:
            entry.rows = rows_from(entry.columns)
        found = entry.rows[entry.at]
        entry.at += 1
        if entry.at == len(entry.rows):
            self._drop()
        return found

    def pop_columns(self, count: int) -> Element | None:
        """Takes up to `count` elements of the first block; see `pop`."""
        if not self._entries or self._entries[0].columns is None:
            return self.pop()
        entry = self._entries[0]
        assert entry.columns is not None
        start = entry.at
        entry.at = min(start + count, rows_of(entry.columns))
        self._count -= entry.at - start
        if entry.at == rows_of(entry.columns):
            self._drop()
        return tuple(column[start : entry.at] for column in entry.columns)

    def save(self) -> State:
        """What there is."""
        return [_saved(entry) for entry in self._entries]


def _saved(entry: _Entry) -> State:
    if entry.error is not None:
        return {"error": entry.error}
    if entry.columns is not None:
        return {"columns": [column[entry.at :] for column in entry.columns]}
    return {"value": list(entry.value or ())}


def size_of(value: Any) -> int:
    """About how many bytes a component takes."""
    if not isinstance(value, np.ndarray):
        return int(getattr(value, "nbytes", 64))
    if value.dtype != object:
        return value.nbytes
    try:
        return value.nbytes + sum(map(len, value.ravel().tolist()))
    except TypeError:  # no strings
        return value.nbytes + 64 * value.size
