"""Iterators that deal out the elements of one dataset to several devices.

Element number `k` is that of shard `k % n`. A shard that asks takes elements of the dataset until
there is one for it; those of the others wait for them.
"""

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.core import shapes
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.resources import OWN, ResourceHandle
from penstock.data.iterating import IteratorState, end_of_sequence
from penstock.data.operations import HOST, TYPES, attr_text, held, number
from penstock.data.stages import Array, Element
from penstock.ops.queue_waiting import make_handle
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_WHY = "what an iterator gives is no function of its handle"


class MultiDeviceState:
    """An iterator with shards. Thread-safe.

    Args:
      name: what errors call it.
      devices: one for each shard.
      types: the dtypes of the components.
      shapes_: their static shapes.
    """

    def __init__(
        self, name: str, devices: Sequence[Any], types: Sequence[DType], shapes_: Sequence[Dims]
    ) -> None:
        self.count = len(devices)
        self.inner = IteratorState(name, types, shapes_)
        self._lock = threading.Lock()  # guards: all that follow
        self._incarnation = 0
        self._waiting: list[deque[Element]] = [deque() for _ in devices]
        self._next = 0

    def begin(self, dataset: Any, ctx: KernelContext) -> int:
        """Begins before the first element; the number of this beginning."""
        with self._lock:
            self.inner.begin(held(dataset), ctx.resources)
            self._waiting = [deque() for _ in self._waiting]
            self._next = 0
            self._incarnation += 1
            return self._incarnation

    def next(self, shard: int, incarnation: int, ctx: KernelContext) -> Element | None:
        """The next element of a shard; None behind its last.

        Raises:
          InvalidArgumentError: there is no such shard, or it was begun again since.
        """
        if not 0 <= shard < self.count:
            raise errors.InvalidArgumentError(
                None, None, f"Requested shard {shard}: expected one from 0 to {self.count - 1}."
            )
        with self._lock:
            if incarnation != self._incarnation:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Invalid incarnation id: expected {self._incarnation}, that of the last"
                    f" MultiDeviceIteratorInit, got {incarnation}.",
                )
            while not self._waiting[shard]:
                found = self.inner.next_in(ctx)
                if found is None:
                    return None
                self._waiting[self._next].append(found)
                self._next = (self._next + 1) % self.count
            return self._waiting[shard].popleft()

    def close(self) -> None:
        """Ends what runs ahead for it."""
        self.inner.close()


def _define(text: str, doc: str, shape: Any = shapes.scalar) -> Any:
    op = define_op(text, shape=shape, stateful=True, fallible=True, doc=doc)
    return op.not_differentiable(_WHY)


_DEVICES = f"devices: list(string) >= 1, {TYPES}"
SHARED = _define(
    f"MultiDeviceIterator(; devices: list(string) >= 1, shared_name: string, container: string,"
    f" {TYPES}) -> handle: resource",
    "An iterator with a shard for each device.",
)
ANONYMOUS_V2 = _define(
    f"AnonymousMultiDeviceIterator(; {_DEVICES}) -> (handle: resource, deleter: variant)",
    "An iterator with a shard for each device, and what deletes it.",
    lambda c: [(), ()],
)
ANONYMOUS = _define(
    f"AnonymousMultiDeviceIteratorV3(; {_DEVICES}) -> handle: resource",
    "An iterator with a shard for each device.",
)
INIT = _define(
    "MultiDeviceIteratorInit(dataset: variant, multi_device_iterator: resource, max_buffer_size:"
    " int64) -> incarnation_id: int64",
    "Has an iterator with shards begin before the first element of a dataset.",
)
GET_NEXT = _define(
    f"MultiDeviceIteratorGetNextFromShard(multi_device_iterator: resource, shard_num: int32,"
    f" incarnation_id: int64; {TYPES}) -> components: [output_types]",
    "The next element of a shard.",
    lambda c: list(c.attr("output_shapes")),
)
TO_STRING = _define(
    "MultiDeviceIteratorToStringHandle(multi_device_iterator: resource) -> string_handle: string",
    "A string that names an iterator with shards.",
)
FROM_STRING = _define(
    "MultiDeviceIteratorFromStringHandle(string_handle: string; output_types: list(type) >= 0 ="
    " [], output_shapes: list(shape) >= 0 = []) -> multi_device_iterator: resource",
    "The iterator with shards that a string names.",
)
DELETE = _define(
    "DeleteMultiDeviceIterator(multi_device_iterator: resource, iterators: N * resource, deleter:"
    " variant; N: int >= 0) -> ()",
    "Ends an iterator with shards.",
    shapes.no_output,
)


@host_kernel(SHARED, limit=HOST)
def _shared(
    ctx: KernelContext, *, devices: Any, shared_name: Any, container: Any, output_types: Any,
    output_shapes: Any,
) -> ResourceHandle:  # fmt: skip
    def create(name: str) -> MultiDeviceState:
        return MultiDeviceState(name, devices, output_types, output_shapes)

    return make_handle(ctx, attr_text(container), attr_text(shared_name), MultiDeviceState, create)


def _made(devices: Any, types: Any, shapes_: Any) -> ResourceHandle:
    state = MultiDeviceState("iterator", devices, types, shapes_)
    return ResourceHandle("", "AnonymousMultiDeviceIterator", state)


@host_kernel(ANONYMOUS, limit=HOST)
def _anonymous(*, devices: Any, output_types: Any, output_shapes: Any) -> ResourceHandle:
    return _made(devices, output_types, output_shapes)


@host_kernel(ANONYMOUS_V2, limit=HOST)
def _anonymous_v2(*, devices: Any, output_types: Any, output_shapes: Any) -> list[Any]:
    handle = _made(devices, output_types, output_shapes)
    return [handle, handle]


def _state(handle: Any) -> MultiDeviceState:
    found = _handle(handle).resource
    if not isinstance(found, MultiDeviceState):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"expected the handle of a MultiDeviceIterator, got {found!r}.",
        )
    return found


def _handle(value: Any) -> ResourceHandle:
    found: ResourceHandle = value.item() if isinstance(value, np.ndarray) else value
    return found


@host_kernel(INIT, limit=HOST, blocks=True)
def _init(
    ctx: KernelContext, dataset: Array, multi_device_iterator: Any, max_buffer_size: Array
) -> Array:
    del max_buffer_size  # elements wait for their shard, however many
    return np.asarray(_state(multi_device_iterator).begin(dataset, ctx), np.int64)


@host_kernel(GET_NEXT, limit=HOST, blocks=True)
def _get_next(
    ctx: KernelContext, multi_device_iterator: Any, shard_num: Array, incarnation_id: Array
) -> Sequence[Array]:
    state = _state(multi_device_iterator)
    found = state.next(number(shard_num), number(incarnation_id), ctx)
    if found is None:
        raise end_of_sequence()
    return list(found)


@host_kernel(TO_STRING, limit=HOST)
def _to_string(multi_device_iterator: Any) -> Any:
    _state(multi_device_iterator)
    found = _handle(multi_device_iterator)
    message = proto.resource_handle_pb2.ResourceHandleProto(
        container=found.container, name=found.name
    )
    return np.array(message.SerializeToString(), object)


@host_kernel(FROM_STRING, limit=HOST)
def _from_string(ctx: KernelContext, string_handle: Any) -> ResourceHandle:
    data: Any = np.asarray(string_handle, object).reshape(())[()]
    try:
        message = proto.resource_handle_pb2.ResourceHandleProto.FromString(data)
    except Exception:
        raise errors.InvalidArgumentError(
            None, None, f"expected the string of a MultiDeviceIterator, got {data!r}."
        ) from None
    own = ctx.step.state.get(OWN) if ctx.step is not None else None
    for manager in (own, ctx.resources):
        found = None if manager is None else manager.lookup(message.container, message.name)
        if isinstance(found, MultiDeviceState):
            return ResourceHandle(message.container, message.name, found)
    raise errors.NotFoundError(
        None, None, f"expected the name of a MultiDeviceIterator here, got {message.name!r}."
    )


@host_kernel(DELETE, limit=HOST, reentrant=True)
def _delete(multi_device_iterator: Any, iterators: list[Any], deleter: Any) -> None:
    _state(multi_device_iterator).close()
