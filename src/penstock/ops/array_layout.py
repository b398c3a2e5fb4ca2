"""Places in arrays and orders of axes: unravelled indices, and data formats as values.

The operations on data formats permute what is said about an image's axes: `DataFormatDimMap`
numbers of axes, `DataFormatVecPermute` sizes or pairs of them.
"""

import functools
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_arrays, shapes
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.string_arrays import as_text
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer


def _unravel_shape(c: ShapeContext) -> Dims:
    places, sizes = c.shape(0), c.shape(1)
    if places is not None and len(places) > 1:
        c.fail("indices that are a scalar or vector", f"shape {d.text(places)}")
    if sizes is not None and len(sizes) != 1:
        c.fail("dims that are a vector", f"shape {d.text(sizes)}")
    if places is None:
        return None
    return (None if sizes is None else sizes[0], *places)


UNRAVEL = define_op(
    "UnravelIndex(indices: Tidx, dims: Tidx; Tidx: {int32, int64} = int32) -> output: Tidx",
    shape=_unravel_shape,
    fallible=True,
    doc="The position, a row for each axis, of each row-major place in an array.",
).not_differentiable("an index is no number")


@kernel(UNRAVEL)
def _unravel(ctx: Any, xp: Any, indices: Array, dims: Array) -> Array:
    ctx.check(
        (dims != 0).all(),
        errors.InvalidArgumentError,
        lambda sizes: (
            f"Input dims cannot contain a dim of zero, but dims contains zero: {sizes.tolist()}. "
            "There is no place in an empty array."
        ),
        dims,
    )
    total = dims.prod(dtype=dims.dtype)
    ctx.check(
        (indices < total).all(),
        errors.InvalidArgumentError,
        lambda places, sizes: (
            f"index is out of bound as with dims: expected indices below {int(np.prod(sizes))}, "
            f"the product of {np.asarray(sizes).tolist()}, got {np.asarray(places).tolist()}."
        ),
        indices,
        dims,
    )
    sizes = xp.where(dims == 0, 1, dims)
    after = xp.concatenate([sizes[1:], xp.ones_like(sizes[:1])]) if sizes.shape[0] else sizes
    steps = xp.flip(xp.cumprod(xp.flip(after))).astype(indices.dtype)
    column = (-1,) + (1,) * indices.ndim
    places = indices[None] // steps.reshape(column)
    inner = places % sizes.reshape(column)
    return xp.where((xp.arange(sizes.shape[0]) == 0).reshape(column), places, inner)


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Any:
    """The positions of row-major places in an array of sizes `dims`.

    Args:
      indices: int32 or int64, a scalar or vector [N].
      dims: sizes of the same dtype, [R].
      name: the name of the operation in a graph.

    Returns:
      [R] or [R, N]: the position along each axis.

    Raises:
      InvalidArgumentError: a place is outside of the array, or the array is empty.

    Example:
      >>> unravel_index([7, 5], [3, 3]).numpy().tolist()
      [[2, 1], [1, 2]]
    """
    return execute(UNRAVEL, (indices, dims), None, name)


# ---- data formats


def _formats(source: Any, target: Any) -> tuple[str, str]:
    names = as_text(source), as_text(target)
    for name, text in zip(("Source", "Destination"), names, strict=True):
        if len(text) not in (4, 5):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{name} format must be of length 4 or 5, received {text!r}. Say NHWC or NCHW, "
                "with D before H for volumes.",
            )
    if sorted(names[0]) != sorted(names[1]):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Destination and source format must determine a permutation, got {names[0]} and "
            f"{names[1]}.",
        )
    return names


_FORMATS = "src_format: string = 'NHWC', dst_format: string = 'NCHW'"
DIM_MAP = define_op(
    f"DataFormatDimMap(x: T; T: {{int32, int64}} = int32, {_FORMATS}) -> y: T",
    shape=shapes.same,
    doc="Numbers of axes in one data format as numbers of axes in another.",
).not_differentiable("an axis is no number")
VEC_PERMUTE = define_op(
    f"DataFormatVecPermute(x: T; T: {{int32, int64}} = int32, {_FORMATS}) -> y: T",
    shape=shapes.same,
    doc="Sizes of axes, or pairs for them, in the order of another data format.",
).not_differentiable("sizes are no numbers that vary")


@kernel(DIM_MAP)
def _dim_map(xp: Any, x: Array, *, src_format: Any, dst_format: Any) -> Array:
    table = _dim_table(src_format, dst_format, x.dtype)
    if xp is np:
        return table.take(x, mode="wrap")
    return xp.asarray(table)[(x + len(table)) % len(table)]


@functools.cache
def _dim_table(src_format: Any, dst_format: Any, dtype: Any) -> Array:
    """Where each axis of one format stands in the other."""
    source, target = _formats(src_format, dst_format)
    return np.array([target.index(axis) for axis in source], dtype)


@kernel(VEC_PERMUTE)
def _vec_permute(xp: Any, x: Array, *, src_format: Any, dst_format: Any) -> Array:
    source, target = _formats(src_format, dst_format)
    if x.ndim not in (1, 2):
        raise errors.InvalidArgumentError(
            None, None, f"input must be a vector or 2D tensor, but got shape {list(x.shape)}."
        )
    if x.shape[0] == len(source) - 2:
        source = "".join(axis for axis in source if axis not in "NC")
        target = "".join(axis for axis in target if axis not in "NC")
    if x.shape[0] != len(source) or x.shape[1:] not in ((), (2,)):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{x.ndim}D input must be of size {len(source) - 2} or {len(source)}, but got shape "
            f"{list(x.shape)}. Give a number, or two, for each axis.",
        )
    return x[xp.asarray([source.index(axis) for axis in target])]


# ---- rows written into a copy


def _row_shape(c: ShapeContext) -> Dims:
    return c.rank_at_least(0, 1, "x")


def _inplace(name: str, doc: str) -> Any:
    return define_op(
        f"{name}(x: T, i: int32, v: T; T: type) -> y: T", shape=_row_shape, doc=doc
    ).not_differentiable("TensorFlow has no gradient either; use tf.tensor_scatter_nd_add")


INPLACE_ADD = _inplace("InplaceAdd", "A copy of x with v added to rows i, modulo their number.")
INPLACE_SUB = _inplace("InplaceSub", "A copy of x with v subtracted from rows i.")
INPLACE_UPDATE = _inplace("InplaceUpdate", "A copy of x with v in place of rows i.")


def _rows(x: Array, i: Array, v: Array) -> tuple[Array, Array]:
    """Row numbers [N] within x, and the rows [N, ...]; none when x has no rows."""
    if i.ndim == 0:
        i, v = i[None], v[None]
    if i.ndim != 1 or v.shape != (i.shape[0], *x.shape[1:]):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"expected i of rank 1 and a row of x in v for each, got i of shape {list(i.shape)}, "
            f"x of shape {list(x.shape)} and v of shape {list(v.shape)}.",
        )
    return (i % x.shape[0], v) if x.shape[0] else (i[:0], v[:0])


@kernel(INPLACE_ADD)
def _inplace_add(xp: Any, x: Array, i: Array, v: Array) -> Array:
    i, v = _rows(x, i, v)
    return _written(xp, x, i, v, "add")


@kernel(INPLACE_SUB)
def _inplace_sub(xp: Any, x: Array, i: Array, v: Array) -> Array:
    i, v = _rows(x, i, v)
    return _written(xp, x, i, -v, "add")


@kernel(INPLACE_UPDATE)
def _inplace_update(xp: Any, x: Array, i: Array, v: Array) -> Array:
    i, v = _rows(x, i, v)
    return _written(xp, x, i, v, "set")


def _written(xp: Any, x: Array, i: Array, v: Array, how: str) -> Array:
    if xp is not np:
        return getattr(xp.asarray(x).at[i], how)(v)
    result = x.copy()
    if how == "set":
        result[i] = v
    elif native_arrays.combined(native_arrays.ADD, v, i, result, native_arrays.ALL_INSIDE) is None:
        np.add.at(result, i, v)
    return result
