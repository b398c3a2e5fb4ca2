"""Shapes that follow from constants through operations that no rule of static values knows."""

import numpy as np
import pytest

import penstock as tf
from penstock.graph import computed_values
from penstock.graph.computed_values import MAX_OPERATIONS, known_value

v1 = tf.compat.v1


def traced(function, *specs):
    """The static shape of what a function returns."""
    return tf.function(function).get_concrete_function(*specs).outputs[0].shape


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x: tf.range(tf.reduce_max([1, 2, 3])), [3]),
        (lambda x: tf.zeros(tf.cast(tf.sqrt([16.0, 9.0]), tf.int32)), [4, 3]),
        (lambda x: tf.zeros(tf.sort([3, 1])), [1, 3]),
        (lambda x: tf.zeros(tf.where([True, False], tf.shape(x), [7, 8])), [6, 8]),
        (lambda x: tf.zeros(tf.reverse(tf.shape(x), [0])), [3, 6]),
        (lambda x: tf.eye(tf.reduce_sum(tf.shape(x))), [9, 9]),
        (lambda x: tf.one_hot([1], tf.reduce_max([3, 4])), [1, 4]),
        (lambda x: tf.sequence_mask([1, 2]), [2, 2]),
        (lambda x: tf.math.bincount([1, 2, 5]), [6]),
        (lambda x: tf.math.confusion_matrix([1, 2], [1, 0]), [3, 3]),
        (
            lambda x: tf.broadcast_to(x, tf.broadcast_dynamic_shape(tf.shape(x), [4, 1, 1])),
            [4, 6, 3],
        ),
        (lambda x: tf.zeros(tf.shape(x) % 4), [2, 3]),
    ],
)
def test_shapes_are_tensorflows(function, wanted):
    assert traced(function, tf.TensorSpec([6, 3])).as_list() == wanted


def test_colors_have_three_channels():
    spec = tf.TensorSpec([None, None, None])
    for convert in (tf.image.rgb_to_hsv, tf.image.hsv_to_rgb):
        assert traced(convert, spec).as_list() == [None, None, 3]


def test_names_of_an_example_may_be_none():
    def parse(names):
        empty = tf.constant([], tf.string)
        parsed = tf.raw_ops.ParseExampleV2(
            serialized=b"", names=names, sparse_keys=empty, dense_keys=["a"], ragged_keys=empty,
            dense_defaults=[tf.constant([1, 2], tf.int64)], num_sparse=0, sparse_types=[],
            ragged_value_types=[], ragged_split_types=[], dense_shapes=[[2]],
        )  # fmt: skip
        return parsed.dense_values[0]

    assert traced(parse, tf.TensorSpec([None], tf.string)).as_list() == [2]


def test_what_hangs_on_a_size_that_is_not_known_is_open():
    spec = tf.TensorSpec([None, 3])
    assert traced(lambda x: tf.zeros(tf.reverse(tf.shape(x), [0])), spec).as_list() == [None, None]


def test_what_can_be_fed_or_changes_is_not_computed():
    with tf.Graph().as_default():
        fed = v1.placeholder_with_default(tf.constant([2, 3]), [2])
        assert tf.zeros(tf.sort(fed)).shape.as_list() == [None, None]
        drawn = tf.random.uniform([2], 1, 5, tf.int32, seed=1)
        assert tf.zeros(tf.sort(drawn)).shape.as_list() == [None, None]
        kept = v1.get_variable("v", initializer=[2, 3], use_resource=True)
        assert tf.zeros(tf.sort(kept)).shape.as_list() == [None, None]


def test_merged_branches_are_left_to_the_step():
    with tf.Graph().as_default():
        go = tf.constant(True)
        data = tf.constant([2, 3])
        no, yes = tf.raw_ops.Switch(data=data, pred=go)
        merged = tf.raw_ops.Merge(inputs=[no + 1, yes]).output
        assert known_value(merged) is None


def test_large_values_and_long_ways_count_as_unknown():
    with tf.Graph().as_default():
        assert known_value(tf.sort(tf.zeros([5000]))) is None
        near = far = tf.constant([2.0, 3.0])
        for i in range(2 * MAX_OPERATIONS):
            far = tf.raw_ops.Sqrt(x=far)
            near = far if i == 5 else near
        assert known_value(far) is None
        np.testing.assert_allclose(known_value(near), [2 ** (1 / 64), 3 ** (1 / 64)])


def test_what_fails_is_unknown_and_fails_when_it_runs():
    with tf.Graph().as_default() as graph:
        wrong = tf.zeros(tf.raw_ops.InvertPermutation(x=[1, 1]))
        with v1.Session(graph=graph) as session, pytest.raises(tf.errors.InvalidArgumentError):
            session.run(wrong)


def test_each_value_is_computed_once_however_long_the_way(monkeypatch):
    ran = []
    run = computed_values.run_host
    monkeypatch.setattr(
        computed_values, "run_host", lambda prepared, *given: ran.append(1) or run(prepared, *given)
    )
    with tf.Graph().as_default():
        size = tf.constant(1)
        for i in range(2, 2 * MAX_OPERATIONS):
            size = tf.reduce_max(tf.sort([size, i]))
            assert tf.zeros([size]).shape == [i]
    assert len(ran) < 16 * MAX_OPERATIONS  # a few each, not all those before


def test_what_is_kept_is_forgotten_when_an_operation_changes():
    with tf.Graph().as_default() as graph:
        first, second = tf.constant([1, 2]), tf.constant([3, 4])
        largest = tf.reduce_max(first)
        assert known_value(largest) == 2
        with pytest.raises(ValueError, match="read-only"):
            known_value(largest)[...] = 5
        largest.op._update_input(0, second)
        assert known_value(largest) == 4
        assert graph.edits
