"""Windows of images: cropped, padded, resized to fit."""

from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.behavior import control_dependencies
from penstock.graph.static_values import constant_value
from penstock.ops.array_basics import reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_join import stack
from penstock.ops.array_pad import pad
from penstock.ops.composing import scope
from penstock.ops.debug_asserts import to_wait_for
from penstock.ops.image_geometry import batched, restored
from penstock.ops.image_resizing import ResizeMethod, ResizeMethodV1, resize, resize_v1
from penstock.ops.math_arithmetic import add, maximum, minimum, multiply, subtract
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import greater_equal
from penstock.ops.math_division import floordiv
from penstock.types import dtypes as dt


def _known(value: Any) -> int | None:
    if isinstance(value, Tensor):
        found = constant_value(value)
        return None if found is None else int(found)
    return int(value)


def _require(holds: Any, problem: str) -> list[Any]:
    """Refuses what is known to be wrong; a check for what is not known yet."""
    known = holds
    if isinstance(holds, Tensor):  # an eager one fails as in a graph, when it runs
        known = None if state.graph is None else constant_value(holds)
    if known is not None:
        if not bool(known):
            raise ValueError(f"{problem}. Mind the size of the image.")
        return []
    return to_wait_for(holds, [problem])


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
    cut = execute("Slice", (images, int32_vector([0, *starts, 0]), int32_vector([-1, *sizes, -1])))
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


def int32_vector(values: list[Any]) -> Any:
    """Numbers, of which some may be tensors, as one vector."""
    if any(isinstance(v, Tensor) for v in values):
        return stack([cast(v, dt.int32) for v in values])
    return convert_to_tensor(values, dt.int32)


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
            flat = int32_vector([0, 0, offset_height, below, offset_width, right, 0, 0])
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
        known = central_fraction
        if isinstance(central_fraction, Tensor):
            known = constant_value(central_fraction)
        if known is not None and not 0.0 < float(known) <= 1.0:
            raise ValueError(
                f"central_fraction must be within (0, 1], got {float(known)}. Give 0.5 for the"
                " middle half."
            )
        if known is not None and float(known) == 1.0:
            return convert_to_tensor(image)
        images, single = batched(image, otherwise=None)
        checks = [] if known is not None else _fraction_checks(central_fraction)
        fraction = central_fraction if known is None else float(known)
        with control_dependencies(checks):
            starts = [_start(size, fraction) for size in _sizes(images)]
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
    return to_wait_for(inside, ["central_fraction must be within (0, 1]"])


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
