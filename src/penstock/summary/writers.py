"""Summary writers, and what `tf.summary.write` needs: a default writer, a step, a condition.

These three belong to a thread. A writer is a resource with operations on it, so the same calls
work eagerly, in functions and in graphs; in a graph the write operations are collected for
`all_v2_summary_ops` and the writer's `init()` opens the file.
"""

import contextlib
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from penstock import proto
from penstock.core import context
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import EagerTensor, Tensor, host_array
from penstock.graph.behavior import control_dependencies, current_name_scope, init_scope, name_scope
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation
from penstock.graph.static_values import constant_value
from penstock.ops import summary_writers as ops
from penstock.ops.conditionals import cond
from penstock.ops.event_file import FLUSH_MILLIS, MAX_QUEUE
from penstock.runtime.client import get_default_session
from penstock.types import dtypes as dt

if TYPE_CHECKING:
    from penstock.proto.graph_pb2 import GraphDef

WRITE_OPS = "_SUMMARY_V2"  # collections of a graph, with TensorFlow's names
INIT_OPS = "_SUMMARY_WRITER_V2"
_numbers = itertools.count()


class _State(threading.local):
    """What summaries of one thread go by."""

    writer: "SummaryWriter | None" = None
    step: Any = None  # any: an integer, tensor, variable, or None
    condition: Any = True  # any: a bool, bool tensor, or function without arguments


_state = _State()


class SummaryWriter:
    """Where summaries go. Make one with `create_file_writer` or `create_noop_writer`."""

    def set_as_default(self, step: Any = None) -> None:
        """Makes this the thread's writer from here on, and `step` its step when one is given."""
        _state.writer = self
        if step is not None:
            _state.step = step

    @contextlib.contextmanager
    def as_default(self, step: Any = None) -> Iterator["SummaryWriter"]:
        """A scope in which this is the thread's writer; its end flushes, but in a plain graph."""
        self.check_open()
        before = _state.writer, _state.step
        self.set_as_default(step)
        try:
            yield self
            if context.state.graph is None or context.state.graph.building_function:
                self.flush()  # in a plain graph the program says when
        finally:
            _state.writer = before[0]
            if step is not None:
                _state.step = before[1]

    def check_open(self) -> None:
        """Does nothing while the writer can be written to.

        Raises:
          RuntimeError: it is closed.
        """

    @property
    def writes(self) -> bool:
        """Whether anything is written at all."""
        return False

    def init(self) -> Any:
        """Opens the file: at once, or in a graph by the operation returned."""

    def flush(self) -> Any:
        """Writes what is held in memory: at once, or in a graph by the operation returned."""

    def close(self) -> Any:
        """Flushes and closes: at once, or in a graph by the operation returned."""


class FileSummaryWriter(SummaryWriter):
    """A writer of an event file; see `create_file_writer`."""

    def __init__(
        self, logdir: Any, max_queue: Any, flush_millis: Any, suffix: Any, name: str
    ) -> None:
        self._closed = False
        with init_scope():
            self._eager = context.executing_eagerly()
            unique = f"{name}_{os.getpid()}_{next(_numbers)}" if self._eager else name
            self.resource = execute(ops.WRITER, (), {"shared_name": unique}, name)
            self._init_op = execute(
                ops.CREATE, (self.resource, logdir, max_queue, flush_millis, suffix)
            )
        if self._eager:
            # What is still in memory is written when the writer is let go of, or at exit.
            weakref.finalize(self, self.resource._array.resource.close)
        else:
            self._init_op.graph.add_to_collection(INIT_OPS, self._init_op)

    @property
    def writes(self) -> bool:
        """True: to a file."""
        return True

    def check_open(self) -> None:
        """See SummaryWriter."""
        if self._closed:
            raise RuntimeError(f"SummaryWriter {self!r} is already closed")

    def init(self) -> Any:
        """See SummaryWriter."""
        self.check_open()
        return self._init_op

    def flush(self) -> Any:
        """See SummaryWriter."""
        if self._eager and self._closed:
            return None
        return execute(ops.FLUSH, (self.resource,))

    def close(self) -> Any:
        """See SummaryWriter."""
        if not self._eager or not context.executing_eagerly():
            return execute(ops.CLOSE, (self.resource,))
        if not self._closed:
            self._closed = True
            execute(ops.CLOSE, (self.resource,))
        return None


def create_file_writer(
    logdir: Any,
    max_queue: Any = None,
    flush_millis: Any = None,
    filename_suffix: Any = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: Any = None,
) -> SummaryWriter:
    """A writer of an event file, which TensorBoard opens.

    Args:
      logdir: the folder of the file; made when it is missing.
      max_queue: how many events may wait in memory; 10.
      flush_millis: after how many milliseconds they are written with the next event; 120000.
      filename_suffix: the end of the file's name; ".v2".
      name: the name of its operation.
      experimental_trackable: accepted; a writer has no state that a checkpoint could hold.
      experimental_mesh: must be None: there is no DTensor here.

    Raises:
      ValueError: `logdir` is None, or a mesh is given.
    """
    if logdir is None:
        raise ValueError(
            "create_file_writer: expected a folder, got logdir=None. Argument `logdir` cannot be "
            "None; tf.summary.create_noop_writer() makes a writer that writes nothing."
        )
    if experimental_mesh is not None:
        raise ValueError(
            f"create_file_writer: expected experimental_mesh=None, got {experimental_mesh!r}. "
            "Leave it out."
        )
    folder = os.fspath(logdir) if isinstance(logdir, os.PathLike) else logdir
    return FileSummaryWriter(
        folder,
        MAX_QUEUE if max_queue is None else max_queue,
        FLUSH_MILLIS if flush_millis is None else flush_millis,
        ".v2" if filename_suffix is None else filename_suffix,
        name or "summary_writer",
    )


def create_noop_writer() -> SummaryWriter:
    """A writer that writes nothing, for where summaries are not wanted."""
    return SummaryWriter()


# ---- step and condition


def get_step() -> Any:
    """The thread's step as it was set, or None."""
    return _state.step


def set_step(step: Any) -> None:
    """Sets the thread's step: an integer, an int64 scalar tensor, a variable, or None.

    In a function, an integer is read while it is traced; a variable is read at every call.
    """
    _state.step = step


@contextlib.contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """A scope in which summaries are written only if `condition` holds.

    Args:
      condition: a bool, a bool scalar tensor, or a function of no arguments that returns one. A
        tensor that a graph or function computes decides at each run.
    """
    before = _state.condition
    _state.condition = condition
    try:
        yield
    finally:
        _state.condition = before


def should_record_summaries() -> Tensor:
    """Whether a summary written now would be recorded: a bool scalar."""
    if _state.writer is None or not _state.writer.writes:
        return convert_to_tensor(False)  # type: ignore[no-any-return]
    condition = _state.condition() if callable(_state.condition) else _state.condition
    return convert_to_tensor(condition, dt.bool_)  # type: ignore[no-any-return]


def _known(condition: Tensor) -> bool | None:
    """The value of a condition; None when a graph computes it."""
    if isinstance(condition, EagerTensor):
        return bool(host_array(condition))
    value = constant_value(condition)
    return None if value is None else bool(value)


@contextlib.contextmanager
def summary_scope(
    name: str, default_name: str = "summary", values: Any = None
) -> Iterator[tuple[str, str]]:
    """A scope for a summary's operations; gives its tag, and the name of the scope.

    Args:
      name: the summary's name; the tag is this after the scopes around.
      default_name: stands for an empty name.
      values: accepted as TensorFlow does; the current graph is used.
    """
    wanted = name or default_name
    tag = f"{current_name_scope()}{wanted}"
    with name_scope(text_of_scope(wanted)) as scope:
        yield tag, scope


def text_of_scope(name: str) -> str:
    """`name` with only the characters that a scope may have."""
    text = "".join(c if c.isascii() and (c.isalnum() or c in "_.-/") else "_" for c in name)
    return text if text[:1].isalnum() or text[:1] == "." else f"s{text}"


# ---- writing


def write(
    tag: Any, tensor: Any, step: Any = None, metadata: Any = None, name: str | None = None
) -> Tensor:
    """Writes a tensor under a tag to the thread's writer.

    Args:
      tag: what the series is called.
      tensor: any dtype and shape, or a function without arguments that makes it, which is called
        only when it is needed.
      step: an integer scalar; the thread's step when None.
      metadata: a SummaryMetadata, or one serialised: which part of the viewer the tensor is for.
      name: the name of the operation.

    Returns:
      A bool scalar: whether it was written.

    Raises:
      ValueError: there is a writer but no step.
      NotFoundError: the writer is closed.
    """
    if metadata is None:
        metadata = b""
    elif hasattr(metadata, "SerializeToString"):
        metadata = metadata.SerializeToString()

    def run(resource: Any, at: Any) -> Any:
        value = convert_to_tensor(tensor() if callable(tensor) else tensor)
        return execute(ops.WRITE, (resource, at, value, tag, metadata), None, name)

    return _written(run, step)


def write_raw_pb(tensor: Any, step: Any = None, name: str | None = None) -> Tensor:
    """Writes serialised Summary messages as they are.

    Args:
      tensor: string, each element a Summary message.
      step: int64[]; that of `tf.summary.experimental.set_step` when None.
      name: the name in a graph.

    Returns:
      A bool scalar: whether they were written.
    """
    return _written(
        lambda resource, at: execute(ops.WRITE_RAW, (resource, at, tensor), None, name), step
    )


def _written(run: Callable[[Any, Any], Any], step: Any) -> Tensor:
    writer = _state.writer
    if writer is None or not writer.writes:
        return convert_to_tensor(False)  # type: ignore[no-any-return]
    wanted = should_record_summaries()
    known = _known(wanted)
    if known is False:
        return convert_to_tensor(False)  # type: ignore[no-any-return]
    step = get_step() if step is None else step
    if step is None:
        raise ValueError(
            "No step set: expected one for the summary, got None. Please specify one either through"
            " the `step` argument or through tf.summary.experimental.set_step()"
        )
    assert isinstance(writer, FileSummaryWriter)
    resource = writer.resource

    def record() -> Any:
        return run(resource, _as_step(step))

    if known:
        made = record()
        in_graph = isinstance(made, Operation | SymbolicTensor)
        result = _true_after(made) if in_graph else convert_to_tensor(True)
    else:
        made = result = cond(wanted, lambda: _true_after(record()), lambda: False)
    if isinstance(made, Operation | SymbolicTensor) and not made.graph.building_function:
        made.graph.add_to_collection(WRITE_OPS, result)
    return result  # type: ignore[no-any-return]


def _true_after(operation: Any) -> Any:
    with control_dependencies([operation]):
        return convert_to_tensor(True)


def _as_step(step: Any) -> Any:
    return convert_to_tensor(step, dt.int64)


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> Any:
    """Makes `writer`, or the thread's, write what it holds in memory.

    Returns:
      In a graph, the operation that does so; else None.
    """
    writer = _state.writer if writer is None else writer
    return None if writer is None else writer.flush()


def graph(graph_data: "Graph | GraphDef") -> bool:
    """Writes a graph to the thread's writer, for the viewer's graph page. Eagerly only.

    Args:
      graph_data: a Graph (such as `function.get_concrete_function(...).graph`), or a GraphDef.

    Returns:
      Whether it was written.

    Raises:
      ValueError: it is called in a graph or function, or `graph_data` is neither.
    """
    if not context.executing_eagerly():
        raise ValueError(
            "graph() cannot be invoked inside a graph context: expected eager execution. "
            "Call it after the function was traced."
        )
    if isinstance(graph_data, Graph):
        message = graph_data.as_graph_def(add_shapes=True)
    elif isinstance(graph_data, proto.graph_pb2.GraphDef):
        message = graph_data
    else:
        raise ValueError(
            f"tf.summary.graph: expected a tf.Graph or a GraphDef, got {type(graph_data).__name__}."
        )
    written = _written(
        lambda resource, at: execute(ops.WRITE_GRAPH, (resource, at, message.SerializeToString())),
        0,
    )
    return bool(written)


# ---- the first generation's names


def all_v2_summary_ops() -> list[Any] | None:
    """For each summary of the current graph the tensor that writes it; None eagerly."""
    if context.executing_eagerly():
        return None
    return list(context.state.graph.get_collection(WRITE_OPS))


def initialize(graph: Graph | None = None, session: Any = None) -> None:
    """Opens the writers of the current graph in `session`, and writes `graph` to the thread's one.

    Does nothing eagerly.

    Raises:
      RuntimeError: there is no default writer.
      ValueError: there is no session.
    """
    if context.executing_eagerly():
        return
    if _state.writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    session = session or get_default_session()
    if session is None:
        raise ValueError("Argument `session must be passed if no default session exists")
    session.run(context.state.graph.get_collection(INIT_OPS))
    if graph is not None and isinstance(_state.writer, FileSummaryWriter):
        data = graph.as_graph_def(add_shapes=True).SerializeToString()
        session.run(execute(ops.WRITE_GRAPH, (_state.writer.resource, 0, data)))
