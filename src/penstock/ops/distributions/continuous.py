"""Distributions of real numbers: Normal, Laplace and Uniform."""

import math
from typing import Any

import numpy as np

from penstock.ops.array_fill import ones_like, zeros_like
from penstock.ops.array_join import concat
from penstock.ops.array_select import where
from penstock.ops.composing import scope
from penstock.ops.debug_asserts import assert_less
from penstock.ops.distributions.divergence import RegisterKL
from penstock.ops.distributions.parameters import Broadcast, LocationScale, checked
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_compare import is_nan
from penstock.ops.math_elementwise import exp, log, log1p, sign, square
from penstock.ops.math_special import erfc, ndtri
from penstock.ops.random_ops import random_normal, random_uniform


def _log_ndtr(x: Any) -> Any:
    """The logarithm of the standard normal distribution function.

    Far below zero by the asymptotic series of Abramowitz and Stegun, "Handbook of Mathematical
    Functions", 26.2.12; above by the complement of the other tail, which log1p keeps.
    """
    lowest = -20.0 if x.dtype.name == "float64" else -10.0
    far = where(x < lowest, x, lowest * ones_like(x))
    near = where(x < lowest, lowest * ones_like(x), x)
    low = where(near > 0, zeros_like(x), near)
    high = where(near > 0, near, zeros_like(x))
    inverse = 1 / square(far)
    series = 1 - inverse * (1 - 3 * inverse * (1 - 5 * inverse * (1 - 7 * inverse)))
    tail = -0.5 * square(far) - log(-far) - 0.5 * math.log(2 * math.pi) + log(series)
    middle = log(0.5 * erfc(-low * math.sqrt(0.5)))
    above = log1p(-0.5 * erfc(high * math.sqrt(0.5)))
    return where(x < lowest, tail, where(near > 0, above, middle))


class Normal(LocationScale):
    """The normal distribution.

    Args:
      loc: float tensor, the mean.
      scale: of the same dtype, the standard deviation; positive. The two broadcast.
      validate_args: whether `scale` is checked as the operations run.
      allow_nan_stats: whether a statistic without a value is NaN rather than an error.
      name: the scope of its operations in a graph.

    Raises:
      ValueError: the dtypes differ or are not floating, or the shapes do not broadcast.
      InvalidArgumentError: `scale` is not positive, with `validate_args`.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        self._begin((loc, scale), validate_args, allow_nan_stats, dict(locals()), name)

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = concat([[n], self.batch_shape_tensor()], 0)
        drawn = random_normal(shape, 0.0, 1.0, self.dtype, seed)
        return drawn * self.scale + self.loc

    def _log_prob(self, x: Any) -> Any:
        return -0.5 * square(self._z(x)) - (0.5 * math.log(2 * math.pi) + log(self.scale))

    def _cdf(self, x: Any) -> Any:
        return 0.5 * erfc(-self._z(x) * math.sqrt(0.5))

    def _log_cdf(self, x: Any) -> Any:
        return _log_ndtr(self._z(x))

    def _survival_function(self, x: Any) -> Any:
        return 0.5 * erfc(self._z(x) * math.sqrt(0.5))

    def _log_survival_function(self, x: Any) -> Any:
        return _log_ndtr(-self._z(x))

    def _quantile(self, p: Any) -> Any:
        outside = (p <= 0) | (p >= 1)
        ends = math.inf * sign(p - 0.5)
        inside = where(outside, 0.5 * ones_like(p), p)  # where ndtri has a slope
        return where(outside, ends, ndtri(inside)) * self.scale + self.loc

    def _entropy(self) -> Any:
        scale = self.scale * ones_like(self.loc)
        return 0.5 * math.log(2 * math.pi * math.e) + log(scale)

    def _stddev(self) -> Any:
        return self.scale * ones_like(self.loc)


@RegisterKL(Normal, Normal)
def _kl_normal(a: Any, b: Any, name: str | None = None) -> Any:
    with scope(name, "kl_normal_normal"):
        ratio = square(a.scale / b.scale)
        return 0.5 * (square((a.loc - b.loc) / b.scale) + ratio - 1 - log(ratio))


class Laplace(LocationScale):
    """The Laplace distribution: an exponential one to both sides of `loc`.

    Args:
      loc: float tensor, the mean.
      scale: of the same dtype, the mean distance from it; positive. The two broadcast.
      validate_args: whether `scale` is checked as the operations run.
      allow_nan_stats: whether a statistic without a value is NaN rather than an error.
      name: the scope of its operations in a graph.

    Raises:
      ValueError: the dtypes differ or are not floating, or the shapes do not broadcast.
      InvalidArgumentError: `scale` is not positive, with `validate_args`.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ) -> None:
        self._begin((loc, scale), validate_args, allow_nan_stats, dict(locals()), name)

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = concat([[n], self.batch_shape_tensor()], 0)
        one = np.ones((), self.dtype.numpy_dtype)
        lowest = np.nextafter(-one, one)  # -1 itself has an infinite logarithm
        drawn = random_uniform(shape, lowest, one, self.dtype, seed)
        return self.loc - self.scale * sign(drawn) * log1p(-absolute(drawn))

    def _log_prob(self, x: Any) -> Any:
        return -absolute(self._z(x)) - math.log(2.0) - log(self.scale)

    def _cdf(self, x: Any) -> Any:
        z = self._z(x)
        return where(z < 0, 0.5 * exp(-absolute(z)), 1 - 0.5 * exp(-absolute(z)))

    def _log_cdf(self, x: Any) -> Any:
        z = self._z(x)
        return where(z < 0, z - math.log(2.0), log1p(-0.5 * exp(-absolute(z))))

    def _survival_function(self, x: Any) -> Any:
        z = -self._z(x)
        return where(z < 0, 0.5 * exp(-absolute(z)), 1 - 0.5 * exp(-absolute(z)))

    def _log_survival_function(self, x: Any) -> Any:
        z = -self._z(x)
        return where(z < 0, z - math.log(2.0), log1p(-0.5 * exp(-absolute(z))))

    def _entropy(self) -> Any:
        return math.log(2.0) + 1 + log(self.scale * ones_like(self.loc))

    def _stddev(self) -> Any:
        return math.sqrt(2.0) * self.scale * ones_like(self.loc)


class Uniform(Broadcast):
    """The uniform distribution over [low, high).

    Args:
      low: float tensor, the least value.
      high: of the same dtype, above `low`; never drawn. The two broadcast.
      validate_args: whether `low < high` is checked as the operations run.
      allow_nan_stats: whether a statistic without a value is NaN rather than an error.
      name: the scope of its operations in a graph.

    Raises:
      ValueError: the dtypes differ or are not floating, or the shapes do not broadcast.
      InvalidArgumentError: `low` is not below `high`, with `validate_args`.
    """

    _names = ("low", "high")

    def __init__(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        self._begin((low, high), validate_args, allow_nan_stats, dict(locals()), name)
        low, high = self.low, self.high
        message = "uniform not defined when low >= high."
        ordered = [lambda: assert_less(low, high, message=message)]
        self._given["high"] = checked(high, ordered, validate_args)

    @property
    def low(self) -> Any:
        """The least value."""
        return self._given["low"]

    @property
    def high(self) -> Any:
        """What all values are below."""
        return self._given["high"]

    def range(self, name: str = "range") -> Any:
        """`high - low`."""
        with self._scope(name):
            return self.high - self.low

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = concat([[n], self.batch_shape_tensor()], 0)
        drawn = random_uniform(shape, 0.0, 1.0, self.dtype, seed)
        return self.low + self.range() * drawn

    def _prob(self, x: Any) -> Any:
        x = x * ones_like(self.low * self.high)
        outside = (x < self.low) | (x >= self.high)
        density = ones_like(x) / self.range()
        return where(is_nan(x), x, where(outside, zeros_like(density), density))

    def _cdf(self, x: Any) -> Any:
        x = x * ones_like(self.low * self.high)
        inside = (x - self.low) / self.range()
        above = where(x >= self.high, ones_like(inside), inside)
        return where(x < self.low, zeros_like(inside), above)

    def _entropy(self) -> Any:
        return log(self.range())

    def _mean(self) -> Any:
        return (self.low + self.high) / 2

    def _variance(self) -> Any:
        return square(self.range()) / 12

    def _stddev(self) -> Any:
        return self.range() / math.sqrt(12.0)
