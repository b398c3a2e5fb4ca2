"""`Session` core: feeds and fetches to plans, and plans to values.

`DirectSession` keeps plans by (fetches, feeds, targets), the resources of its graph, and the steps that are under way.
The public Session classes add TensorFlow's surface.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.convert import to_array
from penstock.core.resources import ResourceManager
from penstock.core.tensor import SymbolicTensor
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation
from penstock.runtime.plan import Plan, make_plan
from penstock.runtime.program import build
from penstock.runtime.step import Step
from penstock.types.dims import text

PLANS = 256  # plans kept per session; the least recently used goes first


class DirectSession:
    """Runs parts of one graph in this process. Thread-safe."""

    def __init__(self, graph: Graph, resources: ResourceManager | None = None, timeout_s: float | None = None) -> None:
        self.graph = graph
        self.resources = resources if resources is not None else ResourceManager()
        self.timeout_s = timeout_s
        self.state: dict[Any, Any] = {}  # what operations keep between steps
        self._lock = threading.Lock()  # guards: _plans, _steps, _closed
        self._plans: OrderedDict[Any, tuple[Plan, Any]] = OrderedDict()
        self._steps: set[Step] = set()
        self._closed = False

    def plan(self, fetches: Sequence[SymbolicTensor], feeds: Sequence[SymbolicTensor], targets: Sequence[Operation]) -> Plan:
        """The plan for these; made at the first call."""
        key = (tuple(map(id, fetches)), tuple(map(id, feeds)), tuple(map(id, targets)), self.graph.edits)
        with self._lock:
            if self._closed:
                raise RuntimeError("Attempted to use a closed Session.")
            found = self._plans.get(key)
            if found is not None:
                self._plans.move_to_end(key)
                return found[0]
        made = make_plan(build(fetches, feeds, targets), self.resources)
        made.state = self.state
        with self._lock:
            self._plans[key] = (made, (fetches, feeds, targets))
            if len(self._plans) > PLANS:
                self._plans.popitem(last=False)
        return made

    def run(self, plan: Plan, feeds: Sequence[Any], timeout_s: float | None = None, traced: bool = False) -> tuple[list[Any], Step]:
        """Runs a plan with fed arrays; returns the fetched arrays and the step."""
        step = Step(self.resources, self.state, timeout_s or self.timeout_s, traced)
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        self._steps.add(step)
        try:
            return plan.run(feeds, step), step
        finally:
            self._steps.discard(step)

    def close(self) -> None:
        """Cancels the steps under way and refuses new ones."""
        with self._lock:
            self._closed = True
            steps = list(self._steps)
            self._plans.clear()
        for step in steps:
            step.cancel("the session was closed")

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed


def feed_array(tensor: SymbolicTensor, value: Any) -> Any:
    """A fed value as an array of the tensor's dtype.

    Raises:
      TypeError: a tensor was fed, or the value does not convert.
      ValueError: the shape is not compatible.
    """
    wanted = tensor.dtype.base_dtype
    if value.__class__ is np.ndarray and value.dtype == wanted.numpy_dtype and value.dtype != object:
        array = value
    else:
        array = _convert_feed(tensor, value)
    dims = tensor.dims
    if dims is not None and not _fits(array.shape, dims):
        raise ValueError(
            f"Cannot feed value of shape {text(array.shape)} for Tensor {tensor.name}, which has shape {text(dims)} (defined at "
            f"{tensor.op.location}). Reshape the value."
        )
    return array


def _fits(shape: tuple[int, ...], dims: tuple[int | None, ...]) -> bool:
    return len(shape) == len(dims) and all([d is None or d == n for n, d in zip(shape, dims, strict=True)])


def _convert_feed(tensor: SymbolicTensor, value: Any) -> Any:
    if isinstance(value, SymbolicTensor):
        raise TypeError(
            f"The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, lists, numpy "
            f"ndarrays, or TensorHandles. For reference, the tensor object was {value!r} which was passed to the argument "
            f"`feed_dict` with key {tensor!r}."
        )
    held = getattr(value, "_array", None)
    if held is not None and not isinstance(held, (np.ndarray, np.generic)):
        return held
    wanted = tensor.dtype.base_dtype
    if isinstance(value, int) and not isinstance(value, bool) and wanted.is_integer and not wanted.min <= value <= wanted.max:
        raise TypeError(f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type {wanted.name}. Try "
                        "explicitly setting the type of the feed tensor to a larger type (e.g. int64).")  # fmt: skip
    if wanted.numpy_dtype == object:
        return to_array(value, wanted)[0]
    try:
        return np.asarray(value, dtype=wanted.numpy_dtype)
    except (TypeError, ValueError, OverflowError) as problem:
        raise type(problem)(f"Cannot feed {value!r} for Tensor {tensor.name} of dtype {wanted.name}: {problem}") from None


def check_open(session: DirectSession) -> None:
    """Raises when the session is closed."""
    if session.closed:
        raise RuntimeError("Attempted to use a closed Session.")


__all__ = ["DirectSession", "check_open", "errors", "feed_array"]
