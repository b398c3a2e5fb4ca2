"""How features of Examples are asked for: dense, sparse or ragged, of which dtype and shape.

Five immutable descriptions, and `Asked`, which sorts what a dictionary of them needs from the
message by the way it is read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.ops.array_basics import reshape
from penstock.types import dtypes
from penstock.types.dims import Dims
from penstock.types.dtypes import DType, as_dtype
from penstock.types.tensor_shape import as_shape


class VarLenFeature(NamedTuple):
    """A feature of any number of values, parsed into a SparseTensor.

    Attributes:
      dtype: float32, int64 or string.
    """

    dtype: Any


class FixedLenFeature(NamedTuple):
    """A feature with as many values in each example, parsed into a tensor.

    Attributes:
      shape: the shape in one example, fully known.
      dtype: float32, int64 or string.
      default_value: what stands where the feature is missing, of shape `shape`; None when it must
        not be missing.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of rows of one shape, parsed into a padded tensor.

    Attributes:
      shape: the shape of a row.
      dtype: float32, int64 or string.
      allow_missing: whether it may be missing; then it has no rows. `parse_example` needs it true.
      default_value: the padding, a scalar; zero or "" when None. Not for feature lists.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class SparseFeature(NamedTuple):
    """Two or more features that are the positions and values of a SparseTensor.

    Attributes:
      index_key: the key of the positions (int64), or a list of keys, one for each dimension.
      value_key: the key of the values.
      dtype: float32, int64 or string, of the values.
      size: the size of the dimension, or a list of sizes.
      already_sorted: whether positions are in order in each example.
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class RowSplits(NamedTuple):
    """A partition whose feature holds row splits."""

    key: str


class RowLengths(NamedTuple):
    """A partition whose feature holds the length of each row."""

    key: str


class RowStarts(NamedTuple):
    """A partition whose feature holds where each row starts."""

    key: str


class RowLimits(NamedTuple):
    """A partition whose feature holds where each row ends."""

    key: str


class ValueRowIds(NamedTuple):
    """A partition whose feature holds the row of each value."""

    key: str


class UniformRowLength(NamedTuple):
    """A partition into rows of one length."""

    length: int


PARTITIONS = (RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds, UniformRowLength)


class _RaggedFields(NamedTuple):
    dtype: Any
    value_key: str | None
    partitions: tuple[Any, ...]
    row_splits_dtype: Any
    validate: bool


class RaggedFeature(_RaggedFields):
    """A feature of any number of values, parsed into a RaggedTensor.

    Attributes:
      dtype: float32, int64 or string.
      value_key: the key of the values; the feature's own when None.
      partitions: how the values of one example are split into rows, from the outermost dimension to
        the innermost: RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds (each with the key
        of an int64 feature) or UniformRowLength.
      row_splits_dtype: int32 or int64.
      validate: whether partitions are checked against the values.
    """

    RowSplits = RowSplits
    RowLengths = RowLengths
    RowStarts = RowStarts
    RowLimits = RowLimits
    ValueRowIds = ValueRowIds
    UniformRowLength = UniformRowLength

    def __new__(
        cls,
        dtype: Any,
        value_key: str | None = None,
        partitions: Sequence[Any] = (),
        row_splits_dtype: Any = dtypes.int32,
        validate: bool = False,
    ) -> "RaggedFeature":
        """Checks and makes the description.

        Raises:
          TypeError: a partition is none.
          ValueError: `row_splits_dtype` is neither int32 nor int64.
        """
        if row_splits_dtype is not None:
            row_splits_dtype = as_dtype(row_splits_dtype)
            if row_splits_dtype not in (dtypes.int32, dtypes.int64):
                raise ValueError(
                    "RaggedFeature: argument `row_splits_dtype` must be int32 or int64; got "
                    f"{row_splits_dtype!r}."
                )
        for partition in partitions:
            if not isinstance(partition, PARTITIONS):
                raise TypeError(
                    "RaggedFeature: argument `partitions` must be a list of "
                    f"{', '.join(p.__name__ for p in PARTITIONS)}; got: {partition!r} of type "
                    f"{type(partition).__name__}. Use tf.io.RaggedFeature.RowLengths(key), say."
                )
        parts = tuple(partitions)
        return super().__new__(cls, as_dtype(dtype), value_key, parts, row_splits_dtype, validate)


KINDS: tuple[type, ...] = (
    VarLenFeature, FixedLenFeature, FixedLenSequenceFeature, SparseFeature, RaggedFeature,
)  # fmt: skip
IN_CONTEXT: tuple[type, ...] = (VarLenFeature, FixedLenFeature, RaggedFeature)
IN_LISTS: tuple[type, ...] = (VarLenFeature, FixedLenSequenceFeature, RaggedFeature)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is read from a message, by key: dtypes, shapes and defaults, row splits' dtypes."""

    sparse: dict[Any, DType] = field(default_factory=dict)
    dense: dict[Any, tuple[DType, Dims, Any]] = field(default_factory=dict)
    may_miss: dict[Any, bool] = field(default_factory=dict)
    ragged: dict[Any, tuple[DType, DType]] = field(default_factory=dict)

    def check(self) -> None:
        """Refuses a key that is read in two ways.

        Raises:
          ValueError: there is one.
        """
        groups: dict[str, Mapping[Any, Any]] = {
            "Dense": self.dense,
            "Ragged": self.ragged,
            "Sparse": self.sparse,
        }
        for one, other in (("Dense", "Sparse"), ("Dense", "Ragged"), ("Ragged", "Sparse")):
            both = set(groups[one]) & set(groups[other])
            if both:
                raise ValueError(
                    f"{one} and {other.lower()} keys must not intersect; {one.lower()}_keys: "
                    f"{list(groups[one])}, {other.lower()}_keys: {list(groups[other])}, "
                    f"intersection: {both}. Ask for each feature of a message in one way."
                )

    def add_sparse(self, key: Any, dtype: DType) -> None:
        """A feature of any number of values."""
        _same(self.sparse.setdefault(key, dtype), dtype, "type", key)

    def add_ragged(self, key: Any, dtype: DType, splits: DType) -> None:
        """A feature of any number of values, with row splits of a dtype."""
        before = self.ragged.setdefault(key, (dtype, splits))
        _same(before[0], dtype, "type", key)
        _same(before[1], splits, "partition type", key)


def _same(before: DType, now: DType, what: str, key: Any) -> None:
    if before is not now:
        raise ValueError(
            f"Conflicting {what} {now!r} vs {before!r} for feature {key}. Give all that read this "
            "feature one dtype."
        )


def asked(features: Mapping[Any, Any], allowed: Sequence[type], *, lists: bool = False) -> Asked:
    """What a dictionary of descriptions reads.

    Args:
      features: key -> description.
      allowed: the classes that may occur.
      lists: whether these are feature lists of a SequenceExample.

    Raises:
      ValueError: a description is incomplete, of another class, or conflicts with another.
    """
    result = Asked()
    for key in sorted(features):
        feature: Any = features[key]
        if not isinstance(feature, tuple(allowed)):
            raise ValueError(
                f"Unsupported {type(feature).__name__} {feature} for key {key!r}. Use one of "
                f"{', '.join(kind.__name__ for kind in allowed)}."
            )
        if not getattr(feature, "dtype", None):
            raise ValueError(f"Missing type for feature {key}. Received feature={feature}.")
        _ADD[type(feature)](result, key, feature, lists)
    result.check()
    return result


def _add_var_len(result: Asked, key: Any, feature: VarLenFeature, lists: bool) -> None:
    result.add_sparse(key, as_dtype(feature.dtype))


def _add_ragged(result: Asked, key: Any, feature: RaggedFeature, lists: bool) -> None:
    splits = feature.row_splits_dtype
    own = key if feature.value_key is None else feature.value_key
    result.add_ragged(own, feature.dtype, splits)
    for partition in feature.partitions:
        if not isinstance(partition, UniformRowLength):
            result.add_ragged(partition.key, dtypes.int64, splits)


def _add_sparse(result: Asked, key: Any, feature: SparseFeature, lists: bool) -> None:
    if not feature.index_key:
        raise ValueError(f"Missing index_key for SparseFeature {feature}.")
    if not feature.value_key:
        raise ValueError(f"Missing value_key for SparseFeature {feature}.")
    indices = feature.index_key
    for each in [indices] if isinstance(indices, (str, bytes)) else sorted(indices):
        result.add_sparse(each, dtypes.int64)
    result.add_sparse(feature.value_key, as_dtype(feature.dtype))


def _add_fixed(result: Asked, key: Any, feature: FixedLenFeature, lists: bool) -> None:
    dtype = as_dtype(feature.dtype)
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
    dims = as_shape(feature.shape).dims_tuple
    if dims and dims[0] is None:
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. Consider using "
            f"FixedLenSequenceFeature. Received feature={feature}."
        )
    if dims is None or None in dims:
        raise ValueError(
            f"All dimensions of shape for feature {key} need to be known but received "
            f"{feature.shape}."
        )
    if feature.default_value is None:
        default: Any = convert_to_tensor(np.zeros(0, dtype.numpy_dtype), dtype)
    else:
        default = reshape(convert_to_tensor(feature.default_value, dtype), list(dims))
    result.dense[key] = dtype, dims, default


def _add_rows(result: Asked, key: Any, feature: FixedLenSequenceFeature, lists: bool) -> None:
    dtype = as_dtype(feature.dtype)
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
    dims = as_shape(feature.shape).dims_tuple
    if lists:
        if feature.default_value is not None:
            raise ValueError(
                f"Value feature_list.dense_defaults[{key}] must be None, got "
                f"{feature.default_value!r}. Feature lists are padded with zeros."
            )
        result.dense[key] = dtype, dims, None
        result.may_miss[key] = bool(feature.allow_missing)
        return
    if not feature.allow_missing:
        raise ValueError(
            "Unsupported: FixedLenSequenceFeature requires allow_missing to be True. Received "
            f"{feature} for feature {key}."
        )
    if feature.default_value is None:
        default = convert_to_tensor(b"" if dtype is dtypes.string else 0, dtype)
    else:
        default = reshape(convert_to_tensor(feature.default_value, dtype), [])
    result.dense[key] = dtype, None if dims is None else (None, *dims), default


_ADD: dict[type, Callable[[Asked, Any, Any, bool], None]] = {
    VarLenFeature: _add_var_len,
    FixedLenFeature: _add_fixed,
    FixedLenSequenceFeature: _add_rows,
    SparseFeature: _add_sparse,
    RaggedFeature: _add_ragged,
}
