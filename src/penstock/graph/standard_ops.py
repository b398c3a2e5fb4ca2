"""Operations of our own, written as those that every reader of a GraphDef has.

Gradients of loops keep the values of each round as rows of an array. The operations that write and
read a row exist here alone; a GraphDef has a scatter or a gather in their place. Weighed sums of
exponentials become running logarithms of what is positive and of what is negative, and the call of
`tf.vectorized_map` the function of rows that readers have, which is ours again when it is read.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from penstock import proto
from penstock.core.arrays import HashableArray
from penstock.core.op_def import find
from penstock.graph.attr_values import attr_to_proto
from penstock.graph.shape_proto import dims_to_proto
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_SCATTERS = {
    "PenstockStackWrite": "TensorScatterUpdate",
    "PenstockStackAdd": "TensorScatterAdd",
}
STANDS_FOR = "_stands_for"  # on calls and functions: the operation of ours that has the form
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_OF_ROWS = "_vectorized"  # the attribute of calls that `as_ours` makes ours again
_ATTRS_OF_ROWS = {
    "Tmapped": "Targuments", "Tshared": "Tcaptured", "Tout": "output_types", "body": "f",
}  # fmt: skip
OUTPUT_OF_CALLS = "output"  # the name of what calls of functions give
_OF_OURS = "_attr_of_"  # before the names of our operation's attributes, in calls of its form
Reference = Callable[[str, str], str]  # names of an operation and its one output -> an input


def standard(message: Any, reference: Reference, shapes: Sequence[Dims]) -> Iterator[Any]:
    """The NodeDefs to write for a NodeDef: itself, or standard ones of which the last has its name.

    The outputs of the last have the names that its own outputs have.

    Args:
      message: the NodeDef.
      reference: how an input names the only output of an operation, from its name and that of
        the output.
      shapes: the shapes of the operation's outputs.
    """
    if message.op == "PenstockVectorizedCall":
        yield _function_of_rows(message, shapes)
        return
    write = WRITTEN.get(message.op)
    if write is None:
        yield message
    else:
        yield from write(message, reference)


def as_ours(message: Any) -> Any:
    """A NodeDef as it was before `standard` or `call_of_form`, where these say so."""
    if STANDS_FOR in message.attr:
        return _operation_of_call(message)
    if message.op != "MapDefun" or _OF_ROWS not in message.attr:
        return message
    made = type(message)()
    made.CopyFrom(message)
    made.op = "PenstockVectorizedCall"
    for ours, theirs in _ATTRS_OF_ROWS.items():
        made.attr[ours].CopyFrom(message.attr[theirs])  # of a default that was left out: no types
        if ours != "body":
            made.attr[ours].list.SetInParent()
    for name in (*_ATTRS_OF_ROWS.values(), "output_shapes", "max_intra_op_parallelism", _OF_ROWS):
        made.attr.pop(name, None)
    return made


def call_of_form(
    message: Any, function: str, stateful: bool, taken: Sequence[DType], given: Sequence[DType]
) -> Any:
    """The call to write for the NodeDef of an operation that has a form.

    Args:
      message: the NodeDef.
      function: the name of the form in the library.
      stateful: whether the form is.
      taken: the dtypes of the inputs.
      given: those of the outputs.
    """
    made = _like(message, _CALLS[stateful])
    made.input.extend(message.input)
    made.attr["f"].func.name = function
    for name, dtypes in (("Tin", taken), ("Tout", given)):
        made.attr[name].list.SetInParent()
        made.attr[name].list.type.extend(each.as_datatype_enum for each in dtypes)
    for name in ("config", "config_proto", "executor_type"):
        made.attr[name].s = b""
    for name, value in message.attr.items():
        if not name.startswith("_"):
            made.attr[f"{_OF_OURS}{name}"].CopyFrom(value)
    made.attr[STANDS_FOR].s = message.op.encode()
    return made


def _operation_of_call(message: Any) -> Any:
    """The opposite of `call_of_form`; the call itself where no such operation is known."""
    name = message.attr[STANDS_FOR].s.decode(errors="replace")
    op = find(name)
    if message.op not in _CALLS or op is None or op.standard_form is None:
        return message
    made = _like(message, name)
    made.input.extend(message.input)
    for key in [key for key in made.attr if key.startswith(_OF_OURS) or key == STANDS_FOR]:
        made.attr.pop(key)
    for key, value in message.attr.items():
        if key.startswith(_OF_OURS):
            made.attr[key.removeprefix(_OF_OURS)].CopyFrom(value)
    return made


def _function_of_rows(message: Any, shapes: Sequence[Dims]) -> Any:
    last = _like(message, "MapDefun")
    last.input.extend(message.input)
    for ours, theirs in _ATTRS_OF_ROWS.items():
        last.attr[theirs].CopyFrom(message.attr[ours])
    rows = (None if dims is None else dims[1:] for dims in shapes)
    last.attr["output_shapes"].list.shape.extend(map(dims_to_proto, rows))
    last.attr["max_intra_op_parallelism"].i = 1
    last.attr[_OF_ROWS].b = True
    return last


def _weighed_exponentials(message: Any, reference: Reference) -> Iterator[Any]:
    x, shift, weights, axis, *controls = message.input
    dtype = dt.as_dtype(message.attr["T"].type)

    def number(part: str, value: Any) -> Any:
        made = _node(f"{message.name}/{part}", "Const", message.device)
        made.attr["dtype"].type = dtype.as_datatype_enum
        value = HashableArray(np.array(value, dtype.numpy_dtype), dtype)
        made.attr["value"].CopyFrom(attr_to_proto("tensor", value, part))
        _add_shape(made, message, ())
        return made

    def apply(part: str, kind: str, *inputs: str) -> Any:
        made = _like(message, kind)
        made.name = f"{message.name}/{part}" if part else message.name
        made.input.extend(inputs)
        made.attr["T"].CopyFrom(message.attr["T"])
        return made

    def result(part: str, output: str) -> str:
        return reference(f"{message.name}/{part}", output)

    zero, one, lowest = (result(n, "output") for n in ("zero", "one", "lowest"))
    yield number("zero", 0)
    yield number("one", 1)
    yield number("lowest", dtype.min)
    yield apply("negated", "Neg", weights)
    for sign, part in (("above", weights), ("below", result("negated", "y"))):
        usable = result(f"{sign}/usable", "z")
        yield apply(f"{sign}/usable", "Greater", part, zero)
        yield apply(f"{sign}/safe", "SelectV2", usable, part, one)
        yield apply(f"{sign}/log", "Log", result(f"{sign}/safe", "output"))
        yield apply(f"{sign}/logs", "SelectV2", usable, result(f"{sign}/log", "y"), lowest)
        yield apply(f"{sign}/shifted", "Sub", result(f"{sign}/logs", "output"), shift)
        sums = apply(f"{sign}/sums", "CumulativeLogsumexp", result(f"{sign}/shifted", "z"), axis)
        for key in ("exclusive", "reverse", "Tidx"):
            sums.attr[key].CopyFrom(message.attr[key])
        yield sums
        yield apply(f"{sign}/scaled", "AddV2", result(f"{sign}/sums", "out"), x)
        yield apply(f"{sign}/exp", "Exp", result(f"{sign}/scaled", "z"))
    differences = [result(f"{sign}/exp", "y") for sign in ("above", "below")]
    yield apply("", "Sub", *differences, *controls)


def _scatter(message: Any, reference: Reference) -> Iterator[Any]:
    stack, index, value, *controls = message.input
    name = message.name
    yield _constant(f"{name}/one_by_one", [1, 1], message)
    yield _constant(f"{name}/first", [], message)
    indices = _node(f"{name}/indices", "Reshape", message.device)
    indices.input.extend([index, reference(f"{name}/one_by_one", "output")])
    _add_shape(indices, message, (1, 1))
    indices.attr["T"].type = indices.attr["Tshape"].type = dt.int32.as_datatype_enum
    yield indices
    updates = _node(f"{name}/updates", "ExpandDims", message.device)
    updates.input.extend([value, reference(f"{name}/first", "output")])
    _add_shape(updates, message, _row_of(message))
    updates.attr["T"].CopyFrom(message.attr["T"])
    updates.attr["Tdim"].type = dt.int32.as_datatype_enum
    yield updates
    last = _like(message, _SCATTERS[message.op])
    last.input.extend(
        [stack, reference(indices.name, "output"), reference(updates.name, "output"), *controls]
    )
    last.attr["T"].CopyFrom(message.attr["T"])
    last.attr["Tindices"].type = dt.int32.as_datatype_enum
    last.attr["bad_indices_policy"].s = b""
    yield last


def _gather(message: Any, reference: Reference) -> Iterator[Any]:
    stack, index, *controls = message.input
    yield _constant(f"{message.name}/axis", [], message)
    last = _like(message, "GatherV2")
    last.input.extend([stack, index, reference(f"{message.name}/axis", "output"), *controls])
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


# The operations of ours that several standard ones stand for, and what writes them.
WRITTEN: dict[str, Callable[[Any, Reference], Iterator[Any]]] = {
    **dict.fromkeys(_SCATTERS, _scatter),
    "PenstockStackRead": _gather,
    "PenstockWeighedExponentials": _weighed_exponentials,
}
