"""Summaries in the forms that TensorBoard's plugins expect: tensors with metadata.

Each function writes one tensor to the thread's writer under the tag `scopes/name`, and returns a
bool scalar: whether it was written. They work eagerly, in functions and in graphs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import proto
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops import media
from penstock.ops.array_basics import reshape, shape
from penstock.ops.array_fill import fill
from penstock.ops.array_gather import gather
from penstock.ops.array_getitem import getitem
from penstock.ops.array_join import concat, stack
from penstock.ops.array_select import where
from penstock.ops.array_shape import size
from penstock.ops.debug_asserts import assert_non_negative
from penstock.ops.functional_loops import map_fn
from penstock.ops.math_arithmetic import maximum, multiply, subtract
from penstock.ops.math_cast import cast, saturate_cast
from penstock.ops.math_compare import clip_by_value, greater
from penstock.ops.math_division import truediv
from penstock.ops.math_elementwise import floor
from penstock.ops.math_range import linspace
from penstock.ops.math_reduce import reduce_max, reduce_min
from penstock.ops.string_numbers import as_string
from penstock.summary.writers import summary_scope, write
from penstock.types import dtypes as dt

BUCKETS = 30
_WAV_CONTENT = b"\x10\x0b"  # the audio plugin's message that says: encoded as WAV


def _metadata(plugin: str, description: str | None, content: bytes = b"") -> Any:
    """A SummaryMetadata for a plugin of the viewer."""
    message = proto.summary_pb2.SummaryMetadata(summary_description=description or "")
    message.plugin_data.plugin_name = plugin
    message.plugin_data.content = content
    return message


def _write(
    name: str, step: Any, metadata: Any, make: Callable[[], Any], default_name: str
) -> Tensor:
    """Writes what `make` gives; it is called only when the summary is recorded."""
    with summary_scope(name, default_name) as (tag, _):
        return write(tag, make, step, metadata)


def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> Tensor:
    """Writes one number.

    Args:
      name: the tag, after the scopes around.
      data: a real scalar; written as float32.
      step: an int64 scalar; the thread's step when None.
      description: shown beside the plot, as Markdown.

    Returns:
      A bool scalar: whether it was written.

    Raises:
      ValueError: `data` is no scalar, or there is a writer but no step.
    """
    with summary_scope(name, "scalar_summary") as (tag, _):
        value = convert_to_tensor(data)  # looked at whether or not it is recorded
        if value.shape.rank not in (0, None):
            raise ValueError(
                f"tf.summary.scalar {name!r}: Expected scalar shape, saw shape: {value.shape}. "
                "Reduce it first, with tf.reduce_mean say."
            )
        return write(tag, cast(value, dt.float32), step, _metadata("scalars", description))


def histogram(
    name: str,
    data: Any,
    step: Any = None,
    buckets: int | None = None,
    description: str | None = None,
) -> Tensor:
    """Writes how numbers are distributed.

    Args:
      name: the tag, after the scopes around.
      data: real numbers of any shape.
      step: an int64 scalar; the thread's step when None.
      buckets: how many equal parts the range from the smallest to the largest has; 30 when None.
      description: shown beside the plot, as Markdown.

    Returns:
      A bool scalar: whether it was written.
    """
    count = BUCKETS if buckets is None else buckets
    return _write(
        name,
        step,
        _metadata("histograms", description),
        lambda: bucketed(data, count),
        "histogram_summary",
    )


def bucketed(data: Any, buckets: int) -> Any:
    """A histogram as float64[buckets, 3]: left end, right end, count.

    Values that are all equal are in the last bucket, and all ends are that value. Without values
    everything is 0.
    """
    values = cast(reshape(convert_to_tensor(data), [-1]), dt.float64)
    if buckets <= 0:
        return execute("Fill", ([0, 3], np.float64(0)))
    some = greater(size(values), 0)
    low = where(some, reduce_min(values), np.float64(0))
    high = where(some, reduce_max(values), np.float64(0))
    width = truediv(subtract(high, low), np.float64(buckets))
    spread = greater(high, low)
    place = floor(truediv(subtract(values, low), where(spread, width, np.float64(1))))
    index = where(spread, clip_by_value(place, 0.0, buckets - 1.0), np.float64(buckets - 1))
    ones = execute("OnesLike", (values,))
    counts = execute("UnsortedSegmentSum", (ones, cast(index, dt.int32), buckets))
    edges = linspace(low, high, buckets + 1)
    return stack([getitem(edges, slice(0, -1)), getitem(edges, slice(1, None)), counts], axis=1)


def text(name: str, data: Any, step: Any = None, description: str | None = None) -> Tensor:
    """Writes text, which the viewer reads as Markdown.

    Args:
      name: the tag, after the scopes around.
      data: strings; a vector is a list, a matrix a table.
      step: an int64 scalar; the thread's step when None.
      description: shown beside it, as Markdown.

    Returns:
      A bool scalar: whether it was written.
    """
    with summary_scope(name, "text_summary") as (tag, _):
        value = convert_to_tensor(data, dt.string)
        return write(tag, value, step, _metadata("text", description))


def image(
    name: str, data: Any, step: Any = None, max_outputs: int = 3, description: str | None = None
) -> Tensor:
    """Writes pictures.

    Args:
      name: the tag, after the scopes around.
      data: [batch, height, width, channels] with 1 to 4 channels; floating-point in [0, 1], or
        integers over the range of their dtype.
      step: an int64 scalar; the thread's step when None.
      max_outputs: how many of the batch.
      description: shown beside them, as Markdown.

    Returns:
      A bool scalar: whether they were written.

    Raises:
      ValueError: the rank is not 4.
      InvalidArgumentError: `max_outputs` is negative.
    """

    def make() -> Any:
        assert_non_negative(max_outputs, f"tf.summary.image {name!r}: expected max_outputs >= 0")
        images = convert_to_tensor(data)
        dims = images.shape.with_rank(4).as_list()
        files = media.encode_png(_bytes_of(getitem(images, slice(0, max_outputs))))
        if None in dims[1:3]:
            sizes = as_string(gather(shape(images), [2, 1]))
        else:
            sizes = [str(dims[2]), str(dims[1])]
        return concat([sizes, files], axis=0)

    return _write(name, step, _metadata("images", description), make, "image_summary")


def _bytes_of(images: Any) -> Any:
    """Pictures as uint8: floating-point ones from [0, 1], integers from their dtype's range."""
    dtype = images.dtype
    if dtype is dt.uint8:
        return images
    if dtype.is_floating:
        scaled = multiply(images, np.asarray(255.5, dtype.as_numpy_dtype))
        return saturate_cast(scaled, dt.uint8)
    divisor = (int(dtype.max) + 1) // 256
    positive = maximum(images, np.asarray(0, dtype.as_numpy_dtype))
    if divisor:
        return saturate_cast(execute("FloorDiv", (positive, divisor)), dt.uint8)
    return multiply(cast(positive, dt.uint8), np.uint8(256 // (int(dtype.max) + 1)))


def audio(
    name: str,
    data: Any,
    sample_rate: Any,
    step: Any = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Tensor:
    """Writes sounds.

    Args:
      name: the tag, after the scopes around.
      data: float32[batch, frames, channels] in [-1, 1].
      sample_rate: int32 scalar, frames a second.
      step: an int64 scalar; the thread's step when None.
      max_outputs: how many of the batch.
      encoding: None or "wav".
      description: shown beside them, as Markdown.

    Returns:
      A bool scalar: whether they were written.

    Raises:
      ValueError: the encoding is another, or the rank is not 3.
      InvalidArgumentError: `max_outputs` is negative, or the dtype is another.
    """
    if encoding not in (None, "wav"):
        raise ValueError(
            f"Unknown encoding: {encoding!r} for tf.summary.audio {name!r}: expected 'wav'. Leave "
            "it out."
        )

    def make() -> Any:
        assert_non_negative(max_outputs, f"tf.summary.audio {name!r}: expected max_outputs >= 0")
        sounds = convert_to_tensor(data)
        sounds.shape.assert_has_rank(3)
        first = getitem(sounds, slice(0, max_outputs))
        files = map_fn(lambda sound: media.encode_wav(sound, sample_rate), first, dtype=dt.string)
        return stack([files, fill(shape(files), "")], axis=1)

    return _write(name, step, _metadata("audio", description, _WAV_CONTENT), make, "audio_summary")
