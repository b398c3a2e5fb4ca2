"""Assertions on the numbers that linear operators are made of."""

from typing import Any

from penstock.core.context import state
from penstock.core.execute import execute
from penstock.ops.composing import number
from penstock.ops.debug_asserts import assert_equal, assert_less, assert_positive
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_cast import imag, real


def assert_no_zeros(x: Any, message: str) -> Any:
    """Fails when an element is zero."""
    sizes = absolute(x)
    return assert_less(number(0, sizes.dtype), sizes, message=message)


def assert_real(x: Any, message: str) -> Any:
    """Fails when an element has an imaginary part."""
    if not x.dtype.is_complex:
        return nothing("assert_real")
    parts = imag(x)
    return assert_equal(number(0, parts.dtype), parts, message=message)


def assert_positive_real(x: Any, message: str) -> Any:
    """Fails unless the real parts are positive."""
    return assert_positive(real(x) if x.dtype.is_complex else x, message=message)


def nothing(name: str) -> Any:
    """What an assertion returns that always holds: None, in a graph an operation without effect."""
    return None if state.graph is None else execute("NoOp", (), None, name)


def all_of(checks: list[Any], name: str) -> Any:
    """Several assertions as one: None, in a graph the operation that runs them."""
    graph = state.graph
    if graph is None:
        return None
    with graph.control_dependencies([c for c in checks if c is not None]):
        return nothing(name)
