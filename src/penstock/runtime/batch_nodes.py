"""`Batch`: rows of several steps joined into one batch, which one of the steps goes on with.

It joins calls as `BatchFunction` does (`batching`). The last call that is still there when the
batch is made gets all of it, the others get no rows; `Unbatch` (`penstock.ops.unbatching`) takes it
apart again. A call is known by a number that is drawn, so a column of these numbers tells whose
rows are where.
"""

import secrets
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.effects import drawn
from penstock.core.kernels import KernelContext, register_kernel
from penstock.runtime.batching import Batcher, Limits, rows_of
from penstock.runtime.control_flow import ON_HOST

Array = Any  # numpy.ndarray


def _batch(
    ctx: KernelContext, in_tensors: Any, *, num_batch_threads: int, max_batch_size: int,
    max_enqueued_batches: int, batch_timeout_micros: int, allowed_batch_sizes: Any,
    container: Any, shared_name: Any, batching_queue: Any,
) -> list[Array]:  # fmt: skip
    limits = Limits(
        max_batch_size,
        batch_timeout_micros / 1e6,
        tuple(allowed_batch_sizes),
        max_enqueued_batches,
        num_batch_threads,
        splits=False,
    )
    size = rows_of(in_tensors)
    if size > max_batch_size:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Task size {size} is larger than maximum input batch size {max_batch_size}. Give "
            "fewer rows, or allow more by max_batch_size.",
        )
    number = drawn(ctx.op_name, lambda: secrets.randbits(63))
    if not size:
        return _without_rows(in_tensors, number, [[number, 0, 0]])
    name = "/".join(_text(n) or ctx.op_name for n in (shared_name, batching_queue))
    batcher = ctx.resources.lookup_or_create(_text(container), name, Batcher, lambda: _made(limits))
    numbers = np.full(size, number, np.int64)
    part = batcher.call(ctx, [*in_tensors, numbers], lambda columns, step: columns)
    if not part.keeps:
        return _without_rows(in_tensors, number)
    return [*part.outputs[:-1], _index(part.outputs[-1][: part.size]), np.asarray(number, np.int64)]


def _made(limits: Limits) -> Batcher:
    limits.check()
    return Batcher(limits)


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _without_rows(tensors: Any, number: int, index: Any = ()) -> list[Array]:
    empty = [np.asarray(t)[:0] for t in tensors]
    return [*empty, np.reshape(np.int64(index), (-1, 3)), np.asarray(number, np.int64)]


def _index(numbers: Array) -> Array:
    """A row for each call: its number, its first row and the one after its last."""
    starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
    return np.stack([numbers[starts], starts, np.append(starts[1:], len(numbers))], 1)


register_kernel("Batch", _batch, kind="host", limit=ON_HOST, blocks=True)
