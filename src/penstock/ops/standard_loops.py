"""A loop of standard operations that keeps a row of each round, for forms of operations of ours.

`map_fn` and `scan` stack rows whose shapes follow from those of the rows. Here they are given, so
there may be no rounds although sizes are known only when the loop runs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.ops.loops import while_loop
from penstock.types.dtypes import DType

# Takes the number of a round and the state; gives the place of its rows, the next state, the rows.
Step = Callable[..., tuple[Any, Sequence[Any], Sequence[Any]]]


def loop_of_rows(
    count: Any, step: Step, state: Sequence[Any], rows: Sequence[tuple[DType, Any]]
) -> tuple[list[Any], list[Any]]:
    """Runs a number of rounds.

    Args:
      count: int32[], how many.
      step: what a round does, see `Step`.
      state: what the first round takes.
      rows: the dtype and the shape, int32[rank], of each row that a round gives.

    Returns:
      The state after the last round, and for each row the rows of all rounds, stacked.
    """
    lists = [
        execute("TensorListReserve", (shape, count), {"element_dtype": dtype})
        for dtype, shape in rows
    ]

    def body(number: Any, *held: Any) -> list[Any]:
        place, after, made = step(number, *held[: len(state)])
        known = zip(held[len(state) :], made, strict=True)
        found = [execute("TensorListSetItem", (each, place, row)) for each, row in known]
        return [number + 1, *after, *found]

    first = [np.int32(0), *state, *lists]
    _, *last = while_loop(lambda number, *_: number < count, body, first)
    stacks = [
        execute("TensorListStack", (each, shape), {"element_dtype": dtype})
        for each, (dtype, shape) in zip(last[len(state) :], rows, strict=True)
    ]
    return last[: len(state)], stacks
