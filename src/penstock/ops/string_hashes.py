"""Hashes of strings: FarmHash's Fingerprint64, SipHash-2-4, MurmurHash64A.

Each is written once, in operations that Python integers and arrays of uint64 share, and runs over
one string or over many of one length class at a time. `fingerprints`, `sip_hashes` and
`murmur_hashes` take an array or list of strings and return uint64 of its shape, below a limit if
there is one; they use `penstock.core.native_strings` where it is, which has the same in C++.

Source: the published algorithms (FarmHash and SipHash papers and reference descriptions).
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core import native_strings

Array = Any  # numpy.ndarray
Texts = Any  # numpy.ndarray of bytes, or a list of bytes
Word = Any  # int, or numpy.ndarray of uint64
MASK = (1 << 64) - 1
_FEW = 8  # strings of a class up to which one at a time is faster, by measurement
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_MURMUR, _MURMUR_SEED = 0xC6A4A7935BD1E995, 0xDECAFCAFFE


class _One:
    """One string: words read as integers."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.length = len(data)

    def word(self, offset: int, size: int = 8) -> Word:
        """The little-endian word of `size` bytes at `offset`."""
        return int.from_bytes(self.data[offset : offset + size], "little")


class _Many:
    """Strings of one length: words read as arrays."""

    def __init__(self, strings: Sequence[bytes]) -> None:
        self.length = len(strings[0])
        flat = np.frombuffer(b"".join(strings), np.uint8)
        self.rows = flat.reshape(len(strings), self.length)

    def word(self, offset: int, size: int = 8) -> Word:
        """The little-endian word of `size` bytes at `offset` of each string."""
        padded = np.zeros((len(self.rows), 8), np.uint8)
        padded[:, :size] = self.rows[:, offset : offset + size]
        return padded.view("<u8")[:, 0]


Text = Any  # _One or _Many


def _hashes(
    texts: Texts,
    function: Callable[[Text], Word],
    limit: int,
    number: int,
    keys: tuple[int, int] = (0, 0),
) -> Array:
    """The hash of each string; `number` and `keys` say which it is in the native library."""
    array = texts if isinstance(texts, np.ndarray) else np.array(texts, object)
    found = native_strings.hashes(array, number, keys, limit)
    if found is None:
        found = _run(array.reshape(-1).tolist(), function).reshape(array.shape)
        if limit:
            found %= np.uint64(limit)
    return found


def _run(strings: Sequence[bytes], function: Callable[[Text], Word]) -> Array:
    """`function` over each string, over many at a time where they have one length."""
    groups: dict[int, list[int]] = {}
    for i, text in enumerate(strings):
        groups.setdefault(len(text), []).append(i)
    result = np.empty(len(strings), np.uint64)
    for positions in groups.values():
        if len(positions) <= _FEW:
            for i in positions:
                result[i] = function(_One(strings[i]))
        else:
            many = _Many([strings[i] for i in positions])
            result[positions] = np.asarray(function(many), np.uint64)
    return result


def _rotate(x: Word, by: int) -> Word:
    """Rotates right."""
    return ((x >> by) | (x << (64 - by))) & MASK


def _shift_mix(x: Word) -> Word:
    return x ^ (x >> 47)


# ---- FarmHash -----------------------------------------------------------------------------------


def fingerprints(texts: Texts, limit: int = 0) -> Array:
    """FarmHash's Fingerprint64 of each string."""
    return _hashes(texts, _farm, limit, native_strings.FARM)


def _farm(text: Text) -> Word:
    if text.length <= 16:
        return _farm_16(text)
    if text.length <= 32:
        return _farm_32(text)
    return _farm_64(text) if text.length <= 64 else _farm_long(text)


def _mix_16(u: Word, v: Word, multiplier: Word) -> Word:
    a = ((u ^ v) * multiplier) & MASK
    b = ((v ^ _shift_mix(a)) * multiplier) & MASK
    return (_shift_mix(b) * multiplier) & MASK


def _farm_16(text: Text) -> Word:
    n = text.length
    multiplier = (_K2 + 2 * n) & MASK
    if n >= 8:
        a, b = (text.word(0) + _K2) & MASK, text.word(n - 8)
        c = (_rotate(b, 37) * multiplier + a) & MASK
        d = ((_rotate(a, 25) + b) * multiplier) & MASK
        return _mix_16(c, d, multiplier)
    if n >= 4:
        return _mix_16((text.word(0, 4) << 3) + n, text.word(n - 4, 4), multiplier)
    if n == 0:
        return _K2
    y = text.word(0, 1) + (text.word(n >> 1, 1) << 8)
    z = n + (text.word(n - 1, 1) << 2)
    return (_shift_mix(((y * _K2) & MASK) ^ ((z * _K0) & MASK)) * _K2) & MASK


def _farm_32(text: Text) -> Word:
    n = text.length
    multiplier = (_K2 + 2 * n) & MASK
    a, b = (text.word(0) * _K1) & MASK, text.word(8)
    c, d = (text.word(n - 8) * multiplier) & MASK, (text.word(n - 16) * _K2) & MASK
    u = (_rotate((a + b) & MASK, 43) + _rotate(c, 30) + d) & MASK
    return _mix_16(u, (a + _rotate((b + _K2) & MASK, 18) + c) & MASK, multiplier)


def _farm_64(text: Text) -> Word:
    n = text.length
    multiplier = (_K2 + 2 * n) & MASK
    a, b = (text.word(0) * _K2) & MASK, text.word(8)
    c, d = (text.word(n - 8) * multiplier) & MASK, (text.word(n - 16) * _K2) & MASK
    y = (_rotate((a + b) & MASK, 43) + _rotate(c, 30) + d) & MASK
    z = _mix_16(y, (a + _rotate((b + _K2) & MASK, 18) + c) & MASK, multiplier)
    e, f = (text.word(16) * multiplier) & MASK, text.word(24)
    g = ((y + text.word(n - 32)) * multiplier) & MASK
    h = ((z + text.word(n - 24)) * multiplier) & MASK
    u = (_rotate((e + f) & MASK, 43) + _rotate(g, 30) + h) & MASK
    return _mix_16(u, (e + _rotate((f + a) & MASK, 18) + g) & MASK, multiplier)


def _weak_32(text: Text, at: int, a: Word, b: Word) -> tuple[Word, Word]:
    """Two words of state mixed with 32 bytes."""
    w, x, y, z = (text.word(at + i) for i in (0, 8, 16, 24))
    a = (a + w) & MASK
    b = _rotate((b + a + z) & MASK, 21)
    c = a
    a = (a + x + y) & MASK
    b = (b + _rotate(a, 44)) & MASK
    return (a + z) & MASK, (b + c) & MASK


def _farm_long(text: Text) -> Word:
    n = text.length
    x = (((81 * _K2) & MASK) + text.word(0)) & MASK
    y = (81 * _K1 + 113) & MASK
    z = (_shift_mix((y * _K2 + 113) & MASK) * _K2) & MASK
    state = (x, y, z, (0, 0), (0, 0))
    for at in range(0, (n - 1) // 64 * 64, 64):
        state = _farm_round(text, at, state, _K1, 1)
    x, y, z, v, w = state
    multiplier = (_K1 + ((z & 0xFF) << 1)) & MASK
    w = ((w[0] + ((n - 1) & 63)) & MASK, w[1])
    v = ((v[0] + w[0]) & MASK, v[1])
    w = ((w[0] + v[0]) & MASK, w[1])
    x, y, z, v, w = _farm_round(text, n - 64, (x, y, z, v, w), multiplier, 9)
    first = (_mix_16(v[0], w[0], multiplier) + _shift_mix(y) * _K0 + z) & MASK
    return _mix_16(first, (_mix_16(v[1], w[1], multiplier) + x) & MASK, multiplier)


def _farm_round(text: Text, at: int, state: Any, multiplier: Word, times: int) -> Any:
    """64 bytes mixed into the state."""
    x, y, z, v, w = state
    x = (_rotate((x + y + v[0] + text.word(at + 8)) & MASK, 37) * multiplier) & MASK
    y = (_rotate((y + v[1] + text.word(at + 48)) & MASK, 42) * multiplier) & MASK
    x = x ^ ((w[1] * times) & MASK)
    y = (y + v[0] * times + text.word(at + 40)) & MASK
    z = (_rotate((z + w[0]) & MASK, 33) * multiplier) & MASK
    v = _weak_32(text, at, (v[1] * multiplier) & MASK, (x + w[0]) & MASK)
    w = _weak_32(text, at + 32, (z + w[1]) & MASK, (y + text.word(at + 16)) & MASK)
    return z, y, x, v, w


# ---- SipHash ------------------------------------------------------------------------------------


def sip_hashes(texts: Texts, key: tuple[int, int], limit: int = 0) -> Array:
    """SipHash-2-4 of each string under a key of two words."""
    key = key[0] & MASK, key[1] & MASK
    return _hashes(texts, functools.partial(_sip, key=key), limit, native_strings.SIP, key)


def _sip(text: Text, key: tuple[int, int]) -> Word:
    n, (k0, k1) = text.length, key
    state = (
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    )
    for at in range(0, n - n % 8, 8):
        state = _sip_absorb(state, text.word(at))
    rest = text.word(n - n % 8, n % 8) if n % 8 else 0
    state = _sip_absorb(state, rest | ((n & 0xFF) << 56))
    a, b, c, d = state
    state = (a, b, c ^ 0xFF, d)
    for _ in range(4):
        state = _sip_round(*state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _sip_absorb(state: Any, word: Word) -> Any:
    a, b, c, d = state
    a, b, c, d = _sip_round(*_sip_round(a, b, c, d ^ word))
    return a ^ word, b, c, d


def _sip_round(a: Word, b: Word, c: Word, d: Word) -> Any:
    a = (a + b) & MASK
    b = _rotate(b, 64 - 13) ^ a
    a = _rotate(a, 32)
    c = (c + d) & MASK
    d = _rotate(d, 64 - 16) ^ c
    a = (a + d) & MASK
    d = _rotate(d, 64 - 21) ^ a
    c = (c + b) & MASK
    b = _rotate(b, 64 - 17) ^ c
    return a, b, _rotate(c, 32), d


# ---- MurmurHash ---------------------------------------------------------------------------------


def murmur_hashes(texts: Texts, limit: int = 0) -> Array:
    """MurmurHash64A of each string with the seed that TensorFlow uses."""
    return _hashes(texts, _murmur, limit, native_strings.MURMUR, (_MURMUR_SEED, 0))


def _murmur(text: Text) -> Word:
    n = text.length
    h: Word = _MURMUR_SEED ^ ((n * _MURMUR) & MASK)
    for at in range(0, n - n % 8, 8):
        k = (text.word(at) * _MURMUR) & MASK
        h = ((h ^ (((k ^ (k >> 47)) * _MURMUR) & MASK)) * _MURMUR) & MASK
    if n % 8:
        h = ((h ^ text.word(n - n % 8, n % 8)) * _MURMUR) & MASK
    h = ((h ^ (h >> 47)) * _MURMUR) & MASK
    return h ^ (h >> 47)


# ---- CityHash, of 128 bits ----------------------------------------------------------------------

_CITY = 0x9DDFEA08EB382D69


def fingerprints_128(strings: Sequence[bytes]) -> Array:
    """FarmHash's Fingerprint128 of each string, which is CityHash's: int64[N, 2], low and high."""
    found = np.array([_city_128(_One(s)) for s in strings], np.uint64)
    return found.reshape(len(strings), 2).view(np.int64)


def _city_128(text: _One) -> tuple[int, int]:
    if text.length < 16:
        return _city_seeded(text, _K0, _K1)
    low, high = text.word(0), (text.word(8) + _K0) & MASK
    return _city_seeded(_One(text.data[16:]), low, high)


def _city_seeded(text: _One, low: int, high: int) -> tuple[int, int]:
    return _city_short(text, low, high) if text.length < 128 else _city_long(text, low, high)


def _city_mix(u: int, v: int) -> int:
    return int(_mix_16(u & MASK, v & MASK, _CITY))


def _city_short(text: _One, a: int, b: int) -> tuple[int, int]:
    n = text.length
    if n <= 16:
        a = (_shift_mix((a * _K1) & MASK) * _K1) & MASK
        c = (b * _K1 + _farm_16(text)) & MASK
        d = _shift_mix((a + (text.word(0) if n >= 8 else c)) & MASK)
    else:
        c = _city_mix(text.word(n - 8) + _K1, a)
        d = _city_mix(b + n, c + text.word(n - 16))
        a = (a + d) & MASK
        for at in range(0, n - 16, 16):
            a = ((a ^ (_shift_mix((text.word(at) * _K1) & MASK) * _K1)) * _K1) & MASK
            b ^= a
            c = ((c ^ (_shift_mix((text.word(at + 8) * _K1) & MASK) * _K1)) * _K1) & MASK
            d ^= c
    a, b = _city_mix(a, c), _city_mix(d, b)
    return a ^ b, _city_mix(b, a)


def _city_32(text: _One, at: int, a: int, b: int) -> tuple[int, int]:
    """A pair of hashes of 32 bytes, weaker than the whole."""
    w, x, y, z = (text.word(at + 8 * i) for i in range(4))
    a = (a + w) & MASK
    b = _rotate((b + a + z) & MASK, 21)
    c = a
    a = (a + x + y) & MASK
    b = (b + _rotate(a, 44)) & MASK
    return (a + z) & MASK, (b + c) & MASK


def _city_long(text: _One, x: int, y: int) -> tuple[int, int]:
    left, at = text.length, 0
    z = (left * _K1) & MASK
    v0 = (_rotate((y ^ _K1) & MASK, 49) * _K1 + text.word(0)) & MASK
    v = v0, (_rotate(v0, 42) * _K1 + text.word(8)) & MASK
    w = (
        (_rotate((y + z) & MASK, 35) * _K1 + x) & MASK,
        (_rotate((x + text.word(88)) & MASK, 53) * _K1) & MASK,
    )
    while left >= 128:
        for _ in range(2):
            x = (_rotate((x + y + v[0] + text.word(at + 8)) & MASK, 37) * _K1) & MASK
            y = (_rotate((y + v[1] + text.word(at + 48)) & MASK, 42) * _K1) & MASK
            x ^= w[1]
            y = (y + v[0] + text.word(at + 40)) & MASK
            z = (_rotate((z + w[0]) & MASK, 33) * _K1) & MASK
            v = _city_32(text, at, (v[1] * _K1) & MASK, (x + w[0]) & MASK)
            w = _city_32(text, at + 32, (z + w[1]) & MASK, (y + text.word(at + 16)) & MASK)
            x, z = z, x
            at += 64
        left -= 128
    return _city_rest(text, left, (x, y, z), v, w)


def _city_rest(
    text: _One, left: int, xyz: tuple[int, int, int], v: tuple[int, int], w: tuple[int, int]
) -> tuple[int, int]:
    """The end of a long string, read from its back in steps of 32 bytes."""
    x, y, z = xyz
    x = (x + _rotate((v[0] + z) & MASK, 49) * _K0) & MASK
    y = (y * _K0 + _rotate(w[1], 37)) & MASK
    z = (z * _K0 + _rotate(w[0], 27)) & MASK
    w0, w1 = (w[0] * 9) & MASK, w[1]
    v = (v[0] * _K0) & MASK, v[1]
    for done in range(32, left + 32, 32):
        at = text.length - done
        y = (_rotate((x + y) & MASK, 42) * _K0 + v[1]) & MASK
        w0 = (w0 + text.word(at + 16)) & MASK
        x = (x * _K0 + w0) & MASK
        z = (z + w1 + text.word(at)) & MASK
        w1 = (w1 + v[0]) & MASK
        v = _city_32(text, at, (v[0] + z) & MASK, v[1])
        v = (v[0] * _K0) & MASK, v[1]
    x = _city_mix(x, v[0])
    y = _city_mix(y + z, w0)
    return (_city_mix(x + v[1], w1) + y) & MASK, _city_mix(x + w1, y + v[1])
