"""Sequences of numbers and counts of them: `range`, `linspace`, `bincount`, histograms."""

import builtins
import math
from typing import Any

import numpy as np

from penstock.core import native_passes
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.graph.behavior import name_scope
from penstock.graph.static_values import constant_value
from penstock.ops.composing import composed
from penstock.ops.math_arithmetic import add_v2, multiply, subtract
from penstock.ops.math_cast import cast
from penstock.ops.math_division import real_div
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import as_dtype

Array = Any  # numpy.ndarray or a JAX tracer


# range


def _range_size(start: float, limit: float, delta: float) -> int:
    if isinstance(start, int):
        return int(max(0, -(-(limit - start) // delta)))
    return max(0, math.ceil(abs((limit - start) / delta)))


def _range_shape(c: ShapeContext) -> Dims:
    for i, name in enumerate(("start", "limit", "delta")):
        c.number(i, name)
    values = [c.constant(i) for i in (0, 1, 2)]
    if any(v is None for v in values):
        return (None,)
    exact = values[0].dtype.kind in "iu"  # type: ignore[union-attr]
    start, limit, delta = (
        int(v.item()) if exact else float(v.item())  # type: ignore[union-attr]
        for v in values
    )
    if delta == 0:
        c.refuse("Requires delta != 0: 0")
    if delta > 0 and not start <= limit:
        c.refuse(f"Requires start <= limit when delta > 0: {start}/{limit}")
    if delta < 0 and not start >= limit:
        c.refuse(f"Requires start >= limit when delta < 0: {start}/{limit}")
    return (_range_size(start, limit, delta),)


RANGE = define_op(
    "Range(start: Tidx, limit: Tidx, delta: Tidx; Tidx: {bfloat16, half, float, double, int8, "
    "int16, int32, int64, uint16, uint32, uint64} = int32) -> output: Tidx",
    shape=_range_shape,
    host_inputs=("start", "limit", "delta"),
    doc="Returns the numbers from start, in steps of delta, up to limit, which is left out.",
).not_differentiable("the number of elements jumps as the inputs change")


@kernel(RANGE)
def _range(xp: Any, start: Array, limit: Array, delta: Array) -> Array:
    exact = start.dtype.kind in "iu"
    first, last, step = (int(v.item()) if exact else float(v.item()) for v in (start, limit, delta))
    size = _range_size(first, last, step)
    if exact:
        return (
            (first + step * np.arange(size, dtype=object)).astype(start.dtype)
            if _is_wide(first, last, step)
            else _line(size, first, step, start.dtype)
        )
    return _line(size, first, step, np.dtype(np.float64)).astype(start.dtype)


def _line(size: int, first: Any, step: Any, kind: np.dtype[Any]) -> Array:
    """First + step * i for i below `size`, in one array; integers wrap."""
    line = np.arange(size, dtype=kind)
    if step != 1:
        line *= np.asarray(step).astype(kind)
    if first != 0:
        line += np.asarray(first).astype(kind)
    return line


def _is_wide(*values: float) -> bool:
    return any(v >= 2**62 for v in values)


_RANGE_ORDER = (dt.int32, dt.int64, dt.float32, dt.float64)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = "range"
) -> Any:
    """Returns the numbers from `start`, in steps of `delta`, up to `limit`, which is left out.

    Args:
      start: scalar of real numbers; the limit when it is the only argument, counting from 0.
      limit: scalar, or None.
      delta: scalar, not zero.
      dtype: the dtype of the result; the widest of the arguments' when None.
      name: the name of the operation in a graph.

    Returns:
      A vector of `dtype`.

    Raises:
      InvalidArgumentError, ValueError: `delta` is zero or leads away from `limit`.

    Example:
      >>> range(3, 18, 3).numpy().tolist()
      [3, 6, 9, 12, 15]
    """
    if limit is None:
        start, limit = 0, start
    wanted = None if dtype is None else as_dtype(dtype)
    with name_scope(name or "range") as scope:
        named = (("start", start), ("limit", limit), ("delta", delta))
        given = [
            v if isinstance(v, Tensor) else convert_to_tensor(v, wanted, name=n) for n, v in named
        ]
        if wanted is None:
            found = {v.dtype.base_dtype for v in given}
            wanted = max(
                found,
                key=lambda t: _RANGE_ORDER.index(t) if t in _RANGE_ORDER else len(_RANGE_ORDER),
            )
        values = [cast(v, wanted) for v in given]
        return execute(RANGE, values, None, scope)


# linspace


def _linspace_shape(c: ShapeContext) -> Dims:
    for i, name in enumerate(("start", "stop", "num")):
        if c.shape(i) not in (None, ()):
            c.fail(f"a scalar {name}", f"{name} of shape {c.shape(i)}")
    count = c.constant(2)
    if count is None:
        return (None,)
    if int(count) <= 0:
        c.fail("num > 0", f"Requires num > 0: {int(count)}")
    return (int(count),)


LIN_SPACE = define_op(
    "LinSpace(start: T, stop: T, num: Tidx; T: {bfloat16, half, float, double}, Tidx: {int32, "
    "int64} = int32) -> output: T",
    shape=_linspace_shape,
    host_inputs=("num",),
    doc="Returns evenly spaced numbers, both ends included.",
)


_IN_CACHE = 1 << 14  # numbers that pass after pass leaves in the processor's cache


def _spaced(first: Array, last: Array, count: int) -> Array:
    """Evenly spaced numbers, on the host: in one native pass, or block by block."""
    step = (last - first) / np.asarray(count - 1, first.dtype)
    found = native_passes.line(first, step, count)
    if found is not None:
        found[0], found[-1] = first, last
        return found
    numbers = np.arange(_IN_CACHE, dtype=first.dtype)
    result = np.empty(count, first.dtype)
    for start in builtins.range(0, count, _IN_CACHE):
        block = result[start : start + _IN_CACHE]
        np.add(numbers[: len(block)], first.dtype.type(start), out=block)
        block *= step
        block += first
    result[0], result[-1] = first, last
    return result


@kernel(LIN_SPACE)
def _lin_space(xp: Any, start: Array, stop: Array, num: Array) -> Array:
    count = int(num)
    if count == 1:
        return xp.reshape(start, (1,))
    wide = np.float32 if start.dtype.itemsize == 2 else start.dtype
    first, last = xp.asarray(start, wide), xp.asarray(stop, wide)
    if xp is np:
        return _spaced(first, last, count).astype(start.dtype, copy=False)
    steps = xp.arange(count, dtype=wide)
    step = (last - first) / np.asarray(count - 1, wide)
    inner = first + step * steps
    ends = xp.where(steps == count - 1, last, xp.where(steps == 0, first, inner))
    return ends.astype(start.dtype)


@LIN_SPACE.gradient
def _lin_space_gradient(op: Any, grad: Any) -> list[Any]:
    num = op.inputs[2]
    zero, one = (convert_to_tensor(v, grad.dtype) for v in (0, 1))
    weights = execute(LIN_SPACE, (zero, one, num))
    falling = execute("Sum", (multiply(grad, subtract(one, weights)), np.array([0], np.int32)))
    rising = execute("Sum", (multiply(grad, weights), np.array([0], np.int32)))
    return [falling, rising, None]


@composed("linspace", result="Slice")
def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Any:
    """Returns evenly spaced numbers, both ends included.

    Args:
      start: tensor of numbers; integers become float64, those of 16 bits and less float32.
      stop: tensor of the same dtype, of a shape that broadcasts.
      num: how many numbers; 1 gives `start`.
      name: the name of the operation in a graph.
      axis: where the new axis goes; an integer, or a scalar tensor whose value is known.

    Returns:
      Tensor with a new axis of size `num`.

    Raises:
      InvalidArgumentError, ValueError: `num` is negative.

    Example:
      >>> linspace(0.0, 1.0, 5).numpy().tolist()
      [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    start = convert_to_tensor(start)
    stop = stop if isinstance(stop, Tensor) else convert_to_tensor(stop, start.dtype)
    axis = _known_axis(axis)
    if start.dtype.is_integer:
        real = dt.float32 if start.dtype.size < 4 else dt.float64
        start, stop = cast(start, real), cast(stop, real)
    count = convert_to_tensor(num, dtype_hint=dt.int32)
    if not start.dims and not stop.dims and start.dims is not None and stop.dims is not None:
        known = _known(count)
        plain = not start.dtype.is_complex
        if plain and known is not None and known > 0 and axis in (0, -1):
            return execute(LIN_SPACE, (start, stop, count), None, name)
    return _linspace_rows(start, stop, cast(count, dt.int32), axis, name)


def _known(count: Any) -> int | None:
    array = getattr(count, "_array", None)
    return None if array is None or array.ndim else int(array)


def _known_axis(axis: Any) -> int:
    if isinstance(axis, (int, np.integer)):
        return int(axis)
    value = constant_value(convert_to_tensor(axis, dtype_hint=dt.int32))
    if value is None or value.ndim or value.dtype.kind not in "iu":
        raise ValueError(
            f"linspace: expected an axis that is an integer known now, got {axis!r}. Pass a number."
        )
    return int(value)


def _linspace_rows(start: Any, stop: Any, count: Any, axis: int, name: str | None) -> Any:
    shape = execute("BroadcastArgs", (execute("Shape", (start,)), execute("Shape", (stop,))))
    first = execute("ExpandDims", (execute("BroadcastTo", (start, shape)), np.int32(axis)))
    last = execute("ExpandDims", (execute("BroadcastTo", (stop, shape)), np.int32(axis)))
    steps = execute("Maximum", (subtract(count, 1), np.int32(1)))
    numbers = cast(execute(RANGE, (np.int32(0), count, np.int32(1))), start.dtype)
    numbers = execute("Reshape", (numbers, _one_long_axis(first, axis)))
    step = real_div(subtract(last, first), cast(steps, start.dtype))
    inner = add_v2(first, multiply(step, numbers))
    end = execute("Equal", (numbers, cast(steps, start.dtype)))
    return execute("SelectV2", (end, last, inner), None, name)


def _one_long_axis(x: Any, axis: int) -> Any:
    """The shape [1, ..., -1, ..., 1] of the rank of `x`, with -1 at `axis`."""
    if x.dims is not None:
        sizes = [1] * len(x.dims)
        sizes[axis] = -1
        return np.array(sizes, np.int32)
    rank = execute("Rank", (x,))
    ones = execute("Fill", (execute("ExpandDims", (rank, np.int32(0))), np.int32(1)))
    place = execute("FloorMod", (add_v2(np.int32(axis), rank), rank))
    places = execute("Reshape", (place, np.array([1, 1], np.int32)))
    return execute("TensorScatterUpdate", (ones, places, np.array([-1], np.int32)))
