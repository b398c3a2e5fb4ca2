"""Operations on queues: make one, put, take, close, ask.

A handle refers to a `QueueState` (`queue_state`), shared by container and name. Kernels are
`blocks`: those that wait hold no worker of the executor. Operations of TensorFlow 1 that name a
queue by a string reference are put in terms of these by the planner.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.resources import ResourceHandle
from penstock.core.shapes import ShapeContext
from penstock.ops import queue_saving
from penstock.ops.queue_kinds import FifoQueue, PaddingFifoQueue, PriorityQueue, ShuffleQueue
from penstock.ops.queue_state import QueueState
from penstock.ops.queue_waiting import make_handle
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray

_HOST = 1 << 62  # queues live on the host
_SHARED = "container: string = '', shared_name: string = ''"
_USUAL = "component_types: list(type) >= 1, shapes: list(shape) >= 0 = [], capacity: int = -1"
_WHY = "what a queue holds is no function of its handle"


def define_pair(head: str, tail: str, doc: str) -> OpDef:
    """The operation that makes a queue, in both forms: a resource, and a string reference."""
    name, attrs = head.partition("(")[::2]
    define_op(
        f"{name}({attrs}{tail}) -> ref handle: string",
        shape=lambda c: (2,),
        stateful=True,
        doc=f"{doc} The handle is a reference, as in TensorFlow 1.",
    ).not_differentiable("it has no inputs")
    return define_op(
        f"{name}V2({attrs}{tail}) -> handle: resource",
        shape=shapes.scalar,
        stateful=True,
        doc=doc,
    ).not_differentiable("it has no inputs")


def _shared(
    ctx: KernelContext, create: Callable[..., QueueState], kind: type, extra: tuple[Any, ...] = ()
) -> ResourceHandle:
    attrs = ctx.attrs
    types, dims = tuple(attrs["component_types"]), tuple(attrs["shapes"])
    if kind is PriorityQueue:
        types, dims = (dt.int64, *types), ((), *dims) if dims or not types else ()
    if dims and len(dims) != len(types):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{ctx.op_name}: expected as many shapes as component types, or none, got "
            f"{len(dims)} shapes and {len(types)} types.",
        )
    handle = make_handle(
        ctx,
        attrs["container"],
        attrs["shared_name"],
        QueueState,
        lambda name: create(name, types, dims, attrs["capacity"], *extra),
    )
    _check_same(handle, kind, types, dims, max(attrs["capacity"], -1))
    return handle


def _check_same(handle: ResourceHandle, kind: type, types: Any, dims: Any, capacity: int) -> None:
    """Raises InvalidArgumentError when a queue of that name is another one."""
    queue = handle.resource
    for what, found, wanted in (
        ("kind", type(queue).kind, kind.kind),  # type: ignore[attr-defined]
        ("capacity", queue.capacity, capacity),
        ("component types", [t.name for t in queue.dtypes], [t.name for t in types]),
        ("component shapes", [d.text(s) for s in queue.shapes], [d.text(s) for s in dims]),
    ):
        if found != wanted:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Shared queue '{handle.name}' has {what} {found} but requested {what} was "
                f"{wanted}. Give one of the queues another shared_name.",
            )


FIFO = define_pair(
    "FIFOQueue(; ", f"{_USUAL}, {_SHARED}", "A queue: first in, first out; shared by name."
)
PADDING = define_pair(
    "PaddingFIFOQueue(; ",
    f"{_USUAL}, {_SHARED}",
    "A queue: first in, first out, that pads elements of open dimensions to make a batch.",
)
SHUFFLE = define_pair(
    "RandomShuffleQueue(; ",
    f"{_USUAL}, min_after_dequeue: int = 0, seed: int = 0, seed2: int = 0, {_SHARED}",
    "A queue whose elements are taken in random order.",
)
PRIORITY = define_pair(
    "PriorityQueue(; ",
    "component_types: list(type) >= 0 = [], shapes: list(shape) >= 0, capacity: int = -1, "
    + _SHARED,
    "A queue whose elements are taken by the number in component 0, the smallest first.",
)


@host_kernel(FIFO, limit=_HOST)
def _fifo(ctx: KernelContext) -> ResourceHandle:
    return _shared(ctx, FifoQueue, FifoQueue)


@host_kernel(PADDING, limit=_HOST)
def _padding(ctx: KernelContext) -> ResourceHandle:
    types, dims = ctx.attrs["component_types"], ctx.attrs["shapes"]
    if len(dims) != len(types) or any(s is None for s in dims):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{ctx.op_name}: shapes.size() must match the number of component types, and each "
            f"have a known rank: expected {len(types)} such shapes, got "
            f"{[d.text(s) for s in dims]}. Leave open dimensions None.",
        )
    return _shared(ctx, PaddingFifoQueue, PaddingFifoQueue)


@host_kernel(SHUFFLE, limit=_HOST)
def _shuffle(ctx: KernelContext) -> ResourceHandle:
    minimum, capacity = ctx.attrs["min_after_dequeue"], ctx.attrs["capacity"]
    if minimum < 0 or 0 <= capacity <= minimum:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{ctx.op_name}: expected min_after_dequeue >= 0 and below the capacity "
            f"({capacity}), got {minimum}. With so many left behind nothing could be taken.",
        )
    seeds = (ctx.attrs["seed"], ctx.attrs["seed2"])
    return _shared(ctx, ShuffleQueue, ShuffleQueue, (minimum, seeds))


@host_kernel(PRIORITY, limit=_HOST)
def _priority(ctx: KernelContext) -> ResourceHandle:
    return _shared(ctx, PriorityQueue, PriorityQueue)


def queue_of(handle: Any) -> QueueState:
    """The queue that a handle refers to.

    Raises:
      InvalidArgumentError: it refers to something else.
    """
    found = getattr(handle, "resource", None)
    if not isinstance(found, QueueState):
        raise errors.InvalidArgumentError(
            None, None, f"expected the handle of a queue, got {handle!r}. Pass its queue_ref."
        )
    return found


# ---- operations on one: in both forms


def define_on_handle(text: str, doc: str, shape: Any) -> OpDef:
    """An operation `NameV2(handle: resource...)`, and the older `Name(ref handle: string...)`."""
    head, _, rest = text.partition("(handle: resource")
    define_op(
        f"{head.removesuffix('V2')}(ref handle: string{rest}",
        shape=shape,
        doc=f"{doc} The handle is a reference, as in TensorFlow 1.",
    ).not_differentiable(_WHY)
    return define_op(text, shape=shape, stateful=True, doc=doc).not_differentiable(_WHY)


def _components_unknown(c: ShapeContext) -> list[Dims]:
    return [None] * len(c.attr("component_types"))


def _batches_unknown(c: ShapeContext) -> list[Dims]:
    c.rank(1, 0, "n")
    n = c.constant(1)
    if n is not None and n < 0:
        c.fail("n >= 0", f"{int(n)}", "Input 'n' must be >= 0: give the number of elements.")
    return _components_unknown(c)


ENQUEUE = define_on_handle(
    "QueueEnqueueV2(handle: resource, components: [Tcomponents]; Tcomponents: list(type) >= 1, "
    "timeout_ms: int = -1) -> ()",
    "Puts an element into a queue; waits for room.",
    shapes.no_output,
)
ENQUEUE_MANY = define_on_handle(
    "QueueEnqueueManyV2(handle: resource, components: [Tcomponents]; Tcomponents: list(type) >= 1,"
    " timeout_ms: int = -1) -> ()",
    "Puts elements, those along the first dimension, into a queue; waits for room.",
    shapes.no_output,
)
DEQUEUE = define_on_handle(
    "QueueDequeueV2(handle: resource; component_types: list(type) >= 1, timeout_ms: int = -1) -> "
    "components: [component_types]",
    "Takes an element from a queue; waits for it.",
    _components_unknown,
)
DEQUEUE_MANY = define_on_handle(
    "QueueDequeueManyV2(handle: resource, n: int32; component_types: list(type) >= 1, timeout_ms: "
    "int = -1) -> components: [component_types]",
    "Takes n elements from a queue as a batch; waits for them.",
    _batches_unknown,
)
DEQUEUE_UP_TO = define_on_handle(
    "QueueDequeueUpToV2(handle: resource, n: int32; component_types: list(type) >= 1, timeout_ms: "
    "int = -1) -> components: [component_types]",
    "Takes n elements from a queue as a batch, or what is left when it is closed.",
    _batches_unknown,
)
CLOSE = define_on_handle(
    "QueueCloseV2(handle: resource; cancel_pending_enqueues: bool = False) -> ()",
    "Closes a queue: puts are refused from now on, what is in it can be taken.",
    shapes.no_output,
)
SIZE = define_on_handle(
    "QueueSizeV2(handle: resource) -> size: int32", "How many elements are in a queue.",
    shapes.scalar,
)  # fmt: skip
IS_CLOSED = define_on_handle(
    "QueueIsClosedV2(handle: resource) -> is_closed: bool",
    "Whether a queue is closed.",
    shapes.scalar,
)


@host_kernel(ENQUEUE, limit=_HOST, blocks=True)
def _enqueue(ctx: KernelContext, handle: Any, components: list[Array]) -> None:
    _no_timeout(ctx)
    queue_of(handle).enqueue(ctx, components)


@host_kernel(ENQUEUE_MANY, limit=_HOST, blocks=True)
def _enqueue_many(ctx: KernelContext, handle: Any, components: list[Array]) -> None:
    _no_timeout(ctx)
    queue_of(handle).enqueue_many(ctx, components)


@host_kernel(DEQUEUE, limit=_HOST, blocks=True)
def _dequeue(ctx: KernelContext, handle: Any) -> list[Array]:
    _no_timeout(ctx)
    return queue_of(handle).dequeue(ctx)


@host_kernel(DEQUEUE_MANY, limit=_HOST, blocks=True)
def _dequeue_many(ctx: KernelContext, handle: Any, n: Array) -> list[Array]:
    _no_timeout(ctx)
    return queue_of(handle).dequeue_many(ctx, int(n))


@host_kernel(DEQUEUE_UP_TO, limit=_HOST, blocks=True)
def _dequeue_up_to(ctx: KernelContext, handle: Any, n: Array) -> list[Array]:
    _no_timeout(ctx)
    return queue_of(handle).dequeue_many(ctx, int(n), fewer=True)


@host_kernel(CLOSE, limit=_HOST, blocks=True)
def _close(ctx: KernelContext, handle: Any, *, cancel_pending_enqueues: bool) -> None:
    queue_of(handle).close_for_puts(ctx, cancel_pending_enqueues)


@host_kernel(SIZE, limit=_HOST)
def _size(handle: Any) -> Array:
    return np.asarray(queue_of(handle).length, np.int32)


@host_kernel(IS_CLOSED, limit=_HOST)
def _is_closed(handle: Any) -> Array:
    return np.asarray(queue_of(handle).closed)


def _no_timeout(ctx: KernelContext) -> None:
    if ctx.attrs["timeout_ms"] != -1:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{ctx.op_name}: Timeout not supported yet: expected timeout_ms=-1, got "
            f"{ctx.attrs['timeout_ms']}. Use RunOptions(timeout_in_ms=...).",
        )


# ---- contents, for checkpoints

SAVE = define_op(
    "PenstockQueueState(handle: resource) -> state: string",
    shape=lambda c: (None,),
    stateful=True,
    doc="The contents of a queue.",
).not_differentiable("contents are strings")


@host_kernel(SAVE, limit=_HOST)
def _save(handle: Any) -> Array:
    return np.array(queue_saving.save(queue_of(handle)), object)


RESTORE = define_op(
    "PenstockRestoreQueue(handle: resource, state: string) -> ()",
    shape=shapes.no_output,
    stateful=True,
    doc="Gives a queue the contents that PenstockQueueState wrote.",
).not_differentiable("it has no outputs")


@host_kernel(RESTORE, limit=_HOST)
def _restore(handle: Any, state: Array) -> None:
    queue_saving.restore(queue_of(handle), state.reshape(-1).tolist())
