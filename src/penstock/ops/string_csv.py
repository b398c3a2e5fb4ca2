"""Records of comma-separated values, by RFC 4180: each field becomes a tensor of its own."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core import native_strings
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.string_arrays import FEW, HOST, array_of, as_bytes, invalid, shown
from penstock.ops.string_numbers import numbers
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
_QUOTE = b'"'


def _shape(c: ShapeContext) -> list[Dims]:
    for i, dims in enumerate(c.shapes[1:]):
        if dims is not None and len(dims) > 1:
            c.fail(
                "a scalar or vector as each default",
                f"record_defaults[{i}] of shape {d.text(dims)}",
            )
        if dims and dims[0] is not None and dims[0] > 1:
            c.fail(
                "at most one default value for each field",
                f"There should only be 1 default per field but field {i} has {dims[0]}",
            )
    return [c.shape(0)] * (len(c) - 1)


DECODE_CSV = define_op(
    "DecodeCSV(records: string, record_defaults: [OUT_TYPE]; OUT_TYPE: list({float, double, int32, "
    "int64, string}) >= 1, field_delim: string = ',', use_quote_delim: bool = True, na_value: "
    "string = '', select_cols: list(int) = []) -> output: [OUT_TYPE]",
    shape=_shape,
    doc="Records of comma-separated values, a tensor for each field.",
).without_gradient("text has no gradient")


@host_kernel(DECODE_CSV, limit=HOST)
def _decode_csv(
    records: Array,
    record_defaults: list[Array],
    *,
    OUT_TYPE: Sequence[DType],
    field_delim: Any,
    use_quote_delim: bool,
    na_value: Any,
    select_cols: Sequence[int],
) -> list[Array]:
    count = len(OUT_TYPE)
    chosen = _chosen(select_cols, count)
    wanted = chosen[-1] + 1 if chosen else -1
    delimiter = as_bytes(field_delim)
    quotes = _check_delimiter(delimiter, use_quote_delim)
    columns = None
    if records.size > FEW:
        columns = _plain_columns(records, delimiter, quotes, chosen, count)
    if columns is None:
        split = _splitter(delimiter, quotes, wanted)
        columns = _columns(records.reshape(-1).tolist(), split, chosen, count)
    missing = {b"", as_bytes(na_value)}
    made = (_column(i, columns[i], record_defaults[i], OUT_TYPE[i], missing) for i in range(count))
    return [column.reshape(records.shape) for column in made]


def _plain_columns(
    records: Array, delimiter: bytes, quotes: bool, chosen: list[int], count: int
) -> list[Array] | None:
    """The columns of records without quotes and ends of lines; None where one has another form."""
    rows = records.reshape(-1).tolist()
    together = b"".join(rows)
    if not all(rows) or any(c in together for c in _forbidden(quotes)):
        return None
    found = native_strings.split(records.reshape(-1), delimiter, skip_empty=False)
    if found is None:
        return None
    parts, counts = found
    width = int(counts[0])
    enough = chosen[-1] < width if chosen else width == count
    if not enough or (counts != width).any():
        return None
    table = parts.reshape(len(rows), width)
    return [table[:, i].copy() for i in chosen or range(count)]


def _columns(
    records: list[bytes], split: Callable[[bytes], list[bytes]], chosen: list[int], count: int
) -> list[Array]:
    """The fields of each column, record by record."""
    columns: list[list[bytes]] = [[] for _ in range(count)]
    for row, record in enumerate(records):
        fields = split(record)
        if chosen:
            fields = [fields[i] for i in chosen if i < len(fields)]
        if len(fields) != count:
            raise invalid(
                f"DecodeCSV: Expect {count} fields but have {len(fields)} in record {row}:"
                f" {shown(record)}. Give one default for each field."
            )
        for column, field in zip(columns, fields, strict=True):
            column.append(field)
    return [array_of(column, (len(column),)) for column in columns]


def _chosen(select_cols: Sequence[int], count: int) -> list[int]:
    chosen = [int(i) for i in select_cols]
    if chosen and len(chosen) != count:
        raise invalid(
            f"DecodeCSV: select_cols should match output size: expected {count} columns, got"
            f" {len(chosen)}."
        )
    if any(a >= b for a, b in itertools.pairwise(chosen)) or any(i < 0 for i in chosen):
        raise invalid(
            "DecodeCSV: select_cols should be strictly increasing indices, and none negative, got"
            f" {chosen}."
        )
    return chosen


def _column(index: int, fields: Array, default: Array, dtype: DType, missing: set[bytes]) -> Array:
    """The values of one field; the default where it is missing."""
    absent = _absent(fields, missing)
    if absent.size and not default.size:
        raise invalid(
            f"DecodeCSV: Field {index} is required but missing in record {absent[0]}! Give it a"
            " default, or put a value there."
        )
    value = default.reshape(-1)[0] if default.size else None
    if dtype is dt.string:
        fields[absent] = value or b""
        return fields
    fields[absent] = b"0"

    def failed(text: bytes) -> Exception:
        row = next(i for i, field in enumerate(fields) if field is text)
        return invalid(
            f"DecodeCSV: Field {index} in record {row} is not a valid {dtype.name}: {shown(text)}."
        )

    result = numbers(fields, dtype, failed)
    if absent.size:
        result[absent] = value
    return result


def _absent(fields: Array, missing: set[bytes]) -> Array:
    """Where a field is missing."""
    if missing == {b""} and len(fields) > FEW:
        lengths = native_strings.lengths(fields, characters=False)
        if lengths is not None:
            return np.flatnonzero(lengths == 0)
    rows = enumerate(fields.tolist())
    return np.array([row for row, field in rows if field in missing], np.int64)


def _check_delimiter(delimiter: bytes, quoted: bool) -> bool:
    """Whether double quotes have their meaning, with a delimiter that is one character."""
    if len(delimiter) != 1:
        raise invalid(
            f"DecodeCSV: field_delim should be only 1 char, got {delimiter!r} of"
            f" {len(delimiter)} bytes."
        )
    return quoted and delimiter != _QUOTE


def _forbidden(quotes: bool) -> tuple[bytes, ...]:
    """What a field that is not in quotes may not hold."""
    return (_QUOTE, b"\n", b"\r") if quotes else (b"\n", b"\r")


def _splitter(delimiter: bytes, quotes: bool, wanted: int) -> Callable[[bytes], list[bytes]]:
    """What splits a record into fields: the first `wanted`, all for -1."""
    forbidden = _forbidden(quotes)

    def split(record: bytes) -> list[bytes]:
        if not record:
            return []
        if not any(c in record for c in forbidden):
            return record.split(delimiter)
        return _split_slowly(record, delimiter, quotes, forbidden, wanted)

    return split


def _split_slowly(
    record: bytes, delimiter: bytes, quotes: bool, forbidden: tuple[bytes, ...], wanted: int
) -> list[bytes]:
    """The fields of a record with quotes or ends of lines in it."""
    fields: list[bytes] = []
    position = 0
    while len(fields) != wanted:
        if quotes and record[position : position + 1] == _QUOTE:
            field, position = _quoted_field(record, position + 1, delimiter)
        else:
            end = record.find(delimiter, position)
            end = len(record) if end < 0 else end
            field = record[position:end]
            if any(c in field for c in forbidden):
                raise invalid(
                    "DecodeCSV: Unquoted fields cannot have quotes/CRLFs inside, got"
                    f" {shown(field)}. Put the field in double quotes."
                )
            position = end
        fields.append(field)
        if position >= len(record):
            break
        position += 1
    return fields


def _quoted_field(record: bytes, position: int, delimiter: bytes) -> tuple[bytes, int]:
    """A field up to its closing quote, with doubled quotes as one; and where it ends."""
    pieces: list[bytes] = []
    while True:
        end = record.find(_QUOTE, position)
        if end < 0:
            raise invalid(
                "DecodeCSV: Quoted field has to end with quote followed by delim or end, got"
                f" {shown(record)}."
            )
        pieces.append(record[position:end])
        after = record[end + 1 : end + 2]
        if after == _QUOTE:
            pieces.append(_QUOTE)
            position = end + 2
        elif not after or after == delimiter:
            return b"".join(pieces), end + 1
        else:
            raise invalid(
                "DecodeCSV: Quote inside a string has to be escaped by another quote, got"
                f" {shown(record)}."
            )


def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Any = None,
    name: str | None = None,
) -> Any:
    """Records of comma-separated values, a tensor for each field.

    Args:
      records: string[...], one record each.
      record_defaults: for each field a scalar or vector of one element, whose dtype the field has
        (float32, float64, int32, int64, string) and which stands where it is empty; a vector
        without elements where it must not be.
      field_delim: one character.
      use_quote_delim: whether a field in double quotes may hold the delimiter and ends of lines.
      na_value: another text for an empty field.
      select_cols: increasing numbers of the columns to take; all by default.
      name: the name in a graph.

    Returns:
      A list with a tensor for each field, of the shape of `records`.

    Raises:
      ValueError: `select_cols` does not fit `record_defaults`, or is not increasing.
      InvalidArgumentError: a record has another number of fields, or a field does not parse.

    Example:
      >>> [t.numpy().tolist() for t in decode_csv(["1,a", "2,"], [[0], ["?"]])]
      [[1, 2], [b'a', b'?']]
    """
    columns = [] if select_cols is None else list(select_cols)
    defaults = [convert_to_tensor(v) for v in record_defaults]
    if any(i < 0 for i in columns):
        raise ValueError(f"select_cols contains negative values: {columns}. Count from 0.")
    if any(a >= b for a, b in itertools.pairwise(columns)):
        raise ValueError(f"select_cols is not strictly increasing: {columns}. Sort the columns.")
    if columns and len(columns) != len(defaults):
        raise ValueError(
            f"Length of select_cols and record_defaults do not match: {len(columns)} and"
            f" {len(defaults)}. Give one default for each selected column."
        )
    attrs = {
        "field_delim": field_delim,
        "use_quote_delim": use_quote_delim,
        "na_value": na_value,
        "select_cols": columns,
    }
    return execute(DECODE_CSV, (records, defaults), attrs, name)


def decode_csv_v1(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Any = None,
) -> Any:
    """Records of comma-separated values; see `tf.io.decode_csv`, whose last arguments change place.

    Args:
      records: string[...], one record each.
      record_defaults: for each field a scalar or vector of at most one element.
      field_delim: one character.
      use_quote_delim: whether a field may stand in double quotes.
      name: the name in a graph.
      na_value: another text for an empty field.
      select_cols: increasing numbers of the columns to take.

    Returns:
      A list with a tensor for each field, of the shape of `records`.
    """
    return decode_csv(
        records, record_defaults, field_delim, use_quote_delim, na_value, select_cols, name
    )
