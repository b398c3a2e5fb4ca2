"""CTC with the native library: the same as without it, and as a sum over all alignments."""

import itertools

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_arrays

RNG = np.random.default_rng(3)
INF, NAN = np.inf, np.nan


@pytest.fixture(autouse=True)
def needs_the_library():
    if not native_arrays.LIBRARY.is_in_use():
        pytest.skip("no native work on arrays here")


def both(name, **given):
    """What an operation gives with the library, and what without."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
        without = found(name, given)
    return found(name, given), without


def found(name, given):
    given = {k: tf.constant(v) if isinstance(v, np.ndarray) else v for k, v in given.items()}
    try:
        results = getattr(tf.raw_ops, name)(**given)
    except tf.errors.OpError as problem:
        return [type(problem).__name__, problem.message]
    flat = [t for r in results for t in (r if isinstance(r, list) else [r])]
    return [t.numpy() for t in flat]


def assert_close(pair, tolerance):
    for one, other in zip(*pair, strict=True):
        if isinstance(one, str):
            assert one == other
            continue
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def sparse(rows):
    places = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    values = np.array([v for row in rows for v in row], np.int32)
    return {
        "labels_indices": np.array(places, np.int64).reshape(-1, 2),
        "labels_values": values,
    }


ROWS = [[1, 1, 2], [0], [3, 0, 3, 3, 2], [2]]
LOGITS = RNG.normal(size=(9, 4, 5)) * 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("collapse", [False, True])
@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("lengths", [[9, 9, 9, 9], [5, 1, 9, 3], [3, 0, 2, 9], [9, 9, 9, 10]])
def test_loss(dtype, collapse, merge, lengths):
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    for ignore in (False, True):
        pair = both(
            "CTCLoss", inputs=LOGITS.astype(dtype), sequence_length=np.array(lengths, np.int32),
            preprocess_collapse_repeated=collapse, ctc_merge_repeated=merge,
            ignore_longer_outputs_than_inputs=ignore, **sparse(ROWS),
        )  # fmt: skip
        assert_close(pair, tolerance)


def test_loss_of_numbers_that_are_none():
    for value in (NAN, INF, -INF, 1e30, -1e30):
        for count in (4, 9):  # one frame of them counts or not
            logits = LOGITS.copy()
            logits[6, 0, 1] = logits[7, 2] = value
            lengths = np.array([count] * 4, np.int32)
            labels = sparse([[1], [0], [3], [2, 1]])
            pair = both("CTCLoss", inputs=logits, sequence_length=lengths, **labels)
            assert_close(pair, 1e-9)


@pytest.mark.parametrize(
    ("indices", "values"), [([[4, 0]], [1]), ([[-1, 0]], [1]), ([[0, 0]], [4]), ([[0, 0]], [-1])]
)
def test_wrong_labels_are_refused(indices, values):
    pair = both(
        "CTCLoss", inputs=LOGITS, labels_indices=np.array(indices, np.int64),
        labels_values=np.array(values, np.int32), sequence_length=np.full(4, 9, np.int32),
    )  # fmt: skip
    assert_close(pair, 0)
    assert pair[0][0] == "InvalidArgumentError"


def test_loss_is_the_sum_over_alignments():
    logits = RNG.normal(size=(5, 1, 3))
    p = np.exp(logits[:, 0]) / np.exp(logits[:, 0]).sum(1, keepdims=True)
    total = 0.0
    for path in itertools.product(range(3), repeat=5):
        labels = [c for i, c in enumerate(path) if (i == 0 or path[i - 1] != c) and c != 2]
        total += p[np.arange(5), list(path)].prod() * (labels == [1, 1])
    lengths = np.array([5], np.int32)
    loss, _ = found("CTCLoss", {"inputs": logits, "sequence_length": lengths, **sparse([[1, 1]])})
    np.testing.assert_allclose(loss, [-np.log(total)], rtol=1e-13)


def test_loss_far_out_of_the_range_of_doubles():
    logits = RNG.normal(size=(800, 3, 12)) * 40
    rows = [RNG.integers(0, 11, n).tolist() for n in (200, 1, 90)]
    lengths = np.array([800, 500, 799], np.int32)
    pair = both("CTCLoss", inputs=logits, sequence_length=lengths, **sparse(rows))
    assert pair[0][0].min() > 5000
    assert_close(pair, 1e-9)


@pytest.mark.parametrize("lengths", [[3, 1, 5, 0], [9, 9, 9, 9]])
def test_dense_loss(lengths):
    labels = RNG.integers(1, 5, (4, 5)).astype(np.int32)
    for label_length in ([3, 1, 5, 0], [6, 0, 0, 0], [-1, 0, 2, 3]):
        pair = both(
            "PenstockCTCLoss", logits=LOGITS, labels=labels,
            label_length=np.array(label_length, np.int32),
            logit_length=np.array(lengths, np.int32), blank_index=0,
        )  # fmt: skip
        assert_close(pair, 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("blank", [-1, 0, 2, 5])
def test_best_path(dtype, merge, blank):
    for logits in (LOGITS, np.round(LOGITS), np.where(LOGITS > 6, NAN, LOGITS), LOGITS[:, :, :1]):
        for lengths in ([9, 9, 9, 9], [0, 2, -3, 5], [0, 0, 0, 0]):
            pair = both(
                "CTCGreedyDecoder", inputs=logits.astype(dtype), merge_repeated=merge,
                sequence_length=np.array(lengths, np.int32), blank_index=blank,
            )  # fmt: skip
            assert_close(pair, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("width", "paths"), [(1, 1), (3, 2), (100, 4)])
def test_search(dtype, width, paths):
    for logits in (LOGITS, np.zeros_like(LOGITS), np.where(LOGITS > 6, -INF, LOGITS)):
        for lengths in ([9, 9, 9, 9], [9, 2, 4, 5], [9, 0, 0, 3]):
            pair = both(
                "CTCBeamSearchDecoder", inputs=logits.astype(dtype), merge_repeated=True,
                beam_width=width, top_paths=paths, sequence_length=np.array(lengths, np.int32),
            )  # fmt: skip
            assert_close(pair, 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("value", "time", "number"), [(-5e12, 3, 3), (-1e30, 3, 3), (-1e9, 1200, 550), (-1e11, 45, 20)]
)
def test_dense_loss_of_masked_classes_is_finite(dtype, value, time, number):
    logits = np.zeros((time, 1, 6), dtype)
    logits[:, :, 1:5] = value
    (loss, _), (without, _) = both(
        "PenstockCTCLoss", logits=logits, labels=(np.arange(number) % 4 + 1).astype(np.int32)[None],
        label_length=np.array([number], np.int32), logit_length=np.array([time], np.int32),
        blank_index=0,
    )  # fmt: skip
    assert np.isfinite(without).all()
    np.testing.assert_allclose(loss, without, rtol=1e-4)
    np.testing.assert_allclose(loss, [-value * number], rtol=1e-4)


@pytest.mark.parametrize("value", [-95, -1e9, -5e12, -1e30])
def test_sparse_loss_of_masked_classes_is_infinite(value):
    logits = np.zeros((3, 1, 6), np.float32)
    logits[:, :, 1:5] = value
    lengths = np.array([3], np.int32)
    pair = both("CTCLoss", inputs=logits, sequence_length=lengths, **sparse([[1, 2, 3]]))
    assert_close(pair, 1e-6)
    assert np.isinf(pair[0][0]).all()
