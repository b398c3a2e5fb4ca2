"""Records of operations that few programs use: orders and places, dilation, patches, regression."""

import itertools

import numpy as np
from tests.ops.harness import Failure, Record, case, distinct, normal, uniform

import penstock as tf

FLOATS = ("float32", "float64")
PLACES = np.int32([7, 5, 0, -1])
IMAGE = np.random.default_rng(5).normal(size=(2, 5, 4, 3))


def segments(kind, empty):
    def reference(data, ids, count):
        result = np.full((int(count), *data.shape[1:]), empty, data.dtype)
        for i in range(int(count)):
            if (ids == i).any():
                result[i] = kind(data[ids == i], axis=0)
        return result

    return reference


def nth(x, n, reverse=False):
    return np.sort(x, -1)[..., x.shape[-1] - 1 - int(n) if reverse else int(n)]


def approx(x, k, reduction_dimension=-1, is_max_k=True):
    order = np.argsort(-x if is_max_k else x, axis=reduction_dimension, kind="stable")
    places = np.take(order, np.arange(k), reduction_dimension)
    return [np.take_along_axis(x, places, reduction_dimension), places.astype(np.int32)]


def pads(size, window, stride, gap, padding):
    count = (
        -(-size // stride) if padding == "SAME" else (size - (window - 1) * gap - 1) // stride + 1
    )
    needed = max((count - 1) * stride + (window - 1) * gap + 1 - size, 0)
    return max(count, 0), needed // 2 if padding == "SAME" else 0


def dilation(x, w, strides, rates, padding):
    """The largest of image plus filter, place by place."""
    (rows, top), (columns, left) = (
        pads(x.shape[i + 1], w.shape[i], strides[i + 1], rates[i + 1], padding) for i in range(2)
    )
    result = np.full((x.shape[0], rows, columns, x.shape[3]), -np.inf)
    for y, z, i, j in itertools.product(range(rows), range(columns), *map(range, w.shape[:2])):
        row, column = y * strides[1] + i * rates[1] - top, z * strides[2] + j * rates[2] - left
        if 0 <= row < x.shape[1] and 0 <= column < x.shape[2]:
            result[:, y, z] = np.maximum(result[:, y, z], x[:, row, column] + w[i, j])
    return result


def volume_patches(x, ksizes, strides, padding):
    made = [pads(x.shape[a], ksizes[a], strides[a], 1, padding) for a in (1, 2, 3)]
    result = np.zeros((x.shape[0], *(n for n, _ in made), *ksizes[1:4], x.shape[4]))
    for place in itertools.product(*(range(n) for n, _ in made)):
        for inner in itertools.product(*map(range, ksizes[1:4])):
            at = [
                p * s + i - first
                for p, s, i, (_, first) in zip(place, strides[1:4], inner, made, strict=True)
            ]
            if all(0 <= a < n for a, n in zip(at, x.shape[1:4], strict=True)):
                result[(slice(None), *place, *inner)] = x[(slice(None), *at)]
    return result.reshape(*result.shape[:4], -1)


def isotonic(x):
    """Means over the segments that minimise, from the greatest convex minorant of the sums."""

    def row(values):
        count = len(values)
        return [
            max(
                min(np.mean(values[a : b + 1]) for a in range(i + 1))
                for b in range(i, count)
            )
            for i in range(count)
        ]  # fmt: skip

    return np.array([row(r) for r in x.reshape(-1, x.shape[-1])]).reshape(x.shape)


def dim_map(x, src_format="NHWC", dst_format="NCHW"):
    table = [dst_format.index(axis) for axis in src_format]
    return np.array([table[v % len(table)] for v in x.tolist()], x.dtype)


def permuted(x, src_format="NHWC", dst_format="NCHW"):
    if len(x) == len(src_format) - 2:
        src_format, dst_format = (
            f.replace("N", "").replace("C", "") for f in (src_format, dst_format)
        )
    return np.stack([x[src_format.index(axis)] for axis in dst_format])


def written(change):
    def reference(x, i, v):
        result = x.copy()
        for place, row in zip(i.tolist(), v, strict=True):
            change(result, place % len(x), row)
        return result

    return reference


def cholesky_grad(l, grad):  # noqa: E741
    """By finite differences of the factor, over symmetric changes of the matrix."""
    result = np.zeros_like(l)
    matrix, step = l @ np.swapaxes(l, -1, -2), 1e-6
    for place in np.ndindex(l.shape):
        change = np.zeros_like(l)
        change[place] += step / 2
        change = change + np.swapaxes(change, -1, -2)
        above, below = (np.linalg.cholesky(matrix + s * change) for s in (0.5, -0.5))
        result[place] = ((above - below) * np.tril(grad)).sum() / step
    return result


def _set(x, place, row):
    x[place] = row


def _add(x, place, row):
    x[place] += row


def _subtract(x, place, row):
    x[place] -= row


IDS, COUNT = np.int32([0, 0, 2, 9, -1]), np.int32(4)
SPACE = {"strides": [1, 2, 1, 1], "rates": [1, 1, 2, 1]}
ONES = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1]}
WINDOW = {"ksizes": [1, 2, 1, 2, 1], "strides": [1, 1, 2, 1, 1]}
APART = {"ksizes": [1, 2, 3, 2, 1], "strides": [1, 2, 3, 2, 1]}
RECORDS = [
    *(
        Record(f"Segment{kind}V2", [case(distinct(5, 2), IDS, COUNT), case(distinct(5), IDS, COUNT)],
               segments(function, empty), dtypes=("float32", "int32"))
        for kind, function, empty in (
            ("Sum", np.sum, 0), ("Prod", np.prod, 1),
        )
    ),
    *(
        Record(f"Segment{kind}V2", [case(distinct(5, 2), IDS, COUNT)],
               segments(function, sign * np.finfo(np.float32).max), widen=False)
        for kind, function, sign in (("Max", np.max, -1.0), ("Min", np.min, 1.0))
    ),
    Record("UnravelIndex", [case(PLACES[:3], np.int32([3, 3])), case(np.int64(5), np.int64([2, 3]))],
           lambda x, dims: np.stack(np.unravel_index(x, dims)), result_dtype=None, dtypes=("int32",),
           function=lambda x, dims: tf.unravel_index(tf.cast(x, tf.int32), tf.cast(dims, tf.int32)),
           errors=[
               Failure((np.int32([[1]]), np.int32([3])), "scalar or vector"),
               Failure((np.int32([9]), np.int32([3, 3])), "out of bound", graph=None),
               Failure((np.int32([0]), np.int32([3, 0])), "dim of zero", graph=None),
               Failure((np.int32([0]), np.int32(3)), "vector"),
           ]),
    Record("NthElement", [case(distinct(3, 5), np.int32(1)), case(distinct(5), np.int32(0), reverse=True),
                          case(distinct(0, 2), np.int32(1))], nth, dtypes=(*FLOATS, "int32"),
           differentiable=(0,), order=1,
           errors=[
               Failure((np.float32([1, 2]), np.int32(2)), "larger than n"),
               Failure((np.float32([1, 2]), np.int32(-1)), "non-negative"),
               Failure((np.float32(1), np.int32(0)), "rank at least 1"),
           ]),
    Record("ApproxTopK", [case(distinct(3, 5), k=2), case(distinct(4), k=1, is_max_k=False),
                          case(distinct(4, 3), k=3, reduction_dimension=0)], approx, differentiable=(0,),
           order=1, grad_dtype="float32", grad_tolerance=1e-2,
           errors=[
               Failure((np.float32([1, 2]),), "at least k = 3", {"k": 3}),
               Failure((np.float32([1, 2]),), "recall", {"k": 1, "recall_target": 2.0}),
               Failure((np.float32([1, 2]),), "reduction_dimension", {"k": 1, "reduction_dimension": 1}),
           ]),
    Record("DataFormatDimMap", [case(np.int32([0, 1, 2, 3, -1])),
                                case(np.int32([0, 4]), src_format="NDHWC", dst_format="NCDHW")], dim_map,
           dtypes=("int32",), errors=[Failure((np.int32([0]),), "length 4 or 5", {"src_format": "NH"}, graph=None)]),
    Record("DataFormatVecPermute", [case(np.int32([1, 2, 3, 4])), case(np.int32([1, 2])),
                                    case(np.int32([[1, 2], [3, 4], [5, 6], [7, 8]]), src_format="NCHW", dst_format="NHWC")],
           permuted, dtypes=("int32",), errors=[Failure((np.int32([1, 2, 3]),), "size 2 or 4", graph=None),
                                                Failure((np.int32(1),), "vector or 2D", graph=None)]),
    *(
        Record(f"Inplace{name}", [case(normal(3, 2), np.int32([2, 0, 4]), normal(3, 2))], written(change),
               dtypes=("float32", "int32"),
               errors=[Failure((np.zeros((3, 2), np.float32), np.int32([1]), np.zeros((1, 3), np.float32)), "a row of x", graph=None)])
        for name, change in (("Add", _add), ("Sub", _subtract), ("Update", _set))
    ),
    Record("Dilation2D", [case(distinct(2, 5, 4, 3), uniform(-0.2, 0.2, 2, 2, 3), padding="SAME", **SPACE),
                          case(distinct(1, 4, 4, 1), normal(2, 2, 1), padding="VALID", **ONES),
                          case(normal(1, 2, 2, 1), normal(3, 3, 1), padding="VALID", **ONES)], dilation,
           dtypes=("float32", "float64", "int32"), differentiable=(0, 1), order=1,
           errors=[
               Failure((np.zeros((1, 3, 3, 1), np.float32), np.zeros((2, 2, 2), np.float32)), "same depth", {"padding": "SAME", **ONES}),
               Failure((np.zeros((1, 3, 3, 1), np.float32), np.zeros((2, 2, 1), np.float32)), "spatial",
                       {"padding": "SAME", "strides": [2, 1, 1, 1], "rates": [1, 1, 1, 1]}, tf.errors.UnimplementedError, None),
           ]),
    Record("Dilation2DBackpropInput", tested_by="tests/ops/test_rare.py"),
    Record("Dilation2DBackpropFilter", tested_by="tests/ops/test_rare.py"),
    Record(".erosion2d", [case(IMAGE, np.zeros((2, 3, 3)), [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1])],
           lambda x, w, *_: -dilation(-x, w, [1, 1, 1, 1], [1, 1, 1, 1], "SAME"), tf.nn.erosion2d, ("float64",)),
    Record("ExtractVolumePatches", [case(normal(1, 3, 3, 3, 2), padding="SAME", **WINDOW), case(normal(2, 2, 3, 2, 1), padding="VALID", **WINDOW),
           *(case(normal(1, 3, 4, 5, 2), padding=padding, **APART) for padding in ("SAME", "VALID"))],
           volume_patches, dtypes=(*FLOATS, "int32"), differentiable=(0,), order=1,
           errors=[Failure((np.zeros((1, 2, 2, 2, 1), np.float32),), "across space",
                           {"padding": "SAME", "ksizes": [2, 1, 1, 1, 1], "strides": [1] * 5}, tf.errors.UnimplementedError, None)]),
    Record("IsotonicRegression", [case(distinct(3, 6)), case(distinct(5))], None, compiled=False,
           differentiable=(), graph=True),
    Record(".isotonic_regression", [case(normal(3, 6)), case(distinct(2, 6)), case(distinct(1, 1))], isotonic,
           lambda x: tf.nn.isotonic_regression(x)[0], FLOATS, differentiable=(0,), order=1),
    *(Record(op, tested_by="tests/ops/test_rare.py", named_by=named) for op, named in (
        ("EditDistance", "edit_distance("), ("SobolSample", "sobol_sample("),
        ("FractionalMaxPool", "r.FractionalMaxPool"), ("FractionalAvgPool", "r.FractionalAvgPool"),
        ("FractionalMaxPoolGrad", "FractionalMaxPoolGrad("), ("FractionalAvgPoolGrad", "FractionalAvgPoolGrad("),
        ("EmptyTensorMap", "EmptyTensorMap("), ("TensorMapSize", "TensorMapSize("),
        ("TensorMapInsert", "TensorMapInsert("), ("TensorMapLookup", "TensorMapLookup("),
        ("TensorMapErase", "TensorMapErase("), ("TensorMapHasKey", "TensorMapHasKey("),
        ("TensorMapStackKeys", "TensorMapStackKeys("), ("AddSparseToTensorsMap", "AddSparseToTensorsMap("),
        ("AddManySparseToTensorsMap", "AddManySparseToTensorsMap("), ("TakeManySparseFromTensorsMap", "TakeManySparseFromTensorsMap("),
    )),
]  # fmt: skip

RECORDS += [
    Record(
        "CholeskyGrad",
        [
            case(
                np.tril(np.random.default_rng(1).normal(size=(2, 3, 3))) + 3 * np.eye(3),
                normal(2, 3, 3),
            )
        ],
        cholesky_grad,
        dtypes=("float64",),
        tolerance={"float64": 1e-6},
    ),
    Record(
        "ToBool",
        [case(normal()), case(np.float32(0)), case(normal(2, 1)), case(normal(0))],
        lambda x: np.array(x.size > 0 if x.ndim else x != 0),
        dtypes=("float32", "int32"),
        result_dtype="bool",
    ),
    *(
        Record(op, tested_by="tests/ops/test_rare_names.py", named_by=named)
        for op, named in (
            ("NearestNeighbors", "NearestNeighbors("),
            ("KmeansPlusPlusInitialization", "KmeansPlusPlusInitialization("),
            ("KMC2ChainInitialization", "KMC2ChainInitialization("),
            ("DeviceIndex", "DeviceIndex("),
            ("SyncDevice", "sync_devices("),
            ("Fact", "my_fact("),
            ("Conv", "r.Conv("),
            ("FusedPadConv2D", "FusedPadConv2D("),
            ("FusedResizeAndPadConv2D", "FusedResizeAndPadConv2D("),
        )
    ),
    *(
        Record(op, tested_by="tests/ops/test_composite_variants.py")
        for op in (
            "CompositeTensorVariantFromComponents",
            "CompositeTensorVariantToComponents",
            "CompressElement",
            "UncompressElement",
            "ImmutableConst",
            "FileSystemSetConfiguration",
            "MapDefun",
        )
    ),
    *(
        Record(op, tested_by="tests/ops/test_unbatching.py")
        for op in ("Batch", "Unbatch", "UnbatchGrad")
    ),
    *(
        Record(op, tested_by="tests/ops/test_sdca.py", named_by=named)
        for op, named in (
            ("SdcaOptimizer", 'f"SdcaOptimizer{op}"'),
            ("SdcaOptimizerV2", 'op="V2"'),
            ("SdcaFprint", "SdcaFprint("),
            ("SdcaShrinkL1", "SdcaShrinkL1("),
            ("PenstockSdcaShrinkL1", "sdca_shrink_l1("),
        )
    ),
    Record("LMDBReader", tested_by="tests/ops/test_composite_variants.py"),
    Record(
        "PenstockLMDBReader",
        tested_by="tests/ops/test_composite_variants.py",
        named_by="LMDBReader(",
    ),
]
