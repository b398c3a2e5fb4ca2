"""The rules on imports, as functions over source text; test_layers.py runs them over the package.

The design's table of packages (section 10) is TABLE. A package imports only from packages of
smaller rows; packages of one row do not import each other. Imports for type checking count: they
too say what a module knows of.
"""

import ast
import dataclasses
import pathlib
import re
from collections.abc import Iterator

TABLE = (
    {"config", "errors", "proto", "util", "version"},
    {"types"},
    {"core"},
    {"graph"},
    {"ops", "runtime"},
    {"autodiff"},
    {"tracing"},
    {"data"},
    {"checkpoint"},
    {"distributed"},
    {"profiler"},
    {"distribute", "summary"},
    {"train"},
    # The public layer. Its tables of names come first: `__init__` and `compat` are made from them.
    {"exports"},
    {"namespace"},
    {"__init__", "cli", "compat", "testing"},
)
ROWS = {unit: row for row, units in enumerate(TABLE) for unit in units}
PUBLIC_ROW = ROWS["exports"]
# Imported at first use only, through a lazy module; see LAZY_MODULES.
LAZY = ("jax", "jaxlib", "grpc", "google.protobuf", "malt")
# The modules that import others by name, beside those of the public layer.
LAZY_MODULES = {
    "penstock.core.lazy_module",
    "penstock.data.operations",  # the modules beside it, at first use
    "penstock.ops",  # its own families, at first use
    "penstock.proto",
    "penstock.types.dtypes",  # ml_dtypes
    "penstock.util.extras",
}
# What the extras bring: the only packages that a function may import.
OPTIONAL = {
    "IPython",
    "keras",
    "matplotlib",
    "onnx",
    "ray",
    "safetensors",
    "sklearn",
    "tensorboard",
}
GENERATED = re.compile(r"_pb2(_grpc)?$")
PRIVATE_JAX = re.compile(r"jax\._src(\.[\w.]+)?")


@dataclasses.dataclass(frozen=True, slots=True)
class Module:
    """A module of the package: its dotted name, whether it is an `__init__`, and its source."""

    name: str
    is_package: bool
    source: str

    @property
    def unit(self) -> str:
        """The part of the package that ROWS knows it by."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else "__init__"


@dataclasses.dataclass(frozen=True, slots=True)
class Import:
    """One imported name: `from a import b` is `a.b`."""

    target: str
    line: int
    in_function: bool
    for_types: bool


def read_modules(source_root: pathlib.Path) -> list[Module]:
    """All modules below `source_root`, but the generated ones."""
    modules = []
    for path in sorted(source_root.rglob("*.py")):
        parts = path.relative_to(source_root).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        if not GENERATED.search(name):
            modules.append(Module(name, is_package, path.read_text()))
    return modules


def imports(module: Module) -> Iterator[Import]:
    """The imports of a module, wherever they stand."""
    yield from _walk(ast.parse(module.source), module, in_function=False, for_types=False)


def _walk(node: ast.AST, module: Module, *, in_function: bool, for_types: bool) -> Iterator[Import]:
    for target in _targets(node, module):
        yield Import(target, node.lineno, in_function, for_types)
    if isinstance(node, ast.If) and _is_type_checking(node.test):
        for child in node.body:
            yield from _walk(child, module, in_function=in_function, for_types=True)
        rest = node.orelse
    else:
        rest = ast.iter_child_nodes(node)
    inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in rest:
        yield from _walk(child, module, in_function=inside, for_types=for_types)


def _targets(node: ast.AST, module: Module) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parts = module.name.split(".")
            parts = parts[: len(parts) - node.level + module.is_package]
            base = ".".join([*parts, base] if base else parts)
        return [f"{base}.{alias.name}" for alias in node.names]
    return []


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)
    return name == "TYPE_CHECKING"


def _inside(target: str, package: str) -> bool:
    return target == package or target.startswith(package + ".")


def layer_violations(module: Module, units: set[str]) -> list[str]:
    """Imports that the table does not allow.

    `units` are the package's parts: `from penstock import x` names one of them, or else something
    that the public layer defines.
    """
    if module.unit not in ROWS:
        return [f"{module.name}: {module.unit!r} is in no row; give it one here and in the design"]
    row, found = ROWS[module.unit], []
    for each in imports(module):
        if not _inside(each.target, "penstock"):
            continue
        parts = each.target.split(".")
        other = parts[1] if len(parts) > 1 and parts[1] in units else "__init__"
        if (
            other != module.unit
            and ROWS.get(other, len(TABLE)) >= row
            and module.unit != "__init__"
        ):
            found.append(
                f"{module.name}:{each.line} (row {row}) imports {each.target} "
                f"(row {ROWS.get(other, len(TABLE))}); only smaller rows are allowed"
            )
    return found


def lazy_violations(module: Module) -> list[str]:
    """Imports of packages that are loaded at first use, by statement or by name."""
    found = [
        f"{module.name}:{each.line} imports {each.target}; take it from the lazy module"
        for each in imports(module)
        if not each.for_types and any(_inside(each.target, name) for name in LAZY)
    ]
    if module.name in LAZY_MODULES or ROWS.get(module.unit, 0) >= PUBLIC_ROW:
        return found
    for node in ast.walk(ast.parse(module.source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "importlib.import_module",
            "import_module",
            "__import__",
        ):
            found.append(f"{module.name}:{node.lineno} imports by name; only lazy modules do")
    return found


def function_import_violations(module: Module) -> list[str]:
    """Imports inside functions, but those of optional packages."""
    return [
        f"{module.name}:{each.line} imports {each.target} inside a function"
        for each in imports(module)
        if each.in_function and each.target.split(".")[0] not in OPTIONAL
    ]


def star_import_violations(module: Module) -> list[str]:
    """`from x import *`."""
    return [
        f"{module.name}:{each.line} imports {each.target}"
        for each in imports(module)
        if each.target.endswith(".*")
    ]


def private_jax_violations(module: Module) -> list[str]:
    """Any use of JAX's private modules: as an import, as an attribute, or as a name to import."""
    found = [
        f"{module.name}:{each.line} imports {each.target}"
        for each in imports(module)
        if PRIVATE_JAX.match(each.target)
    ]
    for node in ast.walk(ast.parse(module.source)):
        if isinstance(node, ast.Attribute) and node.attr == "_src":
            found.append(f"{module.name}:{node.lineno} reads {ast.unparse(node)}")
        if isinstance(node, ast.Constant) and PRIVATE_JAX.fullmatch(str(node.value)):
            found.append(f"{module.name}:{node.lineno} names {node.value}")
    return found
