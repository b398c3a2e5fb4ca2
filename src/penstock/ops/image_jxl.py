"""What JPEG XL files hold, as arrays: decoded by the optional package pillow-jxl-plugin.

A file is a bare codestream or a container of boxes around one. Its size stands in the first bits
of the codestream, lowest bit first; it is read here, so that an image too large for memory is
refused before the decoder starts. `jxl` is the entry; it raises `BadImage` as `image_formats` does,
and UnimplementedError where the package is not installed.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.lazy import pillow_jxl
from penstock.ops.image_formats import JXL_CODESTREAM, MAX_BYTES, BadImage, jpeg

Array = Any  # numpy.ndarray
_BYTES_PER_PIXEL = 16  # what the decoder keeps: four channels of floats
_RATIOS = {1: (1, 1), 2: (12, 10), 3: (4, 3), 4: (3, 2), 5: (16, 9), 6: (5, 4), 7: (2, 1)}
_SIZE_BITS = (9, 13, 18, 30)
_SAMPLES: dict[str, tuple[int, Any]] = {
    "L": (1, np.uint8), "LA": (2, np.uint8), "RGB": (3, np.uint8), "RGBA": (4, np.uint8),
    "I;16": (1, np.uint16), "LA;16": (2, np.uint16), "RGB;16": (3, np.uint16),
    "RGBA;16": (4, np.uint16), "F": (1, np.float32),
}  # fmt: skip


def jxl(data: bytes, channels: int) -> Array:
    """A JPEG XL file, the first frame: uint8[height, width, channels].

    Raises:
      BadImage: the file is broken, too large, or has another number of channels than asked for.
      UnimplementedError: nothing that decodes JPEG XL is installed.
    """
    height, width = size(data)
    if height * width * _BYTES_PER_PIXEL > MAX_BYTES:
        most = MAX_BYTES // _BYTES_PER_PIXEL
        raise BadImage(f"the image's size is {[height, width]}: expected at most {most} pixels")
    found = _decoded(data)
    if channels not in (0, found.shape[-1]):
        raise BadImage(
            f"Number of channels requested, {channels}, does not match input of {found.shape[-1]}"
        )
    return found


def _decoded(data: bytes) -> Array:
    try:
        decoder = pillow_jxl.Decoder(num_threads=0)
    except ImportError:
        raise errors.UnimplementedError(
            None,
            None,
            "DecodeJxl: expected a library that decodes JPEG XL, got none on this machine. Install"
            " one with `pip install pillow-jxl-plugin`, or save the image as PNG.",
        ) from None
    try:
        is_jpeg, info, values, *_ = decoder(data)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadImage(f"Failed to decode JXL image ({reason})") from error
    if is_jpeg:  # a JPEG file in fewer bytes
        return jpeg(values, 0)
    if info.mode not in _SAMPLES:
        raise BadImage(f"JXL image of mode {info.mode}")
    count, dtype = _SAMPLES[info.mode]
    found = np.frombuffer(values, dtype).reshape(info.height, info.width, count)
    if dtype == np.uint8:
        return found.copy()
    full = 65535 if dtype == np.uint16 else 1
    scaled = np.rint(found * np.float32(255 / full))
    return np.clip(scaled, 0, 255).astype(np.uint8)


def size(data: bytes) -> tuple[int, int]:
    """Height and width, from the first bits of the codestream.

    Raises:
      BadImage: there is no codestream, or it ends before them.
    """
    start = _start(data)
    if not start.startswith(JXL_CODESTREAM) or len(start) < 3:
        raise BadImage("the JXL codestream is broken")
    take = _reader(start[2:])
    eighths = take(1)
    height = _side(take, eighths)
    ratio = take(3)
    if not ratio:
        return height, _side(take, eighths)
    over, under = _RATIOS[ratio]
    return height, height * over // under


def _side(take: Callable[[int], int], eighths: int) -> int:
    if eighths:
        return 8 * (take(5) + 1)
    return take(_SIZE_BITS[take(2)]) + 1


def _reader(data: bytes) -> Callable[[int], int]:
    """A function that takes as many bits as it is told, the lowest of each byte first."""
    bits, left = int.from_bytes(data[:16], "little"), 8 * len(data[:16])

    def take(count: int) -> int:
        nonlocal bits, left
        if count > left:
            raise BadImage("the JXL header is cut off")
        value = bits & ((1 << count) - 1)
        bits, left = bits >> count, left - count
        return value

    return take


def _start(data: bytes) -> bytes:
    """The first bytes of the codestream."""
    if data.startswith(JXL_CODESTREAM):
        return data[:32]
    found = b""
    for kind, body in _boxes(data):
        if kind == b"jxlc":
            return body[:32]
        if kind == b"jxlp":  # parts, each behind its number
            found += body[4:36]
            if len(found) >= 32:
                break
    return found


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kind and the beginning of what is in each box of a container."""
    at = 0
    while at + 8 <= len(data):
        length, head = int.from_bytes(data[at : at + 4], "big"), 8
        kind = data[at + 4 : at + 8]
        if length == 1 and at + 16 <= len(data):
            (length,) = struct.unpack(">Q", data[at + 8 : at + 16])
            head = 16
        end = len(data) if length == 0 else at + length  # 0: up to the end
        if end < at + head:
            raise BadImage("the JXL container is broken")
        yield kind, data[at + head : min(end, at + head + 64)]
        at = end
