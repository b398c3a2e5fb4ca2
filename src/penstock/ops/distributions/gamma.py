"""Distributions of gamma's family: Gamma, Exponential, Beta and StudentT."""

import math
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_fill import ones_like
from penstock.ops.array_join import concat, stack
from penstock.ops.array_select import where
from penstock.ops.array_shape import broadcast_dynamic_shape, broadcast_to
from penstock.ops.composing import scope
from penstock.ops.debug_asserts import assert_less, assert_positive
from penstock.ops.distributions.divergence import RegisterKL
from penstock.ops.distributions.parameters import (
    Broadcast,
    LocationScale,
    checked,
    seed_of,
    where_defined,
)
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_division import xlog1py, xlogy
from penstock.ops.math_elementwise import log, log1p, rsqrt, sqrt, square
from penstock.ops.math_special import betainc, digamma, igamma, lbeta, lgamma
from penstock.ops.random_families import random_gamma
from penstock.ops.random_ops import random_normal, random_uniform


def _above_one(value: Any, message: str) -> Any:
    """A check, to be made later, that a tensor is above 1 everywhere."""
    return lambda: assert_less(ones_like(value), value, message=message)


class Gamma(Broadcast):
    """The gamma distribution: of density `x ** (concentration - 1) * exp(-rate * x)`, scaled.

    Args:
      concentration: float tensor, the shape; positive.
      rate: of the same dtype, the inverse scale; positive. The two broadcast.
      validate_args: whether parameters and values are checked as the operations run.
      allow_nan_stats: whether a statistic without a value is NaN rather than an error.
      name: the scope of its operations in a graph.

    Raises:
      ValueError: the dtypes differ or are not floating, or the shapes do not broadcast.
      InvalidArgumentError: a parameter or value is not positive, with `validate_args`.
    """

    _names: tuple[str, ...] = ("concentration", "rate")
    _positive: tuple[str, ...] = ("concentration", "rate")

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        parameters = dict(locals())
        self._begin((concentration, rate), validate_args, allow_nan_stats, parameters, name)

    @property
    def concentration(self) -> Any:
        """The shape."""
        return self._given["concentration"]

    @property
    def rate(self) -> Any:
        """The inverse scale."""
        return self._given["rate"]

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        return random_gamma([n], self.concentration, self.rate, self.dtype, seed)

    def _sound(self, x: Any) -> Any:
        check = [lambda: assert_positive(x, message="The value must be positive.")]
        return checked(x, check, self.validate_args)

    def _log_prob(self, x: Any) -> Any:
        x = self._sound(x)
        scale = lgamma(self.concentration) - self.concentration * log(self.rate)
        return xlogy(self.concentration - 1, x) - self.rate * x - scale

    def _cdf(self, x: Any) -> Any:
        return igamma(self.concentration, self.rate * self._sound(x))

    def _entropy(self) -> Any:
        shape = self.concentration
        return shape - log(self.rate) + lgamma(shape) + (1 - shape) * digamma(shape)

    def _mean(self) -> Any:
        return self.concentration / self.rate

    def _variance(self) -> Any:
        return self.concentration / square(self.rate)

    def _stddev(self) -> Any:
        return sqrt(self.concentration) / self.rate

    def _mode(self) -> Any:
        shape = self.concentration
        checks = [_above_one(shape, "mode not defined when any concentration <= 1")]
        return where_defined(self, (shape - 1) / self.rate, shape > 1, checks)


@RegisterKL(Gamma, Gamma)
def _kl_gamma(a: Any, b: Any, name: str | None = None) -> Any:
    with scope(name, "kl_gamma_gamma"):
        shapes = (a.concentration - b.concentration) * digamma(a.concentration)
        scales = b.concentration * (log(a.rate) - log(b.rate))
        means = a.concentration * (b.rate / a.rate - 1)
        return shapes + lgamma(b.concentration) - lgamma(a.concentration) + scales + means


class Exponential(Gamma):
    """The exponential distribution: the gamma distribution of concentration 1.

    Args:
      rate: float tensor, the inverse of the mean; positive.
      validate_args: whether parameters and values are checked as the operations run.
      allow_nan_stats: whether a statistic without a value is NaN rather than an error.
      name: the scope of its operations in a graph.

    Raises:
      ValueError: the dtype is not floating.
      InvalidArgumentError: `rate` or a value is not positive, with `validate_args`.
    """

    _names = ("rate",)
    _positive = ("rate",)

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Exponential",
    ) -> None:
        self._begin((rate,), validate_args, allow_nan_stats, dict(locals()), name)

    @property
    def concentration(self) -> Any:
        """1, a scalar."""
        return convert_to_tensor(1, self.dtype)

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = concat([[n], self.batch_shape_tensor()], 0)
        tiny = np.finfo(self.dtype.numpy_dtype).tiny  # 0 itself has an infinite logarithm
        return -log(random_uniform(shape, tiny, 1.0, self.dtype, seed)) / self.rate

    def _log_survival_function(self, x: Any) -> Any:
        return self._log_prob(x) - log(self.rate)


class Beta(Broadcast):
    """The beta distribution over (0, 1).

    Args:
      concentration1: float tensor, the weight of 1; positive.
      concentration0: of the same dtype, the weight of 0; positive. The two broadcast.
      validate_args: whether parameters and values are checked as the operations run.
      allow_nan_stats: whether a statistic without a value is NaN rather than an error.
      name: the scope of its operations in a graph.

    Raises:
      ValueError: a parameter is missing, the dtypes differ or are not floating, or the shapes do
        not broadcast.
      InvalidArgumentError: a parameter is not positive or a value outside of (0, 1), with
        `validate_args`.
    """

    _names = ("concentration1", "concentration0")
    _positive = ("concentration1", "concentration0")

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        parameters, values = dict(locals()), (concentration1, concentration0)
        if any(value is None for value in values):
            raise ValueError(
                f"{name}: expected concentration1 and concentration0, got {concentration1!r} and"
                f" {concentration0!r}. Pass both; 1.0 and 1.0 give the uniform distribution."
            )
        self._begin(values, validate_args, allow_nan_stats, parameters, name)

    @property
    def concentration1(self) -> Any:
        """The weight of 1."""
        return self._given["concentration1"]

    @property
    def concentration0(self) -> Any:
        """The weight of 0."""
        return self._given["concentration0"]

    @property
    def total_concentration(self) -> Any:
        """The sum of the two weights."""
        return self.concentration1 + self.concentration0

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        ones, zeros = self._wide(self.concentration1), self._wide(self.concentration0)
        above = random_gamma([n], ones, None, self.dtype, seed)
        below = random_gamma([n], zeros, None, self.dtype, seed_of(seed, "beta"))
        return above / (above + below)

    def _sound(self, x: Any) -> Any:
        top = ones_like(x)
        checks = [
            lambda: assert_positive(x, message="sample must be positive"),
            lambda: assert_less(x, top, message="sample must be less than `1`."),
        ]
        return checked(x, checks, self.validate_args)

    def _log_norm(self) -> Any:
        logs = lgamma(self.concentration1) + lgamma(self.concentration0)
        return logs - lgamma(self.total_concentration)

    def _log_prob(self, x: Any) -> Any:
        x = self._sound(x)
        shape = xlogy(self.concentration1 - 1, x) + xlog1py(self.concentration0 - 1, -x)
        return shape - self._log_norm()

    def _cdf(self, x: Any) -> Any:
        x = self._sound(x)
        wide = broadcast_dynamic_shape(shape_of(x), self.batch_shape_tensor())
        parts = (self.concentration1, self.concentration0, x)
        return betainc(*(broadcast_to(part, wide) for part in parts))

    def _entropy(self) -> Any:
        above, below, total = self.concentration1, self.concentration0, self.total_concentration
        slopes = (above - 1) * digamma(above) + (below - 1) * digamma(below)
        return self._log_norm() - slopes + (total - 2) * digamma(total)

    def _mean(self) -> Any:
        return self.concentration1 / self.total_concentration

    def _variance(self) -> Any:
        mean = self._mean()
        return mean * (1 - mean) / (1 + self.total_concentration)

    def _mode(self) -> Any:
        above, below = self.concentration1, self.concentration0
        mode = (above - 1) / (self.total_concentration - 2)
        checks = [
            _above_one(above, "Mode undefined for concentration1 <= 1."),
            _above_one(below, "Mode undefined for concentration0 <= 1."),
        ]
        return where_defined(self, mode, (above > 1) & (below > 1), checks)


@RegisterKL(Beta, Beta)
def _kl_beta(a: Any, b: Any, name: str | None = None) -> Any:
    with scope(name, "kl_beta_beta"):
        ones = (a.concentration1 - b.concentration1) * digamma(a.concentration1)
        zeros = (a.concentration0 - b.concentration0) * digamma(a.concentration0)
        totals = (b.total_concentration - a.total_concentration) * digamma(a.total_concentration)
        return b._log_norm() - a._log_norm() + ones + zeros + totals


class StudentT(LocationScale):
    """Student's t distribution, moved and stretched.

    Args:
      df: float tensor, the degrees of freedom; positive.
      loc: of the same dtype, where it lies.
      scale: of the same dtype; its absolute value counts. The three broadcast.
      validate_args: whether `df` is checked as the operations run.
      allow_nan_stats: whether a statistic without a value is NaN rather than an error.
      name: the scope of its operations in a graph.

    Raises:
      ValueError: the dtypes differ or are not floating, or the shapes do not broadcast.
      InvalidArgumentError: `df` is not positive, with `validate_args`.
    """

    _names = ("df", "loc", "scale")
    _positive = ("df",)

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        self._begin((df, loc, scale), validate_args, allow_nan_stats, dict(locals()), name)

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self._given["df"]

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        # A normal draw over the root of a chi-squared one by its degrees of freedom.
        shape, df = concat([[n], self.batch_shape_tensor()], 0), self._wide(self.df)
        normal = random_normal(shape, 0.0, 1.0, self.dtype, seed)
        half = convert_to_tensor(0.5, self.dtype)
        squares = random_gamma([n], half * df, half, self.dtype, seed_of(seed, "student_t"))
        return self.loc + self.scale * (normal * rsqrt(squares / df))

    def _log_prob(self, x: Any) -> Any:
        df, half = self.df, 0.5 * (self.df + 1)
        scale = log(absolute(self.scale)) + 0.5 * (log(df) + math.log(math.pi))
        return -half * log1p(square(self._z(x)) / df) - scale - lgamma(0.5 * df) + lgamma(half)

    def _cdf(self, x: Any) -> Any:
        z = (x - self.loc) / absolute(self.scale)
        part = self.df / (square(z) + self.df)
        wide = shape_of(part)
        half = broadcast_to(convert_to_tensor(0.5, self.dtype), wide)
        tail = 0.5 * betainc(0.5 * broadcast_to(self.df, wide), half, part)
        return where(z < 0, tail, 1 - tail)

    def _entropy(self) -> Any:
        df, half = self._wide(self.df), 0.5 * (self._wide(self.df) + 1)
        beta = lbeta(0.5 * stack([df, ones_like(df)], -1))
        slopes = half * (digamma(half) - digamma(0.5 * df))
        return log(absolute(self.scale)) + 0.5 * log(df) + beta + slopes

    def _defined(self, value: Any, message: str) -> Any:
        """A statistic that needs more than one degree of freedom."""
        df = self._wide(self.df)
        return where_defined(self, value, df > 1, [_above_one(df, message)])

    def _mean(self) -> Any:
        return self._defined(self._wide(self.loc), "mean not defined for components of df <= 1")

    def _variance(self) -> Any:
        df = self._wide(self.df)
        finite = df > 2
        beyond = where(finite, df - 2, ones_like(df))
        variance = square(self._wide(self.scale)) * df / beyond
        inf = np.asarray(np.inf, self.dtype.numpy_dtype)
        message = "variance not defined for components of df <= 1"
        return self._defined(where(finite, variance, inf), message)

    def _mode(self) -> Any:
        return self.loc
