"""Write the typed form of the public namespace, and the list of its names.

    python tools/make_stubs.py            # write what changed
    python tools/make_stubs.py --check    # say what would change; exit status 1 if anything would

Public names are found at first use (`penstock.namespace`), which type checkers and editors cannot
follow. The stubs say where each name is defined: ``__init__.pyi`` and ``compat/v1/__init__.pyi``
for the two roots, one file in ``_stubs`` for each public module, with its real signatures taken
from the modules themselves, and ``_stubs/raw_ops.pyi`` with a signature for every operation.
``tests/data/public_names.txt`` is the list of all public names, so that a change of it is seen.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "penstock"
NAMES = ROOT / "tests" / "data" / "public_names.txt"
HEADER = "# Written by tools/make_stubs.py.\n# ruff: noqa\n"
V1 = "compat.v1"
ROOT_EXTRAS = "from penstock.version import __version__ as __version__\n"

Table = dict[str, tuple[str, str]]


def tree(table: Table) -> dict[str, dict[str, tuple[str, str]]]:
    """Return public module -> its own names, for the names of a table."""
    modules: dict[str, dict[str, tuple[str, str]]] = {"": {}}
    for name, place in table.items():
        prefix, _, last = name.rpartition(".")
        modules.setdefault(prefix, {})[last] = place
        while prefix:
            prefix = prefix.rpartition(".")[0]
            modules.setdefault(prefix, {})
    return modules


def split(table: Table, hidden: Collection[str] = ()) -> tuple[Table, Table]:
    """Return the names under the package, and those under compat.v1 without that prefix.

    What is `hidden`, named with the prefix, is not under compat.v1.
    """
    plain = {n: p for n, p in table.items() if not n.startswith(("compat.v1.", "compat.v2."))}
    first = {n: p for n, p in plain.items() if not n.startswith("compat.")}
    first = {n: p for n, p in first.items() if f"{V1}.{n}" not in hidden}
    first |= {n.removeprefix(V1 + "."): p for n, p in table.items() if n.startswith(V1 + ".")}
    return plain, first


def file_name(root: str, prefix: str) -> str:
    """Return the stub module of a public module: ``compat_v1_train`` for ``compat.v1.train``."""
    full = ".".join(part for part in (root, prefix) if part)
    return full.replace("__internal__", "internal").replace(".", "_")


def render(root: str, prefix: str, modules: dict[str, Any]) -> str:
    """Return the stub of one public module."""
    lines = []
    for name, (module, attribute) in sorted(modules[prefix].items()):
        lines.append(f"from {module} import {attribute} as {name}")
    inner = {m for m in modules if m and m.rpartition(".")[0] == prefix}
    if not prefix:
        inner.add("raw_ops")
    for module in sorted(inner):
        last = module.rpartition(".")[2]
        if last not in modules[prefix]:
            stub = "raw_ops" if module == "raw_ops" else file_name(root, module)
            lines.append(f"from penstock._stubs import {stub} as {last}")
    own = f"{root}.{prefix}".strip(".").replace(".", "/")
    if prefix and not root and (PACKAGE / own / "__init__.py").exists() and prefix != "compat":
        lines.insert(0, f"from penstock.{prefix} import *")
    if (root, prefix) == ("", "compat"):
        lines.append("from penstock.compat import v1 as v1")
    return HEADER + "\n".join(lines) + "\n"


def raw_ops(names: list[str], function: Any) -> str:
    """Return the stub of `tf.raw_ops`."""
    lines = ["import typing", ""]  # an operation is called Any
    for name in names:
        parameters = inspect.signature(function(name)).parameters.values()
        shown = [
            f"{p.name}: typing.Any" + (" = ..." if p.default is not p.empty else "")
            for p in parameters
        ]
        star = "*, " if shown else ""
        lines.append(f"def {name}({star}{', '.join(shown)}) -> typing.Any: ...")
    return HEADER + "\n".join(lines) + "\n"


def files() -> dict[Path, str]:
    """Return every file with the text it should have."""
    namespace = importlib.import_module("penstock.namespace")
    raw = importlib.import_module("penstock.ops.raw")
    found = {NAMES: "".join(f"{name}\n" for name in sorted(namespace.TABLE))}
    found[PACKAGE / "_stubs" / "__init__.pyi"] = HEADER
    found[PACKAGE / "_stubs" / "raw_ops.pyi"] = raw_ops(raw.names(), raw.function)
    for root, table in zip(("", V1), split(namespace.TABLE, namespace.HIDDEN), strict=True):
        modules = tree(table)
        for prefix in modules:
            text = render(root, prefix, modules)
            if prefix:
                found[PACKAGE / "_stubs" / f"{file_name(root, prefix)}.pyi"] = text
            elif root:
                found[PACKAGE / "compat" / "v1" / "__init__.pyi"] = text
            else:
                found[PACKAGE / "__init__.pyi"] = text + ROOT_EXTRAS
    return found


def main(arguments: list[str]) -> int:
    """Write or check the files; return the exit status."""
    sys.path.insert(0, str(ROOT / "src"))
    wanted = files()
    old = [p for p in (PACKAGE / "_stubs").glob("*.pyi") if p not in wanted]
    changed = [p for p, t in wanted.items() if not p.exists() or p.read_text() != t]
    for path in sorted([*changed, *old]):
        print(path.relative_to(ROOT))
    if "--check" in arguments:
        return 1 if changed or old else 0
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path])
    for path in old:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
