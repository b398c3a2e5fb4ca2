"""The public names of TensorFlow with their signatures (see ``tools/tf_facts.py``).

Sections ``tf``, ``tf.compat.v1`` and ``tf.raw_ops``: name below the section -> line of text (see
``tools/signature_text.py``). A class's members follow it under dotted names; those it has from
another public class stand there only, and its line ends with ``< tf.NAME`` for each such class. A
name that is the same object as an earlier one has the line ``same as tf.NAME``. Keras, which is a
library of its own, and what no program calls are left out (``LEFT_OUT``), but for the initializers.
The functions of ``tf.raw_ops`` take keyword arguments only, whatever their line says.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from signature_text import member_texts, object_text

# modules below tf and tf.compat.v1 that are not walked
LEFT_OUT = frozenset(
    "compat keras estimator lite losses metrics optimizers mlir tpu xla raw_ops __internal__ "
    "app tools security experimental.dtensor".split()
)
# of the names above, what tf.compat.v1 has as modules of its own
KEPT_V1 = frozenset(("losses", "metrics", "app"))
# what the modules of the public interface are called inside
PUBLIC_MODULES = ("tensorflow._api.", "tensorflow.experimental", "keras._tf_keras.")


def record() -> dict[str, Any]:
    """Return the three tables for the installed TensorFlow."""
    import tensorflow as tf

    inside = {"test", "distribute.combinations", "distribute.multi_process_runner"}
    named = {
        "tf": [
            *walk(tf, LEFT_OUT),
            *walk(tf.compat, {"compat.v1", "compat.v2"}, "compat."),
            *walk(tf.__internal__, {f"__internal__.{name}" for name in inside}, "__internal__."),
        ],
        "tf.compat.v1": list(walk(tf.compat.v1, LEFT_OUT - KEPT_V1)),
        "tf.raw_ops": list(walk(tf.raw_ops, frozenset())),
    }
    first: dict[int, str] = {}
    for section, objects in named.items():
        for name, value in objects:
            first.setdefault(id(value), f"{section}.{name}")
    found: dict[str, Any] = {"version": tf.__version__}
    for section, objects in named.items():
        found[section] = dict(lines(section, objects, first))
    return found


def walk(module: Any, left_out: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted name, object) for the public objects below a module, shallow ones first."""
    modules = []
    for name in sorted(public_names(module)):
        if prefix + name in left_out:
            continue
        try:
            value = getattr(module, name)
            kind = value.__name__ if isinstance(value, types.ModuleType) else None
        except (AttributeError, ImportError):  # loaded late, and not with this Keras
            continue
        if kind is not None:
            if kind.startswith(PUBLIC_MODULES):
                modules.append((name, value))
        else:
            yield prefix + name, value
    for name, value in modules:
        yield from walk(value, left_out, f"{prefix}{name}.")


def public_names(module: Any) -> list[str]:
    """Return the names of a module that do not begin with an underscore, and the version."""
    return [n for n in dir(module) if n == "__version__" or not n.startswith("_")]


def lines(section: str, objects: Any, first: dict[int, str]) -> Iterator[tuple[str, str]]:
    """Yield (name, line), with classes' members; ``first`` maps objects to their first names."""
    plain = (str, bytes, int, float, type(None), tuple, list, dict)
    for name, value in objects:
        earlier = first[id(value)]
        known = earlier != f"{section}.{name}" and section != "tf.raw_ops"
        if known and not isinstance(value, plain):
            yield name, f"same as {earlier}"
            continue
        if not isinstance(value, type) or hasattr(value, "DESCRIPTOR"):
            yield name, object_text(value)
            continue
        bases = public_bases(value, first)
        yield name, object_text(value) + "".join(f" < {first[id(base)]}" for base in bases)
        inherited = {base for public in bases for base in public.__mro__}
        for member, text in member_texts(value, inherited):
            yield f"{name}.{member}", text


def public_bases(cls: type, first: dict[int, str]) -> list[type]:
    """Return the nearest public classes that a class is derived from."""
    found: list[type] = []
    for base in cls.__mro__[1:]:
        if id(base) in first and not any(issubclass(near, base) for near in found):
            found.append(base)
    return found
