"""What the operations on sparse tensors share.

A sparse tensor comes as three inputs, `indices` int64[N, R], `values` T[N] and `shape` int64[R].
`parts` checks them in a shape rule and gives N and R; `position` and `row_major` turn indices into
places. Places are exact for dense shapes of fewer than 2**63 elements; `order_of` needs no such
bound.
"""

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_arrays, native_sparse
from penstock.core.composite import SparseTensor, is_sparse
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.graph.behavior import control_dependencies
from penstock.ops.composing import cast
from penstock.ops.positions import first_false
from penstock.types import dims as d
from penstock.types import dtypes
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer
LARGEST = (1 << 63) - 1
SORT_FROM = 1 << 16  # numbers from which NumPy orders positions in plans, too
SORT_LIMIT = 1 << 26  # numbers up to which NumPy orders positions: XLA takes ten times as long


def parts(c: ShapeContext, first: int = 0, name: str = "") -> tuple[int | None, int | None]:
    """Checks the three inputs of a sparse tensor, from input `first`: the sizes N and R."""
    prefix = f"{name}_" if name else ""
    indices = c.rank(first, 2, f"{prefix}indices")
    values = c.rank(first + 1, 1, f"{prefix}values")
    shape = c.rank(first + 2, 1, f"{prefix}shape")
    assert indices is not None
    assert values is not None
    assert shape is not None
    for (left, right), what in (
        ((indices[0], values[0]), "as many values as indices"),
        ((indices[1], shape[0]), "indices of as many columns as the dense shape has dimensions"),
    ):
        if None not in (left, right) and left != right:
            c.fail(
                f"{prefix or 'sparse '}{what}",
                f"indices of shape {d.text(indices)}, values of shape {d.text(values)} and a "
                f"dense shape of {shape[0]} dimensions",
            )
    count = values[0] if indices[0] is None else indices[0]
    return count, (shape[0] if indices[1] is None else indices[1])


def same_rank(c: ShapeContext, a: int | None, b: int | None) -> int | None:
    """The rank of two sparse tensors that must have one; what is known of it."""
    if a is not None and b is not None and a != b:
        c.refuse(f"Operands do not have the same ranks: expected one rank, got {a} and {b}")
    return b if a is None else a


def fixed_shape(c: ShapeContext, index: int) -> Dims:
    """The value of a dense shape's input, as far as it is known; sizes are not negative."""
    dims = c.shape_value(index)
    value = c.constant(index)
    if value is not None and (np.asarray(value) < 0).any():
        c.fail("a dense shape of sizes >= 0", f"{np.asarray(value).tolist()}")
    return dims


def strides_of(shape: Any) -> np.ndarray[Any, Any]:
    """The distance in places between neighbours, for each axis: int64[R]."""
    sizes = [int(n) for n in shape]
    steps = [1] * len(sizes)
    for axis in range(len(sizes) - 2, -1, -1):
        steps[axis] = steps[axis + 1] * sizes[axis + 1]
    if sizes and steps[0] * max(sizes[0], 1) > LARGEST:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"expected a dense shape of fewer than 2**63 elements, got {sizes}. Use smaller sizes.",
        )
    return np.array(steps, np.int64)


def position(xp: Any, indices: Array, shape: Any) -> Array:
    """The row-major place of each position: int64[N]."""
    if not indices.shape[1]:
        return xp.zeros(indices.shape[0], np.int64)
    if xp is np and indices.dtype == np.int64:
        return indices.dot(strides_of(shape))
    return (indices.astype(np.int64) * strides_of(shape)).sum(1)


def from_position(xp: Any, places: Array, shape: Any) -> Array:
    """The positions of row-major places: int64[N, R]; the inverse of `position`."""
    if xp is np and len(shape) == 1:
        return (places % max(int(shape[0]), 1)).reshape(-1, 1)
    columns = []
    for size, step in zip([int(n) for n in shape], strides_of(shape).tolist(), strict=True):
        columns.append(places // max(step, 1) % max(size, 1))
    return xp.stack(columns, 1) if columns else xp.zeros((places.shape[0], 0), np.int64)


def order_of(xp: Any, indices: Array) -> Array:
    """The stable permutation that puts positions in row-major order."""
    if xp is np and isinstance(indices, np.ndarray):
        found = native_sparse.bounds(indices)
        if found is not None and found[2] != native_sparse.FALLING:
            return np.arange(len(indices))
        keys = keys_of(indices) if found is None else _keys_within(indices, *found[:2])
        if keys is not None:
            return np.argsort(keys, kind="stable")  # runs that are in order cost one pass
    if not indices.shape[1]:
        return xp.arange(indices.shape[0])
    return xp.lexsort(tuple(indices[:, i] for i in range(indices.shape[1] - 1, -1, -1)))


def keys_of(indices: Array) -> Array | None:
    """Numbers in the row-major order of positions, on the host: int64[N], equal for equal ones.

    They depend on the smallest and largest index of each column, so compare keys of one call
    alone. None where the columns span more than 2**63 positions.
    """
    count, rank = indices.shape
    if not count or not rank:
        return np.zeros(count, np.int64)
    return _keys_within(indices, *bounds(indices))


def _keys_within(indices: Array, low: list[int], high: list[int]) -> Array | None:
    """`keys_of` with these smallest and largest indices; there is a column at least."""
    spans = [h - b + 1 for b, h in zip(low, high, strict=True)]
    if math.prod(spans) > LARGEST:
        return None
    keys = indices[:, 0].astype(np.int64)
    first = low[0]
    for axis in range(1, indices.shape[1]):
        keys *= spans[axis]
        keys += indices[:, axis]
        first = first * spans[axis] + low[axis]
    # Numbers that are too large on the way wrap around, and back here.
    keys -= np.uint64(first % (1 << 64)).astype(np.int64)
    return keys


def bounds(indices: Array) -> tuple[list[int], list[int]]:
    """The smallest and largest index of each column, on the host; there is a row at least.

    Column by column: over rows of two or three NumPy's reductions take six times as long.
    """
    found = native_sparse.bounds(indices)
    if found is not None:
        return found[:2]
    columns = [indices[:, axis] for axis in range(indices.shape[1])]
    return [int(c.min()) for c in columns], [int(c.max()) for c in columns]


def union(a: Array, b: Array) -> tuple[Array, Array | None, Array | None]:
    """The positions of two sparse tensors together, on the host.

    Args:
      a: int64[N, R]; a position that is there several times counts as so many.
      b: int64[M, R].

    Returns:
      The positions in row-major order, int64[K, R], and for each its row in `a` and in `b`, -1
      where it is not there. None instead of the rows where they are all there are, in order.
    """
    united = native_sparse.united(a, b)
    if united is not None:
        positions, first, second = united
        count = len(positions)
        return (
            positions,
            None if count == len(a) else first,
            None if count == len(b) else second,
        )
    return _united_by_keys(a, b)


def _united_by_keys(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """`union` of positions in any order."""
    every = np.concatenate([a, b])
    keys, size = keys_of(every), a.shape[0]
    if keys is None:  # places among the sorted positions do as well
        keys = np.unique(every, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(keys, kind="stable")
    if not (_rises(keys[:size]) and _rises(keys[size:])):
        keys = _told_apart(keys, order, size)
        order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.ones(keys.shape, bool)
    first[1:] = keys[1:] != keys[:-1]
    slots = np.empty(keys.shape, np.int64)
    slots[order] = np.cumsum(first) - 1
    found = np.full((2, int(first.sum())), -1, np.int64)
    found[0, slots[:size]] = np.arange(size)
    found[1, slots[size:]] = np.arange(b.shape[0])
    return every[order[first]], found[0], found[1]


def taken_from(grad: Array, indices: Array, places: Array) -> Array:
    """For each position the number of `grad` at the same place, 0 where there is none; on the host.

    Args:
      grad: T[M].
      indices: int64[N, R], positions.
      places: int64[M, R], those of `grad`.

    Returns:
      T[N].
    """
    size = len(indices)
    if size == len(places) and np.array_equal(indices, places):
        return grad
    found = native_sparse.elements_at(indices, places, grad)
    if found is not None:
        return found
    result = np.zeros(size, grad.dtype)
    keys = keys_of(np.concatenate([indices, places]))
    if keys is not None and _rises(keys[:size]) and _rises(keys[size:]):
        found = np.searchsorted(keys[size:], keys[:size])
        found[found == len(places)] = 0
        both = keys[size:][found] == keys[:size] if len(places) else np.zeros(size, bool)
        result[both] = grad[found[both]]
        return result
    united = native_sparse.united(indices, places)
    _, first, second = _united_by_keys(indices, places) if united is None else united
    shared = (first >= 0) & (second >= 0)
    result[first[shared]] = grad[second[shared]]
    return result


def _rises(keys: Array) -> bool:
    """Whether keys are in order and none is there twice."""
    return bool((keys[1:] > keys[:-1]).all())


def _told_apart(keys: Array, order: Array, size: int) -> Array:
    """Keys of which the n-th equal ones of both sides are equal, and no others.

    Args:
      keys: of both sides; the first `size` are one side's.
      order: the stable permutation that sorts them.
      size: of the first side.
    """
    new = np.ones(keys.shape, bool)
    new[1:] = keys[order][1:] != keys[order][:-1]
    group = np.empty(keys.shape, np.int64)
    group[order] = np.cumsum(new) - 1
    within = np.empty(keys.shape, np.int64)
    for side in (order[order < size], order[order >= size]):
        mine = group[side]
        within[side] = np.arange(mine.size) - np.searchsorted(mine, mine)
    return group * (int(within.max(initial=0)) + 1) + within


def inside(xp: Any, indices: Array, shape: Any) -> Array:
    """Which positions lie inside of the dense shape: bool[N]."""
    return ((indices >= 0) & (indices < xp.asarray(shape))).all(1)


def check_inside(ctx: Any, xp: Any, indices: Array, shape: Any, what: str = "indices") -> None:
    """Fails the step unless every position lies inside of the dense shape."""
    if not indices.shape[0]:
        return
    if isinstance(indices, np.ndarray) and isinstance(shape, np.ndarray):
        xp = np
        if indices.ndim == 2:
            low, high = bounds(indices)
            if min(low, default=0) >= 0 and all(map(operator.lt, high, shape.tolist())):
                return
    found = first_false(xp, inside(xp, indices, shape))
    refuse_outside(ctx, xp, indices, shape, *found, what)


def refuse_outside(
    ctx: Any, xp: Any, indices: Array, shape: Any, ok: Any, first: Any, what: str = "indices"
) -> None:
    """Fails the step unless `ok`; `first` is the number of a position that is outside."""

    def text(at: Any, row: Any, sizes: Any) -> str:
        return (
            f"{what}[{int(at)}] = {np.asarray(row).tolist()} is out of bounds: expected a position"
            f" inside of the dense shape {np.asarray(sizes).tolist()}."
        )

    ctx.check(ok, errors.InvalidArgumentError, text, first, indices[first], xp.asarray(shape))


def same_shapes(ctx: Any, xp: Any, a: Array, b: Array) -> None:
    """Fails the step unless two dense shapes are equal."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.tolist() == b.tolist():
        return
    ctx.check(
        (xp.asarray(a) == xp.asarray(b)).all(),
        errors.InvalidArgumentError,
        lambda x, y: (
            "Operands' shapes do not match: expected one dense shape, got"
            f" {np.asarray(x).tolist()} and {np.asarray(y).tolist()}. Set both with"
            " tf.sparse.reset_shape."
        ),
        a,
        b,
    )


def invalid(message: str) -> errors.OpError:
    """An InvalidArgumentError."""
    return errors.InvalidArgumentError(None, None, message)


def add_rows(rows: Array, ids: Array, count: int, wide: Any = None) -> Array:
    """Rows added up by id, on the host: [count, ...]; ids are inside [0, count).

    Args:
      rows: numbers [N, ...].
      ids: integers [N], in any order.
      count: the number of results.
      wide: the dtype that sums are kept in; that of `rows` when None.
    """
    kind = rows.dtype if wide is None else np.dtype(wide)
    result = np.zeros((count, *rows.shape[1:]), kind)
    if not rows.shape[0] or not math.prod(rows.shape):
        return result
    wide_rows = rows.astype(kind, copy=False)
    found = native_arrays.combined(native_arrays.ADD, wide_rows, ids, result)
    if found is not None:
        return found
    if (ids[1:] < ids[:-1]).any():
        order = np.argsort(ids, kind="stable")
        ids, rows = ids[order], rows[order]
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    result[ids[starts]] = np.add.reduceat(rows.astype(kind, copy=False), starts, axis=0)
    return result


def sparse(value: Any, name: str = "sp_input") -> SparseTensor:
    """A SparseTensor of a SparseTensor or SparseTensorValue.

    Raises:
      TypeError: it is neither.
    """
    if isinstance(value, SparseTensor):
        return value
    if not is_sparse(value):
        raise TypeError(
            f"Input must be a SparseTensor. Expected {name} to be one, got {value!r} of type "
            f"{type(value).__name__}. Make one with tf.sparse.from_dense."
        )
    return SparseTensor.from_value(value)


def components(value: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    """Indices, values and dense shape."""
    return value.indices, value.values, value.dense_shape


def shaped(value: SparseTensor, dims: Dims) -> SparseTensor:
    """`value`, of which the static dense shape is known as well."""
    if dims is not None:
        value.set_shape(list(dims))
    return value


def integers(value: Any, name: str | None = None) -> Tensor:
    """`value` as a tensor of int64; integer tensors of another dtype are converted."""
    tensor: Tensor = convert_to_tensor(value, name=name, dtype_hint=dtypes.int64)
    return cast(tensor, dtypes.int64)


def after(checks: Iterable[Any], value: Any) -> Any:
    """`value`, in a graph not before the assertions have held."""
    with control_dependencies([c for c in checks if c is not None]):
        return execute("Identity", (value,))


def places_of_rows(rows: Array, sizes: Array, empty: Array) -> Array:
    """Where each element goes when rows lie in order and each empty one has a place, too: int64[N].

    Args:
      rows: the row of each element, int64[N]; those of one row keep their order.
      sizes: how many elements each row has.
      empty: which rows have none.
    """
    before = np.cumsum(empty)  # an element's own row is not empty
    if (rows[1:] >= rows[:-1]).all():
        places = np.repeat(before, sizes)
        places += np.arange(rows.size)
        return places
    order = np.argsort(rows, kind="stable")
    places = np.empty(rows.size, np.int64)
    places[order] = np.arange(rows.size) + np.repeat(before, sizes)
    return places
