"""`Batch` and its reverses: rows of several steps in one batch, and back to the steps they are of.

The kernel of `Batch` is in the runtime, which joins calls. `Unbatch` gives each call the rows that
its number has in `batch_index`: the call that has the batch leaves the others' rows for them, and
they wait until they are there. `UnbatchGrad` goes the other way: calls leave their gradients, and
the one that has the batch waits for all that it names.
"""

import threading
import time
from collections import deque
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.effects import section, switch
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.queue_waiting import wait_until
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
_HOST = 1 << 62
UNCLAIMED = 3600.0  # seconds that gradients, and who needs them, wait for each other
_SHARED = "container: string = '', shared_name: string = ''"


def _batch_shapes(c: ShapeContext) -> list[Dims]:
    found: list[Dims] = []
    for i in range(len(c.attr("T"))):
        dims = c.rank_at_least(i, 1, f"in_tensors[{i}]")
        found.append(None if dims is None else (None, *dims[1:]))
    return [*found, (None, 3), ()]


BATCH = define_op(
    "Batch(in_tensors: [T]; num_batch_threads: int, max_batch_size: int, "
    "max_enqueued_batches: int = 10, batch_timeout_micros: int, "
    "allowed_batch_sizes: list(int) = [], grad_timeout_micros: int, "
    f"{_SHARED}, batching_queue: string = '', T: list(type) >= 1) -> "
    "batched_tensors: [T], batch_index: int64, id: int64",
    shape=_batch_shapes,
    stateful=True,
    doc="The rows of several steps in one; its kernel is in the runtime.",
)


class _Exchange:
    """Rows by the number of the call that they are of. Thread-safe.

    A call whose step failed may never come for its rows, nor rows for a call that gave up. What
    nobody came for in time is dropped when the next call comes; not while effects are recorded or
    replayed, whose log has no clock. Gradients have no time of their own: they have `UNCLAIMED`.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()  # guards: rows, gone, _left, _until
        self.changed = threading.Condition(self.lock)
        self.rows: dict[int, Array] = {}
        self.gone: set[int] = set()  # calls that gave up: nobody will take what comes for them
        self._left: deque[tuple[float, int]] = deque()  # until when, the call; the oldest first
        self._until: dict[int, float] = {}  # by call: the last time that is in `_left`

    def leave(self, number: int, rows: Array, seconds: float) -> None:
        """Leaves rows for a call, for so many seconds; the caller holds the lock."""
        if number in self.gone:
            self.gone.remove(number)
        else:
            self.rows[number] = rows
            self.forget_after(number, seconds)
        self.changed.notify_all()

    def give_up(self, numbers: list[int], seconds: float) -> None:
        """Notes that nobody will come for the rows of calls; the caller holds the lock."""
        for number in numbers:
            if self.rows.pop(number, None) is None:
                self.gone.add(number)
                self.forget_after(number, seconds)

    def forget_after(self, number: int, seconds: float) -> None:
        """Drops in so many seconds what there is of a call, and now what is over."""
        if switch.log is not None:
            return
        now = time.monotonic()
        while self._left and self._left[0][0] < now:
            until, over = self._left.popleft()
            if self._until.get(over) == until:
                del self._until[over]
                self.rows.pop(over, None)
                self.gone.discard(over)
        self._until[number] = now + seconds
        self._left.append((now + seconds, number))


def _exchange(ctx: KernelContext, container: Any, shared_name: Any) -> _Exchange:
    names = [n.decode() if isinstance(n, bytes) else n for n in (container, shared_name)]
    found: _Exchange = ctx.resources.lookup_or_create(
        names[0], names[1] or ctx.op_name, _Exchange, _Exchange
    )
    return found


def _invalid(sentence: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, sentence)


def _checked(rows: Array, index: Array, number: Array) -> int:
    """The number of the call, after what no shape rule saw is refused."""
    if np.ndim(number):
        raise _invalid(f"Input id should be scalar; Got: shape {d.text(np.shape(number))}.")
    if index.ndim != 2 or index.shape[1] != 3:
        raise _invalid(
            "Wrong shape for index tensor: expected [calls, 3], a number, a start and an end for "
            f"each; Got: {d.text(index.shape)}."
        )
    if index.size and not rows.ndim:
        raise _invalid("Batched tensor must have at least one dimension, got a scalar.")
    return int(number)


def _unbatch_shape(c: ShapeContext) -> Dims:
    dims = c.shape(0)
    return None if dims is None or not dims else (None, *dims[1:])


UNBATCH = define_op(
    "Unbatch(batched_tensor: T, batch_index: int64, id: int64; timeout_micros: int, "
    f"{_SHARED}, T: type) -> unbatched_tensor: T",
    shape=_unbatch_shape,
    stateful=True,
    fallible=True,
    doc="The rows of a batch that are of this step.",
)


@host_kernel(UNBATCH, limit=_HOST, blocks=True)
def _unbatch(
    ctx: KernelContext, rows: Array, index: Array, number: Array, *, timeout_micros: int,
    container: Any, shared_name: Any,
) -> Array:  # fmt: skip
    mine = _checked(rows, index, number)
    exchange = _exchange(ctx, container, shared_name)
    if len(index) and (index[:, 2] - index[:, 1]).sum() > len(rows):
        raise _invalid(
            f"Sum of split sizes must not exceed dim0-size of input tensor: {len(rows)} rows, got "
            f"the index {index.tolist()}."
        )
    with section(ctx, exchange):
        for call, start, stop in index.tolist():
            exchange.leave(call, rows[start:stop], timeout_micros / 1e6)
        found = exchange.rows.pop(mine, None)
        if found is None:
            _wait(ctx, exchange, [mine], timeout_micros / 1e6, "its part of a batch")
            found = exchange.rows.pop(mine)
    return found


def _wait(
    ctx: KernelContext, exchange: _Exchange, numbers: list[int], seconds: float, what: str
) -> None:
    """Waits for the rows of calls; the caller holds the lock.

    Raises:
      DeadlineExceededError: they did not come in time.
    """
    expired = threading.Event()

    def ring() -> None:
        with exchange.changed:
            expired.set()
            exchange.changed.notify_all()

    def all_there() -> bool:
        return all(number in exchange.rows for number in numbers)

    timer = threading.Timer(min(max(seconds, 0.0), threading.TIMEOUT_MAX), ring)
    timer.daemon = True
    timer.name = "unbatch timeout"  # effects know threads by rank among those of one name
    timer.start()
    try:
        wait_until(ctx, exchange.changed, lambda: all_there() or expired.is_set(), what)
        if all_there():
            return
        raise errors.DeadlineExceededError(
            None,
            None,
            f"Batched data did not arrive within timeout window: {seconds * 1e6:.0f} microseconds."
            " Let each step run both Batch and Unbatch, with a timeout_micros that is long enough;"
            f" for gradients it is {UNCLAIMED:.0f} seconds.",
        )
    except BaseException:
        exchange.give_up(numbers, seconds)
        raise
    finally:
        timer.cancel()


def _unbatch_grad_shape(c: ShapeContext) -> Dims:
    dims = c.shape(2)
    return None if not dims else (None, *dims[1:])


UNBATCH_GRAD = define_op(
    f"UnbatchGrad(original_input: T, batch_index: int64, grad: T, id: int64; {_SHARED}, T: type) "
    "-> batched_grad: T",
    shape=_unbatch_grad_shape,
    stateful=True,
    fallible=True,
    doc="The gradients of the steps in a batch, for the one that has it; no rows for the others.",
).without_gradient("what a batch holds besides differs from call to call")


@host_kernel(UNBATCH_GRAD, limit=_HOST, blocks=True)
def _unbatch_grad(
    ctx: KernelContext, original: Array, index: Array, grad: Array, number: Array, *,
    container: Any, shared_name: Any,
) -> Array:  # fmt: skip
    mine = _checked(original, index, number)
    if not grad.ndim:
        raise _invalid("The gradient must have at least one dimension, got a scalar.")
    exchange = _exchange(ctx, container, shared_name)
    calls = index[:, 0].tolist()
    with section(ctx, exchange):
        exchange.leave(mine, grad, UNCLAIMED)
        if not calls:
            return np.zeros((0, *original.shape[1:]), original.dtype)
        if not all(call in exchange.rows for call in calls):
            _wait(ctx, exchange, calls, UNCLAIMED, "the gradients of its batch")
        parts = [exchange.rows.pop(call) for call in calls]
    return np.concatenate(parts)


@BATCH.gradient
def _batch_gradient(op: Any, *grads: Any) -> list[Any]:
    index, number = op.outputs[-2:]
    attrs = {"timeout_micros": op.get_attr("grad_timeout_micros")}
    return [
        execute(
            UNBATCH,
            (grad, index, number),
            {**attrs, "shared_name": f"batch_gradient_{op.name}_{i}"},
            None,
        )
        for i, grad in enumerate(grads[:-2])
    ]


@UNBATCH.gradient
def _unbatch_gradient(op: Any, grad: Any) -> list[Any]:
    rows, index, number = op.inputs
    shared = {"shared_name": f"unbatch_gradient_{op.name}"}
    return [execute(UNBATCH_GRAD, (rows, index, grad, number), shared, None), None, None]
