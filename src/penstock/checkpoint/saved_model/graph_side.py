"""The graph of a SavedModel: what a session, or a server, runs.

It has a handle for each variable, a call for each signature, an operation that initializes what is
no variable, and operations that save and restore the variables.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from penstock import proto
from penstock.autodiff import calls
from penstock.checkpoint import object_graph
from penstock.checkpoint.saved_model import constants as c
from penstock.checkpoint.saved_model.folder import AssetNames
from penstock.checkpoint.saved_model.objects import Constant, SignatureMap
from penstock.checkpoint.saved_model.options import SaveOptions
from penstock.checkpoint.saved_model.resources import Saving
from penstock.checkpoint.saved_model.walking import View
from penstock.core.arrays import HashableArray
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import host_array
from penstock.graph.behavior import control_dependencies, device
from penstock.graph.graph import Graph
from penstock.graph.shape_proto import dims_to_proto
from penstock.graph.tensor_proto import make_tensor_proto
from penstock.ops.trackable_resource import Asset, TrackableResource
from penstock.types import dtypes as dt

_NOTHING: Mapping[int, Any] = MappingProxyType({})


class GraphSide:
    """Builds the graph and what the MetaGraphDef says of it.

    Args:
      view: the objects.
      meta_graph: the message to fill.
      assets: takes the files.
      options: a SaveOptions.
    """

    def __init__(
        self, view: View, meta_graph: Any, assets: AssetNames, options: SaveOptions
    ) -> None:
        self.view, self.meta_graph, self.assets, self.options = view, meta_graph, assets, options
        self.graph = Graph()
        self._tensors: dict[int, Any] = {}  # id of an object -> the tensor that stands for it
        self._initializers: list[Any] = []
        self._assigned: dict[int, Any] = {}  # id of an Asset -> its path, read once it is there
        self.constants: dict[int, str] = {}  # id of a Constant -> its operation
        self.asset_indices: dict[int, int] = {}  # id of an Asset -> its place in the message

    def build(self, signatures: SignatureMap) -> None:
        """Makes all operations."""
        with self.graph.as_default():
            for node in self.view.graph.nodes:
                self._add_object(node)
            for node in self.view.graph.nodes:
                if isinstance(node, TrackableResource):
                    self._add_resource(node)
            for key, concrete in signatures.items():
                self._add_signature(key, concrete)
                for name, value in signatures._defaults.get(key, {}).items():
                    default = make_tensor_proto(value.numpy(), value.dtype)
                    self.meta_graph.signature_def[key].defaults[name].CopyFrom(default)
            self._add_initializer()
            if not self.options.experimental_skip_saver:
                self._add_saver()

    def _add_object(self, node: Any) -> None:
        if object_graph.is_variable(node):
            self._tensors[id(node)] = self._variable_handle(node)
        elif isinstance(node, Constant):
            value = HashableArray(host_array(node.tensor), node.tensor.dtype)
            tensor = execute("Const", (), {"value": value, "dtype": node.tensor.dtype}, "Const")
            self.constants[id(node)] = tensor.op.name
            self._tensors[id(node)] = tensor
        elif isinstance(node, Asset):
            self._add_asset(node)

    def _variable_handle(self, variable: Any) -> Any:
        name = self.graph.unique_name(variable._shared_name or "Variable", mark_as_used=False)
        save_device = self.options.experimental_variable_policy._save_variable_devices()
        with device(variable.device if save_device else None):
            return _handle(name, variable.dtype, variable.dims)

    def _add_asset(self, asset: Asset) -> None:
        place = execute(
            "Placeholder", (), {"dtype": dt.string, "shape": ()}, "asset_path_initializer"
        )
        name = self.graph.unique_name("asset_path", mark_as_used=False)
        handle = _handle(name, dt.string, ())
        assigned = _operation(self.graph, execute("AssignVariableOp", (handle, place)))
        self._initializers.append(assigned)
        self._tensors[id(asset)] = execute("ReadVariableOp", (handle,), {"dtype": dt.string})
        with control_dependencies([assigned]):
            self._assigned[id(asset)] = execute("ReadVariableOp", (handle,), {"dtype": dt.string})
        self.asset_indices[id(asset)] = len(self.meta_graph.asset_file_def)
        message = self.meta_graph.asset_file_def.add(filename=self.assets.add(asset._local_path()))
        message.tensor_info.name = place.name

    def _add_resource(self, resource: TrackableResource) -> None:
        children = self.view._children_of(resource)
        made = self._call(children["_create_resource"].get_concrete_function())
        if made:  # a vocabulary may be no more than buckets
            self._tensors[id(resource)] = made[0]
        self._call(children["_initialize"].get_concrete_function(), known=self._assigned)
        self._initializers.append(self.graph.get_operations()[-1])  # it may have no outputs

    def _call(
        self, concrete: Any, arguments: Any = (), known: Mapping[int, Any] = _NOTHING
    ) -> list[Any]:
        """Calls a trace; `known` has tensors that stand for objects here alone."""
        owners = [id(owner) for owner in self.view.captures(concrete)]
        captured = [known.get(owner, self._tensors[owner]) for owner in owners]
        found: list[Any] = calls.call(self.view.bodies[id(concrete)], [*arguments, *captured])
        return found

    def _add_signature(self, key: str, concrete: Any) -> None:
        message = self.meta_graph.signature_def[key]
        message.method_name = c.PREDICT_METHOD_NAME
        places = []
        for spec in concrete.input_specs:
            attrs = {"dtype": spec.dtype, "shape": spec.shape.dims_tuple}
            place = execute("Placeholder", (), attrs, _node_name(f"{key}_{spec.name}"))
            places.append(place)
            _describe(message.inputs[spec.name], place, place.name)
        results = self._call(concrete, places)
        outputs = concrete.structured_outputs
        for name, tensor in zip(sorted(outputs), results, strict=True):
            _describe(message.outputs[name], tensor, tensor.name)

    def _add_initializer(self) -> None:
        with control_dependencies([getattr(op, "op", op) for op in self._initializers]):
            made = execute("NoOp", ())
        made = self.graph.get_operations()[-1] if made is None else made
        info = self.meta_graph.signature_def[c.INIT_OP_SIGNATURE_KEY].outputs
        info[c.INIT_OP_SIGNATURE_KEY].name = made.name
        info[c.INIT_OP_SIGNATURE_KEY].tensor_shape.unknown_rank = True
        self.meta_graph.collection_def[c.MAIN_OP_KEY].node_list.value.append(made.name)

    def _add_saver(self) -> None:
        parts = [part for i, n in enumerate(self.view.graph.nodes) for part in self._saved(i, n)]
        if not parts:
            return
        keys = [key for part in parts for key in part.keys]
        dtypes = [dtype for part in parts for dtype in part.dtypes]
        slices = [""] * len(keys)
        with device("/device:CPU:0"):
            place = execute("Placeholder", (), {"dtype": dt.string, "shape": ()}, "saver_filename")
            values = [value for part in parts for value in self._values(part)]
            saved = execute("SaveV2", (place, keys, slices, values), {"dtypes": dtypes})
            with control_dependencies([_operation(self.graph, saved)]):
                done = execute("Identity", (place,))
            restored = iter(execute("RestoreV2", (place, keys, slices), {"dtypes": dtypes}))
            assigned = [self._assign(part, [next(restored) for _ in part.keys]) for part in parts]
            with control_dependencies(assigned):
                execute("NoOp", ())
        saver = self.meta_graph.saver_def
        saver.filename_tensor_name = place.name
        saver.save_tensor_name = done.name
        saver.restore_op_name = self.graph.get_operations()[-1].name
        saver.version = proto.saver_pb2.SaverDef.V2

    def _saved(self, number: int, node: Any) -> list["_Saved"]:
        """What of an object is saved."""
        if object_graph.is_variable(node):
            return [_Saved(node, [self.view.graph.key(number, "VARIABLE_VALUE")], [node.dtype])]
        saving = self.view.saving(node)
        if saving is None:
            return []
        keys = [self.view.graph.key(number, name) for name in saving.names]
        return [_Saved(node, keys, saving.dtypes, saving)]

    def _values(self, part: "_Saved") -> list[Any]:
        if part.saving is None:
            handle = self._tensors[id(part.node)]
            return [execute("ReadVariableOp", (handle,), {"dtype": part.dtypes[0]})]
        key = convert_to_tensor(part.keys[0].removesuffix(part.saving.names[0]), dt.string)
        return self._call(part.saving.save, [key])[2::3]  # each after its name and its slice

    def _assign(self, part: "_Saved", values: list[Any]) -> Any:
        """The operation that gives an object its values."""
        if part.saving is None:
            execute("AssignVariableOp", (self._tensors[id(part.node)], values[0]))
        else:
            self._call(part.saving.restore, values)
        return self.graph.get_operations()[-1]


@dataclasses.dataclass(slots=True)
class _Saved:
    """An object whose tensors are saved, under which keys; how, unless it is a variable."""

    node: Any
    keys: list[str]
    dtypes: list[Any]
    saving: Saving | None = None


def _operation(graph: Graph, made: Any) -> Any:
    """What `execute` made, where it has no outputs."""
    return graph.get_operations()[-1] if made is None else getattr(made, "op", made)


def _handle(name: str, dtype: Any, dims: Any) -> Any:
    attrs = {"shared_name": name, "dtype": dtype, "shape": dims, "debug_name": name}
    return execute("VarHandleOp", (), attrs, name)


def _node_name(text: str) -> str:
    """Text with what operations' names may not have replaced."""
    plain = "".join(ch if ch.isascii() and (ch.isalnum() or ch in "_.-/") else "_" for ch in text)
    return plain if plain[:1].isalnum() else f"input_{plain}"


def _describe(info: Any, tensor: Any, name: str) -> None:
    info.name = name
    info.dtype = tensor.dtype.as_datatype_enum
    info.tensor_shape.CopyFrom(dims_to_proto(tensor.dims))
