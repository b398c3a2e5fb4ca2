"""What softmax and cross entropies take besides exponentials, by `native/softmax.h`.

Part of the library of `native_arrays`. Exponentials, logarithms and sums are NumPy's, so results
are the same bits with the library and without. Rows are matrices of float32 or float64 that lie
dense in memory; each function returns None (or False) where the library is not in use, or does not
serve them. Thread-safe.
"""

from typing import Any

import numpy as np

from penstock.core.native_arrays import LIBRARY, floating_kind, is_wide

Array = Any  # numpy.ndarray


def shifted(rows: Array) -> Array | None:
    """Each row [..., N], N at least 1, less its largest number; NaN where there is one."""
    call, kind = LIBRARY.function("shift"), floating_kind(rows.dtype)
    if call is None or kind is None:
        return None
    rows = np.ascontiguousarray(rows)
    found = np.empty(rows.shape, rows.dtype)
    width = rows.shape[-1]
    call(kind, rows, rows.size // width, width, found)
    return found


def cross_entropy(
    moved: Array, exponentials: Array, sums: Array, labels: Array
) -> tuple[Array, Array] | None:
    """The parts of each row's cross entropy with its labels, and its gradient.

    Args:
      moved: what `shifted` gives, [N, M].
      exponentials: of them; becomes the gradient.
      sums: of the exponentials, [N, 1].
      labels: [N, M].
    """
    call, kind = LIBRARY.function("cross"), floating_kind(moved.dtype)
    if call is None or kind is None or labels.dtype != moved.dtype:
        return None
    parts = np.empty(moved.shape, moved.dtype)
    number, width = moved.shape
    labels = np.ascontiguousarray(labels)
    call(kind, moved, sums, np.log(sums), labels, number, width, exponentials, parts)
    return parts, exponentials


def cross_entropy_of_classes(
    moved: Array, exponentials: Array, sums: Array, labels: Array
) -> tuple[Array, Array] | None:
    """The cross entropy of each row with the class that its label, int32 or int64[N], names.

    Other arguments and the gradient are those of `cross_entropy`. None also where a label names no
    class.
    """
    call, kind = LIBRARY.function("cross_classes"), floating_kind(moved.dtype)
    wide = is_wide(labels)
    if call is None or kind is None or wide is None:
        return None
    losses = np.empty(len(moved), moved.dtype)
    number, width = moved.shape
    labels = np.ascontiguousarray(labels)
    given = kind, moved, sums, np.log(sums), labels, wide, number, width
    return (losses, exponentials) if call(*given, exponentials, losses) < 0 else None
