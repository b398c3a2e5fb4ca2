"""Throughput of a queue: batches of 128 elements of 1 KB, one producer and one consumer thread.

    python benchmarks/queues.py penstock
    python benchmarks/queues.py tensorflow

Run it with an interpreter that has the library. Prints batches a second in a session (the fed array
goes in, the fetched array comes out) and eagerly: the best of five rounds, since other programs use
the machine too; and the processor time of a batch, all threads together, in the round with the
least. Every byte is checked in the first round, which is not measured.
"""

import importlib
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

BATCHES = 2000
ROUNDS = 5
DATA = np.random.default_rng(0).integers(0, 256, (128, 1024)).astype(np.uint8)


def seconds(put: Callable[[], Any], take: Callable[[], Any], check: bool) -> tuple[float, float]:
    """The time that all batches take from one thread to another, and that of the processors."""

    def produce() -> None:
        for _ in range(BATCHES):
            put()

    thread = threading.Thread(target=produce)
    start, used = time.perf_counter(), time.process_time()
    thread.start()
    for _ in range(BATCHES):
        found = take()
        if check:
            assert np.array_equal(np.asarray(found), DATA)
    thread.join()
    return time.perf_counter() - start, time.process_time() - used


def best(put: Callable[[], Any], take: Callable[[], Any]) -> tuple[float, float]:
    """Batches a second in the best round, and microseconds of processor time for each."""
    seconds(put, take, check=True)
    walls, used = zip(*(seconds(put, take, check=False) for _ in range(ROUNDS)), strict=True)
    return BATCHES / min(walls), min(used) / BATCHES * 1e6


def in_session(tf: Any) -> tuple[float, float]:
    """Through a session's calls, prepared once."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        given = v1.placeholder(tf.uint8, [128, 1024])
        queue = v1.FIFOQueue(1024, tf.uint8, shapes=[(1024,)])
        put = session.make_callable(queue.enqueue_many(given), [given])
        take = session.make_callable(queue.dequeue_many(128))
        return best(lambda: put(DATA), take)


def eagerly(tf: Any) -> tuple[float, float]:
    """One operation at a time."""
    queue = tf.queue.FIFOQueue(1024, tf.uint8, shapes=[(1024,)])
    data = tf.constant(DATA)
    return best(lambda: queue.enqueue_many(data), lambda: queue.dequeue_many(128))


if __name__ == "__main__":
    library = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "penstock")
    for name, run in (("session", in_session), ("eager", eagerly)):
        rate, used = run(library)
        print(f"{library.__name__} {name}: {rate:,.0f} batches/s, {used:.0f} us of processor time")
