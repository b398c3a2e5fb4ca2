"""TensorFlow and this package in one process: messages, arrays and devices do not clash."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import {first}
import {second}
import numpy as np
import penstock as ps
import tensorflow as tf

graph = tf.Graph()
with graph.as_default():
    tf.add(tf.constant([1.0, 2.0]), 1.0, name="sum")
message = ps.compat.v1.GraphDef.FromString(graph.as_graph_def().SerializeToString())
with ps.Graph().as_default() as ours:
    ps.import_graph_def(message, name="")
    with ps.compat.v1.Session() as session:
        assert session.run("sum:0").tolist() == [2.0, 3.0]
theirs = tf.compat.v1.GraphDef.FromString(ours.as_graph_def().SerializeToString())
assert {{n.name for n in theirs.node}} == {{n.name for n in message.node}}

@ps.function
def step(x):
    return ps.reduce_sum(x * x)

values = np.arange(5.0)
for _ in range(3):
    assert float(step(ps.constant(values))) == float(tf.reduce_sum(tf.constant(values) ** 2))
assert np.asarray(ps.constant(tf.constant([1, 2]).numpy())).tolist() == [1, 2]
capsule = tf.experimental.dlpack.to_dlpack(tf.constant([1.0, 2.0]))
assert ps.experimental.dlpack.from_dlpack(capsule).numpy().tolist() == [1.0, 2.0]
capsule = ps.experimental.dlpack.to_dlpack(ps.constant([3, 4]))
assert tf.experimental.dlpack.from_dlpack(capsule).numpy().tolist() == [3, 4]
print("both")
"""


@pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"
)
@pytest.mark.parametrize("order", [("penstock", "tensorflow"), ("tensorflow", "penstock")])
def test_one_process(order: tuple[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(first=order[0], second=order[1])],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "CUDA_VISIBLE_DEVICES": "",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "both"
