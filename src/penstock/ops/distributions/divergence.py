"""Kullback-Leibler divergences of pairs of distributions, found by their classes.

`RegisterKL` adds one; `kl_divergence` takes the one that is nearest in both classes' ancestors.
"""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from penstock.graph.behavior import control_dependencies
from penstock.ops.array_basics import identity
from penstock.ops.composing import scope
from penstock.ops.debug_asserts import assert_that
from penstock.ops.math_compare import is_nan, logical_not
from penstock.ops.math_reduce import reduce_any

_rules: dict[tuple[type, type], Callable[..., Any]] = {}


def _rule(a: type, b: type) -> Callable[..., Any] | None:
    found = [
        (i + j, _rules[left, right])
        for i, left in enumerate(inspect.getmro(a))
        for j, right in enumerate(inspect.getmro(b))
        if (left, right) in _rules
    ]
    return min(found, key=lambda entry: entry[0])[1] if found else None


def kl_divergence(
    distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Any:
    """The Kullback-Leibler divergence of `distribution_a` from `distribution_b`.

    Args:
      distribution_a: the distribution that the logarithm's mean is taken over.
      distribution_b: the one it is compared with.
      allow_nan_stats: whether a NaN is a result; otherwise an error.
      name: the name in a graph.

    Returns:
      A float tensor, one number for each member of the broadcast batches.

    Raises:
      NotImplementedError: no divergence is registered for the two classes.
      InvalidArgumentError: a result is NaN and `allow_nan_stats` is False.
    """
    kinds = type(distribution_a), type(distribution_b)
    rule = _rule(*kinds)
    if rule is None:
        raise NotImplementedError(
            f"No KL(distribution_a || distribution_b) registered for distribution_a type"
            f" {kinds[0].__name__} and distribution_b type {kinds[1].__name__}. Register a function"
            " with RegisterKL."
        )
    with scope(name, "KullbackLeibler"):
        found = rule(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return found
        text = (
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN"
            " values (and was called with allow_nan_stats=False). Values:"
        )
        sound = assert_that(logical_not(reduce_any(is_nan(found))), [text, found])
        with control_dependencies([sound] if sound is not None else []):
            return identity(found)


@dataclasses.dataclass(frozen=True, slots=True)
class RegisterKL:
    """Decorates a function `(a, b, name=None)` as the divergence of two classes.

    Args:
      dist_cls_a: the class of the first distribution.
      dist_cls_b: that of the second.

    Raises:
      TypeError: what is decorated cannot be called.
      ValueError: the two classes have a divergence already.
    """

    dist_cls_a: type
    dist_cls_b: type

    def __call__(self, kl_fn: Callable[..., Any]) -> Callable[..., Any]:
        """Registers the function and returns it."""
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}. Decorate a function.")
        key = self.dist_cls_a, self.dist_cls_b
        if key in _rules:
            names = " || ".join(kind.__name__ for kind in key)
            raise ValueError(
                f"KL({names}) has already been registered to: {_rules[key]}. Register a subclass's."
            )
        _rules[key] = kl_fn
        return kl_fn
