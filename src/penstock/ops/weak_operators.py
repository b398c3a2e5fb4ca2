"""Operators, methods and assignments in the dtype conversion modes "safe" and "all".

Arithmetic and `==` promote as the functions of the same names do; other operators see the tensors
inside of weak ones. A variable keeps its dtype: what is assigned to it must promote to that.
"""

from collections.abc import Callable
from typing import Any

from penstock.core.tensor import Tensor
from penstock.core.weak_tensor import WeakTensor, strong, weak
from penstock.ops import weak_dtypes
from penstock.ops.variable_updates import Updates
from penstock.ops.weak_dtypes import Kind, common_kind
from penstock.ops.weak_functions import inside, is_other

Function = Callable[..., Any]

PROMOTING = frozenset(
    {"__eq__"}.union(
        *(
            {f"__{name}__", f"__r{name}__"}
            for name in "add sub mul truediv div floordiv mod pow matmul".split()
        )
    )
)
KEEPING = frozenset({"__neg__", "__abs__", "__invert__"})


def operator(name: str, usual: Function) -> Function:
    """An operator of tensors and weak tensors; `usual` is the tensors' own."""

    def promoting(x: Any, y: Any) -> Any:
        if isinstance(x, Tensor) and isinstance(y, Tensor) and x.dtype is y.dtype:
            return usual(x, y)
        kind = None if is_other(y) else common_kind(x, y)
        if kind is None:
            return usual(strong(x), strong(y))
        result = usual(weak_dtypes.convert(x, kind.dtype), weak_dtypes.convert(y, kind.dtype))
        return weak(result) if kind.weak else result

    def keeping(x: Any) -> Any:
        return weak(usual(strong(x))) if isinstance(x, WeakTensor) else usual(x)

    def other(x: Any, y: Any) -> Any:
        return usual(strong(x), inside(y))

    return promoting if name in PROMOTING else keeping if name in KEEPING else other


def of_inside(function: Any) -> Any:
    """The form of an operator, method or property for weak tensors that outlive their mode."""
    if isinstance(function, property):
        return property(of_inside(function.fget))
    return lambda *args, **kwargs: function(*map(inside, args), **kwargs)


# ---- methods of weak tensors

_STRONG_METHODS = frozenset({"astype", "size", "to_device", "tolist"})


def method(name: str, function: Any) -> Any:
    """The form for weak tensors of a method or property that tensors have."""
    if isinstance(function, property):
        return property(method(name, function.fget))
    if name == "clip":  # promotes the values and bounds that it gets
        return lambda self, *args, **kwargs: function(self, *args, **kwargs)
    if name in _STRONG_METHODS:
        return lambda self, *args, **kwargs: function(strong(self), *args, **kwargs)
    return lambda self, *args, **kwargs: weak(function(strong(self), *args, **kwargs))


# ---- assignments to variables


def _assigning(name: str, usual: Function) -> Function:
    def assign(self: Any, *args: Any, **kwargs: Any) -> Any:
        parameter = "value" if name == "assign" else "delta"
        if not args and parameter not in kwargs:
            return usual(self, **kwargs)  # which says what is missing
        value, rest = (args[0], args[1:]) if args else (kwargs.pop(parameter), ())
        return usual(self, _of_variable(self, value, name), *rest, **kwargs)

    assign.__name__, assign.__doc__ = name, usual.__doc__
    return assign


def _of_variable(variable: Any, value: Any, name: str) -> Any:
    """The value as a tensor of the variable's dtype.

    Raises:
      TypeError: value and variable share another dtype.
    """
    own = Kind(variable.dtype.base_dtype, False)
    given = weak_dtypes.kind_of(value)
    if given is None or own.dtype not in weak_dtypes.STRONG_DTYPES:
        return strong(value)
    found = weak_dtypes.join(own, given)
    if found.dtype is not own.dtype:
        raise TypeError(
            f"Variable dtype is immutable. {name} of {variable.name}: expected a value that"
            f" promotes to {own.dtype.name}, got one of {given}, which gives {found}. Cast it with"
            f" tf.cast(value, tf.{own.dtype.name}), or make the variable of another dtype."
        )
    return weak_dtypes.convert(value, own.dtype)


_ASSIGNMENTS = ("assign", "assign_add", "assign_sub")
_usual: dict[str, Function] = {}


def set_assignments(promoting: bool) -> None:
    """Says whether assignments to variables promote."""
    if not _usual:
        _usual.update({name: getattr(Updates, name) for name in _ASSIGNMENTS})
    for name, usual in _usual.items():
        setattr(Updates, name, _assigning(name, usual) if promoting else usual)
