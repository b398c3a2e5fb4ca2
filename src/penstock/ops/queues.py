"""`tf.queue`: queues as objects, in graphs and eagerly.

Each class makes the handle of a queue; what is done with it is in `queue_base`. In a graph the
queue lives in the session, shared by name; eagerly it lives as long as its handle, and one that a
function's body makes as long as the body. A checkpoint that reaches the object saves what is in it.
"""

import hashlib
import weakref
from typing import Any

from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.op_def import OpDef
from penstock.core.resources import eager_resources
from penstock.core.tensor import EagerTensor, Tensor
from penstock.graph.behavior import device, init_scope
from penstock.ops import queue_ops as q
from penstock.ops.queue_base import QueueBase, as_names, as_types
from penstock.ops.random_state import get_seed
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


def _as_shapes(shapes: Any, partial: bool = False) -> list[TensorShape] | None:
    """The shapes of components; None where none are given. `partial`: dimensions may be open."""
    if partial and (
        not isinstance(shapes, list | tuple)
        or not shapes
        or (shapes[0] is None or isinstance(shapes[0], int))
    ):
        raise ValueError(
            "When providing partial shapes, a list of shapes must be provided: expected one shape "
            f"for each component, got {shapes!r}. Write None for an open dimension."
        )
    if shapes is None:
        return None
    if isinstance(shapes, TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, list | tuple):
        raise TypeError(
            f"shapes must be a TensorShape or a list or tuple of TensorShapes, got {shapes!r}."
        )
    if all(s is None or isinstance(s, int) for s in shapes):  # one shape, not a list of them
        shapes = [shapes]
    made = [TensorShape(s) for s in shapes]
    if any(s.rank is None for s in made) or not (partial or all(map(_is_full, made))):
        what = "have a defined rank" if partial else "be fully defined"
        raise ValueError(
            f"All shapes must {what}: got {made}. Leave `shapes` out, or use a PaddingFIFOQueue "
            "for elements of different sizes."
        )
    return made


def _is_full(shape: TensorShape) -> bool:
    return shape.is_fully_defined()


def _make(
    op: OpDef, dtypes: Any, shapes: Any, capacity: Any, shared_name: Any, name: str, **more: Any
) -> Tensor:
    """A queue's handle. Eagerly each queue is its own, and is gone with the handle."""
    attrs = {
        "component_types": dtypes,
        "shapes": () if shapes is None else shapes,
        "capacity": -1 if capacity is None else capacity,
        "shared_name": None if state.graph is None else shared_name,
        **more,
    }
    made: Tensor = execute(op, (), attrs, name)
    if isinstance(made, EagerTensor):
        handle: Any = made._array
        handle.resource.name = handle.name.replace(op.name, name)  # errors name it as it was named
        weakref.finalize(made, eager_resources.delete, handle.container, handle.name)
    return made


class FIFOQueue(QueueBase):
    """A queue: first in, first out.

    Args:
      capacity: the most elements that it holds; -1 for any number.
      dtypes: the dtypes of the components of an element.
      shapes: their shapes, or None when they may differ from element to element.
      names: their names, or None.
      shared_name: the name under which sessions share it, or None.
      name: the name in a graph.

    Raises:
      ValueError: there are more or fewer shapes or names than dtypes.

    Example:
      >>> queue = tf.queue.FIFOQueue(10, tf.int32, shapes=[()])
      >>> queue.enqueue_many([[1, 2, 3]])
      >>> int(queue.dequeue()), queue.dequeue_many(2).numpy().tolist()
      (1, [2, 3])
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        types = as_types(dtypes)
        shapes = _as_shapes(shapes)
        names = as_names(names, len(types))
        with init_scope(), device("CPU"):  # the other kinds are made in the body of a function
            handle = _make(q.FIFO, types, shapes, capacity, shared_name, name)
        super().__init__(types, shapes, names, handle)


class PaddingFIFOQueue(QueueBase):
    """A queue: first in, first out. Elements of a batch are padded where their sizes differ.

    Args:
      capacity: the most elements that it holds; -1 for any number.
      dtypes: the dtypes of the components of an element.
      shapes: their shapes, with None for dimensions that may differ from element to element.
      names: their names, or None.
      shared_name: the name under which sessions share it, or None.
      name: the name in a graph.

    Raises:
      ValueError: there are more or fewer shapes or names than dtypes.

    Example:
      >>> queue = tf.queue.PaddingFIFOQueue(10, tf.int32, shapes=[(None,)])
      >>> queue.enqueue([[1]])
      >>> queue.enqueue([[2, 3]])
      >>> queue.dequeue_many(2).numpy().tolist()
      [[1, 0], [2, 3]]
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        types = as_types(dtypes)
        shapes = _as_shapes(shapes, partial=True)
        if len(shapes or ()) != len(types):
            raise ValueError(
                f"Queue shapes must have the same length as dtypes: expected {len(types)} shapes, "
                f"got {shapes}. Give one shape for each component."
            )
        names = as_names(names, len(types))
        handle = _make(q.PADDING, types, shapes, capacity, shared_name, name)
        super().__init__(types, shapes, names, handle)


class RandomShuffleQueue(QueueBase):
    """A queue whose elements are taken in random order.

    Args:
      capacity: the most elements that it holds; -1 for any number.
      min_after_dequeue: how many elements stay behind while it is open.
      dtypes: the dtypes of the components of an element.
      shapes: their shapes, or None when they may differ from element to element.
      names: their names, or None.
      seed: with it the order repeats; it goes with the global seed.
      shared_name: the name under which sessions share it, or None.
      name: the name in a graph.

    Raises:
      ValueError: there are more or fewer shapes or names than dtypes.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        types = as_types(dtypes)
        shapes = _as_shapes(shapes)
        names = as_names(names, len(types))
        first, second = get_seed(seed)
        if first is not None and seed is None and shared_name is not None:
            # Sessions that share the queue must ask for the same one, whatever else they made.
            digest = hashlib.md5(f"{first}{shared_name}".encode(), usedforsecurity=False)
            second = int(digest.hexdigest()[:8], 16) & 0x7FFFFFFF
        handle = _make(
            q.SHUFFLE, types, shapes, capacity, shared_name, name,
            min_after_dequeue=min_after_dequeue, seed=first or 0, seed2=second or 0,
        )  # fmt: skip
        super().__init__(types, shapes, names, handle)


class PriorityQueue(QueueBase):
    """A queue whose elements are taken by their first component, the smallest number first.

    Args:
      capacity: the most elements that it holds; -1 for any number.
      types: the dtypes of the components that follow the priority, which is int64[].
      shapes: their shapes, or None.
      names: their names with that of the priority, or None.
      shared_name: the name under which sessions share it, or None.
      name: the name in a graph.

    Raises:
      ValueError: there are more or fewer shapes or names than dtypes.

    Example:
      >>> queue = tf.queue.PriorityQueue(10, tf.string, shapes=[()])
      >>> queue.enqueue((2, "second"))
      >>> queue.enqueue((1, "first"))
      >>> priority, value = queue.dequeue()
      >>> int(priority), value.numpy()
      (1, b'first')
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        others = as_types(types)
        shapes = _as_shapes(shapes)
        names = as_names(names, len(others) + 1)
        handle = _make(q.PRIORITY, others, shapes, capacity, shared_name, name)
        all_shapes = None if shapes is None else [TensorShape(()), *shapes]
        super().__init__([dt.int64, *others], all_shapes, names, handle)
