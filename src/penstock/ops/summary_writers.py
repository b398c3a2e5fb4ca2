"""Operations on summary writers: make one, write to it, flush and close it.

A writer is a resource; `WriterResource` holds its event file from `CreateSummaryFileWriter` to
`CloseSummaryWriter`. The operations run on the host. In a function they keep program order, as
everything that touches a resource does.

The public functions are in `penstock.summary`.
"""

import os
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.core import shapes
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.resources import ResourceHandle
from penstock.graph.tensor_proto import array_to_proto
from penstock.ops.event_file import EventFile

Array = Any  # numpy.ndarray


class WriterResource:
    """Where a writer's events go; `file` is None before it is created and after it is closed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.file: EventFile | None = None

    def close(self) -> None:
        """Writes what is left and closes the file; may be called twice."""
        file, self.file = self.file, None
        if file is not None:
            file.close()


def _define(text: str, doc: str, **options: Any) -> OpDef:
    op = define_op(text, stateful=True, doc=doc, **{"shape": shapes.no_output, **options})
    return op.not_differentiable("it writes a log")


WRITER = _define(
    "SummaryWriter(; shared_name: string = '', container: string = '') -> writer: resource",
    "The handle of the summary writer with this container and name; made when there is none.",
    shape=shapes.scalar,
)
CREATE = _define(
    "CreateSummaryFileWriter(writer: resource, logdir: string, max_queue: int32, "
    "flush_millis: int32, filename_suffix: string) -> ",
    "Opens an event file for a summary writer, unless it has one.",
)
WRITE = _define(
    "WriteSummary(writer: resource, step: int64, tensor: T, tag: string, "
    "summary_metadata: string; T: type) -> ",
    "Writes a tensor under a tag, with metadata: a serialised SummaryMetadata, or nothing.",
)
WRITE_RAW = _define(
    "WriteRawProtoSummary(writer: resource, step: int64, tensor: string) -> ",
    "Writes serialised Summary messages as they are.",
)
WRITE_GRAPH = _define(
    "WriteGraphSummary(writer: resource, step: int64, tensor: string) -> ",
    "Writes a serialised GraphDef.",
)
IMPORT_EVENT = _define(
    "ImportEvent(writer: resource, event: string) -> ", "Writes a serialised Event as it is."
)
FLUSH = _define(
    "FlushSummaryWriter(writer: resource) -> ", "Writes what a summary writer holds in memory."
)
CLOSE = _define("CloseSummaryWriter(writer: resource) -> ", "Flushes and closes a summary writer.")


@host_kernel(WRITER)
def _writer(ctx: KernelContext, *, shared_name: str, container: str) -> ResourceHandle:
    name = shared_name or ctx.op_name
    resource = ctx.resources.lookup_or_create(
        container, name, WriterResource, lambda: WriterResource(name)
    )
    return ResourceHandle(container, name, resource)


def _as_writer(handle: ResourceHandle) -> WriterResource:
    resource = handle.resource
    if not isinstance(resource, WriterResource):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"expected the resource of a summary writer, got {handle!r}. Make one with "
            "tf.summary.create_file_writer.",
        )
    return resource


def _file(handle: ResourceHandle) -> EventFile:
    resource = _as_writer(handle)
    if resource.file is None:
        raise errors.FailedPreconditionError(
            None,
            None,
            f"summary writer {resource.name!r}: expected one that is open, got one that was not "
            "created yet or is closed. Run its init() first.",
        )
    return resource.file


@host_kernel(CREATE)
def _create(
    writer: ResourceHandle,
    logdir: Array,
    max_queue: Array,
    flush_millis: Array,
    filename_suffix: Array,
) -> None:
    resource = _as_writer(writer)
    if resource.file is None:
        folder, suffix = os.fsdecode(logdir.item()), os.fsdecode(filename_suffix.item())
        resource.file = EventFile(folder, int(max_queue), int(flush_millis), suffix)


@host_kernel(WRITE)
def _write(
    writer: ResourceHandle,
    step: Array,
    tensor: Array,
    tag: Array,
    summary_metadata: Array,
    *,
    T: Any,
) -> None:
    event = proto.event_pb2.Event(step=int(step))
    value = event.summary.value.add(tag=tag.item())
    value.tensor.CopyFrom(array_to_proto(tensor, T))
    if summary_metadata.item():
        value.metadata.ParseFromString(summary_metadata.item())
    _file(writer).add(event)


def _parsed(message: Any, data: bytes, op_name: str) -> Any:
    try:
        message.ParseFromString(data)
    except proto.message.DecodeError as problem:
        kind = message.DESCRIPTOR.name
        raise errors.DataLossError(
            None, None, f"{op_name}: expected a serialised {kind}, got {len(data)} bytes that are "
            f"none ({problem})."
        ) from None  # fmt: skip
    return message


@host_kernel(WRITE_RAW)
def _write_raw(writer: ResourceHandle, step: Array, tensor: Array) -> None:
    file = _file(writer)
    for data in np.ravel(tensor):
        event = proto.event_pb2.Event(step=int(step))
        event.summary.CopyFrom(_parsed(proto.summary_pb2.Summary(), data, WRITE_RAW.name))
        file.add(event)


@host_kernel(WRITE_GRAPH)
def _write_graph(writer: ResourceHandle, step: Array, tensor: Array) -> None:
    data = tensor.item()
    _parsed(proto.graph_pb2.GraphDef(), data, WRITE_GRAPH.name)
    _file(writer).add(proto.event_pb2.Event(step=int(step), graph_def=data))


@host_kernel(IMPORT_EVENT)
def _import_event(writer: ResourceHandle, event: Array) -> None:
    _file(writer).add(_parsed(proto.event_pb2.Event(), event.item(), IMPORT_EVENT.name))


@host_kernel(FLUSH)
def _flush(writer: ResourceHandle) -> None:
    file = _as_writer(writer).file
    if file is not None:
        file.flush()


@host_kernel(CLOSE)
def _close(ctx: KernelContext, writer: ResourceHandle) -> None:
    _as_writer(writer).close()
    if ctx.resources.lookup(writer.container, writer.name) is writer.resource:
        ctx.resources.delete(writer.container, writer.name)
