"""Runs the quick form of every example, each within its budget.

    python tools/run_examples.py [NAME ...]

Every file of `examples/` has an entry in QUICK, so a new example is never left out unnoticed.
Examples write into a temporary folder. Exit code 1 when one fails or takes longer than its budget.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Quick:
    """How to run an example in a short time.

    Attributes:
      arguments: what follows the script's name; `{out}` stands for a folder that it may fill.
      seconds: the budget, start of the interpreter included.
    """

    arguments: tuple[str, ...]
    seconds: float


QUICK = {}


def main(names: list[str]) -> int:
    found = {path.name for path in (ROOT / "examples").glob("*.py")}
    if found != set(QUICK):
        odd = ", ".join(sorted(found ^ set(QUICK)))
        print(
            f"run_examples: expected one entry in QUICK for each example, got a difference: {odd}"
        )
        return 1
    failed = [name for name in names or sorted(QUICK) if not run(name, QUICK[name])]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def run(name: str, quick: Quick) -> bool:
    """True when the example ends well and in time."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as out:
        arguments = [each.format(out=out) for each in quick.arguments]
        command = [sys.executable, "-m", "penstock.cli", "run", f"examples/{name}", *arguments]
        print(f"== {name} {' '.join(quick.arguments)}", flush=True)
        try:
            code = subprocess.run(
                command, cwd=ROOT, env=environment, timeout=quick.seconds
            ).returncode
        except subprocess.TimeoutExpired:
            print(f"== {name}: stopped after its budget of {quick.seconds:g} s", file=sys.stderr)
            return False
    print(f"== {name}: exit code {code} after {time.monotonic() - start:.1f} s", flush=True)
    return code == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
