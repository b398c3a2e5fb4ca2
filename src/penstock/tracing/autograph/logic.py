"""`and`, `or`, `not`, `==` and conditional expressions.

As in Python the right side is evaluated only when the left one does not decide.
"""

from collections.abc import Callable
from typing import Any

from penstock.core.execute import execute
from penstock.ops.conditionals import cond
from penstock.tracing.autograph import conditional
from penstock.tracing.autograph.values import is_staged

Thunk = Callable[[], Any]


def not_(value: Any) -> Any:
    """`not value`."""
    if is_staged(value):
        return execute("LogicalNot", (value,))
    return not value


# The operands are generated code: as functions of ours they are not converted once more.


def and_(left: Thunk, right: Thunk) -> Any:
    """`left() and right()`."""
    first = left()
    if is_staged(first):
        return cond(first, lambda: right(), lambda: first)
    return first and right()


def or_(left: Thunk, right: Thunk) -> Any:
    """`left() or right()`."""
    first = left()
    if is_staged(first):
        return cond(first, lambda: first, lambda: right())
    return first or right()


def eq(left: Any, right: Any) -> Any:
    """`left == right`; for tensors element by element."""
    if is_staged(left) or is_staged(right):
        return execute("Equal", (left, right))
    return left == right


def not_eq(left: Any, right: Any) -> Any:
    """`left != right`."""
    return not_(eq(left, right))


def if_exp(test: Any, body: Thunk, orelse: Thunk, text: str) -> Any:
    """`body() if test else orelse()`; `text` is the source of the test."""
    if is_staged(test):
        return conditional.choose(test, body, orelse, text)
    return body() if test else orelse()


def assert_stmt(test: Any, message: Thunk) -> None:
    """`assert test, message()`; over a tensor, an operation that fails when the graph runs."""
    if is_staged(test):
        data = message()
        execute("Assert", (test, [data if data is not None else ""]))
        return
    assert test, message()
