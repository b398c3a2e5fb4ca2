"""Sums, means, extremes of ragged tensors along any axes; sums of rows by segment; softmax.

An axis is reduced as segments: axis 1 adds up the values of each row, axis 0 the values that have
one position in their rows. Inner axes are those of the values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core import dispatch
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.ops import debug_asserts as asserts
from penstock.ops import math_reduce
from penstock.ops.math_arithmetic import add, multiply, subtract
from penstock.ops.math_cast import cast
from penstock.ops.math_division import truediv
from penstock.ops.math_elementwise import exp, log, sqrt
from penstock.ops.nn_losses import softmax as dense_softmax
from penstock.ops.ragged_class import RaggedTensor, axis_of
from penstock.ops.ragged_elementwise import binary, ragged_or_tensor, unary
from penstock.ops.ragged_parts import after, lengths_to_splits, number
from penstock.ops.ragged_rows import is_ragged
from penstock.types import dtypes as dt

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to combine elements: of a tensor by segment; along one axis of it, or all."""

    segment: Function
    dense: Function


def _by(name: str, dense: Function) -> Kind:
    return Kind(lambda data, ids, count: execute(name, (data, ids, count)), dense)


_KINDS = {
    "sum": _by("UnsortedSegmentSum", math_reduce.reduce_sum),
    "prod": _by("UnsortedSegmentProd", math_reduce.reduce_prod),
    "max": _by("UnsortedSegmentMax", math_reduce.reduce_max),
    "min": _by("UnsortedSegmentMin", math_reduce.reduce_min),
}


# ---- segments


def segment(kind: str | Kind, data: Any, ids: Any, count: Any) -> Any:
    """Rows combined by segment.

    Args:
      kind: "sum", "prod", "max", "min", or another way.
      data: a tensor or ragged tensor.
      ids: an integer vector; or ragged like the outer dimensions of `data`.
      count: the number of segments.
    """
    data, ids = ragged_or_tensor(data), ragged_or_tensor(ids)
    if is_ragged(ids):
        data, ids = _flat_alike(data, ids)
        return segment(kind, data, ids, count)
    if not is_ragged(data):
        return _kind(kind).segment(data, ids, count)
    ids.shape.with_rank(1)
    dtype = data._row_partition.dtype
    ids = ids if ids.dtype is dtype else execute("Cast", (ids,), {"DstT": dtype})
    count = execute("Cast", (count,), {"DstT": dtype})
    longest = execute("UnsortedSegmentMax", (data.row_lengths(), ids, count))
    splits = lengths_to_splits(execute("Maximum", (longest, number(0, dtype))))
    partition = data._row_partition
    target = execute("GatherV2", (splits, ids, np.int32(0)))
    place = execute("GatherV2", (target, partition.value_rowids(), np.int32(0)))
    inner = segment(kind, data.values, place + partition.offsets_in_rows(), splits[-1])
    return RaggedTensor.from_row_splits(inner, splits, validate=False)


def _kind(kind: str | Kind) -> Kind:
    return _KINDS[kind] if isinstance(kind, str) else kind


def _flat_alike(data: Any, ids: Any) -> tuple[Any, Any]:
    """Data and ids without the ragged dimensions that both have."""
    if not is_ragged(data) or data.ragged_rank < ids.ragged_rank:
        raise ValueError(
            "segment_ids.shape must be a prefix of data.shape: the ragged rank of segment_ids is "
            f"{ids.ragged_rank}, which is more than that of data."
        )
    checks = []
    for _ in range(ids.ragged_rank):
        if data.row_splits is not ids.row_splits:
            message = "segment_ids.shape must be a prefix of data.shape"
            checks.append(asserts.assert_equal_v1(data.row_splits, ids.row_splits, message=message))
        data, ids = data.values, ids.values
        if not is_ragged(ids):
            break
    return data, after(checks, ids)


def _segment_counts(data: Any, ids: Any, count: Any) -> Any:
    ones = data.with_flat_values(execute("OnesLike", (data.flat_values,)))
    return segment("sum", ones, ids, count)


def _each(function: Function, x: Any, *others: Any) -> Any:
    """A function of tensors, or of ragged tensors that surely have the same rows."""
    if not is_ragged(x):
        return function(x, *others)
    return x.with_flat_values(function(x.flat_values, *(v.flat_values for v in others)))


def _public_segment(kind: str) -> Function:
    def handle(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        del name
        data = ragged_or_tensor(data)
        if kind in _KINDS:
            return segment(kind, data, segment_ids, num_segments)
        total = segment("sum", data, segment_ids, num_segments)
        sizes = _segment_counts(data, segment_ids, num_segments)
        if kind == "sqrt_n":
            sizes = _each(sqrt, _each(lambda v: cast(v, data.dtype), sizes))
        return _each(truediv, total, sizes)

    return handle


for _word in (*_KINDS, "mean", "sqrt_n"):
    dispatch.handler(f"math_segment.unsorted_segment_{_word}", RaggedTensor)(_public_segment(_word))


# ---- reductions


def reduce(kind: str | Kind, x: Any, axis: int) -> Any:
    """One axis of a ragged tensor reduced."""
    axis = axis_of(axis, x.shape.rank)
    if axis > 1:
        values = x.values
        dense = _kind(kind).dense
        inner = reduce(kind, values, axis - 1) if is_ragged(values) else dense(values, axis - 1)
        return x.with_values(inner)
    partition = x._row_partition
    if axis == 1:
        return segment(kind, x.values, partition.value_rowids(), partition.nrows())
    longest = execute("Max", (_padded(partition.row_lengths()), np.array([0], np.int32)))
    return segment(kind, x.values, partition.offsets_in_rows(), longest)


def _padded(lengths: Any) -> Any:
    zero = np.zeros(1, lengths.dtype.numpy_dtype)
    return execute("ConcatV2", ([lengths, zero], np.int32(0)))


def over(kind: str | Kind, x: Any, axes: list[int] | None) -> Any:
    """Several axes of a ragged tensor reduced, the innermost first; all when None."""
    dense = _kind(kind).dense
    if axes is None:
        return dense(x.flat_values, None)
    for axis in sorted(axes, reverse=True):
        x = reduce(kind, x, axis) if is_ragged(x) else dense(x, axis)
    return x


def _mean(x: Any, axes: list[int] | None) -> Any:
    ones = unary(lambda v: execute("OnesLike", (v,)), x)
    return _each(truediv, over("sum", x, axes), over("sum", ones, axes))


def _variance(x: Any, axes: list[int] | None) -> Any:
    squares = _mean(binary(multiply, x, x), axes)
    mean = _mean(x, axes)
    return _each(subtract, squares, _each(multiply, mean, mean))


def _any(x: Any, axes: list[int] | None) -> Any:
    count = over("sum", unary(lambda v: cast(cast(v, dt.bool_), dt.int32), x), axes)
    return _each(lambda v: execute("NotEqual", (v, np.int32(0))), count)


def _logsumexp(x: Any, axes: list[int] | None) -> Any:
    """log(sum(exp(x))), computed with the largest element of all taken out."""
    every = execute("Reshape", (x.flat_values, np.array([-1], np.int32)))
    zero = execute("ZerosLike", (every[:1],))
    highest = execute("Max", (execute("ConcatV2", ([every, zero], np.int32(0))), np.int32(0)))
    highest = execute("StopGradient", (highest,))
    total = over("sum", unary(lambda v: exp(subtract(v, highest)), x), axes)
    return _each(lambda v: add(log(v), highest), total)


def _all(x: Any, axes: list[int] | None) -> Any:
    missing = _any(unary(lambda v: execute("LogicalNot", (cast(v, dt.bool_),)), x), axes)
    return _each(lambda v: execute("LogicalNot", (v,)), missing)


_REDUCTIONS: dict[str, Function] = {
    "reduce_mean": _mean,
    "reduce_variance": _variance,
    "reduce_std": lambda x, axes: _each(sqrt, _variance(x, axes)),
    "reduce_logsumexp": _logsumexp,
    "reduce_any": _any,
    "reduce_all": _all,
}


def _plain(kind: str) -> Function:
    return lambda x, axes: over(kind, x, axes)


for _word in _KINDS:
    _REDUCTIONS[f"reduce_{_word}"] = _plain(_word)


def axes_of(axis: Any, rank: int | None) -> list[int] | None:
    """The axes that an argument names, from the front; None for all.

    Raises:
      TypeError: it is a tensor, or holds something that is no integer.
      ValueError: an axis is out of bounds.
    """
    if axis is None:
        return None
    if isinstance(axis, np.ndarray):
        axis = axis.tolist()
    found = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    for each in found:
        if isinstance(each, SymbolicTensor):
            raise ValueError(
                "axis must be known when the graph is built, for ragged tensors; got a tensor. "
                "Give an int."
            )
        if isinstance(each, Tensor) or not isinstance(each, (int, np.integer)):
            raise TypeError(
                f"axis must be an int; got {type(each).__name__}. A ragged tensor needs axes that "
                "are known when the graph is built."
            )
    return sorted(axis_of(int(a), rank) for a in found)


def _handle(reduction: Function) -> Function:
    def handle(
        input_tensor: Any,
        axis: Any = None,
        keepdims: Any = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: Any = None,
    ) -> Any:
        del name
        x = ragged_or_tensor(input_tensor)
        axes = axes_of(axis if reduction_indices is None else reduction_indices, x.shape.rank)
        result = reduction(x, axes)
        return keep_axes(result, axes, x.shape.rank) if keepdims or keep_dims else result

    return handle


def keep_axes(result: Any, axes: list[int] | None, rank: int | None) -> Any:
    """Axes of size 1 where axes were reduced; for all `rank` when None."""
    if axes is None and rank is None:
        raise ValueError(
            "keepdims: expected a ragged tensor of known rank, or the axes. Name them."
        )
    for each in range(rank or 0) if axes is None else axes:
        result = keep_axis(result, each)
    return result


def keep_axis(x: Any, axis: int) -> Any:
    """A new axis of size 1."""
    if is_ragged(x):
        return x[(*(slice(None),) * axis, None)]
    return execute("ExpandDims", (x, np.int32(axis)))


for _name, _reduction in _REDUCTIONS.items():
    dispatch.handler(f"math_reduce.{_name}", RaggedTensor)(_handle(_reduction))


# ---- softmax


def softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Any:
    """`tf.nn.softmax` of a ragged tensor."""
    del name
    given = dim if axis is None else axis
    where = axis_of(-1 if given is None else given, logits.shape.rank)
    if where > logits.ragged_rank:
        return logits.with_flat_values(
            dense_softmax(logits.flat_values, where - logits.ragged_rank)
        )
    highest = keep_axis(reduce("max", logits, where), where)
    highest = _each(lambda v: execute("StopGradient", (v,)), highest)
    powers = unary(exp, binary(subtract, logits, highest))
    return binary(truediv, powers, keep_axis(reduce("sum", powers, where), where))


dispatch.handler("nn_losses.softmax", RaggedTensor)(softmax)
dispatch.handler("nn_losses.softmax_v1", RaggedTensor)(softmax)


def log_softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Any:
    """`tf.nn.log_softmax` of a ragged tensor."""
    return unary(log, softmax(logits, axis, name, dim))


dispatch.handler("nn_losses.log_softmax", RaggedTensor)(log_softmax)
dispatch.handler("nn_losses.log_softmax_v1", RaggedTensor)(log_softmax)
