"""The one region of a function that must be compiled: values that shapes need are part of it.

Where an operation needs a value to be compiled, a size say, that comes from small integer inputs
of the function, each combination of their values gets an executable of its own, in which they are
constants.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.traced import NotStatic
from penstock.runtime.executable import Executable
from penstock.runtime.program import Node
from penstock.runtime.regions import Region
from penstock.runtime.step import Step

MOST_ELEMENTS = 1024  # of an input that may be a constant


class _Values:
    """Values of inputs by their numbers, as part of an executable's key."""

    __slots__ = ("_key", "arrays")

    def __init__(self, arrays: dict[int, np.ndarray[Any, Any]]) -> None:
        self.arrays = arrays
        self._key = tuple((i, a.shape, a.tobytes()) for i, a in arrays.items())

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Values) and self._key == other._key


class _WithValues(Executable):
    """An executable in which some inputs are constants."""

    def __init__(self, region: Region, values: _Values) -> None:
        self._values = values.arrays
        super().__init__(region)

    def _trace(
        self,
        constants: list[Any],
        steps: list[Any],
        inputs: list[Any],
        kept: list[Any],
        taken: list[Any],
    ) -> Any:
        known = [self._values.get(i, v) for i, v in enumerate(inputs)]
        return super()._trace(constants, steps, known, kept, taken)


class WholeRegion(Region):
    """A region that is always compiled. Thread-safe."""

    def __init__(self, nodes: Sequence[Node], outputs: Sequence[Any], device: str) -> None:
        super().__init__(nodes, outputs, device, must_compile=True)
        self._static: tuple[int, ...] = ()  # inputs whose values are part of the key; only grows

    def run(self, inputs: Sequence[Any], handles: Sequence[Any], step: Step) -> Sequence[Any]:
        """Computes the outputs.

        Raises:
          NotStatic: a node needs a value that does not come from small integers.
          OpError: a variable has no value, or a check of a node failed; no variable has changed.
        """
        while True:
            try:
                return super().run(inputs, handles, step)
            except NotStatic as signal:
                needed = {i for i in self._sources(signal.key) if _may_be_constant(inputs[i])}
                if needed <= set(self._static):
                    raise
                self._static = tuple(sorted(needed | set(self._static)))

    def _run_compiled(
        self, key: Any, inputs: Sequence[Any], handles: Sequence[Any], step: Step
    ) -> Sequence[Any]:
        if self._static:
            key = (key, _Values({i: np.asarray(inputs[i]) for i in self._static}))
        return super()._run_compiled(key, inputs, handles, step)

    def _executable(self, key: Any) -> Executable:
        values = _values_in(key)
        return Executable(self) if values is None else _WithValues(self, values)

    def _sources(self, node: Any) -> set[int]:
        """The inputs that what a node has to know comes from."""
        if not isinstance(node, Node):
            return set()
        numbers = {(id(source), index): i for i, (source, index) in enumerate(self.inputs)}
        found: set[int] = set()
        seen: set[int] = set()
        waiting = _to_know(node)
        while waiting:
            source, index = waiting.pop()
            if (id(source), index) in numbers:
                found.add(numbers[id(source), index])
            elif id(source) not in seen:
                seen.add(id(source))
                waiting.extend(source.inputs)
        return found


def _to_know(node: Node) -> list[Any]:
    """The inputs of a node whose values it needs: all of them, where it does not say."""
    assert node.op is not None
    if not node.op.host_inputs:
        return list(node.inputs)
    counts = node.counts or (1,) * len(node.op.inputs)
    needed = [
        a.name in node.op.host_inputs
        for a, n in zip(node.op.inputs, counts, strict=True)
        for _ in range(n)
    ]
    return [ref for ref, needs in zip(node.inputs, needed, strict=True) if needs]


def _may_be_constant(value: Any) -> bool:
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return kind in "iub" and value.size <= MOST_ELEMENTS


def _values_in(key: Any) -> _Values | None:
    if isinstance(key, _Values):
        return key
    parts = key if isinstance(key, tuple) else ()
    return next((v for v in map(_values_in, parts) if v is not None), None)
