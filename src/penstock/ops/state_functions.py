"""The first generation's functions that update a variable: `assign`, `scatter_add` and so on."""

from collections.abc import Callable
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.behavior import control_dependencies
from penstock.ops.state_scatter import SCATTER
from penstock.ops.variable_updates import batch_positions


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Replaces the value of a variable.

    Args:
      ref: a Variable.
      value: its dtype and a compatible shape.
      validate_shape: False lets what stands for a reference variable take a value of any shape.
      use_locking: accepted for compatibility.
      name: the name of the operation.

    Returns:
      The variable after the update; the new value where the shape is free.
    """
    if _is_reference(ref):
        attrs = {"validate_shape": validate_shape is not False, "use_locking": use_locking}
        return execute("Assign", (ref, value), attrs, name)
    if validate_shape is False and ref._is_like_reference:
        value = convert_to_tensor(value, ref.dtype)
        if not ref.shape.is_compatible_with(value.shape):
            made = execute("PenstockAssignAnyShape", (ref.handle, value), None, name)
            with control_dependencies([] if made is None else [made]):
                return execute("Identity", (value,))
    return ref.assign(value, name=name)


def _is_reference(ref: Any) -> bool:
    return isinstance(ref, SymbolicTensor) and ref.dtype.is_ref


def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Adds to the value of a variable; otherwise as `assign`. Only references take the name."""
    if _is_reference(ref):
        return execute("AssignAdd", (ref, value), {"use_locking": use_locking}, name)
    return ref.assign_add(value)


def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Subtracts from the value of a variable; otherwise as `assign`."""
    if _is_reference(ref):
        return execute("AssignSub", (ref, value), {"use_locking": use_locking}, name)
    return ref.assign_sub(value, name=name)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Any:
    """The value of a scalar integer variable, which then grows by one.

    Args:
      ref: a Variable.
      limit: where counting stops.
      name: the name of the operation.

    Raises:
      OutOfRangeError: the value has reached `limit`.
    """
    if _is_reference(ref):
        return execute("CountUpTo", (ref,), {"limit": limit}, name)
    attrs = {"limit": limit, "T": ref.dtype}
    return execute("ResourceCountUpTo", (ref.handle,), attrs, name)


def _scatter_function(kind: str, name: str, what: str, locking: bool) -> Callable[..., Any]:
    def scatter(
        ref: Any, indices: Any, updates: Any, use_locking: bool = locking, name: str | None = None
    ) -> Any:
        if _is_reference(ref):
            attrs = {"use_locking": use_locking}
            return execute(f"Scatter{kind}", (ref, indices, updates), attrs, name)
        values = convert_to_tensor(updates, ref.dtype)
        return ref._after(execute(SCATTER[kind], (ref.handle, indices, values), None, name))

    scatter.__name__ = scatter.__qualname__ = name
    scatter.__doc__ = f"""{what} of a variable.

    Args:
      ref: a Variable.
      indices: int32 or int64, any shape; the rows. A row named twice is updated twice.
      updates: the variable's dtype, indices.shape + ref.shape[1:], or a scalar.
      use_locking: accepted for compatibility.
      name: the name of the operation.

    Returns:
      The variable after the update.

    Raises:
      InvalidArgumentError: an index is out of range; nothing is updated then.
    """
    return scatter


scatter_add = _scatter_function("Add", "scatter_add", "Adds to rows", locking=False)
scatter_sub = _scatter_function("Sub", "scatter_sub", "Subtracts from rows", locking=False)
scatter_mul = _scatter_function("Mul", "scatter_mul", "Multiplies rows", locking=False)
scatter_div = _scatter_function("Div", "scatter_div", "Divides rows", locking=False)
scatter_min = _scatter_function("Min", "scatter_min", "Takes the minimum with rows", locking=False)
scatter_max = _scatter_function("Max", "scatter_max", "Takes the maximum with rows", locking=False)
scatter_update = _scatter_function("Update", "scatter_update", "Replaces rows", locking=True)


def scatter_nd_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Adds slices to a variable at positions.

    Args:
      ref: a Variable.
      indices: int32 or int64 [..., K], positions in the first K axes.
      updates: [..., rest of the variable's shape].
      use_locking: accepted for compatibility.
      name: the name of the operation.

    Returns:
      The variable after the update.
    """
    return ref.scatter_nd_add(indices, updates, name)


def scatter_nd_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Subtracts slices from a variable at positions; otherwise as `scatter_nd_add`."""
    return ref.scatter_nd_sub(indices, updates, name)


def scatter_nd_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Replaces slices of a variable at positions; otherwise as `scatter_nd_add`."""
    return ref.scatter_nd_update(indices, updates, name)


def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Replaces rows within each batch: `ref[i, ..., indices[i, ..., j]] = updates[i, ..., j]`.

    Args:
      ref: a Variable.
      indices: int32 or int64, with the variable's leading dimensions but for the last axis.
      updates: indices.shape + the rest of the variable's shape.
      use_locking: accepted for compatibility.
      name: the name of the operation.

    Returns:
      The variable after the update.
    """
    positions = batch_positions(convert_to_tensor(indices))
    return ref.scatter_nd_update(positions, updates, name)
