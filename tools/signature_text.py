"""Public objects as one line of text, so that two libraries' can be compared.

Shared by ``tools/tf_facts_signatures.py``, which records TensorFlow's, and by the test that
compares ours with them. A line is, by kind of object:

- a function: its parameters as Python writes them, ``(x, y, *, axis=None, name='a')``, without
  annotations. A default that is no literal is a name: ``tf.float32``, ``<function relu>``,
  ``<class Tensor>``, ``<Sentinel>`` (the class of an object);
- a class: ``class`` and the parameters of its constructor; its members have lines of their own;
- ``property``; ``message NAME`` and ``enum NAME`` for protocol buffers; ``= 1`` for a plain value;
  ``dtype float32``; ``instance NAME`` for any other object.
"""

from __future__ import annotations

import enum
import inspect
import numbers
from collections.abc import Callable, Collection, Iterator
from typing import Any

# methods that stand for syntax; others with two underscores are details
SYNTAX = frozenset(
    f"__{name}__"
    for name in (
        "abs add and array bool call contains delitem div divmod enter eq exit float floordiv ge "
        "getitem gt hash index int invert iter le len long lt matmul mod mul ne neg nonzero or pos "
        "pow radd rand rdiv rdivmod rfloordiv rmatmul rmod rmul ror rpow rsub rtruediv rxor "
        "setitem sub truediv xor"
    ).split()
)
# classes of Python's own, whose members are not a library's interface
_PYTHON = ("builtins", "enum", "typing", "abc", "collections.abc")
_PLAIN = (str, bytes, bool, int, float, complex, type(None))


def signature_text(function: Callable[..., Any], *, method: bool = False) -> str:
    """Return a function's parameters as text, without the first one for a method."""
    marks = inspect.Parameter
    parameters = list(inspect.signature(function).parameters.values())
    named = (marks.POSITIONAL_ONLY, marks.POSITIONAL_OR_KEYWORD)
    if method and parameters and parameters[0].kind in named:
        parameters = parameters[1:]
    shown: list[str] = []
    for index, parameter in enumerate(parameters):
        before = parameters[index - 1].kind if index else None
        if before == marks.POSITIONAL_ONLY != parameter.kind:
            shown.append("/")
        starred = (marks.VAR_POSITIONAL, marks.KEYWORD_ONLY)
        if parameter.kind == marks.KEYWORD_ONLY and before not in starred:
            shown.append("*")
        shown.append(_parameter(parameter))
    if parameters and parameters[-1].kind == marks.POSITIONAL_ONLY:
        shown.append("/")
    return f"({', '.join(shown)})"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    text = stars.get(parameter.kind, "") + parameter.name
    if parameter.default is not inspect.Parameter.empty:
        text += f"={default_text(parameter.default)}"
    return text


def default_text(value: Any) -> str:
    """Return a default value as text that does not depend on the run."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, _PLAIN) and type(value) in _PLAIN:
        return repr(value)
    if type(value) in (tuple, list):
        inside = ", ".join(map(default_text, value))
        comma = "," if type(value) is tuple and len(value) == 1 else ""
        return f"({inside}{comma})" if type(value) is tuple else f"[{inside}]"
    if type(value) is dict:
        items = (f"{default_text(k)}: {default_text(v)}" for k, v in value.items())
        return "{" + ", ".join(items) + "}"
    if type(value).__name__ == "DType":
        return f"tf.{value.name}"
    if isinstance(value, numbers.Number):
        return repr(value)
    if inspect.isclass(value):
        return f"<class {value.__name__}>"
    if callable(value) and hasattr(value, "__name__"):
        return f"<function {value.__name__}>"
    return f"<{type(value).__name__}>"


def object_text(value: Any) -> str:
    """Return the line of a public object; its members, if it is a class, are not in it."""
    if hasattr(value, "DESCRIPTOR"):
        kind = "message" if inspect.isclass(value) else "enum"
        return f"{kind} {value.DESCRIPTOR.name}"
    if inspect.isclass(value):
        return f"class {_constructor(value)}"
    if type(value).__name__ == "DType":
        return f"dtype {value.name}"
    if isinstance(value, (enum.Enum, *_PLAIN)) or type(value) in (tuple, list, dict):
        return f"= {default_text(value)}"
    if callable(value):
        return _or_unknown(value)
    return f"instance {type(value).__name__}"


def _constructor(cls: type) -> str:
    if issubclass(cls, enum.Enum):
        return "enum"
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return f"namedtuple ({', '.join(cls._fields)})"
    text = _or_unknown(cls)
    if text == "(*args, **kwargs)":  # what a metaclass shows; the constructor says more
        return _or_unknown(cls.__init__, method=True)
    return text


def _or_unknown(value: Any, method: bool = False) -> str:
    try:
        return signature_text(value, method=method)
    except (TypeError, ValueError):  # written in C without a signature
        return "(?)"


def member_texts(cls: type, inherited: Collection[type] = frozenset()) -> Iterator[tuple[str, str]]:
    """Yield (name, line) for the public members and the syntax methods that a class defines.

    What it has from one of ``inherited`` or from a class of Python's own is left out.
    """
    builtin = {name for base in cls.__mro__ if base.__module__ == "builtins" for name in dir(base)}
    for name in sorted(dir(cls)):
        if name.startswith("_") and name not in SYNTAX:
            continue
        definer = next((base for base in cls.__mro__ if name in vars(base)), None)
        if (
            definer is None
            or definer in inherited
            or definer.__module__ in ("builtins", "enum", "typing", "abc")
        ):
            continue
        raw = vars(definer)[name]
        if raw is None or (name in builtin and isinstance(raw, property)):
            continue
        yield name, member_text(raw)


def member_text(raw: Any) -> str:
    """Return the line of a class's member, as it stands in the class's ``vars``."""
    kinds = ("cached_property", "getset_descriptor", "member_descriptor", "_tuplegetter")
    if isinstance(raw, property) or type(raw).__name__ in kinds:
        return "property"
    if isinstance(raw, classmethod):
        return "classmethod " + _or_unknown(raw.__func__, method=True)
    if isinstance(raw, staticmethod):
        return "staticmethod " + _or_unknown(raw.__func__)
    if inspect.isclass(raw) or not callable(raw):
        return object_text(raw)
    return _or_unknown(raw, method=True)
