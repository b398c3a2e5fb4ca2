"""`if` over a tensor: both branches become functions of the graph.

The state of a statement is the tuple of the variables that it may change, read and written through
two functions. Both branches start from the state before the statement; what they leave in the first
`nouts` variables is what the conditional returns.
"""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.core import context, dispatch
from penstock.core.convert import convert_to_tensor
from penstock.ops.bodies import BodyGraph, as_predicate, note_uses, share_captures, trace
from penstock.ops.conditionals import branch_graphs, emit_if
from penstock.tracing.autograph.values import (
    UndefinedReturnValue,
    as_tensors,
    at,
    condition,
    is_missing,
    is_staged,
    zeros_like_structure,
)
from penstock.util import nest

GetState = Callable[[], tuple[Any, ...]]
SetState = Callable[[tuple[Any, ...]], None]
Branch = Callable[[], list[Any]]
_LABELS = ("main", "else")
# Variables that conversion makes for jumps. Both branches agreeing on one is known when tracing.
_FLAGS = ("do_return", "break_", "continue_")


def if_stmt(
    test: Any,
    body: Callable[[], Any],
    orelse: Callable[[], Any],
    get_state: GetState,
    set_state: SetState,
    symbol_names: Sequence[str],
    nouts: int,
) -> None:
    """`if test: body else: orelse`."""
    if not is_staged(test):
        (body if test else orelse)()
        return
    before = get_state()

    def branch(function: Callable[[], Any]) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            set_state(before)
            function()
            return list(get_state()[:nouts])

        return run

    predicate = condition(test, "if statement")
    results = _Branches(symbol_names[:nouts]).run(predicate, branch(body), branch(orelse))
    set_state((*results, *before[nouts:]))


def choose(test: Any, body: Callable[[], Any], orelse: Callable[[], Any], text: str) -> Any:
    """A conditional expression over a tensor."""
    predicate = as_predicate(test, "conditional expression")
    branches = _Branches((text,))
    return branches.run(predicate, lambda: [body()], lambda: [orelse()])[0]


class _Branches:
    """The two branches of one conditional, and the checks that they agree."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def run(self, predicate: Any, main: Branch, orelse: Branch) -> list[Any]:
        """Adds the conditional and returns the value of each variable."""
        graphs = branch_graphs()
        left, right = (_collect(g, f) for g, f in zip(graphs, (main, orelse), strict=True))
        known = _known_in_else(predicate)
        right = [True if known is not None and v is known else v for v in right]
        kept = [_same(n, a, b) for n, a, b in zip(self._names, left, right, strict=True)]
        places = [i for i, k in enumerate(kept) if not k]
        self._check_missing(left, right, places)
        tensors = self._tensors(graphs, left, right, places)
        for i, a, b in zip(places, *tensors, strict=True):
            _check_alike(self._names[i], a, b)
        captured = share_captures(graphs)
        note_uses(graphs)
        outputs = iter(emit_if(predicate, graphs, captured).outputs)
        new = {
            i: nest.map_structure(lambda _: next(outputs), a, expand_composites=True)
            for i, a in zip(places, tensors[0], strict=True)
        }
        return [new.get(i, value) for i, value in enumerate(left)]

    def _check_missing(self, left: list[Any], right: list[Any], places: list[int]) -> None:
        """Refuses a variable that only one branch gives a value; a return value is filled in."""
        for i in places:
            for mine, other, label in ((left, right, "main"), (right, left, "else")):
                if isinstance(mine[i], UndefinedReturnValue):
                    mine[i] = _Filled(other[i])
                elif is_missing(mine[i]):
                    raise ValueError(
                        f"'{self._names[i]}' must also be initialized in the {label} branch of the"
                        f" if statement{at()}: expected a value from both branches, got none from"
                        f" {label}. Assign it there, or before the if."
                    )
                elif mine[i] is None:
                    raise ValueError(
                        f"'{self._names[i]}' is None at the end of the {label} branch of the if"
                        f" statement{at()}: expected a tensor from both branches, got"
                        f" {_kind(other[i])} from the other. Use a tensor in place of None."
                    )

    def _tensors(
        self, graphs: Sequence[BodyGraph], left: list[Any], right: list[Any], places: list[int]
    ) -> list[list[Any]]:
        """The values of both branches as tensors of their graphs, which become their outputs."""
        wanted = (left, right)
        order = (1, 0) if any(isinstance(v, _Filled) for v in left) else (0, 1)
        numbers = {i for i in places if all(type(v[i]) in (int, float, complex) for v in wanted)}
        results: list[list[Any]] = [[], []]
        for side in order:
            values, made = wanted[side], results[1 - side]

            def outputs(values: Any = values, made: Any = made, side: int = side) -> list[Any]:
                return [
                    zeros_like_structure(made[k])
                    if isinstance(values[i], _Filled)
                    else dispatch.promoted(convert_to_tensor, values[i])
                    if i in numbers
                    else self._as_tensors(i, values[i], side)
                    for k, i in enumerate(places)
                ]

            results[side] = trace(graphs[side], outputs)
        return results

    def _as_tensors(self, index: int, value: Any, side: int) -> Any:
        try:
            return as_tensors(value)
        except (TypeError, ValueError) as problem:
            raise TypeError(
                f"'{self._names[index]}' is {_kind(value)} at the end of the {_LABELS[side]} branch"
                f" of the if statement{at()}: expected tensors, or what tensors are made of, got"
                f" {value!r}. Choose between Python objects outside of the graph. ({problem})"
            ) from None


class _Filled:
    """A return value that a branch does not give: never read, but of the type of the other's."""

    def __init__(self, other: Any) -> None:
        self.other = other


def _collect(graph: BodyGraph, function: Branch) -> list[Any]:
    """What a branch leaves, as Python has it; its operations go to `graph`."""
    with context.graph_scope(graph), context.no_recording():
        return function()


def _known_in_else(predicate: Any) -> Any:
    """The tensor that is true in the else branch because the predicate negates it."""
    op = getattr(predicate, "op", None)
    return op.inputs[0] if op is not None and op.type == "LogicalNot" else None


def _same(name: str, a: Any, b: Any) -> bool:
    """Whether both branches leave the same, so that nothing needs to be chosen."""
    if is_missing(a) and is_missing(b):
        return True
    if isinstance(a, bool) and isinstance(b, bool):
        return a is b and name.startswith(_FLAGS)
    return a is b and not isinstance(a, (int, float, complex, str, bytes))


def _check_alike(name: str, a: Any, b: Any) -> None:
    """Refuses values of different structures or dtypes."""
    try:
        nest.assert_same_structure(a, b, expand_composites=True)
    except (TypeError, ValueError) as problem:
        raise TypeError(
            f"'{name}' must have the same nested structure in the main and else branches of the if"
            f" statement{at()}: expected one structure, got {_kind(a)} and {_kind(b)}. Make them"
            f" alike.\n\n{problem}"
        ) from None
    pairs = zip(
        nest.flatten(a, expand_composites=True),
        nest.flatten(b, expand_composites=True),
        strict=True,
    )
    for x, y in pairs:
        if (x is None) != (y is None):
            raise ValueError(
                f"'{name}' is None at the end of the {_LABELS[x is not None]} branch of the if"
                f" statement{at()}: expected tensors from both branches, got {x} and {y}. Use a"
                " tensor in place of None."
            )
        if x is not None and x.dtype is not y.dtype:
            raise TypeError(
                f"'{name}' has dtype {x.dtype.name} in the main branch, but dtype {y.dtype.name} in"
                f" the else branch of the if statement{at()}: expected one dtype. Use tf.cast."
            )


def _kind(value: Any) -> str:
    return f"a value of type {type(value).__name__}"
