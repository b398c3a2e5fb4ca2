"""Sets: the values of each row of a tensor, each once.

The last axis of a tensor holds the elements of sets; the other axes number them. Results are sparse
tensors of the same leading axes, with each set's elements in order from the start of its row.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import native_arrays, native_sparse
from penstock.core.composite import SparseTensor, is_sparse
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.sparse_common import (
    LARGEST,
    Array,
    check_inside,
    components,
    from_position,
    invalid,
    order_of,
    parts,
    position,
    sparse,
)
from penstock.ops.string_arrays import array_of
from penstock.types import dtypes
from penstock.types.dims import Dims

TYPES = "T: {int8, int16, int32, int64, uint8, uint16, string}"
TAIL = f"set_operation: string, validate_indices: bool = True, {TYPES})"
RESULT = " -> result_indices: int64, result_values: T, result_shape: int64"
_MOST_NUMBERS = 1 << 31  # an element's value is its number up to so wide a range
_FEW = 1 << 14  # elements that the native library sorts sooner than NumPy
# The number of the set that each element belongs to, its value, and 0; where sets have the same
# number of elements, which follow each other: None, values, and that number.
Elements = tuple[Array, Array, int]
_NUMBERS = {"a-b": 0, "b-a": 1, "intersection": 2, "union": 3}  # as native_arrays.sets has them

OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {  # of ordered, different numbers
    "a-b": lambda a, b: np.setdiff1d(a, b, assume_unique=True),
    "b-a": lambda a, b: np.setdiff1d(b, a, assume_unique=True),
    "intersection": lambda a, b: np.intersect1d(a, b, assume_unique=True),
    "union": lambda a, b: _different(np.concatenate([a, b])),
}


def _check_operation(c: ShapeContext) -> None:
    if c.attr("set_operation").lower() not in OPERATIONS:
        c.fail(
            f"set_operation in {sorted(OPERATIONS)}",
            f"Invalid set_operation {c.attr('set_operation')!r}",
        )


def _result(c: ShapeContext, ranks: list[int | None]) -> list[Dims]:
    _check_operation(c)
    known = [r for r in ranks if r is not None]
    if any(r < 2 for r in known):
        low = min(known)
        said = c.says(f"rank {low} < 2", f"Shape must be at least rank 2 but is rank {low}")
        c.fail("inputs of rank at least 2", f"Invalid rank {low}: {said}")
    if len(set(known)) > 1:
        c.fail("inputs of one rank", f"ranks {known[0]} and {known[1]}")
    rank = known[0] if known else None
    return [(None, rank), (None,), (rank,)]


def _dense_result(c: ShapeContext) -> list[Dims]:
    a, b = c.shape(0), c.shape(1)
    result = _result(c, [_rank(a), _rank(b)])
    if not (c.running or a is None or b is None):  # a kernel has a sentence of its own
        c.merge(a[:-1], b[:-1])
    return result


def _rank(dims: Dims) -> int | None:
    return None if dims is None else len(dims)


def _order(ctx: KernelContext, indices: Array, shape: Array, validate: bool) -> None:
    """Refuses positions outside of the shape, or out of order when that is checked."""
    found = native_sparse.bounds(indices)
    if found is not None and (not validate or found[2] != native_sparse.FALLING):
        low, high, _ = found
        if min(low) >= 0 and all(map(operator.lt, high, shape.tolist())):
            return
    check_inside(ctx, np, indices, shape)
    if validate and (order_of(np, indices) != np.arange(indices.shape[0])).any():
        raise invalid(
            "Sparse indices are out of order: expected positions in row-major order. Use "
            "tf.sparse.reorder."
        )


def _sparse_sets(indices: Array, values: Array, shape: Array) -> Elements:
    sizes = shape[:-1].tolist()
    if len(sizes) == 1:
        return indices[:, 0], values, 0
    rows = indices[:, :-1] if indices.shape[0] else np.zeros((0, len(sizes)), np.int64)
    return position(np, rows, sizes), values, 0


def _dense_sets(values: Array) -> Elements:
    return None, values.reshape(-1), values.shape[-1]


def _with_rows(sets: Elements) -> Elements:
    """The same elements, each with the number of its set."""
    rows, values, width = sets
    if rows is None:
        rows = np.arange(len(values) // max(width, 1)).repeat(width)
    return rows, values, 0


def _groups(a: Any, b: Any) -> tuple[int, ...]:
    """The leading sizes of both, which must be equal."""
    left, right = (tuple([int(n) for n in s[:-1]]) for s in (a, b))
    if left != right:
        raise invalid(
            f"Mismatched group shapes: expected equal leading sizes, got {list(left)} and "
            f"{list(right)}: Mismatched shapes {list(left)} vs {list(right)}."
        )
    return left


def _numbered(values: Array) -> tuple[Array, int, Callable[[Array], Array]]:
    """Numbers in the order of values: of each element, how many at most, and the way back."""
    if values.dtype == object:
        items = values.tolist()
        ordered = sorted(set(items))
        place = {item: i for i, item in enumerate(ordered)}
        places = np.fromiter(map(place.__getitem__, items), np.int64, len(items))
        different = array_of(ordered, (len(ordered),))
        return places, max(len(ordered), 1), lambda numbers: different[numbers]
    wide = values.astype(np.int64)
    least = int(wide.min(initial=0))
    count = int(wide.max(initial=0)) - least + 1
    if count < _MOST_NUMBERS:
        return wide - least, count, lambda numbers: (numbers + least).astype(values.dtype)
    different, places = np.unique(values, return_inverse=True)
    return places, different.size, lambda numbers: different[numbers]


def _sets(rows: Array, count: int) -> tuple[Array | None, Array]:
    """Numbers of sets that stay in 63 bits times `count`: the sets that they stand for, or None."""
    if int(rows.max(initial=0)) < LARGEST // count:
        return None, rows
    return np.unique(rows, return_inverse=True)


def _different(keys: Array) -> Array:
    """The different keys in order. NumPy's unique takes 90 times as long on a million integers."""
    keys = np.sort(keys)
    first = np.ones(keys.shape, bool)
    first[1:] = keys[1:] != keys[:-1]
    return keys[first]


def _combined(a: Elements, b: Elements, groups: tuple[int, ...], operation: str) -> list[Array]:
    """The sets of both, each element once: positions, values and dense shape of a sparse tensor."""
    found = _combined_few(a, b, groups, operation) if a[1].size + b[1].size <= _FEW else None
    return _combined_many(a, b, groups, operation) if found is None else found


def _combined_few(
    a: Elements, b: Elements, groups: tuple[int, ...], operation: str
) -> list[Array] | None:
    """The same for few elements by the native library, which NumPy's faster sorting outruns."""
    numbers, value_of = [a[1], b[1]], None
    if a[1].dtype == object:
        places, _, value_of = _numbered(np.concatenate(numbers))
        numbers = np.split(places, [a[1].size])
    first, second = ((rows, width, x) for (rows, _, width), x in zip((a, b), numbers, strict=True))
    found = native_arrays.sets(_NUMBERS[operation.lower()], first, second)
    if found is None:
        return None
    indices, values = found
    longest = int(indices[:, 1].max(initial=-1)) + 1
    if len(groups) != 1:
        rows = from_position(np, indices[:, 0], groups)
        indices = np.concatenate([rows, indices[:, 1:]], 1)
    values = values.astype(a[1].dtype) if value_of is None else value_of(values)
    return [indices, values, np.array([*groups, longest], np.int64)]


def _combined_many(
    a: Elements, b: Elements, groups: tuple[int, ...], operation: str
) -> list[Array]:
    a, b = _with_rows(a), _with_rows(b)
    places, count, value_of = _numbered(np.concatenate([a[1], b[1]]))
    sets, rows = _sets(np.concatenate([a[0], b[0]]), count)
    keys = rows * count + places
    found = OPERATIONS[operation.lower()](*map(_different, np.split(keys, [a[0].size])))
    rows = found // count if sets is None else sets[found // count]
    starts = np.searchsorted(rows, rows)
    within = np.arange(rows.size) - starts
    indices = np.concatenate([from_position(np, rows, groups), within[:, None]], 1)
    longest = int(within.max(initial=-1)) + 1
    return [indices, value_of(found % count), np.array([*groups, longest], np.int64)]


DENSE_TO_DENSE = define_op(
    f"DenseToDenseSetOperation(set1: T, set2: T; {TAIL}{RESULT}",
    shape=_dense_result,
    doc="A set operation on each row of two dense tensors.",
).not_differentiable("sets have no gradients")


@host_kernel(DENSE_TO_DENSE)
def _dense_to_dense(a: Array, b: Array, *, set_operation: str) -> list[Array]:
    groups = _groups(a.shape, b.shape)
    return _combined(_dense_sets(a), _dense_sets(b), groups, set_operation)


DENSE_TO_SPARSE = define_op(
    f"DenseToSparseSetOperation(set1: T, set2_indices: int64, set2_values: T, set2_shape: int64; "
    f"{TAIL}{RESULT}",
    shape=lambda c: _result(c, [_rank(c.shape(0)), parts(c, 1, "set2")[1]]),
    host_inputs=("set2_shape",),
    doc="A set operation on each row of a dense and of a sparse tensor.",
).not_differentiable("sets have no gradients")


@host_kernel(DENSE_TO_SPARSE)
def _dense_to_sparse(
    ctx: KernelContext, a: Array, indices: Array, values: Array, shape: Array, *,
    set_operation: str, validate_indices: bool,
) -> list[Array]:  # fmt: skip
    _order(ctx, indices, shape, validate_indices)
    groups = _groups(a.shape, shape)
    other = _sparse_sets(indices, values, shape)
    return _combined(_dense_sets(a), other, groups, set_operation)


SPARSE_TO_SPARSE = define_op(
    "SparseToSparseSetOperation(set1_indices: int64, set1_values: T, set1_shape: int64, "
    f"set2_indices: int64, set2_values: T, set2_shape: int64; {TAIL}{RESULT}",
    shape=lambda c: _result(c, [parts(c, 0, "set1")[1], parts(c, 3, "set2")[1]]),
    host_inputs=("set1_shape", "set2_shape"),
    doc="A set operation on each row of two sparse tensors.",
).not_differentiable("sets have no gradients")


@host_kernel(SPARSE_TO_SPARSE)
def _sparse_to_sparse(
    ctx: KernelContext, indices: Array, values: Array, shape: Array, indices2: Array,
    values2: Array, shape2: Array, *, set_operation: str, validate_indices: bool,
) -> list[Array]:  # fmt: skip
    _order(ctx, indices, shape, validate_indices)
    _order(ctx, indices2, shape2, validate_indices)
    groups = _groups(shape, shape2)
    first, second = _sparse_sets(indices, values, shape), _sparse_sets(indices2, values2, shape2)
    return _combined(first, second, groups, set_operation)


def _size_shape(c: ShapeContext) -> Dims:
    _, rank = parts(c, 0, "set")
    if rank is not None and rank < 2:
        c.fail("a sparse tensor of rank at least 2", f"Invalid rank {rank}")
    sizes = c.shape_value(2)
    if sizes is not None:
        return sizes[:-1]
    return None if rank is None else (None,) * (rank - 1)


SET_SIZE = define_op(
    "SetSize(set_indices: int64, set_values: T, set_shape: int64; validate_indices: bool = True, "
    f"{TYPES}) -> size: int32",
    shape=_size_shape,
    host_inputs=("set_shape",),
    doc="The number of different elements in each row of a sparse tensor.",
).not_differentiable("sets have no gradients")


@host_kernel(SET_SIZE)
def _set_size(
    ctx: KernelContext, indices: Array, values: Array, shape: Array, *, validate_indices: bool
) -> Array:
    _order(ctx, indices, shape, validate_indices)
    if shape.min() < 0:
        raise ValueError(f"expected sizes of 0 or more, got set_shape {shape.tolist()}.")
    rows, elements, _ = _sparse_sets(indices, values, shape)
    sizes = shape[:-1].tolist()
    few = None
    if elements.size <= _FEW and elements.dtype != object:
        few = native_arrays.sets(
            _NUMBERS["union"], (rows, 0, elements), (rows[:0], 0, elements[:0])
        )
    if few is not None:
        found = few[0][:, 0]
    else:
        places, count, _ = _numbered(elements)
        found = _different(rows * count + places) // count
    counts = np.bincount(found, minlength=math.prod(sizes))
    return counts.astype(np.int32).reshape(sizes)


# ---- public functions


def _tensor(value: Any, name: str) -> Any:
    found = sparse(value, name) if is_sparse(value) else convert_to_tensor(value)
    if found.dtype.base_dtype not in _DTYPES:
        raise TypeError(
            f"Data type {found.dtype.name} of input {name} is not supported: expected one of "
            f"{', '.join(t.name for t in _DTYPES)}."
        )
    return found


_DTYPES = (
    dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16,
    dtypes.string,
)  # fmt: skip
_TURNED = {"a-b": "b-a", "b-a": "a-b"}


def _set_operation(a: Any, b: Any, operation: str, validate: bool) -> SparseTensor:
    a, b = _tensor(a, "a"), _tensor(b, "b")
    if a.dtype.base_dtype is not b.dtype.base_dtype:
        raise TypeError(f"Types don't match: a is {a.dtype.name} and b is {b.dtype.name}.")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        a, b, operation = b, a, _TURNED.get(operation, operation)
    attrs = {"set_operation": operation, "validate_indices": validate}
    if isinstance(a, SparseTensor):
        return SparseTensor(*execute(SPARSE_TO_SPARSE, (*components(a), *components(b)), attrs))
    if isinstance(b, SparseTensor):
        return SparseTensor(*execute(DENSE_TO_SPARSE, (a, *components(b)), attrs))
    return SparseTensor(*execute(DENSE_TO_DENSE, (a, b), attrs))


def size(a: Any, validate_indices: bool = True) -> Any:
    """The number of different elements in each row of a sparse tensor.

    Args:
      a: SparseTensor of integers or strings.
      validate_indices: whether positions must be in order.

    Returns:
      int32 Tensor of the shape of `a` without its last axis.

    Raises:
      TypeError: `a` is no SparseTensor, or of another dtype.

    Example:
      >>> size(SparseTensor([[0, 0], [0, 1], [1, 0]], [5, 5, 6], [2, 2])).numpy()
      array([1, 1], dtype=int32)
    """
    if not is_sparse(a):
        raise TypeError(f"Expected `SparseTensor`, got {a!r}. Use tf.sparse.from_dense.")
    attrs = {"validate_indices": validate_indices}
    return execute(SET_SIZE, components(_tensor(a, "a")), attrs)


def intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements that both of two sets have, for each row.

    Args:
      a: Tensor or SparseTensor of integers or strings, rank at least 2.
      b: likewise, of the same dtype and leading sizes.
      validate_indices: whether positions of sparse inputs must be in order.

    Returns:
      SparseTensor; the elements of each row are in order.

    Raises:
      TypeError: dtypes are not supported, or differ.
      InvalidArgumentError: leading sizes differ.

    Example:
      >>> intersection([[1, 2, 3]], [[3, 1, 9]]).values.numpy()
      array([1, 3], dtype=int32)
    """
    return _set_operation(a, b, "intersection", validate_indices)


def union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements of both of two sets, for each row; see `intersection`.

    Example:
      >>> union([[1, 2]], [[3, 1]]).values.numpy()
      array([1, 2, 3], dtype=int32)
    """
    return _set_operation(a, b, "union", validate_indices)


def difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The elements that only one of two sets has, for each row; see `intersection`.

    Args:
      a: Tensor or SparseTensor of integers or strings, rank at least 2.
      b: likewise, of the same dtype and leading sizes.
      aminusb: whether to take those of `a` that `b` does not have; else the reverse.
      validate_indices: whether positions of sparse inputs must be in order.

    Example:
      >>> difference([[1, 2]], [[3, 1]]).values.numpy()
      array([2], dtype=int32)
    """
    return _set_operation(a, b, "a-b" if aminusb else "b-a", validate_indices)
