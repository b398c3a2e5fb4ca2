"""Records of activations, softmax, cross entropies and biases."""

import math

import numpy as np
from tests.ops.harness import (
    FLOATS,
    HALVES,
    SIGNED,
    UNSIGNED,
    Failure,
    Record,
    Sample,
    case,
    normal,
    unary_cases,
    uniform,
)

from penstock import errors
from penstock.ops import nn_activations as a
from penstock.ops import nn_bias as b
from penstock.ops import nn_losses as s

ALL_FLOATS = (*FLOATS, *HALVES)
REALS = (*ALL_FLOATS, *SIGNED, *UNSIGNED)
HALF = {"float16": 5e-3, "bfloat16": 5e-2}
PAIR = [case(normal(2, 3), normal(2, 3)), case(normal(), normal()), case(normal(0), normal(0))]
DIFFER = (Failure((normal(2), normal(3)), "equal shapes|shape"),)
SCALE, SCALE_ALPHA = 1.0507009873554805, 1.7580993408473768


def _elu(x):
    return np.where(x < 0, np.expm1(x), x)


def _elu_grad(g, y):
    return np.where(y < 0, g * (y + 1), g)


def _selu(x):
    return np.where(x < 0, SCALE_ALPHA * np.expm1(x), SCALE * x)


def _selu_grad(g, y):
    return np.where(y < 0, g * (y + SCALE_ALPHA), g * SCALE)


def _erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


def _gelu(x, approximate=False):
    if approximate:
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    if x.shape[-1] == 0:
        return x
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _cross_entropy(x, labels):
    return (-(labels * np.log(softmax(x))).sum(-1), softmax(x) - labels)


def _cross_entropy_loss(labels, x, axis=-1):
    return -(labels * np.log(softmax(x, axis))).sum(axis)


def _sparse(x, labels):
    hot = np.eye(x.shape[1])[labels]
    return _cross_entropy(x, hot)


def _sparse_loss(labels, x):
    return -np.log(np.take_along_axis(softmax(x), labels[..., None], -1)[..., 0])


def _bias(value, bias, data_format=None):
    if data_format == "NCHW" and value.ndim > 2:
        bias = bias.reshape((1, -1) + (1,) * (value.ndim - 2))
    return value + bias


def _bias_grad(grad, data_format="NHWC"):
    channel = 1 if data_format == "NCHW" and grad.ndim > 2 else grad.ndim - 1
    axes = tuple(i for i in range(grad.ndim) if i != channel)
    return grad.sum(axes, dtype=grad.dtype)


def _poisson(z, x, compute_full_loss=False):
    extra = z * np.log(z) - z + 0.5 * np.log(2 * np.pi * z) if compute_full_loss else 0
    return np.exp(x) - x * z + np.where((z >= 0) & (z <= 1), 0, extra)


LABELS = np.array([2, 0], np.int32)


def _rows_of_one(rng, dtype, dims):
    value = rng.uniform(0.1, 1, dims)
    return value / value.sum(-1, keepdims=True)


def _columns_of_one(rng, dtype, dims):
    value = rng.uniform(0.1, 1, dims)
    return value / value.sum(0, keepdims=True)


DISTRIBUTION = Sample((2, 3), _rows_of_one)  # gradients hold where labels sum to 1
BAD_LABEL = "Received a label value of 3 which is outside the valid range of \\[0, 3\\)"

RECORDS = [
    Record(
        ".log_sigmoid",
        unary_cases(uniform(-30, 30)),
        lambda x: -np.logaddexp(0, -x),
        function=a.log_sigmoid,
        dtypes=ALL_FLOATS,
        tolerance=HALF,
        differentiable=(0,),
    ),
    Record(
        "Relu",
        unary_cases(normal()),
        lambda x: np.maximum(x, 0),
        a.relu,
        REALS,
        differentiable=(0,),
    ),
    Record(
        "ReluGrad",
        PAIR,
        lambda g, x: np.where(x > 0, g, 0),
        None,
        REALS,
        differentiable=(0,),
        errors=DIFFER,
    ),
    Record(
        "Relu6",
        unary_cases(uniform(-2, 9)),
        lambda x: np.clip(x, 0, 6),
        a.relu6,
        REALS,
        differentiable=(0,),
    ),
    Record(
        "Relu6Grad",
        [case(normal(2, 3), uniform(-3, 9, 2, 3))],
        lambda g, x: np.where((x > 0) & (x < 6), g, 0),
        None,
        REALS,
        differentiable=(0,),
    ),
    Record("Elu", unary_cases(normal()), _elu, a.elu, ALL_FLOATS, HALF, differentiable=(0,)),
    Record(
        "EluGrad", PAIR, _elu_grad, None, ALL_FLOATS, HALF, differentiable=(0, 1), errors=DIFFER
    ),
    Record("Selu", unary_cases(normal()), _selu, a.selu, ALL_FLOATS, HALF, differentiable=(0,)),
    Record(
        "SeluGrad", PAIR, _selu_grad, None, ALL_FLOATS, HALF, differentiable=(0, 1), errors=DIFFER
    ),
    Record(
        "LeakyRelu",
        [case(normal(2, 3)), case(normal(2, 3), alpha=1.5), case(normal(0))],
        lambda x, alpha=0.2: np.where(x > 0, x, float(np.float32(alpha)) * x),
        a.leaky_relu,
        ALL_FLOATS,
        HALF,
        differentiable=(0,),
    ),
    Record(
        "LeakyReluGrad",
        [case(normal(2, 3), normal(2, 3), alpha=0.25)],
        lambda g, x, alpha: np.where(x > 0, g, alpha * g),
        None,
        ALL_FLOATS,
        HALF,
        differentiable=(0,),
        errors=DIFFER,
    ),
    Record(
        "Softplus",
        unary_cases(normal()),
        lambda x: np.log1p(np.exp(x)),
        a.softplus,
        ALL_FLOATS,
        HALF,
        differentiable=(0,),
    ),
    Record(
        "SoftplusGrad",
        PAIR,
        lambda g, x: g * _sigmoid(x),
        None,
        ALL_FLOATS,
        HALF,
        differentiable=(0, 1),
        errors=DIFFER,
    ),
    Record(
        "Softsign",
        unary_cases(normal()),
        lambda x: x / (1 + abs(x)),
        a.softsign,
        ALL_FLOATS,
        HALF,
        differentiable=(0,),
    ),
    Record(
        "SoftsignGrad",
        PAIR,
        lambda g, x: g / (1 + abs(x)) ** 2,
        None,
        ALL_FLOATS,
        HALF,
        differentiable=(0, 1),
        errors=DIFFER,
    ),
    Record(
        ".gelu",
        [case(normal(2, 3)), case(normal(2, 3), approximate=True)],
        _gelu,
        a.gelu,
        FLOATS,
        {"float32": 1e-5},
        differentiable=(0,),
    ),
    Record(
        ".silu",
        [case(normal(2, 3)), case(normal(2, 3), beta=2.0)],
        lambda x, beta=1: x * _sigmoid(beta * x),
        a.silu,
        FLOATS,
        differentiable=(0,),
    ),
    Record(
        ".crelu",
        [case(normal(2, 3)), case(normal(2, 3), axis=0)],
        lambda x, axis=-1: np.maximum(np.concatenate([x, -x], axis), 0),
        a.crelu,
        FLOATS,
        differentiable=(0,),
    ),
    Record(
        "Softmax",
        [
            case(normal(2, 3)),
            case(normal(3)),
            case(normal(2, 1, 4)),
            case(normal(0, 3)),
            case(normal(2, 0)),
        ],
        softmax,
        s.softmax,
        ALL_FLOATS,
        HALF,
        differentiable=(0,),
        errors=(Failure((normal(),), "rank at least 1"),),
    ),
    Record(
        ".softmax",
        [case(normal(2, 3), axis=0), case(normal(2, 3, 2), axis=1)],
        softmax,
        s.softmax,
        FLOATS,
        differentiable=(0,),
    ),
    Record(
        "LogSoftmax",
        [case(normal(2, 3)), case(normal(2, 3, 2))],
        lambda x: np.log(softmax(x)),
        s.log_softmax,
        ALL_FLOATS,
        HALF,
        differentiable=(0,),
    ),
    Record(
        "SoftmaxCrossEntropyWithLogits",
        [case(normal(2, 3), DISTRIBUTION), case(normal(1, 3), DISTRIBUTION)],
        _cross_entropy,
        None,
        ALL_FLOATS,
        HALF,
        differentiable=(0,),
        errors=(
            Failure((normal(2, 3), normal(3, 3)), "broadcastable"),
            Failure((normal(3), normal(3)), "2-dimensional"),
        ),
    ),
    Record(
        "SoftmaxCrossEntropyWithLogits",
        [case(normal(2, 3), DISTRIBUTION)],
        _cross_entropy,
        None,
        FLOATS,
        differentiable=(1,),
    ),
    Record(
        ".softmax_cross_entropy_with_logits",
        [
            case(DISTRIBUTION, normal(2, 3)),
            case(DISTRIBUTION.shaped(2, 3, 2), normal(2, 3, 2)),
            case(DISTRIBUTION.shaped(3), normal(3)),
            case(Sample((2, 3), _columns_of_one), normal(2, 3), axis=0),
        ],
        _cross_entropy_loss,
        s.softmax_cross_entropy_with_logits,
        FLOATS,
        differentiable=(1,),
    ),
    Record(
        "SparseSoftmaxCrossEntropyWithLogits",
        [case(normal(2, 3), LABELS), case(normal(2, 3), LABELS.astype(np.int64))],
        _sparse,
        None,
        ALL_FLOATS,
        HALF,
        differentiable=(0,),
        errors=(
            Failure(
                (normal(2, 3), np.int32([0, 3])),
                BAD_LABEL,
                eager=errors.InvalidArgumentError,
                graph=None,
            ),
            Failure((normal(2, 3), np.int32([0])), "equal shapes"),
            Failure((normal(3), np.int32([0])), "rank 2"),
        ),
    ),
    Record(
        ".sparse_softmax_cross_entropy_with_logits",
        [
            case(LABELS, normal(2, 3)),
            case(np.int32([[1, 2]]), normal(1, 2, 3)),
            case(np.asarray(1, np.int32), normal(3)),
        ],
        _sparse_loss,
        s.sparse_softmax_cross_entropy_with_logits,
        FLOATS,
    ),
    Record(
        ".sigmoid_cross_entropy_with_logits",
        [case(uniform(0, 1, 2, 3), normal(2, 3))],
        lambda z, x: -z * np.log(_sigmoid(x)) - (1 - z) * np.log(_sigmoid(-x)),
        s.sigmoid_cross_entropy_with_logits,
        FLOATS,
        differentiable=(0, 1),
    ),
    Record(
        ".weighted_cross_entropy_with_logits",
        [case(uniform(0, 1, 2, 3), normal(2, 3), pos_weight=2.5)],
        lambda z, x, pos_weight: (
            -pos_weight * z * np.log(_sigmoid(x)) - (1 - z) * np.log(_sigmoid(-x))
        ),
        s.weighted_cross_entropy_with_logits,
        FLOATS,
        differentiable=(0, 1),
    ),
    Record(
        ".log_poisson_loss",
        [
            case(uniform(0.3, 4, 2, 3), normal(2, 3)),
            case(uniform(0.3, 4, 2, 3), normal(2, 3), compute_full_loss=True),
        ],
        _poisson,
        s.log_poisson_loss,
        FLOATS,
    ),
    Record(
        "BiasAdd",
        [
            case(normal(2, 3), normal(3)),
            case(normal(2, 3, 2, 2), normal(3), data_format="NCHW"),
            case(normal(1, 0, 3), normal(3)),
        ],
        _bias,
        b.bias_add,
        (*FLOATS, *SIGNED),
        differentiable=(0, 1),
        errors=(
            Failure((normal(2, 3), normal(2)), "as many biases"),
            Failure((normal(2), normal(2)), "rank at least 2"),
            Failure((normal(2, 3), normal(1, 3)), "rank 1"),
        ),
    ),
    Record(
        "BiasAddV1",
        [case(normal(2, 3), normal(3))],
        _bias,
        b.bias_add_v1,
        FLOATS,
        differentiable=(0, 1),
    ),
    Record(
        "BiasAddGrad",
        [case(normal(2, 4, 3)), case(normal(2, 3, 4), data_format="NCHW"), case(normal(0, 3))],
        _bias_grad,
        None,
        (*FLOATS, *SIGNED),
        differentiable=(0,),
        errors=(Failure((normal(2),), "rank at least 2"),),
    ),
]
