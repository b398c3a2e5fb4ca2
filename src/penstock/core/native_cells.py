"""LSTM cells over few steps in one native pass, with functions of `native/special.cc`.

For float32; each function returns None where the library is not in use, or for other dtypes.
Sequences are [steps, batch, units], states [batch, units]. Thread-safe: nothing is kept between
calls.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.native_special import LIBRARY

Array = Any  # numpy.ndarray
_FLOAT = np.dtype(np.float32)
_NO_MEMORY = -3


def _sizes(shape: Sequence[int], length: int, order: str, use_peephole: bool) -> Array:
    return np.array([*shape, length, *map(order.index, "ifoc"), use_peephole], np.int64)


def lstm(
    order: str,
    options: tuple[float, float, bool],
    length: int,
    z: Array,
    again: Array | None,
    start: Sequence[Array],
    peepholes: Sequence[Array],
) -> Array | None:
    """i, cs, f, o, ci, co and h of a sequence: [7, steps, batch, units], zeros from `length` on.

    Args:
      order: of the gates among the columns of `z`, a permutation of "icfo".
      options: what is added to the forget gate, the bound of states, whether gates see the state.
      length: how many steps there are.
      z: [steps, batch, 4 * units], what the gates are given, but for outputs.
      again: [units, 4 * units], multiplies outputs; None where `z` has that too.
      start: cs and h before.
      peepholes: wci, wcf, wco, [units] each.
    """
    call = LIBRARY.function("lstm")
    if call is None or z.dtype != _FLOAT:
        return None
    steps, batch, width = z.shape
    sizes = _sizes((steps, batch, width // 4), length, order, options[2])
    z, given = np.ascontiguousarray(z), [np.ascontiguousarray(a) for a in (*start, *peepholes)]
    again = None if again is None else np.ascontiguousarray(again)
    out = np.zeros((7, steps, batch, width // 4), _FLOAT)
    if call(sizes, np.array(options[:2], _FLOAT), z, again, *given, out) == _NO_MEMORY:
        raise MemoryError("an LSTM: there is no memory left for intermediate values")
    return out


def lstm_back(
    order: str,
    use_peephole: bool,
    length: int,
    again: Array | None,
    cs_prev: Array,
    peepholes: Sequence[Array],
    saved: Sequence[Array],
    grads: Sequence[Array],
) -> tuple[Array, Array, Array] | None:
    """What flows back through `lstm`: to z, and to cs and h before.

    Args:
      order, use_peephole, length, peepholes: as there.
      again: as there.
      cs_prev: cs before.
      saved: i, cs, f, o, ci, co of the sequence.
      grads: of cs and h, of its shape.
    """
    call = LIBRARY.function("lstm_back")
    if call is None or cs_prev.dtype != _FLOAT:
        return None
    steps, batch, units = saved[0].shape
    sizes = _sizes((steps, batch, units), length, order, use_peephole)
    back = None if again is None else np.ascontiguousarray(again.T)
    given = [np.ascontiguousarray(a) for a in (cs_prev, *peepholes, *saved, *grads)]
    dz, states = np.zeros((steps, batch, 4 * units), _FLOAT), np.zeros((2, batch, units), _FLOAT)
    call(sizes, back, *given, dz, states)
    return dz, states[0], states[1]
