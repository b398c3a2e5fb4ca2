"""What image files hold: bytes of PNG, JPEG, GIF, BMP and WebP files as arrays.

Each format has its function. Files may come from strangers: sizes are read from the header and
refused above `MAX_BYTES` before anything is allocated, and whatever a decoder trips over comes out
as `BadImage`. Pillow decodes, but for what it does not keep, 16 bits a channel of PNG and the plain
layout of BMP, and for what takes half as long here: PNG files that hold nothing but pixels.
"""

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from penstock.core import native_images
from penstock.core.lazy import pil_image

Array = Any  # numpy.ndarray
MAX_BYTES = 1 << 30  # of one decoded image, all its frames together
JXL_CODESTREAM = b"\xff\x0a"
JXL_CONTAINER = b"\x00\x00\x00\x0cJXL \r\n\x87\n"
_MOST_DEFLATED = 1032  # bytes that one byte of compressed data stands for
_MOST_IN_CHUNK = 1 << 30  # bytes of a PNG file; its field has 31 bits
_PNG_SIGN = b"\x89PNG\r\n\x1a\n"
_GRAY = np.array([9797, 19234, 3737])  # of red, green, blue, in 1 / 32768
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_ADAM7 = ((0, 8, 0, 8), (0, 8, 4, 8), (4, 8, 0, 4), (0, 4, 2, 4), (2, 4, 0, 2), (0, 2, 1, 2))
_LAST_PASS = (1, 2, 0, 1)


class BadImage(ValueError):
    """Bytes that are no image, or not one that is read here."""


class BadWindow(BadImage):
    """A window that does not lie in an image."""


def kind_of(data: bytes) -> str:
    """The format that the first bytes tell: jpeg, png, gif, bmp, webp, jxl or nothing."""
    if data[:3] == b"\xff\xd8\xff":
        return "jpeg"
    if data[:4] == _PNG_SIGN[:4]:
        return "png"
    if data[:4] == b"GIF8":
        return "gif"
    if data[:2] == b"BM":
        return "bmp"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    if data.startswith((JXL_CODESTREAM, JXL_CONTAINER)):
        return "jxl"
    return ""


def check_size(*dims: int) -> None:
    """Refuses an image of more than `MAX_BYTES` values, or of none."""
    count = 1
    for size in dims:
        count *= size
    if min(dims) < 1 or count > MAX_BYTES:
        raise BadImage(f"the image's size is {list(dims)}: expected 1 to {MAX_BYTES} values")


def _guarded(read: Callable[..., Any], *arguments: Any) -> Any:
    """What Pillow returns; whatever it raises about hostile bytes becomes `BadImage`."""
    try:
        return read(*arguments)
    except BadImage:
        raise
    except Exception as error:
        raise BadImage(f"the data is broken ({type(error).__name__}: {error})") from error


def _opened(data: bytes, kind: str) -> Any:
    image = pil_image.open(io.BytesIO(data), formats=(kind,))
    check_size(image.width, image.height, 4)
    return image


def _pixels(image: Any) -> Array:
    found = np.asarray(image)
    return found[..., None] if found.ndim == 2 else found


# ---- PNG


def png_header(data: bytes) -> tuple[int, int, int, int, int]:
    """Width, height, bits, color type, interlacing."""
    if data[:8] != _PNG_SIGN or len(data) < 33 or data[12:16] != b"IHDR":
        raise BadImage("the PNG header is broken")
    width, height, bits, color, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    if color not in _PNG_CHANNELS:
        raise BadImage(f"PNG color type {color}")
    check_size(width, height, _PNG_CHANNELS[color])
    samples = 1 if color == 3 else _PNG_CHANNELS[color]
    least = width * samples * bits // 8 * height // _MOST_DEFLATED
    if len(data) < least:
        raise BadImage(f"{len(data)} bytes of PNG for an image of {[height, width]}: it is cut off")
    return width, height, bits, color, interlaced


def png(data: bytes, channels: int, deep: bool) -> Array:
    """A PNG file as [height, width, channels] of uint8, or of uint16 if it is to be `deep`."""
    header = png_header(data)
    bits = header[2]
    found = _deep_png(data) if bits == 16 else _plain_png(data, *header)
    if found is None:
        found = _guarded(_shallow_png, data, channels)
    found = _with_channels(found, channels)
    if deep:
        return found if bits == 16 else found.astype(np.uint16) * 257
    return (found >> 8).astype(np.uint8) if bits == 16 else found


def _plain_png(
    data: bytes, width: int, height: int, bits: int, color: int, interlaced: int
) -> Array | None:
    """A PNG file of 8 bits a channel that is whole and has nothing but pixels.

    None for others: Pillow reads them, or says what is wrong.
    """
    lanes = _PNG_CHANNELS[color]
    total = height * (1 + width * lanes)
    if bits != 8 or color == 3 or interlaced or data[26:28] != b"\0\0":
        return None
    compressed = _plain_rows(data)
    if compressed is None:
        return None
    stream = zlib.decompressobj()
    try:
        rows = stream.decompress(compressed, total + 1)
    except zlib.error:
        return None
    if not stream.eof:
        return None
    found = native_images.unfiltered(rows, height, width * lanes, lanes)
    return None if found is None else found.reshape(height, width, lanes)


def _plain_rows(data: bytes) -> bytes | None:
    """The compressed rows of a PNG file that has no other chunks, and whose checksums hold."""
    at, rows, view = 8, [], memoryview(data)
    while at + 12 <= len(data):
        end = at + 8 + int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        if data[end : end + 4] != zlib.crc32(view[at + 4 : end]).to_bytes(4, "big"):
            return None
        if kind == b"IDAT":
            rows.append(view[at + 8 : end])
        elif kind == b"IEND":
            return b"".join(rows)
        elif kind != b"IHDR" or at != 8 or end != 29:
            return None
        at = end + 4
    return None


def _shallow_png(data: bytes, channels: int) -> Array:
    image = _opened(data, "PNG")
    seen = "transparency" in image.info
    if image.mode == "P":
        image = image.convert("RGBA" if seen else "RGB")
    elif image.mode == "1":
        image = image.convert("L")
    elif seen and channels == 4:
        image = image.convert("RGBA")
    return _pixels(image)


def _with_channels(found: Array, channels: int) -> Array:
    """An image of 1 to 4 channels as one of as many as asked for, 0 for no change."""
    have = found.shape[-1]
    if channels in (0, have):
        return found
    color = found[..., : have - 1] if have in (2, 4) else found
    if channels == 1 and color.shape[-1] == 3:
        mixed = (color.astype(np.int64) @ _GRAY) >> 15
        return mixed.astype(found.dtype)[..., None]
    if channels == 1:
        return color
    full = np.iinfo(found.dtype).max
    alpha = (
        found[..., -1:] if have in (2, 4) else np.full((*found.shape[:-1], 1), full, found.dtype)
    )
    wide = np.broadcast_to(color, (*found.shape[:-1], 3))
    return np.concatenate([wide, alpha], -1) if channels == 4 else np.ascontiguousarray(wide)


def _png_chunks(data: bytes) -> tuple[bytes, bytes]:
    """The compressed rows, and the value that stands for transparent."""
    at, rows, seen = 8, [], b""
    while at + 12 <= len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        if zlib.crc32(kind + body).to_bytes(4, "big") != data[at + 8 + size : at + 12 + size]:
            raise BadImage("the PNG's checksum does not hold")
        if kind == b"IDAT":
            rows.append(body)
        elif kind == b"tRNS":
            seen = body
        elif kind == b"IEND":
            break
        at += 12 + size
    return b"".join(rows), seen


def _deep_png(data: bytes) -> Array:
    """A PNG file of 16 bits a channel."""
    width, height, _, color, interlaced = png_header(data)
    lanes = _PNG_CHANNELS[color]
    passes = (*_ADAM7, _LAST_PASS) if interlaced else ((0, 1, 0, 1),)
    compressed, _ = _png_chunks(data)
    sizes = [(-(-(height - y) // dy), -(-(width - x) // dx)) for y, dy, x, dx in passes]
    lengths = [h * (1 + w * lanes * 2) if w > 0 and h > 0 else 0 for h, w in sizes]
    try:
        raw = zlib.decompressobj().decompress(compressed, sum(lengths) or 1)
    except zlib.error as error:
        raise BadImage(f"the PNG's rows are broken ({error})") from error
    if len(raw) < sum(lengths):
        raise BadImage(f"the PNG holds {len(raw)} bytes of rows, {sum(lengths)} were expected")
    found = np.zeros((height, width, lanes), np.uint16)
    at = 0
    for (y, dy, x, dx), (h, w), length in zip(passes, sizes, lengths, strict=True):
        if length:
            rows = np.frombuffer(raw, np.uint8, length, at).reshape(h, -1)
            found[y::dy, x::dx] = _guarded(_unfiltered, rows, w, lanes)
        at += length
    return found


def _unfiltered(rows: Array, width: int, lanes: int) -> Array:
    """Filtered rows of 16 bits a channel as numbers.

    Filters work on each byte of a pixel alone, so the high and the low bytes are two images of 8
    bits with the same filters, and those Pillow reads.
    """
    filters, pixels = rows[:, :1], rows[:, 1:].reshape(len(rows), -1, 2)
    color = {1: 0, 2: 4, 3: 2, 4: 6}[lanes]
    halves = []
    for i in (0, 1):
        content = np.concatenate([filters, pixels[..., i]], 1).tobytes()
        file = png_file(width, len(rows), 8, color, zlib.compress(content, 0))
        halves.append(_pixels(pil_image.open(io.BytesIO(file), formats=("PNG",))))
    return halves[0].astype(np.uint16) << 8 | halves[1]


def png_file(width: int, height: int, bits: int, color: int, compressed: bytes) -> bytes:
    """A PNG file of compressed rows."""
    header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)
    parts, starts = [_PNG_SIGN], range(0, len(compressed), _MOST_IN_CHUNK)
    rows = [(b"IDAT", compressed[i : i + _MOST_IN_CHUNK]) for i in starts]
    for kind, body in ((b"IHDR", header), *rows, (b"IEND", b"")):
        parts += [struct.pack(">I", len(body)), kind, body]
        parts.append(zlib.crc32(kind + body).to_bytes(4, "big"))
    return b"".join(parts)


# ---- JPEG


class JpegFrame(NamedTuple):
    """What the header of a JPEG file's frame says.

    Attributes:
      shape: height, width and channels.
      bits: of a sample.
      at: where the header stands in the file.
      lines: the rows of pixels that are coded together.
      scan: where the first scan starts; -1 where there is none.
    """

    shape: tuple[int, int, int]
    bits: int
    at: int
    lines: int
    scan: int


def jpeg_frame(data: bytes) -> JpegFrame:
    """The frame of a JPEG file."""
    at, found = 2, None
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker in (0xFF, 0x01) or 0xD0 <= marker <= 0xD8:
            at += 1 if marker == 0xFF else 2
            continue
        if marker == 0xDA and found is not None:
            return found._replace(scan=at)
        if marker in (0xD9, 0xDA):
            break
        size = data[at + 2] << 8 | data[at + 3]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC) and at + 10 <= len(data):
            bits, height, width, parts = struct.unpack(">BHHB", data[at + 4 : at + 10])
            check_size(height, width, max(parts, 1))
            down = [each & 15 for each in data[at + 11 : at + 11 + 3 * parts : 3]]
            found = JpegFrame((height, width, parts), bits, at, 8 * max(down, default=1), -1)
        at += 2 + size
    if found is None:
        raise BadImage("no frame header was found in the JPEG data")
    return found


def jpeg(data: bytes, channels: int, ratio: int = 1, recover: bool = False) -> Array:
    """A JPEG file as uint8[height, width, channels], made smaller by `ratio` while it is read.

    With `recover`, what is missing at the end is gray.
    """
    frame = _fitting_frame(data, channels)
    if recover:
        data = data + b"\xff\xd9"
    elif frame.scan < 0 or data.find(b"\xff\xd9", frame.scan) < 0:
        raise BadImage("the JPEG data ends early")
    return _guarded(_read_jpeg, data, frame, channels, ratio)


def jpeg_window(
    data: bytes, window: tuple[int, int, int, int], channels: int, ratio: int, recover: bool
) -> Array:
    """A window (row, column, height, width) of what `jpeg` gives; the end mark may miss.

    Rows below it are not decoded: the frame's header is told of no more than what the window takes,
    and of those below that show in its last ones.
    """
    frame = _fitting_frame(data, channels)
    y, x, height, width = window
    tall, wide = (-(-n // ratio) for n in frame.shape[:2])
    if min(y, x) < 0 or min(height, width) < 1 or y + height > tall or x + width > wide:
        raise BadWindow(f"the window {list(window)} leaves the image of {[tall, wide]}")
    if recover:
        data = data + b"\xff\xd9"
    elif frame.scan < 0:
        raise BadImage("the JPEG data ends early")
    rows = (-(-(y + height) * ratio // frame.lines) + _below(data, frame)) * frame.lines
    if rows < frame.shape[0]:
        size = frame.at + 5
        data = b"".join([data[:size], rows.to_bytes(2, "big"), data[size + 2 :]])
        frame = frame._replace(shape=(rows, *frame.shape[1:]))
    found = _guarded(_read_jpeg, data, frame, channels, ratio)
    return np.ascontiguousarray(found[y : y + height, x : x + width])


def _below(data: bytes, frame: JpegFrame) -> int:
    """How many rows of blocks show in the one above them.

    One, as its colors are mixed into the last ones above. Of a progressive file, two more: where
    scans are missing, what they would tell of a block is guessed from those two rows around it.
    """
    progressive = data[frame.at + 1] & 3 == 2
    return 3 if progressive else 1


def _fitting_frame(data: bytes, channels: int) -> JpegFrame:
    """The frame of a JPEG file that can be read with so many channels."""
    frame = jpeg_frame(data)
    if channels == 4:
        raise BadImage("JPEG does not support 4 channels")
    if frame.shape[2] == 4 and channels == 1:
        raise BadImage("a JPEG of four colors has no gray form")
    return frame


def _read_jpeg(data: bytes, frame: JpegFrame, channels: int, ratio: int) -> Array:
    height, width, parts = frame.shape
    if parts in (1, 3) and frame.bits == 8:  # in half the time that Pillow takes to open a file
        check_size(width, height, 4)
        mode = "L" if 1 in (parts, channels) else "RGB"
        size = -(-width // ratio), -(-height // ratio)
        image = pil_image.frombytes(mode, size, data, "jpeg", mode, "", ratio, 0)
    else:
        image = _opened(data, "JPEG")
        if ratio > 1:
            # Pillow takes the power of two below the quotient of the sizes.
            image.draft(None, (image.width / (ratio + 0.5), image.height / (ratio + 0.5)))
        if image.mode not in ("L", "RGB"):
            image = image.convert("RGB")
    found = _pixels(image)
    return np.repeat(found, 3, -1) if channels == 3 and found.shape[-1] == 1 else found


# ---- GIF and WebP


def gif(data: bytes, all_frames: bool = True) -> Array:
    """A GIF file as uint8[frames, height, width, 3]; frames after a broken one are left out."""
    return _guarded(_read_gif, data, all_frames)


def _read_gif(data: bytes, all_frames: bool) -> Array:
    image = _opened(data, "GIF")
    frames = [_gif_frame(image)]
    try:
        while all_frames:
            image.seek(len(frames))
            check_size(len(frames) + 1, image.height, image.width, 3)
            frames.append(_gif_frame(image))
    except BadImage:
        raise
    except Exception:  # the end, or a frame that is broken: what came before counts
        return np.stack(frames)
    return np.stack(frames)


def _gif_frame(image: Any) -> Array:
    """The canvas after a frame; what was never drawn is black."""
    found = np.asarray(image.convert("RGBA"))
    return found[..., :3] * (found[..., 3:] > 0)


def _webp_size(data: bytes) -> tuple[int, int]:
    """Width and height that a WebP file claims."""
    head = data[12:16]
    if head == b"VP8X" and len(data) >= 30:
        return (
            1 + int.from_bytes(data[24:27], "little"),
            1 + int.from_bytes(data[27:30], "little"),
        )
    if head == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if head == b"VP8 " and len(data) >= 30:
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    raise BadImage("the WebP header is broken")


def webp(data: bytes, channels: int, all_frames: bool = True) -> Array:
    """A WebP file as uint8[frames, height, width, channels]."""
    width, height = _webp_size(data)
    check_size(width, height, 4)
    return _guarded(_read_webp, data, channels, all_frames)


def _read_webp(data: bytes, channels: int, all_frames: bool) -> Array:
    if channels == 1:
        raise BadImage("WebP has 3 or 4 channels, not 1")
    image = _opened(data, "WEBP")
    count = getattr(image, "n_frames", 1) if all_frames else 1
    check_size(count, image.height, image.width, len(image.getbands()))
    frames = []
    for i in range(count):
        image.seek(i)
        frames.append(np.asarray(image if image.mode in ("RGB", "RGBA") else image.convert("RGB")))
    if channels not in (0, frames[0].shape[-1]):
        raise BadImage(f"the WebP file has {frames[0].shape[-1]} channels, not {channels}")
    return np.stack(frames)


# ---- BMP


def bmp(data: bytes, channels: int) -> Array:
    """A BMP file of 8, 24 or 32 bits a pixel as uint8[height, width, channels]; no palettes."""
    if len(data) < 32:
        raise BadImage(f"Incomplete bmp content: at least 32 bytes are needed, got {len(data)}")
    start, _, width, tall, _, bits = struct.unpack("<iiiiHH", data[10:30])
    height, have = abs(tall), bits // 8
    if channels == 1:
        raise BadImage("`channels` must be 0, 3 or 4 for BMP, but got 1")
    if have not in (1, 3, 4) or bits % 8:
        raise BadImage(f"a BMP of 8, 24 or 32 bits a pixel is expected, got {bits}")
    check_size(height, width, max(have, channels))
    row = (width * have + 3) // 4 * 4
    if start < 0 or start + row * (height - 1) + width * have > len(data):
        raise BadImage(f"Incomplete bmp content: {height} rows of {row} bytes, got {len(data)}")
    body = np.frombuffer(data[start : start + row * height].ljust(row * height, b"\0"), np.uint8)
    rows, turned = body.reshape(height, row), tall > 0
    found = native_images.swapped(rows, width, have, turned) if have >= 3 else None
    if found is None:
        found = rows[:, : width * have].reshape(height, width, have)
        found = found[::-1] if turned else found
        found = found[..., [2, 1, 0, 3][:have]] if have >= 3 else found
    return np.ascontiguousarray(_with_channels(found, channels))
