"""The public names, found when they are first used.

`penstock.exports` lists, family by family, which attribute of which module has which dotted public
name. A public module (`tf.math`, `tf.compat.v1.train`) is either a package of ours or made here;
both get a `__getattr__` that imports the module behind a name at its first use and keeps the value.
So `import penstock` loads no operation that the program does not use.
"""

import importlib
import importlib.machinery
import pkgutil
import sys
import types
from collections.abc import Callable
from typing import Any

from penstock import exports
from penstock.core import dispatch

V1, V2 = "compat.v1.", "compat.v2."
MODULES = {"compat.v1.app.flags": "compat.v1.flags"}  # a second name of a whole module


def _collect() -> tuple[dict[str, tuple[str, str]], frozenset[str]]:
    """Public dotted name -> (module, attribute), and the names that `compat.v1` does not take over.

    These are the second generation's, as a family's `V2_ONLY` lists them.
    """
    table: dict[str, tuple[str, str]] = {}
    hidden: set[str] = set()
    for info in pkgutil.iter_modules(exports.__path__):
        family = importlib.import_module(f"{exports.__name__}.{info.name}")
        hidden.update(V1 + name for name in getattr(family, "V2_ONLY", ()))
        for module, attributes in family.EXPORTS.items():
            for attribute, names in attributes.items():
                for name in names:
                    before = table.setdefault(name, (module, attribute))
                    if before != (module, attribute):
                        raise ImportError(
                            f"public name {name!r} is listed for {before} and for"
                            f" {(module, attribute)}"
                        )
    return table, frozenset(hidden)


TABLE, HIDDEN = _collect()
_modules: dict[str, set[str]] = {}


def _names_in(module: str) -> set[str]:
    """The names directly under a dotted name, which becomes a module where it is none yet."""
    found = _modules.get(module)
    if found is None:
        found = _modules[module] = set()
        if module:
            parent, _, last = module.rpartition(".")
            _names_in(parent).add(last)
    return found


def _add_modules() -> None:
    for name in TABLE:
        module, _, last = name.rpartition(".")
        _names_in(module).add(last)
    _modules.setdefault("", set()).add("raw_ops")
    _modules["raw_ops"] = set()
    _modules.setdefault("compat", set()).update(("v1", "v2"))
    _modules.setdefault("compat.v2", set())
    for name, target in MODULES.items():
        _modules.setdefault(name.rpartition(".")[0], set()).add(name.rpartition(".")[2])
        _modules[name] = _modules[target]


_add_modules()


def plain_name(name: str) -> str:
    """A dotted name without `compat.v1.` or `compat.v2.` in front."""
    while name.startswith((V1, V2)):
        name = name[len(V1) :]
    return name


def _one_generation(name: str) -> str:
    """A dotted name in which of several `compat.v1` and `compat.v2` only the last is left."""
    for generation in ("compat.v1", "compat.v2"):
        while (at := name.rfind(f".{generation}")) >= 0 and (name + ".")[at + 10] == ".":
            name = name[at + 1 :]
    return name


def _is_module(name: str) -> bool:
    return name in _modules or plain_name(name) in _modules


def _is_listed(prefix: str, name: str) -> bool:
    full = f"{prefix}.{name}" if prefix else name
    return full in TABLE or (full not in HIDDEN and plain_name(full) in TABLE)


def find(prefix: str, name: str) -> Any:
    """The value of `prefix.name`.

    Raises:
      AttributeError: there is no such public name.
    """
    full = _one_generation(f"{prefix}.{name}" if prefix else name)
    entry = TABLE.get(full) or (None if full in HIDDEN else TABLE.get(plain_name(full)))
    if entry is not None:
        value = _attribute(*entry)
        if isinstance(value, types.FunctionType) and entry[0].startswith(dispatch.PREFIX):
            module = f"penstock.{prefix}" if prefix else "penstock"
            return dispatch.dispatching(value, module, name)
        return value
    if full in MODULES:
        return public_module(MODULES[full])
    if _is_module(full):
        return public_module(full)
    if plain_name(prefix) == "raw_ops":
        return importlib.import_module("penstock.ops.raw").function(name)
    raise AttributeError(
        f"module 'penstock{'.' + prefix if prefix else ''}' has no attribute {name!r}"
    )


def _attribute(module: str, name: str) -> Any:
    """What `from module import name` gives, a module inside included."""
    try:
        return getattr(importlib.import_module(module), name)
    except AttributeError:
        try:
            return importlib.import_module(f"{module}.{name}")
        except ModuleNotFoundError:
            pass
        raise


def names_of(prefix: str) -> set[str]:
    """The public names directly under `prefix`."""
    found = set(_modules.get(prefix, ())) | set(
        _modules.get(plain_name(prefix + ".").rstrip("."), ())
    )
    if plain_name(prefix) == "raw_ops":
        found |= set(importlib.import_module("penstock.ops.raw").names())
    return {n for n in found if n and f"{prefix}.{n}" not in HIDDEN}


_made: dict[str, types.ModuleType] = {}


def public_module(full: str) -> types.ModuleType:
    """The module object of a public prefix such as `math` or `compat.v1.train`."""
    found = _made.get(full)
    if found is None:
        found = importlib.import_module(f"penstock.{full}")
        if full not in _made:  # a package of ours that nobody has given the names yet
            install(found, full)
    return found


class _Importer:
    """Makes the public modules that are no packages of ours importable.

    So `import penstock.experimental.numpy as tnp` works, and `from penstock.linalg import inv`. It
    is a finder and a loader by its methods: `importlib.abc` would load eighteen modules at start.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if not name.startswith("penstock."):
            return None
        full = _one_generation(name.removeprefix("penstock."))
        if not _is_module(full):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        full = _one_generation(spec.name.removeprefix("penstock."))
        other = MODULES.get(full, full)
        if f"penstock.{other}" != spec.name:  # a second name of a module
            module = public_module(other)
            spec.loader_state = module.__spec__
            return module
        return types.ModuleType(spec.name, f"Public names under `{full}`.")

    def exec_module(self, module: types.ModuleType) -> None:
        own = module.__spec__.loader_state if module.__spec__ is not None else None
        if own is not None:
            module.__spec__ = own  # which the import under a second name replaced
            return
        install(module, module.__name__.removeprefix("penstock."))


sys.meta_path.append(_Importer())


def install(module: types.ModuleType, prefix: str) -> None:
    """Gives `module` the public names under `prefix`, found at first use."""
    _made[prefix] = module
    own = dict(vars(module))
    before: Callable[[str], Any] | None = own.get("__getattr__")

    def __getattr__(name: str) -> Any:
        if name.startswith("__") and name != "__internal__" and not _is_listed(prefix, name):
            raise AttributeError(name)
        try:
            value = find(prefix, name)
        except AttributeError:
            if before is None:
                raise
            value = before(name)
        module.__dict__[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({n for n in own if not n.startswith("_")} | names_of(prefix))

    module.__dict__["__getattr__"] = __getattr__
    module.__dict__["__dir__"] = __dir__
