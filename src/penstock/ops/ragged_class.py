"""The class RaggedTensor: its parts, its static shape, its value on the host, its spec.

A ragged tensor is values with a RowPartition; the values are a tensor, or a ragged tensor with one
ragged dimension fewer. Import the class from `penstock.ops.ragged_tensor`, which also registers
what ordinary operations do with it.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor, register_tensor_conversion_function
from penstock.core.execute import execute
from penstock.core.tensor import EagerTensor, Tensor, host_array
from penstock.ops.composing import scope
from penstock.ops.overloads import by_value
from penstock.ops.ragged_conversions import RaggedConversions
from penstock.ops.ragged_factories import KEY, as_values
from penstock.ops.ragged_index import getitem
from penstock.ops.ragged_partition import RowPartition
from penstock.ops.ragged_parts import cast, splits_dtype
from penstock.ops.ragged_variants import decoded, encoded
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType
from penstock.types.ragged_spec import RaggedTensorSpec
from penstock.types.ragged_value import RaggedTensorValue
from penstock.types.tensor_shape import TensorShape
from penstock.types.type_spec import ValueHooks, attach_values, type_spec_from_value


class RaggedTensor(RaggedConversions):
    """A tensor whose rows differ in length along some dimensions.

    Make one with `tf.ragged.constant` or `tf.RaggedTensor.from_row_splits` and the like.

    Example:
      >>> x = tf.ragged.constant([[1, 2], [], [3]])
      >>> x.shape, (x + 1).to_list(), tf.reduce_sum(x, axis=1).numpy().tolist()
      (TensorShape([3, None]), [[2, 3], [], [4]], [3, 0, 3])
    """

    __slots__ = ("_row_partition", "_values")
    _counts_as_tensor = True
    _loops_over_rows = True  # where AutoGraph converts a loop in a graph
    __array_priority__ = 101  # tensors leave binary operators to a ragged operand

    def __init__(self, values: Any, row_partition: Any, internal: Any = None) -> None:
        if internal is not KEY:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods "
                "instead (e.g., RaggedTensor.from_row_lengths())"
            )
        self._values = values
        self._row_partition = row_partition

    # ---- parts

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._values.dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> TensorShape:
        """The static shape, with None for ragged dimensions."""
        partition = self._row_partition
        outer = [partition.static_nrows, partition.static_uniform_row_length]
        return TensorShape(outer).concatenate(self._values.shape[1:])

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self.shape

    @property
    def ragged_rank(self) -> int:
        """The number of dimensions that have row splits."""
        inner = isinstance(self._values, RaggedTensor)
        return self._values.ragged_rank + 1 if inner else 1

    @property
    def values(self) -> Any:
        """The values of all rows, one after the other: a Tensor or a RaggedTensor."""
        return self._values

    @property
    def row_splits(self) -> Any:
        """The positions between rows, int[nrows + 1]."""
        return self._row_partition.row_splits()

    @property
    def uniform_row_length(self) -> Any:
        """The length of each row as a scalar, or None when rows may differ."""
        return self._row_partition.uniform_row_length()

    @property
    def flat_values(self) -> Any:
        """The innermost values, a Tensor."""
        found = self._values
        while isinstance(found, RaggedTensor):
            found = found._values
        return found

    @property
    def _nested_row_partitions(self) -> tuple[RowPartition, ...]:
        found, parts = self._values, [self._row_partition]
        while isinstance(found, RaggedTensor):
            parts.append(found._row_partition)
            found = found._values
        return tuple(parts)

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The row splits of each ragged dimension, from the outermost."""
        return tuple(p.row_splits() for p in self._nested_row_partitions)

    def value_rowids(self, name: str | None = None) -> Any:
        """The row number of each value, int[nvals]."""
        with scope(name, "RaggedValueRowIds"):
            return self._row_partition.value_rowids()

    def nested_value_rowids(self, name: str | None = None) -> tuple[Any, ...]:
        """The row numbers of each ragged dimension, from the outermost."""
        with scope(name, "RaggedNestedValueRowIds"):
            return tuple(p.value_rowids() for p in self._nested_row_partitions)

    def nrows(self, out_type: Any = None, name: str | None = None) -> Any:
        """The number of rows, an integer scalar.

        Args:
          out_type: its dtype; that of the row splits when None.
          name: a scope in a graph.
        """
        with scope(name, "RaggedNRows"):
            found = self._row_partition.nrows()
            return found if out_type is None else cast(found, dt.as_dtype(out_type))

    def row_starts(self, name: str | None = None) -> Any:
        """The position at which each row starts, int[nrows]."""
        with scope(name, "RaggedRowStarts"):
            return self._row_partition.row_starts()

    def row_limits(self, name: str | None = None) -> Any:
        """The position at which each row ends, int[nrows]."""
        with scope(name, "RaggedRowLimits"):
            return self._row_partition.row_limits()

    def row_lengths(self, axis: Any = 1, name: str | None = None) -> Any:
        """The lengths of the rows along an axis.

        Args:
          axis: the axis; 1 for the rows of the tensor.
          name: a scope in a graph.

        Returns:
          An integer vector for axis 1, the number of rows for axis 0; ragged for inner axes.

        Raises:
          ValueError: there is no such axis.
        """
        if axis == 0:
            return self.nrows()
        if axis == 1:
            return self._row_partition.row_lengths()
        with scope(name, "RaggedRowLengths"):
            axis = axis_of(axis, self.shape.rank)
            if axis == 0:
                return self.nrows()
            if axis == 1:
                return self._row_partition.row_lengths()
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            sizes = execute("Shape", (self._values,), {"out_type": self._row_partition.dtype})
            dense = execute("Fill", (sizes[: axis - 1], sizes[axis - 1]))
            return self.with_values(dense)

    def nested_row_lengths(self, name: str | None = None) -> tuple[Any, ...]:
        """The row lengths of each ragged dimension, from the outermost."""
        with scope(name, "RaggedNestedRowLengths"):
            return tuple(p.row_lengths() for p in self._nested_row_partitions)

    # ---- with other parts

    def with_values(self, new_values: Any) -> "RaggedTensor":
        """The same rows with other values.

        Args:
          new_values: a tensor or ragged tensor with as many rows as `values`.

        Raises:
          ValueError: the number of values is known to differ.
        """
        new_values = (
            new_values
            if isinstance(new_values, RaggedTensor)
            else as_values(RaggedTensor, new_values, self._row_partition.dtype)
        )
        new_values.shape.with_rank_at_least(1)
        self._values.shape[:1].assert_is_compatible_with(new_values.shape[:1])
        partition = self._row_partition
        if isinstance(new_values, RaggedTensor) and (
            new_values._row_partition.dtype is not partition.dtype
        ):
            wide = dt.int64
            new_values, partition = (
                new_values.with_row_splits_dtype(wide),
                partition.with_dtype(wide),
            )
        return RaggedTensor(new_values, partition, internal=KEY)

    def with_flat_values(self, new_values: Any) -> "RaggedTensor":
        """The same rows in every ragged dimension with other innermost values.

        Args:
          new_values: a tensor with as many rows as `flat_values`.

        Raises:
          ValueError: the number of values is known to differ.
        """
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: Any) -> "RaggedTensor":
        """The same ragged tensor with row splits of another dtype.

        Args:
          dtype: int32 or int64.

        Raises:
          ValueError: it is neither.
        """
        kind = splits_dtype(dtype)
        if self._row_partition.dtype is kind:
            return self
        values = self._values
        if isinstance(values, RaggedTensor):
            values = values.with_row_splits_dtype(kind)
        return RaggedTensor(values, self._row_partition.with_dtype(kind), internal=KEY)

    def _set_shape(self, shape: Any) -> None:
        """Adds what is known of the shape."""
        dims = TensorShape(shape).dims_tuple
        if dims is None:
            return
        self._row_partition = self._row_partition._with_known(dims[0], dims[1])
        if isinstance(self._values, RaggedTensor):
            self._values._set_shape((None, *dims[2:]))
        elif isinstance(self._values, Tensor) and not isinstance(self._values, EagerTensor):
            self._values.set_shape((None, *dims[2:]))

    # ---- on the host

    def _is_eager(self) -> bool:
        parts = (self.flat_values, *self.nested_row_splits)
        return all(isinstance(p, EagerTensor) for p in parts)

    def to_list(self) -> list[Any]:
        """The value as nested lists.

        Raises:
          ValueError: it belongs to a graph.
        """
        if not self._is_eager():
            raise ValueError(
                "to_list can only be used in eager mode or with a RaggedTensorValue. Evaluate the "
                "ragged tensor in a session first."
            )
        return self._eager_value().to_list()

    def _eager_value(self) -> RaggedTensorValue:
        inner = self._values
        values = inner._eager_value() if isinstance(inner, RaggedTensor) else inner.numpy()
        return RaggedTensorValue(values, host_array(self.row_splits))

    def numpy(self) -> Any:
        """The value as an array; an object array of arrays where rows differ in length.

        Raises:
          ValueError: it belongs to a graph.
        """
        if not self._is_eager():
            raise ValueError(
                "RaggedTensor.numpy() is only supported in eager mode. Evaluate the ragged tensor "
                "in a session first."
            )
        values = self._values.numpy()
        splits = host_array(self.row_splits)
        rows = [values[a:b] for a, b in itertools.pairwise(splits)]
        if not rows:
            return np.zeros((0, 0, *values.shape[1:]), values.dtype)
        if any(len(r) != len(rows[0]) for r in rows):
            found = np.empty(len(rows), object)
            found[:] = rows
            return found
        return np.stack(rows)

    def __iter__(self) -> Iterator[Any]:
        if not self._is_eager():
            raise TypeError(
                "A RaggedTensor of a graph cannot be iterated over. Use tf.map_fn, or run eagerly."
            )
        return (self[i] for i in range(len(host_array(self.row_splits)) - 1))

    def __hash__(self) -> int:
        if by_value():
            raise TypeError("RaggedTensor is unhashable: `==` compares its elements.")
        return id(self)

    def __bool__(self) -> NoReturn:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __repr__(self) -> str:
        if self._is_eager():
            return f"<tf.RaggedTensor {array_text(self.numpy())}>"
        return f"tf.RaggedTensor(values={self._values}, row_splits={self.row_splits})"

    def __getitem__(self, key: Any) -> Any:
        """Part of the ragged tensor: integers, slices, `...`, `tf.newaxis`.

        An integer picks no element of a ragged inner dimension: rows may be too short.

        Raises:
          ValueError: an integer for a ragged inner dimension.
          TypeError: an index of another kind.
        """
        with scope(None, "RaggedGetItem"):
            return getitem(self, key)

    # ---- gradients are those of the flat values

    @property
    def _gradient_part(self) -> Any:
        return self.flat_values

    def _with_gradient(self, gradient: Any) -> "RaggedTensor":
        return self.with_flat_values(convert_to_tensor(gradient))

    # ---- as a value made of tensors

    @property
    def _type_spec(self) -> RaggedTensorSpec:
        flat = self.flat_values
        spec = None if isinstance(flat, Tensor) else type_spec_from_value(flat)
        if spec is not None:
            spec = spec._unbatch()._batch(None)  # type: ignore[attr-defined]
        shape = self.shape
        return RaggedTensorSpec(
            shape, self.dtype, self.ragged_rank, self._row_partition.dtype, spec
        )

    def _shape_invariant_to_type_spec(self, shape: Any) -> RaggedTensorSpec:
        return RaggedTensorSpec(shape, self.dtype, self.ragged_rank, self._row_partition.dtype)

    @staticmethod
    def _encoded(value: Any, batched: bool) -> Any:
        return encoded(value, batched)

    @staticmethod
    def _decoded(variant: Any, spec: RaggedTensorSpec) -> Any:
        found = decoded(
            RaggedTensor, variant, spec.dtype, max(spec.ragged_rank, 0), spec.row_splits_dtype
        )
        if isinstance(found, RaggedTensor):
            found._set_shape(spec.shape)
        elif not isinstance(found, EagerTensor):
            found.set_shape(spec.shape)
        return found

    def _to_variant(self, batched_input: bool = False, name: str | None = None) -> Any:
        return encoded(self, batched_input, name)

    @classmethod
    def _from_variant(
        cls,
        variant: Any,
        dtype: Any,
        output_ragged_rank: int,
        input_ragged_rank: int | None = None,
        row_splits_dtype: Any = dt.int64,
        name: str | None = None,
    ) -> Any:
        return decoded(
            cls, variant, dt.as_dtype(dtype), output_ragged_rank, splits_dtype(row_splits_dtype),
            input_ragged_rank, name,
        )  # fmt: skip


def axis_of(axis: int, rank: int | None, name: str = "axis") -> int:
    """`axis` counted from the front.

    Raises:
      ValueError: it is out of bounds, or negative for an unknown rank.
    """
    if rank is None:
        if axis < 0:
            raise ValueError(f"{name}={axis} may only be negative if ndims is statically known.")
        return axis
    if not -rank <= axis < rank:
        raise ValueError(f"{name}={axis} out of bounds: expected {-rank}<={name}<{rank}")
    return axis % rank


def array_text(array: Any) -> str:
    """An array of arrays as text, as NumPy prints arrays."""
    if isinstance(array, np.ndarray):
        if not array.size:
            return str(array.tolist())
        return np.array2string(array, separator=", ", formatter={"all": array_text})
    return str(array)


# ---- operators


def _operator(function: Callable[..., Any], reflected: bool) -> Callable[..., Any]:
    def operator(self: Any, other: Any) -> Any:
        return function(other, self) if reflected else function(self, other)

    return operator


def attach_operators(
    binary: dict[str, Callable[..., Any]], unary: dict[str, Callable[..., Any]]
) -> None:
    """Gives ragged tensors their operators; called by the module of element-wise functions."""
    for name, function in binary.items():
        setattr(RaggedTensor, f"__{name}__", _operator(function, False))
        if name not in ("lt", "le", "gt", "ge", "eq", "ne"):
            setattr(RaggedTensor, f"__r{name}__", _operator(function, True))
    for name, function in unary.items():
        setattr(RaggedTensor, f"__{name}__", function)


# ---- conversion and spec


def _refuse_conversion(
    value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> NoReturn:
    problem = ValueError if state.graph is None else TypeError
    raise problem(
        f"TypeError: object of type 'RaggedTensor' has no len(): a ragged tensor converts to no "
        f"Tensor: expected rows of one length, got {value!r}. Use x.to_tensor()."
    )


register_tensor_conversion_function(RaggedTensor, _refuse_conversion)


def _components(spec: RaggedTensorSpec, value: Any) -> list[Any]:
    if spec.ragged_rank <= 0 or not isinstance(value, (RaggedTensor, RaggedTensorValue)):
        return [value]
    return [value.flat_values, *value.nested_row_splits]


def _of_leaves(flat: Any, splits: list[Any]) -> Any:
    """A ragged tensor in form only: its parts are what a structure was mapped to."""
    result = flat
    for each in reversed(splits):
        result = RaggedTensor(result, RowPartition._of_leaf(each), internal=KEY)
    return result


def _from_components(spec: RaggedTensorSpec, components: Any) -> Any:
    flat, *splits = components
    result = flat
    if all(isinstance(c, np.ndarray) for c in components):
        for each in reversed(splits):
            result = RaggedTensorValue(result, each)
        return result
    if any(not isinstance(c, (Tensor, np.ndarray)) for c in splits):
        return _of_leaves(flat, splits)
    for each in reversed(splits):
        partition = RowPartition.from_row_splits(each, validate=False)
        result = RaggedTensor._from_row_partition(result, partition, validate=False)
    if isinstance(result, RaggedTensor):
        result._set_shape(spec.shape)
    elif isinstance(flat, Tensor) and state.graph is not None and hasattr(flat, "set_shape"):
        flat.set_shape(spec.shape)
    return result


attach_values(RaggedTensorSpec, ValueHooks(RaggedTensor, _components, _from_components))
