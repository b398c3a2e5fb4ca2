"""The source transformation: a function in, a function with our operators out.

The library `malt` rewrites the syntax tree. The result is compiled under the file name and the line
numbers of the user's source, so tracebacks, debuggers and the places that operations remember show
the user's code without any translation. What is made of a code object is kept as long as it lives;
a function only adds its globals, closure and defaults.
"""

import __future__

import ast
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from penstock.core.lazy import malt
from penstock.tracing.autograph import lambdas
from penstock.tracing.autograph.syntax import finish, prepare, repair_contexts

OPERATORS = "ag__"  # how the generated code calls the namespace of operators
_OUTER, _INNER = "ag__outer", "ag__inner"  # no names of the user's: they would hide globals
_FUTURE_FLAGS = sum(
    getattr(__future__, name).compiler_flag for name in __future__.all_feature_names
)


class Factory(NamedTuple):
    """Converted code, before it is bound to globals and a closure."""

    code: types.CodeType  # of a function: operators -> the converted function
    name: str


class NotConverted(Exception):
    """A function cannot be converted; the text says why."""


class Converter:
    """Converts functions for one namespace of operators. Thread-safe."""

    def __init__(self, operators: Any, directives: dict[Any, Any]) -> None:
        """`directives` maps our public directives to those that the library knows."""
        self._operators = operators
        self._directives = directives
        self._lock = threading.RLock()  # guards: _made, and the library, which is not thread-safe
        self._made: dict[int, tuple[weakref.ref[Any], dict[Any, Factory | str]]] = {}
        self._transpiler: Any = None

    def convert(self, function: Callable[..., Any], options: Any) -> Callable[..., Any]:
        """The converted function, with the signature, globals and closure of `function`.

        Raises:
          NotConverted: the source is not accessible or not supported.
        """
        made = self._factory(function, options)
        if isinstance(made, str):
            raise NotConverted(made)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        closure = tuple(cells[name] for name in made.code.co_freevars)
        outer = types.FunctionType(made.code, function.__globals__, made.name, (), closure)
        result: Any = outer(self._operators)
        result.__defaults__ = function.__defaults__
        result.__kwdefaults__ = function.__kwdefaults__
        result.__name__, result.__qualname__ = function.__name__, function.__qualname__
        result.__module__ = function.__module__
        return result  # type: ignore[no-any-return]

    def source(self, function: Callable[..., Any], options: Any) -> str:
        """The converted source text."""
        with self._lock:
            node, _ = self._transform(function, options)
            return str(malt.pyct.parser.unparse(node, include_encoding_marker=False)) + "\n"

    def _factory(self, function: Any, options: Any) -> Factory | str:
        code = function.__code__
        entry = self._made.get(id(code))
        if entry is not None and options in entry[1]:
            return entry[1][options]
        with self._lock:
            entry = self._made.get(id(code))
            if entry is None:
                self._made[id(code)] = entry = (self._watch(code), {})
            if options not in entry[1]:
                try:
                    entry[1][options] = self._make(function, options)
                except Exception as problem:  # the library fails in many ways: all mean "as it is"
                    entry[1][options] = str(problem) or type(problem).__name__
            return entry[1][options]

    def _watch(self, code: types.CodeType) -> weakref.ref[Any]:
        key, made = id(code), self._made
        return weakref.ref(code, lambda _: made.pop(key, None))

    def _make(self, function: Any, options: Any) -> Factory:
        node, name = self._transform(function, options)
        own_names = frozenset(_function_names(function.__code__))
        outer = _wrap(node, name, function.__code__.co_freevars)
        first = function.__code__.co_firstlineno
        repair_contexts(outer)
        _place(outer, first)
        module = ast.Module([outer], [])
        file = function.__code__.co_filename
        flags = function.__code__.co_flags & _FUTURE_FLAGS
        compiled = compile(module, file, "exec", flags, dont_inherit=True)
        inner = _code_named(compiled, _OUTER).co_consts
        factory = next(c for c in inner if isinstance(c, types.CodeType) and c.co_name == _INNER)
        consts = tuple(
            _rename(c, function.__name__, own_names) if isinstance(c, types.CodeType) else c
            for c in factory.co_consts
        )
        return Factory(factory.replace(co_consts=consts), name)

    def _transform(self, function: Any, options: Any) -> tuple[ast.stmt, str]:
        if self._transpiler is None:
            self._transpiler = self._new_transpiler()
        context = malt.core.converter.ProgramContext(options=options)
        transform = malt.pyct.transpiler.GenericTranspiler.transform_function
        try:
            node, info = transform(self._transpiler, function, context)
        except malt.pyct.errors.UnsupportedLanguageElementError:
            if not lambdas.is_lambda(function):
                raise
            with lambdas.alone(function) as single:
                node, info = transform(self._transpiler, single, context)
        name = info.info.name
        if isinstance(node, ast.Lambda):
            node = ast.Assign(targets=[ast.Name(name, ast.Store())], value=node)
        else:
            node.name = name
        return node, name

    def _new_transpiler(self) -> Any:
        directives = self._directives

        class Transpiler(malt.impl.api.PyToPy):  # type: ignore[misc]
            """The library's passes, after ours."""

            def get_transformed_name(self, node: ast.AST) -> str:
                # Not the function's own: the body of a method `slice` may name the builtin.
                return "tf__" + str(getattr(node, "name", "lam"))

            def transform_ast(self, node: ast.AST, ctx: Any) -> Any:
                node = prepare(node, ctx.info.namespace, directives)
                return finish(super().transform_ast(node, ctx), OPERATORS)

        return Transpiler()


def _wrap(node: ast.stmt, name: str, closure: tuple[str, ...]) -> ast.FunctionDef:
    """`def ag__outer(<closure>): def ag__inner(ag__): <node>; return <name>`."""
    inner = ast.FunctionDef(
        _INNER, _arguments((OPERATORS,)), [node, ast.Return(ast.Name(name, ast.Load()))], []
    )
    return ast.FunctionDef(_OUTER, _arguments(closure), [inner], [])


def _arguments(names: tuple[str, ...]) -> ast.arguments:
    return ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])


def _place(node: ast.AST, line: int) -> None:
    """Gives each node the line of the user's code that it comes from.

    An end on the next line keeps tracebacks from marking columns, which are not known.
    """
    origin = malt.pyct.anno.getanno(node, malt.pyct.anno.Basic.ORIGIN, default=None)
    if origin is not None:
        line = origin.loc.lineno
    if "lineno" in node._attributes:
        # The call of an attribute is placed at the attribute's last line.
        last = line if isinstance(node, ast.Attribute) else line + 1
        node.lineno, node.end_lineno = line, last  # type: ignore[attr-defined]
        node.col_offset, node.end_col_offset = 0, 10_000 * (last == line)  # type: ignore[attr-defined]
    for child in ast.iter_child_nodes(node):
        _place(child, line)


def _code_named(code: types.CodeType, name: str) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)


def _function_names(code: types.CodeType) -> Iterator[str]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const.co_name
            yield from _function_names(const)


def _rename(code: types.CodeType, name: str, own_names: frozenset[str]) -> types.CodeType:
    """Code that says it is the user's function, the parts that conversion made included."""
    consts = tuple(
        _rename(c, c.co_name if c.co_name in own_names else name, own_names)
        if isinstance(c, types.CodeType)
        else c
        for c in code.co_consts
    )
    return code.replace(co_name=name, co_qualname=name, co_consts=consts)
