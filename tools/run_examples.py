"""Runs the quick form of every example, each within its budget.

    python tools/run_examples.py [NAME ...]

Every file of `examples/` is in QUICK, so a new example is never left out unnoticed. Examples write
into a temporary folder. Exit code 1 when one fails or takes longer than its budget.
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
      name: a file of `examples/`.
      arguments: what follows it; `{out}` stands for a folder that it may fill.
      seconds: the budget, the start of the interpreter included.
    """

    name: str
    arguments: tuple[str, ...]
    seconds: float


QUICK = (
    *(
        Quick("digits.py", ("--variant", variant, "--steps", "20", "--out", "{out}"), 60)
        for variant in ("eager", "session", "function")
    ),
    Quick("custom_operation.py", (), 30),
    Quick("graph_session.py", (), 30),
    Quick("pipeline.py", (), 30),
)


def main(names: list[str]) -> int:
    found, known = {path.name for path in ROOT.glob("examples/*.py")}, {each.name for each in QUICK}
    if found != known or not known.issuperset(names):
        odd = ", ".join(sorted((found ^ known) | (set(names) - known)))
        print(
            f"run_examples: expected examples that are files and in QUICK, got one of the two for "
            f"{odd}. Add it to QUICK, or correct its name.",
            file=sys.stderr,
        )
        return 1
    chosen = [each for each in QUICK if not names or each.name in names]
    results = [run(each) for each in chosen]
    return 0 if all(results) else 1


def run(quick: Quick) -> bool:
    """True when the example ends well and in time."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as out:
        arguments = [each.format(out=out) for each in quick.arguments]
        title = f"{quick.name} {' '.join(quick.arguments)}"
        print(f"== {title}", flush=True)
        try:
            code = subprocess.run(
                [sys.executable, "-m", "penstock.cli", "run", f"examples/{quick.name}", *arguments],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
                timeout=quick.seconds,
            ).returncode
        except subprocess.TimeoutExpired:
            print(f"== {title}: stopped at its budget, {quick.seconds:g} s", file=sys.stderr)
            return False
    print(f"== {title}: exit code {code} after {time.monotonic() - start:.1f} s", flush=True)
    return code == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
