"""Iterators in forked processes: they go on, or say why they cannot."""

import os
import signal
import threading
import time
import warnings

import pytest

import penstock as tf

D = tf.data.Dataset

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning"),
]


def in_child(work):
    """What a forked process makes of `work()`: its text, or that of its error."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            found = str(work())
        except BaseException as problem:
            found = f"{type(problem).__name__}: {problem}"
        os.write(write, found.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.waitpid(child, 0)
    return text


def rest(iterator):
    return [int(x) for x in iterator]


def slow(x):
    return tf.numpy_function(lambda y: y, [x], tf.int64)


@pytest.mark.parametrize(
    "make",
    [
        lambda: D.range(8),
        lambda: D.range(8).map(slow).prefetch(2),
        lambda: D.range(8).shuffle(8, seed=1).prefetch(2).take(8),
        lambda: D.range(8).map(slow, num_parallel_calls=2).batch(1).unbatch(),
        lambda: D.range(2).interleave(
            lambda x: D.range(4), cycle_length=2, num_parallel_calls=2
        ),
    ],
)  # fmt: skip
def test_both_processes_go_on(make):
    iterator = iter(make())
    next(iterator)
    time.sleep(0.05)  # for what is read ahead
    child = in_child(lambda: rest(iterator))
    assert child == str(rest(iterator))


def test_files_are_read_by_each(tmp_path):
    path = tmp_path / "lines"
    path.write_text("".join(f"{k}\n" for k in range(50_000)))
    iterator = iter(tf.data.TextLineDataset(str(path)).map(tf.strings.to_number))
    for _ in range(10):
        next(iterator)

    def total():
        return int(sum(rest(iterator)))

    assert in_child(total) == str(total()) == str(sum(range(10, 50_000)))


def test_what_a_thread_had_under_way_is_said():
    begun, go_on = threading.Event(), threading.Event()

    def waits(x):
        begun.set()
        go_on.wait(20)
        return x

    def function(x):
        return tf.numpy_function(waits, [x], tf.int64)

    for dataset in (D.range(4).map(function).prefetch(1), D.range(4).map(function)):
        begun.clear()
        go_on.clear()
        iterator = iter(dataset)
        thread = threading.Thread(target=lambda it=iterator: next(it))
        thread.start()
        begun.wait(20)
        for work in (lambda: next(iterator), lambda: iterator._state.save()):  # noqa: B023
            text = in_child(work)
            assert text.startswith("FailedPreconditionError"), text
            assert "fork" in text
            assert "iter(dataset)" in text
        go_on.set()
        thread.join(20)
        assert rest(iterator) == [1, 2, 3]


def test_a_child_does_not_end_what_its_parent_writes(tmp_path):
    prefix = str(tmp_path / "cache")
    iterator = iter(D.range(4).cache(prefix))
    next(iterator)

    def leave():
        nonlocal iterator
        try:
            next(iterator)
        finally:
            iterator = None

    assert in_child(leave).startswith("FailedPreconditionError")
    assert os.path.exists(f"{prefix}_0.lockfile")
    assert rest(iterator) == [1, 2, 3]
    assert os.path.exists(f"{prefix}.index")
