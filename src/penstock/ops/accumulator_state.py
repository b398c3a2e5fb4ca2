"""Accumulators of gradients: what a handle refers to.

An accumulator adds up gradients until enough of them are there to be taken. It has a step of its
own, which grows by one with each take; a gradient of an earlier step is stale and dropped. A dense
accumulator holds one sum; a sparse one holds rows by index, each with the number of gradients that
had it. Takers wait in line.
"""

import threading
from typing import Any, ClassVar, NoReturn

import numpy as np

from penstock import errors
from penstock.config import logging
from penstock.core.kernels import KernelContext
from penstock.ops.queue_waiting import Line
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray


class Accumulator:
    """What dense and sparse accumulators share. Thread-safe."""

    kind: ClassVar[str] = ""

    def __init__(self, name: str, dtype: DType, shape: Dims, mean: bool) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.mean = mean
        self.condition = threading.Condition()  # guards: count, step and the sums
        self.count = 0
        self.step = 0
        self._takers = Line()

    def set_step(self, step: int) -> None:
        """Sets the step; gradients of earlier ones are stale."""
        with self.condition:
            if step < self.step:
                logging.warning(
                    "%s: the step goes back from %d to %d, so stale gradients are taken", self,
                    self.step, step,
                )  # fmt: skip
            self.step = step

    def accept(self) -> None:
        """Counts a gradient that is not stale. Called under the condition."""
        self.count += 1
        self.condition.notify_all()

    def take(self, ctx: KernelContext, required: int) -> Any:
        """Waits for `required` gradients; returns their sum or mean, and begins anew.

        Raises:
          InvalidArgumentError: `required` is below one.
        """
        if required < 1:
            self.refuse("num_required >= 1", str(required), "Argument num_required must be > 0.")
        self.check_dtype(ctx.attrs["dtype"])
        with self.condition:
            self._takers.wait(ctx, self.condition, lambda: self.count >= required, str(self))
            result = self.result()
            self.count = 0
            self.step += 1
            return result

    def result(self) -> Any:
        """The sum or mean. Called under the condition; the accumulator forgets it."""
        raise NotImplementedError

    def check_dtype(self, dtype: DType) -> None:
        """Raises InvalidArgumentError for gradients of another dtype."""
        if dtype is not self.dtype:
            self.refuse(f"gradients of dtype {self.dtype.name}", dtype.name, "Cast them.")

    def refuse(self, expected: str, got: str, fix: str) -> NoReturn:
        """Raises InvalidArgumentError."""
        raise errors.InvalidArgumentError(
            None, None, f"{self}: expected {expected}, got {got}. {fix}"
        )

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'"


class DenseAccumulator(Accumulator):
    """Adds up gradients of one shape."""

    kind = "ConditionalAccumulator"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._sum: Array = None

    def apply(self, step: int, gradient: Array) -> None:
        """Adds a gradient, unless it is stale: whatever it is like, it is dropped then.

        Raises:
          InvalidArgumentError: it has another shape than the accumulator, or than those before.
        """
        with self.condition:
            if step < self.step:
                return
            wanted = self.shape if self.count == 0 else self._sum.shape
            if not d.compatible(wanted, gradient.shape):
                self.refuse(
                    f"a gradient of shape {d.text(wanted)}", f"shape {d.text(gradient.shape)}",
                    "Attempt to add a gradient of another shape: all must have one.",
                )  # fmt: skip
            self._sum = gradient.copy() if self.count == 0 else self._sum + gradient
            self.accept()

    def result(self) -> Array:
        """The sum or mean."""
        total, self._sum = self._sum, None
        return _divided(total, self.count) if self.mean else total


class SparseAccumulator(Accumulator):
    """Adds up rows: gradients that have values for some indices of the first dimension."""

    kind = "SparseConditionalAccumulator"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._indices: Array = None
        self._values: Array = None
        self._counts: Array = None
        self._shape: Array = None

    def apply(self, step: int, indices: Array, values: Array, shape: Array | None) -> None:
        """Adds a gradient's rows, unless it is stale: whatever it is like, it is dropped then.

        Raises:
          InvalidArgumentError: the rows or the shape do not fit, or an index is out of range.
        """
        with self.condition:
            if step < self.step:
                return
            self._check(indices, values, shape)
            indices, values = _summed(indices, values)  # a row counts once for each gradient
            counts = np.ones(len(indices), np.int64)
            if self.count:
                both = np.concatenate([self._indices, indices])
                values = _summed(both, np.concatenate([self._values, values]))[1]
                indices, counts = _summed(both, np.concatenate([self._counts, counts]))
            self._indices, self._values, self._counts = indices, values, counts
            if shape is not None:
                self._shape = shape.astype(np.int64)
            self.accept()

    def _check(self, indices: Array, values: Array, shape: Array | None) -> None:
        if indices.ndim != 1 or values.ndim < 1 or len(indices) != len(values):
            self.refuse(
                "a vector of indices and as many rows of values",
                f"indices {d.text(indices.shape)} and values {d.text(values.shape)}",
                "Give one row for each index.",
            )
        wanted = self.shape
        given = None if shape is None else tuple(shape.tolist())
        if given is not None and not d.compatible(wanted, given):
            self.refuse(
                f"a gradient of shape {d.text(wanted)}",
                f"shape {d.text(given)}",
                "All must have the accumulator's shape.",
            )
        before = (None, *self._values.shape[1:]) if self.count else None
        for known in (wanted, given, before):
            if known and not d.compatible(known[1:], values.shape[1:]):
                self.refuse(
                    f"rows of shape {d.text(known[1:])}",
                    d.text(values.shape[1:]),
                    "All must have the accumulator's shape.",
                )
        self._check_range(indices, given[0] if given else wanted[0] if wanted else None)

    def _check_range(self, indices: Array, size: int | None) -> None:
        if not len(indices):
            return
        low, high = int(indices.min()), int(indices.max())
        if low < 0 or (size is not None and high >= size):
            self.refuse(
                f"indices in [0, {'...' if size is None else size})",
                f"{low} to {high}",
                "Give rows that exist.",
            )

    def result(self) -> tuple[Array, Array, Array]:
        """Indices, rows and the dense shape."""
        indices, total, counts, shape = self._indices, self._values, self._counts, self._shape
        self._indices = self._values = self._counts = self._shape = None
        if self.mean:
            total = _divided(total, counts.reshape(-1, *[1] * (total.ndim - 1)))
        if shape is None:
            known = self.shape or ()
            shape = np.array([n if n is not None else -1 for n in known], np.int64)
            if not known:
                shape = np.array([-1, *total.shape[1:]], np.int64)
        return indices, total, shape


def _summed(indices: Array, rows: Array) -> tuple[Array, Array]:
    """Sorted indices, each once, with the sums of their rows."""
    found, place = np.unique(indices, return_inverse=True)
    sums = np.zeros((len(found), *rows.shape[1:]), rows.dtype)
    np.add.at(sums, place, rows)
    return found, sums


def _divided(total: Array, count: Any) -> Array:
    if total.dtype.kind in "iu":
        return (np.trunc(total / count)).astype(total.dtype)
    return (total / np.asarray(count).astype(total.dtype)).astype(total.dtype)
