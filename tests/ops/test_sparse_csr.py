"""Sparse matrices in rows: parts, factors, gradients of complex ones, and what graphs know."""

import itertools
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors

raw = tf.raw_ops
A = np.array([[0, 2, 0], [3, 0, 4]], np.float32)
S = np.array([[4, 0, 1, 0], [0, 5, 0, 2], [1, 0, 6, 1], [0, 2, 1, 7]], np.float64)
TURNS = ({}, {"transpose": True}, {"adjoint": True})


def matrix(x: Any) -> tf.Tensor:
    """The sparse matrix of what is not 0."""
    x = np.asarray(x)
    return raw.DenseToCSRSparseMatrix(dense_input=x, indices=np.argwhere(x))


def dense(a: tf.Tensor, dtype: Any = tf.float64) -> Any:
    return raw.CSRSparseMatrixToDense(sparse_input=a, type=dtype).numpy()


def parts(a: tf.Tensor, index: int, dtype: Any = tf.float32) -> list[Any]:
    found = raw.CSRSparseMatrixComponents(csr_sparse_matrix=a, index=index, type=dtype)
    return [x.numpy().tolist() for x in found]


def positive(size: int, dtype: Any, seed: int, filled: float = 0.2) -> Any:
    """A positive definite matrix with few entries."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(size, size)) * (rng.random((size, size)) < filled)
    if np.dtype(dtype).kind == "c":
        half = half + 1j * rng.normal(size=half.shape) * (half != 0)
    return (half @ half.conj().T + np.eye(size)).astype(dtype)


def test_parts_and_counts() -> None:
    """CSRSparseMatrixComponents and SparseMatrixNNZ, of one and of a batch; a stored 0 counts."""
    one, batch = matrix(A), matrix(np.stack([A, 2 * A, np.eye(2, 3, dtype=np.float32)]))
    assert parts(one, 0) == [[0, 1, 3], [1, 0, 2], [2, 3, 4]]
    assert parts(batch, 1) == [[0, 1, 3], [1, 0, 2], [4, 6, 8]]
    assert parts(batch, 2) == [[0, 1, 2], [0, 1], [1, 1]]
    assert raw.SparseMatrixNNZ(sparse_matrix=one).numpy() == 3
    assert raw.SparseMatrixNNZ(sparse_matrix=batch).numpy().tolist() == [3, 3, 2]
    kept = raw.DenseToCSRSparseMatrix(dense_input=A, indices=[[0, 0], [0, 1]])
    assert raw.SparseMatrixNNZ(sparse_matrix=kept).numpy() == 2
    none = raw.SparseMatrixZeros(dense_shape=[2, 0, 3], type=tf.float32)
    assert raw.SparseMatrixNNZ(sparse_matrix=none).numpy().tolist() == [0, 0]
    assert parts(none, 1) == [[0], [], []]
    for index in (-1, 3):
        with pytest.raises(errors.InvalidArgumentError, match=rf"\({index}\) not in \[0, 3\)"):
            parts(batch, index)


def test_zeros() -> None:
    """SparseMatrixZeros, and CSRSparseMatrixToDense of it."""
    for shape in ([2, 3], [3, 2, 1], [0, 3]):
        found = raw.SparseMatrixZeros(dense_shape=shape, type=tf.complex64)
        np.testing.assert_array_equal(dense(found, tf.complex64), np.zeros(shape, np.complex64))
    with pytest.raises(errors.InvalidArgumentError, match="a matrix of rank 2 or 3, got rank 1"):
        raw.SparseMatrixZeros(dense_shape=[2], type=tf.float32)


def test_what_a_variant_must_hold() -> None:
    """Another kind of variant, a vector of variants, and another dtype are refused."""
    with pytest.raises(errors.InvalidArgumentError, match="expected a variant that SparseTensorTo"):
        raw.SparseMatrixNNZ(sparse_matrix=raw.EmptyTensorMap())
    with pytest.raises(errors.InvalidArgumentError, match="sparse_matrix of rank 0"):
        raw.SparseMatrixNNZ(sparse_matrix=tf.stack([matrix(A), matrix(A)]))
    with pytest.raises(errors.InvalidArgumentError, match="of type float64 but saw dtype: float32"):
        dense(matrix(A))


def test_places_do_not_depend_on_values() -> None:
    """What cancels in a product, a sum or a factor is stored as 0."""
    row, column = matrix([[1.0, 1.0]]), matrix([[1.0], [-1.0]])
    product = raw.SparseMatrixSparseMatMul(a=row, b=column, type=tf.float64)
    assert parts(product, 0, tf.float64) == [[0, 1], [0], [0]]
    total = raw.SparseMatrixAdd(a=row, b=row, alpha=np.float64(1), beta=np.float64(-1))
    assert parts(total, 0, tf.float64) == [[0, 2], [0, 1], [0, 0]]
    cancelling = matrix([[1, 0.5, 0.5], [0.5, 1, 0.25], [0.5, 0.25, 1]])
    factor = raw.SparseMatrixSparseCholesky(
        input=cancelling, permutation=[0, 1, 2], type=tf.float64
    )
    assert raw.SparseMatrixNNZ(sparse_matrix=factor).numpy() == 6


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_cholesky(dtype: str) -> None:
    """The factor of a reordered matrix is NumPy's, for any order and for batches."""
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-10
    batch = np.stack([positive(12, dtype, seed) for seed in range(3)])
    a = matrix(batch)
    orders = np.stack([np.random.default_rng(i).permutation(12) for i in range(3)])
    factor = raw.SparseMatrixSparseCholesky(input=a, permutation=orders, type=dtype)
    for x, p, found in zip(batch, orders, dense(factor, dtype), strict=True):
        expected = np.linalg.cholesky(x[p][:, p])
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        assert parts(factor, 0, dtype)[0][0] == 0


def test_cholesky_reads_the_lower_half() -> None:
    """What is above the diagonal counts for nothing, whatever the order."""
    for p in itertools.permutations(range(4)):
        found = [
            dense(raw.SparseMatrixSparseCholesky(input=matrix(x), permutation=p, type=tf.float64))
            for x in (S, np.tril(S), np.tril(S) + 9 * np.triu(S, 1))
        ]
        np.testing.assert_allclose(found[0] @ found[0].T, S[np.ix_(p, p)], atol=1e-12)
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize(
    ("x", "order", "match"),
    [
        (-S, [0, 1, 2, 3], "failed for batch index 0.*not positive definite"),
        (np.stack([S, S * 0 + np.diag([1, 0, 1, 1])]), [[0, 1, 2, 3]] * 2, "batch index 1.*not"),
        (S, [0, 1, 2, 7], "batch index 0.*a number twice, or one too large"),
        (S, [0, 1, 1, 2], "a number twice"),
        (S, [0, 1, 2], "same number of elements .* 3 != 4"),
        (S, [[0, 1, 2, 3]], r"same rank as permutation; got: 2 != 2 \+ 1"),
        (np.stack([S, S]), [[0, 1, 2, 3]], "a permutation for each|expected 2 permutations"),
        (S[:2], [0, 1], "must be square; got: 2 != 4"),
    ],
)  # fmt: skip
def test_cholesky_refuses(x: Any, order: Any, match: str) -> None:
    """Matrices that are not positive definite, and orders that are none."""
    with pytest.raises(errors.InvalidArgumentError, match=match):
        raw.SparseMatrixSparseCholesky(input=matrix(x), permutation=order, type=tf.float64)


def test_order_fills_in_little() -> None:
    """SparseMatrixOrderingAMD of an arrow puts its head last; each member has its own order."""
    arrow = np.eye(30) * 40
    arrow[0, :] += 1
    arrow[:, 0] += 1
    order = raw.SparseMatrixOrderingAMD(input=matrix(np.stack([arrow, arrow[::-1, ::-1]]))).numpy()
    assert order.dtype == np.int32
    assert [sorted(p) for p in order] == [list(range(30))] * 2
    for x, p in zip((arrow, arrow[::-1, ::-1]), order, strict=True):
        factor = raw.SparseMatrixSparseCholesky(input=matrix(x), permutation=p, type=tf.float64)
        assert raw.SparseMatrixNNZ(sparse_matrix=factor).numpy() == 59
    none = raw.SparseMatrixZeros(dense_shape=[0, 0], type=tf.float32)
    assert raw.SparseMatrixOrderingAMD(input=none).shape == [0]
    with pytest.raises(errors.InvalidArgumentError, match="must be square; got: 2 != 3"):
        raw.SparseMatrixOrderingAMD(input=matrix(A))


def test_softmax_gradient() -> None:
    """SparseMatrixSoftmaxGrad takes a gradient with other places: what is missing is 0."""
    result = raw.SparseMatrixSoftmax(logits=matrix(A), type=tf.float32)
    one = raw.DenseToCSRSparseMatrix(dense_input=np.ones_like(A), indices=[[1, 1], [1, 2]])
    found = raw.SparseMatrixSoftmaxGrad(softmax=result, grad_softmax=one, type=tf.float32)
    s = dense(result, tf.float32)[1, 2]
    np.testing.assert_allclose(
        dense(found, tf.float32), [[0, 0, 0], [-s * (1 - s), 0, s * (1 - s)]], rtol=1e-6
    )


def test_arithmetic_of_variants() -> None:
    """`zeros_like` and `add_n`; PenstockSparseMatrixAt keeps the places it is given."""
    other = np.array([[1, 5, 0], [0, 0, 0]], np.float32)
    total = tf.add_n([matrix(A), matrix(other), matrix(A)])
    np.testing.assert_array_equal(dense(total, tf.float32), 2 * A + other)
    np.testing.assert_array_equal(dense(tf.zeros_like(matrix(A)), tf.float32), 0 * A)
    at = tf.library.execute(
        "PenstockSparseMatrixAt", (matrix(A), matrix(other)), {"type": tf.float32}
    )
    assert parts(at, 0) == [[0, 2, 2], [0, 1], [0, 2]]
    with pytest.raises(errors.InvalidArgumentError, match="of one shape and dtype"):
        tf.add_n([matrix(A), matrix(A.T)])


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize(("a", "b"), list(itertools.product(TURNS, TURNS)))
def test_gradients_of_complex_products(a: Any, b: Any, batch: Any) -> None:
    """Gradients of both products are those of the dense product, at the places there are."""
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)

    x, y = (
        drawn(*batch, *((2, 3) if not a else (3, 2))),
        drawn(*batch, *((3, 4) if not b else (4, 3))),
    )
    x[..., 0, 1] = y[..., 1, 0] = 0
    attrs = {f"{k}_a": v for k, v in a.items()} | {f"{k}_b": v for k, v in b.items()}
    weights = drawn(*batch, 2, 4)
    left, right = tf.constant(x), tf.constant(y)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([left, right])
        expected = tf.matmul(left, right, **attrs)
        sparse = [
            raw.DenseToCSRSparseMatrix(dense_input=v, indices=np.argwhere(v.numpy()))
            for v in (left, right)
        ]
        product = raw.SparseMatrixSparseMatMul(a=sparse[0], b=sparse[1], type=x.dtype, **attrs)
        mixed = raw.SparseMatrixMatMul(
            a=sparse[0], b=right, transpose_output=True, conjugate_output=True, **attrs
        )
        mixed = tf.linalg.adjoint(mixed)
        whole = raw.CSRSparseMatrixToDense(sparse_input=product, type=x.dtype)
        losses = [tf.reduce_sum(v * weights) for v in (expected, whole, mixed)]
    np.testing.assert_allclose(whole, expected)
    np.testing.assert_allclose(mixed, expected)
    by_left, by_right = tape.gradient(losses[0], [left, right])
    for i, filter_right in ((1, y != 0), (2, np.ones_like(y, bool))):
        found = tape.gradient(losses[i], [left, right])
        np.testing.assert_allclose(found[0], by_left * (x != 0), atol=1e-12)
        np.testing.assert_allclose(found[1], by_right * filter_right, atol=1e-12)


def test_shapes_in_graphs() -> None:
    """A graph knows what shape the matrix in a variant has, and refuses what cannot be."""

    @tf.function
    def run(x: Any) -> Any:
        a = raw.DenseToCSRSparseMatrix(dense_input=x, indices=[[0, 1], [1, 0]])
        turned = raw.SparseMatrixTranspose(input=tf.identity(a), type=tf.float32)
        assert raw.CSRSparseMatrixToDense(sparse_input=turned, type=tf.float32).shape == [3, 2]
        assert raw.SparseMatrixMatMul(a=a, b=tf.zeros([3, 5])).shape == [2, 5]
        found = raw.SparseMatrixSparseMatMul(a=a, b=turned, type=tf.float32)
        assert raw.SparseMatrixOrderingAMD(input=found).shape == [2]
        assert raw.CSRSparseMatrixToSparseTensor(sparse_matrix=a, type=tf.float32)[2].shape == [2]
        assert [
            p.shape.as_list()
            for p in raw.CSRSparseMatrixComponents(csr_sparse_matrix=a, index=0, type=tf.float32)
        ] == [[3], [None], [None]]
        with pytest.raises(ValueError, match="inner dimensions that agree"):
            raw.SparseMatrixMatMul(a=a, b=tf.zeros([2, 5]))
        with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal"):
            raw.SparseMatrixAdd(a=a, b=turned, alpha=1.0, beta=1.0)
        with pytest.raises(ValueError, match="b that broadcasts to a's shape"):
            raw.SparseMatrixMul(a=a, b=tf.zeros([2]))
        with pytest.raises(ValueError, match="a square matrix"):
            raw.SparseMatrixOrderingAMD(input=a)
        with pytest.raises(ValueError, match="a permutation for each matrix"):
            raw.SparseMatrixSparseCholesky(input=found, permutation=[0, 1, 2], type=tf.float32)
        return raw.CSRSparseMatrixToDense(sparse_input=found, type=tf.float32)

    np.testing.assert_array_equal(run(tf.constant(A)), [[4, 0], [0, 9]])


def test_dense_forms_of_a_batch() -> None:
    x = np.array(
        [[[0, 1, 0], [2, 0, 3]], [[0, 0, 0], [4, 0, 0]], [[5, 6, 7], [0, 8, 0]]], np.float32
    )
    batch = matrix(x)
    assert np.array_equal(dense(batch, tf.float32), x)
    indices, values, shape = raw.CSRSparseMatrixToSparseTensor(sparse_matrix=batch, type=tf.float32)
    assert np.array_equal(indices, np.argwhere(x))
    assert np.array_equal(values, x[x != 0])
    assert shape.numpy().tolist() == [3, 2, 3]
    assert parts(batch, 2) == [[0, 3, 4], [0, 1, 2, 1], [5, 6, 7, 8]]
