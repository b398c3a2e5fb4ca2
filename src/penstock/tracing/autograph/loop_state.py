"""The variables of a staged loop, as the graph's loop sees them.

A variable is carried as a nest of tensors, or it is not carried at all: objects that are no tensors
must stay the same. A variable without a value before the loop is given one: a round is traced in a
graph that is thrown away to see what it will be, zeros of that kind enter the loop, and the loop is
required to run at least once.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from penstock.core import context
from penstock.core.execute import execute
from penstock.ops.bodies import BodyGraph
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
        self._probed: list[str] | None = None
        self.relaxes = False

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
        return _Slot(index, tensors, self._shapes(value, tensors))

    def _shapes(self, value: Any, tensors: Any) -> Any:
        for given, shape in self._invariants:
            if given is value:
                return nest.map_structure(TensorShape, shape) if nest.is_nested(tensors) else shape
        return _shapes_of(tensors)

    def probe(self, round_: Callable[[], Any]) -> None:
        """Finds out what variables without a value will be; `round_` runs one round."""
        waiting = [i for i, v in enumerate(self._before) if v is None or is_missing(v)]
        if not waiting:
            return
        with scratch() as graph:
            self.enter([self._placeholders(graph, s) for s in self.slots])
            start = len(graph.get_operations())
            round_()
            self._probed = _work(graph, start)
            after = self._get()
            found = {i: self._as_tensors(i, after[i]) for i in waiting if not _absent(after[i])}
        for i, tensors in found.items():
            shapes = _shapes_of(tensors)
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

    def traced_round(self, round_: Callable[[], Any], graph: Any) -> list[Any]:
        """Runs a round in the graph of the loop; the next values, checked against the first."""
        start = len(graph.get_operations())
        round_()
        self._check_probe(_work(graph, start))
        after = self._get()
        carried = {s.index for s in self.slots}
        for i, value in enumerate(after):
            if i not in carried:
                self._check_kept(i, value)
        return [self._next(slot, after[slot.index]) for slot in self.slots]

    def _check_probe(self, types: list[str]) -> None:
        """A variable that starts as None must not make the first round another one."""
        if self._probed is None or types == self._probed:
            return
        names = [self._names[s.index] for s in self.slots if self._before[s.index] is None]
        if names:
            raise ValueError(
                f"'{names[0]}' is None before the loop{at()}: expected a tensor, because the body"
                " does something else when it is None, and all rounds of a loop are alike. Give it"
                " a first value."
            )

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


def _work(graph: Any, start: int) -> list[str]:
    """The types of the operations added since there were `start`, but inputs and constants."""
    types = [op.type for op in graph.get_operations()[start:]]
    return [t for t in types if t not in ("Const", "Placeholder")]


def _shapes_of(tensors: Any) -> Any:
    """The shape of a tensor, or the list of the shapes of all tensors in a structure."""
    flat = nest.flatten(tensors, expand_composites=True)
    return flat[0].shape if flat and flat[0] is tensors else [t.shape for t in flat]


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
