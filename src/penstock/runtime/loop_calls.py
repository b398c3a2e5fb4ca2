"""Loops whose rounds are one native call: LSTM, GRU and other recurrent cells, and their gradients.

`loop_call` looks at a loop that `penstock.runtime.loop_form` rewrote. Where all that its rounds do
are products with matrices that all rounds share, functions of single numbers, columns taken apart
and put side by side, rows read and rows set, it writes them down for the native library
(`penstock.core.recurrence`); any other loop stays XLA's. `LoopCall.run` does what the loop does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core import native
from penstock.core.lazy import jax, jnp
from penstock.core.patterns import Pattern, add_pattern, used
from penstock.core.recurrence import Matrix, Recurrence, Value
from penstock.core.tensor_list import StackedList
from penstock.runtime.loop_nodes import Counter
from penstock.runtime.loop_parts import LoopForm
from penstock.runtime.loop_rules import RULES, SETTERS, Unfit, dims_of
from penstock.runtime.program import FEED, Node, Ref
from penstock.types import dtypes as dt

LEAST_WORK = 1 << 9  # multiplications and functions of a round: less is quicker in XLA
NATIVE_LOOPS = add_pattern(
    Pattern(
        "loop_native",
        "the rounds of a loop: products with matrices that all rounds share, and what is done to "
        "their elements one by one, as in LSTM and GRU cells and their gradients",
        "one call of the native library for all rounds",
        "the number of rounds is known, everything is float32 of shape [batch, columns], on CPU",
    )
)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows that a round sets, or adds to, in a loop variable: result `number` of the call."""

    variable: int
    number: int
    counter: Counter
    adds: bool


@dataclass(frozen=True, slots=True)
class LoopCall:
    """A loop as a call.

    Attributes:
      recurrence, program: what is called.
      arguments: numbers of feeds of the program, or constants.
      carried: for each carried variable the number of its result, or the rows that are set in it.
      stacks: for each stack of rows the number of its result.
    """

    recurrence: Recurrence
    program: "np.ndarray[Any, Any]"
    arguments: tuple[Any, ...]
    carried: tuple["int | _Rows", ...]
    stacks: tuple[int, ...]

    def run(self, feeds: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """What is carried after the last round, and the stacks of rows."""
        arguments = [feeds[a] if isinstance(a, int) else a for a in self.arguments]
        found = self.recurrence.call(self.program, [jnp.asarray(a) for a in arguments])
        carried = [
            found[each] if isinstance(each, int) else _placed(each, feeds[each.variable], found)
            for each in self.carried
        ]
        return carried, [found[number] for number in self.stacks]


def _placed(rows: _Rows, held: Any, found: Sequence[Any]) -> Any:
    """A stack or list in which the rows are set."""
    made = found[rows.number]
    first = min(rows.counter.first, rows.counter.first + rows.counter.step * (len(made) - 1))
    if not isinstance(held, StackedList):
        return _with_rows(held, made, first, rows.adds)
    whole = not rows.adds and made.shape[0] == held.capacity
    base = made if whole else held.filled(made.shape[1:]).rows
    changed = made if whole else _with_rows(base, made, first, rows.adds)
    return held.having(rows=changed, dims=tuple(made.shape[1:]))


def _with_rows(old: Any, made: Any, first: int, adds: bool) -> Any:
    if adds:
        made = made + old[first : first + len(made)]
    if made.shape == old.shape:
        return made
    return jax.lax.dynamic_update_slice_in_dim(old, made, first, 0)


def loop_call(form: LoopForm, feeds: Sequence[Any]) -> LoopCall | None:
    """The loop as a call of the native library.

    Args:
      form: the loop.
      feeds: what comes into a round: the loop's values, then what is made before it.

    Returns:
      None where XLA has to run the loop.
    """
    if not used(NATIVE_LOOPS.name) or not native.available():
        return None
    known = {*RULES, *SETTERS, FEED, "NoOp"}
    if not {node.type for node in form.program.nodes} <= known:
        return None
    try:
        return _Lowering(form, feeds).call()
    except Unfit:
        return None


class _Lowering:
    """The state of one attempt."""

    def __init__(self, form: LoopForm, feeds: Sequence[Any]) -> None:
        self.form = form
        self.feeds = feeds
        self.numbers = {id(feed): i for i, feed in enumerate(form.program.feeds)}
        self.r = Recurrence(form.rounds, self._batch())
        self.values: dict[tuple[int, int], Value] = {}
        self.arguments: list[Any] = []
        self.states: dict[int, Value] = {}
        self.work = 0

    def _batch(self) -> int:
        """The rows of the states."""
        shapes = [
            tuple(self.feeds[i].shape)
            for i in self.form.carried
            if getattr(self.feeds[i], "ndim", 0) == 2
        ]
        if not shapes or not shapes[0][0]:
            raise Unfit
        return int(shapes[0][0])

    def call(self) -> LoopCall:
        """The call, when the library can have it."""
        fetches = self.form.program.fetches
        count = len(self.form.carried)
        if self.form.program.targets:
            raise Unfit
        givers = [
            self._carry(i, ref) for i, ref in zip(self.form.carried, fetches[:count], strict=True)
        ]
        stacks = [
            (self.value(ref), counter)
            for ref, counter in zip(fetches[count:], self.form.stacks, strict=True)
        ]
        carried = tuple(give() for give in givers)
        collected = tuple(
            self._collect(value, counter, self.form.rounds) for value, counter in stacks
        )
        program = self.r.program() if self.work >= LEAST_WORK else None
        if program is None:
            raise Unfit
        return LoopCall(self.r, program, tuple(self.arguments), carried, collected)

    # what a round gives

    def _carry(self, number: int, ref: Ref) -> Callable[[], "int | _Rows"]:
        """What says, once all values are known, which result a carried variable is."""
        node, feed = ref[0], self.form.program.feeds[number]
        if node.type in SETTERS and node.inputs[0][0] is feed:
            self._refuse_other_uses(feed, node)
            counter = self.counter(node.inputs[1])
            value = self.value(node.inputs[2])
            size = self._checked_rows(node, self.feeds[number], value)
            adds = SETTERS[node.type]
            return lambda: _Rows(number, self._collect(value, counter, size), counter, adds)
        value, state = self.value(ref), self._state(number)
        if value.width not in (state.width, None) or not self._is_whole(value):
            raise Unfit

        def hand_on() -> int:
            self.r.hand_on(state, value)
            return len(self.r.results) - 1

        return hand_on

    def _refuse_other_uses(self, feed: Node, setter: Node) -> None:
        """A stack that is read too, or handed on as it was, needs its old rows."""
        program = self.form.program
        takers = [n for n in program.nodes if any(source is feed for source, _ in n.inputs)]
        handed = sum(source is setter for source, _ in program.fetches)
        inner = any(source is setter for n in program.nodes for source, _ in n.inputs)
        if takers != [setter] or handed != 1 or inner:
            raise Unfit

    def _checked_rows(self, node: Node, held: Any, value: Value) -> int:
        """The number of rows of what a setter sets rows in."""
        if isinstance(held, StackedList):
            shape = held.dims if held.rows is None else tuple(held.rows.shape[1:])
            fits = isinstance(held.length, int) and held.dtype is dt.float32
            fits = fits and bool(node.attrs.get("_in_range") or (node.op and not node.op.fallible))
            size = held.length
        else:
            shape, size = tuple(held.shape[1:]), held.shape[0]
            fits = held.dtype == np.float32
        if not fits or shape != (self.r.batch, value.width):
            raise Unfit
        return int(size)

    def _collect(self, value: Value, counter: Counter, size: int) -> int:
        if abs(counter.step) != 1 or not counter.within(self.form.rounds, size):
            raise Unfit
        if value.width is None or not self._is_whole(value):
            raise Unfit
        self.r.collect(value, value.width, counter.step < 0)
        return len(self.r.results) - 1

    def _is_whole(self, value: Value) -> bool:
        """Whether a value has all rows of the batch, as a result has: not one that is repeated."""
        return value.rows or self.r.batch == 1

    # what a round reads

    def counter(self, ref: Ref) -> Counter:
        found = self.form.indices.get((id(ref[0]), ref[1]))
        if found is None:
            raise Unfit
        return found

    def argument(self, given: Any) -> int:
        """The number of an argument: that of a feed, or a constant."""
        for number, each in enumerate(self.arguments):
            if each is given:
                return number
        self.arguments.append(given)
        return len(self.arguments) - 1

    def _state(self, number: int) -> Value:
        if number not in self.states:
            dims = dims_of(self.feeds[number])
            if len(dims) != 2 or dims[0] != self.r.batch:
                raise Unfit
            self.states[number] = self.r.state(self.argument(number), dims[1])
        return self.states[number]

    def _feed(self, number: int) -> Value:
        if number in self.form.carried:
            return self._state(number)
        return self.fixed(number, dims_of(self.feeds[number]))

    def fixed(self, given: Any, dims: Sequence[int]) -> Value:
        """A value that is the same in all rounds."""
        rows, columns = (1, 1, *dims)[-2:]
        if len(dims) > 2 or rows not in (1, self.r.batch) or not columns:
            raise Unfit
        return self.r.fixed(self.argument(given), (rows, columns))

    def value(self, ref: Ref) -> Value:
        """The value of an output of a node."""
        key = (id(ref[0]), ref[1])
        if key not in self.values:
            node = ref[0]
            if node.type == FEED:
                found: Any = self._feed(self.numbers[id(node)])
            elif node.type not in RULES:
                raise Unfit
            else:
                found = RULES[node.type](self, node)
            several = found if isinstance(found, list) else [found]
            for i, each in enumerate(several):
                self.values[id(node), i] = each
        return self.values[key]

    def given(self, node: Node) -> list[Value]:
        """The values of a node's inputs, which must agree in their columns."""
        values = [self.value(ref) for ref in node.inputs]
        widths = {v.width for v in values if v.width is not None}
        if len(widths) > 1:
            raise Unfit
        self.work += self.r.batch * max(widths, default=0)
        return values

    def matrix(self, ref: Ref, transposed: bool, depth: int | None) -> Matrix:
        """A matrix that all rounds share."""
        constant = ref[0].attrs["value"].array if ref[0].type == "Const" else None
        number = self.numbers.get(id(ref[0]))
        if constant is None and (number is None or number in self.form.carried):
            raise Unfit
        dims = dims_of(self.feeds[number] if number is not None else constant)
        if len(dims) != 2:
            raise Unfit
        inner, columns = dims[::-1] if transposed else dims
        if inner != depth or not inner or not columns:
            raise Unfit
        self.work += self.r.batch * inner * columns
        argument = self.argument(constant if number is None else number)
        return Matrix(argument, inner, columns, transposed)


__all__ = ["LoopCall", "loop_call"]
