"""Columns of numbers: numeric, indicator and embedding columns."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from penstock.checkpoint.initialize import init_from_checkpoint
from penstock.core.composite import is_sparse
from penstock.core.context import state
from penstock.graph.behavior import add_to_collection, get_collection
from penstock.ops.array_fill import one_hot
from penstock.ops.array_join import stack
from penstock.ops.array_scatter import scatter_nd
from penstock.ops.array_select import boolean_mask
from penstock.ops.initializers_v1 import TruncatedNormal
from penstock.ops.math_reduce import reduce_sum
from penstock.ops.nn_embedding_sparse import (
    embedding_lookup_sparse_v1,
    safe_embedding_lookup_sparse_v1,
)
from penstock.ops.parse_features import FixedLenFeature, VarLenFeature
from penstock.ops.sparse_tensors import to_dense
from penstock.ops.variable_scope import get_variable
from penstock.train.feature_columns.columns import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    Features,
    Weights,
    as_float,
    checked_key,
    checked_shape,
    number_kind,
)
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape

# ---- numbers


@dataclasses.dataclass(frozen=True)
class NumericColumn(DenseColumn):
    """A feature of numbers; made by `numeric_column`."""

    key: str
    shape: tuple[int, ...]
    default_value: tuple[Any, ...] | None
    dtype: Any
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        """The feature's name."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """As many numbers in each example."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> TensorShape:
        """The shape in one example."""
        return TensorShape(self.shape)

    def transform(self, features: Features) -> Any:
        """The numbers as float32, normalized."""
        given = features.raw(self.key)
        if is_sparse(given):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is"
                f" not supported. key: {self.key}. Use tf.sparse.to_dense."
            )
        return as_float(given if self.normalizer_fn is None else self.normalizer_fn(given))

    def dense_tensor(self, features: Features, make: Weights) -> Any:
        """The numbers of `transform`."""
        return features.of(self)


def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: Any = dt.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> NumericColumn:
    """A column of the numbers of a feature.

    Args:
      key: the feature's name.
      shape: of the numbers in one example; a number or several.
      default_value: what stands where an example lacks the feature: a number, or as many as `shape`
        says. None when it must not be missing.
      dtype: the feature's dtype, of numbers.
      normalizer_fn: a function of the tensor, such as `lambda x: (x - 3.0) / 4.2`.

    Returns:
      A column whose numbers are float32.

    Raises:
      TypeError: a size is no integer, the default does not fit `dtype`, or the function is none.
      ValueError: the shape, dtype or shape of the default is wrong.

    Example:
      >>> price = tf.feature_column.numeric_column("price")
      >>> tf.compat.v1.feature_column.input_layer({"price": [[1.0], [5.0]]}, [price]).numpy()
      array([[1.],
             [5.]], dtype=float32)
    """
    sizes, kind = checked_shape(shape, checked_key(key)), number_kind(dtype, key)
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return NumericColumn(key, sizes, _default(default_value, sizes, kind, key), kind, normalizer_fn)


def _default(value: Any, shape: tuple[int, ...], kind: Any, key: str) -> Any:
    """The default as nested tuples of `shape`, or None."""
    if value is None:
        return None
    given = np.asarray(value)
    fits = given.dtype.kind in ("iu" if kind.is_integer else "iuf")
    if not fits:
        raise TypeError(
            f"default_value must be compatible with dtype. default_value: {value}, dtype: {kind},"
            f" key: {key}"
        )
    if given.ndim and given.shape != shape:
        raise ValueError(
            "The shape of default_value must be equal to given shape. default_value:"
            f" {value}, shape: {shape}, key: {key}"
        )
    return _tuples(np.broadcast_to(given, shape).tolist())


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


@dataclasses.dataclass(frozen=True)
class SequenceNumericColumn(FeatureColumn):
    """A feature of sequences of numbers; made by `sequence_numeric_column`."""

    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: Any
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        """The feature's name."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Any number of numbers in each example."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of one element of a sequence."""
        return TensorShape(self.shape)

    def transform(self, features: Features) -> Any:
        """The numbers as a SparseTensor, normalized."""
        given = features.sparse(self.key)
        return given if self.normalizer_fn is None else self.normalizer_fn(given)


def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: Any = dt.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> SequenceNumericColumn:
    """A column of sequences of numbers.

    Args:
      key: the feature's name.
      shape: of one element of a sequence.
      default_value: what fills up shorter sequences.
      dtype: the feature's dtype, of numbers.
      normalizer_fn: a function of the SparseTensor.

    Returns:
      A column for `make_parse_example_spec`.

    Raises:
      TypeError: a size is no integer, or the function is none.
      ValueError: the shape or dtype is wrong.
    """
    sizes, kind = checked_shape(shape, checked_key(key)), number_kind(dtype, key)
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return SequenceNumericColumn(key, sizes, default_value, kind, normalizer_fn)


# ---- categories as numbers


def _refuse_sequences(column: Any, what: str) -> None:
    if getattr(column.categorical_column, "is_sequence", False):
        raise ValueError(
            f"In {what}: {column.name}. categorical_column must not be of type"
            " _SequenceCategoricalColumn. Use a categorical_column_with_* that is no sequence."
        )


@dataclasses.dataclass(frozen=True)
class _NumbersOfCategories(DenseColumn):
    """Numbers that stand for a column of categories."""

    categorical_column: CategoricalColumn
    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """The categories' name, and what is made of them."""
        return f"{self.categorical_column.name}_{self.kind}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the categories."""
        return self.categorical_column.parse_example_spec


@dataclasses.dataclass(frozen=True)
class IndicatorColumn(_NumbersOfCategories):
    """How often each category occurs; made by `indicator_column`."""

    kind = "indicator"

    @property
    def variable_shape(self) -> TensorShape:
        """[1, the number of categories]."""
        return TensorShape([1, self.categorical_column.num_buckets])

    def transform(self, features: Features) -> Any:
        """The number, or sum of weights, of each category: float32[batch, categories]."""
        column = self.categorical_column
        ids, weights = column.ids(features), column.weights(features)
        if weights is None:
            classes = to_dense(ids, default_value=-1)
            return reduce_sum(one_hot(classes, column.num_buckets), -2)
        known = (ids.values >= 0) & (ids.values < np.int64(column.num_buckets))
        places = stack([ids.indices[:, 0], ids.values], 1)
        shape = stack([ids.dense_shape[0], np.int64(column.num_buckets)])
        return scatter_nd(boolean_mask(places, known), boolean_mask(weights.values, known), shape)

    def dense_tensor(self, features: Features, make: Weights) -> Any:
        """The numbers of `transform`."""
        _refuse_sequences(self, "indicator_column")
        return features.of(self)


def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """A column of how often each category occurs in an example.

    Args:
      categorical_column: a column of categories.

    Returns:
      A column of as many numbers as there are categories.

    Raises:
      ValueError: it is no column of categories.
    """
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(
            "Unsupported input type. Input must be a CategoricalColumn. Given:"
            f" {categorical_column}. Make one with categorical_column_with_*."
        )
    return IndicatorColumn(categorical_column)


@dataclasses.dataclass(frozen=True)
class EmbeddingColumn(_NumbersOfCategories):
    """A learned row of numbers for each category; made by `embedding_column`."""

    kind = "embedding"
    dimension: int
    combiner: str
    initializer: Any
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool
    use_safe_embedding_lookup: bool

    @property
    def variable_shape(self) -> TensorShape:
        """[dimension]."""
        return TensorShape([self.dimension])

    def transform(self, features: Features) -> Any:
        """The categories."""
        return self.categorical_column.ids(features)

    def table(self, make: Weights) -> Any:
        """The variable of the rows: float32[categories, dimension]."""
        made = get_variable(
            "embedding_weights",
            [self.categorical_column.num_buckets, self.dimension],
            dt.float32,
            self.initializer,
            trainable=self.trainable and make.trainable,
            collections=make.collections,
        )
        if self.ckpt_to_load_from is not None:
            init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: made})
        return made

    def dense_tensor(self, features: Features, make: Weights) -> Any:
        """The combined rows of each example's categories: float32[batch, dimension]."""
        _refuse_sequences(self, "embedding_column")
        ids = self.categorical_column.ids(features)
        weights = self.categorical_column.weights(features)
        safe = self.use_safe_embedding_lookup
        look_up = safe_embedding_lookup_sparse_v1 if safe else embedding_lookup_sparse_v1
        return look_up(
            self.table(make), ids, weights, combiner=self.combiner, max_norm=self.max_norm,
            name=f"{self.name}_weights",
        )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class SharedEmbeddingColumn(EmbeddingColumn):
    """One of several columns with one table; made by `shared_embedding_columns`."""

    shared_embedding_collection_name: str

    @property
    def name(self) -> str:
        """The categories' name, and `_shared_embedding`."""
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def scope_name(self) -> str:
        """The name of the shared table."""
        return self.shared_embedding_collection_name

    def table(self, make: Weights) -> Any:
        """The shared variable, which the graph's collection of the table's name holds."""
        known = get_collection(self.shared_embedding_collection_name)
        if not known:
            made = super().table(make)
            add_to_collection(self.shared_embedding_collection_name, made)
            return made
        shape = [self.categorical_column.num_buckets, self.dimension]
        if len(known) > 1 or known[0].shape.as_list() != shape:
            raise ValueError(
                f"Collection {self.shared_embedding_collection_name}: expected one variable of"
                f" shape {shape}, got {known}. Use another name for the shared table."
            )
        return known[0]


def _checked_embedding(dimension: Any, ckpt: Any, tensor_name: Any, initializer: Any) -> Any:
    """The initializer, after checks of what all embeddings have."""
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}. Expected 1 or more.")
    if (ckpt is None) != (tensor_name is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
        )
    if initializer is not None and not callable(initializer):
        raise ValueError("initializer must be callable if specified.")
    if initializer is None:
        return TruncatedNormal(mean=0.0, stddev=1 / math.sqrt(dimension))
    return initializer


def embedding_column(
    categorical_column: CategoricalColumn,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> EmbeddingColumn:
    """A column of learned numbers for each category.

    Args:
      categorical_column: a column of categories.
      dimension: how many numbers each category has.
      combiner: how those of an example's categories become one row: "mean", "sqrtn" or "sum".
      initializer: of the table; normal numbers with deviation `1 / sqrt(dimension)` by default.
      ckpt_to_load_from: a checkpoint that has the first values.
      tensor_name_in_ckpt: their name there.
      max_norm: rows of a larger l2 norm are scaled down to it; None leaves them.
      trainable: whether optimizers update the table.
      use_safe_embedding_lookup: whether examples without categories get zeros and unknown
        categories are left out; otherwise both are errors.

    Returns:
      A column of `dimension` numbers.

    Raises:
      ValueError: the dimension, checkpoint or initializer is wrong, or it is no column of
        categories.
    """
    first = _checked_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt, initializer)
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(
            f"embedding_column: expected a column of categories, got {categorical_column}. Make"
            " one with categorical_column_with_*."
        )
    return EmbeddingColumn(
        categorical_column, dimension, combiner, first, ckpt_to_load_from, tensor_name_in_ckpt,
        max_norm, trainable, use_safe_embedding_lookup,
    )  # fmt: skip


def shared_embedding_columns(
    categorical_columns: Sequence[CategoricalColumn],
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[SharedEmbeddingColumn]:
    """Columns of learned numbers from one table.

    Args:
      categorical_columns: columns of categories of one kind, with as many categories each.
      dimension, combiner, initializer: as for `embedding_column`.
      shared_embedding_collection_name: the table's name; made of the columns' names by default.
      ckpt_to_load_from, ..., use_safe_embedding_lookup: as for `embedding_column`.

    Returns:
      A column for each of `categorical_columns`.

    Raises:
      RuntimeError: in eager mode, where no graph holds the table that is shared.
      ValueError: as for `embedding_column`; or kinds or numbers of categories differ.
    """
    if state.graph is None:
        raise RuntimeError(
            "shared_embedding_columns are not supported when eager execution is enabled: expected a"
            " graph, which holds the shared table. Make them under tf.Graph().as_default()."
        )
    first = _checked_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt, initializer)
    ordered = sorted(categorical_columns, key=lambda column: column.name)
    _check_alike(ordered)
    table = shared_embedding_collection_name or (
        "_".join(column.name for column in ordered) + "_shared_embedding"
    )
    return [
        SharedEmbeddingColumn(
            column, dimension, combiner, first, ckpt_to_load_from, tensor_name_in_ckpt, max_norm,
            trainable, use_safe_embedding_lookup, table,
        )
        for column in categorical_columns
    ]  # fmt: skip


def _check_alike(columns: list[CategoricalColumn]) -> None:
    kinds = [_kind(column) for column in columns]
    for column, kind in zip(columns, kinds, strict=True):
        if not issubclass(kind, CategoricalColumn) or kind is not kinds[0]:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type,"
                " or be weighted_categorical_column or sequence column of the same type. Given"
                f" column: {columns[0]} of type: {kinds[0]} does not match given column: {column}"
                f" of type: {kind}"
            )
        if column.num_buckets != columns[0].num_buckets:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number"
                f" of buckets. Given column: {columns[0]} with buckets: {columns[0].num_buckets}"
                f" does not match column: {column} with buckets: {column.num_buckets}"
            )


def _kind(column: Any) -> type:
    """The class of a column, or of the one that it weights or takes in sequence."""
    while hasattr(column, "categorical_column"):
        column = column.categorical_column
    return type(column)
