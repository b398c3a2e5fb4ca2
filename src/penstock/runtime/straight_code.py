"""Host kernels one after the other as one generated Python function.

What is to be done between two kernels is small beside them only where it is spelled out for the
operations at hand: inputs that become arrays of NumPy's, shapes that must be allowed, results of
the declared dtypes, work that counts. A function of ten operations saves about 4 us for each.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from penstock.core import shapes
from penstock.core.host_runs import allow, conform, host_value
from penstock.core.kernels import quiet
from penstock.core.prepared import PreparedOp
from penstock.runtime.host_work import MULTIPLIES, OVERHEAD, work_of
from penstock.runtime.program import Node
from penstock.types import dtypes as dt

NO_SHAPE = (dt.resource, dt.variant)


class Call(NamedTuple):
    """An operation over slots; `plain` is its plain kernel, if it has one."""

    node: Node
    prepared: PreparedOp
    sources: list[int]
    targets: list[int]
    plain: Callable[..., Any] | None


class Straight:
    """Consecutive operations with plain kernels.

    Attributes:
      calls: the operations.
      gives: the slots whose values it hands on.
    """

    def __init__(
        self,
        calls: Sequence[Call],
        takes: Sequence[int],
        gives: Sequence[int],
        known: dict[int, Any],
    ) -> None:
        """`takes`: the slots of the arguments; `known`: constants in other slots."""
        self.calls = list(calls)
        self.gives = list(gives)
        self._takes = list(takes)
        self._known = known

    @cached_property
    def take(self) -> Callable[[list[Any]], Sequence[Any]]:
        """The arguments from all slots."""
        if len(self._takes) < 2:
            return lambda slots: [slots[i] for i in self._takes]
        return itemgetter(*self._takes)

    def run(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """The values that are handed on. Raises whatever a kernel or a rule of shapes raises."""
        return quiet.run(self._function, *arguments)

    def run_counted(self, arguments: Sequence[Any]) -> tuple[Sequence[Any], int]:
        """The same, and the work in `host_work`'s units."""
        return quiet.run(self._counting, *arguments)  # type: ignore[no-any-return]

    @cached_property
    def _function(self) -> Callable[..., Any]:
        return self._generate(counts=False)

    @cached_property
    def _counting(self) -> Callable[..., Any]:
        return self._generate(counts=True)

    def _generate(self, counts: bool) -> Callable[..., Any]:
        code = _Code(self._known)
        body = []
        for number, call in enumerate(self.calls):
            body += code.of(number, call)
            if counts:
                body.append(code.work(call))
        result = f"({''.join(f'v{i}, ' for i in self.gives)})"
        lines = [
            f"def straight({', '.join(f'v{i}' for i in self._takes)}):",
            *(line for i in self._takes if i in code.used for line in code.argument(i)),
            *([f"    work = {OVERHEAD * len(self.calls)}"] if counts else []),
            *body,
            f"    return {result}, work" if counts else f"    return {result}",
        ]
        exec("\n".join(lines), code.names)
        return code.names["straight"]  # type: ignore[no-any-return]


class _Code:
    """Lines of a function in which `vI` is the value of slot I, `hI` the same as a host array.

    Attributes:
      names: the function's globals.
      used: the slots that operations read.
    """

    def __init__(self, known: dict[int, Any]) -> None:
        self.names: dict[str, Any] = {"ndarray": np.ndarray, "host_value": host_value}
        self.names["work_of"] = work_of
        for slot, value in known.items():
            self.names[f"v{slot}"] = value
        self.used: set[int] = set()
        self._known = known
        self._made: set[int] = set()

    def argument(self, slot: int) -> list[str]:
        return [
            f"    h{slot} = v{slot}",
            f"    if h{slot}.__class__ is not ndarray: h{slot} = host_value(h{slot})",
        ]

    def name(self, slot: int) -> str:
        return f"v{slot}" if slot in self._known or slot in self._made else f"h{slot}"

    def of(self, number: int, call: Call) -> list[str]:
        """An operation."""
        prepared = call.prepared
        self.used.update(call.sources)
        given = [self.name(i) for i in call.sources]
        lines = []
        if prepared.op.shape_rule is not None and not is_plain_ufunc(prepared):
            allowed: set[Any] = set()
            fixed = frozenset(k for k, slot in enumerate(call.sources) if slot in self._known)
            self.names[f"a{number}"] = allowed
            self.names[f"allow{number}"] = partial(allow, prepared, allowed, fixed)
            sizes = "".join(map(_shape, given, prepared.in_dtypes))
            lines.append(f"    key = ({sizes})")
            lines.append(
                f"    if key not in a{number}: allow{number}({', '.join(['key', *given])})"
            )
        self._made.update(call.targets)
        made = [f"v{i}" for i in call.targets]
        self.names[f"f{number}"] = call.plain
        value = f"f{number}({', '.join(given)})"
        if not prepared.single:
            self.names[f"c{number}"] = partial(_all, prepared)
            left = f"[{', '.join(made)}] = " if made else ""
            return [*lines, f"    {left}c{number}({value})"]
        lines.append(f"    {made[0]} = {value}")
        wanted = prepared.out_numpy[0]
        if wanted is not None:
            self.names[f"t{number}"] = wanted
            self.names[f"c{number}"] = partial(_one, prepared)
            odd = f"{made[0]}.__class__ is not ndarray or {made[0]}.dtype is not t{number}"
            lines.append(f"    if {odd}: {made[0]} = c{number}({made[0]})")
        return lines

    def work(self, call: Call) -> str:
        """Adds what the operation cost, but for what each costs: as `work_of` says."""
        given = [self.name(i) for i in call.sources]
        made = [f"v{i}" for i in call.targets]
        if call.node.type in MULTIPLIES:
            both = (f"({''.join(f'{name}, ' for name in names)})" for names in (given, made))
            return f"    work += work_of({call.node.type!r}, {', '.join(both)}) - {OVERHEAD}"
        ends = zip((given, made), (call.prepared.in_dtypes, call.prepared.out_dtypes), strict=True)
        sums = [" + ".join(map(_count, names, types)) or "0" for names, types in ends]
        return f"    work += max({sums[0]}, {sums[1]})"


def _shape(name: str, dtype: Any) -> str:
    return f"getattr({name}, 'shape', ()), " if dtype in NO_SHAPE else f"{name}.shape, "


def _count(name: str, dtype: Any) -> str:
    return f"getattr({name}, 'size', 0)" if dtype in NO_SHAPE else f"{name}.size"


def _one(prepared: PreparedOp, result: Any) -> Any:
    return host_value(conform(prepared, result)[0])


def _all(prepared: PreparedOp, results: Any) -> list[Any]:
    """As arrays: rules of shapes and kernels do not look at NumPy's scalars as values."""
    return [host_value(result) for result in conform(prepared, results)]


def is_plain_ufunc(prepared: PreparedOp) -> bool:
    """Whether the host kernel is a NumPy ufunc whose own shape check is the operation's."""
    if not prepared.single or prepared.refs or not isinstance(prepared.host, np.ufunc):
        return False
    rule = prepared.op.shape_rule
    return rule is shapes.broadcast or (rule is shapes.same and len(prepared.in_dtypes) == 1)


def parts_of(
    calls: Sequence[Call], outputs: Iterable[int], known: dict[int, Any]
) -> list[Straight | Call]:
    """The calls in order, those with plain kernels that follow each other as one."""
    groups: list[list[Call] | Call] = []
    for call in calls:
        if call.plain is None:
            groups.append(call)
        elif groups and isinstance(groups[-1], list):
            groups[-1].append(call)
        else:
            groups.append([call])
    wanted = set(outputs)  # by what comes later
    parts: list[Straight | Call] = []
    for group in reversed(groups):
        if not isinstance(group, list):
            wanted.update(group.sources)
            parts.append(group)
            continue
        made = {i for call in group for i in call.targets}
        takes = {i for call in group for i in call.sources} - made - known.keys()
        parts.append(Straight(group, sorted(takes), sorted(made & wanted), known))
        wanted |= takes
    return parts[::-1]
