"""`tf.saved_model.save`: an object with its functions, variables and files, as a folder."""

from typing import Any

from penstock import proto
from penstock.checkpoint import object_graph, saving
from penstock.checkpoint.meta_graph import TENSORFLOW_VERSION, finish_info
from penstock.checkpoint.options import check_io_device
from penstock.checkpoint.saved_model import constants as c
from penstock.checkpoint.saved_model import debugging, fingerprint, folder
from penstock.checkpoint.saved_model.counted_loops import add_counters
from penstock.checkpoint.saved_model.gradients import trace_rules, write_rules
from penstock.checkpoint.saved_model.graph_side import GraphSide
from penstock.checkpoint.saved_model.objects import Constant, SignatureMap
from penstock.checkpoint.saved_model.options import SaveOptions
from penstock.checkpoint.saved_model.signatures import argument_names, signature_map
from penstock.checkpoint.saved_model.walking import View
from penstock.core import files
from penstock.core.context import state
from penstock.core.trackable import Container, DictWrapper, ListWrapper, Trackable
from penstock.data import structure_messages as structures
from penstock.graph.graph_def import as_graph_def, functions_of
from penstock.graph.shape_proto import dims_to_proto
from penstock.ops.trackable_resource import Asset, TrackableResource
from penstock.tracing.concrete import ConcreteFunction
from penstock.tracing.function import Function
from penstock.tracing.function_type import FunctionSpec
from penstock.tracing.signature import restore, specs_of_values
from penstock.types.tensor_spec import TensorSpec
from penstock.util import nest

_JIT = {None: 0, True: 1, False: 2}


def save(
    obj: Any, export_dir: Any, signatures: Any = None, options: SaveOptions | None = None
) -> None:
    """Writes a SavedModel, which `tf.saved_model.load` reads, here or in TensorFlow.

    What is saved is all that is below `obj`: variables with their values, the traces that functions
    have by now (a function with an input signature is traced if need be), lists, dictionaries,
    files (`tf.saved_model.Asset`).

    Args:
      obj: a Trackable, such as a `tf.Module`.
      export_dir: the folder; it is made when missing, and its files are replaced.
      signatures: what servers call: a `tf.function` with an input signature or a concrete function,
        or a dictionary of them; when None, the only function of `obj` that can be one.
      options: a SaveOptions.

    Raises:
      ValueError: `obj` is not trackable, or a signature is no such function.
      AssertionError: a function uses a variable that is not below `obj`; or the call stands in a
        function that is being traced.
      FailedPreconditionError: a variable has no value.

    Example:
      >>> import tempfile
      >>> import penstock as tf
      >>> module = tf.Module()
      >>> module.v = tf.Variable(3.0)
      >>> with tempfile.TemporaryDirectory() as path:
      ...     tf.saved_model.save(module, path)
      ...     float(tf.saved_model.load(path).v)
      3.0
    """
    if not isinstance(obj, Trackable):
        raise ValueError(
            "Expected an object of type `Trackable`, such as `tf.Module` or a subclass of the "
            f"`Trackable` class, for export. Got {obj} with type {type(obj)}."
        )
    chosen = SaveOptions() if options is None else options
    if not isinstance(chosen, SaveOptions):
        raise TypeError(f"options: expected a tf.saved_model.SaveOptions or None, got {options!r}.")
    if state.graph is not None:
        raise AssertionError(
            "`tf.saved_model.save` is not supported inside a traced @tf.function. Move the call to "
            "the outer eagerly-executed context."
            if state.graph.building_function
            else "`tf.saved_model.save`: expected to be called eagerly, got a graph that is being "
            "built. Use tf.compat.v1.saved_model.Builder there."
        )
    check_io_device(chosen)
    _write(obj, files.local_path(export_dir), signatures, chosen)


def _write(obj: Any, path: str, signatures: Any, options: SaveOptions) -> None:
    view = View(obj)
    found = signature_map(signatures, view.root_children())
    graph = view.number(found)
    message = proto.saved_model_pb2.SavedModel(
        saved_model_schema_version=c.SAVED_MODEL_SCHEMA_VERSION
    )
    meta_graph = message.meta_graphs.add()
    assets = folder.AssetNames(path)
    side = GraphSide(view, meta_graph, assets, options)
    side.build(found)
    bodies = list(view.bodies.values())
    rules = trace_rules(bodies) if options.experimental_custom_gradients else []
    bodies += [rule.body for rule in rules]
    meta_graph.graph_def.CopyFrom(as_graph_def(side.graph, add_shapes=True, more=bodies))
    add_counters(meta_graph.graph_def)
    if options.experimental_debug_stripper:
        debugging.strip(meta_graph.graph_def)
    functions, names = functions_of(side.graph.get_operations(), bodies)
    writer = ObjectWriter(view, side, names, options)
    writer.write(meta_graph.object_graph_def)
    write_rules(rules, meta_graph, names, view.number_of_capture)
    info = meta_graph.meta_info_def
    info.tags.extend([c.SERVING, *(options.extra_tags or ())])
    info.tensorflow_version = TENSORFLOW_VERSION
    finish_info(meta_graph, strip_defaults=True)
    for alias, function in options.function_aliases.items():
        for concrete in writer.traces_of(function):
            info.function_aliases[names[id(view.bodies[id(concrete)])]] = alias
    prefix = _made(folder.variables_path(path))
    saving.take_snapshot(graph).write(prefix, options.experimental_sharding_callback)
    files.makedirs(folder.assets_folder(path))  # also without assets: tools look for it
    assets.copy()
    if options.save_debug_info:
        graphs = [(names[id(body)], body.graph) for body in functions]
        folder.write_debug_info(path, debugging.debug_info(side.graph, graphs))
    data = folder.write_saved_model(path, message)
    fingerprint.write(path, message, data)


def _made(prefix: str) -> str:
    """A prefix in a folder that is there."""
    files.makedirs(prefix.rpartition("/")[0])
    return prefix


class ObjectWriter:
    """Writes the objects as a SavedObjectGraph.

    Args:
      view: the objects.
      side: the graph that was built for them.
      names: the names of functions in the library, by the id of the function.
      options: a SaveOptions.
    """

    def __init__(
        self, view: View, side: GraphSide, names: dict[int, str], options: SaveOptions
    ) -> None:
        self.view, self.side, self.names, self.options = view, side, names, options

    def name(self, concrete: ConcreteFunction) -> str:
        """The name of a trace in the library."""
        return self.names[id(self.view.bodies[id(concrete)])]

    def traces_of(self, function: Any) -> list[ConcreteFunction]:
        """The saved traces of a function.

        Raises:
          TypeError: it is no function.
          ValueError: it is not a function of the model.
        """
        if not isinstance(function, Function | ConcreteFunction):
            raise TypeError(
                f"function_aliases: expected functions that the model holds, got {function!r} of "
                f"type {type(function).__name__}. Pass a tf.function below the object."
            )
        found = [function] if isinstance(function, ConcreteFunction) else []
        if isinstance(function, Function):
            found = list(self.view._children_of(function).values())
        if not found or any(id(c) not in self.view.bodies for c in found):
            raise ValueError(
                f"function_aliases: expected functions that the model holds, got {function!r}."
            )
        return found

    def write(self, message: Any) -> None:
        """Fills an empty message."""
        graph = self.view.graph
        slots = {slot.node for slot in graph.slots}
        for number, node in enumerate(graph.nodes):
            if number in slots:
                break  # slots come last; only the checkpoint has them
            target = message.nodes.add()
            for name, child in graph.children[number]:
                target.children.add(node_id=child, local_name=name)
                if isinstance(node, Function | ConcreteFunction):
                    target.dependencies.add(node_id=child, local_name=name)
            self._write_object(target, node)
            saving = self.view.saving(node)
            if saving is not None:
                both = target.saveable_objects[saving.group]
                both.save_function = graph.numbers[id(saving.save)]
                both.restore_function = graph.numbers[id(saving.restore)]
        for concrete in self.view.concretes():
            self._write_trace(message.concrete_functions[self.name(concrete)], concrete)

    def _write_object(self, target: Any, node: Any) -> None:
        if object_graph.is_variable(node):
            self._write_variable(target.variable, node)
        elif isinstance(node, Function):
            traces = self.view._children_of(node).values()
            target.function.concrete_functions.extend(map(self.name, traces))
            _write_spec(target.function.function_spec, node.function_spec, node.input_signature)
        elif isinstance(node, ConcreteFunction):
            self._write_bare(target.bare_concrete_function, node)
        elif isinstance(node, Constant):
            target.constant.operation = self.side.constants[id(node)]
            target.registered_name = "tf.TrackableConstant"
        elif isinstance(node, Asset):
            target.asset.asset_file_def_index = self.side.asset_indices[id(node)]
            target.asset.SetInParent()
        elif isinstance(node, TrackableResource):
            target.resource.device = node._resource_device
            target.resource.SetInParent()
        else:
            target.user_object.identifier = _identifier(node)
            target.user_object.version.producer = 1
            target.user_object.version.min_consumer = 1

    def _write_variable(self, target: Any, variable: Any) -> None:
        target.dtype = variable.dtype.as_datatype_enum
        target.shape.CopyFrom(dims_to_proto(variable.dims))
        target.trainable = bool(variable.trainable)
        target.synchronization = variable.synchronization.value
        target.aggregation = variable.aggregation.value
        target.name = variable._shared_name
        if self.options.experimental_variable_policy._save_variable_devices():
            target.device = variable.device

    def _write_bare(self, target: Any, concrete: ConcreteFunction) -> None:
        target.concrete_function_name = self.name(concrete)
        names = argument_names(concrete)
        target.argument_keywords.extend(names)
        args, _ = concrete.structured_input_signature
        count = len(_tensor_specs(args))
        target.allowed_positional_arguments = count or min(len(names), 1)
        spec = FunctionSpec(
            concrete._signature, None, concrete.function_type, concrete.name, concrete.jit_compile
        )
        _write_spec(target.function_spec, spec, None, with_defaults=False)

    def _write_trace(self, target: Any, concrete: ConcreteFunction) -> None:
        for owner in self.view.captures(concrete):
            target.bound_inputs.append(self.view.graph.numbers[id(owner)])
        inputs = restore(concrete.graph.structured_input_signature)
        target.canonicalized_input_signature.CopyFrom(structures.encode(_plain(inputs)))
        outputs = _named(specs_of_values(concrete.graph.structured_outputs), "")
        target.output_signature.CopyFrom(structures.encode(outputs))


def _tensor_specs(structure: Any) -> list[Any]:
    return [
        leaf
        for leaf in nest.flatten(structure, expand_composites=True)
        if isinstance(leaf, TensorSpec)
    ]


def _plain(inputs: Any) -> Any:
    """The arguments as a tuple and a dictionary."""
    return tuple(inputs[0]), dict(inputs[1])


def _named(structure: Any, name: str) -> Any:
    """Specs of outputs, each named by its place."""
    if isinstance(structure, TensorSpec):
        return TensorSpec(structure.shape, structure.dtype, name or "unknown")
    if isinstance(structure, dict):
        return {k: _named(v, _joined(name, k)) for k, v in structure.items()}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        parts = zip(structure._fields, structure, strict=True)
        return type(structure)(*[_named(v, _joined(name, k)) for k, v in parts])
    if isinstance(structure, list | tuple):
        parts_of = [_named(v, _joined(name, str(i))) for i, v in enumerate(structure)]
        return parts_of if isinstance(structure, list) else tuple(parts_of)
    return structure


def _joined(name: str, part: str) -> str:
    return f"{name}_{part}" if name else str(part)


def _write_spec(
    target: Any, spec: FunctionSpec, input_signature: Any, with_defaults: bool = True
) -> None:
    """Writes what is known of a Python function.

    Raises:
      ValueError: no message holds a default.
    """
    full = spec.fullargspec
    defaults = full.defaults if with_defaults else None
    only = full.kwonlydefaults if with_defaults else None
    full = full._replace(defaults=defaults, kwonlydefaults=only, annotations={})
    target.fullargspec.CopyFrom(structures.encode(full))
    target.input_signature.CopyFrom(structures.encode(input_signature))
    target.jit_compile = _JIT[spec.jit_compile]


def _identifier(node: Any) -> str:
    if isinstance(node, SignatureMap):
        return "signature_map"
    held = node._values if isinstance(node, Container) else node
    if isinstance(held, ListWrapper | list):
        return "trackable_list_wrapper"
    if isinstance(held, tuple):
        return "trackable_tuple_wrapper"
    return (
        "trackable_dict_wrapper" if isinstance(held, DictWrapper | dict) else "_generic_user_object"
    )
