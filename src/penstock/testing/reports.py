"""What a failed assertion about arrays says: which elements, their values, and by how much.

`not_close` and `not_equal` raise AssertionError with the elements and NumPy's own table of
mismatches below them; `listed` lists elements by their subscripts. None of them decides whether
an assertion holds.
"""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_LISTED = 10


def not_close(a: Array, b: Array, rtol: float, atol: float, names: str, msg: str | None) -> None:
    """Raise for arrays of one shape in which some |a - b| > atol + rtol * |b|."""
    wide_a, wide_b = wide(a), wide(b)
    bad = ~np.isclose(wide_a, wide_b, rtol=rtol, atol=atol, equal_nan=True)
    where, lhs, rhs = _picked(bad, wide_a, wide_b)
    lines = [
        f"Mismatched value: {names}. {msg or ''}",
        *([f"not close where = {where}"] if where else []),
        f"not close lhs = {lhs}",
        f"not close rhs = {rhs}",
        f"not close dif = {np.abs(lhs - rhs)}",
        f"not close tol = {atol + rtol * np.abs(rhs)}",
        f"dtype = {a.dtype}, shape = {a.shape}",
    ]
    np.testing.assert_allclose(wide_a, wide_b, rtol=rtol, atol=atol, err_msg="\n".join(lines))


def not_equal(a: Array, b: Array, same: Array, msg: str | None) -> None:
    """Raise for arrays of one shape that differ where `same` is False."""
    where, lhs, rhs = _picked(~same, a, b)
    lines = [
        msg or "",
        *([f"not equal where = {where}"] if where else []),
        f"not equal lhs = {lhs!r}",
        f"not equal rhs = {rhs!r}",
    ]
    np.testing.assert_array_equal(a, b, err_msg="\n".join(lines))


def listed(array: Array, bad: Array) -> str:
    """A line for each of the first elements at which `bad` is True: subscripts and value."""
    array, bad = np.atleast_1d(array), np.atleast_1d(bad)
    places = np.argwhere(bad)
    lines = [f"  {place} : {array[tuple(place)]}" for place in places[:_LISTED]]
    return "\n".join(lines + (["  ..."] if len(places) > _LISTED else []))


def wide(array: Array) -> Array:
    """The array in double precision, in which narrow dtypes can be compared and printed."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _picked(bad: Array, a: Array, b: Array) -> tuple[Any, Any, Any]:
    """Where elements differ (empty for scalars), and the elements of both there."""
    if not bad.ndim:
        return (), a, b
    where = np.where(bad)
    return where, a[where], b[where]
