"""`tf.experimental.StructuredTensor`: fields by name that share their outer dimensions.

A structured tensor of shape [] is one record, one of shape [n] a table, one of shape [n, None]
tables of several lengths. Its shape has a row partition for each dimension but the first.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Union

from penstock.core.composite import CompositeTensor
from penstock.core.extension_type import (
    BatchableExtensionType,
    ExtensionType,
    ExtensionTypeBatchEncoder,
)
from penstock.core.tensor import Tensor
from penstock.ops.array_fill import zeros
from penstock.ops.ragged_class import RaggedTensor
from penstock.ops.ragged_conversions import merge_dims
from penstock.ops.ragged_partition import RowPartition
from penstock.ops.ragged_rows import is_ragged
from penstock.ops.ragged_shape import DynamicRaggedShape, DynamicRaggedShapeSpec
from penstock.ops.structured_python import from_python, joined, to_python
from penstock.ops.structured_shapes import checked_fields, common_shape, outer_shape, partitioned
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType, as_dtype
from penstock.types.ragged_spec import RowPartitionSpec
from penstock.types.tensor_shape import TensorShape, as_shape

_Field: Any = Union[Tensor, RaggedTensor, ExtensionType]  # noqa: UP007
FieldName = Union[str, Sequence[str]]  # noqa: UP007  as TensorFlow's, which programs may compare


class _FieldEncoder(ExtensionTypeBatchEncoder):
    """Stacks fields; the shape follows from them."""

    def batch(self, spec: Any, batch_size: int | None) -> Any:
        fields = {name: s._batch(batch_size) for name, s in spec._fields.items()}
        shape = TensorShape([batch_size]).concatenate(spec.shape)
        return _spec(fields, shape, spec._ragged_shape.dtype)

    def unbatch(self, spec: Any) -> Any:
        fields = {name: s._unbatch() for name, s in spec._fields.items()}
        return _spec(fields, spec.shape[1:], spec._ragged_shape.dtype)

    def encode(self, spec: Any, value: Any, minimum_rank: int = 0) -> Any:
        if not value._fields:
            raise ValueError(
                "StructuredTensor: expected a field, got none: rows without fields cannot be "
                "stacked."
            )
        return tuple(value._fields.values())

    def decode(self, spec: Any, encoded_value: Any) -> Any:
        fields = dict(zip(spec._fields, encoded_value, strict=True))
        return StructuredTensor.from_fields_and_rank(fields, spec.rank)

    def encoding_specs(self, spec: Any) -> Any:
        return tuple(spec._fields.values())


class StructuredTensor(BatchableExtensionType):
    """Tensors, ragged tensors or structured tensors by name, whose outer dimensions are the same.

    Made by `from_pyval`, `from_fields`, `from_fields_and_rank` and `from_shape`.

    Example:
      >>> rows = StructuredTensor.from_pyval([{"id": 1, "tags": ["a"]}, {"id": 2, "tags": []}])
      >>> rows.shape, rows.field_value("id").numpy().tolist(), rows[0, "tags"].numpy().tolist()
      (TensorShape([2]), [1, 2], [b'a'])
    """

    _fields: Mapping[str, _Field]
    _ragged_shape: DynamicRaggedShape

    __name__: ClassVar[str] = "tf.StructuredTensor"
    __batch_encoder__: ClassVar[ExtensionTypeBatchEncoder] = _FieldEncoder()
    FieldName: ClassVar[Any] = FieldName

    def __init__(self, fields: Mapping[str, Any], ragged_shape: DynamicRaggedShape) -> None:
        self._fields = fields
        self._ragged_shape = ragged_shape

    class Spec:
        """Describes a StructuredTensor: the specs of its fields, and its shape."""

        @property
        def shape(self) -> TensorShape:
            """What is known of the shape."""
            return _spec_shape(self._ragged_shape)  # type: ignore[attr-defined]

        @property
        def rank(self) -> int | None:
            """The number of dimensions."""
            return self._ragged_shape.rank  # type: ignore[attr-defined,no-any-return]

    # ---- factories

    @classmethod
    def from_fields(
        cls,
        fields: Mapping[str, Any],
        shape: Any = (),
        nrows: Any = None,
        row_partitions: Sequence[RowPartition] | None = None,
        validate: bool = False,
    ) -> "StructuredTensor":
        """A structured tensor of fields.

        Args:
          fields: values by name, each with outer dimensions `shape`: tensors or what converts to
            them, ragged tensors, structured tensors.
          shape: what is known of the shape; its rank must be.
          nrows: int64 scalar, the first dimension.
          row_partitions: a partition for each dimension but the first.
          validate: whether shapes that are not known yet are compared when the program runs.

        Returns:
          A StructuredTensor.

        Raises:
          TypeError: a name is no text, or a value no tensor.
          ValueError: shapes do not fit, or nothing says what the shape is.
        """
        found = checked_fields(fields)
        ragged = common_shape(as_shape(shape), found, nrows, row_partitions, validate)
        return cls(found, ragged)

    @classmethod
    def from_fields_and_rank(
        cls, fields: Mapping[str, Any], rank: int, validate: bool = False, dtype: Any = None
    ) -> "StructuredTensor":
        """A structured tensor of fields that share their outer `rank` dimensions.

        Args:
          fields: values by name; at least one.
          rank: the number of dimensions that they share.
          validate: whether shapes that are not known yet are compared when the program runs.
          dtype: int32 or int64, of the shape; int64 when None.

        Raises:
          ValueError: there is no field, `rank` is negative, or shapes do not fit.
        """
        if not fields:
            raise ValueError("Must provide at least one field")
        if not isinstance(rank, int):
            raise ValueError(f"rank must be an integer, got {rank!r}.")
        if rank < 0:
            raise ValueError(f"rank must be nonnegative, got {rank}.")
        kind = dt.int64 if dtype is None else as_dtype(dtype)
        found = checked_fields(fields)
        shape = TensorShape([None] * rank)
        return cls(found, common_shape(shape, found, validate=validate, dtype=kind))

    @classmethod
    def from_shape(cls, ragged_shape: DynamicRaggedShape) -> "StructuredTensor":
        """A structured tensor without fields.

        Args:
          ragged_shape: its shape.

        Raises:
          TypeError: it is no DynamicRaggedShape.
        """
        if isinstance(ragged_shape, DynamicRaggedShape):
            ragged_shape = partitioned(ragged_shape, ragged_shape.rank or 0)
        return cls({}, ragged_shape)

    @classmethod
    def from_pyval(cls, pyval: Any, typespec: Any = None) -> Any:
        """A structured tensor of dicts in nested lists; a tensor of what has no dicts.

        Args:
          pyval: the value: dicts with the same names, all equally deep in lists.
          typespec: the spec of the result; inferred when None.

        Returns:
          A StructuredTensor, whose lists of lists are ragged tensors.

        Raises:
          KeyError: a dict lacks a field that others have.
          ValueError: dicts are not equally deep, or values do not fit.
        """
        return from_python(
            pyval, typespec, lambda fields, shape: cls(checked_fields(fields), shape)
        )

    # ---- parts

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape."""
        return self._ragged_shape._to_tensor_shape()

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return self._ragged_shape.rank or 0

    @property
    def row_partitions(self) -> tuple[RowPartition, ...]:
        """A partition for each dimension but the first."""
        return self._ragged_shape.row_partitions

    def nrows(self) -> Any:
        """The first dimension as a scalar, None for rank 0."""
        if not self.rank:
            return None
        partitions = self._ragged_shape.row_partitions
        return partitions[0].nrows() if partitions else self._ragged_shape.inner_shape[0]

    def field_names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(self._fields)

    def field_value(self, field_name: FieldName) -> Any:
        """A field, or a field of a field.

        Args:
          field_name: its name, or the names on the way to it.

        Raises:
          KeyError: there is no such field.
        """
        if isinstance(field_name, str):
            return self._fields[field_name]
        value: Any = self
        for name in field_name:
            if not isinstance(value, StructuredTensor):
                raise KeyError(
                    f"Field path {tuple(field_name)} not found: {name!r} is asked of what is no "
                    "StructuredTensor."
                )
            value = value._fields[name]
        return value

    def with_shape_dtype(self, dtype: DType) -> "StructuredTensor":
        """The same with row splits of another dtype, in the fields too.

        Args:
          dtype: int32 or int64.

        Raises:
          ValueError: it is another one.
        """
        kind = as_dtype(dtype)
        shape = self._ragged_shape.with_dtype(kind)

        def changed(value: Any) -> Any:
            if isinstance(value, StructuredTensor):
                return value.with_shape_dtype(kind)
            return value.with_row_splits_dtype(kind) if is_ragged(value) else value

        return StructuredTensor({n: changed(v) for n, v in self._fields.items()}, shape)

    # ---- other values

    def __getitem__(self, key: Any) -> Any:
        """Rows, a field of rows, or a part of one: `table[1:]`, `table[:, "name"]`.

        The keys of the outer dimensions come first, then the name of a field, then its own keys.

        Raises:
          TypeError: a name stands for a row.
          ValueError: Ellipsis or tf.newaxis stands for a row; something else for a name.
        """
        keys = list(key) if isinstance(key, (list, tuple)) else [key]
        outer, inner = keys[: self.rank], keys[self.rank :]
        if not self.rank:
            return self._field_item(keys)
        for each in outer:
            _check_row_key(each)
        if inner:
            if not isinstance(inner[0], str):
                raise ValueError(
                    f"Key for indexing a StructuredTensor must be a string, got {inner[0]!r}: the "
                    "name of a field."
                )
            return self._fields[inner[0]][tuple(outer + inner[1:])]
        if not outer:
            return self
        fields = {name: value[tuple(outer)] for name, value in self._fields.items()}
        rank = self.rank - sum(not isinstance(k, slice) for k in outer)
        shape = outer_shape(self._marker()[tuple(outer)], rank, self._ragged_shape.dtype)
        return StructuredTensor(fields, shape)

    def __iter__(self) -> Iterator[Any]:
        """The rows.

        Raises:
          TypeError: there are none, or their number is not known while a graph is built.
        """
        count = self.shape[0] if self.rank else None
        if count is None:
            raise TypeError("StructuredTensor: expected a known number of rows to go through.")
        return iter([self[i] for i in range(count)])

    def _field_item(self, keys: list[Any]) -> Any:
        if not keys or keys == [slice(None)]:
            return self
        if not isinstance(keys[0], str):
            raise ValueError(
                "Key for indexing a StructuredTensor must be a string or a full slice (':'), got "
                f"{keys[0]!r}."
            )
        value = self._fields[keys[0]]
        return value[tuple(keys[1:])] if keys[1:] else value

    def _marker(self) -> Any:
        """Zeros of this shape, a tensor or ragged tensor: what becomes of them tells a shape."""
        shape = self._ragged_shape
        flat = zeros(shape.inner_shape, dt.int32)
        return shape._add_row_partitions(flat) if shape.row_partitions else flat

    def merge_dims(self, outer_axis: int, inner_axis: int) -> "StructuredTensor":
        """The same with dimensions `outer_axis` to `inner_axis` as one.

        Args:
          outer_axis: the first; counted from the end when negative.
          inner_axis: the last.

        Raises:
          ValueError: there is no such dimension, or they are the wrong way round.
        """
        outer = _axis(outer_axis, self.rank, "outer_axis")
        inner = _axis(inner_axis, self.rank, "inner_axis")
        if outer > inner:
            raise ValueError(
                f"Expected outer_axis ({outer_axis}) to be less than or equal to inner_axis "
                f"({inner_axis})"
            )
        fields = {name: _merged(value, outer, inner) for name, value in self._fields.items()}
        rank = self.rank - (inner - outer)
        merged = merge_dims(self._marker(), outer, inner)
        return StructuredTensor(fields, outer_shape(merged, rank, self._ragged_shape.dtype))

    def partition_outer_dimension(self, row_partition: RowPartition) -> "StructuredTensor":
        """The same with the first dimension as two.

        Args:
          row_partition: how the rows are grouped.

        Raises:
          TypeError: it is no RowPartition.
          ValueError: there is no first dimension.
          InvalidArgumentError: it is of another number of rows.
        """
        if not isinstance(row_partition, RowPartition):
            raise TypeError(f"row_partition must be a RowPartition, got {row_partition!r}.")
        if not self.rank:
            raise ValueError("Shape () must have rank at least 1")
        partition = row_partition.with_dtype(self._ragged_shape.dtype)
        fields: dict[str, Any] = {}
        for name, value in self._fields.items():
            if isinstance(value, StructuredTensor):
                fields[name] = value.partition_outer_dimension(row_partition)
            else:
                own = value.row_splits.dtype if is_ragged(value) else partition.dtype
                fields[name] = RaggedTensor._from_row_partition(value, partition.with_dtype(own))
        marker = RaggedTensor._from_row_partition(self._marker(), partition)
        return StructuredTensor(fields, outer_shape(marker, self.rank + 1, partition.dtype))

    def promote(self, source_path: Sequence[str], new_name: str) -> "StructuredTensor":
        """A copy of a field of a field, put beside the field around it.

        Args:
          source_path: the names on the way to the field; at least two.
          new_name: the name of the copy.

        Returns:
          The same with the copy, whose dimensions that the field around it added are one.

        Raises:
          ValueError: the path is shorter.
          KeyError: there is no such field.
        """
        path = tuple(source_path)
        if len(path) < 2:
            raise ValueError(f"source_path must have length at least two, got {path}.")
        around, parent = self.field_value(path[:-2]), self.field_value(path[:-1])
        value = self.field_value(path)
        last = min(parent.rank, value.shape.rank - 1)
        if last > around.rank:
            value = _merged(value, around.rank, last)
        return self.with_updates({(*path[:-2], new_name): value})

    def with_updates(
        self, updates: Mapping[Any, Any], validate: bool = False
    ) -> "StructuredTensor":
        """The same with fields set, computed or removed.

        Args:
          updates: by name or path: the new value, a function of the old one, or None to remove it.
          validate: whether shapes that are not known yet are compared when the program runs.

        Raises:
          ValueError: a path has no structured tensor around it, a value does not fit, a field that
            is to be removed or computed is not there, or a field and one inside of it are updated.
        """
        paths = {(k,) if isinstance(k, str) else tuple(k): v for k, v in updates.items()}
        _check_paths(paths)
        return self._updated(paths, validate, ())

    def _updated(
        self, updates: dict[tuple[str, ...], Any], validate: bool, around: tuple[str, ...]
    ) -> "StructuredTensor":
        fields = dict(self._fields)
        inner: dict[str, dict[tuple[str, ...], Any]] = {}
        for (name, *rest), value in updates.items():
            if rest:
                inner.setdefault(name, {})[tuple(rest)] = value
            else:
                _update(fields, name, value, (*around, name))
        for name, parts in inner.items():
            held = fields.get(name)
            if not isinstance(held, StructuredTensor):
                raise _no_parent((*around, name), next(iter(parts)), held)
            fields[name] = held._updated(parts, validate, (*around, name))
        try:
            return StructuredTensor.from_fields(
                fields, self.shape, self.nrows(), self.row_partitions, validate
            )
        except ValueError as problem:
            raise ValueError(f"`StructuredTensor.with_updates` failed: {problem}") from problem

    def to_pyval(self) -> Any:
        """Dicts in nested lists.

        Raises:
          ValueError: the values are not eager.
        """
        columns = {name: to_python(value) for name, value in self._fields.items()}
        return joined(to_python(self._marker()), self.rank, columns)

    def __repr__(self) -> str:
        lines = [
            f'"{name}": {value!s}'.replace("\n", "\n" + " " * 12)
            for name, value in sorted(self._fields.items())
        ]
        fields = ",\n        ".join(lines)
        return f"<StructuredTensor(\n    fields={{\n        {fields}}},\n    shape={self.shape})>"


def _check_row_key(key: Any) -> None:
    if key is Ellipsis or key is None:
        shown = "Ellipsis" if key is Ellipsis else "tf.newaxis"
        raise ValueError(f"Slicing not supported for {shown}. Name every dimension.")
    parts = (key.start, key.stop, key.step) if isinstance(key, slice) else (key,)
    for part in parts:
        if isinstance(part, str):
            raise TypeError(
                "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
                f"tf.int32/tf.int64 tensors are valid indices, got {part!r}. The name of a field "
                "comes after the keys of the rows: table[:, 'name']."
            )


def _axis(axis: int, rank: int, name: str) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"{name}={axis} out of bounds: expected {-rank}<={name}<{rank}")
    return axis % rank


def _merged(value: Any, outer: int, inner: int) -> Any:
    if isinstance(value, StructuredTensor):
        return value.merge_dims(outer, inner)
    return merge_dims(value, outer, inner)


_WITH = "`StructuredTensor.with_updates`"


def _check_paths(updates: Mapping[tuple[str, ...], Any]) -> None:
    for path in updates:
        if not path:
            raise ValueError(f"{_WITH} does not allow empty names {tuple(updates)}.")
        for end in range(1, len(path)):
            if path[:end] in updates:
                raise ValueError(
                    f"{_WITH} does not allow both parent and child nodes to be updated: "
                    f"parent={path[:end]}, child={path}. If needed you can update child nodes in "
                    "the parent update value."
                )


def _update(fields: dict[str, Any], name: str, value: Any, path: tuple[str, ...]) -> None:
    if value is None:
        if name not in fields:
            raise ValueError(f"{_WITH} cannot delete field {path} because it is not present.")
        del fields[name]
    elif callable(value) and not isinstance(value, (Tensor, CompositeTensor)):
        if name not in fields:
            raise ValueError(
                f"{_WITH} cannot update the field {path} because a transforming function was "
                "given, but that field does not already exist."
            )
        fields[name] = value(fields[name])
    else:
        fields[name] = value


def _no_parent(parent: tuple[str, ...], rest: tuple[str, ...], held: Any) -> ValueError:
    path = (*parent, *rest)
    if held is None:
        return ValueError(
            f"{_WITH} cannot create new sub-field {path} if parent field {parent} is not set."
        )
    return ValueError(
        f"{_WITH} cannot create new sub-field {path} if parent structure {parent} is not a "
        "`StructuredTensor` that can contain sub-structures -- it is a "
        f"`{type(held).__name__}`."
    )


def _spec_shape(spec: Any) -> TensorShape:
    """What the spec of a DynamicRaggedShape says of the shape."""
    partitions = spec._row_partitions
    if not partitions:
        return spec._static_inner_shape  # type: ignore[no-any-return]
    lengths = [p.uniform_row_length for p in partitions]
    return TensorShape([partitions[0].nrows, *lengths]).concatenate(spec._static_inner_shape[1:])


def _spec(fields: Mapping[str, Any], shape: TensorShape, dtype: DType) -> Any:
    """The spec of a structured tensor with fields of these specs, and of this shape."""
    rows, *lengths = shape.as_list() if shape.rank else [None]
    partitions = []
    for length in lengths:
        partitions.append(RowPartitionSpec(rows, None, length, dtype))
        rows = None if rows is None or length is None else rows * length
    inner = TensorShape([rows] if shape.rank else [])
    ragged = DynamicRaggedShapeSpec(partitions, inner, dtype)
    return StructuredTensor.Spec(_fields=fields, _ragged_shape=ragged)  # type: ignore[call-arg]


__all__ = ["StructuredTensor"]
