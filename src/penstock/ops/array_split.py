"""Cutting along an axis: split."""

import itertools
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.array_join import concat
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import int32

Array = Any


def _axis(c: ShapeContext, axis: int, rank: int) -> int:
    known = f"Dimension size, given by scalar input {axis} must be in range [{-rank}, {rank})"
    return c.axis(axis, rank, known=lambda: c.says("", known))


def _split_shape(c: ShapeContext) -> list[Dims]:
    num, dims, axis_value = c.attr("num_split"), c.shape(1), c.constant(0)
    c.rank(0, 0, "axis")
    if dims is None:
        return [None] * num
    if axis_value is None:
        return [(None,) * len(dims)] * num
    axis = _axis(c, int(axis_value.reshape(())), len(dims))
    size = dims[axis]
    if size is not None and size % num:
        fact = f"Dimension size must be evenly divisible by {num} but is {size}"
        if c.running:
            fact = (
                "Number of ways to split should evenly divide the split dimension, but got"
                f" split_dim {axis} (size = {size}) and num_split {num}"
            )
        c.fail(
            f"a size along axis {axis} that {num} divides",
            f"{size} in shape {d.text(dims)}: {fact}",
            "Pass a list of sizes.",
        )
    return [(*dims[:axis], None if size is None else size // num, *dims[axis + 1 :])] * num


SPLIT = define_op(
    "Split(split_dim: int32, value: T; num_split: int >= 1, T: type) -> output: num_split*T",
    shape=_split_shape,
    host_inputs=("split_dim",),
    doc="A tensor cut into equal pieces along an axis.",
)


@kernel(SPLIT, limit=1 << 62)  # views
def _split(xp: Any, split_dim: Array, value: Array, *, num_split: int) -> list[Array]:
    axis = int(split_dim.reshape(()))
    if xp is not np:
        return list(xp.split(value, num_split, axis))
    size = value.shape[axis] // num_split
    lead = (slice(None),) * (axis % value.ndim)
    return [value[(*lead, slice(i * size, (i + 1) * size))] for i in range(num_split)]


@SPLIT.gradient
def _split_gradient(op: Any, *grads: Any) -> list[Any]:
    return [None, concat(list(grads), op.inputs[0])]


def _split_v_shape(c: ShapeContext) -> list[Dims]:
    num, dims, axis_value, sizes = c.attr("num_split"), c.shape(0), c.constant(2), c.constant(1)
    given = c.rank(1, 1, "size_splits")[0]  # type: ignore[index]
    if given is not None and given != num:
        c.fail(f"{num} sizes", f"{given}")
    if dims is None:
        return [None] * num
    if axis_value is None:
        return [(None,) * len(dims)] * num
    axis = _axis(c, int(axis_value.reshape(())), len(dims))
    if sizes is None:
        return [(*dims[:axis], None, *dims[axis + 1 :])] * num
    return [(*dims[:axis], n, *dims[axis + 1 :]) for n in _split_sizes(c, sizes, dims, axis)]


def _split_sizes(c: ShapeContext, sizes: Array, dims: Any, axis: int) -> list[int | None]:
    found = sizes.tolist()
    if found.count(-1) > 1 or any(n < -1 for n in found):
        c.fail(
            "sizes >= 0 and at most one -1",
            f"size_splits {found}: {_wrong_splits(found, c.running)}",
        )
    known, total = sum(n for n in found if n >= 0), dims[axis]
    if total is None:
        return [None if n < 0 else n for n in found]
    if known > total or (-1 not in found and known != total):
        listed = ",".join(str(n) for n in found)
        fact = f"can't split axis of size {total} into pieces of size [{listed}]"
        if c.running:
            fact = (
                "Determined shape must either match input shape along split_dim exactly if fully"
                " specified, or be less than the size of the input along split_dim if not fully"
                f" specified. Got: {known}"
            )
        c.fail(
            f"sizes that add up to {total}, the size along axis {axis} of shape {d.text(dims)}",
            f"size_splits {found}: {fact}",
        )
    return [total - known if n < 0 else n for n in found]


def _wrong_splits(sizes: list[int], running: bool) -> str:
    """What is wrong with sizes below 0, as TensorFlow says it."""
    if sizes.count(-1) > 1:
        return (
            "There can only be one -1 in the input"
            if running
            else "size_splits can only have one -1"
        )
    place, size = next((i, n) for i, n in enumerate(sizes) if n < -1)
    return f"Split size at index {place} must be >= 0. Got: {size}"


SPLIT_V = define_op(
    "SplitV(value: T, size_splits: Tlen, split_dim: int32; num_split: int >= 1, T: type, Tlen: "
    "{int8, int32, int64} = int64) -> "
    "output: num_split*T",
    shape=_split_v_shape,
    host_inputs=("size_splits", "split_dim"),
    doc=(
        "A tensor cut into pieces of given sizes along an axis; one size may be -1 and takes the "
        "rest."
    ),
)


@kernel(SPLIT_V, limit=1 << 62)  # views
def _split_v(xp: Any, value: Array, size_splits: Array, split_dim: Array) -> list[Array]:
    axis = int(split_dim.reshape(()))
    sizes = size_splits.tolist()
    rest = value.shape[axis] - sum(n for n in sizes if n >= 0)
    ends = list(itertools.accumulate(rest if n < 0 else n for n in sizes))
    if xp is not np:
        return list(xp.split(value, ends[:-1], axis))
    lead = (slice(None),) * (axis % value.ndim)
    return [value[(*lead, slice(*pair))] for pair in itertools.pairwise([0, *ends])]


@SPLIT_V.gradient
def _split_v_gradient(op: Any, *grads: Any) -> list[Any]:
    return [concat(list(grads), op.inputs[2]), None, None]


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> list[Any]:
    """A tensor cut into pieces along an axis.

    Args:
      value: any tensor.
      num_or_size_splits: an integer, the number of equal pieces; or their sizes, of which one may
        be -1.
      axis: integer scalar.
      num: the number of pieces; needed only when the sizes are a tensor of unknown length.
      name: the name in a graph.

    Returns:
      A list of tensors.

    Raises:
      InvalidArgumentError, ValueError: the pieces do not add up to the size along `axis`.

    Example:
      >>> [p.numpy().tolist() for p in split([1, 2, 3], [1, -1])]
      [[1], [2, 3]]
    """
    if isinstance(num_or_size_splits, (int, np.integer)):
        return execute(SPLIT, (axis, value), {"num_split": int(num_or_size_splits)}, name)  # type: ignore[no-any-return]
    sizes = convert_to_tensor(num_or_size_splits, dtype_hint=int32)
    if sizes.dims == ():
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. Pass a "
            "Python int."
        )
    if num is None:
        num = None if sizes.dims is None else sizes.dims[0]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {sizes.shape}. Pass num=...")
    return execute(SPLIT_V, (value, sizes, axis), {"num_split": num}, name)  # type: ignore[no-any-return]
