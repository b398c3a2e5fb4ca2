"""Fingerprints of datasets: the same number for datasets that are made of the same."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.data.operations import Mapped
from penstock.data.stages import Description


def print_of(description: Description) -> int:
    """A number of 64 bits that follows from operations, arguments and functions.

    Resources, and what Python functions do, have no part in it.
    """
    digest = hashlib.sha256()
    _add(digest, description)
    return int.from_bytes(digest.digest()[:8], "little")


def _add(digest: Any, value: Any) -> None:
    for part in _parts(value):
        if isinstance(part, bytes):
            digest.update(len(part).to_bytes(8, "little") + part)
        else:
            _add(digest, part)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, Description):
        yield type(value).__name__.encode()
        for name in _slots(type(value)):
            yield name.encode()
            yield getattr(value, name, None)
    elif isinstance(value, Mapped):
        yield from _function(value)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype}{value.shape}".encode()
        yield [*value.reshape(-1).tolist()] if value.dtype == object else value.tobytes()
    elif isinstance(value, (list, tuple)):
        yield b"%d items" % len(value)
        yield from value
    elif isinstance(value, bytes):
        yield value
    elif value is None or isinstance(value, (str, int, float, range)):
        yield repr(value).encode()
    else:
        yield type(value).__name__.encode()


def _slots(kind: type) -> list[str]:
    found = {name for each in kind.__mro__ for name in getattr(each, "__slots__", ())}
    return sorted(name for name in found if not name.startswith("_"))


def _function(mapped: Mapped) -> Iterator[Any]:
    numbers: dict[str, int] = {}
    for op in mapped.body.graph.get_operations():
        numbers[op.name] = len(numbers)
        yield op.type.encode()
        yield [f"{numbers.get(x.op.name, -1)}:{x.value_index}" for x in op.inputs]
        for name in sorted(op.op_def.attrs):
            if name not in _PASSING:
                yield name.encode()
                yield _attribute(op, name)
    yield list(mapped.captured)


_PASSING = ("token", "shared_name", "container", "metadata")  # others in each process, or comments


def _attribute(op: Any, name: str) -> Any:
    try:
        found = op.get_attr(name)
    except Exception:  # an attribute without a value says nothing
        return None
    return found if isinstance(found, (np.ndarray, bytes)) else repr(found).encode()
