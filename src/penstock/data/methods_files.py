"""Methods of datasets that make one of names of files, of random numbers, or by counting."""

from typing import TYPE_CHECKING, Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.deprecation import deprecated
from penstock.core.execute import execute
from penstock.data.base import DatasetBase, dataset_class
from penstock.data.listing import LIST
from penstock.data.methods_sources import made
from penstock.data.random_numbers import DUMMY_GENERATOR, RANDOM_V2
from penstock.data.structure import Structure, most_general, normalized, spec_of
from penstock.ops.io_files import matching_files
from penstock.ops.random_state import get_seed
from penstock.types import dtypes as dt
from penstock.types.dtypes import as_dtype
from penstock.types.tensor_spec import TensorSpec
from penstock.util import nest

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset


class FileMethods(DatasetBase):
    """Methods of `Dataset` that need no other dataset, beside those of `SourceMethods`."""

    @staticmethod
    def list_files(
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> "Dataset":
        """The names of the files that match patterns.

        Args:
          file_pattern: string[] or string[N]; see `tf.io.gfile.glob`.
          shuffle: whether they come in a random order, which they do by default.
          seed: of that order.
          name: the operation's name in a graph.

        Raises:
          InvalidArgumentError: nothing matches.

        Example:
          >>> import os, tempfile
          >>> import penstock as tf
          >>> folder = tempfile.mkdtemp()
          >>> for name in ("a.txt", "b.txt", "c.csv"):
          ...     open(os.path.join(folder, name), "w").close()
          >>> names = tf.data.Dataset.list_files(folder + "/*.txt", shuffle=False)
          >>> [os.path.basename(x.numpy()) for x in names]
          [b'a.txt', b'b.txt']
        """
        patterns = convert_to_tensor(file_pattern, dt.string)
        found = matching_files(patterns)
        count = execute("Size", (found,), {"out_type": dt.int64})
        some = execute("Greater", (count, convert_to_tensor(0, dt.int64)))
        joined = execute("ReduceJoin", (patterns, _axes(patterns)), {"separator": ", "})
        start = convert_to_tensor("No files matched pattern: ", dt.string)
        message = execute("StringJoin", ([start, joined],), {"separator": ""})
        check = execute("Assert", (some, [message]), {"summarize": 1})
        if state.graph is not None:
            with state.graph.control_dependencies([check]):
                found = execute("Identity", (found,))
        names = dataset_class().from_tensor_slices(found, name=name)
        if shuffle is None or shuffle:
            least = convert_to_tensor(1, dt.int64)
            return names.shuffle(execute("Maximum", (count, least)), seed=seed, name=name)  # type: ignore[no-any-return]
        return names  # type: ignore[no-any-return]

    @staticmethod
    def random(
        seed: int | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> "Dataset":
        """Random numbers without an end, uniform in [0, 2**32).

        Args:
          seed: of the numbers; with the global seed they are TensorFlow's.
          rerandomize_each_iteration: whether each iteration has other ones; False by default.
          name: the operation's name in a graph.

        Returns:
          A dataset of int64[].

        Example:
          >>> import penstock as tf
          >>> dataset = tf.data.Dataset.random(seed=4).take(3)
          >>> list(dataset.as_numpy_iterator()) == list(dataset.as_numpy_iterator())
          True
        """
        first, second = get_seed(seed)
        seeds = [convert_to_tensor(s or 0, dt.int64) for s in (first, second)]
        structure = Structure(TensorSpec((), dt.int64))
        generator = execute(DUMMY_GENERATOR, ())
        again = bool(rerandomize_each_iteration)
        attrs = {**structure.attrs, "rerandomize_each_iteration": again}
        return made(RANDOM_V2, (*seeds, generator), structure, attrs, name)  # type: ignore[no-any-return]

    @staticmethod
    def counter(
        start: Any = 0, step: Any = 1, dtype: Any = dt.int64, name: str | None = None
    ) -> "Dataset":
        """Counts without an end.

        Args:
          start: scalar, the first number.
          step: scalar, what is added each time; numbers wrap as arithmetic of the dtype does.
          dtype: of the numbers.
          name: the operation's name in a graph.

        Example:
          >>> import penstock as tf
          >>> [int(x) for x in tf.data.Dataset.counter(1, 2).take(3)]
          [1, 3, 5]
        """
        kind = as_dtype(dtype)
        first, by = convert_to_tensor(start, kind), convert_to_tensor(step, kind)

        def count(number: Any, _: Any) -> Any:
            return execute("AddV2", (number, by)), number

        endless = dataset_class().from_tensors(0, name=name).repeat(None, name=name)
        return endless.scan(first, count, name=name)  # type: ignore[no-any-return]


def _axes(patterns: Any) -> Any:
    return execute(
        "Range",
        (
            convert_to_tensor(0, dt.int32),
            execute("Rank", (patterns,)),
            convert_to_tensor(1, dt.int32),
        ),
    )


@deprecated("Use `tf.data.Dataset.counter`.")
def counter(start: Any = 0, step: Any = 1, dtype: Any = dt.int64) -> "Dataset":
    """Counts without an end; see `tf.data.Dataset.counter`.

    Args:
      start: scalar, the first number.
      step: scalar, what is added each time.
      dtype: of the numbers.
    """
    return FileMethods.counter(start, step, dtype)


def from_list(elements: Any, name: str | None = None) -> "Dataset":
    """A dataset of the elements of a list, whose shapes may differ.

    Args:
      elements: a list of structures of tensors, all of one structure and the same dtypes.
      name: the operation's name in a graph.

    Returns:
      A dataset whose static shapes have the dimensions that all elements share.

    Raises:
      ValueError: there are none, or it is no list, or structures differ.
      TypeError: dtypes differ.

    Example:
      >>> import penstock as tf
      >>> dataset = tf.data.experimental.from_list([(1, "a"), (2, "b")])
      >>> [(int(n), s.numpy()) for n, s in dataset]
      [(1, b'a'), (2, b'b')]
    """
    if not elements:
        raise ValueError(
            "Invalid `elements`. `elements` should not be empty. If you want an empty dataset, use"
            " `tf.data.Dataset.range(0)`."
        )
    if not isinstance(elements, list):
        raise ValueError(
            f"Invalid `elements`. `elements` must be a list, got {type(elements).__name__}."
        )
    found = [normalized(each) for each in elements]
    specs = [spec_of(each) for each in found]
    for spec in specs[1:]:
        nest.assert_same_structure(specs[0], spec)
    structure = Structure(most_general(specs, "from_list"))
    flat = [part for each in found for part in structure.flatten(each)]
    return made(LIST, (flat,), structure, None, name)  # type: ignore[no-any-return]
