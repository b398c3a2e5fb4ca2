"""Pooling and resizing of quantised images, [B, H, W, C]; the range stays as it is."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.kernels import kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.image_resize import bilinear
from penstock.ops.nn_pool import pooled
from penstock.ops.nn_pool_kernels import PoolWindow, lowest, pool_window
from penstock.ops.quant_host import padded, window_view
from penstock.ops.quant_levels import (
    Array,
    half_away,
    scalars,
    to_integers,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_REASON = "integers have no derivatives"
_KNOWN = 256  # windows of images that are kept
_NEIGHBOURS = (1, 1, 1, 1)  # no window skips any
_PLACES = (4, 5, 6, 7)  # the axes of what a window sees at once


def _taps(x: Array, window: PoolWindow, out: tuple[int, ...]) -> list[Array]:
    """For each place of the window what it sees in a padded tensor."""
    places = itertools.product(*map(range, window.sizes))
    return [
        x[
            tuple(
                slice(p, p + (n - 1) * s + 1, s)
                for p, n, s in zip(place, out, window.strides, strict=True)
            )
        ]
        for place in places
    ]


def _greatest(xp: Any, x: Array, window: PoolWindow) -> Array:
    if xp is np:
        return _seen(x, window, 0 if x.dtype.kind == "u" else -128).max(axis=_PLACES)
    fill = lowest(np.dtype(x.dtype))
    taps = _taps(xp.pad(x, window.pads, constant_values=fill), window, window.output(x.shape))
    result = taps[0]
    for tap in taps[1:]:
        result = xp.maximum(result, tap)
    return result


def _mean(xp: Any, x: Array, window: PoolWindow) -> Array:
    """The mean of what lies within the image, rounded to whole numbers."""
    if xp is np:
        sums: Any = _seen(x, window, 0).sum(axis=_PLACES, dtype=np.int32)
    else:
        wide = xp.pad(x.astype(np.int32), window.pads)
        sums = sum(_taps(wide, window, window.output(x.shape)))
    return xp.rint(sums / _counts(x.shape[1:], window)).astype(x.dtype)


def _seen(x: Array, window: PoolWindow, fill: int) -> Array:
    """What the window sees at each of its places of a padded tensor: [B, h, w, C, taps...]."""
    room = padded(x, window.pads, fill)
    return window_view(room, window.output(x.shape), window.sizes, window.strides, _NEIGHBOURS)


@functools.lru_cache(_KNOWN)
def _window(
    shape: tuple[int, ...], ksize: tuple[int, ...], strides: tuple[int, ...], padding: str
) -> PoolWindow:
    return pool_window(shape, ksize, strides, {"padding": padding})


@functools.lru_cache(_KNOWN)
def _counts(shape: tuple[int, ...], window: PoolWindow) -> Array:
    """How many numbers the window sees at each of its places in an image: float64[1, h, w, C]."""
    inside = np.ones((1, *shape), np.int32)
    alone = window._replace(pads=((0, 0), *window.pads[1:]))
    return _seen(inside, alone, 0).sum(axis=_PLACES).astype(np.float64)


def _pool_shape(c: ShapeContext) -> list[Dims]:
    scalars(c, (1, 2))
    attrs = {**c.attrs, "data_format": "NHWC"}
    images = ShapeContext(c.op_name, c.shapes, c.dtypes, attrs, c.constant, c.shape_value)
    return [pooled(images, c.shape(0), c.attr("ksize"), c.attr("strides")), (), ()]


def _define_pool(name: str, doc: str, pool: Callable[..., Array]) -> OpDef:
    op = define_op(
        f"{name}(input: T, min_input: float, max_input: float; T: quantizedtype, ksize: list(int),"
        " strides: list(int), padding: {'SAME', 'VALID'}) -> output: T, min_output: float, "
        "max_output: float",
        shape=_pool_shape,
        doc=doc,
    ).not_differentiable(_REASON)

    def run(
        ctx: Any, xp: Any, input: Array, min_input: Array, max_input: Array
    ) -> tuple[Array, Array, Array]:
        attrs = ctx.attrs
        sizes = tuple(attrs["ksize"]), tuple(attrs["strides"])
        window = _window(input.shape, *sizes, attrs["padding"])
        return pool(xp, input, window), min_input, max_input

    kernel(op, types={"T": ["quint8", "qint8"]})(run)
    return op


MAX_POOL = _define_pool("QuantizedMaxPool", "The largest number of each window.", _greatest)
AVG_POOL = _define_pool("QuantizedAvgPool", "The mean of each window.", _mean)


# ---- resizing


def _resize_shape(c: ShapeContext) -> list[Dims]:
    images = c.rank(0, 4, "images")
    size = c.rank(1, 1, "size")
    if size not in ((2,), (None,)):
        c.fail("a size of two numbers", f"{size[0] if size else None}", "Give height and width.")
    scalars(c, (2, 3))
    if c.attr("align_corners") and c.attr("half_pixel_centers"):
        c.fail("one of align_corners and half_pixel_centers", "both")
    new = c.shape_value(1) or (None, None)
    if any(n is not None and n <= 0 for n in new):
        c.fail("a positive height and width", f"{list(new)}")
    assert images is not None
    if 0 in images[1:3]:
        c.fail("images with pixels", f"{images[1]} x {images[2]}")
    return [(images[0], *new, images[3]), (), ()]


RESIZE = define_op(
    "QuantizedResizeBilinear(images: T, size: int32, min: float, max: float; T: {quint8, qint32, "
    "float}, align_corners: bool = False, half_pixel_centers: bool = False) -> resized_images: T, "
    "out_min: float, out_max: float",
    shape=_resize_shape,
    host_inputs=("size",),
    doc="Quantised images in another size, with linear weights of four pixels.",
).not_differentiable(_REASON)


@kernel(RESIZE)
def _resize(
    xp: Any,
    images: Array,
    size: Array,
    min: Array,
    max: Array,
    *,
    T: DType,
    align_corners: bool,
    half_pixel_centers: bool,
) -> tuple[Array, Array, Array]:
    flags = (align_corners, half_pixel_centers)
    if not T.is_quantized:
        return bilinear(xp, images, size, *flags, np.float32), min, max
    mixed = bilinear(xp, images.astype(np.float64), size, *flags, np.float64)
    return to_integers(xp, half_away(xp, mixed), T), min, max
