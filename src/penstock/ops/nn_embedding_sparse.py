"""Rows of tables combined over several ids for each example.

The ids of an example are a row of a sparse or ragged tensor. Each different id is looked up once.
The gradient of the table is an IndexedSlices of the rows that were looked up.
"""

from typing import Any

import numpy as np

from penstock.core.composite import SparseTensor, is_sparse
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops.composing import cast, concat, number, scope, tensor
from penstock.ops.math_arithmetic import multiply
from penstock.ops.nn_embedding import embedding_lookup_v1
from penstock.ops.sparse_common import sparse
from penstock.ops.sparse_segments import OPS
from penstock.ops.sparse_tensors import fill_empty_rows, retain
from penstock.ops.sparse_tensors import reshape as sparse_reshape
from penstock.types import dtypes

COMBINERS = {"sum": "Sum", "mean": "Mean", "sqrtn": "SqrtN"}
HALVES = (dtypes.float16, dtypes.bfloat16)


def _is_ragged(value: Any) -> bool:
    return hasattr(value, "value_rowids") and hasattr(value, "flat_values")


def _ids_of(value: Any, what: str) -> tuple[Any, Any]:
    """The values and the row of each, of a sparse or ragged matrix."""
    if _is_ragged(value):
        return value.flat_values, value.value_rowids()
    if not is_sparse(value):
        raise TypeError(
            f"{what} must be SparseTensor or RaggedTensor, got {type(value).__name__}: {value!r}."
        )
    found = sparse(value)
    return found.values, execute("GatherV2", (found.indices, np.int32(0), np.int32(1)))


def _combiner(name: str | None) -> str:
    chosen = "mean" if name is None else name
    if chosen not in COMBINERS:
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {chosen!r}.")
    return chosen


def _parts(params: Any) -> list[Any]:
    if params is None:
        raise ValueError("params must be specified")
    parts = list(params) if isinstance(params, (list, tuple)) or _is_split(params) else [params]
    if not parts:
        raise ValueError("Missing embedding_weights: expected at least one table, got none.")
    return parts


def _is_split(params: Any) -> bool:
    """Whether a variable is made of parts."""
    return hasattr(params, "_get_partitions") or type(params).__name__ == "PartitionedVariable"


def embedding_lookup_sparse_v1(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Rows of a table, combined for each row of ids.

    Args:
      params: a table [V, ...], or a list of parts whose rows make up the table.
      sp_ids: SparseTensor or RaggedTensor [B, ...] of int32 or int64 ids; its rows are not empty.
      sp_weights: the same kind of tensor of a weight for each id, or None for 1.
      partition_strategy: how rows are spread over parts, "mod" or "div".
      name: the name of the scope in a graph.
      combiner: "mean" (also None), "sqrtn" (by the root of the sum of squared weights) or "sum".
      max_norm: rows of a larger l2 norm are scaled down to it before; None leaves them.
      allow_fast_lookup: makes no difference.

    Returns:
      Tensor [B, ...] of the table's dtype.

    Raises:
      TypeError: ids are neither sparse nor ragged, or the weights are of another kind.
      ValueError: the combiner is none of these, or there are no params.

    Example:
      >>> ids = SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 2, 1], [2, 2])
      >>> table = np.array([[1.0], [5.0], [3.0]], np.float32)
      >>> embedding_lookup_sparse_v1(table, ids, None, combiner="sum").numpy().tolist()
      [[4.0], [5.0]]
    """
    del allow_fast_lookup
    chosen = _combiner(combiner)
    parts = _parts(params)
    ids, rows = _ids_of(sp_ids, "sp_ids")
    weights = None
    if sp_weights is not None:
        if _is_ragged(sp_weights) != _is_ragged(sp_ids):
            raise TypeError(
                "sp_weights must be either None or of the same type as sp_ids, got "
                f"{type(sp_weights).__name__} for {type(sp_ids).__name__}."
            )
        weights, _ = _ids_of(sp_weights, "sp_weights")
        ids.shape.assert_is_compatible_with(weights.shape)
    with scope(name, "embedding_lookup_sparse"):
        rows = cast(rows, dtypes.int32)
        unique, places = execute("Unique", (ids,))
        found = embedding_lookup_v1(parts, unique, partition_strategy, max_norm=max_norm)
        if weights is None:
            return execute(OPS[COMBINERS[chosen]][0], (found, places, rows))  # type: ignore[no-any-return]
        return _weighted(found, places, rows, weights, chosen)


def _weighted(found: Tensor, places: Any, rows: Any, weights: Any, combiner: str) -> Tensor:
    """Sums of weighted rows, over what the weights come to; halves are summed in float32."""
    kind = found.dtype.base_dtype
    wide = dtypes.float32 if kind in HALVES else kind
    taken = cast(execute("GatherV2", (found, places, np.int32(0))), wide)
    weights = cast(weights, wide)
    total = execute("SegmentSum", (multiply(taken, _spread(weights, taken)), rows))
    if combiner != "sum":
        squares = multiply(weights, weights) if combiner == "sqrtn" else weights
        size = execute("SegmentSum", (squares, rows))
        size = execute("Sqrt", (size,)) if combiner == "sqrtn" else size
        total = execute("DivNoNan", (total, _spread(size, total)))
    return cast(total, kind)


def _spread(x: Any, like: Any) -> Any:
    """A vector as a column that broadcasts against the rows of `like`."""
    rank = execute("Rank", (like,))
    ones = execute(
        "Fill",
        (execute("ExpandDims", (execute("Sub", (rank, np.int32(1))), np.int32(0))), np.int32(1)),
    )
    return execute("Reshape", (x, concat([execute("Shape", (x,)), ones], 0)))


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    combiner: str | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Rows of a table, combined for each row of ids; each part holds a range of rows.

    Args:
      params: a table [V, ...], or a list of parts.
      sp_ids: SparseTensor or RaggedTensor [B, ...] of int32 or int64 ids; its rows are not empty.
      sp_weights: the same kind of tensor of a weight for each id, or None for 1.
      combiner: "mean" (also None), "sqrtn" (by the root of the sum of squared weights) or "sum".
      max_norm: rows of a larger l2 norm are scaled down to it before; None leaves them.
      name: the name of the scope in a graph.
      allow_fast_lookup: makes no difference.

    Returns:
      Tensor [B, ...] of the table's dtype.

    Raises:
      TypeError: ids are neither sparse nor ragged, or the weights are of another kind.
      ValueError: the combiner is none of these, or there are no params.
    """
    return embedding_lookup_sparse_v1(
        params, sp_ids, sp_weights, "div", name, combiner, max_norm, allow_fast_lookup
    )


# ---- the form that takes empty rows and bad ids


def safe_embedding_lookup_sparse_v1(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: Any = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Rows of a table combined for each row of ids; rows may be empty, and ids negative.

    Negative ids are left out, and ids of weight 0 or less unless `combiner` is "sum".

    Args:
      embedding_weights: a table [V, ...], or a list of parts.
      sparse_ids: SparseTensor [D0, ..., Dn] (n >= 1) or RaggedTensor of int32 or int64 ids.
      sparse_weights: the same kind of tensor of a weight for each id, or None for 1.
      combiner: "mean", "sqrtn" or "sum".
      default_id: the id of rows without one; None for zeros.
      name: the name of the scope in a graph.
      partition_strategy: how rows are spread over parts, "mod" or "div".
      max_norm: rows of a larger l2 norm are scaled down to it before; None leaves them.
      allow_fast_lookup: makes no difference.

    Returns:
      Tensor [D0, ..., Dn-1, ...] of the table's dtype.

    Raises:
      ValueError: there are no tables, or the combiner is none of these.

    Example:
      >>> ids = SparseTensor([[0, 0], [0, 1]], [1, -1], [2, 2])
      >>> table = np.array([[1.0], [5.0]], np.float32)
      >>> safe_embedding_lookup_sparse_v1(table, ids).numpy().tolist()
      [[5.0], [0.0]]
    """
    if embedding_weights is None:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    parts = _parts(embedding_weights)
    combiner = _combiner(combiner)
    with scope(name, "embedding_lookup"):
        sparse_ids, sparse_weights = (_as_sparse(v) for v in (sparse_ids, sparse_weights))
        kind = None if sparse_weights is None else sparse_weights.dtype
        parts = [_table(p, kind) for p in parts]
        shape = sparse_ids.dense_shape
        static = sparse_ids.shape
        ids = _as_matrix(sparse_ids)
        weights = None
        if sparse_weights is not None:
            weights = SparseTensor(ids.indices, sparse_weights.values, ids.dense_shape)
        ids, weights = _pruned(ids, weights, combiner)
        default = 0 if default_id is None else default_id
        ids, empty = fill_empty_rows(ids, default)
        if weights is not None:
            weights, _ = fill_empty_rows(weights, number(1, weights.dtype))
        result = embedding_lookup_sparse_v1(
            parts, ids, weights, partition_strategy, None, combiner, max_norm, allow_fast_lookup
        )
        if default_id is None:
            zeros = execute("ZerosLike", (result,))
            result = execute("SelectV2", (_spread(empty, result), zeros, result))
        return _like_ids(result, shape, static)


def _table(table: Any, kind: Any) -> Any:
    """A table of the dtype of the weights; variables stay variables, so that few rows are read."""
    if hasattr(table, "sparse_read") and kind in (None, table.dtype.base_dtype):
        return table
    return tensor(table, kind)


def _as_sparse(value: Any) -> Any:
    if value is None or is_sparse(value):
        return value if value is None else sparse(value)
    if _is_ragged(value):
        return value.to_sparse()
    raise TypeError(
        f"sparse_ids must be SparseTensor or RaggedTensor, got {type(value).__name__}: {value!r}."
    )


def _as_matrix(ids: SparseTensor) -> SparseTensor:
    """All axes but the last as one."""
    if ids.shape.rank == 2:
        return ids
    sizes = ids.dense_shape
    count = execute("Size", (sizes,))
    last = execute("Slice", (sizes, _vector(execute("Sub", (count, np.int32(1)))), [1]))
    head = execute("Slice", (sizes, [0], _vector(execute("Sub", (count, np.int32(1))))))
    rows = execute("Prod", (head, np.array([0], np.int32)), {"keep_dims": True})
    return sparse_reshape(ids, concat([rows, last], 0))


def _vector(x: Any) -> Any:
    return execute("ExpandDims", (x, np.int32(0)))


def _pruned(
    ids: SparseTensor, weights: SparseTensor | None, combiner: str
) -> tuple[SparseTensor, SparseTensor | None]:
    """Without negative ids, and without weights of 0 or less where they are divided by."""
    valid = execute("GreaterEqual", (ids.values, number(0, ids.dtype)))
    ids, dropped = retain(ids, valid), valid
    if weights is None:
        return ids, None
    weights = retain(weights, dropped)
    if combiner == "sum":
        return ids, weights
    positive = execute("Greater", (weights.values, number(0, weights.dtype)))
    return retain(ids, positive), retain(weights, positive)


def _like_ids(result: Any, shape: Any, static: Any) -> Tensor:
    """The result with the leading axes of the ids."""
    if static.rank == 2:
        if result.dims is not None:
            result.set_shape([static.as_list()[0], *result.dims[1:]])
        return result  # type: ignore[no-any-return]
    count = _vector(execute("Sub", (execute("Size", (shape,)), np.int32(1))))
    head = cast(execute("Slice", (shape, [0], count)), dtypes.int32)
    tail = execute("Slice", (execute("Shape", (result,)), [1], [-1]))
    made = execute("Reshape", (result, concat([head, tail], 0)))
    if static.rank is not None and result.dims is not None:
        made.set_shape([*static.as_list()[:-1], *result.dims[1:]])
    return made  # type: ignore[no-any-return]


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: Any = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Rows of a table combined for each row of ids; rows may be empty, and ids negative.

    Negative ids are left out, and ids of weight 0 or less unless `combiner` is "sum". Each part
    holds a range of rows.

    Args:
      embedding_weights: a table [V, ...], or a list of parts.
      sparse_ids: SparseTensor [D0, ..., Dn] (n >= 1) or RaggedTensor of int32 or int64 ids.
      sparse_weights: the same kind of tensor of a weight for each id, or None for 1.
      combiner: "mean", "sqrtn" or "sum".
      default_id: the id of rows without one; None for zeros.
      max_norm: rows of a larger l2 norm are scaled down to it before; None leaves them.
      name: the name of the scope in a graph.
      allow_fast_lookup: makes no difference.

    Returns:
      Tensor [D0, ..., Dn-1, ...] of the table's dtype.

    Raises:
      ValueError: there are no tables, or the combiner is none of these.
    """
    return safe_embedding_lookup_sparse_v1(
        embedding_weights, sparse_ids, sparse_weights, combiner, default_id, name, "div", max_norm,
        allow_fast_lookup,
    )  # fmt: skip
