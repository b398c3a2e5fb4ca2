"""Records of batch normalisation, moments, local response, top k and embeddings."""

import numpy as np
from tests.ops.harness import FLOATS, Failure, Record, case, normal, uniform

from penstock import errors
from penstock.core.execute import execute
from penstock.ops import nn_embedding as e
from penstock.ops import nn_moments as m
from penstock.ops import nn_response as r


def _layout(x, data_format):
    channel = data_format.index("C")
    axes = tuple(i for i in range(x.ndim) if i != channel)
    return axes, [-1 if i == channel else 1 for i in range(x.ndim)]


def _fused(
    x,
    scale,
    offset,
    mean,
    variance,
    epsilon=1e-4,
    exponential_avg_factor=1.0,
    data_format="NHWC",
    is_training=True,
):
    axes, beside = _layout(x, data_format)
    count = x.size // scale.size
    used = (x.mean(axes), x.var(axes)) if is_training else (mean, variance)
    kept = used
    if is_training:
        kept = (used[0], used[1] * count / (count - 1))
        if exponential_avg_factor != 1.0:
            f = exponential_avg_factor
            kept = tuple(
                (1 - f) * old + f * new for old, new in zip((mean, variance), kept, strict=True)
            )
    hat = (x - used[0].reshape(beside)) / np.sqrt(used[1].reshape(beside) + epsilon)
    return (hat * scale.reshape(beside) + offset.reshape(beside), *kept, *used)


def _fused_v3(*args, **attrs):
    return (*_fused(*args, **attrs), np.zeros(()))


def _fused_grad(
    g, x, scale, mean, variance, *unused, epsilon=1e-4, data_format="NHWC", is_training=True
):
    axes, beside = _layout(x, data_format)
    root = 1 / np.sqrt(variance + epsilon).reshape(beside)
    hat = (x - mean.reshape(beside)) * root
    by_scale, by_offset = (g * hat).sum(axes), g.sum(axes)
    count = x.size // scale.size
    inner = g
    if is_training:
        inner = g - by_offset.reshape(beside) / count - hat * by_scale.reshape(beside) / count
    return scale.reshape(beside) * root * inner, by_scale, by_offset, np.zeros(0), np.zeros(0)


def _lrn(x, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5):
    sums = np.stack(
        [
            (x[..., max(i - depth_radius, 0) : i + depth_radius + 1] ** 2).sum(-1)
            for i in range(x.shape[-1])
        ],
        -1,
    )
    return x / (bias + alpha * sums) ** beta


def _lrn_grad(g, x, y, **attrs):
    result = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = 1e-6
        result[i] = ((_lrn(x + step, **attrs) - _lrn(x - step, **attrs)) / 2e-6 * g).sum()
    return result


def _moments(x, axes, keepdims=False):
    return x.mean(tuple(axes), keepdims=keepdims), x.var(tuple(axes), keepdims=keepdims)


def _weighted(x, axes, frequency_weights):
    w = np.broadcast_to(np.asarray(frequency_weights), x.shape)
    mean = (w * x).sum(tuple(axes)) / w.sum(tuple(axes))
    spread = (x - np.expand_dims(mean, tuple(axes))) ** 2
    return mean, (w * spread).sum(tuple(axes)) / w.sum(tuple(axes))


def _sufficient(x, axes, shift=0.0):
    count = np.prod([x.shape[a] for a in axes])
    return (
        np.asarray(float(count)),
        (x - shift).sum(tuple(axes)),
        ((x - shift) ** 2).sum(tuple(axes)),
        np.asarray(shift),
    )


def _normalise(x, mean, variance, offset, scale, variance_epsilon):
    return (x - mean) / np.sqrt(variance + variance_epsilon) * scale + offset


def _in_top_k(p, t, k):
    own = p[np.arange(len(t)), np.clip(t, 0, p.shape[1] - 1)][:, None]
    return (t >= 0) & (t < p.shape[1]) & ((p > own).sum(1) < k)


def _table(params, ids):
    return params[ids]


def _only_y(op):
    """The operation's first output: gradients of its moments are not passed on, as in
    TensorFlow."""
    return lambda *inputs, **attrs: execute(op, inputs, attrs)[0]


def _partition(data, partitions, num_partitions):
    return [data[partitions == i] for i in range(num_partitions)]


def _stitch(indices, data):
    return np.stack([data[0][0], data[1][0, 0], data[0][1], data[1][1, 0]])


def _parts(params, ids, partition_strategy="mod"):
    if partition_strategy == "div":
        return np.concatenate(params)[ids]
    return np.stack([params[i % len(params)][i // len(params)] for i in ids.reshape(-1)]).reshape(
        *ids.shape, -1
    )


X, V, POSITIVE = normal(2, 3, 2, 3), normal(3), uniform(0.5, 2, 3)
EMPTY = np.zeros(0, np.float32)
PART = normal(2, 3, 2, 2)
LOOSE = {"float32": 1e-4}
GRADIENT = {"grad_dtype": "float32", "grad_tolerance": 2e-2}
TRAIN = [
    case(X, V, V, EMPTY, EMPTY),
    case(normal(2, 3, 2, 2), V, V, EMPTY, EMPTY, data_format="NCHW"),
    case(X, V, V, V, POSITIVE, is_training=False),
    case(X, V, V, V, POSITIVE, exponential_avg_factor=0.25),
]
BACK = [
    case(X, X, V, V, POSITIVE),
    case(normal(2, 3, 2, 2), normal(2, 3, 2, 2), V, V, POSITIVE, data_format="NCHW"),
    case(X, X, V, V, POSITIVE, is_training=False),
]
BACK_V3 = [case(*c.inputs, EMPTY, **c.attrs) for c in BACK]
CHANNELS = (Failure((X, normal(2), V, EMPTY, EMPTY), "as many elements as the channels"),)
IDS = np.array([[2, 0], [1, 2]], np.int32)
SCORES = np.float32([[0.1, 0.2, 0.2], [0.1, 0.2, 0.3], [1, 2, 3]])

RECORDS = [
    Record("FusedBatchNorm", TRAIN, _fused, tolerance=LOOSE, errors=CHANNELS),
    Record("FusedBatchNormV2", TRAIN, _fused, tolerance=LOOSE, errors=CHANNELS),
    Record("FusedBatchNormV3", TRAIN, _fused_v3, tolerance=LOOSE, errors=CHANNELS),
    Record("FusedBatchNormGrad", BACK, _fused_grad, tolerance=LOOSE),
    Record("FusedBatchNormGradV2", BACK, _fused_grad, tolerance=LOOSE),
    Record("FusedBatchNormGradV3", BACK_V3, _fused_grad, tolerance=LOOSE),
    Record(
        ".normalised",
        TRAIN,
        lambda *a, **k: _fused(*a, **k)[0],
        _only_y("FusedBatchNormV3"),
        tolerance=LOOSE,
        differentiable=(0, 1, 2),
        **GRADIENT,
    ),
    Record(
        ".normalised",
        TRAIN[:3],
        lambda *a, **k: _fused(*a, **k)[0],
        _only_y("FusedBatchNorm"),
        tolerance=LOOSE,
        differentiable=(0, 1, 2),
        **GRADIENT,
    ),
    Record(
        ".normalised",
        TRAIN[2:3],
        lambda *a, **k: _fused(*a, **k)[0],
        _only_y("FusedBatchNormV2"),
        tolerance=LOOSE,
        differentiable=(0, 1, 2),
        **GRADIENT,
    ),
    Record(
        ".moments",
        [case(normal(2, 3, 2), axes=[0, 2]), case(normal(2, 3, 2), axes=[1], keepdims=True)],
        _moments,
        m.moments,
        FLOATS,
        LOOSE,
        differentiable=(0,),
    ),
    Record(
        ".weighted_moments",
        [case(normal(2, 3), axes=[0], frequency_weights=[[1.0], [2.0]])],
        _weighted,
        m.weighted_moments,
        FLOATS,
        LOOSE,
        differentiable=(0,),
    ),
    Record(
        ".sufficient_statistics",
        [case(normal(2, 3), axes=[0], shift=0.5)],
        _sufficient,
        m.sufficient_statistics,
        FLOATS,
        LOOSE,
    ),
    Record(
        ".batch_normalization",
        [case(normal(4, 3), V, POSITIVE, V, V, variance_epsilon=1e-3)],
        _normalise,
        m.batch_normalization,
        FLOATS,
        LOOSE,
        differentiable=(0, 1, 2, 3, 4),
    ),
    Record(
        ".l2_normalize",
        [case(normal(2, 3), axis=1), case(normal(2, 3))],
        lambda x, axis=None: x / np.sqrt((x * x).sum(axis, keepdims=True)),
        m.l2_normalize,
        FLOATS,
        LOOSE,
        differentiable=(0,),
    ),
    Record(
        ".zero_fraction",
        [case(uniform(-1, 1, 3, 4))],
        lambda x: np.float32((x == 0).mean()),
        m.zero_fraction,
        ("int32",),
        result_dtype="float32",
    ),
    Record(
        "DynamicPartition",
        [case(normal(4, 2), np.int32([1, 0, 2, 1]), num_partitions=3)],
        _partition,
        None,
        FLOATS,
        differentiable=(0,),
        compiled=False,
        errors=(  # sizes depend on the data
            Failure(
                (normal(2), np.int32([0, 3])),
                "\\[0, 3\\), got 3",
                {"num_partitions": 3},
                errors.InvalidArgumentError,
                None,
            ),
            Failure((normal(2), np.int32([0])), "start with", {"num_partitions": 3}),
        ),
    ),
    *[
        Record(
            name,
            [
                case([np.int32([0, 2]), np.int32([[1], [3]])], [normal(2, 2), normal(2, 1, 2)]),
            ],
            _stitch,
            None,
            FLOATS,
            differentiable=(2, 3),
        )
        for name in ("DynamicStitch", "ParallelDynamicStitch")
    ],
    Record(
        ".embedding_lookup_v1",
        [
            case([normal(2, 3), normal(2, 3), normal(1, 3)], np.int32([[4, 0], [3, 1]])),
            case(
                [normal(2, 3), normal(2, 3), normal(1, 3)],
                np.int32([4, 0, 2]),
                partition_strategy="div",
            ),
        ],
        _parts,
        e.embedding_lookup_v1,
        FLOATS,
    ),
    Record(
        ".embedding_lookup_norm",
        [case(3 * np.eye(3, dtype=np.float32), IDS, max_norm=1.0)],
        lambda t, ids, max_norm: np.eye(3)[ids],
        e.embedding_lookup,
    ),
    Record(
        "LRN",
        [
            case(normal(1, 2, 1, 8), depth_radius=2, bias=1.5, alpha=0.5, beta=0.7),
            case(normal(1, 1, 2, 3)),
        ],
        _lrn,
        r.local_response_normalization,
        ("float32",),
        LOOSE,
        errors=(Failure((normal(2, 3),), "rank 4"),),
    ),
    Record(
        "LRNGrad",
        [
            case(normal(1, 2, 1, 4), x, _lrn(x).astype(np.float32))
            for x in [np.float32([[[[1, -2, 3, 0.5]], [[2, 1, 1, -1]]]])]
        ],
        _lrn_grad,
        None,
        ("float32",),
        {"float32": 1e-3},
    ),
    Record(
        "InTopK",
        [case(SCORES, np.int32([1, 0, 5]), k=1)],
        _in_top_k,
        None,
        ("float32",),
        result_dtype="bool",
        errors=(
            Failure(
                (SCORES, np.int32([1])), "predictions 3 must match length of targets 1", {"k": 1}
            ),
        ),
    ),
    Record(
        "InTopKV2",
        [case(np.int64([1, 0, -1]), SCORES, 2)],
        lambda t, p, k: _in_top_k(p, t, k),
        r.in_top_k,
        ("float32",),
        result_dtype="bool",
    ),
    Record(
        ".embedding_lookup",
        [case(normal(3, 2), IDS), case(normal(3, 2), IDS[0])],
        _table,
        e.embedding_lookup,
        FLOATS,
    ),
    Record("PenstockAttention", tested_by="tests/ops/test_native_attention.py"),
    Record("PenstockAttentionGrad", tested_by="tests/ops/test_native_attention.py"),
    Record("PenstockLayerNorm", tested_by="tests/ops/test_native_layer_norm.py"),
    Record("PenstockLayerNormGrad", tested_by="tests/ops/test_native_layer_norm.py"),
]
