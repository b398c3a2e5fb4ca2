"""Spans of messages in protobuf's wire format, found without building the messages.

All messages of a batch lie one after another in one byte string, `data`. A span is where a message
starts and ends in it; spans come as two int64 vectors, and a start of -1 says that there is none.
Five functions lead from the messages to arrays: `map_values` looks up keys of a map, `kinds` reads
which list a Feature holds, `repeated` gives the strings or messages of field 1, `floats` and
`integers` the numbers of field 1, packed or not.

What is no message raises `BrokenMessageError` with its row; nothing is allocated beyond what the
bytes can hold. `penstock.core.native_wire` has the same functions in C++; these here are used
without it, and for messages so small that calling it costs more.

Source: "Encoding", https://protobuf.dev/programming-guides/encoding.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.core import native_wire
from penstock.core.native_wire import BrokenMessageError

Array = Any  # numpy.ndarray
SMALL = 512  # bytes: below, calling native code costs more than it saves
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
NONE, STRINGS, FLOATS, INTEGERS = 0, 1, 2, 3  # kinds of a Feature; also the number of its field
_TWO63, _TWO64 = 1 << 63, 1 << 64


class Spans(NamedTuple):
    """Messages in `data`: where each starts and ends; starts are -1 where there is none."""

    starts: Array
    ends: Array


def spans_of(strings: Sequence[bytes]) -> tuple[bytes, Spans]:
    """Strings one after another, and where each of them is."""
    if len(strings) == 1:
        return strings[0], Spans(np.zeros(1, np.int64), np.array([len(strings[0])], np.int64))
    data = b"".join(strings)
    ends = np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)))
    starts = np.zeros_like(ends)
    starts[1:] = ends[:-1]
    return data, Spans(starts, ends)


def _native(data: bytes) -> Any:
    return native_wire.LIBRARY.library() if len(data) > SMALL else None


def map_values(data: bytes, spans: Spans, field: int, keys: Sequence[bytes]) -> tuple[Array, Array]:
    """The values of some keys of a map, which is field 1 of the message in field `field`.

    Args:
      data: the bytes.
      spans: N messages.
      field: the field with the message that holds the map; several of them are one map.
      keys: K keys.

    Returns:
      Where the values start and end: int64[K, N], -1 where a key is not there. The last entry of
      a key counts.

    Raises:
      BrokenMessageError: a message or an entry is cut off.
    """
    native = _native(data)
    if native is not None:
        return native_wire.map_values(native, data, *spans, field, keys)
    found = np.full((2, len(keys), len(spans.starts)), -1, np.int64)
    numbers = {key: i for i, key in enumerate(keys)}
    for row, start, end in _rows(spans):
        for tag, at, stop in _fields(data, start, end, row):
            if tag != field << 3 | BYTES:
                continue
            for entry_tag, entry, entry_end in _fields(data, at, stop, row):
                if entry_tag != 1 << 3 | BYTES:
                    continue
                key, value = b"", (entry_end, entry_end)
                for part_tag, part, part_end in _fields(data, entry, entry_end, row):
                    if part_tag == 1 << 3 | BYTES:
                        key = data[part:part_end]
                    elif part_tag == 2 << 3 | BYTES:
                        value = part, part_end
                number = numbers.get(key)
                if number is not None:
                    found[:, number, row] = value
    return found[0], found[1]


def kinds(data: bytes, spans: Spans) -> tuple[Array, Spans]:
    """Which list each Feature holds, and where it is.

    Returns:
      int8[N]: NONE, STRINGS, FLOATS or INTEGERS; and the lists. The last list counts.

    Raises:
      BrokenMessageError: a Feature is cut off.
    """
    native = _native(data)
    if native is not None:
        kind, starts, ends = native_wire.kinds(native, data, *spans)
        return kind, Spans(starts, ends)
    result = np.zeros(len(spans.starts), np.int8)
    lists = np.full((2, len(spans.starts)), -1, np.int64)
    for row, start, end in _rows(spans):
        for tag, at, stop in _fields(data, start, end, row):
            if tag & 7 == BYTES and NONE < tag >> 3 <= INTEGERS:
                result[row] = tag >> 3
                lists[:, row] = at, stop
    return result, Spans(lists[0], lists[1])


def repeated(data: bytes, spans: Spans) -> tuple[Array, Spans]:
    """The strings or messages in field 1 of each message.

    Returns:
      How many there are in each, int64[N], and where they are, one message after another.

    Raises:
      BrokenMessageError: a message is cut off.
    """
    native = _native(data)
    if native is not None:
        counts, starts, ends = native_wire.repeated(native, data, *spans)
        return counts, Spans(starts, ends)
    counts = np.zeros(len(spans.starts), np.int64)
    found: list[tuple[int, int]] = []
    for row, start, end in _rows(spans):
        before = len(found)
        for tag, at, stop in _fields(data, start, end, row):
            if tag == 1 << 3 | BYTES:
                found.append((at, stop))
        counts[row] = len(found) - before
    flat = np.array(found, np.int64).reshape(-1, 2)
    return counts, Spans(flat[:, 0], flat[:, 1])


def floats(data: bytes, spans: Spans) -> tuple[Array, Array]:
    """The numbers of each FloatList.

    Returns:
      How many there are in each, int64[N], and all of them, float32[M].

    Raises:
      BrokenMessageError: a list is cut off, or its bytes are no whole numbers of four.
    """
    native = _native(data)
    if native is not None:
        return native_wire.numbers(native, data, *spans, np.dtype(np.float32))
    counts = np.zeros(len(spans.starts), np.int64)
    pieces: list[bytes] = []
    for row, start, end in _rows(spans):
        size = 0
        for tag, at, stop in _fields(data, start, end, row):
            if tag in (1 << 3 | BYTES, 1 << 3 | FIXED32):
                if stop - at & 3:
                    raise BrokenMessageError(row)
                pieces.append(data[at:stop])
                size += stop - at
        counts[row] = size >> 2
    values = np.frombuffer(b"".join(pieces), "<f4")
    return counts, values.astype(np.float32)


def integers(data: bytes, spans: Spans) -> tuple[Array, Array]:
    """The numbers of each Int64List.

    Returns:
      How many there are in each, int64[N], and all of them, int64[M].

    Raises:
      BrokenMessageError: a list or a number is cut off, or a number is longer than ten bytes.
    """
    native = _native(data)
    if native is not None:
        return native_wire.numbers(native, data, *spans, np.dtype(np.int64))
    counts = np.zeros(len(spans.starts), np.int64)
    values: list[int] = []
    for row, start, end in _rows(spans):
        before = len(values)
        for tag, at, stop in _fields(data, start, end, row):
            if tag in (1 << 3 | BYTES, 1 << 3 | VARINT):
                while at < stop:
                    value, at = _varint(data, at, stop, row)
                    values.append(value - _TWO64 if value >= _TWO63 else value)
        counts[row] = len(values) - before
    return counts, np.array(values, np.int64)


def dense(
    data: bytes, spans: Spans, field: int, keys: Sequence[bytes], kinds: Sequence[int],
    sizes: Sequence[int],
) -> list[Array] | None:  # fmt: skip
    """Features of which every message has one list of one kind and size, in one pass.

    Args:
      data: the bytes.
      spans: N messages.
      field: the field with the message that holds the map of features, as for `map_values`.
      keys: K different keys.
      kinds: for each the list: STRINGS, FLOATS or INTEGERS.
      sizes: how many values each list has.

    Returns:
      For each key float32[N, size], int64[N, size], or of strings where they are,
      int64[N, size, 2]. None where a message is not so, or native code is not in use: the other
      functions say what is wrong.
    """
    return native_wire.dense(data, *spans, field, keys, kinds, sizes)


def _rows(spans: Spans) -> Any:
    """(row, start, end) of the messages that are there."""
    both = zip(spans.starts.tolist(), spans.ends.tolist(), strict=True)
    return [(row, start, end) for row, (start, end) in enumerate(both) if start >= 0]


def _varint(data: bytes, at: int, end: int, row: int) -> tuple[int, int]:
    """An unsigned number of up to 64 bits, and what comes after it."""
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value % _TWO64, at
        shift += 7
    raise BrokenMessageError(row)


def _fields(data: bytes, at: int, end: int, row: int) -> list[tuple[int, int, int]]:
    """(tag, start, end) of each field of a message; for bytes without the length before them."""
    found = []
    while at < end:
        tag = data[at]
        at += 1
        if tag > 127:
            tag, at = _varint(data, at - 1, end, row)
        wire = tag & 7
        if wire == BYTES:
            if at < end and data[at] < 128:
                size = data[at]
                at += 1
            else:
                size, at = _varint(data, at, end, row)
        elif wire == FIXED32:
            size = 4
        elif wire == FIXED64:
            size = 8
        elif wire == VARINT:
            size = _varint(data, at, end, row)[1] - at
        else:  # groups are in no message of ours
            raise BrokenMessageError(row)
        if size > end - at or not 0 < tag >> 3 < 1 << 29:
            raise BrokenMessageError(row)
        found.append((tag, at, at + size))
        at += size
    return found
