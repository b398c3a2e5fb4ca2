"""Methods of datasets that make another one of the same elements, or of what becomes of them."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import errors
from penstock.core.convert import convert_to_tensor
from penstock.data import structure as st
from penstock.data.base import DatasetBase, DatasetSpec
from penstock.data.batching import BATCH
from penstock.data.combining import CONCATENATE, ZIP
from penstock.data.counting import REPEAT, SKIP, TAKE
from penstock.data.filtering import FILTER
from penstock.data.functions import Traced, trace
from penstock.data.mapping import AUTOTUNE, MAP, PARALLEL_MAP
from penstock.data.nesting import FLAT_MAP
from penstock.data.parallel_forms import PARALLEL_BATCH
from penstock.data.prefetching import PREFETCH
from penstock.graph.static_values import constant_value
from penstock.types import dtypes as dt
from penstock.types.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset


class BasicMethods(DatasetBase):
    """The methods of `Dataset` that programs use most."""

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> "Dataset":
        """What a function makes of each element.

        The function is traced once. An element that is a tuple is given as several arguments.

        Args:
          map_func: takes an element, returns a structure of tensors.
          num_parallel_calls: int64[], how many elements are worked on at once;
            `tf.data.AUTOTUNE` leaves it to Penstock. None for one.
          deterministic: whether results come in the order of the elements; None leaves it to
            the options, where it is so unless they say otherwise. No effect without
            `num_parallel_calls`.
          synchronous: True refuses to run ahead, so with `num_parallel_calls`.
          use_unbounded_threadpool: accepted for compatibility.
          name: the operation's name in a graph.

        Raises:
          TypeError: the function returns what is no structure of tensors.
          ValueError: `synchronous` beside `num_parallel_calls`.

        Example:
          >>> import penstock as tf
          >>> [int(x) for x in tf.data.Dataset.range(3).map(lambda x: x + 1)]
          [1, 2, 3]
        """
        if synchronous and num_parallel_calls is not None:
            raise ValueError(
                "`synchronous` is not supported with `num_parallel_calls`, but `num_parallel_calls`"
                f" was set to {num_parallel_calls}."
            )
        traced = trace(map_func, [self._structure], "map")
        if num_parallel_calls is None:
            warn_of_order(deterministic)
            attrs = {"f": traced.body, "force_synchronous": bool(synchronous)}
            inputs = (self._variant_tensor, traced.captured)
            return self._derived(MAP, inputs, traced.output, attrs, name)  # type: ignore[no-any-return]
        attrs = {"f": traced.body, "deterministic": as_text(deterministic)}
        calls = convert_to_tensor(num_parallel_calls, dt.int64)
        inputs_ = (self._variant_tensor, traced.captured, calls)
        return self._derived(PARALLEL_MAP, inputs_, traced.output, attrs, name)  # type: ignore[no-any-return]

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> "Dataset":
        """The elements for which a function is true.

        Args:
          predicate: takes an element, returns bool[].
          name: the operation's name in a graph.

        Raises:
          ValueError: the function returns something else.

        Example:
          >>> import penstock as tf
          >>> [int(x) for x in tf.data.Dataset.range(5).filter(lambda x: x % 2 == 0)]
          [0, 2, 4]
        """
        traced = trace(predicate, [self._structure], "filter")
        check_predicate(traced, "`predicate`")
        inputs = (self._variant_tensor, traced.captured)
        return self._derived(FILTER, inputs, self._structure, {"predicate": traced.body}, name)  # type: ignore[no-any-return]

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> "Dataset":
        """Stacks of elements.

        Args:
          batch_size: int64[], how many make a stack.
          drop_remainder: bool[], whether a last stack of fewer is left out.
          num_parallel_calls: int64[], how many stacks are made at once; None for one.
          deterministic: whether they come in order; as for `map`.
          name: the operation's name in a graph.

        Returns:
          A dataset of elements with one more dimension in front.

        Raises:
          InvalidArgumentError: the size is below 1; or, while it runs, elements have other shapes.

        Example:
          >>> import penstock as tf
          >>> [x.numpy().tolist() for x in tf.data.Dataset.range(5).batch(2)]
          [[0, 1], [2, 3], [4]]
        """
        size = convert_to_tensor(batch_size, dt.int64)
        drops = convert_to_tensor(drop_remainder, dt.bool_)
        known = constant_value(size) if constant_value(drops) else None
        rows = int(known) if known is not None and int(known) > 0 else None
        spec = st.batched(self.element_spec, rows)
        if num_parallel_calls is None:
            warn_of_order(deterministic)
            return self._derived(BATCH, (self._variant_tensor, size, drops), spec, None, name)  # type: ignore[no-any-return]
        attrs = {"deterministic": as_text(deterministic)}
        calls = convert_to_tensor(num_parallel_calls, dt.int64)
        inputs = (self._variant_tensor, size, calls, drops)
        return self._derived(PARALLEL_BATCH, inputs, spec, attrs, name)  # type: ignore[no-any-return]

    def take(self, count: Any, name: str | None = None) -> "Dataset":
        """At most the first elements.

        Args:
          count: int64[], how many; -1 for all.
          name: the operation's name in a graph.
        """
        return self._counted(TAKE, count, name)

    def skip(self, count: Any, name: str | None = None) -> "Dataset":
        """All but the first elements.

        Args:
          count: int64[], how many are left out; -1 for all.
          name: the operation's name in a graph.
        """
        return self._counted(SKIP, count, name)

    def repeat(self, count: Any = None, name: str | None = None) -> "Dataset":
        """All elements, several times.

        Args:
          count: int64[], how many times; None or -1 for ever.
          name: the operation's name in a graph.
        """
        return self._counted(REPEAT, -1 if count is None else count, name)

    def _counted(self, op: Any, count: Any, name: str | None) -> "Dataset":
        inputs = (self._variant_tensor, convert_to_tensor(count, dt.int64))
        return self._derived(op, inputs, self._structure, None, name)  # type: ignore[no-any-return]

    def prefetch(self, buffer_size: Any, name: str | None = None) -> "Dataset":
        """The same elements, taken on other threads before they are asked for.

        Args:
          buffer_size: int64[], how many are kept at most; `tf.data.AUTOTUNE` and
            None leave it to Penstock.
          name: the operation's name in a graph.
        """
        return self._counted(PREFETCH, AUTOTUNE if buffer_size is None else buffer_size, name)

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> "Dataset":
        """The elements of the datasets that a function makes, one dataset after the other.

        Args:
          map_func: takes an element, returns a dataset.
          name: the operation's name in a graph.

        Raises:
          TypeError: the function returns no dataset.

        Example:
          >>> import penstock as tf
          >>> rows = tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]])
          >>> [int(x) for x in rows.flat_map(tf.data.Dataset.from_tensor_slices)]
          [1, 2, 3, 4]
        """
        traced, structure = trace_dataset(map_func, self._structure, "flat_map")
        inputs = (self._variant_tensor, traced.captured)
        return self._derived(FLAT_MAP, inputs, structure, {"f": traced.body}, name)  # type: ignore[no-any-return]

    def concatenate(self, dataset: Any, name: str | None = None) -> "Dataset":
        """The elements of this dataset, then those of another.

        Args:
          dataset: of elements of the same structure and dtypes.
          name: the operation's name in a graph.

        Raises:
          TypeError: its elements are others.
        """
        spec = st.most_general([self.element_spec, dataset.element_spec], "concatenate")
        inputs = (self._variant_tensor, dataset._variant_tensor)
        return self._derived(CONCATENATE, inputs, spec, None, name, (dataset,))  # type: ignore[no-any-return]

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> "Dataset":
        """Elements of several datasets side by side, as many as the shortest has.

        Args:
          *args: the datasets, or one structure of datasets.
          datasets: the structure, by keyword.
          name: the operation's name in a graph.

        Raises:
          TypeError: both are given, or neither, or something is no dataset.

        Example:
          >>> import penstock as tf
          >>> a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(5, 9)
          >>> [(int(x), int(y)) for x, y in tf.data.Dataset.zip(a, b)]
          [(0, 5), (1, 6), (2, 7)]
        """
        return _zipped(args, datasets, name)  # type: ignore[no-any-return]


def _zipped(args: Any, datasets: Any, name: str | None) -> Any:
    if not args and datasets is None:
        raise TypeError("Must pass at least one dataset to `zip`.")
    if args and datasets is not None:
        raise TypeError("Both `*args` and `datasets` cannot be set: give the datasets once.")
    found = datasets if datasets is not None else (args[0] if len(args) == 1 else tuple(args))
    inputs: list[Any] = []

    def spec(leaf: Any) -> Any:
        if not isinstance(leaf, DatasetBase):
            if isinstance(leaf, list):
                raise TypeError(
                    "Invalid input to `zip`. Inputs are expected to be (nested) structures of"
                    " `tf.data.Dataset` objects. Python `list` is not supported and you should use"
                    " `tuple` instead."
                )
            raise TypeError(
                "Invalid input to `zip`. Inputs are expected to be (nested) structures of"
                f" `tf.data.Dataset` objects but encountered object of type {type(leaf)}."
            )
        inputs.append(leaf)
        return leaf.element_spec

    spec_of = st.map_leaves(spec, found)
    if not inputs:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"zip: expected at least one dataset, got {found!r}. Give a tuple or a dict of some.",
        )
    first = inputs[0]
    variants = [each._variant_tensor for each in inputs]
    return first._derived(ZIP, (variants,), spec_of, None, name, inputs[1:])


def check_predicate(traced: Traced, what: str) -> None:
    """Refuses a function that gives no boolean.

    Raises:
      ValueError: it does not.
    """
    spec = traced.output.spec
    if not (isinstance(spec, TensorSpec) and spec.is_compatible_with(TensorSpec([], dt.bool_))):
        raise ValueError(
            f"Invalid {what}. {what} must return a `tf.bool` scalar tensor, but its return type is"
            f" {spec}."
        )


def trace_dataset(
    function: Callable[..., Any], structure: st.Structure, name: str
) -> tuple[Traced, st.Structure]:
    """A function of elements that returns datasets, and the structure of their elements.

    Raises:
      TypeError: it returns something else.
    """
    traced = trace(function, [structure], name)
    spec = traced.output.spec
    if not isinstance(spec, DatasetSpec):
        raise TypeError(
            f"{name}: The `map_func` argument must return a `Dataset` object. Got"
            f" {type(spec).__name__} {spec}."
        )
    return traced, st.Structure(spec.element_spec)


def warn_of_order(deterministic: bool | None) -> None:
    """Warns that `deterministic` was given without `num_parallel_calls`."""
    if deterministic is not None:
        warnings.warn(
            "The `deterministic` argument has no effect unless the `num_parallel_calls` argument"
            " is specified.",
            stacklevel=3,
        )


def as_text(deterministic: bool | None) -> str:
    """The attribute for whether results come in order."""
    return "default" if deterministic is None else str(bool(deterministic)).lower()
