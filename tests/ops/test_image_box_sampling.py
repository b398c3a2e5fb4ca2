"""Boxes drawn at random for crops. Figures without a derivation are those of TensorFlow 2.21."""

import numpy as np
import pytest

import penstock as tf

WHOLE = np.array([[[0, 0, 1, 1]]], np.float32)
CORNERS = np.array([[[0, 0, 0.3, 0.3], [0.6, 0.5, 1, 1]]], np.float32)
draw = tf.image.stateless_sample_distorted_bounding_box


def lists(found):
    return [t.numpy().tolist() for t in found]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_recorded_box(dtype):
    begin, size, box = draw(np.array([100, 80, 3], dtype), WHOLE, seed=(1, 2))
    assert begin.dtype == size.dtype == dtype
    assert begin.numpy().tolist() == [12, 3, 0]
    assert size.numpy().tolist() == [58, 72, 255 if dtype == "uint8" else -1]
    np.testing.assert_array_equal(box, np.float32([[[0.12, 0.0375, 0.7, 0.9375]]]))


@pytest.mark.parametrize(
    ("attempts", "wanted"),
    [
        (100, [[81, 272, 216, 278], [68, 11, 530, 600], [378, 246, 362, 467]]),
        (7, [[81, 272, 216, 278], [541, 195, 387, 396], [625, 336, 234, 284]]),
        (1, [[81, 272, 216, 278], [29, 1, 734, 780], [101, 47, 720, 596]]),
    ],
)
def test_recorded_stream(attempts, wanted):
    """A call sets apart what its attempts may take."""
    tf.random.set_seed(1)
    inputs = {"image_size": [1000, 800, 3], "bounding_boxes": WHOLE}
    options = {"seed": 3, "seed2": 4, "max_attempts": attempts}

    def one(op, **more):
        begin, size, _ = lists(op(**inputs, **options, **more, min_object_covered=0.0))
        return begin[:2] + size[:2]

    assert [one(tf.raw_ops.SampleDistortedBoundingBoxV2) for _ in wanted] == wanted
    assert [one(tf.raw_ops.SampleDistortedBoundingBox) for _ in wanted] == wanted


@pytest.mark.parametrize("covered", [0.0, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("ratios", [(0.5, 2.0), (1.0, 1.0)])
def test_boxes_are_what_was_wanted(covered, ratios):
    height, width, seen = 61, 83, 0
    options = {"aspect_ratio_range": ratios, "area_range": (0.1, 0.6)}
    for seed in range(60):
        begin, size, part = draw(
            [height, width, 3], CORNERS, [seed, 5], min_object_covered=covered, **options
        )
        (top, left, _), (rows, columns, rest) = begin.numpy(), size.numpy()
        corners = [top, left, top + rows, left + columns]
        scale = np.float32([height, width, height, width])
        np.testing.assert_array_equal(part[0, 0], np.float32(corners) / scale)
        assert rest == -1
        if (rows, columns) == (height, width):
            continue
        seen += 1
        assert 0 <= top <= height - rows
        assert 0 <= left <= width - columns
        assert 0.1 <= rows * columns / (height * width) <= 0.6
        assert abs(columns - np.clip(columns, ratios[0] * rows, ratios[1] * rows)) <= 0.5
        parts = []
        for y1, x1, y2, x2 in (CORNERS[0] * scale).astype(int):
            common = max(min(y2, corners[2]) - max(y1, top), 0)
            common *= max(min(x2, corners[3]) - max(x1, left), 0)
            parts.append(common / ((y2 - y1) * (x2 - x1)))
        assert max(parts) >= covered
    assert seen > (40 if covered < 1 else 5)


def test_heights_are_evenly_drawn():
    sizes = [
        int(
            draw(
                [40, 40, 3],
                WHOLE,
                [seed, 7],
                min_object_covered=0.0,
                aspect_ratio_range=(1.0, 1.0),
                area_range=(0.1, 0.6),
            )[1][0]
        )
        for seed in range(400)
    ]
    counts = np.bincount(sizes, minlength=31)
    assert not counts[:13].any()
    assert len(counts) == 31
    assert counts[13:].min() > 5


@pytest.mark.parametrize(
    "more",
    [
        {"min_object_covered": 1.5},
        {"area_range": (0.5, 0.3)},
        {"area_range": (1.0, 1.0), "aspect_ratio_range": (3.0, 4.0)},
    ],
)
def test_the_whole_image_when_nothing_is_right(more):
    begin, size, box = lists(draw([100, 80, 3], WHOLE, (1, 2), **more))
    assert (begin, size, box) == ([0, 0, 0], [100, 80, -1], [[[0, 0, 1, 1]]])
    for boxes in (WHOLE[..., ::-1], WHOLE * 0.5 + WHOLE[..., ::-1] * 0.5):
        assert lists(draw([100, 80, 3], boxes, (1, 2)))[1] == [100, 80, -1]
    begin, size, box = lists(draw([0, 80, 3], WHOLE, (1, 2)))
    assert size == [0, 80, -1]
    assert np.isnan(box[0][0][0])


def test_without_boxes():
    none = np.zeros((1, 0, 4), np.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="use_image_if_no_bounding_boxes"):
        draw([100, 80, 3], none, (1, 2))
    found = draw([100, 80, 3], none, (1, 2), use_image_if_no_bounding_boxes=True)
    assert lists(found) == lists(draw([100, 80, 3], WHOLE, (1, 2)))


def test_seeds():
    sample, old = tf.image.sample_distorted_bounding_box, tf.compat.v1.image
    tf.random.set_seed(1)
    first = [lists(sample([100, 80, 3], WHOLE, seed=3)) for _ in range(3)]
    assert first[0][:2] == [[19, 2, 0], [63, 76, -1]]
    assert first[1][:2] == [[28, 4, 0], [60, 71, -1]]
    tf.random.set_seed(1)
    assert [lists(sample([100, 80, 3], WHOLE, seed=3)) for _ in range(3)] == first
    assert len({str(lists(sample([500, 500, 3], WHOLE))) for _ in range(5)}) > 1
    found = lists(old.sample_distorted_bounding_box([100, 80, 3], WHOLE, seed=3, seed2=4))
    assert found[:2] == [[11, 4, 0], [58, 75, -1]]
    with tf.Graph().as_default():
        sample([9, 9, 3], WHOLE)
        sample([9, 9, 3], WHOLE, seed=3)
        old.sample_distorted_bounding_box([9, 9, 3], WHOLE, seed2=3)
        made = [
            (op.get_attr("seed"), op.get_attr("seed2"))
            for op in tf.compat.v1.get_default_graph().get_operations()
            if op.type == "SampleDistortedBoundingBoxV2"
        ]
    assert made == [(0, 0), (87654321, 3), (0, 3)]


def test_in_graphs_and_functions():
    with tf.Graph().as_default():
        size = tf.compat.v1.placeholder(tf.int32)
        boxes = tf.compat.v1.placeholder(tf.float32)
        found = tf.image.sample_distorted_bounding_box(size, boxes, seed=3)
        assert [t.shape.as_list() for t in found] == [[3], [3], [1, 1, 4]]
        with tf.compat.v1.Session() as session:
            feed = {size: [100, 80, 3], boxes: WHOLE}
            runs = [session.run(found, feed)[1].tolist() for _ in range(4)]
        assert len({tuple(r) for r in runs}) > 1
    traced = tf.function(lambda seed: draw([100, 80, 3], WHOLE, seed))
    assert lists(traced(tf.constant([1, 2])))[:2] == [[12, 3, 0], [58, 72, -1]]


def test_gradients():
    boxes = tf.constant(WHOLE)
    with tf.GradientTape() as tape:
        tape.watch(boxes)
        box = tf.image.sample_distorted_bounding_box([9, 9, 3], boxes, seed=1)[2]
    assert tape.gradient(box, boxes) is None
    with tf.GradientTape() as tape:
        tape.watch(boxes)
        box = draw([9, 9, 3], boxes, (1, 2))[2]
    with pytest.raises(LookupError):
        tape.gradient(box, boxes)


@pytest.mark.parametrize(
    ("size", "boxes", "more", "text"),
    [
        ([9, 9], WHOLE, {}, "three numbers"),
        ([[9, 9, 3]], WHOLE, {}, "rank 1"),
        ([-9, 9, 3], WHOLE, {}, "-9 x 9"),
        ([9, 9, 3], WHOLE[0], {}, "rank 3"),
        ([9, 9, 3], WHOLE[..., :3], {}, "shape \\[4\\]"),
        ([9, 9, 3], WHOLE * 2, {}, "got 2.0"),
        ([9, 9, 3], WHOLE * np.float32(np.nan), {}, "got nan"),
        ([9, 9, 3], WHOLE, {"area_range": (2.0, 3.0)}, "less then or equal"),
        ([9, 9, 3], WHOLE, {"area_range": (0.0, 0.5)}, "Area range"),
        ([9, 9, 3], WHOLE, {"area_range": []}, "2 dimensions"),
        ([9, 9, 3], WHOLE, {"aspect_ratio_range": (0.0, 0.5)}, "Aspect ratio range"),
        ([9, 9, 3], WHOLE, {"aspect_ratio_range": (0.5,)}, "2 dimensions"),
        ([9, 9, 3], WHOLE, {"max_attempts": 0}, "Max attempts"),
        ([9, 9, 3], WHOLE, {"min_object_covered": -1.0}, "-1.0"),
        ([9, 9, 3], WHOLE, {"min_object_covered": [0.5, 0.5]}, "rank 0"),
    ],
)
def test_what_is_refused(size, boxes, more, text):
    for call in (lambda **o: draw(size, boxes, seed=(1, 2), **o),):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            call(**more)
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        tf.image.sample_distorted_bounding_box(size, boxes, seed=1, **more)


def test_other_mistakes():
    with pytest.raises(tf.errors.InvalidArgumentError):
        draw([9, 9, 3], WHOLE, seed=(1, 2, 3))
    with pytest.raises(TypeError):
        draw([9, 9, 3], WHOLE, (1, 2), area_range=0.5)
