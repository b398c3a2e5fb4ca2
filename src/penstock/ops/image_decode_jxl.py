"""JPEG XL files in memory as tensors: decode_jxl. `image_jxl` reads the bytes. Host only."""

from typing import Any

from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.ops.image_decode import NO_GRADIENT, content, picture_shape, still
from penstock.ops.string_arrays import HOST
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray

JXL = define_op(
    "DecodeJxl(contents: string; channels: int = 0, dtype: {uint8} = uint8) -> image: dtype",
    shape=picture_shape,
    doc="A JPEG XL file; PNG, JPEG and GIF files of one frame are read too.",
).not_differentiable(NO_GRADIENT)


@host_kernel(JXL, limit=HOST)
def _decode_jxl(contents: Array, *, channels: int, dtype: DType) -> Array:
    return still("DecodeJxl", content("DecodeJxl", contents), channels)


def decode_jxl(
    contents: Any, channels: int = 0, dtype: Any = dt.uint8, name: str | None = None
) -> Any:
    """A JPEG XL file as a tensor; it takes the package pillow-jxl-plugin.

    Args:
      contents: a string scalar, the file.
      channels: 0 or the number of channels that the file has.
      dtype: uint8; deeper images are scaled.
      name: the name in a graph.

    Returns:
      uint8[height, width, channels].

    Raises:
      InvalidArgumentError: the file is broken, too large, or of another format.
      UnimplementedError: the package is not installed.
    """
    return execute(JXL, (contents,), {"channels": channels, "dtype": dtype}, name)
