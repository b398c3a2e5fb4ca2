"""Lookup tables: what a table's handle refers to.

A `LookupTable` maps keys to values in a dictionary. A `StaticTable` is filled once; a
`MutableTable` at any time; a `DenseTable` has two keys that it does not take and may have vectors
for keys. All are thread-safe.
"""

import threading
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from penstock import errors
from penstock.ops.lookup_buckets import Buckets
from penstock.ops.lookup_index import FEW, Index, index_of
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
Key = Any  # bytes, an integer, or a tuple of these
_CHANGES = 100_000  # what a dense table notes before it looks for buckets


def invalid(text: str) -> errors.InvalidArgumentError:
    """The error for inputs that do not fit."""
    return errors.InvalidArgumentError(None, None, text)


def rows_of(array: Array, shape: tuple[int, ...]) -> list[Any]:
    """An array [..., *shape] as a list of elements, or of arrays of that shape."""
    if not shape:
        return array.reshape(-1).tolist()  # type: ignore[no-any-return]
    return list(array.reshape(-1, *shape))


class LookupTable:
    """A table, shared by name."""

    kind = "table"
    is_indexed = True  # where many keys are looked up at once

    def __init__(
        self, name: str, key_dtype: DType, value_dtype: DType, value_shape: tuple[int, ...] = ()
    ) -> None:
        self.name = name
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self.key_shape: tuple[int, ...] = ()
        self.value_shape = value_shape
        self.lock = threading.RLock()  # guards: content, _index and _asked
        self.content: dict[Key, Any] = {}
        self._index: Index | None = None  # of the content
        self._asked = 0  # keys, since the content changed
        self.destroyed = False

    @property
    def size(self) -> int:
        """The number of keys."""
        return len(self.content)

    def clear(self) -> None:
        """Drops everything; the table is of no use afterwards."""
        with self.lock:
            self._change()
            self.content, self.destroyed = {}, True

    def _change(self) -> None:
        """The content is about to change; the lock is held."""
        self._index, self._asked = None, 0

    def find(self, keys: Array, default: Array) -> Array:
        """The values of keys, `default` (one, or one for each) where there are none."""
        if self.is_indexed and keys.size > FEW and default.shape == self.value_shape:
            found = self._found_at_once(keys, default)
            if found is not None:
                return found
        shape = keys.shape[: keys.ndim - len(self.key_shape)]
        wanted = self.keys_of(keys)
        if default.shape == self.value_shape:
            values = self._found(wanted, default)
        elif default.shape == (*shape, *self.value_shape):
            each = rows_of(default, self.value_shape)
            with self.lock:
                get = self.content.get
                values = [get(k, v) for k, v in zip(wanted, each, strict=True)]
        else:
            raise self.unfit(shape, default)
        return self._stacked(values, shape)

    def unfit(self, shape: tuple[int, ...], default: Array) -> errors.OpError:
        """The error for a default value that is neither one nor one for each key."""
        return invalid(
            f"Expected shape {d.text(self.value_shape)} or"
            f" {d.text((*shape, *self.value_shape))} for default value, got"
            f" {d.text(default.shape)}."
        )

    def _found_at_once(self, keys: Array, default: Array) -> Array | None:
        """`find` by an index, which is made when as many keys were asked for as there are."""
        with self.lock:
            self._asked += keys.size
            if self._index is None and self._asked >= len(self.content) > 0:
                self._index = index_of(self.content, self.key_dtype, self._stacked)
            index = self._index
        return None if index is None else index.find(keys, default)

    def _found(self, keys: list[Key], default: Array) -> list[Any]:
        one = default if self.value_shape else default.item()
        with self.lock:
            get = self.content.get
            return [get(k, one) for k in keys]

    def _stacked(self, values: list[Any], shape: tuple[int, ...]) -> Array:
        return np.array(values, self.value_dtype.numpy_dtype).reshape((*shape, *self.value_shape))

    def keys_of(self, keys: Array) -> list[Key]:
        """Keys as the dictionary has them."""
        return keys.reshape(-1).tolist()  # type: ignore[no-any-return]

    def insert(self, keys: Array, values: Array) -> None:
        """Sets the values of keys."""
        rows = self.rows(keys, values)
        with self.lock:
            self._change()
            self.content.update(zip(self.keys_of(keys), rows, strict=True))

    def rows(self, keys: Array, values: Array) -> list[Any]:
        """The value for each key.

        Raises:
          InvalidArgumentError: the shapes do not fit.
        """
        self.check_values(keys, values)
        return rows_of(values.copy() if self.value_shape else values, self.value_shape)

    def check_values(self, keys: Array, values: Array) -> None:
        """Refuses other than a value for each key."""
        shape = keys.shape[: keys.ndim - len(self.key_shape)]
        if values.shape != (*shape, *self.value_shape):
            raise invalid(
                f"Expected shape {d.text((*shape, *self.value_shape))} for value, got"
                f" {d.text(values.shape)}. Give one value for each key."
            )

    def remove(self, keys: Array) -> None:
        """Drops keys; those that are not there are ignored."""
        wanted = self.keys_of(keys)
        with self.lock:
            self._change()
            for key in wanted:
                self.content.pop(key, None)

    def replace(self, keys: Array, values: Array) -> None:
        """Makes these the table's only content."""
        rows = self.rows(keys, values)
        with self.lock:
            self._change()
            self.content = dict(zip(self.keys_of(keys), rows, strict=True))

    def export(self) -> tuple[Array, Array]:
        """All keys and values."""
        with self.lock:
            items = list(self.content.items())
        keys = np.array([k for k, _ in items], self.key_dtype.numpy_dtype)
        values = self._stacked([v for _, v in items], (len(items),))
        return keys.reshape((len(items), *self.key_shape)), values

    def initialize(self, keys: Array, values: Array) -> None:
        """Fills the table, if it is one that is filled once."""
        self._not_initializable()

    def _not_initializable(self) -> NoReturn:
        raise invalid(
            f"Table {self.name} is not initializable: expected a HashTable, got a"
            f" {self.kind}. Use LookupTableInsertV2 or LookupTableImportV2."
        )


class MutableTable(LookupTable):
    """A table that changes."""

    kind = "MutableHashTable"


class StaticTable(LookupTable):
    """A table that is filled once; what fills it again is ignored."""

    kind = "HashTable"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.initialized = False

    def initialize(self, keys: Array, values: Array) -> None:
        """Fills the table.

        Raises:
          FailedPreconditionError: a key comes twice, with different values.
        """
        rows = self.rows(keys, values)
        with self.lock:
            if self.initialized:
                return
            made: dict[Key, Any] = {}
            for key, value in zip(self.keys_of(keys), rows, strict=True):
                if key in made and made[key] != value:
                    raise errors.FailedPreconditionError(
                        None,
                        None,
                        "HashTable has different value for same key. Key"
                        f" {key!r} has {made[key]!r} and trying to add value {value!r}. Give each"
                        " key once.",
                    )
                made[key] = value
            self._change()
            self.content, self.initialized = made, True

    def replace(self, keys: Array, values: Array) -> None:
        """Fills the table."""
        self.initialize(keys, values)

    def find(self, keys: Array, default: Array) -> Array:
        """The values of keys.

        Raises:
          FailedPreconditionError: the table was not filled.
        """
        if not self.initialized:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"Table not initialized: {self.name} has no content yet. Run its initializer, or"
                " tf.compat.v1.tables_initializer().",
            )
        return super().find(keys, default)

    def export(self) -> tuple[Array, Array]:
        """All keys and values.

        Raises:
          AbortedError: the table was not filled.
        """
        if not self.initialized:
            raise errors.AbortedError(
                None, None, f"HashTable is not initialized: {self.name}. Run its initializer."
            )
        return super().export()

    def insert(self, keys: Array, values: Array) -> None:
        """Refused."""
        self._fixed("Insert")

    def remove(self, keys: Array) -> None:
        """Refused."""
        self._fixed("Remove")

    def _fixed(self, doing: str) -> NoReturn:
        raise errors.UnimplementedError(
            None,
            None,
            f"{doing} not supported by InitializableLookupTable implementations: {self.name} is"
            " filled once. Use tf.lookup.experimental.MutableHashTable.",
        )


class DenseTable(LookupTable):
    """A mutable table with two keys that stand for nothing and for what was removed.

    It is exported as TensorFlow's buckets, which programs and checkpoints see.
    """

    kind = "MutableDenseHashTable"
    is_indexed = False  # its keys are checked, and may be vectors

    def __init__(
        self,
        name: str,
        key_dtype: DType,
        value_dtype: DType,
        value_shape: tuple[int, ...],
        empty_key: Array,
        deleted_key: Array | None,
        count: int,
        load: float,
    ) -> None:
        super().__init__(name, key_dtype, value_dtype, value_shape)
        self.key_shape = empty_key.shape
        self._first_count = count
        self._buckets = Buckets(count, load)  # without what `_changes` has; self.lock guards both
        self._changes: list[Any] = []  # (new keys, keys given) or ((key, value) removed, None)
        self._noted = 0  # their size
        self.reserved = {self._one(empty_key): "empty_key"}
        if deleted_key is not None:
            if deleted_key.shape != empty_key.shape:
                raise invalid(
                    "Empty and deleted keys must have same shape, got"
                    f" {d.text(empty_key.shape)} and {d.text(deleted_key.shape)}."
                )
            if self._one(deleted_key) in self.reserved:
                raise invalid(
                    f"Empty and deleted keys cannot be equal, got {deleted_key!r} for both. Choose"
                    " two that are no keys."
                )
            self.reserved[self._one(deleted_key)] = "deleted_key"

    def _one(self, key: Array) -> Key:
        return key.item() if not key.shape else tuple(key.reshape(-1).tolist())

    def keys_of(self, keys: Array) -> list[Key]:
        """Keys as the dictionary has them.

        Raises:
          InvalidArgumentError: one of them is reserved, or has another shape.
        """
        found = self._split(keys)
        for key, what in self.reserved.items():
            if key in found:
                raise invalid(
                    f"Using the {what} as a table key is not allowed: {key!r}. Make the table with"
                    " another."
                )
        return found

    def _split(self, keys: Array) -> list[Key]:
        if not self.key_shape:
            return keys.reshape(-1).tolist()  # type: ignore[no-any-return]
        if keys.shape[-len(self.key_shape) :] != self.key_shape:
            raise invalid(
                f"Expected keys of shape [..., {d.text(self.key_shape)}], got {d.text(keys.shape)}."
            )
        flat = keys.reshape(-1, int(np.prod(self.key_shape)))
        return [tuple(row) for row in flat.tolist()]

    def insert(self, keys: Array, values: Array) -> None:
        """Sets the values of keys."""
        rows, found = self.rows(keys, values), self.keys_of(keys)
        with self.lock:
            fresh = list(dict.fromkeys(key for key in found if key not in self.content))
            self._note(len(fresh) + 1, (fresh, len(found)))
            self.content.update(zip(found, rows, strict=True))

    def remove(self, keys: Array) -> None:
        """Drops keys; those that are not there are ignored."""
        wanted = dict.fromkeys(self.keys_of(keys))
        with self.lock:
            gone = [(key, self.content.pop(key)) for key in wanted if key in self.content]
            self._note(len(gone) + 1, (gone, None))

    def _note(self, size: int, change: Any) -> None:
        """Keeps a change for when buckets are asked for: few tables are ever exported."""
        self._changes.append(change)
        self._noted += size
        if self._noted > _CHANGES + len(self.content):
            self._settle()

    def _settle(self) -> None:
        for keys, more in self._changes:
            if more is None:
                self._buckets.remove(keys)
            else:
                self._buckets.insert(keys, more)
        self._changes, self._noted = [], 0

    def replace(self, keys: Array, values: Array) -> None:
        """Makes these the table's only content: its buckets, as `export` gives them, or pairs.

        Reserved keys among them are left out.
        """
        found = self._split(keys)
        rows = rows_of(values.copy(), self.value_shape)
        if len(found) != len(rows):
            raise invalid(f"Expected {len(found)} values for as many keys, got {len(rows)}.")
        count = len(found)
        with self.lock:
            self._changes, self._noted = [], 0
            self._buckets = Buckets(self._first_count, self._buckets.load)
            pairs = zip(found, rows, strict=True)
            self.content = {k: v for k, v in pairs if k not in self.reserved}
            if (
                keys.ndim == 1 + max(1, len(self.key_shape))
                and count >= 4
                and not count & (count - 1)
            ):
                self._adopt(found, rows)
            else:
                self._buckets.insert(list(self.content), len(self.content))

    def _adopt(self, keys: list[Key], rows: list[Any]) -> None:
        """Takes over buckets in their order."""
        self._buckets.count = len(keys)
        for bucket, (key, row) in enumerate(zip(keys, rows, strict=True)):
            what = self.reserved.get(key)
            if what is None:
                self._buckets.place(bucket, key)
            elif what == "deleted_key":
                self._buckets.left[bucket] = row

    def export(self) -> tuple[Array, Array]:
        """All buckets, those without a key too: keys and values of rank 2 at least."""
        with self.lock:
            self._settle()
            count = self._buckets.count
            taken, left = dict(self._buckets.taken), dict(self._buckets.left)
            values = {at: self.content[key] for at, key in taken.items()} | left
        blank = b"" if self.value_dtype is dt.string else 0
        rows = np.full((count, *self.value_shape), blank, self.value_dtype.numpy_dtype)
        if values:
            rows[list(values)] = self._stacked(list(values.values()), (len(values),))
        size = int(np.prod(self.key_shape))
        held = np.empty((count, size), self.key_dtype.numpy_dtype)
        marks = {what: key for key, what in self.reserved.items()}
        held[:] = marks["empty_key"]
        if left:
            held[list(left)] = marks.get("deleted_key", marks["empty_key"])
        if taken:
            keys = np.array(list(taken.values()), held.dtype)
            held[list(taken)] = keys.reshape(len(taken), size)
        shape = (count, *(self.value_shape or (1,)))
        return held.reshape(count, *(self.key_shape or (1,))), rows.reshape(shape)


def check_types(name: str, key_dtype: DType, value_dtype: DType) -> None:
    """Refuses keys that are not equal to themselves, and values that are no arrays.

    Raises:
      NotFoundError: there is no table of these types.
    """
    bad_key = (
        key_dtype.is_floating or key_dtype.is_complex or key_dtype in (dt.resource, dt.variant)
    )
    if bad_key or value_dtype in (dt.resource, dt.variant):
        raise errors.NotFoundError(
            None,
            None,
            f"{name}: could not find a kernel for keys of {key_dtype.name} and values of"
            f" {value_dtype.name}. Expected strings, integers or bool as keys and numbers or"
            " strings as values.",
        )


def full_shape(dims: Dims, what: str) -> tuple[int, ...]:
    """A shape whose sizes are all known.

    Raises:
      InvalidArgumentError: one is not.
    """
    if dims is None or None in dims:
        raise invalid(f"expected {what} of known shape, got {d.text(dims)}.")
    return tuple(n for n in dims if n is not None)


def same_types(table: LookupTable, key_dtype: DType, value_dtype: DType | None) -> bool:
    """Whether these are the table's dtypes."""
    return table.key_dtype is key_dtype and value_dtype in (None, table.value_dtype)


def describe(types: Sequence[DType]) -> str:
    """Dtypes for a message."""
    return "->".join(t.name for t in types)
