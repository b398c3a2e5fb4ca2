"""Loops over rows: `map_fn` of 1,000 rows, `scan` of 100 steps, and the gradient of that scan.

Run it for one library at a time, in turns, on a quiet machine:

    python benchmarks/control_flow.py penstock
    ~/peer/bin/python benchmarks/control_flow.py tensorflow

It prints the best of ten calls, in milliseconds.
"""

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ROWS, STEPS, BATCH, UNITS = 1000, 100, 32, 64


def cases(tf: Any) -> dict[str, Callable[[], Any]]:
    """The calls that are measured."""
    rng = np.random.default_rng(0)
    rows = tf.constant(rng.random((ROWS, 16), np.float32))
    steps = tf.constant(rng.random((STEPS, BATCH, UNITS), np.float32))
    weights = tf.constant(rng.random((UNITS, UNITS), np.float32) / UNITS)
    start = tf.zeros([BATCH, UNITS])

    def run(steps: Any, weights: Any) -> Any:
        return tf.scan(lambda h, x: tf.tanh(tf.matmul(h, weights) + x), steps, initializer=start)

    @tf.function(autograph=False)
    def mapped(rows: Any) -> Any:
        return tf.map_fn(lambda row: tf.sin(row) * row[0] + 1.0, rows)

    @tf.function(autograph=False)
    def gradient(steps: Any, weights: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(weights)
            total = tf.reduce_sum(run(steps, weights))
        return tape.gradient(total, weights)

    scanned = tf.function(run, autograph=False)
    return {
        "map_fn": lambda: mapped(rows),
        "scan": lambda: scanned(steps, weights),
        "gradient of scan": lambda: gradient(steps, weights),
    }


def milliseconds(call: Callable[[], Any]) -> float:
    """The best of ten calls after three to warm up."""
    for _ in range(3):
        np.asarray(call())
    best = float("inf")
    for _ in range(10):
        begin = time.perf_counter()
        np.asarray(call())
        best = min(best, time.perf_counter() - begin)
    return best * 1e3


if __name__ == "__main__":
    library = sys.argv[1] if len(sys.argv) > 1 else "penstock"
    for name, call in cases(importlib.import_module(library)).items():
        print(f"{library:12} {name:18} {milliseconds(call):8.3f} ms")
