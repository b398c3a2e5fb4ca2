"""Bytes in strings: raw numbers, base 64, compressed data.

What these read may come from strangers. Compressed data grows at most to `MAX_DECOMPRESSED` bytes.
"""

import binascii
import re
import zlib
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_strings, shapes
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.string_arrays import HOST, as_text, each, invalid, shown
from penstock.ops.string_to_hash import either
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
NO_GRADIENT = "bytes have no gradient"

# ---- raw numbers --------------------------------------------------------------------------------


def _raw_shape(c: ShapeContext) -> Dims:
    dims = c.shape(0)
    return None if dims is None else (*dims, None)


RAW = define_op(
    "DecodeRaw(bytes: string; out_type: {half, float, double, int32, uint16, uint8, int16, int8, "
    "int64, complex64, complex128, bool, bfloat16}, little_endian: bool = True) -> output: "
    "out_type",
    shape=_raw_shape,
    doc="The numbers whose bytes the strings are.",
).not_differentiable(NO_GRADIENT)


def _stored(data: Array, dtype: DType, little_endian: bool) -> Array:
    """Bytes, uint8, as numbers, one axis."""
    flat = data.reshape(-1)
    if dtype.name == "bool":
        return flat.astype(bool)
    unit = dtype.size // 2 if dtype.is_complex else dtype.size
    if not little_endian and unit > 1:
        flat = np.ascontiguousarray(flat.reshape(-1, unit)[:, ::-1]).reshape(-1)
    return flat.view(dtype.numpy_dtype)


@host_kernel(RAW, limit=HOST)
def _decode_raw(bytes: Array, *, out_type: DType, little_endian: bool) -> Array:
    if not bytes.size:
        return np.zeros((*bytes.shape, 0), out_type.numpy_dtype)
    size = len(bytes.reshape(-1)[0])
    found = native_strings.stored(bytes, size, False) if size % out_type.size == 0 else None
    if found is not None:
        numbers = _stored(found, out_type, little_endian)
        return numbers.reshape(*bytes.shape, size // out_type.size)
    rows = bytes.reshape(-1).tolist()
    other = next((i for i, row in enumerate(rows) if len(row) != size), None)
    if other is not None:
        raise invalid(
            "DecodeRaw requires input strings to all be the same size, but element"
            f" {other} has size {len(rows[other])} != {size}. Give fixed_length to pad them."
        )
    if size % out_type.size:
        raise invalid(
            f"Input to DecodeRaw has length {size} that is not a multiple of {out_type.size}, the"
            f" size of {out_type.name}."
        )
    return _stored(np.frombuffer(b"".join(rows), np.uint8), out_type, little_endian).reshape(
        *bytes.shape, size // out_type.size
    )


def _padded_shape(c: ShapeContext) -> Dims:
    dims, length = c.shape(0), c.shape(1)
    if length:
        c.fail("a scalar fixed_length", f"k must be scalar, got shape {d.text(length)}")
    known, size = c.constant(1), c.attr("out_type").size
    if known is None:
        return None if dims is None else (*dims, None)
    count = int(known)
    if count % size:
        c.fail(
            "a fixed_length of whole numbers",
            f"fixed_length ({count}) must be a multiple of the size of out_type ({size})",
        )
    if count <= 0:
        c.fail("a positive fixed_length", f"fixed_length ({count}) must be greater than zero")
    return None if dims is None else (*dims, count // size)


PADDED_RAW = define_op(
    "DecodePaddedRaw(input_bytes: string, fixed_length: int32; out_type: {half, float, double, "
    "int32, uint16, uint8, int16, int8, int64, bfloat16}, little_endian: bool = True) -> output: "
    "out_type",
    shape=_padded_shape,
    host_inputs=("fixed_length",),
    doc="The numbers whose bytes the strings are, padded with zeros or cut to one length.",
).not_differentiable(NO_GRADIENT)


@host_kernel(PADDED_RAW, limit=HOST)
def _decode_padded_raw(
    input_bytes: Array, fixed_length: Array, *, out_type: DType, little_endian: bool
) -> Array:
    size = int(fixed_length)
    found = native_strings.stored(input_bytes, size, True)
    if found is None:
        rows = [s[:size].ljust(size, b"\0") for s in input_bytes.reshape(-1).tolist()]
        found = np.frombuffer(b"".join(rows), np.uint8)
    flat = _stored(found, out_type, little_endian)
    return flat.reshape(*input_bytes.shape, size // out_type.size)


def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: Any = None,
    name: str | None = None,
) -> Any:
    r"""The numbers whose bytes the strings are.

    Args:
      input_bytes: string[...], all of one length unless `fixed_length` is given.
      out_type: a dtype of numbers.
      little_endian: the order of bytes in each number.
      fixed_length: bytes to take of each string, padded with zeros; a multiple of the dtype's size.
      name: the name in a graph.

    Returns:
      `out_type` of the shape of `input_bytes` and one axis more.

    Raises:
      InvalidArgumentError: lengths differ, or hold no whole number of elements.

    Example:
      >>> decode_raw([b"\x01\x00\x02\x00"], np.int16).numpy().tolist()
      [[1, 2]]
    """
    attrs = {"out_type": out_type, "little_endian": little_endian}
    if fixed_length is None:
        return execute(RAW, (input_bytes,), attrs, name)
    return execute(PADDED_RAW, (input_bytes, fixed_length), attrs, name)


def decode_raw_v1(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Any:
    """The numbers whose bytes the strings are; see `tf.io.decode_raw`.

    Args:
      input_bytes: string[...], all of one length.
      out_type: a dtype of numbers.
      little_endian: the order of bytes in each number.
      name: the name in a graph.
      bytes: the same as `input_bytes`.

    Returns:
      `out_type` of the shape of `input_bytes` and one axis more.

    Raises:
      ValueError: `out_type` is missing, or both names of the strings are given.
    """
    given = either(input_bytes, bytes, "input_bytes", "bytes")
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'. Give a dtype.")
    return decode_raw(given, out_type, little_endian, None, name)


# ---- base 64 ------------------------------------------------------------------------------------

ENCODE_64 = define_op(
    "EncodeBase64(input: string; pad: bool = False) -> output: string",
    shape=shapes.same,
    doc="Each string in base 64, of the alphabet for addresses.",
).not_differentiable(NO_GRADIENT)
DECODE_64 = define_op(
    "DecodeBase64(input: string) -> output: string",
    shape=shapes.same,
    doc="The bytes of each string in base 64, of the alphabet for addresses.",
).not_differentiable(NO_GRADIENT)

_TO_SAFE, _FROM_SAFE = bytes.maketrans(b"+/", b"-_"), bytes.maketrans(b"-_", b"+/")
_BASE_64 = re.compile(rb"[A-Za-z0-9_-]*")


@host_kernel(ENCODE_64, limit=HOST)
def _encode_base64(input: Array, *, pad: bool) -> Array:
    found = native_strings.encoded(input, pad)
    if found is not None:
        return found

    def encode(data: bytes) -> bytes:
        text = binascii.b2a_base64(data, newline=False).translate(_TO_SAFE)
        return text if pad else text.rstrip(b"=")

    return each(encode, input)


@host_kernel(DECODE_64, limit=HOST)
def _decode_base64(input: Array) -> Array:
    found = native_strings.decoded(input)
    return each(_decode_one, input) if found is None else found


def _decode_one(text: bytes) -> bytes:
    if len(text) % 4 == 1:
        raise invalid(
            f"DecodeBase64: Base64 string length cannot be 1 modulo 4, got {len(text)} of"
            f" {shown(text)}."
        )
    body = text
    if len(text) % 4 == 0:
        body = text[:-2] + text[-2:].replace(b"=", b"") if text[-1:] == b"=" else text
    if not _BASE_64.fullmatch(body) or len(body) % 4 == 1:
        raise invalid(
            f"DecodeBase64: Invalid character found in base64: {shown(text)}. Expected letters,"
            " digits, '-' and '_', with '=' at the end of four."
        )
    padded = body.translate(_FROM_SAFE) + b"=" * (-len(body) % 4)
    return binascii.a2b_base64(padded)


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Any:
    """Each string in base 64, with '-' and '_' where the common alphabet has '+' and '/'.

    Args:
      input: string, any shape.
      pad: whether '=' fills the last four characters.
      name: the name in a graph.

    Returns:
      Strings of the shape of `input`.

    Example:
      >>> encode_base64("hello").numpy()
      b'aGVsbG8'
    """
    return execute(ENCODE_64, (input,), {"pad": pad}, name)


def decode_base64(input: Any, name: str | None = None) -> Any:
    """The bytes of each string in base 64, of the alphabet with '-' and '_'; '=' may be missing.

    Args:
      input: string, any shape.
      name: the name in a graph.

    Returns:
      Strings of the shape of `input`.

    Raises:
      InvalidArgumentError: a string is no base 64.

    Example:
      >>> decode_base64("aGVsbG8").numpy()
      b'hello'
    """
    return execute(DECODE_64, (input,), None, name)


# ---- compressed data ----------------------------------------------------------------------------

DECOMPRESS = define_op(
    "DecodeCompressed(bytes: string; compression_type: string = '') -> output: string",
    shape=shapes.same,
    doc="The data that each string holds compressed.",
).not_differentiable(NO_GRADIENT)

MAX_DECOMPRESSED = 1 << 31  # bytes of one string: a few kilobytes can claim to be gigabytes
_PIECE = 1 << 20
_WINDOWS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}


@host_kernel(DECOMPRESS, limit=HOST)
def _decode_compressed(bytes: Array, *, compression_type: Any) -> Array:
    kind = as_text(compression_type)
    if kind == "":
        return bytes
    if kind not in _WINDOWS:
        raise invalid(
            f"DecodeCompressed: Only ZLIB, GZIP or NONE are supported compressions, got {kind!r}."
            " An empty text stands for none."
        )
    return each(lambda data: inflated(data, kind), bytes)


def inflated(data: bytes, kind: str, most: int = MAX_DECOMPRESSED) -> bytes:
    """The data that zlib or gzip compressed, as far as it goes; GZIP members one after another.

    Raises:
      DataLossError: it is damaged.
      ResourceExhaustedError: there are more than `most` bytes.
    """
    pieces: list[bytes] = []
    total = 0
    try:
        while data:
            stream = zlib.decompressobj(_WINDOWS[kind])
            while data and not stream.eof:
                pieces.append(stream.decompress(data, _PIECE))
                total += len(pieces[-1])
                data = stream.unconsumed_tail
                if total > most:
                    raise errors.ResourceExhaustedError(
                        None,
                        None,
                        f"DecodeCompressed: expected at most {most} bytes from a string, got more."
                        " Split the data before it is compressed.",
                    )
            data = stream.unused_data if kind == "GZIP" else b""
    except zlib.error as problem:
        raise errors.DataLossError(
            None, None, f"DecodeCompressed: inflate() failed: {problem}: expected {kind} data."
        ) from None
    return b"".join(pieces)


def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Any:
    """The data that each string holds compressed.

    Args:
      bytes: string, any shape.
      compression_type: "ZLIB", "GZIP", or "" for none.
      name: the name in a graph.

    Returns:
      Strings of the shape of `bytes`.

    Raises:
      InvalidArgumentError: another type.
      DataLossError: the data is damaged.
      ResourceExhaustedError: a string would grow beyond 2 GiB.
    """
    return execute(DECOMPRESS, (bytes,), {"compression_type": compression_type}, name)
