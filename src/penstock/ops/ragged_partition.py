"""`tf.experimental.RowPartition`: how a sequence of values is cut into rows.

The rows follow one another: row i is `values[row_splits[i]:row_splits[i + 1]]`. The row splits are
the one form that a partition always has; the others (lengths, row ids, starts, limits) it keeps
when it was made of them, and computes when they are asked for.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.composite import CompositeTensor
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import EagerTensor, Tensor, host_array
from penstock.ops import debug_asserts as asserts
from penstock.ops.composing import scope
from penstock.ops.ragged_parts import (
    after,
    cast,
    known_int,
    lengths_to_splits,
    number,
    numbers,
    row_count,
    rowids_to_lengths,
    splits_dtype,
    splits_to_rowids,
)
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType
from penstock.types.ragged_spec import RowPartitionSpec
from penstock.types.type_spec import ValueHooks, attach_values

_KEY = object()  # only the factories know it


def as_splits(value: Any, what: str, dtype: Any = None, hint: Any = None) -> Tensor:
    """An integer tensor, int64 when the value does not say.

    Raises:
      ValueError: it is neither int32 nor int64.
    """
    if dtype is None and not isinstance(value, Tensor) and not hasattr(value, "dtype"):
        array = np.asarray(value) if not hasattr(value, "_type_spec") else None
        if array is not None and (array.dtype.kind in "iu" or not array.size):
            dtype = hint or dt.int64
    wanted = None if hasattr(value, "dtype") else hint or dt.int64
    found = convert_to_tensor(value, dtype, dtype_hint=wanted, name=what)
    if found.dtype not in (dt.int32, dt.int64):
        raise ValueError(f"{what} must have dtype int32 or int64, got {found.dtype!r}. Cast it.")
    return found  # type: ignore[no-any-return]


def _vector(value: Tensor) -> Tensor:
    """`value`, known to be of rank 1 from here on.

    Raises:
      ValueError: it is of another rank.
    """
    value.shape.assert_has_rank(1)
    if value.dims is None:
        value = execute("Identity", (value,))  # the shape of what was given stays as it is
        value.set_shape([None])
    return value


def _text(kind: str) -> str:
    return f"Arguments to {kind} do not form a valid RaggedTensor:"


class RowPartition(CompositeTensor):
    """How a sequence of values is cut into rows.

    Make one with `RowPartition.from_row_splits`, `from_row_lengths`, `from_value_rowids`, ...

    Example:
      >>> tf.experimental.RowPartition.from_row_lengths([2, 0, 1])
      tf.RowPartition(row_splits=[0 2 2 3])
    """

    __slots__ = (
        "_computed",
        "_nrows",
        "_nvals",
        "_row_lengths",
        "_row_splits",
        "_uniform_row_length",
        "_value_rowids",
    )

    def __init__(
        self,
        row_splits: Any,
        row_lengths: Any = None,
        value_rowids: Any = None,
        nrows: Any = None,
        uniform_row_length: Any = None,
        nvals: Any = None,
        internal: Any = None,
    ) -> None:
        if internal is not _KEY:
            raise ValueError(
                "RowPartition constructor is private; please use one of the factory methods "
                "instead (e.g., RowPartition.from_row_lengths())"
            )
        self._row_splits = _vector(row_splits)
        self._row_lengths = row_lengths
        self._value_rowids = value_rowids
        self._nrows = nrows
        self._uniform_row_length = uniform_row_length
        self._nvals = nvals
        self._computed: dict[str, Any] = {}

    # ---- factories

    @classmethod
    def from_value_rowids(
        cls,
        value_rowids: Any,
        nrows: Any = None,
        validate: bool = True,
        dtype: Any = None,
        dtype_hint: Any = None,
    ) -> "RowPartition":
        """A partition from the row number of each value.

        Args:
          value_rowids: int32 or int64[nvals], not decreasing.
          nrows: the number of rows; one more than the last row number when None.
          validate: whether to check the arguments.
          dtype: the dtype of the result, or None.
          dtype_hint: the dtype for Python values.

        Returns:
          A RowPartition.

        Raises:
          ValueError, InvalidArgumentError: the row numbers are no partition.
        """
        with scope(None, "RowPartitionFromValueRowIds"):
            ids = _vector(as_splits(value_rowids, "value_rowids", dtype, dtype_hint))
            checks: list[Any] = []
            if nrows is None:
                last = execute("Max", (ids, np.array([0], np.int32)))
                rows = execute("Maximum", (last + 1, number(0, ids.dtype)))
                if ids.dims == (0,):
                    rows = number(0, ids.dtype)
                given = None
            else:
                rows = given = convert_to_tensor(nrows, ids.dtype, name="nrows")
                _check_nrows(known_int(given), ids)
                given.shape.assert_has_rank(0)
            if validate:
                message = "Arguments to from_value_rowids do not form a valid RowPartition"
                checks = [
                    asserts.assert_non_negative_v1(ids[:1], message=message),
                    asserts.assert_non_negative_v1(ids[1:] - ids[:-1], message=message),
                ]
                if given is not None:
                    checks.append(asserts.assert_less_v1(ids[-1:], given, message=message))
                    checks.append(asserts.assert_non_negative_v1(given, message=message))
                ids, rows = after(checks, ids), after(checks, rows)
            lengths = rowids_to_lengths(ids, rows)
            return cls(
                lengths_to_splits(lengths),
                row_lengths=lengths,
                value_rowids=ids,
                nrows=rows,
                internal=_KEY,
            )

    @classmethod
    def from_row_splits(
        cls, row_splits: Any, validate: bool = True, dtype: Any = None, dtype_hint: Any = None
    ) -> "RowPartition":
        """A partition from the positions between rows.

        Args:
          row_splits: int32 or int64[nrows + 1], from 0, not decreasing.
          validate: whether to check them.
          dtype: the dtype of the result, or None.
          dtype_hint: the dtype for Python values.

        Returns:
          A RowPartition.

        Raises:
          ValueError, InvalidArgumentError: the splits are no partition.
        """
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty. Use [0] for no rows.")
        with scope(None, "RowPartitionFromRowSplits"):
            splits = _vector(as_splits(row_splits, "row_splits", dtype, dtype_hint))
            if splits.dims == (0,):
                raise ValueError("row_splits tensor may not be empty. Use [0] for no rows.")
            if validate:
                text = _text("from_row_splits")
                checks = [
                    asserts.assert_equal_v1(
                        splits[:1], number(0, splits.dtype), message=f"{text}zero"
                    ),
                    asserts.assert_non_negative_v1(
                        splits[1:] - splits[:-1], message=f"{text}monotonic"
                    ),
                ]
                splits = after(checks, splits)
            return cls(splits, internal=_KEY)

    @classmethod
    def from_row_lengths(
        cls, row_lengths: Any, validate: bool = True, dtype: Any = None, dtype_hint: Any = None
    ) -> "RowPartition":
        """A partition from the length of each row.

        Args:
          row_lengths: int32 or int64[nrows].
          validate: whether to check that none is negative.
          dtype: the dtype of the result, or None.
          dtype_hint: the dtype for Python values.

        Returns:
          A RowPartition.

        Raises:
          ValueError, InvalidArgumentError: a length is negative.
        """
        with scope(None, "RowPartitionFromRowLengths"):
            lengths = _vector(as_splits(row_lengths, "row_lengths", dtype, dtype_hint))
            if validate:
                message = "Arguments to from_row_lengths do not form a valid RowPartition"
                check = asserts.assert_non_negative_v1(lengths, message=message)
                lengths = after([check], lengths)
            return cls(lengths_to_splits(lengths), row_lengths=lengths, internal=_KEY)

    @classmethod
    def from_row_starts(
        cls,
        row_starts: Any,
        nvals: Any,
        validate: bool = True,
        dtype: Any = None,
        dtype_hint: Any = None,
    ) -> "RowPartition":
        """A partition from the position at which each row starts.

        Args:
          row_starts: int32 or int64[nrows], from 0, not decreasing.
          nvals: the number of values.
          validate: whether to check them.
          dtype: the dtype of the result, or None.
          dtype_hint: the dtype for Python values.

        Returns:
          A RowPartition.

        Raises:
          ValueError, InvalidArgumentError: the starts are no partition.
        """
        with scope(None, "RowPartitionFromRowStarts"):
            starts = _vector(as_splits(row_starts, "row_starts", dtype, dtype_hint))
            count = cast(convert_to_tensor(nvals, name="nvals"), starts.dtype)
            if validate:
                text = _text("from_row_starts")[:-1]
                checks = [
                    asserts.assert_equal_v1(
                        starts[:1], number(0, starts.dtype), message=f"{text} (zero)"
                    ),
                    asserts.assert_non_negative_v1(starts[1:] - starts[:-1], message=text),
                    asserts.assert_less_equal_v1(starts[-1:], count, message=text),
                ]
                starts = after(checks, starts)
            splits = execute("ConcatV2", ([starts, execute("Reshape", (count, [1]))], np.int32(0)))
            return cls(splits, nvals=count, internal=_KEY)

    @classmethod
    def from_row_limits(
        cls, row_limits: Any, validate: bool = True, dtype: Any = None, dtype_hint: Any = None
    ) -> "RowPartition":
        """A partition from the position at which each row ends.

        Args:
          row_limits: int32 or int64[nrows], not decreasing.
          validate: whether to check them.
          dtype: the dtype of the result, or None.
          dtype_hint: the dtype for Python values.

        Returns:
          A RowPartition.

        Raises:
          ValueError, InvalidArgumentError: the limits are no partition.
        """
        with scope(None, "RowPartitionFromRowLimits"):
            limits = _vector(as_splits(row_limits, "row_limits", dtype, dtype_hint))
            if validate:
                text = _text("from_row_limits")[:-1]
                checks = [
                    asserts.assert_non_negative_v1(limits[:1], message=text),
                    asserts.assert_non_negative_v1(limits[1:] - limits[:-1], message=text),
                ]
                limits = after(checks, limits)
            zero = convert_to_tensor(np.zeros(1, limits.dtype.numpy_dtype))
            return cls(execute("ConcatV2", ([zero, limits], np.int32(0))), internal=_KEY)

    @classmethod
    def from_uniform_row_length(
        cls,
        uniform_row_length: Any,
        nvals: Any = None,
        nrows: Any = None,
        validate: bool = True,
        dtype: Any = None,
        dtype_hint: Any = None,
    ) -> "RowPartition":
        """A partition into rows of one length.

        Args:
          uniform_row_length: the length, an integer scalar.
          nvals: the number of values; follows from `nrows` when None.
          nrows: the number of rows; follows from `nvals` when None.
          validate: whether to check that the numbers agree.
          dtype: the dtype of the result, or None.
          dtype_hint: the dtype for Python values.

        Returns:
          A RowPartition.

        Raises:
          ValueError, InvalidArgumentError: the numbers do not agree.
        """
        if nvals is None and nrows is None:
            raise ValueError("Either (or both) of nvals and nrows must be specified.")
        with scope(None, "RowPartitionFromUniformRowLength"):
            kind = dtype or _common([uniform_row_length, nvals, nrows], dtype_hint)
            length = cast(as_splits(uniform_row_length, "uniform_row_length", dtype, kind), kind)
            rows = None if nrows is None else cast(convert_to_tensor(nrows), kind)
            values = None if nvals is None else cast(convert_to_tensor(nvals), kind)
            rows, values = _uniform_counts(length, rows, values, validate)
            splits = numbers(rows + 1, kind) * length
            return cls(splits, nrows=rows, nvals=values, uniform_row_length=length, internal=_KEY)

    @classmethod
    def _of_leaf(cls, row_splits: Any) -> "RowPartition":
        """A partition in form only: its splits are what a structure was mapped to."""
        made = object.__new__(cls)
        for name in ("row_lengths", "value_rowids", "nrows", "uniform_row_length", "nvals"):
            setattr(made, f"_{name}", None)
        made._row_splits, made._computed = row_splits, {}
        return made

    # ---- forms

    def row_splits(self) -> Any:
        """The positions between rows, int[nrows + 1]."""
        return self._row_splits

    def value_rowids(self) -> Any:
        """The row number of each value, int[nvals]."""
        if self._value_rowids is not None:
            return self._value_rowids
        return self._kept("ids", lambda: splits_to_rowids(self._row_splits, self._nvals))

    def row_lengths(self) -> Any:
        """The length of each row, int[nrows]."""
        if self._row_lengths is not None:
            return self._row_lengths
        return self._kept("lengths", lambda: self._row_splits[1:] - self._row_splits[:-1])

    def row_starts(self) -> Any:
        """The position at which each row starts, int[nrows]."""
        return self._row_splits[:-1]

    def row_limits(self) -> Any:
        """The position at which each row ends, int[nrows]."""
        return self._row_splits[1:]

    def nrows(self) -> Any:
        """The number of rows, an integer scalar."""
        if self._nrows is not None:
            return self._nrows
        known = self.static_nrows
        if known is not None:
            return number(known, self.dtype)
        return row_count(self._row_splits, self.dtype) - 1

    def nvals(self) -> Any:
        """The number of values, an integer scalar."""
        return self._nvals if self._nvals is not None else self._row_splits[-1]

    def uniform_row_length(self) -> Any:
        """The length of each row as a scalar, or None when it is not known to be one."""
        return self._uniform_row_length

    def is_uniform(self) -> bool:
        """Whether the partition is known to have rows of one length."""
        return self._uniform_row_length is not None

    def offsets_in_rows(self) -> Any:
        """The position of each value in its row, int[nvals]."""
        starts = execute("GatherV2", (self._row_splits, self.value_rowids(), np.int32(0)))
        return numbers(self.nvals(), self.dtype) - starts

    def _kept(self, name: str, compute: Callable[[], Any]) -> Any:
        """Keeps what was computed, where it cannot belong to another graph."""
        value = self._computed.get(name)
        if value is None:
            value = compute()
            if isinstance(value, EagerTensor):
                self._computed[name] = value
        return value

    # ---- what is known when the graph is built

    @property
    def dtype(self) -> DType:
        """int32 or int64."""
        return self._row_splits.dtype

    @property
    def static_nrows(self) -> int | None:
        """The number of rows, where it is known when the graph is built."""
        dims = self._row_splits.dims
        if dims is not None and dims[0] is not None:
            return dims[0] - 1
        return known_int(self._nrows)

    @property
    def static_nvals(self) -> int | None:
        """The number of values, where it is known when the graph is built."""
        if self._nvals is not None and known_int(self._nvals) is not None:
            return known_int(self._nvals)
        if self._value_rowids is not None and self._value_rowids.dims is not None:
            return self._value_rowids.dims[0]  # type: ignore[no-any-return]
        return None

    @property
    def static_uniform_row_length(self) -> int | None:
        """The length of each row, where it is known when the graph is built."""
        return known_int(self._uniform_row_length)

    # ---- other partitions

    def with_dtype(self, dtype: Any) -> "RowPartition":
        """The same partition with splits of another dtype.

        Args:
          dtype: int32 or int64.
        """
        kind = splits_dtype(dtype)
        if kind is self.dtype:
            return self
        names = ("row_lengths", "value_rowids", "nrows", "uniform_row_length", "nvals")
        parts = {n: getattr(self, f"_{n}") for n in names}
        turned = {n: None if p is None else cast(p, kind) for n, p in parts.items()}
        return type(self)(cast(self._row_splits, kind), **turned, internal=_KEY)

    def _after(self, checks: Any) -> "RowPartition":
        """The same partition, available once the checks have passed."""
        if state.graph is None or not any(c is not None for c in checks):
            return self
        return type(self)(
            after(checks, self._row_splits),
            nrows=self._nrows,
            uniform_row_length=self._uniform_row_length,
            nvals=self._nvals,
            internal=_KEY,
        )

    def _with_known(self, nrows: int | None, length: int | None) -> "RowPartition":
        """The same partition with static facts added."""
        if nrows is not None and self.static_nrows is None:
            self._row_splits.set_shape([nrows + 1])
        if length is None or self.static_uniform_row_length is not None:
            return self
        return type(self)(
            self._row_splits,
            row_lengths=self._row_lengths,
            value_rowids=self._value_rowids,
            nrows=self._nrows,
            uniform_row_length=number(length, self.dtype),
            nvals=self._nvals,
            internal=_KEY,
        )

    # ---- as a value made of tensors

    @property
    def _type_spec(self) -> RowPartitionSpec:
        return RowPartitionSpec(
            self.static_nrows, self.static_nvals, self.static_uniform_row_length, self.dtype
        )

    def _shape_invariant_to_type_spec(self, shape: Any) -> RowPartitionSpec:
        return self._type_spec

    def __repr__(self) -> str:
        if self._uniform_row_length is not None:
            return (
                f"tf.RowPartition(nrows={_shown(self.nrows())}, "
                f"uniform_row_length={_shown(self._uniform_row_length)})"
            )
        return f"tf.RowPartition(row_splits={_shown(self._row_splits)})"


def _shown(tensor: Any) -> str:
    return str(host_array(tensor)) if isinstance(tensor, EagerTensor) else str(tensor)


def _check_nrows(nrows: int | None, ids: Any) -> None:
    """Refuses a number of rows that is known to be too small.

    Raises:
      ValueError: it is negative, or there is a row number beyond it.
    """
    if nrows is None:
        return
    if nrows < 0:
        raise ValueError(f"Expected nrows >= 0; got {nrows}")
    last = known_int(ids[-1]) if isinstance(ids, EagerTensor) and ids.dims != (0,) else None
    if last is not None and nrows < last + 1:
        raise ValueError(
            f"Expected nrows >= value_rowids[-1] + 1; got nrows={nrows}, value_rowids[-1]={last}"
        )


def _common(values: list[Any], hint: Any) -> DType:
    found = [v.dtype for v in values if isinstance(v, Tensor)]
    if dt.int64 in found:
        return dt.int64
    return found[0] if found else hint or dt.int64


def _uniform_counts(length: Any, rows: Any, values: Any, validate: bool) -> tuple[Any, Any]:
    """The numbers of rows and of values, of which one may be None."""
    known = known_int(length)
    if known is not None and known < 0:
        raise ValueError(f"uniform_row_length must be >= 0. Got {known}.")
    given_values = values
    zero = number(0, length.dtype)
    if rows is None:
        safe = execute("Maximum", (length, number(1, length.dtype)))
        rows = execute("Select", (execute("Equal", (length, zero)), zero, values // safe))
        if known:
            rows = values // length
    if values is None:
        values = rows * length
    n, v = known_int(rows), known_int(values)
    if validate and known is not None and n is not None and v is not None:
        if known * n != v:
            raise ValueError(
                f"uniform_row_length={known} times nrows={n} must equal nvals={v}. Give numbers "
                "that agree."
            )
    elif validate and given_values is not None:
        message = "uniform_row_length does not fit the number of rows and values"
        checks = [
            asserts.assert_equal_v1(rows * length, values, message=message),
            asserts.assert_greater_equal_v1(length, zero, message=message),
        ]
        rows, values = after(checks, rows), after(checks, values)
    return rows, values


def _from_spec(spec: RowPartitionSpec, splits: Any) -> Any:
    if isinstance(splits, (list, tuple)):
        (splits,) = splits
    made = RowPartition.from_row_splits(splits, validate=False)
    return made._with_known(None, spec.uniform_row_length)


attach_values(
    RowPartitionSpec,
    ValueHooks(RowPartition, lambda spec, value: value.row_splits(), _from_spec),
)
