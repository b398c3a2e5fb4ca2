"""Distributions of whole numbers: Bernoulli and Categorical."""

from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.ops.array_basics import reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_fill import ones_like
from penstock.ops.array_join import concat
from penstock.ops.array_order import transpose
from penstock.ops.array_select import where
from penstock.ops.array_shape import broadcast_dynamic_shape, broadcast_to
from penstock.ops.composing import scope
from penstock.ops.debug_asserts import assert_less_equal, assert_non_negative
from penstock.ops.distributions.base import NOT_REPARAMETERIZED, Distribution
from penstock.ops.distributions.divergence import RegisterKL
from penstock.ops.distributions.parameters import checked
from penstock.ops.math_cast import cast
from penstock.ops.math_elementwise import log, log1p, sigmoid
from penstock.ops.math_range import range as count
from penstock.ops.math_reduce import reduce_sum
from penstock.ops.math_scan import argmax
from penstock.ops.nn_activations import softplus
from penstock.ops.nn_losses import log_softmax, softmax
from penstock.ops.nn_losses import sparse_softmax_cross_entropy_with_logits as cross_entropy
from penstock.ops.random_ops import multinomial, random_uniform
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


def _one_of(logits: Any, probs: Any) -> None:
    if (logits is None) == (probs is None):
        raise ValueError("Must pass probs or logits, but not both.")


def _probabilities(probs: Any, validate: bool) -> Any:
    probs = convert_to_tensor(probs, name="probs")
    top = ones_like(probs)
    checks = [
        lambda: assert_non_negative(probs, message="probs has components less than 0."),
        lambda: assert_less_equal(probs, top, message="probs has components greater than 1."),
    ]
    return checked(probs, checks, validate)


class _Discrete(Distribution):
    """A distribution whose logits and probabilities follow from each other."""

    _logits: Any
    _probs: Any

    @property
    def logits(self) -> Any:
        """The logits: the log-odds of 1, or unnormalised log probabilities of the classes."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probability of 1, or those of the classes."""
        return self._probs

    def _event_shape(self) -> TensorShape:
        return TensorShape([])


class Bernoulli(_Discrete):
    """The distribution of 1 with probability p, else 0.

    Args:
      logits: float tensor, the log-odds of 1; or None.
      probs: float tensor, the probability of 1; or None. One of the two is given.
      dtype: of the draws, int32 by default.
      validate_args: whether probabilities and values are checked as the operations run.
      allow_nan_stats: whether a statistic without a value is NaN rather than an error.
      name: the scope of its operations in a graph.

    Raises:
      ValueError: both or neither of `logits` and `probs` are given.
      InvalidArgumentError: a number outside [0, 1], with `validate_args`.
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dt.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        parameters = dict(locals())
        _one_of(logits, probs)
        with scope(name, "Bernoulli") as full:
            if probs is not None:
                self._probs = _probabilities(probs, validate_args)
                self._logits = log(self._probs) - log1p(-self._probs)
            else:
                self._logits = convert_to_tensor(logits, name="logits")
                self._probs = sigmoid(self._logits)
        super().__init__(
            dt.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            name=full or name,
        )  # fmt: skip

    def _batch_shape(self) -> TensorShape:
        return TensorShape(self._logits.shape)

    def _batch_shape_tensor(self) -> Any:
        return shape_of(self._logits)

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        return {"logits": convert_to_tensor(sample_shape, dt.int32)}

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = concat([[n], self.batch_shape_tensor()], 0)
        drawn = random_uniform(shape, 0.0, 1.0, self._probs.dtype, seed)
        return cast(drawn < self._probs, self.dtype)

    def _log_prob(self, event: Any) -> Any:
        top = ones_like(event)
        checks = [
            lambda: assert_non_negative(event, message="Elements must be non-negative."),
            lambda: assert_less_equal(event, top, message="Elements cannot exceed 1."),
        ]
        event = cast(checked(event, checks, self.validate_args), self._logits.dtype)
        return event * self._logits - softplus(self._logits)

    def _entropy(self) -> Any:
        return softplus(self._logits) - self._logits * sigmoid(self._logits)

    def _mean(self) -> Any:
        return self._probs

    def _variance(self) -> Any:
        return self._probs * (1 - self._probs)

    def _mode(self) -> Any:
        return cast(self._probs > 0.5, self.dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli(a: Any, b: Any, name: str | None = None) -> Any:
    with scope(name, "kl_bernoulli_bernoulli"):
        to_one = softplus(-b.logits) - softplus(-a.logits)
        to_zero = softplus(b.logits) - softplus(a.logits)
        return sigmoid(a.logits) * to_one + sigmoid(-a.logits) * to_zero


class Categorical(_Discrete):
    """The distribution of class numbers 0 .. K-1.

    Args:
      logits: float[..., K], unnormalised log probabilities; or None.
      probs: float[..., K], probabilities; or None. One of the two is given.
      dtype: of the draws, int32 by default.
      validate_args: whether probabilities are checked as the operations run.
      allow_nan_stats: whether a statistic without a value is NaN rather than an error.
      name: the scope of its operations in a graph.

    Raises:
      ValueError: both or neither of `logits` and `probs` are given, or they are scalars.
      InvalidArgumentError: a probability outside [0, 1], with `validate_args`; a class number
        outside [0, K).
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dt.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        parameters = dict(locals())
        _one_of(logits, probs)
        with scope(name, "Categorical") as full:
            if probs is not None:
                self._probs = _probabilities(probs, validate_args)
                self._logits = log(self._probs)
            else:
                self._logits = convert_to_tensor(logits, name="logits")
                self._check_rank()
                self._probs = softmax(self._logits)
            self._check_rank()
        super().__init__(
            dt.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            name=full or name,
        )  # fmt: skip

    def _check_rank(self) -> None:
        if self._logits.shape.rank == 0:
            raise ValueError(
                "Categorical: expected logits or probs with an axis of classes, got a scalar."
                " Pass one number for each class."
            )

    @property
    def event_size(self) -> Any:
        """K, the number of classes: an int32 scalar."""
        return shape_of(self._logits)[-1]

    def _batch_shape(self) -> TensorShape:
        return TensorShape(self._logits.shape)[:-1]

    def _batch_shape_tensor(self) -> Any:
        return shape_of(self._logits)[:-1]

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        rows = reshape(self._logits, concat([[-1], [self.event_size]], 0))
        drawn = multinomial(rows, n, seed, output_dtype=dt.int64)
        shape = concat([[n], self.batch_shape_tensor()], 0)
        return cast(reshape(transpose(drawn), shape), self.dtype)

    def _log_prob(self, k: Any) -> Any:
        k, logits = self._together(k)
        return -cross_entropy(k, logits)

    def _cdf(self, k: Any) -> Any:
        # The probability of less than k: TensorFlow's, which leaves k itself out.
        k, logits = self._together(k)
        below = count(self.event_size) < k[..., None]
        return reduce_sum(where(below, softmax(logits), 0 * logits), -1)

    def _together(self, k: Any) -> tuple[Any, Any]:
        """Class numbers and logits, broadcast to one batch."""
        k = cast(k, dt.int32)
        batch = broadcast_dynamic_shape(shape_of(k), self.batch_shape_tensor())
        full = concat([batch, [self.event_size]], 0)
        return broadcast_to(k, batch), broadcast_to(self._logits, full)

    def _entropy(self) -> Any:
        return -reduce_sum(softmax(self._logits) * log_softmax(self._logits), -1)

    def _mode(self) -> Any:
        return cast(argmax(self._logits, -1), self.dtype)


@RegisterKL(Categorical, Categorical)
def _kl_categorical(a: Any, b: Any, name: str | None = None) -> Any:
    with scope(name, "kl_categorical_categorical"):
        gain = log_softmax(a.logits) - log_softmax(b.logits)
        return reduce_sum(softmax(a.logits) * gain, -1)
