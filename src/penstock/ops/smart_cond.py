"""A conditional that builds one branch only where the predicate is known."""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.tensor import Tensor
from penstock.graph.static_values import constant_value
from penstock.ops.conditionals import cond


def smart_cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """What `true_fn()` or `false_fn()` returns; a conditional only where `pred` is not known.

    Args:
      pred: Python bool, 0 or 1, or bool[].
      true_fn: takes nothing, returns a nest of tensors.
      false_fn: likewise.
      name: the name of the operation in a graph.

    Returns:
      What the function returns, or a nest of tensors.

    Raises:
      TypeError: a function is not callable, or `pred` is none of these.
    """
    for label, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(function):
            raise TypeError(f"Argument `{label}` must be callable. Received {function}")
    assert true_fn is not None
    assert false_fn is not None
    known = _known(pred)
    if known is None:
        return cond(pred, true_fn, false_fn, name)
    return true_fn() if known else false_fn()


def _known(pred: Any) -> bool | None:
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        return None if value is None else bool(value)
    if isinstance(pred, bool | np.bool_) or (isinstance(pred, int) and pred in (0, 1)):
        return bool(pred)
    if hasattr(pred, "dtype") and hasattr(pred, "shape"):  # a variable: it may change
        return None
    raise TypeError(
        "Argument `pred` must be a Tensor, or a Python bool, or 1 or 0. Received: "
        f"pred={pred} of type {type(pred).__name__}"
    )
