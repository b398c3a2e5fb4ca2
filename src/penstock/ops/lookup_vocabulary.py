"""Vocabularies: a table of ids, with buckets for words that it does not hold."""

from typing import Any

from penstock.core.composite import SparseTensor
from penstock.core.convert import convert_to_tensor
from penstock.ops.array_select import where
from penstock.ops.composing import scope
from penstock.ops.lookup_initializers import TableInitializerBase
from penstock.ops.lookup_tables import LookupInterface, StaticHashTable, StaticHashTableV1
from penstock.ops.math_arithmetic import add
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import not_equal
from penstock.ops.ragged_tensor import RaggedTensor
from penstock.ops.string_numbers import as_string
from penstock.ops.string_to_hash import to_hash_bucket_fast
from penstock.types import dtypes as dt
from penstock.types.dtypes import as_dtype

_UNKNOWN = -1


class StaticVocabularyTable(LookupInterface):
    """Ids of words; a word that the vocabulary does not hold gets the id of a bucket by its hash.

    Args:
      initializer: what fills the vocabulary, with int64 values; None for buckets alone.
      num_oov_buckets: how many buckets there are, at least 1.
      lookup_key_dtype: the dtype of keys that are looked up; the vocabulary's by default. Integers
        of any kind go with a vocabulary of int64.
      name: a name for the table.
      experimental_is_anonymous: whether it lives as long as the object alone.

    Raises:
      ValueError: no buckets.
      TypeError: keys or values of other dtypes.

    Example:
      >>> ids = tf.constant([0, 1], tf.int64)
      >>> init = tf.lookup.KeyValueTensorInitializer(["a", "b"], ids)
      >>> table = tf.lookup.StaticVocabularyTable(init, num_oov_buckets=3)
      >>> table.lookup(tf.constant(["b", "f"])).numpy().tolist()
      [1, 2]
    """

    _table_class = StaticHashTable

    def __init__(
        self,
        initializer: TableInitializerBase | None,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError(
                f"`num_oov_buckets` must be > 0; use StaticHashTable. Got {num_oov_buckets}."
            )
        self._num_oov_buckets = num_oov_buckets
        self._table: Any = None
        self._name = name
        key_dtype = dt.string
        if initializer is not None:
            _check_types(initializer)
            key_dtype = initializer.key_dtype
            wanted = key_dtype if lookup_key_dtype is None else as_dtype(lookup_key_dtype)
            if wanted.is_integer != key_dtype.is_integer:
                kind = "integer" if wanted.is_integer else wanted.name
                raise TypeError(
                    f"Invalid `key_dtype`, expected {kind} but got {key_dtype.name}. Give a"
                    " lookup_key_dtype that goes with the vocabulary."
                )
            key_dtype = wanted
            self._table = self._table_class(initializer, _UNKNOWN, None, experimental_is_anonymous)
            if name is None:
                self._name = self._table.name
            self._track_trackable(initializer, "_initializer")
        super().__init__(key_dtype, dt.int64)

    @property
    def name(self) -> Any:
        """The name of the table."""
        return self._name or "hash_bucket"

    @property
    def resource_handle(self) -> Any:
        """The vocabulary's resource, None without one."""
        return None if self._table is None else self._table.resource_handle

    def _create_resource(self) -> Any:
        return None if self._table is None else self._table._create_resource()

    def _initialize(self) -> Any:
        return None if self._table is None else self._table._initialize()

    def size(self, name: str | None = None) -> Any:
        """The number of words and buckets, int64[]."""
        with scope(name, f"{self.name}_Size"):
            words = convert_to_tensor(0, dt.int64) if self._table is None else self._table.size()
            return add(words, self._num_oov_buckets, "add")

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The ids of words.

        Args:
          keys: a tensor, SparseTensor or RaggedTensor of the table's key dtype.
          name: the name in a graph.

        Returns:
          int64, in the form of `keys`.

        Raises:
          TypeError: `keys` is of another dtype.
        """
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, self.lookup(keys.values, name), keys.dense_shape)
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self.lookup(keys.flat_values, name))
        keys = convert_to_tensor(keys)
        self._check_keys(keys)
        if self._table is not None and self._table.key_dtype is dt.int64:
            keys = cast(keys, dt.int64)
        with scope(name, f"{self.name}_Lookup"):
            text = keys if keys.dtype is dt.string else as_string(keys)
            buckets = to_hash_bucket_fast(text, self._num_oov_buckets, "hash_bucket")
            if self._table is None:
                return buckets
            ids = self._table.lookup(keys)
            buckets = add(buckets, self._table.size())
            return where(not_equal(ids, self._table.default_value), ids, buckets)


def _check_types(initializer: TableInitializerBase) -> None:
    if initializer.value_dtype is not dt.int64:
        raise TypeError(
            f"Invalid `value_dtype`, expected int64 but got {initializer.value_dtype.name}. Ids"
            " are int64."
        )
    if initializer.key_dtype not in (dt.int64, dt.string):
        raise TypeError(
            "Invalid `key_dtype`, expected one of (tf.int64, tf.string), but got"
            f" {initializer.key_dtype.name}."
        )


class StaticVocabularyTableV1(StaticVocabularyTable):
    """Ids of words; see `tf.lookup.StaticVocabularyTable`.

    Args:
      initializer: what fills the vocabulary, with int64 values; None for buckets alone.
      num_oov_buckets: how many buckets there are, at least 1.
      lookup_key_dtype: the dtype of keys that are looked up.
      name: a name for the table.
      experimental_is_anonymous: whether it lives as long as the object alone.
    """

    _table_class = StaticHashTableV1

    @property
    def initializer(self) -> Any:
        """The operation that fills the vocabulary, in a graph; None without a vocabulary."""
        return None if self._table is None else self._table.initializer
