"""List TensorFlow's message definitions, as facts for a test or as text to start a file from.

Run by an interpreter that has TensorFlow:

    path/to/tensorflow/bin/python tools/list_tf_protos.py             # writes the facts
    path/to/tensorflow/bin/python tools/list_tf_protos.py --text DIR  # writes definitions

The facts go to ``tests/data/tf_proto_facts.json``, the definitions to DIR, file by file.

Penstock's messages (``proto/penstock``) have the names and numbers that are printed here, in a
package of their own, and comments of their own; they are kept by hand. A test compares them with
the facts, so after an update of TensorFlow the test names the fields to add. ``--text`` gives
definitions without comments; only names, numbers, types, labels and defaults are read.
"""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proto_facts import file_facts
from tf_facts import render, write

# our file -> TensorFlow's module. What these import is listed through their descriptors.
_CORE = {
    "framework": (
        "allocation_description attr_value cost_graph dataset_options device_attributes full_type "
        "function graph graph_debug_info model node_def op_def resource_handle step_stats "
        "summary tensor tensor_description tensor_shape tensor_slice types variable versions"
    ),
    "protobuf": (
        "cluster composite_tensor_variant config control_flow debug debug_event device_filters "
        "fingerprint meta_graph "
        "queue_runner rewriter_config saved_model saved_object_graph saver struct tensor_bundle "
        "tensorflow_server trackable_object_graph verifier_config"
    ),
    "util": "event saved_tensor_slice",
    "util.quantization": "uniform_quant_ops_attr",
    "example": "example example_parser_configuration feature",
    "profiler": "tfprof_log tfprof_output",
}
MODULES = sorted(
    [
        f"tensorflow.core.{part}.{name}_pb2"
        for part, names in _CORE.items()
        for name in names.split()
    ]
    + ["tensorflow.python.training.checkpoint_state_pb2"]
)

_THEIRS, _OURS = "tensorflow", "penstock"
_FACTS_FILE = "tf_proto_facts.json"


def files() -> dict[str, Any]:
    """Return our file's base name -> FileDescriptorProto, with everything that is imported."""
    from google.protobuf import descriptor_pb2

    found: dict[str, Any] = {}

    def visit(file: Any) -> None:
        proto = descriptor_pb2.FileDescriptorProto()
        file.CopyToProto(proto)
        forwards = proto.public_dependency and not proto.message_type  # a file that only re-exports
        name = Path(file.name).stem
        if not file.name.startswith("google/") and not forwards:
            if name in found:
                return
            found[name] = proto
        for imported in file.dependencies:
            visit(imported)

    for module in MODULES:
        visit(importlib.import_module(module).DESCRIPTOR)
    return dict(sorted(found.items()))


def ours(name: str) -> str:
    """Return a TensorFlow name in our package: ``.tensorflow.X`` becomes ``.penstock.X``."""
    return name.replace(f".{_THEIRS}.", f".{_OURS}.", 1)


def facts(found: dict[str, Any]) -> dict[str, Any]:
    """Return messages and enums by full name, each with our file (see ``tools/proto_facts.py``)."""
    from google.protobuf import descriptor_pool

    pool = descriptor_pool.Default()
    messages: dict[str, Any] = {}
    enums: dict[str, Any] = {}
    for stem, file in found.items():
        in_messages, in_enums = file_facts(pool.FindFileByName(file.name))
        messages.update({k: {"file": stem, "fields": v} for k, v in in_messages.items()})
        enums.update({k: {"file": stem, "values": v} for k, v in in_enums.items()})
    return {"messages": messages, "enums": enums, "modules": MODULES}


def file_text(file: Any, imports: dict[str, str]) -> str:
    """Return a .proto file with the definitions of the file, in our package.

    Args:
        file: the FileDescriptorProto.
        imports: full type name (``.tensorflow.X``) -> the file that defines it, as we name it.
    """
    package = ours(f".{file.package}.").strip(".")
    lines = [f'syntax = "{file.syntax or "proto2"}";', "", f"package {package};", ""]
    wanted = sorted({imports[name] for name in _types_used(file)} - {imports[f"file {file.name}"]})
    lines += [f'import "{name}";' for name in wanted] + ([""] if wanted else [])
    for enum in file.enum_type:
        lines += [*_enum_text(enum), ""]
    for message in file.message_type:
        lines += [*_message_text(message, f".{file.package}", file.syntax == "proto3"), ""]
    return "\n".join(lines).rstrip() + "\n"


def import_table(found: dict[str, Any]) -> dict[str, str]:
    """Return full type name -> our file, for every top-level and nested type, and our own name."""
    table = {
        ".google.protobuf.Any": "google/protobuf/any.proto",
        ".google.protobuf.BoolValue": "google/protobuf/wrappers.proto",
    }
    for stem, file in found.items():
        name = f"{_OURS}/{stem}.proto"
        table[f"file {file.name}"] = name
        stack = [(f".{file.package}", file.message_type, file.enum_type)]
        while stack:
            scope, messages, enums = stack.pop()
            table.update({f"{scope}.{item.name}": name for item in (*messages, *enums)})
            stack += [(f"{scope}.{m.name}", m.nested_type, m.enum_type) for m in messages]
    return table


def _types_used(file: Any) -> Iterator[str]:
    stack = list(file.message_type)
    while stack:
        message = stack.pop()
        stack += message.nested_type
        yield from (field.type_name for field in message.field if field.type_name)


def _enum_text(enum: Any) -> list[str]:
    lines = ["option allow_alias = true;"] if enum.options.allow_alias else []
    lines += _reserved_text(enum.reserved_range, enum.reserved_name, last=0)
    lines += [f"{value.name} = {value.number};" for value in enum.value]
    return _block(f"enum {enum.name}", lines)


def _reserved_text(ranges: Any, names: Any, last: int) -> list[str]:
    spans = [(span.start, span.end - last) for span in ranges]
    texts = [str(low) if low == high else f"{low} to {high}" for low, high in spans]
    lines = [f"reserved {', '.join(texts)};"] if texts else []
    return lines + [f'reserved "{name}";' for name in names]


def _message_text(message: Any, scope: str, proto3: bool) -> list[str]:
    name = f"{scope}.{message.name}"
    maps = {f"{name}.{m.name}": m for m in message.nested_type if m.options.map_entry}
    lines = _reserved_text(message.reserved_range, message.reserved_name, last=1)
    for enum in message.enum_type:
        lines += [*_enum_text(enum), ""]
    for nested in message.nested_type:
        if not nested.options.map_entry:
            lines += [*_message_text(nested, name, proto3), ""]
    for oneof, fields in _in_order(message):
        texts = [_field_text(field, name, maps, proto3, oneof) for field in fields]
        lines += _block(f"oneof {oneof}", texts) if oneof else texts
    return _block(f"message {message.name}", lines)


def _block(head: str, lines: list[str]) -> list[str]:
    return [f"{head} {{", *("  " + line if line else "" for line in lines), "}"]


def _in_order(message: Any) -> list[tuple[str, list[Any]]]:
    """Return (oneof name or "", fields) by number; a oneof stands where its first number does."""
    groups: dict[Any, tuple[str, list[Any]]] = {}
    for field in sorted(message.field, key=lambda field: field.number):
        if field.HasField("oneof_index") and not field.proto3_optional:
            oneof = message.oneof_decl[field.oneof_index].name
            groups.setdefault(oneof, (oneof, []))[1].append(field)
        else:
            groups[field.number] = ("", [field])
    return list(groups.values())


def _field_text(field: Any, name: str, maps: dict[str, Any], proto3: bool, oneof: Any) -> str:
    entry = maps.get(field.type_name)
    if entry is not None:
        key, value = (_type_text(item, name) for item in entry.field)
        return f"map<{key}, {value}> {field.name} = {field.number};"
    label = {1: "optional ", 2: "required ", 3: "repeated "}[field.label]
    if label == "optional " and (oneof or (proto3 and not field.proto3_optional)):
        label = ""
    options = []
    if field.options.HasField("packed"):
        options.append(f"packed = {str(field.options.packed).lower()}")
    if field.options.deprecated:
        options.append("deprecated = true")
    if field.default_value:
        options.append(f"default = {field.default_value}")
    tail = f" [{', '.join(options)}]" if options else ""
    return f"{label}{_type_text(field, name)} {field.name} = {field.number}{tail};"


def _type_text(field: Any, name: str) -> str:
    if not field.type_name:
        return str(field.Type.Name(field.type).removeprefix("TYPE_").lower())
    inside = name.split(".")[1:]
    wanted = field.type_name.split(".")[1:]
    # a nested type is named from where it is used, another one from its package
    shared = 0
    while shared < min(len(inside), len(wanted) - 1) and inside[shared] == wanted[shared]:
        shared += 1
    return ".".join(wanted[shared:])


def main() -> None:
    """Write the facts, or the definitions as text into a folder."""
    parser = argparse.ArgumentParser(description="List TensorFlow's message definitions.")
    parser.add_argument("--text", metavar="DIR", type=Path, help="write .proto files there")
    folder = parser.parse_args().text
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    found = files()
    if folder is None:
        print(write(_FACTS_FILE, render(facts(found))))
        return
    folder.mkdir(parents=True, exist_ok=True)
    imports = import_table(found)
    for stem, file in found.items():
        (folder / f"{stem}.proto").write_text(file_text(file, imports))
    print(f"{len(found)} files in {folder}")


if __name__ == "__main__":
    main()
