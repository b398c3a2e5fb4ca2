"""Connectionist temporal classification against sums over all paths."""

import itertools

import numpy as np
import pytest

import penstock as tf

TIME, BATCH, CLASSES = 4, 3, 3
LOGITS = np.random.default_rng(0).normal(size=(TIME, BATCH, CLASSES))
LABELS = np.array([[1, 2], [1, 1], [2, 0]], np.int32)
LABEL_LENGTH = np.array([2, 2, 1], np.int32)
LOGIT_LENGTH = np.array([4, 4, 3], np.int32)
SPARSE = tf.SparseTensor(
    [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]], tf.constant([0, 1, 0, 0, 1], tf.int32), [3, 2]
)


def collapsed(path, blank, merge=True):
    kept = [c for i, c in enumerate(path) if not merge or i == 0 or path[i - 1] != c]
    return tuple(c for c in kept if c != blank)


def probabilities(row, blank, merge=True):
    """What each sequence of labels of one row is worth, over all paths."""
    frames = LOGITS[: LOGIT_LENGTH[row], row]
    p = np.exp(frames) / np.exp(frames).sum(1, keepdims=True)
    found = {}
    for path in itertools.product(range(CLASSES), repeat=len(frames)):
        weight = np.prod([p[t, c] for t, c in enumerate(path)])
        text = collapsed(path, blank, merge)
        found[text] = found.get(text, 0.0) + weight
    return found


def expected(blank, labels, merge=True):
    return [-np.log(probabilities(i, blank, merge)[tuple(row)]) for i, row in enumerate(labels)]


ROWS = [row[:n].tolist() for row, n in zip(LABELS, LABEL_LENGTH, strict=True)]
SPARSE_ROWS = [[0, 1], [0, 0], [1]]


def test_dense_labels():
    loss = tf.nn.ctc_loss(LABELS, tf.constant(LOGITS), LABEL_LENGTH, LOGIT_LENGTH)
    np.testing.assert_allclose(loss, expected(0, ROWS), rtol=1e-10)
    by_batch = tf.nn.ctc_loss(
        LABELS, tf.constant(LOGITS.transpose(1, 0, 2)), LABEL_LENGTH, LOGIT_LENGTH, False
    )
    np.testing.assert_allclose(by_batch, loss)
    last = tf.nn.ctc_loss(
        LABELS - 1, tf.constant(LOGITS), LABEL_LENGTH, LOGIT_LENGTH, blank_index=-1
    )
    np.testing.assert_allclose(last, expected(2, SPARSE_ROWS), rtol=1e-10)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "first generation"])
def test_half_precision_is_computed_in_float32(dtype, kind):
    def loss(logits):
        if kind == "dense":
            return tf.nn.ctc_loss(LABELS, logits, LABEL_LENGTH, LOGIT_LENGTH)
        if kind == "sparse":
            return tf.nn.ctc_loss(SPARSE, logits, None, LOGIT_LENGTH, blank_index=-1)
        return tf.compat.v1.nn.ctc_loss(SPARSE, logits, LOGIT_LENGTH)

    seen = []
    for given in (half := tf.constant(LOGITS, dtype), tf.cast(half, tf.float32)):
        with tf.GradientTape() as tape:
            tape.watch(given)
            value = loss(given)
        seen.append((value, tape.gradient(value, given)))
    for narrow, wide in zip(*seen, strict=True):
        assert narrow.dtype == dtype
        assert wide.dtype == tf.float32
        np.testing.assert_array_equal(narrow, tf.cast(wide, dtype))


def test_sparse_labels():
    logits = tf.constant(LOGITS)
    last = tf.nn.ctc_loss(SPARSE, logits, None, LOGIT_LENGTH, blank_index=-1)
    np.testing.assert_allclose(last, expected(2, SPARSE_ROWS), rtol=1e-10)
    np.testing.assert_allclose(tf.compat.v1.nn.ctc_loss(SPARSE, logits, LOGIT_LENGTH), last)
    shifted = tf.SparseTensor(SPARSE.indices, SPARSE.values + 1, SPARSE.dense_shape)
    first = tf.nn.ctc_loss(shifted, logits, None, LOGIT_LENGTH, blank_index=0)
    np.testing.assert_allclose(first, expected(0, ROWS), rtol=1e-10)


def test_frames_that_are_not_merged():
    loss = tf.compat.v1.nn.ctc_loss(
        SPARSE, tf.constant(LOGITS), LOGIT_LENGTH, ctc_merge_repeated=False
    )
    np.testing.assert_allclose(loss, expected(2, SPARSE_ROWS, merge=False), rtol=1e-10)
    once = tf.compat.v1.nn.ctc_loss(
        SPARSE, tf.constant(LOGITS), LOGIT_LENGTH, preprocess_collapse_repeated=True
    )
    np.testing.assert_allclose(once, expected(2, [[0, 1], [0], [1]]), rtol=1e-10)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("traced", [False, True])
def test_gradients(kind, traced):
    def loss(logits):
        if kind == "dense":
            return tf.nn.ctc_loss(LABELS, logits, LABEL_LENGTH, LOGIT_LENGTH)
        return tf.compat.v1.nn.ctc_loss(SPARSE, logits, LOGIT_LENGTH)

    call = tf.function(loss) if traced else loss
    theory, numeric = tf.test.compute_gradient(call, [tf.constant(LOGITS)], delta=1e-5)
    np.testing.assert_allclose(theory[0], numeric[0], atol=1e-7)


def test_the_second_derivative_is_refused():
    x = tf.constant(LOGITS)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            loss = tf.nn.ctc_loss(LABELS, x, LABEL_LENGTH, LOGIT_LENGTH)
        first = inner.gradient(loss, x)
        with pytest.raises(LookupError, match="second derivative"):
            outer.gradient(first, x)


def test_more_labels_than_frames():
    short = np.array([1, 2, 3], np.int32)
    loss = tf.nn.ctc_loss(LABELS, tf.constant(LOGITS), LABEL_LENGTH, short)
    assert np.isinf(loss[0])
    assert np.isinf(loss[1])  # two equal labels need a blank between them
    assert np.isfinite(loss[2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Not enough time"):
        tf.compat.v1.nn.ctc_loss(SPARSE, LOGITS, short)
    ignored = tf.compat.v1.nn.ctc_loss(
        SPARSE, LOGITS, short, ignore_longer_outputs_than_inputs=True
    )
    assert float(ignored[0]) == 0.0


def test_rows_without_labels_or_frames():
    loss = tf.nn.ctc_loss(
        LABELS, tf.constant(LOGITS), np.array([0, 0, 1], np.int32), np.array([4, 0, 0], np.int32)
    )
    assert float(loss[0]) == pytest.approx(-np.log(probabilities(0, 0)[()]))
    assert float(loss[1]) == 0.0
    assert np.isinf(loss[2])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tf.nn.ctc_loss(SPARSE, LOGITS, None, LOGIT_LENGTH), ValueError),
        (lambda: tf.nn.ctc_loss(LABELS, LOGITS, None, LOGIT_LENGTH), ValueError),
        (
            lambda: tf.nn.ctc_loss(LABELS + 3, LOGITS, LABEL_LENGTH, LOGIT_LENGTH),
            tf.errors.InvalidArgumentError,
        ),
        (lambda: tf.compat.v1.nn.ctc_loss(LABELS, LOGITS, LOGIT_LENGTH), TypeError),
        (
            lambda: tf.compat.v1.nn.ctc_loss(SPARSE, LOGITS, LOGIT_LENGTH + 9),
            tf.errors.InvalidArgumentError,
        ),
        (
            lambda: tf.nn.ctc_greedy_decoder(LOGITS, [9, 4, 3]),
            tf.errors.FailedPreconditionError,
        ),
        (
            lambda: tf.nn.ctc_greedy_decoder(LOGITS, LOGIT_LENGTH, blank_index=7),
            tf.errors.InvalidArgumentError,
        ),
        (
            lambda: tf.nn.ctc_beam_search_decoder(LOGITS, LOGIT_LENGTH, 1, 2),
            tf.errors.InvalidArgumentError,
        ),
    ],
)
def test_wrong_arguments(call, error):
    with pytest.raises(error):
        call()


def dense_rows(sparse):
    rows = [[] for _ in range(int(sparse.dense_shape[0]))]
    for (i, _), value in zip(sparse.indices.numpy().tolist(), sparse.values.numpy(), strict=True):
        rows[i].append(int(value))
    return rows


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("blank", [None, 0])
def test_the_best_path(merge, blank):
    (decoded,), score = tf.nn.ctc_greedy_decoder(LOGITS, LOGIT_LENGTH, merge, blank)
    best, index = LOGITS.argmax(2), 2 if blank is None else blank
    wanted = [
        list(collapsed(best[:n, i].tolist(), index, merge)) for i, n in enumerate(LOGIT_LENGTH)
    ]
    assert dense_rows(decoded) == wanted
    most = [-LOGITS[:n, i].max(1).sum() for i, n in enumerate(LOGIT_LENGTH)]
    np.testing.assert_allclose(score[:, 0], most, rtol=1e-6)


def test_a_wide_beam_finds_the_best_labels():
    decoded, scores = tf.nn.ctc_beam_search_decoder(tf.constant(LOGITS), LOGIT_LENGTH, 100, 3)
    for i in range(BATCH):
        ranked = sorted(probabilities(i, 2).items(), key=lambda item: -item[1])[:3]
        assert [dense_rows(d)[i] for d in decoded] == [list(text) for text, _ in ranked]
        np.testing.assert_allclose(scores[i], np.log([p for _, p in ranked]), rtol=1e-6)


def test_labels_by_row():
    unique, index = tf.nn.ctc_unique_labels([[3, 4, 4, 3], [0, 1, 0, 2]])
    assert unique.numpy().tolist() == [[3, 4, 0, 0], [0, 1, 2, 0]]
    assert index.numpy().tolist() == [[0, 1, 1, 0], [0, 1, 0, 2]]
    merged, counts = tf.nn.collapse_repeated([[1, 1, 2, 2, 1], [1, 1, 1, 1, 0]], [5, 3])
    assert merged.numpy().tolist() == [[1, 2, 1], [1, 0, 0]]
    assert counts.numpy().tolist() == [3, 1]


def test_the_operation_whose_blank_is_the_first_class():
    loss, gradient = tf.raw_ops.CTCLossV2(
        inputs=LOGITS.astype(np.float32),
        labels_indices=SPARSE.indices,
        labels_values=SPARSE.values + 1,
        sequence_length=LOGIT_LENGTH,
    )
    np.testing.assert_allclose(loss, expected(0, ROWS), rtol=1e-5)
    assert gradient.shape == LOGITS.shape


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    ("labels", "label_length", "logit_length"),
    [(1, 1, 2), (2, 1, 2), (3, 2, 2), (3, 3, 2), (2, 2, 3)],
)
def test_dense_labels_of_other_batches_are_refused(labels, label_length, logit_length, traced):
    given = [
        np.ones((labels, 3), np.int32), np.zeros((6, 2, 5), np.float32),
        np.ones(label_length, np.int32), np.full(logit_length, 6, np.int32),
    ]  # fmt: skip
    open_sizes = [tf.TensorSpec([None] * x.ndim, x.dtype) for x in given]
    call = tf.function(tf.nn.ctc_loss, input_signature=open_sizes) if traced else tf.nn.ctc_loss
    with pytest.raises(tf.errors.InvalidArgumentError):
        call(*map(tf.constant, given))


def test_one_row_of_dense_labels_and_one_length_are_those_of_all():
    logits = tf.constant(LOGITS)
    loss = tf.nn.ctc_loss(LABELS[:1], logits, [2, 2, 2], [4])
    every = tf.nn.ctc_loss(np.repeat(LABELS[:1], 3, 0), logits, [2, 2, 2], [4, 4, 4])
    np.testing.assert_array_equal(loss, every)


@pytest.mark.parametrize("spec", [None, [None, None, None], [TIME, BATCH, CLASSES]])
@pytest.mark.parametrize("blank", [-1, -3, -2, 1])
def test_a_blank_from_the_end_of_classes_known_late(spec, blank):
    labels = np.where(blank % CLASSES == LABELS, (blank + 1) % CLASSES, LABELS)
    lengths = (LABEL_LENGTH, LOGIT_LENGTH)

    @tf.function(input_signature=[tf.TensorSpec(spec, tf.float64)])
    def losses(logits):
        dense = tf.nn.ctc_loss(labels, logits, *lengths, blank_index=blank)
        cells = [(i, j) for i, n in enumerate(LABEL_LENGTH) for j in range(n)]
        values = tf.constant([labels[c] for c in cells], tf.int32)
        sparse = tf.SparseTensor(cells, values, [BATCH, 2])
        return dense, tf.nn.ctc_loss(sparse, logits, None, LOGIT_LENGTH, blank_index=blank)

    rows = [row[:n] for row, n in zip(labels, LABEL_LENGTH, strict=True)]
    wanted = expected(blank % CLASSES, [tuple(r) for r in rows])
    for found in losses(LOGITS):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("blank", [3, -4])
def test_a_blank_beyond_the_classes_is_refused(blank):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=rf"\[-3, 3\).*{blank}"):
        tf.nn.ctc_loss(LABELS, LOGITS, LABEL_LENGTH, LOGIT_LENGTH, blank_index=blank)
