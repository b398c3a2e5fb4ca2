"""GraphDefs that no program wrote: refused with an error of ours, in bounded time and memory."""

import pathlib
import random
import resource
import time

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as tf
from penstock import errors, proto
from penstock.core.op_def import lookup, registered
from penstock.graph import attr_values

GRAPHS = pathlib.Path(__file__).parents[1] / "data" / "graphs"
SEEDS = sorted(path.stem for path in GRAPHS.glob("*.pb"))
REFUSALS = (ValueError, errors.OpError)
SLOWEST = 3.0  # seconds for one message
ODD_INTS = [0, 1, -1, 2, 3, 255, 2**31 - 1, -(2**31), 2**31, 2**40, 2**62, 2**63 - 1, -(2**63)]
ODD_TEXTS = ["", "x", "y", "x:0", "x:1", "^x", "^", ":", "a b", "x:99999", "é", "Const", "loc:@x"]


def try_import(message):
    """Imports; whether it was taken. A refused message leaves the graph as it was."""
    with tf.Graph().as_default() as graph:
        start = time.monotonic()
        try:
            tf.graph_util.import_graph_def(message, name="")
            taken = True
        except REFUSALS:
            assert graph.get_operations() == []
            assert graph._names._used._next == {}
            taken = False
        assert time.monotonic() - start < SLOWEST
        if taken:
            graph.verify()
            graph.text()
            assert len(graph.as_graph_def().node) == len(message.node)
    return taken


def fields_of(message):
    """All messages inside, depth first, with the message itself."""
    found, waiting = [], [message]
    while waiting:
        current = waiting.pop()
        found.append(current)
        for field, value in current.ListFields():
            if field.message_type is None:
                continue
            if field.message_type.GetOptions().map_entry:
                values = list(value.values())
                waiting += [v for v in values if hasattr(v, "ListFields")]
            else:
                waiting += list(value) if field.is_repeated else [value]
    return found


def mutate(message, rng):
    """Changes one field somewhere."""
    target = rng.choice(fields_of(message))
    field = rng.choice(target.DESCRIPTOR.fields)
    if field.message_type is not None:
        if rng.random() < 0.5:
            target.ClearField(field.name)
        elif field.is_repeated and not field.message_type.GetOptions().map_entry:
            items = getattr(target, field.name)
            if len(items):
                items.add().CopyFrom(rng.choice(list(items)))
        return
    value = odd_value(field, rng)
    try:
        if field.is_repeated:
            getattr(target, field.name).append(value)
        else:
            setattr(target, field.name, value)
    except (ValueError, TypeError):
        pass  # out of the field's range


def odd_value(field, rng):
    if field.cpp_type == field.CPPTYPE_STRING:
        text = rng.choice(ODD_TEXTS)
        return text.encode() if field.type == field.TYPE_BYTES else text
    if field.cpp_type == field.CPPTYPE_BOOL:
        return rng.random() < 0.5
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return rng.choice([0.0, -1.5, float("inf"), float("nan"), 1e300])
    return rng.choice(ODD_INTS)


@pytest.fixture(autouse=True)
def bounded_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 300_000  # kilobytes


@pytest.mark.parametrize("name", SEEDS)
def test_changed_messages(name):
    seed = proto.graph_pb2.GraphDef()
    seed.ParseFromString((GRAPHS / f"{name}.pb").read_bytes())
    rng = random.Random(name)
    taken = 0
    for _ in range(60):
        message = proto.graph_pb2.GraphDef()
        message.CopyFrom(seed)
        for _ in range(rng.choice([1, 1, 2, 4])):
            mutate(message, rng)
        taken += try_import(message)
    assert 0 < taken < 60  # neither all nor none


@pytest.mark.parametrize("name", SEEDS)
def test_changed_bytes(name):
    data = (GRAPHS / f"{name}.pb").read_bytes()
    rng = random.Random(name)
    parsed = 0
    for _ in range(150):
        changed = bytearray(data)
        for _ in range(rng.choice([1, 2, 8])):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        if rng.random() < 0.3:
            del changed[rng.randrange(len(changed)) :]
        message = proto.graph_pb2.GraphDef()
        try:
            message.ParseFromString(bytes(changed))
        except DecodeError:
            continue
        parsed += 1
        try_import(message)
    assert parsed


OPS = st.sampled_from(
    "Const Placeholder Identity AddV2 MatMul Reshape Pack Unpack ConcatV2 Split StridedSlice Cast "
    "NoOp Fill Range Tile Sum Shape GatherV2 ExpandDims Squeeze Transpose Pad Slice VarHandleOp "
    "ReadVariableOp AssignVariableOp PartitionedCall OneHot BroadcastTo".split()
)
NAMES = st.sampled_from(["a", "b", "c", "d/e"])
INTS = st.one_of(st.integers(-3, 6), st.sampled_from(ODD_INTS))
TYPES = st.sampled_from([0, 1, 3, 7, 9, 10, 20, 21, 101, 150])


@st.composite
def shape_protos(draw):
    message = proto.tensor_shape_pb2.TensorShapeProto()
    message.unknown_rank = draw(st.booleans()) and draw(st.booleans())
    for size in draw(st.lists(INTS, max_size=3)):
        message.dim.add(size=size)
    return message


@st.composite
def tensor_protos(draw):
    message = proto.tensor_pb2.TensorProto(dtype=draw(TYPES))
    message.tensor_shape.CopyFrom(draw(shape_protos()))
    message.tensor_content = draw(st.binary(max_size=8))
    message.float_val.extend(draw(st.lists(st.just(1.0), max_size=3)))
    message.int_val.extend(draw(st.lists(st.integers(-3, 6), max_size=3)))
    return message


@st.composite
def attr_protos(draw, kind):
    message = proto.attr_value_pb2.AttrValue()
    field = draw(st.sampled_from("s i f b type shape tensor list func".split()))
    wanted = {"string": "s", "int": "i", "float": "f", "bool": "b"}.get(kind, kind)
    if draw(st.integers(0, 9)):
        field = "list" if kind.startswith("list(") else wanted
    values = {
        "s": st.sampled_from([b"", b"NHWC", b"VALID", b"\xff", b"left"]),
        "i": INTS,
        "f": st.floats(width=32),
        "b": st.booleans(),
        "type": TYPES,
    }
    if field in values:
        setattr(message, field, draw(values[field]))
    elif field == "list":
        message.list.i.extend(draw(st.lists(INTS, max_size=3)) if "int" in kind else [])
        message.list.type.extend(draw(st.lists(TYPES, max_size=3)) if "type" in kind else [])
        message.list.SetInParent()
    elif field == "shape":
        message.shape.CopyFrom(draw(shape_protos()))
    elif field == "tensor":
        message.tensor.CopyFrom(draw(tensor_protos()))
    else:
        message.func.name = draw(st.sampled_from(["", "f", "g"]))
    return message


@st.composite
def graph_defs(draw):
    message = proto.graph_pb2.GraphDef()
    message.versions.producer = draw(st.sampled_from([0, 22, 2474, 2475]))
    for _ in range(draw(st.integers(1, 6))):
        op = lookup(draw(OPS))
        node = message.node.add(name=draw(NAMES) + str(len(message.node)), op=op.name)
        earlier = [n.name for n in message.node]
        count = draw(st.sampled_from([len(op.inputs)] * 5 + [0, 1, 3]))
        node.input.extend(draw(st.sampled_from(earlier)) for _ in range(count))
        for name, attr in op.attrs.items():
            if draw(st.integers(0, 7)):
                node.attr[name].CopyFrom(draw(attr_protos(attr.kind)))
    return message


@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(graph_defs())
def test_random_messages(message):
    try_import(message)


def test_every_operation_refuses_empty_nodes_cleanly():
    lookup("NoOp")
    for name in sorted(registered()):
        message = proto.graph_pb2.GraphDef()
        message.node.add(name="a", op=name)
        try_import(message)


@pytest.mark.parametrize("kind", ["int", "float", "bool", "string", "type", "shape", "tensor"])
def test_attributes_survive_a_round(kind):
    values = {
        "int": -(2**63),
        "float": 1.5,
        "bool": True,
        "string": b"\xff\x00",
        "type": tf.bfloat16,
        "shape": (None, 2),
        "tensor": attr_values.HashableArray(np.arange(4.0), tf.float64),
    }
    value = values[kind]
    message = attr_values.attr_to_proto(kind, value)
    assert attr_values.attr_from_proto(kind, message) == value
    many = attr_values.attr_to_proto(f"list({kind})", (value, value))
    assert attr_values.attr_from_proto(f"list({kind})", many) == (value, value)
    with pytest.raises(ValueError, match="expected an AttrValue of kind func"):
        attr_values.attr_from_proto("func", message)


def test_integer_of_more_than_64_bits_is_refused():
    with pytest.raises(ValueError, match="expected a value of kind int"):
        attr_values.attr_to_proto("int", 2**63)
