"""Operators of tensors: `x + y`, `x @ y`, `x == y`, `~x`, ...

Each operator goes straight to the fast public function. The operand that is no tensor takes the
tensor's dtype; nothing is promoted. `==` and `!=` compare by value, and by identity once
`Tensor.equality_by_value` is off.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import dispatch
from penstock.core.context import at_home, state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import EagerTensor, Tensor, TensorBase, attach_method
from penstock.ops import math_arithmetic as arithmetic
from penstock.ops import math_compare as compare
from penstock.ops import math_division as division
from penstock.ops.factories import as_dtype_of
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_cast import cast
from penstock.ops.math_matmul import fast_matmul, matmul
from penstock.types import dtypes as dt

Function = Callable[..., Any]


def _yields(value: Any, method: str) -> bool:
    """Whether a class of its own answers this operator: a sparse or ragged tensor, say.

    Args:
      value: the second operand.
      method: the name of the method that Python asks next, `__radd__`, say.
    """
    if getattr(value, "__array_priority__", 0) <= Tensor.__array_priority__:
        return False
    found = getattr(value.__class__, method, None)
    return found is not None and found is not getattr(object, method, None)


def _forward(function: Function, method: str, name: str = "") -> Function:
    def operator(x: Any, y: Any) -> Any:
        if y.__class__ is EagerTensor and x.__class__ is EagerTensor:
            return function(x, y)
        if y.__class__ is not EagerTensor and _yields(y, method):
            return NotImplemented
        if name and state.graph is not None:
            return _in_graph(function, x, y, name)
        return function(x, y)

    return operator


def _reflected(function: Function, name: str = "") -> Function:
    def operator(x: Any, y: Any) -> Any:
        if name and state.graph is not None:
            return _in_graph(function, y, x, name)
        return function(y if isinstance(y, Tensor) else _as_left(x, y), x)

    return operator


def _in_graph(function: Function, x: Any, y: Any, name: str) -> Any:
    """`function` in a scope of the operator's name, where an operand that is no tensor goes too."""
    with at_home(x, y), state.graph.name_scope(name) as scope:
        left, right = ("a", "b") if name == "matmul" else ("x", "y")
        if not isinstance(x, Tensor):
            x = as_dtype_of(y, x, left)
        elif not isinstance(y, Tensor):
            y = as_dtype_of(x, y, right)
        return function(x, y, name=scope)


def _as_left(tensor: Any, value: Any) -> Any:
    return as_dtype_of(tensor, value)


def _logic(bitwise: Function, logical: Function) -> Function:
    """Logic for bools, bits for integers."""

    def function(x: Any, y: Any, name: str | None = None) -> Any:
        x = x if isinstance(x, Tensor) else as_dtype_of(y, x)
        if x.dtype.is_bool:
            y = convert_to_tensor(y, None if isinstance(y, TensorBase) else dt.bool_)
            return logical(x, y, name=name)
        return bitwise(x, y)

    return function


def _invert(x: Any) -> Any:
    return compare.logical_not(x) if x.dtype.is_bool else compare.invert(x)


def _negate(x: Any) -> Any:
    return arithmetic.negative(x)


def _absolute(x: Any) -> Any:
    return absolute(x)


def _product(x: Any, y: Any, name: str | None = None) -> Any:
    return fast_matmul(x, y) if name is None else matmul(x, y, name=name)


def _is_bool(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.is_bool


def _truths(x: Any, y: Any) -> Any:
    """Where both operands, cut to integers, have a product other than 0."""
    if state.graph is None:
        product = arithmetic.multiply(cast(x, dt.int32), cast(y, dt.int32))
        return cast(product, dt.bool_)
    with at_home(x, y), state.graph.name_scope("mul") as scope:
        product = arithmetic.multiply(cast(x, dt.int32), cast(y, dt.int32), name=scope)
        return cast(product, dt.bool_)


def _times(forward: Function) -> Function:
    """`x * y`: with a bool among the tensors it is one of truths."""

    def operator(x: Any, y: Any) -> Any:
        if y.__class__ is EagerTensor and x.__class__ is EagerTensor:
            try:
                return arithmetic.multiply(x, y)
            except (errors.InvalidArgumentError, TypeError):
                if not (_is_bool(x) or _is_bool(y)):
                    raise
                return _truths(x, y)
        if (_is_bool(x) or _is_bool(y)) and not _yields(y, "__rmul__"):
            return _truths(x, y)
        return forward(x, y)

    return operator


def _times_reflected(reflected: Function) -> Function:
    """`y * x`: what is no tensor takes the dtype of x; a variable's value comes as x, too."""

    def operator(x: Any, y: Any) -> Any:
        if _is_bool(x) or _is_bool(y):
            return _truths(y if isinstance(y, Tensor) else as_dtype_of(x, y), x)
        return reflected(x, y)

    return operator


def _matrices(forward: Function) -> Function:
    """`x @ y`: a class of y's own may have a `matmul`, though it has no operator for it."""

    def operator(x: Any, y: Any) -> Any:
        if y.__class__ is EagerTensor and x.__class__ is EagerTensor:
            return fast_matmul(x, y)
        if dispatch.kinds and dispatch.wanted((y,), {}):
            result = dispatch.call(matmul, "math_matmul.matmul", (x, y), {})
            if result is not dispatch.UNHANDLED:
                return result
        return forward(x, y)

    return operator


def _over(forward: Function) -> Function:
    """`x / y`: an eager tensor of bools by an array is NumPy's, as no operation divides bools."""

    def operator(x: Any, y: Any) -> Any:
        if y.__class__ is EagerTensor and x.__class__ is EagerTensor:
            return division.truediv(x, y)
        numbers = isinstance(y, (np.generic, np.ndarray)) and y.dtype.kind in "biufc"
        if numbers and x.__class__ is EagerTensor and x.dtype.is_bool and state.graph is None:
            return NotImplemented
        return forward(x, y)

    return operator


_BINARY: dict[str, Function] = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "truediv": division.truediv,
    "div": division.div,
    "floordiv": division.floordiv,
    "mod": division.floormod,
    "mul": arithmetic.multiply,
    "pow": arithmetic.pow,
    "matmul": _product,
    "and": _logic(compare.bitwise_and, compare.logical_and),
    "or": _logic(compare.bitwise_or, compare.logical_or),
    "xor": _logic(compare.bitwise_xor, compare.logical_xor),
}
_FIRST: dict[str, Callable[[Function], Function]] = {  # what looks at the operands before
    "truediv": _over,
    "matmul": _matrices,
    "mul": _times,
}
_ORDER: dict[str, Function] = {
    "lt": compare.less,
    "le": compare.less_equal,
    "gt": compare.greater,
    "ge": compare.greater_equal,
}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def by_value(*graphs: Any) -> bool:
    """Whether `==` compares elements: not in graphs that are built by hand, as in TensorFlow.

    Args:
      *graphs: those of the operands, beside the current one; None for eager tensors.
    """
    in_plain_graph = any(g is not None and not g.building_function for g in (state.graph, *graphs))
    return Tensor.equality_by_value and not in_plain_graph


def _equality(op: Any, function: Function, otherwise: bool) -> Function:
    """`==` or `!=`: `otherwise` is the answer for None, and for shapes that cannot be equal."""
    method = "__ne__" if otherwise else "__eq__"

    def operator(x: Any, y: Any) -> Any:
        if y is None:
            return otherwise
        if not by_value(None if x.__class__ is EagerTensor else x.graph):
            return (x is y) != otherwise
        if x.__class__ is EagerTensor and y.__class__ is EagerTensor:
            shape = getattr(x._array, "shape", None)
            if shape is not None and shape == getattr(y._array, "shape", None):
                return function(x, y)
        if _yields(y, method):
            return NotImplemented
        y = y if isinstance(y, Tensor) else as_dtype_of(x, y)
        return execute(op, (x, y), {"incompatible_shape_error": False})

    return operator


def attach() -> None:
    """Gives every tensor its operators."""
    for name, function in _BINARY.items():
        forward, reflected = _forward(function, f"__r{name}__", name), _reflected(function, name)
        attach_method(f"__{name}__", _FIRST[name](forward) if name in _FIRST else forward)
        attach_method(f"__r{name}__", _times_reflected(reflected) if name == "mul" else reflected)
    for name, function in _ORDER.items():
        attach_method(f"__{name}__", _forward(function, f"__{_MIRRORED[name]}__"))
    attach_method("__eq__", _equality(compare.EQUAL, compare.equal, otherwise=False))
    attach_method("__ne__", _equality(compare.NOT_EQUAL, compare.not_equal, otherwise=True))
    attach_method("__neg__", _negate)
    attach_method("__invert__", _invert)
    attach_method("__abs__", _absolute)


attach()
