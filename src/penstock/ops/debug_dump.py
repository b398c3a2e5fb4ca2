"""`tf.debugging.experimental.enable_dump_debug_info`: what a program builds and runs, in files.

While it is on, a `DumpObserver` sees this thread's operations. Eager ones and calls of functions
are written as executions, with what the mode keeps of their outputs; operations of graphs as
creations, with the program's lines. In a graph each output that is looked at is given to a
`DebugIdentityV2`, which writes a trace whenever the graph runs: in functions it runs for its
effect, in graphs of sessions its output takes the tensor's place. The files are those of
`debug_events`, which TensorFlow's readers open.
"""

import atexit
import re
import uuid
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import proto
from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.op_def import OpDef
from penstock.core.tensor import EagerTensor
from penstock.graph.tensor_proto import array_to_proto
from penstock.ops import observers
from penstock.ops.array_basics import constant, identity
from penstock.ops.debug_events import DebugEventsWriter, writer_of
from penstock.ops.debug_ops import IDENTITY_V2, SUMMARY_V2
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType, as_dtype
from penstock.util.frames import user_stack

if TYPE_CHECKING:
    from penstock.proto.tensor_pb2 import TensorProto

NO_TENSOR, SHAPE, FULL_TENSOR = 1, 5, 7
MODES = {
    "NO_TENSOR": NO_TENSOR,
    "CURT_HEALTH": 2,
    "CONCISE_HEALTH": 3,
    "FULL_HEALTH": 4,
    "SHAPE": SHAPE,
    "FULL_TENSOR": FULL_TENSOR,
}
_OTHER_MODES = ("UNSPECIFIED", "FULL_NUMERICS", "REDUCE_INF_NAN_THREE_SLOTS")
PASSED_OVER = frozenset(
    (
        "DebugIdentityV2 DebugNumericSummaryV2 Identity Enter Exit NextIteration Switch Merge "
        "LoopCond RefEnter RefExit RefNextIteration RefSwitch RefMerge RefIdentity If StatelessIf "
        "While StatelessWhile Case StatelessCase For PartitionedCall StatefulPartitionedCall"
    ).split()
)
_PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
Filter = Callable[[DType], bool]


class DumpObserver:
    """Writes what a thread builds and runs.

    Args:
      writer: of the files.
      mode: a number of `MODES`.
      op_regex: a pattern that the type of an operation begins with if its tensors are looked at.
      dtype_filter: says of which dtypes tensors are looked at.
    """

    def __init__(
        self, writer: DebugEventsWriter, mode: int, op_regex: Any, dtype_filter: Filter | None
    ) -> None:
        self.writer = writer
        self.mode = mode
        self.op_regex = None if op_regex is None else re.compile(op_regex)
        self.dtype_filter = dtype_filter
        self._graph_ids: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._seen: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._added: weakref.WeakSet[Any] = weakref.WeakSet()  # operations of this observer's own
        self._watches: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._eager_ids: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._last_id = 0

    @property
    def key(self) -> Hashable:
        """Functions are traced again for other files and other choices."""
        return self.writer.run_id, self.writer.dump_root, self.mode, self.op_regex, id(self)

    # ---- eager -----------------------------------------------------------------------------------

    def observe(
        self, op: OpDef, inputs: Sequence[Any], outputs: Sequence[Any], node: Any
    ) -> Sequence[Any]:
        """The outputs that take the place of an operation's own; `node` is None eagerly."""
        if node is None:
            self._execution(op.name, inputs, outputs, "")
            return outputs
        if op.name in ("DebugIdentityV2", "DebugNumericSummaryV2"):
            return outputs
        self._catch_up(node.graph)
        watches = [self._watches.get(tensor.op) for tensor in node.inputs]
        node.add_control_inputs([watch for watch in watches if watch is not None])
        return [self._watched(node, i, tensor) for i, tensor in enumerate(outputs)]

    def look_at(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any], graph: Any) -> None:
        """Writes that a function ran."""
        self._catch_up(graph)
        self._execution(name, inputs, outputs, self._graph_ids[graph])

    def _execution(
        self, name: str, inputs: Sequence[Any], outputs: Sequence[Any], graph_id: str
    ) -> None:
        writer = self.writer
        before, state.observer = state.observer, None
        try:
            kept = [] if self.mode == NO_TENSOR else [self._kept(name, t) for t in outputs]
        finally:
            state.observer = before
        writer.WriteExecution(
            proto.debug_event_pb2.Execution(
                op_type=name,
                num_outputs=len(outputs),
                graph_id=graph_id,
                input_tensor_ids=[self._eager_id(tensor) for tensor in inputs],
                output_tensor_ids=[self._eager_id(tensor) for tensor in outputs],
                tensor_debug_mode=self.mode,  # type: ignore[arg-type]
                tensor_protos=kept,
                code_location=writer.code_location(user_stack()),
                output_tensor_device_ids=[
                    writer.RegisterDeviceAndGetId(getattr(tensor, "device", "") or "")
                    for tensor in outputs
                ],
            )
        )

    def _eager_id(self, tensor: Any) -> int:
        """A number that no other tensor has, as `id` may once the tensor is gone."""
        known = self._eager_ids.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        key, self._last_id = id(tensor), self._last_id + 1
        forget = self._eager_ids.pop
        self._eager_ids[key] = weakref.ref(tensor, lambda _: forget(key, None)), self._last_id
        return self._last_id

    def _kept(self, name: str, tensor: Any) -> "TensorProto":
        """What the mode keeps of an eager tensor: an empty message for what is not looked at."""
        if not isinstance(tensor, EagerTensor) or not self._is_looked_at(name, tensor.dtype):
            return proto.tensor_pb2.TensorProto()
        if self.mode != FULL_TENSOR:
            tensor = execute(
                SUMMARY_V2, (tensor,), {"output_dtype": dt.float64, "tensor_debug_mode": self.mode}
            )
        return array_to_proto(np.asarray(tensor._array), tensor.dtype)

    def _is_looked_at(self, op_type: str, dtype: DType) -> bool:
        if dtype in (dt.resource, dt.variant) or dtype._is_ref_dtype:
            return False
        if self.op_regex is not None and self.op_regex.match(op_type) is None:
            return False
        if self.dtype_filter is not None and not self.dtype_filter(dtype):
            return False
        if self.mode in (NO_TENSOR, FULL_TENSOR):
            return True
        numbers = dtype.is_integer or dtype.is_bool if self.mode == SHAPE else False
        return dtype.is_floating or numbers

    # ---- graphs ----------------------------------------------------------------------------------

    def graph_id(self, graph: Any) -> str:
        """The name of a graph in the files, which is written when the graph is new."""
        known = self._graph_ids.get(graph)
        if known is None:
            outer = getattr(graph, "outer_graph", None)
            around = "" if outer is None else self.graph_id(outer)
            known = self._graph_ids[graph] = str(uuid.uuid4())
            name = getattr(graph, "name", None) or ""
            described = proto.debug_event_pb2.DebuggedGraph(
                graph_id=known, graph_name=name, outer_context_id=around
            )
            self.writer.WriteDebuggedGraph(described)
        return known

    def _catch_up(self, graph: Any) -> None:
        """Writes what was added to a graph since, also where no observer sees it."""
        self.graph_id(graph)
        start, now = self._seen.get(graph, 0), graph.version
        if start == now:
            return
        for node in graph.get_operations()[start:]:
            if node not in self._added:
                self._creation(node)
        self._seen[graph] = now

    def _creation(self, node: Any) -> None:
        ids = range(self._last_id + 1, self._last_id + 1 + len(node.outputs))
        self._last_id += len(node.outputs)
        self.writer.WriteGraphOpCreation(
            proto.debug_event_pb2.GraphOpCreation(
                op_type=node.type,
                op_name=node.name,
                graph_name=getattr(node.graph, "name", None) or "",
                graph_id=self.graph_id(node.graph),
                device_name=node.device,
                input_names=[self._name_of(tensor) for tensor in node.inputs],
                num_outputs=len(node.outputs),
                code_location=self.writer.code_location(node.frames),
                output_tensor_ids=ids,
            )
        )
        node.__dict__["_debug_ids"] = ids

    def _name_of(self, tensor: Any) -> str:
        """A tensor's name; of one that took another's place, the other's."""
        while tensor.op in self._added:
            tensor = tensor.op.inputs[0]
        return str(tensor.name)

    def _watched(self, node: Any, index: int, tensor: Any) -> Any:
        if node.type in PASSED_OVER or not self._is_looked_at(node.type, tensor.dtype):
            return tensor
        before, state.observer = state.observer, None
        graph = node.graph
        try:
            # outside of the program's scopes, which would name or place what they hold
            with graph.control_dependencies(None), graph.colocate_with(None, True):
                debug = self._debug_tensor(node, index, tensor)
                if graph.building_function:
                    return tensor
                if node.type in _PLACEHOLDERS:  # it is fed by this very tensor
                    self._watches[node] = debug.op
                    return tensor
                if self.mode == FULL_TENSOR:
                    return debug
                with graph.control_dependencies([debug]):
                    replaced = identity(tensor, name=f"{node.name}/debug_{index}/")
                self._added.add(replaced.op)
                return replaced
        finally:
            state.observer = before
            self._seen[graph] = graph.version

    def _debug_tensor(self, node: Any, index: int, tensor: Any) -> Any:
        """What writes the trace: the tensor, the mode's summary of it, or nothing, passed on."""
        number, value = node.__dict__["_debug_ids"][index], tensor
        name = f"{node.name}/DebugIdentityV2_{index}/"
        if self.mode == NO_TENSOR:
            with state.graph.control_dependencies([node]):
                value = constant([], dt.float32, name=f"{node.name}/debug_nothing_{index}/")
        elif self.mode != FULL_TENSOR:
            attrs = {
                "output_dtype": dt.float64,
                "tensor_debug_mode": self.mode,
                "tensor_id": number,
            }
            value = execute(SUMMARY_V2, (tensor,), attrs, f"{node.name}/debug_summary_{index}/")
        if value is not tensor:
            self._added.add(value.op)
        with state.graph.control_dependencies([node]):
            debug = execute(
                IDENTITY_V2,
                (value,),
                {
                    "tfdbg_context_id": self.graph_id(node.graph),
                    "op_name": node.name,
                    "output_slot": index,
                    "tensor_debug_mode": self.mode,
                    "debug_urls": [f"file://{self.writer.dump_root}"],
                    "circular_buffer_size": self.writer.circular_buffer_size,
                    "tfdbg_run_id": self.writer.run_id,
                },
                name,
            )
        self._added.add(debug.op)
        return debug

    def finish(self) -> None:
        """Writes what graphs hold that was not seen, and closes the files."""
        for graph in list(self._seen):
            self._catch_up(graph)
        self.writer.Close()


def enable_dump_debug_info(
    dump_root: str,
    tensor_debug_mode: str = "NO_TENSOR",
    circular_buffer_size: int = 1000,
    op_regex: Any = None,
    tensor_dtypes: Any = None,
) -> DebugEventsWriter:
    """Writes what this thread builds and runs into files that debuggers read.

    Eager operations, calls of functions, graphs and every computation of their tensors are
    recorded, with the lines of the program. A `tf.function` that was traced before is traced again.
    Recorded tensors leave the compiled regions that they were part of.

    Args:
      dump_root: the folder of the files.
      tensor_debug_mode: what is kept of a tensor: "NO_TENSOR" (that it was computed),
        "CURT_HEALTH" (whether it holds NaN or infinities), "CONCISE_HEALTH" (how many),
        "FULL_HEALTH" (also of negative, zero and positive numbers), "SHAPE", "FULL_TENSOR".
      circular_buffer_size: of what ran, so many records are kept, the last ones, until
        `FlushExecutionFiles` of the result or `disable_dump_debug_info`; all when it is 0 or less.
      op_regex: only tensors of operations are looked at whose type begins with this pattern.
      tensor_dtypes: only tensors of these dtypes (or names), or for which this function of a dtype
        is true, are looked at.

    Returns:
      The writer of the files: a DebugEventsWriter.

    Raises:
      NotImplementedError: the mode is not there in TensorFlow either.
      TypeError, ValueError: an argument is none of these, or this folder is in use with a different
        mode, or any folder with another buffer.

    Example:
      >>> import glob, os, tempfile
      >>> import penstock as tf
      >>> folder = tempfile.mkdtemp()
      >>> writer = tf.debugging.experimental.enable_dump_debug_info(folder, "FULL_HEALTH")
      >>> _ = tf.math.log(tf.constant([1.0, 0.0]))
      >>> tf.debugging.experimental.disable_dump_debug_info()
      >>> len(glob.glob(os.path.join(folder, "tfdbg_events.*")))
      6
    """
    mode = _mode(tensor_debug_mode)
    if not dump_root:
        raise ValueError(
            f"enable_dump_debug_info: Empty or None dump root: expected a folder, got"
            f" {dump_root!r}."
        )
    given: tuple[Any, Any] = (dump_root, circular_buffer_size)
    if not isinstance(given[0], str) or not isinstance(given[1], int):
        raise TypeError(
            "enable_dump_debug_info: expected dump_root: str and circular_buffer_size: int, got"
            f" {dump_root!r} and {circular_buffer_size!r}."
        )
    chosen = _filter(tensor_dtypes)
    current = observers.find(DumpObserver)
    if current is not None:
        _check_same(current, dump_root, mode, circular_buffer_size)
        if current.writer.dump_root != dump_root:
            current.finish()
            current = None
    if current is None:
        writer = writer_of(dump_root, uuid.uuid4().hex[:8], circular_buffer_size)
    else:
        writer = current.writer
    observers.add(DumpObserver(writer, mode, op_regex, chosen))
    atexit.register(writer.Close)
    return writer


def _mode(name: Any) -> int:
    if name in MODES:
        return MODES[name]
    if name in _OTHER_MODES:
        raise NotImplementedError(
            f"enable_dump_debug_info: tensor debug mode {name} is not implemented, in TensorFlow"
            f" neither. Use one of {list(MODES)}."
        )
    raise ValueError(
        f"enable_dump_debug_info: Invalid value in tensor_debug_mode ({name!r}). Valid options are:"
        f" {list(MODES)}."
    )


def _filter(tensor_dtypes: Any) -> Filter | None:
    if tensor_dtypes is None or callable(tensor_dtypes):
        return tensor_dtypes  # type: ignore[no-any-return]
    if isinstance(tensor_dtypes, (list, tuple)):
        wanted = frozenset(as_dtype(each) for each in tensor_dtypes)
        return wanted.__contains__
    raise ValueError(
        "enable_dump_debug_info: If specified, tensor_dtypes is expected to be a list, a tuple, or"
        f" a callable that takes a DType argument and returns a boolean, but received"
        f" {tensor_dtypes!r}."
    )


def _check_same(current: DumpObserver, dump_root: str, mode: int, size: int) -> None:
    writer = current.writer
    if writer.circular_buffer_size != size:
        raise ValueError(
            "enable_dump_debug_info: There is already a dumping callback configured with a"
            f" different circular-buffer size ({writer.circular_buffer_size}): got {size}. Call"
            " disable_dump_debug_info first."
        )
    if writer.dump_root == dump_root and current.mode != mode:
        names = {number: name for name, number in MODES.items()}
        raise ValueError(
            f"enable_dump_debug_info: There is already a dumping callback configured for dump root"
            f" {dump_root} with a different tensor-debug mode ({names[current.mode]}): got"
            f" {names[mode]}. Call disable_dump_debug_info first."
        )


def disable_dump_debug_info() -> None:
    """Undoes `enable_dump_debug_info` in this thread, and closes its files; may be called twice.

    Graphs that were built meanwhile keep their operations, which write nothing any more; functions
    are traced again without them.
    """
    current = observers.find(DumpObserver)
    if current is not None:
        observers.remove(DumpObserver)
        current.finish()
