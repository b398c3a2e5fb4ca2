"""Graphs on disk: `write_graph`, which `tf.io` and `compat.v1.train` offer.

A file is written beside its place and then moved there, so that a reader never sees half of one.
Reading is `penstock.graph.import_graph` for messages and `penstock inspect` for files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from penstock.core.lazy_module import LazyModule
from penstock.graph.graph import Graph
from penstock.graph.import_nodes import as_message

text_format = LazyModule("google.protobuf.text_format")


def write_graph(graph_or_graph_def: Any, logdir: Any, name: str, as_text: bool = True) -> str:
    """Writes a graph as a file.

    Args:
      graph_or_graph_def: a Graph or a GraphDef message.
      logdir: the folder, made when it is missing.
      name: the file's name.
      as_text: whether to write the text form of the message instead of its bytes.

    Returns:
      The path of the file.

    Raises:
      TypeError: the first argument is neither.
      OSError: the file cannot be written.
    """
    if isinstance(graph_or_graph_def, Graph):
        message = graph_or_graph_def.as_graph_def()
    else:
        message = as_message(graph_or_graph_def, "GraphDef", "graph_or_graph_def")
    folder = Path(os.fspath(logdir))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    if as_text:
        data = text_format.MessageToString(message).encode()
    else:
        data = message.SerializeToString(deterministic=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return os.path.join(os.fspath(logdir), name)
