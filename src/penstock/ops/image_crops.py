"""Boxes cut out of images and resized to one size: crop_and_resize and its derivatives.

Boxes are rows of y1, x1, y2, x2 in parts of the image, 0 its first and 1 its last pixel; they may
be flipped and may leave the image.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_images
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.string_arrays import as_text
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any
_TYPES = "{uint8, uint16, int8, int16, int32, int64, half, float, double}"


def _boxes(c: ShapeContext, boxes: int, index: int) -> Any:
    """How many boxes there are."""
    dims = c.rank(boxes, 2, "boxes") or (None, None)
    numbers = c.rank(index, 1, "box_index") or (None,)
    if dims[1] not in (None, 4):
        known = c.says("boxes must have 4 columns", f"Dimension must be 4 but is {dims[1]}")
        c.fail("boxes of four columns", f"{dims[1]} columns: {known}")
    if None not in (dims[0], numbers[0]) and dims[0] != numbers[0]:
        c.fail(f"a box_index for each of {dims[0]} boxes", f"{numbers[0]}")
    return dims[0] if dims[0] is not None else numbers[0]


def _crops_shape(c: ShapeContext) -> Dims:
    image = c.rank(0, 4, "image") or (None,) * 4
    count = _boxes(c, 1, 2)
    size = c.rank(3, 1, "crop_size") or (None,)
    if size[0] not in (None, 2):
        c.fail("a crop_size of two numbers", f"{size[0]} numbers")
    if 0 in image[1:3]:
        c.fail("an image with pixels", f"shape {list(image)}")
    known = c.constant(3)
    if known is None:
        return count, None, None, image[3]
    if min(known) <= 0:
        c.fail("crop dimensions that are positive", f"{list(known)}")
    return count, int(known[0]), int(known[1]), image[3]


CROP = define_op(
    f"CropAndResize(image: T, boxes: float, box_ind: int32, crop_size: int32; T: {_TYPES}, method: "
    "{'bilinear', 'nearest'} = 'bilinear', extrapolation_value: float = 0.0) -> crops: float",
    shape=_crops_shape,
    host_inputs=("crop_size",),
    fallible=True,
    doc="Boxes cut out of images and resized to one size.",
)


def _check(ctx: Any, xp: Any, boxes: Array, box_ind: Array, batch: int) -> None:
    inside = (box_ind >= 0) & (box_ind < batch)
    ctx.check(
        xp.all(inside),
        errors.OutOfRangeError,
        lambda found: (
            f"box_index has values outside [0, batch_size): got {np.asarray(found)} with"
            f" {batch} images. Each box names its image."
        ),
        box_ind,
    )
    ctx.check(
        xp.all(xp.isfinite(boxes)),
        errors.InvalidArgumentError,
        lambda found: (
            f"Boxes contains at least one element that is not finite: {found}. Leave such"
            " boxes out."
        ),
        boxes,
    )


def _places(xp: Any, low: Array, high: Array, count: int, size: int) -> Array:
    """Where the pixels of crops lie in the image along one axis, [boxes, count]."""
    last = np.float32(size - 1)
    if count == 1:
        return (np.float32(0.5) * (low + high) * last)[:, None]
    step = (high - low) * last / np.float32(count - 1)
    return (low * last)[:, None] + np.arange(count, dtype=np.float32) * step[:, None]


class _Taps:
    """The pixels around each pixel of the crops along one axis, and how far it is past the first.

    `low` and `high`: int[boxes, count]; `part`: float, the weight of `high`; `inside`: bool.
    """

    def __init__(self, xp: Any, at: Array, size: int, nearest: bool) -> None:
        self.inside = (at >= 0) & (at <= size - 1)
        kept = xp.clip(at, 0, size - 1)
        if nearest:
            low = high = xp.floor(kept + np.float32(0.5))
            part = xp.zeros_like(kept)
        else:
            low, high = xp.floor(kept), xp.ceil(kept)
            part = kept - low
        self.low, self.high = low.astype(np.int32), high.astype(np.int32)
        self.part = part


def _taps(
    xp: Any, boxes: Array, counts: Any, sizes: Any, nearest: bool
) -> tuple[_Taps, _Taps, Array]:
    rows = _Taps(xp, _places(xp, boxes[:, 0], boxes[:, 2], counts[0], sizes[0]), sizes[0], nearest)
    columns = _Taps(
        xp, _places(xp, boxes[:, 1], boxes[:, 3], counts[1], sizes[1]), sizes[1], nearest
    )
    inside = rows.inside[:, :, None] & columns.inside[:, None, :]
    return rows, columns, inside[..., None]


def _corners(xp: Any, image: Array, box_ind: Array, rows: _Taps, columns: _Taps) -> list[Array]:
    """The four pixels around: top left, top right, bottom left, bottom right; as float32."""
    batch = box_ind[:, None, None]
    image = xp.asarray(image)  # in a trace it may be known, where the boxes are not
    return [
        image[batch, y[:, :, None], x[:, None, :]].astype(np.float32)
        for y in (rows.low, rows.high)
        for x in (columns.low, columns.high)
    ]


@kernel(CROP)
def _crop_and_resize(
    ctx: Any,
    xp: Any,
    image: Array,
    boxes: Array,
    box_ind: Array,
    crop_size: Array,
    *,
    method: Any,
    extrapolation_value: float,
) -> Array:
    counts = int(crop_size[0]), int(crop_size[1])
    _check(ctx, xp, boxes, box_ind, image.shape[0])
    if not boxes.shape[0] or not image.shape[0]:
        return xp.zeros((boxes.shape[0], *counts, image.shape[3]), np.float32)
    nearest = as_text(method) == "nearest"
    rows, columns, inside = _taps(xp, boxes, counts, image.shape[1:3], nearest)
    index = xp.clip(box_ind, 0, image.shape[0] - 1)
    a, b, c, d = _corners(xp, image, index, rows, columns)
    right, down = columns.part[:, None, :, None], rows.part[:, :, None, None]
    top, bottom = a + (b - a) * right, c + (d - c) * right
    return xp.where(inside, top + (bottom - top) * down, np.float32(extrapolation_value))


@host_kernel(CROP, **native_images.ON_CPU)
def _crop_natively(
    ctx: Any,
    image: Array,
    boxes: Array,
    box_ind: Array,
    crop_size: Array,
    *,
    method: Any,
    extrapolation_value: float,
) -> Array:
    if boxes.size and image.size:
        size, nearest = (int(crop_size[0]), int(crop_size[1])), as_text(method) == "nearest"
        found = native_images.crop(image, boxes, box_ind, size, nearest, extrapolation_value)
        if found is not None:
            return found
    attrs = {"method": method, "extrapolation_value": extrapolation_value}
    return _crop_and_resize(ctx, np, image, boxes, box_ind, crop_size, **attrs)


def _one_for_each(c: ShapeContext, boxes: int | None) -> None:
    """Refuses gradients of another number of crops than there are boxes."""
    dims = c.rank(0, 4, "grads")
    if dims is not None and boxes is not None and dims[0] not in (None, boxes):
        c.fail(f"grads of {boxes} crops, one for each box", f"shape {d.text(dims)}")


def _image_grad_shape(c: ShapeContext) -> Dims:
    _one_for_each(c, _boxes(c, 1, 2))
    size = c.rank(3, 1, "image_size") or (None,)
    if size[0] not in (None, 4):
        c.fail("an image_size of four numbers", f"{size[0]} numbers")
    return c.merge(c.shape_value(3), (None,) * 4)


IMAGE_GRAD = define_op(
    "CropAndResizeGradImage(grads: float, boxes: float, box_ind: int32, image_size: int32; T: "
    "{float, half, double}, method: {'bilinear', 'nearest'} = 'bilinear') -> output: T",
    shape=_image_grad_shape,
    host_inputs=("image_size",),
    fallible=True,
    doc="What flows back through CropAndResize to the images.",
)


@kernel(IMAGE_GRAD)
def _image_grad(
    ctx: Any,
    xp: Any,
    grads: Array,
    boxes: Array,
    box_ind: Array,
    image_size: Array,
    *,
    T: Any,
    method: Any,
) -> Array:
    size = tuple(int(n) for n in image_size)
    _check(ctx, xp, boxes, box_ind, size[0])
    if 0 in size or not boxes.shape[0]:
        return xp.zeros(size, T.numpy_dtype)
    nearest = as_text(method) == "nearest"
    rows, columns, inside = _taps(xp, boxes, grads.shape[1:3], size[1:3], nearest)
    batch = xp.clip(box_ind, 0, size[0] - 1)[:, None, None]
    kept = xp.where(inside, grads, np.float32(0))
    total = xp.zeros(size, np.float32)
    for y, down in ((rows.low, 1 - rows.part), (rows.high, rows.part)):
        for x, right in ((columns.low, 1 - columns.part), (columns.high, columns.part)):
            part = kept * down[:, :, None, None] * right[:, None, :, None]
            places = (batch, y[:, :, None], x[:, None, :])
            if xp is np:
                np.add.at(total, places, part)
            else:
                total = total.at[places].add(part)
    return total.astype(T.numpy_dtype)


@host_kernel(IMAGE_GRAD, **native_images.ON_CPU)
def _image_grad_natively(
    ctx: Any,
    grads: Array,
    boxes: Array,
    box_ind: Array,
    image_size: Array,
    *,
    T: Any,
    method: Any,
) -> Array:
    size = tuple(image_size.tolist())
    if boxes.size and 0 not in size:
        nearest = as_text(method) == "nearest"
        found = native_images.crop_to_images(grads, boxes, box_ind, size, nearest)
        if found is not None:
            return found.astype(T.numpy_dtype, copy=False)
    return _image_grad(ctx, np, grads, boxes, box_ind, image_size, T=T, method=method)


def _box_grad_shape(c: ShapeContext) -> Dims:
    grads, image, boxes = c.rank(0, 4, "grads"), c.rank(1, 4, "image"), _boxes(c, 2, 3)
    _one_for_each(c, boxes)
    if grads is not None and image is not None and not d.compatible(grads[3:], image[3:]):
        c.fail(f"an image of {grads[3]} channels, as grads", f"shape {d.text(image)}")
    return boxes, 4


BOX_GRAD = define_op(
    "CropAndResizeGradBoxes(grads: float, image: T, boxes: float, box_ind: int32; T: "
    f"{_TYPES}, method: {{'bilinear'}} = 'bilinear') -> output: float",
    shape=_box_grad_shape,
    fallible=True,
    doc="What flows back through CropAndResize to the boxes.",
).without_gradient("a derivative of second order that TensorFlow does not have either")


def _ends(count: int, size: int) -> tuple[Array, Array]:
    """How much each pixel of a crop moves with the first and with the last edge of its box."""
    last = np.float32(size - 1)
    if count == 1:
        return np.full(1, last / 2, np.float32), np.full(1, last / 2, np.float32)
    second = np.arange(count, dtype=np.float32) * (last / np.float32(count - 1))
    return last - second, second


@kernel(BOX_GRAD)
def _box_grad(
    ctx: Any, xp: Any, grads: Array, image: Array, boxes: Array, box_ind: Array, *, method: Any
) -> Array:
    _check(ctx, xp, boxes, box_ind, image.shape[0])
    if not boxes.shape[0] or not image.shape[0]:
        return xp.zeros((boxes.shape[0], 4), np.float32)
    counts, sizes = grads.shape[1:3], image.shape[1:3]
    rows, columns, inside = _taps(xp, boxes, counts, sizes, False)
    index = xp.clip(box_ind, 0, image.shape[0] - 1)
    a, b, c, d = _corners(xp, image, index, rows, columns)
    right, down = columns.part[:, None, :, None], rows.part[:, :, None, None]
    kept = xp.where(inside, grads, np.float32(0))
    along_y = xp.sum(kept * ((c - a) * (1 - right) + (d - b) * right), axis=(2, 3))
    along_x = xp.sum(kept * ((b - a) * (1 - down) + (d - c) * down), axis=(1, 3))
    y1, y2 = _ends(counts[0], sizes[0])
    x1, x2 = _ends(counts[1], sizes[1])
    edges = ((along_y, y1), (along_x, x1), (along_y, y2), (along_x, x2))
    return xp.stack([xp.sum(along * weight, axis=1) for along, weight in edges], axis=1)


@host_kernel(BOX_GRAD, **native_images.ON_CPU)
def _box_grad_natively(
    ctx: Any, grads: Array, image: Array, boxes: Array, box_ind: Array, *, method: Any
) -> Array:
    if boxes.size and image.size:
        found = native_images.crop_to_boxes(grads, image, boxes, box_ind)
        if found is not None:
            return found
    return _box_grad(ctx, np, grads, image, boxes, box_ind, method=method)


@CROP.gradient
def _crop_gradient(op: Any, grad: Any) -> Any:
    image, boxes, box_ind, _ = op.inputs
    to_image = None
    if image.dtype in (dt.float16, dt.float32, dt.float64):
        attrs = {"T": image.dtype, "method": op.get_attr("method")}
        to_image = execute(IMAGE_GRAD, (grad, boxes, box_ind, shape_of(image)), attrs)
    return [to_image, execute(BOX_GRAD, (grad, image, boxes, box_ind)), None, None]


@IMAGE_GRAD.gradient
def _image_grad_gradient(op: Any, grad: Any) -> Any:
    grads, boxes, box_ind, _ = op.inputs
    attrs = {"method": op.get_attr("method")}
    return [execute(CROP, (grad, boxes, box_ind, shape_of(grads)[1:3]), attrs), None, None, None]


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Any:
    """Boxes cut out of images and resized to one size.

    Args:
      image: a real tensor, [batch, height, width, channels].
      boxes: float32[boxes, 4], rows of y1, x1, y2, x2 in parts of the image, 0 its first and 1 its
        last pixel; with y1 > y2 or x1 > x2 the crop is flipped.
      box_indices: int32[boxes], the image of each box.
      crop_size: int32[2], height and width of the crops.
      method: 'bilinear' or 'nearest'.
      extrapolation_value: what crops hold outside of the image.
      name: the name in a graph.

    Returns:
      float32[boxes, crop_height, crop_width, channels].

    Raises:
      OutOfRangeError: a box names an image that is not there.
      InvalidArgumentError: shapes do not fit, or boxes are not finite.
    """
    attrs = {"method": method, "extrapolation_value": extrapolation_value}
    inputs = (convert_to_tensor(image), boxes, box_indices, crop_size)
    return execute(CROP, inputs, attrs, name)


def crop_and_resize_v1(
    image: Any,
    boxes: Any,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Any:
    """`crop_and_resize` with its older argument `box_ind`.

    Raises:
      ValueError: both `box_ind` and `box_indices` are given.
    """
    if box_ind is not None and box_indices is not None:
        raise ValueError(
            "crop_and_resize: expected one of box_ind and box_indices, got both. Give box_indices."
        )
    index = box_indices if box_indices is not None else box_ind
    return crop_and_resize(image, boxes, index, crop_size, method, extrapolation_value, name)
