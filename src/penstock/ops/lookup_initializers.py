"""What fills a lookup table: tensors of keys and values, or a text file."""

from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.trackable import Trackable
from penstock.graph.behavior import add_to_collection, init_scope
from penstock.ops.composing import scope
from penstock.ops.lifting import lifted
from penstock.ops.lookup_files import LINE_NUMBER as _LINE_NUMBER
from penstock.ops.lookup_files import WHOLE_LINE as _WHOLE_LINE
from penstock.ops.lookup_ops import IMPORT, INITIALIZE_FROM_FILE
from penstock.ops.trackable_resource import Asset
from penstock.ops.variables_v1 import GraphKeys
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType, as_dtype

TABLE_INITIALIZERS = "table_initializer"  # the collection that tables_initializer() runs


class TableInitializerBase(Trackable):
    """The base class of what fills a table.

    Args:
      key_dtype: the dtype of keys.
      value_dtype: the dtype of values.
    """

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype = as_dtype(key_dtype)
        self._value_dtype = as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The dtype of keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of values."""
        return self._value_dtype

    def initialize(self, table: Any) -> Any:
        """Fills a table; in a graph returns the operation that does so."""
        raise NotImplementedError(f"{type(self).__name__} fills no table")

    @property
    def _shared_name(self) -> str:
        """What tables of the same content have in common, empty for none."""
        return ""

    def _check_table(self, table: Any) -> None:
        found = table.key_dtype, table.value_dtype
        if found != (self.key_dtype, self.value_dtype):
            raise TypeError(
                f"Invalid dtypes of the table: expected {self.key_dtype.name} and"
                f" {self.value_dtype.name} as the initializer has, got {found[0].name} and"
                f" {found[1].name}."
            )


def _in_plain_graph() -> bool:
    """Whether operations go into a graph that a session runs."""
    return state.graph is not None and not state.graph.building_function


def registered(operation: Any) -> Any:
    """An operation that fills a table, in the graph's collection of such."""
    if _in_plain_graph():
        add_to_collection(TABLE_INITIALIZERS, operation)
    return operation


class KeyValueTensorInitializer(TableInitializerBase):
    """Fills a table from tensors.

    Args:
      keys: K[N].
      values: V[N].
      key_dtype: the dtype of keys; that of `keys` by default.
      value_dtype: the dtype of values; that of `values` by default.
      name: a name for the operation.

    Example:
      >>> init = tf.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1])
      >>> int(tf.lookup.StaticHashTable(init, default_value=-1).lookup(tf.constant("b")))
      1
    """

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self._name = name or "key_value_init"
        if not _in_plain_graph():
            with init_scope():
                keys = lifted(keys, "KeyValueTensorInitializer: expected a tensor of keys")
                values = lifted(values, "KeyValueTensorInitializer: expected a tensor of values")
                self._convert(keys, values, key_dtype, value_dtype)
        else:
            self._convert(keys, values, key_dtype, value_dtype)
        super().__init__(self._keys.dtype, self._values.dtype)

    def _convert(self, keys: Any, values: Any, key_dtype: Any, value_dtype: Any) -> None:
        self._keys = convert_to_tensor(keys, key_dtype, name="keys")
        self._values = convert_to_tensor(values, value_dtype, name="values")

    def initialize(self, table: Any) -> Any:
        """Fills a table; in a graph returns the operation that does so."""
        self._check_table(table)
        inputs = (table.resource_handle, self._keys, self._values)
        with scope(self._name, self._name):
            return registered(execute(IMPORT, inputs))


class TextFileIndex:
    """Which part of a line is a key or value: a column from 0, or one of these."""

    WHOLE_LINE = _WHOLE_LINE
    LINE_NUMBER = _LINE_NUMBER


class TextFileInitializer(TableInitializerBase):
    r"""Fills a table from a text file, one entry a line.

    Args:
      filename: text, or a scalar string tensor.
      key_dtype: string or an integer dtype for whole lines, int64 for line numbers, else what the
        column holds.
      key_index: a column from 0, or of `TextFileIndex`.
      value_dtype: as `key_dtype`.
      value_index: as `key_index`.
      vocab_size: how many lines to read; all by default.
      delimiter: one character between columns.
      name: a name for the operation.
      value_index_offset: added to line numbers that are values.

    Raises:
      ValueError: the file's name is empty, or an index and a dtype do not go together.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        if isinstance(filename, (str, bytes)) and not filename:
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer.")
        super().__init__(key_dtype, value_dtype)
        _check_index("key", key_index, self.key_dtype)
        _check_index("value", value_index, self.value_dtype)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` should be > 0, received: {vocab_size}.")
        self._path = filename if isinstance(filename, str) else ""
        with init_scope():
            filename = lifted(filename, "TextFileInitializer: expected a file name")
        self._filename = filename
        if not isinstance(filename, SymbolicTensor):
            self._filename = self._track_trackable(Asset(filename), "_filename")
        self._name = name or "text_file_init"
        self._attrs = {
            "key_index": int(key_index),
            "value_index": int(value_index),
            "vocab_size": -1 if vocab_size is None else vocab_size,
            "delimiter": delimiter,
            "offset": value_index_offset,
        }

    @property
    def _shared_name(self) -> str:
        if not self._path:
            return ""
        parts = [self._path, *self._attrs.values(), self.key_dtype.name, self.value_dtype.name]
        return "_".join(["hash_table", *map(str, parts)])

    def initialize(self, table: Any) -> Any:
        """Fills a table; in a graph returns the operation that does so."""
        self._check_table(table)
        with scope(self._name, self._name):
            filename = convert_to_tensor(self._filename, dt.string, name="asset_filepath")
            if _in_plain_graph() and isinstance(self._filename, Asset):
                add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
            inputs = (table.resource_handle, filename)
            return registered(execute(INITIALIZE_FROM_FILE, inputs, self._attrs))


def _check_index(what: str, index: int, dtype: DType) -> None:
    if index < _WHOLE_LINE:
        raise ValueError(f"`{what}_index` should be >= {_WHOLE_LINE}, received: {index}.")
    fits = {
        _LINE_NUMBER: dtype is dt.int64,
        _WHOLE_LINE: dtype is dt.string or dtype.is_integer,
    }
    if not fits.get(index, True):
        wanted = "int64" if index == _LINE_NUMBER else "string or an integer dtype"
        raise ValueError(
            f"`{what}_dtype` must be {wanted} if `{what}_index` is {index}, received: {dtype.name}."
        )
