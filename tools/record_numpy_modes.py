"""Record what TensorFlow does once ``experimental_enable_numpy_behavior`` is called.

    path/to/tensorflow/bin/python tools/record_numpy_modes.py

reads the expressions of each file of FILES in ``tests/data``, the first of the columns that tabs
part, and writes the others anew: the results in the file's modes, the last one left out where it is
that of the column before. A result is ``T(int32 [2] 1,2)`` for a tensor, ``W(...)`` for a weak one,
``V(...)`` for a variable, with four digits of floats; ``!`` and the class for an error; the text of
anything else. Modes are switched for a whole process, so each is recorded in one of its own.

An expression may follow statements, which semicolons part. ``environment`` has the names.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
FILES = {"weak_tensors.txt": ("all", "safe"), "numpy_functions.txt": ("legacy",)}
STRONG = {
    "i8": (1, "int8"),
    "i32": (2, "int32"),
    "i64": (3, "int64"),
    "u8": (4, "uint8"),
    "f16": (1.5, "float16"),
    "bf": (1.5, "bfloat16"),
    "f32": (2.5, "float32"),
    "f64": (3.5, "float64"),
    "c64": (1 + 2j, "complex64"),
    "b": (True, "bool"),
}
WEAK = {
    "w": 3,
    "wf": 1.5,
    "wc": 1j,
    "wv": [1, 2, 3],
    "wfv": [1.5, 2.5, 3.5],
    "wm": [[1.0, 2.0], [3.0, 4.0]],
}


def rows(file: str) -> list[list[str]]:
    """The lines of a file, each as the list of its columns."""
    return [line.split("\t") for line in (DATA / file).read_text().splitlines()]


def environment(tf: Any) -> dict[str, Any]:
    """The names of expressions, made anew since some change variables."""

    def strong(value: Any, dtype: str) -> Any:
        return tf.cast(tf.constant(value), dtype)

    def gradient(function: Callable[..., Any], *sources: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([s for s in sources if not isinstance(s, tf.Variable)])
            result = function(*sources)
        return [result, tape.gradient(result, list(sources))]

    names = {"tf": tf, "np": np, "tnp": tf.experimental.numpy, "f": tf.function}
    names |= {"S": strong, "gradient": gradient}
    names |= {name: strong(*given) for name, given in STRONG.items()}
    names |= {name: tf.constant(value) for name, value in WEAK.items()}
    return {**names, "v": tf.Variable(1.5), "vi": tf.Variable(2)}


def outcome(expression: str, names: dict[str, Any]) -> str:
    """The text of what an expression gives."""
    statements, _, last = expression.rpartition(";")
    names = dict(names)
    try:
        exec(statements, names)
        return described(eval(last, names))
    except Exception as problem:  # its class is what is recorded
        return f"!{type(problem).__name__}"


def described(value: Any) -> str:
    """The text of a result."""
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}[{', '.join(map(described, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k}: {described(v)}' for k, v in value.items())}}}"
    text = repr(value)
    if not (hasattr(value, "numpy") and hasattr(value, "dtype")):
        return text
    kind = "V" if "Variable" in text else "W" if "weak=True" in text else "T"
    return f"{kind}({value.dtype.name} {_digits(np.asarray(value.numpy()))})"


def _digits(array: Any) -> str:
    if array.dtype.kind in "OSU":
        return str(array.tolist())
    rounded = [f"{x:.4g}" if array.dtype.kind in "fcV" else str(x) for x in array.ravel().tolist()]
    return f"{list(array.shape)} {','.join(rounded)}" if array.ndim else rounded[0]


def results(tf: Any, file: str) -> list[str]:
    """The texts of all results of a file, in the mode that is on."""
    names = environment(tf)
    return [outcome(row[0], names) for row in rows(file)]


def main(arguments: list[str]) -> None:
    """Record one mode of a file, or everything."""
    if arguments:
        tf = importlib.import_module("tensorflow")
        file, mode = arguments
        tf.experimental.numpy.experimental_enable_numpy_behavior(dtype_conversion_mode=mode)
        print(json.dumps(results(tf, file)))
        return
    for file, modes in FILES.items():
        columns = [[row[0] for row in rows(file)]]
        for mode in modes:
            command = [sys.executable, __file__, file, mode]
            text = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
            columns.append(json.loads(text.splitlines()[-1]))
        lines = []
        for row in zip(*columns, strict=True):
            lines.append("\t".join(row[:-1] if row[-1] == row[-2] else row))
        (DATA / file).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
