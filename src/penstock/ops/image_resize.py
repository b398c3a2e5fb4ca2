"""Resizing of images: every method is a matrix over rows times the image times one over columns.

The matrices follow from the sizes alone, so they are constants of a compiled step; derivatives are
products with their transposes. `image_resampling` says how they are applied. Nearest neighbours are
picked rather than multiplied.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_images
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel, kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.image_resampling import Matrix, Weights, resampled, weights
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray, jax.Array or a tracer
# A native pass of so many numbers is worth leaving a region for.
_ON_HOST: dict[str, Any] = {
    "device": "CPU",
    "alone_from": 1 << 17,
    "available": native_images.LIBRARY.is_in_use,
}


# ---- the matrices


def _sources(old: int, new: int, align_corners: bool, half_pixel: bool) -> tuple[Array, float]:
    """Where each new pixel lies in the old image, float32, and the old pixels a new one covers."""
    if align_corners and new > 1:
        scale = np.float32((old - 1) / np.float32(new - 1))
    else:
        scale = np.float32(old / np.float32(new))
    place = np.arange(new, dtype=np.float32)
    if half_pixel:
        return (place + np.float32(0.5)) * scale - np.float32(0.5), float(scale)
    return place * scale, float(scale)


@functools.lru_cache(maxsize=64)
def bilinear_matrix(old: int, new: int, align_corners: bool, half_pixel: bool) -> Matrix:
    """Weights of the two old pixels around each new one."""
    place, _ = _sources(old, new, align_corners, half_pixel)
    below = np.floor(place)
    share = place - below
    low = np.maximum(below.astype(np.int64), 0)
    high = np.minimum(np.ceil(place).astype(np.int64), old - 1)
    matrix = np.zeros((new, old), np.float32)
    rows = np.arange(new)
    np.add.at(matrix, (rows, np.minimum(low, old - 1)), 1 - share)
    np.add.at(matrix, (rows, np.maximum(high, 0)), share)
    return matrix


_TABLE = 1024  # places between two pixels that cubic weights are rounded to


def _cubic(t: Array, a: float) -> tuple[Array, Array, Array, Array]:
    """Weights of the pixels one before, at, one and two behind a place; Keys's kernel."""

    def near(x: Array) -> Array:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Array) -> Array:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return far(t + 1), near(t), near(1 - t), far(2 - t)


@functools.lru_cache(maxsize=64)
def bicubic_matrix(old: int, new: int, align_corners: bool, half_pixel: bool) -> Matrix:
    """Weights of the four old pixels around each new one."""
    place, _ = _sources(old, new, align_corners, half_pixel)
    below = np.floor(place).astype(np.int64)
    offset = np.rint((place - below.astype(np.float32)) * _TABLE) / _TABLE
    weights = np.stack(_cubic(offset, -0.5 if half_pixel else -0.75), axis=1)
    where = below[:, None] + np.arange(-1, 3)
    if half_pixel:
        # Pixels outside of the image have no weight, and the others share what is left.
        inside = (where >= 0) & (where < old)
        weights = np.where(inside, weights, 0)
        total = weights.sum(axis=1, keepdims=True)
        weights = np.where(
            np.abs(total) >= 1000 * np.finfo(np.float32).tiny, weights / total, weights
        )
    matrix = np.zeros((new, old), np.float32)
    rows = np.broadcast_to(np.arange(new)[:, None], where.shape)
    np.add.at(matrix, (rows, np.clip(where, 0, old - 1)), weights.astype(np.float32))
    return matrix


def bicubic_reach(old: int, new: int, align_corners: bool, half_pixel: bool) -> Array:
    """Which old pixels these are: where one is infinite, a weight of 0 does not leave it out."""
    place, _ = _sources(old, new, align_corners, half_pixel)
    where = np.floor(place).astype(np.int64)[:, None] + np.arange(-1, 3)
    reach = np.zeros((new, old), bool)
    np.put_along_axis(reach, np.clip(where, 0, old - 1), True, axis=1)
    return reach


@functools.lru_cache(maxsize=64)
def area_matrix(old: int, new: int, align_corners: bool) -> Matrix:
    """The share of each old pixel in the area that a new one covers."""
    _, scale = _sources(old, new, align_corners, False)
    if scale == 0:  # one old pixel for all
        return np.eye(1, old, dtype=np.float32).repeat(new, axis=0)
    start = np.arange(new, dtype=np.float32) * np.float32(scale)
    end = (np.arange(new, dtype=np.float32) + 1) * np.float32(scale)
    pixels = np.arange(math.ceil(float(end[-1])) if new else 0)
    overlap = np.minimum(end[:, None], pixels + 1) - np.maximum(start[:, None], pixels)
    matrix = np.zeros((new, old), np.float32)
    rows = np.broadcast_to(np.arange(new)[:, None], overlap.shape)
    places = np.broadcast_to(np.clip(pixels, 0, old - 1), overlap.shape)
    np.add.at(matrix, (rows, places), np.maximum(overlap, 0) / np.float32(scale))
    return matrix


def _lanczos(radius: float) -> Callable[[Array], Array]:
    def weigh(x: Array) -> Array:
        x = np.abs(x)
        safe = np.where(x <= 1e-3, 1.0, x)
        waves = np.sin(np.pi * safe) * np.sin(np.pi * safe / radius)
        found = radius * waves / (np.pi * np.pi * safe * safe)
        return np.where(x > radius, 0.0, np.where(x <= 1e-3, 1.0, found))

    return weigh


def _piecewise(near: tuple[float, ...], far: tuple[float, ...]) -> Callable[[Array], Array]:
    """A cubic polynomial up to 1, another up to 2."""

    def weigh(x: Array) -> Array:
        x = np.abs(x)
        return np.where(x >= 2, 0.0, np.where(x >= 1, np.polyval(far, x), np.polyval(near, x)))

    return weigh


def _box(x: Array) -> Array:
    x = np.abs(x)
    return np.where(x < 0.5, 1.0, np.where(x == 0.5, 0.5, 0.0))


KERNELS: dict[str, tuple[float, Callable[[Array], Array]]] = {
    "lanczos1": (1.0, _lanczos(1.0)),
    "lanczos3": (3.0, _lanczos(3.0)),
    "lanczos5": (5.0, _lanczos(5.0)),
    "gaussian": (
        1.5,
        lambda x: np.where(np.abs(x) >= 1.5, 0.0, np.exp(-(x * x) / (2 * 0.5 * 0.5))),
    ),
    "box": (1.0, _box),
    "triangle": (1.0, lambda x: np.maximum(0.0, 1 - np.abs(x))),
    "keyscubic": (2.0, _piecewise((1.5, -2.5, 0.0, 1.0), (-0.5, 2.5, -4.0, 2.0))),
    "mitchellcubic": (
        2.0,
        _piecewise((7 / 6, -2.0, 0.0, 8 / 9), (-7 / 18, 2.0, -10 / 3, 16 / 9)),
    ),
}


def _windows(
    old: int, new: int, scale: float, translation: float, kind: str, antialias: bool
) -> tuple[Array, float, Array]:
    """The place of each new pixel, how wide the kernel is there, and which old pixels it covers."""
    radius, _ = KERNELS[kind]
    inverse = 1.0 / np.float32(scale)
    wide: float = max(float(inverse), 1.0) if antialias else 1.0
    place = (np.arange(new, dtype=np.float32) + np.float32(0.5)) * np.float32(inverse) - np.float32(
        translation
    ) * np.float32(inverse)
    start = np.ceil(place - wide * radius - np.float32(0.5)).astype(np.int64)
    end = np.floor(place + wide * radius - np.float32(0.5)).astype(np.int64)
    start = np.clip(start, 0, max(old - 1, 0))
    end = np.clip(end, 0, max(old - 1, 0))
    pixels = np.arange(old)
    inside = (pixels >= start[:, None]) & (pixels <= end[:, None])
    inside &= ((place >= 0) & (place <= old))[:, None]
    return place, wide, inside


@functools.lru_cache(maxsize=64)
def kernel_matrix(
    old: int, new: int, scale: float, translation: float, kind: str, antialias: bool
) -> Matrix:
    """Weights by a kernel around the place of each new pixel, which sum to one."""
    place, wide, inside = _windows(old, new, scale, translation, kind, antialias)
    weigh, pixels = KERNELS[kind][1], np.arange(old)
    distance = (pixels + np.float32(0.5) - place[:, None]) / np.float32(wide)
    weights = np.where(inside, weigh(distance), 0.0).astype(np.float32)
    total = weights.sum(axis=1, keepdims=True)
    usable = np.abs(total) >= 1000 * np.finfo(np.float32).tiny
    return np.where(usable, weights / np.where(usable, total, 1), 0).astype(np.float32)


def kernel_reach(
    old: int, new: int, scale: float, translation: float, kind: str, antialias: bool
) -> Array:
    """Which old pixels count: as many for each new one, those of weight 0 among them."""
    _, wide, inside = _windows(old, new, scale, translation, kind, antialias)
    span = min(2 * math.ceil(KERNELS[kind][0] * wide) + 1, old)
    pixels, start = np.arange(old), inside.argmax(1)[:, None]
    return (pixels >= start) & (pixels < start + span) & inside.any(1)[:, None]


@functools.lru_cache(maxsize=64)
def nearest_pixels(old: int, new: int, align_corners: bool, half_pixel: bool) -> Array:
    """The old pixel that each new one takes."""
    if align_corners and new > 1:
        scale = np.float32((old - 1) / np.float32(new - 1))
    else:
        scale = np.float32(old / np.float32(new))
    place = np.arange(new, dtype=np.float32)
    place = (place + np.float32(0.5)) * scale if half_pixel else place * scale
    # Halves go away from zero, as the C function does it.
    whole = np.floor(place + np.float32(0.5)) if align_corners else np.floor(place)
    return np.clip(whole.astype(np.int64), 0, max(old - 1, 0))


# ---- operations

_IMAGES = "int8, uint8, int16, uint16, int32, int64"
_ALIGN = "align_corners: bool = False"
_HALF = f"{_ALIGN}, half_pixel_centers: bool = False"


def _one_flag(c: ShapeContext) -> None:
    if c.attrs.get("align_corners") and c.attrs.get("half_pixel_centers"):
        c.fail("half_pixel_centers without align_corners", "both", "Leave one of them out.")


def _resized_shape(c: ShapeContext) -> Dims:
    images = c.rank(0, 4) or (None,) * 4
    size = c.shape(1)
    if size is not None and not d.compatible(size, (2,)):
        c.fail("a size of 2 numbers", f"shape {d.text(size)}", "Give [height, width].")
    known = c.shape_value(1)
    height, width = known if known is not None else (None, None)
    if (height is not None and height <= 0) or (width is not None and width <= 0):
        c.fail_at_step(
            "output dimensions must be positive",
            f"{[height, width]}",
            "Give a size of at least 1.",
            (images[0], None, None, images[3]),
        )
    _one_flag(c)
    for label, n in (("height", images[1]), ("width", images[2])):
        if n == 0:
            c.fail("input image must be of non-zero size", f"a {label} of 0", "Leave it out.")
    return images[0], height, width, images[3]


def _sizes(size: Array) -> tuple[int, int]:
    return int(size[0]), int(size[1])


def _define_resize(
    name: str,
    types: str,
    attrs: str,
    matrix: Callable[..., Matrix],
    doc: str,
    reach: Callable[..., Array] | None = None,
) -> OpDef:
    op = define_op(
        f"{name}(images: T, size: int32; T: {{{types}}}, {attrs}) -> resized_images: float",
        shape=_resized_shape,
        host_inputs=("size",),
        doc=doc,
    )

    def run(xp: Any, images: Array, size: Array, *flags: bool) -> Array:
        height, width = _sizes(size)
        rows = weights(matrix, reach, False, images.shape[1], height, *flags)
        columns = weights(matrix, reach, False, images.shape[2], width, *flags)
        return resampled(xp, images, rows, columns, np.float32)

    if "half_pixel_centers" in attrs:

        @host_kernel(op, **_ON_HOST)
        @kernel(op)
        def with_centers(
            xp: Any, images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
        ) -> Array:
            return run(xp, images, size, align_corners, half_pixel_centers)

    else:

        @host_kernel(op, **_ON_HOST)
        @kernel(op)
        def without_centers(xp: Any, images: Array, size: Array, *, align_corners: bool) -> Array:
            return run(xp, images, size, align_corners)

    return op


def bilinear(
    xp: Any, images: Array, size: Array, align_corners: bool, half_pixel: bool, kind: Any
) -> Array:
    """Images resized by the two nearest pixels in each direction, in float32 or wider."""
    places = zip(images.shape[1:3], _sizes(size), strict=True)
    flags = (align_corners, half_pixel)
    rows, columns = (weights(bilinear_matrix, None, False, *place, *flags) for place in places)
    return resampled(xp, images, rows, columns, kind)


BILINEAR = _define_resize(
    "ResizeBilinear",
    f"{_IMAGES}, bfloat16, half, float, double, bfloat16",
    _HALF,
    bilinear_matrix,
    "Images resized by the two nearest pixels in each direction.",
)
BICUBIC = _define_resize(
    "ResizeBicubic",
    f"{_IMAGES}, half, float, double, bfloat16",
    _HALF,
    bicubic_matrix,
    "Images resized by the four nearest pixels in each direction.",
    bicubic_reach,
)
AREA = _define_resize(
    "ResizeArea",
    f"{_IMAGES}, half, float, double, bfloat16",
    _ALIGN,
    area_matrix,
    "Images resized by the mean of the pixels that a new one covers.",
).without_gradient("TensorFlow's has no derivative; resize with another method to train through")


def _original_shape(c: ShapeContext) -> Dims:
    grads, original = c.rank(0, 4) or (None,) * 4, c.rank(1, 4) or (None,) * 4
    _one_flag(c)
    return original[0] if original[0] is not None else grads[0], *original[1:]


def _define_gradient(
    name: str,
    types: str,
    matrix: Callable[..., Matrix],
    reach: Callable[..., Array] | None = None,
) -> OpDef:
    op = define_op(
        f"{name}(grads: float, original_image: T; T: {{{types}}}, {_HALF}) -> output: T",
        shape=_original_shape,
        doc=f"What flows back through {name.removesuffix('Grad')}.",
    )

    @host_kernel(op, **_ON_HOST)
    @kernel(op)
    def run(
        xp: Any,
        grads: Array,
        original_image: Array,
        *,
        align_corners: bool,
        half_pixel_centers: bool,
    ) -> Array:
        flags = (align_corners, half_pixel_centers)
        _, height, width, _ = original_image.shape
        rows = weights(matrix, reach, True, height, grads.shape[1], *flags)
        columns = weights(matrix, reach, True, width, grads.shape[2], *flags)
        return resampled(xp, grads, rows, columns, original_image.dtype)

    return op


BILINEAR_GRAD = _define_gradient(
    "ResizeBilinearGrad", "float, bfloat16, half, double", bilinear_matrix
)
BICUBIC_GRAD = _define_gradient("ResizeBicubicGrad", "float, double", bicubic_matrix, bicubic_reach)


def _flags(op: Any) -> dict[str, bool]:
    return {n: op.get_attr(n) for n in ("align_corners", "half_pixel_centers")}


def _resize_gradient(name: str, allowed: tuple[DType, ...]) -> Callable[..., Any]:
    def gradient(op: Any, grad: Any) -> list[Any]:
        image = op.inputs[0]
        if image.dtype not in allowed:
            return [None, None]
        return [execute(name, (grad, image), _flags(op)), None]

    return gradient


BILINEAR.gradient(
    _resize_gradient("ResizeBilinearGrad", (dt.float32, dt.float64, dt.float16, dt.bfloat16))
)
BICUBIC.gradient(_resize_gradient("ResizeBicubicGrad", (dt.float32, dt.float64)))


def _back(forward: str) -> Callable[..., Any]:
    """The derivative of a derivative: both are linear, so it resizes again."""

    def gradient(op: Any, grad: Any) -> list[Any]:
        size = execute("StridedSlice", _middle(op.inputs[0]), {"shrink_axis_mask": 0})
        found = execute(forward, (grad, size), _flags(op))
        return [found, None]

    return gradient


def _middle(images: Any) -> tuple[Any, Any, Any, Any]:
    shape = execute("Shape", (images,))
    return shape, np.array([1], np.int32), np.array([3], np.int32), np.array([1], np.int32)


BILINEAR_GRAD.gradient(_back("ResizeBilinear"))
BICUBIC_GRAD.gradient(_back("ResizeBicubic"))


NEAREST = define_op(
    f"ResizeNearestNeighbor(images: T, size: int32; T: {{{_IMAGES}, half, float, double, "
    f"bfloat16}}, {_HALF}) -> resized_images: T",
    shape=_resized_shape,
    host_inputs=("size",),
    doc="Images resized by the nearest pixel.",
)


@kernel(NEAREST)
def _nearest(
    xp: Any, images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    height, width = _sizes(size)
    flags = (align_corners, half_pixel_centers)
    rows = nearest_pixels(images.shape[1], height, *flags)
    columns = nearest_pixels(images.shape[2], width, *flags)
    return xp.take(xp.take(images, rows, axis=1), columns, axis=2)


NEAREST_GRAD = define_op(
    "ResizeNearestNeighborGrad(grads: T, size: int32; T: {uint8, int8, int32, half, float, double, "
    f"bfloat16}}, {_HALF}) -> output: T",
    shape=_resized_shape,
    host_inputs=("size",),
    doc="What flows back through ResizeNearestNeighbor.",
)


@kernel(NEAREST_GRAD)
def _nearest_grad(
    xp: Any, grads: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    height, width = _sizes(size)
    flags = (align_corners, half_pixel_centers)
    rows = weights(_picks, None, True, height, grads.shape[1], *flags)
    columns = weights(_picks, None, True, width, grads.shape[2], *flags)
    return resampled(xp, grads, rows, columns, grads.dtype)


def _picks(old: int, new: int, align_corners: bool, half_pixel: bool) -> Matrix:
    """Which old pixel each new one takes, as a matrix."""
    pixels = nearest_pixels(old, new, align_corners, half_pixel)
    return (pixels[:, None] == np.arange(old)).astype(np.float32)


@NEAREST.gradient
def _nearest_gradient(op: Any, grad: Any) -> list[Any]:
    size = execute("StridedSlice", _middle(op.inputs[0]))
    return [execute(NEAREST_GRAD, (grad, size), _flags(op)), None]


@NEAREST_GRAD.gradient
def _nearest_grad_gradient(op: Any, grad: Any) -> list[Any]:
    size = execute("StridedSlice", _middle(op.inputs[0]))
    return [execute(NEAREST, (grad, size), _flags(op)), None]


# ---- kernels of any width

_SCALED = "scale: float, translation: float"
_BY_KERNEL = "kernel_type: string = 'lanczos3', antialias: bool = True"
SCALE = define_op(
    f"ScaleAndTranslate(images: T, size: int32, {_SCALED}; T: {{{_IMAGES}, bfloat16, half, float, "
    f"double}}, {_BY_KERNEL}) -> resized_images: float",
    shape=_resized_shape,
    host_inputs=("size", "scale", "translation"),
    doc="Images scaled and moved, weighted by a kernel.",
)


def _kernel_name(kernel_type: Any) -> str:
    name = kernel_type.decode() if isinstance(kernel_type, bytes) else str(kernel_type)
    if name not in KERNELS:
        raise errors.InvalidArgumentError(
            None, None, f"Unrecognized kernel type: {name}. Expected one of {sorted(KERNELS)}."
        )
    return name


def _scaled(
    old: tuple[int, int],
    new: tuple[int, int],
    scale: Array,
    translation: Array,
    kernel_type: Any,
    antialias: bool,
    back: bool,
) -> list[Weights]:
    name = _kernel_name(kernel_type)
    if not (scale > 0).all():
        raise errors.InvalidArgumentError(
            None, None, f"scale must be greater than zero, got {scale.tolist()}."
        )
    places = zip(old, new, scale.tolist(), translation.tolist(), strict=True)
    return [weights(kernel_matrix, kernel_reach, back, *place, name, antialias) for place in places]


@host_kernel(SCALE, **_ON_HOST)
@kernel(SCALE)
def _scale(
    xp: Any,
    images: Array,
    size: Array,
    scale: Array,
    translation: Array,
    *,
    kernel_type: Any,
    antialias: bool,
) -> Array:
    old = images.shape[1:3]
    new = _sizes(size)
    rows, columns = _scaled(old, new, scale, translation, kernel_type, antialias, False)
    return resampled(xp, images, rows, columns, np.float32)


SCALE_GRAD = define_op(
    f"ScaleAndTranslateGrad(grads: T, original_image: T, {_SCALED}; T: {{float}}, {_BY_KERNEL}) -> "
    "output: T",
    shape=_original_shape,
    host_inputs=("scale", "translation"),
    doc="What flows back through ScaleAndTranslate.",
)


@host_kernel(SCALE_GRAD, **_ON_HOST)
@kernel(SCALE_GRAD)
def _scale_grad(
    xp: Any,
    grads: Array,
    original_image: Array,
    scale: Array,
    translation: Array,
    *,
    kernel_type: Any,
    antialias: bool,
) -> Array:
    old = original_image.shape[1:3]
    new = grads.shape[1:3]
    rows, columns = _scaled(old, new, scale, translation, kernel_type, antialias, True)
    return resampled(xp, grads, rows, columns, np.float32)


def _kernel_attrs(op: Any) -> dict[str, Any]:
    return {n: op.get_attr(n) for n in ("kernel_type", "antialias")}


@SCALE.gradient
def _scale_gradient(op: Any, grad: Any) -> list[Any]:
    image, _, scale, translation = op.inputs
    wide = execute("Cast", (image,), {"DstT": dt.float32})
    found = execute(SCALE_GRAD, (grad, wide, scale, translation), _kernel_attrs(op))
    if image.dtype is not dt.float32:
        found = execute("Cast", (found,), {"DstT": image.dtype})
    return [found if image.dtype.is_floating else None, None, None, None]


@SCALE_GRAD.gradient
def _scale_grad_gradient(op: Any, grad: Any) -> list[Any]:
    grads, _, scale, translation = op.inputs
    size = execute("StridedSlice", _middle(grads))
    found = execute(SCALE, (grad, size, scale, translation), _kernel_attrs(op))
    return [found, None, None, None]
