"""Values of generated code: names without a value, and tensors that decide at run time."""

from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.ops.array_fill import zeros
from penstock.ops.bodies import as_predicate
from penstock.ops.variables import Variable
from penstock.types import dtypes as dt
from penstock.util import nest
from penstock.util.frames import user_frame


class Undefined:
    """Stands for a variable that has no value yet; reading it through `ld` is an error."""

    __slots__ = ("symbol_name",)

    def __init__(self, symbol_name: str) -> None:
        self.symbol_name = symbol_name

    def read(self) -> Any:
        """Raises what Python raises for such a variable."""
        raise UnboundLocalError(
            f"'{self.symbol_name}' is used before assignment{at()}: expected a value from every"
            " path that leads here, got none. Give it a value first."
        )

    def __repr__(self) -> str:
        return self.symbol_name


class UndefinedReturnValue:
    """The return value of a function that has not returned yet."""


def ld(value: Any) -> Any:
    """The value of a variable.

    Raises:
      UnboundLocalError: it has none.
    """
    return value.read() if isinstance(value, Undefined) else value


def ldu(load: Any, name: str) -> Any:
    """What `load()` gives, or an Undefined where that fails: for `a.b` and `a[i]`."""
    try:
        return load()
    except (KeyError, AttributeError, NameError, IndexError):
        return Undefined(name)


def is_missing(value: Any) -> bool:
    """Whether a variable has no value."""
    return isinstance(value, (Undefined, UndefinedReturnValue))


def is_staged(value: Any) -> bool:
    """Whether control flow that depends on `value` becomes part of the graph."""
    if isinstance(value, SymbolicTensor):
        return True
    return state.graph is not None and (
        isinstance(value, (Tensor, Variable)) or getattr(value, "_is_one_tensor", False)
    )


def condition(value: Any, what: str) -> Any:
    """A tensor that chooses a branch or another round, of one element: bool[].

    Raises:
      ValueError: it is no boolean, or has none or several elements, as far as known.
    """
    tensor = convert_to_tensor(value)
    hints = []
    if tensor.dtype is not dt.bool_:
        hints.append("to use as boolean Tensor, use `tf.cast`")
    elif tensor.shape.num_elements() not in (None, 1):
        hints.append("use `tf.reduce_any` or `tf.reduce_all`")
    if hints:
        hints.append("to check for None, use `is not None`")
        raise ValueError(
            f"condition of {what} expected to be `tf.bool` scalar, got {tensor}{at()}; "
            + "; ".join(hints)
        )
    return as_predicate(tensor, what)


def as_tensors(value: Any) -> Any:
    """A nest of values as a nest of tensors; None stays.

    Raises:
      TypeError, ValueError: a value is no tensor.
    """
    return nest.map_structure(
        lambda v: v if v is None else convert_to_tensor(v), value, expand_composites=True
    )


def zeros_like_structure(value: Any) -> Any:
    """Zeros of the dtypes and, as far as known, of the shapes of a nest of tensors.

    An unknown dimension becomes 1, an unknown rank 0.
    """

    def zero(tensor: Any) -> Any:
        if tensor is None:
            return None
        return zeros([1 if d is None else d for d in tensor.dims or ()], tensor.dtype)

    return nest.map_structure(zero, value, expand_composites=True)


def at() -> str:
    """` at file:line` of the user's code."""
    where = user_frame()
    return f" at {where}" if where else ""
