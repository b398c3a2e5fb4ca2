"""Activations, initializers, regularizers and constraints that layers and cells take by name."""

from collections.abc import Callable
from typing import Any, cast

from penstock.ops import initializers_v1 as first
from penstock.ops.composing import number
from penstock.ops.math_arithmetic import add, multiply
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_compare import clip_by_value
from penstock.ops.math_division import divide
from penstock.ops.math_elementwise import exp, sigmoid, sqrt, square, tanh
from penstock.ops.math_reduce import reduce_sum
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


def _l1(w: Any) -> Any:
    return multiply(number(0.01, w.dtype), reduce_sum(absolute(w)))


def _l2(w: Any) -> Any:
    return multiply(number(0.01, w.dtype), reduce_sum(square(w)))


def _norms(w: Any) -> Any:
    return sqrt(reduce_sum(square(w), 0, keepdims=True))


def _scaled_to(w: Any, wanted: Any) -> Any:
    """`w` with other norms along its first axis."""
    return multiply(w, divide(wanted, add(_norms(w), number(1e-7, w.dtype))))


def _max_norm(w: Any) -> Any:
    return _scaled_to(w, clip_by_value(_norms(w), 0.0, 2.0))


def _min_max_norm(w: Any) -> Any:
    return _scaled_to(w, clip_by_value(_norms(w), 0.0, 1.0))


def _non_neg(w: Any) -> Any:
    return relu(w)


def _unit_norm(w: Any) -> Any:
    return _scaled_to(w, number(1.0, w.dtype))


# By Keras's names, with the numbers that they have there by default.
_REGULARIZERS: dict[str, Activation] = {
    "l1": _l1, "l2": _l2, "l1_l2": lambda w: add(_l1(w), _l2(w)),
}  # fmt: skip
_CONSTRAINTS: dict[str, Activation] = {
    "max_norm": _max_norm, "min_max_norm": _min_max_norm, "non_neg": _non_neg,
    "unit_norm": _unit_norm,
}  # fmt: skip


def _by_name(given: Any, what: str, table: dict[str, Activation]) -> Activation | None:
    if not isinstance(given, str):
        return cast("Activation | None", given)
    if given not in table:
        raise ValueError(
            f"Unknown {what}: {given!r}. Expected one of {sorted(table)}, or a function."
        )
    return table[given]


def regularizer(given: Any) -> Activation | None:
    """The regularizer of a name; anything else as it is.

    Args:
      given: "l1", "l2" or "l1_l2", each with the factor 0.01; a function, or None.

    Raises:
      ValueError: there is no such name.
    """
    return _by_name(given, "regularizer", _REGULARIZERS)


def constraint(given: Any) -> Activation | None:
    """The constraint of a name; anything else as it is.

    Args:
      given: "max_norm" (norms along the first axis of at most 2), "min_max_norm" (of 0 to 1),
        "non_neg" or "unit_norm"; a function, or None.

    Raises:
      ValueError: there is no such name.
    """
    return _by_name(given, "constraint", _CONSTRAINTS)


__all__ = ["activation", "constraint", "hard_sigmoid", "initializer", "linear", "regularizer"]
