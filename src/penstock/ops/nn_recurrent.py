"""LSTM and GRU cells as single operations, for one step and for sequences (`tf.raw_ops`).

The operations are TensorFlow's. `BlockLSTM` and `LSTMBlockCell` order the columns of their weights
i, c, f, o, `BlockLSTMV2` orders them i, f, c, o. Weights are [inputs + units, 4 * units].
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import TooMuchWork, compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.kernels.cpu_recurrent import FLOAT, is_native_sequence, native_lstm_sequence
from penstock.ops.nn_recurrent_steps import (
    LSTM,
    gru_step,
    gru_step_back,
    lstm_sequence,
    lstm_sequence_back,
    lstm_step,
    lstm_step_back,
    peephole_grads,
    times,
)
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray, jax.Array or a tracer
NO_GRADIENT = "TensorFlow has none"
CELL = "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
BLOCK = f"seq_len_max: int64, {CELL}"
SAVED = "i: T, cs: T, f: T, o: T, ci: T, co: T"
RESULTS = f"{SAVED}, h: T"
TYPES = "T: {half, float}"
LIMIT = (
    140_000  # elements: a step of few rows reads weights of many, which the host multiplies well
)
BACK_LIMIT = 1 << 19  # of single calls back through a sequence: one native pass, and products
MOST_GATES = 1 << 16  # of a sequence, up to which single calls do without a compiled one


# ---- shapes


def _times(n: int | None, factor: int) -> int | None:
    return None if n is None else factor * n


def _part(n: int | None, of: int) -> int | None:
    return None if n is None or n % of else n // of


def _agree(c: ShapeContext, what: str, *sizes: int | None) -> int | None:
    """The one size that these are, as far as known."""
    known = {n for n in sizes if n is not None}
    if len(known) > 1:
        c.fail(f"one size of {what}", f"{', '.join(map(str, sorted(known)))} from its inputs")
    return known.pop() if known else None


def _require(c: ShapeContext, index: int, name: str, wanted: Dims) -> None:
    found = c.shapes[index]
    if not d.compatible(found, wanted):
        c.fail(f"{name} of shape {d.text(wanted)}", f"{d.text(found)}")


def _cell_sizes(c: ShapeContext, first: int) -> tuple[int | None, int | None, int | None]:
    """Batch, inputs and units of a cell whose x is input `first`; checks what surrounds it."""
    x = c.rank(first, 2 if first == 0 else 3, "x")
    assert x is not None
    names = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
    ranks = (None, 2, 2, 2, 1, 1, 1, 1)
    cs, h, w, wci, wcf, wco, b = (
        c.rank(first + k, rank, names[k]) or () for k, rank in enumerate(ranks) if rank
    )
    for size, name in ((w[1], "columns of w"), (b[0], "elements of b")):
        if size is not None and size % 4:
            c.fail(f"a multiple of 4 as the number of {name}", f"{size}")
    batch = _agree(c, "the batch", x[-2], cs[0], h[0])
    fourths = (_part(w[1], 4), _part(b[0], 4))
    peepholes = (wci[0], wcf[0], wco[0])
    units = _agree(c, "the cell", cs[1], h[1], *fourths, *peepholes)
    rest = None if w[0] is None or units is None else w[0] - units
    inputs = _agree(c, "x and of what w leaves for it", x[-1], rest)
    return batch, inputs, units


def _cell_shape(c: ShapeContext) -> list[Dims]:
    batch, _, units = _cell_sizes(c, 0)
    return [(batch, units)] * 7


def _cell_grad_shape(c: ShapeContext) -> list[Dims]:
    batch, _, units = _cell_sizes(c, 0)
    names = ("i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad")
    for k, name in enumerate(names):
        _require(c, 8 + k, name, (batch, units))
    return [(batch, units), (batch, _times(units, 4)), *[(units,)] * 3]


def _block_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 0, "seq_len_max")
    batch, _, units = _cell_sizes(c, 1)
    x = c.shapes[1]
    return [(None if x is None else x[0], batch, units)] * 7


def _block_grad_shape(c: ShapeContext) -> list[Dims]:
    results = _block_shape(c)
    names = ("i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad")
    for k, name in enumerate(names):
        _require(c, 9 + k, name, results[0])
    batch, inputs, units = _cell_sizes(c, 1)
    width = _times(units, 4)
    rows = None if inputs is None or units is None else inputs + units
    steps = (results[0] or (None,))[0]
    state = (batch, units)
    return [(steps, batch, inputs), state, state, (rows, width), *[(units,)] * 3, (width,)]


def _gru_sizes(c: ShapeContext) -> tuple[int | None, int | None, int | None]:
    names, ranks = ("x", "h_prev", "w_ru", "w_c", "b_ru", "b_c"), (2, 2, 2, 2, 1, 1)
    x, h, w_ru, w_c, b_ru, b_c = (
        c.rank(k, rank, name) or () for k, (name, rank) in enumerate(zip(names, ranks, strict=True))
    )
    for size, name in ((w_ru[1], "columns of w_ru"), (b_ru[0], "elements of b_ru")):
        if size is not None and size % 2:
            c.fail(f"a multiple of 2 as the number of {name}", f"{size}")
    batch = _agree(c, "the batch", x[0], h[0])
    halves = (_part(w_ru[1], 2), _part(b_ru[0], 2))
    units = _agree(c, "the cell", h[1], w_c[1], b_c[0], *halves)
    rest = [None if w[0] is None or units is None else w[0] - units for w in (w_ru, w_c)]
    return batch, _agree(c, "x and of what w_ru and w_c leave for it", x[1], *rest), units


def _gru_shape(c: ShapeContext) -> list[Dims]:
    batch, _, units = _gru_sizes(c)
    return [(batch, units)] * 4


def _gru_grad_shape(c: ShapeContext) -> list[Dims]:
    batch, inputs, units = _gru_sizes(c)
    for k, name in enumerate(("r", "u", "c", "d_h")):
        _require(c, 6 + k, name, (batch, units))
    state = (batch, units)
    return [(batch, inputs), state, state, (batch, _times(units, 2))]


# ---- an LSTM cell, one step

LSTM_BLOCK_CELL = define_op(
    f"LSTMBlockCell({CELL}; forget_bias: float = 1.0, cell_clip: float = 3.0, "
    f"use_peephole: bool = False, {TYPES}) -> {RESULTS}",
    shape=_cell_shape,
    doc="One step of an LSTM cell.",
).without_gradient(NO_GRADIENT)


@kernel(LSTM_BLOCK_CELL, limit=LIMIT)
def _lstm_block_cell(
    xp: Any,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    b: Array,
    *,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> list[Array]:
    form = LSTM("icfo", use_peephole, forget_bias, cell_clip)
    z = times(xp, xp.concatenate([x, h_prev], axis=1), w) + b
    return lstm_step(xp, form, z, cs_prev, (wci, wcf, wco))


LSTM_BLOCK_CELL_GRAD = define_op(
    f"LSTMBlockCellGrad({CELL}, {SAVED}, cs_grad: T, h_grad: T; use_peephole: bool, {TYPES})"
    " -> cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T",
    shape=_cell_grad_shape,
    doc="The gradients of LSTMBlockCell, that of the gates' inputs among them.",
).without_gradient(NO_GRADIENT)


@kernel(LSTM_BLOCK_CELL_GRAD, limit=LIMIT)
def _lstm_block_cell_grad(
    xp: Any,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    b: Array,
    i: Array,
    cs: Array,
    f: Array,
    o: Array,
    ci: Array,
    co: Array,
    cs_grad: Array,
    h_grad: Array,
    *,
    use_peephole: bool,
) -> list[Array]:
    form = LSTM("icfo", use_peephole)
    saved = (cs_prev, i, cs, f, o, ci, co)
    before, dz, gates = lstm_step_back(xp, form, saved, (wci, wcf, wco), cs_grad, h_grad)
    return [before, dz, *peephole_grads(xp, form, gates, cs_prev, cs)]


# ---- an LSTM cell over a sequence


def _define_block(name: str, attrs: str) -> OpDef:
    return define_op(
        f"{name}({BLOCK}; {attrs}, use_peephole: bool = False, {TYPES}) -> {RESULTS}",
        shape=_block_shape,
        fallible=True,
        doc="An LSTM cell over x[time, batch, inputs]; zero from step seq_len_max on.",
    )


def _define_block_grad(name: str) -> OpDef:
    results = "x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T"
    return define_op(
        f"{name}({BLOCK}, {RESULTS}, cs_grad: T, h_grad: T; use_peephole: bool, {TYPES})"
        f" -> {results}, wco_grad: T, b_grad: T",
        shape=_block_grad_shape,
        fallible=True,
        doc="The gradients of an LSTM cell over a sequence, by the gradients of cs and h.",
    ).without_gradient(NO_GRADIENT)


BLOCK_LSTM = _define_block("BlockLSTM", "forget_bias: float = 1.0, cell_clip: float = 3.0")
BLOCK_LSTM_V2 = _define_block("BlockLSTMV2", "cell_clip: float = 0.0")
BLOCK_LSTM_GRAD = _define_block_grad("BlockLSTMGrad")
BLOCK_LSTM_GRAD_V2 = _define_block_grad("BlockLSTMGradV2")
ORDERS = {
    "BlockLSTM": "icfo",
    "BlockLSTMV2": "ifco",
    "BlockLSTMGrad": "icfo",
    "BlockLSTMGradV2": "ifco",
}


def _check_length(ctx: Any, length: Array, x: Array) -> None:
    """Refuses a number of steps that the sequence does not have."""
    steps = x.shape[0]
    ok = (length >= 0) & (length <= steps)
    ctx.check(
        bool(ok) if isinstance(length, np.ndarray) else ok,
        errors.InvalidArgumentError,
        lambda n: (
            f"seq_len_max: expected a number of steps from 0 to {steps}, the first dimension of x, "
            f"got {int(n)}."
        ),
        length,
    )


def _block_lstm(
    op: OpDef, xp: Any, sequence: Callable[..., list[Array]] = lstm_sequence
) -> Callable[..., list[Array]]:
    """The kernel of an LSTM over a sequence."""
    order = ORDERS[op.name]

    def run(ctx: Any, length: Array, x: Array, *rest: Array) -> list[Array]:
        _check_length(ctx, length, x)
        cs_prev, h_prev, w, wci, wcf, wco, b = rest
        attrs = ctx.attrs
        bias = attrs.get("forget_bias", 0.0)
        form = LSTM(order, attrs["use_peephole"], bias, attrs["cell_clip"])
        start, peepholes = (cs_prev, h_prev), (wci, wcf, wco)
        return sequence(xp, form, length, x, start, w, peepholes, b)

    return run


def _single_block_lstm(op: OpDef) -> Callable[..., list[Array]]:
    """The same on the host for single calls, which leaves long work to the native kernels.

    Their gates are of single precision; those of the host's pass are of double precision.
    """
    run_host = _block_lstm(op, np)

    def run(ctx: Any, length: Array, x: Array, *rest: Array) -> list[Array]:
        gates = x.shape[0] * x.shape[1] * rest[2].shape[1]
        if gates > MOST_GATES and is_native_sequence(ctx.attrs, length, x, *rest):
            raise TooMuchWork
        return run_host(ctx, length, x, *rest)

    return run


def _block_lstm_grad(op: OpDef, xp: Any) -> Callable[..., list[Array]]:
    """The kernel of its gradients."""
    order = ORDERS[op.name]

    def run(ctx: Any, length: Array, x: Array, *rest: Array) -> list[Array]:
        _check_length(ctx, length, x)
        cs_prev, h_prev, w, wci, wcf, wco, _, *saved = rest
        form = LSTM(order, ctx.attrs["use_peephole"])
        start, peepholes = (cs_prev, h_prev), (wci, wcf, wco)
        states, grads = saved[:7], saved[7:]
        return lstm_sequence_back(xp, form, length, x, start, w, peepholes, states, grads)

    return run


for _op, _make in (
    (BLOCK_LSTM, _block_lstm),
    (BLOCK_LSTM_V2, _block_lstm),
    (BLOCK_LSTM_GRAD, _block_lstm_grad),
    (BLOCK_LSTM_GRAD_V2, _block_lstm_grad),
):
    host_kernel(_op, limit=LIMIT)(_make(_op, np))
    compiled_kernel(_op)(_make(_op, jnp))
for _op in (BLOCK_LSTM_GRAD, BLOCK_LSTM_GRAD_V2):
    host_kernel(_op, limit=BACK_LIMIT, singly=True, **FLOAT)(_block_lstm_grad(_op, np))
for _op in (BLOCK_LSTM, BLOCK_LSTM_V2):
    host_kernel(_op, limit=LIMIT, singly=True, **FLOAT)(_single_block_lstm(_op))
    compiled_kernel(_op, when=is_native_sequence, **FLOAT)(
        _block_lstm(_op, jnp, native_lstm_sequence)
    )


def _define_gradient(op: OpDef, by: OpDef) -> None:
    """As TensorFlow's: the gradients of cs and h count, those of the gates do not."""

    def gradient(op: Any, *grads: Any) -> list[Any]:
        inputs = (*op.inputs, *op.outputs, grads[1], grads[6])
        return [None, *execute(by, inputs, {"use_peephole": op.get_attr("use_peephole")})]

    op.gradient(gradient)


_define_gradient(BLOCK_LSTM, BLOCK_LSTM_GRAD)
_define_gradient(BLOCK_LSTM_V2, BLOCK_LSTM_GRAD_V2)


# ---- a GRU cell

GRU = "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"
GRU_BLOCK_CELL = define_op(
    f"GRUBlockCell({GRU}; T: {{float}}) -> r: T, u: T, c: T, h: T",
    shape=_gru_shape,
    doc="One step of a GRU cell: the reset and update gates, the new input, the output.",
).without_gradient(NO_GRADIENT)


@kernel(GRU_BLOCK_CELL, limit=LIMIT)
def _gru_block_cell(
    xp: Any, x: Array, h_prev: Array, w_ru: Array, w_c: Array, b_ru: Array, b_c: Array
) -> list[Array]:
    return gru_step(xp, x, h_prev, w_ru, w_c, b_ru, b_c)


GRU_BLOCK_CELL_GRAD = define_op(
    f"GRUBlockCellGrad({GRU}, r: T, u: T, c: T, d_h: T; T: {{float}})"
    " -> d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T",
    shape=_gru_grad_shape,
    doc="The gradients of GRUBlockCell by that of h, those of the gates' inputs among them.",
).without_gradient(NO_GRADIENT)


@kernel(GRU_BLOCK_CELL_GRAD, limit=LIMIT)
def _gru_block_cell_grad(
    xp: Any,
    x: Array,
    h_prev: Array,
    w_ru: Array,
    w_c: Array,
    b_ru: Array,
    b_c: Array,
    r: Array,
    u: Array,
    c: Array,
    d_h: Array,
) -> list[Array]:
    return gru_step_back(xp, x, h_prev, w_ru, w_c, (r, u, c), d_h)
