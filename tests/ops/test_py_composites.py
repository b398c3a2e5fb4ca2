"""Composite values into and out of `tf.py_function`, and what its kin get eagerly."""

import numpy as np
import pytest

import penstock as tf

RAGGED = tf.ragged.constant([[1.0], [2.0, 3.0]])
SPARSE = tf.sparse.from_dense([[0.0, 4.0]])
RAGGED_SPEC = tf.RaggedTensorSpec([None, None])
MODES = {"eager": lambda f: f, "function": tf.function}


@pytest.mark.parametrize("mode", MODES)
def test_composites_are_arguments_and_results(mode):
    def double(ragged, sparse, x):
        return ragged * x, sparse * x, x + 1.0

    def run(x):
        kinds = [RAGGED_SPEC, tf.SparseTensorSpec([1, 2]), tf.float32]
        return tf.py_function(double, [RAGGED, SPARSE, x], kinds)

    ragged, sparse, x = MODES[mode](run)(tf.constant(2.0))
    assert ragged.to_list() == [[2.0], [4.0, 6.0]]
    assert tf.sparse.to_dense(sparse).numpy().tolist() == [[0.0, 8.0]]
    assert float(x) == 3.0


@pytest.mark.parametrize("mode", MODES)
def test_one_result_and_a_composite_argument_alone(mode):
    total = MODES[mode](lambda: tf.py_function(tf.reduce_sum, [RAGGED], tf.TensorSpec([])))
    rows = MODES[mode](
        lambda: tf.py_function(lambda x: tf.RaggedTensor.from_tensor(x), [[[1, 2]]],
                               tf.RaggedTensorSpec([1, None], tf.int32))
    )  # fmt: skip
    assert float(total()) == 6.0
    assert rows().to_list() == [[1, 2]]


def test_results_have_the_static_shapes_of_their_specs():
    @tf.function
    def f(x):
        kinds = (tf.RaggedTensorSpec([2, None]), tf.SparseTensorSpec([1, 2]))
        ragged, sparse = tf.py_function(lambda x: (RAGGED, SPARSE), [x], kinds)
        shapes.extend([ragged.shape.as_list(), sparse.shape.as_list()])
        return ragged, sparse.values

    shapes = []
    f(1.0)
    assert shapes == [[2, None], [1, 2]]


@pytest.mark.parametrize("mode", MODES)
def test_gradients_pass_through_composites(mode):
    @MODES[mode]
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            ragged = tf.RaggedTensor.from_row_lengths(x, [1, 1])
            squares = tf.py_function(lambda r: r * r, [ragged], RAGGED_SPEC)
            total = tf.reduce_sum(squares.values * squares.values)
        return tape.gradient(total, x)

    assert f(tf.constant([1.0, 2.0])).numpy().tolist() == [4.0, 32.0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (RAGGED, tf.RaggedTensorSpec([None, None], tf.int32)),
        (RAGGED, tf.RaggedTensorSpec([None, None, None])),
        (tf.constant(1.0), RAGGED_SPEC),
        ((RAGGED, RAGGED), RAGGED_SPEC),
        (None, [RAGGED_SPEC]),
    ],
)
def test_another_result_than_tout_says_is_refused(mode, result, wanted):
    f = MODES[mode](lambda: tf.py_function(lambda x: result, [1.0], wanted))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected .*got"):
        f()


def test_numpy_functions_get_arrays_of_no_dimension_eagerly():
    kinds = []
    tf.numpy_function(lambda *a: kinds.extend(map(type, a)) or a[0], [1.0, [2]], tf.float32)
    assert kinds == [np.ndarray, np.ndarray]
