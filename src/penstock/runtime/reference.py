"""The reference executor: slow, plain, and easy to believe.

One thread, one operation at a time in topological order, host kernels where there are any and
single compiled operations elsewhere; no simplification, no regions, no donation. Tests compare the
planner and executor with it; PENSTOCK_EXECUTOR=reference runs whole programs on it, to find out
whether a wrong result comes from them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.operation import Operation
from penstock.runtime.host_path import run_node
from penstock.runtime.program import FEED, Program, build
from penstock.runtime.reference_flow import FlowWalk
from penstock.runtime.simplify import prepared_op
from penstock.runtime.step import Step


class ReferencePlan:
    """A program that runs node by node; in place of `penstock.runtime.plan.Plan`."""

    keeps_feeds = True
    compiled_count = 0

    def __init__(self, program: Program) -> None:
        self.program = program
        self.state: dict[Any, Any] = {}
        self.fresh_fetches = [False] * len(program.fetches)

    def run(self, feeds: Sequence[Any], step: Step) -> list[Any]:
        """Runs all nodes; `feeds` in the order of the program's feeds. Returns the fetched."""
        if self.program.flow:
            return FlowWalk(self.program, feeds, step).run()
        values: dict[tuple[int, int], Any] = {}
        given = iter(feeds)
        for node in self.program.nodes:
            if node.type == FEED:
                values[id(node), 0] = next(given)
                continue
            step.check(node.where())
            arguments = [values[id(source), index] for source, index in node.inputs]
            for i, result in enumerate(run_node(node, prepared_op(node), arguments, step)):
                values[id(node), i] = result
        return [values[id(node), index] for node, index in self.program.fetches]


def run_reference(
    fetches: Sequence[SymbolicTensor],
    feeds: dict[SymbolicTensor, Any],
    resources: Any,
    targets: Sequence[Operation] = (),
) -> list[np.ndarray[Any, Any]]:
    """The values of `fetches` after running them and `targets` with these feeds."""
    plan = ReferencePlan(build(fetches, list(feeds), targets))
    return [np.asarray(value) for value in plan.run(list(feeds.values()), Step(resources))]
