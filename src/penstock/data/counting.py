"""Datasets of some elements of another, or of all of them several times: take, skip, repeat."""

from collections.abc import Sequence

from penstock.data import restoring
from penstock.data.operations import NAMED, dataset_kernel, dataset_op, held, number
from penstock.data.run import Run, UnwantedError
from penstock.data.stages import (
    INFINITE,
    UNKNOWN,
    Array,
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
    rows_of,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class Counted(Description):
    """A dataset that is made of another and a number."""

    __slots__ = ("count",)

    def __init__(
        self, input: Description, count: int, types: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        super().__init__((input,), types, shapes)
        self.count = count


# ---- take


class Take(Counted):
    """The first elements; all where the count is -1."""

    kind = "TakeDataset"
    __slots__ = ()

    def cardinality(self) -> int:
        """At most the count."""
        found = self.inputs[0].cardinality()
        if self.count < 0 or found == UNKNOWN:
            return found
        return self.count if found == INFINITE else min(found, self.count)

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        inner = self.inputs[0].start(run)
        return inner if self.count < 0 else _TakeStage(inner, self.count)


class _TakeStage(UnaryStage):
    def __init__(self, input: Stage, count: int) -> None:
        super().__init__(input)
        self._left = count
        self.stacked = input.stacked

    def next(self) -> Element | None:
        if self._left <= 0:
            return None
        found = self.input.next()
        self._left -= 1
        return found

    def columns(self, count: int) -> Element | None:
        if self._left <= 0:
            return None
        found = self.input.columns(min(count, self._left))
        self._left = 0 if found is None else self._left - rows_of(found)
        return found

    def skip(self, count: int) -> int:
        try:
            done = self.input.skip(min(count, self._left))
        except UnwantedError as end:
            self._left -= end.passed
            raise
        self._left -= done
        return done

    def save(self) -> State:
        return {**super().save(), "left": self._left}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._left = restoring.whole(state["left"], "TakeDataset", 0, self._left)


TAKE = dataset_op(
    f"TakeDataset(input_dataset: variant, count: int64; {NAMED}) -> handle: variant",
    "The first elements of a dataset.",
)


@dataset_kernel(TAKE)
def _take(
    input_dataset: Array, count: Array, *, output_types: Sequence[DType],
    output_shapes: Sequence[Dims],
) -> Description:  # fmt: skip
    return Take(held(input_dataset), number(count), output_types, output_shapes)


# ---- skip


class Skip(Counted):
    """All but the first elements; none where the count is -1."""

    kind = "SkipDataset"
    __slots__ = ()

    def cardinality(self) -> int:
        """What is left."""
        found = self.inputs[0].cardinality()
        if self.count < 0:
            return 0
        return found if found in (INFINITE, UNKNOWN) else max(0, found - self.count)

    def start(self, run: Run) -> Stage:
        """A state before the first element that is left."""
        return _SkipStage(self.inputs[0].start(run), self.count)


class _SkipStage(UnaryStage):
    def __init__(self, input: Stage, count: int) -> None:
        super().__init__(input)
        self._left = count
        self.stacked = input.stacked

    def _pass_over(self) -> bool:
        """Whether elements may be left, after those to be skipped."""
        if self._left < 0:
            return False
        while self._left:
            try:
                done = self.input.skip(self._left)
            except UnwantedError as end:
                self._left -= end.passed
                raise
            if not done:
                self._left = -1
                return False
            self._left -= done
        return True

    def next(self) -> Element | None:
        return self.input.next() if self._left == 0 or self._pass_over() else None

    def columns(self, count: int) -> Element | None:
        return self.input.columns(count) if self._pass_over() else None

    def save(self) -> State:
        return {**super().save(), "left": self._left}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._left = restoring.whole(state["left"], "SkipDataset", -1)


SKIP = dataset_op(
    f"SkipDataset(input_dataset: variant, count: int64; {NAMED}) -> handle: variant",
    "All elements of a dataset but the first.",
)


@dataset_kernel(SKIP)
def _skip(
    input_dataset: Array, count: Array, *, output_types: Sequence[DType],
    output_shapes: Sequence[Dims],
) -> Description:  # fmt: skip
    return Skip(held(input_dataset), number(count), output_types, output_shapes)


# ---- repeat


class Repeat(Counted):
    """All elements several times; for ever where the count is -1."""

    kind = "RepeatDataset"
    __slots__ = ()

    def cardinality(self) -> int:
        """The count times those of the input."""
        found = self.inputs[0].cardinality()
        if self.count == 0 or found == 0:
            return 0
        if self.count < 0:
            return INFINITE
        return found if found in (INFINITE, UNKNOWN) else self.count * found

    def start(self, run: Run) -> Stage:
        """A state before the first round."""
        return _RepeatStage(self.inputs[0], self.count, run)


class _RepeatStage(Stage):
    """Rounds of a dataset: each has a state of its own."""

    def __init__(self, description: Description, count: int, run: Run) -> None:
        self._description = description
        self._count = count
        self._run = run
        self._round = 0
        self._given = False  # whether this round gave an element
        self._input: Stage | None = None

    @property
    def stacked(self) -> bool:  # type: ignore[override]
        """Whether a round is."""
        return self._count != 0 and self._current().stacked

    def _current(self) -> Stage:
        if self._input is None:
            self._input, self._given = self._description.start(self._run), False
        return self._input

    def next(self) -> Element | None:
        while self._count < 0 or self._round < self._count:
            found = self._current().next()
            if found is not None:
                self._given = True
                return found
            self._end_round()
        return None

    def columns(self, count: int) -> Element | None:
        while self._count < 0 or self._round < self._count:
            found = self._current().columns(count)
            if found is not None:
                self._given = True
                return found
            self._end_round()
        return None

    def _end_round(self) -> None:
        assert self._input is not None
        self._input.close()
        self._input = None
        self._round += 1
        self._run.check_wanted()  # rounds may be empty
        if self._count < 0 and not self._given:
            self._count = self._round  # empty rounds for ever would never end

    def save(self) -> State:
        inner = None if self._input is None else self._input.save()
        return {"round": self._round, "count": self._count, "given": self._given, "input": inner}

    def restore(self, state: State) -> None:
        self._round = restoring.whole(state["round"], "RepeatDataset")
        self._count = restoring.whole(state["count"], "RepeatDataset", -1)
        self._given = restoring.flag(state["given"], "RepeatDataset")
        self.close()
        self._input = None
        if state["input"] is not None:
            self._input = self._description.start(self._run)
            self._input.restore(state["input"])

    def parts(self) -> Sequence[Stage]:
        inner = self._input
        return () if inner is None else (inner,)


REPEAT = dataset_op(
    f"RepeatDataset(input_dataset: variant, count: int64; {NAMED}) -> handle: variant",
    "The elements of a dataset several times.",
)


@dataset_kernel(REPEAT)
def _repeat(
    input_dataset: Array, count: Array, *, output_types: Sequence[DType],
    output_shapes: Sequence[Dims],
) -> Description:  # fmt: skip
    return Repeat(held(input_dataset), number(count), output_types, output_shapes)
