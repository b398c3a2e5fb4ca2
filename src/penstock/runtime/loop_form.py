"""What of a loop's rounds need not wait for the round before.

`loop_form` looks at the program of a round, where the number of rounds is known, and takes out of
it what can be done for all rounds at once, which costs far less than the same in small pieces:

- counters: what a loop variable that counts holds is known from the number of the round;
- row reads: row `t` of an array that all rounds share, `t` a counter, needs no check;
- row products: the products of such rows with a matrix that all rounds share are one product of
  all rows, before the loop;
- sums: a loop variable to which each round adds a product over the leading axis, as the gradient of
  a weight does, is one product of all rounds' rows, after the loop.

It decides and rewrites, and computes nothing: `penstock.runtime.traced_loops` runs what it says.
"""

import math
from collections import Counter as Count
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.core.op_def import lookup
from penstock.core.patterns import Pattern, add_pattern, used
from penstock.runtime.loop_nodes import (
    Counter,
    added_up,
    constant_integer,
    copied,
    row_read,
    step_of,
    sums_rows,
)
from penstock.runtime.program import FEED, Node, Program, Ref, sort

LARGEST = 1 << 28  # bytes of an array that holds something of all rounds
ROW_PRODUCTS = add_pattern(
    Pattern(
        "loop_row_products",
        "in the rounds of a loop: row t of an array that all rounds share, times a matrix that all "
        "rounds share",
        "one product of all rows before the loop",
        "the number of rounds is known, t counts within the array, and most rows are asked for",
    )
)
ROUND_SUMS = add_pattern(
    Pattern(
        "loop_sums",
        "a loop variable to which each round adds products over the leading axis of their "
        "operands, or sums over it",
        "one product or sum of the rows of all rounds after the loop",
        "the number of rounds is known, and the rows of a round are no more than twice the sum",
    )
)

Measure = Callable[[Program, Sequence[Ref]], list[tuple[int, ...]]]  # shapes of values


NUMBER = Counter(0, 1)  # of the round itself


@dataclass(frozen=True, slots=True)
class Rows:
    """An array of which rounds read rows: input `feed` of the loop, `axis` in front.

    Attributes:
      listed: the input is a list, whose elements are the rows.
    """

    feed: int
    axis: int = 0
    listed: bool = False


@dataclass(frozen=True, slots=True)
class RowProduct:
    """All rows of `rows` times input `weight` of the loop, as `node` multiplies one of them."""

    rows: Rows
    weight: int
    node: Node


@dataclass(frozen=True, slots=True)
class Operand:
    """Rows of all rounds.

    Attributes:
      held: "input" where an input of the loop holds them, else "stack".
      number: of the input or the stack.
    """

    held: str
    number: int


@dataclass(frozen=True, slots=True)
class Term:
    """What all rounds together add: `node` on the rows of all rounds."""

    node: Node
    operands: tuple[Operand, ...]


@dataclass
class LoopForm:
    """A loop rewritten.

    Attributes:
      rounds: how often it runs.
      program: a round. Its feeds are the inputs of the loop, then what `before` makes; its fetches
        the `carried` variables, then a row for each of `stacks`.
      carried: the loop variables that go from round to round.
      counters: those whose value follows from the round's number.
      before: what is made before the loop.
      stacks: for each stack of rows the index of the row that a round gives.
      sums: for each loop variable that adds up its terms.
    """

    rounds: int
    program: Program
    carried: list[int]
    counters: dict[int, Counter]
    before: list[Rows | RowProduct] = field(default_factory=list)
    stacks: list[Counter] = field(default_factory=list)
    sums: dict[int, list[Term]] = field(default_factory=dict)

    def describe(self) -> list[str]:
        """One line for each thing that was taken out of the rounds."""
        lines = [f"counter {self.program.feeds[i].name}" for i in self.counters]
        for each in self.before:
            if isinstance(each, RowProduct):
                lines.append(f"one product for all rows before the loop: {each.node.name}")
        for terms in self.sums.values():
            names = ", ".join(term.node.name for term in terms)
            lines.append(f"one for all rounds after the loop: {names}")
        return lines


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """What is known of a loop's inputs.

    Attributes:
      rounds: how often the loop runs.
      starts: values of integer scalars.
      fixed: those that are the same in every round.
      dims: shapes; of a list that of its elements in a row; missing where there is none.
      listed: which are lists.
    """

    rounds: int
    starts: Mapping[int, int]
    fixed: frozenset[int]
    dims: Mapping[int, tuple[int, ...]]
    listed: frozenset[int] = frozenset()


def loop_form(program: Program, facts: LoopFacts, measure: Measure) -> LoopForm:
    """Rewrites a loop.

    Args:
      program: that of a round, simplified: feed and fetch number i are one loop variable.
      facts: about its inputs.
      measure: gives the shapes of values of a round; called where the program does not tell.

    Returns:
      The loop; one from which nothing was taken has `program` as it was.
    """
    return _Rewriter(copied(program), facts, measure).rewrite()


class _Rewriter:
    """The state of one rewriting."""

    def __init__(self, program: Program, facts: LoopFacts, measure: Measure) -> None:
        self.program = program
        self.facts = facts
        self.measure = measure
        self.rounds = facts.rounds
        self.numbers = {id(feed): i for i, feed in enumerate(program.feeds)}
        self.counters = self._counters()
        self.form = LoopForm(facts.rounds, program, [], self.counters)
        self.made: dict[Rows | RowProduct, Node] = {}

    def rewrite(self) -> LoopForm:
        for node in self.program.nodes:
            self._read_row(node)
        if used(ROW_PRODUCTS.name):
            for node in self.program.nodes:
                self._multiply_row(node)
        program = self.program = self._sorted(self.program.fetches)
        self._emitted: list[Ref] = []
        if used(ROUND_SUMS.name):
            self._sum_up()
        form = self.form
        count = len(program.fetches)
        left = [i for i in range(count) if i not in self.facts.fixed]
        form.carried = [i for i in left if i not in self.counters and i not in form.sums]
        form.program = self._sorted([program.fetches[i] for i in form.carried] + self._emitted)
        return form

    def _sorted(self, fetches: list[Ref]) -> Program:
        feeds = self.program.feeds[: len(self.numbers)]
        made = [self.made[each] for each in self.form.before]
        return sort(feeds + made, fetches, self.program.targets)

    # counters

    def _counters(self) -> dict[int, Counter]:
        found = {}
        for i, start in self.facts.starts.items():
            feed = self.program.feeds[i]
            step = step_of(self.program.fetches[i], feed)
            limits = np.iinfo(feed.dtypes[0].numpy_dtype)
            if step is not None and limits.min <= start + step * self.rounds <= limits.max:
                found[i] = Counter(start, step)
        return found

    def _counted(self, ref: Ref) -> Counter | None:
        """What an integer scalar is in each round."""
        node, _ = ref
        number = self.numbers.get(id(node))
        if number is not None:
            return self.counters.get(number)
        constant = constant_integer(ref)
        if constant is not None:
            return Counter(constant, 0)
        if node.type not in ("Add", "AddV2", "Sub") or node.control:
            return None
        left, right = (self._counted(each) for each in node.inputs)
        if left is None or right is None:
            return None
        sign = -1 if node.type == "Sub" else 1
        return Counter(left.first + sign * right.first, left.step + sign * right.step)

    # rows

    def _read_row(self, node: Node) -> None:
        """Replaces the reading of a row that is there by one without a check."""
        at = row_read(node)
        if at is None or node.control:
            return
        axis, index = at
        number = self.numbers.get(id(node.inputs[0][0]))
        counter = self._counted(index)
        if number is None or number not in self.facts.fixed or counter is None:
            return
        dims = self.facts.dims.get(number)
        if dims is None or axis >= len(dims) or not counter.within(self.rounds, dims[axis]):
            return
        listed = number in self.facts.listed
        source = node.inputs[0][0]
        if axis or listed:
            size, dtype = dims[axis], node.dtypes[0]
            rows = (size, *dims[:axis], *dims[axis + 1 :])
            source = self._before(Rows(number, axis, listed), dtype, rows)
        self._become_read(node, source, index)

    def _become_read(self, node: Node, source: Node, index: Ref) -> None:
        node.type, node.op, node.counts = "PenstockStackRead", lookup("PenstockStackRead"), None
        node.inputs, node.attrs = [(source, 0), index], {"T": node.dtypes[0]}

    def _before(self, what: Rows | RowProduct, dtype: Any, dims: tuple[int, ...]) -> Node:
        """The feed that brings in what is made before the loop."""
        if what not in self.made:
            self.made[what] = Node(
                FEED, None, f"before_{len(self.made)}", {}, [], [], [dtype], [dims]
            )
            self.form.before.append(what)
        return self.made[what]

    def _rows_read(self, ref: Ref) -> tuple[Rows, Counter] | None:
        """The array and the row that a value is read from, when it is."""
        node, _ = ref
        if node.type != "PenstockStackRead" or node.control:
            return None
        source, counter = node.inputs[0][0], self._counted(node.inputs[1])
        number = self.numbers.get(id(source))
        rows = Rows(number) if number is not None and number in self.facts.fixed else None
        rows = rows or next(
            (k for k, v in self.made.items() if v is source and isinstance(k, Rows)), None
        )
        return None if rows is None or counter is None else (rows, counter)

    def _dims(self, rows: Rows) -> tuple[int, ...] | None:
        dims = self.facts.dims.get(rows.feed)
        if dims is None:
            return None
        return (dims[rows.axis], *dims[: rows.axis], *dims[rows.axis + 1 :])

    def _multiply_row(self, node: Node) -> None:
        """Replaces the product of a row by a row of the product of all rows."""
        if node.type != "MatMul" or node.control or node.attrs["transpose_a"]:
            return
        read, weight = self._rows_read(node.inputs[0]), self.numbers.get(id(node.inputs[1][0]))
        if read is None or weight is None or weight not in self.facts.fixed:
            return
        rows, counter = read
        dims, of_weight = self._dims(rows), self.facts.dims.get(weight)
        if dims is None or of_weight is None or len(dims) != 3 or len(of_weight) != 2:
            return
        if (
            not counter.within(self.rounds, dims[0])
            or abs(counter.step) * self.rounds * 2 < dims[0]
        ):
            return  # most rows are never asked for
        shape = (*dims[:2], of_weight[0 if node.attrs["transpose_b"] else 1])
        if math.prod(shape) * node.dtypes[0].size > LARGEST:
            return
        index = node.inputs[0][0].inputs[1]
        kept = node.copy(node.inputs, [])
        self._become_read(
            node, self._before(RowProduct(rows, weight, kept), node.dtypes[0], shape), index
        )

    # sums

    def _sum_up(self) -> None:
        self._stacks: dict[tuple[int, int, Counter], int] = {}
        uses = Count((id(n), i) for each in self.program.nodes for n, i in each.inputs)
        uses.update((id(n), i) for n, i in self.program.fetches)
        waited = {id(c) for each in self.program.nodes for c in each.control}
        waited |= {id(n) for n in self.program.targets}
        found = []
        for i, feed in enumerate(self.program.feeds):
            if (
                i < len(self.program.fetches)
                and uses[id(feed), 0] == 1
                and i not in self.facts.fixed
            ):
                added = added_up(self.program.fetches[i], feed, uses, waited)
                if added is not None and feed in [n for n, _ in added]:
                    found.append((i, [t for t in added if t[0] is not feed]))
        for wanted in (self._product_terms, self._plain_terms):
            for i, refs in found:
                terms = None if i in self.form.sums or not refs else wanted(refs)
                if terms is not None:
                    self.form.sums[i] = terms

    def _product_terms(self, refs: list[Ref]) -> list[Term] | None:
        """Products over the leading axis, all of them worth it."""
        for node, _ in refs:
            if node.type != "MatMul" or not node.attrs["transpose_a"] or node.attrs["transpose_b"]:
                return None
            if not node.dtypes[0].is_floating or not self._pays(node):
                return None
        return [Term(node, self._operands(node.inputs)) for node, _ in refs]

    def _pays(self, node: Node) -> bool:
        """Whether rows of all rounds are less to move than the sum in every round."""
        known = [source.shapes[index] or () for source, index in node.inputs]
        shapes = [tuple(n for n in dims if n is not None) for dims in known]
        if [len(dims) for dims in shapes] != [2, 2]:
            shapes = self.measure(self.program, node.inputs)
        left, right = shapes
        size = node.dtypes[0].size
        rows = max(math.prod(left), math.prod(right)) * self.rounds * size
        return rows <= LARGEST and sum(map(math.prod, (left, right))) <= 2 * left[1] * right[1]

    def _operands(self, refs: Sequence[Ref]) -> tuple[Operand, ...]:
        """Where the rows of all rounds are; those of one term lie in the same order."""
        read = [self._rows_read(ref) for ref in refs]
        whole = [
            r is not None
            and not (r[0].axis or r[0].listed)
            and r[1].covers(self.rounds, (self._dims(r[0]) or (0,))[0])
            for r in read
        ]
        order = next((r[1] for r, w in zip(read, whole, strict=True) if r and w), NUMBER)
        return tuple(
            Operand("input", r[0].feed)
            if r and w and r[1] == order
            else Operand("stack", self._stack(ref, order))
            for ref, r, w in zip(refs, read, whole, strict=True)
        )

    def _stack(self, ref: Ref, order: Counter) -> int:
        key = (id(ref[0]), ref[1], order)
        if key not in self._stacks:
            self._stacks[key] = len(self._emitted)
            self._emitted.append(ref)
            self.form.stacks.append(order)
        return self._stacks[key]

    def _plain_terms(self, refs: list[Ref]) -> list[Term] | None:
        """Sums over the leading axis of what is stacked already."""
        terms = []
        for node, _ in refs:
            stacked = [
                k
                for (source, i, _), k in self._stacks.items()
                if (source, i) == (id(node.inputs[0][0]), node.inputs[0][1])
            ]
            if not stacked or not sums_rows(node):
                return None
            terms.append(Term(node, (Operand("stack", stacked[0]),)))
        return terms


__all__ = ["Counter", "LoopFacts", "LoopForm", "Operand", "RowProduct", "Rows", "Term", "loop_form"]
