"""Gradients of `tf.custom_gradient` in SavedModels: those of TensorFlow, and there and back."""

import gc
import math
import pathlib

import numpy as np
import pytest

import penstock as tf
from penstock import proto

RECORDED = pathlib.Path(__file__).parents[1] / "data" / "saved_models" / "gradients"


class Gradients(tf.Module):
    """The model of tools/record_saved_models.py, and one whose rule is within a branch."""

    def __init__(self):
        super().__init__()
        self.v = tf.Variable(3.0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def plain(self, x):
        return tf.custom_gradient(lambda x: (x * x, lambda g: g * 100.0))(x)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def closing(self, x):
        @tf.custom_gradient
        def scaled(x):
            y = tf.exp(x)

            def gradient(g, variables=None):
                return g * y * self.v * 7.0, [g * x for _ in variables]

            return y * self.v, gradient

        return scaled(x)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def within(self, x):
        double = tf.custom_gradient(lambda v: (v * 2.0, lambda g: g * v * 10.0))
        return tf.cond(x > 0.0, lambda: double(x * x), lambda: -x)


def gradients(model, function, x):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return [None if g is None else float(g) for g in tape.gradient(y, [x, model.v])]


def check(model):
    assert gradients(model, model.plain, 2.0) == [100.0, None]
    for function in (model.closing, tf.function(model.closing)):
        found = gradients(model, function, 2.0)
        np.testing.assert_allclose(found, [math.exp(2.0) * 21.0, 2.0], rtol=1e-6)


def test_a_model_of_tensorflow_has_its_gradients():
    check(tf.saved_model.load(str(RECORDED)))


def test_gradients_go_there_and_back_twice(tmp_path):
    tf.saved_model.save(Gradients(), str(tmp_path / "first"))
    first = tf.saved_model.load(str(tmp_path / "first"))
    check(first)
    tf.saved_model.save(first, str(tmp_path / "second"))
    second = tf.saved_model.load(str(tmp_path / "second"))
    check(second)
    second.v.assign(2.0)
    np.testing.assert_allclose(gradients(second, second.closing, 0.0), [14.0, 0.0])
    assert gradients(second, second.within, 3.0) == [9.0 * 10.0 * 6.0, None]
    assert gradients(second, second.within, -3.0) == [-1.0, None]


def test_models_of_one_process_do_not_mix_their_rules(tmp_path):
    def scaling(scale):
        return tf.custom_gradient(lambda x: (x * 1.0, lambda g: g * scale))

    scales = (10.0, 20.0)
    for scale in scales:
        model, rule = tf.Module(), scaling(scale)
        model.f = tf.function(rule, input_signature=[tf.TensorSpec([], tf.float32)])
        model.v = tf.Variable(0.0)
        tf.saved_model.save(model, str(tmp_path / str(scale)))
    models = [tf.saved_model.load(str(tmp_path / str(scale))) for scale in scales]
    assert [gradients(m, m.f, 1.0)[0] for m in models] == [10.0, 20.0]


def test_the_message_names_rules_and_what_they_capture(tmp_path):
    tf.saved_model.save(Gradients(), str(tmp_path))
    message = proto.saved_model_pb2.SavedModel.FromString(
        (tmp_path / "saved_model.pb").read_bytes()
    )
    graph = message.meta_graphs[0]
    assert len(graph.graph_def.library.registered_gradients) == 3
    captured = [n.captured_tensor for n in graph.object_graph_def.nodes]
    names = {c.name.partition(":")[0] for c in captured if c.name}
    assert "Exp" in names
    assert {c.concrete_function for c in captured if c.name} <= {
        f.signature.name for f in graph.graph_def.library.function
    }


def test_without_the_option_a_gradient_is_missed(tmp_path):
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(Gradients(), str(tmp_path), options=options)
    model = tf.saved_model.load(str(tmp_path))
    assert float(model.plain(tf.constant(3.0))) == 9.0
    graph = proto.saved_model_pb2.SavedModel.FromString((tmp_path / "saved_model.pb").read_bytes())
    assert not graph.meta_graphs[0].graph_def.library.registered_gradients


def test_a_rule_that_cannot_be_traced_says_how_to_save_without(tmp_path):
    model = tf.Module()
    rule = tf.custom_gradient(lambda x: (x * 1.0, lambda g: [g, g]))
    model.f = tf.function(rule, input_signature=[tf.TensorSpec([], tf.float32)])
    with pytest.raises(ValueError, match=r"tracing gradients.*experimental_custom_gradients=False"):
        tf.saved_model.save(model, str(tmp_path))


@tf.custom_gradient
def ten_times(x):
    return x * x, lambda dy: dy * 10.0 * x


@tf.custom_gradient
def rule_in_rule(x):
    return x * 3.0, lambda dy: ten_times(dy * x) * 2.0


@tf.custom_gradient
def its_own_rule(x):
    return tf.exp(x), lambda dy: dy * its_own_rule(x)


def two_orders(function, x):
    x = tf.constant(x)
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape() as first:
            first.watch(x)
            y = function(x)
        slope = first.gradient(y, x)
    return [slope.numpy(), second.gradient(slope, x).numpy()]


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [(rule_in_rule, [8.0, 40.0]), (its_own_rule, [np.exp(2.0)] * 2)],
    ids=["another", "itself"],
)
def test_rules_in_rules(tmp_path, rule, wanted):
    model = tf.Module()
    model.f = tf.function(rule, input_signature=[tf.TensorSpec([], tf.float32)])
    tf.saved_model.save(model, str(tmp_path))
    np.testing.assert_allclose(two_orders(model.f, 2.0), wanted, rtol=1e-6)
    np.testing.assert_allclose(two_orders(tf.saved_model.load(tmp_path).f, 2.0), wanted, rtol=1e-6)


@pytest.mark.parametrize("within", [False, True])
def test_a_model_of_a_session_has_its_gradients_where_it_was_made(tmp_path, within):
    v1 = tf.compat.v1
    square = tf.custom_gradient(lambda x: (x * x, lambda g: g * 100.0))

    def save():
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [], name="x")
            y = tf.cond(x > 0.0, lambda: square(x), lambda: -x) if within else square(x)
            y = tf.identity(y, name="y")
            v1.saved_model.simple_save(session, str(tmp_path / "model"), {"x": x}, {"y": y})

    save()
    gc.collect()  # the graph
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v1.saved_model.load(session, ["serve"], str(tmp_path / "model"))
        x, y = (graph.get_tensor_by_name(f"{name}:0") for name in "xy")
        assert session.run([y, *tf.gradients(y, x)], {x: 3.0}) == [9.0, 100.0]
