"""Calls of several threads joined into one: `tf.nondifferentiable_batch_function`."""

import threading
import time

import numpy as np
import pytest

import penstock as tf
from penstock.core.kernels import KernelContext
from penstock.core.resources import ResourceManager
from penstock.runtime.batching import Batcher, Limits

v1 = tf.compat.v1
MINUTE = 60_000_000


def _recorded(ran, **options):
    """A function of rows that notes the numbers of rows it is called with."""
    limits = {"max_batch_size": 10, "batch_timeout_micros": 0, **options}

    @tf.nondifferentiable_batch_function(1, **limits)
    def function(x):
        y = tf.numpy_function(lambda a: (ran.append(len(a)), a)[1], [x], tf.float32)
        y.set_shape(x.shape)
        return {"twice": y * 2.0, "sums": tf.reduce_sum(x, 1)}

    return function


def _in_threads(calls):
    results = [None] * len(calls)

    def run(i):
        try:
            results[i] = calls[i]()
        except tf.errors.OpError as problem:
            results[i] = problem

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_calls_of_several_threads_are_one_batch():
    ran = []
    function = _recorded(ran, batch_timeout_micros=MINUTE)  # full with the last call
    rows = [np.full((i + 1, 2), i, np.float32) for i in range(4)]
    found = _in_threads([lambda r=r: function(tf.constant(r)) for r in rows])
    assert ran == [10]
    for given, got in zip(rows, found, strict=True):
        np.testing.assert_array_equal(got["twice"], given * 2)
        np.testing.assert_array_equal(got["sums"], given.sum(1))


def test_a_batch_that_is_not_full_waits_no_longer_than_its_time():
    ran = []
    function = _recorded(ran, batch_timeout_micros=1000)
    assert function(tf.ones([3, 2]))["sums"].numpy().tolist() == [2.0, 2.0, 2.0]
    assert ran == [3]


@pytest.mark.parametrize(
    ("rows", "options", "ran"),
    [
        (3, {"allowed_batch_sizes": [4, 10]}, [4]),
        (7, {"allowed_batch_sizes": [4, 10]}, [10]),
        (23, {}, [10, 10, 3]),
        (23, {"allowed_batch_sizes": [4, 8]}, [8, 8, 8]),
        (23, {"enable_large_batch_splitting": False}, [23]),
        (0, {}, [0]),
    ],
)
def test_sizes_of_batches(rows, options, ran):
    seen = []
    x = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
    got = _recorded(seen, **options)(tf.constant(x))
    np.testing.assert_array_equal(got["twice"], x * 2)
    assert seen == ran


@pytest.mark.parametrize(
    ("error", "text", "function", "arguments"),
    [
        (tf.errors.InvalidArgumentError, r"\[\[3\], \[2\]\]", lambda x, y: x, ([3], [2])),
        (tf.errors.InvalidArgumentError, r"at least one dimension", lambda x: x, ([],)),
        (tf.errors.FailedPreconditionError, "0 dimensions", lambda x: tf.reduce_sum(x), ([3],)),
        (tf.errors.FailedPreconditionError, "it is 1, expected 3", lambda x: x[:1], ([3],)),
    ],
)
def test_what_does_not_fit(error, text, function, arguments):
    batched = tf.nondifferentiable_batch_function(1, 8, 0)(function)
    with pytest.raises(error, match=text):
        batched(*(tf.ones(shape) for shape in arguments))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"allowed_batch_sizes": [4, 4, 8]}, r"monotonically increasing, got \[4, 4, 8\]"),
        ({"allowed_batch_sizes": [4, 9]}, r"max_batch_size, 8, got \[4, 9\]"),
        (
            {"allowed_batch_sizes": [4, 6], "enable_large_batch_splitting": False},
            r"max_batch_size, 8, got \[4, 6\]",
        ),
        ({"max_enqueued_batches": 0}, "positive numbers"),
    ],
)
def test_sizes_that_cannot_be(options, text):
    batched = tf.nondifferentiable_batch_function(1, 8, 0, **options)(lambda x: x)
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        batched(tf.ones([2]))


def test_arguments_are_tensors():
    batched = tf.nondifferentiable_batch_function(1, 8, 0)(lambda x: x)
    with pytest.raises(ValueError, match=r"supposed to be Tensors; found \[1.0\]"):
        batched([1.0])


def test_an_error_reaches_all_whose_rows_it_had():
    @tf.nondifferentiable_batch_function(1, 2, MINUTE)
    def checked(x):
        tf.debugging.assert_less(x, 0.0)
        return x

    found = _in_threads([lambda: checked(tf.ones([1]))] * 2)
    assert [type(problem) for problem in found] == [tf.errors.InvalidArgumentError] * 2


def test_variables_are_captured_and_there_is_no_gradient():
    v = tf.Variable(3.0)
    batched = tf.nondifferentiable_batch_function(1, 8, 0)(lambda x: x * v)

    @tf.function
    def around(x):
        return batched(x) + 1.0

    assert around(tf.constant([1.0, 2.0])).numpy().tolist() == [4.0, 7.0]
    v.assign(4.0)
    assert around(tf.constant([1.0])).numpy().tolist() == [5.0]
    with tf.GradientTape() as tape:
        y = batched(tf.constant([1.0]))
    with pytest.raises(LookupError, match="BatchFunction"):
        tape.gradient(y, v)


def test_in_sessions_and_messages():
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(tf.float32, [None], name="x")
        scale = tf.constant(5.0) * 2.0
        y = tf.nondifferentiable_batch_function(2, 8, 0)(lambda x: x * scale)(x)
        assert session.run(y, {x: [1.0, 2.0]}).tolist() == [10.0, 20.0]
        assert y.name == "batch/BatchFunction:0"
        message = graph.as_graph_def()
    with tf.Graph().as_default(), v1.Session() as session:
        (y,) = tf.graph_util.import_graph_def(message, return_elements=[y.name], name="")
        assert session.run(y, {"x:0": [1.0, 2.0]}).tolist() == [10.0, 20.0]


def test_a_step_that_ends_leaves_its_batch():
    with tf.Graph().as_default():
        y = tf.nondifferentiable_batch_function(1, 8, MINUTE)(lambda x: x)(tf.ones([2]))
        config = v1.ConfigProto(operation_timeout_in_ms=200)
        with v1.Session(config=config) as session:
            with pytest.raises(tf.errors.DeadlineExceededError, match="at its batch"):
                session.run(y)


def _limits(**changes):
    values = {
        "max_batch_size": 2, "timeout": 0.0, "allowed": (), "max_enqueued": 1, "threads": 1,
        "splits": True, **changes,
    }  # fmt: skip
    return Limits(**values)


def test_no_more_batches_wait_than_may():
    batcher, ctx = Batcher(_limits()), KernelContext("batch", {}, ResourceManager())
    runs, may_end = threading.Event(), threading.Event()

    def run(columns, step):
        runs.set()
        may_end.wait(60)
        return columns

    def call():
        return batcher.call(ctx, [np.ones(1)], run)

    first = threading.Thread(target=call)
    first.start()
    assert runs.wait(60)
    second = threading.Thread(target=call)
    second.start()
    with batcher._changed:
        assert batcher._changed.wait_for(lambda: batcher._waiting == 1, 60)
    with pytest.raises(tf.errors.UnavailableError, match="1 batches wait, and max_enqueued"):
        call()
    may_end.set()
    first.join()
    second.join()
    assert call().outputs[0].tolist() == [1.0]


def _slow(seconds, ran):
    """A graph's call of a function that takes a while, joined with others'."""

    def wait(rows):
        ran.append(len(rows))
        time.sleep(seconds)
        return rows

    @tf.nondifferentiable_batch_function(1, 2, MINUTE)
    def function(x):
        y = tf.numpy_function(wait, [x], tf.float32)
        y.set_shape([None])
        return tf.identity(y) * 2.0

    x = v1.placeholder(tf.float32, [None])
    return x, function(x)


@pytest.mark.parametrize("late", [0, 1])
def test_a_deadline_of_one_call_is_no_matter_of_the_others(late):
    ran = []
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = _slow(0.5, ran)

        def call(i):
            options = v1.RunOptions(timeout_in_ms=250) if i == late else None
            return session.run(y, {x: [i]}, options=options)

        found = _in_threads([lambda: call(0), lambda: call(1)])
    assert type(found[late]) is tf.errors.DeadlineExceededError
    assert found[1 - late].tolist() == [2.0 * (1 - late)]
    assert ran == [2]


def test_a_batch_ends_when_all_who_called_have_ended():
    with tf.Graph().as_default():
        queue = tf.queue.FIFOQueue(1, [tf.float32], [[]])  # nobody puts anything into it
        begun = threading.Event()

        @tf.nondifferentiable_batch_function(1, 2, MINUTE)
        def function(x):
            ready = tf.numpy_function(lambda a: (begun.set(), a)[1], [x], tf.float32)
            with tf.control_dependencies([ready]):
                return x + queue.dequeue()

        x = v1.placeholder(tf.float32, [None])
        y = function(x)
        session = v1.Session()
        calls = [lambda: session.run(y, {x: [1.0]})] * 2

        def close():
            assert begun.wait(60)
            session.close()

        found = _in_threads([*calls, close])
    assert [type(problem) for problem in found[:2]] == [tf.errors.CancelledError] * 2


def test_an_interrupt_is_for_the_call_that_ran_the_batch():
    batcher = Batcher(_limits(max_batch_size=2, timeout=60.0))
    ctx = KernelContext("batch", {}, ResourceManager())

    def run(columns, step):
        raise KeyboardInterrupt

    def call():
        try:
            return batcher.call(ctx, [np.ones(1)], run)
        except KeyboardInterrupt:
            return "interrupted"

    found = sorted(_in_threads([call, call]), key=str)
    assert found[1] == "interrupted"
    assert type(found[0]) is tf.errors.CancelledError
    assert "was interrupted" in str(found[0])
