"""Decoders of connectionist temporal classification: the best path, and a search over prefixes."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_ctc
from penstock.core.composite import SparseTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.math_cast import cast
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any
_HOST = 1 << 62


def _decoded_shape(c: ShapeContext, paths: int) -> list[Dims]:
    dims = c.rank(0, 3) or (None, None, None)
    batch = c.merge((dims[1],), c.rank(1, 1)) or (None,)
    several = [(None, 2)] * paths + [(None,)] * paths + [(2,)] * paths
    return [*several, (batch[0], paths)]


def _check_lengths(lengths: Array, time: int) -> None:
    if lengths.max(initial=0) > time:
        raise errors.FailedPreconditionError(
            None,
            None,
            f"sequence_length({int(np.argmax(lengths > time))}) <= {time}: expected at most as many"
            f" as there are frames, got {lengths.tolist()}. Cut the lengths.",
        )


def _sparse(labels: Array, lengths: Array, merge: bool) -> tuple[Array, Array, Array]:
    """The parts of a sparse tensor: rows of labels [batch, time], of which so many count."""
    kept = np.arange(labels.shape[1]) < lengths[:, None]
    if merge:
        kept[:, 1:] &= labels[:, 1:] != labels[:, :-1]
    return _places(kept, labels[kept])


def _places(kept: Array, labels: Array) -> tuple[Array, Array, Array]:
    """The parts of a sparse tensor whose rows have a label for each True of [batch, time]."""
    rows, _ = np.nonzero(kept)
    lengths = np.bincount(rows, minlength=len(kept))
    starts = np.cumsum(lengths) - lengths
    indices = np.stack([rows, np.arange(rows.size) - np.repeat(starts, lengths)], 1)
    return indices, labels, np.array([len(kept), lengths.max(initial=0)], np.int64)


GREEDY = define_op(
    "CTCGreedyDecoder(inputs: T, sequence_length: int32; merge_repeated: bool = False, blank_index:"
    " int = -1, T: {float, double} = float) -> decoded_indices: int64, decoded_values: int64, "
    "decoded_shape: int64, log_probability: T",
    shape=lambda c: _decoded_shape(c, 1),
    fallible=True,
    doc="The labels of the most likely class of each frame.",
).not_differentiable("the results are labels; the probability is not meant for training")


@host_kernel(GREEDY, limit=_HOST)
def _greedy(
    inputs: Array, sequence_length: Array, *, merge_repeated: bool, blank_index: int
) -> tuple[Array, ...]:
    time, batch, classes = inputs.shape
    _check_lengths(sequence_length, time)
    blank = blank_index + classes if blank_index < 0 else blank_index
    if not 0 <= blank < classes:
        raise errors.InvalidArgumentError(
            None, None, f"blank_index expected within {classes} classes, got {blank_index}."
        )
    found = native_ctc.best(inputs, sequence_length, blank, merge_repeated)
    if found is not None:
        indices, labels, lengths, score = found
        return indices, labels, np.array([batch, lengths.max()], np.int64), score[:, None]
    best = inputs.argmax(axis=2)
    most = np.take_along_axis(inputs, best[..., None], 2)[..., 0]
    inside = np.arange(time)[:, None] < sequence_length[None]
    score = -np.where(inside, most, 0).sum(axis=0).astype(inputs.dtype)
    kept = inside & (best != blank)
    if merge_repeated:
        kept[1:] &= best[1:] != best[:-1]
    return *_places(kept.T, best.T[kept.T]), score[:, None]


BEAM = define_op(
    "CTCBeamSearchDecoder(inputs: T, sequence_length: int32; beam_width: int >= 1, top_paths: int "
    ">= 1, merge_repeated: bool = True, T: {float, double} = float) -> decoded_indices: "
    "top_paths*int64, decoded_values: top_paths*int64, decoded_shape: top_paths*int64, "
    "log_probability: T",
    shape=lambda c: _decoded_shape(c, c.attr("top_paths")),
    fallible=True,
    doc="The most likely labels that a search over prefixes finds; the last class is blank.",
).not_differentiable("the results are labels; the probability is not meant for training")


@host_kernel(BEAM, limit=_HOST)
def _beam(
    inputs: Array, sequence_length: Array, *, beam_width: int, top_paths: int, merge_repeated: bool
) -> tuple[Array, ...]:
    _check_lengths(sequence_length, len(inputs))
    if top_paths > beam_width:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Requested more top paths ({top_paths}) than the beam width of {beam_width}. Widen"
            " the beam.",
        )
    shifted = inputs - inputs.max(axis=2, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=2, keepdims=True))
    found = native_ctc.search(log_p, sequence_length, beam_width, top_paths)
    if found is None:
        found = _search_all(log_p, sequence_length, beam_width, top_paths)
    if len(found) == 2:
        row, paths = found
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Less leaf nodes in the beam search than requested: row {row} has {paths}"
            f" paths, {top_paths} were asked for. Ask for fewer.",
        )
    labels, counts, scores = found
    parts = [_sparse(*path, merge_repeated) for path in zip(labels, counts, strict=True)]
    given = [list(part) for part in zip(*parts, strict=True)]
    return (*given[0], *given[1], *given[2], scores.astype(inputs.dtype))


def _search_all(
    log_p: Array, lengths: Array, width: int, paths: int
) -> tuple[Array, Array, Array] | tuple[int, int]:
    """See `native_ctc.search`."""
    time, batch, _ = log_p.shape
    labels = np.zeros((paths, batch, time), np.int64)
    counts, scores = np.zeros((paths, batch), np.int64), np.zeros((batch, paths))
    for i in range(batch):
        found = _search(log_p[: lengths[i], i].astype(np.float64), width)
        if len(found) < paths:
            return i, len(found)
        for j, (prefix, score) in enumerate(found[:paths]):
            labels[j, i, : len(prefix)] = prefix
            counts[j, i], scores[i, j] = len(prefix), score
    return labels, counts, scores


class _Prefixes:
    """Prefixes as a tree: each is its parent and one more label."""

    def __init__(self) -> None:
        self.parents = [-1]
        self.labels = [-1]
        self._children: dict[tuple[int, int], int] = {}

    def child(self, parent: int, label: int) -> int:
        found = self._children.get((parent, label))
        if found is None:
            found = self._children[parent, label] = len(self.parents)
            self.parents.append(parent)
            self.labels.append(label)
        return found

    def text(self, node: int) -> list[int]:
        found = []
        while node > 0:
            found.append(self.labels[node])
            node = self.parents[node]
        return found[::-1]


def _search(log_p: Array, width: int) -> list[tuple[list[int], float]]:
    """The best prefixes with their logarithmic probabilities (Graves and Jaitly, ICML 2014)."""
    classes = log_p.shape[1]
    tree = _Prefixes()
    nodes = np.zeros(1, np.int64)
    ends_blank, ends_label = np.zeros(1), np.full(1, -np.inf)
    for frame in log_p:
        labels = np.array([tree.labels[n] for n in nodes])
        total = np.logaddexp(ends_blank, ends_label)
        stay_blank = total + frame[-1]
        stay_label = np.where(labels >= 0, ends_label + frame[labels], -np.inf)
        grown = np.repeat(total[:, None], classes - 1, axis=1)
        places = np.flatnonzero(labels >= 0)
        grown[places, labels[places]] = ends_blank[places]
        grown = grown + frame[None, :-1]
        _join(tree, nodes, grown, stay_label)
        kept = np.logaddexp(stay_blank, stay_label)
        every = np.concatenate([kept, grown.reshape(-1)])
        count = min(width, int(np.isfinite(every).sum()))
        best = np.argsort(-every, kind="stable")[:count]
        ends_blank = np.concatenate([stay_blank, np.full(grown.size, -np.inf)])[best]
        ends_label = np.concatenate([stay_label, grown.reshape(-1)])[best]
        old = len(nodes)
        nodes = np.array(
            [
                nodes[b]
                if b < old
                else tree.child(int(nodes[(b - old) // (classes - 1)]), (b - old) % (classes - 1))
                for b in best.tolist()
            ],
            np.int64,
        )
    scores = np.logaddexp(ends_blank, ends_label)
    order = np.argsort(-scores, kind="stable")
    return [(tree.text(int(nodes[i])), float(scores[i])) for i in order]


def _join(tree: _Prefixes, nodes: Array, grown: Array, stay_label: Array) -> None:
    """Where a prefix grows into one that is in the beam already, both are one."""
    where = {int(n): i for i, n in enumerate(nodes)}
    for i, node in enumerate(nodes.tolist()):
        parent = where.get(tree.parents[node]) if node > 0 else None
        if parent is not None:
            label = tree.labels[node]
            stay_label[i] = np.logaddexp(stay_label[i], grown[parent, label])
            grown[parent, label] = -np.inf


# ---- public functions


def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True, blank_index: int | None = None
) -> Any:
    """The labels of the most likely class of each frame.

    Args:
      inputs: float32 or float64, [time, batch, classes].
      sequence_length: int32[batch], how many frames of each row count.
      merge_repeated: whether frames of one label in a row are one label.
      blank_index: the class that stands for no label, from the end when negative; the last one by
        default.

    Returns:
      A list with one SparseTensor of int64 [batch, most labels], and [batch, 1]: minus the sums of
      the largest logits.

    Raises:
      FailedPreconditionError: a length is greater than the number of frames.
    """
    attrs = {
        "merge_repeated": merge_repeated,
        "blank_index": -1 if blank_index is None else blank_index,
    }
    inputs = convert_to_tensor(inputs)
    found = execute(GREEDY, (inputs, cast(sequence_length, dt.int32)), attrs)
    return [SparseTensor(*found[:3])], found[3]


def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> Any:
    """The most likely labels, by a search that keeps the best prefixes; the last class is blank.

    Args:
      inputs: float32 or float64, [time, batch, classes].
      sequence_length: int32[batch], how many frames of each row count.
      beam_width: how many prefixes are kept at each frame.
      top_paths: how many results are given, at most `beam_width`.

    Returns:
      A list of `top_paths` SparseTensors of int64 [batch, most labels], the best first, and the
      logarithms of their probabilities, [batch, top_paths].

    Raises:
      InvalidArgumentError: more paths are asked for than there are.
      FailedPreconditionError: a length is greater than the number of frames.
    """
    return ctc_beam_search_decoder_v1(inputs, sequence_length, beam_width, top_paths, False)


def ctc_beam_search_decoder_v1(
    inputs: Any,
    sequence_length: Any,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> Any:
    """As `ctc_beam_search_decoder`; `merge_repeated` makes repeated labels of a result one."""
    attrs = {"beam_width": beam_width, "top_paths": top_paths, "merge_repeated": merge_repeated}
    inputs = convert_to_tensor(inputs)
    found = execute(BEAM, (inputs, cast(sequence_length, dt.int32)), attrs)
    flat = [t for part in found for t in (part if isinstance(part, list) else [part])]
    groups = zip(
        flat[:top_paths], flat[top_paths : 2 * top_paths], flat[2 * top_paths : -1], strict=True
    )
    return [SparseTensor(*parts) for parts in groups], flat[-1]
