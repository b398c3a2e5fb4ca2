"""`tf.experimental.DynamicRaggedShape`: the shape of a tensor or ragged tensor, as a value.

It is row partitions for the outer dimensions, from axis 1 on, and the dense shape of the values
inside. Shapes of dense tensors have no row partitions.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core import dispatch
from penstock.core.composite import CompositeTensor, known_shape
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import EagerTensor, host_array
from penstock.ops.array_basics import reshape as dense_reshape
from penstock.ops.array_fill import fill as dense_fill
from penstock.ops.array_fill import ones as dense_ones
from penstock.ops.array_fill import zeros as dense_zeros
from penstock.ops.ragged_class import RaggedTensor
from penstock.ops.ragged_elementwise import meet, ragged_or_tensor
from penstock.ops.ragged_partition import RowPartition
from penstock.ops.ragged_parts import cast, splits_dtype
from penstock.ops.ragged_rows import is_ragged
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType, as_dtype
from penstock.types.ragged_spec import RowPartitionSpec
from penstock.types.tensor_shape import TensorShape
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import TypeSpec, register


@register("tf.DynamicRaggedShape.Spec")
class DynamicRaggedShapeSpec(TypeSpec):
    """Describes a DynamicRaggedShape.

    Args:
      row_partitions: a tuple of RowPartitionSpecs.
      static_inner_shape: the shape inside of them, as far as it is known.
      dtype: int32 or int64.
    """

    __slots__ = ("_dtype", "_row_partitions", "_static_inner_shape")

    def __init__(
        self,
        row_partitions: Sequence[RowPartitionSpec],
        static_inner_shape: TensorShape,
        dtype: DType,
    ) -> None:
        self._row_partitions = tuple(row_partitions)
        self._static_inner_shape = TensorShape(static_inner_shape)
        self._dtype = as_dtype(dtype)

    @property
    def dtype(self) -> DType:
        """The type of the row splits and of the inner shape."""
        return self._dtype

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None."""
        inner = self._static_inner_shape.rank
        return None if inner is None else inner + len(self._row_partitions)

    @property
    def inner_rank(self) -> int | None:
        """The number of inner dimensions, or None."""
        return self._static_inner_shape.rank

    @property
    def num_row_partitions(self) -> int:
        """The number of row partitions."""
        return len(self._row_partitions)

    @property
    def value_type(self) -> type:
        """The class DynamicRaggedShape."""
        return DynamicRaggedShape

    def _serialize(self) -> tuple[Any, ...]:
        """As that of an extension type, which the class is in TensorFlow."""
        return (
            ("_row_partitions", self._row_partitions),
            ("_inner_shape", TensorSpec([self.inner_rank], self._dtype)),
            ("_static_inner_shape", self._static_inner_shape),
        )

    @classmethod
    def _deserialize(cls, serialization: tuple[Any, ...]) -> "DynamicRaggedShapeSpec":
        parts = dict(serialization)
        inner: TensorSpec = parts["_inner_shape"]
        return cls(parts["_row_partitions"], parts["_static_inner_shape"], inner.dtype)

    @property
    def _component_specs(self) -> tuple[Any, ...]:
        return (TensorSpec([self.inner_rank], self._dtype), *self._row_partitions)

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        return (value.inner_shape, *value.row_partitions)

    def _from_components(self, components: Any) -> "DynamicRaggedShape":
        inner, *partitions = components
        return DynamicRaggedShape(
            partitions, inner, self._dtype, static_inner_shape=self._static_inner_shape
        )

    def __repr__(self) -> str:
        return (
            f"DynamicRaggedShape.Spec(row_partitions={self._row_partitions!r}, "
            f"static_inner_shape={self._static_inner_shape!r}, dtype={self._dtype!r})"
        )


class DynamicRaggedShape(CompositeTensor):
    """The shape of a tensor or ragged tensor.

    Args:
      row_partitions: the partitions of the axes from 1 on, from the outermost.
      inner_shape: an integer vector, the shape of the values inside.
      dtype: int32 or int64; that of the partitions when None.
      validate: whether to check that the parts fit.
      static_inner_shape: what is known of `inner_shape`.

    Example:
      >>> tf.experimental.DynamicRaggedShape.from_lengths([2, (2, 1), 3])
      <DynamicRaggedShape lengths=[2, (2, 1), 3] num_row_partitions=1>
    """

    __slots__ = ("_inner_shape", "_row_partitions", "_static_inner_shape")
    Spec = DynamicRaggedShapeSpec

    def __init__(
        self,
        row_partitions: Sequence[RowPartition],
        inner_shape: Any,
        dtype: Any = None,
        validate: bool = False,
        static_inner_shape: Any = None,
    ) -> None:
        if not all(isinstance(p, RowPartition) for p in row_partitions):
            raise TypeError(
                "row_partitions should be a list of row partitions. DynamicRaggedShape got "
                f"{row_partitions!r}."
            )
        kinds = {p.dtype for p in row_partitions}
        if dtype is None:
            if len(kinds) > 1:
                raise ValueError("row_partitions must have one dtype. Give dtype=tf.int64.")
            own = getattr(inner_shape, "dtype", None)
            known = own if own in (dt.int32, dt.int64) else None
            dtype = kinds.pop() if kinds else known or dt.int64
        kind = splits_dtype(dtype, "dtype")
        self._row_partitions = tuple(p.with_dtype(kind) for p in row_partitions)
        inner = convert_to_tensor(inner_shape, dtype_hint=kind)
        self._inner_shape = cast(inner, kind)
        self._inner_shape.shape.assert_has_rank(1)
        found = TensorShape.from_dims(known_shape(self._inner_shape))
        self._static_inner_shape = (
            found if static_inner_shape is None else found.merge_with(static_inner_shape)
        )
        if row_partitions and self._static_inner_shape.rank == 0:
            raise ValueError("inner_shape must have at least rank 1 if there are row_partitions.")
        if validate:
            self._validate()

    def _validate(self) -> None:
        last = None
        for each in self._row_partitions:
            rows = each.static_nrows
            if last is not None and rows is not None and last != rows:
                raise ValueError(f"A partition of {rows} rows cannot follow one of {last} values.")
            last = each.static_nvals

    # ---- factories

    @classmethod
    def from_lengths(
        cls,
        lengths: Sequence[Any],
        num_row_partitions: int | None = None,
        dtype: Any = dt.int64,
    ) -> "DynamicRaggedShape":
        """A shape from the length of each axis.

        Args:
          lengths: an integer for a uniform axis, a list of row lengths for a ragged one; the first
            is an integer.
          num_row_partitions: the number of row partitions; up to the last ragged axis when None.
          dtype: int32 or int64.

        Returns:
          A DynamicRaggedShape.

        Raises:
          ValueError: the lengths do not fit.
        """
        lengths = list(lengths)
        ragged = [i for i, n in enumerate(lengths) if not isinstance(n, (int, np.integer))]
        if ragged and ragged[0] == 0:
            raise ValueError("lengths[0] must be an integer: the number of rows.")
        least = ragged[-1] if ragged else 0
        count = least if num_row_partitions is None else num_row_partitions
        if count < least:
            raise ValueError(f"num_row_partitions should not be less than {least}")
        if count and count >= len(lengths):
            raise ValueError(
                f"num_row_partitions must be less than {len(lengths)}, the number of lengths."
            )
        kind = splits_dtype(dtype, "dtype")
        rows = int(lengths[0]) if lengths else None
        partitions = []
        for axis in range(1, count + 1):
            each = lengths[axis]
            if axis in ragged:
                if len(each) != rows:
                    raise ValueError(
                        f"The lengths of axis {axis} must be {rows} numbers, got {len(each)}."
                    )
                made = RowPartition.from_row_lengths(np.array(each, kind.numpy_dtype))
                rows = sum(int(n) for n in each)
            else:
                made = RowPartition.from_uniform_row_length(
                    int(each), nvals=int(each) * (rows or 0), nrows=rows, dtype=kind
                )
                rows = int(each) * (rows or 0)
            partitions.append(made)
        inner = [] if rows is None else [rows, *lengths[count + 1 :]]
        return cls(partitions, np.array(inner, kind.numpy_dtype), kind)

    @classmethod
    def from_row_partitions(
        cls, row_partitions: Sequence[RowPartition], dtype: Any = None
    ) -> "DynamicRaggedShape":
        """A shape whose innermost axis is the last partition's.

        Args:
          row_partitions: at least one partition.
          dtype: int32 or int64.

        Raises:
          ValueError: there is no partition.
        """
        if not row_partitions:
            raise ValueError("row_partitions cannot be empty")
        inner = execute("Reshape", (row_partitions[-1].nvals(), [1]))
        return cls(row_partitions, inner, dtype)

    @classmethod
    def from_tensor(cls, t: Any, dtype: Any = None) -> "DynamicRaggedShape":
        """The shape of a tensor or ragged tensor.

        Args:
          t: the tensor.
          dtype: int32 or int64; int32 for a dense tensor when None.
        """
        t = ragged_or_tensor(t)
        partitions = t._nested_row_partitions if is_ragged(t) else ()
        kind = dtype or (partitions[0].dtype if partitions else dt.int32)
        flat = t.flat_values if is_ragged(t) else t
        inner = execute("Shape", (flat,), {"out_type": as_dtype(kind)})
        return cls(partitions, inner, kind, static_inner_shape=flat.shape)

    # ---- parts

    @property
    def dtype(self) -> DType:
        """The type of the row splits and of the inner shape."""
        return self._inner_shape.dtype  # type: ignore[no-any-return]

    @property
    def row_partitions(self) -> tuple[RowPartition, ...]:
        """The partitions of the axes from 1 on."""
        return self._row_partitions

    @property
    def num_row_partitions(self) -> int:
        """The number of row partitions."""
        return len(self._row_partitions)

    @property
    def inner_shape(self) -> Any:
        """The shape of the values inside, an integer vector."""
        return self._inner_shape

    @property
    def inner_rank(self) -> int | None:
        """The number of inner dimensions, or None."""
        return self._static_inner_shape.rank

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None."""
        inner = self.inner_rank
        return None if inner is None else inner + self.num_row_partitions

    def is_uniform(self, axis: int) -> bool:
        """Whether an axis has one size.

        Args:
          axis: counted from the front.

        Raises:
          ValueError, IndexError: there is no such axis.
        """
        if not isinstance(axis, int):
            raise TypeError(f"axis must be an integer, got {axis!r}.")
        rank = self.rank
        if axis < 0:
            raise IndexError(f"Negative axis values are not supported, got {axis}.")
        if rank is not None and axis >= rank:
            raise IndexError(f"Expected axis={axis} < rank={rank}")
        return not 1 <= axis <= self.num_row_partitions or (
            self._row_partitions[axis - 1].is_uniform()
        )

    def static_lengths(self, ragged_lengths: bool = True) -> list[Any]:
        """The length of each axis, as far as it is known when the graph is built.

        Args:
          ragged_lengths: whether to give the row lengths of a ragged axis, or None.

        Returns:
          Integers, tuples of integers and None; `...` at the end when the rank is unknown.
        """
        inner = self._static_inner_shape
        if not self._row_partitions:
            return [...] if inner.rank is None else inner.as_list()
        found: list[Any] = [self._row_partitions[0].static_nrows]
        for each in self._row_partitions:
            found.append(_static_lengths(each, ragged_lengths))
        tail = [...] if inner.rank is None else inner.as_list()[1:]
        return [*found, *tail]

    def with_dtype(self, dtype: Any) -> "DynamicRaggedShape":
        """The same shape with another dtype.

        Args:
          dtype: int32 or int64.
        """
        kind = splits_dtype(dtype, "dtype")
        return self if kind is self.dtype else self._rebuilt(kind)

    def _rebuilt(self, kind: DType) -> "DynamicRaggedShape":
        return DynamicRaggedShape(
            self._row_partitions, self._inner_shape, kind,
            static_inner_shape=self._static_inner_shape,
        )  # fmt: skip

    def _to_tensor_shape(self) -> TensorShape:
        sizes = [n if isinstance(n, int) else None for n in self.static_lengths(False)]
        return TensorShape(None) if ... in self.static_lengths(False) else TensorShape(sizes)

    def _num_elements(self) -> Any:
        return execute("Prod", (self._inner_shape, np.array([0], np.int32)))

    def __getitem__(self, index: Any) -> Any:
        """The size of a uniform axis, or the shape of some axes.

        Raises:
          ValueError: an axis is not uniform.
          IndexError: there is no such axis.
        """
        if isinstance(index, slice):
            return self._axes(index)
        rank = self.rank
        if index < 0:
            if rank is None:
                raise ValueError("Rank must be known to use __getitem__ with a negative index.")
            index += rank
        if rank is not None and not 0 <= index < rank:
            raise IndexError(f"Index must be between 0 and {rank - 1}")
        if not self.is_uniform(index):
            raise ValueError(f"Index {index} is not uniform: rows differ in length.")
        return self._size(index)

    def _size(self, axis: int) -> Any:
        count = self.num_row_partitions
        if axis == 0 and count:
            return self._row_partitions[0].nrows()
        if axis <= count:
            return (
                self._row_partitions[axis - 1].uniform_row_length()
                if count
                else (self._inner_shape[0])
            )
        return self._inner_shape[axis - count]

    def _axes(self, index: slice) -> "DynamicRaggedShape":
        if index.step not in (None, 1):
            raise IndexError("Cannot stride through a shape")
        rank, count = self.rank, self.num_row_partitions
        if rank is None:
            ragged = index.stop is not None and 0 <= index.stop <= count + 1
            if index.start not in (None, 0) or not ragged:
                raise ValueError("Rank must be known to slice a shape beyond its ragged part.")
            rank = count + 2  # at least: the last axis is not among those that are asked for
        start, stop, _ = index.indices(rank)
        if start == 0 and stop > 1 and count and stop <= count + 1:
            if stop == rank:
                return self
            kept = self._row_partitions[: stop - 1]
            inner = execute("Reshape", (kept[-1].nvals(), [1]))
            return DynamicRaggedShape(kept, inner, self.dtype)
        if start == 0 and stop > count + 1 and count:
            return DynamicRaggedShape(
                self._row_partitions, self._inner_shape[: stop - count], self.dtype
            )
        if start >= stop:
            return DynamicRaggedShape((), np.zeros(0, self.dtype.numpy_dtype), self.dtype)
        if not all(self.is_uniform(i) for i in range(stop)):
            raise ValueError("All relevant dimensions must be uniform: a ragged one has no size.")
        sizes = [self._size(i) for i in range(start, stop)]
        return DynamicRaggedShape((), execute("Pack", (sizes,), {"axis": 0}), self.dtype)

    def __repr__(self) -> str:
        shown = ", ".join("..." if n is ... else str(n) for n in self.static_lengths())
        return (
            f"<DynamicRaggedShape lengths=[{shown}] num_row_partitions={self.num_row_partitions}>"
        )

    def _add_row_partitions(self, flat_values: Any, validate: bool = False) -> Any:
        return RaggedTensor._from_nested_row_partitions(
            flat_values, self._row_partitions, validate=validate
        )

    @property
    def _type_spec(self) -> DynamicRaggedShapeSpec:
        return DynamicRaggedShapeSpec(
            tuple(p._type_spec for p in self._row_partitions), self._static_inner_shape, self.dtype
        )


def _static_lengths(partition: RowPartition, ragged_lengths: bool) -> Any:
    if partition.is_uniform():
        return partition.static_uniform_row_length
    lengths = partition.row_lengths()
    if ragged_lengths and isinstance(lengths, EagerTensor):
        return tuple(int(n) for n in host_array(lengths))
    return None


# ---- operations with such shapes


def shape(input: Any, out_type: Any = None, name: str | None = None) -> DynamicRaggedShape:
    """`tf.shape` of a ragged tensor."""
    del name
    kind = dt.int32 if out_type is None else as_dtype(out_type)
    return DynamicRaggedShape.from_tensor(input).with_dtype(kind)


def shape_v1(input: Any, name: str | None = None, out_type: Any = dt.int32) -> DynamicRaggedShape:
    """`tf.compat.v1.shape` of a ragged tensor."""
    return shape(input, out_type, name)


def fill(dims: Any, value: Any, name: str | None = None, layout: Any = None) -> Any:
    """`tf.fill` of a ragged shape."""
    del layout
    return dims._add_row_partitions(dense_fill(dims.inner_shape, value, name))


def zeros(shape: Any, dtype: Any = dt.float32, name: str | None = None, layout: Any = None) -> Any:
    """`tf.zeros` of a ragged shape."""
    del layout
    return shape._add_row_partitions(dense_zeros(shape.inner_shape, dtype, name))


def ones(shape: Any, dtype: Any = dt.float32, name: str | None = None, layout: Any = None) -> Any:
    """`tf.ones` of a ragged shape."""
    del layout
    return shape._add_row_partitions(dense_ones(shape.inner_shape, dtype, name))


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """`tf.reshape` of a ragged tensor, or to a ragged shape: the flat values in another form."""
    value = ragged_or_tensor(tensor)
    flat = value.flat_values if is_ragged(value) else value
    if not isinstance(shape, DynamicRaggedShape):
        return dense_reshape(flat, shape, name)
    return shape._add_row_partitions(dense_reshape(flat, shape.inner_shape, name), validate=True)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Any:
    """`tf.broadcast_to` to a ragged shape."""
    if not isinstance(shape, DynamicRaggedShape):
        return dispatch.UNHANDLED
    value = ragged_or_tensor(input)
    target = zeros(shape, dt.int8)
    if is_ragged(value) and is_ragged(target):
        value, target = (v.with_row_splits_dtype(dt.int64) for v in (value, target))
    if not is_ragged(value) and (not is_ragged(target) or value.dims == ()):
        return shape._add_row_partitions(
            execute("BroadcastTo", (value, shape.inner_shape), None, name)
        )
    left, right, build = meet(value, target)
    return build(execute("BroadcastTo", (left, execute("Shape", (right,)))))


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> DynamicRaggedShape:
    """`tf.broadcast_dynamic_shape` of ragged shapes."""
    both = [_as_shape(s) for s in (shape_x, shape_y)]
    if both[0].dtype is not both[1].dtype:
        both = [s.with_dtype(dt.int64) for s in both]
    x, y = (zeros(s, dt.int8) for s in both)
    if not is_ragged(x) and not is_ragged(y):
        inner = execute("BroadcastArgs", tuple(s.inner_shape for s in both))
        return DynamicRaggedShape((), inner)
    left, right, build = meet(x, y)
    return DynamicRaggedShape.from_tensor(build(execute("AddV2", (left, right))))


def _as_shape(value: Any) -> DynamicRaggedShape:
    if isinstance(value, DynamicRaggedShape):
        return value
    return DynamicRaggedShape((), convert_to_tensor(value, dtype_hint=dt.int64))


_handlers: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("array_basics.shape", shape),
    ("array_basics.shape_v1", shape_v1),
    ("array_basics.reshape", reshape),
    ("array_shape.broadcast_to", broadcast_to),
)
for _key, _function in _handlers:
    dispatch.handler(_key, RaggedTensor)(_function)
_handlers = (
    ("array_fill.fill", fill),
    ("array_fill.zeros", zeros),
    ("array_fill.ones", ones),
    ("array_basics.reshape", reshape),
    ("array_shape.broadcast_to", broadcast_to),
    ("array_shape.broadcast_dynamic_shape", broadcast_dynamic_shape),
)
for _key, _function in _handlers:
    dispatch.handler(_key, DynamicRaggedShape)(_function)
