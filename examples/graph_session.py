"""A graph, and a session that runs parts of it: fitting a line in the style of `compat.v1`.

    penstock run examples/graph_session.py

The program is described first: placeholders for what comes from outside, variables for what is
learnt, operations between them. A session then runs what is fetched and nothing else, so one graph
serves for training, for looking at the loss, and for using the result.
"""

from contextlib import closing
from typing import NamedTuple

import numpy as np

import penstock as tf

v1 = tf.compat.v1

SLOPE, OFFSET, NOISE = 3.0, -1.0, 0.1


class Line(NamedTuple):
    """The tensors and operations of the graph that the session is asked for."""

    x: tf.Tensor
    y: tf.Tensor
    prediction: tf.Tensor
    loss: tf.Tensor
    train: tf.Operation
    slope: tf.Variable
    offset: tf.Variable


def build() -> Line:
    """Adds the line, its loss and a step of gradient descent to the current graph."""
    x = v1.placeholder(tf.float32, [None], name="x")
    y = v1.placeholder(tf.float32, [None], name="y")
    with v1.variable_scope("line"):
        slope = v1.get_variable("slope", [], initializer=v1.zeros_initializer())
        offset = v1.get_variable("offset", [], initializer=v1.zeros_initializer())
    prediction = tf.add(slope * x, offset, name="prediction")
    loss = tf.reduce_mean(tf.square(prediction - y), name="loss")
    train = v1.train.GradientDescentOptimizer(0.3).minimize(loss, name="train")
    return Line(x, y, prediction, loss, train, slope, offset)


def main() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, 200).astype(np.float32)
    y = (SLOPE * x + OFFSET + NOISE * rng.normal(size=200)).astype(np.float32)

    with tf.Graph().as_default() as graph:
        line = build()
        initialize = v1.global_variables_initializer()
    graph.finalize()

    with closing(v1.Session(graph=graph)) as session:
        session.run(initialize)
        feeds = {line.x: x, line.y: y}
        for step in range(101):
            loss, _ = session.run([line.loss, line.train], feeds)
            if step % 25 == 0:
                print(f"step {step:3d}   loss {loss:.5f}")
        # The prediction needs x alone: the session leaves out all that belongs to the loss.
        print(f"at 0.5: {session.run(line.prediction, {line.x: [0.5]})[0]:.2f}")
        slope, offset = session.run([line.slope, line.offset])
    print(f"y = {slope:.2f} x + {offset:.2f}")


if __name__ == "__main__":
    main()
