"""Stages that read ahead: what they give does not depend on time; they end when they are left."""

import gc
import os
import random
import signal
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.data import calls, prefetching, read_ahead
from penstock.data.pool import Pool
from penstock.data.read_ahead import ReadAhead

D = tf.data.Dataset


def slow(pause_s: float, seen: list[int] | None = None) -> Any:
    """A map function that takes its time; with effects, so that no rule or shortcut holds."""

    def function(x: Any) -> Any:
        if seen is not None:
            seen.append(int(x))
        time.sleep(pause_s)
        return x

    return lambda x: tf.ensure_shape(tf.py_function(function, [x], tf.int64), [])


def numbers(dataset: Any) -> list[Any]:
    return [x.tolist() for x in dataset.as_numpy_iterator()]


def wait_until(condition: Any) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_an_idle_consumer_finds_elements_made() -> None:
    seen: list[int] = []
    iterator = iter(D.range(100).map(slow(0.0, seen)).prefetch(5))
    assert int(next(iterator)) == 0
    wait_until(lambda: len(seen) >= 6)
    time.sleep(0.02)
    assert len(seen) == 6
    assert [int(next(iterator)) for _ in range(4)] == [1, 2, 3, 4]


def test_parallel_calls_are_side_by_side() -> None:
    barrier = threading.Barrier(3)

    def meet(x: Any) -> Any:
        barrier.wait(10)
        return x

    calls = lambda x: tf.py_function(meet, [x], tf.int64)  # noqa: E731
    options = tf.data.Options()
    options.threading.private_threadpool_size = 5  # nobody else's, who might be busy
    made = D.range(6).map(calls, num_parallel_calls=3).with_options(options)
    assert numbers(made) == [0, 1, 2, 3, 4, 5]


def test_order_is_kept_unless_it_is_given_up() -> None:
    def uneven(x: Any) -> Any:
        time.sleep(0.05 if int(x) == 0 else 0)
        return x

    calls = lambda x: tf.py_function(uneven, [x], tf.int64)  # noqa: E731
    made = D.range(4).map(calls, num_parallel_calls=2)
    assert numbers(made) == [0, 1, 2, 3]
    loose = D.range(4).map(calls, num_parallel_calls=4, deterministic=False)
    first, *_ = found = numbers(loose)
    assert sorted(found) == [0, 1, 2, 3]
    assert first in (0, 1, 2, 3)


def test_cheap_calls_are_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    submitted: list[Any] = []
    submit = Pool.submit
    monkeypatch.setattr(Pool, "submit", lambda s, f: submitted.append(f) or submit(s, f))
    monkeypatch.setattr(calls, "CHEAP_S", 1.0)
    source = D.range(40).map(slow(0.0))
    assert numbers(source.map(lambda x: x + 1, num_parallel_calls=2)) == list(range(1, 41))
    assert not submitted
    assert numbers(source.map(slow(0.0), num_parallel_calls=2)) == list(range(40))
    assert len(submitted) == 40
    submitted.clear()
    monkeypatch.setattr(calls, "CHEAP_S", 0.0)
    monkeypatch.setattr(calls, "TRIED_AGAIN", 10)
    assert numbers(source.map(lambda x: x + 1, num_parallel_calls=2)) == list(range(1, 41))
    assert 25 <= len(submitted) <= 40 - 2 * calls.TRIES


def test_errors_of_parallel_calls_cost_their_elements() -> None:
    fails = lambda x: tf.py_function(lambda v: 1 // (int(v) - 2), [x], tf.int64)  # noqa: E731
    for dataset in (
        D.range(5).map(fails, num_parallel_calls=2),
        D.range(5).map(fails).prefetch(2),
        D.range(5).map(fails, num_parallel_calls=3).prefetch(tf.data.AUTOTUNE),
    ):
        iterator, found = iter(dataset), []
        while True:
            try:
                found.append(int(next(iterator)))
            except StopIteration:
                break
            except tf.errors.OpError:
                found.append("error")
        assert found == [-1, -1, "error", 1, 0]


def test_dropped_iterators_stop() -> None:
    seen: list[int] = []
    iterator = iter(D.range(10**6).map(slow(0.001, seen)).prefetch(50))
    next(iterator)
    wait_until(lambda: len(seen) > 3)
    del iterator
    gc.collect()
    time.sleep(0.01)
    before = len(seen)
    time.sleep(0.05)
    assert len(seen) <= before + 1


def test_closed_iterators_stop_while_others_wait() -> None:
    seen: list[int] = []
    for dataset in (
        D.range(10**6).map(slow(0.002, seen)).prefetch(50),
        D.range(10**6).map(slow(0.002, seen), num_parallel_calls=3),
    ):
        iterator = iter(dataset)
        next(iterator)
        iterator._state.close()
        iterator._state.close()
        time.sleep(0.02)
        before = len(seen)
        time.sleep(0.03)
        assert len(seen) <= before


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_an_interrupt_leaves_the_iterator_usable() -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for make in (
            lambda d: d.prefetch(2),
            lambda d: d,
            lambda d: d.map(slow(0.05), num_parallel_calls=2),
        ):
            iterator = iter(make(D.range(6).map(slow(0.05))))
            found = [int(next(iterator))]
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            try:
                found.append(int(next(iterator)))
            except KeyboardInterrupt:
                pass
            except tf.errors.OpError:  # the function itself was interrupted
                pass
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            found += [int(x) for x in iterator]
            assert found[-1] == 5
            assert found == sorted(found)
            assert len(found) >= 4
    finally:
        signal.signal(signal.SIGALRM, before)


def test_states_do_not_depend_on_time() -> None:
    def make() -> Any:
        source = D.range(30).map(slow(0.0)).prefetch(3)
        made = source.map(lambda x: x * 2, num_parallel_calls=2).prefetch(tf.data.AUTOTUNE)
        options = tf.data.Options()
        options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
        return made.with_options(options)

    for position in range(0, 30, 7):
        iterator = iter(make())
        for _ in range(position):
            next(iterator)
        time.sleep(0.01)
        state = iterator._state.save()
        other = iter(make())
        other._state.restore(state)
        wanted = [2 * x for x in range(position, 30)]
        assert [int(x) for x in other] == wanted
        assert [int(x) for x in iterator] == wanted


def test_autotune_stays_within_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "BUDGET", 4000)
    seen: list[int] = []
    rows = D.range(500).map(slow(0.0, seen)).map(lambda x: tf.zeros([125], tf.int64) + x)
    iterator = iter(rows.prefetch(400))
    next(iterator)
    time.sleep(0.1)
    assert len(seen) <= 8
    assert int(next(iterator)[0]) == 1


def test_room_grows_while_elements_are_missing_and_shrinks_back() -> None:
    stage = prefetching.PrefetchStage.__new__(prefetching.PrefetchStage)
    stage._grows, stage._room, stage._full, stage._ready = True, 2, 0, ReadAhead()
    for _ in range(3):
        stage._missed()
    assert stage._room == 16
    stage._pumping, stage._ended, stage._paused, stage._closed = True, False, False, False
    for _ in range(3 * prefetching._SHRINK_AFTER + 9):
        stage._left()
    assert stage._room == 2


def test_blocks_errors_and_elements_come_in_order() -> None:
    problem = ValueError("x")
    ready = ReadAhead()
    ready.push((np.arange(3),), None, True)
    ready.push(None, problem, True)
    ready.push((np.arange(3, 5),), None, True)
    assert (len(ready), ready.size) == (6, 40)
    assert int(ready.pop()[0]) == 0
    again = ReadAhead(ready.save())
    assert again.pop_columns(5)[0].tolist() == [1, 2]
    with pytest.raises(ValueError, match="x"):
        again.pop()
    assert again.pop_columns(1)[0].tolist() == [3]
    assert [int(again.pop()[0]), again.pop(), len(again), again.size] == [4, None, 0, 0]


def test_a_pool_has_threads_for_all_that_waits() -> None:
    pool, barrier = Pool(4), threading.Barrier(4)
    tasks = [pool.submit(lambda: barrier.wait(10)) for _ in range(4)]
    wait_until(lambda: all(t.done for t in tasks))
    assert sorted(t.get() for t in tasks) == [0, 1, 2, 3]


def test_a_pool_keeps_no_tasks_that_others_have_begun() -> None:
    pool, go_on = Pool(2), threading.Event()
    for _ in range(2):
        pool.submit(go_on.wait)
    waiting = [pool.submit(lambda: 7) for _ in range(3)]
    for _ in range(5000):
        assert pool.submit(lambda: None).cancel()
    assert pool._tasks.qsize() < 600
    go_on.set()
    wait_until(lambda: all(t.done for t in waiting))
    assert [t.get() for t in waiting] == [7] * 3
    wait_until(lambda: pool._left == 0)


def schedule(seed: int) -> None:
    """One program of next, save, restore and close, with another thread that closes."""
    rng = random.Random(seed)
    size = rng.randrange(1, 40)
    dataset = D.range(size)
    if rng.random() < 0.5:
        dataset = dataset.prefetch(rng.choice([1, 3, tf.data.AUTOTUNE]))
    dataset = dataset.map(lambda x: x + 1, num_parallel_calls=rng.choice([None, 2, 4]))
    if rng.random() < 0.5:
        dataset = dataset.filter(lambda x: x > 0)
    dataset = dataset.prefetch(rng.choice([1, 2, tf.data.AUTOTUNE]))
    iterator = iter(dataset)
    found: list[int] = []
    state, at = None, 0
    closer = threading.Thread(target=iterator._state.close)
    ends = rng.random() < 0.3
    for step in range(rng.randrange(1, 60)):
        what = rng.random()
        if ends and step == 5:
            closer.start()
        if what < 0.1:
            state, at = iterator._state.save(), len(found)
        elif what < 0.15 and state is not None:
            iterator._state.restore(state)
            del found[at:]
        else:
            try:
                value = next(iterator, None)
            except tf.errors.CancelledError:
                assert closer.ident is not None
                break
            if value is not None:
                found.append(int(value))
        if rng.random() < 0.02:
            time.sleep(0.002)
    if closer.ident is not None:
        closer.join()
    assert found == list(range(1, len(found) + 1))


def test_schedules_end() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        done: list[int] = []
        workers = [
            threading.Thread(
                target=lambda k=k: [(schedule(s), done.append(s)) for s in range(k, 120, 2)],
                daemon=True,
            )
            for k in range(2)
        ]
        for each in workers:
            each.start()
        for each in workers:
            each.join(120)
        assert len(done) == 120
    finally:
        sys.setswitchinterval(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_a_forked_child_has_threads_of_its_own() -> None:
    dataset = D.range(20).map(slow(0.0), num_parallel_calls=2).prefetch(2)
    assert len(numbers(dataset)) == 20
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        done = len([1 for _ in D.range(20).prefetch(2)]) == 20
        os._exit(0 if done else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_threads_do_not_grow_with_iterators() -> None:
    dataset = D.range(8).map(lambda x: x + 1, num_parallel_calls=2).prefetch(2)
    numbers(dataset)
    before = threading.active_count()
    for _ in range(30):
        next(iter(dataset))
    assert threading.active_count() <= before + Pool(1).size + 5
