"""`Exporter`, from which eager tensors get Python's buffer protocol: `memoryview(tensor)`.

From Python 3.12 on the protocol asks a class for `__buffer__`, and `Exporter` is a class without
anything. Python 3.11 asks only classes that are not written in Python: there it comes from
`native/buffers.cc`, and calls `__buffer__`. Where that library was not built, tensors have the
method and not the protocol.
"""

import ctypes
import sys
from typing import TYPE_CHECKING

from penstock.config import env
from penstock.core.native_library import HostLibrary

NEEDED = sys.version_info < (3, 12)
LIBRARY = HostLibrary(
    "buffers",
    what="buffers of tensors",
    without="memoryview(tensor) is a TypeError: use memoryview(tensor.numpy())",
    version=1,
    functions={"exporter": ""},
    loader=ctypes.PyDLL,
)


class Exporter:
    """A class whose objects have no protocol, or Python's own."""

    __slots__ = ()


def _native_exporter() -> type:
    library = LIBRARY.state().library if env.get("PENSTOCK_NATIVE_KERNELS") else None
    if library is None:
        return Exporter
    make = library.penstock_buffers_exporter
    make.restype = ctypes.py_object
    made: type = make()
    return made


if NEEDED and not TYPE_CHECKING:
    Exporter = _native_exporter()
