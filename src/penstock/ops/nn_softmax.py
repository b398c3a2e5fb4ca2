"""Softmax, its logarithm, and the cross entropies that take logits.

The cross-entropy operations return the loss of each row and, beside it, the gradient with respect
to the logits, so the backward step costs one product.
"""

import math
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_softmax
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext, not_broadcast
from penstock.core.tensor import Tensor
from penstock.ops import nn_attention as _attention  # noqa: F401  registers what the planner makes
from penstock.ops.composing import expand, total
from penstock.ops.math_arithmetic import add_v2, multiply, negative, subtract
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any
FLOATS = "{half, bfloat16, float, double}"


def _at_least_vector(c: ShapeContext) -> Dims:
    return c.rank_at_least(0, 1, "logits", lambda: "logits must have >= 1 dimension, got []")


def _widened(xp: Any, x: Array) -> Array:
    """Half precision as float32: sums of exponentials need the digits."""
    return x.astype(xp.float32) if x.dtype.itemsize == 2 else x


def _shifted(xp: Any, logits: Array) -> tuple[Array, Array]:
    """Logits less their row's maximum, and the row sums of the exponentials of that."""
    wide = _widened(xp, logits)
    if wide.shape[-1] == 0:
        return wide, xp.zeros((*wide.shape[:-1], 1), wide.dtype)
    shifted = wide - wide.max(axis=-1, keepdims=True)
    return shifted, xp.exp(shifted).sum(axis=-1, keepdims=True)


def _dense(x: Array) -> Array:
    """`_widened` of NumPy's arrays, row after row in memory.

    NumPy keeps the order of axes of what was broadcast or turned, and adds up rows in another order
    then: sums would have other last digits than those of dense rows.
    """
    return np.ascontiguousarray(x, np.float32 if x.dtype.itemsize == 2 else None)


def _exponentials(logits: Array) -> tuple[Array, Array, Array]:
    """`_shifted` of NumPy's arrays, with the exponentials between."""
    wide = _dense(logits)
    if wide.shape[-1] == 0:
        return wide, wide.copy(), np.zeros((*wide.shape[:-1], 1), wide.dtype)
    shifted = native_softmax.shifted(wide)
    if shifted is None:
        shifted = wide - np.maximum.reduce(wide, -1, keepdims=True)
    exponentials = np.exp(shifted)
    return shifted, exponentials, np.add.reduce(exponentials, -1, keepdims=True)


SOFTMAX = define_op(
    f"Softmax(logits: T; T: {FLOATS}) -> softmax: T",
    shape=_at_least_vector,
    doc="exp(logits), divided by its sum over the last axis.",
)


@host_kernel(SOFTMAX)
def _softmax_host(logits: Array) -> Array:
    _, result, sums = _exponentials(logits)
    result /= sums
    return result.astype(logits.dtype, copy=False)


@compiled_kernel(SOFTMAX)
def _softmax(xp: Any, logits: Array) -> Array:
    shifted, sums = _shifted(xp, logits)
    return (xp.exp(shifted) / sums).astype(logits.dtype)


@SOFTMAX.gradient
def _softmax_gradient(op: Any, grad: Any) -> Any:
    softmax = op.outputs[0]
    inner = total(multiply(grad, softmax), [-1], keep=True)
    return multiply(subtract(grad, inner), softmax)


LOG_SOFTMAX = define_op(
    f"LogSoftmax(logits: T; T: {FLOATS}) -> logsoftmax: T",
    shape=_at_least_vector,
    doc="logits less the logarithm of the sum of their exponentials over the last axis.",
)


@host_kernel(LOG_SOFTMAX)
def _log_softmax_host(logits: Array) -> Array:
    shifted, _, sums = _exponentials(logits)
    return (shifted - np.log(sums)).astype(logits.dtype, copy=False)


@compiled_kernel(LOG_SOFTMAX)
def _log_softmax(xp: Any, logits: Array) -> Array:
    shifted, sums = _shifted(xp, logits)
    return (shifted - xp.log(sums)).astype(logits.dtype)


@LOG_SOFTMAX.gradient
def _log_softmax_gradient(op: Any, grad: Any) -> Any:
    softmax = execute("Exp", (op.outputs[0],))
    return subtract(grad, multiply(total(grad, [-1], keep=True), softmax))


def _cross_entropy_shape(c: ShapeContext) -> list[Dims]:
    features, labels = c.shape(0), c.shape(1)
    rows: Dims = (None, None)  # what one of an unknown rank is in the end
    try:
        both = d.broadcast(
            rows if features is None else features, rows if labels is None else labels
        )
    except ValueError:
        sizes = f"logits_size={d.text(features)} labels_size={d.text(labels)}"
        if not c.running:
            sizes += f": {not_broadcast(features, labels)}"
        c.fail("logits and labels must be broadcastable", sizes)
    if both is None or len(both) != 2:
        c.fail(
            "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional",
            f"{d.text(features)} and {d.text(labels)}",
            "Reshape them to [rows, classes].",
        )
    return [both[:1], both]


CROSS_ENTROPY = define_op(
    f"SoftmaxCrossEntropyWithLogits(features: T, labels: T; T: {FLOATS}) -> loss: T, backprop: T",
    shape=_cross_entropy_shape,
    doc="The cross entropy of each row's softmax with its label distribution, and its gradient.",
)


@host_kernel(CROSS_ENTROPY)
def _cross_entropy_host(features: Array, labels: Array) -> tuple[Array, Array]:
    dtype = features.dtype
    if features.shape != labels.shape:
        shape = np.broadcast_shapes(features.shape, labels.shape)
        features, labels = np.broadcast_to(features, shape), np.broadcast_to(labels, shape)
    shifted, backprop, sums = _exponentials(features)
    labels = _dense(labels)
    found = native_softmax.cross_entropy(shifted, backprop, sums, labels)
    if found is not None:
        parts, backprop = found
    else:
        parts = labels * (np.log(sums) - shifted)
        backprop /= sums
        backprop -= labels
    loss = np.add.reduce(parts, -1)
    # a class that surely is not there adds nothing, even where its surprise is infinite
    if not math.isfinite(loss.dot(loss)):
        loss = np.add.reduce(np.where(labels == 0, labels.dtype.type(0), parts), -1)
    return loss.astype(dtype, copy=False), backprop.astype(dtype, copy=False)


@compiled_kernel(CROSS_ENTROPY)
def _cross_entropy(xp: Any, features: Array, labels: Array) -> tuple[Array, Array]:
    dtype = features.dtype
    shape = np.broadcast_shapes(features.shape, labels.shape)
    shifted, sums = _shifted(xp, xp.broadcast_to(features, shape))
    labels = _widened(xp, labels)
    surprise = xp.log(sums) - shifted
    # a class that surely is not there adds nothing, even where its surprise is infinite
    parts = xp.where(labels == 0, labels.dtype.type(0), labels * surprise)
    loss = xp.sum(xp.broadcast_to(parts, shape), axis=-1)
    return loss.astype(dtype), (xp.exp(shifted) / sums - labels).astype(dtype)


@CROSS_ENTROPY.gradient
def _cross_entropy_gradient(op: Any, grad_loss: Any, grad_backprop: Any) -> list[Any]:
    logits, labels = op.inputs
    by_labels = None
    if not _is_zero(grad_loss):
        surprise = negative(execute(LOG_SOFTMAX, (logits,)))
        by_labels = multiply(expand(grad_loss, -1), surprise)
    if not _is_zero(grad_backprop):
        part = negative(grad_backprop)
        by_labels = part if by_labels is None else add_v2(by_labels, part)
    by_logits = _by_logits(op, grad_loss, grad_backprop)
    return [_summed_to(by_logits, logits), _summed_to(by_labels, labels)]


def _by_logits(op: Any, grad_loss: Any, grad_backprop: Any) -> Any:
    """The gradient with respect to the logits, of the loss and of the gradient beside it."""
    result = None
    if not _is_zero(grad_loss):
        result = multiply(expand(grad_loss, -1), op.outputs[1])
    if _is_zero(grad_backprop):
        return result
    softmax = execute(SOFTMAX, (op.inputs[0],))
    inner = total(multiply(grad_backprop, softmax), [1], keep=True)
    part = multiply(subtract(grad_backprop, inner), softmax)
    return part if result is None else add_v2(result, part)


def _is_zero(grad: Any) -> bool:
    """Whether an output's gradient is known to be zero: nothing used it."""
    return grad is None or (not hasattr(grad, "_array") and grad.op.type == "ZerosLike")


def _summed_to(grad: Any, x: Tensor) -> Any:
    """`grad` summed over the axes along which `x` was repeated."""
    if grad is None or (x.dims == grad.dims and d.is_full(x.dims)):
        return grad
    shape = execute("Shape", (x,))
    axes, _ = execute("BroadcastGradientArgs", (shape, execute("Shape", (grad,))))
    return execute("Reshape", (execute("Sum", (grad, axes)), shape))


def _sparse_shape(c: ShapeContext) -> list[Dims]:
    features, labels = c.rank(0, 2, "logits"), c.rank(1, 1, "labels")
    assert features is not None
    assert labels is not None
    if features[1] == 0:
        c.fail("at least one class", f"logits of shape {d.text(features)}")
    rows = c.merge(features[:1], labels)
    assert rows is not None
    return [rows, (rows[0], features[1])]


SPARSE_CROSS_ENTROPY = define_op(
    "SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels; "
    f"T: {FLOATS}, Tlabels: {{int32, int64}} = int64) -> loss: T, backprop: T",
    shape=_sparse_shape,
    fallible=True,
    doc="The cross entropy of each row's softmax with the class its label names, and its gradient.",
)


def _bad_label(labels: Array, classes: Array) -> str:
    wrong = labels[(labels < 0) | (labels >= classes)]
    listed = " ".join(str(v) for v in labels[:64].tolist())
    return (
        f"Received a label value of {wrong[0]} which is outside the valid range of "
        f"[0, {int(classes)}).  Label values: {listed}"
    )


@host_kernel(SPARSE_CROSS_ENTROPY)
def _sparse_cross_entropy_host(
    ctx: KernelContext, features: Array, labels: Array
) -> tuple[Array, Array]:
    dtype, (rows, classes) = features.dtype, features.shape
    shifted, backprop, sums = _exponentials(features)
    found = native_softmax.cross_entropy_of_classes(shifted, backprop, sums, labels)
    if found is not None:
        return found[0].astype(dtype, copy=False), found[1].astype(dtype, copy=False)
    places = labels.view(_UNSIGNED[labels.dtype.itemsize])  # labels below 0 are large ones
    if rows and np.maximum.reduce(places) >= classes:
        ctx.check(False, errors.InvalidArgumentError, _bad_label, labels, np.int64(classes))
    backprop /= sums
    own = np.arange(0, rows * classes, classes) + labels
    backprop.put(own, backprop.take(own) - 1)
    loss = np.log(sums[:, 0])
    loss -= shifted.take(own)
    return loss.astype(dtype, copy=False), backprop.astype(dtype, copy=False)


_UNSIGNED = {4: np.uint32, 8: np.uint64}


@compiled_kernel(SPARSE_CROSS_ENTROPY)
def _sparse_cross_entropy(
    ctx: KernelContext, xp: Any, features: Array, labels: Array
) -> tuple[Array, Array]:
    classes = features.shape[1]
    valid = ((labels >= 0) & (labels < classes)).all()
    ctx.check(valid, errors.InvalidArgumentError, _bad_label, labels, np.int64(classes))
    shifted, sums = _shifted(xp, features)
    chosen = xp.arange(classes, dtype=labels.dtype) == labels[:, None]
    zero, one = shifted.dtype.type(0), shifted.dtype.type(1)
    own = xp.sum(xp.where(chosen, shifted, zero), axis=-1)
    backprop = xp.exp(shifted) / sums - xp.where(chosen, one, zero)
    return (xp.log(sums[:, 0]) - own).astype(features.dtype), backprop.astype(features.dtype)


@SPARSE_CROSS_ENTROPY.gradient
def _sparse_cross_entropy_gradient(op: Any, grad_loss: Any, grad_backprop: Any) -> list[Any]:
    return [_by_logits(op, grad_loss, grad_backprop), None]
