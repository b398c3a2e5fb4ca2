"""Columns of categories that are made of other columns: bucketized and crossed ones."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from penstock.core.composite import SparseTensor
from penstock.core.execute import execute
from penstock.ops.array_basics import reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_fill import one_hot
from penstock.ops.array_join import stack
from penstock.ops.array_tile import repeat, tile
from penstock.ops.math_cast import cast
from penstock.ops.math_range import range as count
from penstock.ops.parse_features import VarLenFeature
from penstock.ops.sparse_cross import cross_hashed
from penstock.train.feature_columns.categorical import HashedCategoricalColumn
from penstock.train.feature_columns.columns import (
    CategoricalColumn,
    DenseColumn,
    Features,
    Weights,
)
from penstock.train.feature_columns.dense import NumericColumn
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


@dataclasses.dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """Numbers by the interval they lie in; made by `bucketized_column`."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        """The numbers' name, and `_bucketized`."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the numbers."""
        return self.source_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """That of the numbers, and the number of intervals."""
        return TensorShape([*self.source_column.shape, len(self.boundaries) + 1])

    @property
    def num_buckets(self) -> int:
        """An interval at each place is a category of its own."""
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def transform(self, features: Features) -> Any:
        """The number of the interval of each number: int32[batch, n]."""
        numbers = features.of(self.source_column)
        return execute("Bucketize", (numbers,), {"boundaries": self.boundaries})

    def dense_tensor(self, features: Features, make: Weights) -> Any:
        """1 at each number's interval, else 0: float32[batch, n, intervals]."""
        return one_hot(features.of(self), len(self.boundaries) + 1)

    def ids(self, features: Features) -> Any:
        """The categories: intervals, counted on from place to place."""
        found = features.of(self)
        size, intervals = self.source_column.shape[0], len(self.boundaries) + 1
        rows = shape_of(found, out_type=dt.int64)[0]
        places = tile(np.arange(size, dtype=np.int64), [rows])
        values = cast(reshape(found, [-1]), dt.int64) + places * np.int64(intervals)
        indices = stack([repeat(count(rows), size), places], 1)
        return SparseTensor(indices, values, stack([rows, np.int64(size)]))


def bucketized_column(
    source_column: NumericColumn, boundaries: Sequence[float]
) -> BucketizedColumn:
    """A column of the intervals that numbers lie in.

    Args:
      source_column: a `numeric_column` of one number or a vector.
      boundaries: in ascending order; n of them make n + 1 intervals, each with its lower boundary.

    Returns:
      A column of categories, and of numbers: 1 for the interval, 0 for the others.

    Raises:
      ValueError: it is no numeric column or of more axes, or the boundaries are none or unordered.
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(
            "source_column must be a column generated with numeric_column(). Given:"
            f" {source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    edges = tuple(boundaries)
    if any(low >= high for low, high in itertools.pairwise(edges)):
        raise ValueError(f"boundaries must be a sorted list. Given: {boundaries}")
    return BucketizedColumn(source_column, edges)


@dataclasses.dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """Combinations of categories, by hash; made by `crossed_column`."""

    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None

    @property
    def name(self) -> str:
        """The names of what is crossed, in order, with `_X_` between them."""
        names = [key if isinstance(key, str) else key.name for key in self._leaves()]
        return "_X_".join(sorted(names))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Those of what is crossed; a feature alone has any number of texts."""
        found: dict[str, Any] = {}
        for key in self.keys:
            own = (
                {key: VarLenFeature(dt.string)} if isinstance(key, str) else key.parse_example_spec
            )
            found.update(own)
        return found

    @property
    def num_buckets(self) -> int:
        """The number of buckets."""
        return self.hash_bucket_size

    def _leaves(self) -> Iterator[Any]:
        """What is crossed, with crossed columns taken apart."""
        for key in self.keys:
            if isinstance(key, CrossedColumn):
                yield from key._leaves()
            else:
                yield key

    def transform(self, features: Features) -> Any:
        """The hashes of all combinations in each example."""
        parts = []
        for key in self._leaves():
            if isinstance(key, str):
                parts.append(features.raw(key))
                continue
            if key.weights(features) is not None:
                raise ValueError(
                    "crossed_column does not support weight_tensor, but the given column populates"
                    f" weight_tensor. Given column: {key.name}"
                )
            parts.append(key.ids(features))
        found = cross_hashed(parts, self.hash_bucket_size, self.hash_key)
        known = [part.shape[0] for part in parts if part.shape.rank and part.shape[0] is not None]
        if not known:
            return found
        sizes = stack([np.int64(known[0]), found.dense_shape[1]])
        return SparseTensor(found.indices, found.values, sizes)


def crossed_column(
    keys: Sequence[Any], hash_bucket_size: int, hash_key: int | None = None
) -> CrossedColumn:
    """A column of the combinations of categories of several columns, by hash.

    Args:
      keys: names of features, or columns of categories but those by hash: two or more.
      hash_bucket_size: the number of categories.
      hash_key: what hashes start from; None for TensorFlow's default.

    Returns:
      A column of categories.

    Raises:
      ValueError: an argument is wrong.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, str | CategoricalColumn):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column"
                f" except HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before"
                " crossing will increase probability of collision. Instead, use the feature name"
                f" as a string. Given: {key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)
