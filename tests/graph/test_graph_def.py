"""GraphDefs out and in: equal to what TensorFlow writes, and what it wrote runs here."""

import os
import pathlib
import subprocess

import numpy as np
import pytest
from tests.graph.programs import FEEDS, INPUTS, PROGRAMS, TARGETS

import penstock as tf
from penstock import proto
from penstock.graph.graph_def import as_graph_def

GRAPHS = pathlib.Path(__file__).parents[1] / "data" / "graphs"
IMPORTED = [*PROGRAMS, "functions"]


def recorded(name):
    message = proto.graph_pb2.GraphDef()
    message.ParseFromString((GRAPHS / f"{name}.pb").read_bytes())
    return message


def build(name):
    with tf.Graph().as_default() as graph:
        PROGRAMS[name](tf)
    return graph


def imported(message, **arguments):
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(message, **{"name": "", **arguments})
    return graph


def run(graph, name, prefix=""):
    with tf.compat.v1.Session(graph=graph) as session:
        session.run([prefix + target for target in TARGETS.get(name, [])])
        feed = {prefix + INPUTS.get(name, "x:0"): FEEDS[name]}
        return session.run(f"{prefix}z:0", feed)


@pytest.mark.parametrize("name", PROGRAMS)
def test_writes_what_tensorflow_writes(name):
    ours = build(name).as_graph_def()
    expected = recorded(name)
    assert [n.name for n in ours.node] == [n.name for n in expected.node]
    for node, other in zip(ours.node, expected.node, strict=True):
        assert node == other
    assert ours == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_writes_the_shapes_that_tensorflow_writes(name):
    ours = build(name).as_graph_def(add_shapes=True)
    assert ours == recorded(f"{name}.shapes")


@pytest.mark.parametrize("name", IMPORTED)
def test_what_tensorflow_wrote_runs(name):
    graph = imported(recorded(name))
    graph.verify()
    np.testing.assert_allclose(run(graph, name), np.load(GRAPHS / f"{name}.npy"), rtol=1e-6)


@pytest.mark.parametrize("name", IMPORTED)
def test_what_tensorflow_wrote_runs_under_a_prefix(name):
    graph = imported(recorded(f"{name}.shapes"), name="a/b")
    graph.verify()
    found = run(graph, name, "a/b/")
    np.testing.assert_allclose(found, np.load(GRAPHS / f"{name}.npy"), rtol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_import_and_export_give_the_same_message(name):
    message = recorded(name)
    assert imported(message).as_graph_def() == message


def test_functions_survive_two_rounds():
    first = imported(recorded("functions")).as_graph_def()
    second = imported(first).as_graph_def()
    assert first == second
    assert [f.signature.name for f in first.library.function]
    assert first.versions.min_consumer == 12


def test_traced_function_is_exported_with_what_it_calls():
    @tf.function
    def inner(a):
        return tf.raw_ops.Mul(x=a, y=a)

    @tf.function
    def outer(a):
        return tf.raw_ops.AddV2(x=inner(a), y=a)

    with tf.Graph().as_default() as graph:
        x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[None], name="x")
        tf.raw_ops.Neg(x=outer(x), name="z")
    again = imported(graph.as_graph_def())
    again.verify()
    with tf.compat.v1.Session(graph=again) as session:
        assert session.run("z:0", {"x:0": [3.0]}).tolist() == [-12.0]


def test_stateful_functions_keep_their_effects():
    with tf.Graph().as_default() as graph:
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="v", name="v")
        tf.raw_ops.AssignVariableOp(resource=handle, value=1.0, name="init")

        @tf.function
        def bump(amount):
            tf.raw_ops.AssignAddVariableOp(resource=handle, value=amount)
            return tf.raw_ops.Identity(input=amount)

        tf.raw_ops.Identity(input=bump(tf.constant(5.0)), name="z")
        tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name="read")
    again = imported(graph.as_graph_def())
    with tf.compat.v1.Session(graph=again) as session:
        session.run("init")
        session.run("z:0")
        session.run("z:0")
        assert session.run("read:0") == 11.0


def test_from_version_leaves_out_older_operations():
    with tf.Graph().as_default() as graph:
        tf.raw_ops.NoOp(name="old")
        version = graph.version
        tf.raw_ops.NoOp(name="new")
    assert [n.name for n in graph.as_graph_def(from_version=version).node] == ["new"]


def test_repeated_element_is_written_once():
    values = np.broadcast_to(np.float32(2), (1000, 1000))
    with tf.Graph().as_default() as graph:
        attrs = {"value": tf.make_tensor_proto(2.0, shape=[1000, 1000]), "dtype": tf.float32}
        message = proto.graph_pb2.GraphDef()
        node = message.node.add(name="c", op="Const")
        node.attr["value"].tensor.CopyFrom(attrs["value"])
        node.attr["dtype"].type = 1
        tf.graph_util.import_graph_def(message, name="")
    written = as_graph_def(graph).node[0].attr["value"].tensor
    assert list(written.float_val) == [2.0]
    with tf.compat.v1.Session(graph=graph) as session:
        np.testing.assert_array_equal(session.run("c:0"), values)


def test_messages_of_an_operation():
    with tf.Graph().as_default():
        x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[None, 3], name="x")
        c = tf.constant([1, 2], name="c")
    assert x.op.node_def.name == "x"
    assert [d.size for d in x.op.get_attr("shape").dim] == [-1, 3]
    assert tf.make_ndarray(c.op.get_attr("value")).tolist() == [1, 2]
    assert x.op.get_attr("dtype") is tf.float32
    with pytest.raises(ValueError, match="Operation 'x' has no attr named 'nope'"):
        x.op.get_attr("nope")


def test_an_attribute_set_to_a_message():
    with tf.Graph().as_default() as graph:
        x = tf.constant(2.0, name="x")
        y = tf.square(x, name="y")
    y.op._set_attr("_mine", tf.compat.v1.AttrValue(s=b"text"))
    many = tf.compat.v1.AttrValue(list=tf.compat.v1.AttrValue.ListValue(i=[3, 4]))
    y.op._set_attr("_many", many)
    assert y.op.get_attr("_mine") == b"text"
    assert y.op.get_attr("_many") == [3, 4]
    written = as_graph_def(graph).node[1].attr
    assert written["_mine"].s == b"text"
    assert list(written["_many"].list.i) == [3, 4]


def test_a_gradient_rule_named_by_a_message():
    @tf.RegisterGradient("TimesTenFromAMessage")
    def rule(op, grad):
        return 10.0 * grad

    with tf.Graph().as_default():
        x = tf.constant(2.0)
        y = tf.square(x)
        y.op._set_attr("_gradient_op_type", tf.compat.v1.AttrValue(s=b"TimesTenFromAMessage"))
        (found,) = tf.gradients(y, x)
        with tf.compat.v1.Session() as session:
            assert session.run(found) == 10.0


def test_write_graph(tmp_path):
    graph = build("arithmetic")
    text = tf.io.write_graph(graph, tmp_path / "a" / "b", "g.pbtxt")
    assert text == str(tmp_path / "a" / "b" / "g.pbtxt")
    assert pathlib.Path(text).read_text().startswith('node {\n  name: "x"\n  op: "Placeholder"')
    binary = tf.io.write_graph(graph.as_graph_def(), str(tmp_path), "g.pb", as_text=False)
    message = proto.graph_pb2.GraphDef()
    message.ParseFromString(pathlib.Path(binary).read_bytes())
    assert message == graph.as_graph_def()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "g.pb"]


CHECK = """
import sys, numpy as np, tensorflow as tf
graph_def = tf.compat.v1.GraphDef.FromString(open(sys.argv[1], "rb").read())
with tf.Graph().as_default() as graph:
    tf.graph_util.import_graph_def(graph_def, name="")
with tf.compat.v1.Session(graph=graph) as session:
    targets = [t for t in sys.argv[4].split(",") if t]
    session.run(targets)
    np.save(sys.argv[3], session.run("z:0", {sys.argv[5]: np.load(sys.argv[2])}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PROGRAMS, "functions"])
def test_tensorflow_runs_what_we_write(name, tmp_path):
    python = os.environ.get("PENSTOCK_TENSORFLOW_PYTHON")
    if python is None:
        pytest.skip("PENSTOCK_TENSORFLOW_PYTHON does not name an interpreter with TensorFlow")
    graph = imported(recorded(name)) if name == "functions" else build(name)
    path = tf.io.write_graph(graph, tmp_path, "g.pb", as_text=False)
    np.save(tmp_path / "in.npy", FEEDS[name])
    arguments = [path, tmp_path / "in.npy", tmp_path / "out.npy", ",".join(TARGETS.get(name, []))]
    subprocess.run(
        [python, "-c", CHECK, *map(str, arguments), INPUTS.get(name, "x:0")],
        check=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""},
    )
    found = np.load(tmp_path / "out.npy")
    np.testing.assert_allclose(found, np.load(GRAPHS / f"{name}.npy"), rtol=1e-6)
