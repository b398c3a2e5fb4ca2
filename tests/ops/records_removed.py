"""Records of what old GraphDefs' operations are imported as, and of transposed convolutions."""

import numpy as np
from tests.ops.harness import FLOATS, Failure, Record, case, normal, uniform
from tests.ops.records_nn_convolution import _filter_of, _input_of

import penstock as tf

OLD = "tests/graph/test_superseded.py"
EPSILON = {"variance_epsilon": 0.125, "scale_after_normalization": True}
BARE = {**EPSILON, "scale_after_normalization": False}
IMAGE, DEPTH = normal(2, 3, 2, 4), uniform(0.5, 2.0, 4)
STRIDES = {"strides": [1, 2, 1, 1], "padding": "SAME"}
STRIDES_3D = {"strides": [1, 2, 2, 2, 1], "padding": "SAME"}


def norm(t, m, v, beta, gamma, variance_epsilon, scale_after_normalization):
    scale = (gamma if scale_after_normalization else 1) / np.sqrt(v + variance_epsilon)
    return (t - m) * scale + beta


def norm_grad(t, m, v, gamma, g, variance_epsilon, scale_after_normalization):
    """By finite differences of the sum of the result times `g`."""

    def total(*inputs):
        t, m, v, beta, gamma = inputs
        return (norm(t, m, v, beta, gamma, variance_epsilon, scale_after_normalization) * g).sum()

    inputs, step, slopes = [t, m, v, np.zeros(4), gamma], 1e-6, []
    for index, array in enumerate(inputs):
        slope = np.zeros(array.shape)
        for place in np.ndindex(array.shape):
            ends = []
            for sign in (1, -1):
                moved = array.astype(np.float64)
                moved[place] += sign * step
                ends.append(total(*inputs[:index], moved, *inputs[index + 1 :]))
            slope[place] = (ends[0] - ends[1]) / (2 * step)
        slopes.append(slope)
    return slopes


def eigen(x):
    values, vectors = np.linalg.eigh(x)
    return np.concatenate([values[..., None, :], vectors], -2)


def contrast(images, factor, low, high):
    mean = images.mean((-3, -2), keepdims=True)
    return np.clip((images - mean) * factor + mean, low, high)


BOUNDS = (np.float32(2), np.float32(-1), np.float32(1.5))
WRONG_DEPTH = tuple(np.ones(n, np.float32) for n in (4, 3, 4, 4))
RECORDS = [
    Record("PenstockBatchNormWithGlobalNormalization",
           [case(IMAGE, DEPTH, DEPTH, DEPTH, DEPTH, **a) for a in (EPSILON, BARE)],
           norm, dtypes=FLOATS, differentiable=(0, 1, 2, 3, 4), order=1,
           errors=[
               Failure((np.ones((1, 1, 1, 4), np.float32), *WRONG_DEPTH), "Dimensions must be equal", EPSILON),
               Failure((np.ones((1, 1, 4), np.float32), *WRONG_DEPTH), "rank 4", EPSILON),
           ]),
    Record("PenstockBatchNormWithGlobalNormalizationGrad",
           [case(IMAGE, DEPTH, DEPTH, DEPTH, IMAGE, **a) for a in (EPSILON, BARE)],
           norm_grad, dtypes=FLOATS, tolerance={"float64": 1e-7, "float32": 1e-5}),
    Record("PenstockSelfAdjointEig", [case(np.float64([[2, 1], [1, 2]])), case(np.zeros((0, 0)))],
           lambda x: np.abs(eigen(x)), function=lambda x: tf.abs(tf.raw_ops.PenstockSelfAdjointEig(input=x)),
           compiled=False, result_dtype="float64",
           errors=[Failure((np.ones((2, 3), np.float32),), "square")]),
    Record("PenstockAdjustContrast", [case(normal(2, 3, 2, 4), *BOUNDS), case(normal(1, 2, 1), *BOUNDS)],
           contrast, dtypes=("float32", "float64", "int32"), result_dtype="float32", tolerance={"float64": 1e-6, "int32": 1e-6},
           errors=[
               Failure((np.ones(3, np.float32), *BOUNDS), "at least rank 3"),
               Failure((np.ones((1, 1, 3), np.float32), np.ones(2, np.float32), *BOUNDS[1:]), "rank 0"),
           ]),
    Record("Conv2DBackpropInputV2", [case(normal(2, 5, 4, 2), normal(3, 2, 2, 3), normal(2, 3, 4, 3), **STRIDES)],
           lambda x, w, g, **a: _input_of(x.shape, w, g, **a), dtypes=FLOATS, differentiable=(1, 2), tolerance={"float32": 1e-5},
           errors=[Failure((np.ones((2, 5, 4, 2), np.float32), np.ones((3, 2, 2, 3), np.float32), np.ones((2, 2, 4, 3), np.float32)),
                           "out_backprop", STRIDES, graph=tf.errors.InvalidArgumentError)]),
    Record("Conv2DBackpropFilterV2", [case(normal(2, 5, 4, 2), normal(3, 2, 2, 3), normal(2, 3, 4, 3), **STRIDES)],
           lambda x, w, g, **a: _filter_of(x, w.shape, g, **a), dtypes=FLOATS, differentiable=(0, 2), tolerance={"float32": 1e-5}),
    Record("PenstockConv3DBackpropInput",
           [case(normal(1, 3, 2, 3, 2), normal(2, 2, 1, 2, 2), normal(1, 2, 1, 2, 2), **STRIDES_3D)],
           lambda x, w, g, strides, padding: _input_of(x.shape, w, g, strides, padding, (1,) * 5),
           dtypes=FLOATS, differentiable=(1, 2), tolerance={"float32": 1e-5}),
    Record("PenstockConv3DBackpropFilter",
           [case(normal(1, 3, 2, 3, 2), normal(2, 2, 1, 2, 2), normal(1, 2, 1, 2, 2), **STRIDES_3D)],
           lambda x, w, g, strides, padding: _filter_of(x, w.shape, g, strides, padding, (1,) * 5),
           dtypes=FLOATS, differentiable=(0, 2), tolerance={"float32": 1e-5}),
    Record("PenstockTileGrad", tested_by=OLD, named_by="TileGrad"),
    Record("PenstockStatefulStandardNormal", tested_by=OLD, named_by="StatefulStandardNormal"),
    Record("PenstockRandomCrop", tested_by=OLD, named_by="RandomCrop"),
    Record("PenstockAudioSummary", tested_by=OLD, named_by="AudioSummary"),
]  # fmt: skip
