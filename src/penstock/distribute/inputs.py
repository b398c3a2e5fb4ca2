"""What programs know a dataset by that a strategy has spread over replicas."""

from collections.abc import Callable, Iterator
from typing import Any

# Any: elements are of whatever structure the dataset has.


def _absent(value: Any, what: str) -> NotImplementedError:
    return NotImplementedError(
        f"{type(value).__name__}.{what}: expected a dataset of a strategy, got one that has none."
        f" Define it: {what} must be implemented in descendants."
    )


class DistributedDataset:
    """A dataset that a strategy has spread over replicas.

    The default strategy spreads nothing, so its datasets are what they were:

      >>> dataset = tf.data.Dataset.range(2)
      >>> tf.distribute.get_strategy().experimental_distribute_dataset(dataset) is dataset
      True
    """

    def __iter__(self) -> Iterator[Any]:
        raise _absent(self, "__iter__()")

    @property
    def element_spec(self) -> Any:
        """The structure of the types of elements."""
        raise _absent(self, "element_spec")

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any]) -> Any:
        """What a function makes of all elements, one after the other."""
        raise _absent(self, "reduce()")


class DistributedIterator:
    """What `iter(dataset)` gives of a `DistributedDataset`.

    The default strategy spreads nothing, so its iterators are those of `tf.data`:

      >>> isinstance(iter(tf.data.Dataset.range(2)), tf.distribute.DistributedIterator)
      False
    """

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.get_next()

    @property
    def element_spec(self) -> Any:
        """The structure of the types of elements."""
        raise _absent(self, "element_spec")

    def get_next(self) -> Any:
        """The next element, of each replica."""
        raise _absent(self, "get_next()")

    def get_next_as_optional(self) -> Any:
        """The next element or none, as a `tf.experimental.Optional`."""
        raise _absent(self, "get_next_as_optional()")
