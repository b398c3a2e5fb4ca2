"""Operations of our own, written as those that every reader of a GraphDef has.

Gradients of loops keep the values of each round as rows of an array. The operations that write and
read a row exist here alone; a GraphDef has a scatter or a gather in their place.
"""

from collections.abc import Callable, Iterator
from typing import Any

from penstock import proto
from penstock.types import dtypes as dt

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
    yield _constant(f"{name}/one_by_one", [1, 1], message.device)
    yield _constant(f"{name}/first", [], message.device)
    indices = _node(f"{name}/indices", "Reshape", message.device)
    indices.input.extend([index, reference(f"{name}/one_by_one")])
    indices.attr["T"].type = indices.attr["Tshape"].type = dt.int32.as_datatype_enum
    yield indices
    updates = _node(f"{name}/updates", "ExpandDims", message.device)
    updates.input.extend([value, reference(f"{name}/first")])
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
    yield _constant(f"{message.name}/axis", [], message.device)
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


def _constant(name: str, value: list[int], device: str) -> Any:
    """int32 ones of shape [len(value)], or a scalar zero."""
    made = _node(name, "Const", device)
    made.attr["dtype"].type = dt.int32.as_datatype_enum
    tensor = made.attr["value"].tensor
    tensor.dtype = dt.int32.as_datatype_enum
    if value:
        tensor.tensor_shape.dim.add(size=len(value))
    tensor.int_val.extend(value or [0])
    return made
