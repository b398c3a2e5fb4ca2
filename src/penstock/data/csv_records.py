"""Datasets of the records of CSV files.

A record ends with a line, where no quotes are open. Of each record the fields that are wanted are
converted to the dtypes of their defaults; a record that does not fit is an error in its place.
"""

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.byte_files import open_bytes
from penstock.data.file_stage import FilesStage, Open, check_scalar, check_vector, shown
from penstock.data.operations import dataset_kernel, dataset_op, number, text_of, texts_of
from penstock.data.reading import compression_of
from penstock.data.run import Run
from penstock.data.stages import Array, Description, Element, Stage
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_LARGEST = 1 << 26  # bytes that are read at a time
_END = re.compile(rb"[\r\n]")
_INTEGER = re.compile(rb"\s*([+-]?)0*(\d{1,20})\s*\Z")  # what is longer fits into no dtype
_FLOAT = re.compile(
    rb"\s*[+-]?((\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)\s*\Z", re.IGNORECASE
)


class _NeedsMoreError(Exception):
    """The record may go on behind what was read."""


class Layout:
    """How records are written.

    Args:
      delimiter: the character between fields, as a byte.
      quotes: whether quotes around fields are none of them.
      header: whether the first record of a file is left out.
      block: bytes that are read at a time.
    """

    __slots__ = ("block", "delimiter", "header", "quotes")

    def __init__(self, delimiter: bytes, quotes: bool, header: bool, block: int) -> None:
        self.delimiter, self.quotes = delimiter, quotes
        self.header, self.block = header, block


class CsvReader:
    """The records of an open file as lists of fields, or as errors. Not thread-safe."""

    def __init__(self, path: bytes, compression: str, offset: int, layout: Layout) -> None:
        self._path, self._layout = shown(path), layout
        self._file = open_bytes(path, compression, offset)
        self.offset = offset
        self._text = b""
        self._at = 0
        self._ended = False
        if layout.header and offset == 0:
            self._pass_header()

    def _pass_header(self) -> None:
        try:
            found = self._records(1)
        except BaseException:
            self.close()
            raise
        if not found:
            self.close()
            raise _invalid(f"Can't read header of file {self._path}: it is empty.")

    def take(self, count: int) -> list[Any]:
        """At least one and up to `count` records; none at the end."""
        return self._records(count)

    def _records(self, count: int) -> list[Any]:
        found: list[Any] = []
        while len(found) < count:
            if self._at >= len(self._text):
                if found or not self._fill():
                    break
                continue
            try:
                found.append(self._record())
            except _NeedsMoreError:
                if found:
                    break
                self._fill()
        return found

    def _fill(self) -> bool:
        """Reads more; False where there is none."""
        left = self._text[self._at :]
        piece = b"" if self._ended else self._file.read(max(self._layout.block, len(left)))
        self._ended = not piece
        self._text, self._at = left + piece, 0
        return bool(piece)

    def _record(self) -> Any:
        """The next record, or what is wrong with it."""
        start = self._at
        end = self._line_end(start)
        line = self._text[start:end]
        if not self._layout.quotes or b'"' not in line:
            self._pass(start, end)
            return line.split(self._layout.delimiter)
        try:
            fields, end = self._quoted(start)
        except ValueError as problem:
            self._pass(start, end)
            return _invalid(f"{problem} in {self._path} at {self.offset - (end - start)}.")
        self._pass(start, end)
        return fields

    def _line_end(self, at: int) -> int:
        found = _END.search(self._text, at)
        if found is None:
            if not self._ended:
                raise _NeedsMoreError
            return len(self._text)
        if found.end() == len(self._text) and not self._ended:
            raise _NeedsMoreError  # a line feed may follow a carriage return
        return found.start()

    def _pass(self, start: int, end: int) -> None:
        """Goes behind a record and the characters that end it."""
        text = self._text
        after = end + (2 if text[end : end + 2] == b"\r\n" else 1 if end < len(text) else 0)
        self.offset += after - start
        self._at = after

    def _quoted(self, at: int) -> tuple[list[bytes], int]:
        """The fields of a record with quotes, and where it ends."""
        text, delimiter = self._text, self._layout.delimiter
        fields: list[bytes] = []
        while True:
            if text[at : at + 1] == b'"':
                field, at = self._in_quotes(at + 1)
            else:
                end = self._line_end(at)
                stop = text.find(delimiter, at, end)
                stop = end if stop < 0 else stop
                field, at = text[at:stop], stop
                if b'"' in field:
                    raise ValueError("Unquoted fields cannot have quotes inside")
            fields.append(field)
            if text[at : at + 1] != delimiter:
                self._line_end(at)
                return fields, at
            at += 1

    def _in_quotes(self, at: int) -> tuple[bytes, int]:
        text, pieces = self._text, []
        while True:
            end = text.find(b'"', at)
            if end < 0 or (end + 1 == len(text) and not self._ended):
                if not self._ended:
                    raise _NeedsMoreError
                raise ValueError("Reached end of file without closing quoted field in record")
            pieces.append(text[at:end])
            after = text[end + 1 : end + 2]
            if after != b'"':
                if after not in (b"", b"\r", b"\n", self._layout.delimiter):
                    raise ValueError("Expected a delimiter behind quotes that close a field")
                return b'"'.join(pieces), end + 1
            at = end + 2

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def _invalid(text: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, text)


# ---- elements


class Columns:
    """Which fields are wanted, and what becomes of them.

    Args:
      defaults: for each column its default, or none where the field is required.
      types: of the columns.
      missing: what stands for a field that is missing, beside nothing.
      chosen: the numbers of the fields; all where it is empty.
      left_out: the numbers of fields that are not wanted.
    """

    __slots__ = ("chosen", "defaults", "left_out", "missing", "types")

    def __init__(
        self,
        defaults: Sequence[Any],
        types: Sequence[DType],
        missing: bytes,
        chosen: Sequence[int],
        left_out: Sequence[int],
    ) -> None:
        self.defaults, self.types, self.missing = tuple(defaults), tuple(types), missing
        self.chosen, self.left_out = tuple(chosen), frozenset(left_out)

    def element(self, fields: list[bytes], where: str) -> Element:
        """The element of a record.

        Raises:
          InvalidArgumentError: the record does not fit.
        """
        wanted = self._wanted(fields, where)
        return tuple(self._value(i, field, where) for i, field in enumerate(wanted))

    def _wanted(self, fields: list[bytes], where: str) -> list[bytes]:
        count = len(self.types)
        if self.chosen:
            found = [fields[i] for i in self.chosen if i < len(fields)]
        elif self.left_out:
            found = [field for i, field in enumerate(fields) if i not in self.left_out]
        else:
            found = fields
        if len(found) != count:
            got = "more" if len(found) > count else str(len(found))
            raise _invalid(f"Expect {count} fields but have {got} in record {where}.")
        return found

    def _value(self, number_: int, field: bytes, where: str) -> Array:
        dtype = self.types[number_]
        if not field or field == self.missing:
            default = self.defaults[number_]
            if default is None:
                raise _invalid(f"Field {number_} is required but missing in record {where}!")
            return default
        if dtype == dt.string:
            return np.array(field, object)
        if dtype.is_integer and (found := _INTEGER.match(field)):
            whole = int(b"".join(found.groups()))
            if dtype.min <= whole <= dtype.max:
                return np.array(whole, dtype.numpy_dtype)
        elif dtype.is_floating and _FLOAT.match(field):
            value = float(field)
            if abs(value) < float(dtype.max):
                return np.array(value, dtype.numpy_dtype)
            with np.errstate(over="ignore"):  # infinity, as in TensorFlow
                return np.array(value, dtype.numpy_dtype)
        kind = "float" if dtype == dt.float32 else "double" if dtype == dt.float64 else dtype.name
        text = field.decode(errors="replace")
        raise _invalid(f"Field {number_} in record {where} is not a valid {kind}: {text}")


class Csv(Description):
    """The records of CSV files."""

    kind = "CSVDatasetV2"
    __slots__ = ("columns", "compression", "layout", "paths")

    def __init__(
        self,
        paths: Sequence[bytes],
        compression: str,
        layout: Layout,
        columns: Columns,
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((), columns.types, shapes)
        self.paths = tuple(paths)
        self.compression = compression
        self.layout = layout
        self.columns = columns

    def start(self, run: Run) -> Stage:
        """A state before the first record."""

        def open_file(path: bytes, offset: int) -> CsvReader:
            return CsvReader(path, self.compression, offset, self.layout)

        return _CsvStage(self.paths, open_file, run, self.columns)


class _CsvStage(FilesStage):
    stacked = False

    def __init__(self, paths: Sequence[bytes], open_file: Open, run: Run, columns: Columns) -> None:
        super().__init__(paths, open_file, run)
        self._columns = columns

    def next(self) -> Element | None:
        found: list[Any] = self._take(1)
        if not found:
            return None
        if isinstance(found[0], Exception):
            raise found[0]
        return self._columns.element(found[0], f"of {shown(self._paths[self._number])}")


# ---- operations

_TYPES = (
    "output_types: list({float, double, int32, int64, string}) >= 1, output_shapes: list(shape)"
    " >= 1"
)
_INPUTS = (
    "filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim:"
    " string, use_quote_delim: bool, na_value: string, select_cols: int64, record_defaults:"
    " [output_types]"
)
CSV = dataset_op(
    f"CSVDataset({_INPUTS}; {_TYPES}) -> handle: variant",
    "The records of CSV files.",
    stateful=True,
)
OLD_CSV = dataset_op(
    f"ExperimentalCSVDataset({_INPUTS}; {_TYPES}) -> handle: variant",
    "The records of CSV files.",
    stateful=True,
)
CSV_V2 = dataset_op(
    f"CSVDatasetV2({_INPUTS}, exclude_cols: int64; {_TYPES}) -> handle: variant",
    "The records of CSV files, without some of their fields.",
    stateful=True,
)


@dataset_kernel(CSV)
@dataset_kernel(OLD_CSV)
def _csv(
    filenames: Array, compression_type: Array, buffer_size: Array, header: Array,
    field_delim: Array, use_quote_delim: Array, na_value: Array, select_cols: Array,
    record_defaults: list[Array], *, output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    layout = _layout(buffer_size, header, field_delim, use_quote_delim)
    columns = _columns(record_defaults, output_types, na_value, select_cols, ())
    return _files("CSVDataset", filenames, compression_type, layout, columns, output_shapes)


@dataset_kernel(CSV_V2)
def _csv_v2(
    filenames: Array, compression_type: Array, buffer_size: Array, header: Array,
    field_delim: Array, use_quote_delim: Array, na_value: Array, select_cols: Array,
    record_defaults: list[Array], exclude_cols: Array, *, output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    layout = _layout(buffer_size, header, field_delim, use_quote_delim)
    columns = _columns(record_defaults, output_types, na_value, select_cols, exclude_cols)
    return _files("CSVDatasetV2", filenames, compression_type, layout, columns, output_shapes)


def _files(
    op: str, filenames: Array, compression: Array, layout: Layout, columns: Columns, shapes: Any
) -> Description:
    check_vector(op, "filenames", filenames)
    return Csv(texts_of(filenames), compression_of(op, compression), layout, columns, shapes)


def _layout(buffer: Array, header: Array, delimiter: Array, quotes: Array) -> Layout:
    for name, value in (("buffer_size", buffer), ("header", header), ("field_delim", delimiter)):
        check_scalar("CSVDataset", name, value)
    size, between = number(buffer), text_of(delimiter).encode()
    if size <= 0:
        raise _invalid(f"CSVDataset: buffer_size should be positive, got {size}.")
    if len(between) != 1:
        raise _invalid(f"CSVDataset: field_delim should be only 1 char, got {between!r}.")
    return Layout(between, bool(quotes), bool(header), min(size, _LARGEST))


def _columns(
    defaults: list[Array], types: Sequence[DType], missing: Array, chosen: Any, left_out: Any
) -> Columns:
    found = []
    for i, default in enumerate(defaults):
        flat = np.reshape(default, -1)
        if np.ndim(default) > 1 or len(flat) > 1:
            raise _invalid(
                f"CSVDataset: There should only be 1 default per field but field {i} has"
                f" {len(flat)}. Give one value, or none where the field is required."
            )
        found.append(np.asarray(flat[0], flat.dtype) if len(flat) else None)
    some = _numbers("select_cols", chosen)
    others = _numbers("exclude_cols", left_out)
    if some and others:
        raise _invalid("CSVDataset: Either select_cols or exclude_cols should be empty.")
    if some and len(some) != len(types):
        raise _invalid(
            f"CSVDataset: select_cols should match output size, got {len(some)} for {len(types)}."
        )
    return Columns(found, types, text_of(missing).encode(), some, others)


def _numbers(name: str, value: Any) -> list[int]:
    found = [int(n) for n in np.reshape(value, -1)]
    if any(n < 0 for n in found):
        raise _invalid(f"CSVDataset: {name} should be non-negative indices, got {found}.")
    if any(b <= a for a, b in itertools.pairwise(found)):
        raise _invalid(f"CSVDataset: {name} should be strictly increasing indices, got {found}.")
    return found
