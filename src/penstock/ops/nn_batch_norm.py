"""Fused batch normalisation, in three generations, and its gradient.

Each channel is brought to mean 0 and variance 1, then scaled and shifted. In training the moments
are the batch's; what comes out as moving variance is unbiased, what is normalised with is not. The
outputs `reserve_space` carry the moments to the gradient. The gradient operation has a gradient in
turn, written out below with P, the projection onto what neither the mean nor the direction of the
normalised input explains.
"""

from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.ops.composing import cast, mean, number, reshape, total
from penstock.ops.math_arithmetic import add_v2, multiply, subtract
from penstock.ops.nn_conv_geometry import channel_axis
from penstock.types import dims as d
from penstock.types import dtypes
from penstock.types.dims import Dims

Array = Any
FORMAT_2D = "data_format: {'NHWC', 'NCHW'} = 'NHWC'"
FORMAT_ANY = "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'"
EPSILON = "epsilon: float = 0.0001"
FACTOR = "exponential_avg_factor: float = 1.0"
TRAINING = "is_training: bool = True"
TYPES = "{half, bfloat16, float}"


def _norm_shape(c: ShapeContext) -> list[Dims]:
    layout = c.attr("data_format")
    x = c.rank(0, len(layout), "x")
    assert x is not None
    axis = channel_axis(layout)
    channels: Dims = (x[axis],)
    moving = not c.attr("is_training") or c.attr("exponential_avg_factor") != 1.0
    for index, name in enumerate(("scale", "offset", "mean", "variance"), 1):
        given = c.rank(index, 1, name)
        if index >= 3 and not moving and (given is None or given[0] in (0, None)):
            continue
        if not d.compatible(channels, given):
            m, n = (channels or (None,))[0], (given or (None,))[0]
            c.fail(
                f"{name} with as many elements as the channels of x",
                f"{given} and {channels}: Dimensions must be equal, but are {m} and {n}",
            )
        channels = d.merge(channels, given)
    assert channels is not None
    out = (*x[:axis], channels[0], *x[axis + 1 :])
    extra: list[Dims] = [None] if c.op_name == "FusedBatchNormV3" else []
    return [out, channels, channels, channels, channels, *extra]


FUSED = define_op(
    "FusedBatchNorm(x: T, scale: T, offset: T, mean: T, variance: T; T: {float}, "
    f"{EPSILON}, {FACTOR}, {FORMAT_2D}, {TRAINING}) -> "
    "y: T, batch_mean: T, batch_variance: T, reserve_space_1: T, reserve_space_2: T",
    shape=_norm_shape,
    doc="Batch normalisation, first generation: float32 only.",
)
FUSED_V2 = define_op(
    f"FusedBatchNormV2(x: T, scale: U, offset: U, mean: U, variance: U; T: {TYPES}, U: {{float}}, "
    f"{EPSILON}, {FACTOR}, {FORMAT_2D}, {TRAINING}) -> "
    "y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U",
    shape=_norm_shape,
    doc="Batch normalisation, second generation: half precision with float32 moments.",
)
FUSED_V3 = define_op(
    f"FusedBatchNormV3(x: T, scale: U, offset: U, mean: U, variance: U; T: {TYPES}, "
    f"U: {{bfloat16, float}}, {EPSILON}, {FACTOR}, {FORMAT_ANY}, {TRAINING}) -> "
    "y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, "
    "reserve_space_3: U",
    shape=_norm_shape,
    doc="Batch normalisation: brings each channel to mean 0 and variance 1, scales and shifts it.",
)


def _layout(x: Array, data_format: str) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """The axes that are summed, the shape of a channel vector beside x, elements per channel."""
    channel = channel_axis(data_format)
    axes = tuple(i for i in range(x.ndim) if i != channel)
    beside = tuple(x.shape[channel] if i == channel else 1 for i in range(x.ndim))
    return axes, beside, int(np.prod([x.shape[i] for i in axes]))


def _moments(xp: Any, x: Array, axes: tuple[int, ...], beside: Any, count: int) -> Any:
    if count == 0:
        channels = max(beside) if beside else 0
        return xp.full((channels,), np.nan, x.dtype), xp.full((channels,), np.nan, x.dtype)
    average = xp.mean(x, axis=axes)
    centred = x - average.reshape(beside)
    return average, xp.mean(centred * centred, axis=axes)


def _normalise(
    xp: Any,
    x: Array,
    scale: Array,
    offset: Array,
    moving: tuple[Array, Array],
    attrs: dict[str, Any],
) -> tuple[Array, ...]:
    """y, the two moving moments, and the two moments that were used."""
    axes, beside, count = _layout(x, attrs["data_format"])
    wide = x.astype(np.float32)
    scale, offset = scale.astype(np.float32), offset.astype(np.float32)
    if attrs["is_training"]:
        used = _moments(xp, wide, axes, beside, count)
        unbiased = used[1] * np.float32(count / max(count - 1, 1))
        kept = _blend(moving, (used[0], unbiased), attrs["exponential_avg_factor"])
    else:
        used = tuple(m.astype(np.float32) for m in moving)
        kept = used
    factor = scale / xp.sqrt(used[1] + np.float32(attrs["epsilon"]))
    shift = offset - used[0] * factor
    y = wide * factor.reshape(beside) + shift.reshape(beside)
    return (y.astype(x.dtype), *kept, *used)


def _blend(old: tuple[Array, Array], new: tuple[Array, Array], factor: float) -> Any:
    if factor == 1.0:
        return new
    part, rest = np.float32(factor), np.float32(1 - factor)
    return tuple(o * rest + n * part for o, n in zip(old, new, strict=True))


def _register(op: OpDef, extra: bool) -> None:
    @kernel(op)
    def _fused(
        ctx: Any, xp: Any, x: Array, scale: Array, offset: Array, average: Array, variance: Array
    ) -> tuple[Array, ...]:
        results = _normalise(xp, x, scale, offset, (average, variance), ctx.attrs)
        return (*results, xp.zeros((), np.float32)) if extra else results


_register(FUSED, False)
_register(FUSED_V2, False)
_register(FUSED_V3, True)


def _grad_shape(c: ShapeContext) -> list[Dims]:
    x = c.merge(c.shape(0), c.shape(1))
    layout = c.attr("data_format")
    if x is None:
        x = (None,) * len(layout)
    if len(x) != len(layout):
        c.fail(f"x of rank {len(layout)}", f"shape {d.text(x)}")
    axis = channel_axis(layout)
    channels: Dims = (x[axis],)
    for index in (2, 3, 4):
        if not d.compatible(c.shape(index), channels):
            c.fail("moments and scale with as many elements as channels", d.text(c.shape(index)))
        channels = d.merge(channels, c.shape(index))
    assert channels is not None
    return [(*x[:axis], *channels, *x[axis + 1 :]), channels, channels, (0,), (0,)]


FUSED_GRAD = define_op(
    "FusedBatchNormGrad(y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T; "
    f"T: {{float}}, {EPSILON}, {FORMAT_2D}, {TRAINING}) -> "
    "x_backprop: T, scale_backprop: T, offset_backprop: T, reserve_space_3: T, reserve_space_4: T",
    shape=_grad_shape,
    doc="The gradient of FusedBatchNorm.",
)
FUSED_GRAD_V2 = define_op(
    "FusedBatchNormGradV2(y_backprop: T, x: T, scale: float, reserve_space_1: U, "
    f"reserve_space_2: U; T: {TYPES}, U: {{float}}, {EPSILON}, {FORMAT_2D}, {TRAINING}) -> "
    "x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_3: U, reserve_space_4: U",
    shape=_grad_shape,
    doc="The gradient of FusedBatchNormV2.",
)
FUSED_GRAD_V3 = define_op(
    "FusedBatchNormGradV3(y_backprop: T, x: T, scale: float, reserve_space_1: U, "
    f"reserve_space_2: U, reserve_space_3: U; T: {TYPES}, U: {{float}}, {EPSILON}, {FORMAT_ANY}, "
    f"{TRAINING}) -> x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_4: U, "
    "reserve_space_5: U",
    shape=_grad_shape,
    doc="The gradient of FusedBatchNormV3.",
)


def _backprop(
    xp: Any, grad: Array, x: Array, scale: Array, average: Array, variance: Array, attrs: Any
) -> tuple[Array, ...]:
    axes, beside, count = _layout(x, attrs["data_format"])
    grad, wide = grad.astype(np.float32), x.astype(np.float32)
    root = 1 / xp.sqrt(variance.astype(np.float32) + np.float32(attrs["epsilon"]))
    normal = (wide - average.astype(np.float32).reshape(beside)) * root.reshape(beside)
    by_offset = xp.sum(grad, axis=axes)
    by_scale = xp.sum(grad * normal, axis=axes)
    result = grad
    if attrs["is_training"]:
        share = np.float32(1 / max(count, 1))
        explained = normal * (by_scale * share).reshape(beside)
        result = grad - (by_offset * share).reshape(beside) - explained
    by_x = result * (scale * root).reshape(beside)
    empty = xp.zeros((0,), np.float32)
    return by_x.astype(x.dtype), by_scale, by_offset, empty, empty


@kernel(FUSED_GRAD)
def _fused_grad(
    ctx: Any, xp: Any, grad: Array, x: Array, scale: Array, average: Array, variance: Array
) -> tuple[Array, ...]:
    return _backprop(xp, grad, x, scale, average, variance, ctx.attrs)


@kernel(FUSED_GRAD_V2)
def _fused_grad_v2(
    ctx: Any, xp: Any, grad: Array, x: Array, scale: Array, average: Array, variance: Array
) -> tuple[Array, ...]:
    return _backprop(xp, grad, x, scale, average, variance, ctx.attrs)


@kernel(FUSED_GRAD_V3)
def _fused_grad_v3(
    ctx: Any,
    xp: Any,
    grad: Array,
    x: Array,
    scale: Array,
    average: Array,
    variance: Array,
    unused: Array,
) -> tuple[Array, ...]:
    return _backprop(xp, grad, x, scale, average, variance, ctx.attrs)


def _gradient(target: OpDef) -> Any:
    """The gradient of a batch normalisation, by `target`."""

    def rule(op: Any, grad: Any, *others: Any) -> list[Any]:
        x, scale, _, average, variance = op.inputs
        training = op.get_attr("is_training")
        if grad is None:
            return [None] * 5
        used = list(op.outputs[3:]) if training else [average, variance, *op.outputs[5:]]
        attrs = {n: op.get_attr(n) for n in ("epsilon", "data_format", "is_training")}
        if target is not FUSED_GRAD:
            scale = cast(scale, dtypes.float32)
        by_x, by_scale, by_offset, _, _ = execute(target, (grad, x, scale, *used), attrs)
        return [by_x, by_scale, by_offset, None, None]

    return rule


FUSED.gradient(_gradient(FUSED_GRAD))
FUSED_V2.gradient(_gradient(FUSED_GRAD_V2))
FUSED_V3.gradient(_gradient(FUSED_GRAD_V3))


class _Channels:
    """Sums over all axes but the channels, for the gradient of the gradient."""

    def __init__(self, x: Tensor, data_format: str) -> None:
        rank, channel = len(data_format), channel_axis(data_format)
        self.axes = [i for i in range(rank) if i != channel]
        self.beside = [-1 if i == channel else 1 for i in range(rank)]

    def mean(self, x: Any) -> Any:
        """The mean of each channel, beside x."""
        return mean(x, self.axes, keep=True)

    def sum(self, x: Any) -> Any:
        """The sum of each channel, as a vector."""
        return total(x, self.axes)

    def put(self, vector: Any) -> Any:
        """A channel vector beside x."""
        return reshape(vector, self.beside)

    def project(self, x: Any, normal: Any) -> Any:
        """P: x without its mean and without its part along the normalised input."""
        along = multiply(normal, self.mean(multiply(x, normal)))
        return subtract(subtract(x, self.mean(x)), along)


def _second_gradient(op: Any, by_x: Any, by_scale: Any, by_offset: Any, *unused: Any) -> list[Any]:
    grad, x, scale, average, variance, *rest = op.inputs
    given = x.dtype.base_dtype
    grad, x, by_x = (cast(t, dtypes.float32) for t in (grad, x, by_x))
    at = _Channels(x, op.attrs["data_format"])
    epsilon = number(op.get_attr("epsilon"), dtypes.float32)
    root = at.put(execute("Rsqrt", (add_v2(cast(variance, dtypes.float32), epsilon),)))
    normal = multiply(subtract(x, at.put(cast(average, dtypes.float32))), root)
    by_scale, by_offset = at.put(by_scale), at.put(by_offset)
    parts = _training if op.get_attr("is_training") else _inference
    results = parts(at, grad, normal, root, at.put(scale), by_x, by_scale, by_offset)
    first, second = (cast(t, given) for t in results[:2])
    return [first, second, results[2], None, None, *([None] * len(rest))]


def _inference(
    at: Any, grad: Any, normal: Any, root: Any, scale: Any, by_x: Any, by_scale: Any, by_offset: Any
) -> tuple[Any, Any, Any]:
    direct = add_v2(multiply(by_scale, normal), by_offset)
    to_grad = add_v2(multiply(by_x, multiply(scale, root)), direct)
    to_x = multiply(grad, multiply(by_scale, root))
    return to_grad, to_x, at.sum(multiply(multiply(by_x, grad), root))


def _training(
    at: Any, grad: Any, normal: Any, root: Any, scale: Any, by_x: Any, by_scale: Any, by_offset: Any
) -> tuple[Any, Any, Any]:
    factor = multiply(scale, root)
    projected = at.project(by_x, normal)
    direct = add_v2(multiply(by_scale, normal), by_offset)
    to_grad = add_v2(multiply(factor, projected), direct)
    # through the normalised input
    crossed = add_v2(
        multiply(by_x, at.mean(multiply(grad, normal))),
        multiply(grad, at.mean(multiply(by_x, normal))),
    )
    inner = subtract(multiply(by_scale, grad), multiply(factor, crossed))
    # and through the scale that the variance gives
    spread = multiply(factor, at.mean(multiply(projected, grad)))
    to_x = multiply(root, subtract(at.project(inner, normal), multiply(spread, normal)))
    return to_grad, to_x, at.sum(multiply(multiply(projected, grad), root))


for _op in (FUSED_GRAD, FUSED_GRAD_V2, FUSED_GRAD_V3):
    _op.gradient(_second_gradient)


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> Any:
    """Brings each channel to mean 0 and variance 1, scales and shifts it.

    Args:
      x: float16, bfloat16 or float32 of rank 4 or 5.
      scale, offset: float32[C].
      mean, variance: float32[C]: the moments to use when `is_training` is False, or to update.
      epsilon: added to the variance.
      data_format: "NHWC", "NCHW", "NDHWC" or "NCDHW".
      is_training: whether the moments are the batch's.
      name: the name in a graph.
      exponential_avg_factor: the weight of the batch's moments in those that come out.

    Returns:
      y, the running mean and the running (unbiased) variance.

    Raises:
      ValueError: moments are needed and missing.
    """
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError(
            "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or "
            "`exponential_avg_factor` != 1.0. Received: "
            f"`mean` {mean!r} and `variance` {variance!r}"
        )
    empty = np.zeros((0,), np.float32)
    attrs = {
        "epsilon": epsilon,
        "data_format": data_format,
        "is_training": is_training,
        "exponential_avg_factor": exponential_avg_factor,
    }
    moments = (empty if mean is None else mean, empty if variance is None else variance)
    y, *running = execute(FUSED_V3, (x, scale, offset, *moments), attrs, name)
    return y, running[0], running[1]


__all__ = ["fused_batch_norm"]
