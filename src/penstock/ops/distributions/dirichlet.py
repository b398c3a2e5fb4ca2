"""Dirichlet: probabilities that sum to 1."""

from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_diag import set_diag
from penstock.ops.array_fill import ones_like
from penstock.ops.composing import scope
from penstock.ops.debug_asserts import assert_less, assert_near, assert_positive
from penstock.ops.distributions.base import FULLY_REPARAMETERIZED, Distribution
from penstock.ops.distributions.divergence import RegisterKL
from penstock.ops.distributions.parameters import checked, where_defined
from penstock.ops.math_cast import cast
from penstock.ops.math_division import xlogy
from penstock.ops.math_reduce import reduce_all, reduce_sum
from penstock.ops.math_special import digamma, lbeta
from penstock.ops.random_families import random_gamma
from penstock.types.tensor_shape import TensorShape


def _concentrations(concentration: Any, validate: bool) -> Any:
    """The parameter of Dirichlet distributions as float[..., K], checked on request."""
    given = convert_to_tensor(concentration, name="concentration")
    if given.shape.rank == 0:
        raise ValueError(
            "expected a concentration of one dimension at least, got a scalar. Pass one number for"
            " each part."
        )
    checks = [
        lambda: assert_positive(given, message="Concentration parameter must be positive."),
        lambda: assert_less(
            1, shape_of(given)[-1], message="Concentration parameter must have event_size >= 2."
        ),
    ]
    return checked(given, checks, validate)


class Weighted:
    """What distributions by the weights of K classes share.

    A class beside this one in a distribution's bases; it has no base of its own, so that counts
    keep theirs.
    """

    _concentration: Any
    _total: Any

    def _weigh(self, concentration: Any, validate: bool) -> None:
        self._concentration = _concentrations(concentration, validate)
        self._total = reduce_sum(self._concentration, -1)

    @property
    def concentration(self) -> Any:
        """The weights."""
        return self._concentration

    @property
    def total_concentration(self) -> Any:
        """The sum of the weights, along the last axis."""
        return self._total


def spread(shares: Any, variance: Any, factor: Any) -> Any:
    """The covariance of parts: `-shares shares^T * factor`, with `variance` on the diagonal."""
    products = shares[..., None] * shares[..., None, :]
    return set_diag(-products * factor[..., None], variance)


class Dirichlet(Weighted, Distribution):
    """The Dirichlet distribution, of K numbers above 0 that sum to 1.

    Args:
      concentration: float[..., K], the weights of the numbers; positive.
      validate_args: whether parameters and values are checked as the operations run.
      allow_nan_stats: whether a statistic without a value is NaN rather than an error.
      name: the scope of its operations in a graph.

    Raises:
      ValueError: `concentration` is a scalar.
      InvalidArgumentError: a weight is not positive, there is but one, or a value is no such
        vector, with `validate_args`.
    """

    def __init__(
        self,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        parameters = dict(locals())
        with scope(name, "Dirichlet") as full:
            self._weigh(concentration, validate_args)
        super().__init__(
            self._concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats,
            parameters, name=full or name,
        )  # fmt: skip

    def _batch_shape(self) -> TensorShape:
        return TensorShape(self._concentration.shape)[:-1]

    def _batch_shape_tensor(self) -> Any:
        return shape_of(self._concentration)[:-1]

    def _event_shape(self) -> TensorShape:
        return TensorShape(self._concentration.shape)[-1:]

    def _event_shape_tensor(self) -> Any:
        return shape_of(self._concentration)[-1:]

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        drawn = random_gamma([n], self._concentration, None, self.dtype, seed)
        return drawn / reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x: Any) -> Any:
        checks = [
            lambda: assert_positive(x, message="samples must be positive"),
            lambda: assert_near(
                reduce_sum(x, -1), ones_like(x[..., 0]),
                message="sample last-dimension must sum to `1`",
            ),
        ]  # fmt: skip
        x = checked(x, checks, self.validate_args)
        return reduce_sum(xlogy(self._concentration - 1, x), -1) - lbeta(self._concentration)

    def _count(self) -> Any:
        return cast(shape_of(self._concentration)[-1], self.dtype)

    def _entropy(self) -> Any:
        weights, total = self._concentration, self._total
        slopes = reduce_sum((weights - 1) * digamma(weights), -1)
        return lbeta(weights) + (total - self._count()) * digamma(total) - slopes

    def _mean(self) -> Any:
        return self._concentration / self._total[..., None]

    def _variance(self) -> Any:
        mean = self._mean()
        return mean * (1 - mean) / (1 + self._total[..., None])

    def _covariance(self) -> Any:
        return spread(self._mean(), self._variance(), 1 / (1 + self._total[..., None]))

    def _mode(self) -> Any:
        weights = self._concentration
        mode = (weights - 1) / (self._total[..., None] - self._count())
        text = "Mode undefined when any concentration <= 1"
        checks = [lambda: assert_less(ones_like(weights), weights, message=text)]
        return where_defined(self, mode, reduce_all(weights > 1, -1, keepdims=True), checks)


@RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet(a: Any, b: Any, name: str | None = None) -> Any:
    with scope(name, "kl_dirichlet_dirichlet"):
        logs = digamma(a.concentration) - digamma(a.total_concentration[..., None])
        gain = reduce_sum((a.concentration - b.concentration) * logs, -1)
        return gain - lbeta(a.concentration) + lbeta(b.concentration)
