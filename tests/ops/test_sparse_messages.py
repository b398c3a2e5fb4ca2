"""Sparse tensors as strings: SerializeSparse, SerializeManySparse and back."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

INVALID = tf.errors.InvalidArgumentError
A = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [1.0, 2.0, 3.0], [2, 3])


def parts(value: Any) -> tuple[list[Any], list[Any], list[int]]:
    indices, values, shape = (t.numpy().tolist() for t in value)
    return indices, values, shape


def test_bytes_are_tensorflows() -> None:
    _, values, shape = tf.io.serialize_sparse(A).numpy().tolist()
    assert values == b'\x08\x01\x12\x04\x12\x02\x08\x03"\x0c' + np.float32([1, 2, 3]).tobytes()
    assert shape == b'\x08\t\x12\x04\x12\x02\x08\x02"\x10' + np.int64([2, 3]).tobytes()
    text = tf.io.serialize_sparse(tf.SparseTensor([[0]], ["ab"], [1])).numpy()[1]
    assert text == b'\x08\x07\x12\x04\x12\x02\x08\x01"\x03\x02ab'


@pytest.mark.parametrize(
    "values", [[1, 2, 3], [True, False, True], ["a", "", "x" * 300], [1j, 2, 3]]
)
def test_there_and_back(values: Any) -> None:
    given = tf.SparseTensor(A.indices, values, A.dense_shape)
    wanted = parts((given.indices, given.values, given.dense_shape))
    one = tf.io.serialize_sparse(given)
    assert parts(tf.raw_ops.DeserializeSparse(serialized_sparse=one, dtype=given.dtype)) == wanted
    many = tf.io.deserialize_many_sparse(tf.io.serialize_many_sparse(given), given.dtype)
    assert parts((many.indices, many.values, many.dense_shape)) == wanted


def test_put_together() -> None:
    """DeserializeManySparse: the result is as large as the largest."""
    other = tf.SparseTensor([[0, 4]], [9.0], [1, 7])
    rows = tf.stack([tf.io.serialize_sparse(A), tf.io.serialize_sparse(other)])
    found = tf.io.deserialize_many_sparse(rows, tf.float32, rank=3)
    assert parts((found.indices, found.values, found.dense_shape)) == (
        [[0, 0, 0], [0, 0, 2], [0, 1, 1], [1, 0, 4]], [1, 2, 3, 9], [2, 2, 7],
    )  # fmt: skip
    deep = tf.raw_ops.DeserializeSparse(
        serialized_sparse=tf.reshape(rows, [2, 1, 3]), dtype=tf.float32
    )
    assert deep.sparse_shape.numpy().tolist() == [2, 1, 2, 7]


def test_refuses() -> None:
    rows = tf.expand_dims(tf.io.serialize_sparse(A), 0)
    with pytest.raises(
        INVALID, match=r"type int32 but SparseTensor\[0\]\.values.dtype\(\) == float32"
    ):
        tf.io.deserialize_many_sparse(rows, tf.int32)
    with pytest.raises(INVALID, match="zero dimension"):
        tf.io.deserialize_many_sparse(tf.zeros([0, 3], tf.string), tf.int32)
    with pytest.raises(INVALID, match="3 as the last dimension"):
        tf.io.deserialize_many_sparse([["a", "b"]], tf.int32)
    with pytest.raises(INVALID, match="rank at least 2"):
        tf.io.serialize_many_sparse(tf.SparseTensor([[1]], [1], [3]))
    with pytest.raises(TypeError, match="SparseTensor"):
        tf.io.serialize_sparse([1])


def test_variants() -> None:
    """What strings can do variants can, of any dtype, in functions too; others are refused."""
    for values in ([1, 2], [1.5, -2.0], ["a", "bc"]):
        given = tf.SparseTensor([[0, 1], [1, 0]], values, [2, 3])
        one = tf.io.serialize_sparse(given, out_type=tf.variant)
        many = tf.io.serialize_many_sparse(given, out_type=tf.variant)
        assert (one.shape, many.shape, one.dtype) == ([3], [2, 3], tf.variant)
        attrs = {"dtype": given.dtype}
        for rows, indices, size in (
            (one, [[0, 1], [1, 0]], [2, 3]),
            (many, [[0, 1], [1, 0]], [2, 3]),
            (tf.stack([one, one]), [[0, 0, 1], [0, 1, 0], [1, 0, 1], [1, 1, 0]], [2, 2, 3]),
        ):
            for run in (tf.raw_ops.DeserializeSparse, tf.function(tf.raw_ops.DeserializeSparse)):
                found = run(serialized_sparse=rows, **attrs)
                assert found[0].numpy().tolist() == indices
                assert found[1].numpy().tolist() == given.values.numpy().tolist() * (
                    len(indices) // 2
                )
                assert found[2].numpy().tolist() == size
    refused = {
        "of type int32 but SparseTensor.0..values.dtype.. == string": one,
        "int64 indices of rank 2 and an int64 shape of rank 1, got string": tf.gather(
            one, [1, 0, 2]
        ),
        "Could not get a tensor from an element": tf.stack([tf.raw_ops.EmptyTensorMap()] * 3),
        "a zero dimension": many[:0],
    }
    for match, rows in refused.items():
        with pytest.raises(INVALID, match=match):
            tf.raw_ops.DeserializeSparse(serialized_sparse=rows, dtype=tf.int32)


def test_strings_from_strangers() -> None:
    """Cut off, or with bytes changed, they parse or are refused; nothing else happens."""
    given = tf.SparseTensor([[0, 0], [1, 2]], ["ab", "cde"], [2, 3])
    row = tf.io.serialize_sparse(given).numpy().tolist()
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(300):
        broken = [bytearray(text) for text in row]
        chosen = broken[rng.integers(3)]
        if rng.integers(2):
            del chosen[rng.integers(len(chosen)) :]
        else:
            chosen[rng.integers(len(chosen))] = rng.integers(256)
        try:
            tf.io.deserialize_many_sparse([[bytes(b) for b in broken]], tf.string)
        except INVALID:
            refused += 1
    assert refused > 200


def test_claims_of_many_strings_are_refused() -> None:
    claim = b'\x08\x07\x12\x09\x12\x07\x08\x80\x80\x80\x80\x80\x40"\x01\x00'
    row = tf.io.serialize_sparse(tf.SparseTensor([[0]], ["a"], [1])).numpy().tolist()
    with pytest.raises(INVALID, match="does not fit its content"):
        tf.io.deserialize_many_sparse([[row[0], claim, row[2]]], tf.string)
