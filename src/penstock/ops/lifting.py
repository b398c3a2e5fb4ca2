"""Values of a function's body, computed outside of it: initial values of variables made inside.

`lift` does the operations that a tensor needs once more where variables live. What depends on the
function's arguments has no value there and is refused.
"""

from typing import Any

from penstock.core.execute import execute_flat
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.util import nest


class NeedsArgument(ValueError):
    """A value that depends on an argument of the function."""


def lift(tensor: SymbolicTensor) -> Any:
    """The value of a tensor of a function's body in the current context, outside of the body.

    Args:
      tensor: any tensor of a FuncGraph.

    Returns:
      A tensor of the same dtype, computed now (in a graph: by operations of that graph).

    Raises:
      NeedsArgument: it depends on an argument of the function.
    """
    graph: Any = tensor.graph  # a FuncGraph: only those have captures
    values: dict[int, Any] = {id(inner): outer for outer, inner in graph.captures}
    for op in _needed(tensor, values):
        if op.type == "Placeholder":
            raise NeedsArgument(
                f"tf.Variable: expected an initial value that does not depend on the arguments of "
                f"the function, got {tensor!r}, which needs '{op.name}'. Make the variable before "
                "the function, or give the initial value as a function without arguments."
            )
        inputs = tuple(values[id(t)] for t in op.inputs)
        made = execute_flat(op.op_def, inputs, op.input_counts, dict(op.attrs), op.name)
        results = nest.flatten(made)
        values.update({id(t): v for t, v in zip(op.outputs, results, strict=True)})
    return values[id(tensor)]


def _needed(tensor: SymbolicTensor, known: dict[int, Any]) -> list[Any]:
    """The operations that a tensor needs and that are not known, in the order they were added."""
    found: dict[int, Any] = {}
    stack = [tensor]
    while stack:
        current = stack.pop()
        if id(current) in known or current.op._id in found:
            continue
        found[current.op._id] = current.op
        stack.extend(current.op.inputs)
    return [found[number] for number in sorted(found)]
