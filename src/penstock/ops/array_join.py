"""Joining along an axis: stack and unstack, concat, parallel_stack."""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from penstock import errors
from penstock.core import attributes
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext, low_rank
from penstock.core.tensor import EagerTensor, Tensor, TensorBase
from penstock.graph.static_values import constant_value
from penstock.ops.array_basics import identity, shape_of
from penstock.ops.array_shape import expand_dims
from penstock.ops.composing import scope
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import int32
from penstock.types.tensor_shape import TensorShape

Array = Any


# ---- stack and unstack


def _pack_shape(c: ShapeContext) -> Dims:
    dims = c.shape(0)
    for i in range(1, len(c)):
        if c.running and c.shape(i) != dims:
            c.refuse(
                f"Shapes of all inputs must match: values[0].shape = {d.bracketed(dims)} !="
                f" values[{i}].shape = {d.bracketed(c.shape(i))}"
            )
        dims = c.merge(dims, c.shape(i))
    if dims is None:
        return None
    axis, rank = c.attr("axis"), len(dims) + 1
    axis = c.axis(axis, rank)
    return (*dims[:axis], len(c), *dims[axis:])


PACK = define_op(
    "Pack(values: N*T; N: int >= 1, T: type, axis: int = 0) -> output: T",
    shape=_pack_shape,
    doc="Tensors of one shape side by side along a new axis.",
)


@kernel(PACK)
def _pack(xp: Any, values: list[Array], *, axis: int) -> Array:
    first = values[0]
    if (
        first.__class__ is np.ndarray
        and not first.ndim
        and first.dtype.kind in "biuf"
        and all(v.__class__ is np.ndarray for v in values)  # in a trace some are known
    ):
        return np.array(values)  # a shape made of sizes, in a fifth of the time
    if xp is not np or first.__class__ is not np.ndarray:  # a list of tensors, say
        return xp.stack(values, axis)
    dims: tuple[int, ...] = first.shape
    axis %= first.ndim + 1
    result = np.empty((*dims[:axis], len(values), *dims[axis:]), first.dtype)
    lead: tuple[Any, ...] = (slice(None),) * axis
    for i, value in enumerate(values):
        result[(*lead, i, ...)] = value  # of a text its bytes, not the array that holds them
    return result


@PACK.gradient
def _pack_gradient(op: Any, grad: Any) -> list[Any]:
    return list(execute(UNPACK, (grad,), {"num": op.get_attr("N"), "axis": op.get_attr("axis")}))


def _unpack_shape(c: ShapeContext) -> list[Dims]:
    dims, num = c.shape(0), c.attr("num")
    if dims is None:
        return [None] * num
    axis = (
        c.axis(c.attr("axis"), len(dims))
        if dims
        else c.fail("a value of rank at least 1", "a scalar")
    )
    if dims[axis] is not None and dims[axis] != num:
        fact = f"Dimension must be {num} but is {dims[axis]}"
        if c.running:
            fact = f"Input shape axis {axis} must equal {num}, got shape {d.bracketed(dims)}"
        c.fail(f"size {num} along axis {axis}", f"{dims[axis]} in shape {d.text(dims)}: {fact}")
    return [(*dims[:axis], *dims[axis + 1 :])] * num


UNPACK = define_op(
    "Unpack(value: T; num: int >= 0, T: type, axis: int = 0) -> output: num*T",
    shape=_unpack_shape,
    doc="The slices of a tensor along an axis.",
)


@kernel(UNPACK)
def _unpack(xp: Any, value: Array, *, num: int, axis: int) -> list[Array]:
    if xp is np and axis in (0, -value.ndim):
        return list(value) if value.ndim > 1 else [value[i, ...] for i in range(num)]
    moved = xp.moveaxis(value, axis, 0)
    return [moved[i, ...] for i in range(num)]


@UNPACK.gradient
def _unpack_gradient(op: Any, *grads: Any) -> Any:
    return execute(PACK, (list(grads),), {"axis": op.get_attr("axis")})


# ---- concat


def _concat_shape(c: ShapeContext) -> Dims:
    return _scalar_axis_shape(c, len(c) - 1, c.shapes[:-1])


def _scalar_axis_shape(c: ShapeContext, axis: int, parts: Sequence[Dims]) -> Dims:
    if not c.running:  # eagerly TensorFlow takes a vector of one axis
        c.rank(axis, 0, "axis")
    return joined_shape(c, c.constant(axis), parts)


def joined_shape(c: ShapeContext, axis_value: Any, parts: Sequence[Dims]) -> Dims:
    """The dimensions of `parts` end to end along an axis, as far as they are known."""
    rank = next((len(s) for s in parts if s is not None), None)
    if rank is None:
        return None
    if any(s is not None and len(s) != rank for s in parts):
        _refuse_ranks(c, parts, rank)
    if axis_value is None:
        return (None,) * rank
    if rank == 0:
        c.refuse("Can't concatenate scalars (use tf.stack instead)")
    given = int(axis_value.reshape(()))
    axis = c.axis(
        given, rank, "concatenating dimensions", lambda: c.says("", low_rank(given, rank))
    )
    rest: Dims = (None,) * rank
    total: int | None = 0
    for part in parts:
        known = (None,) * rank if part is None else part
        size = known[axis]
        total = None if total is None or size is None else total + size
        try:
            rest = d.merge(rest, (*known[:axis], None, *known[axis + 1 :]))
        except ValueError:
            _refuse_sizes(c, parts, axis)
    assert rest is not None
    return (*rest[:axis], total, *rest[axis + 1 :])


def _refuse_ranks(c: ShapeContext, parts: Sequence[Dims], rank: int) -> NoReturn:
    other = next(s for s in parts if s is not None and len(s) != rank)
    fact = f"Shape must be rank {rank} but is rank {len(other)}"
    if c.running:
        fact = (
            f"Ranks of all input tensors should match: shape[0] = {d.bracketed(parts[0])} vs."
            f" shape[{parts.index(other)}] = {d.bracketed(other)}"
        )
    c.fail("inputs of one rank", f"{', '.join(d.text(s) for s in parts)}: {fact}")


def _refuse_sizes(c: ShapeContext, parts: Sequence[Dims], axis: int) -> NoReturn:
    """Tells of the first two parts that differ along an axis other than `axis`."""
    known = [s for s in parts if s is not None]
    place, other, first, at = next(
        (place, other, first, at)
        for place, other in enumerate(known)
        for first in known[:place]
        for at in range(len(first))
        if at != axis and None not in (first[at], other[at]) and first[at] != other[at]
    )
    fact = (
        f"Dimension {at} in both shapes must be equal: shape[0] = {d.bracketed(first)} vs."
        f" shape[{place}] = {d.bracketed(other)}"
    )
    if not c.running:
        head, tail = ((*s[:axis], *s[axis + 1 :]) for s in (first, other))
        fact = (
            f"Dimension {at - (at > axis)} in both shapes must be equal, but are {first[at]} and"
            f" {other[at]}. Shapes are {d.bracketed(head)} and {d.bracketed(tail)}"
        )
    c.fail(
        f"equal sizes along all axes but {axis}", f"{', '.join(d.text(s) for s in parts)}: {fact}"
    )


CONCAT_V2 = define_op(
    "ConcatV2(values: N*T, axis: Tidx; N: int >= 2, T: type, Tidx: {int32, int64} = int32) -> "
    "output: T",
    shape=_concat_shape,
    host_inputs=("axis",),
    doc="Tensors end to end along an axis.",
)


@kernel(CONCAT_V2)
def _concat(xp: Any, values: list[Array], axis: Array) -> Array:
    return xp.concatenate(values, int(axis.reshape(())))


@CONCAT_V2.gradient
def _concat_gradient(op: Any, grad: Any) -> list[Any]:
    return [*_cut_like(grad, op.inputs[:-1], op.inputs[-1]), None]


CONCAT = define_op(
    "Concat(concat_dim: int32, values: N*T; N: int >= 2, T: type) -> output: T",
    shape=lambda c: _scalar_axis_shape(c, 0, c.shapes[1:]),
    host_inputs=("concat_dim",),
    doc="Tensors end to end along an axis; the old form, with the axis first.",
)


@kernel(CONCAT)
def _concat_v1(xp: Any, axis: Array, values: list[Array]) -> Array:
    return xp.concatenate(values, int(axis.reshape(())))


@CONCAT.gradient
def _concat_v1_gradient(op: Any, grad: Any) -> list[Any]:
    axis = execute("Reshape", (op.inputs[0], np.zeros(0, np.int32)))  # a vector of one will do
    return [None, *_cut_like(grad, op.inputs[1:], axis)]


def _cut_like(grad: Any, parts: Sequence[Any], axis: Any) -> list[Any]:
    """`grad` cut into pieces as long as `parts` along `axis`."""
    value = constant_value(axis)
    if value is not None and all(
        p.dims is not None and p.dims[int(value)] is not None for p in parts
    ):
        sizes: Any = [p.dims[int(value)] for p in parts]
    else:
        along = [execute("GatherV2", (shape_of(p), _positive(axis, p), 0)) for p in parts]
        sizes = execute(PACK, (along,))
    return list(
        execute(
            "SplitV",
            (grad, sizes, execute("Cast", (axis,), {"DstT": int32})),
            {"num_split": len(parts)},
        )
    )


def _positive(axis: Any, x: Any) -> Any:
    return execute("FloorMod", (execute("Cast", (axis,), {"DstT": int32}), execute("Rank", (x,))))


CONCAT_OFFSET = define_op(
    "ConcatOffset(concat_dim: int32, shape: N*shape_type; N: int >= 2, shape_type: {int32, int64} "
    "= int32) -> offset: N*shape_type",
    shape=lambda c: _offset_shape(c),
    host_inputs=("concat_dim", "shape"),
    doc="Where each input of a concatenation begins in the result.",
).not_differentiable("offsets are integers")


def _offset_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 0, "concat_dim")
    dims: Dims = c.rank(1, 1, "shape")
    for index in range(2, len(c)):
        dims = c.merge(dims, c.rank(index, 1, "shape"))
    return list(c.shapes[1:])


@host_kernel(CONCAT_OFFSET)
def _concat_offset(concat_dim: Array, shapes: list[Array]) -> list[Array]:
    axis, total, result = _offset_axis(int(concat_dim), shapes), 0, []
    for item in shapes:
        offset = np.zeros(item.size, item.dtype)
        offset[axis] = total
        total += item.item(axis)
        result.append(offset)
    return result


def _offset_axis(axis: int, shapes: list[Array]) -> int:
    """The axis from the front; refuses shapes that differ elsewhere."""
    rank = len(shapes[0])
    if not -rank <= axis < rank:
        raise errors.InvalidArgumentError(
            None, None, f"ConcatOffset: expected concat_dim in [{-rank}, {rank}), got {axis}."
        )
    axis %= rank
    first = shapes[0].tolist()
    for i, item in enumerate(shapes):
        first[axis] = item.item(axis)  # which may differ
        if item.tolist() != first:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"ConcatOffset: expected shapes that agree but for axis {axis}, got"
                f" {shapes[0].tolist()} and, as shape {i}, {item.tolist()}.",
            )
    return axis


PARALLEL_CONCAT = define_op(
    "ParallelConcat(values: N*T; N: int >= 1, T: type, shape: shape) -> output: T",
    shape=lambda c: _parallel_shape(c),
    doc="Tensors whose first axis has size 1 end to end.",
).without_gradient("it builds inputs, not layers; use tf.stack for a gradient")


def _parallel_shape(c: ShapeContext) -> Dims:
    wanted: Dims = c.attr("shape")
    if wanted is None or None in wanted or not wanted:
        c.fail("a shape that is known", d.text(wanted), "Say the shape of the result.")
    if wanted[0] != len(c):
        c.fail(f"a shape that begins with {len(c)}, the number of values", d.text(wanted))
    for index in range(len(c)):
        c.merge(c.rank(index, len(wanted), "values"), (1, *wanted[1:]))
    return wanted


@kernel(PARALLEL_CONCAT)
def _parallel_concat(xp: Any, values: list[Array]) -> Array:
    return xp.concatenate(values, 0)


# ---- public functions


def stack(values: Any, axis: int = 0, name: str = "stack") -> Any:
    """Tensors of one shape side by side along a new axis.

    Args:
      values: tensors of one shape and dtype, rank R.
      axis: integer in [-R - 1, R].
      name: the name in a graph.

    Returns:
      A tensor of rank R + 1.

    Raises:
      ValueError: `axis` is out of range.

    Example:
      >>> stack([[1, 2], [3, 4]], axis=1).numpy().tolist()
      [[1, 3], [2, 4]]
    """
    if isinstance(values, TensorBase):
        if axis == 0:
            return convert_to_tensor(values)  # its own rows, side by side
        values = unstack(values)
    values = list(values)
    if axis == 0 and not any(isinstance(v, Tensor) or hasattr(v, "handle") for v in values):
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass  # Pack reports it
    rank = _rank_of(values[0]) if values and axis != 0 else None
    if rank is not None and not -rank - 1 <= axis <= rank:
        raise ValueError(
            f"Argument `axis` = {axis} not in range [{-rank - 1}, {rank + 1}): expected the place"
            f" of a new axis among values of rank {rank}. Pass -1 for the last place."
        )
    return execute(PACK, (values,), {"axis": attributes.place(axis)}, name)


def _rank_of(value: Any) -> int | None:
    """The rank that a value has as a tensor; None where it is unknown."""
    if hasattr(value, "shape"):
        return TensorShape(value.shape).rank
    if not isinstance(value, (list, tuple)):
        return 0
    inner = _rank_of(value[0]) if value else 0
    return None if inner is None else inner + 1


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Any]:
    """The slices of a tensor along an axis.

    Args:
      value: a tensor of rank R > 0.
      num: the size along `axis`; needed only when it is not known.
      axis: integer in [-R, R).
      name: the name in a graph.

    Returns:
      A list of tensors of rank R - 1.

    Raises:
      ValueError: `axis` is out of range, or the size is not known and not given.
    """
    axis = attributes.place(axis)
    if num is None:
        value = convert_to_tensor(value)
        if value.dims is not None:
            rank = len(value.dims)
            if not -rank <= axis < rank:
                raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
            num = value.dims[axis]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}. Pass num=...")
    return execute(UNPACK, (value,), {"num": num, "axis": axis}, name)  # type: ignore[no-any-return]


def concat(values: Any, axis: Any, name: str = "concat") -> Any:
    """Tensors end to end along an axis.

    Args:
      values: tensors of one dtype and rank R, of equal sizes along all other axes; or one tensor.
      axis: integer in [-R, R).
      name: the name in a graph.

    Returns:
      A tensor of rank R.

    Raises:
      InvalidArgumentError, ValueError: shapes do not fit, or `axis` is out of range.

    Example:
      >>> concat([[[1]], [[2]]], 1).numpy().tolist()
      [[1, 2]]
    """
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    if len(values) == 1:
        axis_tensor = convert_to_tensor(axis, int32)
        if axis_tensor.dims not in ((), None):
            raise ValueError(f"concat: expected a scalar axis, got shape {axis_tensor.shape}.")
        with scope(name, "concat"):
            return identity(values[0], name=name)
    return execute(CONCAT_V2, (values, axis), None, name)


def parallel_stack(values: Sequence[Any], name: str = "parallel_stack") -> Any:
    """Tensors of one fully known shape side by side along a new first axis.

    Args:
      values: tensors.
      name: the name in a graph.

    Returns:
      A tensor.

    Raises:
      RuntimeError: operations run eagerly.
      ValueError: their shapes differ, or are not known when the graph is built.
    """
    first = convert_to_tensor(values[0])
    if isinstance(first, EagerTensor):
        raise RuntimeError(
            "tf.parallel_stack() is not compatible with eager execution. Use tf.stack."
        )
    parts = [expand_dims(v, 0) for v in values]
    shape = None if first.dims is None else (len(parts), *first.dims)
    return execute(PARALLEL_CONCAT, (parts,), {"shape": shape}, name)
