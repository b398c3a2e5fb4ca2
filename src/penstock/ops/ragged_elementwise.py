"""Element-wise functions and operators of ragged tensors."""

from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.core import dispatch
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.ops import debug_asserts as asserts
from penstock.ops import dispatch_for as _lists  # noqa: F401  which functions are element-wise
from penstock.ops import math_arithmetic as arithmetic
from penstock.ops import math_compare as compare
from penstock.ops import math_division as division
from penstock.ops.math_cast import abs as absolute
from penstock.ops.overloads import by_value
from penstock.ops.ragged_broadcast import broadcast, layout
from penstock.ops.ragged_class import RaggedTensor, attach_operators
from penstock.ops.ragged_factories import as_values
from penstock.ops.ragged_parts import after
from penstock.ops.ragged_rows import is_ragged
from penstock.types.ragged_value import RaggedTensorValue
from penstock.util import nest

Function = Callable[..., Any]


def ragged_or_tensor(value: Any, hint: Any = None) -> Any:
    """A value as a tensor, or as a ragged tensor when it is one."""
    if is_ragged(value) or isinstance(value, Tensor):
        return value
    if isinstance(value, RaggedTensorValue):
        return as_values(RaggedTensor, value, None)
    return convert_to_tensor(value, dtype_hint=hint)


def same_splits_dtype(values: list[Any]) -> list[Any]:
    """Checks that ragged tensors have row splits of one dtype.

    Raises:
      ValueError: they differ.
    """
    kinds = {v._row_partition.dtype for v in values if is_ragged(v)}
    if len(kinds) > 1:
        raise ValueError(
            "Input RaggedTensors have mismatched row_splits dtypes; use "
            "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
        )
    return values


def unary(function: Function, x: Any) -> Any:
    """An element-wise function of one ragged tensor."""
    return x.with_flat_values(function(x.flat_values))


def binary(function: Function, x: Any, y: Any) -> Any:
    """An element-wise function of two values, of which one or both are ragged."""
    x = ragged_or_tensor(x, y.dtype if is_ragged(y) else None)
    y = ragged_or_tensor(y, x.dtype if is_ragged(x) else None)
    same_splits_dtype([x, y])
    if state.graph is not None and x.dtype.base_dtype is not y.dtype.base_dtype:
        raise TypeError(
            f"Input 'y' has type {y.dtype.name} that does not match type {x.dtype.name} of argument"
            f" 'x'. Use tf.cast(y, tf.{x.dtype.base_dtype.name})."
        )
    if not is_ragged(y) and y.dims == ():
        return x.with_flat_values(function(x.flat_values, y))
    if not is_ragged(x) and x.dims == ():
        return y.with_flat_values(function(x, y.flat_values))
    left, right, build = meet(x, y)
    return build(function(left, right))


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function with the flat values of ragged tensors, and gives the result their rows.

    Args:
      op: the function; it keeps the size of the first axis.
      *args: its arguments; ragged tensors, also in lists, stand for their flat values.
      **kwargs: more of them.

    Returns:
      A RaggedTensor; the function's result when no argument is ragged.

    Raises:
      ValueError: ragged ranks or the numbers of values differ, or the result has another size.

    Example:
      >>> map_flat_values(lambda v: v * 2, tf.ragged.constant([[1], [2, 3]]))
      <tf.RaggedTensor [[2], [4, 6]]>
    """
    found = [v for v in nest.flatten([list(args), kwargs]) if is_ragged(v)]
    if not found:
        return op(*args, **kwargs)
    if len({v.ragged_rank for v in found}) > 1:
        ranks = [v.ragged_rank for v in found]
        raise ValueError(
            "tf.ragged.map_flat_values: All ragged inputs must have the same ragged_rank, got"
            f" {ranks}. Give tensors with the same rows."
        )
    sizes = {v.flat_values.dims[0] for v in found if v.flat_values.dims} - {None}
    if len(sizes) > 1:
        raise ValueError(
            "Input RaggedTensors' flat_values must all have the same outer-dimension size. Got"
            f" sizes: {sizes}. Give tensors with the same rows."
        )
    first, checks = found[0], []
    for other in found[1:]:
        if other._row_partition.dtype is not first._row_partition.dtype:
            kinds = [v._row_partition.dtype.name for v in (first, other)]
            raise ValueError(
                "tf.ragged.map_flat_values: Input RaggedTensors have mismatched row_splits dtypes"
                f" {kinds}. Change one with with_row_splits_dtype."
            )
        for a, b in zip(first.nested_row_splits, other.nested_row_splits, strict=True):
            if a is not b:
                message = "partitions have incompatible row_splits"
                checks.append(asserts.assert_equal_v1(a, b, message=message))

    def flat(value: Any) -> Any:
        return after(checks, value.flat_values) if is_ragged(value) else value

    inner = nest.map_structure(flat, [list(args), kwargs])
    result = op(*inner[0], **inner[1])
    size = first.flat_values.dims
    dims = result.shape.dims_tuple
    if dims is not None and (
        not dims or (size and None not in (dims[0], size[0]) and dims[0] != size[0])
    ):
        raise ValueError(
            "tf.ragged.map_flat_values requires that the output of `op` have the same "
            "outer-dimension size as flat_values of any ragged inputs. (output shape: "
            f"{result.shape}; expected outer dimension size: {size[0] if size else None})"
        )
    return first.with_flat_values(result)


def meet(x: Any, y: Any) -> tuple[Any, Any, Function]:
    """The flat values of two operands that broadcast, and what makes the result of flat values.

    Raises:
      ValueError: a rank is unknown.
      InvalidArgumentError: the shapes do not broadcast.
    """
    if is_ragged(x) and is_ragged(y) and _same_rows(x, y):
        return x.flat_values, y.flat_values, x.with_flat_values
    ranks = [v.shape.rank for v in (x, y)]
    if None in ranks:
        raise ValueError(
            "Unable to broadcast: unknown rank. Set the shape of the dense operand with "
            "tf.ensure_shape."
        )
    rank = max(ranks)
    depth = max(v.ragged_rank + rank - v.shape.rank for v in (x, y) if is_ragged(v))
    kind = (x if is_ragged(x) else y)._row_partition.dtype
    met = broadcast(layout(x, rank, depth, kind), layout(y, rank, depth, kind))

    def build(flat: Any) -> Any:
        return RaggedTensor._from_nested_row_partitions(flat, met.partitions, validate=False)

    return met.left, met.right, build


def _same_rows(x: Any, y: Any) -> bool:
    a, b = x._nested_row_partitions, y._nested_row_partitions
    if len(a) != len(b) or x.shape.rank != y.shape.rank:
        return False
    return all(p is q or p.row_splits() is q.row_splits() for p, q in zip(a, b, strict=True))


def _assertion(function: Function, x: Any, y: Any) -> Any:
    left, right, _ = meet(ragged_or_tensor(x), ragged_or_tensor(y))
    return function(left, right)


dispatch.add_kinds([RaggedTensor])
dispatch.add_pattern("unary", (RaggedTensor,), unary)
for _classes in ((RaggedTensor, object), (object, RaggedTensor)):
    dispatch.add_pattern("binary", _classes, binary)
    dispatch.add_pattern("assert", _classes, _assertion)


# ---- operators


def _with(function: Function) -> Function:
    return lambda x, y: binary(function, x, y)


def _logic(bitwise: Function, logical: Function) -> Function:
    def chosen(x: Any, y: Any) -> Any:
        is_bool = (x if is_ragged(x) else y).dtype.is_bool
        return binary(logical if is_bool else bitwise, x, y)

    return chosen


def _equality(function: Function, otherwise: bool) -> Function:
    def answer(x: Any, y: Any) -> Any:
        if y is None:
            return otherwise
        if not by_value():
            return (x is y) != otherwise
        try:
            return binary(function, x, y)
        except (TypeError, ValueError, errors.InvalidArgumentError):
            return otherwise  # what cannot be compared is not equal

    return answer


def _on_flat(function: Function) -> Function:
    return lambda self: unary(function, self)


def _invert(x: Any) -> Any:
    return compare.logical_not(x) if x.dtype.is_bool else compare.invert(x)


attach_operators(
    {
        "add": _with(arithmetic.add),
        "sub": _with(arithmetic.subtract),
        "mul": _with(arithmetic.multiply),
        "truediv": _with(division.truediv),
        "div": _with(division.div),
        "floordiv": _with(division.floordiv),
        "mod": _with(division.floormod),
        "pow": _with(arithmetic.pow),
        "and": _logic(compare.bitwise_and, compare.logical_and),
        "or": _logic(compare.bitwise_or, compare.logical_or),
        "xor": _logic(compare.bitwise_xor, compare.logical_xor),
        "lt": _with(compare.less),
        "le": _with(compare.less_equal),
        "gt": _with(compare.greater),
        "ge": _with(compare.greater_equal),
        "eq": _equality(compare.equal, otherwise=False),
        "ne": _equality(compare.not_equal, otherwise=True),
    },
    {
        "neg": _on_flat(arithmetic.negative),
        "invert": _on_flat(_invert),
        "abs": _on_flat(absolute),
    },
)
