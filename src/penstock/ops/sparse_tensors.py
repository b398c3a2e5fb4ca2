"""Public functions that make sparse tensors, and change their order, shape or form.

Every function takes SparseTensors (or SparseTensorValues) and returns SparseTensors; gradients pass
through the values.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.composite import IndexedSlices, SparseTensor
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.static_values import constant_value, shape_value
from penstock.ops.composing import cast, concat, scope
from penstock.ops.debug_asserts import assert_less_equal
from penstock.ops.sparse_common import after, components, integers, invalid, sparse
from penstock.ops.sparse_layout import FILL_EMPTY_ROWS, REORDER, RESHAPE, TO_DENSE, reshaped
from penstock.types import dtypes
from penstock.types.dims import is_full
from penstock.types.tensor_shape import TensorShape


def _zero(dtype: Any) -> Any:
    return b"" if dtype is dtypes.string else np.zeros((), dtype.numpy_dtype)


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The elements of a dense tensor that are not 0 (not empty, for strings).

    Args:
      tensor: any dtype and shape.
      name: the name of the scope in a graph.

    Returns:
      A SparseTensor of the same shape, in row-major order.

    Example:
      >>> from_dense([[1, 0], [0, 3]]).values.numpy()
      array([1, 3], dtype=int32)
    """
    with scope(name, "dense_to_sparse"):
        tensor = convert_to_tensor(tensor)
        zero = convert_to_tensor(_zero(tensor.dtype.base_dtype), tensor.dtype.base_dtype)
        indices = execute("Where", (execute("NotEqual", (tensor, zero)),))
        values = execute("GatherNd", (tensor, indices))
        if is_full(tensor.dims):
            sizes = convert_to_tensor(np.array(tensor.dims, np.int64))
        else:
            sizes = execute("Shape", (tensor,), {"out_type": dtypes.int64})
        return SparseTensor(indices, values, sizes)


def to_dense(
    sp_input: Any,
    default_value: Any = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """The dense form of a sparse tensor.

    Args:
      sp_input: SparseTensor of any dtype.
      default_value: scalar for positions without an element; None for 0, False or the empty string.
      validate_indices: whether positions must be in order, each once.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the dense shape.

    Raises:
      TypeError: `sp_input` is no SparseTensor.
      InvalidArgumentError: a position is out of bounds, or out of order while that is checked.

    Example:
      >>> to_dense(SparseTensor([[0, 1]], [7], [1, 3])).numpy()
      array([[0, 7, 0]], dtype=int32)
    """
    given = sparse(sp_input)
    indices, values, sizes = components(given)
    default = _zero(values.dtype.base_dtype) if default_value is None else default_value
    default = convert_to_tensor(default, values.dtype.base_dtype)
    attrs = {"validate_indices": validate_indices}
    result: Tensor = execute(TO_DENSE, (indices, sizes, values, default), attrs, name)
    if state.graph is not None:  # a spec may tell more than the tensor of sizes
        result.set_shape(given.shape)
    return result


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A dense tensor with values at the positions given; of compat.v1.

    Args:
      sparse_indices: int32 or int64, a position, a vector of places or a matrix [N, R].
      output_shape: vector [R] of the same dtype.
      sparse_values: one value, or [N].
      default_value: scalar for all other positions.
      validate_indices: whether positions must be in order, each once.
      name: the name of the operation in a graph.

    Returns:
      Tensor of shape `output_shape`.
    """
    attrs = {"validate_indices": validate_indices}
    inputs = (sparse_indices, output_shape, sparse_values, default_value)
    result: Tensor = execute(TO_DENSE, inputs, attrs, name)
    return result


def reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """A sparse tensor with its elements in row-major order.

    Args:
      sp_input: SparseTensor of any dtype.
      name: the name of the operation in a graph.

    Raises:
      TypeError: `sp_input` is no SparseTensor.
    """
    sp_input = sparse(sp_input)
    indices, values = execute(REORDER, components(sp_input), None, name)
    return _like(sp_input, SparseTensor(indices, values, sp_input.dense_shape))


def _like(model: SparseTensor, made: SparseTensor) -> SparseTensor:
    """`made`, of the static shape of `model`."""
    made.set_shape(model.shape)
    return made


def reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """A sparse tensor whose dense form has another shape and the same elements in order.

    Args:
      sp_input: SparseTensor of any dtype.
      shape: integer vector; one entry may be -1.
      name: the name of the operation in a graph.

    Raises:
      TypeError: `sp_input` is no SparseTensor.
      ValueError, InvalidArgumentError: the numbers of elements differ.

    Example:
      >>> reshape(from_dense([[1, 0], [0, 3]]), [-1]).indices.numpy().tolist()
      [[0], [3]]
    """
    sp_input = sparse(sp_input)
    wanted = integers(shape, "shape")
    inputs = (sp_input.indices, sp_input.dense_shape, wanted)
    indices, sizes = execute(RESHAPE, inputs, None, name)
    made = SparseTensor(indices, sp_input.values, sizes)
    known = constant_value(wanted)
    if known is not None:
        made.set_shape(_reshaped(sp_input.shape, known))
    return made


def _reshaped(old: TensorShape, new: Any) -> list[int | None]:
    """The static shape of `reshape`, which may tell more than the tensors of sizes."""
    if not old.is_fully_defined():
        return [None if n < 0 else int(n) for n in new]
    try:
        return list(reshaped(old.as_list(), new))
    except errors.InvalidArgumentError as problem:
        raise ValueError(problem.message) from None


def transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """A sparse tensor with its axes in another order.

    Args:
      sp_input: SparseTensor of rank R.
      perm: permutation of the axes; None to reverse them.
      name: the name of the scope in a graph.

    Returns:
      SparseTensor in row-major order; axis i is axis `perm[i]` of `sp_input`.

    Example:
      >>> transpose(from_dense([[1, 2, 0]])).shape
      TensorShape([3, 1])
    """
    with scope(name, "SparseTranspose"):
        sp_input = sparse(sp_input)
        if perm is None:
            perm = _reversed_axes(sp_input)
        perm = convert_to_tensor(perm)
        indices = execute("GatherV2", (sp_input.indices, perm, np.int32(1)))
        sizes = execute("GatherV2", (sp_input.dense_shape, perm, np.int32(0)))
        made = SparseTensor(indices, sp_input.values, sizes)
        order, known = constant_value(perm), sp_input.shape
        if order is not None and known.rank is not None:
            beyond = not all(-known.rank <= i < known.rank for i in order)
            if beyond or len(order) != known.rank:
                raise (IndexError if beyond else ValueError)(
                    f"transpose: expected a permutation of {known.rank} axes, got"
                    f" {order.tolist()}. Name each axis once, from 0 on."
                )
            made.set_shape([known.as_list()[int(i)] for i in order])
        return reorder(made)


def _reversed_axes(sp_input: SparseTensor) -> Any:
    rank = sp_input.shape.rank
    if rank is not None:
        return np.arange(rank - 1, -1, -1, dtype=np.int32)
    count = execute("Size", (sp_input.dense_shape,))
    return execute("Range", (execute("Sub", (count, np.int32(1))), np.int32(-1), np.int32(-1)))


def expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """A sparse tensor with an axis of size 1 put in.

    Args:
      sp_input: SparseTensor of rank R.
      axis: where, in [-R - 1, R]; None for the last.
      name: the name of the scope in a graph.

    Raises:
      TypeError: `axis` is no integer.
      ValueError, InvalidArgumentError: `axis` is out of range.

    Example:
      >>> expand_dims(from_dense([1, 0]), 0).shape
      TensorShape([1, 2])
    """
    with scope(name, "expand_dims"):
        sp_input = sparse(sp_input)
        rank = _rank(sp_input)
        at = _inserted_at(convert_to_tensor(-1 if axis is None else axis), rank)
        count = execute("Shape", (sp_input.values,))
        column = execute("Fill", (concat([count, _ints(1)], 0), np.int64(0)))
        places = sp_input.indices
        pieces = [_columns(places, 0, at), column, _columns(places, at, rank)]
        size = sp_input.dense_shape
        one = convert_to_tensor(np.ones(1, np.int64))
        sizes = concat([_entries(size, 0, at), one, _entries(size, at, rank)], 0)
        made = SparseTensor(concat(pieces, 1), sp_input.values, sizes)
        if isinstance(at, int) and isinstance(rank, int):
            known = sp_input.shape.as_list()
            made.set_shape([*known[:at], 1, *known[at:]])
        return made


def _rank(sp_input: SparseTensor) -> int | Tensor:
    """The rank of a sparse tensor: a tensor where it is known only when the graph runs."""
    known = sp_input.dense_shape.shape.with_rank(1).as_list()[0]
    return execute("Size", (sp_input.dense_shape,)) if known is None else known


def _inserted_at(axis: Tensor, rank: int | Tensor) -> int | Tensor:
    """Before which axis a new one stands; out of range is refused here where that is known."""
    if not axis.dtype.is_integer or axis.shape.rank:
        raise TypeError(f"expand_dims: axis must be an integer, got {axis}. Give one axis.")
    where = constant_value(axis)
    if where is None or not isinstance(rank, int):
        axis = cast(axis, dtypes.int32)
        found: Tensor = execute("SelectV2", (axis < 0, axis + rank + 1, axis))
        return found
    at = int(where)
    if not -rank - 1 <= at <= rank:
        text = (
            f"expand_dims: expected an axis in [{-rank - 1}, {rank}], got {at}. Count from 0, or"
            " from -1 at the end."
        )
        raise invalid(text) if state.graph is None else ValueError(text)
    return at + rank + 1 if at < 0 else at


def _ints(*values: int | Tensor) -> Any:
    if any(isinstance(value, Tensor) for value in values):
        return execute("Pack", ([convert_to_tensor(value, dtypes.int32) for value in values],))
    return convert_to_tensor(np.array(values, np.int32))


def _columns(x: Any, start: int | Tensor, end: int | Tensor) -> Any:
    """Columns of a matrix."""
    return execute("Slice", (x, _ints(0, start), _ints(-1, end - start)))


def _entries(x: Any, start: int | Tensor, end: int | Tensor) -> Any:
    """Entries of a vector."""
    return execute("Slice", (x, _ints(start), _ints(end - start)))


def eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = dtypes.float32, name: str | None = None
) -> SparseTensor:
    """A sparse matrix of ones on its diagonal.

    Args:
      num_rows: integer scalar.
      num_columns: integer scalar; None for `num_rows`.
      dtype: the dtype of the ones.
      name: the name of the scope in a graph.

    Example:
      >>> to_dense(eye(2, 3, "int32")).numpy().tolist()
      [[1, 0, 0], [0, 1, 0]]
    """
    with scope(name, "eye"):
        rows = integers(num_rows)
        columns = rows if num_columns is None else integers(num_columns)
        count = execute("Minimum", (rows, columns))
        places = execute("Range", (np.int64(0), count, np.int64(1)))
        kind = dtypes.as_dtype(dtype)
        one = cast(convert_to_tensor(1), kind) if kind is not dtypes.int32 else np.int32(1)
        sizes = execute("Pack", ([rows, columns],))
        return SparseTensor(
            execute("Pack", ([places, places],), {"axis": 1}),
            execute("Fill", (execute("Reshape", (count, _ints(1))), one)),
            sizes,
        )


def retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """Some of the elements of a sparse tensor.

    Args:
      sp_input: SparseTensor of N elements.
      to_retain: bool[N], which to keep.

    Raises:
      ValueError: the lengths differ.

    Example:
      >>> retain(from_dense([4, 5, 6]), [True, False, True]).values.numpy()
      array([4, 6], dtype=int32)
    """
    sp_input = sparse(sp_input)
    chosen = convert_to_tensor(to_retain)
    count, given = sp_input.values.shape.with_rank(1), chosen.shape.with_rank(1)
    count.dims[0].assert_is_compatible_with(given.dims[0])
    places = execute("Reshape", (execute("Where", (chosen,)), _ints(-1)))
    indices = execute("GatherV2", (sp_input.indices, places, np.int32(0)))
    values = execute("GatherV2", (sp_input.values, places, np.int32(0)))
    return _like(sp_input, SparseTensor(indices, values, sp_input.dense_shape))


def reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """A sparse tensor of another dense shape; its elements stay where they are.

    Args:
      sp_input: SparseTensor of rank R.
      new_shape: int64[R], no size smaller than it was; None for the smallest that holds all
        elements.

    Raises:
      TypeError: `sp_input` is no SparseTensor.
      ValueError, InvalidArgumentError: another rank, or a size is smaller.
    """
    sp_input = sparse(sp_input)
    indices = execute("Identity", (sp_input.indices,))
    values = execute("Identity", (sp_input.values,))
    if new_shape is None:
        largest = execute("Max", (indices, np.array([0], np.int32)))
        bound = execute("AddV2", (largest, execute("OnesLike", (sp_input.dense_shape,))))
        sizes = execute("Maximum", (bound, np.int64(0)))
        empty = execute("Equal", (execute("Size", (values,)), np.int32(0)))
        sizes = execute("SelectV2", (empty, execute("ZerosLike", (sizes,)), sizes))
        return SparseTensor(indices, values, sizes)
    sizes = integers(new_shape)
    checks = _check_larger(sp_input, sizes)
    return SparseTensor(indices, values, after(checks, sizes))


def _check_larger(sp_input: SparseTensor, sizes: Tensor) -> list[Any]:
    """Refuses a new shape of another rank or with a smaller size."""
    old_rank, new_rank = sp_input.shape.rank, sizes.shape.with_rank(1).as_list()[0]
    if old_rank is not None and new_rank is not None and old_rank != new_rank:
        raise ValueError(
            f"Dimensions {old_rank} and {new_rank} are not compatible: reset_shape expects as many"
            " sizes as there were. Use tf.sparse.reshape or expand_dims to change the rank."
        )
    known = shape_value(sizes)
    old = sp_input.shape
    if is_full(known) and old.is_fully_defined():
        assert known is not None
        if any(n < o for n, o in zip(known, old.as_list(), strict=True)):  # type: ignore[operator]
            raise ValueError(
                "Requested new_shape should have dimension sizes >= sp_input.shape. Found new_shape"
                f" ({list(known)}), sp_input.shape ({old.as_list()}). Use tf.sparse.slice to cut."
            )
        return []
    return [assert_less_equal(sp_input.dense_shape, sizes)]


def fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """A sparse tensor in which each row has at least one element.

    Args:
      sp_input: SparseTensor of rank at least 1.
      default_value: scalar of its dtype, put at position [row, 0, ...] of rows without an element.
      name: the name of the scope in a graph.

    Returns:
      The SparseTensor, in order of its rows, and bool[rows], which rows were empty.

    Raises:
      TypeError: `sp_input` is no SparseTensor.

    Example:
      >>> filled, empty = fill_empty_rows(SparseTensor([[1, 0]], [5], [3, 1]), -1)
      >>> filled.values.numpy().tolist(), empty.numpy().tolist()
      ([-1, 5, -1], [True, False, True])
    """
    sp_input = sparse(sp_input)
    with scope(name, "SparseFillEmptyRows"):
        default = convert_to_tensor(default_value, sp_input.values.dtype.base_dtype)
        indices, values, empty, _ = execute(FILL_EMPTY_ROWS, (*components(sp_input), default))
        return SparseTensor(indices, values, sp_input.dense_shape), empty


def merge(
    sp_ids: Any, sp_values: Any, vocab_size: Any, name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:  # fmt: skip
    """Ids and their values as a sparse tensor in which the ids are positions; of compat.v1.

    Args:
      sp_ids: SparseTensor of int32 or int64 ids, or a list of them, of one set of positions.
      sp_values: SparseTensor of a value for each id.
      vocab_size: the number of ids, or a list of them.
      name: the name of the scope in a graph.
      already_sorted: whether the result is in order as it is.

    Returns:
      SparseTensor of shape `sp_ids.dense_shape[:-1] + [vocab_size]`, a dimension for each of ids.

    Raises:
      TypeError: ids are no SparseTensors, or a size is no integer.
      ValueError: as many sizes as ids are wanted.
    """
    many = isinstance(sp_ids, Sequence) and not hasattr(sp_ids, "indices")
    ids = list(sp_ids) if many else [sp_ids]
    sizes = list(vocab_size) if many and isinstance(vocab_size, (list, tuple)) else [vocab_size]
    if many and not isinstance(vocab_size, (list, tuple)):
        raise TypeError(
            f"vocab_size has to be a list of tensors, got {vocab_size!r}. Put it into a list."
        )
    for size in sizes:
        if size is None or isinstance(size, (list, tuple)):
            raise TypeError(f"vocab_size has to be a Tensor or Python int. Found {size!r}.")
    if len(ids) != len(sizes):
        raise ValueError(f"expected a vocab_size for each of {len(ids)} ids, got {len(sizes)}.")
    ids = [sparse(i, "sp_ids") for i in ids]
    sp_values = sparse(sp_values, "sp_values")
    with scope(name, "SparseMerge"):
        return _merged(ids, sp_values, sizes, already_sorted)


def _merged(
    ids: list[SparseTensor], sp_values: SparseTensor, sizes: list[Any], already_sorted: bool
) -> SparseTensor:
    first = ids[0]
    rank = _rank(first)
    columns = [execute("ExpandDims", (cast(i.values, dtypes.int64), np.int32(1))) for i in ids]
    indices = concat([_columns(first.indices, 0, rank - 1), *columns], 1)
    tails = [execute("Reshape", (integers(s), _ints(1))) for s in sizes]
    shape = concat([_entries(first.dense_shape, 0, rank - 1), *tails], 0)
    made = SparseTensor(indices, sp_values.values, shape)
    return made if already_sorted else reorder(made)


def to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """A dense bool tensor that says which ids each row holds.

    Args:
      sp_input: SparseTensor of int32 or int64 ids, of shape [D0, ..., Dn].
      vocab_size: the number of ids, an integer scalar.
      name: the name of the scope in a graph.

    Returns:
      bool[D0, ..., Dn-1, vocab_size].

    Raises:
      TypeError: `sp_input` is no SparseTensor.

    Example:
      >>> to_indicator(SparseTensor([[0, 0], [1, 0]], [2, 0], [2, 1]), 3).numpy().tolist()
      [[False, False, True], [True, False, False]]
    """
    sp_input = sparse(sp_input)
    with scope(name, "SparseToIndicator"):
        count = execute("Shape", (sp_input.values,))
        yes = SparseTensor(
            sp_input.indices, execute("Fill", (count, np.bool_(True))), sp_input.dense_shape
        )
        ids = sp_input.with_values(cast(sp_input.values, dtypes.int64))
        return to_dense(merge(ids, yes, vocab_size), False, validate_indices=False)


def mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """Slices without those of certain rows.

    Args:
      a: IndexedSlices.
      mask_indices: integer vector, the rows to leave out.
      name: the name of the scope in a graph.
    """
    with scope(name, "sparse_mask"):
        indices, places = execute("ListDiff", (a.indices, mask_indices))
        values = execute("GatherV2", (a.values, places, np.int32(0)))
        return IndexedSlices(values, indices, a.dense_shape)
