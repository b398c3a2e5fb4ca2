"""The pass that puts fused operations in the place of chains (`penstock.core.patterns`).

A chain is taken only where each result on the way is used by the next operation alone, nothing
waits for an operation of it, and all are on one device. A fused node has the name and the line of
the first of them.
"""

from collections import Counter
from typing import Any

from penstock.core.op_def import lookup
from penstock.core.patterns import Chain, Link, patterns, used
from penstock.runtime.program import Node, Program, Ref
from penstock.runtime.rewiring import rewired


def fuse_chains(program: Program) -> Program:
    """Replaces the chains that are switched on, wherever they are found."""
    chains = [p for p in patterns() if isinstance(p, Chain) and used(p.name)]
    if not chains or not {n.type for n in program.nodes} & {c.first for c in chains}:
        return program
    found = _Finder(program)
    for chain in chains:
        for node in program.nodes:
            found.try_chain(chain, node)
    if not found.replaced:
        return program
    program.nodes += found.gone.values()  # whose inputs may be replaced too
    return rewired(program, found.replaced, found.gone)


class _Finder:
    """What uses what in a program, and the chains that were found."""

    def __init__(self, program: Program) -> None:
        self.replaced: dict[int, list[Ref]] = {}
        self.gone: dict[int, Node] = {}
        self._users: dict[tuple[int, int], list[Node]] = {}
        for node in program.nodes:
            for source, index in node.inputs:
                self._users.setdefault((id(source), index), []).append(node)
        self._fetched = Counter((id(n), i) for n, i in program.fetches)
        self._waited = {id(c) for n in program.nodes for c in n.control}
        self._waited |= {id(n) for n in program.targets}

    def try_chain(self, chain: Chain, first: Node) -> None:
        """Notes the chain that begins here, when there is one."""
        if first.type != chain.first or first.control or not chain.starts(first.attrs):
            return
        roles: dict[str, list[Ref]] = {}
        names: dict[str, str] = {}
        last, left = first, list(chain.links)
        while left:
            user = self._only_user(last)
            if user is None or user.control or user.device != first.device:
                break
            link = _matching(left, user, last)
            if link is None:
                break
            others = [ref for ref in user.inputs if ref[0] is not last]
            goes_on = others and not link.ends
            left = [each for each in left if each is not link] if goes_on else []
            if others:
                roles[link.role] = others
            else:
                names[link.role] = user.type
            last = user
        if last is not first:
            self._replace(chain, first, last, roles, names)

    def _only_user(self, node: Node) -> Node | None:
        """The one operation that uses a node's one result, and nothing else does."""
        users = self._users.get((id(node), 0), ())
        if len(users) != 1 or self._fetched[id(node), 0] or id(node) in self._waited:
            return None
        return users[0]

    def _replace(
        self,
        chain: Chain,
        first: Node,
        last: Node,
        roles: dict[str, list[Ref]],
        names: dict[str, str],
    ) -> None:
        op = lookup(chain.fused)
        inputs, attrs = list(first.inputs), {**first.attrs, **names}
        counts = [1] * len(inputs)
        for arg in op.inputs[len(inputs) :]:
            given = roles.get(arg.name, [])
            assert arg.number_attr is not None
            attrs[arg.number_attr] = len(given)
            counts.append(len(given))
            inputs += given
        kept: dict[str, Any] = {n: attrs.get(n, a.default) for n, a in op.attrs.items()}
        made = first.copy(inputs, [])
        made.type, made.op, made.attrs, made.counts = op.name, op, kept, counts
        made.dtypes, made.shapes = last.dtypes, last.shapes
        self.replaced[id(last)], self.gone[id(last)] = [(made, 0)], made


def _matching(links: list[Link], user: Node, last: Node) -> Link | None:
    """The first link that an operation on the result of `last` is."""
    others = [ref for ref in user.inputs if ref[0] is not last]
    if len(others) != len(user.inputs) - 1:
        return None
    other = others[0][0].shapes[others[0][1]] if others else None
    place = next(i for i, ref in enumerate(user.inputs) if ref[0] is last)
    for link in links:
        if user.type not in link.types or link.place not in (None, place):
            continue
        if link.fits(user.attrs, last.shapes[0], other):
            return link
    return None
