"""Templates (`penstock.core.patterns.Template`), read and found in a program.

`parsed` reads one; `Uses` knows what uses what in a program; `found` looks for a template from an
operation that its first line may be. A search goes along the template's edges: from an operation to
what gives its inputs, and to what uses its results.
"""

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.core.patterns import Template
from penstock.runtime.program import Node, Program, Ref

COMMUTATIVE = frozenset({"Add", "AddN", "AddV2", "Mul", "SquaredDifference"})
LINE = r"(?P<results>[\w, ]+) = (?P<types>[\w|]+)\((?P<inputs>[\w, ]*)(?:; (?P<attrs>.*))?\)"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a template.

    Attributes:
      results: names, `_` for one without.
      types: operations that it may be.
      inputs: names.
      attrs: what these attributes must be, or what they are made as: numbers or names.
    """

    results: tuple[str, ...]
    types: tuple[str, ...]
    inputs: tuple[str, ...]
    attrs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A template that was read: `lines` in an order in which each hangs on those before it."""

    lines: tuple[Line, ...]
    made: tuple[Line, ...]
    replaced: frozenset[str]


@dataclass(frozen=True, slots=True)
class Found:
    """Where a template is: the operation of each line, and the value of each name."""

    nodes: tuple[Node, ...]
    values: dict[str, Ref]


def _line(text: str) -> Line:
    match = re.fullmatch(LINE, text)
    assert match is not None, text
    words = [re.findall(r"\w+", match[part]) for part in ("results", "types", "inputs")]
    attrs = re.findall(r"(\w+)=(\w+)", match["attrs"] or "")
    return Line(tuple(words[0]), tuple(words[1]), tuple(words[2]), tuple(attrs))


@functools.cache
def parsed(template: Template) -> Parsed:
    """Reads a template."""
    left = [_line(text) for text in template.lines]
    made = tuple(_line(text) for text in template.made)
    order = [left.pop(0)]
    known = {*order[0].results, *order[0].inputs} - {"_"}
    while left:
        line = next(each for each in left if known.intersection(each.results + each.inputs))
        left.remove(line)
        order.append(line)
        known.update({*line.results, *line.inputs} - {"_"})
    resulting = {name for line in order for name in line.results}
    replaced = resulting.intersection(name for line in made for name in line.results)
    return Parsed(tuple(order), made, frozenset(replaced))


class Uses:
    """What uses what in a program."""

    def __init__(self, program: Program) -> None:
        self.users: dict[tuple[int, int], list[Node]] = {}
        for node in program.nodes:
            for source, index in dict.fromkeys(node.inputs):
                self.users.setdefault((id(source), index), []).append(node)
        self.fetched = Counter((id(n), i) for n, i in program.fetches)
        self.waited = {id(c) for n in program.nodes for c in n.control}
        self.waited |= {id(n) for n in program.targets}

    def outside(self, ref: Ref, inside: set[int]) -> bool:
        """Whether anything but the operations `inside` uses a value."""
        key = (id(ref[0]), ref[1])
        return key in self.fetched or any(id(n) not in inside for n in self.users.get(key, ()))


def found(template: Parsed, first: Node, uses: Uses) -> Found | None:
    """The template from an operation on, which may be its first line; None when it is not there."""
    for nodes, values in _continued(template.lines, first, uses, (), {}):
        if _closed(template, nodes, uses):
            return Found(nodes, values)
    return None


_Bound = dict[str, Ref]


def _continued(
    lines: tuple[Line, ...], node: Node, uses: Uses, nodes: tuple[Node, ...], values: _Bound
) -> Iterator[tuple[tuple[Node, ...], _Bound]]:
    """All ways in which `node` is the next line and others are those after it."""
    line = lines[len(nodes)]
    if any(node is each for each in nodes):
        return
    for bound in _bindings(line, node, values):
        so_far = (*nodes, node)
        if len(so_far) == len(lines):
            yield so_far, bound
            continue
        for candidate in _candidates(lines[len(so_far)], bound, uses):
            yield from _continued(lines, candidate, uses, so_far, bound)


def _candidates(line: Line, values: _Bound, uses: Uses) -> list[Node]:
    """Operations that may be a line, from the values that are known of it."""
    for name in line.results:
        if name in values:
            return [values[name][0]]
    for name in line.inputs:
        if name in values:
            source, index = values[name]
            return uses.users.get((id(source), index), [])
    return []


def _bindings(line: Line, node: Node, values: _Bound) -> Iterator[_Bound]:
    """What the names of a line stand for when it is `node`; several where operands may change."""
    if node.type not in line.types or node.control or len(node.inputs) != len(line.inputs):
        return
    if len(node.dtypes) != len(line.results) or not _has(node.attrs, line.attrs):
        return
    orders = [tuple(node.inputs)]
    if node.type in COMMUTATIVE:
        orders = list(dict.fromkeys(itertools.permutations(node.inputs)))
    results = [(node, i) for i in range(len(node.dtypes))]
    for inputs in orders:
        bound = dict(values)
        pairs = itertools.chain(
            zip(line.inputs, inputs, strict=True), zip(line.results, results, strict=True)
        )
        if all(n == "_" or _same(bound.setdefault(n, ref), ref) for n, ref in pairs):
            yield bound


def _same(one: Ref, other: Ref) -> bool:
    return one[0] is other[0] and one[1] == other[1]


def _has(attrs: dict[str, Any], wanted: tuple[tuple[str, str], ...]) -> bool:
    return all(int(attrs[name]) == int(value) for name, value in wanted)


def _closed(template: Parsed, nodes: tuple[Node, ...], uses: Uses) -> bool:
    """Whether nothing else needs what is not replaced, nor waits, and all are on one device."""
    inside = {id(n) for n in nodes}
    for line, node in zip(template.lines, nodes, strict=True):
        if id(node) in uses.waited or node.device != nodes[0].device:
            return False
        for i, name in enumerate(line.results):
            if name not in template.replaced and uses.outside((node, i), inside):
                return False
    return True
