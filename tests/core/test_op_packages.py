"""Operations of other packages, found through their entry points."""

import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src"
OPERATIONS = """
import penstock as tf

TWICE = tf.library.define_op("TwiceOfAPackage(x: float) -> y: float", shape=lambda c: c.shape(0))

@tf.library.kernel(TWICE)
def _twice(xp, x):
    return x + x

TWICE.not_differentiable("it is a test")
print("imported")
"""


def run(folder, code, operations=OPERATIONS):
    (folder / "twice_operations.py").write_text(operations)
    info = folder / "twice-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: twice\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[penstock.operations]\nall = twice_operations\n")
    return subprocess.run(
        [sys.executable, "-c", f"import penstock as tf\n{code}"],
        env={**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{folder}"},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_an_operation_of_a_package_is_found_by_name(tmp_path):
    result = run(tmp_path, "print(tf.raw_ops.TwiceOfAPackage(x=3.0).numpy())")
    assert result.stdout.split() == ["imported", "6.0"], result.stderr


def test_a_graph_with_such_an_operation_is_read(tmp_path):
    code = """
graph_def = tf.compat.v1.GraphDef()
graph_def.node.add(name="c", op="TwiceOfAPackage", input=["x"])
node = graph_def.node.add(name="x", op="Placeholder")
node.attr["dtype"].type = 1
with tf.Graph().as_default() as graph:
    tf.graph_util.import_graph_def(graph_def, name="")
    with tf.compat.v1.Session() as session:
        print(session.run("c:0", {"x:0": 2.0}))
"""
    result = run(tmp_path, code)
    assert result.stdout.split() == ["imported", "4.0"], result.stderr


def test_nothing_is_imported_before_it_is_needed(tmp_path):
    result = run(tmp_path, "print(tf.add(1, 2).numpy())")
    assert result.stdout.split() == ["3"], result.stderr


@pytest.mark.parametrize("operations", ["raise RuntimeError('broken')", "import no_such_module"])
def test_a_package_that_cannot_be_imported_is_named(tmp_path, operations):
    result = run(tmp_path, "tf.raw_ops.TwiceOfAPackage(x=3.0)", operations)
    assert "ImportError: package 'twice'" in result.stderr
