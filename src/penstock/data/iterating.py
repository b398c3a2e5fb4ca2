"""`IteratorState`: what the handle of an iterator refers to, and the operations on it."""

import contextlib
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.resources import ResourceHandle, ResourceManager
from penstock.core.shapes import ShapeContext
from penstock.data import codec, restoring
from penstock.data.external import check_external
from penstock.data.operations import HOST, TYPES, attr_text, held
from penstock.data.options import ExternalStatePolicy
from penstock.data.options_dataset import options_of
from penstock.data.pool import Process
from penstock.data.run import Run, UnwantedError
from penstock.data.stages import Array, Description, Element, Stage, State, left_behind
from penstock.ops.optional import OptionalValue
from penstock.ops.queue_waiting import make_handle
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_LOOK_S = 0.05  # from look to look whether a step that waits for its turn has ended
_WHY = "what an iterator gives is no function of its handle"


class IteratorState:
    """An iterator. Thread-safe: each element goes to one caller.

    Args:
      name: what errors call it.
      types: the dtypes of the components.
      shapes: their static shapes.
    """

    def __init__(self, name: str, types: Sequence[DType], shapes: Sequence[Dims]) -> None:
        self.name = name
        self.types = tuple(types)
        self.shapes = tuple(shapes)
        self._closed = False  # no lock: it is set once
        self._process = Process.number
        self.lock = threading.RLock()  # guards: all that follow
        self._description: Description | None = None
        self._run: Run | None = None
        self._stage: Stage | None = None

    @property
    def description(self) -> Description | None:
        """The dataset, once it has one."""
        return self._description

    def begin(
        self, description: Description, resources: ResourceManager, device: str = "CPU"
    ) -> None:
        """Starts before the first element of a dataset.

        Raises:
          InvalidArgumentError: its elements are others than the iterator's.
        """
        self._check(description)
        run = Run(resources, device, options_of(description))
        stage = description.start(run)
        with self.lock:
            before = self._run, self._stage
            self._description, self._run, self._stage = description, run, stage
            self._closed = False
        _close(*before)

    def _check(self, description: Description) -> None:
        fits = description.types == self.types and all(
            d.compatible(a, b) for a, b in zip(description.shapes, self.shapes, strict=True)
        )
        if not fits:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Number of components or their types do not match in {self.name}: expected types"
                f" {_types_text(self.types)} with shapes {_shapes_text(self.shapes)}, got types"
                f" {_types_text(description.types)} with shapes"
                f" {_shapes_text(description.shapes)}.",
            )

    def next(self) -> Element | None:
        """The next element; None behind the last.

        Raises:
          FailedPreconditionError: it was not initialized.
          CancelledError: it was closed.
        """
        if self._process != Process.number:
            self._after_fork()
        try:
            with self.lock:
                return self._held_next()
        finally:
            self._end_if_closed()

    def _after_fork(self) -> None:
        """Has it serve in this process, which is a fork of that which made it.

        Raises:
          FailedPreconditionError: a thread of the other one was at work with it.
        """
        if not self.lock.acquire(blocking=False):
            raise left_behind(self.name)
        self.lock.release()
        if self._run is not None and self._stage is not None:
            self._run.after_fork()
            self._stage.after_fork()
        self._process = Process.number

    def _end_if_closed(self) -> None:
        """Ends what `close` could not, as this thread had the stages; when it has left them."""
        if self._closed:
            self.close()

    def _held_next(self) -> Element | None:
        """As `next`; the lock is held."""
        if self._closed:
            raise errors.CancelledError(
                None, None, f"{self.name}: expected an open iterator, got a closed one. Make a new."
            )
        stage = self._stage
        if stage is None:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"{self.name}: GetNext() failed because the iterator has not been initialized."
                " Ensure that you have run the initializer operation for this iterator before"
                " getting the next element.",
            )
        try:
            return stage.next()
        except UnwantedError as end:
            raise errors.CancelledError(None, None, end.message) from None

    def next_in(self, ctx: KernelContext) -> Element | None:
        """As `next`, in a step: it ends when the step is cancelled, or its time is over.

        Raises:
          CancelledError, DeadlineExceededError: the step ended.
        """
        step = ctx.step
        if step is None:
            return self.next()
        if self._process != Process.number:
            self._after_fork()
        while not self.lock.acquire(timeout=_LOOK_S):
            step.check(ctx.op_name)
        try:
            if self._run is None:
                return self._held_next()
            with self._run.within(step, ctx.op_name):
                return self._held_next()
        finally:
            self.lock.release()
            self._end_if_closed()

    def save(self, policy: ExternalStatePolicy = ExternalStatePolicy.FAIL) -> bytes:
        """Where it is.

        Args:
          policy: what is done about states that functions keep elsewhere, where the dataset's
            options do not say.

        Raises:
          FailedPreconditionError: there are such, and they are to be refused.
        """
        if self._process != Process.number:
            self._after_fork()
        with self.lock:
            stage = self._stage
            if self._description is not None and self._run is not None:
                chosen = self._run.options.external_state or policy
                check_external(self._description, chosen, self.name)
            if stage is None or self._description is None:
                return codec.encode(None)
            kinds = restoring.kinds(self._description)
            return codec.encode({"kinds": kinds, "stage": stage.save()})

    def restore(self, data: bytes) -> None:
        """Goes on from where `save` was called.

        Raises:
          FailedPreconditionError: it has no dataset.
          NotFoundError: the state is of another dataset.
          InvalidArgumentError: of one with elements of other dtypes or shapes.
          DataLossError: the bytes are no state.
        """
        state = codec.decode(data)
        with self.lock:
            description, run = self._description, self._run
            if description is None or run is None:
                raise errors.FailedPreconditionError(
                    None,
                    None,
                    f"{self.name}: expected an iterator of a dataset, got one that was not"
                    " initialized. Run its initializer first.",
                )
            stage = self._restored(state, description, run)
            before, self._stage = self._stage, stage
        _close(None, before)

    def _restored(self, state: State, description: Description, run: Run) -> Stage:
        """A new stage, where the state says."""
        if isinstance(state, dict) and "kinds" in state:  # earlier ones are without
            restoring.check_kinds(state["kinds"], description)
            state = state.get("stage")
        stage = description.start(run)
        try:
            if state is not None:
                with run.restoring():
                    stage.restore(state)
        except Exception as problem:
            stage.close()
            if isinstance(problem, errors.OpError):
                raise
            raise restoring.missing(problem, self.name, state) from None
        return stage

    def close(self) -> None:
        """Ends what runs ahead for it, and whoever waits for an element.

        Where another thread has the stages, that thread ends them when it leaves.
        """
        if self._process != Process.number:  # what it has open is the other process's
            return
        self._closed = True
        run = self._run
        if run is not None:
            run.close()
        if self.lock.acquire(blocking=False):
            try:
                _close(None, self._stage)
            finally:
                self.lock.release()

    close_with_session = close

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def _close(run: Run | None, stage: Stage | None) -> None:
    if run is not None:
        run.close()
    if stage is not None:
        stage.close()


def _types_text(types: Sequence[DType]) -> str:
    return f"[{', '.join(t.name for t in types)}]"


def _shapes_text(shapes: Sequence[Dims]) -> str:
    return f"[{', '.join(map(d.text, shapes))}]"


def state_of(handle: Any) -> IteratorState:
    """The iterator that a handle refers to.

    Raises:
      InvalidArgumentError: it refers to something else.
    """
    found = getattr(handle, "resource", None)
    if not isinstance(found, IteratorState):
        raise errors.InvalidArgumentError(
            None, None, f"expected the handle of an iterator, got {handle!r}."
        )
    return found


# ---- making


def _define(text: str, doc: str, shape: Any) -> OpDef:
    return define_op(text, shape=shape, stateful=True, fallible=True, doc=doc).not_differentiable(
        _WHY
    )


_SHARED = f"shared_name: string, container: string, {TYPES}"
ITERATOR = _define(
    f"IteratorV2(; {_SHARED}) -> handle: resource", "An iterator without a dataset.", shapes.scalar
)
OLD_ITERATOR = _define(
    f"Iterator(; {_SHARED}) -> handle: resource", "An iterator without a dataset.", shapes.scalar
)
ANONYMOUS = _define(
    f"AnonymousIteratorV3(; {TYPES}) -> handle: resource",
    "An iterator that nobody else can name, without a dataset.",
    shapes.scalar,
)
MAKE = _define(
    "MakeIterator(dataset: variant, iterator: resource) -> ()",
    "Has an iterator begin before the first element of a dataset.",
    shapes.no_output,
)


@host_kernel(ITERATOR, limit=HOST)
@host_kernel(OLD_ITERATOR, limit=HOST)
def _iterator(
    ctx: KernelContext, *, shared_name: Any, container: Any, output_types: Any, output_shapes: Any
) -> ResourceHandle:
    def create(name: str) -> IteratorState:
        return IteratorState(name, output_types, output_shapes)

    return make_handle(ctx, attr_text(container), attr_text(shared_name), IteratorState, create)


@host_kernel(ANONYMOUS, limit=HOST)
def _anonymous(*, output_types: Any, output_shapes: Any) -> ResourceHandle:
    return anonymous(output_types, output_shapes)


def anonymous(types: Sequence[DType], shapes_: Sequence[Dims]) -> ResourceHandle:
    """The handle of a new iterator without a dataset."""
    return ResourceHandle("", "AnonymousIterator", IteratorState("iterator", types, shapes_))


@host_kernel(MAKE, limit=HOST, reentrant=True)
def _make(ctx: KernelContext, dataset: Array, iterator: Any) -> None:
    state_of(iterator).begin(held(dataset), ctx.resources)


# ---- elements


def _given(c: ShapeContext) -> list[Dims]:
    return list(c.attr("output_shapes"))


GET_NEXT = _define(
    f"IteratorGetNext(iterator: resource; {TYPES}) -> components: [output_types]",
    "The next element of an iterator.",
    _given,
)
GET_NEXT_SYNC = _define(
    f"IteratorGetNextSync(iterator: resource; {TYPES}) -> components: [output_types]",
    "The next element of an iterator.",
    _given,
)
GET_NEXT_OPTIONAL = _define(
    f"IteratorGetNextAsOptional(iterator: resource; {TYPES}) -> optional: variant",
    "The next element of an iterator as an optional, which is empty behind the last.",
    shapes.scalar,
)


def end_of_sequence() -> errors.OpError:
    """The error of an iterator that has no more elements."""
    return errors.OutOfRangeError(None, None, "End of sequence")


@host_kernel(GET_NEXT, limit=HOST, blocks=True)
@host_kernel(GET_NEXT_SYNC, limit=HOST, blocks=True)
def _get_next(
    ctx: KernelContext,
    iterator: Any,
    *,
    output_types: Sequence[DType],
    output_shapes: Sequence[Dims],
) -> Sequence[Array]:
    state = state_of(iterator)
    found = state.next_in(ctx)
    if found is None:
        raise end_of_sequence()
    check_element(state, found, output_types, output_shapes)
    return list(found)


def check_element(
    state: IteratorState, found: Element, types: Sequence[DType], wanted: Sequence[Dims]
) -> None:
    """Refuses an element that is not what the operation says.

    Raises:
      InvalidArgumentError: it has other dtypes or shapes.
    """
    if tuple(types) != state.types:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{state.name}: expected elements of types {_types_text(types)}, got"
            f" {_types_text(state.types)}.",
        )
    for i, (value, dims) in enumerate(zip(found, wanted, strict=True)):
        if dims is not None and not d.compatible(dims, np.shape(value)):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{state.name}: expected a shape compatible with {d.text(dims)} at component {i},"
                f" got {d.text(np.shape(value))}.",
            )


@host_kernel(GET_NEXT_OPTIONAL, limit=HOST, blocks=True)
def _get_next_optional(
    ctx: KernelContext,
    iterator: Any,
    *,
    output_types: Sequence[DType],
    output_shapes: Sequence[Dims],
) -> Any:
    state = state_of(iterator)
    found = state.next_in(ctx)
    if found is None:
        return OptionalValue(None)
    check_element(state, found, output_types, output_shapes)
    return OptionalValue(tuple(found), output_types)


# ---- where an iterator is


class SavedState:
    """What the variant of SerializeIterator holds: the bytes of a state."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"<state of an iterator, {len(self.data)} bytes>"


SERIALIZE = _define(
    "SerializeIterator(resource_handle: resource; external_state_policy: int = 0) -> serialized:"
    " variant",
    "Where an iterator is.",
    shapes.scalar,
)
DESERIALIZE = _define(
    "DeserializeIterator(resource_handle: resource, serialized: variant) -> ()",
    "Has an iterator go on from where it was.",
    shapes.no_output,
)


@host_kernel(SERIALIZE, limit=HOST, reentrant=True)
def _serialize(resource_handle: Any, *, external_state_policy: int) -> SavedState:
    policy = ExternalStatePolicy(external_state_policy)
    return SavedState(state_of(resource_handle).save(policy))


@host_kernel(DESERIALIZE, limit=HOST, reentrant=True)
def _deserialize(resource_handle: Any, serialized: Array) -> None:
    found = serialized.item() if isinstance(serialized, np.ndarray) else serialized
    if not isinstance(found, SavedState):
        raise errors.InvalidArgumentError(
            None, None, f"DeserializeIterator: expected what SerializeIterator gave, got {found!r}."
        )
    state_of(resource_handle).restore(found.data)
