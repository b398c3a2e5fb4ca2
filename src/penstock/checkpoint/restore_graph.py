"""`import_meta_graph`: a graph with its collections and its saver, from a message or a file."""

import os
from typing import Any

from penstock import proto
from penstock.checkpoint.meta_graph import read_collections, refuse_eager
from penstock.checkpoint.saver import Saver
from penstock.core import files
from penstock.graph.default_graph import get_default_graph
from penstock.graph.import_graph import import_graph_def
from penstock.ops.variables_v1 import GraphKeys


def read_meta_graph_file(filename: Any) -> Any:
    """The MetaGraphDef in a file, of bytes or text.

    Args:
      filename: the file.

    Raises:
      OSError: there is none, or it holds something else.
    """
    path = files.local_path(filename)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise OSError(f"File {path} does not exist: expected a file that save() wrote.") from None
    except OSError as problem:
        raise files.translated(problem, path) from problem
    message = proto.meta_graph_pb2.MetaGraphDef()
    try:
        message.ParseFromString(data)
        return message
    except proto.message.DecodeError:
        pass
    try:
        proto.text_format.Merge(data.decode(), message)
    except (UnicodeDecodeError, proto.text_format.ParseError) as problem:
        raise OSError(
            f"Cannot parse file {path}: expected a MetaGraphDef, got {problem}."
        ) from None
    return message


def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **kwargs: Any,
) -> Saver | None:
    """Adds the operations and collections of a MetaGraphDef to the default graph.

    Args:
      meta_graph_or_file: the message, ours or TensorFlow's, or the path of a file.
      clear_devices: whether devices are left out.
      import_scope: a name scope that is put before all names.
      **kwargs: `input_map` and `return_elements` of `import_graph_def`.

    Returns:
      A Saver that saves and restores the graph; None when it has no variables.

    Raises:
      RuntimeError: in eager mode.
      OSError: there is no such file, or it holds something else.
      ValueError, NotFoundError: the graph is refused; see `import_graph_def`.
    """
    refuse_eager()
    message = proto.meta_graph_pb2.MetaGraphDef()
    if isinstance(meta_graph_or_file, str | bytes | os.PathLike):
        message = read_meta_graph_file(meta_graph_or_file)
    elif hasattr(meta_graph_or_file, "SerializeToString"):
        message.ParseFromString(meta_graph_or_file.SerializeToString())
    else:
        raise TypeError(
            "meta_graph_or_file: expected a MetaGraphDef or the path of a file, got "
            f"{type(meta_graph_or_file).__name__}."
        )
    graph = get_default_graph()
    if clear_devices:
        for node in message.graph_def.node:
            node.device = ""
    scope = graph.unique_name(import_scope, mark_as_used=False) if import_scope else ""
    known = message.meta_info_def.stripped_op_list
    import_graph_def(
        message.graph_def,
        name=scope,
        producer_op_list=known if known.op else None,
        **kwargs,
    )
    read_collections(message, graph, scope)
    if message.HasField("saver_def"):
        return Saver(saver_def=message.saver_def, name=scope or None)
    variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope or None)
    return Saver() if variables else None
