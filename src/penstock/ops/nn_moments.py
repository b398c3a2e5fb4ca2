"""Means and variances, and normalising with them: compositions."""

from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops.composing import cast, like, number, reshape, scope, tensor, total
from penstock.ops.conversion import get_static_value
from penstock.ops.math_arithmetic import add_v2, multiply, negative, subtract
from penstock.ops.math_reduce import one_of
from penstock.types import dtypes


def _axis_list(axes: Any) -> list[int]:
    listed = np.asarray(get_static_value(axes)).reshape(-1)
    if listed.size and listed.dtype.kind in "fc":
        raise TypeError(f"moments: expected axes that are integers, got {axes!r}. Pass numbers.")
    return [int(a) for a in listed]


def _divide(x: Any, y: Any) -> Any:
    """A weighted mean; 0 where all weights are 0."""
    return execute("DivNoNan", (x, y))


def _drop(x: Tensor, axes: Any) -> Tensor:
    """`x` without the axes of size 1 that a sum kept."""
    if get_static_value(axes) is None:
        return total(x, axes)
    return execute("Squeeze", (x,), {"squeeze_dims": _axis_list(axes)})  # type: ignore[no-any-return]


def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """The mean and the variance over axes.

    Args:
      x: floating dtype, any shape; half precision is computed in float32.
      axes: the axes; all when None.
      shift: not used.
      keepdims: whether the axes stay, with size 1.
      name: the name in a graph.

    Returns:
      Two tensors of the dtype of `x`.
    """
    with scope(name, "moments"):
        given = tensor(x, name="x")
        small = given.dtype in (dtypes.float16, dtypes.bfloat16)
        value = cast(given, dtypes.float32) if small else given
        axes = _all_axes(value) if axes is None else axes
        average = _kept_mean(value, axes, "mean")
        squares = execute("SquaredDifference", (value, average))
        variance = _kept_mean(squares, axes, "variance")
        if not keepdims:
            average, variance = _drop(average, axes), _drop(variance, axes)
        kind = given.dtype.base_dtype
        return cast(average, kind), cast(variance, kind)


def _kept_mean(x: Any, axes: Any, name: str) -> Tensor:
    if not isinstance(axes, Tensor):
        axes = np.array(_axis_list(axes), np.int32).reshape(np.shape(axes))
    return execute("Mean", (x, axes), {"keep_dims": True}, name)  # type: ignore[no-any-return]


def moments_v1(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """`moments` with the arguments of compat.v1."""
    return moments(x, axes, shift, bool(one_of("keepdims", keepdims, "keep_dims", keep_dims)), name)


def weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """The mean and the variance over axes of elements that count differently.

    Args:
      x: floating dtype, any shape.
      axes: the axes.
      frequency_weights: how often each element counts; broadcasts with `x`.
      keepdims: whether the axes stay, with size 1.
      name: the name in a graph.

    Returns:
      Two tensors of the dtype of `x`.
    """
    with scope(name, "weighted_moments"):
        given = tensor(x, name="x")
        weights = tensor(frequency_weights, name="weights")
        small = given.dtype in (dtypes.float16, dtypes.bfloat16)
        value = cast(given, dtypes.float32) if small else given
        weights = cast(weights, value.dtype.base_dtype)
        ones = execute("OnesLike", (value,))
        counts = total(multiply(weights, ones), axes, keep=True)
        average = _divide(total(multiply(weights, value), axes, keep=True), counts)
        squares = execute("SquaredDifference", (value, average))
        variance = _divide(total(multiply(weights, squares), axes, keep=True), counts)
        if not keepdims:
            average, variance = _drop(average, axes), _drop(variance, axes)
        kind = given.dtype.base_dtype
        return cast(average, kind), cast(variance, kind)


def weighted_moments_v1(
    x: Any,
    axes: Any,
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """`weighted_moments` with the arguments of compat.v1."""
    keep = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    return weighted_moments(x, axes, frequency_weights, keep, name)


def sufficient_statistics(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any, Any, Any]:
    """What mean and variance follow from: count, sum, sum of squares, shift.

    Args:
      x: floating dtype, any shape.
      axes: the axes.
      shift: taken away from `x` first, close to the mean for precision; None for none.
      keepdims: whether the axes stay, with size 1.
      name: the name in a graph.

    Returns:
      The number of elements, the (shifted) sum, the (shifted) sum of squares, the shift or None.
    """
    listed = sorted(set(_axis_list(axes)))
    with scope(name, "sufficient_statistics"):
        x = tensor(x, name="x")
        counts = _count(x, listed)
        if shift is None:
            return counts, *_sums(x, multiply(x, x), listed, keepdims), None
        shift = like(shift, x)
        centred = subtract(x, shift)
        squares = execute("SquaredDifference", (x, shift))
        return counts, *_sums(centred, squares, listed, keepdims), shift


def _sums(x: Any, squares: Any, axes: list[int], keep: bool) -> tuple[Any, Any]:
    attrs, listed = {"keep_dims": keep}, np.array(axes, np.int32)
    first = execute("Sum", (x, listed), attrs, "mean_ss")
    return first, execute("Sum", (squares, listed), attrs, "var_ss")


def _count(x: Tensor, axes: list[int]) -> Any:
    if x.dims is not None and None not in [x.dims[a] for a in axes]:
        sizes = [x.dims[a] or 0 for a in axes]
        return number(float(np.prod(sizes)), x.dtype)
    picked = execute("GatherV2", (execute("Shape", (x,)), np.array(axes, np.int32), np.int32(0)))
    return execute("Prod", (cast(picked, x.dtype.base_dtype), np.zeros(1, np.int32)))


def sufficient_statistics_v1(
    x: Any,
    axes: Any,
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any, Any, Any]:
    """`sufficient_statistics` with the arguments of compat.v1."""
    keep = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    return sufficient_statistics(x, axes, shift, keep, name)


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Any, Any]:
    """The mean and the variance from sufficient statistics.

    Args:
      counts: the number of elements.
      mean_ss: the (shifted) sum.
      variance_ss: the (shifted) sum of squares.
      shift: the shift, or None.
      name: the name in a graph.

    Returns:
      Two tensors.
    """
    with scope(name, "normalize"):
        mean_ss = tensor(mean_ss)
        part = execute("Reciprocal", (like(counts, mean_ss),))
        if shift is None:
            average = shifted = multiply(mean_ss, part, name="mean")
        else:
            shifted = multiply(mean_ss, part, name="shifted_mean")
            average = add_v2(shifted, like(shift, mean_ss), name="mean")
        squares = multiply(like(variance_ss, mean_ss), part)
        return average, subtract(squares, multiply(shifted, shifted), name="variance")


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: Any,
    name: str | None = None,
) -> Any:
    """Gives scale * (x - mean) / sqrt(variance + epsilon) + offset.

    Args:
      x: floating dtype, any shape.
      mean, variance: broadcast with `x`.
      offset, scale: broadcast with `x`, or None.
      variance_epsilon: a small number, or a scalar tensor.
      name: the name in a graph.

    Returns:
      A tensor of the dtype and shape of `x`.
    """
    with scope(name, "batchnorm"):
        x = tensor(x)
        kind = x.dtype.base_dtype
        variance = tensor(variance)
        epsilon = like(variance_epsilon, variance)
        factor = execute("Rsqrt", (add_v2(variance, epsilon, name="add"),))
        if scale is not None:
            factor = multiply(factor, like(scale, factor), name="mul")
        scaled = multiply(x, cast(factor, kind), name="mul")
        shift = multiply(like(mean, factor), factor, name="mul")
        if offset is None:
            shift = negative(shift)
        else:
            shift = subtract(like(offset, factor), shift, name="sub")
        return add_v2(scaled, cast(shift, kind), name="add")


def batch_norm_with_global_normalization(
    input: Any,
    mean: Any,
    variance: Any,
    beta: Any,
    gamma: Any,
    variance_epsilon: float,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Any:
    """`batch_normalization` of the channels of images.

    Args:
      input: float[B, H, W, C].
      mean, variance, beta, gamma: float[C].
      variance_epsilon: a small number.
      scale_after_normalization: whether to multiply by `gamma`.
      name: the name in a graph.

    Returns:
      float[B, H, W, C].
    """
    chosen = gamma if scale_after_normalization else None
    return batch_normalization(input, mean, variance, beta, chosen, variance_epsilon, name)


def batch_norm_with_global_normalization_v1(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: Any = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Any:
    """`batch_norm_with_global_normalization` with the arguments of compat.v1."""
    return batch_norm_with_global_normalization(
        one_of("input", input, "t", t),
        one_of("mean", mean, "m", m),
        one_of("variance", variance, "v", v),
        beta,
        gamma,
        variance_epsilon,
        scale_after_normalization,
        name,
    )


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Any:
    """Gives x / sqrt(max(sum(x ** 2), epsilon)) along axes.

    Args:
      x: floating or complex dtype, any shape.
      axis: an axis or several; all when None.
      epsilon: the smallest sum of squares that is divided by.
      name: the name in a graph.
      dim: the old name of `axis`.

    Returns:
      A tensor of the same dtype and shape.
    """
    axis = one_of("axis", axis, "dim", dim)
    with scope(name, "l2_normalize") as full:
        x = tensor(x, name="x")
        if not (x.dtype.is_floating or x.dtype.is_complex):
            raise TypeError(
                f"tf.nn.l2_normalize: expected a floating or complex dtype, got {x.dtype.name}."
                " Use tf.cast."
            )
        axes = _all_axes(x) if axis is None else np.array(_axis_list(axis), np.int32)
        real = x
        squares = multiply(x, x)
        if x.dtype.is_complex:
            real = execute("ComplexAbs", (x,), {"Tout": x.dtype.real_dtype})
            squares = multiply(real, real)
        sums = execute("Sum", (squares, axes), {"keep_dims": True})
        root = execute("Rsqrt", (execute("Maximum", (sums, number(epsilon, real.dtype))),))
        if x.dtype.is_complex:
            root = execute("Cast", (root,), {"DstT": x.dtype.base_dtype})
        return multiply(x, root, name=full or None)


def _all_axes(x: Tensor) -> Any:
    if x.dims is not None:
        return np.arange(len(x.dims), dtype=np.int32)
    return execute("Range", (np.int32(0), execute("Rank", (x,)), np.int32(1)))


def zero_fraction(value: Any, name: str | None = None) -> Any:
    """The share of elements that are zero.

    Args:
      value: numbers, bools, or strings, of which empty ones are zero; any shape.
      name: the name in a graph.

    Returns:
      float32 scalar; NaN for an empty tensor.
    """
    with scope(name, "zero_fraction"):
        value = tensor(value, name="value")
        nothing = tensor("") if value.dtype is dtypes.string else number(0, value.dtype)
        zero = execute("Equal", (value, nothing))
        flat = reshape(cast(zero, dtypes.float32), [-1])
        return execute("Mean", (flat, np.array([0], np.int32)), None, "fraction")


__all__ = [
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "l2_normalize",
    "moments",
    "normalize_moments",
    "sufficient_statistics",
    "weighted_moments",
    "zero_fraction",
]
