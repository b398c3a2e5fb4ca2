"""`alignments`: the sums over all alignments of labels with frames, and their derivatives.

They follow Graves et al. (ICML 2006), in logarithms; NumPy and XLA run the same code.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.lazy import lax

Array = Any  # numpy.ndarray, jax.Array or a tracer


def _scan(xp: Any, step: Callable[[Any, Any], Any], first: Any, rows: Any) -> Any:
    """All states of `state = step(state, row)`, stacked."""
    if xp is not np:

        def both(state: Any, row: Any) -> tuple[Any, Any]:
            after = step(state, row)
            return after, after

        return lax.scan(both, first, rows)[1]
    found, state = [], first
    for i in range(len(rows[0])):
        state = step(state, [r[i] for r in rows])
        found.append(state)
    return np.stack(found) if found else np.zeros((0, *first.shape), first.dtype)


def _shifted(xp: Any, x: Array, by: int) -> Array:
    """`x` moved along its last axis, minus infinity coming in."""
    blank = xp.full((*x.shape[:-1], abs(by)), -np.inf, x.dtype)
    if abs(by) >= x.shape[-1]:
        return xp.full(x.shape, -np.inf, x.dtype)
    parts = [blank, x[..., :-by]] if by > 0 else [x[..., -by:], blank]
    return xp.concatenate(parts, axis=-1)


def _add_up(xp: Any, *terms: Array) -> Array:
    """The logarithm of the sum of exponentials, of several terms."""
    most = terms[0]
    for term in terms[1:]:
        most = xp.maximum(most, term)
    safe = xp.where(xp.isfinite(most), most, 0.0)
    total = sum(xp.exp(term - safe) for term in terms)
    return xp.log(total) + safe


def alignments(
    xp: Any,
    logits: Array,
    labels: Array,
    label_length: Array,
    logit_length: Array,
    blank: int,
    merge: bool = True,
    flush: bool = False,
) -> tuple[Array, Array]:
    """Minus the logarithm of the probability of each row's labels, and its derivative.

    Args:
      xp: numpy or jax.numpy.
      logits: float[time, batch, classes].
      labels: int[batch, most labels], none of them `blank` where they count.
      label_length: int[batch].
      logit_length: int[batch].
      blank: the class that stands for no label.
      merge: whether frames of one label in a row are one label.
      flush: whether classes whose probability underflows are impossible, as in CTCLoss.

    Returns:
      float[batch] and float[time, batch, classes].
    """
    time, _, classes = logits.shape
    shifted = logits - logits.max(axis=2, keepdims=True)
    likelihoods = xp.exp(shifted)
    total = likelihoods.sum(axis=2, keepdims=True)
    log_p = shifted - xp.log(total)
    if flush:
        tiny = np.finfo(logits.dtype).tiny
        log_p = xp.where(likelihoods / total < tiny, -np.inf, log_p)
    ext, stays, skips, valid = _states(xp, labels, label_length, blank, merge, classes)
    scores = xp.take_along_axis(log_p, xp.broadcast_to(ext[None], (time, *ext.shape)), axis=2)
    steps = xp.arange(time)
    nothing = xp.full(ext.shape, -np.inf, logits.dtype)
    place = xp.arange(ext.shape[1])[None]
    start = xp.where((place <= 1) & valid, 0.0, nothing)
    last = 2 * label_length[:, None]
    end = xp.where((place == last) | ((place == last - 1) & (last > 0)), 0.0, nothing)

    def forward(alpha: Array, row: Any) -> Array:
        score, t = row
        moved = _add_up(
            xp,
            xp.where(stays, alpha, -np.inf),
            _shifted(xp, alpha, 1),
            xp.where(skips, _shifted(xp, alpha, 2), -np.inf),
        )
        after = xp.where(t == 0, start, moved) + score
        after = xp.where(valid, after, -np.inf)
        return xp.where((t < logit_length)[:, None], after, alpha)

    alphas = _scan(xp, forward, nothing, (scores, steps))

    def backward(state: Array, row: Any) -> Array:
        score, t = row  # of the frame after this one, which is t
        ahead = state + score
        skipped = xp.where(skips, ahead, -np.inf)
        moved = _add_up(
            xp,
            xp.where(stays, ahead, -np.inf),
            _shifted(xp, ahead, -1),
            _shifted(xp, skipped, -2),
        )
        return xp.where((t == logit_length - 1)[:, None], end, moved)

    behind = xp.concatenate([scores[1:], xp.zeros_like(scores[:1])])[::-1]
    betas = _scan(xp, backward, nothing, (behind, steps[::-1]))[::-1]
    final = alphas[-1] if time else nothing
    likely = _total(xp, final + end)
    none = (logit_length == 0) & (label_length == 0)
    likely = xp.where(none, 0.0, xp.where(logit_length == 0, -np.inf, likely))
    inside = (steps[:, None] < logit_length[None])[..., None]
    share = alphas + betas - xp.where(xp.isfinite(likely), likely, 0.0)[None, :, None]
    share = xp.where(xp.isfinite(likely)[None, :, None], xp.exp(share), 0.0)
    hits = (ext[:, :, None] == xp.arange(classes)).astype(logits.dtype) * valid[:, :, None]
    expected = xp.transpose(xp.matmul(xp.transpose(share, (1, 0, 2)), hits), (1, 0, 2))
    gradient = xp.where(inside, xp.exp(log_p) - expected, 0.0)
    return (-likely).astype(logits.dtype), gradient.astype(logits.dtype)


def _total(xp: Any, x: Array) -> Array:
    most = x.max(axis=1)
    safe = xp.where(xp.isfinite(most), most, 0.0)
    return xp.log(xp.exp(x - safe[:, None]).sum(axis=1)) + safe


def _states(
    xp: Any, labels: Array, label_length: Array, blank: int, merge: bool, classes: int
) -> tuple[Array, Array, Array, Array]:
    """Labels with blanks around them: classes, who may stay, who may be reached past a blank."""
    batch, most = labels.shape
    blanks = xp.full((batch, most), blank, labels.dtype)
    pairs = xp.stack([blanks, labels], axis=2).reshape(batch, 2 * most)
    ext = xp.concatenate([pairs, xp.full((batch, 1), blank, labels.dtype)], axis=1)
    ext = xp.clip(ext, 0, classes - 1)
    is_label = (xp.arange(2 * most + 1) % 2 == 1)[None]
    before = xp.concatenate([xp.full((batch, 2), -1, ext.dtype), ext], axis=1)[:, : 2 * most + 1]
    repeated = is_label & (ext == before)
    skips = is_label & xp.logical_not(repeated) if merge else xp.broadcast_to(is_label, ext.shape)
    stays = xp.ones(ext.shape, bool) if merge else xp.broadcast_to(~is_label, ext.shape)
    valid = xp.arange(2 * most + 1)[None] <= 2 * label_length[:, None]
    return ext, stays, skips, valid
