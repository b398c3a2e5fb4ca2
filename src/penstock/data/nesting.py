"""Datasets of the elements of datasets that a function makes: flat_map and interleave."""

from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.data.operations import HOST, NAMED, Mapped, dataset_op, held, number
from penstock.data.run import Bound, Run
from penstock.data.stages import (
    Array,
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class Interleave(Description):
    """Elements of several datasets in turn: some of one, then some of the next.

    Args:
      input: each element gives a dataset.
      function: what makes it.
      cycle: how many datasets are open at once.
      block: how many elements are taken of one before the next has its turn.
      types: the dtypes of the elements.
      shapes: their shapes.
    """

    kind = "InterleaveDataset"
    __slots__ = ("block", "cycle", "function")

    def __init__(
        self,
        input: Description,
        function: Mapped,
        cycle: int,
        block: int,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.function = function
        self.cycle = cycle
        self.block = block

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _InterleaveStage(self.inputs[0].start(run), self, self.function.bind(run), run)


class _Open:
    """A dataset that elements are taken of, and the element that it was made of."""

    __slots__ = ("element", "stage")

    def __init__(self, element: Element, stage: Stage) -> None:
        self.element = element
        self.stage = stage


class _InterleaveStage(UnaryStage):
    def __init__(self, input: Stage, description: Interleave, function: Bound, run: Run) -> None:
        super().__init__(input)
        self._function = function
        self._block = description.block
        self._run = run
        self._open: list[_Open | None] = [None] * description.cycle
        self._turn = 0
        self._taken = 0  # elements of this turn
        self._ended = False

    def next(self) -> Element | None:
        while True:
            current = self._open[self._turn]
            if current is not None:
                found = self._from(current)
                if found is not None:
                    return found
            elif not self._ended:
                element = self.input.next()
                if element is None:
                    self._ended = True
                else:
                    self._open[self._turn] = self._opened(element)
            elif any(self._open):
                self._next_turn()
            else:
                return None

    def _from(self, current: _Open) -> Element | None:
        """The next element of an open dataset; None when it has no more, and is closed."""
        try:
            found = current.stage.next()
        except Exception:
            self._count()
            raise
        if found is None:
            current.stage.close()
            self._open[self._turn] = None
            self._next_turn()
        else:
            self._count()
        return found

    def _count(self) -> None:
        self._taken += 1
        if self._taken == self._block:
            self._next_turn()

    def _next_turn(self) -> None:
        self._taken = 0
        self._turn = (self._turn + 1) % len(self._open)

    def _opened(self, element: Element) -> _Open:
        made = held(self._function(element)[0])
        return _Open(element, made.start(self._run))

    def save(self) -> State:
        open_ = [
            None if o is None else {"element": list(o.element), "stage": o.stage.save()}
            for o in self._open
        ]
        return {
            **super().save(), "open": open_, "turn": self._turn, "taken": self._taken,
            "ended": self._ended,
        }  # fmt: skip

    def restore(self, state: State) -> None:
        super().restore(state)
        self._turn, self._taken = int(state["turn"]), int(state["taken"])
        self._ended = bool(state["ended"])
        self._open = [None if saved is None else self._reopened(saved) for saved in state["open"]]

    def _reopened(self, saved: State) -> _Open:
        made = self._opened(tuple(saved["element"]))
        made.stage.restore(saved["stage"])
        return made

    def close(self) -> None:
        for each in self._open:
            if each is not None:
                each.stage.close()
        super().close()


_FUNCTION = "f: func, Targuments: list(type) >= 0"
FLAT_MAP = dataset_op(
    f"FlatMapDataset(input_dataset: variant, other_arguments: [Targuments]; {_FUNCTION}, {NAMED})"
    " -> handle: variant",
    "The elements of the datasets that a function makes of the elements of a dataset.",
)
INTERLEAVE = dataset_op(
    "InterleaveDataset(input_dataset: variant, other_arguments: [Targuments], cycle_length: int64,"
    f" block_length: int64; {_FUNCTION}, {NAMED}) -> handle: variant",
    "The elements of the datasets that a function makes, several datasets in turn.",
)


@host_kernel(FLAT_MAP, limit=HOST)
def _flat_map(
    input_dataset: Array, other_arguments: list[Array], *, f: Any, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    function = Mapped(f, other_arguments)
    return Interleave(held(input_dataset), function, 1, 1, output_types, output_shapes)


@host_kernel(INTERLEAVE, limit=HOST)
def _interleave(
    input_dataset: Array, other_arguments: list[Array], cycle_length: Array, block_length: Array,
    *, f: Any, output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    cycle, block = number(cycle_length), number(block_length)
    for name, value in (("cycle_length", cycle), ("block_length", block)):
        if value <= 0 and not (name == "cycle_length" and value == -1):
            raise errors.InvalidArgumentError(
                None, None, f"`{name}` must be > 0, got {value}. Give a larger one."
            )
    function = Mapped(f, other_arguments)
    return Interleave(held(input_dataset), function, cycle, block, output_types, output_shapes)
