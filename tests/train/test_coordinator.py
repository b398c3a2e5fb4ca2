"""Threads that stop together."""

import sys
import threading

import pytest

import penstock as tf

Coordinator = tf.train.Coordinator


def started(coord, target):
    thread = threading.Thread(target=target, args=(coord,), daemon=True)
    thread.start()
    return thread


def wait(coord):
    coord.wait_for_stop()


def fail(coord):
    with coord.stop_on_exception():
        raise KeyError("first")


def test_one_request_stops_all():
    coord = Coordinator()
    threads = [started(coord, wait) for _ in range(3)]
    assert not coord.should_stop()
    coord.request_stop()
    coord.join(threads)
    assert coord.joined
    assert coord.should_stop()


def test_threads_that_end_by_themselves_are_joined():
    coord = Coordinator()
    coord.join([started(coord, lambda _: None)])
    assert not coord.should_stop()


def test_the_first_error_is_raised_in_join():
    coord = Coordinator()
    threads = [started(coord, fail), started(coord, wait)]
    with pytest.raises(KeyError, match="first"):
        coord.join(threads)
    with pytest.raises(KeyError):
        coord.raise_requested_exception()


def test_the_end_of_input_is_no_error():
    coord = Coordinator()
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "end"))
    coord.join([])
    own = Coordinator(clean_stop_exception_types=(KeyError,))
    own.request_stop(KeyError("end"))
    own.join([])


def test_threads_that_do_not_end_are_named():
    coord = Coordinator()
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="stubborn", daemon=True)
    thread.start()
    coord.register_thread(thread)
    coord.request_stop()
    with pytest.raises(RuntimeError, match="stubborn"):
        coord.join(stop_grace_period_secs=0.05)
    coord.join([thread], stop_grace_period_secs=0.05, ignore_live_threads=True)
    release.set()


def test_an_error_after_join_is_raised_at_once():
    coord = Coordinator()
    coord.join([])
    with pytest.raises(ValueError, match="late"):
        coord.request_stop(ValueError("late"))
    coord.clear_stop()
    assert not coord.joined
    coord.request_stop(ValueError("kept"))
    with pytest.raises(ValueError, match="kept"):
        coord.join([])


def test_what_exc_info_gives_is_taken():
    coord = Coordinator()
    try:
        raise ValueError("caught")
    except ValueError:
        coord.request_stop(sys.exc_info())
    with pytest.raises(ValueError, match="caught"):
        coord.join([])
    with pytest.raises(TypeError, match="expected an exception"):
        Coordinator().request_stop("text")


@pytest.mark.parametrize("interval", [None, 0.001])
def test_a_looper_calls_until_it_is_stopped(interval):
    coord = Coordinator()
    calls = []

    def work(value, by=0):
        calls.append(value + by)
        if len(calls) == 3:
            coord.request_stop()

    tf.compat.v1.train.LooperThread.loop(coord, interval, work, args=(1,), kwargs={"by": 1})
    coord.join()
    assert calls == [2, 2, 2]


def test_a_looper_subclass_has_a_beginning_and_an_end():
    seen = []

    class Looper(tf.compat.v1.train.LooperThread):
        def start_loop(self):
            seen.append("start")

        def run_loop(self):
            seen.append("round")
            raise ValueError("round")

        def stop_loop(self):
            seen.append("stop")

    coord = Coordinator()
    Looper(coord, None).start()
    with pytest.raises(ValueError, match="round"):
        coord.join()
    assert seen == ["start", "round"]
    with pytest.raises(ValueError, match="must be a Coordinator"):
        Looper(None, None)


def test_no_exception_is_clean_when_none_is_named():
    coord = Coordinator(clean_stop_exception_types=())
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "the end"))
    with pytest.raises(tf.errors.OutOfRangeError):
        coord.raise_requested_exception()
