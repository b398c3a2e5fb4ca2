"""Text and bytes, and which Python types count as numbers: the helpers of `tf.compat`."""

import codecs
import numbers
import os
from typing import Any

import numpy as np

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Text as `str`.

    Args:
      bytes_or_text: text, or bytes in `encoding`.
      encoding: the name of the encoding.

    Returns:
      The text.

    Raises:
      TypeError: it is neither.

    Example:
      >>> as_text(b"abc")
      'abc'
    """
    name = codecs.lookup(encoding).name  # refuses an unknown one also where it is not needed
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(name)
    raise TypeError(f"as_text: expected binary or unicode string, got {bytes_or_text!r}")


def as_bytes(bytes_or_text: str | bytes | bytearray, encoding: str = "utf-8") -> bytes:
    """Text as `bytes`.

    Args:
      bytes_or_text: text, or bytes.
      encoding: the name of the encoding.

    Returns:
      The bytes.

    Raises:
      TypeError: it is neither.

    Example:
      >>> as_bytes("abc")
      b'abc'
    """
    name = codecs.lookup(encoding).name
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(name)
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    raise TypeError(f"as_bytes: expected binary or unicode string, got {bytes_or_text!r}")


def as_str(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """The same as `as_text`."""
    return as_text(bytes_or_text, encoding)


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """`str(value)`, but bytes are decoded.

    Args:
      value: anything.
      encoding: that of bytes.
    """
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """A path object as `str`; other values as they are."""
    return os.fspath(path) if hasattr(path, "__fspath__") else path
