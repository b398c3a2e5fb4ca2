"""Crossed features: every combination of the values of several columns, row by row.

A column is a sparse matrix, whose rows hold any number of values, or a dense one. Sparse columns
come before dense ones; the values of the last column change fastest. Values are joined as strings,
or hashed to int64 with TensorFlow's fingerprints.
"""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.composite import SparseTensor, is_sparse
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.ops.composing import cast, tensor
from penstock.ops.sparse_common import Array, invalid, sparse
from penstock.ops.string_hashes import fingerprints, sip_hashes
from penstock.types import dtypes
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

HASH_KEY = 0xDECAFCAFFE  # the key of hashes when none is given
MULTIPLIER = 0xC6A4A7935BD1E995
MASK = (1 << 64) - 1
LARGEST = (1 << 63) - 1

INPUTS = "indices: N*int64, values: [sparse_types], shapes: N*int64, dense_inputs: [dense_types]"
KINDS = "sparse_types: list({int64, string}) >= 0, dense_types: list({int64, string}) >= 0"
Column = list[list[Any]]  # the values of each row


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
    doc="Every combination of columns' values as a string, row by row.",
).not_differentiable("strings have no gradients")
HASHED = define_op(
    f"SparseCross({INPUTS}; N: int >= 0, hashed_output: bool, num_buckets: int >= 0, hash_key: "
    f"int, {KINDS}, out_type: {{int64, string}}, internal_type: {{int64, string}}) -> "
    "output_indices: int64, output_values: out_type, output_shape: int64",
    shape=lambda c: _crossed_shape(c),
    doc="Every combination of columns' values, as a hash or a string, row by row.",
).not_differentiable("hashes and strings have no gradients")


SALTED = define_op(
    f"SparseCrossHashed({INPUTS}, num_buckets: int64, strong_hash: bool, salt: int64; N: int >= 0, "
    f"{KINDS}) -> output_indices: int64, output_values: int64, output_shape: int64",
    shape=_shape,
    doc="Every combination of columns' values as a hash, which nobody who lacks the salt can aim "
    "at when `strong_hash`.",
).not_differentiable("hashes have no gradients")


def _crossed_shape(c: ShapeContext) -> list[Dims]:
    out_type = c.attr("out_type").name
    if c.attr("hashed_output") is not (out_type == "int64"):
        c.fail(
            "out_type=int64 for hashes, string without",
            f"hashed_output={c.attr('hashed_output')} and out_type={out_type}",
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
        rows: Column = [[] for _ in range(int(shape[0]))]
        for row, each in zip(place[:, 0].tolist(), value.tolist(), strict=True):
            if not 0 <= row < len(rows):
                raise invalid(f"expected rows in [0, {len(rows)}), got {row} in indices.")
            rows[row].append(each)
        columns.append(rows)
    return columns + [x.tolist() for x in dense]


def _crossed(
    columns: list[Column], combine: Callable[[tuple[Any, ...]], Any], dtype: Any
) -> list[Array]:
    """The combinations of each row as a sparse tensor."""
    height = len(columns[0]) if columns else 0
    places: list[tuple[int, int]] = []
    found: list[Any] = []
    widest = 0
    for row in range(height):
        made = [combine(each) for each in itertools.product(*(c[row] for c in columns))]
        widest = max(widest, len(made))
        places += [(row, i) for i in range(len(made))]
        found += made
    indices = np.array(places, np.int64).reshape(len(places), 2)
    return [indices, np.array(found, dtype), np.array([height, widest], np.int64)]


def _text(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


@host_kernel(JOINED)
def _joined(
    indices: list[Array], values: list[Array], shapes: list[Array], dense: list[Array], sep: Array
) -> list[Array]:
    between = _text(sep.item())
    columns = _columns(indices, values, shapes, dense)
    return _crossed(columns, lambda each: between.join(map(_text, each)), object)


def combined(first: int, second: int) -> int:
    """A fingerprint of two fingerprints."""
    mixed = second * MULTIPLIER & MASK
    result = (first ^ MULTIPLIER) ^ ((mixed ^ (mixed >> 47)) * MULTIPLIER & MASK)
    result = result * MULTIPLIER & MASK
    result = (result ^ (result >> 47)) * MULTIPLIER & MASK
    return result ^ (result >> 47)


def _hashes(column: Column) -> Column:
    """Strings by their fingerprints; integers are their own."""
    strings = sorted({v for row in column for v in row if isinstance(v, bytes)})
    table = dict(zip(strings, (int(h) for h in fingerprints(strings)), strict=True))
    return [[table[v] if isinstance(v, bytes) else v & MASK for v in row] for row in column]


@host_kernel(HASHED)
def _hashed(
    indices: list[Array], values: list[Array], shapes: list[Array], dense: list[Array], *,
    hashed_output: bool, num_buckets: int, hash_key: int, out_type: DType,
) -> list[Array]:  # fmt: skip
    columns = _columns(indices, values, shapes, dense)
    if not hashed_output:
        return _crossed(columns, lambda each: b"_X_".join(map(_text, each)), object)
    limit = num_buckets or LARGEST

    def combine(each: tuple[int, ...]) -> int:
        result = hash_key & MASK
        for value in each:
            result = combined(result, value)
        return result % limit

    return _crossed([_hashes(c) for c in columns], combine, out_type.numpy_dtype)


def _four_bytes(value: Any) -> Any:
    """What is hashed of a value: text, or the low four bytes of an integer."""
    return value if isinstance(value, bytes) else (value & 0xFFFFFFFF).to_bytes(4, "little")


@host_kernel(SALTED)
def _salted(
    indices: list[Array], values: list[Array], shapes: list[Array], dense: list[Array],
    num_buckets: Array, strong_hash: Array, salt: Array,
) -> list[Array]:  # fmt: skip
    for name, given, size in (("num_buckets", num_buckets, 1), ("salt", salt, 2)):
        if given.size != size:
            raise invalid(f'Input "{name}" must have length {size} but has length {given.size}.')
    first, second = (int(k) & MASK for k in salt.reshape(-1))
    strong = bool(strong_hash.item())
    columns = [
        [[_four_bytes(v) if strong or i < len(indices) else v for v in row] for row in column]
        for i, column in enumerate(_columns(indices, values, shapes, dense))
    ]
    texts = sorted({v for column in columns for row in column for v in row if type(v) is bytes})
    found = sip_hashes(texts, (first, second)) if strong else fingerprints(texts)
    table: dict[Any, int] = dict(zip(texts, map(int, found), strict=True))
    limit = max(int(num_buckets.item()), 0) or LARGEST

    def combine(each: tuple[Any, ...]) -> int:  # integers of dense columns are their own
        return int(functools.reduce(combined, (table.get(v, v) & MASK for v in each)) % limit)

    return _crossed(columns, combine, np.int64)


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
    attrs = {
        "hashed_output": True,
        "num_buckets": num_buckets,
        "hash_key": HASH_KEY if hash_key is None else hash_key,
        "out_type": dtypes.int64,
        "internal_type": dtypes.string,
    }
    return SparseTensor(*execute(HASHED, parts, attrs, name))
