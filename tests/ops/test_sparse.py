"""Sparse tensors: what the table cannot say, and the public functions."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.ops import sparse_common

ROWS, OTHER = [[0, 0], [0, 2], [1, 1]], [[0, 0], [1, 0], [1, 1]]
A = tf.SparseTensor(ROWS, [1.0, 2.0, 3.0], [2, 3])
B = tf.SparseTensor(OTHER, [10.0, -2.0, -3.0], [2, 3])
INVALID = tf.errors.InvalidArgumentError


def parts(value: Any) -> tuple[list[Any], list[Any], list[int]]:
    return (
        value.indices.numpy().tolist(),
        value.values.numpy().tolist(),
        value.dense_shape.numpy().tolist(),
    )


def dense(value: Any) -> Any:
    return tf.sparse.to_dense(value).numpy()


def gradient(function: Any, *values: Any) -> list[Any]:
    """Gradients of the sum of squares of a sparse result's values."""
    tensors = [tf.constant(v) for v in values]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        total = tf.reduce_sum(tf.square(function(*tensors).values))
    return [None if g is None else g.numpy().tolist() for g in tape.gradient(total, tensors)]


def with_values(values: Any, rows: Any = ROWS) -> Any:
    return tf.SparseTensor(rows, values, [2, 3])


# ---- SparseAdd, SparseAddGrad, SparseSparseMaximum, SparseSparseMinimum


def test_sum_is_the_dense_sum() -> None:
    np.testing.assert_array_equal(dense(tf.sparse.add(A, B)), dense(A) + dense(B))


@pytest.mark.parametrize(
    ("threshold", "rows"),
    [
        (0, [[0, 0], [0, 2], [1, 0], [1, 1]]),
        (1, [[0, 0], [0, 2], [1, 0]]),
        (12, [[0, 2], [1, 0]]),
    ],
)
def test_sum_below_threshold_is_left_out(threshold: float, rows: Any) -> None:
    """Elements that only one of the two has are kept, as TensorFlow keeps them."""
    assert parts(tf.sparse.add(A, B, threshold))[0] == rows


def test_repeated_positions_add_up_pair_by_pair() -> None:
    twice = tf.SparseTensor([[0], [0]], [1, 2], [3])
    once = tf.SparseTensor([[0]], [10], [3])
    assert parts(tf.sparse.add(twice, once)) == ([[0], [0]], [11, 2], [3])


def test_sum_with_dense() -> None:
    ones = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(tf.sparse.add(ones, A).numpy(), dense(A) + 1)


def test_sum_refuses() -> None:
    with pytest.raises(TypeError, match="do you mean to use"):
        tf.sparse.add([1], [2])
    with pytest.raises(INVALID, match=r"one dense shape, got \[2, 3\] and \[2, 4\]"):
        tf.sparse.add(A, tf.SparseTensor(ROWS, [1.0, 2.0, 3.0], [2, 4]))
    with pytest.raises(ValueError, match="both 'thresh' and 'threshold'"):
        tf.compat.v1.sparse_add(A, B, threshold=1, thresh=1)


def test_gradient_of_sum() -> None:
    """SparseAddGrad: a sum that was left out gives none."""
    grads = gradient(
        lambda a, b: tf.sparse.add(with_values(a), with_values(b, OTHER), 1.0),
        [1.0, 2.0, 3.0],
        [10.0, -2.0, -3.0],
    )
    assert grads == [[22, 4, 0], [22, -4, 0]]


def test_extremes_count_missing_elements_as_zero() -> None:
    assert parts(tf.sparse.maximum(A, B))[1] == [10, 2, 0, 3]
    assert parts(tf.sparse.minimum(A, B))[1] == [1, 0, -2, -3]
    with pytest.raises(INVALID, match=r"b_indices\[0\] = \[0, 5\] is out of bounds"):
        tf.sparse.maximum(A, tf.SparseTensor([[0, 5]], [1.0], [2, 3]))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("maximum", [[0, 4, 6], [20, 0, 0]]), ("minimum", [[2, 0, 0], [0, -4, -6]])],
)
def test_gradient_of_extremes(name: str, wanted: Any) -> None:
    grads = gradient(
        lambda a, b: getattr(tf.sparse, name)(with_values(a), with_values(b, OTHER)),
        [1.0, 2.0, 3.0],
        [10.0, -2.0, -3.0],
    )
    assert grads == wanted


# ---- SparseFillEmptyRows


def test_fill_empty_rows() -> None:
    rows = tf.SparseTensor([[3, 1], [1, 2], [3, 0]], [1, 2, 3], [5, 4])
    filled, empty = tf.sparse.fill_empty_rows(rows, -1)
    assert parts(filled) == (
        [[0, 0], [1, 2], [2, 0], [3, 1], [3, 0], [4, 0]],
        [-1, 2, -1, 1, 3, -1],
        [5, 4],
    )
    assert empty.numpy().tolist() == [True, False, True, False, True]


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("height", [6, 9])
def test_filled_rows_and_where_their_elements_come_from(ordered: bool, height: int) -> None:
    """Beside plain loops: rows without gaps and with some, in order and not."""
    rows = np.array([0, 1, 1, 2, 3, 4, 4, 4, 5])
    rows = rows if ordered else rows[[3, 0, 8, 1, 5, 4, 2, 7, 6]]
    rows = rows if height == 6 else rows + (rows > 2) * 2
    indices, values = np.stack([rows, np.arange(9) % 4], 1), np.arange(1.0, 10)
    found = tf.raw_ops.SparseFillEmptyRows(
        indices=indices, values=values, dense_shape=[height, 4], default_value=-1.0
    )
    wanted: list[Any] = []
    places = np.zeros(9, np.int64)
    for row in range(height):
        own = [i for i in range(9) if rows[i] == row]
        for i in own:
            places[i] = len(wanted)
            wanted.append((*indices[i], values[i]))
        wanted += [] if own else [(row, 0, -1.0)]
    assert found.output_indices.numpy().tolist() == [[*w[:2]] for w in wanted]
    assert found.output_values.numpy().tolist() == [w[2] for w in wanted]
    assert found.empty_row_indicator.numpy().tolist() == [r not in rows for r in range(height)]
    assert found.reverse_index_map.numpy().tolist() == places.tolist()
    ragged = tf.raw_ops.RaggedFillEmptyRows(
        value_rowids=rows, values=values, nrows=height, default_value=-1.0
    )
    assert ragged.output_value_rowids.numpy().tolist() == [w[0] for w in wanted]
    assert ragged.output_values.numpy().tolist() == [w[2] for w in wanted]
    assert ragged.reverse_index_map.numpy().tolist() == places.tolist()


@pytest.mark.parametrize("sizes", [[0, 3], [1, 3]])
def test_fill_empty_rows_refuses_rows_outside(sizes: list[int]) -> None:
    with pytest.raises(INVALID, match=r"dense_shape\[0\] = 0|expected a row in \[0, 1\), got 1"):
        tf.sparse.fill_empty_rows(tf.SparseTensor([[1, 0]], [1], sizes), 0)


def test_gradient_of_fill_empty_rows() -> None:
    grads = gradient(
        lambda v, d: tf.sparse.fill_empty_rows(tf.SparseTensor(OTHER, v, [4, 3]), d)[0],
        [1.0, 2.0, 3.0],
        5.0,
    )
    assert grads == [[2, 4, 6], 20]


# ---- SparseReduceSumSparse, SparseReduceMaxSparse


@pytest.mark.parametrize(
    ("axis", "keep", "rows", "sums", "sizes"),
    [
        (0, False, [[0], [1], [2]], [9, 1, 2], [3]),
        (-1, True, [[0, 0], [1, 0]], [13, -1], [2, 1]),
        (None, False, [[]], [12], []),
        ([], False, [[0, 0], [0, 2], [1, 0], [1, 1]], [11, 2, -2, 1], [2, 3]),
    ],
)
def test_sparse_sums(axis: Any, keep: bool, rows: Any, sums: Any, sizes: Any) -> None:
    four = tf.SparseTensor([[0, 0], [0, 2], [1, 0], [1, 1]], [11.0, 2.0, -2.0, 1.0], [2, 3])
    found = tf.sparse.reduce_sum(four, axis, keep, output_is_sparse=True)
    assert parts(found) == (rows, sums, sizes)
    largest = tf.sparse.reduce_max(four, axis, keep, output_is_sparse=True)
    assert parts(largest)[0] == rows


def test_largest_of_nothing_is_zero() -> None:
    x = tf.SparseTensor([[0, 0]], [-5.0], [2, 2])
    assert tf.sparse.reduce_max(x, 1).numpy().tolist() == [-5, 0]
    assert parts(tf.sparse.reduce_max(x, 1, output_is_sparse=True)) == ([[0]], [-5], [2])


# ---- SparseSlice, SparseSliceGrad, SparseSplit


def test_slice() -> None:
    assert parts(tf.sparse.slice(A, [0, 1], [2, 5])) == ([[0, 1], [1, 0]], [2, 3], [2, 2])
    assert parts(tf.sparse.slice(A, [9, 9], [1, 1])) == ([], [], [0, 0])
    with pytest.raises(INVALID, match="sizes >= 0"):
        tf.sparse.slice(A, [0, 0], [-1, 1])
    with pytest.raises(INVALID, match="start to be a vector of length 2 but got length 1"):
        tf.sparse.slice(A, [0], [1])
    assert gradient(lambda v: tf.sparse.slice(with_values(v), [0, 1], [2, 2]), [1.0, 2.0, 3.0]) == [
        [0, 4, 6]
    ]


@pytest.mark.parametrize("native", ["0", "1"])
def test_gradients_of_slices_are_for_places_of_the_input_in_its_order(native, monkeypatch):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", native)

    def back(indices, start, taken):
        found = tf.raw_ops.SparseSliceGrad(
            backprop_val_grad=np.arange(5.0, 5 + len(taken)),
            input_indices=np.array(indices, np.int64).reshape(-1, 2),
            input_start=np.array(start, np.int64),
            output_indices=np.array(taken, np.int64).reshape(-1, 2),
        )
        return found.numpy().tolist()

    rows = [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert back(rows, [1, 1], [[0, 0], [2, 2]]) == [0, 5, 0, 6]
    assert back(rows[:2], [-1, -1], [[2, 2]]) == [0, 5]
    assert back(rows, [0, 0], []) == [0, 0, 0, 0]
    assert back([[1, 1], [0, 0]], [0, 0], [[1, 1], [0, 0]]) == [5, 6]
    assert back([[1, 1], [1, 1]], [0, 0], [[1, 1]]) == [5, 0]
    for taken, used in (
        ([[0, 0], [1, 1], [2, 3], [3, 3]], 2),
        ([[0, 0], [1, 1], [1, 1], [3, 3]], 2),
        ([[1, 1], [0, 0], [2, 2]], 1),
    ):
        with pytest.raises(tf.errors.InternalError, match=f"{len(taken)} of which {used} are"):
            back(rows, [0, 0], taken)
    with pytest.raises(tf.errors.InvalidArgumentError, match="got 1 and 0"):
        back([], [0, 0], [[0, 0]])
    for start in ([0], [0, 0, 0]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="input_start of 2 columns"):
            back(rows, start, [[0, 0]])


@pytest.mark.parametrize("size", [2**63 - 1, 2**63 - 2, 3])
def test_sizes_of_slices_may_reach_beyond_all_numbers(size):
    square = tf.SparseTensor([[0, 0], [1, 1], [2, 2]], [1, 2, 3], [3, 4])
    assert parts(tf.sparse.slice(square, [1, 0], [size, size])) == (
        [[0, 1], [1, 2]],
        [2, 3],
        [2, min(size, 4)],
    )
    assert parts(tf.sparse.slice(square, [2**62, 1], [size, size])) == ([], [], [0, 3])


def test_split() -> None:
    first, second = tf.sparse.split(A, 2, 1)
    assert parts(first) == ([[0, 0], [1, 1]], [1, 3], [2, 2])
    assert parts(second) == ([[0, 0]], [2], [2, 1])
    with pytest.raises(INVALID, match=r"dimension size \(3\), got 4"):
        tf.sparse.split(A, 4, 1)
    with pytest.raises(ValueError, match="axis is required"):
        tf.sparse.split(A, 2)
    with pytest.raises(INVALID, match="int64"):
        tf.sparse.split(A, 2, tf.constant(1))
    with pytest.raises(INVALID, match="int32"):
        tf.sparse.reduce_sum(A, tf.constant(1, tf.int64))
    assert gradient(lambda v: tf.sparse.split(with_values(v), 2, 1)[0], [1.0, 2.0, 3.0]) == [
        [2, 0, 6]
    ]


# ---- operators and public functions


def test_operators() -> None:
    row = tf.constant([1.0, 10.0, 100.0])
    assert (A * row).values.numpy().tolist() == [1, 200, 30]
    assert (row * A).values.numpy().tolist() == [1, 200, 30]
    assert (tf.Variable(row) * A).values.numpy().tolist() == [1, 200, 30]
    assert (tf.SparseTensor([[0]], [3], [1]) / [2]).values.numpy().tolist() == [1.5]
    for broken in (lambda: 2 * A, lambda: A + A, lambda: -A):
        with pytest.raises(TypeError):
            broken()


def test_functions_that_keep_zero() -> None:
    assert tf.abs(B).values.numpy().tolist() == [10, 2, 3]
    assert tf.math.divide(A, 2.0).values.numpy().tolist() == [0.5, 1, 1.5]
    assert tf.cast(A, tf.int32).dtype is tf.int32
    with pytest.raises(ValueError, match="SparseTensor"):
        tf.exp(A)


def test_map_values() -> None:
    assert tf.sparse.map_values(tf.add, A, A).values.numpy().tolist() == [2, 4, 6]
    with pytest.raises(INVALID, match="Mismatched indices"):
        tf.sparse.map_values(tf.add, A, B)
    with pytest.raises(ValueError, match="No SparseTensor"):
        tf.sparse.map_values(tf.add, 1, 2)
    with pytest.raises(ValueError, match="rank 1"):
        tf.sparse.map_values(tf.reduce_sum, A)


@tf.function(input_signature=[tf.SparseTensorSpec([None, 3], tf.float32)])
def many(x: Any) -> Any:
    return (
        tf.sparse.transpose(x), tf.sparse.to_dense(x), x * 2.0, tf.sparse.reshape(x, [-1]),
        tf.sparse.expand_dims(x, 0), tf.sparse.reset_shape(x, [7, 7]),
        tf.sparse.map_values(tf.add, x, x),
    )  # fmt: skip


def test_in_a_function() -> None:
    turned, whole, double, flat, higher, larger, mapped = many(A)
    np.testing.assert_array_equal(dense(turned), dense(A).T)
    np.testing.assert_array_equal(whole.numpy(), dense(A))
    np.testing.assert_array_equal(dense(double), 2 * dense(A))
    np.testing.assert_array_equal(dense(flat), dense(A).reshape(-1))
    assert parts(higher)[2] == [1, 2, 3]
    assert parts(larger) == (ROWS, [1, 2, 3], [7, 7])
    assert parts(mapped)[1] == [2, 4, 6]


def test_checks_in_a_function() -> None:
    @tf.function(input_signature=[tf.SparseTensorSpec([None, 3], tf.float32)])
    def shrink(x: Any) -> Any:
        return tf.sparse.reset_shape(x, [1, 3])

    with pytest.raises(INVALID):
        shrink(A)


def test_reset_shape() -> None:
    assert parts(tf.sparse.reset_shape(tf.SparseTensor([[1, 1]], [5], [9, 9])))[2] == [2, 2]
    with pytest.raises(
        ValueError, match=r"dimension sizes >= sp_input\.shape.*Use tf\.sparse\.slice"
    ):
        tf.sparse.reset_shape(A, [1, 3])
    with pytest.raises(ValueError, match="Dimensions 2 and 3 are not compatible"):
        tf.sparse.reset_shape(A, [2, 3, 4])


def test_expand_dims() -> None:
    for axis, sizes in (
        (None, [2, 3, 1]),
        (0, [1, 2, 3]),
        (1, [2, 1, 3]),
        (-2, [2, 1, 3]),
        (2, [2, 3, 1]),
    ):
        assert parts(tf.sparse.expand_dims(A, axis))[2] == sizes
    for axis in (3, -4):
        with pytest.raises(INVALID, match=r"axis in \[-3, 2\]"):
            tf.sparse.expand_dims(A, axis)


def unknown(function: Any) -> Any:
    """A function of A, of whose rank nothing is known, and of an int32 that may have any shape."""
    signature = [tf.SparseTensorSpec(None, tf.float32), tf.TensorSpec(None, tf.int32)]
    return tf.function(function, input_signature=signature)


def test_expand_dims_where_rank_or_axis_is_unknown() -> None:
    insert = unknown(tf.sparse.expand_dims)
    known = tf.function(tf.sparse.expand_dims, reduce_retracing=True)
    last = unknown(lambda x, _: tf.sparse.expand_dims(x))
    for axis in (0, 1, -2, 2):
        wanted = parts(tf.sparse.expand_dims(A, axis))
        assert parts(insert(A, axis)) == parts(known(A, tf.constant(axis))) == wanted
    assert parts(last(A, 0)) == parts(tf.sparse.expand_dims(A))
    for axis in (3, -4):
        with pytest.raises(INVALID):
            insert(A, axis)
    for wrong in (1.0, [1], "1"):
        with pytest.raises(TypeError, match="axis must be an integer"):
            tf.sparse.expand_dims(A, wrong)


def test_where_the_rank_is_unknown() -> None:
    keep = unknown(lambda x, which: tf.sparse.retain(x, which > 0))
    assert parts(keep(A, [1, 0, 1])) == (ROWS[::2], [1, 3], [2, 3])
    widen = unknown(lambda x, sizes: tf.sparse.reset_shape(x, sizes))
    assert parts(widen(A, [4, 3])) == (ROWS, [1, 2, 3], [4, 3])
    with pytest.raises(INVALID):
        widen(A, [1, 3])
    marks = unknown(lambda x, size: tf.sparse.to_indicator(x, size))
    np.testing.assert_array_equal(marks(A, 4), tf.sparse.to_indicator(A, 4))
    merge = unknown(lambda x, size: tf.compat.v1.sparse_merge(x, x, size))
    assert parts(merge(A, 4)) == ([[0, 1], [0, 2], [1, 3]], [1, 2, 3], [2, 4])


def test_reshape_that_cannot_be_is_found_where_sizes_are_known() -> None:
    with tf.Graph().as_default():
        x = tf.compat.v1.sparse_placeholder(tf.float32, [2, 3])
        assert tf.sparse.reshape(x, [-1]).shape == [6]
        for sizes in ([5, 5], [-1, -1], [4, -1]):
            with pytest.raises(ValueError, match=r"requested shape|may be -1"):
                tf.sparse.reshape(x, sizes)


def test_concat_of_other_sizes() -> None:
    wide = tf.SparseTensor([[0, 4]], [9.0], [1, 5])
    assert parts(tf.sparse.concat(0, [A, wide], True))[2] == [3, 5]
    with pytest.raises(INVALID, match="agree but for dimension 0"):
        tf.sparse.concat(0, [A, wide])
    with pytest.raises(TypeError, match="list or tuple"):
        tf.sparse.concat(0, A)


def test_from_dense_and_back() -> None:
    for given in (
        [[1, 0], [0, 2]],
        [["a", ""], ["", "b"]],
        [[True, False]],
        [[0.0, np.nan]],
        [0j, 1j],
    ):
        value = tf.sparse.from_dense(given)
        np.testing.assert_array_equal(dense(value), tf.constant(given).numpy())
    assert tf.sparse.from_dense(np.zeros((2, 0))).shape == [2, 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank"):
        tf.sparse.from_dense(3)


def test_eye_and_indicator() -> None:
    np.testing.assert_array_equal(dense(tf.sparse.eye(3, 2)), np.eye(3, 2))
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [2, 0, 1], [2, 2])
    assert tf.sparse.to_indicator(ids, 3).numpy().tolist() == [
        [True, False, True],
        [False, True, False],
    ]
    merged = tf.compat.v1.sparse_merge(
        ids, tf.SparseTensor(ids.indices, [1.0, 2.0, 3.0], [2, 2]), 4
    )
    assert parts(merged) == ([[0, 0], [0, 2], [1, 1]], [2, 1, 3], [2, 4])
    with pytest.raises(TypeError, match="Tensor or Python int"):
        tf.compat.v1.sparse_merge(ids, ids, [4])


def test_mask_of_slices() -> None:
    slices = tf.IndexedSlices(tf.constant([[1.0], [2.0], [3.0]]), tf.constant([3, 5, 7]))
    left = tf.sparse.mask(slices, [5])
    assert left.indices.numpy().tolist() == [3, 7]
    assert left.values.numpy().tolist() == [[1], [3]]


def test_placeholder_in_a_session() -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        fed = v1.sparse_placeholder(tf.float32, [None, 3])
        ordered = tf.sparse.reorder(fed)
        assert ordered.shape.as_list() == [None, 3]
        value = v1.SparseTensorValue(np.array(ROWS[::-1]), np.float32([3, 2, 1]), np.array([2, 3]))
        found, total = session.run([ordered, tf.sparse.reduce_sum(fed, 1)], {fed: value})
    assert found.values.tolist() == [1, 2, 3]
    assert total.tolist() == [3, 3]


def test_product_with_the_sparse_matrix_on_the_right() -> None:
    left = np.arange(4.0).reshape(2, 2).astype(np.float32)
    np.testing.assert_allclose(tf.sparse.sparse_dense_matmul(left, A).numpy(), left @ dense(A))
    flipped = tf.sparse.sparse_dense_matmul(left, A, adjoint_a=True)
    np.testing.assert_allclose(flipped.numpy(), left.T @ dense(A))


def test_compiled_functions_check_positions() -> None:
    compiled = tf.function(
        lambda v, i: tf.sparse.to_dense(tf.SparseTensor(i, v, [2, 3])), jit_compile=True
    )
    assert compiled(tf.constant([1.0, 2.0, 3.0]), tf.constant(ROWS, tf.int64)).numpy().tolist() == [
        [1, 0, 2],
        [0, 3, 0],
    ]
    with pytest.raises(INVALID, match=r"indices\[1\] = \[0, 3\] is out of bounds"):
        compiled(tf.constant([1.0, 2.0, 3.0]), tf.constant([[0, 0], [0, 3], [1, 1]], tf.int64))


def test_ordinary_operations_take_sparse_tensors_that_no_one_named() -> None:
    program = (
        "import penstock as tf; s = tf.sparse.from_dense([[-1.0, 0.0]]);"
        "assert tf.abs(s).values.numpy().tolist() == [1.0]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_constants_of_parts_stand_in_a_scope_of_their_own():
    with tf.Graph().as_default():
        names = []
        for values in ([1.0], tf.constant([1.0], name="given")):
            sparse = tf.SparseTensor([[0, 1]], values, [2, 2])
            names += [t.op.name for t in (sparse.indices, sparse.values, sparse.dense_shape)]
    first = [f"SparseTensor/{part}" for part in ("indices", "values", "dense_shape")]
    assert names == [*first, "SparseTensor_1/indices", "given", "SparseTensor_1/dense_shape"]


def test_parts_of_a_split_keep_their_order() -> None:
    rng = np.random.default_rng(4)
    indices = np.stack([rng.integers(0, 7, 40), rng.integers(0, 3, 40)], 1)
    values = np.arange(40.0)
    found = tf.raw_ops.SparseSplit(
        split_dim=0, indices=indices, values=values, shape=[7, 3], num_split=3
    )
    start = 0
    for size, rows, numbers, shape in zip((3, 2, 2), *found, strict=True):
        kept = (indices[:, 0] >= start) & (indices[:, 0] < start + size)
        assert np.array_equal(rows, indices[kept] - [start, 0])
        assert np.array_equal(numbers, values[kept])
        assert shape.numpy().tolist() == [size, 3]
        start += size


# ---- positions of two tensors


@pytest.mark.parametrize("offset", [0, -(2**62), 2**61])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_positions_of_two_tensors_together(rank: int, offset: int) -> None:
    """In order and not, far from zero, with one inside of the other, beside sets."""
    rng = np.random.default_rng(rank)
    for a_count, b_count in ((30, 20), (30, 0), (0, 3), (1, 40)):
        drawn = [np.unique(rng.integers(0, 5, (n, rank)), axis=0) for n in (a_count, b_count)]
        a, b = (d + offset for d in drawn)
        for left, right in ((a, b), (a[::-1], b), (a, np.concatenate([a, b + 7])), (a, a[1:])):
            found, first, second = sparse_common.union(left, right)
            names = [tuple(row) for row in found.tolist()]
            rows = [[tuple(row) for row in side.tolist()] for side in (left, right)]
            assert names == sorted({*rows[0], *rows[1]})
            for numbers, side in ((first, rows[0]), (second, rows[1])):
                if numbers is None:  # all there are, in order
                    assert names == side
                    continue
                wanted = [side.index(name) if name in side else -1 for name in names]
                assert numbers.tolist() == wanted


def test_keys_keep_the_order_of_positions() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(-(2**30), 2**30, (200, 2))
    for given in (rows, rows[:, ::-1], rows + 2**61, np.array([[2**63 - 1, 0], [2**63 - 2, 1]])):
        keys = sparse_common.keys_of(given)
        assert keys is not None
        assert np.array_equal(np.argsort(keys), np.lexsort((given[:, 1], given[:, 0])))
        assert keys.min() >= 0
    assert sparse_common.keys_of(np.array([[-(2**62), 0], [2**62, 3]])) is None


def test_transpose_in_functions_checks_axes_where_they_stand():
    sparse = tf.sparse.from_dense([[1, 0, 2], [0, 3, 0]])

    def turned(perm):
        return tf.function(lambda: tf.sparse.transpose(sparse, perm))()

    with pytest.raises(tf.errors.InvalidArgumentError):
        turned([-1, 0])
    with tf.Graph().as_default():
        inner = tf.sparse.from_dense([[1, 0, 2], [0, 3, 0]])
        assert tf.sparse.transpose(inner, [-1, 0]).shape == [3, 2]
    with pytest.raises(IndexError, match=r"permutation of 2 axes, got \[2, 0\]. Name each axis"):
        turned([2, 0])
    with pytest.raises(ValueError, match=r"permutation of 2 axes, got \[0\]"):
        turned([0])


def test_an_axis_out_of_range_is_told_how_to_count():
    with pytest.raises(INVALID, match=r"an axis in \[-3, 2\], got 3. Count from 0"):
        tf.sparse.expand_dims(A, 3)
