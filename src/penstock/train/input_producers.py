"""Input producers of graph mode: queues that give the elements of a tensor, epoch by epoch.

Each makes a queue and a `QueueRunner` that fills it, which `start_queue_runners` starts. A limit on
epochs is a local variable that counts, so run `local_variables_initializer` first.
"""

from collections.abc import Sequence
from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.behavior import control_dependencies
from penstock.graph.default_graph import get_default_graph
from penstock.ops.array_basics import identity
from penstock.ops.array_gather import gather
from penstock.ops.composing import scope
from penstock.ops.debug_asserts import assert_that
from penstock.ops.io_files import matching_files
from penstock.ops.math_cast import cast
from penstock.ops.math_range import range as range_of
from penstock.ops.queue_base import QueueBase
from penstock.ops.queue_runner import QueueRunner, add_queue_runner
from penstock.ops.queues import FIFOQueue
from penstock.ops.random_ops import random_shuffle
from penstock.ops.variables_v1 import GraphKeys, VariableV1
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


def refuse_eager() -> None:
    """Raises RuntimeError where operations run at once."""
    if state.graph is None:
        raise RuntimeError(
            "Input pipelines based on Queues are not supported when eager execution is enabled."
            " Please use tf.data to ingest data into your model instead."
        )


def match_filenames_once(pattern: Any, name: str | None = None) -> Any:
    """A local variable with the names of the files that match, found when it is initialized.

    Args:
      pattern: string[] or string[n], one or several patterns.
      name: the name in a graph.

    Returns:
      A variable: string[m].
    """
    with scope(name, "matching_filenames") as full:
        return VariableV1(
            matching_files(pattern),
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
            name=full or name or "matching_filenames",
        )


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """A tensor that can be evaluated so many times; OutOfRangeError after that.

    Args:
      tensor: any tensor.
      num_epochs: how often; no limit when None.
      name: the name in a graph.

    Returns:
      The tensor.

    Raises:
      ValueError: `num_epochs` is not positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with scope(name, "limit_epochs") as inside:
        epochs = VariableV1(
            convert_to_tensor(0, dt.int64),
            name="epochs",
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
            use_resource=True,
        )
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=inside)


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """A queue of the rows of a tensor, epoch by epoch.

    Args:
      input_tensor: [n, ...], its rows are the elements.
      element_shape: the shape of a row, where the tensor does not tell.
      num_epochs: how often the rows come; for ever when None.
      shuffle: whether they come in another order each time.
      seed: of the order.
      capacity: the most elements in the queue.
      shared_name: the name under which sessions share the queue.
      summary_name: of a summary of how full the queue is; none when None.
      name: the name in a graph.
      cancel_op: cancels the queue, instead of its close.

    Returns:
      The queue; its runner is in the collection of queue runners.

    Raises:
      RuntimeError: operations run at once.
      ValueError: the shape of a row is not known.
    """
    refuse_eager()
    with scope(name, "input_producer") as inside:
        tensor = convert_to_tensor(input_tensor, name="input_tensor")
        shape = tensor.shape[1:].merge_with(TensorShape(element_shape))
        if not shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be "
                f"specified: expected rows of a known shape, got {shape}."
            )
        if shuffle:
            tensor = random_shuffle(tensor, seed=seed)
        tensor = limit_epochs(tensor, num_epochs)
        queue = FIFOQueue(
            capacity,
            dtypes=[tensor.dtype.base_dtype],
            shapes=[shape],
            shared_name=shared_name,
            name=inside,
        )
        runner = QueueRunner(queue, [queue.enqueue_many([tensor])], cancel_op=cancel_op)
        add_queue_runner(runner)
        if summary_name is not None:
            summarize_fill(summary_name, queue.size(), 1.0 / capacity)
        return queue


def summarize_fill(tag: str, size: Tensor, factor: float) -> None:
    """Adds a scalar summary of how full a queue is to the graph's summaries."""
    graph = get_default_graph()
    value = cast(size, dt.float32) * factor
    with graph.name_scope(tag) as inside:
        found = execute("ScalarSummary", (inside.rstrip("/"), value), None, inside)
    graph.add_to_collection(GraphKeys.SUMMARIES, found)


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """A queue of strings, names of files say, epoch by epoch.

    Args:
      string_tensor: string[n].
      num_epochs: how often they come; for ever when None.
      shuffle: whether they come in another order each time.
      seed: of the order.
      capacity: the most elements in the queue.
      shared_name: the name under which sessions share the queue.
      name: the name in a graph.
      cancel_op: cancels the queue, instead of its close.

    Returns:
      The queue; its runner is in the collection of queue runners.

    Raises:
      RuntimeError: operations run at once.
      ValueError: there are no strings.
      InvalidArgumentError: there are none, when it runs.
    """
    refuse_eager()
    empty = "string_input_producer requires a non-null input tensor"
    if isinstance(string_tensor, list | tuple) and not string_tensor:
        raise ValueError(f"{empty}: expected at least one string, got {string_tensor!r}.")
    with scope(name, "input_producer") as inside:
        strings = convert_to_tensor(string_tensor, dt.string)
        with control_dependencies([assert_that(execute("Size", (strings,)) > 0, [empty])]):
            strings = identity(strings)
        return input_producer(
            strings,
            element_shape=[],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
            summary_name=f"fraction_of_{capacity}_full",
            name=inside,
            cancel_op=cancel_op,
        )


def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """A queue of the integers from 0 to limit - 1, epoch by epoch.

    Args:
      limit: int32[].
      num_epochs: how often they come; for ever when None.
      shuffle: whether they come in another order each time.
      seed: of the order.
      capacity: the most elements in the queue.
      shared_name: the name under which sessions share the queue.
      name: the name in a graph.

    Returns:
      The queue; its runner is in the collection of queue runners.

    Raises:
      RuntimeError: operations run at once.
    """
    refuse_eager()
    with scope(name, "input_producer") as inside:
        return input_producer(
            range_of(limit),
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            inside,
        )


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """One row of each of several tensors: rows of one number, epoch by epoch.

    Args:
      tensor_list: tensors with the same number of rows.
      num_epochs: how often the rows come; for ever when None.
      shuffle: whether they come in another order each time.
      seed: of the order.
      capacity: the most numbers in the queue.
      shared_name: the name under which sessions share the queue.
      name: the name in a graph.

    Returns:
      A tensor for each of the list, of the shape of a row.

    Raises:
      RuntimeError: operations run at once.
      ValueError: there is no tensor.
    """
    refuse_eager()
    with scope(name, "input_producer"):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        if not tensors:
            raise ValueError(
                "Expected at least one tensor in slice_input_producer(): got an empty list."
            )
        known = tensors[0].dims[0] if tensors[0].dims else None
        limit = execute("Shape", (tensors[0],))[0] if known is None else known
        queue = range_input_producer(limit, num_epochs, shuffle, seed, capacity, shared_name)
        index = queue.dequeue()
        return [gather(t, index) for t in tensors]
