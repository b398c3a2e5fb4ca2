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
from penstock.ops.debug_asserts import (
    assert_equal,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_non_negative,
)
from penstock.ops.distributions.base import NOT_REPARAMETERIZED, Distribution
from penstock.ops.distributions.divergence import RegisterKL
from penstock.ops.distributions.parameters import checked
from penstock.ops.math_cast import cast
from penstock.ops.math_elementwise import floor, log, log1p, sigmoid
from penstock.ops.math_range import range as count
from penstock.ops.math_reduce import reduce_sum
from penstock.ops.math_scan import argmax
from penstock.ops.nn_activations import softplus
from penstock.ops.nn_losses import log_softmax, softmax
from penstock.ops.nn_losses import sparse_softmax_cross_entropy_with_logits as cross_entropy
from penstock.ops.random_ops import multinomial, random_uniform
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


def one_of(logits: Any, probs: Any) -> None:
    """Raises ValueError unless one of the two is given."""
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


def class_parameters(logits: Any, probs: Any, validate: bool) -> tuple[Any, Any]:
    """Logits and probabilities of classes, of which one is given, as tensors[..., K]."""
    one_of(logits, probs)
    if probs is None:
        logits = convert_to_tensor(logits, name="logits")
        logits = checked(logits, [lambda: _check_classes(logits)], validate)
        return logits, softmax(_with_classes(logits), name="probs")
    probs = convert_to_tensor(probs, name="probs")
    one = ones_like(probs[..., 0]) if probs.shape.rank else ones_like(probs)
    checks = [
        lambda: _check_classes(probs),
        lambda: assert_non_negative(probs, message="probs has components less than 0."),
        lambda: assert_near(reduce_sum(probs, -1), one, message="probs does not sum to 1."),
    ]
    probs = checked(probs, checks, validate)
    return log(_with_classes(probs)), probs


def _with_classes(parameter: Any) -> Any:
    if parameter.shape.rank == 0:
        raise ValueError(
            "expected logits or probs with an axis of classes, got a scalar."
            " Pass one number for each class."
        )
    return parameter


def _check_classes(parameter: Any) -> Any:
    """Fails unless there are two classes at least: now if the shape is known."""
    _with_classes(parameter)
    known = None if parameter.shape.rank is None else parameter.shape.as_list()[-1]
    if known is None:
        text = "A categorical-distribution parameter must have at least 2 events."
        return assert_less(1, shape_of(parameter)[-1], message=text)
    if known < 2:
        raise ValueError(
            "A categorical-distribution parameter must have at least 2 events, got"
            f" {known}. Pass one number for each class."
        )
    return None


def whole_numbers(value: Any, top: Any, validate: bool) -> Any:
    """`value`, checked to be whole and not negative, and where `top` is given at most that."""
    checks = [lambda: assert_non_negative(value, message="Elements must be non-negative.")]
    if not value.dtype.is_integer:
        part = "Elements cannot contain fractional components."
        checks.append(lambda: assert_equal(value, floor(value), message=part))
    if top is not None:
        over = "Elements are above the largest class number."
        checks.append(lambda: assert_less_equal(value, cast(top, value.dtype), message=over))
    return checked(value, checks, validate)


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
        one_of(logits, probs)
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
      ValueError: both or neither of `logits` and `probs` are given, or they are scalars; there is
        one class only, with `validate_args`.
      InvalidArgumentError: probabilities that are negative or do not sum to 1, and values that are
        no class numbers, with `validate_args`; a class number outside [0, K) in `log_prob`.
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
        with scope(name, "Categorical") as full:
            self._logits, self._probs = class_parameters(logits, probs, validate_args)
        super().__init__(
            dt.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            name=full or name,
        )  # fmt: skip

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
        k = cast(whole_numbers(k, self.event_size - 1, self.validate_args), dt.int32)
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
