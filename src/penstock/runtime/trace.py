"""What a traced step tells: RunMetadata with StepStats, one entry for each operation, by device."""

from typing import Any

from penstock import proto
from penstock.runtime.cost_graph import add_cost_graph
from penstock.runtime.program import Node
from penstock.runtime.step import Event, Step
from penstock.types.dtypes import from_numpy

NANOS = 1_000_000_000


def run_metadata(
    step: Step,
    graph_def: Any = None,
    session: tuple[str, int] = ("", 0),
    costs: bool = False,
) -> Any:
    """A RunMetadata message about a step that has ended.

    Args:
      step: it has events when it was traced.
      graph_def: the graph that ran, for `partition_graphs`.
      session: name and version of the session.
      costs: whether it says what operations cost, too.
    """
    message = proto.config_pb2.RunMetadata()
    if step.events:
        add_step_stats(message.step_stats, step.events)
        if costs:
            add_cost_graph(message.cost_graph, step.events)
    if graph_def is not None:
        message.partition_graphs.add().CopyFrom(graph_def)
    if any(session):
        message.session_metadata.name, message.session_metadata.version = session
    return message


def add_step_stats(stats: Any, events: list[Event]) -> None:
    """Adds what ran to a StepStats message: a device for each, threads numbered as they appear."""
    threads = {t: i for i, t in enumerate(dict.fromkeys(e.thread for e in events))}
    devices: dict[str, Any] = {}
    for event in sorted(events, key=lambda e: e.start):
        device = devices.get(event.device)
        if device is None:
            device = devices[event.device] = stats.dev_stats.add(device=event.device)
        device.thread_names[threads[event.thread]] = f"thread {threads[event.thread]}"
        _add_node(device.node_stats.add(), event, threads[event.thread])


def _add_node(stats: Any, event: Event, thread: int) -> None:
    start, length = int(event.start * NANOS), int((event.end - event.start) * NANOS)
    last: Node = event.item.nodes[-1]
    stats.node_name = last.name if len(event.item.nodes) == 1 else event.item.name
    stats.timeline_label = label(event.item.nodes)
    stats.thread_id = thread
    stats.all_start_nanos = stats.scheduled_nanos = start
    stats.all_start_micros = stats.scheduled_micros = start // 1000
    stats.op_end_rel_nanos = stats.all_end_rel_nanos = length
    stats.op_end_rel_micros = stats.all_end_rel_micros = max(length // 1000, 1)
    for slot, (dtype, shape, size) in enumerate(event.outputs):
        output = stats.output.add(slot=slot)
        if dtype is not None:
            output.tensor_description.dtype = from_numpy(dtype).as_datatype_enum
        for dim in shape:
            output.tensor_description.shape.dim.add(size=dim)
        output.tensor_description.allocation_description.requested_bytes = size


def label(nodes: "list[Node] | Any") -> str:
    """`name = Type(inputs)`; for a region the operations in it."""
    if len(nodes) == 1:
        (node,) = nodes
        return f"{node.name} = {node.type}({', '.join(source.name for source, _ in node.inputs)})"
    return f"region = Compiled({', '.join(n.name for n in nodes if n.type != 'Const')})"
