"""Shuffled indices are a permutation that the seed decides."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

shuffle = tf.random.experimental.index_shuffle


@pytest.mark.parametrize("largest", [0, 1, 2, 3, 4, 9, 63, 64, 1000])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_a_permutation_of_every_size(largest: int, dtype: str) -> None:
    index = tf.range(largest + 1)
    index = tf.constant(index.numpy().astype(dtype))
    moved = shuffle(index, [1, 2], tf.constant(largest, dtype))
    assert moved.dtype == dtype
    np.testing.assert_array_equal(np.sort(moved), index)


def test_the_operation_takes_three_words_and_rounds() -> None:
    orders = [
        [
            int(tf.raw_ops.RandomIndexShuffle(index=i, seed=[1, 2, 3], max_index=9, rounds=rounds))
            for i in range(10)
        ]
        for rounds in (4, 8)
    ]
    assert orders[0] != orders[1]
    assert [sorted(order) for order in orders] == [list(range(10))] * 2


def test_the_seed_decides() -> None:
    index = tf.range(1000)
    orders = {tuple(shuffle(index, [1, i], 999).numpy().tolist()) for i in range(20)}
    assert len(orders) == 20
    np.testing.assert_array_equal(shuffle(index, [1, 3], 999), shuffle(index, [1, 3], 999))
    far = np.abs(shuffle(index, [5, 6], 999).numpy() - np.arange(1000)).mean()
    assert 280 < far < 390  # a third of the length in a random order


@pytest.mark.parametrize("jit_compile", [None, True])
def test_compiled_as_on_the_host(jit_compile: Any) -> None:
    traced = tf.function(lambda i, s, m: shuffle(i, s, m), jit_compile=jit_compile)
    index = tf.range(100)
    expected = shuffle(index, [7, -8], 99)
    np.testing.assert_array_equal(traced(index, tf.constant([7, -8]), tf.constant(99)), expected)


def test_seeds_and_ranges_of_their_own() -> None:
    moved = shuffle([3, 4], [[1, 2], [3, 4]], [9, 12])
    assert moved.numpy().tolist() == [int(shuffle(3, [1, 2], 9)), int(shuffle(4, [3, 4], 12))]
    large = shuffle(tf.constant(2**62, tf.int64), [1, 2], tf.constant(2**63 - 1, tf.int64))
    assert 0 <= int(large) <= 2**63 - 1


def test_wrong_arguments() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="max_index must be >= index"):
        shuffle(10, [1, 2], 9)
    with pytest.raises(tf.errors.InvalidArgumentError, match="seed of shape"):
        shuffle(1, [1, 2, 3], 9)
    with pytest.raises(tf.errors.InvalidArgumentError, match="of one length"):
        shuffle([1, 2, 3], [[1, 2], [3, 4]], 9)
