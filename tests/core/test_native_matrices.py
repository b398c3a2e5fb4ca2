"""Equations, LU decompositions, Cholesky and QR factors of stacks, native and in NumPy."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_matrices
from penstock.ops import linalg_host

TYPES = (np.float32, np.float64, np.complex64, np.complex128)


@pytest.fixture(params=["native", "numpy"], autouse=True)
def either(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    elif not native_matrices.LIBRARY.is_in_use():
        pytest.skip("the native libraries are not built")


def drawn(dtype, *shape):
    rng = np.random.default_rng(3)
    real = rng.standard_normal(shape)
    return (real + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else real).astype(
        dtype
    )


def well(dtype, *stack, n):
    """Matrices whose both triangles have small condition numbers."""
    return drawn(dtype, *stack, n, n) / n + 2 * np.eye(n, dtype=dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [0, 1, 7, 33, 300])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_solutions_satisfy_the_equations(dtype, n, lower, adjoint):
    a, b = well(dtype, 2, n=n), drawn(dtype, 2, n, 5)
    x = linalg_host.substitute(a, b, lower, adjoint)
    triangle = np.tril(a) if lower else np.triu(a)
    triangle = np.conj(np.swapaxes(triangle, -1, -2)) if adjoint else triangle
    assert x.dtype == dtype
    np.testing.assert_allclose(triangle @ x, b, atol=200 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    ("of_a", "of_b"), [((3,), (1,)), ((1,), (3,)), ((2, 1), (1, 3)), ((), (2,))]
)
def test_stacks_broadcast(of_a, of_b):
    a, b = well(np.float64, *of_a, n=4), drawn(np.float64, *of_b, 4, 2)
    x = linalg_host.substitute(a, b, True)
    assert x.shape == (*np.broadcast_shapes(of_a, of_b), 4, 2)
    np.testing.assert_allclose(np.tril(a) @ x, np.broadcast_to(b, x.shape), atol=1e-14)


def test_arrays_that_are_not_dense_are_read_as_they_are():
    a, b = well(np.float32, 3, n=6), drawn(np.float32, 3, 6, 4)
    want = linalg_host.substitute(a, b, True)
    turned = np.asfortranarray(a)
    np.testing.assert_array_equal(
        linalg_host.substitute(turned, b[:, :, ::-1], True), want[:, :, ::-1]
    )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [0, 1, 2, 40, 300])
def test_factors_make_up_the_rows_in_their_order(dtype, n):
    a = drawn(dtype, 2, n, n)
    lu, order = linalg_host.lu_decomposed(a)
    below = np.tril(lu, -1)
    product = (below + np.eye(n)) @ np.triu(lu)
    rows = np.take_along_axis(a, order[..., None], axis=-2)
    np.testing.assert_allclose(product, rows, atol=500 * np.finfo(dtype).eps)
    assert np.abs(below).max(initial=0) <= 1 + 8 * np.finfo(dtype).eps


def test_gradients_of_factors_agree_with_differences():
    a = tf.constant(well(np.float64, 2, n=3))
    flow = tf.constant(drawn(np.float64, 2, 3, 3))

    def loss(x):
        return tf.reduce_sum(flow * tf.linalg.triangular_solve(x, flow, adjoint=True))

    (by_theory,), (by_differences,) = tf.test.compute_gradient(loss, [a])
    np.testing.assert_allclose(by_theory, by_differences, atol=1e-6)


def test_a_singular_matrix_is_refused():
    for n in (3, 300):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
            tf.linalg.lu(tf.zeros([n, n]))


def test_zeros_on_the_diagonal_give_infinities():
    assert np.isinf(tf.linalg.triangular_solve([[0.0]], [[1.0]]).numpy()).all()


def test_the_gradient_operation_agrees_with_the_composition():
    spd = well(np.float64, 2, n=5)
    spd = spd @ np.swapaxes(spd, -1, -2)
    with tf.GradientTape() as tape:
        x = tf.constant(spd)
        tape.watch(x)
        factor = tf.linalg.cholesky(x)
    flow = drawn(np.float64, 2, 5, 5)
    want = tape.gradient(factor, x, output_gradients=tf.constant(flow))
    made = tf.raw_ops.CholeskyGrad(l=factor, grad=flow)
    np.testing.assert_allclose(made, want, atol=1e-13)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("pivoting", [True, False])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_tridiagonal_equations_hold(dtype, pivoting, n):
    diagonals, b = drawn(dtype, 3, 3, n), drawn(dtype, 3, n, 4)
    if not pivoting:
        diagonals[:, 1] += 9
    x = tf.raw_ops.TridiagonalSolve(diagonals=diagonals, rhs=b, partial_pivoting=pivoting).numpy()
    high, main, low = (diagonals[:, i, :, None] for i in range(3))
    product = main * x
    product[:, :-1] += high[:, :-1] * x[:, 1:]
    product[:, 1:] += low[:, 1:] * x[:, :-1]
    np.testing.assert_allclose(product, b, atol=200 * np.finfo(dtype).eps * np.abs(x).max())


def test_tridiagonal_equations_without_rows_have_no_solution():
    empty = tf.raw_ops.TridiagonalSolve(diagonals=np.zeros((2, 3, 0)), rhs=np.zeros((2, 0, 5)))
    assert empty.shape == (2, 0, 5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stacks", [((), ()), ((2,), (2,)), ((3, 1), (2,))])
def test_banded_equations_have_the_bits_of_rows_one_by_one(dtype, stacks):
    draw = np.random.default_rng(5)
    for n, diagonals, k in [(1, 1, 1), (6, 3, 4), (5, 7, 2), (0, 2, 3), (4, 2, 0)]:
        bands = (draw.standard_normal((*stacks[0], n, diagonals)) + 3).astype(dtype)
        b = draw.standard_normal((*stacks[1], n, k)).astype(dtype)
        lead = np.broadcast_shapes(*stacks)
        wanted = np.empty((*lead, n, k), dtype)
        for i in range(n):
            row = b[..., i, :]
            for j in range(1, min(i + 1, diagonals)):
                row = row - bands[..., i, j, None] * wanted[..., i - j, :]
            wanted[..., i, :] = row / bands[..., i, 0, None]
        found = native_matrices.banded(bands, b)
        if native_matrices.LIBRARY.is_in_use():
            np.testing.assert_array_equal(found, wanted)
        else:
            assert found is None


# ---- equations and Cholesky factors


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [0, 1, 7, 48, 49])
def test_equations_of_stacks(dtype, n):
    a, b = well(dtype, 2, n=n), drawn(dtype, 2, n, 3)
    kept = a.copy()
    x = linalg_host.solved(a, b)
    assert x.dtype == dtype
    np.testing.assert_allclose(a @ x, b, atol=200 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(a, kept)


def test_equations_without_a_solution():
    a = np.stack([np.eye(2), np.ones((2, 2))])
    with pytest.raises(np.linalg.LinAlgError):
        linalg_host.solved(a, np.ones((2, 2, 1)))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [0, 1, 7, 48, 49])
def test_cholesky_factors_of_what_the_lower_triangle_says(dtype, n):
    a = well(dtype, 2, n=n)
    a = a @ a.swapaxes(-1, -2).conj()
    factor = tf.linalg.cholesky(np.tril(a)).numpy()
    assert factor.dtype == dtype
    np.testing.assert_array_equal(factor, np.tril(factor))
    np.testing.assert_allclose(
        factor @ factor.swapaxes(-1, -2).conj(), a, atol=200 * np.finfo(dtype).eps
    )


def test_what_is_not_positive_definite_is_nan_and_spoils_nothing_else():
    a = np.stack([np.eye(3), np.diag([1.0, -1.0, 1.0]), np.zeros((3, 3))])
    factor = tf.linalg.cholesky(a).numpy()
    np.testing.assert_array_equal(factor[0], np.eye(3))
    assert np.isnan(factor[1:]).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 5, 48, 49])
def test_gradients_of_cholesky_factors(dtype, n):
    rng = np.random.default_rng(8)
    lower = np.tril(rng.standard_normal((2, n, n)) / max(n, 1)) + 2 * np.eye(n)
    grad = rng.standard_normal((2, n, n))
    inverse = np.linalg.inv(lower)
    half = np.tril(lower.swapaxes(-1, -2) @ np.tril(grad)) * (1 - 0.5 * np.eye(n))
    made = inverse.swapaxes(-1, -2) @ half @ inverse
    wanted = (made + made.swapaxes(-1, -2)) / 2
    got = tf.raw_ops.CholeskyGrad(l=lower.astype(dtype), grad=grad.astype(dtype)).numpy()
    assert got.dtype == dtype
    np.testing.assert_allclose(got, wanted, atol=400 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("sides", [(1, 1), (7, 7), (48, 20), (6, 48), (49, 5), (0, 3), (3, 0)])
@pytest.mark.parametrize("full", [True, False])
def test_orthonormal_factors_have_the_signs_of_lapack(dtype, sides, full):
    a = drawn(dtype, 2, *sides)
    a[0, :, :1] = 0  # nothing to reflect
    q, r = tf.linalg.qr(a, full_matrices=full)
    wanted = np.linalg.qr(a, mode="complete" if full else "reduced")
    near = {"atol": 400 * np.finfo(dtype).eps}
    assert q.dtype == r.dtype == dtype
    assert [q.shape, r.shape] == [w.shape for w in wanted]
    np.testing.assert_allclose(q.numpy() @ r.numpy(), a, **near)
    np.testing.assert_allclose(q.numpy()[1], wanted[0][1], **near)
    np.testing.assert_allclose(r.numpy()[1], wanted[1][1], **near)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_orthonormal_factors_of_numbers_whose_squares_leave_the_range(scale):
    a = drawn(np.float64, 5, 4)
    q, r = tf.linalg.qr(a * scale)
    wanted = np.linalg.qr(a)
    np.testing.assert_allclose(q.numpy(), wanted[0], atol=1e-14)
    np.testing.assert_allclose(r.numpy() / scale, wanted[1], atol=1e-14)


def test_orthonormal_factors_with_nan():
    a = np.eye(3)
    a[2, 0] = np.nan
    q, r = tf.linalg.qr(a)
    assert np.isnan(q.numpy()).any()
    assert np.isnan(r.numpy()).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", ["tiny", "smallest_subnormal", "max"])
def test_factors_of_numbers_near_the_ends_of_their_range(dtype, scale):
    size = float(getattr(np.finfo(dtype), scale)) * (4 if scale != "max" else 0.2)
    a = np.array([[1, 2], [3, 1]], dtype) * np.array(size, dtype)
    q, r = tf.linalg.qr(a)
    np.testing.assert_allclose(q.numpy().T @ q.numpy(), np.eye(2), atol=1e-6)
    assert np.isfinite(r.numpy()).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_of_factors_with_zeros_on_the_diagonal(dtype):
    """Infinite where each step of the factorization divides by them, as in TensorFlow."""
    inf, nan = np.inf, np.nan
    cases = [
        ([[0, 0], [1, 2]], [[1, 0], [1, 1]], [[-inf, inf], [inf, 0.25]]),
        ([[0]], [[1]], [[nan]]),
        ([[2, 0], [1, 0]], [[1, 0], [1, 1]], [[nan, nan], [nan, nan]]),
        (
            [[2, 0, 0], [1, 0, 0], [1, 1, 1]],
            [[1, 0, 0], [1, 1, 0], [1, 2, 3]],
            [[nan, nan, inf], [nan, inf, -inf], [inf, -inf, 1.5]],
        ),
    ]
    for factor, grad, want in cases:
        factor, grad = (np.array([x], dtype) for x in (factor, grad))
        found = tf.raw_ops.CholeskyGrad(l=factor, grad=grad)
        np.testing.assert_array_equal(found, [want])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_zeros_of_complex_factors_have_their_signs(dtype):
    a = np.array([[2, 1j], [complex(-0.0, -1), complex(3, -0.0)]], dtype)
    found = tf.linalg.cholesky(a).numpy()
    assert not np.signbit(found.diagonal().imag).any()
    assert np.signbit(found[1, 0].real)
