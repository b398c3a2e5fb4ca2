"""What there is to say about a SavedModel: signatures, variables, functions, files, operations."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock import errors
from penstock.checkpoint.saved_model import folder
from penstock.checkpoint.saved_model.loader import assets_of
from penstock.cli.text import format_bytes, format_count, format_table
from penstock.core.op_def import find
from penstock.data import structure_messages as structures
from penstock.graph.shape_proto import dims_from_proto
from penstock.types.dtypes import as_dtype

_COMMON = 12  # operations named in the summary
_HIDDEN = "__saved_model_init_op"


class SavedModelError(Exception):
    """A folder that holds no SavedModel that can be shown."""


def saved_model_text(path: Path) -> str:
    """A SavedModel for people; nothing is loaded, so it shows models that do not load, too.

    Args:
      path: the folder.

    Raises:
      SavedModelError: it holds none, or one that contradicts itself.
    """
    try:
        message, data = folder.read_saved_model(path)
        parts = [_graph_text(meta_graph, path) for meta_graph in message.meta_graphs]
    except (OSError, ValueError, TypeError, errors.OpError) as problem:
        raise SavedModelError(str(problem)) from None
    head = f"SavedModel {path}: {format_bytes(len(data))} besides variables and assets."
    if not parts:
        raise SavedModelError(f"{path}: expected a SavedModel with a graph, got one without.")
    return "\n\n".join([head, *parts])


def _graph_text(meta_graph: Any, path: Path) -> str:
    info = meta_graph.meta_info_def
    written = info.tensorflow_version or "an unknown version"
    lines = [f"Graph with tags {', '.join(info.tags) or '(none)'}, in the form of {written}."]
    sections = (
        _signatures(meta_graph),
        _variables(meta_graph),
        _functions(meta_graph),
        _assets(meta_graph, path),
        _operations(meta_graph),
    )
    return "\n\n".join([*lines, *(section for section in sections if section)])


def _signatures(meta_graph: Any) -> str:
    rows = []
    for name, signature in sorted(meta_graph.signature_def.items()):
        if name == _HIDDEN:
            continue
        for direction, infos in (("in", signature.inputs), ("out", signature.outputs)):
            for key, info in sorted(infos.items()):
                rows.append((name, direction, key, _type_text(info.dtype, info.tensor_shape)))
    if not rows:
        return "No signatures."
    return format_table(("SIGNATURE", "", "NAME", "TYPE"), rows)


def _type_text(dtype: int, shape: Any) -> str:
    name = as_dtype(dtype).name if dtype else "?"
    dims = dims_from_proto(shape)
    if dims is None:
        return f"{name}[...]"
    return f"{name}[{','.join('?' if size is None else str(size) for size in dims)}]"


def _variables(meta_graph: Any) -> str:
    rows, elements, size = [], 0, 0
    for number, path in _paths(meta_graph):
        node = meta_graph.object_graph_def.nodes[number]
        if node.WhichOneof("kind") != "variable":
            continue
        variable = node.variable
        text = _type_text(variable.dtype, variable.shape)
        rows.append((path, text, "yes" if variable.trainable else "no", variable.name))
        count = _count(variable.shape)
        elements += count
        size += count * as_dtype(variable.dtype).size
    if not rows:
        return ""
    table = format_table(("VARIABLE", "TYPE", "TRAINABLE", "NAME"), rows)
    total = f"{len(rows)} variables, {format_count(elements)} elements, {format_bytes(size)}."
    return f"{table}\n{total}"


def _count(shape: Any) -> int:
    count = 1
    for size in dims_from_proto(shape) or ():
        count *= size or 0
    return count


def _paths(meta_graph: Any) -> Iterator[tuple[int, str]]:
    """Each object by number, with the names that lead to it."""
    nodes = meta_graph.object_graph_def.nodes
    seen, waiting = {0}, [(0, "")] if nodes else []
    for number, path in waiting:
        if not 0 <= number < len(nodes):
            raise ValueError(f"object {number}: expected one of {len(nodes)} objects, got none.")
        yield number, path
        for edge in nodes[number].children:
            if edge.node_id not in seen:
                seen.add(edge.node_id)
                waiting.append((edge.node_id, f"{path}.{edge.local_name}".lstrip(".")))


def _functions(meta_graph: Any) -> str:
    graph = meta_graph.object_graph_def
    rows = []
    for number, path in _paths(meta_graph):
        node = graph.nodes[number]
        if node.WhichOneof("kind") != "function":
            continue
        for name in node.function.concrete_functions:
            rows.append((path, _trace_text(graph.concrete_functions[name], path)))
    return format_table(("FUNCTION", "TRACED FOR"), rows) if rows else ""


def _trace_text(saved: Any, where: str) -> str:
    if saved.canonicalized_input_signature.WhichOneof("kind") is None:
        return "?"
    args, kwargs = structures.decode(saved.canonicalized_input_signature, where)
    shown = [*map(_value_text, args), *(f"{k}={_value_text(v)}" for k, v in sorted(kwargs.items()))]
    return f"({', '.join(shown)})"


def _value_text(value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape") and hasattr(value, "name"):
        dims = value.shape.dims_tuple
        sizes = "..." if dims is None else ",".join("?" if n is None else str(n) for n in dims)
        return f"{value.dtype.name}[{sizes}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_value_text(v)}" for k, v in sorted(value.items())) + "}"
    if isinstance(value, list | tuple):
        return "(" + ", ".join(map(_value_text, value)) + ")"
    return repr(value)


def _assets(meta_graph: Any, path: Path) -> str:
    names = [asset.filename for asset in assets_of(meta_graph, str(path))]
    return f"Assets: {', '.join(names)}." if names else ""


def _operations(meta_graph: Any) -> str:
    graph_def = meta_graph.graph_def
    functions = {each.signature.name for each in graph_def.library.function}
    inside = [node for each in graph_def.library.function for node in each.node_def]
    kinds = Counter(node.op for node in (*graph_def.node, *inside) if node.op not in functions)
    common = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common(_COMMON))
    more = f", and {len(kinds) - _COMMON} more" if len(kinds) > _COMMON else ""
    lines = [
        f"{sum(kinds.values())} operations, {len(inside)} of them in {len(functions)} functions: "
        f"{common}{more}."
    ]
    missing = sorted(kind for kind in kinds if find(kind) is None)
    if missing:
        lines.append(f"Operations that are not registered here: {', '.join(missing)}.")
    return "\n".join(lines)
