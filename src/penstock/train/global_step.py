"""The global step: a variable that counts updates, found through a collection of its graph."""

from typing import Any

from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.default_graph import get_default_graph
from penstock.graph.graph import Graph
from penstock.ops.initializers_v1 import Zeros
from penstock.ops.variable_scope import get_variable
from penstock.ops.variable_types import VariableAggregation
from penstock.ops.variables import Variable
from penstock.ops.variables_v1 import GraphKeys, resource_variables_enabled
from penstock.runtime.races import READS_FIRST
from penstock.types import dtypes as dt

GLOBAL_STEP_READ = "global_step_read_op_cache"  # a collection: the read that hooks share


def get_global_step(graph: Graph | None = None) -> Any:
    """The global step of a graph, the current one when None; None when there is none yet.

    Raises:
      TypeError: what the collection holds is no step.
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) == 1:
        step = found[0]
    elif not found:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
        if step.dtype is dt.resource and not resource_variables_enabled():
            step = _variable_of(graph, step)  # TensorFlow's is a reference, a tensor of numbers
    else:
        return None
    assert_global_step(step)
    return step


def _variable_of(graph: Graph, handle: Any) -> Any:
    variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    return next((v for v in variables if v.handle is handle), handle)


def create_global_step(graph: Graph | None = None) -> Any:
    """Makes the global step.

    Args:
      graph: where; the current graph when None.

    Returns:
      An int64 variable.

    Raises:
      ValueError: there is one.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    options: dict[str, Any] = {
        "shape": [],
        "dtype": dt.int64,
        "initializer": Zeros(),
        "trainable": False,
        "aggregation": VariableAggregation.ONLY_FIRST_REPLICA,
    }
    names = [GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP]
    if state.graph is None:
        step = get_variable(GraphKeys.GLOBAL_STEP, **options)
        graph.add_to_collection(GraphKeys.GLOBAL_STEP, step)
        return step
    with graph.as_default(), graph.name_scope(None):
        return get_variable(GraphKeys.GLOBAL_STEP, collections=names, **options)


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The global step of a graph, made when there is none."""
    graph = graph or get_default_graph()
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def global_step_read() -> Any:
    """What hooks fetch beside a step that may update the global step: its value before.

    None when there is no global step. Plans put this read before all that writes the step, so that
    what hooks see does not follow from time.
    """
    step = get_global_step()
    if not isinstance(step, Variable):
        return step
    graph = get_default_graph()
    found = graph.get_collection(GLOBAL_STEP_READ)
    if found:
        return found[0]
    with graph.as_default(), graph.name_scope(""), graph.control_dependencies(None):
        read = execute("ReadVariableOp", (step.handle,), {"dtype": step.dtype}, "global_step_read")
    read.op._set_attr(READS_FIRST, True)
    graph.add_to_collection(GLOBAL_STEP_READ, read)
    return read


def assert_global_step(global_step_tensor: Any) -> None:
    """Checks that a variable or tensor can be a global step: a scalar of an integer dtype.

    Raises:
      TypeError: it cannot.
    """
    if not isinstance(global_step_tensor, (Variable, Tensor)):
        raise TypeError(
            f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.'
        )
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(
            f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}'
        )
    if global_step_tensor.shape.rank not in (0, None):
        raise TypeError(f'Existing "global_step" is not scalar: {global_step_tensor.shape}')


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The value of a global step.

    Args:
      sess: the session; not looked at in eager mode.
      global_step_tensor: the step.

    Returns:
      A Python integer.
    """
    if state.graph is None:
        return int(global_step_tensor.numpy())
    return int(sess.run(global_step_tensor))
