"""Times every raw operation beside TensorFlow, both in one run, and writes docs/ops_speed.md.

    python -m benchmarks.ops.run --tensorflow PATH      # PATH: an interpreter that has TensorFlow
    python -m benchmarks.ops.run --tensorflow PATH Conv2D strings --forms eager --sizes 1000 65536
    python -m benchmarks.ops.run --page                 # only write the page again

From the repository's root. Names are operations or families of `calls.txt`; without any, all are
run. A worker process of each library answers one job after the other, in alternation, each round
starting with the other one; a figure is the smallest of its rounds' medians. One round is made of
every row. Rows in which Penstock is not clearly faster get --rounds, so that a moment of other work
decides nothing.

Figures are kept in results.json beside this file as they come: a run that is stopped goes on where
it was. --again measures anew; --above measures what is above the limit once more, and keeps the
smaller figures; --results keeps them in another file and leaves the page alone. `reasons.txt` says
why a row is above the limit, `left_out.txt` why an operation has no call.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import platform
import select
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.ops import page
from benchmarks.ops.values import HERE, entries

SIZES = (10, 1000, 65_536, 1_000_000)  # the third is where host, threads and XLA take turns
FORMS = ("eager", "function", "jit")
CLOSE = 0.9  # ratios above it are measured again
RESULTS = HERE / "results.json"
Row = dict[str, Any]


class Worker:
    """A process that times calls with one library, started again after it died."""

    def __init__(self, python: str, library: str, patience: float) -> None:
        self._command = [python, "-m", "benchmarks.ops.worker", library]
        self._patience = patience
        self._process: subprocess.Popen[str] | None = None

    def ask(self, job: Row) -> Row:
        """The worker's answer, or an error when it died or took too long."""
        if self._process is None:
            quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": "src"}
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                stderr=subprocess.DEVNULL, env={**os.environ, **quiet},
            )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], self._patience)
        answer = self._process.stdout.readline() if ready else ""
        if answer:
            return dict(json.loads(answer))
        self.close()
        return {"error": "the process died" if ready else f"no answer in {self._patience:.0f} s"}

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def measure(job: Row, ours: Worker, theirs: Worker, rounds: int, known: Row | None = None) -> Row:
    """Both figures of a job, the smallest with those known before, or why there is none."""
    row: Row = dict(known or {})
    for turn in range(rounds):
        order = [("tf", theirs), ("ps", ours)]
        for name, worker in order if turn % 2 == 0 else reversed(order):
            answer = worker.ask(job)
            if "error" in answer:
                row[f"{name}_error"] = answer["error"]
                return row
            for key, figure in answer.items():
                row[f"{name}_{key}"] = min(figure, row.get(f"{name}_{key}", figure))
        if row["ps_us"] < CLOSE * row["tf_us"]:
            break
    return row


def jobs(
    names: Iterable[str], forms: Iterable[str], sizes: Iterable[int], gradients: Iterable[bool]
) -> Iterable[tuple[str, Row]]:
    """(key of the row, job) of everything asked for."""
    wanted = {name.lower() for name in names}
    for family, operation, text in entries(HERE / "calls.txt"):
        if wanted and not wanted & {operation.lower(), family.lower()}:
            continue
        for n, form, gradient in itertools.product(sizes, forms, gradients):
            key = f"{operation}/{n}/{form}/{'gradient' if gradient else 'forward'}"
            yield key, {"op": operation, "args": text, "n": n, "form": form, "gradient": gradient}


def read(results: Path = RESULTS) -> dict[str, Any]:
    """What is measured so far: {"about": ..., "rows": {key: row}}."""
    if results.exists():
        return dict(json.loads(results.read_text()))
    return {"about": {}, "rows": {}}


def write(found: dict[str, Any], results: Path = RESULTS) -> None:
    """Keep the results, one row a line."""
    rows = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found["rows"].items())
    text = f'{{"about": {json.dumps(found["about"])},\n"rows": {{\n{rows}\n}}}}\n'
    temporary = results.with_suffix(".new")
    temporary.write_text(text)
    temporary.replace(results)


def about(tensorflow: str) -> dict[str, Any]:
    """The machine, the day and the load."""
    model = [x for x in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in x]
    version = subprocess.run(
        [tensorflow, "-c", "import importlib.metadata as m; print(m.version('tensorflow-cpu'))"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} processors, {model[0].partition(': ')[2] if model else '?'}",
        "python": platform.python_version(),
        "tensorflow": version,
    }


def run(args: argparse.Namespace) -> None:
    """Measure what is asked for and not known yet."""
    found = read(args.results)
    found["about"] = {**found["about"], **about(args.tensorflow)}
    loads = found["about"].setdefault("loads", [])
    ours = Worker(sys.executable, "penstock", args.patience)
    theirs = Worker(args.tensorflow, "tensorflow", args.patience)
    gradients = {"both": (False, True), "forward": (False,), "gradient": (True,)}[args.parts]
    for count, (key, job) in enumerate(jobs(args.names, args.forms, args.sizes, gradients)):
        known = found["rows"].get(key, {})
        if args.above and not page.is_above(known):
            continue
        if known and not (args.again or args.above):
            continue
        forward = found["rows"].get(key.replace("/gradient", "/forward"), {})
        if job["gradient"] and "tf_us" not in forward:
            continue  # no call, no gradient of it
        job["seconds"], before = args.seconds, known if args.above else None
        found["rows"][key] = measure(job, ours, theirs, args.rounds, before)
        print(key, json.dumps(found["rows"][key]), flush=True)
        if count % 50 == 0:
            loads.append(round(os.getloadavg()[0], 1))
            write(found, args.results)
    write(found, args.results)
    ours.close()
    theirs.close()


def main() -> None:
    """Run the command in the module's docstring."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tensorflow", help="an interpreter that has TensorFlow")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--parts", choices=("both", "forward", "gradient"), default="both")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of the figures")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.03, help="for a figure, at least")
    parser.add_argument("--patience", type=float, default=60, help="seconds for one answer")
    parser.add_argument("--again", action="store_true", help="measure what is known too")
    parser.add_argument("--above", action="store_true", help="only what is above the limit")
    parser.add_argument("names", nargs="*", metavar="operation or family")
    args = parser.parse_args()
    if not args.page:
        if not args.tensorflow:
            parser.error("--tensorflow: the interpreter that has TensorFlow")
        run(args)
    if args.page or args.results == RESULTS:
        page.write(read(args.results))


if __name__ == "__main__":
    main()
