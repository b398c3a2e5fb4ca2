"""A dtype argument that is None stands for the operation's own default, as in TensorFlow."""

import pytest

import penstock as tf

LOGITS = [[1.0, 2.0]]

CALLS = {
    "stateless_categorical": (
        lambda: tf.random.stateless_categorical(LOGITS, 2, [1, 2], dtype=None),
        tf.int64,
    ),
    "stateless_binomial": (
        lambda: tf.random.stateless_binomial([2], [1, 2], 3.0, 0.5, output_dtype=None),
        tf.int64,
    ),
    "poisson": (lambda: tf.random.poisson([2], 1.0, dtype=None), tf.int64),
    "stateless_normal": (lambda: tf.random.stateless_normal([2], [1, 2], dtype=None), tf.float32),
    "stateless_truncated_normal": (
        lambda: tf.random.stateless_truncated_normal([2], [1, 2], dtype=None),
        tf.float32,
    ),
    "Generator.normal": (
        lambda: tf.random.Generator.from_seed(1).normal([2], dtype=None),
        tf.float32,
    ),
    "unique": (lambda: tf.unique([1, 2], out_idx=None).idx, tf.int32),
    "unique_with_counts": (lambda: tf.unique_with_counts([1, 2], out_idx=None).count, tf.int32),
    "searchsorted": (lambda: tf.searchsorted([1, 2], [1], out_type=None), tf.int32),
    "sequence_mask": (lambda: tf.sequence_mask([1, 2], dtype=None), tf.bool),
    "bincount": (lambda: tf.math.bincount([1], dtype=None), tf.int32),
}


@pytest.mark.parametrize("name", CALLS)
def test_none_is_the_default(name) -> None:
    call, dtype = CALLS[name]
    assert call().dtype == dtype
