"""The algebra of linear operators: which class a product, a solution or an adjoint has.

The base class of operators asks here and knows no subclass; the modules that define operators
register their rules. A rule for two classes holds for their subclasses; of several rules, the one
whose left class, then right class, is nearest is used.
"""

from collections.abc import Callable
from typing import Any

Rule = Callable[[Any, Any], Any]
_products: dict[tuple[type, type], Rule] = {}
_solutions: dict[tuple[type, type], Rule] = {}
_wrappers: dict[str, Callable[[Any], Any]] = {}


def product(left: type, right: type) -> Callable[[Rule], Rule]:
    """Decorator: the rule for `left @ right`."""
    return _adding(_products, left, right)


def solution(left: type, right: type) -> Callable[[Rule], Rule]:
    """Decorator: the rule for the inverse of `left`, times `right`."""
    return _adding(_solutions, left, right)


def _adding(table: dict[tuple[type, type], Rule], *classes: type) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        table[classes[0], classes[1]] = rule
        return rule

    return add


def wrapper(kind: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator: what makes the "adjoint", "inverse" or "cholesky" operator of any operator."""

    def add(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        _wrappers[kind] = function
        return function

    return add


def wrapped(kind: str, operator: Any) -> Any:
    """The adjoint, inverse or Cholesky factor of an operator, for want of a special one."""
    return _wrappers[kind](operator)


def multiply(left: Any, right: Any) -> Any:
    """The operator `left @ right`."""
    return _nearest(_products, left, right)(left, right)


def solve(left: Any, right: Any) -> Any:
    """The operator that is the inverse of `left`, times `right`."""
    return _nearest(_solutions, left, right)(left, right)


def _nearest(table: dict[tuple[type, type], Rule], left: Any, right: Any) -> Rule:
    for one in type(left).__mro__:
        for other in type(right).__mro__:
            rule = table.get((one, other))
            if rule is not None:
                return rule
    raise NotImplementedError(
        f"{type(left).__name__} and {type(right).__name__}: expected linear operators. Convert "
        "one of them with to_dense()."
    )
