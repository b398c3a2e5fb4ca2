"""What all queues of `tf.queue` have: putting, taking, closing, and what a checkpoint saves.

A queue object names a queue (`queue_state`) by its handle, `queue_ref`; its methods are the
operations of `queue_ops`. The classes that make handles are in `queues`.
"""

import functools
from collections.abc import Sequence
from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.op_def import OpDef, lookup
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import EagerTensor, Tensor
from penstock.core.trackable import Trackable
from penstock.graph.static_values import constant_value
from penstock.ops import queue_ops as q
from penstock.ops.composing import scope
from penstock.types import dtypes as dt
from penstock.types.dims import Dims, compatible, text
from penstock.types.dtypes import DType, as_dtype
from penstock.types.tensor_shape import TensorShape

STATE = "queue_state"  # the name of the contents in checkpoints


def as_types(dtypes: Any) -> list[DType]:
    """The dtypes of components, given as one or several."""
    given = dtypes if isinstance(dtypes, list | tuple) else [dtypes]
    return [as_dtype(t) for t in given]


def as_names(names: Any, count: int) -> list[str] | None:
    """The names of `count` components; None where none are given."""
    if names is None:
        return None
    given = [names] if isinstance(names, str) else names
    if not isinstance(given, list | tuple):
        raise TypeError(f"List or string expected for `names`: got {names!r}")
    if len(given) != count:
        raise ValueError(
            "List of names must have the same length as the list of dtypes: expected "
            f"{count} names, got {len(given)}: {given}. Give one name for each component."
        )
    if not all(isinstance(n, str) and n for n in given):
        raise ValueError(f"expected names that are not empty strings, got {given}.")
    return list(given)


class QueueBase(Trackable):
    """The base class of queues: elements of one or more components, put and taken in an order.

    Args:
      dtypes: the dtypes of the components.
      shapes: the shapes of the components, or None.
      names: the names of the components, or None; with names elements are dictionaries.
      queue_ref: the handle: resource[].

    Raises:
      ValueError: there are more or fewer shapes or names than dtypes.
    """

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Tensor) -> None:
        self._dtypes = as_types(dtypes)
        self._types = tuple(self._dtypes)  # what attributes are found by
        count = len(self._dtypes)
        given = [None] * count if shapes is None else shapes
        self._shapes = [TensorShape(s) for s in given]
        if len(self._shapes) != count:
            raise ValueError(
                "Queue shapes must have the same length as dtypes: expected "
                f"{count} shapes, for dtypes {[t.name for t in self._dtypes]}, got "
                f"{len(self._shapes)}: {self._shapes}. Give one shape for each component."
            )
        self._dims = [s.dims_tuple for s in self._shapes]
        self._names = as_names(names, count)
        self._queue_ref = queue_ref
        self._is_reference = queue_ref.dtype.base_dtype is dt.string  # as in TensorFlow 1
        if isinstance(queue_ref, EagerTensor):
            self._name: str = getattr(queue_ref._array.resource, "name", queue_ref._array.name)
        else:
            assert isinstance(queue_ref, SymbolicTensor)
            self._name = queue_ref.op.name.rpartition("/")[2]

    @staticmethod
    def from_list(index: Any, queues: Sequence["QueueBase"]) -> "QueueBase":
        """One of several queues, chosen when the operation on it runs.

        Args:
          index: int32[], which one.
          queues: queues of the same dtypes and names.

        Returns:
          A queue that stands for the chosen one.

        Raises:
          TypeError: `queues` are not queues, or of different dtypes.
          ValueError: the queues have different names of components.
        """
        if not queues or not isinstance(queues, list) or not _are_queues(queues):
            raise TypeError(f"A list of queues expected: got {queues!r}.")
        first = queues[0]
        if any(other.dtypes != first.dtypes for other in queues):
            raise TypeError(
                f"Queues do not have matching component dtypes: {[x.dtypes for x in queues]}."
            )
        if any(other.names != first.names for other in queues):
            raise ValueError(
                f"Queues do not have matching component names: {[x.names for x in queues]}."
            )
        shapes = [_common(column) for column in zip(*[x.shapes for x in queues], strict=True)]
        index = convert_to_tensor(index, dt.int32)
        handle = execute("PenstockSelectHandle", (index, [x.queue_ref for x in queues]))
        return QueueBase(first.dtypes, shapes, first.names, handle)

    # ---- what it is

    @property
    def queue_ref(self) -> Tensor:
        """The handle: resource[]."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the operation that made the queue; eagerly, of the queue."""
        if isinstance(self._queue_ref, SymbolicTensor):
            return str(self._queue_ref.op.name)
        return self._name

    @property
    def dtypes(self) -> list[DType]:
        """The dtypes of the components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of the components."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of the components, None when they have none."""
        return self._names

    # ---- putting and taking

    def enqueue(self, vals: Any, name: str | None = None) -> Any:
        """Puts one element into the queue; waits for room when it runs.

        Args:
          vals: a tensor, a list of one for each component, or a dictionary for a queue with names.
          name: the name in a graph.

        Returns:
          The operation in a graph, else None.

        Raises:
          ValueError: the components do not fit (in a graph).
          CancelledError: the queue is closed, or was closed with cancel_pending_enqueues.
          InvalidArgumentError: the components do not fit (when it runs).
        """
        with scope(name, f"{self._name}_enqueue") as inside:
            tensors = self._components(vals, name or f"{self._name}_enqueue")
            for i, value in enumerate(tensors):
                self._check(i, value.dims, self._dims[i])
            return self._run(q.ENQUEUE, [tensors], "enqueue", inside or name)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Any:
        """Puts elements into the queue, one for each index of the first dimension.

        Args:
          vals: a tensor, a list of one for each component, or a dictionary for a queue with names.
          name: the name in a graph.

        Returns:
          The operation in a graph, else None.

        Raises:
          ValueError: the components do not fit (in a graph).
          CancelledError: the queue is closed, or was closed with cancel_pending_enqueues.
          InvalidArgumentError: the components do not fit (when it runs).
        """
        with scope(name, f"{self._name}_EnqueueMany") as inside:
            tensors = self._components(vals, name or f"{self._name}_EnqueueMany")
            self._check_many(tensors)
            return self._run(q.ENQUEUE_MANY, [tensors], "EnqueueMany", inside or name)

    def dequeue(self, name: str | None = None) -> Any:
        """Takes one element; waits for it when it runs.

        Args:
          name: the name in a graph.

        Returns:
          A tensor, a list of one for each component, or a dictionary for a queue with names.

        Raises:
          OutOfRangeError: the queue is closed and empty.
        """
        return self._take(q.DEQUEUE, "Dequeue", [], None, name)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Takes n elements as a batch; waits for them when it runs.

        Args:
          n: int32[], how many.
          name: the name in a graph.

        Returns:
          As for `dequeue`, with a first dimension of size n.

        Raises:
          OutOfRangeError: the queue is closed and has fewer.
          InvalidArgumentError: the shapes of the components are not known.
        """
        n = _as_count(n)
        known: Any = n if isinstance(n, int) else None
        if isinstance(n, SymbolicTensor):
            known = constant_value(n)
        size = None if known is None or known < 0 else int(known)
        return self._take(q.DEQUEUE_MANY, "DequeueMany", [n], TensorShape([size]), name)

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Takes n elements as a batch, or what is left when the queue is closed.

        Args:
          n: int32[], how many at most.
          name: the name in a graph.

        Returns:
          As for `dequeue`, with a first dimension of size 1 to n.

        Raises:
          OutOfRangeError: the queue is closed and empty.
          InvalidArgumentError: the shapes of the components are not known.
        """
        n = _as_count(n)
        return self._take(q.DEQUEUE_UP_TO, "DequeueUpTo", [n], TensorShape([None]), name)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """Closes the queue: puts are refused from now on, what is in it can still be taken.

        Args:
          cancel_pending_enqueues: whether puts that wait are cancelled, or served first.
          name: the name in a graph.

        Returns:
          The operation in a graph, else None.
        """
        attrs = {"cancel_pending_enqueues": cancel_pending_enqueues}
        return self._run(q.CLOSE, [], "Close", name, attrs)

    def is_closed(self, name: str | None = None) -> Any:
        """Whether the queue is closed: bool[]."""
        return self._run(q.IS_CLOSED, [], "Is_Closed", name)

    def size(self, name: str | None = None) -> Any:
        """The number of elements in the queue: int32[]."""
        return self._run(q.SIZE, [], "Size", name)

    # ---- helpers

    def _run(
        self, op: OpDef, inputs: list[Any], suffix: str, name: str | None, attrs: Any = None
    ) -> Any:
        wanted = None if state.graph is None else name or f"{self._name}_{suffix}"
        if self._is_reference:
            op = lookup(op.name.removesuffix("V2"))
        return execute(op, (self._queue_ref, *inputs), attrs, wanted)

    def _take(self, op: OpDef, suffix: str, inputs: Any, batch: Any, name: str | None) -> Any:
        attrs = {"component_types": self._types}
        found = self._run(op, inputs, suffix, name, attrs)
        for value, shape in zip(found, self._shapes, strict=True):
            if isinstance(value, SymbolicTensor):
                value.set_shape(shape if batch is None else batch.concatenate(shape))
        if self._names is not None:
            return dict(zip(self._names, found, strict=True))
        return found[0] if len(found) == 1 else found

    def _components(self, vals: Any, where: str) -> list[Any]:
        """What is put, a tensor for each component."""
        if (
            vals.__class__ is EagerTensor
            and self._names is None
            and self._types == (vals._dtype,)
            and state.graph is None
        ):
            return [vals]
        if isinstance(vals, dict):
            if self._names is None:
                raise ValueError(
                    "Queue must have names to enqueue a dictionary: expected a list of values. Give"
                    " the queue `names`."
                )
            if sorted(self._names) != sorted(vals):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue: expected "
                    f"{sorted(self._names)}, got {sorted(vals)}."
                )
            given: Any = [vals[n] for n in self._names]
        elif self._names is not None:
            raise ValueError(
                f"You must enqueue a dictionary in a Queue with names: expected keys {self._names},"
                f" got {type(vals).__name__}."
            )
        else:
            given = vals if isinstance(vals, list | tuple) else [vals]
        if len(given) > len(self._dtypes):
            raise ValueError(
                f"{where}: expected {len(self._dtypes)} components, got {len(given)}. Put "
                "one value for each dtype of the queue."
            )
        return [
            self._component(i, value, dtype)
            for i, (value, dtype) in enumerate(zip(given, self._dtypes, strict=False))
        ]

    def _component(self, index: int, value: Any, dtype: DType) -> Any:
        """A tensor of what is put as one component."""
        try:
            return convert_to_tensor(value, dtype, name=f"component_{index}")
        except (TypeError, ValueError) as problem:
            if type(problem) not in (TypeError, ValueError):  # classes with words of their own
                raise
            place = f"It is component {index} of queue '{self.name}'."
            raise type(problem)(f"{problem} {place}") from problem

    def _check_many(self, tensors: list[Any]) -> None:
        """Raises ValueError when components of several elements do not fit."""
        size: int | None = None
        for i, value in enumerate(tensors):
            found = value.dims
            if found is None:
                continue
            if not found or (size is not None and found[0] not in (size, None)):
                TensorShape([size]).merge_with(value.shape.with_rank_at_least(1)[:1])
            size = found[0] if size is None else size
            self._check(i, found[1:], self._dims[i])

    def _check(self, index: int, found: Dims, wanted: Dims) -> None:
        """Raises ValueError when a component cannot have the queue's shape."""
        if not compatible(found, wanted):
            raise ValueError(
                f"Shapes {text(found)} and {text(wanted)} are incompatible: component {index} of "
                f"queue '{self.name}' has the second. Put elements of that shape."
            )

    def _serialize_to_tensors(self) -> dict[str, Any]:
        return {STATE: execute(q.SAVE, (self._queue_ref,))}

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> Any:
        return execute(q.RESTORE, (self._queue_ref, restored_tensors[STATE]))


def _as_count(n: Any) -> Any:
    """The number of elements to take: int32[], or an integer that becomes an operation's input."""
    if n.__class__ is not int:
        return convert_to_tensor(n, dt.int32)
    return _eager_count(n) if state.graph is None else n


@functools.lru_cache(64)
def _eager_count(n: int) -> Any:
    """Programs take the same numbers of elements again and again."""
    return convert_to_tensor(n, dt.int32)


def _are_queues(queues: Any) -> bool:
    return all(isinstance(x, QueueBase) for x in queues)


def _common(shapes: Sequence[TensorShape]) -> TensorShape:
    """What several shapes have in common."""
    result = shapes[0]
    for other in shapes[1:]:
        result = result.most_specific_compatible_shape(other)
    return result
