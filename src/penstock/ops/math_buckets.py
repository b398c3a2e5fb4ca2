"""Numbers sorted into buckets."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray, jax.Array or a tracer


def _same(c: ShapeContext) -> Dims:
    boundaries = list(c.attr("boundaries"))
    if boundaries != sorted(boundaries):
        c.fail("boundaries that rise", f"{boundaries}", "Sort them.")
    return c.shape(0)


BUCKETIZE = define_op(
    "Bucketize(input: T; T: {int32, int64, float, double}, boundaries: list(float)) -> output: "
    "int32",
    shape=_same,
    doc="The number of the bucket between boundaries that each number lies in; a boundary belongs "
    "to the bucket above it.",
).not_differentiable("bucket numbers are integers")


_FEW = 32  # boundaries that a compiled step compares with all, in place of a search


def _compared(xp: Any, x: Array, boundaries: Sequence[float]) -> Array:
    """Buckets by comparison with each boundary; NaN lies above all."""
    wide = x.astype(np.float64)
    found = xp.zeros(x.shape, np.int32)
    for boundary in boundaries:
        found = found + xp.logical_not(wide < boundary).astype(np.int32)
    return found


@kernel(BUCKETIZE)
def _bucketize(xp: Any, x: Array, *, boundaries: Sequence[float]) -> Array:
    if xp is not np and len(boundaries) <= _FEW and not any(b != b for b in boundaries):
        return _compared(xp, x, boundaries)
    limits = xp.asarray(np.array(boundaries, np.float64))
    found = xp.searchsorted(limits, x.astype(np.float64).reshape(-1), side="right")
    return found.astype(np.int32).reshape(x.shape)
