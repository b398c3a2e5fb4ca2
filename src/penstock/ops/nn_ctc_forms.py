"""The operations of `penstock.ops.nn_ctc` that exist here alone, in standard operations."""

from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.ops.array_basics import reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_fill import fill, one_hot
from penstock.ops.array_gather import gather
from penstock.ops.array_join import concat, stack
from penstock.ops.array_order import transpose
from penstock.ops.array_pad import pad
from penstock.ops.array_scatter import scatter_nd
from penstock.ops.array_select import where
from penstock.ops.array_shape import broadcast_to
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import logical_and, logical_or
from penstock.ops.math_range import range as range_of
from penstock.ops.math_reduce import reduce_max, reduce_sum
from penstock.ops.math_scan import cumsum
from penstock.ops.standard_loops import loop_of_rows
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType

# ---- the loss: what `penstock.ops.nn_ctc_alignments` computes


def loss(
    logits: Any, labels: Any, label_length: Any, logit_length: Any, *, blank_index: int, T: DType
) -> tuple[Any, Any]:
    """The loss of all alignments of labels in a dense table, and its gradient.

    The loss has the gradient that is the other result; its second derivative is taken for zero,
    where the operation refuses to have one.
    """
    x = execute("StopGradient", (logits,))
    time, batch, classes = (shape_of(x)[i] for i in range(3))
    most = execute("Maximum", (shape_of(labels)[1], np.int32(1)))
    labels = pad(labels, [[0, 0], [0, most - shape_of(labels)[1]]])
    labels = broadcast_to(labels, [batch, most])
    logit_length = broadcast_to(logit_length, [batch])
    log_p = execute("LogSoftmax", (x,))
    states = _States(labels, label_length, blank_index, T)
    by_state = gather(transpose(log_p, [1, 2, 0]), states.classes, axis=1, batch_dims=1)
    scores = transpose(by_state, [2, 0, 1])
    alphas, final = _forward(scores, states, logit_length, time)
    betas = _backward(scores, states, logit_length, time)
    likely = _total(final + states.end)
    none = logical_and(execute("Equal", (logit_length, 0)), execute("Equal", (label_length, 0)))
    likely = where(execute("Equal", (logit_length, 0)), states.nothing[:, 0], likely)
    likely = where(none, execute("ZerosLike", (likely,)), likely)
    possible = execute("IsFinite", (likely,))
    share = alphas + betas - _finite(likely)[None, :, None]
    share = where(possible[None, :, None], execute("Exp", (share,)), np.zeros((), T.numpy_dtype))
    hits = one_hot(states.classes, classes, dtype=T) * cast(states.valid, T)[:, :, None]
    expected = transpose(execute("BatchMatMulV2", (transpose(share, [1, 0, 2]), hits)), [1, 0, 2])
    inside = (range_of(time)[:, None] < logit_length[None])[..., None]
    gradient = execute("Exp", (log_p,)) - expected
    gradient = where(inside, gradient, np.zeros((), T.numpy_dtype))
    known = where(execute("IsFinite", (logits,)), logits, execute("ZerosLike", (logits,)))
    change = known - execute("StopGradient", (known,))  # 0, with a slope of 1
    gradient = execute("StopGradient", (gradient,))
    return reduce_sum(change * gradient, [0, 2]) - likely, gradient


class _States:
    """The labels of each row with blanks around them, [batch, 2 * most + 1].

    Attributes:
      classes: which class each state is.
      valid: which states a row has.
      skips: which may be reached past a blank.
      nothing: minus infinity for each.
      start, end: 0 where alignments may begin and end, minus infinity elsewhere.
    """

    def __init__(self, labels: Any, label_length: Any, blank: int, dtype: DType) -> None:
        batch, most = (shape_of(labels)[i] for i in range(2))
        blanks = fill([batch, most + 1], np.int32(blank))
        pairs = reshape(stack([blanks[:, 1:], labels], axis=2), [batch, 2 * most])
        full = concat([pairs, blanks[:, :1]], 1)
        place = range_of(2 * most + 1)[None]
        last = 2 * label_length[:, None]
        self.valid = place <= last
        self.classes = where(self.valid, full, execute("ZerosLike", (full,)))
        before = pad(self.classes[:, :-2], [[0, 0], [2, 0]], constant_values=-1)
        is_label = execute("Equal", (execute("FloorMod", (place, np.int32(2))), 1))
        self.skips = logical_and(is_label, execute("NotEqual", (self.classes, before)))
        self.nothing = fill(shape_of(full), np.array(-np.inf, dtype.numpy_dtype))
        zeros = execute("ZerosLike", (self.nothing,))
        self.start = where(logical_and(place <= 1, self.valid), zeros, self.nothing)
        at_label = logical_and(execute("Equal", (place, last - 1)), last > 0)
        at_end = logical_or(execute("Equal", (place, last)), at_label)
        self.end = where(at_end, zeros, self.nothing)


def _forward(scores: Any, states: _States, length: Any, time: Any) -> tuple[Any, Any]:
    """For each frame, what leads to each state, and the last one of these."""

    def step(number: Any, alpha: Any) -> Any:
        skipped = where(states.skips, _shifted(alpha, 2, states), states.nothing)
        moved = _add_up(alpha, _shifted(alpha, 1, states), skipped)
        moved = where(execute("Equal", (number, 0)), states.start, moved)
        after = where(states.valid, moved + scores[number], states.nothing)
        after = where((number < length)[:, None], after, alpha)
        return number, [after], [after]

    kind = scores.dtype, shape_of(states.nothing)
    (final,), (alphas,) = loop_of_rows(time, step, [states.nothing], [kind])
    return alphas, final


def _backward(scores: Any, states: _States, length: Any, time: Any) -> Any:
    """For each frame, what leads from each state to the end."""

    def step(number: Any, state: Any) -> Any:
        frame = time - 1 - number
        ahead = state + scores[execute("Minimum", (frame + 1, time - 1))]
        skipped = where(states.skips, ahead, states.nothing)
        moved = _add_up(ahead, _shifted(ahead, -1, states), _shifted(skipped, -2, states))
        last = execute("Equal", (frame, length - 1))
        after = where(last[:, None], states.end, moved)
        return frame, [after], [after]

    kind = scores.dtype, shape_of(states.nothing)
    return loop_of_rows(time, step, [states.nothing], [kind])[1][0]


def _shifted(x: Any, by: int, states: _States) -> Any:
    """`x` moved along its last axis, minus infinity coming in."""
    if by > 0:
        return concat([states.nothing[:, :by], x[:, :-by]], 1)
    return concat([x[:, -by:], states.nothing[:, :-by]], 1)


def _finite(x: Any) -> Any:
    return where(execute("IsFinite", (x,)), x, execute("ZerosLike", (x,)))


def _add_up(*terms: Any) -> Any:
    """The logarithm of the sum of exponentials, of several terms."""
    most = terms[0]
    for term in terms[1:]:
        most = execute("Maximum", (most, term))
    safe = _finite(most)
    parts = [execute("Exp", (term - safe,)) for term in terms]
    return execute("Log", (execute("AddN", (parts,)),)) + safe


def _total(x: Any) -> Any:
    safe = _finite(reduce_max(x, axis=1))
    return execute("Log", (reduce_sum(execute("Exp", (x - safe[:, None],)), 1),)) + safe


# ---- labels by rows


def unique_by_row(labels: Any, *, T: DType) -> tuple[Any, Any]:
    """The distinct entries of each row, and where each entry is among them.

    Pairs of row and entry are made distinct at once: those of a row follow each other.
    """
    batch, most = (shape_of(labels)[i] for i in range(2))
    flat = reshape(labels, [-1])
    rows = reshape(broadcast_to(range_of(batch)[:, None], [batch, most]), [-1])
    pairs = stack([cast(rows, T), flat], axis=1)
    distinct, places = execute("UniqueV2", (pairs, np.array([0], np.int32)))
    row_of = cast(distinct[:, 0], dt.int32)
    ones = execute("OnesLike", (row_of,))
    counts = execute("UnsortedSegmentSum", (ones, row_of, batch))
    starts = cumsum(counts, exclusive=True)
    within = range_of(shape_of(distinct)[0]) - gather(starts, row_of)
    found = scatter_nd(stack([row_of, within], axis=1), distinct[:, 1], [batch, most])
    indices = places - gather(starts, rows)
    return found, reshape(indices, [batch, most])


def collapse_repeated(labels: Any, seq_length: Any, *, Tlen: DType) -> tuple[Any, Any]:
    """The labels of each row with repetitions merged, and how many each row has."""
    batch, most = (shape_of(labels)[i] for i in range(2))
    place = range_of(most)
    changes = execute("NotEqual", (labels[:, 1:], labels[:, :-1]))
    first = pad(changes, [[0, 0], [execute("Minimum", (most, np.int32(1))), 0]])
    first = logical_or(first, execute("Equal", (place, 0))[None])
    kept = logical_and(first, cast(place, Tlen)[None] < seq_length[:, None])
    counts = reduce_sum(cast(kept, dt.int32), 1)
    chosen = execute("Where", (kept,))
    within = cumsum(cast(kept, dt.int64), axis=1, exclusive=True)
    places = stack([chosen[:, 0], execute("GatherNd", (within, chosen))], axis=1)
    width = execute("Maximum", (reduce_max(counts), np.int32(0)))  # of no rows the least integer
    dims = cast(stack([batch, width]), dt.int64)
    return scatter_nd(places, execute("GatherNd", (labels, chosen)), dims), cast(counts, Tlen)
