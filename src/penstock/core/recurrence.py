"""Rounds of a recurrence as one call of the native library.

A round is written down as `Value`s: what it reads (`state`, `rows`, `fixed`), products with
matrices that all rounds share, functions of single numbers, columns of values and values side by
side. What it hands on (`hand_on`) and what it adds to a stack (`collect`) are its results.
`program` turns it into the numbers that `native/recurrence.h` works through, `call` makes the call.

All columns are cut into pieces of one width, the largest that divides them all. What a product
multiplies must be whole, so it is finished in an earlier phase of the round; what a later phase
needs of an earlier one is stored between them.
"""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.core import native
from penstock.core.lazy import jax

CODES = (  # as native/kernels.h numbers them
    "LOAD LOAD_PRODUCT STORE FILL ADD SUBTRACT MULTIPLY DIVIDE MAXIMUM MINIMUM NEGATIVE "
    "EXPONENTIAL SIGMOID TANH RELU SIGMOID_GRAD TANH_GRAD RELU_GRAD MOVE SQUARE_ROOT ABSOLUTE "
    "SIGN GREATER SELECT"
).split()
NUMBERS = {name: number for number, name in enumerate(CODES)}
LEAST_WIDTH = 8  # of a piece; a vector should not be mostly empty
MOST_STEPS = 1000  # instructions of a round
MOST_MATRICES = 64
NOWHERE, ARGUMENT, RESULT, MEMORY = range(4)
APART = 16  # floats between rows in memory, so that rows do not share sets of the cache
Place = tuple[int, int, int]  # space, number, floats from its beginning


@dataclass(frozen=True, slots=True)
class Held:
    """An array whose part for a round is a matrix; fields are those of native/kernels.h."""

    start: Place
    row: int
    step: int = 0
    odd: int = 0
    column: int = 1
    edge: Place = (NOWHERE, 0, 0)
    edge_round: int = -1
    edge_row: int = 0


@dataclass(frozen=True, slots=True)
class Matrix:
    """What products multiply by: argument `number`, [depth, columns]; transposed: its transpose."""

    number: int
    depth: int
    columns: int
    transposed: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A matrix of a round.

    Attributes:
      kind: "held", "product", "part", "joined" or a name of CODES.
      width: columns; None where all columns are alike.
      of: what it is made of.
      detail: by kind the `Held`, the `Matrix`, the first column, or the number that fills it.
      rows: whether it has a row for each of the batch; else there may be one, or none.
    """

    kind: str
    width: int | None
    of: tuple["Value", ...] = ()
    detail: Any = None
    rows: bool = False


Atom = tuple[int, int]  # the id of a value, and its first column


@dataclass
class _Phase:
    products: list[tuple[int, int, int]] = field(default_factory=list)
    steps: list[tuple[Any, ...]] = field(default_factory=list)  # code, key or None, operands, ...


class Recurrence:
    """Rounds that are being written down.

    Attributes:
      rounds, batch: how many there are.
      results: shapes of what the call returns: the states after the last round, then the stacks.
    """

    def __init__(self, rounds: int, batch: int) -> None:
        self.rounds = rounds
        self.batch = batch
        self.results: list[tuple[int, ...]] = []
        self._memory = 0
        self._stores: list[tuple[Value, int, Held]] = []  # value, columns, where it goes

    # what a round reads

    def state(self, number: int, width: int) -> Value:
        """What is handed on from round to round; argument `number`, [batch, width], at first."""
        row, size = self._reserve(width, 2)
        start = self._memory - 2 * size
        return Value(
            "held",
            width,
            (),
            Held((MEMORY, 0, start), row, 0, size, 1, (ARGUMENT, number, 0), 0, width),
            True,
        )

    def rows(self, number: int, width: int, first: int, step: int) -> Value:
        """Row `first + step * round` of argument `number`, [rows, batch, width]."""
        size = self.batch * width
        held = Held((ARGUMENT, number, first * size), width, step * size)
        return Value("held", width, (), held, True)

    def fixed(self, number: int, shape: Sequence[int]) -> Value:
        """Argument `number`: [batch, width], [1, width], [width] or [batch, 1]; the same always."""
        rows, columns = (1, *shape)[-2:]
        held = Held((ARGUMENT, number, 0), columns if rows > 1 else 0, column=int(columns > 1))
        return Value("held", columns if columns > 1 else None, (), held, rows > 1)

    def number(self, value: float, width: int | None = None, rows: bool = False) -> Value:
        """One number everywhere."""
        return Value("FILL", width, (), float(value), rows)

    # what it computes

    def apply(self, code: str, *of: Value) -> Value:
        """A function of CODES, number by number."""
        widths = [v.width for v in of if v.width is not None]
        return Value(code, widths[0] if widths else None, of, None, any(v.rows for v in of))

    def product(self, left: Value, matrix: Matrix) -> Value:
        """The product with a matrix."""
        return Value("product", matrix.columns, (left,), matrix, left.rows)

    def part(self, value: Value, first: int, width: int) -> Value:
        """Some columns."""
        if value.width is None:
            return value
        return Value("part", width, (value,), first, value.rows)

    def joined(self, values: Sequence[Value]) -> Value:
        """Values side by side."""
        width, rows = sum(v.width or 0 for v in values), any(v.rows for v in values)
        return Value("joined", width, tuple(values), None, rows)

    # what it gives

    def hand_on(self, state: Value, value: Value) -> None:
        """`value` is `state` in the next round, and a result after the last."""
        held: Held = state.detail
        space, number, start = held.start
        result = (RESULT, len(self.results), 0)
        place = (space, number, start + held.odd)
        width = held.edge_row
        to = Held(place, held.row, 0, -held.odd, 1, result, self.rounds - 1, width)
        self._stores.append((value, width, to))
        self.results.append((self.batch, width))

    def collect(self, value: Value, width: int, backwards: bool) -> None:
        """A result [rounds, batch, width] holds `value` of each round, the last one first if so."""
        size = self.batch * width
        first = (self.rounds - 1) * size if backwards else 0
        place = (RESULT, len(self.results), first)
        to = Held(place, width, -size if backwards else size)
        self._stores.append((value, width, to))
        self.results.append((self.rounds, self.batch, width))

    # the program

    def program(self) -> "np.ndarray[Any, Any] | None":
        """The numbers of the program; None where the library cannot have it."""
        return _Writer(self).written()

    def call(self, program: "np.ndarray[Any, Any]", arguments: Sequence[Any]) -> list[Any]:
        """Runs the rounds on arrays or tracers of float32."""
        results = [jax.ShapeDtypeStruct(shape, np.float32) for shape in self.results]
        return list(native.call("recurrence", results, *arguments, program=program))

    def _reserve(self, width: int, count: int) -> tuple[int, int]:
        """Memory for `count` matrices: floats from row to row, and of one matrix."""
        row = width + APART
        self._memory += count * row * self.batch
        return row, row * self.batch

    def stored(self, width: int) -> Held:
        """Memory that lasts for a round."""
        row, size = self._reserve(width, 1)
        return Held((MEMORY, 0, self._memory - size), row)


class _Writer:
    """The state of one translation."""

    def __init__(self, recurrence: Recurrence) -> None:
        self.r = recurrence
        self.width = 0
        self.held: dict[Held, int] = {}
        self.matrices: dict[tuple[Matrix, int], int] = {}
        self.products: list[tuple[int, int, int]] = []
        self.phases: list[_Phase] = []
        self.levels: dict[Atom, int] = {}
        self.whole: dict[int, tuple[Held, int, int]] = {}  # of what products multiply
        self.kept: dict[Atom, Held] = {}
        self.made: set[Any] = set()  # registers
        self.alive: list[Value] = []  # made here; their ids are keys

    def written(self) -> "np.ndarray[Any, Any] | None":
        stores = self.r._stores
        self.width = math.gcd(*_widths([v for v, _, _ in stores]), *(w for _, w, _ in stores))
        if self.width < LEAST_WIDTH:
            return None
        for value, width, held in stores:
            self._store(value, width, held)
        steps = sum(len(phase.steps) for phase in self.phases)
        if steps > MOST_STEPS or len(self.matrices) > MOST_MATRICES:
            return None
        return self._encoded()

    # where things are computed

    def _store(self, value: Value, width: int, held: Held) -> int:
        """Stores all pieces; returns the last phase that does."""
        last = 0
        for first in range(0, width, self.width):
            level = self._level(value, first)
            register = self._register(value, first, level)
            self._phase(level).steps.append(("STORE", None, (register,), self._held(held), first))
            last = max(last, level)
        return last

    def _phase(self, level: int) -> _Phase:
        while len(self.phases) <= level:
            self.phases.append(_Phase())
        return self.phases[level]

    def _held(self, held: Held) -> int:
        return self.held.setdefault(held, len(self.held))

    def _resolved(self, value: Value, first: int) -> tuple[Value, int]:
        """The value that columns from `first` on come from, and where they begin in it."""
        while value.kind in ("part", "joined"):
            if value.kind == "part":
                value, first = value.of[0], first + value.detail
                continue
            for each in value.of:
                if first < (each.width or 0):
                    value = each
                    break
                first -= each.width or 0
        return value, 0 if value.width is None or value.kind == "FILL" else first

    def _level(self, value: Value, first: int) -> int:
        """The phase in which a piece is computed."""
        value, first = self._resolved(value, first)
        key = (id(value), first)
        if key not in self.levels:
            if value.kind == "product":
                self.levels[key] = self._left(value.of[0])[2]
            else:
                self.levels[key] = max((self._level(v, first) for v in value.of), default=0)
        return self.levels[key]

    def _left(self, value: Value) -> tuple[Held, int, int]:
        """Where what a product multiplies is: array, first column, and the phase it is whole in."""
        given = value
        first = 0
        while given.kind == "part":
            given, first = given.of[0], first + given.detail
        if given.kind == "held" and given.width is not None and given.detail.row:
            return given.detail, first, 0
        if id(value) not in self.whole:
            assert value.width is not None
            held = self.r.stored(value.width)
            self.alive.append(value)
            self.whole[id(value)] = held, 0, self._store(value, value.width, held) + 1
        return self.whole[id(value)]

    # instructions; registers are keys (phase, value, column) until they are numbered

    def _register(self, value: Value, first: int, level: int) -> Any:
        """The register that holds a piece in a phase."""
        value, first = self._resolved(value, first)
        key = (level, id(value), first)
        phase = self._phase(level)
        if key in self.made:
            return key
        self.made.add(key)
        if value.kind == "FILL":
            phase.steps.append(("FILL", key, (), value.detail))
        elif value.kind == "held":
            phase.steps.append(("LOAD", key, (), self._held(value.detail), first))
        elif self._level(value, first) < level:
            phase.steps.append(("LOAD", key, (), self._held(self._keep(value, first)), 0))
        elif value.kind == "product":
            phase.steps.append(("LOAD_PRODUCT", key, (), self._product(value, first, phase)))
        else:
            of = tuple(self._register(v, first, level) for v in value.of)
            phase.steps.append((value.kind, key, of))
        return key

    def _keep(self, value: Value, first: int) -> Held:
        """Stores a piece in the phase that computes it, for a later one."""
        key = (id(value), first)
        if key not in self.kept:
            held = self.kept[key] = self.r.stored(self.width)
            level = self._level(value, first)
            register = self._register(value, first, level)
            self._phase(level).steps.append(("STORE", None, (register,), self._held(held), 0))
        return self.kept[key]

    def _product(self, value: Value, first: int, phase: _Phase) -> int:
        held, column, _ = self._left(value.of[0])
        key = (value.detail, first)
        matrix = self.matrices.setdefault(key, len(self.matrices))
        phase.products.append((self._held(held), column, matrix))
        return len(phase.products) - 1

    # numbers

    def _encoded(self) -> "np.ndarray[Any, Any]":
        steps: list[tuple[int, ...]] = []
        products: list[tuple[int, ...]] = []
        phases: list[tuple[int, ...]] = []
        most = 1
        for phase in self.phases:
            numbered, count = _numbered(phase.steps)
            begin = (len(products), len(steps))
            products += phase.products
            steps += numbered
            most = max(most, count)
            phases.append((begin[0], len(products), begin[1], len(steps)))
        tables: list[list[tuple[int, ...]]] = [
            [_held_numbers(held) for held in self.held],
            [self._matrix_numbers(*key) for key in self.matrices],
            products,
            steps,
            phases,
        ]
        found = [self.r.rounds, self.r.batch, self.width, most, self.r._memory]
        for table in tables:
            found += [len(table), *(number for entry in table for number in entry)]
        return np.array(found, np.int64)

    def _matrix_numbers(self, matrix: Matrix, first: int) -> tuple[int, ...]:
        row, column = (1, matrix.depth) if matrix.transposed else (matrix.columns, 1)
        return (ARGUMENT, matrix.number, first * column, matrix.depth, row, column)


def _widths(values: Sequence[Value]) -> set[int]:
    """The columns at which values are cut."""
    found, seen, left = set(), set(), list(values)
    while left:
        value = left.pop()
        if id(value) in seen or value.width is None:
            continue
        seen.add(id(value))
        found.add(value.width)
        if value.kind == "part":
            found.add(value.detail or value.width)
        if value.kind == "product" and value.of[0].kind == "held":
            continue  # read as it is
        left.extend(value.of)
    return found


def _held_numbers(held: Held) -> tuple[int, ...]:
    edges = (held.edge_round, held.edge_row)
    return (*held.edge, *held.start, *edges, held.step, held.odd, held.row, held.column)


def _numbered(steps: Sequence[Any]) -> tuple[list[tuple[int, ...]], int]:
    """Instructions with numbered registers, each taken again after its last use; how many."""
    last = {key: i for i, step in enumerate(steps) for key in step[2]}
    free: list[int] = []
    place: dict[Any, int] = {}
    most = 0
    found: list[tuple[int, ...]] = []
    for i, (code, key, of, *rest) in enumerate(steps):
        a, b = ([place[k] for k in of] + [0, 0])[:2]
        for each in dict.fromkeys(of):
            if last[each] == i:
                free.append(place[each])
        to = 0
        if key is not None:
            to = place[key] = free.pop() if free else most
            most = max(most, to + 1)
        value = 0
        offset = 0
        if code in ("LOAD", "STORE"):
            a, b, offset = (rest[0], 0, rest[1]) if code == "LOAD" else (a, rest[0], rest[1])
        elif code == "LOAD_PRODUCT":
            a = rest[0]
        elif code == "FILL":
            value = struct.unpack("<i", struct.pack("<f", rest[0]))[0]
        found.append((NUMBERS[code], to, a, b, offset, value))
    return found, most


__all__ = ["Matrix", "Recurrence", "Value"]
