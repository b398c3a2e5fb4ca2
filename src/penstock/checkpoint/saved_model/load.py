"""`tf.saved_model.load`: the objects of a SavedModel, made anew.

The message says what each object is and which children it has. Objects come first, then the traces
of functions, whose captured values are objects by number, then the children are put in place, and
at last the variables get their values, as any checkpoint is restored. Nothing in the message is
believed before it is checked; memory is only taken for values that the files hold.
"""

import itertools
import os
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.checkpoint.options import CheckpointOptions, check_io_device
from penstock.checkpoint.restoring import Restoration, read_object_graph
from penstock.checkpoint.saved_model import constants as c
from penstock.checkpoint.saved_model import folder, in_graphs
from penstock.checkpoint.saved_model.functions_side import Functions
from penstock.checkpoint.saved_model.gradients import CapturedTensor, install
from penstock.checkpoint.saved_model.load_session import choose_graph, load_session_model
from penstock.checkpoint.saved_model.objects import (
    CallableUserObject,
    Constant,
    SignatureMap,
    UserObject,
)
from penstock.checkpoint.saved_model.options import LoadOptions
from penstock.checkpoint.saved_model.resources import RestoredResource, rename_tables
from penstock.checkpoint.saved_model.restored import (
    RestoredConcreteFunction,
    RestoredFunction,
    signature_of,
)
from penstock.checkpoint.status import CheckpointLoadStatus
from penstock.core import files
from penstock.core.bundle.single_file import open_checkpoint
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import wrap
from penstock.core.trackable import DictWrapper, ListWrapper, Trackable
from penstock.data import structure_messages as structures
from penstock.graph.behavior import init_scope
from penstock.graph.shape_proto import dims_from_proto
from penstock.graph.tensor_proto import proto_to_array
from penstock.ops.trackable_resource import Asset
from penstock.ops.variable_types import VariableAggregation, VariableSynchronization
from penstock.ops.variables import Variable
from penstock.types.dtypes import as_dtype
from penstock.types.tensor_shape import TensorShape

_JIT: dict[int, bool | None] = {0: None, 1: True, 2: False}
_models = itertools.count(1)


def load(export_dir: Any, tags: Any = None, options: LoadOptions | None = None) -> Any:
    """Loads a SavedModel that `tf.saved_model.save` wrote, here or in TensorFlow.

    Args:
      export_dir: the folder.
      tags: the tags that the model must have, text or a sequence; any when None.
      options: a LoadOptions.

    In a graph of compat.v1 the model becomes part of that graph: its variables get their values
    from the initializers of the graph's variables, its tables from those of its tables.

    Returns:
      An object with the attributes that the saved one had: variables, functions with the traces
      that they had, lists and dictionaries, and `signatures`, a mapping. A model that a session
      wrote has `signatures`, `variables`, `asset_paths`, `graph`, and `prune(feeds, fetches)` for
      a function of other tensors of the graph.

    Raises:
      OSError: the folder has no model, or one that cannot be parsed.
      ValueError: the tags are others, or the model contradicts itself.
      NotFoundError: it has an operation that is not known here.
      DataLossError: the values of variables are damaged.

    Example:
      >>> import tempfile
      >>> import penstock as tf
      >>> module = tf.Module()
      >>> module.double = tf.function(lambda x: 2 * x, [tf.TensorSpec([], tf.float32)])
      >>> with tempfile.TemporaryDirectory() as path:
      ...     tf.saved_model.save(module, path)
      ...     loaded = tf.saved_model.load(path)
      >>> float(loaded.double(4.0))
      8.0
    """
    chosen = LoadOptions() if options is None else options
    if not isinstance(chosen, LoadOptions):
        raise TypeError(f"options: expected a tf.saved_model.LoadOptions or None, got {options!r}.")
    check_io_device(chosen)
    path = files.local_path(export_dir)
    message, _ = folder.read_saved_model(path)
    meta_graph = _the_graph(message, path, tags)
    with init_scope():
        if not meta_graph.HasField("object_graph_def"):
            return load_session_model(meta_graph, path, chosen)
        return Loader(meta_graph, path, chosen).load()


def _the_graph(message: Any, path: str, tags: Any) -> Any:
    where = f"SavedModel {path}"
    if message.saved_model_schema_version != c.SAVED_MODEL_SCHEMA_VERSION:
        raise ValueError(
            errors.located(
                where, f"schema version {c.SAVED_MODEL_SCHEMA_VERSION}",
                str(message.saved_model_schema_version), "The file is damaged, or newer.",
            )
        )  # fmt: skip
    graphs = message.meta_graphs
    if len(graphs) == 1 and graphs[0].HasField("object_graph_def"):
        _check_tags(graphs[0], tags, path)
        return graphs[0]
    return choose_graph(message, tags)


def _check_tags(meta_graph: Any, tags: Any, path: str) -> None:
    known = list(meta_graph.meta_info_def.tags)
    if tags is not None and set([tags] if isinstance(tags, str) else tags) != set(known):
        raise ValueError(
            f"Got an incompatible argument to `tags`: {tags}. The SavedModel at {path} has one "
            f"MetaGraph with tags {known}. You may omit the argument, pass 'None', or pass "
            "matching tags."
        )


class Loader:
    """One model that is being loaded.

    Args:
      meta_graph: its MetaGraphDef.
      path: its folder.
      options: a LoadOptions.
    """

    def __init__(self, meta_graph: Any, path: str, options: LoadOptions) -> None:
        self.meta_graph, self.path, self.options = meta_graph, path, options
        self.nodes = meta_graph.object_graph_def.nodes
        self.objects: dict[int, Any] = {}
        self._check_references()

    def _where(self, number: int) -> str:
        return f"SavedModel {self.path}, object {number}"

    def _refuse(self, number: int, expected: str, got: Any) -> ValueError:
        text = errors.located(
            self._where(number), expected, str(got), "The model is damaged; save it again."
        )
        return ValueError(text)

    def _check_references(self) -> None:
        count = len(self.nodes)
        if not count:
            raise self._refuse(0, "at least one object", "none")
        for number, node in enumerate(self.nodes):
            for edge in (*node.children, *node.dependencies):
                if not 0 <= edge.node_id < count:
                    raise self._refuse(
                        number, f"children among {count} objects", f"number {edge.node_id}"
                    )

    def load(self) -> Any:
        """The root of the objects."""
        for number, node in enumerate(self.nodes):
            kind = node.WhichOneof("kind")
            if kind not in ("function", "bare_concrete_function"):
                self.objects[number] = self._make_object(number, node, kind)
        self._load_functions()
        for number, node in enumerate(self.nodes):
            self._put_children(number, node)
            self._put_saving(number, node)
        root = self.objects[0]
        if not self.options.experimental_skip_checkpoint:
            self._restore(root)
        for found in self.objects.values():
            if isinstance(found, RestoredResource):
                filled = found._initialize()
                if in_graphs.loads_into_graph():
                    in_graphs.initializes_table(filled)
        if isinstance(root, UserObject):
            self._describe(root)
        return root

    # ---- objects ---------------------------------------------------------------------------------

    def _make_object(self, number: int, node: Any, kind: str | None) -> Any:
        if kind == "user_object":
            return self._user_object(node)
        if kind == "variable":
            return self._variable(number, node.variable)
        if kind == "constant":
            return self._constant(number, node.constant.operation)
        if kind == "asset":
            return self._asset(number, node.asset.asset_file_def_index)
        if kind == "resource":
            return RestoredResource(node.resource.device)
        if kind == "captured_tensor":
            captured = node.captured_tensor
            return CapturedTensor(captured.name, captured.concrete_function)
        raise self._refuse(
            number, "an object, variable, constant, asset, resource or function", kind or "nothing"
        )

    def _user_object(self, node: Any) -> Any:
        identifier = node.user_object.identifier
        if identifier in _CONTAINERS:
            return _CONTAINERS[identifier]()
        callable_ = any(edge.local_name == "__call__" for edge in node.children)
        return CallableUserObject() if callable_ else UserObject()

    def _variable(self, number: int, message: Any) -> Variable:
        where = self._where(number)
        try:
            dtype = as_dtype(message.dtype).base_dtype
            dims = dims_from_proto(message.shape, where)
            synchronization = VariableSynchronization(message.synchronization)
            aggregation = VariableAggregation(message.aggregation)
            if in_graphs.loads_into_graph():
                return in_graphs.make_variable(message, dtype, dims)
            blank = b"" if dtype.name == "string" else np.zeros((), dtype.numpy_dtype)
            variable = Variable(
                blank, message.trainable, False, name=message.name or None, dtype=dtype,
                synchronization=synchronization, aggregation=aggregation, shape=TensorShape(None),
            )  # fmt: skip
        except (TypeError, ValueError, errors.OpError) as problem:
            raise self._refuse(number, "a variable", problem) from None
        variable._dims = dims
        assert variable._cell is not None
        variable._cell.dims = dims
        variable._cell.clear()  # no memory for a value that may not be there
        return variable

    def _constant(self, number: int, operation: str) -> Constant:
        for node in self.meta_graph.graph_def.node:
            if node.name == operation and node.op == "Const" and "value" in node.attr:
                try:
                    value = wrap(*proto_to_array(node.attr["value"].tensor, self._where(number)))
                    return Constant(convert_to_tensor(value))
                except (TypeError, errors.OpError) as problem:
                    raise self._refuse(number, "a constant", problem) from None
        raise self._refuse(number, f"a Const '{operation}' in the graph", "none")

    def _asset(self, number: int, index: int) -> Asset:
        known = self.meta_graph.asset_file_def
        if not 0 <= index < len(known):
            raise self._refuse(number, f"one of {len(known)} assets", f"number {index}")
        return Asset(folder.asset_path(self.path, known[index].filename))

    # ---- functions -------------------------------------------------------------------------------

    def _load_functions(self) -> None:
        graph = self.meta_graph.object_graph_def
        functions = Functions(self.meta_graph, f"SavedModel {self.path}", self._handle_data)
        specs = self._function_specs()
        concretes: dict[str, RestoredConcreteFunction] = {}
        for name, saved in sorted(graph.concrete_functions.items()):
            signature, jit_compile = specs.get(name, (None, None))
            concretes[name] = functions.make(name, saved, signature, jit_compile)
        model, makers = next(_models), self._makers()
        for name in makers & concretes.keys():
            rename_tables(concretes[name].graph, model)
        for number, node in enumerate(self.nodes):
            kind = node.WhichOneof("kind")
            if kind == "function":
                self.objects[number] = self._function(number, node.function, concretes)
            elif kind == "bare_concrete_function":
                name = node.bare_concrete_function.concrete_function_name
                self.objects[number] = self._known(number, name, concretes)
        rules = {r.gradient_func for r in self.meta_graph.graph_def.library.registered_gradients}
        for name, saved in self._in_order(graph.concrete_functions, makers):
            if name not in rules:
                self._bind(name, saved, concretes[name])
        outputs = {name: concretes[name].structured_outputs for name in rules & concretes.keys()}
        install(
            self.meta_graph, functions.bodies, outputs, partial(self._captured, functions.bodies)
        )

    def _captured(self, bodies: Mapping[str, Any], graph: Any, number: int) -> Any:
        """What the rule of a gradient captures: a value of the function `graph`, or an object."""
        found = self.objects.get(number)
        if isinstance(found, CapturedTensor):
            if found.function not in bodies or bodies[found.function].graph is not graph:
                raise self._refuse(number, f"a value of '{graph.name}'", found)
            return graph.get_tensor_by_name(found.name)
        tensor = self._tensor(number)
        if tensor is None:
            raise self._refuse(number, "a value that a gradient captures", found)
        return tensor

    def _known(self, number: int, name: str, concretes: Mapping[str, Any]) -> Any:
        if name not in concretes:
            raise self._refuse(number, "a function of the model", repr(name))
        return concretes[name]

    def _function_specs(self) -> dict[str, tuple[Any, bool | None]]:
        """The signature of Python and the choice of a compiler for each trace."""
        found: dict[str, tuple[Any, bool | None]] = {}
        for number, node in enumerate(self.nodes):
            kind = node.WhichOneof("kind")
            if kind not in ("function", "bare_concrete_function"):
                continue
            saved = getattr(node, kind)
            if not saved.HasField("function_spec"):
                continue
            jit = _JIT.get(saved.function_spec.jit_compile)
            signature = self._signature(number, saved.function_spec)
            names = (
                saved.concrete_functions if kind == "function" else [saved.concrete_function_name]
            )
            for name in names:
                found[name] = signature, jit
        return found

    def _signature(self, number: int, spec: Any) -> Any:
        where = self._where(number)
        fields = structures.decode(spec.fullargspec, where)
        if not isinstance(fields, dict):
            raise self._refuse(number, "the parameters of a function", fields)
        if spec.is_method:
            fields = {**fields, "args": list(fields.get("args") or ())[1:]}
        return signature_of(fields, where)

    def _function(self, number: int, saved: Any, concretes: Mapping[str, Any]) -> RestoredFunction:
        found = [self._known(number, name, concretes) for name in saved.concrete_functions]
        spec = saved.function_spec
        input_signature = None
        if spec.input_signature.WhichOneof("kind") is not None:
            input_signature = structures.decode(spec.input_signature, self._where(number))
        if input_signature is not None and not isinstance(input_signature, list | tuple):
            raise self._refuse(number, "a sequence of specs", input_signature)
        name = _name_of(self.nodes, number)
        signature = self._signature(number, spec)
        return RestoredFunction(name, found, signature, input_signature, _JIT.get(spec.jit_compile))

    def _handle_data(self, number: int) -> Any:
        """Dtype and shape of the variable of a number, or None."""
        found = self.objects.get(number)
        return (found._dtype, found._dims) if isinstance(found, Variable) else None

    def _makers(self) -> set[str]:
        """The names of the traces that make resources."""
        found: set[str] = set()
        for node in self.nodes:
            for edge in node.children if node.WhichOneof("kind") == "resource" else ():
                if edge.local_name == "_create_resource":
                    found.update(self.nodes[edge.node_id].function.concrete_functions)
        return found

    def _in_order(self, saved: Mapping[str, Any], makers: Collection[str]) -> list[tuple[str, Any]]:
        """The traces, those that make resources first."""
        return sorted(saved.items(), key=lambda item: (item[0] not in makers, item[0]))

    def _bind(self, name: str, saved: Any, concrete: RestoredConcreteFunction) -> None:
        tensors, variables = [], []
        for number in saved.bound_inputs:
            tensor, found = self._tensor(number), self.objects.get(number)
            if tensor is None:
                raise self._refuse(number, f"a value that '{name}' captures", found)
            tensors.append(tensor)
            if isinstance(found, Variable):
                variables.append(found)
        graph = concrete.graph
        for tensor, inner in zip(tensors, graph.internal_captures, strict=True):
            if tensor.dtype is not inner.dtype or not inner.shape.is_compatible_with(tensor.shape):
                raise ValueError(
                    errors.located(
                        f"SavedModel {self.path}, function '{name}'",
                        f"a captured {inner.dtype.name}{inner.shape}",
                        f"{tensor.dtype.name}{tensor.shape}",
                        "The model is damaged; save it again.",
                    )
                )
        graph.reset_captures(list(zip(tensors, graph.internal_captures, strict=True)))
        for variable in variables:
            graph.watch_variable(variable)
        concrete.set_external_captures(tensors)
        concrete.captures_symbolic = False

    def _tensor(self, number: int) -> Any:
        """The tensor that stands for an object in functions, None when none does."""
        found = self.objects.get(number)
        if isinstance(found, Variable):
            return found.handle
        if isinstance(found, Asset):
            return found.asset_path
        if isinstance(found, Constant):
            return found.tensor
        if not isinstance(found, RestoredResource):
            return None
        self._give_functions(number, found)
        return found.resource_handle

    def _give_functions(self, number: int, resource: RestoredResource) -> None:
        for edge in self.nodes[number].children:
            child = self.objects.get(edge.node_id)
            if isinstance(child, RestoredFunction | RestoredConcreteFunction):
                resource._track_trackable(child, edge.local_name, overwrite=True)

    # ---- children --------------------------------------------------------------------------------

    def _put_children(self, number: int, node: Any) -> None:
        found = self.objects[number]
        if not isinstance(found, _PARENTS):
            return  # their children are said by other parts of the message
        edges = list(node.children)
        if isinstance(found, ListWrapper):
            edges.sort(key=lambda edge: _position(edge.local_name))
        for edge in edges:
            child = self.objects[edge.node_id]
            name = edge.local_name
            if isinstance(found, ListWrapper):
                found.append(child)
            elif isinstance(found, DictWrapper):
                found[name] = child
            elif isinstance(found, SignatureMap):
                if not isinstance(child, RestoredConcreteFunction | RestoredFunction):
                    raise self._refuse(number, f"a function as signature '{name}'", child)
                found._add_signature(name, child)
            elif isinstance(found, UserObject) and _is_free(found, name):
                setattr(found, name, child)
            elif isinstance(child, Trackable):
                found._track_trackable(child, name, overwrite=True)

    def _put_saving(self, number: int, node: Any) -> None:
        found = self.objects[number]
        if not isinstance(found, RestoredResource):
            return
        if len(node.saveable_objects) > 1:
            raise self._refuse(number, "one way to save it", list(node.saveable_objects))
        for name, each in node.saveable_objects.items():
            pair = [self.objects.get(n) for n in (each.save_function, each.restore_function)]
            if not all(isinstance(f, RestoredConcreteFunction) for f in pair):
                raise self._refuse(number, "functions that save and restore it", pair)
            found._set_saving(name, *pair)

    def _restore(self, root: Any) -> None:
        prefix = folder.variables_path(self.path)
        if not os.path.exists(f"{prefix}.index"):
            if any(isinstance(found, Variable) for found in self.objects.values()):
                raise FileNotFoundError(
                    f"SavedModel {self.path}: expected the values of its variables in {prefix}.*, "
                    "got no such files. Copy the whole folder, or load with "
                    "experimental_skip_checkpoint=True."
                )
            return
        with open_checkpoint(prefix) as contents:
            message = read_object_graph(contents)
            if message is None:
                raise self._refuse(0, f"a graph of objects in {prefix}", "none")
            graph = state.graph
            key = None if graph is None else convert_to_tensor(prefix)
            restoration = Restoration(contents, message, CheckpointOptions(), graph, key)
            restoration.start(root, {})
            if in_graphs.loads_into_graph():
                in_graphs.first_values(restoration.operations, self.objects.values())
            status = CheckpointLoadStatus(restoration, root, {})
            if not self.options.allow_partial_checkpoint:
                status.assert_existing_objects_matched()

    def _describe(self, root: UserObject) -> None:
        info = self.meta_graph.meta_info_def
        root._setattr_tracking = False
        root.tensorflow_version = info.tensorflow_version
        root.tensorflow_git_version = info.tensorflow_git_version
        root.graph_debug_info = self._debug_info()
        if self.options.experimental_load_function_aliases:
            root.function_aliases = self._aliases(info.function_aliases)
        root._setattr_tracking = True

    def _debug_info(self) -> Any:
        message = proto.graph_debug_info_pb2.GraphDebugInfo()
        path = os.path.join(self.path, c.DEBUG_DIRECTORY, c.DEBUG_INFO_FILENAME_PB)
        if os.path.exists(path):
            with open(path, "rb") as file:
                try:
                    message.ParseFromString(file.read())
                except proto.message.DecodeError as problem:
                    raise OSError(
                        f"Cannot parse file {path}: expected a GraphDebugInfo, got {problem}. "
                        "Delete it: it only helps to find errors."
                    ) from None
        return message

    def _aliases(self, saved: Mapping[str, str]) -> dict[str, RestoredFunction]:
        """The functions that have aliases, by these."""
        found: dict[str, RestoredFunction] = {}
        for each in self.objects.values():
            if isinstance(each, RestoredFunction):
                names = [concrete.name for concrete in each.concrete_functions]
                found.update({saved[name]: each for name in names if name in saved})
        return found


_PARENTS = (ListWrapper, DictWrapper, SignatureMap, UserObject, RestoredResource)
_CONTAINERS: dict[str, Any] = {
    "trackable_list_wrapper": ListWrapper,
    "trackable_tuple_wrapper": ListWrapper,
    "trackable_dict_wrapper": DictWrapper,
    "signature_map": SignatureMap,
}


def _position(name: str) -> tuple[int, str]:
    """The key that sorts the names of a list's children: numbers by value."""
    return (int(name), "") if name.isascii() and name.isdigit() and len(name) < 10 else (0, name)


def _is_free(target: UserObject, name: str) -> bool:
    """Whether an attribute of that name hides nothing that objects need."""
    return name == "__call__" or not hasattr(type(target), name)


def _name_of(nodes: Any, number: int) -> str:
    """The name of the first child that an object is."""
    for node in nodes:
        for edge in node.children:
            if edge.node_id == number:
                return str(edge.local_name)
    return "function"
