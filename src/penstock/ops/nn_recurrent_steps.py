"""The arithmetic of recurrent cells, one step and whole sequences, on NumPy or JAX arrays.

Used by the kernels in `penstock.ops.nn_recurrent`. Letters are TensorFlow's: `i`, `f` and `o` are
the input, forget and output gates, `ci` the new input, `cs` the cell's state, `co` its hyperbolic
tangent, `h` the output.

Sources: Hochreiter and Schmidhuber, Long Short-Term Memory, 1997; Gers and Schmidhuber, Recurrent
nets that time and count, 2000 (peepholes); Cho et al., Learning phrase representations using RNN
encoder-decoder, 2014 (GRU).
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core import native_cells
from penstock.core.lapack import on_one_thread
from penstock.core.lazy import lax

Array = Any  # numpy.ndarray, jax.Array or a tracer
# Up to which NumPy takes less time for each row alone than for their matrix, with large weights.
FEW_ROWS, LARGE = 5, 1 << 12
# Multiplications that OpenBLAS shares from there on, of one row and of more; and up to which it is
# to leave them to one thread.
ROW_SHARED, ROWS_SHARED, MOST_ALONE = 1 << 13, 1 << 18, 1 << 23
# Multiplications of a step up to which a native pass does them, ahead and back.
MOST_WORK, MOST_WORK_BACK = 1 << 18, 1 << 20


@dataclass(frozen=True, slots=True)
class LSTM:
    """The form of a cell.

    Attributes:
      order: the columns of the weights, a permutation of "icfo" (c is the new input).
      forget_bias: added to the forget gate.
      cell_clip: bound of the state; none unless positive.
      use_peephole: whether the gates see the state.
    """

    order: str
    use_peephole: bool
    forget_bias: float = 0.0
    cell_clip: float = 0.0


def _sigmoid(xp: Any, x: Array) -> Array:
    if xp is not np:
        return getattr(xp, "sigmoid", lax.logistic)(x)
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    return (1 / (1 + np.exp(-wide))).astype(x.dtype)


def times(xp: Any, x: Array, w: Array) -> Array:
    """The product of two matrices, by one thread of NumPy's where several spend time on waiting."""
    if xp is not np or not x.size:
        return x @ w
    few = 1 < len(x) <= FEW_ROWS and w.size >= LARGE
    least = ROW_SHARED if few or len(x) == 1 else ROWS_SHARED
    if not least <= len(x) * w.size <= MOST_ALONE:
        return _row_by_row(x, w) if few else x @ w
    return on_one_thread("numpy", _row_by_row if few else operator.matmul, x, w)


def _row_by_row(x: Array, w: Array) -> Array:
    return (x[:, None] @ w)[:, 0]


def _parts(xp: Any, x: Array, count: int) -> Sequence[Array]:
    """Columns in `count` equal parts."""
    if xp is not np:
        return xp.split(x, count, axis=1)  # type: ignore[no-any-return]
    width = x.shape[1] // count
    return [x[:, k * width : (k + 1) * width] for k in range(count)]


def scan(
    xp: Any, step: Callable[[Any, Any], Any], first: Any, rows: Sequence[Array], reverse: bool
) -> tuple[Any, list[Array]]:
    """The last state and the results, stacked, of `state, results = step(state, row)`.

    Args:
      xp: `numpy` or `jax.numpy`.
      step: one step.
      first: the state before.
      rows: arrays [T, ...] with T > 0, of which each step gets a row.
      reverse: whether it begins with the last row.
    """
    if xp is not np:
        state, results = lax.scan(step, first, tuple(rows), reverse=reverse)
        return state, list(results)
    state, found = first, []
    numbers = range(len(rows[0]))
    for t in reversed(numbers) if reverse else numbers:
        state, results = step(state, [r[t] for r in rows])
        found.append(results)
    if reverse:
        found.reverse()
    return state, [np.stack(parts) for parts in zip(*found, strict=True)]


def lstm_step(
    xp: Any, form: LSTM, z: Array, cs_prev: Array, peepholes: Sequence[Array]
) -> list[Array]:
    """One step of a cell.

    Args:
      xp: `numpy` or `jax.numpy`.
      form: of the cell.
      z: [batch, 4 * units], the products with the weights and the bias.
      cs_prev: [batch, units].
      peepholes: wci, wcf, wco, [units] each.

    Returns:
      i, cs, f, o, ci, co, h: [batch, units] each.
    """
    if xp is np:
        options = (form.forget_bias, form.cell_clip, form.use_peephole)
        start = cs_prev, cs_prev  # no output multiplies weights
        found = native_cells.lstm(form.order, options, 1, z[None], None, start, peepholes)
        if found is not None:
            return list(found[:, 0])
    parts = dict(zip(form.order, _parts(xp, z, 4), strict=True))
    to_i, to_f, to_o = parts["i"], parts["f"] + z.dtype.type(form.forget_bias), parts["o"]
    wci, wcf, wco = peepholes
    if form.use_peephole:
        to_i, to_f = to_i + cs_prev * wci, to_f + cs_prev * wcf
    i, f, ci = _sigmoid(xp, to_i), _sigmoid(xp, to_f), xp.tanh(parts["c"])
    cs = ci * i + cs_prev * f
    if form.cell_clip > 0:
        bound = z.dtype.type(form.cell_clip)
        cs = xp.clip(cs, -bound, bound)
    o = _sigmoid(xp, to_o + cs * wco if form.use_peephole else to_o)
    co = xp.tanh(cs)
    return [i, cs, f, o, ci, co, co * o]


def lstm_step_back(
    xp: Any, form: LSTM, saved: Sequence[Array], peepholes: Sequence[Array], dcs: Array, dh: Array
) -> tuple[Array, Array, list[Array]]:
    """The reverse of a step, as TensorFlow's: the bound of the state is not looked at.

    Args:
      xp: `numpy` or `jax.numpy`.
      form: of the cell.
      saved: cs_prev, then i, cs, f, o, ci, co of the step.
      peepholes: wci, wcf, wco.
      dcs: the gradient of cs, [batch, units].
      dh: the gradient of h.

    Returns:
      The gradient of cs_prev, that of z in the order of the weights' columns, and those of the
      inputs of i, f and o.
    """
    cs_prev, i, _, f, o, ci, co = saved
    wci, wcf, wco = peepholes
    if xp is np:
        held, grads = [each[None] for each in saved[1:]], (dcs[None], dh[None])
        given = form.order, form.use_peephole, 1, None, cs_prev, peepholes, held, grads
        native = native_cells.lstm_back(*given)
        if native is not None:
            dz, dcs, _ = native
            return dcs, dz[0], gates_of(form, dz[0])
    do = dh * co * o * (1 - o)
    dcs = dcs + dh * o * (1 - co * co)
    if form.use_peephole:
        dcs = dcs + do * wco
    di, df = dcs * ci * i * (1 - i), dcs * cs_prev * f * (1 - f)
    parts = {"i": di, "c": dcs * i * (1 - ci * ci), "f": df, "o": do}
    before = dcs * f
    if form.use_peephole:
        before = before + di * wci + df * wcf
    dz = xp.concatenate([parts[each] for each in form.order], axis=1)
    return before, dz, [di, df, do]


def gates_of(form: LSTM, dz: Array) -> list[Array]:
    """Of gradients in the order of the weights' columns, those of i, f and o."""
    width = dz.shape[-1] // 4
    firsts = [form.order.index(gate) * width for gate in "ifo"]
    return [dz[..., first : first + width] for first in firsts]


def peephole_grads(
    xp: Any, form: LSTM, gates: Sequence[Array], cs_prev: Array, cs: Array
) -> list[Array]:
    """The gradients of wci, wcf and wco, zero for a cell without peepholes.

    Args:
      xp: `numpy` or `jax.numpy`.
      form: of the cell.
      gates: the gradients of the inputs of i, f and o, [..., units].
      cs_prev: the states before.
      cs: the states after.
    """
    if not form.use_peephole:
        return [xp.zeros(cs.shape[-1:], cs.dtype)] * 3
    axes = tuple(range(cs.ndim - 1))
    held = (cs_prev, cs_prev, cs)
    return [(g * state).sum(axes) for g, state in zip(gates, held, strict=True)]


def rows_alive(xp: Any, length: Any, like: Array) -> Array:
    """[T, 1, 1]: which steps are before `length`."""
    return (xp.arange(like.shape[0]) < length)[:, None, None]


def lstm_sequence(
    xp: Any,
    form: LSTM,
    length: Any,
    x: Array,
    start: Sequence[Array],
    w: Array,
    peepholes: Sequence[Array],
    b: Array,
) -> list[Array]:
    """A cell over a sequence.

    Args:
      xp: `numpy` or `jax.numpy`.
      form: of the cell.
      length: how many steps there are; after them everything is zero.
      x: [T, batch, inputs].
      start: cs_prev and h_prev, [batch, units] each.
      w: [inputs + units, 4 * units].
      peepholes: wci, wcf, wco, [units] each.
      b: [4 * units].

    Returns:
      i, cs, f, o, ci, co, h: [T, batch, units] each.
    """
    steps, batch, inputs = x.shape
    if not steps:
        return [xp.zeros((0, *start[0].shape), x.dtype)] * 7
    given = times(xp, x.reshape(steps * batch, inputs), w[:inputs])
    given = given.reshape(steps, batch, w.shape[1]) + b
    again = w[inputs:]
    if xp is np and batch * again.size <= MOST_WORK:
        options = (form.forget_bias, form.cell_clip, form.use_peephole)
        native = native_cells.lstm(form.order, options, int(length), given, again, start, peepholes)
        if native is not None:
            return list(native)

    def step(state: Any, row: Any) -> tuple[Any, Any]:
        cs, h = state
        z, alive = row
        found = lstm_step(xp, form, z + h @ again, cs, peepholes)
        found = [xp.where(alive, each, each.dtype.type(0)) for each in found]
        return (found[1], found[6]), tuple(found)

    rows = [given, rows_alive(xp, length, x)]
    return scan(xp, step, tuple(start), rows, False)[1]


def lstm_sequence_back(
    xp: Any,
    form: LSTM,
    length: Any,
    x: Array,
    start: Sequence[Array],
    w: Array,
    peepholes: Sequence[Array],
    saved: Sequence[Array],
    grads: Sequence[Array],
) -> list[Array]:
    """The reverse of `lstm_sequence`.

    Args:
      xp, form, length, x, start, w, peepholes: as there.
      saved: what it returned.
      grads: of cs and h, [T, batch, units] each.

    Returns:
      The gradients of x, cs_prev, h_prev, w, wci, wcf, wco and b.
    """
    steps, batch, inputs = x.shape
    width = w.shape[1]
    if not steps:
        none = [xp.zeros_like(each) for each in (x, *start, w, *peepholes)]
        return [*none, xp.zeros((width,), w.dtype)]
    i, cs, f, o, ci, co, h = saved
    cs_before = xp.concatenate([start[0][None], cs[:-1]])
    h_before = xp.concatenate([start[1][None], h[:-1]])
    again = w[inputs:].T
    native = None
    if xp is np and batch * again.size <= MOST_WORK_BACK:
        given = form.order, form.use_peephole, int(length), again.T, start[0], peepholes
        native = native_cells.lstm_back(*given, saved[:6], grads)

    def step(state: Any, row: Any) -> tuple[Any, Any]:
        dcs, dh = state
        more_cs, more_h, alive, *held = row
        dcs, dz, gates = lstm_step_back(xp, form, held, peepholes, dcs + more_cs, dh + more_h)
        dcs, dz, *gates = (xp.where(alive, each, each.dtype.type(0)) for each in (dcs, dz, *gates))
        return (dcs, dz @ again), (dz, *gates)

    alive = rows_alive(xp, length, x)

    def until_end(each: Array) -> Array:
        whole = xp is np and int(length) >= steps
        return each if whole else xp.where(alive, each, each.dtype.type(0))

    if native is not None:
        dz, dcs, dh = native
        gates = gates_of(form, dz)
    else:
        zeros = xp.zeros_like(start[0])
        rows = [*grads, alive, cs_before, i, cs, f, o, ci, co]
        (dcs, dh), (dz, *gates) = scan(xp, step, (zeros, zeros), rows, True)
    flat = dz.reshape(steps * batch, width)
    seen = until_end(xp.concatenate([x, h_before], axis=2))
    dw = times(xp, seen.reshape(flat.shape[0], w.shape[0]).T, flat)
    dx = times(xp, flat, w[:inputs].T).reshape(x.shape)
    held = (until_end(cs_before), until_end(cs)) if form.use_peephole else (cs_before, cs)
    return [dx, dcs, dh, dw, *peephole_grads(xp, form, gates, *held), flat.sum(0)]


def gru_step(
    xp: Any, x: Array, h_prev: Array, w_ru: Array, w_c: Array, b_ru: Array, b_c: Array
) -> list[Array]:
    """One step of a GRU cell: r, u, c and h, [batch, units] each."""
    r, u = _parts(xp, _sigmoid(xp, times(xp, xp.concatenate([x, h_prev], axis=1), w_ru) + b_ru), 2)
    c = xp.tanh(times(xp, xp.concatenate([x, h_prev * r], axis=1), w_c) + b_c)
    return [r, u, c, u * h_prev + (1 - u) * c]


def gru_step_back(
    xp: Any, x: Array, h_prev: Array, w_ru: Array, w_c: Array, gates: Sequence[Array], d_h: Array
) -> list[Array]:
    """The reverse of `gru_step`: gradients of x, h_prev and of the inputs of c, and of r and u."""
    r, u, c = gates
    inputs = x.shape[1]
    d_c_bar = d_h * (1 - u) * (1 - c * c)
    d_u_bar = d_h * (h_prev - c) * u * (1 - u)
    by_c = times(xp, d_c_bar, w_c.T)
    d_hr = by_c[:, inputs:]
    d_r_bar = d_hr * h_prev * r * (1 - r)
    d_ru = xp.concatenate([d_r_bar, d_u_bar], axis=1)
    by_ru = times(xp, d_ru, w_ru.T)
    d_h_prev = by_ru[:, inputs:] + d_hr * r + d_h * u
    return [by_c[:, :inputs] + by_ru[:, :inputs], d_h_prev, d_c_bar, d_ru]
