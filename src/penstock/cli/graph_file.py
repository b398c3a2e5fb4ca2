"""Reading a GraphDef from a file, binary or text; errors say what is wrong with the file."""

from pathlib import Path
from typing import TYPE_CHECKING

from penstock import proto
from penstock.core.lazy_module import LazyModule

if TYPE_CHECKING:
    from penstock.proto.graph_pb2 import GraphDef

MAX_BYTES = 2**31 - 1  # what one protobuf message may hold

message = LazyModule("google.protobuf.message")
text_format = LazyModule("google.protobuf.text_format")


class GraphFileError(Exception):
    """A file that holds no graph: says which file, what was expected, what came, and a way out."""


def read_graph_def(path: Path) -> "GraphDef":
    """The graph in a file written by `tf.io.write_graph`, or by hand.

    Args:
      path: a binary message, or its text form; which of the two is seen from the content.

    Raises:
      GraphFileError: there is no such file, or it holds no graph.
    """
    data = _read(path)
    text = _as_text(data)
    graph_def = _parse_binary(path, data) if text is None else _parse_text(path, text)
    if not graph_def.node and not graph_def.library.function:
        raise GraphFileError(
            f"{path}: expected a GraphDef with operations, got one without any. "
            "Give the file that tf.io.write_graph wrote."
        )
    return graph_def


def _parse_binary(path: Path, data: bytes) -> "GraphDef":
    graph_def = proto.graph_pb2.GraphDef()
    try:
        graph_def.ParseFromString(data)
    except message.DecodeError:
        raise GraphFileError(
            f"{path}: expected a binary GraphDef, got {len(data)} bytes that are not one. "
            "The file is damaged, cut short, or of another kind, such as a SavedModel."
        ) from None
    return graph_def


def _parse_text(path: Path, text: str) -> "GraphDef":
    graph_def = proto.graph_pb2.GraphDef()
    try:
        text_format.Parse(text, graph_def)
    except (text_format.ParseError, RecursionError) as error:
        raise GraphFileError(
            f"{path}: expected a GraphDef in text form, got an error at line:column "
            f"{str(error).rstrip('.')}. "
            "Correct it there, or write the file anew with tf.io.write_graph."
        ) from None
    return graph_def


def _read(path: Path) -> bytes:
    hint = "Give the path of a .pb or .pbtxt file."
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise GraphFileError(f"{path}: expected a graph file, got a folder. {hint}")
        if size == 0:
            raise GraphFileError(f"{path}: expected a graph file, got an empty one. Write it anew.")
        if size > MAX_BYTES:
            raise GraphFileError(
                f"{path}: expected at most {MAX_BYTES} bytes, got {size}. A graph of that size "
                "cannot be one message; keep large values in a checkpoint."
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise GraphFileError(f"{path}: expected a graph file, found none. {hint}") from None
    except OSError as error:
        raise GraphFileError(f"{path}: the file cannot be read: {error.strerror}. {hint}") from None


def _as_text(data: bytes) -> str | None:
    """The content as text, or None when it is a binary message.

    A binary message with any operation holds the control character 0x12, the tag of its type.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    binary = any(character < " " and character not in "\t\n\r" for character in text)
    return None if binary else text
