"""Local response normalisation, and whether a target is among the best predictions."""

from typing import Any

import numpy as np

from penstock.core import native_arrays
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.prepared import UNBOUNDED
from penstock.core.shapes import ShapeContext
from penstock.ops.composing import scope
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any
_FEW = 16  # neighbours on a side that are added one by one; running sums take less for more
ATTRS = (
    "depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5, "
    "T: {half, bfloat16, float} = float"
)


def _lrn_shape(c: ShapeContext) -> Dims:
    result = c.rank(0, 4, "input", lambda: "in must be 4-dimensional")
    if c.attr("depth_radius") < 0:
        c.fail("depth_radius >= 0", f"{c.attr('depth_radius')}")
    for index in range(1, len(c)):
        result = c.merge(result, c.rank(index, 4))
    return result


LRN = define_op(
    f"LRN(input: T; {ATTRS}) -> output: T",
    shape=_lrn_shape,
    doc="Divides each element by a power of the sum of squares of its neighbours in depth.",
)
LRN_GRAD = define_op(
    f"LRNGrad(input_grads: T, input_image: T, output_image: T; {ATTRS}) -> output: T",
    shape=_lrn_shape,
    doc="The gradient of LRN.",
).without_gradient("TensorFlow has no second gradient of LRN, and none was needed")


def _neighbours(xp: Any, x: Array, radius: int) -> Array:
    """The sum over neighbours in the last axis, up to `radius` away."""
    depth = x.shape[-1]
    if xp is not np and radius <= _FEW:  # XLA makes one pass of it
        around = xp.pad(x, [(0, 0)] * (x.ndim - 1) + [(radius, radius)])
        total = around[..., :depth]
        for start in range(1, 2 * radius + 1):
            total = total + around[..., start : start + depth]
        return total
    sums = xp.concatenate([xp.zeros((*x.shape[:-1], 1), x.dtype), xp.cumsum(x, axis=-1)], axis=-1)
    high = np.minimum(np.arange(depth) + radius + 1, depth)
    low = np.maximum(np.arange(depth) - radius, 0)
    return xp.take(sums, high, axis=-1) - xp.take(sums, low, axis=-1)


def _power(xp: Any, norm: Array, beta: float) -> Array:
    """The factor norm ** -beta; powers are slow, and a root is what most ask for."""
    return 1 / xp.sqrt(norm) if beta == 0.5 else norm ** np.float32(-beta)


def _norm(xp: Any, x: Array, radius: int, bias: float, alpha: float) -> Array:
    return np.float32(bias) + np.float32(alpha) * _neighbours(xp, x * x, radius)


@kernel(LRN)
def _lrn(xp: Any, x: Array, *, depth_radius: int, bias: float, alpha: float, beta: float) -> Array:
    wide = x.astype(np.float32)
    norm = _norm(xp, wide, depth_radius, bias, alpha)
    return (wide * _power(xp, norm, beta)).astype(x.dtype)


@kernel(LRN_GRAD)
def _lrn_grad(
    xp: Any,
    grad: Array,
    x: Array,
    y: Array,
    *,
    depth_radius: int,
    bias: float,
    alpha: float,
    beta: float,
) -> Array:
    wide, g, out = (a.astype(np.float32) for a in (x, grad, y))
    norm = _norm(xp, wide, depth_radius, bias, alpha)
    through = _neighbours(xp, g * out / norm, depth_radius)
    result = g * _power(xp, norm, beta) - np.float32(2 * alpha * beta) * wide * through
    return result.astype(x.dtype)


@LRN.gradient
def _lrn_gradient(op: Any, grad: Any) -> Any:
    attrs = {n: op.get_attr(n) for n in ("depth_radius", "bias", "alpha", "beta")}
    return execute(LRN_GRAD, (grad, op.inputs[0], op.outputs[0]), attrs)


def _top_k_shape(c: ShapeContext) -> Dims:
    predictions, targets = c.rank(0, 2, "predictions"), c.rank(1, 1, "targets")
    assert predictions is not None
    if not d.compatible(predictions[:1], targets):
        m, n = predictions[0], (targets or (None,))[0]
        c.refuse(
            f"First dimension of predictions {predictions[0]} must match length of targets"
            f" {targets and targets[0]}"
            + c.says(
                "",
                f": Dimensions must be equal, but are {m} and {n}",
            )
        )
    if len(c) > 2:
        c.rank(2, 0, "k")
    return d.merge(predictions[:1], targets)


IN_TOP_K = define_op(
    "InTopK(predictions: float, targets: T; k: int, T: {int32, int64} = int32) -> precision: bool",
    shape=_top_k_shape,
    doc="Whether each target is among the k largest predictions of its row; k is an attribute.",
).not_differentiable("it says yes or no")
IN_TOP_K_V2 = define_op(
    "InTopKV2(predictions: float, targets: T, k: T; T: {int32, int64} = int32) -> precision: bool",
    shape=_top_k_shape,
    doc="Whether each target is among the k largest predictions of its row.",
).not_differentiable("it says yes or no")


def _among_best(xp: Any, predictions: Array, targets: Array, k: Any) -> Array:
    """True where fewer than k predictions are larger; False for bad targets and non-finite rows."""
    if xp is np:
        found = native_arrays.among_largest(predictions, targets, int(k))
        if found is not None:
            return found
    classes = predictions.shape[1]
    if classes == 0:
        return xp.zeros(targets.shape, bool)
    inside = (targets >= 0) & (targets < classes)
    index = xp.clip(targets, 0, classes - 1)[:, None]
    own = xp.take_along_axis(predictions, index, axis=1)
    finite = xp.isfinite(predictions).all(axis=1)
    return inside & finite & ((predictions > own).sum(axis=1) < k)


@kernel(IN_TOP_K, limit=UNBOUNDED)
def _in_top_k(xp: Any, predictions: Array, targets: Array, *, k: int) -> Array:
    return _among_best(xp, predictions, targets, k)


@kernel(IN_TOP_K_V2, limit=UNBOUNDED)
def _in_top_k_v2(xp: Any, predictions: Array, targets: Array, k: Array) -> Array:
    return _among_best(xp, predictions, targets, k)


def local_response_normalization(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Any:
    """Gives input / (bias + alpha * sum of squares in a window of depth) ** beta.

    Args:
      input: float16, bfloat16 or float32 [B, H, W, C].
      depth_radius: half the width of the window.
      bias, alpha, beta: numbers.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.

    Source:
      Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks (2012).
    """
    attrs = {"depth_radius": depth_radius, "bias": bias, "alpha": alpha, "beta": beta}
    return execute(LRN, (input,), attrs, name)


def in_top_k(targets: Any, predictions: Any, k: Any, name: str | None = None) -> Any:
    """Whether each target is among the k largest predictions of its row.

    Args:
      targets: int32 or int64 [B]: class numbers.
      predictions: float32[B, C].
      k: an integer; ties at the k-th place all count.
      name: the name in a graph.

    Returns:
      bool[B]; False where the target is outside [0, C) or predictions are not finite.
    """
    with scope(name, "in_top_k"):
        return execute(IN_TOP_K_V2, (predictions, targets, k), None, name)


def in_top_k_v1(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Any:
    """`in_top_k` with the arguments of compat.v1."""
    return in_top_k(targets, predictions, k, name)
