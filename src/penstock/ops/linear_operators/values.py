"""Values that linear operators are made of: parameters, sizes, stacks of matrices.

A parameter is kept as it was given when it is a variable, so that a later assignment is seen;
anything else becomes a tensor. Sizes are Python integers where they are known, else int32 scalars.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops.array_shape import broadcast_dynamic_shape, broadcast_to
from penstock.ops.composing import shape_of
from penstock.ops.linalg_common import adjoint
from penstock.ops.math_cast import cast, real
from penstock.ops.variables import Variable
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.tensor_shape import TensorShape

MATRIX_DTYPES = (dt.float16, dt.float32, dt.float64, dt.complex64, dt.complex128)
Size = Any  # int or int32 scalar tensor
LAST = np.array([-1], np.int32)  # the last axis, to reduce over


def parameter(value: Any, name: str, dtype_hint: Any = None) -> Any:
    """A variable as it is, anything else as a tensor; Python numbers in the dtype of the hint."""
    if isinstance(value, Variable):
        return value
    return convert_to_tensor(value, name=name, dtype_hint=dtype_hint)


def dims_of(value: Any) -> Dims:
    """The static dimensions of a tensor or variable, None when its rank is unknown."""
    return value.shape.dims_tuple  # type: ignore[no-any-return]


def require_rank(value: Any, least: int, where: str) -> None:
    """Refuses a parameter of too low a rank.

    Raises:
      ValueError: its rank is known and below `least`.
    """
    dims = dims_of(value)
    if dims is not None and len(dims) < least:
        raise ValueError(
            f"{where} must have at least {least} dimension{'s' * (least > 1)}. Found shape "
            f"{d.text(dims)}. Add dimensions with tf.newaxis."
        )


def batch_dims(value: Any, inner: int) -> Dims:
    """The static dimensions in front of the last `inner` ones."""
    dims = dims_of(value)
    return None if dims is None else dims[: len(dims) - inner]


def broadcast_batches(where: str, *shapes: Dims) -> Dims:
    """The static shape that stacks broadcast to.

    Raises:
      ValueError: they do not.
    """
    try:
        return d.broadcast_all(shapes)
    except ValueError as problem:
        raise ValueError(
            "Incompatible shapes for broadcasting. Two shapes are compatible if for each dimension "
            f"pair they are either equal or one of them is 1. {where} has stacks of shapes "
            f"{' and '.join(d.text(s) for s in shapes)}."
        ) from problem


def size_of(value: Any, axis: int) -> Size:
    """The size of an axis counted from the end."""
    known = None if value.dims is None else value.dims[axis]
    return execute("Shape", (value,))[axis] if known is None else known


def vector(sizes: Iterable[Size]) -> Any:
    """Sizes as one int32 vector."""
    sizes = list(sizes)
    if all(isinstance(s, int) for s in sizes):
        return convert_to_tensor(np.array(sizes, np.int32))
    return execute("Pack", ([convert_to_tensor(s, dt.int32) for s in sizes],))


def joined(*parts: Any) -> Any:
    """Vectors of sizes, one after the other."""
    found = [convert_to_tensor(p, dt.int32) for p in parts]
    return found[0] if len(found) == 1 else execute("ConcatV2", (found, np.int32(0)))


def broadcast_shapes(first: Any, *others: Any) -> Any:
    """The int32 vector that shapes broadcast to."""
    for other in others:
        first = broadcast_dynamic_shape(first, other)
    return first


def reshaped(x: Any, lead: Any, *sizes: Size) -> Any:
    """`x` in a shape of leading axes (int32 vector) and sizes; static where both are known."""
    return execute("Reshape", (x, joined(lead, vector(sizes))))


def lead_of(x: Any, inner: int) -> Any:
    """The shape of `x` without its last axes, int32."""
    return shape_of(x)[: -inner or None]


def with_batch(x: Any, batch: Any, static: Dims) -> Any:
    """Matrices repeated so that their stack has at least the axes of `batch`.

    Args:
      x: tensor [..., M, N].
      batch: int32 vector that the stack of `x` broadcasts with.
      static: what is known of it.
    """
    own, wanted = batch_dims(x, 2), None
    if own is not None and static is not None:
        wanted = broadcast_batches("a product", own, static)
        if wanted == own and d.is_full(own):
            return x
    lead = broadcast_shapes(lead_of(x, 2), batch)
    return known_to_be(broadcast_to(x, joined(lead, shape_of(x)[-2:])), wanted, dims_of(x))


def known_to_be(x: Any, batch: Dims, matrix: Dims) -> Any:
    """`x`, which a graph did not know to have this stack, and matrices of these last two sizes."""
    if state.graph is not None and batch is not None and matrix is not None:
        x.set_shape((*batch, *matrix[-2:]))
    return x


def turned(x: Any, wanted: bool) -> Any:
    """The conjugate transposes where they are wanted, else `x`."""
    return adjoint(x) if wanted else x


def square_shape(dims: Dims) -> TensorShape:
    """The static shape of square matrices that have one number for each row."""
    return TensorShape.from_dims(None if dims is None else (*dims, dims[-1]))


def by_columns(function: Callable[[Any], Any], x: Any) -> Any:
    """`function` of matrices [..., N, 1], for vectors [..., N]."""
    column = execute("ExpandDims", (x, np.int32(-1)))
    return execute("Squeeze", (function(column),), {"squeeze_dims": [-1]})


def narrowed(x: Any, dtype: Any) -> Any:
    """Complex numbers in `dtype`; for a real one their real parts."""
    return cast(x if dtype.is_complex else real(x), dtype)
