"""Layers of compat.v1 in Keras's style: names, sharing, collections and refused arguments."""

from collections.abc import Iterator
from typing import Any

import pytest

import penstock as tf
from penstock.train import layer_style

v1 = tf.compat.v1
L = v1.layers
E = L.experimental


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as made, E.keras_style_scope():
        yield made


def inputs() -> Any:
    return v1.placeholder(tf.float32, [None, 2])


def names() -> list[str]:
    return [variable.name for variable in v1.global_variables()]


def test_names_follow_name_scopes() -> None:
    with v1.variable_scope("s"):
        layer = L.Dense(3)
        first = layer(inputs())
    with v1.variable_scope("t"):
        second = layer(inputs())
    assert names() == ["s/dense_1/kernel:0", "s/dense_1/bias:0"]
    assert (first.name, second.name) == ("s/dense_1/BiasAdd:0", "t/dense_1/BiasAdd:0")
    assert len(v1.trainable_variables()) == 2


def test_layers_of_one_name_have_variables_each() -> None:
    for _ in range(2):
        L.Dense(3, name="n")(inputs())
    assert names() == ["n/kernel:0", "n/bias:0", "n_1/kernel:0", "n_1/bias:0"]


def test_the_style_is_that_of_when_a_layer_was_made() -> None:
    inside = L.Dense(3)
    layer_style._style["keras"] = False
    outside = L.Dense(3)
    with v1.variable_scope("z"):
        inside(inputs())
    with E.keras_style_scope():
        outside(inputs())
    assert names()[::2] == ["z/dense_1/kernel:0", "dense/kernel:0"]


def test_scopes_around_do_not_reach_the_variables() -> None:
    partitioner = v1.fixed_size_partitioner(2)
    ones = v1.ones_initializer()
    with v1.variable_scope(
        "s", initializer=ones, regularizer=tf.reduce_sum, dtype=tf.float64, partitioner=partitioner
    ):
        layer = L.Dense(3)
        layer(inputs())
    assert names() == ["s/dense_1/kernel:0", "s/dense_1/bias:0"]
    assert layer.kernel.dtype == tf.float32
    assert not v1.losses.get_regularization_losses()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert not (session.run(layer.kernel) == 1).all()


def test_losses_and_updates() -> None:
    layer = L.BatchNormalization(gamma_regularizer=tf.reduce_sum)
    layer(inputs(), training=True)
    assert len(layer.updates) == 2
    assert not v1.get_collection("update_ops")
    assert len(layer.losses) == len(v1.losses.get_regularization_losses()) == 1


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: L.dense(inputs(), 3, name="q"), "scope argument not allowed"),
        (lambda: L.dense(inputs(), 3, reuse=False), "reuse argument not allowed"),
        (lambda: L.Dense(3, _reuse=True), "reuse argument not allowed"),
        (lambda: L.Dense(3)(inputs(), scope="q"), "scope argument not allowed"),
    ],
)
def test_what_shares_variables_is_refused(make: Any, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        make()


def test_there_is_no_scope_name() -> None:
    layer = L.Dense(3)
    layer(inputs())
    with pytest.raises(ValueError, match="scope"):
        _ = layer.scope_name


def test_cells() -> None:
    cell = v1.nn.rnn_cell.BasicLSTMCell(3)
    for number in ("", "_1"):
        output, _ = cell(inputs(), cell.zero_state(2, tf.float32))
        assert output.name == f"basic_lstm_cell_1{number}/Mul_2:0"
    assert names() == ["basic_lstm_cell_1/kernel:0", "basic_lstm_cell_1/bias:0"]


def test_it_can_be_set_for_good() -> None:
    layer_style._style["keras"] = False  # the fixture puts back what was before it
    E.set_keras_style()
    L.Dense(3)(inputs())
    assert names() == ["dense_1/kernel:0", "dense_1/bias:0"]
