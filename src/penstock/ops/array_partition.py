"""Dealing rows out to several tensors, and putting them together again.

The sizes of what comes out depend on the data, so there are host kernels only; but for rows that
are put together at places that are known while compiling.
"""

from functools import partial
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_arrays
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.ops.composing import number, shape_of
from penstock.types import dims as d
from penstock.types import dtypes
from penstock.types.dims import Dims

Array = Any


def _partition_shape(c: ShapeContext) -> list[Dims]:
    data, partitions = c.shape(0), c.shape(1)
    count = c.attr("num_partitions")
    if data is None or partitions is None:
        return [None] * count
    c.starts(
        "data.shape to start with partitions.shape",
        lambda: (
            f"data.shape must start with partitions.shape, got data.shape = {d.bracketed(data)},"
            f" partitions.shape = {d.bracketed(partitions)}"
        ),
        data,
        partitions,
    )
    return [(None, *data[len(partitions) :])] * count


PARTITION = define_op(
    "DynamicPartition(data: T, partitions: int32; num_partitions: int >= 1, T: type) -> "
    "outputs: num_partitions*T",
    shape=_partition_shape,
    fallible=True,
    doc="Deals the rows of data out to num_partitions tensors, by number.",
)


@host_kernel(PARTITION, limit=1 << 62)
def _partition(ctx: KernelContext, data: Array, partitions: Array, *, num_partitions: int) -> Any:
    rows, ids = data, partitions
    if ids.ndim != 1:
        rows, ids = data.reshape(ids.size, *data.shape[ids.ndim :]), ids.reshape(-1)
    found = native_arrays.dealt(rows, ids, num_partitions)
    if found is not None:
        return found
    wrong = (partitions < 0) | (partitions >= num_partitions)
    ctx.check(
        not wrong.any(),
        errors.InvalidArgumentError,
        lambda given, outside: (
            f"partitions{_first(outside)} = {given[outside][0]} is not in [0, {num_partitions}):"
            f" expected numbers in [0, {num_partitions}), got {given[outside][0]}. Raise"
            " num_partitions or correct the numbers."
        ),
        partitions,
        wrong,
    )
    return [data[partitions == i] for i in range(num_partitions)]


def _first(mask: Array) -> str:
    """The place of the first True, as an index."""
    place = np.argwhere(mask)[0].tolist()
    return f"[{','.join(map(str, place))}]" if place else ""


@PARTITION.gradient
def _partition_gradient(op: Any, *grads: Any) -> list[Any]:
    data, partitions = op.inputs
    count = op.get_attr("num_partitions")
    shape = shape_of(partitions)
    size = execute("Size", (partitions,))
    numbers = execute("Range", (number(0, dtypes.int32), size, number(1, dtypes.int32)))
    places = execute("Reshape", (numbers, shape))
    order = execute(PARTITION, (places, partitions), {"num_partitions": count})
    rows = execute("DynamicStitch", (list(order), list(grads)))
    return [execute("Reshape", (rows, shape_of(data))), None]


def _stitch_shape(c: ShapeContext) -> Dims:
    count = c.attr("N")
    tail: Dims = None
    known: list[Any] = []
    for i in range(count):
        indices, data = c.shape(i), c.shape(count + i)
        known.append(None if c.running else c.constant(i))  # kernels look at the numbers
        if indices is None or data is None:
            continue
        c.starts(
            f"data[{i}].shape to start with indices[{i}].shape",
            lambda i=i, data=data, indices=indices: (  # type: ignore[misc]
                f"data[{i}].shape = {d.bracketed(data)} does not start with indices[{i}].shape ="
                f" {d.bracketed(indices)}"
            ),
            data,
            indices,
        )
        tail = c.merge(tail, data[len(indices) :], partial(_other_tail, c, i))
    if tail is None:
        return None
    size = None
    if all(k is not None for k in known):
        size = 1 + max((int(k.max()) for k in known if k.size), default=-1)
    return (size, *tail)


def _other_tail(c: ShapeContext, number: int) -> str:
    """What a kernel says of rows of another shape than the first ones have."""
    count, places = c.attr("N"), (0, number)
    data = [f"data[{i}].shape = {d.bracketed(c.shape(count + i))}" for i in places]
    indices = [f"indices[{i}].shape = {d.bracketed(c.shape(i))}" for i in places]
    wanted = " = ".join(f"data[{i}].shape[{len(c.shape(i) or ())}:]" for i in places)
    return f"Need {wanted}, got {', '.join([*data, *indices])}"


def _stitched_size(indices: list[Array]) -> int:
    """How many rows there will be; refuses places that cannot be."""
    given = [i for i in indices if i.size]
    most = -1
    for each in given:  # as numbers without a sign negative ones are beyond all others
        most = max(most, int(np.maximum.reduce(each.view(np.uint32), None)))
    if most + 1 < 1 << 31:
        return most + 1
    low = min((int(i.min()) for i in given), default=0)
    high = max((int(i.max()) for i in given), default=-1)
    if low < 0 or high + 1 >= 1 << 31:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"indices: expected numbers in [0, {(1 << 31) - 1}), got {low} to {high}.",
        )
    return high + 1


def _define_stitch(name: str, doc: str) -> OpDef:
    op = define_op(
        f"{name}(indices: N*int32, data: N*T; N: int >= 1, T: type) -> merged: T",
        shape=_stitch_shape,
        fallible=True,
        host_inputs=("indices",),
        doc=doc,
    )

    @host_kernel(op, limit=1 << 62)
    def _stitch(indices: list[Array], data: list[Array]) -> Array:
        size = _stitched_size(indices)
        result = np.zeros((size, *data[0].shape[indices[0].ndim :]), data[0].dtype)
        for index, rows in zip(indices, data, strict=True):
            result[index] = rows
        return result

    @compiled_kernel(op)
    def _stitch_compiled(indices: list[Array], data: list[Array]) -> Array:
        source = np.full(_stitched_size(indices), -1)
        flat = np.concatenate([np.ravel(i) for i in indices])
        source[flat] = np.arange(flat.size)  # of those at one place the last one stays
        tail = data[0].shape[indices[0].ndim :]
        rows = jnp.concatenate(
            [jnp.reshape(d, (i.size, *tail)) for i, d in zip(indices, data, strict=True)]
        )
        filled = source.reshape(-1, *[1] * len(tail)) >= 0
        return jnp.where(filled, rows[source], jnp.zeros((), rows.dtype)) if flat.size else rows

    @op.gradient
    def _stitch_gradient(operation: Any, grad: Any) -> list[Any]:
        count = len(operation.inputs) // 2
        zero = number(0, dtypes.int32)
        rows = [execute("GatherV2", (grad, i, zero)) for i in operation.inputs[:count]]
        return [*([None] * count), *rows]

    return op


STITCH = _define_stitch("DynamicStitch", "Puts rows at numbered places; later ones win.")
PARALLEL_STITCH = _define_stitch("ParallelDynamicStitch", "Puts rows at numbered places.")


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Any]:
    """Deals the rows of a tensor out to several tensors.

    Args:
      data: any dtype; its shape starts with that of `partitions`.
      partitions: int32, any shape: the number of the tensor each row goes to.
      num_partitions: how many tensors.
      name: the name in a graph.

    Returns:
      A list of tensors [rows, ...].

    Raises:
      InvalidArgumentError: a number is outside [0, num_partitions).

    Example:
      >>> [t.numpy().tolist() for t in dynamic_partition([1, 2, 3], [0, 1, 0], 2)]
      [[1, 3], [2]]
    """
    attrs = {"num_partitions": num_partitions}
    return list(execute(PARTITION, (data, partitions), attrs, name))


def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """Puts the rows of several tensors together.

    Args:
      indices: a list of int32 tensors: the place of each row.
      data: a list of tensors; the shape of each starts with that of its indices.
      name: the name in a graph.

    Returns:
      A tensor [largest place + 1, ...]; where a place is named twice, the last row stays.

    Raises:
      InvalidArgumentError: the shapes do not fit.
    """
    return execute(STITCH, (list(indices), list(data)), None, name)  # type: ignore[no-any-return]


__all__ = ["dynamic_partition", "dynamic_stitch"]
