"""NodeDefs of operations of our own, as those that every reader of a GraphDef has, and back.

An operation that exists here alone has a form in standard operations (`penstock.graph.
standard_forms`). A GraphDef has the operations of the form in its place, or a call of the form as a
function, which is our operation again when it is read. The call of `tf.vectorized_map` is the
function of rows that readers have.
"""

from collections.abc import Sequence
from typing import Any

from penstock import proto
from penstock.core.op_def import find
from penstock.graph.shape_proto import dims_to_proto
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

FORMS = "__standard_"  # what the names of forms begin with
VECTORIZED = "PenstockVectorizedCall"
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
STANDS_FOR = "_stands_for"  # the operation of ours that a call is in the place of
_OF_OURS = "_attr_of_"  # before the names of its attributes
_OF_ROWS = "_vectorized"  # the attribute of calls that `as_ours` makes ours again
_ATTRS_OF_ROWS = {
    "Tmapped": "Targuments", "Tshared": "Tcaptured", "Tout": "output_types", "body": "f",
}  # fmt: skip


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


def function_of_rows(message: Any, shapes: Sequence[Dims]) -> Any:
    """What to write for the NodeDef of a vectorised call.

    Args:
      message: the NodeDef.
      shapes: the shapes of its outputs.
    """
    made = _like(message, "MapDefun")
    for ours, theirs in _ATTRS_OF_ROWS.items():
        made.attr[theirs].CopyFrom(message.attr[ours])
    rows = (None if dims is None else dims[1:] for dims in shapes)
    made.attr["output_shapes"].list.shape.extend(map(dims_to_proto, rows))
    made.attr["max_intra_op_parallelism"].i = 1
    made.attr[_OF_ROWS].b = True
    return made


def as_ours(message: Any) -> Any:
    """A NodeDef as it was before `call_of_form` or `function_of_rows`, where these say so."""
    if message.op in _CALLS and STANDS_FOR in message.attr:
        return _operation_of_call(message)
    if message.op == "MapDefun" and _OF_ROWS in message.attr:
        return _vectorized_call(message)
    return message


def _operation_of_call(message: Any) -> Any:
    """The operation that a call is in the place of; the call itself where it is not known."""
    name = message.attr[STANDS_FOR].s.decode(errors="replace")
    op = find(name)
    if op is None or op.standard_form is None:
        return message
    made = _like(message, name)
    for key in [key for key in made.attr if key.startswith((_OF_OURS, STANDS_FOR))]:
        made.attr.pop(key)
    for key, value in message.attr.items():
        if key.startswith(_OF_OURS):
            made.attr[key.removeprefix(_OF_OURS)].CopyFrom(value)
    return made


def _vectorized_call(message: Any) -> Any:
    made = type(message)()
    made.CopyFrom(message)
    made.op = VECTORIZED
    for ours, theirs in _ATTRS_OF_ROWS.items():
        made.attr[ours].CopyFrom(message.attr[theirs])  # of a default that was left out: no types
        if ours != "body":
            made.attr[ours].list.SetInParent()
    for name in (*_ATTRS_OF_ROWS.values(), "output_shapes", "max_intra_op_parallelism", _OF_ROWS):
        made.attr.pop(name, None)
    return made


def _like(message: Any, kind: str) -> Any:
    """A node with the name, inputs, device and private attributes of another."""
    made = proto.node_def_pb2.NodeDef(name=message.name, op=kind, device=message.device)
    made.input.extend(message.input)
    take_private(made, message)
    return made


def take_private(made: Any, message: Any) -> None:
    """Gives a node the private attributes of another: shapes, what it is placed with."""
    for key, value in message.attr.items():
        if key.startswith("_"):
            made.attr[key].CopyFrom(value)
