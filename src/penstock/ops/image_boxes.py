"""Boxes drawn into images: draw_bounding_boxes."""

from typing import Any

import numpy as np

from penstock.core import native_images
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.string_arrays import HOST
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
_COLORS = np.array(
    [
        [1, 1, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1],
        [0.5, 0, 0, 1],
        [0, 0, 0.5, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ],
    np.float32,
)


def _shape(c: ShapeContext) -> Dims:
    images, boxes = c.rank(0, 4, "images"), c.rank(1, 3, "boxes")
    images, boxes = images or (None,) * 4, boxes or (None,) * 3
    if images[3] not in (None, 1, 3, 4):
        c.fail("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)", f"{images[3]}")
    if None not in (images[0], boxes[0]) and images[0] != boxes[0]:
        c.fail("The batch sizes should be the same", f"{images[0]} images and {boxes[0]} of boxes")
    if boxes[2] not in (None, 4):
        c.fail("boxes of four columns", f"{boxes[2]}")
    if len(c) > 2:
        colors = c.rank(2, 2, "colors") or (None, None)
        if None not in (colors[1], images[3]) and colors[0] and colors[1] < images[3]:  # type: ignore[operator]
            c.fail("colors must have equal or more channels than the image", f"{list(colors)}")
    return images


DRAW = define_op(
    "DrawBoundingBoxes(images: T, boxes: float; T: {float, half} = float) -> output: T",
    shape=_shape,
    doc="Images with boxes drawn into them.",
).not_differentiable("drawing covers what was there")
DRAW_V2 = define_op(
    "DrawBoundingBoxesV2(images: T, boxes: float, colors: float; T: {float, half} = float) -> "
    "output: T",
    shape=_shape,
    doc="Images with boxes drawn into them in given colors.",
).without_gradient("drawing covers what was there")


def _draw(image: Array, box: Array, color: Array) -> None:
    """Draws the edges of one box, as far as they lie in the image."""
    height, width = image.shape[:2]
    if not np.isfinite(box).all():
        return
    low_y, low_x, high_y, high_x = (
        int(part * (size - 1)) for part, size in zip(box, (height, width) * 2, strict=True)
    )
    if low_y > high_y or low_x > high_x:
        return
    if low_y >= height or high_y < 0 or low_x >= width or high_x < 0:
        return
    rows = slice(max(low_y, 0), min(high_y, height - 1) + 1)
    columns = slice(max(low_x, 0), min(high_x, width - 1) + 1)
    for y in (low_y, high_y):
        if 0 <= y < height:
            image[y, columns] = color
    for x in (low_x, high_x):
        if 0 <= x < width:
            image[rows, x] = color


def _drawn(images: Array, boxes: Array, colors: Array) -> Array:
    result = images.copy("C")
    depth = images.shape[3]
    table = colors[:, :depth].astype(images.dtype, copy=False)
    if native_images.draw(result, boxes, table):
        return result
    for image, row in zip(result, boxes, strict=True):
        for number, box in enumerate(row):
            _draw(image, box, table[number % len(table)])
    return result


def _default_colors(depth: int) -> Array:
    """The colors of boxes when none are given; white in gray images."""
    return np.ones((1, 1), np.float32) if depth == 1 else _COLORS


@host_kernel(DRAW, limit=HOST)
def _draw_kernel(images: Array, boxes: Array) -> Array:
    return _drawn(images, boxes, _default_colors(images.shape[3]))


@host_kernel(DRAW_V2, limit=HOST)
def _draw_v2_kernel(images: Array, boxes: Array, colors: Array) -> Array:
    given = colors if colors.shape[0] else _default_colors(images.shape[3])
    return _drawn(images, boxes, given)


def draw_bounding_boxes(images: Any, boxes: Any, colors: Any, name: str | None = None) -> Any:
    """Images with boxes drawn into them.

    Args:
      images: float32 or float16[batch, height, width, channels], 1, 3 or 4 channels.
      boxes: float32[batch, boxes, 4], rows of y1, x1, y2, x2 in parts of the image.
      colors: float32[colors, channels], taken in turn; None for ten colors of its own.
      name: the name in a graph.

    Returns:
      Tensor of the dtype and shape of `images`.

    Raises:
      InvalidArgumentError: shapes do not fit.
    """
    tensor = convert_to_tensor(images, preferred_dtype=dt.float32)
    if colors is None:
        return execute(DRAW, (tensor, boxes), None, name)
    return execute(DRAW_V2, (tensor, boxes, colors), None, name)


def draw_bounding_boxes_v1(
    images: Any, boxes: Any, name: str | None = None, colors: Any = None
) -> Any:
    """`draw_bounding_boxes` with the order of its older arguments."""
    return draw_bounding_boxes(images, boxes, colors, name)
