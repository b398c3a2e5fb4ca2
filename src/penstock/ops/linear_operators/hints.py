"""Hints: what a linear operator is known or promised to be.

`is_non_singular`, `is_self_adjoint`, `is_positive_definite` and `is_square` are True, False, or
None for what is not known. They are promises, not checked against values, and decide which method
solves an equation. Here are what they imply about each other and about products.
"""

from typing import Any

NAMES = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")
Hint = bool | None
Hints = dict[str, Any]  # Any: a Hint, which goes to constructors with other parameters too


def checked(
    is_non_singular: Hint, is_self_adjoint: Hint, is_positive_definite: Hint, is_square: Hint
) -> Hints:
    """The hints with what follows from them.

    Raises:
      ValueError: they contradict each other.
    """
    if is_positive_definite:
        if is_non_singular is False:
            raise ValueError(
                "A positive definite matrix is always non-singular. Got is_positive_definite=True "
                "and is_non_singular=False: leave one of them out."
            )
        is_non_singular = True
    for wanted, what in ((is_non_singular, "non-singular"), (is_self_adjoint, "self-adjoint")):
        if not wanted:
            continue
        if is_square is False:
            raise ValueError(
                f"A {what} matrix is always square. Got is_square=False: leave one of the hints "
                "out."
            )
        is_square = True
    values = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
    return dict(zip(NAMES, values, strict=True))


def of(operator: Any) -> Hints:
    """The hints of an operator."""
    return {name: getattr(operator, name) for name in NAMES}


def require(value: Hint, wanted: bool, message: str) -> bool:
    """`wanted`, for a hint that can have no other value.

    Raises:
      ValueError: the user gave the other one.
    """
    if value is (not wanted):
        raise ValueError(f"{message} Got {value}: leave the hint out.")
    return wanted


def all_true(operators: list[Any], name: str) -> Hint:
    """True when every operator has the hint, else None."""
    return True if all(getattr(o, name) for o in operators) else None


def non_singular_product(a: Any, b: Any) -> Hint:
    """Whether the product of two operators can be inverted."""
    squares = (a.is_square, b.is_square)
    if False in squares:
        return False if True in squares else None
    hints = (a.is_non_singular, b.is_non_singular)
    if False in hints:
        return False
    return True if all(hints) else None


def of_product(a: Any, b: Any) -> Hints:
    """The hints of the product of two operators about which nothing else is known."""
    if {a.is_square, b.is_square} == {True, False}:
        return dict.fromkeys(NAMES, False)
    square = True if a.is_square and b.is_square else None
    return dict(zip(NAMES, (non_singular_product(a, b), _pair(a, b), None, square), strict=True))


def _pair(a: Any, b: Any) -> Hint:
    return True if is_adjoint_pair(a, b) else None


def of_commuting_product(a: Any, b: Any) -> Hints:
    """The hints of the product of two operators with a b = b a, such as diagonal ones."""
    hints = (a.is_self_adjoint, b.is_self_adjoint)
    self_adjoint = True if all(hints) else False if set(hints) == {True, False} else None
    positive = self_adjoint and a.is_positive_definite and b.is_positive_definite
    return {
        "is_non_singular": non_singular_product(a, b),
        "is_self_adjoint": self_adjoint,
        "is_positive_definite": True if positive else None,
        "is_square": True,
    }


def is_adjoint_pair(a: Any, b: Any) -> bool:
    """Whether one operator is known to be the adjoint of the other."""
    if a is b:
        return bool(a.is_self_adjoint)
    return getattr(a, "_adjoint_of", None) is b or getattr(b, "_adjoint_of", None) is a
