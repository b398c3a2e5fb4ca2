"""Slots: variables that belong to another one, such as its momentum, and are named after it."""

from collections.abc import Callable
from typing import Any

from penstock.core.context import state
from penstock.core.execute import execute
from penstock.graph.behavior import colocate_with
from penstock.ops.initializers_v1 import Zeros
from penstock.ops.variable_scope import get_variable, variable_scope
from penstock.ops.variable_types import SaveSliceInfo


def primary_name(primary: Any) -> str:
    """The name that a variable's slots begin with."""
    if getattr(primary, "_in_graph_mode", True) and hasattr(primary, "op"):
        return str(primary.op.name)
    return str(primary._shared_name)


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """A slot with an initial value.

    Args:
      primary: the variable it belongs to.
      val: a tensor, or what converts to one.
      name: its name behind the variable's.
      colocate_with_primary: whether it is placed with the variable.

    Returns:
      A Variable that is not trainable.
    """
    return _create(primary, name, colocate_with_primary, {"initializer": val})


def create_slot_with_initializer(
    primary: Any,
    initializer: Any,
    shape: Any,
    dtype: Any,
    name: str,
    colocate_with_primary: bool = True,
) -> Any:
    """A slot whose first value an initializer makes; otherwise as `create_slot`."""
    options = {"initializer": initializer, "shape": shape, "dtype": dtype}
    return _create(primary, name, colocate_with_primary, options)


def create_zeros_slot(
    primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True
) -> Any:
    """A slot of zeros in the variable's shape; otherwise as `create_slot`."""
    dtype = primary.dtype.base_dtype if dtype is None else dtype
    if primary.shape.is_fully_defined():
        return create_slot_with_initializer(
            primary, Zeros(), primary.shape, dtype, name, colocate_with_primary
        )

    def zeros() -> Any:
        first = primary.initial_value if primary._in_graph_mode else primary.value()
        return execute("ZerosLike", (execute("Cast", (first,), {"DstT": dtype}),))

    return create_slot(primary, zeros, name, colocate_with_primary)


def _create(primary: Any, name: str, together: bool, options: dict[str, Any]) -> Any:
    with variable_scope(None, f"{primary_name(primary)}/{name}"):
        if together and state.graph is not None:
            with colocate_with(primary):
                return _make(primary, options)
        return _make(primary, options)


def _make(primary: Any, options: dict[str, Any]) -> Any:
    slot = get_variable("", trainable=False, **options)
    info = primary._get_save_slice_info() if hasattr(primary, "_get_save_slice_info") else None
    if info is not None:
        own = primary_name(slot).removeprefix(f"{primary_name(primary)}/")
        slot._set_save_slice_info(
            SaveSliceInfo(
                f"{info.full_name}/{own}", info.full_shape, info.var_offset, info.var_shape
            )
        )
    return slot


Creator = Callable[..., Any]
