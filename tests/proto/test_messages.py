"""Our messages against the recorded facts of TensorFlow's, in definition and in bytes."""

import importlib
import importlib.util
import json
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.proto.instances import FactReader, contents, fill, is_map_entry

from penstock import proto

ROOT = Path(__file__).resolve().parents[2]
FACTS = json.loads((ROOT / "tests/data/tf_proto_facts.json").read_text())
MESSAGES = {name: entry["fields"] for name, entry in FACTS["messages"].items()}
# map entries are part of the field that holds them
WHOLE = sorted(name for name in MESSAGES if not is_map_entry(name, MESSAGES))
SEEDS = range(20)


def descriptor_facts() -> Any:
    spec = importlib.util.spec_from_file_location("proto_facts", ROOT / "tools/proto_facts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _in_file(name: str) -> str:
    """The name of a message without the packages that it is in."""
    for package in ("error.", "tfprof.", "data.model.", "data."):
        name = name.removeprefix(package)
    return name


def message_class(name: str, files: str = "penstock.proto") -> Any:
    found: Any = importlib.import_module(f"{files}.{FACTS['messages'][name]['file']}_pb2")
    for part in _in_file(name).split("."):
        found = getattr(found, part)
    return found


def test_every_file_has_exactly_the_recorded_messages_and_enums() -> None:
    read_facts = descriptor_facts().file_facts
    messages: dict[str, Any] = {}
    enums: dict[str, Any] = {}
    for name in proto.__all__:
        in_messages, in_enums = read_facts(getattr(proto, name).DESCRIPTOR)
        stem = name.removesuffix("_pb2")
        messages.update({k: {"file": stem, "fields": v} for k, v in in_messages.items()})
        enums.update({k: {"file": stem, "values": v} for k, v in in_enums.items()})
    assert messages == FACTS["messages"]
    assert enums == FACTS["enums"]


def test_nothing_is_registered_under_another_package() -> None:
    for name in proto.__all__:
        file = getattr(proto, name).DESCRIPTOR
        assert file.package in {
            "penstock",
            "penstock.data",
            "penstock.data.model",
            "penstock.error",
            "penstock.tfprof",
        }
        assert file.name.startswith("penstock/")


@pytest.mark.parametrize("name", WHOLE)
def test_bytes_say_what_the_facts_say(name: str) -> None:
    reader = FactReader(MESSAGES)
    for seed in SEEDS:
        message = fill(message_class(name)(), random.Random(seed))
        data = message.SerializeToString()
        again = message_class(name).FromString(data)
        assert again == message
        assert same_tree(reader.read(name, data), contents(message))


def same_tree(left: Any, right: Any) -> bool:
    """Equality with -0.0 apart from 0.0; what a message of google's holds is left out."""
    if isinstance(left, dict) and isinstance(right, dict):
        if left and not right:
            return False
        if right and set(right) <= {"type_url", "value"} and not left:
            return True
        return left.keys() == right.keys() and all(same_tree(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_tree, left, right))
    return type(left) is type(right) and repr(left) == repr(right)


def test_the_reader_tells_a_wrong_type_from_a_right_one() -> None:
    # the check above is worth something only if other facts would fail it
    wrong = {**MESSAGES, "VersionDef": {**MESSAGES["VersionDef"], "producer": "1 optional sint64"}}
    data = proto.versions_pb2.VersionDef(producer=3).SerializeToString()
    assert FactReader(MESSAGES).read("VersionDef", data) == {"producer": 3}
    assert FactReader(wrong).read("VersionDef", data) == {"producer": -2}


def test_messages_can_be_pickled() -> None:
    graph = proto.graph_pb2.GraphDef()
    graph.node.add(name="a", op="NoOp")
    assert pickle.loads(pickle.dumps(graph)) == graph


def test_unknown_module_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'penstock\.proto' has no attribute 'grpah_pb2'"):
        _ = proto.grpah_pb2
    assert "graph_pb2" in dir(proto)


def test_protobufs_own_modules_are_reached_late_too() -> None:
    graph = proto.graph_pb2.GraphDef()
    graph.node.add(name="a", op="NoOp")
    text = proto.text_format.MessageToString(graph)
    assert proto.text_format.Parse(text, proto.graph_pb2.GraphDef()) == graph
    assert proto.json_format.MessageToDict(graph) == {"node": [{"name": "a", "op": "NoOp"}]}
    with pytest.raises(proto.message.DecodeError):
        graph.ParseFromString(b"\x0a\x05x")


def test_protobuf_is_imported_at_first_use_only() -> None:
    script = (
        "import sys\n"
        "from penstock import proto\n"
        "assert 'google.protobuf' not in sys.modules\n"
        "assert proto.graph_pb2.GraphDef.__module__ == 'penstock.proto.graph_pb2'\n"
        "assert 'google.protobuf' in sys.modules\n"
        "assert 'penstock.proto.config_pb2' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT / "src", timeout=60)


def test_generated_code_belongs_to_the_definitions(tmp_path: Path) -> None:
    # any compiler reads the same definitions, so this needs no pinned one
    pytest.importorskip("grpc_tools")
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    sources = sorted((ROOT / "proto/penstock").glob("*.proto"))
    assert sorted(f"{path.stem}_pb2" for path in sources) == proto.__all__
    compiled = tmp_path / "compiled"
    options = [f"--proto_path={ROOT / 'proto'}", f"--descriptor_set_out={compiled}"]
    compiler = [sys.executable, "-m", "grpc_tools.protoc"]
    subprocess.run([*compiler, *options, *sources], check=True, timeout=60)
    for file in FileDescriptorSet.FromString(compiled.read_bytes()).file:
        for field in all_fields(file.message_type):
            field.ClearField("json_name")
        module = getattr(proto, f"{Path(file.name).stem}_pb2")
        assert module.DESCRIPTOR.serialized_pb == file.SerializeToString(), file.name


def all_fields(messages: Any) -> Any:
    for message in messages:
        yield from message.field
        yield from all_fields(message.nested_type)


@pytest.mark.parametrize("name", proto.__all__)
def test_every_module_has_a_stub(name: str) -> None:
    stub = ROOT / "src/penstock/proto" / f"{name}.pyi"
    for message in getattr(proto, name).DESCRIPTOR.message_types_by_name:
        assert f"class {message}(" in stub.read_text()


def test_both_libraries_read_each_others_bytes() -> None:
    pytest.importorskip("tensorflow")
    from google.protobuf import descriptor_pool, message_factory

    for module in FACTS["modules"]:
        importlib.import_module(module)
    pool = descriptor_pool.Default()
    for name in WHOLE:
        ours = message_class(name)
        descriptor = pool.FindMessageTypeByName(f"tensorflow.{name}")
        theirs = message_factory.GetMessageClass(descriptor)
        for seed in SEEDS:
            message = fill(ours(), random.Random(seed))
            other = theirs.FromString(message.SerializeToString(deterministic=True))
            assert same_tree(contents(other), contents(message))
            data = other.SerializeToString(deterministic=True)
            assert data == message.SerializeToString(deterministic=True)
            assert str(other) == str(message)
