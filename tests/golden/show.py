"""Prints where golden cases differ: `python -m tests.golden.show [OPERATION ...]`.

With names, each differing case with its calls; without, a line for each operation and kind.
"""

import collections
import json
import sys

from tests.golden.comparing import difference
from tools.golden import codec


def main(chosen: list[str]) -> None:
    """Runs the command in the module's docstring."""
    for op, cases in codec.read().items():
        if chosen and op not in chosen:
            continue
        found: dict[str, list[tuple[str, str]]] = collections.defaultdict(list)
        for case in cases:
            what = difference(op, case)
            if what is not None:
                found[what.partition(":")[0]].append(
                    (what, case.get("text") or json.dumps(case["steps"]))
                )
        for kind, entries in found.items():
            if not chosen:
                print(
                    f"{op} {kind} {len(entries)} of {len(cases)}: {entries[0][0]}"[:160], flush=True
                )
                continue
            for what, steps in entries:
                print(what, "\n   ", steps[:400])


if __name__ == "__main__":
    main(sys.argv[1:])
