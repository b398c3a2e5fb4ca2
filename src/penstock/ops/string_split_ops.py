"""Operations that take strings apart into parts, or put neighbours together, by rows.

Rows of different lengths come as in a SparseTensor, or as values with row splits. The public
functions are in `string_split`.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core import native_strings
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.string_arrays import HOST, array_of, as_bytes, invalid
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
NO_GRADIENT = "strings have no gradient"


def _split_shape(separator: str) -> Callable[[ShapeContext], list[Dims]]:
    def rule(c: ShapeContext) -> list[Dims]:
        source, between = c.shape(0), c.shape(1)
        if source is not None and len(source) != 1:
            c.fail("an input of rank 1", f"input must be a vector, got shape: {d.text(source)}")
        if between:
            c.fail(
                f"a scalar {separator}",
                f"{separator} must be a scalar, got shape: {d.text(between)}",
            )
        return [(None, 2), (None,), (2,)]

    return rule


SPLIT = define_op(
    "StringSplit(input: string, delimiter: string; skip_empty: bool = True) -> indices: int64, "
    "values: string, shape: int64",
    shape=_split_shape("delimiter"),
    doc="Each string split where one of some characters stands, as a sparse matrix.",
).not_differentiable(NO_GRADIENT)
SPLIT_V2 = define_op(
    "StringSplitV2(input: string, sep: string; maxsplit: int = -1) -> indices: int64, values: "
    "string, shape: int64",
    shape=_split_shape("sep"),
    doc="Each string split where a text stands, or at white space, as a sparse matrix.",
).not_differentiable(NO_GRADIENT)


def _as_sparse(rows: list[list[bytes]]) -> list[Array]:
    values = [part for row in rows for part in row]
    lengths = np.array([len(row) for row in rows], np.int64)
    return _placed(array_of(values, (len(values),)), lengths)


def _placed(values: Array, lengths: Array) -> list[Array]:
    """A sparse matrix whose rows are the next `lengths` values."""
    indices = np.empty((len(values), 2), np.int64)
    starts = np.cumsum(lengths) - lengths
    indices[:, 0] = np.repeat(np.arange(len(lengths)), lengths)
    indices[:, 1] = np.arange(len(values)) - np.repeat(starts, lengths)
    shape = np.array([len(lengths), lengths.max(initial=0)], np.int64)
    return [indices, values, shape]


@host_kernel(SPLIT, limit=HOST)
def _split(input: Array, delimiter: Array, *, skip_empty: bool) -> list[Array]:
    marks = delimiter.item()
    found = native_strings.split(input, marks, True) if skip_empty and len(marks) == 1 else None
    if found is not None:
        return _placed(*found)

    def parts(text: bytes) -> list[bytes]:
        if not text:
            return []
        if not marks:
            return [text[i : i + 1] for i in range(len(text))]
        for mark in marks[1:]:
            text = text.replace(bytes([mark]), marks[:1])
        found = text.split(marks[:1])
        return [part for part in found if part] if skip_empty else found

    return _as_sparse([parts(text) for text in input.tolist()])


@host_kernel(SPLIT_V2, limit=HOST)
def _split_v2(input: Array, sep: Array, *, maxsplit: int) -> list[Array]:
    between = sep.item()
    found = native_strings.split(input, between, False) if maxsplit < 0 else None
    if found is not None:
        return _placed(*found)
    if between or maxsplit < 0:
        rows = [text.split(between or None, maxsplit) for text in input.tolist()]
    elif maxsplit == 0:
        rows = [[text] for text in input.tolist()]
    else:
        rows = [_split_at_space(text, maxsplit) for text in input.tolist()]
    return _as_sparse(rows)


def _split_at_space(text: bytes, most: int) -> list[bytes]:
    """Split at most so often; what follows the last split counts, though it be empty."""
    parts = text.split(None, most)
    return [*parts, b""] if len(parts) == most else parts


# ---- n-grams ------------------------------------------------------------------------------------


def _ngrams_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 1, "data")
    return [(None,), c.rank(1, 1, "data_splits")]


NGRAMS = define_op(
    "StringNGrams(data: string, data_splits: Tsplits; separator: string, ngram_widths: list(int) >="
    " 0, left_pad: string, right_pad: string, pad_width: int, preserve_short_sequences: bool, "
    "Tsplits: {int32, int64} = int64) -> ngrams: string, ngrams_splits: Tsplits",
    shape=_ngrams_shape,
    doc="Neighbours in each row joined, so many at a time.",
).not_differentiable(NO_GRADIENT)


@host_kernel(NGRAMS, limit=HOST)
def _ngrams(
    data: Array,
    data_splits: Array,
    *,
    separator: Any,
    ngram_widths: Sequence[int],
    left_pad: Any,
    right_pad: Any,
    pad_width: int,
    preserve_short_sequences: bool,
    Tsplits: DType,
) -> list[Array]:
    if any(width <= 0 for width in ngram_widths):
        raise invalid(
            f"StringNGrams: ngram_widths must contain positive values, got {list(ngram_widths)}."
        )
    for what, number in [*(("ngram_widths", w) for w in ngram_widths), ("pad_width", pad_width)]:
        if not -(1 << 31) <= number < 1 << 31:
            raise invalid(
                f"StringNGrams: Attr {what} has value {number} out of range for an int32. Give a"
                " smaller one."
            )
    _check_splits(data_splits, data.size)
    pad = (as_bytes(left_pad), as_bytes(right_pad), pad_width)
    given = (ngram_widths, as_bytes(separator), pad, preserve_short_sequences)
    found = None
    if data_splits.size:
        found = native_strings.ngrams(data, data_splits, *given)
    if found is None:
        found = _ngrams_of_rows(data, data_splits, *given)
    ends = np.zeros(data_splits.size, Tsplits.numpy_dtype)
    np.add.accumulate(found[1], dtype=np.int64, out=ends[1:])
    return [found[0], ends]


def _ngrams_of_rows(
    data: Array,
    splits: Array,
    widths: Sequence[int],
    between: bytes,
    pad: tuple[bytes, bytes, int],
    keep_short: bool,
) -> tuple[Array, list[int]]:
    """Neighbours of each row joined, and how many each row has."""
    texts, (left, right, most) = data.tolist(), pad
    result: list[bytes] = []
    counts: list[int] = []
    for begin, end in itertools.pairwise(splits.tolist()):
        row, before = texts[begin:end], len(result)
        for width in widths:
            pads = width - 1 if most < 0 else min(most, width - 1)
            padded = [left] * pads + row + [right] * pads if pads else row
            count = len(padded) - width + 1
            result += [between.join(padded[i : i + width]) for i in range(count)]
        if keep_short and row and len(result) == before:
            pads = max(most, 0)
            result.append(between.join([left] * pads + row + [right] * pads))
        counts.append(len(result) - before)
    return array_of(result, (len(result),)), counts


def _check_splits(splits: Array, size: int) -> None:
    falls = splits[1:] < splits[:-1]
    if not splits.size or (splits[0] == 0 and splits[-1] == size and not falls.any()):
        return
    if splits[0] != 0:
        raise invalid(f"StringNGrams: First split value must be 0, got {splits[0]}.")
    wrong = np.flatnonzero(falls | (splits[1:] > size))
    if wrong.size:
        before, split = splits[wrong[0]], splits[wrong[0] + 1]
        raise invalid(f"StringNGrams: Invalid split value {split}, must be in [{before}, {size}].")
    raise invalid(
        f"StringNGrams: Last split value must be data size. Expected {size}, got {splits[-1]}."
    )
