"""Datasets of what functions give that have a state: the operation behind `from_generator`.

`init` makes the state, `next` gives elements until it fails with OutOfRange, `finalize` ends it:
when there are no more elements, or when nobody wants them. A state is not saved: whoever goes on
from a place has a new one, and is given what comes behind as many elements.
"""

from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.data import restoring
from penstock.data.operations import NAMED, Mapped, dataset_kernel, dataset_op
from penstock.data.run import Run, UnwantedError
from penstock.data.stages import Array, Description, Element, SourceStage, Stage, State
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

GENERATOR = dataset_op(
    "GeneratorDataset(init_func_other_args: [Tinit_func_args], next_func_other_args:"
    " [Tnext_func_args], finalize_func_other_args: [Tfinalize_func_args]; init_func: func,"
    " next_func: func, finalize_func: func, Tinit_func_args: list(type) >= 0, Tnext_func_args:"
    f" list(type) >= 0, Tfinalize_func_args: list(type) >= 0, {NAMED}) -> handle: variant",
    "What a function gives, one time after the other, until it fails with OutOfRange.",
    stateful=True,
)


class Generated(Description):
    """What functions with a state give.

    Args:
      init: makes the state.
      following: takes the state and gives an element.
      finalize: takes the state when it is not needed any more.
      types: of the elements.
      shapes: of the elements.
    """

    kind = "GeneratorDataset"
    __slots__ = ("finalize", "following", "init")

    def __init__(
        self,
        init: Mapped,
        following: Mapped,
        finalize: Mapped,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((), types, shapes)
        self.init = init
        self.following = following
        self.finalize = finalize

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _GeneratorStage(self, run)


class _GeneratorStage(SourceStage):
    def __init__(self, description: Generated, run: Run) -> None:
        super().__init__(run)
        self._init = description.init.bind(run)
        self._following = description.following.bind(run)
        self._finalize = description.finalize.bind(run)
        self._state: list[Array] | None = None
        self._given = 0  # elements, and errors in their place
        self._ended = False

    def next(self) -> Element | None:
        if self._ended:
            return None
        self.check_wanted()
        if self._state is None:
            try:
                self._state = list(self._init(()))
            except Exception:
                self._ended = True
                raise
        self._given += 1
        try:
            return tuple(self._following(self._state))
        except errors.OutOfRangeError:
            self._given -= 1
            self._end()
            return None

    def _end(self) -> None:
        self._ended = True
        state, self._state = self._state, None
        if state is not None:
            self._finalize(state)

    def save(self) -> State:
        return {"given": self._given, "ended": self._ended}

    def restore(self, state: State) -> None:
        ended = restoring.flag(state["ended"], "GeneratorDataset")
        given = restoring.whole(state["given"], "GeneratorDataset")
        self._end()
        self._ended = ended
        self._given = 0
        missing = 0 if ended else given
        while self._given < missing and not self._ended:
            try:
                self.next()
            except UnwantedError:
                raise
            except Exception:  # it was raised before the state was saved
                continue
        self._given = given

    def close(self) -> None:
        self._end()


@dataset_kernel(GENERATOR)
def _generator(
    init_func_other_args: list[Array], next_func_other_args: list[Array],
    finalize_func_other_args: list[Array], *, init_func: Any, next_func: Any, finalize_func: Any,
    output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    init = Mapped(init_func, init_func_other_args)
    following = Mapped(next_func, next_func_other_args)
    finalize = Mapped(finalize_func, finalize_func_other_args)
    return Generated(init, following, finalize, output_types, output_shapes)
