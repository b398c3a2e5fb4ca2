"""Colours of images: hue, saturation and value, brightness, contrast; dtypes."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_images
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.graph.behavior import control_dependencies
from penstock.graph.static_values import constant_value
from penstock.ops.array_basics import identity
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_join import stack
from penstock.ops.array_select import where
from penstock.ops.composing import scope
from penstock.ops.debug_asserts import assert_that, to_wait_for
from penstock.ops.math_arithmetic import add, maximum, multiply, pow, squared_difference, subtract
from penstock.ops.math_cast import cast, saturate_cast
from penstock.ops.math_compare import equal
from penstock.ops.math_division import div_no_nan, divide
from penstock.ops.math_elementwise import rsqrt, square
from penstock.ops.math_reduce import reduce_mean, reduce_prod, reduce_sum
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import as_dtype

Array = Any  # numpy.ndarray, jax.Array or a tracer


def _three_channels(c: ShapeContext) -> Dims:
    dims = c.shape(0)
    if len(c) > 1:
        c.rank(1, 0, "the second input")
    late = c.running and len(c) == 1  # conversions say it themselves, by another class
    if dims is not None and (len(dims) < 1 or (dims[-1] not in (None, 3) and not late)):
        size = dims[-1] if dims else "no"
        known = f"input must have 3 channels but instead has {size} channels"
        if not c.running and dims:
            known += f": Dimension must be 3 but is {size}"
        c.fail(
            "images whose last dimension is of size 3",
            f"shape {d.text(dims)}: {known}",
            "Give RGB or HSV.",
        )
    return dims


def _image_of_three_channels(c: ShapeContext) -> Dims:
    dims = c.shape(0)
    if dims is not None and len(dims) < 3:
        c.fail("images of at least 3 dimensions", f"shape {d.text(dims)}", "Add dimensions of 1.")
    return _three_channels(c)


def _converted(c: ShapeContext) -> Dims:
    dims = _three_channels(c)
    return dims if dims is None or c.running else (*dims[:-1], 3)


# ---- hue, saturation and value

TO_HSV = define_op(
    "RGBToHSV(images: T; T: {half, bfloat16, float, double} = float) -> output: T",
    shape=_converted,
    doc="Hue, saturation and value of RGB images.",
)


def _hue_parts(xp: Any, x: Array) -> tuple[Array, Array, Array, Array]:
    red, green, blue = x[..., 0], x[..., 1], x[..., 2]
    value = xp.maximum(xp.maximum(red, green), blue)
    spread = value - xp.minimum(xp.minimum(red, green), blue)
    safe = xp.where(spread == 0, 1, spread)
    hue = xp.where(
        value == red,
        (green - blue) / safe,
        xp.where(value == green, (blue - red) / safe + 2, (red - green) / safe + 4),
    )
    hue = xp.where(spread == 0, 0, hue / 6)
    hue = xp.where(hue < 0, hue + 1, hue)
    saturation = xp.where(value > 0, spread / xp.where(value > 0, value, 1), 0)
    return hue, saturation, value, spread


def _check_channels(images: Array) -> None:
    if images.shape[-1] != 3:
        raise errors.FailedPreconditionError(
            None,
            None,
            f"input must have 3 channels but input only has {images.shape[-1]} channels: expected "
            f"images whose last dimension is of size 3, got shape {d.text(images.shape)}. Give RGB "
            "or HSV.",
        )


@kernel(TO_HSV)
def _to_hsv(xp: Any, images: Array) -> Array:
    _check_channels(images)
    hue, saturation, value, _ = _hue_parts(xp, images)
    return xp.stack([hue, saturation, value], axis=-1).astype(images.dtype)


@host_kernel(TO_HSV, **native_images.ON_CPU)
def _to_hsv_natively(images: Array) -> Array:
    _check_channels(images)
    found = native_images.colors(native_images.TO_HSV, images)
    return _to_hsv(np, images) if found is None else found


@TO_HSV.gradient
def _to_hsv_gradient(op: Any, grad: Any) -> Any:
    """By the channel that is largest; where channels are equal, the first of them counts."""
    rgb = op.inputs[0]
    channels = [rgb[..., i] for i in range(3)]
    value = op.outputs[0][..., 2]
    saturation = op.outputs[0][..., 1]
    spread = multiply(saturation, value)
    largest = [equal(c, value) for c in channels]
    is_max = [
        largest[0],
        execute("LogicalAnd", (execute("LogicalNot", (largest[0],)), largest[1])),
    ]
    is_max.append(execute("LogicalNot", (execute("LogicalOr", (is_max[0], is_max[1])),)))
    lowest = subtract(value, spread)
    smallest = [equal(c, execute("Min", (rgb, np.int32(-1)))) for c in channels]
    is_min = [
        smallest[0],
        execute("LogicalAnd", (execute("LogicalNot", (smallest[0],)), smallest[1])),
    ]
    is_min.append(execute("LogicalNot", (execute("LogicalOr", (is_min[0], is_min[1])),)))
    g_hue, g_saturation, g_value = (grad[..., i] for i in range(3))
    parts = []
    for i in range(3):
        top = cast(is_max[i], rgb.dtype)
        bottom = cast(is_min[i], rgb.dtype)
        # s = 1 - min / max
        by_saturation = subtract(
            div_no_nan(multiply(top, lowest), square(value)), div_no_nan(bottom, value)
        )
        slope = _hue_slope(channels, is_max, i, top, bottom, spread)
        total = add(multiply(g_value, top), multiply(g_saturation, by_saturation))
        parts.append(add(total, multiply(g_hue, slope)))
    return stack(parts, axis=-1)


def _hue_slope(
    channels: list[Any], is_max: list[Any], i: int, top: Any, bottom: Any, spread: Any
) -> Any:
    """How the hue moves with channel `i`: (a - b) / spread / 6, a and b by the largest channel."""
    red, green, blue = channels
    pairs = (
        (1, 2, subtract(green, blue)),
        (2, 0, subtract(blue, red)),
        (0, 1, subtract(red, green)),
    )
    found: Any = execute("ZerosLike", (red,))
    for largest, (plus, minus, numerator) in zip(is_max, pairs, strict=True):
        sign = (1.0 if i == plus else 0.0) - (1.0 if i == minus else 0.0)
        direct = div_no_nan(cast(sign, red.dtype), spread)
        through = div_no_nan(multiply(numerator, subtract(top, bottom)), square(spread))
        found = where(largest, divide(subtract(direct, through), 6), found)
    return found


FROM_HSV = define_op(
    "HSVToRGB(images: T; T: {half, bfloat16, float, double} = float) -> output: T",
    shape=_converted,
    doc="RGB images of hue, saturation and value.",
).not_differentiable("TensorFlow's has no derivative; train on RGB images")


def _from_hsv_array(xp: Any, hue: Array, saturation: Array, value: Array) -> Array:
    sector = hue * 6
    parts = [
        xp.clip(xp.abs(sector - 3) - 1, 0, 1),
        xp.clip(2 - xp.abs(sector - 2), 0, 1),
        xp.clip(2 - xp.abs(sector - 4), 0, 1),
    ]
    return xp.stack([((1 - saturation) + saturation * p) * value for p in parts], axis=-1)


@kernel(FROM_HSV)
def _from_hsv(xp: Any, images: Array) -> Array:
    _check_channels(images)
    found = _from_hsv_array(xp, images[..., 0], images[..., 1], images[..., 2])
    return found.astype(images.dtype)


@host_kernel(FROM_HSV, **native_images.ON_CPU)
def _from_hsv_natively(images: Array) -> Array:
    _check_channels(images)
    found = native_images.colors(native_images.TO_RGB, images)
    return _from_hsv(np, images) if found is None else found


def rgb_to_hsv(images: Any, name: str | None = None) -> Any:
    """Hue, saturation and value, each in [0, 1], of RGB images in [0, 1].

    Args:
      images: a floating tensor, [..., 3].
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError, InvalidArgumentError: there are not three channels.
    """
    return execute(TO_HSV, (images,), None, name)


def hsv_to_rgb(images: Any, name: str | None = None) -> Any:
    """RGB images in [0, 1] of hue, saturation and value.

    Args:
      images: a floating tensor, [..., 3].
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError, InvalidArgumentError: there are not three channels.
    """
    return execute(FROM_HSV, (images,), None, name)


HUE = define_op(
    "AdjustHue(images: T, delta: float; T: {half, float} = float) -> output: T",
    shape=_image_of_three_channels,
    doc="RGB images with the hue turned.",
).without_gradient("TensorFlow's has no derivative")


@kernel(HUE)
def _adjust_hue(xp: Any, images: Array, delta: Array) -> Array:
    x = images.astype(np.float32)
    hue, saturation, value, _ = _hue_parts(xp, x)
    turned = (hue + delta) % 1.0
    return _from_hsv_array(xp, turned, saturation, value).astype(images.dtype)


@host_kernel(HUE, **native_images.ON_CPU)
def _adjust_hue_natively(images: Array, delta: Array) -> Array:
    x = images.astype(np.float32, copy=False)
    found = native_images.colors(native_images.TURN_HUE, x, delta)
    return _adjust_hue(np, images, delta) if found is None else _as(images, found)


def _as(images: Array, found: Array) -> Array:
    return found.astype(images.dtype, copy=False)


SATURATION = define_op(
    "AdjustSaturation(images: T, scale: float; T: {half, float} = float) -> output: T",
    shape=_image_of_three_channels,
    doc="RGB images with the saturation multiplied.",
).without_gradient("TensorFlow's has no derivative")


@kernel(SATURATION)
def _adjust_saturation(xp: Any, images: Array, scale: Array) -> Array:
    x = images.astype(np.float32)
    hue, saturation, value, _ = _hue_parts(xp, x)
    scaled = xp.clip(saturation * scale, 0, 1)
    return _from_hsv_array(xp, hue, scaled, value).astype(images.dtype)


@host_kernel(SATURATION, **native_images.ON_CPU)
def _adjust_saturation_natively(images: Array, scale: Array) -> Array:
    x = images.astype(np.float32, copy=False)
    found = native_images.colors(native_images.SATURATE, x, scale)
    return _adjust_saturation(np, images, scale) if found is None else _as(images, found)


CONTRAST = define_op(
    "AdjustContrastv2(images: T, contrast_factor: float; T: {half, float} = float) -> output: T",
    shape=lambda c: _images(c),
    doc="Images with the distance from each channel's mean multiplied.",
)


def _images(c: ShapeContext) -> Dims:
    c.rank(1, 0, "contrast_factor")
    return c.rank_at_least(
        0, 3, "images", lambda: f"input must be at least 3-D, got shape{d.bracketed(c.shape(0))}"
    )


@kernel(CONTRAST)
def _adjust_contrast(xp: Any, images: Array, contrast_factor: Array) -> Array:
    if 0 in images.shape:  # NumPy warns of means of nothing
        return images
    x = images.astype(np.float32)
    mean = x.mean(axis=(-3, -2), keepdims=True)
    return ((x - mean) * contrast_factor + mean).astype(images.dtype)


@host_kernel(CONTRAST, **native_images.ON_CPU)
def _adjust_contrast_natively(images: Array, contrast_factor: Array) -> Array:
    found = native_images.contrast(images.astype(np.float32, copy=False), contrast_factor)
    return _adjust_contrast(np, images, contrast_factor) if found is None else _as(images, found)


@CONTRAST.gradient
def _contrast_gradient(op: Any, grad: Any) -> list[Any]:
    images, factor = op.inputs
    mean = reduce_mean(grad, axis=[-3, -2], keepdims=True)
    kind = grad.dtype
    wide = add(multiply(subtract(grad, mean), cast(factor, kind)), mean)
    centered = subtract(images, reduce_mean(images, axis=[-3, -2], keepdims=True))
    total = reduce_sum(multiply(centered, grad))
    return [wide, cast(total, dt.float32)]


# ---- dtypes


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Any:
    """Images of another dtype, scaled: floating ones lie in [0, 1], integer ones in their range.

    Args:
      image: a tensor of a real dtype.
      dtype: the dtype of the result.
      saturate: whether values out of range become the nearest ones rather than wrap around.
      name: the name of the operation in a graph.

    Returns:
      Tensor of `dtype`, of the shape of `image`.

    Raises:
      AttributeError: a dtype is neither floating nor an integer.
    """
    image = convert_to_tensor(image, name="image")
    wanted = as_dtype(dtype)
    for kind in (wanted, image.dtype):
        if not kind.is_floating and not kind.is_integer:
            raise AttributeError("dtype must be either floating point or integer")
    with scope(name, "convert_image") as within:
        full = within or None
        if wanted == image.dtype:
            return identity(image, name=full)
        if image.dtype.is_integer and wanted.is_integer:
            return _between_integers(image, wanted, saturate, full)
        if image.dtype.is_floating and wanted.is_floating:
            return cast(image, wanted, name=full)
        if image.dtype.is_integer:
            return multiply(cast(image, wanted), 1.0 / image.dtype.max, name=full)
        scaled = multiply(image, wanted.max + 0.5)
        return saturate_cast(scaled, wanted, name=full) if saturate else cast(scaled, wanted, full)


def _between_integers(image: Tensor, wanted: Any, saturate: bool, name: str | None) -> Any:
    old, new = image.dtype.max, wanted.max
    if old > new:
        scaled = execute("FloorDiv", (image, cast((old + 1) // (new + 1), image.dtype)))
        return saturate_cast(scaled, wanted, name) if saturate else cast(scaled, wanted, name)
    factor = cast((new + 1) // (old + 1), wanted)
    wide = saturate_cast(image, wanted) if saturate else cast(image, wanted)
    return multiply(wide, factor, name=name)


def _in_floats(image: Any, change: Any) -> Any:
    """`change` on floating images in [0, 1], the dtype restored."""
    image = convert_to_tensor(image, name="image")
    original = image.dtype
    floating = (
        image if original in (dt.float16, dt.float32) else convert_image_dtype(image, dt.float32)
    )
    return convert_image_dtype(change(floating), original, saturate=True)


def adjust_brightness(image: Any, delta: Any) -> Any:
    """Images with `delta` added.

    Args:
      image: a tensor of a real dtype; integer ones are taken as of [0, 1].
      delta: a scalar, within (-1, 1) for images in [0, 1].

    Returns:
      Tensor of the same dtype and shape.
    """
    with scope(None, "adjust_brightness"):
        return _in_floats(image, lambda x: add(x, cast(delta, x.dtype)))


def adjust_contrast(images: Any, contrast_factor: Any) -> Any:
    """Images with the distance of each channel from its mean multiplied.

    Args:
      images: a tensor of a real dtype, [..., height, width, channels].
      contrast_factor: a scalar.

    Returns:
      Tensor of the same dtype and shape.
    """
    with scope(None, "adjust_contrast"):
        factor = convert_to_tensor(contrast_factor, dt.float32)
        return _in_floats(images, lambda x: execute(CONTRAST, (x, factor)))


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Any:
    """`gain * image ** gamma`.

    Args:
      image: a tensor of a real dtype; integer ones are taken as of [0, 1].
      gamma: a number that is not negative; a tensor has the dtype of the image, float32 for one
        that is neither float16 nor float32.
      gain: a number, or a tensor of such a dtype.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: `gamma` is negative.
      InvalidArgumentError: `gamma` is a negative tensor, or not a scalar (ValueError eagerly).
    """
    with scope(None, "adjust_gamma"):
        image = convert_to_tensor(image, name="image")
        original = image.dtype
        floating = original in (dt.float16, dt.float32)
        x = image if floating else convert_image_dtype(image, dt.float32)
        with control_dependencies(_not_negative(gamma)):
            found = multiply(gain, pow(x, gamma))
        return convert_image_dtype(found, original, saturate=True)


def _not_negative(gamma: Any) -> list[Any]:
    if isinstance(gamma, Tensor):
        sound = execute("GreaterEqual", (gamma, cast(0, gamma.dtype)))
        return to_wait_for(sound, ["Gamma should be a non-negative real number"])
    if gamma < 0:
        raise ValueError(f"Gamma should be a non-negative real number, got {gamma}.")
    return []


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Any:
    """RGB images with the hue turned.

    Args:
      image: a tensor of a real dtype, [..., 3].
      delta: how far, a float in [-1, 1]; 1 is once around.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: `delta` is out of range (InvalidArgumentError where it is known only when it
        runs).
    """
    with scope(name, "adjust_hue"):
        turn = convert_to_tensor(delta, dt.float32)
        _check_turn(turn)
        return _in_floats(image, lambda x: execute(HUE, (x, turn)))


def _check_turn(turn: Any) -> None:
    known = constant_value(turn)
    if known is not None and not -1.0 <= float(known) <= 1.0:
        raise ValueError(f"delta must be in the interval [-1, 1], got {float(known)}.")
    inside = execute("LogicalAnd", (turn >= -1.0, turn <= 1.0))
    assert_that(inside, ["delta must be in the interval [-1, 1]", turn])


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Any:
    """RGB images with the saturation multiplied.

    Args:
      image: a tensor of a real dtype, [..., 3].
      saturation_factor: a float.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape.
    """
    with scope(name, "adjust_saturation"):
        factor = convert_to_tensor(saturation_factor, dt.float32)
        return _in_floats(image, lambda x: execute(SATURATION, (x, factor)))


# ---- statistics


def per_image_standardization(image: Any) -> Any:
    """Images of mean 0 and deviation 1 (at least 1 / sqrt(pixels) is divided by).

    Args:
      image: a tensor of a real dtype, [..., height, width, channels].

    Returns:
      float32 tensor of the same shape.

    Raises:
      ValueError: the rank is below 3.
    """
    with scope(None, "per_image_standardization") as full:
        image = convert_to_tensor(image)
        if image.dims is not None and len(image.dims) < 3:
            raise ValueError(
                f"'image' must be at least three-dimensional, got shape {image.shape}."
            )
        x = cast(image, dt.float32)
        axes = [-1, -2, -3]
        count = reduce_prod(shape_of(x)[-3:])
        mean = reduce_mean(x, axis=axes, keepdims=True)
        variance = reduce_mean(squared_difference(x, mean), axis=axes, keepdims=True)
        least = rsqrt(cast(count, x.dtype))
        deviation = maximum(execute("Sqrt", (variance,)), least)
        return divide(subtract(x, mean), deviation, full)
