"""Resources with state in a SavedModel: functions that save and restore what a table holds.

A model has two functions for each such resource. One takes the key of a checkpoint and returns a
list with a dictionary for each tensor: its name (which begins with the key), which slice it is
(empty: all of it) and its value. The other takes the values, in the same order.
"""

import dataclasses
import re
from typing import Any

from penstock import errors
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.graph.behavior import init_scope
from penstock.ops.lookup_ops import MAKERS
from penstock.ops.trackable_resource import TrackableResource
from penstock.runtime.client import Session
from penstock.tracing.concrete import ConcreteFunction
from penstock.tracing.function import function
from penstock.types import dtypes as dt
from penstock.types.tensor_spec import TensorSpec


@dataclasses.dataclass(slots=True)
class Saving:
    """How a resource is saved: the names of its tensors, their dtypes, and the two functions."""

    group: str
    names: list[str]
    dtypes: list[Any]
    save: ConcreteFunction
    restore: ConcreteFunction


def saving_functions(resource: TrackableResource) -> Saving | None:
    """The functions for what a resource holds; None when checkpoints save nothing of it."""
    group = resource._grouped_tensors
    held = resource._serialize_to_tensors() if group else {}
    if not held:
        return None

    def save_fn(checkpoint_key: Any) -> list[dict[str, Any]]:
        return [
            {"name": checkpoint_key + name.removeprefix(group), "slice_spec": "", "tensor": value}
            for name, value in resource._serialize_to_tensors().items()
        ]

    def restore_fn(*restored_tensors: Any) -> Any:
        resource._restore_from_tensors(dict(zip(held, restored_tensors, strict=True)))
        return convert_to_tensor(1)

    dtypes = [value.dtype for value in held.values()]
    specs = [TensorSpec(None, dtype, f"restored_tensors_{i}") for i, dtype in enumerate(dtypes)]
    save = function(save_fn, autograph=False)
    restore = function(restore_fn, autograph=False)
    return Saving(
        group,
        list(held),
        dtypes,
        save.get_concrete_function(TensorSpec([], dt.string, "checkpoint_key")),
        restore.get_concrete_function(*specs),
    )


def rename_tables(graph: Any, number: int) -> None:
    """Makes the tables that a function makes those of one loaded model alone.

    Models name their tables, often by counting; two of one name in a process would be one table.

    Args:
      graph: the body of a function of a loaded model.
      number: that of the model, unlike those of all others.
    """
    for op in graph.get_operations():
        if op.type in MAKERS and op.attrs.get("shared_name"):
            plain = re.sub(r"@\d+$", "", op.attrs["shared_name"])
            op.attrs["shared_name"] = f"{plain}@{number}"


def _texts(tensors: list[Any]) -> list[str]:
    """The values of string scalars that follow from constants, in a graph too."""
    if state.graph is not None:
        with Session(graph=state.graph) as session:
            return [value.decode() for value in session.run(tensors)]
    return [tensor.numpy().decode() for tensor in tensors]


class RestoredResource(TrackableResource):
    """A resource of a loaded model: its functions are children."""

    _saving: tuple[Any, Any] | None = None  # the functions that save and restore what it holds
    _tensor_names: list[str] | None = None

    def _child(self, name: str) -> Any:
        return self._children_table().get(name)

    def _create_resource(self) -> Any:
        create = self._child("_create_resource")
        if create is None:
            raise ValueError(
                "a resource of a SavedModel: expected a function _create_resource, got none. The "
                "model is damaged."
            )
        return create()

    def _initialize(self) -> Any:
        found = self._child("_initialize")
        return None if found is None else found()

    def _destroy_resource(self) -> Any:
        found = self._child("_destroy_resource")
        return None if found is None else found()

    def _set_saving(self, group: str, save: Any, restore: Any) -> None:
        """Takes the functions that save and restore its state.

        Args:
          group: what the names of its tensors begin with.
          save: a trace that takes a key.
          restore: a trace that takes the tensors.
        """
        self._grouped_tensors = group
        self._saving = save, restore

    def _serialize_to_tensors(self) -> dict[str, Any]:
        if self._saving is None:
            return {}
        if self._tensor_names is None:
            with init_scope():
                self._tensor_names = self._find_names()
        found = self._saving[0](convert_to_tensor("", dt.string))
        return {n: part["tensor"] for n, part in zip(self._tensor_names, found, strict=True)}

    def _find_names(self) -> list[str]:
        assert self._saving is not None
        found = self._saving[0](convert_to_tensor("", dt.string))
        slices = _texts([part["slice_spec"] for part in found])
        if any(slices):
            raise NotImplementedError(
                errors.located(
                    "a resource of a SavedModel", "tensors that are saved whole",
                    f"the slices {slices}", "Save the model again.",
                )
            )  # fmt: skip
        return [self._grouped_tensors + name for name in _texts([part["name"] for part in found])]

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> Any:
        if self._saving is None:
            return None
        names = self._tensor_names
        if names is None:
            with init_scope():
                names = self._tensor_names = self._find_names()
        missing = [name for name in names if name not in restored_tensors]
        if missing:
            raise errors.DataLossError(
                None,
                None,
                errors.located(
                    "a resource of a SavedModel", f"the tensors {names}",
                    f"none for {missing}", "Save the checkpoint again.",
                ),
            )  # fmt: skip
        return self._saving[1](*[restored_tensors[name] for name in names])
