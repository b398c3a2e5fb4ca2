"""Calls in converted code: what is called is converted too, unless there is a reason not to.

Not converted are: classes, generators and coroutines, functions of this package, of Python's
library and of others that do not hold code for graphs, functions whose source cannot be read, and
what the user asked to leave alone. What cannot be converted runs as it is, with a warning.
"""

import dataclasses
import functools
import inspect
import os
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

from penstock.config.logging import get_logger
from penstock.core.lazy import malt
from penstock.core.tensor import Tensor
from penstock.core.user_code import set_converter
from penstock.ops.variables import Variable
from penstock.tracing.autograph import builtins, status
from penstock.tracing.autograph.convert import Converter, NotConverted
from penstock.tracing.autograph.namespace import FunctionScope, operators
from penstock.tracing.autograph.options import DIRECTIVES, library_options
from penstock.tracing.autograph.scan import Scanner

_OURS = "penstock"
_PLAIN_PACKAGES = frozenset(sys.stdlib_module_names) | {
    *("absl", "hypothesis", "jax", "jaxlib", "keras", "malt", "matplotlib", "ml_dtypes", "numpy"),
    *("pandas", _OURS, "PIL", "pytest", "_pytest", "scipy", "tensorflow"),
    *("tensorflow_probability", "tf_keras", "wrapt"),  # written for graphs, as TensorFlow says
}
_NOT_FUNCTIONS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_FRAME_BUILTINS = {
    super: "super_in_original_context",
    eval: "eval_in_original_context",
    globals: "globals_in_original_context",
    locals: "locals_in_original_context",
}


def converted_call(
    f: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    caller_fn_scope: FunctionScope | None = None,
    options: Any = None,
) -> Any:
    """`f(*args, **kwargs)`, with `f` converted if it should be.

    Args:
      f: what is called.
      args: its positional arguments.
      kwargs: its keyword arguments, or None.
      caller_fn_scope: the scope of the function that calls.
      options: how to convert; those of the scope when not given.
    """
    kwargs = kwargs or {}
    if type(f) in (types.BuiltinFunctionType, type):
        if f in builtins.OVERLOADS and status.current() is not status.Status.DISABLED:
            return _overloaded(f, args, kwargs, options or caller_fn_scope.callopts)  # type: ignore[union-attr]
        if f in _FRAME_BUILTINS:
            return _in_frame(f, args, caller_fn_scope)
        return f(*args, **kwargs)
    if status.current() is status.Status.DISABLED or status.is_artifact(f):
        return f(*args, **kwargs)
    if isinstance(f, functools.partial):
        joined = {**f.keywords, **kwargs}
        return converted_call(f.func, (*f.args, *args), joined, caller_fn_scope, options)
    options = options or caller_fn_scope.callopts  # type: ignore[union-attr]
    target, target_args = _target(f, args)
    if target is None or not options.internal_convert_user_code:
        return f(*args, **kwargs)
    if not options.user_requested and _is_plain(target):
        return f(*args, **kwargs)
    if target.__code__.co_flags & _NOT_FUNCTIONS or target.__code__.co_filename == "<string>":
        return f(*args, **kwargs)
    if _scanner.is_plain(target, _our_parameters(target, target_args)):
        return f(*args, **kwargs)
    try:
        verbosity.log(1, "Converted call: %s", f)
        converted = converter().convert(target, options)
    except NotConverted as problem:
        _warn(f, problem)
        return f(*args, **kwargs)
    return converted(*target_args, **kwargs)


def _overloaded(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Any) -> Any:
    if f is print and not options.uses(malt.core.converter.Feature.BUILTIN_FUNCTIONS):
        return f(*args, **kwargs)
    return builtins.OVERLOADS[f](*args, **kwargs)


def _in_frame(f: Any, args: tuple[Any, ...], scope: FunctionScope | None) -> Any:
    """Built-ins that look at the frame of their caller: they are given the user's."""
    find = getattr(malt.operators.py_builtins, _FRAME_BUILTINS[f])
    return find(f, args, scope) if f in (super, eval) else find(scope)


def _target(f: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The function with code behind a callable, and its arguments; None when there is none."""
    if isinstance(f, types.MethodType):
        target, args = f.__func__, (f.__self__, *args)
    elif isinstance(f, types.FunctionType):
        target = f
    elif isinstance(f, type):
        return None, args
    else:
        target, args = type(f).__call__, (f, *args)
    return (target if isinstance(target, types.FunctionType) else None), args


def _is_plain(target: types.FunctionType) -> bool:
    if status.is_artifact(target):
        return True
    return _package(target) in _PLAIN_PACKAGES


def _package(target: types.FunctionType) -> str:
    """The package that a function is of; functions made from text have only `__module__`."""
    if target.__code__.co_filename.startswith("<doctest "):
        return ""  # the examples of our docstrings are users' code
    module = target.__globals__.get("__name__") or target.__module__ or ""
    return module.partition(".")[0]


_scanner = Scanner(_is_plain, builtins.OVERLOADS)


def _our_parameters(target: types.FunctionType, args: tuple[Any, ...]) -> list[str]:
    """The parameters that are given tensors: their methods need no conversion."""
    named = target.__code__.co_varnames[: target.__code__.co_argcount]
    return [n for n, v in zip(named, args, strict=False) if isinstance(v, (Tensor, Variable))]


@dataclasses.dataclass(slots=True)
class _Verbosity:
    """How much is logged; None: what the environment variable AUTOGRAPH_VERBOSITY says."""

    level: int | None = None
    to_stdout: bool = False

    def log(self, level: int, text: str, *values: Any) -> None:
        """Logs a message of this level."""
        wanted = self.level
        if wanted is None:
            wanted = int(os.environ.get("AUTOGRAPH_VERBOSITY") or 0)
        if wanted >= level:
            get_logger().info(text, *values)
            if self.to_stdout:
                print(text % values)


verbosity = _Verbosity()
_warned: weakref.WeakSet[Any] = weakref.WeakSet()  # code objects


def _warn(f: Any, problem: Exception) -> None:
    code = getattr(_target(f, ())[0], "__code__", None)
    if code in _warned:
        return
    if code is not None:
        _warned.add(code)
    get_logger().warning(
        "AutoGraph could not transform %s and will run it as-is.\nCause: %s\nTo silence this"
        " warning, decorate the function with @tf.autograph.experimental.do_not_convert",
        str(f),  # a record of the log would keep the function
        str(problem),
    )


@functools.cache
def converter() -> Converter:
    """The one converter, whose code calls our operators."""
    return Converter(operators(converted_call), dict(DIRECTIVES()))


def run(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    features: Any = None,
) -> Any:
    """Calls a function that the user asked to convert.

    Args:
      function: the function.
      args: its positional arguments.
      kwargs: its keyword arguments.
      features: optional features, beside those always on.
    """
    target, given = _target(function, args)
    if (
        features is None
        and target is not None
        and (_package(target) == _OURS or _scanner.is_plain(target, _our_parameters(target, given)))
    ):
        with status.scope(status.Status.ENABLED):  # for functions that it hands to ours
            return function(*args, **kwargs)
    asked = library_options(features, user_requested=True)
    with status.scope(status.Status.ENABLED):
        return converted_call(function, args, kwargs, options=asked)


def converting(function: Callable[..., Any], user_requested: bool = False) -> Callable[..., Any]:
    """A function that converts `function` when it is called."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        asked = library_options(None, user_requested)
        with status.scope(status.Status.ENABLED):
            return converted_call(function, args, kwargs, options=asked)

    if inspect.isfunction(function) or inspect.ismethod(function):
        functools.update_wrapper(wrapper, function)
    return status.artifact(wrapper)  # type: ignore[no-any-return]


def _as_called_here(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that the user hands to one of ours: converted where the caller is."""
    if status.current() is not status.Status.ENABLED or status.is_artifact(function):
        return function
    return converting(function)


set_converter(_as_called_here)

__all__ = ["converted_call", "converter", "converting", "run", "verbosity"]
