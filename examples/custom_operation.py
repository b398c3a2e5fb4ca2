"""An operation of one's own: the Gaussian error linear unit, with its gradient.

    penstock run examples/custom_operation.py

It is defined from outside of Penstock: interface and shape rule, one kernel for NumPy and XLA, and
a gradient written in public operations. Then it works eagerly, in functions, to second order.
"""

from typing import Any

import numpy as np

import penstock as tf

GAUSSIAN_UNIT = tf.library.define_op(
    "GaussianUnit(x: T; T: {float, double} = float) -> y: T",
    shape=lambda c: c.shape(0),
    doc="x times the probability that a standard normal number is less than x (by its tanh form).",
)
SCALE = float(np.sqrt(2.0 / np.pi))


@tf.library.kernel(GAUSSIAN_UNIT)
def _gaussian_unit(xp: Any, x: Any) -> Any:
    return 0.5 * x * (1.0 + xp.tanh(SCALE * (x + 0.044715 * x**3)))


@GAUSSIAN_UNIT.gradient
def _gaussian_unit_gradient(op: tf.Operation, grad: tf.Tensor) -> tf.Tensor:
    x = op.inputs[0]
    t = tf.tanh(SCALE * (x + 0.044715 * x * x * x))
    slope = SCALE * (1.0 + 3.0 * 0.044715 * x * x)
    return grad * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope)


def gaussian_unit(x: Any, name: str | None = None) -> tf.Tensor:
    """x, gated by how large it is; float[...] -> float[...]."""
    return tf.library.execute(GAUSSIAN_UNIT, (x,), None, name)


@tf.function
def value_and_slope(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The unit and its derivative at every element."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = gaussian_unit(x)
    return y, tape.gradient(y, x)


def main() -> None:
    x = tf.constant(np.linspace(-3.0, 3.0, 7))
    for at, value, slope in zip(x.numpy(), *(t.numpy() for t in value_and_slope(x)), strict=True):
        print(f"x = {at:4.1f}   y = {value:8.5f}   dy/dx = {slope:8.5f}")
    theoretical, numerical = tf.test.compute_gradient(gaussian_unit, [x])
    error = np.abs(np.array(theoretical) - np.array(numerical)).max()
    print(f"largest difference from finite differences: {error:.1e}")


if __name__ == "__main__":
    main()
