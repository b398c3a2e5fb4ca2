"""The functions of a SavedModel's graph, as traces that can be called."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock import errors
from penstock.checkpoint.saved_model.restored import RestoredConcreteFunction, fill
from penstock.core import context
from penstock.data import structure_messages as structures
from penstock.graph.function_import import called_by, read_library
from penstock.graph.graph_def import MIN_PRODUCER, PRODUCER
from penstock.graph.import_graph import Importer
from penstock.graph.import_nodes import check_versions
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import TypeSpec
from penstock.util import nest


class Functions:
    """The library of a model: only what its objects need is read.

    Args:
      meta_graph: the MetaGraphDef.
      where: the model, for errors.
      handle_data: dtype and shape of the variable that an object of a number is, or None.

    Attributes:
      bodies: the functions by name.

    Raises:
      NotFoundError: an operation is not known.
      ValueError: the library contradicts itself.
    """

    def __init__(self, meta_graph: Any, where: str, handle_data: Callable[[int], Any]) -> None:
        self.where = where
        check_versions(meta_graph.graph_def, PRODUCER, MIN_PRODUCER)
        saved = meta_graph.object_graph_def.concrete_functions
        library = _needed(meta_graph.graph_def.library.function, saved)
        counts = {f.signature.name: len(f.signature.input_arg) for f in library}
        handles: dict[str, dict[int, Any]] = {}
        for name, each in saved.items():
            first = counts.get(name, 0) - len(each.bound_inputs)
            data = {first + i: handle_data(number) for i, number in enumerate(each.bound_inputs)}
            handles[name] = {i: found for i, found in data.items() if found is not None}
        self.bodies = read_library(library, Importer, handles)

    def make(
        self, name: str, saved: Any, signature: inspect.Signature | None, jit_compile: bool | None
    ) -> RestoredConcreteFunction:
        """A trace; its captured values are put in later.

        Args:
          name: its name in the library.
          saved: the SavedConcreteFunction.
          signature: that of the Python function, or None.
          jit_compile: as given to `tf.function`.

        Raises:
          ValueError: the trace does not fit the function.
        """
        where = f"{self.where}, function '{name}'"
        if name not in self.bodies:
            raise _refusal(where, "a function of that name in the library", "none")
        graph = self.bodies[name].graph
        bound = len(saved.bound_inputs)
        inputs = structures.decode(saved.canonicalized_input_signature, where)
        if not _is_call(inputs):
            raise _refusal(where, "a tuple and a dictionary of arguments", repr(inputs))
        specs = tensor_specs(inputs)
        if len(specs) + bound != len(graph.inputs):
            raise _refusal(
                where, f"{len(graph.inputs)} inputs", f"{len(specs)} arguments and {bound} captures"
            )
        for spec, tensor in zip(specs, graph.inputs, strict=False):
            _check_type(where, spec, tensor)
            if spec.name:
                tensor.op.attrs["_user_specified_name"] = spec.name
        outputs = structures.decode(saved.output_signature, where)
        flat = tensor_specs(outputs)
        if len(flat) != len(graph.outputs):
            raise _refusal(where, f"{len(graph.outputs)} outputs", f"{len(flat)} described")
        for spec, tensor in zip(flat, graph.outputs, strict=True):
            _check_type(where, spec, tensor)
        captured = graph.inputs[len(specs) :]
        graph.reset_captures([(tensor, tensor) for tensor in captured])
        graph.structured_input_signature = inputs
        with context.graph_scope(graph), context.no_recording():
            graph.structured_outputs = fill(outputs, iter(graph.outputs).__next__)
        return RestoredConcreteFunction(graph, jit_compile, signature, outputs)


def _needed(library: Iterable[Any], saved: Iterable[str]) -> list[Any]:
    """The functions that objects name, and those that these call."""
    messages = {function.signature.name: function for function in library}
    found: dict[str, Any] = {}
    waiting = [name for name in saved if name in messages]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = messages[name]
            for node in messages[name].node_def:
                waiting.extend(called_by(node, messages))
    return list(found.values())


def _is_call(inputs: Any) -> bool:
    return (
        isinstance(inputs, tuple)
        and len(inputs) == 2
        and isinstance(inputs[0], tuple)
        and isinstance(inputs[1], dict)
    )


def tensor_specs(structure: Any) -> list[Any]:
    """The specs of the tensors of a nest of specs and values, in order."""
    found: list[Any] = []
    for leaf in _leaves(structure):
        if isinstance(leaf, TensorSpec):
            found.append(leaf)
        elif isinstance(leaf, TypeSpec):
            found += leaf.flatten()
    return found


def _leaves(structure: Any) -> list[Any]:
    if isinstance(structure, Mapping):
        return [leaf for key in sorted(structure) for leaf in _leaves(structure[key])]
    if isinstance(structure, list | tuple):
        return [leaf for part in structure for leaf in _leaves(part)]
    return [structure] if isinstance(structure, TypeSpec) else nest.flatten(structure)


def _check_type(where: str, spec: Any, tensor: Any) -> None:
    if spec.dtype is not tensor.dtype or not spec.shape.is_compatible_with(tensor.shape):
        raise _refusal(
            where, f"{tensor.dtype.name}{tensor.shape}", f"{spec.dtype.name}{spec.shape} described"
        )


def _refusal(where: str, expected: str, got: str) -> ValueError:
    return ValueError(errors.located(where, expected, got, "The model is damaged; save it again."))
