"""Sums, means and means by the root of rows that are looked up, by segment.

`indices` names rows of `data`, `segment_ids` (sorted, as long) the segment that each goes to. It is
a gather and a segment sum in one. Forms with `num_segments` have a size that is known beforehand;
the others have as many segments as the last id says. A segment without rows is 0.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_arrays, native_places
from penstock.core.composite import IndexedSlices
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.sparse_common import Array, add_rows
from penstock.types.dims import Dims

FLOATING = "{bfloat16, half, float, double}"
TYPES = {"Sum": "realnumbertype", "Mean": FLOATING, "SqrtN": FLOATING}
IDS = "Tidx: {int32, int64} = int32, "
SEGMENT_TYPE = "Tsegmentids: {int32, int64} = int32"
_SPARSE = 1000  # times as many segments as rows, above which wrong ids are looked for first
_UNSIGNED = {4: np.uint32, 8: np.uint64}
WORDS = {"Sum": "The sum", "Mean": "The mean", "SqrtN": "The sum by the root of the number"}


def _lookup_shape(c: ShapeContext, numbered: bool) -> Dims:
    data = c.rank_at_least(0, 1, "data")
    indices, ids = c.rank(1, 1, "indices"), c.rank(2, 1, "segment_ids")
    assert indices is not None
    assert ids is not None
    if None not in (indices[0], ids[0]) and indices[0] != ids[0]:
        said = f"segment_ids and indices should have same size: {ids[0]} and {indices[0]}"
        m, n = indices[0], ids[0]
        unequal = f"Dimension 0 in both shapes must be equal, but are {m} and {n}."
        unequal += f" Shapes are [{m}] and [{n}]"
        c.fail("segment_ids and indices of the same size", c.says(said, f"{said}: {unequal}"))
    if numbered:
        c.rank(3, 0, "num_segments")
        value = c.constant(3)
        if value is not None and int(value) < 0:
            c.fail("num_segments >= 0", f"num_segments should be >= 0: {int(value)}")
        count = None if value is None else int(value)
    else:
        # A kernel counts itself: to read ids here would check every call's shapes.
        known = None if c.running else c.constant(2)
        count = None if known is None else _segments(c.op_name, known)
    return None if data is None else (count, *data[1:])


def _segments(op_name: str, ids: Array) -> int:
    """The number of segments that the last of sorted ids says."""
    if not ids.size:
        return 0
    last = int(ids[-1])
    if last < 0:
        raise ValueError(
            f"{op_name}: expected segment ids >= 0, got segment ids must be >= 0: {last}."
        )
    return last + 1


def _check_ids(ctx: KernelContext, xp: Any, ids: Array, count: int | None) -> None:
    """Fails the step unless ids are sorted and in [0, count)."""
    if not ids.shape[0]:
        return
    ctx.check(
        (ids[1:] >= ids[:-1]).all(),
        errors.InvalidArgumentError,
        lambda: "segment ids are not increasing: expected sorted segment_ids. Sort them first.",
    )
    last = ids[-1] if count is None else count - 1
    ctx.check(
        (ids[0] >= 0) & (ids[-1] <= last),
        errors.InvalidArgumentError,
        lambda low, high: (
            f"segment ids from {int(low)} to {int(high)} are out of range: expected ids >= 0"
            + ("." if count is None else f" and below num_segments = {count}.")
        ),
        ids[0],
        ids[-1],
    )


def _check_rows(ctx: KernelContext, xp: Any, indices: Array, rows: int) -> None:
    """Fails the step unless indices are in [0, rows)."""
    if not indices.shape[0]:
        return
    if xp is np and np.maximum.reduce(indices.view(_UNSIGNED[indices.dtype.itemsize])) < rows:
        return  # one pass: what is negative is beyond all sizes
    ok = (indices >= 0) & (indices < rows)
    first = xp.argmin(ok)
    ctx.check(
        ok.all(),
        errors.InvalidArgumentError,
        lambda at, found: (
            f"indices[{int(at)}] = {int(found)} is out of range: expected rows of data. Bad:"
            f" indices[{int(at)}] == {int(found)} out of range [0, {rows})."
        ),
        first,
        xp.asarray(indices)[first],
    )


def _shares(xp: Any, kind: str, sizes: Array) -> Array:
    """What each row of a segment counts for, in float32 or wider."""
    sizes = xp.maximum(sizes, 1)
    return 1 / (sizes if kind == "Mean" else xp.sqrt(sizes))


def _wide(dtype: Any) -> Any:
    return np.float32 if dtype.itemsize == 2 and dtype.kind in "fV" else dtype


def _column(x: Array, rank: int) -> Array:
    return x.reshape((-1,) + (1,) * (rank - 1))


def _combined(kind: str, data: Array, indices: Array, ids: Array, count: int) -> Array:
    """On the host; indices and ids are right."""
    wide = _wide(data.dtype)
    total = add_rows(data[indices], ids, count, wide)
    if kind != "Sum":
        sizes = np.bincount(ids, minlength=count)
        total = _shared(kind, total, sizes)
    return total.astype(data.dtype)


def _combined_natively(
    kind: str, data: Array, indices: Array, ids: Array, count: int
) -> Array | None:
    """In one pass, which checks indices and ids too; None where one is wrong."""
    if not 0 <= count <= _SPARSE * (len(ids) + 1):
        return None
    rows = data.astype(_wide(data.dtype), copy=False)
    total = np.zeros((count, *rows.shape[1:]), rows.dtype)
    sizes = None if kind == "Sum" else np.zeros(count, np.int64)
    found = native_arrays.combined(
        native_arrays.ADD, rows, ids, total, native_arrays.RISING, indices, sizes
    )
    if found is None:
        return None
    if sizes is not None:
        found = _shared(kind, found, sizes)
    return found.astype(data.dtype, copy=False)


def _shared(kind: str, total: Array, sizes: Array) -> Array:
    found = native_places.shared(total, sizes, kind == "SqrtN")
    if found is not None:
        return found
    return total * _column(_shares(np, kind, sizes.astype(total.dtype)), total.ndim)


def _define_lookup(kind: str) -> tuple[OpDef, OpDef]:
    inputs = "data: T, indices: Tidx, segment_ids: Tsegmentids"
    tail = "sparse_gradient: bool = False) -> output: T"
    doc = f"{WORDS[kind]} of rows that are looked up, by sorted segment."
    plain = define_op(
        f"SparseSegment{kind}({inputs}; T: {TYPES[kind]}, {IDS}{SEGMENT_TYPE}, {tail}",
        shape=lambda c: _lookup_shape(c, False),
        doc=doc,
    )
    numbered = define_op(
        f"SparseSegment{kind}WithNumSegments({inputs}, num_segments: Tnumsegments; T: "
        f"{TYPES[kind]}, {IDS}Tnumsegments: {{int32, int64}} = int32, {SEGMENT_TYPE}, {tail}",
        shape=lambda c: _lookup_shape(c, True),
        host_inputs=("num_segments",),
        fallible=True,
        doc=doc,
    )

    @host_kernel(plain)
    @host_kernel(numbered)
    def run_host(
        ctx: KernelContext, data: Array, indices: Array, ids: Array, number: Array | None = None
    ) -> Array:
        limit = None if number is None else int(number)
        count = _segments(ctx.op_name, ids) if limit is None else limit
        found = _combined_natively(kind, data, indices, ids, count)
        if found is not None:
            return found
        _check_ids(ctx, np, ids, limit)
        _check_rows(ctx, np, indices, data.shape[0])
        return _combined(kind, data, indices, ids, count)

    @compiled_kernel(numbered)
    def run_compiled(
        ctx: KernelContext, data: Array, indices: Array, ids: Array, number: Array
    ) -> Array:
        count = int(number)
        _check_ids(ctx, jnp, ids, count)
        _check_rows(ctx, jnp, indices, data.shape[0])
        wide = _wide(data.dtype)
        start = jnp.zeros((count, *data.shape[1:]), wide)
        if not data.shape[0]:
            return start.astype(data.dtype)
        rows = jnp.take(jnp.asarray(data), indices, 0, mode="clip").astype(wide)
        total = start.at[ids].add(rows, mode="drop")
        if kind != "Sum":
            sizes = jnp.zeros(count, wide).at[ids].add(1, mode="drop")
            total = total * _column(_shares(jnp, kind, sizes), data.ndim)
        return total.astype(data.dtype)

    return plain, numbered


# ---- gradients


def _grad_shape(c: ShapeContext) -> Dims:
    grad = c.rank_at_least(0, 1, "grad")
    c.rank(1, 1, "indices")
    c.rank(2, 1, "segment_ids")
    c.rank(3, 0, "output_dim0")
    rows = c.constant(3)
    if rows is not None and int(rows) < 0:
        c.fail("output_dim0 >= 0", f"{int(rows)}")
    return None if grad is None else (None if rows is None else int(rows), *grad[1:])


def _grad_v2_shape(c: ShapeContext) -> list[Dims]:
    dims = _grad_shape(c)
    return [None if dims is None else (None, *dims[1:]), (None,)]


def _spread(ctx: KernelContext, kind: str, grad: Array, ids: Array) -> Array:
    """For each row that was looked up, its part of its segment's gradient: in a region."""
    _check_rows(ctx, jnp, ids, grad.shape[0])
    wide = _wide(grad.dtype)
    grad = jnp.asarray(grad).astype(wide)
    if kind != "Sum":
        sizes = jnp.zeros(grad.shape[0], wide).at[ids].add(1, mode="drop")
        grad = grad * _column(_shares(jnp, kind, sizes), grad.ndim)
    if not grad.shape[0]:
        return jnp.zeros((ids.shape[0], *grad.shape[1:]), wide)
    return jnp.take(grad, ids, 0, mode="clip")


def _returned(
    ctx: KernelContext, kind: str, grad: Array, ids: Array, indices: Array, count: int
) -> Array:
    """On the host: parts of segments' gradients added up by index, which is below `count`."""
    parts = grad.astype(_wide(grad.dtype), copy=False)
    if kind != "Sum":
        spread = native_places.spread(parts, indices, ids, kind == "SqrtN", count)
        if spread is not None:
            return spread.astype(grad.dtype, copy=False)
        _check_rows(ctx, np, ids, grad.shape[0])
        parts = _shared(kind, parts, np.bincount(ids, minlength=len(grad)))
    total = np.zeros((count, *grad.shape[1:]), parts.dtype)
    found = native_arrays.combined(native_arrays.ADD, parts, indices, total, places=ids)
    if found is None:
        _check_rows(ctx, np, ids, grad.shape[0])
        _check_rows(ctx, np, indices, count)
        found = add_rows(parts[ids], indices, count)
    return found.astype(grad.dtype, copy=False)


def _define_grads(kind: str) -> tuple[OpDef, OpDef]:
    inputs = "grad: T, indices: Tidx, segment_ids: Tsegmentids"
    types = f"T: {FLOATING}, {IDS}{SEGMENT_TYPE}"
    dense = define_op(
        f"SparseSegment{kind}Grad({inputs}, output_dim0: int32; {types}) -> output: T",
        shape=_grad_shape,
        host_inputs=("output_dim0",),
        fallible=True,
        doc=f"The gradient of SparseSegment{kind} with respect to its data.",
    )
    rows = define_op(
        f"SparseSegment{kind}GradV2({inputs}, dense_output_dim0: int32; {types}) -> output: T, "
        "sorted_unique_indices: Tidx",
        shape=_grad_v2_shape,
        doc=f"The rows that are not 0 of the gradient of SparseSegment{kind}, and which they are.",
    ).without_gradient("TensorFlow has none; use sparse_gradient=False for a second gradient")

    @host_kernel(dense)
    def run_host(
        ctx: KernelContext, grad: Array, indices: Array, ids: Array, number: Array
    ) -> Array:
        return _returned(ctx, kind, grad, ids, indices, int(number))

    @compiled_kernel(dense)
    def run_compiled(
        ctx: KernelContext, grad: Array, indices: Array, ids: Array, number: Array
    ) -> Array:
        spread = _spread(ctx, kind, grad, ids)
        _check_rows(ctx, jnp, indices, int(number))
        result = jnp.zeros((int(number), *grad.shape[1:]), spread.dtype)
        return result.at[indices].add(spread, mode="drop").astype(grad.dtype)

    @host_kernel(rows)
    def run_rows(
        ctx: KernelContext, grad: Array, indices: Array, ids: Array, number: Array
    ) -> list[Array]:
        found = native_places.different(indices, int(number))
        if found is None:
            _check_rows(ctx, np, ids, grad.shape[0])
            _check_rows(ctx, np, indices, int(number))
            unique, own = np.unique(indices, return_inverse=True)
            found = unique, own.reshape(-1)
        unique, own = found
        return [_returned(ctx, kind, grad, ids, own, unique.size), unique]

    @dense.gradient
    def grad_of_grad(op: Any, grad: Any) -> list[Any]:
        count = _entry(execute("Shape", (op.inputs[0],)), 0)
        inputs = (grad, op.inputs[1], op.inputs[2], count)
        back = execute(f"SparseSegment{kind}WithNumSegments", inputs)
        return [back, None, None, None]

    return dense, rows


def _entry(shape: Any, at: int) -> Any:
    return execute("StridedSlice", (shape, [at], [at + 1], [1]), {"shrink_axis_mask": 1})


def _gradient_of(dense: OpDef, rows: OpDef) -> Callable[..., list[Any]]:
    def gradient(op: Any, grad: Any) -> list[Any]:
        data, indices, ids = op.inputs[:3]
        others = [None] * (len(op.inputs) - 1)
        shape = execute("Shape", (data,))
        inputs = (grad, indices, ids, _entry(shape, 0))
        if not op.get_attr("sparse_gradient"):
            return [execute(dense, inputs), *others]
        values, unique = execute(rows, inputs)
        return [IndexedSlices(values, unique, shape), *others]

    return gradient


OPS: dict[str, tuple[OpDef, OpDef]] = {}
for _kind in TYPES:
    OPS[_kind] = _define_lookup(_kind)
    _dense, _rows = _define_grads(_kind)
    for _op in OPS[_kind]:
        _op.gradient(_gradient_of(_dense, _rows))


# ---- public functions

_DOC = """{word} of rows that are looked up, by sorted segment.

Args:
  data: tensor of numbers, rank at least 1.
  indices: int32 or int64[N], rows of `data`.
  segment_ids: int32 or int64[N], sorted: the segment of each row.
  num_segments: scalar int, the number of segments; None for the last id plus one.
  name: the name of the operation in a graph.
  sparse_gradient: whether the gradient is an IndexedSlices of the rows that were looked up.

Returns:
  Tensor with a row for each segment; 0 for a segment without rows.

Raises:
  InvalidArgumentError: ids are not sorted or out of range, or a row is.
"""


def _define_public(kind: str, name: str) -> list[Callable[..., Any]]:
    def run(data: Any, indices: Any, ids: Any, number: Any, name: Any, is_sparse: bool) -> Any:
        attrs = {"sparse_gradient": is_sparse}
        if number is None:
            return execute(OPS[kind][0], (data, indices, ids), attrs, name)
        return execute(OPS[kind][1], (data, indices, ids, number), attrs, name)

    def segment(
        data: Any,
        indices: Any,
        segment_ids: Any,
        num_segments: Any = None,
        name: str | None = None,
        sparse_gradient: bool = False,
    ) -> Any:
        return run(data, indices, segment_ids, num_segments, name, sparse_gradient)

    def segment_v1(
        data: Any,
        indices: Any,
        segment_ids: Any,
        name: str | None = None,
        num_segments: Any = None,
        sparse_gradient: bool = False,
    ) -> Any:
        return run(data, indices, segment_ids, num_segments, name, sparse_gradient)

    for function, full in ((segment, name), (segment_v1, f"{name}_v1")):
        function.__name__ = function.__qualname__ = full
        function.__doc__ = _DOC.format(word=WORDS[kind])
    return [segment, segment_v1]


segment_sum, segment_sum_v1 = _define_public("Sum", "segment_sum")
segment_mean, segment_mean_v1 = _define_public("Mean", "segment_mean")
segment_sqrt_n, segment_sqrt_n_v1 = _define_public("SqrtN", "segment_sqrt_n")
