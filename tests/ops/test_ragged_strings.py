"""`strings.format` of ragged tensors, as recorded from TensorFlow 2.21."""

from typing import Any

import pytest

import penstock as tf

LONG = [list(range(7)), [1, 2]]
CASES: list[tuple[int, Any, bytes]] = [
    (3, LONG, b"[[0, 1, 2, ..., 4, 5, 6], [1, 2]]"),
    (1, LONG, b"[[0, ..., 6], [1, 2]]"),
    (-1, LONG, b"[[0, 1, 2, 3, 4, 5, 6], [1, 2]]"),
    (3, [[1, 2, 3, 4, 5, 6]], b"[[1, 2, 3, 4, 5, 6]]"),
    (2, [[1]] * 7, b"[[1], [1], ..., [1], [1]]"),
    (3, [[1.5], []], b"[[1.500000], []]"),
    (3, [["a", "b"]], b"[['a', 'b']]"),
    (3, [[[1, 2], [3]], []], b"[[[1, 2], [3]], []]"),
    (3, [[True, False]], b"[[true, false]]"),
]


@pytest.mark.parametrize(("summarize", "rows", "expected"), CASES)
def test_rows_in_brackets(summarize: int, rows: Any, expected: bytes) -> None:
    made = tf.strings.format("x = {}.", tf.ragged.constant(rows), summarize=summarize)
    assert made.numpy() == b"x = " + expected + b"."


def test_beside_a_tensor_and_in_a_function() -> None:
    @tf.function
    def text(x: Any) -> Any:
        return tf.strings.format("{} {}", (x, tf.constant([1, 2])))

    assert text(tf.ragged.constant([[1], []])).numpy() == b"[[1], []] [1 2]"


def test_uniform_inner_dimensions() -> None:
    x = tf.RaggedTensor.from_row_lengths([[1.0, 2.0]], [1, 0])
    assert tf.strings.format("{}", x).numpy() == b"[[[1.000000, 2.000000]], []]"


def test_refusals() -> None:
    x = tf.ragged.constant([[1], []])
    with pytest.raises(ValueError, match="positive int, got 0"):
        tf.strings.format("{}", x, summarize=0)
    with pytest.raises(ValueError, match="expects 2 tensors, but the inputs only has 1"):
        tf.strings.format("{} {}", x)


def test_split_of_ragged_strings_of_unknown_rank():
    @tf.function(input_signature=[tf.RaggedTensorSpec(None, tf.string, 1)])
    def parts(text):
        found = tf.strings.split(text)
        assert found.shape == [None, None, None]
        return found

    assert parts(tf.ragged.constant([["a b"], []])).to_list() == [[[b"a", b"b"]], []]


@pytest.mark.parametrize("function", [tf.strings.split, tf.strings.bytes_split])
def test_only_strings_are_split(function):
    with pytest.raises(ValueError, match="string"):
        function(tf.constant([1]))
