"""A program of a user, for the type check of the public namespace."""

import numpy as np

import penstock as tf
import penstock.compat.v1 as v1


@tf.function
def step(x: tf.Tensor) -> tf.Tensor:
    total: tf.Tensor = tf.math.reduce_sum(tf.nn.relu(x) * tf.constant(2.0))
    return total


weights = tf.Variable(tf.zeros([2, 2]), name="weights")
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.square(weights))
gradients = tape.gradient(loss, [weights])
shape: tf.TensorShape = tf.constant(np.ones(3)).shape
kind: tf.DType = tf.float32
try:
    tf.raw_ops.AddV2(x=1, y=2, name="sum")
except tf.errors.InvalidArgumentError as problem:
    print(problem.message)

with v1.Session() as session:
    placeholder = v1.placeholder(tf.float32, [None])
    print(session.run(placeholder, {placeholder: [1.0]}))


class Case(tf.test.TestCase):
    def test_one(self) -> None:
        self.assertAllClose([1.0], tf.ones([1]), rtol=1e-3)
