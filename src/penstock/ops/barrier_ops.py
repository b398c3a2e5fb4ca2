"""Barriers: elements whose components come one by one, taken when they are complete.

An element has a key and a number: that of the insertion which brought its first component, from
the smallest int64 up. Complete elements are taken in the order of these numbers. TensorFlow has
these operations for string references only; the planner puts them in terms of resources.
"""

import heapq
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.resources import ResourceHandle
from penstock.core.shapes import ShapeContext
from penstock.ops.queue_waiting import Line, make_handle
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray

_HOST = 1 << 62
_WHY = "what a barrier holds is no function of its handle"
_ATTRS = (
    "component_types: list(type) >= 1, shapes: list(shape) >= 0 = [], capacity: int = -1, "
    "container: string = '', shared_name: string = ''"
)


class BarrierState:
    """A barrier. Thread-safe."""

    def __init__(self, name: str, dtypes: Sequence[DType], dims: Sequence[Dims]) -> None:
        self.name = name
        self.dtypes = tuple(dtypes)
        self.dims = tuple(dims) or (None,) * len(self.dtypes)
        self.condition = threading.Condition()  # guards: all that follows
        self.closed = False
        self.cancelled = False
        self.incomplete: dict[bytes, list[Any]] = {}  # key: number, then components
        self.ready: list[tuple[int, int, bytes, list[Array]]] = []
        self._number = -(1 << 63)
        self._serial = 0
        self._takers = Line()

    def insert(self, keys: Array, values: Array, component: int) -> None:
        """Sets a component of elements; those without a key yet are new.

        Raises:
          InvalidArgumentError: the values do not fit, or an element has the component.
          CancelledError: the barrier is closed.
        """
        if not 0 <= component < len(self.dtypes):
            self._refuse(f"component_index in [0, {len(self.dtypes)})", str(component))
        if values.ndim == 0 or keys.ndim != 1 or len(values) != len(keys):
            self._refuse(
                f"one value for each of {keys.size} keys", f"values of shape {d.text(values.shape)}"
            )
        if not d.compatible(self.dims[component], values.shape[1:]):
            self._refuse(
                f"values of shape {d.text(self.dims[component])} for component {component}",
                d.text(values.shape[1:]),
            )
        with self.condition:
            new = self._check_open(keys)
            number = self._number
            self._number += new
            for key, value in zip(keys.tolist(), values, strict=True):
                self._insert_one(key, np.array(value, values.dtype), component, number)
            self.condition.notify_all()

    def _check_open(self, keys: Array) -> bool:
        """Whether there are new elements among these, which a closed barrier refuses."""
        new = any(key not in self.incomplete for key in keys.tolist())
        if self.cancelled or (self.closed and new):
            raise errors.CancelledError(
                None,
                None,
                f"Barrier '{self.name}' is closed: expected keys of elements that wait for "
                f"components, got {keys.tolist()[:5]}. Insert elements before closing it.",
            )
        return new

    def _insert_one(self, key: bytes, value: Array, component: int, number: int) -> None:
        element = self.incomplete.setdefault(key, [number, *[None] * len(self.dtypes)])
        if element[component + 1] is not None:
            self._refuse(
                f"a key without component {component}",
                f"{key!r}, which has it",
                "Insert each component once.",
            )
        element[component + 1] = value
        if all(part is not None for part in element[1:]):
            del self.incomplete[key]
            heapq.heappush(self.ready, (element[0], self._serial, key, element[1:]))
            self._serial += 1

    def take(self, ctx: KernelContext, wanted: int, fewer: bool) -> list[Array]:
        """Takes complete elements: numbers, keys and components; waits for them.

        Raises:
          OutOfRangeError: the barrier is closed and will not have enough.
        """
        if wanted < 0:
            self._refuse("num_elements >= 0", str(wanted))
        with self.condition:
            self._takers.wait(
                ctx,
                self.condition,
                lambda: len(self.ready) >= wanted or self._hopeless(wanted, fewer),
                f"Barrier '{self.name}'",
            )
            count = min(wanted, len(self.ready))
            if count < wanted and not (fewer and count):
                raise errors.OutOfRangeError(
                    None,
                    None,
                    f"Barrier '{self.name}' is closed and has insufficient elements (requested "
                    f"{wanted}, total size {len(self.ready)}). It is the end of its data.",
                )
            return self._batch([heapq.heappop(self.ready) for _ in range(count)])

    def _hopeless(self, wanted: int, fewer: bool) -> bool:
        """Whether waiting for so many is no use."""
        if not self.closed:
            return False
        coming = 0 if self.cancelled else len(self.incomplete)
        return fewer or len(self.ready) + coming < wanted

    def _batch(self, taken: list[Any]) -> list[Array]:
        numbers = np.array([item[0] for item in taken], np.int64)
        keys = np.array([item[2] for item in taken], object)
        parts = [
            np.stack([item[3][i] for item in taken])
            if taken
            else np.zeros((0, *(n or 0 for n in dims or ())), dtype.numpy_dtype)
            for i, (dtype, dims) in enumerate(zip(self.dtypes, self.dims, strict=True))
        ]
        return [numbers, keys, *parts]

    def close(self, cancel: bool = True) -> None:
        """Refuses new elements; with `cancel` components of those that wait too.

        Raises:
          CancelledError: it was closed with `cancel` before.
        """
        with self.condition:
            if self.cancelled:
                raise errors.CancelledError(
                    None,
                    None,
                    f"Barrier '{self.name}' is already closed: expected an open one. Close it once "
                    "with cancel_pending_enqueues=True.",
                )
            self.closed = True
            self.cancelled = cancel
            self.condition.notify_all()

    def _refuse(self, expected: str, got: str, fix: str = "") -> None:
        text = f"Barrier '{self.name}': expected {expected}, got {got}. {fix}"
        raise errors.InvalidArgumentError(None, None, text.rstrip())


def _on_handle(name: str, rest: str, doc: str, shape: Any) -> OpDef:
    """An operation on a string reference, and ours on a resource in its place."""
    define_op(f"{name}(ref handle: string{rest}", shape=shape, doc=doc).not_differentiable(_WHY)
    return define_op(
        f"Penstock{name}(handle: resource{rest}", shape=shape, stateful=True, doc=doc
    ).not_differentiable(_WHY)


define_op(
    f"Barrier(; {_ATTRS}) -> ref handle: string",
    shape=lambda c: (2,),
    stateful=True,
    doc="A barrier, shared by name.",
).not_differentiable("it has no inputs")
BARRIER = define_op(
    f"PenstockBarrier(; {_ATTRS}) -> handle: resource",
    shape=shapes.scalar,
    stateful=True,
    doc="A barrier, shared by name.",
).not_differentiable("it has no inputs")


@host_kernel(BARRIER, limit=_HOST)
def _barrier(ctx: KernelContext) -> ResourceHandle:
    types, dims = ctx.attrs["component_types"], ctx.attrs["shapes"]
    if ctx.attrs["capacity"] != -1:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{ctx.op_name}: expected capacity=-1, as barriers have no bound, got "
            f"{ctx.attrs['capacity']}.",
        )
    if dims and len(dims) != len(types):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{ctx.op_name}: expected a shape for each of {len(types)} components, or none, got "
            f"{len(dims)}.",
        )
    return make_handle(
        ctx,
        ctx.attrs["container"],
        ctx.attrs["shared_name"],
        BarrierState,
        lambda name: BarrierState(name, types, dims),
    )


def _held(handle: Any) -> BarrierState:
    found = getattr(handle, "resource", None)
    if not isinstance(found, BarrierState):
        raise errors.InvalidArgumentError(
            None, None, f"expected the handle of a barrier, got {handle!r}."
        )
    return found


def _take_shape(c: ShapeContext) -> list[Dims]:
    c.rank(1, 0, "num_elements")
    return [(None,), (None,), *[None] * len(c.attr("component_types"))]


INSERT = _on_handle(
    "BarrierInsertMany",
    ", keys: string, values: T; T: type, component_index: int) -> ()",
    "Sets a component of elements of a barrier; those whose keys are new are made.",
    shapes.no_output,
)
TAKE = _on_handle(
    "BarrierTakeMany",
    ", num_elements: int32; component_types: list(type) >= 1, allow_small_batch: bool = False, "
    "wait_for_incomplete: bool = False, timeout_ms: int = -1) -> indices: int64, keys: string, "
    "values: [component_types]",
    "Takes complete elements of a barrier; waits for them.",
    _take_shape,
)
CLOSE = _on_handle(
    "BarrierClose",
    "; cancel_pending_enqueues: bool = False) -> ()",
    "Closes a barrier: new elements are refused from now on.",
    shapes.no_output,
)
READY_SIZE = _on_handle(
    "BarrierReadySize", ") -> size: int32", "How many elements are complete.", shapes.scalar
)
INCOMPLETE_SIZE = _on_handle(
    "BarrierIncompleteSize",
    ") -> size: int32",
    "How many elements wait for components.",
    shapes.scalar,
)


@host_kernel(INSERT, limit=_HOST)
def _insert(handle: Any, keys: Array, values: Array, *, T: DType, component_index: int) -> None:
    held = _held(handle)
    if 0 <= component_index < len(held.dtypes) and T is not held.dtypes[component_index]:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Barrier '{held.name}': expected dtype {held.dtypes[component_index].name} for "
            f"component {component_index}, got {T.name}. Cast the values.",
        )
    held.insert(keys, values, component_index)


@host_kernel(TAKE, limit=_HOST, blocks=True)
def _take(ctx: KernelContext, handle: Any, num_elements: Array) -> list[Any]:
    held, attrs = _held(handle), ctx.attrs
    if tuple(attrs["component_types"]) != held.dtypes or attrs["timeout_ms"] != -1:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Barrier '{held.name}': expected component_types {[t.name for t in held.dtypes]} and "
            f"timeout_ms=-1, got {[t.name for t in attrs['component_types']]} and "
            f"{attrs['timeout_ms']}. Use RunOptions(timeout_in_ms=...) for a timeout.",
        )
    return held.take(ctx, int(num_elements), attrs["allow_small_batch"])


@host_kernel(CLOSE, limit=_HOST)
def _close(handle: Any, *, cancel_pending_enqueues: bool) -> None:
    _held(handle).close(cancel_pending_enqueues)


@host_kernel(READY_SIZE, limit=_HOST)
def _ready_size(handle: Any) -> Array:
    return np.asarray(len(_held(handle).ready), np.int32)


@host_kernel(INCOMPLETE_SIZE, limit=_HOST)
def _incomplete_size(handle: Any) -> Array:
    return np.asarray(len(_held(handle).incomplete), np.int32)
