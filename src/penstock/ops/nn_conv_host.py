"""Single convolutions of few numbers on the host, where a call of XLA's costs more than the work.

Each kernel serves single calls on CPUs alone: plans compile convolutions with what is beside them.
It takes up to MOST_WORK multiplications, on one thread; more, and whatever is empty, is compiled.
Results are sums in another order than XLA's; float16 and bfloat16 are summed in float32.
"""

import functools
import math
from typing import Any, NamedTuple

from penstock.core.kernels import TooMuchWork, host_kernel
from penstock.core.native_convolutions import FORWARD, TO_FILTER, TO_INPUT, convolve, sizes_of
from penstock.core.native_images import LIBRARY
from penstock.ops.nn_conv_geometry import Window, channel_axis, spatial_axes, window_of
from penstock.ops.nn_convolution import (
    CONV_2D,
    CONV_2D_FILTER,
    CONV_2D_INPUT,
    CONV_3D,
    CONV_3D_FILTER,
    CONV_3D_INPUT,
    DEPTHWISE,
    DEPTHWISE_FILTER,
    DEPTHWISE_INPUT,
    input_shape,
)

Array = Any  # numpy.ndarray
Shape = tuple[int, ...]
MOST_ELEMENTS = 1 << 16  # of the inputs, and of an image with the zeros around it
MOST_WORK = 1 << 19  # multiplications
SINGLE: dict[str, Any] = {
    "device": "CPU", "limit": MOST_ELEMENTS, "available": LIBRARY.is_in_use, "singly": True,
}  # fmt: skip
_LAST = {"NCHW": (0, 2, 3, 1), "NCDHW": (0, 2, 3, 4, 1)}  # axes that put channels last
_FIRST = {"NCHW": (0, 3, 1, 2), "NCDHW": (0, 4, 1, 2, 3)}  # and back


class _Laid(NamedTuple):
    """How a convolution's windows lie: `shape` is the result's, channels last."""

    shape: Shape
    sizes: Array


@functools.lru_cache(maxsize=4096)
def _laid(
    work: int,
    image: Shape,
    filters: Shape,
    layout: str,
    strides: Shape,
    padding: str,
    explicit: Shape,
    dilations: Shape,
) -> _Laid | None:
    """How the windows of a filter lie on an image in this layout; None where there is too much."""
    attrs = {
        "strides": strides,
        "padding": padding,
        "explicit_paddings": explicit,
        "dilations": dilations,
    }
    window = window_of(layout, image, filters[:-2], attrs)
    last = (image[0], *(image[i] for i in spatial_axes(layout)), image[channel_axis(layout)])
    counts = _counts(last, window)
    if min(*last, *filters, *counts) < 1 or last[-1] % filters[-2]:
        return None
    if filters[-1] % (last[-1] // filters[-2]):  # not as many filters for each group
        return None
    outs = (last[0], *counts, filters[-1])
    if _is_too_much(work, last, filters, outs, window):
        return None
    before = [pads[0] for pads in window.pads]
    sizes = sizes_of(last, filters, counts, window.strides, window.dilations, before)
    return _Laid((outs, last, filters)[work], sizes)


def _counts(image: Shape, window: Window) -> Shape:
    """How many windows there are along each axis."""
    w = window
    rows = zip(image[1:-1], w.sizes, w.strides, w.dilations, w.pads, strict=True)
    return tuple((n + sum(p) - (k - 1) * d - 1) // s + 1 for n, k, s, d, p in rows)


def _is_too_much(work: int, image: Shape, filters: Shape, outs: Shape, window: Window) -> bool:
    """Whether a compiled call takes less, or the image with its zeros is much larger."""
    if math.prod(outs[:-1]) * math.prod(filters) > MOST_WORK:
        return True
    if work == TO_INPUT:
        return math.prod(image) > MOST_ELEMENTS
    w = window
    entries = zip(outs[1:-1], w.sizes, w.strides, w.dilations, strict=True)
    around = [(n - 1) * s + (k - 1) * d + 1 for n, k, s, d in entries]
    return image[0] * math.prod(around) * image[-1] > MOST_ELEMENTS


def convolved(
    work: int, attrs: dict[str, Any], image: Shape, filters: Shape, x: Array, y: Array
) -> Array:
    """What `convolve` gives in the layout that the attributes state.

    Args:
      work: FORWARD, TO_INPUT or TO_FILTER.
      attrs: strides, padding, data_format, dilations, and explicit_paddings where there are any.
      image: the shape of the image in that layout.
      filters: that of the filter, in groups.
      x: the first argument of `convolve`, in that layout.
      y: the second.

    Raises:
      TooMuchWork: the compiled kernel is to run.
    """
    layout = attrs["data_format"]
    given = attrs["strides"], attrs["padding"], attrs.get("explicit_paddings", ())
    laid = _laid(work, image, filters, layout, *given, attrs["dilations"])
    if laid is None:
        raise TooMuchWork
    first = layout in _LAST
    if first:
        x = x if work == TO_INPUT else x.transpose(_LAST[layout])
        y = y if work == FORWARD else y.transpose(_LAST[layout])
    found = convolve(work, x, y, laid.sizes, laid.shape)
    if found is None:  # the library was switched off, or memory is short
        raise TooMuchWork
    return found.transpose(_FIRST[layout]) if first and work != TO_FILTER else found


def _grouped(filters: Shape) -> Shape:
    """A depthwise filter's shape as one of groups of a channel each."""
    return (*filters[:-2], 1, filters[-2] * filters[-1])


def _ints(sizes: Array) -> Shape:
    return tuple(sizes.tolist())


@host_kernel(CONV_2D, **SINGLE)
@host_kernel(CONV_3D, **SINGLE)
def _conv(ctx: Any, x: Array, w: Array) -> Array:
    return convolved(FORWARD, ctx.attrs, x.shape, w.shape, x, w)


@host_kernel(CONV_2D_INPUT, **SINGLE)
@host_kernel(CONV_3D_INPUT, **SINGLE)
def _to_input(ctx: Any, sizes: Array, w: Array, grad: Array) -> Array:
    shape = input_shape(_ints(sizes), w, grad, ctx.attrs["data_format"])
    return convolved(TO_INPUT, ctx.attrs, shape, w.shape, w, grad)


@host_kernel(CONV_2D_FILTER, **SINGLE)
@host_kernel(CONV_3D_FILTER, **SINGLE)
def _to_filter(ctx: Any, x: Array, sizes: Array, grad: Array) -> Array:
    return convolved(TO_FILTER, ctx.attrs, x.shape, _ints(sizes), x, grad)


@host_kernel(DEPTHWISE, **SINGLE)
def _depthwise(ctx: Any, x: Array, w: Array) -> Array:
    return convolved(FORWARD, ctx.attrs, x.shape, _grouped(w.shape), x, w)


@host_kernel(DEPTHWISE_INPUT, **SINGLE)
def _depthwise_to_input(ctx: Any, sizes: Array, w: Array, grad: Array) -> Array:
    shape = input_shape(_ints(sizes), w, grad, ctx.attrs["data_format"])
    return convolved(TO_INPUT, ctx.attrs, shape, _grouped(w.shape), w, grad)


@host_kernel(DEPTHWISE_FILTER, **SINGLE)
def _depthwise_to_filter(ctx: Any, x: Array, sizes: Array, grad: Array) -> Array:
    shape = _ints(sizes)
    found = convolved(TO_FILTER, ctx.attrs, x.shape, _grouped(shape), x, grad)
    return found.reshape(shape)
