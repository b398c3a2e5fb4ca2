"""Philox4x32-10: a block of four 32-bit words from a 128-bit counter and a 64-bit key.

One implementation for the host and for compiled regions: every function takes `xp` (`numpy` or
`jax.numpy`). A stream is a `Stream(key, low, high)`: the key and the two halves of the counter of
its first block, uint64 scalars. Its words are those of block 0, block 1, and so on. `uniform`,
`normal`, `integers` and `truncated_normal` turn words into numbers as TensorFlow's CPU kernels do:
uniform numbers and integers agree bit for bit, normal ones to the last digits of the logarithm and
the sine.

Nothing here keeps state: `random_state` decides which stream an operation reads.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.core import native_random
from penstock.core.lazy import jax, jnp, lax
from penstock.types import dtypes
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray, jax.Array or a tracer

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
WORD = 0xFFFFFFFF
FEW = 12  # blocks up to which one at a time beats arrays
SCRAMBLE_KEY = 0x02461E293EC8F720  # the key under which a stateless seed becomes key and counter
TINY = 1.0e-7  # the smallest uniform number whose logarithm is taken
TRUNCATED_BLOCKS = 64  # blocks set apart for each output of a truncated normal

WIDE = (dtypes.float64, dtypes.int64, dtypes.uint64)  # a number takes two words
UNIT_BITS = {  # bits of the mantissa, and the exponent of one
    dtypes.float32: (23, 127),
    dtypes.float16: (10, 15),
    dtypes.bfloat16: (7, 127),
}


class Stream(NamedTuple):
    """The key and the first counter of a sequence of blocks: uint64 scalars."""

    key: Array
    low: Array
    high: Array


def stream_of_seeds(seed: int, seed2: int) -> Stream:
    """The stream of a stateful operation with these seed attributes."""
    mask = (1 << 64) - 1
    return Stream(np.uint64(seed & mask), np.uint64(0), np.uint64(seed2 & mask))


def stream_of_seed_pair(xp: Any, seed: Array) -> Stream:
    """The stream of a stateless operation: integer[2] seed, scrambled."""
    if xp is np:
        low, high = seed.tolist()
        pair = wide_words(Stream(SCRAMBLE_KEY, low, high), 2)
        if pair is not None:
            return Stream(pair[0], np.uint64(0), pair[1])
    words = xp.asarray(seed).astype(xp.int64).astype(xp.uint64)
    scramble = Stream(xp.asarray(SCRAMBLE_KEY, xp.uint64), words[0], words[1])
    a, b, c, d = blocks(xp, scramble, xp.zeros((1,), xp.uint64))
    return Stream(_join(xp, a, b)[0], xp.zeros((), xp.uint64), _join(xp, c, d)[0])


def skip(xp: Any, stream: Stream, count: Array) -> Stream:
    """The stream without its first `count` blocks."""
    step = xp.asarray(count).astype(xp.uint64)
    low = stream.low + step
    return Stream(stream.key, low, stream.high + (low < step).astype(xp.uint64))


def fold(xp: Any, stream: Stream, index: Array) -> Stream:
    """A stream of its own for each index: key and counter come from block `index` of `stream`."""
    a, b, c, d = blocks(xp, skip(xp, stream, index), xp.zeros((1,), xp.uint64))
    return Stream(_join(xp, a, b)[0], xp.zeros((), xp.uint64), _join(xp, c, d)[0])


def blocks(xp: Any, stream: Stream, index: Array) -> tuple[Array, Array, Array, Array]:
    """The words of the blocks at `index`: four arrays, uint32, of its shape (uint64)."""
    if xp is np and index.ndim == 1 and np.ndim(stream.low) == 0:
        found = native_random.blocks(stream, index)
        if found is not None:
            return found[:, 0], found[:, 1], found[:, 2], found[:, 3]
        if index.size <= FEW:
            return _few_blocks(stream, index)
    return _blocks(xp, stream, index) if xp is np else _traced(_blocks)(stream, index)


def _blocks(xp: Any, stream: Stream, index: Array) -> tuple[Array, Array, Array, Array]:
    low = stream.low + index
    high = stream.high + (low < index).astype(xp.uint64)
    words = _low(xp, low), _high(xp, low), _low(xp, high), _high(xp, high)
    keys = _low(xp, stream.key), _high(xp, stream.key)
    turn = functools.partial(_round, xp) if xp is np else _traced(_round)
    for _ in range(ROUNDS):
        words, keys = turn(words, keys)
    return words


def _round(
    xp: Any, words: tuple[Array, Array, Array, Array], keys: tuple[Array, Array]
) -> tuple[tuple[Array, Array, Array, Array], tuple[Array, Array]]:
    (c0, c1, c2, c3), (k0, k1) = words, keys
    product0 = c0.astype(xp.uint64) * np.uint64(MULTIPLIERS[0])
    product1 = c2.astype(xp.uint64) * np.uint64(MULTIPLIERS[1])
    mixed = (
        _high(xp, product1) ^ c1 ^ k0,
        _low(xp, product1),
        _high(xp, product0) ^ c3 ^ k1,
        _low(xp, product0),
    )
    return mixed, (k0 + np.uint32(KEY_STEPS[0]), k1 + np.uint32(KEY_STEPS[1]))


@functools.cache
def _traced(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function(jax.numpy, ...)`, traced once for each shape and not each time it is met.

    A draw is some 150 operations, 8 ms of tracing; XLA has it inline all the same.
    """
    return jax.jit(functools.partial(function, jnp))  # type: ignore[no-any-return]


def _few_blocks(stream: Stream, index: Array) -> tuple[Array, Array, Array, Array]:
    """`blocks` for a handful: whole numbers of Python are faster than arrays of a few words."""
    start, key = int(stream.low) | int(stream.high) << 64, int(stream.key)
    rows = [_block(start + i, key & WORD, key >> 32) for i in index.tolist()]
    columns = np.array(rows, np.uint32).reshape(len(rows), 4).T
    return columns[0], columns[1], columns[2], columns[3]


def _block(counter: int, k0: int, k1: int) -> tuple[int, int, int, int]:
    """One block as whole numbers; the counter may have grown beyond its 128 bits."""
    c0, c1 = counter & WORD, counter >> 32 & WORD
    c2, c3 = counter >> 64 & WORD, counter >> 96 & WORD
    (by0, by1), (step0, step1) = MULTIPLIERS, KEY_STEPS
    for _ in range(ROUNDS):
        product0, product1 = c0 * by0, c2 * by1
        c0, c1 = product1 >> 32 ^ c1 ^ k0, product1 & WORD
        c2, c3 = product0 >> 32 ^ c3 ^ k1, product0 & WORD
        k0, k1 = k0 + step0 & WORD, k1 + step1 & WORD
    return c0, c1, c2, c3


def _low(xp: Any, x: Array) -> Array:
    return x.astype(xp.uint32)


def _high(xp: Any, x: Array) -> Array:
    return (x >> np.uint64(32)).astype(xp.uint32)


def _join(xp: Any, low: Array, high: Array) -> Array:
    return low.astype(xp.uint64) | (high.astype(xp.uint64) << np.uint64(32))


def _numbered(xp: Any, count: int) -> Array:
    return xp.arange(count, dtype=xp.uint64)


def words(xp: Any, stream: Stream, count: int) -> Array:
    """The first `count` words of a stream: uint32[count].

    In a region every word computes its own block: four times the work, but it fuses with what
    follows, which is five times faster than to interleave four arrays.
    """
    if xp is np:
        found = native_random.words(stream, count)
        if found is not None:
            return found
        return _flat(xp, list(blocks(xp, stream, _numbered(xp, -(-count // 4)))), (count,))
    index = _numbered(xp, count)
    a, b, c, d = blocks(xp, stream, index >> np.uint64(2))
    lane = index.astype(xp.uint32) & np.uint32(3)
    return xp.where(lane < 2, xp.where(lane == 0, a, b), xp.where(lane == 2, c, d))


def wide_words(stream: Stream, count: int) -> Array | None:
    """The first pairs of words, the first word low: uint64[count]; None without a library."""
    found = native_random.words(stream, 2 * count)
    return None if found is None else found.astype("<u4", copy=False).view("<u8")


def word_pairs(xp: Any, stream: Stream, count: int) -> tuple[Array, Array]:
    """Words 0, 2, 4... and words 1, 3, 5...: two of uint32[count]."""
    if xp is np:
        flat = words(xp, stream, 2 * count)
        return flat[::2], flat[1::2]
    index = _numbered(xp, count)
    a, b, c, d = blocks(xp, stream, index >> np.uint64(1))
    even = (index & np.uint64(1)) == 0
    return xp.where(even, a, c), xp.where(even, b, d)


def _flat(xp: Any, columns: list[Array], shape: tuple[int, ...]) -> Array:
    """Columns as one sequence, row by row, cut to the shape."""
    if xp is np:
        return np.array(columns).T.reshape(-1)[: math.prod(shape)].reshape(shape)
    return xp.stack(columns, axis=-1).reshape(-1)[: math.prod(shape)].reshape(shape)


def full_integers(xp: Any, stream: Stream, shape: tuple[int, ...], dtype: DType) -> Array:
    """Integers over the whole range of `dtype`."""
    count = math.prod(shape)
    if xp is np and dtype in WIDE:
        found = wide_words(stream, count)
        if found is not None:
            return found.reshape(shape).view(dtype.numpy_dtype)
    if dtype in WIDE:
        return _join(xp, *word_pairs(xp, stream, count)).reshape(shape).astype(dtype.numpy_dtype)
    return words(xp, stream, count).reshape(shape).astype(dtype.numpy_dtype)


def integers(
    xp: Any, stream: Stream, shape: tuple[int, ...], low: Array, high: Array, dtype: DType
) -> Array:
    """Integers in [low, high): words modulo the size of the range."""
    if xp is np:
        given = int(low), int(high) - int(low)
        found = native_random.whole(stream, *given, shape, dtype.numpy_dtype)
        if found is not None:
            return found
    unsigned = dtypes.uint64 if dtype in WIDE else dtypes.uint32
    start = xp.asarray(low).astype(unsigned.numpy_dtype)
    size = xp.asarray(high).astype(unsigned.numpy_dtype) - start
    return (start + full_integers(xp, stream, shape, unsigned) % size).astype(dtype.numpy_dtype)


def _bits_to_float(xp: Any, bits: Array, dtype: DType) -> Array:
    if xp is np:
        return bits.view(dtype.numpy_dtype)
    return lax.bitcast_convert_type(bits, dtype.numpy_dtype)


def _unit(xp: Any, word: Array, dtype: DType) -> Array:
    """One word as a number in [0, 1): its low bits become the mantissa of a number in [1, 2)."""
    mantissa, one = UNIT_BITS[dtype]
    width = xp.uint32 if dtype is dtypes.float32 else xp.uint16
    bits = (word & np.uint32((1 << mantissa) - 1)).astype(width) | np.asarray(
        one << mantissa, width
    )
    return _bits_to_float(xp, bits, dtype) - np.asarray(1, dtype.numpy_dtype)


def _unit_double(xp: Any, first: Array, second: Array) -> Array:
    mantissa = ((first & np.uint32(0xFFFFF)).astype(xp.uint64) << np.uint64(32)) | second.astype(
        xp.uint64
    )
    return _bits_to_float(xp, mantissa | np.uint64(1023 << 52), dtypes.float64) - np.float64(1)


def uniform(xp: Any, stream: Stream, shape: tuple[int, ...], dtype: DType) -> Array:
    """Numbers in [0, 1)."""
    count = math.prod(shape)
    if xp is np and dtype in (dtypes.float32, dtypes.float64):
        found = native_random.units(stream, count, dtype is dtypes.float64)
        if found is not None:
            return found.reshape(shape)
    if dtype is dtypes.float64:
        return _unit_double(xp, *word_pairs(xp, stream, count)).reshape(shape)
    return _unit(xp, words(xp, stream, count), dtype).reshape(shape)


def _box_muller(xp: Any, u: Array, v: Array) -> tuple[Array, Array]:
    """Two independent normal numbers from two uniform ones."""
    kind = u.dtype.type if xp is np else u.dtype
    radius = xp.sqrt(np.asarray(-2.0, kind) * xp.log(xp.maximum(u, np.asarray(TINY, kind))))
    angle = np.asarray(2.0 * math.pi, kind) * v
    return xp.sin(angle) * radius, xp.cos(angle) * radius


def _normals_of_units(pairs: Array) -> Array:
    """`_box_muller` of float32[2, N], which is written to: the normal numbers, pair by pair."""
    radius, angle = pairs
    np.log(radius, out=radius)
    np.multiply(radius, np.float32(-2.0), out=radius)
    np.sqrt(radius, out=radius)
    np.multiply(angle, np.float32(2.0 * math.pi), out=angle)
    found = np.empty((angle.size, 2), np.float32)
    np.multiply(np.sin(angle), radius, out=found[:, 0])
    np.multiply(np.cos(angle), radius, out=found[:, 1])
    return found.reshape(-1)


def normals_of(xp: Any, found: Sequence[Array], dtype: DType) -> list[Array]:
    """The normal numbers of blocks: four a block, two for float64."""
    a, b, c, d = found
    if dtype is dtypes.float64:
        return list(_box_muller(xp, _unit_double(xp, a, b), _unit_double(xp, c, d)))
    u = [_unit(xp, w, dtypes.float32) for w in (a, b, c, d)]
    return [*_box_muller(xp, u[0], u[1]), *_box_muller(xp, u[2], u[3])]


def units_of(xp: Any, found: Sequence[Array], dtype: DType) -> list[Array]:
    """The numbers in [0, 1) of blocks: four a block, two for float64."""
    a, b, c, d = found
    if dtype is dtypes.float64:
        return [_unit_double(xp, a, b), _unit_double(xp, c, d)]
    return [_unit(xp, w, dtype) for w in (a, b, c, d)]


def normal(xp: Any, stream: Stream, shape: tuple[int, ...], dtype: DType) -> Array:
    """Numbers of mean 0 and standard deviation 1; float16 and bfloat16 are rounded from float32."""
    count = math.prod(shape)
    if dtype is dtypes.float64:
        found = list(blocks(xp, stream, _numbered(xp, -(-count // 2))))
        return _flat(xp, normals_of(xp, found, dtype), shape)
    pairs = native_random.unit_pairs(stream, -(-count // 2)) if xp is np else None
    if pairs is not None:
        return _normals_of_units(pairs)[:count].reshape(shape).astype(dtype.numpy_dtype, copy=False)
    u, v = word_pairs(xp, stream, -(-count // 2))
    x, y = _box_muller(xp, _unit(xp, u, dtypes.float32), _unit(xp, v, dtypes.float32))
    if xp is np:
        return _flat(xp, [x, y], shape).astype(dtype.numpy_dtype)
    bits = _join(xp, lax.bitcast_convert_type(x, np.uint32), lax.bitcast_convert_type(y, np.uint32))
    flat = lax.bitcast_convert_type(bits, np.float32).reshape(
        -1
    )  # neighbours without an interleaving copy
    return flat[:count].reshape(shape).astype(dtype.numpy_dtype)


def truncated_normal(xp: Any, stream: Stream, shape: tuple[int, ...], dtype: DType) -> Array:
    """Normal numbers, drawn again while they are 2 or more away from 0.

    Each group of outputs (four; two for float64) has blocks of its own, TRUNCATED_BLOCKS an output,
    and keeps the first numbers that fit.
    """
    width = 2 if dtype is dtypes.float64 else 4
    groups = -(-math.prod(shape) // width)
    real = np.dtype(np.float64 if dtype is dtypes.float64 else np.float32)
    if xp is np:
        rows = native_random.truncated(stream, groups, width * TRUNCATED_BLOCKS, real)
        if rows is not None:
            flat = rows.reshape(-1)[: math.prod(shape)]
            return flat.reshape(shape).astype(dtype.numpy_dtype)
    first = _numbered(xp, groups) * np.uint64(width * TRUNCATED_BLOCKS)
    state = (
        np.uint64(0),
        xp.zeros((groups,), xp.int32),
        tuple(xp.zeros((groups,), real) for _ in range(width)),
    )

    def draw(state: Any) -> Any:
        number, filled, kept = state
        found = list(blocks(xp, stream, first + number))
        for value in normals_of(xp, found, dtype):
            fits = xp.abs(value) < 2
            kept = tuple(xp.where(fits & (filled == i), value, k) for i, k in enumerate(kept))
            filled = filled + fits.astype(xp.int32)
        return number + np.uint64(1), filled, kept

    def incomplete(state: Any) -> Any:
        return (state[1] < width).any()

    if xp is np:
        while incomplete(state):
            state = draw(state)
    else:
        state = jax.lax.while_loop(incomplete, draw, state)
    return _flat(xp, list(state[2]), shape).astype(dtype.numpy_dtype)
