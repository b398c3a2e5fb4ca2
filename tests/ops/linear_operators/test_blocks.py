"""Lists of parts for operators of blocks."""

from typing import Any

import numpy as np
import pytest
from tests.ops.linear_operators.cases import SQUARE, adjoint, numbers

import penstock as tf

L = tf.linalg
SIZES = {"block_diag": (2, 3), "block_triangular": (2, 1, 3)}


def parts_of(x: Any, sizes: tuple[int, ...], axis: int = -2) -> list[Any]:
    return np.split(x, np.cumsum(sizes)[:-1], axis=axis)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("kind", SIZES)
def test_lists_in_lists_out(kind: str, batch: tuple[int, ...], dtype: str) -> None:
    rng, sizes = np.random.default_rng(4), SIZES[kind]
    operator, dense = SQUARE[kind](rng, dtype, batch)
    x = numbers(rng, dtype, sum(sizes), 2)
    for turn, matrix in ((False, dense), (True, adjoint(dense))):
        for method, wanted in (
            (operator.matmul, matrix @ x),
            (operator.solve, np.linalg.inv(matrix) @ x),
        ):
            plain = method(parts_of(x, sizes), adjoint=turn)
            turned = method(tuple(parts_of(adjoint(x), sizes, -1)), turn, adjoint_arg=True)
            for found in (plain, turned):
                assert isinstance(found, list)
                for got, part in zip(found, parts_of(wanted, sizes), strict=True):
                    np.testing.assert_allclose(got - part, 0, atol=1e-4)
        for method, wanted in (
            (operator.matvec, matrix @ x[:, 0]),
            (operator.solvevec, np.linalg.inv(matrix) @ x[:, 0]),
        ):
            found = method(parts_of(x[:, 0], sizes, -1), adjoint=turn)
            for got, part in zip(found, parts_of(wanted, sizes, -1), strict=True):
                np.testing.assert_allclose(got - part, 0, atol=1e-4)


def test_nests_of_python_numbers_are_parts_if_their_sizes_say_so() -> None:
    eye = L.LinearOperatorIdentity(1)
    operator = L.LinearOperatorBlockDiag([eye, L.LinearOperatorScaledIdentity(2, 2.0)])
    parts = operator.matmul([[[1.0]], [[1.0], [2.0]]])
    assert [p.numpy().tolist() for p in parts] == [[[1]], [[2], [4]]]
    assert operator.matmul([[1.0], [1.0], [1.0]]).numpy().tolist() == [[1], [2], [2]]
    assert operator.matmul([[[1.0], [1.0], [1.0]]]).shape == [1, 3, 1]
    pair = L.LinearOperatorBlockDiag([eye, eye])
    assert pair.matvec([1.0, 2.0]).numpy().tolist() == [1, 2]
    assert [p.numpy().tolist() for p in pair.matvec([[1.0], [2.0]])] == [[1], [2]]


def test_parts_of_wrong_sizes_and_dtypes_are_refused() -> None:
    full = L.LinearOperatorFullMatrix(np.eye(2, dtype=np.float32))
    one = np.ones((1, 1), np.float32)
    for operator in (
        L.LinearOperatorBlockDiag([full, full]),
        L.LinearOperatorBlockLowerTriangular([[full], [full, full]]),
    ):
        for method in (operator.matmul, operator.solve):
            with pytest.raises(ValueError, match=r"Dimensions 2 and 1 are not compatible"):
                method([one, np.ones((3, 1), np.float32)])
            with pytest.raises(TypeError, match=r"Found: tf.float64"):
                method([np.ones((2, 1)), np.ones((2, 1))])


def test_blocks_that_are_not_square() -> None:
    wide = L.LinearOperatorFullMatrix(np.arange(6.0).reshape(2, 3))
    operator = L.LinearOperatorBlockDiag([wide, wide.H], is_square=None)
    dense = operator.to_dense().numpy()
    assert dense.shape == (5, 5)
    x = np.arange(5.0)[:, None]
    first, second = operator.matmul([x[:3], x[3:]])
    np.testing.assert_allclose(np.concatenate([first, second]), dense @ x)
    for name in ("diag_part", "trace"):
        with pytest.raises(NotImplementedError, match=f"`{name}` not implemented .* not square"):
            getattr(operator, name)()
    np.testing.assert_allclose(operator.determinant(), 0, atol=1e-9)


def test_solutions_use_the_blocks_hints() -> None:
    rng = np.random.default_rng(1)
    diagonal = L.LinearOperatorDiag(np.array([1.0, 2.0]))
    lower = L.LinearOperatorBlockLowerTriangular(
        [[diagonal], [L.LinearOperatorFullMatrix(numbers(rng, "float64", 3, 2)),
                      L.LinearOperatorIdentity(3, dtype=tf.float64)]]
    )  # fmt: skip
    assert lower.is_non_singular is None
    x = numbers(rng, "float64", 5, 1)
    wanted = np.linalg.solve(lower.to_dense(), x)
    np.testing.assert_allclose(lower.solve(x), wanted, atol=1e-9)
    inverse = lower.inverse()
    assert [[type(o).__name__[14:] for o in row] for row in inverse.operators] == [
        ["Diag"],
        ["FullMatrix", "Identity"],
    ]


def test_parts_that_are_operators() -> None:
    rng = np.random.default_rng(6)
    matrices = [numbers(rng, "float64", 2, 2) + 2 * np.eye(2) for _ in range(4)]
    one, two, three, four = (L.LinearOperatorFullMatrix(m) for m in matrices)
    blocks = L.LinearOperatorBlockDiag([one, two])
    for found, wanted in (
        (blocks.matmul([three, four]), [matrices[0] @ matrices[2], matrices[1] @ matrices[3]]),
        (
            blocks.solve([three, four], adjoint_arg=True),
            [np.linalg.solve(matrices[i], matrices[i + 2].T) for i in range(2)],
        ),
    ):
        for got, part in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got.to_dense(), part, atol=1e-9)
    with pytest.raises(ValueError, match="to have dimension 2 but got 3"):
        blocks.matmul([L.LinearOperatorIdentity(3, dtype=tf.float64), four])
