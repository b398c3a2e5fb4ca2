"""Ragged tensors as variants: one opaque element for a whole ragged tensor, or for each row.

Datasets and `tf.map_fn` stack and cut such variants where the parts of ragged tensors could not be.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.ops.ragged_dense_ops import check_nested_splits, refuse
from penstock.ops.ragged_factories import RaggedFactories
from penstock.ops.ragged_partition import RowPartition
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
_HOST = 1 << 62


class RaggedVariant:
    """What a variant holds: row splits from the outermost dimension, and values. Immutable."""

    __slots__ = ("splits", "values")

    def __init__(self, splits: Sequence[Array], values: Array) -> None:
        self.splits = tuple(splits)
        self.values = values

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        return sum(int(a.nbytes) for a in (*self.splits, self.values))

    def __repr__(self) -> str:
        return f"<RaggedVariant: {len(self.splits)} row splits, values {self.values.shape}>"


def _held(value: Any) -> RaggedVariant:
    found = value.item() if isinstance(value, np.ndarray) and value.shape == () else value
    if not isinstance(found, RaggedVariant):
        raise refuse(
            "Input Variant element does not hold a RaggedTensorVariant: expected one made by "
            f"RaggedTensorToVariant, got {found!r}."
        )
    return found


def _variant_shape(c: ShapeContext) -> Dims:
    if not c.attr("batched_input"):
        return ()
    ranked = bool(c.attr("RAGGED_RANK"))
    dims = c.rank(0, 1, "rt_nested_splits") if ranked else c.shape(0)
    if not ranked:
        return None if dims is None else dims[:1]
    return None if dims is None else (None if dims[0] is None else dims[0] - 1,)


TO_VARIANT = define_op(
    "RaggedTensorToVariant(rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: Tvalues; "
    "RAGGED_RANK: int >= 0, Tvalues: type, Tsplits: {int32, int64} = int64, batched_input: bool) ->"
    " encoded_ragged: variant",
    shape=_variant_shape,
    fallible=True,
    doc="A ragged tensor as one variant, or as a vector of variants, one for each row.",
)


@host_kernel(TO_VARIANT, limit=_HOST)
def _to_variant(splits: list[Array], values: Array, *, batched_input: bool) -> Any:
    values = np.asarray(values)
    check_nested_splits(splits, values, "RaggedTensorToVariant")
    if not batched_input:
        whole = np.empty((), object)
        whole[()] = RaggedVariant(splits, values)
        return whole
    if not splits and not values.ndim:
        raise refuse("RaggedTensorToVariant: expected a batch, got a scalar.")
    count = len(splits[0]) - 1 if splits else len(values)
    result = np.empty(count, object)
    for i in range(count):
        result[i] = _row(splits, values, i)
    return result


def _row(splits: Sequence[Array], values: Array, i: int) -> RaggedVariant:
    if not splits:
        return RaggedVariant((), values[i])
    start, limit = int(splits[0][i]), int(splits[0][i + 1])
    inner = []
    for each in splits[1:]:
        part = each[start : limit + 1]
        start, limit = int(part[0]), int(part[-1])
        inner.append(part - part[0])
    return RaggedVariant(inner, values[start:limit])


FROM_VARIANT = define_op(
    "RaggedTensorFromVariant(encoded_ragged: variant; input_ragged_rank: int >= -1, "
    "output_ragged_rank: int >= 0, Tvalues: type, Tsplits: {int32, int64} = int64) -> "
    "output_nested_splits: output_ragged_rank*Tsplits, output_dense_values: Tvalues",
    shape=lambda c: [*((None,),) * c.attr("output_ragged_rank"), None],
    fallible=True,
    doc="The ragged tensor that variants hold; one for each row, or for each cell of a tensor.",
)


@host_kernel(FROM_VARIANT, limit=_HOST)
def _from_variant(
    encoded: Any,
    *,
    input_ragged_rank: int,
    output_ragged_rank: int,
    Tvalues: DType,
    Tsplits: DType,
) -> list[Array]:
    array = encoded if isinstance(encoded, np.ndarray) else np.asarray(encoded, object)
    outer = array.ndim
    rank = output_ragged_rank - outer if input_ragged_rank == -1 else input_ragged_rank
    if rank < -1 or output_ragged_rank != rank + outer:  # -1: rows are dense, and stack
        raise refuse(
            f"output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(): "
            f"output_ragged_rank: {output_ragged_rank}, input_ragged_rank: {input_ragged_rank}, "
            f"encoded_ragged.dims(): {outer}."
        )
    held = [_held(v) for v in array.reshape(-1)]
    _check_held(held, max(rank, 0), Tvalues)
    kind = Tsplits.numpy_dtype
    if rank < 0:
        splits = [np.arange(0, array.shape[i] * int(np.prod(array.shape[:i])) + 1, array.shape[i])
                  for i in range(1, outer)]  # fmt: skip
        values = _stacked([h.values for h in held], Tvalues)
        return [*(s.astype(kind) for s in splits), values]
    return _joined(array.shape, held, rank, Tvalues, kind)


def _check_held(held: list[RaggedVariant], rank: int, dtype: DType) -> None:
    for each in held:
        if len(each.splits) != rank:
            raise refuse(
                f"Encoded input RaggedTensorVariant has ragged_rank={len(each.splits)}. Expected "
                f"ragged_rank={rank}."
            )
        if each.values.dtype != dtype.numpy_dtype:
            raise refuse(
                f"Expected values Tensor dtype: {dtype.name}, found: {each.values.dtype}. Give the "
                "dtype that was encoded."
            )


def _stacked(values: list[Array], dtype: DType) -> Array:
    if not values:
        return np.zeros((0,), dtype.numpy_dtype)
    if len({v.shape for v in values}) > 1:
        raise refuse(
            f"All flat_values must have compatible shapes, got {sorted({v.shape for v in values})}."
        )
    return np.stack(values)


def _joined(
    outer: tuple[int, ...], held: list[RaggedVariant], rank: int, dtype: DType, kind: Any
) -> list[Array]:
    """Row splits of the outer dimensions, then those of the parts one after the other."""
    if not outer:
        return [*(s.astype(kind) for s in held[0].splits), held[0].values]
    splits: list[Array] = []
    rows = outer[0]
    for size in outer[1:]:
        splits.append(np.arange(rows + 1) * size)
        rows *= size
    sizes = [len(h.splits[0]) - 1 if rank else len(h.values) for h in held]
    splits.append(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]))
    for level in range(rank):
        lengths = [np.diff(h.splits[level]) for h in held]
        flat = np.concatenate([np.zeros(0, np.int64), *lengths])
        splits.append(np.concatenate([[0], np.cumsum(flat, dtype=np.int64)]))
    inner = {h.values.shape[1:] for h in held}
    if len(inner) > 1:
        raise refuse(f"All flat_values must have compatible shapes, got {sorted(inner)}.")
    values = np.concatenate([h.values for h in held]) if held else np.zeros((0,), dtype.numpy_dtype)
    return [*(s.astype(kind) for s in splits), values]


TO_VARIANT_GRADIENT = define_op(
    "RaggedTensorToVariantGradient(encoded_ragged_grad: variant, row_splits: Tsplits, "
    "dense_values_shape: int32; Tvalues: type, Tsplits: {int32, int64} = int64) -> "
    "dense_values_grad: Tvalues",
    shape=lambda c: c.shape_value(2),
    fallible=True,
    doc="The gradient of RaggedTensorToVariant with respect to the values.",
).without_gradient("it is a gradient itself, and TensorFlow has none of it")


@host_kernel(TO_VARIANT_GRADIENT, limit=_HOST)
def _to_variant_gradient(encoded: Any, row_splits: Array, shape: Array, *, Tvalues: DType) -> Array:
    array = encoded if isinstance(encoded, np.ndarray) else np.asarray(encoded, object)
    kind = Tvalues.numpy_dtype
    parts = []
    for i, each in enumerate(array.reshape(-1)):
        found = each.item() if isinstance(each, np.ndarray) and each.shape == () else each
        if isinstance(found, RaggedVariant):
            parts.append(found.values)
        else:  # nothing came back for this row
            count = int(row_splits[i + 1] - row_splits[i]) if row_splits.size > 1 else 0
            parts.append(np.zeros((count, *shape[1:]), kind))
    if array.ndim and not (len(row_splits) and array.size != len(shape) and row_splits.size):
        values = np.stack(parts) if parts else np.zeros(shape, kind)
    else:
        values = np.concatenate([np.atleast_1d(p) for p in parts]) if parts else np.zeros(shape)
    return np.asarray(values, kind).reshape(tuple(int(n) for n in shape))


@TO_VARIANT.gradient
def _gradient_of_to_variant(op: Any, grad: Any) -> list[Any]:
    *splits, values = op.inputs
    shape = execute("Shape", (values,))
    kind = splits[0].dtype if splits else dt.int32
    outer = splits[0] if splits else np.zeros(0, np.int32)
    for each in splits[1:]:
        outer = execute("GatherV2", (each, outer, np.int32(0)))
    attrs = {"Tvalues": values.dtype, "Tsplits": kind}
    found = execute(TO_VARIANT_GRADIENT, (grad, outer, shape), attrs)
    return [*(None for _ in splits), found]


@FROM_VARIANT.gradient
def _gradient_of_from_variant(op: Any, *grads: Any) -> Any:
    dims = op.inputs[0].dims
    splits = list(op.outputs[:-1])
    batched = dims is not None and len(dims) > 0
    attrs = {"batched_input": batched, "Tsplits": op.get_attr("Tsplits")}
    return execute(TO_VARIANT, (splits, grads[-1]), attrs)


def encoded(value: Any, batched: bool = False, name: str | None = None) -> Tensor:
    """A tensor or ragged tensor as a variant scalar, or as a vector of one for each row."""
    ragged = isinstance(value, RaggedFactories)
    splits: list[Any] = list(value.nested_row_splits) if ragged else []
    flat = value.flat_values if ragged else value
    attrs = {
        "batched_input": batched,
        "Tsplits": splits[0].dtype if splits else dt.int64,
        "RAGGED_RANK": len(splits),
    }
    return execute(TO_VARIANT, (splits, flat), attrs, name)  # type: ignore[no-any-return]


def decoded(
    cls: Any,
    variant: Any,
    dtype: DType,
    ragged_rank: int,
    kind: DType,
    input_ragged_rank: int | None = None,
    name: str | None = None,
) -> Any:
    """The ragged tensor, or for rank 0 the tensor, that a variant holds."""
    attrs = {
        "input_ragged_rank": -1 if input_ragged_rank is None else input_ragged_rank,
        "output_ragged_rank": ragged_rank,
        "Tvalues": dtype,
        "Tsplits": kind,
    }
    *splits, flat = execute(FROM_VARIANT, (variant,), attrs, name)
    splits = list(splits[0]) if splits and isinstance(splits[0], (list, tuple)) else splits
    if not splits:
        return flat
    partitions = [RowPartition.from_row_splits(s, validate=False) for s in splits]
    return cls._from_nested_row_partitions(flat, partitions, validate=False)
