"""Composite values on the host: what a session fetches and is fed for a composite tensor."""

from __future__ import annotations

from typing import Any, NamedTuple


class SparseTensorValue(NamedTuple):
    """The value of a sparse tensor.

    Attributes:
      indices: int64[N, rank], where the values are.
      values: any dtype[N].
      dense_shape: int64[rank].
    """

    indices: Any
    values: Any
    dense_shape: Any


class IndexedSlicesValue(NamedTuple):
    """The value of indexed slices.

    Attributes:
      values: any dtype[N, ...], the rows.
      indices: int32 or int64[N], which rows they are.
      dense_shape: the shape of the dense tensor, or None.
    """

    values: Any
    indices: Any
    dense_shape: Any = None
