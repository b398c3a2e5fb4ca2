"""Loops of a GraphDef in the form that TensorFlow's gradients need: with a counter.

A loop there has two loop variables before its own: how many rounds it has made, and how many it may
make at most (-1 for any). Ours need neither, so they are added to what is written: to the loop, to
copies of its condition and body, and to the numbers of its outputs wherever they are used.
"""

from collections.abc import Iterable
from typing import Any

from penstock import proto

_LOOPS = frozenset(["StatelessWhile", "While"])
_MARK = "_num_original_outputs"  # which TensorFlow gives its own loops
_INT32 = 3  # DT_INT32
_ADDED = 2  # loop variables


def add_counters(graph_def: Any) -> None:
    """Adds counters to all loops of a graph and its functions that have none."""
    library = {function.signature.name: function for function in graph_def.library.function}
    copies: dict[tuple[str, bool], Any] = {}
    scopes: list[Any] = [graph_def, *graph_def.library.function]
    while scopes:
        scope = scopes.pop()
        made = _rewrite(scope, library, copies)
        scopes += made
    graph_def.library.function.extend(copies.values())
    used = {name for scope in (graph_def, *graph_def.library.function) for name in _named(scope)}
    bodies = {name for name, _ in copies}
    kept = [f for f in graph_def.library.function if f.signature.name not in bodies - used]
    del graph_def.library.function[:]
    graph_def.library.function.extend(kept)


def _nodes(scope: Any) -> Any:
    return scope.node if isinstance(scope, proto.graph_pb2.GraphDef) else scope.node_def


def _named(scope: Any) -> Iterable[str]:
    """The functions that a graph or function names."""
    for node in _nodes(scope):
        for value in node.attr.values():
            if value.HasField("func"):
                yield value.func.name
            yield from (each.name for each in value.list.func)


def _rewrite(scope: Any, library: dict[str, Any], copies: dict[tuple[str, bool], Any]) -> list[Any]:
    """Rewrites the loops of one graph or function; returns the functions that it made."""
    loops = [n for n in _nodes(scope) if n.op in _LOOPS and _MARK not in n.attr]
    if not loops:
        return []
    names = {node.name for node in _nodes(scope)}
    before = len(copies)
    for node in loops:
        for attr, is_body in (("cond", False), ("body", True)):
            key = (node.attr[attr].func.name, is_body)
            if key not in copies:
                copies[key] = _counted(library[key[0]], is_body, library)
            node.attr[attr].func.name = copies[key].signature.name
        most = node.attr["_maximum_iterations"].i if "_maximum_iterations" in node.attr else -1
        counter = _add_const(scope, _free(f"{node.name}/loop_counter", names), 0)
        limit = _add_const(scope, _free(f"{node.name}/maximum_iterations", names), most)
        node.input[:] = [counter, limit, *node.input]
        node.attr["T"].list.type[:] = [_INT32, _INT32, *node.attr["T"].list.type]
        for attr in ("output_shapes", "_output_shapes"):
            if node.attr[attr].list.shape:
                _prepend_scalars(node.attr[attr].list.shape)
            else:
                del node.attr[attr]
        if "output_shapes" not in node.attr and "_output_shapes" in node.attr:
            node.attr["output_shapes"].CopyFrom(node.attr["_output_shapes"])  # others ask for it
        node.attr[_MARK].i = len(node.attr["T"].list.type)
    _renumber(scope, {node.name for node in loops})
    return list(copies.values())[before:]


def _free(name: str, names: set[str]) -> str:
    found, count = name, 0
    while found in names:
        count += 1
        found = f"{name}_{count}"
    names.add(found)
    return found


def _add_const(scope: Any, name: str, value: int) -> str:
    node = _nodes(scope).add(name=name, op="Const")
    node.attr["dtype"].type = _INT32
    node.attr["value"].tensor.dtype = _INT32
    node.attr["value"].tensor.tensor_shape.SetInParent()
    node.attr["value"].tensor.int_val.append(value)
    node.attr["_output_shapes"].list.shape.add()
    return name if isinstance(scope, proto.graph_pb2.GraphDef) else f"{name}:output:0"


def _renumber(scope: Any, loops: set[str]) -> None:
    """Moves all uses of loops' outputs by the number of variables added before them."""
    is_graph = isinstance(scope, proto.graph_pb2.GraphDef)
    for node in _nodes(scope):
        node.input[:] = [_moved(text, loops, is_graph) for text in node.input]
    if not is_graph:
        for name, text in dict(scope.ret).items():
            scope.ret[name] = _moved(text, loops, is_graph)


def _moved(text: str, loops: set[str], is_graph: bool) -> str:
    name, *rest = text.split(":")
    if name not in loops:
        return text
    if is_graph:
        return f"{name}:{int(rest[0] if rest else 0) + _ADDED}"
    return f"{name}:{rest[0]}:{int(rest[1]) + _ADDED}"


def _counted(function: Any, is_body: bool, library: dict[str, Any]) -> Any:
    """A copy of a condition or body that takes a counter, and a body that counts."""
    made = proto.function_pb2.FunctionDef()
    made.CopyFrom(function)
    signature = made.signature
    signature.name = _free(f"{signature.name}_counted", set(library))
    library[signature.name] = made
    names = {node.name for node in made.node_def} | {arg.name for arg in signature.input_arg}
    names |= {arg.name for arg in signature.output_arg}
    counter, limit = (_free(name, names) for name in ("loop_counter", "maximum_iterations"))
    _prepend(signature.input_arg, [counter, limit])
    shift = {
        k: _copy(v) for k, v in made.arg_attr.items()
    }  # attributes of arguments, by their numbers
    made.arg_attr.clear()
    for number, attributes in shift.items():
        made.arg_attr[number + _ADDED].CopyFrom(attributes)
    for number in range(_ADDED):
        made.arg_attr[number].attr["_output_shapes"].list.shape.add()
    if "_input_shapes" in made.attr:
        _prepend_scalars(made.attr["_input_shapes"].list.shape)
    if not is_body:
        return made
    one = _add_const(made, _free("loop_counter/one", names), 1)
    node: Any = made.node_def.add(name=_free("loop_counter/next", names), op="AddV2")
    node.input.extend([counter, one])
    node.attr["T"].type = _INT32
    node.attr["_output_shapes"].list.shape.add()
    outputs = [_free(f"{name}_out", names) for name in (counter, limit)]
    _prepend(signature.output_arg, outputs)
    made.ret[outputs[0]] = f"{node.name}:z:0"
    made.ret[outputs[1]] = limit
    return made


def _prepend(arguments: Any, names: list[str]) -> None:
    kept = [_copy(each) for each in arguments]
    del arguments[:]
    for name in names:
        arguments.add(name=name, type=_INT32)
    arguments.extend(kept)


def _prepend_scalars(shapes: Any) -> None:
    """Puts the shapes of the added loop variables before the others."""
    kept = [_copy(shape) for shape in shapes]
    del shapes[:]
    for _ in range(_ADDED):
        shapes.add()
    shapes.extend(kept)


def _copy(message: Any) -> Any:
    copied = type(message)()
    copied.CopyFrom(message)
    return copied
