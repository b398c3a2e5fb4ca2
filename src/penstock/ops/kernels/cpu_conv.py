"""Native convolutions for CPU: float32, over two and three axes, in one or more groups.

Float16 and bfloat16 are widened before a call and its result is rounded once: that is faster than
XLA's convolutions of them (1.4 to 2.5 times with gradients), and XLA's sums depend on the number of
threads. Where the processor multiplies bfloat16 itself, `cpu_dot` has a kernel that comes first.
The library takes images with channels last. Channels that come first are moved there before a call
and the result's back after it, which costs one pass over each and is what XLA does too. A depthwise
filter [h, w, in, multiplier] is in memory a filter of as many groups as there are channels, [h, w,
1, in * multiplier]. Gradients by the input where both strides and dilations are above 1 stay with
XLA, and so does everything empty or small.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core import determinism, native
from penstock.core.kernels import compiled_kernel
from penstock.core.lazy import jax, jnp
from penstock.ops.nn_conv_geometry import Window, channel_axis, spatial_axes, window_of

Array = Any  # a JAX tracer
FLOAT = {"device": "CPU", "types": {"T": ["float32"]}}
WIDENED = {"device": "CPU", "types": {"T": ["float32", "float16", "bfloat16"]}}
LEAST_WORK = 1 << 18  # multiplications; below, a call costs more than it saves
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sliding:
    """A convolution as the library sees it: shapes with channels last, filters in groups."""

    layout: str
    image: Shape
    filters: Shape
    window: Window

    @property
    def result(self) -> Shape:
        """The shape of the output."""
        w = self.window
        rows = zip(self.image[1:-1], w.sizes, w.strides, w.dilations, w.pads, strict=True)
        out = [(n + sum(p) - (k - 1) * d - 1) // s + 1 for n, k, s, d, p in rows]
        return (self.image[0], *out, self.filters[-1])

    @property
    def numbers(self) -> Array:
        """What the library calls the window: strides, dilations, and the pads before."""
        w = self.window
        return np.array([*w.strides, *w.dilations, *(before for before, _ in w.pads)], np.int64)

    def worth_a_call(self) -> bool:
        """Whether nothing is empty and there is enough to do.

        However little is enough where bits may not depend on the number of threads, as XLA's do.
        """
        sizes = (*self.image, *self.filters, *self.result)
        if not native.available() or min(sizes) < 1 or self.image[-1] % self.filters[-2]:
            return False
        work = math.prod(self.result[:-1]) * math.prod(self.filters)
        return work >= LEAST_WORK or determinism.required()


def sliding(attrs: dict[str, Any], image: Sequence[int], filters: Sequence[int]) -> Sliding:
    """The convolution of an image with a filter of these shapes.

    Args:
      attrs: the operation's attributes.
      image: the image's shape, in the layout that the attributes state.
      filters: the filter's shape, [sizes..., in / groups, out], or of a depthwise operation
        [h, w, in, multiplier].
    """
    layout = attrs["data_format"]
    window = window_of(layout, image, filters[:-2], attrs)
    last = (image[0], *(image[i] for i in spatial_axes(layout)), image[channel_axis(layout)])
    return Sliding(layout, last, tuple(filters), window)


def _grouped(shape: Sequence[int]) -> Shape:
    """A depthwise filter's shape as one of groups of a channel each."""
    return (*shape[:-2], 1, shape[-2] * shape[-1])


def _first(layout: str) -> bool:
    return layout.index("C") == 1


def _to_last(x: Array, layout: str) -> Array:
    return jnp.moveaxis(x, 1, -1) if _first(layout) else x


def _called(function: str, layout: str, shape: Shape, *arrays: Array, **attrs: Any) -> Array:
    """A call that gives an image; `shape` with channels last, the result in the layout."""
    found = _in_single(function, shape, *arrays, **attrs)
    return jnp.moveaxis(found, -1, 1) if _first(layout) else found


def _in_single(function: str, shape: Shape, *arrays: Array, **attrs: Any) -> Array:
    """A call of the library, which computes in float32, with the arrays' dtype given back."""
    wide = (x.astype(np.float32) for x in arrays)
    found = native.call(function, jax.ShapeDtypeStruct(shape, np.float32), *wide, **attrs)
    return found.astype(arrays[0].dtype)


def _one_of(attrs: dict[str, Any]) -> bool:
    """Whether strides and dilations are not both above 1, as gradients by the input need it."""
    return all(n == 1 for n in attrs["strides"]) or all(n == 1 for n in attrs["dilations"])


def _conv(ctx: Any, x: Array, w: Array) -> Array:
    s = sliding(ctx.attrs, x.shape, w.shape)
    return _called("conv", s.layout, s.result, _to_last(x, s.layout), w, window=s.numbers)


def _input_grad(ctx: Any, sizes: Array, w: Array, dy: Array) -> Array:
    s = sliding(ctx.attrs, tuple(int(n) for n in sizes), w.shape)
    grad = _to_last(dy, s.layout)
    return _called("conv_input_grad", s.layout, s.image, w, grad, window=s.numbers)


def _filter_grad(ctx: Any, x: Array, shape: Shape, dy: Array) -> Array:
    s = sliding(ctx.attrs, x.shape, shape)
    arrays = _to_last(x, s.layout), _to_last(dy, s.layout)
    return _in_single("conv_filter_grad", shape, *arrays, window=s.numbers)


# two and three axes, in groups or not


def _when_conv(attrs: dict[str, Any], x: Array, w: Array) -> bool:
    return sliding(attrs, x.shape, w.shape).worth_a_call()


def _when_input_grad(attrs: dict[str, Any], sizes: Array, w: Array, dy: Array) -> bool:
    if len(sizes) != w.ndim or not _one_of(attrs):
        return False
    return sliding(attrs, tuple(int(n) for n in sizes), w.shape).worth_a_call()


def _when_filter_grad(attrs: dict[str, Any], x: Array, sizes: Array, dy: Array) -> bool:
    return sliding(attrs, x.shape, tuple(int(n) for n in sizes)).worth_a_call()


@compiled_kernel("Conv2D", when=_when_conv, **WIDENED)
@compiled_kernel("Conv3D", when=_when_conv, **WIDENED)
def conv(ctx: Any, x: Array, w: Array) -> Array:
    """Conv2D and Conv3D."""
    return _conv(ctx, x, w)


@compiled_kernel("Conv2DBackpropInput", when=_when_input_grad, **WIDENED)
@compiled_kernel("Conv3DBackpropInputV2", when=_when_input_grad, **WIDENED)
def conv_input_grad(ctx: Any, sizes: Array, w: Array, dy: Array) -> Array:
    """The gradient of Conv2D and Conv3D by the input."""
    return _input_grad(ctx, sizes, w, dy)


@compiled_kernel("Conv2DBackpropFilter", when=_when_filter_grad, **WIDENED)
@compiled_kernel("Conv3DBackpropFilterV2", when=_when_filter_grad, **WIDENED)
def conv_filter_grad(ctx: Any, x: Array, sizes: Array, dy: Array) -> Array:
    """The gradient of Conv2D and Conv3D by the filter."""
    return _filter_grad(ctx, x, tuple(int(n) for n in sizes), dy)


# depthwise


def _when_depthwise(attrs: dict[str, Any], x: Array, w: Array) -> bool:
    return sliding(attrs, x.shape, _grouped(w.shape)).worth_a_call()


def _when_depthwise_input(attrs: dict[str, Any], sizes: Array, w: Array, dy: Array) -> bool:
    if len(sizes) != w.ndim or not _one_of(attrs):
        return False
    return sliding(attrs, tuple(int(n) for n in sizes), _grouped(w.shape)).worth_a_call()


def _when_depthwise_filter(attrs: dict[str, Any], x: Array, sizes: Array, dy: Array) -> bool:
    return sliding(attrs, x.shape, _grouped([int(n) for n in sizes])).worth_a_call()


@compiled_kernel("DepthwiseConv2dNative", when=_when_depthwise, **WIDENED)
def depthwise(ctx: Any, x: Array, w: Array) -> Array:
    """DepthwiseConv2dNative."""
    return _conv(ctx, x, w.reshape(_grouped(w.shape)))


@compiled_kernel("DepthwiseConv2dNativeBackpropInput", when=_when_depthwise_input, **WIDENED)
def depthwise_input_grad(ctx: Any, sizes: Array, w: Array, dy: Array) -> Array:
    """DepthwiseConv2dNativeBackpropInput."""
    return _input_grad(ctx, sizes, w.reshape(_grouped(w.shape)), dy)


@compiled_kernel("DepthwiseConv2dNativeBackpropFilter", when=_when_depthwise_filter, **WIDENED)
def depthwise_filter_grad(ctx: Any, x: Array, sizes: Array, dy: Array) -> Array:
    """DepthwiseConv2dNativeBackpropFilter."""
    shape = tuple(int(n) for n in sizes)
    return _filter_grad(ctx, x, _grouped(shape), dy).reshape(shape)


# finished in the same pass


def _when_finished_conv(attrs: dict[str, Any], x: Array, w: Array, *rest: Array) -> bool:
    return not _first(attrs["data_format"]) and _when_conv(attrs, x, w)


@compiled_kernel("PenstockFinishedConv2D", when=_when_finished_conv, **FLOAT)
def finished_conv(ctx: Any, x: Array, w: Array, bias: list[Array], beside: list[Array]) -> Array:
    """Conv2D of float32 images, channels last, finished where its result is stored."""
    s = sliding(ctx.attrs, x.shape, w.shape)
    held = (x, w, (bias or [x])[0], (beside or [x])[0])  # what is not there is any array
    activation = ("", "Relu", "Relu6").index(ctx.attrs["activation"])
    uses = np.int32(len(bias) + 2 * len(beside))
    finish = {"uses": uses, "activation": np.int32(activation)}
    return _called("finished_conv", s.layout, s.result, *held, window=s.numbers, **finish)


def _when_finished_input_grad(
    attrs: dict[str, Any], sizes: Array, w: Array, dy: Array, *rest: Array
) -> bool:
    if _first(attrs["data_format"]) or not _when_input_grad(attrs, sizes, w, dy):
        return False
    strides = [attrs["strides"][i] for i in spatial_axes(attrs["data_format"])]
    return all(k >= n for k, n in zip(w.shape, strides, strict=False))  # a tap for each pixel


@compiled_kernel("PenstockFinishedConv2DBackpropInput", when=_when_finished_input_grad, **FLOAT)
def finished_conv_input_grad(
    ctx: Any, sizes: Array, w: Array, dy: Array, beside: list[Array], gate: list[Array]
) -> Array:
    """The gradient of Conv2D by the input, float32, channels last, finished where it is stored."""
    s = sliding(ctx.attrs, tuple(int(n) for n in sizes), w.shape)
    held = (w, dy, (beside or [w])[0], (gate or [w])[0])  # what is not there is any array
    uses = np.int32(2 * len(beside) + 4 * len(gate))
    function = "finished_conv_input_grad"
    return _called(function, s.layout, s.image, *held, window=s.numbers, uses=uses)
