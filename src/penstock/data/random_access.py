"""Datasets in the order of indices, and of one of several branches.

`GlobalShuffleDataset` shuffles all elements of a dataset of known size, which are taken before the
first one is given; `IndexFlatMapDataset` says which row of which element has a number, which counts
where elements are asked for by number: in order they are the rows of one element after the other.
Of several branches that give the same, the first one is taken.
"""

from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.data import restoring
from penstock.data.mapping import Map
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
from penstock.data.random_numbers import SeedGenerator, chosen, generator_of
from penstock.data.run import Run, UnwantedError
from penstock.data.stages import Array, Description, Element, Stage, State, UnaryStage
from penstock.data.unbatching import Unbatch
from penstock.ops.random_index import positions
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_ROUNDS = 8


class GlobalShuffle(Description):
    """All elements in random order.

    Args:
      input: the elements.
      seeds: gives each iterator its seeds.
      types: the dtypes.
      shapes: the shapes.
    """

    kind = "GlobalShuffleDataset"
    __slots__ = ("seeds",)

    def __init__(
        self,
        input: Description,
        seeds: SeedGenerator,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.seeds = seeds

    def cardinality(self) -> int:
        """That of the input."""
        return self.inputs[0].cardinality()

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _GlobalStage(self.inputs[0].start(run), self, self.seeds.next(), run)


class _GlobalStage(UnaryStage):
    def __init__(
        self, input: Stage, description: GlobalShuffle, seeds: tuple[int, int], run: Run
    ) -> None:
        super().__init__(input)
        self._of = description
        self._seeds = seeds
        self._run = run
        self._kept: list[Any] = []  # elements, or their errors
        self._ended = False
        self._order: list[int] | None = None
        self._at = 0

    def next(self) -> Element | None:
        self._fill()
        if self._order is None:
            first, second = self._seeds
            self._order = positions((first, second, first), len(self._kept), _ROUNDS)
        if self._at == len(self._kept):
            return None
        found = self._kept[self._order[self._at]]
        self._at += 1
        if isinstance(found, Exception):
            raise found
        return found  # type: ignore[no-any-return]

    def _fill(self) -> None:
        while not self._ended:
            try:
                found: Any = self.input.next()
            except UnwantedError:
                raise
            except errors.OpError as error:
                found = error
            self._ended = found is None
            if found is not None:
                self._kept.append(found)

    def save(self) -> State:
        kept = [e if isinstance(e, Exception) else list(e) for e in self._kept]
        return {
            **super().save(), "kept": kept, "ended": self._ended, "at": self._at,
            "seeds": list(self._seeds), "generator": self._of.seeds.save(),
        }  # fmt: skip

    def restore(self, state: State) -> None:
        super().restore(state)
        kind, generator = self._of.kind, state["generator"]
        self._kept = restoring.outcomes(state["kept"], self._of, kind)
        self._ended = restoring.flag(state["ended"], kind)
        self._at = restoring.whole(state["at"], kind, 0, len(self._kept))
        self._seeds, self._order = restoring.seeds(state["seeds"], kind), None
        restoring.words(generator, kind)
        self._run.when_restored(lambda: self._of.seeds.restore(generator))


GLOBAL_SHUFFLE = dataset_op(
    "GlobalShuffleDataset(input_dataset: variant, seed: int64, seed2: int64, seed_generator:"
    f" resource; reshuffle_each_iteration: bool = True, {NAMED}) -> handle: variant",
    "All elements of a dataset of known size in random order.",
    stateful=True,
)


@dataset_kernel(GLOBAL_SHUFFLE)
def _global_shuffle(
    input_dataset: Array, seed: Array, seed2: Array, seed_generator: Any, *,
    reshuffle_each_iteration: bool, output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    source = held(input_dataset)
    count = source.cardinality()
    if count < 0:
        raise errors.FailedPreconditionError(
            None,
            None,
            "`global_shuffle` requires all upstream transformations be compatible with random"
            f" access: expected a dataset of known size, got {source!r} of cardinality {count}."
            " Use shuffle, or say the size with assert_cardinality.",
        )
    found = generator_of(seed_generator)
    seeds = SeedGenerator(chosen(seed, seed2), reshuffle_each_iteration) if found is None else found
    return GlobalShuffle(source, seeds, output_types, output_shapes)


# ---- rows by their numbers


class IndexFlatMap(Unbatch):
    """The rows of what a function makes of each element.

    Args:
      input: what the function makes.
      count: how many rows there are, as it is said.
    """

    kind = "IndexFlatMapDataset"
    __slots__ = ("count",)

    def __init__(
        self, input: Description, count: int, types: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        super().__init__((input,), types, shapes)
        self.count = count

    def cardinality(self) -> int:
        """What was said."""
        return self.count


INDEX_FLAT_MAP = dataset_op(
    "IndexFlatMapDataset(input_dataset: variant, map_func_other_args: [Tmap_func_args],"
    " index_map_func_other_args: [Tindex_map_func_args], output_cardinality: int64; map_func: func,"
    " index_map_func: func, Tmap_func_args: list(type) >= 0, Tindex_map_func_args: list(type) >= 0,"
    f" {NAMED}) -> handle: variant",
    "The rows of what a function makes of each element of a dataset.",
)


@host_kernel(INDEX_FLAT_MAP, limit=HOST)
def _index_flat_map(
    input_dataset: Array, map_func_other_args: list[Array], index_map_func_other_args: list[Array],
    output_cardinality: Array, *, map_func: Any, index_map_func: Any, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    del index_map_func, index_map_func_other_args  # they say which row has a number
    function = Mapped(map_func, map_func_other_args)
    shapes = [None if s is None else (None, *s) for s in output_shapes]
    rows = Map(held(input_dataset), function, 0, True, output_types, shapes)
    return IndexFlatMap(rows, number(output_cardinality), output_types, output_shapes)


# ---- the first of several branches


class FirstBranch(Description):
    """What the first of several functions makes of a dataset; they give the same.

    Args:
      input: the dataset.
      branch: the function.
      ratio: how many elements there are for how many of the input.
      types: of the elements.
      shapes: of these.
    """

    kind = "ChooseFastestBranchDataset"
    __slots__ = ("branch", "ratio")

    def __init__(
        self,
        input: Description,
        branch: Mapped,
        ratio: tuple[int, int],
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.branch = branch
        self.ratio = ratio

    def cardinality(self) -> int:
        """By the ratio."""
        found = self.inputs[0].cardinality()
        return found if found < 0 else found * self.ratio[0] // self.ratio[1]

    def start(self, run: Run) -> Stage:
        """A state before the first element.

        Raises:
          InvalidArgumentError: the branch gives other elements.
        """
        made = held(self.branch.bind(run)((self.inputs[0],))[0])
        fits = made.types == self.types and all(map(d.compatible, made.shapes, self.shapes))
        if not fits:
            raise errors.InvalidArgumentError(
                None,
                None,
                errors.located(
                    self.kind, f"branches with elements {self.types} {self.shapes}",
                    f"{made.types} {made.shapes}", "Say output_types and output_shapes of them.",
                ),
            )  # fmt: skip
        return made.start(run)


FASTEST_BRANCH = dataset_op(
    "ChooseFastestBranchDataset(input_dataset: variant, ratio_numerator: int64, ratio_denominator:"
    " int64, other_arguments: [Targuments]; Targuments: list(type) >= 0, num_elements_per_branch:"
    " int >= 1, branches: list(func) >= 1, other_arguments_lengths: list(int) >= 1,"
    f" {TYPES}) -> handle: variant",
    "What the first of several functions makes of a dataset.",
)


@host_kernel(FASTEST_BRANCH, limit=HOST)
def _fastest_branch(
    input_dataset: Array, ratio_numerator: Array, ratio_denominator: Array,
    other_arguments: list[Array], *, branches: Any, other_arguments_lengths: Any,
    output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    ratio = number(ratio_numerator), number(ratio_denominator)
    for name, value in zip(("ratio_numerator", "ratio_denominator"), ratio, strict=True):
        if value <= 0:
            raise errors.InvalidArgumentError(
                None, None, f"`{name}` must be greater than zero, got {value}. Give a larger one."
            )
    if len(branches) != len(other_arguments_lengths):
        raise errors.InvalidArgumentError(
            None,
            None,
            errors.located(
                "ChooseFastestBranchDataset", f"{len(branches)} numbers of arguments, one a branch",
                str(len(other_arguments_lengths)), "Give other_arguments_lengths for each branch.",
            ),
        )  # fmt: skip
    branch = Mapped(branches[0], other_arguments[: other_arguments_lengths[0]])
    return FirstBranch(held(input_dataset), branch, ratio, output_types, output_shapes)
