"""Tridiagonal matrices: equations, products, eigenvalues.

The diagonals come in one of three formats: "compact", one tensor [..., 3, M] with the diagonal
above the main one, the main one and the one below; "sequence", these three as tensors of their own;
"matrix", the whole matrix [..., M, M]. See `linalg_banded` for the operations.
"""

from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops.array_diag import diag, diag_part
from penstock.ops.array_join import stack
from penstock.ops.array_order import matrix_transpose
from penstock.ops.array_pad import pad
from penstock.ops.array_select import boolean_mask
from penstock.ops.composing import composed, expand, squeeze
from penstock.ops.debug_asserts import assert_less, assert_less_equal
from penstock.ops.linalg_banded import TRIDIAGONAL_PRODUCT, TRIDIAGONAL_SOLVE
from penstock.ops.linalg_common import adjoint
from penstock.ops.linalg_decompose import eigh, eigvalsh
from penstock.ops.math_arithmetic import conjugate
from penstock.ops.math_cast import cast, real
from penstock.types import dims as d

_SIDES = ("superdiagonal", "main diagonal", "subdiagonal")
_ORDER = {"a": "all", "i": "those from one position to another", "v": "those in an interval"}


def _tensors(values: Any) -> list[Any]:
    if not isinstance(values, (tuple, list)) or len(values) != 3:
        raise ValueError(
            "Expected diagonals to be a sequence of length 3: the superdiagonal, the main diagonal "
            f"and the subdiagonal, got {values!r}. Pass diagonals_format='compact' for one tensor."
        )
    return [convert_to_tensor(v) for v in values]


def _padded(part: Any, width: int | None, which: int) -> Any:
    """A diagonal of the width of the main one; one that is shorter by one gets a zero."""
    own = None if part.dims is None else part.dims[-1]
    if own is None or width is None or own == width:
        return part
    if own != width - 1:
        raise ValueError(
            f"Expected {_SIDES[which]} to be have length {width} or {width - 1}, got {own}. The "
            f"main diagonal has length {width}."
        )
    edges = np.zeros((len(part.dims), 2), np.int32)
    edges[-1] = (0, 1) if which == 0 else (1, 0)
    return pad(part, edges)


def _from_matrix(matrix: Any) -> Any:
    matrix = convert_to_tensor(matrix)
    if matrix.dims is not None:
        rows, columns = matrix.dims[-2:]
        if rows is not None and columns is not None and rows != columns:
            raise ValueError(
                f"Expected last two dimensions of diagonals to be same, got {columns} and {rows}. "
                "Pass a square matrix, or its diagonals with diagonals_format='compact'."
            )
        if rows == 1:
            nothing = execute("ZerosLike", (matrix,))
            return execute("ConcatV2", ([nothing, matrix, nothing], np.int32(-2)))
    return diag_part(matrix, k=(-1, 1), align="LEFT_RIGHT")


def compact(diagonals: Any, diagonals_format: str) -> Any:
    """The diagonals of a tridiagonal matrix as one tensor [..., 3, M], whatever their format.

    Raises:
      ValueError: there is no such format, or the diagonals are not as it says.
    """
    if diagonals_format == "compact":
        return convert_to_tensor(diagonals)
    if diagonals_format == "matrix":
        return _from_matrix(diagonals)
    if diagonals_format != "sequence":
        raise ValueError(
            f"Unrecognized diagonals_format: {diagonals_format}. Expected 'compact', 'sequence' or "
            "'matrix'."
        )
    parts = _tensors(diagonals)
    width = None if parts[1].dims is None else parts[1].dims[-1]
    return stack([_padded(part, width, i) for i, part in enumerate(parts)], -2)


def _rank_difference(diagonals: Any, rhs: Any) -> int:
    """0 for right-hand sides that are matrices, 1 for vectors; checks the shapes as far as known.

    Where a rank is unknown they are taken for matrices.

    Raises:
      ValueError: the ranks, stacks or sizes do not fit.
    """
    if diagonals.dims is None or rhs.dims is None:
        return 0
    rank = len(diagonals.dims)
    if rank < 2:
        raise ValueError(f"Expected diagonals to have rank at least 2, got {rank}")
    if len(rhs.dims) not in (rank, rank - 1):
        raise ValueError(
            f"Expected the rank of rhs to be {rank - 1} or {rank}, got {len(rhs.dims)}"
        )
    if diagonals.dims[-2] not in (3, None):
        raise ValueError(f"Expected 3 diagonals got {diagonals.dims[-2]}")
    lead = diagonals.dims[:-2]
    if not d.compatible(lead, rhs.dims[: rank - 2]):
        raise ValueError(
            f"Batch shapes {lead} and {rhs.dims[: rank - 2]} are incompatible. Repeat one of them "
            "with tf.broadcast_to."
        )
    return rank - len(rhs.dims)


def _check_rows(diagonals: Any, rhs: Any) -> None:
    if diagonals.dims is None or rhs.dims is None:
        return
    wanted, given = diagonals.dims[-1], rhs.dims[-2]
    if wanted is not None and given is not None and wanted != given:
        raise ValueError(
            "Expected number of left-hand sided and right-hand sides to be equal, got "
            f"{wanted} and {given}"
        )


@composed("tridiagonal_solve")
def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Any:
    """Solves A X = rhs for tridiagonal matrices A.

    Args:
      diagonals: float32, float64 or complex: [..., 3, M], three tensors [..., M], or [..., M, M],
        as `diagonals_format` says. The superdiagonal's last and the subdiagonal's first element are
        not read; in a sequence they may be left out.
      rhs: tensor [..., M] or [..., M, K] of the same dtype and stack; the latter where the rank of
        either is unknown.
      diagonals_format: "compact", "sequence" or "matrix".
      transpose_rhs: whether `rhs` is [..., K, M]; makes no difference to vectors.
      conjugate_rhs: whether the conjugate of `rhs` is meant.
      name: the name of the result in a graph.
      partial_pivoting: whether rows are exchanged for the larger pivot.
      perturb_singular: whether pivots that are nearly zero are made as large as the precision, so
        that singular matrices have a (large) solution instead of NaN.

    Returns:
      Tensor [..., M] or [..., M, K]; NaN where a matrix is singular.

    Raises:
      ValueError: the format, a rank or a size does not fit, or `perturb_singular` without
        `partial_pivoting`.

    Example:
      >>> tridiagonal_solve([[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]], [3.0, 3.0]).numpy().tolist()
      [1.0, 1.0]
    """
    if perturb_singular and not partial_pivoting:
        raise ValueError(
            "partial_pivoting must be True if perturb_singular is. Got partial_pivoting=False."
        )
    diagonals, rhs = compact(diagonals, diagonals_format), convert_to_tensor(rhs)
    attrs = {"partial_pivoting": partial_pivoting, "perturb_singular": perturb_singular}
    if _rank_difference(diagonals, rhs):
        rhs = expand(conjugate(rhs) if conjugate_rhs else rhs, -1)
        _check_rows(diagonals, rhs)
        x = squeeze(execute(TRIDIAGONAL_SOLVE, (diagonals, rhs), attrs), -1)
        return execute("Identity", (x,), None, name) if name else x
    if transpose_rhs:
        rhs = adjoint(rhs) if conjugate_rhs else matrix_transpose(rhs)
    elif conjugate_rhs:
        rhs = conjugate(rhs)
    _check_rows(diagonals, rhs)
    return execute(TRIDIAGONAL_SOLVE, (diagonals, rhs), attrs, name)


@composed("tridiagonal_matmul")
def tridiagonal_matmul(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None
) -> Any:
    """Multiplies tridiagonal matrices and matrices.

    Args:
      diagonals: float32, float64 or complex: [..., 3, M], three tensors [..., M], or [..., M, M],
        as `diagonals_format` says.
      rhs: tensor [..., M, K] of the same dtype and stack.
      diagonals_format: "compact", "sequence" or "matrix".
      name: the name of the result in a graph.

    Returns:
      Tensor [..., M, K].

    Raises:
      ValueError: the format is unknown, or the matrix is not square.
      InvalidArgumentError, ValueError: the shapes do not fit.

    Example:
      >>> tridiagonal_matmul([[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]], [[1.0], [1.0]]).numpy().tolist()
      [[3.0], [3.0]]
    """
    if diagonals_format == "sequence":
        parts = [expand(part, -2) for part in _tensors(diagonals)]
    else:
        whole = compact(diagonals, diagonals_format)
        parts = [whole[..., i : i + 1, :] for i in range(3)]
    return execute(TRIDIAGONAL_PRODUCT, (*parts, rhs), None, name)


def _check_eigen_arguments(alpha: Any, beta: Any, select: str, select_range: Any) -> None:
    if alpha.dtype != beta.dtype:
        raise ValueError(
            f"'alpha' and 'beta' must have the same type. Got {alpha.dtype.name} and "
            f"{beta.dtype.name}. Cast one of them."
        )
    if not (alpha.dtype.is_floating or alpha.dtype.is_complex):
        raise ValueError(
            f"eigh_tridiagonal: expected floating or complex diagonals, got {alpha.dtype.name}. "
            "Cast them."
        )
    if select not in _ORDER:
        raise ValueError(
            f"'select must have a value in {{'a', 'i', 'v'}}. Got {select!r}: expected "
            + ", ".join(f"{k!r} ({v})" for k, v in _ORDER.items())
        )
    if select != "a" and (not isinstance(select_range, (tuple, list)) or len(select_range) != 2):
        raise TypeError(
            f"eigh_tridiagonal: expected select_range, two numbers, for select={select!r}, got "
            f"{select_range!r}."
        )


@composed("eigh_tridiagonal")
def eigh_tridiagonal(
    alpha: Any,
    beta: Any,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: Any = None,
    name: str | None = None,
) -> Any:
    """Returns the eigenvalues, and vectors, of a self-adjoint tridiagonal matrix.

    Args:
      alpha: floating or complex [N], the main diagonal, of which the real part is read.
      beta: [N - 1] of the same dtype, the superdiagonal; the subdiagonal is its conjugate.
      eigvals_only: whether the vectors are left out.
      select: "a" for all eigenvalues, "i" for those from position `select_range[0]` to
        `select_range[1]`, both included, "v" for those in (select_range[0], select_range[1]].
      select_range: two numbers for `select` other than "a".
      tol: the absolute error that is allowed; the result is always as exact as the dtype permits.
      name: the name of the scope in a graph.

    Returns:
      `eigvals`, real [K], smallest first; with vectors the pair of it and [N, K], whose columns are
      the vectors.

    Raises:
      ValueError: the dtypes differ or are not floating, or there is no such `select`.
      TypeError: `select_range` is missing.
      InvalidArgumentError: `select_range` is empty.

    Example:
      >>> eigh_tridiagonal([2.0, 2.0], [1.0]).numpy().round(4).tolist()
      [1.0, 3.0]
    """
    del tol, name
    alpha, beta = convert_to_tensor(alpha), convert_to_tensor(beta)
    _check_eigen_arguments(alpha, beta, select, select_range)
    if alpha.dtype.is_complex:
        alpha = cast(real(alpha), alpha.dtype)
    dense = diag(alpha)
    if alpha.dims is None or alpha.dims[-1] != 1:
        dense = execute("AddV2", (dense, diag(conjugate(beta), k=-1)))
    if eigvals_only:
        values, vectors = eigvalsh(dense), None
    else:
        values, vectors = eigh(dense)
    values = real(values) if values.dtype.is_complex else values
    if select != "a":
        values, vectors = _selected(values, vectors, select, select_range)
    return values if eigvals_only else (values, vectors)


def _selected(values: Any, vectors: Any, select: str, bounds: Any) -> tuple[Any, Any]:
    low, high = bounds
    if select == "i":
        assert_less_equal(low, high, message="Got empty index range in select_range.")
        span = slice(low, high + 1)
        return values[span], None if vectors is None else vectors[:, span]
    low, high = (convert_to_tensor(b, values.dtype) for b in bounds)
    assert_less(low, high, message="Got empty interval in select_range.")
    inside = execute("Greater", (values, low)), execute("LessEqual", (values, high))
    mask = execute("LogicalAnd", inside)
    chosen = None if vectors is None else boolean_mask(vectors, mask, axis=1)
    return boolean_mask(values, mask), chosen
