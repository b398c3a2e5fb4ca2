"""Norms, clipping by them, and a few functions composed of others."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core import native_passes
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.tensor import Tensor
from penstock.ops.composing import composed, scope
from penstock.ops.factories import SLOW_IN_XLA, binary, binary_function
from penstock.ops.math_arithmetic import FLOATS, add_n, add_v2, multiply, negative, reduce_to
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_cast import cast
from penstock.ops.math_division import real_div
from penstock.ops.math_elementwise import sqrt, square
from penstock.ops.math_reduce import one_of, reduce_all, reduce_max, reduce_sum

Array = Any  # numpy.ndarray or a JAX tracer

# two operations of two inputs that fit nowhere else

ATAN2 = binary(
    "Atan2", "", np.arctan2, "arctan2", "Returns the angle of the point (x, y), in radians.",
    f"Atan2(y: T, x: T; T: {{{FLOATS}}}) -> z: T", limit=SLOW_IN_XLA,
)  # fmt: skip
atan2 = binary_function(ATAN2, "atan2", ATAN2.doc, arguments=("y", "x"))


@ATAN2.gradient
def _atan2_gradient(op: Any, grad: Any) -> list[Any]:
    y, x = op.inputs
    scaled = real_div(grad, add_v2(square(x), square(y)))
    return [
        reduce_to(op, multiply(scaled, x), 0),
        reduce_to(op, negative(multiply(scaled, y)), 1),
    ]


NEXT_AFTER = binary(
    "NextAfter", "", np.nextafter, "nextafter",
    "Returns the next number of the dtype after x1 in the direction of x2.",
    "NextAfter(x1: T, x2: T; T: {double, float} = float) -> output: T",
)  # fmt: skip
nextafter = binary_function(NEXT_AFTER, "nextafter", NEXT_AFTER.doc, arguments=("x1", "x2"))


@NEXT_AFTER.gradient
def _next_after_gradient(op: Any, grad: Any) -> list[Any]:
    return [reduce_to(op, grad, 0), reduce_to(op, multiply(grad, 0), 1)]


L2_LOSS = define_op(
    "L2Loss(t: T; T: {half, bfloat16, float, double}) -> output: T",
    shape=lambda c: (),
    doc="Returns half the sum of squares.",
)


@kernel(L2_LOSS)
def _l2_loss(xp: Any, t: Array) -> Array:
    wide = np.float32 if t.dtype.itemsize == 2 else t.dtype
    if xp is np:
        total = native_passes.square_sum(t)
        if total is None:
            total = np.add.reduce(np.square(t, dtype=wide), None)
        return total * np.asarray(0.5, wide)
    return xp.sum(xp.square(t.astype(wide))) * np.asarray(0.5, wide)


@L2_LOSS.gradient
def _l2_loss_gradient(op: Any, grad: Any) -> Any:
    return multiply(op.inputs[0], grad)


def l2_loss(t: Any, name: str | None = None) -> Any:
    """Returns half the sum of squares.

    Args:
      t: tensor of a floating dtype, any shape.
      name: the name of the operation in a graph.

    Returns:
      Scalar of the same dtype.
    """
    return execute(L2_LOSS, (t,), None, name)


# clipping by norm


def _values(t: Any) -> Any:
    return t.values if hasattr(t, "values") and hasattr(t, "indices") else t


def _with_values(t: Any, values: Any) -> Any:
    return values if _values(t) is t else type(t)(values, t.indices, t.dense_shape)


@composed("clip_by_norm")
def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """Scales a tensor down so that its Euclidean norm is at most `clip_norm`.

    Args:
      t: tensor or IndexedSlices of a floating dtype.
      clip_norm: scalar, the largest norm.
      axes: the axes over which norms are taken; all when None.
      name: the name of the operation in a graph.

    Returns:
      The same kind of value, of the same dtype and shape.
    """
    values = convert_to_tensor(_values(t))
    largest = convert_to_tensor(clip_norm, dtype_hint=values.dtype)
    largest = execute("Maximum", (largest, convert_to_tensor(0, largest.dtype)))
    squares = reduce_sum(square(values), axes, True)
    positive = execute("Greater", (squares, execute("ZerosLike", (squares,))))
    ones = execute("OnesLike", (squares,))
    size = execute(
        "SelectV2", (positive, sqrt(execute("SelectV2", (positive, squares, ones))), squares)
    )
    intermediate = multiply(values, largest)
    values.shape.assert_is_compatible_with(intermediate.shape)
    clipped = real_div(intermediate, execute("Maximum", (size, largest)))
    return _with_values(t, execute("Identity", (clipped,), None, name))


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Any:
    """Scales a tensor down so that its norm, divided by its size, is at most `clip_norm`.

    Args:
      t: tensor of a floating dtype.
      clip_norm: scalar, the largest norm per element.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape.
    """
    t = convert_to_tensor(t)
    count = cast(execute("Size", (t,)), t.dtype)
    one = convert_to_tensor(1, t.dtype)
    inverse = multiply(count, execute("Rsqrt", (reduce_sum(square(t)),)))
    least = execute("Minimum", (inverse, real_div(one, convert_to_tensor(clip_norm, t.dtype))))
    return execute("Mul", (multiply(t, convert_to_tensor(clip_norm, t.dtype)), least), None, name)


def _tensor_sequence(t_list: Any) -> list[Any]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, (str, bytes, Tensor)):
        raise TypeError(
            f"`t_list` should be a sequence of tensors. Received {type(t_list)}. Pass a list."
        )
    return list(t_list)


@composed("global_norm", result="global_norm")
def global_norm(t_list: Any, name: str | None = None) -> Any:
    """Returns the Euclidean norm of all elements of a list of tensors.

    Args:
      t_list: list of tensors, IndexedSlices or None (left out).
      name: the name of the operation in a graph.

    Returns:
      Scalar of the tensors' dtype; 0 (float32) when there are none.

    Raises:
      TypeError: `t_list` is no sequence.
    """
    given = [convert_to_tensor(_values(t)) for t in _tensor_sequence(t_list) if t is not None]
    if not given:
        return execute("Sqrt", (convert_to_tensor(0.0),), None, name)
    halves = [l2_loss(t) for t in given]
    total = multiply(add_n(halves), convert_to_tensor(2, given[0].dtype))
    return execute("Sqrt", (total,), None, name)


def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Any]:
    """Scales a list of tensors down together, so that their global norm is at most `clip_norm`.

    Args:
      t_list: list of tensors, IndexedSlices or None (kept as None).
      clip_norm: scalar, the largest norm.
      use_norm: the global norm, when it is known already.
      name: the name of the operations in a graph.

    Returns:
      The scaled values, and the global norm before scaling. All values are NaN when that norm is
      not finite.

    Raises:
      TypeError: `t_list` is no sequence.
    """
    values = _tensor_sequence(t_list)
    norm = global_norm(values, name) if use_norm is None else convert_to_tensor(use_norm)
    with scope(name, "clip_by_global_norm") as full:
        return _scaled_together(values, clip_norm, norm, full), norm


def _scaled_together(values: list[Any], clip_norm: Any, norm: Any, name: str) -> list[Any]:
    largest = convert_to_tensor(clip_norm, norm.dtype)
    one = convert_to_tensor(1, norm.dtype)
    inverse = execute("Minimum", (real_div(one, norm), real_div(one, largest)))
    finite = execute("IsFinite", (norm,))
    nan = convert_to_tensor(math.nan, norm.dtype)
    scale = execute("SelectV2", (finite, multiply(largest, inverse), nan))
    scaled: list[Any] = []
    for i, t in enumerate(values):
        if t is None:
            scaled.append(None)
            continue
        part = convert_to_tensor(_values(t))
        product = execute("Mul", (part, cast(scale, part.dtype)))
        if name:
            product = execute("Identity", (product,), None, f"{name.split('/')[-2]}/_{i}")
        scaled.append(_with_values(t, product))
    return scaled


# norms


@composed("norm", result="Squeeze")
def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Any:
    """Returns the norm of vectors or matrices.

    Args:
      tensor: tensor of a floating or complex dtype.
      ord: "euclidean" or "fro" (matrices), 1, 2, inf, or any positive number for vectors.
      axis: None (all elements as one vector), an axis of vectors, or two axes of matrices.
      keepdims: whether reduced axes stay, with size 1.
      name: the name of the operation in a graph.

    Returns:
      Tensor without these axes. Of complex numbers, "euclidean" and "fro" give complex numbers
      too, and so does 2 for vectors; the other norms are real.

    Raises:
      ValueError: `ord` or `axis` is none of these.
    """
    axes, is_matrix = _norm_axes(axis)
    _check_order(ord, is_matrix)
    tensor = convert_to_tensor(tensor)
    keep = bool(keepdims)
    if ord in ("fro", "euclidean", 2, 2.0):
        if is_matrix and ord in (2, 2.0):
            result = _spectral_norm(tensor, axes, keep)
        else:
            squares = multiply(
                tensor, execute("Conj", (tensor,)) if tensor.dtype.is_complex else tensor
            )
            result = sqrt(reduce_sum(squares, axes, keep))
        return execute("Identity", (result,), None, name)
    result = absolute(tensor)
    if ord == 1:
        result = (
            reduce_sum(result, None if axes is None else axes[0], True)
            if is_matrix
            else reduce_sum(result, axes, keep)
        )
        result = reduce_max(result, axes[1], True) if is_matrix else result
    elif ord == np.inf:
        result = reduce_sum(result, axes[1], True) if is_matrix else reduce_max(result, axes, keep)
        result = reduce_max(result, axes[0], True) if is_matrix else result
    else:
        power = convert_to_tensor(ord, result.dtype)
        one = convert_to_tensor(1, result.dtype)
        total = reduce_sum(execute("Pow", (result, power)), axes, keep)
        result = execute("Pow", (total, real_div(one, power)))
    if is_matrix and not keep:
        result = execute("Squeeze", (result,), {"squeeze_dims": list(axes)})
    return execute("Identity", (result,), None, name)


def _norm_axes(axis: Any) -> tuple[Any, bool]:
    if axis is None or isinstance(axis, int):
        return axis, False
    axes = list(axis) if isinstance(axis, (tuple, list)) else []
    if len(axes) != 2 or axes[0] == axes[1] or not all(isinstance(a, int) for a in axes):
        raise ValueError(
            "'axis' must be None, an integer, or a tuple of 2 unique integers of Python, got "
            f"{axis}. Use int() on those of NumPy."
        )
    return axes, True


def _check_order(ord: Any, is_matrix: bool) -> None:
    if is_matrix:
        allowed = ["euclidean", "fro", 1, 2, np.inf]
        if ord not in allowed:
            raise ValueError(f"'ord' must be a supported matrix norm in {allowed}, got {ord}")
    elif ord not in ("euclidean", 1, 2, np.inf) and (isinstance(ord, str) or not ord > 0):
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")


def _matrices_last(tensor: Any, axes: Any) -> Any:
    """The order of all axes with those of the matrices last."""
    if tensor.dims is not None:
        rank = len(tensor.dims)
        last = [a % rank for a in axes]
        return np.array([i for i in range(rank) if i not in last] + last, np.int32)
    rank = execute("Rank", (tensor,))
    last = execute("FloorMod", (np.array(axes, np.int32), rank))
    others = execute("ListDiff", (execute("Range", (np.int32(0), rank, np.int32(1))), last))[0]
    return execute("ConcatV2", ([others, last], np.int32(0)))


def _spectral_norm(tensor: Any, axes: Any, keep: bool) -> Any:
    moved = execute("Transpose", (tensor, _matrices_last(tensor, axes)))
    values = absolute(execute("Svd", (moved,), {"compute_uv": False})[0])  # real numbers
    largest = reduce_max(values, -1, False)
    if not keep:
        return largest
    kept = execute("Shape", (reduce_sum(tensor, axes, True),))
    return execute("Reshape", (largest, kept))


def norm_v1(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Any:
    """`norm` with compat.v1's arguments; `keep_dims` is the older name of `keepdims`."""
    return norm(tensor, ord, axis, one_of("keepdims", keepdims, "keep_dims", keep_dims), name)


@composed("normalize", result=None)
def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Returns vectors or matrices divided by their norms, and these norms; see `norm`.

    Args:
      tensor: tensor of a floating or complex dtype.
      ord: as for `norm`.
      axis: as for `norm`.
      name: the name of the scope in a graph.

    Returns:
      The tensor with norms of 1 (NaN where the norm is 0), and the norms, of the same dtype and
      rank, with size 1 along the axes that were reduced.

    Raises:
      ValueError: `ord` or `axis` is not supported.

    Example:
      >>> unit, size = normalize([3.0, 4.0])
      >>> print(unit.numpy(), size.numpy())
      [0.6 0.8] [5.]
    """
    del name
    tensor = convert_to_tensor(tensor)
    size = cast(norm(tensor, ord, axis, keepdims=True), tensor.dtype)
    return real_div(tensor, size, "truediv"), size


# compositions


@composed("polyval", result="add")
def polyval(coeffs: list[Any], x: Any, name: str | None = None) -> Any:
    """Evaluates a polynomial.

    Args:
      coeffs: list of tensors or numbers, the highest power first.
      x: tensor, where to evaluate.
      name: the name of the operations in a graph.

    Returns:
      Tensor of the shape that the coefficients and `x` broadcast to.

    Raises:
      ValueError: `coeffs` is no list.
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    x = convert_to_tensor(x)
    if not coeffs:
        return execute("ZerosLike", (x,), None, name)
    terms = [convert_to_tensor(c) for c in coeffs]
    return functools.reduce(lambda total, term: term + total * x, terms)


def _differences(x: Any) -> tuple[Any, Any]:
    x = convert_to_tensor(x)
    if not (x.dtype.is_floating or x.dtype.is_integer or x.dtype.is_complex):
        raise TypeError(f"Expected x to be numeric, instead found: {x}. Use tf.cast.")
    flat = execute("Reshape", (x, np.array([-1], np.int32)))
    one, zero, step = np.array([1], np.int32), np.array([0], np.int32), np.array([1], np.int32)
    later = execute("StridedSlice", (flat, one, zero, step), {"end_mask": 1})
    earlier = execute(
        "StridedSlice", (flat, zero, np.array([-1], np.int32), step), {"begin_mask": 1}
    )
    return earlier, later


def is_non_decreasing(x: Any, name: str | None = None) -> Any:
    """Tells whether no element is smaller than the one before it, in row order.

    Args:
      x: tensor of real numbers.
      name: the name of the operation in a graph.

    Returns:
      Scalar bool; true for fewer than two elements.
    """
    earlier, later = _differences(x)
    return reduce_all(execute("LessEqual", (earlier, later)), name=name)


def is_strictly_increasing(x: Any, name: str | None = None) -> Any:
    """Tells whether every element is larger than the one before it, in row order.

    Args:
      x: tensor of real numbers.
      name: the name of the operation in a graph.

    Returns:
      Scalar bool; true for fewer than two elements.
    """
    earlier, later = _differences(x)
    return reduce_all(execute("Less", (earlier, later)), name=name)
