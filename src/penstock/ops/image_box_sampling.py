"""Boxes drawn at random for crops of images that must show enough of an object.

An attempt draws an aspect ratio, then a height among those that keep the area in its range, then a
place. The first box that covers enough of any of the objects is taken, the whole image when no
attempt gives one. Numbers are TensorFlow's for the same seeds. Host only.

Source: Szegedy et al., "Going deeper with convolutions", 2014, section 6.
"""

import functools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from penstock.core import determinism
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.composing import named
from penstock.ops.random_philox import Stream, skip, stream_of_seed_pair, words
from penstock.ops.random_state import seed_attrs, stream_on_host
from penstock.ops.sparse_common import Array, invalid
from penstock.ops.string_arrays import HOST
from penstock.types.dims import Dims

FEW = 16  # objects up to which Python's numbers take less time than arrays
READ_AT_ONCE = 4  # blocks of four words; an attempt takes one at most
ASPECT_RATIOS, AREAS, ATTEMPTS = (0.75, 1.33), (0.05, 1.0), 100
_OPTIONS = (
    "aspect_ratio_range: list(float) = [0.75, 1.33], area_range: list(float) = [0.05, 1.0], "
    "max_attempts: int = 100, use_image_if_no_bounding_boxes: bool = False"
)
_TYPES = "T: {uint8, int8, int16, int32, int64}"
_OUTPUTS = "begin: T, size: T, bboxes: float"


class _Wanted(NamedTuple):
    """The image, the objects in its pixels [objects, 4], and what a box must satisfy."""

    height: int
    width: int
    objects: Array
    covered: np.float32
    ratios: tuple[np.float32, np.float32]
    areas: tuple[float, float]
    attempts: int


class _Box(NamedTuple):
    """A box of pixels."""

    top: int
    left: int
    height: int
    width: int


# ---- operations


def _shapes(c: ShapeContext) -> list[Dims]:
    size = c.rank(0, 1, "image_size") or (None,)
    boxes = c.rank(1, 3, "bounding_boxes") or (None,) * 3
    if size[0] not in (None, 3):
        c.fail("an image_size of three numbers, height, width and channels", f"{size[0]} numbers")
    if boxes[2] not in (None, 4):
        c.fail("bounding boxes must have shape [4] or [*, 4]", f"{boxes[2]} columns")
    if len(c) > 2:
        c.rank(2, 0, "min_object_covered")
    if len(c) > 3 and (c.rank(3, 1, "seed") or (None,))[0] not in (None, 2):
        c.fail("seed must have shape [2]", f"{c.shape(3)}")
    return [(3,), (3,), (1, 1, 4)]


_DOC = "A box drawn at random that covers enough of an object."
_NO_GRADIENT = "boxes are drawn, and their corners are whole numbers"
SAMPLE = define_op(
    f"SampleDistortedBoundingBox(image_size: T, bounding_boxes: float; {_TYPES}, seed: int = 0, "
    f"seed2: int = 0, min_object_covered: float = 0.1, {_OPTIONS}) -> {_OUTPUTS}",
    shape=_shapes,
    stateful=True,
    doc=_DOC,
).not_differentiable(_NO_GRADIENT)
SAMPLE_V2 = define_op(
    f"SampleDistortedBoundingBoxV2(image_size: T, bounding_boxes: float, min_object_covered: float;"
    f" {_TYPES}, seed: int = 0, seed2: int = 0, {_OPTIONS}) -> {_OUTPUTS}",
    shape=_shapes,
    stateful=True,
    doc=_DOC,
).not_differentiable(_NO_GRADIENT)
STATELESS = define_op(
    "StatelessSampleDistortedBoundingBox(image_size: T, bounding_boxes: float, min_object_covered: "
    f"float, seed: Tseed; {_TYPES}, Tseed: {{int32, int64}}, {_OPTIONS}) -> {_OUTPUTS}",
    shape=_shapes,
    doc=_DOC,
).without_gradient(_NO_GRADIENT)


@host_kernel(SAMPLE, limit=HOST)
def _sample(ctx: KernelContext, size: Array, boxes: Array) -> list[Array]:
    wanted = _checked(size, boxes, ctx.attrs["min_object_covered"], ctx.attrs)
    return _result(_drawn(wanted, _stream(ctx, wanted)), wanted, size.dtype)


@host_kernel(SAMPLE_V2, limit=HOST)
def _sample_v2(ctx: KernelContext, size: Array, boxes: Array, covered: Array) -> list[Array]:
    wanted = _checked(size, boxes, float(covered), ctx.attrs)
    return _result(_drawn(wanted, _stream(ctx, wanted)), wanted, size.dtype)


@host_kernel(STATELESS, limit=HOST)
def _stateless(
    ctx: KernelContext, size: Array, boxes: Array, covered: Array, seed: Array
) -> list[Array]:
    wanted = _checked(size, boxes, float(covered), ctx.attrs)
    return _result(_drawn(wanted, stream_of_seed_pair(np, seed)), wanted, size.dtype)


def _stream(ctx: KernelContext, wanted: _Wanted) -> Stream:
    return stream_on_host(ctx, wanted.attempts)


# ---- what is refused


@functools.lru_cache(maxsize=256)
def _range(name: str, given: Any, most: float = math.inf) -> tuple[np.float32, np.float32]:
    if len(given) != 2:
        raise invalid(f"{name} range field must specify 2 dimensions, got {list(given)}.")
    if min(given) <= 0:
        raise invalid(f"{name} range must be non-negative: expected numbers above 0, got {given}.")
    if max(given) > most:
        raise invalid(f"{name} range must be less then or equal to {most}: got {list(given)}.")
    return np.float32(given[0]), np.float32(given[1])


def _checked(size: Array, boxes: Array, covered: float, attrs: Any) -> _Wanted:
    height, width = int(size[0]), int(size[1])
    if min(height, width) < 0 or max(height, width) >= 2**31 - 1:
        raise invalid(f"image_size: expected height and width in int32, got {height} x {width}.")
    if attrs["max_attempts"] <= 0:
        raise invalid(f"Max attempts must be non-negative: expected 1, got {attrs['max_attempts']}")
    if not covered >= 0:
        raise invalid(f"Min object covered must be non-negative: {covered}. Give a part, 0 to 1.")
    ratios = _range("Aspect ratio", attrs["aspect_ratio_range"])
    low, high = _range("Area", attrs["area_range"], 1.0)
    flat = boxes.reshape(-1, 4)
    if not len(flat) and not attrs["use_image_if_no_bounding_boxes"]:
        raise invalid(
            "No bounding boxes provided as input: expected one at least, got none. One must enable "
            "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes."
        )
    right = (flat >= 0) & (flat <= 1)
    if not right.all():
        wrong = flat[~right]
        raise invalid(
            f"All bounding box coordinates must be in [0.0, 1.0]: got {wrong[0]}. Divide them by "
            "the image's height and width."
        )
    objects = flat if len(flat) else np.array([[0, 0, 1, 1]], np.float32)
    scale = np.array([height, width, height, width], np.float32)
    areas = float(low * np.float32(width) * height), float(high * np.float32(width) * height)
    pixels = (objects * scale).astype(np.int64)
    attempts = attrs["max_attempts"]
    return _Wanted(height, width, pixels, np.float32(covered), ratios, areas, attempts)


# ---- drawing


def _words(stream: Stream) -> Iterator[int]:
    """The words of a stream, one after the other."""
    while True:
        yield from words(np, stream, 4 * READ_AT_ONCE).tolist()
        stream = skip(np, stream, READ_AT_ONCE)


def _below(source: Iterator[int], limit: int) -> int:
    """A whole number in [0, limit); takes no word when only 0 is."""
    return next(source) % limit if limit > 0 else 0


def _height(wanted: _Wanted, ratio: np.float32, source: Iterator[int]) -> int:
    """A height among those that fit into the image and give an area in its range, nearly."""
    low, high = (round(math.sqrt(area / ratio)) for area in wanted.areas)
    high = min(high, wanted.height, math.ceil((wanted.width + 0.5) / ratio))
    while round(high * ratio) > wanted.width:
        high -= 1
    low = min(low, high)
    return low + _below(source, high - low + 1 if high > low else 0)


def _attempt(wanted: _Wanted, source: Iterator[int]) -> _Box | None:
    """A box in the image whose aspect ratio and area are in their ranges."""
    low, high = wanted.ratios
    part = np.float32((next(source) & 0x7FFFFF) / (1 << 23))
    ratio = part * (high - low) + low
    height = _height(wanted, ratio, source)
    least, most = wanted.areas
    if height * round(height * ratio) < least:
        height += 1
    if height * round(height * ratio) > most:
        height -= 1
    width = round(height * ratio)
    fits = 0 < height <= wanted.height and 0 < width <= wanted.width
    if not fits or not least <= height * width <= most:
        return None
    top = _below(source, wanted.height - height)
    return _Box(top, _below(source, wanted.width - width), height, width)


def _covers(box: _Box, wanted: _Wanted) -> bool:
    """Whether the box covers enough of any object; one without pixels is never covered."""
    if len(wanted.objects) <= FEW:
        return any(_covers_one(box, wanted.covered, each) for each in wanted.objects.tolist())
    low, high = wanted.objects[:, :2], wanted.objects[:, 2:]
    sides = high - low
    first = np.array([box.top, box.left])
    last = first + np.array([box.height, box.width])
    common = np.maximum(np.minimum(high, last) - np.maximum(low, first), 0).prod(1)
    seen = (sides > 0).all(1)
    parts = common[seen].astype(np.float32) / sides[seen].prod(1).astype(np.float32)
    return bool((parts >= wanted.covered).any())


def _covers_one(box: _Box, covered: np.float32, corners: list[int]) -> bool:
    """The same of one object."""
    top, left, bottom, right = corners
    if bottom <= top or right <= left:
        return False
    tall = min(bottom, box.top + box.height) - max(top, box.top)
    broad = min(right, box.left + box.width) - max(left, box.left)
    common = tall * broad if tall > 0 and broad > 0 else 0
    area = np.int64((bottom - top) * (right - left))
    return bool(np.float32(np.int64(common)) / np.float32(area) >= covered)


def _drawn(wanted: _Wanted, stream: Stream) -> _Box:
    whole = _Box(0, 0, wanted.height, wanted.width)
    if not wanted.height or not wanted.width:
        return whole
    source = _words(stream)
    for _ in range(wanted.attempts):
        box = _attempt(wanted, source)
        if box is not None and _covers(box, wanted):
            return box
    return whole


def _result(box: _Box, wanted: _Wanted, dtype: Any) -> list[Array]:
    corners = (box.top, box.left, box.top + box.height, box.left + box.width)
    scale = np.array([wanted.height, wanted.width] * 2, np.float32)
    parts = np.array(corners, np.float32) / scale
    begin = np.array([box.top, box.left, 0], np.int64).astype(dtype)
    size = np.array([box.height, box.width, -1], np.int64).astype(dtype)
    return [begin, size, parts.reshape(1, 1, 4)]


# ---- public functions


def _options(ratios: Any, areas: Any, attempts: int | None, whole: bool | None) -> dict[str, Any]:
    return {
        "aspect_ratio_range": ASPECT_RATIOS if ratios is None else ratios,
        "area_range": AREAS if areas is None else areas,
        "max_attempts": ATTEMPTS if attempts is None else attempts,
        "use_image_if_no_bounding_boxes": bool(whole),
    }


def _seeds(first: int | None, second: int | None) -> dict[str, int]:
    if determinism.required() and not first and not second:
        raise ValueError(
            "sample_distorted_bounding_box requires a non-zero seed when determinism is enabled: "
            f"got {first!r} and {second!r}. Pass one, as in seed=1."
        )
    return {"seed": first or 0, "seed2": second or 0}


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = 0,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """A box drawn at random, for a crop that shows enough of an object.

    With `tf.slice(image, begin, size)` the crop is cut out; `tf.image.draw_bounding_boxes` draws
    `bboxes`.

    Args:
      image_size: uint8, int8, int16, int32 or int64[3], height, width and channels.
      bounding_boxes: float32[batch, boxes, 4], rows of y1, x1, y2, x2 in parts of the image: the
        objects, of which one is enough.
      seed: integer, which gives the boxes; 0 or None for boxes that differ between runs.
      min_object_covered: float32[], the part of an object that the box covers at least.
      aspect_ratio_range: the least and the largest width per height; [0.75, 1.33].
      area_range: the least and the largest part of the image; [0.05, 1.0].
      max_attempts: how many boxes are drawn at most; 100. The image is it when none is right.
      use_image_if_no_bounding_boxes: whether the image is the object when there are no boxes.
      name: the name in a graph.

    Returns:
      begin: of `image_size`'s dtype, [3], ends in 0; size: the same, ends in -1; and the box,
      float32[1, 1, 4].

    Raises:
      ValueError: operations must be deterministic, and there is no seed.
      TypeError: a range is no list.
      InvalidArgumentError: shapes do not fit; numbers are out of range; there are no boxes.
    """
    attrs = _options(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
    attrs |= seed_attrs(seed) if seed else _seeds(0, 0)
    return named(SAMPLE_V2, (image_size, bounding_boxes, min_object_covered), attrs, name)


def sample_distorted_bounding_box_v1(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """`sample_distorted_bounding_box` with the two seeds of its operation.

    Args:
      image_size: as there, as is what is not said here.
      bounding_boxes: float32[batch, boxes, 4].
      seed: integer or None.
      seed2: integer or None; without both seeds boxes differ between runs.
      min_object_covered: float32[].
      aspect_ratio_range: two numbers.
      area_range: two numbers.
      max_attempts: an integer.
      use_image_if_no_bounding_boxes: a bool.
      name: the name in a graph.

    Returns:
      As there.

    Raises:
      ValueError: operations must be deterministic, and there is no seed.
      InvalidArgumentError: as there.
    """
    attrs = _options(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
    attrs |= _seeds(seed, seed2)
    return named(SAMPLE_V2, (image_size, bounding_boxes, min_object_covered), attrs, name)


def stateless_sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: Any,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """`sample_distorted_bounding_box` whose box depends on its arguments alone.

    Args:
      image_size: as there, as is what is not said here.
      bounding_boxes: float32[batch, boxes, 4].
      seed: int32 or int64[2].
      min_object_covered: float32[].
      aspect_ratio_range: two numbers.
      area_range: two numbers.
      max_attempts: an integer.
      use_image_if_no_bounding_boxes: a bool.
      name: the name in a graph.

    Returns:
      As there.

    Raises:
      InvalidArgumentError: as there.

    Example:
      >>> objects = [[[0.0, 0.0, 1.0, 1.0]]]
      >>> begin, size, box = stateless_sample_distorted_bounding_box([100, 80, 3], objects, [1, 2])
      >>> begin.numpy().tolist(), size.numpy().tolist()
      ([12, 3, 0], [58, 72, -1])
    """
    attrs = _options(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
    inputs = (image_size, bounding_boxes, min_object_covered, seed)
    return named(STATELESS, inputs, attrs, name)
