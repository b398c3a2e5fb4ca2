"""Native kernels for CPU: LSTM cells over sequences (`BlockLSTM` and its kin) in one call.

The arithmetic of a step is that of `penstock.ops.nn_recurrent_steps`, written down on `Term`s
instead of arrays. Sequences of other dtypes, empty ones and cells that are no multiple of 8 wide
stay with XLA.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core import native
from penstock.core.recurrence import LEAST_WIDTH, Matrix, Recurrence, Value
from penstock.ops.nn_recurrent_steps import LSTM, lstm_step, rows_alive

Array = Any  # a JAX tracer
FLOAT: dict[str, Any] = {"device": "CPU", "types": {"T": ["float32"]}}
LEAST_WORK = 1 << 12  # multiplications of a step


class Term:
    """A value of a round that arithmetic is written on."""

    dtype = np.dtype(np.float32)

    def __init__(self, rounds: Recurrence, value: Value) -> None:
        self.rounds = rounds
        self.value = value

    def _with(self, code: str, *others: Any) -> "Term":
        values = [o.value if isinstance(o, Term) else self.rounds.number(o) for o in others]
        return Term(self.rounds, self.rounds.apply(code, *values))

    def __add__(self, other: Any) -> "Term":
        return self._with("ADD", self, other)

    def __mul__(self, other: Any) -> "Term":
        return self._with("MULTIPLY", self, other)


class Functions:
    """What `lstm_step` calls `xp`: functions of terms."""

    @staticmethod
    def split(x: Term, count: int, axis: int) -> list[Term]:
        """Columns in `count` equal parts."""
        width = (x.value.width or 0) // count
        return [Term(x.rounds, x.rounds.part(x.value, i * width, width)) for i in range(count)]

    @staticmethod
    def tanh(x: Term) -> Term:
        """The hyperbolic tangent."""
        return x._with("TANH", x)

    @staticmethod
    def sigmoid(x: Term) -> Term:
        """The logistic function."""
        return x._with("SIGMOID", x)

    @staticmethod
    def clip(x: Term, low: Any, high: Any) -> Term:
        """Between two bounds."""
        return x._with("MAXIMUM", x._with("MINIMUM", x, high), low)


def is_native_sequence(attrs: dict[str, Any], length: Array, x: Array, *rest: Array) -> bool:
    """Whether the library can run a cell over this sequence, and it is worth a call."""
    if not native.available() or 0 in x.shape or not rest[0].shape[1]:
        return False
    units = rest[0].shape[1]
    work = math.prod(x.shape[1:]) * 4 * units
    return bool(units % LEAST_WIDTH == 0 and work >= LEAST_WORK)


def native_lstm_sequence(
    xp: Any,
    form: LSTM,
    length: Any,
    x: Array,
    start: Sequence[Array],
    w: Array,
    peepholes: Sequence[Array],
    b: Array,
) -> list[Array]:
    """As `lstm_sequence`: all steps are computed, those from `length` on are zero afterwards."""
    steps, batch, inputs = x.shape
    units = start[0].shape[1]
    r = Recurrence(steps, batch)
    cs, h = r.state(1, units), r.state(2, units)
    z = r.product(r.rows(0, inputs, 0, 1), Matrix(3, inputs, 4 * units))
    z = r.apply("ADD", z, r.fixed(5, (4 * units,)))
    z = r.apply("ADD", z, r.product(h, Matrix(4, units, 4 * units)))
    held = [Term(r, r.fixed(6 + i, (units,))) for i in range(3)]
    found = lstm_step(Functions, form, Term(r, z), Term(r, cs), held)
    r.hand_on(cs, found[1].value)
    r.hand_on(h, found[6].value)
    for each in found:
        r.collect(each.value, units, False)
    program = r.program()
    assert program is not None  # the predicate has seen to that
    arguments = (x, *start, w[:inputs], w[inputs:], b, *peepholes)
    alive = rows_alive(xp, length, x)
    return [xp.where(alive, each, np.float32(0)) for each in r.call(program, arguments)[2:]]
