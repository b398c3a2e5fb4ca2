"""Convolutions over two and three spatial axes, grouped and depthwise ones, and their gradients.

A convolution is linear in its input and in its filter. `Conv2DBackpropInput` and
`Conv2DBackpropFilter` are the transposed maps, written as convolutions again: over the dilated
gradient with the flipped filter, and of input with gradient with batch and channels exchanged. So
the three operations are each other's gradients, to any order. The kernels here are compiled ones.
"""

from collections.abc import Callable
from typing import Any

from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel
from penstock.core.lazy import jnp, lax
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.composing import shape_of
from penstock.ops.nn_conv_geometry import (
    Window,
    channel_axis,
    check_attrs,
    sliding_shape,
    spatial_axes,
    window_of,
)
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any
FLOATS = "half, bfloat16, float, double"
ATTRS_2D = (
    "strides: list(int), use_cudnn_on_gpu: bool = True, padding: {'SAME', 'VALID', 'EXPLICIT'}, "
    "explicit_paddings: list(int) = [], data_format: {'NHWC', 'NCHW'} = 'NHWC', "
    "dilations: list(int) = [1, 1, 1, 1]"
)
ATTRS_DEPTHWISE = ATTRS_2D.replace("use_cudnn_on_gpu: bool = True, ", "")
ATTRS_3D = (
    "strides: list(int) >= 5, padding: {'SAME', 'VALID'}, "
    "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC', dilations: list(int) = [1, 1, 1, 1, 1]"
)


def conv_shape(c: ShapeContext) -> Dims:
    """The shape of a convolution's output, checked."""
    layout = c.attr("data_format")
    check_attrs(c, layout, ("strides", "dilations"))
    rank = len(layout)
    image = c.rank(0, rank, "input", lambda: _flat(c, 0, rank, "convolution input"))
    kernel = c.rank(1, rank, "filter", lambda: _flat(c, 1, rank, "filter"))
    assert image is not None
    assert kernel is not None
    _check_depths(c, image[channel_axis(layout)], kernel)
    return sliding_shape(c, layout, image, kernel[:-2], kernel[-1])


def _flat(c: ShapeContext, index: int, rank: int, what: str) -> str:
    return f"{what} must be {rank}-dimensional: {d.bracketed(c.shape(index))}"


def _check_depths(c: ShapeContext, depth: int | None, kernel: Any) -> None:
    inner, outer = kernel[-2:]
    if depth is None or inner is None:
        return
    if inner == 0 or depth % inner:
        known = c.says(
            f"input depth must be evenly divisible by filter depth: {depth} vs {inner}",
            f"Depth of input ({depth}) is not a multiple of input depth of filter ({inner})",
        )
        c.fail(
            "an input depth evenly divisible by the filter depth",
            f"{known} (filter {d.text(kernel)})",
            "The filter is [sizes..., input depth / groups, output depth].",
        )
    if depth and outer is not None and outer % (depth // inner):
        c.fail(
            "an output depth evenly divisible by the number of groups",
            f"{outer} and {depth // inner} groups",
        )


def _check_depth(
    c: ShapeContext, image: tuple[int | None, ...], kernel: tuple[int | None, ...]
) -> None:
    depth = image[channel_axis(c.attr("data_format"))]
    if not d.compatible((depth,), (kernel[2],)):
        known = c.says(
            f"input and filter must have the same depth: {depth} vs {kernel[2]}",
            f"Dimensions must be equal, but are {depth} and {kernel[2]}",
        )
        c.fail(
            "a filter whose third size is the input depth",
            f"filter {d.text(kernel)} for input {d.text(image)}: {known}",
        )


def _depthwise_shape(c: ShapeContext) -> Dims:
    layout = c.attr("data_format")
    check_attrs(c, layout, ("strides", "dilations"))
    image, kernel = c.rank(0, 4, "input"), c.rank(1, 4, "filter")
    assert image is not None
    assert kernel is not None
    _check_depth(c, image, kernel)
    depth = image[channel_axis(layout)] if kernel[2] is None else kernel[2]
    return sliding_shape(c, layout, image, kernel[:2], _times(depth, kernel[3]))


def given_shape(position: int) -> Callable[[ShapeContext], Dims]:
    """The output's shape is the value of an input; the gradient must fit it."""

    def rule(c: ShapeContext) -> Dims:
        layout = c.attr("data_format")
        check_attrs(c, layout, ("strides", "dilations"))
        c.rank(2, len(layout), "out_backprop")
        sizes = c.shape_value(position)
        if sizes is None:
            sizes = (None,) * len(layout)
        if position == 0 and len(sizes) == len(layout) - 2:  # spatial sizes only
            sizes = _whole_shape(c, layout, sizes)
        if len(sizes) != len(layout):
            c.fail(f"a shape of {len(layout)} sizes", f"{list(sizes)}")
        check_backprop(c, layout, position, sizes)
        grad = c.shape(2)
        return (grad[0], *sizes[1:]) if position == 0 and grad and sizes[0] is None else sizes

    return rule


def _whole_shape(c: ShapeContext, layout: str, sizes: Any) -> Any:
    """Spatial sizes completed with batch and depth, as older callers leave them out."""
    kernel, grad = c.shape(1), c.shape(2)
    result: list[int | None] = [None] * len(layout)
    result[0] = None if grad is None else grad[0]
    result[channel_axis(layout)] = None if kernel is None else kernel[-2]
    for axis, size in zip(spatial_axes(layout), sizes, strict=True):
        result[axis] = size
    return tuple(result)


def check_backprop(c: ShapeContext, layout: str, position: int, sizes: Dims) -> None:
    """The gradient must have the shape that the convolution gives."""
    image = sizes if position == 0 else c.rank(0, len(layout), "input")
    kernel = sizes if position == 1 else c.rank(1, len(layout), "filter")
    if image is None or kernel is None or len(kernel) != len(layout):
        return
    depthwise = c.op_name.startswith("Depthwise")
    if depthwise:
        _check_depth(c, image, kernel)
    else:
        _check_depths(c, image[channel_axis(layout)], kernel)
    channels = _times(kernel[-2], kernel[-1]) if depthwise else kernel[-1]
    wanted = sliding_shape(c, layout, image, kernel[:-2], channels)
    given = c.shape(2)
    if d.compatible(wanted, given):
        return
    assert wanted is not None
    assert given is not None
    expected = f"out_backprop of shape {d.text(wanted)}"
    fact = _other_backprop(c, layout, wanted, given)
    got = f"{d.text(given)} for input {d.text(image)} and filter {d.text(kernel)}: {fact}"
    depth = channel_axis(layout)
    if len(given) != len(layout):
        c.fail(expected, got)
    # Building this one's graph compares batches and depths, a step the rest.
    outer = [(dims[0], dims[depth]) for dims in (wanted, given)]
    if c.op_name == "Conv2DBackpropInput" and not d.compatible(*outer):
        c.fail(expected, got)
    c.fail_at_step(expected, got, known=sizes)


def _other_backprop(c: ShapeContext, layout: str, wanted: Any, given: Any) -> str:
    """What a gradient of another shape is known by."""
    pairs = list(zip(wanted, given, strict=True)) if len(wanted) == len(given) else []
    m, n = pairs[channel_axis(layout)] if pairs else (None, None)
    if None not in (m, n) and m != n:
        return c.says(
            "filter and out_backprop must have the same out_depth",
            f"Dimensions must be equal, but are {n} and {m}",
        )
    m, n = pairs[0] if pairs else (None, None)
    if None not in (m, n) and m != n:
        return c.says(
            f"input and out_backprop must have the same batch size. Input batch: {m}, outbackprop"
            f" batch: {n}",
            f"Dimensions must be equal, but are {m} and {n}",
        )
    for axis in spatial_axes(layout) if pairs else ():
        m, n = pairs[axis]
        if None not in (m, n) and m != n:
            return f"Size of out_backprop doesn't match computed: actual = {n}, computed = {m}"
    return "Shapes must be equal"


def _times(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a * b


def _define(
    name: str, suffix: str, attrs: str, types: str, sizes: str = "int32", extra: str = ""
) -> tuple[OpDef, OpDef, OpDef]:
    """A convolution and its two transposes."""
    rule = _depthwise_shape if name.startswith("Depthwise") else conv_shape
    forward = define_op(
        f"{name}(input: T, filter: T; T: {{{types}}}, {attrs}) -> output: T",
        shape=rule,
        doc="Slides a filter over the input: sums of products.",
    )
    to_input = define_op(
        f"{name}BackpropInput{suffix}(input_sizes: {sizes}, filter: T, out_backprop: T; "
        f"T: {{{types}}}, {attrs}{extra}) -> output: T",
        shape=given_shape(0),
        host_inputs=("input_sizes",),
        doc=f"The gradient of {name} with respect to its input.",
    )
    types = types.replace(", int32", "")
    to_filter = define_op(
        f"{name}BackpropFilter{suffix}(input: T, filter_sizes: int32, out_backprop: T; "
        f"T: {{{types}}}, {attrs}) -> output: T",
        shape=given_shape(1),
        host_inputs=("filter_sizes",),
        doc=f"The gradient of {name} with respect to its filter.",
    )
    return forward, to_input, to_filter


CONV_2D, CONV_2D_INPUT, CONV_2D_FILTER = _define("Conv2D", "", ATTRS_2D, FLOATS + ", int32")
CONV_3D, CONV_3D_INPUT, CONV_3D_FILTER = _define(
    "Conv3D", "V2", ATTRS_3D, FLOATS, "Tshape", ", Tshape: {int32, int64} = int32"
)
DEPTHWISE, DEPTHWISE_INPUT, DEPTHWISE_FILTER = _define(
    "DepthwiseConv2dNative", "", ATTRS_DEPTHWISE, FLOATS
)


def numbers(layout: str) -> Any:
    """The dimension numbers of a convolution in `layout` with a filter [sizes..., in, out]."""
    spatial = "".join(layout[i] for i in spatial_axes(layout))
    return layout, spatial + "IO", layout


def forward(image: Array, kernel: Array, layout: str, window: Window, groups: int) -> Array:
    """The convolution of an image with a filter [sizes..., in / groups, out]."""
    return lax.conv_general_dilated(
        image,
        kernel,
        window.strides,
        window.pads,
        rhs_dilation=window.dilations,
        dimension_numbers=numbers(layout),
        feature_group_count=groups,
        preferred_element_type=image.dtype,
    )


def _margins(window: Window, image: Any, grad: Any) -> list[tuple[int, int, int]]:
    """For each axis: pad before, pad after, and the size of the dilated gradient."""
    result = []
    for i, size in enumerate(image):
        reach = (window.sizes[i] - 1) * window.dilations[i] + 1
        spread = (grad[i] - 1) * window.strides[i] + 1 if grad[i] else 0
        before = reach - 1 - window.pads[i][0]
        result.append((before, size + reach - 1 - spread - before, spread))
    return result


def backprop_input(
    shape: tuple[int, ...], kernel: Array, grad: Array, layout: str, window: Window, groups: int
) -> Array:
    """The transposed map: from the output's gradient to the input's."""
    axes = spatial_axes(layout)
    if 0 in grad.shape or 0 in kernel.shape:
        return jnp.zeros(shape, grad.dtype)
    margins = _margins(window, [shape[i] for i in axes], [grad.shape[i] for i in axes])
    flipped = jnp.flip(kernel, tuple(range(len(axes))))
    return lax.conv_general_dilated(
        grad,
        _exchanged(flipped, groups),
        (1,) * len(axes),
        [(before, after) for before, after, _ in margins],
        lhs_dilation=window.strides,
        rhs_dilation=window.dilations,
        dimension_numbers=numbers(layout),
        feature_group_count=groups,
        preferred_element_type=grad.dtype,
    )


def _exchanged(kernel: Array, groups: int) -> Array:
    """A filter [..., in / groups, out] as [..., out / groups, in], group by group."""
    *sizes, inner, outer = kernel.shape
    parts = kernel.reshape(*sizes, inner, groups, outer // groups)
    turned = jnp.moveaxis(parts, -1, -3).swapaxes(-1, -2)
    return turned.reshape(*sizes, outer // groups, groups * inner)


def backprop_filter(
    image: Array, shape: tuple[int, ...], grad: Array, layout: str, window: Window, groups: int
) -> Array:
    """The map from the output's gradient to the filter's, for a fixed input."""
    axes = spatial_axes(layout)
    if 0 in image.shape or 0 in grad.shape:
        return jnp.zeros(shape, grad.dtype)
    pads = []
    for place, axis in enumerate(axes):
        before = window.pads[place][0]
        reach = (window.sizes[place] - 1) * window.dilations[place] + 1
        spread = (grad.shape[axis] - 1) * window.strides[place] + 1
        pads.append((before, reach - 1 + spread - image.shape[axis] - before))
    # batch and channels change places
    swapped = layout.replace("N", "?").replace("C", "N").replace("?", "C")
    spatial = "".join(layout[i] for i in axes)
    by_output = layout.replace("N", "I").replace("C", "O")
    return lax.conv_general_dilated(
        image,
        grad,
        window.dilations,
        pads,
        rhs_dilation=window.strides,
        dimension_numbers=(swapped, by_output, spatial + "NC"),
        batch_group_count=groups,
        preferred_element_type=grad.dtype,
    )


def _register(ops: tuple[OpDef, OpDef, OpDef], names: tuple[str, ...]) -> None:
    """Kernels and gradients of a convolution and its transposes."""
    ahead, to_input, to_filter = ops

    @compiled_kernel(ahead)
    def _ahead(ctx: Any, image: Array, kernel: Array) -> Array:
        return forward_kernel(ctx, image, kernel)

    @compiled_kernel(to_input)
    def _to_input(ctx: Any, sizes: Array, kernel: Array, grad: Array) -> Array:
        return to_input_kernel(ctx, sizes, kernel, grad)

    compiled_kernel(to_filter)(to_filter_kernel)

    _register_gradients(ops, names)


def forward_kernel(ctx: Any, image: Array, kernel: Array, depthwise: bool = False) -> Array:
    """A convolution with the attributes that `ctx` has, for any device."""
    layout = ctx.attrs["data_format"]
    window = window_of(layout, image.shape, kernel.shape[:-2], ctx.attrs)
    kernel, groups = _grouped(kernel, image.shape[channel_axis(layout)], depthwise)
    return forward(image, kernel, layout, window, groups)


def to_input_kernel(
    ctx: Any, sizes: Any, kernel: Array, grad: Array, depthwise: bool = False
) -> Array:
    """The gradient of a convolution by its input, with the attributes that `ctx` has."""
    layout = ctx.attrs["data_format"]
    shape = input_shape(sizes, kernel, grad, layout)
    window = window_of(layout, shape, kernel.shape[:-2], ctx.attrs)
    kernel, groups = _grouped(kernel, shape[channel_axis(layout)], depthwise)
    return backprop_input(shape, kernel, grad, layout, window, groups)


def to_filter_kernel(ctx: Any, image: Array, sizes: Any, grad: Array) -> Array:
    """The gradient of a convolution by its filter, with the attributes that `ctx` has."""
    layout = ctx.attrs["data_format"]
    shape = tuple(int(n) for n in sizes)
    window = window_of(layout, image.shape, shape[:-2], ctx.attrs)
    depth = image.shape[channel_axis(layout)]
    groups = depth // shape[-2] if depth else 1
    return backprop_filter(image, shape, grad, layout, window, groups)


@compiled_kernel(DEPTHWISE)
def depthwise_forward(ctx: Any, image: Array, kernel: Array) -> Array:
    """The kernel of DepthwiseConv2dNative for any device and filter size."""
    return forward_kernel(ctx, image, kernel, True)


@compiled_kernel(DEPTHWISE_INPUT)
def depthwise_to_input(ctx: Any, sizes: Array, kernel: Array, grad: Array) -> Array:
    """The kernel of DepthwiseConv2dNativeBackpropInput for any device and filter size."""
    return to_input_kernel(ctx, sizes, kernel, grad, True)


@compiled_kernel(DEPTHWISE_FILTER)
def depthwise_to_filter(ctx: Any, image: Array, sizes: Array, grad: Array) -> Array:
    """The kernel of DepthwiseConv2dNativeBackpropFilter for any device and filter size."""
    layout = ctx.attrs["data_format"]
    shape = tuple(int(n) for n in sizes)
    window = window_of(layout, image.shape, shape[:-2], ctx.attrs)
    flat = (*shape[:-2], 1, shape[-2] * shape[-1])
    depth = image.shape[channel_axis(layout)]
    return backprop_filter(image, flat, grad, layout, window, depth).reshape(shape)


def _grouped(kernel: Array, depth: int, depthwise: bool) -> tuple[Array, int]:
    """The filter [sizes..., in / groups, out] and the number of groups."""
    if depthwise:
        return kernel.reshape(*kernel.shape[:-2], 1, -1), depth
    return kernel, depth // kernel.shape[-2] if depth else 1


def input_shape(sizes: Any, kernel: Array, grad: Array, layout: str) -> tuple[int, ...]:
    """The shape of a convolution's input whose sizes, or spatial sizes alone, are given."""
    shape = tuple(int(n) for n in sizes)
    if len(shape) == len(layout):
        return shape
    full = [grad.shape[0]] * len(layout)
    full[channel_axis(layout)] = kernel.shape[-2]
    for axis, size in zip(spatial_axes(layout), shape, strict=True):
        full[axis] = size
    return tuple(full)


def _register_gradients(ops: tuple[OpDef, OpDef, OpDef], names: tuple[str, ...]) -> None:
    ahead, to_input, to_filter = ops

    def attrs(op: Any) -> dict[str, Any]:
        return {name: op.get_attr(name) for name in names}

    @ahead.gradient
    def _ahead_gradient(op: Any, grad: Any) -> list[Any]:
        image, kernel = op.inputs
        return [
            execute(to_input, (shape_of(image), kernel, grad), attrs(op)),
            execute(to_filter, (image, shape_of(kernel), grad), attrs(op)),
        ]

    @to_input.gradient
    def _to_input_gradient(op: Any, grad: Any) -> list[Any]:
        _, kernel, out_grad = op.inputs
        return [
            None,
            execute(to_filter, (grad, shape_of(kernel), out_grad), attrs(op)),
            execute(ahead, (grad, kernel), attrs(op)),
        ]

    @to_filter.gradient
    def _to_filter_gradient(op: Any, grad: Any) -> list[Any]:
        image, _, out_grad = op.inputs
        return [
            execute(to_input, (shape_of(image), grad, out_grad), attrs(op)),
            None,
            execute(ahead, (image, grad), attrs(op)),
        ]


NAMES_3D = ("strides", "padding", "data_format", "dilations")
NAMES = (*NAMES_3D, "explicit_paddings")
_register((CONV_2D, CONV_2D_INPUT, CONV_2D_FILTER), (*NAMES, "use_cudnn_on_gpu"))
_register((CONV_3D, CONV_3D_INPUT, CONV_3D_FILTER), NAMES_3D)
_register_gradients((DEPTHWISE, DEPTHWISE_INPUT, DEPTHWISE_FILTER), NAMES)
