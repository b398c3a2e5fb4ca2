"""Sparse tensors in another order, shape or form: reorder, reshape, to dense, empty rows filled.

Only values are differentiated; indices and dense shapes have no gradients.
"""

import math
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_sparse
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops import positions
from penstock.ops.positions import first_false
from penstock.ops.sparse_common import (
    SORT_FROM,
    SORT_LIMIT,
    check_inside,
    fixed_shape,
    from_position,
    inside,
    invalid,
    order_of,
    parts,
    places_of_rows,
    position,
    refuse_outside,
    strides_of,
)
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer


# ---- SparseReorder


def _reorder_shape(c: ShapeContext) -> list[Dims]:
    count, rank = parts(c)
    return [(count, rank), (count,)]


REORDER = define_op(
    "SparseReorder(input_indices: int64, input_values: T, input_shape: int64; T: type) -> "
    "output_indices: int64, output_values: T",
    shape=_reorder_shape,
    doc="Puts the elements of a sparse tensor in row-major order.",
)


@host_kernel(REORDER, limit=SORT_LIMIT, alone_from=SORT_FROM)
def _reorder(indices: Array, values: Array, shape: Array) -> list[Array]:
    order = order_of(np, indices)
    return [indices.take(order, 0), values.take(order)]


@compiled_kernel(REORDER)
def _reorder_compiled(indices: Array, values: Array, shape: Array) -> list[Array]:
    order = order_of(jnp, indices)
    return [jnp.asarray(indices)[order], jnp.asarray(values)[order]]


@REORDER.gradient
def _reorder_gradient(op: Any, unused: Any, grad: Any) -> list[Any]:
    """The gradients go back to where the elements came from."""
    indices, values, shape = op.inputs
    count = execute("Size", (values,), {"out_type": np.int64})
    places = execute("Range", (np.int64(0), count, np.int64(1)))
    _, order = execute(REORDER, (indices, places, shape))
    return [None, execute("UnsortedSegmentSum", (grad, order, count)), None]


# ---- SparseReshape


def _reshape_shape(c: ShapeContext) -> list[Dims]:
    indices, old = c.rank(0, 2, "input_indices"), c.rank(1, 1, "input_shape")
    new = c.rank(2, 1, "new_shape")
    assert indices is not None
    assert old is not None
    assert new is not None
    if None not in (indices[1], old[0]) and indices[1] != old[0]:
        c.fail("indices of a column for each dimension", f"{indices[1]} and {old[0]}")
    sizes, wanted = c.constant(1), c.constant(2)
    if sizes is not None and wanted is not None:
        try:
            reshaped(sizes, wanted)
        except errors.InvalidArgumentError as problem:
            raise ValueError(problem.message) from None
    return [(indices[0], new[0]), new]


RESHAPE = define_op(
    "SparseReshape(input_indices: int64, input_shape: int64, new_shape: int64) -> output_indices: "
    "int64, output_shape: int64",
    shape=_reshape_shape,
    host_inputs=("input_shape", "new_shape"),
    fallible=True,
    doc="Positions in a dense tensor of another shape and as many elements.",
).not_differentiable("positions are integers; the values stay as they are")


def reshaped(old: Any, new: Any) -> list[int]:
    """The sizes of `new`, in which one -1 stands for what is left over of `old`.

    Raises:
      InvalidArgumentError: the numbers of elements differ, or there are two -1.
    """
    sizes, total = [int(n) for n in new], math.prod(int(n) for n in old)
    unknown = [i for i, n in enumerate(sizes) if n == -1]
    if len(unknown) > 1:
        raise invalid(
            f"only one output dimension may be -1, not both {unknown[0]} and {unknown[1]}: expected"
            f" a shape with one, got {sizes}."
        )
    if any(n < -1 for n in sizes):
        raise invalid(f"expected sizes >= 0, or -1 once, in the new shape, got {sizes}.")
    known = math.prod(n for n in sizes if n != -1)
    if unknown:
        if not known:
            raise invalid(
                f"reshape cannot infer the missing dimension of {sizes}: expected other sizes "
                "above 0. Write the size instead of -1."
            )
        if total % known:
            raise invalid(
                f"Input to reshape is a SparseTensor with {total} dense values, but the requested"
                f" shape requires a multiple of {known}: {sizes}. Change the other sizes."
            )
        sizes[unknown[0]] = total // known
    elif known != total:
        raise invalid(
            f"Input to reshape is a tensor with {total} dense values, but the requested shape has "
            f"{known}: {sizes}. Expected as many elements in both."
        )
    return sizes


@kernel(RESHAPE)
def _reshape(ctx: KernelContext, xp: Any, indices: Array, old: Array, new: Array) -> list[Array]:
    sizes = reshaped(old, new)
    check_inside(ctx, xp, indices, np.asarray(old))
    return [from_position(xp, position(xp, indices, old), sizes), xp.asarray(sizes, np.int64)]


# ---- SparseToDense


def _to_dense_shape(c: ShapeContext) -> Dims:
    indices, values = c.shape(0), c.shape(2)
    shape = c.rank(1, 1, "output_shape")
    c.rank(3, 0, "default_value")
    assert shape is not None
    if indices is not None and len(indices) > 2:
        c.fail("sparse_indices of rank 0, 1 or 2", f"shape {d.text(indices)}")
    if values is not None and len(values) > 1:
        c.fail("sparse_values of rank 0 or 1", f"shape {d.text(values)}")
    if indices is not None:
        count = indices[0] if indices else 1
        columns = indices[1] if len(indices) == 2 else 1
        if None not in (columns, shape[0]) and columns != shape[0]:
            c.fail("indices of a column for each dimension", f"{columns} and {shape[0]}")
        if values and None not in (values[0], count) and values[0] != count:
            c.fail("as many values as indices, or one", f"{values[0]} and {count}")
    return fixed_shape(c, 1)


TO_DENSE = define_op(
    "SparseToDense(sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, "
    "default_value: T; validate_indices: bool = True, T: type, Tindices: {int32, int64}) -> "
    "dense: T",
    shape=_to_dense_shape,
    host_inputs=("output_shape",),
    fallible=True,
    doc="A dense tensor with values at the positions given, and a default elsewhere.",
)


def _matrix(indices: Array) -> Array:
    """Indices of rank 0, 1 or 2 as a matrix."""
    return indices.reshape(-1, 1) if indices.ndim < 2 else indices


def _refuse_unsorted(ctx: KernelContext, indices: Array, ok: Any, first: Any) -> None:
    """Fails the step unless `ok`; `first` is the number of a position not behind the one before."""

    def text(at: Any, row: Any, before: Any) -> str:
        found = f"indices[{int(at)}] = {np.asarray(row).tolist()} is"
        if np.array_equal(row, before):
            return f"{found} repeated. Expected each position once: use validate_indices=False."
        return (
            f"{found} out of order. Many sparse ops require sorted indices: use `tf.sparse.reorder`"
            " to create a correctly ordered copy, or validate_indices=False."
        )

    rows = indices[first], indices[first - 1]
    ctx.check(ok, errors.InvalidArgumentError, text, first, *rows)


def _places(
    ctx: KernelContext, xp: Any, indices: Array, shape: Array, validate: bool
) -> tuple[Array, tuple[int, ...]]:
    indices = _matrix(indices)
    check_inside(ctx, xp, indices, np.asarray(shape))
    places = position(xp, indices, shape)
    if validate and indices.shape[0] > 1:
        found, rows = xp.asarray(places), xp.asarray(indices)  # in a trace they may be known
        ok, before = first_false(xp, found[1:] > found[:-1])
        _refuse_unsorted(ctx, rows, ok, before + 1)
    return places, tuple(int(n) for n in shape)


@host_kernel(TO_DENSE)
def _to_dense(
    ctx: KernelContext,
    indices: Array,
    shape: Array,
    values: Array,
    default: Array,
    *,
    validate_indices: bool,
) -> Array:
    strides_of(np.maximum(shape, 1))  # refuses shapes of too many elements
    result = np.full(tuple(shape.tolist()), default[()], values.dtype)
    if native_sparse.put(result, _matrix(indices), values, validate_indices):
        return result
    places, _ = _places(ctx, np, indices, shape, validate_indices)
    result.reshape(-1)[places] = values
    return result


@compiled_kernel(TO_DENSE)
def _to_dense_compiled(
    ctx: KernelContext,
    indices: Array,
    shape: Array,
    values: Array,
    default: Array,
    *,
    validate_indices: bool,
) -> Array:
    matrix, sizes = _matrix(indices), np.asarray(shape)
    found = None
    if matrix.shape[1]:
        dims = tuple(sizes.tolist())
        found = positions.put(matrix, dims, values, default, validate_indices)
    if found is not None:
        dense, inside, sorted_ = found
        refuse_outside(ctx, jnp, matrix, sizes, *inside)
        if validate_indices:
            _refuse_unsorted(ctx, matrix, *sorted_)
        return dense
    base = jnp.full(tuple(sizes.tolist()), default, values.dtype)
    given = jnp.broadcast_to(values, matrix.shape[:1])
    places, dims = _places(ctx, jnp, indices, shape, validate_indices)
    result = base.reshape(-1)
    places = jnp.asarray(places)
    if not validate_indices and places.shape[0]:  # the last of several at one place stays
        last = (
            jnp.full(math.prod(dims), -1).at[places].max(jnp.arange(places.shape[0]), mode="drop")
        )
        return jnp.where(last < 0, result, given[jnp.maximum(last, 0)]).reshape(dims)
    return result.at[places].set(given, mode="drop").reshape(dims)


@TO_DENSE.gradient
def _to_dense_gradient(op: Any, grad: Any) -> list[Any]:
    indices, _, values, _ = op.inputs
    matrix = indices
    if indices.dims is not None and len(indices.dims) < 2:
        matrix = execute("Reshape", (indices, np.array([-1, 1], np.int32)))
    taken = execute("GatherNd", (grad, matrix))
    axes = execute("Range", (np.int32(0), execute("Rank", (grad,)), np.int32(1)))
    explicit = execute("Sum", (taken, np.array([0], np.int32)))
    rest = execute("Sub", (execute("Sum", (grad, axes)), explicit))
    scalar = values.dims is not None and not values.dims
    return [None, None, explicit if scalar else taken, rest]


# ---- SparseFillEmptyRows


def _fill_shape(c: ShapeContext) -> list[Dims]:
    count, rank = parts(c)
    c.rank(3, 0, "default_value")
    if rank == 0:
        c.fail("a dense shape of at least one dimension", "rank 0")
    sizes = c.shape_value(2)
    rows = sizes[0] if sizes else None
    return [(None, rank), (None,), (rows,), (count,)]


FILL_EMPTY_ROWS = define_op(
    "SparseFillEmptyRows(indices: int64, values: T, dense_shape: int64, default_value: T; T: "
    "type) -> output_indices: int64, output_values: T, empty_row_indicator: bool, "
    "reverse_index_map: int64",
    shape=_fill_shape,
    host_inputs=("dense_shape",),
    doc="Puts a default at the start of each row that has no element.",
)


@host_kernel(FILL_EMPTY_ROWS)
def _fill(indices: Array, values: Array, shape: Array, default: Array) -> list[Array]:
    rows, count = indices[:, 0], int(shape[0])
    found = native_sparse.with_empty_rows_filled(indices, values, count, default)
    if found is not None:
        filled, result, empty, places = found
        moved = len(filled) > rows.size or not (places[1:] > places[:-1]).all()
        return [filled, result, empty, places] if moved else [indices, values, empty, places]
    if count == 0 and rows.size:
        raise invalid(
            "Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = "
            f"{rows.size}. Expected no element where there are no rows."
        )
    if rows.size and (rows.min() < 0 or rows.max() >= count):
        at = int(np.flatnonzero((rows < 0) | (rows >= count))[0])
        raise invalid(
            f"indices({at}, 0) is invalid: expected a row in [0, {count}), got {rows[at]}."
        )
    given = np.bincount(rows, minlength=count)[:count]
    empty = given == 0
    places = places_of_rows(rows, given, empty)
    missing = np.flatnonzero(empty)
    if not missing.size and (places[1:] > places[:-1]).all():
        return [indices, values, empty, places]
    total = rows.size + missing.size
    filled = np.zeros((total, indices.shape[1]), np.int64)
    result = np.full(total, default[()], values.dtype)
    filled[places], result[places] = indices, values
    before = np.cumsum(given) - given
    filled[before[missing] + np.arange(missing.size), 0] = missing
    return [filled, result, empty, places]


def _fill_grad_shape(c: ShapeContext) -> list[Dims]:
    c.rank(1, 1, "grad_values")
    return [c.rank(0, 1, "reverse_index_map"), ()]


# Elements from which XLA's gather and scatter take longer than a way to the host.
_SCATTERED = 1 << 16

FILL_EMPTY_ROWS_GRAD = define_op(
    "SparseFillEmptyRowsGrad(reverse_index_map: int64, grad_values: T; T: type) -> d_values: T, "
    "d_default_value: T",
    shape=_fill_grad_shape,
    fallible=True,
    doc="The gradients of SparseFillEmptyRows with respect to its values and its default.",
).without_gradient("TensorFlow has none")


@host_kernel(FILL_EMPTY_ROWS_GRAD, alone_from=_SCATTERED)
def _fill_grad_host(ctx: KernelContext, places: Array, grad: Array) -> list[Array]:
    parted = native_sparse.parted(places, grad)
    if parted is not None:
        return list(parted)
    total = grad.shape[0]
    # places below 0 are large ones without a sign
    if not places.size or np.maximum.reduce(places.view(np.uint64)) >= total:
        found: list[Array] = _fill_grad(ctx, np, places, grad)
        return found
    rest = grad.copy()
    rest[places] = 0
    return [grad.take(places), np.add.reduce(rest, dtype=grad.dtype)]


@compiled_kernel(FILL_EMPTY_ROWS_GRAD)
def _fill_grad(ctx: KernelContext, xp: Any, places: Array, grad: Array) -> list[Array]:
    total = grad.shape[0]
    grad, places = xp.asarray(grad), xp.asarray(places)  # in a trace they may be known
    if not places.shape[0]:
        return [grad[:0], grad.sum(dtype=grad.dtype)]
    ok = inside(xp, places[:, None], np.array([total]))
    first = xp.argmin(ok)
    ctx.check(
        ok.all(),
        errors.InvalidArgumentError,
        lambda at, found: (
            f"Elements in reverse index must be in [0, {total}): got {int(found)} at {int(at)}."
        ),
        first,
        places[first],
    )
    if not total:
        return [xp.zeros(places.shape, grad.dtype), xp.zeros((), grad.dtype)]
    taken = grad[places]
    if xp is np:
        rest = np.ones(total, bool)
        rest[places] = False
    else:
        rest = xp.ones(total, bool).at[places].set(False, mode="drop")
    return [taken, xp.where(rest, grad, xp.zeros((), grad.dtype)).sum(dtype=grad.dtype)]


@FILL_EMPTY_ROWS.gradient
def _fill_gradient(op: Any, unused: Any, grad: Any, *rest: Any) -> list[Any]:
    values, default = execute(FILL_EMPTY_ROWS_GRAD, (op.outputs[3], grad))
    return [None, values, None, default]
