"""The executor: order, parallel work, waiting kernels, errors, Ctrl-C, deadlines."""

import itertools
import json
import os
import signal
import threading
import time
import types

import numpy as np
import pytest
from tests.runtime.toys import (
    add,
    assign,
    assign_add,
    call,
    const,
    hooks,
    identity,
    mul,
    placeholder,
    quick,
    read,
    variable,
)

from penstock import errors
from penstock.core.execute import execute
from penstock.graph.graph import Graph
from penstock.runtime import executor as executors
from penstock.runtime.client import Session
from penstock.runtime.executor import Executor, _independent, _ParallelRun
from penstock.runtime.items import Item
from penstock.runtime.pool import pools
from penstock.runtime.step import Step
from penstock.runtime.timeline import Timeline


@pytest.fixture
def session():
    with Graph().as_default() as graph, Session(graph=graph) as session:
        yield session


class Toy(Item):
    """An item that calls a function."""

    def __init__(self, name, function, waits=False):
        super().__init__([], name, [], [], waits)
        self.function = function

    def run(self, slots, step):
        self.function(self.name, step)


def steps(count):
    return [Step(None) for _ in range(count)]


def test_independent_items():
    assert _independent([set(), {0}, {0}, {1, 2}, set()]) == [
        0b10000,
        0b10100,
        0b10010,
        0b10000,
        0b01111,
    ]


@pytest.mark.parametrize("sleep", [0.0, 0.002])
def test_every_item_runs_once_and_after_those_it_waits_for(sleep):
    rng = np.random.default_rng(3)
    waits = [
        set(map(int, rng.choice(i, min(i, 2), replace=False))) if i else set() for i in range(25)
    ]
    order = []

    def run(name, step):
        if sleep and int(name) % 3 == 0:
            time.sleep(sleep)
        order.append(int(name))

    executor = Executor([Toy(str(i), run) for i in range(25)], waits)
    for step in steps(4):
        order.clear()
        executor.run([], step)
        assert sorted(order) == list(range(25))
        place = {i: k for k, i in enumerate(order)}
        assert all(place[j] < place[i] for i, before in enumerate(waits) for j in before)
    assert executor._parallel == bool(sleep)


def test_long_items_run_at_the_same_time_once_measured():
    running, peak, lock = set(), [0], threading.Lock()

    def run(name, step):
        with lock:
            running.add(name)
            peak[0] = max(peak[0], len(running))
        time.sleep(0.01)
        with lock:
            running.discard(name)

    executor = Executor([Toy("a", run), Toy("b", run)], [set(), set()])
    for step in steps(3):
        executor.run([], step)
    assert peak[0] == 2
    peak[0] = 0
    one_by_one = Executor([Toy("a", run), Toy("b", run)], [set(), set()], threads=1)
    for step in steps(3):
        one_by_one.run([], step)
    assert peak[0] == 1


def test_an_item_that_waits_does_not_hold_up_the_item_it_waits_for(session):
    released = threading.Condition()
    done = []

    def wait(ctx, x):
        with released:
            ctx.step.wait(released, lambda: bool(done), ctx.op_name)
        return x

    def release(ctx, x):
        with released:
            done.append(1)
            released.notify_all()
        return x

    hooks["wait"], hooks["release"] = wait, release
    c = const(1.0)
    waiting = [call(c, "wait", f"wait{i}") for i in range(20)]
    releasing = quick(c, "release", "release")
    for _ in range(3):
        done.clear()
        assert session.run([*waiting, releasing]) == [1.0] * 21


def long_items(functions, waits, waiting=()):
    """An executor whose items count as long."""
    toys = [Toy(str(i), f, waits=i in waiting) for i, f in enumerate(functions)]
    executor = Executor(toys, waits)
    for i in range(len(toys)):
        executor.note(i, 1.0)
    executor._parallel = True
    return executor


def workers():
    return pools.workers()._limit


def in_threads(*functions):
    """Runs each in a thread; whether all have ended."""
    threads = [threading.Thread(target=f, daemon=True) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return not any(thread.is_alive() for thread in threads)


def test_no_worker_takes_an_item_that_waits():
    """A step whose items wait for another step leaves the workers to that one."""
    halves, ended, count = threading.Barrier(2), threading.Event(), 2 * workers() + 2
    begun = threading.Barrier(2)

    def wait(name, step):
        if name == str(2 * count - 1):
            begun.wait(60)
        ended.wait()

    def meet(name, step):  # both halves run at the same time: one of them on a worker
        halves.wait(60)

    waiters = long_items(
        [lambda name, step: None] * count + [wait] * count,
        [set() for _ in range(count)] + [{i} for i in range(count)],
        waiting=range(count, 2 * count),
    )
    others = long_items([meet, meet], [set(), set()])

    def release():
        begun.wait(60)
        others.run([], Step(None))
        ended.set()

    try:
        assert in_threads(lambda: waiters.run([], Step(None)), release)
    finally:
        ended.set()


def test_items_that_run_steps_of_their_own_need_no_free_worker():
    count = 2 * workers() + 2
    started, ran = threading.Barrier(workers() + 1), []
    first = iter(range(workers() + 1))

    def outer(name, step):
        if next(first, None) is not None:
            started.wait(60)  # all workers and the caller are inside of such an item
        inner = long_items([lambda name, step: ran.append(name)] * 3, [set()] * 3)
        inner.run([], step)

    executor = long_items([outer] * count, [set()] * count)
    assert in_threads(lambda: executor.run([], Step(None)))
    assert len(ran) == 3 * count


def test_a_replay_raises_what_failed_not_what_ended_because_of_it(monkeypatch):
    monkeypatch.setattr(executors, "replaying", lambda: True)
    cancelled = threading.Event()

    def consequence(name, step):  # was ended so when it was recorded; now it comes first
        raise errors.CancelledError(None, None, f"{name}: another operation of the step failed")

    def cause(name, step):
        cancelled.wait(0.3)
        raise errors.OutOfRangeError(None, None, "the end of its data")

    executor = long_items([consequence, cause], [set(), set()], waiting=[1])
    step = Step(None)
    step.on_cancel(cancelled.set)
    with pytest.raises(errors.OutOfRangeError, match="the end"):
        executor.run([], step)
    alone = long_items([consequence, lambda name, step: None], [set(), set()])
    with pytest.raises(errors.CancelledError, match="another operation"):
        alone.run([], Step(None))


def test_the_first_error_wins_and_wakes_the_others(session):
    condition = threading.Condition()
    seen = []

    def wait(ctx, x):
        try:
            with condition:
                ctx.step.wait(condition, lambda: False, ctx.op_name)
        except errors.CancelledError as problem:
            seen.append(problem)
            raise

    def fail(ctx, x):
        raise errors.DataLossError(None, None, "torn")

    hooks["wait"], hooks["fail"] = wait, fail
    c = const(1.0)
    with pytest.raises(errors.DataLossError, match="torn"):
        session.run([call(c, "wait", "waiting"), call(c, "fail", "failing")])
    assert len(seen) == 1
    assert session.run(c) == 1


def test_ctrl_c_stops_a_step_and_leaves_the_session_usable(session):
    started, condition = threading.Event(), threading.Condition()

    def wait(ctx, x):
        started.set()
        with condition:
            ctx.step.wait(condition, lambda: False, ctx.op_name)

    hooks["wait"] = wait
    c = const(1.0)
    for fetches in (call(c, "wait", "one"), [call(c, "wait", f"two{i}") for i in range(2)]):
        started.clear()

        def interrupt():
            started.wait(5)
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            session.run(fetches)
        thread.join()
        assert session.run(c) == 1
        assert not session._direct._steps


def test_ctrl_c_during_training_loses_no_variable(session):
    """The signal comes while XLA runs on arrays it was given for good."""
    size = 300_000
    handles = [variable(f"v{i}", (size,)) for i in range(3)]
    session.run([assign(h, np.zeros(size, np.float32)) for h in handles])
    x = placeholder((size,))
    grow = x
    for _ in range(30):
        grow = execute("Tanh", (add(mul(grow, np.float32(0.99)), x),))
    steps = [assign_add(h, grow) for h in handles]
    feed, value = {x: np.zeros(size, np.float32)}, read(handles[0])
    session.run(steps, feed)

    def train_for_ever(timer):
        timer.start()
        while True:
            session.run(steps, feed)

    for delay in np.linspace(0.0005, 0.012, 12):
        timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            train_for_ever(timer)
        timer.join()
        done = []
        other = threading.Thread(target=lambda: done.append(session.run(value)))  # noqa: B023
        other.start()
        other.join(60)
        assert done, "a lock was left behind, or a variable has lost its array"
        session.run(steps, feed)
    assert all((session.run(read(h)) == 0).all() for h in handles)


def test_many_threads_on_one_session(session):
    x = placeholder((None,))
    handle = variable("v", (64,))
    session.run(assign(handle, np.zeros(64, np.float32)))
    y = add(mul(x, np.float32(2)), np.float32(1))
    step = assign_add(handle, np.ones(64, np.float32))
    value = identity(read(handle))
    problems = []

    def work(seed):
        rng = np.random.default_rng(seed)
        try:
            for _ in range(40):
                given = rng.normal(size=int(rng.integers(1, 40))).astype(np.float32)
                np.testing.assert_allclose(session.run(y, {x: given}), given * 2 + 1, rtol=1e-6)
                session.run(step)
                seen = session.run(value)
                assert (seen == seen[0]).all()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert (session.run(value) == 320).all()


def test_a_traced_step_tells_what_ran(session):
    from penstock import proto

    x = placeholder((2,), name="x")
    hooks["echo"] = lambda ctx, value: value
    middle = quick(add(x, np.float32(1), "y"), "echo", "middle")
    end = mul(middle, np.float32(2), "end")
    options = proto.config_pb2.RunOptions(trace_level=proto.config_pb2.RunOptions.FULL_TRACE)
    metadata = proto.config_pb2.RunMetadata()
    assert session.run(end, {x: [1, 2]}, options, metadata).tolist() == [4, 6]
    (device,) = metadata.step_stats.dev_stats
    assert device.device == "/job:localhost/replica:0/task:0/device:CPU:0"
    labels = [n.timeline_label for n in device.node_stats]
    assert labels[1] == "middle = ToyQuick(y)"
    assert all(n.all_end_rel_nanos > 0 for n in device.node_stats)
    assert device.node_stats[1].output[0].tensor_description.shape.dim[0].size == 2
    trace = Timeline(metadata.step_stats).generate_chrome_trace_format(show_memory=True)

    events = json.loads(trace)["traceEvents"]
    assert [e["args"]["name"] for e in events if e["ph"] == "X"][1] == "middle"
    assert {e["ph"] for e in events} >= {"M", "X", "C"}
    plain = proto.config_pb2.RunMetadata()
    session.run(end, {x: [1, 2]}, None, plain)
    assert not plain.step_stats.dev_stats


class Wavering(Executor):
    """What is long changes from one question to the next, as measurements of other runs do it."""

    def is_long(self, index):
        return next(self.answers)


@pytest.mark.parametrize("first", [False, True])
def test_each_item_runs_once_whatever_other_runs_measure_meanwhile(first):
    ran = []
    items = [
        types.SimpleNamespace(
            name=str(i), waits=False, may_wait=False, run=lambda slots, step, i=i: ran.append(i)
        )
        for i in range(6)
    ]
    executor = Wavering(items, [set(), set(), {0}, {0, 1}, {2}, {3}])
    # A list is asked about once for each item; a second question gets the other answer.
    executor.answers = itertools.cycle([first, first, not first, not first])
    _ParallelRun(executor, [], Step(None)).run()
    assert sorted(ran) == list(range(6))
