"""`FuncGraph`: the body of a function.

Its inputs are placeholders: those of the signature first, then one for each captured tensor. A
tensor from outside that an operation inside uses is captured: small eager values become constants,
others a new input whose outer tensor is passed at every call.

Operations with effects keep program order inside a function: for each resource, writes wait for
earlier reads and writes, reads for earlier writes; effects without a resource wait for each other.
`control_outputs` are the operations that must run although no output needs them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from penstock import errors
from penstock.core import context
from penstock.core.arrays import HashableArray
from penstock.core.convert import convert_to_tensor
from penstock.core.op_def import lookup
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import EagerTensor, Tensor, host_array
from penstock.graph.default_graph import get_default_graph
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType
from penstock.util import nest
from penstock.util.frames import user_frame

INLINED_ELEMENTS = 128  # eager values without gradients are constants up to this size
AS_INPUT = object()  # `_handle_data` of an eager tensor that is never made a constant


class FuncGraph(Graph):
    """The graph of a function's body."""

    building_function = True
    orders_effects = True  # all effects happen, in program order; else those outputs wait for

    def __init__(
        self, name: str, collections: Any = None, capture_by_value: bool | None = None
    ) -> None:
        super().__init__()
        self.name = name
        self.inputs: list[SymbolicTensor] = []
        self.outputs: list[SymbolicTensor] = []
        self.structured_input_signature: Any = None
        self.named_arguments: Any = None  # the same with those names alone that specs were given
        self.structured_outputs: Any = None
        self.control_outputs: list[Operation] = []
        self.outer_graph = context.state.graph
        self.capture_by_value = bool(capture_by_value)
        self._captures: dict[int, tuple[Tensor, SymbolicTensor]] = {}
        self._inlined: dict[int, tuple[EagerTensor, SymbolicTensor]] = {}
        self._tokens: dict[Operation, SymbolicTensor] = {}
        self._order = _EffectOrder()
        self.variables: list[Any] = []
        self._watched: dict[int, Any] = {}
        self.allow_variables = True
        self.new_variables: list[Any] = []
        self.lifted: dict[Any, Any] = {}  # values outside, of stateful operations that were lifted
        self.sets_first_values = False  # whether it gives new variables values that need arguments
        if collections is not None:
            self._collections = collections
        elif self.outer_graph is not None:
            self._seed = self.outer_graph.seed

    # ---- captures --------------------------------------------------------------------------------

    @property
    def captures(self) -> list[tuple[Tensor, SymbolicTensor]]:
        """Pairs of (outer tensor, placeholder inside)."""
        return list(self._captures.values())

    @property
    def external_captures(self) -> list[Tensor]:
        """The captured outer tensors."""
        return [outer for outer, _ in self._captures.values()]

    @property
    def internal_captures(self) -> list[SymbolicTensor]:
        """The placeholders that stand for captured tensors."""
        return [inner for _, inner in self._captures.values()]

    def as_tensor(self, value: Tensor, name: str | None = None) -> SymbolicTensor:
        """`value` itself when it is of this graph, else the placeholder that captures it."""
        if isinstance(value, SymbolicTensor) and value.graph is self:
            return value
        return self.capture(value, name)

    def capture(self, tensor: Tensor, name: str | None = None) -> SymbolicTensor:
        """The tensor inside that stands for `tensor` of an enclosing scope.

        Raises:
          InaccessibleTensorError: it belongs to a function that is not an enclosing one.
        """
        if isinstance(tensor, SymbolicTensor) and tensor.graph is self:
            return tensor
        found = self._captures.get(id(tensor))
        if found is not None:
            return found[1]
        if isinstance(tensor, EagerTensor):
            if self._inlines(tensor):
                return self._inline(tensor, name)
        else:
            assert isinstance(tensor, SymbolicTensor)
            self._check_reachable(tensor)
            if (
                self.outer_graph is not None
                and tensor.graph is not self.outer_graph
                and isinstance(self.outer_graph, FuncGraph)
            ):
                outer = self.outer_graph.capture(tensor)
                return self.capture(outer)
        return self._new_capture(tensor, name)

    def _to_wait_for(self, value: Any) -> Iterable[Any]:
        """Tensors and operations; other values of a function are there before it runs.

        A value that is made of tensors stands for these.
        """
        for each in super()._to_wait_for(value):
            whole = isinstance(each, (Tensor, Operation))
            for part in [each] if whole else nest.flatten(each, expand_composites=True):
                if part is None or isinstance(part, (Tensor, Operation)):
                    yield part

    def _controller_from_outside(self, op: Operation) -> Operation:
        """The input that is there when an operation of an enclosing graph has run.

        One without outputs gets a token: a constant that waits for it.
        """
        outer: Any = self.outer_graph
        while outer is not None and outer is not op.graph:
            outer = getattr(outer, "outer_graph", None)
        if outer is None:
            return super()._controller_from_outside(op)
        if op.outputs:
            return self.as_tensor(op.outputs[0]).op  # type: ignore[no-any-return]
        token = self._tokens.get(op)
        if token is None:
            with (
                context.graph_scope(outer),
                context.no_recording(),
                outer.control_dependencies([op]),
            ):
                token = self._tokens[op] = outer.as_tensor(convert_to_tensor(True))
        return self.as_tensor(token).op  # type: ignore[no-any-return]

    def _new_capture(self, tensor: Tensor, name: str | None) -> SymbolicTensor:
        name = name or _capture_name(tensor)
        try:
            inner = self.add_input(tensor.dtype, tensor.dims, name, user=False)
        except ValueError:  # a name with "/" that is taken, or no valid name
            inner = self.add_input(tensor.dtype, tensor.dims, "Placeholder", user=False)
        if tensor.dtype is dt.resource:
            inner._handle_data = _handle_data(tensor)
        self._captures[id(tensor)] = (tensor, inner)
        return inner

    def _inlines(self, tensor: EagerTensor) -> bool:
        if tensor.dtype in (dt.resource, dt.variant):
            return False
        if self.capture_by_value:
            return True
        if getattr(tensor, "_handle_data", None) is AS_INPUT:
            return False
        if tensor.dtype.is_floating or tensor.dtype.is_complex:
            return False  # a tape around the call may ask for its gradient
        return getattr(tensor._array, "size", 1) <= INLINED_ELEMENTS

    def _inline(self, tensor: EagerTensor, name: str | None) -> SymbolicTensor:
        found = self._inlined.get(id(tensor))
        if found is None:
            attrs = {
                "value": HashableArray(host_array(tensor), tensor.dtype),
                "dtype": tensor.dtype,
            }
            with self.control_dependencies(None):
                made = self.add_operation(
                    lookup("Const"), (), None, attrs, name or "Const"
                ).outputs[0]
            found = self._inlined[id(tensor)] = (tensor, made)
        return found[1]

    def _check_reachable(self, tensor: SymbolicTensor) -> None:
        graph = self.outer_graph
        while graph is not None and graph is not tensor.graph:
            graph = getattr(graph, "outer_graph", None)
        if graph is None and tensor.graph.building_function:
            made_in = getattr(tensor.graph, "name", tensor.graph)
            raise _inaccessible(
                f"{tensor!r} is out of scope and cannot be used here: expected a tensor of"
                f" {self.name} or of what encloses it, got one of the function {made_in}, made at"
                f" {tensor.op.location} while that was traced. Return it from that function, or"
                " compute it again here."
            )
        if graph is None and self.outer_graph is not None:
            raise ValueError(
                f"{tensor!r} must be from the same graph as {self} or an enclosing one; created at"
                f" {tensor.op.location}."
            )

    def add_input(self, dtype: DType, dims: Dims, name: str, user: bool = True) -> SymbolicTensor:
        """Adds a placeholder that is an input of the function."""
        with self.control_dependencies(None), self.device(None):
            op = super().add_operation(
                lookup("Placeholder"), (), None, {"dtype": dtype, "shape": dims}, name
            )
        if user:
            op.attrs["_user_specified_name"] = name
        tensor = op.outputs[0]
        self.inputs.append(tensor)
        return tensor

    def reset_captures(self, captures: Sequence[tuple[Tensor, SymbolicTensor]]) -> None:
        """Replaces the captures."""
        self._captures = {id(outer): (outer, inner) for outer, inner in captures}

    def replace_capture(self, tensor: Tensor, placeholder: SymbolicTensor) -> None:
        """Makes `placeholder` stand for `tensor`."""
        self._captures[id(tensor)] = (tensor, placeholder)

    # ---- effects in program order ----------------------------------------------------------------

    def _insert(self, op: Operation) -> None:
        super()._insert(op)
        if self.orders_effects and op.op_def.stateful:
            self._order.add(op)

    def finish(self) -> None:
        """Called when the body is complete: settles which operations must run for their effects."""
        self.control_outputs = self._order.must_run()

    def note_new_variable(self, variable: Any) -> None:
        """Called when the body makes a variable.

        Raises:
          ValueError: the function was traced before; variables are made at the first call only.
        """
        if not self.allow_variables:
            raise ValueError(
                "tf.function only supports singleton tf.Variables created on the first call:"
                f" expected the variables of {self.name} to be there already, got a new one at"
                f" {user_frame()}. Make sure the tf.Variable is only created once or created"
                " outside tf.function: `if self.v is None: self.v = tf.Variable(...)`."
            )
        self.new_variables.append(variable)

    def watch_variable(self, variable: Any) -> None:
        """Notes that the body uses a variable."""
        if id(variable) not in self._watched:
            self._watched[id(variable)] = variable
            self.variables.append(variable)
            outer = self.outer_graph
            if isinstance(outer, FuncGraph):
                outer.watch_variable(variable)

    def forget_variables(self, variables: Sequence[Any]) -> None:
        """Takes back that the body uses these variables: they are its arguments."""
        gone = {id(v) for v in variables}
        self.variables = [v for v in self.variables if id(v) not in gone]
        self._watched = {i: v for i, v in self._watched.items() if i not in gone}

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable ones of `variables`."""
        return [v for v in self.variables if getattr(v, "trainable", False)]

    @property
    def structured_input_spec(self) -> Any:
        """The signature the body was traced with."""
        return self.structured_input_signature

    def __str__(self) -> str:
        return f"FuncGraph(name={self.name}, id={id(self)})"

    __repr__ = __str__


def _inaccessible(message: str) -> Exception:
    return errors.InaccessibleTensorError(message)


def _handle_data(tensor: Tensor) -> Any:
    if isinstance(tensor, EagerTensor):
        cell = getattr(tensor._array, "resource", None)
        return (getattr(cell, "dtype", None), getattr(cell, "dims", None))
    return getattr(tensor, "_handle_data", None)


def _capture_name(tensor: Tensor) -> str:
    if isinstance(tensor, SymbolicTensor):
        return str(tensor.op.name.rpartition("/")[2])
    return "captured"


class _EffectOrder:
    """The last reads and writes of each resource, as control inputs of what comes next."""

    def __init__(self) -> None:
        self._writes: dict[Any, Operation] = {}
        self._reads: dict[Any, list[Operation]] = {}
        self._effects: list[Operation] = []

    def add(self, op: Operation) -> None:
        """Orders a new operation after the effects it depends on."""
        if op.op_def.name in CHECKS:
            self._effects.append(op)
            return
        touched = effects_of(op)
        if touched is None:
            return
        before: dict[Operation, None] = {}
        for key, writes in touched:
            if key in self._writes:
                before[self._writes[key]] = None
            if writes:
                before.update(dict.fromkeys(self._reads.get(key, ())))
        for key, writes in touched:
            if writes:
                self._writes[key] = op
                self._reads[key] = []
            else:
                self._reads.setdefault(key, []).append(op)
        waits = [b for b in before if b is not op and all(b is not i.op for i in op.inputs)]
        if waits:
            op._control_inputs = tuple(dict.fromkeys((*op._control_inputs, *waits)))
        if any(writes for _, writes in touched):
            self._effects.append(op)

    def must_run(self) -> list[Operation]:
        """The operations with effects."""
        return list(self._effects)


GLOBAL_EFFECT = "<global>"


def effects_of(op: Operation) -> list[tuple[Any, bool]] | None:
    """(key, writes) per resource that a stateful operation touches; None: no effect to see."""
    definition = op.op_def
    touched: list[tuple[Any, bool]] = []
    counts = op.input_counts or (1,) * len(definition.inputs)
    effects = definition.effects_at(counts, op.attrs)
    for position, tensor in enumerate(op.inputs):
        if position in effects:
            touched.append((id(handle_of(tensor)), "w" in effects[position]))
        elif tensor.dtype is dt.resource and op.type != "Identity":
            touched.append((id(handle_of(tensor)), True))
    if definition.calls and any(body.orders_all for body in bodies_of(op.attrs)):
        touched.append((GLOBAL_EFFECT, True))
    if touched or (definition.calls and definition.outputs):  # without any, its effects are its own
        return touched
    if definition.step_input is not None or not definition.stateful or definition.name in UNORDERED:
        return None
    return [(GLOBAL_EFFECT, True)]


def handle_of(tensor: Any) -> Any:
    """The tensor itself, or the handle that identities passed on to it."""
    while tensor.dtype is dt.resource and tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def bodies_of(attrs: dict[str, Any]) -> list[Any]:
    """The bodies that attributes of an operation name."""
    found: list[Any] = []
    for value in attrs.values():
        items = value if isinstance(value, tuple) else (value,)
        found += [item for item in items if hasattr(item, "orders_all")]
    return found


def holds_any(type_name: str, attrs: dict[str, Any], types: frozenset[str]) -> bool:
    """Whether an operation, or one in the bodies that it calls, is of one of these types."""
    return type_name in types or any(not types.isdisjoint(body.types) for body in bodies_of(attrs))


UNORDERED = frozenset({"Placeholder", "VarHandleOp", "VarIsInitializedOp"})
CHECKS = frozenset({"CheckNumerics", "CheckNumericsV2"})  # must run, and change nothing: any order


def current_func_graph() -> FuncGraph | None:
    """The function body being built on this thread, or None."""
    graph = context.state.graph
    return graph if isinstance(graph, FuncGraph) else None


__all__ = ["FuncGraph", "current_func_graph", "effects_of", "get_default_graph", "handle_of"]
