"""Elements of several datasets in turn, for methods that read several files at once."""

from collections.abc import Callable
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.data.methods_basic import trace_dataset
from penstock.data.nesting import INTERLEAVE
from penstock.types import dtypes as dt


def in_turns(found: Any, each: Callable[[Any], Any], cycle: Any, name: str | None = None) -> Any:
    """One element each of as many datasets as are open at once.

    Args:
      found: the dataset whose elements make datasets.
      each: what makes them.
      cycle: int64[], how many are open at once.
      name: the operation's name in a graph.
    """
    traced, structure = trace_dataset(each, found._structure, "interleave")
    length, block = (convert_to_tensor(n, dt.int64) for n in (cycle, 1))
    inputs = (found._variant_tensor, traced.captured, length, block)
    return found._derived(INTERLEAVE, inputs, structure, {"f": traced.body}, name)
