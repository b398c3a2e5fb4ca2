"""Races: two operations that touch one resource, at least one writing, in no fixed order.

A plain graph orders operations by data and declared control dependencies alone, so such a pair may
run either way round. On request a plan reports them before its first step, each with the two lines
of the user's program: as warnings, or as an error; see `set_race_checks`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock import errors
from penstock.config import env, logging
from penstock.runtime.program import Node, Program, Ref, sort
from penstock.types import dtypes as dt

# Operations that hold a handle itself, not what it stands for, and only read.
_READERS = frozenset(
    "LookupTableExportV2 LookupTableFindV2 LookupTableSizeV2 QueueIsClosedV2 QueueSizeV2 "
    "ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompletedV2 ReaderSerializeStateV2".split()
)
READS_FIRST = "_reads_first"  # an attribute of reads that come before all writes of their step
MODES = ("off", "warn", "error")
_WORDS = {"": "off", "0": "off", "1": "warn", "false": "off", "true": "warn"}
_chosen: list[str | None] = [None]  # None: as the environment says


def set_race_checks(mode: str | None) -> None:
    """What happens when a graph has races: two operations that touch one resource in no order.

    Looked at when a plan is made, before the first step of a graph's fetches or of a function.

    Args:
      mode: "off", "warn" to log each race, "error" to refuse to run; None goes back to what
        PENSTOCK_CHECK_RACES says.

    Raises:
      ValueError: `mode` is another.

    Example:
      >>> set_race_checks("error")
      >>> get_race_checks()
      'error'
      >>> set_race_checks(None)
    """
    if mode is not None and mode not in MODES:
        raise ValueError(
            f"tf.debugging.experimental.set_race_checks: expected 'off', 'warn', 'error' or None, "
            f"got {mode!r}."
        )
    _chosen[0] = mode


def get_race_checks() -> str:
    """What happens when a graph has races: "off", "warn" or "error"."""
    if _chosen[0] is not None:
        return _chosen[0]
    word: str = env.get("PENSTOCK_CHECK_RACES")
    return _WORDS.get(word, word)


def report_races(program: Program) -> None:
    """Logs or refuses the races of a program, as `set_race_checks` says.

    Raises:
      InvalidArgumentError: there are races, and the mode is "error".
    """
    mode = get_race_checks()
    races = [] if mode == "off" else find_races(program)
    if mode == "error" and races:
        raise errors.InvalidArgumentError(None, None, "\n".join(map(str, races)))
    for race in races:
        logging.warning("%s", race)


@dataclass(frozen=True, slots=True)
class Race:
    """Two nodes that touch `resource` in no order; `second` writes, or both do."""

    resource: str
    first: Node
    second: Node

    def __str__(self) -> str:
        return (
            f"race on '{self.resource}': {self.first.type} {self.first.where()} and "
            f"{self.second.type} {self.second.where()} run in no fixed order. Expected one to wait "
            "for the other: put the second under tf.control_dependencies([first]), or use "
            "tf.function, which keeps program order."
        )


@dataclass(frozen=True, slots=True)
class _Access:
    node: Node
    writes: bool


def put_reads_first(program: Program) -> Program:
    """The program with the reads that are marked before all that writes what they read.

    Such a read waits for nothing but its handle, so none of them waits for it already.
    """
    marked = [n for n in program.nodes if READS_FIRST in n.attrs]
    if not marked or program.flow:
        return program
    readers: dict[tuple[str, str] | tuple[int, int], list[Node]] = {}
    for node in marked:
        for ref, _ in accesses(node):
            readers.setdefault(_identity(ref), []).append(node)
    for node in program.nodes:
        for ref, writes in accesses(node):
            if writes:
                node.control.extend(readers.get(_identity(ref), ()))
    return sort(program.feeds, program.fetches, program.targets)


def find_races(program: Program) -> list[Race]:
    """The races of a program, in the order of their second node. A pure decision."""
    touched: dict[tuple[str, str] | tuple[int, int], list[_Access]] = {}
    names: dict[tuple[str, str] | tuple[int, int], str] = {}
    for node in program.nodes:
        for ref, writes in accesses(node):
            key = _identity(ref)
            names[key] = ref[0].name
            touched.setdefault(key, []).append(_Access(node, writes))
    watched = [a.node for group in touched.values() if len(group) > 1 for a in group]
    before = _ancestors(program, watched)
    numbers = {id(n): i for i, n in enumerate(watched)}
    races = []
    for key, group in touched.items():
        for j, second in enumerate(group):
            for first in group[:j]:
                if first.node is second.node or not (first.writes or second.writes):
                    continue
                if not before[id(second.node)] >> numbers[id(first.node)] & 1:
                    races.append(_race(names[key], first, second))
    return sorted(races, key=lambda r: (r.second.id, r.first.id))


def _race(resource: str, first: _Access, second: _Access) -> Race:
    return Race(
        resource, *((first.node, second.node) if second.writes else (second.node, first.node))
    )


def accesses(node: Node) -> list[tuple[Ref, bool]]:
    """Each resource that a node touches, and whether it may write to it."""
    if node.op is None or not node.op.stateful:
        return []
    found: list[tuple[Ref, bool]] = []
    counts = node.counts or (1,) * len(node.op.inputs)
    touched = node.op.effects_at(counts, node.attrs)
    for position, (source, index) in enumerate(node.inputs):
        if source.dtypes[index] is dt.resource:
            default = "r" if node.type in _READERS else "rw"
            found.append(((source, index), "w" in touched.get(position, default)))
    return found


def _identity(ref: Ref) -> tuple[str, str] | tuple[int, int]:
    """What tells resources apart: container and name of a handle, else where it comes from."""
    node, index = ref
    name = node.attrs.get("shared_name")
    if name or node.type == "VarHandleOp":  # variables without a name are one variable
        return str(node.attrs.get("container", "")), str(name)
    return id(node), index


def _ancestors(program: Program, watched: Sequence[Node]) -> dict[int, int]:
    """For each node a bit set of the watched nodes that come before it."""
    own: dict[int, int] = {}
    for i, node in enumerate(watched):
        own[id(node)] = own.get(id(node), 0) | 1 << i
    before: dict[int, int] = {}
    for node in program.nodes:
        bits = 0
        for source in [s for s, _ in node.inputs] + node.control:
            bits |= before[id(source)] | own.get(id(source), 0)
        before[id(node)] = bits
    return before
