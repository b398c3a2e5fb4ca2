"""Forms of operations of ours: files that hold them give the same, here and in TensorFlow."""

import numpy as np
import pytest
from tests.graph.files import as_others_read, message_of, nodes_of, run_message

import penstock as tf
from penstock.core.op_def import define_op
from penstock.graph.standard_forms import standard_form
from penstock.graph.standard_ops import STANDS_FOR

v1 = tf.compat.v1
raw = tf.raw_ops


def numbers(*dims, dtype=np.float32):
    """Numbers that any program can make."""
    return np.sin(np.arange(np.prod(dims)) * 1.7).reshape(dims).astype(dtype)


def complex_numbers(*dims):
    return (numbers(*dims) + 1j * numbers(*dims)[..., ::-1]).astype(np.complex64)


def slopes(function):
    """The gradient of the sum of squares of what a function gives, each times its place."""

    def found(x, *rest):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.abs(function(x, *rest)) ** 2
            place = tf.reshape(tf.range(tf.size(y)), tf.shape(y))
            total = tf.reduce_sum(y * tf.cast(place, y.dtype))
        return tape.gradient(total, x)

    return found


def losses(logits, labels, label_length, logit_length):
    """CTC losses, and the gradient of the sum of those that are finite."""
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.nn.ctc_loss(labels, logits, label_length, logit_length, blank_index=2)
        total = tf.reduce_sum(tf.where(tf.math.is_inf(loss), tf.zeros_like(loss), loss) ** 2)
    return loss, tape.gradient(total, logits)


def suppressed(boxes, scores, most, limit):
    return tf.image.non_max_suppression_padded(
        boxes, scores, most, limit, pad_to_max_output_size=True
    )


def sparse_product(places, values, others):
    """Gradients of the product of two sparse matrices of the same places."""
    with tf.GradientTape() as tape:
        tape.watch([values, others])
        a, b = (
            raw.SparseTensorToCSRSparseMatrix(indices=places, values=v, dense_shape=[2, 3, 3])
            for v in (values, others)
        )
        a = raw.SparseMatrixTranspose(input=a, type=values.dtype)
        product = raw.SparseMatrixSparseMatMul(a=a, b=b, type=values.dtype)
        dense = raw.CSRSparseMatrixToDense(sparse_input=product, type=values.dtype)
        total = tf.reduce_sum(tf.abs(dense) ** 2)
    return tape.gradient(total, [values, others])


def elements(x):
    """The gradient by what an array is made of: of one element read twice, and of all."""
    array = tf.TensorArray(tf.float32, 4, clear_after_read=False).unstack(x)
    return array.read(1) * array.read(2) + array.read(1) ** 2 + tf.reduce_sum(array.stack(), 0)


PLACES = np.array([[0, 0, 1], [0, 2, 0], [1, 1, 1], [1, 1, 2]])
LABELS = np.array([[0, 1, 1], [3, 4, 0], [0, 0, 0], [1, 0, 0]], np.int32)
LENGTHS = [np.array(n, np.int32) for n in ([3, 3, 3, 0], [7, 5, 4, 6])]
BOXES = np.abs(numbers(3, 12, 4))
BOXES[0, 3] = 0  # padding
PATCHES = ([1, 3, 2, 1], [1, 2, 3, 1], [1, 2, 1, 1], "SAME")

# A name: the function, its inputs, operations of the file, and what TensorFlow 2.21 gives, having
# read the file: each result's sum, every number times its place.
CASES = {
    "ctc": (losses, [numbers(7, 4, 5), LABELS, *LENGTHS], "LogSoftmax"),
    "ctc double": (losses, [numbers(7, 4, 5, dtype=float), LABELS, *LENGTHS], "LogSoftmax"),
    "ctc no frames": (losses, [numbers(0, 4, 5), LABELS, LENGTHS[0], LENGTHS[1] * 0], "While"),
    "ctc no labels": (
        losses, [numbers(2, 4, 5), LABELS[:, :0], LENGTHS[0] * 0, LENGTHS[1] % 3], "LogSoftmax",
    ),
    "unique labels": (
        tf.nn.ctc_unique_labels, [np.array([[3, 4, 4, 3], [1, 1, 1, 2]])], "UniqueV2",
    ),
    "unique labels of no rows": (
        tf.nn.ctc_unique_labels, [np.zeros((0, 4), np.int64)], "UniqueV2",
    ),
    "collapse": (tf.nn.collapse_repeated, [LABELS, np.array([3, 2, -1, 0])], "ScatterNd"),
    "collapse none": (tf.nn.collapse_repeated, [LABELS[:0], LENGTHS[0][:0]], "ScatterNd"),
    "suppressed": (
        suppressed, [BOXES, numbers(3, 12), np.int32(5), np.float32(0.05)], "NonMaxSuppressionV4",
    ),
    "suppressed, nothing in common": (
        suppressed, [BOXES, numbers(3, 12), np.int32(5), np.float32(-1)], "NonMaxSuppressionV4",
    ),
    "suppressed, any overlap": (
        suppressed, [BOXES, numbers(3, 12), np.int32(5), np.float32(1.5)], "NonMaxSuppressionV4",
    ),
    "suppressed, no images": (
        suppressed, [BOXES[:0], BOXES[:0, :, 0], np.int32(5), np.float32(0.3)], "While",
    ),
    "suppressed, no boxes": (
        suppressed, [BOXES[:, :0], BOXES[:, :0, 0], np.int32(5), np.float32(0.3)], "While",
    ),
    "patches": (
        slopes(lambda x: tf.image.extract_patches(x, *PATCHES)), [numbers(2, 7, 8, 2)],
        "UnsortedSegmentSum",
    ),
    "complex patches": (
        slopes(lambda x: tf.image.extract_patches(x, *PATCHES)), [complex_numbers(2, 7, 8, 2)],
        "UnsortedSegmentSum",
    ),
    "rfft": (slopes(tf.signal.rfft), [numbers(3, 5)], "IFFT"),
    "rfft longer": (slopes(lambda x: tf.signal.rfft(x, [8])), [numbers(3, 5)], "Pad"),
    "rfft shorter": (slopes(lambda x: tf.signal.rfft(x, [4])), [numbers(3, 5)], "IFFT"),
    "rfft2d": (slopes(tf.signal.rfft2d), [numbers(3, 4, 5)], "IFFT2D"),
    "rfft3d": (slopes(tf.signal.rfft3d), [numbers(3, 4, 5)], "IFFT3D"),
    "irfft": (slopes(tf.signal.irfft), [complex_numbers(3, 5)], "RFFT"),
    "irfft odd": (slopes(lambda x: tf.signal.irfft(x, [7])), [complex_numbers(3, 4)], "RFFT"),
    "irfft longer": (slopes(lambda x: tf.signal.irfft(x, [9])), [complex_numbers(3, 4)], "Pad"),
    "irfft2d": (slopes(tf.signal.irfft2d), [complex_numbers(3, 4, 5)], "RFFT2D"),
    "rfft twice": (slopes(slopes(tf.signal.rfft)), [numbers(3, 5)], "RFFT"),
    "sparse": (sparse_product, [PLACES, numbers(4), numbers(4) + 1], "LowerBound"),
    "elements": (slopes(elements), [numbers(4, 3)], "TensorListGetItem"),
}  # fmt: skip
GIVEN = {
    "ctc": [40.3995, 74.402],
    "ctc double": [40.3995, 74.4061],
    "ctc no frames": [0.0, 0.0],
    "ctc no labels": [4.6075, 0.8848],
    "unique labels": [18.0, 10.0],
    "unique labels of no rows": [0.0, 0.0],
    "collapse": [19.0, 2.0],
    "collapse none": [0.0, 0.0],
    "suppressed": [584.0, 13.0],
    "suppressed, nothing in common": [100.0, 3.0],
    "suppressed, any overlap": [612.0, 15.0],
    "suppressed, no images": [0.0, 0.0],
    "suppressed, no boxes": [0.0, 0.0],
    "patches": [11051.1327],
    "complex patches": [15685.4917],
    "rfft": [690.3666],
    "rfft longer": [1672.4725],
    "rfft shorter": [25.7304],
    "rfft2d": [36857.2785],
    "rfft3d": [59104.5211],
    "irfft": [57.6931],
    "irfft odd": [129.7102],
    "irfft longer": [119.2113],
    "irfft2d": [164.9649],
    "rfft twice": [1185119.6762],
    "sparse": [4.186, 7.0746],
    "elements": [452.0405],
}


def _signature(values, known):
    shapes = [v.shape if known else [None] * v.ndim for v in map(np.asarray, values)]
    return [tf.TensorSpec(s, v.dtype) for s, v in zip(shapes, values, strict=True)]


def _agree(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("name", CASES)
def test_files_hold_forms_that_give_the_same(name, known):
    function, values, kind = CASES[name]
    known = known or name in ("sparse", "elements")  # which ask for ranks, and numbers of rows
    message, count = message_of(function, *_signature(values, known))
    kinds = {n.op for n in nodes_of(message)}
    assert any(k.endswith(kind) for k in kinds)
    assert not [k for k in kinds if k.startswith("Penstock")]
    wanted = tf.nest.flatten(function(*map(tf.constant, values)))
    _agree(run_message(message, values, count), wanted)
    found = run_message(as_others_read(message), values, count)
    _agree(found, wanted)
    finite = [np.where(np.isfinite(y), y, 0).reshape(-1) for y in found]
    sums = [abs(y @ np.arange(y.size)) for y in finite]
    np.testing.assert_allclose(sums, GIVEN[name], rtol=1e-3, atol=1e-4)


def test_forms_are_shared_and_named_by_what_they_do():
    signature = tf.TensorSpec([None, None], tf.int64)
    first, _ = message_of(lambda x: [*tf.nn.ctc_unique_labels(x + 1)] * 2, signature)
    second, _ = message_of(
        lambda x: [*tf.nn.ctc_unique_labels(x), *tf.nn.ctc_unique_labels(x + 1)], signature
    )
    forms = [
        [f for f in m.library.function if "standard" in f.signature.name] for m in (first, second)
    ]
    assert len(forms[0]) == len(forms[1]) == 1
    assert forms[0] == forms[1]
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(first, name="a")
        tf.import_graph_def(second, name="b")
        assert len(graph.as_graph_def().library.function) == 3


def test_calls_of_forms_are_the_operations_when_they_are_read():
    values = [LABELS, np.array([3, 2, 3, 1])]
    message, _ = message_of(tf.nn.collapse_repeated, *_signature(values, False))
    (form,) = (f.signature.name for f in message.library.function if "standard" in f.signature.name)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(message, name="")
        (body,) = (f for n, f in graph._functions.items() if n != form)
        assert "PenstockCollapseRepeated" in [op.type for op in body.graph.get_operations()]
        again = graph.as_graph_def(add_shapes=True)
    assert {f.signature.name for f in again.library.function} == {
        f.signature.name for f in message.library.function
    }


def test_a_call_of_a_form_that_is_not_known_stays_one():
    values = [np.array([[1, 1, 2]])]
    message, count = message_of(tf.nn.ctc_unique_labels, *_signature(values, False))
    for node in nodes_of(message):
        if STANDS_FOR in node.attr:
            node.attr[STANDS_FOR].s = b"PenstockOfLater"
    assert run_message(message, values, count)[0].tolist() == [[1, 2, 0]]


def test_operations_of_older_files_are_read():
    values = complex_numbers(2, 3)
    with tf.Graph().as_default() as graph:
        v1.placeholder(tf.complex64, [2, 3], name="x")
        tf.constant([3, 2], name="shape")
        places = [[0, 1], [1, 0]]
        raw.DenseToCSRSparseMatrix(dense_input=values, indices=places, name="matrix")
        message = graph.as_graph_def()
    resize = message.node.add(name="resized", op="PenstockResizeAxes", input=["x", "shape"])
    resize.attr["T"].type = tf.complex64.as_datatype_enum
    message.node.add(name="at", op="PenstockSparseMatrixAt", input=["matrix", "matrix"])
    with tf.Graph().as_default() as graph, v1.Session() as session:
        resized, at = tf.import_graph_def(message, name="", return_elements=["resized:0", "at:0"])
        dense = raw.CSRSparseMatrixToDense(sparse_input=at, type=tf.complex64)
        found, kept = session.run([resized, dense], {"x:0": values})
        again = graph.as_graph_def()
    np.testing.assert_array_equal(found, [*values[:, :2], [0, 0]])
    np.testing.assert_array_equal(kept, values * [[0, 1, 0], [1, 0, 0]])
    assert not [n.op for n in again.node if n.op.startswith("Penstock")]


def test_transforms_that_are_read_are_written_as_they_were():
    values = [numbers(3, 4)]
    message, count = message_of(lambda x: tf.signal.rfft(x, [6]), *_signature(values, False))
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(message, name="")
        again = graph.as_graph_def(add_shapes=True)
    assert len(nodes_of(again)) == len(nodes_of(message))
    wanted = np.fft.rfft(values[0], 6).astype(np.complex64)
    _agree(run_message(as_others_read(again), values, count), [wanted])


def test_names_in_place_are_those_that_are_free():
    def transformed(x):
        size = tf.identity(x, name="rfft/Shape")
        return tf.signal.rfft(size, [8], name="rfft"), tf.signal.rfft(x, [9], name="rfft")

    values = [numbers(2, 5)]
    message, count = message_of(transformed, *_signature(values, False))
    for nodes in (message.node, *(f.node_def for f in message.library.function)):
        assert len({n.name for n in nodes}) == len(nodes)
    wanted = transformed(tf.constant(values[0]))
    _agree(run_message(message, values, count), wanted)


def test_transforms_of_enough_samples_are_written_as_they_are():
    message, _ = message_of(lambda x: tf.signal.rfft(x, [4]), tf.TensorSpec([None, 5]))
    assert "Pad" not in {n.op for n in nodes_of(message)}


def test_models_that_are_loaded_have_the_gradients_of_forms(tmp_path):
    module = tf.Module()
    values = [numbers(7, 4, 5), LABELS, *LENGTHS]
    module.losses = tf.function(
        lambda *given: tf.nn.ctc_loss(given[1], given[0], *given[2:], blank_index=2),
        input_signature=_signature(values, False),
    )
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    given = [tf.constant(v) for v in values]
    found = []
    for function in (module.losses, loaded.losses):
        with tf.GradientTape() as tape:
            tape.watch(given[0])
            total = tf.reduce_sum(function(*given)[:2])
        found.append(tape.gradient(total, given[0]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


def test_the_loss_of_others_has_the_gradient_that_the_form_computes():
    values = [numbers(7, 2, 5), LABELS[:2], LENGTHS[0][:2], LENGTHS[1][:2]]

    def loss(logits, *rest):
        return tf.nn.ctc_loss(rest[0], logits, *rest[1:], blank_index=2)

    message, _ = message_of(loss, *_signature(values, False))
    with tf.Graph().as_default(), v1.Session() as session:
        ends = ["out_0:0", "in_0:0"]
        ends = tf.import_graph_def(as_others_read(message), name="", return_elements=ends)
        (slope,) = tf.gradients(*ends)
        found = session.run(slope, {f"in_{i}:0": v for i, v in enumerate(values)})
    with tf.GradientTape() as tape:
        logits = tf.constant(values[0])
        tape.watch(logits)
        total = tf.reduce_sum(loss(logits, *values[1:]))
    np.testing.assert_allclose(found, tape.gradient(total, logits), rtol=1e-4, atol=1e-6)


def test_a_form_whose_result_is_one_of_several_outputs_is_written_in_place():
    op = define_op("PenstockTestSecond(x: float) -> y: float", shape=lambda c: c.shape(0))

    @standard_form(op, in_place=True)
    def _second(x):
        return tf.split(x, 2)[1]

    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [4], name="x")
        graph.create_op(op.name, [x], name="second")
        message = graph.as_graph_def()
    with tf.Graph().as_default(), v1.Session() as session:
        tf.import_graph_def(message, name="")
        assert session.run("second:0", {"x:0": [1, 2, 3, 4]}).tolist() == [3.0, 4.0]
