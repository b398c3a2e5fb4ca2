"""Changes of variables where the host has their arrays: of all elements, or of some rows.

`change_rows` and `change_places` make those of rows natively; what they leave is made by
HOST_UPDATES. `own_arrays` are those that may be written to where they are.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core import native_arrays, native_places
from penstock.ops.extremes import raise_at

Array = Any  # numpy.ndarray


def _host_divide(new: Array, index: Any, updates: Array) -> None:
    """Row after row; integers are divided towards zero."""
    (rows,) = index if isinstance(index, tuple) else (index,)
    integer = np.issubdtype(new.dtype, np.integer)
    for i, row in zip(rows.reshape(-1), updates.reshape((-1, *new.shape[1:])), strict=True):
        if integer:
            quotient = new[i] // row
            new[i] = quotient + ((quotient < 0) & (quotient * row != new[i]))
        else:
            new[i] = new[i] / row


def _set(new: Array, index: Any, updates: Array) -> None:
    new[index] = updates


NATIVE_UPDATES = {
    "Add": native_arrays.ADD,
    "Sub": native_arrays.SUBTRACT,
    "Mul": native_arrays.MULTIPLY,
    "Min": native_arrays.LOWER,
    "Max": native_arrays.RAISE,
    "Update": native_arrays.REPLACE,
    "Div": native_arrays.DIVIDE,
}
HOST_UPDATES: dict[str, Callable[..., None]] = {
    "Add": np.add.at,
    "Sub": np.subtract.at,
    "Mul": np.multiply.at,
    "Min": raise_at(np.minimum),
    "Max": raise_at(np.maximum),
    "Update": _set,
    "Div": _host_divide,
}


def own_arrays(resources: Sequence[Any]) -> list[Array] | None:
    """The arrays of variables, in C's order, where nothing else has one of them; else None.

    The locks are held, and the caller has none of the arrays in a variable of its own.
    """
    found: list[Array] = []
    for resource in resources:  # one that comes twice is held by `found`
        if not resource.holds_alone():
            return None
        array = resource.value
        if not array.flags.c_contiguous:
            return None
        found.append(array)
    return found


def change_rows(kind: str, resource: Any, indices: Array, updates: Array) -> bool:
    """Whether rows of a variable were changed natively; if not, it is as it was.

    In place where nothing else has its array. What does not fit, or has no code, is left to NumPy.
    """
    if resource.value.__class__ is not np.ndarray or not resource.value.ndim:
        return False
    array = resource.value
    fits = updates.dtype == array.dtype and updates.shape == indices.shape + array.shape[1:]
    del array  # it would be another holder
    return fits and change_places(kind, resource, indices.reshape(*indices.shape, 1), updates)


def change_places(kind: str, resource: Any, positions: Array, updates: Array) -> bool:
    """The same of updates at positions, which fit."""
    alone = resource.holds_alone()
    array = resource.value if alone else np.array(resource.value, order="C")
    done = native_places.scattered(NATIVE_UPDATES[kind], array, positions, updates)
    if done and not alone:
        resource.write(array)
    return done


def positions_fit(params: Any, positions: Array, updates: Array) -> bool:
    """Whether updates have the shape and the dtype that positions in NumPy's array ask for."""
    if params.__class__ is not np.ndarray or not positions.ndim or params.dtype != updates.dtype:
        return False
    depth = positions.shape[-1]
    wanted = positions.shape[:-1] + params.shape[depth:]
    return 0 < depth <= params.ndim and bool(updates.shape == wanted)
