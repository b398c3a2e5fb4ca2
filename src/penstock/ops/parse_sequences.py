"""Operations that turn serialised SequenceExamples into tensors.

A SequenceExample has a context, which is an Example's features, and feature lists: for each key a
feature for each step. `ParseSequenceExampleV2` takes a vector of them or one;
`ParseSequenceExample` and `ParseSingleSequenceExample` are its older forms. `parse_lists` reads the
messages.
"""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.parse_columns import Array
from penstock.ops.parse_examples import FEATURE, NO_GRADIENT, Wanted, check_count, check_dense
from penstock.ops.parse_lists import WantedLists, parse_sequences
from penstock.ops.string_arrays import HOST, as_bytes
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


def _context_dims(lead: Dims, sparse: int, dense: Sequence[Dims]) -> list[Dims]:
    rank = None if lead is None else len(lead) + 1
    shaped = [None if lead is None or dims is None else (*lead, *dims) for dims in dense]
    return [(None, rank)] * sparse + [(None,)] * sparse + [(rank,)] * sparse + shaped


def _list_dims(lead: Dims, sparse: int, dense: Sequence[Dims]) -> list[Dims]:
    rank = None if lead is None else len(lead) + 2
    shaped = [None if lead is None or dims is None else (*lead, None, *dims) for dims in dense]
    return [(None, rank)] * sparse + [(None,)] * sparse + [(rank,)] * sparse + shaped


def _check_counts(c: ShapeContext) -> None:
    """Refuses numbers of features that are not those of their types."""
    for number, types in (
        ("Ncontext_sparse", "context_sparse_types"),
        ("Ncontext_dense", "Tcontext_dense"),
        ("Nfeature_list_sparse", "feature_list_sparse_types"),
        ("Nfeature_list_dense", "feature_list_dense_types"),
    ):
        if number in c.attrs and c.attr(number) != len(c.attr(types)):
            c.fail(f"{number} == len({types})", f"{c.attr(number)} and {len(c.attr(types))}")
    for shapes, types in (
        ("context_dense_shapes", "Tcontext_dense"),
        ("feature_list_dense_shapes", "feature_list_dense_types"),
    ):
        if len(c.attr(shapes)) != len(c.attr(types)):
            c.fail(f"len({shapes}) == len({types})", f"{len(c.attr(shapes))}")


def _v2_shape(c: ShapeContext) -> list[Dims]:
    _check_counts(c)
    lead = c.shape(0)
    if lead is not None and len(lead) > 1:
        c.fail("serialized to be a scalar or vector", f"shape: {d.text(lead)}")
    splits: Dims = (None,)
    if lead is not None:
        splits = () if not lead else (None if lead[0] is None else lead[0] + 1,)
    ragged, list_ragged = (
        len(c.attr("context_ragged_value_types")), len(c.attr("feature_list_ragged_value_types"))
    )  # fmt: skip
    dense = c.attr("feature_list_dense_shapes")
    return [
        *_context_dims(lead, c.attr("Ncontext_sparse"), c.attr("context_dense_shapes")),
        *([(None,)] * ragged),
        *([splits] * ragged),
        *_list_dims(lead, c.attr("Nfeature_list_sparse"), dense),
        *([lead] * len(dense)),
        *([(None,)] * list_ragged),
        *([splits] * list_ragged),
        *([(None,)] * list_ragged),
    ]


_CONTEXT_TYPES = (
    f"Tcontext_dense: list({FEATURE}) >= 0 = [], context_sparse_types: list({FEATURE}) >= 0 = []"
)
_LIST_TYPES = (
    f"feature_list_dense_types: list({FEATURE}) >= 0 = [], feature_list_sparse_types: "
    f"list({FEATURE}) >= 0 = []"
)
_CONTEXT_OUTPUTS = (
    "context_sparse_indices: Ncontext_sparse*int64, context_sparse_values: [context_sparse_types], "
    "context_sparse_shapes: Ncontext_sparse*int64, context_dense_values: [Tcontext_dense]"
)
_LIST_OUTPUTS = (
    "feature_list_sparse_indices: Nfeature_list_sparse*int64, feature_list_sparse_values: "
    "[feature_list_sparse_types], feature_list_sparse_shapes: Nfeature_list_sparse*int64, "
    "feature_list_dense_values: [feature_list_dense_types]"
)

PARSE_SEQUENCE_EXAMPLE_V2 = define_op(
    "ParseSequenceExampleV2(serialized: string, debug_name: string, context_sparse_keys: string, "
    "context_dense_keys: string, context_ragged_keys: string, feature_list_sparse_keys: string, "
    "feature_list_dense_keys: string, feature_list_ragged_keys: string, "
    "feature_list_dense_missing_assumed_empty: bool, context_dense_defaults: [Tcontext_dense]; "
    f"Ncontext_sparse: int >= 0 = 0, {_CONTEXT_TYPES}, context_ragged_value_types: "
    f"list({FEATURE}) >= 0 = [], context_ragged_split_types: list({{int32, int64}}) >= 0 = [], "
    "context_dense_shapes: list(shape) >= 0 = [], Nfeature_list_sparse: int >= 0 = 0, "
    f"Nfeature_list_dense: int >= 0 = 0, {_LIST_TYPES}, feature_list_ragged_value_types: "
    f"list({FEATURE}) >= 0 = [], feature_list_ragged_split_types: list({{int32, int64}}) >= 0 = "
    f"[], feature_list_dense_shapes: list(shape) >= 0 = []) -> {_CONTEXT_OUTPUTS}, "
    "context_ragged_values: [context_ragged_value_types], context_ragged_row_splits: "
    f"[context_ragged_split_types], {_LIST_OUTPUTS}, feature_list_dense_lengths: "
    "Nfeature_list_dense*int64, feature_list_ragged_values: [feature_list_ragged_value_types], "
    "feature_list_ragged_outer_splits: [feature_list_ragged_split_types], "
    "feature_list_ragged_inner_splits: [feature_list_ragged_split_types]",
    shape=_v2_shape,
    doc="Features of serialised SequenceExamples, a vector of them or one.",
).not_differentiable(NO_GRADIENT)


def _zipped(op: str, what: str, keys: Sequence[bytes], *others: Sequence[Any]) -> Any:
    """Tuples of a key and what belongs to it; all lists are of one length."""
    for other in others:
        check_count(op, f"{what}_keys", len(keys), f"the number of {what} types", len(other))
    return list(zip(keys, *others, strict=True))


def _context_dense(
    op: str, keys: Sequence[bytes], types: Sequence[DType], shapes: Sequence[Dims],
    defaults: Sequence[Array],
) -> Any:  # fmt: skip
    found = _zipped(op, "context_dense", keys, types, shapes, defaults)
    return [(k, t, check_dense(op, i, s, v), v) for i, (k, t, s, v) in enumerate(found)]


@host_kernel(PARSE_SEQUENCE_EXAMPLE_V2, limit=HOST)
def _parse_sequence_example_v2(
    serialized: Array, debug_name: Array, context_sparse_keys: Array, context_dense_keys: Array,
    context_ragged_keys: Array, feature_list_sparse_keys: Array, feature_list_dense_keys: Array,
    feature_list_ragged_keys: Array, feature_list_dense_missing_assumed_empty: Array,
    context_dense_defaults: list[Array], *, Tcontext_dense: Sequence[DType],
    context_sparse_types: Sequence[DType], context_ragged_value_types: Sequence[DType],
    context_ragged_split_types: Sequence[DType], context_dense_shapes: Sequence[Dims],
    feature_list_dense_types: Sequence[DType], feature_list_sparse_types: Sequence[DType],
    feature_list_ragged_value_types: Sequence[DType],
    feature_list_ragged_split_types: Sequence[DType], feature_list_dense_shapes: Sequence[Dims],
) -> list[Array]:  # fmt: skip
    op = "ParseSequenceExampleV2"
    keys: Callable[[Array], list[bytes]] = lambda array: array.reshape(-1).tolist()  # noqa: E731
    context = Wanted(
        _zipped(op, "context_sparse", keys(context_sparse_keys), context_sparse_types),
        _context_dense(
            op, keys(context_dense_keys), Tcontext_dense, context_dense_shapes,
            context_dense_defaults,
        ),
        _zipped(
            op, "context_ragged", keys(context_ragged_keys), context_ragged_value_types,
            context_ragged_split_types,
        ),
    )  # fmt: skip
    lists = WantedLists(
        _zipped(
            op, "feature_list_sparse", keys(feature_list_sparse_keys), feature_list_sparse_types
        ),
        _zipped(
            op, "feature_list_dense", keys(feature_list_dense_keys), feature_list_dense_types,
            feature_list_dense_shapes, feature_list_dense_missing_assumed_empty.tolist(),
        ),
        _zipped(
            op, "feature_list_ragged", keys(feature_list_ragged_keys),
            feature_list_ragged_value_types, feature_list_ragged_split_types,
        ),
    )  # fmt: skip
    first, second = parse_sequences(op, serialized, debug_name, context, lists)
    return [*first, *second]


def _v1_shape(c: ShapeContext) -> list[Dims]:
    _check_counts(c)
    names = c.shape(1)
    if names is not None and len(names) != 1:
        c.fail("debug_name of rank 1", f"shape {d.text(names)}")
    lead = c.rank(0, 1, "serialized")
    dense = c.attr("feature_list_dense_shapes")
    return [
        *_context_dims(lead, c.attr("Ncontext_sparse"), c.attr("context_dense_shapes")),
        *_list_dims(lead, c.attr("Nfeature_list_sparse"), dense),
        *([lead] * len(dense)),
    ]


PARSE_SEQUENCE_EXAMPLE = define_op(
    "ParseSequenceExample(serialized: string, debug_name: string, context_dense_defaults: "
    "[Tcontext_dense]; feature_list_dense_missing_assumed_empty: list(string) >= 0, "
    "context_sparse_keys: list(string) >= 0, context_dense_keys: list(string) >= 0, "
    "feature_list_sparse_keys: list(string) >= 0, feature_list_dense_keys: list(string) >= 0, "
    "Ncontext_sparse: int >= 0 = 0, Ncontext_dense: int >= 0 = 0, Nfeature_list_sparse: int >= 0 = "
    f"0, Nfeature_list_dense: int >= 0 = 0, context_sparse_types: list({FEATURE}) >= 0 = [], "
    f"Tcontext_dense: list({FEATURE}) >= 0 = [], feature_list_dense_types: list({FEATURE}) >= 0 = "
    f"[], context_dense_shapes: list(shape) >= 0 = [], feature_list_sparse_types: list({FEATURE}) "
    f">= 0 = [], feature_list_dense_shapes: list(shape) >= 0 = []) -> {_CONTEXT_OUTPUTS}, "
    f"{_LIST_OUTPUTS}, feature_list_dense_lengths: Nfeature_list_dense*int64",
    shape=_v1_shape,
    doc="Features of a vector of serialised SequenceExamples.",
).not_differentiable(NO_GRADIENT)


def _may_miss(keys: Sequence[bytes], assumed_empty: Sequence[bytes]) -> list[bool]:
    return [key in assumed_empty for key in keys]


@host_kernel(PARSE_SEQUENCE_EXAMPLE, limit=HOST)
def _parse_sequence_example(
    serialized: Array, debug_name: Array, context_dense_defaults: list[Array], *,
    feature_list_dense_missing_assumed_empty: Sequence[Any], context_sparse_keys: Sequence[Any],
    context_dense_keys: Sequence[Any], feature_list_sparse_keys: Sequence[Any],
    feature_list_dense_keys: Sequence[Any], context_sparse_types: Sequence[DType],
    Tcontext_dense: Sequence[DType], feature_list_dense_types: Sequence[DType],
    context_dense_shapes: Sequence[Dims], feature_list_sparse_types: Sequence[DType],
    feature_list_dense_shapes: Sequence[Dims],
) -> list[Array]:  # fmt: skip
    op = "ParseSequenceExample"
    context = Wanted(
        _zipped(
            op, "context_sparse", [as_bytes(k) for k in context_sparse_keys], context_sparse_types
        ),
        _context_dense(
            op, [as_bytes(k) for k in context_dense_keys], Tcontext_dense, context_dense_shapes,
            context_dense_defaults,
        ),
    )  # fmt: skip
    dense = [as_bytes(k) for k in feature_list_dense_keys]
    missing = [as_bytes(k) for k in feature_list_dense_missing_assumed_empty]
    lists = WantedLists(
        _zipped(
            op, "feature_list_sparse", [as_bytes(k) for k in feature_list_sparse_keys],
            feature_list_sparse_types,
        ),
        _zipped(
            op, "feature_list_dense", dense, feature_list_dense_types, feature_list_dense_shapes,
            _may_miss(dense, missing),
        ),
    )  # fmt: skip
    first, second = parse_sequences(op, serialized, debug_name, context, lists)
    return [*first, *second]


def _single_shape(c: ShapeContext) -> list[Dims]:
    _check_counts(c)
    c.rank(0, 0, "serialized")
    c.rank(1, 1, "feature_list_dense_missing_assumed_empty")
    counts = ("Ncontext_sparse", "Ncontext_dense", "Nfeature_list_sparse", "Nfeature_list_dense")
    keys = sum(c.attr(count) for count in counts)
    for index in (*range(2, 2 + keys), len(c) - 1):
        c.rank(index, 0, "a key or debug_name")
    return [
        *_context_dims((), c.attr("Ncontext_sparse"), c.attr("context_dense_shapes")),
        *_list_dims((), c.attr("Nfeature_list_sparse"), c.attr("feature_list_dense_shapes")),
    ]


PARSE_SINGLE_SEQUENCE_EXAMPLE = define_op(
    "ParseSingleSequenceExample(serialized: string, feature_list_dense_missing_assumed_empty: "
    "string, context_sparse_keys: Ncontext_sparse*string, context_dense_keys: "
    "Ncontext_dense*string, feature_list_sparse_keys: Nfeature_list_sparse*string, "
    "feature_list_dense_keys: Nfeature_list_dense*string, context_dense_defaults: [Tcontext_dense],"
    " debug_name: string; Ncontext_sparse: int >= 0 = 0, Ncontext_dense: int >= 0 = 0, "
    "Nfeature_list_sparse: int >= 0 = 0, Nfeature_list_dense: int >= 0 = 0, context_sparse_types: "
    f"list({FEATURE}) >= 0 = [], Tcontext_dense: list({FEATURE}) >= 0 = [], "
    f"feature_list_dense_types: list({FEATURE}) >= 0 = [], context_dense_shapes: list(shape) >= 0 "
    f"= [], feature_list_sparse_types: list({FEATURE}) >= 0 = [], feature_list_dense_shapes: "
    f"list(shape) >= 0 = []) -> {_CONTEXT_OUTPUTS}, {_LIST_OUTPUTS}",
    shape=_single_shape,
    doc="Features of one serialised SequenceExample.",
).not_differentiable(NO_GRADIENT)


@host_kernel(PARSE_SINGLE_SEQUENCE_EXAMPLE, limit=HOST)
def _parse_single_sequence_example(
    serialized: Array, feature_list_dense_missing_assumed_empty: Array,
    context_sparse_keys: list[Array], context_dense_keys: list[Array],
    feature_list_sparse_keys: list[Array], feature_list_dense_keys: list[Array],
    context_dense_defaults: list[Array], debug_name: Array, *,
    context_sparse_types: Sequence[DType], Tcontext_dense: Sequence[DType],
    feature_list_dense_types: Sequence[DType], context_dense_shapes: Sequence[Dims],
    feature_list_sparse_types: Sequence[DType], feature_list_dense_shapes: Sequence[Dims],
) -> list[Array]:  # fmt: skip
    op = "ParseSingleSequenceExample"
    context = Wanted(
        _zipped(
            op, "context_sparse", [k.item() for k in context_sparse_keys], context_sparse_types
        ),
        _context_dense(
            op, [k.item() for k in context_dense_keys], Tcontext_dense, context_dense_shapes,
            context_dense_defaults,
        ),
    )  # fmt: skip
    dense = [k.item() for k in feature_list_dense_keys]
    missing = feature_list_dense_missing_assumed_empty.reshape(-1).tolist()
    lists = WantedLists(
        _zipped(
            op, "feature_list_sparse", [k.item() for k in feature_list_sparse_keys],
            feature_list_sparse_types,
        ),
        _zipped(
            op, "feature_list_dense", dense, feature_list_dense_types, feature_list_dense_shapes,
            _may_miss(dense, missing),
        ),
    )  # fmt: skip
    first, second = parse_sequences(op, serialized, debug_name, context, lists)
    length = len(feature_list_dense_types)
    return [*first, *(second[: len(second) - length] if length else second)]
