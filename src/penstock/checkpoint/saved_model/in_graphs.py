"""Models that are loaded into a graph that is being built, of compat.v1.

Their variables are variables of that graph. Nothing is read before a session runs: the operation
that gives a variable its first value restores it from the model's files, so what initializes all
variables of the graph loads the model; what fills its tables is run by `tables_initializer`.
"""

from collections.abc import Iterable
from typing import Any

from penstock.core.context import state
from penstock.graph.default_graph import get_default_graph
from penstock.ops.array_fill import zeros
from penstock.ops.variable_types import VariableAggregation, VariableSynchronization
from penstock.ops.variables import Variable
from penstock.ops.variables_v1 import GraphKeys
from penstock.types.dims import Dims
from penstock.types.dtypes import DType
from penstock.types.tensor_shape import TensorShape


def loads_into_graph() -> bool:
    """Whether what is made now becomes part of a graph."""
    return state.graph is not None


def make_variable(message: Any, dtype: DType, dims: Dims) -> Variable:
    """A variable of the graph for a SavedVariable; `first_values` says what initializes it.

    Args:
      message: the SavedVariable.
      dtype: of its elements.
      dims: its static shape.
    """
    blank = zeros([n or 0 for n in dims or ()], dtype)
    variable = Variable(
        blank, False, False, name=message.name or None, dtype=dtype,
        synchronization=VariableSynchronization(message.synchronization),
        aggregation=VariableAggregation(message.aggregation), shape=TensorShape.from_dims(dims),
    )  # fmt: skip
    variable._trainable = message.trainable  # it is in no collection of trainable variables
    variable._initializer_op = variable._initial_value = None
    return variable


def first_values(operations: Iterable[Any], objects: Iterable[Any]) -> None:
    """Makes the operations that restore the initializers of what they restore.

    Args:
      operations: those of a restoration.
      objects: what was restored, variables among them.
    """
    variables = {id(v.handle): v for v in objects if isinstance(v, Variable)}
    for op in operations:
        variable = variables.get(id(op.inputs[0])) if op.type == "AssignVariableOp" else None
        if variable is None:
            initializes_table(op)
        else:
            variable._initializer_op, variable._initial_value = op, op.inputs[1]


def initializes_table(made: Any) -> None:
    """Lets `tables_initializer` run an operation, or that of a tensor; nothing for None."""
    if made is not None:
        get_default_graph().add_to_collection(
            GraphKeys.TABLE_INITIALIZERS, getattr(made, "op", made)
        )


__all__ = ["first_values", "initializes_table", "loads_into_graph", "make_variable"]
