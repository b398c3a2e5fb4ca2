"""Record which dtype the sum of each pair of values has after experimental_enable_numpy_behavior.

    path/to/tensorflow/bin/python tools/record_numpy_dtypes.py

writes ``tests/data/numpy_result_dtypes.json``: for each mode and preference the values' names, and
the dtype of the sum of each row's value and each column's, with ``weak`` in front where it gives
way and ``ndarray`` where it is NumPy's, or the class of the error. The modes are switched for a
whole process, so each is recorded in one of its own.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

DTYPES = """bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 bfloat16 float16 float32 float64
    complex64 complex128""".split()
WEAK = {"int32": 1, "float32": 1.0, "complex128": 1j}  # weak in the modes that have such tensors
SETTINGS = ["off True", "legacy False", "legacy True", "safe False", "safe True", "all False"]
TARGET = Path(__file__).resolve().parent.parent / "tests" / "data" / "numpy_result_dtypes.json"


def values(tf: Any) -> dict[str, Any]:
    """The values that are added, by name."""
    found = {name: tf.cast(tf.constant(1), name) for name in DTYPES}
    found.update({f"constant {name}": tf.constant(value) for name, value in WEAK.items()})
    found.update({"1": 1, "1.0": 1.0, "1j": 1j, "[1]": [1], "[1.0]": [1.0]})
    found["np.int64"], found["np.float64[1]"] = np.int64(1), np.array([1.0])
    found["np.float32[1]"], found["variable"] = np.ones(1, np.float32), tf.Variable(1.0)
    return found


def sums(tf: Any) -> dict[str, list[str]]:
    """The dtypes of the sums: for each tensor or variable on the left, one a value."""
    given = values(tf)
    left = [*DTYPES, *(f"constant {name}" for name in WEAK), "variable"]
    return {
        **{f"{name} +": [_sum(given[name], other) for other in given.values()] for name in left},
        **{f"+ {name}": [_sum(other, given[name]) for other in given.values()] for name in left},
    }


def _sum(left: Any, right: Any) -> str:
    try:
        result = left + right
        kind = "weak " if "weak=True" in repr(result) else ""
        if isinstance(result, np.ndarray | np.generic):
            kind = "ndarray "
        return f"{kind}{result.dtype.name}"
    except Exception as problem:  # its class is what is recorded
        return type(problem).__name__


def main(arguments: list[str]) -> None:
    """Record one setting, or all of them."""
    if arguments:
        tf = importlib.import_module("tensorflow")
        mode, preference = arguments
        tf.experimental.numpy.experimental_enable_numpy_behavior(preference == "True", mode)
        print(json.dumps(sums(tf)))
        return
    found = {
        setting: json.loads(
            subprocess.run(
                [sys.executable, __file__, *setting.split()],
                stdout=subprocess.PIPE,
                check=True,
            ).stdout
        )
        for setting in SETTINGS
    }
    TARGET.write_text(json.dumps(found, separators=(",", ":")).replace("],", "],\n") + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
