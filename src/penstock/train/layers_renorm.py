"""Batch renormalization: what brings the moments of a batch near to slow averages of them."""

import math
from collections.abc import Callable
from typing import Any

from penstock.graph.behavior import name_scope
from penstock.ops.array_fill import ones_like, zeros_like
from penstock.ops.array_identity import stop_gradient
from penstock.ops.composing import number
from penstock.ops.initializers_v1 import Ones
from penstock.ops.math_arithmetic import maximum, minimum, multiply, negative, subtract
from penstock.ops.math_cast import cast
from penstock.ops.math_division import divide
from penstock.ops.math_elementwise import sqrt
from penstock.ops.smart_cond import smart_cond
from penstock.types import dtypes as dt

_BOUNDS = ("rmax", "rmin", "dmax")


def moved(average: Any, value: Any, momentum: float, training: Any) -> Any:
    """The operation that moves an average to a value, and not at all where it is not training."""
    decay = smart_cond(training, lambda: _scalar(1.0 - momentum), lambda: _scalar(0.0))
    with name_scope("AssignMovingAvg"):
        way = subtract(average, cast(value, average.dtype))
        return average.assign_sub(multiply(way, cast(decay, average.dtype)), read_value=False)


def _scalar(value: float) -> Any:
    return Ones()([], dt.float32) * value


class Renorm:
    """The averages of a layer's renormalization, and the correction that they give.

    Args:
      clipping: bounds of the correction, by name; None or empty for none.
      momentum: how slowly the averages move.

    Raises:
      ValueError: a bound has another name.
    """

    def __init__(self, clipping: dict[str, Any] | None, momentum: float) -> None:
        self.clipping, self.momentum = dict(clipping or {}), momentum
        if not set(self.clipping) <= set(_BOUNDS):
            raise ValueError(
                f"Received invalid keys for `renorm_clipping` argument: {clipping}. Supported"
                f" values: {list(_BOUNDS)}."
            )
        self.moving_stddev: Any = None
        self.mean: Any = None
        self.stddev: Any = None

    def build(self, average: Callable[[str, Any], Any], mean: Any, variance: Any) -> None:
        """Makes the variables.

        Args:
          average: makes one, of a name and an initializer.
          mean: the initializer of the mean.
          variance: that of the variance, whose root the standard deviations begin with.
        """

        def deviation(shape: Any, dtype: Any = None, **kwargs: Any) -> Any:
            return sqrt(variance(shape, dtype=dtype, **kwargs))

        self.moving_stddev = average("moving_stddev", deviation)
        self.mean = average("renorm_mean", mean)
        self.stddev = average("renorm_stddev", deviation)

    def correction(self, mean: Any, stddev: Any, training: Any, epsilon: float) -> tuple[Any, Any]:
        """Factor and offset of what the batch's moments normalized; 1 and 0 outside of training.

        Args:
          mean: of the batch.
          stddev: of the batch.
          training: Python bool, or bool[].
          epsilon: its root is the least deviation that is divided by: a feature that did not vary
            would make the rest infinite.
        """
        slow = self.stddev.read_value()
        slow = maximum(slow, number(math.sqrt(epsilon), slow.dtype))
        factor, offset = divide(stddev, slow), divide(subtract(mean, self.mean), slow)
        bounds = {name: cast(bound, factor.dtype) for name, bound in self.clipping.items()}
        if "rmin" in bounds:
            factor = maximum(factor, bounds["rmin"])
        if "rmax" in bounds:
            factor = minimum(factor, bounds["rmax"])
        if "dmax" in bounds:
            offset = minimum(maximum(offset, negative(bounds["dmax"])), bounds["dmax"])
        factor, offset = stop_gradient(factor), stop_gradient(offset)
        factor = smart_cond(training, lambda: factor, lambda: ones_like(factor))
        return factor, smart_cond(training, lambda: offset, lambda: zeros_like(offset))
