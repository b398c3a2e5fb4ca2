"""Variables made at the first call of a function whose initial values the body computes."""

import numpy as np
import pytest

import penstock as tf


class _Holder(tf.Module):
    def __init__(self, make):
        super().__init__()
        self.make = make
        self.v = None

    @tf.function
    def __call__(self, x):
        if self.v is None:
            self.v = self.make(x)
        return self.v.assign_add(x)


@pytest.mark.parametrize(
    ("make", "first"),
    [
        (lambda x: tf.Variable(tf.zeros([2]) + 1.0), [2.0, 3.0]),
        (lambda x: tf.Variable(tf.fill([2], 3.0) * tf.constant([1.0, 2.0])), [4.0, 8.0]),
        (lambda x: tf.Variable(tf.stack([1.0, tf.split([1.0, 2.0], 2)[1][0]])), [2.0, 4.0]),
        (lambda x: tf.Variable(lambda: tf.ones([2])), [2.0, 3.0]),
        (lambda x: tf.Variable(OUTER + 1.0), [7.0, 9.0]),
        (lambda x: tf.Variable(tf.cast(WIDE, tf.float32)[:2]), [1.0, 3.0]),
    ],
)
def test_initial_values_of_the_body(make, first):
    holder = _Holder(make)
    np.testing.assert_array_equal(holder([1.0, 2.0]), first)
    np.testing.assert_array_equal(holder([1.0, 2.0]), np.add(first, [1.0, 2.0]))


OUTER = tf.Variable([5.0, 6.0])
WIDE = tf.range(4096)  # too large to be a constant of the body: it is captured


def test_random_initial_values_are_drawn_once():
    holder = _Holder(lambda x: tf.Variable(tf.random.normal([3])))
    first = holder([0.0, 0.0, 0.0]).numpy()
    assert len(set(first.tolist())) == 3
    np.testing.assert_array_equal(holder([0.0, 0.0, 0.0]), first)


def test_an_initial_value_that_needs_an_argument_is_refused_in_a_graph():
    holder = _Holder(lambda x: tf.Variable(x * 2.0))
    expected = r"does not depend on the arguments .* needs 'x'"
    with tf.Graph().as_default(), pytest.raises(ValueError, match=expected):
        holder(tf.constant([1.0]))
