"""Operations that no device here runs: known, held by graphs, refused where they are to run."""

import pathlib

import pytest

import penstock as tf
from penstock import ops
from penstock.core import op_def
from tools import op_signature

v1 = tf.compat.v1
CELL = {
    "input": [[[1.0, 2.0]]],
    "input_h": [[[0.0, 0.0]]],
    "input_c": [[[0.0, 0.0]]],
    "params": [0.0] * 48,
    "sequence_lengths": [1],
}


def test_the_listing_is_as_recorded_and_names_nothing_that_is_served():
    ops.load_all()
    recorded = op_signature.load_op_defs()
    path = pathlib.Path(ops.__file__).parent / "unserved_ops.txt"
    for line in path.read_text(encoding="utf-8").splitlines():
        text, _, comment = line.partition("  # ")
        name = text[: text.index("(")]
        assert text == op_signature.signature(name, recorded[name])
        assert comment == op_signature.flags(recorded[name])
        assert name not in op_def.registered()
        assert op_def.find(name) is op_def.unserved()[name]


def test_an_eager_call_finds_no_kernel():
    with pytest.raises(tf.errors.NotFoundError, match=r"CudnnRNNV3 for device CPU.*T=float32"):
        tf.raw_ops.CudnnRNNV3(**CELL)
    with pytest.raises(tf.errors.NotFoundError, match="no registered kernels"):
        tf.raw_ops.ConfigureDistributedTPU()


def test_a_function_and_a_graph_hold_it_and_cannot_run_it():
    @tf.function
    def cell():
        return tf.raw_ops.CudnnRNNV3(**CELL).output

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"CudnnRNNV3.*test_unserved"):
        cell()
    with tf.Graph().as_default() as graph:
        wanted = tf.raw_ops.CudnnRNNV3(**CELL, name="cell").output
        other = tf.constant(2.0, name="other")
    assert wanted.dtype == tf.float32
    with v1.Session(graph=graph) as session:
        assert session.run(other) == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="no registered kernels"):
            session.run(wanted)


def test_a_graph_def_keeps_it():
    with tf.Graph().as_default() as graph:
        tf.raw_ops.TPUReplicatedInput(inputs=[1.0], index=3, name="replicated")
    message = graph.as_graph_def()
    with tf.Graph().as_default() as again:
        tf.import_graph_def(message, name="")
    node = again.get_operation_by_name("replicated")
    assert node.type == "TPUReplicatedInput"
    assert node.get_attr("index") == 3
