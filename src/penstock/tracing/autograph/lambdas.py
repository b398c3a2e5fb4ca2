"""Which of several lambda expressions on a line a function is.

A code object knows the columns of its instructions (from Python 3.11 on), and so which expression
it was compiled from. `alone` gives the same function as if that expression stood in a file of its
own, where the library that converts finds no other.
"""

import ast
import contextlib
import inspect
import itertools
import linecache
import types
from collections.abc import Iterator
from typing import Any

Span = tuple[int, int, int, int]  # first line, first column, last line, last column

_numbers = itertools.count()


@contextlib.contextmanager
def alone(function: types.FunctionType) -> Iterator[types.FunctionType]:
    """A lambda with a source of its own while the context lasts; itself where that is not known."""
    source = "".join(linecache.getlines(function.__code__.co_filename, function.__globals__))
    node = _expression(function.__code__, source)
    text = None if node is None else ast.get_source_segment(source, node)
    if node is None or text is None:
        yield function
        return
    name = f"<lambda {next(_numbers)}>"
    # In parentheses, and in the user's lines: these are what tracebacks will show.
    lines = "\n" * (node.lineno - 1) + f"({text})\n"
    linecache.cache[name] = (len(lines), None, lines.splitlines(keepends=True), name)
    try:
        yield _in_file(function, name)
    finally:
        del linecache.cache[name]


def _in_file(function: types.FunctionType, name: str) -> types.FunctionType:
    made = types.FunctionType(
        function.__code__.replace(co_filename=name),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__module__ = function.__module__
    return made


def _expression(code: types.CodeType, source: str) -> ast.Lambda | None:
    """The one expression that the code was compiled from; None when that cannot be told."""
    spans = _spans(code)
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    found = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.Lambda)
        and _parameters(n) == code.co_varnames[: len(_parameters(n))]
        and spans
        and all(_holds(n.body, s) for s in spans)
    ]
    return min(found, key=_size, default=None)


def _spans(code: types.CodeType) -> list[Span]:
    """Where the instructions of a code object stand in its file."""
    return [
        (line, column, last_line, last_column)
        for line, last_line, column, last_column in code.co_positions()
        if line is not None and last_line is not None and column is not None and last_column
    ]


def _parameters(node: ast.Lambda) -> tuple[str, ...]:
    a = node.args
    return tuple(p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs))


def _holds(node: ast.expr, span: Span) -> bool:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return first <= span[:2] and span[2:] <= last


def _size(node: ast.Lambda) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno - node.lineno, node.end_col_offset - node.col_offset


def is_lambda(function: Any) -> bool:
    """Whether a function was written as a lambda expression."""
    return inspect.isfunction(function) and function.__name__ == "<lambda>"
