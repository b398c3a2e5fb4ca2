"""The functions of `native/wire.cc`: spans and numbers of messages in protobuf's wire format.

A shared library of its own, loaded at first use: it has neither Python nor XLA in it. Where it is
not in use `penstock.ops.parse_wire` does the same in Python. Thread-safe: nothing is kept between
calls.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.native_library import HostLibrary, address

LIBRARY = HostLibrary(
    "wire",
    what="native parsing of Examples",
    without="batches of Examples take some five times as long to parse",
    version=2,
    functions={
        "map_values": "pppnnppnpp",
        "kinds": "pppnppp",
        "repeated": "pppnppp",
        "floats": "pppnpp",
        "integers": "pppnpp",
        "dense": "pppnnppnppp",
    },
)
Array = Any  # numpy.ndarray


class BrokenMessageError(Exception):
    """Bytes that are no message of the kind expected.

    Attributes:
      row: which of the messages it is.
    """

    def __init__(self, row: int) -> None:
        super().__init__(f"message {row} is cut off or no message")
        self.row = row


def _checked(broken: int) -> None:
    if broken >= 0:
        raise BrokenMessageError(broken)


def _messages(data: bytes, starts: Array, ends: Array) -> tuple[Any, ...]:
    """The first arguments of every function, and arrays to keep alive, last."""
    starts, ends = (np.ascontiguousarray(a, np.int64) for a in (starts, ends))
    given = data, address(starts), address(ends), len(starts)
    return (*given, (starts, ends))


def map_values(
    native: ctypes.CDLL, data: bytes, starts: Array, ends: Array, field: int, keys: Sequence[bytes]
) -> tuple[Array, Array]:
    """See `parse_wire.map_values`."""
    *given, alive = _messages(data, starts, ends)
    joined = b"".join(keys)
    lengths = np.fromiter(map(len, keys), np.int64, len(keys))
    found = np.full((2, len(keys), len(starts)), -1, np.int64)
    _checked(
        native.penstock_wire_map_values(
            *given, field, joined, address(lengths), len(keys),
            address(found[0]), address(found[1]),
        )
    )  # fmt: skip
    del alive
    return found[0], found[1]


def kinds(
    native: ctypes.CDLL, data: bytes, starts: Array, ends: Array
) -> tuple[Array, Array, Array]:
    """See `parse_wire.kinds`."""
    *given, alive = _messages(data, starts, ends)
    kind = np.zeros(len(starts), np.int8)
    found = np.full((2, len(starts)), -1, np.int64)
    _checked(
        native.penstock_wire_kinds(*given, address(kind), address(found[0]), address(found[1]))
    )
    del alive
    return kind, found[0], found[1]


def repeated(
    native: ctypes.CDLL, data: bytes, starts: Array, ends: Array
) -> tuple[Array, Array, Array]:
    """See `parse_wire.repeated`."""
    *given, alive = _messages(data, starts, ends)
    counts = np.zeros(len(starts), np.int64)
    _checked(native.penstock_wire_repeated(*given, address(counts), None, None))
    found = np.empty((2, int(counts.sum())), np.int64)
    _checked(
        native.penstock_wire_repeated(*given, address(counts), address(found[0]), address(found[1]))
    )
    del alive
    return counts, found[0], found[1]


def numbers(
    native: ctypes.CDLL, data: bytes, starts: Array, ends: Array, dtype: np.dtype[Any]
) -> tuple[Array, Array]:
    """See `parse_wire.floats` and `parse_wire.integers`; `dtype` is float32 or int64."""
    function = native.penstock_wire_floats if dtype.kind == "f" else native.penstock_wire_integers
    *given, alive = _messages(data, starts, ends)
    counts = np.zeros(len(starts), np.int64)
    _checked(function(*given, address(counts), None))
    values = np.empty(int(counts.sum()), dtype)
    _checked(function(*given, address(counts), address(values)))
    del alive
    return counts, values


def dense(
    data: bytes, starts: Array, ends: Array, field: int, keys: Sequence[bytes],
    kinds: Sequence[int], sizes: Sequence[int],
) -> list[Array] | None:  # fmt: skip
    """See `parse_wire.dense`; None also where the library is not in use."""
    call, rows = LIBRARY.function("dense"), len(starts)
    if call is None:
        return None
    outputs = [_output(kind, rows, n) for kind, n in zip(kinds, sizes, strict=True)]
    numbers = np.array(
        [[len(k) for k in keys], kinds, sizes, [address(o) for o in outputs]], np.int64
    )
    given = data, starts, ends, rows, field, b"".join(keys), numbers[0], len(keys)
    return outputs if call(*given, *numbers[1:]) < 0 else None


_DTYPES = {1: np.int64, 2: np.float32, 3: np.int64}


def _output(kind: int, rows: int, size: int) -> Array:
    return np.empty((rows, size, 2) if kind == 1 else (rows, size), _DTYPES[kind])
