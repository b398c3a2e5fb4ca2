"""Which values an operation needs to be compiled, and executables in which they are constants.

An operation that must know a value while it is traced (the length of a list, a size) stops the
trace. `needed_inputs` finds the inputs of its region that the value comes from, through the
conditionals and loops around it, too. Small integers among them can be part of the executable's
key (`Values`) and constants in it (`WithValues`); `KnownValues` remembers which, and bounds how
many different ones a region takes.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.core.traced import NotStatic
from penstock.runtime.executable import Executable, Traceable
from penstock.runtime.program import FEED, Node, Ref
from penstock.runtime.simplify import OF_SHAPES

MOST_ELEMENTS = 32  # of an input that becomes a constant
MOST_VALUES = 8  # combinations of constants that a region takes


class Values:
    """Values of inputs by their numbers, as part of an executable's key.

    They are copies: whoever gave an array may write to it later.
    """

    __slots__ = ("_dtypes", "_key")

    def __init__(self, arrays: dict[int, np.ndarray[Any, Any]]) -> None:
        self._dtypes = [a.dtype for a in arrays.values()]
        self._key = tuple((i, a.shape, a.tobytes()) for i, a in arrays.items())

    @property
    def arrays(self) -> dict[int, np.ndarray[Any, Any]]:
        """The values as arrays that nothing can write to."""
        entries = zip(self._key, self._dtypes, strict=True)
        return {i: np.frombuffer(d, kind).reshape(s) for (i, s, d), kind in entries}

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Values) and self._key == other._key


class WithValues(Executable):
    """An executable in which some inputs are constants."""

    def __init__(self, region: Traceable, values: Values, *, runs_here: bool = False) -> None:
        self._values = values.arrays
        super().__init__(region, runs_here=runs_here)

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


class KnownValues:
    """Which inputs of a region are constants of its executables. Thread-safe.

    Attributes:
      chosen: their numbers; only grows.
    """

    def __init__(self, refs: Sequence[Ref], most: int | None = MOST_VALUES) -> None:
        self.chosen: tuple[int, ...] = ()
        self._refs = refs
        self._most = most  # None for any number
        self._vary = False  # whether the values may differ while sizes stay the same
        self._lacking: NotStatic | None = None  # what chose them last
        self._met: set[Values] = set()
        self._lock = threading.Lock()  # guards: all of these; nothing else is locked within

    def learn(self, needed: set[int], signal: NotStatic) -> bool:
        """Chooses what a trace lacked, too; False where nothing is new in that."""
        with self._lock:
            if needed <= set(self.chosen):
                return False
            self._vary = self._vary or not all(self._is_size(i) for i in needed)
            self._lacking = signal
            self.chosen = tuple(sorted(needed.union(self.chosen)))
            return True

    def of(self, inputs: Sequence[Any]) -> Values:
        """The values that are part of the key.

        Raises:
          NotStatic: there were too many different ones.
        """
        values = Values({i: np.asarray(inputs[i]) for i in self.chosen})
        if self._vary and self._most is not None and values not in self._met:
            with self._lock:
                few = len(self._met) < self._most
                if few:
                    self._met.add(values)
            if not few:
                assert self._lacking is not None
                raise self._lacking.with_traceback(None)
        return values

    def fitting(self, signal: NotStatic, inputs: Sequence[Any], calls: bool) -> set[int]:
        """The inputs that are to be constants for what a trace lacked; none where some cannot be.

        What follows from sizes may be in any region, all of it at once; other values only beside
        loops and conditionals (`calls`), since other nodes may go around one that is on the host.
        """
        needed = needed_inputs(signal, self._refs) or set()
        small = {i for i, v in enumerate(inputs) if may_be_constant(v, MOST_ELEMENTS)}
        sizes = set(filter(self._is_size, small))
        return needed | sizes if needed and needed <= (small if calls else sizes) else set()

    def _is_size(self, number: int) -> bool:
        return is_size(self._refs[number][0])


def values_in(key: Any) -> Values | None:
    """The values in an executable's key, where it has some."""
    if isinstance(key, Values):
        return key
    parts = key if isinstance(key, tuple) else ()
    return next((v for v in map(values_in, parts) if v is not None), None)


def may_be_constant(value: Any, most: int) -> bool:
    """Whether a value is of integers or truths, of `most` elements at most."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return kind in ("i", "u", "b") and value.size <= most


def needed_inputs(signal: NotStatic, inputs: Sequence[Ref]) -> set[int] | None:
    """The numbers of those of `inputs` from which the values come that a trace lacked.

    None where that is not known, or where they come from elsewhere, too.
    """
    refs = _to_know(signal)
    if refs is None:
        return None
    numbers = _numbered(inputs)
    found = _sources(refs, numbers)
    if any(key not in numbers and node.type != "Const" for key, node in found.items()):
        return None
    return {numbers[key] for key in found if key in numbers}


def inputs_behind(node: Node, inputs: Sequence[Ref]) -> set[int]:
    """The numbers of those of `inputs` from which a node's inputs follow."""
    numbers = _numbered(inputs)
    return {numbers[key] for key in _sources(node.inputs, numbers) if key in numbers}


def is_size(node: Node) -> bool:
    """Whether a node's values are integers that follow from shapes and from constants alone."""
    integers = all(t.is_integer or t.is_bool for t in node.dtypes)
    rows = all(dims is not None and len(dims) <= 1 for dims in node.shapes)
    return integers and rows and _follows_from_shapes(node)


def _follows_from_shapes(node: Node) -> bool:
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or each.type == "Const" or each.type in OF_SHAPES:
            continue
        if not each.inputs or each.stateful or (each.op is not None and each.op.calls):
            return False  # a loop may take long, whatever it gives
        seen.add(id(each))
        waiting.extend(source for source, _ in each.inputs)
    return True


def _numbered(inputs: Sequence[Ref]) -> dict[tuple[int, int], int]:
    return {(id(node), index): i for i, (node, index) in enumerate(inputs)}


def needs_of_caller(
    signal: NotStatic, feeds: Sequence[Sequence[Node]], first: int
) -> set[int] | None:
    """The inputs that a conditional or loop must know, by what a node in its bodies must.

    Args:
      signal: of that node.
      feeds: of each body the feeds, in the order of the caller's inputs.
      first: which of the caller's inputs the first of them is.

    Returns:
      None where it follows from something else, too.
    """
    refs = _to_know(signal)
    if refs is None:
        return None
    numbers = {(id(feed), 0): first + i for each in feeds for i, feed in enumerate(each)}
    found = _sources(refs, numbers)
    if any(key not in numbers and node.type == FEED for key, node in found.items()):
        return None
    return {numbers[key] for key in found if key in numbers}


def _sources(
    refs: Sequence[Ref], ends: Mapping[tuple[int, int], int]
) -> dict[tuple[int, int], Node]:
    """Where values come from: those in `ends`, and outputs of nodes without inputs."""
    found: dict[tuple[int, int], Node] = {}
    seen: set[tuple[int, int]] = set()
    waiting = list(refs)
    while waiting:
        source, index = waiting.pop()
        key = (id(source), index)
        if key in ends or not source.inputs:
            found[key] = source
        elif key not in seen and source.type not in OF_SHAPES:
            waiting.extend(source.inputs)
        seen.add(key)
    return found


def _to_know(signal: NotStatic) -> list[Ref] | None:
    """The values that a node needs: all that it takes, where it does not say."""
    node = signal.key
    if not isinstance(node, Node):
        return None
    if signal.needs is not None:
        return [node.inputs[i] for i in signal.needs]
    if node.op is None or node.op.calls:
        return None
    if not node.op.host_inputs:
        return list(node.inputs)
    counts = node.counts or (1,) * len(node.op.inputs)
    needed = [
        a.name in node.op.host_inputs
        for a, n in zip(node.op.inputs, counts, strict=True)
        for _ in range(n)
    ]
    return [ref for ref, needs in zip(node.inputs, needed, strict=True) if needs]


__all__ = [
    "KnownValues",
    "Values",
    "WithValues",
    "inputs_behind",
    "is_size",
    "may_be_constant",
    "needed_inputs",
    "needs_of_caller",
    "values_in",
]
