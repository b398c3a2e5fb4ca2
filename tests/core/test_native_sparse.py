"""Places of sparse tensors by the native library, beside NumPy's and Python's own."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_arrays, native_sparse

RNG = np.random.default_rng(6)


@pytest.fixture(autouse=True)
def needs_the_library():
    if not native_arrays.LIBRARY.is_in_use():
        pytest.skip("no native work on arrays here")


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_bounds_and_order(rank):
    places = RNG.integers(-3, 4, (20, rank))
    rising = np.unique(places, axis=0)
    for given, order in (
        (rising, native_sparse.RISING),
        (rising.repeat(2, 0), native_sparse.LEVEL),
        (rising[::-1], native_sparse.FALLING),
        (rising[:1], native_sparse.RISING),
    ):
        low, high, found = native_sparse.bounds(given)
        assert (low, high) == (given.min(0).tolist(), given.max(0).tolist())
        assert found == order


def test_what_has_no_bounds():
    assert native_sparse.bounds(np.zeros((0, 2), np.int64)) is None
    assert native_sparse.bounds(np.zeros((2, 0), np.int64)) is None
    assert native_sparse.bounds(np.zeros((2, 2), np.int32)) is None


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_places_of_two_together(rank):
    a, b = (np.unique(RNG.integers(0, 4, (n, rank)), axis=0) for n in (12, 7))
    for one, other in ((a, b), (a, b[:0]), (b[:0], a), (b[:0], b[:0])):
        places, first, second = native_sparse.united(one, other)
        np.testing.assert_array_equal(places, np.unique(np.concatenate([one, other]), axis=0))
        for numbers, side in ((first, one), (second, other)):
            np.testing.assert_array_equal(side[numbers[numbers >= 0]], places[numbers >= 0])
            assert (numbers >= 0).sum() == len(side)
    assert native_sparse.united(a[::-1], b) is None
    assert native_sparse.united(a, b.repeat(2, 0)) is None


@pytest.mark.parametrize("rank", [1, 2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128, bool])
def test_elements_at_the_same_places(rank, dtype):
    a, b = (np.unique(RNG.integers(0, 4, (n, rank)), axis=0) for n in (12, 7))
    for one, other in ((a, b), (b, a), (a, b[:0]), (b[:0], a), (a, a)):
        given = RNG.integers(1, 9, len(other)).astype(dtype)
        at = dict(zip(map(tuple, other), given, strict=True))
        wanted = np.array([at.get(place, 0) for place in map(tuple, one)], dtype)
        found = native_sparse.elements_at(one, other, given)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, wanted)


def test_elements_at_places_that_do_not_rise():
    a, given = np.array([[0, 1], [0, 3], [2, 0]]), np.ones(3, np.float32)
    for one, other in ((a[::-1], a), (a, a[::-1]), (a.repeat(2, 0), a), (a[:1], a[[0, 2, 1]])):
        assert native_sparse.elements_at(one, other, np.ones(len(other), np.float32)) is None
    assert native_sparse.elements_at(a, a[:, :1], given) is None
    assert native_sparse.elements_at(a, a, np.array(["a"] * 3, object)) is None


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_places_in_a_box(rank):
    places = RNG.integers(-2, 6, (40, rank))
    for start, size in ((0, 3), (2, 0), (1, 2**63 - 1), (-(2**63), 2**63 - 1)):
        starts, sizes = (np.full(rank, n, np.int64) for n in (start, size))
        inside = ((places >= start) & (places.astype(object) < start + size)).all(1)
        moved, numbers = native_sparse.in_box(places, starts, sizes)
        np.testing.assert_array_equal(numbers, np.flatnonzero(inside))
        np.testing.assert_array_equal(moved, places[inside] - starts)
    assert native_sparse.in_box(places, starts[:0], sizes) is None


def test_slices_and_their_gradients_with_and_without_the_library(monkeypatch):
    places = np.unique(RNG.integers(0, 9, (30, 2)), axis=0)
    values, shape = RNG.standard_normal(len(places)), [9, 9]

    def run():
        with tf.GradientTape() as tape:
            x = tf.constant(values)
            tape.watch(x)
            found = tf.raw_ops.SparseSlice(
                indices=places, values=x, shape=shape, start=[1, 2], size=[5, 9]
            )
        return [*found, tape.gradient(found[1], x, output_gradients=found[1])]

    with_it = run()
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    for a, b in zip(with_it, run(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("row_axis", [0, 1])
@pytest.mark.parametrize("wide", [np.int32, np.int64])
def test_products(row_axis, wide):
    places = RNG.integers(0, [4, 5], (30, 2)).astype(wide)
    values = RNG.integers(-9, 9, 30).astype(np.float32)
    matrix = np.zeros((4, 5), np.float32)
    np.add.at(matrix, tuple(places.T), values)
    matrix = matrix.T if row_axis else matrix
    dense = RNG.integers(-9, 9, (matrix.shape[1], 6)).astype(np.float32)
    result = np.ones((len(matrix), 6), np.float32)
    assert native_sparse.added_product(places, row_axis, values, dense, result)
    np.testing.assert_array_equal(result, matrix @ dense + 1)
    assert not native_sparse.added_product(places, row_axis, values, dense, result.astype(np.half))


@pytest.mark.parametrize("place", [[4, 0], [0, 5], [-1, 0], [0, -1]])
def test_products_look_at_places_themselves(place):
    places = np.array([[0, 0], place])
    dense, result = np.ones((5, 2), np.float32), np.zeros((4, 2), np.float32)
    assert not native_sparse.added_product(places, 0, np.ones(2, np.float32), dense, result)
    inputs = {"a_indices": places, "a_values": np.ones(2, np.float32), "a_shape": [4, 5]}
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"out of bounds"):
        tf.raw_ops.SparseTensorDenseMatMul(**inputs, b=dense)


@pytest.mark.parametrize("dtype", ["bool", "float16", "int32", "float64", "complex128"])
@pytest.mark.parametrize("wide", [np.int32, np.int64])
def test_values_at_places(wide, dtype):
    places = np.array([[0, 1], [2, 0], [2, 3]], wide)
    values = np.array([1, 0, 3]).astype(dtype)
    wanted = np.zeros((3, 4), dtype)
    wanted[tuple(places.T)] = values
    result = np.zeros((3, 4), dtype)
    assert native_sparse.put(result, places, values, True)
    np.testing.assert_array_equal(result, wanted)
    assert native_sparse.put(result, places, np.ones((), dtype), True)
    assert result[tuple(places.T)].all()
    assert native_sparse.put(result, places[:0], values[:0], True)
    assert not native_sparse.put(result, places[::-1], values, True)
    assert native_sparse.put(result, places[::-1], values[::-1], False)
    for wrong in ([3, 0], [0, 4], [-1, 0], [0, -1]):
        assert not native_sparse.put(result, np.array([wrong], wide), values[:1], False)


def test_what_is_not_put():
    places, values = np.zeros((1, 1), np.int64), np.ones(1, np.float32)
    assert not native_sparse.put(np.zeros(3, np.float64), places, values, False)
    assert not native_sparse.put(np.zeros(3, object), places, np.array([b"a"], object), False)
    assert not native_sparse.put(np.zeros((), np.float32), places[:, :0], values, False)
    assert not native_sparse.put(np.zeros(3, np.float32), places.astype(np.int8), values, False)


@pytest.mark.parametrize("validate", [True, False])
@pytest.mark.parametrize("places", [[[1, 1], [0, 2]], [[1, 1], [1, 1]], [[0, 0], [2, 0]]])
def test_dense_with_and_without_the_library(places, validate, monkeypatch):
    given = {"sparse_indices": np.array(places), "sparse_values": [5.0, 6.0]}
    given.update(output_shape=[2, 3], default_value=1.0, validate_indices=validate)

    def run():
        try:
            return tf.raw_ops.SparseToDense(**given).numpy().tolist()
        except tf.errors.InvalidArgumentError as problem:
            return str(problem)

    found = run()
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    assert found == run()


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [b"a", b"b", b"c"], [True, True, False]])
@pytest.mark.parametrize(
    ("rows", "count"), [([1, 3, 3], 5), ([3, 1, 3], 4), ([0, 1, 2], 3), ([2, 1, 0], 3), ([], 3)]
)
def test_empty_rows_with_and_without_the_library(rows, count, values, monkeypatch):
    places = np.array([[row, i] for i, row in enumerate(rows)], np.int64).reshape(-1, 2)
    rest = tf.zeros([], tf.constant(values).dtype)
    given = {"indices": places, "values": tf.constant(values)[: len(rows)], "default_value": rest}

    def run():
        outputs = tf.raw_ops.SparseFillEmptyRows(**given, dense_shape=[count, 3])
        return [each.numpy().tolist() for each in outputs]

    found = run()
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    assert found == run()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_of_filled_rows_are_added_in_order(dtype):
    grads = RNG.normal(size=3000).astype(dtype)
    places = RNG.permutation(3000)[:1000]
    rest = dtype(0)
    for i in np.setdiff1d(np.arange(3000), places):
        rest = dtype(rest + grads[i])
    given = {"reverse_index_map": places, "grad_values": grads}
    values, default = tf.raw_ops.SparseFillEmptyRowsGrad(**given)
    np.testing.assert_array_equal(values.numpy(), grads[places])
    assert default.numpy() == rest
    assert default.shape == ()
    taken, everything = native_sparse.parted(places[:0], np.ones(5, dtype))
    assert taken.shape == (0,)
    assert everything == 5
    for wrong in (-1, 3000):
        assert native_sparse.parted(np.array([0, wrong]), grads) is None
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"got {wrong} at 1"):
            tf.raw_ops.SparseFillEmptyRowsGrad(
                reverse_index_map=np.array([0, wrong]), grad_values=grads
            )
    assert native_sparse.parted(places, grads.astype(np.float16)) is None


@pytest.mark.parametrize("row", [-1, 3])
def test_rows_that_are_not_there(row):
    places, values = np.array([[0, 0], [row, 0]]), np.ones(2, np.float32)
    assert native_sparse.with_empty_rows_filled(places, values, 3, values[0]) is None
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"\[0, 3\), got {row}"):
        tf.raw_ops.SparseFillEmptyRows(
            indices=places, values=values, dense_shape=[3, 3], default_value=0.0
        )


def test_shapes_given_as_lists_are_nobody_else_s():
    """Their arrays are kept for calls to come, so no result may be one of them."""
    places = np.array([[0, 1], [2, 3]])
    given = {"a_indices": places, "a_values": [1.0, 2.0], "b_indices": places}
    given.update(b_values=[3.0, 4.0], a_shape=[3, 4], b_shape=[3, 4], thresh=0.0)
    one, other = (tf.raw_ops.SparseAdd(**given).sum_shape.numpy() for _ in range(2))
    assert not np.shares_memory(one, other)
    kept = [
        tf.raw_ops.SerializeSparse(
            sparse_indices=places, sparse_values=[1.0, 2.0], sparse_shape=[3, 4],
            out_type=tf.variant,
        )
        for _ in range(2)
    ]  # fmt: skip
    shapes = [
        tf.raw_ops.DeserializeSparse(serialized_sparse=each, dtype=tf.float32).sparse_shape.numpy()
        for each in kept
    ]
    assert not np.shares_memory(*shapes)


def test_few_places_of_many_keep_no_room_for_all():
    places = np.stack([np.arange(9000)] * 2, 1)
    moved, numbers = native_sparse.in_box(places, np.array([7, 7]), np.array([3, 3]))
    np.testing.assert_array_equal(moved, places[:3])
    np.testing.assert_array_equal(numbers, [7, 8, 9])
    assert moved.base is None or moved.base.nbytes < places.nbytes // 2
