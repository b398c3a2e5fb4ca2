"""Constants that regions hold as arrays of a device: their 64 bits stay."""

import numpy as np
import pytest

import penstock as tf

COUNT = 20_000  # above what a compiled program holds itself


@pytest.mark.parametrize(
    "constant", [np.linspace(2, 3, COUNT), (1 << 40) + np.arange(COUNT)], ids=["float64", "int64"]
)
def test_large_constants_keep_64_bits(constant):
    @tf.function
    def added(x):
        return tf.constant(constant) + x

    x = np.arange(COUNT).astype(constant.dtype)
    np.testing.assert_array_equal(added(tf.constant(x)).numpy(), constant + x)
