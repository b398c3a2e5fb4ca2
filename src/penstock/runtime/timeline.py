"""Chrome traces: what `RunMetadata.step_stats` says, as JSON for chrome://tracing and Perfetto.

One process a device, one row a thread, one bar an operation, with its inputs as arguments and
arrows from the operations that made them.
"""

import json
from typing import Any

_INPUTS = "input{}"


class Timeline:
    """The events of one traced step.

    Args:
      step_stats: a StepStats message, ours or TensorFlow's.
      graph: accepted for compatibility; the message says all that is shown.
    """

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        self._step_stats = step_stats
        self._graph = graph

    def generate_chrome_trace_format(
        self,
        show_dataflow: bool = True,
        show_memory: bool = False,
        op_time: str = "schedule",
    ) -> str:
        """The trace as JSON text.

        Args:
          show_dataflow: whether arrows lead from an operation to those that use its results.
          show_memory: whether the bytes that the step's results take are drawn as a counter.
          op_time: which time of an operation is drawn: "schedule" (from scheduling to end), "gpu"
            or "all" (the kernel alone).

        Returns:
          JSON text in Chrome's trace event format; times are microseconds.

        Raises:
          ValueError: `op_time` is none of these.
        """
        if op_time not in ("schedule", "gpu", "all"):
            raise ValueError(f"op_time: expected 'schedule', 'gpu' or 'all', got {op_time!r}.")
        events: list[dict[str, Any]] = []
        # operation -> where and when its results were ready
        made: dict[str, tuple[int, int, float]] = {}
        for pid, device in enumerate(self._step_stats.dev_stats):
            events.append(_named("process_name", pid, 0, device.device))
            for thread in sorted({n.thread_id for n in device.node_stats}):
                name = device.thread_names.get(thread, f"thread {thread}")
                events.append(_named("thread_name", pid, thread, name))
            for node in device.node_stats:
                events.append(_bar(pid, node, op_time))
                made[node.node_name] = (pid, node.thread_id, events[-1]["ts"] + events[-1]["dur"])
        if show_dataflow:
            events.extend(_arrows([e for e in events if e["ph"] == "X"], made))
        if show_memory:
            events.extend(self._memory())
        return json.dumps({"traceEvents": events}, indent=4)

    def _memory(self) -> list[dict[str, Any]]:
        counters = []
        for pid, device in enumerate(self._step_stats.dev_stats):
            total = 0
            for node in sorted(
                device.node_stats, key=lambda n: n.all_start_micros + n.all_end_rel_micros
            ):
                total += sum(
                    o.tensor_description.allocation_description.requested_bytes for o in node.output
                )
                time = node.all_start_micros + node.all_end_rel_micros
                counters.append(
                    {
                        "name": "bytes of results",
                        "ph": "C",
                        "pid": pid,
                        "tid": 0,
                        "ts": time,
                        "args": {"bytes": total},
                    }
                )
        return counters


def _named(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def parse_label(label: str) -> tuple[str, str, list[str]]:
    """Name, type and inputs of a label `name = Type(input, input)`.

    Example:
      >>> parse_label("y = AddV2(x, c)")
      ('y', 'AddV2', ['x', 'c'])
    """
    name, equals, rest = label.partition(" = ")
    if not equals or not rest.endswith(")") or "(" not in rest:
        return label, "", []
    kind, _, inputs = rest[:-1].partition("(")
    return name, kind, [i for i in inputs.split(", ") if i]


def _bar(pid: int, node: Any, op_time: str) -> dict[str, Any]:
    _, kind, inputs = parse_label(node.timeline_label)
    start, end = node.all_start_micros, node.all_end_rel_micros
    if op_time != "schedule":
        start, end = (
            start + node.op_start_rel_micros,
            node.op_end_rel_micros - node.op_start_rel_micros,
        )
    arguments = {"name": node.node_name, "op": kind or node.node_name}
    arguments.update({_INPUTS.format(i): name for i, name in enumerate(inputs)})
    return {
        "name": kind or node.node_name,
        "cat": "Op",
        "ph": "X",
        "pid": pid,
        "tid": node.thread_id,
        "ts": start,
        "dur": max(end, 1),
        "args": arguments,
    }


def _arrows(
    bars: list[dict[str, Any]], made: dict[str, tuple[int, int, float]]
) -> list[dict[str, Any]]:
    arrows: list[dict[str, Any]] = []
    for bar in bars:
        for key, source in bar["args"].items():
            if not key.startswith("input") or source not in made:
                continue
            pid, tid, time = made[source]
            common = {"name": source, "cat": "DataFlow", "id": len(arrows) // 2}
            arrows.append({**common, "ph": "s", "pid": pid, "tid": tid, "ts": time})
            arrows.append(
                {**common, "ph": "t", "pid": bar["pid"], "tid": bar["tid"], "ts": bar["ts"]}
            )
    return arrows
