"""The reference executor: slow, plain, and easy to believe.

One thread, one operation at a time in topological order, host kernels where there are any and
single compiled operations elsewhere; no simplification, no regions, no donation. Tests compare the
planner and executor with it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.tensor import SymbolicTensor
from penstock.graph.operation import Operation
from penstock.runtime.host_path import run_node
from penstock.runtime.program import FEED, build
from penstock.runtime.simplify import prepared_op
from penstock.runtime.step import Step


def run_reference(
    fetches: Sequence[SymbolicTensor],
    feeds: dict[SymbolicTensor, Any],
    resources: Any,
    targets: Sequence[Operation] = (),
) -> list[np.ndarray[Any, Any]]:
    """The values of `fetches` after running them and `targets` with these feeds."""
    program = build(fetches, list(feeds), targets)
    step = Step(resources)
    values: dict[tuple[int, int], Any] = {}
    given = iter(feeds.values())
    for node in program.nodes:
        if node.type == FEED:
            values[id(node), 0] = next(given)
            continue
        prepared = prepared_op(node)
        arguments = [values[id(source), index] for source, index in node.inputs]
        for i, result in enumerate(run_node(node, prepared, arguments, step)):
            values[id(node), i] = result
    return [np.asarray(values[id(node), index]) for node, index in program.fetches]
