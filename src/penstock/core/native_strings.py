"""The functions of `native/strings.cc`: work on arrays of bytes objects, element by element.

A shared library of its own, loaded at first use. It calls a few functions of Python's stable
interface, so it holds Python's lock while it works. Each function here returns None where the
library is not in use, or does not serve one of the strings: then the caller does the work in
Python, which also finds what is wrong. Thread-safe: nothing is kept between calls.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.native_library import HostLibrary, address

LIBRARY = HostLibrary(
    "strings",
    what="native work on strings",
    without="operations on large arrays of strings take two to forty times as long",
    version=6,
    functions={
        "hash": "pnnuuup",
        "lengths": "pnnp",
        "change": "pnnp",
        "part": "pnnnp",
        "join": "ppnnpnp",
        "split": "pnpnnpp",
        "floats": "pnp",
        "doubles": "pnp",
        "integers": "pnp",
        "bytes": "pnnnp",
        "encode": "pnnp",
        "decode": "pnp",
        "combine": "pnpnpnp",
        "ngrams": "ppnpnpnpnpnnnpp",
        "fixed": "pnnp",
        "whole": "pnp",
        "index": "pnppn",
        "places": "pnpppnp",
        "match": "pnpnnnp",
        "points": "pnppp",
        "transcode": "pnnp",
        "characters": "pnpnnp",
        "scalars": "pnpp",
        "merge": "pnp",
    },
    loader=ctypes.PyDLL,
)
FARM, SIP, MURMUR = range(3)
LOWER, UPPER, STRIP = range(3)
_NUMBERS = {"f": {4: "floats", 8: "doubles"}, "i": {8: "integers"}}
Array = Any  # numpy.ndarray


def hashes(
    texts: Array, function: int, keys: tuple[int, int] = (0, 0), limit: int = 0
) -> Array | None:
    """The hash of each string, uint64 of the shape of `texts`.

    Args:
      texts: array of bytes.
      function: FARM, SIP or MURMUR.
      keys: SIP's key, or MURMUR's seed first.
      limit: hashes are what is left by it, unless it is 0.
    """
    found = np.empty(texts.shape, np.uint64)
    given = (function, *keys, limit, found)
    return found if _run("hash", texts, *given) else None


def lengths(texts: Array, characters: bool) -> Array | None:
    """The length of each string in bytes, or characters; int32 of the shape of `texts`."""
    found = np.empty(texts.shape, np.int32)
    return found if _run("lengths", texts, characters, found) else None


def changed(texts: Array, change: int) -> Array | None:
    """Each string LOWER, UPPER or STRIP, as `bytes` has them."""
    found = np.empty(texts.shape, object)
    return found if _run("change", texts, change, found) else None


def part(texts: Array, pos: int, size: int) -> Array | None:
    """The bytes [pos, pos + size) of each string, both not negative; None if one is shorter."""
    found = np.empty(texts.shape, object)
    given = (pos, size, found)
    return found if _run("part", texts, *given) else None


def joined(columns: Sequence[Array], shape: tuple[int, ...], between: bytes) -> Array | None:
    """Columns of one shape, and scalars, joined row by row."""
    join = LIBRARY.function("join")
    if join is None:
        return None
    kept = [np.ascontiguousarray(c) if c.shape else c for c in columns]
    found = np.empty(shape, object)
    places = np.array([address(c) for c in kept], np.int64)
    steps = np.array([1 if c.shape else 0 for c in kept], np.int64)
    broken = join(places, steps, len(kept), found.size, between, len(between), found)
    return found if broken < 0 else None


def split(texts: Array, between: bytes, skip_empty: bool) -> tuple[Array, Array] | None:
    """The parts of all strings, and how many each has; at white space where `between` is empty."""
    cut = LIBRARY.function("split")
    if cut is None:
        return None
    texts = np.ascontiguousarray(texts)
    counts = np.empty(len(texts), np.int64)
    given = texts, len(texts), between, len(between), skip_empty, counts
    if cut(*given, None) >= 0:
        return None
    parts = np.empty(int(counts.sum()), object)
    if cut(*given, parts) >= 0:
        return None
    return parts, counts


def numbers(texts: Array, dtype: np.dtype[Any]) -> Array | None:
    """Decimals that strings show, float32, float64 or int64; None if one shows something else."""
    name = _NUMBERS.get(dtype.kind, {}).get(dtype.itemsize)
    if name is None:
        return None
    found = np.empty(texts.shape, dtype)
    return found if _run(name, texts, found) else None


def stored(texts: Array, size: int, pad: bool) -> Array | None:
    """The first `size` bytes of each string, uint8[..., size].

    Shorter strings get zeros where `pad` says so; otherwise all strings must be of that size.
    """
    found = np.empty((*texts.shape, size), np.uint8)
    given = (size, pad, found)
    return found if _run("bytes", texts, *given) else None


def encoded(texts: Array, pad: bool) -> Array | None:
    """Each string in base 64, of the alphabet for addresses."""
    found = np.empty(texts.shape, object)
    return found if _run("encode", texts, pad, found) else None


def decoded(texts: Array) -> Array | None:
    """The bytes of strings in base 64; None also where one is not."""
    found = np.empty(texts.shape, object)
    return found if _run("decode", texts, found) else None


def combined(texts: Array, ids: Array, parts: int, between: bytes) -> Array | None:
    """The strings [N] of each id joined in order, [parts]; ids int64[N] are in [0, parts).

    Empty strings before the first other one leave no trace.
    """
    found = np.empty(parts, object)
    ids = np.ascontiguousarray(ids, np.int64)
    given = (ids, parts, between, len(between), found)
    return found if _run("combine", texts, *given) else None


def ngrams(
    texts: Array,
    splits: Array,
    widths: Sequence[int],
    between: bytes,
    pad: tuple[bytes, bytes, int],
    keep_short: bool,
) -> tuple[Array, Array] | None:
    """Neighbours of each row joined, and how many each row has.

    Args:
      texts: all rows' strings.
      splits: where rows begin and end, rising from 0 to the number of strings; at least one.
      widths: how many are joined at a time, each at least 1.
      between: what stands between them.
      pad: the strings before and after a row, and how many; as many as the widths allow below 0.
      keep_short: whether a row that is too short for all widths becomes one string.
    """
    call = LIBRARY.function("ngrams")
    if call is None:
        return None
    texts, splits = np.ascontiguousarray(texts), np.ascontiguousarray(splits, np.int64)
    sizes = np.array(widths, np.int64)
    counts = np.empty(len(splits) - 1, np.int64)
    left, right, pads = pad
    given = (
        texts, splits, len(counts), sizes, len(sizes),
        between, len(between), left, len(left), right, len(right), pads, keep_short,
        counts,
    )  # fmt: skip
    call(*given, None)
    found = np.empty(int(counts.sum()), object)
    return (found, counts) if call(*given, found) < 0 else None


def decimals(values: Array, digits: int) -> Array | None:
    """Floating numbers as C's `%.{digits}f` writes them; None also if one is large."""
    found = np.empty(values.shape, object)
    wide = values.astype(np.float64)
    served = 0 <= digits <= 7 and _run("fixed", wide, digits, found)
    return found if served else None


def whole(values: Array) -> Array | None:
    """Integers as decimals; None also for those that int64 does not hold."""
    if not np.can_cast(values.dtype, np.int64):
        return None
    found = np.empty(values.shape, object)
    return found if _run("whole", values.astype(np.int64), found) else None


def index(keys: Array) -> tuple[Array, Array] | None:
    """What finds the places of different strings [N], for `places`: hashes and slots."""
    if len(keys) >= 1 << 30:
        return None
    hashes = np.empty(len(keys), np.uint64)
    slots = np.full(2 << len(keys).bit_length(), -1, np.int32)
    return (hashes, slots) if _run("index", keys, hashes, slots, len(slots)) else None


def places(keys: Array, made: tuple[Array, Array], wanted: Array) -> Array | None:
    """The place among `keys`, of which `made` is the index, of each of the strings [M], or -1."""
    hashes, slots = made
    found = np.empty(len(wanted), np.int64)
    return found if _run("places", wanted, keys, hashes, slots, len(slots), found) else None


def matches(texts: Array, core: bytes, after_any: bool, before_any: bool) -> Array | None:
    """Whether each text is `core`, with anything before it (`after_any`) or behind it or not.

    Returns:
      int8 of the shape of `texts`: 0 or 1, or 2 where it has `core` in its place, but "anything" is
      not simple: there are ends of lines, or bytes that are not ASCII.
    """
    found = np.empty(texts.shape, np.int8)
    given = (core, len(core), after_any, before_any, found)
    return found if _run("match", texts, *given) else None


def characters(texts: Array) -> tuple[Array, Array, Array] | None:
    """The code points of texts of UTF-8 [N]: row splits int64[N + 1], code points, first bytes."""
    splits = np.empty(len(texts) + 1, np.int64)
    if not _run("points", texts, splits, None, None):
        return None
    number = int(splits[-1])
    points, starts = np.empty(number, np.int32), np.empty(number, np.int64)
    return (splits, points, starts) if _run("points", texts, splits, points, starts) else None


_ENCODINGS = {"UTF-8": 0, "UTF-16-BE": 1, "UTF-32-BE": 2}


def transcoded(texts: Array, encoding: str) -> Array | None:
    """Texts of UTF-8 in UTF-8, UTF-16-BE or UTF-32-BE; None also where one is malformed."""
    found = np.empty(texts.shape, object)
    return found if _run("transcode", texts, _ENCODINGS[encoding], found) else None


def texts_of(points: Array, splits: Array, encoding: str) -> Array | None:
    """The text of each row of code points, int32, in an encoding as for `transcoded`.

    None also where splits are wrong, or a number is no code point of a character.
    """
    call = LIBRARY.function("characters")
    if call is None:
        return None
    rows = len(splits) - 1
    found = np.empty(rows, object)
    given = np.ascontiguousarray(points), len(points), np.ascontiguousarray(splits, np.int64), rows
    return found if call(*given, _ENCODINGS[encoding], found) < 0 else None


def scalar_summary(tags: Array, values: Array) -> bytes | None:
    """A serialised Summary of float32 numbers, with a tag each; None also for tags beyond ASCII."""
    found = np.empty(1, object)
    served = _run("scalars", tags, np.ascontiguousarray(values), found)
    return found[0] if served else None


def merged_summaries(summaries: Array) -> bytes | None:
    """Serialised Summaries of numbers as one; None also for others, and where a tag comes twice."""
    found = np.empty(1, object)
    return found[0] if _run("merge", summaries, found) else None


def _run(name: str, texts: Array, *given: Any) -> bool:
    function = LIBRARY.function(name)
    if function is None:
        return False
    texts = np.ascontiguousarray(texts)
    return bool(function(texts, texts.size, *given) < 0)
