"""The functions of `native/random.cc`: numbers of Philox streams.

A shared library of its own, loaded at first use: it has neither Python nor XLA in it, and leaves
Python's lock while it works. Each function here returns None where the library is not in use; then
the caller does the work in NumPy. A stream is (key, low, high): the key and the halves of its first
counter, whole numbers of NumPy or Python. Words are the same without the library; other numbers to
the last digits of logarithms and the like. Thread-safe: nothing is kept between calls.
"""

from typing import Any

import numpy as np

from penstock.core.native_library import HostLibrary, processors

LIBRARY = HostLibrary(
    "random",
    what="native random numbers",
    without="gamma, Poisson and binomial numbers and shuffles take five to fifty times as long",
    version=4,
    functions={  # the stream comes first, where there is one
        "words": "uuunp",
        "units": "uuunnp",
        "unit_pairs": "uuunpp",
        "whole": "uuuuunnp",
        "below": "uuuunnp",
        "shifted": "pnnnp",
        "categories": "uuupnnnnp",
        "blocks": "uuupnp",
        "order": "uuunp",
        "gamma": "uuupnnpp",
        "poisson": "uuupnnpdp",
        "binomial": "uuupnnppp",
        "between": "uuunnnpp",
        "truncated": "uuunnnnp",
    },
)
_MASK = (1 << 64) - 1
Array = Any  # numpy.ndarray
Stream = tuple[Any, Any, Any]


class NoneFitsError(ValueError):
    """No number was found for a row, `args[0]`."""


def _whole(stream: Stream) -> tuple[int, int, int]:
    key, low, high = stream
    return int(key) & _MASK, int(low) & _MASK, int(high) & _MASK


def words(stream: Stream, count: int) -> Array | None:
    """The first `count` words of a stream: uint32[count]."""
    call = LIBRARY.function("words")
    if call is None:
        return None
    found = np.empty(count, np.uint32)
    call(*_whole(stream), count, found)
    return found


def units(stream: Stream, count: int, wide: bool) -> Array | None:
    """Numbers in [0, 1): float32[count] of a word each, or float64[count] of two where `wide`."""
    call = LIBRARY.function("units")
    if call is None:
        return None
    found = np.empty(count, np.float64 if wide else np.float32)
    call(*_whole(stream), count, wide, found)
    return found


def unit_pairs(stream: Stream, count: int) -> Array | None:
    """Pairs of numbers in [0, 1): float32[2, count]; of the first ones a logarithm can be taken."""
    call = LIBRARY.function("unit_pairs")
    if call is None:
        return None
    found = np.empty((2, count), np.float32)
    call(*_whole(stream), count, found[0], found[1])
    return found


def whole(stream: Stream, low: int, size: int, shape: Any, dtype: np.dtype[Any]) -> Array | None:
    """Whole numbers in [low, low + size): words, or pairs of them for 64 bits, modulo the size."""
    call = LIBRARY.function("whole")
    if call is None or not size:
        return None
    found = np.empty(shape, dtype)
    call(*_whole(stream), low & _MASK, size & _MASK, found.size, dtype.itemsize == 8, found)
    return found


def below(stream: Stream, limit: int, count: int, wide: bool) -> Array | None:
    """Numbers in [0, limit), of a word each, or two where `wide`: int64[count].

    Words that are not fair modulo the limit, below 2**63 or 2**32, are left out.
    """
    call = LIBRARY.function("below")
    if call is None or not 0 < limit < 1 << (63 if wide else 32):
        return None
    found = np.empty(count, np.int64)
    call(*_whole(stream), limit, count, wide, found)
    return found


def categories(stream: Stream, logits: Array, samples: int, dtype: np.dtype[Any]) -> Array | None:
    """Classes drawn by the logarithms of their weights: int32 or int64[rows, samples].

    Args:
      stream: two words of it are taken for each class.
      logits: float32 or float64[rows, classes]; what is not finite is never drawn.
      samples: how many are drawn for each row.
      dtype: of the classes.
    """
    shift, call = LIBRARY.function("shifted"), LIBRARY.function("categories")
    if shift is None or call is None or not logits.shape[1]:
        return None
    logits, weights = np.ascontiguousarray(logits), np.empty(logits.shape)
    shift(logits, logits.itemsize == 8, *logits.shape, weights)
    np.exp(weights, out=weights)
    found = np.empty((len(logits), samples), dtype)
    call(*_whole(stream), weights, *logits.shape, samples, dtype.itemsize == 8, found)
    return found


def blocks(stream: Stream, places: Array) -> Array | None:
    """The words of the blocks at `places`, uint64[N]: uint32[N, 4]."""
    call = LIBRARY.function("blocks")
    if call is None:
        return None
    places = np.ascontiguousarray(places, np.uint64)
    found = np.empty((len(places), 4), np.uint32)
    call(*_whole(stream), places, len(places), found)
    return found


def order(stream: Stream, count: int) -> Array | None:
    """The numbers 0 to count - 1 in random order, int64[count]; not for 2^32 and more."""
    call = LIBRARY.function("order")
    if call is None or count >> 32:
        return None
    found = np.empty(count, np.int64)
    call(*_whole(stream), count, found)
    return found


def gamma(stream: Stream, places: Array, shapes: Array) -> Array | None:
    """Gamma numbers of scale 1: float64[N] of places uint64[N] and shapes float64[N]."""
    return _drawn("gamma", stream, places, shapes)


def poisson(stream: Stream, places: Array, rates: Array, most: float) -> Array | None:
    """Poisson numbers up to `most`: float64[N] of places uint64[N] and rates float64[N]."""
    return _drawn("poisson", stream, places, rates, most)


def binomial(stream: Stream, places: Array, trials: Array, probs: Array) -> Array | None:
    """Binomial numbers: float64[N] of places uint64[N], trials and probabilities float64[N]."""
    return _drawn("binomial", stream, places, trials, probs)


def _drawn(name: str, stream: Stream, places: Array, *parameters: Any) -> Array | None:
    call = LIBRARY.function(name)
    if call is None:
        return None
    places = np.ascontiguousarray(places, np.uint64)
    kept = [p if isinstance(p, float) else np.ascontiguousarray(p, np.float64) for p in parameters]
    found = np.empty(len(places))
    call(
        *_whole(stream), places, len(places), processors(),
        *kept, found,
    )  # fmt: skip
    return found


def between(stream: Stream, parameters: Array, samples: int, dtype: np.dtype[Any]) -> Array | None:
    """Normal numbers between bounds, `dtype`[rows, samples], float32 or float64.

    Rows follow each other in the stream; `parameters`, float64[rows, 4], are a mean, a deviation
    and the bounds of each.

    Raises:
      NoneFitsError: too many proposals in turn were refused.
    """
    call = LIBRARY.function("between")
    if call is None:
        return None
    parameters = np.ascontiguousarray(parameters, np.float64)
    found = np.empty((len(parameters), samples), dtype)
    row = call(*_whole(stream), len(parameters), samples, dtype.itemsize == 8, parameters, found)
    if row >= 0:
        raise NoneFitsError(row)
    return found


def truncated(stream: Stream, groups: int, reserved: int, dtype: np.dtype[Any]) -> Array | None:
    """Normal numbers less than 2 away from 0, float32[groups, 4] or float64[groups, 2].

    Each group has `reserved` blocks, and keeps the first numbers that fit.
    """
    call = LIBRARY.function("truncated")
    if call is None:
        return None
    wide = dtype.itemsize == 8
    found = np.empty((groups, 2 if wide else 4), dtype)
    call(*_whole(stream), groups, reserved, wide, processors(), found)
    return found
