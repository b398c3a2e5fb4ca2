"""What `tf.print` shows of ragged tensors, and of texts that are no plain ones."""

import pytest

import penstock as tf


@pytest.mark.parametrize("mode", [lambda f: f, tf.function])
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (tf.ragged.constant([[1], [2, 3], [4], [5], [6, 7]]), b"[[1], ..., [6, 7]]"),
        ([tf.ragged.constant([["a"], []]), 1], b"[[['a'], []], 1]"),
        ({"a": tf.ragged.constant([[[1]]])}, b"{'a': [[[1]]]}"),
        (tf.constant(b"a\xff\n\"q\""), b'a\xff\n"q"'),
        ([tf.constant("x")], b'["x"]'),
        (tf.constant([b"\xff\xc3\xa9\n\t\r\"'\\\x01\x7f2"]),
         b'["\xff\xc3\xa9\\n\\t\\r\\"\\\'\\\\\\001\\1772"]'),
    ],
)  # fmt: skip
def test_print_shows_ragged_rows_and_escapes_texts_in_tensors(mode, value, shown, tmp_path):
    path = tmp_path / "printed"

    @mode
    def run():
        tf.print(value, summarize=1, output_stream=f"file://{path}")

    run()
    assert path.read_bytes() == shown + b"\n"
