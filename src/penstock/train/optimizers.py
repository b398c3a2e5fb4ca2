"""The optimizers of `compat.v1.train`: each makes its slots and calls one update operation."""

from collections.abc import Mapping
from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.graph.behavior import colocate_with, control_dependencies
from penstock.ops.array_fill import ones_like
from penstock.ops.initializers_v1 import Constant, Ones
from penstock.ops.math_arithmetic import maximum
from penstock.ops.math_cast import cast
from penstock.ops.state_optimizers import APPLY, SPARSE_APPLY
from penstock.ops.state_scatter import SCATTER
from penstock.train.optimizer import Optimizer, grouped
from penstock.types.dtypes import float32


def _as(tensor: Any, grad: Any) -> Any:
    """A number in the dtype of a gradient."""
    dtype = grad.dtype.base_dtype
    return tensor if tensor.dtype is dtype else execute("Cast", (tensor,), {"DstT": dtype})


NODE_NAMES = {
    "alpha": "learning_rate",
    "beta1": "beta1",
    "beta2": "beta2",
    "epsilon": "epsilon",
    "l1": "l1_regularization_strength",
    "l2": "l2_regularization_strength",
    "l2_shrinkage": "l2_shrinkage_regularization_strength",
    "learning_rate": "learning_rate",
    "lr": "learning_rate",
    "lr_power": "learning_rate_power",
    "momentum": "momentum",
    "rho": "decay",
}


class _RuleOptimizer(Optimizer):
    """An optimizer whose update is one operation of `penstock.ops.state_optimizers`.

    A subclass says which rule, which slots in the operation's order, and which numbers; `_numbers`
    are made by `_prepare`. Their tensors have TensorFlow's names, by which programs fetch them.
    """

    _rule: str
    _slot_names: tuple[str, ...] = ()
    _node_names: Mapping[str, str] = NODE_NAMES  # of the numbers, by the operation's arguments

    def _given(self) -> dict[str, Any]:
        """The numbers by name, as the user gave them."""
        raise NotImplementedError

    def _attrs(self) -> dict[str, Any]:
        return {"use_locking": self._use_locking}

    def _real_number(self, value: Any, argument: str) -> Any:
        """One of the numbers as a tensor, where text and complex numbers are refused at once.

        Raises:
          TypeError: it is no real number.
        """
        name = self._node_names[argument]
        number = convert_to_tensor(self._call_if_callable(value), name=name)
        if not (number.dtype.is_floating or number.dtype.is_integer or number.dtype.is_bool):
            raise TypeError(
                f"{type(self).__name__}: expected a real number as {name}, got {value!r}, which is "
                f"{number.dtype.name}. Pass a float."
            )
        return number

    def _prepare(self) -> None:
        self._numbers = {
            name: convert_to_tensor(self._call_if_callable(value), name=self._node_names[name])
            for name, value in self._given().items()
        }

    def _inputs(self, grad: Any, var: Any, extra: dict[str, Any]) -> dict[str, Any]:
        named = {name: _as(value, grad) for name, value in self._numbers.items()}
        named["var"] = var.handle
        for argument, slot in zip(self._slot_arguments(), self._slot_names, strict=True):
            named[argument] = self.get_slot(var, slot).handle
        return {**named, **extra}

    def _slot_arguments(self) -> list[str]:
        op = APPLY[self._rule]
        return [a.name for a in op.inputs if a.name in op.effects and a.name != "var"]

    def _run(self, op: Any, named: dict[str, Any]) -> Any:
        return execute(op, [named[a.name] for a in op.inputs], self._attrs())

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        op = APPLY[self._rule]
        gradient = "delta" if op.inputs[-1].name == "delta" else "grad"
        return self._run(op, self._inputs(grad, handle, {gradient: grad}))

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        extra = {"grad": grad, "indices": indices}
        return self._run(SPARSE_APPLY[self._rule], self._inputs(grad, handle, extra))


class GradientDescentOptimizer(_RuleOptimizer):
    """Gradient descent.

    Args:
      learning_rate: a number, a tensor, or a function that returns one.
      use_locking: accepted for compatibility.
      name: the name of the operations.
    """

    _rule = "GradientDescent"

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _given(self) -> dict[str, Any]:
        return {"learning_rate": self._learning_rate}

    def _inputs(self, grad: Any, var: Any, extra: dict[str, Any]) -> dict[str, Any]:
        rate = _as(self._numbers["learning_rate"], grad)
        return {"var": var.handle, "alpha": rate, **extra}

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        rate = _as(self._numbers["learning_rate"], grad)
        return execute(SCATTER["Sub"], (handle.handle, indices, execute("Mul", (grad, rate))))


class MomentumOptimizer(_RuleOptimizer):
    """Gradient descent with momentum.

    Args:
      learning_rate: a number, a tensor, or a function that returns one.
      momentum: likewise.
      use_locking: accepted for compatibility.
      name: the name of the operations and slots.
      use_nesterov: whether the gradient is taken at the place the momentum leads to (Sutskever et
        al., 2013).
    """

    _rule = "Momentum"
    _slot_names = ("momentum",)

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _given(self) -> dict[str, Any]:
        return {"lr": self._learning_rate, "momentum": self._momentum}

    def _attrs(self) -> dict[str, Any]:
        return {"use_locking": self._use_locking, "use_nesterov": self._use_nesterov}

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)


class AdagradOptimizer(_RuleOptimizer):
    """Adagrad: the rate falls with the sum of squared gradients (Duchi et al., 2011).

    Args:
      learning_rate: a number, a tensor, or a function that returns one.
      initial_accumulator_value: where the sum begins; positive.
      use_locking: accepted for compatibility.
      name: the name of the operations and slots.

    Raises:
      ValueError: `initial_accumulator_value` is not positive.
    """

    _rule = "Adagrad"
    _slot_names: tuple[str, ...] = ("accumulator",)

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value

    def _given(self) -> dict[str, Any]:
        return {"lr": self._learning_rate}

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            constant_slot(self, var, self._initial_accumulator_value, "accumulator", self._name)


def constant_slot(optimizer: Optimizer, var: Any, value: float, slot: str, name: str) -> None:
    """Makes the slot of a variable, of its shape and dtype, filled with a number."""
    dtype = var.dtype.base_dtype
    if var.shape.is_fully_defined():
        first = Ones(dtype) if value == 1.0 else Constant(value, dtype)
        optimizer._get_or_make_slot_with_initializer(var, first, var.shape, dtype, slot, name)
        return

    def filled() -> Any:
        like = var.initial_value if var._in_graph_mode else var.value()
        return execute("Mul", (ones_like(like), convert_to_tensor(value, dtype)))

    optimizer._get_or_make_slot(var, filled, slot, name)


class AdadeltaOptimizer(_RuleOptimizer):
    """Adadelta: rates from running averages of gradients and updates (Zeiler, 2012).

    Args:
      learning_rate: a number, a tensor, or a function that returns one.
      rho: how slowly the averages forget.
      epsilon: keeps the quotient of the averages in bounds.
      use_locking: accepted for compatibility.
      name: the name of the operations and slots.
    """

    _rule = "Adadelta"
    _slot_names = ("accum", "accum_update")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    _node_names: Mapping[str, str] = {"lr": "lr", "rho": "rho", "epsilon": "epsilon"}

    def _given(self) -> dict[str, Any]:
        return {"lr": self._lr, "rho": self._rho, "epsilon": self._epsilon}

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "accum", self._name)
            self._zeros_slot(var, "accum_update", self._name)


class RMSPropOptimizer(_RuleOptimizer):
    """RMSProp: gradients divided by a running average of their size (Tieleman and Hinton, 2012).

    Args:
      learning_rate: a number, a tensor, or a function that returns one.
      decay: how slowly the average forgets.
      momentum: the momentum.
      epsilon: keeps the denominator from zero.
      use_locking: accepted for compatibility.
      centered: whether the average is of the squared distance from the mean.
      name: the name of the operations and slots.
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered
        self._rule = "CenteredRMSProp" if centered else "RMSProp"
        self._slot_names = ("mg", "rms", "momentum") if centered else ("rms", "momentum")

    def _given(self) -> dict[str, Any]:
        return {
            "lr": self._learning_rate,
            "rho": self._decay,
            "momentum": self._momentum,
            "epsilon": self._epsilon,
        }

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            constant_slot(self, var, 1.0, "rms", self._name)
            if self._centered:
                self._zeros_slot(var, "mg", self._name)
            self._zeros_slot(var, "momentum", self._name)


_LEAST_RATE = 1e-36  # what Ftrl divides beta by, of rates that are zero or less


class FtrlOptimizer(_RuleOptimizer):
    """FTRL-proximal, which keeps weights at zero under an l1 penalty (McMahan et al., 2013).

    Args:
      learning_rate: a number, a tensor, or a function that returns one.
      learning_rate_power: how fast the rate falls; zero or less.
      initial_accumulator_value: where the sum of squared gradients begins; zero or more.
      l1_regularization_strength: zero or more.
      l2_regularization_strength: zero or more.
      use_locking: accepted for compatibility.
      name: the name of the operations and slots.
      accum_name: the name of the slot of squared gradients; `name` by default.
      linear_name: the name of the slot of the linear terms; `name` by default.
      l2_shrinkage_regularization_strength: a penalty on the weights themselves; zero or more.
      beta: the constant beta of the paper.

    Raises:
      ValueError: a number is out of its range.
    """

    _slot_names = ("accum", "linear")

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: Any = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        super().__init__(use_locking, name)
        not_negative = {
            "initial_accumulator_value": initial_accumulator_value,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
        }
        for argument, value in not_negative.items():
            if value < 0.0:
                raise ValueError(f"{argument} {value:f} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power:f} needs to be negative or zero"
            )
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1 = l1_regularization_strength
        self._l2 = l2_regularization_strength
        self._shrinkage = l2_shrinkage_regularization_strength
        self._beta = 0.0 if beta is None else beta
        self._accum_name = accum_name
        self._linear_name = linear_name
        self._rule = "FtrlV2" if self._shrinkage > 0 else "Ftrl"

    def _given(self) -> dict[str, Any]:
        rate = self._real_number(self._learning_rate, "lr")
        if not rate.dtype.is_floating:
            rate = cast(rate, float32)
        given = {
            "lr": rate,
            "l1": self._l1,
            "l2": self._l2 + self._beta / (2.0 * maximum(rate, _LEAST_RATE)),
            "lr_power": self._learning_rate_power,
        }
        return {**given, "l2_shrinkage": self._shrinkage} if self._shrinkage > 0 else given

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            start, name = self._initial_accumulator_value, self._accum_name or self._name
            constant_slot(self, var, start, "accum", name)
            self._zeros_slot(var, "linear", self._linear_name or self._name)


class AdamOptimizer(_RuleOptimizer):
    """Adam: running means of gradients and their squares (Kingma and Ba, 2015).

    Rows without gradient move too when the gradient is sparse: the means of all rows decay at
    every step.

    Args:
      learning_rate: a number, a tensor, or a function that returns one.
      beta1: how slowly the mean of gradients forgets.
      beta2: how slowly the mean of their squares forgets.
      epsilon: keeps the denominator from zero.
      use_locking: accepted for compatibility.
      name: the name of the operations and slots.
      use_own_namescope_for_non_slot_vars: whether the powers of the betas are named after the
        optimizer.
    """

    _rule = "Adam"
    _slot_names = ("m", "v")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
        use_own_namescope_for_non_slot_vars: bool = False,
    ) -> None:
        super().__init__(use_locking, name, use_own_namescope_for_non_slot_vars)
        self._lr = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon

    def _given(self) -> dict[str, Any]:
        return {
            "lr": self._lr,
            "beta1": self._beta1,
            "beta2": self._beta2,
            "epsilon": self._epsilon,
        }

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        graph = state.graph
        while graph is not None and graph.building_function:
            graph = graph.outer_graph
        found = self._get_non_slot_variable
        return found("beta1_power", graph), found("beta2_power", graph)

    def _create_slots(self, var_list: list[Any]) -> None:
        first = min(var_list, key=lambda v: v.name)
        for name, value in (("beta1_power", self._beta1), ("beta2_power", self._beta2)):
            self._create_non_slot_variable(self._call_if_callable(value), name, first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _inputs(self, grad: Any, var: Any, extra: dict[str, Any]) -> dict[str, Any]:
        powers = zip(("beta1_power", "beta2_power"), self._get_beta_accumulators(), strict=True)
        read = {name: _as(power.value(), grad) for name, power in powers}
        return super()._inputs(grad, var, {**read, **extra})

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        n = self._inputs(grad, handle, {})
        one = convert_to_tensor(1, grad.dtype)
        rate = n["lr"] * execute("Sqrt", (one - n["beta2_power"],)) / (one - n["beta1_power"])
        m, v = self.get_slot(handle, "m"), self.get_slot(handle, "v")
        m_t = _decayed(m, n["beta1"], grad * (one - n["beta1"]), indices)
        v_t = _decayed(v, n["beta2"], grad * grad * (one - n["beta2"]), indices)
        step = rate * m_t / (execute("Sqrt", (v_t,)) + n["epsilon"])
        update = handle.assign_sub(step, use_locking=self._use_locking)
        return grouped([update, m_t, v_t], "")

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        with control_dependencies([op for op in update_ops if op is not None]):
            power1, power2 = self._get_beta_accumulators()
            with colocate_with(power1):
                scale = _as(self._numbers["beta1"], power1)
                first = power1.assign(power1.value() * scale, self._use_locking)
                scale = _as(self._numbers["beta2"], power2)
                second = power2.assign(power2.value() * scale, self._use_locking)
        return grouped([*update_ops, first, second], name_scope)


def _decayed(slot: Any, rate: Any, rows: Any, indices: Any) -> Any:
    """The slot's value once all rows decayed by `rate` and `rows` were added at `indices`."""
    assigned = slot.assign(slot.value() * rate)
    with control_dependencies([assigned] if state.graph is not None else []):
        added = execute(SCATTER["Add"], (slot.handle, indices, rows))
    with control_dependencies([added] if state.graph is not None else []):
        return slot.value()
