"""Where operations go: the per-thread stack of interpreters.

`state` is thread-local. `state.graph` is the graph that operations are added to, or None when they
run at once; `state.recorders` are the tapes and accumulators that see every operation, innermost
last; `state.device` is the requested device of eager operations; `state.observer` looks at, and may
replace, the outputs of every operation. `state.marks_traces` is true when a function called here
may need a trace of its own: for the observer, or for a place that a package has noted.
`state.plain` is true when an eager operation needs no attention beyond its kernel (no graph,
recorder, observer or device scope): hot wrappers test only that. While a watcher of all threads is
set (a profile), it is false in every one of them.

Graphs keep their own scopes (names, devices, control inputs); this module does not know them.
"""

import contextlib
import functools
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from penstock import errors

if TYPE_CHECKING:
    from penstock.core.op_def import OpDef
    from penstock.core.tensor import Tensor


LOCAL_TASK = "/job:localhost/replica:0/task:0"
_LOCAL = frozenset(LOCAL_TASK.strip("/").split("/"))

Function = TypeVar("Function", bound=Callable[..., Any])


class Recorder(Protocol):
    """Sees the operations that run while it is active: a gradient tape, a forward accumulator."""

    def record(
        self,
        op: "OpDef",
        inputs: "tuple[Tensor, ...]",
        attrs: dict[str, Any],
        outputs: "tuple[Tensor, ...]",
    ) -> None:
        """Called with each operation after it ran or was added to a graph."""


class Observer(Protocol):
    """Looks at the outputs of every operation, and may put others in their place."""

    @property
    def key(self) -> Hashable:
        """What tells traces that it took part in from those with other observers."""

    def observe(
        self, op: "OpDef", inputs: "Sequence[Tensor]", outputs: "Sequence[Tensor]", node: Any
    ) -> "Sequence[Tensor]":
        """Called with each operation; `node` is its Operation in a graph, None eagerly."""

    def look_at(
        self, name: str, inputs: "Sequence[Tensor]", outputs: "Sequence[Tensor]", graph: Any
    ) -> None:
        """Called with what a function that was traced before gave eagerly; `graph` is its body."""


Placing = Callable[[Sequence[Any]], None]  # notes on eager tensors where they are, or refuses them
Policy = Callable[["OpDef", Sequence[Any]], None]  # looks at where an eager operation's inputs are


class _State(threading.local):
    """The stack of one thread."""

    graph: Any = None  # a penstock.graph.Graph, which lives above this layer
    recorders: tuple[Any, ...] = ()
    device: str | None = None
    place: Placing | None = None
    observer: Observer | None = None
    in_place: bool = False  # whether `current_place` may say something
    marks_traces: bool = False
    policy: Policy | None = None
    plain: bool = True
    stack: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self.graph = _default_graph() if _default_graph is not None else None
        self.plain = self.graph is None


_default_graph: Any = None  # called for a new thread's graph when eager execution is off
state = _State()


def refresh() -> None:
    """Recomputes `state.plain`; called after any other field of `state` changed."""
    state.plain = (
        state.graph is None
        and not state.recorders
        and state.device is None
        and state.observer is None
        and state.policy is None
    )


class _NotPlain:
    """Stands for `_State.plain` while all threads are watched: false, whatever a thread keeps."""

    def __get__(self, thread_state: _State | None, owner: type | None = None) -> bool:
        return False

    def __set__(self, thread_state: _State, value: bool) -> None:
        thread_state.__dict__["plain"] = value  # what is read again afterwards


class Watcher(Protocol):
    """Runs the eager operations of all threads, to note what they take."""

    def run_eager(self, prepared: Any, inputs: Sequence[Any], run: Callable[[], Any]) -> Any:
        """`run()`, which runs a PreparedOp on `inputs`."""


class _Watching:
    """What watches eager operations, for all threads."""

    __slots__ = ("watcher",)

    def __init__(self) -> None:
        self.watcher: Watcher | None = None


watching = _Watching()


def set_watcher(watcher: Watcher | None) -> None:
    """Sets what runs the eager operations of all threads; None for nothing.

    The switch is in the class of `state`, so that threads under way see it and pay nothing for it
    while there is none.
    """
    watching.watcher = watcher
    _State.plain = True if watcher is None else _NotPlain()  # type: ignore[assignment]


def executing_eagerly() -> bool:
    """True when operations run at once instead of being added to a graph."""
    return state.graph is None


@contextlib.contextmanager
def graph_scope(graph: Any) -> Iterator[Any]:
    """Operations inside go to `graph`; None makes them run at once."""
    before = state.graph, state.stack
    state.stack = (*state.stack, before[0])
    state.graph = graph
    refresh()
    try:
        yield graph
    finally:
        state.graph, state.stack = before
        refresh()


def at_home(*inputs: Any) -> contextlib.AbstractContextManager[Any]:
    """The graph that operations on these go to: that of tensors of one other plain graph."""
    graph = state.graph
    home = None if graph is None else graph.home_of(inputs)
    return contextlib.nullcontext() if home is graph else graph_scope(home)


def in_home(function: Function) -> Function:
    """Decorator: what the function makes goes to the graph of its arguments, as `at_home` says."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with at_home(*args, *kwargs.values()):
            return function(*args, **kwargs)

    return call  # type: ignore[return-value]


@contextlib.contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Operations inside are shown to `recorder`."""
    push_recorder(recorder)
    try:
        yield
    finally:
        remove_recorder(recorder)


def push_recorder(recorder: Recorder) -> None:
    """Makes `recorder` the innermost one of this thread."""
    state.recorders = (*state.recorders, recorder)
    refresh()


def remove_recorder(recorder: Recorder) -> None:
    """Takes `recorder` off this thread's stack, wherever it stands."""
    state.recorders = tuple(r for r in state.recorders if r is not recorder)
    refresh()


@contextlib.contextmanager
def no_recording() -> Iterator[None]:
    """Operations inside are shown to no recorder."""
    before = state.recorders
    state.recorders = ()
    refresh()
    try:
        yield
    finally:
        state.recorders = before
        refresh()


def set_observer(observer: Observer | None) -> None:
    """Sets what looks at this thread's operations; None for nothing."""
    state.observer = observer
    state.marks_traces = observer is not None or state.in_place
    refresh()


def note_place(inside: bool) -> None:
    """Notes whether this thread is in a place that functions must be traced for, or may be."""
    state.in_place = inside
    state.marks_traces = inside or state.observer is not None


_place_of: Callable[[], Hashable] | None = None


def set_place_of(place_of: Callable[[], Hashable]) -> None:
    """Sets what says where this thread is, for traces that depend on it; None for no place.

    It is asked while `note_place` says so.
    """
    global _place_of
    _place_of = place_of


def current_place() -> Hashable:
    """Where this thread is, for traces that depend on it; None for no place of its own."""
    return _place_of() if state.in_place and _place_of is not None else None


@contextlib.contextmanager
def eager_device(name: str | None) -> Iterator[None]:
    """Eager operations inside run on the device of this canonical name; None lifts outer scopes."""
    before = state.device, state.place
    state.device = name
    state.place = None if name is None else _place_on(name)
    refresh()
    try:
        yield
    finally:
        state.device, state.place = before
        refresh()


def _place_on(name: str) -> Placing | None:
    parts = [part for part in name.split("/") if part and not part.startswith("device:")]
    if not _LOCAL.issuperset(parts):
        return functools.partial(_refuse_task, name)
    return None if _placing_on is None else _placing_on(name)


def _refuse_task(name: str, tensors: Sequence[Any]) -> None:
    raise errors.InvalidArgumentError(
        None,
        None,
        f"{name} unknown device: expected one of this process for what runs eagerly, "
        f"{LOCAL_TASK}/device:CPU:0 say, got one of another task. Leave the job, replica and task "
        "out of the name.",
    )


_placing_on: Callable[[str], Placing | None] | None = None


def set_placing(placing_on: Callable[[str], Placing | None]) -> None:
    """Sets what says, for a device's name, how eager tensors made on it are placed.

    None stands for the first CPU, and for accelerators, whose arrays know where they are.
    """
    global _placing_on
    _placing_on = placing_on


def set_default_graph_factory(factory: Any) -> None:
    """Turns eager execution off (`factory` returns the graph of a thread) or on again (None)."""
    global _default_graph
    _default_graph = factory
    if not state.stack:
        state.graph = factory() if factory is not None else None
        refresh()


def eager_by_default() -> bool:
    """True when a fresh thread runs operations at once."""
    return _default_graph is None


def _no_tape() -> Any:
    raise NotImplementedError("a gradient tape is needed, and penstock.autodiff is not imported")


_tape_factory: Any = _no_tape


def set_tape_factory(factory: Any) -> None:
    """Installs what makes a gradient tape; called by the package that has tapes."""
    global _tape_factory
    _tape_factory = factory


def new_tape() -> Any:
    """A gradient tape, for kernels that differentiate what they call."""
    return _tape_factory()
