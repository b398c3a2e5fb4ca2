"""Numbers as text and text as numbers, as C's printf and strtod have them."""

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np

from penstock.core import native_strings, shapes
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.ops.string_arrays import HOST, array_of, as_text, invalid, shown
from penstock.ops.string_to_hash import either
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray

AS_STRING = define_op(
    "AsString(input: T; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, "
    "half, uint32, uint64, complex64, complex128, bool, variant, string}, precision: int = -1, "
    "scientific: bool = False, shortest: bool = False, width: int = -1, fill: string = '') -> "
    "output: string",
    shape=shapes.same,
    doc="Each element as text.",
).not_differentiable("text has no gradient")

_FLAGS = ("", " ", "+", "-", "0", "#")


@host_kernel(AS_STRING, limit=HOST)
def _as_string(
    input: Array,
    *,
    T: DType,
    precision: int,
    scientific: bool,
    shortest: bool,
    width: int,
    fill: Any,
) -> Array:
    real = T.is_floating or T.is_complex
    if not real and T is not dt.string and precision > -1:
        raise invalid(f"AsString: precision not supported for datatype {T.name}. Leave it out.")
    if not real and T is not dt.string and (scientific or shortest):
        raise invalid(
            f"AsString: scientific and shortest format not supported for datatype {T.name}. Leave"
            " them out."
        )
    if scientific and shortest:
        raise invalid("AsString: Cannot select both scientific and shortest notation. Choose one.")
    flag = _flag(as_text(fill))
    size = str(width) if width > -1 else ""
    if not (flag or size or scientific or shortest):
        found = _plain(input, T, precision)
        if found is not None:
            return found
    values = input.reshape(-1).tolist()
    if real:
        digits = f".{precision}" if precision > -1 else ""
        code = f"{digits}{'e' if scientific else 'g' if shortest else 'f'}"
        texts = _reals(values, flag, size, code, T.is_complex)
    elif T is dt.bool_:
        texts = [b"true" if v else b"false" for v in values]
    elif T is dt.string:
        padded = f"%{'-' if flag == '-' else ''}{size}s".encode()
        texts = [padded % v for v in values]
    else:
        unsigned = T.is_unsigned and flag in ("+", " ")
        one = f"%{'' if unsigned else flag}{size}d".encode()
        texts = [one % v for v in values]
    return array_of(texts, input.shape)


def _plain(input: Array, dtype: DType, precision: int) -> Array | None:
    """Numbers as they are written without flags, width or exponent, by the native library."""
    if dtype.is_floating:
        return native_strings.decimals(input, 6 if precision < 0 else precision)
    return native_strings.whole(input) if dtype.is_integer else None


def _flag(fill: str) -> str:
    if len(fill) > 1:
        raise invalid(f"AsString: Fill string must be one or fewer characters, got {fill!r}.")
    if fill not in _FLAGS:
        raise invalid(f"AsString: Fill argument not supported: {fill!r}, expected one of {_FLAGS}.")
    return fill


def _reals(values: list[Any], flag: str, size: str, code: str, is_complex: bool) -> list[bytes]:
    one = f"%{flag}{size}{code}".encode()
    unpadded = f"%{'' if flag == '0' else flag}{size}{code}".encode()  # C: no zeros before inf

    def text(value: float) -> bytes:
        written = (one if math.isfinite(value) else unpadded) % value
        if value != value and math.copysign(1.0, value) < 0:
            return _negative_nan(flag, size)
        return written

    if not is_complex:
        return [text(v) for v in values]
    return [b"(%s,%s)" % (text(v.real), text(v.imag)) for v in values]


def _negative_nan(flag: str, size: str) -> bytes:
    width = int(size or 0)
    return b"-nan".ljust(width) if flag == "-" else b"-nan".rjust(width)


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Any:
    """Each element as text.

    Args:
      input: numbers, truth values or strings, any shape.
      precision: digits after the point; six by default. For floating and complex numbers only.
      scientific: whether floating numbers have an exponent.
      shortest: whether they have the shorter of both forms.
      width: the least width; the text stands at the right of it.
      fill: how it is filled: "0" with zeros, "-" the text at the left, "+" and " " with a sign, as
        flags of C's printf.
      name: the name in a graph.

    Returns:
      Strings of the shape of `input`.

    Raises:
      InvalidArgumentError: the format does not fit the dtype.

    Example:
      >>> as_string([3.14159, 2.0], precision=2).numpy().tolist()
      [b'3.14', b'2.00']
    """
    attrs = {
        "precision": precision,
        "scientific": scientific,
        "shortest": shortest,
        "width": width,
        "fill": fill,
    }
    return execute(AS_STRING, (input,), attrs, name)


# ---- text as numbers ----------------------------------------------------------------------------

TO_NUMBER = define_op(
    "StringToNumber(string_tensor: string; out_type: {float, double, int32, int64, uint32, uint64} "
    "= float) -> output: out_type",
    shape=shapes.same,
    doc="The number that each string shows.",
).not_differentiable("text has no gradient")

_ODD = re.compile(
    rb"\s*([+-]?)(?:(nan)\([0-9a-z_]*\)|(0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?\d+)?))\s*",
    re.IGNORECASE,
)


@host_kernel(TO_NUMBER, limit=HOST)
def _to_number(string_tensor: Array, *, out_type: DType) -> Array:
    def failed(text: bytes) -> Exception:
        return invalid(
            f"StringToNumber: could not correctly convert string: {shown(text)}, expected a"
            f" {out_type.name}."
        )

    return numbers(string_tensor, out_type, failed)


def _native(texts: Array, dtype: DType) -> Array | None:
    """Decimals in the range of the dtype; None where one of the texts is anything else."""
    kind = dtype.numpy_dtype
    found = native_strings.numbers(texts, kind if dtype.is_floating else np.dtype(np.int64))
    if found is None or dtype.is_floating or not found.size:
        return found
    if dtype.is_unsigned or not dtype.min <= found.min() <= found.max() <= dtype.max:
        return None
    return found.astype(kind)


def numbers(strings: Array, dtype: DType, failed: Any) -> Array:
    """The numbers that strings show, of `dtype` and their shape.

    Raises:
      What `failed(text)` returns, for the first text that shows none of the dtype's numbers.
    """
    found = _native(strings, dtype)
    if found is not None:
        return found
    texts = strings.reshape(-1).tolist()
    values = _all_plain(texts, dtype)
    if values is None:
        parse = read_float if dtype.is_floating else _integer_reader(dtype)
        values = []
        for text in texts:
            value = parse(text)
            if value is None:
                raise failed(text)
            values.append(value)
    rounded = dtype is dt.float32
    flat = _rounded(values, texts) if rounded else np.array(values, dtype.numpy_dtype)
    return flat.reshape(strings.shape)


def _all_plain(texts: list[bytes], dtype: DType) -> list[Any] | None:
    """The numbers, where Python reads all texts as C does; None when one needs a closer look."""
    together = b"".join(texts)
    if b"_" in together or (dtype.is_unsigned and b"-" in together):
        return None
    try:
        values: list[Any] = list(map(float if dtype.is_floating else int, texts))
    except ValueError:
        return None
    if dtype.is_integer and values and not dtype.min <= min(values) <= max(values) <= dtype.max:
        return None
    return values


def read_float(text: bytes) -> float | None:
    """The number that a text shows, None when it shows none."""
    try:
        return float(text) if b"_" not in text else None
    except ValueError:
        found = _ODD.fullmatch(text)
    if found is None:
        return None
    sign = -1.0 if found[1] == b"-" else 1.0
    if found[2]:
        return math.copysign(math.nan, sign)
    try:
        return sign * float.fromhex(found[3].decode())
    except OverflowError:
        return sign * math.inf


def _integer_reader(dtype: DType) -> Any:
    low, high = int(dtype.min), int(dtype.max)

    def read(text: bytes) -> int | None:
        if b"_" in text or (low == 0 and b"-" in text):
            return None
        try:
            value = int(text)
        except ValueError:
            return None
        return value if low <= value <= high else None

    return read


def _rounded(values: list[float], texts: list[bytes]) -> Array:
    """float64 values as float32, rounded once: midpoints look at the text again."""
    wide = np.array(values, np.float64)
    result = wide.astype(np.float32)
    halfway = (wide.view(np.uint64) & np.uint64(0x1FFFFFFF)) == 0x10000000
    for i in np.flatnonzero(halfway & np.isfinite(result)).tolist():
        try:
            exact = Fraction(texts[i].decode().strip())
        except ValueError:  # a hexadecimal number is exact already
            continue
        near = result[i]
        sides = [np.nextafter(near, np.float32(s * np.inf), dtype=np.float32) for s in (-1, 1)]
        result[i] = min((near, *sides), key=lambda v: abs(Fraction(float(v)) - exact))
    return result


def to_number(input: Any, out_type: Any = dt.float32, name: str | None = None) -> Any:
    """The number that each string shows.

    Args:
      input: string, any shape.
      out_type: float32, float64, int32, int64, uint32 or uint64.
      name: the name in a graph.

    Returns:
      `out_type` of the shape of `input`.

    Raises:
      InvalidArgumentError: a string shows no number of that type.

    Example:
      >>> to_number(["1.5", " 2 "]).numpy().tolist()
      [1.5, 2.0]
    """
    return execute(TO_NUMBER, (input,), {"out_type": out_type}, name)


def to_number_v1(
    string_tensor: Any = None,
    out_type: Any = dt.float32,
    name: str | None = None,
    input: Any = None,
) -> Any:
    """The number that each string shows.

    Args:
      string_tensor: string, any shape.
      out_type: float32, float64, int32, int64, uint32 or uint64.
      name: the name in a graph.
      input: the same as `string_tensor`.

    Returns:
      `out_type` of the shape of `string_tensor`.

    Raises:
      ValueError: both names of the strings are given.
    """
    return to_number(either(input, string_tensor, "input"), out_type, name)
