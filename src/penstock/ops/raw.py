"""`tf.raw_ops`: a function for every registered operation, generated from its definition.

All parameters are keywords: inputs first, then attributes with their defaults, then `name`.
"""

import collections
import functools
import inspect
import keyword
from collections.abc import Callable
from typing import Any

from penstock import ops
from penstock.core import op_def
from penstock.core.execute import execute
from penstock.core.op_def import REQUIRED, OpDef


def names() -> list[str]:
    """The operations that have a raw function."""
    ops.load_all()
    return sorted(op_def.registered())


@functools.cache
def function(name: str) -> Callable[..., Any]:
    """The raw function of an operation.

    Raises:
      AttributeError: no such operation is registered.
    """
    op = op_def.find(name)
    if op is None:
        ops.load_all()
        op = op_def.find(name)
    if op is None:
        raise AttributeError(
            f"module 'penstock.raw_ops' has no attribute {name!r}: no operation of that name is registered"
        )
    return _make(op)


def _make(op: OpDef) -> Callable[..., Any]:
    inferred = {n for a in op.inputs for n in (a.type_attr, a.number_attr, a.type_list_attr) if n}
    shown = {n: a for n, a in op.attrs.items() if n not in inferred}
    inputs = [a.name for a in op.inputs]
    result = (
        collections.namedtuple(op.name, [a.name for a in op.outputs])
        if len(op.outputs) > 1
        else None
    )  # type: ignore[misc]

    def raw(**arguments: Any) -> Any:
        name = arguments.pop("name", None)
        values = [arguments.pop(_plain(arguments, i)) for i in inputs]
        attrs = {_attr_name(shown, n): v for n, v in arguments.items()}
        made = execute(
            op,
            values,
            {n: v for n, v in attrs.items() if v is not None or shown[n].kind == "shape"},
            name,
        )
        return result(*made) if result is not None else made

    raw.__name__ = raw.__qualname__ = op.name
    signature = _signature(op, shown)

    @functools.wraps(raw)
    def checked(*positional: Any, **arguments: Any) -> Any:
        if positional:
            raise TypeError(
                f"{op.name} only takes keyword args (possible keys: {list(signature.parameters)}). Please pass these args as kwargs instead."
            )
        bound = signature.bind(**arguments)
        bound.apply_defaults()
        return raw(**{n: v for n, v in bound.arguments.items() if v is not _ABSENT})

    checked.__signature__ = signature  # type: ignore[attr-defined]
    checked.__doc__ = _doc(op, shown)
    checked.__module__ = "penstock.raw_ops"
    return checked


def _attr_name(shown: dict[str, Any], parameter: str) -> str:
    return parameter if parameter in shown else parameter.rstrip("_")


_ABSENT = None


def _plain(arguments: dict[str, Any], name: str) -> str:
    return name if name in arguments else f"{name}_"


def _parameter(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _signature(op: OpDef, shown: dict[str, Any]) -> inspect.Signature:
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(_parameter(a.name), kind) for a in op.inputs]
    required = [a for a in shown.values() if a.default is REQUIRED]
    optional = [a for a in shown.values() if a.default is not REQUIRED]
    parameters += [inspect.Parameter(_parameter(a.name), kind) for a in required]
    parameters += [
        inspect.Parameter(_parameter(a.name), kind, default=_shown_default(a)) for a in optional
    ]
    parameters.append(inspect.Parameter("name", kind, default=None))
    return inspect.Signature(parameters)


def _shown_default(attr: Any) -> Any:
    return list(attr.default) if attr.is_list else attr.default


def _doc(op: OpDef, shown: dict[str, Any]) -> str:
    lines = [op.doc or op.name, "", "Args:"]
    lines += [f"  {a.name}: {_arg_text(a)}." for a in op.inputs]
    lines += [f"  {a.name}: attribute of kind {a.kind}{_default_text(a)}." for a in shown.values()]
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
