"""Switching the planner's mixed precision on together with loss scaling.

`enable_mixed_precision_graph_rewrite` wraps an optimizer and sets the option
`auto_mixed_precision`: plans that are made from then on compute what
`penstock.runtime.mixed_precision` lists in float16.
"""

from typing import Any

from penstock.config.optimizer_options import set_experimental_options
from penstock.train.loss_scale_optimizer import MixedPrecisionLossScaleOptimizer
from penstock.train.optimizer import Optimizer

_OPTION = "auto_mixed_precision"


def enable_mixed_precision_graph_rewrite(opt: Any, loss_scale: Any = "dynamic") -> Any:
    """Computes products and convolutions of graphs and functions in float16, with loss scaling.

    Call it before the first session and the first call of a function: what was planned before stays
    as it is.

    Args:
      opt: an optimizer of `compat.v1.train`.
      loss_scale: a number, "dynamic" or a LossScale.

    Returns:
      The optimizer with loss scaling.

    Raises:
      ValueError: `opt` is no optimizer, or scales losses already; `loss_scale` is none of these.
    """
    if isinstance(opt, MixedPrecisionLossScaleOptimizer):
        raise ValueError(
            '"opt" must not already be an instance of a MixedPrecisionLossScaleOptimizer: it is '
            "wrapped here. Pass the optimizer inside."
        )
    if not isinstance(opt, Optimizer):
        raise ValueError(
            f'"opt" must be an instance of a tf.train.Optimizer, but got: {opt}. Use one of '
            "tf.compat.v1.train."
        )
    wrapped = MixedPrecisionLossScaleOptimizer(opt, loss_scale)
    set_experimental_options({_OPTION: True})
    return wrapped


def disable_mixed_precision_graph_rewrite() -> None:
    """Switches the planner's mixed precision off again; optimizers keep their loss scaling."""
    set_experimental_options({_OPTION: False})
