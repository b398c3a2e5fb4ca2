"""Arrays of strings: what the kernels of the string operations share.

A string tensor is a NumPy array of `bytes` objects. `each` maps a function over one; `array_of`
makes one of a flat list. Text is UTF-8: `decoded` reads it the way ICU does, with U+FFFD in place
of what is not UTF-8.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors

Array = Any  # numpy.ndarray
HOST = 1 << 62  # strings exist on the host alone
FEW = 64  # strings that Python joins in less time than a call of the native library takes


def array_of(items: Sequence[bytes], shape: Sequence[int]) -> Array:
    """The string array of a flat list."""
    return np.array(items, object).reshape(tuple(shape))


def each(function: Callable[[bytes], bytes], array: Array) -> Array:
    """The array with `function` applied to each string."""
    return array_of(list(map(function, array.reshape(-1).tolist())), array.shape)


def as_text(value: Any) -> str:
    """An attribute or scalar as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def as_bytes(value: Any) -> bytes:
    """An attribute or scalar as bytes."""
    return value if isinstance(value, bytes) else str(value).encode()


def decoded(data: bytes) -> str:
    """UTF-8 as text, with U+FFFD for what is not UTF-8."""
    return data.decode("utf-8", "replace")


def shown(data: bytes, most: int = 64) -> str:
    """A string for an error message, cut when it is long."""
    return repr(data) if len(data) <= most else f"{data[:most]!r}... ({len(data)} bytes)"


def invalid(message: str) -> errors.InvalidArgumentError:
    """The error for a bad value."""
    return errors.InvalidArgumentError(None, None, message)


def character_starts(data: bytes) -> Array:
    """Where the characters begin: the bytes that do not continue a UTF-8 character, int64[N]."""
    return np.flatnonzero((np.frombuffer(data, np.uint8) & 0xC0) != 0x80)


@functools.cache
def _continuation_table() -> bytes:
    return bytes(range(0x80, 0xC0))


def count_characters(data: bytes) -> int:
    """The number of bytes that do not continue a UTF-8 character."""
    return len(data.translate(None, _continuation_table()))
