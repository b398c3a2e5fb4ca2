"""Rows of variables that are updated in turn.

A row that `indices` names twice is updated twice, the second time from what the first made of it.
Rows of one turn are all different, so a rule updates them together.
"""

import math
from typing import Any

import numpy as np

from penstock.core.lazy import jnp, lax
from penstock.ops.optimizer_rules import Array, Hyper, Rule, Values

_AT_ONCE = 1024  # rows at most; more hold more memory, fewer make more turns
_LEAST_AT_ONCE = 32
_ELEMENTS = 1 << 16  # of a slot, in the rows of one turn: those that fall off are computed, too
_FEW = 64  # rows whose numbers Python compares


def groups(indices: Array) -> list[Any]:
    """Places of rows that are all different, in the order of their turns; on the host."""
    if len(indices) <= _FEW and len(set(indices.tolist())) == len(indices):
        return [slice(None)] if len(indices) else []
    order = np.argsort(indices, kind="stable")
    rows = indices[order]
    turn = np.empty(len(rows), np.int64)
    turn[order] = np.arange(len(rows)) - np.searchsorted(rows, rows)
    return [np.flatnonzero(turn == t) for t in range(int(turn.max(initial=-1)) + 1)]


def rows_in_turn(
    rule: Rule,
    values: Any,
    indices: Array,
    grad: Array,
    hyper: Hyper,
    attrs: dict[str, Any],
    ok: Any,
) -> Values:
    """Slots after rows that are there several times had their turns one after the other.

    Rows of one turn are all different, so they are updated together, up to _AT_ONCE of them.
    """
    count = indices.shape[0]
    if count == 0:
        return tuple(jnp.copy(v) for v in values)
    indices, grad = jnp.asarray(indices), jnp.asarray(grad)  # constants are arrays of NumPy
    height = values[0].shape[0]
    size = min(count, _rows_at_once(values[0]))
    order, turn = _turns(indices)
    order = jnp.concatenate([order, jnp.zeros(size, order.dtype)])
    turn = jnp.concatenate([turn, jnp.full(size, -1, turn.dtype)])

    def step(state: tuple[Any, Values]) -> tuple[Any, Values]:
        start, held = state
        places = lax.dynamic_slice_in_dim(order, start, size)
        turns = lax.dynamic_slice_in_dim(turn, start, size)
        mine, rows = turns == turns[0], indices[places]
        after = rule(jnp, tuple(h[rows] for h in held), grad[places], hyper, attrs)
        where = jnp.where(mine, rows, height)  # those of the next turn fall off
        new = zip(held, after, strict=True)
        held = tuple(h.at[where].set(a.astype(h.dtype), mode="drop") for h, a in new)
        return start + mine.sum(dtype=jnp.int32), held

    end = jnp.asarray(count, jnp.int32)
    end = end if ok is True else jnp.where(ok, end, 0)
    start = (jnp.int32(0), tuple(jnp.asarray(v) for v in values))
    done: tuple[Any, Values] = lax.while_loop(lambda s: s[0] < end, step, start)
    return done[1]


def _rows_at_once(value: Array) -> int:
    """How many rows are updated together: few wide ones, many narrow ones."""
    width: int = math.prod(value.shape[1:])
    return min(_AT_ONCE, max(_LEAST_AT_ONCE, _ELEMENTS // max(width, 1)))


def _turns(indices: Array) -> tuple[Array, Array]:
    """Places in the order of their turns, and the turns: how often the row came before."""
    by_row = jnp.argsort(indices, stable=True)
    rows, number = indices[by_row], jnp.arange(indices.shape[0])
    new = jnp.concatenate([jnp.ones(1, bool), rows[1:] != rows[:-1]])
    turn = number - lax.cummax(jnp.where(new, number, 0))
    by_turn = jnp.argsort(turn, stable=True)
    return by_row[by_turn], turn[by_turn]
