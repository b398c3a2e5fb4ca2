"""Images flipped and turned, and what functions of images share.

Images are [height, width, channels] or [batch, height, width, channels]; functions take both.
"""

from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.behavior import control_dependencies
from penstock.graph.static_values import constant_value
from penstock.ops.array_order import reverse, transpose
from penstock.ops.array_shape import expand_dims, squeeze
from penstock.ops.composing import scope
from penstock.ops.conditionals import cond
from penstock.ops.debug_shapes import assert_rank_at_least
from penstock.ops.math_arithmetic import add
from penstock.ops.math_compare import equal
from penstock.types import dtypes as dt


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


def ranked(image: Any, what: str = "image", otherwise: int | None = 3) -> Any:
    """An image or a batch of images as a tensor of known rank.

    Args:
      image: what the function got.
      what: its name.
      otherwise: the rank that images of unknown rank must have when they come; None: they are
        refused.

    Raises:
      ValueError: the rank is neither 3 nor 4, or not known.
    """
    tensor = image_tensor(image, what)
    if tensor.dims is not None:
        return tensor
    if otherwise is None:
        raise ValueError(
            f"'{what}' must be fully-ranked: got an unknown rank. Use tf.ensure_shape."
        )
    return execute("EnsureShape", (tensor,), {"shape": (None,) * otherwise})


def batched(image: Any, what: str = "image", otherwise: int | None = 3) -> tuple[Any, bool]:
    """Images with a batch dimension, and whether it was added; arguments as for `ranked`.

    Raises:
      ValueError: the rank is neither 3 nor 4, or not known.
    """
    tensor = ranked(image, what, otherwise)
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


def _flipped(image: Tensor, *axes: int) -> Any:
    if image.dims is not None:
        return reverse(image, [len(image.dims) + axis for axis in axes])
    return execute("ReverseV2", (image, add(_checked_rank(image), np.array(axes, np.int32))))


def _checked_rank(image: Tensor) -> Tensor:
    with control_dependencies([assert_rank_at_least(image, 3)]):
        return execute("Rank", (image,))  # type: ignore[no-any-return]


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Any:
    """Images turned counter-clockwise by quarters.

    Args:
      image: a tensor of any dtype, [height, width, channels] or a batch of these.
      k: how many quarters, an integer scalar.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype, height and width exchanged for odd `k`.

    Raises:
      ValueError: the rank is neither 3 nor 4.
    """
    with scope(name, "rot90"):
        images = image_tensor(image)
        turns = convert_to_tensor(k, dt.int32, name="k")
        turns.shape.assert_has_rank(0)
        known = constant_value(turns)
        if known is not None:
            return _turned(images, int(known) % 4)
        quarter = execute("FloorMod", (turns, np.int32(4)))
        found = images
        for count in (1, 2, 3):
            found = cond(
                equal(quarter, count),
                lambda c=count: _turned(images, c),  # type: ignore[misc]
                lambda f=found: f,  # type: ignore[misc]
            )
        return found


def _turned(images: Any, quarters: int) -> Any:
    if quarters == 0:
        return images
    if quarters == 2:
        return _flipped(images, -3, -2)
    if quarters == 1:
        return _exchanged(_flipped(images, -2))
    return _flipped(_exchanged(images), -2)


def _exchanged(images: Any) -> Any:
    """Images with rows and columns exchanged, whatever their rank."""
    if images.dims is not None:
        return transpose(images, [1, 0, 2] if len(images.dims) == 3 else [0, 2, 1, 3])
    rank = _checked_rank(images)
    lead = execute("Range", (np.int32(0), add(rank, -3), np.int32(1)))
    last = add(rank, np.array([-2, -3, -1], np.int32))
    return execute("Transpose", (images, execute("ConcatV2", ([lead, last], np.int32(0)))))


def transpose_image(image: Any, name: str | None = None) -> Any:
    """Images with rows and columns exchanged.

    Args:
      image: a tensor of any dtype, [height, width, channels] or a batch of these; when the rank is
        not known, the former.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype, [width, height, channels] or a batch of these.

    Raises:
      ValueError: the rank is neither 3 nor 4.
    """
    with scope(name, "transpose"):
        return _exchanged(ranked(image))
