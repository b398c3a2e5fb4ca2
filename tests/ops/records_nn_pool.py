"""Records of pooling."""

import itertools

import numpy as np
from tests.ops.harness import FLOATS, Failure, Record, case, distinct, normal

from penstock.ops import nn_pool_ops as p


def _windows(shape, ksize, strides, padding):
    """The output shape, and for each output the slices of its window."""
    pads, outs = [], []
    for i, (n, k, s) in enumerate(zip(shape, ksize, strides, strict=True)):
        need = max((-(-n // s) - 1) * s + k - n, 0) if padding == "SAME" else 0
        pads.append(
            (need // 2, need - need // 2) if isinstance(padding, str) else tuple(padding[i])
        )
        outs.append((n + sum(pads[-1]) - k) // s + 1)
    cuts = {}
    for at in itertools.product(*map(range, outs)):
        starts = [o * s - b for o, s, (b, _) in zip(at, strides, pads, strict=True)]
        cuts[at] = tuple(slice(max(a, 0), a + k) for a, k in zip(starts, ksize, strict=True))
    return tuple(outs), cuts


def _full(value, x, first):
    """One entry for each axis."""
    count = x.ndim - 2
    entries = list(np.broadcast_to(value, count)) if np.size(value) in (1, count) else list(value)
    if len(entries) == x.ndim:
        return entries
    return [1, 1, *entries] if first else [1, *entries, 1]


def _pool(choose):
    def run(x, ksize, strides, padding, data_format="NHWC", **rest):
        first = data_format[1] == "C"
        outs, cuts = _windows(x.shape, _full(ksize, x, first), _full(strides, x, first), padding)
        y = np.zeros(outs, x.dtype)
        for at, cut in cuts.items():
            y[at] = choose(x[cut])
        return y

    return run


def _max_grad(x, y, grad, ksize, strides, padding):
    result = np.zeros_like(x)
    for at, cut in _windows(x.shape, ksize, strides, padding)[1].items():
        part = result[cut]
        part[np.unravel_index(x[cut].argmax(), part.shape)] += grad[at]
    return result


def _max_grad_grad(x, y, grad, ksize, strides, padding):
    outs, cuts = _windows(x.shape, ksize, strides, padding)
    result = np.zeros(outs, grad.dtype)
    for at, cut in cuts.items():
        result[at] = grad[cut][np.unravel_index(x[cut].argmax(), x[cut].shape)]
    return result


def _avg_grad(sizes, grad, ksize, strides, padding):
    result = np.zeros(tuple(sizes), grad.dtype)
    for at, cut in _windows(tuple(sizes), ksize, strides, padding)[1].items():
        result[cut] += grad[at] / result[cut].size
    return result


def _argmax(x, ksize, strides, padding, include_batch_in_index=False):
    sizes, steps = _full(ksize, x, False), _full(strides, x, False)
    outs, cuts = _windows(x.shape, sizes, steps, padding)
    index = np.arange(x.size).reshape(x.shape)
    if not include_batch_in_index:
        index = index % (x.size // x.shape[0])
    where = np.zeros(outs, np.int64)
    for at, cut in cuts.items():
        where[at] = index[cut].reshape(-1)[x[cut].argmax()]
    return _pool(np.max)(x, sizes, steps, padding), where


def _argmax_grad(x, grad, argmax, **rest):
    result = np.zeros(x.shape, grad.dtype)
    for b, (g, a) in enumerate(zip(grad, argmax, strict=True)):
        np.add.at(result[b].reshape(-1), a.reshape(-1), g.reshape(-1))
    return result


def grad_case(shape, ksize, strides, padding, **more):
    """A gradient call whose output and gradient have the right shapes."""
    outs = _windows(shape, ksize, strides, padding)[0]
    x = np.random.default_rng(3).permutation(int(np.prod(shape))).reshape(shape) / 7.0
    y = _pool(np.max)(x, ksize, strides, padding)
    return x, y, outs, {"ksize": ksize, "strides": strides, "padding": padding, **more}


def _max_cases(second):
    cases = []
    for shape, ksize, strides, padding in (
        ((2, 4, 4, 2), K2, K2, "VALID"),
        ((1, 5, 4, 2), K3, K2, "SAME"),
        ((1, 20, 20, 1), [1, 9, 9, 1], [1, 5, 4, 1], "SAME"),
    ):
        x, y, outs, attrs = grad_case(shape, ksize, strides, padding)
        grad = normal(*(shape if second else outs))
        cases.append(case(x, y, grad, **attrs))
    return cases


def _dilated(x, window_shape, pooling_type, dilations):
    choose = np.max if pooling_type == "MAX" else np.mean
    h, w = (n - (k - 1) * s for n, k, s in zip(x.shape[1:3], window_shape, dilations, strict=True))
    taps = [x[:, i * 2 : i * 2 + h, j * 2 : j * 2 + w] for i, j in np.ndindex(*window_shape)]
    return choose(taps, 0)


K2, K3 = [1, 2, 2, 1], [1, 3, 3, 1]
D2 = [1, 2, 2, 2, 1]
LOOSE = {"float32": 1e-5}
BIG = Failure((normal(1, 3, 3, 1),), "fits", {"ksize": 5, "strides": 1, "padding": "VALID"})
X3, Y3, O3, A3 = grad_case((1, 3, 4, 2, 2), D2, D2, "SAME")
IMAGES = [
    case(distinct(2, 4, 5, 2), ksize=2, strides=2, padding="VALID"),
    case(distinct(2, 5, 4, 2), ksize=3, strides=2, padding="SAME"),
    case(distinct(1, 2, 5, 4), ksize=2, strides=1, padding="SAME", data_format="NCHW"),
    case(distinct(1, 12, 12, 2), ksize=[9, 8], strides=2, padding="VALID"),
    case(distinct(0, 4, 4, 2), ksize=2, strides=2, padding="VALID"),
]

RECORDS = [
    Record(
        "MaxPool",
        [
            *IMAGES,
            case(
                distinct(1, 4, 4, 2), ksize=2, strides=2, padding=[[0, 0], [1, 1], [0, 1], [0, 0]]
            ),
        ],
        _pool(np.max),
        p.max_pool2d,
        (*FLOATS, "int32"),
        differentiable=(0,),
        errors=(
            BIG,
            Failure((normal(3, 3, 1),), "rank 4", {"ksize": 2, "strides": 1, "padding": "SAME"}),
            Failure(
                (normal(1, 3, 3, 1),),
                "batch",
                {"ksize": [2, 1, 1, 1], "strides": 1, "padding": "SAME"},
            ),
        ),
    ),
    Record(
        "MaxPoolGrad",
        [case(*c.inputs, **c.attrs) for c in _max_cases(False)],
        _max_grad,
        None,
        ("float64",),
        differentiable=(2,),
    ),
    Record(
        "MaxPoolGradGrad", _max_cases(True), _max_grad_grad, None, ("float64",), differentiable=(2,)
    ),
    Record(
        "MaxPoolV2",
        [case(distinct(2, 4, 5, 2), np.int32(K2), np.int32(K2), padding="SAME")],
        lambda x, k, s, padding: _pool(np.max)(x, k, s, padding),
        None,
        FLOATS,
        differentiable=(0,),
    ),
    Record(
        "MaxPoolGradV2",
        [
            case(
                *c.inputs,
                np.int32(c.attrs["ksize"]),
                np.int32(c.attrs["strides"]),
                padding=c.attrs["padding"],
            )
            for c in _max_cases(False)
        ],
        lambda x, y, g, k, s, padding: _max_grad(x, y, g, k, s, padding),
        None,
        ("float64",),
        differentiable=(2,),
    ),
    Record(
        "MaxPoolGradGradV2",
        [
            case(
                *c.inputs,
                np.int32(c.attrs["ksize"]),
                np.int32(c.attrs["strides"]),
                padding=c.attrs["padding"],
            )
            for c in _max_cases(True)
        ],
        lambda x, y, g, k, s, padding: _max_grad_grad(x, y, g, k, s, padding),
        None,
        ("float64",),
        differentiable=(2,),
    ),
    Record(
        "AvgPool",
        IMAGES,
        _pool(np.mean),
        p.avg_pool2d,
        FLOATS,
        LOOSE,
        differentiable=(0,),
        errors=(BIG,),
    ),
    Record(
        "AvgPoolGrad",
        [
            case(np.int32([2, 4, 5, 2]), normal(2, 2, 3, 2), ksize=K3, strides=K2, padding="SAME"),
            case(
                np.int32([1, 20, 20, 1]),
                normal(1, 4, 5, 1),
                ksize=[1, 9, 9, 1],
                strides=[1, 5, 4, 1],
                padding="SAME",
            ),
        ],
        _avg_grad,
        None,
        FLOATS,
        LOOSE,
        differentiable=(1,),
    ),
    Record(
        "MaxPool3D",
        [case(distinct(1, 4, 3, 4, 2), ksize=2, strides=2, padding="SAME")],
        _pool(np.max),
        p.max_pool3d,
        ("float32",),
    ),
    Record(
        "MaxPool3DGrad",
        [case(X3.astype(np.float32), Y3.astype(np.float32), normal(*O3), **A3)],
        _max_grad,
        None,
        ("float32",),
    ),
    Record(
        "MaxPool3DGradGrad",
        [case(X3.astype(np.float32), Y3.astype(np.float32), normal(*X3.shape), **A3)],
        _max_grad_grad,
        None,
        ("float32",),
    ),
    Record(
        "AvgPool3D",
        [case(normal(1, 4, 3, 4, 2), ksize=2, strides=2, padding="SAME")],
        _pool(np.mean),
        p.avg_pool3d,
        FLOATS,
        LOOSE,
        differentiable=(0,),
    ),
    Record(
        "AvgPool3DGrad",
        [
            case(
                np.int32([1, 4, 3, 2, 2]),
                normal(1, 2, 2, 1, 2),
                ksize=D2,
                strides=D2,
                padding="SAME",
            )
        ],
        _avg_grad,
        None,
        FLOATS,
        LOOSE,
        differentiable=(1,),
    ),
    Record(
        "MaxPoolWithArgmax",
        [
            case(distinct(2, 5, 4, 2), ksize=2, strides=2, padding="SAME"),
            case(
                distinct(2, 5, 4, 2),
                ksize=2,
                strides=2,
                padding="SAME",
                include_batch_in_index=True,
            ),
        ],
        _argmax,
        p.max_pool_with_argmax,
        FLOATS,
        differentiable=(0,),
        order=1,
    ),
    Record(
        "MaxPoolGradWithArgmax",
        [
            case(
                normal(2, 2, 2, 1),
                normal(2, 1, 1, 1),
                np.int64([[[[1]]], [[[3]]]]),
                ksize=K2,
                strides=K2,
                padding="VALID",
            )
        ],
        _argmax_grad,
        None,
        FLOATS,
    ),
    Record(
        ".max_pool1d",
        [case(distinct(2, 5, 2), ksize=2, strides=2, padding="SAME")],
        lambda x, ksize, strides, padding: _pool(np.max)(x, [ksize], [strides], padding, "NWC"),
        p.max_pool1d,
        FLOATS,
        differentiable=(0,),
    ),
    Record(
        ".pool",
        [
            case(
                normal(2, 5, 4, 2),
                window_shape=[2, 2],
                pooling_type="AVG",
                strides=[2, 1],
                padding="SAME",
            )
        ],
        lambda x, window_shape, pooling_type, strides, padding: _pool(np.mean)(
            x, window_shape, strides, padding
        ),
        p.pool,
        FLOATS,
        LOOSE,
        differentiable=(0,),
    ),
    Record(
        ".pool-dilated",
        [
            case(normal(2, 5, 6, 2), window_shape=[2, 3], pooling_type=t, dilations=[2, 2])
            for t in ("MAX", "AVG")
        ],
        _dilated,
        p.pool,
        FLOATS,
        LOOSE,
        differentiable=(0,),
    ),
]
