"""What helps to find errors in a SavedModel: written on demand, or left out.

`debug_info` says which lines made the operations. `strip` takes out the operations that check and
print, so that a server does not spend time on them.
"""

from collections.abc import Iterable
from typing import Any

from penstock import proto

_DROPPED = frozenset(["Assert", "PrintV2"])  # without results
_PASSED = frozenset(["CheckNumerics", "Print"])  # whose first input is their result


def debug_info(graph: Any, functions: Iterable[tuple[str, Any]]) -> Any:
    """A GraphDebugInfo: for each operation the lines of the program that made it.

    Args:
      graph: the graph.
      functions: names and graphs of the functions of its library.
    """
    message = proto.graph_debug_info_pb2.GraphDebugInfo()
    writer = _Traces(message)
    for name, each in (("", graph), *functions):
        for op in each.get_operations():
            if op.frames:
                message.name_to_trace_id[f"{op.name}@{name}"] = writer.trace(op.frames)
    return message


class _Traces:
    """Files, frames and stacks, each once."""

    def __init__(self, message: Any) -> None:
        self._message = message
        self._files: dict[str, int] = {}
        self._frames: dict[Any, int] = {}
        self._traces: dict[Any, int] = {}

    def trace(self, frames: tuple[Any, ...]) -> int:
        """The number of a stack, which is stored innermost first."""
        found = self._traces.get(frames)
        if found is None:
            found = self._traces[frames] = len(self._traces)
            numbers = [self._frame(frame) for frame in reversed(frames)]
            self._message.traces_by_id[found].frame_id.extend(numbers)
        return found

    def _frame(self, frame: Any) -> int:
        found = self._frames.get(frame)
        if found is None:
            found = self._frames[frame] = len(self._frames)
            if frame.file not in self._files:
                self._files[frame.file] = len(self._files)
                self._message.files.append(frame.file)
            stored = self._message.frames_by_id[found]
            stored.file_index, stored.line = self._files[frame.file], frame.line
            stored.func = frame.function
        return found


def strip(graph_def: Any) -> None:
    """Replaces operations that check or print by ones that do nothing, in functions too."""
    for node in graph_def.node:
        _strip_node(node, frozenset())
    for function in graph_def.library.function:
        arguments = frozenset(arg.name for arg in function.signature.input_arg)
        for node in function.node_def:
            _strip_node(node, arguments)


def _strip_node(node: Any, arguments: frozenset[str]) -> None:
    if node.op not in _DROPPED | _PASSED:
        return
    is_passed = node.op in _PASSED
    kept = list(node.input[:1]) if is_passed else []
    names = [text.lstrip("^").split(":")[0] for text in node.input[len(kept) :]]
    waits = [f"^{name}" for name in dict.fromkeys(names) if name not in arguments]
    node.op = "Identity" if is_passed else "NoOp"
    node.input[:] = kept + waits
    for name in list(node.attr):
        if not is_passed or name not in ("T", "_output_shapes"):
            del node.attr[name]
