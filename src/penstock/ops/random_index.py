"""Shuffled indices: where an index goes in an order of [0, max_index] that is never made.

A Feistel network permutes the smallest set of an even number of bits that holds every index; an
index that leaves the range is sent on until it is back, which keeps it a permutation.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, kernel
from penstock.core.lazy import lax
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.composing import tensor
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray, jax.Array or a tracer
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))  # of the generator SplitMix64
_STEP = 0x9E3779B97F4A7C15
LEAST_ROUNDS = 4


def _shape(c: ShapeContext) -> Dims:
    sizes: set[int | None] = set()
    unknown = False
    for i, name, least in ((0, "index", 0), (1, "seed", 1), (2, "max_index", 0)):
        dims = c.shape(i)
        if dims is None:
            unknown = True
            continue
        if not least <= len(dims) <= least + 1:
            c.fail(f"{name} of rank {least} or {least + 1}", f"shape {list(dims)}")
        if least and dims[-1] not in (None, 3):
            c.fail("a seed of shape [3] or [n, 3]", f"shape {list(dims)}")
        if len(dims) > least:
            sizes.add(dims[0])
    known = sizes - {None}
    if len(known) > 1:
        c.fail("index, seeds and max_index of one length", f"lengths {sorted(map(str, known))}")
    if not sizes:
        return None if unknown else ()
    return (known.pop() if known else None,)


RANDOM_INDEX_SHUFFLE = define_op(
    "RandomIndexShuffle(index: dtype, seed: Tseed, max_index: dtype; rounds: int = 4, dtype: "
    "{int32, uint32, int64, uint64}, Tseed: {int32, uint32, int64, uint64}) -> output: dtype",
    shape=_shape,
    fallible=True,
    doc="Where an index goes in an order of [0, max_index] that a seed decides.",
).not_differentiable("its numbers are integers")


def _mixed(xp: Any, x: Array) -> Array:
    for shift, factor in _MIX:
        x = (x ^ (x >> xp.uint64(shift))) * xp.uint64(factor)
    return x ^ (x >> xp.uint64(31))


def _permuted(xp: Any, x: Array, keys: list[Array], half: Array) -> Array:
    """Once through the network: numbers of 2 * `half` bits."""
    mask = (xp.uint64(1) << half) - xp.uint64(1)
    left, right = x >> half, x & mask
    for key in keys:
        left, right = right, left ^ (_mixed(xp, right + key) & mask)
    return left << half | right


def _half_bits(xp: Any, largest: Array) -> Array:
    """Half of the even number of bits that holds `largest`, at least 1."""
    pairs = [
        (largest >> xp.uint64(2 * i)) > 0 for i in range(1, 32)
    ]  # one more bit each while two more are needed
    total = xp.ones_like(largest)
    for needed in pairs:
        total = total + needed.astype(xp.uint64)
    return total


@kernel(RANDOM_INDEX_SHUFFLE)
def _index_shuffle(
    ctx: KernelContext, xp: Any, index: Array, seed: Array, max_index: Array, *, rounds: int
) -> Array:
    ctx.check(
        ((max_index >= index) & (index >= 0)).all(),
        errors.InvalidArgumentError,
        lambda: "max_index must be >= index, and index >= 0. Pass indices of [0, max_index].",
    )
    return _shuffled(xp, index, seed, max_index, rounds)


def _shuffled(xp: Any, index: Array, seed: Array, max_index: Array, rounds: int) -> Array:
    words = xp.asarray(seed).astype(xp.uint64)
    key = xp.zeros_like(words[..., 0])
    for i in range(3):
        key = _mixed(xp, key * xp.uint64(_STEP) + words[..., i] + xp.uint64(_STEP))
    steps = [(_STEP * (i + 1)) % 2**64 for i in range(max(rounds, LEAST_ROUNDS))]
    keys = [_mixed(xp, key + xp.uint64(step)) for step in steps]
    largest = xp.asarray(max_index).astype(xp.uint64)
    half = _half_bits(xp, largest)
    start = _permuted(xp, xp.asarray(index).astype(xp.uint64), keys, half)
    found = _within(xp, start, largest, lambda x: _permuted(xp, x, keys, half))
    return found.astype(index.dtype)


def positions(seed: tuple[int, int, int], count: int, rounds: int) -> list[int]:
    """Where the indices below `count` go in the order that a seed decides; see the operation."""
    if not count:
        return []
    words = np.array(seed, np.int64)
    indices = np.arange(count, dtype=np.int64)
    with np.errstate(over="ignore"):  # numbers wrap
        found = _shuffled(np, indices, words, np.int64(count - 1), rounds)
    return found.tolist()  # type: ignore[no-any-return]


def _within(xp: Any, x: Array, largest: Array, permute: Any) -> Array:
    """Sends on what is beyond `largest` until nothing is."""

    def on(x: Array) -> Array:
        return xp.where(x > largest, permute(x), x)

    if xp is not np:
        return lax.while_loop(lambda x: (x > largest).any(), on, x)
    while (x > largest).any():
        x = on(x)
    return x


def index_shuffle(index: Any, seed: Any, max_index: Any) -> Any:
    """Where an index goes in an order of [0, max_index] that is never made.

    The indices of [0, max_index] all go to different places, and the same seed gives the same
    order. A single cipher of few rounds decides it: good for data, not for cryptography.

    Args:
      index: int32, uint32, int64 or uint64, a scalar or [n].
      seed: integers [2], or [n, 2] for one order for each index.
      max_index: the last index, of the dtype of `index`: a scalar or [n].

    Returns:
      The new indices, of the dtype of `index`.

    Raises:
      InvalidArgumentError, ValueError: shapes do not fit, or an index is beyond `max_index`.

    Example:
      >>> import penstock as tf
      >>> sorted(int(tf.random.experimental.index_shuffle(i, [1, 2], 4)) for i in range(5))
      [0, 1, 2, 3, 4]
    """
    seed = tensor(seed)
    padded = execute("ConcatV2", ([seed, seed[..., -1:] * 0], -1))
    return execute(RANDOM_INDEX_SHUFFLE, (index, padded, max_index))
