"""`tf.compat.v1.data.Dataset`: the dataset with the methods of the old API."""

import functools
from collections.abc import Callable
from typing import Any

from penstock.core.composite import SparseTensor
from penstock.core.deprecation import deprecated
from penstock.core.op_def import lookup
from penstock.data import legacy
from penstock.data.base import DatasetBase
from penstock.data.dataset import Dataset
from penstock.data.iterator_v1 import Iterator, make_initializable_iterator, make_one_shot_iterator
from penstock.data.methods_sources import made
from penstock.types import dtypes as dt
from penstock.types.tensor_spec import TensorSpec

# Any: elements are of whatever structure the dataset has.


class DatasetV1(Dataset):
    """A sequence of elements, with the iterators of graphs.

    Example:
      >>> import penstock as tf
      >>> with tf.Graph().as_default():
      ...     dataset = tf.compat.v1.data.Dataset.range(2).map(lambda x: x + 1)
      ...     element = dataset.make_one_shot_iterator().get_next()
      ...     with tf.compat.v1.Session() as session:
      ...         [int(session.run(element)) for _ in range(2)]
      [1, 2]
    """

    @deprecated("Use `iter(dataset)`, or `tf.compat.v1.data.make_one_shot_iterator`.")
    def make_one_shot_iterator(self) -> Any:
        """An iterator that needs no initializer: see `tf.compat.v1.data.make_one_shot_iterator`."""
        return make_one_shot_iterator(self)

    @deprecated("Use `iter(dataset)`, or `tf.compat.v1.data.make_initializable_iterator`.")
    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator that is begun: see `tf.compat.v1.data.make_initializable_iterator`.

        Args:
          shared_name: iterators of that name share their position between sessions of a task.
        """
        return make_initializable_iterator(self, shared_name)

    @property
    @deprecated("Use `tf.compat.v1.data.get_output_types`.")
    def output_types(self) -> Any:
        """The structure of the dtypes of elements."""
        return legacy.legacy_types(self.element_spec)

    @property
    @deprecated("Use `tf.compat.v1.data.get_output_shapes`.")
    def output_shapes(self) -> Any:
        """The structure of the shapes of elements."""
        return legacy.legacy_shapes(self.element_spec)

    @property
    @deprecated("Use `tf.compat.v1.data.get_output_classes`.")
    def output_classes(self) -> Any:
        """The structure of the classes of elements."""
        return legacy.legacy_classes(self.element_spec)

    @deprecated("Use `tf.data.Dataset.map`.")
    def map_with_legacy_function(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
    ) -> "DatasetV1":
        """As `map`, of which it is another name here.

        Args:
          map_func: takes an element, returns a structure of tensors.
          num_parallel_calls: int64[], how many elements are worked on at once.
          deterministic: whether results come in the order of the elements.
        """
        return self.map(map_func, num_parallel_calls, deterministic)  # type: ignore[return-value]

    @deprecated("Use `tf.data.Dataset.filter`.")
    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> "DatasetV1":
        """As `filter`, of which it is another name here.

        Args:
          predicate: takes an element, returns bool[].
        """
        return self.filter(predicate)  # type: ignore[return-value]

    @staticmethod
    @deprecated("Use `tf.data.Dataset.from_tensor_slices`.")
    def from_sparse_tensor_slices(sparse_tensor: Any) -> "DatasetV1":
        """The rows of a sparse tensor: `from_tensor_slices` takes sparse tensors too.

        Args:
          sparse_tensor: a tf.sparse.SparseTensor [N, ...].

        Returns:
          A dataset of N elements (indices, values, dense_shape).

        Raises:
          TypeError: it is something else.
        """
        if not isinstance(sparse_tensor, SparseTensor):
            raise TypeError(
                "Invalid `sparse_tensor`. `sparse_tensor` must be a `tf.sparse.SparseTensor`. Got"
                f" {type(sparse_tensor)}."
            )
        rank = sparse_tensor.shape.rank
        inner = None if rank is None else rank - 1
        spec = (
            TensorSpec([None, inner], dt.int64),
            TensorSpec([None], sparse_tensor.dtype),
            TensorSpec([inner], dt.int64),
        )
        parts = (sparse_tensor.indices, sparse_tensor.values, sparse_tensor.dense_shape)
        return DatasetV1._adapted(made(lookup("SparseTensorSliceDataset"), parts, spec, {}))  # type: ignore[no-any-return]

    @classmethod
    def _adapted(cls, dataset: Any) -> Any:
        """The same dataset with the methods of this class."""
        if isinstance(dataset, cls) or not isinstance(dataset, DatasetBase):
            return dataset
        made = cls(dataset._variant_tensor, dataset._structure, dataset._inputs())
        for name in ("_made_by", "_own_options"):
            if getattr(dataset, name, None) is not None:
                setattr(made, name, getattr(dataset, name))
        return made


def adapting(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose dataset is one of the old API."""

    @functools.wraps(function)
    def made(*args: Any, **kwargs: Any) -> Any:
        return DatasetV1._adapted(function(*args, **kwargs))

    return made


def _adapt_all() -> None:
    """Has every method of the datasets give one of the old API."""
    for kind in reversed(Dataset.__mro__):
        if not issubclass(kind, DatasetBase) or kind is DatasetBase:
            continue
        for name, value in vars(kind).items():
            if name.startswith("_"):
                continue
            if isinstance(value, staticmethod):
                setattr(DatasetV1, name, staticmethod(adapting(value.__func__)))
            elif callable(value) and name not in vars(DatasetV1):
                setattr(DatasetV1, name, adapting(value))


_adapt_all()
DatasetV1._class_of_results = DatasetV1
