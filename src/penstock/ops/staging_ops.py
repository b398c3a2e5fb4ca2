"""Staging areas: tuples of tensors that one part of a program puts and another takes.

`Stage` and its like are a queue without a handle: operations with one container and shared name
share an area. Map staging areas keep tuples by key, and a tuple may come, and go, in parts. Both
bound the number of tuples and their bytes; who comes to a full area waits.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.queue_waiting import wait_until
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray

_HOST = 1 << 62
_WHY = "a staging area is no function of its inputs"
_BOUNDS = "capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, "
_SHARED = "container: string = '', shared_name: string = ''"


class _Area:
    """What both kinds share: bounds, and waiting. Thread-safe."""

    def __init__(self, name: str, capacity: int, memory: int) -> None:
        self.name = name
        self.capacity = capacity
        self.memory = memory
        self.condition = threading.Condition()  # guards: bytes and the elements
        self.bytes = 0

    def tuples(self) -> int:
        """How many tuples it holds."""
        raise NotImplementedError

    def reserve(self, ctx: KernelContext, size: int, new: bool) -> None:
        """Waits for room; called under the condition.

        Raises:
          ResourceExhaustedError: so many bytes can never have room.
        """
        if self.memory and size > self.memory:
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"Attempted to insert tensors with combined size of {size} bytes into staging area "
                f"'{self.name}': expected at most memory_limit={self.memory}. Raise the limit.",
            )
        self.wait(ctx, lambda: self._fits(size, new))
        self.bytes += size

    def _fits(self, size: int, new: bool) -> bool:
        if self.memory and self.bytes + size > self.memory:
            return False
        return not (new and self.capacity) or self.tuples() < self.capacity

    def wait(self, ctx: KernelContext, ready: Callable[[], bool]) -> None:
        """Waits until `ready()`; called under the condition."""
        wait_until(ctx, self.condition, ready, f"staging area '{self.name}'")

    def changed(self, size: int = 0) -> None:
        """Notes that `size` bytes have gone, and wakes those who wait."""
        self.bytes -= size
        self.condition.notify_all()

    def clear(self) -> None:
        """Removes all elements."""
        raise NotImplementedError


def _size(values: Sequence[Array]) -> int:
    return sum(sum(map(len, v.reshape(-1))) if v.dtype == object else v.nbytes for v in values)


class ListArea(_Area):
    """Tuples: first in, first out."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._items: list[list[Array]] = []

    def tuples(self) -> int:
        """How many tuples it holds."""
        return len(self._items)

    def put(self, ctx: KernelContext, values: list[Array]) -> None:
        """Adds a tuple; waits for room."""
        with self.condition:
            self.reserve(ctx, _size(values), True)
            self._items.append([v.copy() for v in values])
            self.changed()

    def take(self, ctx: KernelContext) -> list[Array]:
        """Removes the first tuple; waits for it."""
        with self.condition:
            self.wait(ctx, lambda: bool(self._items))
            values = self._items.pop(0)
            self.changed(_size(values))
            return values

    def peek(self, ctx: KernelContext, index: int) -> list[Array]:
        """The tuple with a number; waits for it."""
        if index < 0:
            raise _refusal(ctx, "an index >= 0", str(index))
        with self.condition:
            self.wait(ctx, lambda: len(self._items) > index)
            return [v.copy() for v in self._items[index]]

    def clear(self) -> None:
        """Removes all tuples."""
        with self.condition:
            self._items.clear()
            self.changed(self.bytes)


class MapArea(_Area):
    """Tuples by key; each may come and go in parts."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.incomplete: dict[int, dict[int, Array]] = {}
        self.complete: dict[int, dict[int, Array]] = {}

    def tuples(self) -> int:
        """How many tuples it holds, complete or not."""
        return len(self.complete) + len(self.incomplete)

    def put(
        self, ctx: KernelContext, key: int, indices: list[int], values: list[Array], count: int
    ) -> None:
        """Adds parts of a tuple of `count`; waits for room."""
        if len(indices) != len(values) or any(not 0 <= i < count for i in indices):
            raise _refusal(ctx, f"an index in [0, {count}) for each value", str(indices))
        with self.condition:
            self._refuse_known(ctx, key, indices)
            self.reserve(ctx, _size(values), key not in self.incomplete)
            self._refuse_known(ctx, key, indices)
            parts = self.incomplete.setdefault(key, {})
            parts.update({i: v.copy() for i, v in zip(indices, values, strict=True)})
            if len(parts) == count:
                self.complete[key] = self.incomplete.pop(key)
            self.changed()

    def _refuse_known(self, ctx: KernelContext, key: int, indices: list[int]) -> None:
        parts = self.complete.get(key, self.incomplete.get(key, {}))
        if key in self.complete or any(i in parts for i in indices):
            raise _refusal(
                ctx,
                f"parts that key {key} does not have yet",
                f"indices {indices} where it has {sorted(parts)}",
            )

    def take(
        self, ctx: KernelContext, key: int, indices: list[int], keep: bool = False
    ) -> list[Array]:
        """Parts of the tuple with a key; waits for it. `keep`: they stay in the area."""
        with self.condition:
            self.wait(ctx, lambda: key in self.complete)
            return self._parts(ctx, key, indices, keep)

    def take_any(
        self, ctx: KernelContext, indices: list[int], ordered: bool
    ) -> tuple[Array, list[Array]]:
        """Parts of the tuple with the smallest key, or of the first one complete."""
        with self.condition:
            self.wait(ctx, lambda: bool(self.complete))
            key = min(self.complete) if ordered else next(iter(self.complete))
            return np.asarray(key, np.int64), self._parts(ctx, key, indices, False)

    def _parts(self, ctx: KernelContext, key: int, indices: list[int], keep: bool) -> list[Array]:
        parts = self.complete[key]
        if len(indices) != len(ctx.attrs["dtypes"]) or any(i not in parts for i in indices):
            expected = f"{len(ctx.attrs['dtypes'])} indices among {sorted(parts)} of key {key}"
            raise _refusal(ctx, expected, str(indices))
        values = [parts[i].copy() for i in indices]
        if not keep:
            for i in set(indices):
                self.bytes -= _size([parts.pop(i)])
            if not parts:
                del self.complete[key]
            self.changed()
        return values

    def clear(self) -> None:
        """Removes all tuples."""
        with self.condition:
            self.incomplete.clear()
            self.complete.clear()
            self.changed(self.bytes)


def _refusal(ctx: KernelContext, expected: str, got: str) -> errors.OpError:
    return errors.InvalidArgumentError(
        None, None, f"{ctx.op_name}: expected {expected}, got {got}. Give others."
    )


def _area(ctx: KernelContext, kind: type[Any]) -> Any:
    attrs = ctx.attrs
    name = attrs["shared_name"] or ctx.op_name
    return ctx.resources.lookup_or_create(
        attrs["container"],
        name,
        kind,
        lambda: kind(name, attrs["capacity"], attrs["memory_limit"]),
    )


def _define(text: str, doc: str, shape: Any) -> OpDef:
    op = define_op(f"{text}", shape=shape, stateful=True, doc=doc)
    return op.not_differentiable(_WHY)


def _open(c: ShapeContext) -> list[Dims]:
    return [None] * len(c.attr("dtypes"))


def _key_and_open(c: ShapeContext) -> list[Dims]:
    return [(), *_open(c)]


_TYPES = "dtypes: list(type) >= 1, "
_ANY_TYPES = "dtypes: list(type), "

STAGE = _define(
    f"Stage(values: [dtypes]; {_BOUNDS}{_TYPES}{_SHARED}) -> ()",
    "Puts a tuple into a staging area; waits for room.",
    shapes.no_output,
)
UNSTAGE = _define(
    f"Unstage(; {_BOUNDS}{_TYPES}{_SHARED}) -> values: [dtypes]",
    "Takes the first tuple out of a staging area; waits for it.",
    _open,
)
PEEK = _define(
    f"StagePeek(index: int32; {_BOUNDS}{_TYPES}{_SHARED}) -> values: [dtypes]",
    "The tuple with a number in a staging area; waits for it.",
    _open,
)
SIZE = _define(
    f"StageSize(; {_BOUNDS}{_ANY_TYPES}{_SHARED}) -> size: int32",
    "How many tuples are in a staging area.",
    shapes.scalar,
)
CLEAR = _define(
    f"StageClear(; {_BOUNDS}{_ANY_TYPES}{_SHARED}) -> ()",
    "Empties a staging area.",
    shapes.no_output,
)


@host_kernel(STAGE, limit=_HOST, blocks=True)
def _stage(ctx: KernelContext, values: list[Array]) -> None:
    _area(ctx, ListArea).put(ctx, values)


@host_kernel(UNSTAGE, limit=_HOST, blocks=True)
def _unstage(ctx: KernelContext) -> list[Array]:
    return _same_count(ctx, _area(ctx, ListArea).take(ctx))


@host_kernel(PEEK, limit=_HOST, blocks=True)
def _peek(ctx: KernelContext, index: Array) -> list[Array]:
    return _same_count(ctx, _area(ctx, ListArea).peek(ctx, int(index)))


def _same_count(ctx: KernelContext, values: list[Array]) -> list[Array]:
    wanted = [t.numpy_dtype for t in ctx.attrs["dtypes"]]
    found = [v.dtype for v in values]
    if wanted != found:
        raise _refusal(ctx, f"a tuple of dtypes {[str(t) for t in wanted]}", str(found))
    return values


@host_kernel(SIZE, limit=_HOST)
def _stage_size(ctx: KernelContext) -> Array:
    return np.asarray(_area(ctx, ListArea).tuples(), np.int32)


@host_kernel(CLEAR, limit=_HOST)
def _stage_clear(ctx: KernelContext) -> None:
    _area(ctx, ListArea).clear()


def _map_put(ctx: KernelContext, key: Array, indices: Array, values: list[Array]) -> None:
    count = len(ctx.attrs["dtypes"])
    _area(ctx, MapArea).put(ctx, _key(ctx, key), indices.tolist(), values, count)


def _map_take(ctx: KernelContext, key: Array, indices: Array) -> list[Array]:
    return _area(ctx, MapArea).take(ctx, _key(ctx, key), indices.tolist())  # type: ignore[no-any-return]


def _map_peek(ctx: KernelContext, key: Array, indices: Array) -> list[Array]:
    return _area(ctx, MapArea).take(ctx, _key(ctx, key), indices.tolist(), True)  # type: ignore[no-any-return]


def _map_take_any(ctx: KernelContext, indices: Array) -> list[Any]:
    key, values = _area(ctx, MapArea).take_any(ctx, indices.tolist(), False)
    return [key, *values]


def _map_take_first(ctx: KernelContext, indices: Array) -> list[Any]:
    key, values = _area(ctx, MapArea).take_any(ctx, indices.tolist(), True)
    return [key, *values]


def _map_size(ctx: KernelContext) -> Array:
    return np.asarray(len(_area(ctx, MapArea).complete), np.int32)


def _map_incomplete(ctx: KernelContext) -> Array:
    return np.asarray(len(_area(ctx, MapArea).incomplete), np.int32)


def _map_clear(ctx: KernelContext) -> None:
    _area(ctx, MapArea).clear()


def _define_map(prefix: str, what: str, take_any: Callable[..., Any]) -> None:
    """The operations on map staging areas, of which there are two kinds."""
    outputs = f"{_BOUNDS}{_TYPES}{_SHARED}) -> "
    facts = f"{_BOUNDS}{_ANY_TYPES}{_SHARED}) -> "
    waiting = (
        (
            f"Stage(key: int64, indices: int32, values: [fake_dtypes]; {_BOUNDS}{_ANY_TYPES}"
            f"fake_dtypes: list(type) >= 1, {_SHARED}) -> ()",
            f"Puts parts of a tuple into {what}; waits for room.",
            shapes.no_output,
            _map_put,
        ),
        (
            f"Unstage(key: int64, indices: int32; {outputs}values: [dtypes]",
            f"Takes parts of a tuple out of {what}; waits for it.",
            _open,
            _map_take,
        ),
        (
            f"Peek(key: int64, indices: int32; {outputs}values: [dtypes]",
            f"Parts of a tuple in {what}; waits for it.",
            _open,
            _map_peek,
        ),
        (
            f"UnstageNoKey(indices: int32; {outputs}key: int64, values: [dtypes]",
            f"Takes parts of some tuple out of {what}; waits for one.",
            _key_and_open,
            take_any,
        ),
    )
    at_once = (
        (
            f"Size(; {facts}size: int32",
            f"How many complete tuples are in {what}.",
            shapes.scalar,
            _map_size,
        ),
        (
            f"IncompleteSize(; {facts}size: int32",
            f"How many tuples in {what} wait for parts.",
            shapes.scalar,
            _map_incomplete,
        ),
        (f"Clear(; {facts}()", f"Empties {what}.", shapes.no_output, _map_clear),
    )
    for blocks, table in ((True, waiting), (False, at_once)):
        for text, doc, shape, run in table:
            host_kernel(_define(prefix + text, doc, shape), limit=_HOST, blocks=blocks)(run)


def _key(ctx: KernelContext, key: Array) -> int:
    if key.size != 1:
        raise _refusal(ctx, "one key", f"keys of shape {key.shape}")
    return int(key.reshape(()))


_define_map("Map", "a staging area with keys", _map_take_any)
_define_map("OrderedMap", "a staging area with keys in order", _map_take_first)
