"""Sobol's sequence of points that fill the unit cube evenly.

Source: S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional
projections", SIAM J. Sci. Comput. 30, 2008; its direction numbers come with SciPy.
"""

import functools
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_draws
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.lazy_module import LazyModule
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType, as_dtype

Array = Any  # numpy.ndarray
qmc: Any = LazyModule("scipy.stats.qmc")  # jax depends on scipy
LARGEST_DIM = 21_200
BITS = native_draws.BITS
_SEEN = 64  # points that are compared


def _shape(c: ShapeContext) -> Dims:
    for i, name in enumerate(("dim", "num_results", "skip")):
        c.rank(i, 0, name)
    dim, count = c.constant(0), c.constant(1)
    return (None if count is None else int(count), None if dim is None else int(dim))


SOBOL = define_op(
    "SobolSample(dim: int32, num_results: int32, skip: int32; dtype: {float, double} = float) -> "
    "samples: dtype",
    shape=_shape,
    doc="Points of Sobol's sequence, a row each, without the first one at the origin.",
).not_differentiable("its inputs are numbers of points")


@functools.lru_cache(maxsize=16)
def _directions(size: int) -> Array | None:
    """The direction numbers of these dimensions: uint32[size, BITS], or None.

    SciPy's object has them, though not for others to see: they count if they give its points.
    """
    sequence = qmc.Sobol(size, scramble=False, bits=BITS)
    held = getattr(sequence, "_sv", None)
    if not isinstance(held, np.ndarray) or held.shape != (size, BITS):
        return None
    directions = np.ascontiguousarray(held, np.uint32)
    found = native_draws.sobol(directions, 0, _SEEN, np.dtype(np.float64))
    same = found is not None and np.array_equal(found, sequence.random(_SEEN))
    return directions if same else None


@host_kernel(SOBOL)
def _sobol(dim: Array, num_results: Array, skip: Array, *, dtype: DType) -> Array:
    size, count, first = int(dim), int(num_results), int(skip)
    for ok, text in (
        (size >= 1, f"dim must be at least one, got {size}"),
        (size <= LARGEST_DIM, f"dim must be at most {LARGEST_DIM}, got {size}"),
        (count >= 1, f"num_results must be at least one, got {count}"),
        (size * count < 1 << 31, f"dim * num_results must be below 2**31, got {size} * {count}"),
        (first >= 0, f"skip must be non-negative, got {first}"),
        (
            first + count < 1 << (BITS - 1),
            f"skip + num_results must be below 2**31, got {first + count}",
        ),
    ):
        if not ok:
            raise errors.InvalidArgumentError(None, None, f"SobolSample: {text}.")
    directions = _directions(size)
    if directions is not None:
        found = native_draws.sobol(directions, first + 1, count, dtype.numpy_dtype)
        if found is not None:
            return found
    sequence = qmc.Sobol(size, scramble=False, bits=BITS)
    sequence.fast_forward(first + 1)
    return sequence.random(count).astype(dtype.numpy_dtype)


def sobol_sample(
    dim: Any, num_results: Any, skip: Any = 0, dtype: Any = dt.float32, name: str | None = None
) -> Any:
    """Points of Sobol's sequence, which fill the unit cube evenly.

    Args:
      dim: integer scalar: the dimensions of the cube, 1 to 21,200.
      num_results: integer scalar: how many points.
      skip: integer scalar: how many to leave out at the start.
      dtype: float32 or float64.
      name: the name of the operation in a graph.

    Returns:
      [num_results, dim], in [0, 1).

    Raises:
      InvalidArgumentError: a number is out of range.

    Example:
      >>> sobol_sample(2, 3).numpy().tolist()
      [[0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]
    """
    return execute(SOBOL, (dim, num_results, skip), {"dtype": as_dtype(dtype)}, name)
