"""Images changed at random: brightness, contrast, hue, saturation, flips, JPEG quality, crops.

A `random_` function draws from a stream of its own, a `stateless_random_` function from its seed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_order import reverse
from penstock.ops.array_select import where
from penstock.ops.composing import scope
from penstock.ops.conditionals import cond
from penstock.ops.image_color import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
    convert_image_dtype,
)
from penstock.ops.image_decode import decode_jpeg
from penstock.ops.image_encode import VARIABLE_JPEG
from penstock.ops.image_geometry import image_tensor, ranked
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import equal, less
from penstock.ops.random_ops import crop_places, random_uniform
from penstock.ops.random_stateless_ops import stateless_random_uniform
from penstock.types import dtypes as dt

Draw = Callable[..., Any]  # (shape, low, high, dtype) -> numbers


def _stateful(seed: Any) -> Draw:
    def draw(shape: Any, low: Any, high: Any, dtype: Any = dt.float32) -> Any:
        return random_uniform(shape, low, high, dtype, seed=seed)

    return draw


def _stateless(seed: Any) -> Draw:
    def draw(shape: Any, low: Any, high: Any, dtype: Any = dt.float32) -> Any:
        return stateless_random_uniform(shape, seed, low, high, dtype)

    return draw


def _refuse(holds: bool, rule: str, got: str) -> None:
    if holds:
        raise ValueError(f"{rule} Got {got}.")


def _check_delta(max_delta: Any, most: float | None = None) -> None:
    _refuse(most is not None and max_delta > most, f"max_delta must be <= {most}.", str(max_delta))
    _refuse(max_delta < 0, "max_delta must be non-negative.", str(max_delta))


def _check_range(lower: Any, upper: Any) -> None:
    _refuse(upper <= lower, "upper must be > lower.", f"{lower} to {upper}")
    _refuse(lower < 0, "lower must be non-negative.", str(lower))


def _brightness(image: Any, max_delta: Any, draw: Draw) -> Any:
    _check_delta(max_delta)
    return adjust_brightness(image, draw([], -max_delta, max_delta))


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """Images made brighter or darker by a random number below `max_delta`.

    Args:
      image: a tensor of images.
      max_delta: not negative.
      seed: an integer, combined with the global seed.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: `max_delta` is negative.
    """
    return _brightness(image, max_delta, _stateful(seed))


def stateless_random_brightness(image: Any, max_delta: float, seed: Any) -> Any:
    """Images made brighter or darker by a number below `max_delta`, drawn by a seed.

    Args:
      image: a tensor of images.
      max_delta: not negative.
      seed: int32 or int64 [2]: equal seeds give equal results.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: `max_delta` is negative.
    """
    return _brightness(image, max_delta, _stateless(seed))


def _contrast(image: Any, lower: Any, upper: Any, draw: Draw) -> Any:
    _check_range(lower, upper)
    return adjust_contrast(image, draw([], lower, upper))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """Images of a contrast changed by a random factor.

    Args:
      image: a tensor of images.
      lower: the least factor, not negative.
      upper: above `lower`, above all factors.
      seed: an integer, combined with the global seed.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: the bounds are in the wrong order, or negative.
    """
    return _contrast(image, lower, upper, _stateful(seed))


def stateless_random_contrast(image: Any, lower: float, upper: float, seed: Any) -> Any:
    """Images of a contrast changed by a factor drawn by a seed.

    Args:
      image: a tensor of images.
      lower: the least factor, not negative.
      upper: above `lower`, above all factors.
      seed: int32 or int64 [2]: equal seeds give equal results.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: the bounds are in the wrong order, or negative.
    """
    return _contrast(image, lower, upper, _stateless(seed))


def _hue(image: Any, max_delta: Any, draw: Draw) -> Any:
    _check_delta(max_delta, 0.5)
    return adjust_hue(image, draw([], -max_delta, max_delta))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """RGB images whose hue is turned by a random part of the circle.

    Args:
      image: a tensor of images, 3 channels.
      max_delta: from 0 to 0.5.
      seed: an integer, combined with the global seed.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: `max_delta` is out of range.
    """
    return _hue(image, max_delta, _stateful(seed))


def stateless_random_hue(image: Any, max_delta: float, seed: Any) -> Any:
    """RGB images whose hue is turned by a part of the circle drawn by a seed.

    Args:
      image: a tensor of images, 3 channels.
      max_delta: from 0 to 0.5.
      seed: int32 or int64 [2]: equal seeds give equal results.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: `max_delta` is out of range.
    """
    return _hue(image, max_delta, _stateless(seed))


def _saturation(image: Any, lower: Any, upper: Any, draw: Draw) -> Any:
    _check_range(lower, upper)
    return adjust_saturation(image, draw([], lower, upper))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """RGB images of a saturation changed by a random factor.

    Args:
      image: a tensor of RGB images, [..., 3].
      lower: the least factor, not negative.
      upper: above `lower`, above all factors.
      seed: an integer, combined with the global seed.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: the bounds are in the wrong order, or negative.
    """
    return _saturation(image, lower, upper, _stateful(seed))


def stateless_random_saturation(image: Any, lower: float, upper: float, seed: Any = None) -> Any:
    """RGB images of a saturation changed by a factor drawn by a seed.

    Args:
      image: a tensor of RGB images, [..., 3].
      lower: the least factor, not negative.
      upper: above `lower`, above all factors.
      seed: int32 or int64 [2]: equal seeds give equal results.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: the bounds are in the wrong order, or negative.
    """
    return _saturation(image, lower, upper, _stateless(seed))


def _flipped(image: Any, axis: int, draw: Draw, name: str) -> Any:
    """Each image turned over with probability one half."""
    with scope(None, name):
        images = image_tensor(image)
        if images.dims is not None:
            return _turned_over(images, axis, draw)
        return cond(
            equal(execute("Rank", (images,)), 3),
            lambda: _turned_over(ranked(images, otherwise=3), axis, draw),
            lambda: _turned_over(ranked(images, otherwise=4), axis, draw),
        )


def _turned_over(images: Any, axis: int, draw: Draw) -> Any:
    if len(images.dims) == 3:
        turned = reverse(images, [3 + axis])
        return where(less(draw([], 0.0, 1.0), 0.5), turned, images)
    count = shape_of(images)[:1]
    chosen = execute("Round", (draw(count, 0.0, 1.0),))
    kept = execute("Reshape", (less(chosen, 0.5), np.array([-1, 1, 1, 1], np.int32)))
    return where(kept, images, reverse(images, [4 + axis]))


def random_flip_left_right(image: Any, seed: int | None = None) -> Any:
    """Images, each with left and right exchanged with probability one half.

    Args:
      image: a tensor of any dtype, [height, width, channels] or a batch of these.
      seed: an integer, combined with the global seed.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: the rank is neither 3 nor 4.
    """
    return _flipped(image, -2, _stateful(seed), "random_flip_left_right")


def random_flip_up_down(image: Any, seed: int | None = None) -> Any:
    """Images, each with up and down exchanged with probability one half.

    Args:
      image: a tensor of any dtype, [height, width, channels] or a batch of these.
      seed: an integer, combined with the global seed.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: the rank is neither 3 nor 4.
    """
    return _flipped(image, -3, _stateful(seed), "random_flip_up_down")


def stateless_random_flip_left_right(image: Any, seed: Any) -> Any:
    """Images, each with left and right exchanged or not, as a seed says.

    Args:
      image: a tensor of any dtype, [height, width, channels] or a batch of these.
      seed: int32 or int64 [2]: equal seeds give equal results.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: the rank is neither 3 nor 4.
    """
    return _flipped(image, -2, _stateless(seed), "stateless_random_flip_left_right")


def stateless_random_flip_up_down(image: Any, seed: Any) -> Any:
    """Images, each with up and down exchanged or not, as a seed says.

    Args:
      image: a tensor of any dtype, [height, width, channels] or a batch of these.
      seed: int32 or int64 [2]: equal seeds give equal results.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: the rank is neither 3 nor 4.
    """
    return _flipped(image, -3, _stateless(seed), "stateless_random_flip_up_down")


def adjust_jpeg_quality(
    image: Any, jpeg_quality: Any, dct_method: str = "", name: str | None = None
) -> Any:
    """An image as it comes back from a JPEG file.

    Args:
      image: a real tensor, [height, width, 1 or 3].
      jpeg_quality: an integer scalar from 0 to 100.
      dct_method: as of `tf.io.decode_jpeg`.
      name: the name in a graph.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      InvalidArgumentError: the quality is out of range.
    """
    with scope(name, "adjust_jpeg_quality"):
        tensor = convert_to_tensor(image, name="image")
        channels = tensor.dims[-1] if tensor.dims else None
        bytes_ = convert_image_dtype(tensor, dt.uint8, saturate=True)
        quality = convert_to_tensor(jpeg_quality, dt.int32)
        file = execute(VARIABLE_JPEG, (bytes_, quality))
        found = decode_jpeg(file, channels=channels or 0, dct_method=dct_method)
        return convert_image_dtype(found, tensor.dtype, saturate=True)


def _quality(image: Any, low: Any, high: Any, draw: Draw) -> Any:
    wrong = min(low, high) < 0 or max(low, high) > 100
    _refuse(wrong, "jpeg encoding range must be between 0 and 100.", f"{low} to {high}")
    _refuse(
        low >= high, "`min_jpeg_quality` must be less than `max_jpeg_quality`.", f"{low} to {high}"
    )
    return adjust_jpeg_quality(image, draw([], low, high, dt.int32))


def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Any:
    """An image as it comes back from a JPEG file of random quality.

    Args:
      image: a real tensor, [height, width, 1 or 3].
      min_jpeg_quality: from 0.
      max_jpeg_quality: to 100, above all qualities drawn.
      seed: an integer, combined with the global seed.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: the bounds are out of range, or in the wrong order.
    """
    return _quality(image, min_jpeg_quality, max_jpeg_quality, _stateful(seed))


def stateless_random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: Any
) -> Any:
    """An image as it comes back from a JPEG file of a quality drawn by a seed.

    Args:
      image: a real tensor, [height, width, 1 or 3].
      min_jpeg_quality: from 0.
      max_jpeg_quality: to 100, above all qualities drawn.
      seed: int32 or int64 [2]: equal seeds give equal results.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: the bounds are out of range, or in the wrong order.
    """
    return _quality(image, min_jpeg_quality, max_jpeg_quality, _stateless(seed))


def stateless_random_crop(value: Any, size: Any, seed: Any, name: str | None = None) -> Any:
    """A part of a tensor at a random place; as `tf.image.random_crop`, by a seed of two integers.

    Args:
      value: any dtype and rank R.
      size: int32[R], the shape of the part.
      seed: int[2].
      name: the name in a graph.

    Returns:
      A tensor of shape `size`.

    Raises:
      InvalidArgumentError: `size` is larger than the shape of `value`.
    """
    with scope(name, "random_crop"):
        tensor = convert_to_tensor(value, name="value")
        size = cast(convert_to_tensor(size, dt.int32, name="size"), dt.int32)
        limit = crop_places(tensor, size)
        drawn = stateless_random_uniform(shape_of(limit), seed, 0, dt.int32.max, dt.int32)
        return execute("Slice", (tensor, execute("FloorMod", (drawn, limit)), size))
