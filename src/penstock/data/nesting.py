"""Datasets of the elements of datasets that a function makes: flat_map and interleave."""

from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.data import restoring
from penstock.data.mapping import AUTOTUNE, DETERMINISTIC
from penstock.data.operations import (
    HOST,
    NAMED,
    TYPES,
    Mapped,
    dataset_op,
    held,
    number,
    text_of,
)
from penstock.data.pool import processors
from penstock.data.prefetching import PrefetchStage
from penstock.data.run import Bound, Run, UnwantedError
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
      parallel: whether open datasets are read ahead of their turn.
      ordered: whether a dataset has its turn also where it has no element yet; None leaves it to
        options.
      types: the dtypes of the elements.
      shapes: their shapes.
    """

    kind = "InterleaveDataset"
    __slots__ = ("block", "cycle", "function", "ordered", "parallel")

    def __init__(
        self,
        input: Description,
        function: Mapped,
        cycle: int,
        block: int,
        types: Sequence[DType],
        shapes: Sequence[Dims],
        parallel: bool = False,
        ordered: bool | None = True,
    ) -> None:
        super().__init__((input,), types, shapes)
        self.function = function
        self.cycle = cycle if cycle > 0 else processors()
        self.block = block
        self.parallel = parallel
        self.ordered = ordered

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _InterleaveStage(self.inputs[0].start(run), self, self.function.bind(run), run)


class _Open:
    """A dataset that elements are taken of, and the element that it was made of."""

    __slots__ = ("element", "of", "stage")

    def __init__(self, element: Element, of: Description, stage: Stage) -> None:
        self.element = element
        self.of = of
        self.stage = stage

    def save(self) -> State:
        """What is to be opened again, and where it is."""
        kinds = restoring.kinds(self.of)
        return {"element": list(self.element), "kinds": kinds, "stage": self.stage.save()}


class _InterleaveStage(UnaryStage):
    def __init__(self, input: Stage, description: Interleave, function: Bound, run: Run) -> None:
        super().__init__(input)
        self._of = description
        self._function = function
        self._block = description.block
        self._run = run
        self._parallel = description.parallel
        ordered = description.ordered
        self._ordered = run.options.deterministic if ordered is None else ordered
        self._open: list[_Open | None] = [None] * description.cycle
        self._turn = 0
        self._taken = 0  # elements of this turn
        self._ended = False

    def next(self) -> Element | None:
        while True:
            if not self._ordered:
                self._turn_to_ready()
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
        except UnwantedError:
            raise
        except Exception:
            if self._parallel:  # as in TensorFlow: an error is an element of its turn there
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

    def _turn_to_ready(self) -> None:
        """Gives the turn to a dataset with an element, where the one whose turn it is has none."""
        count = len(self._open)
        if self._taken or (not self._ended and None in self._open):
            return
        for turn in range(self._turn, self._turn + count):
            found = self._open[turn % count]
            if found is not None and isinstance(found.stage, PrefetchStage) and found.stage.ready:
                self._turn = turn % count
                return

    def _opened(self, element: Element, begins: bool = True) -> _Open:
        made = held(self._function(element)[0])
        stage = made.start(self._run)
        if self._parallel:
            ahead = stage = PrefetchStage(stage, made, 2 * self._block, self._run)
            if begins:
                ahead.begin()
        return _Open(element, made, stage)

    def save(self) -> State:
        open_ = [None if each is None else each.save() for each in self._open]
        return {
            **super().save(), "open": open_, "turn": self._turn, "taken": self._taken,
            "ended": self._ended,
        }  # fmt: skip

    def restore(self, state: State) -> None:
        super().restore(state)
        kind = self._of.kind
        open_ = restoring.several(state["open"], kind)
        self._turn = restoring.whole(state["turn"], kind, 0, len(open_) - 1)
        self._taken = restoring.whole(state["taken"], kind, 0, self._block - 1)
        self._ended = restoring.flag(state["ended"], kind)
        self._open = [None if saved is None else self._reopened(saved) for saved in open_]

    def _reopened(self, saved: State) -> _Open:
        element = restoring.element(saved["element"], self._of.inputs[0], self._of.kind)
        made = self._opened(element, begins=False)
        restoring.check_kinds(saved.get("kinds"), made.of)
        made.stage.restore(saved["stage"])
        return made

    def parts(self) -> Sequence[Stage]:
        return (self.input, *(each.stage for each in self._open if each is not None))


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
    cycle, block = _checked(cycle_length, block_length)
    function = Mapped(f, other_arguments)
    return Interleave(held(input_dataset), function, cycle, block, output_types, output_shapes)


def _checked(cycle_length: Array, block_length: Array) -> tuple[int, int]:
    cycle, block = number(cycle_length), number(block_length)
    if cycle <= 0 and cycle != AUTOTUNE:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"cycle_length must be greater than zero, or `tf.data.AUTOTUNE` ({AUTOTUNE}), got"
            f" {cycle}.",
        )
    if block <= 0:
        raise errors.InvalidArgumentError(
            None, None, f"block_length must be greater than zero, got {block}."
        )
    return cycle, block


# ---- several at a time

_ARGUMENTS = (
    "input_dataset: variant, other_arguments: [Targuments], cycle_length: int64, block_length:"
    " int64"
)
_AHEAD = "buffer_output_elements: int64, prefetch_input_elements: int64"
_CHOICE = "f: func, deterministic: string = 'default', Targuments: list(type) >= 0"
_DOC = "The elements of the datasets that a function makes, several datasets in turn and at once."
PARALLEL_V2 = dataset_op(
    f"ParallelInterleaveDatasetV2({_ARGUMENTS}, num_parallel_calls: int64; {_FUNCTION},"
    f" {TYPES}, sloppy: bool = False, metadata: string = '') -> handle: variant",
    _DOC,
)
PARALLEL_V3 = dataset_op(
    f"ParallelInterleaveDatasetV3({_ARGUMENTS}, num_parallel_calls: int64; {_CHOICE}, {NAMED}) ->"
    " handle: variant",
    _DOC,
)
PARALLEL_INTERLEAVE = dataset_op(
    f"ParallelInterleaveDatasetV4({_ARGUMENTS}, {_AHEAD}, num_parallel_calls: int64; {_CHOICE},"
    f" {NAMED}) -> handle: variant",
    _DOC,
)


@host_kernel(PARALLEL_V2, limit=HOST)
def _parallel_interleave_v2(
    input_dataset: Array, other_arguments: list[Array], cycle_length: Array, block_length: Array,
    num_parallel_calls: Array, *, f: Any, output_types: Any, output_shapes: Any, sloppy: bool,
) -> Description:  # fmt: skip
    return _parallel(
        input_dataset, Mapped(f, other_arguments), (cycle_length, block_length),
        num_parallel_calls, False if sloppy else None, output_types, output_shapes,
    )  # fmt: skip


@host_kernel(PARALLEL_V3, limit=HOST)
def _parallel_interleave_v3(
    input_dataset: Array, other_arguments: list[Array], cycle_length: Array, block_length: Array,
    num_parallel_calls: Array, *, f: Any, output_types: Any, output_shapes: Any, deterministic: Any,
) -> Description:  # fmt: skip
    return _parallel(
        input_dataset, Mapped(f, other_arguments), (cycle_length, block_length),
        num_parallel_calls, DETERMINISTIC[text_of(deterministic)], output_types, output_shapes,
    )  # fmt: skip


@host_kernel(PARALLEL_INTERLEAVE, limit=HOST)
def _parallel_interleave(
    input_dataset: Array, other_arguments: list[Array], cycle_length: Array, block_length: Array,
    buffer_output_elements: Array, prefetch_input_elements: Array, num_parallel_calls: Array, *,
    f: Any, output_types: Any, output_shapes: Any, deterministic: Any,
) -> Description:  # fmt: skip
    return _parallel(
        input_dataset, Mapped(f, other_arguments), (cycle_length, block_length),
        num_parallel_calls, DETERMINISTIC[text_of(deterministic)], output_types, output_shapes,
    )  # fmt: skip


def _parallel(
    input_dataset: Array,
    function: Mapped,
    lengths: tuple[Array, Array],
    num_parallel_calls: Array,
    ordered: bool | None,
    types: Sequence[DType],
    shapes: Sequence[Dims],
) -> Description:
    cycle, block = _checked(*lengths)
    calls = number(num_parallel_calls)
    if calls <= 0 and calls != AUTOTUNE:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"num_parallel_calls must be greater than zero, or `tf.data.AUTOTUNE` ({AUTOTUNE}), got"
            f" {calls}.",
        )
    if cycle > 0 and calls > cycle:
        raise errors.InvalidArgumentError(
            None,
            None,
            "If `cycle_length` is set to a fixed value, `num_parallel_calls` must be at most"
            f" `cycle_length`, got {calls} and {cycle}. Give a larger cycle_length.",
        )
    return Interleave(
        held(input_dataset), function, cycle, block, types, shapes, parallel=True, ordered=ordered
    )


_SLOPPY = f"{_ARGUMENTS}, sloppy: bool, {_AHEAD}; {_FUNCTION}"
PARALLEL_V1 = dataset_op(f"ParallelInterleaveDataset({_SLOPPY}, {NAMED}) -> handle: variant", _DOC)
PARALLEL_V0 = dataset_op(
    f"ExperimentalParallelInterleaveDataset({_SLOPPY}, {TYPES}) -> handle: variant", _DOC
)
LEGACY = dataset_op(
    f"LegacyParallelInterleaveDatasetV2({_ARGUMENTS}, {_AHEAD}; {_CHOICE}, {NAMED}) -> handle:"
    " variant",
    _DOC,
)


@host_kernel(PARALLEL_V1, limit=HOST)
@host_kernel(PARALLEL_V0, limit=HOST)
def _sloppy(
    input_dataset: Array, other_arguments: list[Array], cycle_length: Array, block_length: Array,
    sloppy: Array, buffer_output_elements: Array, prefetch_input_elements: Array, *, f: Any,
    output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    lengths = cycle_length, block_length, buffer_output_elements, prefetch_input_elements
    return _legacy_dataset(
        input_dataset, Mapped(f, other_arguments), lengths, not bool(sloppy), output_types,
        output_shapes,
    )  # fmt: skip


@host_kernel(LEGACY, limit=HOST)
def _legacy(
    input_dataset: Array, other_arguments: list[Array], cycle_length: Array, block_length: Array,
    buffer_output_elements: Array, prefetch_input_elements: Array, *, f: Any, deterministic: Any,
    output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    lengths = cycle_length, block_length, buffer_output_elements, prefetch_input_elements
    return _legacy_dataset(
        input_dataset, Mapped(f, other_arguments), lengths, DETERMINISTIC[text_of(deterministic)],
        output_types, output_shapes,
    )  # fmt: skip


_LENGTHS = ("cycle_length", "block_length", "buffer_output_elements", "prefetch_input_elements")


def _legacy_dataset(
    input_dataset: Array,
    function: Mapped,
    lengths: Sequence[Array],
    ordered: bool | None,
    types: Sequence[DType],
    shapes: Sequence[Dims],
) -> Description:
    found = [number(n) for n in lengths]
    for place, (name, value) in enumerate(zip(_LENGTHS, found, strict=True)):
        least = 0 if name == "prefetch_input_elements" else 1
        if value < least and not (place > 1 and value == AUTOTUNE):
            raise errors.InvalidArgumentError(
                None, None, f"`{name}` must be >= {least}, got {value}. Give a larger one."
            )
    return Interleave(
        held(input_dataset), function, found[0], found[1], types, shapes, parallel=True,
        ordered=ordered,
    )  # fmt: skip
