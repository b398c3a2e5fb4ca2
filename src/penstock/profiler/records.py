"""The account of operations: how often each ran, for how long, and the bytes of its results."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.profiler.cost import Cost, weight
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


LEAST = 0.01  # the part of a region's time from which an operation in it is shown
HEADERS = (
    "operation", "type", "runs", "total us", "mean us", "bytes of results", "flops of one run",
    "device",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Member:
    """An operation of a region, or the only one of an item; its cost, if it is known."""

    name: str
    kind: str
    cost: Cost | None

    @property
    def flops(self) -> int | None:
        """Floating-point operations of one run, None where they are not known."""
        return None if self.cost is None else self.cost.flops


@dataclass(frozen=True, slots=True)
class Work:
    """What the runs of an operation or region compute.

    Attributes:
      members: the operations in it.
      runs: how often it ran.
      total: floating-point operations of all runs, None where one is not known.
    """

    members: list[Member]
    runs: int
    total: int | None

    @classmethod
    def of(cls, members: list[Member], runs: int) -> "Work":
        """Equal runs of some operations."""
        counts = [member.flops for member in members]
        known = [count for count in counts if count is not None]
        return cls(members, runs, runs * sum(known) if len(known) == len(counts) else None)

    def joined(self, other: "Work") -> "Work":
        """These runs and those of another item that has the same name."""
        unknown = self.total is None or other.total is None
        total = None if unknown else (self.total or 0) + (other.total or 0)
        return Work(self.members, self.runs + other.runs, total)

    @property
    def flops(self) -> int | None:
        """Floating-point operations of one run, in the mean where they differ."""
        return None if self.total is None else round(self.total / self.runs)

    def shares(self) -> list[tuple[Member, float]]:
        """The operations with their parts of the time by their costs, the largest first."""
        weights = [weight(m.cost or Cost(None, None)) for m in self.members]
        pairs = [(m, w / sum(weights)) for m, w in zip(self.members, weights, strict=True)]
        return sorted(pairs, key=lambda pair: -pair[1])


def table(step_stats: Any, dropped: int = 0, works: Mapping[str, Work] | None = None) -> str:
    """The account as text: a line for each operation, the one that took longest first.

    Below a compiled region stand its operations, with the times that their estimated costs give
    them of the region's: XLA runs them as one.

    Args:
      step_stats: what ran.
      dropped: how many operations more, which are not in it.
      works: what operations and regions compute, by their names; floating-point operations that
        are not known are shown as "?".
    """
    known = works or {}
    rows: list[tuple[str, ...]] = [HEADERS]
    for r in records(step_stats):
        work = known.get(r.name)
        counts = (str(r.runs), str(r.micros), f"{r.micros / r.runs:.1f}", str(r.output_bytes))
        shown = _count(None if work is None else work.flops)
        rows.append((r.name, r.kind, *counts, shown, " ".join(r.devices)))
        if work is not None and len(work.members) > 1:
            rows += [_part(r, member, share) for member, share in work.shares() if share >= LEAST]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADERS))]
    lines = [_line(row, widths) for row in rows]
    if dropped:
        lines.append(f"{dropped} more operations ran and are not shown: the profile was full.")
    return "\n".join(lines) + "\n"


def _part(r: Record, member: Member, share: float) -> tuple[str, ...]:
    micros = r.micros * share
    times = (f"~{micros:.0f}", f"~{micros / r.runs:.1f}")
    return (f"  {member.name}", member.kind, str(r.runs), *times, "", _count(member.flops), "")


def _count(flops: int | None) -> str:
    return "?" if flops is None else str(flops)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [
        text.rjust(width) if 2 <= i <= 6 else text.ljust(width)
        for i, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
