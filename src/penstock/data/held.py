"""A dataset of elements that are in memory: a window of another dataset."""

from collections.abc import Sequence
from typing import Any

from penstock.data import codec, restoring
from penstock.data.run import Run
from penstock.data.stages import Description, Element, Stage, State
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class HeldElements(Description):
    """Elements of any shapes.

    Args:
      elements: them.
      types: the dtypes of the components.
      shapes: their static shapes.
    """

    kind = "WindowOfElements"
    __slots__ = ("elements",)

    def __init__(
        self, elements: Sequence[Element], types: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        super().__init__((), types, shapes)
        self.elements = tuple(elements)

    def cardinality(self) -> int:
        """How many there are."""
        return len(self.elements)

    def start(self, run: Run) -> Stage:
        """A state before the first."""
        return _HeldStage(self.elements)

    def to_state(self) -> dict[str, Any]:
        """What `codec` writes."""
        return {
            "elements": [list(e) for e in self.elements],
            "types": [t.as_datatype_enum for t in self.types],
            "shapes": [None if s is None else list(s) for s in self.shapes],
        }

    @staticmethod
    def from_state(found: dict[str, Any]) -> "HeldElements":
        """What `to_state` was asked of."""
        shapes = [
            None if s is None else tuple(None if n is None else int(n) for n in s)
            for s in found["shapes"]
        ]
        types = [dt.as_dtype(int(t)) for t in found["types"]]
        return HeldElements([tuple(e) for e in found["elements"]], types, shapes)


codec.register(HeldElements, "window", HeldElements.to_state, HeldElements.from_state)


class _HeldStage(Stage):
    def __init__(self, elements: Sequence[Element]) -> None:
        self._elements = elements
        self._at = 0

    def next(self) -> Element | None:
        if self._at == len(self._elements):
            return None
        self._at += 1
        return self._elements[self._at - 1]

    def save(self) -> State:
        return self._at

    def restore(self, state: State) -> None:
        self._at = restoring.whole(state, "WindowDataset", 0, len(self._elements))
