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


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex128", "bool", "string", "bfloat16"])
def test_many_rows_in_any_order(dtype: str) -> None:
    rng = np.random.default_rng(4)
    rows = np.array([3, 0, 3, 5, 0, 3])  # some are empty, those of one keep their order
    indices = np.stack([rows, rng.integers(0, 900, 6), rng.integers(0, 3, 6)], 1)
    values = (
        tf.cast(rng.integers(0, 2, 6), dtype) if dtype != "string" else tf.constant([*"abcdef"])
    )
    given = tf.SparseTensor(indices, values, [7, 900, 3])
    many = tf.io.serialize_many_sparse(given)
    order = np.argsort(rows, kind="stable")
    for row in range(7):
        mine = order[rows[order] == row]
        one = tf.SparseTensor(indices[mine][:, 1:], tf.gather(values, mine), [900, 3])
        assert (tf.io.serialize_sparse(one).numpy() == many[row].numpy()).all()
    found = tf.io.deserialize_many_sparse(many, values.dtype)
    np.testing.assert_array_equal(found.indices, indices[order])
    np.testing.assert_array_equal(found.values, tf.gather(values, order))
    assert found.dense_shape.numpy().tolist() == [7, 900, 3]


def test_positions_outside_of_their_own_shape_are_refused() -> None:
    small = tf.SparseTensor([[0, 2]], [1.0], [1, 3])
    large = tf.SparseTensor([[0, 4]], [9.0], [1, 7])
    rows = tf.stack([tf.io.serialize_sparse(s) for s in (large, small)]).numpy()
    for place in (3, -1):
        rows[1][0] = tf.io.serialize_sparse(tf.SparseTensor([[0, place]], [1.0], [1, 9])).numpy()[0]
        with pytest.raises(INVALID, match=r"SparseTensor\[1\]: expected indices inside"):
            tf.io.deserialize_many_sparse(rows, tf.float32)


def test_damaged_messages_are_refused_or_read() -> None:
    rng = np.random.default_rng(1)
    whole = tf.io.serialize_sparse(A).numpy()
    for _ in range(400):
        data = whole.copy()
        part, at = rng.integers(0, 3), rng.integers(0, 14)
        text = bytearray(data[part])
        text[at % len(text)] = rng.integers(0, 256)
        data[part] = bytes(text)[: rng.integers(0, 2 * len(text))]
        try:
            found = tf.raw_ops.DeserializeSparse(serialized_sparse=data, dtype=tf.float32)
        except (tf.errors.OpError, TypeError):
            continue
        assert len(found.sparse_indices) == len(found.sparse_values)
