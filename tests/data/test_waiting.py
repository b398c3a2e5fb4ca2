"""Steps that end while they wait for an element, and iterators that are closed meanwhile."""

import threading
import time

import numpy as np
import pytest

import penstock as tf
from penstock.data.run import UnwantedError

D = tf.data.Dataset
v1 = tf.compat.v1
ENDLESS = 1 << 60


ENDLESS_LOOPS = {
    "skip": lambda: D.range(ENDLESS).batch(1).skip(ENDLESS // 2),
    "skip of files": lambda: D.from_tensors(0).repeat().batch(2).skip(ENDLESS),
    "empty rounds": lambda: D.range(3).take(0).repeat(ENDLESS),
    "empty inner datasets": lambda: D.range(ENDLESS).flat_map(lambda x: D.range(0)),
    "empty inner datasets in turn": lambda: D.range(ENDLESS).interleave(
        lambda x: D.range(0), cycle_length=3, num_parallel_calls=2
    ),
    "nothing new": lambda: D.from_tensors(1).repeat().unique().skip(1),
    "a stack": lambda: D.from_tensors(b"a").repeat().batch(ENDLESS),
    "a buffer": lambda: D.from_tensors(b"").repeat(ENDLESS).enumerate().shuffle(ENDLESS),
    "empty stacks": lambda: D.from_tensors(tf.zeros([0, 2])).repeat().unbatch(),
    "shards": lambda: D.range(ENDLESS).enumerate().map(lambda i, x: x).shard(ENDLESS, ENDLESS - 1),
    "read ahead": lambda: D.range(ENDLESS).flat_map(lambda x: D.range(0)).prefetch(4),
    "several calls": lambda: (
        D.range(ENDLESS)
        .flat_map(lambda x: D.range(0))
        .map(lambda x: tf.py_function(lambda y: y, [x], tf.int64), num_parallel_calls=3)
    ),
    "groups": lambda: D.range(ENDLESS).group_by_window(
        lambda x: x % 2, lambda k, w: w.take(0), window_size=2
    ),
    "windows": lambda: D.range(ENDLESS).batch(1).window(2, shift=ENDLESS).skip(1),
}


@pytest.mark.parametrize("name", ENDLESS_LOOPS)
def test_a_step_ends_in_time(name):
    with tf.Graph().as_default(), v1.Session() as session:
        iterator = v1.data.make_initializable_iterator(ENDLESS_LOOPS[name]())
        element = iterator.get_next_as_optional().has_value()
        session.run(iterator.initializer)
        begun = time.monotonic()
        for _ in range(2):
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(element, options=v1.RunOptions(timeout_in_ms=150))
        assert time.monotonic() - begun < 10


@pytest.mark.parametrize("ahead", [0, 3])
def test_the_next_step_goes_on_where_the_last_one_ended(ahead):
    skipped = 60_000
    with tf.Graph().as_default(), v1.Session() as session:
        late = D.from_tensors(0).repeat().enumerate().skip(skipped)
        found = D.zip((D.range(ENDLESS), late))
        if ahead:
            found = found.prefetch(ahead)
        element = v1.data.make_one_shot_iterator(found).get_next()
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(element, options=v1.RunOptions(timeout_in_ms=50))
        for k in range(4):
            first, (second, _) = session.run(element)
            assert (int(first), int(second)) == (k, skipped + k)


def test_what_was_skipped_when_a_step_ended_is_not_skipped_again():
    calls = []

    def slow(x):
        calls.append(int(x))
        time.sleep(0.01)
        return x

    with tf.Graph().as_default(), v1.Session() as session:
        dataset = D.range(100).map(lambda x: tf.numpy_function(slow, [x], tf.int64))
        element = v1.data.make_one_shot_iterator(dataset.batch(1).skip(40)).get_next()
        with pytest.raises((tf.errors.DeadlineExceededError, tf.errors.CancelledError)):
            session.run(element, options=v1.RunOptions(timeout_in_ms=100))
        found = int(session.run(element)[0])
        assert found in (40, 41, 42)  # an element, at most, whose function ended with the step
    assert len(calls) < 45


@pytest.mark.parametrize("whole", [False, True])
def test_an_error_beside_what_was_waited_for_is_not_lost(whole):
    """One input of a zip fails where a wait for the other one ends: the pairs stay pairs."""
    failing = D.range(5).map(lambda x: 12 // (x - 1))
    iterator = iter(D.zip((failing, D.range(5))))
    stage = iterator._state._stage
    assert stage.stacked
    late = stage.parts()[1]
    given, ends = late.next, [True] if whole else [False, True]

    def now_and_then():
        if ends and ends.pop(0):
            raise UnwantedError(None, None, "over")
        return given()

    late.next = now_and_then
    read = (lambda: stage.columns(1)) if whole else stage.next
    assert [int(np.squeeze(x)) for x in read()] == [-12, 0]
    with pytest.raises(UnwantedError):
        read()
    other = iter(D.zip((failing, D.range(5))))
    other._state.restore(iterator._state.save())
    with pytest.raises(tf.errors.InvalidArgumentError):
        read()
    assert [[int(np.squeeze(x)) for x in read()] for _ in range(3)] == [[12, 2], [6, 3], [4, 4]]
    with pytest.raises(tf.errors.InvalidArgumentError):
        next(other)
    assert [int(x) for x in next(other)] == [12, 2]


@pytest.mark.parametrize("op", ["reduce", "single", "save", "at"])
def test_operations_that_run_a_dataset_end_with_their_step(op, tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        dataset = D.range(ENDLESS).flat_map(lambda x: D.range(0))
        if op == "reduce":
            fetch = dataset.reduce(tf.constant(0, tf.int64), lambda a, b: a + b)
        elif op == "single":
            fetch = dataset.get_single_element()
        elif op == "at":
            counted = dataset.apply(tf.data.experimental.assert_cardinality(3))
            fetch = tf.data.experimental.at(counted, 1)
        else:
            names = dataset.map(tf.strings.as_string)
            fetch = tf.data.experimental.TFRecordWriter(str(tmp_path / "f")).write(names)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(fetch, options=v1.RunOptions(timeout_in_ms=150))


def test_threads_of_an_iterator_that_nobody_has_end():
    iterator = iter(D.range(ENDLESS).flat_map(lambda x: D.range(0)).prefetch(2))
    stage = iterator._state._stage
    stage.begin()
    time.sleep(0.05)
    assert stage._pumping
    del iterator
    end = time.monotonic() + 5
    while stage._pumping and time.monotonic() < end:
        time.sleep(0.01)
    assert not stage._pumping
    assert threading.active_count() < 50


@pytest.mark.parametrize("ahead", [False, True])
def test_a_thread_that_takes_elements_ends_with_its_iterator(tmp_path, ahead):
    path = tmp_path / "lines"
    path.write_bytes(b"one\n" * 200_000)
    for _ in range(12):
        dataset = tf.data.TextLineDataset([str(path)] * 3)
        iterator = iter(dataset.batch(7).prefetch(2) if ahead else dataset.batch(7))
        problems = []

        def take(iterator=iterator, problems=problems):
            try:
                while next(iterator, None) is not None:
                    pass
            except Exception as problem:
                problems.append(type(problem))

        thread = threading.Thread(target=take)
        thread.start()
        time.sleep(0.005)
        iterator._state.close()
        thread.join(10)
        assert not thread.is_alive()
        assert problems == [tf.errors.CancelledError], problems
        with pytest.raises(tf.errors.CancelledError, match="closed"):
            next(iterator)
        assert iterator._state._stage.save() is not None


def test_a_thread_that_waits_in_a_function_ends_with_its_iterator():
    queue = tf.queue.FIFOQueue(1, [tf.int64], [[]])
    iterator = iter(D.range(3).map(lambda x: x + queue.dequeue()).prefetch(1))
    problems = []

    def take():
        try:
            next(iterator)
        except Exception as problem:
            problems.append(type(problem))

    thread = threading.Thread(target=take)
    thread.start()
    time.sleep(0.1)
    iterator._state.close()
    thread.join(10)
    assert not thread.is_alive()
    assert problems == [tf.errors.CancelledError]
