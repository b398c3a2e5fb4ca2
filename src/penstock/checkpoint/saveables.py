"""What a `Saver` saves: names, and for each the tensors, slices and the way back."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.bundle.single_file import open_checkpoint
from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.behavior import device, name_scope_v1
from penstock.ops.partitioned import PartitionedVariable
from penstock.ops.queue_base import STATE, QueueBase
from penstock.ops.trackable_resource import TrackableResource
from penstock.ops.variables import Variable
from penstock.types import dims as d
from penstock.types import dtypes as dt


class SaveSpec:
    """One tensor that is saved.

    Args:
      tensor: the tensor, or a function without arguments that returns it.
      slice_spec: "" for a whole tensor, else what part it is ("4 2 0,2:-").
      name: its name in the checkpoint.
      dtype: its dtype; that of the tensor when None.
      device: where it is saved; where the tensor is when None.
    """

    def __init__(
        self, tensor: Any, slice_spec: str, name: str, dtype: Any = None, device: str | None = None
    ) -> None:
        self._tensor, self.slice_spec, self.name = tensor, slice_spec, name
        self.dtype = tensor.dtype if dtype is None else dtype
        self.device = str(tensor.device) if device is None else device

    @property
    def tensor(self) -> Any:
        """The tensor now."""
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """The base class of what a Saver saves and restores beside variables.

    Args:
      op: what it belongs to; names of operations are looked up by it.
      specs: a SaveSpec for each tensor.
      name: its name.
    """

    def __init__(self, op: Any, specs: Sequence[SaveSpec], name: str) -> None:
        self.op, self.specs, self.name = op, list(specs), name

    @property
    def device(self) -> str:
        """The device of the first tensor."""
        return self.specs[0].device

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Takes the state back.

        Args:
          restored_tensors: a tensor for each spec.
          restored_shapes: the shapes to give them; None leaves them as they are.

        Returns:
          The operation that does it.
        """
        raise NotImplementedError("Calling an abstract method.")


class VariableSaveable(SaveableObject):
    """A variable, or a part of one.

    Args:
      variable: the variable.
      name: its name in the checkpoint.
      slice_spec: what part of a whole it is, or "".
    """

    def __init__(self, variable: Any, name: str, slice_spec: str = "") -> None:
        self.variable = variable
        where = variable.device
        tensor = _reading(variable, slice_spec)
        spec = SaveSpec(tensor, slice_spec, name, variable.dtype, where)
        super().__init__(variable, [spec], name)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Assigns to the variable, reshaped to `restored_shapes` if that is given."""
        (value,) = restored_tensors
        if not self.variable._in_graph_mode:
            if restored_shapes is not None:
                value = execute("Reshape", (value, restored_shapes[0]))
            return self.variable._restore_from_tensors({"VARIABLE_VALUE": value})
        with device(self.variable.device):
            if restored_shapes is not None:
                value = execute("Reshape", (value, restored_shapes[0]))
            value = execute("Identity", (value,))
            attrs = {"validate_shape": False}  # `Saver.restore` has compared the shapes
            return execute("AssignVariableOp", (self.variable.handle, value), attrs)


def _reading(variable: Any, slice_spec: str) -> Any:
    """What reads a variable for a checkpoint: of a whole one, the operation it was made with."""
    if not variable._in_graph_mode:
        return variable.value
    made = variable._graph_element
    if slice_spec or made is None or made.graph is not state.graph:
        return functools.partial(_read_part, variable)
    return made


def _read_part(variable: Any) -> Any:
    """Reads a variable, and brings the value to the CPU of its task."""
    with device(variable.device):
        with name_scope_v1("Read"):
            execute("DisableCopyOnRead", (variable.handle,))
            value = variable._read()
        value = execute("Identity", (value,))
        with device("/device:CPU:0"):
            return execute("Identity", (value,))


class QueueSaveable(SaveableObject):
    """A queue: its contents, whether it is closed, and where its random numbers stand.

    Args:
      queue: the queue.
      name: its name in the checkpoint.
    """

    def __init__(self, queue: QueueBase, name: str) -> None:
        self.queue = queue
        spec = SaveSpec(self._state, "", name, dt.string, "/cpu:0")
        super().__init__(queue, [spec], name)

    def _state(self) -> Any:
        return self.queue._serialize_to_tensors()[STATE]

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Gives the queue the contents that were saved."""
        return self.queue._restore_from_tensors({STATE: restored_tensors[0]})


class TableSaveable(SaveableObject):
    """A lookup table that changes: its keys and values.

    Args:
      table: the table.
      name: the names in the checkpoint are this with `-keys` and `-values`.
    """

    def __init__(self, table: Any, name: str) -> None:
        self.table = table
        self._exported: dict[str, Any] = {}
        dtypes = {"keys": table.key_dtype, "values": table.value_dtype}
        specs = [
            SaveSpec(functools.partial(self._part, part), "", f"{name}-{part}", dtype, "/cpu:0")
            for part, dtype in dtypes.items()
        ]
        super().__init__(table, specs, name)

    def _part(self, part: str) -> Any:
        if not self._exported or state.graph is None:
            self._exported = self.table._serialize_to_tensors()
        return self._exported[f"table-{part}"]

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Gives the table the content that was saved."""
        keys, values = restored_tensors
        return self.table._restore_from_tensors({"table-keys": keys, "table-values": values})


def _is_table(value: Any) -> bool:
    """Whether a value is a table that changes and is saved; without importing what has them."""
    return isinstance(value, TrackableResource) and bool(getattr(value, "_checkpoint", False))


def variable_name(variable: Any) -> str:
    """The name that a variable has in checkpoints by name."""
    return str(variable._shared_name)


def _of_variable(variable: Any, name: str) -> VariableSaveable:
    info = variable._get_save_slice_info()
    return VariableSaveable(variable, name, "" if info is None else info.spec)


def saveables_of(var_list: Any) -> list[SaveableObject]:
    """What to save, by the order of the names.

    Args:
      var_list: variables, partitioned variables, queues, tables and SaveableObjects, as a list, or
        by name.

    Raises:
      TypeError: it is no list or dictionary, or holds something else.
      ValueError: two have one name.
    """
    if not isinstance(var_list, dict):
        var_list = names_of(var_list)
    found: list[SaveableObject] = []
    seen: set[int] = set()
    for name in sorted(var_list):
        for each in _saveables(name, var_list[name]):
            owner = id(each.op)
            if owner in seen and isinstance(each, VariableSaveable):
                raise ValueError(
                    f"The same saveable will be restored with two names: {name}. Expected each "
                    "variable once; save it under one name."
                )
            seen.add(owner)
            found.append(each)
    return found


def _saveables(name: str, value: Any) -> list[SaveableObject]:
    if not isinstance(name, str):
        raise TypeError(
            f"names_to_saveables must be a dict mapping string names to variables. Name is not a "
            f"string: {name}"
        )
    if isinstance(value, SaveableObject):
        return [value]
    if isinstance(value, QueueBase):
        return [QueueSaveable(value, name)]
    if _is_table(value):
        return [TableSaveable(value, name)]
    if isinstance(value, PartitionedVariable):
        value = list(value)
    if isinstance(value, list | tuple):
        for part in value:
            if not isinstance(part, Variable):
                raise TypeError(
                    "names_to_saveables must be a dict mapping string names to "
                    f"Tensors/Variables. Not a variable: {part}"
                )
            info = part._get_save_slice_info()
            if info is None:
                raise ValueError(f"Slices must all be slices: {part}")
            if (
                info.full_name != name
                and len({p._get_save_slice_info().full_name for p in value}) > 1
            ):
                raise ValueError(
                    f"Slices must all be from the same tensor: {name} != {info.full_name}"
                )
        return [_of_variable(part, name) for part in value]
    if not isinstance(value, Variable):
        raise TypeError(
            "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a "
            f"variable: {value}. Pass variables, or a SaveableObject for other state."
        )
    return [_of_variable(value, name)]


def names_of(var_list: Any) -> dict[str, Any]:
    """Variables by the names they are saved under; parts of one variable in a list.

    Raises:
      TypeError: it is no list or tuple, or holds something else.
      ValueError: two have one name.
    """
    if not isinstance(var_list, list | tuple | set):
        raise TypeError(f"Variables to save should be passed in a dict or a list. Got {var_list}")
    found: dict[str, Any] = {}
    for value in var_list:
        if isinstance(value, SaveableObject | PartitionedVariable | QueueBase) or _is_table(value):
            name = value.name
        elif isinstance(value, Variable):
            info = value._get_save_slice_info()
            if info is not None:
                parts = found.setdefault(str(info.full_name), [])
                if not isinstance(parts, list):
                    raise ValueError(
                        f"Mixing slices and non-slices with the same name: {info.full_name}"
                    )
                parts.append(value)
                continue
            name = variable_name(value)
        else:
            kind = "Tensor" if isinstance(value, Tensor) else type(value).__name__
            raise TypeError(
                f"Variable to save is not a Variable: {value}. Expected variables, got a {kind}. "
                "Leave it out, or wrap it in a SaveableObject."
            )
        if name in found:
            raise ValueError(
                f"At least two variables have the same name: {name}. Save one of them under "
                "another name: pass a dictionary."
            )
        found[name] = value
    return found


def shape_tensors(saveable: SaveableObject) -> list[Any]:
    """The shapes that restored tensors are given when a Saver reshapes."""
    shapes: list[Any] = []
    for spec in saveable.specs:
        tensor = spec.tensor
        full = d.is_full(tensor.dims)
        known = np.asarray(tensor.dims, np.int32) if full else None
        shapes.append(execute("Shape", (tensor,)) if known is None else known)
    return shapes


def check_shapes(saveables: Sequence[SaveableObject], path: str) -> None:
    """Refuses a checkpoint whose tensors have other shapes than the variables.

    The operations of a graph take any shape, as TensorFlow's do, so they cannot find this.

    Args:
      saveables: what will be restored; other things than whole variables check for themselves.
      path: the checkpoint's prefix.

    Raises:
      InvalidArgumentError: a shape differs.
    """
    with open_checkpoint(path) as contents:
        for each in saveables:
            spec = each.specs[0]
            if not isinstance(each, VariableSaveable) or spec.slice_spec:
                continue
            if not contents.has(spec.name):  # what reads it says so
                continue
            info, dims = contents.info(spec.name), each.variable.dims
            stored = info.shape
            if info.dtype is spec.dtype.base_dtype and not d.compatible(stored, dims):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"tensor_name = {spec.name}; expected shape {list(dims or ())}, that of "
                    f"variable '{each.variable.name}', got the shape stored in checkpoint "
                    f"{contents.path}: {list(stored)}. Pass reshape=True if the elements fit.",
                )
