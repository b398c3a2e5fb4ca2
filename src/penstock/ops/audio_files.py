"""WAV files in memory as tensors. `media` writes them. Host only."""

import struct
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.composing import named
from penstock.ops.string_arrays import HOST
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
_PCM = 1
_FULL = np.float32(32768.0)  # of 16 bits
_MOST_VALUES = 1 << 28  # of a decoded sound


def _wav_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 0, "contents")
    channels, samples = int(c.attr("desired_channels")), int(c.attr("desired_samples"))
    known = [n if n >= 0 else None for n in (samples, channels)]
    for name, wanted in (("samples", samples), ("channels", channels)):
        if wanted < -1:
            c.fail(
                f"desired_{name} >= -1",
                f"{wanted}: {name} must be non-negative",
                "-1 takes those of the file.",
            )
    return [tuple(known), ()]


DECODE_WAV = define_op(
    "DecodeWav(contents: string; desired_channels: int = -1, desired_samples: int = -1) -> audio: "
    "float, sample_rate: int32",
    shape=_wav_shape,
    doc="A WAV file of 16 bits a sample, as numbers from -1 to 1.",
).not_differentiable("a file has no gradient")


def _refusal(got: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(
        None,
        None,
        f"DecodeWav: expected a whole WAV file of 16-bit PCM samples, got {got}. Convert it with an"
        " audio program.",
    )


def _parts(data: bytes) -> tuple[bytes, bytes]:
    """The description of the samples, and the samples."""
    if len(data) < 12 or data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise _refusal("data without the RIFF and WAVE marks")
    at, about = 12, b""
    while at + 8 <= len(data):
        kind, (size,) = data[at : at + 4], struct.unpack("<I", data[at + 4 : at + 8])
        body = data[at + 8 : at + 8 + size]
        if len(body) < size:
            raise _refusal(f"data too short: a part of {size} bytes has {len(body)}")
        if kind == b"fmt ":
            about = body
        elif kind == b"data" and about:
            return about, body
        at += 8 + size
    raise _refusal("no data chunk")


def _samples(data: bytes) -> tuple[Array, int]:
    """The samples, [frames, channels], and frames a second."""
    about, body = _parts(data)
    if len(about) < 16:
        raise _refusal(f"a format part of {len(about)} bytes")
    format, channels, rate, _, frame, bits = struct.unpack("<HHIIHH", about[:16])
    if format != _PCM:
        raise _refusal(f"audio format {format} (1 is PCM)")
    if bits != 16 or channels < 1 or frame != channels * 2 or not 0 < rate < 1 << 31:
        raise _refusal(f"{bits} bits, {channels} channels, {frame} bytes a frame, rate {rate}")
    whole = len(body) // frame * frame
    flat = np.frombuffer(body[:whole], "<i2").reshape(-1, channels)
    return flat.astype(np.float32) / _FULL, rate


@host_kernel(DECODE_WAV, limit=HOST)
def _decode_wav(
    contents: Array, *, desired_channels: int, desired_samples: int
) -> tuple[Array, Array]:
    found, rate = _samples(contents.reshape(-1)[0])
    frames = desired_samples if desired_samples >= 0 else len(found)
    channels = desired_channels if desired_channels >= 0 else found.shape[1]
    if frames * channels > _MOST_VALUES:
        raise _refusal(f"{frames} frames of {channels} channels, more than {_MOST_VALUES} values")
    if (frames, channels) == found.shape:
        return found, np.int32(rate)
    result = np.zeros((frames, channels), np.float32)
    kept = min(frames, len(found))
    # Channels that the file does not have repeat its last.
    source = np.minimum(np.arange(channels), found.shape[1] - 1)
    result[:kept] = found[:kept, source]
    return result, np.int32(rate)


def decode_wav(
    contents: Any,
    desired_channels: int = -1,
    desired_samples: int = -1,
    name: str | None = None,
) -> Any:
    """A WAV file of 16 bits a sample, as numbers from -1 to 1.

    Args:
      contents: a string scalar, the file.
      desired_channels: how many channels to return, -1 for all; more than there are repeat the
        last.
      desired_samples: how many frames to return, -1 for all; more than there are are 0.
      name: the name in a graph.

    Returns:
      audio: float32[frames, channels]; sample_rate: int32, frames a second.

    Raises:
      InvalidArgumentError: the file is broken, or of another format.
    """
    attrs = {"desired_channels": desired_channels, "desired_samples": desired_samples}
    return named(DECODE_WAV, (contents,), attrs, name)
