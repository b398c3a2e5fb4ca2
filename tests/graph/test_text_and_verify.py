"""The text of a graph, reading it again, and what verify finds."""

import zlib

import numpy as np
import pytest
from tests.graph.programs import PROGRAMS

import penstock as tf
from penstock import errors
from penstock.graph.text_parser import parse_text


def build(name):
    with tf.Graph().as_default() as graph:
        PROGRAMS[name](tf)
    return graph


def test_the_text_of_a_graph():
    with tf.Graph().as_default() as graph:
        x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[None, 2], name="x")
        first = tf.raw_ops.NoOp(name="first")
        with tf.device("/cpu:0"), graph.control_dependencies([first]):
            y = tf.raw_ops.AddV2(x=x, y=[1.0, -2.5], name="y")
        tf.raw_ops.Unpack(value=y, num=2, axis=1, name="z")
        tf.constant(np.zeros(100, np.float32), name="long")
    lines = graph.text().splitlines()
    assert lines[:-1] == [
        "x = Placeholder[dtype=float32, shape=shape(?,2)]() -> float32[?,2]",
        "first = NoOp[_has_manual_control_dependencies=True]()",
        "y/y = Const[value=tensor(float32, shape(2), [1.0, -2.5]), dtype=float32](^first) "
        "@/device:CPU:0 -> float32[2]",
        "y = AddV2[T=float32](x, y/y) @/device:CPU:0 -> float32[?,2]",
        "z = Unpack[num=2, T=float32, axis=1](y) -> float32[?], float32[?]",
    ]
    checksum = zlib.crc32(bytes(400))
    assert f"tensor(float32, shape(100), crc32={checksum:08x})" in lines[-1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_is_read_again(name):
    graph = build(name)
    again = parse_text(graph.text())
    assert again.text() == graph.text()
    again.verify()
    assert again.as_graph_def().node == graph.as_graph_def().node


@pytest.mark.parametrize(
    "text",
    [
        "a = NoOp(",
        "a = NoOp(b)",
        "a = NoOp(^b)",
        "y = Square[T=float32]() -> float32[]",
        "c = Const[value=tensor(float32, shape(2), crc32=00000000), dtype=float32]() -> float32[2]",
        "x = Placeholder[dtype=float32, shape=shape(?)]() -> float32[?], float32[?]",
        "x = Placeholder[dtype=nothing, shape=shape(?)]() -> float32[?]",
    ],
)
def test_lines_that_are_no_operations(text):
    with pytest.raises(errors.InvalidArgumentError, match="line 2 of the graph's text"):
        parse_text(f"first = NoOp()\n{text}")


def broken(change):
    graph = build("arithmetic")
    graph.verify()
    change(graph, graph.get_operation_by_name("z"), graph.get_operation_by_name("y"))
    with pytest.raises(errors.InternalError) as caught:
        graph.verify()
    return str(caught.value)


def test_verify_shows_the_neighbourhood():
    def rename(graph, z, y):
        y.name = "w"

    text = broken(rename)
    assert "AddV2 'w': expected its name to lead to it" in text
    assert "    x = Placeholder" in text
    assert "  > w = AddV2" in text


def test_verify_finds_a_cycle():
    def tie(graph, z, y):
        y._control_inputs = (z,)

    assert "waits for itself" in broken(tie)


def test_verify_finds_wrong_inputs():
    def foreign(graph, z, y):
        z._inputs = (y.outputs[0], build("arithmetic").get_tensor_by_name("y:0"))

    assert "input 1 to be of this graph" in broken(foreign)

    def fewer(graph, z, y):
        z._inputs = z._inputs[:1]

    assert "expected 2 inputs, got 1" in broken(fewer)

    def control(graph, z, y):
        z._control_inputs = (build("arithmetic").get_operation_by_name("y"),)

    assert "control inputs of this graph" in broken(control)

    def forgotten(graph, z, y):
        graph._consumers.clear()

    assert "to know it as a consumer" in broken(forgotten)


def test_verify_finds_wrong_shapes_and_dtypes():
    def shape(graph, z, y):
        z._outputs[0]._dims = (7,)

    assert "of shape (None, 3), as the rule says, got (7,)" in broken(shape)

    def dtype(graph, z, y):
        z._outputs[0]._dtype = tf.int32

    assert "outputs ['float32'], got ['int32']" in broken(dtype)

    def attr(graph, z, y):
        z.attrs["T"] = tf.int32

    assert "attributes that fit inputs and definition" in broken(attr)


def test_definitions_read_like_messages():
    op = build("arithmetic").get_operation_by_name("y").op_def
    assert op.name == "AddV2"
    assert [(arg.name, arg.type_attr, arg.type) for arg in op.input_arg] == [
        ("x", "T", 0),
        ("y", "T", 0),
    ]
    assert [arg.name for arg in op.output_arg] == ["z"]
    assert [(attr.name, attr.type) for attr in op.attr] == [("T", "type")]
    assert op.is_stateful is False


def test_graph_util_extracts_and_simplifies():
    gu = tf.compat.v1.graph_util
    message = build("attributes").as_graph_def()
    part = gu.extract_sub_graph(message, ["y"])
    assert [node.name for node in part.node] == ["x", "y"]
    assert part.versions == message.versions
    with pytest.raises(AssertionError, match="q is not in graph"):
        gu.extract_sub_graph(message, ["q"])
    with pytest.raises(TypeError, match="iterable of strings"):
        gu.extract_sub_graph(message, "y")
    with pytest.raises(TypeError, match="GraphDef proto"):
        gu.extract_sub_graph("y", ["y"])
    graph = build("shapes")
    assert gu.tensor_shape_from_node_def_name(graph, "x").as_list() == [None, 4]
    assert gu.tensor_shape_from_node_def_name(graph, "z:0").as_list() == [None, 1, 1]


def test_graph_util_removes_training_nodes():
    with tf.Graph().as_default() as graph:
        x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[2], name="x")
        first = tf.raw_ops.Identity(input=x, name="first")
        kept = tf.raw_ops.Identity(input=first, name="kept")
        y = tf.raw_ops.Square(x=kept, name="y")
        waited = tf.raw_ops.Identity(input=y, name="waited")
        with graph.control_dependencies([waited]):
            tf.raw_ops.Identity(input=y, name="end")
    found = tf.compat.v1.graph_util.remove_training_nodes(graph.as_graph_def(), ["kept"])
    assert [(node.name, list(node.input)) for node in found.node] == [
        ("x", []),
        ("kept", ["x"]),
        ("y", ["kept"]),
        ("waited", ["y"]),
        ("end", ["y", "^waited"]),
    ]


def test_graph_util_puts_values_for_variables():
    graph = build("variables")
    gu = tf.compat.v1.graph_util
    with tf.compat.v1.Session(graph=graph) as session:
        with pytest.raises(errors.FailedPreconditionError):
            gu.convert_variables_to_constants(session, graph.as_graph_def(), ["z"])
        session.run("init")
        frozen = gu.convert_variables_to_constants(session, graph.as_graph_def(), ["z"])
        left = gu.convert_variables_to_constants(
            session, graph.as_graph_def(), ["z"], variable_names_blacklist=["v"]
        )
    assert [(n.name, n.op) for n in frozen.node] == [
        ("v", "Const"),
        ("x", "Placeholder"),
        ("y", "Identity"),
        ("z", "Mul"),
    ]
    assert left.node[0].op == "VarHandleOp"
    with tf.Graph().as_default() as again:
        tf.graph_util.import_graph_def(frozen, name="")
    with tf.compat.v1.Session(graph=again) as session:
        np.testing.assert_array_equal(session.run("z:0", {"x:0": 2.0}), [2, 4])


def test_graph_util_host_operations():
    must = tf.compat.v1.graph_util.must_run_on_cpu
    with tf.Graph().as_default():
        found = [
            must(op)
            for op in (
                tf.constant(1).op,
                tf.constant(1.0).op,
                tf.constant("a").op,
                tf.raw_ops.Cast(x=tf.constant(1), DstT=tf.float32).op,
            )
        ]
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[])
    assert found == [True, False, True, True]
    assert must(handle.op) is False
    assert must(handle.op.node_def, pin_variables_on_cpu=True) is True
