"""`tf.ragged.cross` and `cross_hashed`: every combination of the values of columns, row by row.

Columns are ragged, sparse or dense matrices; the values of the last column change fastest.
"""

from typing import Any

import numpy as np

from penstock.core.composite import is_sparse
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops import crossing
from penstock.ops.composing import scope
from penstock.ops.crossing import Column
from penstock.ops.ragged_dense_ops import refuse
from penstock.ops.ragged_elementwise import ragged_or_tensor
from penstock.ops.ragged_parts import cast
from penstock.ops.ragged_rows import is_ragged
from penstock.ops.ragged_tensor import RaggedTensor
from penstock.ops.sparse_cross import HASH_KEY
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
_HOST = 1 << 62


def _cross_shape(c: ShapeContext) -> list[Dims]:
    order = c.attr("input_order")
    order = order.decode() if isinstance(order, bytes) else order
    sparse, ragged = c.attr("Nsparse"), len(c.attr("ragged_values_types"))
    dense = len(c.attr("dense_types"))
    counts = (order.count("R"), order.count("S"), order.count("D"))
    if counts != (ragged, sparse, dense) or sum(counts) != len(order):
        c.fail("an input_order that names each input", f"{order!r}")
    rows: int | None = None
    for i in range(ragged):
        dims = c.shape(ragged + i)
        if dims is not None and len(dims) != 1:
            c.fail("row splits of rank 1", "tf.ragged.cross only supports inputs with rank=2")
        if dims and dims[0] is not None:
            rows = dims[0] - 1
    for i in range(dense):
        c.rank(2 * ragged + 3 * sparse + i, 2, "tf.ragged.cross only supports inputs with rank=2:")
    return [(None,), (None if rows is None else rows + 1,)]


CROSS = define_op(
    "RaggedCross(ragged_values: [ragged_values_types], ragged_row_splits: [ragged_splits_types], "
    "sparse_indices: Nsparse*int64, sparse_values: [sparse_values_types], sparse_shape: "
    "Nsparse*int64, dense_inputs: [dense_types]; Nsparse: int >= 0, input_order: string, "
    "hashed_output: bool, num_buckets: int >= 0, hash_key: int, ragged_values_types: list({int64, "
    "string}) >= 0, ragged_splits_types: list({int32, int64}) >= 0, sparse_values_types: "
    "list({int64, string}) >= 0, dense_types: list({int64, string}) >= 0, out_values_type: {int64, "
    "string}, out_row_splits_type: {int32, int64}) -> output_values: out_values_type, "
    "output_row_splits: out_row_splits_type",
    shape=_cross_shape,
    fallible=True,
    doc="Every combination of the values of several columns, row by row.",
).not_differentiable("the values are strings and integers")


def _of_splits(values: Array, splits: Array) -> Column:
    counts = np.diff(splits.astype(np.int64))
    if not splits.size or splits[0] != 0 or splits[-1] != len(values) or (counts < 0).any():
        raise refuse(
            f"Invalid ragged splits: expected numbers that rise from 0 to {len(values)}, the number"
            f" of values, got {splits[:10].tolist()}."
        )
    return Column(values, counts)


def _of_sparse(indices: Array, values: Array, shape: Array) -> Column:
    rows, height = indices[:, 0], int(shape[0])
    wrong = np.flatnonzero((rows < 0) | (rows >= height))
    if wrong.size:
        raise refuse(f"Index {rows[wrong[0]]} is out of bounds: expected rows in [0, {height}).")
    if len(values) != len(rows):
        raise refuse(f"expected a value for each of {len(rows)} indices, got {len(values)}.")
    return crossing.by_row(rows, values, height)


@host_kernel(CROSS, limit=_HOST)
def _cross(
    ragged_values: list[Array], ragged_splits: list[Array], sparse_indices: list[Array],
    sparse_values: list[Array], sparse_shape: list[Array], dense: list[Array], *,
    input_order: Any, hashed_output: bool, num_buckets: int, hash_key: int,
    out_row_splits_type: DType,
) -> list[Array]:  # fmt: skip
    columns_of = {
        "R": map(_of_splits, ragged_values, ragged_splits),
        "S": map(_of_sparse, sparse_indices, sparse_values, sparse_shape),
        "D": map(crossing.dense, dense),
    }
    order = input_order.decode() if isinstance(input_order, bytes) else input_order
    columns = [next(columns_of[kind]) for kind in order]
    heights = {len(c.counts) for c in columns}
    if len(heights) > 1:
        raise refuse(
            "inputs must all have the same batch dimension size: got "
            f"{sorted(heights)} rows. Cut them to one length."
        )
    places, sizes = crossing.combinations(columns)
    if hashed_output:
        hashes = [crossing.numbers(c.values) for c in columns]
        found = crossing.hashed(hashes, places, num_buckets, hash_key)
    else:
        found = crossing.joined(columns, places)
    splits = np.zeros(len(sizes) + 1, out_row_splits_type.numpy_dtype)
    np.cumsum(sizes, out=splits[1:])
    return [found, splits]


# ---- public functions


def cross(inputs: Any, name: str | None = None) -> Any:
    """Every combination of the values of several columns, row by row, as strings.

    Args:
      inputs: a list of matrices, ragged, sparse or dense, of strings or integers; each has as many
        rows.
      name: a scope in a graph.

    Returns:
      A RaggedTensor of strings, joined by "_X_".

    Raises:
      ValueError: an input is neither of strings nor of integers.
      InvalidArgumentError: numbers of rows differ, or an input is no matrix.

    Example:
      >>> import penstock as tf
      >>> cross([tf.ragged.constant([["a"], ["b", "c"]]), [["d"], ["e"]]]).to_list()
      [[b'a_X_d'], [b'b_X_e', b'c_X_e']]
    """
    return _public(inputs, False, 0, 0, name)


def cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> Any:
    """Every combination of the values of several columns, row by row, as hashes.

    Args:
      inputs: a list of matrices, ragged, sparse or dense, of strings or integers; each has as many
        rows.
      num_buckets: the number of hashes; 0 for the largest integer.
      hash_key: the key of the hash.
      name: a scope in a graph.

    Returns:
      A RaggedTensor of int64 in [0, num_buckets).

    Raises:
      ValueError: an input is neither of strings nor of integers.
      InvalidArgumentError: numbers of rows differ, or an input is no matrix.
    """
    return _public(inputs, True, num_buckets, HASH_KEY if hash_key is None else hash_key, name)


def _public(inputs: Any, hashed: bool, buckets: int, key: int, name: str | None) -> Any:
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Inputs must be a list of columns, got {inputs!r}.")
    with scope(name, "RaggedCross"):
        columns = [c if is_sparse(c) else ragged_or_tensor(c) for c in inputs]
        ragged = [c for c in columns if is_ragged(c)]
        sparse = [c for c in columns if is_sparse(c)]
        dense = [c for c in columns if not is_ragged(c) and not is_sparse(c)]
        for i, column in enumerate(columns):
            if is_ragged(column) and column.ragged_rank != 1:
                raise ValueError("tf.ragged.cross only supports inputs with rank=2.")
            _check(i, column)
        splits = [c.row_splits for c in ragged]
        kind = dt.int32 if splits and all(s.dtype is dt.int32 for s in splits) else dt.int64
        order = "".join("R" if is_ragged(c) else "S" if is_sparse(c) else "D" for c in columns)
        attrs = {
            "Nsparse": len(sparse),
            "input_order": order,
            "hashed_output": hashed,
            "num_buckets": buckets,
            "hash_key": key,
            "out_values_type": dt.int64 if hashed else dt.string,
            "out_row_splits_type": kind,
        }
        given = (
            [_wide(c.values) for c in ragged],
            splits,
            [convert_to_tensor(c.indices) for c in sparse],
            [_wide(convert_to_tensor(c.values)) for c in sparse],
            [convert_to_tensor(c.dense_shape) for c in sparse],
            [_wide(c) for c in dense],
        )
        values, row_splits = execute(CROSS, given, attrs)
        return RaggedTensor.from_row_splits(values, row_splits, validate=False)


def _check(index: int, column: Any) -> None:
    kind = convert_to_tensor(column.values).dtype if is_sparse(column) else column.dtype
    if kind is not dt.string and not kind.is_integer:
        raise ValueError(
            f"Unexpected dtype for inputs[{index}]: {kind!r}. Use strings or integers."
        )


def _wide(x: Any) -> Any:
    return x if x.dtype is dt.string else cast(x, dt.int64)
