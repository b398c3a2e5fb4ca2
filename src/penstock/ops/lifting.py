"""Values of a function's body, computed outside of it: first values of variables and tables.

`lift` does the operations that a tensor needs once more where variables live. What depends on the
function's arguments has no value there and is refused. An operation with state, such as a random
one, is done once, however many first values need it.
"""

from typing import Any

from penstock.core.context import state
from penstock.core.execute import execute_flat
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.util import nest


class NeedsArgument(ValueError):
    """A value that depends on an argument of the function."""


def lifted(value: Any, what: str) -> Any:
    """`value`, computed in the current context if it is a tensor of a function's body.

    Args:
      value: anything.
      what: what it is for, in errors.
    """
    while isinstance(value, SymbolicTensor) and value.graph.building_function:
        value = lift(value, what)
    return value


def lift(tensor: SymbolicTensor, what: str = "tf.Variable: expected an initial value") -> Any:
    """The value of a tensor of a function's body in the current context, outside of the body.

    Args:
      tensor: any tensor of a FuncGraph.
      what: what it is for, in errors.

    Returns:
      A tensor of the same dtype, computed now (in a graph: by operations of that graph).

    Raises:
      NeedsArgument: it depends on an argument of the function.
    """
    graph: Any = tensor.graph  # a FuncGraph: only those have captures
    values: dict[int, Any] = {id(inner): outer for outer, inner in graph.captures}
    once = graph.lifted.setdefault(state.graph, {})
    values.update(once)
    for op in _needed(tensor, values):
        if op.type == "Placeholder":
            raise NeedsArgument(
                f"{what} that does not depend on the arguments of the function, got {tensor!r},"
                f" which needs '{op.name}'. Make it before the function, or give the value as a"
                " function without arguments."
            )
        inputs = tuple(values[id(t)] for t in op.inputs)
        made = execute_flat(op.op_def, inputs, op.input_counts, dict(op.attrs), op.name)
        results = {id(t): v for t, v in zip(op.outputs, nest.flatten(made), strict=True)}
        values.update(results)
        if op.op_def.stateful:
            once.update(results)
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
