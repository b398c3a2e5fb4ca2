"""Datasets whose elements are datasets of neighbouring elements: window."""

from collections import deque
from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.data import restoring
from penstock.data.held import HeldElements
from penstock.data.operations import NAMED, TYPES, dataset_kernel, dataset_op, held, number
from penstock.data.run import Run, UnwantedError
from penstock.data.stages import (
    Array,
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
    stack,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class Window(Description):
    """Windows of elements: a dataset for each component.

    Args:
      input: the elements.
      size: how many a window has.
      shift: how far the next window begins behind one.
      stride: how far its elements are apart.
      drop_remainder: whether windows with fewer elements are left out.
      types: variants.
      shapes: ().
    """

    kind = "WindowDataset"
    __slots__ = ("drop_remainder", "shift", "size", "stride")

    def __init__(
        self,
        input: Description,
        size: int,
        shift: int,
        stride: int,
        drop_remainder: bool,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.size, self.shift, self.stride = size, shift, stride
        self.drop_remainder = drop_remainder

    @property
    def span(self) -> int:
        """The elements of the input that a window reaches over."""
        return (self.size - 1) * self.stride + 1

    def cardinality(self) -> int:
        """Those of the input by the shift."""
        found = self.inputs[0].cardinality()
        if found < 0:
            return found
        if self.drop_remainder:
            return 0 if found < self.span else (found - self.span) // self.shift + 1
        return -(-found // self.shift)

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _WindowStage(self.inputs[0].start(run), self)


class WindowStage(UnaryStage):
    """Takes windows of the input; what a window becomes, `made` says."""

    def __init__(self, input: Stage, description: Window) -> None:
        super().__init__(input)
        self.description = description
        self._kept: deque[Any] = deque()  # elements, or their errors
        self._gap = 0  # elements of the input before the next window
        self._ended = False

    def made(self, found: list[Element]) -> Element:
        """The element for the elements of a window."""
        raise NotImplementedError

    def next(self) -> Element | None:
        """The next window."""
        of, kept = self.description, self._kept
        self._fill()
        if not kept or (of.drop_remainder and len(kept) < of.span):
            return None
        found = [kept[i] for i in range(0, min(len(kept), of.span), of.stride)]
        self._gap = max(of.shift - len(kept), 0)
        for _ in range(min(of.shift, len(kept))):
            kept.popleft()
        for each in found:
            if isinstance(each, Exception):
                raise each
        return self.made(found)

    def _fill(self) -> None:
        if self._gap and not self._ended:
            try:
                done = self.input.skip(self._gap)
            except UnwantedError as end:
                self._gap -= end.passed
                raise
            self._ended = done < self._gap
            self._gap = 0
        while not self._ended and len(self._kept) < self.description.span:
            try:
                element: Any = self.input.next()
            except UnwantedError:
                raise
            except errors.OpError as error:
                element = error
            if element is None:
                self._ended = True
            else:
                self._kept.append(element)

    def save(self) -> State:
        """Where the input is, and what was taken of it."""
        kept = [e if isinstance(e, Exception) else list(e) for e in self._kept]
        return {**super().save(), "kept": kept, "gap": self._gap, "ended": self._ended}

    def restore(self, state: State) -> None:
        """Goes there."""
        super().restore(state)
        of = self.description
        self._kept = deque(restoring.outcomes(state["kept"], of.inputs[0], of.kind))
        self._gap = restoring.whole(state["gap"], of.kind)
        self._ended = restoring.flag(state["ended"], of.kind)


class _WindowStage(WindowStage):
    def made(self, found: list[Element]) -> Element:
        of = self.description.inputs[0]
        return tuple(
            HeldElements([(e[i],) for e in found], (of.types[i],), (of.shapes[i],))
            for i in range(len(of.types))
        )


WINDOW = dataset_op(
    "WindowDataset(input_dataset: variant, size: int64, shift: int64, stride: int64,"
    f" drop_remainder: bool; {NAMED}) -> handle: variant",
    "Datasets of neighbouring elements of a dataset.",
)


def _positive(name: str, value: Array) -> int:
    found = number(value)
    if found <= 0:
        raise errors.InvalidArgumentError(
            None, None, f"Window {name} must be greater than zero, got {found}."
        )
    return found


@dataset_kernel(WINDOW)
def _window(
    input_dataset: Array, size: Array, shift: Array, stride: Array, drop_remainder: Array, *,
    output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    return Window(
        held(input_dataset), _positive("size", size), _positive("shift", shift),
        _positive("stride", stride), bool(drop_remainder), output_types, output_shapes,
    )  # fmt: skip


class SlidingWindow(Window):
    """Windows of elements, each as a stack."""

    kind = "SlidingWindowDataset"
    __slots__ = ()

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _SlidingStage(self.inputs[0].start(run), self)


class _SlidingStage(WindowStage):
    def made(self, found: list[Element]) -> Element:
        return stack(found, self.description.types, "window")


_SLIDING = "input_dataset: variant, window_size: int64, window_shift: int64, window_stride: int64"
SLIDING = dataset_op(
    f"SlidingWindowDataset({_SLIDING}; drop_remainder: bool = True, {TYPES}) -> handle: variant",
    "Stacks of neighbouring elements of a dataset.",
)
SLIDING_V0 = dataset_op(
    f"ExperimentalSlidingWindowDataset({_SLIDING}; {TYPES}) -> handle: variant",
    "Stacks of neighbouring elements of a dataset.",
)


@dataset_kernel(SLIDING)
def _sliding(
    input_dataset: Array, window_size: Array, window_shift: Array, window_stride: Array, *,
    output_types: Any, output_shapes: Any, drop_remainder: bool,
) -> Description:  # fmt: skip
    return SlidingWindow(
        held(input_dataset), _positive("size", window_size), _positive("shift", window_shift),
        _positive("stride", window_stride), drop_remainder, output_types, output_shapes,
    )  # fmt: skip


@dataset_kernel(SLIDING_V0)
def _sliding_v0(
    input_dataset: Array, window_size: Array, window_shift: Array, window_stride: Array, *,
    output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    return SlidingWindow(
        held(input_dataset), _positive("size", window_size), _positive("shift", window_shift),
        _positive("stride", window_stride), True, output_types, output_shapes,
    )  # fmt: skip
