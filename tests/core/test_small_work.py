"""Small eager operations take a short way: with the results, errors and locks of the long one."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import penstock as tf
from penstock.core import eager

X = tf.constant([[1.5, -2.0], [np.nan, 0.25]])
OPERATIONS = {
    "unary": lambda: tf.raw_ops.Tanh(x=X),
    "binary": lambda: tf.raw_ops.Mul(x=X, y=X),
    "reduction": lambda: tf.raw_ops.Sum(input=X, axis=tf.constant([0])),
    "all axes": lambda: tf.reduce_max(X),
    "scalar of NumPy": lambda: tf.raw_ops.Exp(x=tf.reduce_sum(tf.ones([3]))),
    "no numbers": lambda: tf.raw_ops.Neg(x=tf.zeros([0, 3])),
    "several outputs": lambda: tf.raw_ops.TopKV2(input=X[0], k=tf.constant(2)),
    "a list": lambda: tf.raw_ops.Unpack(value=X, num=2),
    "text": lambda: tf.raw_ops.StringLower(input=tf.constant(["Ab", "C"])),
    "positions": lambda: tf.raw_ops.ArgMax(input=X, dimension=tf.constant(1)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_short_way_gives_what_the_long_one_gives(name, monkeypatch):
    short = []
    run = eager.run_small

    def watched(*arguments):
        short.append(run(*arguments))
        return short[-1]

    monkeypatch.setattr(eager, "run_small", watched)
    for _ in range(2):
        found = tf.nest.flatten(OPERATIONS[name]())
    assert short[-1] is not None
    monkeypatch.setattr(eager, "run_small", lambda *_: None)
    for f, w in zip(found, tf.nest.flatten(OPERATIONS[name]()), strict=True):
        assert f.dtype is w.dtype
        assert f.shape == w.shape
        np.testing.assert_array_equal(f, w)


def test_axes_of_the_same_shape_are_told_apart():
    for axis, expected in (([0], [4.0, 6.0]), ([1], [3.0, 7.0]), ([0], [4.0, 6.0])):
        found = tf.raw_ops.Sum(input=tf.constant([[1.0, 2.0], [3.0, 4.0]]), axis=tf.constant(axis))
        np.testing.assert_array_equal(found, expected)


def test_an_error_has_its_words_after_many_successes():
    for _ in range(3):
        tf.raw_ops.Sum(input=X, axis=tf.constant([0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[Op:Sum\] \(at .*test_small_work"):
        tf.raw_ops.Sum(input=X, axis=tf.constant([7]))
    for _ in range(3):
        tf.raw_ops.Gather(params=X, indices=tf.constant([1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"5 is not in \[0, 2\)"):
        tf.raw_ops.Gather(params=X, indices=tf.constant([5]))


def test_an_update_that_fails_leaves_the_variable():
    v = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None))
    for _ in range(3):
        v.assign_add([1.0, 1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="shapes must be equal"):
        v.assign_add([1.0, 1.0, 1.0])
    np.testing.assert_array_equal(v, [4.0, 5.0])


def test_an_uninitialized_variable_is_refused():
    v = tf.Variable([1.0, 2.0])
    for _ in range(2):
        v.assign_add([1.0, 1.0])
    v.handle._array.resource.clear()
    with pytest.raises(tf.errors.FailedPreconditionError, match="never initialized"):
        v.assign_add([1.0, 1.0])


def test_a_value_read_before_an_update_stays():
    v = tf.Variable([1.0, 2.0])
    for _ in range(3):
        before = v.read_value()
        known = before.numpy().copy()
        v.assign_sub([0.5, 0.5])
        np.testing.assert_array_equal(before, known)


def test_updates_in_threads_are_all_there():
    v = tf.Variable(np.zeros(4, np.float32))

    def add():
        for _ in range(500):
            v.assign_add(np.ones(4, np.float32), read_value=False)

    with ThreadPoolExecutor(3) as pool:
        for job in [pool.submit(add) for _ in range(3)]:
            job.result()
    np.testing.assert_array_equal(v, np.full(4, 1500.0))


def test_rows_of_a_compiled_table_are_read_on_the_short_way(monkeypatch):
    table = tf.Variable(np.arange(80_000, dtype=np.float32).reshape(20_000, 4))
    rows = tf.IndexedSlices(tf.ones([5000, 4]), tf.range(5000))
    ids = tf.constant([0, 3])
    for number in range(1, 4):
        table.scatter_add(rows)
        found = tf.gather(table, ids)
        np.testing.assert_array_equal(found, np.array([[0, 1, 2, 3], [12, 13, 14, 15]]) + number)
    table.scatter_add(rows)  # what was read before stays
    np.testing.assert_array_equal(found, np.array([[0, 1, 2, 3], [12, 13, 14, 15]]) + 3)
    monkeypatch.setattr(eager, "run_small", lambda *_: None)
    np.testing.assert_array_equal(tf.gather(table, ids)[:, 0], [4.0, 16.0])


def test_a_row_that_is_not_there_is_told_after_many_that_were():
    table = tf.Variable(np.zeros((30, 4), np.float32))
    for _ in range(3):
        tf.gather(table, tf.constant([1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"30 is not in \[0, 30\)"):
        tf.gather(table, tf.constant([30]))


def momentum(var, accum, grad):
    given = {"lr": 0.5, "grad": grad, "momentum": 0.9, "use_nesterov": False}
    tf.raw_ops.ResourceApplyMomentum(var=var.handle, accum=accum.handle, **given)


def rows_of_adagrad(var, accum, grad, indices):
    given = {"lr": 0.5, "grad": grad, "indices": indices}
    tf.raw_ops.ResourceSparseApplyAdagrad(var=var.handle, accum=accum.handle, **given)


UPDATES = {
    "one variable": lambda a, b: tf.raw_ops.ResourceScatterAdd(
        resource=a.handle, indices=tf.constant([1, 1]), updates=tf.constant([1.0, 2.0])
    ),
    "two variables": lambda a, b: momentum(a, b, tf.constant([1.0, -1.0, 0.5])),
    "rows of two": lambda a, b: rows_of_adagrad(a, b, tf.constant([1.0, 2.0]), tf.constant([2, 2])),
}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_take_the_short_way(name, monkeypatch):
    def run():
        a, b = tf.Variable([1.0, 2.0, 3.0]), tf.Variable([0.5, 0.25, 4.0])
        for _ in range(3):
            UPDATES[name](a, b)
        return a.numpy(), b.numpy()

    short = []
    small = eager.run_small
    monkeypatch.setattr(eager, "run_small", lambda *given: short.append(small(*given)) or short[-1])
    found = run()
    assert [] in short
    monkeypatch.setattr(eager, "run_small", lambda *_: None)
    for one, other in zip(found, run(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_update_of_two_variables_that_fails_leaves_both():
    a, b = tf.Variable([1.0, 2.0, 3.0]), tf.Variable([0.5, 0.25, 4.0])
    for _ in range(3):
        rows_of_adagrad(a, b, tf.constant([0.0]), tf.constant([2]))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"indices\[0\] = 3 is not in \[0, 3\)"
    ):
        rows_of_adagrad(a, b, tf.constant([1.0]), tf.constant([3]))
    np.testing.assert_array_equal(a, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(b, [0.5, 0.25, 4.0])


def test_updates_of_two_variables_in_either_order_do_not_wait_for_each_other():
    a, b = tf.Variable([0.0] * 3), tf.Variable([0.0] * 3)

    def work(pair):
        for _ in range(200):
            momentum(*pair, tf.zeros([3]))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, [(a, b), (b, a)]))
    np.testing.assert_array_equal(a, [0.0] * 3)


def test_shapes_that_take_turns_are_each_looked_at():
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([[1.0]])
    for _ in range(3):
        for variable, value in ((v, [1.0, 1.0]), (w, [[1.0]])):
            tf.raw_ops.AssignAddVariableOp(resource=variable.handle, value=tf.constant(value))
        with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
            tf.raw_ops.AssignAddVariableOp(resource=v.handle, value=tf.constant([[1.0]]))
    np.testing.assert_array_equal(v.numpy(), [4.0, 5.0])
    np.testing.assert_array_equal(w.numpy(), [[4.0]])


def test_a_variable_given_twice_is_updated_as_two():
    v = tf.Variable([1.0, 2.0])
    for _ in range(2):
        tf.raw_ops.ResourceApplyMomentum(
            var=v.handle, accum=v.handle, lr=1.0, grad=tf.constant([1.0, 1.0]), momentum=0.5
        )
    np.testing.assert_array_equal(v.numpy(), [1.75, 2.0])
