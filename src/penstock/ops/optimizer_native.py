"""Updates of variables by the native library: what an optimizer's host kernel tries first.

`NativeRule` makes the call for one operation, in place where nothing else has a variable's array.
What follows from the rates alone (their checks, the program, its numbers) is made once for rates
that come back. Their bytes are the key: arrays may change under a tensor, those of DLPack, say, and
zeros of both signs are apart. What does not fit is left to the kernel, which says what is wrong.
"""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from penstock.core import native_rules
from penstock.ops import optimizer_checks as checks
from penstock.ops.optimizer_programs import Programs
from penstock.ops.optimizer_rules import Array, UpdateRule
from penstock.ops.state_host_rows import own_arrays

KNOWN = 256  # combinations of rates that are remembered, for each operation


class _Ready(NamedTuple):
    """A call that lacks nothing but the variables and the gradient."""

    program: native_rules.Program
    kind: int
    values: Array


class NativeRule:
    """The native way of an operation that updates variables. Thread-safe."""

    def __init__(
        self, name: str, names: Sequence[str], slots: Sequence[str], update: UpdateRule
    ) -> None:
        """What the operation is.

        Args:
          name: of the operation.
          names: of its inputs, the variables' first.
          slots: the variables'.
          update: the rule.
        """
        self._name, self._count = name, len(slots)
        self._gradient = names.index("delta" if "delta" in names else "grad")
        self._indices = names.index("indices") if "indices" in names else None
        apart = {*range(self._count), self._gradient, self._indices}
        places = [i for i in range(len(names)) if i not in apart]
        self._hyper = tuple(names[i] for i in places)
        self._pick: Callable[[Any], Any] = _picker(places)
        self._programs, self._given = Programs(update), update.given
        flags = self._programs.flags
        self._flags: Callable[[Any], Any] = itemgetter(*flags) if flags else len
        self._ready: dict[Any, _Ready] = {}

    def run(self, ctx: Any, inputs: Sequence[Any]) -> bool:
        """Whether the variables were updated; if not, they are as they were.

        Args:
          ctx: the kernel's context.
          inputs: of the host kernel: cells of variables, whose locks are held, and arrays.

        Raises:
          InvalidArgumentError: a rate is out of its range.
        """
        refs, grad = inputs[: self._count], inputs[self._gradient]
        indices = None if self._indices is None else inputs[self._indices]
        if not _fit(refs, grad, indices):
            return False
        ready = self._prepared(ctx, self._pick(inputs), grad.dtype)
        if ready is None:
            return False
        program, kind, values = ready
        own = own_arrays(refs)
        if own is not None:
            return native_rules.update(program, kind, own, grad, values, indices)
        new = [np.array(r.value, order="C") for r in refs]
        if not native_rules.update(program, kind, new, grad, values, indices):
            return False
        for ref, value in zip(refs, new, strict=True):
            ref.write(value)
        return True

    def _prepared(self, ctx: Any, numbers: tuple[Array, ...], dtype: Any) -> _Ready | None:
        """The call for these rates; None where there is none, or something is wrong with them."""
        given = [v.tobytes() for v in numbers if not v.ndim]  # too short a key for what is no rate
        key = (self._flags(ctx.attrs), dtype.num, *given)
        found = self._ready.get(key)
        if found is not None:
            return found
        kind = native_rules.kind_served(dtype)
        if kind is None or any(v.ndim for v in numbers):
            return None
        hyper = self._given(np, dict(zip(self._hyper, numbers, strict=True)))
        program = self._programs.program(hyper, ctx.attrs)
        if program is None:
            return None
        checks.check_ranges(ctx, self._name, hyper)
        values = native_rules.values_of(program, tuple(hyper.values()), dtype)
        if len(self._ready) >= KNOWN:
            self._ready.clear()
        found = self._ready[key] = _Ready(program, kind, values)
        return found


def _picker(places: list[int]) -> Callable[[Any], Any]:
    """What takes a tuple of the inputs at these places."""
    if len(places) == 1:
        (place,) = places
        return lambda inputs: (inputs[place],)
    return itemgetter(*places)


def _fit(refs: Sequence[Any], grad: Array, indices: Array | None) -> bool:
    """Whether variables have values, all like the gradient's, or with a row for each index.

    Rows without elements do not: some rules refuse them.
    """
    shape, dtype = grad.shape, grad.dtype
    if indices is not None:
        first = refs[0].value
        if first is None or not first.ndim or indices.ndim != 1 or 0 in first.shape[1:]:
            return False
        if shape != indices.shape + first.shape[1:]:
            return False
        shape = first.shape
        del first  # it would be another holder
    for ref in refs:
        array = ref.value
        if array is None or array.shape != shape:
            return False
        if array.dtype is not dtype and array.dtype != dtype:
            return False
    return True


__all__ = ["NativeRule"]
