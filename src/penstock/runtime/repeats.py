"""Repeats: equal operations round after round in one region, compiled as a loop of one round.

A Python loop that a function's trace unrolled makes them: the steps of an integrator, of Newton's
method, of a recurrence. XLA takes about a millisecond for each operation of such a chain, and twice
that for a long one; a loop of 1,000 rounds compiles in the time of one and computes the same bits,
several times as fast where the rounds had become one long kernel. Only the executable is made
otherwise: the plan keeps every node.

A round takes what the round before it gave (`Link`), what is the same in all rounds, and constants,
which may differ. Rounds whose values others use are left as they are, and split a repeat.
`find_repeats` is pure; `penstock.runtime.executable` traces what it found.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core.compiling import is_elementwise
from penstock.core.patterns import Pattern, add_pattern, used
from penstock.core.prepared import PreparedOp
from penstock.runtime.program import Node, Ref
from penstock.types import dtypes as dt
from penstock.types.dims import is_full, num_elements

LEAST_ROUNDS = 16
LEAST_NODES = 256  # of all rounds; fewer compile fast enough
SMALL = 256  # elements of constants that differ from round to round
LARGEST = 1 << 15  # elements of a value; cheap arithmetic on more is faster in one long kernel
PHASES = 64  # places tried for the beginning of a round

REPEATS = add_pattern(
    Pattern(
        "repeats",
        f"{LEAST_ROUNDS} or more rounds of equal operations without state or checks, each round on"
        " what the one before it gave: a Python loop that was unrolled",
        "a loop that XLA compiles once",
        f"at least {LEAST_NODES} operations, no products or convolutions among them, values of"
        f" known sizes up to {LARGEST} elements that nothing but the next round uses",
    )
)

Key = tuple[int, int]  # the position of a node in its round, and which of its outputs


@dataclass(frozen=True, slots=True)
class Link:
    """An input from a node of the same round, or of the one before."""

    key: Key
    before: bool


@dataclass(frozen=True, slots=True)
class Same:
    """An input that is the same value in all rounds."""

    ref: Ref


@dataclass(frozen=True, slots=True)
class Constant:
    """An input that is a constant of its own in each round; `number` says which of the node's."""

    number: int


Source = Link | Same | Constant
Form = tuple[tuple[Source, ...], ...]  # for each node of a round its inputs


@dataclass(frozen=True, slots=True)
class Repeat:
    """Rounds that become one loop.

    Attributes:
      rounds: the nodes of each round.
      prepared: of the nodes of a round.
      form: where those take their inputs from.
      first: what the first round takes for the results of a round before.
    """

    rounds: tuple[tuple[Node, ...], ...]
    prepared: tuple[PreparedOp, ...]
    form: Form
    first: dict[Key, Ref]


def find_repeats(
    nodes: Sequence[Node], prepared: Sequence[PreparedOp], outputs: Sequence[Ref]
) -> list[Repeat]:
    """The repeats among the nodes of a region, which are in topological order.

    Args:
      nodes: of the region.
      prepared: their kernels.
      outputs: what of the nodes others than they need.
    """
    kept = [(n, p) for n, p in zip(nodes, prepared, strict=True) if n.type != "Const"]
    if len(kept) < LEAST_NODES or not used(REPEATS.name):
        return []
    finder = _Finder([n for n, _ in kept], [p for _, p in kept], outputs)
    labels = np.array(_labels(kept))
    found: list[Repeat] = []
    for period in range(1, len(kept) // LEAST_ROUNDS + 1):
        for begin, end in _stretches(labels, period):
            for start, repeat in finder.within(begin, end, period):
                found.append(repeat)
                size = len(repeat.rounds) * period
                labels[start : start + size] = -np.arange(start, start + size) - 1
    return found


def _labels(kept: Sequence[tuple[Node, PreparedOp]]) -> list[int]:
    """A number for each node: the same for equal operations, its own where it cannot repeat."""
    numbers: dict[Any, int] = {}
    return [
        numbers.setdefault((id(p), tuple(n.shapes)), len(numbers)) if _repeats(n, p) else -i - 1
        for i, (n, p) in enumerate(kept)
    ]


def _repeats(node: Node, prepared: PreparedOp) -> bool:
    """Whether a node may be part of a round: a value of known size from values alone."""
    op, size = node.op, num_elements(node.shapes[0]) if node.shapes else None
    if op is None or op.calls or op.step_input is not None or node.stateful:
        return False
    if prepared.compiled is None or prepared.compiled[1] or not prepared.single or prepared.refs:
        return False
    if size is None or not is_full(node.shapes[0]) or size > LARGEST:
        return False
    return node.dtypes[0] not in (dt.variant, dt.resource, dt.string) and is_elementwise([op.name])


def _stretches(labels: Any, period: int) -> Iterator[tuple[int, int]]:
    """Where a label is that of `period` places before for long enough: ranges of places."""
    equal = np.flatnonzero((labels[period:] == labels[:-period]) & (labels[period:] >= 0))
    if equal.size < (LEAST_ROUNDS - 1) * period:
        return
    breaks = np.flatnonzero(np.diff(equal) != 1) + 1
    for part in np.split(equal, breaks):
        if part.size >= (LEAST_ROUNDS - 1) * period:
            yield int(part[0]), int(part[-1]) + 1 + period


class _Finder:
    """Decides whether stretches of equal operations are repeats."""

    def __init__(
        self, nodes: Sequence[Node], prepared: Sequence[PreparedOp], outputs: Sequence[Ref]
    ) -> None:
        self._nodes = nodes
        self._prepared = prepared
        self._place = {id(n): i for i, n in enumerate(nodes)}
        self._tried: list[tuple[int, int, int]] = []
        self._users: dict[tuple[int, int], list[int]] = {(id(n), i): [-1] for n, i in outputs}
        for place, node in enumerate(nodes):
            for source, index in node.inputs:
                self._users.setdefault((id(source), index), []).append(place)

    def within(self, begin: int, end: int, period: int) -> Iterator[tuple[int, Repeat]]:
        """The repeats of a stretch, each with the place where it begins.

        Rounds that are loops, but seen from outside, are not tried again as half as many of twice
        the size.
        """
        if any(b <= begin and end <= e and period % p == 0 for b, e, p in self._tried):
            return
        for start in range(begin, min(begin + min(period, PHASES), end)):
            form = self._form(start, end, period)
            if form is not None:
                self._tried.append((begin, end, period))
                count = self._count(start, end, form)
                for repeat in map(self._made, self._closed(start, count, form)):
                    if repeat is not None:
                        yield self._place[id(repeat.rounds[0][0])], repeat
                return

    def _form(self, start: int, end: int, period: int) -> Form | None:
        """Where the third round takes its inputs from, None where that is no loop."""
        at = start + 2 * period
        if at + period > end:
            return None
        form: list[tuple[Source, ...]] = []
        for place in range(at, at + period):
            row: list[Source] = []
            for k in range(len(self._nodes[place].inputs)):
                source = self._source(place, k, at, period, start)
                static = k in self._prepared[place].static
                if source is None or (static and not isinstance(source, Constant)):
                    return None
                row.append(source)
            form.append(tuple(row))
        loops = any(isinstance(s, Link) and s.before for row in form for s in row)
        return tuple(form) if loops else None

    def _source(self, place: int, k: int, at: int, period: int, start: int) -> Source | None:
        """Where a node of the round that begins `at` takes its input `k` from."""
        source, index = self._nodes[place].inputs[k]
        if source.type == "Const":
            return Constant(k)
        found = self._place.get(id(source), -1)
        if found < start:
            return Same((source, index))
        if found >= at:
            return Link((found - at, index), before=False)
        return Link((found - at + period, index), before=True) if found >= at - period else None

    def _count(self, start: int, end: int, form: Form) -> int:
        """How many rounds have this form."""
        period, count = len(form), 1
        while start + (count + 1) * period <= end and self._fits(start, count, form):
            count += 1
        return count

    def _fits(self, start: int, number: int, form: Form) -> bool:
        """Whether a round that is not the first takes its inputs as the form says."""
        period = len(form)
        at = start + number * period
        for j, row in enumerate(form):
            if len(row) != len(self._nodes[at + j].inputs):
                return False
            for k, (wanted, ref) in enumerate(zip(row, self._nodes[at + j].inputs, strict=True)):
                if isinstance(wanted, Constant):
                    static = k in self._prepared[at + j].static
                    if not _alike(ref, self._nodes[start + j].inputs[k], static):
                        return False
                elif self._source(at + j, k, at, period, start) != wanted:
                    return False
        return True

    def _closed(self, start: int, count: int, form: Form) -> Iterator[tuple[int, int, Form]]:
        """Rounds in a row whose values the next ones alone use: (place, how many, form).

        Others may use what the last of them hands on.
        """
        period, first = len(form), 0
        handed = {s.key for row in form for s in row if isinstance(s, Link) and s.before}
        end = start + count * period
        for number in range(count):
            seen = self._seen(start + number * period, start, end, period)
            if seen and not seen <= handed:
                yield start + first * period, number - first, form
            elif seen or number == count - 1:
                yield start + first * period, number + 1 - first, form
            if seen:
                first = number + 1

    def _seen(self, at: int, start: int, end: int, period: int) -> set[Key]:
        """What of a round is used by others than these rounds."""
        results = [
            (place, index)
            for place in range(at, at + period)
            for index in range(len(self._nodes[place].dtypes))
        ]
        return {
            (place - at, index)
            for place, index in results
            if any(not start <= u < end for u in self._users.get(self._id(place, index), ()))
        }

    def _id(self, place: int, index: int) -> tuple[int, int]:
        return id(self._nodes[place]), index

    def _made(self, found: tuple[int, int, Form]) -> Repeat | None:
        """The repeat of these rounds, without the first where that begins otherwise."""
        start, count, form = found
        period = len(form)
        first = self._first(start, form)
        if first is None:
            start, count = start + period, count - 1
            first = self._first(start, form)
        if first is None or count < LEAST_ROUNDS or count * period < LEAST_NODES:
            return None
        rounds = [self._nodes[start + r * period : start + (r + 1) * period] for r in range(count)]
        kernels = tuple(self._prepared[start : start + period])
        return Repeat(tuple(map(tuple, rounds)), kernels, form, first)

    def _first(self, start: int, form: Form) -> dict[Key, Ref] | None:
        """What is handed to the round at `start`; None where it is not of the form."""
        first: dict[Key, Ref] = {}
        for j, row in enumerate(form):
            for wanted, ref in zip(row, self._nodes[start + j].inputs, strict=True):
                if not self._begins(wanted, ref, start, first):
                    return None
        return first

    def _begins(self, wanted: Source, ref: Ref, start: int, first: dict[Key, Ref]) -> bool:
        """Whether an input of the first round is of the form; notes what is handed to it."""
        if isinstance(wanted, Same):
            return ref == wanted.ref
        if isinstance(wanted, Constant):
            return ref[0].type == "Const"
        key, at = wanted.key, start + wanted.key[0]
        if not wanted.before:
            return ref == (self._nodes[at], key[1])
        node = self._nodes[at]
        if ref[0].shapes[ref[1]] != node.shapes[key[1]] or self._place.get(id(ref[0]), -1) >= start:
            return False
        return first.setdefault(key, ref) == ref


def _alike(a: Ref, b: Ref, equal: bool) -> bool:
    """Whether two constants may stand for one another in different rounds.

    Args:
      a: a constant.
      b: another.
      equal: whether their values must be the same, too.
    """
    if a == b:
        return True
    if not a[0].type == b[0].type == "Const":
        return False
    one, other = a[0].attrs["value"].array, b[0].attrs["value"].array
    if one.dtype != other.dtype or one.shape != other.shape or one.size > SMALL:
        return False
    return not equal or one.tobytes() == other.tobytes()


__all__ = ["Constant", "Link", "Repeat", "Same", "find_repeats"]
