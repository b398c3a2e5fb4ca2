"""Linear operators in graphs and sessions, tf.linalg's functions of them, conjugate gradients."""

from typing import Any

import numpy as np
import pytest
from tests.ops.linear_operators.cases import SQUARE, adjoint

import penstock as tf

L = tf.linalg
v1 = tf.compat.v1


# ---- graphs


@pytest.mark.parametrize("kind", SQUARE)
def test_sessions(kind: str) -> None:
    def answers() -> list[Any]:
        operator, dense = SQUARE[kind](np.random.default_rng(8), "float64", ())
        x = np.ones((dense.shape[-1], 1))
        return [
            operator.to_dense(), operator.matmul(x), operator.solve(x), operator.trace(),
            operator.determinant(), operator.H.to_dense(), operator.shape_tensor(),
        ]  # fmt: skip

    wanted = [t.numpy() for t in answers()]
    with tf.Graph().as_default(), v1.Session() as session:
        for got, value in zip(session.run(answers()), wanted, strict=True):
            np.testing.assert_allclose(got, value, atol=1e-9)


def test_names_of_operations() -> None:
    with tf.Graph().as_default():
        operator = L.LinearOperatorFullMatrix(v1.placeholder(tf.float32, [None, None]))
        assert operator.shape.as_list() == [None, None]
        assert operator.is_square is None
        assert operator.matmul(operator.to_dense()).name == (
            "LinearOperatorFullMatrix/matmul/MatMul:0"
        )
        assert operator.determinant().name.startswith("LinearOperatorFullMatrix/det/")
        assert operator.trace(name="abc").name.startswith("LinearOperatorFullMatrix/abc/")
        named = L.LinearOperatorDiag(v1.placeholder(tf.float32, [None]), name="dd")
        assert named.log_abs_determinant().name.startswith("dd/log_abs_det/")


def test_sizes_fed_to_a_session() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        rows = v1.placeholder(tf.int32, [])
        batch = v1.placeholder(tf.int32, [None])
        identity = L.LinearOperatorIdentity(rows, batch, assert_proper_shapes=True)
        zeros = L.LinearOperatorZeros(rows, batch_shape=batch)
        scaled = L.LinearOperatorScaledIdentity(rows, 2.0)
        assert identity.shape.rank is None
        assert scaled.shape.as_list() == [None, None]
        fetches = [o.to_dense() for o in (identity, zeros, scaled)]
        fetches += [identity.trace(), identity.shape_tensor(), zeros.determinant()]
        feed = {rows: 2, batch: [3]}
        one, none, two, trace, shape, nothing = session.run(fetches, feed)
        np.testing.assert_array_equal(one, np.broadcast_to(np.eye(2), (3, 2, 2)))
        assert none.shape == (3, 2, 2)
        np.testing.assert_array_equal(two, 2 * np.eye(2))
        assert (trace.tolist(), shape.tolist(), nothing.tolist()) == ([2] * 3, [3, 2, 2], [0] * 3)
        with pytest.raises(tf.errors.InvalidArgumentError, match="num_rows must be non-negative"):
            session.run(fetches[0], {rows: -1, batch: []})


def test_matrices_of_unknown_rank() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        fed = v1.placeholder(tf.float32)
        operator = L.LinearOperatorFullMatrix(fed)
        assert operator.shape.rank is None
        assert operator.tensor_rank is None
        assert operator.domain_dimension.value is None
        fetches = [
            operator.matmul(fed), operator.trace(), operator.shape_tensor(),
            operator.tensor_rank_tensor(), operator.batch_shape_tensor(),
        ]  # fmt: skip
        product, trace, shape, rank, batch = session.run(fetches, {fed: 2 * np.ones((3, 2, 2))})
        assert product.tolist() == [[[8, 8], [8, 8]]] * 3
        assert trace.tolist() == [4] * 3
        assert (shape.tolist(), rank, batch.tolist()) == ([3, 2, 2], 3, [3])


@pytest.mark.parametrize("shape", [None, [None, None], [3, None], [None, 3]])
def test_tridiagonal_operators_of_unknown_shapes(shape: Any) -> None:
    diagonals = np.float32([[1, 1, 0], [4, 5, 6], [0, 1, 1]])
    x = np.arange(6, dtype=np.float32).reshape(3, 2)

    def answers(given: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(given)
            operator = L.LinearOperatorTridiag(given)
            product, solved = operator.matmul(x, adjoint=True), operator.solve(x, adjoint=True)
            total = tf.reduce_sum(product**2) + tf.reduce_sum(solved**2)
        operator.assert_self_adjoint()
        return product, solved, tape.gradient(total, given)

    wanted = answers(tf.constant(diagonals))
    traced = tf.function(answers, input_signature=[tf.TensorSpec(shape)])
    for found, value in zip(traced(tf.constant(diagonals)), wanted, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-conjugate"):
        traced(tf.constant(diagonals * np.float32([[2], [1], [1]])))


@pytest.mark.parametrize("sizes", [(None, 3), (3, None), (None, None)])
def test_permutations_of_unknown_size_take_as_many_rows(sizes: Any) -> None:
    signature = [tf.TensorSpec([sizes[0]], tf.int32), tf.TensorSpec([sizes[1], 2])]
    product = tf.function(
        lambda p, x: L.LinearOperatorPermutation(p).matmul(x), input_signature=signature
    )
    known = None if sizes == (None, None) else 3
    assert product.get_concrete_function().output_shapes.as_list() == [known, 2]
    perm, x = tf.constant([2, 0, 1]), np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(product(perm, tf.constant(x)), x[[2, 0, 1]])
    wrong = tf.constant([0, 1]) if sizes[0] is None else perm
    rows = tf.zeros([3, 2]) if sizes[0] is None else tf.zeros([4, 2])
    with pytest.raises(tf.errors.InvalidArgumentError):
        product(wrong, rows)


def test_operators_of_unknown_size_keep_their_class() -> None:
    with tf.Graph().as_default():
        full = L.LinearOperatorFullMatrix(v1.placeholder(tf.float32, [None, None]))
        blocks = L.LinearOperatorBlockDiag([full, full], is_non_singular=True)
        for made in (blocks.solve(blocks), blocks.matmul(blocks), blocks.inverse()):
            assert type(made) is L.LinearOperatorBlockDiag
            assert made.is_non_singular is True
        inverse = L.LinearOperatorKronecker([full, full]).inverse()
        assert type(inverse) is L.LinearOperatorKronecker
        assert inverse.is_square is True


def test_stacks_that_are_known() -> None:
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, None])
        identity = L.LinearOperatorIdentity(3, batch_shape=[2])
        assert identity.matmul(x).shape.as_list() == [2, None, None]
        zeros = L.LinearOperatorZeros(3, batch_shape=[2])
        assert zeros.matmul(x).shape.as_list() == [2, 3, None]
        square = L.LinearOperatorZeros(v1.placeholder(tf.int32, []))
        assert square.matmul(tf.ones([3, 2])).shape.as_list() == [3, 2]
        with pytest.raises(ValueError, match="out of bounds"):
            zeros[0, 0]


def test_stacks_that_do_not_broadcast() -> None:
    ones = tf.ones([2, 3])
    circulant = L.LinearOperatorCirculant(tf.complex(ones, ones), input_output_dtype=tf.float32)
    for operator in (
        L.LinearOperatorZeros(3, batch_shape=[2]), L.LinearOperatorToeplitz(ones, ones), circulant,
    ):  # fmt: skip
        with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
            operator.matmul(tf.ones([3, 3, 1]))


def test_checks_are_operations_in_a_graph() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        fed = v1.placeholder(tf.float32, [2])
        operator = L.LinearOperatorDiag(fed)
        block = L.LinearOperatorBlockDiag([operator, L.LinearOperatorIdentity(1)])
        for one in (operator, block, L.LinearOperatorCirculant(fed)):
            check = one.assert_non_singular()
            session.run(check, {fed: [1, 2]})
            with pytest.raises(tf.errors.InvalidArgumentError, match="zero values"):
                session.run(check, {fed: [1, 0]})
        assert session.run(L.LinearOperatorIdentity(2).assert_self_adjoint()) is None


# ---- functions of tf.linalg


def test_functions_of_operators() -> None:
    matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    operator = L.LinearOperatorFullMatrix(matrix, is_self_adjoint=True, is_positive_definite=True)
    plain = L.LinearOperatorFullMatrix(np.array([[1.0, 2.0], [3.0, 4.0]]))
    x = np.array([[1.0], [2.0]])
    assert L.adjoint(operator) is operator
    assert type(L.cholesky(operator)) is L.LinearOperatorLowerTriangular
    assert type(L.inv(plain)) is L.LinearOperatorInversion
    assert type(L.inv(plain, adjoint=True)) is L.LinearOperatorAdjoint
    assert type(L.matmul(operator, plain)) is L.LinearOperatorComposition
    values = {
        "det": np.linalg.det(matrix),
        "logdet": np.log(np.linalg.det(matrix)),
        "trace": 5,
        "diag_part": [2, 3],
    }
    for name, wanted in values.items():
        np.testing.assert_allclose(getattr(L, name)(operator), wanted, rtol=1e-9)
    np.testing.assert_allclose(tf.linalg.det(input=operator), values["det"])
    np.testing.assert_allclose(tf.matmul(plain, x, adjoint_a=True), plain.matmul(x, True))
    np.testing.assert_allclose(tf.matmul(plain, x.T, adjoint_b=True), plain.matmul(x))
    np.testing.assert_allclose(tf.matmul(x.T, plain), x.T @ plain.matrix.numpy())
    np.testing.assert_allclose(tf.matmul(x, plain, adjoint_a=True), x.T @ plain.matrix.numpy())
    np.testing.assert_allclose(
        tf.matmul(x, plain, adjoint_a=True, adjoint_b=True), x.T @ adjoint(plain.matrix.numpy())
    )
    np.testing.assert_allclose(L.matvec(plain, x[:, 0]), plain.matvec(x[:, 0]))
    np.testing.assert_allclose(L.solve(plain, x), plain.solve(x))
    np.testing.assert_allclose(L.solve(plain, x, adjoint=True), plain.solve(x, adjoint=True))


def test_functions_refuse_what_operators_cannot() -> None:
    operator = L.LinearOperatorFullMatrix(np.eye(2))
    refused = [
        (lambda: tf.matmul(operator, operator, transpose_b=True), "Transposing not supported"),
        (lambda: tf.matmul(operator, np.eye(2), a_is_sparse=True), "Sparse methods not supported"),
        (lambda: L.matvec(operator, np.ones(2), transpose_a=True), "Transposing not supported"),
        (lambda: L.diag_part(operator, k=1), "expected k=0"),
        (lambda: L.logdet(operator), "Expected matrix to be self-adjoint and positive definite"),
        (lambda: L.solve(np.eye(2), operator), "`matrix` as a Tensor and `rhs` as a LinearOper"),
    ]
    for call, words in refused:
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises((ValueError, TypeError)):
        tf.reduce_sum(operator)
    assert tf.is_tensor(operator) is False


# ---- conjugate gradients


def definite(dtype: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    value = rng.uniform(-1, 1, (5, 5)) + (1j * rng.uniform(-1, 1, (5, 5)) if "c" in dtype else 0)
    return (value @ adjoint(value) + np.eye(5)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("compiled", [False, True])
def test_conjugate_gradients(dtype: str, compiled: bool) -> None:
    matrix = definite(dtype)
    operator = L.LinearOperatorFullMatrix(matrix, is_self_adjoint=True, is_positive_definite=True)
    rhs = np.arange(10.0).reshape(2, 5).astype(dtype)
    near = L.LinearOperatorDiag(1 / np.diag(matrix).real.astype(dtype), is_self_adjoint=True)
    solve = L.experimental.conjugate_gradient
    solve = tf.function(solve, autograph=False) if compiled else solve
    for preconditioner in (None, near):
        state = solve(operator, rhs, preconditioner=preconditioner, tol=1e-12)
        wanted = np.linalg.solve(matrix, rhs.T).T
        np.testing.assert_allclose(state.x, wanted, atol=1e-8)
        np.testing.assert_allclose(state.r, 0, atol=1e-8)
        assert 2 <= state.i.numpy() <= 12


def test_conjugate_gradients_stop_and_start() -> None:
    matrix = np.float32([[4, 1], [1, 3]])
    operator = L.LinearOperatorFullMatrix(matrix, is_self_adjoint=True, is_positive_definite=True)
    solve, rhs = L.experimental.conjugate_gradient, np.float32([1, 2])
    assert solve(operator, rhs).i.numpy() == 2
    nothing = solve(operator, rhs, max_iter=0)
    assert (nothing.i.numpy(), nothing.x.numpy().tolist()) == (0, [0, 0])
    assert nothing.r.numpy().tolist() == nothing.p.numpy().tolist() == [1, 2]
    assert nothing.gamma.numpy() == 5
    assert solve(operator, rhs, tol=10.0).i.numpy() == 0
    one = solve(operator, rhs, x=np.float32([1, 1]), max_iter=1)
    np.testing.assert_allclose(one.x, [0.1304, 0.5652], atol=1e-4)  # TensorFlow's
    np.testing.assert_allclose(one.p, [-0.0945, 0.1701], atol=1e-4)
    with pytest.raises(ValueError, match="Expected a self-adjoint, positive definite operator"):
        solve(L.LinearOperatorFullMatrix(matrix), rhs)
    with pytest.raises(TypeError, match=r"Found: tf.float64"):
        solve(operator, np.ones(2))
