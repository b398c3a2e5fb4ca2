"""The functions of `native/images.cc`: work on images and on windows of arrays, in one pass.

A shared library of its own, loaded at first use: it has neither Python nor XLA in it, and leaves
Python's lock while it works. Each function here returns None where the library is not in use, or
does not serve what it is given: dtypes that it has no code for, boxes that are wrong. Then the
caller does the work in NumPy, which also says what is wrong. Where memory runs out, there is a
MemoryError. Thread-safe: nothing is kept between calls.

Shapes and attributes fit each other here, as the operations' shape rules have checked.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.native_library import HostLibrary, processors

LIBRARY = HostLibrary(
    "images",
    what="native work on images",
    without="crops, small convolutions, pooling and the like take two to ten times as long",
    version=6,
    functions={
        "crop": "nppppnnpnp",
        "crop_to_images": "ppppnnnp",
        "crop_to_boxes": "npppppnnp",
        "colors": "nnpnpnp",
        "contrast": "pnnnpnp",
        "dilate": "npppnp",
        "dilate_back": "nnppppnp",
        "pool": "nnppppnnp",
        "pool_back": "npppp" + "ppnnp",
        "slide": "nnppppnp",
        "convolve": "nnpppp",
        "to_places": "nppnnnnp",
        "spread": "nppppnnp",
        "patches": "ppnp",
        "resample": "npppp" + "ppnp",
        "draw": "pppp",
        "transform": "npppnnpnp",
        "swap": "pnnnnnp",
        "unfilter": "pnnnp",
        "sound": "pnp",
    },
)
# How host kernels that begin here are registered: they serve all sizes where the library is in use.
ON_CPU: dict[str, Any] = {"device": "CPU", "limit": 1 << 62, "available": LIBRARY.is_in_use}
TO_HSV, TO_RGB, TURN_HUE, SATURATE = range(4)
MODES = ("CONSTANT", "REFLECT", "WRAP", "NEAREST")
KINDS = {
    np.dtype(name): kind
    for kind, name in enumerate(("f4", "f8", "i4", "i8", "u1", "i1", "u2", "i2", "u4", "u8"))
}
_ALONE = 1 << 16  # elements up to which one thread works
_NO_MEMORY = -3
_FAR = 1e30  # from an image's edge: what is further may overflow, in pixels
_MOST_PIXELS = 1 << 31  # of one image of a dilation
_FLOAT = np.dtype(np.float32)
Array = Any  # numpy.ndarray


def threads_for(elements: int) -> int:
    """How many threads work on so many elements."""
    return processors() if elements > _ALONE else 1


def is_done(found: int) -> bool:
    """Whether a function that returned this has done its work."""
    if found == _NO_MEMORY:
        raise MemoryError(
            "native work on images: there is no memory left for its intermediate values"
        )
    return found == -1


def _numbers(*values: int) -> Array:
    return np.array(values, np.int64)


def _wide(images: Array) -> Array:
    """float32 in place of floats of 16 bits."""
    small = images.dtype.itemsize == 2 and images.dtype.kind in "fV"
    return np.ascontiguousarray(images.astype(_FLOAT) if small else images)


def crop(
    images: Array,
    boxes: Array,
    numbers: Array,
    size: tuple[int, int],
    nearest: bool,
    outside: float,
) -> Array | None:
    """Boxes cut out of images and resized: float32[boxes, *size, channels].

    Args:
      images: real numbers [batch, height, width, channels], no dimension 0.
      boxes: float32[boxes, 4].
      numbers: int32[boxes], the image of each box.
      size: of the crops, not 0.
      nearest: whether the nearest pixel counts, else the four around.
      outside: what crops hold outside of the image.
    """
    call, images = LIBRARY.function("crop"), _wide(images)
    kind = KINDS.get(images.dtype)
    if call is None or kind is None:
        return None
    boxes, numbers = np.ascontiguousarray(boxes), np.ascontiguousarray(numbers)
    result = np.empty((len(boxes), *size, images.shape[3]), _FLOAT)
    sizes, rest = _numbers(*images.shape, *size), np.array(outside, _FLOAT)
    given = sizes, boxes, numbers, len(boxes), nearest, rest, threads_for(result.size), result
    return result if is_done(call(kind, images, *given)) else None


def crop_to_images(
    grads: Array, boxes: Array, numbers: Array, shape: Sequence[int], nearest: bool
) -> Array | None:
    """What flows back through `crop` to images of this shape, float32."""
    call = LIBRARY.function("crop_to_images")
    if call is None or grads.shape[3] != shape[3]:
        return None
    grads = np.ascontiguousarray(grads)
    boxes, numbers = np.ascontiguousarray(boxes), np.ascontiguousarray(numbers)
    result = np.zeros(shape, _FLOAT)
    given = grads, _numbers(*shape, *grads.shape[1:3]), boxes, numbers, len(boxes), nearest
    return result if is_done(call(*given, threads_for(grads.size), result)) else None


def crop_to_boxes(grads: Array, images: Array, boxes: Array, numbers: Array) -> Array | None:
    """What flows back through `crop` to the boxes, float32[boxes, 4]."""
    call, images = LIBRARY.function("crop_to_boxes"), _wide(images)
    kind = KINDS.get(images.dtype)
    if call is None or kind is None:
        return None
    grads = np.ascontiguousarray(grads)
    boxes, numbers = np.ascontiguousarray(boxes), np.ascontiguousarray(numbers)
    result = np.empty((len(boxes), 4), _FLOAT)
    sizes = _numbers(*images.shape, *grads.shape[1:3])
    given = sizes, boxes, numbers, len(boxes), threads_for(grads.size), result
    return result if is_done(call(kind, grads, images, *given)) else None


def colors(operation: int, pixels: Array, amount: Array | None = None) -> Array | None:
    """Pixels in another space, or with other hue or saturation; of the same dtype and shape.

    Args:
      operation: TO_HSV, TO_RGB, TURN_HUE or SATURATE.
      pixels: float32 or float64[..., 3].
      amount: of the last two, a float32.
    """
    kind, call = KINDS.get(pixels.dtype), LIBRARY.function("colors")
    if call is None or kind is None or kind > 1:
        return None
    pixels = np.ascontiguousarray(pixels)
    result = np.empty_like(pixels)
    given = pixels, pixels.size // 3, amount, threads_for(pixels.size), result
    return result if is_done(call(operation, kind, *given)) else None


def contrast(images: Array, factor: Array) -> Array | None:
    """Images with the distance from each channel's mean multiplied by a float32.

    Args:
      images: float32[..., height, width, channels].
      factor: float32[].
    """
    call = LIBRARY.function("contrast")
    if call is None or images.dtype != _FLOAT or not images.size:
        return None
    images = np.ascontiguousarray(images)
    result = np.empty_like(images)
    places, depth = images.shape[-3] * images.shape[-2], images.shape[-1]
    number = images.size // (places * depth)
    given = images, number, places, depth, factor, threads_for(images.size), result
    return result if is_done(call(*given)) else None


def dilate(images: Array, window: Array, sizes: Sequence[int]) -> Array | None:
    """The grey-scale dilation of images.

    Args:
      images: real numbers [batch, height, width, channels].
      window: of the same dtype, [tall, broad, channels].
      sizes: strides, rates, the padding above and to the left, and how many rows and columns of
        windows there are.
    """
    kind, call = KINDS.get(images.dtype), LIBRARY.function("dilate")
    if call is None or kind is None:
        return None
    images, window = np.ascontiguousarray(images), np.ascontiguousarray(window)
    result = np.empty((images.shape[0], *sizes[6:], images.shape[3]), images.dtype)
    numbers = _numbers(*images.shape, *window.shape[:2], *sizes)
    given = images, window, numbers, threads_for(result.size), result
    return result if is_done(call(kind, *given)) else None


def dilate_back(
    to_filter: bool, images: Array, window: Array, grads: Array, sizes: Sequence[int]
) -> Array | None:
    """What flows back through `dilate` to the window, or to the images."""
    kind, call = KINDS.get(images.dtype), LIBRARY.function("dilate_back")
    if call is None or kind is None or images.shape[1] * images.shape[2] >= _MOST_PIXELS:
        return None
    images, window = np.ascontiguousarray(images), np.ascontiguousarray(window)
    grads = np.ascontiguousarray(grads)
    result = np.zeros_like(window if to_filter else images)
    if not window.size or not grads.size:
        return result
    numbers = _numbers(*images.shape, *window.shape[:2], *sizes)
    given = images, window, grads, numbers, threads_for(grads.size), result
    return result if is_done(call(kind, to_filter, *given)) else None


def pool(x: Array, rows: Array, columns: Array, overlapping: bool, mean: bool) -> Array | None:
    """The largest elements or the means of cells: [batch, R, C, channels], of the dtype of `x`.

    Args:
      x: float32, float64, int32 or int64 [batch, height, width, channels].
      rows: where cells begin, and the end: int64[R + 1], rising from 0 to the height.
      columns: the same, int64[C + 1].
      overlapping: whether cells have the first place of the next one too.
      mean: whether means are wanted.
    """
    kind, call = KINDS.get(x.dtype), LIBRARY.function("pool")
    if call is None or kind is None or kind > 3:
        return None
    x = np.ascontiguousarray(x)
    counts = len(rows) - 1, len(columns) - 1
    result = np.empty((x.shape[0], *counts, x.shape[3]), x.dtype)
    given = x, _numbers(*x.shape, *counts), rows, columns, overlapping, threads_for(x.size), result
    return result if is_done(call(kind, mean, *given)) else None


def pool_back(
    x: Array, pooled: Array, grads: Array, rows: Array, columns: Array, overlapping: bool
) -> Array | None:
    """What flows back from the largest elements of cells, `pooled`; None also for wrong inputs."""
    kind, call = KINDS.get(x.dtype), LIBRARY.function("pool_back")
    if call is None or kind is None or kind > 3:
        return None
    if (x.shape[0], x.shape[3]) != (pooled.shape[0], pooled.shape[3]):
        return None
    if (len(rows) - 1, len(columns) - 1) != pooled.shape[1:3]:
        return None
    x, pooled, grads = (np.ascontiguousarray(a) for a in (x, pooled, grads))
    rows, columns = np.ascontiguousarray(rows), np.ascontiguousarray(columns)
    result, sizes = np.zeros_like(x), _numbers(*x.shape, *pooled.shape[1:3])
    given = x, pooled, grads, sizes, rows, columns, overlapping, threads_for(x.size), result
    return result if is_done(call(kind, *given)) else None


def spread(
    grads: Array, shape: Sequence[int], rows: Array, columns: Array, overlapping: bool
) -> Array | None:
    """What flows back from the means of cells to an array of this shape; None for wrong cells."""
    kind, call = KINDS.get(grads.dtype), LIBRARY.function("spread")
    if call is None or kind is None or kind > 3:
        return None
    if (len(rows) - 1, len(columns) - 1) != grads.shape[1:3]:
        return None
    grads, rows, columns = (np.ascontiguousarray(a) for a in (grads, rows, columns))
    result, sizes = np.empty(shape, grads.dtype), _numbers(*shape, *grads.shape[1:3])
    given = grads, sizes, rows, columns, overlapping, threads_for(result.size), result
    return result if is_done(call(kind, *given)) else None


def patches(
    volumes: Array,
    window: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    before: Sequence[int],
    counts: Sequence[int],
) -> Array | None:
    """What windows see of volumes, zeros outside: [batch, *counts, places in a window, channels].

    Args:
      volumes: [batch, three sizes, channels], no objects.
      window: three sizes, as all that follow.
      strides: the steps from window to window.
      rates: the steps within a window.
      before: zeros before the volume.
      counts: how many windows there are.
    """
    call = LIBRARY.function("patches")
    if call is None or volumes.dtype.hasobject:
        return None
    volumes = np.ascontiguousarray(volumes)
    batch, depth = volumes.shape[0], volumes.shape[4]
    places = window[0] * window[1] * window[2]
    result = np.empty((batch, *counts, places, depth), volumes.dtype)
    bytes_ = depth * volumes.dtype.itemsize
    parts = *volumes.shape[1:4], *window, *strides, *rates, *before, *counts
    given = volumes, _numbers(batch, bytes_, *parts), threads_for(result.size), result
    return result if is_done(call(*given)) else None


def resample(
    images: Array,
    row_places: Array,
    row_weights: Array,
    column_places: Array,
    column_weights: Array,
    rows_first: bool,
) -> Array | None:
    """Images whose rows and columns are weighted sums: [batch, R, C, channels].

    Args:
      images: float32 or float64 [batch, height, width, channels].
      row_places: for each new row the first old one and how many follow: int64[R, 2].
      row_weights: of the dtype of `images`: [R, the most that follow].
      column_places: the same, int64[C, 2].
      column_weights: the same.
      rows_first: whether rows are summed before columns.
    """
    kind, call = KINDS.get(images.dtype), LIBRARY.function("resample")
    if call is None or kind is None or kind > 1:
        return None
    images = np.ascontiguousarray(images)
    rows, columns = row_weights.shape, column_weights.shape
    result = np.empty((images.shape[0], rows[0], columns[0], images.shape[3]), images.dtype)
    sizes = _numbers(*images.shape, rows[0], columns[0], rows[1], columns[1], rows_first)
    threads = threads_for(result.size)
    given = row_places, row_weights, column_places, column_weights, threads, result
    return result if is_done(call(kind, images, sizes, *given)) else None


def draw(images: Array, boxes: Array, colors: Array) -> bool:
    """Draws the edges of boxes into images; whether that is done, not for infinite corners.

    Args:
      images: dense, [batch, height, width, channels]; written to.
      boxes: float32[batch, boxes, 4].
      colors: of the dtype of the images, [one or more, channels], taken in turn.
    """
    call = LIBRARY.function("draw")
    if call is None or not (np.abs(boxes) < _FAR).all():  # NumPy refuses what overflows
        return False
    batch, height, width, depth = images.shape
    boxes, colors = np.ascontiguousarray(boxes), np.ascontiguousarray(colors)
    sizes = batch, height, width, depth * images.dtype.itemsize, boxes.shape[1], len(colors)
    return is_done(call(images, boxes, colors, _numbers(*sizes)))


def transform(
    images: Array, matrices: Array, size: tuple[int, int], fill: Array, smooth: bool, mode: str
) -> Array | None:
    """Images seen through projective transforms: [batch, *size, channels].

    Args:
      images: float32, float64 or uint8 [batch, height, width, channels], no dimension 0.
      matrices: float32[1 or batch, 8].
      size: of the result, not 0.
      fill: of the dtype of the images, [].
      smooth: whether four pixels are mixed.
      mode: one of MODES.
    """
    kind, call = KINDS.get(images.dtype), LIBRARY.function("transform")
    if call is None or kind not in (0, 1, 4):
        return None
    images, matrices = np.ascontiguousarray(images), np.ascontiguousarray(matrices)
    result = np.empty((images.shape[0], *size, images.shape[3]), images.dtype)
    sizes, way = _numbers(*images.shape, *size, len(matrices)), MODES.index(mode)
    given = images, sizes, matrices, smooth, way, fill, threads_for(result.size), result
    return result if is_done(call(kind, *given)) else None


def swapped(rows: Array, width: int, depth: int, turned: bool) -> Array | None:
    """Rows of BGR or BGRA pixels as RGB or RGBA ones: uint8[height, width, depth].

    Args:
      rows: uint8[height, bytes of a row], dense.
      width: in pixels, which a row holds.
      depth: 3 or 4.
      turned: whether the last row comes first.
    """
    call = LIBRARY.function("swap")
    if call is None:
        return None
    result = np.empty((len(rows), width, depth), np.uint8)
    given = len(rows), width, depth, rows.shape[1], turned, result
    return result if is_done(call(rows, *given)) else None


def unfiltered(rows: bytes, height: int, line: int, step: int) -> Array | None:
    """Rows of a PNG file as they were before their filters: uint8[height, line]; None if wrong.

    Args:
      rows: `height` times the number of a filter and `line` bytes.
      height: how many rows there are.
      line: bytes of a row.
      step: bytes of a pixel.
    """
    call = LIBRARY.function("unfilter")
    if call is None or len(rows) != height * (line + 1):
        return None
    result = np.empty((height, line), np.uint8)
    return result if is_done(call(rows, height, line, step, result)) else None


def sound(samples: Array) -> Array | None:
    """float32 samples in [-1, 1] as int16; 0 for NaN."""
    call = LIBRARY.function("sound")
    if call is None or samples.dtype != _FLOAT:
        return None
    samples = np.ascontiguousarray(samples)
    result = np.empty(samples.shape, np.int16)
    return result if is_done(call(samples, samples.size, result)) else None
