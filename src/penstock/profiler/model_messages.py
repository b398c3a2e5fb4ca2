"""Reports and profiles as messages: trees of nodes, a ProfileProto, an OpLogProto."""

from collections.abc import Iterable
from typing import Any

from penstock import proto
from penstock.profiler.model_facts import ROOT, Facts, Numbers
from penstock.profiler.model_options import Options
from penstock.profiler.model_tree import Item, Source

_MEASURED = {
    "exec_micros": "micros",
    "accelerator_exec_micros": "accelerator_micros",
    "cpu_exec_micros": "cpu_micros",
    "requested_bytes": "bytes",
    "peak_bytes": "peak_bytes",
    "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes",
    "parameters": "params",
    "float_ops": "float_ops",
}
_COUNTS = {"run_count": "runs", "definition_count": "definitions"}


def tree_message(root: Item) -> Any:
    """A GraphNodeProto with all that is shown below."""
    message = proto.tfprof_output_pb2.GraphNodeProto()
    waiting = [(root, message, True)]
    while waiting:
        item, target, is_root = waiting.pop()
        _fill_node(target, item, is_root)
        waiting += [(child, target.children.add(), False) for child in item.children]
    return message


def _fill_node(target: Any, item: Item, is_root: bool) -> None:
    target.name = item.name
    _fill(target, item.own if item.accounted and not is_root else Numbers(), item.total, _COUNTS)
    if len(item.members) == 1:
        _fill_shapes(target, item.members[0])


def _fill(target: Any, own: Numbers, total: Numbers, counts: dict[str, str]) -> None:
    for field, name in (_MEASURED | counts).items():
        if field != "definition_count":
            setattr(target, field, getattr(own, name))
        setattr(target, f"total_{field}", getattr(total, name))


def _fill_shapes(target: Any, found: Facts) -> None:
    target.devices.extend(found.devices)
    if found.shape is not None:
        _dims(target.shapes.add(), found.shape)
    for index, shape in enumerate(found.input_shapes):
        if shape is not None:
            _dims(target.input_shapes[index], shape)


def _dims(target: Any, shape: Iterable[int]) -> None:
    target.SetInParent()
    for size in shape:
        target.dim.add(size=size)


def rows_message(rows: list[Item], source: Source, options: Options) -> Any:
    """A MultiGraphNodeProto: each type of operation is the child of the one before it."""
    message = proto.tfprof_output_pb2.MultiGraphNodeProto(name=ROOT)
    _fill(message, Numbers(), rows[0].total if rows else Numbers(), {})
    target = message
    for item in rows:
        target = target.children.add(name=item.name)
        _fill_multi(target, item, source, options)
    return message


def code_message(root: Item, source: Source, options: Options) -> Any:
    """A MultiGraphNodeProto of lines, with the operations that each made."""
    message = proto.tfprof_output_pb2.MultiGraphNodeProto(name=ROOT)
    _fill(message, Numbers(), root.total, {})
    waiting = [(child, message.children.add()) for child in root.children]
    while waiting:
        item, target = waiting.pop()
        target.name = item.name
        _fill_multi(target, item, source, options)
        waiting += [(child, target.children.add()) for child in item.children]
    return message


def _fill_multi(target: Any, item: Item, source: Source, options: Options) -> None:
    _fill(target, item.own, item.total, {})
    for each in item.members:
        numbers = each.numbers(options.step, source.steps)
        node = target.graph_nodes.add(name=each.name)
        _fill(node, numbers, numbers, _COUNTS)
        _fill_shapes(node, each)


class _Texts:
    """Texts by number, as messages have them."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self._numbers) + 1
            self._target[found] = text
        return found

    def trace(self, target: Any, found: Facts) -> None:
        for frame in found.frames:
            target.traces.add(
                lineno=frame.line, func_start_line=-1, file_id=self.number(frame.file),
                function_id=self.number(frame.function),
            )  # fmt: skip


def log_message(facts: Iterable[Facts], add_trace: bool) -> Any:
    """An OpLogProto: what is known of operations before they run."""
    message = proto.tfprof_log_pb2.OpLogProto()
    texts = _Texts(message.id_to_string)
    for each in facts:
        entry = proto.tfprof_log_pb2.OpLogEntry(name=each.name, float_ops=each.float_ops)
        entry.types.extend(kind for kind in each.kinds if kind != each.kind)
        if add_trace:
            texts.trace(entry.code_def, each)
        if entry.float_ops or entry.types or entry.code_def.traces:
            message.log_entries.append(entry)
    return message


def profile_message(source: Source) -> Any:
    """A ProfileProto: all operations with all steps."""
    message = proto.tfprof_log_pb2.ProfileProto(has_trace=True, steps=source.steps)
    texts = _Texts(message.id_to_string)
    numbers = {name: i for i, name in enumerate(source.facts)}
    for name, each in source.facts.items():
        node = message.nodes[numbers[name]]
        node.name, node.op, node.id = name, each.kind, numbers[name]
        node.op_types.extend(each.kinds)
        node.float_ops = each.float_ops
        node.shape.extend(each.shape or ())
        node.canonical_device = each.devices[0] if each.devices else ""
        for index, source_name in enumerate(each.inputs):
            if source_name in numbers:
                node.inputs[index] = numbers[source_name]
        for index, shape in enumerate(each.input_shapes):
            node.input_shapes[index].int64_values.extend(shape or ())
        texts.trace(node.trace, each)
        for step, measured in each.steps.items():
            _fill_run(node.execs[step], each, measured)
    return message


def _fill_run(target: Any, found: Facts, measured: Numbers) -> None:
    target.run_count = measured.runs
    target.devices.extend(found.devices)
    where = target.accelerator_execs if measured.accelerator_micros else target.cpu_execs
    for device in found.devices[:1]:
        where[device].times.add(int64_values=[0, measured.micros])
    memory = target.memory_execs.add(requested_bytes=measured.bytes)
    memory.peak_bytes = measured.peak_bytes
    memory.residual_bytes, memory.output_bytes = measured.residual_bytes, measured.output_bytes
