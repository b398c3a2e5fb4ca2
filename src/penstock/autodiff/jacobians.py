"""Jacobians: the gradients of a target for many seeds, one of them for each row of the result.

While a graph is built all seeds run at the same time, as one vectorised body, so that the graph
does not grow with the target. Eagerly a gradient takes less time than a body takes to compile:
there seeds run one by one, unless they are many.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.autodiff.vectorized import vectorized_rows
from penstock.autodiff.walk import as_dense
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops.functional_loops import map_fn

EAGER_ROWS = 256  # from here on one body is faster eagerly, although it compiles at each call

Gradient = Callable[[Any], list[Any]]  # seed -> a gradient, or None, for each source


def jacobian_of(target: Any, gradient: Gradient, vectorize: bool) -> list[Any]:
    """The derivatives of each element of a target: [elements of target, *source], or None, each."""
    shape, dims = execute("Shape", (target,)), target.dims
    count = None if dims is None or None in dims else int(np.prod(dims, dtype=np.int64))
    eye = _identity(count, shape, target.dtype)
    size = execute("Shape", (eye,))[:1]
    seeds = execute("Reshape", (eye, execute("ConcatV2", ([size, shape], 0))))
    return _stacked(gradient, seeds, count, vectorize)


def batch_jacobian_of(target: Any, gradient: Gradient, vectorize: bool) -> Any:
    """The derivatives of each element of examples: [elements of an example, *source], or None."""
    shape, dims = execute("Shape", (target,)), target.dims[1:]
    inner = shape[1:]
    count = None if None in dims else int(np.prod(dims, dtype=np.int64))
    eye = _identity(count, inner, target.dtype)
    size = execute("Shape", (eye,))[:1]
    column = execute("Reshape", (eye, execute("ConcatV2", ([size, [1], inner], 0))))
    seeds = execute("BroadcastTo", (column, execute("ConcatV2", ([size, shape], 0))))
    return _stacked(gradient, seeds, count, vectorize)[0]


def _identity(count: int | None, shape: Any, dtype: Any) -> Any:
    """An identity matrix of `count` rows, or as many as a tensor of `shape` has elements."""
    if count is None:
        size: Any = execute("Prod", (shape, [0]))
        places = execute("Range", (0, size, 1))
    else:
        size, places = np.int32(count), np.arange(count, dtype=np.int32)
    on, off = convert_to_tensor(1, dtype), convert_to_tensor(0, dtype)
    return execute("OneHot", (places, size, on, off))


def _stacked(gradient: Gradient, seeds: Any, count: int | None, vectorize: bool) -> list[Any]:
    """The gradients for all of `seeds`, stacked; None where a source is not connected."""
    connected: list[bool] = []

    def row(seed: Any) -> list[Any]:
        found = gradient(seed)
        connected[:] = [g is not None for g in found]
        return [as_dense(g) for g in found if g is not None]

    if count == 0:  # no seed: their shapes are those of the gradients for some other one
        empty = row(convert_to_tensor(np.zeros(seeds.dims[1:], seeds.dtype.numpy_dtype)))
        rows: Any = [execute("ExpandDims", (g, 0))[:0] for g in empty]
    else:
        many = count is None or count >= (2 if state.graph is not None else EAGER_ROWS)
        rows = vectorized_rows(row, seeds) if vectorize and many else None
        if rows is None:
            rows = _one_by_one(row, seeds, count, connected)
    found = iter(rows)
    return [next(found) if c else None for c in connected]


def _one_by_one(row: Any, seeds: Any, count: int | None, connected: list[bool]) -> list[Any]:
    if count is not None:
        each = [row(execute("GatherV2", (seeds, i, 0))) for i in range(count)]
        return [execute("Pack", (list(parts),), {"axis": 0}) for parts in zip(*each, strict=True)]
    kinds = [g.dtype for g in row(execute("GatherV2", (seeds, 0, 0)))]
    return list(map_fn(row, seeds, fn_output_signature=kinds)) if kinds else []


__all__ = ["batch_jacobian_of", "jacobian_of"]
