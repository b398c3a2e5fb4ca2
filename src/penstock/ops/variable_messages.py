"""Variables as VariableDef messages, which graph files keep, and back.

The variable is any here: this module is below the one that has the class.
"""

from typing import Any

from penstock import proto
from penstock.core.context import state
from penstock.core.execute import execute
from penstock.ops.variable_types import SaveSliceInfo, VariableSynchronization, settle_modes


def to_message(variable: Any, export_scope: str | None) -> Any:
    """A VariableDef message; None when the variable is outside of `export_scope`."""
    if not variable._in_graph_mode:
        raise RuntimeError("This operation is not supported when eager execution is enabled.")
    if export_scope and not variable.name.startswith(export_scope):
        return None

    def strip(name: str) -> str:
        return name.removeprefix(f"{export_scope}/") if export_scope else name

    message: Any = proto.variable_pb2.VariableDef()  # enum fields take plain numbers
    message.variable_name = strip(variable.op.outputs[0].name)
    message.initial_value_name = strip(variable._initial_value.name)
    message.initializer_name = strip(variable._initializer_op.name)
    message.snapshot_name = strip(variable._graph_element.name)
    message.is_resource = variable._reference is None
    message.trainable = variable._trainable
    message.synchronization = variable._synchronization.value
    message.aggregation = variable._aggregation.value
    if variable._save_slice_info is not None:
        message.save_slice_info_def.MergeFrom(variable._save_slice_info.to_proto(export_scope))
    return message


def fill_from_message(variable: Any, message: Any, import_scope: str | None) -> None:
    """Makes of `variable` the one that a message describes; its operations are in the graph.

    Raises:
      ValueError: there is no graph.
    """
    graph = state.graph
    if graph is None:
        raise ValueError("variable_def: expected a graph; enter one with graph.as_default().")
    prefix = f"{import_scope}/" if import_scope else ""
    find = graph.as_graph_element
    variable._in_graph_mode = True
    variable._handle = find(prefix + message.variable_name)
    if variable._handle.dtype.is_ref:
        variable._reference = variable._handle
        variable._handle = _handle_of(variable._reference)
    variable._initializer_op = find(prefix + message.initializer_name)
    if message.initial_value_name:
        variable._initial_value = find(prefix + message.initial_value_name)
    variable._graph_element = find(prefix + message.snapshot_name)
    synchronization = VariableSynchronization(message.synchronization)
    modes = settle_modes(synchronization, None, message.trainable, None)
    variable._synchronization, variable._aggregation, variable._trainable = modes
    variable._shared_name = variable.op.name
    variable._handle_name = f"{variable._shared_name}:0"
    variable._unique_id = variable._shared_name
    variable._dtype, variable._dims = variable._handle._handle_data
    variable._constraint = variable._caching_device = None
    variable._validate_shape = True
    if message.HasField("save_slice_info_def"):
        variable._save_slice_info = SaveSliceInfo(
            save_slice_info_def=message.save_slice_info_def, import_scope=import_scope
        )


def _handle_of(reference: Any) -> Any:
    """A handle of the variable that an imported operation of the first kind refers to.

    Plans keep both in one place, by container and name.
    """
    made = reference.op
    attrs = {
        "dtype": reference.dtype.base_dtype,
        "shape": None,
        "container": made.attrs["container"],
        "shared_name": made.attrs["shared_name"] or made.name,
    }
    with reference.graph.device(None), reference.graph.device(made.device):
        handle = execute("VarHandleOp", (), attrs, f"{made.name}/Handle")
    handle._handle_data = reference.dtype.base_dtype, reference.dims
    return handle
