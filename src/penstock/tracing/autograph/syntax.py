"""What happens to the syntax tree before and after the library's passes."""

import ast
import re
import types
from typing import Any

from penstock.core.lazy import malt

_DIRECTIVE = "ag_directive_{}"


def prepare(node: ast.AST, namespace: dict[str, Any], directives: dict[Any, Any]) -> ast.AST:
    """Refuses what the library would get wrong and points our directives to the library's.

    Raises:
      UnsupportedLanguageElementError: the function uses `match`, or `:=` where it would assign in
        a function of the library's.
    """
    if isinstance(node, ast.FunctionDef):
        _drop_annotations(node)
    for child in ast.walk(node):
        if isinstance(child, ast.Match):
            raise malt.pyct.errors.UnsupportedLanguageElementError(
                "expected control flow by if, while or for, got a 'match' statement, which is not"
                " converted. Write it with if and elif, or move it to a function of Python values."
            )
        if _assigns_in_a_function(child):
            raise malt.pyct.errors.UnsupportedLanguageElementError(
                "expected ':=' where it is always evaluated once, got one in the condition of a"
                " while loop, in a comparison chain, or beside 'and', 'or' or 'if ... else', which"
                " is not converted. Assign on a line of its own."
            )
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Call):
            _point_directive(child.value, namespace, directives)
        if isinstance(child, ast.ExceptHandler) and child.name is not None:
            child.name = ast.copy_location(ast.Name(child.name, ast.Store()), child)  # type: ignore[assignment]
    return node


def _assigns_in_a_function(node: ast.AST) -> bool:
    """Whether a part of `node` that conversion makes a function of its own assigns by `:=`."""
    parts: list[ast.AST] = []
    if isinstance(node, ast.While):
        parts = [node.test]
    elif isinstance(node, (ast.BoolOp, ast.IfExp)) or (
        isinstance(node, ast.Compare) and len(node.ops) > 1
    ):
        parts = [node]
    return any(isinstance(child, ast.NamedExpr) for part in parts for child in ast.walk(part))


def finish(node: Any, operators: str) -> Any:
    """Does what the library left out, and undoes what `prepare` did for it.

    It reads the name of an exception as a node, and leaves a conditional expression that stands
    within another one as it is; `operators` is what the code calls the namespace of operators.
    """
    node = _Choices(operators).visit(node)
    for child in ast.walk(node):
        name: Any = child.name if isinstance(child, ast.ExceptHandler) else None
        if isinstance(name, ast.Name):
            child.name = name.id  # type: ignore[attr-defined]
    return node


class _Choices(ast.NodeTransformer):
    """Makes calls of the conditional expressions that are left."""

    def __init__(self, operators: str) -> None:
        self._operators = operators

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        read = rf"{self._operators}\.ldu?\((\w+)\)"
        shown = re.sub(read, r"\1", ast.unparse(node.test))
        self.generic_visit(node)
        function = ast.Attribute(ast.Name(self._operators, ast.Load()), "if_exp", ast.Load())
        nothing = ast.arguments([], [], None, [], [], None, [])
        branches = [ast.Lambda(nothing, branch) for branch in (node.body, node.orelse)]
        return ast.Call(function, [node.test, *branches, ast.Constant(shown)], [])


def _drop_annotations(node: ast.FunctionDef) -> None:
    """Annotations belong to the original; evaluated again, their names may be gone."""
    node.returns = None
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for argument in (*every, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None


def _point_directive(call: ast.Call, namespace: dict[str, Any], directives: dict[Any, Any]) -> None:
    target = static_value(call.func, namespace)
    if not isinstance(target, types.FunctionType) or target not in directives:
        return
    name = _DIRECTIVE.format(target.__name__)
    namespace[name] = directives[target]
    call.func = ast.copy_location(ast.Name(name, ast.Load()), call.func)


def static_value(node: ast.AST, namespace: dict[str, Any]) -> Any:
    """What a name, or an attribute of a module, stands for; None when that is not known."""
    if isinstance(node, ast.Name):
        return namespace.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = static_value(node.value, namespace)
        if isinstance(owner, types.ModuleType):
            return getattr(owner, node.attr, None)
    return None


_STORED = {
    ast.Assign: ("targets",),
    ast.AugAssign: ("target",),
    ast.AnnAssign: ("target",),
    ast.For: ("target",),
    ast.NamedExpr: ("target",),
    ast.comprehension: ("target",),
    ast.withitem: ("optional_vars",),
}


def repair_contexts(root: ast.AST) -> None:
    """Makes a tree compilable that so far had only to be printable."""
    for node in ast.walk(root):
        for field, value in ast.iter_fields(node):
            if isinstance(value, tuple):
                setattr(node, field, list(value))
        if hasattr(node, "ctx") or isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            node.ctx = ast.Load()
    for node in ast.walk(root):
        for field in _STORED.get(type(node), ()):
            value = getattr(node, field)
            for target in value if isinstance(value, list) else [value]:
                _set_context(target, ast.Store())
        if isinstance(node, ast.Delete):
            for target in node.targets:
                _set_context(target, ast.Del())


def _set_context(node: ast.AST | None, context: ast.expr_context) -> None:
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Starred)):
        node.ctx = context
    if isinstance(node, (ast.Tuple, ast.List)):
        node.ctx = context
        for element in node.elts:
            _set_context(element, context)
    if isinstance(node, ast.Starred):
        _set_context(node.value, context)
