"""Features of a batch of messages as arrays: dense, sparse or ragged.

A `Batch` is what `parse_wire` found: for each key and row the kind of its list and where it is. Its
methods check dtypes and sizes and put the arrays together; they name the row and the feature that
is wrong. Rows are examples, or the steps of feature lists.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from penstock import errors
from penstock.core.native_wire import BrokenMessageError
from penstock.ops import parse_wire as wire
from penstock.ops.parse_wire import Spans
from penstock.ops.string_arrays import invalid, shown
from penstock.types import dims as d
from penstock.types import dtypes
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
KINDS = {dtypes.string: wire.STRINGS, dtypes.float32: wire.FLOATS, dtypes.int64: wire.INTEGERS}
NAMES = {dtypes.string: "string", dtypes.float32: "float", dtypes.int64: "int64"}
OF_KIND = {kind: NAMES[dtype] for dtype, kind in KINDS.items()}
LIST_NAMES = {dtypes.string: "bytes", dtypes.float32: "float", dtypes.int64: "int64"}


class Column(NamedTuple):
    """The values of one feature: how many in each row, int64[N], and all of them one by one."""

    counts: Array
    values: Array


@dataclass(frozen=True, slots=True)
class Batch:
    """Features of N rows, for K keys.

    Attributes:
      op: the operation, for errors.
      data: the bytes of all messages.
      keys: K keys.
      kinds: int8[K, N], NONE where the row has no such feature.
      lists: int64[K, N] twice: where the lists are.
      row_name: `row_name(row)` says for errors which row it is, empty or with a blank at its end.
      where: `where(row, key)` says for errors where a feature is, and ends with a blank.
    """

    op: str
    data: bytes
    keys: Sequence[bytes]
    kinds: Array
    lists: Spans
    row_name: Callable[[int], str]
    where: Callable[[int, bytes], str]

    def fail(self, row: int, key: bytes, problem: str, fix: str) -> errors.OpError:
        """An InvalidArgumentError about one feature of one row."""
        return invalid(f"{self.op}: {self.where(row, key)}{problem} {fix}")

    def column(self, number: int, dtype: DType) -> Column:
        """The values of key `number`.

        Raises:
          InvalidArgumentError: a row has another kind of values, or is broken.
        """
        key, kinds = self.keys[number], self.kinds[number]
        other = np.flatnonzero((kinds != wire.NONE) & (kinds != KINDS[dtype]))
        if other.size:
            row = int(other[0])
            raise self.fail(
                row, key,
                f"Data types don't match. Expected type: {NAMES[dtype]}, Actual type: "
                f"{OF_KIND[int(kinds[row])]}.",
                "Give the feature the dtype that was written.",
            )  # fmt: skip
        spans = Spans(self.lists.starts[number], self.lists.ends[number])
        try:
            return Column(*_READERS[dtype](self.data, spans))
        except BrokenMessageError as problem:
            raise self.fail(
                problem.row, key, "Can't parse serialized Example: its list is broken.",
                "Write it anew with tf.train.Example.",
            ) from None  # fmt: skip

    def dense(self, number: int, dtype: DType, dims: Sequence[int | None], default: Array) -> Array:
        """The values of a feature that has the same shape in each row: [N, *dims].

        Args:
          number: which key.
          dtype: its dtype.
          dims: the shape; the first size may be None, then rows are as long as the longest.
          default: what stands for a missing row, or without elements; the padding when the first
            size is None.
        """
        counts, values = self.column(number, dtype)
        if dims and dims[0] is None:
            return self._padded(number, counts, values, dims, default)
        key, rows = self.keys[number], len(counts)
        missing = self.kinds[number] == wire.NONE
        if missing.any() and not default.size:
            raise invalid(
                f"{self.op}: {self.row_name(int(missing.argmax()))}Feature: "
                f"{key.decode(errors='replace')} (data type: {NAMES[dtype]}) is required but could "
                "not be found. Give it a default_value, or write it into the example."
            )
        sizes = [n or 0 for n in dims]  # all are known here
        need = math.prod(sizes)
        wrong = np.flatnonzero(~missing & (counts != need))
        if wrong.size:
            row = int(wrong[0])
            raise self.fail(
                row, key,
                f"Number of {LIST_NAMES[dtype]} values != expected. Values size: {counts[row]} but "
                f"output shape: {d.text(tuple(dims))}.",
                "Give the feature the shape that was written, or use VarLenFeature.",
            )  # fmt: skip
        if not missing.any():
            return values.reshape(rows, *sizes)
        result = np.empty((rows, *sizes), values.dtype)
        result[missing] = default.reshape(sizes)
        result[~missing] = values.reshape(int((~missing).sum()), *sizes)
        return result

    def _padded(
        self, number: int, counts: Array, values: Array, dims: Sequence[int | None], default: Array
    ) -> Array:
        inner = [n or 0 for n in dims[1:]]
        stride = math.prod(inner)
        wrong = np.flatnonzero(counts % stride if stride else counts)
        if wrong.size:
            row = int(wrong[0])
            raise self.fail(
                row, self.keys[number],
                "Number of values is not a multiple of stride length. Saw "
                f"{counts[row]} values but output shape is: {d.text(tuple(dims))}.",
                "Give the feature the shape that was written.",
            )  # fmt: skip
        longest = int(counts.max(initial=0))
        bound(self.op, len(counts) * longest, len(self.data))
        result = np.full((len(counts), longest), default.reshape(-1)[0], values.dtype)
        result[np.arange(longest) < counts[:, None]] = values
        return result.reshape(len(counts), longest // stride if stride else 0, *inner)

    def sparse(self, number: int, dtype: DType) -> tuple[Array, Array, Array]:
        """Indices int64[M, 2], values [M] and dense shape int64[2] of a feature."""
        counts, values = self.column(number, dtype)
        shape = np.array([len(counts), counts.max(initial=0)], np.int64)
        return np.stack(_places(counts), 1), values, shape


def _places(counts: Array) -> tuple[Array, Array]:
    """For each value its row, and its place in the row."""
    rows = np.repeat(np.arange(len(counts)), counts)
    starts = np.cumsum(counts) - counts
    return rows, np.arange(len(rows)) - starts[rows]


def splits_of(counts: Array, dtype: DType) -> Array:
    """Row splits of row lengths, [N + 1]."""
    result = np.zeros(len(counts) + 1, dtype.numpy_dtype)
    np.cumsum(counts, out=result[1:])
    return result


LARGEST_FILL = 1 << 31  # elements of a padded result


def bound(op: str, elements: int, size: int) -> None:
    """Refuses padding that is out of proportion to what was given.

    Raises:
      ResourceExhaustedError: the result would have more than 2**31 elements.
    """
    if elements > LARGEST_FILL:
        raise errors.ResourceExhaustedError(
            None,
            None,
            f"{op}: expected a padded result of at most {LARGEST_FILL} elements, got {elements} "
            f"out of {size} bytes. Use RaggedFeature or VarLenFeature, or smaller batches.",
        )


def _strings(data: bytes, spans: Spans) -> tuple[Array, Array]:
    counts, found = wire.repeated(data, spans)
    return counts, _pieces(data, found.starts, found.ends)


def _pieces(data: bytes, starts: Array, ends: Array) -> Array:
    values = np.empty(len(starts), object)
    values[:] = [data[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    return values


Dense = tuple[bytes, DType, Sequence[int | None], Array]  # key, dtype, shape, default


def read_dense(data: bytes, spans: Spans, wanted: Sequence[Dense]) -> list[Array] | None:
    """Features of fixed shapes that every message has: each [N, *shape].

    None where a message lacks one or is wrong, which `read_features` and `Batch` see to.
    """
    keys = [each[0] for each in wanted]
    sizes = [math.prod(n for n in dims if n is not None) for _, _, dims, _ in wanted]
    if len(set(keys)) < len(keys) or any(None in dims for _, _, dims, _ in wanted):
        return None
    kinds = [KINDS[dtype] for _, dtype, _, _ in wanted]
    found = wire.dense(data, spans, 1, keys, kinds, sizes)
    if found is None:
        return None
    rows = len(spans.starts)
    return [
        (_pieces(data, *column.reshape(-1, 2).T) if kind == wire.STRINGS else column).reshape(
            rows, *dims
        )
        for column, kind, (_, _, dims, _) in zip(found, kinds, wanted, strict=True)
    ]


_READERS: dict[DType, Callable[[bytes, Spans], tuple[Array, Array]]] = {
    dtypes.string: _strings,
    dtypes.float32: wire.floats,
    dtypes.int64: wire.integers,
}


def read_features(
    op: str,
    data: bytes,
    spans: Spans,
    keys: Sequence[bytes],
    row_name: Callable[[int], str],
    where: Callable[[int, bytes], str],
) -> Batch:
    """The features in field 1 of each message (of an Example, or of a SequenceExample's context).

    Raises:
      InvalidArgumentError: a message is broken.
    """
    try:
        starts, ends = wire.map_values(data, spans, 1, keys)
        flat = Spans(starts.reshape(-1), ends.reshape(-1))
        kinds, lists = wire.kinds(data, flat)
    except BrokenMessageError as problem:
        row = problem.row % max(len(spans.starts), 1)
        raise broken(op, data[spans.starts[row] : spans.ends[row]], row_name(row)) from None
    shape = starts.shape
    lists = Spans(lists.starts.reshape(shape), lists.ends.reshape(shape))
    return Batch(op, data, keys, kinds.reshape(shape), lists, row_name, where)


def broken(op: str, message: bytes, row: str) -> errors.OpError:
    """The error for bytes that are no message."""
    return invalid(
        f"{op}: {row}Could not parse example input, value: {shown(message)}: expected a serialized "
        "tf.train.Example or SequenceExample. Was it compressed, or cut off?"
    )
