"""Sizes and ranks as values, axes of size 1, and broadcasting to a shape.

`size`, `rank` and `shape_n` are constants where the shape is known; `expand_dims` and `squeeze` are
views; `broadcast_to` repeats along axes of size 1.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.context import state
from penstock.core.convert import constant_tensor, convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import EagerTensor, wrap
from penstock.ops.array_basics import reshape, shape_of
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import as_dtype, int32
from penstock.types.tensor_shape import TensorShape

Array = Any
VIEW = 1 << 62  # limit of kernels that make a view

SHAPE_N = define_op(
    "ShapeN(input: N*T; N: int >= 1, T: type, out_type: {int32, int64} = int32) -> output: "
    "N*out_type",
    shape=lambda c: [(None if s is None else len(s),) for s in c.shapes],
    doc="The shapes of the inputs as vectors.",
).not_differentiable("a shape is an integer")


@kernel(SHAPE_N, limit=VIEW)
def _shape_n(xp: Any, inputs: list[Array], *, out_type: Any) -> list[Array]:
    dtype = out_type.numpy_dtype
    return [np.array(x.shape, dtype) for x in inputs]


SIZE = define_op(
    "Size(input: T; T: type, out_type: {int32, int64} = int32) -> output: out_type",
    shape=shapes.scalar,
    doc="The number of elements of the input.",
).not_differentiable("a size is an integer")


@kernel(SIZE, limit=VIEW)
def _size(xp: Any, x: Array, *, out_type: Any) -> Array:
    return np.array(math.prod(np.shape(x)), np.int64).astype(out_type.numpy_dtype)


RANK = define_op(
    "Rank(input: T; T: type) -> output: int32",
    shape=shapes.scalar,
    doc="The number of axes of the input.",
).not_differentiable("a rank is an integer")


@kernel(RANK, limit=VIEW)
def _rank(xp: Any, x: Array) -> Array:
    return np.asarray(np.ndim(x), np.int32)


# ---- axes of size 1


def _expand_shape(c: ShapeContext) -> Dims:
    dims, value = c.shape(0), c.constant(1)
    if value is not None and value.size != 1:
        c.fail(
            "an axis of one element",
            f"{value.tolist()}: 'dim' {'' if c.running else 'input '}must be a tensor with a"
            " single value",
        )
    if dims is None:
        return None
    if value is None:
        return (None,) * (len(dims) + 1)
    axis = int(value.reshape(()))
    if not -len(dims) - 1 <= axis <= len(dims):
        c.fail(
            f"an axis in [{-len(dims) - 1}, {len(dims)}] for an input of rank {len(dims)}",
            f"Tried to expand dim index {axis} for tensor with {len(dims)} dimensions"
            if c.running
            else f"dim {axis} not in the interval [{-len(dims) - 1}, {len(dims)}]",
        )
    axis += len(dims) + 1 if axis < 0 else 0
    return (*dims[:axis], 1, *dims[axis:])


EXPAND_DIMS = define_op(
    "ExpandDims(input: T, dim: Tdim; T: type, Tdim: {int32, int64} = int32) -> output: T",
    shape=_expand_shape,
    host_inputs=("dim",),
    doc="The input with a new axis of size 1 at `dim`.",
)


@kernel(EXPAND_DIMS, limit=VIEW)
def _expand_dims(xp: Any, x: Array, dim: Array) -> Array:
    axis = int(dim.reshape(()))
    if xp is np:
        axis = axis if axis >= 0 else axis + x.ndim + 1
        return x[(*(slice(None),) * axis, None, ...)]
    return xp.expand_dims(x, axis)


@EXPAND_DIMS.gradient
def _expand_dims_gradient(op: Any, grad: Any) -> list[Any]:
    return [reshape(grad, shape_of(op.inputs[0])), None]


def _squeeze_shape(c: ShapeContext) -> Dims:
    dims, axes = c.shape(0), c.attr("squeeze_dims")
    if dims is None:
        return None
    if not axes:
        return None if None in dims else tuple(n for n in dims if n != 1)
    chosen = {_squeezed_axis(c, place, axis, len(dims)) for place, axis in enumerate(axes)}
    for axis in chosen:
        if dims[axis] not in (1, None):
            c.fail(
                f"size 1 along axis {axis}",
                f"{dims[axis]} in shape {d.text(dims)}: Can not squeeze dim[{axis}], expected a"
                f" dimension of 1, got {dims[axis]}",
                "Name only axes of size 1.",
            )
    return tuple(n for i, n in enumerate(dims) if i not in chosen)


def _squeezed_axis(c: ShapeContext, place: int, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        c.fail(
            f"an axis in [{-rank}, {rank})",
            f"{axis}: Tried to squeeze dim index {axis} for tensor with {rank} dimensions"
            if c.running
            else f"{axis}: squeeze_dims[{place}] not in [{-rank},{rank})",
        )
    return axis % rank


SQUEEZE = define_op(
    "Squeeze(input: T; T: type, squeeze_dims: list(int) >= 0 = []) -> output: T",
    shape=_squeeze_shape,
    doc="The input without axes of size 1: those named, or all.",
)


@kernel(SQUEEZE, limit=VIEW)
def _squeeze(xp: Any, x: Array, *, squeeze_dims: tuple[int, ...]) -> Array:
    return xp.squeeze(x, tuple(squeeze_dims) or None)


@SQUEEZE.gradient
def _squeeze_gradient(op: Any, grad: Any) -> Any:
    return reshape(grad, shape_of(op.inputs[0]))


ENSURE_SHAPE = define_op(
    "EnsureShape(input: T; shape: shape, T: type) -> output: T",
    shape=lambda c: c.merge(
        c.shape(0),
        c.attr("shape"),
        lambda: (
            f"Shape of tensor input {d.bracketed(c.shape(0))} is not compatible with expected shape"
            f" {d.bracketed(c.attr('shape'))}"
        ),
    ),
    doc="The input, after a check of its shape.",
    fallible=True,
)


@kernel(ENSURE_SHAPE, limit=VIEW)
def _ensure_shape(xp: Any, x: Array, *, shape: Dims) -> Array:
    if not d.compatible(np.shape(x), shape):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"EnsureShape: Shape of tensor {list(np.shape(x))} is not compatible with expected "
            f"shape {TensorShape(shape)}.",
        )
    return x


@ENSURE_SHAPE.gradient
def _ensure_shape_gradient(op: Any, grad: Any) -> Any:
    return grad


# ---- broadcasting


def _broadcast_to_shape(c: ShapeContext) -> Dims:
    dims, wanted = c.shape(0), c.sizes(1)
    if wanted is None or dims is None:
        return wanted
    if len(dims) > len(wanted):
        c.fail(
            f"a shape of rank at least {len(dims)}",
            f"{d.text(wanted)} for an input of shape {d.text(dims)}:"
            + (
                f" Rank of input ({len(dims)}) must be no greater than rank of output shape"
                f" ({len(wanted)})"
                if c.running
                else f" Shape must be at most rank {len(wanted)} but is rank {len(dims)}"
            ),
        )
    offset, found = len(wanted) - len(dims), list(wanted)
    for i, n in enumerate(dims):
        target = wanted[offset + i]
        if n is not None and n != 1 and target is not None and target != n:
            fact = f"Dimensions must be equal, but are {n} and {target}"
            if c.running:
                fact = f"Incompatible shapes: {d.bracketed(dims)} vs. {d.bracketed(wanted)}"
            c.fail(f"an input that broadcasts to {d.text(wanted)}", f"shape {d.text(dims)}: {fact}")
        if target is None and n is not None and n > 1:
            found[offset + i] = n
    return tuple(found)


BROADCAST_TO = define_op(
    "BroadcastTo(input: T, shape: Tidx; T: type, Tidx: {int32, int64} = int32) -> output: T",
    shape=_broadcast_to_shape,
    host_inputs=("shape",),
    doc="The input repeated along axes of size 1 to a shape.",
)


@kernel(BROADCAST_TO)
def _broadcast_to(xp: Any, x: Array, shape: Array) -> Array:
    return xp.broadcast_to(x, tuple(shape.tolist()))


@BROADCAST_TO.gradient
def _broadcast_to_gradient(op: Any, grad: Any) -> list[Any]:
    x, wanted = op.inputs
    axes, _ = execute(
        BROADCAST_GRADIENT_ARGS, (execute("Cast", (shape_of(x),), {"DstT": wanted.dtype}), wanted)
    )
    return [reshape(execute("Sum", (grad, axes)), shape_of(x)), None]


def _args_shape(c: ShapeContext) -> Dims:
    a, b = c.rank(0, 1)[0], c.rank(1, 1)[0]  # type: ignore[index]
    return (None if a is None or b is None else max(a, b),)


BROADCAST_ARGS = define_op(
    "BroadcastArgs(s0: T, s1: T; T: {int32, int64} = int32) -> r0: T",
    shape=_args_shape,
    host_inputs=("s0", "s1"),
    doc="The shape that results when tensors of two shapes broadcast together.",
).not_differentiable("a shape is an integer")


@compiled_kernel(BROADCAST_ARGS)
@host_kernel(BROADCAST_ARGS, limit=VIEW)
def _broadcast_args(s0: Array, s1: Array) -> Array:
    try:
        return np.array(d.broadcast(tuple(s0.tolist()), tuple(s1.tolist())), s0.dtype)
    except ValueError as problem:
        raise errors.InvalidArgumentError(
            None, None, f"BroadcastArgs: {problem}. Expected shapes that broadcast."
        ) from None


BROADCAST_GRADIENT_ARGS = define_op(
    "BroadcastGradientArgs(s0: T, s1: T; T: {int32, int64} = int32) -> r0: T, r1: T",
    shape=lambda c: [(None,) if c.rank(i, 1, f"s{i}") else None for i in range(2)],
    host_inputs=("s0", "s1"),
    doc="For each of two shapes that broadcast the axes along which it was repeated.",
).not_differentiable("axes are integers")


@compiled_kernel(BROADCAST_GRADIENT_ARGS)
@host_kernel(BROADCAST_GRADIENT_ARGS, limit=VIEW)
def _broadcast_gradient_args(s0: Array, s1: Array) -> tuple[Array, Array]:
    rank = max(s0.size, s1.size)
    a = [1] * (rank - s0.size) + s0.tolist()
    b = [1] * (rank - s1.size) + s1.tolist()
    if any(m != n and 1 not in (m, n) for m, n in zip(a, b, strict=True)):
        raise errors.InvalidArgumentError(
            None,
            None,
            "BroadcastGradientArgs: expected shapes that broadcast, got"
            f" {s0.tolist()} and {s1.tolist()}.",
        )
    both = [i for i in range(rank) if a[i] == 1 and b[i] == 1]
    r0 = sorted({i for i in range(rank) if (a[i] == 1 and b[i] != 1)} | set(both))
    r1 = sorted({i for i in range(rank) if (b[i] == 1 and a[i] != 1)} | set(both))
    return np.array(r0, s0.dtype), np.array(r1, s0.dtype)


# ---- public functions


def shape_n(input: Sequence[Any], out_type: Any = int32, name: str | None = None) -> list[Any]:
    """The shapes of several tensors.

    Args:
      input: tensors of one dtype.
      out_type: int32 or int64.
      name: the name in a graph.

    Returns:
      A vector for each tensor.
    """
    return execute(SHAPE_N, (list(input),), {"out_type": as_dtype(out_type)}, name)  # type: ignore[no-any-return]


def size(input: Any, out_type: Any = None, name: str | None = None) -> Any:
    """The number of elements of a tensor (of the dense form of a sparse tensor).

    Args:
      input: any tensor.
      out_type: int32 (default) or int64.
      name: the name in a graph.

    Returns:
      A scalar of `out_type`; a constant when the shape is known.

    Example:
      >>> size([[1, 2, 3]]).numpy()
      np.int32(3)
    """
    out = int32 if out_type is None else as_dtype(out_type)
    if hasattr(input, "dense_shape"):
        return execute(
            "Prod", (execute("Cast", (input.dense_shape,), {"DstT": out}), 0), None, name
        )
    tensor = convert_to_tensor(input)
    total = d.num_elements(tensor.dims)
    if total is not None and (state.plain or state.graph is not None):
        return constant_tensor(np.asarray(total, out.numpy_dtype), out, name or "Size")
    return execute(SIZE, (tensor,), {"out_type": out}, name)


def size_v1(input: Any, name: str | None = None, out_type: Any = None) -> Any:
    """The number of elements of a tensor; see `tf.size`."""
    return size(input, out_type, name)


def rank(input: Any, name: str | None = None) -> Any:
    """The number of axes of a tensor, as a tensor.

    Args:
      input: any tensor or sparse tensor.
      name: the name in a graph.

    Returns:
      An int32 scalar; a constant when the rank is known.

    Example:
      >>> rank([[1, 2, 3]]).numpy()
      np.int32(2)
    """
    if hasattr(input, "dense_shape"):
        return size(input.dense_shape, int32, name or "Rank")
    tensor = convert_to_tensor(input)
    if tensor.dims is not None and (state.plain or state.graph is not None):
        return constant_tensor(np.asarray(len(tensor.dims), np.int32), int32, name or "Rank")
    return execute(RANK, (tensor,), None, name)


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """The input with a new axis of size 1.

    Args:
      input: any tensor of rank R.
      axis: integer in [-R - 1, R]: where the new axis stands in the result.
      name: the name in a graph.

    Returns:
      A tensor of rank R + 1.

    Raises:
      InvalidArgumentError, ValueError: `axis` is out of range.

    Example:
      >>> expand_dims([1, 2], -1).shape
      TensorShape([2, 1])
    """
    if axis.__class__ is int and input.__class__ is EagerTensor and state.plain:
        array = input._array
        if array.__class__ is np.ndarray and -array.ndim - 1 <= axis <= array.ndim:
            return wrap(np.expand_dims(array, axis), input._dtype)
    return execute(EXPAND_DIMS, (input, axis), None, name)


def expand_dims_v1(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """The input with a new axis of size 1; `dim` is the old name of `axis`.

    See `tf.expand_dims`.
    """
    axis = one_of(axis, "axis", dim, "dim")
    if axis is None:
        raise ValueError("expand_dims: expected an axis, got None. Pass axis=...")
    return expand_dims(input, axis, name)


def one_of(value: Any, name: str, old: Any, old_name: str) -> Any:
    """The value of an argument that had another name before.

    Raises:
      ValueError: both are given.
    """
    if old is None:
        return value
    if value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{name}'. Pass '{name}' alone.")
    return old


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """The input without axes of size 1.

    Args:
      input: any tensor.
      axis: an integer or a list of integers: the axes to remove; None or [] for all of size 1.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError, ValueError: a named axis is not of size 1.

    Example:
      >>> squeeze([[[1], [2]]]).shape
      TensorShape([2])
    """
    axes = (
        ()
        if axis is None
        else (_axis(axis),)
        if np.isscalar(axis) or getattr(axis, "shape", None) == ()
        else tuple(_axis(a) for a in axis)
    )
    return execute(SQUEEZE, (input,), {"squeeze_dims": axes}, name)


def _axis(value: Any) -> int:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"tf.squeeze: expected integers as axes, got {value!r}. Pass axis=0, say.")
    return int(value)


def squeeze_v1(
    input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None
) -> Any:
    """The input without axes of size 1; `squeeze_dims` is the old name of `axis`.

    See `tf.squeeze`.
    """
    return squeeze(input, one_of(axis, "axis", squeeze_dims, "squeeze_dims"), name)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Any:
    """The input repeated to a shape.

    Args:
      input: any tensor.
      shape: int32 or int64 vector that the shape of `input` broadcasts to.
      name: the name in a graph.

    Returns:
      A tensor of `shape`.

    Raises:
      InvalidArgumentError, ValueError: the input does not broadcast to it.

    Example:
      >>> broadcast_to([1, 2], [2, 2]).numpy().tolist()
      [[1, 2], [1, 2]]
    """
    return execute(BROADCAST_TO, (input, shape), None, name)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape of an element-wise operation on tensors of two static shapes.

    Args:
      shape_x: a TensorShape.
      shape_y: a TensorShape.

    Returns:
      A TensorShape, with unknown sizes where neither says more.

    Raises:
      ValueError: they do not broadcast.

    Example:
      >>> broadcast_static_shape(TensorShape([1, 2, 3]), TensorShape([5, 1, 3]))
      TensorShape([5, 2, 3])
    """
    return TensorShape.from_dims(
        d.broadcast(TensorShape(shape_x).dims_tuple, TensorShape(shape_y).dims_tuple)
    )


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Any:
    """The shape of an element-wise operation on tensors of two shapes that are tensors themselves.

    Args:
      shape_x: int32 or int64 vector.
      shape_y: a vector of the same dtype.

    Returns:
      A vector.

    Raises:
      InvalidArgumentError: they do not broadcast.
    """
    return execute(BROADCAST_ARGS, (shape_x, shape_y))


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    """The input, whose shape is checked now as far as it is known and when it runs.

    Args:
      x: any tensor.
      shape: the shape it must be compatible with; None for unknown sizes.
      name: the name in a graph.

    Returns:
      A tensor like `x`, with what `shape` adds to its static shape.

    Raises:
      InvalidArgumentError, ValueError: the shape differs.
    """
    return execute(ENSURE_SHAPE, (x,), {"shape": TensorShape(shape).dims_tuple}, name)
