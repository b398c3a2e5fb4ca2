"""`tf.gradients`: derivatives in a graph.

The operations between `xs` and `ys` become records in topological order and are walked like a
tape's.
"""

import contextlib
import functools
from collections.abc import Sequence
from typing import Any

from penstock.autodiff.composites import gradient_part, like_source
from penstock.autodiff.enclosing import outermost, records_through
from penstock.autodiff.unconnected import UnconnectedGradients
from penstock.autodiff.walk import Record, Rule, Sums, add_gradients, as_dense, walk
from penstock.core import context
from penstock.core.composite import IndexedSlices
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import EagerTensor, Tensor
from penstock.graph.behavior import graph_of
from penstock.ops.grouping import tuple_
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


class AggregationMethod:
    """How gradients that meet are added up; all methods give the same sum here."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


_METHODS = [None, *range(3)]


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
) -> list[Any]:
    """Symbolic derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
      ys: a tensor or list of tensors.
      xs: a tensor, variable, or list of them.
      grad_ys: for each of `ys` its initial gradient; ones by default.
      name: the name scope of the operations added.
      colocate_gradients_with_ops: places each gradient with its operation.
      gate_gradients: waits for all gradients of an operation before any is used.
      aggregation_method: one of `AggregationMethod`.
      stop_gradients: tensors to be taken as constants.
      unconnected_gradients: None or zeros where `ys` does not depend on an x.

    Returns:
      A list of tensors, IndexedSlices or None, one for each of `xs`.

    Raises:
      LookupError: an operation on the way has no gradient rule.
      RuntimeError: called in eager mode.
      ValueError: lengths do not match, or a dtype does not fit.
    """
    graph = state.graph
    if graph is None:
        raise RuntimeError(
            "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape"
            " instead."
        )
    given = [v for part in (ys, xs, stop_gradients, grad_ys) for v in _as_list(part)]
    home = graph_of(given) or graph
    if home is not graph:
        with context.graph_scope(home):
            return gradients(
                ys, xs, grad_ys, name, colocate_gradients_with_ops, gate_gradients,
                aggregation_method, stop_gradients, unconnected_gradients,
            )  # fmt: skip
    if aggregation_method not in _METHODS:
        raise ValueError(
            f"Invalid `aggregation_method` specified {aggregation_method}. Accepted values are"
            f" {_METHODS[1:]}."
        )
    ys_list = [_tensor(gradient_part(y)) for y in _as_list(ys)]
    given = _as_list(xs)
    xs_list = [outermost(_source(gradient_part(x)), graph) for x in given]
    stops = [_source(s) for s in _as_list(stop_gradients)] if stop_gradients is not None else []
    with graph.name_scope(name) if name else contextlib.nullcontext():
        sums = Sums(functools.partial(_sum_by_device, colocate_gradients_with_ops))
        start = _initial(ys_list, xs_list, grad_ys, colocate_gradients_with_ops)
        for y, grad in zip(ys_list, start, strict=True):
            if grad is not None:
                sums.add(y, grad)
        if not xs_list:
            return []
        stop_ids = frozenset(id(s) for s in stops)
        records, wanted = records_through(ys_list, xs_list, graph)
        _walk(
            records,
            sums,
            wanted,
            colocate_gradients_with_ops,
            gate_gradients,
            stop_ids,
            frozenset(map(id, xs_list)),
        )
        unconnected = UnconnectedGradients(unconnected_gradients)
        found = [_result(x, sums, unconnected) for x in xs_list]
        return [like_source(x, g) for x, g in zip(given, found, strict=True)]


def gradients_v2(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
) -> list[Any]:
    """Symbolic derivatives of the sum of `ys` by each of `xs`, placed with their operations.

    Args:
      ys: a tensor or list of tensors.
      xs: a tensor, variable, or list of them.
      grad_ys: for each of `ys` its initial gradient; ones by default.
      name: the name scope of the operations added.
      gate_gradients: waits for all gradients of an operation before any is used.
      aggregation_method: one of `AggregationMethod`.
      stop_gradients: tensors to be taken as constants.
      unconnected_gradients: None or zeros where `ys` does not depend on an x.

    Returns:
      A list of tensors, IndexedSlices or None, one for each of `xs`.

    Raises:
      LookupError: an operation on the way has no gradient rule.
      RuntimeError: called in eager mode.
      ValueError: lengths do not match, or a dtype does not fit.
    """
    return gradients(
        ys,
        xs,
        grad_ys,
        name,
        True,
        gate_gradients,
        aggregation_method,
        stop_gradients,
        unconnected_gradients,
    )


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _tensor(value: Any) -> Any:
    if hasattr(value, "handle") and not isinstance(value, Tensor):
        return value.handle if not hasattr(value, "value") else convert_to_tensor(value)
    if isinstance(value, EagerTensor):
        return state.graph.as_tensor(value)
    return value if isinstance(value, (Tensor, IndexedSlices)) else convert_to_tensor(value)


def _source(value: Any) -> Any:
    if hasattr(value, "handle") and not isinstance(value, Tensor):
        reference = getattr(value, "_reference", None)
        return state.graph.as_tensor(value.handle if reference is None else reference)
    if isinstance(value, IndexedSlices):
        return value.values
    tensor = value if isinstance(value, Tensor) else convert_to_tensor(value)
    return state.graph.as_tensor(tensor) if not isinstance(tensor, SymbolicTensor) else tensor


def _initial(ys: list[Any], xs: list[Any], grad_ys: Any, colocate: bool) -> list[Any]:
    """The gradient each of `ys` starts with; None where no derivative flows back from it."""
    given = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    if len(given) != len(ys):
        raise ValueError(
            f"Length mismatch. Passed {len(given)} grad_ys for {len(ys)} ys. Give one for each of"
            " ys, or None."
        )
    result = []
    for i, (y, grad) in enumerate(zip(ys, given, strict=True)):
        if grad is None:
            if y.dtype.is_complex:
                raise TypeError(
                    f"Gradients of complex tensors need grad_ys, got {y.name} of dtype"
                    f" {y.dtype.name}. Give grad_ys, or take the real part first."
                )
            flows = y.dtype.is_floating or (y.dtype.is_integer and any(y is x for x in xs))
            here = colocate and y.op.graph is state.graph  # else the gradient starts in a body
            with state.graph.colocate_with(y.op if here else None, ignore_existing=True):
                result.append(execute("OnesLike", (y,), name=f"grad_ys_{i}") if flows else None)
            continue
        grad = (
            grad
            if isinstance(grad, (Tensor, IndexedSlices))
            else convert_to_tensor(grad, y.dtype.base_dtype)
        )
        if grad.dtype.base_dtype is not y.dtype.base_dtype:
            raise TypeError(
                f"Gradient type {grad.dtype.name} generated for tensor {y!r} of dtype"
                f" {y.dtype.name} must match. Cast grad_ys."
            )
        result.append(_shaped(grad, y))
    return result


def _shaped(grad: Any, y: Any) -> Any:
    """`grad` in the shape of `y`: programs give more dimensions of size 1, or what broadcasts."""
    if y.shape.is_compatible_with(grad.shape):
        return grad
    if _spreads(grad.shape, y.shape):
        return execute("BroadcastTo", (as_dense(grad), execute("Shape", (y,))))
    shapes = [t.shape for t in (y, grad)]
    sizes = [[n for n in s.as_list() if n != 1] for s in shapes if s.is_fully_defined()]
    if len(sizes) < 2 or sizes[0] != sizes[1]:
        raise ValueError(
            f"tf.gradients: expected grad_ys of shape {y.shape}, that of {y!r}, got shape"
            f" {grad.shape}. Give each of ys a gradient of its own shape."
        )
    return execute("Reshape", (as_dense(grad), y.shape.as_list()))


def _spreads(shape: TensorShape, over: TensorShape) -> bool:
    """Whether a tensor of a shape may be broadcast to another one, by what is known of both."""
    if shape.rank is None or over.rank is None or shape.rank > over.rank:
        return False
    sizes = shape.as_list()
    last = over.as_list()[over.rank - shape.rank :]
    return all(n in (1, None, m) or m is None for n, m in zip(sizes, last, strict=True))


def _sum_by_device(colocate: bool, parts: Sequence[Any], tensor: Any) -> Any:
    """The sum of the gradients of `tensor`, beside its operation if they are to be `colocate`d.

    Those of one device are added up there first, so that one tensor of each device travels.
    """
    if all(isinstance(p, IndexedSlices) for p in parts):
        return add_gradients(parts)
    groups: dict[str, list[Any]] = {}
    for part in map(as_dense, parts):
        groups.setdefault(part.device, []).append(part)
    totals = [group[0] if len(group) == 1 else _sum_beside(group) for group in groups.values()]
    if len(totals) == 1:
        return totals[0]
    with _beside(tensor if colocate else None):
        return add_gradients(totals)


def _sum_beside(parts: list[Any]) -> Any:
    with _beside(parts[0]):
        return add_gradients(parts)


def _beside(tensor: Any) -> contextlib.AbstractContextManager[Any]:
    """Operations inside are placed as that of `tensor`, where it is of this graph."""
    if not isinstance(tensor, SymbolicTensor) or tensor.graph is not state.graph:
        return contextlib.nullcontext()
    return state.graph.colocate_with(tensor.op, ignore_existing=True)  # type: ignore[no-any-return]


def _walk(
    records: list[Record],
    sums: Sums,
    wanted: set[int],
    colocate: bool,
    gate: bool,
    stops: frozenset[int],
    keep: frozenset[int],
) -> None:
    graph = state.graph

    def wrapped(record: Record, rule: Rule, grads: list[Any]) -> Any:
        op = record.source
        scopes = [graph.name_scope(op.name + "_grad")]
        if colocate and op.graph is graph:
            scopes.append(graph.colocate_with(op, ignore_existing=True))
        with contextlib.ExitStack() as stack:
            for scope in scopes:
                stack.enter_context(scope)
            results = rule(record, *grads)
            return _gated(results) if gate else results

    walk(records, sums, wanted, wrapped, stops, keep)


def _gated(results: Any) -> Any:
    """All gradients of an operation, each available only when all are."""
    many = list(results) if isinstance(results, (list, tuple)) else [results]
    if sum(g is not None for g in many) < 2:
        return results
    with state.graph.colocate_with(None, ignore_existing=True):
        return tuple_(many)


def _result(x: Any, sums: Sums, unconnected: UnconnectedGradients) -> Any:
    found = sums.get(id(x))
    if found is None and unconnected is UnconnectedGradients.ZERO:
        return _zeros_of_variable(x) if x.dtype is dt.resource else execute("ZerosLike", (x,))
    return found


def _zeros_of_variable(handle: Any) -> Any:
    dtype, _ = handle._handle_data
    return execute("ZerosLike", (execute("ReadVariableOp", (handle,), {"dtype": dtype}),))


__all__ = ["AggregationMethod", "gradients", "gradients_v2"]
