"""The public names, found when they are first used.

`penstock.exports` lists, family by family, which attribute of which module has which dotted public
name. A public module (`tf.math`, `tf.compat.v1.train`) is either a package of ours or made here;
both get a `__getattr__` that imports the module behind a name at its first use and keeps the value.
So `import penstock` loads no operation that the program does not use.
"""

import importlib
import pkgutil
import sys
import types
from collections.abc import Callable
from typing import Any

from penstock import exports
from penstock.core import dispatch

V1, V2 = "compat.v1.", "compat.v2."


def _collect() -> dict[str, tuple[str, str]]:
    """Public dotted name -> (module, attribute)."""
    table: dict[str, tuple[str, str]] = {}
    for info in pkgutil.iter_modules(exports.__path__):
        family = importlib.import_module(f"{exports.__name__}.{info.name}")
        for module, attributes in family.EXPORTS.items():
            for attribute, names in attributes.items():
                for name in names:
                    before = table.setdefault(name, (module, attribute))
                    if before != (module, attribute):
                        raise ImportError(
                            f"public name {name!r} is listed for {before} and for"
                            f" {(module, attribute)}"
                        )
    return table


TABLE = _collect()
_modules: dict[str, set[str]] = {}


def _add_modules() -> None:
    for name in TABLE:
        parts = name.split(".")
        for depth in range(len(parts)):
            _modules.setdefault(".".join(parts[:depth]), set()).add(parts[depth])
    _modules.setdefault("", set()).add("raw_ops")
    _modules["raw_ops"] = set()


_add_modules()


def plain_name(name: str) -> str:
    """A dotted name without `compat.v1.` or `compat.v2.` in front."""
    while name.startswith((V1, V2)):
        name = name[len(V1) :]
    return name


def find(prefix: str, name: str) -> Any:
    """The value of `prefix.name`.

    Raises:
      AttributeError: there is no such public name.
    """
    full = f"{prefix}.{name}" if prefix else name
    entry = TABLE.get(full) or TABLE.get(plain_name(full))
    if entry is not None:
        value = getattr(importlib.import_module(entry[0]), entry[1])
        if isinstance(value, types.FunctionType) and entry[0].startswith(dispatch.PREFIX):
            module = f"penstock.{prefix}" if prefix else "penstock"
            return dispatch.dispatching(value, module, name)
        return value
    if full in _modules or plain_name(full) in _modules:
        return public_module(full)
    if plain_name(prefix) == "raw_ops":
        return importlib.import_module("penstock.ops.raw").function(name)
    raise AttributeError(
        f"module 'penstock{'.' + prefix if prefix else ''}' has no attribute {name!r}"
    )


def names_of(prefix: str) -> set[str]:
    """The public names directly under `prefix`."""
    found = set(_modules.get(prefix, ())) | set(
        _modules.get(plain_name(prefix + ".").rstrip("."), ())
    )
    if plain_name(prefix) == "raw_ops":
        found |= set(importlib.import_module("penstock.ops.raw").names())
    return {n for n in found if n}


_made: dict[str, types.ModuleType] = {}


def public_module(full: str) -> types.ModuleType:
    """The module object of a public prefix such as `math` or `compat.v1.train`."""
    found = _made.get(full)
    if found is None:
        try:
            found = importlib.import_module(f"penstock.{full}")
        except ModuleNotFoundError as problem:
            if problem.name is None or not f"penstock.{full}".startswith(problem.name):
                raise
            found = types.ModuleType(f"penstock.{full}", f"Public names under `{full}`.")
            sys.modules[found.__name__] = found
        install(found, full)
    return found


def install(module: types.ModuleType, prefix: str) -> None:
    """Gives `module` the public names under `prefix`, found at first use."""
    _made[prefix] = module
    own = dict(vars(module))
    before: Callable[[str], Any] | None = own.get("__getattr__")

    def __getattr__(name: str) -> Any:
        if name.startswith("__") and name != "__internal__" and f"{prefix}.{name}" not in TABLE:
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
