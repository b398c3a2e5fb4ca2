"""Descriptions of datasets, and the stages that run them.

A `Description` is what a dataset's variant tensor holds: immutable, with the descriptions that it
takes its elements from. `start` makes a `Stage` of it for one iterator: state that gives one
element after the other, says where it is, and goes on from there. An element is a tuple of arrays,
one for each component.

A stage that gives several elements at once as cheaply as one is `stacked`: `columns(n)` gives at
least one element and up to `n` as one array for each component, with a row for each element. So a
`batch` of a range is an `arange`, and a function that works on rows runs once for a batch. Where an
element fails, those before it come first: a call that raises has passed over that element alone.

A stage belongs to one consumer, who calls it from one thread at a time. After an error the stage
goes on with the element behind the one that failed.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from penstock import errors
from penstock.data.run import Run, UnwantedError
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray, or the object that a variant holds
Element = tuple[Array, ...]
State = Any  # what `save` gives: nests of None, numbers, bytes, str, lists, dictionaries and arrays

INFINITE = -1
UNKNOWN = -2


class Description:
    """A dataset without a state.

    Args:
      inputs: where its elements come from.
      types: the dtypes of the components.
      shapes: their static shapes.

    Attributes:
      kind: the name of the operation that makes it.
      origin: the operation that made it eagerly, its inputs and attributes; see `origins`.
    """

    kind: ClassVar[str] = ""
    __slots__ = ("__weakref__", "inputs", "origin", "shapes", "types")

    def __init__(
        self, inputs: Sequence["Description"], types: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        self.inputs = tuple(inputs)
        self.types = tuple(types)
        self.shapes = tuple(shapes)
        self.origin: Any = None

    def cardinality(self) -> int:
        """How many elements there are; INFINITE or UNKNOWN."""
        return UNKNOWN

    def start(self, run: Run) -> "Stage":
        """A new state, before the first element."""
        raise NotImplementedError(type(self).__name__)

    def __repr__(self) -> str:
        return f"<{self.kind or type(self).__name__}>"


class Stage:
    """The state of a dataset for one iterator. Not thread-safe: it has one consumer.

    Attributes:
      stacked: whether `columns` is worth calling.
    """

    stacked = False

    def next(self) -> Element | None:
        """The next element; None behind the last."""
        raise NotImplementedError(type(self).__name__)

    def columns(self, count: int) -> Element | None:
        """From one to `count` elements as columns, as many as suit; None behind the last."""
        raise NotImplementedError(type(self).__name__)

    def skip(self, count: int) -> int:
        """Passes over elements.

        Returns:
          How many there were, `count` at most.

        Raises:
          UnwantedError: nobody waits any more; it says how many there were.
        """
        done = 0
        try:
            while done < count and self.next() is not None:
                done += 1
        except UnwantedError as end:
            end.passed = done
            raise
        return done

    def save(self) -> State:
        """Where the stage is."""
        raise NotImplementedError(type(self).__name__)

    def restore(self, state: State) -> None:
        """Goes on from where `save` was called on a stage of the same description."""
        raise NotImplementedError(type(self).__name__)

    def parts(self) -> Sequence["Stage"]:
        """The stages that it takes elements from now."""
        return ()

    def close(self) -> None:
        """Ends what runs ahead, and what is open. May be called twice."""
        for each in self.parts():
            each.close()

    def after_fork(self) -> None:
        """Has it serve in a forked process, where the threads of the other one are not.

        Raises:
          FailedPreconditionError: one of them was at work, or what is open serves one process.
        """
        for each in self.parts():
            each.after_fork()


class SourceStage(Stage):
    """A stage that takes its elements from no other.

    What stands above it may look at its elements for ever without giving one. So it looks whether
    somebody waits, with `check_wanted`, before it gives any.
    """

    def __init__(self, run: Run) -> None:
        self.check_wanted = run.check_wanted


class UnaryStage(Stage):
    """A stage that takes its elements from one other, its `input`."""

    def __init__(self, input: Stage) -> None:
        self.input = input

    def save(self) -> State:
        """Where the input is."""
        return {"input": self.input.save()}

    def restore(self, state: State) -> None:
        """Puts the input there."""
        self.input.restore(state["input"])

    def parts(self) -> Sequence[Stage]:
        """The input."""
        return (self.input,)


def left_behind(what: str) -> errors.OpError:
    """The error of a stage that does not serve in a forked process."""
    return errors.FailedPreconditionError(
        None,
        None,
        errors.located(
            what, "an iterator of this process",
            "one that another process, of which this is a fork, was at work with",
            "Make an iterator here: iter(dataset).",
        ),
    )  # fmt: skip


def elements(stage: Stage) -> Iterator[Element]:
    """The elements that are left."""
    while (found := stage.next()) is not None:
        yield found


def up_to(stage: Stage, count: int) -> list[Element]:
    """Up to `count` elements, fewer at the end alone."""
    found: list[Element] = []
    while len(found) < count:
        element = stage.next()
        if element is None:
            break
        found.append(element)
    return found


def columns_up_to(stage: Stage, count: int) -> Element | None:
    """Up to `count` elements of a stacked stage as columns, fewer at the end alone; None for none.

    Where an element fails, those before it are lost, as in a batch.
    """
    found = stage.columns(count)
    if found is None or rows_of(found) == count:
        return found
    parts, size = [found], rows_of(found)
    while size < count:
        more = stage.columns(count - size)
        if more is None:
            break
        parts.append(more)
        size += rows_of(more)
    return joined(parts)


def joined(parts: Sequence[Element]) -> Element:
    """Columns one below the other.

    Raises:
      InvalidArgumentError: the rows of a component have several shapes.
    """
    if len(parts) == 1:
        return parts[0]
    for number, pieces in enumerate(zip(*parts, strict=True)):
        _check_shapes([p.shape[1:] for p in pieces], [len(p) for p in pieces], number)
    return tuple(np.concatenate(pieces) for pieces in zip(*parts, strict=True))


def _check_shapes(shapes: Sequence[Any], counts: Sequence[int], number: int) -> None:
    at = 0
    for shape, count in zip(shapes, counts, strict=True):
        if shape != shapes[0]:
            raise _unequal(number, shapes[0], at, shape, "batch")
        at += count


def rows_of(columns: Element) -> int:
    """How many elements columns hold."""
    return len(columns[0]) if columns else 0


def row(columns: Element, number: int) -> Element:
    """One element of columns."""
    return tuple(_cell(column, number) for column in columns)


def _cell(column: Array, number: int) -> Array:
    value = column[number]
    if column.dtype == object and not isinstance(value, np.ndarray):
        return np.array(value, object) if isinstance(value, bytes) else value
    return value if isinstance(value, np.ndarray) else np.asarray(value)


def rows_from(columns: Element) -> list[Element]:
    """The elements of columns."""
    return list(zip(*map(_cells, columns), strict=True))


def _cells(column: Array) -> list[Array]:
    if column.dtype == object:
        return [_cell(column, i) for i in range(len(column))]
    return list(map(np.asarray, column)) if column.ndim == 1 else list(column)


def stack(found: Sequence[Element], types: Sequence[DType], what: str = "batch") -> Element:
    """Elements as columns.

    Args:
      found: at least one.
      types: the dtypes of the components.
      what: what stacks them, for the error.

    Raises:
      InvalidArgumentError: the shapes of a component differ.
    """
    return tuple(
        stack_values([element[i] for element in found], dtype, i, what)
        for i, dtype in enumerate(types)
    )


def stack_values(values: Sequence[Array], dtype: DType, number: int, what: str) -> Array:
    """The values of one component as a column; see `stack`."""
    first = np.shape(values[0])
    for i, value in enumerate(values):
        if np.shape(value) != first:
            raise _unequal(number, first, i, np.shape(value), what)
    storage = dtype.numpy_dtype
    if first == () and storage.kind != "O":
        return np.array(values, storage)
    made = np.empty((len(values), *first), storage)
    for i, value in enumerate(values):
        made[i] = value[()] if isinstance(value, np.ndarray) and first == () else value
    return made


def _unequal(number: int, first: Any, at: int, shape: Any, what: str) -> errors.OpError:
    return errors.InvalidArgumentError(
        None,
        None,
        f"Cannot batch tensors with different shapes in component {number}. First element "
        f"had shape {d.text(first)} and element {at} had shape {d.text(shape)}. "
        f"Use padded_batch, or ragged_batch, in place of {what}.",
    )
