"""Positions and running values along an axis: `argmax`, `cumsum`, `range`, `linspace`, counts."""

from functools import partial
from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.lazy import lax
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.graph.standard_forms import standard_form
from penstock.ops.factories import is_variable
from penstock.ops.math_arithmetic import conjugate, multiply
from penstock.ops.math_cast import cast
from penstock.ops.math_reduce import one_of
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray or a JAX tracer
ALONE_FROM = 1 << 16  # elements: XLA takes a pass for each power of two
SCAN_LIMIT = 1 << 24  # one pass of NumPy's takes a fifth of the time of XLA's, by benchmarks/ops
ORDERED = (
    "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, "
    "qint8, quint8, qint32, qint16, quint16, bool}"
)

# positions of extremes


def _position_shape(c: ShapeContext) -> Dims:
    dims, axis = c.rank_at_least(0, 1, "input"), c.constant(1)
    said = "dim must be a scalar, but received tensor of shape: {}"
    c.rank(1, 0, "dimension", partial(c.bracketed, said, 1))
    if dims is None:
        return None
    if axis is None:
        return (None,) * (len(dims) - 1)
    if not c.running and not -len(dims) <= axis < len(dims):  # so TensorFlow says it in graphs
        c.refuse(
            f"Dimension ({int(axis)}) must be in the range [{-len(dims)}, {len(dims)}), where"
            f" {len(dims)} is the number of dimensions in the input"
        )
    chosen = c.axis(int(axis), len(dims), "dimension")
    rest = dims[:chosen] + dims[chosen + 1 :]
    if dims[chosen] == 0 and 0 not in rest:
        c.fail("an axis with elements", f"Reduction axis {chosen} is empty in shape {dims}")
    return rest


def _define_position(name: str, axis_types: str, output_types: str, doc: str) -> OpDef:
    attrs = f"T: {ORDERED}, Tidx: {axis_types} = int32, output_type: {output_types} = int64"
    return define_op(
        f"{name}(input: T, dimension: Tidx; {attrs}) -> output: output_type",
        shape=_position_shape,
        host_inputs=("dimension",),
        doc=doc,
    ).not_differentiable("a position is an integer")


ARG_MAX = _define_position(
    "ArgMax",
    "{int16, int32, int64}",
    "{int16, uint16, int32, int64}",
    "Returns the position of the largest element along an axis, the first among equals.",
)
ARG_MIN = _define_position(
    "ArgMin",
    "{int32, int64}",
    "{int32, int64}",
    "Returns the position of the smallest element along an axis, the first among equals.",
)


def _position(xp: Any, name: str, x: Array, axis: Array, worst: float) -> Array:
    """The position of the extreme that `name` finds; NaN is none."""
    find, along = getattr(xp, name), int(axis)
    if not x.size:
        return _no_position(xp, x, axis)
    if x.dtype.kind not in "fV":
        return find(x, along)
    # NumPy finds a NaN first: where there is none, all is well.
    if xp is np and x.dtype.kind == "f" and not np.isnan(np.maximum.reduce(x, None)):
        return find(x, along)
    return find(xp.where(xp.isnan(x), np.asarray(worst, x.dtype), x), along)


@kernel(ARG_MAX, limit=SCAN_LIMIT)
def _arg_max(xp: Any, x: Array, axis: Array, *, output_type: DType) -> Array:
    return _position(xp, "argmax", x, axis, -np.inf).astype(output_type.numpy_dtype)


@kernel(ARG_MIN, limit=SCAN_LIMIT)
def _arg_min(xp: Any, x: Array, axis: Array, *, output_type: DType) -> Array:
    return _position(xp, "argmin", x, axis, np.inf).astype(output_type.numpy_dtype)


def _no_position(xp: Any, x: Array, axis: Array) -> Array:
    chosen = int(axis) % x.ndim
    return xp.zeros(x.shape[:chosen] + x.shape[chosen + 1 :], np.int64)


def argmax(
    input: Any, axis: Any = None, output_type: Any = dt.int64, name: str | None = None
) -> Any:
    """Returns the position of the largest element along an axis, the first among equals.

    Args:
      input: tensor of real numbers or bools, of rank at least 1.
      axis: the axis, in [-rank, rank); 0 when None.
      output_type: int32 or int64 (or int16, uint16).
      name: the name of the operation in a graph.

    Returns:
      Tensor of `output_type`, without the axis.

    Raises:
      InvalidArgumentError, ValueError: there is no such axis, or it is empty.
      TypeError: the axis is neither a Python integer nor a tensor of integers.
    """
    return execute(ARG_MAX, (input, _one_axis(axis)), {"output_type": output_type}, name)


def argmin(
    input: Any, axis: Any = None, output_type: Any = dt.int64, name: str | None = None
) -> Any:
    """Returns the position of the smallest element along an axis, the first among equals.

    Args:
      input: tensor of real numbers or bools, of rank at least 1.
      axis: the axis, in [-rank, rank); 0 when None.
      output_type: int32 or int64.
      name: the name of the operation in a graph.

    Returns:
      Tensor of `output_type`, without the axis.

    Raises:
      InvalidArgumentError, ValueError: there is no such axis, or it is empty.
    """
    axis = 0 if axis is None else axis
    return execute(ARG_MIN, (input, axis), {"output_type": output_type}, name)


def _one_axis(axis: Any) -> Any:
    if axis is None:
        return 0
    if isinstance(axis, int):
        return axis
    if not ((isinstance(axis, Tensor) or is_variable(axis)) and axis.dtype.is_integer):
        raise TypeError(
            f"axis must be int or Tensor with integer datatype, got {axis!r}. Pass one axis."
        )
    if axis.dtype in (dt.uint32, dt.uint64):
        raise TypeError(
            f"argmax: expected an axis of a dtype that fits into int32 or int64, got"
            f" {axis.dtype.name}. Cast it with tf.cast(axis, tf.int32)."
        )
    return axis if axis.dtype in _AXES else cast(axis, dt.int32)


_AXES = (dt.int16, dt.int32, dt.int64)


def argmax_v1(
    input: Any, axis: Any = None, name: str | None = None, dimension: Any = None,
    output_type: Any = dt.int64,
) -> Any:  # fmt: skip
    """`argmax` with compat.v1's arguments; `dimension` is the older name of `axis`."""
    return argmax(input, one_of("axis", axis, "dimension", dimension), output_type, name)


def argmin_v1(
    input: Any, axis: Any = None, name: str | None = None, dimension: Any = None,
    output_type: Any = dt.int64,
) -> Any:  # fmt: skip
    """`argmin` with compat.v1's arguments; `dimension` is the older name of `axis`."""
    return argmin(input, one_of("axis", axis, "dimension", dimension), output_type, name)


def arg_max(
    input: Any, dimension: Any, output_type: Any = dt.int64, name: str | None = None
) -> Any:
    """`argmax` with a required axis, of compat.v1."""
    return argmax(input, dimension, output_type, name)


def arg_min(
    input: Any, dimension: Any, output_type: Any = dt.int64, name: str | None = None
) -> Any:
    """`argmin` with a required axis, of compat.v1."""
    return argmin(input, dimension, output_type, name)


# running values


def _scan_shape(c: ShapeContext) -> Dims:
    dims, axis = c.shape(0), c.constant(1)
    if c.shape(1) not in (None, ()):
        c.fail_at_step(
            "a scalar axis", f"axis must be a scalar, not {d.bracketed(c.shape(1))}", known=dims
        )
    if dims is not None and axis is not None and not -len(dims) <= axis < len(dims):
        bounds = f"[{-len(dims)}, {len(dims)})"
        c.fail_at_step(
            f"an axis in {bounds}",
            f"{axis}: Expected scan axis in the range {bounds}, but got {axis}",
            known=dims,
        )
    return dims


def _define_scan(name: str, types: str, doc: str) -> OpDef:
    flags = "exclusive: bool = False, reverse: bool = False"
    attrs = f"{flags}, T: {types}, Tidx: {{int32, int64}} = int32"
    return define_op(
        f"{name}(x: T, axis: Tidx; {attrs}) -> out: T",
        shape=_scan_shape,
        host_inputs=("axis",),
        doc=doc,
    )


CUMSUM = _define_scan("Cumsum", "numbertype", "Returns running sums along an axis.")
CUMPROD = _define_scan("Cumprod", "numbertype", "Returns running products along an axis.")
CUMULATIVE_LOGSUMEXP = _define_scan(
    "CumulativeLogsumexp",
    "{bfloat16, half, float, double}",
    "Returns logarithms of running sums of exponentials along an axis.",
)


def _scan(
    xp: Any, x: Array, axis: Array, run: Any, first: Any, exclusive: bool, reverse: bool
) -> Array:
    """Runs a scan forwards or backwards, with `first` in front of it if exclusive."""
    along = int(axis) % x.ndim
    if reverse:
        x = xp.flip(x, along)
    result = run(x, along)
    if exclusive and x.shape[along]:
        edge = list(x.shape)
        edge[along] = 1
        body = tuple(slice(None, -1) if i == along else slice(None) for i in range(x.ndim))
        result = xp.concatenate([xp.full(edge, first, result.dtype), result[body]], axis=along)
    return xp.flip(result, along) if reverse else result


@kernel(CUMSUM, limit=SCAN_LIMIT)
def _cumsum(xp: Any, x: Array, axis: Array, *, exclusive: bool, reverse: bool) -> Array:
    run = lambda a, along: xp.cumsum(a, along, dtype=a.dtype)  # noqa: E731
    return _scan(xp, x, axis, run, 0, exclusive, reverse)


@kernel(CUMPROD, limit=SCAN_LIMIT)
def _cumprod(xp: Any, x: Array, axis: Array, *, exclusive: bool, reverse: bool) -> Array:
    run = lambda a, along: xp.cumprod(a, along, dtype=a.dtype)  # noqa: E731
    return _scan(xp, x, axis, run, 1, exclusive, reverse)


@kernel(CUMULATIVE_LOGSUMEXP, limit=SCAN_LIMIT, alone_from=ALONE_FROM)
def _cumulative_logsumexp(
    xp: Any, x: Array, axis: Array, *, exclusive: bool, reverse: bool
) -> Array:
    return _running_logs(xp, x, axis, exclusive, reverse)


def _running_logs(xp: Any, x: Array, axis: Array, exclusive: bool, reverse: bool) -> Array:
    if xp is np:
        run = lambda a, along: np.logaddexp.accumulate(_wide(a), along)  # noqa: E731
    else:
        run = lambda a, along: lax.cumlogsumexp(a, along)  # noqa: E731
    return _scan(xp, x, axis, run, -np.inf, exclusive, reverse)


def _wide(x: Array) -> Array:
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def _flags(op: Any, turned: bool = False) -> dict[str, Any]:
    return {"exclusive": op.get_attr("exclusive"), "reverse": op.get_attr("reverse") != turned}


@CUMSUM.gradient
def _cumsum_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(CUMSUM, (grad, op.inputs[1]), _flags(op, turned=True)), None]


@CUMPROD.gradient
def _cumprod_gradient(op: Any, grad: Any) -> list[Any]:
    x, axis = op.inputs
    product = execute(CUMPROD, (x, axis), _flags(op))
    sums = execute(CUMSUM, (multiply(conjugate(product), grad), axis), _flags(op, turned=True))
    return [execute("DivNoNan", (sums, conjugate(x))), None]


@CUMULATIVE_LOGSUMEXP.gradient
def _cumulative_logsumexp_gradient(op: Any, grad: Any) -> list[Any]:
    x, axis = op.inputs
    sums = execute(WEIGHED_EXPONENTIALS, (x, op.outputs[0], grad, axis), _flags(op, turned=True))
    return [sums, None]


# Of the gradient of CumulativeLogsumexp; an operation of its own because its sums go over
# logarithms, which have no slope at weights of 0, while the sums are linear in the weights.
WEIGHED_EXPONENTIALS = define_op(
    "PenstockWeighedExponentials(x: T, shift: T, weights: T, axis: Tidx; exclusive: bool = False, "
    "reverse: bool = False, T: {bfloat16, half, float, double}, Tidx: {int32, int64} = int32) -> "
    "z: T",
    shape=lambda c: c.merge(c.merge(c.shape(0), c.shape(1)), c.shape(2)),
    host_inputs=("axis",),
    doc="Running sums of `weights * exp(-shift)` along an axis, times `exp(x)`.",
)


@kernel(WEIGHED_EXPONENTIALS, limit=SCAN_LIMIT)
def _weighed_exponentials(
    xp: Any,
    x: Array,
    shift: Array,
    weights: Array,
    axis: Array,
    *,
    exclusive: bool,
    reverse: bool,
) -> Array:
    kind = weights.dtype
    x, shift, weights = _wide(x), _wide(shift), _wide(weights)
    lowest = np.finfo(weights.dtype).min

    def running(part: Array) -> Array:
        usable = part > 0
        logs = xp.where(usable, xp.log(xp.where(usable, part, xp.ones_like(part))), lowest)
        sums = _running_logs(xp, logs - shift, axis, exclusive, reverse)
        return xp.exp(sums + x)

    return (running(weights) - running(-weights)).astype(kind)


@standard_form(WEIGHED_EXPONENTIALS, in_place=True)
def _weighed_exponentials_in_files(
    x: Any, shift: Any, weights: Any, axis: Any, *, exclusive: bool, reverse: bool, T: DType
) -> Any:
    lowest, zero, one = (np.array(n, T.numpy_dtype) for n in (T.min, 0, 1))
    flags = {"exclusive": exclusive, "reverse": reverse}

    def running(part: Any) -> Any:
        usable = execute("Greater", (part, zero))
        logs = execute("Log", (execute("SelectV2", (usable, part, one)),))
        logs = execute("SelectV2", (usable, logs, lowest))
        sums = execute(CUMULATIVE_LOGSUMEXP, (execute("Sub", (logs, shift)), axis), flags)
        return execute("Exp", (execute("AddV2", (sums, x)),))

    return execute("Sub", (running(weights), running(execute("Neg", (weights,)))))


@WEIGHED_EXPONENTIALS.gradient
def _weighed_exponentials_gradient(op: Any, grad: Any) -> list[Any]:
    x, shift, weights, axis = op.inputs
    back = (execute("Neg", (shift,)), execute("Neg", (x,)), grad, axis)
    found = execute(WEIGHED_EXPONENTIALS, back, _flags(op, turned=True))
    by_shift = execute("Neg", (multiply(weights, found),))
    return [multiply(grad, op.outputs[0]), by_shift, found, None]


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Returns running sums along an axis.

    Args:
      x: tensor of numbers, of rank at least 1.
      axis: the axis, a scalar in [-rank, rank).
      exclusive: whether each sum leaves its own element out.
      reverse: whether sums run from the end.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape.
    """
    attrs = {"exclusive": exclusive, "reverse": reverse}
    return execute(CUMSUM, (x, axis), attrs, name)


def cumprod(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Returns running products along an axis.

    Args:
      x: tensor of numbers, of rank at least 1.
      axis: the axis, a scalar in [-rank, rank).
      exclusive: whether each product leaves its own element out.
      reverse: whether products run from the end.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape.
    """
    attrs = {"exclusive": exclusive, "reverse": reverse}
    return execute(CUMPROD, (x, axis), attrs, name)


def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Returns logarithms of running sums of exponentials along an axis, without overflow.

    Args:
      x: tensor of a floating dtype, of rank at least 1.
      axis: the axis, a scalar in [-rank, rank).
      exclusive: whether each sum leaves its own element out; the first is then -inf.
      reverse: whether sums run from the end.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape.
    """
    attrs = {"exclusive": exclusive, "reverse": reverse}
    return execute(CUMULATIVE_LOGSUMEXP, (x, axis), attrs, name)
