"""Single diagonals of matrices beside those of NumPy: all of them, wide and high matrices."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

SHAPES = [(3, 3), (2, 5), (5, 2), (1, 4), (4, 1), (2, 3, 4), (2, 0, 3, 3)]


def numbers(shape: Any) -> Any:
    return np.arange(1.0, np.prod(shape) + 1, dtype=np.float32).reshape(shape)


@pytest.mark.parametrize(
    ("shape", "compiled"), [*((s, False) for s in SHAPES), ((2, 3), True), ((3, 1), True)]
)
def test_each_diagonal(shape: Any, compiled: bool) -> None:
    x = numbers(shape)
    wrap = tf.function(jit_compile=True) if compiled else lambda f: f
    for k in range(1 - shape[-2], shape[-1]):
        wanted = np.diagonal(x, k, -2, -1)
        found = wrap(lambda v: tf.linalg.diag_part(v, k=k))(tf.constant(x))  # noqa: B023
        assert np.array_equal(found, wanted)
        other = -numbers(wanted.shape)
        changed = wrap(lambda v, d: tf.linalg.set_diag(v, d, k=k))(tf.constant(x), other)  # noqa: B023
        assert np.array_equal(np.diagonal(changed, k, -2, -1), other)
        rest = ~np.eye(*shape[-2:], k, dtype=bool)
        assert np.array_equal(changed.numpy()[..., rest], x[..., rest])
        made = wrap(
            lambda d: tf.linalg.diag(
                d,
                k=k,  # noqa: B023
                num_rows=shape[-2],
                num_cols=shape[-1],
                padding_value=7,
            )
        )(tf.constant(other))
        assert np.array_equal(np.diagonal(made, k, -2, -1), other)
        assert (made.numpy()[..., rest] == 7).all()


def test_what_is_given_stays() -> None:
    x = tf.constant(numbers((3, 3)))
    transposed = tf.transpose(x)
    tf.linalg.set_diag(transposed, [0.0, 0, 0])
    part = tf.linalg.diag_part(transposed)
    assert x.numpy().tolist() == numbers((3, 3)).tolist()
    assert part.numpy().tolist() == [1, 5, 9]


def test_words_on_a_diagonal() -> None:
    made = tf.raw_ops.MatrixDiagV3(
        diagonal=["a", "bc"], k=0, num_rows=-1, num_cols=-1, padding_value="-"
    )
    assert made.numpy().tolist() == [[b"a", b"-"], [b"-", b"bc"]]
