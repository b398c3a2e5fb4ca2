"""A process that is killed while it saves leaves the last good checkpoint restorable.

PENSTOCK_KILLS=1000 kills more often than the usual 50 times.
"""

import contextlib
import os
import pathlib
import random
import subprocess
import sys

import numpy as np

import penstock as tf
from penstock.core.bundle.reader import BundleReader

WRITER = pathlib.Path(__file__).with_name("killed_writer.py")
SOURCE = pathlib.Path(tf.__file__).parents[1]
KILLS = int(os.environ.get("PENSTOCK_KILLS", "50"))


def number_in(prefix):
    """The number that a checkpoint was filled with, when all of it is there and right."""
    with BundleReader(prefix) as reader:
        a, b = reader.read("a"), reader.read("b")
    np.testing.assert_array_equal(a, b)
    assert (a == a[0]).all()
    return int(a[0])


@contextlib.contextmanager
def killed_writers():
    """A function that starts a writer, has it killed, and returns when it is gone."""
    with subprocess.Popen(
        [sys.executable, str(WRITER)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as killer:

        def kill(folder, number, when):
            print(folder, number, when, file=killer.stdin, flush=True)
            assert killer.stdout.readline() == "killed\n"

        yield kill
        killer.stdin.close()


def surviving(folder, last):
    """The number of the last good checkpoint, which is not older than `last`."""
    latest = tf.train.latest_checkpoint(folder)
    assert latest is not None
    number = number_in(latest)
    assert latest.endswith(f"ckpt-{number}")
    assert number >= last  # what was saved stays
    assert number_in(f"{folder}/same") >= number
    return number


def test_kill_at_any_instant(tmp_path):
    chance, folder, last = random.Random(5), str(tmp_path), 0
    with killed_writers() as kill:
        for number in range(KILLS):
            # Some checkpoints are there before the first instant, however slow the machine is.
            kill(folder, last + 1, "@200" if number == 0 else chance.uniform(0.0, 0.04))
            last = surviving(folder, last)
    assert last > 1


def test_kill_before_every_change_of_a_file(tmp_path):
    """The instants between two changes are short; time alone seldom hits them."""
    folder, last = str(tmp_path), 0
    with killed_writers() as kill:
        kill(folder, 1, "@200")  # some checkpoints are there
        for call in range(1, 60):
            last = surviving(folder, last)
            kill(folder, last + 1, f"@{call}")
    assert surviving(folder, last) > 10
