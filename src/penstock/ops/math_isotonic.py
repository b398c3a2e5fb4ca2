"""Isotonic regression: the monotone sequence that is nearest to each row, in least squares.

Source: M. Ayer et al., "An empirical distribution function for sampling with incomplete
information", 1955 (adjacent violators are pooled).
"""

from collections import namedtuple
from typing import Any

import numpy as np

from penstock.core import native_arrays
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray


def _shape(c: ShapeContext) -> list[Dims]:
    return [c.shape(0), c.shape(0)]


ISOTONIC = define_op(
    "IsotonicRegression(input: T; T: realnumbertype, output_dtype: {half, bfloat16, float, double} "
    "= float) -> output: output_dtype, segments: int32",
    shape=_shape,
    doc="The nearest sequence to each row that does not rise, and which elements are pooled.",
)


def _pooled(row: list[float]) -> list[tuple[float, int]]:
    """Means and sizes of the segments of a row that is made not to rise."""
    segments: list[tuple[float, int]] = []  # sums and sizes
    for value in row:
        total, size = value, 1
        while segments and segments[-1][0] * size < total * segments[-1][1]:
            before = segments.pop()
            total, size = total + before[0], size + before[1]
        segments.append((total, size))
    return [(total / size, size) for total, size in segments]


@host_kernel(ISOTONIC)
def _isotonic(x: Array, *, output_dtype: DType) -> list[Array]:
    rows = x.reshape(-1, x.shape[-1]) if x.ndim and x.size else x.reshape(min(x.size, 1), x.size)
    found = native_arrays.level(rows.astype(np.float64))
    if found is not None:
        levels, parts = found
        return [levels.reshape(x.shape).astype(output_dtype.numpy_dtype), parts.reshape(x.shape)]
    values = np.empty(rows.shape, np.float64)
    numbers = np.empty(rows.shape, np.int32)
    for i, row in enumerate(rows.astype(np.float64).tolist()):
        segments = _pooled(row)
        sizes = [size for _, size in segments]
        values[i] = np.repeat([mean for mean, _ in segments], sizes)
        numbers[i] = np.repeat(np.arange(len(segments)), sizes)
    return [values.reshape(x.shape).astype(output_dtype.numpy_dtype), numbers.reshape(x.shape)]


@ISOTONIC.gradient
def _isotonic_gradient(op: Any, grad: Any, _: Any) -> Any:
    """Elements of a segment share its gradient: averages over segments."""
    segments = op.outputs[1]
    if segments.dims == ():
        return execute("Cast", (grad,), {"DstT": op.inputs[0].dtype})
    size = execute("Shape", (segments,))
    flat = execute("Reshape", (segments, np.array([-1], np.int32)))
    total = execute("Size", (segments,))
    width = execute("Maximum", (size[-1], np.int32(1)))
    numbers = execute("Range", (np.int32(0), total, np.int32(1)))
    row = execute("FloorDiv", (numbers, width))
    ids = execute("AddV2", (flat, execute("Mul", (row, width))))
    flow = execute("Reshape", (grad, np.array([-1], np.int32)))
    sums = execute("UnsortedSegmentSum", (flow, ids, total))
    counts = execute("UnsortedSegmentSum", (execute("OnesLike", (flow,)), ids, total))
    means = execute("DivNoNan", (sums, counts))
    made = execute("Reshape", (execute("GatherV2", (means, ids, np.int32(0))), size))
    source = op.inputs[0].dtype
    return made if made.dtype is source else execute("Cast", (made,), {"DstT": source})


IsotonicRegression = namedtuple("IsotonicRegression", ["output", "segments"])
_RESULTS = {dt.int8: dt.float32, dt.int16: dt.float32, dt.float16: dt.float16,
            dt.bfloat16: dt.bfloat16, dt.float32: dt.float32}  # fmt: skip


def isotonic_regression(inputs: Any, decreasing: bool = True, axis: int = -1) -> Any:
    """The nearest monotone sequence along an axis, in least squares.

    Args:
      inputs: real numbers; sequences along `axis`.
      decreasing: whether sequences must not rise, or must not fall.
      axis: the axis.

    Returns:
      A named pair: `output`, the sequences, of the dtype of `inputs` (float32 for int8 and int16,
      float64 for the larger integers), and `segments`, int32 numbers of the segments whose elements
      were averaged. TensorFlow's is a plain tuple where `decreasing` is False or the axis is not
      the last one.

    Example:
      >>> isotonic_regression([3.0, 1.0, 2.0])[0].numpy().tolist()
      [3.0, 1.5, 1.5]
    """
    inputs = convert_to_tensor(inputs)
    attrs = {"output_dtype": _RESULTS.get(inputs.dtype, dt.float64)}
    if not inputs.dtype.is_floating:
        inputs = execute("Cast", (inputs,), {"DstT": attrs["output_dtype"]})
    if not decreasing:
        inputs = execute("Neg", (inputs,))
    if inputs.dims is None and axis != -1:
        raise ValueError(f"isotonic_regression: expected inputs of known rank for axis {axis}.")
    rank = len(inputs.dims or ())
    order = [i for i in range(rank) if i != axis % rank] + [axis % rank] if rank else []
    moved = order != list(range(rank))
    if moved:
        inputs = execute("Transpose", (inputs, np.array(order, np.int32)))
    values, segments = execute(ISOTONIC, (inputs,), attrs)
    if moved:
        back = np.argsort(order).astype(np.int32)
        values, segments = (execute("Transpose", (x, back)) for x in (values, segments))
    return IsotonicRegression(values if decreasing else execute("Neg", (values,)), segments)
