"""Datasets of some elements of another: shard, take_while, unique, ignore_errors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.config.logging import get_logger
from penstock.core.kernels import host_kernel
from penstock.data import restoring
from penstock.data.operations import (
    HOST,
    NAMED,
    TYPES,
    Mapped,
    dataset_kernel,
    dataset_op,
    held,
    number,
)
from penstock.data.run import Bound, Run, UnwantedError
from penstock.data.stages import (
    UNKNOWN,
    Array,
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
    columns_up_to,
    rows_of,
)
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

# ---- shard

SHARD_HINT = -1


class Shard(Description):
    """Every so-manieth element.

    Args:
      input: the elements.
      count: into how many parts they are divided; SHARD_HINT where a distribution is to say.
      index: which part.
      non_empty: whether every part must have an element.
      types: the dtypes.
      shapes: the shapes.
    """

    kind = "ShardDataset"
    __slots__ = ("count", "index", "non_empty")

    def __init__(
        self,
        input: Description,
        count: int,
        index: int,
        non_empty: bool,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.count, self.index, self.non_empty = count, index, non_empty

    def cardinality(self) -> int:
        """Its part of the elements."""
        found = self.inputs[0].cardinality()
        if found < 0 or self.count < 0:
            return found
        return found // self.count + (self.index < found % self.count)

    def start(self, run: Run) -> Stage:
        """A state before the first element.

        Raises:
          FailedPreconditionError: it is not known how many parts there are.
        """
        if self.count == SHARD_HINT:
            raise errors.FailedPreconditionError(
                None,
                None,
                "`tf.data.Dataset.shard(SHARD_HINT, ...)` can only be used in `tf.distribute"
                ".Strategy.experimental_distribute_dataset()` with AutoShardPolicy.HINT, or tf.data"
                " service. Give the number of shards.",
            )
        return _ShardStage(self.inputs[0].start(run), self)


class _ShardStage(UnaryStage):
    def __init__(self, input: Stage, description: Shard) -> None:
        super().__init__(input)
        self._of = description
        self._gap = description.index  # elements before the next one of this part
        self._checks = description.non_empty
        self.stacked = input.stacked and not description.non_empty

    def _pass_over(self) -> bool:
        """Moves to the next element of this part; whether there may be one."""
        while self._gap:
            try:
                done = self.input.skip(self._gap)
            except UnwantedError as end:
                self._gap -= end.passed
                raise
            if not done:
                return False
            self._gap -= done
        return True

    def _check(self) -> None:
        """Behind the first element: the parts after this one must have one, too."""
        self._checks = False
        left = self._of.count - 1 - self._of.index
        done = self.input.skip(left)
        self._gap -= done
        if done < left:
            raise errors.InvalidArgumentError(
                None,
                None,
                "Could not get an element for each shard: there aren't enough elements in this"
                " dataset for each shard to have at least one element (num_shards ="
                f" {self._of.count}, index = {self._of.index}). If you are using datasets with a"
                " distribution strategy, consider setting the auto sharding policy to either DATA"
                " or OFF, or use fewer shards.",
            )

    def next(self) -> Element | None:
        if not self._pass_over():
            return None
        self._gap = self._of.count - 1
        found = self.input.next()
        if found is None:
            self._gap = 0
        elif self._checks:
            self._check()
        return found

    def columns(self, count: int) -> Element | None:
        if not self._pass_over():
            return None
        step = self._of.count
        found = columns_up_to(self.input, (count - 1) * step + 1)
        if found is None:
            return None
        self._gap = step - 1 - (rows_of(found) - 1) % step
        return tuple(column[::step] for column in found)

    def save(self) -> State:
        return {**super().save(), "gap": self._gap, "checks": self._checks}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._gap = restoring.whole(state["gap"], "ShardDataset")
        self._checks = restoring.flag(state["checks"], "ShardDataset")


SHARD = dataset_op(
    "ShardDataset(input_dataset: variant, num_shards: int64, index: int64; require_non_empty: bool"
    f" = False, {NAMED}) -> handle: variant",
    "Every so-manieth element of a dataset.",
)


@dataset_kernel(SHARD)
def _shard(
    input_dataset: Array, num_shards: Array, index: Array, *, require_non_empty: bool,
    output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    count, which = number(num_shards), number(index)
    if count <= 0 and count != SHARD_HINT:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Number of shards must be greater than zero (currently num_shards = {count}).",
        )
    if count != SHARD_HINT and not 0 <= which < count:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Index must be between 0 and {count - 1} (currently index = {which}).",
        )
    return Shard(held(input_dataset), count, which, require_non_empty, output_types, output_shapes)


# ---- take_while


class TakeWhile(Description):
    """The elements before the first for which a function is false."""

    kind = "TakeWhileDataset"
    __slots__ = ("predicate",)

    def __init__(
        self, input: Description, predicate: Mapped, types: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        super().__init__((input,), types, shapes)
        self.predicate = predicate

    def cardinality(self) -> int:
        """Not known."""
        return UNKNOWN

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _TakeWhileStage(self.inputs[0].start(run), self.predicate.bind(run))


class _TakeWhileStage(UnaryStage):
    def __init__(self, input: Stage, predicate: Bound) -> None:
        super().__init__(input)
        self._predicate = predicate
        self._ended = False

    def next(self) -> Element | None:
        found = None if self._ended else self.input.next()
        if found is not None and bool(self._predicate(found)[0]):
            return found
        self._ended = True
        return None

    def save(self) -> State:
        return {**super().save(), "ended": self._ended}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._ended = restoring.flag(state["ended"], "TakeWhileDataset")


_PREDICATE = (
    "input_dataset: variant, other_arguments: [Targuments]; predicate: func, Targuments: list(type)"
    " >= 0"
)
TAKE_WHILE = dataset_op(
    f"TakeWhileDataset({_PREDICATE}, {NAMED}) -> handle: variant",
    "The elements of a dataset before the first for which a function is false.",
)
TAKE_WHILE_V0 = dataset_op(
    f"ExperimentalTakeWhileDataset({_PREDICATE}, {TYPES}) -> handle: variant",
    "The elements of a dataset before the first for which a function is false.",
)


@host_kernel(TAKE_WHILE, limit=HOST)
@host_kernel(TAKE_WHILE_V0, limit=HOST)
def _take_while(
    input_dataset: Array, other_arguments: list[Array], *, predicate: Any, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    function = Mapped(predicate, other_arguments)
    return TakeWhile(held(input_dataset), function, output_types, output_shapes)


# ---- unique


class Unique(Description):
    """The elements that were not there before."""

    kind = "UniqueDataset"
    __slots__ = ()

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _UniqueStage(self.inputs[0].start(run), self)


class _UniqueStage(UnaryStage):
    def __init__(self, input: Stage, description: Unique) -> None:
        super().__init__(input)
        self._of = description
        self._seen: dict[Any, Array] = {}

    def next(self) -> Element | None:
        while (found := self.input.next()) is not None:
            key = _key(found[0])
            if key not in self._seen:
                self._seen[key] = found[0]
                return found
        return None

    def save(self) -> State:
        return {**super().save(), "seen": list(self._seen.values())}

    def restore(self, state: State) -> None:
        super().restore(state)
        seen = restoring.several(state["seen"], "UniqueDataset")
        for value in seen:
            restoring.element([value], self._of, "UniqueDataset")
        self._seen = {_key(value): value for value in seen}


def _key(value: Array) -> Any:
    array = np.asarray(value)
    held = tuple(array.reshape(-1).tolist()) if array.dtype == object else array.tobytes()
    return array.shape, held


_UNIQUE_TYPES = (dt.int32, dt.int64, dt.string)
UNIQUE = dataset_op(
    f"UniqueDataset(input_dataset: variant; {NAMED}) -> handle: variant",
    "The elements of a dataset, each once.",
)
UNIQUE_V0 = dataset_op(
    f"ExperimentalUniqueDataset(input_dataset: variant; {TYPES}) -> handle: variant",
    "The elements of a dataset, each once.",
)


@dataset_kernel(UNIQUE)
@dataset_kernel(UNIQUE_V0)
def _unique(
    input_dataset: Array, *, output_types: Sequence[DType], output_shapes: Sequence[Dims]
) -> Description:
    inner = held(input_dataset)
    if len(inner.types) != 1:
        raise errors.InvalidArgumentError(
            None,
            None,
            "UniqueDataset only supports inputs with a single component, got"
            f" {len(inner.types)}. Choose one with map.",
        )
    if inner.types[0] not in _UNIQUE_TYPES:
        raise errors.InvalidArgumentError(
            None,
            None,
            "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or"
            f" `tf.string` component, got {inner.types[0].name}. Cast it.",
        )
    return Unique((inner,), output_types, output_shapes)


# ---- ignore_errors


class IgnoreErrors(Description):
    """The elements that do not fail."""

    kind = "IgnoreErrorsDataset"
    __slots__ = ("warns",)

    def __init__(
        self, input: Description, warns: bool, types: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        super().__init__((input,), types, shapes)
        self.warns = warns

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _IgnoreErrorsStage(self.inputs[0].start(run), self.warns)


class _IgnoreErrorsStage(UnaryStage):
    def __init__(self, input: Stage, warns: bool) -> None:
        super().__init__(input)
        self._warns = warns

    def next(self) -> Element | None:
        while True:
            try:
                return self.input.next()
            except errors.CancelledError:
                raise
            except Exception as problem:
                if self._warns:
                    get_logger().warning(
                        "Error raised with error message %s. An element was left out.", problem
                    )


_IGNORES = f"(input_dataset: variant; {TYPES}, log_warning: bool = False) -> handle: variant"
IGNORE_ERRORS = dataset_op(
    f"IgnoreErrorsDataset{_IGNORES}", "The elements of a dataset that do not fail."
)
IGNORE_ERRORS_V0 = dataset_op(
    f"ExperimentalIgnoreErrorsDataset{_IGNORES}", "The elements of a dataset that do not fail."
)


@dataset_kernel(IGNORE_ERRORS)
@dataset_kernel(IGNORE_ERRORS_V0)
def _ignore_errors(
    input_dataset: Array, *, log_warning: bool, output_types: Any, output_shapes: Any
) -> Description:
    return IgnoreErrors(held(input_dataset), log_warning, output_types, output_shapes)
