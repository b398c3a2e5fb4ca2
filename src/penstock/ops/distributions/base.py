"""The class of distributions: public methods that fall back on one another.

A subclass has `_log_prob` or `_prob`, `_sample_n`, shapes, and what else it knows (`_mean`,
`_entropy`, ...). A batch is of independent distributions with parameters of their own; an event is
one draw of one of them. What no method gives is a NotImplementedError.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.ops.array_basics import reshape
from penstock.ops.array_join import concat
from penstock.ops.composing import scope
from penstock.ops.distributions import divergence
from penstock.ops.math_elementwise import exp, log, sqrt, square
from penstock.ops.math_reduce import reduce_prod
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


class ReparameterizationType:
    """Whether draws of a distribution can be differentiated by its parameters.

    Args:
      rep_type: the type's name.
    """

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Distribution:
    """A distribution, or a batch of them.

    Args:
      dtype: of the draws.
      reparameterization_type: FULLY_REPARAMETERIZED or NOT_REPARAMETERIZED.
      validate_args: whether values are checked as the operations run.
      allow_nan_stats: whether a statistic without a value is NaN rather than an error.
      parameters: the arguments that made it, by name.
      graph_parents: tensors that it is made of; accepted for compatibility.
      name: the scope of its operations in a graph; its class by default.
    """

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: Any = None,
        name: str | None = None,
    ) -> None:
        del graph_parents
        self._dtype = dtype
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        self._parameters = {
            key: value
            for key, value in (parameters or {}).items()
            if key != "self" and not key.startswith("__")
        }
        self._name = name or type(self).__name__
        if not self._name.endswith("/"):
            with scope(self._name, self._name) as full:
                self._name = full or self._name

    @property
    def name(self) -> str:
        """The scope of its operations in a graph; eagerly the name it was given."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of the draws."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that made it, by name."""
        return dict(self._parameters)

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """Whether draws can be differentiated by the parameters."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """Whether a statistic without a value is NaN rather than an error."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """Whether values are checked as the operations run."""
        return self._validate_args

    @property
    def batch_shape(self) -> TensorShape:
        """The shape of the batch, as far as it is known."""
        return TensorShape(self._own("_batch_shape", "batch_shape")())

    @property
    def event_shape(self) -> TensorShape:
        """The shape of an event, as far as it is known."""
        return TensorShape(self._own("_event_shape", "event_shape")())

    def __repr__(self) -> str:
        return (
            f"<penstock {type(self).__name__} {self._name!r} batch_shape={self.batch_shape}"
            f" event_shape={self.event_shape} dtype={self.dtype.name}>"
        )

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """A distribution of the same class and arguments but those given."""
        return type(self)(**{**self._parameters, **override_parameters_kwargs})

    @classmethod
    def param_shapes(cls, sample_shape: Any, name: str = "DistributionParamShapes") -> Any:
        """The shapes (int32 vectors) of parameters for draws of shape `sample_shape`, by name."""
        with scope(name, name):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, TensorShape]:
        """The shapes of parameters for draws of shape `sample_shape`, by name."""
        shape = TensorShape(sample_shape)
        if not shape.is_fully_defined():
            raise ValueError(f"sample_shape must be fully defined, got {shape}. Use param_shapes.")
        return dict.fromkeys(cls._param_shapes(shape.as_list()), shape)

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        raise NotImplementedError(f"param_shapes is not implemented: {cls.__name__}")

    # ---- shapes

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """The shape of the batch, an int32 vector."""
        return self._shape_tensor("batch_shape", name)

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Any:
        """The shape of an event, an int32 vector."""
        return self._shape_tensor("event_shape", name)

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Any:
        """Whether there is one distribution and no batch: a bool scalar."""
        with self._scope(name):
            return convert_to_tensor(self.batch_shape.rank == 0)

    def is_scalar_event(self, name: str = "is_scalar_event") -> Any:
        """Whether an event is one number: a bool scalar."""
        with self._scope(name):
            return convert_to_tensor(self.event_shape.rank == 0)

    def _shape_tensor(self, which: str, name: str) -> Any:
        with self._scope(name):
            shape = getattr(self, which)
            if shape.is_fully_defined():
                return convert_to_tensor(shape.as_list(), dt.int32, name=which)
            return self._own(f"_{which}_tensor", name)()

    # ---- draws and densities

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Any:
        """Draws: a tensor of `dtype` and shape `sample_shape`, the batch's, the event's.

        Args:
          sample_shape: integer vector or scalar.
          seed: an integer, combined with the global seed.
          name: the name in a graph.
        """
        with self._scope(name):
            wanted = reshape(convert_to_tensor(sample_shape, dt.int32, name="sample_shape"), [-1])
            drawn = self._own("_sample_n", name)(reduce_prod(wanted), seed)
            inner = [self.batch_shape_tensor(), self.event_shape_tensor()]
            return reshape(drawn, concat([wanted, *inner], 0))

    def log_prob(self, value: Any, name: str = "log_prob") -> Any:
        """The logarithm of the density, or of the probability of a discrete value."""
        return self._of_value(name, value, log_prob=None, prob=log)

    def prob(self, value: Any, name: str = "prob") -> Any:
        """The density, or the probability of a discrete value."""
        return self._of_value(name, value, prob=None, log_prob=exp)

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Any:
        """The logarithm of the probability of at most `value`."""
        return self._of_value(name, value, log_cdf=None, cdf=log)

    def cdf(self, value: Any, name: str = "cdf") -> Any:
        """The probability of at most `value`."""
        return self._of_value(name, value, cdf=None, log_cdf=exp)

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Any:
        """The logarithm of the probability of more than `value`."""
        return self._of_value(
            name,
            value,
            log_survival_function=None,
            survival_function=log,
            cdf=lambda below: log(1 - below),
            log_cdf=lambda below: log(1 - exp(below)),
        )

    def survival_function(self, value: Any, name: str = "survival_function") -> Any:
        """The probability of more than `value`."""
        return self._of_value(
            name,
            value,
            survival_function=None,
            log_survival_function=exp,
            cdf=lambda below: 1 - below,
            log_cdf=lambda below: 1 - exp(below),
        )

    def quantile(self, value: Any, name: str = "quantile") -> Any:
        """The number that draws are at most with probability `value`."""
        return self._of_value(name, value, quantile=None)

    # ---- statistics

    def entropy(self, name: str = "entropy") -> Any:
        """The entropy in nats, one for each member of the batch."""
        return self._statistic(name, entropy=None)

    def mean(self, name: str = "mean") -> Any:
        """The mean."""
        return self._statistic(name, mean=None)

    def mode(self, name: str = "mode") -> Any:
        """The likeliest value."""
        return self._statistic(name, mode=None)

    def variance(self, name: str = "variance") -> Any:
        """The variance."""
        return self._statistic(name, variance=None, stddev=square)

    def stddev(self, name: str = "stddev") -> Any:
        """The standard deviation."""
        return self._statistic(name, stddev=None, variance=sqrt)

    def covariance(self, name: str = "covariance") -> Any:
        """The covariance of the numbers of an event: float[..., K, K]."""
        return self._statistic(name, covariance=None)

    def cross_entropy(self, other: Any, name: str = "cross_entropy") -> Any:
        """The mean of `-other.log_prob` over draws of this distribution."""
        with self._scope(name):
            return self.entropy() + divergence.kl_divergence(self, other, self._allow_nan_stats)

    def kl_divergence(self, other: Any, name: str = "kl_divergence") -> Any:
        """The Kullback-Leibler divergence of this distribution from another."""
        with self._scope(name):
            return divergence.kl_divergence(self, other, self._allow_nan_stats)

    # ---- how the methods fall back

    def _own(self, method: str, asked: str) -> Callable[..., Any]:
        found: Callable[..., Any] | None = getattr(self, method, None)
        if found is None:
            raise NotImplementedError(
                f"{asked} is not implemented: {type(self).__name__}. Define {method} in a subclass."
            )
        return found

    def _first(self, name: str, ways: dict[str, Any], *arguments: Any) -> Any:
        for method, change in ways.items():
            found = getattr(self, f"_{method}", None)
            if found is not None:
                result = found(*arguments)
                return result if change is None else change(result)
        return self._own(f"_{next(iter(ways))}", next(iter(ways)))

    def _of_value(self, name: str, value: Any, **ways: Any) -> Any:
        with self._scope(name):
            given = convert_to_tensor(value, dtype_hint=self._dtype, name="value")
            return self._first(name, ways, given)

    def _statistic(self, name: str, **ways: Any) -> Any:
        with self._scope(name):
            return self._first(name, ways)

    @contextlib.contextmanager
    def _scope(self, name: str) -> Iterator[None]:
        with scope(self._name, self._name), scope(name, name):
            yield
