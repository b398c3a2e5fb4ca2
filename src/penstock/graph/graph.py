"""`Graph`: operations by name, in the order they were added.

`add_operation` is where every operation enters: it brings the inputs into the graph, completes the
attributes, infers the shapes, takes name, device and control inputs from the scopes, and only then
changes the graph, so that a refused operation leaves it as it was. Lookup, collections and scopes
are TensorFlow's.
"""

import contextlib
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from penstock import errors
from penstock.core import attributes, context
from penstock.core.arrays import HashableArray
from penstock.core.composite import CompositeTensor
from penstock.core.op_def import OpDef, lookup
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import EagerTensor, SymbolicTensor, Tensor, host_array
from penstock.graph import graph_def, printer, scopes, verify
from penstock.graph.operation import Operation
from penstock.graph.static_values import constant_value, shape_value
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.util import nest
from penstock.util.frames import user_stack

_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None), EagerTensor))


def _graphs_of(values: Iterable[Any]) -> Iterator["Graph"]:
    """The graphs of the symbolic tensors, operations and variables among values."""
    for value in values:
        kind = value.__class__
        if kind is SymbolicTensor or kind is Operation:
            yield value.graph
        elif kind in _PLAIN:
            continue
        elif isinstance(value, (list, tuple)):
            yield from _graphs_of(value)
        elif isinstance(value, dict):
            yield from _graphs_of(value.values())
        elif isinstance(value, CompositeTensor):
            yield from _graphs_of(nest.flatten(value, expand_composites=True))
        elif getattr(value, "handle", None).__class__ is SymbolicTensor:
            yield value.handle.graph


class Graph:
    """A dataflow graph. Building is thread-safe; scopes belong to the thread that enters them."""

    building_function = False

    def __init__(self) -> None:
        self._lock = threading.RLock()  # guards: _ops, _names, version
        self._ops: dict[str, Operation] = {}
        self._names = scopes.Names()
        self._consumers: dict[tuple[str, int], list[Operation]] = {}
        self.notes: dict[Any, Any] = {}  # what other layers know of it: goes with the graph
        self._collections: dict[Any, list[Any]] = {}
        self._finalized = False
        self._unfeedable: set[str] = set()
        self._unfetchable: set[str] = set()
        self._version = 0
        self.edits = 0  # grows when an existing operation changes, so that plans know
        self._seed: int | None = None
        self._gradient_overrides: dict[str, str] = {}
        self._functions: dict[str, Any] = {}
        self._container = ""
        self._scopes = _ThreadScopes()
        self.producer = graph_def.PRODUCER  # lowered by what is imported
        self.min_consumer = graph_def.MIN_CONSUMER
        self.bad_consumers: set[int] = set()
        self._last_random_op = 0

    # ---- adding operations -----------------------------------------------------------------------

    def add_operation(
        self,
        op: OpDef,
        inputs: Sequence[Tensor],
        counts: Sequence[int] | None,
        attrs: dict[str, Any],
        name: str | None = None,
    ) -> Operation:
        """Adds an operation.

        Args:
          op: its definition.
          inputs: flat tensors: of this graph, or anything `as_tensor` takes.
          counts: number of tensors of each input argument; None when all are single.
          attrs: attributes that do not follow from the inputs.
          name: its name inside the current scope; a trailing "/" makes it absolute. The
            definition's name by default.

        Raises:
          RuntimeError: the graph is finalized.
          TypeError, ValueError: inputs or attributes do not fit the definition.
        """
        self._check_not_finalized()
        frames = user_stack(limit=8)
        tensors = tuple([self.as_tensor(t) for t in inputs])
        full = attributes.complete(
            op, [t.dtype for t in tensors], attrs, counts or (1,) * len(op.inputs)
        )
        dtypes = attributes.output_dtypes(op, full)
        shapes = self.infer_shapes(op, tensors, full, len(dtypes), name, frames)
        input_ops = [t.op for t in tensors]
        stack = self._scopes
        control = scopes.control_inputs(stack.control, input_ops) if stack.control else ()
        with self._lock:
            made = Operation(
                self,
                op,
                self._operation_name(name or op.name),
                tensors,
                counts,
                full,
                dtypes,
                shapes,
                control,
                "",
                frames,
            )
            self._apply_scopes(made)
            self._insert(made)
        return made

    def infer_shapes(
        self,
        op: OpDef,
        tensors: Sequence[SymbolicTensor],
        attrs: dict[str, Any],
        count: int,
        name: str | None,
        frames: Any,
    ) -> Sequence[Dims]:
        """The shapes of the `count` outputs of an operation, by the rule of its definition.

        Raises:
          ValueError: the inputs cannot be right.
        """
        if op.shape_rule is None:
            return (None,) * count
        shape_context = ShapeContext(
            op.name,
            [t._dims for t in tensors],
            [t.dtype for t in tensors],
            attrs,
            lambda i: constant_value(tensors[i]),
            lambda i: shape_value(tensors[i]),
            lambda i: handle_dims(tensors[i]),
        )
        try:
            check_variable_dtypes(op, tensors, attrs)
            result = op.shape_rule(shape_context)
        except (ValueError, TypeError) as problem:  # NumPy's, of a vector that should be a number
            where = f" at {frames[-1].file}:{frames[-1].line}" if frames else ""
            inputs = ", ".join(f"{t.name} {t.dtype.name}{t.shape}" for t in tensors)
            shown = (name or op.name).removesuffix("/")
            raise ValueError(
                f"{problem} (operation '{shown}' of type {op.name}, inputs: {inputs}{where})"
            ) from None
        return [result] if len(op.outputs) == 1 and not op.outputs[0].is_list else result

    def _operation_name(self, name: Any) -> str:  # any: users pass all sorts
        if isinstance(name, str) and name.endswith("/"):
            name = name[:-1]
            if name in self._ops:
                raise ValueError(
                    f"Duplicate node name in graph: '{name}', created at "
                    f"{self._ops[name].location}. Leave out the '/' at the end to get a free name."
                )
            self._names.claim(name)
            return str(name)
        scopes.check_node_name(name, self._names.prefix)
        return self._names.unique(name)

    def _apply_scopes(self, op: Operation) -> None:
        stack = self._scopes
        self.place(op)
        for name, value in stack.attributes.items():
            op.attrs.setdefault(name, value(op) if callable(value) else value)
        if op.type in self._gradient_overrides:
            op.attrs.setdefault("_gradient_op_type", self._gradient_overrides[op.type])
        if "container" in op.op_def.attrs and not op.attrs["container"] and self._container:
            op.attrs["container"] = self._container
        for scope in stack.control:
            scope.created.add(id(op))

    def place(self, op: Operation) -> None:
        """Gives a new operation the device and colocation that the scopes ask for.

        Scopes apply from the innermost outwards: each fills what is still open, and the answer of
        a function replaces it all.
        """
        stack = self._scopes
        for scope in reversed(stack.devices):
            if scope is None:
                break
            op._device = scopes.merge_device(scope, op)
        if stack.colocation:
            groups = {g for target in stack.colocation for g in _groups(target)}
            op.attrs["_class"] = tuple(sorted(groups))
            devices = [target.device for target in stack.colocation if target.device]
            op._device = devices[0] if devices else op._device

    def scope_controls(self) -> tuple[Operation, ...]:
        """What operations without inputs wait for in the current `control_dependencies` blocks."""
        return scopes.control_inputs(self._scopes.control, ())

    def insert(self, op: Operation) -> None:
        """Adds an operation that was made for this graph and whose name is free."""
        with self._lock:
            self._names.claim(op.name)
            self._insert(op)

    def _insert(self, op: Operation) -> None:
        self._version += 1
        op._id = self._version
        self._ops[op.name] = op
        for tensor in op.inputs:
            self._consumers.setdefault((tensor.op.name, tensor.value_index), []).append(op)
        set_handle_data(op)

    def remove_since(self, version: int) -> None:
        """Takes back the operations that were added since `self.version` was `version`."""
        with self._lock:
            for op in [op for op in self._ops.values() if op._id > version]:
                del self._ops[op.name]
                self._names.release(op.name)
                for tensor in op.inputs:
                    users = self._consumers.get((tensor.op.name, tensor.value_index), [])
                    users[:] = [user for user in users if user is not op]
            self._version = version

    def names_and_prefixes(self) -> set[str]:
        """The names of all operations and of the scopes that they are in."""
        found: set[str] = set()
        for name in self._ops:
            while name and name not in found:
                found.add(name)
                name = name.rpartition("/")[0]
        return found

    def touch(self) -> None:
        """Notes that an existing operation changed: plans made before are not used again."""
        self._check_not_finalized()
        self.edits += 1

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Any = None,
        input_types: Any = None,
        name: str | None = None,
        attrs: dict[str, Any] | None = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Adds an operation of a registered type; output types follow from the definition.

        Raises:
          RuntimeError: no such type is registered.
          TypeError: an input is no tensor.
        """
        for index, value in enumerate(inputs):
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"Input #{index} is not a tensor: {value!r}. Convert it with"
                    " tf.convert_to_tensor."
                )
        try:
            op = lookup(op_type)
        except errors.NotFoundError as problem:
            raise RuntimeError(problem.message) from None
        plain = dict(attrs or {})
        counts = None
        if any(arg.is_list for arg in op.inputs):
            counts = input_counts(op, len(inputs), plain)
        return self.add_operation(op, inputs, counts, plain, name)

    def as_tensor(self, value: Tensor, name: str | None = None) -> SymbolicTensor:
        """`value` as a tensor of this graph: itself, or a constant for an eager tensor.

        `name` is for what a function's graph makes to stand for it.

        Raises:
          ValueError: it belongs to another graph.
        """
        if isinstance(value, SymbolicTensor):
            if value.graph is not self:
                raise ValueError(
                    f"{value!r} must be from the same graph: it was created at {value.op.location}"
                    " in another one. Build both operations inside one `with graph.as_default():`,"
                    " or pass the value through a placeholder."
                )
            return value
        assert isinstance(value, EagerTensor)
        return self._constant(value)

    def home_of(self, inputs: Sequence[Any]) -> "Graph":
        """The graph that operations on these go to.

        Tensors, operations and variables of one other plain graph, in lists and dictionaries too,
        take them there; as in TensorFlow, whichever graph is the default one.
        """
        home: Graph | None = None
        if self.building_function:
            return self
        for graph in _graphs_of(inputs):
            if graph is self or graph.building_function or home not in (None, graph):
                return self
            home = graph
        return self if home is None else home

    def _constant(self, value: EagerTensor) -> SymbolicTensor:
        if value.dtype in (dt.resource, dt.variant):
            raise ValueError(
                f"An eager tensor of dtype {value.dtype.name} cannot be used in a graph: its state"
                " belongs to eager execution."
            )
        attrs = {
            "value": HashableArray(host_array(value), value.dtype),
            "dtype": value.dtype,
        }
        with self.control_dependencies(None):
            return self.add_operation(lookup("Const"), (), None, attrs, "Const").outputs[0]

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "cannot pickle or copy a 'Graph' object: operations and scopes are its own;"
            " use as_graph_def and import_graph_def"
        )

    # ---- looking up ------------------------------------------------------------------------------

    def get_operations(self) -> list[Operation]:
        """The operations in the order they were added."""
        with self._lock:
            return list(self._ops.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of that name.

        Raises:
          TypeError: `name` is no string.
          KeyError: there is none.
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        found = self.as_graph_element(name, allow_tensor=False, allow_operation=True)
        assert isinstance(found, Operation)
        return found

    def get_tensor_by_name(self, name: str) -> SymbolicTensor:
        """The tensor of that name, as `add:0`.

        Raises:
          TypeError: `name` is no string.
          ValueError: it is no tensor name.
          KeyError: there is none.
        """
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        found = self.as_graph_element(name, allow_tensor=True, allow_operation=False)
        assert isinstance(found, SymbolicTensor)
        return found

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """The tensor or operation that a name, tensor, operation or variable stands for."""
        if not allow_tensor and not allow_operation:
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        kinds = " or ".join(
            k for k, ok in (("Tensor", allow_tensor), ("Operation", allow_operation)) if ok
        )
        convert_self = getattr(obj, "_as_graph_element", None)
        if convert_self is not None and not isinstance(obj, (Tensor, Operation)):
            obj = convert_self()
        if isinstance(obj, str):
            return self._element_by_name(obj, allow_tensor, allow_operation, kinds)
        if isinstance(obj, SymbolicTensor) and allow_tensor:
            if obj.graph is not self:
                raise ValueError(f"Tensor {obj} is not an element of this graph.")
            return obj
        if isinstance(obj, Operation) and allow_operation:
            if obj.graph is not self:
                raise ValueError(f"Operation {obj!r} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")

    def _element_by_name(
        self, name: str, allow_tensor: bool, allow_operation: bool, kinds: str
    ) -> Any:
        op_name, colon, index = name.partition(":")
        if not colon:
            if not allow_operation and name in self._ops:
                raise ValueError(
                    f"The name {name!r} refers to an Operation, not a {kinds}. Tensor names must "
                    'be of the form "<op_name>:<output_index>".'
                )
            if not allow_operation:
                raise ValueError(
                    f"The name {name!r} looks like an (invalid) Operation name, not a {kinds}."
                    ' Tensor names must be of the form "<op_name>:<output_index>".'
                )
            if name not in self._ops:
                raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
            return self._ops[name]
        if not allow_tensor:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a {kinds}.")
        if not index.isdigit():
            raise ValueError(
                f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor "
                'names must be of the form "<op_name>:<output_index>".'
            )
        op = self._ops.get(op_name)
        if op is None:
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation,"
                f" {op_name!r}, does not exist in the graph."
            )
        if int(index) >= len(op._outputs):
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{op_name!r}, exists but only has {len(op._outputs)} outputs."
            )
        return op._outputs[int(index)]

    def add_consumer(self, op: Operation, tensor: SymbolicTensor) -> None:
        """Notes that an existing operation has `tensor` as an input now."""
        self._consumers.setdefault((tensor.op.name, tensor.value_index), []).append(op)
        self.touch()

    def consumers(self, tensor: SymbolicTensor) -> list[Operation]:
        """The operations with `tensor` as a data input."""
        found = self._consumers.get((tensor.op.name, tensor.value_index), [])
        return list(dict.fromkeys(op for op in found if any(i is tensor for i in op.inputs)))

    # ---- properties ------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """A number that grows with every operation."""
        return self._version

    @property
    def seed(self) -> int | None:
        """The graph-level random seed."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed

    @property
    def finalized(self) -> bool:
        """Whether the graph refuses changes."""
        return self._finalized

    def finalize(self) -> None:
        """Refuses changes from now on."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    # ---- other forms ----------------------------------------------------------------------------

    def as_graph_def(
        self,
        from_version: int | None = None,
        add_shapes: bool = False,
        use_pybind11_proto: bool = False,
    ) -> Any:
        """The graph as a GraphDef message.

        Args:
          from_version: only operations added since `version` was this number.
          add_shapes: whether to add the shapes of outputs, as attribute `_output_shapes`.
          use_pybind11_proto: accepted for compatibility; there is one kind of message.

        Raises:
          ValueError: an attribute does not fit a message.
        """
        with self._lock:
            functions = tuple(self._functions.values())
            return graph_def.as_graph_def(self, from_version, add_shapes, functions)

    def add_function(self, body: Any, overwrite: bool = False) -> None:
        """Puts a function into the graph's library, where messages and imported graphs find it.

        Args:
          body: the function, with those that it calls.
          overwrite: whether it takes the place of one with its name.
        """
        with self._lock:
            if overwrite or body.name not in self._functions:
                self._functions[body.name] = body

    @property
    def graph_def_versions(self) -> Any:
        """The VersionDef message: which programs can read the graph."""
        return graph_def.versions_of(self)

    def text(self) -> str:
        """The operations as readable text, see `penstock.graph.printer`."""
        return printer.graph_text(self)

    def verify(self) -> None:
        """Checks the graph, see `penstock.graph.verify`.

        Raises:
          InternalError: it contradicts itself; names the operation and its neighbours.
        """
        verify.verify_graph(self)

    # ---- scopes ----------------------------------------------------------------------------------

    def as_default(self) -> contextlib.AbstractContextManager["Graph"]:
        """A scope in which operations go to this graph."""
        return context.graph_scope(self)

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """A name that no operation has, inside the current scope."""
        return self._names.unique(name, mark_as_used)

    @contextlib.contextmanager
    def name_scope(self, name: Any) -> Iterator[str]:  # any: users pass all sorts
        """Names inside begin with this scope's; "a/" re-enters scope a, "" or None the root."""
        before = self._names.prefix
        if not name:
            new = ""
        elif isinstance(name, str) and name.endswith("/"):
            new = name[:-1]
        else:
            scopes.check_name(name, before)
            new = self._names.unique(name)
        self._names.prefix = new
        try:
            yield f"{new}/" if new else ""
        finally:
            self._names.prefix = before

    def get_name_scope(self) -> str:
        """The current scope without a trailing slash."""
        return self._names.prefix

    @contextlib.contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Operations inside request this device (name, spec, function); None lifts outer ones."""
        stack = self._scopes
        before = stack.devices
        if device_name_or_function is not None and not callable(device_name_or_function):
            device_name_or_function = scopes.device_text(device_name_or_function)
        stack.devices = (*before, device_name_or_function)
        try:
            yield
        finally:
            stack.devices = before

    def device_text(self, device: Any) -> str:
        """A device as canonical text."""
        return scopes.device_text(device)

    def control_dependencies(
        self, control_inputs: Iterable[Any] | None
    ) -> contextlib.AbstractContextManager[None]:
        """Operations inside run after `control_inputs`; None lifts outer blocks.

        Raises:
          TypeError, ValueError, KeyError: an input is no operation or tensor of this graph.
        """
        return self._control_scope(
            None if control_inputs is None else self._controllers(control_inputs)
        )

    @contextlib.contextmanager
    def _control_scope(self, controllers: list[Operation] | None) -> Iterator[None]:
        stack = self._scopes
        before, names = stack.control, self._names.prefix
        if controllers is None:
            stack.control = ()
        else:
            for op in controllers:
                op._set_attr("_has_manual_control_dependencies", True)
            outside = {op for scope in before for op in scope.ops}
            new = [op for op in controllers if op not in outside]
            stack.control = (*before, scopes.ControlScope(new))
        try:
            yield
        finally:
            stack.control = before
            self._names.prefix = names

    def _controllers(self, values: Iterable[Any]) -> list[Operation]:
        ops: dict[Operation, None] = {}
        for value in values:
            if isinstance(value, EagerTensor):
                continue  # it has been computed already
            if (
                hasattr(value, "_type_spec")
                and not isinstance(value, Tensor)
                and hasattr(value, "op")
            ):
                value = value.op
            element: Any = value
            if not isinstance(value, (Tensor, Operation)):
                element = self.as_graph_element(value)
            if isinstance(element, SymbolicTensor):
                element = self.as_tensor(element).op
            elif element.graph is not self:
                element = self._controller_from_outside(element)
            ops[element] = None
        return list(ops)

    def _controller_from_outside(self, op: Operation) -> Operation:
        """What stands in this graph for an operation of another one."""
        raise ValueError(f"Operation {op!r} is not an element of this graph.")

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Operations inside are placed with `op`."""
        stack = self._scopes
        before, devices = stack.colocation, stack.devices
        if op is None and not ignore_existing:
            raise ValueError(
                "Trying to reset colocation (op is None) but ignore_existing is not True"
            )
        if hasattr(op, "handle"):  # a variable stands where its handle does
            op = self.as_tensor(op.handle)
        target = None if op is None else self.as_graph_element(op)
        if isinstance(target, SymbolicTensor):
            target = target.op
        kept = () if ignore_existing else before
        stack.colocation = kept if target is None else (*kept, target)
        stack.devices = ()  # the place of `op` counts, not the scopes outside
        try:
            yield
        finally:
            stack.colocation, stack.devices = before, devices

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Stateful operations inside keep their state in this container."""
        before, self._container = self._container, container_name
        try:
            yield container_name
        finally:
            self._container = before

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map: dict[Any, Any]) -> Iterator[None]:
        """Operations inside of a key's type take the gradient registered under the value's name."""
        if not isinstance(op_type_map, dict):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        for name, other in op_type_map.items():
            if not isinstance(name, str) or not isinstance(other, str):
                raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        before, self._gradient_overrides = (
            self._gradient_overrides,
            {**self._gradient_overrides, **op_type_map},
        )
        try:
            yield
        finally:
            self._gradient_overrides = before

    @contextlib.contextmanager
    def _attr_scope(self, attr_map: dict[str, Any]) -> Iterator[None]:
        stack = self._scopes
        before, stack.attributes = stack.attributes, {**stack.attributes, **attr_map}
        try:
            yield
        finally:
            stack.attributes = before

    def switch_to_thread_local(self) -> None:
        """Accepted for compatibility: device, control and colocation scopes are per thread."""

    # ---- collections -----------------------------------------------------------------------------

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Appends `value` to a collection."""
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Appends `value` to each of the collections, once where a name repeats."""
        for name in dict.fromkeys((names,) if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The collection itself: changes to it are kept."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy of the collection; only items whose name matches the pattern `scope`, if given."""
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        pattern = re.compile(scope)
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def get_all_collection_keys(self) -> list[Any]:
        """The names of the collections that are strings."""
        return [name for name in self._collections if isinstance(name, str)]

    @property
    def collections(self) -> list[Any]:
        """The names of all collections."""
        return list(self._collections)

    def clear_collection(self, name: Any) -> None:
        """Empties a collection."""
        self._check_not_finalized()
        self._collections.pop(name, None)

    # ---- feeding and fetching --------------------------------------------------------------------

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Refuses feeds of `tensor`."""
        self._unfeedable.add(tensor.name)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether `tensor` may be fed; what is no tensor is not kept from it."""
        return getattr(tensor, "name", None) not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        """Refuses fetches of `op` and its outputs."""
        self._unfetchable.add(op.name)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Whether a tensor or operation may be fetched."""
        op = tensor_or_op.op if isinstance(tensor_or_op, SymbolicTensor) else tensor_or_op
        return op.name not in self._unfetchable


class _ThreadScopes(threading.local):
    """The scopes that a thread has entered over one graph."""

    def __init__(self) -> None:
        self.devices: tuple[Any, ...] = ()
        self.control: tuple[scopes.ControlScope, ...] = ()
        self.colocation: tuple[Operation, ...] = ()
        self.attributes: dict[str, Any] = {}


_HAND_ON = frozenset({"Identity", "Switch", "Enter", "Exit"})  # handles, the first input's


def set_handle_data(op: Operation) -> None:
    """Notes which variable an operation's handle refers to: its dtype and shape.

    What states both of its own output, as a placeholder does, says nothing of a variable.
    """
    outputs = op._outputs
    if not outputs or outputs[0].dtype is not dt.resource:
        return
    if op.type in _HAND_ON:
        for output in outputs:
            output._handle_data = getattr(op.inputs[0], "_handle_data", None)
    if "shape" not in op.attrs:
        return
    dtype = op.attrs.get("dtype")
    if dtype is not None and dtype is not dt.resource:
        outputs[0]._handle_data = (dtype, op.attrs["shape"])


_OF_GENERATORS = frozenset(  # their dtype is of the numbers, the state's is always int64
    {
        *("StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform"),
        *("StatefulUniformFullInt", "StatefulUniformInt", "StatefulRandomBinomial"),
    }
)


def check_variable_dtypes(op: OpDef, tensors: Sequence[Tensor], attrs: dict[str, Any]) -> None:
    """Refuses an operation of another dtype than that of the variable it is on.

    Raises:
      ValueError: the dtypes differ.
    """
    wanted = attrs.get("dtype", attrs.get("T"))
    if wanted.__class__ is not dt.DType or wanted is dt.resource:
        return
    if op.name in _OF_GENERATORS:
        return
    for tensor in tensors:
        data = getattr(tensor, "_handle_data", None) if tensor.dtype is dt.resource else None
        if data.__class__ is tuple and data[0] not in (None, wanted):
            raise ValueError(
                f"{op.name}: expected values of the variable's dtype {data[0].name}, got "
                f"{wanted.name}. Cast them."
            )


def handle_dims(tensor: Tensor) -> Dims:
    """The static shape of the variable that a resource tensor refers to, None when unknown."""
    if isinstance(tensor, EagerTensor):
        return getattr(getattr(tensor._array, "resource", None), "dims", None)
    data = getattr(tensor, "_handle_data", None)
    return data[1] if data is not None else None


def _groups(op: Operation) -> list[str]:
    return [g.decode() for g in op.colocation_groups()]


def input_counts(op: OpDef, total: int, attrs: dict[str, Any]) -> tuple[int, ...]:
    """Tensors per input argument when only the flat number and the attributes are known."""
    known: list[int | None] = []
    for arg in op.inputs:
        if not arg.is_list:
            known.append(1)
        elif arg.number_attr is not None and arg.number_attr in attrs:
            known.append(int(attrs[arg.number_attr]))
        elif arg.type_list_attr is not None and arg.type_list_attr in attrs:
            known.append(len(attrs[arg.type_list_attr]))
        else:
            known.append(None)
    open_count = sum(k is None for k in known)
    if open_count > 1:
        raise ValueError(
            f"{op.name}: pass the attributes that give the lengths of its list inputs."
        )
    rest = total - sum(k for k in known if k is not None)
    if rest < 0 or (open_count == 0 and rest):
        raise ValueError(
            f"{op.name}: got {total} inputs, which does not match its definition {op.text}."
        )
    return tuple(rest if k is None else k for k in known)


# ---- the default graph ---------------------------------------------------------------------------

_global_graph: Graph | None = None
_global_lock = threading.Lock()  # guards: _global_graph


def get_default_graph() -> Graph:
    """The graph that operations go to, the global one when no graph scope is entered."""
    current = context.state.graph
    if current is not None:
        return current  # type: ignore[no-any-return]
    return global_graph()


def global_graph() -> Graph:
    """The process's global graph."""
    global _global_graph
    with _global_lock:
        if _global_graph is None:
            _global_graph = Graph()
        return _global_graph


def reset_default_graph() -> None:
    """Replaces the global graph by an empty one.

    Raises:
      AssertionError: inside of a graph scope.
    """
    global _global_graph
    if context.state.stack:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared"
            " graph, exit the nesting and create a new graph."
        )
    with _global_lock:
        _global_graph = None
    if not context.eager_by_default():
        context.state.graph = global_graph()
        context.refresh()
