"""From a dataset back to the operations that made it: for graphs and SavedModels.

What a method of a dataset makes eagerly remembers its operation, inputs and attributes.
`rebuilt` adds them to the current graph. A GraphDef of a dataset ends in a node `_Retval`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.core import context, shapes
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.tensor import EagerTensor, Tensor
from penstock.data.external import check_external
from penstock.data.operations import HOST, Mapped, held
from penstock.data.options import ExternalStatePolicy
from penstock.data.run import Run
from penstock.data.stages import Description
from penstock.graph.body import CallBody
from penstock.graph.func_graph import FuncGraph
from penstock.graph.graph import Graph
from penstock.graph.import_graph import import_graph_def
from penstock.ops.trackable_resource import TrackableResource
from penstock.types import dtypes as dt

# Any: inputs and attributes are what an operation takes.

_END = "_Retval"


def remember(variant: Any, op: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> None:
    """Notes what made a dataset eagerly: an operation, its inputs and attributes."""
    if isinstance(variant, EagerTensor):
        description = held(variant._array)
        if description.origin is None:  # else it is that of the input, which was returned as it is
            description.origin = (op, inputs, attrs)


def rebuilt(description: Description) -> Tensor:
    """The dataset again, made by operations of the current graph.

    Raises:
      UnimplementedError: it was not made by methods of datasets eagerly.
    """
    made: dict[int, Tensor] = {}
    return _rebuilt(description, made)


def _rebuilt(description: Description, made: dict[int, Tensor]) -> Tensor:
    found = made.get(id(description))
    if found is not None:
        return found
    if description.origin is None:
        raise errors.UnimplementedError(
            None,
            None,
            f"The operations of the dataset {description!r} are not known: expected one that"
            " methods of tf.data.Dataset made eagerly, got one of a graph or of a function. Make"
            " it outside, or inside of the function that uses it.",
        )
    op, inputs, attrs = description.origin
    variant: Tensor = execute(op, [_input(v, made) for v in inputs], attrs)
    made[id(description)] = variant
    return variant


def _input(value: Any, made: dict[int, Tensor]) -> Any:
    if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
        return [_input(v, made) for v in value]
    if not isinstance(value, EagerTensor) or value.dtype is dt.resource:
        return value
    if value.dtype is not dt.variant:
        return convert_to_tensor(value.numpy(), value.dtype)
    inner: Any = value._array
    inner = inner.item() if isinstance(inner, np.ndarray) and inner.shape == () else inner
    return _rebuilt(inner, made) if isinstance(inner, Description) else value


class VariantTracker(TrackableResource):
    """A dataset in a SavedModel: the function that makes it is saved, and called when it is loaded.

    Args:
      variant: variant[], the dataset.
    """

    def __init__(self, variant: Any) -> None:
        super().__init__()
        self._resource_handle = variant

    def _create_resource(self) -> Any:
        return rebuilt(held(self._resource_handle._array))


# ---- datasets as GraphDefs

TO_GRAPH = define_op(
    "DatasetToGraph(input_dataset: variant; stateful_whitelist: list(string) >= 0 = [],"
    " allow_stateful: bool = False, strip_device_assignment: bool = False) -> graph: string",
    shape=shapes.scalar,
    fallible=True,
    doc="The operations that make a dataset, as a serialized GraphDef.",
).not_differentiable("it is a string")
TO_GRAPH_V2 = define_op(
    "DatasetToGraphV2(input_dataset: variant; external_state_policy: int = 0,"
    " strip_device_assignment: bool = False) -> graph: string",
    shape=shapes.scalar,
    fallible=True,
    doc="The operations that make a dataset, as a serialized GraphDef.",
).not_differentiable("it is a string")
FROM_GRAPH = define_op(
    "DatasetFromGraph(graph_def: string) -> handle: variant",
    shape=shapes.scalar,
    stateful=True,
    fallible=True,
    doc="The dataset that the operations of a serialized GraphDef make.",
).not_differentiable("it is a dataset")


@host_kernel(TO_GRAPH, limit=HOST)
def _to_graph(input_dataset: Any, *, allow_stateful: bool) -> Any:
    policy = ExternalStatePolicy.IGNORE if allow_stateful else ExternalStatePolicy.FAIL
    return _as_message(held(input_dataset), policy)


@host_kernel(TO_GRAPH_V2, limit=HOST)
def _to_graph_v2(input_dataset: Any, *, external_state_policy: int) -> Any:
    return _as_message(held(input_dataset), ExternalStatePolicy(external_state_policy))


def _as_message(description: Description, policy: ExternalStatePolicy) -> Any:
    check_external(description, policy, "DatasetToGraph")
    graph = Graph()
    with context.graph_scope(graph), context.no_recording():
        try:
            variant: Any = rebuilt(description)
        except (TypeError, ValueError) as problem:
            raise errors.FailedPreconditionError(
                None,
                None,
                "DatasetToGraph: expected a dataset whose functions capture values, got one that"
                f" captures a variable, a table or the like ({problem}). Pass its value.",
            ) from None
    message = graph.as_graph_def()
    node = message.node.add()
    node.name, node.op = "dataset", _END
    node.input.append(variant.op.name)
    node.attr["T"].type = dt.variant.as_datatype_enum
    node.attr["index"].i = 0
    return np.array(message.SerializeToString(deterministic=True), object)


@host_kernel(FROM_GRAPH, limit=HOST)
def _from_graph(ctx: KernelContext, graph_def: Any) -> Description:
    data: Any = np.asarray(graph_def, object).reshape(())[()]
    message = proto.graph_pb2.GraphDef.FromString(data)
    ends = [n for n in message.node if n.op == _END]
    if len(ends) != 1:
        raise errors.InvalidArgumentError(
            None,
            None,
            "DatasetFromGraph: expected a GraphDef with one node _Retval, as DatasetToGraph gave,"
            f" got {len(ends)}.",
        )
    wanted = ends[0].input[0]
    message.node.remove(ends[0])
    graph = FuncGraph("dataset_from_graph")
    with context.graph_scope(graph), context.no_recording():
        name = wanted if ":" in wanted else f"{wanted}:0"
        found = import_graph_def(message, return_elements=[name], name="")
    assert found is not None
    graph.outputs = [found[0]]
    graph.structured_outputs = found[0]
    graph.finish()
    body = CallBody(graph.name, graph)
    return held(Mapped(body, ()).bind(Run(ctx.resources))(())[0])
