"""Normal numbers between bounds: the stateful and the stateless operation.

The numbers are drawn on the host by `random_between`, and are TensorFlow's.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.ops import random_philox as philox
from penstock.ops.array_select import where
from penstock.ops.array_slice import sum_to
from penstock.ops.composing import scope
from penstock.ops.math_arithmetic import multiply, subtract
from penstock.ops.math_division import divide
from penstock.ops.math_elementwise import exp
from penstock.ops.math_special import erfc
from penstock.ops.random_between import between_on
from penstock.ops.random_families import seeded_shape
from penstock.ops.random_ops import shape_tensor
from penstock.ops.random_state import step_stream, stream_on_host
from penstock.ops.random_stateful import dimensions, outer_dimensions
from penstock.types import dims as d
from penstock.types.dtypes import as_dtype

Array = Any  # numpy.ndarray
_HOST = 1 << 62
_BATCH = 100  # numbers of a row of the stateful operation whose parameters are scalars


def _row_blocks(rows: int, samples: int) -> int:
    """Blocks for rows of bounded numbers: what TensorFlow leaves out before its next draw."""
    return rows * 500 * (samples + 3)


def _rows_and_samples(
    dims: tuple[int, ...], parameters: Sequence[tuple[int, ...]]
) -> tuple[int, int]:
    """How many rows are drawn, and numbers in each: of the same parameters, rows of a hundred.

    Bounds that are vectors make rows, even of one number; means and deviations of many.
    """
    count = math.prod(dims)
    if all(math.prod(p) == 1 for p in parameters) and parameters[2] == parameters[3] == ():
        return -(-count // _BATCH), _BATCH
    rows = dims[0] if dims else 0
    return rows, count // max(rows, 1)


def _blocks_of_node(node: Any) -> int | None:
    dims, *parameters = (node.shapes[0], *(n.shapes[i] for n, i in node.inputs[1:5]))
    if any(d.num_elements(each) is None for each in (dims, *parameters)):
        return None
    return _row_blocks(*_rows_and_samples(dims, parameters))


PARAMETERIZED = define_op(
    "ParameterizedTruncatedNormal(shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: "
    "dtype; seed: int = 0, seed2: int = 0, dtype: {half, bfloat16, float, double}, T: {int32, "
    "int64}) -> output: dtype",
    shape=lambda c: None if c.rank(0, 1, "shape") is None else c.shape_value(0),
    stateful=True,
    host_inputs=("shape",),
    step_input=step_stream(lambda blocks, node: blocks, _blocks_of_node),
    doc="Normal numbers between bounds; parameters are scalars or one for each row.",
).not_differentiable("its numbers do not depend on its parameters in a way that is kept")


@host_kernel(PARAMETERIZED, limit=_HOST)
def _parameterized(
    ctx: KernelContext, shape: Array, means: Array, stdevs: Array, minvals: Array, maxvals: Array
) -> Array:
    dims = dimensions(shape)
    parameters = (means, stdevs, minvals, maxvals)
    parts = [_by_row(p, dims) for p in parameters]
    rows, samples = _rows_and_samples(dims, [p.shape for p in parameters])
    stream = stream_on_host(ctx, _row_blocks(rows, samples))
    found = between_on(stream, _rows(parts, (rows,)), samples, as_dtype(means.dtype))
    return found.reshape(-1)[: math.prod(dims)].reshape(dims)


def _rows(parts: Sequence[Array], inner: tuple[int, ...]) -> Array:
    """The parameters as float64[rows, 4]."""
    return np.stack([np.broadcast_to(p, inner).astype(np.float64).reshape(-1) for p in parts], -1)


def _by_row(parameter: Array, dims: tuple[int, ...]) -> Array:
    if parameter.size == 1:
        return parameter.reshape(())
    if not dims or parameter.shape != dims[:1]:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Parameters are scalars or vectors of {dims[0] if dims else 0} rows, got shape"
            f" {parameter.shape}. Reshape them.",
        )
    return parameter


STATELESS_PARAMETERIZED = define_op(
    "StatelessParameterizedTruncatedNormal(shape: S, seed: Tseed, means: dtype, stddevs: dtype, "
    "minvals: dtype, maxvals: dtype; S: {int32, int64}, Tseed: {int32, int64} = int64, dtype: "
    "{half, float, double}) -> output: dtype",
    shape=seeded_shape,
    host_inputs=("shape",),
    doc="Normal numbers between bounds, of a shape that ends with that of the parameters.",
)


@host_kernel(STATELESS_PARAMETERIZED, limit=_HOST)
def _stateless_parameterized(
    shape: Array, seed: Array, means: Array, stddevs: Array, minvals: Array, maxvals: Array
) -> Array:
    dims = dimensions(shape)
    parts = (means, stddevs, minvals, maxvals)
    inner = np.broadcast_shapes(*[p.shape for p in parts])
    samples = math.prod(outer_dimensions(dims, inner))
    stream = philox.stream_of_seed_pair(np, seed)
    found = between_on(stream, _rows(parts, inner), samples, as_dtype(means.dtype))
    return found.T.reshape(dims)


@STATELESS_PARAMETERIZED.gradient
def _stateless_parameterized_gradient(op: Any, grad: Any) -> list[Any]:
    """Each sample moves with its bounds at its own quantile, with the others by its formula."""
    _, _, means, stddevs, low, high = op.inputs
    start, at, stop = (divide(subtract(x, means), stddevs) for x in (low, op.outputs[0], high))
    whole = _normal_between(start, stop)
    density = multiply(at, at)
    from_low = divide(multiply(_normal_between(at, stop), _bell_ratio(start, density)), whole)
    from_high = divide(multiply(_normal_between(start, at), _bell_ratio(stop, density)), whole)
    parts = (grad, multiply(grad, at), multiply(grad, from_low), multiply(grad, from_high))
    return [None, None, *map(sum_to, parts, (means, stddevs, low, high))]


def _normal_between(low: Any, high: Any) -> Any:
    """The share of normal numbers between two bounds, from the nearer tail."""
    root = math.sqrt(0.5)
    upper = subtract(erfc(multiply(low, root)), erfc(multiply(high, root)))
    lower = subtract(erfc(multiply(high, -root)), erfc(multiply(low, -root)))
    return multiply(where(low > 0, upper, lower), 0.5)


def _bell_ratio(bound: Any, square: Any) -> Any:
    """The normal density at a bound, divided by that where the square is `square`."""
    return exp(multiply(subtract(square, multiply(bound, bound)), 0.5))


# ---- public functions


def stateless_parameterized_truncated_normal(
    shape: Any,
    seed: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    name: str | None = None,
) -> Any:
    """Normal numbers between bounds, the same ones for the same seed.

    Args:
      shape: int32 or int64 vector; it ends with the broadcast shape of the parameters.
      seed: int32 or int64 [2].
      means: the means before the cut, a floating tensor.
      stddevs: the deviations before the cut.
      minvals: the lower bounds.
      maxvals: the upper bounds.
      name: the name in a graph.

    Returns:
      Tensor of the dtype of `means` and of `shape`.

    Raises:
      InvalidArgumentError: the shape does not end with that of the parameters, a deviation is not
        positive, or bounds are not in order.
    """
    with scope(name, "stateless_parameterized_truncated_normal") as full:
        means = convert_to_tensor(means, name="means")
        rest = [convert_to_tensor(v, means.dtype) for v in (stddevs, minvals, maxvals)]
        return execute(
            STATELESS_PARAMETERIZED, (shape_tensor(shape), seed, means, *rest), None, full
        )
