"""Writing the tensors of objects: at once, in a thread, or by an operation of a graph.

Eagerly a variable's array is borrowed, not copied: the lease keeps updates from overwriting it in
place while it is written, so saving in a thread stops training for no longer than it takes to
collect the leases. In a graph and inside functions the tensors go through SaveV2.
"""

import dataclasses
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.checkpoint import object_graph
from penstock.checkpoint.object_graph import ObjectGraph
from penstock.checkpoint.options import OBJECT_GRAPH_KEY
from penstock.checkpoint.sharding import write_sharded
from penstock.core.bundle.writer import BundleWriter
from penstock.core.convert import convert_to_tensor
from penstock.core.effects import switch
from penstock.core.execute import execute
from penstock.core.resources import VariableCell
from penstock.core.tensor import EagerTensor, host_array
from penstock.graph.behavior import control_dependencies
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType


@dataclasses.dataclass(slots=True)
class Snapshot:
    """Values to be written: key, array, dtype; and what keeps them from changing."""

    values: list[tuple[str, Any, DType]]
    leases: list[Any]
    owners: list[Any]  # the object that each value belongs to, None for the graph of objects

    def write(self, prefix: str, callback: Any = None) -> None:
        """Writes the values as a bundle, whose data files a ShardingCallback may choose."""
        if callback is not None:
            write_sharded(prefix, self.values, self.owners, callback)
            return
        writer = BundleWriter(prefix)
        for key, array, dtype in self.values:
            writer.add(key, np.asarray(array), dtype)
        writer.finish()


def take_snapshot(graph: ObjectGraph) -> Snapshot:
    """The present values of all objects, eagerly.

    Raises:
      FailedPreconditionError: a variable has no value.
    """
    snapshot = Snapshot([], [], [])
    names: dict[int, list[str]] = {}
    for number, node in enumerate(graph.nodes):
        if object_graph.is_variable(node) and node._cell is not None:
            names[number] = ["VARIABLE_VALUE"]
            node._cell.read()  # refuses a variable without a value
            array, lease = _borrowed(node._cell)
            snapshot.leases.append(lease)
            snapshot.values.append((graph.key(number, "VARIABLE_VALUE"), array, node.dtype))
            snapshot.owners.append(node)
            continue
        tensors = node._serialize_to_tensors()
        names[number] = list(tensors)
        for name, value in tensors.items():
            tensor = value if isinstance(value, EagerTensor) else convert_to_tensor(value)
            snapshot.leases.append(tensor)
            snapshot.values.append((graph.key(number, name), host_array(tensor), tensor.dtype))
            snapshot.owners.append(node)
    message = object_graph.to_proto(graph, names).SerializeToString(deterministic=True)
    text = np.empty((), object)
    text[()] = message
    snapshot.values.append((OBJECT_GRAPH_KEY, text, dt.string))
    snapshot.owners.append(None)
    return snapshot


def _borrowed(cell: VariableCell) -> tuple[Any, Any]:
    log = switch.log
    if log is None:
        return cell.borrow()
    with log.turn(None, "SaveV2", (cell,)):
        return cell.borrow()


def add_save(graph: ObjectGraph, prefix: Any) -> Any:
    """Adds the operations that save all objects to the graph in force.

    Args:
      graph: the objects.
      prefix: a string scalar.

    Returns:
      The prefix as a tensor that is there once everything is written.
    """
    keys, tensors = [], []
    names: dict[int, list[str]] = {}
    for number, node in enumerate(graph.nodes):
        found = node._serialize_to_tensors()
        names[number] = list(found)
        for name, value in found.items():
            keys.append(graph.key(number, name))
            tensors.append(convert_to_tensor(value))
    message = object_graph.to_proto(graph, names).SerializeToString(deterministic=True)
    keys.append(OBJECT_GRAPH_KEY)
    tensors.append(convert_to_tensor(message, dt.string))
    saved = execute(
        "SaveV2",
        (prefix, keys, [""] * len(keys), tensors),
        {"dtypes": [tensor.dtype for tensor in tensors]},
    )
    with control_dependencies([saved]):
        return execute("Identity", (prefix,))


class Background:
    """Writes one checkpoint at a time in a thread. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards: _thread, _problem
        self._thread: threading.Thread | None = None
        self._problem: BaseException | None = None

    def start(self, work: Callable[[], None]) -> None:
        """Runs `work` once the work before it is done."""
        self.wait()

        def run() -> None:
            try:
                work()
            except BaseException as problem:  # told to whoever waits
                self._problem = problem

        thread = threading.Thread(target=run, name="penstock-checkpoint")
        with self._lock:
            self._thread = thread
        thread.start()

    def wait(self) -> None:
        """Waits for the work, and raises what it raised."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        with self._lock:
            problem, self._problem = self._problem, None
        if problem is not None:
            raise problem


def prefix_text(path: Any) -> str:
    """A prefix given as text, path or string tensor.

    Raises:
      TypeError: it is none of these.
      InvalidArgumentError: it is empty.
    """
    value = path.numpy() if isinstance(path, EagerTensor) else path
    try:
        text = os.fsdecode(value)
    except TypeError:
        raise TypeError(
            f"expected the prefix of a checkpoint as text or path, got {path!r} of type "
            f"{type(path).__name__}. Pass for example '/folder/ckpt'."
        ) from None
    if not text or text.endswith("/"):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"expected the prefix of a checkpoint, got {text!r}. Add a name to the folder: "
            "'/folder/ckpt'.",
        )
    return text
