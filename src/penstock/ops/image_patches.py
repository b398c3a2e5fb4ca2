"""Patches of images, their edges and their variation."""

from functools import partial
from typing import Any

import numpy as np

from penstock.core import native_images
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel, kernel
from penstock.core.lazy import lax
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.graph.standard_forms import standard_form
from penstock.ops.array_basics import reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_order import transpose
from penstock.ops.array_pad import pad
from penstock.ops.composing import scope
from penstock.ops.image_windows import int32_vector
from penstock.ops.math_arithmetic import add, subtract
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_range import range as range_of
from penstock.ops.math_reduce import reduce_sum
from penstock.ops.nn_conv_ops import depthwise_conv2d
from penstock.types.dims import Dims

Array = Any


PATCHES = define_op(
    "ExtractImagePatches(images: T; ksizes: list(int) >= 4, strides: list(int) >= 4, rates: "
    "list(int) >= 4, T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, "
    "uint32, uint64, complex64, complex128, bool}, padding: {'SAME', 'VALID'}) -> patches: T",
    shape=lambda c: _patches_shape(c),
    doc="Windows of images, each as one row of channels.",
)


def _reach(size: int, window: int, stride: int, rate: int, padding: Any) -> tuple[int, int]:
    """How many windows there are, and how many zeros lie before the first."""
    span = window + (window - 1) * (rate - 1)
    if str(padding) == "SAME":
        count = -(-size // stride)
        return count, max(0, (count - 1) * stride + span - size) // 2
    room = size - span + stride  # a window that does not fit leaves none where the stride is larger
    return (room // stride if room >= 0 else -(-room // stride)), 0


def _patches_shape(c: ShapeContext) -> Dims:
    said = partial(c.bracketed, "input must be 4-dimensional{}", 0)
    dims = c.rank(0, 4, kernel=said) or (None,) * 4
    window, stride, rate = (c.attr(n) for n in ("ksizes", "strides", "rates"))
    for name, values in (("ksizes", window), ("strides", stride), ("rates", rate)):
        if len(values) != 4 or values[0] != 1 or values[3] != 1 or min(values) < 1:
            c.fail(
                f"{name} of the form [1, rows, columns, 1]",
                f"{list(values)}",
                "Windows lie within one image and hold all channels.",
            )
    counts = [
        None
        if dims[i] is None
        else _reach(dims[i], window[i], stride[i], rate[i], c.attr("padding"))[0]  # type: ignore[arg-type]
        for i in (1, 2)
    ]
    for i, count in zip((1, 2), counts, strict=True):
        if count is not None and count < 0 and None not in counts:
            c.fail(
                f"windows that span less than {dims[i]} + 2 * {stride[i]} pixels, the image's size "
                "and two strides",
                f"a window that spans {window[i] + (window[i] - 1) * (rate[i] - 1)}",
                "Make it smaller, or pad the images with padding='SAME'.",
            )
    if None in counts:
        counts = [None, None]
    depth = None if dims[3] is None else dims[3] * window[1] * window[2]
    return dims[0], *counts, depth


def _window_indices(size: int, window: int, stride: int, rate: int, padding: Any) -> Array:
    """Which rows each window holds, [windows, window]; -1 outside of the image."""
    count, before = _reach(size, window, stride, rate, padding)
    places = np.arange(count)[:, None] * stride - before + np.arange(window) * rate
    return np.where((places >= 0) & (places < size), places, -1)


@kernel(PATCHES)
def _extract(
    xp: Any, images: Array, *, ksizes: Any, strides: Any, rates: Any, padding: Any
) -> Array:
    parts = [
        _window_indices(images.shape[i], ksizes[i], strides[i], rates[i], padding) for i in (1, 2)
    ]
    widened = xp.pad(images, [(0, 0), (0, 1), (0, 1), (0, 0)])  # index -1 finds zeros
    rows = xp.take(widened, parts[0].reshape(-1) % (images.shape[1] + 1), axis=1)
    both = xp.take(rows, parts[1].reshape(-1) % (images.shape[2] + 1), axis=2)
    batch, channels = images.shape[0], images.shape[3]
    (high, tall), (wide, broad) = parts[0].shape, parts[1].shape
    split = both.reshape(batch, high, tall, wide, broad, channels)
    ordered = xp.transpose(split, (0, 1, 3, 2, 4, 5))
    return ordered.reshape(batch, high, wide, tall * broad * channels)


@host_kernel(PATCHES, **native_images.ON_CPU)
def _extract_natively(
    images: Array, *, ksizes: Any, strides: Any, rates: Any, padding: Any
) -> Array:
    (high, top), (wide, left) = (
        _reach(images.shape[i], ksizes[i], strides[i], rates[i], padding) for i in (1, 2)
    )
    counts = max(high, 0), max(wide, 0)  # below 0 beside another axis of no pixels
    window = strides[:3], rates[:3], (0, top, left), (1, *counts)
    found = native_images.patches(images[:, None], ksizes[:3], *window)
    if found is None:
        return _extract(np, images, ksizes=ksizes, strides=strides, rates=rates, padding=padding)
    return found.reshape(images.shape[0], *counts, ksizes[1] * ksizes[2] * images.shape[3])


PATCHES_GRAD = define_op(
    "PenstockExtractImagePatchesGrad(grad: T, image_shape: int32; ksizes: list(int) >= 4, strides: "
    "list(int) >= 4, rates: list(int) >= 4, T: {bfloat16, half, float, double, complex64, "
    "complex128}, padding: {'SAME', 'VALID'}) -> output: T",
    shape=lambda c: c.shape_value(1),
    host_inputs=("image_shape",),
    doc="What flows back through ExtractImagePatches: windows added up where they overlap.",
)


@kernel(PATCHES_GRAD)
def _extract_grad(
    xp: Any,
    grad: Array,
    image_shape: Array,
    *,
    ksizes: Any,
    strides: Any,
    rates: Any,
    padding: Any,
) -> Array:
    batch, height, width, channels = (int(n) for n in image_shape)
    (high, top), (wide, left) = (
        _reach(n, ksizes[i], strides[i], rates[i], padding) for i, n in ((1, height), (2, width))
    )
    split = grad.reshape(batch, max(high, 0), max(wide, 0), ksizes[1], ksizes[2], channels)
    wider = np.float32 if grad.dtype.itemsize == 2 else grad.dtype  # half precision: wider sums
    rows = _added_up(xp, split.astype(wider), (2, 4), width, strides[2], rates[2], left)
    return _added_up(xp, rows, (1, 3), height, strides[1], rates[1], top).astype(grad.dtype)


def _added_up(
    xp: Any, windows: Array, axes: tuple[int, int], size: int, stride: int, rate: int, before: int
) -> Array:
    """Windows along one axis, whose places are another one, added up where they overlap."""
    across, inside = axes
    shape = [size if i == across else n for i, n in enumerate(windows.shape) if i != inside]
    total = xp.zeros(shape, windows.dtype)
    count = windows.shape[across]
    if count == 0:
        return total
    for place in range(windows.shape[inside]):
        part = windows[(slice(None),) * inside + (place,)]
        first = place * rate - before  # where the first window has this place
        if xp is np:
            start, end = max(0, -(first // stride)), min(count, (size - 1 - first) // stride + 1)
            if start < end:
                reach = first + start * stride, first + (end - 1) * stride + 1
                total[(slice(None),) * across + (slice(*reach, stride),)] += part[
                    (slice(None),) * across + (slice(start, end),)
                ]
        else:
            edges = [(0, 0, 0)] * part.ndim
            edges[across] = first, size - first - (count - 1) * stride - 1, stride - 1
            total += lax.pad(part, np.zeros((), part.dtype), edges)
    return total


@standard_form(PATCHES_GRAD)
def _extract_grad_in_files(
    grad: Any, image_shape: Any, *, ksizes: Any, strides: Any, rates: Any, padding: Any
) -> Any:
    batch, height, width, channels = (image_shape[i] for i in range(4))
    numbers = reshape(range_of(1, height * width + 1), [1, height, width, 1])
    attrs = {"ksizes": ksizes, "strides": strides, "rates": rates, "padding": padding}
    pixels = reshape(execute(PATCHES, (numbers,), attrs), [-1])  # 0 outside of the image
    rows = transpose(reshape(grad, [batch, shape_of(pixels)[0], channels]), [1, 0, 2])
    sums = execute("UnsortedSegmentSum", (rows, pixels, height * width + 1))[1:]
    return reshape(transpose(sums, [1, 0, 2]), image_shape)


def _patch_attrs(op: Any) -> dict[str, Any]:
    return {n: op.get_attr(n) for n in ("ksizes", "strides", "rates", "padding")}


@PATCHES.gradient
def _patches_gradient(op: Any, grad: Any) -> Any:
    return execute(PATCHES_GRAD, (grad, shape_of(op.inputs[0])), _patch_attrs(op))


@PATCHES_GRAD.gradient
def _patches_grad_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(PATCHES, (grad,), _patch_attrs(op)), None]


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Any:
    """Windows of images, each as one row of channels.

    Args:
      images: a tensor of a numeric dtype or bool, [batch, height, width, channels].
      sizes: [1, rows, columns, 1], the size of a window.
      strides: [1, rows, columns, 1], from window to window.
      rates: [1, rows, columns, 1], from pixel to pixel in a window.
      padding: "VALID", or "SAME" for zeros around the images.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype, [batch, windows down, windows across, rows * columns * channels].

    Raises:
      ValueError, InvalidArgumentError: a list is not of this form.
    """
    attrs = {"ksizes": sizes, "strides": strides, "rates": rates, "padding": padding}
    return execute(PATCHES, (images,), attrs, name)


def extract_image_patches_v1(
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Any = None,
) -> Any:
    """`extract_patches` with `ksizes` for `sizes`."""
    attrs = {
        "ksizes": sizes if ksizes is None else ksizes,
        "strides": strides,
        "rates": rates,
        "padding": padding,
    }
    return execute(PATCHES, (images,), attrs, name)


def sobel_edges(image: Any) -> Any:
    """Sobel's edges of images.

    Args:
      image: float32 or float64, [batch, height, width, channels].

    Returns:
      Tensor of the same dtype, [batch, height, width, channels, 2]: down and across.
    """
    image = convert_to_tensor(image)
    down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], np.float32)
    filters = np.stack([down, down.T], axis=-1)[:, :, None, :]
    channels = None if image.dims is None else image.dims[-1]
    count = shape_of(image)[-1] if channels is None else channels
    tiled = execute(
        "Tile",
        (
            convert_to_tensor(filters.astype(image.dtype.numpy_dtype)),
            int32_vector([1, 1, count, 1]),
        ),
    )
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    found = depthwise_conv2d(padded, tiled, [1, 1, 1, 1], "VALID")
    shape = shape_of(image)
    if image.dims is not None and None not in image.dims:
        return reshape(found, [*image.dims, 2])
    return reshape(found, execute("ConcatV2", ([shape, np.array([2], np.int32)], np.int32(0))))


def image_gradients(image: Any) -> Any:
    """Differences of neighbouring pixels, down and across; 0 in the last row and column.

    Args:
      image: a tensor of a real dtype, [batch, height, width, channels].

    Returns:
      Two tensors of the same dtype and shape.

    Raises:
      ValueError: the rank is not 4, or not known.
    """
    image = convert_to_tensor(image)
    if image.shape.rank != 4:
        raise ValueError(
            "image_gradients expects a 4D tensor [batch_size, h, w, d], not"
            f" {image.shape}. Add a dimension with tf.expand_dims, or use tf.ensure_shape."
        )
    down = subtract(image[:, 1:, :, :], image[:, :-1, :, :])
    across = subtract(image[:, :, 1:, :], image[:, :, :-1, :])
    return (
        pad(down, [[0, 0], [0, 1], [0, 0], [0, 0]]),
        pad(across, [[0, 0], [0, 0], [0, 1], [0, 0]]),
    )


def total_variation(images: Any, name: str | None = None) -> Any:
    """The sum of the absolute differences of neighbouring pixels.

    Args:
      images: a tensor of a real dtype, [height, width, channels] or a batch of these.
      name: the name of the operation in a graph.

    Returns:
      Scalar, or [batch].

    Raises:
      ValueError: the rank is neither 3 nor 4.
    """
    with scope(name, "total_variation") as full:
        images = convert_to_tensor(images)
        if images.shape.rank not in (3, 4):
            raise ValueError(
                f"'images' must be either 3 or 4-dimensional, got shape {images.shape}."
            )
        axes = [0, 1, 2] if images.shape.rank == 3 else [1, 2, 3]
        down = subtract(images[..., 1:, :, :], images[..., :-1, :, :])
        across = subtract(images[..., :, 1:, :], images[..., :, :-1, :])
        return add(
            reduce_sum(absolute(down), axes), reduce_sum(absolute(across), axes), name=full or None
        )
