"""Datasets whose elements a function makes, or chooses: map and filter.

A function whose operations work on rows (`vectorize`) runs once for many elements where the stage
before it gives them at once. Where it fails so, they are given to it one by one, so that the error
is that of the element that fails, and no other is lost.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.data import restoring
from penstock.data.operations import HOST, NAMED, Mapped, attr_text, dataset_op, held, number
from penstock.data.pool import Task
from penstock.data.run import Bound, Run, UnwantedError
from penstock.data.stages import (
    UNKNOWN,
    Array,
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
    left_behind,
    rows_from,
    rows_of,
    stack,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

BLOCK = 64  # elements that a function of rows is given at once where nobody asks for more, ...
BLOCK_BYTES = 1 << 18  # ... of this size at most, but one
AUTOTUNE = -1
CHEAP_S = 5e-4  # a call that takes less is not worth a thread
TRIES = 3  # calls whose quickest says what one takes
TRIED_AGAIN = 256  # calls on threads before others are tried here again


class Map(Description):
    """What a function makes of each element.

    Args:
      input: the elements.
      function: the function.
      parallel: how many calls may run at once: 0 or 1 for one, AUTOTUNE leaves it to us.
      deterministic: whether results come in the order of the elements; None leaves it to options.
      types: of the results.
      shapes: of the results.
    """

    kind = "MapDataset"
    __slots__ = ("deterministic", "function", "parallel")

    def __init__(
        self,
        input: Description,
        function: Mapped,
        parallel: int,
        deterministic: bool | None,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.function = function
        self.parallel = parallel
        self.deterministic = deterministic

    def cardinality(self) -> int:
        """That of the elements."""
        return self.inputs[0].cardinality()

    @property
    def of_rows(self) -> Mapped | None:
        """The function for many elements at once, where there is one."""
        return self.function.of_rows(len(self.inputs[0].types))

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        inner, function = self.inputs[0].start(run), self.function.bind(run)
        if inner.stacked and self.of_rows is not None:
            return _RowsStage(inner, function, self.of_rows.bind(run), self)
        count = self.parallel
        if count == AUTOTUNE:
            count = run.options.parallel or run.pool.size
        if count > 1:
            ordered = (
                run.options.deterministic if self.deterministic is None else (self.deterministic)
            )
            pure = not self.function.body.stateful
            return ParallelStage(inner, function, run, count, ordered, pure, of=self)
        return _MapStage(inner, function)


class _MapStage(UnaryStage):
    """Calls the function for one element after the other."""

    def __init__(self, input: Stage, function: Bound) -> None:
        super().__init__(input)
        self._function = function

    def next(self) -> Element | None:
        found = self.input.next()
        return None if found is None else tuple(self._function(found))


class BlockStage(UnaryStage):
    """Works on many elements of a stacked input at once.

    A block is what was taken of the input at once: results, where all could be made at once, else
    the elements themselves, each of which is then worked on by itself.
    """

    stacked = True

    def __init__(self, input: Stage, description: Description) -> None:
        super().__init__(input)
        self._of = description  # of the results
        self._block: Element | None = None
        self._rows: list[Element] | None = None  # the block as elements, once one was asked for
        self._made = False  # whether the block holds results
        self._at = 0
        self._next_size = 1  # of a block where nobody says: the first one is soon there
        self._taken = 1, 0  # elements that were taken last, and their bytes

    def of_block(self, found: Element) -> Element:
        """The results for a block of elements; raises where one of them fails."""
        raise NotImplementedError(type(self).__name__)

    def of_one(self, found: Element) -> Element | None:
        """The result for one element; None where it is left out."""
        raise NotImplementedError(type(self).__name__)

    def check_wanted(self) -> None:
        """Fails when nobody waits for a result any more; see `Run.check_wanted`."""

    def _take(self, count: int) -> bool:
        """Takes a block; False when there are no more elements."""
        found = self.input.columns(count)
        if found is None:
            return False
        self._taken = rows_of(found), sum(c.nbytes for c in found)
        # the elements are there, also where Ctrl-C ends the function
        self._block, self._rows, self._at, self._made = found, None, 0, False
        try:
            made = self.of_block(found)
        except Exception:  # whichever element it was: it will say so itself
            return True
        self._block, self._made = made, True
        return True

    def _take_some(self) -> bool:
        """Takes a block of a size of our own."""
        size = self._next_size
        if not self._take(size):
            return False
        assert self._block is not None
        taken, before = self._taken
        after = sum(c.nbytes for c in self._block)  # nothing, where no element was chosen
        room = BLOCK_BYTES * taken // (1 + max(before, after))
        self._next_size = max(1, min(2 * size, BLOCK, room))
        return True

    def _pop(self) -> Element | None:
        """The next of the block; None at its end."""
        block = self._block
        if block is None:
            return None
        if self._rows is None:
            self._rows = rows_from(block)
        at = self._at
        if at == len(self._rows):
            self._block = self._rows = None
            return None
        self._at = at + 1
        return self._rows[at]

    def next(self) -> Element | None:
        """The next result."""
        while True:
            found = self._pop()
            if found is None:
                if not self._take_some():
                    return None
            elif self._made:
                return found
            elif (made := self.of_one(found)) is not None:
                return made
            self.check_wanted()

    def columns(self, count: int) -> Element | None:
        """The next results."""
        while True:
            if self._block is None and not self._take(count):
                return None
            assert self._block is not None
            if not self._made:
                found = self.next()
                return None if found is None else stack([found], self._of.types)
            block, at = self._block, self._at
            self._at = at + count
            if self._at >= rows_of(block):
                self._block = self._rows = None
            if at == 0 and rows_of(block) <= count:
                found = block
            else:
                found = tuple(column[at : at + count] for column in block)
            if rows_of(found):
                return found
            self.check_wanted()

    def save(self) -> State:
        """Where the input is, and what is left of the block."""
        block = self._block
        left = None if block is None else [column[self._at :] for column in block]
        return {**super().save(), "block": left, "made": self._made}

    def restore(self, state: State) -> None:
        """Puts the input there, and has the block again."""
        super().restore(state)
        block, kind = state["block"], self._of.kind
        made = self._made = restoring.flag(state["made"], kind)
        of = self._of if made else self._of.inputs[0]
        self._block = None if block is None else restoring.columns(block, of, kind)
        self._rows, self._at = None, 0


class _RowsStage(BlockStage):
    """Calls a function of rows for many elements at once."""

    def __init__(
        self, input: Stage, function: Bound, of_rows: Bound, description: Description
    ) -> None:
        super().__init__(input, description)
        self._function = function
        self._of_rows = of_rows

    def of_block(self, found: Element) -> Element:
        made = tuple(map(np.asarray, self._of_rows(found)))
        count = rows_of(found)
        if any(len(column) != count for column in made):
            raise ValueError("no row for each element")
        return made

    def of_one(self, found: Element) -> Element | None:
        return tuple(self._function(found))


class ParallelStage(UnaryStage):
    """Calls a function for several elements at once.

    A function that neither waits nor has effects is called here, for one element after the other,
    as long as a call takes less than a thread costs.

    Args:
      input: the elements.
      function: what is called with each.
      run: its threads are used.
      count: how many calls are under way.
      ordered: whether results come in the order of the elements, or as they are made.
      pure: whether the function neither waits nor has effects.
      of: whose elements the results are; None where they are of no dataset.
    """

    def __init__(
        self, input: Stage, function: Callable[[Element], Any], run: Run, count: int,
        ordered: bool, pure: bool = False, of: Description | None = None,
    ) -> None:  # fmt: skip
        super().__init__(input)
        self._of = of
        self._function = function
        self._run = run
        self._count = count
        self._ordered = ordered
        self._pure = pure
        self._here = pure  # whether elements are worked on by whoever asks for them
        self._costs: list[float] = []  # seconds of the last calls here
        self._calls = 0  # since calls were last made here
        self._tasks: deque[Task] = deque()
        self._ended = False

    def _fill(self) -> None:
        while not self._ended and len(self._tasks) < self._count:
            try:
                found = self.input.next()
            except UnwantedError:
                raise
            except Exception as error:
                self._tasks.append(failed(error))
                continue
            if found is None:
                self._ended = True
                return
            self._tasks.append(self._run.pool.submit(_Call(self._function, found)))

    def next(self) -> Element | None:
        """The next result."""
        if not self._here:
            self._fill()
            self._calls += 1
            self._here = self._pure and self._calls > TRIED_AGAIN
        if not self._tasks:
            return self._call() if self._here and not self._ended else None
        if not self._ordered:
            done = next((i for i, task in enumerate(self._tasks) if task.done), 0)
            self._tasks.rotate(-done)
        return tuple(self._tasks.popleft().get())

    def _call(self) -> Element | None:
        """Calls the function for the next element."""
        found = self.input.next()
        if found is None:
            self._ended = True
            return None
        start = time.perf_counter()
        try:
            return tuple(self._function(found))
        finally:
            self._costs.append(time.perf_counter() - start)
            if len(self._costs) == TRIES:
                self._here = min(self._costs) < CHEAP_S
                self._costs.clear()
                self._calls = 0

    def save(self) -> State:
        """Where the input is, and the results that were made ahead."""
        for task in self._tasks:
            task.wait()
        return {
            **super().save(),
            "ended": self._ended,
            "made": [outcome(task) for task in self._tasks],
        }

    def restore(self, state: State) -> None:
        """Puts the input there, and has those results again."""
        super().restore(state)
        self._ended = restoring.flag(state["ended"], "Several calls at once")
        made = restoring.several(state["made"], "Several calls at once")
        self._tasks = deque(from_outcome(each, self._of) for each in made)

    def after_fork(self) -> None:
        """Keeps the calls that are done, and those that nobody has begun."""
        if any(task.begun and not task.done for task in self._tasks):
            raise left_behind("Several calls at once")
        super().after_fork()

    def close(self) -> None:
        """Takes no more elements, and begins no call for those that were taken."""
        self._ended = True
        for task in tuple(self._tasks):
            if task.cancel():
                task.error = errors.CancelledError(None, None, "The iterator was closed.")
        super().close()


class _Call:
    """A function with its element."""

    __slots__ = ("_element", "_function")

    def __init__(self, function: Callable[[Element], Any], element: Element) -> None:
        self._function = function
        self._element = element

    def __call__(self) -> Any:
        return self._function(self._element)


def failed(error: BaseException) -> Task:
    """A task that has failed."""
    task = Task(lambda: None)
    task.run()
    task.error = error
    return task


def outcome(task: Task) -> State:
    """What a task that is done gave, to be saved."""
    if task.error is not None:
        return {"error": task.error}
    return {"value": list(task.result)}


def from_outcome(state: State, of: Description | None) -> Task:
    """A task that gives what was saved.

    Raises:
      InvalidArgumentError: it is no element of the dataset.
    """
    if "error" in state:
        return failed(restoring.error(state["error"], "The result of a call"))
    value = restoring.several(state["value"], "The result of a call")
    found = tuple(value) if of is None else restoring.element(value, of, of.kind)
    task = Task(lambda: found)
    task.run()
    return task


_ARGUMENTS = "other_arguments: [Targuments]"
MAP = dataset_op(
    f"MapDataset(input_dataset: variant, {_ARGUMENTS}; f: func, Targuments: list(type) >= 0,"
    " output_types: list(type) >= 1, output_shapes: list(shape) >= 1, use_inter_op_parallelism:"
    " bool = True, preserve_cardinality: bool = False, force_synchronous: bool = False, metadata:"
    " string = '') -> handle: variant",
    "What a function makes of each element of a dataset.",
)
PARALLEL_MAP = dataset_op(
    f"ParallelMapDatasetV2(input_dataset: variant, {_ARGUMENTS}, num_parallel_calls: int64; f:"
    " func, Targuments: list(type) >= 0, output_types: list(type) >= 1, output_shapes: list(shape)"
    " >= 1, use_inter_op_parallelism: bool = True, deterministic: string = 'default',"
    " preserve_cardinality: bool = False, use_unbounded_threadpool: bool = False, metadata: string"
    " = '') -> handle: variant",
    "What a function makes of each element of a dataset, several at a time.",
)


@host_kernel(MAP, limit=HOST)
def _map(
    input_dataset: Array, other_arguments: list[Array], *, f: Any, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    function = Mapped(f, other_arguments)
    return Map(held(input_dataset), function, 0, True, output_types, output_shapes)


DETERMINISTIC = {"default": None, "true": True, "false": False}


def calls_of(value: Any) -> int:
    """How many calls run at once.

    Raises:
      InvalidArgumentError: it is below 1, and not AUTOTUNE.
    """
    count = number(value)
    if count < 1 and count != AUTOTUNE:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"num_parallel_calls must be greater than zero, got {count}. Give a larger one, or"
            " tf.data.AUTOTUNE.",
        )
    return count


@host_kernel(PARALLEL_MAP, limit=HOST)
def _parallel_map(
    input_dataset: Array, other_arguments: list[Array], num_parallel_calls: Array, *, f: Any,
    output_types: Any, output_shapes: Any, deterministic: str,
) -> Description:  # fmt: skip
    function = Mapped(f, other_arguments)
    ordered = DETERMINISTIC[attr_text(deterministic)]
    count = calls_of(num_parallel_calls)
    return Map(held(input_dataset), function, count, ordered, output_types, output_shapes)


# ---- filter


class Filter(Description):
    """The elements for which a function is true."""

    kind = "FilterDataset"
    __slots__ = ("predicate",)

    def __init__(
        self, input: Description, predicate: Mapped, types: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        super().__init__((input,), types, shapes)
        self.predicate = predicate

    def cardinality(self) -> int:
        """Known for none alone."""
        return 0 if self.inputs[0].cardinality() == 0 else UNKNOWN

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return self.over(self.inputs[0].start(run), run)

    def over(self, inner: Stage, run: Run) -> Stage:
        """A state that chooses among what another gives."""
        predicate = self.predicate.bind(run)
        if inner.stacked and self.of_rows is not None:
            return _FilterRowsStage(inner, predicate, self.of_rows.bind(run), self)
        return _FilterStage(inner, predicate)

    @property
    def of_rows(self) -> Mapped | None:
        """The function for many elements at once, where there is one."""
        return self.predicate.of_rows(len(self.types))


class _FilterStage(UnaryStage):
    def __init__(self, input: Stage, predicate: Bound) -> None:
        super().__init__(input)
        self._predicate = predicate

    def next(self) -> Element | None:
        while (found := self.input.next()) is not None:
            if bool(self._predicate(found)[0]):
                return found
            self._predicate.check_wanted()
        return None


class _FilterRowsStage(BlockStage):
    """Chooses among many elements at once."""

    def __init__(
        self, input: Stage, predicate: Bound, of_rows: Bound, description: Description
    ) -> None:
        super().__init__(input, description)
        self._predicate = predicate
        self._of_rows = of_rows

    def of_block(self, found: Element) -> Element:
        chosen = np.asarray(self._of_rows(found)[0])
        if chosen.shape != (rows_of(found),):
            raise ValueError("no boolean for each element")
        return found if chosen.all() else tuple(column[chosen] for column in found)

    def of_one(self, found: Element) -> Element | None:
        return found if bool(self._predicate(found)[0]) else None

    def check_wanted(self) -> None:
        self._predicate.check_wanted()


FILTER = dataset_op(
    f"FilterDataset(input_dataset: variant, {_ARGUMENTS}; predicate: func, Targuments: list(type)"
    f" >= 0, {NAMED}) -> handle: variant",
    "The elements of a dataset for which a function is true.",
)


@host_kernel(FILTER, limit=HOST)
def _filter(
    input_dataset: Array, other_arguments: list[Array], *, predicate: Any, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    function = Mapped(predicate, other_arguments)
    return Filter(held(input_dataset), function, output_types, output_shapes)
