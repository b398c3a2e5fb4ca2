"""Boxes: suppression of those that overlap, and drawing."""

import numpy as np
import pytest

import penstock as tf

RNG = np.random.default_rng(0)
CORNERS = RNG.random((30, 2)) * 3
BOXES = np.concatenate([CORNERS, CORNERS + 0.2 + RNG.random((30, 2))], 1).astype(np.float32)
SCORES = RNG.random(30).astype(np.float32)


def overlap(a, b):
    """Intersection over union of two boxes, by the definition."""
    height = min(a[2], b[2]) - max(a[0], b[0])
    width = min(a[3], b[3]) - max(a[1], b[1])
    both = max(height, 0) * max(width, 0)
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def greedy(boxes, scores, most, limit, least):
    kept = []
    for i in np.argsort(-scores):
        if scores[i] > least and all(overlap(boxes[i], boxes[j]) <= limit for j in kept):
            kept.append(int(i))
    return kept[:most]


@pytest.mark.parametrize("limit", [0.1, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("most", [0, 1, 5, 40])
def test_suppression(limit, most):
    wanted = greedy(BOXES, SCORES, most, limit, 0.2)
    found = tf.image.non_max_suppression(BOXES, SCORES, most, limit, 0.2)
    assert found.numpy().tolist() == wanted
    flipped = tf.image.non_max_suppression(BOXES[:, [2, 1, 0, 3]], SCORES, most, limit, 0.2)
    assert flipped.numpy().tolist() == wanted
    overlaps = np.array([[overlap(a, b) for a in BOXES] for b in BOXES], np.float32)
    found = tf.image.non_max_suppression_overlaps(overlaps, SCORES, most, limit, 0.2)
    assert found.numpy().tolist() == wanted
    found, scores = tf.image.non_max_suppression_with_scores(BOXES, SCORES, most, limit, 0.2)
    assert found.numpy().tolist() == wanted
    np.testing.assert_array_equal(scores, SCORES[wanted])
    every = greedy(BOXES, SCORES, most, limit, -1)
    raw = {"boxes": BOXES, "scores": SCORES, "max_output_size": most, "iou_threshold": limit}
    assert tf.raw_ops.NonMaxSuppression(**raw).numpy().tolist() == every
    assert tf.raw_ops.NonMaxSuppressionV2(**raw).numpy().tolist() == every
    found, count = tf.raw_ops.NonMaxSuppressionV4(
        **raw, score_threshold=0.2, pad_to_max_output_size=True
    )
    assert found.numpy().tolist() == wanted + [0] * (most - len(wanted))
    assert count.numpy() == len(wanted)


def test_batches():
    boxes, scores = np.stack([BOXES, BOXES[::-1]])[None], np.stack([SCORES, SCORES])[None]
    traced = tf.function(
        lambda b, s: tf.image.non_max_suppression_padded(
            b, s, 20, 0.3, 0.2, pad_to_max_output_size=True
        )
    )
    found, counts = traced(boxes, scores)
    assert found.shape == (1, 2, 20)
    for i in range(2):
        wanted = greedy(boxes[0, i], scores[0, i], 20, 0.3, 0.2)
        assert found[0, i, : len(wanted)].numpy().tolist() == wanted
        assert counts[0, i].numpy() == len(wanted)
        assert not found[0, i, len(wanted) :].numpy().any()
    found, count = tf.image.non_max_suppression_padded(BOXES, SCORES, 20, 0.3, 0.2)
    assert found.shape == (count.numpy(),)


def test_soft_suppression_lowers_scores():
    boxes = np.array([[0, 0, 1, 1], [0, 0, 1, 0.5], [5, 5, 6, 6]], np.float32)
    scores = np.array([0.9, 0.8, 0.7], np.float32)
    found, lowered = tf.image.non_max_suppression_with_scores(
        boxes, scores, 3, iou_threshold=0.1, soft_nms_sigma=0.5
    )
    assert found.numpy().tolist() == [0, 2, 1]
    np.testing.assert_allclose(lowered, [0.9, 0.7, 0.8 * np.exp(-0.25)], rtol=1e-6)


@pytest.mark.parametrize("shared", [False, True])
def test_classes(shared):
    scores = RNG.random((2, 30, 3)).astype(np.float32)
    boxes = np.broadcast_to((BOXES / 3)[None, :, None], (2, 30, 1 if shared else 3, 4))
    found = tf.image.combined_non_max_suppression(boxes, scores, 4, 9, 0.3, 0.2)
    assert [list(f.shape) for f in found] == [[2, 9, 4], [2, 9], [2, 9], [2]]
    for i in range(2):
        wanted = sorted(
            (-scores[i, j, k], k, j)
            for k in range(3)
            for j in greedy(boxes[i, :, 0], scores[i, :, k], 4, 0.3, 0.2)
        )[:9]
        count = len(wanted)
        assert found[3][i].numpy() == count
        np.testing.assert_array_equal(found[1][i, :count], [-s for s, _, _ in wanted])
        np.testing.assert_array_equal(found[2][i, :count], [k for _, k, _ in wanted])
        cut = np.clip([boxes[i, j, 0] for _, _, j in wanted], 0, 1)
        np.testing.assert_array_equal(found[0][i, :count], cut)
    small = tf.image.combined_non_max_suppression(boxes, scores, 2, 9, pad_per_class=True)
    assert small[0].shape == (2, 6, 4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.image.non_max_suppression(BOXES, SCORES[:3], 3),
        lambda: tf.image.non_max_suppression(BOXES, SCORES, 3, 1.5),
        lambda: tf.image.non_max_suppression(BOXES, SCORES, -3),
        lambda: tf.image.non_max_suppression(BOXES[:, :3], SCORES, 3),
        lambda: tf.image.non_max_suppression_overlaps(BOXES, SCORES, 3),
        lambda: tf.image.combined_non_max_suppression(
            np.zeros((1, 2, 1, 4), np.float32), np.zeros((1, 2, 3), np.float32), 0, 9
        ),
    ],
)
def test_what_is_refused(call):
    with pytest.raises(tf.errors.InvalidArgumentError):
        call()


def test_batches_must_be_padded():
    with pytest.raises(ValueError, match="pad_to_max_output_size"):
        tf.image.non_max_suppression_padded(BOXES[None], SCORES[None], 3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_drawing(dtype):
    images = np.zeros((1, 11, 11, 3), dtype)
    boxes = [[[0.2, 0.3, 0.6, 0.8], [-0.5, 0.5, 0.1, 2.0], [2, 2, 3, 3], [0.9, 0.9, 0.1, 0.1]]]
    colors = np.array([[1, 0.5, 0.25], [0, 1, 0]], np.float32)
    wanted = np.zeros((11, 11, 3), dtype)
    for y in (2, 6):
        wanted[y, 3:9] = colors[0]
    for x in (3, 8):
        wanted[2:7, x] = colors[0]
    wanted[1, 5:] = colors[1]
    wanted[:2, 5] = colors[1]
    np.testing.assert_array_equal(tf.image.draw_bounding_boxes(images, boxes, colors)[0], wanted)
    old = tf.compat.v1.image.draw_bounding_boxes(images, boxes, colors=colors)
    np.testing.assert_array_equal(old[0], wanted)
    plain = tf.image.draw_bounding_boxes(images, boxes, None)
    np.testing.assert_array_equal(plain[0, 2, 3], [1, 1, 0])
    assert tf.image.draw_bounding_boxes(images[..., :1], boxes, None)[0, 2, 3, 0] == 1


@pytest.mark.parametrize("depth", [2, 4])
def test_drawing_refuses(depth):
    images = np.zeros((2, 4, 4, depth), np.float32)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.image.draw_bounding_boxes(images, np.zeros((2, 1, 4)), [[1.0, 1.0, 1.0]])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.image.draw_bounding_boxes(images, np.zeros((1, 1, 4), np.float32), None)
