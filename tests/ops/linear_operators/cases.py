"""Linear operators of every kind, each with the dense matrix that NumPy builds from its parameters.

A case is made for a dtype and a shape of the stack; the matrices are far from singular.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import penstock as tf

L = tf.linalg
DTYPES = ("float32", "float64", "complex64", "complex128")
NEAR = {"float32": 2e-4, "float64": 1e-9, "complex64": 2e-4, "complex128": 1e-9}
SIZE = 4


class Case(NamedTuple):
    """An operator and its matrices."""

    operator: Any
    dense: np.ndarray


def numbers(rng: Any, dtype: str, *shape: int) -> np.ndarray:
    """Numbers within -1 and 1, complex ones for a complex dtype."""
    value = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        value = value + 1j * rng.uniform(-1, 1, shape)
    return value.astype(dtype)


def adjoint(x: np.ndarray) -> np.ndarray:
    """The conjugate transposes."""
    return np.conj(np.swapaxes(x, -1, -2))


def clear(rng: Any, dtype: str, *shape: int) -> np.ndarray:
    """Square matrices far from singular ones, not self-adjoint."""
    return numbers(rng, dtype, *shape) * 0.4 + np.diag(np.arange(2.0, shape[-1] + 2)).astype(dtype)


def positive(rng: Any, dtype: str, *shape: int) -> np.ndarray:
    """Positive definite self-adjoint matrices."""
    value = numbers(rng, dtype, *shape)
    product = (value @ adjoint(value) / shape[-1] + 2 * np.eye(shape[-1])).astype(dtype)
    return (product + adjoint(product)) / 2


def full(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    matrix = clear(rng, dtype, *batch, SIZE, SIZE)
    return Case(L.LinearOperatorFullMatrix(matrix), matrix)


def definite(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    matrix = positive(rng, dtype, *batch, SIZE, SIZE)
    hints = {"is_self_adjoint": True, "is_positive_definite": True}
    return Case(L.LinearOperatorFullMatrix(matrix, **hints), matrix)


def diag(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    vector = numbers(rng, dtype, *batch, SIZE) + 2
    return Case(L.LinearOperatorDiag(vector), vector[..., None] * np.eye(SIZE, dtype=dtype))


def triangular(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    matrix = clear(rng, dtype, *batch, SIZE, SIZE)
    return Case(L.LinearOperatorLowerTriangular(matrix), np.tril(matrix))


def identity(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    dense = np.broadcast_to(np.eye(SIZE, dtype=dtype), (*batch, SIZE, SIZE))
    return Case(L.LinearOperatorIdentity(SIZE, batch or None, dtype=dtype), dense)


def scaled(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    value = np.asarray(numbers(rng, dtype, *batch) + 2, dtype)
    operator = L.LinearOperatorScaledIdentity(SIZE, value)
    return Case(operator, value[..., None, None] * np.eye(SIZE, dtype=dtype))


def householder(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    axis = numbers(rng, dtype, *batch, SIZE)
    lengths = (np.abs(axis) ** 2).sum(-1)[..., None, None]
    outer = axis[..., :, None] * np.conj(axis[..., None, :])
    dense = (np.eye(SIZE) - 2 * outer / lengths).astype(dtype)
    return Case(L.LinearOperatorHouseholder(axis), dense)


def permutation(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    order = rng.permuted(np.broadcast_to(np.arange(SIZE), (*batch, SIZE)), axis=-1)
    dense = np.zeros((*batch, SIZE, SIZE), dtype)
    np.put_along_axis(dense, order[..., None], 1, axis=-1)
    return Case(L.LinearOperatorPermutation(order, dtype=dtype), dense)


def circulant_matrix(kernel: np.ndarray, depth: int) -> np.ndarray:
    """The matrices of convolutions with wrap-around, from the kernels."""
    sizes = kernel.shape[-depth:]
    places = np.indices(sizes).reshape(depth, -1)
    away = (places[:, :, None] - places[:, None, :]) % np.array(sizes)[:, None, None]
    return kernel[(..., *away)]


def circulant(depth: int) -> Callable[..., Case]:
    kind = {1: L.LinearOperatorCirculant, 2: L.LinearOperatorCirculant2D}
    kind[3] = L.LinearOperatorCirculant3D
    sizes = {1: (4,), 2: (2, 3), 3: (2, 2, 3)}[depth]

    def make(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
        axes = tuple(range(-depth, 0))
        kernel = numbers(rng, dtype, *batch, *sizes) / 10
        kernel[(..., *[0] * depth)] += 2
        spectrum = np.fft.fftn(kernel, axes=axes)
        wide = np.complex64 if dtype in ("float32", "complex64") else np.complex128
        operator = kind[depth](spectrum.astype(wide), input_output_dtype=dtype)
        return Case(operator, circulant_matrix(kernel, depth))

    return make


def toeplitz(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    col, row = numbers(rng, dtype, *batch, SIZE), numbers(rng, dtype, *batch, SIZE)
    col[..., 0] += 4
    dense = np.empty((*batch, SIZE, SIZE), dtype)
    for i in range(SIZE):
        for j in range(SIZE):
            dense[..., i, j] = col[..., i - j] if i >= j else row[..., j - i]
    return Case(L.LinearOperatorToeplitz(col, row), dense)


def tridiagonal(form: str) -> Callable[..., Case]:
    def make(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
        diagonals = numbers(rng, dtype, *batch, 3, SIZE)
        diagonals[..., 1, :] += 4
        dense = np.zeros((*batch, SIZE, SIZE), dtype)
        for i in range(SIZE):
            dense[..., i, i] = diagonals[..., 1, i]
            if i + 1 < SIZE:
                dense[..., i, i + 1] = diagonals[..., 0, i]
                dense[..., i + 1, i] = diagonals[..., 2, i + 1]
        given = {
            "compact": diagonals,
            "sequence": [diagonals[..., i, :] for i in range(3)],
            "matrix": dense + 7 * np.triu(np.ones((SIZE, SIZE), dtype), 2),  # not read
        }[form]
        return Case(L.LinearOperatorTridiag(given, diagonals_format=form), dense)

    return make


def kronecker(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    parts = [clear(rng, dtype, *batch, 2, 2), clear(rng, dtype, 3, 3), clear(rng, dtype, 1, 1)]
    operators = [L.LinearOperatorFullMatrix(part) for part in parts]
    dense = np.einsum("...ij,kl->...ikjl", parts[0], parts[1]).reshape(*batch, 6, 6)
    return Case(L.LinearOperatorKronecker(operators), dense * parts[2][0, 0])


def block_diag(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    one, two = clear(rng, dtype, *batch, 2, 2), clear(rng, dtype, 3, 3)
    dense = np.zeros((*batch, 5, 5), dtype)
    dense[..., :2, :2], dense[..., 2:, 2:] = one, two
    blocks = [L.LinearOperatorFullMatrix(part) for part in (one, two)]
    return Case(L.LinearOperatorBlockDiag(blocks), dense)


def block_triangular(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    sizes = (2, 1, 3)
    starts = np.cumsum((0, *sizes))
    dense = np.zeros((*batch, 6, 6), dtype)
    rows: list[list[Any]] = []
    for i, height in enumerate(sizes):
        rows.append([])
        for j, width in enumerate(sizes[: i + 1]):
            lead = batch if j == 0 else ()
            make = clear if i == j else numbers
            part = make(rng, dtype, *lead, height, width)
            dense[..., starts[i] : starts[i + 1], starts[j] : starts[j + 1]] = part
            rows[i].append(L.LinearOperatorFullMatrix(part))
    return Case(L.LinearOperatorBlockLowerTriangular(rows), dense)


def low_rank(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    base = numbers(rng, dtype, SIZE) + 3
    u, v = (numbers(rng, dtype, *batch, SIZE, 2) for _ in range(2))
    update = numbers(rng, dtype, 2) + 2
    operator = L.LinearOperatorLowRankUpdate(L.LinearOperatorDiag(base), u, update, v)
    return Case(operator, np.diag(base) + (u * update) @ adjoint(v))


def low_rank_definite(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    base, u = rng.uniform(2, 3, SIZE).astype(dtype), numbers(rng, dtype, *batch, SIZE, 2)
    hints = {"is_self_adjoint": True, "is_positive_definite": True}
    operator = L.LinearOperatorLowRankUpdate(L.LinearOperatorDiag(base, **hints), u)
    return Case(operator, np.diag(base) + u @ adjoint(u))


def composition(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    one, two = clear(rng, dtype, *batch, SIZE, SIZE), clear(rng, dtype, SIZE, SIZE)
    operators = [L.LinearOperatorFullMatrix(part) for part in (one, two)]
    return Case(L.LinearOperatorComposition(operators), one @ two)


def adjoint_operator(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    operator, dense = full(rng, dtype, batch)
    return Case(L.LinearOperatorAdjoint(operator), adjoint(dense))


def inversion(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    operator, dense = full(rng, dtype, batch)
    return Case(L.LinearOperatorInversion(operator), np.linalg.inv(dense))


class Plain(L.LinearOperator):
    """An operator that can only multiply, as a user would write it."""

    def __init__(self, matrix: Any, is_self_adjoint: Any = None) -> None:
        self.matrix = tf.convert_to_tensor(matrix)
        super().__init__(self.matrix.dtype, is_self_adjoint=is_self_adjoint)

    def _shape(self) -> Any:
        return self.matrix.shape

    def _shape_tensor(self) -> Any:
        return tf.shape(self.matrix)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return tf.matmul(self.matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)


def plain(rng: Any, dtype: str, batch: tuple[int, ...]) -> Case:
    matrix = clear(rng, dtype, *batch, SIZE, SIZE)
    return Case(Plain(matrix), matrix)


SQUARE: dict[str, Callable[..., Case]] = {
    "full": full,
    "definite": definite,
    "diag": diag,
    "triangular": triangular,
    "identity": identity,
    "scaled": scaled,
    "householder": householder,
    "permutation": permutation,
    "circulant": circulant(1),
    "circulant2d": circulant(2),
    "circulant3d": circulant(3),
    "toeplitz": toeplitz,
    "tridiag": tridiagonal("compact"),
    "tridiag_sequence": tridiagonal("sequence"),
    "tridiag_matrix": tridiagonal("matrix"),
    "kronecker": kronecker,
    "block_diag": block_diag,
    "block_triangular": block_triangular,
    "low_rank": low_rank,
    "low_rank_definite": low_rank_definite,
    "composition": composition,
    "adjoint": adjoint_operator,
    "inversion": inversion,
    "plain": plain,
}


def oblong(rng: Any, dtype: str, rows: int, columns: int) -> Case:
    matrix = numbers(rng, dtype, rows, columns)
    return Case(L.LinearOperatorFullMatrix(matrix), matrix)


def oblong_cases(rng: Any, dtype: str) -> dict[str, Case]:
    """Operators with more columns than rows, or the other way round."""
    wide, tall = oblong(rng, dtype, 2, 3), oblong(rng, dtype, 3, 1)
    square = oblong(rng, dtype, 2, 2)
    blocks = np.zeros((5, 4), dtype)
    blocks[:2, :3], blocks[2:, 3:] = wide.dense, tall.dense
    zeros = L.LinearOperatorZeros(2, 3, dtype=dtype, is_square=False, is_self_adjoint=False)
    return {
        "full": wide,
        "zeros": Case(zeros, np.zeros((2, 3), dtype)),
        "adjoint": Case(L.LinearOperatorAdjoint(wide.operator), adjoint(wide.dense)),
        "composition": Case(
            L.LinearOperatorComposition([square.operator, wide.operator]),
            square.dense @ wide.dense,
        ),
        "kronecker": Case(
            L.LinearOperatorKronecker([wide.operator, tall.operator]),
            np.kron(wide.dense, tall.dense),
        ),
        "block_diag": Case(
            L.LinearOperatorBlockDiag([wide.operator, tall.operator], is_square=False), blocks
        ),
        "plain": Case(Plain(wide.dense), wide.dense),
    }
