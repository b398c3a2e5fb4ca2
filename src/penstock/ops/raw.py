"""`tf.raw_ops`: a function for every operation that is known, generated from its definition.

All parameters are keywords: inputs first, then attributes with their defaults, then `name`.
"""

import functools
import inspect
import keyword
from collections.abc import Callable
from typing import Any

from penstock.core import attributes, op_def
from penstock.core.build_info import GRAPH_DEF_VERSION
from penstock.core.execute import execute
from penstock.core.op_def import REQUIRED, AttrDef, OpDef
from penstock.graph.superseded import SUPERSEDED, definition_in_place
from penstock.ops.composing import result_type

ORDERS = 64  # of names in calls that are remembered, for each operation


def names() -> list[str]:
    """The operations that have a raw function."""
    op_def.load_all()
    return sorted(op_def.registered() | op_def.unserved())


@functools.cache
def function(name: str) -> Callable[..., Any]:
    """The raw function of an operation.

    Raises:
      AttributeError: no such operation is registered.
    """
    op = op_def.find(name)
    if op is None:
        op_def.load_all()
        op = op_def.find(name)
    if op is None and name in SUPERSEDED:
        return functools.partial(_removed, name)
    if op is None:
        raise AttributeError(
            f"module 'penstock.raw_ops' has no attribute {name!r}: no operation of that name is"
            " registered"
        )
    return _make(op)


def _removed(name: str, **arguments: Any) -> Any:
    """Refuses an operation that GraphDefs of today may not hold."""
    definition_in_place(name, GRAPH_DEF_VERSION)


# Parameters that TensorFlow's raw functions call otherwise than the definition does.
_AXIS_OF_REDUCTION = {"reduction_indices": "axis"}
RENAMED: dict[str, dict[str, str]] = {
    **dict.fromkeys(("All", "Any", "EuclideanNorm", "Max", "Mean"), _AXIS_OF_REDUCTION),
    **dict.fromkeys(("Min", "Prod", "Sum"), _AXIS_OF_REDUCTION),
    "ExpandDims": {"dim": "axis"},
    "Select": {"t": "x", "e": "y"},
    "Split": {"split_dim": "axis"},
    "SplitV": {"split_dim": "axis"},
    "Squeeze": {"squeeze_dims": "axis"},
    "Where": {"input": "condition"},
}


def _make(op: OpDef) -> Callable[..., Any]:
    inferred = {n for a in op.inputs for n in (a.type_attr, a.number_attr, a.type_list_attr) if n}
    attrs = {n: a for n, a in op.attrs.items() if n not in inferred}
    inputs = {a.name: _parameter(op, a.name) for a in op.inputs}
    named_attrs = {n: _parameter(op, n) for n in attrs}
    signature = _signature(inputs, attrs, named_attrs)
    # To the table of prepared calls 1 is True: a number for a bool must be refused before.
    flags = {n for n, a in attrs.items() if a.kind == "bool"}
    parameters = list(inputs.values())
    plain = _defaults(attrs)
    # None is a shape, and is refused where there is no default; elsewhere it is the default.
    no_default = {n for n, a in attrs.items() if a.kind == "shape" or a.default is REQUIRED}
    result = result_type(op) if len(op.outputs) > 1 else None
    # By the names that a call gives: the attributes among them, and the others with defaults.
    known: dict[tuple[str, ...], tuple[list[tuple[str, str]], dict[str, Any]]] = {}

    def split(given: tuple[str, ...]) -> tuple[list[tuple[str, str]], dict[str, Any]]:
        signature.bind(**dict.fromkeys(given))  # says what is lacking, or unknown
        chosen = [(n, p) for n, p in named_attrs.items() if p in given]
        names = {n for n, _ in chosen}
        return chosen, {n: v for n, v in plain.items() if n not in names}

    def raw(*positional: Any, **arguments: Any) -> Any:
        if positional:
            raise TypeError(
                f"{op.name} only takes keyword args (possible keys: {list(signature.parameters)})."
                " Please pass these args as kwargs instead."
            )
        given = tuple(arguments)
        found = known.get(given)
        if found is None:
            if len(known) >= ORDERS:
                known.clear()
            found = known[given] = split(given)
        chosen, values = found
        if chosen:
            values = {**values}
            for n, parameter in chosen:
                value = arguments[parameter]
                if value is None and n not in no_default:
                    continue
                if n in flags and value.__class__ is not bool:
                    attributes.canonical(op, attrs[n], value)
                values[n] = value
        taken = [arguments[parameter] for parameter in parameters]
        made = execute(op, taken, values, arguments.get("name"))
        return result(*made) if result is not None else made

    raw.__name__ = raw.__qualname__ = op.name
    raw.__signature__ = signature  # type: ignore[attr-defined]
    raw.__doc__ = _doc(op, attrs, inputs, named_attrs)
    raw.__module__ = "penstock.raw_ops"
    return raw


def _defaults(attrs: dict[str, AttrDef]) -> dict[str, Any]:
    """What attributes are where a call gives none."""
    shown = {n: _shown_default(a) for n, a in attrs.items() if a.default is not REQUIRED}
    return {n: v for n, v in shown.items() if v is not None or attrs[n].kind == "shape"}


def _parameter(op: OpDef, name: str) -> str:
    """What the raw function calls an input or attribute."""
    name = RENAMED.get(op.name, {}).get(name, name)
    return f"{name}_" if keyword.iskeyword(name) else name


def _signature(
    inputs: dict[str, str], attrs: dict[str, AttrDef], named_attrs: dict[str, str]
) -> inspect.Signature:
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(p, kind) for p in inputs.values()]
    required = [n for n, a in attrs.items() if a.default is REQUIRED]
    optional = [n for n, a in attrs.items() if a.default is not REQUIRED]
    parameters += [inspect.Parameter(named_attrs[n], kind) for n in required]
    parameters += [
        inspect.Parameter(named_attrs[n], kind, default=_shown_default(attrs[n])) for n in optional
    ]
    parameters.append(inspect.Parameter("name", kind, default=None))
    return inspect.Signature(parameters)


def _shown_default(attr: AttrDef) -> Any:
    return list(attr.default) if attr.is_list else attr.default


def _doc(
    op: OpDef, attrs: dict[str, AttrDef], inputs: dict[str, str], named_attrs: dict[str, str]
) -> str:
    lines = [op.doc or op.name, "", "Args:"]
    lines += [f"  {inputs[a.name]}: {_arg_text(a)}." for a in op.inputs]
    lines += [
        f"  {named_attrs[n]}: attribute of kind {a.kind}{_default_text(a)}."
        for n, a in attrs.items()
    ]
    lines += ["  name: the name of the operation in a graph.", "", "Returns:"]
    lines += [f"  {a.name}: {_arg_text(a)}." for a in op.outputs] or [
        "  The operation in a graph, None eagerly."
    ]
    return "\n".join(lines)


def _default_text(attr: Any) -> str:
    return "" if attr.default is REQUIRED else f", {attr.default!r} by default"


def _arg_text(arg: Any) -> str:
    kind = (
        arg.dtype.name if arg.dtype is not None else arg.type_attr or f"types {arg.type_list_attr}"
    )
    return (
        f"list of {arg.number_attr} tensors of type {kind}"
        if arg.number_attr
        else f"tensor of type {kind}"
    )
