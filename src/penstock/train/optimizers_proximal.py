"""Optimizers of `compat.v1.train` that shrink weights by l1 and l2 at each step."""

from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops.math_cast import cast
from penstock.train.optimizer import Optimizer
from penstock.train.optimizers import (
    AdagradOptimizer,
    GradientDescentOptimizer,
    constant_slot,
)
from penstock.types.dtypes import int64


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
        rate = self._real_number(self._learning_rate, "alpha")
        return {"alpha": rate, "l1": self._l1, "l2": self._l2}

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
        rate = self._real_number(self._learning_rate, "lr")
        return {"lr": rate, "l1": self._l1, "l2": self._l2}


class AdagradDAOptimizer(AdagradOptimizer):
    """Adagrad's dual averaging: weights that l1 keeps at zero (Duchi, Hazan and Singer, 2011).

    A weight follows from the sums of its gradients and of their squares; at the first step it is
    set, whatever it was. Gradients of few rows change those rows alone.

    Args:
      learning_rate: a number, a tensor, or a function that returns one.
      global_step: an integer variable or tensor, the steps done before this one.
      initial_gradient_squared_accumulator_value: where the sum of squares begins; positive.
      l1_regularization_strength: zero or more.
      l2_regularization_strength: zero or more.
      use_locking: accepted for compatibility.
      name: the name of the operations and slots.

    Raises:
      ValueError: `initial_gradient_squared_accumulator_value` is not positive.
    """

    _rule = "AdagradDA"
    _slot_names = ("gradient_accumulator", "gradient_squared_accumulator")

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        first = initial_gradient_squared_accumulator_value
        if first <= 0.0:
            raise ValueError(
                f"initial_gradient_squared_accumulator_value must be positive: {first}"
            )
        super().__init__(learning_rate, first, use_locking, name)
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength
        self._global_step = global_step

    def _given(self) -> dict[str, Any]:
        rate = self._learning_rate
        rate = self._real_number(rate, "lr") if callable(rate) else rate
        return {"lr": rate, "l1": self._l1, "l2": self._l2}

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "gradient_accumulator", self._name)
            constant_slot(
                self, var, self._initial_accumulator_value, self._slot_names[1], self._name
            )

    def _prepare(self) -> None:
        super()._prepare()
        step = cast(self._global_step, int64)
        self._this_step = execute("AddV2", (step, convert_to_tensor(1, int64)))

    def _inputs(self, grad: Any, var: Any, extra: dict[str, Any]) -> dict[str, Any]:
        return super()._inputs(grad, var, {**extra, "global_step": self._this_step})
