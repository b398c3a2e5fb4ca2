"""Sparse tensors kept under numbers, so that queues and batches can pass the numbers on.

`AddSparseToTensorsMap` and `AddManySparseToTensorsMap` put tensors into a map of a task,
`TakeManySparseFromTensorsMap` takes them out as one. Operations with one container and shared name
share a map; without a shared name the map has the name of the operation that adds.
"""

import itertools
import threading
from typing import Any

import numpy as np

from penstock.core import shapes
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.sparse_common import Array, inside, invalid
from penstock.ops.sparse_messages import stacked
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

HOST = 1 << 62
LARGEST = 1 << 24  # tensors that one operation may add, each of which costs memory
SHARED = "container: string = '', shared_name: string = ''"
INPUTS = "sparse_indices: int64, sparse_values: T, sparse_shape: int64; T: type"
NO_GRADIENT = "what a map holds is no function of its inputs"
Parts = tuple[Array, Array, Array]


class SparseTensorsMap:
    """Sparse tensors by number. Thread-safe."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()  # guards: _held, _next
        self._held: dict[int, Parts] = {}
        self._next = 0

    def add(self, tensors: list[Parts]) -> list[int]:
        """Keeps tensors; returns their numbers."""
        with self._lock:
            first = self._next
            self._next += len(tensors)
            numbers = list(range(first, self._next))
            self._held.update(zip(numbers, tensors, strict=True))
        return numbers

    def take(self, numbers: list[int]) -> list[Parts]:
        """Gives tensors up, all or none.

        Raises:
          InvalidArgumentError: there is none of a number.
        """
        with self._lock:
            for number in numbers:
                if number not in self._held:
                    raise invalid(
                        f"Unable to find SparseTensor: {number} in map: {self.name}. Each can be "
                        "taken once."
                    )
            return [self._held.pop(number) for number in numbers]


def _many_shape(c: ShapeContext) -> Dims:
    sizes = c.shape_value(2)
    return (sizes[0] if sizes else None,)


def _taken_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 1, "sparse_handles")
    return [(None, None), (None,), (None,)]


ADD = define_op(
    f"AddSparseToTensorsMap({INPUTS}, {SHARED}) -> sparse_handle: int64",
    shape=shapes.scalar,
    stateful=True,
    doc="Keeps a sparse tensor in a map; gives its number.",
).not_differentiable(NO_GRADIENT)
ADD_MANY = define_op(
    f"AddManySparseToTensorsMap({INPUTS}, {SHARED}) -> sparse_handles: int64",
    shape=_many_shape,
    stateful=True,
    doc="Keeps each entry of a sparse tensor's first axis in a map; gives their numbers.",
).not_differentiable(NO_GRADIENT)
TAKE = define_op(
    f"TakeManySparseFromTensorsMap(sparse_handles: int64; dtype: type, {SHARED}) -> "
    "sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
    shape=_taken_shape,
    stateful=True,
    doc="Takes sparse tensors out of a map, put together along a new first axis.",
).not_differentiable(NO_GRADIENT)


def _map(ctx: KernelContext) -> Any:
    attrs = ctx.attrs
    name = attrs["shared_name"] or ctx.op_name
    return ctx.resources.lookup_or_create(
        attrs["container"], name, SparseTensorsMap, lambda: SparseTensorsMap(name)
    )


def _checked(indices: Array, values: Array, shape: Array) -> None:
    if (indices.ndim, values.ndim, shape.ndim) != (2, 1, 1):
        raise invalid(
            "expected indices of rank 2, values and a dense shape of rank 1, got shapes "
            f"{list(indices.shape)}, {list(values.shape)} and {list(shape.shape)}."
        )
    if indices.shape != (len(values), len(shape)):
        raise invalid(
            f"expected a row of indices for each of {len(values)} values and a column for each of "
            f"{len(shape)} dimensions, got shape {list(indices.shape)}."
        )
    if (shape < 0).any() or not inside(np, indices, shape).all():
        raise invalid(f"expected indices inside of the dense shape {shape.tolist()}.")


@host_kernel(ADD, limit=HOST)
def _add(ctx: KernelContext, indices: Array, values: Array, shape: Array) -> Array:
    _checked(indices, values, shape)
    (number,) = _map(ctx).add([(indices, values, shape)])
    return np.array(number, np.int64)


@host_kernel(ADD_MANY, limit=HOST)
def _add_many(ctx: KernelContext, indices: Array, values: Array, shape: Array) -> Array:
    _checked(indices, values, shape)
    if len(shape) < 2:
        raise invalid(
            "AddManySparseToTensorsMap: expected a sparse tensor of rank at least 2, got Rank of "
            f"input SparseTensor {len(shape)}. Use AddSparseToTensorsMap."
        )
    rows = indices[:, 0]
    if int(shape[0]) > LARGEST:
        raise invalid(f"expected at most {LARGEST} rows in one map's addition, got {shape[0]}.")
    if (np.diff(rows) < 0).any():
        raise invalid("expected indices in the order of their rows. Use tf.sparse.reorder.")
    ends = np.searchsorted(rows, np.arange(int(shape[0]) + 1))
    pieces = [slice(a, b) for a, b in itertools.pairwise(ends.tolist())]
    tensors = [(indices[piece, 1:], values[piece], shape[1:]) for piece in pieces]
    return np.array(_map(ctx).add(tensors), np.int64)


@host_kernel(TAKE, limit=HOST)
def _take(ctx: KernelContext, handles: Array, *, dtype: DType) -> list[Array]:
    if not handles.size:
        raise invalid("expected at least one of sparse_handles, got none.")
    found = _map(ctx).take(handles.tolist())
    for number, (_, values, _) in zip(handles.tolist(), found, strict=True):
        if values.dtype != dtype.numpy_dtype:
            raise invalid(
                f"Requested SparseTensor of type {dtype.name} but SparseTensor {number} has values "
                f"of {values.dtype}. Give the dtype that was added."
            )
    return stacked(found, handles.shape)
