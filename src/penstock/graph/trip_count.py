"""How often a loop can run at most, where its operations tell: it counts in steps to a limit.

`bound_of` looks for a comparison in the condition (alone, or one of several that must all hold)
between a loop variable, which starts at a known integer and grows or shrinks by a known step, and
a known limit. `rounds` does so for values that are known otherwise than from the graph, and
`exact_rounds` where nothing else can end the loop.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.graph.body import CallBody
from penstock.graph.operation import Operation
from penstock.graph.static_values import constant_value, value_source

COMPARISONS = {"Less": 1, "LessEqual": 1, "Greater": -1, "GreaterEqual": -1}
LONGEST = 1 << 20  # rounds that are still worth an array
Known = Callable[[int], Any]  # the value of an input of the loop, None for one that is not known
Asked = Callable[[Any], Any]  # that of a tensor of the condition


def bound_of(op: Operation) -> int | None:
    """A bound on the rounds of a While, or None."""
    given = op.attrs.get("_maximum_iterations")
    if given is not None:
        return max(int(given), 0)
    return rounds(op.attrs["cond"], op.attrs["body"], lambda i: constant_value(op.inputs[i]))


def rounds(cond: CallBody, body: CallBody, known: Known) -> int | None:
    """A bound on the rounds of a loop whose inputs are known as far as `known(number)` says."""
    bounds = [n for n in _each_rounds(cond, body, known) if n is not None and n <= LONGEST]
    return min(bounds) if bounds else None


def exact_rounds(
    cond: CallBody, body: CallBody, known: Known, asked: Asked = constant_value
) -> int | None:
    """How often a loop runs, None unless every part of its condition counts to a known limit.

    `asked` gives the value of a tensor of the condition, where it is known and the same in all
    rounds.
    """
    found = _each_rounds(cond, body, known, asked)
    bounds = [n for n in found if n is not None]
    return min(bounds) if len(bounds) == len(found) and min(bounds) <= LONGEST else None


def _each_rounds(
    cond: CallBody, body: CallBody, known: Known, asked: Asked = constant_value
) -> list[int | None]:
    """For each part of a condition the rounds until it fails, None for one that does not count."""
    return [
        _rounds(cond, body, known, asked, part) if part.type in COMPARISONS else None
        for part in _conjuncts(cond.outputs[0])
    ]


def _conjuncts(tensor: Any) -> Iterator[Operation]:
    stack = [tensor]
    while stack:
        op = value_source(stack.pop()).op
        if op.type == "LogicalAnd":
            stack.extend(op.inputs)
        else:
            yield op


def _rounds(
    cond: CallBody,
    body: CallBody,
    known: Known,
    asked: Asked,
    comparison: Operation,
) -> int | None:
    """The rounds until a comparison fails.

    None where the counter leaves the range of its dtype before: it goes on from the other end then,
    and the loop too.
    """
    left, right = (value_source(t) for t in comparison.inputs)
    sign = COMPARISONS[comparison.type]
    number = _number(cond, left)
    if number is None or _limit(cond, body, known, asked, right) is None:
        left, right, sign = right, left, -sign
        number = _number(cond, left)
    limit = _limit(cond, body, known, asked, right)
    if number is None or limit is None or not left.dtype.is_integer:
        return None
    start, step = known(number), _step(body, number)
    if start is None or start.ndim or step is None or step * sign <= 0:
        return None
    distance = (limit - int(start)) * sign
    if comparison.type.endswith("Equal"):
        distance += 1
    found = max(0, -(-distance // (step * sign)))
    limits = np.iinfo(left.dtype.base_dtype.as_numpy_dtype)
    if not limits.min <= int(start) + step * found <= limits.max:
        return None
    return found


def _number(cond: CallBody, tensor: Any) -> int | None:
    return next((i for i, t in enumerate(cond.inputs) if t is tensor), None)


def _limit(cond: CallBody, body: CallBody, known: Known, asked: Asked, tensor: Any) -> int | None:
    """The value of a scalar in the condition that is the same in all rounds."""
    number = _number(cond, tensor)
    if number is not None:
        if value_source(body.outputs[number]) is not body.inputs[number]:
            return None
        value = known(number)
    else:
        value = asked(tensor)
    if value is None or value.ndim or value.dtype.kind not in "iu":
        return None
    return int(value)


def _step(body: CallBody, number: int) -> int | None:
    """What a round adds to a loop variable."""
    op = value_source(body.outputs[number]).op
    if op.type not in ("Add", "AddV2", "Sub"):
        return None
    place = body.inputs[number]
    left, right = (value_source(t) for t in op.inputs)
    if right is place and op.type != "Sub":
        left, right = right, left
    value = constant_value(right) if left is place else None
    if value is None or value.ndim:
        return None
    return -int(value) if op.type == "Sub" else int(value)
