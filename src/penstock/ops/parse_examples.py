"""Operations that turn serialised Examples into tensors.

`ParseExampleV2` takes a vector of them or one; `ParseExample` and `ParseSingleExample` are its
older forms. Each asked feature is dense, sparse or ragged. The bytes are read by `parse_columns`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops import parse_wire as wire
from penstock.ops.parse_columns import (
    Array,
    Batch,
    read_dense,
    read_features,
    splits_of,
)
from penstock.ops.string_arrays import HOST, as_bytes, invalid
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

FEATURE = "{float, int64, string}"
NO_GRADIENT = "strings have no gradients"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which features are asked for: (key, dtype) and what else belongs to each."""

    sparse: list[tuple[bytes, DType]] = field(default_factory=list)
    dense: list[tuple[bytes, DType, Sequence[int | None], Array]] = field(default_factory=list)
    ragged: list[tuple[bytes, DType, DType]] = field(default_factory=list)

    @property
    def keys(self) -> list[bytes]:
        """The keys, each once."""
        dense = [each[0] for each in self.dense]
        both = [each[0] for each in self.sparse] + dense + [each[0] for each in self.ragged]
        return list(dict.fromkeys(both))


def check_count(op: str, what: str, got: int, other: str, expected: int) -> None:
    """Refuses lists of unequal length."""
    if got != expected:
        raise invalid(
            f"{op}: Expected len({what}) == {other} but got: {got} vs. {expected}. Give one for "
            "each feature."
        )


def check_dense(op: str, i: int, dims: Dims, default: Array) -> Sequence[int | None]:
    """The shape of dense feature `i`, checked with its default."""
    if dims is None or None in dims[1:]:
        raise invalid(
            f"{op}: dense_shapes[{i}] has unknown rank or unknown inner dimensions: "
            f"{d.text(dims)}. Only the first dimension may be unknown."
        )
    if dims and dims[0] is None:
        if default.size != 1:
            raise invalid(
                f"{op}: dense_shape[{i}] is a variable length shape: {d.text(dims)}, therefore "
                f"def_value[{i}] must contain a single element (the padding element). But its "
                f"shape is: {list(default.shape)}."
            )
    elif default.size and default.shape != dims:
        raise invalid(
            f"{op}: def_value[{i}].shape() == {list(default.shape)} is not compatible with "
            f"dense_shapes_[{i}] == {list(dims)}. Give a default of that shape, or none."
        )
    return dims


def parse_rows(op: str, serialized: Array, names: Array, wanted: Wanted) -> list[Array]:
    """The results of ParseExampleV2, one by one; `serialized` is string[N] or a scalar."""
    single = not serialized.shape
    strings = serialized.reshape(-1).tolist()
    known = names.reshape(-1).tolist()

    def row_name(row: int) -> str:
        if single:
            return ""
        name = known[row].decode(errors="replace") if row < len(known) else "<unknown>"
        return f"Name: {name}, "

    def where(row: int, key: bytes) -> str:
        shown = key.decode(errors="replace")
        return f"Key: {shown}.  " if single else f"{row_name(row)}Key: {shown}, Index: {row}.  "

    data, spans = wire.spans_of(strings)
    if wanted.dense and not wanted.sparse and not wanted.ragged:
        dense = read_dense(data, spans, wanted.dense)
        if dense is not None:
            return [values[0] for values in dense] if single else dense
    batch = read_features(op, data, spans, wanted.keys, row_name, where)
    return assemble(batch, wanted, single)


def assemble(batch: Batch, wanted: Wanted, single: bool) -> list[Array]:
    """Sparse indices, values and shapes, dense values, ragged values and splits."""
    numbers = {key: i for i, key in enumerate(batch.keys)}
    sparse = [batch.sparse(numbers[key], dtype) for key, dtype in wanted.sparse]
    dense = [
        batch.dense(numbers[key], dtype, dims, default)
        for key, dtype, dims, default in wanted.dense
    ]
    ragged = [(batch.column(numbers[key], dtype), split) for key, dtype, split in wanted.ragged]
    if single:
        sparse = [(indices[:, 1:], values, shape[1:]) for indices, values, shape in sparse]
        dense = [values[0] for values in dense]
    splits = [splits_of(column.counts, split) for column, split in ragged]
    return [
        *(each[0] for each in sparse),
        *(each[1] for each in sparse),
        *(each[2] for each in sparse),
        *dense,
        *(column.values for column, _ in ragged),
        *([s[:0] for s in splits] if single else splits),
    ]


def _sparse_dims(count: int, rank: int | None) -> list[Dims]:
    return [(None, rank)] * count + [(None,)] * count + [(rank,)] * count


def _dense_dims(lead: Dims, shapes: Sequence[Dims]) -> list[Dims]:
    return [None if lead is None or dims is None else (*lead, *dims) for dims in shapes]


def _check_shapes(c: ShapeContext, lead: Dims, names: int, keys: Sequence[tuple[int, int]]) -> None:
    """Checks names, and for each (input, count) that there are so many keys."""
    given = c.shape(names)
    if d.num_elements(given) and not d.compatible(given, lead):  # of unknown sizes: maybe none
        c.fail(
            "names of the same shape as serialized",
            f"names.shape={d.text(given)}, serialized.shape={d.text(lead)}",
        )
    for index, count in keys:
        dims = c.shape(index)
        if dims is not None and len(dims) == 1 and dims[0] not in (None, count):
            c.fail(f"{count} keys", f"{dims[0]} in input {index}", "Give one for each feature.")


def _v2_shape(c: ShapeContext) -> list[Dims]:
    lead = c.shape(0)
    if lead is not None and len(lead) > 1:
        c.fail("serialized to be a scalar or vector", f"shape: {d.text(lead)}")
    count, ragged = c.attr("num_sparse"), len(c.attr("ragged_value_types"))
    _check_shapes(c, lead, 1, [(2, count), (3, len(c.attr("Tdense"))), (4, ragged)])
    rows: Dims = (None,)
    if lead is not None:
        rows = (0,) if not lead else (None if lead[0] is None else lead[0] + 1,)
    return [
        *_sparse_dims(count, None if lead is None else len(lead) + 1),
        *_dense_dims(lead, c.attr("dense_shapes")),
        *([(None,)] * ragged),
        *([rows] * ragged),
    ]


PARSE_EXAMPLE_V2 = define_op(
    "ParseExampleV2(serialized: string, names: string, sparse_keys: string, dense_keys: string, "
    f"ragged_keys: string, dense_defaults: [Tdense]; Tdense: list({FEATURE}) >= 0, num_sparse: int "
    f">= 0, sparse_types: list({FEATURE}) >= 0, ragged_value_types: list({FEATURE}) >= 0, "
    "ragged_split_types: list({int32, int64}) >= 0, dense_shapes: list(shape) >= 0) -> "
    "sparse_indices: num_sparse*int64, sparse_values: [sparse_types], sparse_shapes: "
    "num_sparse*int64, dense_values: [Tdense], ragged_values: [ragged_value_types], "
    "ragged_row_splits: [ragged_split_types]",
    shape=_v2_shape,
    doc="Features of serialised Examples, a vector of them or one.",
).not_differentiable(NO_GRADIENT)


@host_kernel(PARSE_EXAMPLE_V2, limit=HOST)
def _parse_example_v2(
    serialized: Array, names: Array, sparse_keys: Array, dense_keys: Array, ragged_keys: Array,
    dense_defaults: list[Array], *, Tdense: Sequence[DType], num_sparse: int,
    sparse_types: Sequence[DType], ragged_value_types: Sequence[DType],
    ragged_split_types: Sequence[DType], dense_shapes: Sequence[Dims],
) -> list[Array]:  # fmt: skip
    op = "ParseExampleV2"
    if serialized.ndim > 1:
        raise invalid(
            f"{op}: Expected serialized to be a scalar or vector, got shape: "
            f"{list(serialized.shape)}. Reshape it with tf.reshape."
        )
    check_count(op, "sparse_types", len(sparse_types), "num_sparse", num_sparse)
    check_count(op, "dense_shapes", len(dense_shapes), "len(dense_types)", len(Tdense))
    check_count(
        op, "ragged_split_types", len(ragged_split_types), "len(ragged_value_types)",
        len(ragged_value_types),
    )  # fmt: skip
    check_count(op, "sparse_keys", sparse_keys.size, "num_sparse", num_sparse)
    check_count(op, "dense_keys", dense_keys.size, "len(dense_types)", len(Tdense))
    check_count(
        op, "ragged_keys", ragged_keys.size, "len(ragged_value_types)", len(ragged_value_types)
    )
    ragged = ragged_keys.reshape(-1).tolist()
    wanted = Wanted(
        list(zip(sparse_keys.reshape(-1).tolist(), sparse_types, strict=True)),
        _dense(op, dense_keys.reshape(-1).tolist(), Tdense, dense_shapes, dense_defaults),
        list(zip(ragged, ragged_value_types, ragged_split_types, strict=True)),
    )
    _check_names(op, names, serialized)
    return parse_rows(op, serialized, names, wanted)


def _check_names(op: str, names: Array, serialized: Array) -> None:
    if names.size and names.shape != serialized.shape:
        raise invalid(
            f"{op}: Expected names have the same shape as serialized: name.shape="
            f"{list(names.shape)}, serialized.shape={list(serialized.shape)}. Give none, or one "
            "for each example."
        )


def _dense(
    op: str, keys: Sequence[bytes], types: Sequence[DType], shapes: Sequence[Dims],
    defaults: Sequence[Array],
) -> list[tuple[bytes, DType, Sequence[int | None], Array]]:  # fmt: skip
    return [
        (key, dtype, check_dense(op, i, dims, default), default)
        for i, (key, dtype, dims, default) in enumerate(
            zip(keys, types, shapes, defaults, strict=True)
        )
    ]


def _v1_shape(c: ShapeContext) -> list[Dims]:
    lead = c.rank(0, 1, "serialized")
    _check_shapes(c, lead, 1, ())
    return [*_sparse_dims(c.attr("Nsparse"), 2), *_dense_dims(lead, c.attr("dense_shapes"))]


PARSE_EXAMPLE = define_op(
    "ParseExample(serialized: string, names: string, sparse_keys: Nsparse*string, dense_keys: "
    "Ndense*string, dense_defaults: [Tdense]; Nsparse: int >= 0, Ndense: int >= 0, sparse_types: "
    f"list({FEATURE}) >= 0, Tdense: list({FEATURE}) >= 0, dense_shapes: list(shape) >= 0) -> "
    "sparse_indices: Nsparse*int64, sparse_values: [sparse_types], sparse_shapes: Nsparse*int64, "
    "dense_values: [Tdense]",
    shape=_v1_shape,
    doc="Features of a vector of serialised Examples.",
).not_differentiable(NO_GRADIENT)


@host_kernel(PARSE_EXAMPLE, limit=HOST)
def _parse_example(
    serialized: Array, names: Array, sparse_keys: list[Array], dense_keys: list[Array],
    dense_defaults: list[Array], *, sparse_types: Sequence[DType], Tdense: Sequence[DType],
    dense_shapes: Sequence[Dims],
) -> list[Array]:  # fmt: skip
    op = "ParseExample"
    check_count(op, "sparse_types", len(sparse_types), "Nsparse", len(sparse_keys))
    check_count(op, "Tdense", len(Tdense), "Ndense", len(dense_keys))
    check_count(op, "dense_shapes", len(dense_shapes), "Ndense", len(dense_keys))
    _check_names(op, names, serialized)
    dense = _dense(op, [k.item() for k in dense_keys], Tdense, dense_shapes, dense_defaults)
    sparse = list(zip([k.item() for k in sparse_keys], sparse_types, strict=True))
    return parse_rows(op, serialized, names, Wanted(sparse, dense))


def _single_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 0, "serialized")
    return [*_sparse_dims(c.attr("num_sparse"), 1), *_dense_dims((), c.attr("dense_shapes"))]


PARSE_SINGLE_EXAMPLE = define_op(
    "ParseSingleExample(serialized: string, dense_defaults: [Tdense]; num_sparse: int >= 0, "
    f"sparse_keys: list(string) >= 0, dense_keys: list(string) >= 0, sparse_types: list({FEATURE}) "
    f">= 0, Tdense: list({FEATURE}) >= 0, dense_shapes: list(shape) >= 0) -> sparse_indices: "
    "num_sparse*int64, sparse_values: [sparse_types], sparse_shapes: num_sparse*int64, "
    "dense_values: [Tdense]",
    shape=_single_shape,
    doc="Features of one serialised Example.",
).not_differentiable(NO_GRADIENT)


@host_kernel(PARSE_SINGLE_EXAMPLE, limit=HOST)
def _parse_single_example(
    serialized: Array, dense_defaults: list[Array], *, num_sparse: int,
    sparse_keys: Sequence[Any], dense_keys: Sequence[Any], sparse_types: Sequence[DType],
    Tdense: Sequence[DType], dense_shapes: Sequence[Dims],
) -> list[Array]:  # fmt: skip
    op = "ParseSingleExample"
    check_count(op, "sparse_keys", len(sparse_keys), "num_sparse", num_sparse)
    check_count(op, "sparse_types", len(sparse_types), "num_sparse", num_sparse)
    check_count(op, "dense_keys", len(dense_keys), "len(Tdense)", len(Tdense))
    check_count(op, "dense_shapes", len(dense_shapes), "len(Tdense)", len(Tdense))
    dense = _dense(op, [as_bytes(k) for k in dense_keys], Tdense, dense_shapes, dense_defaults)
    sparse = list(zip([as_bytes(k) for k in sparse_keys], sparse_types, strict=True))
    none = serialized.reshape(-1)[:0]
    return parse_rows(op, serialized, none, Wanted(sparse, dense))
