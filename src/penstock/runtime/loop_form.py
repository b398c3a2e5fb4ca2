"""What of a loop's rounds need not wait for the round before.

`loop_form` looks at the program of a round, where the number of rounds is known, and takes out of
it what can be done for all rounds at once, which costs far less than the same in small pieces:

- counters: what a loop variable that counts holds is known from the number of the round;
- lengths of lists that grow or shrink (`penstock.runtime.loop_lists`);
- row reads: row `t` of an array that all rounds share, `t` a counter, needs no check, nor does
  setting element `t` of a list;
- rows collected of an array, in order: they are the array;
- lists whose elements are read and then set to zero, as those of gradients are: nothing is set;
- row products: the products of such rows with a matrix that all rounds share are one product of
  all rows, before the loop;
- sums: a loop variable to which each round adds a product over the leading axis, as the gradient of
  a weight does, is one product of all rounds' rows, after the loop.

It decides and rewrites, and computes nothing: `penstock.runtime.traced_loops` runs what it says.
"""

import math
from collections import Counter as Count
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from penstock.core.op_def import lookup
from penstock.core.patterns import Pattern, add_pattern, used
from penstock.runtime.loop_lists import settle_lengths
from penstock.runtime.loop_nodes import (
    Counter,
    added_up,
    constant_integer,
    copied,
    row_read,
    step_of,
    sums_rows,
)
from penstock.runtime.loop_parts import (
    Before,
    LoopFacts,
    LoopForm,
    Operand,
    Part,
    RowProduct,
    Rows,
    Term,
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

BY_INDEX = (  # operations whose second input is the number of a row
    "PenstockStackRead",
    "PenstockStackWrite",
    "PenstockStackAdd",
    "TensorListSetItem",
    "PenstockTensorListAddItem",
)
Measure = Callable[[Program, Sequence[Ref]], list[tuple[int, ...]]]  # shapes of values


NUMBER = Counter(0, 1)  # of the round itself


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
        self.fixed = set(facts.fixed)
        self.counters = self._counters()
        self.form = LoopForm(facts.rounds, program, [], self.counters)
        self.made: dict[Before, Node] = {}

    def rewrite(self) -> LoopForm:
        settle_lengths(self)
        self.program = self._sorted(self.program.fetches)  # without what is no longer asked for
        self._collect_counters()
        self._leave_zeros()
        for node in self.program.nodes:
            self._read_row(node)
        self._collect_rows()
        if used(ROW_PRODUCTS.name):
            for node in self.program.nodes:
                self._multiply_row(node)
        program = self.program = self._sorted(self.program.fetches)
        self._emitted: list[Ref] = []
        if used(ROUND_SUMS.name):
            self._sum_up()
        form = self.form
        count = len(program.fetches)
        known = {*self.fixed, *self.counters, *form.sums, *form.vectors, *form.copies}
        known |= {*form.numbers}
        form.carried = [i for i in range(count) if i not in known]
        form.program = self._sorted([program.fetches[i] for i in form.carried] + self._emitted)
        form.indices = self._indices(form.program)
        return form

    def _indices(self, program: Program) -> dict[tuple[int, int], Counter]:
        """What is known of the numbers of rows."""
        refs = [n.inputs[1] for n in program.nodes if n.type in BY_INDEX]
        found = {(id(node), i): self.counted((node, i)) for node, i in refs}
        return {key: counter for key, counter in found.items() if counter is not None}

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

    def counted(self, ref: Ref) -> Counter | None:
        """What an integer scalar is in each round."""
        node, _ = ref
        number = self.numbers.get(id(node))
        if number is not None:
            start = self.facts.starts.get(number) if number in self.fixed else None
            return self.counters.get(number) if start is None else Counter(start, 0)
        if node.type in ("PenstockStackRead", "TensorListGetItem") and not node.control:
            return self._collected(node)
        constant = constant_integer(ref)
        if constant is not None:
            return Counter(constant, 0)
        if node.type not in ("Add", "AddV2", "Sub") or node.control:
            return None
        left, right = (self.counted(each) for each in node.inputs)
        if left is None or right is None:
            return None
        sign = -1 if node.type == "Sub" else 1
        return Counter(left.first + sign * right.first, left.step + sign * right.step)

    def _collected(self, node: Node) -> Counter | None:
        """A counter that an earlier loop collected in a vector, of which this one reads."""
        number = self.numbers.get(id(node.inputs[0][0]), -1)
        values = self.facts.vectors.get(number) if number in self.fixed else None
        index = self.counted(node.inputs[1])
        if values is None or index is None or not index.within(self.rounds, len(values)):
            return None
        read = [values[index.first + index.step * r] for r in range(self.rounds)]
        found = Counter(read[0], read[1] - read[0] if len(read) > 1 else 0)
        return found if read == [found.first + found.step * r for r in range(len(read))] else None

    def _collected_rows(self) -> Iterator[tuple[int, Counter, Ref]]:
        """Variables of which each round sets another row until all are set: number, index, row."""
        for i, (node, _) in enumerate(self.program.fetches):
            if node.type != "PenstockStackWrite" or self.users(i) != [node] or node.control:
                continue
            index, dims = self.counted(node.inputs[1]), self.facts.dims.get(i, ())
            if index and dims and self.handed_on_alone(i) and index.covers(self.rounds, dims[0]):
                yield i, index, node.inputs[2]

    def _collect_counters(self) -> None:
        """Finds variables in which each round puts what a counter says."""
        for i, index, row in self._collected_rows():
            value = self.counted(row)
            if value and len(self.facts.dims[i]) == 1:
                vector = np.zeros(self.rounds, row[0].dtypes[row[1]].numpy_dtype)
                numbers = np.arange(self.rounds)
                vector[index.first + index.step * numbers] = value.first + value.step * numbers
                self.form.vectors[i] = vector

    def _collect_rows(self) -> None:
        """Finds variables in which each round puts the row of that number of one array."""
        for i, index, row in self._collected_rows():
            read = self._rows_read(row)
            if read is not None and read[1] == index and self._dims(read[0]) == self.facts.dims[i]:
                self.form.copies[i] = read[0]

    # lists

    def users(self, number: int) -> list[Node]:
        feed = self.program.feeds[number]
        return [n for n in self.program.nodes for source, _ in n.inputs if source is feed]

    def handed_on_alone(self, number: int) -> bool:
        """Whether a round uses what a variable becomes nowhere else, and hands on no old value."""
        feed, (node, _) = self.program.feeds[number], self.program.fetches[number]
        taken = [source for each in self.program.nodes for source, _ in each.inputs]
        fetched = [source for source, _ in self.program.fetches]
        uses = sum(source is node for source in [*taken, *fetched])
        return uses == 1 and not any(source is feed for source in fetched)

    def _leave_zeros(self) -> None:
        """Finds lists whose every element is read, then set to zero; and sets without a check."""
        for i, (node, _) in enumerate(self.program.fetches):
            length = self.facts.lengths.get(i)
            if node.type != "TensorListSetItem" or node.control or length is None:
                continue
            if not self.handed_on_alone(i):
                continue
            counter = self.counted(node.inputs[1])
            if node.inputs[0][0] is not self.program.feeds[i] or counter is None:
                continue
            if counter.within(self.rounds, length):
                node.attrs = {**node.attrs, "_in_range": True}
            others = [user for user in self.users(i) if user is not node]
            reads = all(
                user.type == "TensorListGetItem" and self.counted(user.inputs[1]) == counter
                for user in others
            )
            zero = node.inputs[2][0].type == "ZerosLike" and i in self.facts.listed
            if reads and zero and counter.covers(self.rounds, length):
                self.form.zeroed.append(i)
                self.fixed.add(i)

    # rows

    def _read_row(self, node: Node) -> None:
        """Replaces the reading of a row that is there by one without a check."""
        at = row_read(node)
        if at is None or node.control:
            return
        axis, index = at
        number = self.numbers.get(id(node.inputs[0][0]))
        counter = self.counted(index)
        if number is None or number not in self.fixed or counter is None:
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
        of_index = index[0].dtypes[index[1]]
        node.inputs, node.attrs = [(source, 0), index], {"T": node.dtypes[0], "Tindex": of_index}

    def _before(self, what: Before, dtype: Any, dims: tuple[int, ...]) -> Node:
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
        source, counter = node.inputs[0][0], self.counted(node.inputs[1])
        number = self.numbers.get(id(source))
        rows = Rows(number) if number is not None and number in self.fixed else None
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
        weight = self.numbers.get(id(node.inputs[1][0]))
        if weight is None or weight not in self.fixed:
            return
        if node.inputs[0][0].type == "ConcatV2":
            self._multiply_part(node, weight)
            return
        source = self._row_product(node, node.inputs[0], weight)
        if source is not None:
            self._become_read(node, source, node.inputs[0][0].inputs[1])

    def _row_product(self, node: Node, row: Ref, weight: int | Part) -> Node | None:
        """The feed of the product of all rows like `row` with a matrix; None where it is not."""
        read = self._rows_read(row)
        if read is None:
            return None
        rows, counter = read
        held = weight if isinstance(weight, int) else weight.feed
        dims, of_weight = self._dims(rows), self.facts.dims.get(held)
        if dims is None or of_weight is None or len(dims) != 3 or len(of_weight) != 2:
            return None
        inside = counter.within(self.rounds, dims[0])
        if not inside or abs(counter.step) * self.rounds * 2 < dims[0]:
            return None  # most rows are never asked for
        shape = (*dims[:2], of_weight[0 if node.attrs["transpose_b"] else 1])
        if math.prod(shape) * node.dtypes[0].size > LARGEST:
            return None
        product = RowProduct(rows, weight, node.copy(node.inputs, []))
        return self._before(product, node.dtypes[0], shape)

    def _multiply_part(self, node: Node, weight: int) -> None:
        """As `_multiply_row`, where the row and something else stand side by side."""
        joined = node.inputs[0][0]
        *parts, axis = joined.inputs
        widths = [(n.shapes[i] or (None,))[-1] for n, i in parts]
        if constant_integer(axis) not in (1, -1) or joined.control or len(parts) != 2:
            return
        if None in widths or not any(self._rows_read(part) for part in parts):
            return
        first, across = widths[0] or 0, bool(node.attrs["transpose_b"])
        ends = ((0, first), (first, first + (widths[1] or 0)))
        halves = [Part(weight, begin, end, across) for begin, end in ends]
        which = 0 if self._rows_read(parts[0]) else 1
        dtype = node.dtypes[0]
        source = self._row_product(node, parts[which], halves[which])
        dims = self.facts.dims.get(weight)
        if source is None or dims is None:
            return
        other = halves[1 - which]
        kept = (dims[0], other.end - other.begin) if across else (other.end - other.begin, dims[1])
        row = node.copy([], [])
        row.name = f"{node.name}/row"
        self._become_read(row, source, parts[which][0].inputs[1])
        rest = node.copy([parts[1 - which], (self._before(other, dtype, kept), 0)], [])
        node.type, node.op, node.counts = "AddV2", lookup("AddV2"), None
        node.inputs, node.attrs = [(row, 0), (rest, 0)], {"T": dtype}

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
        numbers = math.prod(left) + math.prod(right)
        return rows <= LARGEST and numbers <= 2 * left[1] * right[1]

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
            if not node.inputs or not sums_rows(node):
                return None
            stacked = [
                k
                for (source, i, _), k in self._stacks.items()
                if (source, i) == (id(node.inputs[0][0]), node.inputs[0][1])
            ]
            if not stacked:
                return None
            terms.append(Term(node, (Operand("stack", stacked[0]),)))
        return terms


__all__ = ["LoopFacts", "loop_form"]
