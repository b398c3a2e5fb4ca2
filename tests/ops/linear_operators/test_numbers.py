"""Every method of every kind of linear operator against its dense matrix in NumPy."""

import zlib
from typing import Any

import numpy as np
import pytest
from tests.ops.linear_operators.cases import (
    DTYPES,
    NEAR,
    SQUARE,
    Case,
    adjoint,
    numbers,
    oblong_cases,
)

import penstock as tf

BATCHES = [(), (2,)]
EVERY = [
    pytest.param(kind, dtype, batch, id=f"{kind}-{dtype}-{len(batch)}")
    for kind in SQUARE
    for dtype in DTYPES
    for batch in BATCHES
    if dtype in ("float32", "complex128") or batch
]


def rng_of(*words: Any) -> Any:
    return np.random.default_rng(zlib.crc32(repr(words).encode()))


def make(kind: str, dtype: str, batch: tuple[int, ...]) -> Case:
    case = SQUARE[kind](rng_of(kind, dtype, batch), dtype, batch)
    return Case(case.operator, case.dense.astype(dtype))


def near(got: Any, wanted: Any, dtype: str, scale: float = 1.0) -> None:
    wanted = np.asarray(wanted)
    assert got.shape.as_list() == list(wanted.shape)
    bound = NEAR[dtype] * scale * max(1.0, float(np.abs(wanted).max(initial=0)))
    np.testing.assert_allclose(got.numpy(), wanted, rtol=0, atol=bound)


@pytest.mark.parametrize(("kind", "dtype", "batch"), EVERY)
def test_shapes_and_dense_forms(kind: str, dtype: str, batch: tuple[int, ...]) -> None:
    operator, dense = make(kind, dtype, batch)
    rows = dense.shape[-1]
    assert operator.shape.as_list() == operator.shape_tensor().numpy().tolist() == [*dense.shape]
    assert operator.batch_shape.as_list() == operator.batch_shape_tensor().numpy().tolist()
    assert operator.tensor_rank == operator.tensor_rank_tensor().numpy() == dense.ndim
    for side in ("domain", "range"):
        assert getattr(operator, f"{side}_dimension") == rows
        assert getattr(operator, f"{side}_dimension_tensor")().numpy() == rows
    assert operator.dtype == tf.as_dtype(dtype)
    assert operator.is_square is True
    near(operator.to_dense(), dense, dtype)
    near(operator.diag_part(), np.diagonal(dense, axis1=-2, axis2=-1), dtype)
    near(operator.trace(), np.trace(dense, axis1=-2, axis2=-1), dtype)
    x = numbers(rng_of("add"), dtype, *batch, rows, rows)
    near(operator.add_to_tensor(x), dense + x, dtype)
    near(operator.H.to_dense(), adjoint(dense), dtype)


@pytest.mark.parametrize(("kind", "dtype", "batch"), EVERY)
def test_products(kind: str, dtype: str, batch: tuple[int, ...]) -> None:
    operator, dense = make(kind, dtype, batch)
    rng, rows = rng_of("product"), dense.shape[-1]
    for lead in ((), (2,), (3, 1)):
        x = numbers(rng, dtype, *lead, rows, 3)
        for turn, matrix in ((False, dense), (True, adjoint(dense))):
            near(operator.matmul(x, adjoint=turn), matrix @ x, dtype)
            near(operator.matmul(adjoint(x), turn, adjoint_arg=True), matrix @ x, dtype)
            vector = matrix @ x[..., :1]
            near(operator.matvec(x[..., 0], adjoint=turn), vector[..., 0], dtype)
    near(operator @ x, dense @ x, dtype)
    left = numbers(rng, dtype, 2, rows)
    near(tf.constant(left) @ operator, left @ dense, dtype)
    near(left @ operator, left @ dense, dtype)


@pytest.mark.parametrize(("kind", "dtype", "batch"), EVERY)
def test_solutions(kind: str, dtype: str, batch: tuple[int, ...]) -> None:
    operator, dense = make(kind, dtype, batch)
    rng, rows = rng_of("solution"), dense.shape[-1]
    for lead in ((), (2,), (3, 1)):
        rhs = numbers(rng, dtype, *lead, rows, 3)
        for turn, matrix in ((False, dense), (True, adjoint(dense))):
            wanted = np.linalg.inv(matrix) @ rhs
            near(operator.solve(rhs, adjoint=turn), wanted, dtype, 4)
            near(operator.solve(adjoint(rhs), turn, adjoint_arg=True), wanted, dtype, 4)
            near(operator.solvevec(rhs[..., 0], adjoint=turn), wanted[..., 0], dtype, 4)
    near(operator.inverse().to_dense(), np.linalg.inv(dense), dtype, 4)
    near(operator.inverse().matmul(operator).to_dense(), np.linalg.inv(dense) @ dense, dtype, 4)


# As TensorFlow 2.21 has it: logarithms that are real, and conditions of the operator's dtype.
REAL = ("triangular", "scaled")
EVEN = ("identity", "scaled", "householder", "permutation")


@pytest.mark.parametrize(("kind", "dtype", "batch"), EVERY)
def test_determinants_conditions_and_checks(kind: str, dtype: str, batch: tuple[int, ...]) -> None:
    operator, dense = make(kind, dtype, batch)
    sign, logarithm = np.linalg.slogdet(dense)
    near(operator.determinant(), sign * np.exp(logarithm), dtype, 10)
    got = operator.log_abs_determinant()
    assert got.dtype == (operator.dtype.real_dtype if kind in REAL else operator.dtype)
    near(got, logarithm.astype(got.dtype.as_numpy_dtype), dtype, 10)
    condition = operator.cond()
    assert condition.dtype == (operator.dtype if kind in EVEN else operator.dtype.real_dtype)
    near(condition, np.linalg.cond(dense), dtype, 20)
    assert operator.assert_non_singular() is None
    if np.allclose(dense, adjoint(dense)):
        assert operator.assert_self_adjoint() is None
    else:
        with pytest.raises(tf.errors.InvalidArgumentError):
            operator.assert_self_adjoint()
    if operator.is_self_adjoint:
        values = np.sort(operator.eigvals().numpy().real, axis=-1)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(dense), atol=20 * NEAR[dtype])
    else:
        with pytest.raises(NotImplementedError, match="Only self-adjoint"):
            operator.eigvals()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", oblong_cases(rng_of("names"), "float32"))
def test_oblong_operators(kind: str, dtype: str) -> None:
    rng = rng_of(kind, dtype)
    operator, dense = oblong_cases(rng, dtype)[kind]
    rows, columns = dense.shape
    assert (operator.range_dimension, operator.domain_dimension) == (rows, columns)
    assert operator.shape_tensor().numpy().tolist() == [rows, columns]
    near(operator.to_dense(), dense, dtype)
    near(operator.H.to_dense(), adjoint(dense), dtype)
    for turn, matrix in ((False, dense), (True, adjoint(dense))):
        x = numbers(rng, dtype, 2, matrix.shape[1], 3)
        near(operator.matmul(x, adjoint=turn), matrix @ x, dtype)
        near(operator.matmul(adjoint(x), turn, adjoint_arg=True), matrix @ x, dtype)
        near(operator.matvec(x[..., 0], adjoint=turn), (matrix @ x)[..., 0], dtype)
    x = numbers(rng, dtype, rows, columns)
    near(operator.add_to_tensor(x), dense + x, dtype)
    if kind not in ("block_diag", "zeros"):
        near(operator.trace(), np.trace(dense), dtype)
        near(operator.cond(), np.linalg.cond(dense), dtype, 20)
    if kind != "kronecker":  # 6 rows and 3 columns of rank 2
        assert operator.is_square is False
    for refused in ("determinant", "log_abs_determinant"):
        with pytest.raises(NotImplementedError, match="expected to not be square"):
            getattr(operator, refused)()
    wanted = "be singular" if kind == "zeros" else "not be square"
    with pytest.raises(NotImplementedError, match=wanted):
        operator.solve(x)
    with pytest.raises(ValueError, match="non square"):
        operator.inverse()


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros(dtype: str) -> None:
    operator = tf.linalg.LinearOperatorZeros(3, batch_shape=[2], dtype=dtype)
    assert operator.to_dense().shape == [2, 3, 3]
    assert not operator.matmul(np.ones((3, 2), dtype)).numpy().any()
    assert operator.matmul(np.ones((4, 1, 3, 2), dtype)).shape == [4, 2, 3, 2]
    assert operator.determinant().numpy().tolist() == [0, 0]
    assert np.isneginf(operator.log_abs_determinant().numpy().real).all()
    assert np.isnan(operator.cond().numpy()).all()
    assert operator.trace().numpy().tolist() == [0, 0]
    assert not operator.eigvals().numpy().any()
    x = np.ones((1, 3, 3), dtype)
    np.testing.assert_array_equal(operator.add_to_tensor(x), np.ones((2, 3, 3)))
    assert operator.assert_self_adjoint() is None
    for check in ("non_singular", "positive_definite"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Zero operators are always non"):
            getattr(operator, f"assert_{check}")()


def definite_diagonals(dtype: str) -> list[Any]:
    vector = np.array([1, 2, 3], dtype)
    spectrum = np.array([1, 2, 3], "complex128" if "128" in dtype else "complex64")
    full = tf.linalg.LinearOperatorFullMatrix(np.diag(vector), is_self_adjoint=True)
    return [
        tf.linalg.LinearOperatorDiag(vector),
        tf.linalg.LinearOperatorScaledIdentity(3, vector[1]),
        tf.linalg.LinearOperatorCirculant(spectrum),
        full,
        tf.linalg.LinearOperatorBlockDiag([full, full]),
        tf.linalg.LinearOperatorInversion(full),
        tf.linalg.LinearOperatorAdjoint(full),
    ]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_positive_definite_ones_pass_and_others_do_not(dtype: str) -> None:
    for operator in definite_diagonals(dtype):
        assert operator.assert_positive_definite() is None
        assert operator.assert_self_adjoint() is None
    vector = np.array([1, -2, 3], dtype)
    indefinite = [
        tf.linalg.LinearOperatorDiag(vector),
        tf.linalg.LinearOperatorScaledIdentity(3, vector[1]),
        tf.linalg.LinearOperatorCirculant(vector),
        tf.linalg.LinearOperatorFullMatrix(np.diag(vector), is_self_adjoint=True),
    ]
    for operator in indefinite:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"[Nn]ot positive definite"):
            operator.assert_positive_definite()
    with pytest.raises(NotImplementedError, match="Pass is_self_adjoint=True"):
        tf.linalg.LinearOperatorFullMatrix(np.eye(2)).assert_positive_definite()


def test_singular_ones_are_found() -> None:
    vector = np.float32([1, 0, 2])
    singular = [
        tf.linalg.LinearOperatorDiag(vector),
        tf.linalg.LinearOperatorFullMatrix(np.float32([[1, 2], [2, 4]])),
        tf.linalg.LinearOperatorLowerTriangular(np.diag(vector)),
        tf.linalg.LinearOperatorCirculant(vector),
        tf.linalg.LinearOperatorScaledIdentity(2, 0.0),
        tf.linalg.LinearOperatorTridiag(np.zeros((3, 2), np.float32)),
    ]
    singular += [
        tf.linalg.LinearOperatorKronecker(singular[:2]),
        tf.linalg.LinearOperatorBlockDiag(singular[:2]),
        tf.linalg.LinearOperatorComposition([singular[0], singular[2]]),
        tf.linalg.LinearOperatorAdjoint(singular[1]),
    ]
    for operator in singular:
        with pytest.raises(tf.errors.InvalidArgumentError):
            operator.assert_non_singular()


def test_numbers_of_circulant_operators() -> None:
    kernel = np.array([2.0, 0.5, -0.25, 0.125])
    spectrum = np.fft.fft(kernel)
    operator = tf.linalg.LinearOperatorCirculant(spectrum, input_output_dtype=tf.float64)
    near(operator.convolution_kernel(), kernel, "float64")
    assert operator.block_depth == 1
    assert operator.block_shape == [4] == operator.block_shape_tensor().numpy()
    assert operator.assert_hermitian_spectrum() is None
    bent = tf.linalg.LinearOperatorCirculant(np.complex64([1, 2, 3j]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Spectrum was not Hermitian"):
        bent.assert_hermitian_spectrum()
    two = tf.linalg.LinearOperatorCirculant2D(np.ones((5, 2, 3), np.float32))
    assert (two.block_depth, two.block_shape, two.shape) == (2, [2, 3], [5, 6, 6])
    assert two.block_shape_tensor().numpy().tolist() == [2, 3]


@pytest.mark.parametrize("size", [0, 1])
def test_the_smallest_sizes(size: int) -> None:
    vector = np.full((size,), 2.0, np.float32)
    operators = [
        tf.linalg.LinearOperatorDiag(vector),
        tf.linalg.LinearOperatorFullMatrix(np.diag(vector)),
        tf.linalg.LinearOperatorLowerTriangular(np.diag(vector)),
        tf.linalg.LinearOperatorScaledIdentity(size, 2.0),
        tf.linalg.LinearOperatorKronecker(
            [tf.linalg.LinearOperatorDiag(vector), tf.linalg.LinearOperatorIdentity(1)]
        ),
        tf.linalg.LinearOperatorBlockDiag(
            [tf.linalg.LinearOperatorDiag(vector), tf.linalg.LinearOperatorIdentity(0)]
        ),
        tf.linalg.LinearOperatorTridiag([[0.0] * size, [2.0] * size, [0.0] * size])
        if size
        else tf.linalg.LinearOperatorIdentity(0),
        tf.linalg.LinearOperatorToeplitz(vector, vector)
        if size
        else tf.linalg.LinearOperatorIdentity(0),
    ]
    x = np.ones((size, 3), np.float32)
    for operator in operators:
        np.testing.assert_allclose(operator.matmul(x), 2 * x, atol=1e-6)
        np.testing.assert_allclose(operator.solve(x), x / 2, atol=1e-6)
        np.testing.assert_allclose(operator.determinant(), 2.0**size, atol=1e-6)
        assert operator.to_dense().shape == [size, size]
        assert operator.diag_part().numpy().tolist() == [2] * size
        assert operator.trace().numpy() == 2 * size
