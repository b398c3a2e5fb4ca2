"""Tables from text files: one entry a line."""

import os
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.file_object import GFile
from penstock.ops.lookup_state import invalid
from penstock.ops.string_arrays import array_of, as_bytes, shown
from penstock.ops.string_numbers import numbers
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
WHOLE_LINE, LINE_NUMBER = -2, -1
Column = tuple[int, DType]  # its index and dtype


def read_table(
    filename: bytes, key: Column, value: Column, count: int, delimiter: Any, offset: int
) -> tuple[Array, Array]:
    """The keys and values in a file.

    Args:
      filename: the file's path.
      key, value: the column of each, or WHOLE_LINE or LINE_NUMBER, and its dtype.
      count: lines to read; -1 for all.
      delimiter: one character between columns.
      offset: added to line numbers that are values.

    Raises:
      InvalidArgumentError: the file has other content.
      NotFoundError: there is no such file.
    """
    between = as_bytes(delimiter)
    if len(between) != 1:
        raise invalid(f"delimiter should be only 1 char, got {between!r}.")
    path = os.fsdecode(filename)
    with GFile(path, "rb") as file:
        data = file.read()
    if not data:
        raise errors.OutOfRangeError(
            None, None, f"{path}: expected lines of a table, got an empty file."
        )
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if count >= 0 and len(lines) < count:
        raise invalid(
            f"Invalid vocab_size in {path}: expected {count} but got {len(lines)} lines. Give the"
            " number of lines to read, or None for all."
        )
    lines = [line.rstrip(b"\r") for line in (lines if count < 0 else lines[:count])]
    for i, line in enumerate(lines):
        if not line:
            raise invalid(f"Invalid content in {path}: empty line found at line {i + 1}.")
    keys = _column(path, lines, key, between, 0)
    return keys, _column(path, lines, value, between, offset)


def _column(path: str, lines: list[bytes], column: Column, between: bytes, offset: int) -> Array:
    index, dtype = column
    if index == LINE_NUMBER:
        if dtype is not dt.int64:
            raise invalid(f"line numbers are int64: expected a table of them, got {dtype.name}.")
        return np.arange(offset, offset + len(lines), dtype=np.int64)
    fields = lines if index == WHOLE_LINE else _parts(path, lines, index, between)
    if dtype is dt.string:
        return np.array(fields, object)

    def failed(text: bytes) -> Exception:
        number = next(i for i, field in enumerate(fields) if field is text)
        return invalid(
            f"Field {shown(text)} in line {number} of {path} is not a valid {dtype.name}."
        )

    return numbers(array_of(fields, (len(fields),)), dtype, failed)


def _parts(path: str, lines: list[bytes], index: int, between: bytes) -> list[bytes]:
    """What stands in the column of a number, line by line."""
    fields = []
    for number, line in enumerate(lines):
        parts = line.split(between)
        if len(parts) <= index:
            raise invalid(
                f"Invalid number of columns in {path} line {number} ({shown(line)}): expected at"
                f" least {index + 1} got {len(parts)}."
            )
        fields.append(parts[index])
    return fields
