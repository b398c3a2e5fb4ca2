"""Columns of categories: by hash, number or vocabulary, weighted, and in sequences."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.composite import SparseTensor
from penstock.core.file_object import GFile
from penstock.core.files import exists
from penstock.ops.array_select import where
from penstock.ops.lookup_initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from penstock.ops.lookup_tables import StaticHashTableV1
from penstock.ops.lookup_vocabulary import StaticVocabularyTableV1
from penstock.ops.math_cast import cast
from penstock.ops.parse_features import VarLenFeature
from penstock.ops.string_numbers import as_string
from penstock.ops.string_to_hash import to_hash_bucket_fast
from penstock.train.feature_columns.columns import (
    CategoricalColumn,
    Features,
    as_float,
    category_kind,
    checked_key,
    to_sparse,
)
from penstock.types import dtypes as dt


class _OfOneFeature(CategoricalColumn):
    """A column of the categories of one feature of any length."""

    key: str
    dtype: Any

    @property
    def name(self) -> str:
        """The feature's name."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Any number of values in each example."""
        return {self.key: VarLenFeature(self.dtype)}

    def transform(self, features: Features) -> Any:
        """The categories of the feature's values."""
        given = features.sparse(self.key)
        return SparseTensor(given.indices, self._classes(given.values), given.dense_shape)

    def _classes(self, values: Any) -> Any:
        raise NotImplementedError

    def _check_values(self, values: Any) -> None:
        category_kind(values.dtype, f"column_name: {self.key} input_tensor")
        if (self.dtype is dt.string) != (values.dtype is dt.string):
            raise ValueError(
                "Column dtype and SparseTensors dtype must be compatible. key: "
                f"{self.key}, column dtype: {self.dtype}, tensor dtype: {values.dtype}"
            )


@dataclasses.dataclass(frozen=True)
class HashedCategoricalColumn(_OfOneFeature):
    """Categories by hash; made by `categorical_column_with_hash_bucket`."""

    key: str
    hash_bucket_size: int
    dtype: Any

    @property
    def num_buckets(self) -> int:
        """The number of buckets."""
        return self.hash_bucket_size

    def _classes(self, values: Any) -> Any:
        self._check_values(values)
        texts = values if values.dtype is dt.string else as_string(values)
        return to_hash_bucket_fast(texts, self.hash_bucket_size)


def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dt.string
) -> HashedCategoricalColumn:
    """A column of categories by the hash of a feature's values.

    Args:
      key: the feature's name.
      hash_bucket_size: the number of categories, at least 1.
      dtype: the feature's dtype: string or an integer one.

    Returns:
      A column of categories.

    Raises:
      ValueError: an argument is wrong.
    """
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    kind = category_kind(dtype, f"column_name: {checked_key(key)}")
    return HashedCategoricalColumn(key, hash_bucket_size, kind)


@dataclasses.dataclass(frozen=True)
class IdentityCategoricalColumn(_OfOneFeature):
    """Categories that are numbers; made by `categorical_column_with_identity`."""

    key: str
    number_buckets: int
    default_value: int | None
    dtype: Any = dataclasses.field(default=dt.int64, init=False, repr=False)

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        return self.number_buckets

    def _classes(self, values: Any) -> Any:
        if not values.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {values.dtype}")
        values = cast(values, dt.int64)
        if self.default_value is None:
            return values
        outside = (values < 0) | (values >= np.int64(self.number_buckets))
        return where(outside, np.int64(self.default_value), values)


def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """A column of categories that are the numbers of a feature.

    Args:
      key: the feature's name.
      num_buckets: the number of categories: numbers are below it.
      default_value: the category of other numbers; None leaves them, which an indicator column
        ignores and an embedding column refuses.

    Returns:
      A column of categories.

    Raises:
      ValueError: an argument is wrong.
    """
    checked_key(key)
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(
            f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}"
        )
    return IdentityCategoricalColumn(key, num_buckets, default_value)


class _OfVocabulary(_OfOneFeature):
    """Categories by their place in a vocabulary."""

    num_oov_buckets: int
    default_value: int

    def _vocabulary(self) -> Any:
        """The initializer of a table of the places."""
        raise NotImplementedError

    def _classes(self, values: Any) -> Any:
        self._check_values(values)
        name = f"{self.key}_lookup"
        vocabulary = self._vocabulary()
        if self.num_oov_buckets:
            table: Any = StaticVocabularyTableV1(vocabulary, self.num_oov_buckets, name=name)
        else:
            table = StaticHashTableV1(vocabulary, self.default_value, name=name)
        return table.lookup(values if values.dtype is dt.string else cast(values, dt.int64))


@dataclasses.dataclass(frozen=True)
class VocabularyFileCategoricalColumn(_OfVocabulary):
    """Categories by line; made by `categorical_column_with_vocabulary_file`."""

    key: str
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: Any
    default_value: int

    @property
    def num_buckets(self) -> int:
        """The words, and the buckets of unknown ones."""
        return self.vocabulary_size + self.num_oov_buckets

    def _vocabulary(self) -> Any:
        kind = dt.string if self.dtype is dt.string else dt.int64
        return TextFileInitializer(
            self.vocabulary_file, kind, TextFileIndex.WHOLE_LINE, dt.int64,
            TextFileIndex.LINE_NUMBER, vocab_size=self.vocabulary_size,
        )  # fmt: skip


def _of_unknown(key: str, num_oov_buckets: int, default_value: Any, unset: int | None) -> int:
    """The category of unknown words; `unset` is the default of `default_value`."""
    if num_oov_buckets and default_value != unset:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")
    return -1 if default_value is None else default_value


def categorical_column_with_vocabulary_file_v1(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = dt.string,
) -> VocabularyFileCategoricalColumn:
    """A column of categories by their line in a file.

    Args:
      key: the feature's name.
      vocabulary_file: a text file of a word a line.
      vocabulary_size: how many lines count; all by default.
      num_oov_buckets: how many categories unknown words are hashed into.
      default_value: the category of unknown words; -1, which is ignored, by default.
      dtype: the feature's dtype: string or an integer one.

    Returns:
      A column of categories.

    Raises:
      ValueError: an argument is wrong, or there is no such file.
    """
    checked_key(key)
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    default = _of_unknown(key, num_oov_buckets, default_value, None)
    if vocabulary_size is None:
        if not exists(vocabulary_file):
            raise ValueError(f"vocabulary_file in {key} does not exist: {vocabulary_file}.")
        with GFile(vocabulary_file, "rb") as lines:
            vocabulary_size = sum(1 for _ in lines)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    kind = category_kind(dtype, f"column_name: {key}")
    return VocabularyFileCategoricalColumn(
        key, vocabulary_file, vocabulary_size, num_oov_buckets, kind, default
    )


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    dtype: Any = dt.string,
    default_value: int | None = None,
    num_oov_buckets: int = 0,
    file_format: str | None = None,
) -> VocabularyFileCategoricalColumn:
    """A column of categories by their line in a file.

    Args:
      key: the feature's name.
      vocabulary_file: a text file of a word a line.
      vocabulary_size: how many lines count; all by default.
      dtype: the feature's dtype: string or an integer one.
      default_value: the category of unknown words; -1, which is ignored, by default.
      num_oov_buckets: how many categories unknown words are hashed into.
      file_format: "text", or None for it.

    Returns:
      A column of categories.

    Raises:
      ValueError: an argument is wrong, or there is no such file.
      NotImplementedError: another format.
    """
    if file_format not in (None, "text"):
        raise NotImplementedError(
            f"categorical_column_with_vocabulary_file: expected file_format='text', got"
            f" {file_format!r}. Write the words into a text file, one a line."
        )
    return categorical_column_with_vocabulary_file_v1(
        key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
    )


@dataclasses.dataclass(frozen=True)
class VocabularyListCategoricalColumn(_OfVocabulary):
    """Categories by place in a list; made by `categorical_column_with_vocabulary_list`."""

    key: str
    vocabulary_list: tuple[Any, ...]
    dtype: Any
    default_value: int
    num_oov_buckets: int

    @property
    def num_buckets(self) -> int:
        """The words, and the buckets of unknown ones."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def _vocabulary(self) -> Any:
        kind = dt.string if self.dtype is dt.string else dt.int64
        places = np.arange(len(self.vocabulary_list), dtype=np.int64)
        return KeyValueTensorInitializer(list(self.vocabulary_list), places, kind, dt.int64)


def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any] | None,
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListCategoricalColumn:
    """A column of categories by their place in a list.

    Args:
      key: the feature's name.
      vocabulary_list: the words, or integers.
      dtype: the feature's dtype; that of the list by default.
      default_value: the category of unknown words; -1 is ignored.
      num_oov_buckets: how many categories unknown words are hashed into.

    Returns:
      A column of categories.

    Raises:
      ValueError: an argument is wrong.
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    own = dt.as_dtype(np.asarray(vocabulary_list).dtype)
    default = _of_unknown(key, num_oov_buckets, default_value, -1)
    kind = category_kind(own, f"column_name: {checked_key(key)} vocabulary")
    wanted = kind if dtype is None else dt.as_dtype(dtype)
    if wanted.is_integer != kind.is_integer:
        raise ValueError(
            f"dtype {wanted} and vocabulary dtype {kind} do not match, column_name: {key}"
        )
    return VocabularyListCategoricalColumn(
        key, tuple(vocabulary_list), wanted, default, num_oov_buckets
    )


@dataclasses.dataclass(frozen=True)
class WeightedCategoricalColumn(CategoricalColumn):
    """Categories with a weight each; made by `weighted_categorical_column`."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: Any

    @property
    def name(self) -> str:
        """The categories' name and that of the weights."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the categories, and any number of weights in each example."""
        spec = self.categorical_column.parse_example_spec
        if self.weight_feature_key in spec:
            raise ValueError(
                f"Parse config {spec[self.weight_feature_key]} already exists for"
                f" {self.weight_feature_key}. Use another feature for the weights."
            )
        return {**spec, self.weight_feature_key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        return self.categorical_column.num_buckets

    def transform(self, features: Features) -> Any:
        """The categories and the weights."""
        given = features.raw(self.weight_feature_key)
        if given.dtype.base_dtype is not self.dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {given.dtype}.")
        weights = to_sparse(given, 0)
        values = as_float(weights.values)
        weights = SparseTensor(weights.indices, values, weights.dense_shape)
        return self.categorical_column.ids(features), weights

    def ids(self, features: Features) -> Any:
        """The categories."""
        return features.of(self)[0]

    def weights(self, features: Features) -> Any:
        """The weights."""
        return features.of(self)[1]


def weighted_categorical_column(
    categorical_column: CategoricalColumn, weight_feature_key: str, dtype: Any = dt.float32
) -> WeightedCategoricalColumn:
    """A column of categories, each with a weight of its own.

    Args:
      categorical_column: a column of categories.
      weight_feature_key: the feature of the weights, as many as there are categories.
      dtype: the dtype of that feature, of numbers.

    Returns:
      A column of categories; what uses it multiplies by the weights.

    Raises:
      ValueError: the dtype is not of numbers, or it is no column of categories.
    """
    kind = dt.as_dtype(dtype)
    if not (kind.is_integer or kind.is_floating):
        raise ValueError(f"dtype {kind} is not convertible to float.")
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(
            f"weighted_categorical_column: expected a column of categories, got"
            f" {categorical_column}. Make one with categorical_column_with_*."
        )
    return WeightedCategoricalColumn(categorical_column, checked_key(weight_feature_key), kind)


# ---- sequences


@dataclasses.dataclass(frozen=True)
class SequenceCategoricalColumn(CategoricalColumn):
    """A sequence of categories; made by the functions `sequence_categorical_column_with_*`."""

    categorical_column: CategoricalColumn
    is_sequence = True

    @property
    def name(self) -> str:
        """The categories' name."""
        return self.categorical_column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the categories."""
        return self.categorical_column.parse_example_spec

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        return self.categorical_column.num_buckets

    def transform(self, features: Features) -> Any:
        """The categories, in order."""
        return self.categorical_column.transform(features)


def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dt.string
) -> SequenceCategoricalColumn:
    """A sequence of categories; arguments as for `categorical_column_with_hash_bucket`."""
    return SequenceCategoricalColumn(
        categorical_column_with_hash_bucket(key, hash_bucket_size, dtype)
    )


def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """A sequence of categories; arguments as for `categorical_column_with_identity`."""
    return SequenceCategoricalColumn(
        categorical_column_with_identity(key, num_buckets, default_value)
    )


def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = dt.string,
) -> SequenceCategoricalColumn:
    """A sequence of categories; arguments as for `categorical_column_with_vocabulary_file`."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_file_v1(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )


def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """A sequence of categories; arguments as for `categorical_column_with_vocabulary_list`."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_list(
            key, vocabulary_list, dtype, default_value, num_oov_buckets
        )
    )
