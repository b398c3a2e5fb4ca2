"""What compiled kernels meet while they are traced.

`TracedRef` stands for a variable inside a region: reads see earlier writes of the same trace.
`TraceContext` collects the checks that kernels make; they become outputs of the region and are
looked at after it ran. `Trace` runs one operation after another on tracers, evaluating on the host
what is known there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import ErrorClass, KernelContext
from penstock.core.lazy import jnp


class NotStatic(Exception):
    """An operation needs a value while it is traced that is known only when the region runs.

    Or it takes what it refuses: only the host says so, where a step reaches it.

    Attributes:
      key: the operation.
      needs: of a conditional or loop, which of its inputs must be known; None where it is not
        known which, and for other operations. Empty where no value helps.
    """

    def __init__(self, key: Any, what: str, needs: set[int] | None = None) -> None:
        super().__init__(f"{key}: {what}")
        self.key = key
        self.needs = needs


class TracedRef:
    """A variable during a trace."""

    __slots__ = ("checked", "gated_at", "name", "regate", "value", "written")

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value
        self.written = False
        self.gated_at = -1
        self.regate: Callable[[Any], Any] | None = None

    def read(self) -> Any:
        """The variable's value at this point of the trace."""
        if self.value is None:
            raise errors.FailedPreconditionError(
                None, None, f"variable {self.name} is read before it has a value"
            )
        return self.value

    def write(
        self, value: Any, gated_at: int = -1, regate: Callable[[Any], Any] | None = None
    ) -> None:
        """Replaces the value.

        Args:
          value: the new value.
          gated_at: number of checks whose failure already leaves `value` equal to the old one.
          regate: `regate(ok)` is the same new value, or the region's old one when the boolean
            scalar `ok` is false; saves a select over the whole value when checks follow the write.
        """
        self.value = value
        self.written = True
        self.gated_at = gated_at
        self.regate = regate


class Check:
    """A condition that a region reports: how to say what went wrong, given the values then."""

    __slots__ = ("error", "message", "op_key")

    def __init__(self, op_key: Any, error: ErrorClass, message: Callable[..., str]) -> None:
        self.op_key = op_key
        self.error = error
        self.message = message


class TraceContext(KernelContext):
    """The context of compiled kernels: checks become outputs."""

    def __init__(
        self,
        op_name: str,
        attrs: dict[str, Any],
        op_key: Any,
        collected: "Collected",
        step_value: Any,
    ) -> None:
        super().__init__(op_name, attrs, None)
        self.op_key = op_key
        self.collected = collected
        self.step_value = step_value

    def check(self, ok: Any, error: ErrorClass, message: Callable[..., str], *values: Any) -> None:
        """Raises at once when `ok` is known to be false; else the region reports it when it ran."""
        if isinstance(ok, (bool, np.bool_)):
            if not ok:
                raise error(None, None, message(*values))
            return
        self.collected.checks.append(Check(self.op_key, error, message))
        self.collected.conditions.append(ok)
        self.collected.values.append(tuple(values))

    @property
    def all_ok(self) -> Any:
        """True when every check so far holds: a boolean scalar, or Python's True without checks."""
        return self.collected.all_ok if self.collected.conditions else True

    @property
    def checks_so_far(self) -> int:
        """The number of checks made so far in this trace."""
        return len(self.collected.conditions)


class CheckedContext(TraceContext):
    """The context of compiled kernels whose checks were made before (`OpDef.checked_on_host`)."""

    def check(self, ok: Any, error: ErrorClass, message: Callable[..., str], *values: Any) -> None:
        """Does nothing, unless `ok` is known to be false."""
        if isinstance(ok, (bool, np.bool_)):
            super().check(ok, error, message, *values)


class Collected:
    """The checks of one trace, and what its conditionals drew.

    Attributes:
      checks, conditions, values: the checks, in the order in which they were made.
      drew: for each stream that a conditional was given whether it is read.
      turn: a number that the last call of LAPACK gave, which the next one waits for.
    """

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.conditions: list[Any] = []
        self.values: list[tuple[Any, ...]] = []
        self.drew: list[Any] = []
        self.turn: Any = None
        self._all_ok: tuple[int, Any] = (0, None)  # of how many conditions, and whether they hold

    @property
    def all_ok(self) -> Any:
        """Whether every condition holds, a boolean scalar; there must be one."""
        count, ok = self._all_ok
        if count != len(self.conditions):
            ok = jnp.stack([jnp.asarray(c).reshape(()) for c in self.conditions]).all()
            self._all_ok = len(self.conditions), ok
        return ok


def gate(collected: Collected, ref: TracedRef, old: Any) -> Any:
    """The new value of a written variable: the old one when a check of the region failed."""
    count = len(collected.conditions)
    if not count or ref.gated_at == count or old is None:
        return ref.value
    if ref.regate is not None:
        return ref.regate(collected.all_ok)
    if ref.value.shape != old.shape:
        return ref.value
    return jnp.where(collected.all_ok, ref.value, old)


def gate_now(collected: Collected, ref: TracedRef, old: Any) -> None:
    """Gates a variable that was just written, so that what is computed from it shares the result.

    Gated at the end alone, the old value would have to be kept for the selection, and what was
    computed from the new one would be computed again: XLA keeps no result beside its gated form.
    """
    count = len(collected.conditions)
    if ref.written and ref.regate is None and ref.gated_at != count:
        ref.write(gate(collected, ref, old), gated_at=count)


def raise_failed(
    checks: list[Check], conditions: Any, values: Any, locate: Callable[[Any], str]
) -> None:
    """Raises the error of the first failed check; `locate(op_key)` gives name and user line."""
    for check, ok, held in zip(checks, conditions, values, strict=True):
        if not bool(np.asarray(ok)):
            text = check.message(*[np.asarray(v) for v in held])
            raise check.error(
                None, getattr(check.op_key, "origin", None), f"{locate(check.op_key)}{text}"
            )
