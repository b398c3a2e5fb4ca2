"""Compare Penstock's public names and signatures with TensorFlow's recorded ones.

    python tools/compare_signatures.py               # counts, by module
    python tools/compare_signatures.py nn train      # what is missing or differs below tf.nn, ...
    python tools/compare_signatures.py --v1 train    # the same below tf.compat.v1

The facts are ``tests/data/tf_signatures.json``. A name is ``missing``, ``differs`` or is
``broken`` (its module cannot be imported); what Penstock has beyond TensorFlow is not listed.
Exits 0 whatever it finds: which names must be there is for the tests to say.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import importlib
import inspect
import json
import sys
from pathlib import Path
from typing import Any

from signature_text import member_text, object_text

ROOT = Path(__file__).resolve().parent.parent
MISSING = object()


def load_facts(section: str) -> dict[str, str]:
    """Return name -> line of one section of the recorded signatures."""
    path = ROOT / "tests" / "data" / "tf_signatures.json"
    packed = path.with_name(path.name + ".gz")
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else path.read_text()
    found: dict[str, str] = json.loads(text)[section]
    return found


def lookup(root: Any, name: str) -> tuple[Any, Any]:
    """Return (owner, object) for a dotted name, or (owner, MISSING)."""
    owner, found = None, root
    for part in name.split("."):
        owner, found = found, getattr(found, part, MISSING)
        if found is MISSING:
            return owner, MISSING
    return owner, found


def line_of(owner: Any, name: str, value: Any) -> str:
    """Return the line of an object, as a member when its owner is a class."""
    if not isinstance(owner, type):
        return object_text(value)
    return member_text(inspect.getattr_static(owner, name.rpartition(".")[2], value))


def differences(root: Any, facts: dict[str, str]) -> dict[str, str]:
    """Return name -> what is wrong with it."""
    found = {}
    for name, expected in facts.items():
        try:
            owner, value = lookup(root, name)
        except ImportError as error:  # a name of a module that cannot be imported
            found[name] = f"broken\n    {error}"
            continue
        if value is MISSING:
            if not isinstance(owner, type) or name.rpartition(".")[2][:2] != "__":
                found[name] = "missing"
            continue
        if expected.startswith(("same as", "instance", "=")) or "(?)" in expected:
            continue
        line = line_of(owner, name, value)
        if line != expected.partition(" < ")[0]:
            found[name] = f"differs\n    theirs {expected.partition(' < ')[0]}\n    ours   {line}"
    return found


def main() -> int:
    """Print the differences below the modules named on the command line, or counts."""
    parser = argparse.ArgumentParser(description="Compare public names with TensorFlow's.")
    parser.add_argument("module", nargs="*", help="such as nn, or the beginning of any name")
    parser.add_argument("--v1", action="store_true", help="below tf.compat.v1 instead of tf")
    chosen = parser.parse_args()
    sys.path.insert(0, str(ROOT / "src"))
    root = importlib.import_module("penstock")
    facts = load_facts("tf.compat.v1" if chosen.v1 else "tf")
    if chosen.v1:
        root = importlib.import_module("penstock.compat.v1")
    found = differences(root, facts)
    if chosen.module:
        for name in sorted(found):
            if name.startswith(tuple(chosen.module)):
                print(f"{name}: {found[name]}")
        return 0
    count: collections.Counter[tuple[str, str]] = collections.Counter()
    for name in facts:
        module = name.partition(".")[0] if "." in name else "(top)"
        count[module, found.get(name, "same").partition("\n")[0]] += 1
    for module in sorted({module for module, _ in count}):
        numbers = (f"{count[module, k]:6} {k}" for k in ("same", "differs", "missing", "broken"))
        print(f"{module:28}" + "".join(numbers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
