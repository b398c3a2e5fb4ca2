"""Steps whose rows make one batch, and get their part of it back."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

import penstock as tf
from penstock.core.kernels import KernelContext
from penstock.ops import unbatching
from penstock.runtime.batching import Batcher, Limits

v1 = tf.compat.v1
raw = tf.raw_ops
INVALID = tf.errors.InvalidArgumentError
SETTINGS = {"num_batch_threads": 1, "batch_timeout_micros": 30_000_000, "grad_timeout_micros": 0}
LONG = 60_000_000  # microseconds that nothing needs


class Program:
    """A step that batches its rows, and takes them apart."""

    def __init__(self, **attrs):
        with tf.Graph().as_default() as self.graph:
            self.x = v1.placeholder(tf.float32)
            self.batch = raw.Batch(in_tensors=[self.x, self.x + 1.0], **SETTINGS | attrs)
            first = self.batch.batched_tensors[0]
            index, number = self.batch.batch_index, self.batch.id
            self.back = raw.Unbatch(
                batched_tensor=first * 10.0, batch_index=index, id=number, timeout_micros=LONG
            )
            self.slope = tf.gradients(self.back * 3.0, first)[0]

    def run(self, *calls):
        """What each of several steps got, which ran at once: results, or the error."""
        found = [None] * len(calls)
        with v1.Session(graph=self.graph) as session:

            def step(i):
                try:
                    found[i] = session.run([self.batch, self.back, self.slope], {self.x: calls[i]})
                except tf.errors.OpError as problem:
                    found[i] = problem

            threads = [threading.Thread(target=step, args=(i,)) for i in range(len(calls))]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
        return found


def test_rows_of_two_steps_are_one_batch():
    calls = np.full((1, 2), 1.0), np.full((2, 2), 2.0)
    found = Program(max_batch_size=3).run(*calls)  # full, so it waits for no timeout
    whole = next(f for f in found if len(f[0].batch_index))
    other = next(f for f in found if f is not whole)
    batch, _, slope = whole
    assert batch.batched_tensors[0].shape == (3, 2)
    np.testing.assert_array_equal(batch.batched_tensors[1], batch.batched_tensors[0] + 1)
    ids = batch.batch_index[:, 0].tolist()
    assert ids[-1] == batch.id  # the last to come goes on with the batch
    assert ids[0] == other[0].id
    assert batch.batch_index[:, 1:].tolist() in ([[0, 1], [1, 3]], [[0, 2], [2, 3]])
    assert other[0].batched_tensors[0].shape == (0, 2)
    assert other[0].batch_index.shape == (0, 3)
    for (_, back, _), call in zip(found, calls, strict=True):
        np.testing.assert_array_equal(back, call * 10)
    np.testing.assert_array_equal(slope, np.full((3, 2), 30.0))
    assert other[2].shape == (0, 2)


def test_a_batch_is_padded_to_a_size_that_is_allowed():
    padded = Program(max_batch_size=4, allowed_batch_sizes=[2, 4], batch_timeout_micros=0)
    with v1.Session(graph=padded.graph) as session:
        batch, back = session.run([padded.batch, padded.back], {padded.x: np.ones((3, 2))})
    assert batch.batched_tensors[0].shape == (4, 2)
    assert batch.batch_index.tolist() == [[batch.id, 0, 3]]
    assert back.shape == (3, 2)


def test_steps_without_rows_and_with_too_many():
    [[batch, back, _]] = Program(max_batch_size=4).run(np.zeros((0, 2)))
    assert batch.batched_tensors[0].shape == back.shape == (0, 2)
    [problem] = Program(max_batch_size=4).run(np.ones((5, 2)))
    assert isinstance(problem, INVALID)
    assert "Task size 5 is larger than maximum input batch size 4" in problem.message
    for problem in Program(max_batch_size=2).run(np.ones((1, 2)), np.ones((1, 3))):
        assert isinstance(problem, INVALID)
        assert "should match" in problem.message


def unbatch(rows, index, number, micros=1000, **attrs):
    return raw.Unbatch(batched_tensor=np.float32(rows), batch_index=np.int64(index),
                       id=np.int64(number), timeout_micros=micros, **attrs)  # fmt: skip


def test_rows_wait_for_the_step_that_they_are_of():
    index = [[8, 0, 1], [7, 1, 3]]
    assert unbatch([[1], [2], [3]], index, 7, shared_name="a").numpy().tolist() == [[2], [3]]
    nothing = np.zeros((0, 1)), np.zeros((0, 3))
    assert unbatch(*nothing, 8, shared_name="a").numpy().tolist() == [[1]]
    with pytest.raises(tf.errors.DeadlineExceededError, match="within timeout window"):
        unbatch(*nothing, 9, shared_name="a")
    assert unbatch([[4], [5]], [[9, 0, 1], [6, 1, 2]], 6, shared_name="a").numpy() == [[5]]
    with pytest.raises(tf.errors.DeadlineExceededError):
        unbatch(*nothing, 9, shared_name="a")  # it had given up


@pytest.mark.parametrize(
    ("rows", "index", "number", "text"),
    [
        ([[1]], [[7, 0]], 7, "Wrong shape for index tensor"),
        ([[1]], [7, 0, 1], 7, "Wrong shape for index tensor"),
        (1, [[7, 0, 1]], 7, "at least one dimension"),
        ([[1]], [[7, 0, 1]], [7], "id should be scalar"),
        ([[1]], [[7, 0, 1], [8, 0, 2]], 7, "Sum of split sizes"),
    ],
)
def test_what_unbatch_refuses(rows, index, number, text):
    with pytest.raises(INVALID, match=text):
        unbatch(rows, index, number)


def test_gradients_meet_where_the_batch_is():
    def grad(index, rows, number):
        return raw.UnbatchGrad(original_input=np.zeros((2, 1), np.float32), shared_name="g",
                               batch_index=np.int64(index).reshape(-1, 3),
                               grad=np.float32(rows), id=np.int64(number))  # fmt: skip

    assert grad([], [[4], [5]], 8).shape == (0, 1)
    joined = grad([[8, 0, 2], [9, 2, 3]], [[6]], 9)
    assert joined.numpy().tolist() == [[4], [5], [6]]
    with pytest.raises(INVALID, match="gradient must have at least one dimension"):
        grad([], 1, 8)


def test_shapes_in_graphs():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2, 3])
        batch = raw.Batch(in_tensors=[x], max_batch_size=4, **SETTINGS)
        assert batch.batched_tensors[0].shape.as_list() == [None, 3]
        assert batch.batch_index.shape.as_list() == [None, 3]
        back = raw.Unbatch(batched_tensor=batch.batched_tensors[0], id=batch.id,
                           batch_index=batch.batch_index, timeout_micros=1)  # fmt: skip
        assert back.shape.as_list() == [None, 3]
        slope = tf.gradients(batch.batched_tensors, x)[0]
        assert slope.op.type == "Unbatch"
        with pytest.raises(ValueError, match="at least rank 1"):
            raw.Batch(in_tensors=[1.0], max_batch_size=4, **SETTINGS)


def joined(op_name, timeout=60.0, size=3):
    """A batcher of the runtime, and what calls it for a row of its own."""
    made = Batcher(Limits(size, timeout, (), 10, 1, splits=False))
    return made, lambda step, row: made.call(
        KernelContext(op_name, {}, None, "", step), [np.full(1, row)], lambda columns, _: columns
    )


def test_the_batch_is_not_kept_for_a_call_that_gave_up():
    made, call = joined("batch")
    found = []
    first = threading.Thread(target=lambda: found.append(call(None, 1.0)))
    first.start()
    while made._open is None or not made._open.callers:
        pass

    class Ended:  # a step that is cancelled as soon as it waits, and with it the batch is closed
        @staticmethod
        def wait(condition, ready, what):
            made._close(made._open)
            raise tf.errors.CancelledError(None, None, what)

    with pytest.raises(tf.errors.CancelledError):
        call(Ended, 2.0)
    first.join()
    (part,) = found
    assert part.keeps
    assert (part.start, part.stop, part.size) == (0, 1, 2)


def test_a_full_batch_leaves_no_thread_that_waits_for_its_time():
    _, call = joined("batch", size=1)
    before = set(threading.enumerate())
    for i in range(3):
        call(None, float(i))
    for each in set(threading.enumerate()) - before:
        if each.name == "batch timeout":
            each.join(50)  # below the timeout: those that were not cancelled stay
            assert not each.is_alive()


def test_what_nobody_comes_for_is_dropped_in_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(unbatching, "time", SimpleNamespace(monotonic=lambda: now[0]))
    exchange = unbatching._Exchange()
    with exchange.lock:
        exchange.leave(1, "rows", 5.0)
        exchange.give_up([2], 5.0)
        now[0] = 104.0
        exchange.leave(1, "newer", 5.0)  # a number that is used again
        exchange.leave(3, "others", 5.0)
        now[0] = 106.0
        exchange.leave(4, "more", 5.0)
        assert exchange.rows == {1: "newer", 3: "others", 4: "more"}
        assert not exchange.gone
        now[0] = 110.0
        exchange.leave(5, "last", 5.0)
        assert exchange.rows == {4: "more", 5: "last"}
        assert len(exchange._until) == len(exchange._left) == 2


def test_gradients_for_a_batch_that_failed_are_not_kept():
    with tf.Graph().as_default(), v1.Session() as session:
        index = v1.placeholder(tf.int64, [None, 3])
        number = v1.placeholder(tf.int64, [])
        rows = np.ones((1, 1), np.float32)
        grad = raw.UnbatchGrad(original_input=rows, batch_index=index, grad=rows, id=number)
        nothing = np.zeros((0, 3))
        assert session.run(grad, {index: nothing, number: 1}).shape == (0, 1)
        limit = v1.RunOptions(timeout_in_ms=30)
        batch = {index: [[1, 0, 1], [2, 1, 2], [3, 2, 3]], number: 2}
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(grad, batch, limit)
        session.run(grad, {index: nothing, number: 3})  # the batch is gone
        (exchange,) = [r for _, r in session._direct.resources.items()]
        assert exchange.rows == {}
        assert exchange.gone == set()


def _gradients():
    """The gradient of a batch: its index and number are fed."""
    index = v1.placeholder(tf.int64, [None, 3])
    number = v1.placeholder(tf.int64, [])
    rows = np.ones((1, 1), np.float32)
    return index, number, raw.UnbatchGrad(
        original_input=rows, batch_index=index, grad=rows, id=number
    )  # fmt: skip


def test_gradients_that_nobody_takes_are_dropped_in_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(unbatching, "time", SimpleNamespace(monotonic=lambda: now[0]))
    nothing = np.zeros((0, 3))
    with tf.Graph().as_default(), v1.Session() as session:
        index, number, grad = _gradients()
        for i in range(3):
            session.run(grad, {index: nothing, number: i})  # the call with the batch failed
        (exchange,) = [r for _, r in session._direct.resources.items()]
        assert sorted(exchange.rows) == [0, 1, 2]
        now[0] += unbatching.UNCLAIMED + 1.0
        session.run(grad, {index: nothing, number: 3})
        assert sorted(exchange.rows) == [3]


def test_a_batch_does_not_wait_for_ever_for_gradients(monkeypatch):
    monkeypatch.setattr(unbatching, "UNCLAIMED", 0.05)
    with tf.Graph().as_default(), v1.Session() as session:
        index, number, grad = _gradients()
        with pytest.raises(tf.errors.DeadlineExceededError, match="did not arrive within"):
            session.run(grad, {index: [[1, 0, 1], [2, 1, 2]], number: 1})
