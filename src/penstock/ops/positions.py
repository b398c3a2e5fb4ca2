"""Positions in compiled code: whether all are inside, and the rows that stand at them.

On CPU both are one pass of `native/place_handlers.cc` where there is enough to do: XLA's code for a
gather takes an element at a time on one thread, and a check of its positions two passes more.
"""

import math
from typing import Any

import numpy as np

from penstock.core import native
from penstock.core.lazy import jax, jnp

LEAST_ELEMENTS = 1 << 14
Array = Any  # numpy.ndarray or a JAX tracer
_WIDTHS = (np.int32, np.int64)


def first_outside(
    xp: Any, positions: Array, sizes: tuple[int, ...], below: bool = False
) -> tuple[Any, Any]:
    """Whether positions are inside of sizes, bool[], and the first that is not, int64[].

    Args:
      xp: numpy or jax.numpy.
      positions: integers [N, depth], N at least 1.
      sizes: of the first `depth` axes.
      below: whether numbers below zero are left alone.
    """
    limits = np.array(sizes[: positions.shape[-1]], np.int64)
    if xp is not np and _is_work(positions, positions.size):
        result = jax.ShapeDtypeStruct((), np.int64)
        first = native.call("outside", result, positions, sizes=limits, below=np.bool_(below))
        return first < 0, first
    inside = positions < limits
    ok = (inside if below else inside & (positions >= 0)).all(-1)
    return ok.all(), xp.argmin(ok)


def place_text(number: Any, dims: tuple[int, ...], alone: str = "") -> str:
    """Where the position of this number stands among positions of shape `dims`, for errors.

    Args:
      number: of the position, as `first_outside` gives it.
      dims: the shape of the positions.
      alone: what is said where there is one position, without axes.
    """
    return ", ".join(str(int(i)) for i in np.unravel_index(int(number), dims)) if dims else alone


def taken(params: Array, positions: Array) -> tuple[Array, Any, Any] | None:
    """Rows at positions in the first axes of `params`, and what `first_outside` gives.

    Rows that are outside are zeros. None where XLA's own code is to be used.

    Args:
      params: an array of at least `depth` axes, none of them the last of several empty ones.
      positions: integers [..., depth], depth at least 1.
    """
    depth = positions.shape[-1]
    shape = (*positions.shape[:-1], *params.shape[depth:])
    if params.dtype.kind not in "biufcV" or params.dtype.itemsize > 16 or not params.size:
        return None
    if params.dtype.name.endswith("int4") or params.dtype.name.endswith("int2"):
        return None
    if not _is_work(positions, max(math.prod(shape), positions.size)):
        return None
    results = [jax.ShapeDtypeStruct(shape, params.dtype), jax.ShapeDtypeStruct((), np.int64)]
    rows, first = native.call("taken", results, jnp.asarray(params), positions)
    return rows, first < 0, first


def _is_work(positions: Array, elements: int) -> bool:
    return elements >= LEAST_ELEMENTS and positions.dtype in _WIDTHS and native.available()


__all__ = ["first_outside", "place_text", "taken"]
