"""Work on arrays with the native library: the same as without it."""

import functools
import subprocess
import sys

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_arrays

NAN, INF = np.nan, np.inf
RNG = np.random.default_rng(5)
FLOATS = np.array([0.0, -0.0, NAN, 1.5, NAN, -INF, 1.5, INF, INF, 2.0], np.float32)


@pytest.fixture(autouse=True)
def needs_the_library():
    if not native_arrays.LIBRARY.is_in_use():
        pytest.skip("no native work on arrays here")


def both(call):
    """What a call gives with the library, and what without."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
        without = _found(call)
    return _found(call), without


def _found(call):
    try:
        results = call()
    except tf.errors.OpError as problem:
        return [type(problem).__name__, problem.message]
    results = results if isinstance(results, (list, tuple)) else [results]
    return [r.numpy() for r in results]


def assert_same(call):
    found, wanted = both(call)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        if getattr(one, "dtype", None) == tf.bfloat16.as_numpy_dtype:  # NumPy knows no NaN of it
            one, other = one.astype(np.float32), other.astype(np.float32)
        np.testing.assert_array_equal(one, other)
    return found


def raw(op_name, **given):
    return assert_same(lambda: getattr(tf.raw_ops, op_name)(**given))


ITEMS = {
    "floats": FLOATS,
    "halves": FLOATS.astype(np.float16),
    "doubles": FLOATS.astype(np.float64),
    "bytes": np.array([3, 3, 255, 0], np.uint8),
    "truth": np.array([True, False, True]),
    "none": np.zeros(0, np.int32),
    "many": RNG.integers(-9000, 9000, 20_000),
    "large": np.array([2**63 - 1, -(2**63), 2**63 - 1]),
}


@pytest.mark.parametrize("name", ITEMS)
@pytest.mark.parametrize("out_idx", [tf.int32, tf.int64])
def test_unique(name, out_idx):
    _, index, counts = raw("UniqueWithCounts", x=ITEMS[name], out_idx=out_idx)
    assert counts.sum() == len(index)
    raw("Unique", x=ITEMS[name], out_idx=out_idx)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_rows_are_compared_by_their_bytes(axis):
    x = np.array([[0.0, NAN, 0.0], [0.0, NAN, 0.0], [-0.0, NAN, 0.0]], np.float32)
    raw("UniqueWithCountsV2", x=x, axis=[axis])
    raw("UniqueV2", x=x.astype(tf.bfloat16.as_numpy_dtype), axis=[axis])
    raw("UniqueV2", x=np.zeros((0, 3), np.int8), axis=[axis])


@pytest.mark.parametrize("kind", ["Sum", "Mean", "Prod", "Max", "Min"])
@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.int32, np.int64, np.float16, np.uint8]
)
def test_sorted_segments(kind, dtype):
    data = np.array([[1, 2], [3, 4], [5, 6], [7, 8]], dtype)
    for ids in ([0, 0, 2, 2], [1, 1, 1, 4], [0, 1, 2, 3]):
        for type_ in (np.int32, np.int64):
            raw(f"Segment{kind}", data=data, segment_ids=np.array(ids, type_))
    raw(f"Segment{kind}", data=data[:0], segment_ids=np.zeros(0, np.int32))
    raw(f"Segment{kind}", data=data[:, :0], segment_ids=np.array([0, 1, 1, 5]))


def test_segments_of_special_numbers_and_wrapping_ones():
    ids = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    for kind in ("Sum", "Prod", "Max", "Min"):
        raw(f"Segment{kind}", data=FLOATS, segment_ids=ids)
        large = np.full(4, 2**31 - 1, np.int32)
        raw(f"UnsortedSegment{kind}", data=large, segment_ids=[1, -1, 1, 0], num_segments=3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_long_segments_of_single_numbers(dtype):
    """Whole numbers and powers of two: their sums and products are exact in every order."""
    lengths = [1, 3, 40, 0, 17, 16, 200, 2, 64]
    ids = np.repeat(np.arange(len(lengths)), lengths)
    numbers = RNG.integers(-50, 50, ids.size).astype(dtype)
    powers = RNG.choice([1, -1, 2], ids.size).astype(dtype)
    for kind in ("Sum", "Mean", "Max", "Min", "Prod"):
        data = powers if kind == "Prod" else numbers
        for type_ in (np.int32, np.int64):
            raw(f"Segment{kind}", data=data, segment_ids=ids.astype(type_))
    if np.dtype(dtype).kind == "f":
        data[[5, 30, 250]] = NAN, INF, -INF
        for kind in ("Sum", "Max", "Min"):
            raw(f"Segment{kind}", data=data, segment_ids=ids)
    for wrong in (ids[::-1], ids - 1):
        raw("SegmentMax", data=data, segment_ids=wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.complex128, np.bool_])
@pytest.mark.parametrize("shape", [[-1, -1], [-1, 2], [4, 7], -1, [4, 0]])
def test_ragged_rows_side_by_side(dtype, shape):
    values = RNG.integers(0, 2, 9).astype(dtype)
    for splits in ([0, 3, 3, 8, 9], [0, 0, 0, 0, 9]):
        for type_ in (np.int32, np.int64):
            raw(
                "RaggedTensorToTensor", shape=np.array(shape), values=values,
                default_value=np.array(1, dtype), row_partition_tensors=[np.array(splits, type_)],
                row_partition_types=["ROW_SPLITS"],
            )  # fmt: skip


def test_ragged_rows_that_are_none_are_refused_with_the_same_words():
    for splits, shape in (([0, 3, 2, 9], [-1, -1]), ([0, 3, 9], [5, 5]), ([0, 9], [1, 2, 3])):
        raw(
            "RaggedTensorToTensor", shape=np.array(shape), values=np.arange(9.0),
            default_value=np.array(0.0), row_partition_tensors=[np.array(splits)],
            row_partition_types=["ROW_SPLITS"],
        )  # fmt: skip


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("blank", [0, -1])
def test_best_paths(merge, blank):
    inputs = RNG.integers(0, 4, (12, 5, 4)).astype(np.float32)
    for given in (inputs, np.where(inputs == 2, NAN, inputs)):
        raw(
            "CTCGreedyDecoder", inputs=given, sequence_length=np.array([12, 0, 7, 1, 12]),
            merge_repeated=merge, blank_index=blank,
        )  # fmt: skip


def test_wrong_segments_are_refused_with_the_same_words():
    for ids in ([0, 2, 1], [-1, 0, 0], [0, 0, -5], [2**40, 1, 1]):
        found = raw("SegmentSum", data=[1.0, 2.0, 3.0], segment_ids=np.array(ids))
        assert found[0] == "InvalidArgumentError"
    found = raw("UnsortedSegmentMax", data=[1.0, 2.0], segment_ids=[0, 3], num_segments=3)
    assert found[0] == "InvalidArgumentError"


@pytest.mark.parametrize("kind", ["Sum", "Mean", "SqrtN"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_sparse_segments(kind, dtype):
    data = RNG.integers(-8, 8, (6, 3)).astype(dtype)
    rows, ids = np.array([5, 0, 0, 3], np.int32), np.array([0, 0, 2, 2])
    name = f"SparseSegment{kind}"
    given = {"data": data, "indices": rows, "segment_ids": ids}
    raw(name, **given)
    raw(f"{name}WithNumSegments", **given, num_segments=5)
    grad = {"grad": data[:3], "indices": rows, "segment_ids": ids}
    raw(f"{name}Grad", **grad, output_dim0=6)
    raw(f"{name}GradV2", **grad, dense_output_dim0=6)
    for wrong in ({"indices": [5, 0, 6, 3]}, {"segment_ids": [0, 2, 1, 2]}):
        assert raw(name, **{**given, **wrong})[0] == "InvalidArgumentError"
        call = {**given, **wrong}
        assert raw(f"{name}WithNumSegments", **call, num_segments=5)[0] == "InvalidArgumentError"
    assert raw(f"{name}Grad", **grad, output_dim0=5)[0] == "InvalidArgumentError"


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float64, np.uint8, np.float16])
@pytest.mark.parametrize("k", [0, 1, 4, 10])
def test_top_k(dtype, k):
    x = np.stack([FLOATS, FLOATS[::-1]]) if dtype != np.float16 else FLOATS[None]
    if np.dtype(dtype).kind in "iu":
        x = RNG.integers(0, 4, (3, 10))
    raw("TopKV2", input=x.astype(dtype), k=k)
    raw("TopKV2", input=x.astype(dtype)[0], k=k, index_type=tf.int64)
    if dtype == np.float32:
        raw("ApproxTopK", input=x.astype(dtype), k=k, is_max_k=False)


def test_largest_of_many_rows_by_several_threads():
    x = RNG.integers(0, 500, (300, 400)).astype(np.float32)
    values, places = raw("TopKV2", input=x, k=400)
    np.testing.assert_array_equal(values, -np.sort(-x, -1))
    np.testing.assert_array_equal(np.take_along_axis(x, places, -1), values)


@pytest.mark.parametrize("k", [0, 1, 3])
def test_in_top_k(k):
    rows = np.array([[1, 2, 2, 0], [NAN, 1, 2, 3], [INF, 1, 2, 3], [-INF, 1, 2, 3]], np.float32)
    for target in (-1, 0, 1, 3, 4):
        for type_ in (np.int32, np.int64):
            targets = np.full(4, target, type_)
            raw("InTopKV2", predictions=rows, targets=targets, k=type_(k))
    raw("InTopK", predictions=rows[:, :0], targets=[0, 1, 2, 3], k=k)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("columns", [3, 6000])
def test_rows_with_infinity_have_no_largest(columns, native, monkeypatch):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", str(int(native)))
    rows = np.full((4, columns), -5, np.float32)
    rows[:, :3] = [[3, 1, -INF], [3, 1, INF], [3, NAN, 1], [3, 1, 2]]
    call = functools.partial(tf.math.in_top_k, [0, 0, 0, 0], rows, 2)
    for found in (call(), tf.function(call)()):  # TensorFlow's
        assert found.numpy().tolist() == [False, False, False, True]


def test_isotonic_regression():
    for x in (RNG.standard_normal((4, 50)).astype(np.float32), np.zeros((2, 0)), np.zeros((0, 3))):
        raw("IsotonicRegression", input=x, output_dtype=tf.float64)


def test_partitions_and_permutations():
    for data in (FLOATS, np.arange(20).reshape(10, 2), FLOATS.astype(np.float16)):
        raw(
            "DynamicPartition",
            data=data,
            partitions=[0, 2, 1, 2, 0, 0, 0, 2, 2, 0],
            num_partitions=4,
        )
    raw("DynamicPartition", data=np.arange(6.0).reshape(2, 3), partitions=[[1, 0, 1], [1, 1, 0]],
        num_partitions=2)  # fmt: skip
    raw(
        "DynamicPartition", data=np.array([b"a", b"b"], object), partitions=[1, 0], num_partitions=2
    )
    raw(
        "DynamicPartition",
        data=np.zeros((0, 2)),
        partitions=np.zeros(0, np.int32),
        num_partitions=2,
    )
    wrong = raw("DynamicPartition", data=[1.0, 2.0], partitions=[0, 2], num_partitions=2)
    assert wrong[0] == "InvalidArgumentError"
    for x in ([2, 0, 1], [], [0, 0, 1], [0, 3, 1], [-1, 0, 1]):
        for type_ in (np.int32, np.int64):
            raw("InvertPermutation", x=np.array(x, type_))


@pytest.mark.parametrize("weights", [[], [0.5, 2.0, NAN, 1.0, 4.0]])
def test_bincount(weights):
    weights = np.array(weights, np.float32)
    raw("Bincount", arr=[1, 0, 1, 9, 3], size=4, weights=weights)
    raw("DenseBincount", input=np.array([1, 0, 1, 9, 3]), size=np.int64(4), weights=weights)
    assert raw("Bincount", arr=[1, 0, -1, 9, 3], size=4, weights=weights)[0] == (
        "InvalidArgumentError"
    )


def test_what_the_library_does_not_serve():
    assert native_arrays.unique(np.zeros(2, np.complex64), np.dtype(np.int32)) is None
    assert native_arrays.top(np.zeros((2, 2)), 1) is None
    halves = np.zeros((2, 1), np.float16)
    assert native_arrays.combined(native_arrays.ADD, halves, np.zeros(2, int), halves) is None
    rows, ids = np.zeros((2, 1)), np.zeros(3, int)
    assert native_arrays.combined(native_arrays.ADD, rows, ids, rows.copy()) is None
    places = np.zeros(2, int)
    assert native_arrays.combined(native_arrays.ADD, rows, ids, rows.copy(), places=places) is None


def ragged_matrix(kind, rows, width):
    """A sparse tensor whose rows have up to `width` values, some none."""
    lengths = RNG.integers(0, width + 1, rows)
    lengths[:2] = [0, width]
    places = [(row, place) for row, length in enumerate(lengths) for place in range(length)]
    values = RNG.integers(0, 4, len(places))
    if kind == "text":
        values = np.array([b"abcd"[v : v + 1] for v in values], object)
    elif kind == "floats":
        values = np.array([0.0, -0.0, NAN, INF], np.float64)[values]
    shape = np.array([rows, width], np.int64)
    return np.array(places, np.int64).reshape(-1, 2), values, shape


def parts(name, sparse):
    ends = ("indices", "values", "shape")
    return {f"{name}_{end}": part for end, part in zip(ends, sparse, strict=True)}


@pytest.mark.parametrize("kind", ["text", "floats", "integers"])
@pytest.mark.parametrize("normalize", [False, True])
def test_edit_distances(kind, normalize):
    one, other = ragged_matrix(kind, 30, 9), ragged_matrix(kind, 30, 14)
    mixed = RNG.permutation(len(one[1]))  # rows come in any order, their values as they come
    for hypothesis in (one, (one[0][mixed], one[1][mixed], one[2])):
        given = {**parts("hypothesis", hypothesis), **parts("truth", other)}
        raw("EditDistance", **given, normalize=normalize)


def test_edit_distance_of_nothing():
    empty = {"indices": np.zeros((0, 2), np.int64), "values": np.zeros(0, np.int32)}
    given = {f"{part}_{k}": v for part in ("hypothesis", "truth") for k, v in empty.items()}
    for shape in ([3, 0], [0, 4]):
        both_shapes = {"hypothesis_shape": shape, "truth_shape": [2, 0]}
        found = raw("EditDistance", **given, **both_shapes)
        np.testing.assert_array_equal(found[0], np.zeros(max(shape[0], 2), np.float32))


@pytest.mark.parametrize("dtype", [tf.half, tf.bfloat16, tf.float32])
def test_edit_distance_compares_floats_as_numbers(dtype):
    def row(*numbers):
        cells = [[0, i] for i in range(len(numbers))]
        return tf.SparseTensor(cells, tf.cast(list(numbers), dtype), [1, len(numbers)])

    one, other = row(0.0, -0.0, NAN, 1.0), row(-0.0, 0.0, NAN, 1.0)
    assert tf.edit_distance(one, other, normalize=False).numpy().tolist() == [1.0]


def test_keys_that_differ_in_their_upper_bits_alone_are_found():
    keys = np.arange(1 << 16, dtype=np.int64) << 48
    slots = native_arrays.index(keys)
    found = native_arrays.places(keys, slots, keys[::-1].copy())
    np.testing.assert_array_equal(found, np.arange(1 << 16)[::-1])
    assert native_arrays.places(keys, slots, keys + 1).tolist() == [-1] * (1 << 16)


SCARCE = """
import resource, sys
import numpy as np
from penstock.core import native_arrays as n

wide = np.zeros((1, 1 << 24), np.float32)
doubles = np.zeros((1, 1 << 23))
numbers = np.arange(1 << 22, dtype=np.int64)
assert n.top(wide[:, :9], 1) and n.level(doubles[:, :9]) and n.unique(numbers[:9], np.dtype("i4"))
calls = {
    "top": lambda: n.top(wide, 1),
    "level": lambda: n.level(doubles),
    "unique": lambda: n.unique(numbers, np.dtype("i4")),
}
kilobytes = {"top": 8, "level": 100 * 1024, "unique": 84 * 1024}  # of the results
for name, call in calls.items():
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    most = used + (kilobytes[name] + 16 * 1024) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    try:
        call()
        print(name, "done")
    except MemoryError as problem:
        print(name, problem)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_what_memory_does_not_hold_is_an_error():
    """It ended the process."""
    done = subprocess.run(
        [sys.executable, "-c", SCARCE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lacking = "native work on arrays: there is no memory left for its intermediate values"
    assert done.stdout.splitlines() == [f"{n} {lacking}" for n in ("top", "level", "unique")]


@pytest.mark.parametrize("most", [0, 3, 500])
@pytest.mark.parametrize("limit", [0.0, 0.3, 1.0])
def test_boxes_apart(limit, most):
    """Few places and scores, so that there are equal ones, none at all, and flipped corners."""
    boxes = RNG.integers(0, 7, (200, 4)).astype(np.float32)
    scores = RNG.integers(0, 20, 200).astype(np.float32)
    scores[[3, 9]] = NAN
    given = {"max_output_size": most, "iou_threshold": np.float32(limit)}
    raw("NonMaxSuppressionV2", boxes=boxes, scores=scores, **given)
    raw("NonMaxSuppressionV2", boxes=boxes[:0], scores=scores[:0], **given)
    for pad in (False, True):
        limits = {**given, "score_threshold": np.float32(4.0), "pad_to_max_output_size": pad}
        raw("NonMaxSuppressionV4", boxes=boxes, scores=scores, **limits)
        raw("NonMaxSuppressionV5", boxes=boxes, scores=scores, soft_nms_sigma=0.0, **limits)
    boxes[5, 2], boxes[50] = NAN, INF
    raw("NonMaxSuppressionV2", boxes=boxes, scores=scores, **given)
    each = RNG.uniform(-0.2, 1.2, (2, 60, 3, 4)).astype(np.float32)
    for pad in (False, True):
        raw(
            "CombinedNonMaxSuppression", boxes=each, scores=RNG.random((2, 60, 3), np.float32),
            max_output_size_per_class=most + 1, max_total_size=30, iou_threshold=limit,
            score_threshold=0.2, pad_per_class=pad, clip_boxes=pad,
        )  # fmt: skip


@pytest.mark.parametrize("kinds", [1, 3])
@pytest.mark.parametrize("clipped", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_boxes_of_classes_apart(kinds, clipped, padded):
    boxes = RNG.integers(-1, 9, (2, 50, kinds, 4)).astype(np.float32) / 8
    boxes[0, 3], boxes[1, 4, 0, 1] = NAN, INF
    scores = RNG.integers(0, 8, (2, 50, 3)).astype(np.float32) / 8
    scores[0, 9] = NAN
    attrs = {"pad_per_class": padded, "clip_boxes": clipped, "boxes": boxes, "scores": scores}
    for most, total, limit, least in ((5, 12, 0.5, 0.2), (50, 200, 0.0, -1.0), (1, 1, 1.0, 0.9)):
        sizes = {"max_output_size_per_class": most, "max_total_size": total}
        limits = {"iou_threshold": limit, "score_threshold": least}
        raw("CombinedNonMaxSuppression", **sizes, **limits, **attrs)


@pytest.mark.parametrize("most", [0, 3, 100])
@pytest.mark.parametrize("limit", [-1.0, 0.3, 0.97, NAN])
@pytest.mark.parametrize("count", [0, 5, 90])
@pytest.mark.parametrize("part", [0.0, 0.02])  # that is NaN
def test_boxes_apart_by_overlaps(most, limit, count, part):
    overlaps = RNG.random((count, count)).astype(np.float32)
    overlaps[RNG.random((count, count)) < part] = NAN
    scores = RNG.integers(0, 20, count).astype(np.float32) / 20  # some are equal
    found, wanted = both(
        lambda: tf.raw_ops.NonMaxSuppressionWithOverlaps(
            overlaps=overlaps, scores=scores, max_output_size=most, overlap_threshold=limit,
            score_threshold=0.2,
        )
    )  # fmt: skip
    np.testing.assert_array_equal(found[0], wanted[0])


@pytest.mark.parametrize(
    ("overlap", "limit", "wanted"),
    [  # as TensorFlow has them
        (-INF, 0.5, [0, 1]), (-INF, INF, [0, 1]), (-INF, -1.0, [0]), (-INF, -INF, [0]),
        (INF, 0.5, [0, 1]), (INF, INF, [0, 1]), (INF, -1.0, [0]), (INF, -INF, [0]),
        (0.3, INF, [0, 1, 2]),
    ],
)  # fmt: skip
def test_things_of_infinite_overlap_are_dropped(overlap, limit, wanted):
    given = [[1, 0.2, overlap], [0.2, 1, 0.1], [overlap, 0.1, 1]]
    for least in (-INF, 0.1):
        found = assert_same(
            lambda least=least: tf.image.non_max_suppression_overlaps(
                np.array(given, np.float32), [0.9, 0.8, 0.7], 3, limit, least
            )
        )
        assert found[0].tolist() == wanted


@pytest.mark.parametrize("bins", [3, 5000])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_histograms_of_many_numbers(bins, dtype):
    values = (RNG.standard_normal(300_000) * 50).astype(dtype)
    given = {"values": values, "value_range": np.array([-90, 120], dtype), "nbins": bins}
    found, wanted = both(lambda: tf.raw_ops.HistogramFixedWidth(**given))
    np.testing.assert_array_equal(found, wanted)
    if dtype == "float32":
        values[250_000] = NAN
        found, wanted = both(lambda: tf.raw_ops.HistogramFixedWidth(**given))
        assert found == wanted


def test_no_boxes_apart():
    sizes = {"max_output_size_per_class": 2, "max_total_size": 3}
    limits = {"iou_threshold": 0.5, "score_threshold": 0.0}
    for shape in ((0, 2), (1, 0), (1, 2)):
        boxes, scores = np.zeros((*shape, 1, 4), np.float32), np.zeros((*shape, 2), np.float32)
        raw("CombinedNonMaxSuppression", boxes=boxes, scores=scores, **sizes, **limits)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("size", [0, 1, 1000, 40_000])
def test_histogram(dtype, size):
    values = tf.constant((RNG.normal(size=size) * 100).astype(dtype))
    for bins in (1, 7, 100):
        limits = tf.constant([-90, 80], dtype)
        raw("HistogramFixedWidth", values=values, value_range=limits, nbins=bins)


def test_histogram_of_infinities():
    values = np.array([INF, -INF, 1, 2, 3e38, 0.3], np.float32)
    (found,) = raw("HistogramFixedWidth", values=values, value_range=[0.0, 1.5], nbins=9)
    assert found.tolist() == [1, 1, 0, 0, 0, 0, 1, 0, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="NaN"):
        tf.raw_ops.HistogramFixedWidth(values=[0.5, NAN], value_range=[0.0, 1.5], nbins=9)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_ragged_ranges(dtype):
    starts, limits = RNG.integers(-50, 90, (2, 300)).astype(dtype)
    deltas = (RNG.integers(1, 5, 300) * RNG.choice([-1, 1], 300)).astype(dtype)
    raw("RaggedRange", starts=starts, limits=limits, deltas=deltas)
    raw("RaggedRange", starts=starts, limits=limits, deltas=deltas[0])
    raw("RaggedRange", starts=starts[0], limits=limits, deltas=tf.constant(1, dtype))
    raw("RaggedRange", starts=starts[:0], limits=limits[:0], deltas=deltas[:0])
    most = np.array([np.iinfo(dtype).max], dtype)
    raw("RaggedRange", starts=most - 3, limits=most, deltas=most // most + 1)


@pytest.mark.parametrize(
    ("rows", "columns", "drawn"), [(40, 3, 60), (0, 2, 9), (9, 1, 0), (2, 2, 1)]
)
def test_accidental_hits(rows, columns, drawn):
    classes = RNG.integers(-5, 50, (rows, columns))
    sampled = RNG.integers(-5, 50, drawn)
    raw("ComputeAccidentalHits", true_classes=classes, sampled_candidates=sampled, num_true=columns)


@pytest.mark.parametrize("seed", range(4))
def test_first_centres(seed):
    points = np.random.default_rng(seed).normal(size=(500, 3)).astype(np.float32)
    for retries in (0, 3):
        raw(
            "KmeansPlusPlusInitialization", points=points, num_to_sample=6, seed=seed,
            num_retries_per_sample=retries,
        )  # fmt: skip
    distances = np.abs(points[:, 0])
    raw("KMC2ChainInitialization", distances=distances, seed=seed)
    odd = np.array([0, 0, NAN, 1, INF, 2], np.float32)
    raw("KMC2ChainInitialization", distances=odd, seed=seed)
    raw(
        "KmeansPlusPlusInitialization", points=points[:5] * 0, num_to_sample=3, seed=seed,
        num_retries_per_sample=1,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["int64", "uint8", "string"])
@pytest.mark.parametrize("lead", [(7,), (2, 3), (0,)])
@pytest.mark.parametrize("operation", ["a-B", "b-a", "intersection", "union"])
def test_sets(dtype, lead, operation):
    def drawn(width):
        values = RNG.integers(0, 6, (*lead, width))
        if dtype != "string":
            return values.astype(dtype)
        return values.astype("S").astype(object)

    a, b = drawn(5), drawn(3)
    raw("DenseToDenseSetOperation", set1=a, set2=b, set_operation=operation)
    raw("DenseToDenseSetOperation", set1=a[..., :0], set2=b, set_operation=operation)
    indices = np.argwhere(RNG.integers(0, 2, b.shape))
    if dtype == "string":
        values = np.array([b[tuple(i)] for i in indices], object)
    else:
        values = b[tuple(indices.T)]
    parts = {"set2_indices": indices, "set2_values": values, "set2_shape": np.array(b.shape)}
    raw("DenseToSparseSetOperation", set1=a, set_operation=operation, **parts)
    if len(indices) > 1:  # in no order
        parts |= {"set2_indices": indices[::-1].copy(), "set2_values": values[::-1].copy()}
        raw("DenseToSparseSetOperation", set1=a, set_operation=operation, **parts)
        unchecked = {"set_operation": operation, "validate_indices": False}
        raw("DenseToSparseSetOperation", set1=a, **unchecked, **parts)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("most", [-1, 0, 5])
@pytest.mark.parametrize("top", [9, 100_000])
def test_counts(dtype, most, top):
    for shape in ((40,), (6, 7), (0, 3), (3, 0), (0,)):
        values = RNG.integers(0, top, shape)
        weights = (RNG.normal(size=shape) * 9).astype(dtype)
        for given in (weights, weights.reshape(-1)[:0]):
            for binary in (False, True):
                limits = {"minlength": 7, "maxlength": most, "binary_output": binary}
                raw("DenseCountSparseOutput", values=values, weights=given, **limits)
                raw(
                    "SparseCountSparseOutput", indices=np.argwhere(values >= 0)[::-1].copy(),
                    values=values.reshape(-1)[::-1].astype(np.int32), dense_shape=shape,
                    weights=given.reshape(-1)[::-1].copy(), **limits,
                )  # fmt: skip
                raw(
                    "RaggedCountSparseOutput", splits=[0, values.size // 2, values.size],
                    values=values.reshape(-1), weights=given.reshape(-1), **limits,
                )  # fmt: skip
    limits = {"minlength": -1, "maxlength": most, "binary_output": False}
    raw("DenseCountSparseOutput", values=[3, -1], weights=np.zeros(2, dtype), **limits)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (3, 5), (40, 33)])
def test_cross_entropies_are_the_same_bits(shape, dtype):
    rows = RNG.normal(size=shape) * 5
    labels = RNG.uniform(size=shape)
    if shape == (3, 5):
        rows[0, 1], rows[1, 2], rows[2, 3] = NAN, INF, -INF
        labels[2] = [0, 1, 0, 0, 0]
    logits, labels = (tf.cast(tf.constant(x), dtype) for x in (rows, labels))
    classes = RNG.integers(0, shape[1], shape[0])
    for call in (
        lambda: tf.raw_ops.Softmax(logits=logits),
        lambda: tf.raw_ops.LogSoftmax(logits=logits),
        lambda: tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=logits, labels=labels),
        lambda: tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=logits[:1], labels=labels),
        lambda: tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=logits, labels=classes),
    ):
        for fast, slow in zip(*both(call), strict=True):
            np.testing.assert_array_equal(fast.astype("f8"), slow.astype("f8"))
            assert fast.dtype == slow.dtype


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_cross_entropies_of_repeated_and_turned_rows_are_the_same_bits(dtype):
    """NumPy keeps the order of axes when it widens such rows, and then adds up in another order."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows, labels = rng.normal(size=(40, 33)) * 5, rng.uniform(size=(33, 40))
        logits = tf.cast(tf.constant(rows), dtype)
        turned = tf.transpose(tf.cast(tf.constant(labels), dtype))
        one = tf.cast(tf.constant(labels[:, :1].T), dtype)
        for features, given in ((logits[:1], turned), (logits, one), (turned, logits)):
            assert_same(
                lambda features=features, given=given: tf.raw_ops.SoftmaxCrossEntropyWithLogits(
                    features=features, labels=given
                )
            )


@pytest.mark.parametrize("label", [-1, 3])
def test_labels_of_no_class_are_refused_with_the_same_words(label):
    with_library, without = both(
        lambda: tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
            features=np.ones((2, 3), np.float32), labels=[1, label]
        )
    )
    assert with_library == without
    assert f"label value of {label}" in with_library[1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32"])
@pytest.mark.parametrize("turned", [False, True])
def test_products_of_sparse_and_dense_matrices(turned, dtype):
    places = RNG.integers(0, [4, 5], (30, 2))  # in any order, some of them twice
    values = RNG.integers(-9, 9, 30).astype(dtype)  # whose sums are exact in any order
    dense = RNG.integers(-9, 9, (4 if turned else 5, 6)).astype(dtype)
    fast, slow = both(
        lambda: tf.raw_ops.SparseTensorDenseMatMul(
            a_indices=places, a_values=values, a_shape=[4, 5], b=dense, adjoint_a=turned
        )
    )
    np.testing.assert_array_equal(fast[0], slow[0])
