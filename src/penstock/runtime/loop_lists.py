"""Lists that a loop makes longer or shorter, where the number of rounds is known.

Their length in each round is known then, so no round has to change it: a list that grows has room
for all rounds from the start and each sets its elements, one that is cut stays as it is and is cut
after the loop. What a round asks of the length is a number that is known, too.

For `penstock.runtime.loop_form`, whose rewriter this part looks at and changes.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from penstock.core.arrays import HashableArray
from penstock.core.op_def import lookup
from penstock.runtime.loop_nodes import Counter
from penstock.runtime.loop_parts import LoopFacts, LoopForm
from penstock.runtime.program import Node, Program, Ref
from penstock.types import dtypes as dt

LONGEST = 1 << 14  # rounds of a loop whose lists are followed
Numbers = Any  # an integer for each round
_SETS = ("TensorListSetItem", "PenstockTensorListAddItem")  # list, index, element
_LINKS = (*_SETS, "TensorListResize")


class Rewriter(Protocol):
    """What is asked of the rewriter of a loop."""

    program: Program
    facts: LoopFacts
    form: LoopForm
    rounds: int
    fixed: set[int]
    counters: dict[int, Counter]
    numbers: dict[int, int]

    def counted(self, ref: Ref) -> Counter | None:
        """What an integer scalar is in each round."""


def settle_lengths(rewriter: Rewriter) -> None:
    """Gives lists one length for all rounds."""
    if rewriter.rounds <= LONGEST:
        _Settler(rewriter).settle()


class _Settler:
    """The state of settling."""

    def __init__(self, rewriter: Rewriter) -> None:
        self.r = rewriter
        self.program = rewriter.program
        self.lengths: dict[int, Numbers] = {}  # by the id of a node that asks for a length

    def settle(self) -> None:
        open_ = [i for i in range(len(self.program.fetches)) if i in self.r.facts.lengths]
        # What is popped may be a number for the others, and what the others ask may be pushed.
        for rule in (self._pop, self._follow, self._push_numbers, self._push):
            for i in open_:
                if i not in self.r.form.lengths and i not in self.r.form.numbers:
                    rule(i)

    # numbers

    def _numbers(self, ref: Ref) -> Numbers:
        """What an integer scalar is in each round; None where that is not known."""
        node, _ = ref
        if id(node) in self.lengths:
            return self.lengths[id(node)]
        counter = self.r.counted(ref)
        if counter is not None:
            return counter.first + counter.step * np.arange(self.r.rounds)
        if node.type == "TensorListGetItem" and not node.control:
            number = self.r.numbers.get(id(node.inputs[0][0]), -1)
            values = self.r.facts.vectors.get(number) if number in self.r.fixed else None
            index = self._numbers(node.inputs[1])
            if values is None or index is None or not _within(index, len(values)):
                return None
            return np.array(values)[index]
        if node.type in ("Add", "AddV2", "Sub", "Mul") and not node.control:
            left, right = (self._numbers(each) for each in node.inputs)
            if left is None or right is None:
                return None
            return {"Sub": np.subtract, "Mul": np.multiply}.get(node.type, np.add)(left, right)
        return None

    def _ref(self, wanted: Numbers) -> Ref | None:
        """An integer of the rounds that is `wanted`: one that there is, or one made of it."""
        nodes = [n for n in self.program.nodes if n.type in ("Add", "AddV2", "Sub")]
        feeds = [self.program.feeds[i] for i in self.r.counters]
        for node in (*feeds, *nodes):
            if node.dtypes[0] is dt.int32 and not node.control:
                found = self._numbers((node, 0))
                if found is not None and (found == wanted).all():
                    return node, 0
        for feed in feeds:
            found = self._numbers((feed, 0))
            if feed.dtypes[0] is dt.int32 and len(set(wanted - found)) == 1:
                return _sum(feed, int(wanted[0] - found[0])), 0
        return (_constant("length", int(wanted[0])), 0) if len(set(wanted)) == 1 else None

    # lists that only a gradient's loops have: each round appends or takes one element

    def _alone(self, i: int, kind: str) -> Node | None:
        """The node that makes a list from the last round's, where nothing else asks for either."""
        feed, (node, output) = self.program.feeds[i], self.program.fetches[i]
        if node.type != kind or output or node.control or not _of_arrays(node):
            return None
        alone = node.inputs[0][0] is feed and self._uses((feed, 0)) == 1
        return node if alone and self._uses((node, 0)) == 1 else None

    def _pop(self, i: int) -> None:
        feed, length = self.program.feeds[i], self.r.facts.lengths[i]
        node = self._alone(i, "TensorListPopBack")
        index = self._ref(length - 1 - np.arange(self.r.rounds)) if node else None
        if node is None or index is None or length < self.r.rounds:
            return
        read = node.copy([(feed, 0), index, node.inputs[1]], [])
        read.type, read.op = "TensorListGetItem", lookup("TensorListGetItem")
        of = node.attrs["element_dtype"]
        read.attrs = {"element_dtype": of, "Tshape": dt.int32, "_in_range": True}
        read.dtypes, read.shapes = [node.dtypes[1]], [node.shapes[1]]
        _replace(self.program, (node, 1), (read, 0))
        self._add(read)
        self.program.fetches[i] = (feed, 0)
        self.r.fixed.add(i)
        self.r.form.lengths[i] = (length, length - self.r.rounds)

    def _push_numbers(self, i: int) -> None:
        node = self._alone(i, "TensorListPushBack")
        values = self._numbers(node.inputs[1]) if node else None
        if node is not None and values is not None and self.r.facts.lengths[i] == 0:
            self.r.form.numbers[i] = values.astype(node.attrs["element_dtype"].numpy_dtype)

    def _push(self, i: int) -> None:
        length = self.r.facts.lengths[i]
        node = self._alone(i, "TensorListPushBack")
        index = self._ref(length + np.arange(self.r.rounds)) if node else None
        if node is None or index is None:
            return
        _become_set(node, [node.inputs[0], index, node.inputs[1]])
        self.r.form.lengths[i] = (length + self.r.rounds, length + self.r.rounds)

    # lists of the user's

    def _follow(self, i: int) -> None:
        """A list of which a round sets elements, behind its end, too, and which it may cut."""
        chain = self._chain(i)
        if not any(n.type == "TensorListResize" or _grows(n) for n in chain):
            return
        asked = self._asked(i, chain)
        if asked is None:
            return
        found = self._run(i, chain, asked)
        if found is None:
            return
        lengths, numbers = found
        by_node = {id(n): np.array(v) for n, v in numbers.items() if n.type == "TensorListLength"}
        self.lengths.update(by_node)
        replaced = {}
        for node in numbers:
            if node.type == "TensorListLength" and not self._only_pushed(node):
                ref = self._ref_other(node, by_node)
                if ref is None:
                    for key in by_node:
                        del self.lengths[key]
                    return
                replaced[node] = ref
        for node, ref in replaced.items():
            _replace(self.program, (node, 0), ref)
            self._add(ref[0])
        for node in chain:
            if node.type == "TensorListResize":
                _replace(self.program, (node, 0), node.inputs[0])
            elif node.type == "TensorListSetItem":
                _become_set(node, node.inputs)
        self.r.form.lengths[i] = (max(lengths), lengths[-1])

    def _ref_other(self, node: Node, by_node: Mapping[int, Numbers]) -> Ref | None:
        """A number that is what `node` is, other than a length of the same list."""
        ref = self._ref(by_node[id(node)])
        return None if ref is not None and id(ref[0]) in by_node else ref

    def _chain(self, i: int) -> list[Node]:
        """The nodes that make a list from the last round's, in order; none where others do, too."""
        feed, (node, output) = self.program.feeds[i], self.program.fetches[i]
        found: list[Node] = []
        while node is not feed:
            if node.type not in _LINKS or node.control or output:
                return []
            if node.type != "TensorListResize" and not _of_arrays(node):
                return []
            found.append(node)
            node, output = node.inputs[0]
        found.reverse()
        links = {id(n) for n in found}
        for user, k in self._users((feed, 0), *((n, 0) for n in found)):
            if k and id(user) in links:  # a list as an element
                return []
        return found if self._fetched((feed, 0), *((n, 0) for n in found)) == 1 else []

    def _asked(self, i: int, chain: list[Node]) -> dict[int, list[Node]] | None:
        """What asks something of the list, by the number of links before; None for other uses."""
        feed, links = self.program.feeds[i], {id(n): k + 1 for k, n in enumerate(chain)}
        found: dict[int, list[Node]] = {}
        following = {id(n) for n in chain}
        for source in (feed, *chain):
            users = list(self._users((source, 0)))
            if sum(id(user) in following for user, _ in users) > 1:
                return None
            for user, k in users:
                if id(user) in following:
                    continue
                if k or user.type not in ("TensorListGetItem", "TensorListLength"):
                    return None
                found.setdefault(links.get(id(source), 0), []).append(user)
        return found

    def _run(
        self, i: int, chain: list[Node], asked: dict[int, list[Node]]
    ) -> tuple[list[int], dict[Node, list[int]]] | None:
        """All lengths in order, and the answers of what asks; None where a round would fail.

        Or where an element would come back that was cut.
        """
        readers = [user for users in asked.values() for user in users]
        nodes = [*chain, *(u for u in readers if u.type == "TensorListGetItem")]
        indices = {id(n): self._indices(n, readers) for n in nodes}
        if any(found is None for found in indices.values()):
            return None
        answers: dict[Node, list[int]] = {user: [] for user in readers}
        now = self.r.facts.lengths[i]
        lengths = [now]
        for number in range(self.r.rounds):
            for k in range(len(chain) + 1):
                for user in asked.get(k, ()):
                    answers[user].append(now)
                    index = indices.get(id(user))
                    if index is not None and not 0 <= _at(index, answers, number) < now:
                        return None
                if k == len(chain):
                    break
                now = _length_after(chain[k], now, _at(indices[id(chain[k])], answers, number))
                if now < 0:
                    return None
                lengths.append(now)
        steps = np.diff(lengths)
        return (lengths, answers) if (steps >= 0).all() or (steps <= 0).all() else None

    def _indices(self, node: Node, readers: list[Node]) -> Any:
        """The number that a node takes: for each round, or the length that says it."""
        source = node.inputs[1][0]
        if source.type == "TensorListLength" and any(source is user for user in readers):
            return source
        return self._numbers(node.inputs[1])

    def _only_pushed(self, node: Node) -> bool:
        """Whether a number is only appended to lists that keep numbers."""
        users = list(self._users((node, 0)))
        kept = [
            self._alone(i, "TensorListPushBack") for i, n in self.r.facts.lengths.items() if not n
        ]
        return not self._fetched((node, 0)) and all(
            k == 1 and any(user is each for each in kept) for user, k in users
        )

    # the program

    def _users(self, *refs: Ref) -> Iterator[tuple[Node, int]]:
        """The nodes that take one of some values, and as which input."""
        for node in self.program.nodes:
            for k, (source, output) in enumerate(node.inputs):
                if any(source is n and output == o for n, o in refs):
                    yield node, k

    def _fetched(self, *refs: Ref) -> int:
        fetches = self.program.fetches
        return sum(any(f is n and k == o for n, o in refs) for f, k in fetches)

    def _uses(self, ref: Ref) -> int:
        return len(list(self._users(ref))) + self._fetched(ref)

    def _add(self, node: Node) -> None:
        """Puts a new node into the program; it is sorted when all lists are settled."""
        if not any(node is each for each in self.program.nodes):
            self.program.nodes.append(node)


def _at(index: Any, answers: Mapping[Node, list[int]], number: int) -> int:
    return answers[index][-1] if isinstance(index, Node) else int(index[number])


def _length_after(node: Node, length: int, number: int) -> int:
    """The length of a list after a node; -1 where it fails."""
    if node.type == "TensorListResize":
        return number
    inside = 0 <= number < length
    if _grows(node):
        return max(length, number + 1) if number >= 0 else -1
    return length if inside else -1


def _grows(node: Node) -> bool:
    return bool(node.attrs.get("resize_if_index_out_of_bounds"))


def _of_arrays(node: Node) -> bool:
    return node.attrs.get("element_dtype") not in (dt.variant, dt.resource, dt.string, None)


def _within(index: Numbers, length: int) -> bool:
    return bool(index.min() >= 0 and index.max() < length)


def _become_set(node: Node, inputs: list[Ref]) -> None:
    node.type, node.op, node.counts = "TensorListSetItem", lookup("TensorListSetItem"), None
    node.inputs = inputs
    node.attrs = {
        "element_dtype": node.attrs["element_dtype"],
        "resize_if_index_out_of_bounds": False,
        "_in_range": True,
    }


def _constant(name: str, value: int) -> Node:
    attrs = {"value": HashableArray(np.array(value, np.int32), dt.int32), "dtype": dt.int32}
    return Node("Const", lookup("Const"), name, attrs, [], [], [dt.int32], [()])


def _sum(feed: Node, more: int) -> Node:
    inputs: list[Ref] = [(feed, 0), (_constant(f"{feed.name}/more", more), 0)]
    name, attrs = f"{feed.name}/sum", {"T": dt.int32}
    return Node("AddV2", lookup("AddV2"), name, attrs, inputs, [], [dt.int32], [()])


def _replace(program: Program, old: Ref, new: Ref) -> None:
    """Puts one value in the place of another one."""

    def now(ref: Ref) -> Ref:
        return new if ref[0] is old[0] and ref[1] == old[1] else ref

    for node in program.nodes:
        if node is not new[0]:
            node.inputs = [now(ref) for ref in node.inputs]
    program.fetches[:] = [now(ref) for ref in program.fetches]


__all__ = ["settle_lengths"]
