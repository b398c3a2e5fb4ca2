"""`tf.autograph`: converted functions and their source, and what conversion says about itself."""

import contextlib
import textwrap
from collections.abc import Callable
from typing import Any

from penstock.core.lazy import malt
from penstock.tracing.autograph import calls, status
from penstock.tracing.autograph.convert import NotConverted
from penstock.tracing.autograph.options import library_options
from penstock.tracing.autograph.values import at


def to_graph(
    entity: Callable[..., Any],
    recursive: bool = True,
    experimental_optional_features: Any = None,
) -> Callable[..., Any]:
    """The converted function behind `tf.function`, without a graph of its own.

    Args:
      entity: a function or method with source code; a method becomes a function of `self`.
      recursive: whether what it calls is converted too.
      experimental_optional_features: a `tf.autograph.experimental.Feature`, or a tuple of them.

    Returns:
      A function with the signature of `entity`.

    Raises:
      ConversionError: `entity` is no Python function, or its source is not accessible or not
        supported.

    Example:
      >>> import penstock as tf
      >>> def double_if_positive(x):
      ...     if x > 0:
      ...         x = x + x
      ...     return x
      >>> int(tf.autograph.to_graph(double_if_positive)(tf.constant(2)))
      4
    """
    function = _function(entity)
    options = library_options(experimental_optional_features, True, recursive)
    with _conversion_errors(entity):
        return status.artifact(calls.converter().convert(function, options))  # type: ignore[no-any-return]


def to_code(
    entity: Callable[..., Any],
    recursive: bool = True,
    experimental_optional_features: Any = None,
) -> str:
    """The source text that `entity` is converted to.

    Args:
      entity: a function or method with source code.
      recursive: whether what it calls would be converted too.
      experimental_optional_features: a `tf.autograph.experimental.Feature`, or a tuple of them.

    Raises:
      ConversionError: `entity` is no Python function, or its source is not accessible or not
        supported.
    """
    function = _function(entity)
    options = library_options(experimental_optional_features, True, recursive)
    with _conversion_errors(entity):
        return textwrap.dedent(calls.converter().source(function, options))


def to_graph_v1(
    entity: Callable[..., Any],
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    experimental_optional_features: Any = None,
) -> Callable[..., Any]:
    """`to_graph`; `arg_values` and `arg_types` are accepted and not used."""
    return to_graph(entity, recursive, experimental_optional_features)


def to_code_v1(
    entity: Callable[..., Any],
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    indentation: str = "  ",
    experimental_optional_features: Any = None,
) -> str:
    """`to_code`; `arg_values`, `arg_types` and `indentation` are accepted and not used."""
    return to_code(entity, recursive, experimental_optional_features)


def _function(entity: Any) -> Any:
    function = getattr(entity, "__func__", entity)
    if not hasattr(function, "__code__"):
        raise malt.impl.api.ConversionError(
            f"Cannot apply autograph to {entity!r}{at()}: expected a function that exposes a"
            f" __code__ object, got {type(entity).__name__}. If this is a @tf.function, try passing"
            " f.python_function instead."
        )
    return function


@contextlib.contextmanager
def _conversion_errors(entity: Any) -> Any:
    try:
        yield
    except (NotConverted, malt.pyct.errors.PyCTError) as problem:
        raise malt.impl.api.ConversionError(
            f"converting {entity}{at()}: expected a function that conversion supports, got"
            f" one that it does not: {problem}"
        ) from None


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Sets how much conversion logs: 0 warnings only, 1 and more also what is converted.

    Args:
      level: the level; wins over the environment variable AUTOGRAPH_VERBOSITY.
      alsologtostdout: whether messages also go to standard output.
    """
    calls.verbosity.level, calls.verbosity.to_stdout = level, alsologtostdout


def trace(*args: Any) -> None:
    """Prints its arguments while a function is traced.

    Args:
      *args: what to print.
    """
    print(*args)


class ControlStatus:
    """Whether conversion is on, at one place in the program."""

    def __init__(self, value: status.Status) -> None:
        self.status = value


def control_status_ctx() -> ControlStatus:
    """Whether conversion is on here, for `tf_convert`."""
    return ControlStatus(status.current())


def tf_convert(
    f: Callable[..., Any],
    ctx: ControlStatus,
    convert_by_default: bool = True,
    user_requested: bool = False,
) -> Callable[..., Any]:
    """A function that does what `f` does, converted if `ctx` was taken where conversion is on.

    Args:
      f: a function of the user's.
      ctx: what `control_status_ctx` returned.
      convert_by_default: whether to convert where nothing was said.
      user_requested: whether `f` is converted even if its package usually is not.
    """
    if status.is_artifact(f):
        return f
    if ctx.status is status.Status.DISABLED:
        return status.do_not_convert(f)
    if ctx.status is status.Status.UNSPECIFIED and not convert_by_default:
        return status.unspecified(f)
    return calls.converting(f, user_requested)
