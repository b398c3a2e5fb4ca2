"""The namespace of operators that generated code uses, and the scope around each function."""

import functools
import types
from collections.abc import Callable
from typing import Any

from penstock.core.lazy import malt
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.tracing.autograph import conditional, lists, logic, loops, status, values


class FunctionScope:
    """What a converted function runs in.

    Attributes:
      name: a name that the function's frame holds the scope under.
      options: how the function was converted.
      callopts: how functions that it calls are converted.
    """

    __slots__ = ("_before", "callopts", "name", "options")

    def __init__(self, function_name: str, scope_name: str, options: Any) -> None:
        self.name = scope_name
        self.options = options
        self.callopts = _call_options(options)

    def __enter__(self) -> "FunctionScope":
        self._before = status.current()
        if self.options.user_requested:
            status.set_current(status.Status.ENABLED)
        return self

    def __exit__(self, *problem: Any) -> None:
        status.set_current(self._before)

    def ret(self, value: Any, did_return: Any) -> Any:
        """What the function returns.

        Raises:
          ValueError: whether it returned a value is known only when the graph runs.
        """
        if isinstance(value, values.UndefinedReturnValue):
            return None
        if isinstance(did_return, SymbolicTensor) and value is not None:
            raise ValueError(
                "the else branch must also have a return statement: expected a value to be returned"
                f" on every path, got none on some, decided at {did_return.op.location}. Add a"
                " return at the end of the function."
            )
        return value


@functools.cache
def _call_options(options: Any) -> Any:
    return options.call_options()


def with_function_scope(thunk: Callable[[Any], Any], scope_name: str, options: Any) -> Any:
    """The scope of a lambda."""
    with FunctionScope("lambda_", scope_name, options) as scope:
        return thunk(scope)


def operators(converted_call: Callable[..., Any]) -> types.SimpleNamespace:
    """The namespace of operators."""
    library = malt.core.converter
    return types.SimpleNamespace(
        ConversionOptions=functools.cache(library.ConversionOptions),
        Feature=library.Feature,
        FunctionScope=FunctionScope,
        STD=library.STANDARD_OPTIONS,
        Undefined=values.Undefined,
        UndefinedReturnValue=values.UndefinedReturnValue,
        and_=logic.and_,
        assert_stmt=logic.assert_stmt,
        autograph_artifact=status.artifact,
        converted_call=converted_call,
        eq=logic.eq,
        for_stmt=loops.for_stmt,
        if_exp=logic.if_exp,
        if_stmt=conditional.if_stmt,
        ld=values.ld,
        ldu=values.ldu,
        not_=logic.not_,
        not_eq=logic.not_eq,
        or_=logic.or_,
        while_stmt=loops.while_stmt,
        with_function_scope=with_function_scope,
        **lists.OPERATORS,
    )
