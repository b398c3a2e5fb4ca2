"""Diagonals of matrices.

A batch of diagonals k[0] to k[1] is stored as rows, from the upper to the lower, padded to one
length; `align` says on which side the upper and the lower ones are padded. `_diag_positions` finds
where each stored element belongs; kernels of all three operations (matrix from diagonals, diagonals
of a matrix, setting them) gather or scatter by it.
"""

from functools import partial
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.prepared import UNBOUNDED
from penstock.core.shapes import ShapeContext
from penstock.ops.array_basics import reshape
from penstock.ops.composing import composed
from penstock.ops.diagonal_views import of_diagonal, with_diagonal
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any
ALIGN = "align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'"
OLD_ALIGN = "LEFT_LEFT"

_LOW = "{} must be at least {}-dim, received shape: {{}}"


def _bounds(k: Array) -> tuple[int, int]:
    flat = k.reshape(-1).tolist()
    return flat[0], flat[-1]


def _check_k(c: ShapeContext, k: Array, rows: int | None, cols: int | None) -> tuple[int, int]:
    if k.ndim > 1 or k.size not in (1, 2):
        c.fail("k with one or two entries", f"{k.tolist()}")
    low, high = _bounds(k)
    if low > high:
        c.refuse(
            f"lower_diag_index must not be larger than upper_diag_index: {low} > {high}: expected"
            " k[0] <= k[1]"
        )
    for value, which in ((low, "lower"), (high, "upper")):
        if value and (
            (rows is not None and value <= -rows) or (cols is not None and value >= cols)
        ):
            c.fail(
                f"diagonals in (-{rows}, {cols})",
                f"k = {k.tolist()}: {which}_diag_index is out of bound: {value}. It must be between"
                f" -{rows} and {cols}",
            )
    return low, high


def _length(low: int, high: int, rows: int, cols: int) -> int:
    """The length of the longest of the diagonals."""
    return min(rows + min(high, 0), cols - max(low, 0))


def _diag_positions(
    low: int, high: int, rows: int, cols: int, align: str
) -> tuple[Array, Array, Array]:
    """Row, column and validity of each stored element, as [diagonals, length] arrays."""
    length = _length(low, high, rows, cols)
    number = np.arange(high, low - 1, -1)[:, None]
    own = np.minimum(rows + np.minimum(number, 0), cols - np.maximum(number, 0))
    upper, lower = align.split("_")
    to_right = np.where(number >= 0, upper == "RIGHT", lower == "RIGHT")
    place = np.arange(length)[None, :] - np.where(to_right, length - own, 0)
    valid = (place >= 0) & (place < own)
    row = np.where(valid, place + np.maximum(-number, 0), 0)
    column = np.where(valid, place + np.maximum(number, 0), 0)
    return row, column, valid


# ---- the matrix of diagonals


def _matrix_size(
    c: ShapeContext, diag: Any, low: int, high: int, rows: int, cols: int
) -> tuple[int | None, int | None]:
    """The matrix's sizes; those not given (-1) are the smallest that hold the diagonals."""
    length = diag[-1]
    if length is None:
        return (None if rows < 0 else rows), (None if cols < 0 else cols)
    least_rows, least_cols = length - min(high, 0), length + max(low, 0)
    if rows >= 0 and cols >= 0:
        pass
    elif rows < 0 and cols < 0:
        rows = cols = max(least_rows, least_cols)
    elif rows < 0:
        rows = least_rows
    else:
        cols = least_cols
    if rows < least_rows or cols < least_cols or (rows != least_rows and cols != least_cols):
        c.fail(
            f"num_rows {least_rows} or num_cols {least_cols} for diagonals of length {length}",
            f"{rows} and {cols}",
        )
    return rows, cols


def _diag_shape(c: ShapeContext) -> Dims:
    diag, k, rows, cols = (
        c.rank_at_least(0, 1, "diagonal", partial(c.bracketed, _LOW.format("diagonal", 1), 0)),
        c.constant(1),
        c.constant(2),
        c.constant(3),
    )
    for index, name in ((2, "num_rows"), (3, "num_cols"), (4, "padding_value")):
        c.rank(index, 0, name)
    if diag is None:
        return None
    if k is None or rows is None or cols is None:
        one = c.shape(1) == () if k is None else k.min() == k.max()
        return (*diag[:-1], None, None) if one else None
    low, high = _check_k(c, k, None, None)
    if low < high and (len(diag) < 2 or diag[-2] not in (None, high - low + 1)):
        c.fail(f"{high - low + 1} diagonals in the last but one axis", f"shape {d.text(diag)}")
    batch = diag[:-1] if low == high else diag[:-2]
    return (*batch, *_matrix_size(c, diag, low, high, int(rows), int(cols)))


MATRIX_DIAG_V3 = define_op(
    "MatrixDiagV3(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T; T: "
    f"type, {ALIGN}) -> output: T",
    shape=_diag_shape,
    host_inputs=("k", "num_rows", "num_cols"),
    doc="Matrices with given diagonals and a value elsewhere.",
)
MATRIX_DIAG_V2 = define_op(
    "MatrixDiagV2(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T; T: "
    "type) -> output: T",
    shape=_diag_shape,
    host_inputs=("k", "num_rows", "num_cols"),
    doc="Matrices with given diagonals, all padded at the end, and a value elsewhere.",
)
MATRIX_DIAG = define_op(
    "MatrixDiag(diagonal: T; T: type) -> output: T",
    shape=lambda c: None if c.rank_at_least(0, 1) is None else (*c.shape(0), c.shape(0)[-1]),
    doc="Matrices with a given main diagonal and 0 elsewhere.",
)


def _make(xp: Any, diag: Array, k: Array, rows: int, cols: int, padding: Any, align: str) -> Array:
    low, high = _bounds(k)
    length = diag.shape[-1]
    least_rows, least_cols = length - min(high, 0), length + max(low, 0)
    if rows < 0 and cols < 0:
        rows = cols = max(least_rows, least_cols)
    rows, cols = (least_rows if rows < 0 else rows), (least_cols if cols < 0 else cols)
    if xp is np and low == high:
        return of_diagonal(diag, rows, cols, padding, low)
    stacked = diag[..., None, :] if low == high else diag
    base = xp.broadcast_to(padding, (*stacked.shape[:-2], rows, cols)).astype(diag.dtype)
    return _put(xp, base, stacked, low, high, align)


def _put(xp: Any, base: Array, stacked: Array, low: int, high: int, align: str) -> Array:
    row, column, valid = _diag_positions(low, high, base.shape[-2], base.shape[-1], align)
    values = stacked[(Ellipsis, *np.nonzero(valid))]
    if xp is np:
        result = base.copy()
        result[..., row[valid], column[valid]] = values
        return result
    return xp.asarray(base).at[..., row[valid], column[valid]].set(values)


@kernel(MATRIX_DIAG_V3)
def _matrix_diag_v3(
    xp: Any, diagonal: Array, k: Array, rows: Array, cols: Array, padding: Array, *, align: str
) -> Array:
    return _make(xp, diagonal, k, int(rows), int(cols), padding, align)


@kernel(MATRIX_DIAG_V2)
def _matrix_diag_v2(
    xp: Any, diagonal: Array, k: Array, rows: Array, cols: Array, padding: Array
) -> Array:
    return _make(xp, diagonal, k, int(rows), int(cols), padding, OLD_ALIGN)


@kernel(MATRIX_DIAG)
def _matrix_diag(xp: Any, diagonal: Array) -> Array:
    return _make(
        xp, diagonal, np.zeros((), np.int32), -1, -1, np.zeros((), diagonal.dtype), OLD_ALIGN
    )


def _align_of(op: Any) -> dict[str, Any]:
    return {"align": op.get_attr("align") if op.type.endswith("V3") else OLD_ALIGN}


@MATRIX_DIAG_V3.gradient
@MATRIX_DIAG_V2.gradient
def _matrix_diag_gradient(op: Any, grad: Any) -> list[Any]:
    diagonal, k = op.inputs[:2]
    part = execute("MatrixDiagPartV3", (grad, k, convert_to_tensor(0, grad.dtype)), _align_of(op))
    covered = execute(
        MATRIX_DIAG_V3,
        (execute("OnesLike", (diagonal,)), *op.inputs[1:4], convert_to_tensor(0, grad.dtype)),
        _align_of(op),
    )
    rest = execute("Mul", (grad, execute("Sub", (convert_to_tensor(1, grad.dtype), covered))))
    padding = execute("Sum", (reshape(rest, [-1]), [0]))
    return [part, None, None, None, padding]


@MATRIX_DIAG.gradient
def _matrix_diag_v1_gradient(op: Any, grad: Any) -> Any:
    return execute("MatrixDiagPartV3", (grad, 0, convert_to_tensor(0, grad.dtype)))


# ---- the diagonals of a matrix


def _diag_part_shape(c: ShapeContext) -> Dims:
    dims = c.rank_at_least(0, 2, "input", partial(c.bracketed, _LOW.format("input", 2), 0))
    k = c.constant(1)
    if dims is None or k is None:
        return None
    low, high = _check_k(c, k, dims[-2], dims[-1])
    rows, cols = dims[-2:]
    length = None if rows is None or cols is None else _length(low, high, rows, cols)
    return (*dims[:-2], length) if low == high else (*dims[:-2], high - low + 1, length)


MATRIX_DIAG_PART_V3 = define_op(
    f"MatrixDiagPartV3(input: T, k: int32, padding_value: T; T: type, {ALIGN}) -> diagonal: T",
    shape=_diag_part_shape,
    host_inputs=("k",),
    doc="Diagonals of matrices.",
)
MATRIX_DIAG_PART_V2 = define_op(
    "MatrixDiagPartV2(input: T, k: int32, padding_value: T; T: type) -> diagonal: T",
    shape=_diag_part_shape,
    host_inputs=("k",),
    doc="Diagonals of matrices, all padded at the end.",
)


def _main_part_shape(c: ShapeContext) -> Dims:
    dims = c.rank_at_least(0, 2, "input")
    return None if dims is None else (*dims[:-2], None if None in dims[-2:] else min(dims[-2:]))  # type: ignore[type-var]


MATRIX_DIAG_PART = define_op(
    "MatrixDiagPart(input: T; T: type) -> diagonal: T",
    shape=_main_part_shape,
    doc="The main diagonals of matrices.",
)


def _take(xp: Any, x: Array, k: Array, padding: Any, align: str) -> Array:
    low, high = _bounds(k)
    if xp is np and low == high:
        return np.diagonal(x, low, -2, -1).copy()
    row, column, valid = _diag_positions(low, high, x.shape[-2], x.shape[-1], align)
    result = x[..., row, column]
    if not valid.all():
        result = xp.where(valid, result, padding)
    return result[..., 0, :] if low == high else result


@kernel(MATRIX_DIAG_PART_V3)
def _diag_part_v3(xp: Any, x: Array, k: Array, padding: Array, *, align: str) -> Array:
    return _take(xp, x, k, padding, align)


@kernel(MATRIX_DIAG_PART_V2)
def _diag_part_v2(xp: Any, x: Array, k: Array, padding: Array) -> Array:
    return _take(xp, x, k, padding, OLD_ALIGN)


@kernel(MATRIX_DIAG_PART, limit=UNBOUNDED)  # it reads the diagonal alone
def _diag_part(xp: Any, x: Array) -> Array:
    return _take(xp, x, np.zeros((), np.int32), 0, OLD_ALIGN)


@MATRIX_DIAG_PART_V3.gradient
@MATRIX_DIAG_PART_V2.gradient
def _diag_part_gradient(op: Any, grad: Any) -> list[Any]:
    x, k = op.inputs[:2]
    zeros = execute("ZerosLike", (x,))
    return [execute("MatrixSetDiagV3", (zeros, grad, k), _align_of(op)), None, None]


@MATRIX_DIAG_PART.gradient
def _main_part_gradient(op: Any, grad: Any) -> Any:
    return execute("MatrixSetDiagV3", (execute("ZerosLike", (op.inputs[0],)), grad, 0))


# ---- setting diagonals


def _set_shape(c: ShapeContext) -> Dims:
    dims, diag = c.rank_at_least(0, 2, "input"), c.rank_at_least(1, 1, "diagonal")
    k = c.constant(2) if len(c) > 2 else np.zeros((), np.int32)
    one = c.shape(2) == () if k is None else k.min() == k.max()
    _check_diagonal_rank(c, dims, diag, one, k is not None)
    full = dims is not None and k is not None and None not in dims
    if one and diag is not None and not full:  # a step compares the batches of full shapes
        dims = c.merge(dims, (*diag[:-1], None, None))
    if dims is None or diag is None or k is None or None in dims[-2:]:
        return dims
    low, high = _check_k(c, k, dims[-2], dims[-1])
    length = _length(low, high, dims[-2], dims[-1])  # type: ignore[arg-type]
    wanted = (*dims[:-2], length) if low == high else (*dims[:-2], high - low + 1, length)
    if not d.compatible(wanted, diag):
        many = len(wanted) == len(diag) and low != high and wanted[-2] != diag[-2]
        what = "The number of diagonals is not that of k"
        if not many:
            what = "Either first dimensions of diagonal don't match input.shape[:-2], or no length"
        expected = f"a diagonal of shape {d.text(wanted)}"
        got = f"shape {d.text(diag)}: {what}. Input shape:"
        got += f" {d.bracketed(dims)} Diagonal shape: {d.bracketed(diag)}"
        if len(c) == 2 and wanted[-1] != diag[-1]:  # graphs of the first version hold no others
            length_fact = f": Dimensions must be equal, but are {wanted[-1]} and {diag[-1]}"
            c.fail(expected, got + c.says("", length_fact))
        c.fail_at_step(expected, got, known=dims)
    return dims


def _check_diagonal_rank(c: ShapeContext, dims: Dims, diag: Dims, one: bool, many: bool) -> None:
    """Refuses, while a graph is built, a diagonal of another rank than one or many need."""
    if dims is None or diag is None or c.running or not (one or many):
        return
    wanted = len(dims) - one
    if len(diag) != wanted:
        fact = f"Shape must be rank {wanted} but is rank {len(diag)}"
        c.fail(f"a diagonal of rank {wanted}", f"shape {d.text(diag)}: {fact}")


MATRIX_SET_DIAG_V3 = define_op(
    f"MatrixSetDiagV3(input: T, diagonal: T, k: int32; T: type, {ALIGN}) -> output: T",
    shape=_set_shape,
    host_inputs=("k",),
    doc="Matrices with other diagonals.",
)
MATRIX_SET_DIAG_V2 = define_op(
    "MatrixSetDiagV2(input: T, diagonal: T, k: int32; T: type) -> output: T",
    shape=_set_shape,
    host_inputs=("k",),
    doc="Matrices with other diagonals, all padded at the end.",
)
MATRIX_SET_DIAG = define_op(
    "MatrixSetDiag(input: T, diagonal: T; T: type) -> output: T",
    shape=_set_shape,
    doc="Matrices with another main diagonal.",
)


def _set(xp: Any, x: Array, diag: Array, k: Array, align: str) -> Array:
    low, high = _bounds(k)
    if xp is np and low == high:
        return with_diagonal(x, diag, low)
    return _put(xp, x, diag[..., None, :] if low == high else diag, low, high, align)


@kernel(MATRIX_SET_DIAG_V3)
def _set_diag_v3(xp: Any, x: Array, diagonal: Array, k: Array, *, align: str) -> Array:
    return _set(xp, x, diagonal, k, align)


@kernel(MATRIX_SET_DIAG_V2)
def _set_diag_v2(xp: Any, x: Array, diagonal: Array, k: Array) -> Array:
    return _set(xp, x, diagonal, k, OLD_ALIGN)


@kernel(MATRIX_SET_DIAG)
def _set_diag(xp: Any, x: Array, diagonal: Array) -> Array:
    return _set(xp, x, diagonal, np.zeros((), np.int32), OLD_ALIGN)


@MATRIX_SET_DIAG_V3.gradient
@MATRIX_SET_DIAG_V2.gradient
@MATRIX_SET_DIAG.gradient
def _set_diag_gradient(op: Any, grad: Any) -> list[Any]:
    diagonal = op.inputs[1]
    k: Any = op.inputs[2] if len(op.inputs) > 2 else 0
    align = _align_of(op)
    own = execute(MATRIX_SET_DIAG_V3, (grad, execute("ZerosLike", (diagonal,)), k), align)
    theirs = execute(MATRIX_DIAG_PART_V3, (grad, k, convert_to_tensor(0, grad.dtype)), align)
    return [own, theirs, None][: len(op.inputs)]


# ---- public functions


def diag(
    diagonal: Any,
    name: str = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Matrices with given diagonals and a value elsewhere.

    Args:
      diagonal: a tensor of shape [..., length], or [..., diagonals, length] for several.
      name: the name in a graph.
      k: int32 scalar or [low, high]: which diagonals, 0 the main one, positive above it.
      num_rows: rows of a matrix; as few as possible by default.
      num_cols: columns of a matrix; as few as possible by default.
      padding_value: the value elsewhere.
      align: on which side upper and lower diagonals are padded.

    Returns:
      A tensor of shape [..., rows, columns].

    Raises:
      InvalidArgumentError, ValueError: sizes do not fit.

    Example:
      >>> diag([1, 2]).numpy().tolist()
      [[1, 0], [0, 2]]
    """
    diagonal = convert_to_tensor(diagonal)
    padding = convert_to_tensor(_as(padding_value, diagonal), diagonal.dtype)
    return execute(
        MATRIX_DIAG_V3, (diagonal, k, num_rows, num_cols, padding), {"align": align}, name
    )


def _as(value: Any, like: Any) -> Any:
    """A Python 0 as the value of `like`'s dtype that stands for it."""
    return bool(value) if like.dtype.is_bool and isinstance(value, int) else value


def diag_part(
    input: Any,
    name: str = "diag_part",
    k: Any = 0,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Diagonals of matrices.

    Args:
      input: a tensor of shape [..., M, N].
      name: the name in a graph.
      k: int32 scalar or [low, high]: which diagonals.
      padding_value: what shorter diagonals are padded with.
      align: on which side upper and lower diagonals are padded.

    Returns:
      A tensor of shape [..., length], or [..., diagonals, length] for several.

    Raises:
      InvalidArgumentError, ValueError: there is no such diagonal.

    Example:
      >>> diag_part([[1, 2], [3, 4]]).numpy().tolist()
      [1, 4]
    """
    input = convert_to_tensor(input)
    padding = convert_to_tensor(_as(padding_value, input), input.dtype)
    return execute(MATRIX_DIAG_PART_V3, (input, k, padding), {"align": align}, name)


def set_diag(
    input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0, align: str = "RIGHT_LEFT"
) -> Any:
    """Matrices with other diagonals.

    Args:
      input: a tensor of shape [..., M, N].
      diagonal: a tensor of shape [..., length], or [..., diagonals, length] for several.
      name: the name in a graph.
      k: int32 scalar or [low, high]: which diagonals.
      align: on which side upper and lower diagonals are padded.

    Returns:
      A tensor like `input`.

    Raises:
      InvalidArgumentError, ValueError: sizes do not fit.
    """
    return execute(MATRIX_SET_DIAG_V3, (input, diagonal, k), {"align": align}, name)


@composed("Trace")
def trace(x: Any, name: str | None = None) -> Any:
    """The sums of the main diagonals of matrices.

    Args:
      x: a numeric tensor of shape [..., M, N].
      name: the name in a graph.

    Returns:
      A tensor of shape [...].
    """
    return execute("Sum", (diag_part(x), [-1]), None, name)
