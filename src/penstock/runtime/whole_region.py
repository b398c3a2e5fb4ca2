"""The one region of a function that must be compiled: values that shapes need are part of it.

Where an operation needs a value to be compiled, a size say, that comes from small integer inputs
of the function, each combination of their values gets an executable of its own, in which they are
constants.
"""

from collections.abc import Sequence
from typing import Any

from penstock.core.traced import NotStatic
from penstock.runtime.needed_values import inputs_behind, may_be_constant, needed_inputs
from penstock.runtime.program import Node
from penstock.runtime.regions import Region

MOST_ELEMENTS = 1024  # of an input that may be a constant


class WholeRegion(Region):
    """A region that is always compiled. Thread-safe."""

    def __init__(self, nodes: Sequence[Node], outputs: Sequence[Any], device: str) -> None:
        super().__init__(nodes, outputs, device, must_compile=True)

    def needed_for(self, signal: NotStatic, inputs: Sequence[Any]) -> set[int]:
        """The inputs whose values are to be constants, as many as may be."""
        if not isinstance(signal.key, Node):
            return set()
        needed = needed_inputs(signal, self.inputs)
        if needed is None:
            needed = inputs_behind(signal.key, self.inputs)
        return {i for i in needed if may_be_constant(inputs[i], MOST_ELEMENTS)}
