"""Memory that steps free stays with the process."""

import os
import subprocess
import sys

import pytest

from penstock.core import memory

STEPS = """
import resource
import penstock as tf

@tf.function
def step(x):
    y = tf.reshape(x, [-1, 1]) * tf.reshape(x, [1, -1])   # 64 MB
    return tf.reduce_sum(tf.matmul(y, tf.ones([4000, 16])))

x = tf.ones([4000])
faults = []
for _ in range(16):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    step(x).numpy()
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(min(faults))  # a step may start before XLA has freed what the last one used
"""


class Library:
    def __init__(self):
        self.calls = []

    def mallopt(self, parameter, value):
        self.calls.append((parameter, value))
        return 1


@pytest.fixture
def library(monkeypatch):
    made = Library()
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: made)
    return made


def test_the_library_is_told(library, monkeypatch):
    monkeypatch.delenv("PENSTOCK_KEEP_MEMORY", raising=False)
    monkeypatch.setattr(memory, "has_gnu_library", lambda: True)
    assert memory.keep_freed_memory()
    assert dict(library.calls) == dict(memory.SETTINGS)


@pytest.mark.parametrize(("switch", "gnu"), [("0", True), ("1", False)])
def test_it_is_left_alone(library, monkeypatch, switch, gnu):
    monkeypatch.setenv("PENSTOCK_KEEP_MEMORY", switch)
    monkeypatch.setattr(memory, "has_gnu_library", lambda: gnu)
    assert not memory.keep_freed_memory()
    assert library.calls == []


@pytest.mark.skipif(not memory.has_gnu_library(), reason="another C library")
def test_steps_find_the_pages_of_the_last_one():
    switched_on = {**os.environ, "PENSTOCK_KEEP_MEMORY": "1"}
    command = [sys.executable, "-c", STEPS]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=switched_on)
    assert int(done.stdout) < 64 * 256 / 4  # of 256 pages a MB, 64 MB a step
