"""Positions in compiled code: whether all are inside, and what stands at them or is brought there.

On CPU each is one pass of `native/place_handlers.cc` where there is enough to do: XLA's code for a
gather takes an element at a time on one thread, and a check of its positions two passes more.
"""

import math
from typing import Any

import numpy as np

from penstock.core import native, native_arrays
from penstock.core.lazy import jax, jnp
from penstock.ops.extremes import least_and_greatest

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
    return first_false(xp, (inside if below else inside & (positions >= 0)).all(-1))


def first_false(xp: Any, ok: Array) -> tuple[Any, Any]:
    """Whether all are true, bool[], and where the first stands that is not, an integer[].

    Args:
      xp: numpy or jax.numpy.
      ok: bool[N], N at least 1.
    """
    if xp is np:
        first = ok.argmin()
        return ok[first], first
    number = ok.shape[0]
    kind = np.int32 if number < 1 << 31 else np.int64
    places = jnp.where(ok, kind(number), jnp.arange(number, dtype=kind))
    first, _ = least_and_greatest(places)  # in less time than all() and argmin()
    return first == number, first


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


def combined(
    operation: int, base: Array, positions: Array, updates: Array, order: int = native_arrays.INSIDE
) -> tuple[Array, Any, Any] | None:
    """`base` with updates combined into it at positions, and what `first_outside` gives.

    None where XLA's own code is to be used. Where a position is outside, the array holds anything.

    Args:
      operation: one of `native_arrays`, but DIVIDE.
      base: an array of at least `depth` axes.
      positions: integers [..., depth], in its first axes, depth at least 1.
      updates: [..., the other axes of `base`], of its dtype.
      order: INSIDE, NEGATIVE_TOO or LARGE_TOO of `native_arrays`: which of positions of depth 1 are
        left out.
    """
    if isinstance(positions, np.ndarray):  # known while this is traced
        return None
    if updates.dtype != base.dtype or native_arrays.kind_of(np.dtype(base.dtype)) is None:
        return None
    if not base.size or not updates.size or not positions.shape[-1]:
        return None
    if not _is_work(positions, max(updates.size, positions.size)):
        return None
    results = [jax.ShapeDtypeStruct(base.shape, base.dtype), jax.ShapeDtypeStruct((), np.int64)]
    found, first = native.call(
        "combined", results, jnp.asarray(base), positions, jnp.asarray(updates), aliases={0: 0},
        operation=np.int64(operation), order=np.int64(order),
    )  # fmt: skip
    return found, first < 0, first


def put(
    positions: Array, sizes: tuple[int, ...], values: Array, rest: Array, rising: bool
) -> tuple[Array, tuple[Any, Any], tuple[Any, Any]] | None:
    """An array of these sizes with values at positions, and whether all are right.

    None where XLA's own code is to be used.

    Args:
      positions: integers [N, rank of the array], rank at least 1.
      sizes: of the array, none 0.
      values: [N], or one for all.
      rest: scalar of the same dtype, what stands elsewhere.
      rising: whether each position must stand behind the one before it; else the last of equal ones
        stays.

    Returns:
      The array, which holds anything where a position is wrong; what `first_outside` gives; the
      same of positions that do not rise, where all are inside.
    """
    dtype = np.dtype(values.dtype)
    if isinstance(positions, np.ndarray) or dtype.itemsize > 8 or dtype.kind not in "biufc":
        return None
    if 0 in sizes or not _is_work(positions, max(positions.size, math.prod(sizes))):
        return None
    whole = jax.ShapeDtypeStruct((), np.int64)
    results = [jax.ShapeDtypeStruct(sizes, dtype), whole, whole]
    given = positions, jnp.asarray(values), jnp.asarray(rest)
    found, outside, unsorted = native.call("put", results, *given, rising=np.bool_(rising))
    return found, (outside < 0, outside), (unsorted < 0, unsorted)


def sparse_product(
    places: Array, values: Array, dense: Array, height: int, turned: bool
) -> tuple[Array, Any, Any] | None:
    """A sparse matrix times a dense one: [height, K], and what `first_outside` gives.

    None where XLA's own code is to be used. Where a place is outside, the product holds anything.

    Args:
      places: integers [P, 2] in the sparse matrix, [height, M], or [M, height] when `turned`.
      values: [P], what stands there.
      dense: [M, K], of the same dtype.
      height: the rows of the product.
      turned: whether the sparse matrix is transposed.
    """
    kind = native_arrays.floating_kind(np.dtype(dense.dtype))
    if kind is None or values.dtype != dense.dtype or isinstance(places, np.ndarray):
        return None
    if not height or not _is_work(places, max(places.size, values.size * dense.shape[1])):
        return None
    results = [
        jax.ShapeDtypeStruct((height, dense.shape[1]), dense.dtype),
        jax.ShapeDtypeStruct((), np.int64),
    ]
    given = places, jnp.asarray(values), jnp.asarray(dense)
    product, first = native.call("sparse_product", results, *given, turned=np.bool_(turned))
    return product, first < 0, first


def _is_work(positions: Array, elements: int) -> bool:
    return elements >= LEAST_ELEMENTS and positions.dtype in _WIDTHS and native.available()


__all__ = [
    "combined",
    "first_false",
    "first_outside",
    "place_text",
    "put",
    "sparse_product",
    "taken",
]
