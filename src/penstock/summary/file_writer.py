"""The first generation's `FileWriter`: event files from messages that a session fetched.

It writes nothing but what it is given: summaries, graphs, run metadata, session logs. Metadata of a
series is written with its first value only, as the viewer expects.
"""

import os
import threading
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from penstock import proto
from penstock.checkpoint.meta_graph import export_meta_graph
from penstock.core import context
from penstock.graph.default_graph import get_default_graph
from penstock.graph.graph import Graph
from penstock.ops.event_file import FLUSH_MILLIS, MAX_QUEUE, EventFile

if TYPE_CHECKING:
    from penstock.proto.config_pb2 import RunMetadata
    from penstock.proto.event_pb2 import Event, SessionLog
    from penstock.proto.graph_pb2 import GraphDef
    from penstock.proto.meta_graph_pb2 import MetaGraphDef
    from penstock.proto.summary_pb2 import Summary


def _meta_graph(graph: "Graph | GraphDef") -> "MetaGraphDef":
    """The message of a graph and its collections; those of the default graph for a GraphDef."""
    if isinstance(graph, Graph):
        return export_meta_graph(graph=graph)  # type: ignore[no-any-return]
    return export_meta_graph(  # type: ignore[no-any-return]
        graph=get_default_graph(), graph_def=graph
    )


class FileWriter:
    """A writer of an event file. Thread-safe; may be used in a `with` statement.

    Args:
      logdir: the folder of the file; made when it is missing.
      graph: a Graph to write at once.
      max_queue: how many events may wait in memory.
      flush_secs: after how many seconds they are written with the next event.
      graph_def: deprecated: a GraphDef to write at once.
      filename_suffix: the end of the file's name.
      session: must be None: write through the operations of `tf.summary` instead.

    Raises:
      RuntimeError: operations run eagerly.
    """

    def __init__(
        self,
        logdir: Any,
        graph: Graph | None = None,
        max_queue: int = MAX_QUEUE,
        flush_secs: float = FLUSH_MILLIS // 1000,
        graph_def: "GraphDef | None" = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        if context.executing_eagerly():
            raise RuntimeError(
                "v1.summary.FileWriter is not compatible with eager execution: expected a graph. "
                "Use `tf.summary.create_file_writer`, or a `with v1.Graph().as_default():` context"
            )
        if session is not None:
            raise ValueError(
                f"FileWriter: expected session=None, got {session!r}. Use "
                "tf.summary.create_file_writer in the session's graph."
            )
        self._logdir: str = os.fspath(logdir)
        self._file = EventFile(
            self._logdir, max_queue, int(flush_secs * 1000), filename_suffix or ""
        )
        self._lock = threading.Lock()  # guards: _closed, _with_metadata
        self._closed = False
        self._with_metadata: set[str] = set()
        given = graph_def if graph is None else graph
        if given is not None:
            self.add_graph(graph=graph, graph_def=graph_def)
            self.add_meta_graph(_meta_graph(given))

    def get_logdir(self) -> str:
        """The folder of the file."""
        return self._logdir

    def add_event(self, event: "Event") -> None:
        """Adds an Event; nothing is written while the writer is closed."""
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the "
                "FileWriter is explicitly reopened.",
                stacklevel=2,
            )
        else:
            self._file.add(event)

    def _add(self, event: "Event", step: Any) -> None:
        if step is not None:
            event.step = int(step)
        self.add_event(event)

    def add_summary(self, summary: "Summary | bytes", global_step: Any = None) -> None:
        """Adds a Summary, or one serialised."""
        if isinstance(summary, bytes):
            parsed = proto.summary_pb2.Summary()
            parsed.ParseFromString(summary)
        else:
            parsed = summary
        event = proto.event_pb2.Event()
        event.summary.MergeFromString(parsed.SerializeToString())
        with self._lock:
            for value in event.summary.value:
                if not value.HasField("metadata"):
                    continue
                if value.tag in self._with_metadata:
                    value.ClearField("metadata")
                else:
                    self._with_metadata.add(value.tag)
        self._add(event, global_step)

    def add_graph(
        self, graph: Any, global_step: Any = None, graph_def: "GraphDef | None" = None
    ) -> None:
        """Adds a graph.

        Args:
          graph: a Graph.
          global_step: the step to write it with.
          graph_def: deprecated: a GraphDef instead.

        Raises:
          ValueError: both are given.
          TypeError: neither a Graph nor a GraphDef is given.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        if isinstance(graph, Graph):
            message = graph.as_graph_def(add_shapes=True)
        elif isinstance(graph, proto.graph_pb2.GraphDef):
            message = graph
        elif isinstance(graph_def, proto.graph_pb2.GraphDef):
            message = graph_def
        else:
            raise TypeError(
                f"The passed graph must be an instance of `Graph` or a GraphDef, got {graph!r}."
            )
        self._add(proto.event_pb2.Event(graph_def=message.SerializeToString()), global_step)

    def add_meta_graph(self, meta_graph_def: "MetaGraphDef", global_step: Any = None) -> None:
        """Adds a MetaGraphDef.

        Raises:
          TypeError: it is something else.
        """
        if not isinstance(meta_graph_def, proto.meta_graph_pb2.MetaGraphDef):
            raise TypeError(
                f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}"
            )
        data = meta_graph_def.SerializeToString()
        self._add(proto.event_pb2.Event(meta_graph_def=data), global_step)

    def add_session_log(self, session_log: "SessionLog", global_step: Any = None) -> None:
        """Adds a SessionLog."""
        event = proto.event_pb2.Event()
        event.session_log.MergeFromString(session_log.SerializeToString())
        self._add(event, global_step)

    def add_run_metadata(
        self, run_metadata: "RunMetadata", tag: str, global_step: Any = None
    ) -> None:
        """Adds the RunMetadata of a traced step under a tag.

        Raises:
          ValueError: the tag was used before.
        """
        with self._lock:
            if f"run_metadata:{tag}" in self._with_metadata:
                raise ValueError("The provided tag was already used for this event type")
            self._with_metadata.add(f"run_metadata:{tag}")
        event = proto.event_pb2.Event()
        event.tagged_run_metadata.tag = tag
        event.tagged_run_metadata.run_metadata = run_metadata.SerializeToString()
        self._add(event, global_step)

    def flush(self) -> None:
        """Writes what is held in memory."""
        if not self._closed:
            self._file.flush()

    def close(self) -> None:
        """Flushes and closes; may be called twice."""
        self._closed = True
        self._file.close()

    def reopen(self) -> None:
        """Makes a closed writer write again, at the end of the same file."""
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        unused_type: type[BaseException] | None,
        unused_value: BaseException | None,
        unused_traceback: TracebackType | None,
    ) -> None:
        self.close()


class FileWriterCache:
    """One FileWriter for each folder."""

    _lock: ClassVar[threading.RLock] = threading.RLock()  # guards: _writers
    _writers: ClassVar[dict[str, FileWriter]] = {}

    @staticmethod
    def get(logdir: str) -> FileWriter:
        """The FileWriter of a folder, made when there is none; it writes the current graph."""
        with FileWriterCache._lock:
            found = FileWriterCache._writers.get(logdir)
            if found is None:
                found = FileWriter(logdir, graph=context.state.graph)
                FileWriterCache._writers[logdir] = found
            return found

    @staticmethod
    def clear() -> None:
        """Closes all writers and forgets them."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._writers.values():
                writer.close()
            FileWriterCache._writers.clear()
