"""Dimension: one dimension of a shape as an object, the way TensorFlow 1 returned it.

A Dimension holds an ``int`` or ``None``. Arithmetic with an unknown one is unknown, and a
comparison with an unknown one is ``None``. Code that does not need TensorFlow 1's behaviour uses
plain ints.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

_ORDERED = (operator.sub, operator.floordiv)


def _index_of(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, Dimension):
        return value.value
    if isinstance(value, bool):
        return value
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            "Dimension value must be integer or None or have an __index__ method, got value "
            f"'{value!r}' with type '{type(value)!r}'"
        ) from None


class Dimension:
    """One dimension of a shape.

    Args:
      value: an integer >= 0, None for an unknown size, or a Dimension.

    Raises:
      TypeError: the value is no integer.
      ValueError: the value is negative.

    Example:
      >>> Dimension(3) + 4, Dimension(3) * None
      (Dimension(7), Dimension(None))
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        size = _index_of(value)
        if size is not None and size < 0:
            raise ValueError(
                f"Dimension {size} must be >= 0. Use None for a dimension of unknown size."
            )
        self._value = size

    @property
    def value(self) -> int | None:
        """The size, or None when it is unknown."""
        return self._value

    def __repr__(self) -> str:
        return f"Dimension({self._value!r})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int:
        return self.__index__()

    def __index__(self) -> int:
        if self._value is None:
            raise TypeError("Dimension(None) has no integer value: its size is unknown")
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        """True when both are equal or one is unknown."""
        other = Dimension(other)
        return self._value is None or other.value is None or self._value == other.value

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError unless both are equal or one is unknown."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {Dimension(other)} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """The known one of two dimensions.

        Raises:
          ValueError: both are known and differ.
        """
        self.assert_is_compatible_with(other)
        return Dimension(other) if self._value is None else Dimension(self._value)

    # Comparisons: None when either size is unknown, NotImplemented for other classes; hence Any.

    def __eq__(self, other: object) -> Any:
        return self._compare(operator.eq, other, strict=False)

    def __ne__(self, other: object) -> Any:
        return self._compare(operator.ne, other, strict=False)

    def __lt__(self, other: Any) -> Any:
        return self._compare(operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._compare(operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._compare(operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self._compare(operator.ge, other)

    __hash__ = None  # type: ignore[assignment]  # equality with unknown sizes is no equivalence

    def _compare(self, test: Callable[[Any, Any], bool], other: Any, strict: bool = True) -> Any:
        try:
            size = Dimension(other).value
        except (TypeError, ValueError):
            if strict:
                raise
            return NotImplemented
        if self._value is None or size is None:
            return None
        return test(self._value, size)

    # Arithmetic: unknown when either size is unknown; hence Any. What is no size is left to the
    # other operand's class by sums and products, refused by the rest.

    def _combine(self, function: Callable[[int, int], int], other: Any, swap: bool = False) -> Any:
        try:
            size = Dimension(other).value
        except (TypeError, ValueError):
            if function is operator.mod or (swap and function in _ORDERED):
                raise
            return NotImplemented
        if self._value is None or size is None:
            return Dimension(None)
        a, b = (size, self._value) if swap else (self._value, size)
        return Dimension(function(a, b))

    def __add__(self, other: Any) -> Any:
        return self._combine(operator.add, other)

    def __radd__(self, other: Any) -> Any:
        return self._combine(operator.add, other, swap=True)

    def __sub__(self, other: Any) -> Any:
        return self._combine(operator.sub, other)

    def __rsub__(self, other: Any) -> Any:
        return self._combine(operator.sub, other, swap=True)

    def __mul__(self, other: Any) -> Any:
        return self._combine(operator.mul, other)

    def __rmul__(self, other: Any) -> Any:
        return self._combine(operator.mul, other, swap=True)

    def __floordiv__(self, other: Any) -> Any:
        return self._combine(operator.floordiv, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._combine(operator.floordiv, other, swap=True)

    def __mod__(self, other: Any) -> Any:
        return self._combine(operator.mod, other)

    def __rmod__(self, other: Any) -> Any:
        return self._combine(operator.mod, other, swap=True)

    def __truediv__(self, other: Any) -> Dimension:
        raise TypeError(_no_division("Dimension", type(other).__name__))

    def __rtruediv__(self, other: Any) -> Dimension:
        raise TypeError(_no_division(type(other).__name__, "Dimension"))

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self._value,)


def _no_division(left: str, right: str) -> str:
    return f"unsupported operand type(s) for /: '{left}' and '{right}', please use // instead"


def dimension_value(dimension: Any) -> Any:
    """The size inside a `Dimension`; anything else comes back as it is.

    Example:
      >>> dimension_value(Dimension(3)), dimension_value(4)
      (3, 4)
    """
    return dimension.value if isinstance(dimension, Dimension) else dimension
