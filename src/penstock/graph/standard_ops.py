"""Operations of our own, written as those that every reader of a GraphDef has.

Gradients of loops keep the values of each round as rows of an array. The operations that write and
read a row exist here alone; a GraphDef has a scatter or a gather in their place.
"""

from collections.abc import Callable, Iterator
from typing import Any

from penstock import proto
from penstock.graph.shape_proto import dims_to_proto
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

_SCATTERS = {
    "PenstockStackWrite": "TensorScatterUpdate",
    "PenstockStackAdd": "TensorScatterAdd",
}
Reference = Callable[[str], str]  # the name of an operation -> its one output as an input


def standard(message: Any, reference: Reference) -> Iterator[Any]:
    """The NodeDefs to write for a NodeDef: itself, or standard ones of which the last has its name.

    Args:
      message: the NodeDef.
      reference: how an input names the output of an operation that has one, called `output`.
    """
    if message.op in _SCATTERS:
        yield from _scatter(message, reference)
    elif message.op == "PenstockStackRead":
        yield from _gather(message, reference)
    else:
        yield message


def _scatter(message: Any, reference: Reference) -> Iterator[Any]:
    stack, index, value, *controls = message.input
    name = message.name
    yield _constant(f"{name}/one_by_one", [1, 1], message)
    yield _constant(f"{name}/first", [], message)
    indices = _node(f"{name}/indices", "Reshape", message.device)
    indices.input.extend([index, reference(f"{name}/one_by_one")])
    _add_shape(indices, message, (1, 1))
    indices.attr["T"].type = indices.attr["Tshape"].type = dt.int32.as_datatype_enum
    yield indices
    updates = _node(f"{name}/updates", "ExpandDims", message.device)
    updates.input.extend([value, reference(f"{name}/first")])
    _add_shape(updates, message, _row_of(message))
    updates.attr["T"].CopyFrom(message.attr["T"])
    updates.attr["Tdim"].type = dt.int32.as_datatype_enum
    yield updates
    last = _like(message, _SCATTERS[message.op])
    last.input.extend([stack, reference(indices.name), reference(updates.name), *controls])
    last.attr["T"].CopyFrom(message.attr["T"])
    last.attr["Tindices"].type = dt.int32.as_datatype_enum
    last.attr["bad_indices_policy"].s = b""
    yield last


def _gather(message: Any, reference: Reference) -> Iterator[Any]:
    stack, index, *controls = message.input
    yield _constant(f"{message.name}/axis", [], message)
    last = _like(message, "GatherV2")
    last.input.extend([stack, index, reference(f"{message.name}/axis"), *controls])
    last.attr["Tparams"].CopyFrom(message.attr["T"])
    last.attr["Tindices"].type = last.attr["Taxis"].type = dt.int32.as_datatype_enum
    last.attr["batch_dims"].i = 0
    yield last


def _node(name: str, kind: str, device: str) -> Any:
    return proto.node_def_pb2.NodeDef(name=name, op=kind, device=device)


def _like(message: Any, kind: str) -> Any:
    """A node with the name, device and private attributes of another, and no inputs."""
    made = _node(message.name, kind, message.device)
    for key, value in message.attr.items():
        if key.startswith("_"):
            made.attr[key].CopyFrom(value)
    return made


def _constant(name: str, value: list[int], message: Any) -> Any:
    """int32 ones of shape [len(value)], or a scalar zero, for what `message` becomes."""
    made = _node(name, "Const", message.device)
    made.attr["dtype"].type = dt.int32.as_datatype_enum
    tensor = made.attr["value"].tensor
    tensor.dtype = dt.int32.as_datatype_enum
    if value:
        tensor.tensor_shape.dim.add(size=len(value))
    tensor.int_val.extend(value or [0])
    _add_shape(made, message, (len(value),) if value else ())
    return made


def _add_shape(made: Any, message: Any, dims: Dims) -> None:
    """Notes the shape of a node's output where the message that it stands for notes its own."""
    if "_output_shapes" in message.attr:
        made.attr["_output_shapes"].list.shape.append(dims_to_proto(dims))


def _row_of(message: Any) -> Dims:
    """The shape of one row of the array that a message gives."""
    shapes = message.attr["_output_shapes"].list.shape if "_output_shapes" in message.attr else ()
    if not shapes or shapes[0].unknown_rank:
        return None
    sizes = [None if each.size < 0 else each.size for each in shapes[0].dim]
    return (1, *sizes[1:])
