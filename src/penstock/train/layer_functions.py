"""Activations and initializers that layers and cells take by name."""

from collections.abc import Callable
from typing import Any, cast

from penstock.ops import initializers_v1 as first
from penstock.ops.composing import number
from penstock.ops.math_arithmetic import add, multiply
from penstock.ops.math_compare import clip_by_value
from penstock.ops.math_elementwise import exp, sigmoid, tanh
from penstock.ops.nn_activations import (
    elu,
    gelu,
    leaky_relu,
    relu,
    relu6,
    selu,
    silu,
    softplus,
    softsign,
)
from penstock.ops.nn_losses import log_softmax, softmax

Activation = Callable[[Any], Any]


def linear(x: Any) -> Any:
    """The values themselves."""
    return x


def hard_sigmoid(x: Any) -> Any:
    """`0.2 * x + 0.5`, between 0 and 1."""
    scaled = add(multiply(x, number(0.2, x.dtype)), number(0.5, x.dtype))
    return clip_by_value(scaled, 0.0, 1.0)


_ACTIVATIONS: dict[str, Activation] = {
    "elu": elu,
    "exponential": exp,
    "gelu": gelu,
    "hard_sigmoid": hard_sigmoid,
    "leaky_relu": leaky_relu,
    "linear": linear,
    "log_softmax": log_softmax,
    "relu": relu,
    "relu6": relu6,
    "selu": selu,
    "sigmoid": sigmoid,
    "silu": silu,
    "softmax": softmax,
    "softplus": softplus,
    "softsign": softsign,
    "swish": silu,
    "tanh": tanh,
}
_INITIALIZERS: dict[str, Callable[[], Any]] = {
    "glorot_normal": first.GlorotNormal,
    "glorot_uniform": first.GlorotUniform,
    "ones": first.Ones,
    "orthogonal": first.Orthogonal,
    "random_normal": first.RandomNormal,
    "random_uniform": first.RandomUniform,
    "truncated_normal": first.TruncatedNormal,
    "zeros": first.Zeros,
}


def activation(given: Any) -> Activation | None:
    """The function of a name; None and functions as they are.

    Args:
      given: a name, a function, or None.

    Raises:
      ValueError: there is no such name.
      TypeError: it is neither.
    """
    if given is None or callable(given):
        return cast("Activation | None", given)
    if not isinstance(given, str):
        raise TypeError(f"Could not interpret activation function identifier: {given}")
    if given not in _ACTIVATIONS:
        raise ValueError(
            f"Unknown activation function: {given!r}. Expected one of {sorted(_ACTIVATIONS)}, or a "
            "function."
        )
    return _ACTIVATIONS[given]


def initializer(given: Any) -> Any:
    """The initializer of a name; anything else as it is.

    Args:
      given: a name, an initializer, or None.

    Raises:
      ValueError: there is no such name.
    """
    if not isinstance(given, str):
        return given
    if given not in _INITIALIZERS:
        raise ValueError(
            f"Unknown initializer: {given!r}. Expected one of {sorted(_INITIALIZERS)}, or an "
            "initializer."
        )
    return _INITIALIZERS[given]()


__all__ = ["activation", "hard_sigmoid", "initializer", "linear"]
