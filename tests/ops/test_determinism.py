"""enable_op_determinism: operations repeat bit for bit, and what cannot is refused."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.core import determinism
from penstock.ops import random_generator, random_state


@pytest.fixture(autouse=True)
def _deterministic(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(random_state._eager, "seed", None)
    monkeypatch.setattr(random_generator._Global, "generator", None)
    tf.config.experimental.enable_op_determinism()
    yield
    determinism.require(False)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: tf.random.normal([2]),
        lambda: tf.random.uniform([2], 0, 9, tf.int32),
        lambda: tf.random.truncated_normal([2]),
        lambda: tf.random.gamma([2], 1.0),
        lambda: tf.random.poisson([2], 1.0),
        lambda: tf.random.categorical([[0.0, 1.0]], 2),
        lambda: tf.random.shuffle([1, 2]),
        lambda: tf.nn.dropout(tf.ones([3]), 0.5),
        lambda: tf.random.uniform_candidate_sampler(tf.constant([[1]], tf.int64), 1, 2, True, 5),
        lambda: tf.queue.RandomShuffleQueue(4, 1, tf.float32),
        lambda: tf.compat.v1.get_seed(None),
    ],
)
def test_random_operations_need_a_seed(draw: Any) -> None:
    with pytest.raises(RuntimeError, match="Random ops require a seed to be set"):
        draw()
    with pytest.raises(RuntimeError, match=r"tf\.random\.set_seed"):
        tf.function(draw)()
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="require a seed"):
        draw()


def test_a_seed_of_either_kind_suffices() -> None:
    assert tf.random.normal([2], seed=1).shape == [2]
    tf.random.set_seed(7)
    first = tf.random.normal([3]).numpy()
    tf.random.set_seed(7)
    np.testing.assert_array_equal(tf.random.normal([3]), first)


@pytest.mark.parametrize("compiled", [False, True])
def test_raw_operations_without_seeds_are_refused(compiled: bool) -> None:
    def draw() -> Any:
        return tf.raw_ops.RandomStandardNormal(shape=[2], dtype=tf.float32)

    call = tf.function(draw, jit_compile=True) if compiled else draw
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have a seed specified"):
        call()


def test_what_the_system_draws_is_refused() -> None:
    with pytest.raises(RuntimeError, match='"from_non_deterministic_state" cannot be called'):
        tf.random.Generator.from_non_deterministic_state()
    with pytest.raises(RuntimeError, match='"set_global_generator" has already been called'):
        tf.random.get_global_generator()
    with pytest.raises(tf.errors.InvalidArgumentError, match="determinism is enabled"):
        tf.raw_ops.NonDeterministicInts(shape=np.array([2], np.int64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected seeds"):
        tf.raw_ops.RandomShuffleQueueV2(component_types=[tf.float32])
    generator = tf.random.Generator.from_seed(1)
    tf.random.set_global_generator(generator)
    assert tf.random.get_global_generator() is generator


def test_the_second_call_gives_the_bits_of_the_first() -> None:
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=(300, 301)).astype(np.float32))
    y = tf.constant(rng.normal(size=(301, 299)).astype(np.float32))

    @tf.function
    def f(x: Any) -> Any:
        return tf.reduce_sum(tf.math.tanh(x) * tf.exp(-x), 1)

    for call in (
        lambda: tf.matmul(x, y),
        lambda: tf.reduce_sum(x, 0),
        lambda: tf.nn.softmax(x),
        lambda: tf.math.erf(x),
        lambda: f(x[:250]),
        lambda: f(x[:270]),
    ):
        first = call().numpy()
        for _ in range(3):
            np.testing.assert_array_equal(call().numpy(), first)


def test_races_are_refused_with_both_lines() -> None:
    with tf.Graph().as_default():
        v = tf.compat.v1.get_variable("v", initializer=1.0, use_resource=True)
        both = tf.group(v.assign(2.0), v.assign(3.0))
        one = v.assign(4.0)
        with tf.compat.v1.Session() as session:
            session.run(v.initializer)
            with pytest.raises(tf.errors.InvalidArgumentError, match="race on 'v'") as caught:
                session.run(both)
            assert str(caught.value).count("test_determinism.py:") >= 2
            session.run(one)
            assert session.run(v.read_value()) == 4.0
