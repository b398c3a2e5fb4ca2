"""Records golden results: runs proposed cases on TensorFlow and adds them to the data set.

    path/to/tensorflow/bin/python -m tools.golden.record CASES [--replace]

Each case runs twice, in processes of their own and in opposite orders; what differs between the two
(uninitialised memory, the order of threads, counters) is left out, and so is what ends the process
or asks for more memory than a test may. Operations that occur in CASES get these cases alone; with
--replace the data set holds nothing else afterwards.
"""

from __future__ import annotations

import collections
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tools.golden import calls, codec
from tools.golden.codec import Case

PATIENCE = 10.0  # seconds that a case may take
MEMORY = 16 << 30  # bytes of address space
STARTING = "starting"
CRASH = "crash"
# Without oneDNN: its sums are in another order on each machine.
ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "",
    "TF_ENABLE_ONEDNN_OPTS": "0",
}
_LEFT_OUT = {"ResourceExhaustedError", "MemoryError", "UnknownError", "InternalError", "TooLarge"}


def main(arguments: list[str]) -> None:
    """Runs the command in the module's docstring."""
    if not arguments:
        sys.exit(__doc__)
    cases = [json.loads(line) for line in Path(arguments[0]).read_text().splitlines()]
    os.environ |= ENVIRONMENT
    tf = importlib.import_module("tensorflow")
    first = _outcomes(tf, cases)
    again = [i for i, outcome in enumerate(first) if outcome.get("err") != CRASH][::-1]
    second = dict(zip(again, _outcomes(tf, [cases[i] for i in again]), strict=True))
    known = {} if "--replace" in arguments or not codec.DATA.exists() else codec.read()
    kept: dict[str, list[Case]] = {}
    lost: collections.Counter[str] = collections.Counter()
    for i, (case, outcome) in enumerate(zip(cases, first, strict=True)):
        why = _reason_to_leave_out(outcome, second.get(i))
        if why:
            lost[why] += 1
            continue
        op = case.pop("op")
        kept.setdefault(op, []).append(case | outcome)
    names = sorted(name for name in dir(tf.raw_ops) if name[0] != "_")
    codec.write(known | kept, {"version": tf.__version__, "raw_ops": names})
    total = sum(map(len, kept.values()))
    print(f"{total} cases of {len(kept)} operations; left out: {dict(lost)}")


def _reason_to_leave_out(first: dict[str, Any], second: dict[str, Any] | None) -> str | None:
    if second is None or second.get("err") == CRASH:
        return "ends the process, or takes too long"
    if first.get("err") in _LEFT_OUT:
        return str(first["err"])
    return None if codec.same(first, second) else "differs between runs"


def _outcomes(tf: Any, cases: list[Case]) -> list[dict[str, Any]]:
    """The outcome of each case; a worker that dies takes one case with it."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "outcomes")
        made.touch()
        while True:
            done = made.read_text().splitlines()
            if done and done[-1] == STARTING:
                print("ends the process:", json.dumps(cases[len(done) - 1])[:300], flush=True)
                done[-1] = json.dumps({"err": CRASH})
                made.write_text("".join(line + "\n" for line in done))
            if len(done) == len(cases):
                return [json.loads(line) for line in done]
            _run_worker(tf, cases[len(done) :], made)


def _run_worker(tf: Any, cases: list[Case], made: Path) -> None:
    """Runs cases in a forked process, which has not to import TensorFlow again."""
    worker = os.fork()
    if worker == 0:
        try:
            _work(tf, cases, made)
        finally:
            os._exit(0)
    size, since = -1, time.monotonic()
    while os.waitpid(worker, os.WNOHANG) == (0, 0):
        time.sleep(0.05)
        now = made.stat().st_size
        if now != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            os.kill(worker, signal.SIGKILL)


def _work(tf: Any, cases: list[Case], made: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with made.open("r+", encoding="utf-8") as file:
        for case in cases:
            position = file.seek(0, os.SEEK_END)
            file.write(STARTING + "\n")
            file.flush()
            outcome = calls.run(tf, case)
            file.seek(position)
            file.truncate()
            file.write(json.dumps(outcome) + "\n")
            file.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
