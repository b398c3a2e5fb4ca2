"""Encoded text as code points, which rows of a RaggedTensor hold, and back."""

from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops.array_basics import reshape
from penstock.ops.array_shape import expand_dims
from penstock.ops.array_shape import size as size_of
from penstock.ops.math_range import range as range_of
from penstock.ops.ragged_tensor import RaggedTensor
from penstock.ops.string_rows import over_rows
from penstock.ops.string_unicode_ops import (
    DECODE,
    DECODE_WITH_OFFSETS,
    ENCODE,
    SCRIPT,
    TRANSCODE,
)
from penstock.types import dtypes as dt


def _attrs(errors: str, replacement_char: int) -> dict[str, Any]:
    return {"errors": errors, "replacement_char": replacement_char}


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of each string.

    Args:
      input: string or ragged string, any shape of known rank.
      input_encoding: how the strings are encoded, such as "UTF-8".
      errors: "replace", "ignore" or "strict": what happens to bytes that are no characters.
      replacement_char: the code point that stands for them.
      replace_control_characters: whether it stands for U+0000 to U+001F too.
      name: the name in a graph.

    Returns:
      int32, a RaggedTensor of one more dimension; for a scalar a vector.

    Raises:
      InvalidArgumentError: a malformed string when errors is "strict"; an unknown encoding.

    Example:
      >>> unicode_decode("ab", "UTF-8").numpy().tolist()
      [97, 98]
    """
    attrs = {**_attrs(errors, replacement_char), "input_encoding": input_encoding}
    attrs["replace_control_characters"] = replace_control_characters

    def decode(text: Tensor) -> list[RaggedTensor]:
        splits, points = execute(DECODE, (text,), attrs, name)
        return [RaggedTensor.from_row_splits(points, splits, validate=False)]

    return over_rows(input, decode)[0]


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of each string, and the byte at which each begins.

    Args:
      input: string or ragged string, any shape of known rank.
      input_encoding: how the strings are encoded, such as "UTF-8".
      errors: "replace", "ignore" or "strict": what happens to bytes that are no characters.
      replacement_char: the code point that stands for them.
      replace_control_characters: whether it stands for U+0000 to U+001F too.
      name: the name in a graph.

    Returns:
      The code points, int32, and the offsets, int64: each a RaggedTensor of one more dimension; for
      a scalar a vector.

    Raises:
      InvalidArgumentError: a malformed string when errors is "strict"; an unknown encoding.
    """
    attrs = {**_attrs(errors, replacement_char), "input_encoding": input_encoding}
    attrs["replace_control_characters"] = replace_control_characters

    def decode(text: Tensor) -> list[RaggedTensor]:
        splits, points, starts = execute(DECODE_WITH_OFFSETS, (text,), attrs, name)
        rows = RaggedTensor.from_row_splits(points, splits, validate=False)
        return [rows, rows.with_values(starts)]

    return tuple(over_rows(input, decode))


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """Splits each string into characters.

    Args:
      input: string or ragged string, any shape of known rank.
      input_encoding: how the strings are encoded: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: "replace", "ignore" or "strict": what happens to bytes that are no characters.
      replacement_char: the code point that stands for them.
      name: the name in a graph.

    Returns:
      A RaggedTensor of one more dimension, of strings in the same encoding; for a scalar a vector.

    Raises:
      InvalidArgumentError: a malformed string when errors is "strict".

    Example:
      >>> unicode_split("ab", "UTF-8").numpy().tolist()
      [b'a', b'b']
    """
    points = unicode_decode(input, input_encoding, errors, replacement_char, False, name)
    return _characters(points, input_encoding, errors, replacement_char)


def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """Splits each string into characters, and says at which byte each begins.

    Args:
      input: string or ragged string, any shape of known rank.
      input_encoding: how the strings are encoded: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: "replace", "ignore" or "strict": what happens to bytes that are no characters.
      replacement_char: the code point that stands for them.
      name: the name in a graph.

    Returns:
      The characters as of `unicode_split`, and their offsets, int64 of the same shape.

    Raises:
      InvalidArgumentError: a malformed string when errors is "strict".
    """
    points, starts = unicode_decode_with_offsets(
        input, input_encoding, errors, replacement_char, False, name
    )
    return _characters(points, input_encoding, errors, replacement_char), starts


def _characters(points: Any, encoding: str, errors: str, replacement_char: int) -> Any:
    """Each code point as a string of its own."""
    if isinstance(points, RaggedTensor):
        flat = _characters(points.flat_values, encoding, errors, replacement_char)
        return points.with_flat_values(flat)
    splits = range_of(size_of(points, dt.int64) + 1)
    attrs = {**_attrs(errors, replacement_char), "output_encoding": encoding}
    return execute(ENCODE, (points, splits), attrs)


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """A string of each row of code points.

    Args:
      input: int32 or ragged int32, [..., N], of known rank.
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: "replace", "ignore" or "strict": what happens to numbers that are no characters.
      replacement_char: the code point that stands for them.
      name: the name in a graph.

    Returns:
      Strings, of one dimension less.

    Raises:
      ValueError: `input` is a scalar, or of unknown rank.
      InvalidArgumentError: a number is no character when errors is "strict".

    Example:
      >>> unicode_encode([72, 105], "UTF-8").numpy()
      b'Hi'
    """
    points = input
    if not isinstance(input, RaggedTensor):
        points = convert_to_tensor(input)
    rank = points.shape.rank
    if rank is None:
        raise ValueError("Rank of input_tensor must be statically known. Use set_shape.")
    if rank == 0:
        raise ValueError("input_tensor's rank must be at least 1, got a scalar. Give a vector.")
    attrs = {**_attrs(errors, replacement_char), "output_encoding": output_encoding}

    def encode(rows: RaggedTensor) -> Any:
        if isinstance(rows.values, RaggedTensor):
            return rows.with_values(encode(rows.values))
        if len(rows.values.shape) > 1:  # rows of rows of one length
            inner = RaggedTensor.from_tensor(rows.values)
            return rows.with_values(encode(inner))
        return execute(ENCODE, (rows.values, rows.row_splits), attrs, name)

    if isinstance(points, RaggedTensor):
        return encode(points)
    if rank == 1:
        return reshape(encode(RaggedTensor.from_tensor(expand_dims(points, 0))), [])
    if rank == 2:
        return encode(RaggedTensor.from_tensor(points))
    return encode(RaggedTensor.from_tensor(points, ragged_rank=rank - 1)).to_tensor(b"")


def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    r"""Each string in another encoding.

    Args:
      input: string, any shape.
      input_encoding: how the strings are encoded, such as "UTF-8".
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: "replace", "ignore" or "strict": what happens to bytes that are no characters.
      replacement_char: the code point that stands for them.
      replace_control_characters: whether it stands for U+0000 to U+001F too.
      name: the name in a graph.

    Returns:
      Strings of the shape of `input`.

    Raises:
      InvalidArgumentError: a malformed string when errors is "strict"; an unknown encoding.

    Example:
      >>> unicode_transcode("ab", "UTF-8", "UTF-16-BE").numpy()
      b'\x00a\x00b'
    """
    attrs = {
        **_attrs(errors, replacement_char),
        "input_encoding": input_encoding,
        "output_encoding": output_encoding,
        "replace_control_characters": replace_control_characters,
    }
    return execute(TRANSCODE, (input,), attrs, name)


def unicode_script(input: Any, name: str | None = None) -> Any:
    """The number of the script of each code point, as ICU counts them.

    Args:
      input: int32, any shape: code points.
      name: the name in a graph.

    Returns:
      int32 of the shape of `input`; -1 for what is no code point.

    Example:
      >>> unicode_script([97, 945]).numpy().tolist()
      [25, 14]
    """
    return execute(SCRIPT, (input,), None, name)
