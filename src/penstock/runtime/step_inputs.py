"""What the nodes of a compiled region take from the host once a step.

Random operations take the stream that they read, loops where the streams of those inside start, and
conditionals the streams of all that their branches may draw. Which of them did draw is known once
the region has run: `Reserved` then gives back what the others were given, so that the numbers are
those of a conditional that runs on the host, as TensorFlow's. Where another step has read on
meanwhile nothing is given back, and no two steps draw the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from penstock.core import rounds
from penstock.graph.func_graph import bodies_of
from penstock.runtime.bodies import drawing_inside, traced_body
from penstock.runtime.draws import (
    CONDITIONALS,
    branch_site,
    drawing_loop,
    draws,
    forget_run,
    rounds_before,
    starts_of_run,
)
from penstock.runtime.program import Node


@dataclass(frozen=True, slots=True)
class Drawer:
    """A random operation, or a loop that has some, in a branch of a conditional.

    Attributes:
      site: the branches that it is in, see `penstock.core.rounds`.
      node: the operation or loop.
      inside: the random operations of a loop; None for an operation that draws itself.
    """

    site: str
    node: Node
    inside: list[Node] | None

    @property
    def streams(self) -> int:
        """How many streams it reads."""
        return 1 if self.inside is None else len(self.inside)


def drawers_of(node: Node, device: str, site: str = "") -> list[Drawer]:
    """What draws in the branches of a conditional, in the order of `drawing_inside`."""
    found: list[Drawer] = []
    for number, body in enumerate(bodies_of(node.attrs)):
        here = site + branch_site(node.name, number)
        for inner in traced_body(body, device).nodes if draws(body) else ():
            if inner.op is not None and inner.op.step_input is not None:
                found.append(Drawer(here, inner, None))
            elif drawing_loop(inner):
                found.append(Drawer(here, inner, drawing_inside(inner, device)))
            elif inner.type in CONDITIONALS:
                found += drawers_of(inner, device, here)
    return found


class Reserved:
    """What a conditional was given for a step.

    Attributes:
      starts: uint64[streams, 3]: where they start.
    """

    def __init__(self, step: Any, drawers: Sequence[Drawer]) -> None:
        self._step = step
        self._given: list[tuple[Drawer, Any]] = []  # an operation's stream, a loop's first round
        starts: list[Any] = []
        for drawer in drawers:
            with rounds.at(drawer.site):
                if drawer.inside is None:
                    given = drawer.node.op.step_input(step, drawer.node)  # type: ignore[union-attr,misc]
                    starts.append([given])
                else:
                    given = rounds_before(step, drawer.node.name)
                    starts.append(starts_of_run(step, drawer.node, given, drawer.inside))
            self._given.append((drawer, given))
        self.starts = np.concatenate([np.zeros((0, 3), np.uint64), *starts])

    def settle(self, drew: Sequence[bool]) -> None:
        """Gives back what was not used; `drew` tells for each stream whether it was read."""
        at = 0
        for drawer, given in self._given:
            used = any(drew[at : at + drawer.streams])
            at += drawer.streams
            if not used:
                self._give_back(drawer, given)

    def _give_back(self, drawer: Drawer, given: Any) -> None:
        with rounds.at(drawer.site):
            if drawer.inside is None:
                drawer.node.op.step_input.give_back(self._step, drawer.node, given)  # type: ignore[union-attr]
            else:
                forget_run(self._step, drawer.node.name, given)


def settle_all(reserved: Sequence[Reserved], drew: Sequence[bool]) -> None:
    """Settles those of a region; `drew` has their streams one after the other."""
    at = 0
    for each in reserved:
        each.settle(drew[at : at + len(each.starts)])
        at += len(each.starts)


def reserves(node: Node) -> bool:
    """Whether a node is a conditional with random operations inside."""
    return node.type in CONDITIONALS and any(draws(body) for body in bodies_of(node.attrs))


def input_of(node: Node, device: str) -> Callable[..., Any] | None:
    """What gives, for `(step, node)`, the value that a node takes; None where it takes none.

    For a conditional that is a `Reserved`.
    """
    if node.op is None:
        return None
    if node.op.step_input is not None:
        return node.op.step_input
    if drawing_loop(node):
        return partial(_of_loop, device)
    if reserves(node):
        inside = cache(lambda: drawers_of(node, device))
        return lambda step, _: Reserved(step, inside())
    return None


def _of_loop(device: str, step: Any, loop: Node) -> np.ndarray[Any, Any]:
    first = rounds_before(step, loop.name)
    return starts_of_run(step, loop, first, drawing_inside(loop, device))
