"""Numbers of rows by the native library beside NumPy, and what operations make of both."""

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.core import native_arrays, native_places

pytestmark = pytest.mark.skipif(
    not native_arrays.LIBRARY.is_in_use(), reason="the native library was not built"
)
draw = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("dims", [(7,), (3, 4), (2, 3, 4), (5, 0)])
def test_rows_of_positions(dims: tuple[int, ...], dtype: type) -> None:
    for depth in range(1, len(dims) + 1):
        count = 0 if 0 in dims[:depth] else 6
        columns = [draw.integers(0, max(n, 1), (count, 2)) for n in dims[:depth]]
        positions = np.stack(columns, -1).astype(dtype)
        found = native_places.flat_rows(positions, dims)
        wanted = np.ravel_multi_index(columns, dims[:depth]) if count else np.zeros((0, 2))
        np.testing.assert_array_equal(found, wanted.reshape(-1))
        for outside in (-1, dims[depth - 1]):
            if count:
                positions[3, 1, depth - 1] = outside
                assert native_places.flat_rows(positions, dims) is None


def test_different_numbers_and_how_often_they_are_there() -> None:
    for dtype in (np.int32, np.int64):
        numbers = draw.integers(0, 9, 30).astype(dtype)
        unique, own = native_places.different(numbers, 9)
        wanted, inverse = np.unique(numbers, return_inverse=True)
        np.testing.assert_array_equal(unique, wanted)
        np.testing.assert_array_equal(own, inverse)
        assert unique.dtype == dtype
        np.testing.assert_array_equal(
            native_places.often(numbers, 9), np.bincount(numbers, minlength=9)
        )
        assert native_places.different(numbers, 8) is None or numbers.max() < 8
        assert native_places.often(np.array([0, -1], dtype), 9) is None
    assert native_places.different(np.zeros(2, np.int64), 1 << 40) is None  # far more rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shares_have_the_bits_of_numpy(dtype: type) -> None:
    rows, sizes = draw.standard_normal((50, 3)).astype(dtype), draw.integers(0, 1000, 50)
    counted = np.maximum(sizes.astype(dtype), 1)
    for root, by in ((False, counted), (True, np.sqrt(counted))):
        found = native_places.shared(rows, sizes, root)
        assert found.tobytes() == (rows * (1 / by)[:, None]).tobytes()
    assert native_places.shared(rows.astype(np.float16), sizes, False) is None


def _outcome(run, monkeypatch, switch: str) -> tuple[str, bytes]:
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", switch)
    try:
        results = run()
    except errors.OpError as problem:
        return type(problem).__name__, str(problem).partition(" (at ")[0].encode()
    results = results if isinstance(results, (list, tuple)) else [results]
    return str([(r.dtype, r.shape) for r in results]), b"".join(
        r.numpy().tobytes() for r in results
    )


def same_both_ways(run, monkeypatch) -> None:
    """Checks that a call gives the same with the native library and without it."""
    assert _outcome(run, monkeypatch, "1") == _outcome(run, monkeypatch, "0")


KINDS = ["Add", "Sub", "Min", "Max", "Update"]
TYPES = [np.float32, np.float64, np.int32, np.int64, np.int8, np.float16]
PLACES = [
    [[0], [3], [0]],
    [[4], [5], [0]],
    [[-1], [0], [0]],
    [[0, 1], [4, 2], [0, 1]],
    [[0, 1], [4, 3], [0, 1]],
]


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_scattered_updates(kind: str, places: list[list[int]], monkeypatch) -> None:
    for dtype in TYPES:
        x = draw.integers(-9, 9, (5, 3)).astype(dtype)
        positions = np.array(places, np.int32)
        updates = draw.integers(-9, 9, (3, *x.shape[positions.shape[1] :])).astype(dtype)

        def of_tensor(x=x, positions=positions, updates=updates):
            operation = getattr(tf.raw_ops, f"TensorScatter{kind}")
            return operation(tensor=x, indices=positions, updates=updates)

        def of_variable(x=x, positions=positions, updates=updates):
            variable = tf.Variable(x)
            operation = getattr(tf.raw_ops, f"ResourceScatterNd{kind}")
            operation(ref=variable.handle, indices=positions, updates=updates)
            return variable.value()

        def gathered(x=x, positions=positions):
            variable = tf.Variable(x)
            return [
                tf.raw_ops.GatherNd(params=x, indices=positions),
                tf.raw_ops.ResourceGatherNd(
                    resource=variable.handle, indices=positions, dtype=x.dtype
                ),
            ]

        for run in (of_tensor, of_variable, gathered):
            same_both_ways(run, monkeypatch)


@pytest.mark.parametrize("position", [[3], [3, 1], [[[3, 1]], [[0, 2]]]])
def test_positions_of_any_rank(position: list[int], monkeypatch) -> None:
    x = draw.standard_normal((5, 3)).astype(np.float32)
    positions = np.array(position, np.int32)
    updates = np.ones(positions.shape[:-1] + x.shape[positions.shape[-1] :], np.float32)
    variable = tf.Variable(x)

    def run():
        given = {"indices": positions, "dtype": tf.float32}
        return [
            tf.raw_ops.GatherNd(params=x, indices=positions),
            tf.raw_ops.ResourceGatherNd(resource=variable.handle, **given),
            tf.raw_ops.TensorScatterAdd(tensor=x, indices=positions, updates=updates),
            tf.raw_ops.ScatterNd(indices=positions, updates=updates, shape=[5, 3]),
        ]

    same_both_ways(run, monkeypatch)


@pytest.mark.parametrize("rows", [[0, 3, 0], [4, 5, 0], [-1, 0, 0], []])
@pytest.mark.parametrize("kind", [*KINDS, "Mul", "Div"])
def test_scattered_rows_of_a_variable(kind: str, rows: list[int], monkeypatch) -> None:
    for dtype in TYPES:
        x = draw.integers(-9, 9, (5, 3)).astype(dtype)
        updates = draw.integers(1, 9, (len(rows), 3)).astype(dtype)

        def run(x=x, updates=updates):
            variable = tf.Variable(x)
            kept = variable.value()  # is not written to
            operation = getattr(tf.raw_ops, f"ResourceScatter{kind}")
            indices = np.array(rows, np.int64)
            operation(resource=variable.handle, indices=indices, updates=updates)
            operation(resource=variable.handle, indices=indices, updates=updates)
            return [variable.value(), kept]

        same_both_ways(run, monkeypatch)


@pytest.mark.parametrize("kind", ["Sum", "Mean", "Prod", "Max", "Min"])
def test_segments(kind: str, monkeypatch) -> None:
    for dtype in TYPES:
        for ids in ([0, 0, 2, 2, 5], [0, 0, 0, 0, 0], [1, 0, 2, 2, 5], [-1, 0, 0, 0, 0]):
            data = draw.integers(-9, 9, (5, 2)).astype(dtype)
            operation = getattr(tf.raw_ops, f"Segment{kind}")
            same_both_ways(lambda d=data, i=ids, o=operation: o(data=d, segment_ids=i), monkeypatch)


@pytest.mark.parametrize("kind", ["Sum", "Mean", "SqrtN"])
def test_segments_of_rows_that_are_looked_up(kind: str, monkeypatch) -> None:
    cases = [
        ([0, 2, 2, 4], [0, 0, 1, 3]),
        ([0, 2, 2, 5], [0, 0, 1, 3]),
        ([0, -2, 2, 4], [0, 0, 1, 3]),
        ([0, 2, 2, 4], [0, 0, 1, -3]),
        ([0, 2, 2, 4], [2, 0, 1, 3]),
        ([], []),
    ]
    for dtype in (np.float32, np.float64, np.float16):
        data = draw.standard_normal((5, 2)).astype(dtype)
        for indices, ids in cases:
            given = {
                "indices": np.array(indices, np.int32), "segment_ids": np.array(ids, np.int32),
            }  # fmt: skip

            def forward(data=data, given=given):
                return getattr(tf.raw_ops, f"SparseSegment{kind}")(data=data, **given)

            def backward(data=data, given=given):
                name = f"SparseSegment{kind}GradV2"
                return getattr(tf.raw_ops, name)(grad=data, dense_output_dim0=5, **given)

            def dense(data=data, given=given):
                name = f"SparseSegment{kind}Grad"
                return getattr(tf.raw_ops, name)(grad=data, output_dim0=5, **given)

            for run in (forward, backward, dense):
                same_both_ways(run, monkeypatch)


def test_wrong_last_ids_are_named() -> None:
    data, ids = np.ones((3, 2), np.float32), [0] * 99 + [-1]
    with pytest.raises(errors.InvalidArgumentError, match="segment ids must be >= 0: -1"):
        tf.raw_ops.SparseSegmentSum(data=data, indices=[0] * 100, segment_ids=ids)


@pytest.mark.parametrize("index", ["uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_marked_places(axis, dtype, index):
    indices = np.array([[0, 2, 4], [1, 3, 100]], index)
    on, off = np.ones((), dtype), np.zeros((), dtype)
    found = native_places.marked(indices, axis, 4, on, off)
    wanted = np.moveaxis(indices[..., None] == np.arange(4), -1, axis).astype(dtype)
    assert found.dtype == on.dtype
    np.testing.assert_array_equal(found, wanted)


def test_marks_that_are_below_zero_or_nowhere():
    on, off = np.float32(2), np.float32(-1)
    found = native_places.marked(np.array([-1, 1, -128], np.int8), 1, 2, on, off)
    assert found.tolist() == [[-1, -1], [-1, 2], [-1, -1]]
    for dims, depth in (((0,), 3), ((2, 0), 3), ((2,), 0)):
        assert native_places.marked(np.zeros(dims, np.int64), 0, depth, on, off).size == 0
    assert native_places.marked(np.zeros(2, np.int16), 0, 3, on, off) is None
    texts = np.array(b"a", object)
    assert native_places.marked(np.zeros(2, np.int32), 0, 3, texts, texts) is None


@pytest.mark.parametrize("values", [(1.0, 0.0), (7, 3), (True, False), (b"on", b"off")])
def test_one_hot_with_and_without_the_library(values, monkeypatch):
    indices = np.random.default_rng(3).integers(-2, 12, (3, 700), np.int32)
    on, off = map(tf.constant, values)

    def run():
        found = tf.raw_ops.OneHot(indices=indices, depth=10, on_value=on, off_value=off, axis=1)
        return found.numpy().tolist()

    found = run()
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    assert found == run()
