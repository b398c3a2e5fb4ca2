"""What random operations inside loops draw.

Each run of a loop takes a fixed large stride of the stream of every random operation inside, and
each round has a stream of its own, found from its number alone: `operation's stream -> (stride of
the run + round) -> stream`, and on through the rounds of loops within loops. The host finds it when
the operation runs; a compiled loop is given where the run starts and computes the rest itself.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core import rounds, streams
from penstock.core.effects import Place, switch
from penstock.graph.body import CallBody
from penstock.graph.func_graph import bodies_of
from penstock.runtime.program import Node

RUN_STRIDE = 1 << 40  # rounds set apart for each run of a loop
LOOPS = frozenset({"While", "StatelessWhile"})
CONDITIONALS = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
GIVES_STREAMS = LOOPS | CONDITIONALS  # compiled, they give streams to what draws in their bodies
_place = Place("runs of loops")  # its lock guards: the counts of runs in the states of steps


def draws(body: CallBody) -> bool:
    """Whether an operation of a body, or of the bodies that it calls, draws random numbers."""
    if body.draws is None:
        body.draws = any(
            op.op_def.step_input is not None
            or (op.op_def.calls and any(draws(inner) for inner in bodies_of(op.attrs)))
            for op in body.graph.get_operations()
        )
    return body.draws


def drawing_loop(node: Any) -> bool:
    """Whether a node is a loop with random operations inside."""
    return node.type in LOOPS and any(draws(body) for body in bodies_of(node.attrs))


def branch_site(name: str, number: int) -> str:
    """What names a branch of a conditional among the calls around an operation."""
    return f"{name}:{number}/"


def rounds_before(step: Any, name: str) -> int:
    """The rounds set apart for the earlier runs of a loop; counts this run."""
    if rounds.path():
        return 0  # the rounds around it tell its runs apart
    name = rounds.key_of(name)
    log = switch.log
    with _place.lock if log is None else log.turn(step, f"{name} (runs)", (_place,)):
        runs = streams.positions_of(step, "runs")
        count = runs[name] = runs.get(name, -1) + 1
    return int(count) * RUN_STRIDE


def forget_run(step: Any, name: str, first: int) -> None:
    """Undoes that a run of a loop was counted, unless others have been counted since."""
    if rounds.path():
        return
    name = rounds.key_of(name)
    log = switch.log
    with _place.lock if log is None else log.turn(step, f"{name} (no run)", (_place,)):
        runs = streams.positions_of(step, "runs")
        if runs.get(name) == first // RUN_STRIDE:
            runs[name] -= 1


def starts_of_run(
    step: Any, loop: Node, first: int, inside: Sequence[Node]
) -> np.ndarray[Any, Any]:
    """uint64[operations, 3]: where the streams of a run of a loop start.

    Args:
      step: the step.
      loop: the loop.
      first: what `rounds_before` gave for the run.
      inside: the random operations in it.
    """

    def draw() -> list[list[int]]:
        starts = [node.op.step_input.start(node, first) for node in inside]  # type: ignore[union-attr]
        return [[int(number) for number in start] for start in starts]

    log = switch.log
    found = draw() if log is None else log.drawn(step, f"{loop.name} (streams)", draw)
    return np.array(found, np.uint64).reshape(len(found), 3)
