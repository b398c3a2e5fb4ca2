"""`ExponentialMovingAverage`: smoothed copies of variables, kept beside them."""

from collections.abc import Sequence
from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.graph.behavior import init_scope, name_scope_v1
from penstock.graph.default_graph import get_default_graph
from penstock.ops.array_basics import identity
from penstock.ops.conditionals import cond
from penstock.ops.grouping import group
from penstock.ops.initializers_v1 import Zeros
from penstock.ops.math_arithmetic import add, minimum, multiply, pow, subtract
from penstock.ops.math_cast import cast
from penstock.ops.math_division import divide
from penstock.ops.variable_scope import get_variable, variable_scope
from penstock.ops.variables import Variable
from penstock.ops.variables_v1 import (
    GraphKeys,
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from penstock.train import slots
from penstock.types import dtypes as dt

_FLOATS = (dt.bfloat16, dt.float16, dt.float32, dt.float64)


class ExponentialMovingAverage:
    """Keeps `average = decay * average + (1 - decay) * value` for variables and tensors.

    An average of a variable begins with the variable's first value, that of a tensor with 0.

    Args:
      decay: how slowly averages move, between 0 and 1; a number or a scalar tensor.
      num_updates: the number of updates so far, when averages shall move faster in the beginning:
        the decay is then at most `(1 + num_updates) / (10 + num_updates)`.
      zero_debias: whether averages of tensors are corrected for beginning with 0 (Kingma and Ba,
        arXiv:1412.6980, section 3).
      name: the name behind the variable's name.

    Example:
      >>> v = tf.Variable(1.0)
      >>> ema = tf.train.ExponentialMovingAverage(0.5)
      >>> ema.apply([v])
      >>> _ = v.assign(3.0)
      >>> ema.apply([v])
      >>> float(ema.average(v))
      2.0
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        """The name behind the variable's name."""
        return self._name

    def apply(self, var_list: Sequence[Any] | None = None) -> Any:
        """Updates the averages, and makes them at the first call.

        Args:
          var_list: variables, and in a graph tensors, of a floating dtype; the trainable variables
            by default.

        Returns:
          An operation that updates in a graph; None where it was done at once.

        Raises:
          TypeError: one is not floating, or is a tensor in eager mode.
        """
        if var_list is None:
            var_list = trainable_variables()
        for var in var_list:
            self._check(var)
        debiased = set()
        for var in var_list:
            key = var.ref()
            if key not in self._averages:
                self._averages[key] = self._make(var)
            if self._zero_debias and not isinstance(var, Variable):
                debiased.add(key)
        with name_scope_v1(self._name) as scope:
            decay = self._current_decay()
            updates = [
                assign_moving_average(
                    self._averages[v.ref()], v, decay, zero_debias=v.ref() in debiased
                )
                for v in var_list
            ]
            if state.graph is None:
                return None
            return group(*updates, name=scope)

    def _check(self, var: Any) -> None:
        if not isinstance(var, Variable) and state.graph is None:
            raise TypeError(
                "tf.train.ExponentialMovingAverage does not support non-Variable tensors when eager"
                f" execution is enabled: got {var!r}. Average a tf.Variable."
            )
        if var.dtype.base_dtype not in _FLOATS:
            raise TypeError(
                f"The variables must be half, float, or double: {var.name} is"
                f" {var.dtype.base_dtype.name}. Cast it with tf.cast."
            )

    def _make(self, var: Any) -> Any:
        with init_scope():
            if isinstance(var, Variable):
                average = slots.create_slot(var, lambda: _first_value(var), self._name)
                if state.graph is not None:
                    get_default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
                return average
            return slots.create_zeros_slot(var, self._name)

    def _current_decay(self) -> Any:
        decay = convert_to_tensor(self._decay, name="decay")
        if self._num_updates is None:
            return decay
        updates = cast(self._num_updates, dt.float32, name="num_updates")
        return minimum(decay, divide(add(1.0, updates), add(10.0, updates)))

    def average(self, var: Any) -> Any:
        """The Variable that holds the average of `var`; None when there is none."""
        return self._averages.get(var.ref())

    def average_name(self, var: Any) -> str:
        """The name that the average of `var` has, or would get.

        Args:
          var: a variable or tensor.
        """
        found = self._averages.get(var.ref())
        if found is not None:
            return slots.primary_name(found)
        name = f"{slots.primary_name(var)}/{self._name}"
        return str(get_default_graph().unique_name(name, mark_as_used=False))

    def variables_to_restore(
        self, moving_avg_variables: Sequence[Any] | None = None
    ) -> dict[str, Any]:
        """What a Saver restores so that variables get their averages as values.

        Args:
          moving_avg_variables: the variables that have averages; by default the trainable ones and
            those in the collection of averaged variables.

        Returns:
          Name in the checkpoint -> variable: the name of its average, or its own.
        """
        if moving_avg_variables is None:
            averaged = [*trainable_variables(), *moving_average_variables()]
        else:
            averaged = list(moving_avg_variables)
        by_key = {v.ref(): v for v in averaged}
        names = {self.average_name(v): v for v in by_key.values()}
        others = {} if state.graph is None else {v.ref(): v for v in global_variables()}
        for key, var in others.items():
            if key not in by_key and slots.primary_name(var) not in names:
                names[slots.primary_name(var)] = var
        return names


def _first_value(var: Any) -> Any:
    """The value of a variable, or its initial value where it has none yet."""
    if state.graph is None:
        return var.read_value()
    return cond(var.is_initialized(), var.read_value, lambda: identity(var.initial_value))


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """`variable -= (1 - decay) * (variable - value)`.

    Args:
      variable: the variable that holds the average.
      value: a tensor of its dtype and shape.
      decay: a scalar between 0 and 1.
      zero_debias: whether the average is corrected for beginning with 0.
      name: the name of the operations in a graph.

    Returns:
      The new average.
    """
    with name_scope_v1(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        rate = subtract(1.0, convert_to_tensor(decay))
        rate = cast(rate, variable.dtype.base_dtype)
        if zero_debias:
            return variable.assign(_debiased(variable, value, rate), name=scope)
        change = multiply(subtract(variable, value), rate)
        return variable.assign_sub(change, name=scope)


def _debiased(average: Any, value: Any, rate: Any) -> Any:
    """The average of all values so far, each weighted as if the first had been there for ever."""
    with variable_scope(slots.primary_name(average)):
        options = {"trainable": False, "initializer": Zeros(), "dtype": average.dtype.base_dtype}
        biased = get_variable("biased", shape=average.shape, **options)
        steps = get_variable("local_step", shape=[], **options)
    moved = biased.assign_sub(multiply(subtract(biased, value), rate))
    taken = steps.assign_add(convert_to_tensor(1, steps.dtype))
    return divide(moved, subtract(1, pow(subtract(1, rate), taken)))
