"""The variables of a staged loop, as the graph's loop sees them.

A variable is carried as a nest of tensors, or it is not carried at all: objects that are no tensors
must stay the same. A variable without a value before the loop is given one: a round is traced in a
graph that is thrown away to see what it will be, zeros of that kind enter the loop, and the loop is
required to run at least once. Where that round does other work than one with a value would (the
body asks whether a variable is None), the loop holds both, and chooses the former in its first
round.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from penstock.core import context
from penstock.core.execute import execute
from penstock.ops.bodies import BodyGraph
from penstock.ops.conditionals import cond
from penstock.tracing.autograph.round_work import Name, RoundWork, round_work
from penstock.tracing.autograph.values import (
    UndefinedReturnValue,
    as_tensors,
    at,
    is_missing,
    zeros_like_structure,
)
from penstock.types.dims import is_subtype
from penstock.types.tensor_shape import TensorShape
from penstock.util import nest

GetState = Callable[[], tuple[Any, ...]]
SetState = Callable[[tuple[Any, ...]], None]


@contextmanager
def scratch() -> Iterator[BodyGraph]:
    """A graph that is thrown away, for operations that only show what they would return."""
    graph = BodyGraph("autograph_scratch")
    with context.graph_scope(graph), context.no_recording():
        yield graph


@dataclasses.dataclass(slots=True)
class _Slot:
    """A carried variable: its place in the state, first value and shapes."""

    index: int
    value: Any  # a nest of tensors
    shapes: Any  # the TensorShape of a tensor; a nest or list with that of each tensor in a nest
    needs_round: bool = False  # had no value before the loop


class LoopState:
    """The state of one loop.

    Attributes:
      slots: the carried variables.
      relaxes: whether sizes that change from round to round are left open, not refused.
      rounds_needed: names of variables that only a round gives a value.
      opens: whether the first round is another one, because a variable is still None in it.
    """

    def __init__(
        self,
        names: Sequence[str],
        get_state: GetState,
        set_state: SetState,
        invariants: Sequence[tuple[Any, Any]] = (),
    ) -> None:
        self._names = names
        self._get = get_state
        self._set = set_state
        self._before = get_state()
        self._invariants = invariants
        self.slots = [s for i in range(len(names)) if (s := self._slot(i)) is not None]
        self._probed: RoundWork | None = None  # where a variable starts as None
        self.relaxes = self.opens = False

    @property
    def rounds_needed(self) -> list[str]:
        """The names of variables that only a round gives a value."""
        return [
            self._names[s.index]
            for s in self.slots
            if s.needs_round and not isinstance(self._before[s.index], UndefinedReturnValue)
        ]

    def _slot(self, index: int) -> _Slot | None:
        value = self._before[index]
        if value is None or is_missing(value):
            return None
        try:
            tensors = as_tensors(value)
        except (TypeError, ValueError):
            return None  # a Python object: it has to stay
        if any(t is None for t in nest.flatten(tensors, expand_composites=True)):
            raise ValueError(
                f"'{self._names[index]}' before the loop{at()}: None values not supported: expected"
                f" tensors in all places of its structure, got {value!r}. Put tensors there, or use"
                " a variable of its own that is None."
            )
        return _Slot(index, tensors, self._shapes(value, tensors))

    def _shapes(self, value: Any, tensors: Any) -> Any:
        for given, shape in self._invariants:
            # None is no name: of pairs for several variables the first whose shapes fit is meant.
            if given is value and (value is not None or _fits(shape, tensors)):
                return nest.map_structure(TensorShape, shape) if nest.is_nested(tensors) else shape
        return _shapes_of(tensors)

    def probe(self, round_: Callable[[], Any]) -> None:
        """Finds out what variables without a value will be; `round_` runs one round."""
        waiting = [i for i, v in enumerate(self._before) if v is None or is_missing(v)]
        if not waiting:
            return
        with scratch() as graph:
            self.enter([self._placeholders(graph, s) for s in self.slots])
            entered, start = self._entered(), len(graph.get_operations())
            round_()
            after = self._get()
            found = {i: self._as_tensors(i, after[i]) for i in waiting if not _absent(after[i])}
            if any(self._before[i] is None for i in found):
                left = self._left_at([*(s.index for s in self.slots), *found])
                self._probed = round_work(graph, start, entered, left)
        for i, tensors in found.items():
            shapes = self._shapes(self._before[i], tensors)
            self.slots.append(_Slot(i, zeros_like_structure(tensors), shapes, needs_round=True))
        self.slots.sort(key=lambda s: s.index)
        self._set(self._before)

    def _placeholders(self, graph: BodyGraph, slot: _Slot) -> Any:
        flat = zip(
            nest.flatten(slot.value, expand_composites=True),
            nest.flatten(slot.shapes, expand_composites=True),
            strict=True,
        )
        made = [
            graph.add_input(t.dtype, TensorShape(s).dims_tuple, "loop_var", user=False)
            for t, s in flat
        ]
        return nest.pack_sequence_as(slot.value, made, expand_composites=True)

    # ---- rounds ----------------------------------------------------------------------------------

    def enter(self, values: Sequence[Any]) -> None:
        """Makes the user's variables those of a round."""
        state = list(self._before)
        for slot, value in zip(self.slots, values, strict=True):
            state[slot.index] = value
        self._set(tuple(state))

    def traced_round(self, round_: Callable[[], Any], graph: Any, opening: Any = None) -> list[Any]:
        """Runs a round in the graph of the loop; the next values, checked against the first.

        Args:
          round_: the body.
          graph: that of the loop.
          opening: where `opens`, whether this is the first round: bool[].

        Raises:
          RoundsDifferError: the first round turns out to be another one.
        """
        if self.opens:
            return self._opened_round(round_, opening)
        entered, start = self._entered(), len(graph.get_operations())
        round_()
        if self._probed is not None:
            left = self._left_at([s.index for s in self.slots])
            if round_work(graph, start, entered, left) != self._probed:
                self.opens = True
                raise RoundsDifferError
        return self._left()

    def _entered(self) -> dict[int, Name]:
        """By the identity of each tensor that the round begins with: of which variable it is."""
        values = self._get()
        return {
            id(tensor): ("variable", slot.index, i)
            for slot in self.slots
            for i, tensor in enumerate(nest.flatten(values[slot.index], expand_composites=True))
        }

    def _left_at(self, places: Sequence[int]) -> list[Any]:
        """The tensors that a round left in some of the variables, unchecked."""
        values, left = self._get(), []
        for index in sorted(places):
            try:
                left += nest.flatten(as_tensors(values[index]), expand_composites=True)
            except (TypeError, ValueError):
                left.append(values[index])  # no tensor: the checks say so
        return left

    def _opened_round(self, round_: Callable[[], Any], opening: Any) -> list[Any]:
        """A round that is the first, in which variables are None, or another one."""
        entered = self._get()
        given = list(entered)
        for slot in self.slots:
            if slot.needs_round:
                given[slot.index] = self._before[slot.index]

        def run(values: Sequence[Any]) -> list[Any]:
            self._set(tuple(values))
            round_()
            return self._left()

        left: list[Any] = cond(opening, lambda: run(given), lambda: run(entered))
        self.enter(left)
        return left

    def _left(self) -> list[Any]:
        """What a round left in the carried variables, checked."""
        after = self._get()
        carried = {s.index for s in self.slots}
        for i, value in enumerate(after):
            if i not in carried:
                self._check_kept(i, value)
        return [self._next(slot, after[slot.index]) for slot in self.slots]

    def _check_kept(self, index: int, value: Any) -> None:
        before = self._before[index]
        if value is before or (is_missing(before) and is_missing(value)):
            return
        raise TypeError(
            f"'{self._names[index]}'{at()}: expected tensors as loop variables, or an object that"
            f" stays the same, got {before!r} before the loop and {value!r} after one iteration."
            " Keep Python objects out of the loop, or use tensors."
        )

    def _next(self, slot: _Slot, value: Any) -> Any:
        name = self._names[slot.index]
        if value is None:
            raise ValueError(
                f"'{name}' is None at the end of the iteration{at()}: expected the kind of value"
                " it had before the loop. Use a tensor in place of None."
            )
        tensors = self._as_tensors(slot.index, value)
        try:
            nest.assert_same_structure(slot.value, tensors, expand_composites=True)
        except (TypeError, ValueError) as problem:
            raise TypeError(
                f"'{name}' does not have the same nested structure after one iteration{at()}:"
                f" expected the one before the loop. {problem}. Keep the structure, or collect"
                " values in a tf.TensorArray."
            ) from None
        if self.relaxes:
            _relax(slot, tensors)
        triples = zip(
            nest.flatten(slot.value, expand_composites=True),
            nest.flatten(slot.shapes, expand_composites=True),
            nest.flatten(tensors, expand_composites=True),
            strict=True,
        )
        for old, shape, new in triples:
            _check_leaf(name, old, TensorShape(shape), new)
        return tensors

    def _as_tensors(self, index: int, value: Any) -> Any:
        if is_missing(value):
            raise ValueError(
                f"'{self._names[index]}' has no value at the end of the iteration{at()}: expected"
                " every round to leave one. Assign it in each round."
            )
        try:
            return as_tensors(value)
        except (TypeError, ValueError) as problem:
            raise TypeError(
                f"'{self._names[index]}'{at()}: expected tensors as loop variables, got {value!r}"
                f" after one iteration. Keep Python objects out of the loop. ({problem})"
            ) from None

    # ---- after the loop --------------------------------------------------------------------------

    def check_ran(self, ran: Callable[[], Any]) -> None:
        """Adds the check that a loop which had to give variables a value did so."""
        names = self.rounds_needed
        if names:
            text = f"loop must iterate at least once to initialize {', '.join(names)}"
            execute("Assert", (ran(), [text]))

    def as_invariants(self) -> list[Any]:
        """The shapes of the carried variables, as `tf.while_loop` takes them."""
        return [
            nest.map_structure(TensorShape, s.shapes) if nest.is_nested(s.shapes) else s.shapes
            for s in self.slots
        ]


class RoundsDifferError(Exception):
    """The round with variables that are still None is another one: trace the loop with both."""


class ShapesChangedError(Exception):
    """A round left sizes open that the loop had: it is to be traced again."""


def _relax(slot: _Slot, tensors: Any) -> None:
    """Leaves open the sizes that a round changes.

    Raises:
      ShapesChangedError: there are such.
    """
    shapes = [TensorShape(s) for s in nest.flatten(slot.shapes, expand_composites=True)]
    after = [t.shape for t in nest.flatten(tensors, expand_composites=True)]
    common = [a.most_specific_compatible_shape(b) for a, b in zip(shapes, after, strict=True)]
    changed = any(
        not is_subtype(old.dims_tuple, new.dims_tuple)
        for old, new in zip(common, shapes, strict=True)
    )
    if changed:
        slot.shapes = common if nest.is_nested(slot.shapes) else common[0]
        raise ShapesChangedError


def _shapes_of(tensors: Any) -> Any:
    """The shape of a tensor, or the list of the shapes of all tensors in a structure."""
    flat = nest.flatten(tensors, expand_composites=True)
    return flat[0].shape if flat and flat[0] is tensors else [t.shape for t in flat]


def _fits(shape: Any, tensors: Any) -> bool:
    """Whether tensors may have the shape, or the nest of shapes, that an invariant says."""
    flat = nest.flatten(tensors, expand_composites=True)
    whole = nest.is_nested(tensors)
    shapes = nest.flatten(nest.map_structure(TensorShape, shape)) if whole else [shape]
    return len(shapes) == len(flat) and all(
        TensorShape(s).is_compatible_with(t.shape) for s, t in zip(shapes, flat, strict=True)
    )


def _absent(value: Any) -> bool:
    return value is None or is_missing(value)


def _check_leaf(name: str, old: Any, shape: TensorShape, new: Any) -> None:
    if old.dtype is not new.dtype:
        raise TypeError(
            f"'{name}' has dtype {old.dtype.name} before the loop, but dtype {new.dtype.name} after"
            f" one iteration{at()}: expected one dtype in all rounds. Use tf.cast."
        )
    if not is_subtype(new.dims, shape.dims_tuple):
        raise ValueError(
            f"'{name}' has shape {shape} before the loop, but shape {new.shape} after one"
            f" iteration{at()}: expected the same in all rounds. Use"
            " tf.autograph.experimental.set_loop_options to set shape invariants."
        )
