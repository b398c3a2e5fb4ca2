"""Datasets of elements that belong together: group_by_window and group_by_reducer.

Each element has a key, int64[], which a function gives. Groups that are still open at the end come
in the order of their keys.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.data import restoring
from penstock.data.held import HeldElements
from penstock.data.operations import HOST, NAMED, TYPES, Mapped, dataset_op, held
from penstock.data.run import Bound, Run
from penstock.data.stages import (
    INFINITE,
    UNKNOWN,
    Array,
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_LEAST = -(2**63)  # of the keys


def _key(function: Bound, element: Element) -> int:
    return int(np.asarray(function(element)[0]))


class GroupByWindow(Description):
    """What a function makes of so many elements with one key.

    Args:
      input: the elements.
      key: gives an element's key.
      reduce: makes a dataset of a key and a dataset of elements.
      size: gives the size of a key's windows.
      types: of the elements of the datasets that are made.
      shapes: of these.
    """

    kind = "GroupByWindowDataset"
    __slots__ = ("key", "reduce", "size")

    def __init__(
        self,
        input: Description,
        key: Mapped,
        reduce: Mapped,
        size: Mapped,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.key = key
        self.reduce = reduce
        self.size = size

    def cardinality(self) -> int:
        """Known for infinitely many elements alone."""
        return INFINITE if self.inputs[0].cardinality() == INFINITE else UNKNOWN

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _WindowsStage(self, run)


class _WindowsStage(UnaryStage):
    def __init__(self, description: GroupByWindow, run: Run) -> None:
        source = description.inputs[0]
        super().__init__(source.start(run))
        self._source = source
        self._run = run
        self._key_of = description.key.bind(run)
        self._reduce = description.reduce.bind(run)
        self._size_of = description.size.bind(run)
        self._sizes: dict[int, int] = {}
        self._groups: dict[int, list[Element]] = {}
        self._ended = False
        self._current: Stage | None = None
        self._made_of: tuple[int, list[Element]] = (0, [])

    def next(self) -> Element | None:
        while True:
            if self._current is not None:
                found = self._current.next()
                if found is not None:
                    return found
                self._current.close()
                self._current = None
            if not self._ended:
                self._fill()
            elif self._groups:
                key = min(self._groups)
                self._flush(key)
            else:
                return None

    def _fill(self) -> None:
        """Takes elements until a window is full, or there are no more."""
        while (element := self.input.next()) is not None:
            key = _key(self._key_of, element)
            group = self._groups.setdefault(key, [])
            if key not in self._sizes:
                self._sizes[key] = self._size(key)
            group.append(element)
            if len(group) >= self._sizes[key]:
                self._flush(key)
                return
        self._ended = True

    def _size(self, key: int) -> int:
        size = int(np.asarray(self._size_of((np.asarray(key, np.int64),))[0]))
        if size <= 0:
            self._groups.pop(key, None)
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Window size must be greater than zero, but got {size} for key {key}. Give a"
                " positive window_size.",
            )
        return size

    def _flush(self, key: int) -> None:
        self._begin(key, self._groups.pop(key))
        self._sizes.pop(key, None)

    def _begin(self, key: int, group: list[Element]) -> Stage:
        window = HeldElements(group, self._source.types, self._source.shapes)
        made = held(self._reduce((np.asarray(key, np.int64), window))[0])
        stage = self._current = made.start(self._run)
        self._made_of = key, group
        return stage

    def save(self) -> State:
        current = None
        if self._current is not None:
            key, group = self._made_of
            current = {
                "key": key, "group": [list(e) for e in group], "stage": self._current.save(),
            }  # fmt: skip
        groups = [
            {"key": k, "size": self._sizes[k], "group": [list(e) for e in g]}
            for k, g in self._groups.items()
        ]
        return {**super().save(), "ended": self._ended, "groups": groups, "current": current}

    def restore(self, state: State) -> None:
        super().restore(state)
        kind = "GroupByWindowDataset"
        self._ended = restoring.flag(state["ended"], kind)
        groups = restoring.several(state["groups"], kind)
        keys = [restoring.whole(each["key"], kind, _LEAST) for each in groups]
        kept = [restoring.elements(each["group"], self._source, kind) for each in groups]
        sizes = [restoring.whole(each["size"], kind, 1) for each in groups]
        self._groups = dict(zip(keys, kept, strict=True))
        self._sizes = dict(zip(keys, sizes, strict=True))
        self._current = None
        current = state["current"]
        if current is not None:
            key = restoring.whole(current["key"], kind, _LEAST)
            stage = self._begin(key, restoring.elements(current["group"], self._source, kind))
            stage.restore(current["stage"])

    def parts(self) -> Sequence[Stage]:
        current = self._current
        return (self.input,) if current is None else (self.input, current)


def _captures(*names: str) -> str:
    return ", ".join(f"{n}_func_other_arguments: [T{n}_func_other_arguments]" for n in names)


def _capture_types(*names: str) -> str:
    return ", ".join(f"T{n}_func_other_arguments: list(type) >= 0" for n in names)


_WINDOW = ("key", "reduce", "window_size")
GROUP_BY_WINDOW = dataset_op(
    f"GroupByWindowDataset(input_dataset: variant, {_captures(*_WINDOW)}; key_func: func,"
    f" reduce_func: func, window_size_func: func, {_capture_types(*_WINDOW)}, {NAMED}) -> handle:"
    " variant",
    "What a function makes of windows of elements with one key.",
)

GROUP_BY_WINDOW_V0 = dataset_op(
    f"ExperimentalGroupByWindowDataset(input_dataset: variant, {_captures(*_WINDOW)}; key_func:"
    f" func, reduce_func: func, window_size_func: func, {_capture_types(*_WINDOW)}, {TYPES}) ->"
    " handle: variant",
    "What a function makes of windows of elements with one key.",
)


@host_kernel(GROUP_BY_WINDOW, limit=HOST)
@host_kernel(GROUP_BY_WINDOW_V0, limit=HOST)
def _group_by_window(
    input_dataset: Array, key_other: list[Array], reduce_other: list[Array],
    size_other: list[Array], *, key_func: Any, reduce_func: Any, window_size_func: Any,
    output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    return GroupByWindow(
        held(input_dataset), Mapped(key_func, key_other), Mapped(reduce_func, reduce_other),
        Mapped(window_size_func, size_other), output_types, output_shapes,
    )  # fmt: skip


# ---- one result for each key


class GroupByReducer(Description):
    """What becomes of a state for each key: functions make it, change it by elements, and end it.

    Args:
      input: the elements.
      functions: key, init, reduce, finalize.
      types: of the results.
      shapes: of these.
    """

    kind = "GroupByReducerDataset"
    __slots__ = ("functions",)

    def __init__(
        self,
        input: Description,
        functions: Sequence[Mapped],
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.functions = tuple(functions)

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _ReducedStage(self.inputs[0].start(run), [f.bind(run) for f in self.functions])


class _ReducedStage(UnaryStage):
    def __init__(self, input: Stage, functions: Sequence[Bound]) -> None:
        super().__init__(input)
        self._key_of, self._first, self._reduce, self._finish = functions
        self._states: dict[int, list[Array]] = {}
        self._ended = False
        self._keys: list[int] = []

    def next(self) -> Element | None:
        if not self._ended:
            while (element := self.input.next()) is not None:
                key = _key(self._key_of, element)
                if key not in self._states:
                    self._states[key] = list(self._first((np.asarray(key, np.int64),)))
                self._states[key] = list(self._reduce((*self._states[key], *element)))
            self._ended, self._keys = True, sorted(self._states)
        if not self._keys:
            return None
        return tuple(self._finish(self._states.pop(self._keys.pop(0))))

    def save(self) -> State:
        states = [{"key": k, "state": list(s)} for k, s in self._states.items()]
        return {**super().save(), "ended": self._ended, "states": states}

    def restore(self, state: State) -> None:
        super().restore(state)
        kind = "GroupByReducerDataset"
        self._ended = restoring.flag(state["ended"], kind)
        types = [t.dtype for t in self._first.body.outputs]
        self._states = {
            restoring.whole(each["key"], kind, _LEAST): restoring.arrays(each["state"], types, kind)
            for each in restoring.several(state["states"], kind)
        }
        self._keys = sorted(self._states) if self._ended else []


_REDUCER = ("key", "init", "reduce", "finalize")
_FUNCTIONS = ", ".join(f"{n}_func: func" for n in _REDUCER)


def _define_reducer(name: str) -> None:
    op = dataset_op(
        f"{name}(input_dataset: variant, {_captures(*_REDUCER)}; {_FUNCTIONS},"
        f" {_capture_types(*_REDUCER)}, {TYPES}) -> handle: variant",
        "What functions make of all elements with one key.",
        stateful=True,
    )

    @host_kernel(op, limit=HOST)
    def _group_by_reducer(
        input_dataset: Array, key_other: list[Array], init_other: list[Array],
        reduce_other: list[Array], finalize_other: list[Array], *, key_func: Any, init_func: Any,
        reduce_func: Any, finalize_func: Any, output_types: Any, output_shapes: Any,
    ) -> Description:  # fmt: skip
        bodies = (key_func, init_func, reduce_func, finalize_func)
        captured = (key_other, init_other, reduce_other, finalize_other)
        functions = [Mapped(b, c) for b, c in zip(bodies, captured, strict=True)]
        return GroupByReducer(held(input_dataset), functions, output_types, output_shapes)


for _name in ("GroupByReducerDataset", "ExperimentalGroupByReducerDataset"):
    _define_reducer(_name)
