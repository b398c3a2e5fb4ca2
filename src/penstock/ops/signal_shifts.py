"""Turning a spectrum so that the zero frequency stands in the middle, and back."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_gather import gather
from penstock.ops.composing import scope
from penstock.ops.conversion import get_static_value
from penstock.types import dtypes as dt


def _check_axes(axes: list[int], x: Any) -> None:
    rank = x.shape.rank
    if rank is not None and any(not -rank <= axis < rank for axis in axes):
        problem = f"expected axes of a tensor of rank {rank}, got {axes}. Count them from 0."
        if state.graph is not None:
            raise ValueError(problem)
        raise errors.InvalidArgumentError(None, None, problem)


def _shift(x: Any, axes: Any, name: str | None, default: str, back: bool) -> Any:
    with scope(name, default) as full:
        x = convert_to_tensor(x)
        if axes is None and x.shape.rank is None:
            raise ValueError(
                f"{default}: expected axes, or a tensor of known rank, got one of unknown shape."
                " Name the axes, or give it a rank with tf.ensure_shape."
            )
        if isinstance(axes, Tensor) and get_static_value(axes) is None:
            return _shift_computed(x, axes, full or None, back)
        given = np.arange(x.shape.rank) if axes is None else np.asarray(_known(axes))
        places = given.reshape(-1).tolist()
        _check_axes(places, x)
        sizes = shape_of(x)
        halves = []
        for axis in places:
            known = None if x.dims is None else x.dims[axis]
            half = sizes[axis] // 2 if known is None else known // 2
            halves.append(execute("Neg", (half,)) if back else half)
        shift = convert_to_tensor(halves, dt.int32)
        return execute("Roll", (x, shift, np.array(places, np.int32)), None, full or None)


def _known(axes: Any) -> Any:
    return get_static_value(axes) if isinstance(axes, Tensor) else axes


def _shift_computed(x: Any, axes: Any, name: str | None, back: bool) -> Any:
    """A shift along axes that are known when the graph runs."""
    halves = gather(shape_of(x), axes) // 2
    shift = execute("Neg", (halves,)) if back else halves
    return execute("Roll", (x, shift, axes), None, name)


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Any:
    """Moves the frequency 0 to the middle.

    Args:
      x: tensor of any dtype.
      axes: the axes to shift, an integer or a sequence; all by default.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape.

    Example:
      >>> fftshift([0, 1, 2, 3, 4]).numpy().tolist()
      [3, 4, 0, 1, 2]
    """
    return _shift(x, axes, name, "fftshift", back=False)


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Any:
    """Undoes `fftshift`.

    Args:
      x: tensor of any dtype.
      axes: the axes to shift, an integer or a sequence; all by default.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape.

    Example:
      >>> ifftshift([3, 4, 0, 1, 2]).numpy().tolist()
      [0, 1, 2, 3, 4]
    """
    return _shift(x, axes, name, "ifftshift", back=True)
