"""Elements of several datasets in turn, for methods that read several files at once."""

from collections.abc import Callable
from typing import Any


def in_turns(found: Any, each: Callable[[Any], Any], cycle: Any, name: str | None = None) -> Any:
    """One element each of as many datasets as are read at once, in order.

    Args:
      found: the dataset whose elements make datasets.
      each: what makes them.
      cycle: int64[], how many are open at once.
      name: the operation's name in a graph.
    """
    return found.interleave(
        each, cycle_length=cycle, block_length=1, num_parallel_calls=cycle, name=name
    )
