"""Methods of datasets that leave elements as they are: their order, which of them, where kept."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.data.base import DatasetBase
from penstock.data.caching import CACHE, CACHE_V1, NO_CACHE
from penstock.data.functions import trace
from penstock.data.mapping import AUTOTUNE
from penstock.data.methods_basic import as_text, check_predicate, trace_dataset
from penstock.data.nesting import INTERLEAVE, PARALLEL_INTERLEAVE
from penstock.data.random_numbers import DUMMY_GENERATOR
from penstock.data.seeds import seeds_of
from penstock.data.selecting import IGNORE_ERRORS, SHARD, TAKE_WHILE, UNIQUE
from penstock.data.shuffling import SHUFFLE, SHUFFLE_V1
from penstock.types import dtypes as dt

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset

_UNIQUE = (dt.int32, dt.int64, dt.string)


def owns_state() -> bool:
    """Whether a dataset is made in eager code or a function, where it may have a state of its own.

    In a plain graph its operations run each time that an iterator is initialized.
    """
    return state.graph is None or bool(state.graph.building_function)


class OrderingMethods(DatasetBase):
    """Methods of `Dataset` that give the same elements, some of them, or those of others."""

    def shuffle(
        self,
        buffer_size: Any,
        seed: Any = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> "Dataset":
        """The elements in random order, which for given seeds is TensorFlow's.

        Args:
          buffer_size: int64[], from how many elements each is chosen; as many as there are, or
            `tf.data.UNKNOWN_CARDINALITY`, for a uniform order.
          seed: int64[], of the order; with the global seed it says which.
          reshuffle_each_iteration: whether each iteration has another order; None for True.
          name: the operation's name in a graph.

        Raises:
          InvalidArgumentError: `buffer_size` is below 1.

        Example:
          >>> import penstock as tf
          >>> sorted(int(x) for x in tf.data.Dataset.range(5).shuffle(3))
          [0, 1, 2, 3, 4]
        """
        size = convert_to_tensor(buffer_size, dt.int64)
        again = True if reshuffle_each_iteration is None else reshuffle_each_iteration
        if not isinstance(again, (bool, int)):
            raise TypeError(f"Expected bool for argument 'reshuffle_each_iteration' not {again!r}.")
        inputs: tuple[Any, ...] = (self._variant_tensor, size, *seeds_of(seed))
        attrs = {"reshuffle_each_iteration": bool(again)}
        if not owns_state():
            return self._derived(SHUFFLE_V1, inputs, self._structure, attrs, name)  # type: ignore[no-any-return]
        inputs = (*inputs, execute(DUMMY_GENERATOR, ()))
        return self._derived(SHUFFLE, inputs, self._structure, attrs, name)  # type: ignore[no-any-return]

    def cache(self, filename: Any = "", name: str | None = None) -> "Dataset":
        """The elements, made once: the first iteration to its end keeps them for the others.

        Args:
          filename: string[], how the names of files begin that keep them; "" for memory.
          name: the operation's name in a graph.

        Raises:
          AlreadyExistsError: while it runs, another iterator writes the files.
          NotFoundError: while it runs, there is no such folder.

        Example:
          >>> import penstock as tf
          >>> dataset = tf.data.Dataset.range(3).map(lambda x: x * x).cache()
          >>> [int(x) for x in dataset], [int(x) for x in dataset]
          ([0, 1, 4], [0, 1, 4])
        """
        inputs: tuple[Any, ...] = (self._variant_tensor, convert_to_tensor(filename, dt.string))
        if not owns_state():
            return self._derived(CACHE_V1, inputs, self._structure, None, name)  # type: ignore[no-any-return]
        inputs = (*inputs, execute(NO_CACHE, ()))
        return self._derived(CACHE, inputs, self._structure, None, name)  # type: ignore[no-any-return]

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> "Dataset":
        """One of several parts: every `num_shards`-th element, from number `index` on.

        Args:
          num_shards: int64[], into how many parts elements are divided.
          index: int64[], which part.
          name: the operation's name in a graph.

        Raises:
          InvalidArgumentError: there are no such parts.

        Example:
          >>> import penstock as tf
          >>> [int(x) for x in tf.data.Dataset.range(7).shard(3, 1)]
          [1, 4]
        """
        inputs = (
            self._variant_tensor, convert_to_tensor(num_shards, dt.int64),
            convert_to_tensor(index, dt.int64),
        )  # fmt: skip
        return self._derived(SHARD, inputs, self._structure, None, name)  # type: ignore[no-any-return]

    def enumerate(self, start: Any = 0, name: str | None = None) -> "Dataset":
        """Pairs of a number and an element.

        Args:
          start: int64[], the first number.
          name: the operation's name in a graph.

        Example:
          >>> import penstock as tf
          >>> [(int(i), int(x)) for i, x in tf.data.Dataset.range(5, 7).enumerate()]
          [(0, 5), (1, 6)]
        """
        kind: Any = type(self)._class_of_results or type(self)
        first = convert_to_tensor(start, dt.int64)
        numbers = kind.range(first, dt.int64.max, name=name)
        return kind.zip((numbers, self), name=name)  # type: ignore[no-any-return]

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> "Dataset":
        """The elements before the first for which a function is false.

        Args:
          predicate: takes an element, returns bool[].
          name: the operation's name in a graph.

        Raises:
          ValueError: the function returns something else.

        Example:
          >>> import penstock as tf
          >>> [int(x) for x in tf.data.Dataset.range(9).take_while(lambda x: x < 2)]
          [0, 1]
        """
        traced = trace(predicate, [self._structure], "take_while")
        check_predicate(traced, "`predicate`")
        inputs = (self._variant_tensor, traced.captured)
        return self._derived(TAKE_WHILE, inputs, self._structure, {"predicate": traced.body}, name)  # type: ignore[no-any-return]

    def unique(self, name: str | None = None) -> "Dataset":
        """The elements that were not there before: int32, int64 or string tensors.

        Args:
          name: the operation's name in a graph.

        Raises:
          TypeError: elements are of another dtype.
          InvalidArgumentError: an element is more than one tensor.

        Example:
          >>> import penstock as tf
          >>> [int(x) for x in tf.data.Dataset.from_tensor_slices([1, 2, 1]).unique()]
          [1, 2]
        """
        for dtype in self._structure.types:
            if dtype not in _UNIQUE:
                raise TypeError(
                    f"`tf.data.Dataset.unique` does not support type {dtype!r} -- only `tf.int32`,"
                    " `tf.int64`, and `tf.string` are supported. Cast elements with map."
                )
        return self._derived(UNIQUE, (self._variant_tensor,), self._structure, None, name)  # type: ignore[no-any-return]

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> "Dataset":
        """The elements that do not fail.

        Args:
          log_warning: whether errors are logged.
          name: the operation's name in a graph.

        Example:
          >>> import penstock as tf
          >>> ratios = tf.data.Dataset.from_tensor_slices([1.0, 0.0, 4.0]).map(
          ...     lambda x: tf.debugging.check_numerics(1.0 / x, "not a number"))
          >>> [float(x) for x in ratios.ignore_errors()]
          [1.0, 0.25]
        """
        attrs = {"log_warning": bool(log_warning)}
        inputs = (self._variant_tensor,)
        return self._derived(IGNORE_ERRORS, inputs, self._structure, attrs, name)  # type: ignore[no-any-return]

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> "Dataset":
        """The elements of the datasets that a function makes, several datasets in turn.

        Args:
          map_func: takes an element, returns a dataset.
          cycle_length: int64[], how many datasets have turns; None or `tf.data.AUTOTUNE` for one
            a processor.
          block_length: int64[], how many elements are taken in a turn; None for one.
          num_parallel_calls: int64[], at most `cycle_length`: datasets are read ahead of their
            turns; `tf.data.AUTOTUNE` leaves it to Penstock. None for one after the other.
          deterministic: whether turns come in order also where a dataset has no element yet; None
            leaves it to the options. No effect without `num_parallel_calls`.
          name: the operation's name in a graph.

        Raises:
          TypeError: the function returns no dataset.
          InvalidArgumentError: a number is below 1.

        Example:
          >>> import penstock as tf
          >>> tens = tf.data.Dataset.range(1, 4).interleave(
          ...     lambda x: tf.data.Dataset.range(10 * x, 10 * x + 2), cycle_length=2)
          >>> [int(x) for x in tens]
          [10, 20, 11, 21, 30, 31]
        """
        traced, structure = trace_dataset(map_func, self._structure, "interleave")
        cycle = convert_to_tensor(AUTOTUNE if cycle_length is None else cycle_length, dt.int64)
        block = convert_to_tensor(1 if block_length is None else block_length, dt.int64)
        inputs: tuple[Any, ...] = (self._variant_tensor, traced.captured, cycle, block)
        if num_parallel_calls is None:
            return self._derived(INTERLEAVE, inputs, structure, {"f": traced.body}, name)  # type: ignore[no-any-return]
        ahead = convert_to_tensor(AUTOTUNE, dt.int64)
        inputs = (*inputs, ahead, ahead, convert_to_tensor(num_parallel_calls, dt.int64))
        attrs = {"f": traced.body, "deterministic": as_text(deterministic)}
        return self._derived(PARALLEL_INTERLEAVE, inputs, structure, attrs, name)  # type: ignore[no-any-return]

    def apply(self, transformation_func: Callable[[Any], Any]) -> "Dataset":
        """What a function of datasets makes of this one.

        Args:
          transformation_func: takes a dataset, returns one.

        Raises:
          TypeError: it returns something else.

        Example:
          >>> import penstock as tf
          >>> [int(x) for x in tf.data.Dataset.range(9).apply(lambda dataset: dataset.take(2))]
          [0, 1]
        """
        made = transformation_func(self)
        if not isinstance(made, DatasetBase):
            raise TypeError(
                f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(made)}."
            )
        return made  # type: ignore[return-value]
