"""Linear algebra where a table of references cannot reach: failing matrices, defective ones, names.

Failing matrices must give the same on the host and compiled.
"""

from typing import Any

import numpy as np
import pytest
from tests.ops.harness import run_compiled_like

import penstock as tf
from penstock.core.op_def import lookup

L = tf.linalg
NAN = np.nan
SINGULAR = np.float32([[1, 2], [2, 4]])


def both(name: str, value: Any, **attrs: Any) -> list[Any]:
    """The first output of an operation on the host and compiled."""
    op = lookup(name)
    full = {n: a.default for n, a in op.attrs.items() if n not in ("T", "Tout")}
    tensors = [tf.constant(v) for v in (value if isinstance(value, tuple) else (value,))]
    given = {**full, "T": tensors[0].dtype, **attrs}
    host = getattr(tf.raw_ops, name)(
        **dict(zip((i.name for i in op.inputs), tensors, strict=True)), **attrs
    )
    first = host[0] if isinstance(host, tuple) else host
    return [first.numpy(), run_compiled_like(op, tensors, given)[0]]


def test_a_matrix_that_is_not_positive_definite_spoils_only_itself() -> None:
    stack = np.stack([np.eye(2), -np.eye(2), 4 * np.eye(2)]).astype(np.float32)
    for got in both("Cholesky", stack):
        np.testing.assert_array_equal(got[0], np.eye(2))
        np.testing.assert_array_equal(got[2], 2 * np.eye(2))
        assert np.isnan(np.diag(got[1])).all()


def test_vectors_of_matrices_with_nan_are_nan() -> None:
    stack = np.stack([[[NAN, 1], [1, 2]], 3 * np.eye(2)]).astype(np.float32)
    for name in ("Svd", "SelfAdjointEigV2"):
        for got in both(name, stack):
            assert np.isnan(got[0]).all(), name
            np.testing.assert_allclose(got[1], [3, 3], rtol=1e-6, err_msg=name)
    assert np.isnan(L.eigvals(stack).numpy()).any()


@pytest.mark.parametrize("name", ["MatrixInverse", "MatrixSolve", "Lu"])
def test_singular_matrices_fail_a_compiled_step(name: str) -> None:
    call = {"MatrixInverse": L.inv, "MatrixSolve": lambda x: L.solve(x, x), "Lu": L.lu}[name]
    compiled = tf.function(call, jit_compile=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible: expected a matrix"):
        compiled(tf.constant(SINGULAR))
    compiled(tf.constant(np.eye(2, dtype=np.float32)))


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("size", [1, 3, 20])
def test_nan_as_the_first_element_is_no_pivot(dtype: Any, size: int) -> None:
    """TensorFlow 2.21 refuses it there alone; elsewhere NaN spreads."""
    matrix = np.eye(size, dtype=dtype)
    matrix[0, 0] = np.nan
    calls = tf.linalg.inv, tf.linalg.lu, lambda x: tf.linalg.solve(x, tf.ones_like(x), adjoint=True)
    for call in calls:
        for compiled in (False, True):
            run = tf.function(call, jit_compile=True) if compiled else call
            with pytest.raises(tf.errors.InvalidArgumentError, match="NaN as the first element"):
                run(tf.constant(matrix))
    sign, logarithm = tf.linalg.slogdet(matrix)
    assert np.isnan(sign)
    assert np.isnan(logarithm)
    if size > 1:
        assert np.isnan(tf.linalg.inv(np.roll(matrix, -1, (0, 1)))[-1, -1])


def test_triangular_equations_with_a_zero_on_the_diagonal_are_infinite() -> None:
    matrix, ones = np.float32([[0, 0], [1, 1]]), np.ones((2, 1), np.float32)
    for got in both("MatrixTriangularSolve", (matrix, ones)):
        np.testing.assert_array_equal(got, np.float32([[np.inf], [-np.inf]]))


def test_singular_determinants() -> None:
    assert L.det(SINGULAR).numpy() == 0
    sign, logarithm = L.slogdet(SINGULAR)
    assert (sign.numpy(), logarithm.numpy()) == (0, -np.inf)
    assert np.isnan(L.logdet(np.float32([[1, 0], [0, -2]])).numpy())


def test_least_squares_of_deficient_matrices() -> None:
    a, b = np.float32([[1, 2], [2, 4], [3, 6]]), np.float32([[1], [2], [3]])
    for got in both("MatrixSolveLs", (a, b, np.float64(0)), fast=False):
        np.testing.assert_allclose(got, [[0.2], [0.4]], rtol=1e-5)
    np.testing.assert_allclose(L.lstsq(a, b, fast=False).numpy(), [[0.2], [0.4]], rtol=1e-5)


@pytest.mark.parametrize("rows", [20, 31])
def test_least_squares_whose_determinant_underflows(rows: int) -> None:
    rng = np.random.default_rng(4)
    a = (rng.normal(size=(rows, 31)) * 1e-2).astype(np.float32)
    b = rng.normal(size=(rows, 2)).astype(np.float32)
    wide = a.astype(np.float64)
    gram = wide.T @ wide + 1e-4 * np.eye(31)
    wanted = np.linalg.solve(gram, wide.T @ b)
    for got in both("MatrixSolveLs", (a, b, np.float64(1e-4)), fast=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-2, atol=1e-2)


def test_least_squares_let_nan_through() -> None:
    a, b = np.float32([[np.nan, 2], [2, 3]]), np.float32([[1], [2]])
    raw = tf.raw_ops.MatrixSolveLs
    assert np.isnan(raw(matrix=a, rhs=b, l2_regularizer=0.1).numpy()).all()
    with pytest.raises(tf.errors.InvalidArgumentError, match="deficient"):
        raw(matrix=np.ones((2, 2), np.float32), rhs=b, l2_regularizer=0.0)


def test_functions_of_self_adjoint_matrices() -> None:
    rng = np.random.default_rng(9)
    root = rng.normal(size=(2, 7, 7)) + 1j * rng.normal(size=(2, 7, 7))
    a = root @ root.conj().swapaxes(-1, -2) + np.eye(7)
    half = L.sqrtm(a).numpy()
    np.testing.assert_allclose(half @ half, a, atol=1e-11)
    np.testing.assert_allclose(L.expm(L.logm(a)).numpy(), a, atol=1e-10)
    np.testing.assert_allclose(
        L.sqrtm(a.real).numpy() @ L.sqrtm(a.real).numpy(), a.real, atol=1e-11
    )
    mixed = np.stack([a[0].real, np.triu(a[0].real), np.diag(np.arange(7.0))])  # one singular
    half = L.sqrtm(mixed).numpy()
    np.testing.assert_allclose(half @ half, mixed, atol=1e-10)
    assert np.isnan(L.logm(np.ones((3, 3), np.complex64)).numpy()).all()
    assert np.isnan(L.sqrtm(np.diag([np.inf, 1.0])).numpy()).all()


def test_pseudo_inverse_and_rank_leave_small_values_out() -> None:
    np.testing.assert_allclose(L.pinv(SINGULAR).numpy(), SINGULAR / 25, rtol=1e-5)
    assert L.matrix_rank(SINGULAR).numpy() == 1
    values = np.diag([4.0, 2.0, 1.0])
    np.testing.assert_allclose(L.pinv(values, rcond=0.4).numpy(), np.diag([0.25, 0.5, 0]))
    assert [L.matrix_rank(values, tol=t).numpy() for t in (0.9, 1.0, 3.9)] == [3, 2, 1]
    stack = np.stack([values, values])
    got = L.pinv(stack, rcond=[0.4, 0.6]).numpy()
    np.testing.assert_allclose(got, [np.diag([0.25, 0.5, 0]), np.diag([0.25, 0, 0])])


def test_roots_and_logarithms_of_defective_matrices() -> None:
    matrix = np.array([[2.0, 1.0, 0], [0, 2.0, 1.0], [0, 0, 2.0]])
    root = L.sqrtm(matrix).numpy()
    np.testing.assert_allclose(root @ root, matrix, atol=1e-9)
    logarithm = L.logm(matrix.astype(np.complex128))
    np.testing.assert_allclose(L.expm(logarithm).numpy(), matrix, atol=1e-9)
    assert np.isnan(L.sqrtm(np.diag([-1.0, 1.0])).numpy()).all()
    imaginary = L.sqrtm(np.diag([-1.0, 1.0]).astype(np.complex128)).numpy()
    np.testing.assert_allclose(imaginary, np.diag([1j, 1]), atol=1e-12)


def test_exponentials_of_large_matrices() -> None:
    turn = 100 * np.array([[0.0, 1.0], [-1.0, 0.0]])
    wanted = [[np.cos(100), np.sin(100)], [-np.sin(100), np.cos(100)]]
    for got in both("MatrixExponential", np.stack([turn, 0 * turn])):
        np.testing.assert_allclose(got, [wanted, np.eye(2)], atol=1e-11)
    assert np.isnan(L.expm(np.full((2, 2), NAN)).numpy()).all()
    with pytest.raises(ValueError, match="does not support matrices of type"):
        L.expm([[1, 2], [3, 4]])


def test_gradients_that_do_not_exist_say_so() -> None:
    tall = tf.constant(np.ones((3, 2)))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(tall)
        q, _ = L.qr(tall, full_matrices=True)
        _, u, _ = L.svd(tall, full_matrices=True)
    for result in (q, u):
        with pytest.raises(NotImplementedError, match="Pass full_matrices=False"):
            tape.gradient(result, tall)


def test_complex_results() -> None:
    matrix = np.array([[2, 1j], [-1j, 3]])
    e, _ = L.eigh(matrix)
    assert e.dtype is tf.complex128
    assert L.svd(matrix)[0].dtype is tf.float64
    assert L.logdet(matrix).dtype is tf.float64
    assert {t.dtype for t in L.eig(matrix.real)} == {tf.complex128}
    assert L.eigvals(np.float32([[0, 1], [-1, 0]])).dtype is tf.complex64


def test_names_of_results() -> None:
    matrix = np.eye(2)
    assert L.qr(matrix)._fields == ("q", "r")
    assert L.lu(matrix)._fields == ("lu", "p")
    assert L.lu(matrix, output_idx_type=tf.int64).p.dtype is tf.int64
    assert L.slogdet(matrix)._fields == ("sign", "log_abs_determinant")
    v1 = tf.compat.v1
    pairs = {
        "matrix_inverse": "inv", "matrix_solve_ls": "lstsq", "self_adjoint_eig": "eigh",
        "matrix_determinant": "det", "self_adjoint_eigvals": "eigvalsh", "qr": "qr", "svd": "svd",
        "matrix_triangular_solve": "triangular_solve", "cholesky_solve": "cholesky_solve",
    }  # fmt: skip
    for old, new in pairs.items():
        assert getattr(v1, old) is getattr(L, new) is getattr(v1.linalg, new)


def test_the_norm_of_a_matrix_by_its_largest_singular_value() -> None:
    matrix = np.float32([[3, 0, 0], [0, 4, 0]])
    assert L.norm(matrix, ord=2, axis=[0, 1]).numpy() == pytest.approx(4)
    assert L.norm(matrix, 2, (1, 0), keepdims=True).shape == (1, 1)
    stack = np.float32(np.random.default_rng(0).normal(size=(2, 3, 4)))
    for keep in (False, True):
        unknown = tf.function(
            lambda x, keep=keep: L.norm(x, 2, (-1, 0), keep), input_signature=[tf.TensorSpec(None)]
        )
        wanted = np.linalg.norm(stack, 2, (2, 0), keep)
        np.testing.assert_allclose(unknown(tf.constant(stack)), wanted, rtol=1e-5)


@pytest.mark.parametrize("axis", [[0], np.array([0, 1]), np.int64(0), "a", tf.constant(0), 0.5])
def test_axes_of_norms_are_integers_of_python(axis: Any) -> None:
    with pytest.raises(ValueError, match="'axis' must be None, an integer"):
        L.norm(np.eye(2), axis=axis)


@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_of_complex_numbers(keepdims: bool) -> None:
    """Sums of squares keep the dtype, as in TensorFlow; norms of magnitudes are real."""
    z = tf.constant([[3 + 4j, 1j]], tf.complex64)
    for ord, axis, expected, dtype in (
        ("euclidean", 1, np.sqrt(26), tf.complex64),
        (2, None, np.sqrt(26), tf.complex64),
        ("fro", [0, 1], np.sqrt(26), tf.complex64),
        (2, [0, 1], np.sqrt(26), tf.float32),
        (1, [0, 1], 5, tf.float32),
        (np.inf, None, 5, tf.float32),
        (3, 1, 126 ** (1 / 3), tf.float32),
    ):
        norm = L.norm(z, ord, axis, keepdims)
        assert norm.dtype is dtype
        np.testing.assert_allclose(norm.numpy().reshape(-1), [expected], 1e-5)


def test_lu_solve_checks_ranks() -> None:
    with pytest.raises(ValueError, match="`rhs` must have at least 2"):
        L.lu_solve(*L.lu(np.eye(2)), rhs=[1.0, 2.0], validate_args=True)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.complex128])
def test_lu_takes_a_nan_for_a_pivot_only_where_it_stands(dtype: tf.DType) -> None:
    below = tf.constant([[4, 2, 3], [np.nan, 2, 6], [2, 8, 4]], dtype)
    lu, order = tf.linalg.lu(below)
    assert order.numpy().tolist() == [0, 1, 2]
    np.testing.assert_array_equal(lu[0], [4, 2, 3])
    assert lu[2, 0] == 0.5
    assert np.isnan(lu[1:, 1:]).all()
    _, order = tf.linalg.lu(tf.constant([[1, 2, 3], [4, np.nan, 6], [7, 8, 10]], dtype))
    assert order.numpy().tolist() == [2, 1, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_equal_rows_are_singular(dtype):
    rng = np.random.default_rng(4)
    for size in range(2, 6):
        a = rng.standard_normal((size, size)).astype(dtype)
        if dtype.startswith("c"):
            a += 1j * rng.standard_normal((size, size)).astype(a.real.dtype)
        a[-1] = a[0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
            tf.linalg.inv(a)
