"""Writes docs/ops_speed.md of what `run.py` measured: by family, and the rows above the limit."""

from __future__ import annotations

import collections
import fnmatch
import statistics
from pathlib import Path
from typing import Any

from benchmarks.ops.values import HERE, entries

LIMIT = 1.2
PAGE = HERE.parents[1] / "docs" / "ops_speed.md"

HEAD = """# Operations beside TensorFlow

Written by `python -m benchmarks.ops.run --page`, which also measures. Each call runs in both
libraries in one run, in alternation; a figure is the smallest of the rounds' medians, and the ratio
is Penstock's time by TensorFlow's: below 1 Penstock is faster. *cpu* is the same ratio of processor
time, which other work on the machine disturbs less, and which does not count idle cores.

{machine}; Python {python}, TensorFlow {tensorflow}; {date}. Load average while it ran: {loads}.

*eager* are single calls, *function* the same in a `tf.function`, *jit* with `jit_compile`.
*gradient* is the call and its gradient under a tape, for random gradients of its results, which are
arguments as its inputs are. *median* is of the ratios, *above* the number above {limit}. Reasons
come from reading the kernels, by patterns of names; where figures stand they were measured. {note}
"""


def write(found: dict[str, Any], page: Path = PAGE) -> None:
    """Write the page of these results."""
    page.write_text(text(found))


def text(found: dict[str, Any]) -> str:
    """The page's text."""
    about = dict(found["about"])
    loads = about.pop("loads", None) or [0.0]
    spread = f"{min(loads)} to {max(loads)}, {statistics.median(loads):.1f} in the median"
    families = {name: family for family, name, _ in entries(HERE / "calls.txt")}
    rows = {key: row for key, row in found["rows"].items() if key.split("/")[0] in families}
    ratios = {k: row["ps_us"] / row["tf_us"] for k, row in rows.items() if "ps_us" in row}
    note = about.pop("note", "")  # what a person has to say of this run
    head = HEAD.format(**about, loads=spread, limit=LIMIT, note=note)
    lines = [head, *_by_family(ratios, families)]
    lines += ["", "## By size", "", *_by_size(ratios)]
    lines += ["", f"## Above {LIMIT}", "", *_above(ratios, rows)]
    lines += ["", "## Without a figure", "", *_without(rows)]
    lines += ["", "## Not timed", "", *_left_out()]
    return "\n".join(lines) + "\n"


def is_above(row: dict[str, Any]) -> bool:
    """Whether a row is above the limit."""
    return "ps_us" in row and bool(row["ps_us"] > LIMIT * row["tf_us"])


def _head(titles: str) -> list[str]:
    names = titles.split()
    return [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]


def _summary(ratios: list[float]) -> str:
    above = sum(r > LIMIT for r in ratios)
    return f"{len(ratios)} | {statistics.median(ratios):.2f} | {max(ratios):.1f} | {above}"


def _by_family(ratios: dict[str, float], families: dict[str, str]) -> list[str]:
    groups = collections.defaultdict(list)
    for key, ratio in ratios.items():
        operation, _, form, part = key.split("/")
        groups[families[operation], form, part].append(ratio)
        groups["**all**", form, part].append(ratio)
    order = {family: i for i, family in enumerate([*dict.fromkeys(families.values()), "**all**"])}
    lines = _head("family form part rows median worst above")
    for group in sorted(groups, key=lambda g: (order[g[0]], *g[1:])):
        lines.append(f"| {' | '.join(group)} | {_summary(groups[group])} |")
    return lines


def _by_size(ratios: dict[str, float]) -> list[str]:
    groups = collections.defaultdict(list)
    for key, ratio in ratios.items():
        _, n, form, part = key.split("/")
        groups[int(n), form, part].append(ratio)
    lines = _head("elements form part rows median worst above")
    for size, form, part in sorted(groups):
        lines.append(f"| {size:,} | {form} | {part} | {_summary(groups[size, form, part])} |")
    return lines


def reason(key: str, reasons: list[tuple[str, str]]) -> str:
    """Why a row is above the limit: of the first pattern that fits `Operation/size/form/part`."""
    fits = (why for pattern, why in reasons if fnmatch.fnmatchcase(key, pattern))
    return next(fits, "**not found yet**")


def _above(ratios: dict[str, float], rows: dict[str, Any]) -> list[str]:
    reasons = [(pattern, why) for _, pattern, why in entries(HERE / "reasons.txt")]
    lines = _head("operation elements form part us TensorFlow's ratio cpu reason")
    for key in sorted(k for k, ratio in ratios.items() if ratio > LIMIT):
        operation, n, form, part = key.split("/")
        ours, theirs = rows[key]["ps_us"], rows[key]["tf_us"]
        busy = rows[key]["ps_cpu"] / rows[key]["tf_cpu"]
        figures = f"{ours:.1f} | {theirs:.1f} | {ratios[key]:.2f} | {busy:.2f}"
        why = reason(key, reasons)
        lines.append(f"| {operation} | {int(n):,} | {form} | {part} | {figures} | {why} |")
    return lines


def _without(rows: dict[str, Any]) -> list[str]:
    """Calls that one of the libraries refuses, by what it says."""
    groups = collections.defaultdict(set)
    for key, row in rows.items():
        operation, n, form, _ = key.split("/")
        for who, name in (("tf", "TensorFlow"), ("ps", "Penstock")):
            problem = row.get(f"{who}_error", "NoGradient")
            if not problem.startswith("NoGradient"):
                groups[name, operation].add(f"{form}, {int(n):,}: {_short(problem)}")
    return [
        f"- {who}, {op}: {'; '.join(sorted(groups[who, op])[:2])}" for who, op in sorted(groups)
    ]


def _short(problem: str) -> str:
    """What a library says, without names of nodes and what a page cannot hold."""
    first = problem.partition("{{")[0].partition("\n")[0].strip()
    return first[:90].replace("|", "/").replace("<", "&lt;")


def _left_out() -> list[str]:
    groups = collections.defaultdict(list)
    for _, name, why in entries(HERE / "left_out.txt"):
        groups[why].append(name)
    return [f"- {why} ({len(names)}): {', '.join(names)}" for why, names in groups.items()]
