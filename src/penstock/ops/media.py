"""Pictures and sounds as files in memory: PNG and WAV. Host only.

The other image and audio operations come with their families; these two serve summaries.
"""

import struct
import zlib
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_images
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.lazy import pil_image
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.image_formats import png_file
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_DEFAULT_COMPRESSION = 6
_UP = 2  # the PNG filter by which each row is stored less the row above
_COLORS = {1: 0, 2: 4, 3: 2, 4: 6}
_WAV_SCALE = 32768
_PCM = 1  # the WAV format of plain integers
_MOST = 0xFFFF  # channels, whose field has 16 bits


def png(image: Array, compression: int = -1) -> bytes:
    """uint8[height, width, channels] as a PNG file; 1 to 4 channels."""
    height, width, channels = image.shape
    _refuse_empty(height, width)
    mode = _MODES[channels]
    made = pil_image.frombytes(mode, (width, height), image.tobytes())
    level = _DEFAULT_COMPRESSION if compression == -1 else compression
    packed = made.tobytes("zip", mode, False, level, -1, b"")  # a file takes Pillow twice as long
    return png_file(width, height, 8, _COLORS[channels], packed)


def _refuse_empty(height: int, width: int) -> None:
    if min(height, width) < 1:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"PNG file: expected an image with pixels, got {height} by {width} pixels. Leave out"
            " empty images.",
        )


def wav(samples: Array, sample_rate: int) -> bytes:
    """float[frames, channels] in [-1, 1] as a WAV file of 16 bits a sample.

    Raises:
      InvalidArgumentError: a number does not fit the file's header.
    """
    channels, most = samples.shape[1], np.iinfo(np.uint32).max
    if not (0 < sample_rate <= most and 0 < channels <= _MOST):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"WAV file: expected 1 to {_MOST} channels and a sample_rate from 1 to {most}, got"
            f" {channels} channels and {sample_rate}.",
        )
    whole = native_images.sound(samples)
    if whole is None:
        scaled = np.clip(np.nan_to_num(samples * _WAV_SCALE), -_WAV_SCALE, _WAV_SCALE - 1)
        whole = np.rint(scaled)
    body = whole.astype("<i2", copy=False).tobytes()
    frame = 2 * channels
    rate = sample_rate * frame & 0xFFFFFFFF  # bytes a second: its field has 32 bits
    form = struct.pack(
        "<4sIHHIIHH", b"fmt ", 16, _PCM, channels, sample_rate, rate, frame & 0xFFFF, 16
    )
    content = b"WAVE" + form + struct.pack("<4sI", b"data", len(body)) + body
    return bytes(struct.pack("<4sI", b"RIFF", len(content)) + content)


def _png_shape(c: ShapeContext) -> Dims:
    dims = c.rank_at_least(0, 3, "image")
    if dims is not None and dims[-1] not in (None, *_MODES):
        c.fail("1, 2, 3 or 4 channels in the last dimension", f"{dims[-1]}")
    if not -1 <= c.attr("compression") <= 9:
        c.fail("a compression from -1 to 9", f"{c.attr('compression')}")
    return None if dims is None else dims[:-3]


ENCODE_PNG = define_op(
    "EncodePng(image: T; compression: int = -1, T: {uint8, uint16} = uint8) -> contents: string",
    shape=_png_shape,
    doc="Images of 1 to 4 channels, as PNG files; each scalar of the result is one.",
).not_differentiable("a file has no gradient")


@host_kernel(ENCODE_PNG, types={"T": ["uint8"]})
def _encode_png(image: Array, *, compression: int) -> Array:
    flat = image.reshape(-1, *image.shape[-3:]) if image.size else image.reshape(0, 1, 1, 1)
    result = np.empty(image.shape[:-3], object)
    result.reshape(-1)[:] = [png(each, compression) for each in flat] or b""
    return result


@host_kernel(ENCODE_PNG, types={"T": ["uint16"]})
def _encode_deep_png(image: Array, *, compression: int) -> Array:
    result = np.empty(image.shape[:-3], object)
    flat = image.reshape(-1, *image.shape[-3:]) if result.size else image.reshape(0, 1, 1, 1)
    result.reshape(-1)[:] = [_deep_png(each, compression) for each in flat]
    return result


def _deep_png(image: Array, compression: int) -> bytes:
    height, width, channels = image.shape
    _refuse_empty(height, width)
    raw = np.frombuffer(image.astype(">u2").tobytes(), np.uint8).reshape(height, -1)
    rows = np.empty((height, 1 + raw.shape[1]), np.uint8)
    rows[:, 0], rows[0, 1:] = _UP, raw[0]
    rows[1:, 1:] = raw[1:] - raw[:-1]
    packed = zlib.compress(rows.tobytes(), compression)
    return png_file(width, height, 16, _COLORS[channels], packed)


def _wav_shape(c: ShapeContext) -> Dims:
    c.rank(0, 2, "audio")
    c.rank(1, 0, "sample_rate")
    return ()


ENCODE_WAV = define_op(
    "EncodeWav(audio: float, sample_rate: int32) -> contents: string",
    shape=_wav_shape,
    doc="A sound, float[frames, channels] in [-1, 1], as a WAV file of 16 bits a sample.",
).not_differentiable("a file has no gradient")


@host_kernel(ENCODE_WAV)
def _encode_wav(audio: Array, sample_rate: Array) -> Array:
    result = np.empty((), object)
    result[()] = wav(audio, int(sample_rate))
    return result


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Any:
    """Images as PNG files.

    Args:
      image: uint8 or uint16[..., height, width, channels], 1 to 4 channels.
      compression: from 0, fast, to 9, small; -1 leaves it to the encoder.
      name: the name in a graph.

    Returns:
      string[...], a file for each image.
    """
    return execute(ENCODE_PNG, (convert_to_tensor(image),), {"compression": compression}, name)


def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Any:
    """A sound as a WAV file of 16 bits a sample.

    Args:
      audio: float32[frames, channels] in [-1, 1].
      sample_rate: int32 scalar, frames a second.
      name: the name in a graph.

    Returns:
      A string scalar.
    """
    return execute(ENCODE_WAV, (audio, sample_rate), None, name)
