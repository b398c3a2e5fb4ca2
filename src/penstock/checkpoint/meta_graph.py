"""MetaGraphDef: a graph with its collections and the names of what saves it.

Collections of variables are written as VariableDef messages, those of numbers and strings by value,
all others by the names of what they hold; `register_collection` adds kinds of objects with
messages of their own (queue runners). `import_meta_graph` is in `restore_graph`, since it
returns a Saver.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

from penstock import proto
from penstock.config import get_logger
from penstock.core import files
from penstock.core.bundle.paths import write_atomically
from penstock.core.context import state
from penstock.core.op_def import REQUIRED, find
from penstock.graph.attr_values import attr_to_proto
from penstock.graph.default_graph import get_default_graph
from penstock.graph.graph import Graph
from penstock.graph.graph_def import as_graph_def
from penstock.graph.op_messages import write_op_def
from penstock.ops.critical_section import EXECUTIONS
from penstock.ops.queue_runner import QUEUE_RUNNERS, QueueRunner
from penstock.ops.trackable_resource import TrackableResource
from penstock.ops.variables import Variable
from penstock.ops.variables_v1 import GraphKeys

TENSORFLOW_VERSION = "2.21.0"  # whose format this is
UNBOUND = "$unbound_inputs_"
_VARIABLES = (
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.METRIC_VARIABLES,
    GraphKeys.CONCATENATED_VARIABLES,
    GraphKeys.GLOBAL_STEP,
    GraphKeys.TRAINABLE_RESOURCE_VARIABLES,
)
FromMessage = Callable[..., Any]
_messages: dict[str, tuple[Callable[[], Any], FromMessage]] = {}  # collection -> message, reader


def register_collection(name: str, message: Callable[[], Any], from_proto: FromMessage) -> None:
    """Says how objects of a collection are written: each has `to_proto(export_scope)`.

    Args:
      name: the collection's name.
      message: makes an empty message.
      from_proto: makes an object of a message and `import_scope=`.
    """
    _messages[name] = message, from_proto


for _name in _VARIABLES:
    register_collection(_name, lambda: proto.variable_pb2.VariableDef(), Variable.from_proto)
register_collection(
    QUEUE_RUNNERS, lambda: proto.queue_runner_pb2.QueueRunnerDef(), QueueRunner.from_proto
)


def refuse_eager() -> None:
    """Refuses to work without a graph.

    Raises:
      RuntimeError: there is none.
    """
    if state.graph is None:
        raise RuntimeError(
            "Exporting/importing meta graphs is not supported when eager execution is enabled. No "
            "graph exists when eager execution is enabled. Enter one with "
            "`with tf.Graph().as_default():`."
        )


def export_meta_graph(
    filename: Any = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Any = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> Any:
    """A graph with its collections as a message, and as a file.

    Args:
      filename: the file; none is written when None.
      meta_info_def: a MetaInfoDef to put in.
      graph_def: a GraphDef in place of the graph's own.
      saver_def: a SaverDef to put in.
      collection_list: the collections to put in; all when None.
      as_text: whether the file has the text form.
      graph: the graph; the default one when None.
      export_scope: only what is below this name scope, which is taken off the names.
      clear_devices: whether devices are left out.
      clear_extraneous_savers: whether other savers are left out, with all operations in the name
        scopes of theirs.
      strip_default_attrs: whether attributes that have their default values are left out.
      save_debug_info: accepted for compatibility.
      **kwargs: refused.

    Returns:
      A MetaGraphDef.

    Raises:
      RuntimeError: in eager mode.
      TypeError: `graph` is no graph.
    """
    if kwargs:
        raise TypeError(f"export_meta_graph: unexpected arguments {sorted(kwargs)}")
    if graph is None:
        refuse_eager()
    graph = get_default_graph() if graph is None else graph
    if not isinstance(graph, Graph):
        raise TypeError(f"graph must be of type Graph. Received type: {type(graph)}.")
    message = proto.meta_graph_pb2.MetaGraphDef()
    if meta_info_def is not None:
        message.meta_info_def.ParseFromString(meta_info_def.SerializeToString())
    message.meta_info_def.tensorflow_version = TENSORFLOW_VERSION
    if graph_def is None:
        message.graph_def.CopyFrom(as_graph_def(graph, add_shapes=True))
    else:
        message.graph_def.ParseFromString(graph_def.SerializeToString())
    if export_scope:
        _keep_scope(message.graph_def, export_scope)
    if clear_extraneous_savers:
        _drop_savers(message.graph_def, saver_def)
    if clear_devices:
        for node in message.graph_def.node:
            node.device = ""
    finish_info(message, strip_default_attrs)
    if saver_def is not None:
        message.saver_def.ParseFromString(saver_def.SerializeToString())
    for key in collection_list if collection_list is not None else graph.get_all_collection_keys():
        add_collection(message, graph, key, export_scope)
    if clear_extraneous_savers:
        _keep_saver(message, saver_def)
    if filename:
        write_message(filename, message, as_text)
    return message


_SAVING = frozenset({"SaveV2", "RestoreV2", "SaveSlices"})


def _drop_savers(graph_def: Any, kept: Any) -> None:
    """Drops the name scopes of all savers but one."""
    scopes = {n.name.rpartition("/")[0] for n in graph_def.node if n.op in _SAVING}
    if kept is not None:
        scopes.discard(kept.filename_tensor_name.rpartition("/")[0])
    prefixes = tuple(f"{scope}/" for scope in scopes if scope)
    nodes = [node for node in graph_def.node if not node.name.startswith(prefixes)]
    del graph_def.node[:]
    graph_def.node.extend(nodes)


def _keep_saver(message: Any, kept: Any) -> None:
    """Leaves one saver in the collection of savers."""
    data = None if kept is None else kept.SerializeToString(deterministic=True)
    found = message.collection_def.pop(GraphKeys.SAVERS, None)
    if found is not None and data in found.bytes_list.value:
        message.collection_def[GraphKeys.SAVERS].bytes_list.value.append(data)


def finish_info(message: Any, strip_defaults: bool) -> None:
    """Says which operations a graph uses, and leaves out what is as defined.

    Args:
      message: a MetaGraphDef with its graph.
      strip_defaults: whether attributes that have their default values are left out.
    """
    if strip_defaults:
        _strip_defaults(message.graph_def)
        message.meta_info_def.stripped_default_attrs = True
    graph_def = message.graph_def
    nodes = [*graph_def.node, *(n for f in graph_def.library.function for n in f.node_def)]
    target = message.meta_info_def.stripped_op_list
    target.Clear()
    for name in sorted({node.op for node in nodes}):
        op = find(name)
        if op is not None:
            write_op_def(op, target.op.add())


def write_message(filename: Any, message: Any, as_text: bool) -> None:
    """Writes a message as a file, atomically."""
    path = files.local_path(filename)
    data = message.SerializeToString(deterministic=True)
    if as_text:
        data = proto.text_format.MessageToString(message).encode()
    try:
        write_atomically(path, data)
    except OSError as problem:
        raise files.translated(problem, path) from problem


def _keep_scope(graph_def: Any, scope: str) -> None:
    """Leaves only the nodes below a scope, without it; inputs from elsewhere are marked."""
    prefix = f"{scope}/"
    nodes = [node for node in graph_def.node if node.name.startswith(prefix)]
    for node in nodes:
        node.name = node.name.removeprefix(prefix)
        inputs = []
        for text in node.input:
            mark, name = ("^", text[1:]) if text.startswith("^") else ("", text)
            if name.startswith(prefix):
                inputs.append(mark + name.removeprefix(prefix))
            elif not mark:
                raise ValueError(
                    f"export_scope='{scope}': expected nodes whose inputs are in the scope, got "
                    f"'{prefix}{node.name}' with input '{name}'. Export a wider scope."
                )
        node.input[:] = inputs
        if "_class" in node.attr:
            found = [c.removeprefix(b"loc:@") for c in node.attr["_class"].list.s]
            own = [b"loc:@" + c.removeprefix(prefix.encode()) for c in found]
            node.attr["_class"].list.s[:] = own
    kept = type(graph_def)()
    kept.node.extend(nodes)
    kept.versions.CopyFrom(graph_def.versions)
    kept.library.CopyFrom(graph_def.library)
    graph_def.CopyFrom(kept)


def _strip_defaults(graph_def: Any) -> None:
    nodes = [*graph_def.node, *(n for f in graph_def.library.function for n in f.node_def)]
    for node in nodes:
        op = find(node.op)
        for attr in op.attr if op is not None else ():
            if attr.default is REQUIRED or attr.name not in node.attr or attr.kind == "func":
                continue
            if node.attr[attr.name] == attr_to_proto(attr.kind, attr.default, node.name):
                del node.attr[attr.name]


def add_collection(message: Any, graph: Any, key: str, scope: str | None) -> None:
    """Writes a collection into a MetaGraphDef; what no message holds is left out.

    Args:
      message: the MetaGraphDef.
      graph: the graph.
      key: the collection's name.
      scope: only what is below this name scope.
    """
    if key == EXECUTIONS:  # they guard a graph while it is made
        return
    values = graph.get_collection(key)
    target = proto.meta_graph_pb2.CollectionDef()
    if key in _messages:
        _add_messages(target, values, key, scope)
    else:
        _add_values(target, values, key, scope)
    if target.WhichOneof("kind") is not None:
        message.collection_def[key].CopyFrom(target)


def _add_messages(target: Any, values: list[Any], key: str, scope: str | None) -> None:
    """Writes the messages of a collection; all values must be of its kind."""
    wanted = _messages[key][0]().DESCRIPTOR
    for value in values:
        found = value.to_proto(export_scope=scope) if hasattr(value, "to_proto") else value
        if found is None:
            continue  # it is outside of the scope
        if getattr(found, "DESCRIPTOR", None) is not wanted:
            target.Clear()
            _left_out(key, f"expected {wanted.name} messages, got {type(value).__name__}")
            return
        target.bytes_list.value.append(found.SerializeToString(deterministic=True))


def _left_out(key: str, why: Any) -> None:
    get_logger().warning(
        "Issue encountered when serializing collection %s: its type is unsupported, or its items "
        "are of several types. It is left out of the meta graph. %s",
        key,
        why,
    )


def _add_values(target: Any, values: list[Any], key: str, scope: str | None) -> None:
    """Writes values without a message; the first one says of what kind all are."""
    if not values:
        return
    kind, written = "node_list", values
    for types, name in _PLAIN.items():
        if isinstance(values[0], types):
            kind = name
    try:
        if kind == "node_list":
            prefix = f"{scope}/" if scope else ""
            names = [_node_name(value) for value in values]
            written = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
        elif kind == "bytes_list":
            written = [os.fsencode(value) for value in values]
        getattr(target, kind).value.extend(written)
    except (AttributeError, TypeError, ValueError) as problem:
        target.Clear()
        _left_out(key, problem)


_PLAIN: dict[Any, str] = {(str, bytes): "bytes_list", int: "int64_list", float: "float_list"}


def _node_name(value: Any) -> str:
    """The name by which a graph that has been read finds a value."""
    if isinstance(value, TrackableResource):
        return str(value.resource_handle.op.name)
    return str(value.name)


def _parsed(message: Any, data: bytes, key: str) -> Any:
    try:
        message.ParseFromString(data)
    except proto.message.DecodeError as problem:
        raise ValueError(
            f"collection '{key}': expected messages of type {message.DESCRIPTOR.name}, got other "
            f"bytes ({problem}). The file is damaged; save the graph again."
        ) from None
    return message


def read_collections(message: Any, graph: Any, scope: str) -> None:
    """Puts the collections of a MetaGraphDef into a graph that has its operations.

    Args:
      message: the MetaGraphDef.
      graph: the graph.
      scope: what the names begin with there, or "".

    Raises:
      KeyError, ValueError: the graph does not have what a collection names.
    """
    prefix = f"{scope}/" if scope else ""
    made: dict[bytes, Any] = {}  # one object for what stands in several collections
    for key, collection in sorted(message.collection_def.items()):
        kind = collection.WhichOneof("kind")
        if kind == "node_list":
            for name in collection.node_list.value:
                graph.add_to_collection(key, graph.as_graph_element(prefix + name))
        elif kind == "bytes_list" and key in _messages:
            make, from_proto = _messages[key]
            for data in collection.bytes_list.value:
                if data not in made:
                    each = _parsed(make(), data, key)
                    made[data] = from_proto(each, import_scope=scope or None)
                graph.add_to_collection(key, made[data])
        elif kind in ("int64_list", "float_list", "bytes_list"):
            for value in getattr(collection, kind).value:
                graph.add_to_collection(key, value)
