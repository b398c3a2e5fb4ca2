"""A process that is killed while it saves leaves the last good checkpoint restorable.

PENSTOCK_KILLS=1000 kills more often than the usual 50 times.
"""

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


def test_kill_at_any_instant(tmp_path):
    chance, folder, last = random.Random(5), str(tmp_path), 0
    with subprocess.Popen(
        [sys.executable, str(WRITER)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as killer:
        for kill in range(KILLS):
            seconds = 0.5 if kill == 0 else chance.uniform(0.0, 0.04)
            print(folder, last + 1, seconds, file=killer.stdin, flush=True)
            assert killer.stdout.readline() == "killed\n"
            latest = tf.train.latest_checkpoint(folder)
            assert latest is not None
            number = number_in(latest)
            assert latest.endswith(f"ckpt-{number}")
            assert number >= last  # what was saved stays
            assert number_in(f"{folder}/same") >= number
            last = number
        killer.stdin.close()
    assert last > 1
