"""Operations on the iterators of graphs: one-shot ones, handles as strings, devices.

A handle as a string is a serialized ResourceHandleProto. It names the iterator in the resources of
the session, or of the task, that it came from; elsewhere it names nothing.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.core import shapes
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.resources import OWN, ResourceHandle
from penstock.data.iterating import IteratorState, SavedState, anonymous, state_of
from penstock.data.operations import HOST, TYPES, Mapped, attr_text, held
from penstock.data.run import Run
from penstock.ops.queue_waiting import make_handle
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_WHY = "an iterator's handle is no number"

ONE_SHOT = define_op(
    f"OneShotIterator(; dataset_factory: func, {TYPES}, container: string = '', shared_name:"
    " string = '') -> handle: resource",
    shape=shapes.scalar,
    stateful=True,
    fallible=True,
    doc="An iterator of the dataset that a function without arguments makes.",
).not_differentiable(_WHY)
ONE_SHOT.calls = True


@host_kernel(ONE_SHOT, limit=HOST)
def _one_shot(
    ctx: KernelContext, *, dataset_factory: Any, output_types: Any, output_shapes: Any,
    container: Any, shared_name: Any,
) -> ResourceHandle:  # fmt: skip
    def create(name: str) -> IteratorState:
        state = IteratorState(name, output_types, output_shapes)
        made = Mapped(dataset_factory, ()).bind(Run(ctx.resources))(())
        state.begin(held(made[0]), ctx.resources)
        return state

    return make_handle(ctx, attr_text(container), attr_text(shared_name), IteratorState, create)


ANONYMOUS_V1 = define_op(
    f"AnonymousIterator(; {TYPES}) -> handle: resource",
    shape=shapes.scalar,
    stateful=True,
    doc="An iterator that nobody else can name, without a dataset.",
).not_differentiable(_WHY)
ANONYMOUS_V2 = define_op(
    f"AnonymousIteratorV2(; {TYPES}) -> (handle: resource, deleter: variant)",
    shape=lambda c: [(), ()],
    stateful=True,
    doc="An iterator that nobody else can name, without a dataset, and what deletes it.",
).not_differentiable(_WHY)
DELETE = define_op(
    "DeleteIterator(handle: resource, deleter: variant) -> ()",
    shape=shapes.no_output,
    stateful=True,
    doc="Ends an iterator.",
).not_differentiable(_WHY)


@host_kernel(ANONYMOUS_V1, limit=HOST)
def _anonymous_v1(*, output_types: Any, output_shapes: Any) -> ResourceHandle:
    return anonymous(output_types, output_shapes)


@host_kernel(ANONYMOUS_V2, limit=HOST)
def _anonymous_v2(*, output_types: Any, output_shapes: Any) -> list[Any]:
    handle = anonymous(output_types, output_shapes)
    return [handle, Deleter(handle)]


class Deleter:
    """What the variant beside an iterator's handle holds."""

    __slots__ = ("handle",)

    def __init__(self, handle: ResourceHandle) -> None:
        self.handle = handle


@host_kernel(DELETE, limit=HOST, reentrant=True)
def _delete(handle: Any, deleter: Any) -> None:
    del deleter
    state_of(handle).close()


# ---- handles as strings

TO_STRING = define_op(
    "IteratorToStringHandle(resource_handle: resource) -> string_handle: string",
    shape=shapes.scalar,
    stateful=True,
    fallible=True,
    doc="A string that names an iterator.",
).not_differentiable(_WHY)
_FROM = (
    "(string_handle: string; output_types: list(type) >= 0 = [], output_shapes: list(shape) >= 0 ="
    " []) -> resource_handle: resource"
)
FROM_STRING = define_op(
    f"IteratorFromStringHandle{_FROM}",
    shape=shapes.scalar,
    stateful=True,
    fallible=True,
    doc="The iterator that a string names.",
).not_differentiable(_WHY)
FROM_STRING_V2 = define_op(
    f"IteratorFromStringHandleV2{_FROM}",
    shape=shapes.scalar,
    stateful=True,
    fallible=True,
    doc="The iterator that a string names.",
).not_differentiable(_WHY)
GET_DEVICE = define_op(
    "IteratorGetDevice(resource: resource) -> device: string",
    shape=shapes.scalar,
    stateful=True,
    fallible=True,
    doc="The device of an iterator.",
).not_differentiable(_WHY)
OLD_GET_DEVICE = define_op(
    "ExperimentalIteratorGetDevice(resource: resource) -> device: string",
    shape=shapes.scalar,
    stateful=True,
    fallible=True,
    doc="The device of an iterator.",
).not_differentiable(_WHY)

_KIND = "N10tensorflow4data16IteratorResourceE"  # what TensorFlow calls the class of iterators


@host_kernel(TO_STRING, limit=HOST)
def _to_string(ctx: KernelContext, resource_handle: Any) -> Any:
    state_of(resource_handle)
    found = _handle(resource_handle)
    message = proto.resource_handle_pb2.ResourceHandleProto(
        device=_device(ctx), container=found.container, name=found.name, maybe_type_name=_KIND
    )
    return np.array(message.SerializeToString(), object)


def _handle(value: Any) -> ResourceHandle:
    found: ResourceHandle = value.item() if isinstance(value, np.ndarray) else value
    return found


def _device(ctx: KernelContext) -> str:
    return f"{ctx.resources.task}/device:CPU:0"


@host_kernel(FROM_STRING, limit=HOST)
@host_kernel(FROM_STRING_V2, limit=HOST)
def _from_string(
    ctx: KernelContext,
    string_handle: Any,
    *,
    output_types: Sequence[DType],
    output_shapes: Sequence[Dims],
) -> ResourceHandle:
    data: Any = np.asarray(string_handle, object).reshape(())[()]
    try:
        message = proto.resource_handle_pb2.ResourceHandleProto.FromString(data)
        if not message.name:
            raise ValueError("it names nothing")
    except Exception:
        raise errors.InvalidArgumentError(
            None,
            None,
            "string_handle does not represent a valid resource handle: expected what the"
            f" string_handle() of an iterator gave in this session, got {data!r}.",
        ) from None
    found = _found(ctx, message)
    _check_kind(found, output_types, output_shapes)
    return ResourceHandle(message.container, message.name, found)


def _found(ctx: KernelContext, message: Any) -> IteratorState:
    managers = [ctx.resources]
    if ctx.step is not None and OWN in ctx.step.state:
        managers.insert(0, ctx.step.state[OWN])
    for manager in managers:
        found = manager.lookup(message.container, message.name)
        if isinstance(found, IteratorState):
            return found
    raise errors.NotFoundError(
        None,
        None,
        f"Resource {message.container or 'localhost'}/{message.name} does not exist: expected an"
        " iterator of this session. Evaluate its string_handle() in the same session.",
    )


def _check_kind(found: IteratorState, types: Sequence[DType], wanted: Sequence[Dims]) -> None:
    fits = not types or tuple(types) == found.types
    fits = fits and (
        not wanted
        or (
            len(wanted) == len(found.shapes)
            and all(d.compatible(a, b) for a, b in zip(wanted, found.shapes, strict=True))
        )
    )
    if not fits:
        raise errors.InvalidArgumentError(
            None,
            None,
            "Number of components or their types do not match: the iterator of the string handle"
            f" has elements of types [{', '.join(t.name for t in found.types)}] and shapes"
            f" [{', '.join(map(d.text, found.shapes))}]: expected"
            f" [{', '.join(t.name for t in types)}] and [{', '.join(map(d.text, wanted))}].",
        )


@host_kernel(GET_DEVICE, limit=HOST)
@host_kernel(OLD_GET_DEVICE, limit=HOST)
def _get_device(ctx: KernelContext, resource: Any) -> Any:
    state_of(resource)
    return np.array(_device(ctx).encode(), object)


# ---- states as strings, for savers of graphs

STATE_TO_STRING = define_op(
    "PenstockIteratorState(serialized: variant) -> state: string",
    shape=shapes.scalar,
    fallible=True,
    doc="The bytes of what SerializeIterator gave.",
).not_differentiable("bytes are no numbers")
STATE_FROM_STRING = define_op(
    "PenstockIteratorStateFromString(state: string) -> serialized: variant",
    shape=shapes.scalar,
    fallible=True,
    doc="What DeserializeIterator takes, of the bytes of PenstockIteratorState.",
).not_differentiable("bytes are no numbers")


@host_kernel(STATE_TO_STRING, limit=HOST)
def _state_to_string(serialized: Any) -> Any:
    found = serialized.item() if isinstance(serialized, np.ndarray) else serialized
    return np.array(found.data, object)


@host_kernel(STATE_FROM_STRING, limit=HOST)
def _state_from_string(state: Any) -> SavedState:
    data: Any = np.asarray(state, object).reshape(())[()]
    return SavedState(data)
