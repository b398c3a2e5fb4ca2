"""Connectionist temporal classification: the loss of all alignments of labels with frames.

One computation, `nn_ctc_alignments`, serves host and compiled regions; operations differ in how
labels come.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_ctc
from penstock.core.composite import SparseTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, host_kernel, kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.graph.standard_forms import standard_form
from penstock.ops import nn_ctc_forms
from penstock.ops.array_join import concat
from penstock.ops.array_order import transpose
from penstock.ops.array_select import where
from penstock.ops.array_shape import expand_dims
from penstock.ops.composing import scope, shape_of
from penstock.ops.math_arithmetic import add, multiply, subtract
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import less
from penstock.ops.nn_ctc_alignments import alignments
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray, jax.Array or a tracer
_HOST = 1 << 62


# ---- operations


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _loss_shape(c: ShapeContext) -> list[Dims]:
    dims = c.rank(0, 3) or (None, None, None)
    c.rank(1, 2)
    c.rank(2, 1)
    batch = c.merge((dims[1],), c.rank(3, 1)) or (None,)
    return [batch, (dims[0], batch[0], dims[2])]


_LOSS_ATTRS = (
    "preprocess_collapse_repeated: bool = False, ctc_merge_repeated: bool = True, "
    "ignore_longer_outputs_than_inputs: bool = False"
)
_LOSS_INPUTS = "labels_indices: int64, labels_values: int32, sequence_length: int32"
LOSS = define_op(
    f"CTCLoss(inputs: T, {_LOSS_INPUTS}; {_LOSS_ATTRS}, T: {{float, double}} = float) -> loss: T, "
    "gradient: T",
    shape=_loss_shape,
    fallible=True,
    doc="The loss of all alignments of sparse labels, the last class being blank.",
)
LOSS_V2 = define_op(
    f"CTCLossV2(inputs: float, {_LOSS_INPUTS}; {_LOSS_ATTRS}) -> loss: float, gradient: float",
    shape=_loss_shape,
    fallible=True,
    doc="The loss of all alignments of sparse labels, class 0 being blank.",
)


def _sparse_loss(
    blank: int,
    inputs: Array,
    indices: Array,
    values: Array,
    sequence_length: Array,
    collapse: bool,
    merge: bool,
    ignore_longer: bool,
) -> tuple[Array, Array]:
    time, batch, classes = inputs.shape
    blank %= classes
    if sequence_length.max(initial=0) > time:
        raise _invalid(
            f"sequence_length(b) <= {time} expected, got {sequence_length.tolist()}. There are"
            f" {time} frames."
        )
    options = blank, collapse, merge, ignore_longer
    found = native_ctc.sparse_loss(inputs, indices, values, sequence_length, *options)
    if found is not None:
        return found
    rows = _rows(indices, values, batch, classes, blank, collapse)
    lengths = np.array([len(r) for r in rows], np.int64)
    too_long = lengths > sequence_length
    if too_long.any() and not ignore_longer:
        row = int(np.flatnonzero(too_long)[0])
        raise _invalid(
            f"Not enough time for target transition sequence (required: {lengths[row]}, available:"
            f" {sequence_length[row]}) in row {row}. You can turn this error into a warning by"
            " using the flag ignore_longer_outputs_than_inputs"
        )
    table = np.zeros((batch, max(1, int(lengths.max(initial=0)))), np.int64)
    for i, row_labels in enumerate(rows):
        table[i, : len(row_labels)] = row_labels
    loss, gradient = alignments(
        np, inputs, table, lengths, sequence_length, blank, merge, flush=True
    )
    loss[too_long] = 0
    gradient[:, too_long] = 0
    return loss, gradient


def _rows(
    indices: Array, values: Array, batch: int, classes: int, blank: int, collapse: bool
) -> list[list[int]]:
    """The labels of each row, checked."""
    rows: list[list[int]] = [[] for _ in range(batch)]
    for (row, _), label in zip(indices.tolist(), values.tolist(), strict=True):
        if not 0 <= row < batch:
            raise _invalid(f"labels batch index must be between 0 and {batch} but saw: {row}.")
        if not 0 <= label < classes or label == blank:
            raise _invalid(
                f"Saw a label out of range: expected one of {classes} classes but not the blank"
                f" {blank}, got {label} in row {row}. Mind which class is the blank."
            )
        if not (collapse and rows[row] and rows[row][-1] == label):
            rows[row].append(label)
    for i, row in enumerate(rows):
        if not row:
            raise _invalid(f"Labels length is zero in batch {i}. Leave out rows without labels.")
    return rows


def _register_loss(op: OpDef, blank: int) -> None:
    @host_kernel(op, limit=_HOST)
    def run(
        inputs: Array,
        labels_indices: Array,
        labels_values: Array,
        sequence_length: Array,
        *,
        preprocess_collapse_repeated: bool,
        ctc_merge_repeated: bool,
        ignore_longer_outputs_than_inputs: bool,
    ) -> tuple[Array, Array]:
        return _sparse_loss(
            blank,
            inputs,
            labels_indices,
            labels_values,
            sequence_length,
            preprocess_collapse_repeated,
            ctc_merge_repeated,
            ignore_longer_outputs_than_inputs,
        )


_register_loss(LOSS, -1)  # the last class
_register_loss(LOSS_V2, 0)


def _scaled(op: Any, grad_loss: Any) -> Any:
    held = execute(
        "PreventGradient",
        (op.outputs[1],),
        {
            "message": "The second derivative of ctc_loss is not there: the operation gives its"
            " first one together with the loss."
        },
    )
    return multiply(held, expand_dims(expand_dims(grad_loss, 0), 2))


@LOSS.gradient
@LOSS_V2.gradient
def _loss_gradient(op: Any, grad_loss: Any, grad_gradient: Any) -> list[Any]:
    del grad_gradient
    return [_scaled(op, grad_loss), None, None, None]


def _dense_loss_shape(c: ShapeContext) -> list[Dims]:
    dims = c.rank(0, 3, "logits") or (None, None, None)
    blank, classes = c.attr("blank_index"), dims[2]
    if classes is not None and not -classes <= blank < classes:
        problem = f"blank_index in [{-classes}, {classes}) for logits of {classes} classes"
        c.fail(problem, str(blank), "Mind which class stands for no label.")
    batch = c.merge((dims[1],), c.rank(2, 1, "label_length")) or (None,)
    for index, rank, name in ((1, 2, "labels"), (3, 1, "logit_length")):
        rows = (c.rank(index, rank, name) or (None,))[:1]
        if rows != (1,):  # one row is that of all
            batch = c.merge(batch, rows) or (None,)
    return [batch, (dims[0], batch[0], dims[2])]


DENSE_LOSS = define_op(
    "PenstockCTCLoss(logits: T, labels: int32, label_length: int32, logit_length: int32; "
    "blank_index: int = 0, T: {float, double}) -> loss: T, gradient: T",
    shape=_dense_loss_shape,
    fallible=True,
    doc="The loss of all alignments of labels in a dense table.",
)


@kernel(DENSE_LOSS)
def _dense_loss(
    ctx: KernelContext,
    xp: Any,
    logits: Array,
    labels: Array,
    label_length: Array,
    logit_length: Array,
    *,
    blank_index: int,
) -> tuple[Array, Array]:
    if labels.shape[1] == 0:
        labels = xp.zeros((labels.shape[0], 1), labels.dtype)
    blank = blank_index + logits.shape[2] if blank_index < 0 else blank_index
    labels = xp.broadcast_to(labels, (logits.shape[1], labels.shape[1]))
    logit_length = xp.broadcast_to(logit_length, (logits.shape[1],))
    counted = xp.arange(labels.shape[1])[None] < label_length[:, None]
    wrong = counted & ((labels < 0) | (labels >= logits.shape[2]))
    ctx.check(
        xp.logical_not(xp.any(wrong)),
        errors.InvalidArgumentError,
        lambda: (
            f"Saw a label out of range: expected labels in [0, {logits.shape[2]}) where they count."
            " Mind the number of classes and label_length."
        ),
    )
    given = logits, labels, label_length, logit_length, blank
    found = native_ctc.loss(*given, merge=True) if xp is np else None
    return alignments(xp, *given) if found is None else found


standard_form(DENSE_LOSS)(nn_ctc_forms.loss)


@DENSE_LOSS.gradient
def _dense_loss_gradient(op: Any, grad_loss: Any, grad_gradient: Any) -> list[Any]:
    del grad_gradient
    return [_scaled(op, grad_loss), None, None, None]


# ---- public functions

_HALF = (dt.float16, dt.bfloat16)


def ctc_loss(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Any:
    """The CTC loss (Graves et al., ICML 2006).

    Args:
      labels: integers [batch, most labels], or a SparseTensor of int32. One row is that of all.
      logits: floating, [time, batch, classes]; half precision is computed in float32.
      label_length: integers [batch], how many labels of each row count; None with a SparseTensor.
      logit_length: integers [batch] or [1], how many frames of each row count.
      logits_time_major: whether logits are [time, batch, classes]; else [batch, time, classes].
      unique: what `ctc_unique_labels(labels)` gives; accepted for compatibility.
      blank_index: the class that stands for no label, from the end when negative; 0 by default with
        dense labels.
      name: the name of the operations in a graph.

    Returns:
      Tensor of the dtype of `logits`, [batch]: minus the logarithms of the probabilities of the
      labels; infinity where there are more labels than frames.

    Raises:
      ValueError: the blank of sparse labels or the lengths of dense ones are missing.
      InvalidArgumentError: dense labels or lengths are not those of the batch; a label is no class.
    """
    del unique
    with scope(name, "ctc_loss"):
        logits = convert_to_tensor(logits, name="logits")
        if logits.dtype in _HALF:
            wide, lengths = cast(logits, dt.float32), (label_length, logit_length)
            loss = ctc_loss(labels, wide, *lengths, logits_time_major, None, blank_index)
            return cast(loss, logits.dtype)
        if isinstance(labels, SparseTensor):
            if blank_index is None:
                raise ValueError(
                    "Argument `blank_index` must be provided when labels is a SparseTensor. Give"
                    " -1 for the last class."
                )
            return _loss_of_sparse(labels, logits, logit_length, logits_time_major, blank_index)
        if label_length is None or logit_length is None:
            raise ValueError(
                "Arguments `label_length` and `logit_length` must be given with dense labels: got"
                f" {label_length!r} and {logit_length!r}."
            )
        if not logits_time_major:
            logits = transpose(logits, [1, 0, 2])
        attrs = {"blank_index": 0 if blank_index is None else blank_index}
        inputs = [cast(v, dt.int32) for v in (labels, label_length, logit_length)]
        return execute(DENSE_LOSS, (logits, *inputs), attrs)[0]


def _place_of(blank: int, logits: Tensor) -> Any:
    """The place of the blank class, from 0 on: a number, or a tensor if it follows from a shape."""
    classes = None if logits.dims is None else logits.dims[2]
    if classes is not None and not -classes <= blank < classes:
        raise ValueError(
            f"expected blank_index in [{-classes}, {classes}) for logits of {classes} classes, got"
            f" {blank}. Mind which class stands for no label."
        )
    if blank >= 0:
        return blank
    if classes is not None:
        return blank + classes
    return add(shape_of(logits)[2], blank)


def _loss_of_sparse(
    labels: SparseTensor, logits: Any, lengths: Any, time_major: bool, blank: int
) -> Any:
    last = None if logits.dims is None else logits.dims[2]
    if blank not in (-1, None if last is None else last - 1):
        blank = _place_of(blank, logits)
        logits = concat(
            [logits[:, :, :blank], logits[:, :, blank + 1 :], logits[:, :, blank : blank + 1]], 2
        )
        values = cast(labels.values, dt.int32)
        values = where(less(values, blank), values, subtract(values, 1))
        labels = SparseTensor(labels.indices, values, labels.dense_shape)
    return ctc_loss_v1(labels, logits, lengths, time_major=time_major)


def ctc_loss_v1(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Any:
    """The CTC loss of sparse labels; the last class is blank.

    Args:
      labels: a SparseTensor of int32, [batch, labels].
      inputs: floating, [time, batch, classes]; half precision is computed in float32.
      sequence_length: int32[batch], how many frames of each row count.
      preprocess_collapse_repeated: whether repeated labels are one label before anything else.
      ctc_merge_repeated: whether frames of one label in a row are one label.
      ignore_longer_outputs_than_inputs: whether rows with more labels than frames have loss 0
        rather than being an error.
      time_major: whether inputs are [time, batch, classes]; else [batch, time, classes].
      logits: another name of `inputs`.

    Returns:
      Tensor of the dtype of `inputs`, [batch].

    Raises:
      TypeError: labels are no SparseTensor.
      InvalidArgumentError: a label is out of range, or a row has no labels or more than frames.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError(
            f"Expected argument `labels` to be a SparseTensor. Received labels={labels!r} of type"
            f" {type(labels).__name__}. Use tf.nn.ctc_loss for dense labels."
        )
    inputs = convert_to_tensor(inputs if logits is None else logits)
    dtype = inputs.dtype
    if dtype in _HALF:
        inputs = cast(inputs, dt.float32)
    if not time_major:
        inputs = transpose(inputs, [1, 0, 2])
    attrs = {
        "preprocess_collapse_repeated": preprocess_collapse_repeated,
        "ctc_merge_repeated": ctc_merge_repeated,
        "ignore_longer_outputs_than_inputs": ignore_longer_outputs_than_inputs,
    }
    parts = (inputs, cast(labels.indices, dt.int64), cast(labels.values, dt.int32))
    loss = execute(LOSS, (*parts, cast(sequence_length, dt.int32)), attrs)[0]
    return cast(loss, dtype)


def ctc_unique_labels(labels: Any, name: str | None = None) -> list[Any]:
    """The distinct labels of each row, in order, and where each label is among them.

    Args:
      labels: integers [batch, most labels].
      name: the name of the operations in a graph.

    Returns:
      A list of int64[batch, most labels], the distinct labels with 0 behind them, and int32 indices
      of that shape.

    Example:
      >>> [t.numpy().tolist() for t in ctc_unique_labels([[3, 4, 4, 3]])]
      [[[3, 4, 0, 0]], [[0, 1, 1, 0]]]
    """
    with scope(name, "ctc_unique_labels"):
        labels = cast(convert_to_tensor(labels, name="labels"), dt.int64)
        return list(execute(UNIQUE_LABELS, (labels,)))


UNIQUE_LABELS = define_op(
    "PenstockUniqueByRow(labels: T; T: {int32, int64}) -> unique: T, indices: int32",
    shape=lambda c: [c.rank(0, 2), c.shape(0)],
    doc="The distinct entries of each row, and where each entry is among them.",
).not_differentiable("the results are integers")
standard_form(UNIQUE_LABELS)(nn_ctc_forms.unique_by_row)


@host_kernel(UNIQUE_LABELS, limit=_HOST)
def _unique_by_row(labels: Array) -> tuple[Array, Array]:
    found, indices = np.zeros_like(labels), np.zeros(labels.shape, np.int32)
    for i, row in enumerate(labels.tolist()):
        order = {label: place for place, label in enumerate(dict.fromkeys(row))}
        found[i, : len(order)] = list(order)
        indices[i] = [order[label] for label in row]
    return found, indices


def collapse_repeated(labels: Any, seq_length: Any, name: str | None = None) -> Any:
    """Merges repeated labels of each row into one.

    Args:
      labels: [batch, most labels].
      seq_length: integers [batch], how many labels of each row count.
      name: the name of the operations in a graph.

    Returns:
      The merged labels, 0 behind them, and how many each row has: [batch, most merged], [batch].

    Example:
      >>> [t.numpy().tolist() for t in collapse_repeated([[1, 1, 2, 2, 1]], [5])]
      [[[1, 2, 1]], [3]]
    """
    with scope(name, "collapse_repeated"):
        labels = convert_to_tensor(labels, name="labels")
        lengths = convert_to_tensor(seq_length, name="seq_length")
        merged, counts = execute(COLLAPSE, (labels, lengths))
        return merged, counts


COLLAPSE = define_op(
    "PenstockCollapseRepeated(labels: T, seq_length: Tlen; T: type, Tlen: {int32, int64}) -> "
    "merged: T, count: Tlen",
    shape=lambda c: [(c.rank(0, 2)[0], None), c.rank(1, 1)],
    doc="The labels of each row with repetitions merged.",
).not_differentiable("the results are labels")
standard_form(COLLAPSE)(nn_ctc_forms.collapse_repeated)


@host_kernel(COLLAPSE, limit=_HOST)
def _collapse(labels: Array, seq_length: Array) -> tuple[Array, Array]:
    rows = []
    for row, length in zip(labels, seq_length.tolist(), strict=True):
        kept = row[: max(length, 0)]
        first = np.ones(len(kept), bool)
        first[1:] = kept[1:] != kept[:-1]
        rows.append(kept[first])
    counts = np.array([len(r) for r in rows], seq_length.dtype)
    merged = np.zeros((len(rows), int(counts.max(initial=0))), labels.dtype)
    for i, row in enumerate(rows):
        merged[i, : len(row)] = row
    return merged, counts
