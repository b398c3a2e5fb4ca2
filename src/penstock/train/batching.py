"""Batches of graph mode: elements go through a queue, and come out of it many at a time.

`batch`, `shuffle_batch` and their like put elements into a queue with a `QueueRunner`, which
`start_queue_runners` starts, and take batches from it. The `join` forms put elements of several
sources into one queue, each in a thread of its own; the `maybe` forms leave out elements.
"""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.graph.static_values import constant_value
from penstock.ops.array_gather import gather
from penstock.ops.array_identity import no_op
from penstock.ops.composing import scope
from penstock.ops.conditionals import cond
from penstock.ops.grouping import group
from penstock.ops.queue_base import QueueBase
from penstock.ops.queue_runner import QueueRunner, add_queue_runner
from penstock.ops.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from penstock.train.batch_sources import Elements, same_kinds, source_of
from penstock.train.input_producers import summarize_fill
from penstock.types.dtypes import as_dtype
from penstock.types.tensor_shape import TensorShape


def _refuse_eager() -> None:
    """Raises ValueError, as TensorFlow does here, where operations run at once."""
    if state.graph is None:
        raise ValueError(
            "Input pipelines based on Queues are not supported when eager execution is enabled."
            " Please use tf.data to ingest data into your model instead."
        )


def _shapes_of(sources: list[Elements], shapes: Any, many: bool) -> list[TensorShape]:
    """The shape of each component of an element: what all sources have in common."""
    if shapes is not None:
        return [TensorShape(s) for s in shapes]
    result = []
    for column in zip(*sources, strict=True):
        found = [t.shape.with_rank_at_least(1)[1:] if many else t.shape for t in column]
        common = found[0]
        for other in found[1:]:
            common = common.most_specific_compatible_shape(other)
        result.append(common)
    return result


def _types_of(sources: list[Elements]) -> list[Any]:
    types = [[t.dtype.base_dtype for t in source] for source in sources]
    if any(other != types[0] for other in types):
        raise TypeError(
            f"Expected types to be consistent: expected {[t.name for t in types[0]]} of every "
            f"source, got {[[t.name for t in other] for other in types]}."
        )
    return types[0]


def _put(queue: QueueBase, tensors: Elements, many: bool, keep: Any) -> Any:
    """The operation that puts one source's elements into the queue."""
    put = queue.enqueue_many if many else queue.enqueue
    if keep is None:
        return put(tensors)
    if keep.shape.rank == 1:
        rows = execute("Where", (keep,))[:, 0]
        return put([gather(t, rows) for t in tensors])

    def put_all() -> Any:
        return group(put(tensors))

    return cond(keep, put_all, no_op)


def _keep_of(keep: Any, many: bool) -> Any:
    """Which elements are put: None for all, else bool[], or bool[n] of many."""
    if isinstance(keep, bool) and keep:
        return None
    keep = convert_to_tensor(keep, as_dtype("bool"))
    known = constant_value(keep)
    if known is not None and known.shape == () and bool(known):
        return None
    if keep.shape.rank is None or keep.shape.rank > (1 if many else 0):
        expected = "a scalar or a vector" if many else "a scalar"
        raise ValueError(
            f"keep_input: expected {expected} of known rank, got shape {keep.shape}. It says of "
            "each element whether it is put into the queue."
        )
    return keep


def _batched(
    sources: list[Elements],
    keep: Any,
    batch_size: Any,
    threads: int,
    many: bool,
    smaller: bool,
    make: Callable[[], QueueBase],
    fill: Callable[[QueueBase], None],
    name: str | None,
) -> Any:
    """Puts sources into a queue, and takes a batch."""
    queue = make()
    runs = [_put(queue, source, many, keep) for source in sources]
    add_queue_runner(QueueRunner(queue, runs * threads))
    fill(queue)
    take = queue.dequeue_up_to if smaller else queue.dequeue_many
    found = take(batch_size, name=name)
    return found if isinstance(found, list) else [found]


def _plain(
    tensors_list: Sequence[Any],
    batch_size: Any,
    keep_input: Any,
    num_threads: int,
    capacity: int,
    many: bool,
    shapes: Any,
    pad: bool,
    smaller: bool,
    shared_name: str | None,
    name: str | None,
    default: str,
) -> Any:
    _refuse_eager()
    with scope(name, default) as inside:
        given = [source_of(tensors, many) for tensors in _sources(tensors_list)]
        same_kinds(given)
        sources = [source.tensors for source in given]
        types, known = _types_of(sources), _shapes_of(sources, shapes, many)
        keep = _keep_of(keep_input, many)
        kind = PaddingFIFOQueue if pad else FIFOQueue

        def fill(queue: QueueBase) -> None:
            summarize_fill(f"fraction_of_{capacity}_full", queue.size(), 1.0 / capacity)

        found = _batched(
            sources, keep, batch_size, num_threads, many, smaller,
            lambda: kind(capacity, types, known, shared_name=shared_name), fill, inside,
        )  # fmt: skip
        return given[0].restore(found)


def _shuffled(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    minimum: int,
    keep_input: Any,
    num_threads: int,
    seed: int | None,
    many: bool,
    shapes: Any,
    smaller: bool,
    shared_name: str | None,
    name: str | None,
    default: str,
) -> Any:
    _refuse_eager()
    if capacity <= minimum:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {minimum}.")
    with scope(name, default) as inside:
        given = [source_of(tensors, many) for tensors in _sources(tensors_list)]
        same_kinds(given)
        sources = [source.tensors for source in given]
        types, known = _types_of(sources), _shapes_of(sources, shapes, many)
        keep = _keep_of(keep_input, many)

        def fill(queue: QueueBase) -> None:
            spare = execute("Maximum", (0, queue.size() - minimum))
            tag = f"fraction_over_{minimum}_of_{capacity - minimum}_full"
            summarize_fill(tag, spare, 1.0 / (capacity - minimum))

        found = _batched(
            sources, keep, batch_size, num_threads, many, smaller,
            lambda: RandomShuffleQueue(
                capacity, minimum, types, known, seed=seed, shared_name=shared_name
            ),
            fill, inside,
        )  # fmt: skip
        return given[0].restore(found)


def _sources(tensors_list: Any) -> list[Any]:
    if not isinstance(tensors_list, list | tuple) or not tensors_list:
        raise ValueError(
            f"tensors_list: expected a list of tuples or dictionaries of tensors, got "
            f"{tensors_list!r}."
        )
    return list(tensors_list)


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of the elements that tensors give, in their order.

    Args:
      tensors: a tensor, dense or sparse, or a list or dictionary of them: an element each time.
      batch_size: int32[], elements of a batch.
      num_threads: threads that put elements into the queue.
      capacity: the most elements in the queue.
      enqueue_many: whether the tensors are of many elements, along their first dimension.
      shapes: the shape of each component, where the tensors do not tell.
      dynamic_pad: whether components of different sizes are padded.
      allow_smaller_final_batch: whether the last batch may be smaller.
      shared_name: the name under which sessions share the queue.
      name: the name in a graph.

    Returns:
      Tensors in the structure of `tensors`, with a first dimension of `batch_size`.

    Raises:
      RuntimeError: operations run at once.
      ValueError: shapes are not known, and there is no `dynamic_pad`.
    """
    return _plain(
        [tensors], batch_size, True, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name, "batch",
    )  # fmt: skip


def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`batch`, of those elements for which `keep_input` (bool[], or bool[n] of many) is true."""
    return _plain(
        [tensors], batch_size, keep_input, num_threads, capacity, enqueue_many, shapes,
        dynamic_pad, allow_smaller_final_batch, shared_name, name, "batch",
    )  # fmt: skip


def batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`batch` of several sources: `tensors_list` has what `batch` takes, for each a thread."""
    return _plain(
        tensors_list, batch_size, True, 1, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name, "batch_join",
    )  # fmt: skip


def maybe_batch_join(
    tensors_list: Any,
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`batch_join`, of those elements for which `keep_input` is true."""
    return _plain(
        tensors_list, batch_size, keep_input, 1, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name, "batch_join",
    )  # fmt: skip


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of the elements that tensors give, in random order.

    Args:
      tensors: a tensor, dense or sparse, or a list or dictionary of them: an element each time.
      batch_size: int32[], elements of a batch.
      capacity: the most elements in the queue.
      min_after_dequeue: elements that stay in it, so that the order is random.
      num_threads: threads that put elements into the queue.
      seed: of the order.
      enqueue_many: whether the tensors are of many elements, along their first dimension.
      shapes: the shape of each component, where the tensors do not tell.
      allow_smaller_final_batch: whether the last batch may be smaller.
      shared_name: the name under which sessions share the queue.
      name: the name in a graph.

    Returns:
      Tensors in the structure of `tensors`, with a first dimension of `batch_size`.

    Raises:
      RuntimeError: operations run at once.
      ValueError: shapes are not known, or the capacity is not above `min_after_dequeue`.
    """
    return _shuffled(
        [tensors], batch_size, capacity, min_after_dequeue, True, num_threads, seed, enqueue_many,
        shapes, allow_smaller_final_batch, shared_name, name, "shuffle_batch",
    )  # fmt: skip


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`shuffle_batch`, of those elements for which `keep_input` is true."""
    return _shuffled(
        [tensors], batch_size, capacity, min_after_dequeue, keep_input, num_threads, seed,
        enqueue_many, shapes, allow_smaller_final_batch, shared_name, name, "shuffle_batch",
    )  # fmt: skip


def shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`shuffle_batch` of several sources: `tensors_list` has one for each thread."""
    return _shuffled(
        tensors_list, batch_size, capacity, min_after_dequeue, True, 1, seed, enqueue_many,
        shapes, allow_smaller_final_batch, shared_name, name, "shuffle_batch_join",
    )  # fmt: skip


def maybe_shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`shuffle_batch_join`, of those elements for which `keep_input` is true."""
    return _shuffled(
        tensors_list, batch_size, capacity, min_after_dequeue, keep_input, 1, seed, enqueue_many,
        shapes, allow_smaller_final_batch, shared_name, name, "shuffle_batch_join",
    )  # fmt: skip
