"""Functions of standard operations, which files have in the place of operations of our own.

An operation that exists here alone has a form: a Python function of its inputs and attributes that
does the same with operations that every reader of a GraphDef has. `standard_form` attaches it. It
is traced for the dtypes and shapes that an operation of a graph has. A message of the graph has a
call of that function, marked with what it stands for, so that it is the operation again where it
is read; small forms are written in place (`penstock.graph.graph_def`).

Forms are traced once for each kind of use, and shared by the operations that are used alike. Their
names follow from what they do, so files of several programs fit into one graph.
"""

import hashlib
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock import proto
from penstock.core import context
from penstock.core.arrays import HashableArray
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.op_def import OpDef
from penstock.graph.body import CallBody
from penstock.graph.func_graph import FuncGraph
from penstock.graph.graph_def import functions_of, write_function
from penstock.graph.operation import Operation
from penstock.graph.standard_ops import FORMS
from penstock.graph.static_values import constant_value
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Form = Callable[..., Any]


def standard_form(
    op: OpDef, *, in_place: bool = False, when: Callable[[Operation], bool] | None = None
) -> Callable[[Form], Form]:
    """Decorator: `function(*inputs, *, attribute, ...)` makes of standard operations what `op` is.

    The inputs are tensors. One of the operation's `host_inputs` whose value is known comes as a
    NumPy array. The keyword-only parameters name the attributes that it wants. It returns a tensor
    for each output.

    Args:
      op: the operation, none of whose inputs is a list.
      in_place: whether its operations are written, rather than a call; of one output.
      when: whether an operation of a graph needs the form; all do when None.
    """

    def attach(function: Form) -> Form:
        op.standard_form = StandardForm(function, in_place, when)
        return function

    return attach


class _Input(NamedTuple):
    """What a form is traced for: the value is that of an input that kernels must know."""

    dtype: DType
    dims: Dims
    value: HashableArray | None


class _Use(NamedTuple):
    """How an operation is used: what a traced form depends on."""

    op: OpDef
    inputs: tuple[_Input, ...]
    attrs: tuple[tuple[str, Any], ...]


class StandardForm:
    """What files have in the place of an operation; see `standard_form` for the attributes."""

    __slots__ = ("_traced", "function", "in_place", "when")

    def __init__(
        self, function: Form, in_place: bool, when: Callable[[Operation], bool] | None
    ) -> None:
        self.function = function
        self.in_place = in_place
        self.when = when
        self._traced: weakref.WeakValueDictionary[_Use, CallBody] = weakref.WeakValueDictionary()

    def of(self, op: Operation) -> CallBody | None:
        """The form of an operation, which keeps it; None where it needs none."""
        if self.when is not None and not (self.when(op) and not _is_in_form(op)):
            return None
        use = _use_of(op)
        body = self._traced.get(use)
        if body is None:
            body = self._traced[use] = self._trace(use)
        op.form = body
        return body

    def _trace(self, use: _Use) -> CallBody:
        code = self.function.__code__
        wanted = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        attrs = {key: value for key, value in use.attrs if key in wanted}
        with context.graph_scope(None):
            graph = FuncGraph(FORMS + use.op.name)
        with context.graph_scope(graph), context.no_recording():
            given: list[Any] = []
            for arg, each in zip(use.op.inputs, use.inputs, strict=True):
                tensor = graph.add_input(each.dtype, each.dims, arg.name, user=False)
                given.append(tensor if each.value is None else each.value.array)
            found = self.function(*given, **attrs)
            results = found if isinstance(found, tuple | list) else [found]
            graph.outputs = [graph.as_tensor(convert_to_tensor(each)) for each in results]
            if self.in_place and len(graph.outputs[0].op.outputs) > 1:
                graph.outputs = [graph.as_tensor(execute("Identity", (graph.outputs[0],)))]
            graph.finish()
        body = CallBody(use.op.name, graph)
        _name(body, use.op.name)
        return body


def _is_in_form(op: Operation) -> bool:
    """Whether an operation is part of a form of its own kind."""
    return getattr(op.graph, "name", "") == FORMS + op.type


def _use_of(op: Operation) -> _Use:
    known = op.op_def.host_inputs
    names = [arg.name for arg in op.op_def.inputs]
    inputs = []
    for name, tensor in zip(names, op.inputs, strict=True):
        value = constant_value(tensor) if name in known else None
        held = None if value is None else HashableArray(value, tensor.dtype)
        inputs.append(_Input(tensor.dtype, tensor.dims, held))
    attrs = {name: value for name, value in op.attrs.items() if name in op.op_def.attrs}
    return _Use(op.op_def, tuple(inputs), tuple(sorted(attrs.items())))


def _name(body: CallBody, op: str) -> None:
    """Names a form and the functions in it."""
    callees, names = functions_of(body.graph.get_operations())
    nameless = {**dict.fromkeys(names, ""), id(body): ""}
    digest = hashlib.sha256()
    for each in (body, *callees):
        message = proto.function_pb2.FunctionDef()
        write_function(each, nameless, message)
        digest.update(message.SerializeToString(deterministic=True))
    body.name = f"{FORMS}{op.removeprefix('Penstock')}_{digest.hexdigest()[:12]}"
    for number, callee in enumerate(callees):
        callee.name = f"{body.name}_{number}"
