"""Methods of datasets that choose among several, or among elements by their classes."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.data.base import DatasetBase, dataset_class
from penstock.data.choosing import ASSERT_CARDINALITY, DIRECTED_INTERLEAVE
from penstock.data.fingerprints import FINGERPRINT
from penstock.data.structure import most_general
from penstock.ops.array_fill import one_hot
from penstock.ops.random_ops import random_uniform
from penstock.ops.random_stateless_ops import stateless_categorical
from penstock.types import dtypes as dt
from penstock.types.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset


class ChoosingMethods(DatasetBase):
    """Methods of `Dataset` that choose."""

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = True
    ) -> "Dataset":
        """Elements of datasets, as the numbers of another dataset say.

        Args:
          datasets: a list of datasets of elements of one structure.
          choice_dataset: int64[] numbers of datasets.
          stop_on_empty_dataset: whether it ends where the chosen one has no more; else it is passed
            over, until none has any.

        Raises:
          ValueError: there are no datasets.
          TypeError: they or the numbers are others.
          InvalidArgumentError: while it runs, there is no dataset of a number.

        Example:
          >>> import penstock as tf
          >>> a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 13)
          >>> choice = tf.data.Dataset.from_tensor_slices(tf.constant([1, 0, 0], tf.int64))
          >>> [int(x) for x in tf.data.Dataset.choose_from_datasets([a, b], choice)]
          [10, 0, 1]
        """
        _check_datasets(datasets)
        spec = choice_dataset.element_spec
        wanted = TensorSpec([], dt.int64)
        if not (isinstance(spec, TensorSpec) and wanted.is_compatible_with(spec)):
            raise TypeError(
                "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar `tf.int64`"
                f" tensors but are {spec}."
            )
        return directed(choice_dataset, datasets, stop_on_empty_dataset)  # type: ignore[no-any-return]

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Any],
        weights: Any = None,
        seed: Any = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> "Dataset":
        """Elements of datasets that are drawn at random.

        Args:
          datasets: a list of datasets of elements of one structure.
          weights: how likely each is: floats, a tensor float[N], or a dataset of such; None for all
            alike. A dataset of weight 0 is left out.
          seed: of the numbers, which are TensorFlow's.
          stop_on_empty_dataset: whether it ends where the drawn one has no more.
          rerandomize_each_iteration: whether each iterator draws other numbers; None for not.

        Raises:
          ValueError: there are no datasets, or not as many weights.
          TypeError: they or the weights are others.

        Example:
          >>> import penstock as tf
          >>> a, b = tf.data.Dataset.range(100), tf.data.Dataset.range(1000, 1100)
          >>> mixed = tf.data.Dataset.sample_from_datasets([a, b], [0.9, 0.1], seed=1)
          >>> len(list(mixed))
          200
        """
        _check_datasets(datasets)
        datasets = list(datasets)
        if not isinstance(weights, DatasetBase):
            weights = _as_weights(weights, len(datasets))
            kept = _positive(weights)
            if kept == []:
                return datasets[0].take(0)
            if kept is not None and len(kept) < len(datasets):
                datasets = [datasets[i] for i in kept]
                weights = execute("GatherV2", (weights, kept, 0))
        if len(datasets) == 1:
            return datasets[0]  # type: ignore[no-any-return]
        seeds = dataset_class().random(
            seed=seed, rerandomize_each_iteration=rerandomize_each_iteration
        ).batch(2)  # fmt: skip
        if isinstance(weights, DatasetBase):
            drawn = dataset_class().zip((weights.map(_logits), seeds)).map(_draw)  # type: ignore[attr-defined]
        else:
            drawn = seeds.map(_drawing(_logits(weights)))
        return directed(drawn, datasets, stop_on_empty_dataset)  # type: ignore[no-any-return]

    def fingerprint(self) -> Any:
        """A number that is the same for datasets that are made alike.

        Returns:
          uint64[].

        Example:
          >>> import penstock as tf
          >>> a, b, c = (tf.data.Dataset.range(n).fingerprint() for n in (3, 3, 4))
          >>> bool(a == b), bool(a == c)
          (True, False)
        """
        return execute(FINGERPRINT, (self._variant_tensor,))

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: Any = None,
        name: str | None = None,
    ) -> "Dataset":
        """Elements whose classes are distributed as wanted: some are left out.

        Of the elements a share is taken as it comes, so that as few as possible are left out; the
        others are kept with a probability that follows from their class.

        Args:
          class_func: takes an element, returns its class, int32[] from 0.
          target_dist: float[C], how likely each class is to be.
          initial_dist: float[C], how likely each is among the elements; None counts them.
          seed: of the random numbers.
          name: accepted for compatibility.

        Returns:
          A dataset of pairs (class, element).

        Example:
          >>> import penstock as tf
          >>> classes = tf.data.Dataset.from_tensor_slices([0, 0, 0, 1] * 200)
          >>> even = classes.rejection_resample(lambda x: x, [0.5, 0.5], [0.75, 0.25], seed=1)
          >>> ones = [int(c) for c, _ in even]
          >>> 0.4 < sum(ones) / len(ones) < 0.6
          True
        """
        mixing = _Mixing(target_dist, initial_dist, seed)
        spec = self.element_spec
        unpacked = type(spec) is tuple

        def with_class(*element: Any) -> Any:
            return convert_to_tensor(class_func(*element)), element if unpacked else element[0]

        classed: Any = self.map(with_class)  # type: ignore[attr-defined]
        known = classed.scan(mixing.first, mixing.count)
        chosen = known.filter(mixing.keeps).map(_without_counts)
        as_they_come = known.map(_without_counts)
        weights = known.map(lambda counts, found, element: mixing.weights(counts))
        return ChoosingMethods.sample_from_datasets(
            [chosen, as_they_come], weights, seed, stop_on_empty_dataset=True
        )


class _Mixing:
    """How likely elements are kept, by their classes.

    With r the wanted share of each class by the share that it has, and m and M the least and the
    largest of them, a share m of the results is taken as it comes; of the others an element is kept
    with probability (r - m) / (M - m).
    """

    def __init__(self, target: Any, initial: Any, seed: Any) -> None:
        self._target = convert_to_tensor(target, dt.float32)
        self._counts = initial is None
        self._seed = seed
        given = execute("ZerosLike", (self._target,)) if initial is None else initial
        self.first = convert_to_tensor(given, dt.float32)

    def count(self, counts: Any, value: Any) -> Any:
        """The counts with one more element, beside it; shares that were given stay."""
        found, element = value
        if self._counts:
            size = self._target.shape[0]
            counts = execute("AddV2", (counts, one_hot(found, size, dtype=dt.float32)))
        return counts, (counts, found, element)

    def _ratios(self, counts: Any) -> tuple[Any, Any, Any]:
        shares = execute("RealDiv", (counts, execute("Sum", (counts, [0]))))
        ratios = execute("RealDiv", (self._target, execute("Maximum", (shares, _LEAST_SHARE))))
        return ratios, execute("Min", (ratios, [0])), execute("Max", (ratios, [0]))

    def keeps(self, counts: Any, found: Any, element: Any) -> Any:
        """Whether an element that is not taken as it comes is kept, bool[]."""
        ratios, least, largest = self._ratios(counts)
        mine = execute("GatherV2", (ratios, found, 0))
        spread = execute("Sub", (largest, least))
        probability = execute("DivNoNan", (execute("Sub", (mine, least)), spread))
        return execute("Less", (random_uniform([], seed=self._seed), probability))

    def weights(self, counts: Any) -> Any:
        """How often a result is chosen by its class, and how often taken as it comes."""
        _, least, _ = self._ratios(counts)
        share = execute("Minimum", (least, 1.0))
        return execute("Pack", ([execute("Sub", (1.0, share)), share],))


_LEAST_SHARE = 1e-12  # of a class that has not come yet


def _without_counts(counts: Any, found: Any, element: Any) -> Any:
    return found, element


def _check_datasets(datasets: Sequence[Any]) -> None:
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")


def directed(selector: Any, datasets: Sequence[Any], stops: bool) -> Any:
    """The dataset of elements of others that the numbers of `selector` choose.

    Raises:
      TypeError: the elements have other structures.
    """
    specs = [each.element_spec for each in datasets]
    try:
        spec = most_general(specs, "choose_from_datasets")
    except TypeError:
        shown = "\n".join(f"Dataset {i} element_spec={s}." for i, s in enumerate(specs))
        raise TypeError(
            "Invalid `datasets`. `datasets` must have compatible element specs.\n" + shown
        ) from None
    inputs = (selector._variant_tensor, [each._variant_tensor for each in datasets])
    attrs = {"stop_on_empty_dataset": bool(stops)}
    return selector._derived(DIRECTED_INTERLEAVE, inputs, spec, attrs, None, datasets)


def _as_weights(weights: Any, count: int) -> Tensor:
    if weights is None:
        weights = [1.0] * count
    tensor: Tensor = convert_to_tensor(weights)
    if tensor.dtype not in (dt.float32, dt.float64):
        raise TypeError(
            "Invalid `weights`. `weights` type must be either `tf.float32` or `tf.float64` but is"
            f" {tensor.dtype}."
        )
    size = tensor.dims[0] if tensor.dims else None
    if tensor.dims is not None and (len(tensor.dims) != 1 or size not in (None, count)):
        raise ValueError(
            "Invalid `weights`. `weights` should have the same length as `datasets` but got"
            f" `len(weights)={size}` vs. `len(datasets)={count}`."
        )
    return tensor


def _positive(weights: Any) -> list[int] | None:
    """The numbers of datasets with a weight, where the weights are known."""
    values = weights.numpy() if hasattr(weights, "numpy") else None
    return None if values is None else [i for i, w in enumerate(values) if w > 0]


def _logits(weights: Any) -> Any:
    return execute("ExpandDims", (execute("Log", (convert_to_tensor(weights),)), 0))


def _draw(logits: Any, seed: Any) -> Any:
    drawn = stateless_categorical(logits, 1, seed=seed)
    return execute("Squeeze", (drawn,), {"squeeze_dims": [0, 1]})


def _drawing(logits: Any) -> Callable[[Any], Any]:
    return lambda seed: _draw(logits, seed)


def assert_cardinality(expected_cardinality: Any) -> Callable[[Any], Any]:
    """What says how many elements a dataset has.

    Args:
      expected_cardinality: int64[]; the dataset fails where it has more or fewer.

    Returns:
      A function for `Dataset.apply`.

    Example:
      >>> import penstock as tf
      >>> some = tf.data.Dataset.range(4).filter(lambda x: x > 1)
      >>> len(some.apply(tf.data.experimental.assert_cardinality(2)))
      2
    """

    def apply(dataset: Any) -> Any:
        count = convert_to_tensor(expected_cardinality, dt.int64)
        inputs = (dataset._variant_tensor, count)
        return dataset._derived(ASSERT_CARDINALITY, inputs, dataset._structure)

    return apply
