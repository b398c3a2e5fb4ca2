"""Lists of tensors: what a variant tensor made by the TensorList operations holds.

`TensorList` is the host's form: any shapes, slots that may be empty. It is a persistent list: each
change gives a new list, and costs no copy as long as only the newest one is used. `StackedList` is
the form inside compiled regions: the elements as rows of one array, so that XLA's loops can carry
it. `as_list` and `stacked` go from one to the other.
"""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.lazy import jax, jnp
from penstock.types.dims import Dims, is_full, union
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray or jax.Array

_lock = threading.Lock()  # guards: _items, _next, _change of all lists


class TensorList:
    """Elements of one dtype, None for those that were never set. Immutable; thread-safe.

    Only the newest of several versions holds the elements; an older one knows what changed since,
    and takes the elements over when it is looked at.

    Attributes:
      dtype: of the elements.
      dims: what is known of their shapes.
      limit: the largest number of elements that pushing may reach, -1 for none.
      length: the number of elements.
    """

    __slots__ = ("_change", "_items", "_next", "dims", "dtype", "length", "limit")

    def __init__(
        self, dtype: DType, dims: Dims, items: list[Any], length: int | None = None, limit: int = -1
    ) -> None:
        self.dtype = dtype
        self.dims = dims
        self.limit = limit
        self.length = len(items) if length is None else length
        self._items: list[Any] | None = items
        self._next: TensorList | None = None
        self._change: tuple[int, Any] | None = None

    @property
    def items(self) -> list[Any]:
        """The elements; a copy."""
        with _lock:
            return self._root()[: self.length]

    def __getitem__(self, index: int) -> Any:
        """The element at `index`, counted from the front."""
        with _lock:
            return self._root()[index]

    def __repr__(self) -> str:
        return "<TensorList>"

    def _root(self) -> list[Any]:
        """Takes over the elements from the newest version; `_lock` is held."""
        path = []
        node: TensorList = self
        while node._items is None:
            path.append(node)
            assert node._next is not None
            node = node._next
        for older in reversed(path):
            newer = older._next
            assert newer is not None
            items, change = newer._items, older._change
            assert items is not None
            if change is not None:
                newer._change = (change[0], items[change[0]])
                items[change[0]] = change[1]
            else:
                newer._change = None
            newer._next, newer._items = older, None
            older._next, older._items = None, items
        assert self._items is not None
        return self._items

    def _newer(self, items: list[Any], length: int, change: tuple[int, Any] | None) -> "TensorList":
        made = TensorList(self.dtype, self.dims, items, length, self.limit)
        self._items, self._next, self._change = None, made, change
        return made

    def with_item(self, index: int, item: Any) -> "TensorList":
        """The list with another element at `index`."""
        with _lock:
            items = self._root()
            change = (index, items[index])
            items[index] = item
            return self._newer(items, self.length, change)

    def with_pushed(self, item: Any) -> "TensorList":
        """The list with one more element."""
        with _lock:
            items = self._root()
            if len(items) != self.length:  # another list goes on in them
                items = items[: self.length]
                return self._made([*items, item])
            items.append(item)
            return self._newer(items, self.length + 1, None)

    def without_last(self) -> "TensorList":
        """The list without its last element."""
        with _lock:
            return self._newer(self._root(), self.length - 1, None)

    def resized(self, length: int) -> "TensorList":
        """The list cut, or with empty slots added."""
        items = self.items[:length]
        return self._made([*items, *[None] * (length - len(items))])

    def _made(self, items: list[Any]) -> "TensorList":
        return TensorList(self.dtype, self.dims, items, None, self.limit)


class StackedList:
    """A list as rows of one array: a pytree of JAX.

    Attributes:
      dtype: of the elements.
      dims: what is known of their shapes.
      capacity: how many elements there is room for.
      rows: the elements, [capacity, ...]; zeros where none was set; None while none was.
      length: the number of elements, an int or an int32 scalar.
      roomy: the capacity is a bound of the length, so that pushing needs no more room.
    """

    __slots__ = ("capacity", "dims", "dtype", "length", "roomy", "rows")

    def __init__(
        self, dtype: DType, dims: Dims, capacity: int, rows: Array, length: Any, roomy: bool = False
    ) -> None:
        _register()
        self.dtype = dtype
        self.dims = dims
        self.capacity = capacity
        self.rows = rows
        self.length = length
        self.roomy = roomy

    @property
    def form(self) -> tuple[Any, ...]:
        """What XLA must know: (dtype, row shape or None, capacity, known length, roomy, dims)."""
        shape = None if self.rows is None else tuple(self.rows.shape[1:])
        length = self.length if isinstance(self.length, int) else None
        return (self.dtype, shape, self.capacity, length, self.roomy, self.dims)

    def filled(self, dims: Sequence[int]) -> "StackedList":
        """The list with rows of shape `dims`, zeros where it has none yet."""
        if self.rows is not None:
            return self
        zeros = jnp.zeros((self.capacity, *dims), self.dtype.numpy_dtype)
        return self.having(rows=zeros)

    def having(self, **changes: Any) -> "StackedList":
        """A list that differs in some attributes."""
        values = {name: changes.get(name, getattr(self, name)) for name in self.__slots__}
        return StackedList(**values)

    def in_form(self, form: tuple[Any, ...]) -> "StackedList":
        """The list in a form that `joined` gave for it."""
        _, shape, capacity, length, roomy, dims = form
        found = self if shape is None else self.filled(shape)
        length = jnp.asarray(found.length, jnp.int32) if length is None else length
        return found.with_room(capacity, length, roomy).having(dims=dims)

    def with_room(self, capacity: int, length: Any, roomy: bool) -> "StackedList":
        """The list with room for `capacity` elements, if it has less, and of another length."""
        rows = self.rows
        if rows is not None and capacity > self.capacity:
            more = [(0, capacity - self.capacity)] + [(0, 0)] * (rows.ndim - 1)
            rows = jnp.pad(rows, more)
        return self.having(rows=rows, capacity=capacity, length=length, roomy=roomy)


def joined(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    """The form that lists of forms `a` and `b` can both take.

    Raises:
      ValueError: there is none.
    """
    shape = a[1] if b[1] is None else b[1]
    if a[0] is not b[0] or (a[1] is not None and a[1] != shape):
        raise ValueError(f"lists of {a[0].name}{a[1]} and of {b[0].name}{b[1]} meet")
    length = a[3] if a[3] == b[3] else None
    return (a[0], shape, max(a[2], b[2]), length, a[4] or b[4], union(a[5], b[5]))


_registered: list[bool] = []


def _register() -> None:
    """Tells JAX how to take a StackedList apart, once."""
    if _registered:
        return
    _registered.append(True)

    def flatten(value: StackedList) -> tuple[list[Any], tuple[Any, ...]]:
        known = isinstance(value.length, int)
        parts = [value.rows] if known else [value.rows, value.length]
        length = value.length if known else None
        return parts, (value.dtype, value.dims, value.capacity, length, value.roomy)

    def build(aux: tuple[Any, ...], parts: Sequence[Any]) -> StackedList:
        dtype, dims, capacity, length, roomy = aux
        return StackedList(
            dtype, dims, capacity, parts[0], parts[1] if length is None else length, roomy
        )

    jax.tree_util.register_pytree_node(StackedList, flatten, build)


def as_list(value: Any) -> Any:
    """The host's form of a list; other values as they are."""
    if not isinstance(value, StackedList):
        return value
    length = int(value.length)
    if value.rows is None:
        return TensorList(value.dtype, value.dims, [None] * length)
    return TensorList(value.dtype, value.dims, list(np.asarray(value.rows)[:length]))


def stacked(value: Any) -> StackedList | None:
    """The form for regions; None where there is none: shapes differ, or it is no list of arrays."""
    if isinstance(value, StackedList):
        return value
    if not isinstance(value, TensorList) or value.dtype.numpy_dtype == np.dtype(object):
        return None
    items = value.items
    shapes = {i.shape for i in items if i is not None}
    if not shapes and is_full(value.dims):
        assert value.dims is not None
        shapes = {value.dims}
    if len(shapes) > 1:
        return None
    rows = None
    if shapes:
        rows = np.zeros((len(items), *shapes.pop()), value.dtype.numpy_dtype)
        for row, item in enumerate(items):
            if item is not None:
                rows[row] = item
    return StackedList(value.dtype, value.dims, len(items), rows, len(items))


def form_of(value: Any) -> Any:
    """What of a list an executable depends on."""
    return value.form if isinstance(value, StackedList) else getattr(value, "length", None)


__all__ = ["StackedList", "TensorList", "as_list", "form_of", "joined", "stacked"]
