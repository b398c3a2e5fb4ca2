"""Equations and products of matrices of which only a few diagonals are not zero.

Diagonals come as rows of a matrix, padded to its width: `diagonals[..., 0, :]` is the one above the
main diagonal (its last element is not read), `[..., 2, :]` the one below (its first is not). The
public functions on tridiagonal matrices in their three formats are in `linalg_tridiagonal`.

Source: Golub and Van Loan, Matrix Computations, 4th edition, sections 4.3.2 and 4.3.6.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_arrays, native_matrices
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel
from penstock.core.lazy import jnp, lax
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.array_join import stack
from penstock.ops.composing import expand, total
from penstock.ops.linalg_common import wide
from penstock.ops.linalg_host import ANY_SIZE
from penstock.ops.math_arithmetic import conjugate, multiply, negative, sum_like
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer
NUMBERS = "{double, float, complex64, complex128}"


def below(x: Any, count: int, along: int = -2) -> Any:
    """Rows (or columns) moved down (right) by `count`, with zeros in their place; up if negative.

    Args:
      x: tensor [..., M, K].
      count: how far, within -M..M.
      along: -2 for rows, -1 for columns.
    """
    if not count:
        return x
    halves = slice(None, -count), slice(-count, None)
    head, tail = (x[..., part, :] if along == -2 else x[..., part] for part in halves)
    kept, left = (head, tail) if count > 0 else (tail, head)
    zeros = execute("ZerosLike", (left,))
    parts = [zeros, kept] if count > 0 else [kept, zeros]
    return execute("ConcatV2", (parts, np.int32(along)))


# ---- tridiagonal equations


def _tridiagonal_shape(c: ShapeContext) -> Dims:
    diagonals, rhs = c.rank_at_least(0, 2, "diagonals"), c.rank_at_least(1, 2, "rhs")
    if diagonals is None or rhs is None:
        return rhs
    if len(diagonals) != len(rhs):
        c.fail(
            "All inputs must have the same rank",
            f"{d.text(diagonals)} and {d.text(rhs)}",
            "Repeat one of them with tf.broadcast_to.",
        )
    if diagonals[-2] not in (3, None):
        c.fail("three rows of diagonals", f"diagonals {d.text(diagonals)}")
    c.merge(diagonals[:-2], rhs[:-2])
    c.merge(diagonals[-1:], rhs[-2:-1])
    return rhs


TRIDIAGONAL_SOLVE = define_op(
    "TridiagonalSolve(diagonals: T, rhs: T; partial_pivoting: bool = True, perturb_singular: bool ="
    f" False, T: {NUMBERS}) -> output: T",
    shape=_tridiagonal_shape,
    doc="Solutions of tridiagonal equations; NaN where a matrix is singular.",
)

# A row that the elimination has reached: its pivot, the two elements to its right, its right side,
# and the sum of the sizes of the elements that it started with.
Row = tuple[Array, Array, Array, Array, Array]


def _start(xp: Any, pivot: Array, right: Array, b: Array) -> Row:
    return pivot, right, xp.zeros_like(pivot), b, xp.abs(pivot) + xp.abs(right)


def _eliminate(
    xp: Any, row: Row, following: tuple[Array, ...], pivoting: bool, scaled: bool
) -> tuple[Row, Row]:
    """One step: the finished row, and what the next one has become.

    `scaled`: pivots count in relation to their rows, as in LAPACK's dlagtf.
    """
    pivot, right, _, b, scale = row
    low, main, high, b_next = following
    next_scale = xp.abs(low) + xp.abs(main) + xp.abs(high)
    if not pivoting:
        swap = xp.zeros(pivot.shape, bool)
    elif scaled:
        swap = _share(xp, low, next_scale) > _share(xp, pivot, scale)
    else:
        swap = xp.abs(low) > xp.abs(pivot)
    zero = xp.zeros_like(high)
    top = [xp.where(swap, n, o) for n, o in ((low, pivot), (main, right), (high, zero))]
    rest = [xp.where(swap, o, n) for n, o in ((low, pivot), (main, right), (high, zero))]
    b_top, b_rest = xp.where(swap, b_next, b), xp.where(swap, b, b_next)
    done = (top[0] == 0) | ((rest[0] == 0) & scaled)
    factor = xp.where(done, 0, rest[0] / xp.where(top[0] == 0, 1, top[0]))
    scale = xp.where(swap, scale, next_scale)
    finished = (top[0], top[1], top[2], b_top, scale)
    sides = rest[1] - factor * top[1], rest[2] - factor * top[2]
    return finished, (*sides, zero, b_rest - factor * b_top, scale)


def _share(xp: Any, pivot: Array, scale: Array) -> Array:
    """Which share a pivot has in the size of its row; 0 for zeros."""
    return xp.where(pivot == 0, 0, xp.abs(pivot) / xp.where(pivot == 0, 1, scale))


def _rows(xp: Any, diagonals: Array, rhs: Array) -> tuple[Array, ...]:
    """The low, main and high elements [M, ..., 1] and the right-hand sides [M, ..., K]."""
    high, main, low = (xp.moveaxis(diagonals[..., i, :], -1, 0)[..., None] for i in range(3))
    first = (xp.arange(main.shape[0]) > 0).reshape((-1,) + (1,) * (main.ndim - 1))
    last = first[::-1]
    return xp.where(first, low, 0), main, xp.where(last, high, 0), xp.moveaxis(rhs, -2, 0)


def _nan_if_singular(xp: Any, pivots: Array) -> Array:
    """The pivots to divide by: NaN for a matrix of which one is zero."""
    return xp.where((pivots == 0).any(0), np.nan, pivots)


def _raising(xp: Any, first: Row, parts: list[Array]) -> Array:
    """The first steps by which pivots are raised: float[..., 1].

    The precision of the largest element, or the least normal number. As in TensorFlow, that is the
    largest of the first row as given and of the triangular matrix without its last row but one.
    """
    alone = xp.stack([first[0], first[1], parts[0][-1]])
    sizes = xp.abs(xp.concatenate([alone, *(part[:-2] for part in parts[:3])]))
    facts = np.finfo(sizes.dtype)
    return xp.maximum(facts.eps * sizes.max(0), facts.tiny)


def _must_rise(xp: Any, pivot: Array, values: Array) -> Array:
    """Whether a quotient of the values [..., K] by the pivot [..., 1] may overflow: [..., 1]."""
    least = np.finfo(pivot.dtype).tiny
    size = xp.abs(pivot)
    over = ((size < 1) & (xp.abs(values) > size / least)).any(-1, keepdims=True)
    return (size < least) | over


def _raised(xp: Any, pivot: Array, values: Array, step: Array) -> Array:
    """The pivot, raised away from zero until quotients by it are finite, in steps that double."""

    def rise(state: tuple[Array, Array]) -> tuple[Array, Array]:
        now, more = state
        low = _must_rise(xp, now, values)
        return xp.where(low, now + more, now), xp.where(low, 2 * more, more)

    state = (pivot, xp.copysign(step, pivot.real).astype(pivot.dtype))
    if xp is not np:
        return lax.while_loop(lambda s: _must_rise(xp, s[0], values).any(), rise, state)[0]
    while _must_rise(xp, state[0], values).any():
        state = rise(state)
    return state[0]


def _check_flags(partial_pivoting: bool, perturb_singular: bool) -> None:
    if perturb_singular and not partial_pivoting:
        raise errors.InvalidArgumentError(
            None,
            None,
            "TridiagonalSolve: Setting perturb_singular requires also setting partial_pivoting."
            " Expected both or neither, got perturb_singular alone.",
        )


@host_kernel(TRIDIAGONAL_SOLVE, limit=2048)  # row by row in Python
@host_kernel(TRIDIAGONAL_SOLVE, limit=ANY_SIZE, available=native_matrices.LIBRARY.is_in_use)
def _tridiagonal_host(
    diagonals: Array, rhs: Array, *, partial_pivoting: bool, perturb_singular: bool
) -> Array:
    _check_flags(partial_pivoting, perturb_singular)
    found = native_matrices.tridiagonal(
        diagonals, rhs, pivoting=partial_pivoting, perturb=perturb_singular
    )
    if found is not None:
        return found
    low, main, high, b = _rows(np, diagonals, rhs)
    if not len(b):
        return rhs
    finished = []
    first = row = _start(np, main[0], high[0], b[0])
    for following in zip(low[1:], main[1:], high[1:], b[1:], strict=True):
        done, row = _eliminate(np, row, following, partial_pivoting, perturb_singular)
        finished.append(done)
    finished.append(row)
    parts = [np.stack([r[i] for r in finished]) for i in range(3)]
    pivots = parts[0] if perturb_singular else _nan_if_singular(np, parts[0])
    raising = _raising(np, first, parts) if perturb_singular else None
    x = np.zeros((len(finished) + 2, *b.shape[1:]), rhs.dtype)
    with np.errstate(all="ignore"):
        for i in range(len(finished) - 1, -1, -1):
            _, right, second, side, _ = finished[i]
            left = side - right * x[i + 1] - second * x[i + 2]
            pivot = _raised(np, pivots[i], left, raising) if perturb_singular else pivots[i]
            x[i] = left / pivot
    return np.moveaxis(x[:-2], 0, -2)


@compiled_kernel(TRIDIAGONAL_SOLVE)
def _tridiagonal_compiled(
    diagonals: Array, rhs: Array, *, partial_pivoting: bool, perturb_singular: bool
) -> Array:
    _check_flags(partial_pivoting, perturb_singular)
    low, main, high, b = _rows(jnp, diagonals, rhs)
    if not len(b):
        return rhs

    def step(row: Row, following: Any) -> tuple[Row, Row]:
        done, reached = _eliminate(jnp, row, following, partial_pivoting, perturb_singular)
        return reached, done

    start = _start(jnp, main[0], high[0], b[0])
    last, done = lax.scan(step, start, (low[1:], main[1:], high[1:], b[1:]))
    done = [jnp.concatenate([part, end[None]]) for part, end in zip(done, last, strict=True)]
    pivots = done[0] if perturb_singular else _nan_if_singular(jnp, done[0])
    raising = _raising(jnp, start, done) if perturb_singular else None

    def back(known: tuple[Array, Array], row: Any) -> tuple[tuple[Array, Array], Array]:
        pivot, right, second, side = row
        left = side - right * known[0] - second * known[1]
        x = left / (_raised(jnp, pivot, left, raising) if perturb_singular else pivot)
        return (x, known[0]), x

    zero = jnp.zeros_like(b[0])
    _, x = lax.scan(back, (zero, zero), (pivots, *done[1:4]), reverse=True)
    return jnp.moveaxis(x, 0, -2)


def _turned(diagonals: Any) -> Any:
    """The diagonals of the conjugate transposes."""
    high, main, low = (conjugate(diagonals[..., i : i + 1, :]) for i in range(3))
    return execute("ConcatV2", ([below(low, -1, -1), main, below(high, 1, -1)], np.int32(-2)))


@TRIDIAGONAL_SOLVE.gradient
def _tridiagonal_gradient(op: Any, grad: Any) -> list[Any]:
    attrs = {n: op.get_attr(n) for n in ("partial_pivoting", "perturb_singular")}
    by_rhs = execute(TRIDIAGONAL_SOLVE, (_turned(op.inputs[0]), grad), attrs)
    x = op.outputs[0]
    parts = [_dot(by_rhs, below(x, shift)) for shift in (-1, 0, 1)]
    return [negative(stack(parts, -2)), by_rhs]


def _dot(a: Any, b: Any) -> Any:
    """The products of rows, a conj(b), summed: [..., M] of [..., M, K]."""
    return total(multiply(a, conjugate(b)), [-1])


# ---- tridiagonal products


def _product_shape(c: ShapeContext) -> Dims:
    shapes = [c.rank_at_least(i, 2, n) for i, n in enumerate(("superdiag", "maindiag", "subdiag"))]
    rhs = c.rank_at_least(3, 2, "rhs")
    if rhs is None or None in shapes:
        return rhs
    for name, dims in zip(("superdiagonal", "main diagonal", "subdiagonal"), shapes, strict=True):
        if len(dims) != len(rhs):  # type: ignore[arg-type]
            c.fail("All input tensors must have the same rank", f"{d.text(dims)} and {d.text(rhs)}")
        wanted = (*rhs[:-2], 1, rhs[-2])
        if not d.compatible(dims, wanted):
            c.fail(f"a {name} of shape {d.text(wanted)}", f"Invalid {name} shape: {d.text(dims)}")
    return rhs


TRIDIAGONAL_PRODUCT = define_op(
    f"TridiagonalMatMul(superdiag: T, maindiag: T, subdiag: T, rhs: T; T: {NUMBERS}) -> output: T",
    shape=_product_shape,
    doc="Products of tridiagonal matrices and matrices.",
)


@compiled_kernel(TRIDIAGONAL_PRODUCT)
def _tridiagonal_product_compiled(*arrays: Array) -> Array:
    return _tridiagonal_product(jnp, *arrays)


def _tridiagonal_product(xp: Any, high: Array, main: Array, low: Array, rhs: Array) -> Array:
    high, main, low = (xp.swapaxes(t, -1, -2) for t in (high, main, low))
    up, down = high[..., :-1, :] * rhs[..., 1:, :], low[..., 1:, :] * rhs[..., :-1, :]
    if xp is np:
        none = np.zeros_like(rhs[..., :1, :])
        up, down = np.concatenate([up, none], axis=-2), np.concatenate([none, down], axis=-2)
    else:  # XLA makes one pass of padded rows and three of joined ones
        lead = [(0, 0)] * (rhs.ndim - 2)
        up, down = (xp.pad(x, [*lead, at, (0, 0)]) for x, at in ((up, (0, 1)), (down, (1, 0))))
    return main * rhs + up + down


@host_kernel(TRIDIAGONAL_PRODUCT)
def _tridiagonal_product_natively(high: Array, main: Array, low: Array, rhs: Array) -> Array:
    first, second, third = (each[..., 0, :] for each in (high, main, low))
    found = native_arrays.tridiagonal_product(first, second, third, rhs)
    return _tridiagonal_product(np, high, main, low, rhs) if found is None else found


@TRIDIAGONAL_PRODUCT.gradient
def _tridiagonal_product_gradient(op: Any, grad: Any) -> list[Any]:
    high, main, low, x = op.inputs
    parts = [expand(_dot(grad, below(x, shift)), -2) for shift in (-1, 0, 1)]
    turned = (below(conjugate(low), -1, -1), conjugate(main), below(conjugate(high), 1, -1))
    return [*parts, execute(TRIDIAGONAL_PRODUCT, (*turned, grad))]


# ---- banded triangular equations


def _banded_shape(c: ShapeContext) -> Dims:
    bands, rhs = c.rank_at_least(0, 2, "matrix"), c.rank_at_least(1, 2, "rhs")
    if bands is None or rhs is None:
        return None
    if 0 in bands[-2:]:
        c.fail("at least one band and one column", f"an empty tensor {d.text(bands)}")
    rows = c.merge(bands[-1:], rhs[-2:-1])
    try:
        lead = d.broadcast(bands[:-2], rhs[:-2])
    except ValueError:
        c.fail("stacks that broadcast", f"shapes {d.text(bands)} and {d.text(rhs)}")
    return None if lead is None else (*lead, *rows, rhs[-1])  # type: ignore[misc]


BANDED_SOLVE = define_op(
    "BandedTriangularSolve(matrix: T, rhs: T; lower: bool = True, adjoint: bool = False, T: "
    "{double, float, half, complex64, complex128}) -> output: T",
    shape=_banded_shape,
    fallible=True,
    doc="Solutions of triangular equations of which some diagonals next to the main one are given.",
)


def _as_lower(xp: Any, bands: Array, rhs: Array, lower: bool, turn: bool) -> tuple[Array, Array]:
    """Equations with lower bands [M, ..., K] that have the same solution, and rows [M, ..., N]."""
    bands, rhs = _below(xp, bands, rhs, lower, turn)
    return xp.moveaxis(bands, -1, 0), xp.moveaxis(rhs, -2, 0)


def _below(xp: Any, bands: Array, rhs: Array, lower: bool, turn: bool) -> tuple[Array, Array]:
    """Equations with lower bands [..., K, M] that have the same solution.

    The adjoint moves each diagonal along itself; upper equations are lower ones in reverse order.
    """
    count = bands.shape[-2]
    if turn:
        step = -1 if lower else 1  # of the diagonal next to the main one, and so on outwards
        order = range(count) if lower else range(count - 1, -1, -1)
        rows = [xp.roll(bands[..., i, :], step * k, axis=-1) for k, i in enumerate(order)]
        bands = xp.conj(xp.stack(rows if not lower else rows[::-1], axis=-2))
    if lower == turn:
        bands, rhs = bands[..., ::-1, ::-1], rhs[..., ::-1, :]
    return bands, rhs


def _require_diagonal(ctx: KernelContext, main: Array) -> None:
    known = abs(main) > 0  # NaN is refused too
    if main.__class__ is np.ndarray and np.count_nonzero(known) == main.size:
        return
    ctx.check(
        known.all(),
        errors.InvalidArgumentError,
        lambda: (
            "Input matrix is not invertible: expected a main diagonal without zeros, got one. Add "
            "a small number to it."
        ),
    )


@host_kernel(BANDED_SOLVE, limit=2048)  # row by row in Python
def _banded_host(
    ctx: KernelContext, matrix: Array, rhs: Array, *, lower: bool, adjoint: bool
) -> Array:
    bands, b = _as_lower(np, wide(matrix), wide(rhs), lower, adjoint)
    _require_diagonal(ctx, bands[..., 0])
    lead = np.broadcast_shapes(bands.shape[1:-1], b.shape[1:-1])
    x = np.empty((len(b), *lead, b.shape[-1]), b.dtype)
    for i in range(len(b)):
        row = b[i]
        for k in range(1, min(i + 1, bands.shape[-1])):
            row = row - bands[i, ..., k, None] * x[i - k]
        x[i] = row / bands[i, ..., 0, None]
    return np.moveaxis(x if lower != adjoint else x[::-1], 0, -2)


@host_kernel(
    BANDED_SOLVE,
    limit=ANY_SIZE,
    types={"T": ["float32", "float64"]},
    available=native_matrices.LIBRARY.is_in_use,
    alone_from=1 << 14,
)
def _banded_native(
    ctx: KernelContext, matrix: Array, rhs: Array, *, lower: bool, adjoint: bool
) -> Array:
    bands, b = _below(np, matrix, rhs, lower, adjoint)
    _require_diagonal(ctx, bands[..., 0, :])
    x = native_matrices.banded(bands.swapaxes(-1, -2), b)
    if x is None:  # switched off since the kernel was chosen
        return _banded_host(ctx, matrix, rhs, lower=lower, adjoint=adjoint)
    return x if lower != adjoint else np.ascontiguousarray(x[..., ::-1, :])


@compiled_kernel(BANDED_SOLVE)
def _banded_compiled(
    ctx: KernelContext, matrix: Array, rhs: Array, *, lower: bool, adjoint: bool
) -> Array:
    bands, b = _as_lower(jnp, wide(matrix), wide(rhs), lower, adjoint)
    _require_diagonal(ctx, bands[..., 0])
    width = bands.shape[-1]
    lead = np.broadcast_shapes(bands.shape[1:-1], b.shape[1:-1])
    # Beyond the first rows there is nothing, whatever the padding holds.
    outside = jnp.arange(len(b))[:, None] < jnp.arange(width)
    bands = jnp.where(outside.reshape(len(b), *(1,) * (bands.ndim - 2), width), 0, bands)

    def step(known: Array, row: Any) -> tuple[Array, Array]:
        band, side = row
        done = (jnp.moveaxis(band[..., 1:], -1, 0)[..., None] * known).sum(0)
        x = (side - done) / band[..., :1]
        return jnp.concatenate([x[None], known[:-1]]) if width > 1 else known, x

    start = jnp.zeros((width - 1, *lead, b.shape[-1]), b.dtype)
    _, x = lax.scan(step, start, (bands, jnp.broadcast_to(b, (len(b), *lead, b.shape[-1]))))
    return jnp.moveaxis(x if lower != adjoint else x[::-1], 0, -2)


@BANDED_SOLVE.gradient
def _banded_gradient(op: Any, grad: Any) -> list[Any]:
    bands, rhs = op.inputs
    lower, turn = op.get_attr("lower"), op.get_attr("adjoint")
    if bands.dims is None or bands.dims[-2] is None:
        raise NotImplementedError(
            f"BandedTriangularSolve: expected a known number of bands for the gradient, got shape "
            f"{bands.shape}. Set it with tf.ensure_shape."
        )
    by_rhs = banded_triangular_solve(bands, grad, lower=lower, adjoint=not turn)
    left, right = (op.outputs[0], by_rhs) if turn else (by_rhs, op.outputs[0])
    count = bands.dims[-2]
    rows = [
        negative(_dot(left, below(right, k if lower else k - count + 1)))
        if (k if lower else count - 1 - k) < (rhs.dims[-2] or count)
        else execute("ZerosLike", (_dot(left, right),))
        for k in range(count)
    ]
    by_bands = stack(rows, -2)
    return [sum_like(by_bands, bands, by_bands), sum_like(by_rhs, rhs, by_rhs)]


def banded_triangular_solve(
    bands: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Any:
    """Solves A X = rhs for triangular matrices A that are zero far from their main diagonals.

    Args:
      bands: floating or complex tensor [..., B, M]. Lower ones have the main diagonal in row 0, and
        A[i, i - k] is `bands[k, i]`; upper ones have it in the last row, and A[i, i + k] is
        `bands[B - 1 - k, i]`. What lies outside of the matrix is not read.
      rhs: tensor [..., M, K] of the same dtype; stacks broadcast.
      lower: whether A is lower triangular.
      adjoint: whether the equations are A^H X = rhs.
      name: the name of the operation in a graph.

    Returns:
      Tensor [..., M, K].

    Raises:
      InvalidArgumentError: the main diagonal has zeros, there are no bands, or shapes do not fit.

    Example:
      >>> banded_triangular_solve([[2.0, 4.0], [0.0, 2.0]], [[2.0], [6.0]]).numpy().tolist()
      [[1.0], [1.0]]
    """
    return execute(BANDED_SOLVE, (bands, rhs), {"lower": lower, "adjoint": adjoint}, name)
