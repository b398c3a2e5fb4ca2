"""Mutable tables whose keys are whole numbers, kept in arrays by the native library.

Keys stand in the order in which they came; a value has its key's place. The library's index finds
places. Keys that are removed leave its index and keep their places until there are too many.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_arrays
from penstock.core.native_library import processors
from penstock.ops.lookup_state import LookupTable, MutableTable
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
_FIRST = 64  # keys that there is room for at first
_ALONE = 1 << 14  # keys that one thread finds
_MOST = 1 << 30  # keys whose places an index holds


class NumberTable(LookupTable):
    """A `MutableTable` whose keys are integers or bool. Thread-safe."""

    kind = MutableTable.kind

    def __init__(
        self, name: str, key_dtype: DType, value_dtype: DType, value_shape: tuple[int, ...] = ()
    ) -> None:
        super().__init__(name, key_dtype, value_dtype, value_shape)
        self._enter, self._leave, self._places = map(_function, ("enter", "leave", "places"))
        self._forget()  # self.lock guards all that it sets

    def _forget(self) -> None:
        self._count = 0  # places that are taken
        self._gone = 0  # of these by keys that were removed
        self._keys = np.empty(_FIRST, np.int64)
        self._here = np.empty(_FIRST, bool)  # whether a place's key was not removed
        self._values = self._room(_FIRST)
        self._slots = np.full(4 * _FIRST, -1, np.int32)

    def _room(self, count: int) -> Array:
        return np.empty((count, *self.value_shape), self.value_dtype.numpy_dtype)

    @property
    def size(self) -> int:
        """The number of keys."""
        return self._count - self._gone

    def clear(self) -> None:
        """Drops everything; the table is of no use afterwards."""
        with self.lock:
            self._forget()
            self.destroyed = True

    def find(self, keys: Array, default: Array) -> Array:
        """The values of keys, `default` (one, or one for each) where there are none."""
        shape = (*keys.shape, *self.value_shape)
        wanted = _numbers(keys)
        places = np.empty(wanted.size, np.int64)
        threads = processors() if wanted.size > _ALONE else 1
        if default.shape not in (self.value_shape, shape):
            raise self.unfit(keys.shape, default)
        with self.lock:
            given = self._keys, self._slots, len(self._slots), wanted, wanted.size, threads
            self._places(*given, places)
            found = self._values.take(places, axis=0, mode="clip")
        if wanted.size and places.min() < 0:
            missing = places < 0
            if default.shape == self.value_shape:
                found[missing] = default
            else:
                found[missing] = default.reshape(-1, *self.value_shape)[missing]
        return found.reshape(shape)

    def insert(self, keys: Array, values: Array) -> None:
        """Sets the values of keys."""
        self.check_values(keys, values)
        with self.lock:
            self._put(_numbers(keys), values)

    def replace(self, keys: Array, values: Array) -> None:
        """Makes these the table's only content."""
        self.check_values(keys, values)
        with self.lock:
            if len(self._keys) > 8 * max(keys.size, _FIRST):
                self._forget()
            self._slots.fill(-1)
            self._count = self._gone = 0
            self._put(_numbers(keys), values)

    def _put(self, keys: Array, values: Array) -> None:
        if self._count + keys.size > len(self._keys):
            self._grow(keys.size)
        places = np.empty(keys.size, np.int64)
        before = self._count
        given = self._keys, before, self._slots, len(self._slots), keys, keys.size, places
        self._count = self._enter(*given)
        self._here[before : self._count] = True
        self._values[places] = values.reshape(-1, *self.value_shape)

    def _grow(self, more: int) -> None:
        """Makes room for more keys, and drops those that were removed."""
        kept = np.flatnonzero(self._here[: self._count])
        count = len(kept)
        room = 1 << (count + max(count, more, _FIRST) - 1).bit_length()
        if room >= _MOST:
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"Table {self.name}: expected fewer than {_MOST} keys, got {more} beside {count}."
                " Use several tables.",
            )
        keys, values, here = np.empty(room, np.int64), self._room(room), np.empty(room, bool)
        keys[:count], values[:count] = self._keys[kept], self._values[kept]
        here[:count] = True
        slots = np.full(4 * room, -1, np.int32)
        given = slots, len(slots), keys[:count].copy(), count, np.empty(count, np.int64)
        self._enter(keys, 0, *given)
        self._keys, self._values, self._here, self._slots = keys, values, here, slots
        self._count, self._gone = count, 0

    def remove(self, keys: Array) -> None:
        """Drops keys; those that are not there are ignored."""
        wanted = _numbers(keys)
        places = np.empty(wanted.size, np.int64)
        with self.lock:
            given = self._slots, len(self._slots), wanted, wanted.size, places
            found = self._leave(self._keys, *given)
            self._here[places[:found]] = False
            self._gone += found

    def export(self) -> tuple[Array, Array]:
        """All keys and values."""
        with self.lock:
            count = self._count
            here = self._here[:count] if self._gone else slice(None)
            keys, values = self._keys[:count][here], self._values[:count][here].copy()
        return keys.astype(self.key_dtype.numpy_dtype), values


def _function(name: str) -> Callable[..., int]:
    found = native_arrays.LIBRARY.function(name)
    assert found is not None
    return found


def _numbers(keys: Array) -> Array:
    return np.ascontiguousarray(keys.reshape(-1), np.int64)


def mutable_table(
    name: str, key_dtype: DType, value_dtype: DType, value_shape: tuple[int, ...] = ()
) -> LookupTable:
    """A table that changes, of the kind that serves its keys; arguments as for `LookupTable`."""
    is_number = key_dtype.is_integer or key_dtype.is_bool
    native = is_number and key_dtype.numpy_dtype.kind in "iub" and native_arrays.LIBRARY.is_in_use()
    made = NumberTable if native else MutableTable
    return made(name, key_dtype, value_dtype, value_shape)
