"""The buckets of a dense table, in the order in which TensorFlow's checkpoints have them.

A key's bucket is found from its hash, and from the numbers 1, 3, 6, 10 ... on from there while
buckets are taken. An integer is its own hash; strings have Austin Appleby's MurmurHash64A; the
hashes of a vector's elements are combined.
"""

from typing import Any

import numpy as np

_MASK = 2**64 - 1
_SEED, _FACTOR, _SHIFT = 0xDECAFCAFFE, 0xC6A4A7935BD1E995, 47
_COMBINED = 0x9E3779B97F4A7800
_LOAD = 0.8  # the part of the buckets that may be taken
_LEAST = 4


def hash_of(key: Any) -> int:
    """The hash of a key: an integer, bytes, or a tuple of these.

    Example:
      >>> hash_of(21), hash_of(b"hello") % 16
      (21, 10)
    """
    if isinstance(key, tuple):
        found = 0
        for each in key:
            part = hash_of(each) + _COMBINED + (found << 10) + (found >> 4)
            found ^= part & _MASK
        return found
    return _murmur(key) if isinstance(key, bytes) else int(key) & _MASK


def _murmur(data: bytes) -> int:
    found = _SEED ^ (len(data) * _FACTOR & _MASK)
    whole = len(data) & ~7
    for at in range(0, whole, 8):
        word = int.from_bytes(data[at : at + 8], "little") * _FACTOR & _MASK
        word = (word ^ word >> _SHIFT) * _FACTOR & _MASK
        found = (found ^ word) * _FACTOR & _MASK
    if len(data) > whole:
        found = (found ^ int.from_bytes(data[whole:], "little")) * _FACTOR & _MASK
    found = (found ^ found >> _SHIFT) * _FACTOR & _MASK
    return found ^ found >> _SHIFT


def lay_out(keys: Any, values: Any, empty_key: Any) -> tuple[Any, Any]:
    """The buckets of a table: keys K[buckets, ...] and values V[buckets, ...].

    Args:
      keys: K[n, *key_shape], all different.
      values: V[n, *value_shape].
      empty_key: K[*key_shape], for buckets that are not taken.

    Returns:
      Both, at least of rank 2, with a power of two for the number of buckets.
    """
    count = _LEAST
    while len(keys) > _LOAD * count:
        count *= 2
    flat = keys.reshape(len(keys), -1)
    blank = b"" if values.dtype == object else 0
    made = np.full((count, *values.shape[1:]), blank, values.dtype)
    held = np.empty((count, flat.shape[1]), keys.dtype)
    held[:] = np.asarray(empty_key).reshape(-1)
    taken = set()
    for row, value in zip(flat, values, strict=True):
        listed = row.tolist()
        at, step = hash_of(listed[0] if len(listed) == 1 else tuple(listed)) % count, 0
        while at in taken:
            step += 1
            at = (at + step) % count
        taken.add(at)
        held[at], made[at] = row, value
    shape = keys.shape[1:] or (1,)
    return held.reshape(count, *shape), made.reshape(count, *(values.shape[1:] or (1,)))
