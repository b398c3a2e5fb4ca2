"""Datasets of the rows that a query gives: of SQLite's files, by Python's `sqlite3`."""

import math
import os
import re
import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import files
from penstock.data import restoring
from penstock.data.operations import TYPES, dataset_kernel, dataset_op, text_of
from penstock.data.run import Run
from penstock.data.stages import Array, Description, Element, SourceStage, Stage, State, left_behind
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_TYPES = (
    dt.string, dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.bool_, dt.float64,
)  # fmt: skip


class Rows(Description):
    """The rows of a query."""

    kind = "SqlDataset"
    __slots__ = ("path", "query")

    def __init__(
        self, path: str, query: str, types: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        super().__init__((), types, shapes)
        self.path = path
        self.query = query

    def start(self, run: Run) -> Stage:
        """A state before the first row."""
        return _RowsStage(self, run)


class _RowsStage(SourceStage):
    def __init__(self, description: Rows, run: Run) -> None:
        super().__init__(run)
        self._description = description
        self._connection: Any = None
        self._cursor: Any = None
        self._given = 0
        self._ended = False

    def _open(self) -> None:
        """Runs the query; from then on a state says how many rows were given."""
        description = self._description
        if not os.path.isfile(description.path):
            raise errors.NotFoundError(
                None, None, f"{description.path}; expected the file of a database, got none."
            )
        try:
            where = f"file:{_quoted(description.path)}?mode=ro"
            self._connection = sqlite3.connect(where, uri=True, check_same_thread=False)
            self._connection.text_factory = bytes
            self._cursor = self._connection.execute(description.query)
        except sqlite3.Error as problem:
            raise errors.UnknownError(
                None,
                None,
                f"The query {description.query!r} of {description.path} failed: {problem}.",
            ) from problem
        found = len(self._cursor.description or ())
        if found != len(description.types):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"The number of columns in query ({found}) must match the number of elements in"
                f" output_types ({len(description.types)}).",
            )

    def next(self) -> Element | None:
        if self._ended:
            return None
        self.check_wanted()
        try:
            if self._cursor is None:
                self._open()
            row = self._cursor.fetchone()
        except Exception as problem:
            self._end()
            if isinstance(problem, sqlite3.Error):
                raise errors.UnknownError(None, None, f"A row cannot be read: {problem}.") from None
            raise
        if row is None:
            self._end()
            return None
        self._given += 1
        types = self._description.types
        return tuple(_value(v, t) for v, t in zip(row, types, strict=True))

    def _end(self) -> None:
        self._ended = True
        self.close()

    def save(self) -> State:
        return {"given": self._given, "ended": self._ended}

    def restore(self, state: State) -> None:
        self.close()
        given = restoring.whole(state["given"], "SqlDataset")
        self._given, self._ended = 0, restoring.flag(state["ended"], "SqlDataset")
        if not self._ended:
            self.skip(given)

    def after_fork(self) -> None:
        if self._connection is not None:
            raise left_behind("SqlDataset")

    def close(self) -> None:
        connection, self._connection, self._cursor = self._connection, None, None
        if connection is not None:
            connection.close()


def _quoted(path: str) -> str:
    return os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _value(value: Any, dtype: DType) -> Array:
    """A field as SQLite converts it: text is the number that it begins with, nothing is 0."""
    if dtype == dt.string:
        if isinstance(value, (int, float)):
            value = str(value).encode()
        return np.array(value or b"", object)
    if dtype == dt.float64:
        return np.array(_real(value) if isinstance(value, bytes) else float(value or 0))
    whole = _whole(value)
    if dtype == dt.bool_:
        return np.array(whole != 0)
    return np.array(whole & 0xFFFFFFFFFFFFFFFF, np.uint64).astype(dtype.numpy_dtype)


def _whole(value: Any) -> int:
    """A field as an integer of 64 bits, the nearest that there is."""
    if isinstance(value, bytes):
        digits = _INTEGER.match(value)
        sign, text = digits.groups() if digits else (b"", b"0")
        value = int(sign + text[:_DIGITS])
    elif isinstance(value, float) and math.isinf(value):
        value = _LARGEST if value > 0 else -_LARGEST - 1
    return max(-_LARGEST - 1, min(int(value or 0), _LARGEST))


def _real(text: bytes) -> float:
    found = _REAL.match(text)
    return float(found[0]) if found else 0.0


_LARGEST = 2**63 - 1
_DIGITS = 20  # numbers with more are all too large
_SPACE = rb"[ \t\n\v\f\r]*"
_INTEGER = re.compile(_SPACE + rb"([+-]?)0*(\d+)")
_REAL = re.compile(_SPACE + rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_SQL = f"(driver_name: string, data_source_name: string, query: string; {TYPES}) -> handle: variant"
SQL = dataset_op(f"SqlDataset{_SQL}", "The rows of a query.", stateful=True)
OLD_SQL = dataset_op(f"ExperimentalSqlDataset{_SQL}", "The rows of a query.", stateful=True)


@dataset_kernel(SQL)
@dataset_kernel(OLD_SQL)
def _sql(
    driver_name: Array, data_source_name: Array, query: Array, *, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    driver = text_of(driver_name)
    if driver != "sqlite":
        raise errors.InvalidArgumentError(
            None,
            None,
            f"tf.data doesn't support the database type {driver}: expected `sqlite`.",
        )
    if any(t not in _TYPES for t in output_types):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Each element of `output_types_` must be one of: {[t.name for t in _TYPES]}, got"
            f" {[t.name for t in output_types]}.",
        )
    path = files.local_path(text_of(data_source_name))
    return Rows(path, text_of(query), output_types, output_shapes)
