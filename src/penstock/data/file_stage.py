"""Datasets of what is in files: one file after the other, each from its beginning to its end.

A `Reader` gives the items of one open file, and says where it is; `FilesStage` goes through the
files. A state is the number of the file and the offset in it, so going on from there reads nothing
twice. A file that cannot be opened, or that is damaged, is an error once; then comes the next.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from penstock import errors
from penstock.core import files
from penstock.data import restoring
from penstock.data.run import Run, UnwantedError
from penstock.data.stages import Description, Element, SourceStage, Stage, State
from penstock.types import dtypes as dt


class Reader(Protocol):
    """The items of one open file. Not thread-safe."""

    @property
    def offset(self) -> int:
        """Where in the file the next item begins."""

    def take(self, count: int) -> list[bytes]:
        """At least one and up to `count` of the next items, as many as suit; none at the end.

        It raises where the next item itself cannot be had.
        """

    def close(self) -> None:
        """Closes the file."""


Open = Callable[[bytes, int], Reader]  # a path, and the offset of the first item or 0


class Files(Description):
    """What is in files, as strings.

    Args:
      kind: the operation's name.
      paths: the files.
      open_file: opens one.
      starts: for each file, where the first item begins; 0 for all without them.
    """

    __slots__ = ("kind", "open_file", "paths", "starts")

    def __init__(
        self, kind: str, paths: Sequence[bytes], open_file: Open, starts: Sequence[int] = ()
    ) -> None:
        super().__init__((), (dt.string,), ((),))
        self.kind = kind  # type: ignore[misc]
        self.paths = tuple(paths)
        self.open_file = open_file
        self.starts = tuple(starts)

    def start(self, run: Run) -> Stage:
        """A state before the first item."""
        return FilesStage(self.paths, self.open_file, run, self.starts)


class FilesStage(SourceStage):
    """Goes through files; see `Files`."""

    stacked = True

    def __init__(
        self, paths: Sequence[bytes], open_file: Open, run: Run, starts: Sequence[int] = ()
    ) -> None:
        super().__init__(run)
        self._paths = paths
        self._open_file = open_file
        self._starts = starts
        self._reader: Reader | None = None
        self._begin(0)

    def _begin(self, number: int) -> None:
        self.close()
        self._number = number
        # Where the file is to be opened, while it is not open.
        self._offset = self._starts[number] if number < len(self._starts) else 0

    def _take(self, count: int) -> list[bytes]:
        """Up to `count` items of this file and the next ones; none behind the last file."""
        found: list[bytes] = []
        while len(found) < count and self._number < len(self._paths):
            if not found:  # what was found is given
                self.check_wanted()
            try:
                if self._reader is None:
                    self._reader = self._open_file(self._paths[self._number], self._offset)
                taken = self._reader.take(count - len(found))
            except Exception:
                if found:  # these first; then the same comes again
                    break
                self._begin(self._number + 1)
                raise
            if not taken:
                self._begin(self._number + 1)
            found += taken
        return found

    def next(self) -> Element | None:
        """The next item."""
        found = self._take(1)
        return (np.array(found[0], object),) if found else None

    def columns(self, count: int) -> Element | None:
        """The next items."""
        found = self._take(count)
        if not found:
            return None
        made = np.empty(len(found), object)
        made[:] = found
        return (made,)

    def skip(self, count: int) -> int:
        """Reads over items."""
        done = 0
        try:
            while done < count and (found := self._take(min(count - done, _SKIPPED))):
                done += len(found)
        except UnwantedError as end:
            end.passed = done
            raise
        return done

    def save(self) -> State:
        """The number of the file and the offset in it."""
        reader = self._reader
        return [self._number, self._offset if reader is None else reader.offset]

    def restore(self, state: State) -> None:
        """Goes to a place in a file."""
        number, offset = restoring.several(state, "The place in files", 2)
        self._begin(restoring.whole(number, "The number of a file", 0, len(self._paths)))
        self._offset = restoring.whole(offset, "The place in a file")

    def after_fork(self) -> None:
        """Opens the file again: two processes would move one offset."""
        self.close()

    def close(self) -> None:
        """Closes the file that is open."""
        reader, self._reader = self._reader, None
        if reader is not None:
            self._offset = reader.offset
            reader.close()


_SKIPPED = 1024  # items that are passed over at a time


def check_vector(op: str, name: str, value: Any) -> None:
    """Refuses files that are no scalar or vector.

    Raises:
      InvalidArgumentError: they are not.
    """
    if np.ndim(value) > 1:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{op}: `{name}` must be a scalar or a vector, got shape {list(np.shape(value))}."
            " Flatten it.",
        )


def check_scalar(op: str, name: str, value: Any) -> None:
    """Refuses what is no scalar.

    Raises:
      InvalidArgumentError: it has dimensions.
    """
    if np.ndim(value):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{op}: `{name}` must be a scalar, got shape {list(np.shape(value))}. Give one value.",
        )


def check_least(op: str, name: str, value: int, least: int) -> None:
    """Refuses a number that is too small.

    Raises:
      InvalidArgumentError: it is.
    """
    if value < least:
        sign = ">= 0" if least == 0 else "> 0"
        raise errors.InvalidArgumentError(
            None, None, f"{op}: `{name}` must be {sign}, got {value}. Give a larger one."
        )


def shown(path: bytes) -> str:
    """A path as errors show it."""
    return files.local_path(path)
