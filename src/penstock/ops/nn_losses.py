"""Public softmax functions, and losses on logits.

`softmax` and the cross entropies move their axis to the end and make rows of the rest. The sigmoid,
weighted and Poisson losses are compositions that stay finite for large logits.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import attributes
from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.op_def import OpDef
from penstock.core.tensor import EagerTensor, Tensor
from penstock.graph.behavior import control_dependencies
from penstock.ops.composing import cast, like, number, reshape, scope, tensor, total, transpose
from penstock.ops.conversion import get_static_value
from penstock.ops.debug_asserts import assert_equal_v1
from penstock.ops.math_arithmetic import add_v2, multiply, negative, subtract
from penstock.ops.math_reduce import one_of
from penstock.ops.nn_softmax import CROSS_ENTROPY, LOG_SOFTMAX, SOFTMAX, SPARSE_CROSS_ENTROPY
from penstock.types import dims as d
from penstock.types import dtypes

PI = 3.141592653589793


def softmax(logits: Any, axis: int | None = None, name: str | None = None) -> Any:
    """exp(logits), divided by its sum over an axis.

    Args:
      logits: floating dtype, rank at least 1.
      axis: the axis; the last one when None.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.

    Raises:
      InvalidArgumentError: `axis` is outside the rank, or `logits` is a scalar (ValueError in a
        graph).
    """
    return _along(SOFTMAX, logits, -1 if axis is None else axis, name)


def softmax_v1(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Any:
    """`softmax`; `dim` is the old name of `axis`."""
    return softmax(logits, _one_of(axis, dim), name)


def log_softmax(logits: Any, axis: int | None = None, name: str | None = None) -> Any:
    """Gives logits less the logarithm of the sum of their exponentials over an axis.

    Args:
      logits: floating dtype, rank at least 1.
      axis: the axis; the last one when None.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.

    Raises:
      InvalidArgumentError: `axis` is outside the rank.
    """
    return _along(LOG_SOFTMAX, logits, -1 if axis is None else axis, name)


def log_softmax_v1(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Any:
    """`log_softmax`; `dim` is the old name of `axis`."""
    return log_softmax(logits, _one_of(axis, dim), name)


def _one_of(axis: int | None, dim: int | None) -> int | None:
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'axis' and 'dim'. `dim` is the old name: pass axis.")
    return dim if axis is None else axis


def _along(op: OpDef, logits: Any, axis: Any, name: str | None) -> Any:
    logits = tensor(logits)
    known = get_static_value(axis)
    axis = axis if known is None else known
    if known == -1:
        return execute(op, (logits,), None, name)
    if logits.dims is None or known is None:
        return _composed(op, logits, axis, name)
    rank = len(logits.dims)
    if not -rank <= axis < rank:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"`dim` must be in the range [{-rank}, {rank}) where {rank} is the number of "
            f"dimensions in the input. Received: dim={axis}",
        )
    if axis % rank == rank - 1:
        return execute(op, (logits,), None, name)
    if isinstance(axis, (float, np.floating)):
        problem = TypeError(f"expected an integer axis, got {axis}. Pass its number.")
        raise attributes.user_error(op.name, problem, eager=state.graph is None)
    order = _last(rank, axis)
    rows = execute(op, (execute("Transpose", (logits, order), None, "transpose"),))
    return execute("Transpose", (rows, order), None, name or "transpose")


def _composed(op: OpDef, logits: Tensor, axis: Any, name: str | None) -> Any:
    """Softmax or its logarithm of a tensor of unknown rank, or along an axis not known before."""
    with scope(name, op.name):
        axes = reshape(tensor(axis, dtypes.int32), [1])
        top = execute("StopGradient", (execute("Max", (logits, axes), {"keep_dims": True}),))
        shifted = subtract(logits, top)
        exponentials = execute("Exp", (shifted,))
        sums = execute("Sum", (exponentials, axes), {"keep_dims": True})
        if op is SOFTMAX:
            return execute("RealDiv", (exponentials, sums))
        return subtract(shifted, execute("Log", (sums,)))


def _last(rank: int, axis: int) -> list[int]:
    """The order of axes in which `axis` and the last one have changed places."""
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return order


def softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, axis: int = -1, name: str | None = None
) -> Any:
    """The cross entropy between label distributions and the softmax of logits.

    Args:
      labels: floating, of the shape of `logits`: each vector along `axis` sums to 1.
      logits: floating, rank at least 1; half precision is computed in float32.
      axis: the axis of the classes.
      name: the name in a graph.

    Returns:
      The losses: the shape of `logits` without `axis`, of the dtype of `logits`.

    Raises:
      InvalidArgumentError: `axis` is outside the rank (ValueError in a graph).
    """
    with scope(name, "softmax_cross_entropy_with_logits") as full:
        logits = tensor(logits, name="logits")
        labels = cast(tensor(labels, name="labels"), logits.dtype.base_dtype)
        given = logits.dtype.base_dtype
        if given in (dtypes.float16, dtypes.bfloat16):
            logits, labels = cast(logits, dtypes.float32), cast(labels, dtypes.float32)
        if logits.dims is None and axis != -1:
            surprise = multiply(labels, log_softmax(logits, axis))
            return cast(negative(total(surprise, [axis])), given)
        rank = 0 if logits.dims is None else len(logits.dims)
        if rank and not -rank <= axis < rank:
            problem = f"expected an axis in [{-rank}, {rank}) for logits of rank {rank}, got {axis}"
            fix = f"{problem}. Give the axis of the classes."
            raise attributes.user_error(
                CROSS_ENTROPY.name, ValueError(fix), eager=isinstance(logits, EagerTensor)
            )
        if rank and axis % rank != rank - 1:
            order = [i for i in range(rank) if i != axis % rank] + [axis % rank]
            logits, labels = transpose(logits, order), transpose(labels, order)
        return cast(_rows(CROSS_ENTROPY, logits, labels, full), given)


def _rows(op: OpDef, logits: Tensor, labels: Tensor, name: str | None) -> Any:
    """The losses of a cross-entropy operation for logits of any rank.

    In a graph they are called Reshape_2, as in TensorFlow, but of sparse labels for a matrix.
    """
    dims = logits.dims
    if dims is not None and len(dims) == 2:
        loss = execute(op, (logits, labels), None, name)[0]
        if op is SPARSE_CROSS_ENTROPY or isinstance(loss, EagerTensor):
            return loss
        sizes = list(dims[:1]) if dims[0] is not None else [-1]
        return execute("Reshape", (loss, np.array(sizes, np.int32)), None, "Reshape_2")
    classes = _last_size(logits) if dims is None or dims[-1] is None else dims[-1]
    matrix = _stacked([-1, classes])
    if op is SPARSE_CROSS_ENTROPY and not isinstance(logits, EagerTensor):
        labels = _of_rows(labels, logits)
    flat_labels = reshape(labels, [-1] if op is SPARSE_CROSS_ENTROPY else matrix)
    loss = execute(op, (reshape(logits, matrix), flat_labels), None, name)[0]
    if dims is not None and d.is_full(dims[:-1]):
        return execute("Reshape", (loss, np.array(dims[:-1], np.int32)), None, "Reshape_2")
    shape = execute("Shape", (logits,))
    outer = execute("StridedSlice", (shape, [0], [-1], [1]), {"begin_mask": 1})
    return execute("Reshape", (loss, outer), None, "Reshape_2")


def _of_rows(labels: Tensor, logits: Tensor) -> Tensor:
    """Labels of which a step finds that their shape is that of the logits' rows."""
    if all(x.dims is not None and d.is_full(x.dims) for x in (labels, logits)):
        return labels
    rows = execute("Shape", (logits,))
    rows = execute("StridedSlice", (rows, [0], [-1], [1]), {"begin_mask": 1})
    sizes = execute("Shape", (labels,))
    note = "labels.shape must be logits.shape without the last dimension. Reshape one of them."
    with control_dependencies([assert_equal_v1(sizes, rows, message=note)]):
        return execute("Identity", (labels,))  # type: ignore[no-any-return]


def _last_size(x: Tensor) -> Any:
    shape = execute("Shape", (x,))
    return execute("StridedSlice", (shape, [-1], [0], [1]), {"shrink_axis_mask": 1})


def _stacked(sizes: list[Any]) -> Any:
    if all(isinstance(n, int) for n in sizes):
        return sizes
    return execute("Pack", ([tensor(n, dtypes.int32) for n in sizes],))


def softmax_cross_entropy_with_logits_v2(
    labels: Any,
    logits: Any,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Any:
    """`softmax_cross_entropy_with_logits` as compat.v1 has it; `dim` is the old name of `axis`."""
    axis = _one_of(axis, dim)
    return softmax_cross_entropy_with_logits(labels, logits, -1 if axis is None else axis, name)


def softmax_cross_entropy_with_logits_v1(
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Any:
    """The cross entropy of logits with constant labels: no gradient flows into the labels.

    Args:
      labels: floating, of the shape of `logits`.
      logits: floating, rank at least 1.
      dim: the axis of the classes.
      name: the name in a graph.
      axis: the new name of `dim`.

    Returns:
      The losses: the shape of `logits` without `dim`.

    Raises:
      ValueError: labels or logits are missing.
    """
    _require("softmax_cross_entropy_with_logits", labels, logits)
    with scope(name, "softmax_cross_entropy_with_logits_sg") as full:
        labels = execute("StopGradient", (tensor(labels),))
        return softmax_cross_entropy_with_logits(
            labels, logits, dim if axis is None else axis, full
        )


def _require(what: str, labels: Any, logits: Any) -> None:
    if labels is None or logits is None:
        raise ValueError(f"Both `labels` and `logits` must be provided to {what}.")


def sparse_softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, name: str | None = None
) -> Any:
    """The cross entropy between class numbers and the softmax of logits.

    Args:
      labels: int32 or int64 [...]: class numbers in [0, C).
      logits: float[..., C]; half precision is computed in float32.
      name: the name in a graph.

    Returns:
      The losses: the shape of `labels`, of the dtype of `logits`.

    Raises:
      ValueError: the shapes do not fit.
      InvalidArgumentError: a label is outside [0, C).
    """
    with scope(name, "SparseSoftmaxCrossEntropyWithLogits"):
        labels, logits = tensor(labels), tensor(logits)
        given = logits.dtype.base_dtype
        if given in (dtypes.float16, dtypes.bfloat16):
            logits = cast(logits, dtypes.float32)
        _check_sparse(labels, logits)
        if logits.dims is None and labels.dims is not None and len(labels.dims) == 1:
            return cast(execute(SPARSE_CROSS_ENTROPY, (logits, labels), None, name)[0], given)
        return cast(_rows(SPARSE_CROSS_ENTROPY, logits, labels, name), given)


def _check_sparse(labels: Tensor, logits: Tensor) -> None:
    left, right = labels.dims, logits.dims
    if right == ():
        raise ValueError(f"`logits` cannot be a scalar. Received logits={logits}")
    if left is None or right is None:
        return
    if len(left) != len(right) - 1:
        raise ValueError(
            "`labels.shape.rank` must equal `logits.shape.rank - 1`. "
            f"Received: labels.shape={d.text(left)} of rank {len(left)} and "
            f"logits.shape={d.text(right)} of rank {len(right)}"
        )
    if not d.compatible(left, right[:-1]):
        raise ValueError(
            "`labels.shape` must equal `logits.shape` except for the last dimension. "
            f"Received: labels.shape={d.text(left)} and logits.shape={d.text(right)}"
        )


def sparse_softmax_cross_entropy_with_logits_v1(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """`sparse_softmax_cross_entropy_with_logits` with the defaults of compat.v1."""
    _require("sparse_softmax_cross_entropy_with_logits", labels, logits)
    return sparse_softmax_cross_entropy_with_logits(labels, logits, name)


def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """The cross entropy between probabilities and the sigmoid of logits, element by element.

    Args:
      labels: of the dtype and shape of `logits`, between 0 and 1.
      logits: floating, any shape.
      name: the name in a graph.

    Returns:
      The losses, of the shape of `logits`.

    Raises:
      ValueError: the shapes differ.
    """
    _require("sigmoid_cross_entropy_with_logits", labels, logits)
    with scope(name, "logistic_loss") as full:
        x = tensor(logits, name="logits")
        z = labels if isinstance(labels, Tensor) else like(labels, x)
        _check_same(x, z, "labels")
        tail = _log1p_exp(x, "LessEqual")
        return add_v2(subtract(execute("Relu", (x,)), multiply(x, z)), tail, name=full)


def _log1p_exp(x: Tensor, falling: str) -> Any:
    """log(1 + exp(-abs(x))).

    At 0, where `relu` has the slope 0, the slope is 1/2 with "LessEqual", as a sum with `relu(x)`
    needs it, and -1/2 with "Less", for one with `relu(-x)`.
    """
    below = execute(falling, (x, number(0, x.dtype)))
    minus_abs = execute("SelectV2", (below, x, negative(x)))
    return execute("Log1p", (execute("Exp", (minus_abs,)),))


def _check_same(logits: Tensor, labels: Tensor, what: str) -> None:
    if not d.compatible(logits.dims, labels.dims):
        raise ValueError(
            f"`logits` and `{what}` must have the same shape, received "
            f"({d.text(logits.dims)} vs {d.text(labels.dims)})."
        )


def weighted_cross_entropy_with_logits(
    labels: Any, logits: Any, pos_weight: Any, name: str | None = None
) -> Any:
    """`sigmoid_cross_entropy_with_logits` in which positive labels count `pos_weight` times.

    Args:
      labels: of the dtype and shape of `logits`, between 0 and 1.
      logits: floating, any shape.
      pos_weight: of the dtype of `logits`; broadcasts.
      name: the name in a graph.

    Returns:
      The losses, of the shape of `logits`.

    Raises:
      ValueError: the shapes differ.
    """
    with scope(name, "logistic_loss") as full:
        x = tensor(logits, name="logits")
        z = labels if isinstance(labels, Tensor) else like(labels, x)
        _check_same(x, z, "labels")
        one = number(1, x.dtype)
        weight = add_v2(one, multiply(subtract(like(pos_weight, x), one), z))
        tail = add_v2(_log1p_exp(x, "Less"), execute("Relu", (negative(x),)))
        return add_v2(multiply(subtract(one, z), x), multiply(weight, tail), name=full)


def weighted_cross_entropy_with_logits_v1(
    labels: Any = None,
    logits: Any = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Any:
    """`weighted_cross_entropy_with_logits`; `targets` is the old name of `labels`."""
    labels = one_of("labels", labels, "targets", targets)
    return weighted_cross_entropy_with_logits(labels, logits, pos_weight, name)


def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Any:
    """The negative log likelihood of counts under a Poisson distribution given by its log rate.

    Args:
      targets: the counts, of the dtype and shape of `log_input`.
      log_input: floating, any shape: the logarithm of the rate.
      compute_full_loss: whether to add Stirling's approximation of log(targets!), which does not
        depend on `log_input`.
      name: the name in a graph.

    Returns:
      The losses, of the shape of `log_input`.

    Raises:
      ValueError: the shapes differ.
    """
    with scope(name, "log_poisson_loss"):
        x = tensor(log_input, name="log_input")
        z = targets if isinstance(targets, Tensor) else like(targets, x)
        if not d.compatible(x.dims, z.dims):
            raise ValueError(
                "`log_input` and `targets` must have the same shape, received "
                f"({d.text(x.dims)} vs {d.text(z.dims)})."
            )
        result = subtract(execute("Exp", (x,)), multiply(x, z, name="mul"), name="sub")
        return add_v2(result, _stirling(z), name="add") if compute_full_loss else result


def _stirling(z: Tensor) -> Any:
    """log(z!) for z above 1, approximately; 0 from 0 to 1."""
    kind = z.dtype
    log_z = execute("Log", (z,))
    inside = execute("Log", (multiply(number(2 * PI, kind), z),))
    value = add_v2(subtract(multiply(z, log_z), z), multiply(number(0.5, kind), inside))
    zero, one = number(0, kind), number(1, kind)
    from_zero = execute("GreaterEqual", (z, zero))
    small = execute("LogicalAnd", (from_zero, execute("LessEqual", (z, one))))
    return execute("SelectV2", (small, execute("ZerosLike", (z,)), value))
