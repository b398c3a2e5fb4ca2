"""The account of operations: how often each ran, for how long, and the bytes of its results."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.runtime.timeline import parse_label


@dataclass(slots=True)
class Record:
    """One operation over all its runs; a compiled region counts as one operation.

    Attributes:
      name: the operation's.
      kind: its type; "Compiled" for a region.
      devices: where it ran.
      runs: how often.
      micros: microseconds, all runs together.
      output_bytes: bytes of its results, all runs together.
      parts: the operations of a region, else just its name.
    """

    name: str
    kind: str
    devices: list[str] = field(default_factory=list)
    runs: int = 0
    micros: int = 0
    output_bytes: int = 0
    parts: tuple[str, ...] = ()


def records(step_stats: Any) -> list[Record]:
    """The operations of a StepStats message, the one that took longest first."""
    found: dict[tuple[str, str], Record] = {}
    for device in step_stats.dev_stats:
        for node in device.node_stats:
            name, kind, inputs = parse_label(node.timeline_label)
            region = kind == "Compiled"
            key = (node.node_name, kind)
            record = found.setdefault(key, Record(node.node_name, kind or name))
            record.parts = tuple(inputs) if region else (node.node_name,)
            if device.device not in record.devices:
                record.devices.append(device.device)
            record.runs += 1
            record.micros += node.all_end_rel_micros
            record.output_bytes += sum(
                o.tensor_description.allocation_description.requested_bytes for o in node.output
            )
    return sorted(found.values(), key=lambda r: (-r.micros, r.name))


HEADERS = (
    "operation", "type", "runs", "total us", "mean us", "bytes of results", "flops of one run",
    "device",
)  # fmt: skip


def table(step_stats: Any, dropped: int = 0, flops: Mapping[str, int | None] | None = None) -> str:
    """The account as text: a line for each operation, the one that took longest first.

    Args:
      step_stats: what ran.
      dropped: how many operations more, which are not in it.
      flops: by the names of operations, how many floating-point operations one run makes; those
        that are not known are shown as "?".
    """
    known = flops or {}
    rows = [HEADERS]
    for r in records(step_stats):
        mean = f"{r.micros / r.runs:.1f}"
        work = known.get(r.name)
        counts = (str(r.runs), str(r.micros), mean, str(r.output_bytes))
        shown = "?" if work is None else str(work)
        rows.append((r.name, r.kind, *counts, shown, " ".join(r.devices)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADERS))]
    lines = [_line(row, widths) for row in rows]
    if dropped:
        lines.append(f"{dropped} more operations ran and are not shown: the profile was full.")
    return "\n".join(lines) + "\n"


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [
        text.rjust(width) if 2 <= i <= 6 else text.ljust(width)
        for i, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
