"""`tf.gradients` in a body: derivatives go on into the graphs around it.

A body names a tensor from outside by an input of its own. Where a gradient arrives at such an input
it is handed to the tensor outside, whose operations are walked next; what their rules add stands in
the body and captures what it needs. A source is known by its outermost name.
"""

from collections.abc import Sequence
from typing import Any

from penstock.autodiff.calls import records_between
from penstock.autodiff.walk import Record, is_trainable
from penstock.core.op_def import lookup
from penstock.core.symbolic_tensor import SymbolicTensor


def outermost(tensor: Any, graph: Any) -> Any:
    """The tensor that an input of `graph` stands for in the outermost graph it comes from."""
    while graph is not None and tensor.graph is graph:
        outer = _captured(graph).get(id(tensor))
        if outer is None:
            break
        tensor, graph = outer, outer.graph
    return tensor


def records_through(
    ys: Sequence[Any], xs: Sequence[Any], graph: Any
) -> tuple[list[Record], set[int]]:
    """`records_between` in `graph` and in the graphs around it, those of `graph` first.

    Args:
      ys: tensors of `graph`, or of a graph around it.
      xs: sources by their outermost names.
      graph: where the walk begins.
    """
    outer = getattr(graph, "outer_graph", None)
    if outer is None or all(x.graph is graph for x in xs):
        return records_between(ys, xs, graph)
    captured = _captured(graph)
    inner = [p for p in graph.inputs if id(p) in captured and is_trainable(p)]
    outside = [captured[id(p)] for p in inner]
    before, wanted = records_through(
        [*(y for y in ys if y.graph is not graph), *outside], xs, outer
    )
    reached = [p for p, t in zip(inner, outside, strict=True) if id(t) in wanted]
    records, inside = records_between(ys, [*xs, *reached], graph)
    identity = lookup("Identity")
    links = [Record(identity, [captured[id(p)]], {}, [p], p.op.name, p.op) for p in reached]
    return [*records, *links, *before], wanted | inside


def _captured(graph: Any) -> dict[int, SymbolicTensor]:
    """The outer tensor of each input that captures one, by the input's id."""
    pairs = getattr(graph, "captures", ())
    return {id(inner): t for t, inner in pairs if isinstance(t, SymbolicTensor)}
