"""What linear operators refuse, with which error class and words."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

L = tf.linalg
INVALID = tf.errors.InvalidArgumentError
Full, Diag = L.LinearOperatorFullMatrix, L.LinearOperatorDiag
Lower, Identity, Scaled = (
    L.LinearOperatorLowerTriangular,
    L.LinearOperatorIdentity,
    L.LinearOperatorScaledIdentity,
)
Zeros, Householder, Permutation = (
    L.LinearOperatorZeros,
    L.LinearOperatorHouseholder,
    L.LinearOperatorPermutation,
)
Circulant, Toeplitz, Tridiag = (
    L.LinearOperatorCirculant,
    L.LinearOperatorToeplitz,
    L.LinearOperatorTridiag,
)
Kronecker, Blocks, Composition = (
    L.LinearOperatorKronecker,
    L.LinearOperatorBlockDiag,
    L.LinearOperatorComposition,
)
Triangle, Update = L.LinearOperatorBlockLowerTriangular, L.LinearOperatorLowRankUpdate
SQUARE = np.float32([[2, 1], [1, 3]])
ONES = np.ones(2, np.float32)
full, wide, double = Full(SQUARE), Full(np.ones((2, 3), np.float32)), Full(np.eye(2))
singular = Full(SQUARE, is_non_singular=False)

CONSTRUCTORS: list[tuple[Any, type[Exception], str]] = [
    (lambda: Full(ONES), ValueError, "`matrix` must have at least 2 dimensions. Found shape"),
    (lambda: Full([[1]]), TypeError, "`matrix` must have dtype in .*Received: tf.int32"),
    (lambda: Full(tf.cast(SQUARE, tf.bfloat16)), TypeError, "Received: tf.bfloat16"),
    (
        lambda: Full(SQUARE, is_positive_definite=True, is_non_singular=False),
        ValueError,
        "positive definite matrix is always non-singular",
    ),
    (
        lambda: Full(SQUARE, is_square=False, is_non_singular=True),
        ValueError,
        "A non-singular matrix is always square",
    ),
    (
        lambda: Full(SQUARE, is_square=False, is_self_adjoint=True),
        ValueError,
        "A self-adjoint matrix is always square",
    ),
    (lambda: Full(SQUARE, is_square=False).is_square, ValueError, "but the operator was square"),
    (
        lambda: L.LinearOperatorAdjoint(full, is_square=False),
        ValueError,
        "An operator is square if and only if its adjoint is square",
    ),
    (lambda: Zeros(2).solvevec(np.ones(3, np.float32)), ValueError, "are not compatible"),
    (lambda: Diag(2.0), ValueError, "diag must have at least 1 dimension. Found shape"),
    (lambda: Diag(ONES, is_square=False), ValueError, "Only square diagonal operators"),
    (lambda: Diag(ONES, is_self_adjoint=False), ValueError, "real diagonal .* always self adj"),
    (lambda: Lower(ONES), ValueError, "tril must have at least 2 dimensions"),
    (lambda: Lower(SQUARE, is_square=False), ValueError, "Only square lower triangular"),
    (lambda: Identity(-1), ValueError, "num_rows must be non-negative.  Found: -1"),
    (lambda: Identity(-1, assert_proper_shapes=True), INVALID, "must be non-negative"),
    (lambda: Identity(2.0), TypeError, "num_rows must be integer type"),
    (lambda: Identity([2]), ValueError, "num_rows must be a 0-D Tensor"),
    (lambda: Identity(2, 3), ValueError, "batch_shape must be a 1-D Tensor"),
    (lambda: Identity(2, [-3]), ValueError, "batch_shape must be non-negative"),
    (lambda: Identity(2, [3.0]), TypeError, "batch_shape must be integer type"),
    (lambda: Identity(2, is_square=False), ValueError, "always square"),
    (lambda: Identity(2, is_self_adjoint=False), ValueError, "always self adjoint"),
    (lambda: Identity(2, is_non_singular=False), ValueError, "always non-singular"),
    (lambda: Identity(2, is_positive_definite=False), ValueError, "always positive-definite"),
    (lambda: Scaled(2, 1.0, is_square=False), ValueError, "always square"),
    (lambda: Scaled(2, 1.0, is_self_adjoint=False), ValueError, "always self adjoint"),
    (lambda: Scaled(-2, 1.0), ValueError, "num_rows must be non-negative"),
    (lambda: Zeros(2, 3), ValueError, r"num_rows\(2\) != num_columns\(3\)"),
    (lambda: Zeros(2, 3, is_square=False), ValueError, "self-adjoint matrix is always square"),
    (lambda: Zeros(2, is_non_singular=True), ValueError, "always singular"),
    (lambda: Zeros(2, is_positive_definite=True), ValueError, "always not positive-definite"),
    (lambda: Zeros(2, is_self_adjoint=False), ValueError, "always self adjoint"),
    (lambda: Householder(1.0), ValueError, "reflection_axis must have at least 1 dimension"),
    (lambda: Householder(ONES, is_square=False), ValueError, "always square"),
    (lambda: Householder(ONES, is_self_adjoint=False), ValueError, "always self adjoint"),
    (lambda: Householder(ONES, is_positive_definite=True), ValueError, "non-positive definite"),
    (lambda: Permutation([0.0]), TypeError, "must be integer dtype"),
    (lambda: Permutation(0), ValueError, "`perm` must have at least 1 dimension"),
    (lambda: Permutation([1, 1]), ValueError, "unique integers from 0 to 1"),
    (lambda: Permutation([1, 2]), ValueError, "unique integers from 0 to 1"),
    (lambda: Permutation([0], is_square=False), ValueError, "always square"),
    (lambda: Permutation([0], is_non_singular=False), ValueError, "always non-singular"),
    (lambda: Circulant(1.0), ValueError, "`spectrum` must have at least 1 dimension"),
    (lambda: L.LinearOperatorCirculant2D(ONES), ValueError, "at least 2 dimensions"),
    (lambda: L.LinearOperatorCirculant3D(SQUARE), ValueError, "at least 3 dimensions"),
    (lambda: Circulant(ONES, is_square=False), ValueError, "always square"),
    (lambda: Circulant(ONES, is_self_adjoint=False), ValueError, "always .* self-adjoint"),
    (lambda: Toeplitz(ONES, np.ones(3, np.float32)), ValueError, "mismatched dim.*3 and 2"),
    (lambda: Toeplitz(1.0, 1.0), ValueError, "row must have at least 1 dimension"),
    (lambda: Toeplitz(ONES, np.ones(2)), TypeError, "float32 and float64"),
    (lambda: Toeplitz(ONES, ONES, is_square=False), ValueError, "Only square Toeplitz"),
    (lambda: Toeplitz(np.ones((2, 1)), np.ones((3, 1))), ValueError, "Incompatible shapes"),
    (lambda: Tridiag(SQUARE, diagonals_format="x"), ValueError, "one of compact, matrix, or seq"),
    (lambda: Tridiag(SQUARE), ValueError, "expected 3 diagonals in the compact format, got 2"),
    (lambda: Tridiag(ONES), ValueError, "at least 2 dimensions"),
    (lambda: Tridiag([ONES, ONES], diagonals_format="sequence"), ValueError, "list of three"),
    (lambda: Tridiag(np.ones((3, 2)), is_square=False), ValueError, "Only square Tridiag"),
    (lambda: Kronecker([]), ValueError, "list of >=1 operators"),
    (lambda: Kronecker([full, double]), TypeError, "same dtype.*float32.*float64"),
    (lambda: Kronecker([1]), TypeError, "expected linear operators, got 1"),
    (lambda: Blocks([]), ValueError, "Expected a non-empty list of operators"),
    (lambda: Blocks([full, double]), TypeError, "same dtype"),
    (
        lambda: Blocks([Full(np.ones((3, 2, 2))), Full(np.ones((2, 2, 2)))]),
        ValueError,
        r"Incompatible shapes for broadcasting.*\(3,\) and \(2,\)",
    ),
    (lambda: Composition([]), ValueError, "Expected a non-empty list of operators"),
    (lambda: Composition([full, double]), TypeError, "same dtype"),
    (lambda: Composition([wide, full]), ValueError, "Dimensions 3 and 2 are not compatible"),
    (lambda: Triangle([]), ValueError, "list of >=1 operators"),
    (lambda: Triangle([full]), TypeError, "to be a list of operators"),
    (lambda: Triangle([[full], [full]]), ValueError, r"\[1\]` must contain `2` blocks.*1 blocks"),
    (lambda: Triangle([[wide]]), ValueError, "must be square"),
    (lambda: Triangle([[full], [wide, full]]), ValueError, r"\(3\) must be the same as .*\(2\)"),
    (lambda: Triangle([[full], [wide.H, full]]), ValueError, r"range.*\(3\) must be .*\(2\)"),
    (lambda: Triangle([[full], [double, full]]), TypeError, "same dtype"),
    (lambda: Triangle([[full]], is_square=False), ValueError, "must be square"),
    (lambda: Triangle([[singular]], is_non_singular=True), ValueError, "is always singular"),
    (lambda: Update(full, np.ones((3, 1), "f")), ValueError, "Dimensions 2 and 3"),
    (lambda: Update(full, SQUARE, v=np.ones((2, 1), "f")), ValueError, "columns of u and of v"),
    (lambda: Update(full, SQUARE, np.ones(3, "f")), ValueError, "elements of diag_update"),
    (lambda: Update(full, SQUARE, 1.0), ValueError, "diag_update must have at least 1 dim"),
    (
        lambda: Update(full, tf.ones((2, 1), tf.float64)),
        TypeError,
        "u of dtype float32.*got float64",
    ),
    (
        lambda: Update(full, SQUARE, is_diag_update_positive=False),
        ValueError,
        "Default diagonal is the identity, which is positive",
    ),
    (
        lambda: Update(Identity(2), SQUARE, is_non_singular=False),
        ValueError,
        "Arguments imply this is self-adjoint positive-definite",
    ),
    (
        lambda: L.LinearOperatorAdjoint(Full(SQUARE, is_non_singular=True), is_non_singular=False),
        ValueError,
        "non-singular if and only if its adjoint is non-singular",
    ),
    (
        lambda: L.LinearOperatorInversion(
            Full(SQUARE, is_self_adjoint=True), is_self_adjoint=False
        ),
        ValueError,
        "self-adjoint if and only if its inverse is self-adjoint",
    ),
    (lambda: L.LinearOperatorInversion(singular), ValueError, "Found `operator.is_non_singular`"),
    (lambda: L.LinearOperatorInversion(wide), ValueError, "Found `operator.is_square`: False"),
    (lambda: L.LinearOperator(tf.float32), TypeError, "abstract"),
]

X2, X3 = np.ones((2, 1), np.float32), np.ones((3, 1), np.float32)
CALLS: list[tuple[Any, type[Exception], str]] = [
    (lambda: wide.matmul(X2), ValueError, r"Dimensions 3 and 2 .*got shape \(2, 1\)"),
    (lambda: wide.matmul(X3, adjoint=True), ValueError, "Dimensions 2 and 3 are not compatible"),
    (lambda: wide.matmul(X3, adjoint_arg=True), ValueError, "Dimensions 3 and 1"),
    (lambda: wide.matvec(ONES), ValueError, "Dimensions 3 and 2 are not compatible"),
    (lambda: full.solve(X3), ValueError, "Dimensions 2 and 3 are not compatible"),
    (lambda: full.solvevec(X3[:, 0]), ValueError, "Dimensions 2 and 3 are not compatible"),
    (lambda: full.matmul(ONES), ValueError, "x must have at least 2 dimensions"),
    (lambda: full.matmul(np.ones((2, 1))), TypeError, "dtype tf.float32.  Found: tf.float64"),
    (lambda: full.matmul([[1], [2]]), TypeError, "Found: tf.int32"),
    (lambda: full.add_to_tensor(np.ones((2, 2))), TypeError, "Found: tf.float64"),
    (lambda: full.add_to_tensor(np.ones((3, 2), "f")), INVALID, "Incompatible shapes"),
    (lambda: wide.matmul(wide), ValueError, "Expected `x` to have dimension 3 but got 2"),
    (lambda: full.solve(Identity(3)), ValueError, "Expected `rhs` to have dimension 2 but got 3"),
    (lambda: full @ double, TypeError, "same dtype"),
    (lambda: full @ Zeros(2, 3, is_square=False, is_self_adjoint=False), ValueError, "non-square"),
    (lambda: wide.solve(X2), NotImplementedError, "expected to not be square"),
    (lambda: singular.solve(X2), NotImplementedError, "expected to be singular"),
    (lambda: Full(SQUARE * 0).solve(X2), INVALID, "not invertible"),
    (wide.determinant, NotImplementedError, "expected to not be square"),
    (wide.log_abs_determinant, NotImplementedError, "expected to not be square"),
    (wide.inverse, ValueError, "a non square matrix"),
    (singular.inverse, ValueError, "a singular matrix"),
    (full.cholesky, ValueError, "Not a positive definite self adjoint matrix"),
    (full.eigvals, NotImplementedError, "Only self-adjoint matrices are supported"),
    (full.assert_positive_definite, NotImplementedError, "Pass is_self_adjoint=True"),
    (Householder(ONES).assert_positive_definite, INVALID, "always non-positive definite"),
    (
        Toeplitz(ONES, 2 * ONES).assert_self_adjoint,
        INVALID,
        "row and col are not the same",
    ),
    (
        Tridiag([[1.0, 0], [1, 1], [0, 2]]).assert_self_adjoint,
        INVALID,
        "non-conjugate subdiagonal and superdiagonal",
    ),
    (Diag([1j]).assert_self_adjoint, INVALID, "non-zero imaginary values"),
    (Diag([0.0]).assert_non_singular, INVALID, "Diagonal contained zero values"),
]


@pytest.mark.parametrize(("call", "error", "words"), CONSTRUCTORS)
def test_constructors_refuse(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(("call", "error", "words"), CALLS)
def test_methods_refuse(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_a_dimension_at_the_boundary_is_accepted() -> None:
    assert Identity(0).to_dense().shape == [0, 0]
    assert Identity(1, [0]).to_dense().shape == [0, 1, 1]
    assert Zeros(0).matmul(np.ones((0, 2), np.float32)).shape == [0, 2]
    assert wide.matmul(X3).shape == [2, 1]


def test_parameters_are_the_arguments() -> None:
    assert Diag(ONES, is_non_singular=True).parameters == {
        "diag": ONES, "is_non_singular": True, "is_self_adjoint": None,
        "is_positive_definite": None, "is_square": None, "name": "LinearOperatorDiag",
    }  # fmt: skip
    assert sorted(Identity(2).parameters) == [
        "assert_proper_shapes", "batch_shape", "dtype", "is_non_singular", "is_positive_definite",
        "is_self_adjoint", "is_square", "name", "num_rows",
    ]  # fmt: skip
    assert full.graph_parents == []
    assert repr(full).startswith("<LinearOperatorFullMatrix name='LinearOperatorFullMatrix' shape")


def test_the_argument_of_adding_has_tensorflows_names() -> None:
    x = np.ones((2, 2), np.float32)
    assert full.add_to_tensor(x=x).shape == [2, 2]
    for operator in (Identity(2), Scaled(2, 1.0), Zeros(2)):
        np.testing.assert_array_equal(operator.add_to_tensor(mat=x), x + operator.to_dense())
