"""Readers: what a handle refers to.

A reader takes work units (names of files) from a queue, one after the other, and gives records of
each: pairs of a key and a value. When a unit has no more records it takes the next. `KINDS` are
sources of records: each is a function from a unit to an iterator of (key, value).

What a reader is in the middle of is kept as the unit and the number of records given, so that a
restored reader goes on at the same record.
"""

import itertools
import json
import threading
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

import numpy as np

from penstock import errors
from penstock.core import files
from penstock.core.effects import section
from penstock.core.kernels import KernelContext
from penstock.core.record_files import read_file
from penstock.core.records import FOOTER_BYTES, HEADER_BYTES
from penstock.ops.queue_state import QueueState
from penstock.types import dtypes as dt

Record = tuple[bytes, bytes]
Source = Callable[[bytes], Iterator[Record]]


class Reader:
    """A reader. Thread-safe."""

    def __init__(self, kind: str, name: str, source: Source) -> None:
        self.kind = kind
        self.name = name
        self._source = source
        self.lock = threading.RLock()  # guards: all that follows
        self.produced = 0
        self.completed = 0
        self._unit: bytes | None = None
        self._records: Iterator[Record] = iter(())
        self._given = 0  # records of the unit

    def read(self, ctx: KernelContext, queue: QueueState) -> Record:
        """The next record; waits for a work unit where it needs one.

        Raises:
          OutOfRangeError: the queue is closed and empty.
        """
        with section(ctx, self):
            while True:
                found = self._next()
                if found is not None:
                    return found
                self._start(self._take_unit(ctx, queue))

    def read_up_to(self, ctx: KernelContext, queue: QueueState, count: int) -> list[Record]:
        """Up to `count` records of one work unit, at least one; none for a count of zero.

        Raises:
          OutOfRangeError: the queue is closed and empty.
        """
        if count <= 0:
            return []
        first = self.read(ctx, queue)
        with section(ctx, self):
            records = [first]
            while len(records) < count and (found := self._next(finish=False)) is not None:
                records.append(found)
            return records

    def _next(self, finish: bool = True) -> Record | None:
        """A record of the unit; None when it has no more."""
        if self._unit is None:
            return None
        found = next(self._records, None)
        if found is not None:
            self._given += 1
            self.produced += 1
        elif finish:
            self._unit = None
            self.completed += 1
        return found

    def _start(self, unit: bytes) -> None:
        self._unit, self._given = unit, 0
        self._records = self._source(unit)

    def _take_unit(self, ctx: KernelContext, queue: QueueState) -> bytes:
        if queue.dtypes != (dt.string,):
            queue.refuse("a queue of one string component", str([t.name for t in queue.dtypes]))
        attrs = {**ctx.attrs, "component_types": (dt.string,)}
        inner = KernelContext(ctx.op_name, attrs, ctx.resources, ctx.device, ctx.step)
        unit = np.asarray(queue.dequeue(inner)[0], object)
        if unit.size != 1:
            queue.refuse("elements that are scalars", f"shape {unit.shape}")
        return bytes(unit.reshape(-1)[0])

    def reset(self) -> None:
        """As it was when it was made."""
        with self.lock:
            self._unit, self._records = None, iter(())
            self.produced = self.completed = self._given = 0

    def save(self) -> bytes:
        """What it is in the middle of."""
        with self.lock:
            unit = None if self._unit is None else self._unit.hex()
            state = {
                "kind": self.kind,
                "unit": unit,
                "given": self._given,
                "produced": self.produced,
                "completed": self.completed,
            }
            return json.dumps(state, sort_keys=True).encode()

    def restore(self, state: bytes) -> None:
        """Goes on where `save` was called.

        Raises:
          InvalidArgumentError: it is the state of no such reader.
        """
        try:
            found = json.loads(state)
            unit, given = found["unit"], int(found["given"])
            counts = int(found["produced"]), int(found["completed"])
            if found["kind"] != self.kind or min(given, *counts) < 0:
                raise ValueError(f"it is of a {found['kind']}")
            unit = None if unit is None else bytes.fromhex(unit)
        except (KeyError, TypeError, ValueError) as problem:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Could not parse state for {self}: expected what serialize_state gave, got "
                f"{state[:60]!r} ({problem}).",
            ) from None
        with self.lock:
            self._unit, self._records = None, iter(())
            if unit is not None:
                self._start(unit)
                next(itertools.islice(self._records, given, given), None)
            self._given = given
            self.produced, self.completed = counts

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'"


def _opened(unit: bytes) -> BinaryIO:
    path = files.local_path(unit)
    try:
        return open(path, "rb")
    except OSError as problem:
        raise files.translated(problem, path) from problem


def identity(unit: bytes) -> Iterator[Record]:
    """The unit itself is the only record."""
    yield unit, unit


def whole_file(unit: bytes) -> Iterator[Record]:
    """The contents of a file."""
    with _opened(unit) as file:
        yield unit, file.read()


def text_lines(skip: int) -> Source:
    """The lines of a file, but for the first `skip`."""

    def read(unit: bytes) -> Iterator[Record]:
        with _opened(unit) as file:
            for number, line in enumerate(file, 1):
                if number > skip:
                    key = unit + b":" + str(number).encode()
                    yield key, line.removesuffix(b"\n").removesuffix(b"\r")

    return read


def fixed_length(header: int, record: int, footer: int, hop: int, encoding: str) -> Source:
    """Pieces of `record` bytes, between a header and a footer, `hop` bytes apart."""

    def read(unit: bytes) -> Iterator[Record]:
        with _opened(unit) as file:
            data = file.read()
        if encoding == "ZLIB":
            data = _inflated(data, unit)
        last = len(data) - footer - record
        for number, at in enumerate(range(header, last + 1, hop or record)):
            yield unit + b":" + str(number).encode(), data[at : at + record]

    return read


def _inflated(data: bytes, unit: bytes) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error as problem:
        raise errors.DataLossError(
            None,
            None,
            f"{unit.decode(errors='replace')}: expected a file compressed with zlib, got one that "
            f"is not ({problem}).",
        ) from None


def tf_records(compression: str) -> Source:
    """The records of a TFRecord file; keys are their offsets in it when it is not compressed."""

    def read(unit: bytes) -> Iterator[Record]:
        offset = 0
        for record in read_file(unit, compression):
            yield unit + b":" + str(offset).encode(), record
            offset += len(record) + HEADER_BYTES + FOOTER_BYTES

    return read
