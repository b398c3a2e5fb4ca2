"""Tridiagonal and banded matrices: formats, right-hand sides, singular ones, eigenvalues."""

from typing import Any

import numpy as np
import pytest
from tests.ops.harness import run_compiled_like

import penstock as tf
from penstock.core import native_matrices
from penstock.core.op_def import lookup

L = tf.linalg
DIAGONALS = np.array([[1.0, 2, 9], [4, 5, 6], [9, 7, 8]])  # the nines are not read
MATRIX = np.array([[4.0, 1, 0], [7, 5, 2], [0, 8, 6]])
INVALID = tf.errors.InvalidArgumentError
FORMS = {
    "compact": DIAGONALS,
    "sequence": list(DIAGONALS),
    "short sequence": [DIAGONALS[0, :2], DIAGONALS[1], DIAGONALS[2, 1:]],
    "matrix": MATRIX + np.array([[0, 0, 3], [0, 0, 0], [3, 0, 0]]),  # the threes are not read
}


@pytest.mark.parametrize("form", FORMS)
def test_formats(form: str) -> None:
    rhs = np.array([[1.0, 2], [2, 3], [3, 4]])
    kind = form.split()[-1]
    solved = L.tridiagonal_solve(FORMS[form], rhs, diagonals_format=kind)
    np.testing.assert_allclose(solved, np.linalg.solve(MATRIX, rhs), atol=1e-12)
    if form != "short sequence":
        product = L.tridiagonal_matmul(FORMS[form], rhs, diagonals_format=kind)
        np.testing.assert_allclose(product, MATRIX @ rhs, atol=1e-12)


def test_right_hand_sides() -> None:
    rhs = np.array([1 + 2j, 2, 3j])
    complex_ = DIAGONALS.astype(complex)
    solve = L.tridiagonal_solve
    want = np.linalg.solve
    np.testing.assert_allclose(solve(complex_, rhs), want(MATRIX, rhs))
    np.testing.assert_allclose(solve(complex_, rhs, transpose_rhs=True), want(MATRIX, rhs))
    np.testing.assert_allclose(solve(complex_, rhs, conjugate_rhs=True), want(MATRIX, rhs.conj()))
    rows = np.stack([rhs, 2 * rhs])
    turned = solve(complex_, rows, transpose_rhs=True)
    np.testing.assert_allclose(turned, want(MATRIX, rows.T))
    turned = solve(complex_, rows, transpose_rhs=True, conjugate_rhs=True)
    np.testing.assert_allclose(turned, want(MATRIX, rows.conj().T))
    straight = solve(complex_, rows.T, conjugate_rhs=True)
    np.testing.assert_allclose(straight, want(MATRIX, rows.conj().T))
    stack = np.stack([complex_, 2 * complex_])
    np.testing.assert_allclose(solve(stack, rows), [want(MATRIX, r) for r in (rhs, rhs)])


@pytest.mark.parametrize("compiled", [False, True])
def test_singular_matrices(compiled: bool) -> None:
    def solve(diagonals: Any, rhs: Any, **options: bool) -> Any:
        attrs = {"partial_pivoting": True, "perturb_singular": False, **options}
        tensors = [tf.constant(diagonals, tf.float32), tf.constant(rhs, tf.float32)[:, None]]
        op = lookup("TridiagonalSolve")
        if compiled:
            return run_compiled_like(op, tensors, {**attrs, "T": tf.float32})[0][:, 0]
        found = tf.raw_ops.TridiagonalSolve(diagonals=tensors[0], rhs=tensors[1], **attrs)
        return found.numpy()[:, 0]

    zero_first = [[0, 0, 0], [0, 1, 1], [0, 0, 0]]
    zero_middle = [[0, 0, 0], [1, 0, 1], [0, 0, 0]]
    exchanged = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]  # has a solution only with exchanged rows
    rhs = [1, 2, 3]
    eps = np.finfo(np.float32).eps
    assert np.isnan(solve(zero_first, rhs)).all()
    assert np.isnan(solve(zero_first, rhs, partial_pivoting=False)).all()
    assert np.isnan(solve(exchanged, rhs, partial_pivoting=False)).all()
    np.testing.assert_allclose(solve(exchanged, rhs), [-1, 2, 1])
    np.testing.assert_allclose(solve(zero_first, rhs, perturb_singular=True), [1 / eps, 2, 3])
    np.testing.assert_allclose(solve(zero_middle, rhs, perturb_singular=True), [1, 2 / eps, 3])
    alone = [[0], [0], [0]]
    assert np.isnan(solve(alone, [3])).all()
    least = np.finfo(np.float32).tiny
    np.testing.assert_allclose(solve(alone, [3], perturb_singular=True), [1 / least])


REFUSED = [
    (lambda: L.tridiagonal_solve(DIAGONALS, np.ones(2)), "left-hand .* got 3 and 2"),
    (lambda: L.tridiagonal_solve(DIAGONALS[:2], np.ones(3)), "Expected 3 diagonals got 2"),
    (lambda: L.tridiagonal_solve(np.ones(3), np.ones(3)), "rank at least 2, got 1"),
    (lambda: L.tridiagonal_solve(DIAGONALS, np.ones((2, 3, 2))), "rank of rhs to be 1 or 2, got 3"),
    (lambda: L.tridiagonal_solve(DIAGONALS[None], np.ones((2, 3, 1))), "Batch shapes .* incompat"),
    (lambda: L.tridiagonal_solve(DIAGONALS, np.ones(3), "x"), "Unrecognized diagonals_format: x"),
    (lambda: L.tridiagonal_solve(np.ones((3, 4)), np.ones(3), "matrix"), "same, got 4 and 3"),
    (lambda: L.tridiagonal_solve(DIAGONALS, np.ones(3), "sequence"), "sequence of length 3"),
    (
        lambda: L.tridiagonal_solve([np.ones(1), np.ones(3), np.ones(3)], np.ones(3), "sequence"),
        "superdiagonal to be have length 3 or 2, got 1",
    ),
    (
        lambda: L.tridiagonal_solve(
            DIAGONALS, np.ones(3), perturb_singular=True, partial_pivoting=False
        ),
        "partial_pivoting must be True if perturb_singular is",
    ),
    (lambda: L.tridiagonal_matmul(DIAGONALS, np.ones((3, 1)), "x"), "Unrecognized"),
    (lambda: L.eigh_tridiagonal([1.0], tf.ones(0, tf.float64)), "must have the same type"),
    (lambda: L.eigh_tridiagonal([1, 2], [1]), "floating or complex diagonals, got int32"),
    (lambda: L.eigh_tridiagonal([1.0, 2], [1.0], select="q"), "value in .'a', 'i', 'v'"),
    (lambda: L.normalize([3.0, 4.0], ord="x"), "supported vector norm"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_refusals(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_refusals_of_other_classes() -> None:
    with pytest.raises(TypeError, match="expected select_range, two numbers"):
        L.eigh_tridiagonal([1.0, 2.0], [1.0], select="i")
    for select, bounds in (("i", [1, 0]), ("v", [2.0, 1.0])):
        with pytest.raises(INVALID, match="Got empty"):
            L.eigh_tridiagonal([1.0, 2.0], [1.0], select=select, select_range=bounds)
    with pytest.raises(INVALID, match="not in the list of allowed values"):
        L.tridiagonal_solve(DIAGONALS.astype(int), np.ones(3, int))


def test_unknown_sizes_in_a_function() -> None:
    @tf.function(input_signature=[tf.TensorSpec([3, None]), tf.TensorSpec([None, None])])
    def both(diagonals: Any, rhs: Any) -> Any:
        return L.tridiagonal_solve(diagonals, rhs), L.tridiagonal_matmul(diagonals, rhs)

    rhs = np.float32([[1, 2], [2, 3], [3, 4]])
    solved, product = both(DIAGONALS.astype(np.float32), rhs)
    np.testing.assert_allclose(solved, np.linalg.solve(MATRIX, rhs), rtol=1e-5)
    np.testing.assert_allclose(product, MATRIX @ rhs, rtol=1e-6)


def test_unknown_ranks_are_those_of_matrices() -> None:
    solve = tf.function(L.tridiagonal_solve, input_signature=[tf.TensorSpec(None, tf.float64)] * 2)
    rhs = np.array([[1.0, 2], [2, 3], [3, 4]])
    np.testing.assert_allclose(solve(DIAGONALS, rhs), np.linalg.solve(MATRIX, rhs))
    with pytest.raises(INVALID, match="rank"):
        solve(DIAGONALS, rhs[:, 0])
    with tf.Graph().as_default():
        solved = L.tridiagonal_solve(DIAGONALS, tf.compat.v1.placeholder(tf.float64, [None, 2]))
        assert solved.shape.as_list() == [None, 2]  # those of the right-hand side, as in TensorFlow


# ---- eigenvalues


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_eigenvalues_and_vectors(dtype: str) -> None:
    rng = np.random.default_rng(0)
    alpha, beta = rng.uniform(-1, 1, 5).astype(dtype), rng.uniform(-1, 1, 4).astype(dtype)
    if dtype.startswith("c"):
        beta = beta * np.exp(1j * np.arange(4)).astype(dtype)
    dense = np.diag(alpha) + np.diag(beta, 1) + np.diag(beta.conj(), -1)
    wanted = np.linalg.eigvalsh(dense)
    near = 1e-5 if dtype in ("float32", "complex64") else 1e-12
    values = L.eigh_tridiagonal(alpha, beta)
    assert not values.dtype.is_complex
    np.testing.assert_allclose(values, wanted, atol=near)
    values, vectors = L.eigh_tridiagonal(alpha, beta, eigvals_only=False)
    assert vectors.dtype == dtype
    turned = dense @ vectors.numpy()  # the superdiagonal is the one given, not its conjugate
    np.testing.assert_allclose(turned, vectors.numpy() * values.numpy(), atol=near)
    unit = vectors.numpy().conj().T @ vectors.numpy()
    np.testing.assert_allclose(unit, np.eye(5), atol=near)


def test_some_of_the_eigenvalues() -> None:
    alpha, beta = [1.0, 2.0, 3.0, 4.0], [0.5, 0.6, 0.7]
    every = L.eigh_tridiagonal(alpha, beta).numpy()
    by_index = L.eigh_tridiagonal(alpha, beta, select="i", select_range=[1, 2])
    np.testing.assert_array_equal(by_index, every[1:3])
    values, vectors = L.eigh_tridiagonal(
        alpha, beta, eigvals_only=False, select="v", select_range=[1.0, 3.0]
    )
    np.testing.assert_array_equal(values, every[1:3])
    assert vectors.shape == [4, 2]
    none = L.eigh_tridiagonal(alpha, beta, select="v", select_range=[50.0, 60.0])
    assert none.shape == [0]
    values, vectors = L.eigh_tridiagonal([2.0], [], eigvals_only=False)
    assert (values.numpy().tolist(), np.abs(vectors.numpy()).tolist()) == ([2], [[1]])
    traced = tf.function(lambda a, b: L.eigh_tridiagonal(a, b, select="v", select_range=(1.0, 3.0)))
    np.testing.assert_allclose(traced(tf.constant(alpha), tf.constant(beta)), every[1:3])


# ---- bands


def test_what_lies_outside_of_a_banded_matrix_is_not_read() -> None:
    bands = np.array([[4.0, 5, 6], [np.nan, 7, 8], [np.nan, np.nan, 1], [np.nan] * 3])
    dense = np.array([[4.0, 0, 0], [7, 5, 0], [1, 8, 6]])
    rhs = np.array([[1.0], [2], [3]])
    op = lookup("BandedTriangularSolve")
    for lower, given, matrix in (
        (True, bands, dense),
        (False, bands[::-1, ::-1], dense[::-1, ::-1]),
    ):
        for turn in (False, True):
            wanted = np.linalg.solve(matrix.T if turn else matrix, rhs)
            solved = L.banded_triangular_solve(given, rhs, lower=lower, adjoint=turn)
            np.testing.assert_allclose(solved, wanted)
            attrs = {"lower": lower, "adjoint": turn, "T": tf.float64}
            tensors = [tf.constant(given), tf.constant(rhs)]
            np.testing.assert_allclose(run_compiled_like(op, tensors, attrs)[0], wanted)


# ---- normalize


def test_normalized_vectors_and_matrices() -> None:
    x = np.float32([[3, 4], [6, 8]])
    cases = [
        ({}, np.sqrt(125)), ({"ord": 1}, 21), ({"ord": np.inf}, 8), ({"axis": 1}, [[5], [10]]),
        ({"ord": "fro", "axis": (0, 1)}, np.sqrt(125)), ({"ord": 3, "axis": -1}, [[91], [728]]),
    ]  # fmt: skip
    for options, norm in cases:
        wanted = np.cbrt(norm) if options.get("ord") == 3 else np.float32(norm)
        result, size = L.normalize(x, **options)
        np.testing.assert_allclose(np.squeeze(size), np.squeeze(wanted), rtol=1e-5)
        np.testing.assert_allclose(result, x / wanted, rtol=1e-5)
        assert size.shape.rank == 2
    result, size = L.normalize(np.array([3j, 4]))
    assert result.dtype == size.dtype == tf.complex128
    np.testing.assert_allclose(result, [0.6j, 0.8])
    assert np.isnan(L.normalize([0.0, 0.0])[0]).all()


@pytest.mark.parametrize("compiled", [False, True])
def test_what_is_not_read_does_not_raise_pivots(compiled: bool) -> None:
    diagonals = tf.constant([[0.0, 0, 1e9], [1, 0, 3], [1e9, 0, 0]])

    def solve() -> Any:
        return L.tridiagonal_solve(diagonals, [1.0, 2.0, 3.0], perturb_singular=True)

    found = tf.function(solve, jit_compile=True)() if compiled else solve()
    np.testing.assert_allclose(found, [1, 5592405.5, 1], rtol=1e-6)


def _raised(main: Any, rhs: Any, high: Any = None, low: Any = None, dtype: Any = "float32") -> Any:
    none = np.zeros(len(main))
    diagonals = np.array([none if high is None else high, main, none if low is None else low])
    sides = np.array(rhs).reshape(len(main), -1)
    return lambda: tf.raw_ops.TridiagonalSolve(
        diagonals=diagonals.astype(dtype), rhs=sides.astype(dtype), perturb_singular=True
    )


LEAST = float(np.finfo(np.float32).tiny)


@pytest.mark.parametrize("way", ["native", "numpy", "compiled"])
@pytest.mark.parametrize(
    ("solve", "expected"),
    [
        (_raised([1, -1e-20], [1, 1]), [1, -1e20]),  # no quotient overflows
        (_raised([1, 1e-20], [1, 1e25]), [1, 8.388608e31]),
        (_raised([1, -1e-36], [1, -3]), [1, 3e36]),
        (_raised([1, -1e-38], [1, 1]), [1, -8388608]),  # less than the least normal number
        (_raised([1, -0.0], [1, 1]), [1, -8388608]),
        (_raised([1, 0], [1, 0]), [1, 0]),
        (_raised([1e-37, 0], [1, 1e-20]), [1e37, 1e-20 / LEAST]),
        (_raised([1, 1e-300], [1, 1e10], dtype="float64"), [1, 1e10 * 2.0**52]),
        (_raised([0, 0], [1, 2]), [1 / LEAST, 2 / (3 * LEAST)]),
        (
            _raised([0, 0], [[1, 2, 0], [2, 3, 4]]),  # one pivot for all sides
            np.array([1 / 3, 2 / 3, 0, 2 / 7, 3 / 7, 4 / 7]) / LEAST,
        ),
        # The largest element is that of the first row, and of what elimination leaves but for the
        # last row but one; rows are exchanged for the share that a pivot has in its row.
        (_raised([0, -1], [3, 1], low=[0, -1]), [-1 / LEAST, 1 / LEAST]),
        (
            _raised([2, 900, 0], [2, 50, 1e-3], [3, 0, 0], [0, 50, 0]),
            [1, 0, 1e-3 / (3 * 2.0**-23)],
        ),
        (
            _raised([1, -1, -1, 1], [2, 1, 0, 1], [0, -1, 0, 0], [0, 1, -1, 0]),
            [2, 2**23, 1 - 2**23, 1],
        ),
        (
            _raised([1, 2, 2, 1], [1, 0, 0, 1], [-1, -1, -1, 0], [0, -1, -1, -1]),
            [16777216, 16777216, 16777215, 16777216],
        ),
        (_raised([1, 1e-20j], [1, 1e20j], dtype="complex64"), [1, 8.388608e26j]),
        (_raised([1, -1e-20 + 1e-22j], [1, 1e25], dtype="complex64"), [1, -8.388608e31]),
    ],
)
def test_pivots_are_raised_where_quotients_overflow(
    solve: Any, expected: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "numpy":
        monkeypatch.setattr(native_matrices, "tridiagonal", lambda *args, **kwargs: None)
    found = tf.function(solve, jit_compile=True)() if way == "compiled" else solve()
    np.testing.assert_allclose(found.numpy().ravel(), expected, rtol=1e-6)
