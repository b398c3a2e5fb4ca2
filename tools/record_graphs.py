"""Record GraphDefs that TensorFlow writes, and what they compute, under ``tests/data/graphs``.

Run by an interpreter that has TensorFlow (never needed to use or to test Penstock):

    path/to/tensorflow/bin/python tools/record_graphs.py

The programs are those of ``tests/graph/programs.py``, and one with a traced function that only
TensorFlow writes. Each gives ``NAME.pb`` (with shapes: ``NAME.shapes.pb``) and ``NAME.npy``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "tests" / "data" / "graphs"


def functions(tf: Any) -> None:
    """A traced function that calls another, inside a graph."""

    @tf.function(autograph=False)
    def inner(a: Any) -> Any:
        return a * a

    @tf.function(autograph=False)
    def outer(a: Any, b: Any) -> Any:
        return inner(a) + b, inner(b)

    x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
    first, second = outer(x, x)
    tf.raw_ops.Sub(x=first, y=second, name="z")


def main() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    sys.path.insert(0, str(ROOT))
    import numpy as np
    import tensorflow as tf
    from tests.graph import programs

    OUT.mkdir(parents=True, exist_ok=True)
    for name, program in {**programs.PROGRAMS, "functions": functions}.items():
        with tf.Graph().as_default() as graph:
            program(tf)
        plain = graph.as_graph_def().SerializeToString(deterministic=True)
        (OUT / f"{name}.pb").write_bytes(plain)
        shaped = graph.as_graph_def(add_shapes=True).SerializeToString(deterministic=True)
        (OUT / f"{name}.shapes.pb").write_bytes(shaped)
        with tf.compat.v1.Session(graph=graph) as session:
            session.run(programs.TARGETS.get(name, []))
            feed = {programs.INPUTS.get(name, "x:0"): programs.FEEDS[name]}
            np.save(OUT / f"{name}.npy", session.run("z:0", feed))
        print(f"{name}: {len(plain)} bytes")


if __name__ == "__main__":
    main()
