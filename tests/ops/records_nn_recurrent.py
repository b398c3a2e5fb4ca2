"""Records of LSTM and GRU cells as single operations."""

import itertools

import numpy as np
from tests.ops.harness import Failure, Record, case, normal

from penstock import errors
from penstock.core.execute import execute


def _sigmoid(v):
    return 1 / (1 + np.exp(-v))


def _lstm(order, bias, clip, x, cs, h, w, wci, wcf, wco, b, use_peephole, offset=0.0):
    """One step of one cell, unit by unit where TensorFlow's documentation gives a formula."""
    z = np.hstack([x, h]) @ w + b + offset
    units = cs.shape[1]
    part = {letter: z[:, k * units : (k + 1) * units] for k, letter in enumerate(order)}
    see = 1.0 if use_peephole else 0.0
    i = _sigmoid(part["i"] + see * cs * wci)
    f = _sigmoid(part["f"] + bias + see * cs * wcf)
    ci = np.tanh(part["c"])
    new = i * ci + f * cs
    new = np.clip(new, -clip, clip) if clip > 0 else new
    o = _sigmoid(part["o"] + see * new * wco)
    co = np.tanh(new)
    return i, new, f, o, ci, co, o * co


def _cell(*inputs, forget_bias=1.0, cell_clip=3.0, use_peephole=False):
    return _lstm("icfo", forget_bias, cell_clip, *inputs, use_peephole)


def _sequence(order, bias, clip, n, x, cs, h, *rest, use_peephole=False):
    found = [np.zeros((x.shape[0], *cs.shape)) for _ in range(7)]
    for t in range(int(n)):
        step = _lstm(order, bias, clip, x[t], cs, h, *rest, use_peephole)
        cs, h = step[1], step[6]
        for whole, row in zip(found, step, strict=True):
            whole[t] = row
    return found


def _block(*inputs, forget_bias=1.0, cell_clip=3.0, use_peephole=False):
    return _sequence("icfo", forget_bias, cell_clip, *inputs, use_peephole=use_peephole)


def _block_v2(*inputs, cell_clip=0.0, use_peephole=False):
    return _sequence("ifco", 0.0, cell_clip, *inputs, use_peephole=use_peephole)


def _gru(x, h, w_ru, w_c, b_ru, b_c, to_ru=0.0, to_c=0.0):
    r, u = np.split(_sigmoid(np.hstack([x, h]) @ w_ru + b_ru + to_ru), 2, axis=1)
    c = np.tanh(np.hstack([x, r * h]) @ w_c + b_c + to_c)
    return r, u, c, (1 - u) * c + u * h


def _slopes(loss, arrays, step=1e-6):
    """The gradients of a number by each array, from central differences."""
    found = []
    for array in arrays:
        slope = np.zeros_like(array)
        for at in np.ndindex(array.shape):
            before = array[at]
            array[at] = before + step
            above = loss()
            array[at] = before - step
            slope[at] = (above - loss()) / (2 * step)
            array[at] = before
        found.append(slope)
    return found


def _cell_grad(*inputs, use_peephole):
    taken, (by_cs, by_h) = [v.copy() for v in inputs[:8]], inputs[14:]
    offset = np.zeros((taken[0].shape[0], taken[3].shape[1]))

    def loss():
        found = _lstm("icfo", 1.0, 0.0, *taken, use_peephole, offset)
        return (found[1] * by_cs).sum() + (found[6] * by_h).sum()

    return _slopes(loss, [taken[1], offset, *taken[4:7]])


def _block_grad(order, *inputs, use_peephole):
    n, taken, (by_cs, by_h) = inputs[0], [v.copy() for v in inputs[1:9]], inputs[16:]
    bias = 1.0 if order == "icfo" else 0.0

    def loss():
        found = _sequence(order, bias, 0.0, n, *taken, use_peephole=use_peephole)
        used = np.arange(len(by_cs)) < n
        return (found[1] * by_cs)[used].sum() + (found[6] * by_h)[used].sum()

    return _slopes(loss, taken)


def _gru_grad(*inputs):
    taken, d_h = [v.copy() for v in inputs[:6]], inputs[9]
    to_ru, to_c = np.zeros((len(d_h), 2 * d_h.shape[1])), np.zeros_like(d_h)

    def loss():
        return (_gru(*taken, to_ru, to_c)[3] * d_h).sum()

    return _slopes(loss, [taken[0], taken[1], to_c, to_ru])


def _draw(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=s).astype(np.float32) for s in shapes]


def _f32(values):
    return [np.asarray(v, np.float32) for v in values]


BATCH, INPUTS, UNITS, STEPS = 2, 3, 2, 4
STATE = (BATCH, UNITS)
REST = ((INPUTS + UNITS, 4 * UNITS), (UNITS,), (UNITS,), (UNITS,), (4 * UNITS,))
CELL = [normal(BATCH, INPUTS), normal(*STATE), normal(*STATE), *(normal(*s) for s in REST)]
BLOCK = [normal(STEPS, BATCH, INPUTS), *CELL[1:]]
GRU = [normal(*s) for s in ((2, 3), (2, 2), (5, 4), (5, 2), (4,), (2,))]
PEEPHOLES = {"use_peephole": True}


def _length(n):
    return np.array(n, np.int64)


def _sized(sequence, batch, inputs, units):
    shapes = [(batch, inputs), (batch, units), (batch, units), (inputs + units, 4 * units)]
    shapes += [(units,)] * 3 + [(4 * units,)]
    return [normal(*sequence, *shapes[0]), *(normal(*s) for s in shapes[1:])]


def _cell_back(use_peephole):
    inputs = _draw(3, (BATCH, INPUTS), STATE, STATE, *REST)
    saved = _lstm("icfo", 1.0, 0.0, *inputs, use_peephole)
    return case(*inputs, *_f32(saved[:6]), *_draw(4, STATE, STATE), use_peephole=use_peephole)


def _block_back(order, n, use_peephole):
    inputs = _draw(5, (STEPS, BATCH, INPUTS), STATE, STATE, *REST)
    bias = 1.0 if order == "icfo" else 0.0
    saved = _sequence(order, bias, 0.0, n, *inputs, use_peephole=use_peephole)
    grads = _draw(6, (STEPS, *STATE), (STEPS, *STATE))
    return case(_length(n), *inputs, *_f32(saved), *grads, use_peephole=use_peephole)


def _gru_back():
    inputs = _draw(7, *(s.shape for s in GRU))
    return case(*inputs, *_f32(_gru(*inputs)[:3]), *_draw(8, (2, 2)))


BACK = list(itertools.product((STEPS, 2, 0), (False, True)))
LOOSE = {"float32": 2e-5, "float16": 2e-2}


def _state_and_output(op):
    """The results whose gradients count, as in TensorFlow."""

    def run(*inputs, **attrs):
        found = execute(op, inputs, attrs)
        return [found[1], found[6]]

    return run


def _two(reference):
    return lambda *inputs, **attrs: [reference(*inputs, **attrs)[i] for i in (1, 6)]


def _but(inputs, position, sample):
    return tuple(sample if k == position else each for k, each in enumerate(inputs))


def _block_cases(**attrs):
    return [
        case(_length(STEPS), *BLOCK, **attrs),
        case(_length(2), *BLOCK, **PEEPHOLES, **attrs),
        case(_length(0), *BLOCK, **attrs),
        case(_length(STEPS), *BLOCK, cell_clip=0.3),
        case(_length(1), *_sized((1,), 1, 1, 1), **attrs),
        case(_length(0), *_sized((0,), 2, 3, 2), **attrs),
        case(_length(2), *_sized((2,), 0, 3, 2), **attrs),
    ]


CELL_ERRORS = (
    Failure(_but(CELL, 0, normal(3)), "x of rank 2"),
    Failure(_but(CELL, 0, normal(3, 3)), "one size of the batch, got 2, 3"),
    Failure(_but(CELL, 1, normal(2, 4)), "one size of the cell, got 2, 4"),
    Failure(_but(CELL, 3, normal(6, 8)), "what w leaves for it, got 3, 4"),
    Failure(_but(CELL, 3, normal(5, 9)), "a multiple of 4 as the number of columns of w, got 9"),
    Failure(_but(CELL, 4, normal(3)), "one size of the cell, got 2, 3"),
    Failure(_but(CELL, 7, normal(2, 4)), "b of rank 1"),
)
BLOCK_ERRORS = (
    Failure((_length([1]), *BLOCK), "seq_len_max of rank 0"),
    Failure((_length(1), *_but(BLOCK, 0, normal(2, 3))), "x of rank 3"),
    Failure((_length(1), *_but(BLOCK, 1, normal(3, 2))), "one size of the batch, got 2, 3"),
    *(
        Failure(
            (_length(n), *BLOCK),
            f"a number of steps from 0 to 4, .*got {n}",
            eager=errors.InvalidArgumentError,
            graph=None,
        )
        for n in (5, -1)
    ),
)

RECORDS = [
    Record(
        "LSTMBlockCell",
        [
            case(*CELL),
            case(*CELL, **PEEPHOLES, cell_clip=0.5),
            case(*CELL, forget_bias=-0.5, cell_clip=-1.0),
            case(*_sized((), 1, 1, 1)),
            case(*_sized((), 0, 3, 2)),
        ],
        _cell,
        dtypes=("float32", "float16"),
        tolerance=LOOSE,
        errors=CELL_ERRORS,
    ),
    Record(
        "LSTMBlockCellGrad",
        [_cell_back(False), _cell_back(True)],
        _cell_grad,
        tolerance=LOOSE,
        errors=(
            Failure(
                _but(_cell_back(False).inputs, 15, np.zeros((2, 3), np.float32)),
                r"h_grad of shape \(2, 2\)",
                {"use_peephole": False},
            ),
        ),
    ),
    Record(
        "BlockLSTM",
        _block_cases(),
        _block,
        dtypes=("float32", "float16"),
        tolerance=LOOSE,
        errors=BLOCK_ERRORS,
    ),
    Record(
        "BlockLSTMV2", _block_cases(), _block_v2, dtypes=("float32", "float16"), tolerance=LOOSE
    ),
    *(
        Record(
            ".states",
            [
                case(_length(STEPS), *BLOCK, cell_clip=0.0),
                case(_length(3), *BLOCK, cell_clip=0.0, **PEEPHOLES),
            ],
            _two(reference),
            _state_and_output(op),
            tolerance=LOOSE,
            differentiable=(1, 2, 3, 4, 8),
            order=1,
            grad_dtype="float32",
            grad_tolerance=2e-2,
        )
        for op, reference in (("BlockLSTM", _block), ("BlockLSTMV2", _block_v2))
    ),
    Record(
        "BlockLSTMGrad",
        [_block_back("icfo", n, peep) for n, peep in BACK],
        lambda *inputs, **attrs: _block_grad("icfo", *inputs, **attrs),
        tolerance=LOOSE,
    ),
    Record(
        "BlockLSTMGradV2",
        [_block_back("ifco", n, peep) for n, peep in BACK],
        lambda *inputs, **attrs: _block_grad("ifco", *inputs, **attrs),
        tolerance=LOOSE,
    ),
    Record(
        "GRUBlockCell",
        [case(*GRU), case(*(normal(*s) for s in ((0, 3), (0, 2), (5, 4), (5, 2), (4,), (2,))))],
        _gru,
        tolerance=LOOSE,
        errors=(
            Failure(_but(GRU, 0, normal(3, 3)), "one size of the batch, got 2, 3"),
            Failure(_but(GRU, 2, normal(5, 3)), "a multiple of 2 as the number of columns of w_ru"),
            Failure(_but(GRU, 3, normal(6, 2)), "what w_ru and w_c leave for it, got 3, 4"),
            Failure(_but(GRU, 5, normal(3)), "one size of the cell, got 2, 3"),
        ),
    ),
    Record("GRUBlockCellGrad", [_gru_back()], _gru_grad, tolerance=LOOSE),
]
