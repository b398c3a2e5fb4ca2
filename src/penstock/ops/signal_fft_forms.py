"""Fourier transforms and their gradients in standard operations, as files have them.

Transforms over the innermost dimensions are those that readers have kernels for. Gradients of
those over any axes have such ones, too.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.graph.static_values import constant_value, shape_value
from penstock.ops.array_basics import reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_fill import one_hot
from penstock.ops.array_join import concat, stack
from penstock.ops.array_select import where
from penstock.ops.math_arithmetic import multiply
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import logical_and, logical_or
from penstock.ops.math_range import range as range_of
from penstock.ops.math_reduce import reduce_prod
from penstock.types import dtypes as dt
from penstock.types.dims import is_full
from penstock.types.dtypes import DType

# The innermost dimensions that operations transform, and how the names of these end.
_INNER: dict[Any, str] = {(-1,): "", (-2, -1): "2D", (-3, -2, -1): "3D"}


def resized_to(x: Any, dims: Any) -> Any:
    """`x` cut, or filled up with zeros, to a shape, int32[rank]."""
    dims = convert_to_tensor(dims, dt.int32)
    known = shape_value(dims)
    if x.dims is not None and x.dims == known and is_full(x.dims):
        return x
    sizes = execute("Minimum", (shape_of(x), dims))
    nothing = execute("ZerosLike", (sizes,))
    cut = execute("Slice", (x, nothing, sizes))
    found = _filled_up(cut, dims - sizes)
    found.set_shape(known)
    return found


def transform(name: str, x: Any, lengths: Any, axes: Any, attrs: dict[str, Any]) -> Any:
    """A transform of, or to, real signals over any axes; by its own operation where it is one.

    Args:
      name: "RFFT" or "IRFFT".
      x: what is transformed.
      lengths: the numbers of samples, int32[axes].
      axes: int32[axes].
      attrs: of the operation.
    """
    places = from_the_end(axes, x)
    if places in _INNER:
        return execute(f"{name}{_INNER[places]}", (x, lengths), attrs)
    return execute(f"{name}ND", (x, lengths, axes), attrs)


def from_the_end(axes: Any, x: Any) -> tuple[int, ...] | None:
    """Axes counted from the end, as negative numbers; None where they are not known."""
    values = axes if isinstance(axes, np.ndarray) else constant_value(axes)
    if values is None or (x.dims is None and (values >= 0).any()):
        return None
    return tuple(int(a) if a < 0 else int(a) - len(x.dims) for a in values)


def _count(lengths: Any, dtype: DType) -> Any:
    return cast(reduce_prod(cast(lengths, dt.float64)), dtype)


def real_gradient(grad: Any, input_shape: Any, fft_length: Any, axes: Any, *, Treal: DType) -> Any:
    """What flows back through the transform of real signals: the sum of the frequencies' waves."""
    places = from_the_end(axes, grad)
    rank = execute("Rank", (grad,))
    last = axes[-1] if places is None else places[-1] + rank
    missing = fft_length[-1] - shape_of(grad)[last]
    after = one_hot(last, rank, on_value=missing, off_value=np.int32(0))
    padded = _filled_up(grad, after)
    if places in _INNER:
        waves = execute(f"IFFT{_INNER[places]}", (padded,))
    else:
        waves = execute("IFFTND", (padded, fft_length, axes))
    real = execute("Real", (waves,), {"Tout": Treal})
    return resized_to(multiply(real, _count(fft_length, Treal)), input_shape)


def inverse_real_gradient(
    grad: Any, input_shape: Any, fft_length: Any, axes: Any, *, Treal: DType, Tcomplex: DType
) -> Any:
    """What flows back through the transform to real signals: mirrored frequencies count twice."""
    places = from_the_end(axes, grad)
    spectrum = transform("RFFT", grad, fft_length, axes, {"Tcomplex": Tcomplex})
    rank = execute("Rank", (grad,))
    last = axes[-1] if places is None else places[-1] + rank
    kept = shape_of(spectrum)[last]
    number = range_of(kept)
    even = execute("Equal", (execute("FloorMod", (fft_length[-1], np.int32(2))), 0))
    middle = logical_and(execute("Equal", (number, kept - 1)), even)
    once = logical_or(execute("Equal", (number, 0)), middle)
    weights = where(once, np.ones((), Treal.numpy_dtype), np.full((), 2, Treal.numpy_dtype))
    weights = execute("RealDiv", (weights, _count(fft_length, Treal)))
    weights = reshape(weights, one_hot(last, rank, on_value=kept, off_value=np.int32(1)))
    return resized_to(multiply(spectrum, cast(weights, Tcomplex)), input_shape)


def _filled_up(x: Any, missing: Any) -> Any:
    """`x` with zeros after it, as many in each dimension as are missing: int32[rank]."""
    return execute("Pad", (x, stack([execute("ZerosLike", (missing,)), missing], axis=1)))


# ---- transforms of real signals whose samples are fewer than they are to be: readers refuse them


def may_be_short(op: Any) -> bool:
    """Whether a transform may have fewer samples than its `fft_length` says."""
    x, lengths = op.inputs[0], shape_value(op.inputs[1])
    if x.dims is None or lengths is None:
        return True
    wanted = _wanted(op.type, lengths)
    there = x.dims[len(x.dims) - len(wanted) :]
    return any(None in (n, m) or n < m for n, m in zip(there, wanted, strict=True))


def _wanted(name: str, lengths: Sequence[Any]) -> list[Any]:
    """How many samples, or frequencies, a transform reads."""
    last = lengths[-1]
    if name.startswith("I") and last is not None:
        last = last // 2 + 1
    return [*lengths[:-1], last]


def transform_filled_up(name: str) -> Any:
    """The form of a transform, of an input that has as many samples as it reads."""
    inverse = name.startswith("I")

    def filled_up(input: Any, fft_length: Any, *, Treal: DType, Tcomplex: DType) -> Any:
        lengths = convert_to_tensor(fft_length, dt.int32)
        wanted = lengths
        if inverse:
            wanted = concat([lengths[:-1], lengths[-1:] // 2 + 1], 0)
        count = shape_of(lengths)[0]
        shape = shape_of(input)
        outer = shape_of(shape)[0] - count
        missing = execute("Maximum", (wanted - shape[outer:], np.int32(0)))
        missing = concat([execute("ZerosLike", (shape[:outer],)), missing], 0)
        attrs = {"Treal": Treal, "Tcomplex": Tcomplex}
        return execute(name, (_filled_up(input, missing), lengths), attrs)

    return filled_up
