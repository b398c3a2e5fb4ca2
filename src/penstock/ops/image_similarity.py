"""How alike images look: signal to noise, the structural similarity at one scale and at several.

Source: Wang, Bovik, Sheikh, Simoncelli, "Image quality assessment: from error visibility to
structural similarity", 2004; Wang, Simoncelli, Bovik, "Multiscale structural similarity", 2003.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.graph.behavior import control_dependencies
from penstock.ops.array_basics import identity, reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_join import concat, stack
from penstock.ops.composing import scope
from penstock.ops.debug_asserts import to_wait_for
from penstock.ops.image_color import convert_image_dtype
from penstock.ops.math_arithmetic import multiply, squared_difference, subtract
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import equal, greater_equal
from penstock.ops.math_division import divide
from penstock.ops.math_elementwise import log
from penstock.ops.math_reduce import reduce_all, reduce_mean, reduce_prod
from penstock.ops.nn_conv_ops import depthwise_conv2d
from penstock.ops.nn_pool_ops import avg_pool2d
from penstock.types import dtypes as dt

_POWERS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Any:
    """The ratio of peak signal to noise between images, in decibels.

    Args:
      a: images of a real dtype, [..., height, width, channels].
      b: images of the same shape.
      max_val: the range of the values.
      name: the name of the operation in a graph.

    Returns:
      float32 [...].

    Raises:
      ValueError: shapes do not fit (InvalidArgumentError when it runs, where they are not known
        before).
    """
    with scope(name, "PSNR") as full:
        a, b = convert_to_tensor(a), convert_to_tensor(b)
        peak = cast(max_val, a.dtype)
        peak = convert_image_dtype(peak, dt.float32)
        a, b = convert_image_dtype(a, dt.float32), convert_image_dtype(b, dt.float32)
        squares = squared_difference(a, b)  # the operation refuses what does not broadcast
        with control_dependencies(_check_like(a, b)):
            error = reduce_mean(squares, [-3, -2, -1])
        base = float(np.log(10.0))
        return subtract(
            divide(multiply(20.0, log(peak)), base),
            multiply(np.float32(10 / np.log(10)), log(error)),
            name=full or None,
        )


def _check_like(a: Any, b: Any) -> list[Any]:
    """Refuses two batches of images whose height, width or channels differ: ValueError.

    Returns:
      checks to be made when the images come, of what is not known before.
    """
    a.shape.with_rank_at_least(3)
    b.shape.with_rank_at_least(3)
    if not a.shape[-3:].is_compatible_with(b.shape[-3:]):
        raise ValueError(
            f"Shapes {a.shape} and {b.shape} are incompatible: images need one size. Resize one."
        )
    if a.shape[-3:].is_fully_defined() and b.shape[-3:].is_fully_defined():
        return []
    sizes = [execute("Shape", (images,))[-3:] for images in (a, b)]
    return to_wait_for(reduce_all(equal(*sizes)), ["Images need one size", *sizes])


def _window(size: int, sigma: float) -> np.ndarray[Any, Any]:
    """Gaussian weights that add up to 1, [size, size]."""
    at = np.arange(size) - (size - 1) / 2
    row = np.exp(-(at**2) / (2 * sigma**2))
    both = np.outer(row, row)
    weights: np.ndarray[Any, Any] = (both / both.sum()).astype(np.float32)
    return weights


def _smoothed(images: Any, window: Any) -> Any:
    """Weighted means around each pixel whose surroundings lie in the image."""
    shape = shape_of(images)
    flat = reshape(images, concat([[-1], shape[-3:]], 0))
    tiled = execute("Tile", (window[:, :, None, None], stack([1, 1, shape[-1], 1])))
    found = depthwise_conv2d(flat, tiled, [1, 1, 1, 1], "VALID")
    return reshape(found, concat([shape[:-3], shape_of(found)[1:]], 0))


def _maps(a: Any, b: Any, peak: Any, window: Any, k1: float, k2: float) -> tuple[Any, Any]:
    """Similarity, and its part of contrast and structure, of each pixel and channel."""
    c1, c2 = multiply(k1, peak) ** 2, multiply(k2, peak) ** 2
    mean_a, mean_b = _smoothed(a, window), _smoothed(b, window)
    cross, squares = mean_a * mean_b * 2.0, mean_a**2 + mean_b**2
    both = _smoothed(a * b, window) * 2.0
    power = _smoothed(a**2 + b**2, window)
    structure = (both - cross + c2) / (power - squares + c2)
    return (cross + c1) / (squares + c1) * structure, structure


def _prepared(a: Any, b: Any, max_val: Any, filter_size: int, levels: int) -> tuple[Any, Any, Any]:
    """Images and their range as float32, their sizes checked."""
    a, b = convert_to_tensor(a, name="img1"), convert_to_tensor(b, name="img2")
    alike = _check_like(a, b)
    peak = convert_image_dtype(cast(max_val, a.dtype), dt.float32)
    least = filter_size * 2 ** (levels - 1) - 2 ** (levels - 1) + 1
    large = [
        to_wait_for(
            execute("All", (greater_equal(shape_of(image)[-3:-1], least), np.int32(0))),
            [shape_of(image), f"images must have {least} rows and columns or more"],
        )
        for image in (a, b)
    ]
    with control_dependencies([*alike, *itertools.chain(*large)]):
        a, b = identity(a), identity(b)
    return convert_image_dtype(a, dt.float32), convert_image_dtype(b, dt.float32), peak


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Any:
    """The structural similarity index of images, 1 where they are equal.

    Args:
      img1: images of a real dtype, [..., height, width, channels].
      img2: images of the same size.
      max_val: the range of the values.
      filter_size: height and width of the surroundings that are compared.
      filter_sigma: the width of their Gaussian weights.
      k1: a small number that keeps dark images stable.
      k2: a small number that keeps plain images stable.
      return_index_map: whether the index of each pixel is returned, not their mean.

    Returns:
      float32[...], or float32[..., height', width'] with `return_index_map`.

    Raises:
      ValueError: sizes differ.
      InvalidArgumentError: images are smaller than `filter_size`.
    """
    with scope(None, "SSIM"):
        a, b, peak = _prepared(img1, img2, max_val, filter_size, 1)
        window = convert_to_tensor(_window(filter_size, filter_sigma))
        found, _ = _maps(a, b, peak, window, k1, k2)
        return reduce_mean(found, [-1] if return_index_map else [-3, -2, -1])


def _halved(images: Any) -> Any:
    """Images of half the size; an odd last row or column is repeated."""
    shape = shape_of(images)
    flat = reshape(images, concat([[-1], shape[-3:]], 0))
    odd = execute("FloorMod", (shape[-3:-1], np.int32(2)))
    after = concat([[0], odd, [0]], 0)
    padded = execute(
        "MirrorPad", (flat, stack([[0, 0, 0, 0], after], axis=1)), {"mode": "SYMMETRIC"}
    )
    found = avg_pool2d(padded, 2, 2, "VALID")
    return reshape(found, concat([shape[:-3], shape_of(found)[1:]], 0))


def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Sequence[float] = _POWERS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Any:
    """The structural similarity index of images at several scales, each half the one before.

    Args:
      img1: images of a real dtype, [..., height, width, channels].
      img2: images of the same size.
      max_val: the range of the values.
      power_factors: how much each scale counts.
      filter_size: as of `ssim`.
      filter_sigma: as of `ssim`.
      k1: as of `ssim`.
      k2: as of `ssim`.

    Returns:
      float32[...].

    Raises:
      ValueError: sizes differ.
      InvalidArgumentError: the smallest scale is smaller than `filter_size`.
    """
    with scope(None, "MS-SSIM"):
        a, b, peak = _prepared(img1, img2, max_val, filter_size, len(power_factors))
        window = convert_to_tensor(_window(filter_size, filter_sigma))
        parts = []
        for level, power in enumerate(power_factors):
            if level:
                a, b = _halved(a), _halved(b)
            whole, structure = _maps(a, b, peak, window, k1, k2)
            last = level == len(power_factors) - 1
            mean = reduce_mean(whole if last else structure, [-3, -2])
            parts.append(execute("Relu", (mean,)) ** power)
        return reduce_mean(reduce_prod(stack(parts, axis=-1), [-1]), [-1])
