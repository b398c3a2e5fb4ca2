"""Adding a vector to the channels of a tensor.

The gradient with respect to the vector is a sum over all other axes. XLA's CPU code for a sum over
leading axes walks memory in large strides, so `BiasAddGrad` multiplies by a row of ones there.
"""

import math
from typing import Any

from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.ops.composing import scope, tensor
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any


def _channel_axis(c: ShapeContext, rank: int) -> int:
    return 1 if c.attrs.get("data_format") == "NCHW" and rank > 1 else rank - 1


def _bias_add_shape(c: ShapeContext) -> Dims:
    value, bias = (
        c.rank_at_least(0, 2, "value"),
        c.rank(1, 1, "bias", lambda: c.bracketed("Biases must be 1D: {}", 1)),
    )
    assert bias is not None
    if value is None:
        return None
    axis = _channel_axis(c, len(value))
    if not d.compatible((value[axis],), bias):
        c.fail(
            "as many biases as the channel dimension of the input tensor",
            f"{bias[0]} biases for shape {d.text(value)}: Dimensions must be equal, but are"
            f" {value[axis]} and {bias[0]}",
        )
    channels = bias[0] if value[axis] is None else value[axis]
    return (*value[:axis], channels, *value[axis + 1 :])


DATA_FORMAT = "data_format: {'NHWC', 'NCHW'} = 'NHWC'"
BIAS_ADD = define_op(
    f"BiasAdd(value: T, bias: T; T: numbertype, {DATA_FORMAT}) -> output: T",
    shape=_bias_add_shape,
    doc="value + bias, where bias is a vector with one number for each channel.",
)
BIAS_ADD_V1 = define_op(
    "BiasAddV1(value: T, bias: T; T: numbertype) -> output: T",
    shape=_bias_add_shape,
    doc="value + bias along the last axis.",
)


@kernel(BIAS_ADD)
def _bias_add(xp: Any, value: Array, bias: Array, *, data_format: str) -> Array:
    if data_format == "NCHW" and value.ndim > 2:
        bias = bias.reshape((1, -1) + (1,) * (value.ndim - 2))
    return value + bias


@kernel(BIAS_ADD_V1)
def _bias_add_v1(xp: Any, value: Array, bias: Array) -> Array:
    return value + bias


def _bias_grad_shape(c: ShapeContext) -> Dims:
    grad = c.rank_at_least(0, 2, "out_backprop")
    return (None,) if grad is None else (grad[_channel_axis(c, len(grad))],)


BIAS_ADD_GRAD = define_op(
    f"BiasAddGrad(out_backprop: T; T: numbertype, {DATA_FORMAT}) -> output: T",
    shape=_bias_grad_shape,
    doc="The gradient of BiasAdd with respect to the bias: the sum over all axes but the channels.",
)


@host_kernel(BIAS_ADD_GRAD)
def _bias_add_grad(out_backprop: Array, *, data_format: str) -> Array:
    return out_backprop.sum(
        axis=_summed_axes(out_backprop.ndim, data_format), dtype=out_backprop.dtype
    )


@compiled_kernel(BIAS_ADD_GRAD)
def _bias_add_grad_compiled(out_backprop: Array, *, data_format: str) -> Array:
    rank = out_backprop.ndim
    if (data_format == "NCHW" and rank > 2) or out_backprop.dtype.kind not in "fV":
        return jnp.sum(out_backprop, axis=_summed_axes(rank, data_format))
    *lead, channels = out_backprop.shape  # not -1, which has no value where there are no channels
    rows = out_backprop.reshape(math.prod(lead), channels)
    return jnp.ones((rows.shape[0],), rows.dtype) @ rows


def _summed_axes(rank: int, data_format: str) -> tuple[int, ...]:
    channels = 1 if data_format == "NCHW" and rank > 2 else rank - 1
    return tuple(i for i in range(rank) if i != channels)


@BIAS_ADD.gradient
def _bias_add_gradient(op: Any, grad: Any) -> list[Any]:
    return [grad, execute(BIAS_ADD_GRAD, (grad,), {"data_format": op.get_attr("data_format")})]


@BIAS_ADD_V1.gradient
def _bias_add_v1_gradient(op: Any, grad: Any) -> list[Any]:
    return [grad, execute(BIAS_ADD_GRAD, (grad,))]


@BIAS_ADD_GRAD.gradient
def _bias_add_grad_gradient(op: Any, grad: Any) -> Any:
    x = op.inputs[0]
    zeros = execute("ZerosLike", (x,))
    return execute(BIAS_ADD, (zeros, grad), {"data_format": op.get_attr("data_format")})


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Any:
    """Gives value + bias, with one bias for each channel.

    Args:
      value: any number dtype, rank at least 2.
      bias: vector of the same dtype, one number for each channel.
      data_format: "N...C" (channels last, the default) or "NC...".
      name: the name in a graph.

    Returns:
      A tensor of the dtype and shape of `value`.

    Raises:
      ValueError: `data_format` is neither.
      InvalidArgumentError: the number of channels differs (ValueError in a graph).
    """
    if data_format is not None:
        data_format = _two_dimensional(data_format)
    with scope(name, "BiasAdd") as full:
        value = tensor(value, name="input")
        if full or not isinstance(bias, Tensor):  # eager operations say that dtypes differ
            bias = tensor(bias, value.dtype.base_dtype, "bias")
        return execute(BIAS_ADD, (value, bias), {"data_format": data_format}, full)


def _two_dimensional(data_format: str) -> str:
    if data_format.startswith("NC"):
        return "NCHW"
    if data_format.startswith("N") and data_format.endswith("C"):
        return "NHWC"
    raise ValueError(
        f"`data_format` must be of the form `N...C` or `NC...`. Received: data_format={data_format}"
    )


def bias_add_v1(value: Any, bias: Any, name: str | None = None) -> Any:
    """Gives value + bias along the last axis, as an operation of early graphs.

    Args:
      value: any number dtype, rank at least 2.
      bias: vector of the same dtype.
      name: the name in a graph.

    Returns:
      A tensor of the dtype and shape of `value`.
    """
    with scope(name, "BiasAddV1") as full:
        value = tensor(value, name="input")
        return execute(BIAS_ADD_V1, (value, tensor(bias, value.dtype.base_dtype)), None, full)


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """Gives x @ weights + biases.

    Args:
      x: float[B, I].
      weights: float[I, O].
      biases: float[O].
      name: the name in a graph.

    Returns:
      float[B, O].
    """
    with scope(name, "xw_plus_b") as full:
        return bias_add(execute("MatMul", (x, weights)), biases, name=full or None)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """relu(x @ weights + biases).

    Args:
      x: float[B, I].
      weights: float[I, O].
      biases: float[O].
      name: the name in a graph.

    Returns:
      float[B, O].
    """
    with scope(name, "relu_layer") as full:
        return execute("Relu", (xw_plus_b(x, weights, biases),), None, full)


__all__ = ["bias_add", "bias_add_v1", "relu_layer", "xw_plus_b"]
