"""`RaggedTensorValue`: a ragged tensor on the host, as a session fetches it and is fed it."""

from __future__ import annotations

from typing import Any

import numpy as np

# Any: values are arrays, or ragged values in turn.


class RaggedTensorValue:
    """The value of a ragged tensor.

    Args:
      values: an array, or a RaggedTensorValue.
      row_splits: int32 or int64[nrows + 1].

    Raises:
      TypeError: an argument is of another kind.

    Example:
      >>> RaggedTensorValue(np.array([1, 2, 3]), np.array([0, 2, 3])).to_list()
      [[1, 2], [3]]
    """

    __slots__ = ("_row_splits", "_values")

    def __init__(self, values: Any, row_splits: Any) -> None:
        splits_fit = isinstance(row_splits, (np.ndarray, np.generic)) and (
            row_splits.dtype in (np.int64, np.int32) and row_splits.ndim == 1
        )
        if not splits_fit:
            raise TypeError(
                "row_splits must be a 1D int32 or int64 numpy array. RaggedTensorValue got "
                f"{row_splits!r}."
            )
        if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
            raise TypeError(
                "values must be a numpy array or a RaggedTensorValue. RaggedTensorValue got "
                f"{values!r}."
            )
        if isinstance(values, RaggedTensorValue) and row_splits.dtype != values.row_splits.dtype:
            raise ValueError(
                f"row_splits and values.row_splits must have one dtype, got {row_splits.dtype} and"
                f" {values.row_splits.dtype}."
            )
        self._values = values
        self._row_splits = row_splits

    @property
    def row_splits(self) -> Any:
        """The positions between rows."""
        return self._row_splits

    @property
    def values(self) -> Any:
        """The values of all rows, one after the other."""
        return self._values

    @property
    def flat_values(self) -> Any:
        """The innermost values, an array."""
        found = self._values
        while isinstance(found, RaggedTensorValue):
            found = found.values
        return found

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The row splits of each ragged dimension, from the outermost."""
        found, splits = self._values, [self._row_splits]
        while isinstance(found, RaggedTensorValue):
            splits.append(found.row_splits)
            found = found.values
        return tuple(splits)

    @property
    def ragged_rank(self) -> int:
        """The number of dimensions that have row splits."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> Any:
        """The NumPy dtype of the elements."""
        return self._values.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape, with None for ragged dimensions."""
        return (self._row_splits.shape[0] - 1, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """The value as nested lists."""
        values = (
            self._values.to_list()
            if isinstance(self._values, RaggedTensorValue)
            else self._values.tolist()
        )
        pairs = zip(self._row_splits[:-1], self._row_splits[1:], strict=True)
        return [values[a:b] for a, b in pairs]

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"
