"""A run that is killed and resumed computes the bits of one that is not."""

import os
import random
import signal
import subprocess
import sys

import pytest
from tests.train.resumed_program import THREADS, run

import penstock as tf

LAST = 6
PROGRAM = os.path.join(os.path.dirname(__file__), "resumed_program.py")
SOURCE = os.path.dirname(os.path.dirname(tf.__file__))


def losses(log):
    """The last loss that was computed for each step, and the steps in the order they ran."""
    pairs = [line.split() for line in log.read_text().splitlines()]
    return dict(pairs), [int(step) for step, _ in pairs]


def process(mode, folder, log, last, killed_at, *more):
    """Runs the program in a process of its own, until it is killed or ends."""
    arguments = [PROGRAM, mode, folder, log, last, killed_at, *more]
    ended = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": SOURCE},
        check=False,
        timeout=110,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == (-signal.SIGKILL if killed_at else 0), ended.stderr


@pytest.mark.parametrize("mode", ["session", "eager", "function"])
def test_a_killed_run_goes_on_with_the_same_losses(mode, tmp_path):
    run(mode, tmp_path / "whole", tmp_path / "whole.log", LAST)
    expected, steps = losses(tmp_path / "whole.log")
    assert steps == list(range(1, LAST + 1))
    assert len(set(expected.values())) == LAST
    killed_at = random.randrange(1, LAST)
    log = tmp_path / "killed.log"
    process(mode, tmp_path / "killed", log, LAST, killed_at)
    assert losses(log)[1][-1] == killed_at
    run(mode, tmp_path / "killed", log, LAST)
    found, steps = losses(log)
    assert steps[-1] == LAST
    # What was computed after the last checkpoint is computed again, to the same bits. The process
    # is killed before the checkpoint of that step, but for sessions, which save it in the run.
    saved = (killed_at if mode == "session" else killed_at - 1) // 2 * 2
    assert steps == [*range(1, killed_at + 1), *range(saved + 1, LAST + 1)]
    assert found == expected, f"killed at step {killed_at}"


def test_a_killed_asynchronous_run_goes_on_through_its_replay(tmp_path):
    """Each part between two checkpoints has a log; what was recorded is replayed and killed."""
    whole, killed, log = tmp_path / "whole", tmp_path / "killed", tmp_path / "killed.log"
    process("asynchronous", whole, tmp_path / "whole.log", 3, 0)
    expected, steps = losses(tmp_path / "whole.log")
    assert len(steps) == len(set(expected.values())) == 3 * THREADS * 4
    part, thread, step = random.randrange(1, 4), random.randrange(THREADS), random.randrange(4)
    killed_at = part * 100 + thread * 10 + step
    process("asynchronous", killed, log, 3, killed_at, whole)
    process("asynchronous", killed, log, 3, 0, whole)
    found, steps = losses(log)
    assert found == expected, f"killed at step {killed_at}"
    assert len(steps) > len(expected)  # some were computed twice


def test_a_killed_recording_is_repeated_as_far_as_it_goes(tmp_path):
    log, again = tmp_path / "first.log", tmp_path / "again.log"
    process("recorded", tmp_path, log, 1, 112)
    before = losses(log)[0]
    with pytest.raises(tf.errors.DataLossError, match="truncated"):
        tf.debugging.experimental.replay_effects(tmp_path / "effects-1")
    process("repeated", tmp_path / "again", again, 1, 0, tmp_path)
    after = losses(again)[0]
    assert len(after) == THREADS * 4
    # The last losses may have been computed after the last effect that was written.
    assert sum(after[step] == before[step] for step in before) >= len(before) - THREADS
