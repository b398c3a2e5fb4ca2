"""The pass that puts operations in the place of others by `penstock.core.patterns.Rewrite`.

What is found must be whole: no other operation uses what is not replaced, nothing waits for a part,
and all are on one device. What is made has the name and the line of the first operation found.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.core.op_def import lookup
from penstock.core.patterns import Rewrite, patterns, used
from penstock.runtime.program import Node, Program, Ref
from penstock.runtime.rewiring import rewired
from penstock.runtime.templates import Found, Line, Parsed, Uses, found, parsed
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class Facts:
    """What is known of what was found, when the program is planned.

    Attributes:
      names: what the template names.
      device: of all its operations; empty where the program leaves it open.
    """

    def __init__(self, at: Found) -> None:
        self.names = frozenset(at.values)
        self.device = at.nodes[0].device
        self._values = at.values
        self._nodes = at.nodes

    def shape(self, name: str) -> Dims:
        """The shape of a value."""
        source, index = self._values[name]
        return source.shapes[index]

    def dtype(self, name: str) -> DType:
        """The dtype of a value."""
        source, index = self._values[name]
        return source.dtypes[index]

    def constant(self, name: str) -> np.ndarray[Any, Any] | None:
        """A value that is a constant."""
        source, _ = self._values[name]
        return source.attrs["value"].array if source.type == "Const" else None

    def attr(self, name: str, attr: str, default: Any) -> Any:
        """An attribute of the operation that gives a value; `default` where it has none."""
        return self._values[name][0].attrs.get(attr, default)

    def type(self, name: str) -> str:
        """The type of the operation that gives a value."""
        return self._values[name][0].type

    def source(self, name: str) -> str:
        """The type of the operation that gives a value, or a part of it."""
        node = self._values[name][0]
        while node.type in ("Unpack", "Split", "Reshape", "Identity") and node.inputs:
            node = node.inputs[-1 if node.type == "Split" else 0][0]
        return node.type


def rewrite(program: Program) -> Program:
    """Makes the replacements that are switched on, wherever they are found."""
    types = {n.type for n in program.nodes}
    for pattern in patterns():
        if not isinstance(pattern, Rewrite) or not types.intersection(pattern.first):
            continue
        if used(pattern.name):
            program = _rewritten(program, pattern)
    return program


def _rewritten(program: Program, pattern: Rewrite) -> Program:
    uses = Uses(program)
    taken: set[int] = set()
    replaced: dict[int, list[Ref]] = {}
    gone: dict[int, Node] = {}
    for node in [n for n in program.nodes if n.type in pattern.first]:
        for template in map(parsed, pattern.templates()):
            at = found(template, node, uses)
            if at is None or taken.intersection(id(n) for n in at.nodes):
                continue
            attrs = pattern.fits(Facts(at))
            if attrs is None:
                continue
            taken.update(id(n) for n in at.nodes)
            # Among the nodes, as their inputs may be replaced too.
            program.nodes += _replace(template, at, attrs, replaced, gone)
            break
    if not replaced:
        return program
    return rewired(program, replaced, gone)


def _replace(
    template: Parsed,
    at: Found,
    attrs: Mapping[str, Any],
    replaced: dict[int, list[Ref]],
    gone: dict[int, Node],
) -> list[Node]:
    """Makes the operations of a template, and notes what they stand for."""
    values = dict(at.values)
    nodes = []
    for line in template.made:
        made = _made(line, values, at, attrs)
        shapes: list[Dims] = [None] * len(made.dtypes)
        for i, name in enumerate(line.results):
            old = at.values.get(name)
            if old is not None:
                outputs = replaced.setdefault(id(old[0]), [(made, i)] * len(old[0].dtypes))
                outputs[old[1]], gone[id(old[0])] = (made, i), made
                shapes[i] = old[0].shapes[old[1]]
            values[name] = (made, i)
        made.shapes = shapes
        nodes.append(made)
    return nodes


def _made(line: Line, values: Mapping[str, Ref], at: Found, attrs: Mapping[str, Any]) -> Node:
    """An operation of a template; a list input is empty where its name stands for nothing."""
    op = lookup(line.types[0])
    inputs, counts = [], []
    own = {n: attrs.get(n, a.default) for n, a in op.attrs.items()}
    for arg, name in zip(op.inputs, line.inputs, strict=True):
        given = [values[name]] if name in values else []
        counts.append(len(given))
        inputs += given
        if arg.number_attr is not None:
            own[arg.number_attr] = len(given)
    dtypes = [out.dtype or own[out.type_attr or ""] for out in op.outputs]
    first = at.nodes[0]
    made = first.copy(inputs, [])
    made.type, made.op, made.attrs, made.counts = op.name, op, own, counts
    made.dtypes = dtypes
    return made
