"""What decides the bytes of messages, read from Python descriptors (TensorFlow's or our own).

Shared by ``tools/list_tf_protos.py``, which records TensorFlow's, and by the test that compares
ours with them.
"""

from __future__ import annotations

import functools
from typing import Any


def message_facts(message: Any) -> dict[str, str]:
    """Return field name -> fact for a Python message descriptor.

    A fact is ``NUMBER LABEL TYPE [NAME] [packed] [presence] [in ONEOF] [= DEFAULT]``, where NAME is
    the full name of a message or enum without its first package.
    """
    from google.protobuf import descriptor_pb2

    proto = descriptor_pb2.DescriptorProto()
    message.CopyToProto(proto)
    fields = {field.name: field for field in message.fields}
    return {item.name: _field_fact(item, fields[item.name]) for item in proto.field}


def _field_fact(proto: Any, field: Any) -> str:
    label = proto.Label.Name(proto.label).removeprefix("LABEL_").lower()
    words = [str(proto.number), label, proto.Type.Name(proto.type).removeprefix("TYPE_").lower()]
    if proto.type_name:
        words.append(without_package(proto.type_name))
    if field.is_packed:
        words.append("packed")
    if field.has_presence:
        words.append("presence")
    if field.containing_oneof is not None:
        words.append(f"in {field.containing_oneof.name}")
    if proto.default_value:
        words.append(f"= {proto.default_value}")
    return " ".join(words)


def enum_facts(enum: Any) -> dict[str, int]:
    """Return value name -> number for a Python enum descriptor."""
    return {value.name: value.number for value in enum.values}


def file_facts(file: Any) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, int]]]:
    """Return the messages' and the enums' facts of a Python file descriptor, nested ones included.

    Keys are full names without the first package.
    """
    messages: dict[str, dict[str, str]] = {}
    enums = {without_package(e.full_name): enum_facts(e) for e in file.enum_types_by_name.values()}
    stack = list(file.message_types_by_name.values())
    while stack:
        message = stack.pop()
        messages[without_package(message.full_name)] = message_facts(message)
        enums.update({without_package(e.full_name): enum_facts(e) for e in message.enum_types})
        stack += message.nested_types
    return messages, enums


@functools.cache
def without_package(name: str) -> str:
    """Return a full type name without its first package, unless that is ``google``."""
    name = name.removeprefix(".")
    return name if name.startswith("google.") else name.split(".", 1)[1]
