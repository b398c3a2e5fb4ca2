"""Spaces that images are moved to by a matrix: YIQ, YUV and grey."""

from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.graph.behavior import control_dependencies
from penstock.ops.array_basics import identity
from penstock.ops.array_shape import expand_dims
from penstock.ops.array_tile import tile
from penstock.ops.composing import scope
from penstock.ops.debug_asserts import to_wait_for
from penstock.ops.image_color import convert_image_dtype
from penstock.ops.math_compare import equal
from penstock.ops.math_einsum import tensordot
from penstock.types import dtypes as dt

_GRAY = [0.2989, 0.5870, 0.1140]
_YIQ = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_FROM_YIQ = [
    [1.0, 1.0, 1.0],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_FROM_YUV = [
    [1.0, 1.0, 1.0],
    [0.0, -0.394642334, 2.03206185],
    [1.13988303, -0.58062185, 0.0],
]


def _linear(table: list[list[float]], name: str, doc: str) -> Any:
    def convert(images: Any) -> Any:
        images = convert_to_tensor(images, name="images")
        weights = convert_to_tensor(table, images.dtype, name="kernel")
        return tensordot(images, weights, axes=[[(images.shape.rank or 3) - 1], [0]])

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = (
        f"{doc}\n\n    Args:\n      images: a floating tensor, [..., 3].\n\n"
        "    Returns:\n      Tensor of the same dtype and shape.\n"
    )
    return convert


rgb_to_yiq = _linear(_YIQ, "rgb_to_yiq", "Images in the YIQ space of RGB ones.")
yiq_to_rgb = _linear(_FROM_YIQ, "yiq_to_rgb", "RGB images of ones in the YIQ space.")
rgb_to_yuv = _linear(_YUV, "rgb_to_yuv", "Images in the YUV space of RGB ones.")
yuv_to_rgb = _linear(_FROM_YUV, "yuv_to_rgb", "RGB images of ones in the YUV space.")


def rgb_to_grayscale(images: Any, name: str | None = None) -> Any:
    """Grey images of RGB ones.

    Args:
      images: a tensor of a real dtype, [..., 3].
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype, [..., 1].
    """
    with scope(name, "rgb_to_grayscale"):
        images = convert_to_tensor(images, name="images")
        original = images.dtype
        floating = convert_image_dtype(images, dt.float32)
        grey = tensordot(floating, np.array(_GRAY, np.float32), [-1, -1])
        return convert_image_dtype(expand_dims(grey, -1), original)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Any:
    """RGB images of grey ones.

    Args:
      images: a tensor of any dtype, [..., 1].
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype, [..., 3].

    Raises:
      ValueError: the last dimension is not 1 (InvalidArgumentError when it runs, where it is not
        known before).
    """
    with scope(name, "grayscale_to_rgb") as full:
        images = convert_to_tensor(images, name="images")
        dims = images.dims
        if dims is not None and (len(dims) < 1 or dims[-1] not in (None, 1)):
            raise ValueError(
                "The last dimension of a grayscale image should be size 1, got shape"
                f" {images.shape}."
            )
        if dims is None or dims[-1] is None:
            images = _one_channel(images)
        if dims is None:
            shape = execute("Shape", (images,))
            times = execute("ConcatV2", ([execute("OnesLike", (shape[1:],)), [3]], 0))
            return tile(images, times, full)
        found = tile(images, [1] * (len(dims) - 1) + [3], full)
        if isinstance(found, SymbolicTensor):
            found.set_shape([*dims[:-1], 3])
        return found


def _one_channel(images: Tensor) -> Tensor:
    """Images whose last dimension is checked when they come."""
    one = equal(execute("Shape", (images,))[-1], 1)
    shown = ["The last dimension of a grayscale image should be size 1"]
    with control_dependencies(to_wait_for(one, shown)):
        checked: Tensor = identity(images)
    return checked
