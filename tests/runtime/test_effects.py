"""Recording the order of effects, and replaying asynchronous runs bit for bit."""

import os
import re
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest
from tests.runtime import hogwild

import penstock as tf
from penstock.core import determinism, effects
from penstock.core.effect_files import read_effects
from penstock.runtime import flow

v1 = tf.compat.v1
debug = tf.debugging.experimental
SOURCE = os.path.dirname(os.path.dirname(tf.__file__))


@pytest.fixture(autouse=True)
def nothing_is_left_on():
    yield
    if effects.switch.log is not None:
        effects.switch.log.close()
    assert not determinism.switch.fixed


def together(functions):
    """Runs each on a thread of its own; raises the first error."""
    problems = []

    def guarded(function):
        try:
            function()
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=guarded, args=(f,)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if problems:
        raise problems[0]


def twice(path, program, timeout=60):
    """What a program gives when it is recorded, and when that is replayed."""
    with debug.record_effects(path):
        first = program()
    with debug.replay_effects(path, timeout=timeout) as replay:
        second = program()
    assert replay.position == replay.count > 0
    return first, second


# ---- asynchronous runs


@pytest.mark.parametrize("seed", range(20))
def test_an_asynchronous_run_is_repeated_bit_for_bit(seed, tmp_path):
    first, second = twice(tmp_path / "log", lambda: hogwild.run(seed))
    assert sum(map(len, first[0].values())) == hogwild.ROWS // 3
    assert first == second


def test_order_is_what_the_log_says_not_what_time_says(tmp_path):
    """The thread that was fast is slow in the replay, and still comes first."""

    def program(delays):
        value = tf.Variable(1.0)

        def work(delay, factor, term):
            for _ in range(3):
                time.sleep(delay)
                value.assign(value * factor + term)

        together(
            [lambda: work(delays[0], 2.0, 0.0), lambda: work(delays[1], 1.0, 1.0)],
        )
        return float(value)

    with debug.record_effects(tmp_path / "log"):
        first = program((0.0, 0.05))
    assert first == 11.0
    with debug.replay_effects(tmp_path / "log"):
        assert program((0.05, 0.0)) == first


def test_eager_threads(tmp_path):
    def program():
        tf.random.set_seed(5)  # an earlier test may have set one
        table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)
        queue = tf.queue.RandomShuffleQueue(8, 0, [tf.int64], [[]])
        generator = tf.random.Generator.from_non_deterministic_state()
        found = [[] for _ in range(4)]

        def produce(number):
            for k in range(8):
                queue.enqueue(10 * number + k)
                found[number].append(float(generator.uniform([])))

        def consume(number):
            for k in range(8):
                key = queue.dequeue()
                table.insert(key % 5, key)
                found[number].append((int(key), int(table.lookup(tf.constant(k % 5, tf.int64)))))
                found[number].append(float(tf.random.uniform([])))

        together([lambda n=n: (produce if n < 2 else consume)(n) for n in range(4)])
        keys, values = table.export()
        return found, sorted(zip(keys.numpy().tolist(), values.numpy().tolist(), strict=True))

    first, second = twice(tmp_path / "log", program)
    assert first == second


def test_traced_functions_and_loops(tmp_path):
    value = tf.Variable([1.0, 2.0])

    @tf.function
    def update(factor):
        for _ in tf.range(3):
            value.assign(value * factor + tf.random.uniform([2]))
        return tf.reduce_sum(value)

    def program():
        tf.random.set_seed(5)
        value.assign([1.0, 2.0])
        found = {}

        def work(number):
            factor = tf.constant(0.5 + 0.1 * number)
            found[number] = [hogwild.bits(update(factor).numpy()) for _ in range(5)]

        together([lambda n=n: work(n) for n in range(3)])
        return found

    update(tf.constant(1.0))
    first, second = twice(tmp_path / "log", program)
    assert first == second


def coordinated(session, parts):
    """Runs lists of fetches on threads; what each gave, and the classes of errors."""
    found = {}

    def work(number, fetches, times):
        found[number] = given = []
        for _ in range(times):
            try:
                given.append([np.asarray(v).tolist() for v in session.run(fetches)])
            except tf.errors.OpError as problem:
                given.append(type(problem).__name__)

    together([lambda n=n, p=p: work(n, *p) for n, p in enumerate(parts)])
    return found


def test_accumulators_barriers_areas_and_mutexes(tmp_path):
    def program():
        with tf.Graph().as_default(), v1.Session() as session:
            step = v1.placeholder_with_default(tf.constant(0, tf.int64), [])
            accumulator = v1.ConditionalAccumulator(tf.float32, shape=[], reduction_type="SUM")
            noise = tf.random.uniform([])
            apply = accumulator.apply_grad(noise, local_step=step)
            with tf.control_dependencies([apply]):
                applied = tf.identity(noise)
            taken = accumulator.take_grad(2)
            stage = tf.raw_ops.Stage(values=[tf.random.uniform([])], capacity=2, shared_name="s")
            with tf.control_dependencies([stage]):
                staged = tf.constant(1)
            unstaged = tf.raw_ops.Unstage(dtypes=[tf.float32], capacity=2, shared_name="s")
            held = v1.get_variable("held", [], initializer=v1.zeros_initializer())
            section = tf.CriticalSection(name="section")
            grown = section.execute(lambda: held.assign(held * 2.0 + tf.random.uniform([])))
            session.run(v1.global_variables_initializer())
            # Gradients become stale as takes go on: how many are applied before each decides.
            parts = [([applied], 4)] * 2 + [([taken], 1), ([staged], 3), (unstaged, 3)]
            return coordinated(session, [*parts, ([grown], 4), ([grown], 4)])

    first, second = twice(tmp_path / "log", program)
    assert first == second


def test_what_a_close_cancels_is_cancelled_again(tmp_path):
    def program():
        with tf.Graph().as_default(), v1.Session() as session:
            queue = tf.queue.FIFOQueue(2, [tf.int32], [[]])
            put, take = queue.enqueue(tf.random.uniform([], 0, 99, tf.int32)), queue.dequeue()
            with tf.control_dependencies([put]):
                done = tf.constant(0)
            with tf.control_dependencies([queue.close(cancel_pending_enqueues=True)]):
                closed = tf.constant(1)
            return coordinated(session, [([done], 4), ([done], 4), ([take], 3), ([closed], 1)])

    for number in range(10):
        first, second = twice(tmp_path / f"log{number}", program)
        assert first == second


def test_the_time_is_that_of_the_recording(tmp_path):
    traced = tf.function(lambda: tf.timestamp() * 1.0)

    def program():
        with tf.Graph().as_default(), v1.Session() as session:
            third = session.run(tf.timestamp())
        return float(tf.timestamp()), float(traced()), float(third)

    first, second = twice(tmp_path / "log", program)
    assert first == second
    assert tf.timestamp() > max(first)


@pytest.mark.parametrize("traced", [False, True])
def test_calls_that_may_be_batches_together(traced, tmp_path):
    """Which call comes first, and at which moment it gets one of the threads, is repeated."""
    value = tf.Variable(1.0)

    @tf.nondifferentiable_batch_function(1, 2, 60_000_000)
    def batched(x):
        return x + value.assign(value * 0.5 + tf.reduce_sum(x) + tf.random.uniform([]))

    call = tf.function(batched) if traced else batched
    call(tf.ones([2]))

    def program(delays):
        tf.random.set_seed(5)
        value.assign(1.0)
        found = {}

        def work(number):
            found[number] = given = []
            for i in range(4):
                time.sleep(delays[number])
                given.append(call(tf.fill([2], float(number + i))).numpy().tolist())

        together([lambda n=n: work(n) for n in range(3)])
        return found, float(value)

    with debug.record_effects(tmp_path / "log"):
        first = program([0.02, 0.0, 0.01])
    with debug.replay_effects(tmp_path / "log") as replay:
        assert program([0.0, 0.02, 0.0]) == first
    assert replay.position == replay.count


def test_batches_of_several_calls_are_put_together_again(tmp_path):
    """Which calls came before the time was up, in which order, and which of them ran the batch."""
    value = tf.Variable(1.0)

    @tf.nondifferentiable_batch_function(2, 8, 30_000)
    def batched(x):
        rows = tf.cast(tf.shape(x)[0], tf.float32)
        total = value.assign(value * 0.5 + rows + tf.random.uniform([]))
        return x * total + tf.reduce_sum(x[:1])

    batched(tf.ones([8]))

    def program(delays):
        tf.random.set_seed(5)
        value.assign(1.0)
        found = {}

        def work(number):
            found[number] = given = []
            for i in range(4):
                time.sleep(delays[number] * (i + 1))
                given.append(batched(tf.fill([2], float(number + i))).numpy().tolist())

        together([lambda n=n: work(n) for n in range(5)])
        return found, float(value)

    with debug.record_effects(tmp_path / "log"):
        first = program([0.02, 0.0, 0.01, 0.005, 0.0])
    with debug.replay_effects(tmp_path / "log", timeout=60) as replay:
        assert program([0.0, 0.02, 0.0, 0.0, 0.03]) == first
    assert replay.position == replay.count


def test_the_thread_that_traces_is_the_same(tmp_path):
    """Seeds of operations and the shapes that traces are relaxed to follow from who is first."""

    def program(delays):
        tf.random.set_seed(3)
        other = tf.Variable(0.0)
        noted = []

        @tf.function(reduce_retracing=True)
        def draw(x):
            noted.append(x.shape)
            return x + other.assign_add(tf.reduce_sum(x)) + tf.random.uniform([])

        found = {}

        def work(number):
            time.sleep(delays[number])
            found[number] = [
                draw(tf.ones([size])).numpy().tolist() for size in (number, 2, 3, number + 1)
            ]

        together([lambda n=n: work(n) for n in range(4)])
        return found, [str(shape) for shape in noted]

    with debug.record_effects(tmp_path / "log"):
        first = program([0.06, 0.03, 0.0, 0.09])
    with debug.replay_effects(tmp_path / "log", timeout=60) as replay:
        assert program([0.0, 0.05, 0.1, 0.0]) == first
    assert replay.position == replay.count


def first_kind_loop(rounds, values, body, held, parallel=4):
    """A loop of the first kind, some of whose rounds run at once.

    `body` gets the round's number, the values and what is `held`; it gives the values.
    """
    raw, frame = tf.raw_ops, {"frame_name": "loop", "parallel_iterations": parallel}
    enters = [raw.Enter(data=v, **frame) for v in [tf.constant(0), *values]]
    one, limit, *held = [
        raw.Enter(data=h, is_constant=True, **frame) for h in [tf.constant(1), rounds, *held]
    ]
    merges = [raw.Merge(inputs=[e, e]).output for e in enters]
    go_on = raw.LoopCond(input=merges[0] < limit)
    switches = [raw.Switch(data=m, pred=go_on) for m in merges]
    count, *inner = [s.output_true for s in switches]
    count = tf.identity(count)
    for merge, value in zip(merges, [count + one, *body(count, *inner, *held)], strict=True):
        merge.op._update_input(1, raw.NextIteration(data=value))
    return [raw.Exit(data=s.output_false) for s in switches]


class LateThreads:
    """In place of a pool: each piece of work begins after a time of its own."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def submit(self, work):
        threading.Timer(self.rng.uniform(0, 0.05), work).start()


def test_rounds_that_run_at_once(tmp_path, monkeypatch):
    raw = tf.raw_ops

    def program(seed):
        pool = LateThreads(seed)
        monkeypatch.setattr(flow, "pools", types.SimpleNamespace(waiters=lambda: pool))
        with tf.Graph().as_default(), v1.Session() as session:
            value = v1.get_variable("v", [], initializer=v1.ones_initializer())
            queue = tf.queue.FIFOQueue(99, [tf.float32], [[]])

            def body(i, total, handle, half, source):
                with tf.control_dependencies([i]):
                    (found,) = raw.QueueDequeueV2(handle=source, component_types=[tf.float32])
                found = found * half + tf.cast(i, tf.float32)
                with tf.control_dependencies([found]):
                    read = raw.ReadVariableOp(resource=handle, dtype=tf.float32)
                written = raw.AssignVariableOp(resource=handle, value=read * half + found)
                with tf.control_dependencies([written]):
                    last = raw.ReadVariableOp(resource=handle, dtype=tf.float32)
                return [total + last]

            held = [value.handle, tf.constant(0.5), queue.queue_ref]
            loop = first_kind_loop(8, [tf.constant(0.0)], body, held)
            session.run(v1.global_variables_initializer())
            session.run(queue.enqueue_many([np.arange(12.0, dtype=np.float32) ** 2]))
            return session.run(loop), float(session.run(value))

    with debug.record_effects(tmp_path / "log"):
        first = program(0)
    for seed in range(1, 5):
        with debug.replay_effects(tmp_path / "log", timeout=60) as replay:
            assert program(seed) == first
        assert replay.position == replay.count


@pytest.mark.parametrize("kind", ["first", "function"])
def test_a_deadline_passes_in_the_round_where_it_passed(kind, tmp_path):
    def program(timeout_ms, pause):
        with tf.Graph().as_default(), v1.Session() as session:
            value = v1.get_variable("v", [], initializer=v1.zeros_initializer())
            session.run(value.initializer)
            rounds = []

            def wait(i):
                rounds.append(int(i))
                time.sleep(pause)
                return np.int32(1)

            def body(i):
                one = tf.numpy_function(wait, [i], tf.int32)
                one.set_shape([])
                with tf.control_dependencies([value.assign_add(1.0)]):
                    return i + one

            def first_body(i, total, handle, one):
                waited = tf.numpy_function(wait, [i], tf.int32)
                added = tf.raw_ops.AssignAddVariableOp(resource=handle, value=one)
                with tf.control_dependencies([added]):
                    return [total + waited]

            if kind == "first":
                held = [value.handle, tf.constant(1.0)]
                loop = first_kind_loop(50, [tf.constant(0)], first_body, held, parallel=1)
            else:
                loop = tf.while_loop(lambda i: i < 50, body, [tf.constant(0)])
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(loop, options=v1.RunOptions(timeout_in_ms=timeout_ms))
            return len(rounds), float(session.run(value))

    with debug.record_effects(tmp_path / "log"):
        first = program(150, 0.02)
    assert 1 < first[0] < 50
    with debug.replay_effects(tmp_path / "log", timeout=60):
        assert program(100_000, 0.0) == first


def test_a_deadline_passes_where_it_passed(tmp_path):
    def program(timeout_ms, pause):
        with tf.Graph().as_default(), v1.Session() as session:
            queue = tf.queue.FIFOQueue(2, [tf.int32], [[]])
            put, take = queue.enqueue(5), queue.dequeue()
            options = v1.RunOptions(timeout_in_ms=timeout_ms)
            found = []

            def waiter():
                try:
                    session.run(take, options=options)
                except tf.errors.DeadlineExceededError as problem:
                    found.append(type(problem))

            def putter():
                time.sleep(pause)
                session.run(put)

            together([waiter, putter])
            return found, int(session.run(queue.size()))

    with debug.record_effects(tmp_path / "log"):
        first = program(30, 0.3)
    assert first == ([tf.errors.DeadlineExceededError], 1)
    with debug.replay_effects(tmp_path / "log", timeout=20):
        assert program(60_000, 0.0) == first


def test_a_step_ends_between_operations_where_it_ended(tmp_path):
    def program(timeout_ms):
        with tf.Graph().as_default(), v1.Session() as session:
            value = v1.get_variable("v", [], initializer=v1.zeros_initializer())
            session.run(value.initializer)
            slow = tf.numpy_function(lambda: time.sleep(0.2), [], [])
            with tf.control_dependencies([slow]):
                late = value.assign_add(1.0)
            try:
                session.run(late.op, options=v1.RunOptions(timeout_in_ms=timeout_ms))
            except tf.errors.DeadlineExceededError as problem:
                return type(problem), float(session.run(value))
            return None, float(session.run(value))

    with debug.record_effects(tmp_path / "log"):
        first = program(50)
    assert first == (tf.errors.DeadlineExceededError, 0.0)
    with debug.replay_effects(tmp_path / "log", timeout=60):
        assert program(100_000) == first


def test_threads_of_one_name_are_told_apart_by_their_starts(tmp_path):
    """Not by when they ran: the first may have ended before anybody else acts, or not."""
    value, start = tf.Variable(1.0), threading.Thread.start

    def program(lively):
        released = threading.Event()
        idle = threading.Thread(target=lambda: released.wait(60), name="work")
        busy = threading.Thread(target=lambda: value.assign(value * 2.0), name="work")
        idle.start()
        if not lively:
            released.set()
            idle.join(60)
        value.assign(3.0)
        busy.start()
        busy.join(60)
        released.set()
        idle.join(60)
        return float(value)

    with debug.record_effects(tmp_path / "log"):
        first = program(True)
    with debug.replay_effects(tmp_path / "log", timeout=20) as replay:
        assert program(False) == first == 6.0
    assert replay.position == replay.count
    assert threading.Thread.start is start


def test_a_thread_that_is_slow_to_start_is_waited_for(tmp_path, monkeypatch):
    value, start = tf.Variable(1.0), threading.Thread.start
    added = threading.Event()

    def add():
        value.assign(value + 1.0)
        added.set()

    def multiply(first):
        if first:
            added.wait(60)
        value.assign(value * 3.0)

    def program(first):
        value.assign(1.0)
        threads = [
            threading.Thread(target=multiply, args=(first,), name="multiply"),
            threading.Thread(target=add, name="add"),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        return float(value)

    def start_late(thread):
        if thread.name == "add":
            time.sleep(1.0)  # in which the other one looks for it
        start(thread)

    with debug.record_effects(tmp_path / "log"):
        first = program(True)
    monkeypatch.setattr(threading.Thread, "start", start_late)
    with debug.replay_effects(tmp_path / "log", timeout=60):
        assert program(False) == first == 6.0


def test_a_pool_names_its_work(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    def program():
        value = tf.Variable(1.0)

        def work(number):
            with debug.acting_as(f"part {number}"):
                value.assign(value * 0.5 + number)
                return float(value)

        with ThreadPoolExecutor(3) as pool:
            return list(pool.map(work, range(12)))

    first, second = twice(tmp_path / "log", program)
    assert first == second
    whos = {effect.who for effect in read_effects(str(tmp_path / "log")).effects}
    assert "part 11:" in whos


# ---- divergence


def divergence(path, program, timeout=20):
    """The error of a replay of another program than the one that was recorded."""
    with pytest.raises(tf.errors.FailedPreconditionError) as problem:
        with debug.replay_effects(path, timeout=timeout):
            program()
    return str(problem.value)


def increments(count):
    value = tf.Variable(0.0)
    for _ in range(count):
        value.assign_add(1.0)
    return value


def test_another_effect_than_the_recorded_one_is_named_with_both_lines(tmp_path):
    value = tf.Variable(0.0)
    with debug.record_effects(tmp_path / "log"):
        value.assign_add(1.0)
        value.assign_add(2.0)
    text = divergence(
        tmp_path / "log",
        lambda: (
            value.assign_add(1.0),
            value.assign_sub(2.0),
        ),
    )
    assert "diverged at effect 1 of 2: expected 'AssignAddVariableOp'" in text
    assert "got 'AssignSubVariableOp'" in text
    lines = [p for p in text.split() if p.startswith(f"{__file__}:")]
    assert len(lines) == 2
    first, second = (int(line.rpartition(":")[2].rstrip(".,")) for line in lines)
    assert second - first == 5  # from the second assign_add to the assign_sub above


def test_another_variable_is_named(tmp_path):
    one, two = tf.Variable(0.0, name="one"), tf.Variable(0.0, name="two")
    with debug.record_effects(tmp_path / "log"):
        one.assign(1.0)
        one.assign(2.0)
    text = divergence(tmp_path / "log", lambda: (one.assign(1.0), two.assign(2.0)))
    assert re.search(r"expected .*'one(:0)?' \(0\) .* got .*'two(:0)?' \(1\)", text)


def test_a_run_that_ends_early_has_diverged(tmp_path):
    with debug.record_effects(tmp_path / "log"):
        increments(3)
    text = divergence(tmp_path / "log", lambda: increments(2))
    assert "diverged at effect 2 of 3: expected 'AssignAddVariableOp'" in text
    assert "got the end of the replay" in text


def test_a_thread_that_does_not_come_is_not_waited_for_forever(tmp_path):
    value = tf.Variable(0.0)
    with debug.record_effects(tmp_path / "log"):
        together([lambda: value.assign(1.0)])
        value.assign(2.0)
    start = time.monotonic()
    text = divergence(tmp_path / "log", lambda: value.assign(2.0), timeout=0.3)
    assert "got nothing in 0.3 seconds; those that wait: 'AssignVariableOp' of MainThread" in text
    assert time.monotonic() - start < 60


def test_a_step_without_a_recorded_effect_has_diverged(tmp_path):
    def program(both):
        with tf.Graph().as_default(), v1.Session() as session:
            value = v1.get_variable("v", [], initializer=v1.zeros_initializer())
            one, two = value.assign_add(1.0), value.assign_add(2.0)
            session.run(value.initializer)
            session.run([one, two] if both else one)
            return float(session.run(value))

    with debug.record_effects(tmp_path / "log"):
        program(True)
    assert "got the end of step 1 of Main" in divergence(tmp_path / "log", lambda: program(False))


def test_after_its_end_a_log_orders_nothing(tmp_path):
    with debug.record_effects(tmp_path / "log"):
        increments(2)
    with debug.replay_effects(tmp_path / "log") as replay:
        assert float(increments(5)) == 5.0
    assert replay.position == replay.count


# ---- files


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("effects") / "log"
    with debug.record_effects(path, buffer_size=8):
        increments(20)
    return path.read_bytes()


def test_a_log_that_was_cut_is_refused(recorded, tmp_path):
    path = tmp_path / "log"
    for length in [*range(0, 120, 7), *range(120, len(recorded), 41), len(recorded) - 1]:
        path.write_bytes(recorded[:length])
        with pytest.raises(tf.errors.DataLossError, match="log"):
            debug.replay_effects(path)
    assert effects.switch.log is None


def test_a_log_with_a_flipped_bit_is_refused(recorded, tmp_path):
    path = tmp_path / "log"
    for position in range(0, len(recorded), 11):
        changed = bytearray(recorded)
        changed[position] ^= 1 << position % 8
        path.write_bytes(changed)
        with pytest.raises(tf.errors.DataLossError):
            debug.replay_effects(path)
        if position > 64:
            with pytest.raises(tf.errors.DataLossError):
                debug.replay_effects(path, partial=True)


def test_something_else_is_refused(tmp_path):
    path = tmp_path / "records"
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(b'{"format": "other"}')
    with pytest.raises(tf.errors.DataLossError, match="expected an effect log"):
        debug.replay_effects(path)
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(b'{"format": "penstock effect log", "version": 99}')
    with pytest.raises(tf.errors.DataLossError, match="expected version 1 of the format, got 99"):
        debug.replay_effects(path)
    with pytest.raises(tf.errors.NotFoundError):
        debug.replay_effects(tmp_path / "missing")


def test_a_cut_log_is_replayed_as_far_as_it_goes(recorded, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(recorded[: len(recorded) * 2 // 3])
    with debug.replay_effects(path, partial=True) as replay:
        assert float(increments(20)) == 20.0
    assert 0 < replay.position == replay.count < 20


def test_arguments(tmp_path):
    with pytest.raises(ValueError, match="1 <= buffer_size <= 65536, got 0"):
        debug.record_effects(tmp_path / "log", buffer_size=0)
    with pytest.raises(tf.errors.NotFoundError, match=r"none/log.*Make its folder first"):
        debug.record_effects(tmp_path / "none" / "log")
    with pytest.raises(tf.errors.FailedPreconditionError, match="Give another path"):
        debug.record_effects(tmp_path)
    with debug.record_effects(tmp_path / "log"):  # nothing was switched on
        pass
    with pytest.raises(ValueError, match="expected a positive timeout, got 0"):
        debug.replay_effects(tmp_path / "log", timeout=0)
    with pytest.raises(TypeError, match="expected a name, got 3"), debug.acting_as(3):
        pass
    with debug.record_effects(tmp_path / "log"):
        with pytest.raises(tf.errors.FailedPreconditionError, match="got one that records"):
            debug.record_effects(tmp_path / "other")
        with pytest.raises(tf.errors.FailedPreconditionError, match="got one that records"):
            debug.replay_effects(tmp_path / "log")
    assert not (tmp_path / "other").exists()


# ---- processes

SCRIPT = """
import sys
from tests.runtime import hogwild
losses, final = hogwild.run(3, threads=3)
print(sorted(losses.items()), final)
"""


def process(variable):
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([SOURCE, os.getcwd()]),
            "PENSTOCK_EFFECTS": variable,
        },
        capture_output=True,
        text=True,
        timeout=110,
    )
    return result.returncode, result.stdout, result.stderr


def test_the_variable_records_and_replays_a_process(tmp_path):
    code, first, problem = process(f"record:{tmp_path / 'log'}")
    assert code == 0, problem
    code, second, problem = process(f"replay:{tmp_path / 'log'}")
    assert code == 0, problem
    assert first == second != ""
    assert "diverged" not in problem


def test_the_variable_says_what_it_takes(monkeypatch):
    from penstock.core import effect_start

    monkeypatch.setenv("PENSTOCK_EFFECTS", "recrod:x")
    with pytest.raises(ValueError, match="expected record:PATH or replay:PATH, got 'recrod:x'"):
        effect_start.start()
