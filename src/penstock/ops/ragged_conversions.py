"""Ragged tensors to and from dense and sparse ones, and with dimensions merged."""

from typing import Any, Self

import numpy as np

from penstock.core.composite import SparseTensor, is_sparse
from penstock.core.context import in_home, state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.static_values import constant_value
from penstock.ops import debug_asserts as asserts
from penstock.ops.composing import scope
from penstock.ops.ragged_dense_ops import TO_SPARSE, TO_TENSOR
from penstock.ops.ragged_factories import RaggedFactories
from penstock.ops.ragged_partition import RowPartition, as_splits
from penstock.ops.ragged_parts import after, cast, inner_shape, row_count, splits_dtype
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType
from penstock.types.tensor_shape import TensorShape


class RaggedConversions(RaggedFactories):
    """The methods that go from and to other layouts."""

    __slots__ = ()

    # The class says what these are.
    _values: Any
    _row_partition: Any

    # ---- dense

    @classmethod
    @in_home
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = dt.int64,
    ) -> Any:
        """A ragged tensor from a dense one.

        Args:
          tensor: any dtype, of rank above `ragged_rank`.
          lengths: the length of each row, int[nrows]; or a list of such, for each ragged dimension.
          padding: the value that fills the end of a row, and is left out there; its shape is that
            of `tensor` without `ragged_rank + 1` dimensions.
          ragged_rank: the number of ragged dimensions.
          name: a scope in a graph.
          row_splits_dtype: int32 or int64.

        Returns:
          A RaggedTensor.

        Raises:
          ValueError, TypeError: the arguments do not fit.

        Example:
          >>> tf.RaggedTensor.from_tensor([[1, 2, 0], [3, 0, 0]], padding=0)
          <tf.RaggedTensor [[1, 2], [3]]>
        """
        kind = splits_dtype(row_splits_dtype, "row_splits_dtype")
        if lengths is not None and padding is not None:
            raise ValueError("Specify argument `lengths` or `padding`, but not both.")
        if not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
        if ragged_rank <= 0:
            raise ValueError(
                f"Argument `ragged_rank` must be greater than 0. Received {ragged_rank}."
            )
        with scope(name, "RaggedFromTensor"):
            tensor = convert_to_tensor(tensor, name="tensor")
            if tensor.dims is not None and len(tensor.dims) <= 1:
                raise ValueError(
                    "The rank of a RaggedTensor must be greater than 1, i.e., a list of scalars "
                    "won't have ragged dimensions. Received argument `tensor` with rank "
                    f"{len(tensor.dims)}."
                )
            tensor.shape.with_rank_at_least(ragged_rank + 1)
            if lengths is None and padding is None:
                return _uniform(cls, tensor, ragged_rank, kind)
            if _is_nested(lengths):
                return _from_nested_lengths(cls, tensor, lengths, kind)
            if ragged_rank > 1:
                return _from_padded_rows(cls, tensor, lengths, padding, ragged_rank, kind)
            if padding is not None:
                lengths = _lengths_without(tensor, padding, kind)
            return _cut(cls, tensor, as_splits(lengths, "lengths", hint=kind), kind)

    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: Any = None
    ) -> Tensor:
        """The dense tensor, with the default value where rows end early.

        Args:
          default_value: a value that broadcasts to an innermost one; 0 or "" when None.
          name: a scope in a graph.
          shape: the sizes wanted, with None or -1 for what is needed; longer rows are cut.

        Returns:
          A tensor of the same dtype.

        Raises:
          ValueError, InvalidArgumentError: `shape` or the default does not fit.

        Example:
          >>> tf.ragged.constant([[1, 2], [3]]).to_tensor(-1).numpy().tolist()
          [[1, 2], [3, -1]]
        """
        with scope(name, "RaggedToTensor"):
            flat: Any = self.flat_values  # type: ignore[attr-defined]
            if default_value is None:
                empty = b"" if flat.dtype is dt.string else 0
                default_value = np.asarray(empty, flat.dtype.numpy_dtype)
            default = convert_to_tensor(default_value, flat.dtype, name="default_value")
            splits = list(self.nested_row_splits)  # type: ignore[attr-defined]
            wanted = _shape_argument(shape, splits[0].dtype)
            attrs = {"row_partition_types": ["ROW_SPLITS"] * len(splits)}
            result = execute(TO_TENSOR, (wanted, flat, default, splits), attrs)
            if state.graph is not None:
                known = _static_result(self, shape)
                if known is not None:
                    result.set_shape(known)
            return result  # type: ignore[no-any-return]

    # ---- sparse

    @classmethod
    @in_home
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = dt.int64
    ) -> Self:
        """A ragged tensor from a sparse matrix whose rows have no gaps.

        Args:
          st_input: a SparseTensor of rank 2.
          name: a scope in a graph.
          row_splits_dtype: int32 or int64.

        Returns:
          A RaggedTensor.

        Raises:
          TypeError, ValueError: it is no sparse matrix.
          InvalidArgumentError: a row has a gap.
        """
        kind = splits_dtype(row_splits_dtype, "row_splits_dtype")
        if not is_sparse(st_input):
            raise TypeError(
                "Argument `st_input` must be of type SparseTensor, but is of type "
                f"{type(st_input).__name__}."
            )
        with scope(name, "RaggedFromSparse"):
            sparse = SparseTensor.from_value(st_input)
            if sparse.dense_shape.dims not in (None, (None,), (2,)) or (
                sparse.indices.dims is not None and sparse.indices.dims[1] not in (None, 2)
            ):
                raise ValueError(
                    f"rank(st_input) must be 2. from_sparse got shape {sparse.shape}. Reshape it."
                )
            rows, columns = sparse.indices[:, 0], sparse.indices[:, 1]
            check = asserts.assert_that(
                _right_ragged(rows, columns),
                ["SparseTensor is not right-ragged: SparseTensor.indices =", sparse.indices],
            )
            ids = cast(after([check], rows), kind)
            count = cast(sparse.dense_shape[0], kind)
            return cls.from_value_rowids(sparse.values, ids, count, validate=False)

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """The elements with their positions.

        Args:
          name: a scope in a graph.

        Returns:
          A SparseTensor of the same dtype and rank.
        """
        with scope(name, "RaggedToSparse"):
            splits: Any = list(self.nested_row_splits)  # type: ignore[attr-defined]
            found = execute(TO_SPARSE, (splits, self.flat_values))  # type: ignore[attr-defined]
            return SparseTensor(*found)

    # ---- shapes

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: Any = None
    ) -> Tensor:
        """The shape of the smallest dense tensor that holds this one.

        Args:
          axis: an axis, or a vector of axes, to give the sizes of; all when None.
          name: a scope in a graph.
          out_type: int32 or int64; the dtype of the row splits when None.

        Returns:
          An integer vector; a scalar when `axis` is a scalar.
        """
        kind = self._row_partition.dtype if out_type is None else dt.as_dtype(out_type)
        with scope(name, "RaggedBoundingBox"):
            splits: Any = self.nested_row_splits  # type: ignore[attr-defined]
            if isinstance(axis, int) and axis == 0:
                return cast(row_count(splits[0], kind) - 1, kind)  # type: ignore[no-any-return]
            sizes = [execute("Reshape", (row_count(splits[0], kind) - 1, [1]))]
            for each in splits:
                lengths = cast(each[1:] - each[:-1], kind)
                zero = np.zeros(1, kind.numpy_dtype)
                padded = execute("ConcatV2", ([lengths, zero], np.int32(0)))
                sizes.append(execute("Max", (padded, np.array([0], np.int32)), {"keep_dims": True}))
            sizes.append(inner_shape(self.flat_values, kind))  # type: ignore[attr-defined]
            found = execute("ConcatV2", (sizes, np.int32(0)))
            if axis is not None:
                found = execute("GatherV2", (found, axis, np.int32(0)))
            return found  # type: ignore[no-any-return]

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """The same elements with dimensions `outer_axis` to `inner_axis` as one.

        Args:
          outer_axis: the first dimension.
          inner_axis: the last one.

        Returns:
          A RaggedTensor; a Tensor when no ragged dimension is left.

        Raises:
          ValueError: there are no such dimensions.

        Example:
          >>> tf.ragged.constant([[[1, 2], [3]], [[4]]]).merge_dims(0, 1)
          <tf.RaggedTensor [[1, 2], [3], [4]]>
        """
        return merge_dims(self, outer_axis, inner_axis)


def merge_dims(value: Any, outer_axis: int, inner_axis: int) -> Any:
    """Dimensions of a tensor or ragged tensor as one; see `RaggedTensor.merge_dims`."""
    rank = value.shape.rank
    outer = _axis(outer_axis, rank, "outer_axis")
    inner = _axis(inner_axis, rank, "inner_axis")
    if outer > inner:
        raise ValueError(
            f"Expected outer_axis ({outer_axis}) to be less than or equal to inner_axis "
            f"({inner_axis})."
        )
    return _merge(value, outer, inner)


def _axis(axis: int, rank: int | None, name: str) -> int:
    if rank is None:
        if axis < 0:
            raise ValueError(f"{name}={axis} may only be negative if ndims is statically known.")
        return axis
    if not -rank <= axis < rank:
        raise ValueError(f"{name}={axis} out of bounds: expected {-rank}<={name}<{rank}")
    return axis % rank


def _merge(value: Any, outer: int, inner: int) -> Any:
    if outer == inner:
        return value
    if not isinstance(value, RaggedFactories):
        return merge_dense(value, outer, inner)
    source: Any = value
    if outer == 0:
        return _merge(source.values, 0, inner - 1)
    if outer > 1:
        return source.with_values(_merge(source.values, outer - 1, inner - 1))
    values = source.values
    if not isinstance(values, RaggedFactories):
        return _merge_into_dense(source, values, inner)
    splits = execute(
        "GatherV2",
        (values.row_splits, source.row_splits, np.int32(0)),  # type: ignore[attr-defined]
    )
    partition = RowPartition.from_row_splits(splits, validate=False)
    both = (source.uniform_row_length, values.uniform_row_length)  # type: ignore[attr-defined]
    if both[0] is not None and both[1] is not None:
        partition = RowPartition.from_uniform_row_length(
            both[0] * both[1], nrows=source.nrows(), nvals=splits[-1], validate=False
        )
    inside = values.values  # type: ignore[attr-defined]
    merged = type(source)._from_row_partition(inside, partition, validate=False)
    return _merge(merged, 1, inner - 1)


def _merge_into_dense(source: Any, values: Any, inner: int) -> Any:
    """A ragged dimension with the uniform ones of its dense values after it."""
    kind = source.row_splits.dtype
    sizes = inner_shape(values, kind)[: inner - 1]
    factor = execute("Prod", (sizes, np.array([0], np.int32)))
    merged = merge_dense(values, 0, inner - 1)
    length = source.uniform_row_length
    if length is not None:
        partition = RowPartition.from_uniform_row_length(
            length * factor, nrows=source.nrows(), nvals=row_count(merged, kind), validate=False
        )
    else:
        partition = RowPartition.from_row_splits(source.row_splits * factor, validate=False)
    return type(source)._from_row_partition(merged, partition, validate=False)


def merge_dense(x: Any, outer: int, inner: int) -> Any:
    """Dimensions `outer` to `inner` of a tensor as one."""
    dims = x.dims
    if dims is not None and dims[:outer].count(None) + dims[inner + 1 :].count(None) == 0:
        return execute("Reshape", (x, np.array([*dims[:outer], -1, *dims[inner + 1 :]], np.int32)))
    shape = execute("Shape", (x,))
    parts = [shape[:outer], np.array([-1], np.int32), shape[inner + 1 :]]
    return execute("Reshape", (x, execute("ConcatV2", (parts, np.int32(0)))))


# ---- steps of from_tensor


def _uniform(cls: Any, tensor: Any, ragged_rank: int, kind: DType) -> Any:
    """All rows whole: partitions of uniform length."""
    shape = execute("Shape", (tensor,), {"out_type": kind})
    dims = tensor.dims
    sizes = [
        np.asarray(dims[i], kind.numpy_dtype)
        if dims is not None and dims[i] is not None
        else shape[i]
        for i in range(ragged_rank + 1)
    ]
    flat = merge_dense(tensor, 0, ragged_rank)
    counts: list[Any] = [convert_to_tensor(sizes[0])]
    for size in sizes[1:]:
        counts.append(counts[-1] * size)
    result = flat
    for level in range(ragged_rank, 0, -1):
        partition = RowPartition.from_uniform_row_length(
            convert_to_tensor(sizes[level]),
            nvals=counts[level],
            nrows=counts[level - 1],
            validate=False,
        )
        result = cls._from_row_partition(result, partition, validate=False)
    return result


def _is_nested(lengths: Any) -> bool:
    return isinstance(lengths, (list, tuple)) and any(
        not isinstance(n, (int, float, np.integer)) for n in lengths
    )


def _from_nested_lengths(cls: Any, tensor: Any, lengths: Any, kind: DType) -> Any:
    tensor.shape.with_rank_at_least(len(lengths) + 1)
    values, made = tensor, []
    for each in lengths:
        row = _cut(cls, values, as_splits(each, "lengths", hint=kind), kind)
        made.append(row._row_partition)
        values = row.values
    return cls._from_nested_row_partitions(values, made, validate=False)


def _from_padded_rows(
    cls: Any, tensor: Any, lengths: Any, padding: Any, ragged_rank: int, kind: DType
) -> Any:
    """The outer dimensions whole, the last ragged one cut."""
    flat = merge_dense(tensor, 0, ragged_rank - 1)
    cut = cls.from_tensor(flat, lengths, padding, row_splits_dtype=kind)
    outer = _uniform(cls, tensor, ragged_rank - 1, kind)
    return outer.with_flat_values(cut)


def _lengths_without(tensor: Any, padding: Any, kind: DType) -> Any:
    """The length of each row without the padding at its end."""
    padding = convert_to_tensor(padding, tensor.dtype, name="padding")
    padding.shape.assert_is_compatible_with(tensor.shape[2:])
    padded = execute("Equal", (tensor, padding))
    rank = len(tensor.dims) if tensor.dims is not None else 2 + (padding.shape.rank or 0)
    if rank > 2:
        axes = np.arange(2, rank, dtype=np.int32)
        padded = execute("All", (padded, axes))
    used = execute("Cast", (execute("LogicalNot", (padded,)),), {"DstT": kind})
    columns = row_count(tensor[0], kind) if tensor.dims and tensor.dims[0] else None
    if columns is None:
        columns = execute("Shape", (tensor,), {"out_type": kind})[1]
    numbered = execute("Range", (np.int64(1), cast(columns, dt.int64) + 1, np.int64(1)))
    last = used * cast(numbered, kind)
    zero = execute("Shape", (tensor,), {"out_type": dt.int32})[:1]
    column = execute("Fill", (execute("ConcatV2", ([zero, [1]], np.int32(0))), _zero(kind)))
    return execute(
        "Max", (execute("ConcatV2", ([last, column], np.int32(1))), np.array([1], np.int32))
    )


def _zero(kind: DType) -> Any:
    return convert_to_tensor(np.asarray(0, kind.numpy_dtype))


def _cut(cls: Any, tensor: Any, lengths: Any, kind: DType) -> Any:
    """The first `lengths[i]` elements of each row i."""
    lengths = cast(lengths, kind)
    lengths.shape.assert_has_rank(1)
    tensor.shape[:1].assert_is_compatible_with(lengths.shape[:1])
    columns = execute("Shape", (tensor,), {"out_type": kind})[1]
    lengths = execute("Maximum", (execute("Minimum", (lengths, columns)), _zero(kind)))
    places = execute(
        "Range", (_zero(kind), columns, convert_to_tensor(np.asarray(1, kind.numpy_dtype)))
    )
    mask = execute("Less", (places, execute("ExpandDims", (lengths, np.int32(1)))))
    values = execute("GatherNd", (tensor, execute("Where", (mask,))))
    return cls.from_row_lengths(values, lengths, validate=False)


# ---- steps of to_tensor and from_sparse


def _shape_argument(shape: Any, kind: DType) -> Any:
    if shape is None:
        return convert_to_tensor(np.asarray(-1, kind.numpy_dtype))
    if isinstance(shape, Tensor):
        if shape.dtype not in (dt.int32, dt.int64):
            return cast(shape, dt.int64)
        return shape
    found = TensorShape(shape) if not isinstance(shape, TensorShape) else shape
    if found.rank is None:
        return convert_to_tensor(np.asarray(-1, kind.numpy_dtype))
    sizes = [-1 if n is None else n for n in found.as_list()]
    return convert_to_tensor(np.array(sizes, kind.numpy_dtype))


def _static_result(value: Any, shape: Any) -> TensorShape | None:
    """What is known of the shape of the dense tensor."""
    own = value.shape
    if shape is None:
        return own  # type: ignore[no-any-return]
    if isinstance(shape, Tensor):
        known = constant_value(shape)
        if known is None:
            return None
        shape = [None if n < 0 else int(n) for n in np.atleast_1d(known)]
    wanted = TensorShape(shape)
    if wanted.rank is None or own.rank != wanted.rank:
        return None
    pairs = zip(wanted.as_list(), own.as_list(), strict=True)
    return TensorShape([o if w is None else w for w, o in pairs])


def _right_ragged(rows: Any, columns: Any) -> Any:
    """Whether positions in row-major order leave no gap at the start or within a row."""
    same_row = execute("Equal", (rows[1:], rows[:-1]))
    follows = execute("Equal", (columns[1:], columns[:-1] + 1))
    starts = execute("Equal", (columns[1:], np.int64(0)))
    later = execute("Greater", (rows[1:], rows[:-1]))
    fits = execute("Select", (same_row, follows, execute("LogicalAnd", (starts, later))))
    first = execute("Equal", (columns[:1], np.int64(0)))
    everything = execute("ConcatV2", ([first, fits], np.int32(0)))
    return execute("All", (everything, np.array([0], np.int32)))
