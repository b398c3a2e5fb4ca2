"""`ZerosLike` and `AddN` of variants: of lists of tensors, of optionals and of sparse matrices.

The gradients of conditionals and loops are built from them. Both go into the elements, which may
be variants themselves.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.kernels import compiled_kernel, host_kernel
from penstock.core.lazy import jnp
from penstock.core.tensor_list import StackedList, TensorList
from penstock.core.traced import NotStatic, TraceContext
from penstock.ops.optional import OptionalValue
from penstock.ops.sparse_csr import CsrMatrix
from penstock.ops.tensor_list_joins import each
from penstock.ops.tensor_lists import LARGE, invalid, list_of, stacked_of, zeros_of
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType

Array = Any
VARIANT = {"T": [dt.variant]}


# ---- on the host -------------------------------------------------------------------------------


def _zeros(value: Any) -> Any:
    """Zeros of the same shapes; an element that was never set, or is missing, stays so."""
    if isinstance(value, OptionalValue):
        if value.components is None:
            return value
        parts = zip(value.components, value.dtypes, strict=True)
        return OptionalValue(tuple(_zeros_of_one(v, t) for v, t in parts), value.dtypes)
    if isinstance(value, CsrMatrix):
        return value.zeros()
    held = list_of(value)
    items = [None if i is None else _zeros_of_one(i, held.dtype) for i in held.items]
    return TensorList(held.dtype, held.dims, items, None, held.limit)


def _zeros_of_one(value: Any, dtype: DType) -> Any:
    return each(_zeros, value) if dtype is dt.variant else zeros_of(dtype, np.shape(value))


def _sum(values: Sequence[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = _sum_of_two(total, value)
    return total


def _sum_of_two(a: Any, b: Any) -> Any:
    if isinstance(a, OptionalValue) and isinstance(b, OptionalValue):
        return _sum_of_optionals(a, b)
    if isinstance(a, CsrMatrix) and isinstance(b, CsrMatrix):
        return a.plus(b)
    return _sum_of_lists(list_of(a), list_of(b))


def _sum_of_optionals(a: OptionalValue, b: OptionalValue) -> OptionalValue:
    if a.components is None and b.components is None:
        return a
    if a.components is None or b.components is None:
        raise invalid(
            "Cannot add optionals because one has a value and the other doesn't: expected both, or"
            f" none, to have a value, got {a!r} and {b!r}."
        )
    if a.dtypes != b.dtypes:
        raise invalid(
            "Cannot add optionals of different kinds: expected the same dtypes, got"
            f" {[t.name for t in a.dtypes]} and {[t.name for t in b.dtypes]}."
        )
    parts = zip(a.components, b.components, a.dtypes, strict=True)
    return OptionalValue(tuple(_sum_of_ones(x, y, t) for x, y, t in parts), a.dtypes)


def _sum_of_lists(a: TensorList, b: TensorList) -> TensorList:
    if a.length != b.length:
        raise invalid(
            f"Trying to add two lists of tensors with different lengths. One is {a.length} and "
            f"other is {b.length}."
        )
    items = []
    for x, y in zip(a.items, b.items, strict=True):
        if x is None or y is None:
            items.append(y if x is None else x)
        else:
            items.append(_sum_of_ones(x, y, a.dtype))
    return TensorList(a.dtype, d.merge(a.dims, b.dims), items, None, a.limit)


def _sum_of_ones(a: Any, b: Any, dtype: DType) -> Any:
    return each(_sum_of_two, a, b) if dtype is dt.variant else np.add(a, b)


@host_kernel("ZerosLike", types=VARIANT, limit=LARGE)
def _zeros_like(x: Any) -> Any:
    return each(_zeros, x)


@host_kernel("AddN", types=VARIANT, limit=LARGE)
def _add_n(inputs: list[Any]) -> Any:
    return each(lambda *values: _sum(values), *inputs)


# ---- in compiled regions -----------------------------------------------------------------------


@compiled_kernel("ZerosLike", types=VARIANT)
def _zeros_like_compiled(ctx: TraceContext, x: Any) -> Any:
    held = stacked_of(ctx, x)
    return held.having(rows=None if held.rows is None else jnp.zeros_like(held.rows))


@compiled_kernel("AddN", types=VARIANT)
def _add_n_compiled(ctx: TraceContext, inputs: list[Any]) -> Any:
    total = stacked_of(ctx, inputs[0])
    for value in inputs[1:]:
        total = _sum_of_stacked(ctx, total, stacked_of(ctx, value))
    return total


def _sum_of_stacked(ctx: TraceContext, a: StackedList, b: StackedList) -> StackedList:
    if a.rows is None or b.rows is None:
        return a if b.rows is None else b
    if a.rows.shape != b.rows.shape:
        raise NotStatic(ctx.op_key, "lists of different lengths are added")
    return a.having(rows=a.rows + b.rows)


__all__: list[str] = []
