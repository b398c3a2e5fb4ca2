"""Operators of variables: those of tensors, on the value; and the `assign` of a slice."""

from collections.abc import Callable
from typing import Any

from penstock.core.tensor import Tensor, attach_method
from penstock.ops import overloads
from penstock.ops.variable_updates import VariableSlice

DELEGATED = (
    "__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __div__ __rdiv__ __truediv__ __rtruediv__ "
    "__floordiv__ __rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __matmul__ __rmatmul__ __and__ "
    "__rand__ __or__ __ror__ __xor__ __rxor__ __lt__ __le__ __gt__ __ge__ __neg__ __invert__ "
    "__abs__"
).split()
IN_PLACE = {
    "__iadd__": ("+", "assign_add(value)"),
    "__isub__": ("-", "assign_sub(value)"),
    "__imul__": ("*", "assign(variable * value)"),
    "__idiv__": ("/", "assign(variable / value)"),
    "__itruediv__": ("/", "assign(variable / value)"),
    "__irealdiv__": ("/", "assign(variable / value)"),
    "__ipow__": ("**", "assign(variable ** value)"),
}


def _delegated(name: str) -> Callable[..., Any]:
    def operator(self: Any, *others: Any) -> Any:
        return getattr(Tensor, name)(self.value(), *others)

    operator.__name__ = name
    return operator


def _refused(sign: str, instead: str) -> Callable[..., Any]:
    def operator(self: Any, other: Any) -> Any:
        raise RuntimeError(
            f"`variable {sign}= value` with `tf.Variable`s is not supported. Use "
            f"`variable.{instead}` to modify the variable, or `out = variable {sign} value` if you "
            "need to get a new output Tensor."
        )

    return operator


def _equality(name: str, otherwise: bool) -> Callable[..., Any]:
    def operator(self: Any, other: Any) -> Any:
        if overloads.by_value():
            return getattr(Tensor, name)(self.value(), other)
        return (self is other) != otherwise

    operator.__name__ = name
    return operator


def _slice_assign(tensor: Any) -> Any:
    source = getattr(tensor, "_handle_data", None)
    if not isinstance(source, VariableSlice):
        raise AttributeError(f"{type(tensor).__name__!r} object has no attribute 'assign'")
    return source.assign


def attach(variable_class: Any) -> None:
    """Gives a class of variables its operators, and slices of variables their `assign`."""
    for name in DELEGATED:
        if hasattr(Tensor, name):
            setattr(variable_class, name, _delegated(name))
    for name, (sign, instead) in IN_PLACE.items():
        setattr(variable_class, name, _refused(sign, instead))
    hashed = variable_class.__hash__
    variable_class.__eq__ = _equality("__eq__", otherwise=False)
    variable_class.__ne__ = _equality("__ne__", otherwise=True)
    variable_class.__hash__ = hashed
    attach_method("assign", property(_slice_assign))  # type: ignore[arg-type]


__all__ = ["attach", "overloads"]
