"""Host kernels one after the other as generated code."""

import numpy as np
import pytest

import penstock as tf
from penstock.runtime import bodies, items
from penstock.runtime.bodies import traced_body
from penstock.runtime.host_path import HostPath
from penstock.runtime.host_work import Budget, work_of
from penstock.runtime.program import FEED
from penstock.runtime.step import Step
from penstock.runtime.straight_code import Straight


def path_of(function, *signature):
    """The host path of a function's graph, and its parts."""
    graph = tf.function(function, signature).get_concrete_function().graph
    body = type("Body", (), {})()
    body.outputs, body.inputs, body.control_outputs = graph.outputs, graph.inputs, []
    body.traced = None
    plain = traced_body(body, "CPU").plain
    nodes = [n for n in plain.nodes if n.type not in (FEED, "NoOp")]
    prepared = [bodies.prepared_op(n, "CPU") for n in nodes]
    feeds = [(n, 0) for n in plain.feeds]
    return HostPath(nodes, prepared, feeds, [], plain.fetches)


def mixed(x, n):
    first, second = tf.split(x, 2, axis=1)
    product = tf.matmul(first, second, transpose_b=True)
    rows = tf.gather(product, [n, 0])
    return rows, tf.constant([1.5, 2.5]), x, tf.reduce_sum(rows, 1), tf.unique(tf.range(3))[1]


SIGNATURE = (tf.TensorSpec([None, 4], tf.float32), tf.TensorSpec([], tf.int32))


def test_values_constants_and_arguments_are_handed_on():
    path = path_of(mixed, *SIGNATURE)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for given in (x, tf.identity(x).__array__(), tf.constant(x)._array):
        rows, constant, same, sums, places = path.run([given, np.int32(2)], (), Step(None))
        np.testing.assert_array_equal(rows, (x[:, :2] @ x[:, 2:].T)[[2, 0]])
        np.testing.assert_array_equal(constant, np.float32([1.5, 2.5]))
        assert same is given
        np.testing.assert_array_equal(sums, rows.sum(1))
        assert places.tolist() == [0, 1, 2]


def test_the_work_is_that_of_all_nodes():
    path = path_of(mixed, *SIGNATURE)
    part = path._whole
    assert isinstance(part, Straight)
    x, n = np.ones((3, 4), np.float32), np.array(2, np.int32)
    budget = Budget()
    path.run([x, n], (), Step(None), budget)
    slots = [*path._template]
    slots[:2] = [x, n]
    work = 0
    for call in part.calls:
        arguments = [slots[i] for i in call.sources]
        results = call.plain(*arguments)
        results = [results] if call.prepared.single else list(results)
        work += work_of(call.node.type, arguments, results)
        for slot, value in zip(call.targets, results, strict=True):
            slots[slot] = value
    assert budget.spent == work


@pytest.mark.parametrize("counted", [False, True])
def test_errors_name_the_node_of_several(counted):
    path = path_of(mixed, *SIGNATURE)
    budget = Budget() if counted else None
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\{\{node .*Gather.*not in \[0, 3\)"):
        path.run([np.ones((3, 4), np.float32), np.int32(7)], (), Step(None), budget)


@pytest.mark.parametrize(
    ("function", "numbers"),
    [
        (lambda x, n: tf.math.top_k(x * 2.0, n)[0], (5, 5)),
        (lambda x, n: tf.one_hot(tf.cast(x, tf.int32), n), (-1, -2)),
        (lambda x, n: tf.cumsum(x * 2.0, axis=n), (1, 1)),
        (lambda x, n: tf.gather(x * 2.0, 0, axis=n), (1, 1)),
        (lambda x, n: tf.reverse(x * 2.0, [n]), (1, 1)),
        (lambda x, n: tf.split(x, tf.stack([n, n]))[0], (1, 1)),
    ],
)
def test_computed_numbers_are_looked_at_as_values(function, numbers):
    """What NumPy computes of scalars is no array; rules of shapes must see its value."""
    signature = [tf.TensorSpec([None]), tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.int32)]
    run = tf.function(lambda x, a, b: function(x, a + b), input_signature=signature)
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(tf.constant([1.0, 2.0, 4.0]), *map(tf.constant, numbers))


def halves(seen):
    """A loop on the host whose arrays shrink from round to round."""

    @tf.function
    def run(x):
        total = tf.zeros([])
        while tf.size(x) > 1:
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(x, tf.TensorShape([None]))]
            )
            x = tf.boolean_mask(x, x > tf.reduce_mean(x))
            total += tf.reduce_sum(x)
        return total

    return run


def test_small_bodies_of_host_loops_are_never_compiled(monkeypatch):
    monkeypatch.setattr(items, "compilation", lambda nodes, device: 1 << 16)
    planned = []
    original = bodies._plan_of
    monkeypatch.setattr(bodies, "_plan_of", lambda *given: planned.append(0) or original(*given))
    run = halves(planned)
    small = tf.range(1.0, 17.0)
    assert [float(run(small)) for _ in range(20)] == [float(run(small))] * 20
    assert not planned
    large = tf.range(1.0, 100_001.0)
    assert [float(run(large)) for _ in range(3)] == pytest.approx([float(run(large))] * 3)
    assert planned


def test_loops_that_update_variables_compute_the_same_from_the_first_run_on(monkeypatch):
    variable, singly = tf.Variable(tf.zeros([3])), []
    original = bodies._uncompiled
    monkeypatch.setattr(bodies, "_uncompiled", lambda *a: singly.append(0) or original(*a))

    @tf.function
    def run(x):
        while tf.size(x) > 1:
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(x, tf.TensorShape([None]))]
            )
            x = tf.boolean_mask(x, x > tf.reduce_mean(x))
            variable.assign_add(tf.tanh(variable + tf.reduce_sum(x)))

    run(tf.range(1.0, 17.0))
    assert variable.numpy().min() > 0
    assert not singly


def test_loops_that_wait_for_others_keep_their_plans():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        queue = tf.queue.FIFOQueue(1, [tf.float32], [[]])

        def round_(i, total, rows):  # one by one, a taker that came first would wait for ever
            taken = queue.dequeue()
            with tf.control_dependencies([queue.enqueue(tf.cast(i, tf.float32))]):
                return i + 1, total + taken, tf.concat([rows, [0.0]], 0)

        loop = tf.while_loop(
            lambda i, *_: i < 4,
            round_,
            [0, 0.0, tf.zeros([0])],
            [tf.TensorShape([]), tf.TensorShape([]), tf.TensorShape([None])],
        )
        assert session.run(loop[1:])[0] == 6.0
