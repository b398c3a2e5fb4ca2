"""Which functions need no conversion: reading them tells that it would change nothing.

A function is plain when it has no control flow, no `not`, and calls only what is known not to need
conversion: functions and classes of packages that are left alone, and other plain functions.
Loading the library that converts takes a tenth of a second, so functions that are only operations
start without it. What cannot be told is converted.
"""

import ast
import builtins
import inspect
import textwrap
import types
import weakref
from collections.abc import Callable, Collection
from typing import Any

_FLOW = (
    *(ast.If, ast.While, ast.For, ast.IfExp, ast.BoolOp, ast.Not, ast.Assert, ast.Match, ast.Try),
    *(ast.FunctionDef, ast.Lambda, ast.AsyncFunctionDef, ast.ClassDef, ast.NamedExpr, ast.Yield),
    *(ast.YieldFrom, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Delete),
)
_MISSING = object()
_MAX_DEPTH = 8


class Scanner:
    """Tells plain functions; thread-safe.

    Args:
      is_left_alone: whether a function is never converted, by the package that it is of.
      overloaded: built-in functions that conversion replaces.
    """

    def __init__(self, is_left_alone: Callable[[Any], bool], overloaded: Collection[Any]) -> None:
        self._is_left_alone = is_left_alone
        self._overloaded = overloaded
        self._known: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def is_plain(self, function: types.FunctionType, ours: Collection[str] = ()) -> bool:
        """Whether running `function` as it is does the same as converting it.

        Args:
          function: the function.
          ours: names of parameters whose values are objects of this package, such as tensors.
        """
        return self._is_plain(function, frozenset(ours), 0)

    def _is_plain(self, function: Any, ours: frozenset[str], depth: int) -> bool:
        if depth > _MAX_DEPTH or not isinstance(function, types.FunctionType):
            return False
        calls = self._calls(function)
        return calls is not None and all(
            self._harmless(_value(c, function), c, ours, depth) for c in calls
        )

    def _calls(self, function: types.FunctionType) -> list[ast.expr] | None:
        """What the function calls; None when it has control flow or no source."""
        found = self._known.get(function.__code__, _MISSING)
        if found is _MISSING:
            self._known[function.__code__] = found = _read(function)
        return found  # type: ignore[no-any-return]

    def _harmless(self, target: Any, node: ast.expr, ours: frozenset[str], depth: int) -> bool:
        if target is _MISSING:  # a method of something: of a tensor?
            return isinstance(node, ast.Attribute) and (
                isinstance(node.value, ast.Name) and node.value.id in ours
            )
        if isinstance(target, types.MethodType):
            target = target.__func__
        if isinstance(target, types.FunctionType):
            return self._is_left_alone(target) or self._is_plain(target, frozenset(), depth + 1)
        if isinstance(target, (type, types.BuiltinFunctionType, types.BuiltinMethodType)):
            return target not in self._overloaded
        call = type(target).__call__
        return isinstance(call, types.FunctionType) and self._is_left_alone(call)


def _read(function: types.FunctionType) -> list[ast.expr] | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        return None
    calls = []
    for statement in definition.body:
        for node in ast.walk(statement):
            if isinstance(node, _FLOW) or (isinstance(node, ast.Compare) and len(node.ops) > 1):
                return None
            if isinstance(node, ast.Call):
                calls.append(node.func)
    return calls


def _value(node: ast.expr, function: types.FunctionType) -> Any:
    """What a global or closure variable, or an attribute of such, stands for."""
    if isinstance(node, ast.Name):
        code = function.__code__
        if node.id in code.co_freevars and function.__closure__ is not None:
            cell = function.__closure__[code.co_freevars.index(node.id)]
            try:
                return cell.cell_contents
            except ValueError:
                return _MISSING
        if node.id in code.co_varnames or node.id in code.co_cellvars:
            return _MISSING
        return function.__globals__.get(node.id, getattr(builtins, node.id, _MISSING))
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, function)
        if isinstance(owner, types.ModuleType):
            return getattr(owner, node.attr, _MISSING)
        if owner is not _MISSING:
            return _method(owner, node.attr)
    return _MISSING


def _method(owner: Any, name: str) -> Any:
    """A method of an object, without running code of the object's class."""
    found = inspect.getattr_static(owner, name, _MISSING)
    return found if isinstance(found, types.FunctionType) else _MISSING
