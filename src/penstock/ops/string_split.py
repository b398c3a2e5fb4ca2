"""Strings taken apart, with a RaggedTensor for what has different lengths; n-grams of rows."""

from typing import Any

from penstock.core.composite import SparseTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import EagerTensor, Tensor
from penstock.ops.array_shape import expand_dims
from penstock.ops.composing import composed
from penstock.ops.ragged_tensor import RaggedTensor
from penstock.ops.string_rows import as_rows, as_strings, over_rows
from penstock.ops.string_split_ops import NGRAMS, SPLIT, SPLIT_V2
from penstock.ops.string_to_hash import either
from penstock.types import dtypes as dt

_ENDS = 2  # left and right
RESULT_TYPES = ("SparseTensor", "RaggedTensor")


def _rows(text: Tensor, indices: Any, values: Any, shape: Any) -> RaggedTensor:
    """The parts of each string of a vector, as rows: their number is known where that is."""
    known = text.dims[0] if text.dims else None
    nrows = shape[0] if known is None else known
    return RaggedTensor.from_value_rowids(values, indices[:, 0], nrows=nrows, validate=False)


@composed("StringSplit", result="StringSplitV2")
def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """Splits each string.

    Args:
      input: string or ragged string, any shape; a vector if the rank is unknown.
      sep: the text that stands between parts; white space by default, of any length, and at the
        ends too.
      maxsplit: the most splits of a string; -1 for all.
      name: the name in a graph.

    Returns:
      A RaggedTensor of one more dimension; for a scalar a string vector.

    Example:
      >>> split(["hello world", "a b c"]).to_list()
      [[b'hello', b'world'], [b'a', b'b', b'c']]
    """
    between = convert_to_tensor("" if sep is None else sep, dt.string)

    def parts(text: Tensor) -> list[RaggedTensor]:
        found = execute(SPLIT_V2, (text, between), {"maxsplit": maxsplit}, name)
        return [_rows(text, *found)]

    text = as_strings(input)
    if isinstance(text, RaggedTensor):
        return text.with_flat_values(split(text.flat_values, sep, maxsplit))
    if isinstance(input, Tensor):
        text = convert_to_tensor(input, dt.string)
    return parts(text)[0] if text.dims is None else over_rows(text, parts)[0]


def split_v1(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """Splits each string; see `tf.strings.split`.

    Args:
      input: string or ragged string, any shape of known rank.
      sep: the text that stands between parts; white space by default.
      maxsplit: the most splits of a string; -1 for all.
      result_type: "SparseTensor" or "RaggedTensor".
      source: the same as `input`.
      name: the name in a graph.

    Returns:
      A tensor of that kind, of one more dimension.

    Raises:
      ValueError: another `result_type`, or both names of the strings are given.
    """
    text = as_strings(either(input, source, "input", "source"))
    _check_result_type(result_type)
    if not isinstance(text, RaggedTensor) and text.dims == ():
        text = expand_dims(text, 0)
    found = split(text, sep, maxsplit, name)
    return found if result_type == "RaggedTensor" else found.to_sparse()


def _check_result_type(result_type: str) -> None:
    if result_type not in RESULT_TYPES:
        raise ValueError(
            f"result_type must be 'RaggedTensor' or 'SparseTensor', got {result_type!r}."
        )


@composed("StringSplit", result="StringSplit")
def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Splits each string where one of some characters stands.

    Args:
      source: string[N].
      sep: the characters; " " by default. Without any, strings are split into bytes.
      skip_empty: whether empty parts are left out.
      delimiter: the same as `sep`.
      result_type: "SparseTensor" or "RaggedTensor".
      name: the name in a graph.

    Returns:
      string[N, ...] of that kind.

    Raises:
      ValueError: another `result_type`, or both names of the separator are given.
    """
    between = either(sep, delimiter, "sep", "delimiter")
    attrs = {"skip_empty": skip_empty}
    marks = convert_to_tensor(" " if between is None else between, dt.string)
    _check_result_type(result_type)
    text = convert_to_tensor(source)
    parts = execute(SPLIT, (text, marks), attrs, name)
    if result_type == "RaggedTensor":
        return _rows(text, *parts)
    return SparseTensor(*parts)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """Splits each string into bytes.

    Args:
      input: string or ragged string, any shape of known rank.
      name: the name in a graph.

    Returns:
      A RaggedTensor of one more dimension; for a scalar a string vector.

    Example:
      >>> bytes_split("hello").numpy().tolist()
      [b'h', b'e', b'l', b'l', b'o']
    """

    def parts(text: Tensor) -> list[RaggedTensor]:
        return [_rows(text, *execute(SPLIT, (text, b""), {"skip_empty": False}, name))]

    text = as_rows(input)
    if isinstance(text, EagerTensor):
        text = convert_to_tensor(text, dt.string)
    return over_rows(text, parts)[0]


# ---- n-grams ------------------------------------------------------------------------------------


def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Joins neighbours in each row, so many at a time.

    Args:
      data: string or ragged string of rank 1 or more.
      ngram_width: how many, or a list of such numbers, which come one after another.
      separator: what stands between them.
      pad_values: what rows are padded with at both ends: a text, or a pair of left and right; rows
        are not padded by default.
      padding_width: how much, at most one less than the width; as much by default.
      preserve_short_sequences: whether a row too short for any gives itself as one.
      name: the name in a graph.

    Returns:
      A RaggedTensor if `data` is one, else a Tensor; string, the last dimension of n-grams.

    Raises:
      ValueError, TypeError: widths or paddings that make no sense, or `data` is a scalar.

    Example:
      >>> ngrams(["a", "b", "c"], 2).numpy().tolist()
      [b'a b', b'b c']
    """
    left, right, pad = _padding(pad_values, padding_width)
    widths = list(ngram_width) if isinstance(ngram_width, (list, tuple)) else [ngram_width]
    if any(width < 1 for width in widths):
        raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}.")
    text = as_strings(data)
    attrs = {
        "separator": separator,
        "ngram_widths": widths,
        "left_pad": left,
        "right_pad": right,
        "pad_width": pad,
        "preserve_short_sequences": preserve_short_sequences,
    }
    rank = text.shape.rank
    if rank == 0:
        raise ValueError("Data must have rank>0, got a scalar. Give a vector of strings.")
    if isinstance(text, RaggedTensor):
        return _ragged_ngrams(text, attrs, name)
    if rank is None:
        raise ValueError("Data must have rank>0, got a tensor of unknown rank. Use set_shape.")
    if rank == 1:
        alone = RaggedTensor.from_tensor(expand_dims(text, 0))
        dense: Any = _ragged_ngrams(alone, attrs, name).to_tensor(b"")
        return dense[0]
    rows = RaggedTensor.from_tensor(text, ragged_rank=rank - 1)
    return _ragged_ngrams(rows, attrs, name).to_tensor(b"")


def _ragged_ngrams(rows: RaggedTensor, attrs: dict[str, Any], name: str | None) -> RaggedTensor:
    if isinstance(rows.values, RaggedTensor):
        return rows.with_values(_ragged_ngrams(rows.values, attrs, name))
    values, splits = execute(NGRAMS, (rows.values, rows.row_splits), attrs, name)
    return RaggedTensor.from_row_splits(values, splits, validate=False)


def _padding(values: Any, width: int | None) -> tuple[Any, Any, int]:
    """What stands left and right, and how much of it: -1 for as much as fits."""
    if values is None:
        if width is not None:
            raise ValueError("pad_values must be provided if padding_width is set.")
        return "", "", 0
    if width is not None and width < 1:
        raise ValueError(f"padding_width must be greater than 0, got {width}.")
    pad = -1 if width is None else width
    if isinstance(values, (str, bytes)):
        return values, values, pad
    if isinstance(values, (list, tuple)) and len(values) >= _ENDS:
        return values[0], values[1], pad
    raise TypeError(f"pad_values must be a string, tuple of strings, or None, got {values!r}.")
