"""Image files in memory as tensors: decode_png, decode_jpeg, decode_gif, decode_image and more.

`image_formats` reads the bytes; here are the operations, which refuse what is no image with
InvalidArgumentError. Host only.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops import image_formats as formats
from penstock.ops.image_color import convert_image_dtype
from penstock.ops.image_formats import BadImage
from penstock.ops.image_jxl import jxl
from penstock.ops.string_arrays import HOST, as_text
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
NO_GRADIENT = "a file has no gradient"
_JPEG_ATTRS = (
    "channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True, try_recover_truncated: bool ="
    " False, acceptable_fraction: float = 1.0, dct_method: string = ''"
)
_DCT_METHODS = ("", "INTEGER_FAST", "INTEGER_ACCURATE")
_KINDS = ("png", "jpeg", "gif", "bmp", "webp", "jxl")


def refusal(op: str, reason: str) -> errors.InvalidArgumentError:
    """The error for what is no image file."""
    return errors.InvalidArgumentError(
        None,
        None,
        f"{op}: expected a whole image file in one of its formats, got a problem: {reason}. Check"
        " the file with another program, or skip it.",
    )


def content(op: str, contents: Array) -> bytes:
    """The file; an empty one is refused."""
    data: bytes = contents.reshape(-1)[0]
    if not data:
        raise refusal(op, "Input is empty")
    return data


def one_kind(op: str, data: bytes, allowed: tuple[str, ...]) -> str:
    """The format of a file that must be of an allowed one."""
    kind = formats.kind_of(data)
    if not kind:
        raise refusal(
            op, "Unknown image file format. One of JPEG, PNG, GIF, BMP, WebP, JXL required"
        )
    if kind not in allowed:
        raise refusal(op, f"it is a {kind} file. Use `decode_{kind}` or `decode_image` instead")
    return kind


def _check_channels(c: ShapeContext) -> int | None:
    """The number of channels asked for, None for the file's own."""
    c.rank(0, 0, "contents")
    channels = int(c.attr("channels"))
    if channels not in (0, 1, 3, 4):
        c.fail("`channels` of 0, 1, 3 or 4", f"{channels}", "0 takes what the file has.")
    return channels or None


def picture_shape(c: ShapeContext) -> Dims:
    """[height, width, channels], of which the channels may be known."""
    return None, None, _check_channels(c)


def _frames_shape(c: ShapeContext) -> Dims:
    return None, None, None, _check_channels(c)


def still(op: str, data: bytes, channels: int, deep: bool = False, ratio: int = 1) -> Array:
    """A PNG, JPEG or JPEG XL file, or a GIF file of one frame, as [height, width, channels]."""
    kind = one_kind(op, data, ("png", "jpeg", "gif", "jxl"))
    try:
        if kind == "png":
            return formats.png(data, channels, deep)
        if kind == "jpeg":
            found = formats.jpeg(data, channels, ratio)
        elif kind == "jxl":
            found = jxl(data, channels)
        else:
            if channels not in (0, 3):
                raise BadImage(f"channels must be 0 or 3 for GIF, got {channels}")
            frames = formats.gif(data)
            if len(frames) > 1:
                raise BadImage(
                    f"Got {len(frames)} frames, but animated gifs can only be decoded by"
                    " tf.io.decode_gif or tf.io.decode_image"
                )
            found = frames[0]
    except BadImage as error:
        raise refusal(op, str(error)) from error
    return found.astype(np.uint16) * 256 if deep else found


PNG = define_op(
    "DecodePng(contents: string; channels: int = 0, dtype: {uint8, uint16} = uint8) -> image: "
    "dtype",
    shape=picture_shape,
    doc="A PNG file as [height, width, channels]; JPEG and GIF files of one frame are read too.",
).not_differentiable(NO_GRADIENT)


@host_kernel(PNG, limit=HOST)
def _decode_png(contents: Array, *, channels: int, dtype: DType) -> Array:
    return still("DecodePng", content("DecodePng", contents), channels, dtype == dt.uint16)


def decode_png(
    contents: Any, channels: int = 0, dtype: Any = dt.uint8, name: str | None = None
) -> Any:
    """A PNG file as a tensor; a JPEG file or a GIF file of one frame is read too.

    Args:
      contents: a string scalar, the file.
      channels: 0 for the file's own, 1 for gray, 3 for colors, 4 for colors and opacity.
      dtype: uint8 or uint16.
      name: the name in a graph.

    Returns:
      `dtype`[height, width, channels].

    Raises:
      InvalidArgumentError: the file is broken, larger than `image_formats.MAX_BYTES`, or of another
        format.
    """
    return execute(PNG, (contents,), {"channels": channels, "dtype": dtype}, name)


def _jpeg_shape(c: ShapeContext) -> Dims:
    channels = _check_channels(c)
    ratio, method = int(c.attr("ratio")), as_text(c.attr("dct_method"))
    if ratio not in (1, 2, 4, 8):
        c.fail("a ratio of 1, 2, 4, or 8", f"{ratio}")
    if method not in _DCT_METHODS:
        c.fail(f"dct_method to be one of {_DCT_METHODS}", f"{method!r}")
    return None, None, channels


JPEG = define_op(
    f"DecodeJpeg(contents: string; {_JPEG_ATTRS}) -> image: uint8",
    shape=_jpeg_shape,
    doc="A JPEG file as [height, width, channels]; PNG and GIF files of one frame are read too.",
).not_differentiable(NO_GRADIENT)


@host_kernel(JPEG, limit=HOST)
def _decode_jpeg(
    contents: Array,
    *,
    channels: int,
    ratio: int,
    fancy_upscaling: bool,
    try_recover_truncated: bool,
    acceptable_fraction: float,
    dct_method: Any,
) -> Array:
    data = content("DecodeJpeg", contents)
    if try_recover_truncated and formats.kind_of(data) == "jpeg":
        return _jpeg("DecodeJpeg", formats.jpeg, data, channels, ratio, True)
    return still("DecodeJpeg", data, channels, ratio=ratio)


def _jpeg(op: str, read: Callable[..., Array], *arguments: Any) -> Array:
    try:
        return read(*arguments)
    except formats.BadWindow as error:
        raise refusal(op, str(error)) from error
    except BadImage as error:
        raise refusal(op, f"Invalid JPEG data: {error}") from error


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """A JPEG file as a tensor; a PNG file or a GIF file of one frame is read too.

    The accurate transform and smooth scaling of colors are always used: values differ from those of
    `dct_method='INTEGER_FAST'` by a few levels.

    Args:
      contents: a string scalar, the file.
      channels: 0 for the file's own, 1 for gray, 3 for colors.
      ratio: 1, 2, 4 or 8: how much smaller the image is made while it is read.
      fancy_upscaling: accepted; colors are always scaled smoothly.
      try_recover_truncated: whether what is left of a file that ends early is returned.
      acceptable_fraction: accepted; with `try_recover_truncated` any part of the file will do.
      dct_method: '', 'INTEGER_FAST' or 'INTEGER_ACCURATE'; accepted, see above.
      name: the name in a graph.

    Returns:
      uint8[height, width, channels].

    Raises:
      InvalidArgumentError: the file is broken, too large, or of another format.
    """
    return execute(
        JPEG,
        (contents,),
        {
            "channels": channels,
            "ratio": ratio,
            "fancy_upscaling": fancy_upscaling,
            "try_recover_truncated": try_recover_truncated,
            "acceptable_fraction": acceptable_fraction,
            "dct_method": dct_method,
        },
        name,
    )


def _crop_shape(c: ShapeContext) -> Dims:
    *_, channels = _jpeg_shape(c) or (None,)
    dims = c.rank(1, 1, "crop_window")
    if dims is not None and dims[0] not in (None, 4):
        c.fail("a crop_window of four numbers", f"{dims[0]} numbers", "Give [y, x, height, width].")
    window = c.constant(1)
    if window is None:
        return None, None, channels
    return int(window[2]), int(window[3]), channels


CROP = define_op(
    f"DecodeAndCropJpeg(contents: string, crop_window: int32; {_JPEG_ATTRS}) -> image: uint8",
    shape=_crop_shape,
    doc="A window of a JPEG file.",
).not_differentiable(NO_GRADIENT)


@host_kernel(CROP, limit=HOST)
def _decode_and_crop(
    contents: Array,
    crop_window: Array,
    *,
    channels: int,
    ratio: int,
    fancy_upscaling: bool,
    try_recover_truncated: bool,
    acceptable_fraction: float,
    dct_method: Any,
) -> Array:
    op = "DecodeAndCropJpeg"
    data = content(op, contents)
    if one_kind(op, data, _KINDS) != "jpeg":
        raise refusal(op, f"it runs on JPEG only, but detected {formats.kind_of(data).upper()}")
    given = tuple(crop_window.tolist()), channels, ratio, try_recover_truncated
    return _jpeg(op, formats.jpeg_window, data, *given)


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """A window of a JPEG file as a tensor.

    Args:
      contents: a string scalar, the file.
      crop_window: int32[4], the window's first row and column, its height and width.
      channels: as of `decode_jpeg`, like all that follow.
      ratio: as of `decode_jpeg`; the window is one of the smaller image.
      fancy_upscaling: as of `decode_jpeg`.
      try_recover_truncated: as of `decode_jpeg`.
      acceptable_fraction: as of `decode_jpeg`.
      dct_method: as of `decode_jpeg`.
      name: the name in a graph.

    Returns:
      uint8[height, width, channels].

    Raises:
      InvalidArgumentError: the file is no whole JPEG file, or the window does not lie in the image.
    """
    return execute(
        CROP,
        (contents, crop_window),
        {
            "channels": channels,
            "ratio": ratio,
            "fancy_upscaling": fancy_upscaling,
            "try_recover_truncated": try_recover_truncated,
            "acceptable_fraction": acceptable_fraction,
            "dct_method": dct_method,
        },
        name,
    )


def _three(c: ShapeContext) -> Dims:
    c.rank(0, 0, "contents")
    return (3,)


JPEG_SHAPE = define_op(
    "ExtractJpegShape(contents: string; output_type: {int32, int64} = int32) -> image_shape: "
    "output_type",
    shape=_three,
    doc="Height, width and channels of a JPEG file, which is not decoded.",
).not_differentiable(NO_GRADIENT)


@host_kernel(JPEG_SHAPE, limit=HOST)
def _extract_shape(contents: Array, *, output_type: DType) -> Array:
    data = contents.reshape(-1)[0]
    try:
        if formats.kind_of(data) != "jpeg":
            raise BadImage(f"Invalid JPEG data, size {len(data)}")
        return np.array(formats.jpeg_frame(data).shape, output_type.numpy_dtype)
    except BadImage as error:
        raise refusal("ExtractJpegShape", str(error)) from error


def extract_jpeg_shape(contents: Any, output_type: Any = dt.int32, name: str | None = None) -> Any:
    """Height, width and channels of a JPEG file, which is not decoded.

    Args:
      contents: a string scalar, the file.
      output_type: int32 or int64.
      name: the name in a graph.

    Returns:
      `output_type`[3].

    Raises:
      InvalidArgumentError: the file is no JPEG file.
    """
    return execute(JPEG_SHAPE, (contents,), {"output_type": output_type}, name)


def _gif_shape(c: ShapeContext) -> Dims:
    c.rank(0, 0, "contents")
    return None, None, None, 3


GIF = define_op(
    "DecodeGif(contents: string) -> image: uint8",
    shape=_gif_shape,
    doc="All frames of a GIF file; PNG and JPEG files are read as one frame.",
).not_differentiable(NO_GRADIENT)


@host_kernel(GIF, limit=HOST)
def _decode_gif(contents: Array) -> Array:
    data = content("DecodeGif", contents)
    if formats.kind_of(data) != "gif":
        return still("DecodeGif", data, 3)[None]
    try:
        return formats.gif(data)
    except BadImage as error:
        raise refusal("DecodeGif", str(error)) from error


def decode_gif(contents: Any, name: str | None = None) -> Any:
    """All frames of a GIF file, each the whole canvas.

    Args:
      contents: a string scalar, the file.
      name: the name in a graph.

    Returns:
      uint8[frames, height, width, 3].

    Raises:
      InvalidArgumentError: the file is broken, too large, or of another format.
    """
    return execute(GIF, (contents,), None, name)


BMP = define_op(
    "DecodeBmp(contents: string; channels: int = 0) -> image: uint8",
    shape=picture_shape,
    doc="A BMP file of 8, 24 or 32 bits a pixel.",
).not_differentiable(NO_GRADIENT)


@host_kernel(BMP, limit=HOST)
def _decode_bmp(contents: Array, *, channels: int) -> Array:
    data = content("DecodeBmp", contents)
    one_kind("DecodeBmp", data, ("bmp",))
    try:
        return formats.bmp(data, channels)
    except BadImage as error:
        raise refusal("DecodeBmp", str(error)) from error


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Any:
    """A BMP file of 8, 24 or 32 bits a pixel as a tensor; palettes are not applied.

    Args:
      contents: a string scalar, the file.
      channels: 0 for the file's own, 3 for colors, 4 for colors and opacity.
      name: the name in a graph.

    Returns:
      uint8[height, width, channels].

    Raises:
      InvalidArgumentError: the file is broken, too large, or of another format.
    """
    return execute(BMP, (contents,), {"channels": channels}, name)


WEBP = define_op(
    "DecodeWebP(contents: string; channels: int = 0, dtype: {uint8} = uint8) -> image: dtype",
    shape=_frames_shape,
    doc="All frames of a WebP file.",
).not_differentiable(NO_GRADIENT)


@host_kernel(WEBP, limit=HOST)
def _decode_webp(contents: Array, *, channels: int, dtype: DType) -> Array:
    data = content("DecodeWebP", contents)
    one_kind("DecodeWebP", data, ("webp",))
    try:
        return formats.webp(data, channels)
    except BadImage as error:
        raise refusal("DecodeWebP", str(error)) from error


def decode_webp(
    contents: Any, channels: int = 0, dtype: Any = dt.uint8, name: str | None = None
) -> Any:
    """All frames of a WebP file.

    Args:
      contents: a string scalar, the file.
      channels: 0 or the number of channels that the file has, 3 or 4.
      dtype: uint8.
      name: the name in a graph.

    Returns:
      uint8[frames, height, width, channels].

    Raises:
      InvalidArgumentError: the file is broken, too large, or of another format.
    """
    return execute(WEBP, (contents,), {"channels": channels, "dtype": dtype}, name)


def _any_shape(c: ShapeContext) -> Dims:
    channels = _check_channels(c)
    return None if c.attr("expand_animations") else (None, None, channels)


IMAGE = define_op(
    "DecodeImage(contents: string; channels: int = 0, dtype: {uint8, uint16, float} = uint8, "
    "expand_animations: bool = True) -> image: dtype",
    shape=_any_shape,
    doc="An image file of any format that is read.",
).not_differentiable(NO_GRADIENT)


@host_kernel(IMAGE, limit=HOST)
def _decode_image(
    contents: Array, *, channels: int, dtype: DType, expand_animations: bool
) -> Array:
    data = content("DecodeImage", contents)
    kind = one_kind("DecodeImage", data, _KINDS)
    try:
        if kind == "png":
            found = formats.png(data, channels, dtype != dt.uint8)
        else:
            found = _of_bytes(data, kind, channels, dtype, expand_animations)
    except BadImage as error:
        raise refusal("DecodeImage", str(error)) from error
    if dtype == dt.float32:
        full = np.float32(np.iinfo(found.dtype).max)
        return found * (np.float32(1) / full)
    return found.astype(np.uint16) * 256 if dtype == dt.uint16 and kind != "png" else found


def _of_bytes(data: bytes, kind: str, channels: int, dtype: DType, expand: bool) -> Array:
    """A file of 8 bits a channel; with frames where the format has them and they are wanted."""
    if kind == "jpeg":
        return formats.jpeg(data, channels)
    if kind == "bmp":
        return formats.bmp(data, channels)
    if kind == "jxl":
        if dtype != dt.uint8:
            raise BadImage("JXL only supports uint8 for dtype")
        return jxl(data, channels)
    if kind == "gif":
        if channels not in (0, 3):
            raise BadImage(f"channels must be 0 or 3 for GIF, got {channels}")
        frames = formats.gif(data, expand)
    else:
        if dtype != dt.uint8:
            raise BadImage("WebP only supports uint8 for dtype")
        frames = formats.webp(data, channels, expand)
    return frames if expand else frames[0]


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = dt.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Any:
    """An image file, PNG, JPEG, GIF, BMP, WebP or JPEG XL, as a tensor.

    Args:
      contents: a string scalar, the file.
      channels: None or 0 for the file's own, 1 for gray, 3 for colors, 4 for colors and opacity; as
        far as the format has them.
      dtype: uint8, or another dtype into whose range values are brought.
      name: the name in a graph.
      expand_animations: whether GIF and WebP files keep their frames; else the first is returned.

    Returns:
      `dtype`[height, width, channels], or `dtype`[frames, height, width, channels] of a GIF or WebP
      file with `expand_animations`.

    Raises:
      InvalidArgumentError: the file is broken, too large, or of another format.
    """
    wanted = dt.as_dtype(dtype)
    direct = wanted in (dt.uint8, dt.uint16, dt.float32)
    found = execute(
        IMAGE,
        (contents,),
        {
            "channels": channels or 0,
            "dtype": wanted if direct else dt.uint16,
            "expand_animations": expand_animations,
        },
        name,
    )
    return found if direct else convert_image_dtype(found, wanted)


def is_jpeg(contents: Any, name: str | None = None) -> Any:
    """Whether a file is a JPEG file, as its first three bytes tell.

    Args:
      contents: string[...], files.
      name: the name in a graph.

    Returns:
      bool[...].
    """
    first = execute("Substr", (contents, np.int32(0), np.int32(3)))
    return execute("Equal", (first, b"\xff\xd8\xff"), None, name)
