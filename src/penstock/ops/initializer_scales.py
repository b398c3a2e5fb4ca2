"""What initializers of both generations share: fans, scales, orthogonal matrices, checks."""

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core import shapes
from penstock.core.execute import execute
from penstock.ops.array_fill import eye
from penstock.ops.linalg_decompose import QR
from penstock.types.dtypes import DType, as_dtype
from penstock.types.tensor_shape import TensorShape

TRUNCATED_STDDEV = 0.87962566103423978  # of a normal distribution cut at two standard deviations
MODES = ("fan_in", "fan_out", "fan_avg")
_NO_SIZES = (float, np.floating, str, bytes)
DISTRIBUTIONS = ("uniform", "truncated_normal", "untruncated_normal")


def known_dims(shape: Any) -> list[int]:
    """A shape, which must be known, as a list of integers.

    Args:
      shape: anything that a TensorShape can be made from.

    Raises:
      TypeError: it is not known, or a number.
      ValueError: it is text, has text for a size, or is of unknown rank.
    """
    shape = _plain(shape)
    texts = (shape,) if isinstance(shape, str) else shape if isinstance(shape, list | tuple) else ()
    if any(isinstance(size, str) for size in texts):
        raise ValueError(_expected(shape))
    if shape is None or isinstance(shape, numbers.Number):
        raise TypeError(_expected(shape))
    if texts and all(type(size) is int for size in shape):
        return list(shape)  # the operation that fills it refuses sizes below 0
    sizes = TensorShape(shape).as_list()
    if None in sizes:
        raise TypeError(_expected(shape))
    return [n for n in sizes if n is not None]


def drawn_dims(shape: Any) -> list[Any]:
    """A shape as `known_dims` has it, but for sizes that are floats or text.

    They are floats here, for arithmetic alone: the operation that draws refuses them.

    Raises:
      TypeError, ValueError: as `known_dims`; ValueError for text that is no number.
    """
    plain = list(shape) if isinstance(shape, str) else _plain(shape)
    if isinstance(plain, list | tuple) and any(isinstance(n, _NO_SIZES) for n in plain):
        return [float(n) if isinstance(n, _NO_SIZES) else n for n in plain]
    return known_dims(plain)


def _expected(shape: Any) -> str:
    return (
        f"Initializer: expected a fully defined shape, got {shape!r}. Give it a list of integers,"
        " such as [2, 3]."
    )


def _plain(shape: Any) -> Any:
    return shape.numpy() if hasattr(shape, "numpy") else shape


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """The number of inputs and outputs of a unit whose weights have this shape."""
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return int(shape[0]), int(shape[0])
    field = math.prod(shape[:-2])
    return int(shape[-2] * field), int(shape[-1] * field)


def fan_scale(scale: float, mode: str, shape: Sequence[int]) -> float:
    """`scale` divided by the fan that `mode` names."""
    fan_in, fan_out = fans(shape)
    fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[mode]
    return scale / max(1.0, fan)


def check_variance_scaling(scale: float, mode: str, distribution: str) -> str:
    """The distribution under its present name.

    Raises:
      ValueError: one of the arguments is none of the allowed.
    """
    if scale <= 0.0:
        raise ValueError(f"Argument `scale` must be a positive float. Received: {scale}")
    if mode not in MODES:
        raise ValueError(f"Argument `mode` should be one of {MODES}. Received: {mode}")
    name = distribution.lower()
    if name not in ("normal", *DISTRIBUTIONS):
        raise ValueError(
            f"Argument `distribution` should be one of {('normal', *DISTRIBUTIONS)}. "
            f"Received: {distribution}"
        )
    return "truncated_normal" if name == "normal" else name


def floating(dtype: Any) -> DType:
    """`dtype`, which must be a floating one."""
    kind = as_dtype(dtype)
    if not kind.is_floating:
        raise ValueError(f"Argument `dtype` expected to be floating point, received {kind}.")
    return kind


def orthogonal_from(normal: Any, shape: Sequence[int], gain: float) -> Any:
    """Orthonormal rows or columns, in `shape`, from a tall matrix of normal numbers."""
    rows, columns = math.prod(shape[:-1]), shape[-1]
    q, r = execute(QR, (normal,), {"full_matrices": False})
    diagonal = execute("MatrixDiagPart", (r,))
    q = execute("Mul", (q, execute("Sign", (diagonal,))))
    if rows < columns:
        q = execute("Transpose", (q, [1, 0]))
    return execute("Mul", (execute("Reshape", (q, list(shape))), gain))


def tall_shape(shape: Sequence[int]) -> tuple[int, int]:
    """The shape of the matrix that `orthogonal_from` takes.

    Raises:
      ValueError: `shape` has fewer than two dimensions.
    """
    if len(shape) < 2:
        raise ValueError(
            "The tensor to initialize, specified by argument `shape` must be at least "
            f"two-dimensional. Received shape={tuple(shape)}"
        )
    rows, columns = math.prod(shape[:-1]), shape[-1]
    return max(rows, columns), min(rows, columns)


def identity_matrix(shape: Sequence[int], dtype: Any, gain: float) -> Any:
    """`gain` times the identity, rows x columns.

    Raises:
      ValueError: `shape` is not that of a matrix.
    """
    if len(shape) != 2:
        raise ValueError(
            "The tensor to initialize, specified by argument `shape` must be at least "
            f"two-dimensional, and a matrix. Received shape={tuple(shape)}"
        )
    return execute("Mul", (eye(shape[0], shape[1], dtype=dtype), gain))


__all__ = ["QR", "fan_scale", "fans", "known_dims", "shapes"]
