"""Public operations on values that are no tensors: which function takes over, by class.

A class of values made of tensors (RaggedTensor, SparseTensor, a user's ExtensionType) registers
handlers for public functions. The public layer wraps each function once with `dispatching`; when a
call has an argument of such a class, at the top level or in a list, the handler runs instead of the
function. While no class is registered, or no argument is of one, a call pays one test.

Functions are named by key, `module.function` within `penstock.ops`, so that registering a handler
imports nothing.
"""

import functools
import inspect
import typing
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from penstock.core.context import at_home, state
from penstock.util.kinds import same_kind

PREFIX = "penstock.ops."
UNHANDLED = object()  # what a handler returns to leave the call to the next one

kinds: set[type] = set()  # the classes of which an argument means to look for a handler


class _Handler(NamedTuple):
    accepts: Callable[[tuple[Any, ...], dict[str, Any]], bool]
    run: Callable[..., Any]


class _Pattern(NamedTuple):
    """A handler for every function of a kind, such as the element-wise ones of one argument."""

    kind: str
    classes: tuple[Any, ...]  # one annotation for each of the leading arguments
    run: Callable[..., Any]


_known: dict[type, bool] = {}  # whether a class is a subclass of a kind
_handlers: dict[str, list[_Handler]] = {}
_patterns: list[_Pattern] = []
_kind_of: dict[str, str] = {}  # key -> "unary", "binary", "assert"
_wrapped: dict[Callable[..., Any], Callable[..., Any]] = {}
_promotion: Callable[..., Any] | None = None


def key_of(function: Callable[..., Any]) -> str:
    """The key of a function of `penstock.ops`, or of its public form."""
    function = inspect.unwrap(function)
    return f"{function.__module__.removeprefix(PREFIX)}.{function.__qualname__}"


def add_kinds(classes: Iterable[type]) -> None:
    """Says that arguments of these classes may have handlers."""
    kinds.update(classes)
    _known.clear()


def add_elementwise(kind: str, keys: Iterable[str]) -> None:
    """Lists functions that a handler for all element-wise ones of a kind may take over.

    Args:
      kind: "unary", "binary" or "assert".
      keys: the functions' keys.
    """
    for key in keys:
        _kind_of[key] = kind


def handler(key: str, *classes: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: `function` runs instead of `key` when an argument is of one of `classes`.

    It gets the arguments of the call as they came, and may return UNHANDLED.
    """
    add_kinds(classes)

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        def accepts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
            return any(isinstance(value, classes) for value in _values(args, kwargs))

        _handlers.setdefault(key, []).append(_Handler(accepts, function))
        return function

    return add


def add_signature_handler(
    key: str, accepts: Callable[[tuple[Any, ...], dict[str, Any]], bool], run: Callable[..., Any]
) -> None:
    """Registers `run` for the calls of `key` whose arguments `accepts` agrees to."""
    _handlers.setdefault(key, []).append(_Handler(accepts, run))


def add_pattern(kind: str, classes: tuple[Any, ...], run: Callable[..., Any]) -> None:
    """Registers `run(function, *leading)` for each element-wise function of a kind.

    Raises:
      ValueError: one is registered for the same classes.
    """
    for other in _patterns:
        if other.kind == kind and other.classes == classes:
            raise ValueError(
                f"{run} cannot be the handler of {kind} element-wise functions for"
                f" {_text(classes)}: {other.run} is. Take that one away first with"
                " tf.experimental.unregister_dispatch_for."
            )
    _patterns.append(_Pattern(kind, classes, run))


def _text(classes: tuple[Any, ...]) -> str:
    return ", ".join(str(c) for c in classes)


def remove(run: Callable[..., Any]) -> bool:
    """Takes a handler away everywhere; False when there was none."""
    found = False
    for handlers in _handlers.values():
        kept = [h for h in handlers if run not in (h.run, getattr(h.run, "__wrapped__", None))]
        found |= len(kept) < len(handlers)
        handlers[:] = kept
    kept_patterns = [p for p in _patterns if p.run is not run]
    found |= len(kept_patterns) < len(_patterns)
    _patterns[:] = kept_patterns
    return found


def _values(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterable[Any]:
    for value in (*args, *kwargs.values()):
        yield value
        if value.__class__ is list or value.__class__ is tuple:
            yield from value if same_kind(value) is None else value[:1]


def wanted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an argument, or an element of a list among them, is of a registered class."""
    for value in _values(args, kwargs):
        found = _known.get(value.__class__)
        if found is None:
            found = _known[value.__class__] = issubclass(value.__class__, tuple(kinds))
        if found:
            return True
    return False


def call(
    function: Callable[..., Any], key: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result of the handler that takes this call; UNHANDLED when none does."""
    for found in _handlers.get(key, ()):
        if found.accepts(args, kwargs):
            result = found.run(*args, **kwargs)
            if result is not UNHANDLED:
                return result
    kind = _kind_of.get(key)
    result = UNHANDLED if kind is None else _call_pattern(kind, function, args, kwargs)
    if result is UNHANDLED and _promotion is not None:
        return _promotion(function, key, args, kwargs)
    return result


def set_promotion(run: Callable[..., Any] | None) -> None:
    """Installs what every public function asks last, whatever its arguments are; None removes it.

    Args:
      run: `run(function, key, args, kwargs)`, which gives a result or UNHANDLED.
    """
    global _promotion
    _promotion = run
    (kinds.discard if run is None else kinds.add)(object)
    _known.clear()


def promoted(function: Callable[..., Any], value: Any) -> Any:
    """`function(value)`, or what promotion makes of the value, for calls that no user makes."""
    if _promotion is not None:
        result = _promotion(function, key_of(function), (value,), {})
        if result is not UNHANDLED:
            return result
    return function(value)


def _call_pattern(
    kind: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    patterns = [p for p in _patterns if p.kind == kind]
    if not patterns:
        return UNHANDLED
    leading, rest, named = _leading(function, 1 if kind == "unary" else 2, args, kwargs)
    for pattern in patterns:
        if len(leading) == len(pattern.classes) and all(map(matches, leading, pattern.classes)):
            call_on = function if not (rest or named) else _with(function, rest, named)
            result = pattern.run(call_on, *leading)
            if result is not UNHANDLED:
                return result
    return UNHANDLED


def _leading(
    function: Callable[..., Any], count: int, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], tuple[Any, ...], dict[str, Any]]:
    """The values of the first `count` parameters, and what else the call gave."""
    named = dict(kwargs)
    leading = list(args[:count])
    for parameter in list(inspect.signature(function).parameters)[len(leading) : count]:
        if parameter not in named:
            break
        leading.append(named.pop(parameter))
    return leading, args[count:], named


def _with(
    function: Callable[..., Any], rest: tuple[Any, ...], named: dict[str, Any]
) -> Callable[..., Any]:
    @functools.wraps(function)
    def applied(*leading: Any) -> Any:
        return function(*leading, *rest, **named)

    return applied


def matches(value: Any, annotation: Any) -> bool:
    """Whether `value` is what a class, a union of such, or `list[C]` describes."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is None:
        return isinstance(value, annotation)
    if origin in (list, tuple):
        return isinstance(value, (list, tuple)) and all(matches(v, arguments[0]) for v in value)
    return any(matches(value, a) for a in arguments)


def dispatches_itself(function: Callable[..., Any]) -> Callable[..., Any]:
    """Says that `function` asks `call` on its own: it is its own public form."""
    _wrapped[function] = function
    return function


def dispatching(function: Callable[..., Any], module: str, name: str) -> Callable[..., Any]:
    """The public form of `function`: a handler runs instead of it where one takes the arguments.

    What it makes goes to the graph of its arguments, where they are of one that is not the default.

    One function has one public form, under all its names; it is known, and pickled, by the first.
    It says the parameters of `function` to `inspect.getfullargspec` too, which follows no wrapper.

    Args:
      function: a function of `penstock.ops`.
      module: the public module it is wanted in.
      name: its name there.
    """
    found = _wrapped.get(function)
    if found is None:
        key = key_of(function)

        @functools.wraps(function)
        def public(*args: Any, **kwargs: Any) -> Any:
            graph = state.graph
            if graph is not None and graph.home_of((*args, *kwargs.values())) is not graph:
                with at_home(*args, *kwargs.values()):
                    return public(*args, **kwargs)
            if kinds and wanted(args, kwargs):
                result = call(public, key, args, kwargs)
                if result is not UNHANDLED:
                    return result
            return function(*args, **kwargs)

        form: Callable[..., Any] = public
        form.__module__, form.__qualname__ = module, name
        form.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        found = _wrapped[function] = form
    return found
