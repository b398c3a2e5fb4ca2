"""What public functions that are compositions of operations share: scopes, and common steps.

    with scope(name, "crelu", features) as name:
        return concat([relu(x), relu(neg(x))], axis)

`scope` names the operations of a composition in a graph and costs nothing eagerly.
"""

import collections
import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.op_def import OpDef
from penstock.core.tensor import Tensor
from penstock.types import dims as d
from penstock.types.dtypes import DType

_NOTHING = contextlib.nullcontext("")


def scope(name: str | None, default: str) -> contextlib.AbstractContextManager[str]:
    """A name scope in the current graph; nothing when operations run at once."""
    graph = state.graph
    return _NOTHING if graph is None else graph.name_scope(name or default)


@functools.cache
def result_type(op: OpDef) -> Any:  # Any: a class that is made here
    """The named tuple of an operation's outputs, which has the operation's name."""
    return collections.namedtuple(op.name, [output.name for output in op.outputs])


def named(
    op: OpDef, inputs: Sequence[Any], attrs: dict[str, Any] | None = None, name: str | None = None
) -> Any:
    """`execute` of an operation of several outputs: they can be told by their names, too."""
    return result_type(op)(*execute(op, inputs, attrs, name))


Function = TypeVar("Function", bound=Callable[..., Any])


def composed(default: str, result: str | None = "") -> Callable[[Function], Function]:
    """Gives a function of many operations a name scope of its own in graphs.

    Args:
      default: the scope's name when the caller gives no `name`.
      result: what the function gets as its own `name`, for the operation that makes its result:
        "" for the scope's name, a text for that name inside of it, None for the default.
    """

    def decorate(function: Function) -> Function:
        names = list(inspect.signature(function).parameters)
        # Functions of any number of arguments take `name` by name only.
        position = names.index("name") if "name" in names else 1 << 30

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            graph = state.graph
            if graph is None:
                return function(*args, **kwargs)
            given = args[position] if len(args) > position else kwargs.pop("name", None)
            with graph.name_scope(given or default) as full:
                kwargs["name"] = full if result == "" else result
                rest = args[position + 1 :]
                kwargs.update(zip(names[position + 1 :], rest, strict=False))
                return function(*args[:position], **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def tensor(value: Any, dtype: DType | None = None, name: str | None = None) -> Tensor:
    """`value` as a tensor; tensors, and other values with a tensor form, as they convert."""
    return convert_to_tensor(value, dtype, name=name)  # type: ignore[no-any-return]


def like(value: Any, other: Tensor) -> Tensor:
    """`value` as a tensor of the dtype of `other`."""
    return convert_to_tensor(value, other.dtype.base_dtype)  # type: ignore[no-any-return]


def number(value: float, dtype: DType) -> Tensor:
    """A scalar constant."""
    return convert_to_tensor(np.asarray(value, dtype.numpy_dtype), dtype)  # type: ignore[no-any-return]


def total(x: Tensor, axes: Any, keep: bool = False) -> Tensor:
    """The sum of `x` over `axes` (int vector)."""
    return execute("Sum", (x, _axes(axes)), {"keep_dims": keep})  # type: ignore[no-any-return]


def mean(x: Tensor, axes: Any, keep: bool = False) -> Tensor:
    """The mean of `x` over `axes` (int vector)."""
    return execute("Mean", (x, _axes(axes)), {"keep_dims": keep})  # type: ignore[no-any-return]


def _axes(axes: Any) -> Any:
    return np.asarray(axes, np.int32) if not isinstance(axes, Tensor) else axes


def shape_of(x: Tensor) -> Tensor:
    """The shape of `x`, int32: a constant where it is known."""
    if d.is_full(x.dims):
        return convert_to_tensor(np.array(x.dims, np.int32))  # type: ignore[no-any-return]
    return execute("Shape", (x,))  # type: ignore[no-any-return]


def reshape(x: Tensor, shape: Any) -> Tensor:
    """`x` in another shape: a list of sizes or a tensor."""
    wanted = shape if isinstance(shape, Tensor) else np.array(shape, np.int32)
    return execute("Reshape", (x, wanted))  # type: ignore[no-any-return]


def expand(x: Tensor, axis: int) -> Tensor:
    """`x` with an axis of size 1 put in."""
    return execute("ExpandDims", (x, np.int32(axis)))  # type: ignore[no-any-return]


def squeeze(x: Tensor, axis: int) -> Tensor:
    """`x` without an axis of size 1."""
    return execute("Squeeze", (x,), {"squeeze_dims": [axis]})  # type: ignore[no-any-return]


def transpose(x: Tensor, order: Any) -> Tensor:
    """`x` with its axes in another order."""
    return execute("Transpose", (x, np.array(order, np.int32)))  # type: ignore[no-any-return]


def concat(parts: list[Tensor], axis: int) -> Tensor:
    """Tensors one after the other along `axis`."""
    return execute("ConcatV2", (parts, np.int32(axis)))  # type: ignore[no-any-return]


def cast(x: Tensor, dtype: DType) -> Tensor:
    """`x` in another dtype; itself when it has it."""
    if x.dtype.base_dtype is dtype:
        return x
    return execute("Cast", (x,), {"DstT": dtype})  # type: ignore[no-any-return]


def rank_of(x: Tensor, what: str) -> int:
    """The rank of `x`.

    Raises:
      ValueError: it is unknown.
    """
    if x.dims is None:
        raise ValueError(
            f"{what}: expected an input of known rank, got unknown. Use ensure_shape or set_shape "
            "on it."
        )
    return len(x.dims)
