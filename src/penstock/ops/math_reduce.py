"""Operations over axes: sums, means, extremes, norms; the public `reduce_...` functions.

An axis may be given as an int, a list, a tensor, or None for all axes; the functions of compat.v1
take the older argument names besides. Empty reductions give the operation's neutral value, as in
TensorFlow.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor, short_integers
from penstock.core.execute import execute
from penstock.core.op_def import OpDef
from penstock.core.tensor import Tensor
from penstock.graph.static_values import constant_value
from penstock.ops import nn_layer_norm as _layer_norm  # noqa: F401  registers what the planner makes
from penstock.ops.composing import composed
from penstock.ops.factories import is_variable, reduction
from penstock.ops.math_arithmetic import add_v2, conjugate, multiply, subtract
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_cast import cast
from penstock.ops.math_division import floor_div, real_div
from penstock.ops.math_elementwise import exp, log, square
from penstock.types import dtypes as dt

Array = Any  # numpy.ndarray or a JAX tracer
Axis = Any  # an int, a list of ints, a tensor of ints, or None for all axes
EXTREME_TYPES = (
    "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, "
    "qint8, quint8, qint32, qint16, quint16}"
)
BOOL_INPUT = "a bool has no gradient"


# What np.sum and others end up with, 2 us later; Any, since NumPy's types want `keep` as a literal.
_add: Any = np.add.reduce
_multiply: Any = np.multiply.reduce
_maximum: Any = np.maximum.reduce
_minimum: Any = np.minimum.reduce


def _accumulator(xp: Any, x: Array) -> Any:
    """The dtype a sum is kept in: float32 for the 16-bit dtypes, else the array's own."""
    return np.dtype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x.dtype


def _sum_kernel(xp: Any, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    if xp is np:
        return _add(x, axes, _accumulator(xp, x), None, keep)
    return xp.sum(x, axis=axes, keepdims=keep, dtype=_accumulator(xp, x))


def _prod_kernel(xp: Any, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    if xp is np:
        return _multiply(x, axes, _accumulator(xp, x), None, keep)
    return xp.prod(x, axis=axes, keepdims=keep, dtype=_accumulator(xp, x))


def _count(x: Array, axes: tuple[int, ...]) -> int:
    return int(np.prod([x.shape[a] for a in axes], dtype=np.int64))


def _mean_kernel(xp: Any, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    count = _count(x, axes)
    if x.dtype.kind in "iu":  # summed in 64 bits; the quotient is rounded towards zero
        wide = np.dtype(np.int64 if x.dtype.kind == "i" else np.uint64)
        total = xp.sum(x, axis=axes, keepdims=keep, dtype=wide)
        if count == 0:
            return xp.zeros_like(total, dtype=x.dtype)
        return (xp.sign(total) * (xp.abs(total) // count)).astype(x.dtype)
    total = _sum_kernel(xp, x, axes, keep)
    if count == 0:  # as in TensorFlow: 0 of complex numbers
        return total if x.dtype.kind == "c" else total * np.nan
    return total / np.asarray(count, total.dtype)


def _lowest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.inf


def _max_kernel(xp: Any, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    if not axes:
        return x
    if xp is np:
        return _maximum(x, axes, None, None, keep, _lowest(x.dtype))
    return xp.max(x, axis=axes, keepdims=keep, initial=_lowest(x.dtype))


def _min_kernel(xp: Any, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    if not axes:
        return x
    if xp is np:
        return _minimum(x, axes, None, None, keep, _highest(x.dtype))
    return xp.min(x, axis=axes, keepdims=keep, initial=_highest(x.dtype))


def _norm_kernel(xp: Any, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    squares = xp.square(xp.abs(x)) if x.dtype.kind == "c" else xp.square(x)
    total = _sum_kernel(xp, squares, axes, keep)
    root = xp.sqrt(total.astype(np.float64) if total.dtype.kind in "iu" else total)
    return root.astype(x.dtype)


SUM = reduction("Sum", "numbertype", _sum_kernel, "Adds elements over axes.")
PROD = reduction("Prod", "numbertype", _prod_kernel, "Multiplies elements over axes.")
MEAN = reduction("Mean", "numbertype", _mean_kernel, "Averages elements over axes.")
MAX = reduction("Max", EXTREME_TYPES, _max_kernel, "Returns the largest element over axes.")
MIN = reduction("Min", EXTREME_TYPES, _min_kernel, "Returns the smallest element over axes.")
EUCLIDEAN_NORM = reduction(
    "EuclideanNorm", "numbertype", _norm_kernel, "Returns the root of the sum of squares over axes."
)


def _define_bool(name: str, function: str, doc: str) -> OpDef:
    signature = (
        f"{name}(input: bool, reduction_indices: Tidx; keep_dims: bool = False, "
        "Tidx: {int32, int64} = int32) -> output: bool"
    )

    def run(xp: Any, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        return getattr(xp, function)(x, axis=axes, keepdims=keep)

    return reduction(name, "", run, doc, signature).not_differentiable(BOOL_INPUT)


ALL = _define_bool("All", "all", "Tells whether all elements over axes are true.")
ANY = _define_bool("Any", "any", "Tells whether any element over axes is true.")


# gradients


def _kept_shape(op: Any) -> Any:
    """The shape of the output as if dimensions were kept: a vector, constant where shapes tell."""
    x, axes = op.inputs
    known = _constant(axes)
    dims = x.dims
    if known is not None and dims is not None:
        wanted = {int(a) % len(dims) for a in known.reshape(-1)}
        kept = [1 if i in wanted else n for i, n in enumerate(dims)]
        if None not in kept:
            return np.array(kept, np.int32)
        reduced = np.array([i in wanted for i in range(len(dims))])
        return execute("SelectV2", (reduced, np.int32(1), execute("Shape", (x,))))
    return _dynamic_kept_shape(execute("Shape", (x,)), axes)


def _dynamic_kept_shape(shape: Any, axes: Any) -> Any:
    rank = execute("Size", (shape,))
    axes = execute("Reshape", (cast(axes, dt.int32), np.array([-1], np.int32)))
    axes = execute("FloorMod", (add_v2(axes, rank), rank))
    ones = execute("Fill", (execute("Shape", (axes,)), np.int32(1)))
    places = execute("ExpandDims", (axes, np.int32(-1)))
    return execute("TensorScatterUpdate", (shape, places, ones))


def _constant(tensor: Any) -> np.ndarray[Any, Any] | None:
    from_graph = constant_value(tensor)
    return None if from_graph is None else np.asarray(from_graph)


def _spread(op: Any, value: Any) -> Any:
    """A value of the output's shape, broadcast to the input's."""
    x = op.inputs[0]
    if not op.get_attr("keep_dims"):
        value = execute("Reshape", (value, _kept_shape(op)))
    return execute("BroadcastTo", (value, _shape_of(x)))


def _shape_of(x: Any) -> Any:
    if x.dims is not None and None not in x.dims:
        return np.array(x.dims, np.int32)
    return execute("Shape", (x,))


@SUM.gradient
def _sum_gradient(op: Any, grad: Any) -> list[Any]:
    return [_spread(op, grad), None]


@MEAN.gradient
def _mean_gradient(op: Any, grad: Any) -> list[Any]:
    x, y = op.inputs[0], op.outputs[0]
    spread = _spread(op, grad)
    full = all(t.dims is not None and None not in t.dims for t in (x, y))
    if full:
        count: Any = int(np.prod(x.dims)) // max(int(np.prod(y.dims)), 1)
        return [real_div(spread, convert_to_tensor(max(count, 1), spread.dtype)), None]
    sizes = [execute("Size", (t,)) for t in (x, y)]
    one = convert_to_tensor(1, dt.int32)
    count = floor_div(sizes[0], execute("Maximum", (sizes[1], one)))
    return [real_div(spread, cast(execute("Maximum", (count, one)), spread.dtype)), None]


def _extreme_gradient(op: Any, grad: Any) -> list[Any]:
    x = op.inputs[0]
    y = op.outputs[0]
    if not op.get_attr("keep_dims"):
        kept = _kept_shape(op)
        y, grad = execute("Reshape", (y, kept)), execute("Reshape", (grad, kept))
    chosen = cast(execute("Equal", (x, y)), grad.dtype)
    ties = execute(SUM, (chosen, op.inputs[1]), {"keep_dims": True})
    return [multiply(real_div(chosen, ties), grad), None]


MAX.gradient(_extreme_gradient)
MIN.gradient(_extreme_gradient)


@PROD.gradient
def _prod_gradient(op: Any, grad: Any) -> list[Any]:
    """Products of the elements before and after each one, which hold where some are zero."""
    x = op.inputs[0]
    axes, order, back = _reduced_first(x, op.inputs[1])
    moved = execute("Transpose", (x, order))
    sizes = execute("GatherV2", (_shape_of(x), axes, np.int32(0)))
    count = execute(PROD, (sizes, np.array([0], np.int32)))
    total = execute(PROD, (_shape_of(x), np.array([0], np.int32)))
    others = execute("FloorDiv", (total, execute("Maximum", (count, np.int32(1)))))
    rows = execute("Reshape", (moved, execute("Pack", ([count, others],), {"axis": 0})))
    before = execute("Cumprod", (rows, np.int32(0)), {"exclusive": True})
    after = execute("Cumprod", (rows, np.int32(0)), {"exclusive": True, "reverse": True})
    others = execute("Reshape", (conjugate(multiply(before, after)), _shape_of(moved)))
    return [multiply(_spread(op, grad), execute("Transpose", (others, back))), None]


def _reduced_first(x: Any, axes: Any) -> tuple[Any, Any, Any]:
    """The axes that are reduced, all axes with these first, and the order that undoes it."""
    known = _constant(axes)
    if known is not None and x.dims is not None:
        rank = len(x.dims)
        first = [int(a) % rank for a in known.reshape(-1)]
        order = first + [i for i in range(rank) if i not in first]
        return (
            np.array(first, np.int32),
            np.array(order, np.int32),
            np.argsort(order).astype(np.int32),
        )
    rank = execute("Rank", (x,))
    axes = execute("Reshape", (cast(axes, dt.int32), np.array([-1], np.int32)))
    axes = execute("FloorMod", (add_v2(axes, rank), rank))
    everything = execute("Range", (np.int32(0), rank, np.int32(1)))
    others = execute("ListDiff", (everything, axes))[0]
    order = execute("ConcatV2", ([axes, others], np.int32(0)))
    return axes, order, execute("InvertPermutation", (order,))


@EUCLIDEAN_NORM.gradient
def _norm_gradient(op: Any, grad: Any) -> list[Any]:
    x, y = op.inputs[0], op.outputs[0]
    scaled = execute("DivNoNan", (grad, y))
    return [multiply(x, _spread(op, scaled)), None]


# public functions


_FEW = 8  # the rank up to which the arrays of all axes are kept, see `short_integers`
_ALL = [tuple(range(rank)) for rank in range(_FEW + 1)]


def _axes(x: Any, axis: Axis) -> Any:
    """The axis argument as the operation takes it."""
    if axis is None:
        if x.dims is not None:
            rank = len(x.dims)
            kept = short_integers(_ALL[rank], dt.int32) if 0 < rank <= _FEW else None
            if kept is not None:
                return kept
            axes = np.arange(rank, dtype=np.int32)
            return axes if state.graph is None else convert_to_tensor(axes)
        rank = execute("Rank", (x,))
        return execute("Range", (np.int32(0), rank, np.int32(1)))
    if isinstance(axis, Tensor):
        return axis
    if axis.__class__ is int and state.graph is None:
        return axis
    return np.int32(axis) if isinstance(axis, int) else axis


def _reduce(op: OpDef, x: Any, axis: Axis, keepdims: Any, name: str | None) -> Any:
    if not is_variable(x):
        boolean = op in (ALL, ANY) and not isinstance(x, Tensor)
        x = convert_to_tensor(x, dt.bool_ if boolean else None)
    attrs = {"keep_dims": bool(keepdims)}
    if state.graph is None:
        return execute(op, (x, _axes(x, axis)), attrs)
    result = execute(op, (x, _axes(x, axis)), attrs, name)
    if axis is None and not keepdims and result.dims is None:  # of an unknown rank
        result.set_shape(())
    return result


def _document(function: Callable[..., Any], name: str, doc: str, v1: bool) -> None:
    function.__name__ = function.__qualname__ = name
    old = (
        "  reduction_indices: the older name of `axis`.\n"
        "  keep_dims: the older name of `keepdims`.\n"
        if v1
        else ""
    )
    function.__doc__ = (
        f"{doc}\n\nArgs:\n  input_tensor: tensor, any shape.\n"
        "  axis: the axis or axes to reduce, in [-rank, rank); all when None.\n"
        "  keepdims: whether reduced axes stay, with size 1.\n"
        "  name: the name of the operation in a graph.\n"
        f"{old}\nReturns:\n  Tensor of the same dtype, without the reduced axes.\n\n"
        "Raises:\n  InvalidArgumentError, ValueError: there is no such axis.\n"
    )


def _public(op: OpDef, name: str, doc: str) -> Callable[..., Any]:
    def reduce(
        input_tensor: Any, axis: Axis = None, keepdims: bool = False, name: str | None = None
    ) -> Any:
        return _reduce(op, input_tensor, axis, keepdims, name)

    _document(reduce, name, doc, v1=False)
    return reduce


def _v1(modern: Callable[..., Any]) -> Callable[..., Any]:
    """The function with compat.v1's argument names besides the modern ones."""

    def reduce(
        input_tensor: Any,
        axis: Axis = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Axis = None,
        keep_dims: bool | None = None,
    ) -> Any:
        axis = one_of("axis", axis, "reduction_indices", reduction_indices)
        keepdims = one_of("keepdims", keepdims, "keep_dims", keep_dims)
        return modern(input_tensor, axis, bool(keepdims), name)

    _document(reduce, modern.__name__, (modern.__doc__ or "").partition("\n")[0], v1=True)
    return reduce


def one_of(new: str, new_value: Any, old: str, old_value: Any) -> Any:
    """The value of an argument that has an older name too.

    Raises:
      ValueError: both are given.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old}' and '{new}'. Pass only '{new}'.")
    return old_value


reduce_sum = _public(SUM, "reduce_sum", SUM.doc)
reduce_prod = _public(PROD, "reduce_prod", PROD.doc)
reduce_mean = _public(MEAN, "reduce_mean", MEAN.doc)
reduce_max = _public(MAX, "reduce_max", MAX.doc)
reduce_min = _public(MIN, "reduce_min", MIN.doc)
reduce_all = _public(ALL, "reduce_all", ALL.doc)
reduce_any = _public(ANY, "reduce_any", ANY.doc)
reduce_euclidean_norm = _public(EUCLIDEAN_NORM, "reduce_euclidean_norm", EUCLIDEAN_NORM.doc)


@composed("ReduceLogSumExp")
def reduce_logsumexp(
    input_tensor: Any, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Returns log(sum(exp(x))) over axes, without overflow.

    Args:
      input_tensor: tensor of a floating dtype, any shape.
      axis: the axis or axes to reduce; all when None.
      keepdims: whether reduced axes stay, with size 1.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype, without the reduced axes.
    """
    x = convert_to_tensor(input_tensor)
    axes = _axes(x, axis)
    largest = execute(MAX, (x, axes), {"keep_dims": True})
    finite = execute("IsFinite", (largest,))
    zeros = execute("ZerosLike", (largest,))
    shift = execute("StopGradient", (execute("SelectV2", (finite, largest, zeros)),))
    total = log(execute(SUM, (exp(subtract(x, shift)), axes), {"keep_dims": bool(keepdims)}))
    if not keepdims:
        shift = execute("Reshape", (shift, _shape_of(total)))
    result = execute("AddV2", (total, shift), None, name)
    if axis is None and not keepdims and result.dims is None:  # of an unknown rank
        result.set_shape(())
    return result


@composed("reduce_variance", result="Mean_1")
def reduce_variance(
    input_tensor: Any, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Returns the mean squared distance from the mean, over axes.

    Args:
      input_tensor: tensor of a floating or complex dtype, any shape.
      axis: the axis or axes to reduce; all when None.
      keepdims: whether reduced axes stay, with size 1.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the real dtype, without the reduced axes.

    Raises:
      TypeError: `input_tensor` is of integers.
    """
    x = convert_to_tensor(input_tensor)
    means = reduce_mean(x, axis, True)  # refuses wrong axes before a wrong dtype
    if x.dtype.is_integer:
        raise TypeError(
            f"Input must be either real or complex. Received integer type {x.dtype!r}. Use tf.cast."
        )
    distance = subtract(x, means)
    if x.dtype.is_complex:
        distance = absolute(distance)
    return reduce_mean(square(distance), axis, keepdims, name)


@composed("reduce_std", result="Sqrt")
def reduce_std(
    input_tensor: Any, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Returns the standard deviation over axes: the root of `reduce_variance`.

    Args:
      input_tensor: tensor of a floating or complex dtype, any shape.
      axis: the axis or axes to reduce; all when None.
      keepdims: whether reduced axes stay, with size 1.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the real dtype, without the reduced axes.

    Raises:
      TypeError: `input_tensor` is of integers.
    """
    return execute("Sqrt", (reduce_variance(input_tensor, axis, keepdims),), None, name)


@composed("count_nonzero", result="Sum")
def count_nonzero(
    input: Any,
    axis: Axis = None,
    keepdims: bool | None = None,
    dtype: Any = dt.int64,
    name: str | None = None,
) -> Any:
    """Counts elements that are not zero (not empty, for strings) over axes.

    Args:
      input: tensor of numbers, bools or strings.
      axis: the axis or axes to reduce; all when None.
      keepdims: whether reduced axes stay, with size 1.
      dtype: the dtype of the result.
      name: the name of the operation in a graph.

    Returns:
      Tensor of `dtype`, without the reduced axes.
    """
    x = convert_to_tensor(input)
    none: Any = {dt.string: "", dt.bool_: False}.get(x.dtype, 0)
    zero = convert_to_tensor(none, x.dtype)
    marks = cast(execute("NotEqual", (x, zero)), dt.int64)
    return cast(reduce_sum(marks, axis, bool(keepdims)), dtype, name)


def count_nonzero_v1(
    input_tensor: Any = None,
    axis: Axis = None,
    keepdims: bool | None = None,
    dtype: Any = dt.int64,
    name: str | None = None,
    reduction_indices: Axis = None,
    keep_dims: bool | None = None,
    input: Any = None,
) -> Any:
    """Counts elements that are not zero over axes; compat.v1's argument names.

    Args:
      input_tensor: tensor of numbers, bools or strings.
      axis: the axis or axes to reduce; all when None.
      keepdims: whether reduced axes stay, with size 1.
      dtype: the dtype of the result.
      name: the name of the operation in a graph.
      reduction_indices: the older name of `axis`.
      keep_dims: the older name of `keepdims`.
      input: the newer name of `input_tensor`.

    Returns:
      Tensor of `dtype`, without the reduced axes.
    """
    value = one_of("input", input, "input_tensor", input_tensor)
    axis = one_of("axis", axis, "reduction_indices", reduction_indices)
    keepdims = one_of("keepdims", keepdims, "keep_dims", keep_dims)
    return count_nonzero(value, axis, keepdims, dtype, name)


reduce_sum_v1 = _v1(reduce_sum)
reduce_prod_v1 = _v1(reduce_prod)
reduce_mean_v1 = _v1(reduce_mean)
reduce_max_v1 = _v1(reduce_max)
reduce_min_v1 = _v1(reduce_min)
reduce_all_v1 = _v1(reduce_all)
reduce_any_v1 = _v1(reduce_any)
reduce_logsumexp_v1 = _v1(reduce_logsumexp)
