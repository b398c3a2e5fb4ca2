"""Operations that pass their input on."""

import numpy as np
import pytest

import penstock as tf

NAN, INF = np.nan, np.inf


def _said(check, x):
    try:
        np.testing.assert_array_equal(check(x), x)
    except tf.errors.InvalidArgumentError as error:
        return str(error).partition("Tensor had ")[2].partition(" values")[0]
    return ""


@pytest.mark.parametrize("jit_compile", [None, False, True])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_what_is_not_finite_is_named(dtype, jit_compile):
    def first(x):
        return tf.raw_ops.CheckNumerics(tensor=x, message="x")

    def second(x):
        return tf.raw_ops.CheckNumericsV2(tensor=x, message="x")

    if jit_compile is not None:
        shapes = [tf.TensorSpec(None if jit_compile is False else [None, 3], dtype)]
        first = tf.function(first, shapes, jit_compile=jit_compile)
        second = tf.function(second, shapes, jit_compile=jit_compile)
    for numbers, wanted, told_apart in (
        ([1, -0.0, 2], "", ""),
        ([1, NAN, 1], "NaN", "NaN"),
        ([INF, 1, 1], "Inf", "+Inf"),
        ([1, INF, -INF], "Inf", "-Inf and +Inf"),
        ([NAN, -INF, 1], "Inf and NaN", "-Inf and NaN"),
        ([-INF, NAN, INF], "Inf and NaN", "-Inf, +Inf, and NaN"),
    ):
        x = tf.cast(tf.constant([numbers], tf.float64), dtype)
        assert _said(first, x) == wanted
        assert _said(second, x) == told_apart
    assert _said(first, tf.zeros([0, 3], dtype)) == _said(second, tf.zeros([0, 3], dtype)) == ""
