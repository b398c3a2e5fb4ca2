"""LAPACK uses one thread for matrices that are not large, and what was set before afterwards."""

import contextlib
import functools
import signal
import threading

import numpy as np
import pytest

import penstock as tf
from penstock.core import lapack


class _Fake:
    """Stands for an OpenBLAS; notes what is set."""

    def __init__(self) -> None:
        self.count = 4
        self.seen: list[int] = []

    def install(self, monkeypatch: pytest.MonkeyPatch) -> lapack.Library:
        found = lapack.Library(lambda: self.count, self.set)
        monkeypatch.setattr(lapack, "library", lambda package: found)
        return found

    def set(self, count: int) -> None:
        self.count = count
        self.seen.append(count)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> _Fake:
    fake = _Fake()
    fake.install(monkeypatch)
    return fake


def test_nested_holders_give_back_what_was_set_before_the_first(threads: _Fake) -> None:
    inner = functools.partial(lapack.on_one_thread, "numpy", lambda: threads.count)
    assert lapack.on_one_thread("numpy", inner) == 1
    assert threads.seen == [1, 1, 1, 4]


def test_holders_that_end_in_another_order_give_it_back_too(threads: _Fake) -> None:
    begun, first_ends = threading.Barrier(2), threading.Event()

    def first() -> None:
        begun.wait()
        first_ends.wait()

    one = threading.Thread(target=lapack.on_one_thread, args=("numpy", first))
    one.start()
    lapack.on_one_thread("numpy", lambda: (begun.wait(), first_ends.set(), one.join()))
    assert threads.count == 4


def test_no_interrupt_leaves_the_limit_behind() -> None:
    counts = [4]
    found = lapack.Library(functools.partial(counts.__getitem__, -1), counts.append)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for i in range(400):
            with contextlib.suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + i * 1e-7)
                while True:
                    found.alone(int)
            assert counts[-1] == 4
            del counts[:-1]
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_failed_call_gives_the_threads_back(threads: _Fake) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.linalg.inv(np.zeros((32, 32), np.float32))
    assert threads.seen in ([1, 4], [1, 4, 1, 4])  # compiled first where the size came before


def test_host_kernels_are_limited_where_no_matrix_is_large_or_small(threads: _Fake) -> None:
    run = lapack.limited(lambda x: threads.count)
    for side, count in ((lapack.LARGE, 1), (lapack.SMALL + 1, 1), (lapack.SMALL, 4)):
        assert run(np.broadcast_to(np.float32(0), (side, side))) == count
    assert run(np.broadcast_to(np.float32(0), (lapack.LARGE + 1, 2))) == 4
    assert run(np.zeros(lapack.LARGE)) == 4  # no matrix


@pytest.mark.parametrize("form", ["eager", "function"])
def test_compiled_calls_are_limited(threads: _Fake, form: str) -> None:
    x = tf.constant(np.broadcast_to(np.eye(64, dtype=np.float32) * 4, (8, 64, 64)))
    call = tf.linalg.cholesky if form == "eager" else tf.function(tf.linalg.cholesky)
    for _ in range(3):  # the first call with a size runs on the host
        np.testing.assert_array_equal(call(x).numpy()[3], np.eye(64) * 2)
    assert threads.count == 4
    assert set(threads.seen) == {1, 4}


def test_the_limit_is_lifted_once_large_matrices_were_traced(threads: _Fake) -> None:
    limit = lapack.Limit()

    def traced(side: int) -> int:
        lapack.note(np.broadcast_to(np.float32(0), (side, side)))
        return threads.count

    assert limit.run(traced, lapack.LARGE) == 1
    assert limit.run(traced, lapack.LARGE + 1) == 1  # known after it was traced
    assert limit.run(traced, 2) == 4


def test_other_operations_are_left_alone(threads: _Fake) -> None:
    tf.linalg.matmul(np.eye(3), np.eye(3))
    assert threads.seen == []


def test_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    assert lapack.library.__wrapped__("numpy") is None


def test_the_libraries_of_this_installation_take_the_limit() -> None:
    found = lapack.library.__wrapped__("numpy")
    if found is None:
        pytest.skip("NumPy brings no OpenBLAS here, or the environment sets its threads")
    before = found.get()
    assert found.alone(found.get) == 1
    assert found.get() == before
