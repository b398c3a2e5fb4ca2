"""`Graph`: operations by name, in the order they were added.

`add_operation` is where every operation enters: it brings the inputs into the graph, completes the
attributes, infers the shapes, takes name, device and control inputs from the scopes, and only then
changes the graph, so that a refused operation leaves it as it was. Lookup, collections and scopes
are TensorFlow's.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from penstock import errors
from penstock.core import attributes, context
from penstock.core.arrays import HashableArray
from penstock.core.composite import CompositeTensor, IndexedSlices
from penstock.core.op_def import OpDef, lookup
from penstock.core.shapes import LeftToTheStepError, ShapeContext
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import EagerTensor, Tensor, host_array
from penstock.graph import graph_def, printer, verify
from penstock.graph.computed_values import known_shape, known_value
from penstock.graph.graph_collections import GraphCollections
from penstock.graph.handles import check_variable_dtypes, handle_dims, set_handle_data
from penstock.graph.operation import Operation, RefusedShapes
from penstock.graph.scopes import GraphScopes, as_name, check_node_name, control_inputs
from penstock.graph.standard_ops import FORMS
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.util import nest
from penstock.util.frames import user_stack
from penstock.util.kinds import one_kind

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
            if one_kind(value) not in _PLAIN:
                yield from _graphs_of(value)
        elif isinstance(value, dict):
            yield from _graphs_of(value.values())
        elif isinstance(value, IndexedSlices):  # its indices may be a list, which no spec describes
            yield from _graphs_of((value.values, value.indices, value.dense_shape))
        elif isinstance(value, CompositeTensor):
            yield from _graphs_of(nest.flatten(value, expand_composites=True))
        elif getattr(value, "handle", None).__class__ is SymbolicTensor:
            yield value.handle.graph


class Graph(GraphScopes, GraphCollections):
    """A dataflow graph. Building is thread-safe; scopes belong to the thread that enters them."""

    building_function = False

    def __init__(self) -> None:
        super().__init__()
        # `_lock` of GraphElements also guards: _names, _consumers, _functions, version
        self._consumers: dict[tuple[str, int], list[Operation]] = {}
        self.notes: dict[Any, Any] = {}  # what other layers know of it: goes with the graph
        self._finalized = False
        self._unfeedable: set[str] = set()
        self._unfetchable: set[str] = set()
        self._version = 0
        self.edits = 0  # grows when an existing operation changes, so that plans know
        self._seed: int | None = None
        self._functions: dict[str, Any] = {}
        self.keeps_calls = False  # whether calls run what they name, whatever implements the same
        self.producer = graph_def.PRODUCER  # lowered by what is imported
        self.min_consumer = graph_def.MIN_CONSUMER
        self.bad_consumers: set[int] = set()

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
        control = control_inputs(stack.control, input_ops) if stack.control else ()
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
            lambda i: known_value(tensors[i]),
            lambda i: known_shape(tensors[i]),
            lambda i: handle_dims(tensors[i]),
        )
        try:
            check_variable_dtypes(op, tensors, attrs)
            result = op.shape_rule(shape_context)
        except LeftToTheStepError as problem:
            return RefusedShapes((problem.known,) * count, str(problem))
        except (ValueError, TypeError) as problem:  # NumPy's, of a vector that should be a number
            where = f" at {frames[-1].file}:{frames[-1].line}" if frames else ""
            inputs = ", ".join(f"{t.name} {t.dtype.name}{t.shape}" for t in tensors)
            shown = (name or op.name).removesuffix("/")
            raise ValueError(
                f"{problem} (operation '{shown}' of type {op.name}, inputs: {inputs}{where})"
            ) from None
        return [result] if len(op.outputs) == 1 and not op.outputs[0].is_list else result

    def _operation_name(self, name: Any) -> str:  # any: users pass all sorts
        name = as_name(name)
        if isinstance(name, str) and name.endswith("/"):
            name = name[:-1]
            if not name:
                check_node_name(name, self._names.prefix)
            if name in self._ops:
                raise ValueError(
                    f"Duplicate node name in graph: '{name}', created at "
                    f"{self._ops[name].location}. Leave out the '/' at the end to get a free name."
                )
            self._names.claim(name)
            return str(name)
        check_node_name(name, self._names.prefix)
        return self._names.unique(name)

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

        Args:
          op_type: the name of the definition.
          inputs: tensors, those of list inputs one after the other.
          dtypes: accepted for compatibility; the definition says them.
          input_types: likewise.
          name: its name inside the current scope; the type's by default.
          attrs: attributes that do not follow from the inputs, as Python values.
          op_def: accepted for compatibility.
          compute_shapes: likewise: shapes are always inferred.
          compute_device: likewise: device scopes always apply.

        Returns:
          The operation.

        Raises:
          RuntimeError: no such type is registered.
          TypeError: an input is no tensor.
          ValueError: the inputs or attributes do not fit.
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
            counts = attributes.input_counts(op, len(inputs), plain)
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
            functions = [f for f in self._functions.values() if not f.name.startswith(FORMS)]
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
