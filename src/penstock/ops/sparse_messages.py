"""Sparse tensors as three strings, or three variants: of indices, values and shape.

The strings are serialised TensorProtos, whose bytes are TensorFlow's. Those from strangers are
parsed within the bounds of `graph.tensor_proto`; positions are checked against the shape. A variant
holds the tensor itself.
"""

import functools
import itertools
import math
import operator
from typing import Any

import numpy as np

from penstock import proto
from penstock.core.bundle.coding import varint
from penstock.core.composite import SparseTensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.graph.tensor_proto import MAX_FILL_BYTES, array_to_proto, proto_to_array
from penstock.ops.sparse_common import Array, bounds, components, inside, invalid, parts, sparse
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
    host_inputs=("sparse_shape",),
    doc="A sparse tensor as three strings or variants.",
).not_differentiable("strings have no gradients")
SERIALIZE_MANY = define_op(
    f"SerializeManySparse({INPUTS}{OUT_TYPE}",
    shape=_many_shape,
    host_inputs=("sparse_shape",),
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
        result += varint(len(text))
    return bytes(result)


@functools.lru_cache(maxsize=4096)
def _head(dtype: DType, shape: tuple[int, ...]) -> bytes:
    """What a TensorProto begins with, up to the content."""
    message = array_to_proto(np.zeros(0, dtype.numpy_dtype), dtype)
    dims = [proto.tensor_shape_pb2.TensorShapeProto.Dim(size=n) for n in shape]
    described = proto.tensor_shape_pb2.TensorShapeProto(dim=dims)
    head = proto.tensor_pb2.TensorProto(dtype=message.dtype, tensor_shape=described)
    return head.SerializeToString(deterministic=True)


def _message(array: Array, dtype: DType) -> bytes:
    """A TensorProto whose content is bytes, for strings too."""
    content: Any
    if dtype is dtypes.string:
        strings = array.reshape(-1).tolist()
        content = lengths_of(strings) + b"".join(strings)
    else:
        swapped = array.astype(array.dtype.newbyteorder("<"), copy=False)
        content = np.ascontiguousarray(swapped).reshape(-1).view(np.uint8)
    return _with_content(_head(dtype, array.shape), content, len(content))


@functools.lru_cache(maxsize=4096)
def _before_content(head: bytes, size: int) -> bytes:
    return b"".join((head, _CONTENT, varint(size)))


def _with_content(head: bytes, content: Any, size: int) -> bytes:
    """A message with its last field, the content, of so many bytes."""
    return b"".join((_before_content(head, size), content)) if size else head


_CONTENT = b"\x22"  # field 4: bytes


def _elements(
    indices: Array, values: Array, shape: Array, dtype: DType, out_type: DType
) -> list[Any]:
    """The three strings, or variants, of a sparse tensor."""
    made = HeldTensor if out_type is dtypes.variant else _message
    # of the shape a copy: it may be an array that is kept for calls to come
    return [made(indices, dtypes.int64), made(values, dtype), made(shape.copy(), dtypes.int64)]


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
    if (rows[1:] < rows[:-1]).any():
        order = np.argsort(rows, kind="stable")
        indices, values = indices[order], values[order]
        rows = indices[:, 0]
    indices = np.ascontiguousarray(indices[:, 1:])
    ends = np.cumsum(np.bincount(rows, minlength=len(result))).tolist()
    dims = _elements(indices[:0], values[:0], shape[1:], T, out_type)[2]
    for column, (array, dtype) in enumerate(((indices, dtypes.int64), (values, T))):
        result[:, column] = _sections(array, dtype, ends, out_type)
    result[:, 2] = [dims] * len(result)
    return result


def _sections(array: Array, dtype: DType, ends: list[int], out_type: DType) -> list[Any]:
    """The elements for sections of an array, which follow each other up to these ends."""
    starts = [0, *ends]
    if out_type is dtypes.variant:
        return [HeldTensor(array[a:b], dtype) for a, b in itertools.pairwise(starts)]
    if not _is_plain(dtype):
        return [_message(array[a:b], dtype) for a, b in itertools.pairwise(starts)]
    swapped = array.astype(array.dtype.newbyteorder("<"), copy=False)
    content = np.ascontiguousarray(swapped).reshape(-1).view(np.uint8).data
    rest, found = array.shape[1:], []
    width = array.itemsize * math.prod(rest)
    for a, b in itertools.pairwise(starts):
        head, size = _head(dtype, (b - a, *rest)), (b - a) * width
        found.append(_with_content(head, content[a * width : b * width], size))
    return found


def _is_plain(dtype: DType) -> bool:
    """Whether a message's content is the elements' bytes, whatever they are."""
    return dtype.numpy_dtype.kind in "iufc"


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


@functools.lru_cache(maxsize=4096)
def _sizes_in(described: bytes) -> tuple[int, ...] | None:
    """The sizes in a TensorShapeProto; None where it says more."""
    try:
        message = proto.tensor_shape_pb2.TensorShapeProto.FromString(described)
    except proto.message.DecodeError:
        return None
    sizes = tuple(dim.size for dim in message.dim)
    return None if message.unknown_rank or min(sizes, default=0) < 0 else sizes


_PLAIN_TYPES = {  # of which messages are read without a parser
    t.as_datatype_enum: (t, t.numpy_dtype.newbyteorder("<"))
    for t in (
        *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16),
        *(dtypes.uint32, dtypes.uint64, dtypes.float16, dtypes.float32, dtypes.float64),
        *(dtypes.complex64, dtypes.complex128),
    )
}


@functools.lru_cache(maxsize=4096)
def _plain_head(head: bytes) -> tuple[tuple[int, ...], DType, Any, bytes, int] | None:
    """What the beginning of a message of numbers, up to its content, tells.

    Returns:
      The sizes, the dtype, that of the bytes, all that comes before the content, and the length of
      the whole message. None for all others.
    """
    known, sizes = _PLAIN_TYPES.get(head[1]), _sizes_in(head[4:])
    if known is None or sizes is None or len(head) != 4 + head[3] or len(sizes) > 8:
        return None
    dtype, storage = known
    size = math.prod(sizes) * storage.itemsize
    start = b"".join((head, _CONTENT, varint(size))) if size else head
    return sizes, dtype, storage, start, len(start) + size


def _plain_array(data: bytes) -> tuple[Array, DType] | None:
    """The tensor of a message such as `_message` makes of numbers, in the message's memory.

    None for all others.
    """
    if len(data) < 4 or data[0] != 0x08 or data[2] != 0x12 or data[3] > 127:
        return None
    told = _plain_head(data[: 4 + data[3]])
    if told is None:
        return None
    sizes, dtype, storage, start, length = told
    if len(data) != length or not data.startswith(start):
        return None
    found: Array
    if length > len(start):
        found = np.ndarray(sizes, storage, data, len(start))
    else:
        found = np.empty(sizes, storage)
    return found, dtype


def _array(data: Any) -> tuple[Array, DType]:
    """The tensor that an element stands for, and its dtype."""
    if isinstance(data, HeldTensor):
        return data.array, data.dtype
    plain = _plain_array(data) if isinstance(data, bytes) else None
    if plain is not None:
        return plain
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
    if one is not dtypes.int64 or two is not dtypes.int64 or indices.ndim != 2 or shape.ndim != 1:
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
    return indices, values, shape


def _together(serialized: Array, dtype: DType) -> list[Array]:
    lead = serialized.shape[:-1]
    if 0 in lead:
        raise invalid(
            "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension "
            f"{list(serialized.shape)}."
        )
    rows = serialized.reshape(-1, 3).tolist()
    found = [_sparse_of(row, dtype, i) for i, row in enumerate(rows)]
    result = stacked(found, lead)
    if not _are_inside(found, result[0][:, len(lead) :]):
        _refuse_outside(found)
    return result


def _are_inside(found: list[tuple[Array, Array, Array]], indices: Array) -> bool:
    """Whether all positions are inside of their tensor's shape; `indices` has those of all."""
    if not len(indices):
        return True
    low, high = bounds(indices)
    if min(low, default=0) < 0:
        return False
    shapes = np.array([shape for _, _, shape in found], np.int64)
    if all(map(operator.lt, high, shapes.min(axis=0).tolist())):
        return True
    lengths = [len(each) for each, _, _ in found]
    return all((indices[:, i] < shapes[:, i].repeat(lengths)).all() for i in range(len(low)))


def _refuse_outside(found: list[tuple[Array, Array, Array]]) -> None:
    for at, (indices, _, shape) in enumerate(found):
        if not inside(np, indices, shape).all():
            raise invalid(f"SparseTensor[{at}]: expected indices inside of {shape.tolist()}.")


def stacked(found: list[tuple[Array, Array, Array]], lead: tuple[int, ...]) -> list[Array]:
    """Sparse tensors of one rank, put together along new leading axes of sizes `lead`.

    Returns:
      Indices, values and the dense shape, as large as the largest of them.

    Raises:
      InvalidArgumentError: their ranks differ.
    """
    if not lead:
        return [np.array(x, x.dtype.newbyteorder("=")) for x in found[0]]
    ranks = {shape.size for _, _, shape in found}
    if len(ranks) > 1:
        raise invalid(f"Inconsistent shape across SparseTensors: expected one rank, got {ranks}.")
    lengths = [len(indices) for indices, _, _ in found]
    every = np.empty((sum(lengths), len(lead) + ranks.pop()), np.int64)
    np.concatenate([indices for indices, _, _ in found], out=every[:, len(lead) :])
    places = np.indices(lead).reshape(len(lead), -1)
    for axis, place in enumerate(places):
        every[:, axis] = place.repeat(lengths)
    largest = np.max([shape for _, _, shape in found], axis=0)
    sizes = np.concatenate([np.array(lead, np.int64), largest.astype(np.int64)])
    values = np.concatenate([v for _, v, _ in found])
    return [every, values.astype(values.dtype.newbyteorder("="), copy=False), sizes]


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
