"""Public names that few programs use: operations as they are, clusters, space in the batch."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

r = tf.raw_ops
MATRIX = np.float32([[2, 1], [1, 3]])


def test_names_of_functions_that_have_others() -> None:
    assert tf.eig is tf.linalg.eig
    assert tf.eigvals is tf.linalg.eigvals
    root = tf.matrix_square_root(MATRIX)
    np.testing.assert_allclose(root @ root, MATRIX, rtol=1e-5)
    assert float(tf.realdiv(1.0, 4.0)) == 0.25


def test_transforms_over_any_axes() -> None:
    x = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    lengths, axes = [4, 4], [0, 1]
    wide = np.pad(x, [[0, 1], [0, 0]])
    complex_x = tf.constant(x.astype(np.complex64))
    found = tf.fftnd(complex_x, lengths, axes)
    np.testing.assert_allclose(found, np.fft.fft2(wide), rtol=1e-4, atol=1e-5)
    found = tf.ifftnd(complex_x, lengths, axes)
    np.testing.assert_allclose(found, np.fft.ifft2(wide), rtol=1e-4, atol=1e-5)
    half = tf.rfftnd(x, lengths, axes)
    np.testing.assert_allclose(half, np.fft.rfft2(wide), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(tf.irfftnd(half, lengths, axes), wide, rtol=1e-4, atol=1e-5)


def test_operations_as_they_are() -> None:
    found = tf.ragged_fill_empty_rows(np.int64([0, 2]), [1.0, 2.0], np.int64(3), 9.0)
    assert found.output_values.numpy().tolist() == [1.0, 9.0, 2.0]
    assert found.reverse_index_map.numpy().tolist() == [0, 2]
    back = tf.ragged_fill_empty_rows_grad(found.reverse_index_map, [1.0, 10.0, 100.0])
    assert back.d_values.numpy().tolist() == [1.0, 100.0]
    assert float(back.d_default_value) == 10.0
    places = [int(tf.random_index_shuffle(i, [1, 2, 3], 10)) for i in range(11)]
    assert sorted(places) == list(range(11))
    assert tf.approx_top_k([3.0, 1.0, 2.0], 1, is_max_k=False).indices.numpy().tolist() == [1]
    assert tf.compat.v1.user_ops.my_fact().numpy() == b"0! == 1"


def test_matrix_product_at_some_places() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(3, 5)), rng.normal(size=(5, 4))
    places, values = np.array([[0, 1], [2, 3], [2, 0]]), rng.normal(size=3)
    found = tf.sparse.sampled_addmm(places, values, [3, 4], a, b, 2.0, 3.0, tf.float64)
    wanted = 2 * values + 3 * (a @ b)[places[:, 0], places[:, 1]]
    np.testing.assert_allclose(found[1], wanted)
    assert found[0].numpy().tolist() == places.tolist()
    assert found[2].numpy().tolist() == [3, 4]
    with pytest.raises(ValueError, match="mat1 of rank 2"):
        tf.sparse.sampled_addmm(places, values, [3, 4], a[0], b, output_type=tf.float64)


# ---- space moved to the batch


def conv(x: Any, num_spatial_dims: int, padding: str) -> Any:
    assert num_spatial_dims == 2
    return tf.nn.conv2d(x, FILTER, 1, padding)


FILTER = np.random.default_rng(3).normal(size=(3, 2, 1, 2)).astype(np.float32)
IMAGE = np.random.default_rng(4).normal(size=(2, 9, 8, 1)).astype(np.float32)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("rates", [[2, 3], [2, 2], [1, 1], [1, 2]])
def test_space_to_batch_is_dilation(padding: str, rates: list[int]) -> None:
    def spread(x: Any) -> Any:
        return tf.nn.with_space_to_batch(x, rates, padding, conv, filter_shape=[3, 2])

    wanted = tf.nn.conv2d(IMAGE, FILTER, 1, padding, dilations=rates)
    np.testing.assert_allclose(spread(IMAGE), wanted, rtol=1e-4, atol=1e-5)
    signature = [tf.TensorSpec([None, None, None, 1], tf.float32)]
    traced = tf.function(spread, input_signature=signature)
    np.testing.assert_allclose(traced(IMAGE), wanted, rtol=1e-4, atol=1e-5)


def test_space_to_batch_along_one_axis() -> None:
    def rows(x: Any, num_spatial_dims: int, padding: str) -> Any:
        return tf.nn.conv2d(x, FILTER[:1], 1, padding)

    found = tf.nn.with_space_to_batch(IMAGE, [3], "VALID", rows, [2], spatial_dims=[2])
    wanted = tf.nn.conv2d(IMAGE, FILTER[:1], 1, "VALID", dilations=[1, 3])
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 2], "SAME", conv, [3, 2]), "must be positive"),
        (([2, 2], "FULL", conv, [3, 2]), "'SAME' or 'VALID'"),
        (([2, 2], "SAME", conv), "filter_shape"),
        (([2, 2], "SAME", conv, [3, 2], [2, 1]), "monotonically increasing"),
        (([2, 2], "SAME", conv, [3, 2], [0, 1]), "monotonically increasing"),
        (([2, 2], "SAME", conv, [3, 2], [3, 4]), "rank"),
    ],
)
def test_space_to_batch_refuses(arguments: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tf.nn.with_space_to_batch(IMAGE, *arguments)


# ---- convolutions with more in them

EDGES = np.array([[0, 0], [1, 2], [2, 1], [0, 0]], np.int32)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_convolution_over_two_or_three_axes(padding: str) -> None:
    wanted = tf.nn.conv2d(IMAGE, FILTER, [1, 2, 1, 1], padding)
    strides = [1, 2, 1, 1]
    found = r.Conv(input=IMAGE, filter=FILTER, strides=strides, padding=padding)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    many = r.Conv(
        input=IMAGE[:, None], filter=FILTER, strides=strides, padding=padding, batch_dims=2
    )
    np.testing.assert_allclose(many[:, 0], wanted, rtol=1e-5, atol=1e-6)
    turned = r.Conv(
        input=IMAGE.transpose(0, 3, 1, 2), filter=FILTER, strides=[1, 1, 2, 1], padding=padding,
        data_format="CHANNELS_FIRST",
    )  # fmt: skip
    np.testing.assert_allclose(turned, np.transpose(wanted, (0, 3, 1, 2)), rtol=1e-5, atol=1e-6)
    volume = np.random.default_rng(8).normal(size=(1, 4, 5, 6, 2)).astype(np.float32)
    kernel = np.random.default_rng(9).normal(size=(2, 3, 2, 2, 3)).astype(np.float32)
    found = r.Conv(input=volume, filter=kernel, strides=[1] * 5, padding=padding)
    wanted = tf.nn.conv3d(volume, kernel, [1] * 5, padding)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_convolution_with_explicit_pads_and_dilations() -> None:
    given: dict[str, Any] = {"strides": [1] * 4, "padding": "EXPLICIT", "dilations": [1, 2, 1, 1]}
    found = r.Conv(
        input=IMAGE, filter=FILTER, explicit_paddings=EDGES.reshape(-1).tolist(), **given
    )
    wanted = tf.nn.conv2d(np.pad(IMAGE, EDGES), FILTER, 1, "VALID", dilations=[2, 1])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    with tf.Graph().as_default():
        built = r.Conv(
            input=tf.compat.v1.placeholder(tf.float32, [None, None, 8, 1]), filter=FILTER,
            explicit_paddings=EDGES.reshape(-1).tolist(), **given,
        )  # fmt: skip
        assert built.shape.as_list() == [None, None, 10, 2]


def test_convolutions_that_are_refused() -> None:
    plain: dict[str, Any] = {"filter": FILTER, "strides": [1] * 4, "padding": "SAME"}
    with pytest.raises(tf.errors.UnimplementedError, match="groups=1"):
        r.Conv(input=IMAGE, groups=2, **plain)
    for more, words in (
        ({"input": IMAGE[..., 0]}, "spatial dimensions"),
        ({"input": IMAGE.repeat(2, -1)}, "filter depth"),
        ({"input": IMAGE, "strides": [1, 1]}, "strides"),
        ({"input": IMAGE, "batch_dims": -1}, "batch_dims"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            r.Conv(**{**plain, **more})


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_convolutions_of_mirrored_and_resized_images(mode: str) -> None:
    given: dict[str, Any] = {
        "filter": FILTER,
        "mode": mode,
        "strides": [1, 1, 2, 1],
        "paddings": EDGES,
    }
    found = r.FusedPadConv2D(input=IMAGE, padding="VALID", **given)
    wide = np.pad(IMAGE, EDGES, mode=mode.lower())
    wanted = tf.nn.conv2d(wide, FILTER, [1, 1, 2, 1], "VALID")
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    for align in (False, True):
        found = r.FusedResizeAndPadConv2D(
            input=IMAGE, size=[12, 6], padding="SAME", resize_align_corners=align, **given
        )
        resized = r.ResizeBilinear(images=IMAGE, size=[12, 6], align_corners=align)
        wide = np.pad(resized, EDGES, mode=mode.lower())
        wanted = tf.nn.conv2d(wide, FILTER, [1, 1, 2, 1], "SAME")
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="filter depth"):
        r.FusedPadConv2D(input=IMAGE.repeat(2, -1), padding="VALID", **given)


# ---- clusters and devices


def test_nearest_centers() -> None:
    rng = np.random.default_rng(5)
    points, centers = (rng.normal(size=(n, 3)).astype(np.float32) for n in (50, 7))
    found = r.NearestNeighbors(points=points, centers=centers, k=3)
    distances = ((points[:, None].astype(np.float64) - centers) ** 2).sum(-1)
    order = np.argsort(distances, 1)[:, :3]
    np.testing.assert_array_equal(found.nearest_center_indices, order)
    wanted = np.take_along_axis(distances, order, 1)
    np.testing.assert_allclose(found.nearest_center_distances, wanted, rtol=1e-6)
    assert r.NearestNeighbors(points=points, centers=centers, k=9)[0].shape == (50, 7)
    for bad, words in (({"k": -1}, "at least 0"), ({"k": 1, "centers": [[1.0]]}, "one dimension")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            r.NearestNeighbors(**{"points": points, "centers": centers, **bad})


def test_first_centers_are_far_from_each_other() -> None:
    """Of three tight groups each gives one centre, whatever the seed."""
    rng = np.random.default_rng(6)
    groups = np.repeat([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]], 30, axis=0)
    points = (groups + rng.normal(size=groups.shape)).astype(np.float32)
    for seed in range(5):
        found = r.KmeansPlusPlusInitialization(
            points=points, num_to_sample=3, seed=seed, num_retries_per_sample=3
        )
        assert len({tuple(np.round(row / 100)) for row in found.numpy()}) == 3
    for given, words in ((91, "points.rows"), (0, "num_to_sample > 0")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            r.KmeansPlusPlusInitialization(
                points=points, num_to_sample=given, seed=0, num_retries_per_sample=1
            )


def test_a_chain_draws_in_proportion_to_distances() -> None:
    distances = np.float32([0, 0, 0, 5, 0, 0])
    for seed in range(10):
        assert int(r.KMC2ChainInitialization(distances=distances, seed=seed)) == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="size > 0"):
        r.KMC2ChainInitialization(distances=tf.zeros([0]), seed=1)


def test_devices() -> None:
    assert int(r.DeviceIndex(device_names=["GPU", "CPU"])) == 1
    assert int(r.DeviceIndex(device_names=["GPU"])) == 1
    assert tf.test.experimental.sync_devices() is None
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="eager mode"):
        tf.test.experimental.sync_devices()


def test_truth_of_strings() -> None:
    assert [bool(r.ToBool(input=text)) for text in ("", "a")] == [False, True]
