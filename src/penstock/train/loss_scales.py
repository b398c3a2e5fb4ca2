"""Loss scales: what a loss is multiplied by, so that small gradients survive in half precision.

A `LossScale` is called for its value, and told of the gradients of each step; it answers whether
they may be applied. `FixedLossScale` never changes. `DynamicLossScale` is divided when a gradient
is infinite or not a number, and multiplied after so many steps in a row without one.

Source: Micikevicius et al., "Mixed Precision Training", arXiv:1710.03740, section 3.2.
"""

import abc
from typing import Any

from penstock.core.composite import IndexedSlices
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.trackable import Trackable
from penstock.ops.array_select import where
from penstock.ops.composing import cast
from penstock.ops.math_arithmetic import maximum
from penstock.ops.math_compare import is_finite, logical_and
from penstock.ops.math_reduce import reduce_all
from penstock.ops.variables_v1 import VariableV1
from penstock.train.optimizer import grouped
from penstock.types import dtypes as dt
from penstock.util import nest


class LossScale(Trackable, abc.ABC):
    """What a loss is multiplied by, and its gradients are divided by; the base of all kinds.

    A subclass defines `__call__`, `update` and `get_config`.
    """

    @abc.abstractmethod
    def __call__(self) -> Any:
        """The loss scale now: float32[]."""

    @abc.abstractmethod
    def update(self, grads: Any) -> tuple[Any, Any]:
        """Learns from the gradients of a step.

        Args:
          grads: nested gradients that were divided by the scale; None where there is none.

        Returns:
          The operation that updates (None in eager mode, and where there is nothing to update), and
          whether the gradients should be applied: bool[], or a Python bool.
        """

    @abc.abstractmethod
    def get_config(self) -> dict[str, Any]:
        """The arguments that make such a loss scale, by name."""

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "LossScale":
        """The loss scale that `get_config` described."""
        return cls(**config)

    def _add_weight(self, name: str, initial_value: Any, dtype: Any = None) -> Any:
        """A variable of the loss scale, which is saved with it."""
        first = convert_to_tensor(initial_value, dtype)
        made = VariableV1(first, name=name, trainable=False, use_resource=True)
        self._track_trackable(made, name)
        return made

    def _variables(self) -> list[Any]:
        """The variables of the loss scale, by name."""
        held = [getattr(self, name) for name in sorted(vars(self))]
        return [v for v in held if isinstance(v, VariableV1)]


class FixedLossScale(LossScale):
    """A loss scale that never changes; all gradients are applied.

    Args:
      loss_scale_value: a Python number of at least 1.

    Raises:
      ValueError: it is none.

    Example:
      >>> FixedLossScale(128)
      FixedLossScale(128.0)
    """

    def __init__(self, loss_scale_value: float) -> None:
        if not isinstance(loss_scale_value, (int, float)):
            raise ValueError(
                "loss_scale_value must be a Python int or float: expected a number of at least 1, "
                f"got {loss_scale_value!r}."
            )
        if not loss_scale_value >= 1:
            raise ValueError(
                f"loss_scale_value must be at least 1, got {loss_scale_value}. Smaller ones make "
                "gradients smaller still."
            )
        self._loss_scale_value = float(loss_scale_value)

    def __call__(self) -> Any:
        """The loss scale: float32[]."""
        return convert_to_tensor(self._loss_scale_value, dt.float32)

    def update(self, grads: Any) -> tuple[Any, bool]:
        """Nothing to update; True, whatever the gradients are."""
        return grouped([], ""), True

    def get_config(self) -> dict[str, Any]:
        """The arguments that make such a loss scale, by name."""
        return {"loss_scale_value": self._loss_scale_value}

    def __repr__(self) -> str:
        return f"FixedLossScale({self._loss_scale_value})"


class DynamicLossScale(LossScale):
    """A loss scale that grows while gradients are finite and shrinks when one is not.

    Args:
      initial_loss_scale: the first value; better too large, for it comes down quickly.
      increment_period: after how many steps in a row with finite gradients it grows.
      multiplier: by what it is multiplied then, and divided when a gradient is not finite. It never
        falls below 1 and never becomes infinite.
    """

    def __init__(
        self,
        initial_loss_scale: float = 2**15,
        increment_period: int = 2000,
        multiplier: float = 2.0,
    ) -> None:
        self._initial_loss_scale = float(initial_loss_scale)
        self._increment_period = int(increment_period)
        self._multiplier = float(multiplier)
        self._current_loss_scale = self._add_weight(
            "current_loss_scale", self._initial_loss_scale, dt.float32
        )
        self._num_good_steps = self._add_weight("good_steps", 0, dt.int64)

    @property
    def initial_loss_scale(self) -> float:
        """The first value."""
        return self._initial_loss_scale

    @property
    def increment_period(self) -> int:
        """After how many steps in a row with finite gradients it grows."""
        return self._increment_period

    @property
    def multiplier(self) -> float:
        """By what it is multiplied and divided."""
        return self._multiplier

    def __call__(self) -> Any:
        """The loss scale now: float32[]."""
        return convert_to_tensor(self._current_loss_scale)

    def update(self, grads: Any) -> tuple[Any, Any]:
        """Grows or shrinks; returns the operation that does, and whether all gradients are finite.

        Args:
          grads: nested gradients, tensors or IndexedSlices; None where there is none.

        Returns:
          The operation that updates, None in eager mode; bool[].
        """
        finite = _all_finite(grads)
        scale, good = self._current_loss_scale.read_value(), self._num_good_steps.read_value()
        grows = good + 1 >= self._increment_period
        grown = scale * self._multiplier
        kept = where(logical_and(grows, is_finite(grown)), grown, scale)
        shrunk = maximum(scale / self._multiplier, 1.0)
        count = where(logical_and(finite, ~grows), good + 1, execute("ZerosLike", (good,)))
        updates = [
            self._current_loss_scale.assign(where(finite, kept, shrunk)),
            self._num_good_steps.assign(count),
        ]
        return grouped([getattr(u, "op", None) for u in updates if state.graph], ""), finite

    def get_config(self) -> dict[str, Any]:
        """The arguments that make such a loss scale, by name."""
        return {
            "initial_loss_scale": self._initial_loss_scale,
            "increment_period": self._increment_period,
            "multiplier": self._multiplier,
        }

    def __repr__(self) -> str:
        now = ""
        if state.graph is None:
            scale, good = self._current_loss_scale.numpy(), self._num_good_steps.numpy()
            now = f"current_loss_scale={scale}, num_good_steps={good}, "
        return (
            f"DynamicLossScale({now}initial_loss_scale={self._initial_loss_scale}, "
            f"increment_period={self._increment_period}, multiplier={self._multiplier})"
        )


def _all_finite(grads: Any) -> Any:
    """Whether every element of every gradient is finite: bool[]."""
    given = [g for g in nest.flatten(grads) if g is not None]
    values = [g.values if isinstance(g, IndexedSlices) else convert_to_tensor(g) for g in given]
    each = [reduce_all(is_finite(v)) for v in values if not v.dtype.is_integer]
    if not each:
        return convert_to_tensor(True)
    return reduce_all(execute("Pack", (each,))) if len(each) > 1 else each[0]


def loss_scale_of(identifier: Any) -> LossScale:
    """The loss scale that a value stands for.

    Args:
      identifier: a number, "dynamic" or a LossScale.

    Raises:
      ValueError: it is None or anything else.
    """
    if isinstance(identifier, LossScale):
        return identifier
    if isinstance(identifier, (int, float)):
        return FixedLossScale(identifier)
    if identifier == "dynamic":
        return DynamicLossScale()
    if identifier is None:
        raise ValueError("loss_scale cannot be None: expected a number, 'dynamic' or a LossScale.")
    raise ValueError(
        f"Could not interpret loss scale identifier: {identifier}. Expected a number, 'dynamic' or "
        "a LossScale."
    )


def scaled(value: Any, scale: Any) -> Any:
    """A tensor times a loss scale, in the tensor's own dtype."""
    return value * cast(scale, value.dtype)
