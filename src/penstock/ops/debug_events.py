"""`DebugEventsWriter`: the files that the second debugger reads, six of records of one kind each.

What was built (graphs, lines of the program, source files) is kept in full; of what ran
(executions, traces of graphs) the last `circular_buffer_size` records are kept in memory until
they are flushed, or all of them are written at once when it is 0 or less. `writer_of` gives the
writer of a folder, which the operation `DebugIdentityV2` shares with the program that asked for the
files. `code_location` writes the lines of a stack once each and refers to them.
"""

import collections
import linecache
import os
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from penstock import errors, proto
from penstock.core import files
from penstock.core.build_info import VERSION
from penstock.core.records import frame
from penstock.util.frames import Frame

if TYPE_CHECKING:
    from penstock.proto import debug_event_pb2 as messages

FILE_VERSION = "debug.Event:1"
SUFFIXES = ("metadata", "source_files", "stack_frames", "graphs")
EXECUTION_SUFFIXES = ("execution", "graph_execution_traces")
_SCHEME = re.compile(r"([^:/]+)://(.*)", re.DOTALL)


def folder_of(url: str, wrong: Callable[..., errors.OpError]) -> str:
    """The folder that a debug URL names.

    Raises:
      OpError: `wrong` for what is no such URL; UnimplementedError for those of servers.
    """
    match = _SCHEME.fullmatch(url)
    if match is None or match[1] not in ("file", "grpc", "memcbk"):
        raise wrong(None, None, f"Invalid debug target URL: expected file://FOLDER, got {url!r}.")
    if match[1] != "file":
        raise errors.UnimplementedError(
            None,
            None,
            f"Debug target {url!r}: expected file://FOLDER, got {match[1]}://. There are no servers"
            " of debuggers; write to a folder and read it from there.",
        )
    return match[2]


class DebugEventsWriter:
    """Writes the files of a debugged program. Thread-safe.

    Args:
      dump_root: the folder, which is made when it is missing.
      tfdbg_run_id: tells runs with one folder apart.
      circular_buffer_size: records of what ran that are kept until `FlushExecutionFiles`; all are
        written at once when it is 0 or less.
    """

    def __init__(self, dump_root: str, tfdbg_run_id: str, circular_buffer_size: int = 1000) -> None:
        self._root = dump_root
        self.run_id = tfdbg_run_id
        self.circular_buffer_size = circular_buffer_size
        size = circular_buffer_size if circular_buffer_size > 0 else None
        self._lock = threading.RLock()  # guards: all below
        self._kept: dict[str, collections.deque[bytes]] = {
            suffix: collections.deque(maxlen=size) for suffix in EXECUTION_SUFFIXES
        }
        self._devices: dict[str, int] = {}
        self._frames: dict[Frame, str] = {}
        self._sources: dict[str, int] = {}
        self._host = socket.gethostname()
        path = os.path.join(files.local_path(dump_root), f"tfdbg_events.{int(time.time())}")
        try:
            os.makedirs(files.local_path(dump_root), exist_ok=True)
            self._files: dict[str, BinaryIO] = {
                suffix: open(f"{path}.{self._host}.{suffix}", "wb")  # noqa: SIM115 - see Close
                for suffix in SUFFIXES + EXECUTION_SUFFIXES
            }
        except OSError as problem:
            raise files.translated(problem, dump_root) from problem
        metadata = proto.debug_event_pb2.DebugMetadata(
            tensorflow_version=VERSION, file_version=FILE_VERSION, tfdbg_run_id=tfdbg_run_id
        )
        self._write("metadata", debug_metadata=metadata)
        self.FlushNonExecutionFiles()

    @property
    def closed(self) -> bool:
        """Whether `Close` was called."""
        return not self._files

    @property
    def dump_root(self) -> str:
        """The folder."""
        return self._root

    def _write(self, suffix: str, **what: Any) -> None:
        event = proto.debug_event_pb2.DebugEvent(wall_time=time.time(), **what)
        record = frame(event.SerializeToString())
        with self._lock:
            if not self._files:
                return  # closed; a function that was traced before may still run
            if suffix in self._kept and self.circular_buffer_size > 0:
                self._kept[suffix].append(record)
            else:
                self._files[suffix].write(record)

    def WriteSourceFile(self, source_file: "messages.SourceFile") -> None:
        """Writes a file of the program."""
        self._write("source_files", source_file=source_file)

    def WriteStackFrameWithId(self, stack_frame: "messages.StackFrameWithId") -> None:
        """Writes a line of the program."""
        self._write("stack_frames", stack_frame_with_id=stack_frame)

    def WriteGraphOpCreation(self, creation: "messages.GraphOpCreation") -> None:
        """Writes that an operation was added to a graph."""
        self._write("graphs", graph_op_creation=creation)

    def WriteDebuggedGraph(self, graph: "messages.DebuggedGraph") -> None:
        """Writes that there is a graph."""
        self._write("graphs", debugged_graph=graph)

    def WriteExecution(self, execution: "messages.Execution") -> None:
        """Writes or keeps that an eager operation or a function ran."""
        self._write("execution", execution=execution)

    def WriteGraphExecutionTrace(self, trace: "messages.GraphExecutionTrace") -> None:
        """Writes or keeps that a tensor of a graph was computed."""
        self._write("graph_execution_traces", graph_execution_trace=trace)

    def RegisterDeviceAndGetId(self, device_name: str) -> int:
        """The number of a device, which is written when it is new."""
        with self._lock:
            number = self._devices.get(device_name)
            if number is None:
                number = self._devices[device_name] = len(self._devices) + 1
                device = proto.debug_event_pb2.DebuggedDevice(
                    device_name=device_name, device_id=number
                )
                self._write("graphs", debugged_device=device)
        return number

    def code_location(self, stack: Sequence[Frame]) -> "messages.CodeLocation":
        """Where the program stands, as references to its lines, innermost last."""
        with self._lock:
            numbers = [self._frame_id(line) for line in stack]
        return proto.debug_event_pb2.CodeLocation(host_name=self._host, stack_frame_ids=numbers)

    def _frame_id(self, line: Frame) -> str:
        known = self._frames.get(line)
        if known is not None:
            return known
        known = self._frames[line] = str(uuid.uuid4())
        if line.file not in self._sources:
            self._sources[line.file] = len(self._sources)
            lines = [text.rstrip("\n") for text in linecache.getlines(line.file)]
            self.WriteSourceFile(
                proto.debug_event_pb2.SourceFile(
                    file_path=line.file, host_name=self._host, lines=lines
                )
            )
        place = proto.graph_debug_info_pb2.GraphDebugInfo.FileLineCol(
            file_index=self._sources[line.file],
            line=line.line,
            func=line.function,
            code=linecache.getline(line.file, line.line).rstrip("\n"),
        )
        self.WriteStackFrameWithId(
            proto.debug_event_pb2.StackFrameWithId(id=known, file_line_col=place)
        )
        return known

    def FlushNonExecutionFiles(self) -> None:
        """Writes what was built to the disk."""
        with self._lock:
            for suffix in SUFFIXES:
                if suffix in self._files:
                    self._files[suffix].flush()

    def FlushExecutionFiles(self) -> None:
        """Writes what is kept of what ran to the disk; what was built first, as it refers to it."""
        self.FlushNonExecutionFiles()
        with self._lock:
            for suffix in EXECUTION_SUFFIXES:
                if suffix in self._files:
                    self._files[suffix].writelines(self._kept[suffix])
                    self._kept[suffix].clear()
                    self._files[suffix].flush()

    def Close(self) -> None:
        """Flushes and closes the files; what comes after is left out. May be called twice."""
        with self._lock:
            self.FlushExecutionFiles()
            for file in self._files.values():
                file.close()
            self._files = {}


_writers: dict[str, DebugEventsWriter] = {}
_writers_lock = threading.Lock()  # guards: _writers


def writer_of(dump_root: str, tfdbg_run_id: str, circular_buffer_size: int) -> DebugEventsWriter:
    """The writer of a folder; a new one with these settings when there is none.

    One that was closed stays for its run: graphs that were built for it write nothing any more.
    """
    with _writers_lock:
        found = _writers.get(dump_root)
        if found is None or (found.closed and found.run_id != tfdbg_run_id):
            found = DebugEventsWriter(dump_root, tfdbg_run_id, circular_buffer_size)
            _writers[dump_root] = found
    return found
