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
from penstock.core.shapes import ShapeContext
from penstock.ops import summary_messages as messages
from penstock.ops.event_file import EventFile
from penstock.types.dims import Dims

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


def _scalar_shape(c: ShapeContext) -> list[Dims]:
    c.rank(3, 0, "value")
    return []


def _image_shape(c: ShapeContext) -> list[Dims]:
    messages.check_pictures(c, 3)
    c.rank(4, 1, "bad_color")
    return []


def _audio_shape(c: ShapeContext) -> list[Dims]:
    messages.check_sounds(c, 3)
    c.rank(4, 0, "sample_rate")
    return []


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
_STEP = "writer: resource, step: int64, tag: string, "
WRITE_SCALAR = _define(
    f"WriteScalarSummary({_STEP}value: T; T: realnumbertype) -> ",
    "Writes a number under a tag.",
    shape=_scalar_shape,
)
WRITE_HISTOGRAM = _define(
    f"WriteHistogramSummary({_STEP}values: T; T: {{float, double, int32, uint8, int16, int8, int64,"
    " bfloat16, uint16, half, uint32, uint64, bool} = float) -> ",
    "Writes a histogram under a tag.",
)
WRITE_IMAGE = _define(
    f"WriteImageSummary({_STEP}tensor: T, bad_color: uint8; max_images: int >= 1 = 3, T: {{uint8, "
    "double, float, half} = float) -> ",
    "Writes up to max_images pictures of a batch, as ImageSummary makes them.",
    shape=_image_shape,
)
WRITE_AUDIO = _define(
    f"WriteAudioSummary({_STEP}tensor: float, sample_rate: float; max_outputs: int >= 1 = 3) -> ",
    "Writes up to max_outputs sounds of a batch, as AudioSummaryV2 makes them.",
    shape=_audio_shape,
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
        raise errors.NotFoundError(
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
    value.tensor.CopyFrom(messages.whole_proto(tensor, T))
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


def _write_message(writer: ResourceHandle, step: Array, message: Array) -> None:
    """Writes a serialised Summary."""
    event = proto.event_pb2.Event(step=int(step))
    event.summary.ParseFromString(message.item())
    _file(writer).add(event)


@host_kernel(WRITE_SCALAR)
def _write_scalar(writer: ResourceHandle, step: Array, tag: Array, value: Array) -> None:
    _write_message(writer, step, messages.scalar_summary(tag, value))


@host_kernel(WRITE_HISTOGRAM)
def _write_histogram(writer: ResourceHandle, step: Array, tag: Array, values: Array) -> None:
    _write_message(writer, step, messages.histogram_summary(tag, values))


@host_kernel(WRITE_IMAGE)
def _write_image(
    writer: ResourceHandle, step: Array, tag: Array, tensor: Array, bad_color: Array, *,
    max_images: int,
) -> None:  # fmt: skip
    color = messages.checked_color("WriteImageSummary", bad_color, tensor.shape[3])
    _write_message(writer, step, messages.image_summary(tag, tensor, max_images, color))


@host_kernel(WRITE_AUDIO)
def _write_audio(
    writer: ResourceHandle, step: Array, tag: Array, tensor: Array, sample_rate: Array, *,
    max_outputs: int,
) -> None:  # fmt: skip
    message = messages.audio_summary(
        "WriteAudioSummary", tag, tensor, float(sample_rate), max_outputs
    )
    _write_message(writer, step, message)


@host_kernel(FLUSH)
def _flush(writer: ResourceHandle) -> None:
    _file(writer).flush()


@host_kernel(CLOSE)
def _close(ctx: KernelContext, writer: ResourceHandle) -> None:
    _file(writer)
    _as_writer(writer).close()
    if ctx.resources.lookup(writer.container, writer.name) is writer.resource:
        ctx.resources.delete(writer.container, writer.name)
