"""Padding and moving of blocks: what the host writes in slices is what XLA's code gives."""

import numpy as np
import pytest

import penstock as tf

RNG = np.random.default_rng(21)
raw = tf.raw_ops
PADDINGS = [
    [[0, 0], [0, 0], [0, 0]],
    [[1, 0], [0, 2], [0, 0]],
    [[2, 2], [3, 1], [1, 1]],
    [[0, 2], [0, 3], [0, 1]],
]


def _both_ways(operation, x, **given):
    """What an operation gives for `x` at once, and compiled by XLA."""
    compiled = tf.function(lambda x: operation(x, **given), jit_compile=True)
    return operation(x, **given).numpy(), compiled(x).numpy()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "bool", "complex64"])
@pytest.mark.parametrize("paddings", PADDINGS)
@pytest.mark.parametrize("sizes", [(3, 4, 2), (3, 4, 0)])
def test_pad_with_a_constant(sizes, paddings, dtype):
    x = tf.cast(RNG.integers(0, 5, sizes), dtype)
    value = tf.cast(1, dtype)
    for found, expected in (
        _both_ways(lambda x: raw.Pad(input=x, paddings=paddings), x),
        _both_ways(lambda x: raw.PadV2(input=x, paddings=paddings, constant_values=value), x),
    ):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


def test_pad_texts_and_scalars():
    assert raw.Pad(input=["a"], paddings=[[1, 2]]).numpy().tolist() == [b"", b"a", b"", b""]
    padded = raw.PadV2(input=["a"], paddings=[[1, 0]], constant_values="b")
    assert padded.numpy().tolist() == [b"b", b"a"]
    none = np.zeros((0, 2), np.int32)
    assert raw.Pad(input=3.0, paddings=none).numpy() == 3
    assert raw.PadV2(input=3.0, paddings=none, constant_values=1.0).numpy() == 3
    assert raw.Pad(input="a", paddings=none).numpy() == b"a"


def test_matrices_of_texts_hold_their_bytes():
    given = {"k": 0, "num_rows": -1, "num_cols": -1, "padding_value": ""}
    for operation in (raw.MatrixDiagV2, raw.MatrixDiagV3):
        found = operation(diagonal=["a", "b"], **given).numpy()
        assert found.tolist() == [[b"a", b""], [b"", b"b"]]


def test_stacks_of_texts_hold_their_bytes():
    for one, other in (("a", "b"), (["a", "b"], ["c", "d"])):
        given = [tf.constant(one), tf.constant(other)]
        for axis in (0, -1):
            packed = raw.Pack(values=given, axis=axis).numpy()
            assert {type(text) for text in packed.ravel()} == {bytes}
            back = raw.Unpack(value=packed, num=2, axis=axis)
            for found, wanted in zip(back, given, strict=True):
                np.testing.assert_array_equal(found.numpy(), wanted.numpy())


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize("paddings", PADDINGS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int16"])
def test_mirrors_and_their_gradients(dtype, paddings, mode):
    x = tf.cast(RNG.integers(-9, 9, (3, 4, 2)), dtype)
    given = {"paddings": paddings, "mode": mode}
    padded, expected = _both_ways(lambda x: raw.MirrorPad(input=x, **given), x)
    np.testing.assert_array_equal(padded, expected)
    np.testing.assert_array_equal(padded, np.pad(x.numpy(), paddings, mode.lower()))
    back, expected = _both_ways(lambda x: raw.MirrorPadGrad(input=x, **given), tf.constant(padded))
    np.testing.assert_array_equal(back, expected)


def test_mirror_gradient_keeps_what_nothing_is_added_to():
    minus = np.full(6, -0.0, np.float32)
    found = raw.MirrorPadGrad(input=minus, paddings=[[1, 1]], mode="REFLECT").numpy()
    assert np.signbit(found).all()  # as TensorFlow's


@pytest.mark.parametrize("edges", [[[0, 0], [0, 0]], [[2, 0], [1, 2]], [[0, 2], [0, 0]]])
@pytest.mark.parametrize("sizes", [(2, 4, 3, 5), (1, 4, 6), (0, 4, 3, 1)])
def test_blocks_to_the_batch_and_back(sizes, edges):
    edges = [edges[0], [0, 0] if sizes[2] % 3 + sum(edges[1]) % 3 else edges[1]]
    x = tf.constant(RNG.normal(size=sizes).astype(np.float32))
    block = [2, 3]
    spread, expected = _both_ways(
        lambda x: raw.SpaceToBatchND(input=x, block_shape=block, paddings=edges), x
    )
    np.testing.assert_array_equal(spread, expected)
    back, expected = _both_ways(
        lambda x: raw.BatchToSpaceND(input=x, block_shape=block, crops=edges), tf.constant(spread)
    )
    np.testing.assert_array_equal(back, expected)
    np.testing.assert_array_equal(back, x)
