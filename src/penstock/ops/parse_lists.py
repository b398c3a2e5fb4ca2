"""The features of serialised SequenceExamples as arrays.

The context is read as an Example's features are. A feature list has a feature for each step; the
steps of all rows together are the rows of one more `Batch`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from penstock.core.native_wire import BrokenMessageError
from penstock.ops import parse_wire as wire
from penstock.ops.parse_columns import Array, Batch, bound, broken, read_features, splits_of
from penstock.ops.parse_examples import Wanted, assemble
from penstock.ops.parse_wire import Spans
from penstock.ops.string_arrays import invalid
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


@dataclass(frozen=True, slots=True)
class WantedLists:
    """Which feature lists are asked for: (key, dtype) and what else belongs to each."""

    sparse: list[tuple[bytes, DType]] = field(default_factory=list)
    dense: list[tuple[bytes, DType, Dims, bool]] = field(default_factory=list)  # may be missing
    ragged: list[tuple[bytes, DType, DType]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Steps:
    """One feature list of N rows.

    Attributes:
      steps: int64[N], the number of steps in each row.
      present: bool[N], whether the row has the list.
      batch: the steps' features.
      row_name: says for errors which row it is.
    """

    steps: Array
    present: Array
    batch: Batch
    row_name: Callable[[int], str]


def parse_sequences(
    op: str, serialized: Array, names: Array, context: Wanted, lists: WantedLists
) -> tuple[list[Array], list[Array]]:
    """The results for the context and for the feature lists; string[N] or a scalar."""
    if serialized.ndim > 1:
        raise invalid(
            f"{op}: Expected serialized to be a scalar or vector, got shape: "
            f"{list(serialized.shape)}. Reshape it with tf.reshape."
        )
    single = not serialized.shape
    known = names.reshape(-1).tolist()
    if known and not single and len(known) != serialized.size:
        raise invalid(
            f"{op}: Expected names have the same shape as serialized: name.shape="
            f"{list(names.shape)}, serialized.shape={list(serialized.shape)}. Give none, or one "
            "for each example."
        )

    def row_name(row: int) -> str:
        name = known[row].decode(errors="replace") if row < len(known) else "<unknown>"
        return f"Name: {name}, "

    def where(row: int, key: bytes) -> str:
        return f"{row_name(row)}Context feature: {key.decode(errors='replace')}.  "

    data, spans = wire.spans_of(serialized.reshape(-1).tolist())
    batch = read_features(op, data, spans, context.keys, row_name, where)
    return _context(batch, context, single), _lists(batch, spans, lists, single)


def _context(batch: Batch, wanted: Wanted, single: bool) -> list[Array]:
    """As of an Example; but the row splits of one are a scalar, as TensorFlow has them."""
    found = assemble(batch, wanted, single)
    count = len(wanted.ragged)
    if not single or not count:
        return found
    return found[:-count] + [np.zeros((), splits.dtype) for splits in found[-count:]]


def _lists(batch: Batch, spans: Spans, wanted: WantedLists, single: bool) -> list[Array]:
    dense_keys = [each[0] for each in wanted.dense]
    both = [each[0] for each in wanted.sparse] + dense_keys + [each[0] for each in wanted.ragged]
    keys = list(dict.fromkeys(both))
    try:
        starts, ends = wire.map_values(batch.data, spans, 2, keys)
    except BrokenMessageError as problem:
        row = problem.row
        message = batch.data[spans.starts[row] : spans.ends[row]]
        raise broken(batch.op, message, batch.row_name(row)) from None
    found = {
        key: _steps(batch, key, Spans(starts[i], ends[i]), spans) for i, key in enumerate(keys)
    }
    sparse = [_sparse(found[key], dtype) for key, dtype in wanted.sparse]
    dense = [_dense(found[key], dtype, dims, miss) for key, dtype, dims, miss in wanted.dense]
    lengths = [found[key].steps for key in dense_keys]
    ragged = [(found[key], found[key].batch.column(0, t), s) for key, t, s in wanted.ragged]
    outer = [splits_of(steps.steps, split) for steps, _, split in ragged]
    if single:
        sparse = [(indices[:, 1:], values, shape[1:]) for indices, values, shape in sparse]
        dense = [values[0] for values in dense]
        lengths = [steps[0] for steps in lengths]
        outer = [splits[0] for splits in outer]
    return [
        *(each[0] for each in sparse),
        *(each[1] for each in sparse),
        *(each[2] for each in sparse),
        *dense,
        *lengths,
        *(column.values for _, column, _ in ragged),
        *outer,
        *(splits_of(column.counts, split) for _, column, split in ragged),
    ]


def _steps(batch: Batch, key: bytes, lists: Spans, rows: Spans) -> _Steps:
    """The features of one feature list, as a batch whose rows are the steps."""
    data, row_name, shown = batch.data, batch.row_name, key.decode(errors="replace")
    try:
        steps, features = wire.repeated(data, lists)
        kinds, values = wire.kinds(data, features)
    except BrokenMessageError as problem:
        row = problem.row % max(len(rows.starts), 1)
        message = data[rows.starts[row] : rows.ends[row]]
        raise broken(batch.op, message, row_name(row)) from None
    ends = np.cumsum(steps)

    def where(step: int, key: bytes) -> str:
        row = int(np.searchsorted(ends, step, "right"))
        index = step - int(ends[row] - steps[row])
        return f"{row_name(row)}Feature list: {shown}, Index: {index}.  "

    one = Spans(values.starts[None], values.ends[None])
    inner = Batch(batch.op, data, [key], kinds[None], one, lambda step: where(step, key), where)
    return _Steps(steps, lists.starts >= 0, inner, row_name)


def _sparse(steps: _Steps, dtype: DType) -> tuple[Array, Array, Array]:
    indices, values, inner = steps.batch.sparse(0, dtype)
    rows = np.repeat(np.arange(len(steps.steps)), steps.steps)
    index = np.arange(len(rows)) - (np.cumsum(steps.steps) - steps.steps)[rows]
    step = indices[:, 0]
    longest = steps.steps.max(initial=0)
    shape = np.array([len(steps.steps), longest, inner[1]], np.int64)
    return np.stack([rows[step], index[step], indices[:, 1]], 1), values, shape


def _dense(steps: _Steps, dtype: DType, dims: Dims, may_miss: bool) -> Array:
    batch, key = steps.batch, steps.batch.keys[0]
    if dims is None or None in dims:
        raise invalid(
            f"{batch.op}: expected a fully known shape for the steps of feature list "
            f"'{key.decode(errors='replace')}', got {d.text(dims)}. Use RaggedFeature or "
            "VarLenFeature for steps of different sizes."
        )
    if not may_miss and not steps.present.all():
        row = int(steps.present.argmin())
        raise invalid(
            f"{batch.op}: {steps.row_name(row)}Feature list '{key.decode(errors='replace')}' is "
            "required but could not be found. Did you mean to include it in "
            "feature_list_dense_missing_assumed_empty (FixedLenSequenceFeature's allow_missing)?"
        )
    values = batch.dense(0, dtype, dims, np.zeros(0, dtype.numpy_dtype))
    rows, longest = len(steps.steps), int(steps.steps.max(initial=0))
    bound(batch.op, rows * longest * max(values[:1].size, 1), len(batch.data))
    fill = np.array(b"" if values.dtype == object else 0, values.dtype)
    result = np.full((rows, longest, *values.shape[1:]), fill, values.dtype)
    result[np.arange(longest) < steps.steps[:, None]] = values
    return result
