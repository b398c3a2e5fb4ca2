"""`penstock inspect` of a SavedModel, and `penstock export`: artefacts that run without us."""

import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import penstock as tf
from penstock import proto
from penstock.cli.main import main
from penstock.tracing.exporting import export_stablehlo

RECORDED = pathlib.Path(__file__).parents[1] / "data" / "saved_models"
RUN = """
import sys
import jax.export, numpy as np
exported = jax.export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
for rows in (1, 5):
    print([np.asarray(each).tolist() for each in exported.call(np.ones((rows, 2), np.float32))])
assert not [name for name in sys.modules if name.startswith("penstock")]
"""


def invoke(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_a_model_with_objects_is_shown():
    result = invoke("inspect", RECORDED / "module")
    assert result.exit_code == 0
    lines = [line.split() for line in result.output.splitlines()]
    assert ["serving_default", "in", "x", "float32[?,2]"] in lines
    assert ["serving_default", "out", "output_0", "float32[?,2]"] in lines
    assert ["layers.0", "float32[]", "yes", "Variable"] in lines
    assert ["b", "float32[2]", "no", "b"] in lines
    assert "4 variables, 8 elements, 32 B." in result.output
    assert "f         (float32[2], 2, d={k: float32[1]}, flag=True)" in result.output
    assert "Assets: vocabulary.txt." in result.output
    assert "206 of them in 32 functions: Identity 65" in result.output


def test_a_model_of_a_session_is_shown():
    result = invoke("inspect", RECORDED / "session")
    assert result.exit_code == 0
    assert "Graph with tags serve, in the form of 2.21.0." in result.output
    assert "34 operations, 0 of them in 0 functions" in result.output


def test_damaged_models_are_refused_or_shown(tmp_path):
    shutil.copytree(RECORDED / "module", tmp_path, dirs_exist_ok=True)
    path = tmp_path / "saved_model.pb"
    message = proto.saved_model_pb2.SavedModel.FromString(path.read_bytes())
    message.meta_graphs[0].graph_def.node.add(name="n", op="NoSuchOperation")
    path.write_bytes(message.SerializeToString())
    result = invoke("inspect", tmp_path)
    assert "not registered here: NoSuchOperation" in result.output
    message.meta_graphs[0].object_graph_def.nodes[0].children[0].node_id = 10**6
    path.write_bytes(message.SerializeToString())
    result = invoke("inspect", tmp_path)
    assert result.exit_code == 1
    assert "object 1000000: expected one of" in result.output
    path.write_bytes(b"\xff\xff")
    assert "Cannot parse file" in invoke("inspect", tmp_path).output


def test_an_artefact_runs_with_jax_alone(tmp_path):
    out = tmp_path / "model.stablehlo"
    result = invoke("export", RECORDED / "module", "--out", out)
    assert result.exit_code == 0, result.output
    assert "in  x: float32[batch,2]" in result.output
    done = subprocess.run(
        [sys.executable, "-c", RUN, out], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == [str([[[10.0, 14.0]]]), str([[[10.0, 14.0]] * 5])]


def test_sizes_platforms_and_text(tmp_path):
    out = tmp_path / "model"
    arguments = ("--unknown-as", 4, "--platform", "cpu", "--platform", "cuda")
    result = invoke("export", RECORDED / "module", "--out", out, *arguments)
    assert "for cpu, cuda." in result.output
    assert "in  x: float32[4,2]" in result.output
    result = invoke("export", RECORDED / "module", "--out", out, "--text")
    assert result.exit_code == 0
    assert "stablehlo.dot_general" in out.read_text()


def test_what_cannot_be_exported(tmp_path):
    out = tmp_path / "model"
    for arguments, expected in (
        ((RECORDED / "module", "--signature", "no"), "expected a signature 'no'"),
        ((RECORDED / "module", "--signature", "update"), "updates the variables"),
        ((tmp_path,), "SavedModel file does not exist"),
        ((RECORDED / "module", "--out", tmp_path / "a" / "b"), "cannot be written"),
    ):
        result = invoke("export", *arguments, *(() if "--out" in arguments else ("--out", out)))
        assert result.exit_code == 1
        assert expected in result.output
    assert not out.exists()


def concrete(function, *specs):
    return tf.function(function).get_concrete_function(*specs)


def test_functions_are_exported_too():
    v = tf.Variable([1.0, 2.0])
    found = concrete(
        lambda x, i: {"b": x * v, "a": i + 1, "c": x},
        tf.TensorSpec([2]),
        tf.TensorSpec([3], tf.int32),
    )
    x, i = np.array([3.0, 4.0], np.float32), np.arange(3, dtype=np.int32)
    a, b, c = export_stablehlo(found).call(x, i)
    np.testing.assert_array_equal(a, [1, 2, 3])
    np.testing.assert_array_equal(b, [3.0, 8.0])
    np.testing.assert_array_equal(c, x)


@pytest.mark.parametrize(
    ("function", "spec", "error", "text"),
    [
        (lambda x: x, tf.TensorSpec([], tf.string), ValueError, "expected numbers, got string"),
        (lambda x: x, tf.TensorSpec(None), ValueError, "expected a known rank"),
        (lambda x: x + tf.random.uniform([]), tf.TensorSpec([]), ValueError, "random numbers"),
        (tf.strings.as_string, tf.TensorSpec([]), tf.errors.InvalidArgumentError, "compile"),
        (tf.unique, tf.TensorSpec([3]), tf.errors.InvalidArgumentError, "compile"),
    ],
)  # fmt: skip
def test_functions_that_xla_does_not_have(function, spec, error, text):
    with pytest.raises(error, match=text):
        export_stablehlo(concrete(function, spec))
