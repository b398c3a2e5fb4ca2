"""Transposed convolutions that are given a tensor where others are given its shape.

`Conv2DBackpropInputV2` and `Conv2DBackpropFilterV2`, and the first ones of three dimensions:
GraphDefs before version 10 hold them as `Conv3DBackpropInput` and `Conv3DBackpropFilter`.
"""

from collections.abc import Callable
from typing import Any

from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops import nn_convolution as conv
from penstock.ops.composing import shape_of
from penstock.ops.nn_conv_geometry import check_attrs
from penstock.types.dims import Dims

Array = Any  # a JAX tracer


def _shape_of(position: int) -> Callable[[ShapeContext], Dims]:
    """The output's shape is that of an input; the gradient must fit it."""

    def rule(c: ShapeContext) -> Dims:
        layout = c.attr("data_format")
        check_attrs(c, layout, ("strides", "dilations"))
        c.rank(2, len(layout), "out_backprop")
        dims = c.rank(position, len(layout), ("input", "filter")[position])
        conv.check_backprop(c, layout, position, dims)
        return dims

    return rule


def _define(name: str, suffix: str, types: str, attrs: str) -> tuple[OpDef, OpDef]:
    to_input = define_op(
        f"{name}BackpropInput{suffix}(input: T, filter: T, out_backprop: T; T: {{{types}}}, "
        f"{attrs}) -> output: T",
        shape=_shape_of(0),
        doc="The gradient of a convolution by its input, which is given for its shape.",
    )
    types = types.replace(", int32", "")
    to_filter = define_op(
        f"{name}BackpropFilter{suffix}(input: T, filter: T, out_backprop: T; T: {{{types}}}, "
        f"{attrs}) -> output: T",
        shape=_shape_of(1),
        doc="The gradient of a convolution by its filter, which is given for its shape.",
    )
    return to_input, to_filter


def _register(ops: tuple[OpDef, OpDef], by_shapes: tuple[OpDef, ...], names: Any) -> None:
    """Kernels and gradients; `by_shapes`: the convolution, and its transposes by shapes."""
    to_input, to_filter = ops
    ahead, input_by_shape, filter_by_shape = by_shapes

    @compiled_kernel(to_input)
    def _to_input(ctx: Any, image: Array, kernel: Array, grad: Array) -> Array:
        return conv.to_input_kernel(ctx, image.shape, kernel, grad)

    @compiled_kernel(to_filter)
    def _to_filter(ctx: Any, image: Array, kernel: Array, grad: Array) -> Array:
        return conv.to_filter_kernel(ctx, image, kernel.shape, grad)

    def attrs(op: Any) -> dict[str, Any]:
        return {name: op.get_attr(name) for name in names}

    @to_input.gradient
    def _to_input_gradient(op: Any, grad: Any) -> list[Any]:
        _, kernel, out_grad = op.inputs
        return [
            None,
            execute(filter_by_shape, (grad, shape_of(kernel), out_grad), attrs(op)),
            execute(ahead, (grad, kernel), attrs(op)),
        ]

    @to_filter.gradient
    def _to_filter_gradient(op: Any, grad: Any) -> list[Any]:
        image, _, out_grad = op.inputs
        return [
            execute(input_by_shape, (shape_of(image), grad, out_grad), attrs(op)),
            None,
            execute(ahead, (image, grad), attrs(op)),
        ]


_register(
    _define("Conv2D", "V2", conv.FLOATS + ", int32", conv.ATTRS_2D),
    (conv.CONV_2D, conv.CONV_2D_INPUT, conv.CONV_2D_FILTER),
    (*conv.NAMES, "use_cudnn_on_gpu"),
)
_register(
    _define("PenstockConv3D", "", "half, float, double", conv.ATTRS_3D),
    (conv.CONV_3D, conv.CONV_3D_INPUT, conv.CONV_3D_FILTER),
    conv.NAMES_3D,
)
