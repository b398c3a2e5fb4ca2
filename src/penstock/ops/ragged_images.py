"""Images of different sizes in one ragged tensor, resized to one size: a dense tensor."""

from collections.abc import Callable
from typing import Any

from penstock.core import dispatch
from penstock.core.convert import convert_to_tensor
from penstock.ops import image_resizing
from penstock.ops.composing import scope
from penstock.ops.conversion import constant_value_as_shape
from penstock.ops.functional_loops import map_fn
from penstock.ops.ragged_class import RaggedTensor
from penstock.types import dtypes as dt
from penstock.types.tensor_spec import TensorSpec

_RANK = 4  # [batch, height, width, channels]


def _each(
    images: RaggedTensor, resize: Callable[[Any], Any], size: Any, nearest: bool, name: Any
) -> Any:
    if images.shape.rank != _RANK:
        raise ValueError(
            f"tf.image.resize: images.shape.rank must be {_RANK} if images is ragged, got shape"
            f" {images.shape}. Stack the images with tf.ragged.stack."
        )
    dtype = images.dtype if nearest else dt.float32
    with scope(name, "resize"):
        sides = (
            [None, None]
            if size is None
            else constant_value_as_shape(convert_to_tensor(size, dt.int32))
        )
        spec = TensorSpec([*sides, images.shape[-1]], dtype)
        return map_fn(lambda image: resize(_dense(image)), images, fn_output_signature=spec)


def _dense(image: Any) -> Any:
    return image.to_tensor() if isinstance(image, RaggedTensor) else image


@dispatch.handler("image_resizing.resize", RaggedTensor)
def resize(
    images: RaggedTensor,
    size: Any,
    method: Any = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Any:
    """`tf.image.resize` of ragged images, [batch, (height), (width), channels]."""

    def one(image: Any) -> Any:
        return image_resizing.resize(image, size, method, preserve_aspect_ratio, antialias)

    nearest = method == image_resizing.ResizeMethod.NEAREST_NEIGHBOR
    return _each(images, one, None if preserve_aspect_ratio else size, nearest, name)


@dispatch.handler("image_resizing.resize_v1", RaggedTensor)
def resize_v1(
    images: RaggedTensor,
    size: Any,
    method: Any = 0,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Any:
    """`tf.compat.v1.image.resize` of ragged images, [batch, (height), (width), channels]."""

    def one(image: Any) -> Any:
        return image_resizing.resize_v1(image, size, method, align_corners, preserve_aspect_ratio)

    nearest = method in (1, image_resizing.ResizeMethod.NEAREST_NEIGHBOR)
    return _each(images, one, None if preserve_aspect_ratio else size, nearest, name)
