"""`while` and `for` over tensors, as loops of the graph.

The state of a loop is the tuple of the variables that a round may change and another round or the
code after the loop may read. What `for` iterates over decides how: `register_for` adds kinds.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.static_values import constant_value
from penstock.ops.loops import while_loop
from penstock.tracing.autograph.loop_state import (
    LoopState,
    RoundsDifferError,
    ShapesChangedError,
    scratch,
)
from penstock.tracing.autograph.values import at, condition, is_staged

Options = dict[str, Any]
GetState = Callable[[], tuple[Any, ...]]
SetState = Callable[[tuple[Any, ...]], None]
# (iterated, extra_test, body, get_state, set_state, symbol_names, options) -> None
ForLoop = Callable[[Any, Any, Any, GetState, SetState, Sequence[str], Options], None]
_kinds: dict[type, ForLoop] = {}
Test = Callable[[], Any]
_CONSISTENT = "Use a tensor for the condition from the start (tf.constant, tf.range)."


def register_for(kind: type, loop: ForLoop) -> None:
    """Says how `for` iterates over objects of a class, a dataset, say, while a graph is built."""
    _kinds[kind] = loop


def while_stmt(
    test: Test,
    body: Callable[[], Any],
    get_state: GetState,
    set_state: SetState,
    symbol_names: Sequence[str],
    opts: Options,
) -> None:
    """`while test(): body()`."""
    first = _first_test(test, get_state, set_state)
    if is_staged(first):
        loop = _Loop(symbol_names, get_state, set_state, opts)
        loop.run(lambda: condition(test(), "while loop"), body)
        return
    while first:
        body()
        first = test()
        if isinstance(first, SymbolicTensor):
            raise NotImplementedError(
                "The condition of while loop started as non-Tensor, then changed to Tensor. This"
                " may happen either because variables changed type, or when a break or return"
                f" statement inside the loop depends on a Tensor condition{at()}: expected one kind"
                f" in all rounds, got {first}. {_CONSISTENT}"
            )


def _first_test(test: Test, get_state: GetState, set_state: SetState) -> Any:
    """The condition before the first round, without leaving operations of it in the graph."""
    if state.graph is None:
        return test()
    before = get_state()
    with scratch() as graph:
        first = test()
    if is_staged(first):
        set_state(before)
        return first
    return test() if graph.get_operations() else first


def for_stmt(
    iterated: Any,
    extra_test: Test | None,
    body: Callable[[Any], Any],
    get_state: GetState,
    set_state: SetState,
    symbol_names: Sequence[str],
    opts: Options,
) -> None:
    """`for x in iterated: body(x)`; `extra_test` says whether to go on, for `break`."""
    if state.graph is not None and getattr(iterated, "_is_one_tensor", False):
        iterated = convert_to_tensor(iterated)
    begun = functools.partial(_Loop, symbol_names, get_state, set_state, opts)
    if is_staged(iterated):
        (_for_range if _counts(iterated) else _for_rows)(iterated, extra_test, body, begun)
        return
    if state.graph is not None and getattr(iterated, "_loops_over_rows", False):
        _for_ragged(iterated, extra_test, body, begun)
        return
    for kind in type(iterated).__mro__ if state.graph is not None else ():
        if kind in _kinds:
            _kinds[kind](iterated, extra_test, body, get_state, set_state, symbol_names, opts)
            return
    if not _go_on(extra_test):
        return
    for value in iterated:
        body(value)
        if not _go_on(extra_test):
            break


def _go_on(extra_test: Test | None) -> bool:
    result = True if extra_test is None else extra_test()
    if isinstance(result, SymbolicTensor):
        raise NotImplementedError(
            "break and return statements which depend on a TF condition are not supported in Python"
            f" for loops{at()}: expected a Python condition, got {result}. Did you intend to make"
            " it a TF loop? Iterate over a tensor, such as tf.range(n)."
        )
    return bool(result)


def _counts(iterated: Any) -> bool:
    """Whether a tensor is a range of integers, which need not be made to be counted."""
    op = iterated.op if isinstance(iterated, SymbolicTensor) else None
    return op is not None and op.type == "Range" and iterated.dtype.is_integer


def _for_range(
    iterated: Any, extra_test: Test | None, body: Callable[[Any], Any], begun: Callable[[], "_Loop"]
) -> None:
    start, limit, delta = iterated.op.inputs
    step = constant_value(delta)

    def ahead(counter: Any) -> Any:
        if step is not None:
            return execute("Less" if step > 0 else "Greater", (counter, limit))
        up = execute("LogicalAnd", (execute("Greater", (delta, 0)), _less(counter, limit)))
        down = execute("LogicalAnd", (execute("Less", (delta, 0)), _less(limit, counter)))
        return execute("LogicalOr", (up, down))

    loop = begun()
    loop.least_rounds = 0 if extra_test is not None else _static_length(iterated)
    # A known step is a constant of the body: so the number of rounds can be told from it.
    added = delta if step is None else int(step)
    loop.run(extra_test, body, (start, ahead, lambda i: execute("AddV2", (i, added)), lambda i: i))


def _less(a: Any, b: Any) -> Any:
    return execute("Less", (a, b))


def _for_rows(
    iterated: Any, extra_test: Test | None, body: Callable[[Any], Any], begun: Callable[[], "_Loop"]
) -> None:
    rows = convert_to_tensor(iterated)
    if rows.shape.rank == 0:
        raise ValueError(
            f"for loop over {rows}{at()}: len requires a non-scalar tensor: expected a tensor of at"
            " least one dimension, got a scalar. Use tf.range(n) to count."
        )
    count = _static_length(rows)
    length = execute("StridedSlice", (execute("Shape", (rows,)), [0], [1], [1]), _FIRST)
    loop = begun()
    loop.least_rounds = 0 if extra_test is not None else count
    limit = length if rows.dims is None or rows.dims[0] is None else convert_to_tensor(count)

    def row(counter: Any) -> Any:
        return execute("GatherV2", (rows, counter, 0))

    loop.run_to(limit, extra_test, body, row)


def _for_ragged(
    iterated: Any, extra_test: Test | None, body: Callable[[Any], Any], begun: Callable[[], "_Loop"]
) -> None:
    """Over the rows of a ragged tensor: tensors, or ragged tensors of one dimension less."""
    limit = iterated.nrows()
    begun().run_to(limit, extra_test, body, lambda i: iterated[i])


_FIRST = {"shrink_axis_mask": 1}


def _static_length(tensor: Any) -> int:
    """The rows of a tensor, as far as known; else 0."""
    return (tensor.dims[0] or 0) if tensor.dims else 0


class _Loop:
    """A loop that becomes an operation of the graph."""

    least_rounds = 0  # known when tracing
    ran: Callable[[Any], Any] | None = None  # of the first number: whether there was a round

    def __init__(
        self, names: Sequence[str], get_state: GetState, set_state: SetState, opts: Options
    ) -> None:
        self._state = LoopState(names, get_state, set_state, opts.get("shape_invariants") or ())
        self._options = {
            k: opts[k]
            for k in ("parallel_iterations", "swap_memory", "maximum_iterations")
            if k in opts
        }

    def run(self, test: Test | None, body: Callable[..., Any], counting: Any = None) -> None:
        """Adds the loop; with `counting` it runs over numbers and `body` gets a value of each.

        Args:
          test: whether there is another round; None for always.
          body: a round.
          counting: the first number, and functions of a number: whether to go on, the next one,
            and the value that stands for it.
        """
        start, ahead, following, value = counting or (False, None, None, None)

        def round_(number: Any) -> Any:
            return body() if value is None else body(value(number))

        self._state.probe(lambda: round_(self._probe_number(start)))

        def cond(number: Any, opening: Any, *values: Any) -> Any:
            del opening
            self._state.enter(values)
            more = True if test is None else condition(test(), "loop")
            if ahead is None:
                return more
            return ahead(number) if more is True else _both(ahead(number), more)

        def loop_body(number: Any, opening: Any, *values: Any) -> Any:
            self._state.enter(values)
            new = self._state.traced_round(lambda: round_(number), state.graph, *opening)
            following_number = True if following is None else following(number)
            return [following_number, [False for _ in opening], *new]

        first = convert_to_tensor(start)
        last, _, *results = self._added(cond, loop_body, first)
        if self.least_rounds < 1:
            self._state.check_ran(lambda: self._has_run(first, last, ahead))
        self._state.enter(results)

    def _added(self, cond: Any, loop_body: Any, first: Any) -> Any:
        """Adds the loop; again, where it turns out that sizes stay open or that rounds differ."""
        while True:
            # Whether it is the first round is only carried where that matters.
            opening = [convert_to_tensor(True)] if self._state.opens else []
            variables = [first, opening, *(s.value for s in self._state.slots)]
            shapes = [first.shape, [t.shape for t in opening], *self._state.as_invariants()]
            try:
                return while_loop(cond, loop_body, variables, shapes, **self._options)
            except (RoundsDifferError, ShapesChangedError):
                continue

    def _has_run(self, first: Any, last: Any, ahead: Any) -> Any:
        if ahead is None:
            return last
        return execute("NotEqual", (last, first)) if self.ran is None else self.ran(first)

    def run_to(
        self,
        limit: Any,
        test: Test | None,
        body: Callable[..., Any],
        value: Callable[[Any], Any],
    ) -> None:
        """Adds the loop over the numbers from 0 to before `limit`; see `run`."""
        first = convert_to_tensor(0, limit.dtype)
        counting = (first, lambda i: _less(i, limit), lambda i: execute("AddV2", (i, 1)), value)
        self.run(test, body, counting)

    def _probe_number(self, start: Any) -> Any:
        start = convert_to_tensor(start)
        return state.graph.add_input(start.dtype, start.dims, "loop_counter", user=False)


def _both(a: Any, b: Any) -> Any:
    return execute("LogicalAnd", (a, b))


def staged_loop(
    names: Sequence[str], get_state: GetState, set_state: SetState, opts: Options, relaxes: bool
) -> _Loop:
    """A loop that becomes an operation of the graph, for `register_for`.

    `relaxes` leaves sizes open that a round changes, in place of refusing them.
    """
    loop = _Loop(names, get_state, set_state, opts)
    loop._state.relaxes = relaxes
    return loop


__all__ = ["for_stmt", "register_for", "staged_loop", "while_stmt"]
