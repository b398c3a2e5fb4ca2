"""Definitions of operations as OpDef messages: what a reader of a graph needs to know of them."""

from typing import Any

from penstock.core.op_def import REQUIRED, ArgDef, OpDef
from penstock.graph.attr_values import attr_to_proto
from penstock.types.dtypes import DType


def write_op_def(op: OpDef, message: Any) -> None:
    """Writes a definition, without its description, into an empty OpDef message.

    Args:
      op: the definition.
      message: the message.
    """
    message.name = op.name
    for arg in op.inputs:
        _write_arg(arg, message.input_arg.add())
    for arg in op.outputs:
        _write_arg(arg, message.output_arg.add())
    for attr in sorted(op.attrs.values(), key=lambda each: each.name):
        target = message.attr.add(name=attr.name, type=attr.kind)
        if attr.default is not REQUIRED:
            where = f"{op.name}, {attr.name}"
            target.default_value.CopyFrom(attr_to_proto(attr.kind, attr.default, where))
        if attr.minimum is not None:
            target.has_minimum, target.minimum = True, attr.minimum
        for value in attr.allowed or ():
            allowed = target.allowed_values.list
            if isinstance(value, DType):
                allowed.type.append(value.as_datatype_enum)
            else:
                allowed.s.append(str(value).encode())
    message.is_stateful = op.stateful


def _write_arg(arg: ArgDef, target: Any) -> None:
    target.name = arg.name
    target.type = arg.type
    target.type_attr = arg.type_attr or ""
    target.number_attr = arg.number_attr or ""
    target.type_list_attr = arg.type_list_attr or ""
    target.is_ref = bool(getattr(arg, "is_ref", False))
