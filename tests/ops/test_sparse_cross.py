"""Crossed features; hashes are TensorFlow 2.21's."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

INVALID = tf.errors.InvalidArgumentError
CELLS = [[0, 0], [1, 0], [1, 1]]
A = tf.SparseTensor(CELLS, ["a", "b", "c"], [2, 2])
B = tf.SparseTensor(CELLS, ["d", "e", "f"], [2, 2])
NUMBERS = tf.SparseTensor([[0, 0], [1, 0]], tf.constant([5, 7], tf.int64), [2, 1])
DENSE = tf.constant([["x", "y"], ["z", "w"]])


def test_strings_are_joined() -> None:
    """SparseCrossV2: the last column changes fastest."""
    found = tf.sparse.cross([A, B])
    assert found.indices.numpy().tolist() == [[0, 0], [1, 0], [1, 1], [1, 2], [1, 3]]
    assert found.values.numpy().tolist() == [b"a_X_d", b"b_X_e", b"b_X_f", b"c_X_e", b"c_X_f"]
    assert found.shape == [2, 4]
    mixed = tf.sparse.cross([DENSE, NUMBERS], separator="-")
    assert mixed.values.numpy().tolist() == [b"5-x", b"5-y", b"7-z", b"7-w"]
    one = tf.SparseTensor([[1, 0]], ["z"], [2, 3])
    assert tf.sparse.cross([A, one]).values.numpy().tolist() == [b"b_X_z", b"c_X_z"]


@pytest.mark.parametrize(
    ("columns", "options", "hashes"),
    [
        ([A], {}, [3550520439517529108, 5701958020731327761, 5287514571041673476]),
        ([A, NUMBERS], {}, [1019146045564160463, 443223928722139976, 2520330290548275089]),
        ([NUMBERS, NUMBERS], {}, [6965985689130226624, 8959422181182942634]),
        ([A, B], {"num_buckets": 100}, [82, 61, 89, 41, 68]),
        ([A, B], {"num_buckets": 100, "hash_key": 123}, [54, 56, 80, 77, 53]),
    ],
)
def test_hashes(columns: list[Any], options: dict[str, Any], hashes: list[int]) -> None:
    assert tf.sparse.cross_hashed(columns, **options).values.numpy().tolist() == hashes


def test_raw_operation_makes_strings_too() -> None:
    found = tf.raw_ops.SparseCross(
        indices=[A.indices], values=[A.values], shapes=[A.dense_shape], dense_inputs=[],
        hashed_output=False, num_buckets=0, hash_key=0, out_type=tf.string, internal_type=tf.string,
    )  # fmt: skip
    assert found.output_values.numpy().tolist() == [b"a", b"b", b"c"]


def raw(dense: list[Any], **attrs: Any) -> list[Any]:
    """The values that SparseCross gives of columns that are dense."""
    found = tf.raw_ops.SparseCross(
        indices=[], values=[], shapes=[], dense_inputs=dense, hash_key=956888297470, **attrs
    )
    return found.output_values.numpy().tolist()  # type: ignore[no-any-return]


NUMBERS_OF_ROWS = [np.array([[1], [5]]), np.array([[2], [3]])]
TEXT_OF_ROWS = [np.array([[b"a"], [b"c"]]), np.array([[b"b"], [b"d"]])]


@pytest.mark.parametrize("hashed", [True, False])
def test_the_dtype_of_the_output_says_whether_values_are_hashed(hashed: bool) -> None:
    attrs = {"hashed_output": hashed, "num_buckets": 100, "internal_type": tf.int64}
    assert raw(NUMBERS_OF_ROWS, out_type=tf.int64, **attrs) == [57, 42]
    assert raw(TEXT_OF_ROWS, out_type=tf.int64, **attrs) == [86, 22]
    assert raw(NUMBERS_OF_ROWS, out_type=tf.string, **attrs) == [b"1_X_2", b"5_X_3"]


def test_numbers_do_not_go_through_strings() -> None:
    attrs = {"hashed_output": True, "num_buckets": 100, "internal_type": tf.string}
    assert raw(TEXT_OF_ROWS, out_type=tf.int64, **attrs) == [86, 22]
    with pytest.raises(tf.errors.InvalidArgumentError, match="internal_type=int64 takes both"):
        raw([NUMBERS_OF_ROWS[0], TEXT_OF_ROWS[0]], out_type=tf.int64, **attrs)


def salted(columns: list[Any], dense: Any = (), **more: Any) -> list[int]:
    """The values that SparseCrossHashed gives, for `num_buckets` 1000 and salt [1, 2]."""
    options = {"num_buckets": 1000, "strong_hash": False, "salt": [1, 2], **more}
    found = tf.raw_ops.SparseCrossHashed(
        indices=[c.indices for c in columns], values=[c.values for c in columns],
        shapes=[c.dense_shape for c in columns], dense_inputs=list(dense), **options,
    )  # fmt: skip
    return found.output_values.numpy().tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("options", "hashes"),
    [
        ({}, [638, 120, 396, 918]),
        ({"strong_hash": True}, [934, 816, 293, 105]),
        ({"salt": [7, 8]}, [638, 120, 396, 918]),
        ({"strong_hash": True, "salt": [7, 8]}, [589, 424, 312, 677]),
        ({"num_buckets": 1}, [0, 0, 0, 0]),
        ({"num_buckets": -3}, [
            598440913169127831, 4641000509844720313, 5351530424226319396, 1621918656961971918,
        ]),
        ({"dense": [[["p"], ["q"]]]}, [956, 927, 858, 25]),
        ({"dense": [tf.constant([[5], [6]], tf.int64)]}, [51, 122, 366, 892]),
    ],
)  # fmt: skip
def test_salted_hashes(options: dict[str, Any], hashes: list[int]) -> None:
    """TensorFlow's, weak and strong, of text and of integers."""
    left = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "b", "c"], [2, 2])
    right = tf.SparseTensor(CELLS, ["x", "y", "z"], [2, 2])
    assert salted([left, right], **options) == hashes


def test_salted_hashes_of_integers() -> None:
    """The low four bytes count, as in TensorFlow; without a column nothing is crossed."""
    for number, weak, strong in (
        (-1, 3427172234988467876, 8014179090728985755),
        (2**40 + 5, 6963635240778461613, 112910862072883125),
    ):
        column = tf.SparseTensor([[0, 0]], tf.constant([number], tf.int64), [1, 1])
        assert salted([column], num_buckets=0) == [weak]
        assert salted([column], num_buckets=0, strong_hash=True) == [strong]
    for salt in ([1], [1, 2, 3]):
        with pytest.raises(INVALID, match=f'"salt" must have length 2 but has length {len(salt)}'):
            salted([A], salt=salt)


def test_refuses() -> None:
    with pytest.raises(TypeError, match="must be Tensor or SparseTensor; input 1 is list"):
        tf.sparse.cross([A, [["x"]]])
    with pytest.raises(INVALID, match=r"equal, got \[1, 2\] rows"):
        tf.sparse.cross([A, tf.constant([["x"]])])
    with pytest.raises(INVALID, match="num_buckets"):
        tf.sparse.cross_hashed([A], num_buckets=-1)
    with pytest.raises(INVALID, match=r"dense_inputs\[0\] of rank 2"):
        tf.sparse.cross([A, tf.constant(["x", "y"])])


def test_more_combinations_than_int64_counts_are_refused() -> None:
    wide = tf.zeros([1, 256], tf.int64)  # 8 of them have 2**64 combinations, which would wrap to 0
    for cross in (tf.sparse.cross, tf.sparse.cross_hashed, tf.ragged.cross, tf.ragged.cross_hashed):
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"got some 1\.84e\+19"):
            cross([wide] * 8)
