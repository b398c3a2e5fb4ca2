"""Operations on encoded text: decoding to code points, encoding, from one encoding to another.

Names of encodings are those that Python's codecs know, which cover ICU's common ones. The public
functions are in `string_unicode`.
"""

import codecs
import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from penstock.core import native_strings, shapes
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.string_arrays import HOST, array_of, as_text, character_starts, each, invalid
from penstock.ops.string_scripts import script_of
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
NO_GRADIENT = "text has no gradient"
LAST = 0x10FFFF
_FIRST_PRINTABLE = 0x20  # what comes before are the C0 control characters
_ATTRS = (
    "input_encoding: string, errors: {'strict', 'replace', 'ignore'} = 'replace', replacement_char:"
    " int = 65533, replace_control_characters: bool = False, Tsplits: {int32, int64} = int64"
)


def _decode_shape(count: int) -> Callable[[ShapeContext], list[Dims]]:
    def rule(c: ShapeContext) -> list[Dims]:
        dims = c.shape(0)
        total = d.num_elements(dims)
        return [(None if total is None else total + 1,), *([(None,)] * (count - 1))]

    return rule


DECODE = define_op(
    f"UnicodeDecode(input: string; {_ATTRS}) -> row_splits: Tsplits, char_values: int32",
    shape=_decode_shape(2),
    doc="The code points of each string, with row splits.",
).not_differentiable(NO_GRADIENT)
DECODE_WITH_OFFSETS = define_op(
    f"UnicodeDecodeWithOffsets(input: string; {_ATTRS}) -> row_splits: Tsplits, char_values: "
    "int32, char_to_byte_starts: int64",
    shape=_decode_shape(3),
    doc="The code points of each string and the bytes where they begin, with row splits.",
).not_differentiable(NO_GRADIENT)
TRANSCODE = define_op(
    "UnicodeTranscode(input: string; input_encoding: string, output_encoding: {'UTF-8', "
    "'UTF-16-BE', 'UTF-32-BE'}, errors: {'strict', 'replace', 'ignore'} = 'replace', "
    "replacement_char: int = 65533, replace_control_characters: bool = False) -> output: string",
    shape=shapes.same,
    doc="Each string in another encoding.",
).not_differentiable(NO_GRADIENT)
SCRIPT = define_op(
    "UnicodeScript(input: int32) -> output: int32",
    shape=shapes.same,
    doc="The number of the script of each code point, as ICU counts them; -1 for none.",
).not_differentiable(NO_GRADIENT)


# ---- encodings ----------------------------------------------------------------------------------

_NOT_TEXT = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf-8-sig"}
_ICU_NAMES = {"ibm-37": "cp037"}
_MARKS = {
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}


@functools.cache
def codec_of(name: str) -> str:
    """Python's codec for an encoding.

    Raises:
      InvalidArgumentError: there is none of that name.
    """
    try:
        found = codecs.lookup(_ICU_NAMES.get(name.lower(), name)) if name else None
    except (LookupError, ValueError):
        found = None
    if found is None or found.name in _NOT_TEXT or not found._is_text_encoding:
        raise invalid(
            f"Could not create converter for input encoding: {name!r}. Expected a name such as"
            " 'UTF-8', 'UTF-16-BE' or 'ISO-8859-1'."
        )
    return found.name


class Characters(NamedTuple):
    """The characters of a string.

    Attributes:
      points: code points; U+FFFD where the bytes are none.
      starts: the byte where each begins.
      bad: the positions of those that stand for malformed bytes.
    """

    points: list[int]
    starts: list[int]
    bad: list[int]


def characters(data: bytes, codec: str) -> Characters:
    """Decodes a string; malformed bytes become U+FFFD, one for each that may begin a character."""
    position = 0
    if codec in _MARKS:  # without a mark the bytes are big-endian
        mark, codec = next(
            ((m, c) for m, c in _MARKS[codec] if data.startswith(m)), (b"", _MARKS[codec][1][1])
        )
        position = len(mark)
    found = Characters([], [], [])
    while position < len(data):
        rest = data[position:] if position else data
        try:
            _append(found, rest.decode(codec), codec, position)
            break
        except UnicodeDecodeError as problem:
            start, end = problem.start, max(problem.end, problem.start + 1)
        _append(found, rest[:start].decode(codec), codec, position)
        found.bad.append(len(found.points))
        found.points.append(0xFFFD)
        found.starts.append(position + start)
        position += end
    return found


def _append(found: Characters, text: str, codec: str, position: int) -> None:
    points = list(map(ord, text))
    found.points.extend(points)
    sizes = _sizes(points, text, codec)
    found.starts.extend(itertools.accumulate(sizes[:-1], initial=position) if points else ())


def _sizes(points: list[int], text: str, codec: str) -> list[int]:
    """The bytes of each character."""
    if codec == "utf-8":
        return [1 if p < 0x80 else 2 if p < 0x800 else 3 if p < 0x10000 else 4 for p in points]
    if codec.startswith("utf-16"):
        return [2 if p < 0x10000 else 4 for p in points]
    if codec.startswith("utf-32"):
        return [4] * len(points)
    if text.isascii():
        return [1] * len(points)
    return [len(character.encode(codec)) for character in text]


def _decoded(
    data: bytes, codec: str, policy: str, replacement: int, replace_controls: bool
) -> tuple[list[int], list[int]]:
    """Code points and where they begin, errors and control characters dealt with."""
    points, starts, bad = characters(data, codec)
    if bad and policy == "strict":
        raise invalid(
            f"Invalid formatting on input string: expected {codec}, got other bytes at"
            f" {starts[bad[0]]} of {len(data)}. Set errors='replace' or 'ignore'."
        )
    odd = set(bad)
    if replace_controls:
        odd.update(i for i, p in enumerate(points) if p < _FIRST_PRINTABLE)
    if policy == "ignore" and odd:
        kept = [i for i in range(len(points)) if i not in odd]
        return [points[i] for i in kept], [starts[i] for i in kept]
    for i in odd:
        points[i] = replacement
    return points, starts


def _check_replacement(replacement: int) -> None:
    if not 0 <= replacement <= LAST:
        raise invalid(
            f"replacement_char out of unicode codepoint range: expected 0 to {LAST}, got"
            f" {replacement}."
        )


# ---- decoding -----------------------------------------------------------------------------------


def _decode_all(
    input: Array,
    input_encoding: Any,
    errors: Any,
    replacement_char: int,
    replace_control_characters: bool,
    Tsplits: DType,
) -> list[Array]:
    codec, policy = codec_of(as_text(input_encoding)), as_text(errors)
    _check_replacement(replacement_char)
    if codec == "utf-8" and not replace_control_characters:
        found = native_strings.characters(input.reshape(-1))
        if found is None:
            found = _decode_valid(input.reshape(-1).tolist())
        if found is not None:
            return [found[0].astype(Tsplits.numpy_dtype, copy=False), *found[1:]]
    points: list[int] = []
    starts: list[int] = []
    ends = [0]
    for data in input.reshape(-1).tolist():
        row, begin = _decoded(data, codec, policy, replacement_char, replace_control_characters)
        points += row
        starts += begin
        ends.append(len(points))
    splits = np.array(ends, Tsplits.numpy_dtype)
    return [splits, np.array(points, np.int32), np.array(starts, np.int64)]


def _decode_valid(rows: list[bytes]) -> tuple[Array, Array, Array] | None:
    """Row splits, code points and offsets of UTF-8, all rows at once; None if any is malformed."""
    joined = b"".join(rows)
    try:
        text = joined.decode("utf-8")
    except UnicodeDecodeError:
        return None
    begins = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=begins[1:])
    data = np.frombuffer(joined, np.uint8)
    within = begins[begins < len(joined)]
    if ((data[within] & 0xC0) == 0x80).any():
        return None  # a row begins in the middle of a character
    starts = character_starts(joined)
    splits = np.searchsorted(starts, begins)
    points = np.frombuffer(text.encode("utf-32-le"), "<i4").astype(np.int32, copy=False)
    return splits, points, starts - np.repeat(begins[:-1], np.diff(splits))


@host_kernel(DECODE, limit=HOST)
def _decode(
    input: Array,
    *,
    input_encoding: Any,
    errors: Any,
    replacement_char: int,
    replace_control_characters: bool,
    Tsplits: DType,
) -> list[Array]:
    found = _decode_all(
        input, input_encoding, errors, replacement_char, replace_control_characters, Tsplits
    )
    return found[:2]


@host_kernel(DECODE_WITH_OFFSETS, limit=HOST)
def _decode_with_offsets(
    input: Array,
    *,
    input_encoding: Any,
    errors: Any,
    replacement_char: int,
    replace_control_characters: bool,
    Tsplits: DType,
) -> list[Array]:
    return _decode_all(
        input, input_encoding, errors, replacement_char, replace_control_characters, Tsplits
    )


# ---- encoding -----------------------------------------------------------------------------------


def _is_character(point: int) -> bool:
    return 0 <= point <= LAST and not 0xD800 <= point <= 0xDFFF


def _encoded(points: list[int], encoding: str) -> bytes:
    text = "".join(chr(p) if _is_character(p) else "\ufffd" for p in points)
    return text.encode(encoding)


@host_kernel(TRANSCODE, limit=HOST)
def _transcode(
    input: Array,
    *,
    input_encoding: Any,
    output_encoding: Any,
    errors: Any,
    replacement_char: int,
    replace_control_characters: bool,
) -> Array:
    codec, policy, wanted = (
        codec_of(as_text(input_encoding)),
        as_text(errors),
        as_text(output_encoding),
    )
    _check_replacement(replacement_char)
    if codec == "utf-8" and not replace_control_characters:
        found = native_strings.transcoded(input, wanted)
        if found is not None:
            return found

    plain = codec not in _MARKS

    def one(data: bytes) -> bytes:
        if plain:
            try:
                text = data.decode(codec)
                if not replace_control_characters or min(text, default=" ") >= " ":
                    return text.encode(wanted)
            except UnicodeError:
                pass  # a closer look at what is wrong
        points, _ = _decoded(data, codec, policy, replacement_char, replace_control_characters)
        return _encoded(points, wanted)

    return each(one, input)


def _encode_shape(c: ShapeContext) -> Dims:
    c.rank(0, 1, "input_values")
    splits = c.rank(1, 1, "input_splits")
    if splits is None or splits[0] is None:
        return (None,)
    if splits[0] == 0:
        c.fail("at least one row split", "input_splits should contain elements, but has none")
    return (splits[0] - 1,)


ENCODE = define_op(
    "UnicodeEncode(input_values: int32, input_splits: Tsplits; errors: {'ignore', 'replace', "
    "'strict'} = 'replace', output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}, replacement_char:"
    " int = 65533, Tsplits: {int32, int64} = int64) -> output: string",
    shape=_encode_shape,
    doc="A string of each row of code points.",
).not_differentiable(NO_GRADIENT)


@host_kernel(ENCODE, limit=HOST)
def _encode(
    input_values: Array,
    input_splits: Array,
    *,
    errors: Any,
    output_encoding: Any,
    replacement_char: int,
) -> Array:
    _check_replacement(replacement_char)
    found = native_strings.texts_of(input_values, input_splits, as_text(output_encoding))
    if found is not None:
        return found
    splits = input_splits
    if splits[0] != 0 or splits[-1] != input_values.size:
        raise invalid(
            f"UnicodeEncode: First value in input_splits must be zero, got {splits[0]}; Last value"
            f" in input_splits must be equal to length of input_tensor, {input_values.size}, got"
            f" {splits[-1]}."
        )
    if (splits[1:] < splits[:-1]).any():
        raise invalid(
            "UnicodeEncode: Values in input_splits must be equal or in ascending order, got"
            f" {splits[:8].tolist()}."
        )
    policy, wanted, points = as_text(errors), as_text(output_encoding), input_values
    bad = (points < 0) | (points > LAST) | ((points >= 0xD800) & (points <= 0xDFFF))
    if bad.any():
        if policy == "strict":
            raise invalid(
                "UnicodeEncode: Code point is out of range for Unicode, or is a surrogate:"
                f" {points[bad][0]}. Set errors='replace' or 'ignore'."
            )
        if policy == "replace":
            shown = replacement_char if _is_character(replacement_char) else 0xFFFD
            points = np.where(bad, np.int32(shown), points)
        else:
            splits = splits - np.append(0, np.cumsum(bad))[splits]
            points = points[~bad]
    text = points.astype("<u4").tobytes().decode("utf-32-le")
    ends = splits.tolist()
    rows = [text[a:b].encode(wanted) for a, b in itertools.pairwise(ends)]
    return array_of(rows, (len(rows),))


@host_kernel(SCRIPT, limit=HOST)
def _script(input: Array) -> Array:
    return script_of(input)
