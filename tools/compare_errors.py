"""Compares the classes of errors with TensorFlow's, call by call, in three ways of running.

    python tools/compare_errors.py record tensorflow theirs.json   # by a Python that has TensorFlow
    python tools/compare_errors.py record penstock ours.json
    python tools/compare_errors.py diff theirs.json ours.json

`record` evaluates each line of `error_cases.CASES` eagerly, while a `tf.Graph` is built that a
session then runs, and inside a `tf.function`; it notes the class of the error with its bases, or
"fine". `diff` prints the lines where an `except` clause that fits one library misses in the other.
"""

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.error_cases import CASES
from tools.golden.texts import arguments

MODES = ("eager", "graph", "function")


def main(arguments: list[str]) -> None:
    """Runs the command in the module's docstring."""
    if arguments[:1] == ["record"] and len(arguments) == 3:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        record(importlib.import_module(arguments[1]), arguments[2])
    elif arguments[:1] == ["diff"] and len(arguments) == 3:
        print_differences(read(arguments[1]), read(arguments[2]))
    else:
        sys.exit(__doc__)


def record(tf: Any, path: str) -> None:
    """Appends the outcome of every call in every mode that the file lacks, as it becomes known.

    A call that ends the process stays in the file as "crash": run the command again to go on.
    """
    known = read(path) if os.path.exists(path) else {}
    with open(path, "a", encoding="utf-8") as file:
        for line in filter(None, CASES.splitlines()):
            for mode in MODES:
                call = f"{mode}: {line}"
                if call in known:
                    continue
                print(json.dumps([call, "crash", "", 0]), file=file, flush=True)
                start = time.perf_counter()
                try:
                    _RUNNERS[mode](tf, compile(line, "<case>", "eval"))
                    outcome = ["fine", ""]
                except Exception as problem:  # every class is what the comparison is about
                    outcome = [type(problem).__name__, str(problem)[:300]]
                took = round(time.perf_counter() - start, 2)
                print(json.dumps([call, *outcome, took]), file=file, flush=True)


def read(path: str) -> dict[str, list[Any]]:
    """Call to class, text and seconds, of a file that `record` wrote."""
    with open(path, encoding="utf-8") as file:
        return {call: outcome for call, *outcome in map(json.loads, file)}


def _eager(tf: Any, code: Any) -> None:
    eval(code, arguments(tf))  # our own lines


def _graph(tf: Any, code: Any) -> None:
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        result = eval(code, arguments(tf))
        fetches = [
            part
            for part in tf.nest.flatten(result)
            if isinstance(part, (tf.Tensor, tf.Operation)) and part.graph is graph
        ]
        if fetches:
            session.run(fetches)


def _function(tf: Any, code: Any) -> None:
    def body() -> Any:
        result = eval(code, arguments(tf))
        return [part for part in tf.nest.flatten(result) if isinstance(part, tf.Tensor)]

    tf.function(body, autograph=False)()


_RUNNERS = {"eager": _eager, "graph": _graph, "function": _function}


def print_differences(theirs: dict[str, list[Any]], ours: dict[str, list[Any]]) -> None:
    """Prints what differs, and how many calls were compared."""
    count = 0
    for call, (expected, text, _) in theirs.items():
        got, our_text, _ = ours.get(call, ["absent", "", 0])
        if got != expected:
            count += 1
            print(f"{call}\n    {expected}: {_line(text)}\n    {got}: {_line(our_text)}")
    print(f"{count} of {len(theirs)} differ")


def _line(text: str) -> str:
    return text.replace("\n", " ")[:150]


if __name__ == "__main__":
    main(sys.argv[1:])
