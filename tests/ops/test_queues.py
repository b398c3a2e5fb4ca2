"""Queues: order, batches, waiting, closing, sharing, contents in checkpoints."""

import contextlib
import gc
import random
import threading
import time

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.core.kernels import KernelContext
from penstock.core.resources import eager_resources
from penstock.ops.queue_kinds import FifoQueue, PaddingFifoQueue, PriorityQueue, ShuffleQueue
from penstock.ops.queue_state import own_copy
from penstock.runtime.step import Step
from penstock.types import dtypes as dt

v1 = tf.compat.v1


def values(tensors):
    return [np.asarray(t).tolist() for t in tensors]


def after(seconds, function):
    thread = threading.Timer(seconds, function)
    thread.start()
    return thread


# ---- eager


def test_first_in_first_out():
    queue = tf.queue.FIFOQueue(8, [tf.int32, tf.float32], shapes=[(), (2,)])
    queue.enqueue((1, [1.0, 2.0]))
    queue.enqueue_many(([2, 3, 4], [[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]))
    assert int(queue.size()) == 4
    assert values(queue.dequeue()) == [1, [1.0, 2.0]]
    assert values(queue.dequeue_many(2)) == [[2, 3], [[3.0, 4.0], [5.0, 6.0]]]
    assert [t.shape for t in queue.dequeue_many(0)] == [(0,), (0, 2)]
    queue.enqueue((5, [0.0, 0.0]))
    assert values(queue.dequeue_many(2))[0] == [4, 5]


def test_what_is_put_is_copied():
    queue = tf.queue.FIFOQueue(8, tf.int32, shapes=[(2,)])
    array = np.array([[1, 2]], np.int32)
    queue.enqueue_many(array)
    array[:] = 0
    assert queue.dequeue().numpy().tolist() == [1, 2]


@pytest.mark.parametrize("dtype", ["uint8", "bool", "float32", "complex128", "bfloat16", "string"])
@pytest.mark.parametrize("rows", [0, 1, 2, 700, 70_000])  # by way of NumPy, and without
def test_copies_of_every_size_are_their_own(dtype, rows):
    wanted = tf.as_dtype(dtype).as_numpy_dtype
    given = np.arange(3 * rows).reshape(rows, 3).astype(wanted)
    for array in (given, given[::2], given.T, given[:, 1]):
        copied = own_copy(array)
        assert copied.dtype == array.dtype
        np.testing.assert_array_equal(copied, array)
        assert copied.flags.writeable
        assert not np.shares_memory(copied, given)


def test_closing():
    queue = tf.queue.FIFOQueue(8, tf.int32, shapes=[()])
    queue.enqueue_many([[1, 2]])
    assert not bool(queue.is_closed())
    queue.close()
    with pytest.raises(errors.CancelledError, match=r"FIFOQueue '.*' is already closed"):
        queue.close()
    queue.close(cancel_pending_enqueues=True)  # as in TensorFlow
    assert bool(queue.is_closed())
    with pytest.raises(errors.CancelledError, match=r"FIFOQueue '.*' is closed"):
        queue.enqueue(3)
    queue.enqueue_many(np.zeros(0, np.int32))
    with pytest.raises(errors.OutOfRangeError, match=r"requested 3, current size 2"):
        queue.dequeue_many(3)
    assert queue.dequeue_up_to(3).numpy().tolist() == [1, 2]
    with pytest.raises(errors.OutOfRangeError, match=r"requested 1, current size 0"):
        queue.dequeue()
    with pytest.raises(errors.OutOfRangeError):
        queue.dequeue_up_to(3)


def test_names():
    queue = tf.queue.FIFOQueue(3, [tf.int32, tf.string], names=["a", "b"], shapes=[(), ()])
    queue.enqueue({"a": 1, "b": "x"})
    found = queue.dequeue()
    assert int(found["a"]) == 1
    assert found["b"].numpy() == b"x"
    with pytest.raises(ValueError, match="enqueue a dictionary"):
        queue.enqueue([1, "x"])
    with pytest.raises(ValueError, match="do not match names"):
        queue.enqueue({"a": 1, "c": "x"})
    with pytest.raises(ValueError, match="same length as the list of dtypes"):
        tf.queue.FIFOQueue(3, [tf.int32], names=["a", "b"])


def test_components_that_do_not_fit():
    queue = tf.queue.FIFOQueue(3, [tf.int32, tf.float32], shapes=[(), (2,)])
    with pytest.raises(ValueError, match=r"component 1 of queue"):
        queue.enqueue((1, [1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match=r"not compatible|incompatible"):
        queue.enqueue_many(([1], [[1.0, 2.0]] * 2))
    with pytest.raises(errors.InvalidArgumentError, match="expected 2 components, got 1"):
        queue.enqueue((1,))
    with pytest.raises(ValueError, match="expected 2 components, got 3"):
        queue.enqueue((1, [1.0, 2.0], 5))
    raw = tf.raw_ops.QueueEnqueueV2
    with pytest.raises(errors.InvalidArgumentError, match=r"component 1 of dtype float32, got int"):
        raw(handle=queue.queue_ref, components=[1, [1, 2]])
    with pytest.raises(errors.InvalidArgumentError, match=r"Shape mismatch in tuple component 1"):
        raw(handle=queue.queue_ref, components=[1, [1.0]])
    with pytest.raises(errors.InvalidArgumentError, match="specified shapes"):
        tf.queue.FIFOQueue(3, tf.int32).dequeue_many(1)


@pytest.mark.parametrize(
    ("value", "kind"), [("a", TypeError), (tf.constant(1.0), ValueError), ([1], ValueError)]
)
@pytest.mark.parametrize("eager", [True, False])
def test_what_does_not_fit_is_named_by_its_component(value, kind, eager):
    with contextlib.nullcontext() if eager else tf.Graph().as_default():
        queue = tf.queue.FIFOQueue(2, [tf.string, tf.int32], [(), ()], name="pairs")
        with pytest.raises(kind, match="component 1 of queue 'pairs"):
            queue.enqueue(("a", value))


def test_padding():
    queue = tf.queue.PaddingFIFOQueue(5, [tf.int32, tf.string], shapes=[(None, 2), (None,)])
    queue.enqueue(([[1, 2]], ["a", "b"]))
    queue.enqueue(([[1, 2], [3, 4]], []))
    numbers, words = queue.dequeue_many(2)
    assert numbers.numpy().tolist() == [[[1, 2], [0, 0]], [[1, 2], [3, 4]]]
    assert words.numpy().tolist() == [[b"a", b"b"], [b"", b""]]
    assert [t.shape for t in queue.dequeue_many(0)] == [(0, 0, 2), (0, 0)]
    with pytest.raises(ValueError, match="a list of shapes must be provided"):
        tf.queue.PaddingFIFOQueue(5, tf.int32, shapes=None)


def test_priorities():
    queue = tf.queue.PriorityQueue(10, [tf.string], shapes=[()])
    for priority, word in [(3, "c"), (1, "a"), (2, "b"), (1, "a2"), (-5, "z")]:
        queue.enqueue((priority, word))
    numbers, words = queue.dequeue_many(4)
    assert numbers.numpy().tolist() == [-5, 1, 1, 2]
    assert words.numpy().tolist() == [b"z", b"a", b"a2", b"b"]
    assert int(queue.dequeue()[0]) == 3


def test_shuffling_follows_tensorflows_random_numbers():
    tf.random.set_seed(1)
    queue = tf.queue.RandomShuffleQueue(100, 0, tf.int32, shapes=[()], seed=2)
    queue.enqueue_many([list(range(20))])
    assert queue.dequeue_many(7).numpy().tolist() == [19, 7, 6, 1, 3, 16, 14]
    assert int(queue.dequeue()) == 11
    rest = [5, 13, 4, 2, 8, 18, 9, 15, 0, 17, 10, 12]
    assert queue.dequeue_many(12).numpy().tolist() == rest


def test_some_stay_behind_while_a_shuffle_queue_is_open():
    queue = tf.queue.RandomShuffleQueue(10, 2, tf.int32, shapes=[()], seed=1)
    queue.enqueue_many([[1, 2, 3]])
    first = int(queue.dequeue())
    after(0.01, queue.close)
    rest = queue.dequeue_many(2).numpy().tolist()  # waits for the end
    assert sorted([first, *rest]) == [1, 2, 3]
    with pytest.raises(errors.InvalidArgumentError, match="below the capacity"):
        tf.queue.RandomShuffleQueue(5, 7, tf.int32)


def test_a_queue_in_a_function():
    queue = tf.queue.FIFOQueue(10, tf.int32, shapes=[()])

    @tf.function
    def step(x):
        queue.enqueue(x)
        queue.enqueue(x + 1)
        return queue.dequeue(), queue.size()

    assert values(step(tf.constant(4))) == [4, 1]
    assert values(step(tf.constant(7))) == [5, 2]


def test_one_of_several():
    queues = [tf.queue.FIFOQueue(3, tf.int32, shapes=[()]) for _ in range(2)]
    chosen = tf.queue.QueueBase.from_list(1, queues)
    chosen.enqueue(5)
    assert values(q.size() for q in queues) == [0, 1]
    with pytest.raises(TypeError, match="matching component dtypes"):
        tf.queue.QueueBase.from_list(0, [queues[0], tf.queue.FIFOQueue(3, tf.float32)])
    with pytest.raises(TypeError, match="list of queues"):
        tf.queue.QueueBase.from_list(0, [queues[0], 3])


# ---- sessions


def test_names_and_shapes_in_a_graph():
    with tf.Graph().as_default():
        queue = v1.FIFOQueue(3, [tf.int32, tf.float32], shapes=[(), (2,)], name="q")
        with tf.name_scope("sc"):
            put = queue.enqueue((1, [1.0, 2.0]))
            many = queue.dequeue_many(2)
            some = queue.dequeue_up_to(2)
        assert (queue.name, put.name, many[0].name) == ("q", "sc/q_enqueue", "sc/q_DequeueMany:0")
        assert [t.shape.as_list() for t in (*many, *some)] == [[2], [2, 2], [None], [None, 2]]
        with pytest.raises(ValueError, match="incompatible"):
            queue.enqueue((1, [1.0]))
        shared = v1.RandomShuffleQueue(9, 0, tf.int32, shared_name="abc")
        assert shared.queue_ref.op.get_attr("seed2") == 0
        v1.set_random_seed(3)
        shared = v1.RandomShuffleQueue(9, 0, tf.int32, shared_name="abc")
        assert shared.queue_ref.op.get_attr("seed2") == 793763995  # as TensorFlow's


def test_sharing_by_name():
    with tf.Graph().as_default():
        one = v1.FIFOQueue(3, tf.int32, shapes=[()], shared_name="s")
        other = v1.FIFOQueue(3, tf.int32, shapes=[()], shared_name="s")
        put, taken = one.enqueue(4), other.dequeue()
        larger = v1.FIFOQueue(4, tf.int32, shapes=[()], shared_name="s").size()
        random_one = v1.RandomShuffleQueue(3, 0, tf.int32, shapes=[()], shared_name="s").size()
        with v1.Session() as session:
            session.run(put)
            assert session.run(taken) == 4
            with pytest.raises(errors.InvalidArgumentError, match="capacity 3 but requested"):
                session.run(larger)
            with pytest.raises(errors.InvalidArgumentError, match="kind FIFOQueue but requested"):
                session.run(random_one)


@pytest.mark.parametrize("name", ["FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue"])
def test_queues_by_string_reference(name):
    raw = tf.raw_ops
    with tf.Graph().as_default():
        more = {"container": "", "shared_name": ""}
        queue = getattr(raw, name)(component_types=[tf.int32], shapes=[[]], capacity=9, **more)
        put = raw.QueueEnqueue(handle=queue, components=[7])
        many = raw.QueueEnqueueMany(handle=queue, components=[[8, 9]])
        size = raw.QueueSize(handle=queue)
        closed = raw.QueueIsClosed(handle=queue)
        one = raw.QueueDequeue(handle=queue, component_types=[tf.int32])
        two = raw.QueueDequeueMany(handle=queue, n=1, component_types=[tf.int32])
        rest = raw.QueueDequeueUpTo(handle=queue, n=5, component_types=[tf.int32])
        close = raw.QueueClose(handle=queue)
        with v1.Session() as session:
            session.run(put)
            session.run(many)
            assert session.run(size) == 3
            found = [session.run(one)[0], session.run(two)[0][0]]
            session.run(close)
            assert session.run(closed)
            assert sorted([*found, *session.run(rest)[0]]) == [7, 8, 9]


def test_a_priority_queue_by_string_reference():
    with tf.Graph().as_default():
        queue = tf.raw_ops.PriorityQueue(component_types=[tf.string], shapes=[[]])
        puts = [tf.raw_ops.QueueEnqueue(handle=queue, components=[n, w]) for n, w in
                ((tf.constant(2, tf.int64), "b"), (tf.constant(1, tf.int64), "a"))]  # fmt: skip
        taken = tf.raw_ops.QueueDequeue(handle=queue, component_types=[tf.int64, tf.string])
        with v1.Session() as session:
            for put in puts:
                session.run(put)
            assert session.run(taken) == [1, b"a"]


def test_deadlines_give_back_what_was_taken():
    with tf.Graph().as_default(), v1.Session() as session:
        queue = v1.FIFOQueue(3, tf.int32, shapes=[()])
        put, many, size = queue.enqueue(1), queue.dequeue_many(2), queue.size()
        session.run(put)
        soon = v1.RunOptions(timeout_in_ms=20)
        with pytest.raises(errors.DeadlineExceededError, match="DequeueMany"):
            session.run(many, options=soon)
        assert session.run(size) == 1
        session.run(put)
        assert session.run(many).tolist() == [1, 1]


def test_closing_a_session_wakes_those_who_wait():
    with tf.Graph().as_default():
        taken = v1.FIFOQueue(3, tf.int32, shapes=[()]).dequeue()
        session = v1.Session()
        after(0.02, session.close)
        with pytest.raises(errors.CancelledError):
            session.run(taken)


def test_a_batch_may_be_larger_than_the_queue():
    with tf.Graph().as_default(), v1.Session() as session:
        queue = v1.FIFOQueue(2, tf.int32, shapes=[()])
        put, taken = queue.enqueue_many([list(range(10))]), queue.dequeue_many(10)
        thread = after(0, lambda: session.run(put))
        assert session.run(taken).tolist() == list(range(10))
        thread.join()


def test_one_step_may_put_and_take():
    with tf.Graph().as_default(), v1.Session() as session:
        queue = v1.FIFOQueue(1, tf.int32, shapes=[()])
        taken, put = queue.dequeue(), queue.enqueue(3)
        assert session.run([taken, put])[0] == 3


def test_closing_serves_or_cancels_those_who_wait():
    with tf.Graph().as_default(), v1.Session() as session:
        queue = v1.FIFOQueue(1, tf.int32, shapes=[()])
        put, size, taken = queue.enqueue(1), queue.size(), queue.dequeue()
        outcome = []

        def wait_to_put():
            try:
                session.run(put)
                outcome.append("put")
            except errors.CancelledError:
                outcome.append("cancelled")

        def start(function):
            session.run(put)
            threads = [threading.Thread(target=wait_to_put)]
            threads[0].start()
            held = queue_of(session)
            while not held._puts:
                time.sleep(0.001)
            threads.append(threading.Thread(target=lambda: session.run(function)))
            threads[1].start()
            return threads

        def queue_of(session):
            return next(r for _, r in session._direct.resources.items())

        threads = start(queue.close())
        assert session.run(taken) == 1
        for thread in threads:
            thread.join()
        assert outcome == ["put"]
        assert session.run(taken) == 1
        queue_of(session).closed = False
        for thread in start(queue.close(cancel_pending_enqueues=True)):
            thread.join()
        assert outcome == ["put", "cancelled"]
        assert session.run(size) == 1


# ---- contents in checkpoints


@pytest.mark.parametrize("kind", ["fifo", "padding", "shuffle", "priority"])
def test_contents_come_back(kind, tmp_path):
    def make():
        if kind == "fifo":
            return tf.queue.FIFOQueue(9, [tf.int64, tf.string])
        if kind == "padding":
            return tf.queue.PaddingFIFOQueue(9, [tf.int64, tf.string], shapes=[(), (None,)])
        if kind == "shuffle":
            return tf.queue.RandomShuffleQueue(9, 0, [tf.int64, tf.string], seed=3)
        return tf.queue.PriorityQueue(9, [tf.string], shapes=None)

    queue = make()
    for number, words in [(3, ["a"]), (1, ["b", "c"]), (2, [])]:
        queue.enqueue((tf.constant(number, tf.int64), tf.constant(words, tf.string)))
    path = tf.train.Checkpoint(queue=queue).save(str(tmp_path / "c"))
    wanted = [values(queue.dequeue()) for _ in range(3)]
    other = make()
    other.enqueue((tf.constant(9, tf.int64), tf.constant(["z"])))
    tf.train.Checkpoint(queue=other).restore(path).assert_consumed()
    assert int(other.size()) == 3
    assert [values(other.dequeue()) for _ in range(3)] == wanted


def test_contents_of_another_queue_are_refused(tmp_path):
    queue = tf.queue.FIFOQueue(9, tf.int32)
    path = tf.train.Checkpoint(queue=queue).save(str(tmp_path / "c"))
    other = tf.queue.PaddingFIFOQueue(9, tf.int32, shapes=[()])
    with pytest.raises(errors.InvalidArgumentError, match="a PaddingFIFOQueue with 1 components"):
        tf.train.Checkpoint(queue=other).restore(path)
    with pytest.raises(errors.DataLossError, match="expected its state"):
        tf.raw_ops.PenstockRestoreQueue(handle=queue.queue_ref, state=[b"{}"])


def test_a_negative_number_of_elements_is_refused_while_a_graph_is_built():
    with tf.Graph().as_default():
        queue = tf.queue.FIFOQueue(3, tf.float32, [[]])
        for take in (queue.dequeue_many, queue.dequeue_up_to):
            with pytest.raises(ValueError, match="Input 'n' must be >= 0"):
                take(-1)


# ---- schedules


def make_state(rng):
    kind = rng.choice([FifoQueue, PaddingFifoQueue, ShuffleQueue, PriorityQueue])
    more = (rng.randrange(2), (rng.randrange(1, 9), 1)) if kind is ShuffleQueue else ()
    return kind("q", (dt.int64,), ((),), rng.randrange(2, 5), *more)


class Script:
    """A queue, a few threads with calls to make on it, and what came of them."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.queue = make_state(self.rng)
        self.steps = []
        self.put, self.taken, self.wrong = [], [], []
        self.lock = threading.Lock()

    def call(self, what, number):
        step = Step(None)
        attrs = {"Tcomponents": (dt.int64,), "component_types": (dt.int64,)}
        context = KernelContext(what, attrs, None, step=step)
        with self.lock:
            self.steps.append(step)
        batch = np.arange(number * 10, number * 10 + self.rng.randrange(1, 4), dtype=np.int64)
        try:
            if what == "put":
                self.queue.enqueue_many(context, [batch])
                self.put += batch.tolist()
            elif what == "close":
                self.queue.close_for_puts(context, number % 2 == 0)
            elif what == "cancel":
                self.rng.choice(self.steps).cancel("the test says so")
            else:
                self.taken += self.queue.dequeue_many(context, number % 4, number % 3 == 0)[
                    0
                ].tolist()
        except (errors.CancelledError, errors.OutOfRangeError):
            self.put += batch.tolist() if what == "put" else []  # some may have gone in
        except Exception as problem:
            self.wrong.append(problem)

    def run(self):
        kinds = ["put"] * 4 + ["take"] * 4 + ["cancel"]
        calls = [(self.rng.choice(kinds), i) for i in range(10)]
        threads = [
            threading.Thread(target=lambda part=calls[i::3]: [self.call(*c) for c in part])
            for i in range(3)
        ]
        for thread in threads:
            thread.daemon = True
            thread.start()
        return threads

    def finish(self, threads):
        self.call("close", 2)
        for thread in threads:
            thread.join(20)
        return not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("first", range(0, 1000, 250))
def test_schedules_end(first):
    """Producers, consumers, close and cancel, in random order: nobody waits for ever."""
    for seed in range(first, first + 250):
        script = Script(seed)
        assert script.finish(script.run()), f"seed {seed} hangs"
        assert not script.wrong, f"seed {seed}: {script.wrong}"
        left = [int(row[0]) for row in script.queue.rows()]
        assert len(set(script.taken + left)) == len(script.taken) + len(left), f"seed {seed}"
        assert set(script.taken + left) <= set(script.put), f"seed {seed}"
        assert not script.queue._puts
        assert not script.queue._takes


# ---- queues that functions make


def make_fifo():
    return tf.queue.FIFOQueue(10, tf.float32, shapes=[()])


def make_padding():
    return tf.queue.PaddingFIFOQueue(10, tf.float32, shapes=[()])


def make_shuffle():
    return tf.queue.RandomShuffleQueue(10, 0, tf.float32, shapes=[()])


@pytest.mark.parametrize("make", [make_fifo, make_padding, make_shuffle])
def test_a_queue_that_a_function_makes_is_its_own_and_stays(make):
    def body(x):
        queue = make()
        queue.enqueue(x)
        return queue.size()

    one, other = tf.function(body), tf.function(body)
    assert [int(one(tf.constant(1.0))) for _ in range(3)] == [1, 2, 3]
    assert int(other(tf.constant(1.0))) == 1
    assert int(one(2.0)) == 1  # another trace
    outer = tf.function(lambda: (one(tf.constant(1.0)), one(tf.constant(1.0))))
    # As in TensorFlow, where FIFO queues alone are made outside of the function: a call that is
    # part of another function makes the others anew.
    assert [int(size) for size in outer()] == ([4, 5] if make is make_fifo else [1, 1])
    assert [int(size) for size in outer()] == ([6, 7] if make is make_fifo else [2, 2])


@pytest.mark.parametrize("make", [make_fifo, make_padding])
def test_a_queue_that_a_function_makes_goes_with_it(make):
    def body(x):
        make().enqueue(x)

    gc.collect()
    before = len(eager_resources.items())
    function = tf.function(body)
    function(tf.constant(1.0))
    assert len(eager_resources.items()) == before + 1
    del function
    gc.collect()
    assert len(eager_resources.items()) == before


def test_a_fifo_queue_that_a_function_makes_is_outside_of_it():
    made = []

    @tf.function
    def body(x):
        made.append(make_fifo())
        made[0].enqueue(x)

    body(3.0)
    assert float(made[0].dequeue()) == 3.0


def test_a_queue_in_a_function_has_the_seeds_of_its_graph():
    tf.random.set_seed(5)
    made = []

    @tf.function
    def order(x):
        made.append(tf.queue.RandomShuffleQueue(100, 0, tf.float32, shapes=[()], seed=3))
        made[0].enqueue_many([x])
        return made[0].dequeue_many(8)

    # TensorFlow 2.21's order
    np.testing.assert_array_equal(order(tf.range(8.0)), [2, 3, 7, 1, 5, 0, 4, 6])


def test_tables_of_functions_share_by_name_where_they_ask_for_it():
    def size(keys, by_name):
        table = tf.raw_ops.MutableHashTableV2(
            key_dtype=tf.int64, value_dtype=tf.int64, use_node_name_sharing=by_name
        )
        tf.raw_ops.LookupTableInsertV2(table_handle=table, keys=keys, values=keys)
        return tf.raw_ops.LookupTableSizeV2(table_handle=table)

    for by_name, wanted in ((True, [1, 2, 3]), (False, [1, 2, 1])):
        one, other = tf.function(size), tf.function(size)
        keys = [tf.constant([k], tf.int64) for k in range(3)]
        found = one(keys[0], by_name), one(keys[1], by_name), other(keys[2], by_name)
        assert [int(x) for x in found] == wanted


def test_a_queue_chosen_from_a_list_outlives_the_choice():
    queue = make_fifo()
    tf.queue.FIFOQueue.from_list(0, [queue]).enqueue(1.0)
    gc.collect()
    assert int(queue.size()) == 1


def test_what_is_put_and_counted_stands_in_the_operation_s_scope():
    with tf.Graph().as_default() as graph:
        queue = tf.queue.FIFOQueue(3, [tf.int32, tf.float32], shapes=[(), ()], name="q")
        queue.enqueue([1, 2.0]), queue.enqueue_many([[1], [2.0]], name="many")
        taken = queue.dequeue_many(2), queue.dequeue_up_to(2, name="some")
        names = [op.name for op in graph.get_operations()]
    assert names == [
        "q", "q_enqueue/component_0", "q_enqueue/component_1", "q_enqueue",
        "many/component_0", "many/component_1", "many",
        "q_DequeueMany/n", "q_DequeueMany", "some/n", "some",
    ]  # fmt: skip
    assert [t.shape.as_list() for pair in taken for t in pair] == [[2], [2], [None], [None]]
