"""Loops in SavedModels: their gradients after loading, and the form in which they are written."""

import pathlib

import numpy as np
import pytest

import penstock as tf
from penstock import proto

RECORDED = pathlib.Path(__file__).parents[1] / "data" / "saved_models" / "loops"
INT32 = tf.int32.as_datatype_enum


class Loops(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def scan(self, xs):
        return tf.scan(lambda a, x: tf.tanh(a * self.w + x), xs, initializer=tf.zeros([2]))

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.int32)])
    def nested(self, x, n):
        for _ in tf.range(n):
            j = 0
            while j < 2:
                x = x * self.w
                j += 1
            x = tf.cond(x > 10.0, lambda: x - self.w, lambda: x + 1.0)  # noqa: B023
        return x

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def listed(self, xs):
        n = tf.shape(xs)[0]
        array = tf.TensorArray(tf.float32, n)
        for i in tf.range(n):
            array = array.write(i, xs[i] * self.w)
        return tf.reduce_sum(array.stack() ** 2)


def gradient(model, function, *arguments):
    with tf.GradientTape() as tape:
        value = function(*arguments)
    return value.numpy(), tape.gradient(value, model.w).numpy()


def scanned(xs, w):
    """The values and the derivative of their sum, by dual numbers."""
    a, d, values, total = np.zeros(2), np.zeros(2), [], 0.0
    for x in xs:
        inner, slope = a * w + x, d * w + a
        a, d = np.tanh(inner), slope * (1 - np.tanh(inner) ** 2)
        values.append(a)
        total += d.sum()
    return np.array(values), total


def check(model):
    xs = np.array([[0.1, 0.2], [0.3, -0.4], [0.1, -0.2]], np.float32)
    for found, expected in zip(gradient(model, model.scan, xs), scanned(xs, 2.0), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    # (w^2 + 1) w^2 - w, with w = 2
    assert gradient(model, model.nested, 1.0, 2) == (18.0, 4 * 2.0**3 + 2 * 2.0 - 1)
    assert gradient(model, model.listed, [1.0, 2.0]) == (20.0, 2 * 2.0 * 5)


@pytest.mark.parametrize("whose", ["ours", "theirs", "again"])
def test_gradients_of_loaded_loops(tmp_path, whose):
    if whose == "ours":
        tf.saved_model.save(Loops(), tmp_path)
    if whose == "again":
        tf.saved_model.save(tf.saved_model.load(RECORDED), tmp_path)
    check(tf.saved_model.load(RECORDED if whose == "theirs" else tmp_path))


def test_loops_are_written_with_counters(tmp_path):
    tf.saved_model.save(Loops(), tmp_path)
    data = (tmp_path / "saved_model.pb").read_bytes()
    library = proto.saved_model_pb2.SavedModel.FromString(data).meta_graphs[0].graph_def.library
    functions = {each.signature.name: each for each in library.function}
    loops = [
        (function, node)
        for function in functions.values()
        for node in function.node_def
        if node.op in ("While", "StatelessWhile")
    ]
    assert len(loops) >= 3
    for function, node in loops:
        nodes = {each.name: each for each in function.node_def}
        counter, limit = (nodes[text.split(":")[0]] for text in node.input[:2])
        assert counter.attr["value"].tensor.int_val == [0]
        assert limit.attr["value"].tensor.int_val[0] in (-1, 2)
        assert list(node.attr["T"].list.type[:2]) == [INT32, INT32]
        assert node.attr["_num_original_outputs"].i == len(node.input)
        cond, body = (functions[node.attr[name].func.name] for name in ("cond", "body"))
        for each in (cond, body):
            assert [arg.type for arg in each.signature.input_arg] == list(node.attr["T"].list.type)
        assert len(body.signature.output_arg) == len(node.input)
        assert set(body.ret) == {arg.name for arg in body.signature.output_arg}
        following = {each.name: each for each in body.node_def}[
            body.ret[body.signature.output_arg[0].name].split(":")[0]
        ]
        assert (following.op, following.input[0]) == ("AddV2", body.signature.input_arg[0].name)
    named = {a.func.name for f in functions.values() for n in f.node_def for a in n.attr.values()}
    assert not [name for name in functions if name.startswith("while_body") and name not in named]


def test_all_shapes_in_functions_are_written(tmp_path):
    """Converters to other formats ask for them; runtimes refuse loops without."""
    tf.saved_model.save(Loops(), str(tmp_path))
    message = proto.saved_model_pb2.SavedModel()
    message.ParseFromString((tmp_path / "saved_model.pb").read_bytes())
    functions = message.meta_graphs[0].graph_def.library.function
    assert functions
    for function in functions:
        arguments = function.signature.input_arg
        assert len(function.attr["_input_shapes"].list.shape) == len(arguments)
        for number in range(len(arguments)):
            assert "_output_shapes" in function.arg_attr[number].attr
        for node in function.node_def:
            if node.op not in ("NoOp", "Assert"):
                assert "_output_shapes" in node.attr, node.name
            if node.op in ("While", "StatelessWhile"):
                shapes = node.attr["output_shapes"]
                assert len(shapes.list.shape) == len(node.attr["T"].list.type)
                assert shapes == node.attr["_output_shapes"]


def test_loops_of_signatures_run_in_sessions(tmp_path):
    v1 = tf.compat.v1
    model = Loops()
    tf.saved_model.save(model, tmp_path, signatures=model.nested)
    with tf.Graph().as_default(), v1.Session() as session:
        loaded = v1.saved_model.load(session, ["serve"], tmp_path)
        signature = loaded.signature_def["serving_default"]
        feeds = {signature.inputs["x"].name: 1.0, signature.inputs["n"].name: 2}
        assert session.run(signature.outputs["output_0"].name, feeds) == 18.0
