"""Golden cases by hand: programs of several calls, and calls that no test makes."""

from __future__ import annotations

from tools.golden import (
    programs_containers,
    programs_matrices,
    programs_state,
    programs_tables,
    single_calls,
)
from tools.golden.codec import Case

PER_OPERATION = 16  # a program stands with each operation that it runs


def programs() -> dict[str, list[Case]]:
    """Operation -> its cases."""
    found: dict[str, list[Case]] = {}
    for part in (programs_state, programs_containers, programs_matrices, programs_tables):
        for op, cases in part.programs().items():
            found.setdefault(op, []).extend(cases)
    return {op: cases[:PER_OPERATION] for op, cases in found.items()}


def seeds() -> dict[str, list[Case]]:
    """Operation -> calls that are varied as those of a harvest are."""
    found: dict[str, list[Case]] = {}
    for op, arguments in single_calls.CALLS:
        found.setdefault(op, []).append({"op": op, "steps": [[op, arguments]]})
    return found
