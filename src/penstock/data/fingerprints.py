"""Fingerprints of datasets: equal for datasets that are made alike, in this process or another.

What counts is the kind of each dataset, the dtypes and shapes of its elements, what it was given
(numbers, arrays, functions by their operations) and what it takes its elements from. The names that
functions got while they were traced do not count.
"""

import hashlib
from typing import Any

import numpy as np

from penstock import proto
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import scalar
from penstock.data.operations import HOST, Mapped, held
from penstock.data.stages import Array, Description
from penstock.graph.body import CallBody
from penstock.graph.graph_def import functions_of, write_function

FINGERPRINT = define_op(
    "DatasetFingerprint(input_dataset: variant) -> fingerprint: uint64",
    shape=scalar,
    fallible=True,
    doc="A number that is the same for datasets that are made alike.",
).not_differentiable("the result is an integer")


@host_kernel(FINGERPRINT, limit=HOST)
def _fingerprint(input_dataset: Array) -> Array:
    return np.asarray(fingerprint(held(input_dataset)), np.uint64)


def fingerprint(description: Description) -> int:
    """The fingerprint of a dataset, of 64 bits."""
    digest = hashlib.sha256()
    _add(digest, description)
    return int.from_bytes(digest.digest()[:8], "little")


_ELSEWHERE = frozenset({"__weakref__", "inputs", "types", "shapes"})


def _add(digest: Any, value: Any) -> None:
    """Adds a value to the digest, with its class before it, so that parts cannot be confused."""
    digest.update(f"{type(value).__name__}(".encode())
    if isinstance(value, Description):
        digest.update(f"{value.kind}{[t.name for t in value.types]}{value.shapes}".encode())
        for name in _slots(type(value)):
            _add(digest, getattr(value, name, None))
        for each in value.inputs:
            _add(digest, each)
    elif isinstance(value, Mapped):
        _add_body(digest, value.body)
        for each in value.captured:
            _add(digest, each)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (list, tuple, np.ndarray)):
        for each in value if not isinstance(value, np.ndarray) else value.reshape(-1):
            _add(digest, each)
    elif isinstance(value, (str, bytes, int, float, bool, range, np.generic, type(None))):
        digest.update(repr(value).encode())
    digest.update(b")")


def _slots(kind: type) -> list[str]:
    """What descriptions of a class are made of, but for what they keep for themselves."""
    names = [n for c in kind.__mro__ for n in c.__dict__.get("__slots__", ())]
    return sorted(n for n in names if n not in _ELSEWHERE and not n.startswith("_"))


def _add_body(digest: Any, body: CallBody) -> None:
    """Adds a function and those that it calls, without their names."""
    callees, names = functions_of(body.graph.get_operations())
    nameless = {**dict.fromkeys(names, ""), id(body): ""}
    for each in (body, *callees):
        message = proto.function_pb2.FunctionDef()
        write_function(each, nameless, message)
        digest.update(message.SerializeToString(deterministic=True))
