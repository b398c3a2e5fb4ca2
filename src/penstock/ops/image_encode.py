"""Tensors as JPEG files in memory. Host only; `media` encodes PNG."""

import io
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.lazy import pil_image
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.string_arrays import HOST, as_bytes, as_text
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
NO_GRADIENT = "a file has no gradient"
_INCHES_PER_CM = 0.3937008


def _refusal(op: str, got: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(
        None, None, f"{op}: expected an image with pixels, got {got}. Leave out empty images."
    )


def _jpeg_shape(c: ShapeContext) -> Dims:
    dims = c.rank(0, 3, "image")
    allowed = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}[as_text(c.attr("format"))]
    if dims is not None and dims[2] not in (None, *allowed):
        c.fail(f"an image of {' or '.join(map(str, allowed))} channels", f"{dims[2]}")
    if not 0 <= int(c.attr("quality")) <= 100:
        c.fail("quality to be in [0, 100]", f"{c.attr('quality')}")
    return ()


ENCODE_JPEG = define_op(
    "EncodeJpeg(image: uint8; format: {'', 'grayscale', 'rgb'} = '', quality: int = 95, "
    "progressive: bool = False, optimize_size: bool = False, chroma_downsampling: bool = True, "
    "density_unit: {'in', 'cm'} = 'in', x_density: int = 300, y_density: int = 300, xmp_metadata: "
    "string = '') -> contents: string",
    shape=_jpeg_shape,
    doc="An image, uint8[height, width, 1 or 3], as a JPEG file.",
).not_differentiable(NO_GRADIENT)


def _jpeg_file(op: str, image: Array, quality: int, **more: Any) -> bytes:
    height, width, channels = image.shape
    if not (0 < height < 1 << 16 and 0 < width < 1 << 16):
        raise _refusal(op, f"an image of {height} by {width} pixels (65535 are the most)")
    buffer = io.BytesIO()
    made = pil_image.fromarray(image[..., 0] if channels == 1 else image)
    # Pillow takes 0 for "not given": 1 makes the same tables.
    made.save(buffer, "JPEG", quality=max(quality, 1), **more)
    return buffer.getvalue()


@host_kernel(ENCODE_JPEG, limit=HOST)
def _encode_jpeg(
    image: Array,
    *,
    format: Any,
    quality: int,
    progressive: bool,
    optimize_size: bool,
    chroma_downsampling: bool,
    density_unit: Any,
    x_density: int,
    y_density: int,
    xmp_metadata: Any,
) -> Array:
    scale = 1 if as_text(density_unit) == "in" else 1 / _INCHES_PER_CM
    xmp = as_bytes(xmp_metadata)
    more: dict[str, Any] = {"xmp": xmp} if xmp else {}
    result = np.empty((), object)
    result[()] = _jpeg_file(
        "EncodeJpeg",
        image,
        quality,
        progressive=progressive,
        optimize=optimize_size,
        subsampling=2 if chroma_downsampling else 0,
        dpi=(x_density * scale, y_density * scale),
        **more,
    )
    return result


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Any:
    """An image as a JPEG file.

    Args:
      image: uint8[height, width, channels], 1 or 3 channels.
      format: 'grayscale' or 'rgb', to insist on 1 or 3 channels.
      quality: from 0, small, to 100, true to the image.
      progressive: whether the file gets sharper while it is loaded.
      optimize_size: whether time is spent on making the file smaller.
      chroma_downsampling: whether colors are kept at half the resolution.
      density_unit: 'in' or 'cm', the unit of the densities.
      x_density: pixels a unit, across.
      y_density: pixels a unit, down.
      xmp_metadata: text that goes into the file.
      name: the name in a graph.

    Returns:
      A string scalar.

    Raises:
      InvalidArgumentError: the image is empty, or has neither 1 nor 3 channels.
    """
    return execute(
        ENCODE_JPEG,
        (image,),
        {
            "format": format,
            "quality": quality,
            "progressive": progressive,
            "optimize_size": optimize_size,
            "chroma_downsampling": chroma_downsampling,
            "density_unit": density_unit,
            "x_density": x_density,
            "y_density": y_density,
            "xmp_metadata": xmp_metadata,
        },
        name,
    )


def _variable_shape(c: ShapeContext) -> Dims:
    dims = c.rank(0, 3, "images")
    c.rank(1, 0, "quality")
    if dims is not None and dims[2] not in (None, 1, 3):
        c.fail("an image of 1 or 3 channels", f"{dims[2]}")
    return ()


VARIABLE_JPEG = define_op(
    "EncodeJpegVariableQuality(images: uint8, quality: int32) -> contents: string",
    shape=_variable_shape,
    doc="An image as a JPEG file whose quality is an input.",
).not_differentiable(NO_GRADIENT)


@host_kernel(VARIABLE_JPEG, limit=HOST)
def _encode_variable(images: Array, quality: Array) -> Array:
    if not 0 <= int(quality) <= 100:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"EncodeJpegVariableQuality: expected quality in [0, 100], got {int(quality)}.",
        )
    result = np.empty((), object)
    result[()] = _jpeg_file("EncodeJpegVariableQuality", images, int(quality), subsampling=2)
    return result
