"""Repeating along axes: tile, repeat, meshgrid."""

from functools import partial
from types import NoneType
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import EagerTensor, Tensor
from penstock.graph.static_values import constant_value
from penstock.ops.array_basics import reshape, shape_of
from penstock.ops.array_join import PACK, concat, stack
from penstock.ops.array_shape import broadcast_to, expand_dims
from penstock.ops.composing import composed
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import bool_, int32, int64, string

Array = Any


def _tile_shape(c: ShapeContext) -> Dims:
    said = partial(c.bracketed, "Expected multiples to be 1-D, but got shape {}", 1)
    length = c.rank(1, 1, "multiples", said)[0]  # type: ignore[index]
    dims, times = c.shape(0), c.shape_value(1)
    value = c.constant(1)
    if value is not None and (value < 0).any():
        place = int((value < 0).argmax())
        c.fail_at_step(
            "multiples >= 0",
            f"{value.tolist()}: Expected multiples[{place}] >= 0, but got {value[place]}",
            known=(None,) * len(value),
        )
    if dims is None:
        if times is not None:
            return tuple(0 if t == 0 else None for t in times)
        return None if length is None else (None,) * length
    if length is not None and length != len(dims):
        fact = f"Shape must be rank {len(dims)} but is rank {length}"
        if c.running:
            fact = (
                f"Expected multiples argument to be a vector of length {len(dims)} but got length"
                f" {length}"
            )
        c.fail(f"{len(dims)} multiples for an input of shape {d.text(dims)}", f"{length}: {fact}")
    if times is None:
        times = (None,) * len(dims)
    return tuple(
        0 if 0 in (n, t) else None if n is None or t is None else n * t
        for n, t in zip(dims, times, strict=True)
    )


TILE = define_op(
    "Tile(input: T, multiples: Tmultiples; T: type, Tmultiples: {int32, int64} = int32) -> "
    "output: T",
    shape=_tile_shape,
    host_inputs=("multiples",),
    doc="The input repeated along each axis.",
)


@kernel(TILE)
def _tile(xp: Any, x: Array, multiples: Array) -> Array:
    return xp.tile(x, tuple(multiples.tolist()))


@TILE.gradient
def _tile_gradient(op: Any, grad: Any) -> list[Any]:
    x, times = op.inputs
    times = execute("Cast", (times,), {"DstT": int32})
    pairs = reshape(execute(PACK, ([times, shape_of(x)],), {"axis": 1}), [-1])
    value = constant_value(pairs)
    rank = len(x.dims) if x.dims is not None else None
    if rank is not None:
        axes: Any = np.arange(0, 2 * rank, 2, dtype=np.int32)
    else:
        axes = execute("Range", (0, execute("Size", (pairs,)), 2))
    return [
        reshape(
            execute("Sum", (reshape(grad, pairs if value is None else value), axes)), shape_of(x)
        ),
        None,
    ]


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """The input repeated along each axis.

    Args:
      input: any tensor of rank R.
      multiples: int32 or int64 vector of R entries.
      name: the name in a graph.

    Returns:
      A tensor of rank R.

    Raises:
      InvalidArgumentError, ValueError: the number of multiples is not R.

    Example:
      >>> tile([1, 2], [2]).numpy().tolist()
      [1, 2, 1, 2]
    """
    return execute(TILE, (input, multiples), None, name)


@composed("Repeat", result="Reshape_1")
def repeat(input: Any, repeats: Any, axis: Any = None, name: str | None = None) -> Any:
    """The input with each slice along an axis repeated.

    Args:
      input: any tensor; a scalar counts as a vector of one element.
      repeats: an integer scalar, or a vector with one entry for each slice; less than 0 is 0.
      axis: the axis, a Python integer; the flattened input by default.
      name: the name in a graph.

    Returns:
      A tensor; of rank 1 when `axis` is None.

    Raises:
      TypeError: `axis` is no Python integer, or `repeats` are none.
      ValueError: `repeats` has another length than `axis`, or is no vector.

    Example:
      >>> repeat([1, 2], [2, 1]).numpy().tolist()
      [1, 1, 2]
    """
    data = convert_to_tensor(input)
    if not isinstance(axis, (int, NoneType)):
        raise TypeError(
            f"Argument `axis` must be an int. Received `axis` = {axis} of type "
            f"{type(axis).__name__}. Pass the number of the axis."
        )
    if axis is None:
        data, axis = reshape(data, [-1], "flat"), 0
    elif data.dims == ():
        data = reshape(data, [1], "row")
    times = convert_to_tensor(repeats, None if hasattr(repeats, "dtype") else int32)
    if not times.dtype.is_integer:
        raise TypeError(
            f"repeat: expected integers as `repeats`, got {times.dtype.name}. Use tf.cast."
        )
    if times.dims is not None and len(times.dims) > 1:
        raise ValueError(
            f"repeat: expected `repeats` of rank 0 or 1, got shape {times.shape}. Use tf.reshape."
        )
    if times.dtype not in (int32, int64):
        times = execute("Cast", (times,), {"DstT": int32})
    if data.dims is None:
        if int(axis) < 0:
            raise ValueError(
                f"axis={axis} may only be negative if rank(data) is statically known. Use"
                " tf.ensure_shape."
            )
        sizes = shape_of(data)
        least = execute("Maximum", (1 - execute("Size", (sizes,)), 0))  # a scalar is a vector of 1
        data = reshape(data, concat([execute("Fill", (reshape(least, [1]), 1)), sizes], 0))
        rows = execute("Range", (0, execute("GatherV2", (shape_of(data), axis, 0)), 1))
        return execute("GatherV2", (data, repeat(rows, times, 0), axis), None, name)
    rank = len(data.dims)
    axis = d.normalize_axis(int(axis), rank)
    if times.dims == () or times.dims == (1,):
        return _repeat_evenly(data, reshape(times, [], "times"), axis, rank, name)
    length = None if times.dims is None else times.dims[0]
    if None not in (length, data.dims[axis]) and length != data.dims[axis]:
        raise ValueError(
            f"repeat: expected {data.dims[axis]} repeats, the size along axis {axis}, got {length}:"
            f" Dimensions {data.dims[axis]} and {length} are not compatible."
        )
    if length is None or data.dims[axis] is None:
        size = execute("GatherV2", (shape_of(data), axis, 0))
        times = broadcast_to(times, reshape(size, [1], "size"))
    times = execute("Maximum", (times, convert_to_tensor(0, times.dtype)))
    ends = execute("Cumsum", (times, 0))
    total = execute("Sum", (times, [0]))
    places = execute(
        "Range", (convert_to_tensor(0, times.dtype), total, convert_to_tensor(1, times.dtype))
    )
    rows = execute("UpperBound", (expand_dims(ends, 0), expand_dims(places, 0)))
    rows = execute("Squeeze", (rows,), {"squeeze_dims": [0]})
    return execute("GatherV2", (data, rows, axis), None, "boolean_mask/GatherV2")


def _repeat_evenly(data: Any, times: Any, axis: int, rank: int, name: str | None) -> Any:
    wide = expand_dims(data, axis + 1)
    one, times = np.ones(rank + 1, np.int32), execute("Cast", (times,), {"DstT": int32})
    multiples = concat([one[: axis + 1], reshape(times, [1], "count"), one[axis + 2 :]], 0)
    sizes = shape_of(data)
    length = execute("Mul", (execute("GatherV2", (sizes, axis, 0)), times))
    head = [
        execute("Slice", (sizes, [0], [axis])),
        reshape(length, [1], "length"),
        execute("Slice", (sizes, [axis + 1], [-1])),
    ]
    result = reshape(tile(wide, multiples), concat(head, 0), name)
    if not isinstance(result, EagerTensor):
        count, size = constant_value(times), data.dims[axis]
        total = None if count is None or size is None else size * int(count)
        result.set_shape([*data.dims[:axis], total, *data.dims[axis + 1 :]])
    return result


def _of_one_dtype(vectors: list[Tensor]) -> list[Tensor]:
    """The vectors, if they have one dtype, of numbers or bools; beside bools, all become bools."""
    first = vectors[0].dtype if vectors else None
    if first is bool_:
        return [execute("Cast", (v,), {"DstT": bool_}) for v in vectors]
    wrong = next((v.dtype.name for v in vectors if v.dtype is not first or first is string), None)
    if first is None or wrong is None:
        return vectors
    if first is string or string in [v.dtype for v in vectors]:
        raise TypeError(
            f"meshgrid: expected vectors of one dtype of numbers, got {first.name} and {wrong}."
            " Convert them with tf.strings.to_number."
        )
    one = execute("Cast", (convert_to_tensor(1),), {"DstT": first})
    return [v * one for v in vectors]  # the operator promotes or refuses, as its mode says


@composed("meshgrid", result="mul")
def meshgrid(*args: Any, **kwargs: Any) -> list[Any]:
    """Coordinates of a grid from the coordinates along each axis.

    Args:
      *args: vectors of one dtype.
      **kwargs: `indexing`: "xy" (default, the first two axes change places) or "ij"; `name`.

    Returns:
      A list of tensors of one shape.

    Raises:
      TypeError, ValueError: an unknown keyword or indexing.
    """
    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(
            f"'{next(iter(kwargs))}' is an invalid keyword argument for this function. Expected "
            "indexing and name."
        )
    if indexing not in ("xy", "ij"):
        raise ValueError(
            f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'"
        )
    vectors = [reshape(a, [-1]) for a in _of_one_dtype([convert_to_tensor(a) for a in args])]
    rank = len(vectors)
    order = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else list(range(rank))
    spread = [
        reshape(v, [-1 if order[j] == i else 1 for j in range(rank)]) for i, v in enumerate(vectors)
    ]
    sizes = [execute("Size", (v,)) for v in vectors]
    wanted = stack([sizes[order[j]] for j in range(rank)]) if rank else []
    return [broadcast_to(s, wanted, name) for s in spread]
