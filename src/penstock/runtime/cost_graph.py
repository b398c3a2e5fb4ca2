"""What the operations of a step cost: `RunMetadata.cost_graph`.

`ConfigProto.graph_options.build_cost_model` asks for it in every n-th step of a plan (`CostModel`
counts them). `add_cost_graph` writes it from what the step noted: each node with its edges, its
outputs and its time. A compiled region is one measurement, which its nodes share by the bytes that
they read and write; their costs are marked as inaccurate.
"""

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.runtime.node import FEED, Node
from penstock.runtime.step import Event

SOURCE, SINK = "_SOURCE", "_SINK"  # what all nodes follow, and what follows them: numbers 0 and 1
_FIRST = 2
_MICROS = 1_000_000
_FREE = frozenset({"Const", FEED})  # what is there before anything runs

Size = tuple[tuple[int, ...], int]  # shape and bytes


class CostModel:
    """In which steps costs are wanted. Thread-safe.

    Args:
      every: in every so many steps of a plan.
      after: how many steps of it go before.
    """

    def __init__(self, every: int, after: int) -> None:
        self._every = every
        self._after = after
        self._steps: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()  # guards: _steps

    def step(self, plan: Any) -> bool:
        """Counts a step of a plan; whether its costs are wanted."""
        with self._lock:
            count = self._steps[plan] = self._steps.get(plan, 0) + 1
        measured = count - self._after
        return measured > 0 and measured % self._every == 0

    def counted(self, run: Callable[[Any], Any], plan: Any) -> Callable[[Any], Any]:
        """A function that runs a plan, whose steps count although nobody asks for their costs."""

        def run_and_count(values: Any) -> Any:
            self.step(plan)
            return run(values)

        return run_and_count


def add_cost_graph(graph: Any, events: Sequence[Event]) -> None:
    """Adds the nodes that ran, and those that they follow, to a CostGraphDef message.

    Args:
      graph: the message.
      events: of a traced step that has ended.
    """
    nodes = _ordered([node for event in events for node in event.item.nodes])
    numbers = {id(node): number for number, node in enumerate(nodes, _FIRST)}
    costs, sizes = _costs(events), _sizes(events)
    shared = {id(n) for e in events if len(_working(e)) > 1 for n in _working(e)}
    graph.node.add(name=SOURCE, id=0)
    sink = graph.node.add(name=SINK, id=1)
    feeds = 0
    for node in nodes:
        made = graph.node.add(name=node.name, id=numbers[id(node)], device=node.device)
        if node.type == FEED:
            name, _, index = node.name.rpartition(":")
            made.name = f"_arg_{name}_{index}_{feeds}"
            feeds += 1
        _add_edges(made, node, numbers)
        _add_outputs(made, node, sizes)
        made.compute_cost = round(costs.get(id(node), 0.0) * _MICROS)
        made.inaccurate = id(node) in shared
    followed = {id(s) for n in nodes for s in (*(source for source, _ in n.inputs), *n.control)}
    sink.control_input.extend(numbers[id(n)] for n in nodes if id(n) not in followed)


def _add_edges(made: Any, node: Node, numbers: Mapping[int, int]) -> None:
    for source, index in node.inputs:
        made.input_info.add(preceding_node=numbers[id(source)], preceding_port=index)
    made.control_input.extend(numbers[id(source)] for source in node.control)
    if not node.inputs and not node.control:
        made.control_input.append(0)


def _add_outputs(made: Any, node: Node, sizes: Mapping[tuple[int, int], Size]) -> None:
    for index, (dtype, dims) in enumerate(zip(node.dtypes, node.shapes, strict=True)):
        output = made.output_info.add(alias_input_port=-1, dtype=dtype.as_datatype_enum)
        found, output.size = sizes.get((id(node), index), (dims, _bytes(dtype, dims)))
        output.shape.SetInParent()  # that of a scalar says nothing more
        if found is None:
            output.shape.unknown_rank = True
        else:
            for size in found:
                output.shape.dim.add(size=-1 if size is None else size)


def _bytes(dtype: Any, dims: Any) -> int:
    """How many bytes a value takes; 0 where its shape or what an element takes is not known."""
    if dims is None or None in dims or not dtype.size:
        return 0
    count = 1
    for size in dims:
        count *= size
    return count * int(dtype.size)


def _costs(events: Sequence[Event]) -> dict[int, float]:
    """Seconds for each node; those of a region have a part of its time each."""
    costs: dict[int, float] = {}
    for event in events:
        nodes = _working(event)
        weights = [_weight(node) for node in nodes]
        for node, weight in zip(nodes, weights, strict=True):
            part = (event.end - event.start) * weight / sum(weights)
            costs[id(node)] = costs.get(id(node), 0.0) + part  # in each round of a loop
    return costs


def _working(event: Event) -> list[Node]:
    return [node for node in event.item.nodes if node.type not in _FREE]


def _weight(node: Node) -> int:
    given = [(source.dtypes[i], source.shapes[i]) for source, i in node.inputs]
    values = [*given, *zip(node.dtypes, node.shapes, strict=True)]
    return 1 + sum(_bytes(dtype, dims) for dtype, dims in values)


def _sizes(events: Sequence[Event]) -> dict[tuple[int, int], Size]:
    """The shape and bytes of each output that the step has seen: not of those within regions."""
    sizes: dict[tuple[int, int], Size] = {}
    for event in events:
        item = getattr(event.item, "item", event.item)
        region = getattr(item, "region", None)
        last = event.item.nodes[-1]
        refs = [(last, i) for i in range(len(last.dtypes))] if region is None else region.outputs
        for (node, index), (dtype, shape, size) in zip(refs, event.outputs, strict=False):
            if dtype is not None:
                sizes[id(node), index] = tuple(shape), size
    return sizes


def _ordered(nodes: Sequence[Node]) -> list[Node]:
    """The nodes and all that they follow, each after those."""
    order: list[Node] = []
    done: set[int] = set()
    stack = [(node, False) for node in reversed(nodes)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if ready:
            done.add(id(node))
            order.append(node)
            continue
        stack.append((node, True))
        before = [*(source for source, _ in node.inputs), *node.control]
        stack.extend((source, False) for source in reversed(before) if id(source) not in done)
    return order
