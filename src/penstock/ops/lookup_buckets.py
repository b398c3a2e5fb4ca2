"""The buckets of a dense table, in the order in which TensorFlow's checkpoints have them.

A key's bucket is found from its hash, and from the numbers 1, 3, 6, 10 ... on from there while
buckets are taken. An integer is its own hash; strings have Austin Appleby's MurmurHash64A; the
hashes of a vector's elements are combined.
"""

from typing import Any

_MASK = 2**64 - 1
_SEED, _FACTOR, _SHIFT = 0xDECAFCAFFE, 0xC6A4A7935BD1E995, 47
_COMBINED = 0x9E3779B97F4A7800


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


class Buckets:
    """Which key lies in which bucket. Not thread-safe.

    A bucket whose key was removed keeps its value until another key takes it.

    Args:
      count: the number of buckets, a power of two.
      load: the part of them that may be taken; more are made before it is passed.
    """

    def __init__(self, count: int, load: float) -> None:
        self.count, self.load = count, load
        self.taken: dict[int, Any] = {}  # bucket -> key
        self.left: dict[int, Any] = {}  # bucket whose key was removed -> value
        self._places: dict[Any, int] = {}  # key -> bucket

    def insert(self, keys: list[Any], more: int) -> None:
        """Puts new keys into buckets.

        Args:
          keys: those that are not there yet, all different.
          more: how many keys were given, old ones and repeated ones too: room is made for all.
        """
        count = self.count
        while len(self.taken) + more > count * self.load:
            count *= 2
        if count != self.count:
            held = [key for _, key in sorted(self.taken.items())]
            self.count, self.taken, self.left = count, {}, {}
            for key in held:
                self._put(key)
        for key in keys:
            self._put(key)

    def _put(self, key: Any) -> None:
        at, step = hash_of(key) % self.count, 0
        while at in self.taken:
            step += 1
            at = (at + step) % self.count
        self.place(at, key)

    def place(self, bucket: int, key: Any) -> None:
        """Puts a key into a bucket."""
        self.taken[bucket] = key
        self._places[key] = bucket
        self.left.pop(bucket, None)

    def remove(self, pairs: list[tuple[Any, Any]]) -> None:
        """Takes keys out, each with the value that it had."""
        for key, value in pairs:
            bucket = self._places.pop(key)
            del self.taken[bucket]
            self.left[bucket] = value
