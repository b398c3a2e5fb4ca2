"""Write docs/coverage.md: which operations there are, and how they compare with TensorFlow's.

    python tools/make_coverage.py            # write the page
    python tools/make_coverage.py --check    # say whether it would change; exit status 1 if so

The facts are the registered operations, the golden results under ``tests/data``, the table of known
differences in ``tests/golden/differences.py`` and the operations left out in
``tools/golden/left_out.py``.
"""

from __future__ import annotations

import collections
import functools
import importlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.golden.differences import KNOWN  # noqa: E402
from tests.golden.differences_public import KNOWN_LINES  # noqa: E402
from tools.golden import codec  # noqa: E402
from tools.golden.left_out import NOT_RECORDED  # noqa: E402

from penstock import ops  # noqa: E402
from penstock.core.op_def import registered, unserved  # noqa: E402
from penstock.data import operations as data_operations  # noqa: E402
from penstock.graph.superseded import SUPERSEDED  # noqa: E402

PAGE = ROOT / "docs" / "coverage.md"

# Operations that Penstock lacks, by what their names begin with or contain; the first that fits.
MISSING_FAMILIES = {
    "TPUs": "TPU|Tpu",
    "XLA": "^Xla",
    "datasets and iterators": "Dataset|Iterator",
    "collectives": "Collective|Nccl|AllToAll",
    "boosted trees and decision forests": "BoostedTrees|DecisionTree|TensorForest|Fertile|Tree",
    "quantised kernels": "Quantize|Dequantize|Requantiz|^Uniform|FakeQuant",
    "blocks of cells": "LSTM|GRU|Cudnn|RNN",
    "embeddings of many tables": "Embedding|SparseCore|CSR|Minibatch",
    "BLAS and cuSPARSE": "^SparseMatrix|CSRSparse|ToCSR|^Banded|^Tridiagonal|^MatrixS",
    "functions and remote calls": "Call|^Remote|Function",
    "debugging": "Debug|^Print|^Check",
    "readers, files and records": "Read|File|Record|Decode|Encode|Parse",
    "state, tables and queues": "Resource|Variable|Table|Queue|Stack|TensorArray|Map|Barrier",
    "sparse and ragged": "Sparse|Ragged",
    "random": "Random|Stateless|Rng|Sampler",
}


def page() -> str:
    """Return the text of the page."""
    ops.load_all()
    data_operations.load_all()
    names = [n for n in registered() if not n.startswith(("_", "Penstock", "Toy"))]
    golden, source = codec.read(), codec.source()
    theirs = frozenset(source["raw_ops"])
    families: dict[str, list[str]] = collections.defaultdict(list)
    for name in sorted(names):
        families[_families().get(name, "others")].append(name)
    differing: dict[str, set[str]] = collections.defaultdict(set)
    for op, _ in KNOWN:
        differing[_families()[op]].add(op)
    lines = [
        "# Coverage of operations",
        "",
        "Written by `tools/make_coverage.py`, held current by a test. Families are the tables",
        "`tests/ops/records_*.py`. Golden cases are calls whose values, dtypes, shapes, gradients",
        f"and classes of errors were recorded from TensorFlow {source['version']}; `tests/golden`",
        "compares them. An operation is counted as differing when one of its cases does.",
        "",
        "| family | operations | in TensorFlow's raw_ops | with golden cases | cases | differing |",
        "|---|---|---|---|---|---|",
    ]
    rows = [
        (
            family,
            len(members),
            len(theirs & set(members)),
            len(golden.keys() & set(members)),
            sum(len(golden.get(name, ())) for name in members),
            len(differing[family]),
        )
        for family, members in sorted(families.items())
    ]
    total = ("all", *(sum(row[i] for row in rows) for i in range(1, 6)))
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in [*rows, total]]
    lines += ["", "## Public functions", "", "| functions | lines | differing |", "|---|---|---|"]
    lines += [
        f"| `{family.rstrip('.')}` | {len(cases)} |"
        f" {sum(case['text'] in KNOWN_LINES for case in cases)} |"
        for family, cases in golden.items()
        if "." in family
    ]
    lines += [
        "",
        "## Known differences",
        "",
        "| operation | what | cases | reason |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {op} | {kind} | {known.cases} of {len(golden[op])} | {known.reason} |"
        for (op, kind), known in sorted(KNOWN.items())
    ]
    lines += [
        "",
        "## Operations with fewer than three golden cases",
        "",
        "| operation | reason |",
        "|---|---|",
    ]
    without = sorted(n for n in theirs & set(names) if len(golden.get(n, ())) < 3)
    lines += [f"| {op} | {NOT_RECORDED.get(op, 'not recorded yet')} |" for op in without]
    lines += [
        "",
        "## Operations that GraphDefs may not hold any more",
        "",
        "Nodes of GraphDefs from before that are imported as the operations in their place:",
        ", ".join(sorted(SUPERSEDED)) + ".",
    ]
    others = theirs & unserved().keys()
    lines += [
        "",
        "## Operations that no device here runs",
        "",
        "Nor does TensorFlow on a CPU: graphs hold them, and one that is to run has no kernel.",
        "",
        *_list(_by_name(others)),
        "",
        "## Operations of TensorFlow's raw_ops that are missing",
        "",
        *_list(_by_name(theirs - set(names) - others - SUPERSEDED.keys())),
    ]
    return "\n".join(lines) + "\n"


@functools.cache
def _families() -> dict[str, str]:
    """Operation -> the table that has its record, without what all their names begin with."""
    found = {}
    for path in sorted((ROOT / "tests" / "ops").glob("records_*.py")):
        module = importlib.import_module(f"tests.ops.{path.stem}")
        found |= {r.op: path.stem.removeprefix("records_") for r in module.RECORDS}
    return found


def _list(families: dict[str, list[str]]) -> list[str]:
    return [f"- {family} ({len(found)}): {', '.join(found)}" for family, found in families.items()]


def _by_name(names: frozenset[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = collections.defaultdict(list)
    for name in sorted(names):
        fits = (f for f, pattern in MISSING_FAMILIES.items() if re.search(pattern, name))
        found[next(fits, "others")].append(name)
    return dict(sorted(found.items()))


def main(arguments: list[str]) -> int:
    """Run the command in the module's docstring."""
    text = page()
    current = PAGE.read_text() if PAGE.exists() else ""
    if arguments == ["--check"]:
        if text != current:
            print("docs/coverage.md would change: run python tools/make_coverage.py")
        return int(text != current)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
