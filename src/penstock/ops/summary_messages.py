"""Operations that give a serialised Summary: the first generation's summaries. Host only.

A program merges them, fetches the result in a session and hands it to a `FileWriter`. The public
functions are in `penstock.summary.merged`.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.core import native_strings, shapes
from penstock.core.arrays import HashableArray
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.graph.tensor_proto import array_to_proto
from penstock.ops.media import png, wav
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
_DOUBLE_MAX = float(np.finfo(np.float64).max)
REASON = "a log has no gradient"


def _define(text: str, doc: str, shape: Callable[[ShapeContext], Dims] = shapes.scalar) -> OpDef:
    return define_op(text, shape=shape, doc=doc).not_differentiable(REASON)


def _serialized(summary: Any) -> Array:
    return _text(summary.SerializeToString())


def _text(data: bytes) -> Array:
    result = np.empty((), object)
    result[()] = data
    return result


def _invalid(text: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, text)


SCALAR = _define(
    "ScalarSummary(tags: string, values: T; T: realnumbertype) -> summary: string",
    "A Summary of one number for each tag.",
)


@host_kernel(SCALAR)
def _scalar(tags: Array, values: Array) -> Array:
    if tags.shape != values.shape:
        raise _invalid(
            f"tags and values are not the same shape: expected {list(tags.shape)}, the tags' "
            f"shape, got {list(values.shape)} (tag {_names(tags)}). Reduce the values first."
        )
    return scalar_summary(tags, values)


def scalar_summary(tags: Array, values: Array) -> Array:
    """A serialised Summary of numbers, a tag for each."""
    numbers = values if values.dtype == np.float32 else values.astype(np.float64).astype(np.float32)
    found = native_strings.scalar_summary(tags, numbers)
    if found is not None:
        return _text(found)
    summary = proto.summary_pb2.Summary()
    for tag, value in zip(tags.reshape(-1), values.reshape(-1), strict=True):
        summary.value.add(tag=tag, simple_value=float(value))
    return _serialized(summary)


def _names(tags: Array) -> str:
    listed = [f"'{tag.decode(errors='replace')}'" for tag in tags.reshape(-1)[:3]]
    return ", ".join(listed) + (", ..." if tags.size > 3 else "")


# ---- histograms


def _make_limits() -> Array:
    """Upper ends of the buckets: powers of 1.1 on either side of zero."""
    positive, limit = [], 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(_DOUBLE_MAX)
    return np.array([*(-x for x in reversed(positive)), 0.0, *positive])


HISTOGRAM_LIMITS = _make_limits()


def _named_shape(c: ShapeContext) -> Dims:
    c.rank(0, 0, "tag")
    return ()


HISTOGRAM = _define(
    "HistogramSummary(tag: string, values: T; T: realnumbertype = float) -> summary: string",
    "A Summary of a histogram with buckets that grow by a tenth.",
    _named_shape,
)


@host_kernel(HISTOGRAM)
def _histogram(tag: Array, values: Array) -> Array:
    return histogram_summary(tag, values)


def histogram_summary(tag: Array, values: Array) -> Array:
    """A serialised Summary of a histogram."""
    flat = values.reshape(-1).astype(np.float64)
    name = tag.item()
    if not np.isfinite(flat).all():
        kind = "Nan" if np.isnan(flat).any() else "Infinity"
        raise _invalid(f"{kind} in summary histogram for: {name.decode(errors='replace')}")
    summary = proto.summary_pb2.Summary()
    fill_histogram(summary.value.add(tag=name).histo, flat)
    return _serialized(summary)


def fill_histogram(message: Any, values: Array) -> None:
    """Fills a HistogramProto from float64[N]; neighbouring empty buckets become one."""
    counts = np.bincount(
        np.searchsorted(HISTOGRAM_LIMITS, values, side="right"), minlength=len(HISTOGRAM_LIMITS)
    )
    message.min = values.min(initial=_DOUBLE_MAX)
    message.max = values.max(initial=-_DOUBLE_MAX)
    message.num = values.size
    message.sum = values.sum()
    message.sum_squares = np.square(values).sum()
    counts = counts[: len(HISTOGRAM_LIMITS)]
    empty = counts == 0
    keep = ~empty | ~np.append(empty[1:], False)  # the last of each run of empty buckets
    message.bucket_limit.extend(HISTOGRAM_LIMITS[keep])
    message.bucket.extend(counts[keep].astype(np.float64))


# ---- merging

MERGE = _define(
    "MergeSummary(inputs: N*string; N: int >= 1) -> summary: string",
    "One Summary with the values of all; each tag may occur once.",
)


@host_kernel(MERGE)
def _merge(inputs: list[Array]) -> Array:
    given = np.concatenate([each.reshape(-1) for each in inputs])
    found = native_strings.merged_summaries(given)
    if found is not None:
        return _text(found)
    merged = proto.summary_pb2.Summary()
    tags: set[str] = set()
    for data in given:
        summary = proto.summary_pb2.Summary()
        try:
            summary.ParseFromString(data)
        except proto.message.DecodeError:
            raise _invalid(
                f"Could not parse one of the summary inputs: expected a serialised Summary, got "
                f"{len(data)} bytes that are none."
            ) from None
        for value in summary.value:
            if value.tag and value.tag in tags:
                raise _invalid(
                    f"Duplicate tag {value.tag} found in summary inputs: expected each once. "
                    "Give the summaries different names."
                )
            tags.add(value.tag)
        merged.value.extend(summary.value)
    return _serialized(merged)


# ---- tensors, pictures and sounds


def _tensor_shape(c: ShapeContext) -> Dims:
    c.rank(0, 0, "tag")
    c.rank(2, 0, "serialized_summary_metadata")
    return ()


def whole_proto(tensor: Array, dtype: Any) -> Any:
    """A TensorProto whose numbers are its bytes, even a single one."""
    made = array_to_proto(tensor, dtype)
    if dtype is dt.string or made.tensor_content:
        return made
    return type(made)(
        dtype=made.dtype,
        tensor_shape=made.tensor_shape,
        tensor_content=np.ascontiguousarray(tensor).tobytes(),
    )


TENSOR = _define(
    "TensorSummaryV2(tag: string, tensor: T, serialized_summary_metadata: string; T: type) -> "
    "summary: string",
    "A Summary of a tensor with metadata that says which part of a viewer it is for.",
    _tensor_shape,
)


TENSOR_V1 = define_op(
    "TensorSummary(tensor: T; T: type, description: string = '', labels: list(string) = [], "
    "display_name: string = '') -> summary: string",
    shape=shapes.scalar,
    stateful=True,  # folded, it would not know its name
    doc="A Summary of a tensor under the operation's name; what else describes it is left out, as "
    "TensorFlow does.",
).not_differentiable(REASON)


@host_kernel(TENSOR_V1)
def _tensor_v1(ctx: KernelContext, tensor: Array, *, T: Any) -> Array:
    summary = proto.summary_pb2.Summary()
    value = summary.value.add(node_name=ctx.op_name)
    value.tensor.CopyFrom(whole_proto(tensor, T))
    return _serialized(summary)


@host_kernel(TENSOR)
def _tensor(tag: Array, tensor: Array, serialized_summary_metadata: Array, *, T: Any) -> Array:
    summary = proto.summary_pb2.Summary()
    value = summary.value.add(tag=tag.item())
    value.tensor.CopyFrom(whole_proto(tensor, T))
    value.metadata.ParseFromString(serialized_summary_metadata.item())
    return _serialized(summary)


def _image_shape(c: ShapeContext) -> Dims:
    check_pictures(c, 1)
    return ()


def check_pictures(c: ShapeContext, position: int) -> None:
    """Refuses an input that is no batch of pictures."""
    dims = c.rank(position, 4, "tensor")
    if dims is not None and dims[3] not in (None, 1, 3, 4):
        c.fail("1, 3 or 4 channels in the last dimension of tensor", f"{dims[3]}")


BAD_COLOR = np.array([255, 0, 0, 255], np.uint8)  # of pixels that are not finite
IMAGE = _define(
    "ImageSummary(tag: string, tensor: T; max_images: int >= 1 = 3, T: {uint8, float, half, "
    "double} = float, bad_color: tensor = None) -> summary: string",
    "A Summary of up to max_images pictures of a batch. Floating-point pictures are scaled to fill "
    "0 to 255, around 128 when they hold negative numbers; what is not finite gets bad_color.",
    _image_shape,
)
IMAGE.attrs["bad_color"] = dataclasses.replace(
    IMAGE.attrs["bad_color"], default=HashableArray(BAD_COLOR, dt.uint8)
)


@host_kernel(IMAGE)
def _image(tag: Array, tensor: Array, *, max_images: int, bad_color: Any) -> Array:
    color = checked_color(IMAGE.name, bad_color.array, tensor.shape[3])
    return image_summary(tag, tensor, max_images, color)


def image_summary(tag: Array, tensor: Array, max_images: int, bad_color: Array) -> Array:
    """A serialised Summary of pictures."""
    summary = proto.summary_pb2.Summary()
    for index, image in enumerate(tensor[:max_images]):
        name = tag.item().decode() + ("/image" if max_images == 1 else f"/image/{index}")
        message = summary.value.add(tag=name).image
        message.height, message.width, message.colorspace = image.shape
        pixels = image if image.dtype == np.uint8 else _scaled(image, bad_color)
        message.encoded_image_string = png(pixels)
    return _serialized(summary)


def checked_color(op: str, color: Array, channels: int) -> Array:
    """The color of what is not finite, in pictures of so many channels."""
    if color.dtype != np.uint8 or color.ndim != 1 or color.size < channels:
        raise _invalid(
            f"{op}: expected bad_color to be a uint8 vector of at least {channels} "
            f"elements, got {color.dtype}{list(color.shape)}."
        )
    return color[:channels]


def _scaled(image: Array, bad_color: Array) -> Array:
    """A picture of floating-point numbers as uint8."""
    values = image.astype(np.float64)
    finite = np.isfinite(values).all(axis=-1)
    low, high = (f(values[finite], initial=0.0) for f in (np.min, np.max))
    if low < 0:
        size = max(-low, high)
        scaled = values * (127.0 / size if size else 0.0) + 128.0
    else:
        scaled = values * (255.0 / high if high else 0.0)
    pixels = np.where(finite[..., None], np.clip(scaled, 0, 255), 0).astype(np.uint8)
    pixels[~finite] = bad_color
    return pixels


def audio_shape(c: ShapeContext) -> Dims:
    """The shape of a summary of sounds, whose inputs are checked."""
    c.rank(0, 0, "tag")
    check_sounds(c, 1)
    return ()


def check_sounds(c: ShapeContext, position: int) -> None:
    """Refuses an input that is no batch of sounds."""
    dims = c.rank_at_least(position, 2, "tensor")
    if dims is not None and len(dims) > 3:
        c.fail("tensor of rank 2 or 3", f"rank {len(dims)}")


AUDIO = _define(
    "AudioSummaryV2(tag: string, tensor: float, sample_rate: float; max_outputs: int >= 1 = 3) -> "
    "summary: string",
    "A Summary of up to max_outputs sounds of float[batch, frames] or [batch, frames, channels].",
    audio_shape,
)


@host_kernel(AUDIO)
def _audio(tag: Array, tensor: Array, sample_rate: Array, *, max_outputs: int) -> Array:
    return audio_summary("AudioSummaryV2", tag, tensor, float(sample_rate), max_outputs)


def audio_summary(op: str, tag: Array, tensor: Array, rate: float, max_outputs: int) -> Array:
    """A serialised Summary of sounds of `rate` frames a second."""
    if rate <= 0:
        raise _invalid(f"{op}: expected sample_rate > 0, got {rate}.")
    sounds = tensor[..., None] if tensor.ndim == 2 else tensor
    summary = proto.summary_pb2.Summary()
    for index, sound in enumerate(sounds[:max_outputs]):
        name = tag.item().decode() + ("/audio" if max_outputs == 1 else f"/audio/{index}")
        message = summary.value.add(tag=name).audio
        message.sample_rate, message.content_type = rate, "audio/wav"
        message.length_frames, message.num_channels = sound.shape
        message.encoded_audio_string = wav(sound, round(rate))
    return _serialized(summary)
