"""The contents of a queue as strings, for checkpoints.

The first string is a JSON header: the kind of the queue, the number of elements, whether it is
closed, the state of its random numbers, and for each component whether all its elements have one
shape. Then come, component by component, either one TensorProto of all elements or one of each.
"""

import json
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.graph.tensor_proto import array_to_proto, proto_to_array
from penstock.ops.queue_kinds import ShuffleQueue
from penstock.ops.queue_state import QueueState, Row
from penstock.types.dtypes import DType

VERSION = 1


def save(queue: QueueState) -> list[bytes]:
    """The contents of a queue."""
    rows, closed = queue.contents(), queue.closed
    pieces: list[bytes] = []
    whole = []
    for i, dtype in enumerate(queue.dtypes):
        values = [row[i] for row in rows]
        alike = len({v.shape for v in values}) == 1
        whole.append(alike)
        arrays = [np.stack(values)] if alike else values
        pieces += [array_to_proto(a, dtype).SerializeToString() for a in arrays]
    header = {
        "version": VERSION,
        "kind": queue.kind,
        "count": len(rows),
        "closed": closed,
        "whole": whole,
        "random": list(queue.random) if isinstance(queue, ShuffleQueue) else None,
    }
    return [json.dumps(header, sort_keys=True).encode(), *pieces]


def restore(queue: QueueState, state: list[bytes]) -> None:
    """Gives a queue the contents that `save` wrote.

    Raises:
      DataLossError: it is no state of a queue.
      InvalidArgumentError: it is one of another kind of queue, or of other components.
    """
    header = _header(queue, state)
    if header["kind"] != queue.kind or len(header["whole"]) != len(queue.dtypes):
        queue.refuse(
            f"the state of a {queue.kind} with {len(queue.dtypes)} components",
            f"that of a {header['kind']} with {len(header['whole'])}",
            "Restore into a queue like the one that was saved.",
        )
    rows = _rows(queue, header, state[1:])
    if isinstance(queue, ShuffleQueue):
        queue.draw_from(*header["random"])
    queue.replace(rows, header["closed"])


def _header(queue: QueueState, state: list[bytes]) -> dict[str, Any]:
    try:
        header: dict[str, Any] = json.loads(state[0])
        expected = 1 + sum(1 if alike else header["count"] for alike in header["whole"])
        if header["version"] != VERSION or len(state) != expected:
            raise ValueError(f"version {header['version']}, {len(state)} of {expected} strings")
    except (IndexError, KeyError, TypeError, ValueError) as problem:
        raise _lost(queue, problem) from None
    return header


def _rows(queue: QueueState, header: dict[str, Any], pieces: list[bytes]) -> list[Row]:
    columns: list[Any] = []
    for alike, dtype in zip(header["whole"], queue.dtypes, strict=True):
        count = 1 if alike else header["count"]
        arrays = [_array(queue, piece, dtype) for piece in pieces[:count]]
        pieces = pieces[count:]
        columns.append([arrays[0][i, ...] for i in range(len(arrays[0]))] if alike else arrays)
    if any(len(column) != header["count"] for column in columns):
        raise _lost(queue, ValueError("components of different lengths"))
    return list(zip(*columns, strict=True))


def _array(queue: QueueState, piece: bytes, dtype: DType) -> Any:
    message = proto.tensor_pb2.TensorProto()
    try:
        message.ParseFromString(piece)
        array, found = proto_to_array(message)[:2]
    except Exception as problem:  # any error of decoding: the bytes are not ours
        raise _lost(queue, problem) from None
    if found is not dtype:
        queue.refuse(f"components of dtype {dtype.name}", found.name)
    return array


def _lost(queue: QueueState, problem: BaseException) -> errors.OpError:
    return errors.DataLossError(
        None,
        None,
        f"{queue}: expected its state as a checkpoint keeps it, got strings that are not "
        f"({problem}). Restore another checkpoint.",
    )
