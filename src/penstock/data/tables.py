"""Lookup tables that a dataset fills: `DatasetInitializer` and functions that make such tables."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.data.operations import HOST, held
from penstock.data.options_dataset import options_of
from penstock.data.run import Run
from penstock.data.stages import Array, elements
from penstock.ops.lookup_initializers import TableInitializerBase, registered
from penstock.ops.lookup_ops import table_of
from penstock.ops.lookup_tables import StaticHashTable
from penstock.ops.lookup_vocabulary import StaticVocabularyTable
from penstock.types import dtypes as dt
from penstock.types.dtypes import as_dtype
from penstock.types.tensor_spec import TensorSpec

# Any: tables and datasets are of several classes.

INITIALIZE = define_op(
    "InitializeTableFromDataset(table_handle: resource, dataset: variant) -> ()",
    shape=shapes.no_output,
    stateful=True,
    fallible=True,
    doc="Fills a table that is filled once with the keys and values that a dataset gives.",
).not_differentiable("it has no outputs")


@host_kernel(INITIALIZE, limit=HOST, blocks=True)
def _initialize(ctx: KernelContext, table_handle: Any, dataset: Array) -> None:
    table, description = table_of(table_handle), held(dataset)
    types = (table.key_dtype, table.value_dtype)
    if description.types != types:
        raise errors.InvalidArgumentError(
            None,
            None,
            "InitializeTableFromDataset: expected elements of types"
            f" ({types[0].name}, {types[1].name}) as the table has, got"
            f" ({', '.join(t.name for t in description.types)}).",
        )
    run = Run(ctx.resources, "CPU", options_of(description))
    stage = description.start(run)
    try:
        found = list(elements(stage))
    finally:
        run.close()
        stage.close()
    keys, values = (_column([e[i] for e in found], t) for i, t in enumerate(types))
    table.initialize(keys, values)


def _column(values: list[Any], dtype: Any) -> Array:
    made = np.empty(len(values), dtype.numpy_dtype)
    for i, value in enumerate(values):
        made[i] = value[()] if isinstance(value, np.ndarray) else value
    return made


class DatasetInitializer(TableInitializerBase):
    """Fills a table from a dataset.

    Args:
      dataset: of pairs of scalars, a key and its value.

    Raises:
      ValueError: its elements are others.

    Example:
      >>> import penstock as tf
      >>> keys = tf.data.Dataset.from_tensor_slices(["a", "b"])
      >>> pairs = tf.data.Dataset.zip((keys, tf.data.Dataset.range(2)))
      >>> init = tf.data.experimental.DatasetInitializer(pairs)
      >>> table = tf.lookup.StaticHashTable(init, -1)
      >>> table.lookup(tf.constant(["b", "c"])).numpy().tolist()
      [1, -1]
    """

    def __init__(self, dataset: Any) -> None:
        spec = dataset.element_spec
        if not (isinstance(spec, tuple) and len(spec) == 2):
            raise ValueError(
                "DatasetInitializer: expected a dataset of pairs, a key and its value, got elements"
                f" {spec}. Zip keys and values."
            )
        for leaf in spec:
            if not (isinstance(leaf, TensorSpec) and leaf.shape.is_compatible_with([])):
                raise ValueError(
                    "DatasetInitializer: expected keys and values that are scalars, got elements"
                    f" {spec}. Unbatch the dataset."
                )
        self.dataset = dataset
        super().__init__(spec[0].dtype, spec[1].dtype)

    def initialize(self, table: Any) -> Any:
        """Fills a table; in a graph returns the operation that does so.

        Args:
          table: the table.
        """
        self._check_table(table)
        inputs = (table.resource_handle, self.dataset._variant_tensor)
        return registered(execute(INITIALIZE, inputs))


def table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = None,
    hasher_spec: Any = None,
    key_dtype: Any = dt.string,
    name: str | None = None,
) -> Any:
    """A table of the keys and values of a dataset.

    Args:
      dataset: of pairs of scalars, a key and its value.
      num_oov_buckets: buckets for keys that are not there, by their hash; then values are int64
        from 0.
      vocab_size: how many pairs are taken; None for all.
      default_value: the value for keys that are not there, where there are no buckets.
      hasher_spec: accepted for compatibility: buckets are those of fasthash.
      key_dtype: of keys: string or an integer dtype.
      name: a name for the table.

    Returns:
      A lookup table.

    Raises:
      ValueError: no dataset, a negative number, or values that are no int64 beside buckets.
      TypeError: keys are neither strings nor integers.
    """
    del hasher_spec
    if dataset is None:
        raise ValueError("table_from_dataset: expected a dataset, got None. Give `dataset`.")
    if num_oov_buckets < 0:
        raise ValueError(
            f"`num_oov_buckets` must be greater than or equal to 0, got {num_oov_buckets}."
        )
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"`vocab_size` must be greater than 0, got {vocab_size}.")
    wanted = as_dtype(key_dtype)
    if not wanted.is_integer and wanted is not dt.string:
        raise TypeError(f"Only integer and string keys are supported, got {wanted.name}.")
    taken = dataset if vocab_size is None else dataset.take(vocab_size)
    init = DatasetInitializer(taken)
    if not num_oov_buckets:
        default = (
            (-1 if init.value_dtype.is_integer else "") if default_value is None else default_value
        )
        return StaticHashTable(init, default, name=name)
    if init.value_dtype is not dt.int64:
        raise ValueError(
            "table_from_dataset: expected values of dtype int64 beside `num_oov_buckets`, got"
            f" {init.value_dtype.name}. Cast them."
        )
    return StaticVocabularyTable(init, num_oov_buckets, lookup_key_dtype=wanted, name=name)


def index_table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = -1,
    hasher_spec: Any = None,
    key_dtype: Any = dt.string,
    name: str | None = None,
) -> Any:
    """A table of the numbers, from 0, of the elements of a dataset.

    Args:
      dataset: of scalars: the keys.
      num_oov_buckets: buckets for keys that are not there, by their hash.
      vocab_size: how many keys are taken; None for all.
      default_value: the value for keys that are not there, where there are no buckets.
      hasher_spec: accepted for compatibility: buckets are those of fasthash.
      key_dtype: of keys: string or an integer dtype.
      name: a name for the table.

    Returns:
      A lookup table with int64 values.

    Raises:
      ValueError, TypeError: as for `table_from_dataset`.
    """
    if dataset is None:
        raise ValueError("index_table_from_dataset: expected a dataset, got None.")
    numbered = dataset.zip((dataset, type(dataset).range(2**62)))
    return table_from_dataset(
        numbered, num_oov_buckets, vocab_size, default_value, hasher_spec, key_dtype, name
    )
