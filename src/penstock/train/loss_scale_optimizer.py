"""`MixedPrecisionLossScaleOptimizer`: loss scaling around any optimizer.

The loss is multiplied by the loss scale before its gradients are taken, and they are divided by it.
Steps with gradients that are infinite or not a number are left out, and the loss scale learns of
them.
"""

from typing import Any

from penstock.core.composite import IndexedSlices
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.graph.behavior import control_dependencies, init_scope
from penstock.ops.composing import cast
from penstock.ops.conditionals import cond
from penstock.ops.variables_v1 import GraphKeys
from penstock.train.loss_scales import loss_scale_of, scaled
from penstock.train.optimizer import GradsAndVars, Optimizer, grouped


class MixedPrecisionLossScaleOptimizer(Optimizer):
    """An optimizer that scales losses for another one, which keeps the slots.

    Args:
      opt: the optimizer that updates the variables.
      loss_scale: a number, "dynamic" or a LossScale.

    Raises:
      ValueError: `opt` is no optimizer of `compat.v1`, or `loss_scale` is none of these.

    Example:
      >>> from penstock.ops.variables import Variable
      >>> from penstock.train.optimizers import GradientDescentOptimizer
      >>> x = Variable(1.0)
      >>> scaled = MixedPrecisionLossScaleOptimizer(GradientDescentOptimizer(0.1), 1024.0)
      >>> scaled.minimize(lambda: x * x, var_list=[x])
      >>> print(x.numpy())
      0.8
    """

    def __init__(self, opt: Optimizer, loss_scale: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(
                f'"opt" must be an instance of Optimizer, but got: {type(opt)}. Use one of '
                "tf.compat.v1.train."
            )
        super().__init__(opt._use_locking, opt._name)
        self._optimizer = opt
        self._track_trackable(opt, "base_optimizer")
        self._loss_scale = loss_scale_of(loss_scale)
        self._track_trackable(self._loss_scale, "loss_scale")

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Gradients of a loss, computed of the scaled loss and scaled back.

        Arguments and result as of `Optimizer.compute_gradients`.
        """
        pairs = self._optimizer.compute_gradients(
            self._scale_loss(loss),
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        inverse = 1.0 / self._loss_scale()
        return [(None if g is None else _unscaled(g, inverse), v) for g, v in pairs]

    def _scale_loss(self, loss: Any) -> Any:
        if callable(loss):
            return lambda: scaled(convert_to_tensor(loss()), self._loss_scale())
        return scaled(loss, self._loss_scale()) if state.graph is not None else loss

    def apply_gradients(
        self,
        grads_and_vars: GradsAndVars,
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Updates variables with their gradients, unless one of these is not finite.

        Args:
          grads_and_vars: pairs as `compute_gradients` returns them.
          global_step: a variable that grows by one when they are applied.
          name: the name of the update.
          skip_gradients_aggregation: accepted for compatibility.

        Returns:
          The operation that updates variables and loss scale; None in eager mode.

        Raises:
          ValueError: no variable has a gradient.
        """
        pairs = list(grads_and_vars)
        if not any(g is not None for g, _ in pairs):
            return self._optimizer.apply_gradients(pairs, global_step, name)  # it refuses
        updated, applies = self._loss_scale.update([g for g, _ in pairs])
        if state.graph is None:
            if bool(applies):
                self._optimizer.apply_gradients(pairs, global_step, name)
            return None
        if applies is True:
            return self._optimizer.apply_gradients(pairs, global_step, name)
        with init_scope():
            self._optimizer._create_slots([v for g, v in pairs if g is not None])
        done = self._apply_where(applies, pairs, global_step)
        applied = grouped([done.op, updated], name or self._name)
        collection = state.graph.get_collection_ref(GraphKeys.TRAIN_OP)
        if applied not in collection:
            collection.append(applied)
        return applied

    def _apply_where(self, applies: Any, pairs: list[Any], global_step: Any) -> Any:
        """A tensor that is there once the gradients were applied, or left out."""

        def apply() -> Any:
            with control_dependencies([self._optimizer.apply_gradients(pairs, global_step)]):
                return convert_to_tensor(True)

        return cond(applies, apply, lambda: convert_to_tensor(False))

    def variables(self) -> list[Any]:
        """The variables of the optimizer inside and of the loss scale."""
        return [*self._optimizer.variables(), *self._loss_scale._variables()]


def _unscaled(grad: Any, inverse: Any) -> Any:
    """A gradient divided by the loss scale."""
    if isinstance(grad, IndexedSlices):
        values = grad.values * cast(inverse, grad.values.dtype)
        return IndexedSlices(values, grad.indices, grad.dense_shape)
    return grad * cast(inverse, grad.dtype)
