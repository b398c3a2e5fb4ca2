"""Operations of ours in GraphDefs: written as those that TensorFlow has, and read back."""

import numpy as np
import pytest
from tests.graph.files import operations_of

import penstock as tf
from penstock.core.op_def import load_all, registered
from penstock.graph.standard_ops import VECTORIZED

v1 = tf.compat.v1
FEED = {"x:0": [0.3, 0.6, 0.9], "n:0": 3}


def _loops():
    """First and second derivatives of a loop of known and one of unknown length."""
    x = v1.placeholder(tf.float32, [3], name="x")
    n = v1.placeholder(tf.int32, [], name="n")

    def body(i, y):
        bent = tf.cond(tf.reduce_sum(y) > 2.0, lambda: tf.sin(y) * x, lambda: y * x + 1.0)
        return i + 1, bent

    _, y = tf.while_loop(lambda i, _: i < 4, body, [0, x])
    _, z = tf.while_loop(lambda i, _: i < n, lambda i, z: (i + 1, tf.tanh(z * x)), [0, x])
    (first,) = tf.gradients([y, z], x)
    (second,) = tf.gradients(first * first, x)
    tf.identity(first, name="first")
    tf.identity(second, name="second")


def _run():
    with v1.Session() as session:
        return session.run(["first:0", "second:0"], FEED)


@pytest.fixture(scope="module")
def written():
    with tf.Graph().as_default() as graph:
        _loops()
        return graph.as_graph_def(), _run()


def test_no_operation_is_ours_alone(written):
    message, _ = written
    nodes = [*message.node, *(n for f in message.library.function for n in f.node_def)]
    assert {"TensorScatterUpdate", "TensorScatterAdd", "GatherV2"} <= {n.op for n in nodes}
    assert not [n.op for n in nodes if n.op.startswith("Penstock")]


def test_what_is_read_gives_the_same(written):
    """TensorFlow 2.21 loads the message, too, and gives these numbers."""
    message, wanted = written
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")
        np.testing.assert_allclose(_run(), wanted, rtol=1e-5)
    np.testing.assert_allclose(wanted[0], [1.0679916, 1.8966836, 1.9314551], rtol=1e-5)
    np.testing.assert_allclose(wanted[1], [3.8727486, 10.940678, -10.408916], rtol=1e-5)


# Operations of ours that end in no file, and why.
LEFT = {
    **dict.fromkeys(
        (
            "AdjustContrast", "AudioSummary", "BatchNormWithGlobalNormalization",
            "BatchNormWithGlobalNormalizationGrad", "Conv3DBackpropFilter", "Conv3DBackpropInput",
            "RandomCrop", "SelfAdjointEig", "StatefulStandardNormal", "TensorArrayPack",
            "TensorArrayUnpack", "TileGrad",
        ),
        "only old files make it, whose operation TensorFlow has removed",
    ),
    **dict.fromkeys(
        (
            "AssignAnyShape", "SelectHandle", "TemporaryVariable", "Barrier", "BarrierClose",
            "BarrierIncompleteSize", "BarrierInsertMany", "BarrierReadySize", "BarrierTakeMany",
            "Stack", "LMDBReader", "MutableDenseHashTable", "SparseConditionalAccumulator",
            "SparseAccumulatorApplyGradient", "SparseAccumulatorTakeGradient", "SdcaShrinkL1",
        ),
        "the runtime puts it in the place of an operation on references, which the graph has",
    ),
    **dict.fromkeys(
        ("IteratorState", "IteratorStateFromString", "QueueState", "RestoreQueue"),
        "checkpoints of iterators and queues run it eagerly, or for saving alone",
    ),
    **dict.fromkeys(
        ("FinishedConv2D", "FinishedConv2DBackpropInput", "Attention", "AttentionGrad",
         "LayerNorm", "LayerNormGrad"),
        "the planner makes it for a step, in no graph",
    ),
}  # fmt: skip


def test_operations_of_ours_have_standard_forms_or_end_in_no_file():
    load_all()
    ours = {n.removeprefix("Penstock"): op for n, op in registered().items() if _is_ours(n)}
    written = {n for n, op in ours.items() if op.standard_form or op.name == VECTORIZED}
    assert not written & set(LEFT)
    assert ours.keys() - written - set(LEFT) == set(), "give it a standard_form"
    assert (written | set(LEFT)) - ours.keys() == set()


def _is_ours(name):
    return name.startswith("Penstock") and not name.startswith("PenstockTest")  # of other tests


def test_what_the_planner_makes_ends_in_no_file():
    def normalised(x):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        y = tf.nn.batch_normalization(x, mean, variance, None, 2.0, 1e-5)
        scores = tf.matmul(y, y, transpose_b=True) * 0.25
        return tf.matmul(tf.nn.softmax(scores), y)

    x = tf.random.stateless_normal([4, 128, 32], [1, 2])
    function = tf.function(normalised, input_signature=[tf.TensorSpec([4, 128, 32])])
    wanted = normalised(x)
    np.testing.assert_allclose(function(x), wanted, rtol=1e-4, atol=1e-5)
    kinds, read = operations_of(normalised, tf.TensorSpec([4, 128, 32]))
    assert not [k for k in kinds if k.startswith("Penstock")]
    np.testing.assert_allclose(read(x.numpy())[0], wanted, rtol=1e-4, atol=1e-5)
    graph = function.get_concrete_function().graph
    assert not [op.type for op in graph.get_operations() if op.type.startswith("Penstock")]


@pytest.mark.parametrize("flags", [{}, {"exclusive": True, "reverse": True}], ids=str)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64], ids=lambda t: t.name)
def test_gradients_of_running_logarithms_are_written_as_standard_operations(flags, dtype):
    """TensorFlow 2.21 loads such models, and gives the same."""

    def slopes(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            logs = tf.math.cumulative_logsumexp(x, 1, **flags)
            part = logs[:, :2] if flags else logs
            y = tf.reduce_sum(part * tf.constant([3.0, -2.0, 0.0][: part.shape[1]], dtype))
        return tape.gradient(y, x)

    kinds, read = operations_of(slopes, tf.TensorSpec([None, 3], dtype))
    assert "CumulativeLogsumexp" in kinds
    assert not [k for k in kinds if k.startswith("Penstock")]
    x = np.array([[0.1, 0.5, -2.0], [3.0, 1.0, 2.0]], dtype.as_numpy_dtype)
    np.testing.assert_allclose(read(x)[0], slopes(tf.constant(x)), rtol=1e-5, atol=1e-6)


def _twice(texts):
    return tf.vectorized_map(lambda s: tf.stack([s, s]), texts)


def _scaled(rows):
    total = tf.reduce_sum(rows)
    return tf.vectorized_map(lambda r: (r * total, tf.reduce_max(r)), rows)


def _jacobians(rows):
    with tf.GradientTape() as tape:
        tape.watch(rows)
        y = tf.sin(rows) * tf.reduce_sum(rows, 1, keepdims=True)
    return tape.batch_jacobian(y, rows)


def _checked(rows):
    def one(row):
        tf.debugging.assert_less(row, 9.0)
        return row + 1.0

    return tf.vectorized_map(one, rows)


ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


@pytest.mark.parametrize(
    ("function", "rows"),
    [(_twice, ["a", "b"]), (_scaled, ROWS), (_jacobians, ROWS), (_checked, ROWS)],
    ids=["text", "shared", "jacobian", "checked"],
)
def test_vectorised_functions_are_written_as_functions_of_rows(function, rows):
    """TensorFlow 2.21 loads such models, and gives the same."""
    given = tf.constant(rows)
    signature = tf.TensorSpec([None, *given.shape[1:]], given.dtype)
    kinds, read = operations_of(function, signature)
    assert "MapDefun" in kinds
    assert not [k for k in kinds if k.startswith("Penstock")]
    for found, wanted in zip(read(rows), tf.nest.flatten(function(given)), strict=True):
        if found.dtype == object:
            assert found.tolist() == wanted.numpy().tolist()
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_functions_of_rows_have_gradients_and_checks_when_they_are_read(tmp_path):
    module = tf.Module()
    signature = [tf.TensorSpec([None, 3], tf.float32)]
    module.scaled = tf.function(_scaled, input_signature=signature)
    module.checked = tf.function(_checked, input_signature=signature)
    tf.saved_model.save(module, str(tmp_path))
    read = tf.saved_model.load(str(tmp_path))
    rows = tf.constant(ROWS)
    with tf.GradientTape() as tape:
        tape.watch(rows)
        scaled, _ = read.scaled(rows)
    np.testing.assert_allclose(tape.gradient(scaled, rows), tf.fill([2, 3], 42.0))
    np.testing.assert_allclose(read.checked(rows), rows + 1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="x < y did not hold"):
        read.checked(rows * 2.0)


def test_a_function_of_rows_of_another_program_stays_what_it_is():
    with tf.Graph().as_default() as graph:
        tf.raw_ops.MapDefun(
            arguments=[tf.constant([1.0, 2.0])], captured_inputs=[], output_types=[tf.float32],
            output_shapes=[[]], name="rows",
            f=tf.function(lambda x: x * 2.0).get_concrete_function(tf.TensorSpec([], tf.float32)),
        )  # fmt: skip
        message = graph.as_graph_def()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(message, name="")
        assert graph.get_operation_by_name("rows").type == "MapDefun"
