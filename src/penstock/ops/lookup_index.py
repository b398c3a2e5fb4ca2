"""Many keys of a lookup table at once, by the native library.

An `Index` has the table's keys and values as arrays, and what finds a key's place among them. It
does not change: a table whose content does makes another one when it pays.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from penstock.core import native_arrays, native_strings
from penstock.ops.string_arrays import array_of
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
FEW = 64  # keys that a dictionary finds in less time


class Index(NamedTuple):
    """The content of a table.

    Attributes:
      keys: different ones, int64[N] or strings [N].
      made: the native library's index of them.
      values: of the keys, [N, ...].
    """

    keys: Array
    made: Any
    values: Array

    def find(self, keys: Array, default: Array) -> Array | None:
        """The values of keys, one default where there are none; None without the library."""
        flat = keys.reshape(-1)
        if self.keys.dtype == object:
            places = native_strings.places(self.keys, self.made, flat)
        else:
            places = native_arrays.places(self.keys, self.made, flat.astype(np.int64))
        if places is None:
            return None
        found = self.values.take(places, axis=0, mode="clip")
        missing = places < 0
        if missing.any():
            found[missing] = default
        return found.reshape(*keys.shape, *self.values.shape[1:])


def index_of(
    content: Mapping[Any, Any],
    key_dtype: DType,
    stacked: Callable[[list[Any], tuple[int, ...]], Array],
) -> Index | None:
    """The index of a table's content; None where the library is not in use, or has no such keys.

    Args:
      content: the values by key, at least one.
      key_dtype: the keys' dtype.
      stacked: makes an array of values.
    """
    made: Any
    if key_dtype is dt.string:
        keys = array_of(list(content), (len(content),))
        made = native_strings.index(keys)
    elif key_dtype is dt.uint64 or not native_arrays.LIBRARY.is_in_use():
        return None
    else:
        keys = np.fromiter(content, np.int64, len(content))
        made = native_arrays.index(keys)
    return None if made is None else Index(keys, made, stacked([*content.values()], (len(keys),)))
