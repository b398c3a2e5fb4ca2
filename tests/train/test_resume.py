"""A run that is killed and resumed computes the bits of one that is not."""

import os
import random
import signal
import subprocess
import sys

from tests.train.resumed_program import run

import penstock as tf

LAST = 6
PROGRAM = os.path.join(os.path.dirname(__file__), "resumed_program.py")
SOURCE = os.path.dirname(os.path.dirname(tf.__file__))


def losses(log):
    """The last loss that was computed for each step, and the steps in the order they ran."""
    pairs = [line.split() for line in log.read_text().splitlines()]
    return dict(pairs), [int(step) for step, _ in pairs]


def test_a_killed_run_goes_on_with_the_same_losses(tmp_path):
    run(tmp_path / "whole", tmp_path / "whole.log", LAST)
    expected, steps = losses(tmp_path / "whole.log")
    assert steps == list(range(1, LAST + 1))
    assert len(set(expected.values())) == LAST
    killed_at = random.randrange(1, LAST)
    log = tmp_path / "killed.log"
    arguments = [PROGRAM, tmp_path / "killed", log, LAST, killed_at]
    killed = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": SOURCE},
        check=False,
        timeout=120,
    )
    assert killed.returncode == -signal.SIGKILL
    assert losses(log)[1][-1] == killed_at
    run(tmp_path / "killed", log, LAST)
    found, steps = losses(log)
    assert steps[-1] == LAST
    # What was computed after the last checkpoint is computed again, to the same bits.
    saved = killed_at - killed_at % 2
    assert steps == [*range(1, killed_at + 1), *range(saved + 1, LAST + 1)]
    assert found == expected, f"killed at step {killed_at}"
