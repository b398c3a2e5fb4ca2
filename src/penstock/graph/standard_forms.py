"""Functions of standard operations, in whose place files have calls: what readers can run.

An operation that exists here alone has a form: a Python function of its inputs and attributes that
does the same with operations that every reader of a GraphDef has. `standard_form` attaches it. It
is traced for the dtypes and shapes that an operation of a graph has, and the message of the graph
has a call of that function, marked with what it stands for (`penstock.graph.standard_ops`): read
here, the call is the operation again.

Forms are traced anew for each kind of use, and shared by the operations that are used alike. Their
names follow from what they do, so files of several programs fit into one graph.
"""

import functools
import hashlib
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock import proto
from penstock.core import context
from penstock.core.arrays import HashableArray
from penstock.core.convert import convert_to_tensor
from penstock.core.op_def import OpDef
from penstock.graph.body import CallBody
from penstock.graph.func_graph import FuncGraph
from penstock.graph.graph_def import functions_of, write_function
from penstock.graph.operation import Operation
from penstock.graph.standard_ops import STANDS_FOR
from penstock.graph.static_values import constant_value
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Form = Callable[..., Any]


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


_traced: weakref.WeakValueDictionary[_Use, CallBody] = weakref.WeakValueDictionary()


def standard_form(op: OpDef) -> Callable[[Form], Form]:
    """Decorator: `function(*inputs, *, attribute, ...)` makes of standard operations what `op` is.

    The inputs are tensors. One of the operation's `host_inputs` whose value is known comes as a
    NumPy array. The keyword-only parameters name the attributes that it wants. It returns a tensor
    for each output.
    """

    def attach(function: Form) -> Form:
        op.standard_form = functools.partial(_form_of, function)
        return function

    return attach


def _form_of(function: Form, op: Operation) -> CallBody:
    """The traced form of an operation; the operation keeps it."""
    use = _use_of(op)
    body = _traced.get(use)
    if body is None:
        body = _traced[use] = _trace(function, use)
    op.form = body
    return body


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


def _trace(function: Form, use: _Use) -> CallBody:
    code = function.__code__
    wanted = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    attrs = {key: value for key, value in use.attrs if key in wanted}
    with context.graph_scope(None):
        graph = FuncGraph(use.op.name)
    with context.graph_scope(graph), context.no_recording():
        given: list[Any] = []
        for arg, each in zip(use.op.inputs, use.inputs, strict=True):
            tensor = graph.add_input(each.dtype, each.dims, arg.name, user=False)
            given.append(tensor if each.value is None else each.value.array)
        found = function(*given, **attrs)
        results = found if isinstance(found, tuple | list) else [found]
        graph.outputs = [graph.as_tensor(convert_to_tensor(each)) for each in results]
        graph.finish()
    body = CallBody(use.op.name, graph)
    _name(body, use.op.name)
    return body


def _name(body: CallBody, op: str) -> None:
    """Names and marks a form and the functions in it."""
    callees, names = functions_of(body.graph.get_operations())
    nameless = {**dict.fromkeys(names, ""), id(body): ""}
    digest = hashlib.sha256()
    for each in (body, *callees):
        message = proto.function_pb2.FunctionDef()
        write_function(each, nameless, message)
        digest.update(message.SerializeToString(deterministic=True))
    body.name = f"__standard_{op.removeprefix('Penstock')}_{digest.hexdigest()[:12]}"
    for number, callee in enumerate(callees):
        callee.name = f"{body.name}_{number}"
    for each in (body, *callees):
        each.attributes[STANDS_FOR] = op
