"""What `strings.join`, `reduce_join` and `format` do with ragged tensors."""

import functools
from typing import Any

from penstock.core import dispatch
from penstock.ops.array_basics import reshape
from penstock.ops.array_select import where
from penstock.ops.array_shape import size
from penstock.ops.ragged_class import RaggedTensor
from penstock.ops.ragged_elementwise import binary
from penstock.ops.ragged_reduce import Kind, axes_of, keep_axes, over
from penstock.ops.string_basics import join as join_tensors
from penstock.ops.string_joining import reduce_join as reduce_tensors
from penstock.ops.string_joining import unsorted_segment_join
from penstock.ops.string_numbers import as_string
from penstock.ops.text_format import string_format
from penstock.types import dtypes as dt


@dispatch.handler("string_basics.join", RaggedTensor)
def join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """`tf.strings.join` where an input is ragged: they broadcast, as element-wise functions do."""

    def two(x: Any, y: Any) -> Any:
        return binary(lambda a, b: join_tensors([a, b], separator, name), x, y)

    return functools.reduce(two, inputs)


@dispatch.handler("string_joining.reduce_join", RaggedTensor)
def reduce_join(
    inputs: RaggedTensor,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """`tf.strings.reduce_join` of ragged strings: along the axes, the innermost first."""
    kind = Kind(
        lambda data, ids, count: unsorted_segment_join(data, ids, count, separator, name),
        lambda data, along: reduce_tensors(data, along, False, separator, name),
    )
    rank = inputs.shape.rank
    axes = axes_of(axis, rank)
    joined = over(kind, inputs, axes)
    return keep_axes(joined, axes, rank) if keepdims else joined


@dispatch.handler("text_format.string_format", RaggedTensor)
def format_ragged(
    template: Any, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Any:
    """`tf.strings.format` where an input is ragged: its rows in brackets, with commas."""
    if summarize != -1 and summarize < 1:
        raise ValueError(f"Expected summarize to be -1 or a positive int, got {summarize}.")
    given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    pieces = template.split(placeholder)
    if len(pieces) != len(given) + 1:
        raise ValueError(
            f"The template expects {len(pieces) - 1} tensors, but the inputs only has {len(given)}."
            f" Give one for each {placeholder!r}."
        )
    texts = [
        _text(v, summarize)
        if isinstance(v, RaggedTensor)
        else string_format(placeholder, v, placeholder, summarize)
        for v in given
    ]
    parts = [pieces[0]]
    for text, piece in zip(texts, pieces[1:], strict=True):
        parts += [text, piece]
    return join_tensors(parts, "", name)


def _text(x: RaggedTensor, summarize: int) -> Any:
    if x.shape.rank is None:
        raise ValueError(
            "format: expected a ragged tensor of known rank, got one of unknown rank. Give the "
            "RaggedTensorSpec a shape."
        )
    rows = _row_texts(x, summarize)
    whole = RaggedTensor.from_row_lengths(rows, reshape(size(rows), [1]), validate=False)
    return _bracketed(whole, summarize)[0]


def _row_texts(x: RaggedTensor, summarize: int) -> Any:
    """The text of each row, a vector of strings."""
    values = x.values
    if not isinstance(values, RaggedTensor) and values.shape.rank != 1:
        values = RaggedTensor.from_tensor(values)
    if isinstance(values, RaggedTensor):
        texts = _row_texts(values, summarize)
    elif values.dtype is dt.string:
        texts = join_tensors(["'", values, "'"])
    else:
        texts = as_string(values)
    return _bracketed(x.with_values(texts), summarize)


def _bracketed(rows: RaggedTensor, summarize: int) -> Any:
    """Each row of strings as one, with dots in the middle of a long one."""
    text = reduce_join(rows, -1, separator=", ")
    if summarize > 0:
        ends = (rows[:, :summarize], rows[:, -summarize:])
        head, tail = (reduce_join(end, -1, separator=", ") for end in ends)
        long = rows.row_lengths() > 2 * summarize
        text = where(long, join_tensors([head, ", ..., ", tail]), text)
    return join_tensors(["[", text, "]"])
