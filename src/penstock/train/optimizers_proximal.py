"""Optimizers of `compat.v1.train` that shrink weights by l1 and l2 at each step."""

from typing import Any

from penstock.train.optimizer import Optimizer
from penstock.train.optimizers import AdagradOptimizer, GradientDescentOptimizer


class ProximalGradientDescentOptimizer(GradientDescentOptimizer):
    """Gradient descent, then shrinking (Duchi and Singer, 2009).

    Args:
      learning_rate: a number, a tensor, or a function that returns one.
      l1_regularization_strength: zero or more.
      l2_regularization_strength: zero or more.
      use_locking: accepted for compatibility.
      name: the name of the operations.
    """

    _rule = "ProximalGradientDescent"

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(learning_rate, use_locking, name)
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _given(self) -> dict[str, Any]:
        return {"alpha": self._learning_rate, "l1": self._l1, "l2": self._l2}

    def _inputs(self, grad: Any, var: Any, extra: dict[str, Any]) -> dict[str, Any]:
        return super(GradientDescentOptimizer, self)._inputs(grad, var, extra)

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        # Not gradient descent's own: rows must be summed before they are shrunk.
        return Optimizer._resource_apply_sparse_duplicate_indices(self, grad, handle, indices)


class ProximalAdagradOptimizer(AdagradOptimizer):
    """Adagrad, then shrinking (Duchi and Singer, 2009).

    Args:
      learning_rate: a number, a tensor, or a function that returns one.
      initial_accumulator_value: where the sum of squared gradients begins; positive.
      l1_regularization_strength: zero or more.
      l2_regularization_strength: zero or more.
      use_locking: accepted for compatibility.
      name: the name of the operations and slots.

    Raises:
      ValueError: `initial_accumulator_value` is not positive.
    """

    _rule = "ProximalAdagrad"

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _given(self) -> dict[str, Any]:
        return {"lr": self._learning_rate, "l1": self._l1, "l2": self._l2}
