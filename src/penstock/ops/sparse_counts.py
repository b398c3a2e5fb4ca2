"""Counts of values: of sparse tensors, and as sparse tensors."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import dispatch, native_arrays, native_ragged
from penstock.core.attributes import place
from penstock.core.composite import SparseTensor, is_sparse
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops import math_count
from penstock.ops.composing import cast
from penstock.ops.sparse_common import Array, components, invalid, keys_of, parts, sparse
from penstock.types import dims as d
from penstock.types import dtypes
from penstock.types.dims import Dims

LIMITS = "minlength: int >= -1 = -1, maxlength: int >= -1 = -1, binary_output: bool"
OUTPUT = (
    "output_type: {int32, int64, float, double}) -> output_indices: int64, output_values: "
    "output_type, output_dense_shape: int64"
)

_CROWDED = 8  # table entries for each key, up to which a table is made of them

# ---- counts in a dense tensor


def _bincount_shape(c: ShapeContext) -> Dims:
    _, rank = parts(c)
    if rank not in (None, 1, 2):
        c.fail("a sparse tensor of rank 1 or 2", f"rank {rank}")
    c.rank(3, 0, "size")
    size = c.constant(3)
    if size is not None and int(size) < 0:
        c.fail("size >= 0", f"size ({int(size)}) must be non-negative")
    weights, values = c.shape(4), c.shape(1)
    if d.num_elements(weights) and not d.compatible(values, weights):
        c.fail("as many weights as values, or none", f"weights of shape {d.text(weights)}")
    width = None if size is None else int(size)
    if rank is None:
        return None
    sizes = c.shape_value(2) or (None,) * rank
    return (width,) if rank == 1 else (sizes[0], width)


BINCOUNT = define_op(
    "SparseBincount(indices: int64, values: Tidx, dense_shape: int64, size: Tidx, weights: T; "
    "Tidx: {int32, int64}, T: {int32, int64, float, double}, binary_output: bool = False) -> "
    "output: T",
    shape=_bincount_shape,
    host_inputs=("dense_shape", "size"),
    fallible=True,
    doc="Counts the values of a sparse vector, or of each row of a sparse matrix.",
).without_gradient("TensorFlow has none: counts are whole numbers")


def _places(
    ctx: KernelContext, xp: Any, indices: Array, values: Array, shape: Array, size: int
) -> tuple[Array, Array, tuple[int, ...]]:
    """The place that each value counts at, which values count, and the result's shape."""
    rows = int(shape[0]) if shape.shape[0] == 2 else 1
    row = indices[:, 0] if shape.shape[0] == 2 else xp.zeros(values.shape, np.int64)
    if values.shape[0]:
        ctx.check(
            values.min() >= 0,
            errors.InvalidArgumentError,
            lambda least: f"Input must be non-negative: expected values >= 0, got {int(least)}.",
            values.min(),
        )
        ctx.check(
            (row.min() >= 0) & (row.max() < rows),
            errors.InvalidArgumentError,
            lambda low, high: (
                f"expected indices of rows in [0, {rows}), got {int(low)} to {int(high)}."
            ),
            row.min(),
            row.max(),
        )
    counted = (values >= 0) & (values < size) & (row >= 0) & (row < rows)
    place = row * size + values
    dims = (size,) if shape.shape[0] == 1 else (rows, size)
    return xp.where(counted, place, rows * size), counted, dims


@host_kernel(BINCOUNT, alone_from=1 << 14)
def _bincount_host(
    ctx: KernelContext, indices: Array, values: Array, shape: Array, size: Array, weights: Array,
    *, binary_output: bool,
) -> Array:  # fmt: skip
    rows = int(shape[0]) if shape.shape[0] == 2 else 1
    found = native_ragged.counted_places(indices, rows, values, int(size), weights, binary_output)
    if found is not None:
        return found if shape.shape[0] == 2 else found[0]
    places, _, dims = _places(ctx, np, indices, values, shape, int(size))
    flat = np.zeros(d.num_elements(dims) + 1, weights.dtype)  # type: ignore[operator]
    if binary_output:
        flat[places] = 1
    else:
        np.add.at(flat, places, weights if weights.size else np.ones(1, weights.dtype))
    return flat[:-1].reshape(dims)


@compiled_kernel(BINCOUNT)
def _bincount_compiled(
    ctx: KernelContext, indices: Array, values: Array, shape: Array, size: Array, weights: Array,
    *, binary_output: bool,
) -> Array:  # fmt: skip
    places, _, dims = _places(ctx, jnp, indices, values, shape, int(size))
    flat = jnp.zeros(d.num_elements(dims) + 1, weights.dtype)  # type: ignore[operator]
    if binary_output:
        flat = flat.at[places].set(1)
    else:
        flat = flat.at[places].add(weights if weights.size else jnp.ones((), weights.dtype))
    return flat[:-1].reshape(dims)


# ---- counts in a sparse tensor


def _dense_counts_shape(c: ShapeContext) -> list[Dims]:
    values, weights = c.shape(0), c.shape(1)
    if values is not None and len(values) not in (1, 2):
        c.fail(
            "values of rank 1 or 2",
            f"Input must be a 1 or 2-dimensional tensor, got rank {len(values)}",
        )
    if d.num_elements(weights) and not d.compatible(values, weights):
        c.merge(
            weights,
            values,
            lambda: (
                "Weights and data must have the same shape. Weight shape:"
                f" {d.bracketed(weights)}; data shape: {d.bracketed(values)}"
            ),
        )
    rank = None if values is None else len(values)
    return [(None, rank), (None,), (rank,)]


def _sparse_counts_shape(c: ShapeContext) -> list[Dims]:
    _, rank = parts(c)
    if rank not in (None, 1, 2):
        c.fail("a sparse tensor of rank 1 or 2", f"rank {rank}")
    weights = c.shape(3)
    if d.num_elements(weights) and not d.compatible(c.shape(1), weights):
        c.fail("as many weights as values, or none", f"weights of shape {d.text(weights)}")
    return [(None, rank), (None,), (rank,)]


DENSE_COUNT = define_op(
    f"DenseCountSparseOutput(values: T, weights: output_type; T: {{int32, int64}}, {LIMITS}, "
    + OUTPUT,
    shape=_dense_counts_shape,
    doc="Counts the values of a vector, or of each row of a matrix, as a sparse tensor.",
).without_gradient("TensorFlow has none: counts are whole numbers")
SPARSE_COUNT = define_op(
    "SparseCountSparseOutput(indices: int64, values: T, dense_shape: int64, weights: output_type; "
    f"T: {{int32, int64}}, {LIMITS}, " + OUTPUT,
    shape=_sparse_counts_shape,
    host_inputs=("dense_shape",),
    doc="Counts the values of a sparse vector, or of each row, as a sparse tensor.",
).without_gradient("TensorFlow has none: counts are whole numbers")


def counted(
    rows: Array, values: Array, weights: Array, height: int | None, least: int, most: int,
    binary: bool, each: int = 0,
) -> list[Array]:  # fmt: skip
    """The counts of each row's values, in order, as positions, counts and a dense shape.

    Args:
      rows: int64[N], the row of each value; None where all have `each` values.
      values: integers [N].
      weights: what each counts, in the shape of the values; empty where each counts one.
      height: the number of rows, None for a single row without an axis of its own.
      least, most: bounds of the width; -1 where there is none.
      binary: whether each is counted once.
      each: see `rows`.
    """
    found = native_arrays.counts(rows, each, values, weights, most, binary)
    if found is not None:
        return _with_shape(*found, values, height, least, most)
    if rows is None:
        rows = np.arange(len(values) // max(each, 1)).repeat(each)
    if values.size and values.min() < 0:
        raise invalid(f"Input values must all be non-negative: got {values.min()}.")
    kept = values < most if most >= 0 else np.ones(values.shape, bool)
    given = weights.reshape(-1)[kept] if weights.size else np.ones(kept.sum(), weights.dtype)
    positions = np.stack([rows[kept], values[kept]], 1).astype(np.int64)
    unique, own = _distinct(positions)
    total = np.zeros(len(unique), weights.dtype)
    np.add.at(total, own, given)
    if binary:
        total[:] = 1
    return _with_shape(unique, total, values, height, least, most)


def _with_shape(
    places: Array, totals: Array, values: Array, height: int | None, least: int, most: int
) -> list[Array]:
    width = most if most >= 0 else max(int(values.max(initial=0)) + 1, least)
    if height is None:
        return [places[:, 1:], totals, np.array([width], np.int64)]
    return [places, totals, np.array([height, width], np.int64)]


def _distinct(positions: Array) -> tuple[Array, Array]:
    """The different positions in order, and the place of each among them."""
    keys = keys_of(positions)
    if keys is None:
        unique, own = np.unique(positions, axis=0, return_inverse=True)
        return unique, own.reshape(-1)
    span = int(keys.max(initial=-1)) + 1
    if span > _CROWDED * keys.size:
        _, first, own = np.unique(keys, return_index=True, return_inverse=True)
        return positions[first], own
    last = np.full(span, -1, np.int64)  # a table of all keys is cheaper than sorting them
    last[keys] = np.arange(keys.size)
    there = np.flatnonzero(last >= 0)
    place = np.empty(span, np.int64)
    place[there] = np.arange(there.size)
    return positions[last[there]], place[keys]


@host_kernel(DENSE_COUNT)
def _dense_count(
    values: Array, weights: Array, *, minlength: int, maxlength: int, binary_output: bool
) -> list[Array]:
    height = values.shape[0] if values.ndim == 2 else None
    given = values.reshape(-1), weights, height, minlength, maxlength, binary_output
    return counted(None, *given, each=values.shape[-1])


@host_kernel(SPARSE_COUNT)
def _sparse_count(
    indices: Array, values: Array, shape: Array, weights: Array, *, minlength: int,
    maxlength: int, binary_output: bool,
) -> list[Array]:  # fmt: skip
    height = int(shape[0]) if shape.size == 2 else None
    rows = indices[:, 0] if shape.size == 2 else np.zeros(values.shape, np.int64)
    if rows.size and (rows.min() < 0 or rows.max() >= (1 if height is None else height)):
        raise invalid(f"expected indices of rows in [0, {height}), got {rows.max()}.")
    return counted(rows, values, weights, height, minlength, maxlength, binary_output)


# ---- public functions


def _check_weights(values: Any, weights: Any) -> Any:
    """Weights as a vector like the values."""
    if weights is None:
        return None
    if is_sparse(values) != is_sparse(weights):
        raise ValueError(
            "Argument `weights` must be a SparseTensor when `values` is one, and dense when it is "
            f"dense; got {type(weights).__name__} for {type(values).__name__}."
        )
    return sparse(weights).values if is_sparse(weights) else convert_to_tensor(weights)


def bincount(
    values: Any,
    weights: Any = None,
    axis: int | None = 0,
    minlength: Any = None,
    maxlength: Any = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Counts how often each value occurs, as a sparse tensor.

    Args:
      values: Tensor or SparseTensor of int32 or int64 values >= 0.
      weights: of the kind and shape of `values`, or None to count.
      axis: 0 or None to count all values together, -1 to count in each row of a matrix.
      minlength: the least size of the result's last dimension.
      maxlength: its size when given; larger values are left out.
      binary_output: whether to say only that a value occurs (1).
      name: the name of the operation in a graph.

    Returns:
      SparseTensor of the dtype of `weights`, without them of `values`; elements are in order.

    Raises:
      ValueError: another axis, or both `weights` and `binary_output`.
      TypeError: a length is no integer, or a tensor of a graph.
      InvalidArgumentError: a negative value.

    Example:
      >>> counts = bincount([3, 1, 3])
      >>> counts.indices.numpy().tolist(), counts.values.numpy().tolist()
      ([[1], [3]], [1, 2])
    """
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Expected 0, None or -1.")
    math_count.check_exclusive(weights, binary_output)
    values = sparse(values) if is_sparse(values) else convert_to_tensor(values)
    given = _check_weights(values, weights)
    if axis != -1:
        flat = values.values if is_sparse(values) else values
        values = execute("Reshape", (flat, np.array([-1], np.int32)))
        if given is not None:
            given = execute("Reshape", (given, np.array([-1], np.int32)))
    if given is None:
        given = convert_to_tensor(np.zeros(0, values.dtype.numpy_dtype))
    attrs = {
        "minlength": -1 if minlength is None else place(minlength),
        "maxlength": -1 if maxlength is None else place(maxlength),
        "binary_output": binary_output,
    }
    if isinstance(values, SparseTensor):
        return SparseTensor(*execute(SPARSE_COUNT, (*components(values), given), attrs, name))
    return SparseTensor(*execute(DENSE_COUNT, (values, given), attrs, name))


@dispatch.handler(dispatch.key_of(math_count.bincount), SparseTensor)
def _dense_bincount(
    arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None,
    dtype: Any = dtypes.int32, name: str | None = None, axis: int | None = None,
    binary_output: bool = False,
) -> Any:  # fmt: skip
    """`tf.math.bincount` of a sparse tensor: elements that are not there do not count."""
    math_count.check_exclusive(weights, binary_output)
    given = None if weights is None else _check_weights(arr, weights)
    if axis != -1:
        return math_count.bincount(
            arr.values, given, minlength, maxlength, dtype, name, axis, binary_output
        )
    indices, values, shape = components(arr)
    values = math_count.counted_values(values)
    if given is None:
        given = convert_to_tensor(np.zeros(0, dtypes.as_dtype(dtype).numpy_dtype))
    size = cast(math_count.length(values, minlength, maxlength, values.dtype), values.dtype)
    attrs = {"binary_output": binary_output}
    return execute(BINCOUNT, (indices, values, shape, size, given), attrs, name)
