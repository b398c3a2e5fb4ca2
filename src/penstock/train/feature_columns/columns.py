"""What all feature columns have in common, and the features that they read."""

import abc
from collections.abc import Mapping
from typing import Any

from penstock.core.composite import SparseTensor, is_sparse
from penstock.core.convert import convert_to_tensor
from penstock.ops.array_basics import identity
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_gather import gather_nd
from penstock.ops.array_select import where
from penstock.ops.array_shape import expand_dims
from penstock.ops.array_shape import rank as rank_of
from penstock.ops.conditionals import cond
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import equal, not_equal
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


class Features:
    """The features of a batch of examples, and what columns have made of them.

    Args:
      features: tensors, SparseTensors or arrays by name; the first axis is that of examples.
    """

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._features = features
        self._made: dict[Any, Any] = {}

    def raw(self, key: str) -> Any:
        """A feature as SparseTensor, or as tensor of rank 2 at least.

        Args:
          key: its name.

        Raises:
          ValueError: there is no such feature, or it is a scalar.
        """
        if key not in self._made:
            if key not in self._features:
                raise ValueError(
                    f"Feature {key} is not in features dictionary. It has {sorted(self._features)}."
                )
            self._made[key] = _of_rank_two(key, self._features[key])
        return self._made[key]

    def of(self, column: "FeatureColumn") -> Any:
        """What `column.transform` gives, computed once.

        Args:
          column: a column.
        """
        if column not in self._made:
            self._made[column] = column.transform(self)
        return self._made[column]

    def sparse(self, key: str) -> Any:
        """A feature as SparseTensor, without the elements that stand for no value.

        Args:
          key: its name.
        """
        return to_sparse(self.raw(key))


def _of_rank_two(key: str, given: Any) -> Any:
    if is_sparse(given):
        return given
    tensor = convert_to_tensor(given)
    if tensor.shape.rank == 0:
        raise ValueError(
            f"Feature (key: {key}) cannot have rank 0. Given: {tensor}. Its first axis is that of"
            " examples."
        )
    if tensor.shape.rank is None:
        return cond(
            equal(rank_of(tensor), 1), lambda: expand_dims(tensor, -1), lambda: identity(tensor)
        )
    return expand_dims(tensor, -1) if tensor.shape.rank == 1 else tensor


def to_sparse(given: Any, ignored: Any = None) -> Any:
    """A SparseTensor of the elements of a dense tensor that are values.

    Args:
      given: a SparseTensor, which stays as it is, or a tensor.
      ignored: the element that is none; "" in texts and -1 in numbers by default, which is the
        largest one of an unsigned dtype.
    """
    if is_sparse(given):
        return given
    if ignored is None:
        ignored = "" if given.dtype is dt.string else -1
        ignored = given.dtype.max if given.dtype.is_unsigned else ignored
    places = where(not_equal(given, convert_to_tensor(ignored, given.dtype)))
    return SparseTensor(places, gather_nd(given, places), shape_of(given, out_type=dt.int64))


class FeatureColumn(abc.ABC):
    """A description of what features become."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name, which is that of its variables."""

    @property
    @abc.abstractmethod
    def parse_example_spec(self) -> dict[str, Any]:
        """For each feature that the column reads, how `tf.io.parse_example` parses it."""

    @abc.abstractmethod
    def transform(self, features: Features) -> Any:
        """What the features become, before weights of a model."""


class DenseColumn(FeatureColumn):
    """A column of as many numbers for each example."""

    @property
    @abc.abstractmethod
    def variable_shape(self) -> TensorShape:
        """The shape of the numbers of one example."""

    @abc.abstractmethod
    def dense_tensor(self, features: Features, make: "Weights") -> Any:
        """The numbers: float32[batch, ...variable_shape]."""

    @property
    def scope_name(self) -> str:
        """The name of the scope of its variables."""
        return self.name


class CategoricalColumn(FeatureColumn):
    """A column of any number of categories for each example."""

    @property
    @abc.abstractmethod
    def num_buckets(self) -> int:
        """The number of categories."""

    def ids(self, features: Features) -> Any:
        """The categories: a SparseTensor int64[batch, n]."""
        return features.of(self)

    def weights(self, features: Features) -> Any:
        """A weight for each category, or None: a SparseTensor float32[batch, n]."""
        return None


class Weights:
    """How a model makes the variables of its columns.

    Args:
      collections: of graphs, that variables are added to.
      trainable: whether optimizers update them.
    """

    def __init__(self, collections: Any, trainable: bool) -> None:
        self.collections, self.trainable = collections, trainable


def checked_key(key: Any) -> str:
    """`key`, the name of a feature.

    Raises:
      ValueError: it is no text.
    """
    if not isinstance(key, str):
        raise ValueError(
            f"key must be a string. Got: type {type(key)}. Given key: {key}. It names a feature."
        )
    return key


def checked_shape(shape: Any, key: str) -> tuple[int, ...]:
    """`shape` as a tuple.

    Raises:
      TypeError: a size is no integer.
      ValueError: a size is not positive.
    """
    sizes = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    for size in sizes:
        if not hasattr(size, "__index__"):
            raise TypeError(f"shape dimensions must be integer. shape: {sizes}, key: {key}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {sizes}, key: {key}")
    return tuple(int(size) for size in sizes)


def number_kind(dtype: Any, key: str) -> Any:
    """`dtype` of a feature of numbers.

    Raises:
      ValueError: numbers of it do not become floats.
    """
    kind = dt.as_dtype(dtype)
    if not (kind.is_integer or kind.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {kind}, key: {key}")
    return kind


def category_kind(dtype: Any, prefix: str) -> Any:
    """`dtype` of a feature of categories.

    Raises:
      ValueError: it is neither that of texts nor of integers.
    """
    kind = dt.as_dtype(dtype)
    if kind is not dt.string and not kind.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {kind}.")
    return kind


def as_float(tensor: Any) -> Any:
    """A tensor of numbers as float32."""
    return cast(tensor, dt.float32)
