"""Images flipped, turned, cut out and padded; patches and edges.

Images are [height, width, channels] or [batch, height, width, channels]; functions take both.
"""

from typing import Any

import numpy as np

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.graph.behavior import control_dependencies
from penstock.graph.static_values import constant_value
from penstock.ops.array_basics import reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_join import stack
from penstock.ops.array_order import reverse, transpose
from penstock.ops.array_pad import pad
from penstock.ops.array_shape import expand_dims, squeeze
from penstock.ops.composing import scope
from penstock.ops.conditionals import cond
from penstock.ops.debug_asserts import assert_that
from penstock.ops.image_resizing import ResizeMethod, ResizeMethodV1, resize, resize_v1
from penstock.ops.math_arithmetic import add, maximum, minimum, multiply, subtract
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import equal, greater_equal
from penstock.ops.math_division import floordiv
from penstock.ops.math_reduce import reduce_sum
from penstock.ops.nn_conv_ops import depthwise_conv2d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any


def image_tensor(image: Any, what: str = "image") -> Any:
    """An image or a batch of images as a tensor, its rank checked as far as it is known.

    Raises:
      ValueError: the rank is neither 3 nor 4.
    """
    tensor = convert_to_tensor(image, name=what)
    if tensor.dims is not None and len(tensor.dims) not in (3, 4):
        raise ValueError(
            f"'{what}' (shape {tensor.shape}) must be at least three-dimensional, and have either 3"
            " or 4 dimensions: expected [height, width, channels] or [batch, height, width,"
            " channels]. Reshape it."
        )
    return tensor


def batched(image: Any, what: str = "image") -> tuple[Any, bool]:
    """Images with a batch dimension, and whether it was added.

    Raises:
      ValueError: the rank is not known, or neither 3 nor 4.
    """
    tensor = image_tensor(image, what)
    if tensor.dims is None:
        raise ValueError(
            f"'{what}' must be fully-ranked: got an unknown rank. Use tf.ensure_shape."
        )
    return (expand_dims(tensor, 0), True) if len(tensor.dims) == 3 else (tensor, False)


def restored(images: Any, single: bool) -> Any:
    """Images without the batch dimension that `batched` added."""
    return squeeze(images, [0]) if single else images


# ---- flips and turns


def flip_left_right(image: Any) -> Any:
    """Images with left and right exchanged.

    Args:
      image: a tensor of any dtype, [height, width, channels] or a batch of these.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: the rank is neither 3 nor 4.
    """
    with scope(None, "flip_left_right"):
        return _flipped(image_tensor(image), -2)


def flip_up_down(image: Any) -> Any:
    """Images with up and down exchanged; otherwise as `flip_left_right`."""
    with scope(None, "flip_up_down"):
        return _flipped(image_tensor(image), -3)


def _flipped(image: Tensor, axis: int) -> Any:
    if image.dims is not None:
        return reverse(image, [len(image.dims) + axis])
    rank = execute("Rank", (image,))
    return execute("ReverseV2", (image, expand_dims(add(rank, axis), 0)))


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Any:
    """Images turned counter-clockwise by quarters.

    Args:
      image: a tensor of any dtype, [height, width, channels] or a batch of these.
      k: how many quarters, an integer scalar.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype, height and width exchanged for odd `k`.

    Raises:
      ValueError: the rank is neither 3 nor 4, or not known.
    """
    with scope(name, "rot90"):
        images, single = batched(image)
        turns = convert_to_tensor(k, dt.int32, name="k")
        turns.shape.assert_has_rank(0)
        known = constant_value(turns)
        if known is not None:
            return restored(_turned(images, int(known) % 4), single)
        quarter = execute("FloorMod", (turns, np.int32(4)))
        found = images
        for count in (1, 2, 3):
            found = cond(
                equal(quarter, count),
                lambda c=count: _turned(images, c),  # type: ignore[misc]
                lambda f=found: f,  # type: ignore[misc]
            )
        return restored(found, single)


def _turned(images: Any, quarters: int) -> Any:
    if quarters == 0:
        return images
    if quarters == 2:
        return reverse(images, [1, 2])
    if quarters == 1:
        return transpose(reverse(images, [2]), [0, 2, 1, 3])
    return reverse(transpose(images, [0, 2, 1, 3]), [2])


def transpose_image(image: Any, name: str | None = None) -> Any:
    """Images with rows and columns exchanged.

    Args:
      image: a tensor of any dtype, [height, width, channels] or a batch of these.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype, [width, height, channels] or a batch of these.

    Raises:
      ValueError: the rank is neither 3 nor 4, or not known.
    """
    with scope(name, "transpose"):
        tensor = image_tensor(image)
        if tensor.dims is None:
            raise ValueError("'image' must be fully-ranked. Set the rank with tf.ensure_shape.")
        return transpose(tensor, [1, 0, 2] if len(tensor.dims) == 3 else [0, 2, 1, 3])


# ---- windows


def _known(value: Any) -> int | None:
    if isinstance(value, Tensor):
        found = constant_value(value)
        return None if found is None else int(found)
    return int(value)


def _require(holds: Any, problem: str) -> list[Any]:
    """Refuses what is known to be wrong; a check for what is not known yet."""
    known = constant_value(holds) if isinstance(holds, Tensor) else holds
    if known is not None:
        if not bool(known):
            raise ValueError(f"{problem}. Mind the size of the image.")
        return []
    check = assert_that(holds, [problem])
    return [] if check is None else [check]


def _sizes(images: Tensor) -> tuple[Any, Any]:
    """Height and width of a batch: numbers where known, else scalars."""
    assert images.dims is not None
    shape = None
    found = []
    for axis in (1, 2):
        if images.dims[axis] is not None:
            found.append(images.dims[axis])
        else:
            shape = shape_of(images) if shape is None else shape
            found.append(shape[axis])
    return found[0], found[1]


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """A window of images.

    Args:
      image: a tensor of any dtype, [height, width, channels] or a batch of these.
      offset_height: the row of the window's upper left corner.
      offset_width: the column of the window's upper left corner.
      target_height: the height of the window.
      target_width: the width of the window.

    Returns:
      Tensor of the same dtype, [target_height, target_width, channels] or a batch of these.

    Raises:
      ValueError: the window does not lie in the image (InvalidArgumentError when it runs, where the
        sizes are not known before), or the rank is neither 3 nor 4.
    """
    with scope(None, "crop_to_bounding_box"):
        images, single = batched(image)
        height, width = _sizes(images)
        checks = [
            *_require(_at_least(offset_height, 0), "offset_height must be >= 0"),
            *_require(_at_least(offset_width, 0), "offset_width must be >= 0"),
            *_require(_at_least(target_height, 1), "target_height must be > 0"),
            *_require(_at_least(target_width, 1), "target_width must be > 0"),
            *_require(
                _at_least(height, _sum(target_height, offset_height)),
                "height must be >= target + offset",
            ),
            *_require(
                _at_least(width, _sum(target_width, offset_width)),
                "width must be >= target + offset",
            ),
        ]
        with control_dependencies(checks):
            cut = _cut(images, [offset_height, offset_width], [target_height, target_width])
        return restored(cut, single)


def _cut(images: Any, starts: list[Any], sizes: list[Any]) -> Any:
    """A window of rows and columns; whole images and channels stay, and are known if they were."""
    cut = execute("Slice", (images, _vector([0, *starts, 0]), _vector([-1, *sizes, -1])))
    if state.graph is not None:
        cut.set_shape([images.dims[0], *cut.dims[1:3], images.dims[3]])
    return cut


def _at_least(value: Any, least: Any) -> Any:
    if isinstance(value, Tensor) or isinstance(least, Tensor):
        return greater_equal(cast(value, dt.int32), cast(least, dt.int32))
    return value >= least


def _sum(a: Any, b: Any) -> Any:
    return (
        add(cast(a, dt.int32), cast(b, dt.int32))
        if isinstance(a, Tensor) or isinstance(b, Tensor)
        else a + b
    )


def _difference(a: Any, b: Any) -> Any:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return subtract(cast(a, dt.int32), cast(b, dt.int32))
    return a - b


def _vector(values: list[Any]) -> Any:
    if any(isinstance(v, Tensor) for v in values):
        return stack([cast(v, dt.int32) for v in values])
    return convert_to_tensor([int(v) for v in values], dt.int32)


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Images in the middle of zeros.

    Args:
      image: a tensor of any numeric dtype, [height, width, channels] or a batch of these.
      offset_height: rows of zeros above.
      offset_width: columns of zeros to the left.
      target_height: the height of the result.
      target_width: the width of the result.

    Returns:
      Tensor of the same dtype, [target_height, target_width, channels] or a batch of these.

    Raises:
      ValueError: the image does not fit (InvalidArgumentError when it runs, where the sizes are not
        known before), or the rank is neither 3 nor 4.
    """
    with scope(None, "pad_to_bounding_box"):
        images, single = batched(image)
        height, width = _sizes(images)
        below = _difference(_difference(target_height, offset_height), height)
        right = _difference(_difference(target_width, offset_width), width)
        checks = [
            *_require(_at_least(offset_height, 0), "offset_height must be >= 0"),
            *_require(_at_least(offset_width, 0), "offset_width must be >= 0"),
            *_require(_at_least(below, 0), "height must be <= target - offset"),
            *_require(_at_least(right, 0), "width must be <= target - offset"),
        ]
        with control_dependencies(checks):
            flat = _vector([0, 0, offset_height, below, offset_width, right, 0, 0])
            padded = pad(images, reshape(flat, [4, 2]))
        if hasattr(padded, "graph"):
            sizes = [_known(target_height), _known(target_width)]
            padded.set_shape([images.dims[0], *sizes, images.dims[3]])
        return restored(padded, single)


def central_crop(image: Any, central_fraction: Any) -> Any:
    """The middle of images.

    Args:
      image: a tensor of any dtype, [height, width, channels] or a batch of these.
      central_fraction: how much of height and width is kept, above 0 and at most 1.

    Returns:
      Tensor of the same dtype; for a fraction of 1 the image itself.

    Raises:
      ValueError: the fraction is out of range, or the rank is neither 3 nor 4.
    """
    with scope(None, "central_crop"):
        images, single = batched(image)
        fraction = (
            constant_value(central_fraction) if isinstance(central_fraction, Tensor) else None
        )
        known = central_fraction if not isinstance(central_fraction, Tensor) else fraction
        if known is not None and not 0.0 < float(known) <= 1.0:
            raise ValueError(
                f"central_fraction must be within (0, 1], got {float(known)}. Give 0.5 for the"
                " middle half."
            )
        if known is not None and float(known) == 1.0:
            return restored(images, single)
        checks = [] if known is not None else _fraction_checks(central_fraction)
        with control_dependencies(checks):
            starts = [_start(size, central_fraction) for size in _sizes(images)]
            sizes = [
                _difference(size, _twice(start))
                for size, start in zip(_sizes(images), starts, strict=True)
            ]
            cut = _cut(images, starts, sizes)
        return restored(cut, single)


def _fraction_checks(fraction: Any) -> list[Any]:
    inside = execute(
        "LogicalAnd", (fraction > 0.0, execute("LessEqual", (fraction, cast(1.0, fraction.dtype))))
    )
    check = assert_that(inside, ["central_fraction must be within (0, 1]"])
    return [] if check is None else [check]


def _start(size: Any, fraction: Any) -> Any:
    if isinstance(size, Tensor) or isinstance(fraction, Tensor):
        wide = cast(size, dt.float64)
        removed = subtract(wide, multiply(wide, cast(fraction, dt.float64)))
        return cast(removed / 2.0, dt.int32)
    return int((size - size * fraction) / 2)


def _twice(start: Any) -> Any:
    return multiply(start, 2) if isinstance(start, Tensor) else 2 * start


def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    """Images of a size, by cutting out the middle or putting zeros around.

    Args:
      image: a tensor of any numeric dtype, [height, width, channels] or a batch of these.
      target_height: the height, a positive integer.
      target_width: the width, a positive integer.

    Returns:
      Tensor of the same dtype, [target_height, target_width, channels] or a batch of these.

    Raises:
      ValueError: a size is not positive, or the rank is neither 3 nor 4.
    """
    with scope(None, "resize_image_with_crop_or_pad"):
        images, single = batched(image)
        checks = [
            *_require(_at_least(target_height, 1), "target_height must be > 0"),
            *_require(_at_least(target_width, 1), "target_width must be > 0"),
        ]
        with control_dependencies(checks):
            targets = (target_height, target_width)
            old = _sizes(images)
            cuts = [_most(_half(_difference(s, t)), 0) for s, t in zip(old, targets, strict=True)]
            kept = [_least(s, t) for s, t in zip(old, targets, strict=True)]
            images = crop_to_bounding_box(images, *cuts, *kept)
            pads = [_most(_half(_difference(t, s)), 0) for s, t in zip(old, targets, strict=True)]
            images = pad_to_bounding_box(images, pads[0], pads[1], *targets)
        return restored(images, single)


def _half(value: Any) -> Any:
    return floordiv(value, 2) if isinstance(value, Tensor) else value // 2


def _most(value: Any, other: int) -> Any:
    return maximum(value, other) if isinstance(value, Tensor) else max(value, other)


def _least(a: Any, b: Any) -> Any:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return minimum(cast(a, dt.int32), cast(b, dt.int32))
    return min(a, b)


def resize_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Any:
    """Images resized undistorted until they fit, with zeros around.

    Args:
      image: a tensor of a real dtype, [height, width, channels] or a batch of these.
      target_height: the height, a positive integer.
      target_width: the width, a positive integer.
      method: a constant of `tf.image.ResizeMethod`.
      antialias: whether a smaller image is smoothed.

    Returns:
      Tensor as of `tf.image.resize`, [target_height, target_width, channels] or a batch of these.

    Raises:
      ValueError: a size is not positive, or the rank is neither 3 nor 4.
    """

    def change(images: Any, size: Any) -> Any:
        return resize(images, size, method, antialias=antialias)

    return _resized_with_pad(image, target_height, target_width, change)


def resize_with_pad_v1(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethodV1.BILINEAR,
    align_corners: bool = False,
) -> Any:
    """`resize_with_pad` by the older rules of `compat.v1.image.resize`."""

    def change(images: Any, size: Any) -> Any:
        return resize_v1(images, size, method, align_corners)

    return _resized_with_pad(image, target_height, target_width, change)


def _resized_with_pad(image: Any, target_height: Any, target_width: Any, change: Any) -> Any:
    with scope(None, "resize_image_with_pad"):
        images, single = batched(image)
        checks = [
            *_require(_at_least(target_height, 1), "target_height must be > 0"),
            *_require(_at_least(target_width, 1), "target_width must be > 0"),
        ]
        with control_dependencies(checks):
            height, width = (cast(v, dt.float32) for v in _sizes(images))
            wanted = [cast(v, dt.float32) for v in (target_height, target_width)]
            ratio = maximum(width / wanted[1], height / wanted[0])
            sizes = [cast(execute("Floor", (v / ratio,)), dt.int32) for v in (height, width)]
            around = [
                maximum(0, cast(execute("Floor", ((w - v / ratio) / 2.0,)), dt.int32))
                for w, v in zip(wanted, (height, width), strict=True)
            ]
            resized = change(images, stack(sizes))
            top, left = around
            padded = pad_to_bounding_box(resized, top, left, target_height, target_width)
        return restored(padded, single)


# ---- patches, edges, variation

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
    return max(0, (size - span) // stride + 1), 0


def _patches_shape(c: ShapeContext) -> Dims:
    dims = c.rank(0, 4) or (None,) * 4
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
        if count is not None and count <= 0 and dims[i]:
            c.fail(
                f"windows of at most {dims[i]} pixels",
                f"a window that spans {window[i] + (window[i] - 1) * (rate[i] - 1)}",
                "Make it smaller, or pad the images with padding='SAME'.",
            )
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
    parts = [
        _window_indices(n, ksizes[i], strides[i], rates[i], padding)
        for i, n in ((1, height), (2, width))
    ]
    (high, tall), (wide, broad) = parts[0].shape, parts[1].shape
    split = grad.reshape(batch, high, wide, tall, broad, channels)
    ordered = xp.transpose(split, (0, 1, 3, 2, 4, 5)).reshape(
        batch, high * tall, wide * broad * channels
    )
    picks = [
        (np.arange(n)[:, None] == p.reshape(-1)).astype(np.float32)
        for n, p in zip((height, width), parts, strict=True)
    ]
    rows = xp.matmul(xp.asarray(picks[0].astype(grad.dtype)), ordered)
    rows = rows.reshape(batch * height, wide * broad, channels)
    return xp.matmul(xp.asarray(picks[1].astype(grad.dtype)), rows).reshape(
        batch, height, width, channels
    )


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
        (convert_to_tensor(filters.astype(image.dtype.numpy_dtype)), _vector([1, 1, count, 1])),
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
      ValueError: the rank is not 4.
    """
    image = convert_to_tensor(image)
    if image.shape.rank is not None and image.shape.rank != 4:
        raise ValueError(
            "image_gradients expects a 4D tensor [batch_size, h, w, d], not"
            f" {image.shape}. Add a dimension with tf.expand_dims."
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
