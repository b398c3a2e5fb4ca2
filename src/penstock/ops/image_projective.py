"""Images seen through projective transforms: shifted, turned, sheared, in perspective.

Row `k` of `transforms` holds eight numbers `a0 a1 a2 b0 b1 b2 c0 c1`; the pixel at (x, y) of the
result is that of the image at `((a0 x + a1 y + a2) / d, (b0 x + b1 y + b2) / d)` with
`d = c0 x + c1 y + 1`.
"""

from typing import Any

import numpy as np

from penstock.core import native_images
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.array_basics import reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_join import concat
from penstock.ops.math_division import divide
from penstock.ops.string_arrays import as_text
from penstock.types.dims import Dims

Array = Any
_TYPES = "{uint8, int32, int64, half, bfloat16, float, double}"
_MODES = native_images.MODES
_INTERPOLATIONS = ("NEAREST", "BILINEAR")


def _shape(c: ShapeContext) -> Dims:
    images = c.rank(0, 4, "images") or (None,) * 4
    transforms = c.rank(1, 2, "transforms") or (None, None)
    if transforms[1] not in (None, 8) or (
        None not in (images[0], transforms[0]) and transforms[0] not in (1, images[0])
    ):
        c.fail(f"transforms of shape [1, 8] or [{images[0]}, 8]", f"{list(transforms)}")
    size = c.rank(2, 1, "output_shape")
    if size is not None and size[0] not in (None, 2):
        c.fail("an output_shape of two numbers", f"{size[0]} numbers")
    known = c.constant(2)
    if known is not None and min(known) <= 0:
        c.fail("an output_shape whose dimensions are positive", f"{list(known)}")
    if len(c) > 3:
        c.rank(3, 0, "fill_value")
    for name, allowed in (("interpolation", _INTERPOLATIONS), ("fill_mode", _MODES)):
        if as_text(c.attr(name)) not in allowed:
            c.fail(f"{name} to be one of {allowed}", f"{as_text(c.attr(name))!r}")
    height, width = (None, None) if known is None else (int(n) for n in known)
    return images[0], height, width, images[3]


V2 = define_op(
    f"ImageProjectiveTransformV2(images: dtype, transforms: float, output_shape: int32; dtype: "
    f"{_TYPES}, interpolation: string, fill_mode: string = 'CONSTANT') -> transformed_images: "
    "dtype",
    shape=_shape,
    host_inputs=("output_shape",),
    doc="Images seen through projective transforms, zero where they do not reach.",
)
V3 = define_op(
    f"ImageProjectiveTransformV3(images: dtype, transforms: float, output_shape: int32, fill_value:"
    f" float; dtype: {_TYPES}, interpolation: string, fill_mode: string = 'CONSTANT') -> "
    "transformed_images: dtype",
    shape=_shape,
    host_inputs=("output_shape",),
    doc="Images seen through projective transforms, `fill_value` where they do not reach.",
)


def _reflected(xp: Any, at: Array, size: int) -> Array:
    """Coordinates folded back at the outer edges of the first and the last pixel."""
    period = np.float32(2 * size)
    low = xp.where(at < period, at + period * xp.trunc(-at / period), at)
    low = xp.where(low < -size, low + period, -low - 1)
    high = at - period * xp.trunc(at / period)
    high = xp.where(high >= size, period - high - 1, high)
    return xp.where(at < 0, low, xp.where(at > size - 1, high, at))


def _wrapped(xp: Any, at: Array, size: int) -> Array:
    """Coordinates of an image that repeats."""
    if size == 1:
        return xp.zeros_like(at)
    last = np.float32(size - 1)
    low = at + np.float32(size) * (xp.trunc(-at / last) + 1)
    high = at - np.float32(size) * xp.trunc(at / last)
    return xp.where(at < 0, low, xp.where(at > last, high, at))


def _mapped(xp: Any, at: Array, size: int, mode: str) -> Array:
    """Coordinates brought into the image as the mode says; CONSTANT leaves them outside."""
    if mode == "CONSTANT":
        return xp.clip(xp.where(xp.isnan(at), np.float32(-2), at), -2, size + 1)
    moved = {"REFLECT": _reflected, "WRAP": _wrapped}.get(mode, lambda _, a, __: a)(xp, at, size)
    return xp.clip(xp.where(xp.isnan(moved), np.float32(0), moved), 0, size - 1)


def _rounded(xp: Any, at: Array) -> Array:
    """To the nearest integer, halves away from zero."""
    return xp.trunc(at + xp.where(at < 0, np.float32(-0.5), np.float32(0.5)))


def _read(xp: Any, images: Array, y: Array, x: Array, fill: Array) -> Array:
    """Pixels at integer places, [batch, rows, columns, channels]; `fill` outside."""
    height, width = images.shape[1:3]
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    rows = xp.clip(y, 0, height - 1).astype(np.int32)
    columns = xp.clip(x, 0, width - 1).astype(np.int32)
    batch = np.arange(images.shape[0])[:, None, None]
    return xp.where(inside[..., None], images[batch, rows, columns], fill)


def _transformed(
    xp: Any, images: Array, transforms: Array, size: Array, fill: Array, smooth: bool, mode: str
) -> Array:
    shape = (images.shape[0], int(size[0]), int(size[1]), images.shape[3])
    if 0 in images.shape:
        return xp.full(shape, fill).astype(images.dtype)
    images = xp.asarray(images)  # in a trace they may be known, where their pixels' places are not
    y, x = np.mgrid[0 : shape[1], 0 : shape[2]].astype(np.float32)
    t = [transforms[:, i, None, None] for i in range(8)]
    depth = t[6] * x + t[7] * y + np.float32(1)
    found_x = _mapped(xp, (t[0] * x + t[1] * y + t[2]) / depth, images.shape[2], mode)
    found_y = _mapped(xp, (t[3] * x + t[4] * y + t[5]) / depth, images.shape[1], mode)
    depth, found_x, found_y = (xp.broadcast_to(v, shape[:3]) for v in (depth, found_x, found_y))
    if smooth:
        if images.dtype.kind in "iu":
            images = images.astype(np.float32)
        top, left = xp.floor(found_y), xp.floor(found_x)
        down, right = (found_y - top)[..., None], (found_x - left)[..., None]

        def row(at: Array) -> Array:
            first = _read(xp, images, at, left, fill)
            second = _read(xp, images, at, left + 1, fill)
            return (1 - right) * first + right * second

        result = (1 - down) * row(top) + down * row(top + 1)
    else:
        result = _read(xp, images, _rounded(xp, found_y), _rounded(xp, found_x), fill)
    return xp.where(depth[..., None] == 0, fill, result).astype(images.dtype)


@kernel(V2)
def _transform_v2(
    xp: Any,
    images: Array,
    transforms: Array,
    output_shape: Array,
    *,
    interpolation: Any,
    fill_mode: Any,
) -> Array:
    fill = xp.zeros((), images.dtype)
    smooth = as_text(interpolation) == "BILINEAR"
    return _transformed(xp, images, transforms, output_shape, fill, smooth, as_text(fill_mode))


@kernel(V3)
def _transform_v3(
    xp: Any,
    images: Array,
    transforms: Array,
    output_shape: Array,
    fill_value: Array,
    *,
    interpolation: Any,
    fill_mode: Any,
) -> Array:
    fill = xp.asarray(fill_value).astype(images.dtype)
    smooth = as_text(interpolation) == "BILINEAR"
    return _transformed(xp, images, transforms, output_shape, fill, smooth, as_text(fill_mode))


def _seen(
    images: Array, transforms: Array, size: Array, fill: Array, smooth: bool, mode: str
) -> Array:
    """The same natively."""
    if images.size and size.all():
        fitting = int(size[0]), int(size[1])
        found = native_images.transform(images, transforms, fitting, fill, smooth, mode)
        if found is not None:
            return found
    return _transformed(np, images, transforms, size, fill, smooth, mode)


@host_kernel(V2, **native_images.ON_CPU)
def _transform_v2_natively(
    images: Array,
    transforms: Array,
    output_shape: Array,
    *,
    interpolation: Any,
    fill_mode: Any,
) -> Array:
    fill = np.zeros((), images.dtype)
    smooth = as_text(interpolation) == "BILINEAR"
    return _seen(images, transforms, output_shape, fill, smooth, as_text(fill_mode))


@host_kernel(V3, **native_images.ON_CPU)
def _transform_v3_natively(
    images: Array,
    transforms: Array,
    output_shape: Array,
    fill_value: Array,
    *,
    interpolation: Any,
    fill_mode: Any,
) -> Array:
    fill = fill_value.astype(images.dtype)
    smooth = as_text(interpolation) == "BILINEAR"
    return _seen(images, transforms, output_shape, fill, smooth, as_text(fill_mode))


def _inverse(transforms: Any) -> Any:
    """The transforms that lead back, float[k, 8]."""
    count = shape_of(transforms)[0]
    ones = execute("Fill", (execute("Pack", ([count, 1],), {"axis": 0}), np.float32(1)))
    matrices = reshape(concat([transforms, ones], 1), [-1, 3, 3])
    flat = reshape(execute("MatrixInverse", (matrices,)), [-1, 9])
    return divide(flat, flat[:, 8:])[:, :8]


def _back(op: Any, grad: Any) -> Any:
    """The gradient seen through the inverse transforms."""
    size = shape_of(op.inputs[0])[1:3]
    attrs = {n: op.get_attr(n) for n in ("interpolation", "fill_mode")}
    return execute(V3, (grad, _inverse(op.inputs[1]), size, np.float32(0)), attrs)


@V2.gradient
def _gradient_v2(op: Any, grad: Any) -> Any:
    return [_back(op, grad), None, None]


@V3.gradient
def _gradient_v3(op: Any, grad: Any) -> Any:
    return [_back(op, grad), None, None, None]
