"""Connectionist temporal classification by the native library of arrays (`native/ctc.h`).

As in `native_arrays`, whose library it is, each function returns None where the library is not in
use or does not serve what it is given; then the caller does the work in NumPy, which also says what
is wrong. Thread-safe: nothing is kept between calls.
"""

from typing import Any

import numpy as np

from penstock.core.native_arrays import LIBRARY, checked, floating_kind
from penstock.core.native_library import processors

_ALONE = 1 << 14  # logits up to which one thread works
Array = Any  # numpy.ndarray


def _kind(logits: Array) -> int | None:
    """The kind of their dtype; None for others, and where there are no logits."""
    return floating_kind(logits.dtype) if logits.size else None


def loss(
    logits: Array, labels: Array, label_length: Array, logit_length: Array, blank: int, merge: bool
) -> tuple[Array, Array] | None:
    """See `penstock.ops.nn_ctc_alignments`; None for logits too far apart (4e17 in all)."""
    call, kind = LIBRARY.function("ctc"), _kind(logits)
    if call is None or kind is None or not 0 <= blank < logits.shape[2]:
        return None
    if {len(labels), len(label_length), len(logit_length)} != {logits.shape[1]}:
        return None
    counts = np.clip(label_length, 0, labels.shape[1])
    if (counts != label_length).any():
        return None
    logits = np.ascontiguousarray(logits)
    splits = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=splits[1:])
    flat = labels[np.arange(labels.shape[1]) < counts[:, None]].astype(np.int64)
    found = np.empty(logits.shape[1], logits.dtype), np.empty_like(logits)
    threads = processors() if logits.size > _ALONE else 1
    lengths = logit_length.astype(np.int64)
    given = flat, len(flat), splits, lengths, blank, merge, threads
    return found if checked(call(kind, logits, *logits.shape, *given, *found)) < 0 else None


def sparse_loss(
    logits: Array, indices: Array, values: Array, lengths: Array, blank: int, collapse: bool,
    merge: bool, ignore: bool,
) -> tuple[Array, Array] | None:  # fmt: skip
    """The loss of sparse labels, int32[N] at int64[N, 2], and its derivative; None for wrong ones.

    Args:
      logits: float[time, batch, classes].
      indices, values: the labels.
      lengths: int32[batch], how many frames of each row count.
      blank: the class that stands for no label.
      collapse: whether labels that come twice in a row are one.
      merge: whether frames of one label in a row are one label.
      ignore: whether rows with more labels than frames have a loss of 0.
    """
    call, kind = LIBRARY.function("ctc_sparse"), _kind(logits)
    if call is None or kind is None or len(indices) != len(values):
        return None
    logits, indices, values, lengths = (
        np.ascontiguousarray(x) for x in (logits, indices, values, lengths)
    )
    found = np.empty(logits.shape[1], logits.dtype), np.empty_like(logits)
    threads = processors() if logits.size > _ALONE else 1
    labels = indices, values, len(values), lengths, blank
    given = *labels, collapse, merge, ignore, threads
    return found if checked(call(kind, logits, *logits.shape, *given, *found)) < 0 else None


def best(
    logits: Array, lengths: Array, blank: int, merge: bool
) -> tuple[Array, Array, Array, Array] | None:
    """The labels of each row's best classes.

    Args:
      logits: float[time, batch, classes]; None where one is NaN.
      lengths: int32[batch], how many frames of each row count.
      blank: the class that stands for no label.
      merge: whether frames of one label in a row are one label.

    Returns:
      int64[N, 2], the places of labels; int64[N], what they are; int64[batch], how many each row
      has; float[batch], minus the sums of the best logits.
    """
    call, kind = LIBRARY.function("ctc_best"), _kind(logits)
    if call is None or kind is None:
        return None
    logits, lengths = np.ascontiguousarray(logits), np.ascontiguousarray(lengths)
    time, batch, _ = logits.shape
    indices, labels = np.empty((time * batch, 2), np.int64), np.empty(time * batch, np.int64)
    counts, scores = np.empty(batch, np.int64), np.empty(batch, logits.dtype)
    given = lengths, blank, merge, indices, labels, counts, scores
    found = call(kind, logits, *logits.shape, *given)
    return None if found < 0 else (indices[:found], labels[:found], counts, scores)


def search(
    frames: Array, lengths: Array, width: int, paths: int
) -> tuple[Array, Array, Array] | tuple[int, int] | None:
    """The labels of each row that a search over prefixes finds.

    Args:
      frames: float[time, batch, classes], logarithms of probabilities.
      lengths: int32[batch], how many frames of each row count.
      width: how many prefixes are kept.
      paths: how many are wanted.

    Returns:
      int64[paths, batch, time], labels; int64[paths, batch], how many of them; float64[batch,
      paths], the logarithms of their probabilities. Where a row has fewer paths: its number, and
      how many it has.
    """
    call = LIBRARY.function("ctc_search")
    time, batch, classes = frames.shape
    if call is None or not frames.size:
        return None
    frames = np.ascontiguousarray(frames, np.float64)
    lengths = np.ascontiguousarray(lengths)
    labels = np.empty((paths, batch, time), np.int64)
    counts, scores = np.empty((paths, batch), np.int64), np.empty((batch, paths))
    threads = processors() if frames.size > _ALONE else 1
    given = lengths, width, paths, threads, labels, counts, scores
    lacking = checked(call(frames, time, batch, classes, *given))
    return (labels, counts, scores) if lacking < 0 else (lacking, int(scores[0, 0]))
