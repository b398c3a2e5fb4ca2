"""Images flipped, turned, cut out and padded, against NumPy."""

import numpy as np
import pytest

import penstock as tf

RNG = np.random.default_rng(0)
BATCH = RNG.integers(0, 255, (2, 4, 5, 3)).astype(np.uint8)


@pytest.fixture(params=["batch", "single", "unknown sizes"])
def run(request):
    """Calls a function of images on a batch, on one image, and in a graph without sizes."""

    def call(function):
        if request.param == "batch":
            return function(tf.constant(BATCH)).numpy()
        if request.param == "single":
            return np.stack([function(tf.constant(image)).numpy() for image in BATCH])
        traced = tf.function(
            function, input_signature=[tf.TensorSpec([None, None, None, None], tf.uint8)]
        )
        return traced(BATCH).numpy()

    return call


def test_flips(run):
    np.testing.assert_array_equal(run(tf.image.flip_left_right), BATCH[:, :, ::-1])
    np.testing.assert_array_equal(run(tf.image.flip_up_down), BATCH[:, ::-1])
    np.testing.assert_array_equal(run(tf.image.transpose), BATCH.transpose(0, 2, 1, 3))


@pytest.mark.parametrize("quarters", [-1, 0, 1, 2, 3, 5])
def test_turns(run, quarters):
    wanted = np.rot90(BATCH, quarters, (1, 2))
    np.testing.assert_array_equal(run(lambda x: tf.image.rot90(x, quarters)), wanted)


def test_turns_by_a_tensor():
    traced = tf.function(tf.image.rot90)
    for quarters in range(4):
        got = traced(tf.constant(BATCH[:, :, :4]), tf.constant(quarters))
        np.testing.assert_array_equal(got, np.rot90(BATCH[:, :, :4], quarters, (1, 2)))


def test_windows(run):
    cut = run(lambda x: tf.image.crop_to_bounding_box(x, 1, 2, 2, 3))
    np.testing.assert_array_equal(cut, BATCH[:, 1:3, 2:5])
    padded = run(lambda x: tf.image.pad_to_bounding_box(x, 1, 2, 7, 9))
    np.testing.assert_array_equal(padded, np.pad(BATCH, [(0, 0), (1, 2), (2, 2), (0, 0)]))


@pytest.mark.parametrize(("fraction", "rows", "columns"), [(1.0, 0, 0), (0.5, 1, 1), (0.9, 0, 0)])
def test_the_middle(run, fraction, rows, columns):
    wanted = BATCH[:, rows : 4 - rows, columns : 5 - columns]
    np.testing.assert_array_equal(run(lambda x: tf.image.central_crop(x, fraction)), wanted)


@pytest.mark.parametrize("size", [(4, 5), (2, 2), (7, 9), (2, 9), (9, 3)])
def test_crop_or_pad(run, size):
    wanted = BATCH
    for axis, target in ((1, size[0]), (2, size[1])):
        old = wanted.shape[axis]
        start = max(0, (old - target) // 2)
        wanted = np.take(wanted, range(start, start + min(old, target)), axis)
        before = max(0, (target - old) // 2)
        widths = [(0, 0)] * 4
        widths[axis] = (before, max(0, target - old) - before)
        wanted = np.pad(wanted, widths)
    got = run(lambda x: tf.image.resize_with_crop_or_pad(x, *size))
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("size", [(2, 2), (8, 20), (9, 3)])
def test_resize_with_pad(run, size):
    got = run(lambda x: tf.image.resize_with_pad(x, *size, method="nearest"))
    ratio = max(5 / size[1], 4 / size[0])
    inner = (int(4 / ratio), int(5 / ratio))
    resized = tf.image.resize(BATCH, inner, "nearest").numpy()
    top, left = ((size[i] - (4, 5)[i] / ratio) // 2 for i in range(2))
    wanted = np.zeros((2, *size, 3), np.uint8)
    wanted[:, int(top) : int(top) + inner[0], int(left) : int(left) + inner[1]] = resized
    np.testing.assert_array_equal(got, wanted)


def patches(images, size, stride, rate, padding):
    span = [k + (k - 1) * (r - 1) for k, r in zip(size, rate, strict=True)]
    sides = images.shape[1:3]
    if padding == "SAME":
        counts = [-(-n // s) for n, s in zip(sides, stride, strict=True)]
        missing = [
            max(0, (c - 1) * s + p - n)
            for c, s, p, n in zip(counts, stride, span, sides, strict=True)
        ]
        widths = [(m // 2, m - m // 2) for m in missing]
        images = np.pad(images, [(0, 0), *widths, (0, 0)])
    else:
        counts = [(n - p) // s + 1 for n, p, s in zip(sides, span, stride, strict=True)]
    rows = []
    for i in range(counts[0]):
        for j in range(counts[1]):
            y, x = i * stride[0], j * stride[1]
            window = images[:, y : y + span[0] : rate[0], x : x + span[1] : rate[1]]
            rows.append(window.reshape(len(images), -1))
    return np.stack(rows, 1).reshape(len(images), *counts, -1)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(
    ("size", "stride", "rate"),
    [((2, 2), (1, 1), (1, 1)), ((2, 3), (2, 2), (1, 1)), ((2, 2), (1, 2), (2, 2))],
)
def test_patches_and_their_derivatives(size, stride, rate, padding):
    lists = [[1, *size, 1], [1, *stride, 1], [1, *rate, 1]]
    wanted = patches(BATCH, size, stride, rate, padding)
    np.testing.assert_array_equal(tf.image.extract_patches(BATCH, *lists, padding), wanted)
    image = tf.constant(RNG.normal(size=(1, 4, 5, 2)))
    theory, numeric = tf.test.compute_gradient(
        lambda x: tf.image.extract_patches(x, *lists, padding) ** 2, [image], delta=1e-4
    )
    np.testing.assert_allclose(theory[0], numeric[0], atol=1e-6)


def test_patches_larger_than_the_image():
    """None come of a window that does not fit by less than a stride; so has it TensorFlow 2.21."""
    for size, stride in ((5, 1), (6, 2), (9, 5)):
        lists = [1, size, 2, 1], [1, stride, 1, 1], [1, 1, 1, 1]
        assert tf.image.extract_patches(BATCH, *lists, "VALID").shape == [2, 0, 4, size * 2 * 3]
    with tf.Graph().as_default():
        image = tf.compat.v1.placeholder(tf.float32, [1, None, 7, 1])
        lists = [1, 5, 5, 1], [1, 1, 1, 1], [1, 1, 1, 1]
        for padding in ("SAME", "VALID"):
            found = tf.image.extract_patches(image, *lists, padding)
            assert found.shape.as_list() == [1, None, None, 25]


def test_edges_and_differences():
    image = tf.constant(RNG.normal(size=(2, 4, 5, 3)))
    edges = tf.image.sobel_edges(image).numpy()
    padded = np.pad(image, [(0, 0), (1, 1), (1, 1), (0, 0)], "reflect")
    kernel = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    for axis, weights in enumerate((kernel, kernel.T)):
        wanted = sum(
            weights[i, j] * padded[:, i : i + 4, j : j + 5] for i in range(3) for j in range(3)
        )
        np.testing.assert_allclose(edges[..., axis], wanted, atol=1e-6)
    down, across = tf.image.image_gradients(image)
    np.testing.assert_allclose(down[:, :-1], np.diff(image, axis=1))
    np.testing.assert_allclose(across[:, :, :-1], np.diff(image, axis=2))
    assert not np.any(down[:, -1])
    wanted = np.abs(np.diff(image, axis=1)).sum((1, 2, 3)) + np.abs(np.diff(image, axis=2)).sum(
        (1, 2, 3)
    )
    np.testing.assert_allclose(tf.image.total_variation(image), wanted)
    np.testing.assert_allclose(tf.image.total_variation(image[0]), wanted[0])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.image.flip_left_right(x[0, 0]),
        lambda x: tf.image.rot90(x[0, 0]),
        lambda x: tf.image.transpose(x[0, 0]),
        lambda x: tf.image.crop_to_bounding_box(x, -1, 0, 2, 2),
        lambda x: tf.image.crop_to_bounding_box(x, 0, 0, 5, 2),
        lambda x: tf.image.crop_to_bounding_box(x, 0, 0, 0, 2),
        lambda x: tf.image.pad_to_bounding_box(x, 0, 0, 2, 2),
        lambda x: tf.image.pad_to_bounding_box(x, -1, 0, 9, 9),
        lambda x: tf.image.central_crop(x, 0.0),
        lambda x: tf.image.central_crop(x, 1.5),
        lambda x: tf.image.resize_with_crop_or_pad(x, 0, 1),
        lambda x: tf.image.resize_with_pad(x, 0, 1),
        lambda x: tf.image.image_gradients(x[0]),
        lambda x: tf.image.total_variation(x[0, 0]),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(ValueError):
        call(tf.constant(BATCH))


def test_what_does_not_fit_is_refused_when_it_runs():
    cut = tf.function(
        lambda x: tf.image.crop_to_bounding_box(x, 3, 0, 2, 2),
        input_signature=[tf.TensorSpec([None, None, None, 3], tf.uint8)],
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="target"):
        cut(BATCH)
    for lists in ([2, 2, 2, 1], [1, 9, 9, 1], [1, 6, 2, 1]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.image.extract_patches(BATCH, lists, [1, 1, 1, 1], [1, 1, 1, 1], "VALID")


def test_offsets_that_are_tensors_are_refused_when_it_runs():
    one = tf.constant(1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="height must be >="):
        tf.image.crop_to_bounding_box(BATCH, one, 0, tf.constant(4), 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="height must be <="):
        tf.image.pad_to_bounding_box(BATCH, one, 0, tf.constant(4), 9)
    with pytest.raises(TypeError):
        tf.image.pad_to_bounding_box(BATCH, 0, 0, 9.5, 9)  # no half rows


def test_all_of_an_image_is_the_image_whatever_its_rank():
    whole = tf.function(
        lambda x: tf.image.central_crop(x, 1.0), input_signature=[tf.TensorSpec(None)]
    )
    np.testing.assert_array_equal(whole(ONE), ONE)
    assert tf.image.central_crop(ONE[0], 1.0).shape == ONE[0].shape
    with tf.Graph().as_default(), pytest.raises(ValueError, match="4D"):
        tf.image.image_gradients(tf.compat.v1.placeholder(tf.float32))


def test_windows_keep_what_is_known_of_channels():
    @tf.function(input_signature=[tf.TensorSpec([None, None, 3])])
    def static(image):
        cut, fitted = (
            tf.image.central_crop(image, 0.5),
            tf.image.resize_with_crop_or_pad(image, 3, 4),
        )
        assert cut.shape.as_list() == [None, None, 3]
        assert fitted.shape.as_list() == [3, 4, 3]
        return cut, fitted

    cut, fitted = static(np.zeros([4, 4, 3], np.float32))
    assert (cut.shape, fitted.shape) == ([2, 2, 3], [3, 4, 3])


@pytest.mark.parametrize("seed", [{}, {"seed": [1, 2]}])
def test_random_crop_larger_than_the_image(seed):
    crop = tf.image.stateless_random_crop if seed else tf.image.random_crop
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Need value\.shape >= size, got"):
        crop(np.zeros([4, 4, 3], np.float32), [5, 5, 3], **seed)
    cut = tf.function(lambda image: crop(image, [5, 5, 3], **seed))
    cut = cut.get_concrete_function(tf.TensorSpec([None, None, 3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Need value\.shape >= size, got"):
        cut(tf.zeros([4, 4, 3]))
    assert cut(tf.zeros([6, 5, 3])).shape == [5, 5, 3]


ONE = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
UNKNOWN = {  # function -> the ranks that it takes of images whose rank a graph does not know
    "rot90": (lambda x: tf.image.rot90(x), [3, 4]),  # any: docs/differences.md
    "rot180": (lambda x: tf.image.rot90(x, 2), [3, 4]),
    "rot270": (lambda x: tf.image.rot90(x, tf.constant(3)), [3, 4]),
    "transpose": (lambda x: tf.image.transpose(x), [3]),
    "crop_or_pad": (lambda x: tf.image.resize_with_crop_or_pad(x, 3, 3), [3]),
    "pad": (lambda x: tf.image.pad_to_bounding_box(x, 0, 0, 3, 3), [3]),
    "crop": (lambda x: tf.image.crop_to_bounding_box(x, 0, 0, 2, 2), [3]),
    "flip_left_right": (lambda x: tf.image.flip_left_right(x), [3, 4]),
    "flip_up_down": (lambda x: tf.image.flip_up_down(x), [3, 4]),
    "flip": (lambda x: tf.image.stateless_random_flip_left_right(x, [1, 2]), [3, 4]),
    "random_flip": (lambda x: tf.image.random_flip_up_down(x) * 0, [3, 4]),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_images_of_unknown_rank_are_taken_for_those_of_one(name):
    """Which one is TensorFlow 2.21's choice."""
    function, ranks = UNKNOWN[name]
    traced = tf.function(function, input_signature=[tf.TensorSpec(None)])
    for rank, image in ((2, ONE[0]), (3, ONE), (4, ONE[None])):
        if rank in ranks:
            np.testing.assert_array_equal(traced(image), function(image))
        else:
            with pytest.raises(tf.errors.InvalidArgumentError):
                traced(image)


@pytest.mark.parametrize("quarters", range(4))
@pytest.mark.parametrize("image", [ONE, ONE[None]])
def test_images_of_unknown_rank_turn_in_plain_graphs(quarters, image):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32)
        turned = tf.image.rot90(x, quarters)
        assert turned.shape.rank is None
        found = session.run(turned, {x: image})
    np.testing.assert_array_equal(found, tf.image.rot90(image, quarters))


def test_central_crop_by_a_constant_tensor_has_known_sizes():
    with tf.Graph().as_default():
        image = tf.compat.v1.placeholder(tf.float32, [None, 4, 3])
        assert tf.image.central_crop(image, tf.constant(0.5)).shape.as_list() == [None, 2, 3]


def test_graphs_know_the_channels_of_gray_images_in_color():
    with tf.Graph().as_default():
        gray = tf.compat.v1.placeholder(tf.float32, [None, None, None])
        assert tf.image.grayscale_to_rgb(gray).shape.as_list() == [None, None, 3]
