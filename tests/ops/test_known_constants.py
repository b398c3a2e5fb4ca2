"""Operations that write into a constant or index it: in a compiled region it is a NumPy array."""

import numpy as np
import pytest

import penstock as tf

RAW = tf.raw_ops
SPAN = {"begin": [0, 0], "end": [1, 2], "strides": [1, 1]}

CALLS = {
    "set_diag": (lambda c, v: tf.linalg.set_diag(c, v * tf.ones([2])), [[3.0, 1.0], [1.0, 3.0]]),
    "tensor_scatter_nd_update": (
        lambda c, v: tf.tensor_scatter_nd_update(c, [[0, 1]], [v]),
        [[1.0, 3.0], [1.0, 1.0]],
    ),
    "InplaceAdd": (
        lambda c, v: RAW.InplaceAdd(x=c, i=[0], v=[v * tf.ones([2])]),
        [[4.0, 4.0], [1.0, 1.0]],
    ),
    "InplaceUpdate": (
        lambda c, v: RAW.InplaceUpdate(x=c, i=[1], v=[v * tf.ones([2])]),
        [[1.0, 1.0], [3.0, 3.0]],
    ),
    "TensorStridedSliceUpdate": (
        lambda c, v: RAW.TensorStridedSliceUpdate(input=c, value=[[v, v]], **SPAN),
        [[3.0, 3.0], [1.0, 1.0]],
    ),
}


@pytest.mark.parametrize("jit_compile", [None, True], ids=["by the planner", "whole"])
@pytest.mark.parametrize("name", CALLS)
def test_a_constant_is_written_into(name, jit_compile) -> None:
    write, expected = CALLS[name]
    program = tf.function(lambda x: write(tf.ones([2, 2]), x[0]), jit_compile=jit_compile)
    np.testing.assert_array_equal(program(tf.constant([3.0])), np.array(expected, np.float32))


READS = {
    "a row": (lambda c, i: c[i], [4.0, 5.0, 6.0]),
    "a column": (lambda c, i: c[:, i], [2.0, 5.0]),
    "a number": (lambda c, i: c[i, -i], 6.0),
}


@pytest.mark.parametrize("jit_compile", [None, True], ids=["by the planner", "whole"])
@pytest.mark.parametrize("name", READS)
def test_a_constant_is_indexed_by_what_is_not_known(name, jit_compile) -> None:
    read, expected = READS[name]
    table = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    program = tf.function(lambda i: read(table, i), jit_compile=jit_compile)
    np.testing.assert_array_equal(program(tf.constant(1)), np.array(expected, np.float32))
