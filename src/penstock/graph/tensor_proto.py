"""Values as messages: arrays to and from TensorProto.

A TensorProto holds its elements as raw bytes or in a typed field (`penstock.graph.tensor_codecs`).
Of a typed field, the last element stands for all that are missing. What is written is what
TensorFlow writes for the same value; what is read is what it reads, with one reader where
TensorFlow has two that differ.

A message that is read may come from anywhere: its claims are checked against what it carries, and
against a bound where a few bytes claim many elements, before anything of their size is made.

Entry points: `make_tensor_proto` and `make_ndarray`, which are public; `array_to_proto` and
`proto_to_array` for an array whose elements have the dtype's storage type (`DType.numpy_dtype`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import errors, proto
from penstock.core.arrays import to_array
from penstock.graph.shape_proto import dims_to_proto, full_dims_from_proto
from penstock.graph.tensor_codecs import Array, codec_of, narrow
from penstock.types import dtypes
from penstock.types.dtypes import DType, as_dtype

if TYPE_CHECKING:
    from penstock.proto.tensor_pb2 import TensorProto

# Most memory that a message may ask for beyond what it carries: what the largest message could.
MAX_FILL_BYTES = 2**31
_MAX_NUMPY_RANK = 64


def array_to_proto(array: Array, dtype: DType, dims: Sequence[int] | None = None) -> TensorProto:
    """The message of an array.

    Args:
      array: elements of `dtype.numpy_dtype`, any byte order; bytes objects for strings.
      dtype: the dtype; not a resource or variant.
      dims: the shape to state, when it is not the array's: the last element is repeated.

    Returns:
      The message, with raw bytes where TensorFlow writes them.

    Raises:
      TypeError: the dtype's elements cannot stand in an array.
    """
    codec = codec_of(dtype)
    message = proto.tensor_pb2.TensorProto(dtype=_number(dtype))
    message.tensor_shape.CopyFrom(dims_to_proto(array.shape if dims is None else tuple(dims)))
    flat = array.reshape(-1)
    complete = dims is None or math.prod(dims) == flat.size
    if codec.raw and complete and flat.size > 1:
        message.tensor_content = _little_endian(flat).tobytes()
    elif codec.field == "float8_val":
        message.float8_val = codec.encode(flat)
    else:
        getattr(message, codec.field).extend(codec.encode(flat))
    return message


def _number(dtype: DType) -> Any:  # a number of the enum, for which the stubs have a type each
    return dtype.as_datatype_enum


def _little_endian(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> TensorProto:
    """Creates a TensorProto.

    Args:
      values: a Python number or string, a nested sequence of them, a NumPy array, an eager tensor,
        or a TensorProto, which is returned as it is.
      dtype: the dtype of the elements; inferred when None.
      shape: the shape, a sequence of ints; that of `values` when None. Fewer values than the shape
        has elements are padded with the last one when the message is read.
      verify_shape: whether `values` must have exactly this shape.
      allow_broadcast: whether a single value may stand for all, and then no other number of values
        than the shape's.

    Returns:
      The message.

    Raises:
      TypeError: `values` cannot have the dtype, or their shape is not the one asked for.
      ValueError: both flags are set, more values than the shape has elements, or values that are
        None or ragged.

    Example:
      >>> list(make_tensor_proto(["a", "b"]).string_val)
      [b'a', b'b']
    """
    if allow_broadcast and verify_shape:
        raise ValueError(
            "make_tensor_proto: allow_broadcast and verify_shape are not both allowed. Pass one."
        )
    if hasattr(values, "tensor_content"):  # a TensorProto, ours or TensorFlow's
        return values  # type: ignore[no-any-return]
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    dims = None if shape is None else [int(size) for size in shape]
    array, found = _to_storage(_as_given(values, wanted, dims), wanted)
    if dims is not None:
        _check_shape(array, dims, verify_shape, allow_broadcast)
    return array_to_proto(array, found, dims)


def _as_given(values: Any, wanted: DType | None, dims: list[int] | None) -> Any:
    # for a shape without elements TensorFlow does not look at Python values
    if dims is None or 0 not in dims or values is None or hasattr(values, "dtype"):
        return values
    return np.empty(dims, np.float32 if wanted is None else wanted.numpy_dtype)


def _check_shape(array: Array, dims: list[int], verify: bool, broadcast: bool) -> None:
    size = math.prod(dims)
    if min(dims, default=0) < 0:
        raise ValueError(f"make_tensor_proto: expected a shape of sizes >= 0, got {dims}.")
    differs = array.shape != tuple(dims)
    wrong_count = array.shape not in ((), (1,)) and array.size != size
    if (verify and differs) or (broadcast and wrong_count):
        raise TypeError(
            f"make_tensor_proto: Expected Tensor's shape: {tuple(dims)}, but got {array.shape}. "
            "Reshape the values, or leave out the shape."
        )
    if array.size > size:
        raise ValueError(
            f"make_tensor_proto: Too many elements provided. Takes at most {size}, but got "
            f"{array.size}. Pass a larger shape, or leave it out."
        )


def _to_storage(values: Any, wanted: DType | None) -> tuple[Array, DType]:
    """The elements, of the dtype's storage type."""
    if values is None:
        raise ValueError("make_tensor_proto: None values not supported. Pass a number or an array.")
    if wanted is not None:
        codec_of(wanted)
        if wanted.is_quantized:
            return _quantized(values, wanted), wanted
        if isinstance(values, np.ndarray | np.generic) and values.dtype.kind in "biufcV":
            return _cast(np.asarray(values), wanted), wanted
    try:
        array, found = to_array(values, wanted)
    except (TypeError, ValueError) as error:
        if isinstance(error, ValueError):
            raise _conversion_error(values, error) from error
        if wanted is None or not wanted.is_numeric:
            raise
        # TensorFlow takes a truth value for a number here, though not in tf.constant
        return to_array(_as_ints(values), wanted)
    if wanted is None and isinstance(values, list | tuple):
        return _narrowed(array, found)
    return array, found


def _narrowed(array: Array, found: DType) -> tuple[Array, DType]:
    # in a sequence NumPy's wide numbers count as Python's, unlike in tf.constant
    if found is dtypes.float64:
        return array.astype(np.float32), dtypes.float32
    if found is dtypes.int64:
        small = array.astype(np.int32)
        if (small == array).all():
            return small, dtypes.int32
    return array, found


def _conversion_error(values: Any, error: ValueError) -> Exception:
    if not _holds_odd(values):
        return error
    return TypeError(
        f"make_tensor_proto: Failed to convert elements of {values!r} to Tensor. Consider "
        "casting elements to a supported type; see tf.dtypes for the list."
    )


def _holds_odd(values: Any) -> bool:
    """Whether a value, or one in a nested sequence, has no tensor form at all."""
    if isinstance(values, list | tuple):
        return any(map(_holds_odd, values))
    if isinstance(values, int):
        return not -(2**63) <= values < 2**64
    return not isinstance(values, float | complex | str | bytes)


def _as_ints(values: Any) -> Any:
    if isinstance(values, list | tuple):
        return [_as_ints(item) for item in values]
    return int(values) if isinstance(values, bool) else values


def _quantized(values: Any, wanted: DType) -> Array:
    # an element may be written as a tuple of one number, as NumPy writes a structure
    array = np.array(values, wanted.as_numpy_dtype)
    return array.view(wanted.numpy_dtype)


def _cast(array: Array, wanted: DType) -> Array:
    if wanted is dtypes.string:
        first = array.reshape(-1)[0] if array.size else array.dtype
        raise TypeError(
            f"make_tensor_proto: Expected binary or unicode string, got {first}. "
            f"Pass text, or dtype={array.dtype}."
        )
    return array.astype(wanted.numpy_dtype)


def make_ndarray(tensor: TensorProto) -> Array:
    """Creates a NumPy array from a TensorProto.

    Args:
      tensor: the message.

    Returns:
      A new array of the message's dtype and shape that can be written to. Strings are bytes
      objects; the elements of quantised dtypes are structures of one number.

    Raises:
      TypeError: the dtype is not one whose elements an array can hold.
      InvalidArgumentError: the message contradicts itself: the shape is not fully known, the
        elements are more than it has or of the wrong length, or few bytes claim too much memory.

    Example:
      >>> make_ndarray(make_tensor_proto([1, 2], shape=[3]))
      array([1, 2, 2], dtype=int32)
    """
    array, dtype = proto_to_array(tensor)
    return array.view(dtype.as_numpy_dtype) if dtype.is_quantized else array


def proto_to_array(
    tensor: TensorProto, where: str = "TensorProto", max_fill_bytes: int = MAX_FILL_BYTES
) -> tuple[Array, DType]:
    """The array of a message.

    Args:
      tensor: the message, ours or TensorFlow's.
      where: what the value belongs to, for errors.
      max_fill_bytes: the most memory to use for elements that the message does not carry.

    Returns:
      A new array of `dtype.numpy_dtype`, and the dtype.

    Raises:
      TypeError, InvalidArgumentError: as `make_ndarray`.
    """
    dtype = as_dtype(tensor.dtype)
    codec = codec_of(dtype)
    dims = full_dims_from_proto(tensor.tensor_shape, where)
    storage = dtype.numpy_dtype
    count = _count(dims, storage.itemsize, where)
    if tensor.tensor_content:
        if dtype is dtypes.string:
            return _split_strings(tensor.tensor_content, count, where).reshape(dims), dtype
        return _from_content(tensor.tensor_content, storage, count, where).reshape(dims), dtype
    values = getattr(tensor, codec.field)
    given, rest = divmod(len(values), codec.width)
    if rest or given > count:
        raise _refusal(
            where,
            f"at most {count * codec.width} entries of {codec.field} for the shape {list(dims)}",
            f"{len(values)}" + (" (an odd number)" if rest else ""),
        )
    missing = (count - given) * storage.itemsize
    if missing > max_fill_bytes:
        raise _refusal(
            where,
            f"a value that fills at most {max_fill_bytes} bytes with repeated elements",
            f"{given} elements for the shape {list(dims)} of {dtype.name}, {missing} bytes more",
        )
    decoded = codec.decode(values, storage)
    if given == count and decoded.flags.writeable:
        return decoded.reshape(dims), dtype
    return _filled(decoded, count).reshape(dims), dtype


def _filled(decoded: Array, count: int) -> Array:
    blank: Any = b"" if decoded.dtype == object else 0
    found = np.full(count, decoded[-1] if decoded.size else blank, decoded.dtype)
    found[: decoded.size] = decoded
    return found


def _count(dims: tuple[int, ...], item_size: int, where: str) -> int:
    # NumPy refuses what overflows with the zeros left out, and so many dimensions
    if len(dims) > _MAX_NUMPY_RANK:
        raise _refusal(where, f"a value of at most {_MAX_NUMPY_RANK} dimensions", str(len(dims)))
    if math.prod(size for size in dims if size) * max(item_size, 1) >= 2**63:
        raise _refusal(where, "a shape of fewer than 2**63 bytes", f"shape {list(dims)}")
    return math.prod(dims)


def _from_content(content: bytes, storage: np.dtype[Any], count: int, where: str) -> Array:
    wanted = count * storage.itemsize
    if len(content) != wanted:
        raise _refusal(where, f"tensor_content of {wanted} bytes", f"{len(content)} bytes")
    if storage == np.bool_ and content.strip(b"\0\1"):
        raise _refusal(where, "bytes 0 and 1 in tensor_content for bool", "another byte")
    found = np.frombuffer(content, storage.newbyteorder("<")).astype(storage)
    return narrow(found)


def _split_strings(content: bytes, count: int, where: str) -> Array:
    """Strings as raw bytes: all lengths as varints, then all characters."""
    expected = f"tensor_content of {count} lengths and as many strings"
    if count > len(content):  # a length takes a byte at least
        raise _refusal(where, expected, f"{len(content)} bytes")
    at = 0
    lengths = []
    for _ in range(count):
        length, at = _varint(content, at)
        lengths.append(length)
    if at < 0 or at + sum(lengths) != len(content):
        raise _refusal(where, expected, f"{len(content)} bytes that do not add up")
    found = np.empty(count, object)
    for i, length in enumerate(lengths):
        found[i] = content[at : at + length]
        at += length
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at a position and where the next one starts; a negative position when broken."""
    number = 0
    for shift in range(0, 35, 7):
        if not 0 <= at < len(data):
            break
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    return 0, -(2**62)


def _refusal(where: str, expected: str, got: str) -> errors.InvalidArgumentError:
    text = errors.located(where, expected, got, "The message is damaged or from another program.")
    return errors.InvalidArgumentError(None, None, text)
