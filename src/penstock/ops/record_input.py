"""`RecordInput`: batches of records from many files, in a random order, without an end.

Each operation has a `RecordStream` of its own, kept from one run to the next. An epoch gives every
record once: the files are shuffled and then turned by `file_shuffle_shift_ratio`, records come from
`file_parallelism` files in turn, and each that is given is drawn from a buffer. The order follows
from the seed alone, where TensorFlow's also depends on how its threads get on.
"""

import itertools
import os
import random
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import files
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.record_files import read_file
from penstock.core.shapes import ShapeContext
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray

_HOST = 1 << 62
_COMPRESSIONS = ("", "GZIP", "ZLIB")


class RecordStream:
    """Records of files, again and again. Thread-safe.

    Args:
      paths: the files, at least one.
      attrs: the attributes of `RecordInput`.
    """

    def __init__(self, paths: Sequence[str], attrs: dict[str, Any]) -> None:
        self._paths = sorted(paths)  # what shuffling starts from does not hang on the file system
        self._attrs = attrs
        self._random = random.Random(attrs["file_random_seed"])
        self._lock = threading.Lock()  # guards: all that follows, and the random state
        self._buffer: list[bytes] = []
        self._records: Iterator[bytes] = iter(())
        self._read = 0  # records of this epoch

    def take(self, count: int) -> list[bytes]:
        """The next `count` records.

        Raises:
          OpError: a file cannot be read; the next call begins an epoch anew.
          OutOfRangeError: the files have no records.
        """
        with self._lock:
            try:
                return [self._next() for _ in range(count)]
            except errors.OpError:
                self._buffer, self._records = [], iter(())
                raise

    def _next(self) -> bytes:
        buffer, size = self._buffer, self._attrs["file_buffer_size"]
        while size < 0 or len(buffer) < size:
            found = next(self._records, None)
            if found is None:
                break
            self._read += 1
            buffer.append(found)
        if not buffer:
            self._begin_epoch()
            return self._next()
        chosen = self._random.randrange(len(buffer))
        buffer[chosen], buffer[-1] = buffer[-1], buffer[chosen]
        return buffer.pop()

    def _begin_epoch(self) -> None:
        order = list(self._paths)
        self._random.shuffle(order)
        first = int(self._attrs["file_shuffle_shift_ratio"] * len(order)) % len(order)
        self._records = self._epoch(order[first:] + order[:first])
        self._read = 0

    def _epoch(self, paths: Sequence[str]) -> Iterator[bytes]:
        """The records of all files, from several of them in turn."""
        compression = self._attrs["compression_type"]
        waiting = iter([read_file(path, compression) for path in paths])
        reading = deque(itertools.islice(waiting, self._attrs["file_parallelism"]))
        while reading:
            current = reading.popleft()
            record = next(current, None)
            if record is not None:
                reading.append(current)
                yield record
            elif (following := next(waiting, None)) is not None:
                reading.appendleft(following)
        if not self._read:
            raise errors.OutOfRangeError(
                None,
                None,
                f"RecordInput: expected records in its files, got none in {list(paths)[:5]}"
                f" ({len(paths)} files). Write some, or give another file_pattern.",
            )


def _record_input_shape(c: ShapeContext) -> Dims:
    batch, parallel, size, compression = (
        c.attr(name)
        for name in ("batch_size", "file_parallelism", "file_buffer_size", "compression_type")
    )
    if batch < 0:
        c.fail("batch_size >= 0", str(batch), "Give the number of records of a batch.")
    if parallel < 1:
        c.fail("file_parallelism >= 1", str(parallel), "Give how many files are read in turn.")
    if size == 0:
        c.fail("file_buffer_size other than 0", "0", "A negative one holds all records.")
    if os.fsdecode(compression) not in _COMPRESSIONS:
        c.fail(f"compression_type one of {list(_COMPRESSIONS)}", repr(compression))
    return (batch,)


RECORD_INPUT = define_op(
    "RecordInput(; file_pattern: string, file_random_seed: int = 301, file_shuffle_shift_ratio:"
    " float = 0.0, file_buffer_size: int = 10000, file_parallelism: int = 16, batch_size: int = 32,"
    " compression_type: string = '') -> records: string",
    shape=_record_input_shape,
    stateful=True,
    doc="Batches of records of TFRecord files, in a random order; commas separate patterns.",
).not_differentiable("it has no inputs")

_lock = threading.Lock()  # guards: the making of streams


@host_kernel(RECORD_INPUT, limit=_HOST)
def _record_input(ctx: KernelContext) -> Array:
    return np.array(_stream_of(ctx).take(ctx.attrs["batch_size"]), object)


def _stream_of(ctx: KernelContext) -> RecordStream:
    """The stream of an operation of a step; eagerly that of all calls with these attributes."""
    attrs = ctx.attrs
    name = f"{ctx.op_name} {sorted(attrs.items())}"
    if ctx.step is None:
        return ctx.resources.lookup_or_create(  # type: ignore[no-any-return]
            "", name, RecordStream, lambda: _opened(attrs)
        )
    with _lock:
        streams = ctx.step.state.setdefault("records", {})
        if name not in streams:
            streams[name] = _opened(attrs)
        return streams[name]  # type: ignore[no-any-return]


def _opened(attrs: dict[str, Any]) -> RecordStream:
    pattern = os.fsdecode(attrs["file_pattern"])
    paths = [path for part in pattern.split(",") if part for path in files.glob(part)]
    if not paths:
        raise errors.NotFoundError(
            None,
            None,
            f"Found no files at {pattern}: RecordInput expected file_pattern to match at least one."
            " Separate several patterns by commas.",
        )
    return RecordStream(paths, attrs)
