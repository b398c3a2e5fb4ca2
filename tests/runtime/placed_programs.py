"""Run by `test_partition.py` in a process of its own, which has three logical CPUs."""

import sys

import numpy as np
import pytest

import penstock as tf
from penstock.core.resources import ResourceManager
from penstock.runtime.placed import PartitionedPlan, PlacedPlan
from penstock.runtime.plan import make_plan
from penstock.runtime.program import build
from penstock.runtime.reference import run_reference
from penstock.runtime.step import Step

v1 = tf.compat.v1


def random_graph(rng, x, y):
    """Operations on random devices, each on values that are there, some waiting for others."""
    values = [x, y]
    for _ in range(rng.integers(4, 14)):
        device = f"/cpu:{rng.integers(3)}"
        a, b = (values[i] for i in rng.integers(len(values), size=2))
        waits = [values[rng.integers(len(values))].op] if rng.random() < 0.3 else []
        with tf.device(device), tf.control_dependencies([w for w in waits if w.inputs]):
            make = [tf.add, tf.multiply, tf.matmul, lambda p, q: tf.tanh(p) - 0.5 * q]
            values.append(make[rng.integers(len(make))](a, b))
    return values


def check_random_graphs():
    kinds = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        with tf.Graph().as_default():
            x, y = (v1.placeholder(tf.float32, [3, 3], name=n) for n in "xy")
            values = random_graph(rng, x, y)
            fetches = [values[i] for i in rng.integers(2, len(values), size=3)] + [x]
            feeds = [rng.normal(size=(3, 3)).astype(np.float32) * 0.5 for _ in "xy"]
            expected = run_reference(fetches, {x: feeds[0], y: feeds[1]}, ResourceManager())
            plan = make_plan(build(fetches, [x, y], []), ResourceManager())
            kinds.add(type(plan))
            for _ in range(3):
                got = plan.run(feeds, Step(None))
                for value, wanted in zip(got, expected, strict=True):
                    np.testing.assert_allclose(value, wanted, 1e-4, 1e-5)
    assert PartitionedPlan in kinds, kinds


def build_training():
    x = v1.placeholder(tf.float32, [64, 64], name="x")
    with tf.device("/cpu:1"):
        v = v1.get_variable("v", [64, 64], initializer=v1.constant_initializer(0.01))
    with tf.device("/cpu:2"):
        h = tf.tanh(x @ v)
    loss = tf.reduce_mean(tf.square(h - 0.5))
    train = v1.train.GradientDescentOptimizer(0.5).minimize(loss)
    return x, v, h, loss, train


def check_training():
    data = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    losses = {}
    for threads in (0, 1):
        with tf.Graph().as_default():
            x, v, _, loss, train = build_training()
            options = v1.ConfigProto(inter_op_parallelism_threads=threads)
            with v1.Session(config=options) as session:
                session.run(v1.global_variables_initializer())
                feed = {x: data}
                losses[threads] = [session.run([loss, train], feed)[0] for _ in range(5)]
                (cell,) = [
                    c for (_, name), c in session._direct.resources.items() if name == v.op.name
                ]
                assert {d.id for d in cell.value.devices()} == {1}, cell.value.devices()
                plans = [plan for plan, _ in session._direct._plans.values()]
                partitioned = [isinstance(p, PartitionedPlan) for p in plans]
                assert any(partitioned) == (threads == 0), plans
                assert all(isinstance(p, PlacedPlan) for p in plans)
    np.testing.assert_allclose(losses[0], losses[1], 1e-5)
    assert losses[0][-1] < losses[0][0]


def check_one_device_is_not_cut():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [3], name="x")
        plain = make_plan(build([tf.exp(x) + 1.0], [x], []), ResourceManager())
        with tf.device("/cpu:2"):
            placed = make_plan(build([tf.exp(x) + 1.0], [x], []), ResourceManager())
    assert not isinstance(plain, PlacedPlan)
    assert type(placed) is PlacedPlan


def check_errors_and_waits():
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [], name="x")
        with tf.device("/cpu:1"):
            y = tf.debugging.check_numerics(tf.math.log(x), "bad", name="where_it_fails")
        with tf.device("/cpu:2"):
            z = y + 1.0
        assert session.run(z, {x: 1.0}) == 1.0
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="where_it_fails"):
                session.run(z, {x: -1.0})
        assert session.run(z, {x: 1.0}) == 1.0


def check_loops_of_the_first_kind():
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [64, 64], name="x")
        pred = v1.placeholder(tf.bool, [], name="p")
        with tf.device("/cpu:1"):
            route = tf.raw_ops.Switch(data=x, pred=pred)
            up = tf.tanh(route.output_true @ route.output_true)
        with tf.device("/cpu:2"):
            out = tf.raw_ops.Merge(inputs=[route.output_false, up]).output + 1.0
        data = np.full((64, 64), 0.01, np.float32)
        for _ in range(3):
            taken = session.run(out, {x: data, pred: True})
            np.testing.assert_allclose(taken, np.tanh(data @ data) + 1, 1e-5)
            np.testing.assert_allclose(session.run(out, {x: data, pred: False}), data + 1)


def check_functions():
    @tf.function(autograph=False)
    def f(x):
        with tf.device("/cpu:1"):
            y = x * 2.0
        with tf.device("/cpu:2"):
            return y + 1.0

    for _ in range(3):
        assert float(f(tf.constant(3.0))) == 7.0


def main():
    (cpu,) = tf.config.list_physical_devices("CPU")
    parts = [tf.config.LogicalDeviceConfiguration()] * 3
    tf.config.set_logical_device_configuration(cpu, parts)
    assert [d.name for d in tf.config.list_logical_devices("CPU")] == [
        f"/device:CPU:{i}" for i in range(3)
    ]
    check_random_graphs()
    check_training()
    check_one_device_is_not_cut()
    check_errors_and_waits()
    check_loops_of_the_first_kind()
    check_functions()
    print("all checked")


if __name__ == "__main__":
    sys.exit(main())
