"""`tf.image.resize` and its relatives: sizes, aspect ratios, and the method's operation."""

import enum
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.static_values import constant_value
from penstock.ops import image_resize as ops
from penstock.ops.array_shape import expand_dims, squeeze
from penstock.ops.composing import scope
from penstock.types import dtypes as dt


class ResizeMethod:
    """How `tf.image.resize` computes new pixels."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


class ResizeMethodV1:
    """How `compat.v1.image.resize` computes new pixels."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_KERNELS = {
    "bilinear": "triangle",
    "bicubic": "keyscubic",
    "lanczos3": "lanczos3",
    "lanczos5": "lanczos5",
    "gaussian": "gaussian",
    "mitchellcubic": "mitchellcubic",
}
_METHODS = {*_KERNELS, "area", "nearest"}
_BLURRING = ("gaussian", "mitchellcubic")  # these change an image of the same size too
_V1 = {0: "bilinear", 1: "nearest", 2: "bicubic", 3: "area"}


def resize(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Any:
    """Resizes images.

    Args:
      images: a tensor of a real dtype, [batch, height, width, channels] or [height, width,
        channels].
      size: int32[2], the new height and width.
      method: a constant of `tf.image.ResizeMethod`.
      preserve_aspect_ratio: whether the result only fits into `size`, undistorted.
      antialias: whether a smaller image is smoothed, so that no detail is missed; of no effect on
        the methods "nearest" and "area".
      name: the name of the operation in a graph.

    Returns:
      float32 images of the new size; of the dtype of `images` for the method "nearest".

    Raises:
      ValueError: the rank, the size or the method is none of these.

    Example:
      >>> tf.image.resize([[[0.0], [1.0]]], [1, 4]).shape
      TensorShape([1, 4, 1])
    """
    method = method.value if isinstance(method, enum.Enum) else method
    if method not in _METHODS:
        raise ValueError(
            f"Resize method is not implemented: {method}. Expected one of {sorted(_METHODS)}."
        )
    with scope(name, "resize"):
        images, single = _batched(images)
        size, known = _new_size(images, size, preserve_aspect_ratio)
        if _same_size(images, known) and method not in _BLURRING:
            kept = (
                images if method == "nearest" else execute("Cast", (images,), {"DstT": dt.float32})
            )
            return squeeze(kept, [0]) if single else kept
        found = _resize(images, size, method, antialias)
        return squeeze(found, [0]) if single else found


def _resize(images: Tensor, size: Any, method: str, antialias: bool) -> Any:
    if method == "nearest":
        return execute(ops.NEAREST, (images, size), {"half_pixel_centers": True})
    if method == "area":
        return execute(ops.AREA, (images, size))
    if method in ("bilinear", "bicubic") and not antialias:
        op = ops.BILINEAR if method == "bilinear" else ops.BICUBIC
        return execute(op, (images, size), {"half_pixel_centers": True})
    old = execute("StridedSlice", _sizes_of(images))
    scale = execute("RealDiv", (_floats(size), _floats(old)))
    attrs = {"kernel_type": _KERNELS[method], "antialias": antialias}
    return execute(ops.SCALE, (images, size, scale, np.zeros(2, np.float32)), attrs)


def _floats(value: Any) -> Any:
    return execute("Cast", (value,), {"DstT": dt.float32})


def _sizes_of(images: Tensor) -> tuple[Any, ...]:
    shape = execute("Shape", (images,))
    return shape, np.array([1], np.int32), np.array([3], np.int32), np.array([1], np.int32)


def _batched(images: Any) -> tuple[Any, bool]:
    """The images with a batch dimension, and whether it was added."""
    images = convert_to_tensor(images, name="images")
    if images.dims is None:
        raise ValueError("'images' contains no shape. Set one with tf.ensure_shape.")
    if len(images.dims) == 3:
        return expand_dims(images, 0), True
    if len(images.dims) != 4:
        raise ValueError(
            "'images' must have either 3 or 4 dimensions: expected [batch, height, width, channels]"
            f" or [height, width, channels], got shape {images.shape}. Reshape it."
        )
    return images, False


def _new_size(images: Tensor, size: Any, keep_ratio: bool) -> tuple[Any, Any]:
    """The size as an int32 tensor, and as numbers where they are known."""
    try:
        size = convert_to_tensor(size, dt.int32, name="size")
    except (TypeError, ValueError) as problem:
        raise ValueError(
            "'size' must be a 1-D int32 Tensor: expected [height, width], got"
            f" {size!r}. Round the numbers."
        ) from problem
    if not size.shape.is_compatible_with([2]):
        raise ValueError(
            f"'size' must be a 1-D Tensor of 2 elements: new_height, new_width; got shape"
            f" {size.shape}."
        )
    if keep_ratio:
        size = _fitting(images, size)
    known = constant_value(size)
    if known is not None and min(known) < -1:  # -1: no shape, so the operation says it
        raise ValueError(
            f"'size' must be two numbers above 0: expected [height, width], got {known.tolist()}."
            " Give the sizes of the result."
        )
    return size, None if known is None else [int(n) for n in known]


def _fitting(images: Tensor, size: Tensor) -> Any:
    """The largest size of the images' ratio that fits into `size`."""
    assert images.dims is not None
    asked = constant_value(size)
    height, width = images.dims[1:3]
    if asked is not None and height is not None and width is not None:
        factor = min(
            np.float32(asked[0]) / np.float32(height), np.float32(asked[1]) / np.float32(width)
        )
        return convert_to_tensor(
            [int(np.rint(factor * np.float32(n))) for n in (height, width)], dt.int32
        )
    old = _floats(execute("StridedSlice", _sizes_of(images)))
    factors = execute("RealDiv", (_floats(size), old))
    factor = execute("Min", (factors, np.array([0], np.int32)))
    return execute(
        "Cast", (execute("Round", (execute("Mul", (old, factor)),)),), {"DstT": dt.int32}
    )


def _same_size(images: Tensor, known: Any) -> bool:
    return known is not None and images.dims is not None and list(images.dims[1:3]) == known


def resize_v1(
    images: Any,
    size: Any,
    method: Any = ResizeMethodV1.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Any:
    """Resizes images by the older rules: corners of pixels lie on each other, not their centers.

    Args:
      images: a tensor of a real dtype, [batch, height, width, channels] or [height, width,
        channels].
      size: int32[2], the new height and width.
      method: a constant of `compat.v1.image.ResizeMethod`, or its name.
      align_corners: whether the centers of corner pixels lie on each other.
      preserve_aspect_ratio: whether the result only fits into `size`, undistorted.
      name: the name of the operation in a graph.

    Returns:
      float32 images of the new size; of the dtype of `images` for the nearest pixel, and where
      the size stays.

    Raises:
      ValueError: the rank, the size or the method is none of these.
    """
    wanted = _V1.get(method, method) if isinstance(method, int) else method
    if wanted not in _V1.values():
        raise ValueError(
            f"Resize method is not implemented: {method}. Expected one of {sorted(_V1.values())}."
        )
    with scope(name, "resize"):
        images, single = _batched(images)
        size, known = _new_size(images, size, preserve_aspect_ratio)
        if _same_size(images, known):
            return squeeze(images, [0]) if single else images
        table = {
            "bilinear": ops.BILINEAR,
            "nearest": ops.NEAREST,
            "bicubic": ops.BICUBIC,
            "area": ops.AREA,
        }
        found = execute(table[str(wanted)], (images, size), {"align_corners": align_corners})
        return squeeze(found, [0]) if single else found


def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Any:
    """Images of another size, by the two nearest pixels in each direction.

    Args:
      images: real numbers [batch, height, width, channels].
      size: int32[2], the new height and width, positive.
      align_corners: whether the centres of the corner pixels stay in the corners.
      name: the name in a graph.
      half_pixel_centers: whether a pixel stands for its centre; not together with the former.

    Returns:
      float32 [batch, new height, new width, channels].

    Raises:
      InvalidArgumentError, ValueError: a shape or size is wrong.
    """
    attrs = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    return execute(ops.BILINEAR, (images, size), attrs, name)


def resize_bicubic(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Any:
    """Images of another size, by the four nearest pixels in each direction.

    Args:
      images: real numbers [batch, height, width, channels].
      size: int32[2], the new height and width, positive.
      align_corners: whether the centres of the corner pixels stay in the corners.
      name: the name in a graph.
      half_pixel_centers: whether a pixel stands for its centre; not together with the former.

    Returns:
      float32 [batch, new height, new width, channels].

    Raises:
      InvalidArgumentError, ValueError: a shape or size is wrong.
    """
    attrs = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    return execute(ops.BICUBIC, (images, size), attrs, name)


def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Any:
    """Resizes images by the nearest pixel.

    Args:
      images: a tensor of a real dtype, [batch, height, width, channels].
      size: int32[2], the new height and width.
      align_corners: whether the centers of corner pixels lie on each other.
      name: the name of the operation in a graph.
      half_pixel_centers: whether pixels lie at their centers.

    Returns:
      Tensor of the same dtype, [batch, *size, channels].

    Raises:
      ValueError, InvalidArgumentError: the rank or the size does not fit.
    """
    attrs = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    return execute(ops.NEAREST, (images, size), attrs, name)


def resize_area(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None
) -> Any:
    """Images of another size, by the mean of the pixels that a new one covers.

    Args:
      images: real numbers [batch, height, width, channels].
      size: int32[2], the new height and width, positive.
      align_corners: whether the centres of the corner pixels stay in the corners.
      name: the name in a graph.

    Returns:
      float32 [batch, new height, new width, channels].

    Raises:
      InvalidArgumentError, ValueError: a shape or size is wrong.
    """
    return execute(ops.AREA, (images, size), {"align_corners": align_corners}, name)
