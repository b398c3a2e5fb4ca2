"""Glimpses: a window of one size from each image of a batch, noise where it leaves the image.

The two operations differ in what offsets count from. ExtractGlimpse (first) takes them for the
middle of the window; ExtractGlimpseV2 for its corner, unless they are centered and normalized.
Host only.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core.effects import drawn
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.string_arrays import HOST, as_text
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
NOISES = ("uniform", "gaussian", "zero")


def _shape(c: ShapeContext) -> Dims:
    images = c.rank(0, 4, "input") or (None,) * 4
    size = c.rank(1, 1, "size") or (None,)
    offsets = c.rank(2, 2, "offsets") or (None, None)
    if size[0] not in (None, 2):
        c.fail("a size of two numbers, height and width", f"{size[0]} numbers")
    if offsets[1] not in (None, 2):
        c.fail("offsets of two columns, y and x", f"{offsets[1]} columns")
    if None not in (images[0], offsets[0]) and images[0] != offsets[0]:
        c.fail(f"a row of offsets for each of {images[0]} images", f"{offsets[0]} rows")
    batch = images[0] if images[0] is not None else offsets[0]
    known = c.constant(1)
    if known is None:
        return batch, None, None, images[3]
    if min(known) < 0:
        c.fail("a size that is not negative", f"{[int(n) for n in known]}")
    return batch, int(known[0]), int(known[1]), images[3]


def _define(name: str) -> OpDef:
    return define_op(
        f"{name}(input: float, size: int32, offsets: float; centered: bool = True, normalized: "
        "bool = True, uniform_noise: bool = True, noise: string = 'uniform') -> glimpse: float",
        shape=_shape,
        doc="A window of each image, noise where it leaves the image.",
    ).without_gradient("TensorFlow has none")


GLIMPSE = _define("ExtractGlimpse")
GLIMPSE_V2 = _define("ExtractGlimpseV2")


def _corners(offsets: Array, size: Array, window: Array, first: bool, attrs: Any) -> Array:
    """The first row and column of each window: int64[batch, 2]; far outside for NaN."""
    centered, normalized = attrs
    half_image, half_window = size / np.float32(2), window / np.float32(2)
    at = offsets * size if normalized else offsets
    if centered:
        halved = first or normalized
        at = (at / np.float32(2) if halved else at) + half_image
    if first or (centered and normalized):
        at = at - half_window
    outside = np.maximum(size, window) + 1
    at = np.minimum(np.maximum(at, -outside), outside)
    return np.where(at != at, outside, at).astype(np.int64)


def _noise(image: Array, window: Array, kind: str, source: np.random.Generator) -> Array:
    """What fills a window: float32[height, width, channels]."""
    dims = (*window, image.shape[2])
    if not image.size:
        return np.zeros(dims, np.float32)
    if kind == "uniform":
        low, high = image.min(), image.max()
        return low + (high - low) * source.random(dims, np.float32)
    plane = (0, 1)
    found = image.mean(plane) + image.std(plane) * source.standard_normal(dims, np.float32)
    return np.clip(found, image.min(plane), image.max(plane))


def _kind(noise: Any, uniform_noise: bool) -> str:
    kind = as_text(noise)
    if uniform_noise and kind != "uniform":
        raise errors.InvalidArgumentError(
            None,
            None,
            "The uniform_noise and noise could not be specified at the same time: expected noise "
            f"'uniform' with uniform_noise=True, got {kind!r}. Give uniform_noise=False.",
        )
    if kind not in NOISES:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"The noise could only be uniform, gaussian, or zero, got {kind!r}. Give one of them.",
        )
    return kind


def _glimpses(images: Array, size: Array, corners: Array, kind: str) -> Array:
    result = np.zeros((len(images), *size, images.shape[3]), np.float32)
    if kind != "zero":
        seed = drawn("noise of glimpses", lambda: np.random.SeedSequence().entropy)
        source = np.random.default_rng(seed)
        for image, found in zip(images, result, strict=True):
            found[:] = _noise(image, size, kind, source)
    (height, width), (tall, broad) = size.tolist(), images.shape[1:3]
    for image, (y, x), found in zip(images, corners.tolist(), result, strict=True):
        top, left = max(y, 0), max(x, 0)
        bottom, right = min(y + height, tall), min(x + width, broad)
        if bottom > top and right > left:
            found[top - y : bottom - y, left - x : right - x] = image[top:bottom, left:right]
    return result


def _register(op: OpDef, first: bool) -> None:
    @host_kernel(op, limit=HOST)
    def extract(
        images: Array,
        size: Array,
        offsets: Array,
        *,
        centered: bool,
        normalized: bool,
        uniform_noise: bool,
        noise: Any,
    ) -> Array:
        kind = _kind(noise, uniform_noise)
        sizes, window = np.array(images.shape[1:3], np.float32), size.astype(np.float32)
        corners = _corners(offsets, sizes, window, first, (centered, normalized))
        return _glimpses(images, size, corners, kind)


_register(GLIMPSE, True)
_register(GLIMPSE_V2, False)


def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Any:
    """A window of one size from each image, noise where it leaves the image.

    Args:
      input: float32[batch, height, width, channels].
      size: int32[2], height and width of the windows.
      offsets: float32[batch, 2], rows of y, x: where the windows lie. Centered and normalized, they
        are the middles of the windows, (-1, -1) the upper left corner of the image and (1, 1) the
        lower right one; else the windows' first pixels, in parts of the image when `normalized`,
        counted from the middle of the image when `centered`.
      centered: whether offsets count from the middle of the image.
      normalized: whether offsets are parts of the image, not pixels.
      noise: "uniform", between the smallest and the largest number of the image; "gaussian", with
        mean and standard deviation of each channel, kept in its range; or "zero".
      name: the name in a graph.

    Returns:
      float32[batch, size[0], size[1], channels].

    Raises:
      InvalidArgumentError: shapes do not fit, or there is no such noise.

    Example:
      >>> image = [[[[1.0], [2.0]], [[3.0], [4.0]]]]
      >>> extract_glimpse(image, [1, 2], [[1.0, 0.0]], noise="zero").numpy().tolist()
      [[[[3.0], [4.0]]]]
    """
    attrs = {
        "centered": centered,
        "normalized": normalized,
        "uniform_noise": False,
        "noise": noise,
    }
    return execute(GLIMPSE_V2, (input, size, offsets), attrs, name)


def extract_glimpse_v1(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Any:
    """`extract_glimpse` as it was first.

    Offsets are the middles of windows whatever `centered` and `normalized` say; centered ones count
    half. Noise is uniform also with `uniform_noise` False, as in TensorFlow; for another one use
    `tf.image.extract_glimpse` or `tf.raw_ops.ExtractGlimpse(noise=...)`.

    Args:
      input: float32[batch, height, width, channels].
      size: int32[2], height and width of the windows.
      offsets: float32[batch, 2], rows of y, x.
      centered: whether offsets count from the middle of the image.
      normalized: whether offsets are parts of the image, not pixels.
      uniform_noise: see above.
      name: the name in a graph.

    Returns:
      float32[batch, size[0], size[1], channels].

    Raises:
      InvalidArgumentError: shapes do not fit.
    """
    attrs = {"centered": centered, "normalized": normalized, "uniform_noise": uniform_noise}
    return execute(GLIMPSE, (input, size, offsets), attrs, name)
