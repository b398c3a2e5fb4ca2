"""Single calls on the host and compiled, operation by operation, for core/host_sizes.py.

    python -m benchmarks.host_sizes 65536 1000000        # sizes; more words name operations

From the repository's root. Each operation of ops/calls.txt that has kernels of both kinds runs in
turns with each, as an eager call; a figure is the smaller of two medians, in microseconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.ops.values import HERE, entries
from benchmarks.ops.worker import SAMPLE, Library

import penstock as tf
from penstock.core.op_def import lookup

HOST = 1 << 61  # elements that no call has


def median(library: Library, call: Callable[[], Any]) -> float:
    """Microseconds of a call in the median, after a few to warm up."""
    for _ in range(4):
        once = library._sample(call, 1)[0]
    repeats = max(1, int(SAMPLE / once))
    return float(np.median([library._sample(call, repeats)[0] for _ in range(12)])) * 1e6


def both(library: Library, name: str, text: str, size: int) -> tuple[float, float] | None:
    """Microseconds compiled and on the host; None for an operation that has no choice."""
    job = {"op": name, "args": text, "n": size, "form": "eager", "gradient": False}
    call = library.prepare(job)
    call()
    made = [p for p in lookup(name).prepared.values() if p.host_kernel and p.compiled]
    made = [p for p in made if not p.refs and p.limit < size]
    if not made:
        return None
    kept = [(p.limit, p.single_limit, p.small_limit) for p in made]
    figures: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(2):
        for host in (False, True):
            for p, (limit, _, _) in zip(made, kept, strict=True):
                p.limit = p.single_limit = p.small_limit = HOST if host else limit
            figures[host].append(median(library, call))
    for p, own in zip(made, kept, strict=True):
        p.limit, p.single_limit, p.small_limit = own
    return min(figures[False]), min(figures[True])


def main() -> None:
    """Run the command in the module's docstring."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="+", metavar="size or operation")
    words = parser.parse_args().words
    sizes = [int(w) for w in words if w.isdigit()]
    names = {w for w in words if not w.isdigit()}
    library = Library("penstock")
    print(f"{'operation':34}{'elements':>10}{'compiled':>10}{'host':>10}{'ratio':>7}")
    for _, name, text in entries(HERE / "calls.txt"):
        if names and name not in names:
            continue
        for size in sizes:
            try:
                found = both(library, name, text, size)
            except (tf.errors.OpError, ValueError, MemoryError) as problem:
                print(f"{name:34}{size:10}  {type(problem).__name__}")
                continue
            if found is not None:
                compiled, host = found
                print(
                    f"{name:34}{size:10}{compiled:10.0f}{host:10.0f}{host / compiled:7.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
