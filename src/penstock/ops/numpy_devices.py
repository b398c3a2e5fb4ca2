"""The keyword `device` of the Array API standard: where a function of the namespace makes a tensor.

A device is its full name as text, as `x.device` gives it, or what `tf.device` takes.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from penstock.graph.behavior import device as device_scope
from penstock.ops.array_basics import identity

_LINE = "device: where the result is made, a name as in `x.device`; None leaves it to `tf.device`."


def moved(x: Any, device: Any) -> Any:
    """The tensor `x` on a device: itself when it is there, or when `device` is None."""
    if device is None or device == x.device != "":
        return x
    with device_scope(device):
        return identity(x)


def placed(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which makes a tensor, with the keyword `device`."""

    @functools.wraps(function)
    def make(*args: Any, device: Any = None, **kwargs: Any) -> Any:
        if device is None:
            return function(*args, **kwargs)
        with device_scope(device):
            return function(*args, **kwargs)

    last = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)
    signature = inspect.signature(function)
    wider = signature.replace(parameters=[*signature.parameters.values(), last])
    make.__signature__ = wider  # type: ignore[attr-defined]
    before, returns, after = (function.__doc__ or "").partition("\n\n    Returns:")
    make.__doc__ = f"{before}\n      {_LINE}{returns}{after}"
    return make
