"""Sparse tensors as three strings, or three variants: of indices, values and shape.

The strings are serialised TensorProtos, whose bytes are TensorFlow's. Those from strangers are
parsed within the bounds of `graph.tensor_proto`; positions are checked against the shape. A variant
holds the tensor itself.
"""

import itertools
import math
from typing import Any

import numpy as np

from penstock import proto
from penstock.core.composite import SparseTensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.graph.tensor_proto import MAX_FILL_BYTES, array_to_proto, proto_to_array
from penstock.ops.sparse_common import Array, components, inside, invalid, parts, sparse
from penstock.types import dims as d
from penstock.types import dtypes
from penstock.types.dims import Dims
from penstock.types.dtypes import DType, as_dtype

INPUTS = "sparse_indices: int64, sparse_values: T, sparse_shape: int64; T: type, "
OUT_TYPE = "out_type: {string, variant} = string) -> serialized_sparse: out_type"
OUTPUTS = "sparse_indices: int64, sparse_values: dtype, sparse_shape: int64"


def _single_shape(c: ShapeContext) -> Dims:
    parts(c, 0, "sparse")
    return (3,)


def _many_shape(c: ShapeContext) -> Dims:
    _, rank = parts(c, 0, "sparse")
    if rank is not None and rank < 2:
        c.fail("a sparse tensor of rank at least 2", f"Rank of input SparseTensor is {rank}")
    sizes = c.shape_value(2)
    return (sizes[0] if sizes else None, 3)


SERIALIZE = define_op(
    f"SerializeSparse({INPUTS}{OUT_TYPE}",
    shape=_single_shape,
    doc="A sparse tensor as three strings or variants.",
).not_differentiable("strings have no gradients")
SERIALIZE_MANY = define_op(
    f"SerializeManySparse({INPUTS}{OUT_TYPE}",
    shape=_many_shape,
    doc="Each entry of a sparse tensor's first axis as three strings or variants.",
).not_differentiable("strings have no gradients")


class HeldTensor:
    """What a variant holds: a tensor. Immutable."""

    __slots__ = ("array", "dtype")

    def __init__(self, array: Array, dtype: DType) -> None:
        self.array = array
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"<HeldTensor: {self.dtype.name}{list(self.array.shape)}>"

    @property
    def nbytes(self) -> int:
        """The size of the tensor."""
        return int(self.array.nbytes)


def lengths_of(strings: list[bytes]) -> bytes:
    """The lengths of strings, seven bits a byte, low bits first."""
    result = bytearray()
    for text in strings:
        rest = len(text)
        while rest > 127:
            result.append(rest & 127 | 128)
            rest >>= 7
        result.append(rest)
    return bytes(result)


def _message(array: Array, dtype: DType) -> bytes:
    """A TensorProto whose content is bytes, for strings too."""
    head = array_to_proto(array[:0], dtype)
    if dtype is dtypes.string:
        strings = array.reshape(-1).tolist()
        content = lengths_of(strings) + b"".join(strings)
    else:
        swapped = array.astype(array.dtype.newbyteorder("<"), copy=False)
        content = np.ascontiguousarray(swapped).tobytes()
    shape = proto.tensor_shape_pb2.TensorShapeProto(
        dim=[proto.tensor_shape_pb2.TensorShapeProto.Dim(size=n) for n in array.shape]
    )
    message = proto.tensor_pb2.TensorProto(
        dtype=head.dtype, tensor_shape=shape, tensor_content=content
    )
    return message.SerializeToString(deterministic=True)


def _elements(
    indices: Array, values: Array, shape: Array, dtype: DType, out_type: DType
) -> list[Any]:
    """The three strings, or variants, of a sparse tensor."""
    made = HeldTensor if out_type is dtypes.variant else _message
    return [made(indices, dtypes.int64), made(values, dtype), made(shape, dtypes.int64)]


@host_kernel(SERIALIZE)
def _serialize(indices: Array, values: Array, shape: Array, *, T: DType, out_type: DType) -> Array:
    return np.array(_elements(indices, values, shape, T, out_type), object)


@host_kernel(SERIALIZE_MANY)
def _serialize_many(
    indices: Array, values: Array, shape: Array, *, T: DType, out_type: DType
) -> Array:
    result = np.empty((int(shape[0]), 3), object)
    rows = indices[:, 0]
    if rows.size and not 0 <= rows.min() <= rows.max() < len(result):
        raise invalid(f"expected rows in [0, {len(result)}), got {rows.min()} to {rows.max()}.")
    order = np.argsort(rows, kind="stable")
    indices, values = indices[order, 1:], values[order]
    bounds = np.searchsorted(rows[order], np.arange(len(result) + 1)).tolist()
    for row, (a, b) in enumerate(itertools.pairwise(bounds)):
        result[row] = _elements(indices[a:b], values[a:b], shape[1:], T, out_type)
    return result


# ---- parsing


def _parsed_shape(c: ShapeContext) -> list[Dims]:
    dims = c.shape(0)
    if dims is not None and (not dims or dims[-1] not in (None, 3)):
        c.fail("Serialized sparse should have 3 as the last dimension", f"shape {d.text(dims)}")
    return [(None, None), (None,), (None,)]


def _matrix_shape(c: ShapeContext) -> list[Dims]:
    if c.shape(0) is not None and len(c.shape(0) or ()) != 2:
        c.fail("serialized_sparse of shape [N, 3]", f"shape {d.text(c.shape(0))}")
    return _parsed_shape(c)


DESERIALIZE = define_op(
    f"DeserializeSparse(serialized_sparse: Tserialized; dtype: type, Tserialized: {{string, "
    f"variant}} = string) -> {OUTPUTS}",
    shape=_parsed_shape,
    doc="Sparse tensors from strings or variants, put together along new leading axes.",
).not_differentiable("strings have no gradients")
DESERIALIZE_MANY = define_op(
    f"DeserializeManySparse(serialized_sparse: string; dtype: type) -> {OUTPUTS}",
    shape=_matrix_shape,
    doc="Sparse tensors from rows of strings, put together along a new first axis.",
).not_differentiable("strings have no gradients")


def strings_in(content: bytes, count: int) -> list[bytes]:
    """`count` strings from lengths and bytes: the inverse of `lengths_of` and what follows."""
    lengths, at = [], 0
    for _ in range(count):
        value = shift = 0
        while True:
            if at >= len(content) or shift > 35:
                raise ValueError("the lengths of its strings are cut off")
            byte = content[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        lengths.append(value)
    if at + sum(lengths) != len(content):
        raise ValueError(f"expected {at + sum(lengths)} bytes of strings, got {len(content)}")
    ends = np.cumsum([at, *lengths]).tolist()
    return [content[a:b] for a, b in itertools.pairwise(ends)]


def _array(data: Any) -> tuple[Array, DType]:
    """The tensor that an element stands for, and its dtype."""
    if isinstance(data, HeldTensor):
        return data.array, data.dtype
    if not isinstance(data, bytes):
        raise invalid(
            "Could not get a tensor from an element of serialized_sparse: expected what "
            f"tf.io.serialize_sparse made, got {data!r}."
        )
    message = proto.tensor_pb2.TensorProto()
    try:
        message.ParseFromString(data)
        if message.dtype == dtypes.string.as_datatype_enum and message.tensor_content:
            sizes = tuple(dim.size for dim in message.tensor_shape.dim)
            count = math.prod(sizes)
            if min(sizes, default=0) < 0 or count > len(message.tensor_content):
                raise ValueError(f"shape {list(sizes)} does not fit its content")
            found = np.array(strings_in(message.tensor_content, count), object)
            return found.reshape(sizes), dtypes.string
        return proto_to_array(message, "serialized_sparse", MAX_FILL_BYTES)
    except (proto.message.DecodeError, TypeError, ValueError) as problem:
        raise invalid(
            f"Could not parse serialized proto: {problem}. Expected what tf.io.serialize_sparse "
            "made."
        ) from None


def _sparse_of(row: Any, dtype: DType, at: int) -> tuple[Array, Array, Array]:
    (indices, one), (values, kind), (shape, two) = (_array(data) for data in row)
    if (one, two) != (dtypes.int64, dtypes.int64) or indices.ndim != 2 or shape.ndim != 1:
        raise invalid(
            f"SparseTensor[{at}]: expected int64 indices of rank 2 and an int64 shape of rank 1, "
            f"got {one.name}{list(indices.shape)} and {two.name}{list(shape.shape)}."
        )
    if kind is not dtype:
        raise invalid(
            f"Requested SparseTensor of type {dtype.name} but SparseTensor[{at}].values.dtype() == "
            f"{kind.name}."
        )
    if values.shape != indices.shape[:1] or indices.shape[1] != shape.size:
        raise invalid(
            f"SparseTensor[{at}]: expected as many values as indices, and a column for each size, "
            f"got {list(indices.shape)}, {list(values.shape)} and {list(shape.shape)}."
        )
    if not inside(np, indices, shape).all():
        raise invalid(f"SparseTensor[{at}]: expected indices inside of {shape.tolist()}.")
    return indices, values, shape


def _together(serialized: Array, dtype: DType) -> list[Array]:
    lead = serialized.shape[:-1]
    if 0 in lead:
        raise invalid(
            "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension "
            f"{list(serialized.shape)}."
        )
    found = [_sparse_of(row, dtype, i) for i, row in enumerate(serialized.reshape(-1, 3))]
    return stacked(found, lead)


def stacked(found: list[tuple[Array, Array, Array]], lead: tuple[int, ...]) -> list[Array]:
    """Sparse tensors of one rank, put together along new leading axes of sizes `lead`.

    Returns:
      Indices, values and the dense shape, as large as the largest of them.

    Raises:
      InvalidArgumentError: their ranks differ.
    """
    if not lead:
        return list(found[0])
    ranks = {shape.size for _, _, shape in found}
    if len(ranks) > 1:
        raise invalid(f"Inconsistent shape across SparseTensors: expected one rank, got {ranks}.")
    every = [
        np.concatenate([np.tile(np.array(place, np.int64), (len(indices), 1)), indices], 1)
        for place, (indices, _, _) in zip(np.ndindex(lead), found, strict=True)
    ]
    largest = np.max([shape for _, _, shape in found], axis=0)
    sizes = np.concatenate([np.array(lead, np.int64), largest.astype(np.int64)])
    return [np.concatenate(every), np.concatenate([v for _, v, _ in found]), sizes]


@host_kernel(DESERIALIZE)
def _deserialize(serialized: Array, *, dtype: DType) -> list[Array]:
    return _together(serialized, dtype)


@host_kernel(DESERIALIZE_MANY)
def _deserialize_many(serialized: Array, *, dtype: DType) -> list[Array]:
    return _together(serialized, dtype)


# ---- public functions


def serialize_sparse(sp_input: Any, out_type: Any = dtypes.string, name: str | None = None) -> Any:
    """A sparse tensor as three strings or variants.

    Args:
      sp_input: SparseTensor of any dtype.
      out_type: string or variant.
      name: the name of the operation in a graph.

    Returns:
      out_type[3].

    Raises:
      TypeError: `sp_input` is no SparseTensor.
    """
    attrs = {"out_type": out_type}
    return execute(SERIALIZE, components(sparse(sp_input)), attrs, name)


def serialize_sparse_v1(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Any:
    """`serialize_sparse` with compat.v1's order of arguments."""
    return serialize_sparse(sp_input, out_type, name)


def serialize_many_sparse(
    sp_input: Any, out_type: Any = dtypes.string, name: str | None = None
) -> Any:
    """Each entry of a sparse tensor's first axis as three strings or variants.

    Args:
      sp_input: SparseTensor [N, ...] of rank at least 2.
      out_type: string or variant.
      name: the name of the operation in a graph.

    Returns:
      out_type[N, 3].

    Raises:
      TypeError: `sp_input` is no SparseTensor.
    """
    attrs = {"out_type": out_type}
    return execute(SERIALIZE_MANY, components(sparse(sp_input)), attrs, name)


def serialize_many_sparse_v1(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Any:
    """`serialize_many_sparse` with compat.v1's order of arguments."""
    return serialize_many_sparse(sp_input, out_type, name)


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Sparse tensors from rows of strings, put together along a new first axis.

    Args:
      serialized_sparse: string[N, 3].
      dtype: the dtype of the values.
      rank: the rank of each of them, when it is known.
      name: the name of the operation in a graph.

    Returns:
      SparseTensor [N, ...], as large as the largest of them.

    Raises:
      InvalidArgumentError: a string is broken, or of another dtype or rank.

    Example:
      >>> rows = serialize_many_sparse(SparseTensor([[0, 1]], [7], [2, 3]))
      >>> deserialize_many_sparse(rows, np.int32).shape
      TensorShape([2, 3])
    """
    attrs = {"dtype": as_dtype(dtype)}
    indices, values, shape = execute(DESERIALIZE_MANY, (serialized_sparse,), attrs, name)
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)
