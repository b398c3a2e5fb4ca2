"""Crossed features: every combination of the values of several columns, row by row.

A column is a sparse matrix, whose rows hold any number of values, or a dense one. Sparse columns
come before dense ones; the values of the last column change fastest. Values are joined as strings,
or hashed to int64 with TensorFlow's fingerprints.
"""

from typing import Any

import numpy as np

from penstock.core.composite import SparseTensor, is_sparse
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.ops import crossing
from penstock.ops.composing import cast, tensor
from penstock.ops.crossing import Column
from penstock.ops.sparse_common import Array, invalid, sparse
from penstock.ops.string_arrays import array_of
from penstock.ops.string_hashes import fingerprints, sip_hashes
from penstock.types import dtypes
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

HASH_KEY = 0xDECAFCAFFE  # the key of hashes when none is given

INPUTS = "indices: N*int64, values: [sparse_types], shapes: N*int64, dense_inputs: [dense_types]"
KINDS = "sparse_types: list({int64, string}) >= 0, dense_types: list({int64, string}) >= 0"


def _shape(c: ShapeContext) -> list[Dims]:
    count = c.attr("N")
    if len(c.attr("sparse_types")) != count:
        c.fail(f"values for each of {count} indices", f"{len(c.attr('sparse_types'))}")
    for i in range(count):
        c.rank(i, 2, f"indices[{i}]")
        c.rank(count + i, 1, f"values[{i}]")
        shape = c.rank(2 * count + i, 1, f"shapes[{i}]")
        assert shape is not None
        if shape[0] not in (None, 2):
            c.fail("sparse tensors of rank 2", f"shapes[{i}] of {shape[0]} entries")
    for i in range(len(c.attr("dense_types"))):
        c.rank(3 * count + i, 2, f"dense_inputs[{i}]")
    return [(None, 2), (None,), (2,)]


JOINED = define_op(
    f"SparseCrossV2({INPUTS}, sep: string; N: int >= 0, {KINDS}) -> output_indices: int64, "
    "output_values: string, output_shape: int64",
    shape=_shape,
    host_inputs=("shapes",),
    doc="Every combination of columns' values as a string, row by row.",
).not_differentiable("strings have no gradients")
HASHED = define_op(
    f"SparseCross({INPUTS}; N: int >= 0, hashed_output: bool, num_buckets: int >= 0, hash_key: "
    f"int, {KINDS}, out_type: {{int64, string}}, internal_type: {{int64, string}}) -> "
    "output_indices: int64, output_values: out_type, output_shape: int64",
    shape=lambda c: _crossed_shape(c),
    host_inputs=("shapes",),
    doc="Every combination of columns' values, as a hash or a string, row by row.",
).not_differentiable("hashes and strings have no gradients")


SALTED = define_op(
    f"SparseCrossHashed({INPUTS}, num_buckets: int64, strong_hash: bool, salt: int64; N: int >= 0, "
    f"{KINDS}) -> output_indices: int64, output_values: int64, output_shape: int64",
    shape=_shape,
    host_inputs=("shapes", "num_buckets", "salt"),
    doc="Every combination of columns' values as a hash, which nobody who lacks the salt can aim "
    "at when `strong_hash`.",
).not_differentiable("hashes have no gradients")


def _crossed_shape(c: ShapeContext) -> list[Dims]:
    given = {*c.attr("sparse_types"), *c.attr("dense_types")}
    if c.attr("internal_type") is dtypes.string and given - {dtypes.string}:
        c.fail(
            "strings alone with internal_type=string",
            "values of int64",
            "internal_type=int64 takes both.",
        )
    return _shape(c)


def _columns(
    indices: list[Array], values: list[Array], shapes: list[Array], dense: list[Array]
) -> list[Column]:
    """Each column's values by row; all must have as many rows."""
    heights = {int(s[0]) for s in shapes} | {x.shape[0] for x in dense}
    if len(heights) > 1:
        raise invalid(
            f"Expected batch size of all columns to be equal, got {sorted(heights)} rows."
        )
    columns: list[Column] = []
    for place, value, shape in zip(indices, values, shapes, strict=True):
        rows, height = place[:, 0], int(shape[0])
        wrong = np.flatnonzero((rows < 0) | (rows >= height))
        if wrong.size:
            raise invalid(f"expected rows in [0, {height}), got {rows[wrong[0]]} in indices.")
        if len(value) != len(rows):
            raise invalid(f"expected a value for each of {len(rows)} indices, got {len(value)}.")
        columns.append(crossing.by_row(rows, value, height))
    return columns + [crossing.dense(x) for x in dense]


def _sparse_parts(sizes: Array, values: Array) -> list[Array]:
    """Combinations, row by row, as a sparse tensor."""
    rows = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    indices = np.stack([rows, within], axis=1).astype(np.int64)
    return [indices, values, np.array([len(sizes), sizes.max(initial=0)], np.int64)]


@host_kernel(JOINED)
def _joined(
    indices: list[Array], values: list[Array], shapes: list[Array], dense: list[Array], sep: Array
) -> list[Array]:
    columns = _columns(indices, values, shapes, dense)
    places, sizes = crossing.combinations(columns)
    return _sparse_parts(sizes, crossing.joined(columns, places, sep.item()))


@host_kernel(HASHED)
def _hashed(
    indices: list[Array], values: list[Array], shapes: list[Array], dense: list[Array], *,
    num_buckets: int, hash_key: int, out_type: DType,
) -> list[Array]:  # fmt: skip
    columns = _columns(indices, values, shapes, dense)
    places, sizes = crossing.combinations(columns)
    if out_type is dtypes.string:  # which decides, as in TensorFlow, whatever `hashed_output` says
        return _sparse_parts(sizes, crossing.joined(columns, places))
    hashes = [crossing.numbers(c.values) for c in columns]
    return _sparse_parts(sizes, crossing.hashed(hashes, places, num_buckets, hash_key))


def _four_bytes(values: Array) -> Array:
    """What is hashed of values: text, or the low four bytes of an integer."""
    if values.dtype == object:
        return values
    low = [(v & 0xFFFFFFFF).to_bytes(4, "little") for v in values.tolist()]
    return array_of(low, values.shape)


@host_kernel(SALTED)
def _salted(
    indices: list[Array], values: list[Array], shapes: list[Array], dense: list[Array],
    num_buckets: Array, strong_hash: Array, salt: Array,
) -> list[Array]:  # fmt: skip
    for name, given, size in (("num_buckets", num_buckets, 1), ("salt", salt, 2)):
        if given.size != size:
            raise invalid(f'Input "{name}" must have length {size} but has length {given.size}.')
    first, second = (int(k) & crossing.MASK for k in salt.reshape(-1))
    strong = bool(strong_hash.item())
    columns = _columns(indices, values, shapes, dense)
    hashes: list[Array] = []
    for i, (held, _) in enumerate(columns):
        if strong:
            hashes.append(sip_hashes(_four_bytes(held), (first, second)))
        elif i < len(indices):
            hashes.append(fingerprints(_four_bytes(held)))
        else:  # integers of dense columns are their own
            hashes.append(crossing.numbers(held))
    places, sizes = crossing.combinations(columns)
    limit = max(int(num_buckets.item()), 0)
    return _sparse_parts(sizes, crossing.hashed(hashes, places, limit, None))


# ---- public functions


def _as_int64(value: Any) -> Any:
    if value.dtype.base_dtype is dtypes.string:
        return value
    if isinstance(value, SparseTensor):
        return value.with_values(cast(value.values, dtypes.int64))
    return cast(value, dtypes.int64)


def _inputs(inputs: Any) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """The indices, values and shapes of sparse columns, and the dense columns."""
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Inputs must be a list of columns, got {inputs!r}.")
    for i, each in enumerate(inputs):
        if not isinstance(each, Tensor) and not is_sparse(each):
            raise TypeError(
                f"All inputs must be Tensor or SparseTensor; input {i} is {type(each).__name__}. "
                "Convert it with tf.constant."
            )
    columns = [_as_int64(sparse(c)) for c in inputs if is_sparse(c)]
    dense = [_as_int64(c) for c in inputs if not is_sparse(c)]
    parts = ([c.indices for c in columns], [c.values for c in columns])
    return (*parts, [c.dense_shape for c in columns], dense)


def cross(inputs: Any, name: str | None = None, separator: str | None = None) -> SparseTensor:
    """Every combination of the values of several columns, row by row, as strings.

    Args:
      inputs: list of Tensors or SparseTensors of rank 2, of strings or integers; as many rows each.
      name: the name of the operation in a graph.
      separator: what stands between the values; None for "_X_".

    Returns:
      SparseTensor of strings; sparse columns come before dense ones.

    Raises:
      TypeError: an input is neither Tensor nor SparseTensor.
      InvalidArgumentError: numbers of rows differ.

    Example:
      >>> column = SparseTensor([[0, 0], [0, 1]], ["a", "b"], [1, 2])
      >>> cross([column, column], separator="-").values.numpy().tolist()
      [b'a-a', b'a-b', b'b-a', b'b-b']
    """
    parts = _inputs(inputs)
    between = tensor("_X_" if separator is None else separator)
    return SparseTensor(*execute(JOINED, (*parts, between), None, name))


def cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Every combination of the values of several columns, row by row, as hashes.

    Args:
      inputs: list of Tensors or SparseTensors of rank 2, of strings or integers; as many rows each.
      num_buckets: hashes are below it; 0 for all of int64.
      hash_key: what hashes start from; None for TensorFlow's default.
      name: the name of the operation in a graph.

    Returns:
      SparseTensor of int64; sparse columns come before dense ones.

    Raises:
      TypeError: an input is neither Tensor nor SparseTensor.
      InvalidArgumentError: numbers of rows differ, or `num_buckets` is negative.
    """
    parts = _inputs(inputs)
    _, values, _, dense = parts
    text = all(t.dtype is dtypes.string for t in (*values, *dense))
    attrs = {
        "hashed_output": True,
        "num_buckets": num_buckets,
        "hash_key": HASH_KEY if hash_key is None else hash_key,
        "out_type": dtypes.int64,
        "internal_type": dtypes.string if text else dtypes.int64,
    }
    return SparseTensor(*execute(HASHED, parts, attrs, name))
