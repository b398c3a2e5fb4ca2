"""Everything that a SavedModel holds, numbered: objects, their functions, what these capture.

The functions of an object are its children, those of its class too; the traces of a function are
the children of the function, and the constants, files and resources that a trace captures are the
children of the trace. What is numbered here has the same numbers in the checkpoint.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from penstock import errors
from penstock.checkpoint import object_graph
from penstock.checkpoint.object_graph import ObjectGraph
from penstock.checkpoint.saved_model.objects import Constant, SignatureMap
from penstock.checkpoint.saved_model.resources import Saving, saving_functions
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import EagerTensor
from penstock.core.trackable import AutoTrackable
from penstock.data import structure_messages as structures
from penstock.graph.body import CallBody
from penstock.ops.trackable_resource import Asset, TrackableResource
from penstock.tracing.concrete import ConcreteFunction
from penstock.tracing.function import Function, function
from penstock.tracing.signature import restore
from penstock.types import dtypes as dt
from penstock.types.composite_specs import VariableSpec
from penstock.util import nest

_RESOURCE_METHODS = ("_create_resource", "_initialize", "_destroy_resource")


class View:
    """The objects below a root, ready to be written.

    Args:
      root: a Trackable.

    Attributes:
      graph: the objects by number, once `number` was called.
      bodies: for each trace, by its id, the function that is written for it.
    """

    graph: ObjectGraph

    def __init__(self, root: Any) -> None:
        self._root = root
        self._children: dict[int, dict[str, Any]] = {}
        self._kept: list[Any] = []  # whose ids are keys
        self._captured: dict[int, Any] = {}  # id of a tensor -> the object that it belongs to
        self._methods: dict[tuple[int, str], Function] = {}
        self._savings: dict[int, Saving | None] = {}
        self.bodies: dict[int, CallBody] = {}

    def root_children(self) -> dict[str, Any]:
        """The children of the root."""
        return self._children_of(self._root)

    def number(self, signatures: SignatureMap) -> ObjectGraph:
        """Numbers everything.

        Raises:
          AssertionError: a function captures a resource that no object holds.
        """
        known = self.root_children().get("signatures")
        if known is not None and not isinstance(known, SignatureMap):
            raise ValueError(
                "tf.saved_model.save: expected an object without an attribute 'signatures', got "
                f"{known!r} there. Rename it: the signatures of the model get that name."
            )
        extra = {"signatures": signatures}
        object_graph.walk(self._root, extra, self._children_of)  # traces, which may make variables
        self._children.clear()
        for _ in range(2):  # what holds captured tensors must be known before they are children
            self.graph = object_graph.walk(self._root, extra, self._children_of)
            for node in self.graph.nodes:
                self._note(node)
        self.graph = object_graph.walk(self._root, extra, self._children_of, self._saving_functions)
        self._add_captures()
        self.graph = object_graph.walk(self._root, extra, self._children_of, self._saving_functions)
        return self.graph

    def saving(self, node: Any) -> Saving | None:
        """The functions that save and restore what a resource holds, if checkpoints save it."""
        return self._savings.get(id(node))

    def _saving_functions(self) -> list[ConcreteFunction]:
        for node in self.graph.nodes:
            if isinstance(node, TrackableResource) and id(node) not in self._savings:
                self._savings[id(node)] = saving_functions(node)
                self._kept.append(node)
        found = [self.saving(node) for node in self.graph.nodes]
        return [each for saving in found if saving for each in (saving.save, saving.restore)]

    def concretes(self) -> list[ConcreteFunction]:
        """All traces."""
        return [node for node in self.graph.nodes if isinstance(node, ConcreteFunction)]

    def captures(self, concrete: ConcreteFunction) -> list[Any]:
        """The objects that the captured values of a trace belong to."""
        return [self._captured[id(tensor)] for tensor in concrete.captured_inputs]

    def number_of_capture(self, tensor: Any) -> int | None:
        """The number of the object that a captured value belongs to, outside or in a function.

        None when it belongs to none.
        """
        owner = self._captured.get(id(tensor))
        for concrete in self.concretes() if owner is None else ():
            inside = concrete.graph.internal_captures
            places = [i for i, each in enumerate(inside) if each is tensor]
            if places:
                owner = self.captures(concrete)[places[0]]
        return None if owner is None else self.graph.numbers[id(owner)]

    # ---- children --------------------------------------------------------------------------------

    def _children_of(self, node: Any) -> dict[str, Any]:
        found = self._children.get(id(node))
        if found is None:
            found = self._children[id(node)] = self._find_children(node)
            self._kept.append(node)
        return found

    def _find_children(self, node: Any) -> dict[str, Any]:
        if isinstance(node, Function):
            return {f"trace_{i}": c for i, c in enumerate(_traces(node))}
        if isinstance(node, ConcreteFunction):
            return {}
        found = dict(object_graph.children_of(node, save_type="savedmodel"))
        if isinstance(node, AutoTrackable):
            found.update(_class_functions(node, found))
        if isinstance(node, TrackableResource):
            for name in _RESOURCE_METHODS:
                if name not in found:
                    found[name] = self._method(node, name)
        return found

    def _method(self, node: Any, name: str) -> Function:
        """A method of a resource as a function, always the same one."""
        key = (id(node), name)
        if key not in self._methods:
            method = getattr(node, name)
            if name != "_create_resource":
                method = functools.partial(_run, method)
            self._methods[key] = function(method, input_signature=(), autograph=False)
        return self._methods[key]

    def _note(self, node: Any) -> None:
        """Notes which tensors belong to an object."""
        tensor = None
        if object_graph.is_variable(node):
            tensor = node.handle
        elif isinstance(node, Asset):
            tensor = node.asset_path
        elif isinstance(node, TrackableResource):
            tensor = node.resource_handle
        elif isinstance(node, Constant):
            tensor = node.tensor
        if tensor is not None:
            self._captured[id(tensor)] = node
            self._kept.append(tensor)

    def _add_captures(self) -> None:
        """Makes the constants that traces capture objects, and captured objects children."""
        for concrete in self.concretes():
            self.bodies[id(concrete)] = body_of(concrete)
            children = self._children[id(concrete)]
            for index, tensor in enumerate(concrete.captured_inputs):
                owner = self._captured.get(id(tensor))
                if owner is None:
                    owner = self._captured[id(tensor)] = self._constant(concrete, tensor)
                if not object_graph.is_variable(owner):
                    children[f"capture_{index}"] = owner

    def _constant(self, concrete: ConcreteFunction, tensor: Any) -> Constant:
        if not isinstance(tensor, EagerTensor):
            raise ValueError(
                errors.located(
                    f"tf.saved_model.save: function {concrete.name}", "captured values",
                    f"{tensor!r}, which has none: it belongs to a graph",
                    "Trace the function eagerly before saving it.",
                )
            )  # fmt: skip
        if tensor.dtype in (dt.resource, dt.variant):
            raise AssertionError(
                "Tried to export a function which references an 'untracked' resource. TensorFlow "
                "objects (e.g. tf.Variable) captured by functions must be 'tracked' by assigning "
                "them to an attribute of a tracked object or assigned to an attribute of the main "
                f"object directly. Function name = {concrete.name}; captured tensor = "
                f"{tensor!r}; variables that it uses = {list(concrete.variables)}."
            )
        self._kept.append(tensor)
        return Constant(tensor)


def _run(method: Callable[[], Any]) -> Any:
    """Runs a method that may end with an operation, which is no result of a function."""
    method()
    return convert_to_tensor(1)


def _class_functions(node: Any, known: Iterable[str]) -> dict[str, Any]:
    """The tf.functions that the class of an object defines, bound to it."""
    found = {}
    for name in dir(type(node)):
        if name not in known and isinstance(inspect.getattr_static(type(node), name), Function):
            found[name] = getattr(node, name)
    return found


def _traces(found: Function) -> list[ConcreteFunction]:
    """The traces of a function that can be saved; with an input signature there is one."""
    if found.input_signature is not None and not found._traces:
        found.get_concrete_function()
    return [
        concrete
        for concrete in list(found._traces.values())
        if not concrete.captures_symbolic and _can_be_saved(concrete)
    ]


def _can_be_saved(concrete: ConcreteFunction) -> bool:
    """Whether the signature of a trace can be written: no variables, no objects of Python."""
    if not structures.is_encodable(restore(concrete.graph.structured_input_signature)):
        return False
    leaves = nest.flatten(concrete.graph.structured_input_signature)
    return not any(isinstance(leaf, VariableSpec) for leaf in leaves)


def body_of(concrete: ConcreteFunction) -> CallBody:
    """The function of a trace as files have it: an output for each tensor of the result."""
    flat = nest.flatten(concrete.graph.structured_outputs, expand_composites=True)
    known = {id(tensor) for tensor in concrete.graph.outputs}
    outputs = [tensor for tensor in flat if id(tensor) in known]
    if [id(t) for t in outputs] == [id(t) for t in concrete.body.outputs]:
        return concrete.body
    return CallBody(concrete.name, concrete.graph, outputs)
