"""Counts as sparse tensors, and sets."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

INVALID = tf.errors.InvalidArgumentError
CELLS = [[0, 0], [0, 2], [1, 1]]


def parts(value: Any) -> tuple[list[Any], list[Any], list[int]]:
    return (
        value.indices.numpy().tolist(),
        value.values.numpy().tolist(),
        value.dense_shape.numpy().tolist(),
    )


# ---- DenseCountSparseOutput, SparseCountSparseOutput


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, ([[1], [3]], [1, 2], [4])),
        ({"minlength": 6}, ([[1], [3]], [1, 2], [6])),
        ({"maxlength": 3}, ([[1]], [1], [3])),
        ({"minlength": 1, "maxlength": 9}, ([[1], [3]], [1, 2], [9])),
        ({"maxlength": 0}, ([], [], [0])),
        ({"binary_output": True}, ([[1], [3]], [1, 1], [4])),
        ({"weights": [0.5, 2.0, 3.0]}, ([[1], [3]], [2.0, 3.5], [4])),
    ],
)
def test_counts_of_a_vector(options: dict[str, Any], wanted: Any) -> None:
    assert parts(tf.sparse.bincount([3, 1, 3], **options)) == wanted


@pytest.mark.parametrize("kind", [tf.int32, tf.int64], ids=str)
def test_counts_have_the_dtype_of_values(kind: Any) -> None:
    cells = tf.SparseTensor(CELLS, tf.constant([3, 1, 3], kind), [2, 4])
    rows = tf.ragged.constant([[3, 1], [3]], dtype=kind)
    for values in (tf.constant([3, 1, 3], kind), cells, rows):
        for axis in (0, -1):
            assert tf.sparse.bincount(values, axis=axis).dtype is kind
    weighted = tf.sparse.bincount(tf.constant([3, 1], kind), weights=[0.5, 1.0])
    assert weighted.dtype is tf.float32


def test_counts_of_nothing_have_room_for_zeros() -> None:
    for values, wanted in (
        (tf.zeros([0], tf.int32), [1]),
        (tf.zeros([2, 0], tf.int64), [2, 1]),
        (tf.SparseTensor(np.zeros((0, 2), np.int64), tf.zeros([0], tf.int64), [2, 4]), [2, 1]),
        (tf.ragged.constant([[], []], dtype=tf.int64), [2, 1]),
    ):
        assert parts(tf.sparse.bincount(values, axis=-1)) == ([], [], wanted)
    assert parts(tf.sparse.bincount(tf.zeros([0], tf.int32), maxlength=0)) == ([], [], [0])


def test_counts_of_rows() -> None:
    wanted = ([[0, 1], [0, 3], [1, 0]], [1, 2, 3], [2, 4])
    assert parts(tf.sparse.bincount([[3, 1, 3], [0, 0, 0]], axis=-1)) == wanted
    cells = tf.SparseTensor(CELLS, [3, 1, 3], [2, 4])
    assert parts(tf.sparse.bincount(cells, axis=-1)) == (
        [[0, 1], [0, 3], [1, 3]],
        [1, 1, 1],
        [2, 4],
    )
    assert parts(tf.sparse.bincount(cells)) == ([[1], [3]], [1, 2], [4])
    dense = tf.math.bincount(cells, axis=-1)
    assert dense.numpy().tolist() == [[0, 1, 0, 1], [0, 0, 0, 1]]
    assert tf.math.bincount(cells).numpy().tolist() == [0, 1, 0, 2]


def test_counts_refuse() -> None:
    with pytest.raises(INVALID, match="non-negative: got -1"):
        tf.sparse.bincount([-1, 0])
    with pytest.raises(ValueError, match="axis=1"):
        tf.sparse.bincount([1], axis=1)
    for function in (tf.sparse.bincount, tf.math.bincount):
        with pytest.raises(ValueError, match="mutually exclusive"):
            function([1], weights=[1.0], binary_output=True)
    with pytest.raises(ValueError, match="must be a SparseTensor"):
        tf.sparse.bincount(tf.SparseTensor(CELLS, [3, 1, 3], [2, 4]), weights=[1.0, 2.0, 3.0])
    with pytest.raises(INVALID, match="rank 1 or 2"):
        tf.sparse.bincount([[[1]]], axis=-1)


# ---- SetSize, DenseToDenseSetOperation, DenseToSparseSetOperation, SparseToSparseSetOperation

FIRST = [[1, 2, 3, 2], [4, 4, 5, 6]]
SECOND = [[3, 2, 9], [7, 4, 4]]


def padded(rows: list[list[int]]) -> Any:
    """A SparseTensor of the same sets, with room to the right."""
    sizes = [len(rows), len(rows[0]) + 2]
    cells = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    return tf.SparseTensor(cells, [v for row in rows for v in row], sizes)


@pytest.mark.parametrize("sparse_first", [False, True])
@pytest.mark.parametrize("sparse_second", [False, True])
def test_set_operations(sparse_first: bool, sparse_second: bool) -> None:
    a = padded(FIRST) if sparse_first else FIRST
    b = padded(SECOND) if sparse_second else SECOND
    assert parts(tf.sets.intersection(a, b)) == ([[0, 0], [0, 1], [1, 0]], [2, 3, 4], [2, 2])
    assert parts(tf.sets.union(a, b))[1:] == ([1, 2, 3, 9, 4, 5, 6, 7], [2, 4])
    assert parts(tf.sets.difference(a, b)) == ([[0, 0], [1, 0], [1, 1]], [1, 5, 6], [2, 2])
    assert parts(tf.sets.difference(a, b, aminusb=False)) == ([[0, 0], [1, 0]], [9, 7], [2, 1])


def test_sets_of_strings() -> None:
    found = tf.sets.union([["b", "a"]], [["c", "a"]])
    assert found.values.numpy().tolist() == [b"a", b"b", b"c"]


def test_set_size() -> None:
    assert tf.sets.size(padded(FIRST)).numpy().tolist() == [3, 3]
    assert tf.sets.size(
        tf.SparseTensor(np.zeros((0, 2)), np.zeros(0, np.int32), [2, 3])
    ).numpy().tolist() == [0, 0]


def test_sets_refuse() -> None:
    with pytest.raises(TypeError, match="Expected `SparseTensor`"):
        tf.sets.size(FIRST)
    with pytest.raises(TypeError, match="float32 of input a is not supported"):
        tf.sets.union([[1.0]], [[1.0]])
    with pytest.raises(TypeError, match="Types don't match"):
        tf.sets.union([[1]], [["a"]])
    with pytest.raises(INVALID, match=r"equal leading sizes, got \[2\] and \[1\]"):
        tf.sets.union(FIRST, [[1]])
    with pytest.raises(INVALID, match="rank at least 2"):
        tf.sets.union([1], [1])
    unordered = tf.SparseTensor([[1, 0], [0, 0]], [1, 2], [2, 2])
    with pytest.raises(INVALID, match="out of order"):
        tf.sets.size(unordered)
    assert tf.sets.size(unordered, validate_indices=False).numpy().tolist() == [1, 1]
    with pytest.raises(INVALID, match="Invalid set_operation 'xor'"):
        tf.raw_ops.DenseToDenseSetOperation(set1=FIRST, set2=SECOND, set_operation="xor")


def test_sets_in_a_session() -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        dense, fed = v1.placeholder(tf.int32, [2, None]), v1.sparse_placeholder(tf.int32, [2, 3])
        value = v1.SparseTensorValue(np.array([[0, 1], [1, 0]]), np.int32([2, 5]), np.array([2, 3]))
        both = tf.sets.intersection(dense, fed)
        assert both.indices.shape.as_list() == [None, 2]
        found = session.run(both, {dense: FIRST, fed: value})
    assert found.values.tolist() == [2, 5]


# ---- gradients of segments


@pytest.mark.parametrize("name", ["segment_sum", "segment_mean", "segment_sqrt_n"])
def test_sparse_gradient_is_the_dense_one(name: str) -> None:
    data = tf.constant(np.arange(12, dtype=np.float32).reshape(4, 3))
    grads = []
    for sparse in (False, True):
        with tf.GradientTape() as tape:
            tape.watch(data)
            function = getattr(tf.sparse, name)
            found = function(data, [0, 2, 3, 0], [0, 0, 1, 3], sparse_gradient=sparse)
            total = tf.reduce_sum(tf.square(found))
        grads.append(tape.gradient(total, data))
    assert isinstance(grads[1], tf.IndexedSlices)
    assert grads[1].indices.numpy().tolist() == [0, 2, 3]
    np.testing.assert_allclose(tf.convert_to_tensor(grads[1]).numpy(), grads[0].numpy(), rtol=1e-6)


def test_lengths_are_no_tensors_of_a_graph() -> None:
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def count(size: Any) -> Any:
        return tf.sparse.bincount([1, 2], minlength=size)

    with pytest.raises(TypeError, match="minlength"):
        count(4)
    assert parts(tf.sparse.bincount([1], minlength=tf.constant(4)))[2] == [4]


@pytest.mark.parametrize(("limits", "size"), [({"minlength": True}, 3), ({"maxlength": True}, 1)])
def test_bools_are_lengths(limits, size):
    assert tf.sparse.bincount([1, 1, 2], **limits).shape == [size]
