"""`Exporter`, from which eager tensors get Python's buffer protocol: `memoryview(tensor)`.

From Python 3.12 on the protocol asks a class for `__buffer__`, and `Exporter` is a class without
anything. Python 3.11 asks only classes that are not written in Python: there it comes from
`native/buffers.cc`, and calls `__buffer__`. Where that library was not built, tensors have the
method and not the protocol.
"""

import ctypes
import functools
import pathlib
import sys
from typing import TYPE_CHECKING

from penstock.config import env
from penstock.core import native_library
from penstock.core.native_library import State

LIBRARY = native_library.FOLDER / "libpenstock_buffers.so"
WITHOUT = "memoryview(tensor) is a TypeError: use memoryview(tensor.numpy())"
NEEDED = sys.version_info < (3, 12)
VERSION = 1  # of the functions' meaning; buffers.cc states the same number


@functools.cache
def state() -> State:
    """Loads the library, or says why it is not in use; thread-safe."""
    return load(LIBRARY)


def load(path: pathlib.Path) -> State:
    """Loads the library at `path` and compares its version."""
    return native_library.load(
        path,
        "buffers of tensors",
        WITHOUT,
        ("penstock_buffers_version", VERSION),
        ["penstock_buffers_exporter"],
        ctypes.PyDLL,
    )


class Exporter:
    """A class whose objects have no protocol, or Python's own."""

    __slots__ = ()


def _native_exporter() -> type:
    library = state().library if env.get("PENSTOCK_NATIVE_KERNELS") else None
    if library is None:
        return Exporter
    make = library.penstock_buffers_exporter
    make.restype = ctypes.py_object
    made: type = make()
    return made


if NEEDED and not TYPE_CHECKING:
    Exporter = _native_exporter()
