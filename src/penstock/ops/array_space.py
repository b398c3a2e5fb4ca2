"""Moving elements between depth, batch and space.

Each is a reshape, a transposition and another reshape; the gradient is the operation in the other
direction.
"""

import math
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.graph.static_values import constant_value
from penstock.ops.array_pad import padded
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import int32

Array = Any
FORMATS = "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'"


# ---- depth


def _axes(c: ShapeContext) -> tuple[Any, int, int]:
    """The input's shape, and its axes of height and channels."""
    layout = c.attr("data_format")
    dims = c.rank(0, 5 if layout == "NCHW_VECT_C" else 4, "input")
    return dims, (1 if layout == "NHWC" else 2), (3 if layout == "NHWC" else 1)


def _to_depth_shape(c: ShapeContext) -> Dims:
    dims, height, channel = _axes(c)
    block, result = c.attr("block_size"), list(dims)
    for axis in (height, height + 1):
        if dims[axis] is not None and dims[axis] % block:
            fact = f"Dimension size must be evenly divisible by {block} but is {dims[axis]}"
            if c.running:
                fact = (
                    f"Image width {dims[height + 1]} and height {dims[height]} should be divisible"
                    f" by block_size: {block}"
                )
            c.fail(f"height and width that {block} divides", f"shape {d.text(dims)}: {fact}")
        result[axis] = None if dims[axis] is None else dims[axis] // block
    result[channel] = None if dims[channel] is None else dims[channel] * block * block
    return tuple(result)


def _to_space_shape(c: ShapeContext) -> Dims:
    dims, height, channel = _axes(c)
    block, result = c.attr("block_size"), list(dims)
    if dims[channel] is not None and dims[channel] % (block * block):
        wanted = f"Dimension size must be evenly divisible by {block * block} but is"
        if c.running:
            wanted = f"Input depth dimension should be divisible by {block * block}, is"
        c.fail(
            f"channels that {block * block} divides",
            f"shape {d.text(dims)}: {wanted} {dims[channel]}",
        )
    for axis in (height, height + 1):
        result[axis] = None if dims[axis] is None else dims[axis] * block
    result[channel] = None if dims[channel] is None else dims[channel] // (block * block)
    return tuple(result)


SPACE_TO_DEPTH = define_op(
    f"SpaceToDepth(input: T; T: type, block_size: int >= 2, {FORMATS}) -> output: T",
    shape=_to_depth_shape,
    doc="Blocks of height and width moved into the channels.",
)
DEPTH_TO_SPACE = define_op(
    f"DepthToSpace(input: T; T: type, block_size: int >= 2, {FORMATS}) -> output: T",
    shape=_to_space_shape,
    doc="Channels moved into blocks of height and width.",
)


def _channels_last(xp: Any, x: Array, layout: str) -> Array:
    if layout == "NHWC":
        return x
    if layout == "NCHW":
        return xp.transpose(x, (0, 2, 3, 1))
    moved = xp.transpose(x, (0, 2, 3, 1, 4))
    return moved.reshape((*moved.shape[:3], moved.shape[3] * moved.shape[4]))


def _restored(xp: Any, x: Array, layout: str) -> Array:
    if layout == "NHWC":
        return x
    if layout == "NCHW":
        return xp.transpose(x, (0, 3, 1, 2))
    return xp.transpose(x.reshape((*x.shape[:3], x.shape[3] // 4, 4)), (0, 3, 1, 2, 4))


@kernel(SPACE_TO_DEPTH)
def _space_to_depth(xp: Any, x: Array, *, block_size: int, data_format: str) -> Array:
    x = _channels_last(xp, x, data_format)
    n, h, w, c = x.shape
    cut = x.reshape((n, h // block_size, block_size, w // block_size, block_size, c))
    moved = xp.transpose(cut, (0, 1, 3, 2, 4, 5))
    return _restored(
        xp, moved.reshape((n, h // block_size, w // block_size, block_size**2 * c)), data_format
    )


@kernel(DEPTH_TO_SPACE)
def _depth_to_space(xp: Any, x: Array, *, block_size: int, data_format: str) -> Array:
    x = _channels_last(xp, x, data_format)
    n, h, w, c = x.shape
    cut = x.reshape((n, h, w, block_size, block_size, c // block_size**2))
    moved = xp.transpose(cut, (0, 1, 3, 2, 4, 5))
    return _restored(
        xp, moved.reshape((n, h * block_size, w * block_size, c // block_size**2)), data_format
    )


def _other_way(op: OpDef, back: OpDef) -> None:
    @op.gradient
    def _gradient(node: Any, grad: Any) -> Any:
        attrs = {
            "block_size": node.get_attr("block_size"),
            "data_format": node.get_attr("data_format"),
        }
        return execute(back, (grad,), attrs)


_other_way(SPACE_TO_DEPTH, DEPTH_TO_SPACE)
_other_way(DEPTH_TO_SPACE, SPACE_TO_DEPTH)


# ---- batch


def _block_inputs(c: ShapeContext, block: Any, edges: Any, name: str) -> tuple[Dims, int | None]:
    """The input's shape and its number of spatial axes, after a check of the other inputs."""
    dims = c.rank_at_least(0, 1, "input")
    count = _block_count(c) if block is None else len(block)
    if not c.running:
        _check_edges(c, dims, count, name)
    if block is not None and (block < 1).any():
        c.fail("block sizes >= 1", f"{block.tolist()}")
    if edges is not None:
        if (
            edges.ndim != 2
            or edges.shape[1] != 2
            or (count is not None and edges.shape[0] != count)
        ):
            c.fail(f"{name} of shape [{count}, 2]", f"shape {edges.shape}")
        if (edges < 0).any():
            c.fail(f"{name} >= 0", f"{edges.tolist()}")
    if dims is not None and count is not None and len(dims) < 1 + count:
        c.fail(f"an input of rank at least {1 + count}", f"shape {d.text(dims)}")
    return dims, count


def _check_edges(c: ShapeContext, dims: Dims, count: int | None, name: str) -> None:
    """Refuses paddings or crops whose shape cannot be right, whatever they are."""
    pairs = c.rank(len(c) - 1, 2, name)
    c.merge(pairs, (count, 2))
    if "block_size" in c.attrs and dims is not None and len(dims) != 4:
        c.fail("an input of rank 4", f"shape {d.text(dims)}")


def _block_count(c: ShapeContext) -> int | None:
    """How many block sizes input 1 has, whose values are not known."""
    sizes = c.rank(1, 1, "block_shape")
    return sizes[0] if sizes else None


def _open_dims(c: ShapeContext, dims: Dims, count: int | None) -> Dims:
    """The output's shape where the input's or the block sizes are not known."""
    if dims is None:
        return (None,) * 4 if "block_size" in c.attrs else None  # height and width alone
    if count is None or count == 0:
        return (None,) * len(dims) if count is None else dims
    return (None,) * (1 + count) + dims[1 + count :]


def _to_batch_dims(c: ShapeContext, block: Any, pads: Any) -> Dims:
    dims, count = _block_inputs(c, block, pads, "paddings")
    if dims is None or count is None or block is None:
        return _open_dims(c, dims, count)
    spatial: list[int | None] = []
    for i in range(count):
        n = dims[1 + i]
        size = None if n is None or pads is None else n + int(pads[i].sum())
        if size is not None and size % block[i]:
            known = c.says(
                f"padded_shape[{i}]={size} is not divisible by block_shape[{i}]={block[i]}",
                f"Dimension size must be evenly divisible by {block[i]} but is {size}",
            )
            c.fail(
                f"padded sizes that the block sizes {block.tolist()} divide",
                f"{size} along axis {1 + i} of shape {d.text(dims)}: {known}",
            )
        spatial.append(None if size is None else size // int(block[i]))
    batch = None if dims[0] is None else dims[0] * int(np.prod(block))
    return (batch, *spatial, *dims[1 + count :])


def _to_space_dims(c: ShapeContext, block: Any, crops: Any) -> Dims:
    dims, count = _block_inputs(c, block, crops, "crops")
    if dims is None or count is None or block is None:
        return _open_dims(c, dims, count)
    total = int(np.prod(block))
    if dims[0] is not None and dims[0] % total:
        known = c.says(
            f"Input batch dimension ({dims[0]}) is not divisible by product of block sizes"
            f" ({total})",
            f"Dimension size must be evenly divisible by {total} but is {dims[0]}",
        )
        c.fail(f"a batch that {total} divides", f"{dims[0]} in shape {d.text(dims)}: {known}")
    spatial: list[int | None] = []
    for i in range(count):
        n = dims[1 + i]
        size = None if n is None or crops is None else n * int(block[i]) - int(crops[i].sum())
        if size is not None and size < 0:
            c.fail("crops that leave something", f"{crops.tolist()} for shape {d.text(dims)}")
        spatial.append(size)
    return (None if dims[0] is None else dims[0] // total, *spatial, *dims[1 + count :])


SPACE_TO_BATCH_ND = define_op(
    "SpaceToBatchND(input: T, block_shape: Tblock_shape, paddings: Tpaddings; T: type, "
    "Tblock_shape: {int32, int64} = int32, "
    "Tpaddings: {int32, int64} = int32) -> output: T",
    shape=lambda c: _to_batch_dims(c, c.constant(1), c.constant(2)),
    host_inputs=("block_shape", "paddings"),
    doc="Blocks of the padded spatial axes moved into the batch.",
)
BATCH_TO_SPACE_ND = define_op(
    "BatchToSpaceND(input: T, block_shape: Tblock_shape, crops: Tcrops; T: type, Tblock_shape: "
    "{int32, int64} = int32, "
    "Tcrops: {int32, int64} = int32) -> output: T",
    shape=lambda c: _to_space_dims(c, c.constant(1), c.constant(2)),
    host_inputs=("block_shape", "crops"),
    doc="The batch moved into blocks of the spatial axes, which are cropped then.",
)
SPACE_TO_BATCH = define_op(
    "SpaceToBatch(input: T, paddings: Tpaddings; T: type, Tpaddings: {int32, int64} = int32, "
    "block_size: int >= 2) -> output: T",
    shape=lambda c: _to_batch_dims(c, np.array([c.attr("block_size")] * 2), c.constant(1)),
    host_inputs=("paddings",),
    doc="Square blocks of padded height and width moved into the batch.",
)
BATCH_TO_SPACE = define_op(
    "BatchToSpace(input: T, crops: Tidx; T: type, block_size: int >= 2, Tidx: {int32, int64} = "
    "int32) -> output: T",
    shape=lambda c: _to_space_dims(c, np.array([c.attr("block_size")] * 2), c.constant(1)),
    host_inputs=("crops",),
    doc="The batch moved into square blocks of height and width, which are cropped then.",
)


def _space_to_batch(xp: Any, x: Array, block: list[int], pads: list[list[int]]) -> Array:
    count, dims = len(block), x.shape
    rest = dims[1 + count :]
    if any(map(any, pads)):
        pairs = [[0, 0], *pads, *[[0, 0]] * len(rest)]
        x = padded(x, pairs) if xp is np else xp.pad(x, pairs)
    cut: list[int] = [dims[0]]
    sizes = []
    for n, b in zip(x.shape[1 : 1 + count], block, strict=True):
        sizes.append(n // b)
        cut += (n // b, b)
    order = [
        *range(2, 2 + 2 * count, 2),
        0,
        *range(1, 1 + 2 * count, 2),
        *range(1 + 2 * count, len(dims) + count),
    ]
    moved = x.reshape((*cut, *rest)).transpose(order)
    return moved.reshape((dims[0] * math.prod(block), *sizes, *rest))


def _batch_to_space(x: Array, block: list[int], crops: list[list[int]]) -> Array:
    count, dims = len(block), x.shape
    sizes, rest = dims[1 : 1 + count], dims[1 + count :]
    batch = dims[0] // math.prod(block)
    cut = x.reshape((*block, batch, *sizes, *rest))
    order = [count]
    for i in range(count):
        order += (count + 1 + i, i)
    joined = cut.transpose([*order, *range(2 * count + 1, len(dims) + count)])
    wide = [n * b for n, b in zip(sizes, block, strict=True)]
    whole = joined.reshape((batch, *wide, *rest))
    if not any(map(any, crops)):
        return whole
    index = [slice(a, n - b) for (a, b), n in zip(crops, wide, strict=True)]
    return whole[(slice(None), *index)]


@kernel(SPACE_TO_BATCH_ND)
def _space_to_batch_nd(xp: Any, x: Array, block: Array, paddings: Array) -> Array:
    return _space_to_batch(xp, x, block.tolist(), paddings.tolist())


@kernel(BATCH_TO_SPACE_ND)
def _batch_to_space_nd(xp: Any, x: Array, block: Array, crops: Array) -> Array:
    return _batch_to_space(x, block.tolist(), crops.tolist())


@kernel(SPACE_TO_BATCH)
def _space_to_batch_2d(xp: Any, x: Array, paddings: Array, *, block_size: int) -> Array:
    return _space_to_batch(xp, x, [block_size] * 2, paddings.tolist())


@kernel(BATCH_TO_SPACE)
def _batch_to_space_2d(xp: Any, x: Array, crops: Array, *, block_size: int) -> Array:
    return _batch_to_space(x, [block_size] * 2, crops.tolist())


@SPACE_TO_BATCH_ND.gradient
def _to_batch_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(BATCH_TO_SPACE_ND, (grad, op.inputs[1], op.inputs[2])), None, None]


@BATCH_TO_SPACE_ND.gradient
def _to_space_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(SPACE_TO_BATCH_ND, (grad, op.inputs[1], op.inputs[2])), None, None]


@SPACE_TO_BATCH.gradient
def _to_batch_2d_gradient(op: Any, grad: Any) -> list[Any]:
    return [
        execute(BATCH_TO_SPACE, (grad, op.inputs[1]), {"block_size": op.get_attr("block_size")}),
        None,
    ]


@BATCH_TO_SPACE.gradient
def _to_space_2d_gradient(op: Any, grad: Any) -> list[Any]:
    return [
        execute(SPACE_TO_BATCH, (grad, op.inputs[1]), {"block_size": op.get_attr("block_size")}),
        None,
    ]


# ---- public functions


def space_to_depth(
    input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Any:
    """Blocks of height and width moved into the channels.

    Args:
      input: a tensor of rank 4, [batch, height, width, channels] for "NHWC".
      block_size: at least 2; divides height and width.
      data_format: "NHWC", "NCHW" or "NCHW_VECT_C".
      name: the name in a graph.

    Returns:
      A tensor of shape [batch, height / block, width / block, channels * block * block].

    Raises:
      InvalidArgumentError, ValueError: `block_size` does not divide a size.

    Example:
      >>> space_to_depth([[[[1], [2]], [[3], [4]]]], 2).numpy().tolist()
      [[[[1, 2, 3, 4]]]]
    """
    return execute(
        SPACE_TO_DEPTH, (input,), {"block_size": block_size, "data_format": data_format}, name
    )


def space_to_depth_v1(
    input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Any:
    """Blocks of height and width moved into the channels; see `tf.nn.space_to_depth`."""
    return space_to_depth(input, block_size, data_format, name)


def depth_to_space(
    input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Any:
    """Channels moved into blocks of height and width: the inverse of `tf.nn.space_to_depth`.

    Args:
      input: a tensor of rank 4, [batch, height, width, channels] for "NHWC".
      block_size: at least 2; its square divides the channels.
      data_format: "NHWC", "NCHW" or "NCHW_VECT_C".
      name: the name in a graph.

    Returns:
      A tensor of shape [batch, height * block, width * block, channels / (block * block)].

    Raises:
      InvalidArgumentError, ValueError: the channels cannot be divided so.
    """
    return execute(
        DEPTH_TO_SPACE, (input,), {"block_size": block_size, "data_format": data_format}, name
    )


def depth_to_space_v1(
    input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Any:
    """Channels moved into blocks of height and width; see `tf.nn.depth_to_space`."""
    return depth_to_space(input, block_size, data_format, name)


def space_to_batch_nd(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Any:
    """Blocks of the padded spatial axes moved into the batch.

    Args:
      input: a tensor of shape [batch] + spatial sizes + rest.
      block_shape: int32 or int64 vector, a block size for each spatial axis.
      paddings: integers of shape [spatial axes, 2]: zeros before and after.
      name: the name in a graph.

    Returns:
      A tensor of shape [batch * product of blocks] + padded sizes / blocks + rest.

    Raises:
      InvalidArgumentError, ValueError: a block size does not divide a padded size.
    """
    return execute(SPACE_TO_BATCH_ND, (input, block_shape, paddings), None, name)


def space_to_batch(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Any:
    """Blocks of the padded spatial axes moved into the batch; see `tf.space_to_batch_nd`."""
    return space_to_batch_nd(input, block_shape, paddings, name)


def space_to_batch_v1(
    input: Any,
    paddings: Any,
    block_size: Any = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Any:
    """Square blocks of padded height and width moved into the batch; see `tf.space_to_batch_nd`."""
    return space_to_batch_nd(input, _square(block_size, block_shape), paddings, name)


def _square(block_size: Any, block_shape: Any) -> Any:
    if block_size is None:
        if block_shape is None:
            raise ValueError("expected block_size or block_shape, got neither.")
        return block_shape
    if block_shape is not None:
        raise ValueError("Cannot specify both 'block_size' and 'block_shape'. Pass block_shape.")
    return np.array([block_size, block_size], np.int64)


def batch_to_space(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Any:
    """The batch moved into blocks of the spatial axes, which are cropped then.

    Args:
      input: a tensor of shape [batch] + spatial sizes + rest.
      block_shape: int32 or int64 vector, or one integer for two spatial axes.
      crops: integers of shape [spatial axes, 2]: how many to remove at both ends.
      name: the name in a graph.

    Returns:
      A tensor of shape [batch / product of blocks] + sizes * blocks - crops + rest.

    Raises:
      InvalidArgumentError, ValueError: the product of blocks does not divide the batch.
    """
    if isinstance(block_shape, (int, np.integer)):
        block_shape = np.array([block_shape, block_shape], np.int64)
    return execute(BATCH_TO_SPACE_ND, (input, convert_to_tensor(block_shape), crops), None, name)


def batch_to_space_v1(
    input: Any, crops: Any, block_size: Any = None, name: str | None = None, block_shape: Any = None
) -> Any:
    """The batch moved into blocks of the spatial axes; see `tf.batch_to_space`."""
    return batch_to_space(input, _square(block_size, block_shape), crops, name)


def batch_to_space_nd_v1(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Any:
    """The batch moved into blocks of the spatial axes; see `tf.batch_to_space`."""
    return batch_to_space(input, block_shape, crops, name)


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """The paddings that make sizes divisible by blocks, and the crops that undo what they add.

    Args:
      input_shape: int32 vector of N spatial sizes.
      block_shape: int32 vector of N block sizes.
      base_paddings: int32[N, 2], the least paddings; zeros by default.
      name: not used; for compatibility.

    Returns:
      Two int32[N, 2] tensors, paddings and crops; constants when the inputs are known.

    Raises:
      ValueError: the number of blocks is not known.

    Example:
      >>> [t.numpy().tolist() for t in required_space_to_batch_paddings([5], [4])]
      [[[0, 3]], [[0, 3]]]
    """
    sizes, blocks = (convert_to_tensor(v, int32) for v in (input_shape, block_shape))
    if blocks.dims is None or len(blocks.dims) != 1 or blocks.dims[0] is None:
        raise ValueError(f"expected block_shape of known length, got shape {blocks.shape}.")
    count = blocks.dims[0]
    given = np.zeros((count, 2), np.int32) if base_paddings is None else base_paddings
    base = convert_to_tensor(given, int32)
    known = [constant_value(t) for t in (sizes, blocks, base)]
    if all(v is not None for v in known):
        start, end = known[2].T  # type: ignore[union-attr]
        extra = -(known[0] + start + end) % known[1]
        pads, crops = np.stack([start, end + extra], 1), np.stack([0 * extra, extra], 1)
        return convert_to_tensor(pads.astype(np.int32)), convert_to_tensor(crops.astype(np.int32))
    start, end = execute("Unpack", (base,), {"num": 2, "axis": 1})
    full = execute("AddV2", (execute("AddV2", (sizes, start)), end))
    extra = execute("FloorMod", (execute("Neg", (full,)), blocks))
    zeros = np.zeros(count, np.int32)
    pads = execute("Pack", ([start, execute("AddV2", (end, extra))],), {"axis": 1})
    return pads, execute("Pack", ([zeros, extra],), {"axis": 1})
