"""`tf.data.experimental`: functions that make functions for `Dataset.apply`, and some of datasets.

Most are older names of methods, which do the work.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.deprecation import deprecated
from penstock.core.execute import execute
from penstock.core.tensor import EagerTensor
from penstock.data import structure as st
from penstock.data.base import dataset_class
from penstock.data.functions import Traced, trace
from penstock.data.imported import AT
from penstock.data.mapping import AUTOTUNE
from penstock.data.methods_basic import trace_dataset
from penstock.data.methods_grouping import trace_key
from penstock.data.methods_looping import trace_states
from penstock.data.methods_ordering import owns_state
from penstock.data.nesting import LEGACY
from penstock.data.parallel_forms import MAP_AND_BATCH
from penstock.data.random_numbers import DUMMY_GENERATOR
from penstock.data.seeds import seeds_of
from penstock.data.shuffling import SHUFFLE_AND_REPEAT, SHUFFLE_AND_REPEAT_V1
from penstock.data.stages import INFINITE, UNKNOWN
from penstock.graph.static_values import constant_value
from penstock.types import dtypes as dt
from penstock.types.composite_specs import SparseTensorSpec
from penstock.types.tensor_spec import TensorSpec

Apply = Callable[[Any], Any]  # takes a dataset, returns one
_KEY = TensorSpec((), dt.int64)

# ---- older names of methods


@deprecated("Use `tf.data.Dataset.bucket_by_sequence_length`.")
def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Apply:
    """Deprecated: `Dataset.bucket_by_sequence_length`, as a function for `Dataset.apply`."""
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes=padded_shapes,
        padding_values=padding_values, pad_to_bucket_boundary=pad_to_bucket_boundary,
        no_padding=no_padding, drop_remainder=drop_remainder,
    )  # fmt: skip


@deprecated(
    "Use `tf.data.Dataset.choose_from_datasets`, where `stop_on_empty_dataset` is True unless it is"
    " given."
)
def choose_from_datasets(
    datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = False
) -> Any:
    """Deprecated: `Dataset.choose_from_datasets`, which goes on past empty datasets here."""
    return dataset_class().choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


@deprecated("Use `tf.data.Dataset.sample_from_datasets`.")
def sample_from_datasets(
    datasets: Sequence[Any],
    weights: Any = None,
    seed: Any = None,
    stop_on_empty_dataset: bool = False,
) -> Any:
    """Deprecated: `Dataset.sample_from_datasets`."""
    return dataset_class().sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


@deprecated("Use `tf.data.Dataset.ragged_batch`.")
def dense_to_ragged_batch(
    batch_size: Any, drop_remainder: Any = False, row_splits_dtype: Any = dt.int64
) -> Apply:
    """Deprecated: `Dataset.ragged_batch`, as a function for `Dataset.apply`."""
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


@deprecated("Use `tf.data.Dataset.sparse_batch`.")
def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Apply:
    """Deprecated: `Dataset.sparse_batch`, as a function for `Dataset.apply`."""
    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


@deprecated("Use `tf.data.Dataset.enumerate`.")
def enumerate_dataset(start: Any = 0) -> Apply:
    """Deprecated: `Dataset.enumerate`, as a function for `Dataset.apply`."""
    return lambda dataset: dataset.enumerate(start)


@deprecated("Use `tf.data.Dataset.group_by_window`.")
def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Apply:
    """Deprecated: `Dataset.group_by_window`, as a function for `Dataset.apply`."""
    return lambda dataset: dataset.group_by_window(
        key_func, reduce_func, window_size, window_size_func
    )


@deprecated("Use `tf.data.Dataset.ignore_errors`.")
def ignore_errors(log_warning: bool = False) -> Apply:
    """Deprecated: `Dataset.ignore_errors`, as a function for `Dataset.apply`."""
    return lambda dataset: dataset.ignore_errors(log_warning)


@deprecated("Use `tf.data.Dataset.rejection_resample`.")
def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: Any = None
) -> Apply:
    """Deprecated: `Dataset.rejection_resample`, as a function for `Dataset.apply`."""
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


@deprecated("Use `tf.data.Dataset.scan`.")
def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Apply:
    """Deprecated: `Dataset.scan`, as a function for `Dataset.apply`."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


@deprecated("Use `tf.data.Dataset.take_while`.")
def take_while(predicate: Callable[..., Any]) -> Apply:
    """Deprecated: `Dataset.take_while`, as a function for `Dataset.apply`."""
    return lambda dataset: dataset.take_while(predicate)


@deprecated("Use `tf.data.Dataset.unbatch`.")
def unbatch() -> Apply:
    """Deprecated: `Dataset.unbatch`, as a function for `Dataset.apply`."""
    return lambda dataset: dataset.unbatch()


@deprecated("Use `tf.data.Dataset.unique`.")
def unique() -> Apply:
    """Deprecated: `Dataset.unique`, as a function for `Dataset.apply`."""
    return lambda dataset: dataset.unique()


# ---- fused transformations


@deprecated("Use `tf.data.Dataset.shuffle`, then `repeat`.")
def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Apply:
    """Deprecated: `Dataset.shuffle`, then `Dataset.repeat`, as a function for `Dataset.apply`.

    Args:
      buffer_size: int64[], from how many elements each is chosen.
      count: int64[], how many rounds; None or -1 for ever.
      seed: int64[], of the order.

    Raises:
      InvalidArgumentError: there is no such size or count.
    """

    def apply(dataset: Any) -> Any:
        size = convert_to_tensor(buffer_size, dt.int64)
        rounds = convert_to_tensor(-1 if count is None else count, dt.int64)
        inputs: tuple[Any, ...] = (dataset._variant_tensor, size, *seeds_of(seed), rounds)
        if not owns_state():
            return dataset._derived(SHUFFLE_AND_REPEAT_V1, inputs, dataset._structure)
        inputs = (*inputs, execute(DUMMY_GENERATOR, ()))
        return dataset._derived(SHUFFLE_AND_REPEAT, inputs, dataset._structure)

    return apply


@deprecated("Use `tf.data.Dataset.map`, then `batch`.")
def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: int | None = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Apply:
    """Deprecated: `Dataset.map`, then `Dataset.batch`, as a function for `Dataset.apply`.

    Args:
      map_func: takes an element, returns a structure of tensors.
      batch_size: int64[], how many make a stack.
      num_parallel_batches: how many stacks are made at once; or
      num_parallel_calls: int64[], how many elements are worked on at once; None for a stack.
      drop_remainder: bool[], whether a last stack of fewer is left out.

    Raises:
      ValueError: both numbers are given.
      InvalidArgumentError: a number is below 1.
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls` to"
            f" be set, but `num_parallel_batches` was set to {num_parallel_batches} and"
            f" `num_parallel_calls` as set to {num_parallel_calls}."
        )

    def apply(dataset: Any) -> Any:
        traced = trace(map_func, [dataset._structure], "map_and_batch")
        size = convert_to_tensor(batch_size, dt.int64)
        drops = convert_to_tensor(drop_remainder, dt.bool_)
        calls = num_parallel_calls
        if calls is None:
            times = 1 if num_parallel_batches is None else num_parallel_batches
            calls = execute("Mul", (size, convert_to_tensor(times, dt.int64)))
        known = constant_value(size) if constant_value(drops) else None
        spec = st.batched(traced.output.spec, None if known is None else int(known))
        attrs = {"f": traced.body, "preserve_cardinality": True}
        inputs = (
            dataset._variant_tensor, traced.captured, size, convert_to_tensor(calls, dt.int64),
            drops,
        )  # fmt: skip
        return dataset._derived(MAP_AND_BATCH, inputs, spec, attrs)

    return apply


@deprecated("Use `tf.data.Dataset.interleave` with `num_parallel_calls`.")
def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: bool | None = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Apply:
    """Deprecated: `Dataset.interleave`, as a function for `Dataset.apply`.

    Args:
      map_func: takes an element, returns a dataset.
      cycle_length: int64[], how many datasets have turns.
      block_length: int64[], how many elements are taken in a turn.
      sloppy: whether a dataset without an element yet loses its turn; None leaves it to options.
      buffer_output_elements: int64[], accepted; how far datasets are read ahead follows from
        `block_length`.
      prefetch_input_elements: int64[], accepted.

    Raises:
      InvalidArgumentError: a number is below 1.
    """

    def apply(dataset: Any) -> Any:
        traced, structure = trace_dataset(map_func, dataset._structure, "parallel_interleave")
        numbers = (
            cycle_length, block_length,
            AUTOTUNE if buffer_output_elements is None else buffer_output_elements,
            AUTOTUNE if prefetch_input_elements is None else prefetch_input_elements,
        )  # fmt: skip
        tensors = [convert_to_tensor(n, dt.int64) for n in numbers]
        inputs = (dataset._variant_tensor, traced.captured, *tensors)
        ordered = "default" if sloppy is None else ("false" if sloppy else "true")
        attrs = {"f": traced.body, "deterministic": ordered}
        return dataset._derived(LEGACY, inputs, structure, attrs)

    return apply


# ---- reducers


class Reducer:
    """What becomes of the elements of a group: for `group_by_reducer`.

    Args:
      init_func: takes a key, int64[], returns the first state.
      reduce_func: takes a state and an element, returns the next state.
      finalize_func: takes the last state, returns the result.

    Example:
      >>> import penstock as tf
      >>> import numpy as np
      >>> count = tf.data.experimental.Reducer(
      ...     lambda key: np.int64(0), lambda state, x: state + 1, lambda state: state)
      >>> groups = tf.data.experimental.group_by_reducer(lambda x: x % 2, count)
      >>> [int(x) for x in tf.data.Dataset.range(5).apply(groups)]
      [3, 2]
    """

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self._init_func = init_func
        self._reduce_func = reduce_func
        self._finalize_func = finalize_func

    @property
    def init_func(self) -> Callable[..., Any]:
        """Makes the first state of a key."""
        return self._init_func

    @property
    def reduce_func(self) -> Callable[..., Any]:
        """Makes the next state."""
        return self._reduce_func

    @property
    def finalize_func(self) -> Callable[..., Any]:
        """Makes the result."""
        return self._finalize_func


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Apply:
    """What a reducer makes of the elements of each key, as a function for `Dataset.apply`.

    Args:
      key_func: takes an element, returns its key, int64[].
      reducer: the functions.

    Returns:
      A function for `Dataset.apply`: it gives a dataset of the results in the order of the keys.

    Raises:
      ValueError: a key is not int64[].
      TypeError: states have other classes or dtypes than the first.
    """

    def apply(dataset: Any) -> Any:
        key = trace_key(key_func, dataset._structure, "group_by_reducer")
        first = trace(reducer.init_func, [st.Structure(_KEY)], "group_by_reducer")
        reduced, state = trace_states(
            reducer.reduce_func, first.output.spec, dataset._structure, "group_by_reducer",
            lambda output: output,
        )  # fmt: skip
        last = trace(reducer.finalize_func, [state], "group_by_reducer")
        functions: list[Traced] = [key, first, reduced, last]
        names = ("key_func", "init_func", "reduce_func", "finalize_func")
        attrs = {name: each.body for name, each in zip(names, functions, strict=True)}
        inputs = (dataset._variant_tensor, *(each.captured for each in functions))
        return dataset._derived("GroupByReducerDataset", inputs, last.output, attrs)

    return apply


# ---- numbers of elements


def at(dataset: Any, index: Any) -> Any:
    """The element of a dataset with a number.

    Args:
      dataset: of a known number of elements.
      index: int64[], from 0.

    Returns:
      It, in the structure of the dataset's elements.

    Raises:
      OutOfRangeError: there is none.
      UnimplementedError: it is not known how many elements there are.
      FailedPreconditionError: there are infinitely many.

    Example:
      >>> import penstock as tf
      >>> int(tf.data.experimental.at(tf.data.Dataset.range(10, 20), 3))
      13
    """
    structure = dataset._structure
    inputs = (dataset._variant_tensor, convert_to_tensor(index, dt.int64))
    return structure.pack(execute(AT, inputs, structure.attrs))


def pad_to_cardinality(cardinality: int, mask_key: str = "valid") -> Apply:
    """Has a dataset of dictionaries have more elements, as a function for `Dataset.apply`.

    Args:
      cardinality: how many there are to be.
      mask_key: the key of a bool[] that says which elements are of the dataset; others are zeros.

    Returns:
      A function for `Dataset.apply`.

    Raises:
      ValueError: elements are no dictionaries; or, in eager code, their number is not known, or
        there are more.

    Example:
      >>> import penstock as tf
      >>> dataset = tf.data.Dataset.from_tensor_slices({"a": [1, 2]})
      >>> padded = dataset.apply(tf.data.experimental.pad_to_cardinality(3))
      >>> [(int(x["a"]), bool(x["valid"])) for x in padded]
      [(1, True), (2, True), (0, False)]
    """

    def apply(dataset: Any) -> Any:
        count = dataset.cardinality()
        if not isinstance(dataset.element_spec, dict):
            raise ValueError("`pad_to_cardinality` requires its input dataset to be a dictionary.")
        if isinstance(count, EagerTensor):
            _check_count(int(count), cardinality)
        zeros = st.map_leaves(_zero, dataset.element_spec)
        filler = dataset_class().from_tensors({**zeros, mask_key: False})
        marked = dataset.map(lambda element: {**element, mask_key: True})
        target = convert_to_tensor(cardinality, dt.int64)
        return marked.concatenate(filler.repeat(execute("Sub", (target, count))))

    return apply


def _check_count(count: int, cardinality: int) -> None:
    if count in (INFINITE, UNKNOWN):
        raise ValueError(
            "The dataset passed into `pad_to_cardinality` must have a known cardinalty, but has"
            f" cardinality {count}"
        )
    if count > cardinality:
        raise ValueError(
            "The dataset passed into `pad_to_cardinality` must have a cardinalty less than the"
            f" target cardinality ({cardinality}), but has cardinality {count}"
        )


def _zero(spec: Any) -> Any:
    if isinstance(spec, SparseTensorSpec) or not isinstance(spec, TensorSpec):
        raise TypeError(f"pad_to_cardinality: expected elements of tensors, got {spec}.")
    dims = spec.shape.dims_tuple
    if dims is None or None in dims:
        raise ValueError(
            f"Cannot convert a partially known TensorShape {spec.shape} to a Tensor: expected"
            " elements of known shapes."
        )
    empty: Any = "" if spec.dtype == dt.string else (False if spec.dtype == dt.bool_ else 0)
    scalar = convert_to_tensor(empty, spec.dtype)
    return execute("Fill", (convert_to_tensor(np.array(dims, np.int32)), scalar))
