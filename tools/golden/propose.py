"""Proposes golden cases: the calls of a harvest with their variants, and the programs by hand.

    python -m tools.golden.propose SEEDS CASES [OPERATION ...]

reads what `tools.golden.harvest` wrote and writes a case a line for `tools.golden.record`.
The first seed of an operation is varied in every way of `tools.golden.vary`, the others where room
is left.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.golden import texts
from tools.golden.codec import Case
from tools.golden.left_out import NOT_RECORDED
from tools.golden.programs import programs
from tools.golden.programs import seeds as seeds_by_hand
from tools.golden.vary import other_dtypes, variants
from tools.op_signature import load_op_defs

from penstock.core import op_def
from penstock.ops import load_all
from penstock.ops.raw import _parameter

PER_OPERATION = 48


def main(arguments: list[str]) -> None:
    """Runs the command in the module's docstring."""
    if len(arguments) < 2:
        sys.exit(__doc__)
    seeds_path, cases_path, *chosen = arguments
    seeds: dict[str, list[Case]] = {}
    for line in Path(seeds_path).read_text().splitlines():
        seed = json.loads(line)
        seeds.setdefault(seed["op"], []).append(seed)
    for op, calls in seeds_by_hand().items():
        seeds[op] = [*calls, *seeds.get(op, [])]
    load_all()
    by_hand = {op: cases for op, cases in programs().items() if op_def.find(op) is not None}
    by_hand |= texts.cases()
    with open(cases_path, "w", encoding="utf-8") as file:
        for op in sorted(seeds.keys() | by_hand.keys()):
            if op in NOT_RECORDED or (chosen and op not in chosen):
                continue
            for case in [*by_hand.get(op, []), *_varied(op, seeds.get(op, []))]:
                print(json.dumps({"op": op, **case}, sort_keys=True), file=file)


def _varied(op: str, seeds: list[Case]) -> list[Case]:
    definition = _definition(op)
    if (
        definition is None
        or not seeds
        or any(o.get("type") == "resource" for o in definition["outputs"])
    ):
        return []  # a handle alone says nothing: the programs by hand use it
    seeds = sorted(seeds, key=_rank)
    found: dict[str, Case] = {}
    for case in _all(seeds, definition):
        found.setdefault(json.dumps(case, sort_keys=True), case)
    return list(found.values())[:PER_OPERATION]


def _all(seeds: list[Case], definition: dict[str, Any]) -> Iterator[Case]:
    yield from seeds
    yield from other_dtypes(seeds[0], definition)
    for seed in seeds:
        yield from variants(seed, definition)


def _rank(seed: Case) -> tuple[bool, bool, int]:
    """Seeds with elements first, then those of the usual dtypes."""
    text = json.dumps(seed)
    usual = '"float32"' in text or "float" not in text
    return ("[0" in text or ", 0]" in text, not usual, len(text))


def _definition(op: str) -> dict[str, Any] | None:
    """TensorFlow's definition with the names of the raw function's parameters."""
    fact, ours = load_op_defs().get(op), op_def.find(op)
    if fact is None or ours is None:
        return None
    return {
        key: [item | {"name": _parameter(ours, item["name"])} for item in fact[key]]
        for key in ("inputs", "attrs")
    } | {"outputs": fact["outputs"]}


if __name__ == "__main__":
    main(sys.argv[1:])
