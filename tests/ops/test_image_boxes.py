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


def _apart(places: list[tuple[int, int]]) -> np.ndarray:
    """Three boxes, the first two of which overlap, with NaN in these places."""
    boxes = np.float32([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6]])
    for place in places:
        boxes[place] = np.nan
    return boxes


@pytest.mark.parametrize(
    ("place", "kept"),
    [((0, 0), [0, 1, 2]), ((1, 0), [0, 2, 1]), ((2, 1), [0, 2]), ((1, 3), [0, 1, 2])],
)
def test_a_box_whose_overlap_is_nan_loses_its_score(place, kept):
    scores = np.float32([0.9, 0.8, 0.7])
    found = tf.image.non_max_suppression(_apart([place]), scores, 3).numpy().tolist()
    assert found == kept
    found = tf.image.non_max_suppression(_apart([place]), scores, 3, score_threshold=0.1)
    zero = {(0, 0): [0], (1, 0): [0, 2], (2, 1): [0], (1, 3): kept}
    assert found.numpy().tolist() == zero[place]


def test_softly_suppressed_boxes_with_nan():
    scores = np.float32([0.9, 0.8, 0.7])
    for place, kept in (((0, 0), [0]), ((1, 1), [0, 2]), ((0, 3), [0, 1, 2])):
        found, _ = tf.image.non_max_suppression_with_scores(
            _apart([place]), scores, 3, soft_nms_sigma=0.5
        )
        assert found.numpy().tolist() == kept


@pytest.mark.parametrize("pad", [True, False])
@pytest.mark.parametrize("traced", [True, False])
def test_padded_suppression_leaves_out_padding_and_drops_what_is_just_at_the_limit(pad, traced):
    def run(boxes, scores, limit):
        return tf.image.non_max_suppression_padded(
            boxes, scores, 3, iou_threshold=limit, pad_to_max_output_size=pad
        )

    run = tf.function(run) if traced else run
    half, whole = [0, 0, 1, 0.5], [0, 0, 1, 1]
    for boxes, limit, kept in (
        ([[0] * 4, whole, [0.5] * 4], 0.5, [1, 2]),
        ([[-1, -1, 0, 0], half], 0.5, [1]),
        ([half, whole], 0.5, [0]),
        ([half, whole], 0.51, [0, 1]),
        ([[0] * 4], 0.5, []),
    ):
        boxes = tf.constant(boxes, tf.float32)
        found, count = run(boxes, tf.linspace(0.9, 0.5, len(boxes)), tf.constant(limit))
        assert found.numpy().tolist() == kept + [0] * (3 - len(kept)) * pad
        assert count.numpy() == len(kept)


def test_padded_suppression_where_the_rank_is_unknown():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        boxes, scores = (tf.compat.v1.placeholder(tf.float32) for _ in range(2))
        for pad in (True, False):
            found = tf.image.non_max_suppression_padded(
                boxes, scores, 2, pad_to_max_output_size=pad
            )
            feeds = {boxes: [[0, 0, 1, 1]], scores: [0.5]}
            kept, count = session.run(found, feeds)
            assert kept.tolist() == [0] + [0] * pad
            assert count == 1


def test_padded_suppression_of_no_boxes_and_of_wrong_ones():
    found, counts = tf.image.non_max_suppression_padded(
        np.zeros((2, 0, 4), np.float32),
        np.zeros((2, 0), np.float32),
        1,
        pad_to_max_output_size=True,
    )
    assert found.numpy().tolist() == [[0], [0]]
    assert counts.numpy().tolist() == [0, 0]
    for boxes, scores in ((np.zeros((2, 3)), np.zeros(2)), (np.zeros((2, 4)), np.zeros(1))):
        with pytest.raises(ValueError, match=r"boxes \[..., n, 4\] and scores"):
            tf.image.non_max_suppression_padded(np.float32(boxes), np.float32(scores), 1)


@pytest.mark.parametrize("limits", [(0.5, -np.inf), (0.0, 0.3), (1.0, 0.2)])
def test_batches_of_boxes_are_compiled(limits):
    """What `jit_compile` keeps of boxes is what the host keeps, equal scores and padding too."""
    draw = np.random.default_rng(4)
    boxes = draw.integers(0, 9, (3, 20, 4)).astype(np.float32) / 8
    boxes[0, 15:] = 0
    scores = draw.integers(0, 6, (3, 20)).astype(np.float32) / 5
    scores[1, 3] = np.nan

    def keep(boxes, scores):
        function = tf.image.non_max_suppression_padded
        return function(boxes, scores, 12, *limits, pad_to_max_output_size=True)

    compiled = tf.function(keep, jit_compile=True)
    for some in (slice(0, 3), slice(0, 0)):
        for found, wanted in zip(
            compiled(boxes[some], scores[some]), keep(boxes[some], scores[some]), strict=True
        ):
            np.testing.assert_array_equal(found, wanted)
    assert compiled(boxes[:, :0], scores[:, :0])[1].numpy().tolist() == [0, 0, 0]
