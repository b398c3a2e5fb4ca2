"""Distributions of how often each class is drawn: Multinomial and DirichletMultinomial."""

from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.ops.array_basics import reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_fill import one_hot
from penstock.ops.array_join import concat
from penstock.ops.array_order import transpose
from penstock.ops.array_shape import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
)
from penstock.ops.composing import scope
from penstock.ops.debug_asserts import assert_equal
from penstock.ops.distributions.base import NOT_REPARAMETERIZED, Distribution
from penstock.ops.distributions.dirichlet import Weighted, spread
from penstock.ops.distributions.discrete import class_parameters, whole_numbers
from penstock.ops.distributions.parameters import checked, seed_of
from penstock.ops.math_cast import cast
from penstock.ops.math_elementwise import log
from penstock.ops.math_range import range as numbers
from penstock.ops.math_reduce import reduce_max, reduce_sum
from penstock.ops.math_special import lbeta, lgamma
from penstock.ops.nn_losses import log_softmax
from penstock.ops.random_families import random_gamma
from penstock.ops.random_ops import multinomial
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


def _ways(total: Any, counts: Any) -> Any:
    """The logarithm of the number of orders that give these counts."""
    return lgamma(total + 1) - reduce_sum(lgamma(counts + 1), -1)


class _Counts(Distribution):
    """Counts float[..., K] of `total_count` draws, each of one of K classes."""

    _total_count: Any

    def _weights(self) -> Any:
        """The parameter of the classes: float[..., K]."""
        raise NotImplementedError

    @property
    def total_count(self) -> Any:
        """The number of draws."""
        return self._total_count

    def _batch_shape(self) -> TensorShape:
        weights = TensorShape(self._weights().shape)
        return TensorShape(broadcast_static_shape(self._total_count.shape, weights[:-1]))

    def _batch_shape_tensor(self) -> Any:
        return broadcast_dynamic_shape(shape_of(self._total_count), shape_of(self._weights())[:-1])

    def _event_shape(self) -> TensorShape:
        return TensorShape(self._weights().shape)[-1:]

    def _event_shape_tensor(self) -> Any:
        return shape_of(self._weights())[-1:]

    def _wide_weights(self) -> Any:
        """The weights of each member of the batch, which `total_count` may widen."""
        whole = concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        return broadcast_to(self._weights(), whole)

    def _limits(self) -> Any:
        """The number of draws of each member of the batch: int32[...]."""
        return broadcast_to(cast(self._total_count, dt.int32), self.batch_shape_tensor())

    def _counted(self, drawn: Any, limits: Any) -> Any:
        """Counts of the first `limits` of the class numbers along the last axis."""
        classes = self.event_shape_tensor()[0]
        used = numbers(shape_of(drawn)[-1]) < limits[..., None]
        return reduce_sum(
            one_hot(drawn, classes, dtype=self.dtype) * cast(used, self.dtype)[..., None], -2
        )

    def _sound(self, counts: Any) -> Any:
        counts = whole_numbers(counts, None, self.validate_args)
        text = "counts must sum to `self.total_count`"
        total = self._total_count
        checks = [lambda: assert_equal(total, reduce_sum(counts, -1), message=text)]
        return checked(counts, checks, self.validate_args)


def _totals(total_count: Any, validate: bool) -> Any:
    return whole_numbers(convert_to_tensor(total_count, name="total_count"), None, validate)


class Multinomial(_Counts):
    """How often each of K classes comes up in `total_count` independent draws.

    Args:
      total_count: float tensor of whole numbers, the number of draws.
      logits: float[..., K], unnormalised log probabilities; or None.
      probs: float[..., K], probabilities; or None. One of the two is given. The batch is what
        `total_count` and their leading axes broadcast to.
      validate_args: whether parameters and values are checked as the operations run.
      allow_nan_stats: whether a statistic without a value is NaN rather than an error.
      name: the scope of its operations in a graph.

    Raises:
      ValueError: both or neither of `logits` and `probs` are given, or they are scalars; there is
        one class only, with `validate_args`.
      InvalidArgumentError: counts that are not whole, negative or do not sum to `total_count`, and
        probabilities that are negative or do not sum to 1, with `validate_args`.
    """

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        parameters = dict(locals())
        with scope(name, "Multinomial") as full:
            self._total_count = _totals(total_count, validate_args)
            self._logits, self._probs = class_parameters(logits, probs, validate_args)
        super().__init__(
            self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            name=full or name,
        )  # fmt: skip

    @property
    def logits(self) -> Any:
        """Unnormalised log probabilities of the classes."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probabilities of the classes."""
        return self._probs

    def _weights(self) -> Any:
        return self._probs

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        limits, classes = self._limits(), self.event_shape_tensor()
        most = reduce_max(limits)
        whole = concat([self.batch_shape_tensor(), classes], 0)
        rows = reshape(broadcast_to(self._logits, whole), concat([[-1], classes], 0))
        drawn = reshape(multinomial(rows, n * most, seed), [-1, n, most])
        counts = self._counted(drawn, reshape(limits, [-1, 1]))
        return reshape(transpose(counts, [1, 0, 2]), concat([[n], whole], 0))

    def _log_prob(self, counts: Any) -> Any:
        counts = self._sound(counts)
        logs = reduce_sum(counts * log_softmax(self._logits), -1)
        return logs + _ways(self._total_count, counts)

    def _mean(self) -> Any:
        return self._total_count[..., None] * self._probs

    def _variance(self) -> Any:
        return self._mean() * (1 - self._probs)

    def _covariance(self) -> Any:
        shares = broadcast_to(self._probs, shape_of(self._mean()))
        return spread(shares, self._variance(), self._total_count[..., None])


class DirichletMultinomial(Weighted, _Counts):
    """How often each of K classes comes up, with probabilities that a Dirichlet draw gives.

    Args:
      total_count: float tensor of whole numbers, the number of draws.
      concentration: float[..., K], the weights of the classes; positive. The batch is what
        `total_count` and its leading axes broadcast to.
      validate_args: whether parameters and values are checked as the operations run.
      allow_nan_stats: whether a statistic without a value is NaN rather than an error.
      name: the scope of its operations in a graph.

    Raises:
      ValueError: `concentration` is a scalar.
      InvalidArgumentError: counts that are not whole, negative or do not sum to `total_count`, and
        weights that are not positive or but one, with `validate_args`.
    """

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        parameters = dict(locals())
        with scope(name, "DirichletMultinomial") as full:
            self._total_count = _totals(total_count, validate_args)
            self._weigh(concentration, validate_args)
        super().__init__(
            self._concentration.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats,
            parameters, name=full or name,
        )  # fmt: skip

    def _weights(self) -> Any:
        return self._concentration

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        limits, classes = self._limits(), self.event_shape_tensor()
        drawn = random_gamma([n], self._wide_weights(), None, self.dtype, seed)
        rows = log(reshape(drawn, concat([[-1], classes], 0)))
        salted = seed_of(seed, "dirichlet_multinomial")
        chosen = multinomial(rows, reduce_max(limits), salted)
        whole = concat([[n], shape_of(limits)], 0)
        counts = self._counted(chosen, reshape(broadcast_to(limits, whole), [-1]))
        return reshape(counts, concat([whole, classes], 0))

    def _log_prob(self, counts: Any) -> Any:
        counts = self._sound(counts)
        logs = lbeta(self._concentration + counts) - lbeta(self._concentration)
        return logs + _ways(self._total_count, counts)

    def _shares(self) -> Any:
        return self._wide_weights() / self._total[..., None]

    def _mean(self) -> Any:
        return self._total_count[..., None] * self._shares()

    def _scale(self) -> Any:
        """By how much the variance is that of as many draws with known probabilities."""
        total = self._total[..., None]
        return (total + self._total_count[..., None]) / (1 + total)

    def _variance(self) -> Any:
        return self._mean() * (1 - self._shares()) * self._scale()

    def _covariance(self) -> Any:
        factor = self._total_count[..., None] * self._scale()
        return spread(self._shares(), self._variance(), factor)
