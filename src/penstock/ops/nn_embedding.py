"""Looking up rows of tables that may be split into parts.

The gradient of a lookup stays sparse: rows and their numbers, as the gradient of a gather gives
them.
"""

from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops.composing import cast, number, reshape, scope, shape_of, tensor
from penstock.ops.math_arithmetic import add_v2, multiply, subtract
from penstock.types import dtypes


def embedding_lookup_v1(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Any:
    """Rows of a table that may be split into parts.

    Args:
      params: a table [V, ...], or a list of parts whose rows make up the table.
      ids: int32 or int64, any shape: row numbers.
      partition_strategy: how rows are spread over the parts: "mod" deals them out one by one,
        "div" gives each part a range.
      name: the name in a graph.
      validate_indices: not used.
      max_norm: rows of a larger l2 norm are scaled down to it; None leaves them.

    Returns:
      A tensor of shape ids.shape + table.shape[1:].

    Raises:
      ValueError: there are no params, or the strategy is none of these.
      InvalidArgumentError: a row number is outside the table.
    """
    if params is None:
        raise ValueError("params must be specified")
    parts = list(params) if isinstance(params, (list, tuple)) else [params]
    if not parts:
        raise ValueError("Length of params is currently 0. Need at least one param.")
    if partition_strategy not in ("mod", "div"):
        raise ValueError(
            f"Unrecognized partition strategy: {partition_strategy}."
            "Must be one of either `mod` or `div`."
        )
    with scope(name, "embedding_lookup") as full:
        ids = tensor(ids, name="ids")
        if len(parts) == 1:
            rows = _clipped(_gather(parts[0], ids, full), ids, max_norm)
            return execute("Identity", (rows,))
        return _lookup_parts(parts, ids, partition_strategy, max_norm)


def embedding_lookup(
    params: Any, ids: Any, max_norm: float | None = None, name: str | None = None
) -> Any:
    """Rows of a table that may be split into parts, each holding a range of rows.

    Args:
      params: a table [V, ...], or a list of parts.
      ids: int32 or int64, any shape: row numbers.
      max_norm: rows of a larger l2 norm are scaled down to it; None leaves them.
      name: the name in a graph.

    Returns:
      A tensor of shape ids.shape + table.shape[1:].
    """
    return embedding_lookup_v1(params, ids, "div", name, max_norm=max_norm)


def _gather(table: Any, ids: Tensor, name: str | None = None) -> Any:
    if hasattr(table, "sparse_read"):
        return table.sparse_read(ids, name)
    return execute("GatherV2", (tensor(table), ids, np.int32(0)), None, name)


def _lookup_parts(parts: list[Any], ids: Tensor, strategy: str, max_norm: float | None) -> Any:
    """Each part's rows, put together in the order of `ids`."""
    flat = reshape(ids, [-1])
    kind = ids.dtype.base_dtype
    places = execute("Range", (number(0, kind), _size(flat, kind), number(1, kind)))
    part, row = _assign(parts, flat, kind) if strategy == "div" else _deal(parts, flat, kind)
    part = cast(part, dtypes.int32)
    count = len(parts)
    rows = execute("DynamicPartition", (row, part), {"num_partitions": count})
    order = execute(
        "DynamicPartition", (cast(places, dtypes.int32), part), {"num_partitions": count}
    )
    found = [_gather(table, r) for table, r in zip(parts, rows, strict=True)]
    stitched = execute("DynamicStitch", (list(order), found))
    tail = execute("StridedSlice", (shape_of(stitched), [1], [0], [1]), {"end_mask": 1})
    shape = execute("ConcatV2", ([execute("Shape", (ids,)), tail], np.int32(0)))
    return _clipped(execute("Reshape", (stitched, shape)), ids, max_norm)


def _size(x: Tensor, kind: Any) -> Any:
    return execute("Size", (x,), {"out_type": kind})


def _deal(parts: list[Any], ids: Any, kind: Any) -> tuple[Any, Any]:
    """Part and row under "mod"."""
    count = number(len(parts), kind)
    return execute("FloorMod", (ids, count)), execute("FloorDiv", (ids, count))


def _rows(table: Any, kind: Any) -> Any:
    """The number of rows of a part: a number where it is known."""
    dims = table.dims if isinstance(table, Tensor) else getattr(table, "shape", None)
    if dims is not None and dims[0] is not None:
        return int(dims[0])
    shape = execute("Shape", (tensor(table),), {"out_type": kind})
    return execute("StridedSlice", (shape, [0], [1], [1]), {"shrink_axis_mask": 1})


def _assign(parts: list[Any], ids: Any, kind: Any) -> tuple[Any, Any]:
    """Part and row under "div": the first parts hold one row more when rows do not divide."""
    sizes = [_rows(tensor(p) if isinstance(p, np.ndarray) else p, kind) for p in parts]
    if all(isinstance(n, int) for n in sizes):
        rows = number(sum(sizes), kind)
    else:
        rows = execute("AddN", ([tensor(n, kind) for n in sizes],))
    count = number(len(parts), kind)
    each, more = execute("FloorDiv", (rows, count)), execute("FloorMod", (rows, count))
    one = number(1, kind)
    long_part = execute("FloorDiv", (ids, add_v2(each, one)))
    short_part = execute("FloorDiv", (subtract(ids, more), execute("Maximum", (each, one))))
    part = execute("Maximum", (long_part, short_part))
    start = add_v2(multiply(part, each), execute("Minimum", (part, more)))
    return part, subtract(ids, start)


def _clipped(rows: Any, ids: Tensor, max_norm: float | None) -> Any:
    """`rows` scaled down to `max_norm` where they are longer."""
    if max_norm is None:
        return rows
    if ids.dims is None or rows.dims is None:
        ranks = (execute("Rank", (ids,)), execute("Rank", (rows,)))
        axes = execute("Range", (*ranks, np.int32(1)))
    else:
        axes = np.arange(len(ids.dims), len(rows.dims), dtype=np.int32)
    squares = execute("Sum", (multiply(rows, rows), axes), {"keep_dims": True})
    norms = execute("Sqrt", (squares,))
    limit = number(max_norm, rows.dtype)
    return execute("RealDiv", (multiply(rows, limit), execute("Maximum", (norms, limit))))
