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


@kernel(BUCKETIZE)
def _bucketize(xp: Any, x: Array, *, boundaries: Sequence[float]) -> Array:
    limits = xp.asarray(np.array(boundaries, np.float64))
    found = xp.searchsorted(limits, x.astype(np.float64).reshape(-1), side="right")
    return found.astype(np.int32).reshape(x.shape)
