"""Convolutions that pad or resize their images themselves, and one for two or three dimensions."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import compiled_kernel, host_kernel
from penstock.core.lazy import jnp
from penstock.core.native_convolutions import FORWARD
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.image_resize import bilinear
from penstock.ops.nn_conv_geometry import output_size, spatial_axes, window_of
from penstock.ops.nn_conv_host import SINGLE, convolved
from penstock.ops.nn_convolution import forward
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer
NO_GRADIENT = "TensorFlow has none either; use tf.nn.conv2d and tf.pad"
LAYOUTS = {
    ("CHANNELS_LAST", 2): "NHWC",
    ("CHANNELS_LAST", 3): "NDHWC",
    ("CHANNELS_FIRST", 2): "NCHW",
    ("CHANNELS_FIRST", 3): "NCDHW",
}


def _spatial(c: Any, rank: int, batch: int) -> int:
    """The number of spatial dimensions, checked."""
    spatial = rank - batch - 1
    if spatial not in (2, 3):
        c.fail("2 or 3 spatial dimensions", f"{spatial} of an input of rank {rank}")
    return spatial


def _conv_shape(c: ShapeContext) -> Dims:
    image, kernel, batch = c.shape(0), c.shape(1), c.attr("batch_dims")
    if c.attr("groups") != 1:
        raise errors.UnimplementedError(
            None, None, "Conv: grouped convolutions are not supported: expected groups=1, got "
            f"{c.attr('groups')}. Use tf.nn.conv2d.",
        )  # fmt: skip
    if batch < 0:
        c.fail("batch_dims of at least 0", f"{batch}")
    if image is None or kernel is None:
        return None
    spatial = _spatial(c, len(image), batch)
    if len(kernel) != spatial + 2:
        c.fail(f"filter of rank {spatial + 2}", f"shape {d.text(kernel)}")
    layout = LAYOUTS[c.attr("data_format"), spatial]
    depth = image[-1] if layout.endswith("C") else image[batch]
    if None not in (depth, kernel[-2]) and depth != kernel[-2]:
        c.fail("filter depth equal to the input's", f"{kernel[-2]} and {depth}")
    strides = c.attr("strides")
    gaps = c.attr("dilations") or [1] * (spatial + 2)
    if len(strides) != spatial + 2 or len(gaps) != spatial + 2:
        c.fail(f"{spatial + 2} strides and dilations", f"{list(strides)} and {list(gaps)}")
    pads = c.attr("explicit_paddings")
    if c.attr("padding") == "EXPLICIT" and len(pads) != 2 * (spatial + 2):
        c.fail(f"explicit_paddings with {2 * (spatial + 2)} entries", f"{len(pads)} entries")
    sizes = []
    first = batch if layout.endswith("C") else batch + 1
    for i, axis in enumerate(spatial_axes(layout)):
        edge = (pads[2 * axis], pads[2 * axis + 1]) if pads else (0, 0)
        size = output_size(
            image[first + i], kernel[i], strides[axis], gaps[axis], c.attr("padding"), edge
        )
        sizes.append(None if size is None else max(size, 0))
    inner = (*sizes, kernel[-1]) if layout.endswith("C") else (kernel[-1], *sizes)
    return (*image[:batch], *inner)


CONV = define_op(
    "Conv(input: T, filter: T; T: {half, bfloat16, float, double, int32}, strides: list(int), "
    "padding: {'SAME', 'VALID', 'EXPLICIT'}, explicit_paddings: list(int) = [], data_format: "
    "{'CHANNELS_FIRST', 'CHANNELS_LAST'} = 'CHANNELS_LAST', dilations: list(int) = [], batch_dims: "
    "int = 1, groups: int = 1) -> output: T",
    shape=_conv_shape,
    doc="A convolution over two or three axes, after any number of batch axes.",
).without_gradient("TensorFlow has none either; use tf.nn.conv2d or tf.nn.conv3d")


@compiled_kernel(CONV)
def _conv(ctx: Any, image: Array, kernel: Array) -> Array:
    attrs, batch = _window_attrs(ctx.attrs, kernel.ndim), ctx.attrs["batch_dims"]
    layout = attrs["data_format"]
    flat = _in_one_batch(image, batch)
    window = window_of(layout, flat.shape, kernel.shape[:-2], attrs)
    made = forward(flat, kernel, layout, window, 1)
    return made.reshape(*image.shape[:batch], *made.shape[1:])


@host_kernel(CONV, **SINGLE)
def _small_conv(ctx: Any, image: Array, kernel: Array) -> Array:
    attrs, batch = _window_attrs(ctx.attrs, kernel.ndim), ctx.attrs["batch_dims"]
    flat = _in_one_batch(image, batch)
    made = convolved(FORWARD, attrs, flat.shape, kernel.shape, flat, kernel)
    return made.reshape(*image.shape[:batch], *made.shape[1:])


def _window_attrs(attrs: dict[str, Any], rank: int) -> dict[str, Any]:
    """The attributes of a convolution with a layout and dilations."""
    layout = LAYOUTS[attrs["data_format"], rank - 2]
    return {**attrs, "data_format": layout, "dilations": attrs["dilations"] or (1,) * rank}


def _in_one_batch(image: Array, batch: int) -> Array:
    return image.reshape(math.prod(image.shape[:batch]), *image.shape[batch:])


def _padded_shape(c: ShapeContext, image: Dims, at: int) -> Dims:
    """The output's shape for an image that is padded by input `at` and convolved by the next."""
    kernel = c.rank(at + 1, 4, "filter")
    assert kernel is not None
    image = (None,) * 4 if image is None else image
    pads = c.constant(at)
    strides = c.attr("strides")
    if len(strides) != 4:
        c.fail("four strides", f"{list(strides)}")
    sizes = []
    for axis in (1, 2):
        size = image[axis]
        whole = None if size is None or pads is None else size + int(pads[axis].sum())
        made = output_size(whole, kernel[axis - 1], strides[axis], 1, c.attr("padding"), (0, 0))
        sizes.append(None if made is None else max(made, 0))
    if None not in (image[3], kernel[2]) and image[3] != kernel[2]:
        c.fail("filter depth equal to the input's", f"{kernel[2]} and {image[3]}")
    return (image[0], *sizes, kernel[3])


FUSED_PAD = define_op(
    "FusedPadConv2D(input: T, paddings: int32, filter: T; T: {half, bfloat16, float, double}, mode:"
    " {'REFLECT', 'SYMMETRIC'}, strides: list(int), padding: {'SAME', 'VALID'}) -> output: T",
    shape=lambda c: _padded_shape(c, c.rank(0, 4, "input"), 1),
    host_inputs=("paddings",),
    doc="A convolution of images that are mirrored at their edges first.",
).without_gradient(NO_GRADIENT)


def _mirrored_conv(
    image: Array, paddings: Array, kernel: Array, mode: str, strides: Sequence[int], padding: str
) -> Array:
    wide = jnp.pad(image, paddings.tolist(), mode=mode.lower())
    attrs = {"strides": tuple(strides), "padding": padding}
    window = window_of("NHWC", wide.shape, kernel.shape[:2], attrs)
    return forward(wide, kernel, "NHWC", window, 1)


@compiled_kernel(FUSED_PAD)
def _fused_pad(
    image: Array, paddings: Array, kernel: Array, *, mode: str, strides: Sequence[int], padding: str
) -> Array:
    return _mirrored_conv(image, paddings, kernel, mode, strides, padding)


def _resized_shape(c: ShapeContext) -> Dims:
    image, size = c.rank(0, 4, "input"), c.shape_value(1)
    assert image is not None
    sizes = size if size is not None and len(size) == 2 else (None, None)
    return _padded_shape(c, (image[0], *sizes, image[3]), 2)


FUSED_RESIZE = define_op(
    "FusedResizeAndPadConv2D(input: T, size: int32, paddings: int32, filter: T; T: {half, float, "
    "double}, resize_align_corners: bool = False, mode: {'REFLECT', 'SYMMETRIC'}, strides: "
    "list(int), padding: {'SAME', 'VALID'}) -> output: T",
    shape=_resized_shape,
    host_inputs=("size", "paddings"),
    doc="A convolution of images that are resized (bilinear) and mirrored at their edges first.",
).without_gradient(NO_GRADIENT)


@compiled_kernel(FUSED_RESIZE)
def _fused_resize(
    image: Array, size: Array, paddings: Array, kernel: Array, *, resize_align_corners: bool,
    mode: str, strides: Sequence[int], padding: str,
) -> Array:  # fmt: skip
    resized = bilinear(jnp, image, size, resize_align_corners, False, np.float32)
    resized = resized.astype(image.dtype)
    return _mirrored_conv(resized, paddings, kernel, mode, strides, padding)
