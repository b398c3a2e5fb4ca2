"""Work on images with the native library: the same as without it, and right."""

import itertools

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_images

NAN, INF = np.nan, np.inf
RNG = np.random.default_rng(5)
REALS = ("float32", "float64", "int32", "int64", "uint8", "int8", "uint16", "int16")
WIDE = (*REALS, "uint32", "uint64", "float16", "bfloat16")
BOXES = np.array(
    [[0, 0, 1, 1], [0.2, 0.9, 0.7, 0.1], [-0.5, 0.3, 1.5, 0.4], [0.5, 0.5, 0.5, 0.5]], np.float32
)
NUMBERS = np.array([0, 1, 1, 0], np.int32)


@pytest.fixture(autouse=True)
def needs_the_library():
    if not native_images.LIBRARY.is_in_use():
        pytest.skip("no native work on images here")


def both(name, **given):
    """What an operation gives with the library, and what without: arrays, or an error's class."""
    found = []
    for switched in ("1", "0"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PENSTOCK_NATIVE_KERNELS", switched)
            found.append(_found(name, given))
    return found


def _found(name, given):
    try:
        results = getattr(tf.raw_ops, name)(**given)
    except tf.errors.OpError as problem:
        return type(problem).__name__
    results = results if isinstance(results, (list, tuple)) else [results]
    return [r.numpy() for r in results]


def assert_same(name, rtol=0.0, **given):
    found, wanted = both(name, **given)
    if isinstance(wanted, str):
        assert found == wanted
        return wanted
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        if one.dtype.kind == "V" or one.dtype.name == "bfloat16":
            one, other = one.astype(np.float32), other.astype(np.float32)
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)
    return found


def numbers(dtype, *shape):
    values = RNG.integers(0, 100, shape)
    if np.dtype(dtype if dtype != "bfloat16" else "f4").kind == "f":
        return tf.cast(values / 8 - 5, dtype)
    return tf.cast(values, dtype)


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("dtype", [*REALS, "float16"])
def test_crops(dtype, method):
    image = numbers(dtype, 2, 5, 7, 3)
    for size in ([4, 3], [1, 1], [1, 6]):
        given = {"boxes": BOXES, "box_ind": NUMBERS}
        crop = {"crop_size": size, "method": method, "extrapolation_value": -1.0}
        assert_same("CropAndResize", 1e-6, image=image, **given, **crop)
        grads = numbers("float32", 4, *size, 3)
        if method == "bilinear":
            assert_same("CropAndResizeGradBoxes", 1e-5, grads=grads, image=image, **given)
        if dtype.startswith("float"):
            kind = {"T": dtype, "method": method, "image_size": [2, 5, 7, 3]}
            assert_same("CropAndResizeGradImage", 1e-3, grads=grads, **given, **kind)


def test_a_large_crop_is_shared_out():
    image, grads = numbers("float32", 1, 90, 90, 3), numbers("float32", 4, 80, 80, 3)
    given = {"boxes": BOXES, "box_ind": np.zeros(4, np.int32)}
    assert_same("CropAndResize", 1e-6, image=image, crop_size=[80, 80], **given)
    size = {"image_size": [1, 90, 90, 3], "T": "float32"}
    assert_same("CropAndResizeGradImage", 1e-4, grads=grads, **given, **size)
    assert_same("CropAndResizeGradBoxes", 1e-4, grads=grads, image=image, **given)


@pytest.mark.parametrize(
    ("boxes", "number", "error"),
    [
        (BOXES[:1], -1, "OutOfRangeError"),
        (BOXES[:1], 2, "OutOfRangeError"),
        (BOXES[:1] * NAN, 0, "InvalidArgumentError"),
        (BOXES[:1] + INF, 0, "InvalidArgumentError"),
    ],
)
def test_wrong_boxes_are_refused(boxes, number, error):
    image, grads = numbers("float32", 2, 5, 7, 3), numbers("float32", 1, 2, 2, 3)
    given = {"boxes": boxes, "box_ind": np.array([number], np.int32)}
    assert assert_same("CropAndResize", image=image, crop_size=[2, 2], **given) == error
    assert assert_same("CropAndResizeGradBoxes", grads=grads, image=image, **given) == error
    size = {"image_size": [2, 5, 7, 3], "T": "float32"}
    assert assert_same("CropAndResizeGradImage", grads=grads, **given, **size) == error


def test_gradients_of_other_channels_are_refused():
    given = {"boxes": BOXES[:1], "box_ind": NUMBERS[:1], "image_size": [1, 5, 5, 3], "T": "float32"}
    found = assert_same("CropAndResizeGradImage", grads=numbers("float32", 1, 2, 2, 2), **given)
    assert found == "InvalidArgumentError"


def test_boxes_that_overflow():
    boxes = np.array([[3e38, -3e38, -3e38, 3e38]], np.float32)
    image = numbers("float32", 1, 5, 5, 1)
    given = {"boxes": boxes, "box_ind": NUMBERS[:1], "crop_size": [3, 3]}
    found = tf.raw_ops.CropAndResize(image=image, **given, extrapolation_value=7.0)
    assert np.isfinite(found.numpy()).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("count", [0, 1, 127, 128, 300, 30_000])
def test_spaces(dtype, count):
    pixels = RNG.random((count, 3)).round(1)
    pixels[: count // 3] = [[0.5, 0.5, 0.5], [0, 0, 0], [1, 0, 1]][count % 3]
    images = tf.cast(pixels, dtype)
    assert_same("RGBToHSV", 1e-6, images=images)
    assert_same("HSVToRGB", 1e-6, images=images)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_hue_and_saturation(dtype):
    special = [[NAN, 0, 1], [INF, 0, 1], [-1, 2, 0.5], [1, NAN, 0], [0, 1, NAN]]
    images = tf.cast(np.concatenate([RNG.random((400, 3)), special])[None], dtype)
    for amount in (-0.7, 0.0, 0.25, 3.0):
        assert_same("AdjustHue", 1e-6, images=images, delta=amount)
        assert_same("AdjustSaturation", 1e-6, images=images, scale=amount)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    "shape", [(3, 4, 5), (2, 7, 9, 3), (1, 200, 200, 2), (0, 3, 3), (2, 1, 1, 0)]
)
def test_contrast(dtype, shape):
    images = tf.cast(RNG.random(shape), dtype)
    assert_same("AdjustContrastv2", 1e-5, images=images, contrast_factor=1.5)


def test_the_mean_of_a_large_image_is_right():
    x = RNG.random((500, 600, 3)).astype(np.float32) + 1000
    found = tf.raw_ops.AdjustContrastv2(images=x, contrast_factor=0.0).numpy()
    wanted = np.broadcast_to(x.mean((0, 1), np.float64), x.shape)
    np.testing.assert_allclose(found, wanted, rtol=2e-7)


WINDOWS = [(1, 1, "SAME"), (2, 1, "VALID"), (1, 2, "SAME"), (3, 2, "SAME")]


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize(("stride", "rate", "padding"), WINDOWS)
def test_dilations(dtype, stride, rate, padding):
    for depth in (1, 8, 16, 19):
        x, w = numbers(dtype, 2, 7, 8, depth), numbers(dtype, 2, 3, depth)
        attrs = {"strides": [1, stride, stride, 1], "rates": [1, rate, rate, 1], "padding": padding}
        (made,) = assert_same("Dilation2D", input=x, filter=w, **attrs)
        grads = {"out_backprop": numbers(dtype, *made.shape)}
        assert_same("Dilation2DBackpropInput", 1e-6, input=x, filter=w, **grads, **attrs)
        rtol = 1e-2 if dtype in ("float16", "bfloat16") else 1e-5
        assert_same("Dilation2DBackpropFilter", rtol, input=x, filter=w, **grads, **attrs)


def test_dilations_of_what_is_no_number():
    lowest = np.finfo(np.float32).min
    special = np.array([NAN, -INF, lowest, INF, 1.0, -1.0], np.float32)
    attrs = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"}
    for _ in range(20):
        x, w = RNG.choice(special, (1, 5, 5, 2)), RNG.choice(special, (3, 3, 2))
        assert_same("Dilation2D", input=x, filter=w, **attrs)
        grads = numbers("float32", 1, 5, 5, 2)
        assert_same("Dilation2DBackpropInput", 1e-6, input=x, filter=w, out_backprop=grads, **attrs)
        assert_same(
            "Dilation2DBackpropFilter", 1e-6, input=x, filter=w, out_backprop=grads, **attrs
        )


def test_large_dilations_are_shared_out():
    x, w = numbers("float32", 1, 80, 80, 16), numbers("float32", 3, 3, 16)
    attrs = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"}
    assert_same("Dilation2D", input=x, filter=w, **attrs)
    grads = numbers("float32", 1, 80, 80, 16)
    assert_same("Dilation2DBackpropInput", 1e-5, input=x, filter=w, out_backprop=grads, **attrs)
    assert_same("Dilation2DBackpropFilter", 1e-4, input=x, filter=w, out_backprop=grads, **attrs)


EMPTY = [((0, 4, 4, 2), (2, 2, 2)), ((1, 4, 4, 0), (2, 2, 0)), ((1, 1, 1, 2), (3, 3, 2))]


@pytest.mark.parametrize(("image", "window"), EMPTY)
def test_empty_dilations(image, window):
    x, w = np.zeros(image, np.float32), np.zeros(window, np.float32)
    attrs = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"}
    (made,) = assert_same("Dilation2D", input=x, filter=w, **attrs)
    for name in ("Dilation2DBackpropInput", "Dilation2DBackpropFilter"):
        assert_same(name, input=x, filter=w, out_backprop=np.ones_like(made), **attrs)


@pytest.mark.parametrize("dtype", REALS[:4])
@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("shape", [(2, 9, 11, 3), (1, 60, 60, 20), (1, 3, 3, 1)])
def test_fractional_pooling(dtype, overlapping, shape):
    x = numbers(dtype, *shape) - tf.cast(3, dtype)
    attrs = {"pooling_ratio": [1.0, 1.4, 1.7, 1.0], "deterministic": True, "seed": 1, "seed2": 2}
    shared = {"overlapping": overlapping}
    for pseudo in (False, True):
        given = {"value": x, **attrs, **shared, "pseudo_random": pseudo}
        made, rows, columns = assert_same("FractionalMaxPool", **given)
        edges = {"row_pooling_sequence": rows, "col_pooling_sequence": columns, **shared}
        grads = {"out_backprop": numbers(dtype, *made.shape), **edges}
        assert_same("FractionalMaxPoolGrad", 1e-6, orig_input=x, orig_output=made, **grads)
        assert_same("FractionalAvgPool", 1e-6, **given)
        assert_same("FractionalAvgPoolGrad", 1e-6, orig_input_tensor_shape=shape, **grads)


def test_what_was_not_pooled_is_refused():
    x = numbers("float32", 1, 4, 4, 2)
    edges = {"row_pooling_sequence": [0, 2, 4], "col_pooling_sequence": [0, 2, 4]}
    ones = np.ones((1, 2, 2, 2), np.float32)
    given = {"orig_input": x, "out_backprop": ones, **edges}
    found = assert_same("FractionalMaxPoolGrad", orig_output=ones * 99, **given)
    assert found == "InvalidArgumentError"
    other = {"orig_output": np.ones((2, 2, 2, 2), np.float32)}
    given["out_backprop"] = other["orig_output"]
    assert assert_same("FractionalMaxPoolGrad", **other, **given) == "InvalidArgumentError"


@pytest.mark.parametrize("depth", [2, 16, 19])  # sixteen channels are worked on at once
def test_the_largest_beside_nan(depth):
    x = numbers("float32", 1, 6, 6, depth).numpy()
    x[0, 1, 1, 0], x[0, 4, 4, 1] = NAN, INF
    assert_same(
        "FractionalMaxPool", value=x, pooling_ratio=[1.0, 2.0, 2.0, 1.0], deterministic=True
    )


@pytest.mark.parametrize("dtype", [*WIDE, "complex64", "complex128", "bool"])
def test_patches(dtype):
    x = tf.cast(RNG.integers(0, 9, (2, 5, 6, 3)), dtype)
    for window, stride, rate, padding in itertools.product(
        (1, 2, 3), (1, 2), (1, 2), ("SAME", "VALID")
    ):
        attrs = {
            "ksizes": [1, window, 2, 1],
            "strides": [1, stride, 1, 1],
            "rates": [1, 1, rate, 1],
        }
        assert_same("ExtractImagePatches", images=x, padding=padding, **attrs)


@pytest.mark.parametrize("dtype", WIDE)
def test_volume_patches(dtype):
    x = tf.cast(RNG.integers(0, 9, (2, 5, 4, 6, 3)), dtype)
    for size, stride, padding in itertools.product((1, 3), (1, 2), ("SAME", "VALID")):
        attrs = {"ksizes": [1, size, 2, size, 1], "strides": [1, stride, 1, stride, 1]}
        assert_same("ExtractVolumePatches", input=x, padding=padding, **attrs)


@pytest.mark.parametrize("shape", [(0, 3, 3, 1), (1, 0, 3, 1), (1, 3, 3, 0), (1, 1, 1, 1)])
def test_empty_patches(shape):
    x = np.zeros(shape, np.float32)
    attrs = {"ksizes": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1]}
    for padding in ("SAME", "VALID"):
        assert_same("ExtractImagePatches", images=x, padding=padding, **attrs)
    window = {"ksizes": [1, 2, 2, 2, 1], "strides": [1, 1, 1, 1, 1]}
    for padding in ("SAME", "VALID"):
        assert_same("ExtractVolumePatches", input=x[:, None], padding=padding, **window)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("depth", [1, 3, 4])
def test_boxes_drawn(dtype, depth):
    images = tf.cast(RNG.random((2, 9, 8, depth)), dtype)
    special = [[NAN, 0, 1, 1], [0.5, 0.5, INF, 1], [0.8, 0.8, 0.2, 0.2], [-3, -3, 3, 3]]
    boxes = np.concatenate([RNG.random((20, 4)) * 2 - 0.5, special]).astype(np.float32)
    boxes = np.concatenate([boxes, [[-1e30, 0, 1e30, 0.5]]]).astype(np.float32)
    given = {"images": images, "boxes": np.stack([boxes, boxes[::-1]])}
    assert_same("DrawBoundingBoxes", **given)
    assert_same("DrawBoundingBoxesV2", colors=RNG.random((3, 5)).astype(np.float32), **given)
    assert_same("DrawBoundingBoxesV2", colors=np.zeros((0, depth), np.float32), **given)
    given["boxes"] = np.clip(np.nan_to_num(given["boxes"]), -9, 9)
    assert_same("DrawBoundingBoxes", **given)
    far = np.full((2, 1, 4), 3e38, np.float32)
    assert assert_same("DrawBoundingBoxes", images=images, boxes=far) == "InvalidArgumentError"


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int32", "float16"])
@pytest.mark.parametrize("mode", native_images.MODES)
@pytest.mark.parametrize("interpolation", ["BILINEAR", "NEAREST"])
def test_projective_transforms(dtype, mode, interpolation):
    images = numbers(dtype, 3, 6, 7, 2)
    matrices = RNG.normal(size=(3, 8)).astype(np.float32) * [1, 1, 9, 1, 1, 9, 0.2, 0.2]
    matrices[1] = [1, 0, 0, 0, 1, 0, -1, 0]  # a division by 0
    matrices[2, 2] = 1e30
    attrs = {"interpolation": interpolation, "fill_mode": mode, "output_shape": [5, 9]}
    for some in (matrices, matrices[:1]):
        given = {"images": images, "transforms": some.astype(np.float32), **attrs}
        assert_same("ImageProjectiveTransformV2", 1e-6, **given)
        assert_same("ImageProjectiveTransformV3", 1e-6, fill_value=3.0, **given)
    one = numbers(dtype, 3, 1, 1, 2)
    given = {"images": one, "transforms": matrices.astype(np.float32), **attrs}
    assert_same("ImageProjectiveTransformV3", 1e-6, fill_value=3.0, **given)


def bitmap(height, width, depth, upward):
    row = (width * depth + 3) // 4 * 4
    sizes = np.array([54, 40, width, height if upward else -height], "<i4").tobytes()
    head = b"BM" + bytes(8) + sizes + np.array([1, 8 * depth], "<u2").tobytes()
    return head.ljust(54, b"\0") + RNG.integers(0, 256, height * row).astype(np.uint8).tobytes()


@pytest.mark.parametrize("depth", [1, 3, 4])
@pytest.mark.parametrize("upward", [False, True])
def test_bitmaps(depth, upward):
    for size in ((1, 1), (5, 3), (4, 8)):
        data = bitmap(*size, depth, upward)
        for channels in (0, 3, 4):
            assert_same("DecodeBmp", contents=data, channels=channels)


def test_sounds():
    special = [NAN, INF, -INF, 1.0, -1.0, 2.0, 0.5 / 32768, 1.5 / 32768, -0.5 / 32768, 0.0]
    for samples in (special, RNG.normal(size=1000), []):
        audio = np.array(samples, np.float32).reshape(-1, 2)
        for each in (audio, audio[::-1]):
            found, wanted = both("EncodeWav", audio=each, sample_rate=16000)
            assert found == wanted


RESIZED = [(4, 7), (40, 9), (1, 1), (17, 33)]


@pytest.mark.parametrize("name", ["Bilinear", "Bicubic", "Area", "NearestNeighbor"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "float16"])
def test_resizing(name, dtype):
    image = numbers(dtype, 2, 9, 18, 3)
    for size in RESIZED:
        assert_same(f"Resize{name}", rtol=2e-5, images=image, size=size)
        assert_same(f"Resize{name}", rtol=2e-5, images=image[:0], size=size)


@pytest.mark.parametrize("half_pixel_centers", [False, True])
def test_what_flows_back_through_resizing(half_pixel_centers):
    image = np.zeros((2, 9, 18, 3), np.float32)
    for height, width in RESIZED:
        grads = RNG.normal(size=(2, height, width, 3)).astype(np.float32)
        given = {"grads": grads, "half_pixel_centers": half_pixel_centers}
        for name in ("ResizeBilinearGrad", "ResizeBicubicGrad"):
            assert_same(name, rtol=2e-5, original_image=image, **given)
        assert_same("ResizeNearestNeighborGrad", rtol=2e-5, size=(9, 18), **given)


def test_infinite_pixels_stay_where_they_count():
    image = np.ones((1, 4, 20, 1), np.float32)
    image[0, 0, 0] = np.inf
    found = tf.raw_ops.ResizeArea(images=image, size=[2, 10]).numpy()
    assert np.isinf(found[0, 0, 0, 0])
    assert np.isfinite(found.reshape(-1)[1:]).all()


PIXELS = np.zeros((1, 2, 2, 3), np.float32)
ONE, PLACES = np.ones((2, 1), np.float32), np.array([[0, 1], [1, 1]])
CALLS = {
    "resample": lambda: native_images.resample(PIXELS, PLACES, ONE, PLACES, ONE, True),
    "colors": lambda: native_images.colors(native_images.TO_HSV, PIXELS),
    "contrast": lambda: native_images.contrast(PIXELS, np.float32(2)),
    "dilate": lambda: native_images.dilate(PIXELS, PIXELS[0], (1, 1, 1, 1, 0, 0, 2, 2)),
    "patches": lambda: native_images.patches(PIXELS[None], *[(1, 1, 1)] * 3, (0, 0, 0), (1, 2, 2)),
    "draw": lambda: native_images.draw(PIXELS, np.zeros((1, 1, 4), np.float32), PIXELS[0, 0]),
    "transform": lambda: native_images.transform(
        PIXELS, np.zeros((1, 8), np.float32), (2, 2), np.float32(0), True, "WRAP"
    ),
    "swapped": lambda: native_images.swapped(np.zeros((2, 6), np.uint8), 2, 3, False),
    "unfiltered": lambda: native_images.unfiltered(b"\0\1", 1, 1, 1),
    "sound": lambda: native_images.sound(PIXELS),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_functions_return_is_looked_at(name, monkeypatch):
    monkeypatch.setattr(native_images.LIBRARY, "function", lambda _: lambda *given: -3)
    with pytest.raises(MemoryError, match="there is no memory left"):
        CALLS[name]()
    monkeypatch.setattr(native_images.LIBRARY, "function", lambda _: lambda *given: 0)
    assert CALLS[name]() in (None, False)
