"""Convolutions with what is done to their result in the same pass over memory.

The planner makes these operations from chains of others (`penstock inspect --patterns`), after
gradients were taken; programs do not write them. `bias`, `beside` and `gate` are lists of one or
none: a vector for the last axis, and tensors of the result's shape.
"""

from typing import Any

from penstock.core.kernels import compiled_kernel
from penstock.core.op_def import define_op
from penstock.core.patterns import Chain, Link, add_pattern
from penstock.ops.nn_convolution import (
    ATTRS_2D,
    CONV_2D,
    CONV_2D_INPUT,
    conv_shape,
    forward_kernel,
    given_shape,
    to_input_kernel,
)
from penstock.types.dims import Dims, is_full

Array = Any  # numpy.ndarray, jax.Array or a tracer


FINISHED_CONV_2D = define_op(
    f"PenstockFinishedConv2D(input: T, filter: T, bias: N*T, beside: M*T; {ATTRS_2D}, "
    "N: int >= 0, M: int >= 0, activation: {'', 'Relu', 'Relu6'} = '', "
    "T: {half, bfloat16, float, double}) -> output: T",
    shape=conv_shape,
    doc="A convolution, to which bias and beside are added, then the activation is applied.",
).without_gradient("the planner makes it, after gradients were taken")


def _finished(
    xp: Any, result: Array, bias: list[Array], beside: list[Array], activation: str
) -> Array:
    for each in (*bias, *beside):
        result = result + each
    if activation:
        result = xp.maximum(result, result.dtype.type(0))
    return xp.minimum(result, result.dtype.type(6)) if activation == "Relu6" else result


@compiled_kernel(FINISHED_CONV_2D)
def _finished_conv(
    ctx: Any,
    xp: Any,
    input: Array,
    filter: Array,
    bias: list[Array],
    beside: list[Array],
    *,
    activation: str,
) -> Array:
    return _finished(xp, forward_kernel(ctx, input, filter), bias, beside, activation)


FINISHED_CONV_2D_INPUT = define_op(
    "PenstockFinishedConv2DBackpropInput(input_sizes: int32, filter: T, out_backprop: T, "
    f"beside: M*T, gate: N*T; {ATTRS_2D}, M: int >= 0, N: int >= 0, "
    "T: {half, bfloat16, float, double}) -> output: T",
    shape=given_shape(0),
    host_inputs=("input_sizes",),
    doc="A convolution's gradient by its input, to which beside is added; then it becomes zero "
    "where the gate is not above zero.",
).without_gradient("the planner makes it, after gradients were taken")


@compiled_kernel(FINISHED_CONV_2D_INPUT)
def _finished_input_grad(
    ctx: Any,
    xp: Any,
    input_sizes: Array,
    filter: Array,
    out_backprop: Array,
    beside: list[Array],
    gate: list[Array],
) -> Array:
    result = to_input_kernel(ctx, input_sizes, filter, out_backprop)
    for each in beside:
        result = result + each
    for each in gate:
        result = xp.where(each > 0, result, result.dtype.type(0))
    return result


def _is_bias(attrs: dict[str, Any], result: Dims, other: Dims) -> bool:
    """Whether `other` is a vector for the last axis of `result`."""
    if attrs.get("data_format", "NHWC") != "NHWC" or not result:
        return False
    return other is not None and len(other) == 1 and other[0] == result[-1] is not None


def _is_beside(attrs: dict[str, Any], result: Dims, other: Dims) -> bool:
    return is_full(result) and result == other


def _is_one_beside(attrs: dict[str, Any], result: Dims, other: Dims) -> bool:
    return attrs.get("N", 2) == 2 and _is_beside(attrs, result, other)


LINKS = (
    Link(("BiasAdd", "BiasAddV1", "Add", "AddV2"), "bias", _is_bias),
    Link(("Add", "AddV2"), "beside", _is_beside),
    Link(("Relu", "Relu6"), "activation", lambda attrs, result, other: True),
)
FOLLOWED = (
    "followed by the addition of a bias, the addition of a tensor of its result's shape and Relu "
    "or Relu6: any of these, the last one last"
)
FLOATING = ("float16", "bfloat16", "float32", "float64")
WHEN = "each result on the way has one use"

add_pattern(
    Chain(
        "conv_finish",
        f"Conv2D {FOLLOWED}",
        FINISHED_CONV_2D.name,
        f"{WHEN}; channels last",
        CONV_2D.name,
        lambda attrs: attrs["data_format"] == "NHWC" and attrs["T"].name in FLOATING,
        LINKS,
        FINISHED_CONV_2D.name,
    )
)
GRAD_LINKS = (
    Link(("Add", "AddV2", "AddN"), "beside", _is_one_beside),
    Link(("ReluGrad",), "gate", _is_beside, place=0, ends=True),
)

add_pattern(
    Chain(
        "conv_grad_finish",
        "Conv2DBackpropInput followed by the addition of a tensor of its result's shape and "
        "ReluGrad: either of these, the last one last",
        FINISHED_CONV_2D_INPUT.name,
        f"{WHEN}; channels last",
        CONV_2D_INPUT.name,
        lambda attrs: attrs["data_format"] == "NHWC" and attrs["T"].name in FLOATING,
        GRAD_LINKS,
        FINISHED_CONV_2D_INPUT.name,
    )
)
