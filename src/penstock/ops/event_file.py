"""`EventFile`: the log that TensorBoard opens, a file of records of one Event message each.

The first event names the version of the format. Events are gathered in memory and written when
there are more than `max_queue`, when `flush_millis` have passed since the last time, and at `flush`
and `close`.
"""

import itertools
import os
import socket
import threading
import time
from typing import TYPE_CHECKING, BinaryIO

from penstock import proto
from penstock.core.records import frame

if TYPE_CHECKING:
    from penstock.proto.event_pb2 import Event

FILE_VERSION = "brain.Event:2"
MAX_QUEUE = 10
FLUSH_MILLIS = 120_000
_numbers = itertools.count()


class EventFile:
    """An event file in a folder. Thread-safe.

    Args:
      folder: where the file is made; the folder too, when it is missing.
      max_queue: events kept in memory before they are written.
      flush_millis: milliseconds after which they are written with the next event.
      suffix: the end of the file's name.
      unique: whether the name holds the process and a number, so that no two writers share a file.
    """

    def __init__(
        self,
        folder: str,
        max_queue: int = MAX_QUEUE,
        flush_millis: int = FLUSH_MILLIS,
        suffix: str = "",
        unique: bool = True,
    ) -> None:
        parts = [f"{int(time.time()):010d}", socket.gethostname()]
        if unique:
            parts += [str(os.getpid()), str(next(_numbers))]
        os.makedirs(folder or ".", exist_ok=True)
        self.path = os.path.join(folder, f"events.out.tfevents.{'.'.join(parts)}{suffix}")
        self._max_queue = max_queue
        self._flush_seconds = flush_millis / 1000
        self._lock = threading.Lock()  # guards: _queue, _file, _flushed
        self._queue: list[bytes] = []
        self._file: BinaryIO | None = self._open()
        self._flushed = time.monotonic()

    def add(self, event: "Event") -> None:
        """Adds an event; one without a time gets the time of now."""
        if not event.wall_time:
            event.wall_time = time.time()
        record = frame(event.SerializeToString())
        with self._lock:
            self._queue.append(record)
            late = time.monotonic() - self._flushed >= self._flush_seconds
            if len(self._queue) > self._max_queue or late:
                self._flush()

    def flush(self) -> None:
        """Writes what was added so far."""
        with self._lock:
            self._flush()

    def close(self) -> None:
        """Writes what was added and closes the file; an event added later opens it again."""
        with self._lock:
            self._flush()
            if self._file is not None:
                self._file.close()
                self._file = None

    def _flush(self) -> None:
        self._flushed = time.monotonic()
        if not self._queue:
            return
        if self._file is None:
            self._file = self._open()
        self._file.write(b"".join(self._queue))
        self._file.flush()
        self._queue.clear()

    def _open(self) -> BinaryIO:
        file = open(self.path, "ab")  # noqa: SIM115  # closed by close()
        if file.tell() == 0:
            file.write(_first_record())
            file.flush()
        return file


def _first_record() -> bytes:
    event = proto.event_pb2.Event(wall_time=time.time(), file_version=FILE_VERSION)
    event.source_metadata.writer = "penstock"
    return frame(event.SerializeToString())
