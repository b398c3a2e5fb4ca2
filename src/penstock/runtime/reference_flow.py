"""The reference executor of graphs with control flow of the first kind: slow and plain.

It goes over all nodes at all places until nothing new comes of it. A place is where a node runs:
the loops around it, each with the number of its round.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.runtime.host_path import run_node
from penstock.runtime.program import FLOW, Node, Program
from penstock.runtime.simplify import prepared_op
from penstock.runtime.step import Step

DEAD: Any = type("Dead", (), {})()
END = -1  # in place of an output's number: that the node has run
Place = tuple[tuple[str, int], ...]


class FlowWalk:
    """One run of a program."""

    def __init__(self, program: Program, feeds: Sequence[Any], step: Step) -> None:
        self.program = program
        self.step = step
        self.places: dict[Place, None] = {(): None}
        self.values: dict[tuple[int, int, Place], Any] = {}
        for feed, value in zip(program.feeds, feeds, strict=True):
            self._give(feed, [value], (), False)
        self.ran: set[Any] = {(id(f), ()) for f in program.feeds}
        self.dead_exits: dict[Any, Node] = {}  # (node, place outside) where nothing came out yet
        self.back: dict[int, dict[int, Any]] = {}
        for merge, position, ref in program.back:
            self.back.setdefault(id(merge), {})[position] = ref

    def run(self) -> list[Any]:
        """Runs all nodes; returns the fetched."""
        while self._pass() or self._leave():
            pass
        fetched = [self.values.get((id(n), i, ()), DEAD) for n, i in self.program.fetches]
        if any(value is DEAD for value in fetched):
            raise errors.InvalidArgumentError(None, None, "Retval[0] does not have value")
        return fetched

    def _pass(self) -> bool:
        before = len(self.ran)
        for place in list(self.places):
            for node in self.program.nodes:
                if (id(node), place) not in self.ran:
                    self._try(node, place)
        return len(self.ran) > before

    def _leave(self) -> bool:
        """All has stopped: what did not come out of the innermost loops never will."""
        waiting = [k for k in self.dead_exits if (*k[:1], 0, k[1]) not in self.values]
        deepest = max((len(place) for _, place in waiting), default=0)
        for key, place in waiting:
            if len(place) == deepest:
                self._give(self.dead_exits[key, place], [DEAD], place, True)
        return bool(waiting)

    def _token(self, node: Node, index: int, place: Place) -> Any:
        if node.type == "Enter" and node.attrs["is_constant"] and place:
            place = (*place[:-1], (place[-1][0], 0))
        return self.values.get((id(node), index, place))

    def _try(self, node: Node, place: Place) -> None:
        """Runs a node where all it waits for has come."""
        waits = [self._token(c, END, place) for c in node.control]
        back = self.back.get(id(node), {})
        tokens = [self._token(n, i, place) for n, i in node.inputs]
        if node.type == "Merge":
            for position, (n, i) in sorted(back.items()):
                tokens.insert(position, self._token(n, i, place))
            living = [i for i, t in enumerate(tokens) if t is not None and t is not DEAD]
            died = sum(t is DEAD for t in tokens) == len(node.inputs)
            if any(w is None for w in waits) or not (living or died):
                return
            results: Sequence[Any] = (
                [tokens[living[0]], np.int32(living[0])] if living else [DEAD, DEAD]
            )
            dead = not living
        elif any(t is None for t in [*tokens, *waits]) or not (tokens or waits or not place):
            return
        else:
            dead = any(t is DEAD for t in [*tokens, *waits]) and node.type != "ControlTrigger"
            results = [DEAD] * len(node.dtypes) if dead else self._compute(node, tokens)
        self.ran.add((id(node), place))
        self._move(node, results, place, dead)

    def _compute(self, node: Node, tokens: list[Any]) -> Sequence[Any]:
        if node.type == "Switch":
            return [DEAD, tokens[0]] if tokens[1] else [tokens[0], DEAD]
        if node.type in FLOW:
            return tokens
        self.step.check(node.where())
        return run_node(node, prepared_op(node), tokens, self.step)

    def _move(self, node: Node, results: Sequence[Any], place: Place, dead: bool) -> None:
        """Takes what a node gives to the place where it belongs."""
        if node.type == "Enter":
            place = (*place, (node.attrs["frame_name"], 0))
        elif node.type == "Exit":
            place = place[:-1]
            self.dead_exits[id(node), place] = node
        elif node.type == "NextIteration" and place:
            place = (*place[:-1], (place[-1][0], place[-1][1] + 1))
        if not dead or node.type not in ("Exit", "NextIteration"):
            self._give(node, results, place, dead)

    def _give(self, node: Node, results: Sequence[Any], place: Place, dead: bool) -> None:
        self.places[place] = None
        self.values[id(node), END, place] = DEAD if dead else True
        self.values.update({(id(node), i, place): r for i, r in enumerate(results)})
