"""Lookup tables as objects: filled once, or changed at any time.

A table made in a function is made once, outside of it; its operations in the function use it. In a
graph a static table is filled by `tf.compat.v1.tables_initializer()`. Tables that change are saved
in checkpoints, and all tables in SavedModels.
"""

import contextlib
import uuid
from typing import Any

from penstock.core.composite import SparseTensor
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.behavior import colocate_with, init_scope
from penstock.ops.composing import scope
from penstock.ops.lifting import lifted
from penstock.ops.lookup_initializers import TableInitializerBase
from penstock.ops.lookup_ops import (
    DENSE,
    EXPORT,
    FIND,
    IMPORT,
    INSERT,
    MUTABLE,
    REMOVE,
    SIZE,
    STATIC,
    VECTORS,
)
from penstock.ops.ragged_tensor import RaggedTensor
from penstock.ops.trackable_resource import TrackableResource
from penstock.types.dtypes import DType, as_dtype
from penstock.types.tensor_shape import TensorShape

SAVEABLES = "saveable_objects"  # the collection of what a Saver saves beside variables
_ANONYMOUS = "Anonymous"
_NAMELESS = ("container", "shared_name", "use_node_name_sharing")


class LookupInterface(TrackableResource):
    """The base class of tables.

    Args:
      key_dtype: the dtype of keys.
      value_dtype: the dtype of values.
    """

    _is_anonymous = False
    _saved_name = ""

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        super().__init__()
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

    @property
    def name(self) -> Any:
        """The name of the table."""
        raise NotImplementedError

    def _shared_name(self, kind: str) -> str:
        """The name by which the parts of a graph, and of a SavedModel, find the same table.

        Eagerly and in graphs the operation names it. The function that makes the table in a
        SavedModel may be called by any program, beside any others: its name is like no other.
        """
        if state.graph is None or not state.graph.building_function:
            return ""
        self._saved_name = self._saved_name or f"{kind}_{uuid.uuid4().hex}"
        return self._saved_name

    def _make(self, op: Any, inputs: Any, attrs: dict[str, Any], name: str) -> Any:
        """A table's handle, by the operation in the form that the table has."""
        if self._is_anonymous:
            plain = {k: v for k, v in attrs.items() if k not in _NAMELESS}
            kind = f"{_ANONYMOUS}{op.name.removesuffix('V2')}"
            return execute(kind, inputs, plain, name)
        return execute(op, inputs, attrs, name)

    def _check_keys(self, keys: Any) -> None:
        if keys.dtype.base_dtype is not self._key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self._key_dtype.name}, received:"
                f" {keys.dtype.name}. Cast the keys."
            )

    def size(self, name: str | None = None) -> Any:
        """The number of keys, int64[]."""
        with scope(name, f"{self.name}_Size"):
            return execute(SIZE, (self.resource_handle,))

    lookup: Any  # any: a method, whose arguments differ between tables

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)


def _given_name(handle: Any, name: str) -> str:
    """The name that a table's operation got in a graph; `name` eagerly."""
    return handle.op.name.rpartition("/")[2] if isinstance(handle, SymbolicTensor) else name


def _beside(handle: Any) -> contextlib.AbstractContextManager[None]:
    """A scope of operations on a table's device; nothing where its handle is captured."""
    own = isinstance(handle, SymbolicTensor) and handle.graph is state.graph
    return colocate_with(handle) if own else contextlib.nullcontext()


def _as_keys(keys: Any) -> Any:
    """Keys as a tensor, or as the sparse or ragged tensor that they are."""
    return keys if isinstance(keys, (SparseTensor, RaggedTensor)) else convert_to_tensor(keys)


def _values_of(keys: Any) -> Any:
    """The tensor of all keys."""
    if isinstance(keys, SparseTensor):
        return keys.values
    return keys.flat_values if isinstance(keys, RaggedTensor) else keys


def _like(keys: Any, values: Any) -> Any:
    """Values in the form that their keys have."""
    if isinstance(keys, SparseTensor):
        return SparseTensor(keys.indices, values, keys.dense_shape)
    return keys.with_flat_values(values) if isinstance(keys, RaggedTensor) else values


# ---- filled once --------------------------------------------------------------------------------


class StaticHashTable(LookupInterface):
    """A table that is filled once, when it is made.

    Args:
      initializer: what fills it: a `KeyValueTensorInitializer` or `TextFileInitializer`.
      default_value: the value for keys that are not there, a scalar.
      name: a name for the table.
      experimental_is_anonymous: whether it lives as long as the object alone.

    Example:
      >>> init = tf.lookup.KeyValueTensorInitializer(["emerson", "lake"], [1, 2])
      >>> table = tf.lookup.StaticHashTable(init, default_value=-1)
      >>> table.lookup(tf.constant(["lake", "palmer"])).numpy().tolist()
      [2, -1]
    """

    def __init__(
        self,
        initializer: TableInitializerBase,
        default_value: Any,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._is_anonymous = experimental_is_anonymous
        self._initializer = self._track_trackable(initializer, "_initializer")
        self._name = name or "hash_table"
        self._init_op: Any = None
        with init_scope():
            default_value = lifted(
                default_value, f"{type(self).__name__}: expected a default value"
            )
            self._default_value = convert_to_tensor(default_value, self._value_dtype)
            self._default_value.shape.assert_is_compatible_with(TensorShape([]))
            self._resource_handle = self._create_resource()
            self._name = _given_name(self._resource_handle, self._name)
            self._init_op = self._initialize()

    def _create_resource(self) -> Any:
        shared = "" if state.graph is None else self._initializer._shared_name
        attrs = {
            "shared_name": shared or self._shared_name("hash_table"),
            "use_node_name_sharing": True,
            "key_dtype": self._key_dtype,
            "value_dtype": self._value_dtype,
        }
        return self._make(STATIC, (), attrs, self._name)

    def _initialize(self) -> Any:
        return self._initializer.initialize(self)

    @property
    def default_value(self) -> Any:
        """The value for keys that are not there."""
        return self._default_value

    @property
    def name(self) -> str:
        """The name of the table."""
        return self._name

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys.

        Args:
          keys: a tensor, SparseTensor or RaggedTensor of the table's key dtype.
          name: the name in a graph.

        Returns:
          The values, in the form of `keys`.

        Raises:
          TypeError: `keys` is of another dtype.
          FailedPreconditionError: the table was not filled (in a graph).
        """
        keys = _as_keys(keys)
        self._check_keys(keys)
        flat = _values_of(keys)
        with scope(name, f"{self.name}_Lookup"):
            found = execute(FIND, (self.resource_handle, flat, self._default_value))
        found.set_shape(flat.shape)
        return _like(keys, found)

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """All keys and all values, in no order."""
        with scope(name, f"{self.name}_Export"):
            return _exported(self, ())


def _exported(table: LookupInterface, each: Any) -> tuple[Any, Any]:
    """All keys, and values of shape `each`."""
    attrs = {"Tkeys": table.key_dtype, "Tvalues": table.value_dtype}
    keys, values = execute(EXPORT, (table.resource_handle,), attrs)
    values.set_shape(TensorShape([None]).concatenate(each))
    return keys, values


class StaticHashTableV1(StaticHashTable):
    """A table that is filled once; see `tf.lookup.StaticHashTable`.

    Args:
      initializer: what fills it.
      default_value: the value for keys that are not there, a scalar.
      name: a name for the table.
      experimental_is_anonymous: whether it lives as long as the object alone.
    """

    @property
    def initializer(self) -> Any:
        """The operation that fills the table, in a graph."""
        return self._init_op


# ---- changed at any time ------------------------------------------------------------------------


class MutableHashTable(LookupInterface):
    """A table that changes.

    Args:
      key_dtype: the dtype of keys: strings, integers or bool.
      value_dtype: the dtype of values.
      default_value: the value for keys that are not there: a scalar or vector, as all values are.
      name: a name for the table.
      checkpoint: whether checkpoints save its content.
      experimental_is_anonymous: whether it lives as long as the object alone.

    Example:
      >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=-1)
      >>> table.insert(["a"], [5])
      >>> table.lookup(["a", "b"]).numpy().tolist()
      [5, -1]
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        self._is_anonymous = experimental_is_anonymous
        self._checkpoint = checkpoint
        self._saved: Any = None  # what a Saver of the table's graph writes
        self._name = name
        with init_scope():
            default_value = lifted(
                default_value, f"{type(self).__name__}: expected a default value"
            )
            self._default_value = convert_to_tensor(default_value, self._value_dtype)
            self._value_shape = self._default_value.shape
            self._resource_handle = self._create_resource()
            self._name = _given_name(self._resource_handle, self._name)
            if checkpoint and state.graph is not None and not state.graph.building_function:
                self._saved = self.export()
                state.graph.add_to_collection(SAVEABLES, self)  # what a Saver saves by default

    def _attrs(self) -> dict[str, Any]:
        return {
            "shared_name": self._shared_name("table"),
            "use_node_name_sharing": True,
            "key_dtype": self._key_dtype,
            "value_dtype": self._value_dtype,
        }

    def _create_resource(self) -> Any:
        attrs = self._attrs()
        if self._value_shape.rank == 0:
            return self._make(MUTABLE, (), attrs, self._name)
        return self._make(VECTORS, (), {**attrs, "value_shape": self._value_shape}, self._name)

    @property
    def name(self) -> str:
        """The name of the table."""
        return self._name

    @property
    def _exported_values(self) -> Any:
        """The shape of one value as `export` gives it."""
        return self._value_shape

    _key_rank = 0
    _grouped_tensors = "table"

    def _converted(self, keys: Any) -> Any:
        if isinstance(keys, (SparseTensor, RaggedTensor)):
            return keys
        return convert_to_tensor(keys, self._key_dtype, name="keys")

    def lookup(self, keys: Any, dynamic_default_values: Any = None, name: str | None = None) -> Any:
        """The values of keys.

        Args:
          keys: a tensor, SparseTensor or RaggedTensor of the table's key dtype.
          dynamic_default_values: a value for each key that is not there, or one for all; the
            table's default by default.
          name: the name in a graph.

        Returns:
          The values, in the form of `keys`.

        Raises:
          TypeError, ValueError: `keys` is of another dtype.
          InvalidArgumentError: the default values have another shape.
        """
        default = self._default_value if dynamic_default_values is None else dynamic_default_values
        with scope(name, f"{self.name}_lookup_table_find"):
            keys = self._converted(keys)
            self._check_keys(keys)
            default = convert_to_tensor(default, self._value_dtype)
            flat = _values_of(keys)
            found = execute(FIND, (self.resource_handle, flat, default))
        shape = flat.shape
        if self._key_rank and shape.rank is not None:
            shape = shape[: shape.rank - self._key_rank]
        found.set_shape(shape.concatenate(self._value_shape))
        return _like(keys, found)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """Sets the values of keys.

        Args:
          keys: of the table's key dtype.
          values: one for each key.
          name: the name in a graph.

        Returns:
          The operation in a graph, None eagerly.

        Raises:
          InvalidArgumentError: the shapes do not fit.
        """
        with scope(name, f"{self.name}_lookup_table_insert"):
            keys = convert_to_tensor(keys, self._key_dtype, name="keys")
            values = convert_to_tensor(values, self._value_dtype, name="values")
            return execute(INSERT, (self.resource_handle, keys, values))

    def remove(self, keys: Any, name: str | None = None) -> Any:
        """Drops keys; those that are not there are ignored.

        Args:
          keys: of the table's key dtype.
          name: the name in a graph.

        Returns:
          The operation in a graph, None eagerly.

        Raises:
          TypeError: `keys` is of another dtype.
        """
        keys = _as_keys(keys)
        self._check_keys(keys)
        with scope(name, f"{self.name}_lookup_table_remove"):
            return execute(REMOVE, (self.resource_handle, keys))

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """All keys and all values, in no order."""
        with (
            scope(name, f"{self.name}_lookup_table_export_values"),
            _beside(self.resource_handle),
        ):
            return _exported(self, self._exported_values)

    def _serialize_to_tensors(self) -> dict[str, Any]:
        if not self._checkpoint:
            return {}
        made = self._saved
        keys, values = made if made and made[0].graph is state.graph else self.export()
        return {"table-keys": keys, "table-values": values}

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> Any:
        if not self._checkpoint:
            return None
        pair = (restored_tensors["table-keys"], restored_tensors["table-values"])
        with scope(None, f"{self.name}_table_restore"), _beside(self.resource_handle):
            return execute(IMPORT, (self.resource_handle, *pair))


class DenseHashTable(MutableHashTable):
    """A table that changes, with two keys that it does not take.

    Args:
      key_dtype: the dtype of keys: strings, integers or bool.
      value_dtype: the dtype of values.
      default_value: the value for keys that are not there: a scalar or vector, as all values are.
      empty_key: a key that never comes; a scalar or vector, as all keys are.
      deleted_key: another key that never comes.
      initial_num_buckets: room at the start, a power of 2 from 4.
      name: a name for the table.
      checkpoint: whether checkpoints save its content.
      experimental_is_anonymous: whether it lives as long as the object alone.

    Raises:
      InvalidArgumentError: the two keys are equal.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        with init_scope():
            default_value, empty_key, deleted_key = (
                lifted(v, "DenseHashTable: expected a default value or special key")
                for v in (default_value, empty_key, deleted_key)
            )
            default_value = convert_to_tensor(
                default_value, as_dtype(value_dtype), name="default_value"
            )
            kind = as_dtype(key_dtype)
            self._empty_key = convert_to_tensor(empty_key, kind, name="empty_key")
            self._deleted_key = convert_to_tensor(deleted_key, kind, name="deleted_key")
        self._key_rank = self._empty_key.shape.rank or 0
        self._initial_num_buckets = initial_num_buckets
        super().__init__(
            key_dtype, value_dtype, default_value, name, checkpoint, experimental_is_anonymous
        )

    def _create_resource(self) -> Any:
        attrs = {**self._attrs(), "value_shape": self._value_shape}
        if self._initial_num_buckets is not None:
            attrs["initial_num_buckets"] = self._initial_num_buckets
        return self._make(DENSE, (self._empty_key, self._deleted_key), attrs, self._name)

    @property
    def _exported_values(self) -> Any:
        return self._value_shape if self._value_shape.rank else TensorShape([1])

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """All buckets, in their order: keys, `empty_key` where there is none, and values.

        Both have rank 2 at least. Where a key was removed, `deleted_key` stands with its value.
        """
        return super().export(name)

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """Sets the values of keys; see `insert`."""
        return self.insert(keys, values, name)

    def erase(self, keys: Any, name: str | None = None) -> Any:
        """Drops keys; see `remove`."""
        return self.remove(keys, name)
