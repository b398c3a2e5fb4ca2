"""Which dtype a value gets where an operation's type attribute has a default, as recorded from
TensorFlow 2.21: by graph and eagerly, beside other tensors and beside lists.
"""

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.core.context import state

raw = tf.raw_ops

ARRAY_INT64 = np.array([1], np.int64)


class Watch:
    """A recorder of the dtypes of the inputs of the operations that run."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, list[str]]] = []

    def record(self, op: Any, inputs: Any, attrs: Any, outputs: Any) -> None:
        self.seen.append((op.name, [tensor.dtype.name for tensor in inputs]))


@pytest.fixture
def watch():
    watcher = Watch()
    before = state.recorders
    state.recorders = type(before)([*before, watcher])
    yield watcher
    state.recorders = before


def in_graph(call):
    with tf.Graph().as_default() as graph:
        call()
    return [tensor.dtype.name for tensor in graph.get_operations()[-1].inputs]


def eagerly(watch, call):
    call()
    return watch.seen[-1][1]


CASES = {  # call, dtypes eagerly, dtypes in a graph
    "own dtype beside a list": (
        lambda: raw.Reshape(tensor=[1.0], shape=ARRAY_INT64),
        ["float32", "int64"],
        ["float32", "int64"],
    ),
    "an array beside numbers": (
        lambda: raw.Fill(dims=ARRAY_INT64, value=3.0),
        ["int32", "float32"],
        ["int64", "float32"],
    ),
    "alone": (
        lambda: raw.FFT(input=np.ones(4, np.complex128)),
        ["complex64"],
        ["complex128"],
    ),
    "half precision": (
        lambda: raw.LeakyRelu(features=np.ones(2, np.float64)),
        ["float32"],
        ["float64"],
    ),
    "a dtype that is not allowed": (
        lambda: raw.Reshape(tensor=[1.0], shape=np.array([1], np.uint8)),
        ["float32", "int32"],
        ["float32", "int32"],
    ),
    "fractions where integers are wanted": (
        lambda: raw.Sum(input=[[1.0], [2.0]], axis=np.array([1.0])),
        ["float32", "int32"],
        ["float32", "int32"],
    ),
    "a list for a default of int64": (
        lambda: raw.OneHot(indices=[1], depth=2, on_value=1.0, off_value=0.0),
        ["int32", "int32", "float32", "float32"],
        ["int32", "int32", "float32", "float32"],
    ),
    "an array for a default of int64": (
        lambda: raw.OneHot(indices=np.array([1], np.int32), depth=2, on_value=1.0, off_value=0.0),
        ["int64", "int32", "float32", "float32"],
        ["int32", "int32", "float32", "float32"],
    ),
    "a scalar of NumPy": (
        lambda: raw.LinSpace(start=0.0, stop=1.0, num=np.int64(3)),
        ["float32", "float32", "int64"],
        ["float32", "float32", "int64"],
    ),
    "numbers that agree with a later list": (
        lambda: raw.SparseSoftmaxCrossEntropyWithLogits(features=[[1.0, 2.0]], labels=[1]),
        ["float32", "int32"],
        ["float32", "int32"],
    ),
    "a list of numbers of NumPy": (
        lambda: raw.Tile(input=[1.0], multiples=[np.int64(1)]),
        ["float32", "int32"],
        ["float32", "int32"],
    ),
    "an attribute of any number": (
        lambda: raw.Where(condition=np.array([0.0, 1.5])),
        ["bool"],
        ["float64"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_dtypes_are_those_of_tensorflow(case, watch):
    call, eager, graph = CASES[case]
    assert eagerly(watch, call) == eager
    assert in_graph(call) == graph


def test_wide_pixels_keep_their_depth_in_a_graph():
    image = np.full((2, 2, 3), 60_000, np.uint16)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        encoded = session.run(raw.EncodePng(image=image))
    assert np.array_equal(tf.io.decode_png(encoded, dtype=tf.uint16), image)


def test_a_constant_that_is_cast_leaves_no_other_behind():
    with tf.Graph().as_default() as graph:
        raw.EncodePng(image=np.zeros((2, 2, 3), np.int64))
    assert [op.name for op in graph.get_operations()] == ["EncodePng/image", "EncodePng"]


def test_what_fits_neither_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="allowed values: int32, int64"):
        raw.Reshape(tensor=[1.0], shape=[1.0])
    with tf.Graph().as_default(), pytest.raises(TypeError, match="allowed values: int32, int64"):
        raw.Reshape(tensor=[1.0], shape=[1.0])


def test_a_fraction_beside_tensors_and_beside_lists():
    with pytest.raises(TypeError, match="'dimension' to convert to int32"):
        raw.ArgMax(input=tf.constant([1.0, 2.0]), dimension=1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="int16, int32, int64"):
        raw.ArgMax(input=[1.0, 2.0], dimension=1.0)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "bfloat16", "complex64", "bool"])
def test_graphs_take_true_for_any_number(dtype):
    with tf.Graph().as_default():
        assert tf.constant([True], dtype).dtype.name == dtype


def test_true_is_no_text_in_a_graph_and_no_small_number_eagerly():
    with tf.Graph().as_default(), pytest.raises(TypeError):
        tf.constant([True], tf.string)
    with pytest.raises(TypeError):
        tf.constant([True], tf.uint8)
