"""Records of convolutions."""

import itertools

import numpy as np
from tests.ops.harness import FLOATS, Failure, Record, case, normal

from penstock.errors import InvalidArgumentError
from penstock.ops import nn_conv_ops as n
from penstock.ops import nn_conv_transpose as t


def padded(x, sizes, strides, dilations, padding):
    """`x` [N, spatial..., C] padded, and the output sizes."""
    pads, outs = [], []
    for i, (size, window) in enumerate(zip(x.shape[1:-1], sizes, strict=True)):
        reach = (window - 1) * dilations[i] + 1
        if padding == "SAME":
            need = max((-(-size // strides[i]) - 1) * strides[i] + reach - size, 0)
            pads.append((need // 2, need - need // 2))
        else:
            pads.append((0, 0) if padding == "VALID" else tuple(padding[i + 1]))
        outs.append((size + sum(pads[-1]) - reach) // strides[i] + 1)
    return np.pad(x, [(0, 0), *pads, (0, 0)]), outs


def convolve(x, w, strides=1, padding="VALID", dilations=1, first=False):
    """A convolution tap by tap, channels last; grouped when the filter's depth says so."""
    if first:
        x = np.moveaxis(x, 1, -1)
    count = w.ndim - 2
    strides, dilations = (list(np.broadcast_to(v, count)) for v in (strides, dilations))
    padded_x, outs = padded(x, w.shape[:-2], strides, dilations, padding)
    groups = x.shape[-1] // w.shape[-2]
    result = np.zeros((x.shape[0], *outs, w.shape[-1]), x.dtype)
    for tap in itertools.product(*map(range, w.shape[:-2])):
        cut = tuple(
            slice(k * dil, k * dil + (o - 1) * s + 1, s)
            for k, dil, o, s in zip(tap, dilations, outs, strides, strict=True)
        )
        part = padded_x[(slice(None), *cut)]
        for g in range(groups):
            ins = slice(g * w.shape[-2], (g + 1) * w.shape[-2])
            out = slice(g * w.shape[-1] // groups, (g + 1) * w.shape[-1] // groups)
            result[..., out] += part[..., ins] @ w[tap][:, out]
    return np.moveaxis(result, -1, 1) if first else result


def _conv(x, w, strides, padding, data_format="NHWC", dilations=1):
    return convolve(x, w, strides, padding, dilations, data_format[1] == "C")


def _conv_batches(x, w, strides, padding):
    flat = convolve(x.reshape(-1, *x.shape[-3:]), w, strides, padding)
    return flat.reshape(*x.shape[:-3], *flat.shape[1:])


def _depthwise(x, w, strides, padding, data_format="NHWC", dilations=(1, 1)):
    *sizes, depth, each = w.shape
    spatial = strides[2:] if data_format == "NCHW" else strides[1:3]
    flat = w.reshape(*sizes, 1, depth * each)
    return convolve(x, flat, spatial, padding, dilations, data_format == "NCHW")


def _linear(forward, shape, grad):
    """The transpose of a linear map, column by column."""
    size = int(np.prod(shape))
    columns = [forward(np.eye(size)[i].reshape(shape)) for i in range(size)]
    return np.array([(c * grad).sum() for c in columns]).reshape(shape)


def _input_of(sizes, w, grad, strides, padding, dilations=(1, 1, 1, 1), **rest):
    steps, holes = strides[1:-1], dilations[1:-1]
    return _linear(lambda x: convolve(x, w, steps, padding, holes), tuple(sizes), grad)


def _filter_of(x, sizes, grad, strides, padding, dilations=(1, 1, 1, 1), **rest):
    steps, holes = strides[1:-1], dilations[1:-1]
    return _linear(lambda w: convolve(x, w, steps, padding, holes), tuple(sizes), grad)


def _depthwise_input_of(sizes, w, grad, strides, padding):
    return _linear(lambda x: _depthwise(x, w, strides, padding), tuple(sizes), grad)


def _depthwise_filter_of(x, sizes, grad, strides, padding):
    return _linear(lambda w: _depthwise(x, w, strides, padding), tuple(sizes), grad)


def _transposed(x, w, output_shape, strides, padding="SAME"):
    steps = list(np.broadcast_to(strides, w.ndim - 2))
    return _linear(lambda y: convolve(y, w, steps, padding), tuple(output_shape), x)


def _separable(x, deep, point, strides, padding):
    return _depthwise(x, deep, strides, padding) @ point[0, 0]


ONES, TWOS = [1, 1, 1, 1], [1, 2, 2, 1]
LOOSE = {"float32": 2e-5}
PADS = [[0, 0], [1, 2], [0, 1], [0, 0]]
IMAGE, FILTER = normal(2, 5, 4, 2), normal(3, 2, 2, 3)

RECORDS = [
    Record(
        "Conv2D",
        [
            case(IMAGE, FILTER, strides=1, padding="SAME"),
            case(IMAGE, FILTER, strides=2, padding="SAME"),
            case(IMAGE, FILTER, strides=[1, 2], padding="VALID"),
            case(IMAGE, FILTER, strides=2, padding=PADS),
            case(IMAGE, normal(2, 2, 2, 3), strides=1, padding="SAME", dilations=2),
            case(
                normal(2, 4, 5, 3),
                normal(2, 2, 2, 4),
                strides=1,
                padding="VALID",
                data_format="NCHW",
            ),
            case(normal(0, 4, 4, 2), FILTER, strides=1, padding="VALID"),
            case(normal(2, 5, 5, 4), normal(3, 3, 2, 6), strides=1, padding="SAME"),
        ],
        _conv,
        n.conv2d,
        FLOATS,
        LOOSE,
        differentiable=(0, 1),
        errors=(
            Failure(
                (normal(1, 4, 4, 2), normal(2, 2, 3, 4)),
                "evenly divisible",
                {"strides": 1, "padding": "SAME"},
            ),
            Failure(
                (normal(1, 4, 4, 2), normal(2, 2, 1, 3)),
                "number of groups",
                {"strides": 1, "padding": "SAME"},
            ),
            Failure((normal(4, 4, 2), FILTER), "rank 4", {"strides": 1, "padding": "SAME"}),
            Failure(
                (normal(1, 4, 4, 2), normal(6, 6, 2, 1)), "fits", {"strides": 1, "padding": "VALID"}
            ),
            Failure((IMAGE, FILTER), "positive", {"strides": 0, "padding": "SAME"}),
            Failure(
                (IMAGE, FILTER), "batch and depth", {"strides": [2, 1, 1, 1], "padding": "SAME"}
            ),
        ),
    ),
    Record(
        ".conv2d",
        [case(normal(2, 3, 4, 4, 2), normal(2, 2, 2, 3), strides=1, padding="SAME")],
        _conv_batches,
        n.conv2d,
        FLOATS,
        LOOSE,
        differentiable=(0, 1),
        graph=False,
    ),  # more batch axes need a known rank
    Record(
        "Conv2DBackpropInput",
        [
            case(np.int32([2, 5, 4, 2]), FILTER, normal(2, 3, 2, 3), strides=TWOS, padding="SAME"),
            case(np.int32([2, 5, 4, 2]), FILTER, normal(2, 3, 3, 3), strides=ONES, padding="VALID"),
            case(
                np.int32([1, 6, 5, 4]),
                normal(3, 2, 2, 2),
                normal(1, 2, 2, 2),
                strides=TWOS,
                padding="VALID",
            ),
        ],
        _input_of,
        None,
        FLOATS,
        LOOSE,
        differentiable=(1, 2),
        errors=(
            Failure(
                (np.int32([2, 5, 4, 2]), FILTER, normal(2, 3, 3, 3)),
                "out_backprop of shape",
                {"strides": TWOS, "padding": "SAME"},
                graph=InvalidArgumentError,
            ),
        ),
    ),
    Record(
        "Conv2DBackpropFilter",
        [
            case(IMAGE, np.int32([3, 2, 2, 3]), normal(2, 3, 2, 3), strides=TWOS, padding="SAME"),
            case(
                IMAGE,
                np.int32([2, 2, 2, 3]),
                normal(2, 3, 2, 3),
                strides=ONES,
                padding="VALID",
                dilations=TWOS,
            ),
            case(
                normal(1, 6, 5, 4),
                np.int32([3, 2, 2, 2]),
                normal(1, 2, 2, 2),
                strides=TWOS,
                padding="VALID",
            ),
        ],
        _filter_of,
        None,
        FLOATS,
        LOOSE,
        differentiable=(0, 2),
    ),
    Record(
        "Conv3D",
        [
            case(normal(1, 3, 4, 3, 2), normal(2, 2, 2, 2, 2), strides=1, padding="SAME"),
            case(normal(1, 3, 4, 3, 2), normal(2, 3, 1, 2, 2), strides=2, padding="VALID"),
        ],
        lambda x, w, strides, padding: convolve(x, w, strides, padding),
        n.conv3d,
        FLOATS,
        LOOSE,
        differentiable=(0, 1),
    ),
    Record(
        "Conv3DBackpropInputV2",
        [
            case(
                np.int32([1, 3, 2, 3, 2]),
                normal(2, 2, 1, 2, 2),
                normal(1, 2, 1, 2, 2),
                strides=[1, 2, 2, 2, 1],
                padding="SAME",
            )
        ],
        lambda s, w, g, strides, padding: _input_of(s, w, g, strides, padding, (1,) * 5),
        None,
        FLOATS,
        LOOSE,
        differentiable=(1, 2),
    ),
    Record(
        "Conv3DBackpropFilterV2",
        [
            case(
                normal(1, 3, 2, 3, 2),
                np.int32([2, 2, 1, 2, 2]),
                normal(1, 2, 1, 2, 2),
                strides=[1, 2, 2, 2, 1],
                padding="SAME",
            )
        ],
        lambda x, s, g, strides, padding: _filter_of(x, s, g, strides, padding, (1,) * 5),
        None,
        FLOATS,
        LOOSE,
        differentiable=(0, 2),
    ),
    Record(
        "DepthwiseConv2dNative",
        [
            case(normal(2, 4, 5, 2), normal(3, 2, 2, 2), strides=ONES, padding="SAME"),
            case(IMAGE, FILTER, strides=TWOS, padding="VALID"),
            case(IMAGE, FILTER, strides=ONES, padding="SAME", dilations=[2, 2]),
            case(IMAGE, FILTER, strides=ONES, padding=PADS),
            case(normal(2, 2, 4, 5), FILTER, strides=ONES, padding="SAME", data_format="NCHW"),
            case(normal(1, 10, 10, 2), normal(9, 8, 2, 1), strides=ONES, padding="SAME"),
        ],
        _depthwise,
        n.depthwise_conv2d,
        FLOATS,
        LOOSE,
        differentiable=(0, 1),
        errors=(
            Failure(
                (normal(1, 4, 4, 3), FILTER), "third size", {"strides": ONES, "padding": "SAME"}
            ),
        ),
    ),
    Record(
        "DepthwiseConv2dNativeBackpropInput",
        [
            case(
                np.int32([1, 4, 3, 2]),
                normal(2, 2, 2, 2),
                normal(1, 2, 2, 4),
                strides=TWOS,
                padding="SAME",
            )
        ],
        _depthwise_input_of,
        None,
        FLOATS,
        LOOSE,
        differentiable=(1, 2),
    ),
    Record(
        "DepthwiseConv2dNativeBackpropFilter",
        [
            case(
                normal(1, 4, 3, 2),
                np.int32([2, 2, 2, 2]),
                normal(1, 2, 2, 4),
                strides=TWOS,
                padding="SAME",
            )
        ],
        _depthwise_filter_of,
        None,
        FLOATS,
        LOOSE,
        differentiable=(0, 2),
    ),
    Record(
        ".conv1d",
        [
            case(normal(2, 5, 2), normal(3, 2, 3), stride=2, padding="SAME"),
            case(normal(2, 2, 5), normal(3, 2, 3), stride=1, padding="VALID", data_format="NCW"),
        ],
        lambda x, w, stride, padding, data_format="NWC": convolve(
            x, w, stride, padding, 1, data_format == "NCW"
        ),
        n.conv1d,
        FLOATS,
        LOOSE,
        differentiable=(0, 1),
    ),
    Record(
        ".conv2d_transpose",
        [case(normal(1, 2, 3, 2), normal(3, 2, 3, 2), output_shape=[1, 4, 5, 3], strides=2)],
        _transposed,
        t.conv2d_transpose,
        FLOATS,
        LOOSE,
        differentiable=(0, 1),
    ),
    Record(
        ".conv1d_transpose",
        [case(normal(1, 3, 2), normal(2, 3, 2), output_shape=[1, 6, 3], strides=2)],
        _transposed,
        t.conv1d_transpose,
        FLOATS,
        LOOSE,
        differentiable=(0, 1),
    ),
    Record(
        ".conv3d_transpose",
        [
            case(
                normal(1, 2, 1, 2, 2),
                normal(2, 1, 2, 1, 2),
                output_shape=[1, 3, 2, 4, 1],
                strides=2,
            )
        ],
        _transposed,
        t.conv3d_transpose,
        FLOATS,
        LOOSE,
        differentiable=(0, 1),
    ),
    Record(
        ".separable_conv2d",
        [case(IMAGE, FILTER, normal(1, 1, 6, 2), strides=ONES, padding="SAME")],
        _separable,
        n.separable_conv2d,
        FLOATS,
        LOOSE,
        differentiable=(0, 1, 2),
    ),
    Record("PenstockFinishedConv2D", tested_by="tests/runtime/test_fusing.py"),
    Record("PenstockFinishedConv2DBackpropInput", tested_by="tests/runtime/test_fusing.py"),
]
